/* SPDX-License-Identifier: MIT */
/*
 * Records of one kind out of a log's own file, without opening what it inherits and without an index: one pass over
 * the bytes that parses only lines which can be such a record. What is damaged is passed over, as a log does: of a
 * line that cannot be read the whole records before the damage count.
 */
#include <fcntl.h>
#include "store/file.h"
#include "store/log_internal.h"
#include "store/record.h"
#include "store/scan.h"
#include "store/store_internal.h"

/* A longer line is looked into only if it does not begin as a message: they are the long ones. */
#define SHORT_LINE_BYTES 4096
#define BEGINNING_BYTES 256

static bool contains(const char *data, size_t len, const char *text)
{
	return memmem(data, len, text, strlen(text)) != NULL;
}

static bool may_be_wanted(const struct store_taking *wanted, const struct scan_line *line)
{
	size_t len = (size_t)line->length;

	if (line->offset == 0)
		return true; /* the header */
	if (len > SHORT_LINE_BYTES && contains(line->data, BEGINNING_BYTES, "\"role\""))
		return false;
	return contains(line->data, len, wanted->word);
}

static int take_line(void *data, const struct scan_line *line, struct bobbin_error *error)
{
	const struct store_taking *wanted = data;
	struct json value;
	enum record_kind kind;
	size_t used, at = 0;
	int rc = 0;

	if (!line->data || !may_be_wanted(wanted, line))
		return 0;
	while (!rc && at < line->length &&
		json_parse_prefix(line->data + at, line->length - at, &value, &used, NULL) == 0) {
		uint64_t offset = line->offset + (uint64_t)(value.text - line->data);
		if (record_kind_of(&value, &kind) && (kind == wanted->kind || kind == RECORD_SESSION))
			rc = wanted->take(wanted->data, kind, &value, offset, error);
		at += used;
	}
	return rc;
}

int store_take_records(
	struct store *store, struct slice id, const struct store_taking *wanted, struct bobbin_error *error)
{
	struct index_position position = {.line = 1};
	struct file_info info;
	char name[LOG_NAME_BYTES];
	int file;

	memcpy(name, id.data, id.len);
	memcpy(name + id.len, STORE_LOG_SUFFIX, sizeof(STORE_LOG_SUFFIX));
	if (wanted->copy)
		memcpy(name + id.len, ".base.jsonl", sizeof(".base.jsonl"));
	int rc = file_open(store->platform, store->dir, name, O_RDONLY, &file, &info, error);
	if (rc)
		return rc;
	struct scan scan = {store->platform, file, info.size, take_line, (void *)wanted};
	rc = scan_lines(&scan, &position, error);
	file_close(store->platform, file);
	return rc;
}
