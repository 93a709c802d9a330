/* SPDX-License-Identifier: MIT */
/*
 * Finding facts for a question.
 *
 *	terms and relations of the question ─> rows of the index, by owner and term, living ones only ─> scores ─> the best, read
 *	and looked at closely ─> those over the threshold
 *
 * The score is BM25 (a term counts once a fact: facts are short) with frequencies of this owner's facts alone, as a share of what
 * the question's terms could give; then a little for what is recent, recurs, and stands together. The threshold looks at the
 * share before that.
 *
 * Invariants: (1) a row is looked at only through the owner's term of the index and `facts.owner = ?1`; (2) expired and, unless the
 * past is asked for, superseded facts are not among the rows; (3) at most ROWS_TERM rows are read for a term, the newest, so a
 * question of common words costs no more than others.
 */
#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/buffer.h"
#include "memory/dates.h"
#include "memory/phrases.h"
#include "memory/row.h"

#define ROWS_TERM 800
#define ROWS_ALL 2400
#define RELATIONS_MAX 4
#define DATES_MAX 4
#define THRESHOLD 0.30
#define SATURATION 1.2	     /* k1 of BM25 */
#define LENGTH_SHARE 0.35    /* b of BM25 */
#define NEAR_WEIGHT 0.30     /* of what was said around it */
#define RELATION_WEIGHT 1.6  /* what is asked for by its relation need not share a word */
#define SMALLEST_COUNT 500.0 /* among a few facts every word would look common */
#define LOOKED_AT 48
#define RECENT_NS (180 * NS_PER_DAY)

struct wanted {
	struct slice text;
	double worth; /* weight × idf */
	uint64_t facts; /* of the owner that have it */
	bool relation;
	uint16_t place;
};

struct question {
	struct wanted wanted[QUERY_TERMS_MAX + RELATIONS_MAX];
	size_t count;
	double all; /* what the terms are worth, relations aside */
	bool past;
	struct day dates[DATES_MAX];
	size_t date_count;
};

struct candidate {
	int64_t id, said_ns;
	double share; /* of the question's worth */
	double score;
	uint64_t sessions;
	bool ended;
	uint64_t have; /* bits of the wanted terms */
};

struct search {
	struct memory *memory;
	const struct fact_search_options *options;
	struct question question;
	int64_t now_ns;
	double facts, length; /* of the owner: how many, and terms in each */
	bool contexts;
	struct candidate *candidates; /* a table by id, or in order of score once ranked */
	size_t count, cap;
	size_t rows;
	struct arena arena;
};

/* ---- The question */

