/* SPDX-License-Identifier: MIT */
/* What readers of documents share; the contracts are in import_parts.h. */
#include "transcript/import_parts.h"

#include "base/limits.h"
#include "base/platform.h"

bool part_is(const struct json *object, const char *key, const char *text)
{
	struct json value;
	return json_get(object, key, &value) && json_string_is(&value, text);
}

bool part_has(const struct json *object, const char *key)
{
	struct json value;
	return json_get(object, key, &value);
}

static bool part_of(const struct json *object, const char *key, enum json_type type, struct json *ret_value)
{
	if (json_get(object, key, ret_value) && ret_value->type == type)
		return true;
	*ret_value = (struct json){NULL, 0, JSON_ABSENT};
	return false;
}

bool part_list(const struct json *object, const char *key, struct json *ret_value)
{
	return part_of(object, key, JSON_ARRAY, ret_value);
}

bool part_object(const struct json *object, const char *key, struct json *ret_value)
{
	return part_of(object, key, JSON_OBJECT, ret_value);
}

bool part_flag(const struct json *object, const char *key)
{
	struct json value;
	return json_get(object, key, &value) && value.type == JSON_TRUE;
}

bool part_first(const struct json *list, struct json *ret_value)
{
	struct json_iter iter;

	*ret_value = (struct json){NULL, 0, JSON_ABSENT};
	if (list->type != JSON_ARRAY)
		return false;
	json_iter_init(&iter, list);
	return json_iter_next(&iter, NULL, ret_value);
}

bool part_starts_with(const struct json *string, const char *text)
{
	size_t len = strlen(text);
	/* The texts looked for hold nothing that JSON escapes but quotes and newlines, and those are given
	 * escaped. */
	return string->type == JSON_STRING && string->len >= len + 2 &&
	       memcmp(string->text + 1, text, len) == 0;
}

void write_content_of(struct json_writer *writer, const struct json *content)
{
	json_key(writer, "content");
	if (content->type == JSON_OBJECT) {
		json_begin_array(writer);
		json_add_value(writer, content);
		json_end_array(writer);
	} else if (content->type == JSON_STRING || content->type == JSON_ARRAY) {
		json_add_value(writer, content);
	} else if (content->type == JSON_ABSENT || content->type == JSON_NULL) {
		json_add_null(writer);
	} else {
		json_add_string(writer, (struct slice){content->text, content->len});
	}
}

struct slice part_shown(const struct json *content)
{
	bool as_is = content->type == JSON_STRING || content->type == JSON_ARRAY;
	return as_is ? (struct slice){content->text, content->len} : (struct slice){NULL, 0};
}

void write_blocks_of(struct json_writer *writer, const struct json *content)
{
	struct json_iter iter;
	struct json block;

	if (content->type == JSON_STRING && content->len > 2) {
		write_text_block(writer, content);
	} else if (content->type == JSON_ARRAY) {
		json_iter_init(&iter, content);
		while (json_iter_next(&iter, NULL, &block)) {
			if (block.type == JSON_STRING)
				write_text_block(writer, &block);
			else
				json_add_value(writer, &block);
		}
	} else if (content->type == JSON_OBJECT) {
		json_add_value(writer, content);
	}
}

static void write_call_of(struct json_writer *writer, const struct json *call)
{
	static const char *const CALL[] = {"id", "function", "type", "name", "arguments", NULL};
	static const char *const FUNCTION[] = {"name", "arguments", NULL};
	struct json function, value;

	if (!part_object(call, "function", &function))
		function = *call;
	json_begin_object(writer);
	if (json_get(call, "id", &value) && value.type == JSON_STRING)
		json_member_value(writer, "id", &value);
	if (json_get(&function, "name", &value))
		json_member_value(writer, "name", &value);
	if (json_get(&function, "arguments", &value))
		json_member_value(writer, "arguments", &value);
	write_members_except(writer, call, CALL);
	if (function.text != call->text)
		write_members_except(writer, &function, FUNCTION);
	json_end_object(writer);
}

void write_calls_of(struct json_writer *writer, const struct json *calls)
{
	struct json_iter iter;
	struct json call;

	if (calls->type != JSON_ARRAY || json_count(calls) == 0)
		return;
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_iter_init(&iter, calls);
	while (json_iter_next(&iter, NULL, &call)) {
		if (call.type == JSON_OBJECT)
			write_call_of(writer, &call);
		else
			json_add_value(writer, &call);
	}
	json_end_array(writer);
}

void write_usage_of(struct builder *builder, const struct json *usage)
{
	struct import_usage counts = IMPORT_USAGE_UNKNOWN;
	struct json details;

	if (usage->type != JSON_OBJECT)
		return;
	counts.input = import_number(usage, "prompt_tokens");
	counts.output = import_number(usage, "completion_tokens");
	if (part_object(usage, "prompt_tokens_details", &details))
		counts.cached = import_number(&details, "cached_tokens");
	if (part_object(usage, "completion_tokens_details", &details))
		counts.reasoning = import_number(&details, "reasoning_tokens");
	builder_usage(builder, &counts);
}

void write_seconds(struct json_writer *writer, const struct json *seconds)
{
	char text[TIME_TEXT_BYTES];
	double value;

	/* Up to the year 2200: what is beyond is no time stamp. */
	if (!json_double(seconds, &value) || !(value >= 0 && value < 7.3e9))
		return;
	time_text((int64_t)(value * 1e6) * 1000, text);
	json_member_text(writer, "ts", text);
}

static bool is_among(const struct json *key, const char *const *list)
{
	for (; *list; list++) {
		if (json_string_is(key, *list))
			return true;
	}
	return false;
}

void write_members_once(struct json_writer *writer, const struct json *object, const char *const *except,
	struct slice content)
{
	struct json_iter iter;
	struct json key, value;

	if (object->type != JSON_OBJECT)
		return;
	json_iter_init(&iter, object);
	while (json_iter_next(&iter, &key, &value)) {
		if (is_among(&key, except))
			continue;
		if (writer->comma)
			buffer_add_char(writer->out, ',');
		buffer_add(writer->out, key.text, key.len);
		buffer_add_char(writer->out, ':');
		writer->comma = false;
		write_without_repeats(writer, &value, content);
		writer->comma = true;
	}
}

void write_object_once(struct json_writer *writer, const char *key, const struct json *object,
	const char *const *except, struct slice content)
{
	if (!has_members_except(object, except))
		return;
	json_key(writer, key);
	json_begin_object(writer);
	write_members_once(writer, object, except, content);
	json_end_object(writer);
}

struct slice import_numbered(struct import *import, const char *prefix, uint64_t number)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	struct slice id = {NULL, 0};

	buffer_add_text(&text, prefix);
	buffer_add_u64(&text, number);
	if (!buffer_error(&text))
		id = import_keep(import, buffer_slice(&text));
	buffer_release(&text);
	return id;
}

int import_finish(struct builder *builder, int rc, const char *format, struct bobbin_error *error)
{
	if (!rc && builder->import->conversation_count == 0)
		rc = error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "not a %s transcript: no message in it", format);
	builder_release(builder);
	return import_end(rc, error);
}
