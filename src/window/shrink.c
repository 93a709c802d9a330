/* SPDX-License-Identifier: MIT */
/*
 * The steps that take bodies away and leave messages: clearing consumed results, shortening the results of
 * the last round, and pointing to images instead of sending them. These are the only ones that look at single
 * messages, and only at messages that are shown.
 */
#include "window/planner.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "tokens/counter.h"

/* Clearing reads every message it shows; a line so many times the budget is cut without trying. */
#define CLEAR_LINE_FACTOR 4
/* Text so short is not worth its pointer. */
#define SHORTENED_TOKENS_MIN 8
/* Counting the text anew after each guess of its length; three are usual. */
#define SHORTEN_TRIES_MAX 24

/* What the late results of a call take when they are pointers. */
static uint64_t late_pointers(const struct path_item *item)
{
	uint64_t pointers = (uint64_t)item->late * POINTER_TOKENS;
	return pointers < item->late_tokens ? pointers : item->late_tokens;
}

/* What clearing wins with an item: its body if it is a result, else the results that came late for its calls. */
static uint64_t clearing_gain(const struct path_item *item)
{
	if (item->role != ROLE_TOOL)
		return item->late_tokens - late_pointers(item);
	return item->tokens > POINTER_TOKENS ? item->tokens - POINTER_TOKENS : 0;
}

int planner_recent_start(const struct planner *planner, size_t *ret_start)
{
	uint64_t keep = planner->options->keep_recent;
	size_t count = planner->path->count;
	struct path_item item = {0};

	*ret_start = count;
	if (!keep || !count)
		return 0;
	if (keep < count) {
		int rc = path_item(planner->path, count - (size_t)keep, &item, planner->error);
		if (rc)
			return rc;
	}
	*ret_start = item.turn;
	return 0;
}

/* Results before it were followed by an assistant message and lie outside the recent tail. */
static int consumed_end(const struct planner *planner, size_t *ret_end)
{
	size_t position = planner->path->count, tail, recent;
	struct path_item item;
	int rc;

	*ret_end = planner->pinned;
	do {
		if (position-- <= planner->pinned)
			return 0;
		if ((rc = path_item(planner->path, position, &item, planner->error)))
			return rc;
	} while (item.role != ROLE_ASSISTANT);
	if ((rc = planner_first_fitting(planner, planner->pinned, planner->budget->tail, &tail)) ||
		(rc = planner_round_at_or_after(planner, tail, &tail)) ||
		(rc = planner_recent_start(planner, &recent)))
		return rc;
	*ret_end = position < tail ? position : tail;
	if (recent < *ret_end)
		*ret_end = recent;
	return 0;
}

/* Walks the range backwards and adds up what its results would win; stops when even so the view cannot fit.
 */
static int clear_range(struct planner *planner, size_t end, uint64_t after)
{
	uint64_t history = planner->budget->history, shown = planner->pinned_tokens + after;
	struct path_item item;

	planner->cleared_from = planner->cleared_to = end;
	for (size_t position = end; position > planner->pinned && shown <= history; position--) {
		int rc = path_item(planner->path, position - 1, &item, planner->error);
		if (rc)
			return rc;
		uint64_t gain = clearing_gain(&item);
		if (gain) {
			planner->cleared_tokens += gain;
			planner->cleared_bytes += item.role == ROLE_TOOL ? item.bytes : 0;
			planner->cleared_from = position - 1;
		}
		shown += item.tokens - gain;
	}
	return 0;
}

int planner_clear(struct planner *planner, bool *ret_done)
{
	uint64_t history = planner->budget->history, full = planner->plan->full_tokens;
	uint64_t gain_min =
		planner->options->clear_min_gain ? planner->options->clear_min_gain : history / 10 + 1;
	uint64_t before, after;
	size_t end;
	int rc;

	*ret_done = false;
	if (full / CLEAR_LINE_FACTOR > history)
		return 0;
	if ((rc = consumed_end(planner, &end)) || (rc = planner_tokens_before(planner, end, &before)) ||
		(rc = planner_tokens_from(planner, end, &after)))
		return rc;
	if (before - planner->pinned_tokens < gain_min || planner->pinned_tokens + after > history)
		return 0;
	if ((rc = clear_range(planner, end, after)))
		return rc;
	*ret_done = planner->cleared_tokens >= gain_min && full - planner->cleared_tokens <= history;
	if (!*ret_done) {
		planner->cleared_from = planner->cleared_to = 0;
		planner->cleared_tokens = planner->cleared_bytes = 0;
	}
	return 0;
}

