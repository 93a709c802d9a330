/* SPDX-License-Identifier: MIT */
/* Facts in turns and plans. */
#ifndef SESSION_FACTS_H
#define SESSION_FACTS_H

#include "session/handles.h"

#define FACTS_SHARE 16 /* facts take at most this part of the window */

/* What a request says of the owner's facts: those that answer the newest message typed on the line to `head` and that the view
 * does not show. `text` is empty if there are none. */
struct facts_wanted {
	uint32_t head;
	size_t bytes_max;  /* of the text */
	size_t shown_from; /* messages of the line from this position on are shown as they are */
};
struct facts_shown {
	struct slice text;  /* in the arena, as is `reason` */
	const char *reason; /* "f3, f7: …"; why there are none although there should be; NULL: nothing to say */
};
int facts_for(bobbin_session *session, const struct facts_wanted *wanted, struct arena *arena,
	struct facts_shown *ret_shown, struct bobbin_error *error);

/* The facts of the session's owner, on a connection that the session keeps: opening one takes longer than asking it. The session
 * closes it. BOBBIN_ENOTFOUND without `create` if the store has no facts, and what memory_open says. */
struct memory;
int facts_memory(bobbin_session *session, bool create, struct memory **ret_memory, struct bobbin_error *error);

/* facts_found.c: the facts that answer a message, and what a plan has made of them. They are the session's, until the next call. */
struct fact;
struct facts_answer {
	struct fact *facts;
	size_t count;
	bool written; /* for `wanted`, as `shown`, whose texts are in `arena` */
	struct facts_wanted wanted;
	struct facts_shown shown;
	struct arena arena;
};
int facts_find(bobbin_session *session, struct memory *memory, uint32_t node, struct facts_answer **ret_answer,
	struct bobbin_error *error);
struct facts_found;
void facts_found_free(struct facts_found *found); /* NULL allowed */

/* The text of a message that a person typed. */
int facts_typed_text(struct log *log, uint32_t node, struct buffer *out, struct message *ret_message,
	struct arena *arena, struct bobbin_error *error);
int64_t facts_said_ns(const struct message *message); /* now, if its record does not say */
/* "I live in Berlin (said 2026-03-04)" */
void facts_add_text(struct buffer *out, const struct fact *fact);

/* Learns from one message of the session's own; nothing if nobody typed it. */
struct memory_taken;
int facts_learn(bobbin_session *session, struct memory *memory, uint32_t node, struct memory_taken *taken,
	struct bobbin_error *error);
/* The same after a turn, for the owner of the session; *taken stays 0 if it has none. */
int facts_learn_turn(bobbin_session *session, uint32_t node, struct memory_taken *taken, struct bobbin_error *error);

#endif
