/* SPDX-License-Identifier: MIT */
/*
 * The stream of OpenAI's chat completions, and of the many servers that imitate it.
 *
 *	{"choices":[{"index":0,"delta":{"content":"Hel"}}]}
 *	{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"a"}}]}}]}
 *	{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
 *	{"choices":[],"usage":{…}}
 *	[DONE]
 *
 * finish_reason is what makes the answer whole; usage may follow it, and the end mark, which some servers
 * leave out, only ends the waiting for it.
 *
 * Invariants: (1) a piece of a call belongs to the call of its index; without one, to the call of its id,
 * else to the newest; a piece whose id is another one begins a new call whatever its index says, because
 * some servers number every call 0; (2) id and name are taken once; (3) calls are given in the order in
 * which they began, when finish_reason came.
 */
#include "model/protocol.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "model/failure.h"

struct call {
	int64_t index; /* -1: none was given */
	struct buffer id, name, arguments;
};

struct chat {
	struct call *calls;
	size_t call_count, call_capacity;
	struct buffer response_id, stop_text;
	bool whole; /* finish_reason came */
	bool refused;
};

static void *begin(void)
{
	struct chat *chat = mem_alloc_zero(sizeof(*chat));
	if (chat) {
		buffer_init(&chat->response_id, LIMIT_MESSAGE_ID_BYTES);
		buffer_init(&chat->stop_text, LIMIT_MESSAGE_ID_BYTES);
	}
	return chat;
}

static void release(void *state)
{
	struct chat *chat = state;
	for (size_t i = 0; i < chat->call_count; i++) {
		buffer_release(&chat->calls[i].id);
		buffer_release(&chat->calls[i].name);
		buffer_release(&chat->calls[i].arguments);
	}
	mem_free(chat->calls);
	buffer_release(&chat->response_id);
	buffer_release(&chat->stop_text);
	mem_free(chat);
}

/* Takes a string once; longer ones than `buffer` allows are left out. */
static void take_once(struct sink *sink, struct buffer *buffer, const struct json *string)
{
	if (buffer->len > 0 || string->type != JSON_STRING)
		return;
	json_string_decode(string, JSON_SURROGATES_REPLACE, buffer);
	if (buffer_error(buffer) == BOBBIN_ENOMEM)
		sink->error = BOBBIN_ENOMEM;
	else if (buffer_error(buffer))
		buffer_clear(buffer);
}

static struct call *add_call(struct chat *chat, int64_t index, struct sink *sink)
{
	if (chat->call_count == LIMIT_CALLS_PER_MESSAGE) {
		sink_failure(sink, MODEL_FAILURE_PROTOCOL, "the answer has more than 1024 tool calls");
		return NULL;
	}
	if (mem_grow((void **)&chat->calls, &chat->call_capacity, chat->call_count + 1,
		    sizeof(*chat->calls)) < 0) {
		sink->error = BOBBIN_ENOMEM;
		return NULL;
	}
	struct call *call = &chat->calls[chat->call_count++];
	call->index = index;
	buffer_init(&call->id, LIMIT_LINE_BYTES);
	buffer_init(&call->name, LIMIT_LINE_BYTES);
	buffer_init(&call->arguments, LIMIT_LINE_BYTES);
	return call;
}

static bool has_text(const struct json *string)
{
	return string->type == JSON_STRING && string->len > 2;
}

static bool id_is(const struct call *call, const struct json *id, struct sink *sink)
{
	struct slice content = json_string_content(id, &sink->arena);
	if (!content.data)
		sink->error = BOBBIN_ENOMEM;
	return slice_equal(buffer_slice(&call->id), content);
}

/* The newest call that a piece with this index and id can belong to; NULL: it begins one. */
static struct call *find_call(struct chat *chat, int64_t index, const struct json *id, struct sink *sink)
{
	for (size_t i = chat->call_count; i-- > 0;) {
		struct call *call = &chat->calls[i];
		if (index >= 0 && call->index >= 0 && call->index != index)
			continue;
		if (!has_text(id) || call->id.len == 0 || id_is(call, id, sink))
			return call;
	}
	return NULL;
}

static void take_call_piece(struct chat *chat, const struct json *piece, struct sink *sink)
{
	struct json index_value, id, function, name, arguments;
	int64_t index = -1;
	if (!json_get(piece, "index", &index_value) || !json_int64(&index_value, &index) || index < 0)
		index = -1;
	json_get(piece, "id", &id);
	json_get(piece, "function", &function);
	json_get(&function, "name", &name);
	json_get(&function, "arguments", &arguments);
	struct call *call = find_call(chat, index, &id, sink);
	/* Without index and id, a name after a name begins another call. */
	if (call && index < 0 && !has_text(&id) && has_text(&name) && call->name.len > 0)
		call = NULL;
	if (!call && !(call = add_call(chat, index, sink)))
		return;
	take_once(sink, &call->id, &id);
	take_once(sink, &call->name, &name);
	if (arguments.type == JSON_OBJECT && sink_hold(sink, arguments.len))
		buffer_add(&call->arguments, arguments.text, arguments.len);
	sink_gather(sink, &call->arguments, &arguments);
	sink_check(sink, &call->arguments);
}

