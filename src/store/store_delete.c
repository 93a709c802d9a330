/* SPDX-License-Identifier: MIT */
/*
 * Deleting sessions, which must know who refers to whom: from the headers of all logs, not from caches, and under
 * the store's lock, which whoever makes a fork holds as well.
 *
 * To delete a session that others were forked from, each of them is given a copy of what it inherits first
 * (log_materialize.c). In this order, so that whatever crash there is in between, every session can be read:
 *
 *	lock the store, the turn, the log → copies, each synced → sync the folder → unlink the log → the rest → sync
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/blob.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/store_internal.h"

static int sync_folder(struct store *store, struct bobbin_error *error)
{
	int os = store->platform->sync(store->platform->context, store->dir);
	return os < 0 ? error_set_os(error, -os, "cannot sync %s", store->path) : 0;
}

/* Whether what is left of a log that cannot be opened names `id`: its meta, or the bytes of its first line.
 */
static int remains_name(struct store *store, const struct store_found *found, const char *id, bool *ret_names)
{
	struct meta meta = {.line = SESSION_LINE_INIT};
	struct buffer head = BUFFER_INIT(STORE_HEAD_BYTES), name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = meta_read(store, found->id, &meta, NULL);

	*ret_names = rc == 0 && (strcmp(meta.line.parent_id, id) == 0 || strcmp(meta.line.base_id, id) == 0);
	buffer_addf(&name, "%s%s", found->id, STORE_LOG_SUFFIX);
	if (rc != BOBBIN_ENOMEM && !buffer_error(&name))
		rc = file_read(store->platform, store->dir, name.data, STORE_HEAD_BYTES, &head, NULL);
	if (rc == 0 && head.data) {
		const char *stop = memchr(head.data, '\n', head.len);
		buffer_truncate(&name, 0);
		buffer_addf(&name, "\"%s\"", id);
		if (!buffer_error(&name) &&
			memmem(head.data, stop ? (size_t)(stop - head.data) : head.len, name.data, name.len))
			*ret_names = true;
	}
	if (buffer_error(&name))
		rc = BOBBIN_ENOMEM;
	buffer_release(&head);
	buffer_release(&name);
	return rc == BOBBIN_ENOMEM ? rc : 0;
}

/* Whether a session refers to `id`, by what its log says. Only logs without a whole header of ours are read
 * whole; what cannot be opened then may refer to anything, and is an error that says what to do. */
static int refers_to(struct store *store, const struct store_found *found, const char *id, bool *ret_refers,
	struct bobbin_error *error)
{
	struct store_ends ends = {.line = SESSION_LINE_INIT};
	struct bobbin_error reason = {0};
	int rc = store_read_ends(store, found, &ends, &reason);

	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_EREFUSED) {
		*ret_refers = false; /* gone, or nothing that could be opened */
		return 0;
	}
	if (!rc && (!ends.has_header || ends.damaged)) {
		ends.line = (struct session_line)SESSION_LINE_INIT;
		rc = store_read_lineage(store, found, &ends.line, &reason);
	}
	*ret_refers = ends.line.has_parent &&
		      (strcmp(ends.line.parent_id, id) == 0 || strcmp(ends.line.base_id, id) == 0);
	if (rc && rc != BOBBIN_ENOMEM && remains_name(store, found, id, ret_refers) < 0)
		rc = BOBBIN_ENOMEM;
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (!rc || *ret_refers)
		return 0;
	return error_set(error, rc == BOBBIN_EIO ? rc : BOBBIN_EREFUSED,
		"session %s is kept: %s%s cannot be read and may be a fork of it; mend, delete or move away "
		"that one first (%s)",
		id, found->id, STORE_LOG_SUFFIX, reason.message);
}

/* A session that was forked from `id`: it keeps that one, unless it has a copy of what it inherits, or gets one. */
static int settle_fork(
	struct store *store, const char *fork, const char *id, bool materialize, struct bobbin_error *error)
{
	bool alone = false;
	int rc;

