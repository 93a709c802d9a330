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
#define SCAN_FITS(at, end) ((end) - (at) >= SCAN_BYTES)
#define SCAN_CTZ(mask) __builtin_ctz(mask)
#define SCAN_CLZ(mask) __builtin_clz(mask)

typedef uint32_t scan_mask;

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

SCAN_TARGET static inline void block_string(const char *at, const char *end, struct string_masks *ret_masks)
{
	(void)end;
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
SCAN_TARGET static inline uint32_t block_letters(const char *at, const char *end, uint32_t escaped)
{
	(void)end;
	(void)escaped;
	__m256i bytes = block_load(at);
	__m256i by_high = half_byte_table(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);
	__m256i by_low = half_byte_table(0, 0, 1 | 4 | 8, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
	__m256i both =
		_mm256_and_si256(_mm256_shuffle_epi8(by_high, high), _mm256_shuffle_epi8(by_low, bytes));
	return ~block_mask(_mm256_cmpeq_epi8(both, _mm256_setzero_si256()));
}

SCAN_TARGET static inline uint32_t block_space(const char *at, const char *end)
{
	(void)end;
	__m256i bytes = block_load(at);
	return block_mask(_mm256_or_si256(_mm256_or_si256(block_is(bytes, ' '), block_is(bytes, '\n')),
		_mm256_or_si256(block_is(bytes, '\r'), block_is(bytes, '\t'))));
}

SCAN_TARGET static inline uint32_t block_quotes(const char *at, const char *end, uint32_t *ret_backslash)
{
	(void)end;
	__m256i bytes = block_load(at);
	*ret_backslash = block_mask(block_is(bytes, '\\'));
	return block_mask(block_is(bytes, '"'));
}

SCAN_TARGET static inline uint32_t block_copy(char *to, const char *at, const char *end)
{
	(void)end;
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

#include "base/json_scan_pairs.inc"

SCAN_TARGET static inline __m256i pair_look_up(const uint8_t table[16], __m256i half_bytes)
{
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(
			_mm_load_si128((const __m128i *)(const void *)table)), half_bytes);
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