/* What the results of a round take when each is held to `cap` tokens; how many are above it. */
static int results_at(
	const struct planner *planner, size_t round, uint64_t cap, uint64_t *ret_tokens, size_t *ret_above)
{
	struct path_item item;

	*ret_tokens = 0;
	*ret_above = 0;
	for (size_t position = round; position < planner->path->count; position++) {
		int rc = path_item(planner->path, position, &item, planner->error);
		if (rc)
			return rc;
		if (item.role == ROLE_TOOL) {
			*ret_tokens += item.tokens < cap ? item.tokens : cap;
			*ret_above += item.tokens > cap;
		} else if (item.late) {
			*ret_tokens += item.late_tokens <= cap ? item.late_tokens : late_pointers(&item);
			*ret_above += item.late_tokens > cap;
		}
	}
	return 0;
}

/* The largest cap on each result at which all of them take at most `limit`; at least a pointer's size. */
static int find_cap(
	const struct planner *planner, size_t round, uint64_t limit, uint64_t *ret_cap, size_t *ret_above)
{
	uint64_t low = POINTER_TOKENS, high = limit, tokens;
	int rc;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;
		if ((rc = results_at(planner, round, middle, &tokens, ret_above)))
			return rc;
		if (tokens <= limit)
			low = middle;
		else
			high = middle - 1;
	}
	*ret_cap = low;
	return results_at(planner, round, low, &tokens, ret_above);
}

static int refuse_round(const struct planner *planner, uint64_t words_tokens, uint64_t calls_tokens)
{
	bool words = words_tokens > calls_tokens;

	if (planner->pinned_tokens > words_tokens && planner->pinned_tokens > calls_tokens)
		return error_set(planner->error, BOBBIN_EBUDGET,
			"the messages pinned at the start are too big: %llu of the history budget's %llu "
			"tokens; pin fewer or "
			"take a larger window",
			(unsigned long long)planner->pinned_tokens,
			(unsigned long long)planner->budget->history);
	if (words_tokens <= planner->room && calls_tokens <= planner->room)
		return error_set(planner->error, BOBBIN_EBUDGET,
			"the newest turn is too big: %llu tokens of the user's words and %llu of the model's last message, with %llu left "
			"for both even when all results are pointers; rewind before it or take a larger window",
			(unsigned long long)words_tokens, (unsigned long long)calls_tokens, (unsigned long long)planner->room);
	return error_set(planner->error, BOBBIN_EBUDGET,
		"%s too big: %llu tokens, with %llu left for the newest turn even when all its results are "
		"pointers; %s",
		words ? "the user's newest message is" : "the model's last message (its text and calls) is",
		(unsigned long long)(words ? words_tokens : calls_tokens), (unsigned long long)planner->room,
		words ? "shorten it or take a larger window" : "rewind before it or take a larger window");
}

static int count_text(struct planner *planner, const char *text, size_t len, uint64_t *ret_tokens)
{
	if (!planner->counter) {
		*ret_tokens = tokens_estimate(text, len);
		return 0;
	}
	int rc = token_counter_count(planner->counter, text, len, ret_tokens);
	return rc ? error_set(planner->error, rc, "a tool result cannot be counted") : 0;
}

/* The longest beginning of a text, about, that takes at most `tokens`; it ends on a code point. */
static int text_within(struct planner *planner, struct slice text, uint64_t tokens, size_t *ret_bytes)
{
	size_t bytes = text.len;
	uint64_t counted;
	int rc = count_text(planner, text.data, bytes, &counted);

	for (int tries = 0; !rc && counted > tokens && tries < SHORTEN_TRIES_MAX; tries++) {
		bytes = (size_t)((double)bytes * (double)tokens / (double)counted);
		bytes = utf8_truncate(text.data, text.len, bytes > 16 ? bytes - 8 : 0);
		rc = count_text(planner, text.data, bytes, &counted);
	}
	*ret_bytes = counted > tokens ? 0 : bytes;
	return rc;
}

