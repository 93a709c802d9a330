/* SPDX-License-Identifier: MIT */
/* The rules of OpenAI's chat completions, as its strictest servers (chat templates that want turns) hold
 * them. */
#include "window/checker.h"

#define CALL_ID_BYTES_MAX 40
#define NAME_BYTES_MAX 64

enum chat_role { CHAT_NONE, CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL };

static enum chat_role role_of(struct slice role)
{
	if (slice_is(role, "system") || slice_is(role, "developer"))
		return CHAT_SYSTEM;
	if (slice_is(role, "user"))
		return CHAT_USER;
	if (slice_is(role, "assistant"))
		return CHAT_ASSISTANT;
	return slice_is(role, "tool") ? CHAT_TOOL : CHAT_NONE;
}

static void check_image(struct checker *checker, const struct json *part)
{
	struct json image;
	struct slice url;

	if (!json_get(part, "image_url", &image) || !check_get_string(checker, &image, "url", &url))
		check_fault(checker, part, "image_invalid", "give {\"image_url\":{\"url\":…}}",
			"an image without an address");
	else
		check_image_url(checker, part, url);
}

static void check_part(struct checker *checker, const struct json *part, enum chat_role role)
{
	struct slice type = check_type(checker, part);
	struct json text = {NULL, 0, JSON_ABSENT};

	if (slice_is(type, "text")) {
		json_get(part, "text", &text);
		check_text(checker, text.type == JSON_ABSENT ? part : &text);
	} else if (slice_is(type, "refusal") && role == CHAT_ASSISTANT) {
		json_get(part, "refusal", &text);
		check_text(checker, text.type == JSON_ABSENT ? part : &text);
	} else if (slice_is(type, "image_url") && role == CHAT_USER) {
		check_image(checker, part);
	} else if (!(role == CHAT_USER && (slice_is(type, "input_audio") || slice_is(type, "file")))) {
		check_fault(checker, part, "content_shape", "leave it out or turn it into a text",
			"a part of type \"%.*s\" in this role", (int)(type.len < 60 ? type.len : 60),
			type.data);
	}
}

/* A string or parts. `may_be_empty`: an assistant that only calls. */
static void check_content(
	struct checker *checker, const struct json *message, enum chat_role role, bool may_be_empty)
{
	struct json content = {NULL, 0, JSON_ABSENT}, part;
	struct json_iter iter;

	json_get(message, "content", &content);
	size_t mark = check_enter(checker, ".content");
	if (content.type == JSON_STRING) {
		check_text(checker, &content);
	} else if (content.type == JSON_ARRAY && json_count(&content)) {
		json_iter_init(&iter, &content);
		for (size_t i = 0; json_iter_next(&iter, NULL, &part); i++) {
			size_t inner = check_enter(checker, "[%zu]", i);
			check_part(checker, &part, role);
			check_leave(checker, inner);
		}
	} else if (!may_be_empty || (content.type != JSON_NULL && content.type != JSON_ABSENT)) {
		check_fault(checker, message, "content_empty", "leave the message out",
			"a message without content");
	}
	check_leave(checker, mark);
}

static void check_call(struct checker *checker, const struct json *call, size_t message)
{
	struct json function = {NULL, 0, JSON_ABSENT};
	struct slice id;

	if (!slice_is(check_type(checker, call), "function"))
		check_fault(checker, call, "content_shape", "set \"type\":\"function\"",
			"a call whose type is not function");
	if (!check_get_string(checker, call, "id", &id) || id.len == 0 || id.len > CALL_ID_BYTES_MAX)
		check_fault(checker, call, "call_id_invalid", "give it an id",
			"a call's id must have 1 to %d bytes", CALL_ID_BYTES_MAX);
	if (json_get(call, "function", &function) && function.type == JSON_OBJECT) {
		size_t mark = check_enter(checker, ".function");
		check_name(checker, &function, NAME_BYTES_MAX);
		check_arguments(checker, &function);
		check_leave(checker, mark);
	} else {
		check_fault(checker, call, "content_shape", "give {\"function\":{\"name\",\"arguments\"}}",
			"a call without its function");
	}
	check_call_seen(checker, call, id, message);
}

