/* SPDX-License-Identifier: MIT */
/* Facts in the full-text index, and how many facts of an owner have a term. Both change in the transaction of the row. */
#include "base/buffer.h"
#include "memory/row.h"

struct slice index_relation(struct slice relation, struct arena *arena)
{
	struct buffer folded, term;
	struct slice made = {NULL, 0};

	buffer_init(&folded, relation.len * 8 + 64);
	buffer_init(&term, relation.len * 8 + 64);
	terms_fold(relation, &folded);
	if (!buffer_error(&folded)) {
		buffer_add_text(&term, "§"); /* no word has it, so none is taken for a relation */
		buffer_add(&term, folded.data + 1, strcspn(folded.data + 1, " "));
	}
	if (!buffer_error(&folded) && !buffer_error(&term))
		made = (struct slice){arena_copy(arena, term.data, term.len), term.len};
	buffer_release(&folded);
	buffer_release(&term);
	return made;
}

/* The terms of a fact: of its text, its subject, its relation. */
static int terms_of(const struct fact_row *row, struct arena *arena, struct terms *ret_terms)
{
	struct buffer text;
	int code;

	buffer_init(&text, row->text.len + row->subject.len + 2);
	if (!slice_is(row->subject, "user")) /* most are about the owner */
		buffer_add_slice(&text, row->subject);
	buffer_add_char(&text, '\n');
	buffer_add_slice(&text, row->text);
	code = buffer_error(&text) ? BOBBIN_ENOMEM
				   : terms_read(buffer_slice(&text), TERMS_INDEX, arena, ret_terms);
	buffer_release(&text);
	return code;
}

void index_add_term(const struct memory *memory, struct slice term, struct buffer *out)
{
	buffer_add_u64(out, (uint64_t)memory->owner_row);
	buffer_add_char(out, 'x');
	buffer_add_slice(out, term);
}

static int join(const struct memory *memory, const struct terms *terms, struct slice relation, struct arena *arena,
	struct slice *ret_text)
{
	struct buffer text;

	buffer_init(&text, 1u << 20);
	for (size_t i = 0; i < terms->count; i++) {
		index_add_term(memory, terms->items[i].text, &text);
		buffer_add_char(&text, ' ');
	}
	if (relation.len)
		index_add_term(memory, relation, &text);
	int code = buffer_error(&text);
	if (!code) {
		*ret_text = (struct slice){arena_copy(arena, text.data ? text.data : "", text.len), text.len};
		code = ret_text->data ? 0 : BOBBIN_ENOMEM;
	}
	buffer_release(&text);
	return code;
}

static int count_term(struct memory *memory, enum statement_name name, struct slice term,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, name, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, memory->owner_row);
	bind_slice(statement, 3, term);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

/* By how much the owner's sums change. */
static int count_owner(struct memory *memory, int facts, int64_t terms, int contexts, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_COUNT, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int(statement, 2, facts);
	sqlite3_bind_int64(statement, 3, terms);
	sqlite3_bind_int(statement, 4, contexts);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

static int count_all(struct memory *memory, const struct fact_row *row, const struct terms *terms,
	struct slice relation, bool add, struct bobbin_error *error)
{
	int code = 0;

	for (size_t i = 0; i <= terms->count && code == 0; i++) {
		struct slice term = i < terms->count ? terms->items[i].text : relation;
		if (!term.len)
			continue;
		code = count_term(memory, add ? SQL_TERM_ADD : SQL_TERM_DROP, term, error);
		if (code == 0 && !add)
			code = count_term(memory, SQL_TERM_CLEAN, term, error);
	}
	int one = add ? 1 : -1;
	return code < 0 ? code
			: count_owner(memory, one, one * (int64_t)terms->count, row->context.len ? one : 0, error);
}

static int set_size(struct memory *memory, int64_t id, size_t size, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = database_prepare(
		memory->database, "UPDATE facts SET size = ?2 WHERE id = ?1", &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, (int64_t)size);
	code = database_step(statement, error);
	sqlite3_finalize(statement);
	return code;
}

static int insert(struct memory *memory, const struct fact_row *row, struct slice terms, struct slice near,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_INDEX_ADD, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, row->id);
	bind_slice(statement, 3, row->ended_ns ? (struct slice){"", 0} : terms);
	bind_slice(statement, 4, row->ended_ns ? terms : (struct slice){"", 0});
	bind_slice(statement, 5, row->ended_ns ? (struct slice){"", 0} : near);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

int index_put(struct memory *memory, const struct fact_row *row, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct terms terms, around = {0};
	struct slice text = {"", 0}, near = {"", 0}, relation = {"", 0};
	int code;

	if (row->state != FACT_KEPT)
		return 0;
	code = terms_of(row, &arena, &terms);
	if (code == 0 && row->relation.len)
		code = (relation = index_relation(row->relation, &arena)).data ? 0 : BOBBIN_ENOMEM;
	if (code == 0 && row->context.len)
		code = terms_read(row->context, TERMS_INDEX, &arena, &around);
	if (code == 0)
		code = join(memory, &terms, relation, &arena, &text);
	if (code == 0)
		code = join(memory, &around, (struct slice){"", 0}, &arena, &near);
	if (code < 0)
		error_set(error, code, "storing a fact: out of memory");
	if (code == 0)
		code = insert(memory, row, text, near, error);
	if (code == 0)
		code = set_size(memory, row->id, terms.count, error);
	if (code == 0)
		code = count_all(memory, row, &terms, relation, true, error);
	arena_release(&arena);
	return code;
}

int index_drop(struct memory *memory, const struct fact_row *row, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct slice relation = {"", 0};
	sqlite3_stmt *statement;
	struct terms terms;
	int code;

	if (row->state != FACT_KEPT)
		return 0;
	code = terms_of(row, &arena, &terms);
	if (code == 0 && row->relation.len)
		code = (relation = index_relation(row->relation, &arena)).data ? 0 : BOBBIN_ENOMEM;
	if (code < 0)
		error_set(error, code, "removing a fact: out of memory");
	if (code == 0)
		code = memory_statement(memory, SQL_INDEX_DELETE, &statement, error);
	if (code == 0) {
		sqlite3_bind_int64(statement, 2, row->id);
		code = database_step(statement, error);
		sqlite3_reset(statement);
	}
	if (code == 0)
		code = count_all(memory, row, &terms, relation, false, error);
	arena_release(&arena);
	return code;
}
