/* SPDX-License-Identifier: MIT */
/* One run of messages, mended: see render.h for what is mended and how. */
#include "window/view.h"

#include "base/limits.h"

static const char NO_RESULT[] = "[no result was recorded for this call]";

static bool get_plain(const struct json *object, const char *key, struct json *ret_value)
{
	return json_get(object, key, ret_value) && ret_value->type == JSON_STRING && ret_value->len > 2;
}

/* True if its bytes may stand in a body as they are. */
static bool raw_is_sendable(const struct json *value)
{
	return text_is_strict(value->text, value->len) &&
	       text_depth(value->text, value->len) <= LIMIT_JSON_DEPTH / 2;
}

/* True if the dialect takes this sealed block back and it is whole. */
static bool sealed_is_sendable(enum dialect dialect, const struct json *value)
{
	struct json type, field;

	if (!json_get(value, "type", &type) || !raw_is_sendable(value))
		return false;
	if (dialect == DIALECT_ANTHROPIC && json_string_is(&type, "thinking"))
		return get_plain(value, "signature", &field) && json_get(value, "thinking", &field) &&
		       field.type == JSON_STRING;
	if (dialect == DIALECT_ANTHROPIC && json_string_is(&type, "redacted_thinking"))
		return get_plain(value, "data", &field);
	if (dialect != DIALECT_OPENAI_RESPONSES || !json_string_is(&type, "reasoning"))
		return false;
	if (json_get(value, "status", &field) && field.type != JSON_NULL &&
		!json_string_is(&field, "completed"))
		return false;
	return get_plain(value, "encrypted_content", &field) && json_get(value, "summary", &field) &&
	       field.type == JSON_ARRAY;
}

static void add_raw(struct view *view, const struct block *block, bool joined, struct view_list *list)
{
	struct view_block *added = view_add(view, list);

	if (added) {
		added->kind = VIEW_RAW;
		added->text = block->value;
		added->joined = joined;
		added->id = block->call_id;
	}
}

static void add_text(struct view *view, const struct block *block, bool joined, struct view_list *list)
{
	struct view_block *added = text_is_blank(&block->text) ? NULL : view_add(view, list);

	if (added) {
		added->text = block->text;
		added->joined = joined;
	}
}

static void add_call(struct view *view, const struct block *block, bool joined, struct view_list *list)
{
	struct view_block *added = view_add(view, list);

	if (!added)
		return;
	added->kind = VIEW_CALL;
	added->joined = joined;
	added->literal = block->call_id; /* as the results name it */
	added->id = view_id(view, block->call_id);
	added->name = view_name(view, block->call_name);
	added->arguments = view_arguments(view, &block->arguments);
}

static bool server_block_is_sendable(const struct block *block)
{
	struct json input;

	if (!raw_is_sendable(&block->value))
		return false;
	return block->type == BLOCK_SERVER_RESULT ||
	       (json_get(&block->value, "input", &input) && input.type == JSON_OBJECT);
}

/* A server's call that is not answered in its message, or an answer without its call, goes with its partner;
 * so does the partner of one that cannot be sent. */
static bool server_pair_is_whole(struct view *view, const struct view_message *message, struct slice id)
{
	struct block_iter iter;
	struct block block;
	int calls = 0, results = 0;
	bool sendable = true;

	block_iter_init(&iter, &message->message, &view->arena);
	while (block_iter_next(&iter, &block)) {
		if ((block.type != BLOCK_SERVER_CALL && block.type != BLOCK_SERVER_RESULT) ||
			!slice_equal(block.call_id, id))
			continue;
		sendable = sendable && server_block_is_sendable(&block);
		if (block.type == BLOCK_SERVER_CALL)
			calls++;
		else if (calls == 1)
			results++;
		else
			sendable = false;
	}
	if (iter.error)
		view_fail(view, iter.error);
	return calls == 1 && results == 1 && sendable;
}

/* `from`: where the message's own blocks begin in the list. */
static void add_server(struct view *view, const struct view_message *message, const struct block *block,
	size_t from, struct view_list *list)
{
	bool call = block->type == BLOCK_SERVER_CALL;

	if (view->options->dialect != DIALECT_ANTHROPIC || block->call_id.len == 0 ||
		!server_pair_is_whole(view, message, block->call_id)) {
		view_lose(view, message->position, "a tool call or result of the provider's own");
		return;
	}
	if (call && !slice_equal(view_id(view, block->call_id), block->call_id)) {
		/* Taken or malformed: its bytes cannot be changed, so the pair goes. Its id stays marked as
		 * used. */
		view_lose(view, message->position, "a tool call of the provider's own whose id occurs twice");
		return;
	}
	if (!call) {
		size_t i = list->count;
		while (i > from && !(list->items[i - 1].kind == VIEW_RAW &&
					   slice_equal(list->items[i - 1].id, block->call_id)))
			i--;
		if (i == from) {
			view_lose(view, message->position, "a tool result of the provider's own");
			return;
		}
	}
	add_raw(view, block, list->count > from, list);
}

