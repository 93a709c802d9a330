/* SPDX-License-Identifier: MIT */
#include "tokens/character.h"
#include "tokens/character_table.inc"

#define LETTER_UPPER (CHARACTER_UPPER | CHARACTER_LETTER)
#define LETTER_LOWER (CHARACTER_LOWER | CHARACTER_LETTER)
#define NEWLINE (CHARACTER_SPACE | CHARACTER_NEWLINE)
#define FIVE(first, value)                                                                                   \
	[first] = (value), [(first) + 1] = (value), [(first) + 2] = (value), [(first) + 3] = (value),        \
	[(first) + 4] = (value)
#define LETTERS(first, value)                                                                                \
	FIVE(first, value), FIVE((first) + 5, value), FIVE((first) + 10, value), FIVE((first) + 15, value),  \
		FIVE((first) + 20, value), [(first) + 25] = (value)

/* The first 128 entries of the large table, without its two steps. */
const uint8_t character_ascii[128] = {
	['\t'] = CHARACTER_SPACE,
	['\n'] = NEWLINE,
	['\v'] = CHARACTER_SPACE,
	['\f'] = CHARACTER_SPACE,
	['\r'] = NEWLINE,
	[' '] = CHARACTER_SPACE,
	FIVE('0', CHARACTER_NUMBER),
	FIVE('5', CHARACTER_NUMBER),
	LETTERS('A', LETTER_UPPER),
	LETTERS('a', LETTER_LOWER),
};

static inline bool is_tail(const unsigned char *at, const unsigned char *end)
{
	return at < end && (*at & 0xc0) == 0x80;
}

struct character character_decode(const char *text, const char *text_end)
{
	const unsigned char *at = (const unsigned char *)text, *end = (const unsigned char *)text_end;
	const struct character invalid = {CHARACTER_INVALID, 1};
	if (at >= end)
		return (struct character){CHARACTER_END, 0};
	if (*at < 0x80)
		return (struct character){character_ascii[*at], 1};
	if (*at < 0xc2 || *at > 0xf4 || !is_tail(at + 1, end))
		return invalid;
	uint32_t point = at[1] & 0x3f;
	if (*at < 0xe0)
		return (struct character){character_class_of((*at & 0x1fu) << 6 | point), 2};
	if (!is_tail(at + 2, end))
		return invalid;
	point = point << 6 | (at[2] & 0x3f);
	if (*at < 0xf0) {
		point |= (*at & 0x0fu) << 12;
		if (point < 0x800 || (point >= 0xd800 && point < 0xe000))
			return invalid;
		return (struct character){character_class_of(point), 3};
	}
	if (!is_tail(at + 3, end))
		return invalid;
	point = (point << 6 | (at[3] & 0x3f)) | (*at & 0x07u) << 18;
	if (point < 0x10000 || point > 0x10ffff)
		return invalid;
	return (struct character){character_class_of(point), 4};
}
