/* SPDX-License-Identifier: MIT */
/* What repair_write.c, which goes over the old records, and repair_lines.c, which writes lines of its own, share. */
#ifndef STORE_REPAIR_INSIDE_H
#define STORE_REPAIR_INSIDE_H

#include "store/log_internal.h"
#include "store/record.h"
#include "store/repair_write.h"

/* A message that is called m<seq> now, which it was not. */
struct renamed {
	uint32_t node;
	uint64_t seq;
};

struct writing {
	struct repair_source *source;
	struct log *log;
	struct log_repair *repair;
	int file;
	const char *name;
	struct buffer out;
	struct arena arena; /* of one record */
	struct bobbin_error *error;
	char now[TIME_TEXT_BYTES];

	uint64_t last_seq;
	uint32_t head;	  /* old number of the message that the next one follows */
	uint32_t changed; /* the first message whose line is not what it was, byte for byte */
	struct renamed *renamed; /* sorted by node */
	size_t renamed_count, renamed_cap;
	uint64_t note_seq;  /* of the note that a detached session begins with; 0: none */
	size_t fault;	    /* faults before this one stand behind us */

	struct arena batch_arena;
	struct slice *open; /* ids of the calls at the head that have no result yet; data NULL: answered */
	size_t open_count, open_left;
	uint32_t open_node; /* the message that makes them */
};

/* Says so in the error; BOBBIN_ENOMEM. */
int repair_no_memory(struct writing *writing);

/* From now on it is called m<seq>; and the one that was, or NULL. */
int repair_rename_node(struct writing *writing, uint32_t node, uint64_t seq);
const struct renamed *repair_find_renamed(const struct writing *writing, uint32_t node);
/* What a message is called in the new log, as a JSON value. */
int repair_add_name(struct writing *writing, uint32_t node, struct buffer *out);
/* The lines from this message on are not what they were. */
void repair_note_change(struct writing *writing, uint32_t node);

/* A session line, which has no number and changes no message: what stood here, or in the log of the ancestor `of` (else NULL). */
void repair_add_mark(struct writing *writing, const char *kind, const char *of, uint64_t line, uint64_t offset, uint64_t bytes);
/* The faults of lines before `offset`. */
void repair_pass_faults(struct writing *writing, uint64_t offset);
/* Those of the ancestors, in what is inherited from them. */
void repair_mark_inherited(struct writing *writing);
/* The message where what was inherited would stand. */
int repair_add_note(struct writing *writing);

/* The calls of a message wait for results; one has come; others for the rest, if their numbers are free. */
int repair_open_batch(struct writing *writing, uint32_t node, const struct message *message);
void repair_answer(struct writing *writing, struct slice id);
int repair_add_markers(struct writing *writing, uint64_t next_seq, bool *ret_any);

#endif
