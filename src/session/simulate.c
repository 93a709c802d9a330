/* SPDX-License-Identifier: MIT */
/*
 * What a session would have cost under several ways of keeping its window, in units of one uncached input
 * token.
 *
 * Every assistant message of the line was one request. A request pays the cached price for the part of its
 * view that the request before it began with, the price of writing the cache for the rest, and the output
 * price for the answer.
 *
 *	none      the whole line, always (also where it would no longer fit a window: the number to compare
 * with) sliding   beyond the history budget the oldest turns go; nothing stands for them fixed X   at X of the
 * history budget a record takes the place of all but the tail auto      when what the long view has cost since
 * the last compaction has reached what one costs: at most twice the best
 *
 * A record is taken to be a tenth of what it covers, up to the record budget. Each token is read once for its
 * segment's record and a tenth of it written, at full price.
 */
#include "base/alloc.h"
#include "session/plan_inside.h"

#include <stdio.h>

#define PRICES_MAX 16
#define RECORD_SHARE 10 /* a record is one part in so many of what it covers */
#define NAME_BYTES 48

struct prices {
	char name[NAME_BYTES];
	double cache_write, cache_read, output;
};

struct bobbin_simulation {
	struct bobbin_simulation_row *rows;
	size_t count, cap;
	struct arena arena;
};

/* The line as the replay needs it. */
struct line {
	size_t count;
	uint64_t *before;   /* tokens before each position, and of all at [count] */
	bool *starts_round; /* a cut may lie here */
	bool *is_reply;
	uint64_t history, record_max, tail;
};

enum policy { POLICY_NONE, POLICY_SLIDING, POLICY_FIXED, POLICY_AUTO };

/* One replay at work. */
struct replay {
	const struct line *line;
	const struct prices *prices;
	enum policy policy;
	double trigger;
	size_t start;	       /* first position shown */
	uint64_t record;       /* tokens that stand for what is before it */
	uint64_t cached;       /* of the view, from its start */
	double billed, excess; /* excess: paid for the long view since the last compaction */
	uint64_t requests, compactions;
};

static uint64_t view_tokens(const struct replay *replay, size_t end)
{
	return replay->record + replay->line->before[end] - replay->line->before[replay->start];
}

/* The earliest cut from which everything to `end` fits the tail; `start` if there is none after it. */
static size_t tail_start(const struct replay *replay, size_t end)
{
	const struct line *line = replay->line;
	for (size_t at = replay->start + 1; at < end; at++)
		if (line->starts_round[at] && line->before[end] - line->before[at] <= line->tail)
			return at;
	return replay->start;
}

static void slide(struct replay *replay, size_t end)
{
	size_t start = tail_start(replay, end);
	if (start == replay->start)
		return;
	replay->start = start;
	replay->cached = 0;
	replay->compactions++;
}

static double compaction_price(const struct replay *replay, uint64_t covered, uint64_t view_after)
{
	return (double)covered + replay->prices->output * (double)(covered / RECORD_SHARE) +
	       replay->prices->cache_write * (double)view_after;
}

static void compact(struct replay *replay, size_t end)
{
	const struct line *line = replay->line;
	size_t start = tail_start(replay, end);
	if (start == replay->start)
		return;
	uint64_t covered = line->before[start] - line->before[replay->start];
	uint64_t record = line->before[start] / RECORD_SHARE;
	replay->record = record < line->record_max ? record : line->record_max;
	replay->start = start;
	replay->cached = 0;
	replay->excess = 0;
	replay->compactions++;
	replay->billed += (double)covered + replay->prices->output * (double)(covered / RECORD_SHARE);
}

static bool is_due(const struct replay *replay, size_t end)
{
	const struct line *line = replay->line;
	uint64_t view = view_tokens(replay, end);
	if (replay->policy == POLICY_FIXED)
		return (double)view >= replay->trigger * (double)line->history;
	if (view >= line->history)
		return true;
	size_t start = tail_start(replay, end);
	uint64_t covered = line->before[start] - line->before[replay->start];
	uint64_t after = line->record_max + line->before[end] - line->before[start];
	return covered > after && replay->excess >= compaction_price(replay, covered, after);
}

