/* SPDX-License-Identifier: MIT */
/* What merge.c and reconcile.c share: an item with its statement prepared for comparing. */
#ifndef COMPACT_MERGE_ENTRY_H
#define COMPACT_MERGE_ENTRY_H

#include "compact/record.h"
#include "compact/words.h"

struct merge_entry {
	struct slice text, key;	 /* normalised */
	uint64_t hash, key_hash; /* of text with its kind; of the key */
	struct words words;	 /* of the key, or of the text without one */
};

/*
 * Sets states: facts superseded by later ones of their key, and what the record's signals say. Then
 * takes the signals out, those of persons that met nothing as decisions. entries[i] belongs to items[i]
 * and moves with it. 0 or BOBBIN_ENOMEM.
 */
int reconcile(struct compact_record *record, struct merge_entry *entries);

#endif
