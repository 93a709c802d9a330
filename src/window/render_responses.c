/* SPDX-License-Identifier: MIT */
/*
 * OpenAI's responses: a flat list of items. Nothing is kept on the provider's side ("store": false), so
 * reasoning goes back sealed, as it came.
 */
#include "window/renderer.h"

static void begin(struct renderer *renderer)
{
	render_add(renderer, "{\"model\":");
	render_string(renderer, renderer->options->model);
	if (!text_is_blank_literal(renderer->options->system)) {
		render_add(renderer, ",\"instructions\":");
		render_string(renderer, renderer->options->system);
	}
	render_add(renderer, ",\"input\":[");
}

static void close_user(struct renderer *renderer)
{
	render_add(renderer, "]}");
	renderer->open = false;
}

static void add_part(struct renderer *renderer, const struct view_block *block)
{
	if (block->kind == VIEW_IMAGE) {
		render_add(renderer, "{\"type\":\"input_image\",\"image_url\":");
		render_image_url(renderer, &block->image);
		render_add(renderer, ",\"detail\":"); /* the schema wants one */
		render_string(renderer, block->image.detail.len ? block->image.detail : SLICE_LITERAL("auto"));
	} else {
		render_add(renderer, "{\"type\":\"input_text\",\"text\":");
		render_joined(renderer, block, 1, "");
	}
	buffer_add_char(renderer->out, '}');
}

static void user(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	if (!renderer->open) {
		render_message(renderer);
		render_add(renderer, "{\"type\":\"message\",\"role\":\"user\",\"content\":[");
		renderer->open = true;
		renderer->parts = 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (renderer->parts++)
			buffer_add_char(renderer->out, ',');
		add_part(renderer, &blocks[i]);
	}
}

static void add_call(struct renderer *renderer, const struct view_block *call)
{
	render_message(renderer);
	render_add(renderer, "{\"type\":\"function_call\",\"call_id\":");
	render_string(renderer, call->id);
	render_add(renderer, ",\"name\":");
	render_string(renderer, call->name);
	render_add(renderer, ",\"arguments\":");
	render_string(renderer, call->arguments);
	buffer_add_char(renderer->out, '}');
}

/* Texts that follow each other are one message. Returns how many blocks it took. */
static size_t add_texts(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	size_t taken = 0;

	render_message(renderer);
	render_add(renderer, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[");
	for (; taken < count && blocks[taken].kind == VIEW_TEXT; taken++) {
		render_add(renderer, taken ? ",{\"type\":\"output_text\",\"text\":"
					   : "{\"type\":\"output_text\",\"text\":");
		render_joined(renderer, &blocks[taken], 1, "");
		buffer_add_char(renderer->out, '}');
	}
	render_add(renderer, "]}");
	return taken;
}

static void assistant(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	for (size_t i = 0; i < count;) {
		if (blocks[i].kind == VIEW_TEXT) {
			i += add_texts(renderer, blocks + i, count - i);
			continue;
		}
		if (blocks[i].kind == VIEW_CALL) {
			add_call(renderer, &blocks[i]);
		} else {
			render_message(renderer);
			json_add_on_one_line(renderer->out, (struct slice){blocks[i].text.text, blocks[i].text.len});
			renderer->sealed = true;
		}
		i++;
	}
}

static void results(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct view_block *result = &blocks[i];
		const struct view_block error = {.kind = VIEW_TEXT, .literal = SLICE_LITERAL("[error]")};
		render_message(renderer);
		render_add(renderer, "{\"type\":\"function_call_output\",\"call_id\":");
		render_string(renderer, result->id);
		render_add(renderer, ",\"output\":");
		if (render_count(result->parts, result->part_count, VIEW_IMAGE) == 0) {
			render_joined(renderer, result->parts, result->part_count,
				result->is_error ? "[error] " : "");
		} else {
			buffer_add_char(renderer->out, '[');
			if (result->is_error)
				add_part(renderer, &error);
			for (size_t part = 0; part < result->part_count; part++) {
				if (part || result->is_error)
					buffer_add_char(renderer->out, ',');
				add_part(renderer, &result->parts[part]);
			}
			buffer_add_char(renderer->out, ']');
		}
		buffer_add_char(renderer->out, '}');
	}
}

static void end(struct renderer *renderer)
{
	buffer_add_char(renderer->out, ']');
	render_tools(renderer);
	render_add(renderer, ",\"store\":false");
	if (renderer->sealed)
		render_add(renderer, ",\"include\":[\"reasoning.encrypted_content\"]");
	if (renderer->options->output_max) {
		render_add(renderer, ",\"max_output_tokens\":");
		buffer_add_u64(renderer->out, renderer->options->output_max);
	}
	render_tail(renderer, ",\"stream\":true");
}

const struct dialect_ops render_openai_responses = {begin, user, assistant, results, close_user, end};
