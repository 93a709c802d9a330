/* SPDX-License-Identifier: MIT */
/*
 * Cue phrases: how people state something about themselves, ask for it, or speak of the work at hand; in English, German, French,
 * Spanish, Portuguese, Italian, Chinese, Japanese and Korean. Matched in folded text (terms_fold).
 */
#ifndef MEMORY_PHRASES_H
#define MEMORY_PHRASES_H

#include <stdbool.h>
#include <stddef.h>

enum phrase_kind {
	PHRASE_STATES,	/* says something lasting about the person; the relation holds one value at a time */
	PHRASE_STATES_OF, /* likewise, and the relation is of what follows: "i like" coffee */
	PHRASE_LASTS,	/* lasting, of no known relation: "from now on", "my … is" */
	PHRASE_ASKS,	/* a question about a relation */
	PHRASE_TASK,	/* the work at hand: "rewrite that paragraph" */
	PHRASE_POINTS,	/* at what only this conversation shows: "the above", "this file" */
	PHRASE_SELF,	/* about oneself, but not known to last: "i am looking at" */
	PHRASE_PAST,	/* how it was: "used to", "before" */
	PHRASE_TODAY,	/* holds until the end of the day, and so on */
	PHRASE_TOMORROW,
	PHRASE_WEEK,
	PHRASE_NEXT_WEEK,
	PHRASE_MONTH,
	PHRASE_YEAR,
	PHRASE_FOR_NOW,
};

struct phrase {
	const char *text; /* '*': anything between */
	enum phrase_kind kind;
	const char *relation;
};

extern const struct phrase phrases[]; /* ended by text NULL */

/* Where in `folded` the phrase begins and ends. */
bool phrase_find(const struct phrase *phrase, const char *folded, size_t *ret_start, size_t *ret_end);
/* The first phrase of a kind that `folded` has; NULL: none. */
const struct phrase *phrase_of(enum phrase_kind kind, const char *folded);

#endif
