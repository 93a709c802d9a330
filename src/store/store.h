/* SPDX-License-Identifier: MIT */
/*
 * A store: the folder that holds sessions. This header has what concerns the folder and all of its sessions;
 * one session's log is in log.h.
 *
 *	STORE/              0700; its own .gitignore
 *	  main.jsonl        the log (log.h): the truth
 *	  main.meta.json    what lists show: a cache (meta.h)
 *	  main.turn         empty; flock(2) on it is the session's turn lock
 *	  main.base.jsonl   what a fork inherits, copied, once its parent is deleted
 *	  main/  blobs/  .cache/  bobbin.db      workspace, blobs, caches, facts: of other rooms
 *	  .lock             empty; flock(2) on it orders fork and delete
 *
 * Invariants: (1) every file is created with mode 0600, every folder with 0700, whatever the umask; (2) no
 * file in the store is ever opened through a symbolic link, and nothing but a regular file is; the store's
 * own path may lead through links; (3) a session id is checked by id_is_session before it becomes part of a
 * path; (4) opening and listing write nothing but caches, and not these in a store that is read only.
 *
 * Threads: a store may be shared between threads once it is open; handles made from it (struct log, struct
 * turn_lock) belong to one thread at a time. Handles must be closed before their store.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/platform.h"
#include "base/slice.h"

/* When a record counts as stored. */
enum store_sync {
	STORE_SYNC_FULL, /* after fdatasync(2): it survives a power cut */
	STORE_SYNC_NONE, /* after write(2): it survives the process, not a power cut */
};

struct store_options {
	bool create;	       /* make the folder (not its parents) if it is not there */
	bool force_filesystem; /* accept NFS, 9p, FUSE and the like, whose locks and syncs cannot be relied on
				*/
	bool read_only;	       /* whoever reads writes no caches either (the callers refuse all else); what it
			* knows of large logs stays in memory
			*/
	enum store_sync sync;  /* the default of sessions that do not say it themselves */
	uint64_t index_step;   /* bytes of a log that may come after what its index file covers; 0:
				* STORE_INDEX_STEP
				*/
	uint32_t index_memory; /* records whose entries a handle keeps in memory before they are left to the
				* index file; 0: STORE_INDEX_MEMORY
				*/
	uint32_t catalogue_step; /* logs that a list opens, from which on it writes a new catalogue; 0:
				  * STORE_CATALOGUE_STEP
				  */
	int64_t stamp_tick_ns; /* the longest step of the clock that stamps files; 0: STORE_STAMP_TICK_NS,
				* negative: no session is ever made anew under its id
				*/
};
#define STORE_INDEX_STEP (256u << 10)
#define STORE_INDEX_RECORDS 256 /* likewise, records */
#define STORE_STAMP_TICK_NS INT64_C(20000000) /* kernels have 1 to 10 ms */
#define STORE_INDEX_MEMORY 8192 /* about 1.5 MiB */
#define STORE_CATALOGUE_STEP 64

struct store;

/*
 * Opens the folder at `path` (at most LIMIT_PATH_BYTES). options NULL: all defaults.
 * BOBBIN_ENOTFOUND without `create`; BOBBIN_EREFUSED with the reason if it belongs to another user, others
 * may write to it, it is not a folder, or its file system is refused by name. BOBBIN_EINVAL, BOBBIN_EIO,
 * BOBBIN_ENOMEM. A folder others may only read (0755) is accepted as it is: its files are 0600.
 */
int store_open(const struct platform *platform, const char *path, const struct store_options *options,
	struct store **ret_store, struct bobbin_error *error);
void store_close(struct store *store); /* NULL allowed */

const struct platform *store_platform(const struct store *store);
int store_dir(const struct store *store); /* descriptor of the folder, for rooms that keep files beside */
bool store_has(const struct store *store, struct slice id); /* a log of that name exists (a bad id: false) */
/* None exists. Not the opposite of store_has: if nobody can tell, both are false. The same of the copy of what it inherits. */
bool store_lacks(const struct store *store, struct slice id);
bool store_has_copy(const struct store *store, struct slice id);
bool store_lacks_copy(const struct store *store, struct slice id);
/* The sessions beside which such a copy stands, by its size, the largest first. In the arena. BOBBIN_EIO, BOBBIN_ENOMEM. */
int store_list_copies(struct store *store, struct arena *arena, const char *const **ret_ids, size_t *ret_count,
	struct bobbin_error *error);

