/* SPDX-License-Identifier: MIT */
/*
 * The folder of a workspace, see workspace.h: opening beneath it, atomic writes, looking through it. Nothing here knows the
 * log. Every descriptor of a file or folder in it comes from platform.open_beneath or from a name without "/" below such
 * a descriptor with O_NOFOLLOW, so links that others swap in lead nowhere.
 */
#include "session/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "store/file.h"

#define TEMPORARY_BYTES (LIMIT_SESSION_ID_BYTES + 16)
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define TRIES 100

/* ---- The folder itself ---- */

static void temporary_of(const char *name, char ret_name[TEMPORARY_BYTES])
{
	snprintf(ret_name, TEMPORARY_BYTES, ".%s.files", name);
}

static bool is_still_there(const struct folder *folder, const char *name)
{
	const struct platform *platform = folder->platform;
	struct file_info opened, named;

	return platform->info(platform->context, folder->dir, &opened) == 0 &&
	       platform->info_at(platform->context, folder->store_dir, name, &named) == 0 &&
	       opened.inode == named.inode && opened.device == named.device;
}

static int check_folder(const struct folder *folder, const char *name, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	struct file_info info;
	int rc = platform->info(platform->context, folder->dir, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine the folder %s", name);
	if (info.owner != platform->user(platform->context))
		return error_set(error, BOBBIN_EREFUSED, "the folder %s belongs to another user (uid %u)", name,
			info.owner);
	return info.mode & 022
		       ? error_set(error, BOBBIN_EREFUSED, "others may write to the folder %s: chmod 700 it", name)
		       : 0;
}

/* 0, 1: it is another one by now, or BOBBIN_ENOTFOUND and other errors. */
static int open_once(struct folder *folder, const char *name, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;

	folder->dir = platform->open_at(platform->context, folder->store_dir, name, DIRECTORY, 0);
	if (folder->dir == -ENOENT)
		return BOBBIN_ENOTFOUND;
	if (folder->dir == -ELOOP || folder->dir == -ENOTDIR)
		return error_set(error, BOBBIN_EREFUSED, "%s is not a folder; links are not followed here", name);
	if (folder->dir < 0)
		return error_set_os(error, -folder->dir, "cannot open the folder %s", name);
	int rc = check_folder(folder, name, error);
	if (!rc)
		rc = file_lock(platform, folder->dir, LIMIT_LOCK_WAIT_MS, name, error);
	if (!rc && !is_still_there(folder, name))
		rc = 1;
	if (rc)
		folder_close(folder);
	return rc;
}

int folder_open(const struct store *store, const char *name, struct folder *ret_folder, struct bobbin_error *error)
{
	*ret_folder = (struct folder){store_platform(store), store_dir(store), -1};
	for (int tries = 0; tries < TRIES; tries++) {
		int rc = open_once(ret_folder, name, error);
		if (rc == BOBBIN_ENOTFOUND)
			ret_folder->dir = -1;
		if (rc <= 0)
			return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	}
	return error_set(error, BOBBIN_EBUSY, "the folder %s is being replaced all the time", name);
}

int folder_begin(const struct store *store, const char *name, struct folder *ret_folder, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(store);
	char temporary[TEMPORARY_BYTES];
	struct file_info info;

	temporary_of(name, temporary);
	for (int tries = 0; tries < TRIES; tries++) {
		*ret_folder = (struct folder){platform, store_dir(store), -1};
		int os = platform->make_dir_at(platform->context, ret_folder->store_dir, temporary, 0700);
		if (os < 0 && os != -EEXIST)
			return error_set_os(error, -os, "cannot make the folder %s", name);
		int rc = open_once(ret_folder, temporary, error);
		if (rc == 1 || rc == BOBBIN_ENOTFOUND)
			continue;
		if (!rc && platform->info_at(platform->context, ret_folder->store_dir, name, &info) == 0) {
			file_clear_folder(platform, ret_folder->dir, 0);
			platform->unlink_at(
				platform->context, ret_folder->store_dir, temporary, AT_REMOVEDIR);
			folder_close(ret_folder);
			return error_set(error, BOBBIN_EEXIST, "the folder %s is there by now", name);
		}
		if (!rc)
			file_clear_folder(platform, ret_folder->dir, 0);
		return rc;
	}
	return error_set(error, BOBBIN_EBUSY, "the folder %s is being made by others all the time", name);
}

int folder_appear(const struct folder *folder, const char *name, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	char temporary[TEMPORARY_BYTES];

	temporary_of(name, temporary);
	int rc = platform->rename_at(platform->context, folder->store_dir, temporary, name);
	if (rc == 0)
		rc = platform->sync(platform->context, folder->store_dir);
	return rc < 0 ? error_set_os(error, -rc, "cannot make the folder %s", name) : 0;
}

void folder_close(struct folder *folder)
{
	if (folder->dir >= 0)
		file_close(folder->platform, folder->dir);
	folder->dir = -1;
}

/* ---- Files ---- */

static int refuse(const char *path, int os, struct bobbin_error *error)
{
	if (os == -ELOOP || os == -EXDEV)
		return error_set(error, BOBBIN_EREFUSED, "%s: a link is in its way; links are not followed here", path);
	if (os == -ENOTDIR)
		return error_set(error, BOBBIN_EREFUSED, "%s: something in its way is no folder", path);
	if (os == -ENXIO || os == -EISDIR)
		return error_set(error, BOBBIN_EREFUSED, "%s is not a regular file", path);
	if (os == -ENOENT)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no file %s in the workspace", path);
	return error_set_os(error, -os, "cannot open %s", path);
}

static const char *file_fault(const struct platform *platform, const struct file_info *info)
{
	if (!S_ISREG(info->mode))
		return S_ISLNK(info->mode) ? "a link; links are not followed here" : "not a regular file";
	if (info->owner != platform->user(platform->context))
		return "of another user";
	if (info->links > 1)
		return "known under another name as well (a hard link)";
	return info->size > LIMIT_FILE_BYTES ? "larger than 16 MiB" : NULL;
}

/* Makes what is missing of a folder's path, and opens it; a negative errno. */
static int make_folders(const struct folder *folder, char *path)
{
	const struct platform *platform = folder->platform;
	int at = -1;

	for (char *name = path; name;) {
		char *slash = strchr(name, '/');
		int above = at < 0 ? folder->dir : at;
		if (slash)
			*slash = '\0';
		int rc = platform->make_dir_at(platform->context, above, name, 0700);
		if (rc == 0)
			platform->sync(platform->context, above);
		int below = rc < 0 && rc != -EEXIST ? rc
						    : platform->open_at(platform->context, above, name, DIRECTORY, 0);
		file_close(platform, at);
		if (slash)
			*slash = '/';
		at = below;
		if (at < 0)
			return at;
		name = slash ? slash + 1 : NULL;
	}
	return at;
}

/* The folder that a file stands in, and its name there. `make`: folders that are not there. */
static int open_parent(const struct folder *folder, struct staged *staged, bool make, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	char *slash = strrchr(staged->path, '/');

	staged->name = slash ? slash + 1 : staged->path;
	if (!slash) {
		staged->parent = platform->open_at(platform->context, folder->dir, ".", DIRECTORY, 0);
		return staged->parent < 0 ? refuse(staged->path, staged->parent, error) : 0;
	}
	*slash = '\0';
	staged->parent = platform->open_beneath(platform->context, folder->dir, staged->path, DIRECTORY, 0);
	if (make && staged->parent == -ENOENT)
		staged->parent = make_folders(folder, staged->path);
	*slash = '/';
	return staged->parent < 0 ? refuse(staged->path, staged->parent, error) : 0;
}

static int check_place(const struct folder *folder, const struct staged *staged, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	struct file_info info;
	int rc = platform->info_at(platform->context, staged->parent, staged->name, &info);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", staged->path);
	if (S_ISREG(info.mode) && info.size > LIMIT_FILE_BYTES)
		return 0; /* being replaced, it becomes one that counts */
	const char *fault = file_fault(platform, &info);
	return fault ? error_set(error, BOBBIN_EREFUSED, "%s is %s", staged->path, fault) : 0;
}

static int write_temporary(const struct folder *folder, struct staged *staged, struct slice content, bool durable,
	struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	size_t written;

	/* Left by somebody who was killed: nobody else writes, the folder is locked. */
	platform->unlink_at(platform->context, staged->parent, WORKSPACE_TEMPORARY, 0);
	int file = platform->open_at(platform->context, staged->parent, WORKSPACE_TEMPORARY,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (file < 0)
		return error_set_os(error, -file, "cannot write beside %s", staged->path);
	int rc = file_write(platform, file, content, staged->path, &written, error);
	if (!rc && durable && (rc = platform->sync_data(platform->context, file)) < 0)
		rc = error_set_os(error, -rc, "cannot sync %s", staged->path);
	int closed = platform->close(platform->context, file);
	if (!rc && closed < 0)
		rc = error_set_os(error, -closed, "cannot write %s", staged->path);
	if (rc < 0)
		platform->unlink_at(platform->context, staged->parent, WORKSPACE_TEMPORARY, 0);
	return rc;
}

int folder_stage(const struct folder *folder, const char *path, struct slice content, bool durable,
	struct staged *ret_staged, struct bobbin_error *error)
{
	snprintf(ret_staged->path, sizeof(ret_staged->path), "%s", path);
	int rc = open_parent(folder, ret_staged, true, error);
	if (rc < 0)
		return rc;
	rc = check_place(folder, ret_staged, error);
	if (!rc)
		rc = write_temporary(folder, ret_staged, content, durable, error);
	if (rc < 0)
		file_close(folder->platform, ret_staged->parent);
	return rc;
}

int folder_commit(const struct folder *folder, struct staged *staged, bool durable, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	int rc = platform->rename_at(platform->context, staged->parent, WORKSPACE_TEMPORARY, staged->name);

	if (rc == 0 && durable)
		rc = platform->sync(platform->context, staged->parent);
	file_close(platform, staged->parent);
	return rc < 0 ? error_set_os(error, -rc, "cannot put %s in its place", staged->path) : 0;
}

void folder_abandon(const struct folder *folder, struct staged *staged)
{
	const struct platform *platform = folder->platform;

	platform->unlink_at(platform->context, staged->parent, WORKSPACE_TEMPORARY, 0);
	file_close(platform, staged->parent);
}

int folder_put(const struct folder *folder, const char *path, struct slice content, bool durable,
	struct bobbin_error *error)
{
	struct staged staged;
	int rc = folder_stage(folder, path, content, durable, &staged, error);

	return rc < 0 ? rc : folder_commit(folder, &staged, durable, error);
}

int folder_remove(const struct folder *folder, const char *path, bool durable, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	struct staged staged;
	int rc;

	snprintf(staged.path, sizeof(staged.path), "%s", path);
	rc = open_parent(folder, &staged, false, error);
	if (rc < 0)
		return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	rc = check_place(folder, &staged, error);
	int os = rc < 0 ? 0 : platform->unlink_at(platform->context, staged.parent, staged.name, 0);
	if (os == 0 && rc == 0 && durable)
		os = platform->sync(platform->context, staged.parent);
	file_close(platform, staged.parent);
	if (os < 0 && os != -ENOENT)
		return error_set_os(error, -os, "cannot take %s away", path);
	/* Folders that are empty now; the first one that is not ends it. */
	for (char *slash; rc == 0 && (slash = strrchr(staged.path, '/'));) {
		*slash = '\0';
		struct staged above = {.parent = -1};
		memcpy(above.path, staged.path, sizeof(above.path));
		if (open_parent(folder, &above, false, NULL) < 0)
			break;
		os = platform->unlink_at(platform->context, above.parent, above.name, AT_REMOVEDIR);
		file_close(platform, above.parent);
		if (os < 0)
			break;
	}
	return rc;
}

static int read_open(const struct folder *folder, int file, const char *path, struct buffer *out,
	struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	struct file_info info;
	int rc = platform->info(platform->context, file, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", path);
	const char *fault = file_fault(platform, &info);
	if (fault)
		return error_set(error, S_ISREG(info.mode) && info.size > LIMIT_FILE_BYTES ? BOBBIN_ELIMIT : BOBBIN_EREFUSED,
			"%s is %s", path, fault);
	char *room = buffer_reserve(out, (size_t)info.size);
	if (!room)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	ssize_t got = platform_read_full(platform, file, room, (size_t)info.size, 0);
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read %s", path);
	out->len += (size_t)got;
	return 0;
}

int folder_read(const struct folder *folder, const char *path, struct buffer *out, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	if (folder->dir < 0)
		return refuse(path, -ENOENT, error);
	/* O_NONBLOCK: a FIFO in its place must not stop us before we have seen what it is. */
	int file = platform->open_beneath(
		platform->context, folder->dir, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);

	if (file < 0)
		return refuse(path, file, error);
	int rc = read_open(folder, file, path, out, error);
	file_close(platform, file);
	return rc;
}

/* ---- Looking through it ---- */

struct scan {
	const struct folder *folder;
	struct arena *arena;
	struct bobbin_error *error;
	const struct workspace_known *known;
	struct found_file *files;
	size_t count, cap;
	uint64_t bytes;
	int64_t now_ns; /* before anything is looked at */
	bool news;
	const char *above; /* "", or the folder's path with its / */
	unsigned depth;
	int dir, rc;
};

/* Reads and hashes one. 1: it is gone. */
static int hash_found(struct scan *scan, struct found_file *found)
{
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	uint8_t digest[SHA256_BYTES];
	int rc = folder_read(scan->folder, found->path, &content, scan->error);

	scan->news = true;
	if (!rc && sha256_of(buffer_slice(&content).data, content.len, digest) < 0)
		rc = error_set(scan->error, BOBBIN_ENOMEM, "out of memory");
	found->size = content.len;
	buffer_release(&content);
	if (rc == BOBBIN_ENOTFOUND)
		return 1; /* gone in between */
	if (rc < 0 && rc != BOBBIN_EREFUSED && rc != BOBBIN_ELIMIT)
		return rc;
	found->refused = rc < 0 ? "not a regular file" : NULL;
	if (rc < 0)
		return 0;
	hex_encode(digest, sizeof(digest), found->digest);
	found->settled = known_is_settled(&found->info, scan->now_ns);
	return 0;
}

static int add_found(struct scan *scan, const char *path, const struct file_info *info, const char *refused)
{
	if (scan->count >= LIMIT_WORKSPACE_FILES)
		return error_set(scan->error, BOBBIN_ELIMIT,
			"the workspace has more than %d files: take some of them elsewhere", LIMIT_WORKSPACE_FILES);
	if (mem_grow((void **)&scan->files, &scan->cap, scan->count + 1, sizeof(*scan->files)) < 0)
		return error_set(scan->error, BOBBIN_ENOMEM, "out of memory");
	struct found_file *found = &scan->files[scan->count];
	*found = (struct found_file){.path = path, .size = info->size, .refused = refused, .info = *info};
	const char *digest = refused ? NULL : known_digest(scan->known, path, info);
	if (digest) {
		memcpy(found->digest, digest, SHA256_HEX_BYTES);
		found->settled = true;
	} else if (!refused) {
		int rc = hash_found(scan, found);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	scan->bytes += found->refused ? 0 : found->size;
	scan->count++;
	return scan->bytes <= LIMIT_WORKSPACE_BYTES
		       ? 0
		       : error_set(scan->error, BOBBIN_ELIMIT,
				 "the workspace has more than 256 MiB: take some files elsewhere");
}

static bool scan_one(void *data, const char *name);

static int scan_below(struct scan *scan, const char *name, const char *path)
{
	const struct platform *platform = scan->folder->platform;
	struct scan below = *scan;
	size_t len = strlen(path);
	char *above = arena_alloc(scan->arena, len + 2);

	if (!above)
		return error_set(scan->error, BOBBIN_ENOMEM, "out of memory");
	memcpy(above, path, len);
	memcpy(above + len, "/", 2);
	below.above = above;
	below.depth++;
	below.dir = platform->open_at(platform->context, scan->dir, name, DIRECTORY, 0);
	if (below.dir < 0)
		return 0; /* gone, or a link by now */
	int os = platform->list(platform->context, below.dir, scan_one, &below);
	file_close(platform, below.dir);
	below.dir = scan->dir;
	below.depth = scan->depth;
	below.above = scan->above;
	*scan = below;
	return scan->rc ? scan->rc : os < 0 ? error_set_os(scan->error, -os, "cannot list %s", path) : 0;
}

static bool scan_one(void *data, const char *name)
{
	struct scan *scan = data;
	const struct platform *platform = scan->folder->platform;
	size_t above = strlen(scan->above), len = strlen(name);
	char *path = arena_alloc(scan->arena, above + len + 1);
	struct file_info info;

	if (strcmp(name, WORKSPACE_TEMPORARY) == 0 ||
		platform->info_at(platform->context, scan->dir, name, &info) < 0)
		return true;
	if (!path) {
		scan->rc = error_set(scan->error, BOBBIN_ENOMEM, "out of memory");
		return false;
	}
	memcpy(path, scan->above, above);
	memcpy(path + above, name, len + 1);
	const char *fault = workspace_path_fault((struct slice){path, above + len});
	if (S_ISDIR(info.mode) && !fault)
		scan->rc = scan_below(scan, name, path);
	else
		scan->rc = add_found(scan, path, &info, fault ? fault : file_fault(platform, &info));
	return scan->rc == 0;
}

static int by_path(const void *left, const void *right)
{
	return strcmp(((const struct found_file *)left)->path, ((const struct found_file *)right)->path);
}

int folder_scan(const struct folder *folder, const struct workspace_known *known, struct arena *arena,
	struct found_file **ret_files, size_t *ret_count, bool *ret_news, struct bobbin_error *error)
{
	const struct platform *platform = folder->platform;
	struct scan scan = {.folder = folder,
		.known = known,
		.arena = arena,
		.error = error,
		.above = "",
		.dir = folder->dir,
		.now_ns = platform->realtime_ns(platform->context)};
	int os = folder->dir < 0 ? 0 : platform->list(platform->context, folder->dir, scan_one, &scan);
	int rc = scan.rc ? scan.rc : os < 0 ? error_set_os(error, -os, "cannot list the workspace") : 0;
	struct found_file *files = rc ? NULL : arena_alloc(arena, (scan.count + 1) * sizeof(*files));

	if (!rc && !files)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc) {
		if (scan.count) {
			memcpy(files, scan.files, scan.count * sizeof(*files));
			qsort(files, scan.count, sizeof(*files), by_path);
		}
		*ret_files = files;
		*ret_count = scan.count;
		*ret_news = scan.news;
	}
	mem_free(scan.files);
	return rc;
}
