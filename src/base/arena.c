/* SPDX-License-Identifier: MIT */
/*
 * Bump allocation in blocks that double in size. A request too large for an ordinary block gets one of its
 * own, filed behind the current one, so that the rest of the current block stays in use.
 *
 * Invariants: (1) arena->blocks is the block that next and end point into, or NULL; (2) next is 16-byte
 * aligned; (3) a failed allocation changes nothing.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>
#include "base/alloc.h"

#define ARENA_ALIGN ((size_t)16)
#define ARENA_BLOCK_MIN ((size_t)4 << 10) /* a small operation costs one allocation */
#define ARENA_BLOCK_MAX ((size_t)1 << 20) /* doubling stops here: at most this much is wasted */

struct arena_block {
	struct arena_block *older;
	size_t size; /* of data */
	alignas(16) char data[];
};

static struct arena_block *block_new(size_t size)
{
	struct arena_block *block = mem_alloc(sizeof(*block) + size);
	if (block)
		block->size = size;
	return block;
}

static void make_current(struct arena *arena, struct arena_block *block)
{
	arena->blocks = block;
	arena->next = block ? block->data : NULL;
	arena->end = block ? block->data + block->size : NULL;
}

static size_t next_block_size(const struct arena *arena)
{
	size_t size = arena->blocks ? arena->blocks->size : 0;
	if (size < ARENA_BLOCK_MIN / 2)
		return ARENA_BLOCK_MIN;
	return size < ARENA_BLOCK_MAX / 2 ? size * 2 : ARENA_BLOCK_MAX;
}

/* `bytes` is aligned and does not fit the current block. */
static void *alloc_in_new_block(struct arena *arena, size_t bytes)
{
	size_t size = next_block_size(arena);
	bool own = bytes > size / 2;
	struct arena_block *block = block_new(own ? bytes : size);
	if (!block)
		return NULL;
	if (own && arena->blocks) {
		block->older = arena->blocks->older;
		arena->blocks->older = block;
		return block->data;
	}
	block->older = arena->blocks;
	make_current(arena, block);
	arena->next += bytes;
	return block->data;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	size_t aligned = bytes ? (bytes + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1) : ARENA_ALIGN;
	void *memory;
	if (aligned <= (size_t)(arena->end - arena->next)) {
		memory = arena->next;
		arena->next += aligned;
	} else {
		memory = alloc_in_new_block(arena, aligned);
		if (!memory)
			return NULL;
	}
	arena->used += aligned;
	return memory;
}

void *arena_alloc_zero(struct arena *arena, size_t bytes)
{
	void *memory = arena_alloc(arena, bytes);
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

char *arena_copy(struct arena *arena, const char *data, size_t len)
{
	if (len == SIZE_MAX)
		return NULL;
	char *copy = arena_alloc(arena, len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void arena_reset(struct arena *arena)
{
	struct arena_block *largest = arena->blocks;
	for (struct arena_block *block = arena->blocks; block; block = block->older)
		if (block->size > largest->size)
			largest = block;
	for (struct arena_block *block = arena->blocks, *older; block; block = older) {
		older = block->older;
		if (block != largest)
			mem_free(block);
	}
	if (largest)
		largest->older = NULL;
	make_current(arena, largest);
	arena->used = 0;
}

void arena_release(struct arena *arena)
{
	arena_reset(arena);
	mem_free(arena->blocks);
	make_current(arena, NULL);
}
