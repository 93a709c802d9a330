/* SPDX-License-Identifier: MIT */
/*
 * What a request shows its reader, whatever dialect its body is in: one flat list of who said what, in
 * order. The mock knows nothing else.
 *
 *	{"role":"user","content":[{"type":"text","text":"[Summary]\n- a"},{"type":"text","text":"Hi"}]}
 *	gives SEEN_LABELLED (label "Summary") and SEEN_USER "Hi", both of message 0
 *
 * Invariants: (1) a text has exactly one kind: what stands in a result, a system prompt or a labelled
 * part is never SEEN_USER; (2) messages are counted alike in all dialects: a user message with words, a
 * run of assistant items, and each result are one.
 */
#ifndef MODEL_SEEN_H
#define MODEL_SEEN_H

#include "base/arena.h"
#include "model/model.h"

enum seen_kind {
	SEEN_SYSTEM,
	SEEN_USER,     /* words of a user message */
	SEEN_LABELLED, /* under "[Label]" on a line of its own in a user message: not the user's words */
	SEEN_ASSISTANT,
	SEEN_CALL, /* text: the arguments */
	SEEN_RESULT,
};

struct seen_item {
	enum seen_kind kind;
	size_t message;	    /* which one, from 0; of SEEN_SYSTEM without meaning */
	struct slice text;  /* decoded */
	struct slice id;    /* of calls and results */
	struct slice name;  /* of calls; of results: their call's, if it is shown */
	struct slice label; /* of SEEN_LABELLED */
	bool is_error;
};

struct seen {
	struct arena arena; /* all slices live in it or in the body */
	struct seen_item *items;
	size_t count, cap;
	struct slice *tools; /* names offered */
	size_t tool_count, tool_cap;
	size_t message_count;
	size_t visible_bytes;	   /* all texts, names and arguments, and the tools' JSON */
	int64_t output_tokens_max; /* what the request allows; 0: it does not say */
};

/* Reads a body. BOBBIN_EINPUT if it is not JSON or has not the shape of the dialect; the words say
 * where. Release also after a failure. */
int seen_read(
	enum model_dialect dialect, struct slice body, struct seen *ret_seen, struct bobbin_error *error);
void seen_release(struct seen *seen);

/* The index of the last SEEN_USER item, or, without one, seen->count. */
size_t seen_last_user(const struct seen *seen);

/* The text of that item; empty without one. */
struct slice seen_last_words(const struct seen *seen);

/* Batches of calls after the user's last words. */
size_t seen_rounds_since(const struct seen *seen);

#endif