/* Sealed items of the Responses API have ids, and none may be sent twice. */
static bool claim_item(struct view *view, const struct block *block)
{
	struct json id;

	if (view->options->dialect != DIALECT_OPENAI_RESPONSES || !get_plain(&block->value, "id", &id))
		return true;
	struct slice text = json_string_content(&id, &view->arena);
	if (!text.data)
		view_fail(view, BOBBIN_ENOMEM);
	return text.data && view_claim(view, text);
}

/* Output items of the Responses API that are sent back as they came. */
static bool is_hosted_item(struct slice kind)
{
	return slice_is(kind, "web_search_call") || slice_is(kind, "file_search_call") ||
	       slice_is(kind, "code_interpreter_call") || slice_is(kind, "computer_call");
}

static void add_unknown(
	struct view *view, size_t position, const struct block *block, bool joined, struct view_list *list)
{
	struct json status;

	if (view->options->dialect == DIALECT_OPENAI_RESPONSES && is_hosted_item(block->kind) &&
		json_get(&block->value, "status", &status) && json_string_is(&status, "completed") &&
		raw_is_sendable(&block->value) && claim_item(view, block))
		add_raw(view, block, joined, list);
	else
		view_lose(view, position, "a block of a kind the dialect does not have");
}

static void add_assistant_block(struct view *view, const struct view_message *message,
	const struct block *block, size_t from, struct view_list *list)
{
	bool joined = list->count > from;

	switch (block->type) {
	case BLOCK_TEXT:
		add_text(view, block, joined, list);
		break;
	case BLOCK_CALL:
		add_call(view, block, joined, list);
		break;
	case BLOCK_SEALED:
		if (sealed_is_sendable(view->options->dialect, &block->value) && claim_item(view, block))
			add_raw(view, block, joined, list);
		else
			view_lose(view, message->position,
				"a sealed block of another provider, an unfinished or a repeated one");
		break;
	case BLOCK_SERVER_CALL:
	case BLOCK_SERVER_RESULT:
		add_server(view, message, block, from, list);
		break;
	case BLOCK_IMAGE:
		view_add_literal(view, list, view_pointer(view, message, "image"), joined);
		view->report->images_hidden++;
		break;
	case BLOCK_UNKNOWN:
		add_unknown(view, message->position, block, joined, list);
		break;
	}
}

static void add_assistant(struct view *view, const struct view_message *message, struct view_list *list)
{
	struct block_iter iter;
	struct block block;
	size_t before = list->count;

	block_iter_init(&iter, &message->message, &view->arena);
	while (!view->rc && block_iter_next(&iter, &block))
		add_assistant_block(view, message, &block, before, list);
	if (iter.error)
		view_fail(view, iter.error);
}

/* Sealed blocks that nothing follows were interrupted before what they belong to. */
static void drop_unfinished(struct view *view, size_t position, struct view_list *list)
{
	struct json type;

	while (list->count && list->items[list->count - 1].kind == VIEW_RAW) {
		const struct json *value = &list->items[list->count - 1].text;
		json_get(value, "type", &type);
		if (!json_string_is(&type, "thinking") && !json_string_is(&type, "redacted_thinking") &&
			!json_string_is(&type, "reasoning"))
			return;
		view_lose(view, position, "a sealed block that was interrupted before its message");
		list->count--;
	}
}

/* The call a result answers: the first of that id that has none yet, or only a marked one. */
static size_t find_call(
	const struct view_list *calls, const struct view_message **answers, struct slice id, bool marked)
{
	size_t replaced = calls->count;

	for (size_t i = 0; i < calls->count; i++) {
		if (calls->items[i].kind != VIEW_CALL || !slice_equal(calls->items[i].literal, id))
			continue;
		if (!answers[i])
			return i;
		if (!marked && answers[i]->message.marker != MARKER_NONE && replaced == calls->count)
			replaced = i;
	}
	return replaced;
}

/* A result whose call is not there, or is answered already, is shown as a text of the user's side that says
 * so. */
