/* SPDX-License-Identifier: MIT */
/*
 * LangChain's messages written: whole ones from their kwargs, streamed ones joined from their pieces.
 *
 * Strings are joined as they stand between their quotes, so that nothing is decoded and a character that was
 * cut in two escapes is whole again. Content blocks of type text with the same index are one block;
 * tool_call_chunks with the same index are one call, until one brings a new id.
 */
#include "transcript/import_langchain.h"

#include "base/limits.h"

static void add_inside(struct buffer *out, const struct json *string)
{
	if (string->type == JSON_STRING)
		buffer_add(out, string->text + 1, string->len - 2);
}

static bool same_index(const struct json *a, const struct json *b)
{
	struct json one, other;

	json_get(a, "index", &one);
	json_get(b, "index", &other);
	return one.type == other.type && one.len == other.len &&
	       (one.type == JSON_ABSENT || memcmp(one.text, other.text, one.len) == 0);
}

static bool is_text(const struct json *block, struct json *ret_text)
{
	return part_is(block, "type", "text") && json_get(block, "text", ret_text) &&
	       ret_text->type == JSON_STRING;
}

struct joined {
	struct json_writer *writer;
	struct json block; /* the text block that is open; JSON_ABSENT: none */
};

static void close_text(struct joined *joined)
{
	if (joined->block.type == JSON_ABSENT)
		return;
	buffer_add_text(joined->writer->out, "\"}");
	joined->writer->comma = true;
	joined->block.type = JSON_ABSENT;
}

static void join_text(struct joined *joined, const struct json *block, const struct json *text)
{
	if (joined->block.type == JSON_ABSENT || !same_index(&joined->block, block)) {
		close_text(joined);
		if (joined->writer->comma)
			buffer_add_char(joined->writer->out, ',');
		buffer_add_text(joined->writer->out, "{\"type\":\"text\",\"text\":\"");
		joined->block = *block;
	}
	add_inside(joined->writer->out, text);
}

static void join_content(struct joined *joined, const struct json *content)
{
	struct json_iter iter;
	struct json block, text;

	if (content->type == JSON_STRING && content->len > 2)
		join_text(joined, content, content);
	json_iter_init(&iter, content);
	while (content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &block)) {
		if (is_text(&block, &text)) {
			join_text(joined, &block, &text);
		} else {
			close_text(joined);
			json_add_value(joined->writer, &block);
		}
	}
}

static void write_joined_content(struct lang *lang, const struct lang_entry *entry)
{
	struct joined joined = {&lang->builder.writer, {NULL, 0, JSON_ABSENT}};
	struct json content;

	json_key(joined.writer, "content");
	json_begin_array(joined.writer);
	for (size_t at = entry->first_piece; at != LANG_NONE; at = lang->pieces[at].next) {
		if (json_get(&lang->pieces[at].kwargs, "content", &content))
			join_content(&joined, &content);
	}
	close_text(&joined);
	json_end_array(joined.writer);
}

/* Walks the tool_call_chunks of all pieces of a message. */
struct chunk_iter {
	const struct lang *lang;
	size_t at; /* the next piece */
	struct json_iter chunks;
	bool inside;
};

static bool chunk_next(struct chunk_iter *iter, struct json *ret_chunk)
{
	struct json list;

	for (;;) {
		if (iter->inside && json_iter_next(&iter->chunks, NULL, ret_chunk))
			return true;
		if (iter->at == LANG_NONE)
			return false;
		iter->inside = part_list(&iter->lang->pieces[iter->at].kwargs, "tool_call_chunks", &list);
		iter->at = iter->lang->pieces[iter->at].next;
		if (iter->inside)
			json_iter_init(&iter->chunks, &list);
	}
}

static bool begins_call(const struct json *chunk)
{
	struct json id;
	return json_get(chunk, "id", &id) && id.type == JSON_STRING && id.len > 2;
}

/* One call: `iter` stands behind its first chunk. */
static void write_joined_call(struct json_writer *writer, struct chunk_iter iter, const struct json *first)
{
	struct json chunk = *first, id, name, args;

	json_begin_object(writer);
	json_get(first, "id", &id);
	json_member_value(writer, "id", &id);
	if (json_get(first, "name", &name) && name.type == JSON_STRING)
		json_member_value(writer, "name", &name);
	json_key(writer, "arguments");
	buffer_add_char(writer->out, '"');
	do {
		if (!same_index(&chunk, first))
			continue;
		if (chunk.text != first->text && begins_call(&chunk))
			break;
		json_get(&chunk, "args", &args);
		add_inside(writer->out, &args);
	} while (chunk_next(&iter, &chunk));
	buffer_add_char(writer->out, '"');
	writer->comma = true;
	json_end_object(writer);
}

