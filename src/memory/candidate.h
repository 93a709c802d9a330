/* SPDX-License-Identifier: MIT */
/* Candidates: what was said once and is kept when it recurs; for this room only. */
#ifndef MEMORY_CANDIDATE_H
#define MEMORY_CANDIDATE_H

#include "memory/row.h"

/* The candidate that says about the same as `text` (most of their terms are shared). 1, or 0 if there is none. */
int candidate_find(struct memory *memory, struct slice text, struct arena *arena, struct fact_row *ret_row,
	struct bobbin_error *error);

#endif
