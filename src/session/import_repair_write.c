/* SPDX-License-Identifier: MIT */
/* Messages written anew with what no provider takes put right; what stays is copied byte for byte. */
#include "session/import_repair_inside.h"

#include "session/foreign_text.h"
#include "session/handles.h"
#include "window/view.h"

#define TOOL_NAME_BYTES_MAX 64 /* the strictest provider's */

/* The calls of a message in the order of their blocks; the next one's new id. */
struct naming {
	struct repairing *repairing;
	size_t next;
};

static void write_key(struct repairing *repairing, struct json_writer *writer, const struct json *key)
{
	struct slice text = json_string_content(key, &repairing->replay.arena);
	if (text.data)
		json_key_slice(writer, text);
	else
		repairing->out.error = BOBBIN_ENOMEM;
}

/* What is no object becomes a text in one, so that nothing of it is lost. */
static void add_wrapped(
	struct repairing *repairing, size_t index, struct json_writer *writer, const struct json *arguments, bool as_text)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES * 2);
	if (!as_text) {
		json_begin_object(writer);
		json_member_value(writer, "invalid_arguments", arguments);
		json_end_object(writer);
		return;
	}
	buffer_add_text(&text, "{\"invalid_arguments\":");
	buffer_add(&text, arguments->text, arguments->len);
	buffer_add_char(&text, '}');
	if (!buffer_error(&text) && json_poison_mend(text.data, text.len)) /* in the string it is not seen any more */
		repair_count(repairing, REPAIR_POISONED, index);
	json_add_string(writer, buffer_slice(&text));
	if (buffer_error(&text))
		writer->out->error = buffer_error(&text);
	buffer_release(&text);
}

/* JSON in a string: what no parser takes is escaped once more there. */
static void add_arguments_text(struct repairing *repairing, size_t index, struct json_writer *writer, const struct json *arguments)
{
	struct json object;
	struct slice text = json_string_content(arguments, &repairing->replay.arena);
	size_t nuls;
	if (!text.data) {
		repairing->out.error = BOBBIN_ENOMEM;
	} else if (json_parse(text.data, text.len, &object, NULL) == 0 && json_poison_count(text.data, text.len, &nuls)) {
		char *copy = (char *)arena_copy(&repairing->replay.arena, text.data, text.len);
		if (copy) {
			json_poison_mend(copy, text.len);
			json_add_string(writer, (struct slice){copy, text.len});
			repair_count(repairing, REPAIR_POISONED, index);
		} else {
			repairing->out.error = BOBBIN_ENOMEM;
		}
	} else {
		json_add_value(writer, arguments);
	}
}

static void write_arguments(
	struct repairing *repairing, size_t index, struct json_writer *writer, const struct json *arguments, bool is_input)
{
	const char *format = repairing->import->format;
	struct json object;
	bool is_object = foreign_arguments(arguments, &repairing->replay.arena, &object);
	bool none = arguments->type == JSON_NULL || (arguments->type == JSON_STRING && text_is_blank(arguments));
	if (is_object && is_input && arguments->type == JSON_STRING) {
		json_add_value(writer, &object);
		repair_count(repairing, REPAIR_ARGUMENTS, index);
	} else if (is_object || (none && !is_input) || (!is_input && foreign_is_free_text(format, arguments))) {
		if (arguments->type == JSON_STRING && !none)
			add_arguments_text(repairing, index, writer, arguments);
		else
			json_add_value(writer, arguments);
	} else if (none) {
		json_add_raw(writer, SLICE_LITERAL("{}"));
	} else {
		add_wrapped(repairing, index, writer, arguments, !is_input && arguments->type == JSON_STRING);
		repair_count(repairing, REPAIR_ARGUMENTS, index);
	}
}

static void write_name(struct repairing *repairing, size_t index, struct json_writer *writer, const struct json *value)
{
	struct slice name = json_string_content(value, &repairing->replay.arena);
	if (!name.data) {
		repairing->out.error = BOBBIN_ENOMEM;
	} else if (!foreign_name_is_refused(repairing->import->format, name)) {
		json_add_value(writer, value);
	} else {
		char *mended = arena_alloc(&repairing->replay.arena, TOOL_NAME_BYTES_MAX);
		size_t len = name.len < TOOL_NAME_BYTES_MAX ? name.len : TOOL_NAME_BYTES_MAX;
		for (size_t i = 0; mended && i < len; i++)
			mended[i] = foreign_is_word((struct slice){name.data + i, 1}) ? name.data[i] : '_';
		if (mended)
			json_add_string(writer, len ? (struct slice){mended, len} : SLICE_LITERAL("unknown"));
		else
			repairing->out.error = BOBBIN_ENOMEM;
		repair_count(repairing, REPAIR_NAMES, index);
	}
}

