/* SPDX-License-Identifier: MIT */
/*
 * The records of a session's segments: found in the log, or derived, verified
 * and logged once; then merged up to a cut.
 *
 *	{"type":"segment","key":"sha256:…","covers":["m1","m17"],"deriver":"rules/1","source":"chain:91ab…",
 *	 "record":{…},"verify":{…}}
 *
 * A line is found again by the messages it covers: a message's whole past is
 * fixed, so if the last one is on the line, so are all. The key says the same of
 * conversations that share no ids.
 *
 * Invariants: (1) a record is derived from the raw messages of its segment and
 * from nothing else; (2) what is logged has passed verification, or was repaired
 * by it; (3) the cache in the handle is never trusted for another line than the
 * one it was made of.
 */
#ifndef SESSION_SEGMENTS_H
#define SESSION_SEGMENTS_H

#include "compact/derive.h"
#include "compact/merge.h"
#include "session/handles.h"

/* What is kept between calls in a session's handle; NULL until first used. */
struct segments;
void segments_free(struct segments *segments); /* NULL allowed */

struct segments_report {
	uint32_t found, derived; /* records that were there; that were made now */
	uint32_t refused;	 /* statements that verification threw out */
	uint32_t repaired;	 /* constraints it put back, word for word */
	uint32_t fallbacks;	 /* segments the deriver failed at and rules took over */
	char reason[256];	 /* why it failed, of the last one */
};

struct segments_request {
	struct log_path *path; /* of the line to `head` */
	uint32_t head;
	size_t floor;	/* where the newest run begins: segments before it are not merged */
	size_t covered; /* positions [floor, covered) are to be merged */
	const struct deriver *deriver;
	bool only_closed;    /* stop before a segment that is still open */
	uint32_t derive_max; /* at most so many are derived now; UINT32_MAX: all */
	bool dry;	     /* log nothing */
};

/*
 * The merge of all segments that begin before `covered`; it stays the session's
 * and is good until the next call. With derive_max or only_closed it may end
 * earlier: compact_merge_end. Errors of store, path and deriver; what was
 * logged before an error stays and is found next time.
 */
int segments_merge(bobbin_session *session, const struct segments_request *request,
	struct compact_merge **ret_merge, struct segments_report *report, struct bobbin_error *error);

/* How far a merge reaches: compact_merge_end, or the floor while there is nothing in it. */
size_t segments_end(const struct segments_request *request, const struct compact_merge *merge);

/* The id of the first message of the newest run on the line ("" without one).
 */
int session_floor(bobbin_session *session, uint32_t head, char ret_id[PATH_ID_BYTES], size_t *ret_position,
	struct bobbin_error *error);

#endif
