/* SPDX-License-Identifier: MIT */
/*
 * Checking the files of a store: whether each is what it ought to be, and, if that is wished, mending what can be mended
 * without touching a log: caches are removed (or written anew), leftovers of crashes taken away, modes tightened.
 *
 * Invariants: (1) no log is written to, whatever is found; (2) memory is bounded by the longest line and the number of
 * sessions, not by the bytes of a log; (3) without `mend` nothing is written; (4) what another process has locked is in
 * use and no fault; (5) what is mended is reported all the same, and is not found the second time.
 */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "store/log.h"

/* Texts live as long as the call of `found`. */
struct store_finding {
	const char *kind; /* a stable word: "index", "meta", "leftover", "mode", "link", "blob", …; "unread": could not be looked at */
	const char *file; /* below the store's folder */
	uint64_t line, offset;
	const char *message; /* what is wrong and what it means */
	const char *mending; /* what mending does, or did; "": nothing can be done here */
};

struct store_check {
	/* Something is wrong. A negative code ends the check with it. */
	int (*found)(void *data, const struct store_finding *finding);
	/* NULL, or told now and then how many bytes (or files) of how many are done; a negative code ends the check. */
	int (*progress)(void *data, const char *what, uint64_t done, uint64_t total);
	void *data;
	bool mend;
};

/* The folder: files of no session, leftovers of crashes, links, modes, what a list remembers (the catalogue). */
int store_check_folder(struct store *store, const struct store_check *check, struct bobbin_error *error);

/* What stands in blobs/: the name of a file there is the SHA-256 of what is in it. */
int store_check_blobs(struct store *store, const struct store_check *check, struct bobbin_error *error);
/* Whether a blob of this name, 64 hexadecimal digits, is there: 1, 0, or BOBBIN_EIO, which says neither. */
int store_has_blob(const struct store *store, struct slice digest, struct bobbin_error *error);

/* Mode and kind of the log's file, and its meta file: whether that contradicts `log`. */
int store_check_session(
	struct store *store, struct log *log, const struct store_check *check, struct bobbin_error *error);

/*
 * The index file of a session: each entry is compared with the bytes of the log it speaks of, which are all read. A log
 * without one is fine. ret_trusted: log_open may be believed; else log_open_raw. BOBBIN_ENOTFOUND: no such log.
 */
int store_check_index(struct store *store, struct slice id, const struct store_check *check,
	bool *ret_trusted, struct bobbin_error *error);

/* Why a session that cannot be opened cannot: "header", "emptied", "parent_missing", "parent_changed", "cycle", "depth", "forbidden" (a log
 * may not be read) or "unreadable", and the session at which it shows. */
const char *store_why_unreadable(
	struct store *store, struct slice id, char ret_at[LIMIT_SESSION_ID_BYTES + 1]);

/* ---- For the files of this room ---- */

int check_found(const struct store_check *check, const char *kind, const char *file, const char *mending,
	struct bobbin_error *error, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* What could not be looked at is a finding too, which says why and nothing else. `os`: positive, as errno. */
int check_unread(const struct store_check *check, const char *file, int os, struct bobbin_error *error);
int check_progress(const struct store_check *check, const char *what, uint64_t done, uint64_t total,
	struct bobbin_error *error);

#endif
