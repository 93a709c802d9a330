/* SPDX-License-Identifier: MIT */
#include "transcript/import_both.h"

#include <string.h>
#include "transcript/import_document.h"

#define TOLD_BYTES (256u << 20)

bool import_reads_alike(const char *data, size_t len, const struct import_pieces *pieces)
{
	size_t mark = len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	size_t head = pieces->head_bytes < len ? pieces->head_bytes : len;

	return head < mark || import_has_many(data + mark, len - mark) == import_has_many(data + mark, head - mark);
}

struct bytes {
	const char *data;
	size_t len;
};

static ssize_t read_bytes(void *context, void *data, size_t len, uint64_t offset)
{
	const struct bytes *bytes = context;
	size_t rest = offset < bytes->len ? bytes->len - (size_t)offset : 0;

	if (len > rest)
		len = rest;
	if (len)
		memcpy(data, bytes->data + offset, len);
	return (ssize_t)len;
}

static int spill_add(void *context, struct slice bytes, uint64_t *ret_offset)
{
	struct buffer *spill = context;

	*ret_offset = spill->len;
	buffer_add_slice(spill, bytes);
	return buffer_error(spill) ? BOBBIN_ENOMEM : 0;
}

static int spill_read(void *context, void *data, size_t len, uint64_t offset)
{
	const struct buffer *spill = context;

	if (offset > spill->len || len > spill->len - offset)
		return BOBBIN_EIO;
	if (len)
		memcpy(data, spill->data + offset, len);
	return 0;
}

static void tell_text(struct buffer *out, const char *name, struct slice text)
{
	buffer_addf(out, "%s %zu ", name, text.data ? text.len : 0);
	if (text.data)
		buffer_add_slice(out, text);
	buffer_add_char(out, '\n');
}

static int tell_begin(void *context, const struct import_conversation *conversation, struct bobbin_error *error)
{
	struct buffer *out = context;
	(void)error;
	tell_text(out, "conversation", conversation->foreign_id);
	tell_text(out, "title", conversation->title);
	return 0;
}

static int tell_record(void *context, struct slice record, struct bobbin_error *error)
{
	(void)error;
	tell_text(context, "record", record);
	return 0;
}

static int tell_end(void *context, const struct import_conversation *conversation, struct bobbin_error *error)
{
	(void)error;
	buffer_addf(context, "messages %llu, calls %llu, results %llu, head %zd\n",
		(unsigned long long)conversation->messages, (unsigned long long)conversation->calls,
		(unsigned long long)conversation->results, (ssize_t)conversation->head);
	return 0;
}

static int tell_rest(struct buffer *out, int rc, const struct import *import, const struct bobbin_error *error)
{
	if (rc) {
		buffer_clear(out); /* of a failed import nothing is kept */
		buffer_addf(out, "error %d, line %llu, offset %llu: %s\n", rc, (unsigned long long)error->line,
			(unsigned long long)error->offset, error->message);
	}
	buffer_addf(out, "format %s, remarks %llu\n", import->format ? import->format : "-",
		(unsigned long long)import->warnings_total);
	for (size_t i = 0; i < import->warning_count; i++)
		buffer_addf(out, "%s, line %llu, offset %llu: %s\n", import->warnings[i].remark ? "remark" : "fault",
			(unsigned long long)import->warnings[i].line, (unsigned long long)import->warnings[i].offset,
			import->warnings[i].message);
	return buffer_error(out) ? -1 : 0;
}

int import_tell_whole(const char *format, const char *data, size_t len, struct buffer *out)
{
	struct bobbin_error error = {0};
	struct import import;
	int rc = import_read(format, data, len, &import, &error);

	buffer_clear(out);
	for (size_t i = 0; rc == 0 && i < import.conversation_count; i++) {
		const struct import_conversation *conversation = &import.conversations[i];
		tell_begin(out, conversation, NULL);
		for (size_t k = 0; k < conversation->record_count; k++)
			tell_record(out, conversation->records[k], NULL);
		tell_end(out, conversation, NULL);
	}
	rc = tell_rest(out, rc, &import, &error);
	import_release(&import);
	return rc;
}

int import_tell_pieces(
	const char *format, const char *data, size_t len, const struct import_pieces *pieces, struct buffer *out)
{
	struct bytes bytes = {data, len};
	struct buffer waiting = BUFFER_INIT(TOLD_BYTES);
	const struct import_source source = {.context = &bytes,
		.size = len,
		.read_at = read_bytes,
		.head_bytes = pieces->head_bytes,
		.piece_bytes = pieces->piece_bytes};
	const struct import_sink sink = {out, tell_begin, tell_record, tell_end};
	const struct import_spill spill = {&waiting, spill_add, spill_read};
	struct bobbin_error error = {0};
	struct import import;

	buffer_clear(out);
	int rc = import_read_from(format, &source, &sink, pieces->spill ? &spill : NULL, &import, &error);
	rc = tell_rest(out, rc, &import, &error);
	import_release(&import);
	buffer_release(&waiting);
	return rc;
}
