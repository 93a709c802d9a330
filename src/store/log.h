/* SPDX-License-Identifier: MIT */
/*
 * A session's log: a file of JSON lines that only grows, and the message tree it holds.
 *
 *	{"type":"session","id":"s-8f3a","owner":"ana","v":1,"segment_bytes":16384,"ts":"…","crc":"5f1c09aa"}
 *	{"seq":1,"role":"user","content":"When will my order arrive?","ts":"…","crc":"…"}
 *	{"seq":2,"type":"usage","for":"m1",…,"crc":"…"}
 *
 * RECORDS are all well-formed lines of this log's own file in file order, by number from 0: messages and
 * control records (an object without a role). NODES are the messages, those inherited by a fork included, by
 * number from 0. A parent's node numbers are the same in its forks. Numbers never change while a handle is
 * open, refresh only adds.
 *
 *	parent P   node 0  1  2  3  4  5  6            fork F of P at node 3: inherits the line 0 1 2 3
 *	fork F     node 0  1  2  3  |  4  5            its own messages are numbered on from there
 *
 * A node's id is its "id", or m<seq>. (session, id) names it; of two equal ids a fork's own comes first.
 * Every node is also found by m<seq>, its short name, which no client's id can be.
 *
 * Invariants:
 * (1) Opening and reading never write. Bytes that were acknowledged are never changed or removed.
 * (2) Every record is one line, written by one write(2) under an exclusive lock; if the file does not end in
 * a newline, that write begins with one. An unterminated last line counts iff it is a whole record. (3) What
 * append acknowledged is on disk (mode full), is found by every later open, and has a sequence number nobody
 * else has. What it refused has left no trace. (4) A line that cannot be read is a fault (see log_faults) and
 * stops nothing after it. The message after it is marked NODE_GAP. (5) The head moves iff a message's parent
 * is the head, or it says "branch":true, or by a rewind record. `ts` orders nothing. (6) Bytes read back are
 * checked against what was indexed: a log cut or swapped under a handle gives BOBBIN_ECORRUPT or BOBBIN_EIO,
 * never other bytes and never a crash.
 *
 * Threads: a handle belongs to one thread at a time. Several handles, threads and processes may have the same
 * log. All functions take error NULL. Node and record arguments must come from the same handle; others are
 * checked and give BOBBIN_EINVAL.
 */
#ifndef STORE_LOG_H
#define STORE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/slice.h"
#include "store/store.h"
#include "transcript/message.h"
#include "transcript/path.h"

#define LOG_VERSION 1
#define NODE_NONE UINT32_MAX
#define RECORD_NONE UINT32_MAX

struct log;

/* ---- Making, opening, closing ----------------------------------------------------------------------------
 */

enum log_mode { LOG_READ, LOG_WRITE };

struct log_create_options {
	struct slice id;	/* {NULL, 0}: a new one is made */
	struct slice owner;	/* at most LIMIT_OWNER_BYTES of UTF-8; may be empty */
	struct slice title;	/* at most LIMIT_TITLE_BYTES; may be empty */
	uint32_t segment_bytes; /* 0: LOG_SEGMENT_BYTES_DEFAULT; fixed for the session's life */
	int sync;	      /* enum store_sync; LOG_SYNC_STORE: the store's default, and not written down */
	bool redact_on_write; /* messages and titles are masked (transcript/mask.h) before they are written */
};
#define LOG_SEGMENT_BYTES_DEFAULT 16384u
#define LOG_SYNC_STORE (-1)
/* clang-format off */
#define LOG_CREATE_OPTIONS_INIT {{NULL, 0}, {NULL, 0}, {NULL, 0}, 0, LOG_SYNC_STORE, false}
/* clang-format on */

/* A new session with its header line; the file and its name are durable on return (mode full). The handle is
 * open for writing. BOBBIN_EEXIST, BOBBIN_EINVAL (bad id, owner, title), BOBBIN_ENOSPC, BOBBIN_EIO. */
int log_create(struct store *store, const struct log_create_options *options, struct log **ret_log,
	struct bobbin_error *error);