	if (materialize) {
		rc = log_copy_base(store, fork, error);
		if (rc)
			error_prefix(error, "session %s is kept, %s cannot stand alone", id, fork);
		return rc;
	}
	if (log_stands_alone(store, fork, &alone) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return alone ? 0 : error_set(error, BOBBIN_EREFUSED, "session %s is kept: %s was forked from it", id, fork);
}

static int settle_forks(struct store *store, const char *id, bool materialize, struct bobbin_error *error)
{
	struct store_listing listing = {.store = store};
	int rc = store_find_logs(&listing, error);

	for (size_t i = 0; !rc && i < listing.count; i++) {
		bool refers = false;
		if (strcmp(listing.found[i].id, id) == 0)
			continue;
		rc = refers_to(store, &listing.found[i], id, &refers, error);
		if (!rc && refers)
			rc = settle_fork(store, listing.found[i].id, id, materialize, error);
	}
	mem_free(listing.found);
	/* The copies' names are durable before what they replace is gone. */
	return rc || !materialize ? rc : sync_folder(store, error);
}

/* What a crash left of making the log: a second name of the log in `file`, which is locked, or half a log.
 * Whoever is making one right now has that locked, and takes it away. */
static int unlink_temporary(struct store *store, const char *id, int file, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	struct file_info info, log;
	int other = -1;

	buffer_addf(&name, ".%s.jsonl.tmp", id);
	int rc = buffer_error(&name) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
	int there = rc ? -ENOENT : platform->info_at(platform->context, store->dir, name.data, &info);
	if (there < 0 && there != -ENOENT) {
		rc = error_set_os(error, -there, "cannot examine %s", name.data);
	} else if (there == 0) {
		if (platform->info(platform->context, file, &log) < 0 || log.inode != info.inode)
			rc = file_open_locked(platform, store->dir, name.data, 0, &other, error);
		int os = rc ? 0 : platform->unlink_at(platform->context, store->dir, name.data, 0);
		if (os < 0)
			rc = error_set_os(error, -os, "cannot delete %s", name.data);
		file_close(platform, other);
	}
	buffer_release(&name);
	return rc == BOBBIN_EBUSY ? 0 : rc;
}

static const struct {
	const char *before, *after;
} BESIDE_LOG[] = {
	{"", ".meta.json"}, {".", ".meta.json.tmp"}, {"", ".memory.md"}, {"", ".base.jsonl"}, {".", ".base.jsonl.tmp"},
	{".", ".jsonl.tmp"}, {"", ".turn"}};
#define BESIDE_LOG_COUNT (sizeof(BESIDE_LOG) / sizeof(BESIDE_LOG[0]))

static int add_name(struct buffer *name, const char *before, const char *id, const char *after,
	struct bobbin_error *error)
{
	buffer_truncate(name, 0);
	buffer_addf(name, "%s%s%s", before, id, after);
	return buffer_error(name) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

static int unlink_one(struct store *store, const char *before, const char *id, const char *after,
	struct bobbin_error *error)
{
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = add_name(&name, before, id, after, error);

