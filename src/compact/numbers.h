/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people write them: 1,000 = 1000 = 1 000 = "one thousand" = "mil" = "一千".
 *
 * Invariants: (1) two texts have one canonical form iff they are one number; signs and units are not
 * part of it; (2) no locale takes part.
 */
#ifndef COMPACT_NUMBERS_H
#define COMPACT_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/slice.h"

#define NUMBER_BYTES 64

/* Digits at the start of `text`, with separators of thousands (each followed by exactly three digits)
 * and a fraction. The canonical form has neither separators nor leading zeros nor trailing zeros of the
 * fraction. Returns the bytes read; 0: no number, or one of more than NUMBER_BYTES - 1 digits. */
size_t number_read(struct slice text, char ret_canonical[NUMBER_BYTES]);

/* Number words at `at`, which must be the start of a word: English, Chinese, Spanish, French, German.
 * Returns the bytes read; 0: none. */
size_t number_words_read(struct slice text, size_t at, uint64_t *ret_value);

/* The words and characters that can begin a number, one after the other; NULL after the last.
 * `ret_part`: with it a longer word may begin. */
const char *number_word_text(size_t index, bool *ret_part);

#endif
