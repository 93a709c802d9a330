/* SPDX-License-Identifier: MIT */
/* classify_blocks.inc with AVX2: a block of 64 bytes is two vectors. */
#include "tokens/classify.h"

#ifdef __x86_64__
#include <immintrin.h>

#define CLASSIFY(name) name##_avx2
#define CLASSIFY_NAME "avx2"
#define CLASSIFY_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

CLASSIFY_TARGET static inline __m256i half_load(const char *at, int half)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * half));
}

/* A bit per byte: its top bit. */
CLASSIFY_TARGET static inline uint64_t top_bits(__m256i first, __m256i second)
{
	return (uint32_t)_mm256_movemask_epi8(first) | (uint64_t)(uint32_t)_mm256_movemask_epi8(second) << 32;
}

CLASSIFY_TARGET static inline __m256i is(__m256i bytes, char c)
{
	return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

/* All ones where byte - first, without sign, is at most `most`. */
CLASSIFY_TARGET static inline __m256i within(__m256i bytes, char first, char most)
{
	__m256i distance = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first));
	return _mm256_cmpeq_epi8(_mm256_min_epu8(distance, _mm256_set1_epi8(most)), distance);
}

CLASSIFY_TARGET static inline __m256i is_letter(__m256i bytes)
{
	return within(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), 'a', 25);
}

CLASSIFY_TARGET static inline __m256i is_rare(__m256i bytes)
{
	return _mm256_or_si256(_mm256_or_si256(is(bytes, 'j'), is(bytes, 'q')),
		_mm256_or_si256(is(bytes, 'x'), is(bytes, 'z')));
}

CLASSIFY_TARGET static inline uint64_t block_from(const char *at, unsigned char byte)
{
	__m256i a = half_load(at, 0), b = half_load(at, 1), least = _mm256_set1_epi8((char)byte);
	return top_bits(_mm256_cmpeq_epi8(_mm256_max_epu8(a, least), a),
		_mm256_cmpeq_epi8(_mm256_max_epu8(b, least), b));
}

CLASSIFY_TARGET static inline void block_kinds(const char *at, struct kind_masks *ret_kinds)
{
	__m256i a = half_load(at, 0), b = half_load(at, 1);

	ret_kinds->letter = top_bits(is_letter(a), is_letter(b));
	/* Bit 5 of a letter tells its case; moved to the top. */
	ret_kinds->lower = ret_kinds->letter & top_bits(_mm256_slli_epi16(a, 2), _mm256_slli_epi16(b, 2));
	ret_kinds->rare = top_bits(is_rare(a), is_rare(b));
	ret_kinds->digit = top_bits(within(a, '0', 9), within(b, '0', 9));
	ret_kinds->space = top_bits(is(a, ' '), is(b, ' '));
	ret_kinds->newline = 0;
	ret_kinds->high = top_bits(a, b);
}

CLASSIFY_TARGET static inline void block_blanks(const char *at, struct kind_masks *kinds)
{
	__m256i a = half_load(at, 0), b = half_load(at, 1);

	kinds->space |= top_bits(is(a, '\t'), is(b, '\t'));
	kinds->newline |= top_bits(is(a, '\n'), is(b, '\n')) | top_bits(is(a, '\r'), is(b, '\r'));
}

CLASSIFY_TARGET static inline uint64_t block_backslashes(const char *at)
{
	return top_bits(is(half_load(at, 0), '\\'), is(half_load(at, 1), '\\'));
}

CLASSIFY_TARGET static inline void block_escapes(const char *at, struct escape_masks *ret_escapes)
{
	__m256i a = half_load(at, 0), b = half_load(at, 1);

	ret_escapes->n_or_r =
		top_bits(_mm256_or_si256(is(a, 'n'), is(a, 'r')), _mm256_or_si256(is(b, 'n'), is(b, 'r')));
	ret_escapes->t = top_bits(is(a, 't'), is(b, 't'));
	ret_escapes->u = top_bits(is(a, 'u'), is(b, 'u'));
}

static bool can_run(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

#include "tokens/classify_blocks.inc"
#endif
