/* SPDX-License-Identifier: MIT */
/*
 * A log's handle: opening with all ancestors, reading on, closing.
 *
 * Opening is one pass over the file. If it meets a line that says where the inherited messages are, it stops,
 * opens that base (log_base.c), and begins again with it; in logs written by bobbin that is the first line.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/scan.h"
#include "store/store_internal.h"
#include "store/token_sums.h"

/* Passes over a file until its ancestry is known: without, with what the header says, what a later line
 * corrects. */
#define LOAD_PASSES_MAX 4

int log_new(struct store *store, struct slice id, int file, enum log_mode mode, struct log **ret_log,
	struct bobbin_error *error)
{
	struct log *log = mem_alloc_zero(sizeof(*log));
	struct file_info info;

	if (!log) {
		file_close(store->platform, file);
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	log->store = store;
	log->platform = store->platform;
	log->file = file;
	log->mode = mode;
	log->read_max = UINT64_MAX;
	memcpy(log->id, id.data, id.len);
	memcpy(log->name, id.data, id.len);
	memcpy(log->name + id.len, ".jsonl", sizeof(".jsonl"));
	memcpy(log->stem, id.data, id.len);
	log->line = (struct session_line)SESSION_LINE_INIT;
	log->ancestry = (struct session_line)SESSION_LINE_INIT;
	log->unwritten = (struct session_line)SESSION_LINE_INIT;
	index_init(&log->index, NULL, 0, NODE_NONE);
	int rc = log->platform->info(log->platform->context, file, &info);
	if (rc < 0) {
		log_free(log);
		return error_set_os(error, -rc, "cannot examine %.*s.jsonl", (int)id.len, id.data);
	}
	log->device = info.device;
	log->inode = info.inode;
	log->loose = (info.mode & 077) != 0;
	*ret_log = log;
	return 0;
}

void log_free(struct log *log)
{
	while (log) {
		struct log *base = log->base;
		file_close(log->platform, log->file);
		index_release(&log->index);
		arena_release(&log->scratch);
		token_sums_free(log->token_sums);
		mem_free(log);
		log = base;
	}
}

void log_set_info(struct log *log)
{
	const struct session_line *line = &log->line, *rest = &log->unwritten;
	const struct session_line *ancestry = log->ancestry.has_parent ? &log->ancestry : line;
	int sync = line->sync != LOG_SYNC_STORE ? line->sync : rest->sync;
	uint32_t segment_bytes = line->segment_bytes ? line->segment_bytes : rest->segment_bytes;

	log->info = (struct log_info){
		.id = log->id,
		.owner = line->owner[0] ? line->owner : rest->owner,
		.title = line->title[0] ? line->title : rest->title,
		.created = line->created,
		.version = line->version,
		.segment_bytes = segment_bytes ? segment_bytes : LOG_SEGMENT_BYTES_DEFAULT,
		.sync = sync == LOG_SYNC_STORE ? log->store->sync : (enum store_sync)sync,
		.redact_on_write = line->redact_on_write || rest->redact_on_write,
		.writable = log->mode == LOG_WRITE && line->version <= LOG_VERSION && !log->sync_failed &&
			    !log->broken,
		.has_watermark = line->has_watermark || rest->has_watermark,
		.watermark = line->has_watermark ? line->watermark : rest->watermark,
		.parent_id = ancestry->parent_id,
		.base_id = ancestry->base_id,
		.through = ancestry->through,
		.forked_at = ancestry->forked_at,
		.parent_seq = ancestry->parent_seq,
		.parent_end = ancestry->parent_end,
		.parent_hash = ancestry->parent_hash,
		.parent_size = ancestry->parent_size,
		.repaired_from = line->repaired_from,
	};
}

void log_drop_pending(struct log *log)
{
	if (log->has_pending)
		index_rollback(&log->index, &log->before_pending);
	log->has_pending = false;
}

int log_read_on(struct log *log, uint64_t size, struct bobbin_error *error)
{
	struct scan scan = {log->platform, log->file, size, log_take_line, log};

	log_drop_pending(log);
	int rc = scan_lines(&scan, &log->index.state.position, error);
	if (rc < 0)
		error_prefix(error, "%s", log->name);
	return rc;
}

int log_read_unwritten(struct log *log, struct session_line *ret_said, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct meta meta;

	*ret_said = log->line;
	if (log->line.version)
		return 0;
	int rc = meta_read(log->store, log->id, &meta, &why);
	if (rc)
		return rc == BOBBIN_ENOTFOUND ? log_check_emptied(log, NULL, error) : error_set(error, rc, "%s", why.message);
	rc = log_check_emptied(log, &meta, error);
	if (rc || !meta_is_of(&meta, log->id))
		return rc;
	meta.line.id[0] = '\0';
	if (session_line_subtract(&meta.line, &log->line, &log->unwritten))
		session_line_merge(ret_said, &log->unwritten);
	return 0;
}

static void settle_unwritten(struct log *log, const struct session_line *said)
{
	struct session_line all = *said;

	session_line_merge(&all, &log->ancestry);
	log->has_unwritten = session_line_subtract(&all, &log->line, &log->unwritten);
	if (log->has_unwritten && !log->line.version)
		log->unwritten.version = LOG_VERSION;
	if (log->has_unwritten && !log->line.id[0])
		memcpy(log->unwritten.id, log->id, sizeof(log->unwritten.id));
}

/* Nothing says any more that it was a fork, but for the copy of what it inherits. 1, 0, or BOBBIN_EIO: nobody can tell. */
static int has_lost_copy(const struct log *log, struct bobbin_error *error)
{
	if (!log->salvage || !log->header_lost || log->is_copy || log->base || log->parent_lost ||
		store_lacks_copy(log->store, slice_of(log->id)))
		return 0;
	return store_has_copy(log->store, slice_of(log->id))
		       ? 1
		       : error_set(error, BOBBIN_EIO, "cannot examine what %s inherits", log->name);
}

int log_load(struct log *log, const struct log_chain *chain, struct bobbin_error *error)
{
	struct session_line said = SESSION_LINE_INIT;
	uint64_t size;
	int rc = log->raw ? 0 : log_attach_index(log, chain, error);

	for (int pass = 0; !rc && pass < LOAD_PASSES_MAX; pass++) {
		rc = log_check_file(log, &size, error);
		if (!rc && size - log->index.state.position.offset > log->read_max)
			rc = error_set(error, BOBBIN_ELIMIT, "%s: too much of it would have to be read", log->name);
		log->read_bytes = rc ? 0 : size - log->index.state.position.offset;
		log->loading = !log->raw;
		if (!rc)
			rc = log_read_on(log, size, error);
		log->loading = false;
		if (rc < 0)
			return rc;
		if (rc == SCAN_STOP)
			said = log->line;
		else if ((rc = log_read_unwritten(log, &said, error)) < 0)
			return rc;
		else if ((rc = has_lost_copy(log, error)) < 0)
			return rc;
		else if ((!said.has_parent || !said.forked_at || log->base || log->parent_lost) && rc == 0) {
			settle_unwritten(log, &said);
			log_set_info(log);
			/* Before anything is saved: what was read on under a failing index is not true. */
			rc = log_checked(log, 0, error);
			if (!rc && !log->raw)
				log_save_index(log, true);
			return rc;
		}
		if ((rc = log_begin_again(log, &said, chain, error)) < 0)
			return rc;
	}
	return rc ? rc
		  : error_set(error, BOBBIN_ECORRUPT, "%s: its lines disagree about what it was forked from",
			    log->name);
}

/* ---- Opening and closing ---------------------------------------------------------------------------------
 */

static int check_mode(const struct store *store, const struct log *log, struct bobbin_error *error)
{
	struct file_info info;

	if (log->mode != LOG_WRITE)
		return 0;
	int rc = store->platform->info(store->platform->context, log->file, &info);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", log->name);
	if (info.mode & (S_IWGRP | S_IWOTH))
		return error_set(error, BOBBIN_EREFUSED,
			"others may write to %s (mode %03o): chmod 600 it if that is not meant", log->name,
			info.mode & 0777);
	return 0;
}

static void name_copy(struct log *log, const char *name)
{
	char stem[LOG_NAME_BYTES];

	log_copy_name(log->id, stem);
	stem[strlen(stem) - strlen(".jsonl")] = '\0';
	memcpy(log->stem, stem, sizeof(stem));
	memcpy(log->name, name, strlen(name) + 1);
	log->is_copy = true;
}

/* How a log is opened. */
struct opening {
	enum log_mode mode;
	bool raw, salvage;
	const char *copy; /* the file of that name, which holds a copy of what the session inherits; NULL: its log */
	uint64_t read_max;
};

static int open_log(struct store *store, struct slice id, struct opening how, const struct log_chain *below,
	struct log **ret_log, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	struct log *log = NULL;
	int file;

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL,
			"not a session id (letters, digits, - and _, at most %d, not \"blobs\")",
			LIMIT_SESSION_ID_BYTES);
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, ".jsonl", sizeof(".jsonl"));
	if (how.copy)
		memcpy(name, how.copy, strlen(how.copy) + 1);
	int rc = file_open(store->platform, store->dir, name,
		(how.mode == LOG_WRITE ? O_RDWR : O_RDONLY) | O_APPEND, &file, NULL, error);
	if (rc == BOBBIN_ENOTFOUND)
		return error_set(
			error, rc, "there is no session %.*s in %s", (int)id.len, id.data, store->path);
	if (rc || (rc = log_new(store, id, file, how.mode, &log, error)) < 0)
		return rc;
	log->raw = how.raw;
	log->salvage = how.salvage;
	log->read_max = how.read_max;
	if (how.copy)
		name_copy(log, how.copy);
	struct log_chain chain = {log->id, below, below ? below->depth + 1 : 0};
	rc = check_mode(store, log, error);
	if (!rc)
		rc = log_load(log, &chain, error);
	if (!rc && how.mode == LOG_WRITE)
		log_note_cut(log);
	if (!rc && how.mode == LOG_WRITE && log->line.version > LOG_VERSION)
		rc = error_set(error, BOBBIN_EREADONLY,
			"%s was written by a newer version (v %llu); it can only be read", name,
			(unsigned long long)log->line.version);
	if (rc) {
		log_free(log);
		return rc;
	}
	*ret_log = log;
	return 0;
}

