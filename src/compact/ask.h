/* SPDX-License-Identifier: MIT */
/*
 * Deriving with a model, without sending anything: what to ask, and what to make of the answers. Whoever
 * sends (the session) drives it:
 *
 *	compact_ask_new(&input, &options, &ask, error);
 *	while (compact_ask_next(ask, &request))                    // one request after the other
 *		if (it was answered)
 *			compact_ask_answer(ask, text, whole, error);   // whole: the model said that it is finished
 *		else
 *			compact_ask_failed(ask, "the reason in a few words");
 *	rc = compact_ask_finish(ask, &rules_deriver, &arena, &record, &report, error);
 *	compact_ask_free(ask);
 *
 * A segment that does not fit the deriver's window is asked about in parts, cut between messages, a
 * message larger than a part inside of it. Each part's answer is checked; what is refused is sent back
 * once with the reasons. Of the second answer, refused lines are dropped; if it is no use, the first one
 * without its refused lines is taken.
 *
 * Invariants:
 * (1) A request is at most input_tokens_max tokens, system prompt included.
 * (2) Transcript text stands in the request only behind "| " at the start of each line: nothing in it
 *     can look like a header, and the prompt says that it is not addressed to the model.
 * (3) A record comes only from answers that were whole, had headings we know, and were shorter than what
 *     was asked about; nothing in it is there that verification refuses, and no constraint of the
 *     harvester's is missing.
 * (4) At most COMPACT_ASK_TRIES requests a part.
 */
#ifndef COMPACT_ASK_H
#define COMPACT_ASK_H

#include "compact/derive.h"
#include "compact/verify.h"
#include "tokens/counter.h"

#define COMPACT_ASK_TRIES 2
/* A part is not made smaller than this; a deriver whose window has no room for it is refused. */
#define COMPACT_ASK_PART_TOKENS_MIN 500

/* The prompt (prompt.md) and its version: part of the key of what is derived with it. */
extern const char compact_prompt[];
#define COMPACT_PROMPT_VERSION "1"

struct compact_ask_options {
	uint64_t input_tokens_max;     /* of the deriver: window less output less margin; 0: no limit */
	struct token_counter *counter; /* the deriver's; NULL: the estimate */
};

struct compact_ask_request {
	struct slice system, user; /* one system message, one user message; valid until the next call */
	size_t part, parts;	   /* from 0 */
	unsigned attempt;	   /* from 0 */
	uint64_t tokens;	   /* of both */
};

struct compact_ask;

/* `input` must outlive it. BOBBIN_EBUDGET if the deriver's window is too small, BOBBIN_ENOMEM. */
int compact_ask_new(const struct derive_input *input, const struct compact_ask_options *options,
	struct compact_ask **ret_ask, struct bobbin_error *error);
void compact_ask_free(struct compact_ask *ask); /* NULL allowed */

/* The next request; false when there is nothing more to ask. The same one until it is answered. */
bool compact_ask_next(struct compact_ask *ask, struct compact_ask_request *ret_request);

/* What became of an answer. */
enum compact_answer {
	ANSWER_TAKEN,
	ANSWER_EMPTY,
	ANSWER_CUT,	  /* not whole: the output limit, a filter, no END */
	ANSWER_NO_RECORD, /* no heading, or nothing under one: an error's text, a refusal, chatter */
	ANSWER_TOO_LONG,  /* longer than its input */
	ANSWER_REFUSED,	  /* some of its lines are; asked again */
};
const char *compact_answer_text(enum compact_answer answer);

/* Takes the answer to the request at hand. 0 or BOBBIN_ENOMEM. */
int compact_ask_answer(struct compact_ask *ask, struct slice text, bool whole,
	enum compact_answer *ret_answer, struct bobbin_error *error);
/* The request at hand got no answer. Counts as a try. */
void compact_ask_failed(struct compact_ask *ask, const char *reason);

struct compact_ask_report {
	size_t parts, parts_failed;
	unsigned requests;
	uint32_t dropped;      /* lines that were refused for good */
	uint32_t repaired;     /* constraints that were added verbatim */
	char reason[160];      /* of the last failure; "" if there was none */
	struct slice refusals; /* the reasons of dropped lines, one a line, in the arena */
};

/*
 * The record of the whole input, in the arena, verified and repaired. BOBBIN_EPROVIDER if any part has
 * no usable answer: then the segment is left to the rules, and ret_report says why. BOBBIN_ENOMEM.
 * `harvester` NULL: coverage is not checked.
 */
int compact_ask_finish(struct compact_ask *ask, const struct deriver *harvester, struct arena *arena,
	struct compact_record *ret_record, struct compact_ask_report *ret_report, struct bobbin_error *error);

#endif
