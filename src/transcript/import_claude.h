/* SPDX-License-Identifier: MIT */
/* The two passes of the claude-code reader share these; import_claude_code.c explains them. */
#ifndef TRANSCRIPT_IMPORT_CLAUDE_H
#define TRANSCRIPT_IMPORT_CLAUDE_H

#include "transcript/import_tree.h"

#define UNIT_NONE SIZE_MAX
#define PART_NONE SIZE_MAX
#define CALL_NONE SIZE_MAX

/* A message to be. */
struct unit {
	enum message_role role;
	enum message_origin origin;
	bool side;
	bool late;		      /* a result that came after the model was called without it */
	size_t parent;		      /* nearest unit above, UNIT_NONE: a root */
	size_t group;		      /* of a result: the unit that asked; UNIT_NONE: unknown */
	size_t first_part, last_part; /* assistant: its lines; others: one */
	size_t first_call, last_call;
	size_t follower; /* of an assistant: the first model call that hangs from its batch */
	struct slice id, call_id;
	struct slice members; /* user and tool: written at once, in the arena */

	size_t draft; /* pass two: where it stands; for an assistant, `end` is the last of its batch */
	size_t end;
};

#define UNIT_INIT                                                                                            \
	{                                                                                                    \
		.parent = UNIT_NONE, .group = UNIT_NONE, .first_part = PART_NONE, .last_part = PART_NONE,    \
		.first_call = CALL_NONE, .last_call = CALL_NONE, .follower = UNIT_NONE, .draft = DRAFT_NONE, \
		.end = DRAFT_NONE                                                                            \
	}

struct part {
	struct json record, content;
	size_t next;
};

struct call {
	struct slice id;
	size_t unit;
	size_t result; /* unit; UNIT_NONE: none */
	size_t next;   /* of the same message */
};

#define CLAUDE_KINDS 10

struct claude {
	struct import *import;
	struct unit *units;
	size_t unit_count, unit_cap;
	size_t last[2]; /* latest unit of the main line and of the side ones */
	struct part *parts;
	size_t part_count, part_cap;
	struct call *calls;
	size_t call_count, call_cap;
	struct json *seen; /* contents by order, for `contents` */
	size_t seen_count, seen_cap;
	struct id_table resolved;    /* uuid to unit */
	struct id_table message_ids; /* message.id to unit */
	struct id_table call_ids;    /* tool_use id to call */
	struct id_table contents;    /* uuid to seen */
	struct slice session_id, title, title_leaf;
	struct {
		uint64_t count;
		struct place first;
	} left_out[CLAUDE_KINDS];
};

/* The unit whose batch this one belongs to: itself, or for a result the one that asked; else UNIT_NONE. */
size_t claude_batch(const struct claude *claude, size_t unit);

struct unit *claude_unit_add(struct claude *claude, const struct unit *unit);

/* Turns a user line into units: its results, then runs of what was typed and what was injected. */
int claude_read_user(struct claude *claude, const struct json *record, const struct json *message, bool side,
	struct place place, size_t parent, size_t *ret_unit);

/* Pass two: orders the units and writes the conversation. */
int claude_place(struct claude *claude);

#endif