static void request(struct replay *replay, size_t reply)
{
	const struct line *line = replay->line;
	if (replay->policy == POLICY_SLIDING && view_tokens(replay, reply) > line->history)
		slide(replay, reply);
	else if ((replay->policy == POLICY_FIXED || replay->policy == POLICY_AUTO) && is_due(replay, reply))
		compact(replay, reply);
	uint64_t view = view_tokens(replay, reply), cached = replay->cached < view ? replay->cached : view;
	uint64_t shortest = line->record_max + line->tail;
	replay->billed += replay->prices->cache_read * (double)cached +
			  replay->prices->cache_write * (double)(view - cached) +
			  replay->prices->output * (double)(line->before[reply + 1] - line->before[reply]);
	if (view > shortest)
		replay->excess += replay->prices->cache_read * (double)(view - shortest);
	replay->cached = view;
	replay->requests++;
}

static struct replay run(
	const struct line *line, const struct prices *prices, enum policy policy, double trigger)
{
	struct replay replay = {.line = line, .prices = prices, .policy = policy, .trigger = trigger};
	for (size_t at = 1; at < line->count; at++)
		if (line->is_reply[at])
			request(&replay, at);
	return replay;
}

/* ---- Rows ---- */

static int add_row(bobbin_simulation *simulation, const struct prices *prices, const char *policy,
	const struct replay *replay)
{
	void *rows = simulation->rows;
	if (mem_grow(&rows, &simulation->cap, simulation->count + 1, sizeof(*simulation->rows)) < 0)
		return BOBBIN_ENOMEM;
	simulation->rows = rows;
	const struct bobbin_simulation_row row = {
		arena_copy(&simulation->arena, prices->name, strlen(prices->name)),
		arena_copy(&simulation->arena, policy, strlen(policy)), replay->trigger, replay->requests,
		replay->compactions, replay->billed};
	if (!row.prices || !row.policy)
		return BOBBIN_ENOMEM;
	simulation->rows[simulation->count++] = row;
	return 0;
}

static struct replay best_fixed(const struct line *line, const struct prices *prices)
{
	struct replay best = run(line, prices, POLICY_FIXED, 0.10);
	for (int percent = 15; percent <= 100; percent += 5) {
		struct replay tried = run(line, prices, POLICY_FIXED, percent / 100.0);
		if (tried.billed < best.billed)
			best = tried;
	}
	return best;
}

static int simulate_prices(
	bobbin_simulation *simulation, const struct line *line, const struct prices *prices)
{
	struct replay replay = run(line, prices, POLICY_NONE, 0);
	int rc = add_row(simulation, prices, "none", &replay);
	replay = run(line, prices, POLICY_SLIDING, 0);
	rc = rc ? rc : add_row(simulation, prices, "sliding", &replay);
	replay = run(line, prices, POLICY_FIXED, 0.7);
	rc = rc ? rc : add_row(simulation, prices, "fixed", &replay);
	replay = run(line, prices, POLICY_AUTO, 0);
	rc = rc ? rc : add_row(simulation, prices, "auto", &replay);
	replay = best_fixed(line, prices);
	return rc ? rc : add_row(simulation, prices, "best fixed", &replay);
}

/* ---- Input ---- */

static int read_line(
	const bobbin_plan *plan, struct arena *arena, struct line *ret_line, struct bobbin_error *error)
{
	const struct path *path = log_path_path(plan->path);
	struct line line = {.count = path->count,
		.history = plan->numbers.history,
		.record_max = plan->numbers.record,
		.tail = plan->numbers.tail};
	line.before = arena_alloc(arena, (path->count + 1) * sizeof(*line.before));
	line.starts_round = arena_alloc(arena, path->count + 1);
	line.is_reply = arena_alloc(arena, path->count + 1);
	if (!line.before || !line.starts_round || !line.is_reply)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t at = 0; at < path->count; at++) {
		struct path_item item;
		int rc = path_item(path, at, &item, error);
		if (rc < 0)
			return rc;
		line.before[at] = item.tokens_before;
		line.starts_round[at] = item.round == at;
		line.is_reply[at] = item.role == ROLE_ASSISTANT;
	}
	line.before[path->count] = path->tokens;
	*ret_line = line;
	return 0;
}

