/* SPDX-License-Identifier: MIT */
/* A string's decoded content one unit at a time, for comparing without decoding into memory. */
#ifndef BASE_JSON_STRING_H
#define BASE_JSON_STRING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/json.h"

struct json_cursor {
	const char *at, *end; /* between the quotes */
};

static inline struct json_cursor json_cursor_of(const struct json *string)
{
	return (struct json_cursor){string->text + 1, string->text + string->len - 1};
}

/* Appends nothing and reads one character: its UTF-8 bytes go to ret_bytes (a lone surrogate as its three
 * WTF-8 bytes) and their number is returned; 0 at the end. */
unsigned json_cursor_next(struct json_cursor *cursor, char ret_bytes[4]);

/* Orders decoded contents bytewise, the shorter first if one begins the other. */
int json_string_compare(const struct json *a, const struct json *b);

#endif
