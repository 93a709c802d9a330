/* SPDX-License-Identifier: MIT */
/* Items of the Responses API to messages; what becomes of which is told in import_items.h. */
#include "transcript/import_items.h"

#include "base/limits.h"

void items_init(struct items *items, struct builder *builder)
{
	*items = (struct items){.builder = builder, .reply = DRAFT_NONE};
	buffer_init(&items->content, LIMIT_IMPORT_BYTES);
	buffer_init(&items->rest, LIMIT_IMPORT_BYTES);
}

void items_release(struct items *items)
{
	buffer_release(&items->content);
	buffer_release(&items->rest);
}

static int end_message(struct items *items, struct json_writer *writer, const struct json *time)
{
	struct draft draft = items->next;

	write_time(writer, time);
	items->next = (struct draft){.parent_kind = DRAFT_HEAD};
	return builder_end(items->builder, &draft);
}

int items_end_reply(struct items *items)
{
	if (!items->open)
		return 0;
	items->open = false;
	json_end_array(&items->blocks);
	json_end_array(&items->rests);
	if (buffer_error(&items->content) || buffer_error(&items->rest))
		return buffer_error(&items->content) ? buffer_error(&items->content)
						     : buffer_error(&items->rest);
	struct json_writer *writer = builder_begin(items->builder, ROLE_ASSISTANT);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&items->content));
	json_key(writer, "src");
	json_begin_object(writer);
	if (items->model.data)
		json_member_string(writer, "model", items->model);
	json_key(writer, "items");
	json_add_raw(writer, buffer_slice(&items->rest));
	json_end_object(writer);
	int rc = end_message(items, writer, &items->opened);
	items->reply = items->builder->drafts.count - 1;
	return rc;
}

static void open_reply(struct items *items)
{
	if (items->open)
		return;
	struct slice opened = import_hold(items->builder->import, (struct slice){items->time.text, items->time.len});
	items->open = true;
	items->opened = (struct json){opened.data, opened.len, opened.data ? items->time.type : JSON_ABSENT};
	buffer_clear(&items->content);
	buffer_clear(&items->rest);
	json_writer_init(&items->blocks, &items->content);
	json_writer_init(&items->rests, &items->rest);
	json_begin_array(&items->blocks);
	json_begin_array(&items->rests);
}

/* What an item says beyond its blocks. */
static void add_rest(struct items *items, const struct json *item, const char *const *except)
{
	json_begin_object(&items->rests);
	write_members_except(&items->rests, item, except);
	json_end_object(&items->rests);
}

/* A part of a message's content. Texts of either side become text blocks, with their other members. */
static void write_part(struct json_writer *writer, const struct json *part)
{
	struct json type, text;

	json_get(part, "type", &type);
	if (part->type == JSON_STRING) {
		write_text_block(writer, part);
	} else if ((json_string_is(&type, "input_text") || json_string_is(&type, "output_text")) &&
		   json_get(part, "text", &text) && text.type == JSON_STRING) {
		if (writer->comma)
			buffer_add_char(writer->out, ',');
		json_splice(writer->out, part, "type", SLICE_LITERAL("\"text\""));
		writer->comma = true;
	} else {
		json_add_value(writer, part);
	}
}

static void write_parts(struct json_writer *writer, const struct json *content)
{
	struct json_iter iter;
	struct json part;

	if (content->type == JSON_STRING)
		write_part(writer, content);
	json_iter_init(&iter, content);
	while (content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &part))
		write_part(writer, &part);
}

static int add_assistant(struct items *items, const struct json *item)
{
	static const char *const OWN[] = {"content", NULL};
	struct json content;

	open_reply(items);
	json_get(item, "content", &content);
	write_parts(&items->blocks, &content);
	json_begin_object(&items->rests);
	write_members_except(&items->rests, item, OWN);
	if (content.type == JSON_ARRAY && json_count(&content) != 1)
		json_member_uint(&items->rests, "blocks", json_count(&content));
	json_end_object(&items->rests);
	return 0;
}

static bool is_injected(struct items *items, const struct json *part, bool *ret_injected)
{
	struct json text = *part;

	*ret_injected = false;
	if (!items->injected || (part->type == JSON_OBJECT && !json_get(part, "text", &text)) ||
		text.type != JSON_STRING)
		return false;
	struct slice decoded = json_string_content(&text, import_scratch(items->builder->import));
	while (decoded.len && import_is_space(*decoded.data)) {
		decoded.data++;
		decoded.len--;
	}
	for (size_t i = 0; items->injected[i]; i++)
		*ret_injected |= slice_starts_with(decoded, items->injected[i]);
	return true;
}

