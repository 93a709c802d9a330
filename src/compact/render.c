/* SPDX-License-Identifier: MIT */
/*
 * Choosing by rank within a budget. Each line is counted alone; a join of lines never has more tokens
 * than its lines, but for counters that are not additive, so the whole text is counted once more at the
 * end, and what came last gives way if it should be too long.
 *
 * Invariants: those of render.h.
 */
#include "compact/render.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "compact/merge.h"

/* Room kept for the pointers that say what was left out: one line for each kind. */
#define POINTER_TOKENS 20
#define POINTER_TOKENS_USUAL 14
/* No line is shorter: below it the search ends. */
#define LINE_TOKENS_MIN 6

struct candidate {
	uint32_t index;
	uint16_t rank;
	uint16_t order; /* inside a rank, before age */
	uint32_t place; /* newest source */
	bool kept;
};

struct chooser {
	const struct compact_record *from;
	const struct path *path;
	struct render_options options;
	struct compact_record *to;
	struct candidate *candidates;
	uint32_t *kept_order; /* candidates in the order in which they were kept */
	size_t count, kept_count;
	struct buffer line;
	struct render_report report;
	struct bobbin_error *error;
};

/* ---- Ranks */

enum {
	RANK_BINDING,
	RANK_LIFTED,
	RANK_TASK,
	RANK_REJECTED,
	RANK_OLD_TASK,
	RANK_CHOSEN,
	RANK_OPEN,
	RANK_FACT,
	RANK_CHANGED_FILE,
	RANK_WORKED,
	RANK_READ_FILE,
	RANK_PAST,
};

static uint16_t rank_of(const struct compact_item *item)
{
	switch (item->kind) {
	case ITEM_CONSTRAINT:
		return item->state == STATE_BINDING ? RANK_BINDING : RANK_LIFTED;
	case ITEM_TASK:
		return item->state == STATE_OPEN ? RANK_OLD_TASK : RANK_PAST;
	case ITEM_DECISION:
		if (item->state == STATE_REJECTED)
			return RANK_REJECTED;
		return item->state == STATE_OVERRULED ? RANK_PAST : RANK_CHOSEN;
	case ITEM_TRIED:
		return item->state == STATE_WORKED ? RANK_WORKED : RANK_REJECTED;
	case ITEM_OPEN:
		return item->state == STATE_OPEN ? RANK_OPEN : RANK_PAST;
	case ITEM_FACT:
		return item->state == STATE_SUPERSEDED ? RANK_PAST : RANK_FACT;
	default:
		return item->state == STATE_READ ? RANK_READ_FILE : RANK_CHANGED_FILE;
	}
}

/*
 * Among facts: what the user said, then values with a name, then values of a kind, then the rest. Of what is
 * rejected and tried the user's rejections, then others, then failed calls, of which there may be hundreds.
 */
static uint16_t order_of(const struct compact_item *item)
{
	if (item->kind == ITEM_DECISION)
		return item->by == BY_USER ? 0 : 1;
	if (item->kind != ITEM_FACT)
		return item->kind == ITEM_TRIED ? 2 : 0;
	if (item->by == BY_USER)
		return 0;
	return item->key.len ? 1 : item->tag != TAG_NONE ? 2 : 3;
}

static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->place != y->place)
		return x->place > y->place ? -1 : 1; /* newest first */
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The newest open task is worth more than all the others. */
static void raise_newest_task(struct chooser *chooser)
{
	size_t at = 0;

	while (at < chooser->count && chooser->candidates[at].rank < RANK_OLD_TASK)
		at++;
	if (at == chooser->count || chooser->candidates[at].rank != RANK_OLD_TASK)
		return;
	chooser->candidates[at].rank = RANK_TASK;
	qsort(chooser->candidates, chooser->count, sizeof *chooser->candidates, compare);
}

