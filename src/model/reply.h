/* SPDX-License-Identifier: MIT */
/*
 * Gathers the events of one answer into the record to store.
 *
 *	{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c1","name":"ls","arguments":"{}"}]}
 *
 * content is a string when the answer is nothing but text before its calls; with sealed blocks, or text
 * after a call, it is an array of blocks in the provider's order, calls among them as
 * {"type":"tool_call",…}. See transcript/message.h.
 *
 * Invariants: (1) sealed blocks are the provider's bytes; (2) the order of the blocks is the order of
 * the events; (3) no two calls have the same id, and none an empty one, whatever the provider sent: a result
 * must find its call.
 */
#ifndef MODEL_REPLY_H
#define MODEL_REPLY_H

#include "base/buffer.h"
#include "model/model.h"

struct reply {
	struct buffer text;    /* all text so far, joined, for showing and for a cut-off answer */
	struct buffer blocks;  /* finished blocks as JSON, each followed by a comma */
	struct buffer calls;   /* the calls as JSON, each followed by a comma */
	struct buffer pending; /* text that is not in a block yet */
	struct buffer ids;     /* of the calls, as JSON strings with a comma before and after each */
	size_t call_count;
	size_t kept_count; /* sealed blocks that are more than thinking */
	bool ordered;	   /* the order matters: content must be an array */
	bool has_usage;
	struct model_usage usage;
	bool done; /* DONE came */
	enum model_stop stop;
};

void reply_init(struct reply *reply);
void reply_release(struct reply *reply);

/* Takes one event; ERROR changes nothing. 0, BOBBIN_ENOMEM, or BOBBIN_ELIMIT for an answer over
 * LIMIT_LINE_BYTES or LIMIT_CALLS_PER_MESSAGE. */
int reply_add(struct reply *reply, const struct model_event *event);

/* True if there is nothing in it for anybody: no text but white space, no call, no sealed block but thinking. */
bool reply_is_empty(const struct reply *reply);

/* Appends the record, one JSON object without seq, ts or crc, which the caller may extend. Also for an
 * answer that was cut off: calls that were whole are in it. 0, BOBBIN_ENOMEM or BOBBIN_ELIMIT. */
int reply_add_record(struct reply *reply, struct buffer *out);

#endif
