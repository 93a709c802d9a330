/* SPDX-License-Identifier: MIT */
/*
 * The byte loops of json_scan.h with AVX-512: blocks of 64 bytes. A block that the end cuts short is loaded
 * up to there, the rest being NULs, so that the last strings of a short text are no slower than the others.
 */
#include "base/json_scan.h"

#ifdef __x86_64__
#include <immintrin.h>

#define SCAN(name) name##_avx512
#define SCAN_NAME "avx512"
#define SCAN_TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,bmi2,popcnt")))
#define SCAN_BYTES 64
#define SCAN_FITS(at, end) ((at) < (end))
#define SCAN_CTZ(mask) __builtin_ctzll(mask)
#define SCAN_CLZ(mask) __builtin_clzll(mask)

typedef uint64_t scan_mask;

SCAN_TARGET static inline __m512i block_whole(const char *at)
{
	return _mm512_loadu_si512((const void *)at);
}

/* The bytes that stand before the end. */
SCAN_TARGET static inline uint64_t block_there(const char *at, const char *end)
{
	return end - at >= SCAN_BYTES ? UINT64_MAX : (UINT64_C(1) << (end - at)) - 1;
}

SCAN_TARGET static inline __m512i block_load(const char *at, const char *end)
{
	return end - at >= SCAN_BYTES ? block_whole(at)
				      : _mm512_maskz_loadu_epi8(block_there(at, end), (const void *)at);
}

/* Keeps a mask out of the mask registers: the compiler would fold what follows into masked compares, and
 * every block would wait for the one before it to come out of them. */
SCAN_TARGET static inline uint64_t scalar(uint64_t mask)
{
	__asm__("" : "+r"(mask));
	return mask;
}

SCAN_TARGET static inline uint64_t block_is(__m512i bytes, char c)
{
	return scalar(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c)));
}

struct string_masks {
	uint64_t quote, backslash, control, high; /* a bit per byte; control: below 0x20; high: not ASCII */
};

SCAN_TARGET static inline void block_string(const char *at, const char *end, struct string_masks *ret_masks)
{
	__m512i bytes = block_load(at, end);
	ret_masks->control = scalar(_mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)));
	ret_masks->quote = block_is(bytes, '"');
	ret_masks->backslash = block_is(bytes, '\\');
	ret_masks->high = scalar(_mm512_movepi8_mask(bytes));
}

/* Whether a backslash may stand before: a table of 64 for what lies from 0x40 on, and two that lie below. */
static const uint8_t letters[64] __attribute__((aligned(64))) = {
	['\\' - 64] = 1, ['b' - 64] = 1, ['f' - 64] = 1, ['n' - 64] = 1, ['r' - 64] = 1, ['t' - 64] = 1};

SCAN_TARGET static inline uint64_t block_letters(const char *at, const char *end, uint64_t escaped)
{
	(void)escaped;
	__m512i bytes = block_load(at, end);
	__m512i table = _mm512_load_si512((const void *)letters);
	/* Below 0x40 or not ASCII: not by the table. */
	uint64_t upper = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(0x40)) & ~_mm512_movepi8_mask(bytes);
	__m512i found = _mm512_maskz_permutexvar_epi8(upper, bytes, table);
	return scalar(_mm512_test_epi8_mask(found, found)) | block_is(bytes, '"') | block_is(bytes, '/');
}

SCAN_TARGET static inline uint64_t block_space(const char *at, const char *end)
{
	__m512i bytes = block_load(at, end);
	return block_is(bytes, ' ') | block_is(bytes, '\n') | block_is(bytes, '\r') | block_is(bytes, '\t');
}

SCAN_TARGET static inline uint64_t block_quotes(const char *at, const char *end, uint64_t *ret_backslash)
{
	__m512i bytes = block_load(at, end);
	*ret_backslash = block_is(bytes, '\\');
	return block_is(bytes, '"');
}

SCAN_TARGET static inline uint64_t block_copy(char *to, const char *at, const char *end)
{
	__m512i bytes = block_load(at, end);
	_mm512_mask_storeu_epi8((void *)to, block_there(at, end), bytes);
	return block_is(bytes, '\\');
}

struct bracket_masks {
	uint64_t quote, backslash, open, close;
};

SCAN_TARGET static inline void block_brackets(const char *at, struct bracket_masks *ret_masks)
{
	__m512i bytes = block_whole(at);
	/* Bit 0x20 tells { from [ and } from ]. */
	__m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
	ret_masks->quote = block_is(bytes, '"');
	ret_masks->backslash = block_is(bytes, '\\');
	ret_masks->open = block_is(folded, '{');
	ret_masks->close = block_is(folded, '}');
}

#include "base/json_scan_chars.inc"
#include "base/json_scan_pairs.inc"

SCAN_TARGET static inline __m512i pair_look_up(const uint8_t table[16], __m512i half_bytes)
{
	return _mm512_shuffle_epi8(
		_mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)table)), half_bytes);
}

SCAN_TARGET static inline __m512i high_half(__m512i bytes)
{
	return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(0x0f));
}

/* Nonzero where `bytes`, which follow the block `before`, are not UTF-8. */
SCAN_TARGET static inline __m512i utf8_errors(__m512i bytes, __m512i before)
{
	__m512i middle = _mm512_alignr_epi64(bytes, before, 6);
	__m512i back1 = _mm512_alignr_epi8(bytes, middle, 15);
	__m512i back2 = _mm512_alignr_epi8(bytes, middle, 14);
	__m512i back3 = _mm512_alignr_epi8(bytes, middle, 13);
	__m512i wrong = _mm512_and_si512(
		_mm512_and_si512(pair_look_up(pair_first_high, high_half(back1)),
			pair_look_up(pair_first_low, _mm512_and_si512(back1, _mm512_set1_epi8(0x0f)))),
		pair_look_up(pair_second_high, high_half(bytes)));
	/* The top bit is set where a lead of three or more, or of four, bytes stands two or three bytes
	 * before. */
	__m512i third = _mm512_subs_epu8(back2, _mm512_set1_epi8((char)(0xE0 - 0x80)));
	__m512i fourth = _mm512_subs_epu8(back3, _mm512_set1_epi8((char)(0xF0 - 0x80)));
	__m512i expected = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8((char)0x80));
	return _mm512_xor_si512(expected, wrong);
}

/* Goes over the whole blocks; if all is well there, what is left is from the last character's start on. */
SCAN_TARGET static size_t utf8_blocks(const char *at, size_t len)
{
	size_t done = 0;
	__m512i before = _mm512_setzero_si512(), wrong = before;
	for (; done + SCAN_BYTES <= len; done += SCAN_BYTES) {
		__m512i bytes = block_whole(at + done);
		wrong = _mm512_or_si512(wrong, utf8_errors(bytes, before));
		before = bytes;
	}
	if (_mm512_test_epi8_mask(wrong, wrong))
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
