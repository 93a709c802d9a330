/* SPDX-License-Identifier: MIT */
#include "window/renderer.h"

static const char *const NAMES[] = {"openai-chat", "openai-responses", "anthropic", NULL};
static const struct dialect_ops *const OPS[] = {
	&render_openai_chat, &render_openai_responses, &render_anthropic};

bool dialect_of(const char *name, enum dialect *ret_dialect)
{
	for (size_t i = 0; NAMES[i]; i++) {
		if (strcmp(name, NAMES[i]) == 0) {
			*ret_dialect = (enum dialect)i;
			return true;
		}
	}
	return false;
}

const char *dialect_text(enum dialect dialect)
{
	return NAMES[dialect];
}

const char *const *dialect_names(void)
{
	return NAMES;
}

void render_add(struct renderer *renderer, const char *text)
{
	buffer_add_text(renderer->out, text);
}

void render_message(struct renderer *renderer)
{
	if (renderer->open)
		OPS[renderer->options->dialect]->close(renderer);
	renderer->open = false;
	if (renderer->comma)
		buffer_add_char(renderer->out, ',');
	renderer->comma = true;
}

void render_text(struct renderer *renderer, const struct view_block *block)
{
	if (block->text.type == JSON_STRING)
		text_copy_clean(renderer->out, block->text.text + 1, block->text.len - 2);
	else
		text_escape_clean(renderer->out, block->literal);
}

void render_string(struct renderer *renderer, struct slice text)
{
	buffer_add_char(renderer->out, '"');
	text_escape_clean(renderer->out, text);
	buffer_add_char(renderer->out, '"');
}

void render_joined(
	struct renderer *renderer, const struct view_block *blocks, size_t count, const char *prefix)
{
	bool first = true;

	buffer_add_char(renderer->out, '"');
	render_add(renderer, prefix);
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].kind != VIEW_TEXT)
			continue;
		if (!first)
			render_add(renderer, blocks[i].joined ? "\\n" : "\\n\\n");
		render_text(renderer, &blocks[i]);
		first = false;
	}
	buffer_add_char(renderer->out, '"');
}

size_t render_count(const struct view_block *blocks, size_t count, enum view_kind kind)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += blocks[i].kind == kind;
	return found;
}

void render_image_url(struct renderer *renderer, const struct view_image *image)
{
	if (image->url.len) {
		render_string(renderer, image->url);
		return;
	}
	render_add(renderer, "\"data:");
	buffer_add_slice(renderer->out, image->media_type);
	render_add(renderer, ";base64,");
	buffer_add_slice(renderer->out, image->data);
	buffer_add_char(renderer->out, '"');
}

static void add_user(struct renderer *renderer, const struct view_block *blocks, size_t count)
{
	if (!count)
		return;
	OPS[renderer->options->dialect]->user(renderer, blocks, count);
	renderer->side = SIDE_USER;
}

static void add_user_text(struct renderer *renderer, struct slice text)
{
	struct view_block block = {.kind = VIEW_TEXT, .literal = text};
	add_user(renderer, &block, 1);
}

/* The last words of a body that ends with the assistant: no white space at their end. */
static void trim_last(struct renderer *renderer, struct view_list *list)
{
	struct slice text;
	struct view_block *block = NULL;

	for (size_t i = list->count; i > 0 && !block; i--)
		if (list->items[i - 1].kind == VIEW_TEXT)
			block = &list->items[i - 1];
	if (!block)
		return;
	text = block->literal;
	if (block->text.type == JSON_STRING) {
		text = json_string_content(&block->text, &renderer->view->arena);
		if (!text.data) {
			view_fail(renderer->view, BOBBIN_ENOMEM);
			return;
		}
	}
	if (text_trim_end(text).len == text.len)
		return;
	block->literal = text_trim_end(text);
	block->text = (struct json){NULL, 0, JSON_ABSENT};
}

static void add_assistant(struct renderer *renderer, struct view_run *run)
{
	const struct dialect_ops *ops = OPS[renderer->options->dialect];

	if (renderer->side == SIDE_NONE || renderer->side == SIDE_ASSISTANT)
		add_user_text(renderer, SLICE_LITERAL(WINDOW_CONTINUES));
	if (run->last && !run->results.count && !run->user.count)
		trim_last(renderer, &run->assistant);
	ops->assistant(renderer, run->assistant.items, run->assistant.count);
	renderer->side = SIDE_ASSISTANT;
	if (run->results.count) {
		ops->results(renderer, run->results.items, run->results.count);
		renderer->side = SIDE_RESULTS;
	}
}

static void add_messages(struct renderer *renderer)
{
	struct view *view = renderer->view;
	struct view_run run;

	while (view_next(view, &run) && !renderer->out->error) {
		if (run.assistant.count)
			add_assistant(renderer, &run);
		add_user(renderer, run.user.items, run.user.count);
	}
	if (!view->injected && !text_is_blank_literal(renderer->options->injected))
		add_user_text(renderer, renderer->options->injected);
	if (renderer->side == SIDE_NONE)
		add_user_text(renderer, SLICE_LITERAL(WINDOW_CONTINUES));
	if (renderer->open)
		OPS[renderer->options->dialect]->close(renderer);
}

/* Members that all dialects write alike at the end. */
void render_tail(struct renderer *renderer, const char *text)
{
	if (renderer->options->stream)
		render_add(renderer, text);
	buffer_add_char(renderer->out, '}');
}

int render_request(const struct window_plan *plan, const struct path *path,
	const struct render_options *options, struct buffer *out, struct render_report *ret_report,
	struct bobbin_error *error)
{
	const struct dialect_ops *ops = OPS[options->dialect];
	struct render_report ignored;
	struct view view;
	struct renderer renderer = {.view = &view, .options = options, .out = out};
	size_t start = out->len;
	int rc;

	view_init(&view, plan, path, options, ret_report ? ret_report : &ignored, error);
	ops->begin(&renderer);
	add_messages(&renderer);
	ops->end(&renderer);
	rc = view.rc;
	if (!rc && (rc = buffer_error(out)))
		error_set(error, rc,
			rc == BOBBIN_ENOMEM ? "out of memory while rendering a request"
					    : "the request's body is larger than the buffer may be");
	if (!rc && options->byte_limit && out->len - start > options->byte_limit)
		rc = error_set(error, BOBBIN_EBUDGET,
			"the request's body is too big: %llu bytes where %llu are allowed; raise the byte "
			"limit or take a "
			"smaller tail",
			(unsigned long long)(out->len - start), (unsigned long long)options->byte_limit);
	view_release(&view);
	return rc;
}
