/* SPDX-License-Identifier: MIT */
/*
 * UTF-8. One table of lead bytes decides everything: how many bytes follow, and the range of the second byte,
 * which is where RFC 3629 rules out overlong forms, surrogates and what lies above U+10FFFF.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The rule of a lead byte; len 0: it cannot lead. */
struct lead {
	uint8_t len, second_min, second_max;
};

static inline struct lead lead_of(uint8_t byte)
{
	if (byte < 0x80)
		return (struct lead){1, 0, 0};
	if (byte < 0xc2)
		return (struct lead){0, 0, 0};
	if (byte < 0xe0)
		return (struct lead){2, 0x80, 0xbf};
	if (byte < 0xf0)
		return (struct lead){3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
	if (byte < 0xf5)
		return (struct lead){4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
	return (struct lead){0, 0, 0};
}

static inline bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* How many of the bytes at `data` (len > 0) fit the start of one code point; *ret_whole: they are all of it.
 */
static inline unsigned fitting_bytes(const uint8_t *data, size_t len, bool *ret_whole)
{
	struct lead lead = lead_of(data[0]);
	*ret_whole = lead.len == 1;
	if (lead.len < 2)
		return lead.len;
	if (len < 2 || data[1] < lead.second_min || data[1] > lead.second_max)
		return 1;
	unsigned fits = 2;
	while (fits < lead.len && fits < len && is_continuation(data[fits]))
		fits++;
	*ret_whole = fits == lead.len;
	return fits;
}

/* After so many ASCII characters in a row the wide loop pays again. */
#define ASCII_RUN 8

/* The number of leading ASCII bytes, found many at a time; may stop a little short of them. */
static inline size_t ascii_prefix(const uint8_t *bytes, size_t len)
{
	size_t at = 0;
#if defined(__SSE2__)
	for (; len - at >= 32; at += 32) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at + 16));
		unsigned high = (unsigned)_mm_movemask_epi8(a) | (unsigned)_mm_movemask_epi8(b) << 16;
		if (high)
			return at + (unsigned)__builtin_ctz(high);
	}
#endif
	for (; len - at >= 8; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return at;
}

/* The same rules on four bytes at once, read as a big-endian number: the bytes of the code point that is
 * neither ASCII nor invalid, else 0. Each line tests the marks of all its bytes, then the range of their
 * leading payload. */
static inline unsigned multibyte_length(const uint8_t *bytes)
{
	uint32_t word =
		(uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
	uint32_t payload = word & 0x0f200000;
	if ((word & 0xf0c0c000) == 0xe0808000)
		return payload != 0 && payload != 0x0d200000 ? 3 : 0;
	if ((word & 0xe0c00000) == 0xc0800000)
		return (word & 0x1e000000) != 0 ? 2 : 0;
	payload = word & 0x07300000;
	if ((word & 0xf8c0c0c0) == 0xf0808080)
		return payload >= 0x00100000 && payload <= 0x04000000 ? 4 : 0;
	return 0;
}

/* The valid bytes of text that is not ASCII in the main: ends at a run of ASCII, before the last three bytes,
 * or at what may be a fault. */
static inline size_t multibyte_prefix(const uint8_t *bytes, size_t len)
{
	size_t at = 0;
	unsigned ascii_run = 0;
	while (len - at >= 4 && ascii_run < ASCII_RUN) {
		if (bytes[at] < 0x80) {
			ascii_run++;
			at++;
			continue;
		}
		unsigned taken = multibyte_length(bytes + at);
		if (!taken)
			break;
		at += taken;
		ascii_run = 0;
	}
	return at;
}

size_t utf8_valid_prefix(const char *data, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)data;
	size_t at = 0;
	while (at < len) {
		at += ascii_prefix(bytes + at, len - at);
		at += multibyte_prefix(bytes + at, len - at);
		while (at < len && (len - at < 4 || bytes[at] >= 0x80)) {
			bool whole;
			unsigned fits = fitting_bytes(bytes + at, len - at, &whole);
			if (!whole)
				return at;
			at += fits;
		}
	}
	return len;
}

unsigned utf8_decode(const char *data, size_t len, uint32_t *ret_code_point)
{
	const uint8_t *bytes = (const uint8_t *)data;
	bool whole;
	unsigned taken = fitting_bytes(bytes, len, &whole);
	if (!whole)
		return 0;
	uint32_t code_point = taken == 1 ? bytes[0] : bytes[0] & (0x7fu >> taken);
	for (unsigned i = 1; i < taken; i++)
		code_point = code_point << 6 | (bytes[i] & 0x3f);
	*ret_code_point = code_point;
	return taken;
}

unsigned utf8_encode(uint32_t code_point, char ret_bytes[4])
{
	static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
	unsigned len = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
	for (unsigned i = len - 1; i > 0; i--) {
		ret_bytes[i] = (char)(0x80 | (code_point & 0x3f));
		code_point >>= 6;
	}
	ret_bytes[0] = (char)(marks[len] | code_point);
	return len;
}

size_t utf8_truncate(const char *data, size_t len, size_t limit)
{
	if (limit >= len)
		return len;
	size_t start = limit;
	while (start > 0 && limit - start < 3 && is_continuation((uint8_t)data[start]))
		start--;
	return start + lead_of((uint8_t)data[start]).len > limit ? start : limit;
}

void utf8_add_clean(struct buffer *out, const char *data, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)data;
	for (size_t at = 0; at < len;) {
		size_t valid = utf8_valid_prefix(data + at, len - at);
		buffer_add(out, data + at, valid);
		at += valid;
		if (at == len)
			return;
		bool whole;
		unsigned bad = fitting_bytes(bytes + at, len - at, &whole);
		bool surrogate = bytes[at] == 0xed && len - at >= 3 && is_continuation(bytes[at + 1]) &&
				 is_continuation(bytes[at + 2]);
		at += surrogate ? 3 : bad ? bad : 1;
		buffer_add_text(out, REPLACEMENT);
	}
}

void utf8_add_line(struct buffer *out, const char *data, size_t len, size_t max)
{
	size_t from = out->len;
	utf8_add_clean(out, data, utf8_truncate(data, len, max));
	if (out->len - from > max)
		buffer_truncate(out, from + utf8_truncate(out->data + from, out->len - from, max));
	for (size_t i = from; i < out->len; i++)
		if ((unsigned char)out->data[i] < 0x20 || out->data[i] == 0x7f)
			out->data[i] = ' ';
}

size_t utf8_columns(const char *data, size_t len)
{
	size_t columns = 0;
	for (size_t at = 0; at < len;) {
		uint32_t code_point;
		unsigned taken = utf8_decode(data + at, len - at, &code_point);
		/* A terminal shows one U+FFFD for a byte it cannot decode. */
		columns += taken ? (size_t)utf8proc_charwidth((utf8proc_int32_t)code_point) : 1;
		at += taken ? taken : 1;
	}
	return columns;
}
