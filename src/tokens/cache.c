/* SPDX-License-Identifier: MIT */
#include "tokens/cache.h"

#define ONES(bytes) ((bytes) >= 8 ? ~0ull : (1ull << (8 * ((bytes)&7))) - 1)
#define MASK(len)                                                                                            \
	{                                                                                                    \
		ONES(len), (len) > 8 ? ONES((len)-8) : 0                                                     \
	}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the masks below are for little-endian machines"
#endif

const uint64_t cache_mask[CACHE_SHORT_BYTES + 1][2] = {
	MASK(0),
	MASK(1),
	MASK(2),
	MASK(3),
	MASK(4),
	MASK(5),
	MASK(6),
	MASK(7),
	MASK(8),
	MASK(9),
	MASK(10),
	MASK(11),
	MASK(12),
	MASK(13),
	MASK(14),
};

uint64_t cache_get_second(struct cache *cache, struct cache_short key, uint32_t slot)
{
	for (uint32_t way = 1; way < 4; way++) {
		uint64_t count = cache_get(cache, key, slot ^ way);
		if (!count)
			continue;
		struct cache_short found = cache->shorts[slot ^ way];
		cache->shorts[slot ^ way] = cache->shorts[slot];
		cache->shorts[slot] = found;
		return count;
	}
	return 0;
}

/* What was in the slot goes to a free one of its line, or replaces one that the key picks. */
void cache_put(struct cache *cache, struct cache_short key, uint32_t slot, uint64_t count)
{
	uint32_t away = slot ^ (1 + (uint32_t)(key.low >> 3 ^ key.low >> 13) % 3);
	for (uint32_t way = 1; way < 4; way++)
		if (!cache->shorts[slot ^ way].high)
			away = slot ^ way;
	if (cache->shorts[slot].high)
		cache->shorts[away] = cache->shorts[slot];
	cache->shorts[slot] = (struct cache_short){key.low, key.high | count << 56};
}

static uint64_t hash_piece(const char *piece, size_t len)
{
	uint64_t hash = len, word;
	for (size_t at = 0; at + 8 <= len; at += 8) {
		memcpy(&word, piece + at, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	memcpy(&word, piece + len - 8, 8);
	return (hash ^ word) * 0xd6e8feb86659fd93u;
}

static struct cache_entry *entry_at(struct cache *cache, size_t len, uint64_t hash, unsigned way)
{
	bool medium = len <= CACHE_MEDIUM_BYTES;
	size_t slot = (hash >> (64 - (medium ? CACHE_MEDIUM_BITS : CACHE_LONG_BITS))) ^ way;
	return (struct cache_entry *)(medium ? cache->mediums[slot] : cache->longs[slot]);
}

uint64_t cache_get_long(struct cache *cache, const char *piece, size_t len, struct cache_entry **ret_entry)
{
	uint64_t hash = hash_piece(piece, len);
	struct cache_entry *ways[2] = {entry_at(cache, len, hash, 0), entry_at(cache, len, hash, 1)};
	for (unsigned way = 0; way < 2; way++)
		if (ways[way]->len == len && memcmp(ways[way] + 1, piece, len) == 0)
			return ways[way]->count;
	*ret_entry = !ways[0]->len ? ways[0] : !ways[1]->len || hash & 1 ? ways[1] : ways[0];
	return 0;
}

void cache_put_long(struct cache_entry *entry, const char *piece, size_t len, uint64_t count)
{
	*entry = (struct cache_entry){(uint16_t)len, (uint16_t)count};
	memcpy(entry + 1, piece, len);
}
