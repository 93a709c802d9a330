/* SPDX-License-Identifier: MIT */
/* Documents, and values one after another; the contracts are in import_document.h. */
#include "transcript/import_document.h"

#include "transcript/import_mend.h"

int import_document(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *error)
{
	struct bobbin_error fault = {0};
	int rc = json_parse(data, len, ret_value, &fault);

	if (rc == BOBBIN_EINPUT)
		rc = import_mend(import, data, len, ret_value, &fault);
	if (rc == BOBBIN_EINPUT)
		return error_set_at(error, rc, import_line_of(data, fault.offset), fault.offset,
			"no whole record in it: %s", fault.message);
	return rc;
}

/* How much is looked at to tell lines from a document. */
#define LOOK_LINES 64
#define LOOK_BYTES (4u << 20)

/* How many whole values a line holds; 0 if it holds anything else. */
static size_t count_records(const char *line, size_t len)
{
	struct json value;
	size_t at = 0, used, values = 0;

	while (at < len && (line[at] == '{' || line[at] == '[')) {
		if (json_parse_prefix(line + at, len - at, &value, &used, NULL) < 0)
			return 0;
		at += used;
		values++;
		while (at < len && import_is_space(line[at]))
			at++;
	}
	return at == len ? values : 0;
}

bool import_has_many(const char *data, size_t len)
{
	size_t at = 0, lines = 0, records = 0, begun = 0; /* records, or what begins like one */
	struct json value;
	size_t used;

	while (at < len && (import_is_space(data[at]) || (unsigned char)data[at] >= 0x80))
		at++;
	if (at < len && json_parse_prefix(data + at, len - at, &value, &used, NULL) == 0) {
		used += at;
		while (used < len && import_is_space(data[used]))
			used++;
		if (used == len)
			return false;
	}
	/* A list over several lines, of which one may hold the last element alone. */
	const char *first = memchr(data + at, '\n', len - at);
	if (at < len && data[at] == '[' && first && !count_records(data + at, (size_t)(first - data) - at))
		return false;
	for (size_t end; at < len && at < LOOK_BYTES && lines < LOOK_LINES; at = end + 1) {
		const char *newline = memchr(data + at, '\n', len - at);
		end = newline ? (size_t)(newline - data) : len;
		size_t from = at;
		while (from < end && (import_is_space(data[from]) || !data[from]))
			from++;
		lines += from < end;
		size_t values = from < end && from == at ? count_records(data + at, end - at) : 0;
		records += values > 0;
		begun += values ? values : from < end && (data[from] == '{' || data[from] == '[');
	}
	/* A single record with words behind it is a document, if that is all of the file. */
	return records && (begun > 1 || at < len) && records * 2 >= lines;
}

int import_values(struct import *import, const char *data, size_t len,
	int (*each)(void *reader, const struct json *value, struct place place), void *reader,
	struct bobbin_error *error)
{
	struct import_lines lines;
	struct json value;
	struct place place = {0, 0};
	int rc;

	if (!import_has_many(data, len)) {
		rc = import_document(import, data, len, &value, error);
		return rc ? rc : each(reader, &value, place);
	}
	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &value, &place)) > 0)
		if ((rc = each(reader, &value, place)) < 0)
			return rc;
	return rc;
}

struct place import_document_place(const char *data, size_t len, const struct json *value)
{
	if (value->text < data || value->text >= data + len)
		return (struct place){0, 0};
	return (struct place){0, (uint64_t)(value->text - data)};
}
