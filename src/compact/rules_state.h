/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the rules deriver share while one input is derived.
 *
 * Invariants:
 * (1) Items go into the record through rules_add() alone: an item said again gets another source, not a
 * second line. (2) After the first failure `rc` keeps it and nothing more is added. (3) Scratch memory is
 * bounded by the input's calls and items, not by its bytes.
 */
#ifndef COMPACT_RULES_STATE_H
#define COMPACT_RULES_STATE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "compact/derive.h"
#include "compact/rules_text.h"
#include "compact/rules_words.h"

/* Statement by statement a person's message becomes items; what was found in one of its sentences. */
enum found {
	FOUND_RULE = 1,
	FOUND_LIFT = 2,
	FOUND_DECISION = 4,
	FOUND_REQUEST = 8,
	FOUND_THANKS = 16,
	FOUND_COMPLAINT = 32,
	FOUND_QUESTION = 64,
	FOUND_FACT = 128,
	FOUND_TRIED = 256,
	FOUND_REPLY = 512,
	FOUND_DONE = 1024,
};

struct rules {
	const struct derive_input *input;
	struct compact_record *record;
	struct arena scratch;
	struct statement *statement; /* the sentence being read */
	struct language_votes votes; /* of persons' messages alone, so that a harvest guesses the same */
	struct language_votes assistant_votes;
	struct buffer key, text; /* for one item at a time */
	uint32_t *slots;	 /* items of the record by text; UINT32_MAX: free */
	size_t slot_mask, slot_used;
	struct value_set *values; /* what persons, the assistant and calls mention (rules_facts.h) */
	uint32_t at;		  /* the message being read */
	enum item_by by;
	unsigned tool_facts; /* that nobody mentions, so far */
	bool harvest;	     /* only constraints and what changes them */
	int rc;
};

/* An item said in the message being read, not yet added. */
struct compact_item rules_item(
	const struct rules *rules, enum item_kind kind, enum item_state state, struct slice text);

/* Adds it, or its source to the item of the same kind, state and text; `also` is a second source or
 * DERIVE_NONE. Returns the item, valid until the next one is added; NULL after a failure or without text. */
struct compact_item *rules_add(struct rules *rules, struct compact_item item, uint32_t also);

/* The key in rules->key, emptied first, from words of the statement (statement_content). */
struct slice rules_key(struct rules *rules, unsigned from, unsigned to, const struct cue *cue);

/* One sentence of a person's: adds constraints, signals, decisions, attempts. Returns what was found (enum
 * found bits). The statement has been read. */
unsigned rules_person(struct rules *rules, const struct sentence *sentence);

/* One sentence of the assistant's: decisions and what did not work. */
unsigned rules_assistant(struct rules *rules, const struct sentence *sentence);

/* Persons' and the assistant's messages: tasks, questions, answers; and each sentence as above
 * (rules_flow.c). */
void rules_messages(struct rules *rules);

/* Calls and results: files, todo lists (rules_calls.c), failures (rules_tried.c). */
void rules_calls(struct rules *rules);
void rules_tried(struct rules *rules);

#endif
