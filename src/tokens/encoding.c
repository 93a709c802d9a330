/* SPDX-License-Identifier: MIT */
/*
 * Counting walks the text in blocks of 64 bytes (blocks.h) and looks each piece up once (cache.h); what a
 * block leaves open is split one piece at a time (split.h). Only a piece that is in neither cache nor
 * vocabulary is merged.
 */
#include "tokens/encoding.h"
#include "base/error.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tokens/blocks.h"
#include "tokens/cache.h"
#include "tokens/merge.h"
#include "tokens/split.h"

/* Bytes that must be readable where a piece begins: a block, and the 16 bytes of a key that begins at its
 * end. */
#define READABLE (BLOCK_BYTES + 16)
#define SMALL_BYTES 256 /* pieces up to here are merged without memory of their own */

struct encoding {
	const char *name;
	enum split_pattern pattern;
	const void *data;
};

struct token_scratch {
	const struct encoding *owner; /* whose counts the cache holds */
	struct merge_table table;
	block_classifier *classify;
	struct cache *cache;
	struct merge_memory *memory;
	uint8_t *lengths; /* room for merging `cap` bytes; the bits of given_up behind */
	uint64_t *given_up;
	size_t cap;
	uint8_t small_lengths[SMALL_BYTES];
	uint64_t small_given_up[SMALL_BYTES / 64 + 1];
};

extern const unsigned char token_table_o200k_base[], token_table_cl100k_base[];

static const struct encoding encodings[] = {
	{"o200k_base", SPLIT_O200K, token_table_o200k_base},
	{"cl100k_base", SPLIT_CL100K, token_table_cl100k_base},
};

const struct encoding *encoding_by_name(const char *name)
{
	struct merge_table table;
	for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++)
		if (strcmp(encodings[i].name, name) == 0 && merge_table_open(encodings[i].data, &table))
			return &encodings[i];
	return NULL;
}

const char *encoding_name(const struct encoding *encoding)
{
	return encoding->name;
}

uint32_t encoding_size(const struct encoding *encoding)
{
	struct merge_table table;
	return merge_table_open(encoding->data, &table) ? table.token_count : 0;
}

/* ---- scratch ---- */

struct token_scratch *token_scratch_new(void)
{
	struct token_scratch *scratch = mem_alloc_zero(sizeof(*scratch));
	if (!scratch)
		return NULL;
	scratch->cache = mem_alloc_zero(sizeof(*scratch->cache));
	scratch->memory = mem_alloc_zero(sizeof(*scratch->memory));
	if (!scratch->cache || !scratch->memory) {
		token_scratch_free(scratch);
		return NULL;
	}
	scratch->classify = block_classifier_best();
	return scratch;
}

void token_scratch_free(struct token_scratch *scratch)
{
	if (!scratch)
		return;
	mem_free(scratch->cache);
	mem_free(scratch->memory);
	mem_free(scratch->lengths);
	mem_free(scratch->given_up);
	mem_free(scratch);
}

static void scratch_adopt(struct token_scratch *scratch, const struct encoding *encoding)
{
	if (scratch->owner == encoding)
		return;
	if (scratch->owner) {
		memset(scratch->cache, 0, sizeof(*scratch->cache));
		memset(scratch->memory, 0, sizeof(*scratch->memory));
	}
	scratch->owner = encoding;
	merge_table_open(encoding->data, &scratch->table);
}

static int scratch_grow(struct token_scratch *scratch, size_t len)
{
	if (len <= scratch->cap)
		return 0;
	size_t cap = len + len / 4;
	mem_free(scratch->lengths);
	mem_free(scratch->given_up);
	scratch->cap = 0;
	scratch->lengths = mem_alloc(cap);
	scratch->given_up = mem_realloc_array(NULL, cap / 64 + 1, sizeof(*scratch->given_up));
	if (!scratch->lengths || !scratch->given_up)
		return BOBBIN_ENOMEM;
	scratch->cap = cap;
	return 0;
}

/* Merges a piece; *ret_lengths is valid until the next call. */
static int merge(struct token_scratch *scratch, const char *piece, size_t len, size_t *ret_count,
	const uint8_t **ret_lengths)
{
	uint8_t *lengths = scratch->small_lengths;
	uint64_t *given_up = scratch->small_given_up;
	if (len > SMALL_BYTES) {
		int rc = scratch_grow(scratch, len);
		if (rc < 0)
			return rc;
		lengths = scratch->lengths;
		given_up = scratch->given_up;
	}
	*ret_count = merge_piece(&scratch->table, scratch->memory, piece, len, lengths, given_up);
	*ret_lengths = lengths;
	return 0;
}