static int collect(struct chooser *chooser)
{
	const struct compact_record *from = chooser->from;

	chooser->candidates = mem_alloc((from->count + 1) * sizeof *chooser->candidates);
	chooser->kept_order = mem_alloc((from->count + 1) * sizeof *chooser->kept_order);
	if (!chooser->candidates || !chooser->kept_order)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		const struct compact_item *item = &from->items[i];

		if (item->kind == ITEM_SIGNAL)
			continue;
		chooser->candidates[chooser->count++] = (struct candidate){.index = (uint32_t)i,
			.rank = rank_of(item),
			.order = order_of(item),
			.place = item->source_count ? item->sources[item->source_count - 1].place : 0};
	}
	qsort(chooser->candidates, chooser->count, sizeof *chooser->candidates, compare);
	raise_newest_task(chooser);
	return 0;
}

/* ---- Counting */

static int count_text(struct chooser *chooser, const struct buffer *text, uint64_t *ret_tokens)
{
	int rc = buffer_error(text);

	if (rc)
		return rc;
	if (!text->len)
		*ret_tokens = 0;
	else if (chooser->options.counter)
		return token_counter_count(chooser->options.counter, text->data, text->len, ret_tokens);
	else
		*ret_tokens = tokens_estimate(text->data, text->len);
	return 0;
}

/* The item with its ids, and what its line costs. */
static int weigh(struct chooser *chooser, uint32_t index, struct compact_item *ret_item, uint64_t *ret_tokens)
{
	struct compact_record one;
	struct compact_item item = chooser->from->items[index];
	int rc;

	if (chooser->path) {
		struct item_source *sources =
			arena_alloc(chooser->to->arena, (item.source_count + 1) * sizeof *sources);

		if (!sources)
			return BOBBIN_ENOMEM;
		if (item.source_count)
			memcpy(sources, item.sources, item.source_count * sizeof *sources);
		item.sources = sources;
		compact_record_init(&one, chooser->to->arena);
		one.items = &item;
		one.count = 1;
		if ((rc = compact_record_name(&one, chooser->path, chooser->error)))
			return rc;
	}
	buffer_clear(&chooser->line);
	buffer_add_text(&chooser->line, "- ");
	compact_item_write_text(&item, chooser->options.sources_max, &chooser->line);
	buffer_add_char(&chooser->line, '\n');
	*ret_item = item;
	return count_text(chooser, &chooser->line, ret_tokens);
}

/* ---- Choosing */

/* Up to where the record may be filled with a candidate of this rank. */
static uint64_t limit_of(const struct chooser *chooser, uint16_t rank)
{
	uint64_t max = chooser->options.tokens_max ? chooser->options.tokens_max : UINT64_MAX;
	uint64_t aim = chooser->options.tokens_aim && chooser->options.tokens_aim < max
			       ? chooser->options.tokens_aim
			       : max;

	if (rank <= RANK_REJECTED)
		return max;
	return rank == RANK_OLD_TASK && aim != UINT64_MAX ? aim / 2 : aim;
}

/* Kinds of which something is not kept: each costs a line that says so. */
static unsigned kinds_left(const struct chooser *chooser)
{
	bool left[ITEM_KINDS] = {false};
	unsigned count = 0;

	for (size_t i = 0; i < chooser->count; i++) {
		enum item_kind kind = chooser->from->items[chooser->candidates[i].index].kind;

		if (chooser->candidates[i].kept || left[kind])
			continue;
		left[kind] = true;
		count++;
	}
	return count;
}

struct filling {
	struct compact_item *items;
	uint64_t used;
	bool headings[ITEM_KINDS];
};

/* Tokens a candidate may take when `reserve` are left over. A small budget is not given away to pointers. */
static uint64_t room_for(const struct chooser *chooser, const struct filling *filling,
	const struct candidate *candidate, uint64_t reserve)
{
	uint64_t limit = limit_of(chooser, candidate->rank);
	uint64_t taken = filling->used + (reserve < limit / 4 ? reserve : limit / 4);

	return taken < limit ? limit - taken : 0;
}

