/* SPDX-License-Identifier: MIT */
/*
 * A growing, bounded byte buffer with a sticky error: appends after a failure do nothing, so a writer appends
 * freely and asks once at the end.
 *
 *	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
 *	buffer_add_text(&out, "{");
 *	…
 *	if ((rc = buffer_error(&out)))
 *		return error_set(error, rc, …);
 *
 * What is appended must not lie in the buffer itself, which may move.
 *
 * Invariants: (1) len <= cap <= max + 1; (2) data[len] is NUL whenever data is not NULL; (3) after a failure
 * len and data keep the last good content.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include "base/slice.h"

struct buffer {
	char *data;
	size_t len, cap;
	size_t max; /* bytes it may hold */
	int error;  /* 0, BOBBIN_ENOMEM or BOBBIN_ELIMIT */
};

#define BUFFER_INIT(max_bytes)                                                                               \
	{                                                                                                    \
		NULL, 0, 0, (max_bytes), 0                                                                   \
	}

void buffer_init(struct buffer *buffer, size_t max_bytes);
void buffer_add(struct buffer *buffer, const void *data, size_t len);
void buffer_add_slice(struct buffer *buffer, struct slice slice);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_add_u64(struct buffer *buffer, uint64_t value);
void buffer_add_i64(struct buffer *buffer, int64_t value);
void buffer_addf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for `len` more bytes at data + buffer->len, to be filled by the caller, who then adds to buffer->len.
 * A NUL follows the room; who fills less of it sets data[buffer->len] himself. NULL after a failure. */
char *buffer_reserve(struct buffer *buffer, size_t len);
void buffer_truncate(struct buffer *buffer, size_t len); /* to len <= buffer->len; an error stays */
/* Empty, no error, memory kept. */
void buffer_clear(struct buffer *buffer);
int buffer_error(const struct buffer *buffer);
struct slice buffer_slice(const struct buffer *buffer); /* until the next append; data is never NULL */
/* Hands the memory to the caller (mem_free), NUL-terminated, and begins anew; NULL after a failure, also of
 * this call. ret_len may be NULL. */
char *buffer_take(struct buffer *buffer, size_t *ret_len);
void buffer_release(struct buffer *buffer);

#endif
