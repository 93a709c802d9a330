/* SPDX-License-Identifier: MIT */
/*
 * OpenAI's chat completions: {"messages":[…]}, a message a line. A user's content is a string while it is one
 * text, else an array of parts. Results are messages of their own that hold text only, so their pictures
 * follow in a user message when the batch is over. Thinking has no place here, nor has the mark of a failed
 * result.
 */
#include "transcript/export_parts.h"

static int begin(struct export *export)
{
	buffer_add_text(export->out, "{\"messages\":[");
	return 0;
}

static void begin_message(struct export *export, const char *role)
{
	export_next_entry(export);
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", role);
}

static void add_image_part(struct export *export, const struct export_image *image)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "image_url");
	json_key(&export->json, "image_url");
	json_begin_object(&export->json);
	json_key(&export->json, "url");
	export_image_url(export, image);
	json_end_object(&export->json);
	json_end_object(&export->json);
}

/* The pictures of results wait, as bytes of parts, until the batch is over. */
static void keep_image(struct export *export, const struct export_image *image)
{
	struct buffer *out = export->out;
	struct json_writer json = export->json;

	export->out = &export->pending;
	json_writer_init(&export->json, &export->pending);
	export->json.comma = export->pending.len > 0;
	add_image_part(export, image);
	export->out = out;
	export->json = json;
}

static void flush_images(struct export *export)
{
	if (!export->pending.len)
		return;
	begin_message(export, "user");
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	json_add_raw(&export->json, buffer_slice(&export->pending));
	json_end_array(&export->json);
	json_end_object(&export->json);
	buffer_clear(&export->pending);
}

static void add_part(struct export *export, const struct block *block)
{
	struct export_image image;

	if (block->type == BLOCK_TEXT) {
		export_text_part(export, "text", &block->text);
	} else if (block->type == BLOCK_IMAGE && export_image(export, block, &image)) {
		add_image_part(export, &image);
	} else if (block->type != BLOCK_CALL) {
		export_lose(export, block->type == BLOCK_SEALED	 ? "thinking"
				    : block->type == BLOCK_IMAGE ? "images that cannot be read"
								 : "parts of a kind that the format has not");
	}
}

/* True if the content is one text and nothing else: *ret_text. Without any content *ret_text is JSON_ABSENT.
 */
static bool is_one_text(struct export *export, const struct message *message, struct json *ret_text)
{
	struct block_iter iter;
	struct block block;
	size_t texts = 0, others = 0;

	*ret_text = (struct json){NULL, 0, JSON_ABSENT};
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_TEXT && !texts++)
			*ret_text = block.text;
		else if (block.type == BLOCK_IMAGE)
			others++;
	}
	return texts <= 1 && !others;
}

static void add_content(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct json text;
	bool plain = is_one_text(export, message, &text);

	json_key(&export->json, "content");
	if (plain && text.type == JSON_ABSENT && message->role == ROLE_ASSISTANT)
		json_add_null(&export->json);
	else if (plain)
		export_string(export, &text);
	else
		json_begin_array(&export->json);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		if (!plain || block.type != BLOCK_TEXT)
			add_part(export, &block);
	if (!plain)
		json_end_array(&export->json);
}

static void add_calls(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;

	json_key(&export->json, "tool_calls");
	json_begin_array(&export->json);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_CALL)
			continue;
		json_begin_object(&export->json);
		json_key(&export->json, "id");
		export_call_id(export, block.call_id, IDS_CHAT);
		json_member_text(&export->json, "type", "function");
		json_key(&export->json, "function");
		json_begin_object(&export->json);
		json_key(&export->json, "name");
		export_call_name(export, block.call_name);
		json_key(&export->json, "arguments");
		export_arguments_text(export, &block);
		json_end_object(&export->json);
		json_end_object(&export->json);
	}
	json_end_array(&export->json);
}

static void add_result(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;

	json_key(&export->json, "tool_call_id");
	export_call_id(export, message->tool_call_id, IDS_CHAT);
	if (message->name.len) {
		json_key(&export->json, "name");
		export_call_name(export, message->name);
	}
	if (message->is_error)
		export_lose(export, "marks that a result is an error");
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		if (block.type == BLOCK_IMAGE && export_image(export, &block, &image))
			keep_image(export, &image);
	export_join_texts(export, message, true);
	json_key(&export->json, "content");
	export_text(export, buffer_slice(&export->text));
}

static int message(struct export *export, const struct export_item *item)
{
	const struct message *message = item->message;

	export_lose_origin(export, message);
	if (message->role != ROLE_TOOL && export_is_empty(export, message, false))
		return 0;
	if (message->role != ROLE_TOOL)
		flush_images(export);
	begin_message(export, message_role_text(message->role));
	if (message->role == ROLE_TOOL)
		add_result(export, message);
	else
		add_content(export, message);
	if (message->role == ROLE_ASSISTANT && message_call_count(message))
		add_calls(export, message);
	json_end_object(&export->json);
	return 0;
}

static int end(struct export *export)
{
	flush_images(export);
	buffer_add_text(export->out, "\n]}\n");
	return 0;
}

const struct export_writer export_openai_chat = {
	{"openai-chat", "messages of OpenAI's chat completions"}, begin, message, end};