/*
 * The same for a session that nobody can see before log_appear: it is written under a temporary name, which the handle has
 * locked. Appending works as ever; of caches only an index file is written, once it is large. Closed without having appeared, or killed, it never was; what a killed
 * process leaves under that name is taken away by the next creation of that id, its deletion, or the doctor.
 * BOBBIN_EEXIST: there is a session of that id; BOBBIN_EBUSY: somebody else is making one; else as log_create.
 */
int log_create_hidden(struct store *store, const struct log_create_options *options, struct log **ret_log,
	struct bobbin_error *error);
/* Gives it its name, durably (mode full). BOBBIN_EEXIST: somebody else took it meanwhile; it can still be closed. */
int log_appear(struct log *log, struct bobbin_error *error);

/*
 * Opens a session and its ancestors. BOBBIN_ENOTFOUND; BOBBIN_EINVAL (bad id); BOBBIN_EREFUSED (a link, no
 * regular file, another user's); BOBBIN_ECORRUPT: a header that is damaged, or an ancestor that is missing,
 * damaged, cyclic or not what was forked: never an empty session in its place.
 * LOG_WRITE gives BOBBIN_EREADONLY for a log of a newer version and BOBBIN_EREFUSED for one that others may
 * write to (mode & 022); LOG_READ opens both. A log that others may only read (0644) is accepted; the first
 * append makes it 0600.
 */
int log_open(struct store *store, struct slice id, enum log_mode mode, struct log **ret_log,
	struct bobbin_error *error);

/*
 * For the doctor: for reading, from the bytes of the log and of those it inherits from alone; no index file is read or
 * written. `salvage`: also where log_open says BOBBIN_ECORRUPT: a header that is damaged is a fault like that of any
 * line, and what is inherited from a log that is missing, damaged or changed is left out (log_lost tells).
 */
int log_open_raw(struct store *store, struct slice id, bool salvage, struct log **ret_log,
	struct bobbin_error *error);
struct log_lost {
	bool header; /* cannot be read: owner, title and lineage are not known from the log */
	bool parent; /* it is read without what it inherited */
};
struct log_lost log_lost(const struct log *log);

/* How long the log was once, if its meta counts more bytes than there are, knows a last message that is not there, and no line
 * says so yet (then it is a fault, FAULT_CUT); else 0. A cache that cannot be read says nothing. */
uint64_t log_find_cut(struct log *log);

/* Sees what others appended since. Takes no lock. BOBBIN_ECORRUPT when the file shrank or is another one: the
 * handle is then good for nothing but closing. */
int log_refresh(struct log *log, struct bobbin_error *error);

/* Writes the meta file if this handle appended something (failure is ignored: it is a cache) and closes. NULL
 * allowed. */
void log_close(struct log *log);

/* Writes the meta file now, atomically (old or new, never half). */
int log_write_meta(struct log *log, struct bobbin_error *error);

/* From the header, later session lines, and (for what those do not say) meta.json. Lives as long as the
 * handle. */
struct log_info {
	const char *id;
	const char *owner, *title; /* "" if none */
	const char *created;	   /* ts of the header; "" if none */
	uint64_t version;	   /* 0: no header */
	uint32_t segment_bytes;
	enum store_sync sync;
	bool redact_on_write;
	bool writable; /* false: LOG_READ, a newer version, or after a failed sync */
	bool has_watermark;
	uint64_t watermark; /* messages before the cut, from stores that kept it in meta.json only */

	const char *parent_id; /* "" if it is no fork; then the rest is 0 and "" */
	const char *base_id;   /* the log that holds `through`: the parent or one of its ancestors */
	const char *through;   /* id of the last inherited message; "" if none is inherited */
	uint64_t forked_at;    /* inherited messages */
	uint64_t parent_seq, parent_end, parent_hash;
	const char *repaired_from; /* the session that a repair made this one of; "" if none did */
	uint64_t parent_size; /* of the base's log when it was forked: what stands behind it came later; 0: not known */
};
const struct log_info *log_info(const struct log *log);

/* ---- Appending -------------------------------------------------------------------------------------------
 */

