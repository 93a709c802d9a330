/* SPDX-License-Identifier: MIT */
#include "transcript/export_parts.h"

void export_next_entry(struct export *export)
{
	buffer_add_text(export->out, export->entries++ ? ",\n" : "\n");
	export->json.comma = false;
}

bool export_close_message(struct export *export)
{
	if (export->open == OPEN_NONE)
		return false;
	json_end_array(&export->json);
	json_end_object(&export->json);
	export->open = OPEN_NONE;
	return true;
}

void export_text_part(struct export *export, const char *type, const struct json *text)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", type);
	json_key(&export->json, "text");
	export_string(export, text);
	json_end_object(&export->json);
}

void export_image_source(struct export *export, const struct export_image *image)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "image");
	json_key(&export->json, "source");
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", image->url.len ? "url" : "base64");
	if (image->url.len) {
		json_member_string(&export->json, "url", image->url);
	} else {
		json_member_string(&export->json, "media_type", image->media_type);
		json_member_string(&export->json, "data", image->data);
	}
	json_end_object(&export->json);
	json_end_object(&export->json);
}

void export_tool_use(struct export *export, const struct block *call)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "tool_use");
	json_key(&export->json, "id");
	export_call_id(export, call->call_id, IDS_WORDS);
	json_key(&export->json, "name");
	export_call_name(export, call->call_name);
	json_key(&export->json, "input");
	export_arguments_object(export, call);
	json_end_object(&export->json);
}

bool export_is_signed(const struct json *block)
{
	struct json type, signature;

	json_get(block, "type", &type);
	return json_string_is(&type, "redacted_thinking") ||
	       (json_string_is(&type, "thinking") && json_get(block, "signature", &signature) &&
		       signature.type == JSON_STRING && signature.len > 2);
}

void export_input_image(struct export *export, const struct export_image *image)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "input_image");
	json_key(&export->json, "image_url");
	export_image_url(export, image);
	json_member_text(&export->json, "detail", "auto"); /* the schema wants one */
	json_end_object(&export->json);
}

static bool has_images(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;
	bool any = false;

	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		any |= block.type == BLOCK_IMAGE && export_image(export, &block, &image);
	return any;
}

int export_call_output(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;

	if (!has_images(export, message)) {
		export_join_texts(export, message, false);
		export_text(export, buffer_slice(&export->text));
		return 0;
	}
	json_begin_array(&export->json);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		if (block.type == BLOCK_TEXT)
			export_text_part(export, "input_text", &block.text);
		else if (block.type == BLOCK_IMAGE && export_image(export, &block, &image))
			export_input_image(export, &image);
	json_end_array(&export->json);
	return iter.error;
}
