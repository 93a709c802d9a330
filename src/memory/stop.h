/* SPDX-License-Identifier: MIT */
/* Words that say little: "the", "what", "user". */
#ifndef MEMORY_STOP_H
#define MEMORY_STOP_H

#include "base/slice.h"

/* What a folded word is worth in a query: 0 for stop words, less than 1 for words that are everywhere, 1 for others. */
float stop_weight(struct slice word);

/* How many bytes at the start of a run of wide characters are only grammar (的, 什么, です); 0: none. */
size_t stop_wide(struct slice run);

#endif