static void write_joined_calls(struct lang *lang, const struct lang_entry *entry)
{
	struct json_writer *writer = &lang->builder.writer;
	struct chunk_iter iter = {lang, entry->first_piece, {0}, false};
	struct json chunk;
	size_t calls = 0;

	while (chunk_next(&iter, &chunk)) {
		if (!begins_call(&chunk) || calls > LIMIT_CALLS_PER_MESSAGE) /* one more is too many for a message */
			continue;
		if (calls++ == 0) {
			json_key(writer, "tool_calls");
			json_begin_array(writer);
		}
		write_joined_call(writer, iter, &chunk);
	}
	if (calls)
		json_end_array(writer);
}

/* What the model thought, if pieces of it are all there is. */
static void write_joined_reasoning(struct lang *lang, const struct lang_entry *entry)
{
	struct json_writer *writer = &lang->builder.writer;
	struct json extra, reasoning, summary, part, text;
	struct json_iter iter;

	json_key(writer, "reasoning");
	buffer_add_char(writer->out, '"');
	for (size_t at = entry->first_piece; at != LANG_NONE; at = lang->pieces[at].next) {
		if (!part_object(&lang->pieces[at].kwargs, "additional_kwargs", &extra) ||
			!part_object(&extra, "reasoning", &reasoning) ||
			!part_list(&reasoning, "summary", &summary))
			continue;
		json_iter_init(&iter, &summary);
		while (json_iter_next(&iter, NULL, &part)) {
			json_get(&part, "text", &text);
			add_inside(writer->out, &text);
		}
	}
	buffer_add_char(writer->out, '"');
	writer->comma = true;
}

static const char *const MESSAGE_OWN[] = {
	"id", "content", "tool_calls", "tool_call_chunks", "invalid_tool_calls", "tool_call_id", NULL};

static void write_joined_src(struct lang *lang, const struct lang_entry *entry)
{
	struct json_writer *writer = &lang->builder.writer;
	const struct json *first = &lang->pieces[entry->first_piece].kwargs;
	const struct json *last = &lang->pieces[entry->last_piece].kwargs;

	json_key(writer, "src");
	json_begin_object(writer);
	json_member_string(writer, "class", entry->class);
	json_member_uint(writer, "pieces", entry->piece_count);
	write_joined_reasoning(lang, entry);
	write_object_once(
		writer, "metadata", &entry->metadata, (const char *const[]){NULL}, (struct slice){NULL, 0});
	write_object_once(writer, "first", first, MESSAGE_OWN, (struct slice){NULL, 0});
	write_object_once(writer, "last", last, MESSAGE_OWN, (struct slice){NULL, 0});
	json_end_object(writer);
}

/* True if the content has a block for this call, too. */
static bool is_in_content(const struct json *content, const struct json *call)
{
	struct json_iter iter;
	struct json block, id, other;

	if (content->type != JSON_ARRAY || !json_get(call, "id", &id))
		return false;
	json_iter_init(&iter, content);
	while (json_iter_next(&iter, NULL, &block)) {
		if ((part_is(&block, "type", "tool_use") || part_is(&block, "type", "tool_call")) &&
			json_get(&block, "id", &other) && json_string_equal(&id, &other))
			return true;
	}
	return false;
}

