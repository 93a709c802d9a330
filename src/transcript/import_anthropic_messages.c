/* SPDX-License-Identifier: MIT */
/*
 * Messages as Anthropic's API takes them, in the wrappings they are found in:
 *
 *	[{"role","content",…},…]                one conversation; Roo's history has "ts" in each
 *	{"messages":[…],"system"?,"model"?,…}   a request; Cline's file has "sessionId" and "system_prompt"
 *	{"request":REQUEST,"response":MESSAGE}  recorded; a response is a message with "type" and "usage"
 *	[any of them,…], one a line             in order: a request that begins with all messages before it
 *	                                        goes on with them
 *	[{"ts","type":"say"|"ask",…},…]         Roo's log of the screen (import_roo.c)
 *
 * A user's content is taken apart: each tool_result is a tool's message, each run of other blocks of the same
 * origin one message. An assistant's content is ours already. A message with isSummary is Roo's condensation:
 * it replaced what was before it in the file, all but the first message.
 *
 * Invariants: (1) results and texts of a message stay in its order; (2) tool calls written as text stay text;
 * (3) cache_control says nothing about what a message is: with and without it is the same message.
 */
#include "transcript/import_anthropic.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

static bool is_true(const struct json *object, const char *key)
{
	struct json value;
	bool flag = false;
	return json_get(object, key, &value) && json_bool(&value, &flag) && flag;
}

static struct import_usage usage_of(const struct json *message)
{
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;
	struct json value, tokens;

	if (json_get(message, "usage", &value)) {
		usage.cached = import_number(&value, "cache_read_input_tokens");
		usage.cache_write = import_number(&value, "cache_creation_input_tokens");
		usage.input = import_sum(
			import_number(&value, "input_tokens"), import_sum(usage.cached, usage.cache_write));
		usage.output = import_number(&value, "output_tokens");
	} else if (json_get(message, "metrics", &value) && json_get(&value, "tokens", &tokens)) {
		usage.input = import_number(&tokens, "prompt");
		usage.output = import_number(&tokens, "completion");
		usage.cached = import_number(&tokens, "cached");
	}
	return usage;
}

/* The members that are no content, then the end of the message. */
static int end_message(
	struct anthropic *anthropic, const struct json *message, enum message_origin origin, bool first)
{
	static const char *const OWN[] = {"role", "content", NULL};
	struct json_writer *writer = &anthropic->builder.writer;
	struct draft draft = {.parent_kind = DRAFT_HEAD};
	struct json value;

	if (origin == ORIGIN_SUMMARY && json_get(message, "condenseId", &value)) {
		draft.cuts = true; /* the version that keeps what it replaced */
		draft.cut = DRAFT_NONE;
	}
	builder_origin(&anthropic->builder, origin);
	if (json_get(message, "ts", &value) || json_get(message, "timestamp", &value))
		write_time(writer, &value);
	if (first) {
		struct import_usage usage = usage_of(message);
		builder_usage(&anthropic->builder, &usage);
		write_source_except(writer, message, OWN);
		draft.id = import_string(anthropic->import, message, "id");
	}
	return builder_end(&anthropic->builder, &draft);
}

static int read_result(
	struct anthropic *anthropic, const struct json *message, const struct json *block, bool first)
{
	static const char *const OWN[] = {"type", "tool_use_id", "content", "is_error", NULL};
	struct json_writer *writer = builder_begin_result(
		&anthropic->builder, import_string(anthropic->import, block, "tool_use_id"));
	struct json content;

	json_key(writer, "content");
	if (!json_get(block, "content", &content) || content.type == JSON_NULL) {
		json_add_text(writer, "");
	} else if (content.type == JSON_STRING || content.type == JSON_ARRAY) {
		json_add_value(writer, &content);
	} else {
		json_begin_array(writer);
		json_add_value(writer, &content);
		json_end_array(writer);
	}
	if (is_true(block, "is_error"))
		json_member_bool(writer, "is_error", true);
	if (has_members_except(block, OWN)) {
		json_key(writer, "block");
		json_begin_object(writer);
		write_members_except(writer, block, OWN);
		json_end_object(writer);
	}
	return end_message(anthropic, message, ORIGIN_PERSON, first);
}

