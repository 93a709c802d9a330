/* SPDX-License-Identifier: MIT */
/*
 * What can be wrong with a message of a foreign line, which provider refuses it and in which words. The words were collected from
 * reports of people to whom the providers said them; where none are known there are none. A verdict is about the providers
 * themselves: Anthropic joins neighbours of one role and OpenAI takes them, for instance, though chat templates of other servers
 * want turns.
 */
#ifndef SESSION_DOCTOR_WORDS_H
#define SESSION_DOCTOR_WORDS_H

#include "base/buffer.h"
#include "window/render.h"

enum cause {
	CAUSE_NONE,		/* nothing that any provider refuses */
	CAUSE_DANGLING,
	CAUSE_ORPHAN,
	CAUSE_LATE,		/* a result that other words part from its call */
	CAUSE_SECOND_RESULT,
	CAUSE_REPEATED_ID,
	CAUSE_REPEATED_ITEM,
	CAUSE_EMPTY_USER,
	CAUSE_EMPTY_ASSISTANT,
	CAUSE_EMPTY_ALONE,	/* a message whose texts are all "" */
	CAUSE_BLANK_ALONE,	/* … or white space */
	CAUSE_EMPTY_TEXT,	/* "" beside something else */
	CAUSE_BLANK_TEXT,
	CAUSE_NO_USER_FIRST,
	CAUSE_SEAL_MISSING,
	CAUSE_SEAL_WRONG,
	CAUSE_SEAL_LAST,
	CAUSE_ARGUMENTS,
	CAUSE_NAME_PATTERN,
	CAUSE_NAME_LONG,
	CAUSE_NAME_VERY_LONG,
	CAUSE_ID_PATTERN,
	CAUSE_ID_LONG,
	CAUSE_ID_MISSING,
	CAUSE_SURROGATE,
	CAUSE_NUL,
	CAUSE_SERVER_PAIR,
	CAUSE_IMAGE,
	CAUSE_SHAPE,		/* the body itself cannot be read */
	CAUSES,
};

enum verdict { VERDICT_TAKES, VERDICT_STRICT, VERDICT_REFUSES };

/* The fault's kind, what it is for a person, and what `import --repair` makes of it ("": nothing). `once`: the first of a line is
 * told, with their number. */
struct cause_about {
	const char *kind, *sentence, *repair;
	bool once;
	bool own; /* it matters only to the provider that the file's product talks to */
};
const struct cause_about *cause_about(enum cause cause);

/* STRICT: the provider takes it, servers that hold its dialect strictly do not. */
enum verdict cause_verdict(enum cause cause, enum dialect dialect);

/* Appends what the provider says, nothing if that is not known. `at` is the place in the body ("messages[1].content[0]"), `names`
 * the calls it is about, `len` what is too long. */
void cause_words(enum cause cause, enum dialect dialect, struct slice at, struct slice names, size_t len, struct buffer *out);

#endif
