/* SPDX-License-Identifier: MIT */
/*
 * What a text can be found by.
 *
 *	"I moved to Berlin's Mitte"   move, berlin, mitt
 *	"我搬到了北京"                 我搬 搬到 到了 了北 北京, and each character
 *
 * Words of scripts with spaces are folded (case, width, accents) and stemmed; of scripts without, and of Korean, whose
 * particles are glued to words, every two neighbours are a term, so that words of two characters are found.
 *
 * Invariants: (1) a term holds letters and digits only, and is at most TERM_BYTES long; (2) whatever a text's terms are,
 * a query of the same text has no other; (3) what bears no meaning of its own (stop words, "the user") is no term of a query, unless
 * there is nothing else.
 */
#ifndef MEMORY_TERMS_H
#define MEMORY_TERMS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/slice.h"

#define TERM_BYTES 48
#define TERMS_MAX 1024      /* of a text; a fact has at most 4,096 bytes */
#define QUERY_TERMS_MAX 48 /* the first so many of a query */

struct term {
	struct slice text; /* in the arena */
	float weight;	   /* of a query's: 1: says much; less for words that are everywhere */
	bool wide;	   /* of a script without spaces */
	uint16_t place;	   /* the how manieth word or character of the text it is, stop words counted */
};

struct terms {
	struct term *items;
	size_t count;
	size_t cap;
};

enum terms_for {
	TERMS_INDEX, /* everything, once */
	TERMS_QUERY, /* without stop words, once */
	TERMS_ORDER, /* everything as often as it stands there: for what stands beside what */
};

/* 0 or BOBBIN_ENOMEM. */
int terms_read(struct slice text, enum terms_for purpose, struct arena *arena, struct terms *ret_terms);

/* The text folded as words are, one blank between words and at both ends, for comparing and for cue phrases: " i moved to
 * berlin ". Apostrophes are left out; characters of wide scripts stand without blanks. */
struct buffer;
void terms_fold(struct slice text, struct buffer *out);

#endif
