/* SPDX-License-Identifier: MIT */
#include "tokens/merge.h"
#include <string.h>

bool merge_table_open(const void *data, struct merge_table *ret_table)
{
	const struct table_header *header = data;
	if (header->magic != TABLE_MAGIC || !header->token_count)
		return false;
	ret_table->nodes = (const uint64_t *)(header + 1);
	ret_table->tokens = ret_table->nodes + header->node_count;
	ret_table->pairs = (const uint32_t *)(ret_table->tokens + header->token_count);
	ret_table->filter = (const uint64_t *)(ret_table->pairs + (1u << header->pair_bits));
	ret_table->pair_bits = header->pair_bits;
	ret_table->token_count = header->token_count;
	return true;
}

uint32_t merge_whole(const struct merge_table *table, const char *piece, size_t len)
{
	if (len > TABLE_TOKEN_BYTES_MAX)
		return TABLE_NONE;
	uint64_t node = table->nodes[0];
	for (size_t at = 0; at < len; at++) {
		unsigned byte = (unsigned char)piece[at];
		node = table->nodes[node_base(node) ^ byte];
		if (node_label_plus_one(node) != byte + 1)
			return TABLE_NONE;
	}
	return (node_token_plus_one(node) - 1) & TABLE_NONE;
}

/* The longest token that the text begins with; every single byte is one. */
static uint32_t longest_token(const struct merge_table *table, const char *at, const char *end)
{
	uint64_t node = table->nodes[0];
	uint32_t longest = 0;
	for (; at < end; at++) {
		unsigned byte = (unsigned char)*at;
		node = table->nodes[node_base(node) ^ byte];
		if (node_label_plus_one(node) != byte + 1)
			break;
		if (node_token_plus_one(node))
			longest = node_token_plus_one(node);
	}
	return longest - 1;
}

/* The token that (left, right) merge to, or TABLE_NONE, which is larger than all. */
static inline uint32_t merged(const struct merge_table *table, uint32_t left, uint32_t right)
{
	uint64_t hash = pair_hash(left, right);
	uint32_t slot = pair_slot(hash, table->pair_bits), tag = pair_tag(hash);
	uint32_t bit = pair_filter_bit(hash, table->pair_bits);
	if (!(table->filter[bit / 64] >> (bit % 64) & 1))
		return TABLE_NONE;
	for (;; slot = (slot + 1) & ((1u << table->pair_bits) - 1)) {
		uint32_t token = table->pairs[slot] & TABLE_NONE;
		if (token == TABLE_NONE)
			return TABLE_NONE;
		if ((table->pairs[slot] & ~TABLE_NONE) != tag)
			continue;
		uint64_t info = table->tokens[token];
		if (token_left(info) == left && token_right(info) == right)
			return token;
	}
}

/*
 * Whether merging leaves `left` and `right` as neighbours. Merging is undone step by step, the higher rank
 * first: at each step the parts that face each other must not merge to a token that would have come before
 * the step that is undone. Of equal ranks the leftmost merge comes first.
 */
static bool stay_apart(const struct merge_table *table, uint32_t left, uint32_t right)
{
	uint32_t limit = TABLE_NONE;
	for (;;) {
		if (merged(table, left, right) < limit)
			return false;
		if (left > right) {
			limit = left;
			left = token_right(table->tokens[left]);
			if (left == limit) {
				limit = right + 1;
				right = token_left(table->tokens[right]);
				if (right + 1 == limit)
					return true;
			}
		} else {
			limit = right + 1;
			right = token_left(table->tokens[right]);
			if (right + 1 == limit) {
				limit = left;
				left = token_right(table->tokens[left]);
				if (left == limit)
					return true;
			}
		}
	}
}

static inline bool stay_apart_remembered(
	const struct merge_table *table, struct merge_memory *memory, uint32_t left, uint32_t right)
{
	uint64_t pair = (uint64_t)left << TABLE_TOKEN_BITS | right, key = (pair + 1)
									  << 1; /* never 0, an empty slot */
	uint64_t *slot = &memory->pairs[pair * 0x9e3779b97f4a7c15u >> (64 - MERGE_MEMORY_BITS)];
	if (*slot >> 1 != key >> 1)
		*slot = key | stay_apart(table, left, right);
	return *slot & 1;
}

size_t merge_piece(const struct merge_table *table, struct merge_memory *memory, const char *piece,
	size_t len, uint8_t *lengths, uint64_t *given_up)
{
	const char *end = piece + len;
	size_t at = 0, count = 0;
	uint32_t before = TABLE_NONE, token = longest_token(table, piece, end);
	memset(given_up, 0, (len / 64 + 1) * sizeof(*given_up));
	for (;;) {
		size_t next = at + token_bytes(table->tokens[token]);
		if (!(given_up[next / 64] >> (next % 64) & 1) &&
			(before == TABLE_NONE || stay_apart_remembered(table, memory, before, token))) {
			lengths[count++] = (uint8_t)(next - at);
			if (next == len)
				return count;
			at = next;
			before = token;
			token = longest_token(table, piece + at, end);
			continue;
		}
		token = token_prefix(table->tokens[token]);
		while (token == TABLE_NONE) {
			/* No token fits here: this position is given up, and the token before it made
			 * shorter. */
			given_up[at / 64] |= 1ull << (at % 64);
			at -= lengths[--count];
			token = token_prefix(table->tokens[before]);
			before = count ? merge_whole(
						 table, piece + at - lengths[count - 1], lengths[count - 1])
				       : TABLE_NONE;
		}
	}
}
