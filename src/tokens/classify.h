/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a text by class, the loop behind estimate.h: once a byte at a time (classify.c, the
 * definition) and once 64 bytes at a time for each instruction set (classify_blocks.inc; classify_avx512.c).
 * All give the same sums for any bytes; tests/tokens/test_classify.c runs them against each other.
 *
 * Invariants: (1) no byte outside [at, end) is read; (2) nothing is allocated.
 */
#ifndef TOKENS_CLASSIFY_H
#define TOKENS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>
#include "tokens/estimate.h"

enum token_class {
	CLASS_LETTER, /* ASCII letters that go on with a word, and blanks that go on with blanks */
	CLASS_WORD,   /* beginnings: words, lines, indentation */
	CLASS_SWITCH, /* changes of case or to digits inside a word, numbers, letters rare in words:
			 identifiers, base64 */
	CLASS_MARK,   /* ASCII digits and punctuation */
	CLASS_EUROPE, /* accented Latin letters, Cyrillic */
	CLASS_SOUTH,  /* Greek, Arabic, Hebrew, the scripts of India, South-East Asia, the Caucasus and
			 Ethiopia */
	CLASS_CJK,    /* Chinese, Japanese, Korean */
	CLASS_SYMBOL, /* typographic marks, arrows, boxes; emoji and all else of four bytes */
};

/* What a byte is, and what the byte before it was. */
enum byte_kind {
	SP, /* blanks */
	NL, /* line ends */
	LO, /* ASCII lower case but j q x z */
	RA, /* j q x z */
	UP, /* ASCII upper case */
	DI, /* ASCII digits */
	MA, /* everything else in ASCII */
	TA, /* the second and later bytes of a character */
	LA, /* first bytes: Latin */
	CY, /* Cyrillic */
	NE, /* Greek and the near east */
	IN, /* E0: the scripts of India, Thai, Lao */
	SE, /* E1: Georgian, Ethiopic, Khmer, Vietnamese accents */
	SY, /* symbols, and all else of three bytes */
	CJ, /* Chinese, Japanese, Korean */
	FO, /* four bytes */
	BYTE_KINDS,
};
extern const uint8_t kind_of_byte[256]; /* aligned for vectors */

/* Of one text. */
struct class_state {
	uint64_t count[TOKEN_CLASSES];
	uint64_t bytes; /* of text; an escape counts as what it stands for */
	enum byte_kind before;
};

/* A text begins as if behind a line end. */
#define CLASS_STATE_INIT ((struct class_state){.before = NL})

struct classify {
	const char *name;
	/* Goes over the text, or with `json` over what stands in a validated JSON string. Returns `end`, or
	 * where a \u escape is near: there the byte loop goes on for a while. */
	const char *(*blocks)(struct class_state *state, const char *at, const char *end, bool json);
	bool (*can_run)(void); /* on this processor */
};

extern const struct classify classify_portable;
#ifdef __x86_64__
extern const struct classify classify_sse2;
extern const struct classify classify_avx2;
extern const struct classify classify_avx512;
#endif

/* All of it. A lone surrogate in an escape counts as U+FFFD. */
void classify_with(
	const struct classify *classify, struct class_state *state, const char *text, size_t len, bool json);
/* With the best for this processor. */
void classify_text(struct class_state *state, const char *text, size_t len, bool json);

/* For the variants: what classify_blocks.inc asks of a block of 64 bytes, a bit per byte. */
struct kind_masks {
	uint64_t letter, lower, rare; /* lower: of letters only; rare: j q x z */
	uint64_t digit, space, newline, high;
};

struct escape_masks {
	uint64_t n_or_r, t, u;
};

#endif
