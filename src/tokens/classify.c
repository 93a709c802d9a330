/* SPDX-License-Identifier: MIT */
/*
 * The classifier looks at each byte and the one before it: both have a kind, and the pair says which classes
 * grow by how much. All eight classes are 8-bit lanes of one 64-bit sum, so a byte costs two look-ups and an
 * addition; the lanes are emptied into wider ones before they can overflow.
 *
 * Amounts within a class are in proportion to the tokens they cost; what a class costs is its weight
 * (estimate.c). A change of an amount is a change of classify_blocks.inc and classify_avx512.c, too.
 */
#include "tokens/classify.h"

#include <stdatomic.h>
#include <string.h>
#include "base/json_string.h"

const uint8_t kind_of_byte[256] __attribute__((aligned(64))) = {
	/* clang-format off */
	MA, MA, MA, MA, MA, MA, MA, MA, MA, SP, NL, MA, MA, NL, MA, MA, /* 00 */
	MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, /* 10 */
	SP, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, MA, /* 20 */
	DI, DI, DI, DI, DI, DI, DI, DI, DI, DI, MA, MA, MA, MA, MA, MA, /* 30 */
	MA, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, /* 40 */
	UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, MA, MA, MA, MA, MA, /* 50 */
	MA, LO, LO, LO, LO, LO, LO, LO, LO, LO, RA, LO, LO, LO, LO, LO, /* 60 */
	LO, RA, LO, LO, LO, LO, LO, LO, RA, LO, RA, MA, MA, MA, MA, MA, /* 70 */
	TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, /* 80 */
	TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, /* 90 */
	TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, /* a0 */
	TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, TA, /* b0 */
	LA, LA, LA, LA, LA, LA, LA, LA, LA, LA, LA, LA, NE, NE, NE, NE, /* c0 */
	CY, CY, CY, CY, NE, NE, NE, NE, NE, NE, NE, NE, NE, NE, NE, NE, /* d0 */
	IN, SE, SY, CJ, CJ, CJ, CJ, CJ, CJ, CJ, CJ, CJ, CJ, CJ, SY, SY, /* e0 */
	FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, FO, /* f0 */
	/* clang-format on */
};

#define LANE(class, amount) ((uint64_t)(amount) << (8 * (class)))
#define AMOUNT_MAX 9
#define BLOCK_BYTES (255 / AMOUNT_MAX) /* so many bytes cannot overflow a lane of 8 bits */
#define BLOCKS_MAX (UINT16_MAX / (BLOCK_BYTES * AMOUNT_MAX)) /* … and so many blocks one of 16 */

/* What follows each kind of byte before, in the order of enum byte_kind. */
#define AFTER(sp, nl, lo, ra, up, di, ma, ta, first)                                                         \
	{                                                                                                    \
		sp, nl, lo, ra, up, di, ma, ta, first, first, first, first, first, first, first, first       \
	}
#define ALWAYS(lanes) AFTER(lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes)

#define LETTER LANE(CLASS_LETTER, 2)
#define WORD LANE(CLASS_WORD, 3)
#define SWITCH LANE(CLASS_SWITCH, 4)
#define RARE LANE(CLASS_SWITCH, 9)
#define DIGIT LANE(CLASS_MARK, 3)
#define NUMBER (LANE(CLASS_SWITCH, 6) | DIGIT)
#define LINE LANE(CLASS_WORD, 5)
#define INDENTATION LANE(CLASS_WORD, 4)
#define BLANK LANE(CLASS_LETTER, 1)
#define STRAY LANE(CLASS_SYMBOL, 1) /* no character begins before it: not UTF-8 */