/* What an appended record became. */
struct log_ack {
	uint64_t seq;
	uint32_t record;	/* RECORD_NONE if `repeated` and inherited */
	uint32_t node;		/* NODE_NONE for control records */
	bool repeated;		/* the same id and bytes were there already */
	bool aside;		/* stored beside the head because of a conflict */
	char id[PATH_ID_BYTES]; /* a message's id; "" for control records */
};

enum log_conflict {
	LOG_CONFLICT_REFUSE, /* BOBBIN_ECONFLICT, nothing is written */
	LOG_CONFLICT_ASIDE,  /* the messages are stored as a side branch below `expected`; the head stays */
};

struct log_append_options {
	bool check_head;	    /* compare and swap: the head must be `expected_head` */
	struct slice expected_head; /* its id; {NULL, 0}: there must be no message yet */
	enum log_conflict on_conflict;
};

/*
 * Appends `count` records, JSON objects as text, in one go under the log's lock: one write each, one sync at
 * the end; returns 0 once all of that is done. options NULL: no check. ret_acks (NULL allowed) has room for
 * `count`. What is wrong with any of them is found before the first is written. If writing fails on the way,
 * the records before the failure are stored: their acks have a seq, the others' is 0. Memory: the sum of the
 * records.
 *
 * A record with "role" is a message, one without is a control record and must have "type" (a string; any but
 * "session"). Members "seq" and "crc" are replaced; "ts" is kept if it is a string, else replaced; all other
 * bytes stay, but for white space between members and line breaks between tokens.
 *
 * Messages: checked by message_parse; role system or developer is refused; "id" may be given but not of the
 * form m[1-9][0-9]*; "parent" must be null or a message of this session that is already stored (also earlier
 * in this call). Without "parent" the head is the parent, but for a tool result whose call is not open in the
 * head's batch: its parent is its call, and the head stays. A "rewind" record moves the head to the message
 * "to" names (null: before the first); log_rewind does that with checks. Only messages take part in
 * check_head. A message that is stored already (same id, same bytes but for seq, ts, crc) is acknowledged
 * again, before the head is compared, and not written; a call that failed half way can be repeated.
 *
 * BOBBIN_EINPUT: not such a record, a duplicate key, an unknown parent (error->line: 1-based number of the
 * record); BOBBIN_EEXIST: the id is taken by other bytes; BOBBIN_ECONFLICT; BOBBIN_EBUSY: the log's lock was
 * not free within LIMIT_LOCK_WAIT_MS; BOBBIN_ENOSPC, BOBBIN_EIO: the record was not stored, the next append
 * may work; BOBBIN_EUNKNOWN: the sync failed, whether the records are durable is unknown, and the handle
 * refuses to write (BOBBIN_EREADONLY) until the log is opened anew; BOBBIN_ELIMIT: a line over
 * LIMIT_LINE_BYTES; BOBBIN_ENOTFOUND: the session was deleted; BOBBIN_ECORRUPT: the file is another one now.
 */
int log_append(struct log *log, const struct slice *records, size_t count,
	const struct log_append_options *options, struct log_ack *ret_acks, struct bobbin_error *error);

struct log_rewind {
	uint32_t node; /* the new head; NODE_NONE: before the first message */
	bool gap;      /* a damaged place lies between the old head and the new one */
	uint64_t seq;  /* of the rewind record */
};
/* Moves the head to the message `to` ({NULL, 0}: before the first), backwards or forwards, by appending
 * {"type":"rewind","to":…}. BOBBIN_ENOTFOUND if there is no such message; else as log_append. */
int log_rewind(struct log *log, struct slice to, struct log_rewind *ret_result, struct bobbin_error *error);

/* Changes the title by appending a session line. Errors as log_append. */
int log_set_title(struct log *log, struct slice title, struct bobbin_error *error);

/* ---- Forking ---------------------------------------------------------------------------------------------
 */

