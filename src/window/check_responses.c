/* SPDX-License-Identifier: MIT */
/* The rules of OpenAI's responses: a flat list of items. */
#include "window/checker.h"

#define CALL_ID_BYTES_MAX 64
#define NAME_BYTES_MAX 64

enum item_side { ITEM_NONE, ITEM_SYSTEM, ITEM_USER, ITEM_ASSISTANT, ITEM_RESULT, ITEM_OTHER };

static bool is_one_of(struct slice type, const char *const *names)
{
	for (; *names; names++)
		if (slice_is(type, *names))
			return true;
	return false;
}

static void check_part(struct checker *checker, const struct json *part, bool assistant)
{
	struct slice type = check_type(checker, part), url;
	struct json text = {NULL, 0, JSON_ABSENT};

	if (slice_is(type, assistant ? "output_text" : "input_text")) {
		check_text(checker, json_get(part, "text", &text) ? &text : part);
	} else if (assistant && slice_is(type, "refusal")) {
		check_text(checker, json_get(part, "refusal", &text) ? &text : part);
	} else if (!assistant && slice_is(type, "input_image")) {
		if (check_get_string(checker, part, "image_url", &url))
			check_image_url(checker, part, url);
		else if (!check_get_string(checker, part, "file_id", &url))
			check_fault(checker, part, "image_invalid", "give \"image_url\"",
				"an image without an address");
	} else if (assistant || !slice_is(type, "input_file")) {
		check_fault(checker, part, "content_shape", "leave it out or turn it into a text",
			"a part of type \"%.*s\" in this role", (int)(type.len < 60 ? type.len : 60),
			type.data);
	}
}

static void check_parts(
	struct checker *checker, const struct json *item, const char *key, bool assistant, bool may_be_blank)
{
	struct json content = {NULL, 0, JSON_ABSENT}, part;
	struct json_iter iter;

	json_get(item, key, &content);
	size_t mark = check_enter(checker, ".%s", key);
	if (content.type == JSON_STRING) {
		if (!may_be_blank)
			check_text(checker, &content);
	} else if (content.type == JSON_ARRAY && json_count(&content)) {
		json_iter_init(&iter, &content);
		for (size_t i = 0; json_iter_next(&iter, NULL, &part); i++) {
			size_t inner = check_enter(checker, "[%zu]", i);
			check_part(checker, &part, assistant);
			check_leave(checker, inner);
		}
	} else {
		check_fault(checker, item, "content_empty", "leave the item out", "an item without content");
	}
	check_leave(checker, mark);
}

static enum item_side check_message(struct checker *checker, const struct json *item)
{
	struct slice role;

	check_get_string(checker, item, "role", &role);
	if (slice_is(role, "user")) {
		check_batch_end(checker);
		checker->users++;
		check_parts(checker, item, "content", false, false);
		return ITEM_USER;
	}
	if (slice_is(role, "assistant")) {
		if (checker->answering)
			check_batch_end(checker);
		check_parts(checker, item, "content", true, false);
		return ITEM_ASSISTANT;
	}
	if (slice_is(role, "system") || slice_is(role, "developer")) {
		check_batch_end(checker);
		check_parts(checker, item, "content", false, false);
		return ITEM_SYSTEM;
	}
	check_fault(checker, item, "role_unknown", "use user, assistant, system or developer",
		"the role \"%.*s\" is not known", (int)(role.len < 60 ? role.len : 60), role.data);
	return ITEM_NONE;
}

static void check_call_id(struct checker *checker, const struct json *item, struct slice *ret_id)
{
	if (!check_get_string(checker, item, "call_id", ret_id) || ret_id->len == 0 ||
		ret_id->len > CALL_ID_BYTES_MAX)
		check_fault(checker, item, "call_id_invalid", "give it an id",
			"\"call_id\" must have 1 to %d bytes", CALL_ID_BYTES_MAX);
}

static enum item_side check_call(struct checker *checker, const struct json *item, bool custom, size_t index)
{
	struct slice id, input;

	check_call_id(checker, item, &id);
	check_name(checker, item, NAME_BYTES_MAX);
	if (!custom)
		check_arguments(checker, item);
	else if (!check_get_string(checker, item, "input", &input))
		check_fault(checker, item, "arguments_invalid", "give a string", "\"input\" is not a string");
	check_call_seen(checker, item, id, index);
	return ITEM_ASSISTANT;
}

static enum item_side check_output(struct checker *checker, const struct json *item)
{
	struct slice id;

	check_call_id(checker, item, &id);
	check_result_seen(checker, item, id);
	check_parts(checker, item, "output", false, true);
	return ITEM_RESULT;
}

static enum item_side check_reasoning(struct checker *checker, const struct json *item)
{
	struct json summary;
	struct slice sealed, id;

	if (!json_get(item, "summary", &summary) || summary.type != JSON_ARRAY ||
		!check_get_string(checker, item, "encrypted_content", &sealed) || sealed.len == 0)
		check_fault(checker, item, "sealed_broken", "leave the whole item out",
			"a reasoning item without its summary or sealed content");
	if (check_get_string(checker, item, "id", &id) && id.len && !check_id_add(checker, id))
		check_fault(checker, item, "call_id_duplicate", "leave the second one out",
			"an item id that occurs twice");
	if (checker->answering)
		check_batch_end(checker);
	return ITEM_ASSISTANT;
}

