/* SPDX-License-Identifier: MIT */
/*
 * A copy of a whole store, consistent while others append, fork and delete.
 *
 *	1  sizes     of all logs, forks before what they were forked from, each under its lock, so that it ends in whole lines
 *	2  copies    of everything else, then of the logs up to those sizes, parents before their forks
 *	3  gone      what was deleted meanwhile is taken out again, looked for parents first
 *
 * Logs only grow, so what stands below a size never changes, and the second step may take its time.
 *
 * Invariants:
 * (1) A fork in the copy finds there what it inherits: its parent's size was taken after its own, and the parent's bytes
 *     were there before it. Should the parent be deleted before it is copied, the fork was deleted before that, and is taken
 *     out in step 3; should it have got a copy of what it inherits instead, that copy is copied after the logs.
 * (2) The blobs that a log names are copied: they were there before the line that names them, and are copied after the
 *     sizes were taken. Facts and actions are as of a later moment than the logs: an effect that a log speaks of is in the
 *     journal.
 * (3) A backup that is brought up to date is usable at every moment, also after a crash or with a full disk: logs in it only
 *     grow, and a parent's grows, durably, before its fork's does. A new one appears under its name when it is whole.
 * (4) Nothing is trusted for its name: what an earlier backup copied must be the beginning of what is there now, or it is
 *     copied anew. What was written into the backup itself is not overwritten: BOBBIN_EEXIST.
 *
 * (5) No store wipes another's backup, and none that was put back to an earlier state its own: see backup_owner.c for whose a
 *     backup is. What is refused for that has changed nothing.
 *
 *	BACKUP/.backup    the store's folder; what was copied: of each log its size, CRC-32C, device and inode
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "store/store.h"

struct store_backup_options {
	/* NULL, or told how many bytes of how many are copied; a negative code ends the backup with it. */
	int (*progress)(void *data, const char *what, uint64_t done, uint64_t total);
	/* NULL, or told what of the store is not copied, and why: a log or another file that would not be opened in a store,
	 * the database if it is damaged. What an earlier backup has of it stays. A negative code ends the backup with it. */
	int (*left_out)(void *data, const char *name, const char *why);
	void *data;
};

struct store_backup {
	bool incremental;      /* there was an earlier one */
	bool taken_over;       /* … of another folder, of which this store has everything */
	uint64_t sessions;     /* in it now */
	uint64_t bytes;	       /* of their logs */
	uint64_t bytes_copied; /* of logs, this time */
	uint64_t removed;      /* sessions that were in the earlier one and are deleted since */
	uint64_t damaged;      /* that cannot be opened, in the store as little as in the copy */
	uint64_t refused;      /* whose file is a link, no file, or another user's: not copied */
	uint64_t left_out;     /* these, and whatever else options.left_out was told */
};

/*
 * Copies the store into the folder `path`, which must not exist, be empty, or be an earlier backup; its parent must exist. On
 * return all of it is on disk and has been read back. BOBBIN_EEXIST: there is something else, or it has been written to;
 * BOBBIN_ECONFLICT: it is another store's, or has messages that the store has not;
 * BOBBIN_EBUSY: another backup is at it, a log was locked for too long, or one was replaced meanwhile; BOBBIN_EINVAL: inside of the store itself;
 * BOBBIN_ENOSPC, BOBBIN_EIO, BOBBIN_ENOMEM, BOBBIN_ECORRUPT (the copy is not what was copied).
 */
int store_backup(struct store *store, const char *path, const struct store_backup_options *options,
	struct store_backup *ret_backup, struct bobbin_error *error);

#endif
