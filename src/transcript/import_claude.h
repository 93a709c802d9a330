/* SPDX-License-Identifier: MIT */
/* The two passes of the claude-code reader share these; import_claude_code.c explains them. */
#ifndef TRANSCRIPT_IMPORT_CLAUDE_H
#define TRANSCRIPT_IMPORT_CLAUDE_H

#include "transcript/import_order.h"
#include "transcript/import_tree.h"

/* None; what is stored is half as wide. */
#define UNIT_NONE ((size_t)UINT32_MAX)
#define PART_NONE ((size_t)UINT32_MAX)
#define CALL_NONE ((size_t)UINT32_MAX)

/* A message to be. */
struct unit {
	unsigned role : 8, origin : 6, side : 1, session : 16;
	unsigned queued : 1;		/* typed while the model worked, and given to it in the middle of a turn */
	unsigned late : 1;		/* a result that came after the model was called without it */
	uint32_t parent;		/* nearest unit above, UNIT_NONE: a root */
	uint32_t group;			/* of a result: the unit that asked; UNIT_NONE: unknown */
	uint32_t first_part, last_part; /* assistant: its lines */
	uint32_t first_call, last_call;
	uint32_t follower;    /* of an assistant: the first model call that hangs from its batch */
	uint32_t members_len; /* user and tool: written at once, and kept */
	uint64_t members_at;
	struct slice id, call_id;

	uint32_t draft; /* pass two: where it stands, UNIT_NONE: nowhere yet; for an assistant, `end` is the last of its batch */
	uint32_t end;
};

#define UNIT_INIT                                                                                            \
	{                                                                                                    \
		.parent = UNIT_NONE, .group = UNIT_NONE, .first_part = PART_NONE, .last_part = PART_NONE,    \
		.first_call = CALL_NONE, .last_call = CALL_NONE, .follower = UNIT_NONE, .draft = UNIT_NONE,  \
		.end = UNIT_NONE                                                                             \
	}

/* Bytes of the file. */
struct span {
	uint64_t offset;
	uint32_t len;
};

struct part {
	struct span record;
	uint32_t next;
};

struct call {
	struct slice id;
	uint32_t unit;
	uint32_t result; /* unit; UNIT_NONE: none */
	uint32_t next;	 /* of the same message */
};

/* What a person typed while the model worked. */
struct queued {
	struct slice content; /* a JSON string */
	struct slice time;    /* when the model was given it, JSON; {NULL, 0}: unknown */
	struct place place;
};

struct claude_session {
	struct slice id;   /* {NULL, 0}: records without one */
	struct slice name; /* the last id of what it belongs to */
	size_t into;	   /* itself, or the one that goes on under this id */
};

#define CLAUDE_KINDS 10
#define CLAUDE_SESSIONS 64 /* unrelated ones in one file; what comes after goes into the last */

struct claude {
	struct import *import;
	struct import_order *order;
	struct unit *units;
	size_t unit_count, unit_cap;
	size_t last[2]; /* latest unit of the main line and of the side ones */
	struct part *parts;
	size_t part_count, part_cap;
	struct call *calls;
	size_t call_count, call_cap;
	const char *data;  /* the file, if it is in memory */
	struct span *seen; /* contents by order, for `contents` */
	size_t seen_count, seen_cap;
	struct id_table resolved;    /* uuid to unit */
	struct id_table message_ids; /* message.id to unit */
	struct id_table call_ids;    /* tool_use id to call */
	struct id_table contents;    /* uuid to seen */
	struct buffer text, out;     /* what is read again; an assistant's members */
	struct json *records;	     /* the lines of the assistant being written */
	size_t record_count, record_cap;
	struct claude_session *sessions; /* ids in the file, in the order in which they were met */
	size_t session_count, session_cap;
	size_t session;		/* that of the record being read */
	struct slice title, title_leaf;
	struct queued *queue; /* first those that the model was given, then those that wait */
	size_t queue_given, queue_count, queue_cap;
	struct {
		uint64_t count;
		struct place first;
	} left_out[CLAUDE_KINDS];
};

/* The unit whose batch this one belongs to: itself, or for a result the one that asked; else UNIT_NONE. */
size_t claude_batch(const struct claude *claude, size_t unit);

/* A span of the file, in memory that lasts until the next is asked for. 0, BOBBIN_ENOMEM, or what the source says. */
int claude_text(struct claude *claude, struct span span, struct slice *ret_text);

/* The session of what hangs from a unit, or of the record being read if it is a root. */
size_t claude_session(const struct claude *claude, size_t parent);

struct unit *claude_unit_add(struct claude *claude, const struct unit *unit);

/* Turns a user line into units: its results, then runs of what was typed and what was injected. */
int claude_read_user(struct claude *claude, const struct json *record, const struct json *message,
	struct slice uuid, bool side, struct place place, size_t parent, size_t *ret_unit);

/* import_claude_queue.c: a line of the queue; what the model was given becomes messages behind the latest of the main line, and
 * *parent (may be NULL), if it is that one, the last of them; at the end the same, and what still waits is told. */
int claude_read_queue(struct claude *claude, const struct json *record, struct place place);
int claude_hand_over(struct claude *claude, size_t *parent);
int claude_tell_queued(struct claude *claude);
/* Above what was queued: what a model call hung from when it was made. */
size_t claude_asked_from(const struct claude *claude, size_t parent);
/* An attachment of queued words; reading it makes *unit, its parent before, the last of its messages. */
bool claude_queued_command(const struct json *record, struct json *ret_attachment);
int claude_read_queued(struct claude *claude, const struct json *record, const struct json *attachment, struct slice uuid,
	bool side, struct place place, size_t *unit);

void claude_release_units(struct claude *claude);

/* Pass two: orders the units and writes the conversation. */
int claude_place(struct claude *claude);

#endif
