/* SPDX-License-Identifier: MIT */
#include "tokens/counter.h"
#include "base/error.h"
#include <string.h>

void token_counter_for_model(const char *model, struct token_counter *ret_counter)
{
	struct model_facts facts = model_facts(model);
	if (!facts.encoding || !token_counter_for_encoding(facts.encoding, ret_counter))
		token_counter_for_encoding("estimate", ret_counter);
	ret_counter->facts = facts;
}

bool token_counter_for_encoding(const char *name, struct token_counter *ret_counter)
{
	const struct encoding *encoding = encoding_by_name(name);
	if (!encoding && strcmp(name, "estimate") != 0)
		return false;
	*ret_counter = (struct token_counter){
		.name = encoding ? encoding_name(encoding) : "estimate",
		.exact = encoding != NULL,
		.facts = model_facts(""),
		.factor = COUNTER_FACTOR_ONE,
		.encoding = encoding,
	};
	return true;
}

void token_counter_release(struct token_counter *counter)
{
	token_scratch_free(counter->scratch);
	counter->scratch = NULL;
}

uint64_t token_counter_estimate(const struct token_counter *counter, const struct token_classes *classes)
{
	uint64_t tokens = counter->facts.large_vocabulary ? token_classes_estimate_large(classes)
							  : token_classes_estimate(classes);
	return (tokens * counter->factor + COUNTER_FACTOR_ONE - 1) / COUNTER_FACTOR_ONE;
}

int token_counter_count(struct token_counter *counter, const char *text, size_t len, uint64_t *ret_tokens)
{
	if (!counter->encoding) {
		struct token_classes classes = {0};
		token_classes_add(&classes, text, len);
		*ret_tokens = token_counter_estimate(counter, &classes);
		return 0;
	}
	if (!counter->scratch && !(counter->scratch = token_scratch_new()))
		return BOBBIN_ENOMEM;
	return encoding_count(counter->encoding, counter->scratch, text, len, ret_tokens);
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

bool token_counter_observe(struct token_counter *counter, const struct token_measurement *sent, uint64_t view,
	const struct token_usage *usage)
{
	if (counter->exact || sent->view != view || !usage->has_input)
		return false;
	if (usage->input < COUNTER_REPORT_TOKENS_MIN || sent->estimated < COUNTER_REPORT_TOKENS_MIN ||
		!sent->factor)
		return false;
	/* The factor that would have made the estimate right. Both figures fit: more than 2^40 tokens is no
	 * request. */
	uint64_t input = clamp(usage->input, 0, 1ull << 40),
		 estimated = clamp(sent->estimated, 1, 1ull << 40);
	uint64_t right = clamp(input * sent->factor / estimated, COUNTER_FACTOR_MIN, COUNTER_FACTOR_MAX);
	int64_t step = ((int64_t)right - (int64_t)counter->factor) / 4;
	counter->factor = (uint32_t)clamp(
		(uint64_t)((int64_t)counter->factor + step), COUNTER_FACTOR_MIN, COUNTER_FACTOR_MAX);
	counter->reports++;
	return true;
}

bool token_usage_for_view(
	const struct token_usage *usage, uint64_t usage_view, uint64_t view, uint64_t *ret_context)
{
	if (usage_view != view || !usage->has_input)
		return false;
	*ret_context = token_usage_context(usage);
	return true;
}
