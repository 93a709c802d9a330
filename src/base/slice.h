/* SPDX-License-Identifier: MIT */
/* Bytes that somebody else owns: a pointer and a length, not NUL-terminated. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
	const char *data;
	size_t len;
};

#define SLICE_LITERAL(text) ((struct slice){(text), sizeof(text) - 1})

static inline struct slice slice_of(const char *text)
{
	return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
	return slice_equal(a, slice_of(text));
}

static inline bool slice_starts_with(struct slice a, const char *text)
{
	size_t len = strlen(text);
	return a.len >= len && memcmp(a.data, text, len) == 0;
}

/* Without the spaces and control characters at its ends. */
static inline struct slice slice_strip(struct slice text)
{
	while (text.len && (unsigned char)text.data[0] <= ' ')
		text.data++, text.len--;
	while (text.len && (unsigned char)text.data[text.len - 1] <= ' ')
		text.len--;
	return text;
}

#endif
