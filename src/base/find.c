/* SPDX-License-Identifier: MIT */
#include "base/find.h"

#include "base/utf8.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ESCAPE_BYTES 6 /* \uXXXX */

/* Sixteen times the binary logarithm of how often each byte stands in a million bytes of real logs. */
/* clang-format off */
static const unsigned char RANKS[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 136, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	255, 148, 242, 149, 124, 142, 144, 162, 197, 197, 171, 170, 218, 216, 215, 219,
	213, 211, 210, 201, 200, 201, 198, 196, 194, 196, 224, 175, 145, 196, 159, 135,
	139, 192, 175, 193, 183, 187, 178, 167, 169, 188, 163, 167, 176, 179, 176, 173,
	181, 163, 182, 191, 195, 181, 163, 174, 160, 161, 172, 167, 243, 165, 89, 197,
	181, 243, 205, 234, 230, 255, 214, 219, 220, 244, 174, 202, 231, 225, 251, 244,
	224, 173, 242, 246, 255, 226, 201, 197, 193, 202, 166, 194, 152, 194, 86, 0,
	171, 109, 115, 26, 58, 62, 173, 77, 80, 86, 70, 53, 90, 63, 58, 79,
	72, 63, 173, 95, 175, 53, 77, 79, 79, 79, 71, 66, 108, 73, 48, 60,
	78, 76, 75, 42, 63, 60, 67, 50, 76, 32, 55, 36, 91, 67, 81, 79,
	82, 23, 39, 21, 89, 67, 63, 99, 69, 74, 78, 74, 93, 61, 75, 66,
	0, 0, 96, 38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 191, 38, 87, 112, 114, 91, 89, 93, 1, 0, 0, 0, 0, 84,
	47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
/* clang-format on */

unsigned find_byte_rank(unsigned char byte)
{
	return RANKS[byte];
}

static bool is_letter(unsigned char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Where the two rarest bytes stand together the needle often does not: they are neighbours, as the two of one "ö" are, or
 * parts of one word. The third byte is one that is far from both and not too common. */
static size_t third_of(struct slice needle, const size_t two[2])
{
	size_t third = two[1];
	unsigned best = 0;

	for (size_t i = 0; i < needle.len; i++) {
		size_t from_first = i > two[0] ? i - two[0] : two[0] - i, from_second = i > two[1] ? i - two[1] : two[1] - i;
		size_t distance = from_first < from_second ? from_first : from_second;
		unsigned weight = (unsigned)(distance < 16 ? distance : 16) * (256 - RANKS[(unsigned char)needle.data[i]]);
		if (weight > best) {
			best = weight;
			third = i;
		}
	}
	return third;
}

void find_init(struct find *find, struct slice needle, bool folded)
{
	size_t best[3] = {0, needle.len > 1 ? 1 : 0};

	*find = (struct find){.needle = needle.data, .len = needle.len, .folded = folded};
	for (size_t i = 0; i < needle.len; i++) {
		unsigned rank = RANKS[(unsigned char)needle.data[i]];
		if (rank < RANKS[(unsigned char)needle.data[best[0]]]) {
			best[1] = best[0];
			best[0] = i;
		} else if (i != best[0] && rank < RANKS[(unsigned char)needle.data[best[1]]]) {
			best[1] = i;
		}
	}
	best[2] = third_of(needle, best);
	for (int i = 0; i < 3; i++) {
		unsigned char c = (unsigned char)needle.data[best[i]];
		find->at[i] = best[i];
		find->fold[i] = folded && is_letter(c) ? 0x20 : 0;
		find->byte[i] = c | find->fold[i];
	}
}

static bool has_unit(const struct find *find, uint32_t unit)
{
	for (size_t i = 0; i < find->unit_count; i++)
		if (find->units[i] == unit)
			return true;
	return false;
}

static bool add_unit(struct find *find, uint32_t unit)
{
	if (has_unit(find, unit))
		return true;
	if (find->unit_count == FIND_UNITS_MAX)
		return false;
	find->units[find->unit_count++] = (uint16_t)unit;
	return true;
}

bool find_add_escapes(struct find *find, struct slice text)
{
	for (size_t i = 0; i < text.len;) {
		uint32_t code_point;
		unsigned used = utf8_decode(text.data + i, text.len - i, &code_point);
		if (!used)
			return false;
		i += used;
		/* One of a pair is enough: both are there. */
		uint32_t unit = code_point < 0x10000 ? code_point : 0xD800 + ((code_point - 0x10000) >> 10);
		if (!add_unit(find, unit))
			return false;
		if (find->folded && unit < 0x80 && is_letter((unsigned char)unit) &&
			!add_unit(find, unit ^ 0x20))
			return false;
	}
	return true;
}

/* ---- One place
 * --------------------------------------------------------------------------------------------- */

static bool is_needle(const struct find *find, const char *at, const char *end)
{
	if ((size_t)(end - at) < find->len)
		return false;
	if (!find->folded)
		return memcmp(at, find->needle, find->len) == 0;
	for (size_t i = 0; i < find->len; i++)
		if (lower((unsigned char)at[i]) != lower((unsigned char)find->needle[i]))
			return false;
	return true;
}

static bool is_escape(const struct find *find, const char *at, const char *end)
{
	uint32_t unit = 0;

	if (end - at < ESCAPE_BYTES || at[0] != '\\' || at[1] != 'u')
		return false;
	for (int i = 2; i < ESCAPE_BYTES; i++) {
		unsigned char c = (unsigned char)at[i];
		unsigned digit = c >= '0' && c <= '9' ? c - '0' : c | 0x20;
		if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		if (digit > 15)
			return false;
		unit = unit << 4 | digit;
	}
	return has_unit(find, unit);
}

static bool is_find(const struct find *find, const char *at, const char *end)
{
	return is_needle(find, at, end) || (find->unit_count && is_escape(find, at, end));
}

const char *find_next_portable(const struct find *find, const char *at, const char *end)
{
	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;
		bool maybe = lower(c) == lower((unsigned char)find->needle[0]) || c == '\\';
		if (maybe && is_find(find, at, end))
			return at;
	}
	return NULL;
}

/* ---- 32 places at once
 * --------------------------------------------------------------------------------------- */

#ifdef __x86_64__
#define FIND_TARGET __attribute__((target("avx2,bmi")))

FIND_TARGET static inline __m256i load(const char *at)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

struct pattern {
	__m256i byte[3], fold[3], backslash, u;
	size_t at[3];
	bool escapes;
};

/* Where the bytes of the needle, or \u, stand. */
FIND_TARGET static inline __m256i places(const struct pattern *pattern, const char *at)
{
	__m256i first = _mm256_or_si256(load(at + pattern->at[0]), pattern->fold[0]);
	__m256i second = _mm256_or_si256(load(at + pattern->at[1]), pattern->fold[1]);
	__m256i both = _mm256_and_si256(
		_mm256_cmpeq_epi8(first, pattern->byte[0]), _mm256_cmpeq_epi8(second, pattern->byte[1]));
	__m256i third = _mm256_or_si256(load(at + pattern->at[2]), pattern->fold[2]);
	__m256i found = _mm256_and_si256(both, _mm256_cmpeq_epi8(third, pattern->byte[2]));
	if (pattern->escapes)
		found = _mm256_or_si256(found, _mm256_and_si256(_mm256_cmpeq_epi8(load(at), pattern->backslash),
						     _mm256_cmpeq_epi8(load(at + 1), pattern->u)));
	return found;
}

FIND_TARGET static const char *check_places(
	const struct find *find, __m256i where, const char *at, const char *end)
{
	for (uint32_t mask = (uint32_t)_mm256_movemask_epi8(where); mask; mask &= mask - 1) {
		const char *place = at + __builtin_ctz(mask);
		if (is_find(find, place, end))
			return place;
	}
	return NULL;
}

FIND_TARGET static const char *find_next_avx2(const struct find *find, const char *at, const char *end)
{
	struct pattern pattern = {.backslash = _mm256_set1_epi8('\\'),
		.u = _mm256_set1_epi8('u'),
		.escapes = find->unit_count > 0};
	size_t reach = 32 + (find->len > 2 ? find->len : 2); /* bytes that are read from a place on */
	const char *found;

	for (int i = 0; i < 3; i++) {
		pattern.byte[i] = _mm256_set1_epi8((char)find->byte[i]);
		pattern.fold[i] = _mm256_set1_epi8((char)find->fold[i]);
		pattern.at[i] = find->at[i];
	}
	for (; (size_t)(end - at) >= reach + 96; at += 128) {
		__m256i a = places(&pattern, at), b = places(&pattern, at + 32),
			c = places(&pattern, at + 64), d = places(&pattern, at + 96);
		__m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
		if (_mm256_testz_si256(any, any))
			continue;
		if ((found = check_places(find, a, at, end)) ||
			(found = check_places(find, b, at + 32, end)) ||
			(found = check_places(find, c, at + 64, end)) ||
			(found = check_places(find, d, at + 96, end)))
			return found;
	}
	for (; (size_t)(end - at) >= reach; at += 32)
		if ((found = check_places(find, places(&pattern, at), at, end)))
			return found;
	return find_next_portable(find, at, end);
}

/* ---- 64 places at once
 * ------------------------------------------------------------------------------------- */

#define FIND_TARGET_512 __attribute__((target("avx512f,avx512bw,bmi")))

FIND_TARGET_512 static inline __m512i load_512(const char *at)
{
	return _mm512_loadu_si512((const void *)at);
}

/* All three bytes at once: a branch on two of them is mispredicted where one "ö" in a line is common. */
FIND_TARGET_512 static inline uint64_t places_512(
	const struct find *find, const char *at, const __m512i byte[3], const __m512i fold[3])
{
	uint64_t found = _mm512_cmpeq_epi8_mask(_mm512_or_si512(load_512(at + find->at[0]), fold[0]), byte[0]);

	found = _mm512_mask_cmpeq_epi8_mask(
		found, _mm512_or_si512(load_512(at + find->at[1]), fold[1]), byte[1]);
	found = _mm512_mask_cmpeq_epi8_mask(
		found, _mm512_or_si512(load_512(at + find->at[2]), fold[2]), byte[2]);
	if (find->unit_count) {
		uint64_t escape = _mm512_cmpeq_epi8_mask(load_512(at), _mm512_set1_epi8('\\'));
		found |= _mm512_mask_cmpeq_epi8_mask(escape, load_512(at + 1), _mm512_set1_epi8('u'));
	}
	return found;
}

FIND_TARGET_512 static const char *find_next_avx512(const struct find *find, const char *at, const char *end)
{
	size_t reach = 64 + (find->len > 2 ? find->len : 2);
	__m512i byte[3], fold[3];

	for (int i = 0; i < 3; i++) {
		byte[i] = _mm512_set1_epi8((char)find->byte[i]);
		fold[i] = _mm512_set1_epi8((char)find->fold[i]);
	}
	while ((size_t)(end - at) >= reach + 64) {
		uint64_t low = places_512(find, at, byte, fold), high = places_512(find, at + 64, byte, fold);
		if (low | high) {
			for (; low; low &= low - 1)
				if (is_find(find, at + __builtin_ctzll(low), end))
					return at + __builtin_ctzll(low);
			for (; high; high &= high - 1)
				if (is_find(find, at + 64 + __builtin_ctzll(high), end))
					return at + 64 + __builtin_ctzll(high);
		}
		at += 128;
	}
	return find_next_avx2(find, at, end);
}
#endif

const char *find_next(const struct find *find, const char *at, const char *end)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512bw"))
		return find_next_avx512(find, at, end);
	if (__builtin_cpu_supports("avx2"))
		return find_next_avx2(find, at, end);
#endif
	return find_next_portable(find, at, end);
}
