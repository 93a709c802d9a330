/* SPDX-License-Identifier: MIT */
/* meta.json, see meta.h. */
#include "store/meta.h"

#include "store/file.h"
#include "store/store_internal.h"

#define META_NAME_BYTES (LIMIT_SESSION_ID_BYTES + 16)

static void meta_name(const char *id, char ret_name[META_NAME_BYTES])
{
	size_t len = strlen(id);
	memcpy(ret_name, id, len);
	memcpy(ret_name + len, ".meta.json", sizeof(".meta.json"));
}

static bool get_count(const struct json *object, const char *key, uint64_t *ret_count)
{
	struct json value;
	int64_t count;

	if (!json_get(object, key, &value) || !json_int64(&value, &count) || count < 0)
		return false;
	*ret_count = (uint64_t)count;
	return true;
}

static void get_head(const struct json *object, char ret_head[PATH_ID_BYTES])
{
	struct buffer text = BUFFER_INIT(PATH_ID_BYTES - 1);
	struct json value;

	/* A cache: what has no room, or is no text, is not said. */
	if (json_get(object, "head", &value) && value.type == JSON_STRING)
		json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	if (text.data && !buffer_error(&text)) {
		memcpy(ret_head, text.data, text.len);
		ret_head[text.len] = '\0';
	}
	buffer_release(&text);
}

int meta_read(struct store *store, const char *id, struct meta *ret_meta, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_META_BYTES);
	struct meta meta = {.line = SESSION_LINE_INIT};
	char name[META_NAME_BYTES];
	struct json object;

	meta_name(id, name);
	int rc = file_read(store->platform, store->dir, name, LIMIT_META_BYTES, &text, error);
	if (!rc && text.data && json_parse(text.data, text.len, &object, NULL) == 0)
		rc = session_line_parse(&object, &meta.line, error);
	else if (rc != BOBBIN_ENOMEM && rc != BOBBIN_EIO)
		rc = BOBBIN_ENOTFOUND;
	if (!rc) {
		meta.has_messages = get_count(&object, "messages", &meta.messages);
		if (!get_count(&object, "logBytes", &meta.log_bytes))
			meta.log_bytes = 0;
		get_head(&object, meta.head);
		*ret_meta = meta;
	} else if (rc != BOBBIN_ENOMEM && rc != BOBBIN_EIO)
		rc = error_set(error, BOBBIN_ENOTFOUND, "%s cannot be used", name);
	buffer_release(&text);
	return rc;
}

bool meta_is_of(const struct meta *meta, const char *id)
{
	return !meta->line.id[0] || strcmp(meta->line.id, id) == 0;
}

static void add_line(struct json_writer *writer, const char *id, const struct session_line *line)
{
	json_member_text(writer, "id", id);
	if (line->owner[0])
		json_member_text(writer, "owner", line->owner);
	if (line->title[0])
		json_member_text(writer, "title", line->title);
	if (line->has_parent) {
		json_member_text(writer, "parentId", line->parent_id);
		json_member_uint(writer, "forkedAt", line->forked_at);
	}
	if (line->has_watermark)
		json_member_uint(writer, "watermark", line->watermark);
	if (line->created[0])
		json_member_text(writer, "created", line->created);
}

int meta_write(struct store *store, const char *id, const struct meta *meta, const char *head, bool durable,
	struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_META_BYTES);
	struct json_writer writer;
	char name[META_NAME_BYTES], now[TIME_TEXT_BYTES];

	meta_name(id, name);
	time_text(store->platform->realtime_ns(store->platform->context), now);
	json_writer_init(&writer, &text);
	json_begin_object(&writer);
	add_line(&writer, id, &meta->line);
	json_member_uint(&writer, "messages", meta->messages);
	if (head[0])
		json_member_text(&writer, "head", head);
	json_member_uint(&writer, "logBytes", meta->log_bytes);
	json_member_text(&writer, "updated", now);
	json_end_object(&writer);
	buffer_add_char(&text, '\n');
	int rc = buffer_error(&text);
	if (rc)
		rc = error_set(error, rc, "out of memory");
	else
		rc = file_replace(store->platform, store->dir, name, buffer_slice(&text), durable, error);
	buffer_release(&text);
	return rc;
}
