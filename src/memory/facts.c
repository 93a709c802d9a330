/* SPDX-License-Identifier: MIT */
/*
 * Adding, learning, proposing, keeping. Each is one transaction that begins by taking SQLite's lock of writers, so what it looks
 * at is what it changes.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "memory/candidate.h"
#include "memory/change.h"

/* ---- What is given */

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
	code = row_check_text(row->text, error);
	if (code == 0)
		code = fold_name(fact->subject, "user", arena, &row->subject, error);
	if (code == 0)
		code = fold_name(fact->relation, "", arena, &row->relation, error);
	if (code == 0 && row_key(row->text, row->key) < 0)
		code = error_set(error, BOBBIN_ENOMEM, "storing a fact: out of memory");
	return code;
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
	int code = owner_number(memory, &row->number, error);

	if (code == 0)
		code = row_insert(memory, row, error);
	if (code == 0)
		code = row_add_source(memory, row, fact, row->said_ns, error);
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
	bool proposed = old->state == FACT_PROPOSED;
	/* From here on they are the person's words, and the model's message is no source of them. */
	int code = proposed ? row_run(memory, SQL_SOURCE_DELETE, old->id, error) : 0;
	if (code == 0)
		code = row_add_source(memory, old, fact, row->said_ns, error);
	bool settles = proposed || (old->state == FACT_CANDIDATE && (row->state == FACT_KEPT || old->sessions > 1));
	bool again = proposed || (old->expires_ns && old->expires_ns <= row->said_ns); /* it had run out: it holds anew */

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

/* Who says it. */
enum voice {
	BY_HAND,
	LEARNED, /* out of what a person typed */
	PROPOSED,
};

/* What is known already, or was ever forgotten, a model cannot change. */
static int store_proposal(struct memory *memory, const struct fact_new *fact, struct fact_row *row, struct arena *arena,
	struct fact_report *report, struct bobbin_error *error)
{
	int64_t said_ns = row->said_ns;
	sqlite3_stmt *statement;
	struct fact_row old;
	int code = owner_make(memory, error);

	row->said_ns = 0; /* before any tombstone */
	if (code >= 0 && (code = row_is_buried(memory, fact, row, error)) == 1) {
		*report = (struct fact_report){FACT_BURIED, 0, 0};
		return 0;
	}
	row->said_ns = said_ns;
	if (code >= 0 && (code = row_by_key(memory, row->key, arena, &old, error)) == 1) {
		*report = (struct fact_report){FACT_KNOWN, old.number, 0};
		return 0;
	}
	if (code >= 0)
		code = memory_statement(memory, SQL_FACT_PROPOSED, &statement, error);
	if (code < 0)
		return code;
	code = database_step(statement, error);
	bool full = code == 1 && sqlite3_column_int64(statement, 0) >= FACT_PROPOSALS_MAX;
	sqlite3_reset(statement);
	if (full)
		return error_set(error, BOBBIN_ELIMIT, "%d proposals wait already", FACT_PROPOSALS_MAX);
	return code < 0 ? code : insert(memory, fact, row, arena, report, error);
}

static int store(struct memory *memory, const struct fact_new *fact, struct fact_row *row, enum voice voice,
	struct arena *arena, struct fact_report *report, struct bobbin_error *error)
{
	bool learned = voice == LEARNED;
	struct fact_row old;
	int code = owner_make(memory, error);

	if (code >= 0 && fact->session.len && (code = row_by_source(memory, fact, row->key, arena, &old, error)) == 1) {
		*report = (struct fact_report){FACT_MERGED, old.number, 0};
		if (learned || !old.ended_ns)
			return 0;
	}
	if (code >= 0 && learned && (code = row_is_buried(memory, fact, row, error)) == 1) {
		*report = (struct fact_report){FACT_BURIED, 0, 0};
		return 0;
	}
	if (code >= 0 && (code = row_by_key(memory, row->key, arena, &old, error)) == 1)
		return merge(memory, fact, row, &old, arena, report, error);
	if (code >= 0 && learned && row->state == FACT_CANDIDATE &&
		(code = candidate_find(memory, row->text, arena, &old, error)) == 1)
		return merge(memory, fact, row, &old, arena, report, error);
	return code < 0 ? code : insert(memory, fact, row, arena, report, error);
}

static int add(struct memory *memory, const struct fact_new *fact, enum voice voice, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct fact_report report = {0};
	struct fact_row row;
	int code = fill(memory, fact, &arena, &row, error);

	if (voice == PROPOSED)
		row.state = FACT_PROPOSED;
	if (code == 0)
		code = database_run(memory->database, "BEGIN IMMEDIATE", error);
	if (code == 0)
		code = change_end(memory, voice == PROPOSED ? store_proposal(memory, fact, &row, &arena, &report, error)
			: store(memory, fact, &row, voice, &arena, &report, error), error);
	arena_release(&arena);
	if (code == 0 && ret_report)
		*ret_report = report;
	return code;
}

int memory_add(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	return add(memory, fact, BY_HAND, ret_report, error);
}

int memory_learn(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	if (!fact->session.len || !fact->message.len)
		return error_set(error, BOBBIN_EINVAL, "what is learned comes from a message of a session");
	return add(memory, fact, LEARNED, ret_report, error);
}

int memory_propose(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error)
{
	if (!fact->session.len || !fact->message.len)
		return error_set(error, BOBBIN_EINVAL, "what is proposed comes from a message of a session");
	return add(memory, fact, PROPOSED, ret_report, error);
}

static int keep(struct memory *memory, uint64_t number, struct arena *arena, struct fact_report *report,
	struct bobbin_error *error)
{
	const struct platform *platform = store_platform(memory->store);
	struct fact_row old;
	int code = owner_find(memory, NULL, error);

	if (code > 0)
		code = row_by_number(memory, number, arena, &old, error);
	if (code == 0)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no fact f%llu of this owner", (unsigned long long)number);
	*report = (struct fact_report){FACT_KNOWN, number, 0};
	if (code < 0 || old.state == FACT_KEPT)
		return code < 0 ? code : 0;
	struct fact_row now = old;
	now.state = FACT_KEPT;
	now.said_ns = platform->realtime_ns(platform->context);
	return merge(memory, &(struct fact_new){0}, &now, &old, arena, report, error);
}

int memory_keep(struct memory *memory, uint64_t number, struct fact_report *ret_report, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct fact_report report = {0};
	int code = database_run(memory->database, "BEGIN IMMEDIATE", error);

	if (code == 0)
		code = change_end(memory, keep(memory, number, &arena, &report, error), error);
	arena_release(&arena);
	if (code == 0 && ret_report)
		*ret_report = report;
	return code;
}
