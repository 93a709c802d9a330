/* SPDX-License-Identifier: MIT */
/*
 * Anthropic's messages: the two roles take turns strictly; results are blocks at the start of the user's
 * message that follows their calls; thinking goes back signed, as it came.
 */
#include "window/renderer.h"

/* What stands before a marker is kept by the provider for the next request: the tools and the system prompt,
 * which stay the same for long, and everything up to the newest message, which the next turn goes on from. */
#define CACHE_MARKER ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define OUTPUT_MAX_DEFAULT 4096 /* the dialect insists on a figure */

static void begin(struct renderer *renderer)
{
	uint64_t output_max = renderer->options->output_max;

	render_add(renderer, "{\"model\":");
	render_string(renderer, renderer->options->model);
	render_add(renderer, ",\"max_tokens\":");
	buffer_add_u64(renderer->out, output_max ? output_max : OUTPUT_MAX_DEFAULT);
	if (!text_is_blank_literal(renderer->options->system)) {
		render_add(renderer, ",\"system\":[{\"type\":\"text\",\"text\":");
		render_string(renderer, renderer->options->system);
		render_add(renderer, CACHE_MARKER "}]");
	}
	render_add(renderer, ",\"messages\":[");
}

static void close_user(struct renderer *renderer)
{
	render_add(renderer, "]}");
	renderer->open = false;
	renderer->user_end = renderer->out->len;
}

/* A marker on the last block, if the last message is a user's: it ends with the block's brace and "]}". */
static void mark_last(struct renderer *renderer)
{
	static const char tail[] = "}]}";
	if (renderer->user_end != renderer->out->len || renderer->out->len < sizeof(tail))
		return;
	buffer_truncate(renderer->out, renderer->out->len - (sizeof(tail) - 1));
	render_add(renderer, CACHE_MARKER);
	render_add(renderer, tail);
}

static void open_user(struct renderer *renderer)
{
	if (renderer->open)
		return;
	render_message(renderer);
	render_add(renderer, "{\"role\":\"user\",\"content\":[");
	renderer->open = true;
	renderer->parts = 0;
}

static void add_part(struct renderer *renderer, const struct view_block *block)
{
	const struct view_image *image = &block->image;

	if (block->kind != VIEW_IMAGE) {
		render_add(renderer, "{\"type\":\"text\",\"text\":");
		render_joined(renderer, block, 1, "");
		buffer_add_char(renderer->out, '}');
		return;
	}
	if (image->url.len) {
		render_add(renderer, "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":");
		render_string(renderer, image->url);
	} else {
		render_add(renderer, "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":");
		render_string(renderer, image->media_type);
		render_add(renderer, ",\"data\":\"");
		buffer_add_slice(renderer->out, image->data);
		buffer_add_char(renderer->out, '"');
	}
	render_add(renderer, "}}");
}

static void user(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	open_user(renderer);
	for (size_t i = 0; i < count; i++) {
		if (renderer->parts++)
			buffer_add_char(renderer->out, ',');
		add_part(renderer, &blocks[i]);
	}
}

static void assistant(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	render_message(renderer);
	render_add(renderer, "{\"role\":\"assistant\",\"content\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			buffer_add_char(renderer->out, ',');
		if (blocks[i].kind == VIEW_RAW) {
			json_add_on_one_line(renderer->out, (struct slice){blocks[i].text.text, blocks[i].text.len});
		} else if (blocks[i].kind == VIEW_CALL) {
			render_add(renderer, "{\"type\":\"tool_use\",\"id\":");
			render_string(renderer, blocks[i].id);
			render_add(renderer, ",\"name\":");
			render_string(renderer, blocks[i].name);
			render_add(renderer, ",\"input\":");
			json_add_on_one_line(renderer->out, blocks[i].arguments);
			buffer_add_char(renderer->out, '}');
		} else {
			add_part(renderer, &blocks[i]);
		}
	}
	render_add(renderer, "]}");
}

static void results(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	open_user(renderer);
	for (size_t i = 0; i < count; i++) {
		const struct view_block *result = &blocks[i];
		if (renderer->parts++)
			buffer_add_char(renderer->out, ',');
		render_add(renderer, "{\"type\":\"tool_result\",\"tool_use_id\":");
		render_string(renderer, result->id);
		render_add(
			renderer, result->is_error ? ",\"is_error\":true,\"content\":[" : ",\"content\":[");
		for (size_t part = 0; part < result->part_count; part++) {
			if (part)
				buffer_add_char(renderer->out, ',');
			add_part(renderer, &result->parts[part]);
		}
		render_add(renderer, "]}");
	}
}

static void end(struct renderer *renderer)
{
	mark_last(renderer);
	buffer_add_char(renderer->out, ']');
	render_tools(renderer);
	render_tail(renderer, ",\"stream\":true");
}

const struct dialect_ops render_anthropic = {begin, user, assistant, results, close_user, end};
