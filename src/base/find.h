/* SPDX-License-Identifier: MIT */
/*
 * Finding bytes in many bytes, as fast as they come from memory: the two rarest bytes of what is looked for
 * are compared with 32 places at once, and only where both fit is looked at more closely.
 *
 * In JSON a text need not stand as its bytes: any character may be written as \uXXXX. With `units` such an
 * escape is a find, too, so that what finds nothing proves that there is nothing.
 *
 * Invariants: (1) no byte outside [at, end) is read; (2) nothing is allocated; (3) all instruction sets give
 * the same finds.
 */
#ifndef BASE_FIND_H
#define BASE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/slice.h"

#define FIND_UNITS_MAX 128

struct find {
	const char *needle; /* the caller's, at least one byte; with `folded` in lower case */
	size_t len;
	bool folded; /* ASCII letters of either case are equal */

	/* The bytes that are compared first: where in the needle, what they are, and the bit that folding ignores. The two
	 * rarest, and one that is far from them, for places where both are. */
	size_t at[3];
	unsigned char byte[3], fold[3];

	uint16_t units[FIND_UNITS_MAX]; /* UTF-16 units whose escapes are finds */
	size_t unit_count;
};

/* `needle` stays the caller's and has one byte at least. */
void find_init(struct find *find, struct slice needle, bool folded);

/* Escapes of any character of `text` (UTF-8) are finds from now on. False if it has too many different ones.
 */
bool find_add_escapes(struct find *find, struct slice text);

/* The first place where the needle, or such an escape, stands as a whole; NULL if there is none. */
const char *find_next(const struct find *find, const char *at, const char *end);

/* The same without special instructions, for tests to compare with. */
const char *find_next_portable(const struct find *find, const char *at, const char *end);

/* How common a byte is in logs: 0 (hardly ever) to 255. */
unsigned find_byte_rank(unsigned char byte);

#endif
