/* SPDX-License-Identifier: MIT */
/* See sse.h. A line is gathered whole before it is looked at; that is what makes every division the same. */
#include "model/sse.h"

#include "base/limits.h"

void sse_init(struct sse *sse)
{
	*sse = (struct sse){.begun = false};
	buffer_init(&sse->line, LIMIT_EVENT_BYTES);
	buffer_init(&sse->data, LIMIT_EVENT_BYTES);
	buffer_init(&sse->type, LIMIT_EVENT_BYTES);
}

void sse_release(struct sse *sse)
{
	buffer_release(&sse->line);
	buffer_release(&sse->data);
	buffer_release(&sse->type);
}

static void advance(struct slice *slice, size_t len)
{
	slice->data += len;
	slice->len -= len;
}

/* The bytes before the first LF or CR; all of them if there is none. */
static size_t line_length(struct slice bytes)
{
	const char *end = memchr(bytes.data, '\n', bytes.len);
	size_t len = end ? (size_t)(end - bytes.data) : bytes.len;
	const char *carriage = memchr(bytes.data, '\r', len);
	return carriage ? (size_t)(carriage - bytes.data) : len;
}

static void take_field(struct sse *sse, struct slice name, struct slice value)
{
	if (slice_is(name, "data")) {
		if (sse->has_data)
			buffer_add_char(&sse->data, '\n');
		sse->has_data = true;
		buffer_add_slice(&sse->data, value);
	} else if (slice_is(name, "event")) {
		buffer_clear(&sse->type);
		buffer_add_slice(&sse->type, value);
	}
}

/* True if the line, the empty one, ends an event that has data. */
static bool take_line(struct sse *sse, struct slice line)
{
	if (!sse->begun && slice_starts_with(line, "\xEF\xBB\xBF"))
		advance(&line, 3);
	sse->begun = true;
	if (line.len == 0) {
		if (!sse->has_data)
			buffer_clear(&sse->type);
		sse->given = sse->has_data;
		return sse->given;
	}
	const char *colon = memchr(line.data, ':', line.len);
	struct slice name = {line.data, colon ? (size_t)(colon - line.data) : line.len};
	struct slice value = line;
	advance(&value, colon ? name.len + 1 : line.len);
	if (value.len > 0 && value.data[0] == ' ')
		advance(&value, 1);
	take_field(sse, name, value);
	return false;
}

static int sticky_error(const struct sse *sse)
{
	if (buffer_error(&sse->line))
		return buffer_error(&sse->line);
	return buffer_error(&sse->data) ? buffer_error(&sse->data) : buffer_error(&sse->type);
}

static void forget_given(struct sse *sse)
{
	if (!sse->given)
		return;
	buffer_clear(&sse->data);
	buffer_clear(&sse->type);
	sse->has_data = sse->given = false;
}

int sse_next(struct sse *sse, struct slice *input, struct sse_event *ret_event)
{
	if (sticky_error(sse))
		return sticky_error(sse);
	forget_given(sse);
	while (input->len > 0) {
		bool second_half = sse->after_cr && input->data[0] == '\n';
		sse->after_cr = false;
		if (second_half) {
			advance(input, 1);
			continue;
		}
		size_t len = line_length(*input);
		buffer_add(&sse->line, input->data, len);
		bool ended = len < input->len, event = false;
		if (ended) {
			sse->after_cr = input->data[len] == '\r';
			event = take_line(sse, buffer_slice(&sse->line));
		}
		advance(input, len + ended);
		if (sticky_error(sse))
			return sticky_error(sse);
		if (ended)
			buffer_clear(&sse->line);
		if (event) {
			*ret_event = (struct sse_event){buffer_slice(&sse->type), buffer_slice(&sse->data)};
			return 1;
		}
	}
	return 0;
}

bool sse_is_unfinished(const struct sse *sse)
{
	bool comment = sse->line.len > 0 && sse->line.data[0] == ':';
	return (sse->has_data && !sse->given) || (sse->line.len > 0 && !comment);
}
