/* SPDX-License-Identifier: MIT */
/* Session lines, see header.h. */
#include "store/header.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/utf8.h"
#include "store/record.h"
#include "transcript/mask.h"

bool header_text_is_valid(struct slice text, size_t max)
{
	if (text.len > max || utf8_valid_prefix(text.data, text.len) != text.len)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
			return false;
	return true;
}

int header_title_redact(char title[LIMIT_TITLE_BYTES + 1])
{
	struct buffer masked = BUFFER_INIT(LIMIT_META_BYTES);
	int rc = mask_text(slice_of(title), &masked, NULL);

	if (!rc && masked.len) {
		size_t len = utf8_truncate(masked.data, masked.len, LIMIT_TITLE_BYTES);
		memcpy(title, masked.data, len);
		title[len] = '\0';
	}
	buffer_release(&masked);
	return rc;
}

static int damaged(struct bobbin_error *error, const char *key)
{
	return error_set(
		error, BOBBIN_ECORRUPT, "the session line is damaged: \"%s\" is not what it must be", key);
}

/* Null and absent leave `ret_text` alone. */
static int get_text(
	const struct json *record, const char *key, size_t max, char *ret_text, struct bobbin_error *error)
{
	struct json value;
	struct buffer text = BUFFER_INIT(LIMIT_META_BYTES);
	int rc = 0;

	if (!json_get(record, key, &value) || value.type == JSON_NULL)
		return 0;
	if (value.type != JSON_STRING)
		return damaged(error, key);
	json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	if (buffer_error(&text) == BOBBIN_ENOMEM)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	else if (buffer_error(&text) || !header_text_is_valid(buffer_slice(&text), max))
		rc = damaged(error, key);
	else if (text.len)
		memcpy(ret_text, text.data, text.len + 1);
	else
		ret_text[0] = '\0';
	buffer_release(&text);
	return rc;
}

static int get_id(const struct json *record, const char *key, char ret_id[LIMIT_SESSION_ID_BYTES + 1],
	struct bobbin_error *error)
{
	int rc = get_text(record, key, LIMIT_SESSION_ID_BYTES, ret_id, error);
	if (!rc && ret_id[0] && !id_is_session(slice_of(ret_id)))
		return damaged(error, key);
	return rc;
}

static int get_count(const struct json *record, const char *key, uint64_t max, bool *ret_there,
	uint64_t *ret_count, struct bobbin_error *error)
{
	struct json value;
	int64_t count;

	*ret_there = false;
	if (!json_get(record, key, &value) || value.type == JSON_NULL)
		return 0;
	if (!json_int64(&value, &count) || count < 0 || (uint64_t)count > max)
		return damaged(error, key);
	*ret_there = true;
	*ret_count = (uint64_t)count;
	return 0;
}

static int get_hash(
	const struct json *record, bool *ret_there, uint64_t *ret_hash, struct bobbin_error *error)
{
	char text[17] = "";
	uint64_t hash = 0;
	int rc = get_text(record, "parentHash", sizeof(text) - 1, text, error);

	*ret_there = false;
	if (rc || !text[0])
		return rc;
	for (size_t i = 0; i < 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
		if (!digit)
			return damaged(error, "parentHash");
		hash = hash << 4 | (uint64_t)(digit - digits);
	}
	*ret_there = true;
	*ret_hash = hash;
	return 0;
}

static int parse_settings(const struct json *record, struct session_line *line, struct bobbin_error *error)
{
	struct json value;
	uint64_t segment_bytes = 0;
	bool there;
	int rc;

	if ((rc = get_count(record, "v", INT64_MAX, &there, &line->version, error)) < 0 ||
		(rc = get_count(record, "segment_bytes", UINT32_MAX, &there, &segment_bytes, error)) < 0 ||
		(rc = get_count(
			 record, "watermark", UINT32_MAX, &line->has_watermark, &line->watermark, error)) < 0)
		return rc;
	line->segment_bytes = (uint32_t)segment_bytes;
	if (json_get(record, "sync", &value)) {
		if (json_string_is(&value, "full"))
			line->sync = STORE_SYNC_FULL;
		else if (json_string_is(&value, "none"))
			line->sync = STORE_SYNC_NONE;
		else
			return damaged(error, "sync");
	}
	if (json_get(record, "redact_on_write", &value) && !json_bool(&value, &line->redact_on_write))
		return damaged(error, "redact_on_write");
	return 0;
}

