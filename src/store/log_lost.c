/* SPDX-License-Identifier: MIT */
/*
 * What a log once held and does not hold any more, as far as the files beside it can tell: meta.json counts the bytes the log
 * had, and so does the index file. Both are caches and may be behind; ahead of the log they are only if something is lost.
 */
#include "store/log_internal.h"

#include <stdio.h>
#include "store/file.h"
#include "store/index_file.h"
#include "store/meta.h"

/* The size of the file now. Whoever counted its bytes did so before: so what is missing now was lost, not added since. */
static int size_now(const struct log *log, uint64_t *ret_size, struct bobbin_error *error)
{
	struct file_info info;
	int rc = log->platform->info(log->platform->context, log->file, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", log->name);
	*ret_size = info.size;
	return 0;
}

/* The bytes of this very file that its index file covers; 0: it has none. */
static uint64_t bytes_indexed(const struct log *log)
{
	struct index_file *file = log_open_index(log);
	uint64_t bytes = 0;

	if (!file)
		return 0;
	const struct index_trailer *trailer = index_file_trailer(file);
	if (strncmp(trailer->id, log->id, sizeof(trailer->id)) == 0 && trailer->device == log->device &&
		trailer->inode == log->inode)
		bytes = trailer->state.position.offset;
	index_file_close(file);
	return bytes;
}

static int say_emptied(const struct log *log, const char *witness, uint64_t bytes, const char *counted, uint64_t size,
	struct bobbin_error *error)
{
	return error_set_at(error, BOBBIN_ECORRUPT, 1, 0,
		"%s %s, but it had %llu bytes%s when %s was written: what it held is lost. Put it back from a backup; without "
		"one, `bobbin doctor %s` says what is left, and `bobbin delete %s` gives the name free",
		log->name, size ? "holds no record" : "is empty", (unsigned long long)bytes, counted, witness, log->id, log->id);
}

int log_check_emptied(struct log *log, const struct meta *meta, struct bobbin_error *error)
{
	char witness[LOG_NAME_BYTES + 16], counted[48] = "";
	uint64_t size = 0, bytes = meta && meta_is_of(meta, log->id) ? meta->log_bytes : 0;

	if (log->is_copy || log->header_lost || log_record_count(log))
		return 0;
	snprintf(witness, sizeof(witness), "%s.meta.json", log->id);
	if (bytes && meta->has_messages)
		snprintf(counted, sizeof(counted), ", %llu message%s", (unsigned long long)meta->messages,
			meta->messages == 1 ? "" : "s");
	else if (!bytes && (bytes = bytes_indexed(log)))
		snprintf(witness, sizeof(witness), ".cache/%s.index", log->id);
	if (!bytes)
		return 0;
	int rc = size_now(log, &size, error);
	/* At its old length, too, if nothing that was written into it can be read. */
	bool said_more = meta && (meta->messages || meta->line.created[0]);
	if (rc || (size >= bytes && (size != log->index.state.position.offset || !said_more)))
		return rc;
	if (!log->salvage)
		return say_emptied(log, witness, bytes, counted, size, error);
	log->header_lost = log->emptied = true;
	log->emptied_messages = meta ? meta->messages : 0;
	return 0;
}

uint64_t log_find_cut(struct log *log)
{
	struct meta meta = {.line = SESSION_LINE_INIT};
	uint64_t size = 0;
	uint32_t node;

	if (log->is_copy || log->hidden || log->header_lost || meta_read(log->store, log->id, &meta, NULL) < 0 ||
		!meta_is_of(&meta, log->id) || meta.log_bytes <= log->index.state.position.offset ||
		meta.log_bytes == log->line.was_bytes || size_now(log, &size, NULL) < 0 || size >= meta.log_bytes)
		return 0;
	/* While its last message is there, the bytes are missing somewhere before, where something was changed. */
	return meta.head[0] && log_find(log, slice_of(meta.head), &node, NULL) == BOBBIN_ENOTFOUND ? meta.log_bytes : 0;
}

void log_note_cut(struct log *log)
{
	log->unwritten.was_bytes = log_find_cut(log);
	log->has_unwritten |= log->unwritten.was_bytes != 0;
}

void log_forget_cut(struct log *log)
{
	struct session_line rest = log->unwritten;

	if (!rest.was_bytes || rest.was_bytes != log->line.was_bytes)
		return;
	rest.was_bytes = 0;
	log->has_unwritten = session_line_subtract(&rest, &log->line, &log->unwritten);
}

int log_enter_cut(struct log *log, uint64_t was, uint64_t line, uint64_t offset)
{
	return was > offset ? index_add_fault(&log->index, FAULT_CUT, line, offset, was - offset, true) : 0;
}