/* Keeps what fits in rank order. */
static int fill(struct chooser *chooser, struct filling *filling, uint64_t reserve)
{
	uint64_t tokens;

	for (size_t i = 0; i < chooser->count; i++) {
		struct candidate *candidate = &chooser->candidates[i];
		const struct compact_item *item = &chooser->from->items[candidate->index];
		bool always = item_is_binding(item);
		uint64_t room = room_for(chooser, filling, candidate, reserve);
		int rc;

		/* what cannot fit is not rendered: no text has more than 12 bytes a token on the whole */
		if (candidate->kept || (!always && (room < LINE_TOKENS_MIN || item->text.len / 12 > room)))
			continue;
		if ((rc = weigh(chooser, candidate->index, &filling->items[i], &tokens)))
			return rc;
		if (!filling->headings[item->kind])
			tokens += 3;
		if (!always && tokens > room)
			continue;
		filling->headings[item->kind] = true;
		filling->used += tokens;
		candidate->kept = true;
		chooser->kept_order[chooser->kept_count++] = (uint32_t)i;
	}
	return 0;
}

/* First with room for a pointer to each kind, then with what the pointers that are needed leave. */
static int choose(struct chooser *chooser, struct compact_item *items)
{
	struct filling filling = {.items = items};
	uint64_t limit = chooser->options.tokens_max;
	int rc = fill(chooser, &filling, limit ? (uint64_t)kinds_left(chooser) * POINTER_TOKENS : 0);

	if (!rc && limit && kinds_left(chooser))
		rc = fill(chooser, &filling, (uint64_t)kinds_left(chooser) * POINTER_TOKENS_USUAL + 4);
	chooser->report.over_budget = limit && filling.used > limit;
	return rc;
}

/* Adds the kept items in the order of the conversation, so that the record reads like minutes. */
static int assemble(struct chooser *chooser, const struct compact_item *items)
{
	struct compact_record *to = chooser->to;
	uint32_t *of_index = mem_alloc((chooser->from->count + 1) * sizeof *of_index);

	if (!of_index)
		return BOBBIN_ENOMEM;
	memset(of_index, 0xff, (chooser->from->count + 1) * sizeof *of_index);
	for (size_t i = 0; i < chooser->count; i++)
		if (chooser->candidates[i].kept)
			of_index[chooser->candidates[i].index] = (uint32_t)i;
	to->count = 0;
	to->items = arena_alloc(to->arena, (chooser->kept_count + 1) * sizeof *to->items);
	to->cap = chooser->kept_count + 1;
	for (size_t i = 0; i < chooser->from->count && to->items; i++)
		if (of_index[i] != UINT32_MAX)
			to->items[to->count++] = items[of_index[i]];
	mem_free(of_index);
	return to->items ? 0 : BOBBIN_ENOMEM;
}

static void widen(struct compact_pointer *pointer, const struct compact_item *item)
{
	for (uint32_t i = 0; i < item->source_count; i++) {
		struct item_source source = item->sources[i];

		if (!pointer->count || source.place < pointer->from.place)
			pointer->from = source;
		if (!pointer->count || source.place > pointer->to.place)
			pointer->to = source;
		pointer->count += !pointer->count; /* the first one is there */
	}
}

/* Says of each kind how much is not here and between which messages it is. */
static int point_to_dropped(struct chooser *chooser)
{
	struct compact_record *to = chooser->to;
	int rc = 0;

	to->pointer_count = 0;
	for (int kind = 0; kind < ITEM_SIGNAL && !rc; kind++) {
		struct compact_pointer pointer = {.why = POINTER_BUDGET, .kind = (enum item_kind)kind};
		uint32_t dropped = 0;

		for (size_t i = 0; i < chooser->count; i++) {
			const struct compact_item *item = &chooser->from->items[chooser->candidates[i].index];

			if ((int)item->kind != kind || chooser->candidates[i].kept)
				continue;
			dropped++;
			widen(&pointer, item);
		}
		chooser->report.dropped[kind] = dropped;
		if (dropped) {
			pointer.count = dropped;
			rc = compact_record_add_pointer(to, &pointer);
		}
	}
	for (size_t i = 0; i < chooser->from->pointer_count && !rc; i++)
		rc = compact_record_add_pointer(to, &chooser->from->pointers[i]);
	return rc;
}

