/* SPDX-License-Identifier: MIT */
/*
 * OpenAI's Responses: {"input":[…]}, an item a line. A message is an item of its texts and pictures;
 * reasoning, calls and results are items of their own, in their order. Sealed reasoning goes out as it came,
 * thinking of other products does not.
 */
#include "transcript/export_parts.h"

static int begin(struct export *export)
{
	buffer_add_text(export->out, "{\"input\":[");
	return 0;
}

static void open_message(struct export *export, enum message_role role)
{
	if (export->open != OPEN_NONE)
		return;
	export_next_entry(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "message");
	json_member_text(&export->json, "role", message_role_text(role));
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	export->open = role == ROLE_ASSISTANT ? OPEN_ASSISTANT : OPEN_USER;
}

static void add_call(struct export *export, const struct block *call)
{
	export_close_message(export);
	export_next_entry(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "function_call");
	json_key(&export->json, "call_id");
	export_call_id(export, call->call_id, IDS_VISIBLE);
	json_key(&export->json, "name");
	export_call_name(export, call->call_name);
	json_key(&export->json, "arguments");
	export_arguments_text(export, call);
	json_end_object(&export->json);
}

static void add_sealed(struct export *export, const struct block *block)
{
	struct json type, id;

	json_get(&block->value, "type", &type);
	if (!json_string_is(&type, "reasoning") || !json_get(&block->value, "id", &id)) {
		export_lose(export, "thinking");
		return;
	}
	export_close_message(export);
	export_next_entry(export);
	json_add_value(&export->json, &block->value);
}

static void add_block(struct export *export, enum message_role role, const struct block *block)
{
	struct export_image image;

	switch (block->type) {
	case BLOCK_TEXT:
		open_message(export, role);
		export_text_part(export, role == ROLE_ASSISTANT ? "output_text" : "input_text", &block->text);
		break;
	case BLOCK_CALL:
		add_call(export, block);
		break;
	case BLOCK_SEALED:
		add_sealed(export, block);
		break;
	case BLOCK_IMAGE:
		if (role == ROLE_USER && export_image(export, block, &image)) {
			open_message(export, role);
			export_input_image(export, &image);
			break;
		}
		/* fall through */
	default:
		if (export_is_item(&block->value)) {
			export_close_message(export);
			export_next_entry(export);
			json_add_value(&export->json, &block->value);
			break;
		}
		export_lose(export, block->type == BLOCK_IMAGE ? "images that cannot be read"
							       : "parts of a kind that the format has not");
	}
}

static int add_result(struct export *export, const struct message *message)
{
	if (message->is_error)
		export_lose(export, "marks that a result is an error");
	export_next_entry(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "function_call_output");
	json_key(&export->json, "call_id");
	export_call_id(export, message->tool_call_id, IDS_VISIBLE);
	json_key(&export->json, "output");
	int code = export_call_output(export, message);
	json_end_object(&export->json);
	return code;
}

static int message(struct export *export, const struct export_item *item)
{
	struct block_iter iter;
	struct block block;

	export_lose_origin(export, item->message);
	if (item->message->role == ROLE_TOOL)
		return add_result(export, item->message);
	block_iter_init(&iter, item->message, &export->arena);
	while (block_iter_next(&iter, &block))
		add_block(export, item->message->role, &block);
	export_close_message(export);
	return iter.error;
}

static int end(struct export *export)
{
	buffer_add_text(export->out, "\n]}\n");
	return 0;
}

const struct export_writer export_openai_responses = {
	{"openai-responses", "input items of OpenAI's Responses"}, begin, message, end};
