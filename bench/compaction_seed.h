/* SPDX-License-Identifier: MIT */
/*
 * Conversations with planted truths, for bench_compaction: made up, or real ones with truths planted into
 * them.
 *
 * A group of plants has one of each kind (of near duplicates two), each said in one of several ways, by the
 * user or in a call's result. A third of the groups each stand in the first, a middle and the last tenth.
 */
#ifndef BENCH_COMPACTION_SEED_H
#define BENCH_COMPACTION_SEED_H

#include <stdbool.h>
#include "transcript/path.h"

enum plant_kind {
	PLANT_CONSTRAINT, /* a rule of the user's, in one of five languages */
	PLANT_REJECTED,	  /* an option the user rejects, with a reason */
	PLANT_TRIED,	  /* a command that fails, with its error */
	PLANT_ID,
	PLANT_PATH,
	PLANT_NUMBER,
	PLANT_DATE,
	PLANT_NEAR,    /* one of two that differ in a digit: both must be there */
	PLANT_CURRENT, /* the later of two values of one thing */
	PLANT_STALE,   /* the earlier one: it must not be shown as current */
	PLANT_KINDS,
};

const char *plant_text(enum plant_kind kind);

struct plant {
	enum plant_kind kind;
	char value[96];	 /* what must be found */
	char reason[96]; /* beside it; "" if nothing */
	size_t place;	 /* the message it stands in */
};

struct seeded {
	struct slice *records;
	size_t count, cap;
	struct plant *plants;
	size_t plant_count, plant_cap;
	struct array_path *array;
	const struct path *path;
};

uint32_t seed_next(uint32_t *state);

/* `messages` messages with plants, and messages between them of about `filler` times 100 words a turn. */
void seeded_make(struct seeded *seeded, uint32_t seed, size_t messages, unsigned groups_each, double filler);
/* The messages of a conversation with one group of plants in each of the three tenths. False: it is no valid
 * conversation. */
bool seeded_plant(struct seeded *seeded, uint32_t seed, const struct slice *records, size_t count);
void seeded_release(struct seeded *seeded);

#endif
