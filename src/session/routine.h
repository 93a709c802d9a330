/* SPDX-License-Identifier: MIT */
/* What a run of a routine is told of the runs before it. */
#ifndef SESSION_ROUTINE_H
#define SESSION_ROUTINE_H

#include "session/handles.h"

#define ROUTINE_RUNS 3
#define ROUTINE_FOLLOW_UPS 4 /* a run */
#define ROUTINE_NOTES "routine/notes.md"
#define ROUTINE_TOKENS 1500 /* the digest */
#define ROUTINE_NOTES_TOKENS 2000
#define ROUTINE_SHARE 16 /* of the window: neither is more */
#define ROUTINE_BYTES (ROUTINE_TOKENS * 64)
#define ROUTINE_NOTES_BYTES (ROUTINE_NOTES_TOKENS * 16)

struct routine_told {
	struct slice text;  /* in the arena; empty: no run, or nothing to tell */
	const char *reason; /* a sentence about it */
};

struct routine_wanted {
	uint32_t head;
	uint64_t window;   /* the model's, in tokens */
	const char *model; /* whose tokens */
};

/* Of the run that the message `head` is in: the digest of the runs before it and its notes as of its beginning. The same for
 * every request of the run. BOBBIN_ENOMEM, BOBBIN_EIO, BOBBIN_ECORRUPT. */
int routine_tell(bobbin_session *session, const struct routine_wanted *wanted, struct arena *arena,
	struct routine_told *ret_told, struct bobbin_error *error);

#endif
