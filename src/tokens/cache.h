/* SPDX-License-Identifier: MIT */
/*
 * From a piece to its number of tokens: three bounded tables, for pieces of up to 14 bytes, which nearly all
 * are, of up to 60 and of up to 508. Filled from the vocabulary as pieces are met. An entry holds the piece
 * itself, so a hit is exact. Belongs to one caller at a time.
 */
#ifndef TOKENS_CACHE_H
#define TOKENS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CACHE_SHORT_BITS 17
#define CACHE_SHORT_BYTES 14
#define CACHE_MEDIUM_BITS 15
#define CACHE_MEDIUM_BYTES 60
#define CACHE_LONG_BITS 12
#define CACHE_LONG_BYTES 508

/* The bytes of the piece, zeros behind it, then its length and its count: one comparison of two words is
 * enough. */
struct cache_short {
	uint64_t low, high;
};

/* Both longer kinds begin like this; the piece follows. A length of 0 is an empty entry. */
struct cache_entry {
	uint16_t len, count;
};

struct cache {
	struct cache_short shorts[1 << CACHE_SHORT_BITS];
	char mediums[1 << CACHE_MEDIUM_BITS][sizeof(struct cache_entry) + CACHE_MEDIUM_BYTES];
	char longs[1 << CACHE_LONG_BITS][sizeof(struct cache_entry) + CACHE_LONG_BYTES];
};

extern const uint64_t cache_mask[CACHE_SHORT_BYTES + 1][2];

/* The key of a piece of 1 to 14 bytes. Reads 16 bytes at `piece`. */
static inline struct cache_short cache_key(const char *piece, size_t len)
{
	struct cache_short key;
	memcpy(&key, piece, sizeof(key));
	key.low &= cache_mask[len][0];
	key.high = (key.high & cache_mask[len][1]) | (uint64_t)len << 48;
	return key;
}

static inline uint32_t cache_slot(struct cache_short key)
{
	uint64_t mixed = key.low * 0x9e3779b97f4a7c15u ^ key.high * 0xd6e8feb86659fd93u;
	return (uint32_t)(mixed >> (64 - CACHE_SHORT_BITS));
}

/* The count of a key that is there, or 0. */
static inline uint64_t cache_get(const struct cache *cache, struct cache_short key, uint32_t slot)
{
	struct cache_short entry = cache->shorts[slot];
	uint64_t difference = (entry.low ^ key.low) | ((entry.high ^ key.high) << 8);
	return difference ? 0 : entry.high >> 56;
}

/* Looks in the neighbouring slot too, and swaps what it finds to the front; 0 if it is not there. */
uint64_t cache_get_second(struct cache *cache, struct cache_short key, uint32_t slot);
void cache_put(struct cache *cache, struct cache_short key, uint32_t slot, uint64_t count);

/* For pieces of 15 to 508 bytes: the count, or 0 and where to put it. */
uint64_t cache_get_long(struct cache *cache, const char *piece, size_t len, struct cache_entry **ret_entry);
void cache_put_long(struct cache_entry *entry, const char *piece, size_t len, uint64_t count);

#endif
