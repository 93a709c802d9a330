/* SPDX-License-Identifier: MIT */
/* Writing and splicing. Failures stick in the buffer, so nothing here returns one. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/json.h"
#include "base/json_scan.h"

void json_writer_init(struct json_writer *writer, struct buffer *out)
{
	*writer = (struct json_writer){out, false};
}

/* Before a value or a key. */
static void add_comma(struct json_writer *writer)
{
	if (writer->comma)
		buffer_add_char(writer->out, ',');
	writer->comma = true;
}

static void begin(struct json_writer *writer, char bracket)
{
	add_comma(writer);
	buffer_add_char(writer->out, bracket);
	writer->comma = false;
}

static void end(struct json_writer *writer, char bracket)
{
	buffer_add_char(writer->out, bracket);
	writer->comma = true;
}

void json_begin_object(struct json_writer *writer)
{
	begin(writer, '{');
}

void json_end_object(struct json_writer *writer)
{
	end(writer, '}');
}

void json_begin_array(struct json_writer *writer)
{
	begin(writer, '[');
}

void json_end_array(struct json_writer *writer)
{
	end(writer, ']');
}

static void add_hex_escape(struct buffer *out, unsigned unit)
{
	static const char digits[] = "0123456789abcdef";
	const char text[6] = {'\\', 'u', digits[unit >> 12], digits[unit >> 8 & 15], digits[unit >> 4 & 15],
		digits[unit & 15]};
	buffer_add(out, text, sizeof text);
}

