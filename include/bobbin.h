/* SPDX-License-Identifier: MIT */
/*
 * bobbin: durable sessions and honest windows for LLM agents.
 *
 * A store is a folder of sessions. A session is an append-only log of messages, one JSON object a line; it is the
 * truth and only grows. Everything else here (the line, the plan of the next request, the tree of forks) is computed
 * from it.
 *
 *	struct bobbin_error error;
 *	bobbin_store *store;
 *	bobbin_session *session;
 *	struct bobbin_ack ack;
 *
 *	if (bobbin_store_open(".sessions", NULL, &store, &error) < 0 ||
 *	    bobbin_session_open(store, "main", NULL, &session, &error) < 0)
 *		return fail(&error);
 *	bobbin_session_append_text(session, "user", "I live in Shanghai.", 19, &ack, &error);  // durable on return
 *	bobbin_session_close(session);
 *	bobbin_store_close(store);
 *
 * Rules that hold everywhere
 *
 * Results    Functions return 0 (or a documented positive value) or a negative enum bobbin_code. `ret_…` parameters are
 *            written on success only. Every `error` parameter may be NULL.
 * Strings    Inputs are pointer and length, or NUL-terminated where only a `const char *` is asked for. All text is UTF-8.
 *            Outputs as `char **` are NUL-terminated and belong to the caller: bobbin_free.
 * Lifetime   A pointer to `const struct …` handed out by a handle lives until the next call on that handle.
 *            Handles made from another (a session from a store) must be closed before it.
 * Threads    A handle belongs to one thread at a time. Different handles may be used from different threads. Only
 *            bobbin_cancel may be called while another thread is inside a call on the same handle. The library starts no
 *            threads, changes no signal handler and no locale, and prints nothing.
 * fork(2)    A handle used in a child process is refused with BOBBIN_EINVAL; open again there.
 * Options    Option structs begin with their size and are set up by their _INIT macro; NULL means all defaults. Zero in a
 *            member means its default unless it says otherwise.
 */
#ifndef BOBBIN_H
#define BOBBIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BOBBIN_API __attribute__((visibility("default")))
#else
#define BOBBIN_API
#endif

/* ---- Errors -------------------------------------------------------------------------------------------------- */

/* The list only grows at its end. */
enum bobbin_code {
	BOBBIN_OK = 0,
	BOBBIN_ENOMEM = -1,       /* out of memory; nothing changed */
	BOBBIN_EINVAL = -2,       /* the caller's argument is wrong: a bad id, an unknown option */
	BOBBIN_EINPUT = -3,       /* the data given is not what it must be: bad JSON, a foreign file */
	BOBBIN_ENOTFOUND = -4,    /* no such session, message, file */
	BOBBIN_EEXIST = -5,       /* it is there already, with other content */
	BOBBIN_ECONFLICT = -6,    /* the head moved since the caller looked; nothing was written */
	BOBBIN_EBUSY = -7,        /* another turn or writer holds the session */
	BOBBIN_EIO = -8,          /* the operating system failed; nothing was acknowledged */
	BOBBIN_ENOSPC = -9,       /* the disk is full; nothing was acknowledged */
	BOBBIN_EUNKNOWN = -10,    /* a sync failed: whether the record is durable is unknown; reopen to find out */
	BOBBIN_ECORRUPT = -11,    /* what is stored cannot be trusted: damaged header, missing ancestor, cycle */
	BOBBIN_ELIMIT = -12,      /* a named maximum of base/limits.h was exceeded */
	BOBBIN_EREADONLY = -13,   /* written by a newer version, or opened for reading */
	BOBBIN_EREFUSED = -14,    /* refused for safety: a link, a foreign-writable store, a file system that cannot lock */
	BOBBIN_EUNSUPPORTED = -15,/* not known or not built in: a format, a dialect */
	BOBBIN_EPROVIDER = -16,   /* the model's side failed */
	BOBBIN_EBUDGET = -17,     /* the request cannot fit the window; the message names the part that is too big */
	BOBBIN_ECANCELLED = -18,  /* bobbin_cancel was called */
	BOBBIN_ETIMEOUT = -19,    /* nothing came within the time given; call again or cancel */
};

/*
 * What went wrong, where, and what to do. Filled only on failure; untouched on success, so one struct can serve
 * many calls. Always NUL-terminated. A NULL pointer is accepted wherever one of these is taken.
 */
struct bobbin_error {
	int code;           /* enum bobbin_code */
	uint64_t line;      /* 1-based line of the input concerned, 0 if there is none */
	uint64_t offset;    /* byte offset in the input concerned */
	char message[496];  /* one sentence for a person, UTF-8 */
};

/* ---- The library --------------------------------------------------------------------------------------------- */

/* The version of the library, "0.1.0"; lives for ever. */
BOBBIN_API const char *bobbin_version(void);

/* Memory functions of the host. `allocate` and `reallocate` return NULL when memory is out. */
struct bobbin_allocator {
	void *(*allocate)(void *context, size_t bytes);
	void *(*reallocate)(void *context, void *memory, size_t bytes);
	void (*release)(void *context, void *memory);
	void *context;
};

/* Replaces malloc for the whole process; NULL restores it. Call it before anything else, while no other thread is in
 * the library. */
BOBBIN_API void bobbin_set_allocator(const struct bobbin_allocator *allocator);

/* Releases memory that the library gave to the caller (`char **ret_…`). NULL is allowed. */
BOBBIN_API void bobbin_free(void *memory);

/* ---- Stores -------------------------------------------------------------------------------------------------- */

/* A folder of sessions, opened. */
typedef struct bobbin_store bobbin_store;

enum bobbin_sync {
	BOBBIN_SYNC_DEFAULT = 0, /* full */
	BOBBIN_SYNC_FULL = 1,    /* fdatasync before every acknowledgement: survives a power cut */
	BOBBIN_SYNC_NONE = 2,    /* no sync: survives kill -9, not a power cut */
};

struct bobbin_store_options {
	size_t size;
	int must_exist;        /* 1: do not create the folder; BOBBIN_ENOTFOUND if it is missing */
	int read_only;         /* 1: nothing is ever written, also no folder and no cache; large logs are read anew each
				* time and kept in memory. SQLite has files of its own beside a bobbin.db that is read. */
	int force_file_system; /* 1: accept NFS, 9p, FUSE, where locks and syncs may be empty promises */
	int sync;              /* enum bobbin_sync, for the appends of this handle */
};
#define BOBBIN_STORE_OPTIONS_INIT {sizeof(struct bobbin_store_options), 0, 0, 0, 0}

/*
 * Opens the store in folder `path`; by default it is created (0700, files 0600) when missing. BOBBIN_EREFUSED for a folder
 * that another user owns or can write to, or on a file system that cannot lock.
 */
BOBBIN_API int bobbin_store_open(const char *path, const struct bobbin_store_options *options,
	bobbin_store **ret_store, struct bobbin_error *error);

/* Closes it; all its sessions must be closed. NULL is allowed. */
BOBBIN_API void bobbin_store_close(bobbin_store *store);

/*
 * How far a call is that may take long (doctor, repair, backup): `done` bytes or files of `total` (0: not known). It runs inside
 * that call, in its thread, and must not call the library. Anything but 0 ends the call with BOBBIN_ECANCELLED.
 */
typedef int (*bobbin_progress)(void *context, const char *what, uint64_t done, uint64_t total);

/* Sets it for the long calls on this store; NULL: none. */
BOBBIN_API void bobbin_store_progress(bobbin_store *store, bobbin_progress progress, void *context);

/* ---- Sessions ------------------------------------------------------------------------------------------------ */

/* One conversation, opened: a snapshot of its log and, unless read-only, the right to append. */
typedef struct bobbin_session bobbin_session;

#define BOBBIN_SESSION_ID_BYTES 65  /* [A-Za-z0-9_][A-Za-z0-9_-]{0,63} and NUL */
#define BOBBIN_MESSAGE_ID_BYTES 257

struct bobbin_session_options {
	size_t size;
	int must_exist;         /* 1: BOBBIN_ENOTFOUND instead of a new session */
	int must_not_exist;     /* 1: BOBBIN_EEXIST if it is there */
	int read_only;
	const char *owner;      /* of a new session; NULL: "" */
	const char *title;      /* of a new session; may be NULL */
	uint64_t segment_bytes; /* of a new session; 0: 16384 */
	int redact_on_write;    /* of a new session; see below */
};
#define BOBBIN_SESSION_OPTIONS_INIT {sizeof(struct bobbin_session_options), 0, 0, 0, NULL, NULL, 0, 0}

/* Replaces the secrets of a text by "[masked: KIND]". ret_len may be NULL. What counts as one: see below. */
BOBBIN_API int bobbin_mask(const char *text, size_t len, char **ret_text, size_t *ret_len, struct bobbin_error *error);

/*
 * Secrets. Agents' tools print keys, and what is in a log stays in it. There are two ways to keep them from others:
 *
 *	mask when reading    bobbin_messages_options.mask, `show --mask`, exports: the log is complete, and a copy for somebody
 *	                     else has "[masked: github token]" where a key was.
 *	redact_on_write      a session made with it masks every message (and title) before it is written, whoever writes it: turns,
 *	                     appends, imports, edits, results. The secret never reaches the disk, nor what is derived from the log.
 *
 * The price of the second: it cannot be undone, and the model sees the log, so it is shown the placeholder too, from the next
 * request on; a call is still handed to the host as the model wrote it. Forks inherit it. It is chosen when a session is made:
 * opening one that was made without it is refused (BOBBIN_EINVAL), because what it holds already would not be masked.
 *
 * Some fifty kinds are found by their shape (API keys and tokens of providers, JSON web tokens, private keys), by the frame they
 * stand in (authorization and cookie headers, passwords in URLs), or as the value of something called a password, secret or
 * token. Hashes, UUIDs, ids, image data, and blocks that a provider signed or encrypted stay byte for byte; a secret that a
 * model repeats in signed thinking stays with them. Shapes are no proof: a password in plain prose is not found.
 */

/*
 * Opens session `id` (NULL or "": a new one with an id of bobbin's own). Opening writes nothing to a log that is there;
 * damaged lines are set aside and reported (bobbin_session_faults). BOBBIN_ECORRUPT for a damaged header or a missing,
 * changed or cyclic ancestor.
 */
BOBBIN_API int bobbin_session_open(bobbin_store *store, const char *id, const struct bobbin_session_options *options,
	bobbin_session **ret_session, struct bobbin_error *error);

/* Closes it and refreshes its meta file. A session that this handle made, and that nothing was stored in because a record was
 * refused, is taken away again. NULL is allowed. */
BOBBIN_API void bobbin_session_close(bobbin_session *session);

/* Takes in what other processes have appended since. */
BOBBIN_API int bobbin_session_refresh(bobbin_session *session, struct bobbin_error *error);

