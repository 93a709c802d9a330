/* SPDX-License-Identifier: MIT */
/*
 * A provider's answer of any bytes, in each dialect: the events are the same however the bytes were cut,
 * their texts are UTF-8, and there is one terminal event, the last.
 *
 * The first byte says where the bytes are cut.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/utf8.h"
#include "model/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "fuzz_stream.c:%d: not so: %s\n", __LINE__, #condition);             \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct seen {
	struct buffer text;
	size_t terminals, usages;
};

static void add_text(struct seen *seen, struct slice text)
{
	CHECK(utf8_valid_prefix(text.data, text.len) == text.len);
	buffer_add_slice(&seen->text, text);
	buffer_add_char(&seen->text, '\x01');
}

static void add_event(struct seen *seen, const struct model_event *event)
{
	struct json block;
	CHECK(seen->terminals == 0);
	seen->terminals += model_event_is_terminal(event);
	seen->usages += event->type == MODEL_EVENT_USAGE;
	buffer_add_char(&seen->text, (char)('a' + event->type));
	if (event->type == MODEL_EVENT_TEXT || event->type == MODEL_EVENT_THINKING) {
		CHECK(event->text.len > 0);
		add_text(seen, event->text);
	} else if (event->type == MODEL_EVENT_CALL) {
		CHECK(event->call.name.len > 0 && event->call.arguments.len > 0);
		add_text(seen, event->call.id);
		add_text(seen, event->call.name);
		add_text(seen, event->call.arguments);
	} else if (event->type == MODEL_EVENT_SEALED) {
		CHECK(json_parse(event->sealed.data, event->sealed.len, &block, NULL) == 0);
		CHECK(block.type == JSON_OBJECT);
		add_text(seen, event->sealed);
	} else if (event->type == MODEL_EVENT_DONE) {
		add_text(seen, event->stop_text);
	} else if (event->type == MODEL_EVENT_ERROR) {
		CHECK(event->error.message.len > 0);
		add_text(seen, event->error.message);
	}
}

static void drain(struct reader *reader, struct seen *seen)
{
	struct model_event event;
	CHECK(reader->sink.error == 0);
	while (sink_next(&reader->sink, &event))
		add_event(seen, &event);
}

/* Reads the bytes in pieces of `step`, the last one shorter. */
static void read_in_steps(
	const struct protocol *protocol, const char *data, size_t len, size_t step, struct seen *seen)
{
	struct reader reader;
	CHECK(reader_init(&reader, protocol) == 0);
	for (size_t at = 0; at < len; at += step) {
		struct slice piece = {data + at, len - at < step ? len - at : step};
		while (piece.len > 0 && !reader.sink.ended) {
			CHECK(reader_take(&reader, &piece) == 0);
			drain(&reader, seen);
		}
	}
	if (!reader.sink.ended) {
		CHECK(reader_end(&reader, "the bytes ended") == 0);
		drain(&reader, seen);
	}
	CHECK(seen->terminals == 1 && seen->usages <= 1);
	reader_release(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t step = len > 0 ? data[0] % 32 + 1 : 1;
	for (int dialect = MODEL_OPENAI_CHAT; dialect <= MODEL_ANTHROPIC; dialect++) {
		struct seen whole = {.text = BUFFER_INIT(1u << 26)}, cut = {.text = BUFFER_INIT(1u << 26)};
		const struct protocol *protocol = protocol_of((enum model_dialect)dialect);
		const char *text = (const char *)data + (len > 0);
		size_t text_len = len - (len > 0);
		read_in_steps(protocol, text, text_len, text_len ? text_len : 1, &whole);
		read_in_steps(protocol, text, text_len, step, &cut);
		CHECK(slice_equal(buffer_slice(&whole.text), buffer_slice(&cut.text)));
		buffer_release(&whole.text);
		buffer_release(&cut.text);
	}
	return 0;
}
