/* SPDX-License-Identifier: MIT */
/* The folder: opening it, and refusing those that cannot be trusted. Also the turn lock and deletion. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/file.h"
#include "store/store_internal.h"

#define IGNORE_ALL "*\n" /* conversations do not belong into version control */

/* File systems (statfs f_type) whose locks are local or advisory between clients, or whose syncs may mean
 * nothing. */
static const struct {
	uint64_t magic;
	const char *name;
} UNRELIABLE[] = {
	{0x6969, "NFS"},
	{0x01021997, "9p"},
	{0x65735546, "FUSE"},
	{0x517b, "SMB"},
	{0xff534d42, "CIFS"},
	{0xfe534d42, "SMB2"},
	{0x5346414f, "AFS"},
	{0x73757245, "Coda"},
	{0x00c36400, "Ceph"},
};

static int check_file_system(const struct store *store, struct bobbin_error *error)
{
	uint64_t magic;
	int rc = store->platform->file_system(store->platform->context, store->dir, &magic);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine the file system of %s", store->path);
	for (size_t i = 0; i < sizeof(UNRELIABLE) / sizeof(UNRELIABLE[0]); i++)
		if (UNRELIABLE[i].magic == magic)
			return error_set(error, BOBBIN_EREFUSED,
				"%s lies on %s, whose locks and syncs cannot be relied on: use a local "
				"folder, or force it",
				store->path, UNRELIABLE[i].name);
	return 0;
}

static int check_dir(const struct store *store, struct bobbin_error *error)
{
	struct file_info info;
	int rc = store->platform->info(store->platform->context, store->dir, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", store->path);
	if (info.owner != store->platform->user(store->platform->context))
		return error_set(error, BOBBIN_EREFUSED,
			"%s belongs to another user (uid %u), who could change what is in it", store->path,
			info.owner);
	if (info.mode & (S_IWGRP | S_IWOTH))
		return error_set(error, BOBBIN_EREFUSED,
			"others may write to %s (mode %03o): chmod 700 it if that is not meant", store->path,
			info.mode & 0777);
	return 0;
}

/* Made by mkdir(2) under a umask that lets 0700 through or takes from it, never adds to it. */
static int make_dir(
	const struct platform *platform, const char *path, bool *ret_made, struct bobbin_error *error)
{
	int rc = platform->make_dir_at(platform->context, PLATFORM_CWD, path, 0700);

	*ret_made = rc == 0;
	if (rc < 0 && rc != -EEXIST)
		return error_set_os(error, -rc, "cannot make the store %s", path);
	return 0;
}

/* Syncs the folder above, which has the name of the store's. One that we may not read is left to the system.
 */
static int sync_above(const struct store *store, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer above = BUFFER_INIT(LIMIT_PATH_BYTES + 1);
	size_t len = strlen(store->path);

	while (len > 1 && store->path[len - 1] == '/')
		len--;
	while (len > 0 && store->path[len - 1] != '/')
		len--;
	buffer_add(&above, len ? store->path : ".", len ? len : 1);
	int rc = buffer_error(&above);
	if (rc) {
		rc = error_set(error, rc, "out of memory");
	} else {
		int dir = platform->open_at(
			platform->context, PLATFORM_CWD, above.data, O_RDONLY | O_DIRECTORY, 0);
		rc = dir < 0 ? dir : platform->sync(platform->context, dir);
		file_close(platform, dir);
		if (rc == -EACCES)
			rc = 0;
		if (rc < 0)
			rc = error_set_os(error, -rc, "cannot sync %s", above.data);
	}
	buffer_release(&above);
	return rc;
}

static int add_ignore_file(const struct store *store, struct bobbin_error *error)
{
	int file;
	size_t written;
	int rc = file_open(store->platform, store->dir, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_APPEND,
		&file, NULL, error);

	if (rc)
		return rc;
	rc = file_write(store->platform, file, slice_of(IGNORE_ALL), ".gitignore", &written, error);
	file_close(store->platform, file);
	return rc;
}

/* A new folder's name is made durable before anything is kept in it. The ignore file, written last, says that
 * this is done: without it whoever made the folder may have died before. */
static int settle_dir(const struct store *store, bool made, struct bobbin_error *error)
{
	struct file_info info;
	int rc = 0;

	if (made || store->platform->info_at(store->platform->context, store->dir, ".gitignore", &info) < 0)
		rc = sync_above(store, error);
	return rc || !made ? rc : add_ignore_file(store, error);
}

static int open_dir(struct store *store, const struct store_options *options, struct bobbin_error *error)
{
	bool made = false;
	int rc;

	if (options->create && (rc = make_dir(store->platform, store->path, &made, error)) < 0)
		return rc;
	store->dir = store->platform->open_at(
		store->platform->context, PLATFORM_CWD, store->path, O_RDONLY | O_DIRECTORY, 0);
	if (store->dir == -ENOTDIR)
		return error_set(error, BOBBIN_EREFUSED, "%s is not a folder", store->path);
	if (store->dir == -ENOENT)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no store at %s", store->path);
	if (store->dir < 0)
		return error_set_os(error, -store->dir, "cannot open the store %s", store->path);
	if ((rc = check_dir(store, error)) < 0)
		return rc;
	if (!options->force_filesystem && (rc = check_file_system(store, error)) < 0)
		return rc;
	return options->create ? settle_dir(store, made, error) : 0;
}

int store_open(const struct platform *platform, const char *path, const struct store_options *options,
	struct store **ret_store, struct bobbin_error *error)
{
	static const struct store_options defaults = {.sync = STORE_SYNC_FULL};
	size_t len = strlen(path);

	if (!options)
		options = &defaults;
	if (len == 0 || len > LIMIT_PATH_BYTES)
		return error_set(error, BOBBIN_EINVAL, "a store's path has 1 to %d bytes, not %zu",
			LIMIT_PATH_BYTES, len);
	struct store *store = mem_alloc_zero(sizeof(*store));
	if (!store)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	store->platform = platform;
	store->dir = -1;
	store->sync = options->sync;
	store->read_only = options->read_only;
	store->index_step = options->index_step ? options->index_step : STORE_INDEX_STEP;
	store->index_memory = options->index_memory ? options->index_memory : STORE_INDEX_MEMORY;
	store->stamp_tick_ns = options->stamp_tick_ns ? options->stamp_tick_ns : STORE_STAMP_TICK_NS;
	store->catalogue_step = options->catalogue_step ? options->catalogue_step : STORE_CATALOGUE_STEP;
	store->path = mem_copy_text(path, len);
	int rc = store->path ? open_dir(store, options, error)
			     : error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (rc) {
		store_close(store);
		return rc;
	}
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	file_close(store->platform, store->dir);
	mem_free(store->path);
	mem_free(store);
}

const struct platform *store_platform(const struct store *store)
{
	return store->platform;
}

int store_dir(const struct store *store)
{
	return store->dir;
}

/* What the system says of it: 0, or negative. */
static int look_at(const struct store *store, struct slice id, const char *suffix)
{
	struct file_info info;
	char name[LIMIT_SESSION_ID_BYTES + 16];

	if (!id_is_session(id))
		return -ENOENT;
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, suffix, strlen(suffix) + 1);
	return store->platform->info_at(store->platform->context, store->dir, name, &info);
}

