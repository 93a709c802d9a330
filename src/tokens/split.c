/* SPDX-License-Identifier: MIT */
/*
 * The alternatives of the patterns are tried in their order. Where the expression would backtrack, the
 * function says how far and why; nothing is scanned more than twice.
 */
#include "tokens/split.h"
#include "tokens/character.h"

#define WORD_BITS (CHARACTER_LETTER | CHARACTER_NUMBER)
#define NOT_OTHER (WORD_BITS | CHARACTER_SPACE | CHARACTER_END)

struct splitter {
	const char *end;
	unsigned seen; /* the bits of all characters looked at */
};

static inline struct character look(struct splitter *splitter, const char *at)
{
	struct character character = character_at(at, splitter->end);
	splitter->seen |= character.bits;
	return character;
}

/* The end of the run of characters that have at least one of `bits`. */
static inline const char *run(struct splitter *splitter, const char *at, unsigned bits)
{
	for (;;) {
		struct character character = look(splitter, at);
		if (!(character.bits & bits))
			return at;
		at += character.bytes;
	}
}

size_t split_contraction(const char *at, const char *end)
{
	if (end - at < 2 || *at != '\'')
		return 0;
	char first = at[1] | 0x20, second = end - at > 2 ? at[2] | 0x20 : 0;
	switch (first) {
	case 's':
	case 't':
	case 'm':
	case 'd':
		return 2;
	case 'r':
	case 'v':
		return second == 'e' ? 3 : 0;
	case 'l':
		return second == 'l' ? 3 : 0;
	}
	/* U+017F, the long s, folds to s. */
	return end - at > 2 && (unsigned char)at[1] == 0xc5 && (unsigned char)at[2] == 0xbf ? 3 : 0;
}

static const char *add_contraction(struct splitter *splitter, const char *at)
{
	return at + split_contraction(at, splitter->end);
}

/*
 * [U]*[W]+ at `at`; NULL if it does not match. The upper part takes all it can. If a character that is only
 * lower follows, the lower part goes on from there. Else the upper part must give back: its last character
 * that may stand in both parts becomes the lower part; what is behind that one is upper only, so the lower
 * part ends right after it.
 */
static const char *upper_then_lower(struct splitter *splitter, const char *at)
{
	const char *both_end = NULL;
	for (;;) {
		struct character character = look(splitter, at);
		if (!(character.bits & CHARACTER_UPPER)) {
			if (character.bits & CHARACTER_LOWER)
				return run(splitter, at + character.bytes, CHARACTER_LOWER);
			return both_end;
		}
		at += character.bytes;
		if (character.bits & CHARACTER_LOWER)
			both_end = at;
	}
}

/* The two word alternatives of o200k; NULL if neither matches. `first` is the character at `at`. */
static const char *word_o200k(struct splitter *splitter, const char *at, struct character first)
{
	bool prefix = !(first.bits & (WORD_BITS | CHARACTER_NEWLINE));
	const char *end = NULL;
	if (prefix)
		end = upper_then_lower(splitter, at + first.bytes);
	if (!end && first.bits & (CHARACTER_UPPER | CHARACTER_LOWER))
		end = upper_then_lower(splitter, at);
	if (!end) {
		/* [U]+[W]*: no lower character follows the upper ones, or the first alternative had matched.
		 */
		const char *start = prefix ? at + first.bytes : at;
		end = run(splitter, start, CHARACTER_UPPER);
		if (end == start)
			return NULL;
	}
	return add_contraction(splitter, end);
}

static const char *word_cl100k(struct splitter *splitter, const char *at, struct character first)
{
	if (first.bits & CHARACTER_LETTER)
		return run(splitter, at + first.bytes, CHARACTER_LETTER);
	if (first.bits & (CHARACTER_NUMBER | CHARACTER_NEWLINE))
		return NULL;
	const char *end = run(splitter, at + first.bytes, CHARACTER_LETTER);
	return end == at + first.bytes ? NULL : end;
}

static const char *number(struct splitter *splitter, const char *at)
{
	for (int digits = 0; digits < 3; digits++) {
		struct character character = look(splitter, at);
		if (!(character.bits & CHARACTER_NUMBER))
			break;
		at += character.bytes;
	}
	return at;
}

/*  ?[^\s\p{L}\p{N}]+[\r\n]*, with / after the line ends too in o200k; NULL if it does not match. */
static const char *other(struct splitter *splitter, const char *at, enum split_pattern pattern)
{
	const char *start = *at == ' ' ? at + 1 : at;
	at = start;
	for (;;) {
		struct character character = look(splitter, at);
		if (character.bits & NOT_OTHER)
			break;
		at += character.bytes;
	}
	if (at == start)
		return NULL;
	while (at < splitter->end && (*at == '\r' || *at == '\n' || (pattern == SPLIT_O200K && *at == '/')))
		at++;
	return at;
}

/* \s*[\r\n]+ | \s+(?!\S) | \s+: up to the last line end; else all but the last character, which the next
 * piece may want; but all of it at the end of the text, or if it is only one. */
static const char *space(struct splitter *splitter, const char *at)
{
	const char *start = at, *newline_end = NULL, *last = at;
	for (;;) {
		struct character character = look(splitter, at);
		if (!(character.bits & CHARACTER_SPACE))
			break;
		last = at;
		at += character.bytes;
		if (character.bits & CHARACTER_NEWLINE)
			newline_end = at;
	}
	if (newline_end)
		return newline_end;
	return at == splitter->end || last == start ? at : last;
}

const char *split_piece(enum split_pattern pattern, const char *at, const char *end, bool *ret_invalid)
{
	struct splitter splitter = {end, 0};
	struct character first = look(&splitter, at);
	const char *piece_end = NULL;
	if (pattern == SPLIT_CL100K && *at == '\'' && split_contraction(at, end))
		return at + split_contraction(at, end);
	if (first.bits & CHARACTER_NUMBER)
		piece_end = number(&splitter, at);
	else
		piece_end = pattern == SPLIT_O200K ? word_o200k(&splitter, at, first)
						   : word_cl100k(&splitter, at, first);
	if (!piece_end)
		piece_end = other(&splitter, at, pattern);
	if (!piece_end)
		piece_end = space(&splitter, at);
	*ret_invalid = splitter.seen & CHARACTER_INVALID;
	return piece_end;
}