struct bobbin_session_info {
	char id[BOBBIN_SESSION_ID_BYTES];
	char parent_id[BOBBIN_SESSION_ID_BYTES]; /* "" if it is no fork */
	char repaired_from[BOBBIN_SESSION_ID_BYTES]; /* the damaged session that a repair made it of, or "" */
	const char *owner, *title;   /* never NULL */
	uint64_t forked_at;          /* messages inherited from the parent's line */
	uint64_t messages;           /* on the line, the inherited ones included */
	uint64_t tokens;             /* of the line, estimated */
	uint64_t bytes;              /* of its own log */
	uint64_t faults;             /* lines set aside (not known, 0, in a list) */
	int64_t updated_ns;          /* since 1970: when its log last changed */
	const char *damaged;         /* NULL, or why it cannot be opened */
	int messages_known;          /* 0: `messages` is no number of anything: its log cannot be opened or read, or, in a list,
	                              * is long and has no caches */
};

/* Facts about an open session. */
BOBBIN_API const struct bobbin_session_info *bobbin_session_info(bobbin_session *session);

/* The id of the message that the next one follows; "" while there is none; NULL if it cannot be read just now (the disk
 * fails, memory is out). */
BOBBIN_API const char *bobbin_session_head(bobbin_session *session);

/*
 * A name for message `id` that a person can type: the id itself if it is at most 12 bytes long, else m<seq>, which every
 * function here takes as well. BOBBIN_ENOTFOUND if there is no such message.
 */
BOBBIN_API int bobbin_short_id(bobbin_session *session, const char *id, char ret_id[BOBBIN_MESSAGE_ID_BYTES],
	struct bobbin_error *error);

/* ---- Appending ----------------------------------------------------------------------------------------------- */

/* What the store says when a record is durable. */
struct bobbin_ack {
	uint64_t seq;
	char id[BOBBIN_MESSAGE_ID_BYTES];
	int repeated;    /* the same id and bytes were there already; nothing was written */
	int side_branch; /* the message does not stand on the line (a conflict, or a late result) */
};

/*
 * Appends one message: a JSON object of role user, assistant or tool (see README of src/transcript for its members), or a
 * usage record (struct bobbin_usage), which moves nothing and has no id in ret_ack.
 * Members not known are kept byte for byte; "seq", "ts" and "crc" are bobbin's own and are refused.
 *
 * expect_head  NULL: whatever the head is; otherwise the id the caller saw last ("" for an empty session):
 *              BOBBIN_ECONFLICT if another writer was faster, and nothing is written.
 *
 * On return the record is on disk (sync full). BOBBIN_EUNKNOWN: the sync failed; reopen to see whether it is there.
 * BOBBIN_EEXIST: its id is taken by other bytes.
 */
BOBBIN_API int bobbin_session_append(bobbin_session *session, const char *record, size_t len, const char *expect_head,
	struct bobbin_ack *ret_ack, struct bobbin_error *error);

/* The same for a message that is only text; `role` is "user" or "assistant". */
BOBBIN_API int bobbin_session_append_text(bobbin_session *session, const char *role, const char *text, size_t len,
	struct bobbin_ack *ret_ack, struct bobbin_error *error);

/* Moves the head to message `to` (backwards, forwards, or to another branch); "" goes before the first. Recorded in the log. */
BOBBIN_API int bobbin_session_rewind(bobbin_session *session, const char *to, struct bobbin_ack *ret_ack,
	struct bobbin_error *error);

/* Another version of user message `id`: a new branch from its parent, which becomes the line. The old one stays. The
 * text is not empty. */
BOBBIN_API int bobbin_session_edit(bobbin_session *session, const char *id, const char *text, size_t len,
	struct bobbin_ack *ret_ack, struct bobbin_error *error);

struct bobbin_recovery {
	uint64_t messages;    /* on the line */
	uint64_t marked;      /* calls that had no result and now have a marked one */
	uint64_t faults;      /* damaged lines set aside */
	uint64_t replayed;    /* calls that had no result and now have the one that the journal of actions has */
};

/*
 * Answers every dangling call at the head, so that a provider accepts the line again: with what the journal of actions has
 * recorded under the call's key (bobbin_call_key), else with a marked result ("interrupted"), which says if an effect was
 * begun and its outcome is unknown. Idempotent; a turn does it by itself. ret_recovery may be NULL.
 */
BOBBIN_API int bobbin_session_recover(bobbin_session *session, struct bobbin_recovery *ret_recovery,
	struct bobbin_error *error);

/* ---- Reading ------------------------------------------------------------------------------------------------- */

struct bobbin_message {
	const char *id;
	const char *parent;   /* "" for a root */
	const char *role;     /* "user", "assistant", "tool" */
	const char *origin;   /* "" if a person or the model said it; "injected", "summary" */
	uint64_t seq;
	uint64_t line;        /* in its log, 1-based */
	uint64_t tokens;      /* estimated */
	uint64_t position;    /* on the line, from 0; UINT64_MAX on another branch. A result that came late stands, with
				 the position of its call or of its marked result, where a request shows it */
	int inherited;        /* it stands in an ancestor's log */
	int marked;           /* a result that bobbin wrote for a call that had none */
	const char *record;   /* the log line's exact bytes, NUL-terminated */
	size_t record_len;
	const char *text;     /* its readable text; of calls a short form */
	size_t text_len;
};

struct bobbin_messages_options {
	size_t size;
	const char *from;     /* first message, NULL: from the start */
	const char *to;       /* last message, NULL: to the head */
	int all_branches;     /* 1: every message of the log and its ancestors' lines, in order of writing */
	int mask;             /* 1: secrets are replaced in `record` and `text`; a record that had any comes without its crc */
};
#define BOBBIN_MESSAGES_OPTIONS_INIT {sizeof(struct bobbin_messages_options), NULL, NULL, 0, 0}

/* Messages of a session, one after the other. It sees the session as it was when it was made. */
typedef struct bobbin_messages bobbin_messages;

/* Begins to read; the session must stay open meanwhile. */
BOBBIN_API int bobbin_messages_open(bobbin_session *session, const struct bobbin_messages_options *options,
	bobbin_messages **ret_messages, struct bobbin_error *error);

/* 1 and the next message, 0 at the end, or an error. */
BOBBIN_API int bobbin_messages_next(bobbin_messages *messages, const struct bobbin_message **ret_message,
	struct bobbin_error *error);

/* Ends reading. NULL is allowed. */
BOBBIN_API void bobbin_messages_close(bobbin_messages *messages);

/* ---- Faults -------------------------------------------------------------------------------------------------- */

/* A provider that refuses a message of a transcript as it stands. */
struct bobbin_refusal {
	const char *dialect; /* "openai-chat", "openai-responses", "anthropic" */
	const char *at;      /* the place in the body of the request: "messages[2].content[0]", "input[3]" */
	const char *words;   /* what it answers, without its numbers of bytes; "" if that is not known */
	int only_strict;     /* not 0: the provider takes it, servers that hold its dialect strictly do not */
};

struct bobbin_fault {
	const char *kind;     /* a stable word: "torn", "crc", "dangling_call", "orphan_result", "empty_text", … */
	const char *where;    /* file, JSON place or message id; "" if line and offset say it all */
	uint64_t line;        /* 1-based; 0: no line */
	uint64_t offset;      /* bytes */
	const char *message;  /* what is wrong and what it means */
	const char *advice;   /* what to do; "" if nothing is needed */
	const char *repair;   /* what a repair would do about it; "" if nothing */
	const struct bobbin_refusal *refusals; /* of bobbin_doctor_data: at most one for each dialect */
	size_t refusal_count;
};

/* A list of faults. */
typedef struct bobbin_faults bobbin_faults;

/* How many there are in the list. */
BOBBIN_API size_t bobbin_faults_count(const bobbin_faults *faults);

/* The fault at `index`; NULL past the end. Lives as long as the list. */
BOBBIN_API const struct bobbin_fault *bobbin_faults_get(const bobbin_faults *faults, size_t index);

/* The format of the transcript that bobbin_doctor_data read; NULL for other lists. Lives as long as the list. */
BOBBIN_API const char *bobbin_faults_format(const bobbin_faults *faults);

/* The session that a repair has made of the damaged one that was looked at (bobbin_doctor_session): no fault then offers, in
 * `repair`, to make it. NULL if there is none. Lives as long as the list. */
BOBBIN_API const char *bobbin_faults_repaired_as(const bobbin_faults *faults);

/* Releases a list. NULL is allowed. */
BOBBIN_API void bobbin_faults_free(bobbin_faults *faults);

/* The lines of its log that were set aside, and what is odd about them; and that its end is lost, if that is known ("cut"). */
BOBBIN_API int bobbin_session_faults(bobbin_session *session, bobbin_faults **ret_faults, struct bobbin_error *error);

/*
 * Everything wrong with session `id`: each line of its log, its ancestors, its meta and index files, the records that
 * compaction made, the blobs its lines name, and what a provider would refuse. Reads the whole log, in pieces; writes
 * nothing. A session that cannot be opened is a fault ("header", "emptied", "parent_missing", "parent_changed", "cycle", "depth",
 * "unreadable") and no error; what could not be looked at is one, too ("unread"), and says nothing else of it.
 * BOBBIN_ENOTFOUND if there is no such session.
 */
BOBBIN_API int bobbin_doctor_session(bobbin_store *store, const char *id, bobbin_faults **ret_faults,
	struct bobbin_error *error);

/* The same for a foreign transcript or a log given as bytes. `format` NULL: recognised. A fault that bobbin_import_data puts
 * right with `repair` says so in its member `repair`; "lost" is what the product's own compaction left out of its summary. */
BOBBIN_API int bobbin_doctor_data(const char *format, const char *data, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error);

/*
 * Everything wrong with the store beside its sessions: what processes that were killed left behind, files of sessions that
 * are not there, links, modes, blobs that are not what their names say, the database of facts and actions. Reads all
 * blobs and the database. Writes nothing.
 */
BOBBIN_API int bobbin_doctor_store(bobbin_store *store, bobbin_faults **ret_faults, struct bobbin_error *error);

struct bobbin_repaired {
	char id[BOBBIN_SESSION_ID_BYTES]; /* the new session; "" if none was needed */
	int found;          /* 1: it is there since an earlier repair of the same bytes */
	uint64_t mended;    /* caches and the like that were put right */
	uint64_t messages;  /* in the new log; of a fork its own */
	uint64_t left_out;  /* lines that could not be read, and records of what is not there any more */
	uint64_t changed;   /* records with another number, id, parent or checksum than they had */
	uint64_t marked;    /* calls that had no result any more and now have a marked one */
	uint64_t replayed;  /* … and now have the one that the journal of actions has */
	int detached;       /* 1: what it was forked from is gone or changed; it begins with a note that says so */
	int copied;         /* 1: what it inherits was copied: an ancestor is damaged, or its parent was deleted */
	int emptied;        /* 1: nothing stood in its log any more; a note in the new one says so */
};

/*
 * Makes of a damaged session a new one that holds everything that can be read, in order; the log of the damaged one and of
 * all others stay as they are, byte for byte. Messages keep their numbers, so what refers to them still does. The new
 * session's first line says what it was made from ("repairedFrom"). Wrong caches of `id` are removed or written anew.
 * Of a session without faults nothing is made, and of the same bytes nothing a second time. Durable on return; if it fails or
 * is killed, the new session is not there. BOBBIN_EREADONLY for a log of a newer version.
 */
BOBBIN_API int bobbin_repair_session(bobbin_store *store, const char *id, struct bobbin_repaired *ret_repaired,
	struct bobbin_error *error);

