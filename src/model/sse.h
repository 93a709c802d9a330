/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events: bytes, then lines, then events, however the network cut them.
 *
 *	struct slice rest = bytes;
 *	while ((rc = sse_next(&sse, &rest, &event)) == 1)
 *		…                        // event.type, event.data: until the next call
 *	if (rc < 0) …                    // the stream cannot be read on
 *
 * Invariants:
 * (1) The same bytes give the same events, wherever they are divided between calls.
 * (2) A line ends at LF, CR or CR LF; a CR at the end of one call and an LF at the start of the next are
 *     one end. A byte order mark at the very beginning is skipped, comments and the fields id and retry
 *     are ignored.
 * (3) Bytes are not judged: data is as it came, valid UTF-8 or not, so nothing is decoded across a cut.
 * (4) An event is given only when its empty line came; what stands after the last one is
 *     sse_is_unfinished().
 * (5) A line, and the data of an event, are at most LIMIT_EVENT_BYTES: the endless line ends there.
 */
#ifndef MODEL_SSE_H
#define MODEL_SSE_H

#include <stdbool.h>
#include "base/buffer.h"
#include "base/slice.h"

struct sse_event {
	struct slice type; /* empty: none was given */
	struct slice data; /* several data lines are joined with LF */
};

struct sse {
	struct buffer line, data, type;
	bool begun;    /* the first line is behind us */
	bool after_cr; /* an LF now belongs to the line before */
	bool has_data; /* a data field came since the last empty line */
	bool given;    /* data and type were handed out and are cleared at the next call */
};

void sse_init(struct sse *sse);
void sse_release(struct sse *sse);

/* Takes bytes from the front of `input` until an event is complete or none are left. 1: an event; 0: all
 * is taken; BOBBIN_ENOMEM or BOBBIN_ELIMIT: nothing more can be read from this stream. */
int sse_next(struct sse *sse, struct slice *input, struct sse_event *ret_event);

/* True if bytes stand after the last event that are neither a comment nor an empty line. */
bool sse_is_unfinished(const struct sse *sse);

#endif
