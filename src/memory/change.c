/* SPDX-License-Identifier: MIT */
#include "memory/change.h"

#include "base/buffer.h"
#include "base/utf8.h"

int row_check_text(struct slice text, struct bobbin_error *error)
{
	if (text.len == 0)
		return error_set(error, BOBBIN_EINVAL, "a fact is not empty");
	if (text.len > FACT_TEXT_BYTES)
		return error_set(error, BOBBIN_EINVAL, "a fact has at most %d bytes, this has %zu: say one thing at a time",
			FACT_TEXT_BYTES, text.len);
	if (memchr(text.data, 0, text.len) || utf8_valid_prefix(text.data, text.len) != text.len)
		return error_set(error, BOBBIN_EINVAL, "a fact is UTF-8 without NUL");
	return 0;
}

int owner_find(struct memory *memory, struct owner_counts *ret_counts, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_FIND, &statement, error);

	if (code < 0)
		return code;
	code = database_step(statement, error);
	memory->owner_row = code == 1 ? sqlite3_column_int64(statement, 0) : 0;
	if (code >= 0 && ret_counts) {
		*ret_counts = (struct owner_counts){0};
		if (code == 1)
			*ret_counts = (struct owner_counts){sqlite3_column_double(statement, 1),
				sqlite3_column_double(statement, 2), sqlite3_column_int64(statement, 3) > 0};
	}
	sqlite3_reset(statement);
	return code;
}

int owner_make(struct memory *memory, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_MAKE, &statement, error);

	if (code == 0) {
		code = database_step(statement, error);
		sqlite3_reset(statement);
	}
	return code < 0 ? code : owner_find(memory, NULL, error);
}

int owner_number(struct memory *memory, uint64_t *ret_number, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_NUMBER, &statement, error);

	if (code < 0)
		return code;
	while ((code = database_step(statement, error)) == 1)
		*ret_number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return code;
}

int row_by_key(struct memory *memory, const uint8_t key[SHA256_BYTES], struct arena *arena,
	struct fact_row *ret_row, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_FACT_BY_KEY, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(statement, 2, key, SHA256_BYTES, SQLITE_STATIC);
	return row_take(statement, arena, ret_row, error);
}

int row_by_number(struct memory *memory, uint64_t number, struct arena *arena, struct fact_row *ret_row,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_FACT_BY_NUMBER, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, (int64_t)number);
	return row_take(statement, arena, ret_row, error);
}

/* Whether this very message has said it before, though it may have ended since. */
int row_by_source(struct memory *memory, const struct fact_new *fact, const uint8_t key[SHA256_BYTES],
	struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_FACT_BY_SOURCE, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(statement, 2, key, SHA256_BYTES, SQLITE_STATIC);
	bind_slice(statement, 3, fact->session);
	bind_slice(statement, 4, fact->message);
	return row_take(statement, arena, ret_row, error);
}

int row_is_buried(struct memory *memory, const struct fact_new *fact, const struct fact_row *row,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_TOMB_FIND, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(statement, 2, row->key, SHA256_BYTES, SQLITE_STATIC);
	bind_slice(statement, 3, fact->session);
	bind_slice(statement, 4, fact->message);
	sqlite3_bind_int64(statement, 5, row->said_ns);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

static int count_sources(struct memory *memory, int64_t id, uint64_t *ret_count, uint64_t *ret_sessions,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_SOURCE_COUNT, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, id);
	code = database_step(statement, error);
	if (code == 1) {
		*ret_count = (uint64_t)sqlite3_column_int64(statement, 0);
		*ret_sessions = (uint64_t)sqlite3_column_int64(statement, 1);
	}
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

/* Adds a source; what was added by hand is numbered, so that each time counts. */
int row_add_source(struct memory *memory, struct fact_row *row, const struct fact_new *fact, int64_t said_ns,
	struct bobbin_error *error)
{
	struct buffer name;
	sqlite3_stmt *statement;
	uint64_t count = 0;
	int code = count_sources(memory, row->id, &count, &row->sessions, error);

	if (code == 0)
		code = memory_statement(memory, SQL_SOURCE_ADD, &statement, error);
	if (code < 0)
		return code;
	buffer_init(&name, 64);
	buffer_addf(&name, "by hand %llu", (unsigned long long)count + 1);
	if (buffer_error(&name)) {
		buffer_release(&name);
		return error_set(error, BOBBIN_ENOMEM, "storing a fact: out of memory");
	}
	sqlite3_bind_int64(statement, 2, row->id);
	bind_slice(statement, 3, fact->session);
	bind_slice(statement, 4, fact->session.len ? fact->message : buffer_slice(&name));
	sqlite3_bind_int64(statement, 5, said_ns);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	buffer_release(&name);
	return code < 0 ? code : count_sources(memory, row->id, &count, &row->sessions, error);
}

int row_run(struct memory *memory, enum statement_name name, int64_t value, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, name, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, value);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

int change_end(struct memory *memory, int code, struct bobbin_error *error)
{
	for (int i = 0; i < SQL_COUNT; i++)
		if (memory->statements[i])
			sqlite3_reset(memory->statements[i]);
	if (code >= 0) {
		int ended = database_run(memory->database, "COMMIT", error);
		if (ended == 0)
			return code;
		code = ended;
	}
	sqlite3_exec(memory->database, "ROLLBACK", NULL, NULL, NULL);
	return code;
}