/* ---- counting ---- */

static __attribute__((noinline)) int count_long(
	struct token_scratch *scratch, const char *piece, size_t len, uint64_t *total)
{
	struct cache_entry *entry = NULL;
	uint64_t cached = len <= CACHE_LONG_BYTES ? cache_get_long(scratch->cache, piece, len, &entry) : 0;
	if (cached) {
		*total += cached;
		return 0;
	}
	size_t count;
	const uint8_t *lengths;
	int rc = merge(scratch, piece, len, &count, &lengths);
	if (rc < 0)
		return rc;
	if (entry)
		cache_put_long(entry, piece, len, count);
	*total += count;
	return 0;
}

/* A piece of up to 14 bytes, so it needs no memory to be merged. */
static __attribute__((noinline)) uint64_t count_missed(
	struct token_scratch *scratch, const char *piece, size_t len, struct cache_short key, uint32_t slot)
{
	uint64_t count = cache_get_second(scratch->cache, key, slot);
	if (count)
		return count;
	count = merge_piece(&scratch->table, scratch->memory, piece, len, scratch->small_lengths,
		scratch->small_given_up);
	cache_put(scratch->cache, key, slot, count);
	return count;
}

/* Adds the tokens of a piece; 16 bytes must be readable. */
static inline int count_piece(struct token_scratch *scratch, const char *piece, size_t len, uint64_t *total)
{
	if (len > CACHE_SHORT_BYTES)
		return count_long(scratch, piece, len, total);
	struct cache_short key = cache_key(piece, len);
	uint32_t slot = cache_slot(key);
	uint64_t count = cache_get(scratch->cache, key, slot);
	if (!count)
		count = count_missed(scratch, piece, len, key, slot);
	*total += count;
	return 0;
}

/* Counts the whole pieces of a block; *ret_done is where the first piece begins that is not one of them. */
static inline int count_block(enum split_pattern pattern, struct token_scratch *scratch, const char *at,
	size_t len, const char **ret_done, bool *ret_stuck, uint64_t *total)
{
	unsigned usable, begin = 0;
	uint64_t sum = 0;
	int rc = 0;
	uint64_t starts = block_starts(pattern, scratch->classify, at, len, &usable);
	for (starts &= starts - 1; starts; starts &= starts - 1) {
		unsigned end = (unsigned)__builtin_ctzll(starts);
		rc |= count_piece(scratch, at + begin, end - begin, &sum);
		begin = end;
	}
	*total += sum;
	*ret_done = at + begin;
	*ret_stuck = begin == 0 || usable < BLOCK_BYTES;
	return rc;
}

/*
 * Counts from *at while READABLE bytes can be read before `readable` and `end` is not reached. Stops with
 * *ret_invalid at a piece that is not UTF-8; *at is then where it begins.
 */
static inline int count_span(enum split_pattern pattern, struct token_scratch *scratch, const char **at,
	const char *end, const char *readable, uint64_t *total, bool *ret_invalid)
{
	while (*at < end && readable - *at >= READABLE) {
		const char *begin = *at;
		if (!((begin[0] | begin[1]) & 0x80)) {
			bool stuck;
			int rc = count_block(
				pattern, scratch, begin, (size_t)(end - begin), at, &stuck, total);
			if (rc < 0)
				return rc;
			if (!stuck || readable - *at < READABLE)
				continue;
			begin = *at;
		}
		const char *piece_end = split_piece(pattern, begin, end, ret_invalid);
		if (*ret_invalid)
			return 0;
		int rc = count_piece(scratch, begin, (size_t)(piece_end - begin), total);
		if (rc < 0)
			return rc;
		*at = piece_end;
	}
	return 0;
}

static __attribute__((noinline)) int count_o200k(struct token_scratch *scratch, const char **at,
	const char *end, const char *readable, uint64_t *total, bool *ret_invalid)
{
	return count_span(SPLIT_O200K, scratch, at, end, readable, total, ret_invalid);
}

