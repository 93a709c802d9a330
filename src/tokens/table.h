/* SPDX-License-Identifier: MIT */
/*
 * The compact form of a vocabulary, as make_table.c writes it at build time and merge.c reads it in place:
 *
 *	header | nodes | tokens | pairs | filter
 *
 * nodes   a trie of all tokens as a double array: the child of node n for byte b is base(n) ^ b, and it is
 * one iff its label is b + 1. Bases are unique, so the label alone decides. Slots 0 to 255 hold only the root
 * (0), so that a node without children can have base 0. tokens  for every token how merging makes it: from
 * which two tokens, and its longest proper prefix that is a token. pairs   a hash table, linear probing, from
 * (left, right) to the token that they merge to. filter  a bit for each of four parts of a slot of pairs:
 * clear if no pair has that hash. Most pairs that are asked for merge to nothing, and this is small enough to
 * stay in the processor's cache.
 *
 * Numbers are in the byte order of the machine that builds; a cross build must not mix orders.
 */
#ifndef TOKENS_TABLE_H
#define TOKENS_TABLE_H

#include <stdint.h>

#define TABLE_MAGIC 0x32304b54u
#define TABLE_TOKEN_BITS 18 /* 200,000 tokens */
#define TABLE_NONE ((1u << TABLE_TOKEN_BITS) - 1)
#define TABLE_TOKEN_BYTES_MAX 128 /* the longest token of both vocabularies */

struct table_header {
	uint32_t magic;
	uint32_t token_count; /* 0: built without the rank file */
	uint32_t node_count;
	uint32_t pair_bits;   /* the pair table has 1 << pair_bits slots */
	uint64_t reserved[6]; /* what follows is aligned to 64 bytes */
};

/* A node: token + 1 in bits 0 to 31 (0: not the end of a token), label + 1 in 32 to 40 (0: empty slot), base
 * above. */
static inline uint32_t node_token_plus_one(uint64_t node)
{
	return (uint32_t)node;
}

static inline uint32_t node_label_plus_one(uint64_t node)
{
	return (uint32_t)(node >> 32) & 0x1ff;
}

static inline uint32_t node_base(uint64_t node)
{
	return (uint32_t)(node >> 41);
}

/* A token: left, right, prefix (18 bits each) and its length (8 bits). A single byte has itself as left and
 * right; a token that merging cannot make (only a whole piece can be it) has TABLE_NONE as both. */
static inline uint32_t token_left(uint64_t token)
{
	return (uint32_t)token & TABLE_NONE;
}

static inline uint32_t token_right(uint64_t token)
{
	return (uint32_t)(token >> TABLE_TOKEN_BITS) & TABLE_NONE;
}

static inline uint32_t token_prefix(uint64_t token)
{
	return (uint32_t)(token >> (2 * TABLE_TOKEN_BITS)) & TABLE_NONE;
}

static inline uint32_t token_bytes(uint64_t token)
{
	return (uint32_t)(token >> (3 * TABLE_TOKEN_BITS));
}

/* A slot of the pair table: the token in the low 18 bits (TABLE_NONE: empty), 14 more bits of the hash above.
 */
static inline uint64_t pair_hash(uint32_t left, uint32_t right)
{
	return ((uint64_t)left << TABLE_TOKEN_BITS | right) * 0x9e3779b97f4a7c15u;
}

static inline uint32_t pair_slot(uint64_t hash, unsigned bits)
{
	return (uint32_t)(hash >> (64 - bits));
}

static inline uint32_t pair_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 20) & ~(uint32_t)TABLE_NONE;
}

static inline uint32_t pair_filter_bit(uint64_t hash, unsigned bits)
{
	return (uint32_t)(hash >> (62 - bits));
}

#endif