/* Takes away what crashes left in the store's folder, and wrong caches; keeps others from reading its files. ret_mended: how
 * many files that were. What is in use stays. */
BOBBIN_API int bobbin_repair_store(bobbin_store *store, uint64_t *ret_mended, struct bobbin_error *error);

/* ---- Backups -------------------------------------------------------------------------------------------------- */

struct bobbin_backup_report {
	int incremental;       /* 1: the folder was an earlier backup */
	int taken_over;        /* 1: … of another folder, of which this store has everything; from now on it is this store's */
	uint64_t sessions;     /* in it now */
	uint64_t bytes;        /* of their logs */
	uint64_t bytes_copied; /* of logs, this time */
	uint64_t removed;      /* sessions of the earlier backup that are deleted in the store */
	uint64_t damaged;      /* that cannot be opened, in the store as little as in the copy: bobbin_doctor_session */
	uint64_t refused;      /* whose file is a link, no file, or another user's: they are not in it */
	bobbin_faults *left_out; /* NULL, or all that is not in it, these and a damaged database: why, each; to be released */
};

/*
 * Copies the store into folder `path`, consistent as of now while other processes append, fork and delete: each log up to a whole
 * line, no fork without what it inherits, no line without the blob that it names, facts and actions not older than the
 * logs. The folder must not exist (its parent must), be empty, or be an earlier backup: then only what came since is
 * copied, and what was deleted since is taken out. It is a store like any other; caches are not copied. A backup is
 * for reading: what was written into it is not overwritten (BOBBIN_EEXIST).
 *
 * A backup belongs to the folder of the store that it was made of, wherever that is moved. Another folder (a store that was
 * restored, copied, or moved to another disk) goes on with it if it has everything that is in it: each log there is the beginning
 * of its own of that name. Otherwise it is refused (BOBBIN_ECONFLICT), and so is a store that lacks messages of a session that the
 * backup has, because it was put back to an earlier state, or has no session at all; the message says whose the backup is, and nothing was changed.
 *
 * What cannot be copied (report.left_out) stops nothing; what an earlier backup has of it stays there.
 *
 * On return it is on disk, and has been read back and opened. A new one is made beside its place, as PATH.partial. One
 * that is brought up to date can be used at every moment, also after a crash or with a full disk. ret_report may be NULL.
 * BOBBIN_EEXIST: there is something else; BOBBIN_ECONFLICT: it is another store's; BOBBIN_EBUSY: another backup goes there, or
 * a session was deleted and begun anew under its name meanwhile; BOBBIN_EINVAL: within the store itself.
 */
BOBBIN_API int bobbin_backup(bobbin_store *store, const char *path, struct bobbin_backup_report *ret_report,
	struct bobbin_error *error);

/* ---- Lists, forks, trees ------------------------------------------------------------------------------------- */

struct bobbin_list_options {
	size_t size;
	const char *owner;  /* NULL: any; otherwise exactly this one */
	const char *title;  /* NULL: any; otherwise titles or ids that contain it (ASCII case folded) */
	size_t limit;       /* 0: all */
	const char *parent; /* NULL: any; otherwise only direct forks of this session */
};
#define BOBBIN_LIST_OPTIONS_INIT {sizeof(struct bobbin_list_options), NULL, NULL, 0, NULL}

/* Sessions of a store, newest first. */
typedef struct bobbin_list bobbin_list;

/* Reads heads and caches only, never whole logs. A session that cannot be read is in the list, with the reason. */
BOBBIN_API int bobbin_list_open(bobbin_store *store, const struct bobbin_list_options *options, bobbin_list **ret_list,
	struct bobbin_error *error);

/* The next session; NULL at the end. Lives as long as the list. */
BOBBIN_API const struct bobbin_session_info *bobbin_list_next(bobbin_list *list);

/* Releases a list. NULL is allowed. */
BOBBIN_API void bobbin_list_close(bobbin_list *list);

struct bobbin_fork_options {
	size_t size;
	const char *id;     /* of the new session; NULL: one of bobbin's own */
	const char *owner;  /* NULL: the parent's */
	const char *title;  /* NULL: none */
};
#define BOBBIN_FORK_OPTIONS_INIT {sizeof(struct bobbin_fork_options), NULL, NULL, NULL}

struct bobbin_forked {
	char id[BOBBIN_SESSION_ID_BYTES];
	char through[BOBBIN_MESSAGE_ID_BYTES]; /* last message inherited; "" if none */
	uint64_t kept;                         /* messages inherited */
	uint64_t gaps;                         /* damaged lines among them: order across these is a guess */
};

/*
 * A new session that begins with the first messages of this one's line, by reference: nothing is copied, the parent is
 * never changed, and what is appended to either later is not seen by the other.
 *
 * at  a plain number of messages from the start of the line, or a message id, inclusive. Walked back so that no call is
 *     parted from its results; right after a user message is how a reply is made again.
 */
BOBBIN_API int bobbin_session_fork(bobbin_session *session, const char *at, const struct bobbin_fork_options *options,
	struct bobbin_forked *ret_forked, struct bobbin_error *error);

/* Deletes a session with its caches. BOBBIN_EREFUSED while forks refer to it, BOBBIN_EBUSY during a turn. */
BOBBIN_API int bobbin_session_delete(bobbin_store *store, const char *id, struct bobbin_error *error);

/*
 * The same for one that has forks: each gets a copy of what it inherits first (the line to its cut, nothing else), beside its own
 * log, which is not touched; so whoever has it open goes on. What the deleted session paid is gone with it; its forks still say
 * what they inherited. Takes as long as writing the copies; forking and deleting wait meanwhile. If it fails, or the process
 * dies, every session is as readable as before.
 */
BOBBIN_API int bobbin_session_delete_materialized(bobbin_store *store, const char *id, struct bobbin_error *error);

struct bobbin_tree_node {
	const struct bobbin_session_info *session;
	unsigned depth;     /* 0 for a root */
	int last;           /* no sibling follows */
	int parent_gone;    /* 0; 1: its parent was deleted, and it has a copy of what it inherits; 2: its parent is missing;
	                     * 3: its parent is not there, and whether it has a copy cannot be looked at */
};

/* Forks as trees, each parent before its children. */
typedef struct bobbin_tree bobbin_tree;

/* The tree that session `id` belongs to, or all of them with id NULL. */
BOBBIN_API int bobbin_tree_open(bobbin_store *store, const char *id, bobbin_tree **ret_tree, struct bobbin_error *error);

/* The next node; NULL at the end. Lives as long as the tree. */
BOBBIN_API const struct bobbin_tree_node *bobbin_tree_next(bobbin_tree *tree);

/* Releases a tree. NULL is allowed. */
BOBBIN_API void bobbin_tree_close(bobbin_tree *tree);

/* ---- Cost ---------------------------------------------------------------------------------------------------- */

/*
 * Sums of usage records. A turn writes one for each answer, as its provider reports it; a host that asks models itself
 * appends its own (bobbin_session_append):
 *
 *	{"type":"usage","id":"call-7","for":"m2","kind":"chat","model":"M","dialect":"openai-chat",
 *	 "input":812,"cached":700,"cache_write":0,"output":31,"reasoning":12,"nanousd":2100000}
 *
 * All members but `type` may be missing. With an `id`, a record that is said again counts once. dialect "anthropic": `cached` and
 * `cache_write` stand beside `input`; otherwise they are parts of it. Money is in nano-dollars (10⁻⁹ USD).
 */
struct bobbin_usage {
	uint64_t requests;    /* records */
	uint64_t input;       /* tokens that were read, cached or not */
	uint64_t cached;      /* of input: from the provider's cache */
	uint64_t cache_write; /* of input: written to it */
	uint64_t output;
	uint64_t reasoning;   /* of output */
	uint64_t unreported;  /* requests whose tokens or price are not known in full */
	uint64_t unpriced;    /* requests that are not in nanousd: nobody said what they cost */
	int64_t nanousd;      /* of all others */
};

struct bobbin_cost_options {
	size_t size;
	/* For records that do not say their price: {"MODEL":{"input":1.25,"cache_read":0.1,"cache_write":1.25,"output":8}}, `input`
	 * in dollars a million tokens, the others in units of it; so a table of bobbin_session_simulate serves once it has
	 * `input`. NULL: none. */
	const char *prices;
	size_t prices_len;
};
#define BOBBIN_COST_OPTIONS_INIT {sizeof(struct bobbin_cost_options), NULL, 0}

struct bobbin_cost_row {
	const struct bobbin_tree_node *node;
	struct bobbin_usage own;  /* what this session paid: never what it inherits */
	struct bobbin_usage tree; /* of a root: the sum of what is own in its tree */
	uint64_t tree_sessions;   /* of a root: how many there are */
	const char *unread;       /* NULL, or why its log could not be read: then own is not all */
};

/* What sessions cost. */
typedef struct bobbin_cost bobbin_cost;

/* Of the tree that session `id` belongs to, or of all trees with id NULL. Reads each log once, for its usage lines alone. */
BOBBIN_API int bobbin_cost_open(bobbin_store *store, const char *id, const struct bobbin_cost_options *options,
	bobbin_cost **ret_cost, struct bobbin_error *error);

/* The next session, in the order of bobbin_tree_next; NULL at the end. Lives as long as the cost, like all that follows. */
BOBBIN_API const struct bobbin_cost_row *bobbin_cost_next(bobbin_cost *cost);

/* A session's row; NULL if it is not in these trees. */
BOBBIN_API const struct bobbin_cost_row *bobbin_cost_of(const bobbin_cost *cost, const char *id);

/* The sum of what is own in all rows. */
BOBBIN_API const struct bobbin_usage *bobbin_cost_total(const bobbin_cost *cost);

/* What the messages cost that `id` inherits: paid by its ancestors, and in no sum. Nothing with id NULL; NULL if what it
 * inherits cannot be read. */
BOBBIN_API const struct bobbin_usage *bobbin_cost_inherited(const bobbin_cost *cost);

/* The models whose price is not known, as the records name them; NULL past the end. */
BOBBIN_API const char *bobbin_cost_unpriced(const bobbin_cost *cost, size_t index);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_cost_close(bobbin_cost *cost);

/* ---- Other products' sessions in -------------------------------------------------------------------------------- */

struct bobbin_import_options {
	size_t size;
	const char *format;  /* NULL: recognised */
	const char *id;      /* of the new session, if the data holds just one conversation; NULL: bobbin's own */
	const char *owner;
	const char *name;    /* of the file, for titles and warnings; may be NULL */
	int redact_on_write; /* 1: of the new sessions, see bobbin_session_options */
	int repair;          /* 1: what a provider would refuse is put right before it is stored: each call gets a result, a
	                      *    marked one if there is none; results stand with their calls, one each, others become
	                      *    text; call ids stand once; half characters, sealed blocks without a seal and messages
	                      *    without content go. What was done is in the warnings. The file is only read. */
};
#define BOBBIN_IMPORT_OPTIONS_INIT {sizeof(struct bobbin_import_options), NULL, NULL, NULL, NULL, 0, 0}

struct bobbin_imported {
	char id[BOBBIN_SESSION_ID_BYTES];
	const char *foreign_id, *title;    /* never NULL */
	uint64_t messages, calls, results;
	uint64_t messages_on_line;
};

