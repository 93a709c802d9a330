/* SPDX-License-Identifier: MIT */
/* The parts of a backup (backup.h), for this room alone. */
#ifndef STORE_BACKUP_COPY_H
#define STORE_BACKUP_COPY_H

#include "base/arena.h"
#include "store/backup.h"
#include "store/log_internal.h"
#include "store/store_internal.h"

#define MANIFEST_NAME ".backup"

/* One log as it was copied. */
struct copied {
	const char *name;
	uint64_t bytes, device, inode;
	uint32_t crc; /* of those bytes */
	uint32_t head_crc; /* of the first of them, when its size was taken; not written down */
};

/* The folder of the store that a backup is of. */
struct backup_owner {
	bool known; /* backups of earlier versions do not say it */
	const char *path; /* for people */
	uint64_t device, inode;
	int64_t born_ns; /* 0: nobody knows */
};

/* What an earlier backup copied, sorted by name. */
struct manifest {
	struct copied *items; /* in the arena */
	size_t count;
	bool there;    /* the folder is a backup */
	bool complete; /* … which was not interrupted, nor made by an earlier version: all that is in it is written down */
	struct backup_owner owner;
};

/* Whatever can be read of it. BOBBIN_ENOMEM, BOBBIN_EIO. */
int manifest_read(
	const struct store *target, struct arena *arena, struct manifest *ret_manifest, struct bobbin_error *error);
const struct copied *manifest_find(const struct manifest *manifest, const char *name);
/* `manifest->there` does not matter. */
int manifest_write(const struct store *target, const struct manifest *manifest, struct bobbin_error *error);

struct backup {
	struct store *source, *target;
	const struct store_backup_options *options;
	struct store_backup *counts;
	struct manifest earlier;
	struct backup_owner owner; /* the source */
	uint64_t total, done; /* bytes of logs to copy, for progress */
	char *piece;	      /* PIECE_BYTES */
};
#define BACKUP_PIECE_BYTES ((size_t)1 << 18)

/* Something of the store is not in the backup. */
int backup_leave_out(struct backup *backup, const char *name, const char *why, struct bobbin_error *error);
int backup_progress(struct backup *backup, const char *what, uint64_t more, struct bobbin_error *error);

/* Fills in its head_crc, by which backup_log knows it again: the number of its inode may be another's by then. */
int backup_head(struct backup *backup, int file, struct copied *log, struct bobbin_error *error);
/* Brings the copy of a log to `wanted->bytes`; fills in its crc. Durable on return. BOBBIN_ENOTFOUND: it was deleted;
 * BOBBIN_EBUSY: it is another one in the place of that. */
int backup_log(struct backup *backup, struct copied *wanted, struct bobbin_error *error);

/* How a log of the store stands to what the backup has under its name. */
enum standing {
	STANDING_SAME,	  /* it begins with that; and it is the very file that was copied */
	STANDING_BEGINS,  /* it begins with that */
	STANDING_ANEW,	  /* it is another session, made after that one was deleted */
	STANDING_LOST,	  /* it is that session, and does not have all of it */
	STANDING_MISSING, /* there is no such log, or nothing that would be opened */
};
/* `ret_written`: somebody wrote to the copy since it was made, and the log does not have that. BOBBIN_EIO, BOBBIN_ENOMEM. */
int backup_compare(struct backup *backup, const char *name, enum standing *ret_standing, bool *ret_written,
	struct bobbin_error *error);

/*
 * Whose the backup is (backup_owner.c): 0 and whether it was another folder's, BOBBIN_ECONFLICT, or BOBBIN_EEXIST if it has what
 * was written into it. Reads only. `shown`: the backup, in messages.
 */
int backup_owner_find(const struct store *source, struct arena *arena, struct backup_owner *ret_owner, struct bobbin_error *error);
int backup_owner_check(struct backup *backup, const char *shown, bool *ret_taken_over, struct bobbin_error *error);

/* Copies one file whole, if it is not there with the same content. A missing one is no error. */
int backup_file(
	struct backup *backup, int from_dir, int to_dir, const char *name, bool *ret_copied, struct bobbin_error *error);
/* The files of a folder and those below it. `grows`: files are only added, and one of the same size is the same; else
 * what is not in the source is taken away in the copy. */
int backup_folder(struct backup *backup, const char *name, bool grows, struct bobbin_error *error);

#endif
