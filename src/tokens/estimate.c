/* SPDX-License-Identifier: MIT */
/* Sums of classes and what they weigh. The weights are fitted to the exact encodings (README.md says on which
 * texts, and how well); what the classes are stands in classify.c. */
#include "tokens/estimate.h"

#include <stdbool.h>
#include "tokens/classify.h"

#define WEIGHT_OF_TOKEN 1024u

/* For one unit of a class. */
static const uint32_t weights_common[TOKEN_CLASSES] = {76, 180, 238, 90, 300, 275, 1160, 740};
static const uint32_t weights_large[TOKEN_CLASSES] = {75, 176, 238, 94, 190, 108, 790, 640};

static uint32_t add_saturating(uint32_t value, uint64_t more)
{
	uint64_t sum = value + more;
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static uint64_t weigh(const struct token_classes *classes, const uint32_t weights[TOKEN_CLASSES])
{
	uint64_t sum = 0;
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		sum += (uint64_t)classes->count[class] * weights[class];
	return sum;
}

static uint64_t in_tokens(uint64_t weight)
{
	return (weight + WEIGHT_OF_TOKEN - 1) / WEIGHT_OF_TOKEN;
}

/* Runs of rare letters and the like weigh more than a token a byte, which no text costs: all classes are then
 * made smaller alike, so that what is added up along a path is never more than its bytes. */
static void limit_to_bytes(struct token_classes *classes, uint64_t bytes)
{
	uint64_t common = weigh(classes, weights_common), large = weigh(classes, weights_large);
	uint64_t weight = common > large ? common : large, limit = bytes * WEIGHT_OF_TOKEN;
	bool any = false;

	if (weight <= limit)
		return;
	uint64_t scale = (limit << 16) / weight;
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++) {
		classes->count[class] = (uint32_t)(classes->count[class] * scale >> 16);
		any |= classes->count[class] > 0;
	}
	if (!any)
		classes->count[CLASS_SYMBOL] = 1;
}

static size_t add_text(struct token_classes *classes, const char *text, size_t len, bool json)
{
	struct token_classes added = {0};
	struct class_state state = CLASS_STATE_INIT;

	classify_text(&state, text, len, json);
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		added.count[class] = add_saturating(0, state.count[class]);
	limit_to_bytes(&added, state.bytes);
	token_classes_sum(classes, &added);
	return (size_t)state.bytes;
}

void token_classes_add(struct token_classes *classes, const char *text, size_t len)
{
	add_text(classes, text, len, false);
}

size_t token_classes_add_json(struct token_classes *classes, const char *content, size_t len)
{
	return add_text(classes, content, len, true);
}

void token_classes_sum(struct token_classes *into, const struct token_classes *from)
{
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		into->count[class] = add_saturating(into->count[class], from->count[class]);
}

uint64_t token_classes_estimate(const struct token_classes *classes)
{
	return in_tokens(weigh(classes, weights_common));
}

uint64_t token_classes_estimate_large(const struct token_classes *classes)
{
	return in_tokens(weigh(classes, weights_large));
}

uint64_t tokens_estimate(const char *text, size_t len)
{
	struct token_classes classes = {0};
	token_classes_add(&classes, text, len);
	return token_classes_estimate(&classes);
}
