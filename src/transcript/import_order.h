/* SPDX-License-Identifier: MIT */
/*
 * The records of a file of lines, each behind the one that it follows. In a file that is in order, which is nearly every one, that is
 * the order of the lines, and nothing more is kept than the ids that a reader missed. When a record comes that was missed before, reading
 * begins anew: all ids are gathered, then a record waits until the one that it names has been given.
 */
#ifndef TRANSCRIPT_IMPORT_ORDER_H
#define TRANSCRIPT_IMPORT_ORDER_H

#include "transcript/import_tools.h"

/* The id of a record and that of the one which it follows; {NULL, 0}: none. For as long as the record. */
typedef void import_names_fn(struct import *import, const struct json *record, struct slice *ret_id, struct slice *ret_parent);

struct order_node;
struct order_waiting;

struct import_order {
	struct import *import;
	struct import_lines lines;
	const char *data;
	size_t len;
	import_names_fn *names;
	struct id_table ids; /* what was missed; once it sorts, those of all records, by node */
	bool sorts, anew;
	struct order_node *nodes;
	struct order_waiting *waiting;
	size_t node_count, node_cap, waiting_count, waiting_cap;
	uint32_t ready, ready_last; /* a list of those that need not wait any more */
	size_t left;		    /* none before it waits */
	struct buffer text;
};

void import_order_init(struct import_order *order, struct import *import, const char *data, size_t len, import_names_fn *names);

/* As import_lines_next; with `anew` set whatever was made of earlier records has to be dropped: they come again. */
int import_order_next(struct import_order *order, struct json *ret_value, struct place *ret_place);

/* A reader did not find what a record follows. 0 or BOBBIN_ENOMEM. */
int import_order_missed(struct import_order *order, struct slice parent);

/* Tells how many had to wait. 0 or BOBBIN_ENOMEM. */
int import_order_tell(const struct import_order *order);
void import_order_release(struct import_order *order);

#endif
