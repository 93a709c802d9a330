/* SPDX-License-Identifier: MIT */
/*
 * A program of the build, not of the library: turns a rank file ("base64 rank" a line) into the table of
 * table.h and an assembler file that includes it, so that the table lies in .rodata and is shared between
 * processes.
 *
 *	make_table RANKS NAME TABLE ASSEMBLER DEPFILE
 *
 * If RANKS does not exist the table says that it has no tokens. Since the depfile names RANKS, ninja runs
 * this again when the file appears, and files that would not change are left alone.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tokens/table.h"

#define SLOTS_MAX (1u << 20)
#define PROBE_LIMIT 256 /* free slots tried for a node's children before a fresh block is taken */

struct vocabulary {
	uint8_t (*bytes)[TABLE_TOKEN_BYTES_MAX];
	uint8_t *lengths;
	uint32_t count;
};

static _Noreturn void fail(const char *what, const char *which)
{
	fprintf(stderr, "make_table: %s: %s\n", which, what);
	exit(1);
}

static void *need(void *memory)
{
	if (!memory)
		fail("out of memory", "table");
	return memory;
}

/* ---- reading ---- */

static int base64_value(int c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

static size_t base64_decode(const char *text, uint8_t *into, size_t max)
{
	size_t len = 0;
	uint32_t bits = 0;
	unsigned held = 0;
	for (int value; (value = base64_value(*text)) >= 0; text++) {
		bits = bits << 6 | (uint32_t)value;
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		if (len == max)
			return 0;
		into[len++] = (uint8_t)(bits >> held);
	}
	return len;
}

static void read_ranks(FILE *file, const char *name, struct vocabulary *words)
{
	char line[512];
	words->bytes = need(calloc(TABLE_NONE, TABLE_TOKEN_BYTES_MAX));
	words->lengths = need(calloc(TABLE_NONE, 1));
	while (fgets(line, sizeof(line), file)) {
		char *rank = strchr(line, ' ');
		if (!rank || strtoul(rank, NULL, 10) != words->count || words->count == TABLE_NONE - 1)
			fail("ranks are not 0, 1, 2, …", name);
		size_t len = base64_decode(line, words->bytes[words->count], TABLE_TOKEN_BYTES_MAX);
		if (!len)
			fail("an empty or too long token", name);
		words->lengths[words->count++] = (uint8_t)len;
	}
}

/* ---- the trie ---- */

struct trie {
	uint32_t first_child, next_sibling;
	uint32_t token_plus_one;
	uint8_t label;
};

static struct trie *trie;
static uint32_t trie_count = 1;

static uint32_t trie_child(uint32_t parent, uint8_t label)
{
	uint32_t *link = &trie[parent].first_child;
	while (*link && trie[*link].label < label)
		link = &trie[*link].next_sibling;
	if (*link && trie[*link].label == label)
		return *link;
	trie[trie_count] = (struct trie){.next_sibling = *link, .label = label};
	*link = trie_count;
	return trie_count++;
}

static void build_trie(const struct vocabulary *words)
{
	trie = need(calloc(SLOTS_MAX, sizeof(*trie)));
	for (uint32_t token = 0; token < words->count; token++) {
		uint32_t node = 0;
		for (unsigned at = 0; at < words->lengths[token]; at++)
			node = trie_child(node, words->bytes[token][at]);
		if (trie[node].token_plus_one)
			fail("a token stands there twice", "ranks");
		trie[node].token_plus_one = token + 1;
	}
}

/* ---- the double array ---- */

static uint64_t *slots;
static uint8_t *base_taken;
static uint32_t slot_end = 512; /* no slot from here on is in use */
static uint32_t *forward;	/* from a slot in use towards the next free one; a free slot has itself */

static bool base_fits(uint32_t base, uint32_t child)
{
	if (base_taken[base])
		return false;
	for (; child; child = trie[child].next_sibling)
		if (slots[base ^ trie[child].label])
			return false;
	return true;
}

static uint32_t next_free(uint32_t slot)
{
	while (forward[slot] != slot) {
		forward[slot] = forward[forward[slot]];
		slot = forward[slot];
	}
	return slot;
}

static uint32_t find_base(uint32_t child)
{
	uint32_t slot = next_free(256);
	for (unsigned tried = 0; slot < slot_end && tried < PROBE_LIMIT;
		tried++, slot = next_free(slot + 1)) {
		if (base_fits(slot ^ trie[child].label, child))
			return slot ^ trie[child].label;
	}
	for (uint32_t base = slot_end;; base++) /* a block of its own */
		if (base + 256 < SLOTS_MAX && base_fits(base, child))
			return base;
}

static void place_nodes(uint32_t root)
{
	uint32_t *queue = need(calloc(trie_count, sizeof(*queue))),
		 *at = need(calloc(trie_count, sizeof(*at)));
	uint32_t head = 0, tail = 0;
	slots = need(calloc(SLOTS_MAX, sizeof(*slots)));
	base_taken = need(calloc(SLOTS_MAX, 1));
	forward = need(calloc(SLOTS_MAX + 1, sizeof(*forward)));
	for (uint32_t slot = 0; slot <= SLOTS_MAX; slot++)
		forward[slot] = slot;
	queue[tail++] = root;
	while (head < tail) {
		uint32_t node = queue[head++];
		if (!trie[node].first_child)
			continue;
		uint32_t base = find_base(trie[node].first_child);
		base_taken[base] = 1;
		slots[at[node]] |= (uint64_t)base << 41;
		for (uint32_t child = trie[node].first_child; child; child = trie[child].next_sibling) {
			uint32_t slot = base ^ trie[child].label;
			slots[slot] = (uint64_t)(trie[child].label + 1u) << 32 | trie[child].token_plus_one;
			forward[slot] = slot + 1;
			at[child] = slot;
			queue[tail++] = child;
			if ((slot | 255) + 1 > slot_end)
				slot_end = (slot | 255) + 1;
		}
	}
	free(queue);
	free(at);
}

/* The token that is exactly these bytes, or TABLE_NONE. */
static uint32_t find_token(const uint8_t *bytes, size_t len)
{
	uint64_t node = slots[0];
	for (size_t at = 0; at < len; at++) {
		node = slots[node_base(node) ^ bytes[at]];
		if (node_label_plus_one(node) != bytes[at] + 1u)
			return TABLE_NONE;
	}
	return (node_token_plus_one(node) - 1) & TABLE_NONE;
}

/* ---- how merging makes each token ---- */

/*
 * Merges the bytes of `token` as the reference does (lowest rank first, of equals the leftmost) until two
 * parts are left; those are its left and right. False if another number of parts remains.
 */
static bool split_of(const struct vocabulary *words, uint32_t token, uint32_t *ret_left, uint32_t *ret_right)
{
	const uint8_t *bytes = words->bytes[token];
	unsigned starts[TABLE_TOKEN_BYTES_MAX + 1], parts = words->lengths[token];
	for (unsigned i = 0; i <= parts; i++)
		starts[i] = i;
	while (parts > 2) {
		uint32_t best = TABLE_NONE;
		unsigned where = 0;
		for (unsigned i = 0; i + 2 <= parts; i++) {
			uint32_t rank = find_token(bytes + starts[i], starts[i + 2] - starts[i]);
			if (rank < best) {
				best = rank;
				where = i;
			}
		}
		if (best == TABLE_NONE)
			return false;
		memmove(starts + where + 1, starts + where + 2, (parts - where - 1) * sizeof(*starts));
		parts--;
	}
	*ret_left = find_token(bytes, starts[1]);
	*ret_right = find_token(bytes + starts[1], starts[2] - starts[1]);
	return *ret_left != TABLE_NONE && *ret_right != TABLE_NONE;
}

static uint64_t *describe_tokens(const struct vocabulary *words)
{
	uint64_t *tokens = need(calloc(words->count, sizeof(*tokens)));
	for (uint32_t token = 0; token < words->count; token++) {
		uint32_t left = token, right = token, prefix = TABLE_NONE;
		uint64_t node = slots[0];
		if (words->lengths[token] > 1 && !split_of(words, token, &left, &right))
			left = right = TABLE_NONE;
		for (unsigned at = 0; at + 1 < words->lengths[token]; at++) {
			node = slots[node_base(node) ^ words->bytes[token][at]];
			if (node_token_plus_one(node))
				prefix = node_token_plus_one(node) - 1;
		}
		tokens[token] = left | (uint64_t)right << TABLE_TOKEN_BITS |
				(uint64_t)prefix << (2 * TABLE_TOKEN_BITS) |
				(uint64_t)words->lengths[token] << (3 * TABLE_TOKEN_BITS);
	}
	return tokens;
}

static uint32_t *build_pairs(const uint64_t *tokens, uint32_t count, unsigned bits, uint64_t *filter)
{
	uint32_t size = 1u << bits;
	uint32_t *pairs = need(malloc(size * sizeof(*pairs)));
	for (uint32_t i = 0; i < size; i++)
		pairs[i] = TABLE_NONE;
	for (uint32_t token = 0; token < count; token++) {
		if (token_bytes(tokens[token]) == 1 || token_left(tokens[token]) == TABLE_NONE)
			continue;
		uint64_t hash = pair_hash(token_left(tokens[token]), token_right(tokens[token]));
		uint32_t slot = pair_slot(hash, bits);
		while ((pairs[slot] & TABLE_NONE) != TABLE_NONE)
			slot = (slot + 1) & (size - 1);
		pairs[slot] = token | pair_tag(hash);
		filter[pair_filter_bit(hash, bits) / 64] |= 1ull << (pair_filter_bit(hash, bits) % 64);
	}
	return pairs;
}

/* ---- writing ---- */

static bool is_unchanged(const char *path, const void *data, size_t len)
{
	FILE *file = fopen(path, "rb");
	char *there = need(malloc(len + 1));
	bool same = file && fread(there, 1, len + 1, file) == len && memcmp(there, data, len) == 0;
	if (file)
		fclose(file);
	free(there);
	return same;
}

static void write_file(const char *path, const void *data, size_t len)
{
	if (is_unchanged(path, data, len))
		return;
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(data, 1, len, file) != len || fclose(file) != 0)
		fail(strerror(errno), path);
}

