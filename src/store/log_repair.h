/* SPDX-License-Identifier: MIT */
/*
 * Repairing a session whose log is damaged. A log is never rewritten: what can be read of it becomes a new session, whose
 * header says what it was made of.
 *
 *	{"type":"session","id":"s-new","owner":"ana",…,"repairedFrom":"s-8f3a","repairedBytes":5120,"repairedCrc":…,"leftOut":2}
 *	{"seq":1,…}                                      lines that can be read: their exact bytes
 *	{"type":"session","leftOut":{"line":3,…}}        in the place of one that cannot
 *	{"seq":4,…}
 *
 * Invariants: (1) the damaged log, and every other, stays as it is; (2) each message that can be read is in the new log,
 * in the order of the old one, with the same number and the same parent, unless two had the same number; (3) the new
 * session appears whole or not at all; (4) of the same bytes a second repair makes nothing new; (5) the hash over a line
 * is what it was up to the first line that had to be changed, and records of segments and compactions that speak
 * of more than that are left out: they can be derived again; (6) usage stays with the session that paid.
 */
#ifndef STORE_LOG_REPAIR_H
#define STORE_LOG_REPAIR_H

#include "store/log.h"

struct log_repair_options {
	/* The record of a result, an object, for call number `call` of message `node` of `log`, whose own is lost; ret_marked: it
	 * is none, and says so. Asked twice for each, with the same answer or another. */
	int (*answer)(void *data, struct log *log, uint32_t node, size_t call, struct buffer *out, bool *ret_marked,
		struct bobbin_error *error);
	void *data;
};

struct log_repair {
	char id[LIMIT_SESSION_ID_BYTES + 1]; /* the new session */
	bool found;	   /* it was there already, made of the same bytes */
	uint64_t messages; /* written */
	uint64_t left_out; /* lines that could not be read, and records that are no good any more */
	uint64_t changed;  /* records that had to be written differently: their checksum, number, id or parent */
	uint64_t marked;   /* marked results put in where a line with one was lost */
	uint64_t replayed; /* results put in there that are none of these */
	bool detached;	   /* what it was forked from cannot be used: it is a root now, and begins with a note */
	bool emptied;	   /* its log had no record any more: a note stands for what was in it */
	bool copied;	   /* what it inherited stands in it now: an ancestor is damaged, or it had a copy */
};

/*
 * Makes the repaired session of `id`, whatever state that is in, from what its log holds at a moment when nobody
 * appends. Durable on return. BOBBIN_ENOTFOUND, BOBBIN_EINVAL; BOBBIN_EREADONLY for a log of a newer version; BOBBIN_EREFUSED;
 * BOBBIN_EBUSY; BOBBIN_ENOSPC, BOBBIN_EIO, BOBBIN_ENOMEM: nothing was made.
 */
int log_repair(struct store *store, struct slice id, const struct log_repair_options *options,
	struct log_repair *ret_repair, struct bobbin_error *error);

/* Whether a repair would change anything: a line that cannot be read or taken as it stands, a lost header or parent. */
bool log_needs_repair(struct log *log);

/* The session that was made of exactly these bytes of `log` by a repair, if there is one. BOBBIN_EIO, BOBBIN_ENOMEM. */
int log_find_repaired(struct log *log, char ret_id[LIMIT_SESSION_ID_BYTES + 1], bool *ret_found,
	struct bobbin_error *error);

#endif
