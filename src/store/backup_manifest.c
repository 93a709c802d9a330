/* SPDX-License-Identifier: MIT */
/*
 * What a backup copied, so that the next one copies only what came since.
 *
 *	{"type":"backup","v":1,"ts":"2026-11-30T04:00:00Z"}
 *	{"file":"main.jsonl","bytes":5120,"crc":599000385,"device":2049,"inode":1234}
 */
#include <stdlib.h>
#include "base/json.h"
#include "store/backup_copy.h"
#include "store/file.h"

#define MANIFEST_BYTES_MAX (256u << 20) /* a million sessions */

static bool get_number(const struct json *object, const char *key, uint64_t *ret_number)
{
	struct json value;
	int64_t number;

	if (!json_get(object, key, &value) || !json_int64(&value, &number))
		return false;
	*ret_number = (uint64_t)number;
	return true;
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
		if (parse_line(line, arena, &manifest->items[manifest->count]))
			manifest->count++;
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
	struct manifest manifest = {NULL, 0, false};
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

int manifest_write(const struct store *target, const struct copied *items, size_t count, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(MANIFEST_BYTES_MAX);
	char now[TIME_TEXT_BYTES];

	time_text(target->platform->realtime_ns(target->platform->context), now);
	buffer_addf(&text, "{\"type\":\"backup\",\"v\":1,\"ts\":\"%s\"}\n", now);
	for (size_t i = 0; i < count; i++)
		buffer_addf(&text, "{\"file\":\"%s\",\"bytes\":%llu,\"crc\":%u,\"device\":%llu,\"inode\":%llu}\n",
			items[i].name, (unsigned long long)items[i].bytes, items[i].crc,
			(unsigned long long)items[i].device, (unsigned long long)items[i].inode);
	int rc = buffer_error(&text);
	rc = rc ? error_set(error, rc, "out of memory")
		: file_replace(target->platform, target->dir, MANIFEST_NAME, buffer_slice(&text), true, error);
	buffer_release(&text);
	return rc;
}
