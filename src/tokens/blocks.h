/* SPDX-License-Identifier: MIT */
/*
 * Piece boundaries of ASCII text, 64 bytes at a time: every byte has a class, every class is a 64-bit mask,
 * and where pieces begin follows from shifts, additions and a few rare loops. It says only what is certain: a
 * boundary that depends on bytes behind the block, on a character outside ASCII or on a rare rule is left to
 * split.h.
 *
 * Invariant: every start given is one that split_piece would find.
 */
#ifndef TOKENS_BLOCKS_H
#define TOKENS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include "tokens/split.h"

#define BLOCK_BYTES 64

struct block_masks {
	uint64_t letter, lower_case_bit; /* the latter is bit 5 of every byte, whatever it is */
	uint64_t digit, space,
		blank; /* blank: white space but line ends, so also what `space` (U+0020) has */
	uint64_t newline, apostrophe, slash, not_ascii;
};

typedef void block_classifier(const char *block, struct block_masks *ret_masks);

/* The fastest for this processor. */
block_classifier *block_classifier_best(void);
/* The one in plain C that all others must equal. */
void block_classify_portable(const char *block, struct block_masks *ret_masks);

/*
 * Which of the first `len` <= 64 bytes certainly begin a piece, given that byte 0 does (bit 0 is always set).
 * 64 bytes must be readable. *ret_usable says how many bytes before the first one outside ASCII were looked
 * at.
 */
uint64_t block_starts(enum split_pattern pattern, block_classifier *classify, const char *block, size_t len,
	unsigned *ret_usable);

#endif