/* OpenAI's own spelling, which some products keep, has the two in an object of their own. */
static void write_function(struct repairing *repairing, size_t index, struct json_writer *writer, const struct json *function)
{
	struct json_iter iter;
	struct json key, value;
	json_begin_object(writer);
	json_iter_init(&iter, function);
	while (json_iter_next(&iter, &key, &value)) {
		write_key(repairing, writer, &key);
		if (json_string_is(&key, "arguments"))
			write_arguments(repairing, index, writer, &value, false);
		else if (json_string_is(&key, "name") && value.type == JSON_STRING)
			write_name(repairing, index, writer, &value);
		else
			json_add_value(writer, &value);
	}
	json_end_object(writer);
}

static void write_call(struct json_writer *writer, const struct json *block, struct naming *naming)
{
	struct repairing *repairing = naming->repairing;
	struct json_iter iter;
	struct json key, value;
	const struct call *named = &repairing->calls[naming->next++];
	bool wrote = false;
	json_begin_object(writer);
	json_iter_init(&iter, block);
	while (json_iter_next(&iter, &key, &value)) {
		write_key(repairing, writer, &key);
		if (json_string_is(&key, "id")) {
			json_add_string(writer, named->written);
			wrote = true;
		} else if (json_string_is(&key, "arguments") || json_string_is(&key, "input")) {
			write_arguments(repairing, named->message, writer, &value, json_string_is(&key, "input"));
		} else if (json_string_is(&key, "name") && value.type == JSON_STRING) {
			write_name(repairing, named->message, writer, &value);
		} else if (json_string_is(&key, "function") && value.type == JSON_OBJECT) {
			write_function(repairing, named->message, writer, &value);
		} else {
			json_add_value(writer, &value);
		}
	}
	if (!wrote)
		json_member_string(writer, "id", named->written);
	json_end_object(writer);
}

static bool is_call(const struct message *message, const struct json *block)
{
	struct json type;
	return message->role == ROLE_ASSISTANT && block->type == JSON_OBJECT && json_get(block, "type", &type) &&
	       (json_string_is(&type, "tool_call") || json_string_is(&type, "tool_use"));
}

/* A block that is sent whatever stands around it, so that thinking before it is finished; not one of a kind nobody knows. */
static bool finishes(const struct json *value)
{
	static const char *const KINDS[] = {"tool_use", "tool_call", "image", "server_tool_use", "web_search_tool_result"};
	struct json type, text;
	if (!json_get(value, "type", &type))
		return false;
	if (json_string_is(&type, "text"))
		return json_get(value, "text", &text) && text.type == JSON_STRING && !text_is_blank(&text);
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (json_string_is(&type, KINDS[i]))
			return true;
	return false;
}

/* Where thinking that nothing follows begins in the content. */
static size_t finished_blocks(struct repairing *repairing, size_t index)
{
	const struct message *message = &repairing->replay.messages[index];
	struct json_iter iter;
	struct json value;
	size_t count = 0, finished = 0;
	if (message->role != ROLE_ASSISTANT || repairing->goes_on[index] || json_count(&message->tool_calls))
		return SIZE_MAX;
	json_iter_init(&iter, &message->content);
	while (json_iter_next(&iter, NULL, &value)) {
		count++;
		if (finishes(&value))
			finished = count;
	}
	return finished;
}

/* Why a block of the content is left out; REPAIRS: it stays. */
static enum import_repair fate_of_block(
	struct repairing *repairing, const struct message *message, const struct json *value, bool unfinished)
{
	struct json type, text;
	struct block block = {.type = BLOCK_SEALED, .value = *value};
	if (!json_get(value, "type", &type) || !json_string_plain(&type, &block.kind))
		return REPAIRS;
	if (sealed_is_broken(repairing->import->format, &block) ||
		(unfinished && sealed_is_anthropics(repairing->import->format, &block)))
		return REPAIR_SEALED;
	bool blank = slice_is(block.kind, "text") && message->role != ROLE_TOOL && json_get(value, "text", &text) &&
		     text.type == JSON_STRING && text_is_blank(&text);
	return blank ? REPAIR_BLANK : REPAIRS;
}

static void write_content(struct repairing *repairing, size_t index, struct json_writer *writer, struct naming *naming)
{
	const struct message *message = &repairing->replay.messages[index];
	size_t stay = finished_blocks(repairing, index), number = 0;
	struct json_iter iter;
	struct json value;
	json_key(writer, "content");
	json_begin_array(writer);
	json_iter_init(&iter, &message->content);
	for (; json_iter_next(&iter, NULL, &value); number++) {
		enum import_repair fate = fate_of_block(repairing, message, &value, number >= stay);
		if (fate != REPAIRS)
			repair_count(repairing, fate, index);
		else if (is_call(message, &value))
			write_call(writer, &value, naming);
		else
			json_add_value(writer, &value);
	}
	json_end_array(writer);
}

