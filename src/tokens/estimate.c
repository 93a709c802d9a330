/* SPDX-License-Identifier: MIT */
/*
 * The classifier looks at each byte and the one before it: both have a kind, and the pair says which class grows
 * by how much. All eight classes live as 8-bit lanes of one 64-bit sum, so a byte costs two look-ups and an
 * addition; the lanes are emptied before they can overflow.
 */
#include "tokens/estimate.h"

enum token_class {
	CLASS_LETTER, /* ASCII letters that go on with a word */
	CLASS_WORD,   /* word and number starts */
	CLASS_SWITCH, /* changes of case or between letter and digit inside a run: identifiers, base64, hex */
	CLASS_DIGIT,  /* ASCII digits */
	CLASS_PUNCT,  /* ASCII punctuation and control characters */
	CLASS_BLANK,  /* line starts and indentation */
	CLASS_TWO,    /* characters of two UTF-8 bytes, Arabic and its neighbours doubled */
	CLASS_WIDE,   /* characters of three and four bytes, in quarters of a token */
};

enum kind {
	KIND_SPACE, KIND_NEWLINE, KIND_LOWER, KIND_UPPER, KIND_DIGIT, KIND_PUNCT, KIND_CONTINUATION, KIND_LATIN,
	KIND_GREEK_CYRILLIC, KIND_ARABIC, KIND_SYMBOL, KIND_CJK, KIND_INDIC, KIND_FOUR, KINDS = 16,
};

#define LANE(class, amount) ((uint64_t)(amount) << (8 * (class)))
#define INCREMENT_MAX 10              /* the largest amount below */
#define BLOCK_BYTES (255 / INCREMENT_MAX) /* so many bytes cannot overflow a lane */

static const uint8_t kind_of_byte[256] = {
	[0x00 ... 0x7f] = KIND_PUNCT,
	[' '] = KIND_SPACE, ['\t'] = KIND_SPACE, ['\n'] = KIND_NEWLINE, ['\r'] = KIND_NEWLINE,
	['a' ... 'z'] = KIND_LOWER, ['A' ... 'Z'] = KIND_UPPER, ['0' ... '9'] = KIND_DIGIT,
	[0x80 ... 0xbf] = KIND_CONTINUATION, [0xc0 ... 0xcb] = KIND_LATIN, [0xcc ... 0xd3] = KIND_GREEK_CYRILLIC,
	[0xd4 ... 0xdf] = KIND_ARABIC, [0xe0 ... 0xe1] = KIND_INDIC, [0xe2] = KIND_SYMBOL, [0xe3 ... 0xed] = KIND_CJK,
	[0xee ... 0xef] = KIND_SYMBOL, [0xf0 ... 0xff] = KIND_FOUR,
};

#define AFTER_ANY(amount) { [0 ... KINDS - 1] = (amount) }
#define AFTER_LETTERS(other, lower, upper, digit) \
	{ [KIND_SPACE] = (other), [KIND_NEWLINE] = (other), [KIND_LOWER] = (lower), [KIND_UPPER] = (upper), \
	  [KIND_DIGIT] = (digit), [KIND_PUNCT] = (other), [KIND_CONTINUATION] = LANE(CLASS_LETTER, 1) }

/* lanes_of_pair[kind of this byte][kind of the byte before]; a text begins as if after a newline. */
static const uint64_t lanes_of_pair[KINDS][KINDS] = {
	[KIND_SPACE] = { [KIND_NEWLINE] = LANE(CLASS_BLANK, 1) },
	[KIND_NEWLINE] = { [KIND_SPACE] = LANE(CLASS_BLANK, 1), [KIND_LOWER ... KINDS - 1] = LANE(CLASS_BLANK, 1) },
	[KIND_LOWER] = AFTER_LETTERS(LANE(CLASS_WORD, 1), LANE(CLASS_LETTER, 1), LANE(CLASS_LETTER, 1),
		LANE(CLASS_SWITCH, 1)),
	[KIND_UPPER] = AFTER_LETTERS(LANE(CLASS_WORD, 1), LANE(CLASS_SWITCH, 1), LANE(CLASS_LETTER, 1),
		LANE(CLASS_SWITCH, 1)),
	[KIND_DIGIT] = AFTER_LETTERS(LANE(CLASS_WORD, 1) | LANE(CLASS_DIGIT, 1),
		LANE(CLASS_SWITCH, 1) | LANE(CLASS_DIGIT, 1), LANE(CLASS_SWITCH, 1) | LANE(CLASS_DIGIT, 1),
		LANE(CLASS_DIGIT, 1)),
	[KIND_PUNCT] = AFTER_ANY(LANE(CLASS_PUNCT, 1)),
	[KIND_LATIN] = AFTER_ANY(LANE(CLASS_TWO, 1)),
	[KIND_GREEK_CYRILLIC] = AFTER_ANY(LANE(CLASS_TWO, 1)),
	[KIND_ARABIC] = AFTER_ANY(LANE(CLASS_TWO, 2)),
	[KIND_SYMBOL] = AFTER_ANY(LANE(CLASS_WIDE, 5)),
	[KIND_CJK] = AFTER_ANY(LANE(CLASS_WIDE, 4)),
	[KIND_INDIC] = AFTER_ANY(LANE(CLASS_WIDE, 4)),
	[KIND_FOUR] = AFTER_ANY(LANE(CLASS_WIDE, 10)),
};

/* In 1/1024 of a token. */
static const uint32_t weight_of_class[TOKEN_CLASSES] = {
	[CLASS_LETTER] = 100, [CLASS_WORD] = 650, [CLASS_SWITCH] = 700, [CLASS_DIGIT] = 400, [CLASS_PUNCT] = 600,
	[CLASS_BLANK] = 700, [CLASS_TWO] = 500, [CLASS_WIDE] = 300,
};

static uint32_t add_saturating(uint32_t value, uint64_t more)
{
	uint64_t sum = value + more;
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

void token_classes_add(struct token_classes *classes, const char *text, size_t len)
{
	uint64_t totals[TOKEN_CLASSES] = {0};
	unsigned before = KIND_NEWLINE;
	for (size_t at = 0; at < len;) {
		size_t end = len - at > BLOCK_BYTES ? at + BLOCK_BYTES : len;
		uint64_t lanes = 0;
		for (; at < end; at++) {
			unsigned kind = kind_of_byte[(unsigned char)text[at]];
			lanes += lanes_of_pair[kind][before];
			before = kind;
		}
		for (unsigned class = 0; class < TOKEN_CLASSES; class++)
			totals[class] += (lanes >> (8 * class)) & 0xff;
	}
	for (unsigned class = 0; class < TOKEN_CLASSES; class++)
		classes->count[class] = add_saturating(classes->count[class], totals[class]);
}

void token_classes_sum(struct token_classes *into, const struct token_classes *from)
{
	for (unsigned class = 0; class < TOKEN_CLASSES; class++)
		into->count[class] = add_saturating(into->count[class], from->count[class]);
}

uint64_t token_classes_estimate(const struct token_classes *classes)
{
	uint64_t sum = 0;
	for (unsigned class = 0; class < TOKEN_CLASSES; class++)
		sum += (uint64_t)classes->count[class] * weight_of_class[class];
	return (sum + 1023) / 1024;
}

uint64_t tokens_estimate(const char *text, size_t len)
{
	struct token_classes classes = {0};
	token_classes_add(&classes, text, len);
	return token_classes_estimate(&classes);
}
