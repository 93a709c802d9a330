/* SPDX-License-Identifier: MIT */
/*
 * A hash table of numbers: each item has a hash and a value, which the caller knows how to check. Items leave
 * in the opposite order of their coming, so an operation that failed is undone by popping.
 *
 *	for (uint32_t i = table_first(&keys, hash); i != TABLE_NONE; i = table_next(&keys, i))
 *		if (fits(keys.items[i].value)) …                   // newest first
 */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table_item {
	uint32_t hash, next, value;
};

struct table {
	uint32_t *buckets;
	struct table_item *items;
	size_t bucket_count; /* a power of two, or 0 */
	size_t cap;
	uint32_t count;
};

/* 0 or BOBBIN_ENOMEM, and then nothing changed. */
int table_push(struct table *table, uint32_t hash, uint32_t value);
void table_truncate(struct table *table, uint32_t count);
uint32_t table_first(const struct table *table, uint32_t hash);
uint32_t table_next(const struct table *table, uint32_t item);
void table_release(struct table *table);

#endif
