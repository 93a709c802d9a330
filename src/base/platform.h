/* SPDX-License-Identifier: MIT */
/*
 * The world outside: files, time and randomness as one table of functions. The library calls nothing else for
 * them, so a test can fail the Nth call, tear a write, forget what was not synced, or set the time.
 *
 * File functions return a value >= 0 or a negative errno (-ENOSPC); EINTR is retried inside. Offsets and sizes are
 * bytes. `dir` is a directory descriptor opened through the same table, or PLATFORM_CWD.
 */
#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLATFORM_CWD (-100)

struct file_info {
	uint64_t size;
	uint64_t inode, device;
	int64_t modified_ns;
	int64_t changed_ns; /* of content, name or mode: nobody sets it by hand */
	uint32_t mode;   /* type and permission bits as in struct stat */
	uint32_t owner;  /* user id */
	uint64_t links;
	int64_t born_ns; /* of a folder, where the file system knows; else 0: with the inode it names the folder for ever */
};

struct platform {
	void *context;

	int (*open_at)(void *context, int dir, const char *name, int flags, unsigned mode);
	/*
	 * `path` below `dir` and nowhere else: no link anywhere in it is followed, nothing in it leads out (-EXDEV, -ELOOP),
	 * also while another process swaps links in. openat2(2); where that is missing, one name after the other.
	 */
	int (*open_beneath)(void *context, int dir, const char *path, int flags, unsigned mode);
	int (*close)(void *context, int file);
	ssize_t (*read_at)(void *context, int file, void *data, size_t len, uint64_t offset); /* may be short */
	ssize_t (*write)(void *context, int file, const void *data, size_t len);  /* one write(2); may be short */
	/* At that place, of a file that was not opened with O_APPEND; may be short. For caches: logs only grow. */
	ssize_t (*write_at)(void *context, int file, const void *data, size_t len, uint64_t offset);
	int (*sync_data)(void *context, int file);                /* fdatasync */
	int (*sync)(void *context, int file);                     /* fsync, also of a directory */
	int (*truncate)(void *context, int file, uint64_t size);
	int (*change_mode)(void *context, int file, unsigned mode); /* fchmod */
	int (*lock)(void *context, int file, int operation);      /* flock(2): LOCK_EX, LOCK_SH, LOCK_UN, | LOCK_NB */
	int (*info)(void *context, int file, struct file_info *ret_info);
	int (*info_at)(void *context, int dir, const char *name, struct file_info *ret_info); /* links not followed */
	int (*rename_at)(void *context, int dir, const char *from, const char *to);
	int (*link_at)(void *context, int dir, const char *from, const char *to); /* fails with -EEXIST, never replaces */
	int (*unlink_at)(void *context, int dir, const char *name, int flags);
	int (*make_dir_at)(void *context, int dir, const char *name, unsigned mode);
	/* Names in a directory, without "." and "..", in no order. `each` returns false to stop. */
	int (*list)(void *context, int dir, bool (*each)(void *data, const char *name), void *data);
	int (*file_system)(void *context, int file, uint64_t *ret_magic); /* f_type of statfs(2) */
	/* Where a folder is, from the root, NUL-terminated; -ENAMETOOLONG. For people: it may be elsewhere at once. */
	int (*path_of)(void *context, int dir, char *ret_path, size_t size);
	uint32_t (*user)(void *context);                           /* effective user id */

	int64_t (*realtime_ns)(void *context);                     /* since 1970, UTC */
	int64_t (*monotonic_ns)(void *context);
	void (*sleep_ns)(void *context, int64_t duration_ns);
	int (*random)(void *context, void *ret_bytes, size_t len);
};

/* The real one; lives for ever; safe from any thread. */
const struct platform *platform_default(void);

/* What open_beneath does where openat2(2) is missing. */
int platform_walk_beneath(int dir, const char *path, int flags, unsigned mode);

/* The id of this process: a handle inherited through fork(2) is known by it. */
pid_t platform_process(void);

/* Reads exactly `len` bytes unless the file ends before; returns the number read or a negative errno. */
ssize_t platform_read_full(const struct platform *platform, int file, void *data, size_t len, uint64_t offset);

/* A UTC time as 2026-09-04T10:00:00Z, or, unless its milliseconds are 0, as 2026-09-04T10:00:00.123Z. */
#define TIME_TEXT_BYTES 32
void time_text(int64_t realtime_ns, char ret_text[TIME_TEXT_BYTES]);

#endif
