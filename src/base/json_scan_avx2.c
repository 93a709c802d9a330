/* SPDX-License-Identifier: MIT */
/*
 * The byte loops of json_scan.h with AVX2: blocks of 32 bytes. UTF-8 is validated by table look-up, as
 * described by Keiser and Lemire ("Validating UTF-8 in less than one instruction per byte", 2020).
 */
#include "base/json_scan.h"

#ifdef __x86_64__
#include <immintrin.h>

#define SCAN(name) name##_avx2
#define SCAN_NAME "avx2"
#define SCAN_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define SCAN_BYTES 32

SCAN_TARGET static inline __m256i block_load(const char *at)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

SCAN_TARGET static inline uint32_t block_mask(__m256i bytes)
{
	return (uint32_t)_mm256_movemask_epi8(bytes);
}

SCAN_TARGET static inline __m256i block_is(__m256i bytes, char c)
{
	return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

struct string_masks {
	uint32_t quote, backslash, control, high; /* a bit per byte; control: below 0x20; high: not ASCII */
};

SCAN_TARGET static inline void block_string(const char *at, struct string_masks *ret_masks)
{
	__m256i bytes = block_load(at);
	/* Unsigned c < 0x20 as max(c, 0x1f) == 0x1f. */
	__m256i limit = _mm256_set1_epi8(0x1f);
	ret_masks->control = block_mask(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, limit), limit));
	ret_masks->quote = block_mask(block_is(bytes, '"'));
	ret_masks->backslash = block_mask(block_is(bytes, '\\'));
	ret_masks->high = block_mask(bytes);
}

SCAN_TARGET static inline __m256i half_byte_table(char a, char b, char c, char d, char e, char f, char g,
	char h, char i, char j, char k, char l, char m, char n, char o, char p)
{
	return _mm256_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, a, b, c, d, e, f, g, h, i, j,
		k, l, m, n, o, p);
}