/* Some servers give content as parts: {"type":"text","text":…}, {"type":"thinking","thinking":[…]}. */
static void take_parts(const struct json *parts, enum model_event_type type, struct sink *sink)
{
	struct json_iter iter;
	struct json part, text;
	json_iter_init(&iter, parts);
	while (json_iter_next(&iter, NULL, &part)) {
		if (json_get(&part, "text", &text))
			sink_text(sink, type, &text);
		else if (json_get(&part, "thinking", &text) && text.type == JSON_STRING)
			sink_text(sink, MODEL_EVENT_THINKING, &text);
		else if (text.type == JSON_ARRAY && type == MODEL_EVENT_TEXT)
			take_parts(&text, MODEL_EVENT_THINKING, sink);
	}
}

static void take_delta(struct chat *chat, const struct json *delta, struct sink *sink)
{
	struct json member, piece;
	struct json_iter iter;
	if (json_get(delta, "reasoning_content", &member) || json_get(delta, "reasoning", &member))
		sink_text(sink, MODEL_EVENT_THINKING, &member);
	if (json_get(delta, "content", &member)) {
		if (member.type == JSON_ARRAY)
			take_parts(&member, MODEL_EVENT_TEXT, sink);
		else
			sink_text(sink, MODEL_EVENT_TEXT, &member);
	}
	if (json_get(delta, "refusal", &member) && has_text(&member)) {
		chat->refused = true;
		sink_text(sink, MODEL_EVENT_TEXT, &member);
	}
	json_get(delta, "tool_calls", &member);
	json_iter_init(&iter, &member);
	if (member.type == JSON_ARRAY) {
		while (json_iter_next(&iter, NULL, &piece))
			take_call_piece(chat, &piece, sink);
	}
}

static void take_usage(const struct json *usage, struct sink *sink)
{
	struct json details;
	if (usage->type != JSON_OBJECT)
		return;
	sink_usage(sink, &sink->usage.input, usage, "prompt_tokens");
	sink_usage(sink, &sink->usage.output, usage, "completion_tokens");
	sink_usage(sink, &sink->usage.cached, usage, "prompt_cache_hit_tokens");
	if (json_get(usage, "prompt_tokens_details", &details))
		sink_usage(sink, &sink->usage.cached, &details, "cached_tokens");
}

static void give_calls(struct chat *chat, struct sink *sink)
{
	for (size_t i = 0; i < chat->call_count; i++) {
		struct call *call = &chat->calls[i];
		if (call->id.len == 0) {
			struct slice response = buffer_slice(&chat->response_id);
			buffer_addf(&call->id, "%.*s-%zu", response.len ? (int)response.len : 4,
				response.len ? response.data : "call", i);
			sink_check(sink, &call->id);
		}
		sink_call(sink, buffer_slice(&call->id), buffer_slice(&call->name),
			buffer_slice(&call->arguments));
	}
}

static void take_choice(struct chat *chat, const struct json *choice, struct sink *sink)
{
	struct json index_value, delta, reason;
	int64_t index;
	if (json_get(choice, "index", &index_value) && json_int64(&index_value, &index) && index != 0)
		return; /* only one answer was asked for */
	if (json_get(choice, "delta", &delta) || json_get(choice, "message", &delta))
		take_delta(chat, &delta, sink);
	if (!json_get(choice, "finish_reason", &reason) || !has_text(&reason) || chat->whole)
		return;
	take_once(sink, &chat->stop_text, &reason);
	chat->whole = true;
	give_calls(chat, sink);
}

static void take(void *state, struct slice type, const struct json *data, struct sink *sink)
{
	struct chat *chat = state;
	struct json member, choice;
	struct json_iter iter;
	(void)type;
	if (json_get(data, "error", &member) && member.type != JSON_NULL) {
		failure_into(sink, data);
		return;
	}
	if (json_get(data, "id", &member))
		take_once(sink, &chat->response_id, &member);
	if (json_get(data, "usage", &member))
		take_usage(&member, sink);
	json_get(data, "choices", &member);
	json_iter_init(&iter, &member);
	if (member.type == JSON_ARRAY) {
		while (json_iter_next(&iter, NULL, &choice))
			take_choice(chat, &choice, sink);
	}
}

static bool is_whole(const void *state)
{
	return ((const struct chat *)state)->whole;
}

static enum model_stop stop_of(const struct chat *chat)
{
	struct slice text = buffer_slice(&chat->stop_text);
	if (chat->refused || slice_is(text, "content_filter"))
		return MODEL_STOP_FILTER;
	if (slice_is(text, "length"))
		return MODEL_STOP_LENGTH;
	if (slice_is(text, "tool_calls") || slice_is(text, "function_call"))
		return MODEL_STOP_TOOL_CALLS;
	if (slice_is(text, "stop")) /* also said by servers that do not know the other word */
		return chat->call_count ? MODEL_STOP_TOOL_CALLS : MODEL_STOP_END;
	return MODEL_STOP_OTHER;
}

static void end(void *state, struct sink *sink)
{
	struct chat *chat = state;
	if (chat->whole)
		sink_done(sink, stop_of(chat), buffer_slice(&chat->stop_text));
}

const struct protocol protocol_openai_chat = {MODEL_OPENAI_CHAT, begin, take, is_whole, end, release};
