/* SPDX-License-Identifier: MIT */
/*
 * Finding facts for a question.
 *
 *	terms and relations of the question ─> rows of the index, the owner's in each term, rare terms first ─> those over the
 *	threshold, by share ─> of the best their rows: not expired, scores ─> of the best of these their texts
 *
 * The score is BM25 (a term counts once a fact: facts are short) with frequencies of this owner's facts alone, as a share of what
 * the question's terms could give; then a little for what is recent, recurs, and stands together. The threshold looks at the
 * share before that.
 *
 * What is common takes the time, and says little. Once what is left of the terms, the common ones, is worth less than the threshold,
 * no fact that has nothing else can reach it: they are looked for among the candidates alone.
 *
 * Invariants: (1) a row is looked at only through a term that holds the owner's number and by `owner = ?1`; (2) expired and, unless
 * the past is asked for, superseded facts do not count; (3) at most ROWS_TERM rows are read for a term, the newest (and as many more
 * as have expired, to EXPIRED_MAX), so a question of common words costs no more than others.
 */
#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/buffer.h"
#include "memory/change.h"
#include "memory/dates.h"
#include "memory/phrases.h"
#include "memory/row.h"

#define ROWS_TERM 800
#define ROWS_ALL 2400
#define EXPIRED_MAX 20000
#define CHOSEN 256 /* of the candidates, to read what else counts of them */
#define RELATIONS_MAX 4
#define DATES_MAX 4
#define THRESHOLD 0.30	      /* what one fact must share, so that there is an answer at all */
#define THRESHOLD_SINGLE 0.50 /* of it, if that is one word of a long fact */
#define THRESHOLD_BESIDE 0.20 /* of those that come with it */
#define LONG_TERMS 10
#define SATURATION 1.2	     /* k1 of BM25 */
#define LENGTH_SHARE 0.25    /* b of BM25 */
#define NEAR_WEIGHT 0.40     /* of what was said around it */
#define RELATION_WEIGHT 1.6  /* what is asked for by its relation need not share a word */
#define SMALLEST_COUNT 500.0 /* among a few facts every word would look common */
#define LOOKED_AT 24
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
	int64_t oldest; /* of them, by id */
	size_t leading; /* of the wanted terms: those that candidates were found by */
	size_t rows;
	int64_t rows_term;
	double threshold;
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

/* How a term is looked for. */
struct way {
	size_t wanted; /* which one */
	double weight;
	const char *columns;
	bool among; /* the candidates that are there, nowhere else */
};

static int take_row(struct search *search, const struct way *way, int64_t id)
{
	if (search->count * 2 >= search->cap && grow(search) < 0)
		return BOBBIN_ENOMEM;
	struct candidate *candidate = slot_of(search->candidates, search->cap, id);
	if (!candidate->id) {
		if (way->among)
			return 0;
		candidate->id = id;
		search->count++;
		search->oldest = search->oldest && search->oldest < id ? search->oldest : id;
	}
	if (candidate->have >> way->wanted & 1)
		return 0;
	candidate->have |= UINT64_C(1) << way->wanted;
	candidate->share += way->weight * search->question.wanted[way->wanted].worth;
	return 0;
}

static void add_phrase(const struct search *search, size_t wanted, struct buffer *out)
{
	buffer_add_char(out, '"');
	index_add_term(search->memory, search->question.wanted[wanted].text, out);
	buffer_add_char(out, '"');
}

/* "{now} : "12xberlin"", and for candidates alone: " AND {now near} : ("12xmove" OR "12xmitt")", what they were found by. */
static void write_query(const struct search *search, const struct way *way, struct buffer *out)
{
	buffer_addf(out, "{%s} : ", way->columns);
	add_phrase(search, way->wanted, out);
	if (!way->among)
		return;
	buffer_add_text(out, search->question.past ? " AND {now past near} : (" : " AND {now near} : (");
	for (size_t i = 0; i < search->leading; i++) {
		buffer_add_text(out, i ? " OR " : "");
		add_phrase(search, i, out);
	}
	buffer_add_char(out, ')');
}

static int match(struct search *search, const struct way *way, struct bobbin_error *error)
{
	struct buffer query;
	sqlite3_stmt *statement;
	int code = memory_statement(search->memory, SQL_SEARCH, &statement, error);

	if (code < 0)
		return code;
	buffer_init(&query, 16384);
	write_query(search, way, &query);
	bind_slice(statement, 2, buffer_slice(&query));
	sqlite3_bind_int64(statement, 3, way->among ? search->oldest : 0);
	sqlite3_bind_int64(statement, 4, search->rows_term);
	code = buffer_error(&query);
	while (code >= 0 && (code = database_step(statement, error)) == 1) {
		search->rows += !way->among;
		code = take_row(search, way, sqlite3_column_int64(statement, 0));
	}
	sqlite3_reset(statement);
	buffer_release(&query);
	return code == BOBBIN_ENOMEM ? error_set(error, code, "searching facts: out of memory") : code;
}

