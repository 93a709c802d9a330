/* SPDX-License-Identifier: MIT */
/*
 * JSON as immutable bytes. Nothing is decoded until somebody asks, so what is not understood goes out as it came
 * in: numbers (1e400, 1.10, -0, 30 digits), escapes (\/ \u0000, a lone \ud83d), unknown members, key order.
 *
 *	struct json line, role;
 *	if (json_parse(text, len, &line, error) < 0) …       // validates everything once
 *	if (json_get(&line, "role", &role)) …                // then walking cannot fail
 *
 * A value is a span of the text. Descending is on demand and one level at a time: an iterator holds no table, so
 * a 12 MB array of ones costs nothing to step over and constant memory to walk.
 *
 * Invariants: (1) every struct json given out by this module lies inside bytes that json_parse accepted;
 * (2) the module never writes to those bytes; (3) nesting is at most LIMIT_JSON_DEPTH.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/slice.h"

enum json_type { JSON_ABSENT, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value: its exact bytes (a string with its quotes) and its type. */
struct json {
	const char *text;
	size_t len;
	enum json_type type;
};

/* Validates `text` as exactly one RFC 8259 value with white space around it: grammar, UTF-8, nesting.
 * BOBBIN_EINPUT with the offset of the first fault, BOBBIN_ELIMIT for nesting. Lone surrogate escapes pass. */
int json_parse(const char *text, size_t len, struct json *ret_value, struct bobbin_error *error);

/* Validates the first value of `text` and says where it ends, for input where values follow each other (`}{`). */
int json_parse_prefix(const char *text, size_t len, struct json *ret_value, size_t *ret_used,
	struct bobbin_error *error);

/* Walks the members of an object (ret_key is the key as a JSON string) or the elements of an array (ret_key may be
 * NULL). An iterator over any other type is at once at its end. */
struct json_iter {
	const char *at, *end;
	bool object;
};
void json_iter_init(struct json_iter *iter, const struct json *container);
bool json_iter_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value);

/* The member with this key, compared decoded; of duplicates the last. False (and type JSON_ABSENT) if there is
 * none or `object` is not an object. */
bool json_get(const struct json *object, const char *key, struct json *ret_value);

/* A duplicate key at the top level of `object`, if any (ret_key NULL allowed). */
bool json_has_duplicate_key(const struct json *object, struct json *ret_key);
/* The same of any object in `value`, at most `depth` levels down (0: only its own). */
bool json_has_duplicate_key_within(const struct json *value, unsigned depth, struct json *ret_key);

/* The number of elements or members, 0 for other types. */
size_t json_count(const struct json *container);

/* Compares a string's decoded content. False for any other type. */
bool json_string_is(const struct json *string, const char *text);
bool json_string_equal(const struct json *a, const struct json *b);

/* True if a string has no escapes: then ret_content is the content itself, inside the text. */
bool json_string_plain(const struct json *string, struct slice *ret_content);

enum json_surrogates {
	JSON_SURROGATES_KEEP,    /* a lone surrogate becomes its 3-byte WTF-8 form */
	JSON_SURROGATES_REPLACE, /* … becomes U+FFFD: for anything that is shown or sent */
};
/* Appends the decoded content. \u0000 becomes a NUL byte. */
void json_string_decode(const struct json *string, enum json_surrogates mode, struct buffer *out);

/* The decoded content in the arena, or in place if it is plain. {NULL, 0} when memory is out or not a string. */
struct arena;
struct slice json_string_content(const struct json *string, struct arena *arena);

/* False if it is not a number, not whole, or out of range. 1e2 and 100.0 count as whole. */
bool json_int64(const struct json *number, int64_t *ret_value);
bool json_double(const struct json *number, double *ret_value);
bool json_bool(const struct json *value, bool *ret_value);

/*
 * Writing. Commas are kept by the writer; keys and strings are escaped minimally (quotes, backslash, controls;
 * U+007F and non-ASCII as they are). Invalid UTF-8 in a string becomes U+FFFD, WTF-8 surrogates become \udxxx escapes again.
 */
struct json_writer {
	struct buffer *out;
	bool comma;  /* the next value needs one before it */
};
void json_writer_init(struct json_writer *writer, struct buffer *out);
void json_begin_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);
void json_key(struct json_writer *writer, const char *key);
void json_key_slice(struct json_writer *writer, struct slice key);
void json_add_string(struct json_writer *writer, struct slice content);
void json_add_text(struct json_writer *writer, const char *text);
void json_add_int(struct json_writer *writer, int64_t value);
void json_add_uint(struct json_writer *writer, uint64_t value);
void json_add_double(struct json_writer *writer, double value); /* shortest form that reads back; NaN and infinities give null */
void json_add_bool(struct json_writer *writer, bool value);
void json_add_null(struct json_writer *writer);
void json_add_raw(struct json_writer *writer, struct slice value);   /* bytes of a valid value, on one line */
void json_add_value(struct json_writer *writer, const struct json *value);
/* Key and value at once, for the common cases. */
void json_member_text(struct json_writer *writer, const char *key, const char *text);
void json_member_string(struct json_writer *writer, const char *key, struct slice content);
void json_member_int(struct json_writer *writer, const char *key, int64_t value);
void json_member_uint(struct json_writer *writer, const char *key, uint64_t value);
void json_member_bool(struct json_writer *writer, const char *key, bool value);
void json_member_value(struct json_writer *writer, const char *key, const struct json *value);

/* The UTF-16 unit of an escape \uXXXX at `at`; -1 if there is none. */
int32_t json_escape_unit(const char *at, const char *end);
/* The next lone surrogate or NUL, escaped, in the bytes of a JSON value: JSON_POISON_BYTES. NULL: there is none. */
#define JSON_POISON_BYTES 6
const char *json_poison_find(const char *at, const char *end);
/* All of them, and the NULs among them. */
size_t json_poison_count(const char *text, size_t len, size_t *ret_nuls);
/* The same; each becomes \ufffd, which is as long. */
size_t json_poison_mend(char *text, size_t len);

/*
 * Appends the bytes of valid JSON, each line break as a blank. JSON has line breaks between its tokens only, so that the value stays the same;
 * and somebody else's value never ends the line that it is written into.
 */
void json_add_on_one_line(struct buffer *out, struct slice value);
/* The same for bytes that are written already. */
void json_blank_line_breaks(char *text, size_t len);

/* Appends the escaped content of a string without the quotes. */
void json_escape(struct buffer *out, struct slice content);

/*
 * Appends the value in one spelling for all its texts: no white space, members in the order of the bytes of their decoded
 * keys, of duplicates the last, strings escaped minimally, whole numbers of 64 bits as such; other numbers keep
 * their text. 0 or BOBBIN_ENOMEM. What is equal this way is equal; 1.50 and 1.5 are not.
 */
int json_canonical(const struct json *value, struct buffer *out);

/*
 * Splicing: appends `object` with the member `key` set to the bytes `value` (in place if the key is there: of
 * duplicates the last; else as the last member) or, with value.data NULL, without it. All other bytes stay as they are.
 */
void json_splice(struct buffer *out, const struct json *object, const char *key, struct slice value);

#endif