/* Reads a result's text and finds out how much of it is shown. */
static int keep_text(struct planner *planner, size_t position, uint64_t tokens, size_t *ret_bytes)
{
	struct arena arena = ARENA_INIT;
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES * 2);
	struct message message;
	int rc = path_message(planner->path, position, &arena, &message, planner->error);

	if (!rc) {
		message_add_text(&message, &arena, &text);
		if ((rc = buffer_error(&text)))
			error_set(planner->error, rc, "a tool result cannot be read into memory");
	}
	*ret_bytes = 0;
	if (!rc && text.len)
		rc = text_within(planner, buffer_slice(&text), tokens, ret_bytes);
	buffer_release(&text);
	arena_release(&arena);
	return rc;
}

/* Notes how much of one result is shown. */
static int shorten_result(
	struct planner *planner, size_t position, const struct path_item *item, uint64_t cap)
{
	struct window_plan *plan = planner->plan;
	uint64_t keep = cap - POINTER_TOKENS;
	size_t bytes = 0;

	if (keep >= SHORTENED_TOKENS_MIN) {
		int rc = keep_text(planner, position, keep, &bytes);
		if (rc)
			return rc;
	}
	plan->shortened[plan->shortened_count++] = (struct window_shortened){
		.position = position, .bytes = bytes, .tokens_hidden = item->tokens - (bytes ? keep : 0)};
	planner->shortened_tokens += item->tokens - cap;
	planner->shortened_bytes += item->bytes > bytes ? item->bytes - bytes : 0;
	return 0;
}

/* Those that came late for a call become pointers. */
static void shorten_late(struct planner *planner, size_t position, const struct path_item *item)
{
	struct window_plan *plan = planner->plan;
	uint64_t gain = item->late_tokens - late_pointers(item);

	plan->shortened[plan->shortened_count++] =
		(struct window_shortened){.position = position, .tokens_hidden = gain};
	planner->shortened_tokens += gain;
}

static int shorten_results(struct planner *planner, size_t round, uint64_t cap)
{
	struct path_item item;
	int rc;

	for (size_t position = round; position < planner->path->count; position++) {
		if ((rc = path_item(planner->path, position, &item, planner->error)))
			return rc;
		if (item.role == ROLE_TOOL && item.tokens > cap &&
			(rc = shorten_result(planner, position, &item, cap)))
			return rc;
		if (item.role != ROLE_TOOL && item.late_tokens > cap)
			shorten_late(planner, position, &item);
	}
	return 0;
}

/* Too many results to note each: all become pointers. */
static int clear_round(struct planner *planner, size_t round)
{
	struct path_item item;

	planner->cleared_from = round;
	planner->cleared_to = planner->path->count;
	for (size_t position = round; position < planner->path->count; position++) {
		int rc = path_item(planner->path, position, &item, planner->error);
		if (rc)
			return rc;
		uint64_t gain = clearing_gain(&item);
		planner->cleared_tokens += gain;
		planner->cleared_bytes += gain && item.role == ROLE_TOOL ? item.bytes : 0;
	}
	return 0;
}

int planner_shorten(struct planner *planner, size_t round, uint64_t words_tokens)
{
	uint64_t beside = planner->budget->history - planner->room, target = planner->budget->target;
	uint64_t round_tokens, results, least, cap;
	size_t above;
	int rc;

	if ((rc = planner_tokens_from(planner, round, &round_tokens)) ||
		(rc = results_at(planner, round, UINT64_MAX, &results, &above)) ||
		(rc = results_at(planner, round, POINTER_TOKENS, &least, &above)))
		return rc;
	uint64_t others = round_tokens - results;
	if (words_tokens + others + least > planner->room)
		return refuse_round(planner, words_tokens, others);
	uint64_t limit = planner->room - words_tokens - others;
	if (target > beside + words_tokens + others + least)
		limit = target - beside - words_tokens - others;
	if ((rc = find_cap(planner, round, limit, &cap, &above)))
		return rc;
	planner->shortened_from = round;
	if (above > WINDOW_SHORTENED_MAX)
		return clear_round(planner, round);
	return shorten_results(planner, round, cap);
}

