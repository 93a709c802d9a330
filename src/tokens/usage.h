/* SPDX-License-Identifier: MIT */
/*
 * What a provider says a request cost, in one form for all dialects. They differ in what "input" leaves out:
 *
 *	OpenAI chat        prompt_tokens with prompt_tokens_details.cached_tokens inside
 *	OpenAI responses   input_tokens with input_tokens_details.cached_tokens inside
 *	Anthropic          input_tokens, beside it cache_read_input_tokens and cache_creation_input_tokens
 *	Gemini             promptTokenCount with cachedContentTokenCount inside; thoughts beside candidates
 *
 * Invariants: (1) input is all that the model read, whatever was cached; (2) cached and cache_written are
 * parts of input, reasoning is a part of output; (3) output never stands in for a missing input.
 */
#ifndef TOKENS_USAGE_H
#define TOKENS_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/json.h"

enum usage_dialect { USAGE_OPENAI_CHAT, USAGE_OPENAI_RESPONSES, USAGE_ANTHROPIC, USAGE_GEMINI };

struct token_usage {
	uint64_t input, output;
	uint64_t cached;	/* of input: read from the provider's cache */
	uint64_t cache_written; /* of input: written to it, dearer */
	uint64_t reasoning;	/* of output */
	bool has_input; /* the report had a figure for input; without one it says nothing about the context */
};

/* The numbers as they stand in a report. What the dialect has no field for is ignored. */
struct usage_figures {
	uint64_t input; /* prompt_tokens, input_tokens, promptTokenCount */
	uint64_t cached,
		cache_written; /* cached_tokens or cache_read_input_tokens; cache_creation_input_tokens */
	uint64_t output,
		reasoning; /* completion_tokens, output_tokens, candidatesTokenCount; reasoning, thoughts */
};

struct token_usage token_usage_of(enum usage_dialect dialect, const struct usage_figures *figures);

/*
 * Reads a provider's usage object; the names of its members tell the dialect. False if it is not an object or
 * has neither input nor output. Numbers that are negative or not whole count as absent.
 */
bool token_usage_read(const struct json *usage, struct token_usage *ret_usage);

/* The context after the reply: what the next request begins with. Counts above any real one stop at
 * UINT64_MAX / 2. */
uint64_t token_usage_context(const struct token_usage *usage);

#endif
