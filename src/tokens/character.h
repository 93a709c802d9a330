/* SPDX-License-Identifier: MIT */
/* What the encodings' patterns ask of a character, in bits, as of Unicode 16.0. */
#ifndef TOKENS_CHARACTER_H
#define TOKENS_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum character_bits {
	CHARACTER_UPPER = 1,	 /* may stand in the upper-case part of an o200k word: Lu Lt Lm Lo M */
	CHARACTER_LOWER = 2,	 /* … in its lower-case part: Ll Lm Lo M */
	CHARACTER_LETTER = 4,	 /* L */
	CHARACTER_NUMBER = 8,	 /* N */
	CHARACTER_SPACE = 16,	 /* White_Space */
	CHARACTER_NEWLINE = 32,	 /* carriage return or line feed; SPACE too */
	CHARACTER_END = 64,	 /* there is no character: the end of the text */
	CHARACTER_INVALID = 128, /* not UTF-8 */
};

struct character {
	unsigned bits;
	unsigned bytes; /* 0 at the end, 1 for an invalid byte */
};

extern const uint8_t character_ascii[128];

/* The class of any code point: of each 128 in a row the number of their block, and the classes of a block. */
#define CHARACTER_BLOCK 128
extern const uint8_t character_block[0x110000 / CHARACTER_BLOCK];
extern const uint8_t character_class[][CHARACTER_BLOCK];

static inline unsigned character_class_of(uint32_t point)
{
	return character_class[character_block[point / CHARACTER_BLOCK]][point % CHARACTER_BLOCK];
}

/* Any case that character_at does not settle itself. Never reads at or after `end`. */
struct character character_decode(const char *at, const char *end);

static inline struct character character_at(const char *at, const char *end)
{
	const unsigned char *bytes = (const unsigned char *)at;
	if (at < end && bytes[0] < 0x80)
		return (struct character){character_ascii[bytes[0]], 1};
	if (end - at >= 3 && (bytes[1] & 0xc0) == 0x80) {
		if (bytes[0] >= 0xc2 && bytes[0] < 0xe0) {
			unsigned point = (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3f);
			return (struct character){character_class_of(point), 2};
		}
		unsigned point = (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3f);
		if (bytes[0] >> 4 == 0xe && (bytes[2] & 0xc0) == 0x80 && point >= 0x800 &&
			point >> 11 != 0x1b)
			return (struct character){character_class_of(point), 3};
	}
	return character_decode(at, end);
}

#endif
