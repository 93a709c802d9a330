/* SPDX-License-Identifier: MIT */
/*
 * The classifier looks at each byte and the one before it: both have a kind, and the pair says which classes
 * grow by how much. All eight classes are 8-bit lanes of one 64-bit sum, so a byte costs two look-ups and an
 * addition; the lanes are emptied into wider ones before they can overflow.
 *
 * Amounts within a class are in proportion to the tokens they cost; what a class costs is its weight. Both
 * are fitted to the exact encodings (README.md says on which texts, and how well).
 */
#include "tokens/estimate.h"

#include <stdbool.h>

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

enum kind {
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
	KINDS,
};

static const uint8_t kind_of_byte[256] = {
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

/* What follows each kind of byte before, in the order of enum kind. */
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

/* lanes_of_pair[this byte][the byte before]; a text begins as if behind a line end. */
static const uint64_t lanes_of_pair[KINDS][KINDS] = {
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

#define WEIGHT_OF_TOKEN 1024u

/* For one unit of a class. */
static const uint32_t weights_common[TOKEN_CLASSES] = {76, 180, 238, 90, 300, 275, 1160, 740};
static const uint32_t weights_large[TOKEN_CLASSES] = {75, 176, 238, 94, 190, 108, 790, 640};

static uint32_t add_saturating(uint32_t value, uint64_t more)
{
	uint64_t sum = value + more;
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static void classify(struct token_classes *classes, const char *text, size_t len)
{
	const uint64_t even = 0x00ff00ff00ff00ffu;
	unsigned before = NL;
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
			classes->count[class] =
				add_saturating(classes->count[class], wide >> (class / 2 * 16) & 0xffff);
		}
	}
}

static uint64_t weigh(const struct token_classes *classes, const uint32_t weights[TOKEN_CLASSES])
{
	uint64_t sum = 0;
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		sum += (uint64_t)classes->count[class] * weights[class];
	return sum;
}

static uint64_t in_tokens(uint64_t weight)
{
	return (weight + WEIGHT_OF_TOKEN - 1) / WEIGHT_OF_TOKEN;
}

/* Runs of rare letters and the like weigh more than a token a byte, which no text costs: all classes are then
 * made smaller alike, so that what is added up along a path is never more than its bytes. */
static void limit_to_bytes(struct token_classes *classes, size_t len)
{
	uint64_t common = weigh(classes, weights_common), large = weigh(classes, weights_large);
	uint64_t weight = common > large ? common : large, limit = (uint64_t)len * WEIGHT_OF_TOKEN;
	bool any = false;

	if (weight <= limit)
		return;
	uint64_t scale = (limit << 16) / weight;
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++) {
		classes->count[class] = (uint32_t)(classes->count[class] * scale >> 16);
		any |= classes->count[class] > 0;
	}
	if (!any)
		classes->count[CLASS_SYMBOL] = 1;
}

void token_classes_add(struct token_classes *classes, const char *text, size_t len)
{
	struct token_classes added = {0};
	classify(&added, text, len);
	limit_to_bytes(&added, len);
	token_classes_sum(classes, &added);
}

void token_classes_sum(struct token_classes *into, const struct token_classes *from)
{
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		into->count[class] = add_saturating(into->count[class], from->count[class]);
}

uint64_t token_classes_estimate(const struct token_classes *classes)
{
	return in_tokens(weigh(classes, weights_common));
}

uint64_t token_classes_estimate_large(const struct token_classes *classes)
{
	return in_tokens(weigh(classes, weights_large));
}

uint64_t tokens_estimate(const char *text, size_t len)
{
	struct token_classes classes = {0};
	token_classes_add(&classes, text, len);
	return token_classes_estimate(&classes);
}