static int parse_ancestry(const struct json *record, struct session_line *line, struct bobbin_error *error)
{
	bool has_count, has_seq, has_end, has_hash, has_size;
	int rc;

	if ((rc = get_id(record, "parentId", line->parent_id, error)) < 0 ||
		(rc = get_id(record, "base", line->base_id, error)) < 0 ||
		(rc = get_text(record, "through", LIMIT_MESSAGE_ID_BYTES, line->through, error)) < 0 ||
		(rc = get_count(record, "forkedAt", UINT32_MAX - 1, &has_count, &line->forked_at, error)) <
			0 ||
		(rc = get_count(record, "parentSeq", INT64_MAX, &has_seq, &line->parent_seq, error)) < 0 ||
		(rc = get_count(record, "parentEnd", INT64_MAX, &has_end, &line->parent_end, error)) < 0 ||
		(rc = get_count(record, "parentSize", INT64_MAX, &has_size, &line->parent_size, error)) < 0 ||
		(rc = get_hash(record, &has_hash, &line->parent_hash, error)) < 0)
		return rc;
	line->has_parent = line->parent_id[0] != '\0';
	if (!line->has_parent)
		return has_count && line->forked_at ? damaged(error, "parentId") : 0;
	if (!has_count)
		return damaged(error, "forkedAt");
	if (!line->base_id[0])
		memcpy(line->base_id, line->parent_id, sizeof(line->base_id));
	line->pinned = has_seq && has_end && has_hash && line->through[0];
	return 0;
}

static int parse_repair(const struct json *record, struct session_line *line, struct bobbin_error *error)
{
	bool there;
	int rc = get_id(record, "repairedFrom", line->repaired_from, error);

	if (!rc)
		rc = get_count(record, "repairedBytes", INT64_MAX, &there, &line->repaired_bytes, error);
	if (!rc)
		rc = get_count(record, "repairedCrc", UINT32_MAX, &there, &line->repaired_crc, error);
	if (!rc)
		rc = get_count(record, "wasBytes", INT64_MAX, &there, &line->was_bytes, error);
	return rc ? rc : get_count(record, "leftOut", INT64_MAX, &there, &line->left_out, error);
}

int session_line_parse(const struct json *record, struct session_line *ret_line, struct bobbin_error *error)
{
	struct session_line line = SESSION_LINE_INIT;
	int rc;

	if (record->type != JSON_OBJECT)
		return error_set(error, BOBBIN_ECORRUPT, "the session line is damaged: it is not an object");
	if ((rc = get_id(record, "id", line.id, error)) < 0 ||
		(rc = get_text(record, "owner", LIMIT_OWNER_BYTES, line.owner, error)) < 0 ||
		(rc = get_text(record, "title", LIMIT_TITLE_BYTES, line.title, error)) < 0 ||
		(rc = get_text(record, "ts", sizeof(line.created) - 1, line.created, error)) < 0 ||
		(rc = parse_settings(record, &line, error)) < 0 ||
		(rc = parse_ancestry(record, &line, error)) < 0 ||
		(rc = parse_repair(record, &line, error)) < 0)
		return rc;
	*ret_line = line;
	return 0;
}

/* Copies a text that is said here and not there; true if it did. */
static bool copy_text(char *into, const char *from, const char *unless)
{
	if (!from[0] || unless[0])
		return false;
	memmove(into, from, strlen(from) + 1);
	return true;
}

static bool copy_ancestry(
	struct session_line *into, const struct session_line *from, const struct session_line *unless)
{
	if (!from->has_parent || (unless->has_parent && (unless->pinned || !from->pinned)))
		return false;
	into->has_parent = true;
	into->pinned = from->pinned;
	memcpy(into->parent_id, from->parent_id, sizeof(into->parent_id));
	memcpy(into->base_id, from->base_id, sizeof(into->base_id));
	memcpy(into->through, from->through, sizeof(into->through));
	into->forked_at = from->forked_at;
	into->parent_seq = from->parent_seq;
	into->parent_end = from->parent_end;
	into->parent_hash = from->parent_hash;
	into->parent_size = from->parent_size;
	return true;
}