/* clang-format off */
#define LOG_FORK_OPTIONS_INIT {LOG_CREATE_OPTIONS_INIT, false, 0, {NULL, 0}}
/* clang-format on */
struct log_fork_options {
	struct log_create_options create; /* id, owner, title, sync; segment_bytes 0: the parent's */
	bool by_count;	 /* keep the first `count` messages of the line, else through message `at` */
	uint64_t count;	 /* 0 … messages on the line */
	struct slice at; /* inclusive; a message anywhere in the tree: the fork's line leads to it */
};

struct log_fork {
	char id[LIMIT_SESSION_ID_BYTES + 1]; /* the new session */
	uint64_t kept;			     /* messages inherited */
	uint64_t walked_back; /* how many fewer than asked for, so that no call is parted from its results */
	bool gap;	      /* a damaged place of the log lies in what was kept: a message may be missing */
	char through[PATH_ID_BYTES]; /* the last one kept; "" for none */
};

/*
 * A new session whose first messages are those of `parent` (refreshed first, synced; its bytes do not
 * change). Costs a header line whatever the parent's size. What is inherited: the line up to the cut, and
 * late results of its calls that lie before the cut in the file. BOBBIN_ENOTFOUND: no such message;
 * BOBBIN_EINVAL: count too large; BOBBIN_ELIMIT: over LIMIT_FORK_DEPTH ancestors; else as log_create.
 * ret_child (NULL allowed: the child stays closed) is opened for writing, which reads both logs; if only that
 * fails, the child is there all the same. No owner given: the parent's.
 */
int log_fork(struct log *parent, const struct log_fork_options *options, struct log_fork *ret_fork,
	struct log **ret_child, struct bobbin_error *error);

/* The log that `log` inherits from (info->base_id), with all of its records, also those after the cut; NULL
 * if it is no fork. Owned by `log`, for reading only. */
struct log *log_base(const struct log *log);

/* ---- The message tree ------------------------------------------------------------------------------------
 */

enum {
	NODE_LATE = 1,	  /* a result outside the batch it answers: hangs on its call, beside the line */
	NODE_ORPHAN = 2,  /* a result whose call is not in the log */
	NODE_GAP = 4,	  /* a line before it could not be read, or its parent is not there: a message may be
			     missing */
	NODE_CRC = 8,	  /* its crc does not match: it is shown, and reported */
	NODE_OWN_ID = 16, /* the id was given by the client */
	NODE_BRANCH = 32, /* says "branch":true */
};

struct log_node {
	uint32_t parent; /* NODE_NONE: a root */
	uint32_t depth;	 /* messages before it on its line */
	uint64_t seq;
	enum message_role role;
	enum message_origin origin;
	enum message_marker marker;
	uint32_t flags; /* NODE_… */
	uint32_t calls;
	uint32_t level;	 /* 0: of this log's file; 1: of its base; … */
	uint64_t offset; /* of its line in that file */
	uint32_t length; /* of the record, without line break */
	uint64_t chain;	 /* hash over its line up to here (index.h) */
};

uint32_t log_node_count(
	const struct log *log); /* some of them inherited files' nodes that are not part of this session */
int log_node(const struct log *log, uint32_t node, struct log_node *ret_node);
/* The same, with the words for what cannot be read. */
int log_look_up_node(const struct log *log, uint32_t node, struct log_node *ret_node, struct bobbin_error *error);
uint32_t log_head(const struct log *log);		 /* NODE_NONE: no message */
bool log_has_node(const struct log *log, uint32_t node); /* part of this session */

/* The node with this id, or, if none has it, with this number in the form m<seq>: O(log n). Wherever a record
 * names a message ("parent", "to"), it is found in the same way. BOBBIN_ENOTFOUND, BOBBIN_EIO,
 * BOBBIN_ECORRUPT, BOBBIN_ENOMEM. */
int log_find(struct log *log, struct slice id, uint32_t *ret_node, struct bobbin_error *error);
int log_node_id(struct log *log, uint32_t node, char ret_id[PATH_ID_BYTES], struct bobbin_error *error);
/* The same if the id has at most LOG_SHORT_ID_BYTES, else m<seq>: for what a model reads and for records. The
 * ids of a path are these. */