static int end_run(
	struct anthropic *anthropic, const struct json *message, enum message_origin origin, bool *first)
{
	if (!anthropic->content.len)
		return 0;
	buffer_add_char(&anthropic->content, ']');
	if (buffer_error(&anthropic->content))
		return buffer_error(&anthropic->content);
	struct json_writer *writer = builder_begin(&anthropic->builder, ROLE_USER);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&anthropic->content));
	buffer_clear(&anthropic->content);
	int rc = end_message(anthropic, message, origin, *first);
	*first = false;
	return rc;
}

static int read_blocks(struct anthropic *anthropic, const struct json *message, const struct json *content)
{
	enum message_origin origin = ORIGIN_PERSON, run = ORIGIN_PERSON;
	struct json_iter iter;
	struct json block, type, text;
	bool first = true, in_result = false;
	int rc = 0;

	buffer_clear(&anthropic->content);
	json_iter_init(&iter, content);
	while (!rc && json_iter_next(&iter, NULL, &block)) {
		if (json_get(&block, "type", &type) && json_string_is(&type, "tool_result")) {
			rc = end_run(anthropic, message, run, &first);
			if (!rc)
				rc = read_result(anthropic, message, &block, first);
			first = false;
			continue;
		}
		if (anthropic->roo && json_get(&block, "text", &text) && text.type == JSON_STRING)
			origin =
				roo_origin(json_string_content(&text, &anthropic->import->arena), &in_result);
		if (origin != run)
			rc = end_run(anthropic, message, run, &first);
		run = origin;
		buffer_add_char(&anthropic->content, anthropic->content.len ? ',' : '[');
		buffer_add(&anthropic->content, block.text, block.len);
	}
	if (!rc)
		rc = end_run(anthropic, message, run, &first);
	if (rc || !first)
		return rc;
	struct json_writer *writer = builder_begin(&anthropic->builder, ROLE_USER);
	json_member_value(writer, "content", content);
	return end_message(anthropic, message, ORIGIN_PERSON, true);
}

static int read_plain(struct anthropic *anthropic, const struct json *message, const struct json *content,
	enum message_role role, enum message_origin origin)
{
	struct json_writer *writer = builder_begin(&anthropic->builder, role);

	if (content->type == JSON_STRING || content->type == JSON_ARRAY)
		json_member_value(writer, "content", content);
	else
		json_member_text(writer, "content", "");
	return end_message(anthropic, message, origin, true);
}

static int read_message(struct anthropic *anthropic, const struct json *message)
{
	struct place place = import_document_place(anthropic->data, anthropic->len, message);
	struct json role, content;

	json_get(message, "role", &role);
	json_get(message, "content", &content);
	if (is_true(message, "isSummary")) {
		struct json value;
		if (!json_get(message, "condenseId", &value) &&
			import_remark(anthropic->import, place,
				"a summary stands for messages that are no longer in this file") < 0)
			return BOBBIN_ENOMEM;
		return read_plain(anthropic, message, &content, ROLE_USER, ORIGIN_SUMMARY);
	}
	if (json_string_is(&role, "assistant"))
		return read_plain(anthropic, message, &content, ROLE_ASSISTANT, ORIGIN_PERSON);
	if (json_string_is(&role, "user")) {
		bool in_result = false;
		if (content.type == JSON_ARRAY)
			return read_blocks(anthropic, message, &content);
		enum message_origin origin = ORIGIN_PERSON;
		if (anthropic->roo && content.type == JSON_STRING)
			origin = roo_origin(
				json_string_content(&content, &anthropic->import->arena), &in_result);
		return read_plain(anthropic, message, &content, ROLE_USER, origin);
	}
	if (json_string_is(&role, "system"))
		return import_left_out(
			anthropic->import, place, "system {prompt|prompts} (given with each request, not stored)");
	return import_not_understood(anthropic->import, place, "{message|messages} of the role",
		import_string(anthropic->import, message, "role"));
}