/* True if the message's body, images included, is not sent anyway. */
static bool body_hidden(const struct planner *planner, size_t position, const struct path_item *item)
{
	if (item->role != ROLE_TOOL)
		return false;
	if (position >= planner->cleared_from && position < planner->cleared_to &&
		item->tokens > POINTER_TOKENS)
		return true;
	for (size_t i = 0; i < planner->plan->shortened_count; i++)
		if (planner->plan->shortened[i].position == position)
			return true;
	return false;
}

/* What a shown message weighs: its images, and what of its record is never sent. */
struct weight {
	struct message_size size;
	uint64_t beside; /* bytes of "src", where a foreign original is kept */
};

/* Zero if its body is not sent. */
static int weigh(struct planner *planner, size_t position, struct weight *ret_weight)
{
	struct arena arena = ARENA_INIT;
	struct path_item item;
	struct message message;
	struct json src;

	*ret_weight = (struct weight){.beside = 0};
	int rc = path_item(planner->path, position, &item, planner->error);
	if (rc || body_hidden(planner, position, &item))
		return rc;
	rc = path_message(planner->path, position, &arena, &message, planner->error);
	if (!rc && (rc = message_measure(&message, &arena, &ret_weight->size)))
		error_set(planner->error, rc, "out of memory while measuring a message");
	if (!rc && json_get(&message.record, "src", &src))
		ret_weight->beside = src.len;
	arena_release(&arena);
	return rc;
}

static int view_bytes(const struct planner *planner, uint64_t *ret_bytes)
{
	struct path_item words = {0};
	uint64_t pinned, before;
	int rc;

	if ((rc = planner_bytes_before(planner, planner->pinned, &pinned)) ||
		(rc = planner_bytes_before(planner, planner->start, &before)))
		return rc;
	if (planner->words != WINDOW_NONE &&
		(rc = path_item(planner->path, planner->words, &words, planner->error)))
		return rc;
	*ret_bytes = pinned + words.bytes + planner->path->bytes - before - planner->cleared_bytes -
		     planner->shortened_bytes + (planner->record ? planner->record->text.len : 0);
	return 0;
}

/* The shown position after `position`. */
static size_t next_shown(const struct planner *planner, size_t position)
{
	size_t next = position == WINDOW_NONE ? 0 : position + 1;

	if (next < planner->pinned)
		return next;
	if (planner->words != WINDOW_NONE && next <= planner->words)
		return planner->words;
	return next < planner->start ? planner->start : next;
}

/* The records' bytes without what is never sent. */
static int subtract_beside(struct planner *planner, uint64_t *bytes)
{
	struct weight weight;
	int rc = 0;

	for (size_t position = next_shown(planner, WINDOW_NONE); !rc && position < planner->path->count;
		position = next_shown(planner, position)) {
		rc = weigh(planner, position, &weight);
		*bytes -= weight.beside < *bytes ? weight.beside : *bytes;
	}
	return rc;
}

/* From the oldest on, until the bytes are below the limit. */
static int hide_images(struct planner *planner, uint64_t *bytes)
{
	struct window_hidden *hidden = &planner->images;
	struct weight weight;
	int rc = 0;

	for (size_t position = next_shown(planner, WINDOW_NONE);
		!rc && *bytes > planner->budget->bytes && position < planner->path->count;
		position = next_shown(planner, position)) {
		rc = weigh(planner, position, &weight);
		planner->plan->images_from = position + 1;
		if (rc || !weight.size.images)
			continue;
		if (hidden->from == WINDOW_NONE)
			hidden->from = position;
		hidden->to = position + 1;
		hidden->tokens += weight.size.image_tokens;
		*bytes -= weight.size.image_bytes < *bytes ? weight.size.image_bytes : *bytes;
	}
	return rc;
}

int planner_limit_bytes(struct planner *planner)
{
	uint64_t bytes, limit = planner->budget->bytes;
	int rc = view_bytes(planner, &bytes);

	if (!rc && bytes > limit)
		rc = subtract_beside(planner, &bytes);
	if (!rc && bytes > limit)
		rc = hide_images(planner, &bytes);
	if (rc)
		return rc;
	if (bytes > limit)
		return error_set(planner->error, BOBBIN_EBUDGET,
			"the view's messages are too big: %llu bytes without their images, and the body may "
			"hold %llu of them; "
			"raise the byte limit or take a smaller tail",
			(unsigned long long)bytes, (unsigned long long)limit);
	planner->plan->view_bytes = bytes;
	return 0;
}