static enum item_side check_item(struct checker *checker, const struct json *item, size_t index)
{
	static const char *const HOSTED[] = {"web_search_call", "file_search_call", "code_interpreter_call",
		"computer_call", "image_generation_call", "mcp_call", "mcp_list_tools",
		"mcp_approval_request", NULL};
	static const char *const OTHERS[] = {"compaction", "item_reference", "computer_call_output",
		"mcp_approval_response", "tool_search_call", "tool_search_output", NULL};
	struct slice type = check_type(checker, item);

	check_duplicate_keys(checker, item);
	if (slice_is(type, "message") || (type.len == 0 && item->type == JSON_OBJECT))
		return check_message(checker, item);
	if (slice_is(type, "function_call") || slice_is(type, "custom_tool_call"))
		return check_call(checker, item, slice_is(type, "custom_tool_call"), index);
	if (slice_is(type, "function_call_output") || slice_is(type, "custom_tool_call_output"))
		return check_output(checker, item);
	if (slice_is(type, "reasoning"))
		return check_reasoning(checker, item);
	if (is_one_of(type, HOSTED)) {
		if (checker->answering)
			check_batch_end(checker);
		return ITEM_ASSISTANT;
	}
	if (is_one_of(type, OTHERS))
		return ITEM_OTHER;
	check_fault(checker, item, "content_shape", "leave it out", "an item of type \"%.*s\"",
		(int)(type.len < 60 ? type.len : 60), type.data);
	return ITEM_NONE;
}

/* A reasoning item belongs to what the assistant did next. */
static void check_pair(
	struct checker *checker, const struct json *before, const struct json *item, enum item_side side)
{
	if (before->type == JSON_OBJECT && slice_is(check_type(checker, before), "reasoning") &&
		side != ITEM_ASSISTANT)
		check_fault(checker, item ? item : before, "sealed_last", "leave the reasoning item out",
			"a reasoning item that nothing of the assistant's follows");
}

static void check_items(struct checker *checker, const struct json *input)
{
	struct json item, before = {NULL, 0, JSON_ABSENT};
	struct json_iter iter;
	enum item_side side = ITEM_NONE, last = ITEM_NONE;
	bool begun = false;
	size_t index = 0;

	json_iter_init(&iter, input);
	for (; json_iter_next(&iter, NULL, &item); index++) {
		size_t mark = check_enter(checker, ".input[%zu]", index);
		side = check_item(checker, &item, index);
		check_pair(checker, &before, &item, side);
		if (side == ITEM_SYSTEM && index > 0)
			check_fault(checker, &item, "system_place", "put it first, once",
				"a system message that is not the first item");
		if (!begun && (side == ITEM_ASSISTANT || side == ITEM_RESULT))
			check_fault(checker, &item, "role_order", "begin with a user message",
				"the conversation does not begin with the user");
		begun = begun || side == ITEM_USER || side == ITEM_ASSISTANT || side == ITEM_RESULT ||
			side == ITEM_OTHER;
		if (side == ITEM_USER && last == ITEM_USER)
			check_fault(
				checker, &item, "role_order", "merge the two", "two user messages in a row");
		check_leave(checker, mark);
		before = item;
		last = side;
	}
	check_batch_end(checker);
	check_pair(checker, &before, NULL, ITEM_NONE);
	struct slice role;
	if (index && check_get_string(checker, &before, "role", &role) && slice_is(role, "assistant"))
		check_last_text(checker, &before, "input", index - 1);
}

static void check_tool(struct checker *checker, const struct json *tool)
{
	struct json schema;
	struct slice type = check_type(checker, tool);

	if (type.len == 0)
		check_fault(
			checker, tool, "tools_shape", "set \"type\":\"function\"", "a tool without a type");
	else if (slice_is(type, "function"))
		check_name(checker, tool, NAME_BYTES_MAX);
	if (slice_is(type, "function") && json_get(tool, "parameters", &schema))
		check_schema(checker, &schema);
}

void check_openai_responses(struct checker *checker, const struct json *body)
{
	struct json input = {NULL, 0, JSON_ABSENT}, instructions;

	if (json_get(body, "instructions", &instructions) && instructions.type != JSON_STRING &&
		instructions.type != JSON_NULL)
		check_fault(checker, &instructions, "system_place", "give a string",
			"\"instructions\" is not a string");
	json_get(body, "input", &input);
	if (input.type == JSON_STRING) {
		size_t mark = check_enter(checker, ".input");
		check_text(checker, &input);
		check_leave(checker, mark);
		checker->users++;
	} else if (input.type != JSON_ARRAY || json_count(&input) == 0) {
		check_fault(checker, body, "messages_missing", "send at least one user message",
			"there is no input");
		return;
	}
	if (input.type == JSON_ARRAY)
		check_items(checker, &input);
	if (!checker->users)
		check_fault(
			checker, &input, "user_missing", "add a user message", "there is no user message");
	check_each_tool(checker, body, check_tool);
	check_tool_names(checker, body, false);
}
