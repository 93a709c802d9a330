/* SPDX-License-Identifier: MIT */
/* UTF-8 as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"

/* The length of the longest valid prefix; equals len iff all of it is valid. */
size_t utf8_valid_prefix(const char *data, size_t len);

/* Decodes one code point at `data` (len > 0) and returns the bytes it takes; 0 if they are not valid. */
unsigned utf8_decode(const char *data, size_t len, uint32_t *ret_code_point);

/* Writes 1 to 4 bytes; returns their number. A surrogate is written in its 3-byte form (WTF-8). */
unsigned utf8_encode(uint32_t code_point, char ret_bytes[4]);

/* The largest length <= limit at which `data` can be cut without cutting a code point (nor a surrogate of
 * three bytes). Bytes that are not UTF-8 are cut anywhere. */
size_t utf8_truncate(const char *data, size_t len, size_t limit);

/* Appends `data` with every invalid byte sequence replaced by one U+FFFD: the longest start of a code point
 * that is there, a surrogate of three bytes (WTF-8), or else a single byte. */
void utf8_add_clean(struct buffer *out, const char *data, size_t len);
/* The same as one line of at most `max` bytes: control characters of ASCII as blanks. */
void utf8_add_line(struct buffer *out, const char *data, size_t len, size_t max);

/* Columns on a terminal (East Asian wide = 2, combining and controls = 0, an invalid byte = 1), by utf8proc.
 * Code points are counted one by one: what a terminal joins into one emoji counts as its parts. */
size_t utf8_columns(const char *data, size_t len);

#endif