/* The eight letters, found by their half bytes: a bit for each upper half that occurs (2_, 5_, 6_, 7_). */
SCAN_TARGET static inline uint32_t block_letters(const char *at, uint32_t escaped)
{
	(void)escaped;
	__m256i bytes = block_load(at);
	__m256i by_high = half_byte_table(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);
	__m256i by_low = half_byte_table(0, 0, 1 | 4 | 8, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
	__m256i both =
		_mm256_and_si256(_mm256_shuffle_epi8(by_high, high), _mm256_shuffle_epi8(by_low, bytes));
	return ~block_mask(_mm256_cmpeq_epi8(both, _mm256_setzero_si256()));
}

SCAN_TARGET static inline uint32_t block_space(const char *at)
{
	__m256i bytes = block_load(at);
	return block_mask(_mm256_or_si256(_mm256_or_si256(block_is(bytes, ' '), block_is(bytes, '\n')),
		_mm256_or_si256(block_is(bytes, '\r'), block_is(bytes, '\t'))));
}

SCAN_TARGET static inline uint32_t block_quotes(const char *at, uint32_t *ret_backslash)
{
	__m256i bytes = block_load(at);
	*ret_backslash = block_mask(block_is(bytes, '\\'));
	return block_mask(block_is(bytes, '"'));
}

SCAN_TARGET static inline uint32_t block_copy(char *to, const char *at)
{
	__m256i bytes = block_load(at);
	_mm256_storeu_si256((__m256i *)(void *)to, bytes);
	return block_mask(block_is(bytes, '\\'));
}

struct bracket_masks {
	uint64_t quote, backslash, open, close;
};

SCAN_TARGET static inline void block_brackets(const char *at, struct bracket_masks *ret_masks)
{
	__m256i a = block_load(at), b = block_load(at + 32);
	/* Bit 0x20 tells { from [ and } from ]. */
	__m256i bit = _mm256_set1_epi8(0x20);
	__m256i a_folded = _mm256_or_si256(a, bit), b_folded = _mm256_or_si256(b, bit);
	ret_masks->quote = block_mask(block_is(a, '"')) | (uint64_t)block_mask(block_is(b, '"')) << 32;
	ret_masks->backslash = block_mask(block_is(a, '\\')) | (uint64_t)block_mask(block_is(b, '\\')) << 32;
	ret_masks->open = block_mask(block_is(a_folded, '{')) | (uint64_t)block_mask(block_is(b_folded, '{'))
									<< 32;
	ret_masks->close = block_mask(block_is(a_folded, '}')) | (uint64_t)block_mask(block_is(b_folded, '}'))
									 << 32;
}

#include "base/json_scan_chars.inc"

/* What can be wrong with two bytes that follow each other, a bit each; three tables are indexed by half bytes
 * of the pair, and an error is what all three agree on. */
enum {
	PAIR_TOO_SHORT = 1 << 0,  /* a lead, and no continuation after it */
	PAIR_TOO_LONG = 1 << 1,	  /* ASCII, and a continuation after it */
	PAIR_OVERLONG_3 = 1 << 2, /* E0 80..9F */
	PAIR_TOO_LARGE = 1 << 3,  /* F4 90..BF, F5..FF 90..BF */
	PAIR_SURROGATE = 1 << 4,  /* ED A0..BF */
	PAIR_OVERLONG_2 = 1 << 5, /* C0..C1 and a continuation */
	PAIR_EDGE_4 = 1 << 6,	  /* F0 80..8F (overlong), F5..FF 80..8F (too large) */
	PAIR_CONTINUED = 1 << 7,  /* two continuations: right only as third or fourth byte */
	PAIR_ANY_LOW = PAIR_TOO_SHORT | PAIR_TOO_LONG | PAIR_CONTINUED,
	PAIR_LEAD_F = PAIR_ANY_LOW | PAIR_TOO_LARGE | PAIR_EDGE_4,
	PAIR_SECOND = PAIR_TOO_LONG | PAIR_OVERLONG_2 | PAIR_CONTINUED,
};

#define TWICE(...) __VA_ARGS__, __VA_ARGS__
static const uint8_t pair_first_high[32] __attribute__((aligned(32))) = {TWICE(PAIR_TOO_LONG, PAIR_TOO_LONG,
	PAIR_TOO_LONG, PAIR_TOO_LONG, PAIR_TOO_LONG, PAIR_TOO_LONG, PAIR_TOO_LONG, PAIR_TOO_LONG,
	PAIR_CONTINUED, PAIR_CONTINUED, PAIR_CONTINUED, PAIR_CONTINUED, PAIR_TOO_SHORT | PAIR_OVERLONG_2,
	PAIR_TOO_SHORT, PAIR_TOO_SHORT | PAIR_OVERLONG_3 | PAIR_SURROGATE,
	PAIR_TOO_SHORT | PAIR_TOO_LARGE | PAIR_EDGE_4)};
static const uint8_t pair_first_low[32]
	__attribute__((aligned(32))) = {TWICE(PAIR_ANY_LOW | PAIR_OVERLONG_2 | PAIR_OVERLONG_3 | PAIR_EDGE_4,
		PAIR_ANY_LOW | PAIR_OVERLONG_2, PAIR_ANY_LOW, PAIR_ANY_LOW, PAIR_ANY_LOW | PAIR_TOO_LARGE,
		PAIR_LEAD_F, PAIR_LEAD_F, PAIR_LEAD_F, PAIR_LEAD_F, PAIR_LEAD_F, PAIR_LEAD_F, PAIR_LEAD_F,
		PAIR_LEAD_F, PAIR_LEAD_F | PAIR_SURROGATE, PAIR_LEAD_F, PAIR_LEAD_F)};
static const uint8_t pair_second_high[32]
	__attribute__((aligned(32))) = {TWICE(PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT,
		PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT,
		PAIR_SECOND | PAIR_OVERLONG_3 | PAIR_EDGE_4, PAIR_SECOND | PAIR_OVERLONG_3 | PAIR_TOO_LARGE,
		PAIR_SECOND | PAIR_SURROGATE | PAIR_TOO_LARGE, PAIR_SECOND | PAIR_SURROGATE | PAIR_TOO_LARGE,
		PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT, PAIR_TOO_SHORT)};

SCAN_TARGET static inline __m256i pair_look_up(const uint8_t table[32], __m256i half_bytes)
{
	return _mm256_shuffle_epi8(_mm256_load_si256((const __m256i *)(const void *)table), half_bytes);
}

SCAN_TARGET static inline __m256i high_half(__m256i bytes)
{
	return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
}

/* Nonzero where `bytes`, which follow the block `before`, are not UTF-8. */
SCAN_TARGET static inline __m256i utf8_errors(__m256i bytes, __m256i before)
{
	__m256i middle = _mm256_permute2x128_si256(before, bytes, 0x21);
	__m256i back1 = _mm256_alignr_epi8(bytes, middle, 15);
	__m256i back2 = _mm256_alignr_epi8(bytes, middle, 14);
	__m256i back3 = _mm256_alignr_epi8(bytes, middle, 13);
	__m256i wrong = _mm256_and_si256(
		_mm256_and_si256(pair_look_up(pair_first_high, high_half(back1)),
			pair_look_up(pair_first_low, _mm256_and_si256(back1, _mm256_set1_epi8(0x0f)))),
		pair_look_up(pair_second_high, high_half(bytes)));
	/* The top bit is set where a lead of three or more, or of four, bytes stands two or three bytes
	 * before. */
	__m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
	__m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
	__m256i expected = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
	return _mm256_xor_si256(expected, wrong);
}

/* Goes over the whole blocks; if all is well there, what is left is from the last character's start on. */
SCAN_TARGET static size_t utf8_blocks(const char *at, size_t len)
{
	size_t done = 0;
	__m256i before = _mm256_setzero_si256(), wrong = before;
	for (; done + 32 <= len; done += 32) {
		__m256i bytes = block_load(at + done);
		wrong = _mm256_or_si256(wrong, utf8_errors(bytes, before));
		before = bytes;
	}
	if (!_mm256_testz_si256(wrong, wrong))
		done = 0;
	/* Back to a byte that is no continuation: the character there may go on after the blocks. */
	for (unsigned back = 0; back < 4 && done > 0; back++) {
		done--;
		if ((at[done] & 0xC0) != 0x80)
			break;
	}
	return done + utf8_characters(at + done, len - done);
}

#include "base/json_scan_check.inc"
#include "base/json_scan_skip.inc"
#endif