static void add_escape(struct buffer *out, char c)
{
	static const char shorts[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = c ? strchr(shorts, c) : NULL;
	if (found) {
		const char text[2] = {'\\', letters[found - shorts]};
		buffer_add(out, text, sizeof text);
		return;
	}
	add_hex_escape(out, (unsigned char)c);
}

/* The bytes of a surrogate in WTF-8 at `at`, 0 if there is none. */
static size_t surrogate_bytes(const char *at, const char *end, unsigned *ret_unit)
{
	const unsigned char *p = (const unsigned char *)at;
	if (end - at < 3 || p[0] != 0xED || p[1] < 0xA0 || p[1] > 0xBF || (p[2] & 0xC0) != 0x80)
		return 0;
	*ret_unit = 0xD000u | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
	return 3;
}

/* The longest beginning of a character at `at`, at least 1: it becomes one U+FFFD (Unicode 3.9, table 3-8).
 */
static size_t broken_bytes(const char *at, const char *end)
{
	const unsigned char *p = (const unsigned char *)at;
	unsigned lead = p[0];
	size_t want = lead < 0xC2 || lead > 0xF4 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
	unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
	unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
	size_t n = 1;
	while (n < want && at + n < end && p[n] >= lowest && p[n] <= highest) {
		n++;
		lowest = 0x80;
		highest = 0xBF;
	}
	return n;
}

/* Adds bytes that need no escape for JSON's sake but may be invalid UTF-8. */
static void add_clean(struct buffer *out, const struct json_scan *scan, const char *at, const char *until)
{
	while (at < until) {
		size_t valid = scan->utf8_prefix(at, (size_t)(until - at));
		buffer_add(out, at, valid);
		at += valid;
		if (at == until)
			break;
		unsigned unit;
		size_t bytes = surrogate_bytes(at, until, &unit);
		if (bytes) {
			add_hex_escape(out, unit);
		} else {
			bytes = broken_bytes(at, until);
			buffer_add(out, "\xEF\xBF\xBD", 3);
		}
		at += bytes;
	}
}

void json_escape(struct buffer *out, struct slice content)
{
	const struct json_scan *scan = json_scan_current();
	if (content.len == 0)
		return;
	const char *at = content.data, *after = at + content.len;
	for (;;) {
		const char *stop = scan->find_special(at, after);
		add_clean(out, scan, at, stop);
		if (stop == after)
			return;
		add_escape(out, *stop);
		at = stop + 1;
	}
}

static void add_quoted(struct buffer *out, struct slice content)
{
	buffer_add_char(out, '"');
	json_escape(out, content);
	buffer_add_char(out, '"');
}

void json_key_slice(struct json_writer *writer, struct slice key)
{
	add_comma(writer);
	add_quoted(writer->out, key);
	buffer_add_char(writer->out, ':');
	writer->comma = false;
}

void json_key(struct json_writer *writer, const char *key)
{
	json_key_slice(writer, slice_of(key));
}

void json_add_string(struct json_writer *writer, struct slice content)
{
	add_comma(writer);
	add_quoted(writer->out, content);
}

void json_add_text(struct json_writer *writer, const char *text)
{
	json_add_string(writer, slice_of(text));
}

void json_add_int(struct json_writer *writer, int64_t value)
{
	add_comma(writer);
	buffer_add_i64(writer->out, value);
}

void json_add_uint(struct json_writer *writer, uint64_t value)
{
	add_comma(writer);
	buffer_add_u64(writer->out, value);
}

struct digits {
	char text[24];
	int count;
	int exponent; /* of ten, of the first digit */
};

/* Takes `value` > 0 apart with `count` digits, rounded right. What is between the digits is skipped, because
 * the locale says what a decimal point looks like. */
static void digits_of(double value, int count, struct digits *ret_digits)
{
	char text[48];
	snprintf(text, sizeof text, "%.*e", count - 1, value);
	char *at = text;
	ret_digits->count = 0;
	for (; *at != 'e'; at++) {
		if (*at >= '0' && *at <= '9')
			ret_digits->text[ret_digits->count++] = *at;
	}
	ret_digits->exponent = (int)strtol(at + 1, NULL, 10);
}

/* The next larger number of as many digits. */
static void digits_increment(struct digits *digits)
{
	int at = digits->count;
	while (at > 0 && digits->text[at - 1] == '9')
		digits->text[--at] = '0';
	if (at > 0) {
		digits->text[at - 1]++;
		return;
	}
	digits->text[0] = '1';
	digits->exponent++;
}

static bool digits_read_back(const struct digits *digits, double value)
{
	char text[48];
	struct buffer out = {.data = text, .cap = sizeof text, .max = sizeof text - 1};
	buffer_add(&out, digits->text, (size_t)digits->count);
	buffer_add_char(&out, 'e');
	buffer_add_i64(&out, digits->exponent - (digits->count - 1));
	return strtod(text, NULL) == value;
}

/* Any 15 digits survive a double and back, so fewer need no try, but for the sparse doubles near zero. Above
 * a power of two doubles are twice as far apart as below: there the second nearest may read back where the
 * nearest does not. */
static void digits_shortest(double value, struct digits *ret_digits)
{
	for (int count = value < DBL_MIN ? 1 : DBL_DIG; count <= DBL_DECIMAL_DIG; count++) {
		digits_of(value, count, ret_digits);
		if (digits_read_back(ret_digits, value))
			break;
		digits_increment(ret_digits);
		if (digits_read_back(ret_digits, value))
			break;
	}
	while (ret_digits->count > 1 && ret_digits->text[ret_digits->count - 1] == '0')
		ret_digits->count--;
}

static void add_zeros(struct buffer *out, int count)
{
	for (int i = 0; i < count; i++)
		buffer_add_char(out, '0');
}

/* Plain from 1e-6 to below 1e21, as JavaScript does it, else with an exponent. */
static void add_digits(struct buffer *out, const struct digits *digits)
{
	int exponent = digits->exponent, whole = exponent + 1;
	size_t count = (size_t)digits->count;
	if (exponent < -6 || exponent >= 21)
		whole = 1;
	if (whole <= 0) {
		buffer_add_text(out, "0.");
		add_zeros(out, -whole);
		buffer_add(out, digits->text, count);
	} else if (digits->count <= whole) {
		buffer_add(out, digits->text, count);
		add_zeros(out, whole - digits->count);
	} else {
		buffer_add(out, digits->text, (size_t)whole);
		buffer_add_char(out, '.');
		buffer_add(out, digits->text + whole, count - (size_t)whole);
	}
	if (exponent < -6 || exponent >= 21) {
		buffer_add_char(out, 'e');
		buffer_add_i64(out, exponent);
	}
}

void json_add_double(struct json_writer *writer, double value)
{
	struct digits digits;
	add_comma(writer);
	if (!isfinite(value)) {
		buffer_add_text(writer->out, "null");
		return;
	}
	if (signbit(value))
		buffer_add_char(writer->out, '-');
	if (value == 0) {
		buffer_add_char(writer->out, '0');
		return;
	}
	digits_shortest(fabs(value), &digits);
	add_digits(writer->out, &digits);
}

void json_add_bool(struct json_writer *writer, bool value)
{
	add_comma(writer);
	buffer_add_text(writer->out, value ? "true" : "false");
}

void json_add_null(struct json_writer *writer)
{
	add_comma(writer);
	buffer_add_text(writer->out, "null");
}

void json_blank_line_breaks(char *text, size_t len)
{
	char *end = text + len;

	for (const char *brk = "\n\r"; *brk; brk++)
		for (char *at = text; (at = memchr(at, *brk, (size_t)(end - at)));)
			*at++ = ' ';
}

void json_add_on_one_line(struct buffer *out, struct slice value)
{
	size_t from = out->len;

	buffer_add_slice(out, value);
	if (out->len > from && *value.data != '"') /* a string has none */
		json_blank_line_breaks(out->data + from, value.len);
}

void json_add_raw(struct json_writer *writer, struct slice value)
{
	add_comma(writer);
	json_add_on_one_line(writer->out, value);
}

void json_add_value(struct json_writer *writer, const struct json *value)
{
	json_add_raw(writer, (struct slice){value->text, value->len});
}

void json_member_text(struct json_writer *writer, const char *key, const char *text)
{
	json_key(writer, key);
	json_add_text(writer, text);
}

void json_member_string(struct json_writer *writer, const char *key, struct slice content)
{
	json_key(writer, key);
	json_add_string(writer, content);
}

void json_member_int(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_add_int(writer, value);
}

void json_member_uint(struct json_writer *writer, const char *key, uint64_t value)
{
	json_key(writer, key);
	json_add_uint(writer, value);
}

void json_member_bool(struct json_writer *writer, const char *key, bool value)
{
	json_key(writer, key);
	json_add_bool(writer, value);
}

void json_member_value(struct json_writer *writer, const char *key, const struct json *value)
{
	json_key(writer, key);
	json_add_value(writer, value);
}
