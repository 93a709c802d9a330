/* SPDX-License-Identifier: MIT */
/* The growing buffer of buffer.h, whose invariants (1) to (3) are kept here. */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"

#define BUFFER_CAP_MIN 64 /* bytes of the first allocation */

void buffer_init(struct buffer *buffer, size_t max_bytes)
{
	*buffer = (struct buffer)BUFFER_INIT(max_bytes);
}

/* Room for `len` bytes and the NUL. False, with the error set, if there is none. */
static bool make_room(struct buffer *buffer, size_t len)
{
	if (buffer->error)
		return false;
	if (len > buffer->max - buffer->len || buffer->len + len == SIZE_MAX) {
		buffer->error = BOBBIN_ELIMIT;
		return false;
	}
	size_t need = buffer->len + len + 1;
	if (need <= buffer->cap)
		return true;
	size_t cap_max = buffer->max == SIZE_MAX ? SIZE_MAX : buffer->max + 1;
	size_t cap = buffer->cap > cap_max / 2 ? cap_max : buffer->cap * 2;
	if (cap < BUFFER_CAP_MIN)
		cap = BUFFER_CAP_MIN < cap_max ? BUFFER_CAP_MIN : cap_max;
	if (cap < need)
		cap = need;
	char *data = mem_realloc(buffer->data, cap);
	if (!data) {
		buffer->error = BOBBIN_ENOMEM;
		return false;
	}
	buffer->data = data;
	buffer->cap = cap;
	buffer->data[buffer->len] = '\0';
	return true;
}

void buffer_add(struct buffer *buffer, const void *data, size_t len)
{
	if (len == 0 || !make_room(buffer, len))
		return;
	memcpy(buffer->data + buffer->len, data, len);
	buffer->len += len;
	buffer->data[buffer->len] = '\0';
}

void buffer_add_slice(struct buffer *buffer, struct slice slice)
{
	buffer_add(buffer, slice.data, slice.len);
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
	buffer_add(buffer, text, strlen(text));
}

void buffer_add_char(struct buffer *buffer, char c)
{
	buffer_add(buffer, &c, 1);
}

/* In one piece, so that a number is there whole or not at all. */
static void add_number(struct buffer *buffer, uint64_t magnitude, bool negative)
{
	char digits[21]; /* 2^64 - 1 has 20, and the sign */
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude);
	if (negative)
		digits[--at] = '-';
	buffer_add(buffer, digits + at, sizeof(digits) - at);
}

void buffer_add_u64(struct buffer *buffer, uint64_t value)
{
	add_number(buffer, value, false);
}

void buffer_add_i64(struct buffer *buffer, int64_t value)
{
	add_number(buffer, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

void buffer_addf(struct buffer *buffer, const char *format, ...)
{
	if (buffer->error)
		return;
	va_list arguments;
	size_t room = buffer->cap - buffer->len;
	va_start(arguments, format);
	int len = vsnprintf(buffer->data ? buffer->data + buffer->len : NULL, room, format, arguments);
	va_end(arguments);
	if (len > 0 && (size_t)len >= room) {
		if (buffer->data)
			buffer->data[buffer->len] = '\0';
		if (!make_room(buffer, (size_t)len))
			return;
		va_start(arguments, format);
		len = vsnprintf(buffer->data + buffer->len, (size_t)len + 1, format, arguments);
		va_end(arguments);
	}
	if (len < 0) {
		/* Only a result of more than INT_MAX bytes: the library formats no wide characters. */
		buffer->error = BOBBIN_ELIMIT;
		if (buffer->data)
			buffer->data[buffer->len] = '\0';
		return;
	}
	buffer->len += (size_t)len;
}

char *buffer_reserve(struct buffer *buffer, size_t len)
{
	if (!make_room(buffer, len))
		return NULL;
	buffer->data[buffer->len + len] = '\0';
	return buffer->data + buffer->len;
}

void buffer_truncate(struct buffer *buffer, size_t len)
{
	assert(len <= buffer->len);
	buffer->len = len;
	if (buffer->data)
		buffer->data[len] = '\0';
}

void buffer_clear(struct buffer *buffer)
{
	buffer->error = 0;
	buffer_truncate(buffer, 0);
}

int buffer_error(const struct buffer *buffer)
{
	return buffer->error;
}

struct slice buffer_slice(const struct buffer *buffer)
{
	return (struct slice){buffer->data ? buffer->data : "", buffer->len};
}

char *buffer_take(struct buffer *buffer, size_t *ret_len)
{
	if (!make_room(buffer, 0))
		return NULL;
	char *data = buffer->data;
	if (ret_len)
		*ret_len = buffer->len;
	buffer_init(buffer, buffer->max);
	return data;
}

void buffer_release(struct buffer *buffer)
{
	mem_free(buffer->data);
	buffer_init(buffer, buffer->max);
}
