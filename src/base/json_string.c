/* SPDX-License-Identifier: MIT */
/*
 * Strings: decoding, and comparing as if decoded. All input here has been validated, so escapes are whole.
 * A decoded string is never longer than its text between the quotes, and as long only if it has no escapes.
 */
#include <string.h>
#include "base/arena.h"
#include "base/json_scan.h"
#include "base/json_string.h"
#include "base/utf8.h"

static unsigned hex_value(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

/* The four digits after \u. */
static uint32_t escape_unit(const char *at)
{
	return hex_value(at[2]) << 12 | hex_value(at[3]) << 8 | hex_value(at[4]) << 4 | hex_value(at[5]);
}

static char escape_char(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

static bool is_surrogate(uint32_t code_point)
{
	return code_point >= 0xD800 && code_point <= 0xDFFF;
}

/* Decodes the escape at *at and moves behind it; two escapes that are a surrogate pair are one character. */
static uint32_t escape_decode(const char **at, const char *end)
{
	const char *p = *at;
	if (p[1] != 'u') {
		*at = p + 2;
		return (unsigned char)escape_char(p[1]);
	}
	uint32_t unit = escape_unit(p);
	p += 6;
	if (unit >= 0xD800 && unit <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		uint32_t low = escape_unit(p);
		if (low >= 0xDC00 && low <= 0xDFFF) {
			p += 6;
			unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
		}
	}
	*at = p;
	return unit;
}

unsigned json_cursor_next(struct json_cursor *cursor, char ret_bytes[4])
{
	if (cursor->at == cursor->end)
		return 0;
	if (*cursor->at == '\\')
		return utf8_encode(escape_decode(&cursor->at, cursor->end), ret_bytes);
	ret_bytes[0] = *cursor->at++;
	unsigned len = 1;
	while (cursor->at < cursor->end && (*cursor->at & 0xC0) == 0x80)
		ret_bytes[len++] = *cursor->at++;
	return len;
}

static struct slice content_of(const struct json *string)
{
	return (struct slice){string->text + 1, string->len - 2};
}

static const char *find_backslash(const char *at, const char *end)
{
	const char *found = at < end ? memchr(at, '\\', (size_t)(end - at)) : NULL;
	return found ? found : end;
}

bool json_string_plain(const struct json *string, struct slice *ret_content)
{
	if (string->type != JSON_STRING)
		return false;
	struct slice content = content_of(string);
	if (find_backslash(content.data, content.data + content.len) != content.data + content.len)
		return false;
	*ret_content = content;
	return true;
}

int json_string_compare(const struct json *a, const struct json *b)
{
	struct json_cursor left = json_cursor_of(a), right = json_cursor_of(b);
	char left_bytes[4], right_bytes[4];
	unsigned left_len, right_len;
	do {
		left_len = json_cursor_next(&left, left_bytes);
		right_len = json_cursor_next(&right, right_bytes);
		unsigned shared = left_len < right_len ? left_len : right_len;
		int order = memcmp(left_bytes, right_bytes, shared);
		if (order)
			return order;
		if (left_len != right_len)
			return left_len < right_len ? -1 : 1;
	} while (left_len);
	return 0;
}

bool json_string_equal(const struct json *a, const struct json *b)
{
	struct slice left, right;
	if (a->type != JSON_STRING || b->type != JSON_STRING)
		return false;
	if (json_string_plain(a, &left) && json_string_plain(b, &right))
		return slice_equal(left, right);
	return json_string_compare(a, b) == 0;
}

static bool decoded_is(const struct json *string, struct slice text)
{
	struct json_cursor cursor = json_cursor_of(string);
	char bytes[4];
	unsigned len;
	while ((len = json_cursor_next(&cursor, bytes)) > 0) {
		if (text.len < len || memcmp(text.data, bytes, len) != 0)
			return false;
		text.data += len;
		text.len -= len;
	}
	return text.len == 0;
}

bool json_string_is(const struct json *string, const char *text)
{
	if (string->type != JSON_STRING)
		return false;
	struct slice content = content_of(string), wanted = slice_of(text);
	if (content.len < wanted.len)
		return false;
	bool plain = find_backslash(content.data, content.data + content.len) == content.data + content.len;
	return plain ? slice_equal(content, wanted) : decoded_is(string, wanted);
}

/* `out` has room for the text's length, which decoding never exceeds. Returns the decoded length. */
static size_t decode_to(struct slice content, enum json_surrogates mode, char *out)
{
	const struct json_scan *scan = json_scan_current();
	const char *at = content.data, *end = at + content.len;
	char *to = out;
	for (;;) {
		const char *stop = scan->copy_plain(to, at, end);
		to += stop - at;
		if (stop == end)
			return (size_t)(to - out);
		at = stop;
		uint32_t code_point = escape_decode(&at, end);
		if (mode == JSON_SURROGATES_REPLACE && is_surrogate(code_point))
			code_point = 0xFFFD;
		if (code_point < 0x80)
			*to++ = (char)code_point;
		else
			to += utf8_encode(code_point, to);
	}
}

/* Where there is no room for the text, but perhaps for what it decodes to. */
static void decode_slowly(const struct json *string, enum json_surrogates mode, struct buffer *out)
{
	struct json_cursor cursor = json_cursor_of(string);
	char bytes[4];
	unsigned len;
	while ((len = json_cursor_next(&cursor, bytes)) > 0) {
		/* A character decoded from an escape may be a surrogate; one that stands there never is. */
		bool surrogate = len == 3 && (bytes[0] & 0xFF) == 0xED && (bytes[1] & 0xFF) >= 0xA0;
		if (mode == JSON_SURROGATES_REPLACE && surrogate)
			len = utf8_encode(0xFFFD, bytes);
		buffer_add(out, bytes, len);
	}
}

void json_string_decode(const struct json *string, enum json_surrogates mode, struct buffer *out)
{
	if (string->type != JSON_STRING)
		return;
	struct slice content = content_of(string);
	if (content.len > out->max - out->len) {
		decode_slowly(string, mode, out);
		return;
	}
	char *data = buffer_reserve(out, content.len);
	if (data == NULL)
		return;
	out->len += decode_to(content, mode, data);
	out->data[out->len] = '\0';
}

struct slice json_string_content(const struct json *string, struct arena *arena)
{
	struct slice plain, none = {NULL, 0};
	if (string->type != JSON_STRING)
		return none;
	if (json_string_plain(string, &plain))
		return plain;
	struct slice content = content_of(string);
	char *data = arena_alloc(arena, content.len + 1);
	if (data == NULL)
		return none;
	size_t len = decode_to(content, JSON_SURROGATES_KEEP, data);
	data[len] = '\0';
	return (struct slice){data, len};
}
