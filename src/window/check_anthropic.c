/* SPDX-License-Identifier: MIT */
/* The rules of Anthropic's messages. */
#include "window/checker.h"

#include "base/limits.h"

#define CALL_ID_BYTES_MAX 64
#define NAME_BYTES_MAX 128

/* A server's call in the message at hand. */
struct server_call {
	struct slice id;
	struct json at;
	bool answered;
	size_t number; /* from 1 */
	struct server_call *next;
};

static void check_text_block(struct checker *checker, const struct json *block)
{
	struct json text = {NULL, 0, JSON_ABSENT};

	check_text(checker, json_get(block, "text", &text) ? &text : block);
}

static void check_image(struct checker *checker, const struct json *block)
{
	struct json source;
	struct slice type, data;

	if (!json_get(block, "source", &source) || source.type != JSON_OBJECT) {
		check_fault(checker, block, "image_invalid", "give a source", "an image without a source");
		return;
	}
	type = check_type(checker, &source);
	if (slice_is(type, "base64")) {
		check_get_string(checker, &source, "media_type", &type);
		check_get_string(checker, &source, "data", &data);
		check_image_data(checker, block, type, data);
	} else if (slice_is(type, "url")) {
		check_get_string(checker, &source, "url", &data);
		if (slice_starts_with(data, "data:"))
			check_fault(checker, block, "image_invalid", "use a base64 source",
				"an address that holds data");
		else
			check_image_url(checker, block, data);
	} else if (!slice_is(type, "file")) {
		check_fault(checker, block, "image_invalid", "use base64 or url",
			"an image source of an unknown type");
	}
}

static void check_id(struct checker *checker, const struct json *block, const char *key, struct slice *ret_id)
{
	bool valid = check_get_string(checker, block, key, ret_id) && ret_id->len > 0 &&
		     ret_id->len <= CALL_ID_BYTES_MAX;

	for (size_t i = 0; valid && i < ret_id->len; i++) {
		char c = ret_id->data[i];
		valid = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			c == '_' || c == '-';
	}
	if (!valid)
		check_fault(checker, block, "call_id_invalid", "rename the call and its result",
			"\"%s\" must be 1 to %d of [A-Za-z0-9_-]", key, CALL_ID_BYTES_MAX);
}

static void check_result(struct checker *checker, const struct json *block, bool first)
{
	struct json content = {NULL, 0, JSON_ABSENT}, part;
	struct json_iter iter;
	struct slice id, type;

	if (!first)
		check_fault(checker, block, "result_place", "put results before everything else",
			"a tool result after other content of the message");
	check_id(checker, block, "tool_use_id", &id);
	check_result_seen(checker, block, id);
	json_get(block, "content", &content);
	if (content.type != JSON_ABSENT && content.type != JSON_STRING && content.type != JSON_ARRAY)
		check_fault(checker, block, "content_shape", "give a string or blocks",
			"a result's content of another type");
	json_iter_init(&iter, &content);
	for (size_t i = 0; content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &part); i++) {
		size_t mark = check_enter(checker, ".content[%zu]", i);
		type = check_type(checker, &part);
		if (slice_is(type, "text"))
			check_text_block(checker, &part);
		else if (slice_is(type, "image"))
			check_image(checker, &part);
		else if (!slice_is(type, "document") && !slice_is(type, "search_result"))
			check_fault(checker, &part, "content_shape", "use text or image",
				"a result may not hold this");
		check_leave(checker, mark);
	}
}

/* Results come first; *first says whether only results came so far. */
static void check_user_block(struct checker *checker, const struct json *block, bool *first)
{
	struct slice type = check_type(checker, block);

	if (slice_is(type, "tool_result")) {
		check_result(checker, block, *first);
		return;
	}
	*first = false;
	if (slice_is(type, "text"))
		check_text_block(checker, block);
	else if (slice_is(type, "image"))
		check_image(checker, block);
	else if (!slice_is(type, "document") && !slice_is(type, "search_result"))
		check_fault(checker, block, "content_shape", "leave it out or turn it into a text",
			"a block of type \"%.*s\" in a user message", (int)(type.len < 60 ? type.len : 60),
			type.data);
}

static bool has_string(struct checker *checker, const struct json *block, const char *key, bool may_be_empty)
{
	struct slice text;

	return check_get_string(checker, block, key, &text) && (may_be_empty || text.len > 0);
}