bool store_has(const struct store *store, struct slice id)
{
	return look_at(store, id, ".jsonl") == 0;
}

bool store_lacks(const struct store *store, struct slice id)
{
	return look_at(store, id, ".jsonl") == -ENOENT;
}

bool store_has_copy(const struct store *store, struct slice id)
{
	return look_at(store, id, ".base.jsonl") == 0;
}

bool store_lacks_copy(const struct store *store, struct slice id)
{
	return look_at(store, id, ".base.jsonl") == -ENOENT;
}

struct turn_lock {
	const struct platform *platform;
	int file;
};

int store_turn_lock(struct store *store, struct slice id, int64_t wait_ms, struct turn_lock **ret_lock,
	struct bobbin_error *error)
{
	char name[LIMIT_SESSION_ID_BYTES + 8];

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, ".turn", sizeof(".turn"));
	struct turn_lock *lock = mem_alloc_zero(sizeof(*lock));
	if (!lock)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	lock->platform = store->platform;
	int rc = file_open_locked(store->platform, store->dir, name, wait_ms, &lock->file, error);
	if (rc) {
		mem_free(lock);
		return rc == BOBBIN_EBUSY ? error_set(error, rc, "another turn of session %.*s is running",
						    (int)id.len, id.data)
					  : rc;
	}
	*ret_lock = lock;
	return 0;
}

void store_turn_unlock(struct turn_lock *lock)
{
	if (!lock)
		return;
	file_close(lock->platform, lock->file); /* closing lets go of the lock */
	mem_free(lock);
}