/* One message of a user's item: parts from `*iter` on that have the same origin. */
static int add_run(
	struct items *items, const struct json *item, struct json_iter *iter, struct json *part, bool *more)
{
	static const char *const OWN[] = {"content", "role", "type", NULL};
	struct json_writer *writer = builder_begin(items->builder, ROLE_USER);
	bool injected, other;

	is_injected(items, part, &injected);
	json_key(writer, "content");
	json_begin_array(writer);
	do {
		write_part(writer, part);
		*more = json_iter_next(iter, NULL, part);
	} while (*more && (!is_injected(items, part, &other) || other == injected));
	json_end_array(writer);
	builder_origin(items->builder, injected ? ORIGIN_INJECTED : ORIGIN_PERSON);
	write_source_except(writer, item, OWN);
	return end_message(items, writer, &items->time);
}

static int add_user(struct items *items, const struct json *item)
{
	static const char *const OWN[] = {"content", "role", "type", NULL};
	struct json content, part;
	struct json_iter iter;
	bool more, injected;
	int rc = items_end_reply(items);

	json_get(item, "content", &content);
	json_iter_init(&iter, &content);
	more = content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &part);
	while (!rc && more)
		rc = add_run(items, item, &iter, &part, &more);
	if (rc || (content.type == JSON_ARRAY && json_count(&content)))
		return rc;
	is_injected(items, &content, &injected);
	struct json_writer *writer = builder_begin(items->builder, ROLE_USER);
	json_key(writer, "content");
	if (content.type == JSON_STRING)
		json_add_value(writer, &content);
	else
		json_add_text(writer, "");
	builder_origin(items->builder, injected ? ORIGIN_INJECTED : ORIGIN_PERSON);
	write_source_except(writer, item, OWN);
	return end_message(items, writer, &items->time);
}

/* Arguments as a string: a custom tool's are its free text, a search's are an object. */
static void write_arguments(struct json_writer *writer, const struct json *arguments)
{
	json_key(writer, "arguments");
	if (arguments->type == JSON_STRING)
		json_add_value(writer, arguments);
	else if (arguments->type == JSON_ABSENT)
		json_add_text(writer, "");
	else
		json_add_string(writer, (struct slice){arguments->text, arguments->len});
}

static int add_call(struct items *items, const struct json *item, const struct json *type)
{
	static const char *const OWN[] = {"call_id", "name", "arguments", "input", NULL};
	struct json value;

	open_reply(items);
	struct json_writer *writer = &items->blocks;
	json_begin_object(writer);
	json_member_text(writer, "type", "tool_call");
	if (json_get(item, "call_id", &value) || json_get(item, "id", &value))
		json_member_value(writer, "id", &value);
	if (json_get(item, "name", &value))
		json_member_value(writer, "name", &value);
	else
		json_member_text(
			writer, "name", json_string_is(type, "tool_search_call") ? "tool_search" : "");
	if (!json_get(item, "arguments", &value))
		json_get(item, "input", &value);
	write_arguments(writer, &value);
	json_end_object(writer);
	add_rest(items, item, OWN);
	return 0;
}

static int add_output(struct items *items, const struct json *item)
{
	static const char *const OWN[] = {"call_id", "output", "tools", NULL};
	struct json output;
	int rc = items_end_reply(items);

	if (rc)
		return rc;
	struct slice id = import_string(items->builder->import, item, "call_id");
	struct json_writer *writer = builder_begin_result(items->builder, id);
	json_key(writer, "content");
	if (!json_get(item, "output", &output))
		json_get(item, "tools", &output);
	if (output.type == JSON_STRING) {
		json_add_value(writer, &output);
	} else if (output.type == JSON_ARRAY && json_get(item, "output", &output)) {
		json_begin_array(writer);
		write_parts(writer, &output);
		json_end_array(writer);
	} else { /* found tools, or an object: the model is shown its JSON */
		json_add_string(writer, (struct slice){output.len ? output.text : "", output.len});
	}
	write_source_except(writer, item, OWN);
	return end_message(items, writer, &items->time);
}

