/* SPDX-License-Identifier: MIT */
/*
 * Verification: is what a record says in its sources, and is what it must say in it?
 *
 *	struct verify *verify;
 *	rc = verify_new(&record, &rules_deriver, &verify, error);
 *	for each segment of the covered messages:
 *		rc = verify_messages(verify, &input, segment.from, error);
 *	rc = verify_finish(verify, &options, &arena, &result, error);
 *	verify_free(verify);
 *
 * Containment: each value (values.h) of an item's text and reason stands in the messages the item cites
 * (or in a message of the same round), in any of the spellings of numbers, dates and paths; without
 * citation, anywhere in the covered messages. A statement that claims to be verbatim stands there as it
 * is. Provenance: what is said to be the user's (by BY_USER, a constraint, or in words: "the user
 * asked") stands in a message a person typed. Tool output, injected text and assistant text that imitate
 * one do not count. Coverage: each constraint that the harvester finds in the covered messages and that
 * still binds is in the record as binding, word for word; one that was lifted is not shown as binding.
 *
 * Invariants: (1) the cost is one pass over the messages, whatever the number of values; (2) messages
 * may be given in any division, and their memory may go after each call; (3) nothing is accepted because
 * it stands in the record.
 */
#ifndef COMPACT_VERIFY_H
#define COMPACT_VERIFY_H

#include "compact/derive.h"
#include "compact/merge.h"
#include "compact/record.h"

enum violation_kind {
	VIOLATION_NOWHERE,   /* the value stands in no covered message */
	VIOLATION_NOT_CITED, /* it stands in others than the item cites */
	VIOLATION_NOT_USER,  /* said to be the user's, but no person typed it */
	VIOLATION_SOURCE,    /* cites a message that is not there */
	VIOLATION_STATE, /* shown as binding though it was lifted, or lifted without a person's message that does it */
};

struct verify_violation {
	enum violation_kind kind;
	size_t item;	    /* index in the record */
	struct slice value; /* in the item's text or reason; the whole text for statements */
};

struct verify_missing {
	struct slice text;	   /* the user's words */
	struct item_source source; /* its place; ids as the record's */
	enum item_state state;
	struct item_source proof;
};

struct verify_result {
	struct verify_violation *violations;
	size_t violation_count;
	struct verify_missing *missing;
	size_t missing_count;
	size_t values;	    /* that were checked */
	size_t constraints; /* that coverage was checked against */
	uint64_t bytes;	    /* of source text that was looked at */
};

struct verify;

/* `record` must outlive it; its places are positions (compact_record_place), or ordinals if the messages
 * are given from position 0. `harvester` NULL: coverage is not checked. 0 or BOBBIN_ENOMEM. */
int verify_new(const struct compact_record *record, const struct deriver *harvester,
	struct verify **ret_verify, struct bobbin_error *error);
/* The next covered messages, the first of which is at position `from`. */
int verify_messages(
	struct verify *verify, const struct derive_input *input, size_t from, struct bobbin_error *error);
/* The result, in the arena. `options`: which constraints are covered (compact_merge_finish); NULL: all.
 * */
int verify_finish(struct verify *verify, const struct compact_merge_options *options, struct arena *arena,
	struct verify_result *ret_result, struct bobbin_error *error);
void verify_free(struct verify *verify); /* NULL allowed */

/* A whole segment record against its own messages. */
int verify_segment(const struct compact_record *record, const struct derive_input *input,
	const struct deriver *harvester, struct arena *arena, struct verify_result *ret_result,
	struct bobbin_error *error);

/*
 * The record without the items that fail, with missing constraints added verbatim, and with states
 * corrected. Dropped items and what was added are in the result that was given. 0 or BOBBIN_ENOMEM.
 */
int verify_repair(const struct compact_record *record, const struct verify_result *result,
	struct arena *arena, struct compact_record *ret_record, struct bobbin_error *error);

/* One line for each fault, for a person or for the model that is asked again: `"ORD-9912" in FACTS: no
 * message has it`. */
void verify_write_reasons(
	const struct compact_record *record, const struct verify_result *result, struct buffer *out);
/* {"ok":…,"values":…,"violations":[…],"missing":[…]} as in log lines and `verify --json`. */
void verify_write_json(
	const struct compact_record *record, const struct verify_result *result, struct buffer *out);

static inline bool verify_ok(const struct verify_result *result)
{
	return !result->violation_count && !result->missing_count;
}

/* "invented", "not cited", "not the user's", "no such source", "wrong state". */
const char *violation_text(enum violation_kind kind);

#endif
