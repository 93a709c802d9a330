/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of the library goes through here, so that a host can bring its own allocator and a test
 * can make the Nth one fail. The allocator is process-wide and must be set before the first use.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct allocator {
	void *(*allocate)(void *context, size_t bytes);
	void *(*reallocate)(void *context, void *memory, size_t bytes);
	void (*release)(void *context, void *memory);
	void *context;
};

/* Sets the allocator (copied); it is never asked for 0 bytes, nor to free NULL. NULL restores malloc. Not
 * safe while any other thread is in the library. */
void alloc_set(const struct allocator *allocator);

/* NULL when memory is out; 0 bytes give a valid pointer. */
void *mem_alloc(size_t bytes) __attribute__((malloc));
void *mem_alloc_zero(size_t bytes) __attribute__((malloc));
void *mem_realloc(void *memory, size_t bytes);
/* count * size with an overflow check. */
void *mem_realloc_array(void *memory, size_t count, size_t size);
char *mem_copy_text(const char *data, size_t len); /* NUL-terminated copy */
void mem_free(void *memory);

/* How many of this thread's allocations have failed so far. What runs through many small steps, whose answers cannot
 * tell "nothing there" from "no memory", compares it before and after. */
uint64_t mem_failures(void);

/* Grows *array (elements of `size` bytes, capacity *cap) so that it holds at least `need`. 0 or
 * BOBBIN_ENOMEM. */
int mem_grow(void **array, size_t *cap, size_t need, size_t size);

#endif
