/* SPDX-License-Identifier: MIT */
/*
 * Looking for many patterns at once in much text: one pass that hashes words and asks a small table.
 *
 * A word is a run of ASCII letters and digits, or one code point beyond ASCII. Each pattern is found by
 * its first two words; a bitmap of 64 Kbit says for almost every word of a text that no pattern begins
 * with it, and only for the others a table is asked. So the cost is that of hashing the text, whatever
 * the number of patterns.
 *
 * Invariants: (1) a match begins and ends at a word's end or beginning: "10" is not found in "100", in
 * "x10" or in "1.10";
 * (2) a blank in a pattern meets any run of blanks, but not none; (3) every place where a pattern stands
 *     is reported.
 */
#ifndef COMPACT_SCAN_H
#define COMPACT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/slice.h"

enum scan_case {
	SCAN_EXACT,  /* letters as they are: ids, paths */
	SCAN_FOLDED, /* ASCII letters of either case: sentences */
	SCAN_NUMBER, /* digits: zeros may follow a fraction, a unit may follow without blank */
};

struct scan_pattern {
	struct slice text;
	uint64_t first,
		both;	 /* hashes: of that word, and of it with the next (or alone, if it is the last) */
	uint32_t value;	 /* the caller's */
	uint32_t next;	 /* the next pattern of the same two words */
	uint16_t anchor; /* where the word begins by which it is found */
	uint8_t how;	 /* enum scan_case */
};

#define SCAN_TRIPLES (26 * 26 * 26)

struct scanner {
	struct arena *arena;
	struct scan_pattern *patterns;
	uint32_t count, cap;
	uint32_t *table; /* first pattern by the hash of its first two words */
	uint32_t mask;
	uint64_t *firsts;  /* bitmap of words that begin a pattern or a number */
	uint64_t *boths;      /* bitmap of the keys of the table */
	uint64_t *numbers; /* bitmap of words that begin a number, or NULL */
	uint64_t *triples; /* bitmap of three letters that begin a number made of parts */
};

void scanner_init(struct scanner *scanner, struct arena *arena);
/* Adds a pattern; text is not copied. One without a word is not added, and ret_added (NULL allowed) says
 * so. */
int scanner_add(
	struct scanner *scanner, struct slice text, enum scan_case how, uint32_t value, bool *ret_added);
/* Number words are reported too. 0 or BOBBIN_ENOMEM. */
int scanner_add_number_words(struct scanner *scanner);
/* Once, after the last one. 0 or BOBBIN_ENOMEM. */
int scanner_prepare(struct scanner *scanner);

/* Reports each match, and each number in words (if that was asked for). */
struct scan_hit {
	bool is_number_word;
	uint64_t number;
	uint32_t value;
};
void scan_text(const struct scanner *scanner, struct slice text,
	void (*hit)(void *context, const struct scan_hit *hit), void *context);

#endif
