/* SPDX-License-Identifier: MIT */
/* What is read a second time, because it is known only at the end where it belongs; the contracts are in import_tools.h. */
#include "base/alloc.h"
#include "transcript/import_tools.h"

static int has_changed(struct import *import)
{
	return error_set(&import->sink_error, BOBBIN_EINPUT, "the file changed while it was read");
}

int import_bytes_again(struct import *import, uint64_t offset, size_t len, struct buffer *into, struct slice *ret_bytes)
{
	const struct import_source *source = import->source;
	size_t done = 0;

	buffer_clear(into);
	char *room = buffer_reserve(into, len);
	while (room && done < len) {
		ssize_t got = source->read_at(source->context, room + done, len - done, offset + done);
		if (got < 0)
			return error_set(&import->sink_error, (int)got, "the file cannot be read");
		if (got == 0)
			return has_changed(import);
		done += (size_t)got;
	}
	*ret_bytes = (struct slice){room, len};
	return room ? 0 : BOBBIN_ENOMEM;
}

struct kept_value import_keep_value(
	const struct import *import, const struct json *value, const struct json *whole, struct place place)
{
	return (struct kept_value){.text = import->source ? NULL : value->text,
		.offset = import->source ? place.offset + (uint64_t)(value->text - whole->text) : 0,
		.len = (uint32_t)value->len,
		.type = value->type};
}

int import_value_again(
	struct import *import, const struct kept_value *kept, struct buffer *into, struct json *ret_value)
{
	struct slice bytes;

	*ret_value = (struct json){kept->text, kept->len, kept->type};
	if (kept->text || kept->type == JSON_ABSENT)
		return 0;
	int rc = import_bytes_again(import, kept->offset, kept->len, into, &bytes);
	if (!rc)
		rc = json_parse(bytes.data, bytes.len, ret_value, NULL);
	return rc == BOBBIN_EINPUT ? has_changed(import) : rc;
}
