/* SPDX-License-Identifier: MIT */
#include "json_reference.h"

#include <stdint.h>
#include <string.h>

struct reader {
	const unsigned char *text;
	size_t len, at;
	unsigned depth;
	struct reference result;
};

static bool value(struct reader *reader);

static int peek(const struct reader *reader)
{
	return reader->at < reader->len ? reader->text[reader->at] : -1;
}

static bool eat(struct reader *reader, int c)
{
	if (peek(reader) != c)
		return false;
	reader->at++;
	return true;
}

static void space(struct reader *reader)
{
	while (eat(reader, ' ') || eat(reader, '\t') || eat(reader, '\n') || eat(reader, '\r'))
		;
}

static bool word(struct reader *reader, const char *text)
{
	for (; *text; text++) {
		if (!eat(reader, *text))
			return false;
	}
	return true;
}

static bool digits(struct reader *reader)
{
	size_t begin = reader->at;
	while (peek(reader) >= '0' && peek(reader) <= '9')
		reader->at++;
	return reader->at > begin;
}

static bool number(struct reader *reader)
{
	eat(reader, '-');
	if (!eat(reader, '0') && !digits(reader))
		return false;
	if (eat(reader, '.') && !digits(reader))
		return false;
	if (eat(reader, 'e') || eat(reader, 'E')) {
		if (!eat(reader, '+'))
			eat(reader, '-');
		return digits(reader);
	}
	return true;
}

/* Decodes by arithmetic and asks whether the shortest form of a scalar value came out. */
static bool character(struct reader *reader)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = reader->text + reader->at;
	size_t left = reader->len - reader->at, bytes;
	uint32_t code_point;
	if (p[0] < 0x80) {
		bytes = 1;
		code_point = p[0];
	} else if (p[0] >> 5 == 6) {
		bytes = 2;
		code_point = p[0] & 0x1Fu;
	} else if (p[0] >> 4 == 14) {
		bytes = 3;
		code_point = p[0] & 0xFu;
	} else if (p[0] >> 3 == 30) {
		bytes = 4;
		code_point = p[0] & 7u;
	} else {
		return false;
	}
	if (bytes > left)
		return false;
	for (size_t i = 1; i < bytes; i++) {
		if (p[i] >> 6 != 2)
			return false;
		code_point = code_point * 64 + p[i] % 64;
	}
	if (code_point < least[bytes] || code_point > 0x10FFFF || code_point / 0x800 == 0x1B)
		return false;
	reader->at += bytes;
	reader->result.strings += bytes;
	return true;
}

static bool hex(struct reader *reader, uint32_t *ret_unit)
{
	*ret_unit = 0;
	for (int i = 0; i < 4; i++) {
		int c = peek(reader);
		const char *all = "0123456789abcdef0123456789ABCDEF";
		const char *found = c > 0 ? strchr(all, c) : NULL;
		if (!found)
			return false;
		*ret_unit = *ret_unit * 16 + (uint32_t)((found - all) % 16);
		reader->at++;
	}
	return true;
}

static bool escape(struct reader *reader)
{
	uint32_t unit, low;
	int c = peek(reader);
	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return false;
	reader->at++;
	reader->result.strings++;
	if (c != 'u')
		return true;
	if (!hex(reader, &unit))
		return false;
	reader->result.strings += unit < 0x80 ? 0 : unit < 0x800 ? 1 : 2;
	if (unit / 0x400 != 0x36)
		return true;
	/* A high surrogate: with a low one after it, four bytes together. */
	struct reader ahead = *reader;
	if (eat(&ahead, '\\') && eat(&ahead, 'u') && hex(&ahead, &low) && low / 0x400 == 0x37) {
		reader->at = ahead.at;
		reader->result.strings++;
	}
	return true;
}

static bool string(struct reader *reader)
{
	if (!eat(reader, '"'))
		return false;
	while (!eat(reader, '"')) {
		if (peek(reader) < 0x20)
			return false;
		if (!(eat(reader, '\\') ? escape(reader) : character(reader)))
			return false;
	}
	return true;
}

static bool members(struct reader *reader, bool object)
{
	int close = object ? '}' : ']';
	space(reader);
	if (eat(reader, close))
		return true;
	for (;;) {
		space(reader);
		if (object) {
			if (!string(reader))
				return false;
			space(reader);
			if (!eat(reader, ':'))
				return false;
		}
		if (!value(reader))
			return false;
		space(reader);
		if (eat(reader, close))
			return true;
		if (!eat(reader, ','))
			return false;
	}
}

static bool value(struct reader *reader)
{
	space(reader);
	reader->result.values++;
	switch (peek(reader)) {
	case '{':
	case '[':
		if (reader->depth == 512) {
			reader->result.too_deep = true;
			return false;
		}
		reader->depth++;
		if (!members(reader, reader->text[reader->at++] == '{'))
			return false;
		reader->depth--;
		return true;
	case '"':
		return string(reader);
	case 't':
		return word(reader, "true");
	case 'f':
		return word(reader, "false");
	case 'n':
		return word(reader, "null");
	default:
		return number(reader);
	}
}

struct reference reference_check(const char *text, size_t len)
{
	struct reader reader = {.text = (const unsigned char *)text, .len = len};
	bool valid = value(&reader);
	if (valid) {
		space(&reader);
		valid = reader.at == len;
	}
	reader.result.valid = valid;
	reader.result.fault = reader.at;
	return reader.result;
}
