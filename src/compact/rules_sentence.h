/* SPDX-License-Identifier: MIT */
/* What reading one sentence of a person's needs in more than one file: clauses, signals, what is not meant.
 */
#ifndef COMPACT_RULES_SENTENCE_H
#define COMPACT_RULES_SENTENCE_H

#include "compact/rules_state.h"

struct clause {
	unsigned from, to; /* words, inclusive */
	const struct cue *cue;
	bool lifts;
};

/* Whether word `at` stands in a condition, behind an assumption, or in somebody else's mouth. */
bool rules_is_unmeant(const struct statement *statement, unsigned at);

/* Whether the sentence begins with a word of reply ("no, …"). */
bool rules_follows_reply(const struct statement *statement);

/* The clause as it was written; `only`: it is the whole sentence. */
struct slice rules_clause_text(const struct statement *statement, const struct clause *clause, bool only);

/* Adds a signal that something of kind `target` is now in this state. */
void rules_add_signal(struct rules *rules, enum item_kind target, enum item_state state, enum item_by by,
	struct slice text, struct slice key);

/* From word `from` to the end of the sentence, without what ends it. */
struct slice rules_tail(const struct statement *statement, unsigned from);

/* Adds what the sentence decides; FOUND_… of what there was. */
unsigned rules_add_decisions(struct rules *rules);

#endif
