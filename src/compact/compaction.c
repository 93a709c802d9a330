/* SPDX-License-Identifier: MIT */
/* Compactions as log lines, and whether they still hold. Invariants: compaction.h. */
#include "compact/compaction.h"

static struct slice text_of(const struct json *line, const char *key, struct arena *arena, int *error)
{
	struct json value;
	struct slice text = {NULL, 0};

	if (!json_get(line, key, &value) || value.type != JSON_STRING)
		return text;
	text = json_string_content(&value, arena);
	if (!text.data)
		*error = BOBBIN_ENOMEM;
	return text;
}

static uint64_t number_of(const struct json *object, const char *key)
{
	struct json value;
	int64_t number = 0;

	return json_get(object, key, &value) && json_int64(&value, &number) && number > 0 ? (uint64_t)number
											  : 0;
}

int compaction_read(const struct json *line, struct arena *arena, struct compaction *ret_compaction,
	struct bobbin_error *error)
{
	struct compaction read = {.cut = {NULL, 0}};
	struct json segments;
	int rc = 0;

	read.cut = text_of(line, "cut", arena, &rc);
	read.inner = text_of(line, "inner", arena, &rc);
	read.source = text_of(line, "source", arena, &rc);
	read.floor = text_of(line, "floor", arena, &rc);
	read.text = text_of(line, "text", arena, &rc);
	read.tokens = number_of(line, "tokens");
	if (json_get(line, "segments", &segments)) {
		read.segment_count = number_of(&segments, "n");
		read.segment_digest = text_of(&segments, "digest", arena, &rc);
	}
	json_get(line, "record", &read.record);
	json_get(line, "verify", &read.verify);
	if (rc)
		return error_set(error, rc, "out of memory while reading a compaction");
	if (!read.cut.len || !read.source.len || !read.text.len)
		return error_set(error, BOBBIN_EINPUT, "a compaction without %s",
			!read.cut.len	   ? "cut"
			: !read.source.len ? "source digest"
					   : "text");
	*ret_compaction = read;
	return 0;
}

static void write_id(struct json_writer *writer, const char *key, struct slice id)
{
	if (id.len) {
		json_member_string(writer, key, id);
	} else {
		json_key(writer, key);
		json_add_null(writer);
	}
}

static void write_value(struct json_writer *writer, const char *key, const struct json *value)
{
	if (value->type != JSON_ABSENT)
		json_member_value(writer, key, value);
}

void compaction_write(const struct compaction *compaction, struct buffer *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "compaction");
	json_member_string(&writer, "cut", compaction->cut);
	json_member_string(&writer, "source", compaction->source);
	write_id(&writer, "inner", compaction->inner);
	json_key(&writer, "segments");
	json_begin_object(&writer);
	json_member_uint(&writer, "n", compaction->segment_count);
	json_member_string(&writer, "digest", compaction->segment_digest);
	json_end_object(&writer);
	json_member_uint(&writer, "tokens", compaction->tokens);
	json_member_string(&writer, "text", compaction->text);
	write_value(&writer, "record", &compaction->record);
	write_value(&writer, "verify", &compaction->verify);
	write_id(&writer, "floor", compaction->floor);
	json_end_object(&writer);
}

int segment_line_read(const struct json *line, struct arena *arena, struct segment_line *ret_line,
	struct bobbin_error *error)
{
	struct segment_line read = {.key = {NULL, 0}};
	struct json covers, id;
	struct json_iter iter;
	int rc = 0;