static void check_assistant(struct checker *checker, const struct json *message, size_t index)
{
	struct json calls = {NULL, 0, JSON_ABSENT}, call;
	struct json_iter iter;

	json_get(message, "tool_calls", &calls);
	bool none = calls.type == JSON_ABSENT || calls.type == JSON_NULL;
	check_content(checker, message, CHAT_ASSISTANT, calls.type == JSON_ARRAY && json_count(&calls) > 0);
	size_t mark = check_enter(checker, ".tool_calls");
	if (!none && (calls.type != JSON_ARRAY || json_count(&calls) == 0))
		check_fault(checker, message, "content_shape", "leave \"tool_calls\" out",
			"\"tool_calls\" without a call");
	json_iter_init(&iter, &calls);
	for (size_t i = 0; calls.type == JSON_ARRAY && json_iter_next(&iter, NULL, &call); i++) {
		size_t inner = check_enter(checker, "[%zu]", i);
		check_call(checker, &call, index);
		check_leave(checker, inner);
	}
	check_leave(checker, mark);
}

static void check_tool(struct checker *checker, const struct json *message)
{
	struct slice id;

	if (!check_get_string(checker, message, "tool_call_id", &id) || id.len == 0)
		check_fault(checker, message, "call_id_invalid", "name the call it answers",
			"a result without a call's id");
	check_result_seen(checker, message, id);
	check_content(checker, message, CHAT_TOOL, false);
}

static void check_order(struct checker *checker, const struct json *message, enum chat_role role,
	enum chat_role before, size_t index)
{
	if (role == CHAT_SYSTEM && index > 0)
		check_fault(checker, message, "system_place", "put it first, once",
			"a system message that is not the first message");
	else if (role == CHAT_ASSISTANT && (before == CHAT_NONE || before == CHAT_SYSTEM))
		check_fault(checker, message, "role_order", "begin with a user message",
			"the conversation begins with the assistant");
	else if (role == before && (role == CHAT_USER || role == CHAT_ASSISTANT))
		check_fault(checker, message, "role_order", "merge the two", "two %s messages in a row",
			role == CHAT_USER ? "user" : "assistant");
}

static enum chat_role check_message(
	struct checker *checker, const struct json *message, enum chat_role before, size_t index)
{
	struct slice text;

	check_get_string(checker, message, "role", &text);
	enum chat_role role = role_of(text);
	check_duplicate_keys(checker, message);
	check_order(checker, message, role, before, index);
	if (role != CHAT_TOOL)
		check_batch_end(checker);
	switch (role) {
	case CHAT_USER:
		checker->users++;
		check_content(checker, message, role, false);
		break;
	case CHAT_SYSTEM:
		check_content(checker, message, role, false);
		break;
	case CHAT_ASSISTANT:
		check_assistant(checker, message, index);
		break;
	case CHAT_TOOL:
		check_tool(checker, message);
		break;
	case CHAT_NONE:
		check_fault(checker, message, "role_unknown", "use system, user, assistant or tool",
			"the role \"%.*s\" is not known", (int)(text.len < 60 ? text.len : 60), text.data);
		break;
	}
	return role;
}

static void check_tools(struct checker *checker, const struct json *body)
{
	struct json tools, tool, function, schema;
	struct json_iter iter;

	if (!json_get(body, "tools", &tools))
		return;
	size_t mark = check_enter(checker, ".tools");
	if (tools.type != JSON_ARRAY || json_count(&tools) == 0)
		check_fault(
			checker, &tools, "tools_shape", "leave it out", "\"tools\" is not a list of tools");
	json_iter_init(&iter, &tools);
	for (size_t i = 0; tools.type == JSON_ARRAY && json_iter_next(&iter, NULL, &tool); i++) {
		size_t inner = check_enter(checker, "[%zu]", i);
		if (!slice_is(check_type(checker, &tool), "function") ||
			!json_get(&tool, "function", &function) || function.type != JSON_OBJECT)
			check_fault(checker, &tool, "tools_shape",
				"give {\"type\":\"function\",\"function\":…}",
				"a tool that is not a function");
		else
			check_name(checker, &function, NAME_BYTES_MAX);
		if (json_get(&tool, "function", &function) && json_get(&function, "parameters", &schema))
			check_schema(checker, &schema);
		check_leave(checker, inner);
	}
	check_leave(checker, mark);
}

void check_openai_chat(struct checker *checker, const struct json *body)
{
	struct json messages, message, last = {NULL, 0, JSON_ABSENT};
	enum chat_role before = CHAT_NONE;
	struct json_iter iter;
	size_t index = 0;

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
	if (before == CHAT_ASSISTANT)
		check_last_text(checker, &last, "messages", index - 1);
	if (!checker->users)
		check_fault(
			checker, &messages, "user_missing", "add a user message", "there is no user message");
	check_tools(checker, body);
	check_tool_names(checker, body, true);
}
