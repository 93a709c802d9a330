/* SPDX-License-Identifier: MIT */
/*
 * OpenAI's chat completions: one system message first; a user's content is a string as long as there are only
 * texts, which the simplest servers want; results are messages of their own and hold text only, so their
 * images follow in a user message.
 */
#include "window/renderer.h"

static void begin(struct renderer *renderer)
{
	render_add(renderer, "{\"model\":");
	render_string(renderer, renderer->options->model);
	render_add(renderer, ",\"messages\":[");
	if (text_is_blank_literal(renderer->options->system))
		return;
	render_message(renderer);
	render_add(renderer, "{\"role\":\"system\",\"content\":");
	render_string(renderer, renderer->options->system);
	buffer_add_char(renderer->out, '}');
}

static void close_user(struct renderer *renderer)
{
	render_add(renderer, renderer->array ? "]}" : "}");
	renderer->open = renderer->array = false;
}

/* The content written so far becomes the first part of an array. */
static void make_array(struct renderer *renderer)
{
	static const char LEAD[] = "[{\"type\":\"text\",\"text\":";
	struct buffer *out = renderer->out;
	size_t lead = sizeof(LEAD) - 1, written = out->len - renderer->content_at;

	renderer->array = true;
	if (renderer->parts == 0) {
		buffer_add_char(out, '[');
		return;
	}
	if (!buffer_reserve(out, lead + 1))
		return;
	char *content = out->data + renderer->content_at;
	memmove(content + lead, content, written);
	memcpy(content, LEAD, lead);
	out->len += lead;
	buffer_add_char(out, '}');
}

static void add_part(struct renderer *renderer, const struct view_block *block)
{
	if (renderer->parts)
		buffer_add_char(renderer->out, ',');
	if (block->kind == VIEW_IMAGE) {
		render_add(renderer, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
		render_image_url(renderer, &block->image);
		if (block->image.detail.len) {
			render_add(renderer, ",\"detail\":");
			render_string(renderer, block->image.detail);
		}
		render_add(renderer, "}}");
	} else {
		render_add(renderer, "{\"type\":\"text\",\"text\":");
		render_joined(renderer, block, 1, "");
		buffer_add_char(renderer->out, '}');
	}
}

static void add_text(struct renderer *renderer, const struct view_block *block)
{
	if (renderer->parts == 0) {
		buffer_add_char(renderer->out, '"');
	} else {
		buffer_truncate(renderer->out, renderer->out->len - 1); /* its closing quote */
		render_add(renderer, block->joined ? "\\n" : "\\n\\n");
	}
	render_text(renderer, block);
	buffer_add_char(renderer->out, '"');
}

static void user(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	if (!renderer->open) {
		render_message(renderer);
		render_add(renderer, "{\"role\":\"user\",\"content\":");
		renderer->content_at = renderer->out->len;
		renderer->open = true;
		renderer->array = false;
		renderer->parts = 0;
	}
	for (size_t i = 0; i < count && !renderer->out->error; i++) {
		if (blocks[i].kind == VIEW_IMAGE && !renderer->array)
			make_array(renderer);
		if (renderer->array)
			add_part(renderer, &blocks[i]);
		else
			add_text(renderer, &blocks[i]);
		renderer->parts++;
	}
}

static void add_calls(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	bool first = true;

	render_add(renderer, ",\"tool_calls\":[");
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].kind != VIEW_CALL)
			continue;
		if (!first)
			buffer_add_char(renderer->out, ',');
		first = false;
		render_add(renderer, "{\"id\":");
		render_string(renderer, blocks[i].id);
		render_add(renderer, ",\"type\":\"function\",\"function\":{\"name\":");
		render_string(renderer, blocks[i].name);
		render_add(renderer, ",\"arguments\":");
		render_string(renderer, blocks[i].arguments);
		render_add(renderer, "}}");
	}
	buffer_add_char(renderer->out, ']');
}

static void assistant(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	render_message(renderer);
	render_add(renderer, "{\"role\":\"assistant\",\"content\":");
	if (render_count(blocks, count, VIEW_TEXT))
		render_joined(renderer, blocks, count, "");
	else
		render_add(renderer, "null");
	if (render_count(blocks, count, VIEW_CALL))
		add_calls(renderer, blocks, count);
	buffer_add_char(renderer->out, '}');
}

/* Images of results, each batch under a line that names its call. */
static void add_images(struct renderer *renderer, const struct view_block *result)
{
	static const char LEAD[] = "[image from the result of tool call ";
	struct arena *arena = &renderer->view->arena;
	size_t len = sizeof(LEAD) + result->id.len;
	char *text = arena_alloc(arena, len);

	if (!text) {
		view_fail(renderer->view, BOBBIN_ENOMEM);
		return;
	}
	memcpy(text, LEAD, sizeof(LEAD) - 1);
	memcpy(text + sizeof(LEAD) - 1, result->id.data, result->id.len);
	text[len - 1] = ']';
	const struct view_block lead = {.kind = VIEW_TEXT, .literal = {text, len}};
	user(renderer, &lead, 1);
	for (size_t i = 0; i < result->part_count; i++)
		if (result->parts[i].kind == VIEW_IMAGE)
			user(renderer, &result->parts[i], 1);
}

static void results(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct view_block *result = &blocks[i];
		render_message(renderer);
		render_add(renderer, "{\"role\":\"tool\",\"tool_call_id\":");
		render_string(renderer, result->id);
		render_add(renderer, ",\"content\":");
		if (render_count(result->parts, result->part_count, VIEW_TEXT))
			render_joined(renderer, result->parts, result->part_count,
				result->is_error ? "[error] " : "");
		else
			render_add(renderer, result->is_error ? "\"[error] [see the image that follows]\""
							      : "\"[see the image that follows]\"");
		buffer_add_char(renderer->out, '}');
	}
	for (size_t i = 0; i < count; i++)
		if (render_count(blocks[i].parts, blocks[i].part_count, VIEW_IMAGE))
			add_images(renderer, &blocks[i]);
}

static void end(struct renderer *renderer)
{
	buffer_add_char(renderer->out, ']');
	render_tools(renderer);
	render_tail(renderer, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
}

const struct dialect_ops render_openai_chat = {begin, user, assistant, results, close_user, end};