/* They come after those in the content, wherever the member stands. */
static void write_tool_calls(struct repairing *repairing, size_t index, struct json_writer *writer)
{
	const struct message *message = &repairing->replay.messages[index];
	struct naming calls = {repairing, repairing->calls_from[index]}, *naming = &calls;
	struct json_iter iter;
	struct json value;
	json_iter_init(&iter, &message->content);
	while (message->content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &value))
		naming->next += is_call(message, &value);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_iter_init(&iter, &message->tool_calls);
	while (json_iter_next(&iter, NULL, &value))
		if (value.type == JSON_OBJECT)
			write_call(writer, &value, naming);
	json_end_array(writer);
}

static bool is_placement(const struct json *key)
{
	static const char *const names[] = {"id", "parent", "branch", "cut", "seq", "crc"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_string_is(key, names[i]))
			return true;
	return false;
}

static bool is_blank_beside_calls(const struct message *message, const struct json *content)
{
	return message->role == ROLE_ASSISTANT && content->type == JSON_STRING && content->len > 2 && text_is_blank(content) &&
	       json_count(&message->tool_calls) > 0;
}

void repair_write_members(struct repairing *repairing, size_t index, struct slice call_id)
{
	const struct message *message = &repairing->replay.messages[index];
	struct naming naming = {repairing, repairing->calls_from[index]};
	struct json_writer writer;
	struct json_iter iter;
	struct json key, value;
	bool named = false;
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_iter_init(&iter, &message->record);
	while (json_iter_next(&iter, &key, &value)) {
		if (is_placement(&key))
			continue;
		if (json_string_is(&key, "content") && value.type == JSON_ARRAY) {
			write_content(repairing, index, &writer, &naming);
		} else if (json_string_is(&key, "content") && is_blank_beside_calls(message, &value)) {
			json_key(&writer, "content");
			json_add_null(&writer);
			repair_count(repairing, REPAIR_BLANK, index);
		} else if (json_string_is(&key, "tool_calls") && message->role == ROLE_ASSISTANT && value.type == JSON_ARRAY) {
			write_tool_calls(repairing, index, &writer);
		} else {
			write_key(repairing, &writer, &key);
			if (json_string_is(&key, "tool_call_id") && call_id.data) {
				json_add_string(&writer, call_id);
				named = true;
			} else {
				json_add_value(&writer, &value);
			}
		}
	}
	if (call_id.data && !named) /* it answered a call without an id */
		json_member_string(&writer, "tool_call_id", call_id);
	if (!buffer_error(&repairing->out) && json_poison_mend(repairing->out.data, repairing->out.len))
		repair_count(repairing, REPAIR_POISONED, index);
}

void repair_write_as_text(struct repairing *repairing, size_t index)
{
	const struct message *message = &repairing->replay.messages[index];
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	buffer_add_text(&text, "[late or unasked result of tool call ");
	buffer_add_slice(&text, message->tool_call_id);
	buffer_add_text(&text, "]\n");
	message_add_text(message, &repairing->replay.arena, &text);
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_member_text(&writer, "role", "user");
	json_member_string(&writer, "content", buffer_slice(&text));
	json_member_text(&writer, "origin", "injected");
	if (buffer_error(&text))
		repairing->out.error = buffer_error(&text);
	else
		json_poison_mend(repairing->out.data, repairing->out.len);
	buffer_release(&text);
}

void repair_write_marked(struct repairing *repairing, const struct call *call)
{
	struct json_writer writer;
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_member_text(&writer, "role", "tool");
	json_member_string(&writer, "tool_call_id", call->written);
	if (call->name.len)
		json_member_string(&writer, "name", call->name);
	json_member_text(&writer, "content", MARKED_TEXT);
	json_member_bool(&writer, "is_error", true);
	json_member_text(&writer, "marker", "interrupted");
	if (!buffer_error(&repairing->out))
		json_poison_mend(repairing->out.data, repairing->out.len);
	repair_count(repairing, REPAIR_MARKED, call->message);
}

bool repair_is_empty(struct repairing *repairing, size_t index)
{
	const char *format = repairing->import->format;
	struct block_iter iter;
	struct block block;
	bool empty = true;
	block_iter_init(&iter, &repairing->replay.messages[index], &repairing->replay.arena);
	while (empty && block_iter_next(&iter, &block))
		empty = block.type == BLOCK_TEXT ? text_is_blank(&block.text)
						 : block.type == BLOCK_SEALED &&
							   (sealed_is_broken(format, &block) ||
								   (!repairing->goes_on[index] && sealed_is_anthropics(format, &block)));
	return empty && !iter.error;
}