	if (!rc) {
		int os = store->platform->unlink_at(store->platform->context, store->dir, name.data, 0);
		if (os < 0 && os != -ENOENT)
			rc = error_set_os(error, -os, "cannot delete %s", name.data);
	}
	buffer_release(&name);
	return rc;
}

/* What stands beside a log; `file`: the log, or -1. The turn lock goes last of the files, so that a deletion
 * that was interrupted shows until it is done. */
static int unlink_beside(struct store *store, const char *id, int file, struct bobbin_error *error)
{
	int rc = 0;

	store_forget_caches(store, id);
	for (size_t i = 0; !rc && i < BESIDE_LOG_COUNT; i++)
		rc = strcmp(BESIDE_LOG[i].after, ".jsonl.tmp") == 0
			     ? unlink_temporary(store, id, file, error)
			     : unlink_one(store, BESIDE_LOG[i].before, id, BESIDE_LOG[i].after, error);
	return rc;
}

/* A folder with all that is in it. */
static int remove_folder(struct store *store, const char *before, const char *id, const char *after,
	struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = add_name(&name, before, id, after, error), folder = -1;

	if (!rc)
		folder = platform->open_at(
			platform->context, store->dir, name.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (!rc && folder < 0 && folder != -ENOENT && folder != -ENOTDIR && folder != -ELOOP)
		rc = error_set_os(error, -folder, "cannot open the folder %s to delete it", name.data);
	if (folder >= 0) {
		file_clear_folder(platform, folder, 0);
		file_close(platform, folder);
		int os = platform->unlink_at(platform->context, store->dir, name.data, AT_REMOVEDIR);
		if (os < 0 && os != -ENOENT)
			rc = error_set_os(error, -os, "cannot delete the folder %s", name.data);
	}
	buffer_release(&name);
	return rc;
}

/* The workspace: its folder, and one that was being made. Of a session that nothing was stored in only an empty one. */
static int remove_workspace(struct store *store, const char *id, bool unused, struct bobbin_error *error)
{
	if (unused) {
		store->platform->unlink_at(store->platform->context, store->dir, id, AT_REMOVEDIR);
		return 0;
	}
	int rc = remove_folder(store, "", id, "", error);
	return rc ? rc : remove_folder(store, ".", id, ".files", error);
}

/* The contents that its log, and its copy of what it inherits, name. */
static int note_blobs(struct store *store, const char *id, struct blob_names *blobs, struct bobbin_error *error)
{
	static const char *const endings[] = {".jsonl", ".base.jsonl"};
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = 0;

	for (size_t i = 0; !rc && i < 2; i++) {
		rc = add_name(&name, "", id, endings[i], error);
		if (!rc)
			rc = blob_names_of(store, name.data, blobs, error);
	}
	buffer_release(&name);
	return rc == BOBBIN_EREFUSED ? 0 : rc;
}

/* Whether something of a deleted session is there. BOBBIN_ENOMEM. */
static int has_leftovers(struct store *store, const char *id, bool *ret_has, struct bobbin_error *error)
{
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	struct file_info info;
	int rc = 0;

	*ret_has = false;
	for (size_t i = 0; !rc && !*ret_has && i < BESIDE_LOG_COUNT; i++) {
		rc = add_name(&name, BESIDE_LOG[i].before, id, BESIDE_LOG[i].after, error);
		*ret_has = !rc && store->platform->info_at(store->platform->context, store->dir, name.data,
					  &info) != -ENOENT;
	}
	buffer_release(&name);
	return rc;
}

static int check_bytes(
	struct store *store, const char *id, int file, uint64_t bytes, struct bobbin_error *error)
{
	struct file_info info;
	int os = store->platform->info(store->platform->context, file, &info);

	if (os < 0)
		return error_set_os(error, -os, "cannot examine the log of %s", id);
	return info.size == bytes ? 0 : error_set(error, BOBBIN_ECONFLICT, "session %s is in use", id);
}

struct deletion {
	const uint64_t *only_bytes; /* only if the log has so many; forks are not looked for */
	bool materialize;
	bool only_leftovers; /* only if there is no log */
	struct blob_names *blobs; /* filled in: what it named */
};

/* What else belongs to a session of a newer version is not known here. */
static int refuse_newer(struct store *store, const char *id, struct bobbin_error *error)
{
	struct store_ends ends = {.line = SESSION_LINE_INIT};
	struct store_found found = {.id = ""};
	struct bobbin_error why = {0};

	memcpy(found.id, id, strlen(id) + 1);
	int rc = store_read_ends(store, &found, &ends, &why);
	if (rc == BOBBIN_ENOMEM || rc == BOBBIN_EIO)
		return error_set(error, rc, "%s", why.message);
	/* One that says nothing can be deleted. */
	if (rc < 0 || ends.damaged || ends.line.version <= LOG_VERSION)
		return 0;
	return error_set(error, BOBBIN_EREADONLY,
		"session %s is kept: it was written by a newer version (v %llu), which alone may delete it", id,
		(unsigned long long)ends.line.version);
}

/* `id` is NUL-terminated. The log goes first: what a crash leaves behind is no session. Without a log, what
 * such a crash left is taken away. */
static int delete_locked(
	struct store *store, const char *id, const struct deletion *how, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	int file = -1;
	size_t len = strlen(id);

	memcpy(name, id, len);
	memcpy(name + len, STORE_LOG_SUFFIX, sizeof(STORE_LOG_SUFFIX));
	int rc = file_open(store->platform, store->dir, name, O_RDONLY, &file, NULL, error);
	bool gone = rc == BOBBIN_ENOTFOUND;
	if (!rc && how->only_leftovers)
		rc = error_set(error, BOBBIN_ECONFLICT, "session %s is there", id);
	if (!rc) {
		rc = file_lock(store->platform, file, LIMIT_LOCK_WAIT_MS, id, error);
		if (!rc)
			rc = how->only_bytes ? check_bytes(store, id, file, *how->only_bytes, error)
					     : refuse_newer(store, id, error);
		if (!rc && !how->only_bytes)
			rc = settle_forks(store, id, how->materialize, error);
		if (!rc && !how->only_bytes)
			rc = note_blobs(store, id, how->blobs, error);
		if (!rc)
			rc = unlink_one(store, "", id, STORE_LOG_SUFFIX, error);
	}
	if (!rc || gone)
		rc = unlink_beside(store, id, file, error);
	if (!rc)
		rc = remove_workspace(store, id, how->only_bytes != NULL, error);
	if (!rc)
		rc = sync_folder(store, error);
	file_close(store->platform, file);
	return rc;
}

static int delete_session(
	struct store *store, struct slice id, const struct deletion *how, struct bobbin_error *error)
{
	struct turn_lock *turn;
	struct file_info info;
	char name[LOG_NAME_BYTES];
	bool there;
	int lock;

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, STORE_LOG_SUFFIX, sizeof(STORE_LOG_SUFFIX));
	int rc = store->platform->info_at(store->platform->context, store->dir, name, &info);
	if (rc < 0 && rc != -ENOENT)
		return error_set_os(error, -rc, "cannot examine %s", name);
	there = rc == 0;
	name[id.len] = '\0';
	if (!there && (rc = has_leftovers(store, name, &there, error)) < 0)
		return rc;
	if (!there)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no session %s in %s", name, store->path);
	rc = file_open_locked(store->platform, store->dir, STORE_LOCK_NAME, LIMIT_LOCK_WAIT_MS, &lock, error);
	if (rc)
		return rc;
	rc = store_turn_lock(store, id, 0, &turn, error);
	if (!rc) {
		rc = delete_locked(store, name, how, error);
		store_turn_unlock(turn);
		/* The log is gone, durably. If this fails, contents that nobody names stay: doctor takes them away. */
		if (!rc)
			blob_sweep(store, how->blobs, true, NULL, NULL);
	}
	file_close(store->platform, lock);
	return rc;
}

static int delete_how(struct store *store, struct slice id, struct deletion how, struct bobbin_error *error)
{
	struct blob_names blobs = {NULL, 0, 0};

	how.blobs = &blobs;
	int rc = delete_session(store, id, &how, error);

	blob_names_release(&blobs);
	return rc;
}

int store_delete(struct store *store, struct slice id, struct bobbin_error *error)
{
	return delete_how(store, id, (struct deletion){.materialize = false}, error);
}

int store_delete_materialized(struct store *store, struct slice id, struct bobbin_error *error)
{
	return delete_how(store, id, (struct deletion){.materialize = true}, error);
}

int store_delete_leftovers(struct store *store, struct slice id, struct bobbin_error *error)
{
	return delete_how(store, id, (struct deletion){.only_leftovers = true}, error);
}

int store_delete_unused(struct store *store, struct slice id, uint64_t bytes, struct bobbin_error *error)
{
	return delete_how(store, id, (struct deletion){.only_bytes = &bytes}, error);
}
