/* SPDX-License-Identifier: MIT */
/* See sink.h. */
#include "model/sink.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/provider.h"

void sink_init(struct sink *sink, enum model_dialect dialect)
{
	*sink = (struct sink){.usage = {dialect, -1, -1, -1, -1}, .secret = SLICE_LITERAL("")};
	buffer_init(&sink->text, LIMIT_LINE_BYTES);
}

void sink_release(struct sink *sink)
{
	mem_free(sink->events);
	arena_release(&sink->arena);
	buffer_release(&sink->text);
}

bool sink_next(struct sink *sink, struct model_event *ret_event)
{
	if (sink->next == sink->count)
		return false;
	*ret_event = sink->events[sink->next++];
	return true;
}

void sink_forget(struct sink *sink)
{
	sink->count = sink->next = 0;
	arena_reset(&sink->arena);
}

static struct slice keep(struct sink *sink, struct slice bytes)
{
	char *copy = arena_copy(&sink->arena, bytes.data, bytes.len);
	if (!copy)
		sink->error = BOBBIN_ENOMEM;
	return (struct slice){copy, copy ? bytes.len : 0};
}

static void push(struct sink *sink, const struct model_event *event)
{
	if (mem_grow((void **)&sink->events, &sink->capacity, sink->count + 1, sizeof(*event)) < 0) {
		sink->error = BOBBIN_ENOMEM;
		return;
	}
	sink->events[sink->count++] = *event;
}

/* The lead byte says three bytes follow that are a surrogate: ED A0..AF xx high, ED B0..BF xx low. */
static bool is_surrogate(const char *data, size_t len, unsigned char half)
{
	return len >= 3 && (unsigned char)data[0] == 0xED && ((unsigned char)data[1] & 0xF0) == half;
}

static uint32_t surrogate_bits(const char *data)
{
	return (uint32_t)((unsigned char)data[1] & 0x0F) << 6 | ((unsigned char)data[2] & 0x3F);
}

/* Appends text in which surrogates have three bytes: pairs become characters, lone ones U+FFFD. */
static void add_joined(struct buffer *out, struct slice text)
{
	if (text.len == 0)
		return;
	const char *at = text.data, *end = text.data + text.len, *begin = at;
	while ((at = memchr(at, 0xED, (size_t)(end - at)))) {
		if (is_surrogate(at, (size_t)(end - at), 0xA0) &&
			is_surrogate(at + 3, (size_t)(end - at) - 3, 0xB0)) {
			char bytes[4];
			uint32_t high = surrogate_bits(at), low = surrogate_bits(at + 3);
			utf8_add_clean(out, begin, (size_t)(at - begin));
			buffer_add(out, bytes, utf8_encode(0x10000 + (high << 10 | low), bytes));
			begin = at += 6;
		} else {
			at++;
		}
	}
	utf8_add_clean(out, begin, (size_t)(end - begin));
}

static struct slice keep_joined(struct sink *sink, struct slice text)
{
	buffer_clear(&sink->text);
	add_joined(&sink->text, text);
	sink_check(sink, &sink->text);
	return keep(sink, buffer_slice(&sink->text));
}

static void push_text(struct sink *sink, enum model_event_type type, struct slice text)
{
	if (text.len > 0)
		push(sink, &(struct model_event){.type = type, .text = text});
}

/* Half a pair whose other half did not come. */
static void end_half(struct sink *sink)
{
	if (!sink->has_half)
		return;
	sink->has_half = false;
	push_text(sink, sink->kind, keep(sink, SLICE_LITERAL("\xEF\xBF\xBD")));
}

bool sink_hold(struct sink *sink, size_t bytes)
{
	if (sink->ended)
		return false;
	sink->held += bytes;
	if (sink->held <= LIMIT_LINE_BYTES)
		return true;
	sink_failure(sink, MODEL_FAILURE_PROTOCOL, "the answer is larger than 64 MiB");
	return false;
}

