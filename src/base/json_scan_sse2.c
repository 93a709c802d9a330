/* SPDX-License-Identifier: MIT */
/* The byte loops of json_scan.h with SSE2, which every x86-64 processor has: blocks of 32 as two halves. */
#include "base/json_scan.h"

#ifdef __x86_64__
#include <emmintrin.h>

#define SCAN(name) name##_sse2
#define SCAN_NAME "sse2"
#define SCAN_TARGET
#define SCAN_BYTES 32
#define SCAN_FITS(at, end) ((end) - (at) >= SCAN_BYTES)
#define SCAN_CTZ(mask) __builtin_ctz(mask)
#define SCAN_CLZ(mask) __builtin_clz(mask)

typedef uint32_t scan_mask;

#include "base/json_scan_chars.inc"

static inline __m128i half_load(const char *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline uint32_t half_mask(__m128i bytes)
{
	return (uint32_t)_mm_movemask_epi8(bytes);
}

static inline __m128i half_is(__m128i bytes, char c)
{
	return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

struct string_masks {
	uint32_t quote, backslash, control, high; /* a bit per byte; control: below 0x20; high: not ASCII */
};

static inline uint32_t half_control(__m128i bytes)
{
	/* Unsigned c < 0x20 as max(c, 0x1f) == 0x1f. */
	__m128i limit = _mm_set1_epi8(0x1f);
	return half_mask(_mm_cmpeq_epi8(_mm_max_epu8(bytes, limit), limit));
}

static inline uint32_t block_is(__m128i low, __m128i high, char c)
{
	return half_mask(half_is(low, c)) | half_mask(half_is(high, c)) << 16;
}

static inline void block_string(const char *at, const char *end, struct string_masks *ret_masks)
{
	(void)end;
	__m128i low = half_load(at), high = half_load(at + 16);
	ret_masks->control = half_control(low) | half_control(high) << 16;
	ret_masks->quote = block_is(low, high, '"');
	ret_masks->backslash = block_is(low, high, '\\');
	ret_masks->high = half_mask(low) | half_mask(high) << 16;
}

static inline uint32_t block_letters(const char *at, const char *end, uint32_t escaped)
{
	(void)end;
	uint32_t letters = 0;
	for (; escaped; escaped &= escaped - 1) {
		unsigned i = (unsigned)__builtin_ctz(escaped);
		letters |= (uint32_t)is_escape(at[i]) << i;
	}
	return letters;
}

static inline uint32_t half_space(__m128i bytes)
{
	return half_mask(_mm_or_si128(_mm_or_si128(half_is(bytes, ' '), half_is(bytes, '\n')),
		_mm_or_si128(half_is(bytes, '\r'), half_is(bytes, '\t'))));
}

static inline uint32_t block_space(const char *at, const char *end)
{
	(void)end;
	return half_space(half_load(at)) | half_space(half_load(at + 16)) << 16;
}

static inline uint32_t block_quotes(const char *at, const char *end, uint32_t *ret_backslash)
{
	(void)end;
	__m128i low = half_load(at), high = half_load(at + 16);
	*ret_backslash = block_is(low, high, '\\');
	return block_is(low, high, '"');
}

static inline uint32_t block_copy(char *to, const char *at, const char *end)
{
	(void)end;
	__m128i low = half_load(at), high = half_load(at + 16);
	_mm_storeu_si128((__m128i *)(void *)to, low);
	_mm_storeu_si128((__m128i *)(void *)(to + 16), high);
	return block_is(low, high, '\\');
}

struct bracket_masks {
	uint64_t quote, backslash, open, close;
};

static inline void block_brackets(const char *at, struct bracket_masks *ret_masks)
{
	*ret_masks = (struct bracket_masks){0};
	for (unsigned shift = 0; shift < 64; shift += 16) {
		__m128i bytes = half_load(at + shift);
		/* Bit 0x20 tells { from [ and } from ]. */
		__m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
		ret_masks->quote |= (uint64_t)half_mask(half_is(bytes, '"')) << shift;
		ret_masks->backslash |= (uint64_t)half_mask(half_is(bytes, '\\')) << shift;
		ret_masks->open |= (uint64_t)half_mask(half_is(folded, '{')) << shift;
		ret_masks->close |= (uint64_t)half_mask(half_is(folded, '}')) << shift;
	}
}

/* Runs of ASCII by blocks, the rest a character at a time. */
static size_t utf8_blocks(const char *at, size_t len)
{
	const char *p = at, *end = at + len;
	while (p < end) {
		if (end - p >= 16 && half_mask(half_load(p)) == 0) {
			p += 16;
			continue;
		}
		size_t bytes = utf8_character(p, end);
		if (bytes == 0)
			break;
		p += bytes;
	}
	return (size_t)(p - at);
}

#include "base/json_scan_check.inc"
#include "base/json_scan_skip.inc"
#endif
