/* SPDX-License-Identifier: MIT */
/*
 * New logs. A log appears under its name with its whole header or not at all: it is written under a temporary
 * name, synced, linked to its own (which fails if that is taken), and the folder is synced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include "base/id.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/record.h"
#include "store/store_internal.h"

#define NEW_ID_TRIES 8	    /* 50 random bits a try */
#define TEMPORARY_TRIES 100 /* each one lost means that somebody else got on */

static int fill_and_link(struct store *store, int file, const char *temporary, const char *name,
	const struct log_filling *filling, bool durable, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	int rc = filling->fill(filling->data, file, temporary, error);

	if (rc)
		return rc;
	if (durable && (rc = platform->sync_data(platform->context, file)) < 0)
		return error_set_os(error, -rc, "cannot sync %s", temporary);
	rc = platform->link_at(platform->context, store->dir, temporary, name);
	if (rc == -EEXIST)
		return error_set(error, BOBBIN_EEXIST, "%s exists already", name);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot make %s", name);
	if (durable && (rc = platform->sync(platform->context, store->dir)) < 0) {
		platform->unlink_at(platform->context, store->dir, name, 0);
		return error_set_os(error, -rc, "cannot sync the folder of %s", name);
	}
	return 0;
}

/* A new temporary file. What a crash left under its name may be a second name of a log that is in use, or
 * was: a handle to that one would take the new log for its own. So nothing that ever had content is written
 * into. */
static int open_temporary(struct store *store, const char *name, int *ret_file, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;

	for (int tries = 0; tries < TEMPORARY_TRIES; tries++) {
		struct file_info info;
		int file = -1;
		int rc = file_open_locked(platform, store->dir, name, LIMIT_LOCK_WAIT_MS, &file, error);
		if (rc)
			return rc;
		if ((rc = platform->info(platform->context, file, &info)) == 0 && info.size == 0 &&
			info.links == 1) {
			*ret_file = file;
			return 0;
		}
		if (!rc)
			rc = platform->unlink_at(platform->context, store->dir, name, 0);
		file_close(platform, file);
		if (rc < 0)
			return error_set_os(error, -rc, "cannot take over %s", name);
	}
	return error_set(error, BOBBIN_EBUSY, "%s is being made by other processes all the time", name);
}

/* .ID.jsonl.tmp, and ID.jsonl */
static void name_files(const char *id, char ret_temporary[LOG_NAME_BYTES], char ret_name[LOG_NAME_BYTES])
{
	snprintf(ret_temporary, LOG_NAME_BYTES, ".%.*s.jsonl.tmp", LIMIT_SESSION_ID_BYTES, id);
	snprintf(ret_name, LOG_NAME_BYTES, "%.*s.jsonl", LIMIT_SESSION_ID_BYTES, id);
}

int log_make_filled(struct store *store, const char *id, const struct log_filling *filling, bool durable,
	int *ret_file, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	char name[LOG_NAME_BYTES], temporary[LOG_NAME_BYTES];
	int file = -1;

	name_files(id, temporary, name);
	int rc = open_temporary(store, temporary, &file, error);
	if (rc)
		return rc;
	rc = fill_and_link(store, file, temporary, name, filling, durable, error);
	platform->unlink_at(platform->context, store->dir, temporary, 0);
	if (rc) {
		file_close(platform, file);
		return rc;
	}
	platform->lock(platform->context, file, LOCK_UN);
	*ret_file = file;
	return 0;
}

struct first_line {
	const struct platform *platform;
	struct slice line;
};

static int write_first_line(void *data, int file, const char *name, struct bobbin_error *error)
{
	const struct first_line *first = data;
	size_t written;

	return file_write(first->platform, file, first->line, name, &written, error);
}

int log_make_file(struct store *store, const char *id, struct slice first_line, bool durable, int *ret_file,
	struct bobbin_error *error)
{
	struct first_line first = {store->platform, first_line};
	const struct log_filling filling = {write_first_line, &first};

	return log_make_filled(store, id, &filling, durable, ret_file, error);
}

static int take_text(char *into, struct slice text, size_t max, const char *what, struct bobbin_error *error)
{
	if (!header_text_is_valid(text, max))
		return error_set(error, BOBBIN_EINVAL,
			"%s must be UTF-8 of at most %zu bytes without control characters", what, max);
	if (text.len)
		memcpy(into, text.data, text.len);
	return 0;
}

int log_create_line(struct store *store, const struct log_create_options *options,
	struct session_line *ret_line, struct bobbin_error *error)
{
	struct session_line line = SESSION_LINE_INIT;
	int rc;

	if (options->id.len && !id_is_session(options->id))
		return error_set(error, BOBBIN_EINVAL,
			"not a session id (letters, digits, - and _, at most %d, not \"blobs\")",
			LIMIT_SESSION_ID_BYTES);
	if ((rc = take_text(line.owner, options->owner, LIMIT_OWNER_BYTES, "an owner", error)) < 0 ||
		(rc = take_text(line.title, options->title, LIMIT_TITLE_BYTES, "a title", error)) < 0)
		return rc;
	if (options->id.len)
		memcpy(line.id, options->id.data, options->id.len);
	else {
		char id[ID_SESSION_NEW_BYTES];
		rc = id_new_session(store->platform, id);
		if (rc)
			return error_set(error, rc, "no random bytes for a new session id");
		memcpy(line.id, id, strlen(id) + 1);
	}
	line.version = LOG_VERSION;
	line.segment_bytes = options->segment_bytes ? options->segment_bytes : LOG_SEGMENT_BYTES_DEFAULT;
	line.sync = options->sync;
	line.redact_on_write = options->redact_on_write;
	if (line.redact_on_write && header_title_redact(line.title) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_line = line;
	return 0;
}

static int first_line_of(
	struct store *store, const struct session_line *line, struct buffer *text, struct bobbin_error *error)
{
	char now[TIME_TEXT_BYTES];

