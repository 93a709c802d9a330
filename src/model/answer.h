/* SPDX-License-Identifier: MIT */
/*
 * The mock's answer to what it is shown, when no script says otherwise. A pure function of struct seen.
 *
 * Rules, the first that applies: (1) results stand after the user's last words: call the next round the
 * user asked for, or answer from them; (2) "call NAME with {…}", "use tools A and B": ask for tools that
 * are offered; "please note", "remember": ask for note, if it is offered; (3) each question is answered from the user's own words, newest first, then from labelled
 * parts, saying so, else it is said that it cannot be found; (4) facts are noted; (5) the words are
 * given back.
 */
#ifndef MODEL_ANSWER_H
#define MODEL_ANSWER_H

#include "base/buffer.h"
#include "model/seen.h"

struct answer_call {
	struct slice name, arguments; /* in the text that asked for it */
};

struct answer {
	struct buffer text;
	struct buffer arguments; /* of a call that the words do not spell out */
	struct answer_call *calls;
	size_t call_count, call_cap;
};

/* 0 or BOBBIN_ENOMEM. Release also after a failure. */
int answer_compose(const struct seen *seen, struct answer *ret_answer);
void answer_release(struct answer *answer);

#endif
