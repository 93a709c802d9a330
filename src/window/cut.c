/* SPDX-License-Identifier: MIT */
/*
 * The cut: the earliest user message from which everything to the end fits the tail. A newest turn that alone
 * exceeds it keeps the user's words and its last rounds; a last round that alone exceeds it keeps its pairs
 * and loses bodies.
 *
 * Invariant: words and start are a turn start and a round start, whatever the budget (window.h, 2).
 */
#include "window/planner.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The turn start before `position`, if it is not before the floor and the view still reaches the target with
 * it. */
static int one_turn_more(const struct planner *planner, size_t position, size_t *ret_start)
{
	uint64_t target = planner->budget->target;
	uint64_t beside = planner->budget->history - planner->room;
	struct path_item item;
	uint64_t tokens;
	int rc;

	*ret_start = position;
	if (position == 0 || target <= beside)
		return 0;
	if ((rc = path_item(planner->path, position - 1, &item, planner->error)) ||
		(rc = planner_tokens_from(planner, item.turn, &tokens)))
		return rc;
	if (item.turn >= planner->floor && tokens <= target - beside)
		*ret_start = item.turn;
	return 0;
}

/* Where the tail begins: a turn start; the count if not even the newest turn fits. */
static int tail_start(const struct planner *planner, size_t *ret_start)
{
	size_t start;
	uint64_t tokens;
	int rc;

	if (planner->options->keep_recent) {
		if ((rc = planner_recent_start(planner, &start)))
			return rc;
		if (start < planner->floor)
			start = planner->floor;
		if ((rc = planner_tokens_from(planner, start, &tokens)))
			return rc;
		if (tokens <= planner->room) {
			*ret_start = start;
			return 0;
		}
	}
	rc = planner_first_fitting(
		planner, planner->floor, smaller(planner->budget->tail, planner->room), &start);
	/* What follows the pinned messages or the record begins where it must; only a later start is a
	 * choice. */
	if (!rc && start > planner->floor)
		rc = planner_turn_at_or_after(planner, start, &start);
	if (rc)
		return rc;
	*ret_start = start;
	return planner->budget->one_turn_more ? one_turn_more(planner, start, ret_start) : 0;
}

static int refuse_words(const struct planner *planner, uint64_t tokens)
{
	return error_set(planner->error, BOBBIN_EBUDGET,
		"the user's newest message is too big: it takes %llu tokens, and %llu are left for it; "
		"shorten it or take "
		"a larger window",
		(unsigned long long)tokens, (unsigned long long)planner->room);
}

/*
 * The last group that holds an answer of the model: text that was injected after it is shown with it. The
 * count if the turn has no answer yet.
 */
static int last_round(const struct planner *planner, size_t from, size_t *ret_round)
{
	size_t position = planner->path->count;
	struct path_item item;

	while (position > from) {
		int rc = path_item(planner->path, position - 1, &item, planner->error);
		if (rc)
			return rc;
		if (item.role != ROLE_USER || item.round < from) {
			*ret_round = item.round < from ? from : item.round;
			return 0;
		}
		position--;
	}
	*ret_round = planner->path->count > from ? from : planner->path->count;
	return 0;
}

/* Rounds of the newest turn, of which the first that may be shown is `from`; `words_tokens` stand before
 * them. */
static int cut_inside(struct planner *planner, size_t from, uint64_t words_tokens)
{
	uint64_t limit = smaller(planner->budget->tail, planner->room);
	size_t count = planner->path->count, start, last;
	uint64_t tokens;
	int rc;

	if (words_tokens > planner->room)
		return refuse_words(planner, words_tokens);
	planner->start = count;
	if (from >= count)
		return 0;
	limit = limit > words_tokens ? limit - words_tokens : 0;
	if ((rc = planner_first_fitting(planner, from, limit, &start)) ||
		(rc = planner_round_at_or_after(planner, start, &start)) ||
		(rc = last_round(planner, from, &last)) || (rc = planner_tokens_from(planner, last, &tokens)))
		return rc;
	planner->start = start < last ? start : last;
	if (start > last && tokens > planner->room - words_tokens)
		return planner_shorten(planner, last, words_tokens);
	return 0;
}

int planner_cut(struct planner *planner)
{
	size_t count = planner->path->count, start, from;
	struct path_item item;
	int rc;

	planner->words = WINDOW_NONE;
	if ((rc = tail_start(planner, &start)))
		return rc;
	if (start < count) {
		planner->start = start;
		return 0;
	}
	/* Not even the newest turn fits. */
	if ((rc = path_item(planner->path, count - 1, &item, planner->error)))
		return rc;
	size_t turn = planner->inner_turn = item.turn;
	from = turn > planner->floor ? turn : planner->floor;
	if (planner->record && planner->record->cut == turn && planner->record->inner_cut != WINDOW_NONE)
		from = planner->record->inner_cut;
	if ((rc = path_item(planner->path, turn, &item, planner->error)))
		return rc;
	if (turn < planner->pinned || item.role != ROLE_USER)
		return cut_inside(planner, from, 0);
	planner->words = turn;
	return cut_inside(planner, from == turn ? turn + 1 : from, item.tokens);
}
