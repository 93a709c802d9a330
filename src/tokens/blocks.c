/* SPDX-License-Identifier: MIT */
#include "tokens/blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BIT(n) (1ull << (n))

/* ---- classes of bytes ---- */

enum {
	MASK_LETTER = 1,
	MASK_LOWER = 2,
	MASK_DIGIT = 4,
	MASK_SPACE = 8,
	MASK_BLANK = 16,
	MASK_NEWLINE = 32,
	MASK_APOSTROPHE = 64,
	MASK_SLASH = 128
};

static unsigned masks_of(unsigned char byte)
{
	unsigned masks = byte & 0x20 ? MASK_LOWER : 0;
	if ((unsigned char)((byte | 0x20) - 'a') < 26)
		masks |= MASK_LETTER;
	masks |= (unsigned char)(byte - '0') < 10 ? MASK_DIGIT : 0;
	masks |= byte == ' ' ? MASK_SPACE | MASK_BLANK : 0;
	masks |= byte == '\t' || byte == '\v' || byte == '\f' ? MASK_BLANK : 0;
	masks |= byte == '\r' || byte == '\n' ? MASK_NEWLINE : 0;
	masks |= byte == '\'' ? MASK_APOSTROPHE : 0;
	return masks | (byte == '/' ? MASK_SLASH : 0);
}

void block_classify_portable(const char *block, struct block_masks *ret_masks)
{
	struct block_masks masks = {0};
	for (unsigned at = 0; at < BLOCK_BYTES; at++) {
		unsigned char byte = (unsigned char)block[at];
		uint64_t bits = masks_of(byte);
		masks.letter |= (bits & 1) << at;
		masks.lower_case_bit |= (bits >> 1 & 1) << at;
		masks.digit |= (bits >> 2 & 1) << at;
		masks.space |= (bits >> 3 & 1) << at;
		masks.blank |= (bits >> 4 & 1) << at;
		masks.newline |= (bits >> 5 & 1) << at;
		masks.apostrophe |= (bits >> 6 & 1) << at;
		masks.slash |= (bits >> 7 & 1) << at;
		masks.not_ascii |= (uint64_t)(byte >> 7) << at;
	}
	*ret_masks = masks;
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/* One bit a byte: whether byte - first <= span, unsigned. */
AVX2 static inline uint32_t in_range(__m256i bytes, char first, char span)
{
	__m256i offset = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first));
	return (uint32_t)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(_mm256_min_epu8(offset, _mm256_set1_epi8(span)), offset));
}

AVX2 static inline uint32_t is_byte(__m256i bytes, char byte)
{
	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte)));
}

AVX2 static void block_classify_avx2(const char *block, struct block_masks *ret_masks)
{
	__m256i low = _mm256_loadu_si256((const __m256i *)block);
	__m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
	__m256i case_bit = _mm256_set1_epi8(0x20);
#define BOTH(function, ...) (function(low, __VA_ARGS__) | (uint64_t)function(high, __VA_ARGS__) << 32)
	ret_masks->letter = in_range(_mm256_or_si256(low, case_bit), 'a', 25) |
			    (uint64_t)in_range(_mm256_or_si256(high, case_bit), 'a', 25) << 32;
	ret_masks->lower_case_bit = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(low, 2)) |
				    (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(high, 2))
					    << 32;
	ret_masks->digit = BOTH(in_range, '0', 9);
	ret_masks->space = BOTH(is_byte, ' ');
	ret_masks->newline = BOTH(is_byte, '\n') | BOTH(is_byte, '\r');
	ret_masks->blank = ret_masks->space | (BOTH(in_range, '\t', 4) & ~ret_masks->newline);
	ret_masks->apostrophe = BOTH(is_byte, '\'');
	ret_masks->slash = BOTH(is_byte, '/');
	ret_masks->not_ascii =
		(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
#undef BOTH
}
#endif

block_classifier *block_classifier_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return block_classify_avx2;
#endif
	return block_classify_portable;
}

/* ---- where pieces begin ---- */

/*
 * Each apostrophe that may begin a contraction, in order: the contraction is a piece in cl100k and the end of
 * the word before it in o200k; what follows it begins a piece either way. Returns the starts, corrected;
 * *certain loses what depends on bytes behind the block.
 */
