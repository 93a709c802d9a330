/* SPDX-License-Identifier: MIT */
/* classify_blocks.inc with what nearly every x86-64 has (SSE2 and popcnt): a block of 64 bytes is four
 * vectors. */
#include "tokens/classify.h"

#ifdef __x86_64__
#include <emmintrin.h>

#define CLASSIFY(name) name##_sse2
#define CLASSIFY_NAME "sse2"
#define CLASSIFY_TARGET __attribute__((target("popcnt")))

static inline __m128i quarter_load(const char *at, int quarter)
{
	return _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * quarter));
}

static inline __m128i is(__m128i bytes, char c)
{
	return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

/* All ones where byte - first, without sign, is at most `most`. */
static inline __m128i within(__m128i bytes, char first, char most)
{
	__m128i distance = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
	return _mm_cmpeq_epi8(_mm_min_epu8(distance, _mm_set1_epi8(most)), distance);
}

/* A bit per byte: the top bit of what `of` makes of it. */
#define TOP_BITS(at, of)                                                                                     \
	(top_bits(of(quarter_load(at, 0))) | top_bits(of(quarter_load(at, 1))) << 16 |                       \
		top_bits(of(quarter_load(at, 2))) << 32 | top_bits(of(quarter_load(at, 3))) << 48)

static inline uint64_t top_bits(__m128i bytes)
{
	return (uint32_t)_mm_movemask_epi8(bytes);
}

static inline uint64_t block_is(const char *at, char c)
{
#define EQUAL(bytes) is(bytes, c)
	return TOP_BITS(at, EQUAL);
#undef EQUAL
}

static inline uint64_t block_from(const char *at, unsigned char byte)
{
	__m128i least = _mm_set1_epi8((char)byte);
#define FROM(bytes) _mm_cmpeq_epi8(_mm_max_epu8(bytes, least), bytes)
	return TOP_BITS(at, FROM);
#undef FROM
}

static inline void block_kinds(const char *at, struct kind_masks *ret_kinds)
{
#define LETTER(bytes) within(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 25)
#define DIGIT(bytes) within(bytes, '0', 9)
#define CASE(bytes) _mm_slli_epi16(bytes, 2) /* bit 5 of a letter tells its case; moved to the top */
#define ITSELF(bytes) (bytes)
	ret_kinds->letter = TOP_BITS(at, LETTER);
	ret_kinds->lower = ret_kinds->letter & TOP_BITS(at, CASE);
	ret_kinds->rare = block_is(at, 'j') | block_is(at, 'q') | block_is(at, 'x') | block_is(at, 'z');
	ret_kinds->digit = TOP_BITS(at, DIGIT);
	ret_kinds->space = block_is(at, ' ');
	ret_kinds->newline = 0;
	ret_kinds->high = TOP_BITS(at, ITSELF);
#undef LETTER
#undef DIGIT
#undef CASE
#undef ITSELF
}

static inline void block_blanks(const char *at, struct kind_masks *kinds)
{
	kinds->space |= block_is(at, '\t');
	kinds->newline |= block_is(at, '\n') | block_is(at, '\r');
}

static inline uint64_t block_backslashes(const char *at)
{
	return block_is(at, '\\');
}

static inline void block_escapes(const char *at, struct escape_masks *ret_escapes)
{
	ret_escapes->n_or_r = block_is(at, 'n') | block_is(at, 'r');
	ret_escapes->t = block_is(at, 't');
	ret_escapes->u = block_is(at, 'u');
}

static bool can_run(void)
{
	return __builtin_cpu_supports("popcnt");
}

#include "tokens/classify_blocks.inc"
#endif
