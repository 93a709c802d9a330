/* SPDX-License-Identifier: MIT */
/*
 * Masking a record: its strings are decoded, looked through, and what is found is replaced in the record's
 * own bytes, so that every other byte stays: escapes, numbers, order, what nobody knows.
 *
 *	"arguments":"{\"cmd\":\"curl -H 'Authorization: Bearer abc…'\"}"
 *	                                                       [     ]   an edit: two offsets and what for
 *
 * Invariants: (1) edits never overlap; those of the content come first, because places of `src` that point
 * into it (in_content: [offset,length], in bytes of the content's JSON) are moved by them; (2) a block that
 * its provider signed or encrypted is not walked into.
 */
#include "transcript/mask_scan.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "base/json_string.h"
#include "base/limits.h"

#define KEY_BYTES_MAX 256
#define BINARY_BYTES_MIN 1024 /* of base64 and nothing else: an image, a file */

struct edit {
	size_t start, end; /* in the record's text */
	const char *kind;  /* NULL: a number that moved */
	uint64_t number;
};

struct walk {
	const char *text; /* the record */
	struct edit *edits;
	size_t count, cap;
	size_t content_start, content_edits; /* those of the content are edits[0 … content_edits) */
	size_t secrets;
	struct mask_spans spans; /* of one string */
	struct buffer decoded;
};

static int add_edit(struct walk *walk, const struct edit *edit)
{
	void *edits = walk->edits;

	if (mem_grow(&edits, &walk->cap, walk->count + 1, sizeof(*walk->edits)) < 0)
		return BOBBIN_ENOMEM;
	walk->edits = edits;
	walk->edits[walk->count++] = *edit;
	walk->secrets += edit->kind != NULL;
	return 0;
}

/* ---- One string ------------------------------------------------------------------------------------------
 */

/* Finds the places of the decoded text again in the bytes it was decoded from. */
static int add_spans(struct walk *walk, const struct json *string)
{
	struct json_cursor cursor = json_cursor_of(string);
	size_t at = 0;
	char bytes[4];
	int rc = 0;

	for (size_t i = 0; !rc && i < walk->spans.count; i++) {
		struct edit edit = {.kind = walk->spans.items[i].kind};
		while (at < walk->spans.items[i].start)
			at += json_cursor_next(&cursor, bytes);
		edit.start = (size_t)(cursor.at - walk->text);
		while (at < walk->spans.items[i].end)
			at += json_cursor_next(&cursor, bytes);
		edit.end = (size_t)(cursor.at - walk->text);
		rc = add_edit(walk, &edit);
	}
	return rc;
}

static bool is_binary(struct slice text)
{
	struct mask_scan scan = {.text = text.data, .len = text.len};
	size_t from = 0;

	if (text.len < BINARY_BYTES_MIN)
		return false;
	if (slice_starts_with(text, "data:")) {
		const char *comma = memchr(text.data, ',', 256);
		from = comma ? (size_t)(comma - text.data) + 1 : 0;
	}
	if (mask_run(&scan, SET_BASE64, from) == text.len)
		return true;
	scan = (struct mask_scan){.text = text.data, .len = text.len};
	return mask_run(&scan, SET_TOKEN, from) == text.len;
}

/* name: of the member it is the value of, or empty. */
static int walk_string(struct walk *walk, const struct json *string, struct slice name)
{
	struct slice text = {string->text + 1, string->len - 2};

	if (!json_string_plain(string, &text)) {
		buffer_clear(&walk->decoded);
		json_string_decode(string, JSON_SURROGATES_KEEP, &walk->decoded);
		if (buffer_error(&walk->decoded))
			return buffer_error(&walk->decoded);
		text = buffer_slice(&walk->decoded);
	}
	if (text.len == 0 || is_binary(text))
		return 0;
	walk->spans.count = 0;
	int rc = mask_find(text, &walk->spans);
	if (rc)
		return rc;
	const char *kind = walk->spans.count ? NULL : mask_named_value(name, text);
	if (kind) {
		size_t start = (size_t)(string->text - walk->text);
		return add_edit(walk, &(struct edit){start + 1, start + string->len - 1, kind, 0});
	}
	return add_spans(walk, string);
}

