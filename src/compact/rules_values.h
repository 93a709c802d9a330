/* SPDX-License-Identifier: MIT */
/*
 * Values in a text: what must be exact or is worth nothing. Ids, hashes, addresses, URLs, dates, paths,
 * numbers.
 *
 *	Order ORD-9912 of 2027-03-04 went to 10.2.3.4:5051 (250 ms)
 *	      ID         DATE               HOST            NUMBER
 *
 * Invariants: (1) a value is a span of the text; (2) time is linear, no memory.
 */
#ifndef COMPACT_RULES_VALUES_H
#define COMPACT_RULES_VALUES_H

#include <stdbool.h>
#include "base/slice.h"
#include "compact/record.h"

struct rules_value {
	struct slice text;
	enum item_tag tag;
	bool strong; /* tells something by itself; a bare number or a file name does not */
};

struct rules_value_iter {
	struct slice rest;
	const char *start;
	struct slice before; /* the chunk before */
};

void rules_values_init(struct rules_value_iter *iter, struct slice text);
bool rules_values_next(struct rules_value_iter *iter, struct rules_value *ret_value);

#endif
