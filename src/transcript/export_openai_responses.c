/* SPDX-License-Identifier: MIT */
/*
 * OpenAI's Responses: {"input":[…]}, an item a line. A message is an item of its texts and pictures;
 * reasoning, calls and results are items of their own, in their order. Sealed reasoning goes out as it came,
 * thinking of other products does not.
 */
#include "transcript/export_writer.h"

static int begin(struct export *export)
{
	buffer_add_text(export->out, "{\"input\":[");
	return 0;
}

static void begin_item(struct export *export)
{
	buffer_add_text(export->out, export->entries++ ? ",\n" : "\n");
	export->json.comma = false;
}

static void close_message(struct export *export)
{
	if (export->open == OPEN_NONE)
		return;
	json_end_array(&export->json);
	json_end_object(&export->json);
	export->open = OPEN_NONE;
}

static void open_message(struct export *export, enum message_role role)
{
	if (export->open != OPEN_NONE)
		return;
	begin_item(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "message");
	json_member_text(&export->json, "role", message_role_text(role));
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	export->open = role == ROLE_ASSISTANT ? OPEN_ASSISTANT : OPEN_USER;
}

static void add_text(struct export *export, enum message_role role, const struct json *text)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", role == ROLE_ASSISTANT ? "output_text" : "input_text");
	json_key(&export->json, "text");
	export_string(export, text);
	json_end_object(&export->json);
}

static void add_image(struct export *export, const struct export_image *image)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "input_image");
	json_key(&export->json, "image_url");
	export_image_url(export, image);
	json_end_object(&export->json);
}

static void add_call(struct export *export, const struct block *call)
{
	close_message(export);
	begin_item(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "function_call");
	json_member_string(&export->json, "call_id", call->call_id);
	json_member_string(&export->json, "name", call->call_name);
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
	close_message(export);
	begin_item(export);
	json_add_value(&export->json, &block->value);
}

static void add_block(struct export *export, enum message_role role, const struct block *block)
{
	struct export_image image;

	switch (block->type) {
	case BLOCK_TEXT:
		open_message(export, role);
		add_text(export, role, &block->text);
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
			add_image(export, &image);
			break;
		}
		/* fall through */
	default:
		if (export_is_item(&block->value)) {
			close_message(export);
			begin_item(export);
			json_add_value(&export->json, &block->value);
			break;
		}
		export_lose(export, block->type == BLOCK_IMAGE ? "images that cannot be read"
							       : "parts of a kind that the format has not");
	}
}

/* A result is a string, or a list where there are pictures. */
static void add_result(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;
	bool list = false;

	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		list |= block.type == BLOCK_IMAGE && export_image(export, &block, &image);
	if (message->is_error)
		export_lose(export, "marks that a result is an error");
	begin_item(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "function_call_output");
	json_member_string(&export->json, "call_id", message->tool_call_id);
	json_key(&export->json, "output");
	if (!list) {
		export_join_texts(export, message, false);
		export_text(export, buffer_slice(&export->text));
	} else {
		json_begin_array(&export->json);
		block_iter_init(&iter, message, &export->arena);
		while (block_iter_next(&iter, &block))
			if (block.type == BLOCK_TEXT)
				add_text(export, ROLE_TOOL, &block.text);
			else if (block.type == BLOCK_IMAGE && export_image(export, &block, &image))
				add_image(export, &image);
		json_end_array(&export->json);
	}
	json_end_object(&export->json);
}

static int message(struct export *export, const struct export_item *item)
{
	struct block_iter iter;
	struct block block;

	export_lose_origin(export, item->message);
	if (item->message->role == ROLE_TOOL) {
		add_result(export, item->message);
		return 0;
	}
	block_iter_init(&iter, item->message, &export->arena);
	while (block_iter_next(&iter, &block))
		add_block(export, item->message->role, &block);
	close_message(export);
	return iter.error;
}

static int end(struct export *export)
{
	buffer_add_text(export->out, "\n]}\n");
	return 0;
}

const struct export_writer export_openai_responses = {
	{"openai-responses", "input items of OpenAI's Responses"}, begin, message, end};
