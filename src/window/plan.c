/* SPDX-License-Identifier: MIT */
/*
 * The plan: which messages are shown, decided by looking at O(log n) items of the path.
 *
 *	pinned   …hidden…   record + words   …hidden…   start ─────────────── end
 *	[0,pinned)          [words]                     [start, count)
 *
 * First the view is taken as the record leaves it (without a record: the whole line). If that is over the
 * trigger and no record can be used, consumed results are cleared; if it still does not fit the history, it is
 * cut (cut.c).
 */
#include "window/planner.h"

int planner_tokens_before(const struct planner *planner, size_t position, uint64_t *ret_tokens)
{
	struct path_item item;

	if (position >= planner->path->count) {
		*ret_tokens = planner->path->tokens;
		return 0;
	}
	int rc = path_item(planner->path, position, &item, planner->error);
	if (!rc)
		*ret_tokens = item.tokens_before;
	return rc;
}

int planner_bytes_before(const struct planner *planner, size_t position, uint64_t *ret_bytes)
{
	struct path_item item;

	if (position >= planner->path->count) {
		*ret_bytes = planner->path->bytes;
		return 0;
	}
	int rc = path_item(planner->path, position, &item, planner->error);
	if (!rc)
		*ret_bytes = item.bytes_before;
	return rc;
}

int planner_tokens_from(const struct planner *planner, size_t position, uint64_t *ret_tokens)
{
	uint64_t before;
	int rc = planner_tokens_before(planner, position, &before);

	if (!rc)
		*ret_tokens = planner->path->tokens - before;
	return rc;
}

/* What fits is short beside the line: its start is looked for from the end in steps that double, then by
 * halving. */
int planner_first_fitting(const struct planner *planner, size_t from, uint64_t limit, size_t *ret_position)
{
	size_t low = from, high = planner->path->count, step = 1;
	bool fits = true;

	while (low < high) {
		size_t middle = fits && step < (high - low) / 2 ? high - step : low + (high - low) / 2;
		uint64_t tokens;
		int rc = planner_tokens_from(planner, middle, &tokens);
		if (rc)
			return rc;
		fits = fits && tokens <= limit;
		step *= 2;
		if (tokens <= limit)
			high = middle;
		else
			low = middle + 1;
	}
	*ret_position = low;
	return 0;
}

/* Turns and rounds grow along the path, so the next start is where the value first reaches `position`. It is
 * near: the steps to it double until they are beyond it. */
static int start_at_or_after(const struct planner *planner, size_t position, bool rounds, size_t *ret_start)
{
	size_t low = position, high = planner->path->count, step = 0;
	bool beyond = false;

	while (low < high) {
		size_t middle = !beyond && step < (high - low) / 2 ? low + step : low + (high - low) / 2;
		struct path_item item;
		int rc = path_item(planner->path, middle, &item, planner->error);
		if (rc)
			return rc;
		beyond = beyond || (rounds ? item.round : item.turn) >= position;
		step = 2 * step + 1;
		if ((rounds ? item.round : item.turn) >= position)
			high = middle;
		else
			low = middle + 1;
	}
	*ret_start = low;
	return 0;
}

int planner_turn_at_or_after(const struct planner *planner, size_t position, size_t *ret_start)
{
	return start_at_or_after(planner, position, false, ret_start);
}

int planner_round_at_or_after(const struct planner *planner, size_t position, size_t *ret_start)
{
	return start_at_or_after(planner, position, true, ret_start);
}

/* A turn start that a person's message makes; the first message may be something else. */
static bool is_user_turn(const struct path_item *item, size_t position)
{
	return item->turn == position && item->role == ROLE_USER && item->origin == ORIGIN_PERSON;
}

/* Why the record cannot be used; *ret_reason NULL if it can. */
static int judge_record(
	const struct planner *planner, const struct window_record *record, const char **ret_reason)
{
	struct path_item item;
	int rc;

	*ret_reason = record->stale;
	if (*ret_reason)
		return 0;
	*ret_reason = "its cut is not on the line";
	if (record->cut >= planner->path->count)
		return 0;
	if ((rc = path_item(planner->path, record->cut, &item, planner->error)))
		return rc;
	*ret_reason = "its cut is not a message of the user's";
	if (!is_user_turn(&item, record->cut))
		return 0;
	*ret_reason = NULL;
	if (record->inner_cut == WINDOW_NONE)
		return 0;
	*ret_reason = "its inner cut is not the start of a round of that turn";
	if (record->inner_cut <= record->cut || record->inner_cut >= planner->path->count)
		return 0;
	if ((rc = path_item(planner->path, record->inner_cut, &item, planner->error)))
		return rc;
	if (item.turn == record->cut && item.round == record->inner_cut)
		*ret_reason = NULL;
	return 0;
}