int items_add_summary(
	struct items *items, struct slice blocks, const struct json *record, const char *const *except)
{
	int rc = items_end_reply(items);

	if (rc)
		return rc;
	struct json_writer *writer = builder_begin(items->builder, ROLE_USER);
	json_key(writer, "content");
	json_add_raw(writer, blocks);
	builder_origin(items->builder, ORIGIN_SUMMARY);
	write_source_except(writer, record, except);
	items->next.cuts = true;
	items->next.cut = DRAFT_NONE;
	items->reply = DRAFT_NONE;
	return end_message(items, writer, &items->time);
}

static int add_compaction(struct items *items, const struct json *item)
{
	static const char *const NOTHING[] = {NULL};
	struct buffer blocks = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	struct json none = {.type = JSON_ABSENT};

	buffer_add_char(&blocks, '[');
	buffer_add(&blocks, item->text, item->len);
	buffer_add_char(&blocks, ']');
	int rc = buffer_error(&blocks);
	if (!rc)
		rc = items_add_summary(items, buffer_slice(&blocks), &none, NOTHING);
	buffer_release(&blocks);
	return rc;
}

static int add_message(struct items *items, const struct json *item, struct place place)
{
	struct json role;

	json_get(item, "role", &role);
	if (json_string_is(&role, "assistant"))
		return add_assistant(items, item);
	if (json_string_is(&role, "user"))
		return add_user(items, item);
	if (json_string_is(&role, "developer") || json_string_is(&role, "system"))
		return import_left_out(items->builder->import, place,
			"system {prompt|prompts} (given with each request, not stored)");
	return import_not_understood(items->builder->import, place, "{message|messages} of the role",
		import_string(items->builder->import, item, "role"));
}

/* Prompts that the provider keeps by a name, lists of tools: they are no part of the conversation. */
static bool is_setting(const struct json *type)
{
	return json_string_is(type, "item_reference") || json_string_is(type, "mcp_list_tools") ||
	       json_string_is(type, "ghost_snapshot");
}

static bool ends_with(struct slice text, const char *end)
{
	size_t len = strlen(end);
	return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

int items_add(struct items *items, const struct json *item, struct place place)
{
	struct import *import = items->builder->import;
	struct json type, id, member;
	struct slice name = {NULL, 0};

	if (item->type != JSON_OBJECT)
		return import_not_understood(import, place, "{item that is no object|items that are no objects}", name);
	json_get(item, "type", &type);
	if (json_string_is(&type, "message") || (type.type == JSON_ABSENT && json_get(item, "role", &member)))
		return add_message(items, item, place);
	name = import_string(import, item, "type");
	if (!name.data)
		return import_not_understood(import, place, "{item|items} without a type", name);
	if (json_string_is(&type, "compaction") || json_string_is(&type, "context_compaction"))
		return add_compaction(items, item);
	if (json_string_is(&type, "function_call") || json_string_is(&type, "custom_tool_call") ||
		(ends_with(name, "_call") && json_get(item, "call_id", &id) && id.type == JSON_STRING))
		return add_call(items, item, &type);
	if (ends_with(name, "_output"))
		return add_output(items, item);
	if (is_setting(&type))
		return import_left_out(import, place, "{list|lists} of tools, references and snapshots");
	if (!json_string_is(&type, "reasoning") && !ends_with(name, "_call") &&
		!json_string_is(&type, "mcp_approval_request"))
		return import_not_understood(import, place, "{item|items} of the type", name);
	open_reply(items);
	json_add_value(&items->blocks, item);
	json_begin_object(&items->rests);
	json_member_value(&items->rests, "type", &type);
	json_end_object(&items->rests);
	return 0;
}

struct import_usage items_usage(const struct json *usage)
{
	struct import_usage found = IMPORT_USAGE_UNKNOWN;
	struct json details;

	found.input = import_number(usage, "input_tokens");
	found.output = import_number(usage, "output_tokens");
	found.cached = import_number(usage, "cached_input_tokens");
	found.reasoning = import_number(usage, "reasoning_output_tokens");
	if (json_get(usage, "input_tokens_details", &details))
		found.cached = import_number(&details, "cached_tokens");
	if (json_get(usage, "output_tokens_details", &details))
		found.reasoning = import_number(&details, "reasoning_tokens");
	return found;
}
