/* SPDX-License-Identifier: MIT */
/*
 * Adding, correcting, forgetting. Each is one transaction that begins by taking SQLite's lock of writers, so what it looks at
 * is what it changes.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "memory/candidate.h"
#include "memory/row.h"

/* ---- What is given */

static int check_text(struct slice text, struct bobbin_error *error)
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

/* Subjects and relations are compared, so case and spacing must not count. */
static int fold_name(struct slice name, const char *otherwise, struct arena *arena, struct slice *ret_name,
	struct bobbin_error *error)
{
	struct buffer folded;

	name = slice_strip(name);
	if (name.len > FACT_NAME_BYTES || utf8_valid_prefix(name.data, name.len) != name.len)
		return error_set(error, BOBBIN_EINVAL, "a subject or relation is UTF-8 of at most %d bytes", FACT_NAME_BYTES);
	buffer_init(&folded, 8 * FACT_NAME_BYTES + 64);
	terms_fold(name.len ? name : slice_of(otherwise), &folded);
	struct slice text = slice_strip(buffer_slice(&folded));
	ret_name->data = buffer_error(&folded) ? NULL : arena_copy(arena, text.data, text.len);
	ret_name->len = text.len;
	buffer_release(&folded);
	return ret_name->data ? 0 : error_set(error, BOBBIN_ENOMEM, "storing a fact: out of memory");
}

static int fill(struct memory *memory, const struct fact_new *fact, struct arena *arena, struct fact_row *row,
	struct bobbin_error *error)
{
	const struct platform *platform = store_platform(memory->store);
	int code;

	*row = (struct fact_row){
		.state = fact->candidate ? FACT_CANDIDATE : FACT_KEPT,
		.said_ns = fact->said_ns ? fact->said_ns : platform->realtime_ns(platform->context),
		.expires_ns = fact->expires_ns,
		.text = slice_strip(fact->text),
		.context = {fact->context.data, utf8_truncate(fact->context.data, fact->context.len, FACT_CONTEXT_BYTES)},
	};
	row->valid_ns = fact->valid_ns ? fact->valid_ns : row->said_ns;
	code = check_text(row->text, error);
	if (code == 0)
		code = fold_name(fact->subject, "user", arena, &row->subject, error);
	if (code == 0)
		code = fold_name(fact->relation, "", arena, &row->relation, error);
	if (code == 0 && row_key(row->text, row->key) < 0)
		code = error_set(error, BOBBIN_ENOMEM, "storing a fact: out of memory");
	return code;
}

/* ---- Pieces of a transaction */

static int find_owner(struct memory *memory, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_FIND, &statement, error);

	if (code < 0)
		return code;
	code = database_step(statement, error);
	memory->owner_row = code == 1 ? sqlite3_column_int64(statement, 0) : 0;
	sqlite3_reset(statement);
	return code;
}

static int make_owner(struct memory *memory, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_MAKE, &statement, error);

	if (code == 0) {
		code = database_step(statement, error);
		sqlite3_reset(statement);
	}
	return code < 0 ? code : find_owner(memory, error);
}

static int take_number(struct memory *memory, uint64_t *ret_number, struct bobbin_error *error)
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

static int find_by_key(struct memory *memory, const uint8_t key[SHA256_BYTES], struct arena *arena,
	struct fact_row *ret_row, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_FACT_BY_KEY, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(statement, 2, key, SHA256_BYTES, SQLITE_STATIC);
	return row_take(statement, arena, ret_row, error);
}

