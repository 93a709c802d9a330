/* SPDX-License-Identifier: MIT */
/*
 * The merge: many segment records, one record up to a cut. Nothing is rewritten; lists are joined, equal
 * items become one with all their sources, later facts supersede earlier ones of the same key, and
 * signals set states.
 *
 *	struct compact_merge *merge;
 *	compact_merge_new(&merge);
 *	compact_merge_add(merge, &record, segment.from, segment.to, error);      // as segments close, left to right
 *	…
 *	compact_merge_finish(merge, &options, &arena, &merged, error);           // at a cut, as often as wanted
 *
 * Invariants:
 * (1) The result is a pure function of what was added and the options: no clock, no hash order, no
 *     earlier result.
 * (2) An item whose sources do not all precede the cut is not in the result; if its segment begins
 *     before the cut, a pointer says so. A message kept verbatim is no source.
 * (3) A state changes only by a signal that is later than every source of the item; a constraint's only
 *     by a person's.
 * (4) Text, reason and key of an item in the result are byte for byte those of one that was added.
 */
#ifndef COMPACT_MERGE_H
#define COMPACT_MERGE_H

#include "compact/record.h"

struct compact_merge;

/* 0 or BOBBIN_ENOMEM. */
int compact_merge_new(struct compact_merge **ret_merge);
void compact_merge_free(struct compact_merge *merge); /* NULL allowed */

/*
 * Adds the record of positions [from, to): its places are ordinals in that range (an item with a place
 * outside of it, or none at all, is left out). Records come in the order of their ranges; several of one
 * range (parts of a long segment, signals found later) may follow each other. Everything is copied. 0 or
 * BOBBIN_ENOMEM.
 */
int compact_merge_add(struct compact_merge *merge, const struct compact_record *record, size_t from,
	size_t to, struct bobbin_error *error);

/* Says that positions [from, to) have no record: they become a pointer. 0 or BOBBIN_ENOMEM. */
int compact_merge_add_missing(
	struct compact_merge *merge, size_t from, size_t to, struct bobbin_error *error);

/* The end of what was added: where the next range begins. */
size_t compact_merge_end(const struct compact_merge *merge);

struct compact_merge_options {
	size_t cut;   /* everything before it is covered */
	size_t inner; /* COMPACT_NO_INNER, or the inner cut: then [cut + 1, inner) is covered too */
};
#define COMPACT_NO_INNER SIZE_MAX

/*
 * The merged record, in the arena; its places are positions, ids are empty (compact_record_name fills
 * them in). Facts that were superseded, tasks that are done and constraints that were lifted are in it
 * with that state and its proof. Signals that met nothing become decisions if a person gave them, and
 * are gone otherwise. 0 or BOBBIN_ENOMEM.
 */
int compact_merge_finish(const struct compact_merge *merge, const struct compact_merge_options *options,
	struct arena *arena, struct compact_record *ret_record, struct bobbin_error *error);

/* Gives sources, proofs and pointers their ids from a path. Errors of the path, BOBBIN_ENOMEM. */
struct path;
int compact_record_name(struct compact_record *record, const struct path *path, struct bobbin_error *error);

#endif