/* What an import did. */
typedef struct bobbin_import bobbin_import;

/*
 * Reads a transcript and stores each of its conversations as a new session; durable on return. A session appears when it is
 * whole. If anything fails, no session of it is left behind; if the process is killed, those that were whole are. One
 * without any record that an `id` names is replaced. BOBBIN_EINPUT with line and offset when it cannot be read.
 */
BOBBIN_API int bobbin_import_data(bobbin_store *store, const char *data, size_t len,
	const struct bobbin_import_options *options, bobbin_import **ret_import, struct bobbin_error *error);

/*
 * The same for a file, `path`. A large file of lines of claude-code, codex, copilot-cli, gemini-cli, openhands or pi is read piece by piece: memory is
 * bounded by its largest record and some 150 to 500 bytes a message, and what waits lies in a file without a name in the store's folder, at most as large
 * again. All other formats, and with `repair` these too, are held in memory (repaired, two to four times the
 * file). A message may have some 64 MiB: of a longer one a word stands in its place, a longer line is left out, and a warning says
 * which and how long it is; so it is with one that asks for more than 1,024 tools. A file that is read whole may have 1 GiB: BOBBIN_ELIMIT. BOBBIN_ENOTFOUND; BOBBIN_EINVAL for what is no regular file.
 */
BOBBIN_API int bobbin_import_file(bobbin_store *store, const char *path, const struct bobbin_import_options *options,
	bobbin_import **ret_import, struct bobbin_error *error);

/* The name of the format that was read; lives as long as the import. */
BOBBIN_API const char *bobbin_import_format(const bobbin_import *import);

/* How many sessions were made. */
BOBBIN_API size_t bobbin_import_count(const bobbin_import *import);

/* The session at `index`; NULL past the end. Lives as long as the import. */
BOBBIN_API const struct bobbin_imported *bobbin_import_get(const bobbin_import *import, size_t index);

/* What was mended or left out. Lives as long as the import. */
BOBBIN_API const bobbin_faults *bobbin_import_warnings(const bobbin_import *import);

/* How often an import met something that is no message. */
struct bobbin_import_tally {
	const char *kind; /* a stable word. Damage: "torn", "nuls", "half_character", "foreign" and "glued" of lines, "hole",
	                   * "broken_off" and "around" of documents, "key_twice", "too_long", "too_many_calls", "order", "no_role" of messages. Of what is
	                   * no damage: "not_understood", "left_out". */
	const char *what; /* for people, in the number that suits the count: "torn lines" */
	uint64_t count;   /* never 0 */
};

/* The counts, damage first; NULL past the end. They count also what is beyond the limit of the warnings. They live as long as
 * the import. */
BOBBIN_API const struct bobbin_import_tally *bobbin_import_tally(const bobbin_import *import, size_t index);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_import_free(bobbin_import *import);

/* The names of the formats that can be read, ended by NULL; lives for ever. */
BOBBIN_API const char *const *bobbin_import_formats(void);

/* One line about a format, for a list; NULL for a name that is none. Lives for ever. */
BOBBIN_API const char *bobbin_import_format_about(const char *format);

/* ---- Sessions out ---------------------------------------------------------------------------------------------- */

/* The formats that can be written, NULL-terminated, and one line about one of them ("" for an unknown name). */
BOBBIN_API const char *const *bobbin_export_formats(void);
BOBBIN_API const char *bobbin_export_summary(const char *format);

struct bobbin_export_options {
	size_t size;
	const char *format; /* one of bobbin_export_formats */
	const char *to;     /* the last message, NULL: to the head */
	int mask;           /* 1: secrets are replaced, as bobbin_mask does */
	const char *folder; /* where the work was done, for formats that say it; NULL: as the imported original said */
};
#define BOBBIN_EXPORT_OPTIONS_INIT {sizeof(struct bobbin_export_options), NULL, NULL, 0, NULL}

/* A session's line on its way out. */
typedef struct bobbin_export bobbin_export;

/*
 * Begins to write the line, from its first message, in a format. Memory does not grow with the session. The session must stay
 * open meanwhile, and nothing may be appended through it. BOBBIN_EUNSUPPORTED for an unknown format, BOBBIN_ENOTFOUND for `to`.
 */
BOBBIN_API int bobbin_export_open(bobbin_session *session, const struct bobbin_export_options *options,
	bobbin_export **ret_export, struct bobbin_error *error);

/* 1 and the next bytes, 0 at the end, or an error. They live until the next call. */
BOBBIN_API int bobbin_export_next(bobbin_export *exporting, const char **ret_data, size_t *ret_len,
	struct bobbin_error *error);

/* What the format had no place for, or had to change. */
struct bobbin_export_loss {
	const char *what; /* "thinking", "images that cannot be read" */
	uint64_t count;
};

/* The kinds so far, by index; NULL past the end. Lives until the next call. */
BOBBIN_API const struct bobbin_export_loss *bobbin_export_loss(bobbin_export *exporting, size_t index);

/* Ends it. NULL is allowed. */
BOBBIN_API void bobbin_export_close(bobbin_export *exporting);

/* ---- The window: the next request ------------------------------------------------------------------------------ */

struct bobbin_window_options {
	size_t size;
	const char *model;        /* sets window, reserve and counting; NULL: unknown model, estimated tokens */
	uint64_t window;          /* tokens; 0: the model's, or 128000 */
	int64_t output_reserve;   /* tokens; -1: min(the model's maximum output, window / 4) */
	int64_t margin;           /* tokens; -1: 2 % of the window */
	const char *system;       /* the system prompt, made fresh for each request and never stored */
	size_t system_len;
	const char *tools;        /* a JSON array of tool definitions, in any dialect */
	size_t tools_len;
	double trigger;           /* share of the history budget at which it is too full; 0: 0.7 */
	uint64_t trigger_tokens;  /* in tokens instead; 0: none */
	double target;            /* share to come down to; 0: 0.4 */
	uint64_t tail_min, tail_max; /* tokens of the newest messages kept verbatim; 0: min(24000, a quarter of the history) */
	uint64_t keep_recent;     /* messages instead: back to the turn start at or before the N-th last; 0: none */
	uint64_t keep_first;      /* messages at the start that always stay */
	uint64_t byte_limit;      /* of the body; 0: the dialect's */
	const char *at;           /* plan as of this message; NULL: the head */
	int no_facts;             /* 1: no facts of the session's owner in the request, and a turn learns none */
};
#define BOBBIN_WINDOW_OPTIONS_INIT \
	{sizeof(struct bobbin_window_options), NULL, 0, -1, -1, NULL, 0, NULL, 0, 0.0, 0, 0.0, 0, 0, 0, 0, 0, NULL, 0}

/* All in tokens. window = reserve + margin + system + tools + injected + history. */
struct bobbin_budget {
	uint64_t window, output_reserve, margin, system, tools, injected, history;
	uint64_t trigger, target, tail, record;
	uint64_t line;            /* the whole line */
	uint64_t view;            /* what is shown of it */
	int over_trigger;         /* line or view has reached the trigger */
	int exact;                /* counted with the model's own tokenizer, not estimated */
	const char *counted_by;   /* its name: "o200k_base", "estimate" */
};

struct bobbin_part {
	const char *kind;         /* "system", "tools", "injected", "record", "pinned", "messages" */
	const char *from, *to;    /* message ids; "" for parts that are no messages */
	uint64_t messages, tokens;
	const char *source;       /* where it comes from */
	const char *reason;       /* why it is shown, or shown like this */
};

struct bobbin_hidden {
	const char *from, *to;    /* message ids, inclusive */
	uint64_t messages, tokens;
	const char *reason;
	const char *pointer;      /* how to get it back */
};

/* The complete next request, planned: what is shown, what is not, and why. */
typedef struct bobbin_plan bobbin_plan;

/* Plans the next request of a session; reads only what will be shown. BOBBIN_EBUDGET when even the floor does not fit. */
BOBBIN_API int bobbin_plan_make(bobbin_session *session, const struct bobbin_window_options *options,
	bobbin_plan **ret_plan, struct bobbin_error *error);

/* Releases a plan; before its session is closed. NULL is allowed. */
BOBBIN_API void bobbin_plan_free(bobbin_plan *plan);

/* The numbers. Lives as long as the plan, like all that follows. */
BOBBIN_API const struct bobbin_budget *bobbin_plan_budget(const bobbin_plan *plan);

/* The id of the first message kept verbatim; "" when nothing is cut. */
BOBBIN_API const char *bobbin_plan_cut(const bobbin_plan *plan);

/* Inside a turn that is too long: the first round kept verbatim after its user message; "" if none. */
BOBBIN_API const char *bobbin_plan_inner_cut(const bobbin_plan *plan);

/* 1 if there is a compaction record that no longer fits the line and is therefore not used. */
BOBBIN_API int bobbin_plan_summary_stale(const bobbin_plan *plan);

/* The parts of the request in order; NULL past the end. */
BOBBIN_API const struct bobbin_part *bobbin_plan_part(const bobbin_plan *plan, size_t index);

/* The ranges that are not shown, in order; NULL past the end. */
BOBBIN_API const struct bobbin_hidden *bobbin_plan_hidden(const bobbin_plan *plan, size_t index);

/* The plan as one JSON object. */
BOBBIN_API int bobbin_plan_json(const bobbin_plan *plan, char **ret_text, size_t *ret_len, struct bobbin_error *error);

/*
 * The exact body that would be sent. dialect: "openai-chat", "openai-responses", "anthropic". It passes bobbin_check.
 */
BOBBIN_API int bobbin_plan_request(const bobbin_plan *plan, const char *dialect, char **ret_body, size_t *ret_len,
	struct bobbin_error *error);

/* Is this body acceptable to a strict provider? An empty list says yes. BOBBIN_EUNSUPPORTED for an unknown dialect. */
BOBBIN_API int bobbin_check(const char *dialect, const char *body, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error);

/* The dialects, ended by NULL; lives for ever. */
BOBBIN_API const char *const *bobbin_dialects(void);

/*
 * Counts tokens of `text` with an encoding ("o200k_base", "cl100k_base", "estimate") or, with encoding NULL, with that of
 * `model`. ret_exact is 1 if that is the tokenizer itself and not an estimate.
 */
BOBBIN_API int bobbin_count_tokens(const char *encoding, const char *model, const char *text, size_t len,
	uint64_t *ret_tokens, int *ret_exact, struct bobbin_error *error);

/* ---- Compaction ------------------------------------------------------------------------------------------------ */

/* A model that can be asked: bobbin_model_open. */
typedef struct bobbin_model bobbin_model;

struct bobbin_compact_options {
	size_t size;
	const struct bobbin_window_options *window; /* the budget to compact for; NULL: defaults */
	bobbin_model *deriver;  /* the model that writes records; NULL: rules, offline */
	int force;              /* 1: whatever the trigger */
	int dry_run;            /* 1: report what would be done, write nothing */
};
#define BOBBIN_COMPACT_OPTIONS_INIT {sizeof(struct bobbin_compact_options), NULL, NULL, 0, 0}