static int term_facts(struct search *search, struct slice term, uint64_t *ret_facts, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(search->memory, SQL_TERM_FIND, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, search->memory->owner_row);
	bind_slice(statement, 3, term);
	code = database_step(statement, error);
	*ret_facts = code == 1 ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

static int want(struct search *search, const struct term *term, bool relation, struct bobbin_error *error)
{
	struct question *question = &search->question;
	struct wanted wanted = {.text = term->text, .relation = relation, .place = term->place};
	double all = search->facts > SMALLEST_COUNT ? search->facts : SMALLEST_COUNT;
	int code = term_facts(search, term->text, &wanted.facts, error);

	if (code < 0)
		return code;
	/* A word that no fact has is not worth more than one that a single fact has. */
	double facts = wanted.facts ? (double)wanted.facts : 1;
	wanted.worth = log(1 + (all - facts + 0.5) / (facts + 0.5)) * (double)term->weight;
	if (wanted.worth < 0.01)
		wanted.worth = 0.01;
	if (!relation)
		question->all += wanted.worth;
	question->wanted[question->count++] = wanted;
	return 0;
}

static int want_relations(struct search *search, const char *folded, struct bobbin_error *error)
{
	const char *last = "";
	size_t start, end, count = 0;

	for (const struct phrase *phrase = phrases; phrase->text && count < RELATIONS_MAX; phrase++) {
		if (phrase->kind != PHRASE_ASKS || strcmp(phrase->relation, last) == 0 ||
			!phrase_find(phrase, folded, &start, &end))
			continue;
		struct term term = {index_relation(slice_of(phrase->relation), &search->arena), (float)RELATION_WEIGHT, false, 0};
		if (!term.text.data)
			return error_set(error, BOBBIN_ENOMEM, "searching facts: out of memory");
		int code = want(search, &term, true, error);
		if (code < 0)
			return code;
		last = phrase->relation;
		count++;
	}
	return 0;
}

static int by_facts(const void *a, const void *b)
{
	const struct wanted *first = a, *second = b;

	return (first->facts > second->facts) - (first->facts < second->facts);
}

static int read_question(struct search *search, struct slice query, struct bobbin_error *error)
{
	struct question *question = &search->question;
	struct terms terms;
	struct buffer folded;
	int code = terms_read(query, TERMS_QUERY, &search->arena, &terms);

	buffer_init(&folded, query.len * 8 + 64);
	terms_fold(query, &folded);
	if (code < 0 || buffer_error(&folded)) {
		buffer_release(&folded);
		return error_set(error, BOBBIN_ENOMEM, "searching facts: out of memory");
	}
	question->past = search->options->past || phrase_of(PHRASE_PAST, folded.data);
	question->date_count = dates_find(folded.data, question->dates, DATES_MAX);
	for (size_t i = 0; i < terms.count && code == 0; i++)
		code = want(search, &terms.items[i], false, error);
	if (code == 0)
		code = want_relations(search, folded.data, error);
	buffer_release(&folded);
	/* Rare ones first: common ones may not be needed. */
	if (question->count)
		qsort(question->wanted, question->count, sizeof *question->wanted, by_facts);
	return code;
}

/* ---- Rows of the index */

static struct candidate *slot_of(struct candidate *table, size_t cap, int64_t id)
{
	size_t at = ((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (cap - 1);

	while (table[at].id && table[at].id != id)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static int grow(struct search *search)
{
	size_t cap = search->cap ? search->cap * 2 : 1024;
	struct candidate *table = arena_alloc_zero(&search->arena, cap * sizeof *table);

	if (!table)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < search->cap; i++)
		if (search->candidates[i].id)
			*slot_of(table, cap, search->candidates[i].id) = search->candidates[i];
	search->candidates = table;
	search->cap = cap;
	return 0;
}

static int take_row(struct search *search, sqlite3_stmt *statement, size_t wanted, double weight)
{
	if (search->count * 2 >= search->cap && grow(search) < 0)
		return BOBBIN_ENOMEM;
	struct candidate *candidate = slot_of(search->candidates, search->cap, sqlite3_column_int64(statement, 0));
	if (!candidate->id) {
		candidate->id = sqlite3_column_int64(statement, 0);
		candidate->said_ns = sqlite3_column_int64(statement, 1);
		candidate->sessions = (uint64_t)sqlite3_column_int64(statement, 2);
		candidate->ended = sqlite3_column_int64(statement, 4) != 0;
		search->count++;
	}
	if (candidate->have >> wanted & 1)
		return 0;
	double length = (double)sqlite3_column_int64(statement, 3) / search->length;
	double norm = 1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length);
	candidate->have |= UINT64_C(1) << wanted;
	candidate->share += weight * search->question.wanted[wanted].worth;
	candidate->score += weight * search->question.wanted[wanted].worth * (SATURATION + 1) / norm;
	return 0;
}

static int match(struct search *search, const char *columns, size_t wanted, double weight, struct bobbin_error *error)
{
	struct buffer query;
	sqlite3_stmt *statement;
	int code = memory_statement(search->memory, SQL_SEARCH, &statement, error);

	if (code < 0)
		return code;
	buffer_init(&query, 8192);
	buffer_addf(&query, "owner : \"%s\" AND {%s} : \"", search->memory->owner_term, columns);
	buffer_add_slice(&query, search->question.wanted[wanted].text);
	buffer_add_char(&query, '"');
	bind_slice(statement, 2, buffer_slice(&query));
	sqlite3_bind_int64(statement, 3, search->now_ns);
	sqlite3_bind_int(statement, 4, ROWS_TERM);
	code = buffer_error(&query);
	while (code >= 0 && (code = database_step(statement, error)) == 1) {
		search->rows++;
		code = take_row(search, statement, wanted, weight);
	}
	sqlite3_reset(statement);
	buffer_release(&query);
	return code == BOBBIN_ENOMEM ? error_set(error, code, "searching facts: out of memory") : code;
}

static int match_all(struct search *search, struct bobbin_error *error)
{
	const char *columns = search->question.past ? "now past" : "now";
	int code = 0;

	for (size_t i = 0; i < search->question.count && code >= 0; i++) {
		if (search->rows >= ROWS_ALL)
			break;
		if (search->question.wanted[i].facts)
			code = match(search, columns, i, 1, error);
		if (code >= 0 && search->contexts && !search->question.wanted[i].relation)
			code = match(search, "near", i, NEAR_WEIGHT, error);
	}
	return code < 0 ? code : 0;
}

/* ---- Ranking */

static double share_of(const struct search *search, double worth)
{
	double share = search->question.all > 0 ? worth / search->question.all : worth;

	return share > 1 ? 1 : share;
}

static bool is_day_of(const struct day *asked, int64_t said_ns)
{
	struct day said = day_of(said_ns);

	return (!asked->year || asked->year == said.year) && (!asked->month || asked->month == said.month);
}

/* What is not in the words. */
static double adjusted(const struct search *search, const struct candidate *candidate)
{
	double score = share_of(search, candidate->score);
	double age = (double)(search->now_ns - candidate->said_ns) / (double)RECENT_NS;
	double factor = 1 + 0.08 / (1 + (age > 0 ? age : 0));

	if (candidate->sessions > 1)
		factor += 0.03 * log2((double)candidate->sessions);
	for (size_t i = 0; i < search->question.date_count; i++)
		if (is_day_of(&search->question.dates[i], candidate->said_ns)) {
			factor += 0.25;
			break;
		}
	return score * factor;
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *first = a, *second = b;

	if (first->score != second->score)
		return first->score < second->score ? 1 : -1;
	return first->id < second->id ? 1 : -1;
}

/* The table becomes a list, the best first, without what shares too little with the question. */
static void rank(struct search *search)
{
	double threshold = search->options->threshold;
	size_t kept = 0;

	if (threshold == 0)
		threshold = THRESHOLD;
	for (size_t i = 0; i < search->cap; i++) {
		struct candidate candidate = search->candidates[i];
		if (!candidate.id || share_of(search, candidate.share) < threshold)
			continue;
		candidate.score = adjusted(search, &candidate);
		search->candidates[kept++] = candidate;
	}
	search->count = kept;
	if (kept)
		qsort(search->candidates, kept, sizeof *search->candidates, by_score);
}

static int read_fact(struct search *search, int64_t id, struct fact_row *ret_row, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(search->memory, SQL_FACT_BY_ID, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, id);
	return row_take(statement, &search->arena, ret_row, error);
}

/* Words that stand together in the question and in the fact. */
static double together(const struct search *search, const struct terms *terms)
{
	const struct question *question = &search->question;
	double sum = 0;

	for (size_t i = 0; i + 1 < terms->count; i++)
		for (size_t a = 0; a < question->count; a++) {
			if (question->wanted[a].relation || !slice_equal(terms->items[i].text, question->wanted[a].text))
				continue;
			for (size_t b = 0; b < question->count; b++) {
				int apart = question->wanted[b].place - question->wanted[a].place;
				if (question->wanted[b].relation || apart < 1 || apart > 2)
					continue;
				for (size_t j = i + 1; j < terms->count && j <= i + 2; j++)
					if (slice_equal(terms->items[j].text, question->wanted[b].text))
						sum += question->wanted[a].worth + question->wanted[b].worth;
			}
		}
	return question->all > 0 && sum > 0 ? 0.10 * (sum > question->all ? 1 : sum / question->all) : 0;
}

/* Whom it is about is asked for: "What did Caroline research?" */
static double about_subject(const struct search *search, const struct fact_row *row, struct arena *arena)
{
	struct terms subject;

	if (slice_is(row->subject, "user") || terms_read(row->subject, TERMS_ORDER, arena, &subject) < 0)
		return 0;
	for (size_t i = 0; i < subject.count; i++)
		for (size_t j = 0; j < search->question.count; j++)
			if (slice_equal(subject.items[i].text, search->question.wanted[j].text))
				return 0.12;
	return 0;
}

/* The best are read and looked at, and put in order again. */
static int look(struct search *search, struct fact_row *rows, struct bobbin_error *error)
{
	size_t limit = search->options->limit ? search->options->limit : FACT_HITS_DEFAULT;
	size_t count = limit * 2 > LOOKED_AT ? limit * 2 : LOOKED_AT;
	int code = 0;

	if (count < search->count)
		search->count = count;
	for (size_t i = 0; i < search->count && code >= 0; i++) {
		struct terms terms;
		struct fact_row row;
		code = read_fact(search, search->candidates[i].id, &row, error);
		if (code == 1 && terms_read(row.text, TERMS_ORDER, &search->arena, &terms) < 0)
			code = error_set(error, BOBBIN_ENOMEM, "searching facts: out of memory");
		if (code == 1)
			search->candidates[i].score += together(search, &terms) + about_subject(search, &row, &search->arena);
	}
	if (code < 0)
		return code;
	if (search->count)
		qsort(search->candidates, search->count, sizeof *search->candidates, by_score);
	if (limit < search->count)
		search->count = limit;
	for (size_t i = 0; i < search->count && code >= 0; i++)
		code = read_fact(search, search->candidates[i].id, &rows[i], error);
	return code < 0 ? code : 0;
}

/* ---- The whole */

static int read_owner(struct search *search, struct bobbin_error *error)
{
	struct memory *memory = search->memory;
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_OWNER_FIND, &statement, error);

	if (code < 0)
		return code;
	code = database_step(statement, error);
	memory->owner_row = code == 1 ? sqlite3_column_int64(statement, 0) : 0;
	search->facts = code == 1 ? sqlite3_column_double(statement, 1) : 0;
	search->length = code == 1 ? sqlite3_column_double(statement, 2) : 0;
	search->contexts = code == 1 && sqlite3_column_int64(statement, 3) > 0;
	sqlite3_reset(statement);
	search->length = search->facts > 0 && search->length > 0 ? search->length / search->facts : 1;
	return code;
}

static int run(struct search *search, struct slice query, struct arena *arena, struct fact **ret_facts,
	size_t *ret_count, struct bobbin_error *error)
{
	struct fact_row *rows = arena_alloc(&search->arena, FACT_HITS_MAX * sizeof *rows);
	struct fact *facts = arena_alloc(arena, FACT_HITS_MAX * sizeof *facts);
	int code = rows && facts ? read_owner(search, error)
				 : error_set(error, BOBBIN_ENOMEM, "searching facts: out of memory");

	*ret_count = 0;
	*ret_facts = facts;
	if (code <= 0 || search->facts < 1)
		return code < 0 ? code : 0;
	code = read_question(search, query, error);
	if (code == 0)
		code = match_all(search, error);
	if (code < 0)
		return code;
	rank(search);
	code = look(search, rows, error);
	for (size_t i = 0; i < search->count && code >= 0; i++) {
		struct fact_row row = rows[i];
		row.text.data = arena_copy(arena, row.text.data, row.text.len);
		row.subject.data = arena_copy(arena, row.subject.data, row.subject.len);
		row.relation.data = arena_copy(arena, row.relation.data, row.relation.len);
		if (!row.text.data || !row.subject.data || !row.relation.data)
			return error_set(error, BOBBIN_ENOMEM, "searching facts: out of memory");
		code = row_fact(search->memory, &row, arena, &facts[i], error);
		facts[i].score = search->candidates[i].score;
	}
	*ret_count = search->count;
	return code;
}

int memory_search(struct memory *memory, struct slice query, const struct fact_search_options *options,
	struct arena *arena, struct fact **ret_facts, size_t *ret_count, struct bobbin_error *error)
{
	static const struct fact_search_options defaults = {0};
	const struct platform *platform = store_platform(memory->store);
	struct search search = {.memory = memory, .options = options ? options : &defaults};
	int code;

	if (search.options->limit > FACT_HITS_MAX)
		return error_set(error, BOBBIN_EINVAL, "a search gives at most %d facts", FACT_HITS_MAX);
	search.now_ns = search.options->now_ns ? search.options->now_ns : platform->realtime_ns(platform->context);
	/* One moment for all that is read: a fact that is forgotten meanwhile is there in whole or not at all. */
	code = database_run(memory->database, "BEGIN", error);
	if (code < 0)
		return code;
	code = run(&search, query, arena, ret_facts, ret_count, error);
	for (int i = 0; i < SQL_COUNT; i++)
		if (memory->statements[i])
			sqlite3_reset(memory->statements[i]);
	sqlite3_exec(memory->database, "COMMIT", NULL, NULL, NULL);
	arena_release(&search.arena);
	return code;
}