int log_open_below(struct store *store, struct slice id, const struct log *above,
	const struct log_chain *below, struct log **ret_log, struct bobbin_error *error)
{
	const struct opening how = {LOG_READ, above->raw, above->salvage, NULL, above->read_max};

	return open_log(store, id, how, below, ret_log, error);
}

int log_open_copy(struct store *store, const char *id, const char *name, bool raw, uint64_t read_max,
	struct log **ret_log, struct bobbin_error *error)
{
	const struct opening how = {LOG_READ, raw, false, name, read_max};

	return open_log(store, slice_of(id), how, NULL, ret_log, error);
}

int log_open(struct store *store, struct slice id, enum log_mode mode, struct log **ret_log,
	struct bobbin_error *error)
{
	return open_log(store, id, (struct opening){mode, false, false, NULL, UINT64_MAX}, NULL, ret_log, error);
}

int log_open_raw(struct store *store, struct slice id, bool salvage, struct log **ret_log,
	struct bobbin_error *error)
{
	return open_log(store, id, (struct opening){LOG_READ, true, salvage, NULL, UINT64_MAX}, NULL, ret_log, error);
}

int log_open_within(struct store *store, const char *id, uint64_t read_max, struct log **ret_log)
{
	const struct opening how = {LOG_READ, false, false, NULL, read_max};

	return open_log(store, slice_of(id), how, NULL, ret_log, NULL);
}

