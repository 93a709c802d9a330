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
	struct slice members; /* JSON members after id, parent and branch: "role":…,"content":…; need not outlive drafts_add */
	bool kept;	      /* of them only the length is given, and where members_keep has put them: */
	uint64_t members_at;
	bool cuts;	      /* a foreign compaction: "cut" names the first message that stayed in its context */
	size_t cut;	      /* with `cuts`; DRAFT_NONE: no message stayed */
};

/* One that was added, small: there is one a message of the file. */
struct placed {
	const char *id, *call_id;
	uint64_t members_at; /* in the spill; without one an address */
	uint32_t id_len, call_id_len, members_len;
	uint32_t parent; /* PLACED_NONE: a root */
	uint32_t calls_from, call_count;
	uint32_t extra; /* 1 + its place in the list of extras; 0: none */
	unsigned role : 8, origin : 4, at : 1, still : 1, says_parent : 1, branch : 1, referred : 1;
};
#define PLACED_NONE UINT32_MAX

/* What few have. */
struct extra {
	struct slice more; /* members to follow the others, with their comma: what became known later */
	bool cuts;
	size_t cut;
};

struct drafts {
	struct import *import;
	struct placed *list;
	size_t count, cap;
	struct extra *extras;
	size_t extra_count, extra_cap;
	struct slice *calls; /* ids, by message */
	size_t call_count, call_cap;
	bool ends; /* the reader says where the line ends: */
	size_t end;
	struct id_table callers; /* call id to the latest message that asks for it */
	size_t last_moving; /* worked out by drafts_emit: the last draft that names its parent and takes the
			       head */
};

/* Adds a copy, with the calls in its members. Its ids must live as long as the import (import_hold). 0, BOBBIN_ENOMEM, what the
 * spill says, or what json_parse and message_parse say of members that make no record (nested too deep). */
int drafts_add(struct drafts *drafts, const struct draft *draft);
/* Adds the calls of a parsed message to the last draft, for one that was added without members. 0 or BOBBIN_ENOMEM. */
int drafts_add_calls(struct drafts *drafts, const struct message *message);

/* The id of a call, which lives as long as the import: the copy that is there already if it was asked for. {NULL, 0}: there is none, or
 * memory is out. */
struct slice drafts_call_id(const struct drafts *drafts, struct slice id);

size_t drafts_parent(const struct drafts *drafts, size_t draft); /* DRAFT_NONE: a root */
/* Members that became known later, with their comma; once a draft they replace each other. 0 or BOBBIN_ENOMEM. */
int drafts_add_more(struct drafts *drafts, size_t draft, struct slice more);
bool drafts_have_more(const struct drafts *drafts, size_t draft);

/* Members into the spill, or the arena; and back, in memory that the buffer holds. */
int members_keep(struct import *import, struct slice members, uint64_t *ret_at);
int members_read(struct import *import, uint64_t at, size_t len, struct buffer *into, struct slice *ret_members);

/* Rule 1 for a draft that would come next, with the given head. */
void drafts_place(const struct drafts *drafts, const struct draft *draft, size_t head, size_t *ret_parent,
	bool *ret_moves);

/* Where one that was added hangs if the line ends at `head`, before drafts_emit works it out. */
void drafts_place_added(
	const struct drafts *drafts, size_t draft, size_t head, size_t *ret_parent, bool *ret_moves);

/* Writes all records, into the conversation or to the import's sink. 0, BOBBIN_ENOMEM, what the spill or the sink says. */
int drafts_emit(struct drafts *drafts, struct import_conversation *conversation);
void drafts_release(struct drafts *drafts);

#endif
