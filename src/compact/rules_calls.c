/* SPDX-License-Identifier: MIT */
/*
 * What calls did to files, and what their todo lists leave undone. Which tool does what is data
 * (cues/any.txt).
 *
 * Invariants:
 * (1) A call that failed, or whose result never came, touched nothing.
 * (2) A path is told as the call has it, once a kind of access, with every message that touched it.
 * (3) Of todo lists the latest counts.
 */
#include "compact/rules_calls.h"

#include "base/utf8.h"
#include "compact/rules_shell.h"
#include "compact/rules_state.h"

#define TODO_ENTRIES_MAX 100
#define NAME_BYTES 64

static struct slice short_name(struct slice name, char ret_name[NAME_BYTES])
{
	/* mcp__files__read_file, functions.read_file */
	for (size_t i = name.len; i-- > 1;)
		if ((name.data[i] == '_' && name.data[i - 1] == '_') || name.data[i] == '.') {
			name.data += i + 1;
			name.len -= i + 1;
			break;
		}
	return fold_name(name, ret_name, NAME_BYTES);
}

bool call_is(const struct derive_call *call, enum cue_kind kind)
{
	char folded[NAME_BYTES];

	return cue_name_is(short_name(call->name, folded), kind);
}

/* Whether a member of the arguments is named so. */
static bool key_is(struct rules *rules, const struct json *key, enum cue_kind kind)
{
	char folded[NAME_BYTES];
	struct slice name = json_string_content(key, &rules->scratch);

	return name.len && name.len < NAME_BYTES && cue_name_is(fold_name(name, folded, sizeof folded), kind);
}

bool call_argument(
	struct rules *rules, const struct derive_call *call, enum cue_kind kind, struct json *ret_value)
{
	struct json_iter iter;
	struct json key;

	json_iter_init(&iter, &call->value);
	while (json_iter_next(&iter, &key, ret_value))
		if (key_is(rules, &key, kind))
			return true;
	return false;
}

/* A string; or the last string of a list: ["bash", "-lc", "make"]. */
static struct slice text_of(struct rules *rules, const struct json *value)
{
	struct json_iter iter;
	struct json element, last = *value;

	if (value->type == JSON_ARRAY) {
		json_iter_init(&iter, value);
		while (json_iter_next(&iter, NULL, &element))
			last = element;
	}
	struct slice text = json_string_content(&last, &rules->scratch);

	if (!text.data && last.type == JSON_STRING)
		rules->rc = BOBBIN_ENOMEM;
	return text;
}

struct slice call_command(struct rules *rules, const struct derive_call *call)
{
	struct json value;

	if (!call_is(call, CUE_TOOL_SHELL))
		return (struct slice){NULL, 0};
	if (call->value.type == JSON_OBJECT)
		return call_argument(rules, call, CUE_ARGUMENT_COMMAND, &value) ? text_of(rules, &value)
										: (struct slice){NULL, 0};
	return call->value.type == JSON_STRING ? text_of(rules, &call->value) : call->arguments;
}

/* ---- Files */

struct touch_context {
	struct rules *rules;
	const struct derive_call *call;
};

static bool is_known(const struct rules *rules, struct slice path)
{
	for (size_t i = rules->record->count; i-- > 0;)
		if (rules->record->items[i].kind == ITEM_FILE &&
			slice_equal(rules->record->items[i].text, path))
			return true;
	return false;
}

static void add_touch(void *context, const struct file_touch *touch)
{
	struct touch_context *touched = context;
	struct rules *rules = touched->rules;
	struct compact_item item = rules_item(rules, ITEM_FILE, touch->access, touch->path);

	if (!touch->path.len || touch->path.len > ITEM_TEXT_BYTES ||
		memchr(touch->path.data, '\n', touch->path.len))
		return;
	if (touch->access == STATE_CREATED && is_known(rules, touch->path))
		item.state = STATE_MODIFIED;
	rules_add(rules, item, touched->call->result);
}

static void add_paths(struct touch_context *context, const struct json *value, enum item_state access)
{
	struct file_touch touch = {.access = access};
	struct json_iter iter;
	struct json element, path;

	if (value->type == JSON_STRING) {
		touch.path = json_string_content(value, &context->rules->scratch);
		if (!touch.path.data)
			context->rules->rc = BOBBIN_ENOMEM;
		else
			add_touch(context, &touch);
		return;
	}
	json_iter_init(&iter, value);
	while (value->type == JSON_ARRAY && json_iter_next(&iter, NULL, &element)) {
		if (element.type == JSON_OBJECT && json_get(&element, "path", &path) &&
			path.type == JSON_STRING)
			element = path;
		if (element.type == JSON_STRING)
			add_paths(context, &element, access);
	}
}

/* Whether a tool says that the file it wrote was there before. */
static bool was_there(struct rules *rules, struct slice answer)
{
	struct language_votes votes = {{0}};

	answer.len = utf8_truncate(answer.data, answer.len, 300);
	statement_read(rules->statement, answer, &votes);
	return statement_cue(rules->statement, KIND(CUE_OVERWRITTEN), 0) != NULL;
}

static bool value_is(struct rules *rules, const struct json *value, enum cue_kind kind)
{
	return value->type == JSON_STRING && key_is(rules, value, kind);
}

