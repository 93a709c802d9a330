/* SPDX-License-Identifier: MIT */
/*
 * An arena: memory of one operation, freed at once. Allocations are 16-byte aligned and never move.
 * Not thread-safe.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include "base/slice.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	char *next, *end;
	size_t used; /* bytes handed out, each piece rounded up to 16 */
};

#define ARENA_INIT                                                                                           \
	{                                                                                                    \
		NULL, NULL, NULL, 0                                                                          \
	}

void *arena_alloc(struct arena *arena, size_t bytes); /* NULL when memory is out; not zeroed */
void *arena_alloc_zero(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *data, size_t len); /* NUL-terminated */
/* Everything handed out is gone; the largest block is kept for reuse. */
void arena_reset(struct arena *arena);
void arena_release(struct arena *arena);

#endif