/* What makes a message the same when it is sent again. */
static int hash_of(struct anthropic *anthropic, const struct json *message, uint64_t *ret_hash)
{
	static const char *const UNTOLD[] = {"cache_control", NULL};
	struct buffer *key = &anthropic->key;
	struct json role, content, block, text;
	struct json_iter iter;

	buffer_clear(key);
	json_get(message, "role", &role);
	buffer_add(key, role.text, role.len);
	json_get(message, "content", &content);
	if (content.type == JSON_STRING)
		buffer_add(key, content.text, content.len);
	json_iter_init(&iter, &content);
	while (content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &block)) {
		struct json_writer writer = {key, false};
		if (json_get(&block, "text", &text))
			buffer_add(key, text.text, text.len);
		else
			write_members_except(&writer, &block, UNTOLD);
	}
	*ret_hash = buffer_error(key) ? 0 : hash_bytes(key->data, key->len);
	return buffer_error(key);
}

static int add_message(struct anthropic *anthropic, const struct json *message)
{
	if (mem_grow((void **)&anthropic->known, &anthropic->known_cap, anthropic->known_count + 1,
		    sizeof(*anthropic->known)) < 0)
		return BOBBIN_ENOMEM;
	int rc = hash_of(anthropic, message, &anthropic->known[anthropic->known_count]);
	anthropic->known_count += !rc;
	return rc ? rc : read_message(anthropic, message);
}

static int end_conversation(struct anthropic *anthropic)
{
	anthropic->known_count = 0;
	int rc = builder_conversation(&anthropic->builder, anthropic->id, anthropic->title);
	anthropic->id = anthropic->title = (struct slice){NULL, 0};
	return rc;
}

/* How many messages of a list are those of the conversation so far; 0 if not all of those are there. */
static int count_known(struct anthropic *anthropic, const struct json *messages, size_t *ret_known)
{
	struct json_iter iter;
	struct json message;
	size_t known = 0;
	uint64_t hash;

	json_iter_init(&iter, messages);
	while (known < anthropic->known_count && json_iter_next(&iter, NULL, &message)) {
		int rc = hash_of(anthropic, &message, &hash);
		if (rc)
			return rc;
		if (hash != anthropic->known[known])
			break;
		known++;
	}
	*ret_known = known == anthropic->known_count ? known : 0;
	return 0;
}

static int read_list(struct anthropic *anthropic, const struct json *messages)
{
	struct json_iter iter;
	struct json message;
	size_t known;
	int rc = count_known(anthropic, messages, &known);

	if (!rc && !known)
		rc = end_conversation(anthropic);
	if (!rc && !anthropic->roo)
		anthropic->roo = roo_writes(messages, &anthropic->import->arena);
	json_iter_init(&iter, messages);
	while (!rc && json_iter_next(&iter, NULL, &message)) {
		if (known)
			known--;
		else
			rc = add_message(anthropic, &message);
	}
	return rc;
}

static int read_value(struct anthropic *anthropic, const struct json *value);

static int read_object(struct anthropic *anthropic, const struct json *object)
{
	static const char *const INSIDE[] = {"request", "body", "json", NULL};
	struct json value;

	if (json_get(object, "messages", &value) && value.type == JSON_ARRAY) {
		int rc = read_list(anthropic, &value);
		if (!anthropic->id.data && json_get(object, "sessionId", &value) && value.type == JSON_STRING)
			anthropic->id = import_string(anthropic->import, object, "sessionId");
		return rc;
	}
	if (json_get(object, "role", &value))
		return add_message(anthropic, object);
	for (size_t i = 0; INSIDE[i]; i++) {
		if (json_get(object, INSIDE[i], &value) && value.type == JSON_OBJECT) {
			int rc = read_object(anthropic, &value);
			return rc || !json_get(object, "response", &value) || value.type != JSON_OBJECT
				       ? rc
				       : read_object(anthropic, &value);
		}
	}
	return import_not_understood(anthropic->import,
		import_document_place(anthropic->data, anthropic->len, object),
		"{record that is|records that are} no message and no request", (struct slice){NULL, 0});
}