/* ---- What is walked --------------------------------------------------------------------------------------
 */

static bool is_one_of(struct slice key, const char *const *keys)
{
	for (; *keys; keys++)
		if (slice_is(key, *keys))
			return true;
	return false;
}

/* Members that name, sign or hold data: nothing a person reads. */
static bool is_protected(struct slice key)
{
	static const char *const KEYS[] = {"id", "uuid", "parentUuid", "type", "role", "signature",
		"thoughtSignature", "thought_signature", "encrypted_content", "reasoningOpaque",
		"reasoning_opaque", "crc", "hash", "sha", "sha1", "sha256", "digest", "checksum", "integrity",
		"etag", "fingerprint", "media_type", "mimeType", "mime_type", "parent", NULL};
	static const char *const ENDS[] = {"_id", "Id", "ID", "_uuid", "Uuid", "_hash", "Hash", NULL};

	if (is_one_of(key, KEYS))
		return true;
	for (const char *const *end = ENDS; *end; end++) {
		size_t len = strlen(*end);
		if (key.len > len && memcmp(key.data + key.len - len, *end, len) == 0)
			return true;
	}
	return false;
}

static bool has_text(const struct json *object, const char *key)
{
	struct json value;

	return json_get(object, key, &value) && value.type == JSON_STRING && value.len > 2;
}

/* A block that its provider will check: it is sent back as it came, or not at all. */
static bool is_sealed(const struct json *object)
{
	struct json type;

	if (!json_get(object, "type", &type))
		return false;
	if (json_string_is(&type, "redacted_thinking") || has_text(object, "encrypted_content"))
		return true;
	return (json_string_is(&type, "thinking") || json_string_is(&type, "reasoning")) &&
	       (has_text(object, "signature") || has_text(object, "data"));
}

/* {"in_content":[offset,length]}: a place of the content, which may have moved. */
static int move_place(struct walk *walk, const struct json *value)
{
	struct json_iter iter;
	struct json number[2];
	int64_t place[2];

	json_iter_init(&iter, value);
	for (int i = 0; i < 2; i++)
		if (!json_iter_next(&iter, NULL, &number[i]) || !json_int64(&number[i], &place[i]) ||
			place[i] < 0)
			return 0;
	uint64_t start = (uint64_t)place[0], end = start + (uint64_t)place[1], moved[2] = {start, end};
	int64_t shift = 0;
	for (size_t i = 0; i < walk->content_edits; i++) {
		const struct edit *edit = &walk->edits[i];
		uint64_t from = edit->start - walk->content_start, to = edit->end - walk->content_start;
		uint64_t len = sizeof("[masked: ]") - 1 + strlen(edit->kind);
		for (int j = 0; j < 2; j++)
			if (place[j] >= 0 && (j ? end : start) > from)
				moved[j] = (j ? end : start) >= to
						   ? (j ? end : start) + (uint64_t)shift + len - (to - from)
						   : from + (uint64_t)shift + (j ? len : 0);
		shift += (int64_t)len - (int64_t)(to - from);
	}
	moved[1] -= moved[0];
	for (int i = 0; i < 2; i++) {
		size_t at = (size_t)(number[i].text - walk->text);
		int rc = moved[i] == (uint64_t)place[i]
				 ? 0
				 : add_edit(walk, &(struct edit){at, at + number[i].len, NULL, moved[i]});
		if (rc)
			return rc;
	}
	return 0;
}

static int walk_value(struct walk *walk, const struct json *value, struct slice name);