struct bobbin_compaction_report {
	int done;                    /* 1: a record was committed (or would be); 0: see reason */
	const char *reason;          /* why nothing was done; or a remark; "" if there is nothing to say */
	const char *steps;           /* of the ladder, blank separated: "swap", "derive extract" */
	const char *cut, *inner_cut; /* first message kept verbatim; "" */
	uint64_t messages;           /* covered by the record */
	uint64_t tokens_before, tokens_after; /* of the view */
	uint64_t record_tokens;
	uint64_t constraints;        /* that bind, in the record */
	uint64_t refused;            /* statements thrown out by verification */
	uint64_t repaired;           /* constraints put back word for word */
	uint64_t dropped;            /* items that did not fit: pointers say where they are */
	uint64_t segments_found, segments_derived;
	const char *digest;          /* "sha256:…" of the record */
	const char *text;            /* the record under its headings, as a view shows it */
	const char *line;            /* one sentence for a person */
};

/* What a compaction did. */
typedef struct bobbin_compaction bobbin_compaction;

/*
 * Climbs the ladder once: the messages before the cut are replaced in the view by a record that is derived from the raw
 * messages, verified, and committed as one line of the log. The log keeps every message. Nothing to do is no error:
 * report->done is 0.
 */
BOBBIN_API int bobbin_session_compact(bobbin_session *session, const struct bobbin_compact_options *options,
	bobbin_compaction **ret_compaction, struct bobbin_error *error);

/* The report; lives as long as the compaction. */
BOBBIN_API const struct bobbin_compaction_report *bobbin_compaction_report(const bobbin_compaction *compaction);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_compaction_free(bobbin_compaction *compaction);

struct bobbin_record_options {
	size_t size;
	const char *at;   /* as of this message; NULL: the head */
	int segments;     /* 1: every segment's record instead of the merged one */
};
#define BOBBIN_RECORD_OPTIONS_INIT {sizeof(struct bobbin_record_options), NULL, 0}

/* The record in force, as text under its headings and as JSON (each may be NULL). BOBBIN_ENOTFOUND without one. */
BOBBIN_API int bobbin_session_record(bobbin_session *session, const struct bobbin_record_options *options,
	char **ret_text, char **ret_json, struct bobbin_error *error);

/*
 * Is what a record says in the raw messages, and is what it must say in it? `record`: JSON as bobbin_session_record gives it, or
 * plain text under headings, also one that somebody else wrote; NULL: the record in force (without one there is no fault).
 * Each fault is an invented or misattributed value ("invented", "not_cited", "not_users", "no_source", "wrong_state") or a
 * missing constraint ("missing").
 */
BOBBIN_API int bobbin_session_verify(bobbin_session *session, const char *record, size_t len,
	bobbin_faults **ret_faults, struct bobbin_error *error);

struct bobbin_hit {
	const char *id, *role;
	double score;        /* 1 and above: the words stand in it as they are; below: some of them */
	const char *excerpt; /* around the first match */
	size_t excerpt_len;
	const char *name;    /* the id as bobbin_short_id gives it */
};

/* Messages that were found. */
typedef struct bobbin_recall bobbin_recall;

/* Finds originals on the line, shown or not: a message id or range ("m12", "m12–m40"), exact words, then ranked. limit 0: 5. */
BOBBIN_API int bobbin_session_recall(bobbin_session *session, const char *query, size_t limit,
	bobbin_recall **ret_recall, struct bobbin_error *error);

/* The hit at `index`, best first; NULL past the end. Lives as long as the recall. */
BOBBIN_API const struct bobbin_hit *bobbin_recall_get(const bobbin_recall *recall, size_t index);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_recall_free(bobbin_recall *recall);

struct bobbin_search_options {
	size_t size;
	const char *session; /* only this one, with what it inherits, up to the cut; NULL: all of the store, each message once */
	const char *owner;   /* of all: only this owner's sessions; NULL: everybody's */
	int ignore_case;     /* 1: ASCII letters of either case are equal */
	int line_only;       /* 1: only messages on the line of the session that stores them (or of `session`), no other branches */
	uint64_t limit;      /* messages; 0: all */
	int count_only;      /* 1: a match for each session, that says only `session` and in `hits` how many of its messages have it; far
			      * faster, as most need not be decoded. What was damaged since its log was opened may be counted */
};
#define BOBBIN_SEARCH_OPTIONS_INIT {sizeof(struct bobbin_search_options), NULL, NULL, 0, 0, 0, 0}

/* A message that has what was looked for. All of it lives until the next call on the search. */
struct bobbin_match {
	const char *session, *id, *role;
	const char *time;    /* when it was written, as the log says it ("2026-09-04T10:00:00Z"); "" */
	uint64_t seq;
	int on_line;         /* 0: on another branch */
	int inherited;       /* it stands in an ancestor's log, or in the copy of one that was deleted */
	uint64_t hits;       /* in the message, without overlaps */
	const char *excerpt; /* around the first hit; NUL-terminated */
	size_t excerpt_len;
	size_t hit_start, hit_len; /* bytes of the excerpt; a hit of more than its length is cut */
	const char *name;    /* the id as bobbin_short_id gives it */
};

/* A search, going on. */
typedef struct bobbin_search bobbin_search;

/*
 * Exact search: messages that have exactly these characters (UTF-8) in a text, a call's name or arguments, or a result, decoded:
 * however the log escapes them. Arguments are searched as JSON and in their strings. The envelope (ids, times, `src`) is not
 * searched. Sessions come newest first, messages in the order they were written; what forks inherit of sessions that were deleted
 * comes last, each message once, as `inherited` of one of the forks. It reads the logs themselves, about as fast as
 * they can be read, with a block of memory and no index; what is appended meanwhile may be seen or not. For words in any order,
 * best first: bobbin_session_recall. BOBBIN_EINVAL for an empty query, BOBBIN_ENOTFOUND for `session`.
 */
BOBBIN_API int bobbin_search_open(bobbin_store *store, const char *query, size_t len,
	const struct bobbin_search_options *options, bobbin_search **ret_search, struct bobbin_error *error);

/* 1 and the next match, 0 at the end, or an error. */
BOBBIN_API int bobbin_search_next(bobbin_search *search, const struct bobbin_match **ret_match, struct bobbin_error *error);

/* Sessions so far that could not be opened although their bytes may have it: bobbin_doctor says why. */
BOBBIN_API uint64_t bobbin_search_skipped(const bobbin_search *search);

/* Ends it; before its store is closed. NULL is allowed. */
BOBBIN_API void bobbin_search_close(bobbin_search *search);

/*
 * Background work: derives records of closed segments that have none, over all sessions of the store, until nothing is left
 * or `milliseconds` are over (it looks between segments; negative: until done). The library starts no threads: call it from
 * one of yours. deriver NULL: rules. ret_left (may be NULL): 1 if there is more.
 */
BOBBIN_API int bobbin_work(bobbin_store *store, bobbin_model *deriver, int64_t milliseconds, uint64_t *ret_derived,
	int *ret_left, struct bobbin_error *error);

struct bobbin_simulation_row {
	const char *prices;   /* the name of the price table */
	const char *policy;   /* "none", "sliding", "fixed", "auto", "best fixed" */
	double trigger;       /* of fixed ones: share of the history budget */
	uint64_t requests;    /* one for each reply of the line */
	uint64_t compactions; /* or slides of the window */
	double billed;        /* in units of one uncached input token */
};

/* What a session would have cost, in rows. */
typedef struct bobbin_simulation bobbin_simulation;

/*
 * Replays the line under several ways of keeping its window. prices: {"NAME":{"cache_write":1.25,"cache_read":0.1,"output":5}};
 * NULL: four common tables. window may be NULL. Nothing is sent or written.
 */
BOBBIN_API int bobbin_session_simulate(bobbin_session *session, const struct bobbin_window_options *window,
	const char *prices, size_t len, bobbin_simulation **ret_simulation, struct bobbin_error *error);

/* The row at `index`; NULL past the end. Lives as long as the simulation. */
BOBBIN_API const struct bobbin_simulation_row *bobbin_simulation_get(const bobbin_simulation *simulation, size_t index);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_simulation_free(bobbin_simulation *simulation);

/* ---- Routines: runs that begin by the clock --------------------------------------------------------------------- */

#define BOBBIN_ROUTINE_BYTES 128

enum bobbin_missed {
	BOBBIN_MISSED_SKIP, /* what was not begun within the grace is left out */
	BOBBIN_MISSED_ONCE, /* the newest is made up for, however late; those before it are left out */
};

/* Every day at a time of day, as the clocks of a place show it. */
struct bobbin_schedule {
	size_t size;
	const char *routine;   /* 1 to BOBBIN_ROUTINE_BYTES bytes, no blanks */
	int hour, minute;      /* 0 to 23, 0 to 59 */
	const char *zone;      /* "Europe/Berlin", "UTC", or a rule: "CET-1CEST,M3.5.0,M10.5.0/3" */
	int missed;            /* enum bobbin_missed */
	int64_t grace_minutes; /* so late it is still no missed one; -1: 15 */
};
#define BOBBIN_SCHEDULE_INIT {sizeof(struct bobbin_schedule), NULL, 0, 0, NULL, BOBBIN_MISSED_SKIP, -1}

struct bobbin_occurrence {
	char key[BOBBIN_ROUTINE_BYTES + 16]; /* "digest:2026-03-29": the routine and its local date */
	char date[16];
	int64_t due_ns;  /* since 1970, UTC */
	int64_t next_ns; /* when the next one is */
	int missed;      /* 1: later than the grace */
};

/*
 * Whether a routine is due at an instant (0: now), and as what: 1 due, 0 not (missed, and to be left out). A pure function of
 * schedule, instant and the system's time zone files; bobbin starts nothing by itself. The newest occurrence that has come is
 * told in both cases. Each date has one, also in the night in which the clocks change: a time of day that they leave out is
 * due when they change, of one that they show twice the first counts. Key and journal together make a double start harmless:
 *
 *	if (bobbin_occurrence_at(&schedule, 0, &occurrence, &error) == 1)
 *		begun = bobbin_action_begin(store, occurrence.key, …);     // at most one is told to act
 *
 * BOBBIN_EINVAL, BOBBIN_ENOTFOUND (no such zone here), BOBBIN_EINPUT (its file is damaged), BOBBIN_EIO, BOBBIN_ENOMEM. Any thread.
 */
BOBBIN_API int bobbin_occurrence_at(const struct bobbin_schedule *schedule, int64_t now_ns,
	struct bobbin_occurrence *ret_occurrence, struct bobbin_error *error);

/*
 * What the next run of a routine will be told of the last three on the session's line: an excerpt of how each ended, and up to four
 * things a run that the person said to it afterwards, word for word as far as there is room: at most 1,500 tokens in all (by the
 * estimate; in a turn by the model's tokens, and a sixteenth of its window). Straight from the messages; "" if there was no run.
 * Turns of a run put it before the model by themselves, with the notes in routine/notes.md of the workspace as of the beginning of
 * the run; it is no message and is not stored. Free with bobbin_free.
 */
BOBBIN_API int bobbin_routine_digest(bobbin_session *session, const char *routine, char **ret_text, size_t *ret_len,
	struct bobbin_error *error);

/* ---- Actions: effects that happen once ------------------------------------------------------------------------- */

