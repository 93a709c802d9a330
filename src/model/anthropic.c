/* SPDX-License-Identifier: MIT */
/*
 * The stream of Anthropic's messages.
 *
 *	message_start {message{usage}}
 *	content_block_start {index, content_block} … content_block_delta {index, delta} … content_block_stop {index}
 *	message_delta {delta{stop_reason}, usage}      cumulative figures
 *	message_stop
 *
 * Invariants: (1) message_stop, and nothing before it, makes the answer whole; (2) a piece belongs to
 * the block of its index; (3) thinking, redacted thinking, what the provider ran itself, and blocks of a
 * kind that is not known come out as sealed blocks: the block of content_block_start with the gathered
 * strings put in, every other byte as it came.
 */
#include "model/protocol.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "model/failure.h"

enum kind { KIND_TEXT, KIND_CALL, KIND_SEALED };

struct block {
	int64_t index;
	enum kind kind;
	bool open;
	struct buffer start;	/* content_block as it came */
	struct buffer id, name; /* of a call */
	struct buffer input;	/* JSON of the input, joined pieces */
	struct buffer thinking, signature;
};

struct messages {
	struct block *blocks;
	size_t block_count, block_capacity;
	struct buffer stop_text;
	bool stopped; /* message_stop came */
};

static void *begin(void)
{
	struct messages *messages = mem_alloc_zero(sizeof(*messages));
	if (messages)
		buffer_init(&messages->stop_text, LIMIT_MESSAGE_ID_BYTES);
	return messages;
}

static void release_block(struct block *block)
{
	buffer_release(&block->start);
	buffer_release(&block->id);
	buffer_release(&block->name);
	buffer_release(&block->input);
	buffer_release(&block->thinking);
	buffer_release(&block->signature);
}

static void release(void *state)
{
	struct messages *messages = state;
	for (size_t i = 0; i < messages->block_count; i++)
		release_block(&messages->blocks[i]);
	mem_free(messages->blocks);
	buffer_release(&messages->stop_text);
	mem_free(messages);
}

/* The open block of this index. A place whose block is closed is used again. */
static struct block *find_block(struct messages *messages, int64_t index)
{
	for (size_t i = 0; i < messages->block_count; i++) {
		if (messages->blocks[i].open && messages->blocks[i].index == index)
			return &messages->blocks[i];
	}
	return NULL;
}

static struct block *add_block(struct messages *messages, struct sink *sink)
{
	struct block *block = NULL;
	for (size_t i = 0; i < messages->block_count && !block; i++) {
		if (!messages->blocks[i].open)
			block = &messages->blocks[i];
	}
	if (block) {
		release_block(block);
	} else {
		if (messages->block_count == LIMIT_CALLS_PER_MESSAGE) {
			sink_failure(
				sink, MODEL_FAILURE_PROTOCOL, "the answer has more than 1024 open blocks");
			return NULL;
		}
		if (mem_grow((void **)&messages->blocks, &messages->block_capacity, messages->block_count + 1,
			    sizeof(*block)) < 0) {
			sink->error = BOBBIN_ENOMEM;
			return NULL;
		}
		block = &messages->blocks[messages->block_count++];
	}
	*block = (struct block){.open = true};
	struct buffer *buffers[] = {
		&block->start, &block->id, &block->name, &block->input, &block->thinking, &block->signature};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		buffer_init(buffers[i], LIMIT_LINE_BYTES);
	return block;
}

static enum kind kind_of(const struct json *type)
{
	if (json_string_is(type, "text"))
		return KIND_TEXT;
	return json_string_is(type, "tool_use") ? KIND_CALL : KIND_SEALED;
}

static void start_block(
	struct messages *messages, int64_t index, const struct json *content, struct sink *sink)
{
	struct json member;
	struct block *block = add_block(messages, sink);
	if (!block)
		return;
	json_get(content, "type", &member);
	block->index = index;
	block->kind = kind_of(&member);
	if (sink_hold(sink, content->len))
		buffer_add(&block->start, content->text, content->len);
	sink_check(sink, &block->start);
	if (json_get(content, "text", &member) && block->kind == KIND_TEXT)
		sink_text(sink, MODEL_EVENT_TEXT, &member);
	if (json_get(content, "thinking", &member)) {
		sink_gather(sink, &block->thinking, &member);
		sink_text(sink, MODEL_EVENT_THINKING, &member);
	}
	if (json_get(content, "signature", &member))
		sink_gather(sink, &block->signature, &member);
	if (block->kind == KIND_CALL) {
		json_get(content, "id", &member);
		sink_gather(sink, &block->id, &member);
		json_get(content, "name", &member);
		sink_gather(sink, &block->name, &member);
	}
}

static void take_delta(struct block *block, const struct json *delta, struct sink *sink)
{
	struct json type, member;
	json_get(delta, "type", &type);
	if (json_string_is(&type, "text_delta") && json_get(delta, "text", &member))
		sink_text(sink, MODEL_EVENT_TEXT, &member);
	else if (json_string_is(&type, "input_json_delta") && json_get(delta, "partial_json", &member))
		sink_gather(sink, &block->input, &member);
	else if (json_string_is(&type, "thinking_delta") && json_get(delta, "thinking", &member)) {
		sink_text(sink, MODEL_EVENT_THINKING, &member);
		sink_gather(sink, &block->thinking, &member);
	} else if (json_string_is(&type, "signature_delta") && json_get(delta, "signature", &member))
		sink_gather(sink, &block->signature, &member);
}