/* A key with escapes means what it says without them; one too long to be any of ours is none. */
static struct slice decode_key(const struct json *key, char ret_bytes[KEY_BYTES_MAX])
{
	struct json_cursor cursor = json_cursor_of(key);
	size_t len = 0, used;
	char bytes[4];

	while (len + sizeof(bytes) <= KEY_BYTES_MAX && (used = json_cursor_next(&cursor, bytes)) > 0) {
		memcpy(ret_bytes + len, bytes, used);
		len += used;
	}
	return (struct slice){ret_bytes, len};
}

static int walk_member(struct walk *walk, const struct json *key, const struct json *value)
{
	struct slice name;
	char decoded[KEY_BYTES_MAX];

	if (!json_string_plain(key, &name))
		name = decode_key(key, decoded);
	if (is_protected(name))
		return 0;
	if (slice_is(name, "in_content") && walk->content_edits && value->type == JSON_ARRAY)
		return move_place(walk, value);
	return walk_value(walk, value, name);
}

/* The depth is bounded by LIMIT_JSON_DEPTH. */
static int walk_value(struct walk *walk, const struct json *value, struct slice name)
{
	struct json_iter iter;
	struct json key, item;
	int rc = 0;

	if (value->type == JSON_STRING)
		return walk_string(walk, value, name);
	if (value->type != JSON_ARRAY && (value->type != JSON_OBJECT || is_sealed(value)))
		return 0;
	json_iter_init(&iter, value);
	while (!rc && json_iter_next(&iter, &key, &item))
		rc = value->type == JSON_OBJECT ? walk_member(walk, &key, &item)
						: walk_value(walk, &item, name);
	return rc;
}

/* ---- The record ------------------------------------------------------------------------------------------
 */

static int walk_record(struct walk *walk, const struct json *record)
{
	static const char *const ENVELOPE[] = {"seq", "role", "id", "parent", "branch", "origin", "marker",
		"tool_call_id", "ts", "crc", NULL};
	struct json_iter iter;
	struct json key, value, content;
	int rc = 0;

	if (json_get(record, "content", &content)) {
		walk->content_start = (size_t)(content.text - walk->text);
		rc = walk_value(walk, &content, (struct slice){"", 0});
		walk->content_edits = walk->count;
	}
	json_iter_init(&iter, record);
	while (!rc && json_iter_next(&iter, &key, &value))
		if (value.text != content.text &&
			!is_one_of((struct slice){key.text + 1, key.len - 2}, ENVELOPE))
			rc = walk_member(walk, &key, &value);
	return rc;
}

static int compare_edits(const void *a, const void *b)
{
	size_t x = ((const struct edit *)a)->start, y = ((const struct edit *)b)->start;
	return x < y ? -1 : x > y;
}

static void apply(const struct walk *walk, const struct json *record, struct buffer *out)
{
	size_t at = 0;

	for (size_t i = 0; i < walk->count; i++) {
		const struct edit *edit = &walk->edits[i];
		buffer_add(out, walk->text + at, edit->start - at);
		if (edit->kind)
			buffer_addf(out, "[masked: %s]", edit->kind);
		else
			buffer_add_u64(out, edit->number);
		at = edit->end;
	}
	buffer_add(out, walk->text + at, record->len - at);
}

int mask_record(const struct json *record, struct buffer *out, size_t *ret_count)
{
	struct walk walk = {
		.text = record->text, .spans = MASK_SPANS_INIT, .decoded = BUFFER_INIT(LIMIT_LINE_BYTES)};
	int rc = record->type == JSON_OBJECT ? walk_record(&walk, record) : 0;

	if (!rc) {
		if (walk.count)
			qsort(walk.edits, walk.count, sizeof(*walk.edits), compare_edits);
		apply(&walk, record, out);
		if (ret_count)
			*ret_count = walk.secrets;
	}
	mem_free(walk.edits);
	mask_spans_release(&walk.spans);
	buffer_release(&walk.decoded);
	return rc ? rc : buffer_error(out);
}