/* The bytes of the table, and their number. */
static char *make_table(const struct vocabulary *words, size_t *ret_len)
{
	struct table_header header = {.magic = TABLE_MAGIC, .token_count = words->count};
	if (words->count) {
		build_trie(words);
		place_nodes(0);
		header.node_count = slot_end;
		for (header.pair_bits = 8; (1u << header.pair_bits) < 2 * words->count;)
			header.pair_bits++;
	}
	uint64_t *tokens = words->count ? describe_tokens(words) : NULL;
	size_t filter_size = words->count ? ((size_t)4 << header.pair_bits) / 8 : 0;
	uint64_t *filter = need(calloc(filter_size + 1, 1));
	uint32_t *pairs = words->count ? build_pairs(tokens, words->count, header.pair_bits, filter) : NULL;
	struct {
		const void *data;
		size_t len;
	} parts[] = {
		{&header, sizeof(header)},
		{slots, header.node_count * sizeof(*slots)},
		{tokens, words->count * sizeof(*tokens)},
		{pairs, pairs ? sizeof(*pairs) << header.pair_bits : 0},
		{filter, filter_size},
	};
	size_t len = 0, count = sizeof(parts) / sizeof(*parts);
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	char *table = need(malloc(len)), *at = table;
	for (size_t i = 0; i < count; at += parts[i++].len)
		if (parts[i].len)
			memcpy(at, parts[i].data, parts[i].len);
	free(tokens);
	free(pairs);
	free(filter);
	*ret_len = len;
	return table;
}

