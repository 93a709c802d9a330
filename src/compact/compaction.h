/* SPDX-License-Identifier: MIT */
/*
 * The lines a compaction leaves in a log, and when a compaction may be used.
 *
 *	{"type":"segment","key":"sha256:…","covers":["m1","m17"],"record":{…},"verify":{…},"deriver":"rules","version":"1"}
 *	{"type":"compaction","cut":"m31","inner":null,"source":"sha256:…","segments":{"n":4,"digest":"sha256:…"},
 *	 "floor":null,"tokens":612,"text":"TASK\n…","record":{…},"verify":{…}}
 *	{"type":"reconcile","covers":["m1","m40"],"record":{"signals":[…]},"deriver":"…"}
 *
 * `text` is what is shown: newer code renders no old record anew. `source` is source_digest() of all
 * positions before the inner cut, or before the cut if there is none; it covers content alone, so a
 * fork's line has the same.
 *
 * Invariants: (1) a compaction is used only if compaction_stale() finds nothing; (2) the same function
 * decides at commit and at every later use, so what was refused once is never believed later; (3) a line
 * whose text or digest is missing or of the wrong type is no compaction.
 */
#ifndef COMPACT_COMPACTION_H
#define COMPACT_COMPACTION_H

#include "compact/record.h"
#include "compact/segment.h"
#include "window/window.h"

struct compaction {
	struct slice cut;    /* id of the user message it is attached to */
	struct slice inner;  /* id of the inner cut; empty: none */
	struct slice source; /* digest of what is covered */
	struct slice floor;  /* the session's floor when it was made; empty: none */
	uint64_t segment_count;
	struct slice segment_digest;
	uint64_t tokens; /* of text and heading */
	struct slice text;
	struct json record, verify; /* as they stand in the line; JSON_ABSENT if they are not there */
};

/* Reads a log line; strings live in the arena. BOBBIN_EINPUT if it is no whole compaction. */
int compaction_read(const struct json *line, struct arena *arena, struct compaction *ret_compaction,
	struct bobbin_error *error);
/* The line's object, for log_append, which adds seq, ts and crc. */
void compaction_write(const struct compaction *compaction, struct buffer *out);

struct segment_line {
	struct slice key, deriver, version;
	struct slice from, to; /* ids, inclusive */
	struct json record, verify;
};
int segment_line_read(const struct json *line, struct arena *arena, struct segment_line *ret_line,
	struct bobbin_error *error);
void segment_line_write(const struct segment_line *line, struct buffer *out);

/* How the session stands when a compaction is to be committed or used. */
struct compaction_now {
	size_t cut;   /* position of its cut on the line; WINDOW_NONE: not on it */
	size_t inner; /* of its inner cut; WINDOW_NONE */
	struct slice
		source; /* source_digest() of the covered positions now; data NULL: known to be the same (the
					 log's own chained hash at the last covered message is what it was) */
	struct slice floor; /* id of the session's floor; empty: none */
};

/* Where what a compaction with these cuts covers ends. */
static inline size_t compaction_end(size_t cut, size_t inner)
{
	return inner == WINDOW_NONE ? cut : inner;
}

/*
 * Why it must not be used, in a few words of static text; *ret_reason NULL if it may. The cut must be a
 * turn start of a person, the inner cut a round start of that turn. 0, or an error of the path.
 */
int compaction_stale(const struct compaction *compaction, const struct compaction_now *now,
	const struct path *path, const char **ret_reason, struct bobbin_error *error);

/* For window_plan: with `stale` set if it must not be used. The text lives as long as the compaction's.
 * */
int compaction_window_record(const struct compaction *compaction, const struct compaction_now *now,
	const struct path *path, struct window_record *ret_record, struct bobbin_error *error);

/* "sha256:…" over the keys of the segments in order. 0 or BOBBIN_ENOMEM. */
int segments_digest(const char *const *keys, size_t count, char ret_digest[SEGMENT_KEY_BYTES]);

/*
 * Why a result is not worth having; NULL: it is. A record without items counts as none; one that does
 * not make the view smaller is of no use.
 */
struct compaction_gain {
	uint64_t view_before, view_after; /* tokens */
	size_t items;
};
const char *compaction_useless(const struct compaction_gain *gain);

#endif
