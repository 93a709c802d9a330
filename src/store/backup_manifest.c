/* SPDX-License-Identifier: MIT */
/*
 * What a backup copied, so that the next one copies only what came since.
 *
 *	{"type":"backup","v":1,"ts":"2026-11-30T04:00:00Z","complete":true,"store":"/srv/shop/.sessions","device":2049,"inode":17,"born":1764475200000000000}
 *	{"file":"main.jsonl","bytes":5120,"crc":599000385,"device":2049,"inode":1234}
 */
#include <stdlib.h>
#include "base/json.h"
#include "store/backup_copy.h"
#include "store/file.h"

#define MANIFEST_BYTES_MAX (256u << 20) /* a million sessions */

/* Inodes and devices of some file systems have all 64 bits. */
static bool get_number(const struct json *object, const char *key, uint64_t *ret_number)
{
	struct json value;
	uint64_t number = 0;

	if (!json_get(object, key, &value) || value.type != JSON_NUMBER)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		char digit = value.text[i];
		if (digit < '0' || digit > '9' || __builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(digit - '0'), &number))
			return false;
	}
	*ret_number = number;
	return true;
}

/* What the first line says; members that are not there, or odd, are not known. */
static int parse_first(struct slice line, struct arena *arena, struct manifest *manifest)
{
	struct backup_owner *owner = &manifest->owner;
	struct json object, value;
	uint64_t born = 0;

	if (json_parse(line.data, line.len, &object, NULL) < 0 || object.type != JSON_OBJECT)
		return 0;
	manifest->complete = json_get(&object, "complete", &value) && value.type == JSON_TRUE;
	if (!json_get(&object, "store", &value) || value.type != JSON_STRING ||
		!get_number(&object, "device", &owner->device) || !get_number(&object, "inode", &owner->inode))
		return 0;
	struct slice path = json_string_content(&value, arena);
	owner->path = path.data ? arena_copy(arena, path.data, path.len) : NULL;
	if (!owner->path)
		return BOBBIN_ENOMEM;
	if (get_number(&object, "born", &born) && born <= INT64_MAX)
		owner->born_ns = (int64_t)born;
	owner->known = true;
	return 0;
}

/* False for a line that says nothing of a file. */
static bool parse_line(struct slice line, struct arena *arena, struct copied *ret_copied)
{
	struct json object, file;
	struct slice name;
	uint64_t crc;

	if (json_parse(line.data, line.len, &object, NULL) < 0 || !json_get(&object, "file", &file) ||
		file.type != JSON_STRING || !get_number(&object, "bytes", &ret_copied->bytes) ||
		!get_number(&object, "crc", &crc) || !get_number(&object, "device", &ret_copied->device) ||
		!get_number(&object, "inode", &ret_copied->inode))
		return false;
	name = json_string_content(&file, arena);
	ret_copied->crc = (uint32_t)crc;
	ret_copied->name = name.data ? arena_copy(arena, name.data, name.len) : NULL;
	return ret_copied->name != NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct copied *)a)->name, ((const struct copied *)b)->name);
}

static int parse(const struct buffer *text, struct arena *arena, struct manifest *manifest)
{
	const char *at = text->data ? text->data : "", *end = at + text->len;
	size_t lines = 1;

	for (const char *line = at; line < end; line++)
		lines += *line == '\n';
	manifest->items = arena_alloc(arena, lines * sizeof(*manifest->items));
	if (!manifest->items)
		return BOBBIN_ENOMEM;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((stop ? stop : end) - at)};
		if (line.data == text->data) {
			if (parse_first(line, arena, manifest))
				return BOBBIN_ENOMEM;
		} else if (parse_line(line, arena, &manifest->items[manifest->count])) {
			manifest->count++;
		}
		at += line.len + 1;
	}
	if (manifest->count)
		qsort(manifest->items, manifest->count, sizeof(*manifest->items), by_name);
	return 0;
}

int manifest_read(
	const struct store *target, struct arena *arena, struct manifest *ret_manifest, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(MANIFEST_BYTES_MAX);
	struct manifest manifest = {.items = NULL};
	int rc = file_read(target->platform, target->dir, MANIFEST_NAME, MANIFEST_BYTES_MAX, &text, error);

	if (rc == BOBBIN_ENOTFOUND) {
		rc = 0;
	} else if (!rc) {
		manifest.there = true;
		rc = parse(&text, arena, &manifest);
		if (rc)
			error_set(error, rc, "out of memory");
	}
	buffer_release(&text);
	if (!rc)
		*ret_manifest = manifest;
	return rc;
}

const struct copied *manifest_find(const struct manifest *manifest, const char *name)
{
	const struct copied wanted = {.name = name};

	return manifest->count
		       ? bsearch(&wanted, manifest->items, manifest->count, sizeof(wanted), by_name)
		       : NULL;
}

static void add_first(struct buffer *text, const struct store *target, const struct manifest *manifest)
{
	const struct backup_owner *owner = &manifest->owner;
	struct json_writer writer;
	char now[TIME_TEXT_BYTES];

	time_text(target->platform->realtime_ns(target->platform->context), now);
	json_writer_init(&writer, text);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "backup");
	json_member_uint(&writer, "v", 1);
	json_member_text(&writer, "ts", now);
	json_member_bool(&writer, "complete", manifest->complete);
	if (owner->known) {
		json_member_text(&writer, "store", owner->path);
		json_member_uint(&writer, "device", owner->device);
		json_member_uint(&writer, "inode", owner->inode);
		json_member_uint(&writer, "born", owner->born_ns > 0 ? (uint64_t)owner->born_ns : 0);
	}
	json_end_object(&writer);
	buffer_add_char(text, '\n');
}

int manifest_write(const struct store *target, const struct manifest *manifest, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(MANIFEST_BYTES_MAX);

	add_first(&text, target, manifest);
	for (size_t i = 0; i < manifest->count; i++) {
		const struct copied *item = &manifest->items[i];
		buffer_addf(&text, "{\"file\":\"%s\",\"bytes\":%llu,\"crc\":%u,\"device\":%llu,\"inode\":%llu}\n",
			item->name, (unsigned long long)item->bytes, item->crc, (unsigned long long)item->device,
			(unsigned long long)item->inode);
	}
	int rc = buffer_error(&text);
	rc = rc ? error_set(error, rc, "out of memory")
		: file_replace(target->platform, target->dir, MANIFEST_NAME, buffer_slice(&text), true, error);
	buffer_release(&text);
	return rc;
}