static const struct prices known_prices[] = {
	{"cache write 1.25, read 0.1", 1.25, 0.1, 5.0},
	{"cache write 1, read 0.1", 1.0, 0.1, 8.0},
	{"cache write 1, read 0.5", 1.0, 0.5, 4.0},
	{"no cache", 1.0, 1.0, 5.0},
};

static double member_double(const struct json *object, const char *key, double otherwise)
{
	struct json value;
	double number;
	return json_get(object, key, &value) && json_double(&value, &number) && number >= 0 ? number
											    : otherwise;
}

/* {"NAME":{"cache_write":1.25,"cache_read":0.1,"output":5}, …} */
static int read_prices(
	const char *text, size_t len, struct prices *prices, size_t *ret_count, struct bobbin_error *error)
{
	struct json object, key, value;
	struct json_iter iter;
	size_t count = 0;
	int rc = json_parse(text, len, &object, error);
	if (rc < 0) {
		error_prefix(error, "the price table");
		return rc;
	}
	json_iter_init(&iter, &object);
	while (object.type == JSON_OBJECT && count < PRICES_MAX && json_iter_next(&iter, &key, &value)) {
		struct buffer name = BUFFER_INIT(LIMIT_META_BYTES);
		json_string_decode(&key, JSON_SURROGATES_REPLACE, &name);
		snprintf(prices[count].name, NAME_BYTES, "%s", name.data ? name.data : "");
		buffer_release(&name);
		prices[count].cache_write = member_double(&value, "cache_write", 1.0);
		prices[count].cache_read = member_double(&value, "cache_read", 1.0);
		prices[count++].output = member_double(&value, "output", 1.0);
	}
	*ret_count = count;
	return count ? 0
		     : error_set(error, BOBBIN_EINPUT,
			       "the price table must be an object of objects: "
			       "{\"NAME\":{\"cache_write\":1.25,\"cache_read\":0.1,\"output\":5}}");
}

static int simulate(bobbin_session *session, const struct bobbin_window_options *window,
	const struct prices *prices, size_t price_count, bobbin_simulation *simulation,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct line line;
	bobbin_plan *plan;
	int rc = bobbin_plan_make(session, window, &plan, error);
	if (rc < 0)
		return rc;
	rc = read_line(plan, &arena, &line, error);
	for (size_t i = 0; !rc && i < price_count; i++)
		if ((rc = simulate_prices(simulation, &line, &prices[i])) < 0)
			error_set(error, rc, "out of memory");
	arena_release(&arena);
	bobbin_plan_free(plan);
	return rc;
}

int bobbin_session_simulate(bobbin_session *session, const struct bobbin_window_options *window,
	const char *prices, size_t len, bobbin_simulation **ret_simulation, struct bobbin_error *error)
{
	struct prices own[PRICES_MAX];
	size_t count = sizeof(known_prices) / sizeof(known_prices[0]);
	int rc = SESSION_CHECK(session, error);
	if (!rc && prices)
		rc = read_prices(prices, len, own, &count, error);
	if (rc < 0)
		return rc;
	bobbin_simulation *simulation = mem_alloc_zero(sizeof(*simulation));
	if (!simulation)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = simulate(session, window, prices ? own : known_prices, count, simulation, error);
	if (rc < 0)
		bobbin_simulation_free(simulation);
	else
		*ret_simulation = simulation;
	return rc;
}

const struct bobbin_simulation_row *bobbin_simulation_get(const bobbin_simulation *simulation, size_t index)
{
	return index < simulation->count ? &simulation->rows[index] : NULL;
}

void bobbin_simulation_free(bobbin_simulation *simulation)
{
	if (!simulation)
		return;
	arena_release(&simulation->arena);
	mem_free(simulation->rows);
	mem_free(simulation);
}
