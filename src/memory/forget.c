/* SPDX-License-Identifier: MIT */
/*
 * Correcting and forgetting: what is gone is in no table, index, count or page any more, and a tombstone keeps it from coming back.
 */
#include "base/alloc.h"
#include "memory/change.h"
#include "memory/judge.h"

static int bury_one(struct memory *memory, const struct fact_row *row, const char *session, const char *message,
	int64_t now_ns, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_TOMB_ADD, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(statement, 2, row->key, SHA256_BYTES, SQLITE_STATIC);
	bind_slice(statement, 3, slice_of(session));
	bind_slice(statement, 4, slice_of(message));
	sqlite3_bind_int64(statement, 5, now_ns);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

/* A tombstone for the text, and for each message that it comes from. */
static int bury(struct memory *memory, const struct fact_row *row, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(memory->store);
	int64_t now_ns = platform->realtime_ns(platform->context);
	sqlite3_stmt *sources;
	int code = bury_one(memory, row, "", "", now_ns, error);

	if (code == 0)
		code = memory_statement(memory, SQL_SOURCE_LIST, &sources, error);
	if (code < 0)
		return code;
	sqlite3_bind_int64(sources, 2, row->id);
	sqlite3_bind_int64(sources, 3, -1);
	while (code >= 0 && (code = database_step(sources, error)) == 1)
		code = bury_one(memory, row, (const char *)sqlite3_column_text(sources, 0),
			(const char *)sqlite3_column_text(sources, 1), now_ns, error);
	sqlite3_reset(sources);
	return code;
}

/* The index keeps what was taken out until its pieces are merged; after this it is in no piece. */
static int merge_index(struct memory *memory, struct bobbin_error *error)
{
	return database_run(memory->database, "INSERT INTO fact_index (fact_index) VALUES ('optimize')", error);
}

static int forget(struct memory *memory, uint64_t number, struct arena *arena, struct bobbin_error *error)
{
	struct fact_row row;
	int code = owner_find(memory, NULL, error);

	if (code <= 0 || (code = row_by_number(memory, number, arena, &row, error)) <= 0)
		return code;
	code = bury(memory, &row, error);
	if (code == 0)
		code = index_drop(memory, &row, error);
	if (code == 0)
		code = row_run(memory, SQL_SOURCE_DELETE, row.id, error);
	if (code == 0)
		code = row_run(memory, SQL_FACT_DELETE, (int64_t)row.number, error);
	if (code == 0)
		code = merge_index(memory, error);
	return code < 0 ? code : 1;
}

/* The old pages also stand in the write-ahead log. If somebody reads there, the next checkpoint will do it. */
static void empty_journal(struct memory *memory)
{
	sqlite3_exec(memory->database, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
}

int memory_forget(struct memory *memory, uint64_t number, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	int code = database_run(memory->database, "BEGIN IMMEDIATE", error);

	if (code == 0)
		code = change_end(memory, forget(memory, number, &arena, error), error);
	arena_release(&arena);
	if (code == 1)
		empty_journal(memory);
	return code;
}

/* What was read out of the old words goes with them: when it expires, and what it is a fact about. What was said beside them,
 * by --expires or --relation, stays. */
static int read_anew(struct fact_row *row, struct slice text, struct arena *arena, struct bobbin_error *error)
{
	struct judgement before, now;
	int code = judge(row->text, row->said_ns, &before, error);

	if (code == 0)
		code = judge(text, row->said_ns, &now, error);
	if (code < 0)
		return code;
	if (!row->expires_ns || before.expires_ns)
		row->expires_ns = now.expires_ns;
	if (!row->relation.len || !slice_is(row->relation, before.relation))
		return 0;
	row->relation.len = strlen(now.relation);
	row->relation.data = arena_copy(arena, now.relation, row->relation.len);
	return row->relation.data ? 0 : error_set(error, BOBBIN_ENOMEM, "correcting a fact: out of memory");
}

static int correct(struct memory *memory, uint64_t number, struct slice text, struct arena *arena,
	struct bobbin_error *error)
{
	struct fact_row row, other;
	uint8_t key[SHA256_BYTES];
	int code = owner_find(memory, NULL, error);

	if (code > 0)
		code = row_by_number(memory, number, arena, &row, error);
	if (code == 0)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no fact f%llu of this owner", (unsigned long long)number);
	if (code > 0 && row_key(text, key) < 0)
		code = error_set(error, BOBBIN_ENOMEM, "correcting a fact: out of memory");
	if (code > 0 && !row.ended_ns && (code = row_by_key(memory, key, arena, &other, error)) == 1 &&
		other.id != row.id)
		return error_set(error, BOBBIN_EEXIST, "fact f%llu says that already", (unsigned long long)other.number);
	if (code < 0)
		return code;
	code = memcmp(key, row.key, SHA256_BYTES) == 0 ? 0 : bury(memory, &row, error);
	if (code == 0)
		code = index_drop(memory, &row, error);
	if (code == 0)
		code = read_anew(&row, text, arena, error);
	row.text = text;
	row.context = (struct slice){"", 0}; /* it was said around what was wrong */
	memcpy(row.key, key, SHA256_BYTES);
	if (code == 0)
		code = row_update(memory, &row, error);
	if (code == 0)
		code = index_put(memory, &row, error);
	return code < 0 ? code : merge_index(memory, error);
}

int memory_correct(struct memory *memory, uint64_t number, struct slice text, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	int code;

	text = slice_strip(text);
	code = row_check_text(text, error);
	if (code == 0)
		code = database_run(memory->database, "BEGIN IMMEDIATE", error);
	if (code == 0)
		code = change_end(memory, correct(memory, number, text, &arena, error), error);
	arena_release(&arena);
	if (code == 0)
		empty_journal(memory);
	return code;
}