/* Expired facts are still in the index; they must not take the place of others. */
static int count_expired(struct search *search, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(search->memory, SQL_EXPIRED, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, search->now_ns);
	sqlite3_bind_int(statement, 3, EXPIRED_MAX);
	code = database_step(statement, error);
	search->rows_term = ROWS_TERM + (code == 1 ? sqlite3_column_int64(statement, 0) : 0);
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

static int match_all(struct search *search, struct bobbin_error *error)
{
	const struct question *question = &search->question;
	double left = 0, enough = search->threshold * (question->all > 0 ? question->all : 1);
	int code = count_expired(search, error);

	for (size_t i = 0; i < question->count; i++)
		left += question->wanted[i].worth;
	for (size_t i = 0; i < question->count && code >= 0; i++) {
		struct way way = {i, 1, question->past ? "now past" : "now", left < enough || search->rows >= ROWS_ALL};
		if (way.among && !search->count)
			break;
		if (!way.among)
			search->leading = i + 1;
		if (question->wanted[i].facts)
			code = match(search, &way, error);
		way.columns = "near";
		way.weight = NEAR_WEIGHT;
		if (code >= 0 && search->contexts && !question->wanted[i].relation)
			code = match(search, &way, error);
		left -= question->wanted[i].worth;
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

static bool is_asked_day(const struct search *search, int64_t said_ns)
{
	for (size_t i = 0; i < search->question.date_count; i++)
		if (is_day_of(&search->question.dates[i], said_ns))
			return true;
	return false;
}

/* BM25 of a fact of so many terms, and what is not in the words. */
static double score_of(const struct search *search, const struct candidate *candidate, double terms)
{
	double norm = 1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * terms / search->length);
	double score = share_of(search, candidate->share * (SATURATION + 1) / norm);
	double age = (double)(search->now_ns - candidate->said_ns) / (double)RECENT_NS;
	double factor = 1 + 0.08 / (1 + (age > 0 ? age : 0));

	if (candidate->sessions > 1)
		factor += 0.03 * log2((double)candidate->sessions);
	if (is_asked_day(search, candidate->said_ns))
		factor += 0.25;
	return score * factor;
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *first = a, *second = b;

	if (first->score != second->score)
		return first->score < second->score ? 1 : -1;
	return first->id < second->id ? 1 : -1;
}

/* The table becomes a list of those that share enough with the question, the best by that alone first. */
static void choose(struct search *search)
{
	size_t kept = 0;

	for (size_t i = 0; i < search->cap; i++) {
		struct candidate candidate = search->candidates[i];
		if (!candidate.id || share_of(search, candidate.share) < search->threshold)
			continue;
		candidate.score = candidate.share;
		search->candidates[kept++] = candidate;
	}
	if (kept)
		qsort(search->candidates, kept, sizeof *search->candidates, by_score);
	search->count = kept;
}

/* Whether the question is about this fact. A single word that a long text has of a question of several says little. */
static bool answers(const struct search *search, const struct candidate *candidate, double terms)
{
	bool single = (candidate->have & (candidate->have - 1)) == 0 && search->question.count > 1;
	double enough = single && terms > LONG_TERMS ? THRESHOLD_SINGLE : THRESHOLD;

	return share_of(search, candidate->share) >= enough;
}

/* The first CHOSEN that have not expired are put in order of score: what else counts stands in their rows. */
static int rank(struct search *search, struct bobbin_error *error)
{
	bool answered = search->options->threshold != 0;
	sqlite3_stmt *statement;
	size_t kept = 0;
	int code = 0;

	for (size_t i = 0; i < search->count && kept < CHOSEN && code >= 0; i++) {
		struct candidate candidate = search->candidates[i];
		code = memory_statement(search->memory, SQL_FACT_RANK, &statement, error);
		if (code < 0)
			return code;
		sqlite3_bind_int64(statement, 2, candidate.id);
		sqlite3_bind_int64(statement, 3, search->now_ns);
		code = database_step(statement, error);
		if (code == 1) {
			candidate.said_ns = sqlite3_column_int64(statement, 0);
			candidate.sessions = (uint64_t)sqlite3_column_int64(statement, 1);
			double terms = sqlite3_column_double(statement, 2);
			candidate.score = score_of(search, &candidate, terms);
			answered = answered || answers(search, &candidate, terms);
			search->candidates[kept++] = candidate;
		}
		sqlite3_reset(statement);
	}
	search->count = answered ? kept : 0;
	if (search->count)
		qsort(search->candidates, search->count, sizeof *search->candidates, by_score);
	return code < 0 ? code : 0;
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
	struct owner_counts counts = {0};
	int code = owner_find(search->memory, &counts, error);

	search->facts = counts.facts;
	search->contexts = counts.contexts;
	search->length = counts.facts > 0 && counts.terms > 0 ? counts.terms / counts.facts : 1;
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
	choose(search);
	code = rank(search, error);
	if (code == 0)
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
	search.threshold = search.options->threshold == 0 ? THRESHOLD_BESIDE : search.options->threshold;
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

/* ---- Whether anything has changed */

int memory_version(struct memory *memory, struct memory_version *ret_version, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_VERSION, &statement, error);

	if (code < 0)
		return code;
	code = database_step(statement, error);
	if (code == 1)
		*ret_version = (struct memory_version){sqlite3_column_int64(statement, 0), sqlite3_total_changes64(memory->database)};
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

int memory_next_expiry(struct memory *memory, int64_t after_ns, int64_t *ret_ns, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, SQL_EXPIRY_NEXT, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, after_ns);
	code = database_step(statement, error);
	if (code == 1)
		*ret_ns = sqlite3_column_int64(statement, 0); /* NULL, 0: none will */
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}
