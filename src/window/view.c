/* SPDX-License-Identifier: MIT */
/* Reading the shown messages run by run; only one run is in memory. */
#include "window/view.h"

void view_init(struct view *view, const struct window_plan *plan, const struct path *path,
	const struct render_options *options, struct render_report *report, struct bobbin_error *error)
{
	*view = (struct view){
		.plan = plan,
		.path = path,
		.options = options,
		.report = report,
		.error = error,
		.arena = ARENA_INIT,
		.ids = {.arena = ARENA_INIT},
	};
	report->losses_total = report->results_made = report->ids_renamed = report->images_hidden = 0;
}

void view_release(struct view *view)
{
	arena_release(&view->arena);
	view_ids_release(&view->ids);
}

void view_fail(struct view *view, int code)
{
	if (view->rc)
		return;
	view->rc = error_set(view->error, code, "%s",
		code == BOBBIN_ENOMEM ? "out of memory while rendering a request"
				      : "a message is too large to be rendered");
}

void view_lose(struct view *view, size_t position, const char *what)
{
	struct render_report *report = view->report;

	if (report->losses_total < RENDER_LOSSES_MAX)
		report->losses[report->losses_total] = (struct render_loss){position, what};
	report->losses_total++;
}

struct view_block *view_add(struct view *view, struct view_list *list)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 8;
		struct view_block *items = arena_alloc(&view->arena, cap * sizeof(*items));
		if (!items) {
			view_fail(view, BOBBIN_ENOMEM);
			return NULL;
		}
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
		list->cap = cap;
	}
	list->items[list->count] = (struct view_block){.kind = VIEW_TEXT};
	return &list->items[list->count++];
}

void view_add_literal(struct view *view, struct view_list *list, struct slice text, bool joined)
{
	struct view_block *block = view_add(view, list);

	if (block) {
		block->literal = text;
		block->joined = joined;
	}
}

/* The next shown position and its shape, without moving on. */
static bool peek(struct view *view, size_t *ret_position, enum window_shape *ret_shape)
{
	const struct window_plan *plan = view->plan;

	for (; view->part < plan->part_count; view->part++) {
		const struct window_part *part = &plan->parts[view->part];
		if (part->to <= part->from)
			continue;
		if (view->position < part->from)
			view->position = part->from;
		if (view->position < part->to) {
			*ret_position = view->position;
			*ret_shape = part->shape;
			return true;
		}
		view->position = 0;
	}
	return false;
}

/* True if a message of this role goes on with the run. */
static bool goes_on(
	const struct view_message *first, const struct view_message *last, const struct path_item *next)
{
	if (first->item.role == ROLE_USER)
		return next->role == ROLE_USER;
	if (next->role == ROLE_TOOL)
		return true;
	return next->role == ROLE_ASSISTANT && last->item.role == ROLE_ASSISTANT && last->item.calls == 0;
}

static struct view_message *add_message(
	struct view *view, struct view_message **messages, size_t *count, size_t *cap)
{
	if (*count == *cap) {
		size_t larger = *cap ? *cap * 2 : 16;
		struct view_message *copy = arena_alloc(&view->arena, larger * sizeof(*copy));
		if (!copy) {
			view_fail(view, BOBBIN_ENOMEM);
			return NULL;
		}
		if (*count)
			memcpy(copy, *messages, *count * sizeof(*copy));
		*messages = copy;
		*cap = larger;
	}
	return &(*messages)[(*count)++];
}

/* What came late for the call that was read last stands right behind it, as if it had come in time. */
static void add_late(struct view *view, struct view_message **messages, size_t *count, size_t *cap)
{
	const struct view_message call = (*messages)[*count - 1];
	char id[PATH_ID_BYTES];

	for (uint32_t i = 0; !view->rc && i < call.item.late; i++) {
		struct view_message *late = add_message(view, messages, count, cap);
		if (!late)
			return;
		*late = (struct view_message){
			.item = {.role = ROLE_TOOL}, .position = call.position, .shape = call.shape};
		view->rc = path_late(view->path, call.position, i, &view->arena, id, &late->item.tokens, &late->message,
			view->error);
		if (!view->rc && !(late->late_id = arena_copy(&view->arena, id, strlen(id))))
			view_fail(view, BOBBIN_ENOMEM);
	}
}

/* Reads the messages of the next run; 0 of them at the end or after a failure. */
static size_t read_run(struct view *view, struct view_message **ret_messages)
{
	struct view_message *messages = NULL, *message;
	size_t count = 0, cap = 0, position;
	enum window_shape shape;
	struct path_item item;

	while (!view->rc && peek(view, &position, &shape)) {
		if ((view->rc = path_item(view->path, position, &item, view->error)))
			break;
		if (count && !goes_on(&messages[0], &messages[count - 1], &item))
			break;
		if (!(message = add_message(view, &messages, &count, &cap)))
			break;
		*message = (struct view_message){.item = item, .position = position, .shape = shape};
		view->rc = path_message(view->path, position, &view->arena, &message->message, view->error);
		if (!view->rc && item.late)
			add_late(view, &messages, &count, &cap);
		view->position++;
	}
	*ret_messages = messages;
	return view->rc ? 0 : count;
}

bool view_next(struct view *view, struct view_run *ret_run)
{
	struct view_message *messages;
	enum window_shape shape;
	size_t position;

	arena_reset(&view->arena);
	*ret_run = (struct view_run){.last = false};
	size_t count = read_run(view, &messages);
	if (!count)
		return false;
	if (messages[0].item.role == ROLE_USER)
		view_mend_user(view, messages, count, ret_run);
	else
		view_mend_assistant(view, messages, count, ret_run);
	ret_run->last = !peek(view, &position, &shape);
	return view->rc == 0;
}
