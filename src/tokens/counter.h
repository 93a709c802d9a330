/* SPDX-License-Identifier: MIT */
/*
 * What a model's tokens are counted with: an exact encoding, or an estimate times a factor that the
 * provider's own reports correct.
 *
 * Invariants: (1) an exact counter has the factor 1 and no report changes it; (2) the factor stays within
 * COUNTER_FACTOR_MIN and _MAX and moves by at most a quarter of the way to a report; (3) a report about
 * another view than the one that was counted changes nothing; (4) a text with at least one byte has at least
 * one token. A counter belongs to one thread at a time.
 */
#ifndef TOKENS_COUNTER_H
#define TOKENS_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tokens/encoding.h"
#include "tokens/estimate.h"
#include "tokens/models.h"
#include "tokens/usage.h"

/* Factors are in 1/4096. */
#define COUNTER_FACTOR_ONE 4096
#define COUNTER_FACTOR_MIN 2048
#define COUNTER_FACTOR_MAX 8192
/* Reports below this many tokens are mostly frame and rounding. */
#define COUNTER_REPORT_TOKENS_MIN 500

struct token_counter {
	const char *name; /* "o200k_base", "cl100k_base" or "estimate" */
	bool exact;
	struct model_facts facts;
	uint32_t factor;		 /* COUNTER_FACTOR_ONE unless calibrated */
	uint32_t reports;		 /* how many were taken into it */
	const struct encoding *encoding; /* NULL for an estimate */
	struct token_scratch *scratch;	 /* made at the first count */
};

/* The counter of a model; an estimate if its encoding is not public or not built in. Needs no memory. */
void token_counter_for_model(const char *model, struct token_counter *ret_counter);
/* The counter of an encoding by name, or of "estimate". False for another name or one that is not built in.
 */
bool token_counter_for_encoding(const char *name, struct token_counter *ret_counter);
void token_counter_release(struct token_counter *counter);

/* The tokens of a text. 0 or an error of encoding_count (an estimate never fails). */
int token_counter_count(struct token_counter *counter, const char *text, size_t len, uint64_t *ret_tokens);

/* The calibrated estimate of classes that were summed along a path, also for an exact counter. */
uint64_t token_counter_estimate(const struct token_counter *counter, const struct token_classes *classes);

/* What was counted before a request was sent. `view` identifies what was sent, by a hash or a version of it.
 */
struct token_measurement {
	uint64_t view;
	uint64_t estimated; /* its tokens by this counter with the factor that it had then */
	uint32_t factor;    /* that factor */
};

/*
 * Takes a report in. True if it was used: it must be about the view that was measured, have a figure for
 * input, and not be small. Of the ratio of report to estimate only what lies between a half and two is
 * believed.
 */
bool token_counter_observe(struct token_counter *counter, const struct token_measurement *sent, uint64_t view,
	const struct token_usage *usage);

/* The reported context if the report is about the view at hand; false (and nothing written) for any other. */
bool token_usage_for_view(
	const struct token_usage *usage, uint64_t usage_view, uint64_t view, uint64_t *ret_context);

#endif