/* What a tool of this name does to its path; STATE_NONE: nothing that is known. */
static enum item_state access_of(struct rules *rules, const struct derive_call *call)
{
	const struct derive_message *result = &rules->input->messages[call->result];
	struct json command = {.type = JSON_ABSENT};

	if (call_is(call, CUE_TOOL_EDIT)) {
		/* One tool for all: {"command":"view","path":…} */
		if (call_argument(rules, call, CUE_ARGUMENT_COMMAND, &command) &&
			value_is(rules, &command, CUE_TOOL_READ))
			return STATE_READ;
		return value_is(rules, &command, CUE_TOOL_WRITE) ? STATE_CREATED : STATE_MODIFIED;
	}
	if (call_is(call, CUE_TOOL_READ))
		return STATE_READ;
	if (call_is(call, CUE_TOOL_DELETE))
		return STATE_DELETED;
	if (call_is(call, CUE_TOOL_WRITE))
		return was_there(rules, result->text) ? STATE_MODIFIED : STATE_CREATED;
	return STATE_NONE;
}

static void add_files(struct rules *rules, const struct derive_call *call)
{
	struct touch_context context = {rules, call};
	struct slice command = call_command(rules, call);
	enum item_state access = access_of(rules, call);
	struct json value, key;
	struct json_iter iter;

	if (command.len) {
		shell_files(command, add_touch, &context);
		return;
	}
	if (call->value.type != JSON_OBJECT) {
		if (access == STATE_MODIFIED)
			patch_files(call->arguments, add_touch, &context);
		return;
	}
	if (access == STATE_NONE)
		return;
	json_iter_init(&iter, &call->value);
	while (json_iter_next(&iter, &key, &value)) {
		if (key_is(rules, &key, CUE_ARGUMENT_PATH))
			add_paths(&context, &value, access);
		else if (value.type == JSON_STRING && key_is(rules, &key, CUE_ARGUMENT_PATCH))
			patch_files(text_of(rules, &value), add_touch, &context);
	}
}

/* ---- Todo lists */

static void add_todo(struct rules *rules, const struct json *entry)
{
	struct json text = {.type = JSON_ABSENT}, status, key, value;
	struct compact_item item;
	struct slice content;
	struct json_iter iter;

	json_iter_init(&iter, entry);
	while (text.type == JSON_ABSENT && json_iter_next(&iter, &key, &value))
		if (value.type == JSON_STRING && key_is(rules, &key, CUE_ARGUMENT_TEXT))
			text = value;
	if (text.type != JSON_STRING)
		return;
	content = json_string_content(&text, &rules->scratch);
	if (!content.data) {
		rules->rc = BOBBIN_ENOMEM;
		return;
	}
	if (!json_get(entry, "status", &status))
		json_get(entry, "completed", &status);
	item = rules_item(rules, ITEM_OPEN, STATE_OPEN, content);
	if (status.type == JSON_TRUE || value_is(rules, &status, CUE_FINISHED)) {
		item = rules_item(rules, ITEM_SIGNAL, STATE_ANSWERED, content);
		item.target = ITEM_OPEN;
		item.key = content;
	}
	rules_add(rules, item, DERIVE_NONE);
}

/* The list among a call's arguments; false: there is none. */
static bool todo_list(const struct derive_call *call, struct json *ret_list)
{
	struct json_iter iter;
	struct json key;

	json_iter_init(&iter, &call->value);
	while (json_iter_next(&iter, &key, ret_list)) {
		struct json_iter entries;
		struct json first;

		json_iter_init(&entries, ret_list);
		if (ret_list->type == JSON_ARRAY && json_iter_next(&entries, NULL, &first) &&
			first.type == JSON_OBJECT)
			return true;
	}
	return false;
}

static void add_latest_todo(struct rules *rules)
{
	struct json list, entry;
	struct json_iter iter;
	unsigned count = 0;

	for (uint32_t i = rules->input->count; i-- > 0;) {
		const struct derive_message *message = &rules->input->messages[i];

		for (uint32_t c = message->call_count; c-- > 0;) {
			if (!call_is(&message->calls[c], CUE_TOOL_TODO) ||
				!todo_list(&message->calls[c], &list))
				continue;
			rules->at = i;
			rules->by = BY_ASSISTANT;
			json_iter_init(&iter, &list);
			while (count++ < TODO_ENTRIES_MAX && !rules->rc &&
				json_iter_next(&iter, NULL, &entry))
				add_todo(rules, &entry);
			return;
		}
	}
}

/* ---- All calls */

bool call_succeeded(const struct derive_input *input, const struct derive_call *call)
{
	const struct derive_message *result;

	if (call->result == DERIVE_NONE)
		return false;
	result = &input->messages[call->result];
	return !result->is_error && !result->marker;
}

void rules_calls(struct rules *rules)
{
	for (uint32_t i = 0; i < rules->input->count && !rules->rc; i++) {
		const struct derive_message *message = &rules->input->messages[i];

		rules->at = i;
		rules->by = BY_ASSISTANT;
		for (uint32_t c = 0; c < message->call_count && !rules->rc; c++)
			if (call_succeeded(rules->input, &message->calls[c]))
				add_files(rules, &message->calls[c]);
	}
	add_latest_todo(rules);
}