/* Puts a string, or with `raw` a JSON value, into the block's bytes. */
static void put_member(struct buffer *block, const char *key, struct slice value, bool raw, struct sink *sink)
{
	struct json object;
	struct buffer out = BUFFER_INIT(SIZE_MAX / 2), quoted = BUFFER_INIT(SIZE_MAX / 2);
	struct json_writer writer;
	json_writer_init(&writer, &quoted);
	if (!raw)
		json_add_string(&writer, value);
	if (json_parse(block->data, block->len, &object, NULL) == 0)
		json_splice(&out, &object, key, raw ? value : buffer_slice(&quoted));
	buffer_clear(block);
	buffer_add_slice(block, buffer_slice(&out));
	sink_check(sink, &quoted);
	sink_check(sink, &out);
	sink_check(sink, block);
	buffer_release(&out);
	buffer_release(&quoted);
}

static void give_sealed(struct block *block, struct sink *sink)
{
	struct json input;
	if (block->thinking.len)
		put_member(&block->start, "thinking", buffer_slice(&block->thinking), false, sink);
	if (block->signature.len)
		put_member(&block->start, "signature", buffer_slice(&block->signature), false, sink);
	if (block->input.len && json_parse(block->input.data, block->input.len, &input, NULL) == 0)
		put_member(&block->start, "input", buffer_slice(&block->input), true, sink);
	if (!sink->error)
		sink_sealed(sink, buffer_slice(&block->start));
}

/* The input came in pieces, or whole with the start. */
static struct slice arguments_of(const struct block *block)
{
	struct json start, input;
	if (block->input.len == 0 && json_parse(block->start.data, block->start.len, &start, NULL) == 0 &&
		json_get(&start, "input", &input) && input.type == JSON_OBJECT)
		return (struct slice){input.text, input.len};
	return buffer_slice(&block->input);
}

static void stop_block(struct block *block, struct sink *sink)
{
	block->open = false;
	if (block->kind == KIND_CALL) {
		sink_call(sink, buffer_slice(&block->id), buffer_slice(&block->name), arguments_of(block));
	} else if (block->kind == KIND_SEALED) {
		give_sealed(block, sink);
	}
}

static void take_block_event(
	struct messages *messages, const struct json *type, const struct json *data, struct sink *sink)
{
	struct json member;
	int64_t index;
	if (!json_get(data, "index", &member) || !json_int64(&member, &index))
		return;
	struct block *block = find_block(messages, index);
	if (json_string_is(type, "content_block_start") && json_get(data, "content_block", &member) &&
		member.type == JSON_OBJECT) {
		if (block) /* a server that forgets to stop */
			stop_block(block, sink);
		start_block(messages, index, &member, sink);
	} else if (block && json_string_is(type, "content_block_delta") && json_get(data, "delta", &member)) {
		take_delta(block, &member, sink);
	} else if (block && json_string_is(type, "content_block_stop")) {
		stop_block(block, sink);
	}
}

static void take_usage(const struct json *usage, struct sink *sink)
{
	if (usage->type != JSON_OBJECT)
		return;
	sink_usage(sink, &sink->usage.input, usage, "input_tokens");
	sink_usage(sink, &sink->usage.cached, usage, "cache_read_input_tokens");
	sink_usage(sink, &sink->usage.cache_write, usage, "cache_creation_input_tokens");
	sink_usage(sink, &sink->usage.output, usage, "output_tokens");
}

static void take_message_delta(struct messages *messages, const struct json *data, struct sink *sink)
{
	struct json delta, member;
	json_get(data, "delta", &delta);
	if (json_get(&delta, "stop_reason", &member) && member.type == JSON_STRING) {
		buffer_clear(&messages->stop_text);
		json_string_decode(&member, JSON_SURROGATES_REPLACE, &messages->stop_text);
		sink_check(sink, &messages->stop_text);
	}
	if (json_get(data, "usage", &member))
		take_usage(&member, sink);
}

static bool is_whole(const void *state)
{
	const struct messages *messages = state;
	return messages->stopped;
}

static enum model_stop stop_of(struct slice text)
{
	static const struct {
		const char *text;
		enum model_stop stop;
	} stops[] = {
		{"end_turn", MODEL_STOP_END},
		{"stop_sequence", MODEL_STOP_END},
		{"tool_use", MODEL_STOP_TOOL_CALLS},
		{"max_tokens", MODEL_STOP_LENGTH},
		{"model_context_window_exceeded", MODEL_STOP_LENGTH},
		{"refusal", MODEL_STOP_FILTER},
		{"pause_turn", MODEL_STOP_PAUSE},
	};
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		if (slice_is(text, stops[i].text))
			return stops[i].stop;
	}
	return MODEL_STOP_OTHER;
}

static void end(void *state, struct sink *sink)
{
	struct messages *messages = state;
	if (messages->stopped)
		sink_done(sink, stop_of(buffer_slice(&messages->stop_text)),
			buffer_slice(&messages->stop_text));
}

static void take(void *state, struct slice type, const struct json *data, struct sink *sink)
{
	struct messages *messages = state;
	struct json name, message, member;
	(void)type; /* the data says it as well, and some servers leave the field out */
	json_get(data, "type", &name);
	if (json_string_is(&name, "message_start")) {
		json_get(data, "message", &message);
		if (json_get(&message, "usage", &member))
			take_usage(&member, sink);
	} else if (json_string_is(&name, "message_delta")) {
		take_message_delta(messages, data, sink);
	} else if (json_string_is(&name, "message_stop")) {
		messages->stopped = true;
		for (size_t i = 0; i < messages->block_count; i++) {
			if (messages->blocks[i].open)
				stop_block(&messages->blocks[i], sink);
		}
		end(messages, sink);
	} else if (json_string_is(&name, "error")) {
		failure_into(sink, data);
	} else {
		take_block_event(messages, &name, data, sink);
	}
}

const struct protocol protocol_anthropic = {MODEL_ANTHROPIC, begin, take, is_whole, end, release};
