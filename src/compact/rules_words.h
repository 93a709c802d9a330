/* SPDX-License-Identifier: MIT */
/*
 * One sentence as words, its language, and the cue phrases that stand in it.
 *
 *	"Do NOT push to main, ok?"   do not push to main ok      cue: [rule] words 0–1, at the start of a
 * clause
 *
 * Invariants:
 * (1) Words between quotation marks or backticks, and words glued to others ("read-only", "/srv/never") begin
 * and end no cue; nor do those past STATEMENT_WORDS. (2) Of the cues that begin at a word the longest counts,
 * and no cue begins inside another one. (3) Offsets are of the sentence's own bytes.
 */
#ifndef COMPACT_RULES_WORDS_H
#define COMPACT_RULES_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/slice.h"
#include "compact/rules_cues.h"

#define STATEMENT_WORDS 384
#define STATEMENT_CUES 24

struct word {
	uint16_t start, end; /* bytes of the sentence */
	uint16_t id;	     /* cue_words; 0: not in any file */
	bool broken;	     /* a comma or the like before it */
	bool quoted;
	bool glued, glued_after; /* to the word before, or after, without white space */
	bool number;		 /* in digits */
	bool wide;		 /* of a script without spaces */
	bool capital;
	bool start_of_clause; /* only fillers before it */
};

struct cue {
	uint64_t kinds;
	uint16_t first, last; /* words, inclusive */
};

struct statement {
	struct slice text;
	enum cue_language language; /* the likeliest */
	unsigned languages;	    /* bits of all that are likely: cues of these count */
	uint16_t count, cue_count;
	struct word words[STATEMENT_WORDS];
	struct cue cues[STATEMENT_CUES];
};

/* Votes for languages in what was read so far, for sentences too short to tell. */
struct language_votes {
	unsigned votes[CUE_LANGUAGES];
};

/* Reads a sentence of at most UINT16_MAX bytes and finds its cues. Adds to the votes. */
void statement_read(struct statement *statement, struct slice text, struct language_votes *votes);

/* The first cue of any of these kinds (bits) at word `from` or later; NULL: none. */
const struct cue *statement_cue(const struct statement *statement, uint64_t kinds, unsigned from);
#define KIND(name) ((uint64_t)1 << (name))

bool word_is(const struct statement *statement, unsigned word, enum word_class kind);
/* In digits or as a word of the sentence's language. */
bool word_is_number(const struct statement *statement, unsigned word);

/* The bytes from word `from` to word `to`, inclusive. */
struct slice statement_span(const struct statement *statement, unsigned from, unsigned to);

/*
 * The words of [from, to] that say what it is about, folded, separated by spaces, into `buffer`: not those of
 * `cue` (NULL allowed), stop words and numbers, but for those that are part of a name ("worker-12"). If
 * nothing else is left, numbers count.
 */
struct buffer;
void statement_content(const struct statement *statement, unsigned from, unsigned to, const struct cue *cue,
	struct buffer *out);
/* How many there are. */
unsigned statement_content_count(
	const struct statement *statement, unsigned from, unsigned to, const struct cue *cue);

const char *language_text(enum cue_language language);

/* Folds `text` up to `size` bytes: lower case, no accents, nothing but letters and digits. For names of
 * tools. */
struct slice fold_name(struct slice text, char *ret_name, size_t size);

#endif
