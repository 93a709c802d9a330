/* SPDX-License-Identifier: MIT */
/*
 * The one budget function. Shares are taken in parts per million so that the same numbers come out on every
 * machine.
 *
 * Invariants: (1) the six parts add up to the window; (2) target < trigger <= history, so the trigger always
 * fires before a request would be refused, and a compaction that reaches its target does not fire again at
 * once.
 */
#include "window/window.h"

#define WINDOW_TOKENS_MAX (1ull << 40) /* keeps every product below 2^63 */
#define PER_MILLION 1000000ull
#define TRIGGER_SHARE 0.7
#define TARGET_SHARE 0.4
#define TAIL_MAX_DEFAULT 24000
#define TAIL_MIN_DEFAULT 10000
#define RECORD_MAX 6000
#define MARGIN_PER_CENT 2

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t per_million(double share)
{
	return (uint64_t)(share * (double)PER_MILLION + 0.5);
}

static uint64_t share_of(uint64_t tokens, uint64_t millionths)
{
	return tokens * millionths / PER_MILLION;
}

static int check_options(const struct window_options *options, struct bobbin_error *error)
{
	if (options->window > WINDOW_TOKENS_MAX || options->trigger_tokens > WINDOW_TOKENS_MAX)
		return error_set(error, BOBBIN_EINVAL,
			"a window of more than %llu tokens; give a smaller one",
			(unsigned long long)WINDOW_TOKENS_MAX);
	if (!(options->trigger >= 0 && options->trigger <= 1))
		return error_set(error, BOBBIN_EINVAL, "the trigger is a share of the history from 0 to 1");
	if (!(options->target >= 0 && options->target < 1))
		return error_set(
			error, BOBBIN_EINVAL, "the target is a share of the history from 0 to below 1");
	if (options->tail_max && options->tail_min > options->tail_max)
		return error_set(error, BOBBIN_EINVAL,
			"the tail's minimum of %llu tokens is above its maximum of %llu",
			(unsigned long long)options->tail_min, (unsigned long long)options->tail_max);
	return 0;
}

/* What stands beside the history, largest first in the message when nothing is left. */
static int refuse(const struct window_budget *budget, struct bobbin_error *error)
{
	const struct {
		const char *name;
		uint64_t tokens;
	} parts[] = {
		{"the system prompt", budget->system},
		{"the list of tools", budget->tools},
		{"the injected text (memory, notes)", budget->injected},
		{"the output reserve", budget->output_reserve},
		{"the margin", budget->margin},
	};
	size_t largest = 0;

	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].tokens > parts[largest].tokens)
			largest = i;
	return error_set(error, BOBBIN_EBUDGET,
		"%s is too big: it takes %llu of the window's %llu tokens and leaves none for the "
		"conversation (reserve "
		"%llu, margin %llu, system %llu, tools %llu, injected %llu); make it smaller or take a "
		"larger window",
		parts[largest].name, (unsigned long long)parts[largest].tokens,
		(unsigned long long)budget->window, (unsigned long long)budget->output_reserve,
		(unsigned long long)budget->margin, (unsigned long long)budget->system,
		(unsigned long long)budget->tools, (unsigned long long)budget->injected);
}

/* A part of the caller's own size, bounded so that sums cannot overflow: what is larger never fits anyway. */
static uint64_t bounded(uint64_t tokens)
{
	return smaller(tokens, WINDOW_TOKENS_MAX);
}

static void split_window(
	const struct window_options *options, const struct window_fixed *fixed, struct window_budget *budget)
{
	uint64_t window = options->window ? options->window : WINDOW_TOKENS_DEFAULT;
	uint64_t reserve = window / 4;

	if (options->output_max)
		reserve = smaller(reserve, options->output_max);
	if (options->output_reserve >= 0)
		reserve = bounded((uint64_t)options->output_reserve);
	budget->window = window;
	budget->output_reserve = reserve;
	budget->margin = options->margin >= 0 ? bounded((uint64_t)options->margin)
					      : (window * MARGIN_PER_CENT + 99) / 100;
	budget->system = bounded(fixed->system_tokens);
	budget->tools = bounded(fixed->tools_tokens);
	budget->injected = bounded(fixed->injected_tokens);
}

/* Trigger and target; the same ratio between them also when the trigger is given in tokens. */
static void set_levels(const struct window_options *options, struct window_budget *budget)
{
	uint64_t trigger_share = per_million(options->trigger > 0 ? options->trigger : TRIGGER_SHARE);
	uint64_t target_share = per_million(options->target > 0 ? options->target : TARGET_SHARE);

	budget->trigger = share_of(budget->history, trigger_share);
	budget->target = share_of(budget->history, target_share);
	if (options->trigger_tokens) {
		budget->trigger = smaller(options->trigger_tokens, budget->history);
		if (trigger_share)
			budget->target =
				smaller(budget->target, budget->trigger * target_share / trigger_share);
	}
	if (budget->trigger == 0)
		budget->trigger = 1;
	if (budget->target >= budget->trigger)
		budget->target = budget->trigger - 1;
}

int window_budget(const struct window_options *options, const struct window_fixed *fixed,
	struct window_budget *ret_budget, struct bobbin_error *error)
{
	struct window_budget budget = {0};
	int rc = check_options(options, error);
	if (rc)
		return rc;

	split_window(options, fixed, &budget);
	uint64_t beside =
		budget.output_reserve + budget.margin + budget.system + budget.tools + budget.injected;
	if (beside >= budget.window)
		return refuse(&budget, error);
	budget.history = budget.window - beside;
	set_levels(options, &budget);

	budget.tail = smaller(options->tail_max ? options->tail_max : TAIL_MAX_DEFAULT, budget.history / 4);
	budget.one_turn_more = budget.tail < (options->tail_min ? options->tail_min : TAIL_MIN_DEFAULT);
	budget.record = smaller(RECORD_MAX, budget.history * 15 / 100);
	/* Two hundredths stay free for the dialect's own words around the messages. */
	uint64_t body = options->byte_limit ? options->byte_limit : WINDOW_BYTES_DEFAULT;
	uint64_t usable = body - body / 50;
	if (fixed->bytes >= usable)
		return error_set(error, BOBBIN_EBUDGET,
			"system prompt, tools and injected text are too big: they take %llu of the body's "
			"%llu bytes; make them "
			"smaller or raise the byte limit",
			(unsigned long long)fixed->bytes, (unsigned long long)body);
	budget.bytes = usable - fixed->bytes;
	*ret_budget = budget;
	return 0;
}