/* Copies what `from` says and `unless` (may be `into`) does not; true if that was anything. */
static bool copy_said(
	struct session_line *into, const struct session_line *from, const struct session_line *unless)
{
	bool any = copy_text(into->id, from->id, unless->id);
	any |= copy_text(into->owner, from->owner, unless->owner);
	any |= copy_text(into->title, from->title, unless->title);
	any |= copy_text(into->created, from->created, unless->created);
	if (from->version && !unless->version) {
		into->version = from->version;
		any = true;
	}
	if (from->segment_bytes && !unless->segment_bytes) {
		into->segment_bytes = from->segment_bytes;
		any = true;
	}
	if (from->sync != LOG_SYNC_STORE && unless->sync == LOG_SYNC_STORE) {
		into->sync = from->sync;
		any = true;
	}
	if (from->redact_on_write && !unless->redact_on_write)
		any = into->redact_on_write = true;
	if (from->has_watermark && !unless->has_watermark) {
		any = into->has_watermark = true;
		into->watermark = from->watermark;
	}
	if (copy_text(into->repaired_from, from->repaired_from, unless->repaired_from)) {
		into->repaired_bytes = from->repaired_bytes;
		into->repaired_crc = from->repaired_crc;
		into->left_out = from->left_out;
		any = true;
	}
	if (from->was_bytes && !unless->was_bytes) {
		into->was_bytes = from->was_bytes;
		any = true;
	}
	return copy_ancestry(into, from, unless) || any;
}

void session_line_merge(struct session_line *into, const struct session_line *from)
{
	copy_said(into, from, into);
	if (from->title[0])
		memcpy(into->title, from->title, sizeof(into->title));
}

bool session_line_subtract(
	const struct session_line *from, const struct session_line *known, struct session_line *ret_rest)
{
	*ret_rest = (struct session_line)SESSION_LINE_INIT;
	return copy_said(ret_rest, from, known);
}

static void add_ancestry(struct json_writer *writer, const struct session_line *line)
{
	char hash[17];
	uint8_t bytes[8];

	json_member_text(writer, "parentId", line->parent_id);
	json_member_uint(writer, "forkedAt", line->forked_at);
	if (!line->pinned)
		return;
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(line->parent_hash >> (56 - 8 * i));
	hex_encode(bytes, sizeof(bytes), hash);
	json_member_text(writer, "through", line->through);
	json_member_uint(writer, "parentSeq", line->parent_seq);
	json_member_uint(writer, "parentEnd", line->parent_end);
	json_member_text(writer, "parentHash", hash);
	if (line->parent_size)
		json_member_uint(writer, "parentSize", line->parent_size);
	if (strcmp(line->base_id, line->parent_id) != 0)
		json_member_text(writer, "base", line->base_id);
}

void session_line_add(struct buffer *out, const struct session_line *line, const char *ts)
{
	size_t start = out->len;
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "session");
	if (line->id[0])
		json_member_text(&writer, "id", line->id);
	if (line->owner[0])
		json_member_text(&writer, "owner", line->owner);
	if (line->title[0])
		json_member_text(&writer, "title", line->title);
	if (line->version)
		json_member_uint(&writer, "v", line->version);
	if (line->segment_bytes)
		json_member_uint(&writer, "segment_bytes", line->segment_bytes);
	if (line->sync != LOG_SYNC_STORE)
		json_member_text(&writer, "sync", line->sync == STORE_SYNC_FULL ? "full" : "none");
	if (line->redact_on_write)
		json_member_bool(&writer, "redact_on_write", true);
	if (line->has_watermark)
		json_member_uint(&writer, "watermark", line->watermark);
	if (line->has_parent)
		add_ancestry(&writer, line);
	if (line->repaired_from[0]) {
		json_member_text(&writer, "repairedFrom", line->repaired_from);
		json_member_uint(&writer, "repairedBytes", line->repaired_bytes);
		json_member_uint(&writer, "repairedCrc", line->repaired_crc);
		json_member_uint(&writer, "leftOut", line->left_out);
	}
	if (line->was_bytes)
		json_member_uint(&writer, "wasBytes", line->was_bytes);
	json_member_text(&writer, "ts", ts);
	record_seal(out, start);
}

/* Any of these is enough: a flipped bit or a torn end cannot take all of them. */
bool looks_like_session_line(const char *data, size_t len)
{
	static const char *const MARKS[] = {
		"\"session\"", "\"segment_bytes\"", "\"parentId\"", "\"forkedAt\"", "\"parentEnd\""};

	if (len > 0 && data[0] == '\0')
		return true; /* the first sector is lost: nothing says that there was no header in it */
	if (len > 8192)
		len = 8192;
	for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++)
		if (memmem(data, len, MARKS[i], strlen(MARKS[i])))
			return true;
	return false;
}