static int find_by_number(struct memory *memory, uint64_t number, struct arena *arena, struct fact_row *ret_row,
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
static int find_by_source(struct memory *memory, const struct fact_new *fact, const uint8_t key[SHA256_BYTES],
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

static int is_buried(struct memory *memory, const struct fact_new *fact, const struct fact_row *row,
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
static int add_source(struct memory *memory, struct fact_row *row, const struct fact_new *fact, int64_t said_ns,
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

/* ---- Superseding */

static int find_rival(struct memory *memory, const struct fact_row *row, struct arena *arena,
	struct fact_row *ret_rival, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_FACT_BY_RELATION, &statement, error);

	if (code < 0)
		return code;
	bind_slice(statement, 2, row->subject);
	bind_slice(statement, 3, row->relation);
	while ((code = database_step(statement, error)) == 1) {
		code = row_read(statement, arena, ret_rival, error);
		if (code < 0 || ret_rival->id != row->id) {
			code = code < 0 ? code : 1;
			break;
		}
	}
	sqlite3_reset(statement);
	return code;
}

static int end_row(struct memory *memory, struct fact_row *row, int64_t ended_ns, uint64_t by,
	struct bobbin_error *error)
{
	int code = index_drop(memory, row, error);

	row->ended_ns = ended_ns;
	row->superseded_by = by;
	if (code == 0)
		code = row_update(memory, row, error);
	return code < 0 ? code : index_put(memory, row, error);
}

/* The one that holds since later stays; `row` is in the table and the index. *ret_ended: the number of the one that ended. */
static int supersede(struct memory *memory, struct fact_row *row, struct arena *arena, uint64_t *ret_ended,
	struct bobbin_error *error)
{
	struct fact_row rival;
	int code = 0;

	while (row->relation.len && row->state == FACT_KEPT && !row->ended_ns &&
		(code = find_rival(memory, row, arena, &rival, error)) == 1) {
		bool later = rival.valid_ns > row->valid_ns;
		code = later ? end_row(memory, row, rival.valid_ns, rival.number, error)
			     : end_row(memory, &rival, row->valid_ns ? row->valid_ns : 1, row->number, error);
		if (code < 0)
			return code;
		*ret_ended = later ? row->number : rival.number;
	}
	return code < 0 ? code : 0;
}

/* ---- Adding */

static int insert(struct memory *memory, const struct fact_new *fact, struct fact_row *row, struct arena *arena,
	struct fact_report *report, struct bobbin_error *error)
{
	int code = take_number(memory, &row->number, error);

	if (code == 0)
		code = row_insert(memory, row, error);
	if (code == 0)
		code = add_source(memory, row, fact, row->said_ns, error);
	if (code == 0)
		code = row_update(memory, row, error);
	if (code == 0)
		code = index_put(memory, row, error);
	if (code == 0)
		code = supersede(memory, row, arena, &report->superseded, error);
	report->added = FACT_ADDED;
	report->number = row->number;
	return code;
}

/* `row` is what was said now, `old` what is there and says the same. */
static int merge(struct memory *memory, const struct fact_new *fact, const struct fact_row *row, struct fact_row *old,
	struct arena *arena, struct fact_report *report, struct bobbin_error *error)
{
	int code = add_source(memory, old, fact, row->said_ns, error);
	bool settles = old->state == FACT_CANDIDATE && (row->state == FACT_KEPT || old->sessions > 1);
	bool again = old->expires_ns && old->expires_ns <= row->said_ns; /* it had run out: it holds anew */

	if (code < 0)
		return code;
	if (again || (row->expires_ns == 0 || row->expires_ns > old->expires_ns))
		old->expires_ns = old->expires_ns ? row->expires_ns : 0;
	if (again || row->valid_ns < old->valid_ns)
		old->valid_ns = row->valid_ns;
	if (again || row->said_ns < old->said_ns)
		old->said_ns = row->said_ns;
	bool related = !old->relation.len && row->relation.len;
	if (related || settles) {
		code = index_drop(memory, old, error);
		if (related)
			old->subject = row->subject, old->relation = row->relation;
		old->state = settles ? FACT_KEPT : old->state;
		if (code == 0)
			code = index_put(memory, old, error);
	}
	if (code == 0)
		code = row_update(memory, old, error);
	if (code == 0)
		code = supersede(memory, old, arena, &report->superseded, error);
	report->added = settles ? FACT_SETTLED : FACT_MERGED;
	report->number = old->number;
	return code;
}

static int store(struct memory *memory, const struct fact_new *fact, struct fact_row *row, bool learned,
	struct arena *arena, struct fact_report *report, struct bobbin_error *error)
{
	struct fact_row old;
	int code = make_owner(memory, error);

	if (code >= 0 && fact->session.len && (code = find_by_source(memory, fact, row->key, arena, &old, error)) == 1) {
		*report = (struct fact_report){FACT_MERGED, old.number, 0};
		if (learned || !old.ended_ns)
			return 0;
	}
	if (code >= 0 && learned && (code = is_buried(memory, fact, row, error)) == 1) {
		*report = (struct fact_report){FACT_BURIED, 0, 0};
		return 0;
	}
	if (code >= 0 && (code = find_by_key(memory, row->key, arena, &old, error)) == 1)
		return merge(memory, fact, row, &old, arena, report, error);
	if (code >= 0 && learned && row->state == FACT_CANDIDATE &&
		(code = candidate_find(memory, row->text, arena, &old, error)) == 1)
		return merge(memory, fact, row, &old, arena, report, error);
	return code < 0 ? code : insert(memory, fact, row, arena, report, error);
}

static int end_transaction(struct memory *memory, int code, struct bobbin_error *error)
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

static int add(struct memory *memory, const struct fact_new *fact, bool learned, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct fact_report report = {0};
	struct fact_row row;
	int code = fill(memory, fact, &arena, &row, error);

	if (code == 0)
		code = database_run(memory->database, "BEGIN IMMEDIATE", error);
	if (code == 0)
		code = end_transaction(memory, store(memory, fact, &row, learned, &arena, &report, error), error);
	arena_release(&arena);
	if (code == 0 && ret_report)
		*ret_report = report;
	return code;
}

int memory_add(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	return add(memory, fact, false, ret_report, error);
}

int memory_learn(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	if (!fact->session.len || !fact->message.len)
		return error_set(error, BOBBIN_EINVAL, "what is learned comes from a message of a session");
	return add(memory, fact, true, ret_report, error);
}

/* ---- Correcting and forgetting */

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

static int run_for(struct memory *memory, enum statement_name name, int64_t value, struct bobbin_error *error)
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

/* The index keeps what was taken out until its pieces are merged; after this it is in no piece. */
static int merge_index(struct memory *memory, struct bobbin_error *error)
{
	return database_run(memory->database, "INSERT INTO fact_index (fact_index) VALUES ('optimize')", error);
}

static int forget(struct memory *memory, uint64_t number, struct arena *arena, struct bobbin_error *error)
{
	struct fact_row row;
	int code = find_owner(memory, error);

	if (code <= 0 || (code = find_by_number(memory, number, arena, &row, error)) <= 0)
		return code;
	code = bury(memory, &row, error);
	if (code == 0)
		code = index_drop(memory, &row, error);
	if (code == 0)
		code = run_for(memory, SQL_SOURCE_DELETE, row.id, error);
	if (code == 0)
		code = run_for(memory, SQL_FACT_DELETE, (int64_t)row.number, error);
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
		code = end_transaction(memory, forget(memory, number, &arena, error), error);
	arena_release(&arena);
	if (code == 1)
		empty_journal(memory);
	return code;
}

static int correct(struct memory *memory, uint64_t number, struct slice text, struct arena *arena,
	struct bobbin_error *error)
{
	struct fact_row row, other;
	uint8_t key[SHA256_BYTES];
	int code = find_owner(memory, error);

	if (code > 0)
		code = find_by_number(memory, number, arena, &row, error);
	if (code == 0)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no fact f%llu of this owner", (unsigned long long)number);
	if (code > 0 && row_key(text, key) < 0)
		code = error_set(error, BOBBIN_ENOMEM, "correcting a fact: out of memory");
	if (code > 0 && !row.ended_ns && (code = find_by_key(memory, key, arena, &other, error)) == 1 &&
		other.id != row.id)
		return error_set(error, BOBBIN_EEXIST, "fact f%llu says that already", (unsigned long long)other.number);
	if (code < 0)
		return code;
	code = memcmp(key, row.key, SHA256_BYTES) == 0 ? 0 : bury(memory, &row, error);
	if (code == 0)
		code = index_drop(memory, &row, error);
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
	code = check_text(text, error);
	if (code == 0)
		code = database_run(memory->database, "BEGIN IMMEDIATE", error);
	if (code == 0)
		code = end_transaction(memory, correct(memory, number, text, &arena, error), error);
	arena_release(&arena);
	if (code == 0)
		empty_journal(memory);
	return code;
}

/* ---- Listing */

static int add_to_list(struct memory *memory, struct arena *arena, const struct fact_row *row, struct fact **facts,
	size_t *count, size_t *cap, struct bobbin_error *error)
{
	if (*count == *cap) {
		size_t more = *cap ? *cap * 2 : 64;
		struct fact *grown = arena_alloc(arena, more * sizeof *grown);
		if (!grown)
			return error_set(error, BOBBIN_ENOMEM, "listing facts: out of memory");
		if (*count)
			memcpy(grown, *facts, *count * sizeof *grown);
		*facts = grown;
		*cap = more;
	}
	int code = row_fact(memory, row, arena, &(*facts)[*count], error);
	*count += code == 0;
	return code;
}

int memory_list(struct memory *memory, const struct fact_list_options *options, struct arena *arena,
	struct fact **ret_facts, size_t *ret_count, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(memory->store);
	struct fact *facts = NULL;
	size_t count = 0, cap = 0;
	sqlite3_stmt *statement;
	struct fact_row row;
	int code = memory_statement(memory, SQL_LIST, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int(statement, 2, options->past);
	sqlite3_bind_int(statement, 3, options->candidates);
	sqlite3_bind_int64(statement, 4, platform->realtime_ns(platform->context));
	sqlite3_bind_int64(statement, 5, options->limit && options->limit < INT64_MAX ? (int64_t)options->limit : -1);
	while (code >= 0 && (code = database_step(statement, error)) == 1) {
		code = row_read(statement, arena, &row, error);
		if (code == 0)
			code = add_to_list(memory, arena, &row, &facts, &count, &cap, error);
	}
	sqlite3_reset(statement);
	if (code < 0)
		return code;
	*ret_facts = facts;
	*ret_count = count;
	return 0;
}
