/* SPDX-License-Identifier: MIT */
/*
 * The values in a statement: what must stand in its source. Ids, numbers, dates, paths, addresses,
 * quotations.
 *
 *	The database moved to 10.2.3.4:5051 on 9 April 2031, "for good"; see src/db.c, cost $1,200.
 *	                      id                date          quotation      path          number
 *
 * Invariants: (1) values are spans of the text, in order, and do not overlap, but for those inside a
 * quotation; (2) plain words are no values, however capitalised.
 */
#ifndef COMPACT_VALUES_H
#define COMPACT_VALUES_H

#include <stdint.h>
#include "base/arena.h"
#include "compact/numbers.h"

enum value_kind {
	VALUE_ID, /* anything with a digit, an underscore or an @ in it that is nothing else; stands as it is */
	VALUE_NUMBER,
	VALUE_DATE,
	VALUE_PATH,  /* also URLs */
	VALUE_QUOTE, /* without its marks */
	VALUE_TEXT,  /* a whole statement that claims to be verbatim */
};

struct value {
	enum value_kind kind;
	struct slice text;
	char number[NUMBER_BYTES]; /* canonical */
	struct slice unit;	   /* "ms", "%", empty */
	bool words;		   /* the number was written in words */
	uint16_t year;		   /* of a date */
	uint8_t month, day;
};

/* Calls `add` for each value; stops at its first error and returns it. */
int values_read(struct slice text, int (*add)(void *context, const struct value *value), void *context);

/* "quotation", "number", …: for people. */
const char *value_kind_text(enum value_kind kind);

/* Calls `add` with each way in which a value may be written; memory is the arena's. */
int value_spellings(const struct value *value, struct arena *arena,
	int (*add)(void *context, struct slice spelling, bool number), void *context);

#endif
