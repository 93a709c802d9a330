/* SPDX-License-Identifier: MIT */
/* Opening and locking files of a store by the rules of store.h: no links, regular files, of this user, mode
 * 0600. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdint.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/platform.h"

/* Opens a file of a store; flags as for open(2), O_NOFOLLOW and mode 0600 are added. `ret_info` NULL allowed.
 * BOBBIN_ENOTFOUND, BOBBIN_EREFUSED (a link, no regular file, another user's), BOBBIN_EIO, BOBBIN_ENOSPC. */
int file_open(const struct platform *platform, int dir, const char *name, int flags, int *ret_file,
	struct file_info *ret_info, struct bobbin_error *error);
/* "a file", "a folder", "a FIFO" …: what a st_mode says. */
const char *file_kind_text(uint32_t mode);
void file_close(const struct platform *platform, int file); /* -1 allowed */

/* flock(2) with a bounded wait. BOBBIN_EBUSY, BOBBIN_EIO. */
int file_lock(const struct platform *platform, int file, int64_t wait_ms, const char *name,
	struct bobbin_error *error);

/* Opens `name` (made if needed) and locks it exclusively; on return the file that is locked is the one of
 * that name. */
int file_open_locked(const struct platform *platform, int dir, const char *name, int64_t wait_ms,
	int *ret_file, struct bobbin_error *error);

/* Writes all of it at the end of a file opened with O_APPEND. ret_written (also on failure): how much got
 * there. BOBBIN_ENOSPC, BOBBIN_EIO. */
int file_write(const struct platform *platform, int file, struct slice bytes, const char *name,
	size_t *ret_written, struct bobbin_error *error);

/* The first `max` bytes; a missing file is BOBBIN_ENOTFOUND. */
int file_read(const struct platform *platform, int dir, const char *name, size_t max, struct buffer *out,
	struct bobbin_error *error);

/* Replaces a small file as a whole: whoever reads sees the old or the new content, also after a crash if
 * `durable`. BOBBIN_EBUSY when another process is doing the same right now. */
int file_replace(const struct platform *platform, int dir, const char *name, struct slice content,
	bool durable, struct bobbin_error *error);

/* Takes away all that stands in a folder, and in those below it, as far as it goes; links are not followed. */
void file_clear_folder(const struct platform *platform, int folder, unsigned depth);

/*
 * The names in a folder, one behind the other, each with its NUL: to go through them while the folder is changed.
 *
 *	struct file_names names = {0};
 *	rc = file_names_read(platform, dir, shown, &names, error);
 *	for (size_t at = 0; !rc && at < names.len; at += strlen(names.data + at) + 1) …
 *	mem_free(names.data);                    // also after a failure
 *
 * `shown` names the folder in an error. BOBBIN_EIO, BOBBIN_ENOMEM.
 */
#define FOLDER_NAME_BYTES 256 /* with its NUL; longer ones are none of ours and left out */
struct file_names {
	char *data;
	size_t len, cap;
	int rc;
};
int file_names_read(const struct platform *platform, int dir, const char *shown, struct file_names *names,
	struct bobbin_error *error);

#endif
