/* SPDX-License-Identifier: MIT */
/* classify_blocks.inc with AVX-512: a block of 64 bytes is one vector, and kinds of ASCII are bits out of a
 * table of 128. */
#include "tokens/classify.h"

#ifdef __x86_64__
#include <immintrin.h>

#define CLASSIFY(name) name##_avx512
#define CLASSIFY_NAME "avx512"
#define CLASSIFY_TARGET __attribute__((target("avx512bw,avx512vbmi,bmi,bmi2,popcnt")))

enum { IS_LETTER = 1, IS_LOWER = 2, IS_RARE = 4, IS_DIGIT = 8, IS_SPACE = 16, IS_TAB = 32, IS_LINE_END = 64 };

#define U IS_LETTER
#define L (IS_LETTER | IS_LOWER)
#define R (IS_LETTER | IS_LOWER | IS_RARE)
#define D IS_DIGIT
static const uint8_t bits_of_byte[128] __attribute__((aligned(64))) = {
	/* clang-format off */
	0, 0, 0, 0, 0, 0, 0, 0, 0, IS_TAB, IS_LINE_END, 0, 0, IS_LINE_END, 0, 0, /* 00 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 10 */
	IS_SPACE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 20 */
	D, D, D, D, D, D, D, D, D, D, 0, 0, 0, 0, 0, 0, /* 30 */
	0, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, /* 40 */
	U, U, U, U, U, U, U, U, U, U, U, 0, 0, 0, 0, 0, /* 50 */
	0, L, L, L, L, L, L, L, L, L, R, L, L, L, L, L, /* 60 */
	L, R, L, L, L, L, L, L, R, L, R, 0, 0, 0, 0, 0, /* 70 */
	/* clang-format on */
};
#undef U
#undef L
#undef R
#undef D

CLASSIFY_TARGET static inline __m512i block_load(const char *at)
{
	return _mm512_loadu_si512((const void *)at);
}

/* The bits of each byte that is ASCII. */
CLASSIFY_TARGET static inline __m512i block_bits(const char *at)
{
	__m512i bytes = block_load(at);
	__m512i low = _mm512_load_si512((const void *)bits_of_byte);
	__m512i high = _mm512_load_si512((const void *)(bits_of_byte + 64));
	return _mm512_maskz_permutex2var_epi8(~_mm512_movepi8_mask(bytes), low, bytes, high);
}

/* As in json_scan_avx512.c: keeps a mask out of the mask registers: the compiler would fold what follows into
 * masked compares, and every block would wait for the one before it to come out of them. */
CLASSIFY_TARGET static inline uint64_t scalar(uint64_t mask)
{
	__asm__("" : "+r"(mask));
	return mask;
}

CLASSIFY_TARGET static inline uint64_t has(__m512i bits, char bit)
{
	return scalar(_mm512_test_epi8_mask(bits, _mm512_set1_epi8(bit)));
}

CLASSIFY_TARGET static inline uint64_t block_is(const char *at, char c)
{
	return scalar(_mm512_cmpeq_epi8_mask(block_load(at), _mm512_set1_epi8(c)));
}

CLASSIFY_TARGET static inline uint64_t block_from(const char *at, unsigned char byte)
{
	return scalar(_mm512_cmpge_epu8_mask(block_load(at), _mm512_set1_epi8((char)byte)));
}

CLASSIFY_TARGET static inline void block_kinds(const char *at, struct kind_masks *ret_kinds)
{
	__m512i bits = block_bits(at);

	ret_kinds->letter = has(bits, IS_LETTER);
	ret_kinds->lower = has(bits, IS_LOWER);
	ret_kinds->rare = has(bits, IS_RARE);
	ret_kinds->digit = has(bits, IS_DIGIT);
	ret_kinds->space = has(bits, IS_SPACE);
	ret_kinds->newline = 0;
	ret_kinds->high = scalar(_mm512_movepi8_mask(block_load(at)));
}

CLASSIFY_TARGET static inline void block_blanks(const char *at, struct kind_masks *kinds)
{
	__m512i bits = block_bits(at);

	kinds->space |= has(bits, IS_TAB);
	kinds->newline |= has(bits, IS_LINE_END);
}

CLASSIFY_TARGET static inline uint64_t block_backslashes(const char *at)
{
	return block_is(at, '\\');
}

CLASSIFY_TARGET static inline void block_escapes(const char *at, struct escape_masks *ret_escapes)
{
	ret_escapes->n_or_r = block_is(at, 'n') | block_is(at, 'r');
	ret_escapes->t = block_is(at, 't');
	ret_escapes->u = block_is(at, 'u');
}

static bool can_run(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

#include "tokens/classify_blocks.inc"
#endif
