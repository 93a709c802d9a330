/* SPDX-License-Identifier: MIT */
/*
 * The plan in words: parts in the order of the request, and what is not shown, each with its tokens and its
 * reason.
 */
#include "window/planner.h"

#include "base/buffer.h"

static void add_part(struct window_plan *plan, enum window_kind kind, uint64_t tokens, const char *source,
	const char *reason)
{
	if (tokens)
		plan->parts[plan->part_count++] = (struct window_part){
			.kind = kind, .tokens = tokens, .source = source, .reason = reason};
}

static int add_messages(struct planner *planner, enum window_kind kind, enum window_shape shape, size_t from,
	size_t to, uint64_t less, const char *reason)
{
	struct window_plan *plan = planner->plan;
	uint64_t before, after;
	int rc;

	if (from >= to)
		return 0;
	if ((rc = planner_tokens_before(planner, from, &before)) ||
		(rc = planner_tokens_before(planner, to, &after)))
		return rc;
	plan->parts[plan->part_count++] = (struct window_part){.kind = kind,
		.shape = shape,
		.from = from,
		.to = to,
		.tokens = after - before - less,
		.source = "the session's log",
		.reason = reason};
	plan->view_tokens += after - before - less;
	return 0;
}

static int add_ids(const struct planner *planner, struct window_hidden *hidden)
{
	int rc = path_id(planner->path, hidden->from, hidden->from_id, planner->error);
	return rc ? rc : path_id(planner->path, hidden->to - 1, hidden->to_id, planner->error);
}

static int add_hidden(
	struct planner *planner, enum window_hidden_kind kind, size_t from, size_t to, const char *reason)
{
	struct window_hidden *hidden = &planner->plan->hidden[planner->plan->hidden_count];
	uint64_t before, after;
	int rc;

	if (from >= to)
		return 0;
	if ((rc = planner_tokens_before(planner, from, &before)) ||
		(rc = planner_tokens_before(planner, to, &after)))
		return rc;
	hidden->kind = kind;
	hidden->from = from;
	hidden->to = to;
	hidden->tokens = after - before;
	hidden->reason = reason;
	planner->plan->hidden_count++;
	return add_ids(planner, hidden);
}

/* The newest person's message that is shown, to which injected text goes. */
static int find_newest(struct planner *planner)
{
	size_t count = planner->path->count;
	struct path_item item;
	int rc;

	if (!count)
		return 0;
	if ((rc = path_item(planner->path, count - 1, &item, planner->error)))
		return rc;
	size_t turn = item.turn;
	if ((rc = path_item(planner->path, turn, &item, planner->error)))
		return rc;
	if (item.role == ROLE_USER && item.origin == ORIGIN_PERSON)
		planner->plan->newest = turn;
	return 0;
}

/* Words directly before the start are no inner cut. */
static void settle(struct planner *planner)
{
	struct window_plan *plan = planner->plan;

	if (planner->words != WINDOW_NONE && planner->start == planner->words + 1) {
		planner->start = planner->words;
		planner->words = WINDOW_NONE;
	}
	if (planner->words == WINDOW_NONE && planner->inner_turn == planner->start)
		planner->inner_turn = WINDOW_NONE;
	if (planner->words != WINDOW_NONE || planner->inner_turn != WINDOW_NONE) {
		plan->cut = planner->words != WINDOW_NONE ? planner->words : planner->inner_turn;
		plan->inner_cut = planner->start;
	} else {
		plan->cut = planner->record || planner->start > planner->pinned ? planner->start : 0;
	}
	if (planner->record)
		plan->record_at = planner->words != WINDOW_NONE ? planner->words : planner->start;
}

static int describe_tail(struct planner *planner)
{
	const char *reason = planner->start > planner->pinned || planner->words != WINDOW_NONE
				     ? "the newest messages, verbatim from the cut on"
				     : "the line fits, so all of it is shown";
	size_t count = planner->path->count, from = planner->start;
	bool shortened = planner->shortened_from != WINDOW_NONE;
	int rc = 0;

	if (planner->words != WINDOW_NONE)
		rc = add_messages(planner, WINDOW_MESSAGES, WINDOW_VERBATIM, planner->words,
			planner->words + 1, 0, "the user's words that began the newest turn");
	if (!rc && planner->cleared_from < planner->cleared_to) {
		rc = add_messages(
			planner, WINDOW_MESSAGES, WINDOW_VERBATIM, from, planner->cleared_from, 0, reason);
		from = planner->cleared_from;
		if (!rc)
			rc = add_messages(planner, WINDOW_MESSAGES, WINDOW_CLEARED, from, planner->cleared_to,
				planner->cleared_tokens,
				shortened ? "too many results for the budget: each is a pointer"
					  : "over the trigger: results the model has answered are pointers");
		from = planner->cleared_to;
	} else if (!rc && shortened) {
		return add_messages(planner, WINDOW_MESSAGES, WINDOW_SHORTENED, from, count,
			planner->shortened_tokens, "the last round, its results cut to fit the budget");
	}
	return rc ? rc : add_messages(planner, WINDOW_MESSAGES, WINDOW_VERBATIM, from, count, 0, reason);
}