#define LOG_SHORT_ID_BYTES 12
int log_short_id(struct log *log, uint32_t node, char ret_id[PATH_ID_BYTES], struct bobbin_error *error);

/* The node at `depth` on the line to `node`: O(log n). NODE_NONE if it is shorter. */
uint32_t log_ancestor(const struct log *log, uint32_t node, uint32_t depth);
/* An index that cannot be read answers these three, and log_find, as if nothing were there: 0 if none did since this was asked
 * last, else why. BOBBIN_EIO, BOBBIN_ENOMEM, BOBBIN_ECORRUPT. */
int log_failure(const struct log *log, struct bobbin_error *error);
/* Whether `node` is on the line to `head`: O(log n). */
bool log_on_line(const struct log *log, uint32_t node, uint32_t head);
/* 1 and where it stands on that line, from 0; 0 if it is not on it; less than 0 and why if that cannot be told. */
int log_position(const struct log *log, uint32_t node, uint32_t head, uint32_t *ret_position, struct bobbin_error *error);
/* The line to `node` (NODE_NONE: empty), first message first, in the arena. */
int log_line(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count);
/* Messages whose parent is `node` (NODE_NONE: the roots), in order of appearance; late results too. */
int log_children(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count);
/* Late results that answer calls of the assistant message `node`, oldest first. */
int log_late_results(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count);
/* Whether a damaged place lies on the line from `ancestor` (exclusive; NODE_NONE: from the start) to `node`.
 */
bool log_gap(const struct log *log, uint32_t ancestor, uint32_t node);

/* Reads and parses a message; bytes and strings live in `arena`. */
int log_message(struct log *log, uint32_t node, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error);

/* ---- Records ---------------------------------------------------------------------------------------------
 */

enum record_kind {
	RECORD_MESSAGE,
	RECORD_SESSION, /* the header and later additions to it */
	RECORD_USAGE,
	RECORD_REWIND,
	RECORD_RUN,
	RECORD_SEGMENT,
	RECORD_COMPACTION,
	RECORD_CLEAR,
	RECORD_FILE, /* a version of a workspace file */
	RECORD_SYSTEM, /* a system message of an old log: read, ignored, never shown */
	RECORD_OTHER,  /* a "type" this version does not know: kept */
	RECORD_KINDS,
};

struct log_record {
	enum record_kind kind;
	uint64_t seq;	 /* 0 for session lines */
	uint64_t offset; /* of the line in this log's file */
	uint32_t length;
	uint32_t node;	   /* of a message, else NODE_NONE */
	uint32_t head;	   /* the head once this record counts */
	uint32_t previous; /* the record of the same kind before it, or RECORD_NONE */
};

uint32_t log_record_count(const struct log *log); /* of its own file */
int log_record(const struct log *log, uint32_t record, struct log_record *ret_record);
int log_look_up_record(
	const struct log *log, uint32_t record, struct log_record *ret_record, struct bobbin_error *error);
/* Whether a record that is no message, of `log` itself or of an ancestor `at` of its, was written at a message of the line to `head`
 * (or before any): a node's number says so only below the cut, behind which the ancestor's numbers are other messages' here; and what
 * an ancestor wrote after it was forked is not of this session. */
bool log_record_on_line(const struct log *log, const struct log *at, const struct log_record *record, uint32_t head);
/* The same for a run, which begins with the message after it: that of an ancestor counts only where its own first message is on the
 * line. */
bool log_run_on_line(const struct log *log, const struct log *at, const struct log_record *record, uint32_t head);
/* The newest of a kind in its own file (walk on with ->previous), or RECORD_NONE. */
uint32_t log_newest(const struct log *log, enum record_kind kind);
/* Reads a record's exact bytes into the arena and validates them. */
int log_record_read(struct log *log, uint32_t record, struct arena *arena, struct json *ret_record,
	struct bobbin_error *error);

/*
 * Every record of a kind in a session's own file, in file order, and its session lines, without opening what it
 * inherits: one pass over the file. `word`: what stands in each such line, "\"usage\"". What `take` returns other than 0 ends
 * it. The id must be one. BOBBIN_ENOTFOUND, BOBBIN_EREFUSED, BOBBIN_EIO, BOBBIN_ENOMEM.
 */
