/* SPDX-License-Identifier: MIT */
/*
 * Making a session of what can be read of a damaged one, see log_repair.h: whether that is needed, what was made before,
 * and the new log as a whole. What becomes of each record is in repair_write.c.
 */
#include "store/log_repair.h"

#include <stdio.h>
#include "base/hash.h"
#include "base/id.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/repair_write.h"
#include "store/store_internal.h"

#define HEAD_BYTES 8192
#define PIECE_BYTES 65536

/* ---- Is it needed? --------------------------------------------------------------------------------------
 */

bool log_needs_repair(struct log *log)
{
	return log->header_lost || log->parent_lost || log->base_damaged || log_fault_total(log) > 0 || log_find_cut(log);
}

/* Goes on with the CRC of the bytes from `at` to `size`. */
static int bytes_crc(const struct log *log, uint64_t at, uint64_t size, uint32_t *ret_crc, struct bobbin_error *error)
{
	char piece[PIECE_BYTES];
	uint32_t crc = *ret_crc;

	while (at < size) {
		size_t wanted = size - at < sizeof(piece) ? (size_t)(size - at) : sizeof(piece);
		ssize_t got = platform_read_full(log->platform, log->file, piece, wanted, at);
		if (got < 0)
			return error_set_os(error, (int)-got, "cannot read %s", log->name);
		if (got == 0)
			break;
		crc = crc32c(crc, piece, (size_t)got);
		at += (uint64_t)got;
	}
	*ret_crc = crc;
	return 0;
}

/* ---- What was made before --------------------------------------------------------------------------------
 */

struct seeking {
	const struct log *log;
	/* Of what is read of it, and of all that is there: a repair takes the end that is no whole line, too. */
	uint64_t bytes, whole_bytes;
	uint32_t crc, whole_crc;
	char found[LIMIT_SESSION_ID_BYTES + 1];
	int rc;
};

static bool is_made_of(const struct seeking *seeking, struct slice first_line)
{
	struct session_line line;
	struct json record;

	return json_parse(first_line.data, first_line.len, &record, NULL) == 0 &&
	       session_line_parse(&record, &line, NULL) == 0 &&
	       strcmp(line.repaired_from, seeking->log->id) == 0 &&
	       ((line.repaired_bytes == seeking->bytes && line.repaired_crc == seeking->crc) ||
		       (line.repaired_bytes == seeking->whole_bytes && line.repaired_crc == seeking->whole_crc));
}

static bool look_at(void *data, const char *name)
{
	struct seeking *seeking = data;
	const struct store *store = seeking->log->store;
	struct buffer head = BUFFER_INIT(HEAD_BYTES);
	size_t len = strlen(name), suffix = sizeof(".jsonl") - 1;
	bool found = false;

	if (len <= suffix || strcmp(name + len - suffix, ".jsonl") != 0 ||
		!id_is_session((struct slice){name, len - suffix}))
		return true;
	seeking->rc = file_read(store->platform, store->dir, name, HEAD_BYTES, &head, NULL);
	const char *stop = head.data ? memchr(head.data, '\n', head.len) : NULL;
	if (!seeking->rc && stop)
		found = is_made_of(seeking, (struct slice){head.data, (size_t)(stop - head.data)});
	if (found)
		memcpy(seeking->found, name, len - suffix);
	buffer_release(&head);
	if (seeking->rc != BOBBIN_ENOMEM)
		seeking->rc = 0;
	return !found && !seeking->rc;
}

int log_find_repaired(struct log *log, char ret_id[LIMIT_SESSION_ID_BYTES + 1], bool *ret_found,
	struct bobbin_error *error)
{
	struct seeking seeking = {.log = log, .bytes = log->index.state.position.offset};
	struct file_info info;
	int rc = log->platform->info(log->platform->context, log->file, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", log->name);
	rc = bytes_crc(log, 0, seeking.bytes, &seeking.crc, error);
	seeking.whole_crc = seeking.crc;
	seeking.whole_bytes = log->has_pending && info.size > seeking.bytes ? info.size : seeking.bytes;
	if (!rc)
		rc = bytes_crc(log, seeking.bytes, seeking.whole_bytes, &seeking.whole_crc, error);
	if (rc)
		return rc;
	rc = log->platform->list(log->platform->context, log->store->dir, look_at, &seeking);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot list %s", log->store->path);
	if (seeking.rc)
		return error_set(error, seeking.rc, "out of memory");
	memcpy(ret_id, seeking.found, sizeof(seeking.found));
	*ret_found = seeking.found[0] != '\0';
	return 0;
}

/* ---- Making it -------------------------------------------------------------------------------------------
 */

/* As far as it can be opened, at a moment when nobody appends: a last line that is not whole will not go on. */
static int open_source(struct store *store, struct slice id, struct log **ret_log, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store, id, LOG_READ, &log, error);

