/* SPDX-License-Identifier: MIT */
/* The body of a tool result as it is shown: whole, cut with a pointer, or a pointer alone. */
#include "window/planner.h"
#include "window/view.h"

#include "base/limits.h"
#include "base/utf8.h"

/* 12 345 */
static void add_grouped(struct buffer *out, uint64_t number)
{
	if (number >= 1000) {
		add_grouped(out, number / 1000);
		buffer_addf(out, " %03u", (unsigned)(number % 1000));
	} else {
		buffer_add_u64(out, number);
	}
}

/* Moves what was written into the arena. */
static struct slice keep(struct view *view, struct buffer *text)
{
	int rc = buffer_error(text);
	struct slice copy = {NULL, text->len};

	if (!rc && !(copy.data = arena_copy(&view->arena, text->data, text->len)))
		rc = BOBBIN_ENOMEM;
	buffer_release(text);
	if (!rc)
		return copy;
	view_fail(view, rc);
	return (struct slice){"", 0};
}

static void add_id(struct view *view, const struct view_message *message, struct buffer *text)
{
	char id[PATH_ID_BYTES];
	size_t position = message->position;

	if (message->late_id)
		buffer_add_text(text, message->late_id);
	else if (!view->rc && !(view->rc = path_id(view->path, position, id, view->error)))
		buffer_add_text(text, id);
}

struct slice view_pointer(struct view *view, const struct view_message *message, const char *before)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES + 256);

	buffer_addf(&text, "[%s; recall ", before);
	add_id(view, message, &text);
	buffer_add_char(&text, ']');
	return keep(view, &text);
}

static void add_pointer(struct view *view, const struct view_message *message, uint64_t tokens, struct buffer *text)
{
	buffer_add_text(text, "[… ");
	add_grouped(text, tokens);
	buffer_add_text(text, " tokens; recall ");
	add_id(view, message, text);
	buffer_add_char(text, ']');
}

/* The first bytes of the text, then a pointer. */
static void add_shortened(struct view *view, const struct view_message *message, size_t bytes,
	uint64_t hidden, struct view_list *list)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES * 2);

	if (bytes) {
		message_add_text(&message->message, &view->arena, &text);
		if (!buffer_error(&text))
			buffer_truncate(&text, utf8_truncate(text.data, text.len, bytes));
		buffer_add_char(&text, '\n');
	}
	add_pointer(view, message, hidden, &text);
	view_add_literal(view, list, keep(view, &text), true);
}

static const struct window_shortened *find_shortened(const struct window_plan *plan, size_t position)
{
	for (size_t i = 0; i < plan->shortened_count; i++)
		if (plan->shortened[i].position == position)
			return &plan->shortened[i];
	return NULL;
}

void view_add_image(struct view *view, const struct view_message *message, const struct block *block,
	struct view_list *list)
{
	struct view_image image;

	if (message->position < view->plan->images_from) {
		view_add_literal(view, list, view_pointer(view, message, "image"), true);
		view->report->images_hidden++;
	} else if (view_image_read(view, block, &image)) {
		struct view_block *added = view_add(view, list);
		if (added) {
			added->kind = VIEW_IMAGE;
			added->image = image;
			added->joined = true;
		}
	} else if (!view->rc) {
		view_add_literal(view, list,
			view_pointer(view, message, "an image no provider would read"), true);
		view_lose(view, message->position, "an image that is damaged or of an unknown type");
	}
}

static void add_whole(struct view *view, const struct view_message *message, struct view_list *list)
{
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, &message->message, &view->arena);
	while (!view->rc && block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_IMAGE) {
			view_add_image(view, message, &block, list);
		} else if (block.type != BLOCK_TEXT) {
			view_lose(view, message->position,
				"a block of a tool result that is neither text nor image");
		} else if (!text_is_blank(&block.text)) {
			struct view_block *added = view_add(view, list);
			if (added) {
				added->text = block.text;
				added->joined = true;
			}
		}
	}
	if (iter.error)
		view_fail(view, iter.error);
}

void view_result_parts(
	struct view *view, const struct view_message *message, struct slice lead, struct view_list *list)
{
	const struct window_shortened *shortened = NULL;
	size_t before;

	if (lead.len)
		view_add_literal(view, list, lead, false);
	before = list->count;
	if (message->shape == WINDOW_SHORTENED)
		shortened = find_shortened(view->plan, message->position);
	/* The late results of one call share the cap, so each is shown whole or pointed to. */
	if (message->late_id && (shortened || message->shape == WINDOW_CLEARED) && message->item.tokens > POINTER_TOKENS)
		add_shortened(view, message, 0, message->item.tokens, list);
	else if (message->late_id)
		add_whole(view, message, list);
	else if (shortened)
		add_shortened(view, message, shortened->bytes, shortened->tokens_hidden, list);
	else if (message->shape == WINDOW_CLEARED && message->item.tokens > POINTER_TOKENS)
		add_shortened(view, message, 0, message->item.tokens, list);
	else
		add_whole(view, message, list);
	if (list->count == before)
		view_add_literal(view, list, SLICE_LITERAL("[no output]"), lead.len > 0);
}
