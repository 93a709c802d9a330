/* SPDX-License-Identifier: MIT */
/* What the parts of bench_compaction share: a conversation with its segment records, and rendering at a cut.
 */
#ifndef BENCH_COMPACTION_CASE_H
#define BENCH_COMPACTION_CASE_H

#include "compact/render.h"
#include "compact/segment.h"
#include "compact/verify.h"
#include "compaction_seed.h"

struct session {
	struct seeded seeded;
	struct arena arena, scratch;
	struct segment *segments;
	size_t count;
	struct compact_record *records; /* of the rules deriver */
	struct compact_merge *merge;
	uint64_t bytes;
};

/* Segments, records and merge of a conversation that was made; it is the session's from then on. */
void session_derive(struct session *session);
void session_make(
	struct session *session, uint32_t seed, size_t messages, unsigned groups_each, double filler);
void session_release(struct session *session);

/* Everything before a cut. */
void session_merge(
	struct session *session, size_t cut, struct arena *arena, struct compact_record *ret_merged);
/* … and what of it fits a budget (0: all), with its text. */
uint64_t session_render(struct session *session, const struct compact_record *merged, uint64_t tokens,
	struct arena *arena, struct buffer *out, struct compact_record *ret_record);
/* Faults of a record against the whole conversation, and constraints that are missing in it. */
size_t session_verify(struct session *session, const struct compact_record *record, struct arena *arena);

double processor_ms(void);
void must(int rc, const char *what);

/* The parts; false or a number of faults: something that must hold does not. */
bool planted_truths(uint32_t seed);
bool planted_in_real(uint32_t seed);
bool cost_table(void);

#endif