	time_text(store->platform->realtime_ns(store->platform->context), now);
	session_line_add(text, line, now);
	buffer_add_char(text, '\n');
	int rc = buffer_error(text);
	return rc ? error_set(error, rc, "out of memory") : 0;
}

static int make_log(
	struct store *store, const struct session_line *line, int *ret_file, uint64_t *ret_size, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	enum store_sync sync = line->sync == LOG_SYNC_STORE ? store->sync : (enum store_sync)line->sync;
	int rc = first_line_of(store, line, &text, error);

	if (!rc)
		rc = log_make_file(store, line->id, buffer_slice(&text), sync == STORE_SYNC_FULL, ret_file, error);
	if (!rc)
		*ret_size = text.len;
	buffer_release(&text);
	return rc;
}

int log_create_with(struct store *store, struct session_line *line, bool new_id, int *ret_file,
	uint64_t *ret_size, struct bobbin_error *error)
{
	int rc = make_log(store, line, ret_file, ret_size, error);

	for (int tries = 1; rc == BOBBIN_EEXIST && new_id && tries < NEW_ID_TRIES; tries++) {
		char id[ID_SESSION_NEW_BYTES];
		if ((rc = id_new_session(store->platform, id)) < 0)
			return error_set(error, rc, "no random bytes for a new session id");
		memcpy(line->id, id, strlen(id) + 1);
		rc = make_log(store, line, ret_file, ret_size, error);
	}
	return rc;
}

int log_create(struct store *store, const struct log_create_options *options, struct log **ret_log,
	struct bobbin_error *error)
{
	static const struct log_create_options defaults = LOG_CREATE_OPTIONS_INIT;
	struct session_line line;
	struct log *log;
	uint64_t size;
	int file;

	if (!options)
		options = &defaults;
	int rc = log_create_line(store, options, &line, error);
	if (rc || (rc = log_create_with(store, &line, options->id.len == 0, &file, &size, error)) < 0 ||
		(rc = log_new(store, slice_of(line.id), file, LOG_WRITE, &log, error)) < 0)
		return rc;
	struct log_chain chain = {log->id, NULL, 0};
	if ((rc = log_load(log, &chain, error)) < 0) {
		log_free(log);
		return rc;
	}
	/* A cache: the session is there whether or not this works. */
	log_write_meta(log, NULL);
	*ret_log = log;
	return 0;
}

/* ---- Hidden until it is whole ----------------------------------------------------------------------------
 */

static int write_hidden(
	struct store *store, const struct session_line *line, const char *name, int file, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	size_t written;
	int rc = first_line_of(store, line, &text, error);

	if (!rc)
		rc = file_write(store->platform, file, buffer_slice(&text), name, &written, error);
	buffer_release(&text);
	return rc;
}

int log_create_hidden(struct store *store, const struct log_create_options *options, struct log **ret_log,
	struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES], temporary[LOG_NAME_BYTES];
	struct session_line line;
	struct log *log;
	int file = -1;
	int rc = log_create_line(store, options, &line, error);

	if (rc)
		return rc;
	name_files(line.id, temporary, name);
	if (store_has(store, slice_of(line.id)))
		return error_set(error, BOBBIN_EEXIST, "%s exists already", name);
	if ((rc = open_temporary(store, temporary, &file, error)) < 0)
		return rc;
	rc = write_hidden(store, &line, temporary, file, error);
	if (rc) {
		store->platform->unlink_at(store->platform->context, store->dir, temporary, 0);
		file_close(store->platform, file);
		return rc;
	}
	if ((rc = log_new(store, slice_of(line.id), file, LOG_WRITE, &log, error)) < 0) {
		store->platform->unlink_at(store->platform->context, store->dir, temporary, 0);
		return rc;
	}
	log->hidden = log->raw = true;
	memcpy(log->name, temporary, sizeof(temporary));
	struct log_chain chain = {log->id, NULL, 0};
	if ((rc = log_load(log, &chain, error)) < 0)
		log_vanish(log), log_free(log);
	else
		*ret_log = log;
	return rc;
}

void log_vanish(struct log *log)
{
	log->platform->unlink_at(log->platform->context, log->store->dir, log->name, 0);
}

int log_appear(struct log *log, struct bobbin_error *error)
{
	const struct platform *platform = log->platform;
	char name[LOG_NAME_BYTES], temporary[LOG_NAME_BYTES];
	bool durable = log->info.sync == STORE_SYNC_FULL;

	name_files(log->id, temporary, name);
	int rc = durable ? platform->sync_data(platform->context, log->file) : 0;
	if (rc < 0)
		return error_set_os(error, -rc, "cannot sync %s", temporary);
	rc = platform->link_at(platform->context, log->store->dir, temporary, name);
	if (rc < 0)
		return rc == -EEXIST ? error_set(error, BOBBIN_EEXIST, "%s exists already", name)
				     : error_set_os(error, -rc, "cannot make %s", name);
	if (durable && (rc = platform->sync(platform->context, log->store->dir)) < 0) {
		platform->unlink_at(platform->context, log->store->dir, name, 0);
		return error_set_os(error, -rc, "cannot sync the folder of %s", name);
	}
	log_vanish(log);
	memcpy(log->name, name, sizeof(name));
	log->hidden = log->raw = false;
	log_unlock(log);
	log_save_index(log, false);
	log_write_meta(log, NULL);
	return 0;
}