/* lanes_of_pair[this byte][the byte before] */
static const uint64_t lanes_of_pair[BYTE_KINDS][BYTE_KINDS] = {
	/* clang-format off */
	[SP] = AFTER(BLANK, INDENTATION, 0, 0, 0, 0, 0, 0, 0),
	[NL] = AFTER(LINE, BLANK, LINE, LINE, LINE, LINE, LINE, LINE, LINE),
	[LO] = AFTER(WORD, WORD, LETTER, LETTER, LETTER, SWITCH, WORD, LETTER, WORD),
	[RA] = AFTER(WORD | RARE, WORD | RARE, LETTER | RARE, LETTER | RARE, LETTER | RARE, RARE, WORD | RARE,
		LETTER | RARE, WORD | RARE),
	[UP] = AFTER(WORD, WORD, SWITCH, SWITCH, WORD, SWITCH, WORD, LETTER, WORD),
	[DI] = AFTER(NUMBER, NUMBER, SWITCH | DIGIT, SWITCH | DIGIT, SWITCH | DIGIT, DIGIT, NUMBER, NUMBER, NUMBER),
	[MA] = AFTER(LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 6),
		LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 1), LANE(CLASS_MARK, 6), LANE(CLASS_MARK, 6)),
	[TA] = AFTER(STRAY, STRAY, STRAY, STRAY, STRAY, STRAY, STRAY, 0, 0),
	[LA] = ALWAYS(LANE(CLASS_EUROPE, 6)),
	[CY] = ALWAYS(LANE(CLASS_EUROPE, 2)),
	[NE] = ALWAYS(LANE(CLASS_SOUTH, 4)),
	[IN] = ALWAYS(LANE(CLASS_SOUTH, 6)),
	[SE] = ALWAYS(LANE(CLASS_SOUTH, 8)),
	[CJ] = ALWAYS(LANE(CLASS_CJK, 1)),
	[SY] = ALWAYS(LANE(CLASS_SYMBOL, 2)),
	[FO] = ALWAYS(LANE(CLASS_SYMBOL, 4)),
	/* clang-format on */
};

static void add_bytes(struct class_state *state, const char *text, size_t len)
{
	const uint64_t even = 0x00ff00ff00ff00ffu;
	unsigned before = state->before;
	for (size_t at = 0; at < len;) {
		uint64_t wide_even = 0, wide_odd = 0; /* classes 0 2 4 6 and 1 3 5 7 */
		for (unsigned block = 0; block < BLOCKS_MAX && at < len; block++) {
			size_t end = len - at > BLOCK_BYTES ? at + BLOCK_BYTES : len;
			uint64_t lanes = 0;
			for (; at < end; at++) {
				unsigned kind = kind_of_byte[(unsigned char)text[at]];
				lanes += lanes_of_pair[kind][before];
				before = kind;
			}
			wide_even += lanes & even;
			wide_odd += lanes >> 8 & even;
		}
		for (unsigned class = 0; class < TOKEN_CLASSES; class ++) {
			uint64_t wide = class % 2 ? wide_odd : wide_even;
			state->count[class] += wide >> (class / 2 * 16) & 0xffff;
		}
	}
	state->bytes += len;
	state->before = (enum byte_kind)before;
}

/* Characters as they are decoded, until one begins at `until` or behind it. */
static const char *add_characters(
	struct class_state *state, const char *at, const char *until, const char *end)
{
	struct json_cursor cursor = {at, end};
	char text[256]; /* so many at once */

	while (cursor.at < until) {
		size_t filled = 0;
		while (cursor.at < until && filled + 4 <= sizeof(text)) {
			char *bytes = text + filled;
			unsigned len = json_cursor_next(&cursor, bytes);
			/* A surrogate can only come from an escape. */
			if (len == 3 && (bytes[0] & 0xff) == 0xed && (bytes[1] & 0xff) >= 0xa0)
				memcpy(bytes, "\xef\xbf\xbd", 3);
			filled += len;
		}
		add_bytes(state, text, filled);
	}
	return cursor.at;
}

static const char *no_blocks(struct class_state *state, const char *at, const char *end, bool json)
{
	(void)state, (void)end, (void)json;
	return at;
}

static bool always(void)
{
	return true;
}

const struct classify classify_portable = {"portable", no_blocks, always};

#define BYTES_AT_ONCE 64 /* before it is worth trying blocks again */

void classify_with(
	const struct classify *classify, struct class_state *state, const char *text, size_t len, bool json)
{
	if (len == 0) /* `text` may be NULL, to which nothing can be added */
		return;
	const char *at = text, *end = text + len;
	for (;;) {
		at = classify->blocks(state, at, end, json);
		if (at == end)
			return;
		if (json)
			at = add_characters(
				state, at, end - at > BYTES_AT_ONCE ? at + BYTES_AT_ONCE : end, end);
		else {
			add_bytes(state, at, (size_t)(end - at));
			return;
		}
	}
}

static const struct classify *best(void)
{
#ifdef __x86_64__
	static const struct classify *const variants[] = {&classify_avx512, &classify_avx2, &classify_sse2};
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (variants[i]->can_run())
			return variants[i];
#endif
	return &classify_portable;
}

void classify_text(struct class_state *state, const char *text, size_t len, bool json)
{
	/* Any thread may choose first; they all choose the same. */
	static _Atomic(const struct classify *) chosen;
	const struct classify *classify = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!classify) {
		classify = best();
		atomic_store_explicit(&chosen, classify, memory_order_relaxed);
	}
	classify_with(classify, state, text, len, json);
}
