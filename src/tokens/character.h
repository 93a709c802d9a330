/* SPDX-License-Identifier: MIT */
/* What the encodings' patterns ask of a character, in bits, as of Unicode 16.0. */
#ifndef TOKENS_CHARACTER_H
#define TOKENS_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum character_bits {
	CHARACTER_UPPER = 1,   /* may stand in the upper-case part of an o200k word: Lu Lt Lm Lo M */
	CHARACTER_LOWER = 2,   /* … in its lower-case part: Ll Lm Lo M */
	CHARACTER_LETTER = 4,  /* L */
	CHARACTER_NUMBER = 8,  /* N */
	CHARACTER_SPACE = 16,  /* White_Space */
	CHARACTER_NEWLINE = 32, /* carriage return or line feed; SPACE too */
	CHARACTER_END = 64,    /* there is no character: the end of the text */
	CHARACTER_INVALID = 128, /* not UTF-8 */
};

struct character {
	unsigned bits;
	unsigned bytes; /* 0 at the end, 1 for an invalid byte */
};

extern const uint8_t character_ascii[128];

/* Never reads at or after `end`. */
struct character character_decode(const char *at, const char *end);

static inline struct character character_at(const char *at, const char *end)
{
	if (at < end && (unsigned char)*at < 0x80)
		return (struct character){character_ascii[(unsigned char)*at], 1};
	return character_decode(at, end);
}

#endif