static void write_call(struct json_writer *writer, const struct json *call)
{
	static const char *const OWN[] = {"id", "name", "args", "type", NULL};
	struct json value;

	json_begin_object(writer);
	if (json_get(call, "id", &value) && value.type == JSON_STRING)
		json_member_value(writer, "id", &value);
	if (json_get(call, "name", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	if (json_get(call, "args", &value))
		json_member_value(writer, "arguments", &value);
	write_members_except(writer, call, OWN);
	json_end_object(writer);
}

/* The calls, and those whose arguments LangChain could not parse: the model made them all the same. */
static void write_calls(struct json_writer *writer, const struct json *kwargs, const struct json *content)
{
	static const char *const LISTS[] = {"tool_calls", "invalid_tool_calls", NULL};
	struct json calls, call, extra;
	struct json_iter iter;
	size_t count = 0;

	for (size_t i = 0; LISTS[i]; i++) {
		if (!part_list(kwargs, LISTS[i], &calls))
			continue;
		json_iter_init(&iter, &calls);
		while (json_iter_next(&iter, NULL, &call)) {
			if (call.type != JSON_OBJECT || is_in_content(content, &call) ||
				(i && !begins_call(&call)))
				continue;
			if (count++ == 0) {
				json_key(writer, "tool_calls");
				json_begin_array(writer);
			}
			write_call(writer, &call);
		}
	}
	if (count)
		json_end_array(writer);
	else if (part_object(kwargs, "additional_kwargs", &extra) && part_list(&extra, "tool_calls", &calls))
		write_calls_of(writer, &calls);
}

static void write_metadata_usage(struct builder *builder, const struct json *kwargs)
{
	struct import_usage counts = IMPORT_USAGE_UNKNOWN;
	struct json usage, details;

	if (!part_object(kwargs, "usage_metadata", &usage))
		return;
	counts.input = import_number(&usage, "input_tokens");
	counts.output = import_number(&usage, "output_tokens");
	if (part_object(&usage, "input_token_details", &details)) {
		counts.cached = import_number(&details, "cache_read");
		counts.cache_write = import_number(&details, "cache_creation");
	}
	if (part_object(&usage, "output_token_details", &details))
		counts.reasoning = import_number(&details, "reasoning");
	builder_usage(builder, &counts);
}

static int write_whole(struct lang *lang, const struct lang_entry *entry)
{
	struct json_writer *writer = &lang->builder.writer;
	struct json content;

	json_get(&entry->whole, "content", &content);
	write_content_of(writer, &content);
	if (lang->builder.role == ROLE_ASSISTANT) {
		write_calls(writer, &entry->whole, &content);
		write_metadata_usage(&lang->builder, &entry->whole);
	} else if (lang->builder.role == ROLE_TOOL && part_is(&entry->whole, "status", "error")) {
		json_member_bool(writer, "is_error", true);
	}
	json_key(writer, "src");
	json_begin_object(writer);
	json_member_string(writer, "class", entry->class);
	if (entry->metadata.type == JSON_OBJECT)
		json_member_value(writer, "metadata", &entry->metadata);
	write_members_once(writer, &entry->whole, MESSAGE_OWN, part_shown(&content));
	json_end_object(writer);
	return builder_end_next(&lang->builder, entry->id);
}

static int write_joined(struct lang *lang, const struct lang_entry *entry)
{
	write_joined_content(lang, entry);
	if (lang->builder.role == ROLE_ASSISTANT) {
		write_joined_calls(lang, entry);
		for (size_t at = entry->first_piece; at != LANG_NONE; at = lang->pieces[at].next) {
			struct json usage;
			if (json_get(&lang->pieces[at].kwargs, "usage_metadata", &usage) &&
				usage.type == JSON_OBJECT) {
				write_metadata_usage(&lang->builder, &lang->pieces[at].kwargs);
				break;
			}
		}
	}
	write_joined_src(lang, entry);
	return builder_end_next(&lang->builder, entry->id);
}

/* The role of a class; false: it makes no message. */
static bool role_of(const struct lang_entry *entry, const struct json *kwargs, enum message_role *ret_role)
{
	static const struct {
		const char *name;
		enum message_role role;
	} CLASSES[] = {
		{"Human", ROLE_USER}, {"AI", ROLE_ASSISTANT}, {"Tool", ROLE_TOOL}, {"Function", ROLE_TOOL}};
	struct json role;

	for (size_t i = 0; i < sizeof(CLASSES) / sizeof(CLASSES[0]); i++) {
		if (slice_starts_with(entry->class, CLASSES[i].name)) {
			*ret_role = CLASSES[i].role;
			return true;
		}
	}

	return slice_starts_with(entry->class, "Chat") && json_get(kwargs, "role", &role) &&
	       message_role_of(&role, ret_role);
}

int lang_write(struct lang *lang, size_t index)
{
	const struct lang_entry *entry = &lang->entries[index];
	struct import *import = lang->builder.import;
	bool whole = entry->whole.type == JSON_OBJECT;
	const struct json *kwargs = whole ? &entry->whole : &lang->pieces[entry->first_piece].kwargs;
	struct place nowhere = {0, 0};
	enum message_role role;

	if (slice_starts_with(entry->class, "System"))
		return import_left_out(import, nowhere, "system {message|messages}");
	if (!role_of(entry, kwargs, &role))
		return import_not_understood(import, nowhere, "{object|objects} of the class", entry->class);
	if (role == ROLE_TOOL)
		builder_begin_result(&lang->builder, import_string(import, kwargs, "tool_call_id"));
	else
		builder_begin(&lang->builder, role);
	return whole ? write_whole(lang, entry) : write_joined(lang, entry);
}