/*
 * A journal of what is done to the world outside (a message sent, a payment, a deployment), kept in the store's bobbin.db. An
 * action is known by its key, which should say where in which run it stands: "run_42:send_digest".
 *
 *	int begun = bobbin_action_begin(store, "run_42:send", arguments, len, NULL, &action, &error);
 *	if (begun == BOBBIN_ACTION_RUN) {              // the intent is on disk: act now
 *		id = send(…);
 *		bobbin_action_end(action, BOBBIN_ACTION_DONE, reply, reply_len, id, NULL, &error);
 *	}                                              // BOBBIN_ACTION_REPLAY: the result is in bobbin_action_info
 *	bobbin_action_close(action);
 *
 * What was begun and never ended is unknown, and is never made again by itself. Nothing is ever removed from the journal.
 */
enum bobbin_action_state {
	BOBBIN_ACTION_BEGUN = 1,   /* somebody is at it */
	BOBBIN_ACTION_DONE = 2,
	BOBBIN_ACTION_FAILED = 3,  /* it ended with a failure, which answers later begins too */
	BOBBIN_ACTION_UNKNOWN = 4, /* whether it happened is not known: bobbin_action_settle */
	BOBBIN_ACTION_UNDONE = 5,  /* known not to have happened: the next begin makes it */
};

struct bobbin_action_info {
	const char *key;
	int state;               /* enum bobbin_action_state */
	uint64_t attempts;       /* how often it was begun */
	int64_t begun_ns, ended_ns; /* since 1970, UTC; ended 0: it has not */
	const void *result;      /* what bobbin_action_end was given; not in lists */
	size_t result_len;
	const char *reference;   /* what the other side calls it ("email_918"); "" */
	const char *note;        /* why it is unknown, how it was settled; "" */
	const char *arguments;   /* their beginning */
};

/* What bobbin_action_begin says. */
enum bobbin_action_begun {
	BOBBIN_ACTION_RUN = 1,       /* make the effect now, then bobbin_action_end */
	BOBBIN_ACTION_REPLAY = 2,    /* done, or failed: the result is recorded */
	BOBBIN_ACTION_UNSETTLED = 3, /* begun once, never ended: find out, then bobbin_action_end or bobbin_action_again */
};

struct bobbin_action_options {
	size_t size;
	int retry_safe;   /* 1: making it twice does no harm; unknown and failed ones are made again */
	int64_t wait_ms;  /* how long to wait while somebody else is at it; 0: BOBBIN_EBUSY; -1: as long as it takes */
};
#define BOBBIN_ACTION_OPTIONS_INIT {sizeof(struct bobbin_action_options), 0, 0}

/* One action, held by the caller unless it is a replay. */
typedef struct bobbin_action bobbin_action;

/*
 * Begins `key` (1 to 512 bytes of UTF-8, no control characters) with `arguments`: JSON is compared as values (order of
 * members, white space and escapes do not count), anything else as bytes. Returns an enum bobbin_action_begun; the intent
 * is durable before BOBBIN_ACTION_RUN is said. BOBBIN_ECONFLICT: the key has other arguments. BOBBIN_EBUSY: somebody is at
 * it. BOBBIN_EINVAL, BOBBIN_ECORRUPT, BOBBIN_EIO, BOBBIN_ENOSPC: nothing was begun.
 */
BOBBIN_API int bobbin_action_begin(bobbin_store *store, const char *key, const char *arguments, size_t len,
	const struct bobbin_action_options *options, bobbin_action **ret_action, struct bobbin_error *error);

/* The record as it is now. */
BOBBIN_API const struct bobbin_action_info *bobbin_action_info(bobbin_action *action);

/*
 * The descriptor whose lock keeps the key, -1 for a replay. A process that makes the effect should inherit it: if the holder
 * is killed, nobody else begins or settles before that process has ended too. Never close it.
 */
BOBBIN_API int bobbin_action_fd(const bobbin_action *action);

/*
 * Ends it: done, failed, unknown or undone, with a result of at most 64 MiB and what the other side calls it (NULL: nothing).
 * Durable on return; after an error it can be tried again, otherwise the action will be unknown.
 */
BOBBIN_API int bobbin_action_end(bobbin_action *action, int state, const void *result, size_t len, const char *reference,
	const char *note, struct bobbin_error *error);

/* After BOBBIN_ACTION_UNSETTLED, when the effect is known not to have happened: begun anew, make it now. */
BOBBIN_API int bobbin_action_again(bobbin_action *action, struct bobbin_error *error);

/* Lets go of it; one that was not ended is unknown from then on. NULL is allowed. */
BOBBIN_API void bobbin_action_close(bobbin_action *action);

/*
 * Says that an action whose outcome is unknown (or recorded as failed) happened, or did not. Saying the same again is no
 * error. BOBBIN_ENOTFOUND; BOBBIN_EBUSY while somebody is at it; BOBBIN_ECONFLICT if it is known to be otherwise.
 */
BOBBIN_API int bobbin_action_settle(bobbin_store *store, const char *key, int happened, const void *result, size_t len,
	const char *reference, const char *note, struct bobbin_error *error);

/* Actions of a store. */
typedef struct bobbin_actions bobbin_actions;

/* Those whose key begins with `prefix` (NULL: all) and, unless it is 0, are in `state`; the newest first. */
BOBBIN_API int bobbin_actions_open(bobbin_store *store, const char *prefix, int state, bobbin_actions **ret_actions,
	struct bobbin_error *error);
/* The one with this key, with its result. BOBBIN_ENOTFOUND. */
BOBBIN_API int bobbin_actions_find(bobbin_store *store, const char *key, bobbin_actions **ret_actions,
	struct bobbin_error *error);

/* The next one, NULL at the end; lives until the next call. */
BOBBIN_API const struct bobbin_action_info *bobbin_actions_next(bobbin_actions *actions);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_actions_close(bobbin_actions *actions);

/* "begun", "done", "failed", "unknown", "undone". */
BOBBIN_API const char *bobbin_action_state_name(int state);

/* ---- Facts: what outlives the conversation --------------------------------------------------------------------- */

/*
 * Facts of a person, kept in the store's bobbin.db. A fact is one sentence with its times and the messages it comes from, and
 * belongs to an owner: what one owner's handle adds, no other owner's finds, whatever the ids look like; case and
 * punctuation count. Turns of sessions that have an owner use them by themselves (bobbin_window_options.no_facts).
 *
 *	bobbin_memory_open(store, "ana", &memory, &error);
 *	bobbin_memory_add(memory, "I live in Shanghai", 18, NULL, &added, &error);    // f1
 *	bobbin_memory_search(memory, "Where do I live?", 16, NULL, &facts, &error);   // f1
 *	while ((fact = bobbin_facts_next(facts)))
 *		puts(fact->text);
 *	bobbin_facts_close(facts);
 *	bobbin_memory_close(memory);
 */
struct bobbin_fact_source {
	const char *session; /* "": added by hand */
	const char *message;
	int64_t said_ns;
};

struct bobbin_fact {
	uint64_t number;      /* f<number>; of its owner, never given out twice */
	const char *text;
	const char *subject;  /* whom it is about; "user": the owner */
	const char *relation; /* "home", "name"; "": none is known, so nothing supersedes it */
	int candidate;        /* 1: said in one session only, not sure to matter; kept once it recurs in another. 2: proposed by a
			       * model; kept once the owner says the same, or by bobbin_memory_keep. Neither is ever found */
	int64_t said_ns;      /* the first time; since 1970, UTC, like all of these */
	int64_t valid_ns;     /* it holds from then on */
	int64_t expires_ns;   /* 0: it does not */
	int64_t ended_ns;     /* 0: it holds; else another took its place then */
	uint64_t superseded_by; /* the number of that one; 0: none */
	uint64_t sessions;    /* in how many it was said */
	const struct bobbin_fact_source *sources; /* the newest 64 */
	size_t source_count;
	double score;         /* of a search: about how much of the question it covers */
};

/* The facts of one owner. */
typedef struct bobbin_memory bobbin_memory;

/* Opens them; nothing is made before the first addition. The owner must come from who is signed in, never from what a request
 * says of itself. BOBBIN_EINVAL without an owner (NULL or ""). */
BOBBIN_API int bobbin_memory_open(bobbin_store *store, const char *owner, bobbin_memory **ret_memory,
	struct bobbin_error *error);

/* Closes it; before its store. NULL is allowed. */
BOBBIN_API void bobbin_memory_close(bobbin_memory *memory);

struct bobbin_fact_options {
	size_t size;
	const char *subject;    /* NULL: "user" */
	const char *relation;   /* NULL: what the text says, if it is known; "": none. The newest of a subject and relation holds */
	const char *session, *message; /* where it was said; NULL: added by hand */
	const char *context;    /* what was said around it: it is found by these words too, at a lower weight; NULL: nothing */
	int64_t said_ns;        /* 0: now */
	int64_t valid_ns;       /* 0: since it was said */
	int64_t expires_ns;     /* 0: what the text says ("until Friday"), else never; -1: never */
};
#define BOBBIN_FACT_OPTIONS_INIT {sizeof(struct bobbin_fact_options), NULL, NULL, NULL, NULL, NULL, 0, 0, 0}

struct bobbin_fact_added {
	uint64_t number;     /* of the fact that says it now */
	uint64_t superseded; /* the number of the one whose place it took, 0: none */
	int merged;          /* 1: it was there (case, spacing and punctuation do not count): it has one more source */
};

/*
 * Stores a fact of 1 to 4,096 bytes of UTF-8, whatever was forgotten before; it is found from then on. If another fact of the same
 * subject and relation holds, that one ends, and is found by questions about the past. Durable on return; after an error nothing
 * has changed: BOBBIN_EINVAL, BOBBIN_EBUSY (another process writes for more than ten seconds), BOBBIN_ENOSPC, BOBBIN_EIO.
 */
BOBBIN_API int bobbin_memory_add(bobbin_memory *memory, const char *text, size_t len,
	const struct bobbin_fact_options *options, struct bobbin_fact_added *ret_added, struct bobbin_error *error);

/* Gives a fact the text that it should have had; the old one does not come back out of its messages, and what was read out of it
 * (when it expires, its relation) is read anew. When it was said and its sources stay.
 * BOBBIN_ENOTFOUND; BOBBIN_EEXIST if another fact says that. */
BOBBIN_API int bobbin_memory_correct(bobbin_memory *memory, uint64_t number, const char *text, size_t len,
	struct bobbin_error *error);

/* Keeps a candidate or a proposal, as if the owner had added it by hand. ret_added (NULL allowed): merged is 1 if it was kept
 * already. BOBBIN_ENOTFOUND. */
BOBBIN_API int bobbin_memory_keep(bobbin_memory *memory, uint64_t number, struct bobbin_fact_added *ret_added,
	struct bobbin_error *error);

/* Removes a fact from the database, its index and its journal. 1 if it was removed, 0 if there is none of this owner. Messages that
 * said it before now do not bring it back, also not by an extraction that is running. */
BOBBIN_API int bobbin_memory_forget(bobbin_memory *memory, uint64_t number, struct bobbin_error *error);

