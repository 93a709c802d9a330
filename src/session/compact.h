/* SPDX-License-Identifier: MIT */
/*
 * The ladder: from a view that is too full to one that is not, each step only
 * if the one before did not suffice.
 *
 *	clear    consumed tool results become pointers (a plan does that by
 * itself: window/window.h) swap     the records of all segments before the cut
 * are ready: merge them, no model is asked derive   the records that are missing
 * are made by the chosen deriver extract  … by rules, where it failed shrink
 * bodies in the tail become pointers (again a plan's own) refuse   with the
 * reason
 *
 * Invariants: (1) nothing is written unless the view becomes smaller; (2) a
 * commit is one line, after looking again that the cut is on the line, that what
 * it covers is what was merged, and that no run has begun; (3) messages that
 * came meanwhile follow the cut; (4) after three tries in a row that led nowhere
 * it stops until the view has grown by a twentieth of the history; (5) one at a time per session, over all
 * threads and processes.
 */
#ifndef SESSION_COMPACT_H
#define SESSION_COMPACT_H

#include "session/plan_inside.h"

struct deriver;

struct compact_request {
	const struct bobbin_window_options *window;
	struct plan_model model;
	const struct deriver *deriver; /* NULL: rules */
	bool dry_run, force;	       /* force: whatever the trigger */
	bool only_ready;	       /* derive nothing: swap or leave it */
};

/* Climbs it once. *ret_compaction tells what was done, also when that is
 * nothing. */
int compact_now(bobbin_session *session, const struct compact_request *request,
	bobbin_compaction **ret_compaction, struct bobbin_error *error);

/* Derives closed segments that have no record yet, at most `max`; *ret_left
 * says whether there are more. */
int compact_ahead(bobbin_session *session, const struct deriver *deriver, uint32_t max, uint32_t *ret_derived,
	bool *ret_left, struct bobbin_error *error);

/* "compacted 114 messages: 30,120 → 2,140 tokens (14.1×), …", for a person. */
void compact_describe(const struct bobbin_compaction_report *report, const char *id, struct buffer *out);

#endif
