/* SPDX-License-Identifier: MIT */
/* The path of the bytes through a protocol (protocol.h). */
#include "base/utf8.h"
#include "model/failure.h"
#include "model/protocol.h"

const struct protocol *protocol_of(enum model_dialect dialect)
{
	static const struct protocol *const protocols[] = {
		&protocol_openai_chat, &protocol_openai_responses, &protocol_anthropic};
	return protocols[dialect];
}

int reader_init(struct reader *reader, const struct protocol *protocol)
{
	reader->protocol = protocol;
	sse_init(&reader->sse);
	sink_init(&reader->sink, protocol->dialect);
	reader->state = protocol->begin();
	return reader->state ? 0 : BOBBIN_ENOMEM;
}

void reader_release(struct reader *reader)
{
	if (reader->state)
		reader->protocol->release(reader->state);
	sse_release(&reader->sse);
	sink_release(&reader->sink);
}

static void take_json(struct reader *reader, struct slice type, struct slice text)
{
	struct json data;
	if (json_parse(text.data, text.len, &data, NULL) < 0 || data.type != JSON_OBJECT) {
		sink_failure(&reader->sink, MODEL_FAILURE_PROTOCOL,
			"the provider sent an event that is not a JSON object");
		return;
	}
	if (slice_is(type, "error"))
		failure_into(&reader->sink, &data);
	else
		reader->protocol->take(reader->state, type, &data, &reader->sink);
}

/* Bytes that are not UTF-8 are replaced before anybody reads them; they can only be the server's fault,
 * because a whole event is looked at. */
static void take_event(struct reader *reader, const struct sse_event *event)
{
	struct slice data = event->data;
	if (data.len == 0)
		return;
	if (slice_is(data, "[DONE]")) {
		reader->protocol->end(reader->state, &reader->sink);
		if (!reader->sink.ended)
			sink_failure(&reader->sink, MODEL_FAILURE_CUT_OFF,
				"the provider ended the answer without saying that it is finished");
		return;
	}
	if (utf8_valid_prefix(data.data, data.len) == data.len) {
		take_json(reader, event->type, data);
		return;
	}
	struct buffer clean = BUFFER_INIT(SIZE_MAX / 2);
	utf8_add_clean(&clean, data.data, data.len);
	if (buffer_error(&clean))
		reader->sink.error = BOBBIN_ENOMEM;
	else
		take_json(reader, event->type, buffer_slice(&clean));
	buffer_release(&clean);
}

int reader_take(struct reader *reader, struct slice *input)
{
	struct sse_event event;
	struct sink *sink = &reader->sink;
	sink_forget(sink);
	while (sink->count == 0 && !sink->ended) {
		int rc = sse_next(&reader->sse, input, &event);
		if (rc == 0)
			break;
		if (rc == BOBBIN_ENOMEM)
			return rc;
		if (rc < 0)
			sink_failure(sink, MODEL_FAILURE_PROTOCOL,
				"the provider sent a line or an event of more than 16 MiB");
		else
			take_event(reader, &event);
		if (sink->error)
			return sink->error;
	}
	return 0;
}

int reader_end(struct reader *reader, const char *words)
{
	struct sink *sink = &reader->sink;
	sink_forget(sink);
	reader->protocol->end(reader->state, sink);
	if (!sink->ended)
		sink_failure(sink, MODEL_FAILURE_CUT_OFF, words);
	return sink->error;
}

bool reader_is_whole(const struct reader *reader)
{
	return reader->protocol->is_whole(reader->state);
}