static int describe_parts(struct planner *planner)
{
	const struct window_budget *budget = planner->budget;
	struct window_plan *plan = planner->plan;

	plan->view_tokens = 0;
	add_part(plan, WINDOW_SYSTEM, budget->system, "the caller", "made fresh for every request");
	add_part(plan, WINDOW_TOOLS, budget->tools, "the caller", "what the model may call");
	add_part(
		plan, WINDOW_INJECTED, budget->injected, "the caller", "goes with the user's newest message");
	int rc = add_messages(planner, WINDOW_PINNED, WINDOW_VERBATIM, 0, planner->pinned, 0,
		"kept at the start, as asked (--keep-first)");
	if (rc)
		return rc;
	if (planner->record) {
		add_part(plan, WINDOW_RECORD, planner->record->tokens, "the compaction record",
			"stands for the messages before the cut");
		plan->view_tokens += planner->record->tokens;
	}
	return describe_tail(planner);
}

static int describe_bodies(struct planner *planner)
{
	struct window_plan *plan = planner->plan;
	struct window_hidden *hidden = &plan->hidden[plan->hidden_count];
	int rc;

	if (planner->cleared_from < planner->cleared_to) {
		if ((rc = add_hidden(planner, HIDDEN_CLEARED, planner->cleared_from, planner->cleared_to,
			     "bodies of tool results; the calls are shown")))
			return rc;
		hidden->tokens = planner->cleared_tokens;
	}
	if (plan->shortened_count) {
		hidden = &plan->hidden[plan->hidden_count];
		if ((rc = add_hidden(planner, HIDDEN_SHORTENED, plan->shortened[0].position,
			     plan->shortened[plan->shortened_count - 1].position + 1,
			     "the rest of tool results that are too long")))
			return rc;
		hidden->tokens = planner->shortened_tokens;
	}
	return 0;
}

static int describe_hidden(struct planner *planner)
{
	size_t covered = planner->record ? planner->record->cut : planner->pinned;
	size_t cut = planner->words != WINDOW_NONE ? planner->words : planner->start;
	if (planner->words == WINDOW_NONE && planner->inner_turn != WINDOW_NONE)
		cut = planner->inner_turn > planner->pinned ? planner->inner_turn : planner->pinned;
	size_t inner = planner->words != WINDOW_NONE ? planner->words + 1 : cut;
	size_t inner_covered = inner;
	int rc;

	if (planner->words != WINDOW_NONE && planner->record && planner->record->cut == cut &&
		planner->record->inner_cut != WINDOW_NONE)
		inner_covered = planner->record->inner_cut;
	if ((rc = add_hidden(
		     planner, HIDDEN_SUMMARISED, planner->pinned, covered, "summarised in the record")) ||
		(rc = add_hidden(planner, HIDDEN_CUT, covered, cut, "before the cut")) ||
		(rc = add_hidden(
			 planner, HIDDEN_SUMMARISED, inner, inner_covered, "summarised in the record")) ||
		(rc = add_hidden(planner, HIDDEN_INNER, inner_covered, planner->start,
			 "earlier rounds of the newest turn, before the inner cut")))
		return rc;
	return describe_bodies(planner);
}

int planner_describe(struct planner *planner)
{
	struct window_plan *plan = planner->plan;
	int rc;

	settle(planner);
	if ((rc = find_newest(planner)) || (rc = describe_parts(planner)) ||
		(rc = describe_hidden(planner)) || planner->images.from == WINDOW_NONE)
		return rc;
	plan->hidden[plan->hidden_count] = planner->images;
	return add_ids(planner, &plan->hidden[plan->hidden_count++]);
}

void window_pointer(const struct window_hidden *hidden, char ret_text[WINDOW_POINTER_BYTES])
{
	static const char WORD[] = "recall ", DASH[] = "–";
	size_t from = strlen(hidden->from_id), to = strlen(hidden->to_id);
	char *at = ret_text;

	memcpy(at, WORD, sizeof(WORD) - 1);
	at += sizeof(WORD) - 1;
	memcpy(at, hidden->from_id, from);
	at += from;
	if (hidden->to - hidden->from > 1) {
		memcpy(at, DASH, sizeof(DASH) - 1);
		at += sizeof(DASH) - 1;
		memcpy(at, hidden->to_id, to);
		at += to;
	}
	*at = '\0';
}

const char *window_kind_text(enum window_kind kind)
{
	static const char *const TEXTS[] = {[WINDOW_SYSTEM] = "system",
		[WINDOW_TOOLS] = "tools",
		[WINDOW_INJECTED] = "injected",
		[WINDOW_RECORD] = "record",
		[WINDOW_PINNED] = "pinned",
		[WINDOW_MESSAGES] = "messages"};
	return TEXTS[kind];
}
