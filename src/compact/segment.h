/* SPDX-License-Identifier: MIT */
/*
 * Segments: the raw line divided, left to right, into runs of whole rounds. A segment is what one record
 * is derived from.
 *
 *	u a t a | u a t a t a | u a t a t a t | a t a       (segment_bytes passed inside a long turn: ends at
 * a round) closed     closed         closed        open
 *
 * A segment ends at the first turn end after half of segment_bytes, or at the first round end after all
 * of it. An end counts once the next message is there and begins the turn or round; so the last segment
 * is always open. Where a routine's run begins, the segment before it is closed whatever its size.
 *
 * Invariants:
 * (1) The division depends on role, origin, model-visible bytes and run starts alone: no tokenizer, no
 *     clock, no ids.
 * (2) Appending messages never moves or changes a closed segment; an edit changes only what follows the
 *     segment before it; a fork's segments are its parent's up to the cut.
 * (3) Segments are adjacent, cover the line, are never empty, and part no call from its results.
 */
#ifndef COMPACT_SEGMENT_H
#define COMPACT_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/hash.h"
#include "transcript/path.h"

struct segment {
	size_t from, to; /* positions, `to` exclusive */
	uint64_t bytes;	 /* model-visible bytes of all its messages */
	bool closed;	 /* false for the last one */
};

struct segment_options {
	uint64_t segment_bytes;	  /* of the session's header; 0: 16384 */
	const size_t *run_starts; /* positions of the first message of each run, ascending */
	size_t run_count;
};

/*
 * Walks the segments of path positions [from, to). `from` must be 0 or the end of a closed segment of
 * the same line: nothing before it is looked at, so a caller that knows the first k segments from the
 * log goes on where they end. `to` is the path's count, or a cut: then the part before the cut comes as
 * an open segment.
 */
struct segment_walk {
	const struct path *path;
	struct segment_options options;
	size_t at, to;
	struct arena *scratch;
};
void segment_walk_init(struct segment_walk *walk, const struct path *path,
	const struct segment_options *options, size_t from, size_t to, struct arena *scratch);
/* 1: a segment; 0: the end; negative: an error of the path. `scratch` is reset. Reads each message once.
 * */
int segment_walk_next(struct segment_walk *walk, struct segment *ret_segment, struct bobbin_error *error);

/* All at once, in memory of the arena. `scratch` is another arena. */
int segments_divide(const struct path *path, const struct segment_options *options, size_t from, size_t to,
	struct arena *arena, struct arena *scratch, struct segment **ret_segments, size_t *ret_count,
	struct bobbin_error *error);

/* "sha256:" and 64 hex digits, NUL-terminated. */
#define SEGMENT_KEY_BYTES (7 + SHA256_HEX_BYTES)

/*
 * The key under which the record of positions [from, to) is logged and found: over role, origin and
 * model-visible bytes in path order, the deriver's name and the version of its prompt or rules. Equal
 * conversations have equal keys, whatever their ids, sequence numbers and times; a conversation's first
 * segment has another key than the same messages further on. `scratch` is reset.
 */
int segment_key(const struct path *path, size_t from, size_t to, const char *deriver, const char *version,
	struct arena *scratch, char ret_key[SEGMENT_KEY_BYTES], struct bobbin_error *error);

#endif
