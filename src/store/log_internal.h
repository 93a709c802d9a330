/* SPDX-License-Identifier: MIT */
/* The inside of a log's handle, shared by log.c (opening, reading on), log_append.c, log_fork.c, log_read.c
 * and log_path.c. */
#ifndef STORE_LOG_INTERNAL_H
#define STORE_LOG_INTERNAL_H

#include "store/header.h"
#include "store/index.h"
#include "store/log.h"
#include "tokens/counter.h"

#define LOG_NAME_BYTES (LIMIT_SESSION_ID_BYTES + 24) /* .ID.base.jsonl.tmp and the like */

struct log {
	struct store *store;
	const struct platform *platform;
	int file;
	enum log_mode mode;
	char id[LIMIT_SESSION_ID_BYTES + 1];
	char name[LOG_NAME_BYTES]; /* of the file */
	char stem[LOG_NAME_BYTES]; /* of its caches' names: the file's, without .jsonl */
	bool is_copy;		   /* the file is what session `id` inherits, copied (log_materialize.c) */
	uint64_t device, inode;
	bool loose;	  /* others may read the file: the first append changes that */
	bool sync_failed; /* closed for writing */
	bool broken;	  /* the file is not what was read from it any more */
	bool appended;	  /* meta.json is behind */
	bool raw;	  /* read from the log's bytes alone: no index file is read or written */
	bool salvage;	  /* also without a header or ancestors that can be trusted (log_repair.h) */
	bool header_lost; /* what the header said is lost … */
	bool parent_lost; /* … or what it was forked from cannot be used */
	bool base_damaged; /* salvaged: what it was forked from is there, but not all that was, see log_base.c */
	bool emptied;	  /* salvaged, with no record in it, though it had some (log_lost.c) … */
	uint64_t emptied_messages; /* … so many messages on its line, with those that it inherited; 0: nobody knows */

	struct session_line line;      /* what the log itself says */
	struct session_line ancestry;  /* where the inherited messages are, as they were found */
	struct session_line unwritten; /* what only meta.json says, or had to be found out */
	bool has_unwritten;
	struct log_info info;

	struct log *base;
	struct arena scratch; /* of one line */
	struct index index;
	bool has_pending; /* the last fault is an unterminated line: it may become whole */
	struct index_mark before_pending;
	bool hidden;	      /* a new one under a temporary name, which stays locked until log_appear */
	bool locked;	      /* by this handle, which must not let go of it for something within */
	bool sealing;	      /* under the lock: what ends the file will not go on */
	uint64_t saved_bytes; /* an index file is known to cover so much of the log */
	uint32_t saved_records;
	uint64_t synced_bytes; /* so much of the log is known to be durable */
	uint64_t read_max;     /* beyond the index, to open it; what is opened below it has the same limit */
	uint64_t read_bytes;   /* that had to be */
	bool loading;	       /* what is read goes to the index file as it comes */

	struct token_sums *token_sums; /* exact ones of its own messages (token_sums.h); NULL: none were asked for */
};

/* A new handle that owns `file`; the file is closed if it fails. */
int log_new(struct store *store, struct slice id, int file, enum log_mode mode, struct log **ret_log,
	struct bobbin_error *error);
void log_free(struct log *log); /* without writing anything; NULL allowed */

/* Reads everything up to `size`. With log->sealing an unterminated tail is final. */
void log_drop_pending(struct log *log); /* forgets an unterminated line, to be looked at again */
int log_read_on(struct log *log, uint64_t size, struct bobbin_error *error);

/* Opens a file that holds a copy of what session `id` inherits. BOBBIN_ENOTFOUND. */
int log_open_copy(struct store *store, const char *id, const char *name, bool raw, uint64_t read_max,
	struct log **ret_log, struct bobbin_error *error);
/* Opens a log for reading if not more than so many bytes of it must be read for that, nor of any ancestor; else
 * BOBBIN_ELIMIT. */
int log_open_within(struct store *store, const char *id, uint64_t read_max, struct log **ret_log);
/* ID.base.jsonl: the name of such a file. */
void log_copy_name(const char *id, char ret_name[LOG_NAME_BYTES]);
/* Gives a session a copy of its own of what it inherits, if it inherits anything and has none (log_materialize.c). On
 * return the copy is durable but for its name. Nobody may delete the ancestors meanwhile (the store's lock). */
int log_copy_base(struct store *store, const char *id, struct bobbin_error *error);
/* Whether it has one, and opens with it. BOBBIN_ENOMEM. */
int log_stands_alone(struct store *store, const char *id, bool *ret_alone);
/* The node that a fork's header names, in the file of `base` itself; NODE_NONE: it is not there, or not what was
 * forked. */
uint32_t log_find_pinned(const struct log *base, const struct session_line *said);

/* Finds the base and reads the whole log. `above`: the logs this one is opened for, to see cycles. */
struct log_chain {
	const char *id;
	const struct log_chain *below;
	unsigned depth;
};
int log_load(struct log *log, const struct log_chain *above, struct bobbin_error *error);
/* Opens an ancestor, for reading. */
int log_open_below(struct store *store, struct slice id, const struct log *above,
	const struct log_chain *below, struct log **ret_log, struct bobbin_error *error);

/* ---- The index file (log_index.c, log_save.c): a cache, so that none of it can fail a call ---- */