/* What has the name is what was opened, or it is an error; so one look tells both who it is and how long. */
int log_check_file(struct log *log, uint64_t *ret_size, struct bobbin_error *error)
{
	const struct platform *platform = log->platform;
	struct file_info info;
	int rc = platform->info_at(platform->context, log->store->dir, log->name, &info);

	if (rc == -ENOENT)
		return error_set(error, BOBBIN_ENOTFOUND, "%s was deleted", log->name);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", log->name);
	if (info.inode != log->inode || info.device != log->device) {
		log->broken = true;
		return error_set(error, BOBBIN_ECORRUPT,
			"%s is another file than the one that was opened: open it anew", log->name);
	}
	if (info.size < log->index.state.position.offset) {
		log->broken = true;
		return error_set(error, BOBBIN_ECORRUPT,
			"%s became shorter (%llu bytes, %llu were read): open it anew", log->name,
			(unsigned long long)info.size,
			(unsigned long long)log->index.state.position.offset);
	}
	*ret_size = info.size;
	return 0;
}

int log_refresh(struct log *log, struct bobbin_error *error)
{
	uint64_t size;

	if (log->broken)
		return error_set(
			error, BOBBIN_ECORRUPT, "%s is not what was read from it: open it anew", log->name);
	int rc = log_check_file(log, &size, error);
	if (rc)
		return rc;
	log_drop_pending(log);
	struct index_mark before = index_mark(&log->index);
	rc = log_read_on(log, size, error);
	if (rc == SCAN_STOP) {
		log->broken = true;
		rc = error_set(error, BOBBIN_ECORRUPT,
			"%s now says that it was forked from elsewhere: open it anew", log->name);
	}
	/* The line at which it failed may be half in. */
	rc = log_checked(log, rc, error);
	if (rc) {
		index_rollback(&log->index, &before);
		log->has_pending = false;
	}
	log_set_info(log);
	return rc;
}