void sink_check(struct sink *sink, const struct buffer *buffer)
{
	if (buffer_error(buffer) == BOBBIN_ENOMEM)
		sink->error = BOBBIN_ENOMEM;
	else if (buffer_error(buffer))
		sink_failure(sink, MODEL_FAILURE_PROTOCOL, "the answer is larger than 64 MiB");
}

void sink_text(struct sink *sink, enum model_event_type type, const struct json *string)
{
	if (string->type != JSON_STRING || string->len == 2 || !sink_hold(sink, string->len - 2))
		return;
	if (sink->has_half && sink->kind != type)
		end_half(sink);
	struct buffer decoded = BUFFER_INIT(LIMIT_LINE_BYTES);
	if (sink->has_half)
		buffer_add(&decoded, sink->half, sizeof(sink->half));
	sink->has_half = false;
	json_string_decode(string, JSON_SURROGATES_KEEP, &decoded);
	struct slice text = buffer_slice(&decoded);
	if (text.len >= 3 && is_surrogate(text.data + text.len - 3, 3, 0xA0)) {
		text.len -= 3;
		memcpy(sink->half, text.data + text.len, 3);
		sink->has_half = true;
		sink->kind = type;
	}
	push_text(sink, type, keep_joined(sink, text));
	sink_check(sink, &decoded);
	buffer_release(&decoded);
}

void sink_call(struct sink *sink, struct slice id, struct slice name, struct slice arguments)
{
	if (sink->ended)
		return;
	if (++sink->calls > LIMIT_CALLS_PER_MESSAGE) {
		sink_failure(sink, MODEL_FAILURE_PROTOCOL, "the answer has more than 1024 tool calls");
		return;
	}
	if (name.len == 0) {
		sink_failure(sink, MODEL_FAILURE_PROTOCOL, "the answer has a tool call without a name");
		return;
	}
	end_half(sink);
	struct model_event event = {.type = MODEL_EVENT_CALL};
	event.call.id = keep_joined(sink, id);
	event.call.name = keep_joined(sink, name);
	event.call.arguments = arguments.len ? keep_joined(sink, arguments) : SLICE_LITERAL("{}");
	push(sink, &event);
}

void sink_sealed(struct sink *sink, struct slice block)
{
	if (sink->ended)
		return;
	end_half(sink);
	push(sink, &(struct model_event){.type = MODEL_EVENT_SEALED, .sealed = keep(sink, block)});
}

static void push_usage(struct sink *sink)
{
	end_half(sink);
	if (sink->has_usage)
		push(sink, &(struct model_event){.type = MODEL_EVENT_USAGE, .usage = sink->usage});
	sink->ended = true;
}

void sink_done(struct sink *sink, enum model_stop stop, struct slice stop_text)
{
	if (sink->ended)
		return;
	push_usage(sink);
	push(sink,
		&(struct model_event){
			.type = MODEL_EVENT_DONE, .stop = stop, .stop_text = keep_joined(sink, stop_text)});
}

void sink_error(struct sink *sink, const struct model_event *event)
{
	if (sink->ended)
		return;
	push_usage(sink);
	struct model_event copy = *event;
	if (copy.error.http_status == 0)
		copy.error.http_status = sink->http_status;
	copy.error.message = keep(sink, event->error.message);
	push(sink, &copy);
}

void sink_failure(struct sink *sink, enum model_failure failure, const char *message)
{
	struct model_event event;
	model_event_failure(&event, failure, 0, message);
	event.error.retry = false;
	sink_error(sink, &event);
}

bool sink_gather(struct sink *sink, struct buffer *buffer, const struct json *string)
{
	if (string->type != JSON_STRING)
		return true;
	if (!sink_hold(sink, string->len - 2))
		return false;
	json_string_decode(string, JSON_SURROGATES_KEEP, buffer);
	sink_check(sink, buffer);
	return !sink->error;
}

void sink_usage(struct sink *sink, int64_t *figure, const struct json *object, const char *key)
{
	struct json member;
	int64_t value;
	if (!json_get(object, key, &member) || !json_int64(&member, &value) || value < 0)
		return;
	*figure = value;
	sink->has_usage = true;
}