struct store_taking {
	enum record_kind kind;
	const char *word;
	bool copy; /* of its copy of what it inherits instead; BOBBIN_ENOTFOUND if it has none */
	int (*take)(void *data, enum record_kind kind, const struct json *record, uint64_t offset,
		struct bobbin_error *error);
	void *data;
};
int store_take_records(
	struct store *store, struct slice id, const struct store_taking *wanted, struct bobbin_error *error);

enum fault_kind {
	FAULT_TORN,  /* ends in the middle; a write that was interrupted */
	FAULT_NULS,  /* NUL bytes where text should be */
	FAULT_UTF8,  /* invalid UTF-8 */
	FAULT_JSON,  /* not JSON for another reason */
	FAULT_GLUED, /* several values on one line: all whole records in it are read */
	FAULT_SHAPE, /* JSON, but no record: not an object, no role or type, a member of the wrong type */
	FAULT_CRC,   /* the crc does not match; the record is read */
	FAULT_DUPLICATE_KEY, /* a key stands twice; the last one counts; the record is read */
	FAULT_DUPLICATE_ID,  /* the message's id is taken; both are read, the first one is found by it */
	FAULT_PARENT,	     /* the parent is not in the log; read as if it followed the head */
	FAULT_REWIND,	     /* rewinds to a message that is not in the log; ignored */
	FAULT_SYSTEM,	     /* a system message, ignored */
	FAULT_TOO_LONG,	     /* over LIMIT_LINE_BYTES; skipped */
	FAULT_HEADER,	     /* a session line of the wrong shape after the first line; ignored */
	FAULT_SEQUENCE,	     /* a message's number is not above those before it; it is read */
	FAULT_CUT,	     /* the log was longer once: what stood from here on is lost */
	FAULT_MISSING,	     /* the first message's number says that there were records before it */
};

struct log_fault {
	enum fault_kind kind;
	uint64_t line;	 /* 1-based */
	uint64_t offset; /* of the line in the file */
	uint64_t length; /* of the line, without its line break */
	bool open;	 /* the end of the file: another process may be writing it right now */
};

/* The first LIMIT_FAULTS_REPORTED faults of its own file, in file order; valid until the next refresh or
 * append. */
const struct log_fault *log_faults(const struct log *log, size_t *ret_count);
uint64_t log_fault_total(const struct log *log);
/* What it is and what it means, in a few words for a person: "torn record set aside". */
const char *log_fault_text(enum fault_kind kind);

/* ---- Paths (transcript/path.h) ---------------------------------------------------------------------------
 */

/*
 * The line to `head` (any node; NODE_NONE: empty) as a path. Late results stand in the place of their
 * markers; those of calls without one belong to the item of the call. A snapshot: later appends and refreshes do not change it. `log` must outlive it and stays in the
 * same thread. With an estimating counter (NULL: the estimate as it is) sums come from the index, O(log n) an
 * item; with an exact one each message of a session is read and counted once, when a sum over it is first asked for, and
 * what was counted is kept in a cache for all handles; the path has a copy of the counter, whose encoding must outlive
 * it. An estimate that reports have calibrated is taken of sums: an item is the
 * difference of two. BOBBIN_ENOMEM, BOBBIN_EIO, BOBBIN_ECORRUPT.
 */
struct token_counter;
struct log_path;
int log_path_new(struct log *log, uint32_t head, struct token_counter *counter, struct log_path **ret_path,
	struct bobbin_error *error);
const struct path *log_path_path(const struct log_path *path);
/* The node on the line at a position; `shown` also gives the late result that stands there, if one does. */
uint32_t log_path_node(const struct log_path *path, size_t position, bool shown);
/* The nth late result that belongs to the call at a position, oldest first; NODE_NONE: there are no more. */
uint32_t log_path_late(const struct log_path *path, size_t position, uint32_t nth);
size_t log_path_late_count(const struct log_path *path); /* of all positions */
void log_path_free(struct log_path *path); /* NULL allowed */

#endif
