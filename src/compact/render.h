/* SPDX-License-Identifier: MIT */
/*
 * From a merged record to the one that is shown: what fits the budget is kept by rank, what does not is
 * said.
 *
 * Order of keeping: binding constraints (always, whatever the budget); lifted ones; the newest open task;
 * rejected options with their reason, the user's first, and attempts that failed; other open tasks;
 * choices; open questions; facts (a person's first, then named values, then newest); files that were changed;
 * attempts that worked; files that were read; what is done, answered or superseded.
 *
 * Invariants:
 * (1) Every binding constraint of the input is in the result.
 * (2) What is in the result and what its pointers count make up the input: nothing is left out silently.
 * (3) Equal input and options give equal bytes.
 * (4) The tokens reported are those of the rendered text.
 * (5) The newest open task is treated like what must not be lost; older ones leave half of the aim to
 *     the other kinds.
 */
#ifndef COMPACT_RENDER_H
#define COMPACT_RENDER_H

#include "compact/record.h"
#include "tokens/counter.h"
#include "transcript/path.h"

struct render_options {
	uint64_t tokens_max;  /* window_budget.record; 0: no limit */
	uint64_t tokens_aim;  /* for what can be recalled as well; what must not be lost (rules, rejected
				 options, failed attempts) may go beyond it. 0: tokens_max */
	unsigned sources_max; /* ids shown of an item; 0: RENDER_SOURCES_MAX */
	struct token_counter *counter; /* NULL: the estimate */
};
#define RENDER_OPTIONS_INIT ((struct render_options){.tokens_max = 0})
#define RENDER_SOURCES_MAX 3

struct render_report {
	uint64_t tokens; /* of the text */
	uint32_t kept[ITEM_KINDS];
	uint32_t dropped[ITEM_KINDS];
	uint32_t binding; /* constraints kept that bind */
	bool over_budget; /* the constraints alone are larger than the budget */
};

/*
 * Chooses what fits into `ret_record` (in the arena; ids come from `path`, or stay as they are with
 * NULL) and appends its text to `out`: what a window_record shows, and what `record` prints. An input
 * without items gives "". 0, BOBBIN_ENOMEM, BOBBIN_ELIMIT, errors of the path.
 */
int compact_render(const struct compact_record *record, const struct path *path,
	const struct render_options *options, struct arena *arena, struct compact_record *ret_record,
	struct buffer *out, struct render_report *ret_report, struct bobbin_error *error);

#endif