static void add_orphan(struct view *view, const struct view_message *message, struct view_list *list)
{
	struct buffer text = BUFFER_INIT(1024);
	struct slice id = message->message.tool_call_id, lead = {NULL, 0};

	if (message->message.marker != MARKER_NONE)
		return; /* bobbin's own words about a result that is there */
	buffer_add_text(&text, "[late or unasked result of tool call ");
	buffer_add(&text, id.data, id.len < LIMIT_MESSAGE_ID_BYTES ? id.len : LIMIT_MESSAGE_ID_BYTES);
	buffer_add_text(&text, "]");
	if (buffer_error(&text) || !(lead.data = arena_copy(&view->arena, text.data, text.len)))
		view_fail(view, BOBBIN_ENOMEM);
	else
		lead.len = text.len;
	buffer_release(&text);
	if (!view->rc)
		view_result_parts(view, message, lead, list);
}

static void add_result(struct view *view, const struct view_block *call, const struct view_message *answer,
	struct view_list *list)
{
	struct view_list parts = {NULL, 0, 0};
	struct view_block *added;

	if (answer) {
		view_result_parts(view, answer, (struct slice){NULL, 0}, &parts);
	} else {
		view_add_literal(view, &parts, SLICE_LITERAL(NO_RESULT), false);
		view->report->results_made++;
	}
	if (view->rc || !(added = view_add(view, list)))
		return;
	added->kind = VIEW_RESULT;
	added->id = call->id;
	added->name = call->name;
	added->is_error = !answer || answer->message.is_error;
	added->parts = parts.items;
	added->part_count = parts.count;
}

void view_mend_assistant(
	struct view *view, const struct view_message *messages, size_t count, struct view_run *run)
{
	size_t said = 0;

	for (; said < count && messages[said].item.role == ROLE_ASSISTANT; said++)
		add_assistant(view, &messages[said], &run->assistant);
	if (said)
		drop_unfinished(view, messages[said - 1].position, &run->assistant);
	if (view->rc)
		return;
	const struct view_message **answers =
		arena_alloc_zero(&view->arena, (run->assistant.count + 1) * sizeof(struct view_message *));
	if (!answers) {
		view_fail(view, BOBBIN_ENOMEM);
		return;
	}
	for (size_t i = said; i < count; i++) {
		size_t call = find_call(&run->assistant, answers, messages[i].message.tool_call_id,
			messages[i].message.marker != MARKER_NONE);
		if (call < run->assistant.count)
			answers[call] = &messages[i];
		else
			add_orphan(view, &messages[i], &run->user);
	}
	for (size_t i = 0; i < run->assistant.count && !view->rc; i++)
		if (run->assistant.items[i].kind == VIEW_CALL)
			add_result(view, &run->assistant.items[i], answers[i], &run->results);
}

static void add_record(struct view *view, struct view_list *list)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct slice copy = {NULL, 0};

	buffer_add_text(&text, WINDOW_RECORD_HEADING "\n");
	buffer_add_slice(&text, view->options->record);
	if (!buffer_error(&text))
		copy = (struct slice){arena_copy(&view->arena, text.data, text.len), text.len};
	if (copy.data)
		view_add_literal(view, list, copy, false);
	else
		view_fail(view, buffer_error(&text) ? buffer_error(&text) : BOBBIN_ENOMEM);
	buffer_release(&text);
}

static void add_user(struct view *view, const struct view_message *message, struct view_list *list)
{
	struct block_iter iter;
	struct block block;
	size_t before = list->count;

	block_iter_init(&iter, &message->message, &view->arena);
	while (!view->rc && block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_TEXT)
			add_text(view, &block, list->count > before, list);
		else if (block.type == BLOCK_IMAGE)
			view_add_image(view, message, &block, list);
		else
			view_lose(view, message->position,
				"a block that is neither text nor image in a user message");
	}
	if (iter.error)
		view_fail(view, iter.error);
}

void view_mend_user(
	struct view *view, const struct view_message *messages, size_t count, struct view_run *run)
{
	for (size_t i = 0; i < count && !view->rc; i++) {
		if (messages[i].position == view->plan->record_at)
			add_record(view, &run->user);
		if (messages[i].position == view->plan->newest &&
			!text_is_blank_literal(view->options->injected)) {
			view_add_literal(view, &run->user, view->options->injected, false);
			view->injected = true;
		}
		add_user(view, &messages[i], &run->user);
	}
	if (!view->rc && run->user.count == 0)
		view_add_literal(view, &run->user, SLICE_LITERAL("[empty message]"), false);
}
