/* SPDX-License-Identifier: MIT */
/* The table of table.h: buckets of chains through the items, newest first. */
#include "store/table.h"

#include "base/alloc.h"
#include "base/error.h"

#define BUCKETS_MIN 64

static uint32_t *bucket_of(const struct table *table, uint32_t hash)
{
	return &table->buckets[hash & (table->bucket_count - 1)];
}

static void put_in_bucket(struct table *table, uint32_t item)
{
	uint32_t *bucket = bucket_of(table, table->items[item].hash);
	table->items[item].next = *bucket;
	*bucket = item;
}

static int grow_buckets(struct table *table)
{
	size_t wanted = table->bucket_count ? table->bucket_count * 2 : BUCKETS_MIN;
	uint32_t *buckets = mem_realloc_array(NULL, wanted, sizeof(*buckets));
	if (!buckets)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < wanted; i++)
		buckets[i] = TABLE_NONE;
	mem_free(table->buckets);
	table->buckets = buckets;
	table->bucket_count = wanted;
	/* In order of age, so that every chain stays newest first. */
	for (uint32_t item = 0; item < table->count; item++)
		put_in_bucket(table, item);
	return 0;
}

int table_push(struct table *table, uint32_t hash, uint32_t value)
{
	if (mem_grow((void **)&table->items, &table->cap, (size_t)table->count + 1, sizeof(*table->items)) <
		0)
		return BOBBIN_ENOMEM;
	if (table->count >= table->bucket_count && grow_buckets(table) < 0)
		return BOBBIN_ENOMEM;
	table->items[table->count].hash = hash;
	table->items[table->count].value = value;
	put_in_bucket(table, table->count++);
	return 0;
}

void table_truncate(struct table *table, uint32_t count)
{
	while (table->count > count) {
		const struct table_item *item = &table->items[--table->count];
		*bucket_of(table, item->hash) = item->next;
	}
}

static uint32_t first_with(const struct table *table, uint32_t item, uint32_t hash)
{
	while (item != TABLE_NONE && table->items[item].hash != hash)
		item = table->items[item].next;
	return item;
}

uint32_t table_first(const struct table *table, uint32_t hash)
{
	if (!table->bucket_count)
		return TABLE_NONE;
	return first_with(table, *bucket_of(table, hash), hash);
}

uint32_t table_next(const struct table *table, uint32_t item)
{
	return first_with(table, table->items[item].next, table->items[item].hash);
}

void table_release(struct table *table)
{
	mem_free(table->buckets);
	mem_free(table->items);
	*table = (struct table){NULL, NULL, 0, 0, 0};
}
