/* SPDX-License-Identifier: MIT */
/*
 * From a reader's messages to records that a store can append one after the other. A reader says for each
 * message what it follows; this stage works out which of that the store would conclude by itself and writes
 * "parent" and "branch" only where it would not.
 *
 * The store's rules, as simulated here: (1) without "parent", a result whose call is in the head's open batch
 * follows the head; another result whose call is known has the call's message as parent and leaves the head
 * alone; everything else follows the head. (2) With "parent", that is the parent (null: a root). (3) The head
 * moves iff the parent is the head (in an empty session: none), or the record says "branch":true.
 */
#ifndef TRANSCRIPT_IMPORT_TREE_H
#define TRANSCRIPT_IMPORT_TREE_H

#include "transcript/import_tools.h"
#include "transcript/message.h"

#define DRAFT_NONE SIZE_MAX

enum draft_parent {
	DRAFT_HEAD, /* whatever the store concludes when the record comes */
	DRAFT_AT,   /* `parent`, or a root if that is DRAFT_NONE */
};

struct draft {
	struct slice id; /* foreign; {NULL, 0}: none */
	enum message_role role;
	enum message_origin origin; /* kept for readers; what counts is in the members */
	enum draft_parent parent_kind;
	bool still; /* with DRAFT_AT: the head does not follow it (sidechains, late results) */
	size_t parent;
	struct slice call_id; /* of a result */
	size_t calls_from, call_count;
	struct slice members; /* JSON members after id, parent and branch: "role":…,"content":… */
	struct slice more;    /* members to follow those, with their comma: what became known later */
	bool cuts;	      /* a foreign compaction: "cut" names the first message that stayed in its context */
	size_t cut;	      /* with `cuts`; DRAFT_NONE: no message stayed */

	bool says_parent, branch, referred; /* worked out by drafts_emit */
};

struct drafts {
	struct import *import;
	struct draft *list;
	size_t count, cap;
	struct slice *calls; /* ids, by message */
	size_t call_count, call_cap;
	struct id_table callers; /* call id to the latest message that asks for it */
	size_t last_moving; /* worked out by drafts_emit: the last draft that names its parent and takes the
			       head */
};

/* Adds a copy, with the calls in its members; they and its ids must live in the import's arena or the input. 0,
 * BOBBIN_ENOMEM, or what json_parse and message_parse say of members that make no record (nested too deep). */
int drafts_add(struct drafts *drafts, const struct draft *draft);
/* Adds the calls of a parsed message to the last draft, for one that was added without members. 0 or BOBBIN_ENOMEM. */
int drafts_add_calls(struct drafts *drafts, const struct message *message);

/* Rule 1 for a draft that would come next, with the given head. */
void drafts_place(const struct drafts *drafts, const struct draft *draft, size_t head, size_t *ret_parent,
	bool *ret_moves);

/* Writes all records into the conversation. 0 or BOBBIN_ENOMEM. */
int drafts_emit(struct drafts *drafts, struct import_conversation *conversation);
void drafts_release(struct drafts *drafts);

#endif
