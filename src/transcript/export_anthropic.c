/* SPDX-License-Identifier: MIT */
/*
 * Anthropic's Messages: {"messages":[…]}, a message a line. Roles take turns, so neighbours of one role are
 * one message with more blocks, and results are blocks of the user message that follows their calls. Blocks
 * that Anthropic signed go out byte for byte; thinking without a signature does not.
 */
#include "transcript/export_parts.h"

static int begin(struct export *export)
{
	buffer_add_text(export->out, "{\"messages\":[");
	return 0;
}

static void open_message(struct export *export, enum export_open_message role)
{
	if (export->open == role)
		return;
	export_close_message(export);
	export_next_entry(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", role == OPEN_USER ? "user" : "assistant");
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	export->open = role;
}

static bool goes_out(struct export *export, const struct message *message, const struct block *block)
{
	struct export_image image;
	const char *lost = NULL;

	switch (block->type) {
	case BLOCK_TEXT:
		if (!export_is_blank(&block->text))
			return true;
		lost = "blank texts, which the provider refuses";
		break;
	case BLOCK_IMAGE:
		if (message->role != ROLE_ASSISTANT && export_image(export, block, &image))
			return true;
		lost = "images that cannot be read";
		break;
	case BLOCK_SEALED:
		if (export_is_signed(&block->value))
			return true;
		lost = "thinking without a signature of this provider";
		break;
	case BLOCK_UNKNOWN:
		lost = "parts of a kind that the format has not";
		break;
	default:
		return true;
	}
	export_lose(export, lost);
	return false;
}

static void add_block(struct export *export, const struct block *block)
{
	struct export_image image;

	if (block->type == BLOCK_TEXT)
		export_text_part(export, "text", &block->text);
	else if (block->type == BLOCK_IMAGE && export_image(export, block, &image))
		export_image_source(export, &image);
	else if (block->type == BLOCK_CALL)
		export_tool_use(export, block);
	else
		json_add_value(&export->json, &block->value);
}

static int add_blocks(struct export *export, const struct message *message, enum export_open_message role)
{
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block)) {
		if (!goes_out(export, message, &block))
			continue;
		if (role != OPEN_NONE)
			open_message(export, role);
		add_block(export, &block);
	}
	return iter.error;
}

static int add_result(struct export *export, const struct message *message)
{
	open_message(export, OPEN_USER);
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "tool_result");
	json_key(&export->json, "tool_use_id");
	export_call_id(export, message->tool_call_id, IDS_WORDS);
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	int code = add_blocks(export, message, OPEN_NONE);
	json_end_array(&export->json);
	if (message->is_error)
		json_member_bool(&export->json, "is_error", true);
	json_end_object(&export->json);
	return code;
}

static int message(struct export *export, const struct export_item *item)
{
	export_lose_origin(export, item->message);
	if (item->message->role == ROLE_TOOL)
		return add_result(export, item->message);
	return add_blocks(
		export, item->message, item->message->role == ROLE_USER ? OPEN_USER : OPEN_ASSISTANT);
}

static int end(struct export *export)
{
	export_close_message(export);
	buffer_add_text(export->out, "\n]}\n");
	return 0;
}

const struct export_writer export_anthropic = {
	{"anthropic", "messages of Anthropic's API"}, begin, message, end};
