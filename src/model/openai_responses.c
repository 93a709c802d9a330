/* SPDX-License-Identifier: MIT */
/*
 * The stream of OpenAI's responses.
 *
 *	response.created … response.output_item.added {output_index, item}
 *	response.output_text.delta {output_index, delta} … response.output_item.done {output_index, item}
 *	response.completed | response.incomplete | response.failed {response}
 *
 * Everything but the readable text comes again, whole, in output_item.done; so only texts are followed piece
 * by piece.
 *
 * Invariants: (1) one of the three last events ends the answer; (2) items that are neither a message nor a
 * call of ours come out as sealed blocks, byte for byte; (3) a message whose text did not come in pieces is
 * given when it is done.
 */
#include "model/protocol.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "model/failure.h"

struct responses {
	int64_t *streamed; /* output indexes whose text came in pieces */
	size_t streamed_count, streamed_capacity;
	struct buffer scratch;
	bool called, refused;
};

static void *begin(void)
{
	struct responses *responses = mem_alloc_zero(sizeof(*responses));
	if (responses)
		buffer_init(&responses->scratch, LIMIT_LINE_BYTES);
	return responses;
}

static void release(void *state)
{
	struct responses *responses = state;
	mem_free(responses->streamed);
	buffer_release(&responses->scratch);
	mem_free(responses);
}

static int64_t output_index(const struct json *data)
{
	struct json member;
	int64_t index;
	return json_get(data, "output_index", &member) && json_int64(&member, &index) ? index : -1;
}

static bool was_streamed(const struct responses *responses, int64_t index)
{
	for (size_t i = responses->streamed_count; i-- > 0;) {
		if (responses->streamed[i] == index)
			return true;
	}
	return false;
}

static void take_text(struct responses *responses, const struct json *data, struct sink *sink)
{
	struct json delta;
	int64_t index = output_index(data);
	if (!json_get(data, "delta", &delta))
		return;
	sink_text(sink, MODEL_EVENT_TEXT, &delta);
	if (was_streamed(responses, index) || !sink_hold(sink, sizeof(index)))
		return;
	if (mem_grow((void **)&responses->streamed, &responses->streamed_capacity,
		    responses->streamed_count + 1, sizeof(index)) < 0)
		sink->error = BOBBIN_ENOMEM;
	else
		responses->streamed[responses->streamed_count++] = index;
}

static void take_message(
	struct responses *responses, int64_t index, const struct json *item, struct sink *sink)
{
	struct json content, part, text;
	struct json_iter iter;
	json_get(item, "content", &content);
	json_iter_init(&iter, &content);
	while (content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &part)) {
		bool refusal = json_get(&part, "refusal", &text);
		responses->refused |= refusal;
		if (!was_streamed(responses, index) && (refusal || json_get(&part, "text", &text)))
			sink_text(sink, MODEL_EVENT_TEXT, &text);
	}
}

static struct slice content_of(const struct json *object, const char *key, struct sink *sink)
{
	struct json member;
	if (!json_get(object, key, &member) || member.type != JSON_STRING)
		return SLICE_LITERAL("");
	struct slice content = json_string_content(&member, &sink->arena);
	if (!content.data)
		sink->error = BOBBIN_ENOMEM;
	return content.data ? content : SLICE_LITERAL("");
}

static void take_call(struct responses *responses, const struct json *item, struct sink *sink)
{
	struct json member;
	buffer_clear(&responses->scratch);
	if (json_get(item, "arguments", &member) && !sink_gather(sink, &responses->scratch, &member))
		return;
	responses->called = true;
	sink_call(sink, content_of(item, "call_id", sink), content_of(item, "name", sink),
		buffer_slice(&responses->scratch));
}

static void take_item(struct responses *responses, const struct json *data, struct sink *sink)
{
	struct json item, type;
	if (!json_get(data, "item", &item) || item.type != JSON_OBJECT)
		return;
	json_get(&item, "type", &type);
	if (json_string_is(&type, "message"))
		take_message(responses, output_index(data), &item, sink);
	else if (json_string_is(&type, "function_call"))
		take_call(responses, &item, sink);
	else if (sink_hold(sink, item.len))
		sink_sealed(sink, (struct slice){item.text, item.len});
}

static void take_usage(const struct json *response, struct sink *sink)
{
	struct json usage, details;
	if (!json_get(response, "usage", &usage) || usage.type != JSON_OBJECT)
		return;
	sink_usage(sink, &sink->usage.input, &usage, "input_tokens");
	sink_usage(sink, &sink->usage.output, &usage, "output_tokens");
	if (json_get(&usage, "input_tokens_details", &details))
		sink_usage(sink, &sink->usage.cached, &details, "cached_tokens");
}

static void take_completed(struct responses *responses, struct sink *sink)
{
	enum model_stop stop = responses->called ? MODEL_STOP_TOOL_CALLS : MODEL_STOP_END;
	sink_done(sink, responses->refused ? MODEL_STOP_FILTER : stop, SLICE_LITERAL("completed"));
}

static void take_incomplete(const struct json *response, struct sink *sink)
{
	struct json details;
	json_get(response, "incomplete_details", &details);
	struct slice reason = content_of(&details, "reason", sink);
	enum model_stop stop = MODEL_STOP_OTHER;
	if (slice_is(reason, "max_output_tokens"))
		stop = MODEL_STOP_LENGTH;
	else if (slice_is(reason, "content_filter"))
		stop = MODEL_STOP_FILTER;
	sink_done(sink, stop, reason.len ? reason : SLICE_LITERAL("incomplete"));
}

static void take(void *state, struct slice type, const struct json *data, struct sink *sink)
{
	struct responses *responses = state;
	struct json name, response, delta;
	(void)type; /* the data says it as well */
	json_get(data, "type", &name);
	json_get(data, "response", &response);
	if (json_string_is(&name, "response.output_text.delta")) {
		take_text(responses, data, sink);
	} else if (json_string_is(&name, "response.refusal.delta")) {
		responses->refused = true;
		take_text(responses, data, sink);
	} else if (json_string_is(&name, "response.reasoning_summary_text.delta") ||
		   json_string_is(&name, "response.reasoning_text.delta")) {
		if (json_get(data, "delta", &delta))
			sink_text(sink, MODEL_EVENT_THINKING, &delta);
	} else if (json_string_is(&name, "response.output_item.done")) {
		take_item(responses, data, sink);
	} else if (json_string_is(&name, "response.completed")) {
		take_usage(&response, sink);
		take_completed(responses, sink);
	} else if (json_string_is(&name, "response.incomplete")) {
		take_usage(&response, sink);
		take_incomplete(&response, sink);
	} else if (json_string_is(&name, "response.failed") || json_string_is(&name, "error")) {
		take_usage(&response, sink);
		failure_into(sink, data);
	}
}

/* The event that ends the answer has given DONE itself. */
static bool is_whole(const void *state)
{
	(void)state;
	return false;
}

static void end(void *state, struct sink *sink)
{
	(void)state;
	(void)sink;
}

const struct protocol protocol_openai_responses = {
	MODEL_OPENAI_RESPONSES, begin, take, is_whole, end, release};