int log_lock_within(struct log *log, int64_t wait_ms, struct bobbin_error *error)
{
	int rc = log->hidden ? 0 : file_lock(log->platform, log->file, wait_ms, log->name, error);

	log->locked = rc == 0;
	return rc;
}

int log_lock(struct log *log, struct bobbin_error *error)
{
	return log_lock_within(log, LIMIT_LOCK_WAIT_MS, error);
}

void log_unlock(struct log *log)
{
	log->locked = false;
	if (log->hidden) /* whoever finds it unlocked takes it for a leftover */
		return;
	log->platform->lock(log->platform->context, log->file, LOCK_UN);
}

int log_write_meta(struct log *log, struct bobbin_error *error)
{
	struct meta meta = {.line = log->line};
	char head[PATH_ID_BYTES] = "";
	uint32_t node = log_head(log);
	int rc = 0;

	session_line_merge(&meta.line, &log->unwritten);
	session_line_merge(&meta.line, &log->ancestry);
	if (node != NODE_NONE) {
		meta.messages = (uint64_t)index_node(&log->index, node).depth + 1;
		rc = log_node_id(log, node, head, error);
	}
	meta.log_bytes = log->index.state.position.offset;
	if (!rc)
		rc = meta_write(log->store, log->id, &meta, head, log->info.sync == STORE_SYNC_FULL, error);
	if (!rc)
		log->appended = false;
	return rc;
}

void log_close(struct log *log)
{
	if (log && log->hidden) {
		log_vanish(log);
		if (log->saved_bytes)
			store_discard_index(log->store, log->id);
	} else if (log && log->appended && !log->broken && log_refresh(log, NULL) == 0)
		log_write_meta(log, NULL);
	log_free(log);
}

const struct log_info *log_info(const struct log *log)
{
	return &log->info;
}

struct log_lost log_lost(const struct log *log)
{
	return (struct log_lost){log->header_lost, log->parent_lost};
}

struct log *log_base(const struct log *log)
{
	return log->base;
}
