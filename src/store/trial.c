/* SPDX-License-Identifier: MIT */
/* Folders for trials, see trial.h. */
#include "store/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "store/file.h"
#include "store/store_internal.h"

#define PREFIX "trial-"
#define RANDOM_BYTES 8
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define TRIES 100 /* a sweep may take it away between its making and its lock */

static bool is_still_there(const struct trial_folder *folder)
{
	const struct platform *platform = folder->platform;
	struct file_info opened, named;

	return platform->info(platform->context, folder->dir, &opened) == 0 &&
	       platform->info_at(platform->context, folder->caches, folder->name, &named) == 0 &&
	       opened.inode == named.inode && opened.device == named.device;
}

/* 0; 1: it was swept away before it was locked; a negative errno. */
static int make_once(struct trial_folder *folder)
{
	const struct platform *platform = folder->platform;
	uint8_t bytes[RANDOM_BYTES];
	char digits[2 * RANDOM_BYTES + 1];
	int rc = platform->random(platform->context, bytes, sizeof(bytes));

	if (rc < 0)
		return rc;
	hex_encode(bytes, sizeof(bytes), digits);
	snprintf(folder->name, sizeof(folder->name), PREFIX "%s", digits);
	rc = platform->make_dir_at(platform->context, folder->caches, folder->name, 0700);
	if (rc < 0)
		return rc == -EEXIST ? 1 : rc;
	folder->dir = platform->open_at(platform->context, folder->caches, folder->name, DIRECTORY, 0);
	if (folder->dir < 0)
		rc = folder->dir == -ENOENT ? 1 : folder->dir;
	else
		rc = platform->lock(platform->context, folder->dir, LOCK_EX | LOCK_NB);
	if (rc == -EWOULDBLOCK || (rc == 0 && !is_still_there(folder)))
		rc = 1; /* a sweep has it */
	if (rc) {
		file_close(platform, folder->dir);
		folder->dir = -1;
		platform->unlink_at(platform->context, folder->caches, folder->name, AT_REMOVEDIR);
	}
	return rc;
}

static char *path_of(const struct store *store, const struct trial_folder *folder)
{
	struct buffer path = BUFFER_INIT(2 * LIMIT_PATH_BYTES);

	buffer_addf(&path, "%s/" STORE_CACHE_NAME "/%s", store->path, folder->name);
	char *text = buffer_take(&path, NULL);
	buffer_release(&path);
	return text;
}

int trial_begin(
	struct store *store, struct trial_folder *ret_folder, char **ret_path, struct bobbin_error *error)
{
	struct trial_folder folder = {store->platform, store_cache_dir(store, true), -1, ""};
	int rc = folder.caches < 0 ? folder.caches : 1;

	for (int tries = 0; rc == 1 && tries < TRIES; tries++)
		rc = make_once(&folder);
	if (rc == 1)
		rc = -EBUSY;
	char *path = rc ? NULL : path_of(store, &folder);
	if (!path) {
		trial_end(&folder);
		return rc ? error_set_os(error, -rc, "cannot make a folder in %s/" STORE_CACHE_NAME, store->path)
			  : error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	*ret_folder = folder;
	*ret_path = path;
	return 0;
}

static void take_away(const struct platform *platform, int caches, int dir, const char *name)
{
	file_clear_folder(platform, dir, 0);
	platform->unlink_at(platform->context, caches, name, AT_REMOVEDIR);
}

void trial_end(struct trial_folder *folder)
{
	if (folder->dir >= 0)
		take_away(folder->platform, folder->caches, folder->dir, folder->name);
	file_close(folder->platform, folder->dir);
	file_close(folder->platform, folder->caches);
	*folder = TRIAL_FOLDER_INIT;
}

bool trial_is_left(const struct platform *platform, int caches, const char *name, bool remove)
{
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	int dir = platform->open_at(platform->context, caches, name, DIRECTORY, 0);
	if (dir < 0)
		return false;
	bool left = platform->lock(platform->context, dir, LOCK_EX | LOCK_NB) == 0;
	if (left && remove)
		take_away(platform, caches, dir, name);
	file_close(platform, dir);
	return left;
}

unsigned trial_sweep(struct store *store)
{
	struct file_names names = {0};
	int caches = store_cache_dir(store, false);
	unsigned count = 0;

	if (caches < 0)
		return 0;
	if (file_names_read(store->platform, caches, STORE_CACHE_NAME, &names, NULL) == 0)
		for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
			count += trial_is_left(store->platform, caches, names.data + at, true);
	mem_free(names.data);
	file_close(store->platform, caches);
	return count;
}