/* The checksum makes the text another one whenever the table is, so that it is assembled again. */
static void write_assembler(
	const char *path, const char *name, const char *table_path, const char *table, size_t len)
{
	char text[8192];
	uint64_t checksum = 0xcbf29ce484222325u;
	for (size_t i = 0; i < len; i++)
		checksum = (checksum ^ (unsigned char)table[i]) * 0x100000001b3u;
	int written = snprintf(text, sizeof(text),
		"/* %016llx */\n\t.section .rodata\n\t.balign 64\n\t.globl token_table_%s\n\t.hidden "
		"token_table_%s\n"
		"\t.type token_table_%s, %%object\ntoken_table_%s:\n\t.incbin \"%s\"\n"
		"\t.size token_table_%s, . - token_table_%s\n\t.section .note.GNU-stack,\"\",%%progbits\n",
		(unsigned long long)checksum, name, name, name, name, table_path, name, name);
	if (written < 0 || (size_t)written >= sizeof(text))
		fail("the path is too long", table_path);
	write_file(path, text, (size_t)written);
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: make_table RANKS NAME TABLE ASSEMBLER DEPFILE\n");
		return 2;
	}
	struct vocabulary words = {0};
	FILE *ranks = fopen(argv[1], "rb");
	if (ranks) {
		read_ranks(ranks, argv[1], &words);
		fclose(ranks);
	}
	size_t len;
	char *table = make_table(&words, &len);
	write_file(argv[3], table, len);
	char *table_path = need(realpath(argv[3], NULL));
	write_assembler(argv[4], argv[2], table_path, table, len);
	char text[8192];
	int written = snprintf(text, sizeof(text), "%s %s: %s\n", argv[3], argv[4], argv[1]);
	if (written < 0 || (size_t)written >= sizeof(text))
		fail("the path is too long", argv[1]);
	write_file(argv[5], text, (size_t)written);
	free(table_path);
	free(table);
	return 0;
}