static void check_input(struct checker *checker, const struct json *block)
{
	struct json input;

	if (!json_get(block, "input", &input) || input.type != JSON_OBJECT)
		check_fault(checker, block, "arguments_invalid", "wrap what the model wrote into an object",
			"\"input\" is not an object");
}

static void check_server_call(struct checker *checker, const struct json *block, struct server_call **calls)
{
	struct server_call *call = arena_alloc_zero(&checker->scratch, sizeof(*call));
	size_t number = *calls ? (*calls)->number + 1 : 1;
	struct slice id;

	if (!call) {
		checker->rc = BOBBIN_ENOMEM;
		return;
	}
	check_id(checker, block, "id", &id);
	check_input(checker, block);
	if (id.len && !check_id_add(checker, id))
		check_fault(checker, block, "call_id_duplicate", "leave the second pair out",
			"a call id that occurs twice");
	if (number > LIMIT_CALLS_PER_MESSAGE) {
		check_fault(checker, block, "calls_too_many", "split the message",
			"more than %d calls in one message", LIMIT_CALLS_PER_MESSAGE);
		return;
	}
	*call = (struct server_call){id, *block, false, number, *calls};
	*calls = call;
}

static void check_server_result(struct checker *checker, const struct json *block, struct server_call *calls)
{
	struct slice id;

	check_get_string(checker, block, "tool_use_id", &id);
	while (calls && (calls->answered || !slice_equal(calls->id, id)))
		calls = calls->next;
	if (calls)
		calls->answered = true;
	else
		check_fault(checker, block, "server_pair", "keep both or neither",
			"a result of the provider's own whose call is not before it in the message");
}

static bool is_server_result(struct slice type)
{
	static const char END[] = "_tool_result";
	size_t len = sizeof(END) - 1;

	return type.len > len && memcmp(type.data + type.len - len, END, len) == 0;
}

static void check_assistant_block(
	struct checker *checker, const struct json *block, size_t message, struct server_call **server_calls)
{
	struct slice type = check_type(checker, block), id;

	if (slice_is(type, "text")) {
		check_text_block(checker, block);
	} else if (slice_is(type, "thinking")) {
		if (!has_string(checker, block, "thinking", true) ||
			!has_string(checker, block, "signature", false))
			check_fault(checker, block, "sealed_broken", "leave the whole block out",
				"a thinking block without its text or signature");
	} else if (slice_is(type, "redacted_thinking")) {
		if (!has_string(checker, block, "data", false))
			check_fault(checker, block, "sealed_broken", "leave the whole block out",
				"a redacted thinking block without its data");
	} else if (slice_is(type, "tool_use")) {
		check_id(checker, block, "id", &id);
		check_name(checker, block, NAME_BYTES_MAX);
		check_input(checker, block);
		check_call_seen(checker, block, id, message);
	} else if (slice_is(type, "server_tool_use") || slice_is(type, "mcp_tool_use")) {
		check_server_call(checker, block, server_calls);
	} else if (is_server_result(type)) {
		check_server_result(checker, block, *server_calls);
	} else {
		check_fault(checker, block, "content_shape", "leave it out or turn it into a text",
			"a block of type \"%.*s\" in an assistant message",
			(int)(type.len < 60 ? type.len : 60), type.data);
	}
}

static bool is_thinking(struct slice type)
{
	return slice_is(type, "thinking") || slice_is(type, "redacted_thinking");
}

static void check_blocks(struct checker *checker, const struct json *content, bool user, size_t message)
{
	struct server_call *server_calls = NULL;
	struct json_iter iter;
	struct json block = {NULL, 0, JSON_ABSENT};
	bool first = true, any = false;

	json_iter_init(&iter, content);
	for (size_t i = 0; json_iter_next(&iter, NULL, &block); i++) {
		size_t mark = check_enter(checker, ".content[%zu]", i);
		if (user)
			check_user_block(checker, &block, &first);
		else
			check_assistant_block(checker, &block, message, &server_calls);
		check_leave(checker, mark);
		any = true;
	}
	for (; server_calls; server_calls = server_calls->next)
		if (!server_calls->answered)
			check_fault(checker, &server_calls->at, "server_pair", "keep both or neither",
				"a call of the provider's own without its result in the message");
	if (!user && any && is_thinking(check_type(checker, &block)))
		check_fault(checker, &block, "sealed_last", "leave it out",
			"an assistant message that ends in thinking");
}

