/* SPDX-License-Identifier: MIT */
/*
 * Files of a store, see file.h.
 *
 * A file that is to be replaced is written under a fixed temporary name, locked while that lasts: a crash
 * leaves at most one such file, and the next writer takes it over. After locking, the file locked must still
 * be the one of that name, since whoever had it before may have renamed it to its final name.
 */
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/limits.h"

#define NS_PER_MS INT64_C(1000000)
#define LOCK_SLEEP_MIN_NS INT64_C(50000)   /* as long as a small append takes */
#define LOCK_SLEEP_MAX_NS INT64_C(2000000) /* as long as a sync takes */
#define TAKE_OVER_TRIES 100		   /* each one lost means that somebody else got on */
#define FILE_NAME_BYTES 128

void file_close(const struct platform *platform, int file)
{
	if (file >= 0)
		platform->close(platform->context, file);
}

const char *file_kind_text(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a folder";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

static int check_info(const struct platform *platform, const char *name, const struct file_info *info,
	struct bobbin_error *error)
{
	if (!S_ISREG(info->mode))
		return error_set(error, BOBBIN_EREFUSED, "%s is %s, not a file", name, file_kind_text(info->mode));
	if (info->owner != platform->user(platform->context))
		return error_set(
			error, BOBBIN_EREFUSED, "%s belongs to another user (uid %u)", name, info->owner);
	return 0;
}

int file_open(const struct platform *platform, int dir, const char *name, int flags, int *ret_file,
	struct file_info *ret_info, struct bobbin_error *error)
{
	struct file_info info;
	/* O_NONBLOCK: a FIFO in the place of a file must not stop us before we have seen what it is. */
	int file = platform->open_at(platform->context, dir, name, flags | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (file == -ELOOP)
		return error_set(
			error, BOBBIN_EREFUSED, "%s is a symbolic link; links are not followed here", name);
	if (file == -EISDIR || file == -ENXIO)
		return error_set(error, BOBBIN_EREFUSED, "%s is %s, not a file", name,
			file == -EISDIR ? "a folder" : "a FIFO, a socket or a device");
	if (file < 0)
		return error_set_os(error, -file, "cannot open %s", name);
	int rc = platform->info(platform->context, file, &info);
	rc = rc < 0 ? error_set_os(error, -rc, "cannot examine %s", name)
		    : check_info(platform, name, &info, error);
	if (rc) {
		file_close(platform, file);
		return rc;
	}
	*ret_file = file;
	if (ret_info)
		*ret_info = info;
	return 0;
}

int file_lock(const struct platform *platform, int file, int64_t wait_ms, const char *name,
	struct bobbin_error *error)
{
	int64_t start = 0; /* nobody looked at the clock so far */
	int64_t nap = LOCK_SLEEP_MIN_NS;

	for (;;) {
		int rc = platform->lock(platform->context, file, LOCK_EX | LOCK_NB);
		if (rc == 0)
			return 0;
		if (rc != -EWOULDBLOCK)
			return error_set_os(error, -rc, "cannot lock %s", name);
		int64_t now = platform->monotonic_ns(platform->context);
		start = start ? start : now;
		if (now - start >= wait_ms * NS_PER_MS)
			return error_set(error, BOBBIN_EBUSY, "%s is locked by another process", name);
		platform->sleep_ns(platform->context, nap);
		nap = nap * 2 < LOCK_SLEEP_MAX_NS ? nap * 2 : LOCK_SLEEP_MAX_NS;
	}
}

static int is_still_there(const struct platform *platform, int dir, const char *name, int file, bool *ret_is,
	struct bobbin_error *error)
{
	struct file_info opened, named;
	int rc = platform->info(platform->context, file, &opened);

	if (rc == 0)
		rc = platform->info_at(platform->context, dir, name, &named);
	*ret_is = rc == 0 && opened.inode == named.inode && opened.device == named.device;
	return rc < 0 && rc != -ENOENT ? error_set_os(error, -rc, "cannot examine %s", name) : 0;
}

int file_open_locked(const struct platform *platform, int dir, const char *name, int64_t wait_ms,
	int *ret_file, struct bobbin_error *error)
{
	for (int tries = 0; tries < TAKE_OVER_TRIES; tries++) {
		bool there = false;
		int file = -1;
		int rc = file_open(platform, dir, name, O_RDWR | O_CREAT | O_APPEND, &file, NULL, error);
		if (rc)
			return rc;
		rc = file_lock(platform, file, wait_ms, name, error);
		if (!rc)
			rc = is_still_there(platform, dir, name, file, &there, error);
		if (!rc && there) {
			*ret_file = file;
			return 0;
		}
		file_close(platform, file);
		if (rc)
			return rc;
	}
	return error_set(error, BOBBIN_EBUSY, "%s is being replaced by other processes all the time", name);
}

int file_write(const struct platform *platform, int file, struct slice bytes, const char *name,
	size_t *ret_written, struct bobbin_error *error)
{
	size_t done = 0;

	*ret_written = 0;
	while (done < bytes.len) {
		ssize_t rc = platform->write(platform->context, file, bytes.data + done, bytes.len - done);
		if (rc < 0)
			return error_set_os(error, (int)-rc, "cannot write %zu bytes to %s", bytes.len, name);
		if (rc == 0)
			return error_set(error, BOBBIN_EIO, "cannot write to %s: nothing was taken", name);
		/* A short write: what is left either gets there, or says why it does not. */
		done += (size_t)rc;
		*ret_written = done;
	}
	return 0;
}

int file_read(const struct platform *platform, int dir, const char *name, size_t max, struct buffer *out,
	struct bobbin_error *error)
{
	struct file_info info = {0};
	int file = -1;
	int rc = file_open(platform, dir, name, O_RDONLY, &file, &info, error);

	if (rc)
		return rc;
	size_t wanted = info.size < max ? (size_t)info.size : max;
	char *room = buffer_reserve(out, wanted);
	if (!room)
		rc = error_set(error, buffer_error(out), "out of memory");
	else {
		ssize_t got = platform_read_full(platform, file, room, wanted, 0);
		if (got < 0)
			rc = error_set_os(error, (int)-got, "cannot read %s", name);
		else
			out->len += (size_t)got;
	}
	file_close(platform, file);
	return rc;
}

static int fill(const struct platform *platform, int file, const char *name, struct slice content,
	bool durable, struct bobbin_error *error)
{
	size_t written;
	int rc = platform->truncate(platform->context, file, 0);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot empty %s", name);
	rc = file_write(platform, file, content, name, &written, error);
	if (rc || !durable)
		return rc;
	rc = platform->sync_data(platform->context, file);
	return rc < 0 ? error_set_os(error, -rc, "cannot sync %s", name) : 0;
}

int file_replace(const struct platform *platform, int dir, const char *name, struct slice content,
	bool durable, struct bobbin_error *error)
{
	struct buffer temporary = BUFFER_INIT(FILE_NAME_BYTES);
	int file = -1;

	buffer_addf(&temporary, ".%s.tmp", name);
	int rc = buffer_error(&temporary);
	if (rc)
		rc = error_set(error, rc, "cannot name a temporary file for %s", name);
	else if (!(rc = file_open_locked(platform, dir, temporary.data, 0, &file, error)))
		rc = fill(platform, file, temporary.data, content, durable, error);
	if (!rc) {
		rc = platform->rename_at(platform->context, dir, temporary.data, name);
		if (rc < 0)
			rc = error_set_os(error, -rc, "cannot replace %s", name);
	}
	if (rc && file >= 0)
		platform->unlink_at(platform->context, dir, temporary.data, 0);
	file_close(platform, file);
	buffer_release(&temporary);
	return rc;
}

struct clearing {
	const struct platform *platform;
	int folder;
	unsigned depth;
};

static bool clear_one(void *data, const char *name)
{
	const struct clearing *clearing = data;
	const struct platform *platform = clearing->platform;

	if (platform->unlink_at(platform->context, clearing->folder, name, 0) == 0)
		return true;
	int below = platform->open_at(
		platform->context, clearing->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (below >= 0) {
		file_clear_folder(platform, below, clearing->depth + 1);
		file_close(platform, below);
		platform->unlink_at(platform->context, clearing->folder, name, AT_REMOVEDIR);
	}
	return true;
}

#define CLEAR_DEPTH_MAX 128

void file_clear_folder(const struct platform *platform, int folder, unsigned depth)
{
	struct clearing clearing = {platform, folder, depth};

	if (depth < CLEAR_DEPTH_MAX)
		platform->list(platform->context, folder, clear_one, &clearing);
}

static bool keep_name(void *data, const char *name)
{
	struct file_names *names = data;
	size_t len = strlen(name) + 1;

	if (len > FOLDER_NAME_BYTES)
		return true;
	names->rc = mem_grow((void **)&names->data, &names->cap, names->len + len, 1);
	if (names->rc)
		return false;
	memcpy(names->data + names->len, name, len);
	names->len += len;
	return true;
}

int file_names_read(const struct platform *platform, int dir, const char *shown, struct file_names *names,
	struct bobbin_error *error)
{
	int rc = platform->list(platform->context, dir, keep_name, names);

	if (names->rc)
		return error_set(error, names->rc, "out of memory");
	return rc < 0 ? error_set_os(error, -rc, "cannot list %s", shown) : 0;
}
