/* SPDX-License-Identifier: MIT */
/*
 * What a session line says: the header, session lines appended later, and (with the same names) meta.json.
 *
 *	{"type":"session","id":"s-8f3a","owner":"ana","v":1,"segment_bytes":16384,
 *	 "parentId":"main","forkedAt":4,"through":"m4","parentSeq":4,"parentEnd":512,"parentHash":"0123456789abcdef","parentSize":900,
 *	 "base":"s-0001",                        only if `through` lies in a log other than the parent's own
 *	 "repairedFrom":"s-77aa","repairedBytes":4096,"repairedCrc":123,"leftOut":2,    only of repaired sessions
 *	 "wasBytes":9000,                        only of a later line: the log was longer, and lost its end before this line
 *	 "ts":"…","crc":"…"}
 *
 * Invariant: a text that is here has no NUL and no other control character, so it is equal to another one iff
 * strcmp says so.
 */
#ifndef STORE_HEADER_H
#define STORE_HEADER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/log.h"

struct session_line {
	char id[LIMIT_SESSION_ID_BYTES + 1]; /* texts: "" if not said */
	char owner[LIMIT_OWNER_BYTES + 1];
	char title[LIMIT_TITLE_BYTES + 1];
	char created[64];
	uint64_t version;	/* 0: not said */
	uint32_t segment_bytes; /* 0: not said */
	int sync;		/* enum store_sync or LOG_SYNC_STORE: not said */
	bool redact_on_write;
	bool has_watermark;
	uint64_t watermark;

	bool has_parent; /* parent_id and forked_at are there */
	bool pinned;	 /* … and the rest, down to the hash */
	char parent_id[LIMIT_SESSION_ID_BYTES + 1];
	char base_id[LIMIT_SESSION_ID_BYTES + 1]; /* parent_id if not said */
	char through[PATH_ID_BYTES];
	uint64_t forked_at, parent_seq, parent_end, parent_hash;
	uint64_t parent_size; /* of the base's log when it was forked; 0: not said */

	char repaired_from[LIMIT_SESSION_ID_BYTES + 1]; /* the session that this one was made of by a repair … */
	uint64_t repaired_bytes, repaired_crc;		/* … whose log was so long then, with this CRC-32C … */
	uint64_t left_out;				/* … and so many lines of which could not be read */

	uint64_t was_bytes; /* so long the log was once, by its meta: what stood from this line on is lost; 0: nothing known */
};

#define SESSION_LINE_INIT                                                                                    \
	{                                                                                                    \
		.sync = LOG_SYNC_STORE                                                                       \
	}

/* Text a header may hold: UTF-8 of at most `max` bytes without control characters. */
bool header_text_is_valid(struct slice text, size_t max);

/* Masks what would reveal a secret (transcript/mask.h), for sessions that redact. 0 or BOBBIN_ENOMEM. */
int header_title_redact(char title[LIMIT_TITLE_BYTES + 1]);

/* BOBBIN_ECORRUPT names the member that is not what it must be; BOBBIN_ENOMEM. */
int session_line_parse(const struct json *record, struct session_line *ret_line, struct bobbin_error *error);

/* Adds what `from` knows and `into` does not. A title, being the newest, replaces the one before. */
void session_line_merge(struct session_line *into, const struct session_line *from);

/* Takes only what `from` knows and `known` does not; false if that is nothing. */
bool session_line_subtract(
	const struct session_line *from, const struct session_line *known, struct session_line *ret_rest);

/* Appends the line, with crc, without line break. */
void session_line_add(struct buffer *out, const struct session_line *line, const char *ts);

/* Whether bytes that cannot be read were once such a line, going by what is left of them. */
bool looks_like_session_line(const char *data, size_t len);

#endif