/* One session as a list shows it. Texts live in the arena of the call and are NUL-terminated. */
struct store_entry {
	const char *id;
	const char *owner;     /* "" if unknown */
	const char *title;     /* "" if none */
	const char *parent_id; /* "" if it is no fork */
	const char *repaired_from; /* the session that a repair made it of, or "" */
	uint64_t forked_at;    /* messages inherited */
	uint64_t messages;     /* on its line, inherited ones included: as last cached, or counted */
	bool messages_known;   /* they were counted, or messages_exact: else nobody may be told the number */
	bool messages_exact;   /* the log has not changed since */
	uint64_t last_seq;     /* of the newest record that the end of the log shows; 0 if unknown */
	uint64_t bytes;	       /* of its own log */
	int64_t updated_ns;    /* modification time of the log */
	bool damaged;	       /* the header cannot be read: `bobbin doctor` says more */
	bool unread;	       /* `damaged`, but only because it could not be read: that says nothing about what stands there */
	const char *why;       /* of `damaged`: a few words, not in the arena; else NULL */
};

struct store_list_options {
	const char *owner;     /* only this owner's, exactly; NULL: everybody's */
	const char *title;     /* only titles that contain this (ASCII case ignored); NULL: all */
	const char *parent_id; /* only direct forks of this session; NULL: all */
	size_t limit;	       /* 0: no limit */
	bool count;	       /* messages that no cache knows are counted, by opening the log */
};

/*
 * Sessions, newest log first (equal times: by id). Reads a bounded number of bytes a session (meta, first and
 * last lines of the log), never whole logs; with `count` also what no index file covers, of at most LIMIT_LIST_COUNT_BYTES of
 * all logs, newest first. One damaged session is listed as damaged and stops nothing.
 * options NULL: everything. BOBBIN_EIO, BOBBIN_ENOMEM.
 */
int store_list(struct store *store, const struct store_list_options *options, struct arena *arena,
	struct store_entry **ret_entries, size_t *ret_count, struct bobbin_error *error);

/* Like store_list for one session. BOBBIN_EINVAL (bad id), BOBBIN_ENOTFOUND. */
int store_entry(struct store *store, struct slice id, struct arena *arena, struct store_entry *ret_entry,
	struct bobbin_error *error);

/*
 * Deletes a session's log, what it has as a copy, meta, turn lock, caches and memory file. Its workspace goes too, with the
 * contents in blobs/ that no other log names. BOBBIN_EREFUSED names a fork that refers to it (from the headers of all logs,
 * not from caches), or a log that cannot be read and so may be one; BOBBIN_EBUSY while a turn or an append
 * runs; BOBBIN_ENOTFOUND if nothing of it is there, also nothing that a deletion left when it was killed;
 * BOBBIN_EINVAL, BOBBIN_EIO.
 * On return with 0 the folder is synced: it will not come back.
 */
int store_delete(struct store *store, struct slice id, struct bobbin_error *error);
/* The same, and forks do not keep it: each that has none gets a copy of what it inherits first, ID.base.jsonl, durable
 * before anything is deleted. Their own logs are not touched. That takes as long as writing what they inherit, and
 * nobody can fork or delete meanwhile. If it fails, what was copied stays and does no harm. BOBBIN_ECORRUPT: a fork
 * cannot be read. */
int store_delete_materialized(struct store *store, struct slice id, struct bobbin_error *error);
/* What an interrupted deletion left of a session whose log is gone, and nothing else: BOBBIN_ECONFLICT if there is a log. */
int store_delete_leftovers(struct store *store, struct slice id, struct bobbin_error *error);
/* The same for a session without a record, from which nothing can be inherited: only if its log has exactly
 * `bytes`, those of its header, else BOBBIN_ECONFLICT. Forks are not looked for. */
int store_delete_unused(struct store *store, struct slice id, uint64_t bytes, struct bobbin_error *error);

/*
 * The turn lock of a session: at most one turn at a time over all processes. The kernel lets go of it when
 * the process dies. wait_ms: 0 to give up at once, otherwise the longest wait. BOBBIN_EBUSY when somebody
 * else has it. It does not keep anybody from appending: the log has its own lock, held only during an append.
 */
struct turn_lock;
int store_turn_lock(struct store *store, struct slice id, int64_t wait_ms, struct turn_lock **ret_lock,
	struct bobbin_error *error);
void store_turn_unlock(struct turn_lock *lock); /* NULL allowed */

#endif
