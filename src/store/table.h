/* SPDX-License-Identifier: MIT */
/*
 * A hash table of things numbered 0, 1, 2 … in the order in which they were added. It knows their hashes, not
 * what they are: the caller compares. Things leave in the opposite order, so an operation that failed is
 * undone by popping.
 *
 *	for (uint32_t i = table_first(&ids, hash); i != TABLE_NONE; i = table_next(&ids, i))
 *		if (same(i)) …                   // newest first
 */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table_item {
	uint32_t hash, next;
};

struct table {
	uint32_t *buckets;
	struct table_item *items;
	size_t bucket_count; /* a power of two, or 0 */
	size_t cap;
	uint32_t count;
};

int table_push(struct table *table, uint64_t hash); /* 0 or BOBBIN_ENOMEM, and then nothing changed */
void table_truncate(struct table *table, uint32_t count);
uint32_t table_first(const struct table *table, uint64_t hash);
uint32_t table_next(const struct table *table, uint32_t item);
void table_release(struct table *table);

#endif
