/* SPDX-License-Identifier: MIT */
/* Writing of messages for readers; the contracts are in import_builder.h. */
#include "transcript/import_builder.h"

#include "base/limits.h"
#include "base/platform.h"

void builder_init(struct builder *builder, struct import *import)
{
	*builder = (struct builder){.import = import, .drafts = {.import = import}};
	buffer_init(&builder->out, LIMIT_IMPORT_BYTES);
}

void builder_release(struct builder *builder)
{
	drafts_release(&builder->drafts);
	buffer_release(&builder->out);
}

struct json_writer *builder_begin(struct builder *builder, enum message_role role)
{
	builder->role = role;
	builder->origin = ORIGIN_PERSON;
	builder->call_id = (struct slice){NULL, 0};
	buffer_clear(&builder->out);
	json_writer_init(&builder->writer, &builder->out);
	json_member_text(&builder->writer, "role", message_role_text(role));
	return &builder->writer;
}

struct json_writer *builder_begin_result(struct builder *builder, struct slice call_id)
{
	struct json_writer *writer = builder_begin(builder, ROLE_TOOL);

	builder->call_id = call_id;
	if (call_id.data)
		json_member_string(writer, "tool_call_id", call_id);
	return writer;
}

void builder_origin(struct builder *builder, enum message_origin origin)
{
	builder->origin = origin;
	if (origin == ORIGIN_INJECTED)
		json_member_text(&builder->writer, "origin", "injected");
	else if (origin == ORIGIN_SUMMARY)
		json_member_text(&builder->writer, "origin", "summary");
}

int builder_end(struct builder *builder, struct draft *draft)
{
	if (buffer_error(&builder->out))
		return buffer_error(&builder->out);
	draft->role = builder->role;
	draft->origin = builder->origin;
	draft->call_id = drafts_call_id(&builder->drafts, builder->call_id);
	draft->id = import_hold(builder->import, draft->id);
	draft->members = buffer_slice(&builder->out);
	return drafts_add(&builder->drafts, draft);
}

int builder_end_next(struct builder *builder, struct slice id)
{
	struct draft draft = {.id = id, .parent_kind = DRAFT_HEAD};
	return builder_end(builder, &draft);
}

static void write_count(struct json_writer *writer, const char *key, int64_t count)
{
	if (count >= 0)
		json_member_int(writer, key, count);
}

void import_write_usage(struct json_writer *writer, const struct import_usage *usage)
{
	if (usage->input < 0 && usage->output < 0)
		return;
	json_key(writer, "usage");
	json_begin_object(writer);
	write_count(writer, "input", usage->input);
	write_count(writer, "cached", usage->cached);
	write_count(writer, "cache_write", usage->cache_write);
	write_count(writer, "output", usage->output);
	write_count(writer, "reasoning", usage->reasoning);
	json_end_object(writer);
}

void builder_usage(struct builder *builder, const struct import_usage *usage)
{
	import_write_usage(&builder->writer, usage);
}

int builder_usage_late(struct builder *builder, size_t draft, const struct import_usage *usage)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer = {&text, true};
	int rc = 0;

	import_write_usage(&writer, usage);
	if (buffer_error(&text))
		rc = BOBBIN_ENOMEM;
	else if (text.len)
		rc = drafts_add_more(&builder->drafts, draft, buffer_slice(&text));
	buffer_release(&text);
	return rc;
}

int64_t import_number(const struct json *object, const char *key)
{
	struct json value;
	int64_t number;

	return json_get(object, key, &value) && json_int64(&value, &number) && number >= 0 ? number : -1;
}

int64_t import_sum(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

int builder_conversation(struct builder *builder, struct slice foreign_id, struct slice title)
{
	struct import_conversation *conversation;
	int rc = 0;

	if (builder->drafts.count) {
		if (!(conversation = import_conversation_add(builder->import)))
			return BOBBIN_ENOMEM;
		conversation->foreign_id = foreign_id;
		conversation->title = title;
		builder->drafts.ends = builder->rewound;
		builder->drafts.end = builder->rewound_to;
		rc = drafts_emit(&builder->drafts, conversation);
	}
	builder->rewound = false;
	drafts_release(&builder->drafts);
	builder->drafts.import = builder->import;
	return rc;
}

void write_text_block(struct json_writer *writer, const struct json *text)
{
	json_begin_object(writer);
	json_member_text(writer, "type", "text");
	json_member_value(writer, "text", text);
	json_end_object(writer);
}

void write_text_block_of(struct json_writer *writer, struct slice text)
{
	json_begin_object(writer);
	json_member_text(writer, "type", "text");
	json_member_string(writer, "text", text);
	json_end_object(writer);
}

void write_image_block(struct json_writer *writer, const struct json *media_type, const struct json *data)
{
	json_begin_object(writer);
	json_member_text(writer, "type", "image");
	json_key(writer, "source");
	json_begin_object(writer);
	json_member_text(writer, "type", "base64");
	if (media_type->type == JSON_STRING)
		json_member_value(writer, "media_type", media_type);
	json_member_value(writer, "data", data);
	json_end_object(writer);
	json_end_object(writer);
}

void write_time(struct json_writer *writer, const struct json *time)
{
	char text[TIME_TEXT_BYTES];
	int64_t milliseconds;

	if (time->type == JSON_STRING) {
		json_member_value(writer, "ts", time);
	} else if (json_int64(time, &milliseconds) && milliseconds >= 0 &&
		   milliseconds <= INT64_MAX / 1000000) {
		time_text(milliseconds * 1000000, text);
		json_member_text(writer, "ts", text);
	}
}

void write_source_except(struct json_writer *writer, const struct json *record, const char *const *except)
{
	if (!has_members_except(record, except))
		return;
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, record, except);
	json_end_object(writer);
}