static __attribute__((noinline)) int count_cl100k(struct token_scratch *scratch, const char **at,
	const char *end, const char *readable, uint64_t *total, bool *ret_invalid)
{
	return count_span(SPLIT_CL100K, scratch, at, end, readable, total, ret_invalid);
}

/* The last bytes are counted in a copy with zeros behind it. *ret_used < len only with *ret_invalid. */
static int count_text(struct token_scratch *scratch, const char *text, size_t len, size_t *ret_used,
	uint64_t *total, bool *ret_invalid)
{
	int (*count)(struct token_scratch *, const char **, const char *, const char *, uint64_t *, bool *) =
		scratch->owner->pattern == SPLIT_O200K ? count_o200k : count_cl100k;
	const char *at = text, *end = text + len;
	int rc = count(scratch, &at, end, end, total, ret_invalid);
	*ret_used = (size_t)(at - text);
	if (rc < 0 || *ret_invalid || at == end)
		return rc;
	char tail[2 * READABLE] = {0};
	size_t rest = (size_t)(end - at);
	memcpy(tail, at, rest);
	const char *tail_at = tail;
	rc = count(scratch, &tail_at, tail + rest, tail + sizeof(tail), total, ret_invalid);
	*ret_used += (size_t)(tail_at - tail);
	return rc;
}

int encoding_count(const struct encoding *encoding, struct token_scratch *scratch, const char *text,
	size_t len, uint64_t *ret_tokens)
{
	uint64_t total = 0;
	size_t used = 0;
	bool invalid = false;
	scratch_adopt(scratch, encoding);
	int rc = len ? count_text(scratch, text, len, &used, &total, &invalid) : 0;
	if (rc == 0 && invalid) {
		struct buffer clean = BUFFER_INIT(LIMIT_REQUEST_BYTES);
		utf8_add_clean(&clean, text + used, len - used);
		invalid = false;
		if ((rc = buffer_error(&clean)) == 0)
			rc = count_text(scratch, clean.data, clean.len, &used, &total, &invalid);
		buffer_release(&clean);
	}
	if (rc == 0)
		*ret_tokens = total;
	return rc;
}

/* ---- encoding ---- */

void token_list_release(struct token_list *list)
{
	mem_free(list->tokens);
	*list = (struct token_list){0};
}

static int append_piece(struct token_scratch *scratch, const char *piece, size_t len, struct token_list *out)
{
	size_t count = 1;
	const uint8_t *lengths = NULL;
	uint32_t token = merge_whole(&scratch->table, piece, len);
	int rc = token == TABLE_NONE ? merge(scratch, piece, len, &count, &lengths) : 0;
	if (rc == 0)
		rc = mem_grow((void **)&out->tokens, &out->cap, out->count + count, sizeof(*out->tokens));
	if (rc < 0)
		return rc;
	if (!lengths) {
		out->tokens[out->count++] = token;
		return 0;
	}
	for (size_t i = 0; i < count; piece += lengths[i++])
		out->tokens[out->count++] = merge_whole(&scratch->table, piece, lengths[i]);
	return 0;
}

static int append_text(struct token_scratch *scratch, const char *text, size_t len, size_t *ret_used,
	struct token_list *out, bool *ret_invalid)
{
	const char *at = text, *end = text + len;
	int rc = 0;
	while (at < end && rc == 0) {
		const char *piece_end = split_piece(scratch->owner->pattern, at, end, ret_invalid);
		if (*ret_invalid)
			break;
		rc = append_piece(scratch, at, (size_t)(piece_end - at), out);
		at = piece_end;
	}
	*ret_used = (size_t)(at - text);
	return rc;
}

int encoding_encode(const struct encoding *encoding, struct token_scratch *scratch, const char *text,
	size_t len, struct token_list *out)
{
	size_t used = 0;
	bool invalid = false;
	scratch_adopt(scratch, encoding);
	int rc = append_text(scratch, text, len, &used, out, &invalid);
	if (rc == 0 && invalid) {
		struct buffer clean = BUFFER_INIT(LIMIT_REQUEST_BYTES);
		utf8_add_clean(&clean, text + used, len - used);
		invalid = false;
		if ((rc = buffer_error(&clean)) == 0)
			rc = append_text(scratch, clean.data, clean.len, &used, out, &invalid);
		buffer_release(&clean);
	}
	return rc;
}