static int read_value(struct anthropic *anthropic, const struct json *value)
{
	struct json_iter iter;
	struct json first, role;
	int rc = 0;

	if (value->type == JSON_OBJECT)
		return read_object(anthropic, value);
	if (roo_is_screen(value))
		return roo_read_screen(anthropic, value);
	json_iter_init(&iter, value);
	if (value->type == JSON_ARRAY && json_iter_next(&iter, NULL, &first) &&
		json_get(&first, "role", &role))
		return read_list(anthropic, value);
	json_iter_init(&iter, value);
	while (!rc && value->type == JSON_ARRAY && json_iter_next(&iter, NULL, &first)) {
		if (first.type == JSON_OBJECT)
			rc = read_object(anthropic, &first);
	}
	return rc;
}

/* Roo's and Cline's messages carry the time at which they were kept, in milliseconds. */
static bool is_kept(const struct json *message, const struct json *content)
{
	struct json ts;

	return content->type == JSON_ARRAY && json_get(message, "ts", &ts) && ts.type == JSON_NUMBER;
}

/* True if a message is as Roo keeps it, or a block is one that only Anthropic's API has. What has no role is no message. */
static bool has_native_block(const struct json *messages)
{
	static const char *const TYPES[] = {
		"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", NULL};
	struct json_iter iter, blocks;
	struct json message, content, block, type;

	json_iter_init(&iter, messages);
	while (messages->type == JSON_ARRAY && json_iter_next(&iter, NULL, &message)) {
		if (json_get(&message, "tool_calls", &type) || json_get(&message, "seq", &type) ||
			json_get(&message, "type", &type) || json_get(&message, "origin", &type) ||
			(json_get(&message, "role", &type) && json_string_is(&type, "tool")))
			return false;
		if (type.type == JSON_ABSENT)
			continue;
		json_get(&message, "content", &content);
		if (is_kept(&message, &content))
			return true;
		json_iter_init(&blocks, &content);
		while (content.type == JSON_ARRAY && json_iter_next(&blocks, NULL, &block)) {
			for (size_t i = 0; json_get(&block, "type", &type) && TYPES[i]; i++) {
				if (json_string_is(&type, TYPES[i]))
					return true;
			}
		}
	}
	return false;
}

static bool is_request(const struct json *object)
{
	struct json messages, value;

	if (!json_get(object, "messages", &messages) || messages.type != JSON_ARRAY ||
		json_get(object, "info", &value))
		return false;
	return json_get(object, "system_prompt", &value) || json_get(object, "anthropic_version", &value) ||
	       (json_get(object, "system", &value) &&
		       (json_get(object, "model", &value) || json_count(object) == 2)) ||
	       has_native_block(&messages);
}

static bool is_reply(const struct json *object)
{
	struct json type, role, content;

	return json_get(object, "type", &type) && json_string_is(&type, "message") &&
	       json_get(object, "role", &role) && json_string_is(&role, "assistant") &&
	       json_get(object, "content", &content) && json_get(object, "stop_reason", &role);
}

bool import_is_anthropic_messages(const struct import_probe *probe)
{
	struct json request;

	if (roo_is_screen(&probe->value) || has_native_block(&probe->value))
		return true;
	return is_request(&probe->first) || is_reply(&probe->first) ||
	       (json_get(&probe->first, "request", &request) && is_request(&request));
}

static int read_any(void *reader, const struct json *value, struct place place)
{
	(void)place;
	return read_value(reader, value);
}

int import_anthropic_messages(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct anthropic anthropic = {.import = import,
		.data = data,
		.len = len,
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.key = BUFFER_INIT(LIMIT_IMPORT_BYTES)};

	builder_init(&anthropic.builder, import);
	int rc = import_values(import, data, len, read_any, &anthropic, error);
	if (!rc)
		rc = end_conversation(&anthropic);
	if (!rc && !import->conversation_count)
		rc = error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "not an anthropic-messages transcript: no message in it");
	builder_release(&anthropic.builder);
	buffer_release(&anthropic.content);
	buffer_release(&anthropic.key);
	mem_free(anthropic.known);
	return import_end(rc, error);
}
