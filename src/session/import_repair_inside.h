/* SPDX-License-Identifier: MIT */
/* What import_repair.c, which decides, and import_repair_write.c, which writes messages, share. */
#ifndef SESSION_IMPORT_REPAIR_INSIDE_H
#define SESSION_IMPORT_REPAIR_INSIDE_H

#include "session/import_repair.h"
#include "session/replay.h"
#include "transcript/import_tree.h"

struct call {
	size_t message, result; /* REPLAY_NONE: nobody answered */
	struct slice id, name;
	struct slice written; /* the id it gets; else `id` */
	/* Calls of one message with one id are a list from the first on, which knows the first without an answer. CALL_NONE: the end. */
	size_t next, open;
};
#define CALL_NONE SIZE_MAX

enum fate { FATE_KEPT, FATE_COPY, FATE_TEXT };

struct repairing {
	struct import *import;
	struct replay replay;
	struct import_repairs repairs;
	struct call *calls;
	size_t call_count, call_cap;
	struct id_table lists; /* message and id to the first call of the list */
	struct buffer key;     /* for looking one up */
	struct id_table names; /* how an id is renamed to the number to try next */
	size_t *entered, *left; /* by message: what follows it lies between */
	size_t *calls_from;    /* by message: its first in `calls`; the next message's is the end */
	enum fate *fates;      /* of results */
	bool *goes_on;	       /* by message: the assistant speaks on after it */
	bool *on_line;	       /* by message: it is on the line to the head */
	size_t *places;	       /* by message: its draft */
	size_t *tails;	       /* by message: the draft that what follows it hangs from */
	struct drafts drafts;
	struct buffer out;
};

void repair_count(struct repairing *repairing, enum import_repair repair, size_t message);

/* import_repair_write.c: each leaves the members of a record in repairing->out. */

/* A message, repaired, without what says where it stands; `call_id`: of a result, if it gets one. */
void repair_write_members(struct repairing *repairing, size_t index, struct slice call_id);
/* A result nobody asked for, in words. */
void repair_write_as_text(struct repairing *repairing, size_t index);
/* The result of a call that has none. */
void repair_write_marked(struct repairing *repairing, const struct call *call);
/* Whether nothing would be left of it. */
bool repair_is_empty(struct repairing *repairing, size_t index);

#endif