struct bobbin_facts_options {
	size_t size;
	size_t limit;     /* of a search 0: 5, at most 100; of a list 0: all */
	int past;         /* 1: superseded ones too (a search: a question about the past has them anyway); in a list expired ones too */
	int candidates;   /* 1: of a list: candidates and proposals too */
	double threshold; /* of a search: how much of the question a fact must cover, 0 to 1; negative: something. 0: one must cover
			   * 0.3, or 0.5 by a single word of a long fact, and those that come with it 0.2 */
};
#define BOBBIN_FACTS_OPTIONS_INIT {sizeof(struct bobbin_facts_options), 0, 0, 0, 0.0}

/* Facts that were found. */
typedef struct bobbin_facts bobbin_facts;

/*
 * Those that answer a question, the best first: by their words (BM25 over the owner's own facts, English word stems, pairs
 * of characters in scripts without spaces), by the relation asked for, then by how recent they are and how often they were said.
 * What has expired or was superseded takes no part. None is better than a wrong one.
 */
BOBBIN_API int bobbin_memory_search(bobbin_memory *memory, const char *query, size_t len,
	const struct bobbin_facts_options *options, bobbin_facts **ret_facts, struct bobbin_error *error);

/* All of them, the newest first. */
BOBBIN_API int bobbin_memory_list(bobbin_memory *memory, const struct bobbin_facts_options *options,
	bobbin_facts **ret_facts, struct bobbin_error *error);

/* The next one, NULL at the end; lives as long as the facts. */
BOBBIN_API const struct bobbin_fact *bobbin_facts_next(bobbin_facts *facts);

/* Releases them. NULL is allowed. */
BOBBIN_API void bobbin_facts_close(bobbin_facts *facts);

/* Where something that a person said belongs. */
enum bobbin_verdict {
	BOBBIN_VERDICT_SESSION = 1,   /* into the session alone: it is not needed later, or could not be found again */
	BOBBIN_VERDICT_CANDIDATE = 2, /* in between: kept once it recurs in another session */
	BOBBIN_VERDICT_KEEP = 3,
};

struct bobbin_judgement {
	int verdict;     /* enum bobbin_verdict */
	int needed;      /* after this session? 0: no, 1: perhaps, 2: yes */
	int expires;     /* likewise */
	int retrievable; /* can a search bring it back? */
	const char *needed_why, *expires_why, *retrievable_why; /* live for ever */
	int64_t expires_ns;  /* 0: it does not */
	char relation[129];  /* "": none is known */
};

/* Asks the three questions about one sentence, offline, by rules. said_ns 0: now. */
BOBBIN_API int bobbin_judge(const char *text, size_t len, int64_t said_ns, struct bobbin_judgement *ret_judgement,
	struct bobbin_error *error);

struct bobbin_learned {
	uint64_t messages;   /* that a person typed, read */
	uint64_t kept;       /* new facts, and candidates that recurred */
	uint64_t candidates; /* new ones */
	uint64_t merged;     /* known already */
	uint64_t forgotten;  /* known, and forgotten: not added */
};

/*
 * Judges what the person typed in this session and keeps what is worth it, for the session's owner. Messages that the session
 * inherits are left out, as is everything that nobody typed: injected text, summaries, answers, results, pasted code. Doing it
 * again adds nothing. A turn does it for its own message. BOBBIN_EINVAL if the session has no owner.
 */
BOBBIN_API int bobbin_session_learn(bobbin_session *session, struct bobbin_learned *ret_learned,
	struct bobbin_error *error);

/* ---- Files: the workspace of a session ------------------------------------------------------------------------- */

/*
 * A session has a folder of files, STORE/ID/, for what it works on: notes, lists, drafts. Programs may work in it directly.
 * Every version is kept: its content under its SHA-256 in the store, its name in a record of the log. Versions follow the
 * line: after a rewind the files are as of that message, a fork begins with those of its cut, and neither changes another
 * session's. Writing is atomic: after a crash or on a full disk a file is the old one or the new one.
 *
 * What other programs changed in the folder becomes a version at the end of a turn, before the line moves, and whenever one of
 * these functions looks; nothing of theirs is overwritten unrecorded. Whoever deletes a session deletes its files.
 *
 * Paths are relative to the folder, UTF-8, parted by "/". Refused with BOBBIN_EREFUSED are absolute ones, those with ".", "..",
 * control characters or backslashes, and whatever in the folder is a link (a hard link too), a device, a FIFO, a socket,
 * or another user's. At most 16 MiB a file, 4,096 files, 256 MiB in all, else BOBBIN_ELIMIT. Files are not masked by
 * redact_on_write: they are for programs.
 */
struct bobbin_files_report {
	uint64_t noticed;      /* changes by others that are versions now */
	uint64_t restored;     /* files brought to what the line says */
	uint64_t refused;      /* left alone: links, devices, files too large */
	char refused_why[256]; /* of the first of them */
};

/* Looks what others changed, and brings the folder to what the line says. ret_report may be NULL. */
BOBBIN_API int bobbin_files_sync(bobbin_session *session, struct bobbin_files_report *ret_report,
	struct bobbin_error *error);

struct bobbin_file {
	const char *path;
	uint64_t size;
	const char *version; /* the SHA-256 of its content, 64 hexadecimal digits; "": it was taken away */
	const char *by;      /* "tool": the model; "host": through this library; "outside": another program */
	const char *ts;      /* when it was written or noticed, as the log says it */
	const char *after;   /* the message it came after; "": before the first */
	int inherited;       /* recorded by an ancestor */
};

struct bobbin_files_options {
	size_t size;
	const char *path; /* NULL: all files; otherwise this one */
	const char *at;   /* NULL: now; otherwise as of this message of the line */
	int versions;     /* 1: every version on the line, each file's oldest first; 0: the files that there are */
};
#define BOBBIN_FILES_OPTIONS_INIT {sizeof(struct bobbin_files_options), NULL, NULL, 0}

/* Files of a session, by path. */
typedef struct bobbin_files bobbin_files;

/* Of a session open for writing, what others changed is recorded first. BOBBIN_ENOTFOUND: no such message. */
BOBBIN_API int bobbin_files_open(bobbin_session *session, const struct bobbin_files_options *options,
	bobbin_files **ret_files, struct bobbin_error *error);

/* The next one, NULL at the end. Lives as long as the list. */
BOBBIN_API const struct bobbin_file *bobbin_files_next(bobbin_files *files);

/* Releases it. NULL is allowed. */
BOBBIN_API void bobbin_files_close(bobbin_files *files);

/*
 * The content of a file. at NULL: now; a message id: as of that message of the line; four or more digits of a version: that one.
 * BOBBIN_ENOTFOUND; BOBBIN_ECORRUPT: what was kept is damaged. The content ends in a NUL that is not counted.
 */
BOBBIN_API int bobbin_file_read(bobbin_session *session, const char *path, const char *at, char **ret_data,
	size_t *ret_len, struct bobbin_error *error);

/* Writes a file; folders on the way are made. Durable on return. What is there already with the same content is no new version. */
BOBBIN_API int bobbin_file_put(bobbin_session *session, const char *path, const void *data, size_t len,
	struct bobbin_error *error);

/* Takes a file away, and folders that are empty then; its versions stay. BOBBIN_ENOTFOUND. */
BOBBIN_API int bobbin_file_remove(bobbin_session *session, const char *path, struct bobbin_error *error);

/* ---- Tools for the model --------------------------------------------------------------------------------------- */

/*
 * Tools that answer from the session itself, for hosts to offer in bobbin_window_options.tools: recall, list_files,
 * read_file, write_file, check_off (an item "- [ ]" of a list in a file), once (what the journal of actions knows),
 * memory_search and memory_add (facts of the session's owner: what the owner typed in the very words of the call is kept,
 * anything else is a proposal that waits for them, bobbin_memory_keep).
 * A JSON array of definitions; lives for ever.
 */
BOBBIN_API const char *bobbin_tools(void);

/*
 * Runs one of them with the arguments of a call (JSON). 0 and its result, also when that says what went wrong (then
 * *ret_is_error is 1); BOBBIN_ENOTFOUND: none of these tools; BOBBIN_ENOMEM.
 */
BOBBIN_API int bobbin_tool_run(bobbin_session *session, const char *name, const char *arguments, size_t len,
	char **ret_text, int *ret_is_error, struct bobbin_error *error);

/*
 * A user's own tools that are commands: a JSON array of definitions as providers take them (with or without "function"), in
 * which a tool may say how it is run:
 *
 *	{"name":"send","description":"…","parameters":{…},
 *	 "bobbin":{"command":["./send.sh"],"effect":true,"timeout_seconds":60}}
 *
 * The arguments of a call (JSON) are the command's standard input, its standard output is the result. `effect`: it does
 * something outside, so it belongs into the journal of actions (bobbin_call_key).
 */
typedef struct bobbin_commands bobbin_commands;

struct bobbin_command {
	const char *name;
	const char *const *words;  /* ended by NULL */
	int effect;
	int retry_safe;            /* doing it twice does no harm */
	uint64_t timeout_seconds;  /* 0: none */
};

/* BOBBIN_EINPUT says which definition is not one. */
BOBBIN_API int bobbin_commands_open(const char *tools, size_t len, bobbin_commands **ret_commands,
	struct bobbin_error *error);

/* What to offer a model: those definitions without "bobbin", and bobbin_tools of other names. Lives as long as the commands. */
BOBBIN_API const char *bobbin_commands_tools(const bobbin_commands *commands);

/* Takes a tool out of what is offered, for a host that does not want it. It stays runnable. BOBBIN_ENOMEM. */
BOBBIN_API int bobbin_commands_drop(bobbin_commands *commands, const char *name, struct bobbin_error *error);

/* The tool of that name, NULL if none of the user's is; `words` empty: it has no command. */
BOBBIN_API const struct bobbin_command *bobbin_commands_find(const bobbin_commands *commands, const char *name);

/* Releases them. NULL is allowed. */
BOBBIN_API void bobbin_commands_close(bobbin_commands *commands);

/*
 * The key under which a call of the model belongs into the journal of actions: SESSION/TURN/TOOL#N, the Nth call of that tool
 * since the message that began the turn (TURN, as m<seq>). A tool with effects outside begins its action with it; then a
 * turn that is taken up again, or made again, finds what was done. BOBBIN_ENOTFOUND: no such call on the line.
 */
BOBBIN_API int bobbin_call_key(bobbin_session *session, const char *call_id, char **ret_key, struct bobbin_error *error);

/* ---- Models and turns ------------------------------------------------------------------------------------------ */

/*
 * Opens a model by its specification; nothing is sent yet.
 *
 *	mock, mock:FILE                      deterministic, offline; with a script
 *	openai:NAME, openai-responses:NAME   key in OPENAI_API_KEY
 *	anthropic:NAME                       key in ANTHROPIC_API_KEY
 *	openai:NAME@http://localhost:8080    a compatible server; BOBBIN_BASE_URL does the same for all models
 *	record:FILE:SPEC, replay:FILE        keeps what a provider answers; plays it back without one
 *
 * BOBBIN_EINVAL for a malformed specification or a missing key, BOBBIN_EINPUT for a bad script or recording.
 */
BOBBIN_API int bobbin_model_open(const char *spec, bobbin_model **ret_model, struct bobbin_error *error);