	read.key = text_of(line, "key", arena, &rc);
	read.deriver = text_of(line, "deriver", arena, &rc);
	read.version = text_of(line, "version", arena, &rc);
	json_get(line, "covers", &covers);
	json_iter_init(&iter, &covers);
	if (covers.type == JSON_ARRAY && json_iter_next(&iter, NULL, &id) && id.type == JSON_STRING)
		read.from = json_string_content(&id, arena);
	if (covers.type == JSON_ARRAY && json_iter_next(&iter, NULL, &id) && id.type == JSON_STRING)
		read.to = json_string_content(&id, arena);
	json_get(line, "record", &read.record);
	json_get(line, "verify", &read.verify);
	if (rc)
		return error_set(error, rc, "out of memory while reading a segment's record");
	if (!read.key.len || !read.from.len || !read.to.len || read.record.type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "a segment's record without key, range or record");
	*ret_line = read;
	return 0;
}

void segment_line_write(const struct segment_line *line, struct buffer *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "segment");
	json_member_string(&writer, "key", line->key);
	json_key(&writer, "covers");
	json_begin_array(&writer);
	json_add_string(&writer, line->from);
	json_add_string(&writer, line->to);
	json_end_array(&writer);
	write_value(&writer, "record", &line->record);
	write_value(&writer, "verify", &line->verify);
	json_member_string(&writer, "deriver", line->deriver);
	json_member_string(&writer, "version", line->version);
	json_end_object(&writer);
}

/* ---- Staleness */

static int judge_places(const struct compaction_now *now, const struct path *path, const char **ret_reason,
	struct bobbin_error *error)
{
	struct path_item item;
	int rc = path_item(path, now->cut, &item, error);

	if (rc)
		return rc;
	if (item.role != ROLE_USER || item.origin != ORIGIN_PERSON || item.turn != now->cut) {
		*ret_reason = "the message at the cut is no longer the start of a turn";
		return 0;
	}
	if (now->inner == WINDOW_NONE)
		return 0;
	if ((rc = path_item(path, now->inner, &item, error)))
		return rc;
	if (item.turn != now->cut || item.round != now->inner)
		*ret_reason = "the inner cut is no longer a round of the turn";
	return 0;
}

int compaction_stale(const struct compaction *compaction, const struct compaction_now *now,
	const struct path *path, const char **ret_reason, struct bobbin_error *error)
{
	*ret_reason = NULL;
	if (!slice_equal(compaction->floor, now->floor))
		*ret_reason = "a run has begun since";
	else if (now->cut == WINDOW_NONE || now->cut >= path->count)
		*ret_reason = "the message at the cut is not on this line";
	else if (compaction->inner.len &&
		 (now->inner == WINDOW_NONE || now->inner <= now->cut || now->inner >= path->count))
		*ret_reason = "the message at the inner cut is not on this line";
	else if (!compaction->inner.len && now->inner != WINDOW_NONE)
		*ret_reason = "there was no inner cut";
	else if (now->source.data && !slice_equal(compaction->source, now->source))
		*ret_reason = "the messages it summarises have changed";
	return *ret_reason ? 0 : judge_places(now, path, ret_reason, error);
}

int compaction_window_record(const struct compaction *compaction, const struct compaction_now *now,
	const struct path *path, struct window_record *ret_record, struct bobbin_error *error)
{
	struct window_record record = {.cut = now->cut,
		.inner_cut = now->inner,
		.text = compaction->text,
		.tokens = compaction->tokens};
	int rc = compaction_stale(compaction, now, path, &record.stale, error);

	if (!rc)
		*ret_record = record;
	return rc;
}

int segments_digest(const char *const *keys, size_t count, char ret_digest[SEGMENT_KEY_BYTES])
{
	struct sha256 hash;
	uint8_t digest[SHA256_BYTES];

	if (sha256_init(&hash))
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < count; i++)
		sha256_update(&hash, keys[i], strlen(keys[i]) + 1);
	sha256_final(&hash, digest);
	memcpy(ret_digest, "sha256:", 7);
	hex_encode(digest, sizeof digest, ret_digest + 7);
	return 0;
}

const char *compaction_useless(const struct compaction_gain *gain)
{
	if (!gain->items)
		return "there is nothing to put into a record";
	if (gain->view_after >= gain->view_before)
		return "the view would not be smaller";
	return NULL;
}