static int take_record(struct planner *planner, const struct window_record *record)
{
	struct window_plan *plan = planner->plan;

	if (!record)
		return 0;
	int rc = judge_record(planner, record, &plan->stale_reason);
	if (rc)
		return rc;
	plan->summary_stale = plan->stale_reason != NULL;
	if (!plan->summary_stale)
		planner->record = record;
	return 0;
}

/* The messages that always stay; their last round is kept whole. A record's cut ends them at the latest. */
static int take_pinned(struct planner *planner)
{
	size_t count = planner->path->count, pinned = count;
	int rc = 0;

	if (planner->options->keep_first < count)
		rc = planner_round_at_or_after(planner, (size_t)planner->options->keep_first, &pinned);
	if (rc)
		return rc;
	if (planner->record && pinned > planner->record->cut)
		pinned = planner->record->cut;
	planner->pinned = pinned;
	return planner_tokens_before(planner, pinned, &planner->pinned_tokens);
}

/* The view as the record leaves it; without one, the whole line. */
static int take_view(struct planner *planner)
{
	const struct window_record *record = planner->record;
	struct path_item words;
	uint64_t tokens;
	int rc;

	planner->words = WINDOW_NONE;
	planner->floor = planner->start = planner->pinned;
	if (!record) {
		planner->plan->full_tokens = planner->path->tokens;
		return 0;
	}
	planner->floor = planner->start = record->cut;
	if (record->inner_cut != WINDOW_NONE) {
		planner->words = record->cut;
		planner->start = record->inner_cut;
	}
	if ((rc = path_item(planner->path, record->cut, &words, planner->error)) ||
		(rc = planner_tokens_from(planner, planner->start, &tokens)))
		return rc;
	planner->plan->full_tokens = planner->pinned_tokens + record->tokens + tokens +
				     (planner->words == WINDOW_NONE ? 0 : words.tokens);
	return 0;
}

/* The pinned messages and the record must leave room for the rest. */
static int take_room(struct planner *planner, uint64_t record)
{
	uint64_t history = planner->budget->history;
	bool record_larger = record > planner->pinned_tokens;

	if (record > history || planner->pinned_tokens > history - record)
		return error_set(planner->error, BOBBIN_EBUDGET,
			"%s too big: %llu of the history budget's %llu tokens; %s",
			record_larger ? "the compaction record is" : "the messages pinned at the start are",
			(unsigned long long)(record_larger ? record : planner->pinned_tokens),
			(unsigned long long)history,
			record_larger ? "take a larger window" : "pin fewer or take a larger window");
	planner->room = history - record - planner->pinned_tokens;
	return 0;
}

/* Takes away from the view what must go. */
static int reduce(struct planner *planner)
{
	const struct window_options *options = planner->options;
	uint64_t record = planner->record ? planner->record->tokens : 0;
	bool cleared = false;
	int rc = 0;

	planner->plan->over_trigger = planner->plan->full_tokens >= planner->budget->trigger;
	if (options->cut_for_record)
		return (rc = take_room(planner, options->cut_for_record)) ? rc : planner_cut(planner);
	if (planner->plan->over_trigger && !planner->record && !options->no_clear)
		rc = planner_clear(planner, &cleared);
	if (rc || cleared || planner->plan->full_tokens <= planner->budget->history)
		return rc;
	return (rc = take_room(planner, record)) ? rc : planner_cut(planner);
}

int window_plan(const struct path *path, const struct window_budget *budget,
	const struct window_options *options, const struct window_record *record,
	struct token_counter *counter, struct window_plan *ret_plan, struct bobbin_error *error)
{
	struct planner planner = {
		.path = path,
		.budget = budget,
		.options = options,
		.counter = counter,
		.plan = ret_plan,
		.error = error,
		.shortened_from = WINDOW_NONE,
		.inner_turn = WINDOW_NONE,
		.images = {.kind = HIDDEN_IMAGES,
			.from = WINDOW_NONE,
			.reason = "images, for the byte limit"},
	};
	int rc;

	ret_plan->budget = *budget;
	ret_plan->part_count = ret_plan->hidden_count = ret_plan->shortened_count = 0;
	ret_plan->cut = ret_plan->images_from = 0;
	ret_plan->inner_cut = ret_plan->record_at = ret_plan->newest = WINDOW_NONE;
	ret_plan->line_tokens = path->tokens;
	ret_plan->summary_stale = false;
	ret_plan->stale_reason = NULL;
	ret_plan->exact = path->exact;
	if ((rc = take_record(&planner, record)) || (rc = take_pinned(&planner)) ||
		(rc = take_view(&planner)) || (rc = reduce(&planner)) || (rc = planner_limit_bytes(&planner)))
		return rc;
	return planner_describe(&planner);
}