static void check_content(struct checker *checker, const struct json *message, bool user, size_t index)
{
	struct json content = {NULL, 0, JSON_ABSENT};

	json_get(message, "content", &content);
	if (content.type == JSON_STRING) {
		size_t mark = check_enter(checker, ".content");
		check_text(checker, &content);
		check_leave(checker, mark);
	} else if (content.type == JSON_ARRAY && json_count(&content)) {
		check_blocks(checker, &content, user, index);
	} else {
		check_fault(checker, message, "content_empty", "leave the message out",
			"a message without content");
	}
}

/* Returns 'u', 'a' or 0 for a role that is not known. */
static char check_message(struct checker *checker, const struct json *message, char before, size_t index)
{
	struct slice role;

	check_get_string(checker, message, "role", &role);
	check_duplicate_keys(checker, message);
	if (!slice_is(role, "user") && !slice_is(role, "assistant")) {
		check_fault(checker, message, "role_unknown",
			"use user or assistant; the system prompt stands apart",
			"the role \"%.*s\" is not known", (int)(role.len < 60 ? role.len : 60), role.data);
		return 0;
	}
	bool user = slice_is(role, "user");
	if (index == 0 && !user)
		check_fault(checker, message, "role_order", "begin with a user message",
			"the conversation begins with the assistant");
	else if (before == (user ? 'u' : 'a'))
		check_fault(checker, message, "role_order", "merge the two", "two %s messages in a row",
			user ? "user" : "assistant");
	if (user)
		checker->users++;
	else
		check_batch_end(checker);
	check_content(checker, message, user, index);
	if (user)
		check_batch_end(checker);
	return user ? 'u' : 'a';
}

static void check_system(struct checker *checker, const struct json *body)
{
	struct json system, block;
	struct json_iter iter;

	if (!json_get(body, "system", &system))
		return;
	size_t mark = check_enter(checker, ".system");
	if (system.type == JSON_STRING)
		check_text(checker, &system);
	else if (system.type != JSON_ARRAY || json_count(&system) == 0)
		check_fault(checker, &system, "system_place", "give a string or text blocks",
			"\"system\" is neither");
	json_iter_init(&iter, &system);
	while (system.type == JSON_ARRAY && json_iter_next(&iter, NULL, &block)) {
		if (slice_is(check_type(checker, &block), "text"))
			check_text_block(checker, &block);
		else
			check_fault(checker, &block, "system_place", "use text blocks",
				"a system block that is no text");
	}
	check_leave(checker, mark);
}

static void check_tool(struct checker *checker, const struct json *tool)
{
	struct json schema;
	struct slice type = check_type(checker, tool);

	check_name(checker, tool, NAME_BYTES_MAX);
	if (type.len == 0 || slice_is(type, "custom"))
		check_schema(checker, json_get(tool, "input_schema", &schema) ? &schema : tool);
}

static void check_max_tokens(struct checker *checker, const struct json *body)
{
	struct json value;
	int64_t tokens = 0;

	if (!json_get(body, "max_tokens", &value) || !json_int64(&value, &tokens) || tokens < 1)
		check_fault(checker, body, "max_tokens_missing", "give a positive number",
			"\"max_tokens\" is required and must be positive");
}

void check_anthropic(struct checker *checker, const struct json *body)
{
	struct json messages, message, last = {NULL, 0, JSON_ABSENT};
	struct json_iter iter;
	size_t index = 0;
	char before = 0;

	check_max_tokens(checker, body);
	check_system(checker, body);
	check_each_tool(checker, body, check_tool);
	check_tool_names(checker, body, false);
	if (!json_get(body, "messages", &messages) || messages.type != JSON_ARRAY ||
		json_count(&messages) == 0) {
		check_fault(checker, body, "messages_missing", "send at least one user message",
			"there are no messages");
		return;
	}
	json_iter_init(&iter, &messages);
	for (; json_iter_next(&iter, NULL, &message); index++) {
		size_t mark = check_enter(checker, ".messages[%zu]", index);
		before = check_message(checker, &message, before, index);
		check_leave(checker, mark);
		last = message;
	}
	check_batch_end(checker);
	if (before == 'a')
		check_last_text(checker, &last, "messages", index - 1);
	if (!checker->users)
		check_fault(
			checker, &messages, "user_missing", "add a user message", "there is no user message");
}
