/* SPDX-License-Identifier: MIT */
/*
 * What requests cost, from usage records, and what tokens cost, from a price table.
 *
 *	{"type":"usage","id":"call-7","for":"m2","kind":"chat","model":"M","dialect":"anthropic",
 *	 "input":812,"cached":700,"cache_write":0,"output":31,"reasoning":12,"nanousd":2100000}
 *
 * Invariants: (1) money is an integer of nano-dollars, rounded once a record; (2) a record's own figure goes before any
 * table; (3) what has no price is counted as such and never as 0; (4) sums stop at the largest number instead of wrapping.
 */
#ifndef SESSION_USAGE_H
#define SESSION_USAGE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/slice.h"
#include <bobbin.h>

struct model_price {
	const char *model;
	double input; /* nano-dollars a token */
	double cache_read, cache_write, output; /* as shares of `input` */
};

struct price_table {
	struct model_price *prices; /* in the arena */
	size_t count;
};

/* {"MODEL":{"input":1.25,"cache_read":0.1,"cache_write":1.25,"output":8}}: dollars a million tokens, the others in that
 * unit. Entries without "input" are left out. text NULL: an empty table. BOBBIN_EINPUT, BOBBIN_ENOMEM. */
int price_table_read(const char *text, size_t len, struct arena *arena, struct price_table *ret_table,
	struct bobbin_error *error);

/* Models whose price was needed and is not known. */
struct unpriced {
	const char **models; /* to be freed; the texts are in the arena */
	size_t count, cap;
	struct arena arena;
};

/* Adds what a usage record says; `scratch` may be reset afterwards. 0 or BOBBIN_ENOMEM. */
int usage_add_record(struct bobbin_usage *usage, const struct json *record, const struct price_table *table,
	struct arena *scratch, struct unpriced *unpriced);
void usage_add(struct bobbin_usage *usage, const struct bobbin_usage *more);

/* Whether a host may append this as a usage record: figures that are whole numbers and not negative, texts where texts
 * belong, not longer than USAGE_BYTES_MAX. BOBBIN_EINPUT. */
#define USAGE_BYTES_MAX 4096
int usage_check(const struct json *record, struct bobbin_error *error);

#endif
