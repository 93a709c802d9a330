/* SPDX-License-Identifier: MIT */
/* What the writer and the reader of record lines agree on. */
#ifndef COMPACT_RECORD_LINE_H
#define COMPACT_RECORD_LINE_H

#include "compact/record.h"

#define LINE_BECAUSE " — because "

/* The state an item of this kind has if its line names none. */
enum item_state item_state_default(enum item_kind kind);

/* Only these kinds have reasons; in others the words are part of the text. */
static inline bool line_has_reason(enum item_kind kind)
{
	return kind == ITEM_DECISION || kind == ITEM_TRIED;
}

/* Whether `text` begins with "state: " or "state (proof): "; then the word, the proof (or empty) and
 * their length. */
bool line_state_prefix(struct slice text, struct slice *ret_word, struct slice *ret_proof, size_t *ret_len);

/* Reads one line without bullet as an item of this kind and adds it. 0 or BOBBIN_ENOMEM. */
int line_read_item(struct compact_record *record, enum item_kind kind, struct slice line);

#endif
