/* SPDX-License-Identifier: MIT */
/*
 * Byte pair merging of one piece, by the tables of table.h.
 *
 * Merging the lowest rank first gives the only sequence of tokens in which no two neighbours would have been
 * merged otherwise. So the sequence is built from the left: the longest token that fits what came before, a
 * shorter one if it does not, one token back if none does. Each position is given up at most once, so the
 * time is linear.
 *
 * Invariants: (1) the lengths written add up to the length of the piece; (2) nothing here allocates; (3) the
 * tables are only read, by any number of threads; (4) a remembered answer is the one that would be found
 * again.
 */
#ifndef TOKENS_MERGE_H
#define TOKENS_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tokens/table.h"

struct merge_table {
	const uint64_t *nodes, *tokens, *filter;
	const uint32_t *pairs;
	unsigned pair_bits;
	uint32_t token_count;
};

/*
 * Answers that were found before, for the caller to keep between pieces of one table (zero-initialise): in
 * each slot a pair of tokens and whether they stay neighbours.
 */
#define MERGE_MEMORY_BITS 13
struct merge_memory {
	uint64_t pairs[1 << MERGE_MEMORY_BITS];
};

/* False if the table was built without its rank file. */
bool merge_table_open(const void *data, struct merge_table *ret_table);

/* The token that is exactly these bytes, or TABLE_NONE. */
uint32_t merge_whole(const struct merge_table *table, const char *piece, size_t len);

/*
 * Merges a piece of at least one byte. `lengths` has room for len bytes, `given_up` for len / 64 + 1 words.
 * Returns the number of tokens; lengths[i] is the length of the i-th.
 */
size_t merge_piece(const struct merge_table *table, struct merge_memory *memory, const char *piece,
	size_t len, uint8_t *lengths, uint64_t *given_up);

#endif