/* Closes it; no turn may be running on it. NULL is allowed. */
BOBBIN_API void bobbin_model_close(bobbin_model *model);

/*
 * Appends a made-up conversation, to try things on: each round is a user message, a call with its result (every fourth round
 * two), and a reply, with facts that occur nowhere else. The same numbers give the same messages at the same place: where there are rounds of
 * this seed on the line, it goes on behind the newest, and no call id or order number comes twice. message_tokens: about
 * as many in each text; 0: 250.
 */
BOBBIN_API int bobbin_session_manufacture(bobbin_session *session, uint64_t rounds, uint64_t seed,
	uint64_t message_tokens, struct bobbin_error *error);

enum bobbin_event_type {
	BOBBIN_EVENT_RECOVERED = 1, /* first of every turn; number: messages on the line; text: what had to be mended, or "" */
	BOBBIN_EVENT_PLANNED,       /* a request is about to be sent; number: its tokens; text: a sentence */
	BOBBIN_EVENT_TEXT,          /* a piece of the answer, whole UTF-8 characters */
	BOBBIN_EVENT_THINKING,      /* a piece of the model's readable reasoning */
	BOBBIN_EVENT_CALL,          /* the model wants a tool: id, name, text = arguments (JSON). Answer it: bobbin_turn_result */
	BOBBIN_EVENT_NOTE,          /* something a person may want to know: a retry, a conflict, a side branch; name: "compaction" if it
	                             * is one (number: the messages that the record now stands for), else "" */
	BOBBIN_EVENT_STORED,        /* a message is durable: id */
	BOBBIN_EVENT_DONE,          /* the turn is over; id: of the final answer; text: why the model stopped */
};

struct bobbin_event {
	int type;            /* enum bobbin_event_type */
	const char *id;      /* never NULL */
	const char *name;    /* never NULL */
	const char *text;    /* never NULL, NUL-terminated */
	size_t text_len;
	uint64_t number;
	/* usage so far in this turn, as the provider reports it */
	uint64_t input_tokens, cached_tokens, output_tokens;
	int reported;        /* 0: the provider has reported nothing */
};

struct bobbin_turn_options {
	size_t size;
	const struct bobbin_window_options *window; /* budget, system prompt, tools; NULL: defaults and the model's window */
	int regenerate;      /* 1: no new user message; another reply to the last one, on a branch */
	int64_t wait_ms;     /* for another turn on the session to end; 0: BOBBIN_EBUSY at once */
	const char *run, *routine; /* start of a routine's run: recorded before the message; NULL: none */
	int no_compaction;   /* 1: never compact; what does not fit is left out and said */
	bobbin_model *deriver; /* writes the records; NULL: rules, offline */
	int64_t idle_timeout_ms; /* the model's longest silence, also before its first word; 0: two minutes */
};
#define BOBBIN_TURN_OPTIONS_INIT {sizeof(struct bobbin_turn_options), NULL, 0, 0, NULL, NULL, 0, NULL, 0}

/* One turn: a user message, the model's answer, and the rounds of tool calls between them. */
typedef struct bobbin_turn bobbin_turn;

/*
 * Begins a turn: takes the session's turn lock, recovers the line, and appends the user's message, durable before anything
 * is sent. After a failure here the session is as it was, or holds the message if the error came later.
 */
BOBBIN_API int bobbin_turn_start(bobbin_session *session, bobbin_model *model, const char *text, size_t len,
	const struct bobbin_turn_options *options, bobbin_turn **ret_turn, struct bobbin_error *error);

/*
 * The next event, waiting at most timeout_ms (negative: as long as it takes). 1 and an event; 0 after DONE; or an error:
 * BOBBIN_ETIMEOUT (call again), BOBBIN_EPROVIDER, BOBBIN_ECANCELLED, BOBBIN_EINVAL (a call is not answered yet), …
 * After an error other than BOBBIN_ETIMEOUT the turn is over; everything acknowledged stays.
 */
BOBBIN_API int bobbin_turn_next(bobbin_turn *turn, int64_t timeout_ms, const struct bobbin_event **ret_event,
	struct bobbin_error *error);

/*
 * A string member of a JSON object, decoded: what a host needs of a call's arguments. BOBBIN_ENOTFOUND if there is no string
 * of that name, BOBBIN_EINPUT if it is no JSON object. A lone surrogate becomes U+FFFD.
 */
BOBBIN_API int bobbin_json_member(const char *json, size_t len, const char *name, char **ret_text,
	struct bobbin_error *error);

/* Answers a call of the model. When all calls of a batch are answered, results are durable and the model is asked again. */
BOBBIN_API int bobbin_turn_result(bobbin_turn *turn, const char *call_id, const char *text, size_t len, int is_error,
	struct bobbin_error *error);

/* A file descriptor that becomes readable when bobbin_turn_next has something, or -1: then call it with a timeout. */
BOBBIN_API int bobbin_turn_fd(const bobbin_turn *turn);

/* Stops a turn from any thread: bobbin_turn_next returns BOBBIN_ECANCELLED soon. What has arrived is not stored as an answer. */
BOBBIN_API void bobbin_cancel(bobbin_turn *turn);

/* Ends it and gives the turn lock back; a turn that is not done is cancelled. NULL is allowed. */
BOBBIN_API void bobbin_turn_free(bobbin_turn *turn);

/* ---- Resume tests: can a fresh conversation finish the task? ----------------------------------------------------- */

/*
 * A recorded task, cut in the middle, and a new conversation that is told its goal (the first thing a person said on the line;
 * of a routine: in its newest run), the record of what was done before the cut, and nothing else; with the workspace and the
 * journal of actions as they were then. It tells whether what outlives a conversation is enough to go on from.
 *
 *	bobbin_resume_open(session, model, &options, &resume, &error);
 *	while ((rc = bobbin_resume_next(resume, 100, &event, &error)) != 0 && (rc > 0 || rc == BOBBIN_ETIMEOUT))
 *		if (rc > 0 && event->type == BOBBIN_EVENT_CALL)   // a tool that only the host can run
 *			bobbin_resume_result(resume, event->id, text, len, is_error, &error);
 *	report = bobbin_resume_report(resume);
 *	bobbin_resume_close(resume);
 *
 * The recorded session, its files and its journal are only read. The conversation goes on in a private store in the caches of
 * this one, which bobbin_resume_close removes; what a process leaves there that was killed, the next bobbin_resume_open or
 * bobbin_repair_store takes away. No effect is made: it is written into the private journal and answered with the recorded
 * result of an equal call. Of the other calls, tools of bobbin_tools run on the private workspace (recall finds what was
 * before the cut); a tool of the user's that is a command is the host's to run; any other is answered with the recorded
 * result of an equal call, after the cut rather than before it, and the host is asked if there is none.
 *
 * Files are as the log says. The journal is as the log says for calls of this session; for other keys its times decide.
 */
enum bobbin_resume_without { /* what the conversation does not get, to see what it needs */
	BOBBIN_RESUME_RECORD = 1,
	BOBBIN_RESUME_FILES = 2,
	BOBBIN_RESUME_ACTIONS = 4,
};

struct bobbin_resume_options {
	size_t size;
	double at;     /* where it is cut, as a share of the task's messages, between rounds; 0: 0.5 */
	int without;   /* enum bobbin_resume_without, added up */
	const struct bobbin_window_options *window; /* budget, system prompt, tools; NULL: bobbin_tools, the model's window. Tools
	                * of the recorded task that are not among them are offered as well, with the arguments they had */
	const bobbin_commands *commands; /* the user's tools; must outlive the resume test; NULL: none */
	const char *checklist;   /* the file whose items tell that all is done; NULL: those in which the recorded task checked
	                          * something off, or else all files that have items */
	uint64_t calls_max;      /* calls of the model, after which it is stopped; 0: 50 and twice what was recorded */
	int64_t idle_timeout_ms; /* as of a turn */
};
#define BOBBIN_RESUME_OPTIONS_INIT {sizeof(struct bobbin_resume_options), 0.0, 0, NULL, NULL, NULL, 0, 0}

struct bobbin_resume_report {
	const char *cut;            /* the last message before it */
	uint64_t messages;          /* of the task before the cut */
	uint64_t messages_left;     /* of the recorded task after it */
	uint64_t person_left;       /* of those, a person's: they are not said again */
	uint64_t calls_left;        /* of those, calls of tools */
	uint64_t effects_left;      /* of those, effects */
	uint64_t files, actions;    /* that the conversation began with */
	uint64_t record_tokens;

	int finished;
	const char *judged_by;      /* how that is known: "checklist" (no item is open) or "answer" (there is no list; it ended by
	                             * itself) */
	uint64_t items, items_open; /* of the checklist, now */
	const char *ended;          /* "": it goes on; "answer"; "limit": too many calls or rounds; "error" */

	uint64_t requests, calls;
	uint64_t looked;            /* of the calls: of list_files, read_file, recall, once, which is how a task is taken up */
	uint64_t seen;              /* of those: that showed the same as before the cut */
	uint64_t played;            /* answered with what was recorded */
	uint64_t effects;           /* that would have been made */
	uint64_t effects_twice;     /* of those: with the arguments of one that was made or begun before */
	uint64_t redone;            /* calls that do not only look, and no effects, equal to one before the cut that had its result */
	const char *first_twice, *first_redone; /* "notify {…}"; "" */
	uint64_t input_tokens, cached_tokens, output_tokens; /* as the provider reports them */
	int reported;               /* 0: it has reported nothing */
	const char *answer;         /* what the model said last */
	const char *workspace;      /* the folder of its files; there until bobbin_resume_close */
};

/* A resume test at one place. */
typedef struct bobbin_resume bobbin_resume;

/*
 * Cuts, copies, and asks the model for the first time (the answer comes with bobbin_resume_next). The session may be open for
 * reading only, its store may not; both and the model must outlive the resume test. BOBBIN_ENOTFOUND: nobody said anything in
 * this session. BOBBIN_EREADONLY, BOBBIN_ECORRUPT (the content of a file is gone), and errors of a turn.
 */
BOBBIN_API int bobbin_resume_open(bobbin_session *session, bobbin_model *model,
	const struct bobbin_resume_options *options, bobbin_resume **ret_resume, struct bobbin_error *error);

/*
 * As bobbin_turn_next. 1 and an event; of calls only those that the host has to answer; 0: it has ended, also because a limit
 * was reached; BOBBIN_ETIMEOUT: call again; or an error, after which it is over.
 */
BOBBIN_API int bobbin_resume_next(bobbin_resume *resume, int64_t timeout_ms, const struct bobbin_event **ret_event,
	struct bobbin_error *error);

/* Answers a call that was handed out. */
BOBBIN_API int bobbin_resume_result(bobbin_resume *resume, const char *call_id, const char *text, size_t len, int is_error,
	struct bobbin_error *error);

/* How far it is; at any time. Whether it is finished is looked up in its files each time. Lives until the next call. */
BOBBIN_API const struct bobbin_resume_report *bobbin_resume_report(bobbin_resume *resume);

/* Ends it and removes the private store. NULL is allowed. */
BOBBIN_API void bobbin_resume_close(bobbin_resume *resume);

#ifdef __cplusplus
}
#endif
#endif