static uint64_t fix_contractions(enum split_pattern pattern, const char *block, unsigned usable,
	uint64_t candidates, uint64_t letter, uint64_t starts, uint64_t *certain)
{
	unsigned suffix_end =
		0; /* where the last contraction of a word ended: no second one can follow there */
	for (; candidates; candidates &= candidates - 1) {
		unsigned at = (unsigned)__builtin_ctzll(candidates);
		if (at + 3 > usable) {
			*certain &= BIT(at) - 1;
			break;
		}
		unsigned bytes = (unsigned)split_contraction(block + at, block + usable);
		if (!bytes || (pattern == SPLIT_O200K && at == suffix_end))
			continue;
		unsigned next = at + bytes;
		if (pattern == SPLIT_O200K)
			starts &= ~((BIT(bytes) - 1) << at);
		if (next < BLOCK_BYTES)
			starts |= BIT(next) & letter;
		suffix_end = next;
	}
	return starts;
}

/* Blanks after a line end begin a piece, unless another line end follows in the same white space. */
static uint64_t after_last_newline(uint64_t blank, uint64_t newline, uint64_t first_blanks)
{
	uint64_t ends = (blank + first_blanks) & ~blank;
	if (!(ends & newline))
		return first_blanks;
	uint64_t starts = 0;
	for (; first_blanks; first_blanks &= first_blanks - 1) {
		unsigned at = (unsigned)__builtin_ctzll(first_blanks);
		uint64_t rest = ~(blank >> at);
		unsigned end = rest ? at + (unsigned)__builtin_ctzll(rest) : BLOCK_BYTES;
		if (end >= BLOCK_BYTES || !(newline & BIT(end)))
			starts |= BIT(at);
	}
	return starts;
}

uint64_t block_starts(enum split_pattern pattern, block_classifier *classify, const char *block, size_t len,
	unsigned *ret_usable)
{
	struct block_masks masks;
	classify(block, &masks);
	unsigned usable = len < BLOCK_BYTES ? (unsigned)len : BLOCK_BYTES;
	if (masks.not_ascii && (unsigned)__builtin_ctzll(masks.not_ascii) < usable)
		usable = (unsigned)__builtin_ctzll(masks.not_ascii);
	*ret_usable = usable;
	if (usable < 2)
		return 1;
	uint64_t valid = ~0ull >> (BLOCK_BYTES - usable);
	uint64_t letter = masks.letter & valid, digit = masks.digit & valid, space = masks.space & valid;
	uint64_t blank = masks.blank & valid, newline = masks.newline & valid, white = blank | newline;
	uint64_t other = valid & ~(letter | digit | white);
	if (!(valid & ~white))
		return 1;

	/* Line ends right behind other characters belong to them. */
	uint64_t seeds = newline & other << 1;
	uint64_t attached = newline & ~(newline + seeds);
	if (pattern == SPLIT_O200K) {
		uint64_t slash = (newline + seeds) & ~newline & masks.slash & (attached << 1);
		if (slash) { /* … and so do slashes behind those: rare, so the rest is left to split_piece */
			unsigned at = (unsigned)__builtin_ctzll(slash);
			valid &= BIT(at) - 1;
		}
	}

	/* One character before letters belongs to them: a blank, or a lone other character that no space
	 * precedes. */
	uint64_t lone = other & ~(other << 1) & ~(other >> 1) & ~(space << 1);
	uint64_t starts = letter & ~((letter | blank | lone) << 1);
	if (pattern == SPLIT_O200K)
		starts |= letter & ~masks.lower_case_bit & (letter & masks.lower_case_bit) << 1;

	/* Digits in threes. */
	uint64_t group = digit & ~(digit << 1);
	for (uint64_t three = digit & digit << 1 & digit << 2; group; group = group << 3 & three)
		starts |= group;

	/* Other characters take a space before them along. */
	starts |= other & ~((other | space) << 1);

	/* White space: where it begins, behind its last line end, and its last blank. */
	uint64_t free_white = white & ~attached;
	starts |= free_white & ~(free_white << 1);
	starts |= after_last_newline(blank, newline, blank & newline << 1);
	starts |= blank & ~(white >> 1);

	/* Certain: not the last byte, and of white space at the end only its beginning. */
	unsigned last = (unsigned)(64 - __builtin_clzll(~white & (~0ull >> (BLOCK_BYTES - usable))));
	uint64_t certain = valid & (valid >> 1);
	if (last < BLOCK_BYTES - 1)
		certain &= BIT(last + 1) - 1;
	uint64_t candidates = masks.apostrophe & letter >> 1;
	candidates &= pattern == SPLIT_O200K ? letter << 1 : lone;
	if (candidates & valid)
		starts = fix_contractions(
			pattern, block, usable, candidates & valid, letter, starts, &certain);
	return (starts & certain) | 1;
}