static int write_out(struct chooser *chooser, const struct compact_item *items, struct buffer *out)
{
	size_t start = out->len;
	int rc = assemble(chooser, items);

	if (rc || (rc = point_to_dropped(chooser)))
		return rc;
	if (chooser->path && (rc = compact_record_name(chooser->to, chooser->path, chooser->error)))
		return rc;
	compact_record_write_text(chooser->to, chooser->options.sources_max, out);
	if ((rc = buffer_error(out)))
		return rc;
	struct buffer text = {.data = out->data + start, .len = out->len - start, .max = SIZE_MAX};
	return count_text(chooser, &text, &chooser->report.tokens);
}

/* Takes back what was kept last, about `over` tokens of it; never a binding constraint. False: nothing
 * is left. */
static bool give_way(struct chooser *chooser, uint64_t over)
{
	uint64_t freed = 0;

	while (freed < over && chooser->kept_count) {
		struct candidate *last = &chooser->candidates[chooser->kept_order[chooser->kept_count - 1]];

		if (last->rank == RANK_BINDING)
			break;
		last->kept = false;
		chooser->kept_count--;
		freed += LINE_TOKENS_MIN;
	}
	return freed > 0;
}

static int write_fitting(struct chooser *chooser, const struct compact_item *items, struct buffer *out)
{
	size_t start = out->len;
	uint64_t limit = chooser->options.tokens_max;

	for (;;) {
		int rc = write_out(chooser, items, out);
		uint64_t over = chooser->report.tokens > limit ? chooser->report.tokens - limit : 0;

		if (rc || !limit || !over || !chooser->kept_count)
			return rc;
		if (!give_way(chooser, over)) {
			chooser->report.over_budget = true;
			return 0;
		}
		buffer_truncate(out, start);
	}
}

static void report_kept(struct chooser *chooser)
{
	for (size_t i = 0; i < chooser->to->count; i++) {
		chooser->report.kept[chooser->to->items[i].kind]++;
		chooser->report.binding += item_is_binding(&chooser->to->items[i]);
	}
}

int compact_render(const struct compact_record *record, const struct path *path,
	const struct render_options *options, struct arena *arena, struct compact_record *ret_record,
	struct buffer *out, struct render_report *ret_report, struct bobbin_error *error)
{
	struct compact_record chosen;
	struct bobbin_error inner = {0};
	struct chooser chooser = {.from = record,
		.path = path,
		.options = *options,
		.to = &chosen,
		.line = BUFFER_INIT(LIMIT_LINE_BYTES),
		.error = &inner};
	struct compact_item *items = mem_alloc((record->count + 1) * sizeof *items);
	int rc = items ? 0 : BOBBIN_ENOMEM;

	compact_record_init(&chosen, arena);
	if (!chooser.options.sources_max)
		chooser.options.sources_max = RENDER_SOURCES_MAX;
	if (!rc && !(rc = collect(&chooser)) && !(rc = choose(&chooser, items)))
		rc = write_fitting(&chooser, items, out);
	mem_free(items);
	mem_free(chooser.candidates);
	mem_free(chooser.kept_order);
	buffer_release(&chooser.line);
	if (rc) {
		if (!inner.code)
			return error_set(
				error, rc, "cannot render a compaction record: %s", error_code_text(rc));
		return error_set(error, rc, "%s", inner.message);
	}
	report_kept(&chooser);
	*ret_record = chosen;
	*ret_report = chooser.report;
	return 0;
}
