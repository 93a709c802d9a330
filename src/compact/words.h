/* SPDX-License-Identifier: MIT */
/*
 * Comparing statements: when two are the same, and how much two have in common.
 *
 * Invariants: (1) no locale, no tables beyond ASCII: other scripts are compared code point by code
 * point; (2) what distinguishes values (digits and the signs between them, case where it counts) is
 * never normalised away.
 */
#ifndef COMPACT_WORDS_H
#define COMPACT_WORDS_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/slice.h"

/*
 * A statement in the form in which equal ones are equal: lower-case ASCII unless `exact_case`, one space
 * for white space, no quotes, backticks and asterisks, no full stops, commas and the like at the ends of
 * words. {NULL, 0} when memory is out.
 */
struct slice words_normalise(struct slice text, bool exact_case, struct arena *arena);

#define WORDS_MAX 32
/* The distinct words of a text that mean something: of two letters or more, or with a digit; of scripts
 * without spaces each pair of code points. Lower case, hashed. */
struct words {
	unsigned count;
	unsigned long long hash[WORDS_MAX]; /* of its beginning (stem), for words of letters */
};
void words_of(struct slice text, struct words *ret_words);
/* Every word as words_of() hashes it, however many there are. */
void words_each(struct slice text, void (*word)(void *context, unsigned long long hash), void *context);
unsigned words_common(const struct words *a, const struct words *b);

/* Whether `part` stands in `whole`, both normalised, at word ends. */
bool words_contain(struct slice whole, struct slice part);

#endif
