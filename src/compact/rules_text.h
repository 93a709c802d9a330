/* SPDX-License-Identifier: MIT */
/*
 * A text divided into sentences, and what kind of place they stand in. Chat is not prose: lists, code, quoted
 * mail, pasted logs, hard-wrapped paragraphs, no full stops.
 *
 *	- Do not touch `a.b.c`, e.g. by\n  renaming it. Then push!      two sentences of a list entry
 *	> never do this                                                 TEXT_QUOTED
 *	```\n# must not be NULL\n```                                    TEXT_CODE, whole
 *
 * Invariants:
 * (1) Sentences are spans of the text, in order, not empty, and do not overlap.
 * (2) Time is linear in the text, memory constant; a sentence has at most SENTENCE_BYTES (code may be
 * longer).
 */
#ifndef COMPACT_RULES_TEXT_H
#define COMPACT_RULES_TEXT_H

#include <stdbool.h>
#include "base/slice.h"

#define SENTENCE_BYTES 4096

enum text_kind {
	TEXT_PROSE,
	TEXT_ENTRY,    /* of a list */
	TEXT_TODO,     /* "- [ ] …" */
	TEXT_FINISHED, /* "- [x] …" */
	TEXT_HEADING,
	TEXT_QUOTED, /* "> …" */
	TEXT_CODE,   /* fenced, or a line that looks like code or a log */
	TEXT_PASTED, /* between tags that say so */
};

struct sentence {
	struct slice text; /* without bullet and white space at its ends */
	enum text_kind kind;
	bool question; /* ends with a question mark */
	bool first;    /* the first of its paragraph or entry */
};

struct sentence_iter {
	const char *at, *end;		  /* what is left */
	const char *block_at, *block_end; /* what is left of the paragraph */
	enum text_kind kind;
	bool first;
	unsigned searches; /* for closing tags that were not there */
};

void sentences_init(struct sentence_iter *iter, struct slice text);
bool sentences_next(struct sentence_iter *iter, struct sentence *ret_sentence);

/* Whether prose, a list entry or a heading: what its writer says himself. */
static inline bool sentence_is_said(const struct sentence *sentence)
{
	return sentence->kind <= TEXT_TODO || sentence->kind == TEXT_HEADING;
}

/* The next line without its break and white space at its ends; false at the end. */
bool line_next(struct slice *rest, struct slice *ret_line);
struct slice slice_trim(struct slice text);

#endif