	if (rc == BOBBIN_ECORRUPT)
		rc = log_open_raw(store, id, true, &log, error);
	if (rc)
		return rc;
	rc = log_lock(log, error);
	if (!rc) {
		log->sealing = true;
		rc = log_refresh(log, error);
		log->sealing = false;
		log_unlock(log);
	}
	if (!rc && log->line.version > LOG_VERSION)
		rc = error_set(error, BOBBIN_EREADONLY,
			"%s was written by a newer version (v %llu), which alone may repair it", log->name,
			(unsigned long long)log->line.version);
	if (rc) {
		log_free(log);
		return rc;
	}
	*ret_log = log;
	return 0;
}

/* What it inherits cannot be referred to by the new one: an ancestor is damaged, or it is a copy beside this
 * log alone, whose parent was deleted. */
static bool must_copy(const struct log *log)
{
	if (log->base && log->base->is_copy)
		return true;
	for (const struct log *base = log->base; base; base = base->base)
		if (base->header_lost || base->base_damaged)
			return true;
	return log->base_damaged;
}

/* Settings as the log and its meta know them; lineage if that still holds. */
static int make_header(struct log *log, const struct log_repair *repair, struct session_line *ret_line,
	struct bobbin_error *error)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct meta meta = {.line = SESSION_LINE_INIT};
	struct session_line line, known = log->line;
	uint32_t crc = 0;
	int rc = bytes_crc(log, 0, log->index.state.position.offset, &crc, error);

	session_line_merge(&known, &log->unwritten);
	if (!rc && log->header_lost) {
		struct bobbin_error why = {0};
		rc = meta_read(log->store, log->id, &meta, &why);
		if (!rc && meta_is_of(&meta, log->id))
			session_line_merge(&known, &meta.line);
		rc = !rc || rc == BOBBIN_ENOTFOUND ? 0 : error_set(error, rc, "%s", why.message);
	}
	options.owner = slice_of(known.owner);
	options.title = slice_of(known.title);
	options.segment_bytes = known.segment_bytes;
	options.sync = known.sync;
	options.redact_on_write = known.redact_on_write;
	if (!rc)
		rc = log_create_line(log->store, &options, &line, error);
	if (rc)
		return rc;
	if (!repair->copied && !repair->detached && known.has_parent)
		session_line_merge(&line, log->ancestry.has_parent ? &log->ancestry : &known);
	line.was_bytes = 0; /* what is lost is marked at its place */
	memcpy(line.repaired_from, log->id, sizeof(line.repaired_from));
	line.repaired_bytes = log->index.state.position.offset;
	line.repaired_crc = crc;
	*ret_line = line;
	return 0;
}

uint64_t log_first_seq(const struct log *log)
{
	struct log_record record;

	for (uint32_t i = 0; i < log_record_count(log); i++)
		if (log_record(log, i, &record) == 0 && record.kind != RECORD_SESSION && record.seq)
			return record.seq;
	return 0;
}

/* Under the store's lock nobody deletes what a fork refers to until the new one refers to it, too. */
static int make_file(struct log *log, struct repair_source *source, int *ret_file, struct bobbin_error *error)
{
	struct store *store = log->store;
	const struct log_filling filling = {repair_write, source};
	int lock;
	int rc = file_open_locked(store->platform, store->dir, STORE_LOCK_NAME, LIMIT_LOCK_WAIT_MS, &lock, error);

	if (rc)
		return rc;
	rc = log_make_filled(
		store, source->header.id, &filling, log->info.sync == STORE_SYNC_FULL, ret_file, error);
	file_close(store->platform, lock);
	return rc;
}

/* The number of lines that are left out is known once all is written, and stands in the header: so it is counted first. */
static int make(struct log *log, const struct log_repair_options *options, struct log_repair *repair,
	struct bobbin_error *error)
{
	struct repair_source source = {.log = log, .options = options, .repair = repair};
	int file = -1;
	int rc = make_header(log, repair, &source.header, error);

	if (!rc)
		rc = repair_write(&source, -1, "", error);
	source.header.left_out = repair->left_out;
	for (int tries = 0; !rc && tries < 8; tries++) {
		rc = make_file(log, &source, &file, error);
		if (rc != BOBBIN_EEXIST)
			break;
		char id[ID_SESSION_NEW_BYTES];
		rc = id_new_session(log->platform, id);
		if (rc)
			return error_set(error, rc, "no random bytes for a new session id");
		memcpy(source.header.id, id, strlen(id) + 1);
	}
	file_close(log->platform, file);
	if (!rc)
		memcpy(repair->id, source.header.id, sizeof(repair->id));
	return rc;
}

int log_repair(struct store *store, struct slice id, const struct log_repair_options *options,
	struct log_repair *ret_repair, struct bobbin_error *error)
{
	struct log_repair repair = {.id = ""};
	struct log *log;
	int rc = open_source(store, id, &log, error);

	if (rc)
		return rc;
	rc = log_find_repaired(log, repair.id, &repair.found, error);
	/* A first number above 1 shows that there was something before. */
	repair.detached = log->parent_lost || (log->header_lost && !log->base && (log->emptied || log_first_seq(log) > 1));
	repair.emptied = log->emptied;
	repair.copied = must_copy(log);
	if (!rc && !repair.found)
		rc = make(log, options, &repair, error);
	log_free(log);
	if (!rc)
		*ret_repair = repair;
	return rc;
}