/* Empties the index and sets it upon the base that `said` names. */
int log_begin_again(struct log *log, const struct session_line *said, const struct log_chain *chain,
	struct bobbin_error *error);
/* What stands only in meta.json. Logs with a header of ours have it all themselves. */
int log_read_unwritten(struct log *log, struct session_line *ret_said, struct bobbin_error *error);

/* A log without any record, of which `meta` (NULL: it has none) or its index file tells that it had some: BOBBIN_ECORRUPT, or
 * noted if it is salvaged (log_lost.c). BOBBIN_EIO: nobody can tell. */
struct meta;
int log_check_emptied(struct log *log, const struct meta *meta, struct bobbin_error *error);

/* What log_find_cut finds (log.h). */
void log_note_cut(struct log *log);   /* of a writer: its first append says so */
void log_forget_cut(struct log *log); /* if somebody else has said it since */
/* The line that says so, as a fault: for whoever reads it and whoever writes it. BOBBIN_ENOMEM. */
int log_enter_cut(struct log *log, uint64_t was, uint64_t line, uint64_t offset);

/* Begins with what an index file says, if there is one that fits. BOBBIN_ENOMEM, or 0. */
int log_attach_index(struct log *log, const struct log_chain *chain, struct bobbin_error *error);
/* Whether the trailer is of this log, as far as `size` bytes of it tell: 1 or 0, or negative as errno: it cannot be read. */
struct index_trailer;
int log_index_fits(const struct log *log, const struct index_trailer *trailer, const struct file_info *info);
/* CRC-32C of the bytes from `from` to `to`, at most INDEX_EDGE_BYTES: 1; 0: the log ends before; negative: it cannot be read. */
int log_edge_crc(const struct log *log, uint64_t from, uint64_t to, uint32_t *ret_crc);
void index_name(const char *id, char ret_name[LOG_NAME_BYTES]);

/* Writes what came since, if that is much. What was read must be durable; `unsynced`: it is synced first. */
void log_save_index(struct log *log, bool unsynced);
/* While a log is read: writes what has come, if it is much to keep in memory, and lets it go. */
void log_spare_memory(struct log *log);
struct index_file;
struct index_file *log_open_index(const struct log *log); /* NULL: there is none */
int log_reload_index(void *data, struct index *ret_index); /* index_attach's: data is the log */

/* A sync failed: the kernel may have forgotten what it could not write, and later syncs say nothing of that. From then
 * on no index file covers more of this log. */
void log_mark_unsynced(const struct log *log);
bool log_is_marked_unsynced(const struct log *log, int dir);

/* The exact tokens of the line to `node`, whose hash is `chain`: known, or counted now (log_tokens.c). BOBBIN_ENOMEM,
 * BOBBIN_EIO, BOBBIN_ECORRUPT. */
int log_line_tokens(struct log *log, uint32_t node, uint64_t chain, struct token_counter *counter,
	uint64_t *ret_tokens, struct bobbin_error *error);
/* The log of the ancestry whose own message it is. */
struct log *log_of(struct log *log, uint32_t node);

/* What an entry of an index says; `level` is how far below the log its file is. */
void log_node_of(const struct index_node *entry, uint32_t level, struct log_node *ret_node);
/* Turns a failure of the index into `rc`'s place. */
int log_checked(const struct log *log, int rc, struct bobbin_error *error);

/* The file's state under its name: BOBBIN_ENOTFOUND if it is gone, BOBBIN_ECORRUPT if another one is there or
 * it shrank. */
int log_check_file(struct log *log, uint64_t *ret_size, struct bobbin_error *error);

/* The exclusive lock for appending, waited for at most `wait_ms`. Also for every sync: whoever holds it sees the mark of
 * each sync that has failed (log_mark_unsynced). BOBBIN_EBUSY. */
int log_lock_within(struct log *log, int64_t wait_ms, struct bobbin_error *error);
int log_lock(struct log *log, struct bobbin_error *error); /* at most LIMIT_LOCK_WAIT_MS */
void log_unlock(struct log *log);

/* Refreshes log->info from what is known. */
void log_set_info(struct log *log);

/* The record's bytes, NUL-terminated, in the arena; checked against `crc`. */
int log_read_bytes(struct log *log, uint64_t offset, uint32_t length, uint32_t crc, struct arena *arena,
	const char **ret_bytes, struct bobbin_error *error);

/* Takes one line of the file into the index (log_scan.c); data is the log. */
struct scan_line;
int log_take_line(void *data, const struct scan_line *line, struct bobbin_error *error);

/* Makes a file with this first line appear under the log's name, durably; hands out its descriptor
 * (log_create.c). */
int log_make_file(struct store *store, const char *id, struct slice first_line, bool durable, int *ret_file,
	struct bobbin_error *error);
/* The same with all that `fill` writes into the file, which is open for appending. */
struct log_filling {
	int (*fill)(void *data, int file, const char *name, struct bobbin_error *error);
	void *data;
};
int log_make_filled(struct store *store, const char *id, const struct log_filling *filling, bool durable,
	int *ret_file, struct bobbin_error *error);
/* Takes away what a hidden log has written. */
void log_vanish(struct log *log);
int log_create_with(struct store *store, struct session_line *line, bool new_id, int *ret_file, uint64_t *ret_size,
	struct bobbin_error *error);
int log_create_line(struct store *store, const struct log_create_options *options,
	struct session_line *ret_line, struct bobbin_error *error);

#endif
