/* SPDX-License-Identifier: MIT */
/*
 * Three questions about something that a person said, which decide where it goes: is it needed after this session? does it
 * expire? can retrieval bring it back?
 *
 *	"The user is in Shanghai"                       yes, no, yes       kept
 *	"rewrite that second paragraph …"               no                 stays in the session
 *	"I am looking at flights to Rome"               perhaps, no, yes   a candidate: kept once it recurs in another session
 *
 * Invariants: (1) a judgement is a function of text and time alone; (2) what is kept says why, and so does what is not; (3) nothing
 * but text that a person typed is given to memory_take.
 */
#ifndef MEMORY_JUDGE_H
#define MEMORY_JUDGE_H

#include "memory/memory.h"

enum verdict {
	VERDICT_SESSION = 1, /* it stays where it is */
	VERDICT_CANDIDATE,
	VERDICT_KEEP,
};

enum answer {
	ANSWER_NO,
	ANSWER_PERHAPS,
	ANSWER_YES,
};

struct judgement {
	enum verdict verdict;
	enum answer needed, expires, retrievable;
	const char *needed_why, *expires_why, *retrievable_why; /* static text */
	int64_t expires_ns;			   /* 0: it does not */
	char relation[FACT_NAME_BYTES + 1];	   /* "" : none known */
};

/* Judges one sentence, said at that time. BOBBIN_ENOMEM. */
int judge(struct slice text, int64_t said_ns, struct judgement *ret_judgement, struct bobbin_error *error);

/* The sentences of a typed text that may be judged: without code, quotations, blocks in tags, and without MEMORY_HEADING and what
 * stands under it. 1 and the next, 0 at the end. */
struct typed {
	struct slice rest;
	bool in_code, in_memory;
	struct slice tag; /* of the block at hand */
	struct slice line;
};
void typed_begin(struct typed *sentences, struct slice text);
bool typed_next(struct typed *sentences, struct slice *ret_sentence);

/* The first line of what is shown of the facts in a request. */
#define MEMORY_HEADING "[What is known about the user, from earlier conversations]"

struct memory_taken {
	uint64_t judged, kept, candidates, merged, buried;
};

/* Judges the sentences of one typed message and learns what is worth it. Adds to *taken. `context`: what was said before it. */
int memory_take(struct memory *memory, struct slice session, struct slice message, struct slice text,
	struct slice context, int64_t said_ns, struct memory_taken *taken, struct bobbin_error *error);

/* Of what the person typed the one sentence that says `wanted` (case, spacing, punctuation aside), kept because a model thinks it
 * worth it: 1, and what became of it. 0, and nothing was done: they did not say it in these words, or it is about the work
 * at hand. */
int memory_take_one(struct memory *memory, struct slice session, struct slice message, struct slice text,
	struct slice wanted, int64_t said_ns, struct fact_report *ret_report, struct bobbin_error *error);

#endif
