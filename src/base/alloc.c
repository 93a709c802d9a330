/* SPDX-License-Identifier: MIT */
/* The process-wide allocator and the checked helpers on top of it; the contract is in alloc.h. */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

/* The first growth of an array skips the sizes that would be outgrown at once. */
#define GROW_MIN_ELEMENTS 8

static void *libc_allocate(void *context, size_t bytes)
{
	(void)context;
	return malloc(bytes);
}

static void *libc_reallocate(void *context, void *memory, size_t bytes)
{
	(void)context;
	return realloc(memory, bytes);
}

static void libc_release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct allocator libc_allocator = {libc_allocate, libc_reallocate, libc_release, NULL};
static struct allocator current = {libc_allocate, libc_reallocate, libc_release, NULL};
static _Thread_local uint64_t failures;

uint64_t mem_failures(void)
{
	return failures;
}

static void *counted(void *memory)
{
	if (!memory)
		failures++;
	return memory;
}

void alloc_set(const struct allocator *allocator)
{
	current = allocator ? *allocator : libc_allocator;
}

void *mem_alloc(size_t bytes)
{
	return counted(current.allocate(current.context, bytes ? bytes : 1));
}

void *mem_alloc_zero(size_t bytes)
{
	void *memory = mem_alloc(bytes);
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

void *mem_realloc(void *memory, size_t bytes)
{
	if (!memory)
		return mem_alloc(bytes);
	return counted(current.reallocate(current.context, memory, bytes ? bytes : 1));
}

void *mem_realloc_array(void *memory, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return counted(NULL);
	return mem_realloc(memory, bytes);
}

char *mem_copy_text(const char *data, size_t len)
{
	if (len == SIZE_MAX)
		return NULL;
	char *copy = mem_alloc(len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void mem_free(void *memory)
{
	if (memory)
		current.release(current.context, memory);
}

int mem_grow(void **array, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return 0;
	size_t wanted = *cap > SIZE_MAX / 2 ? need : *cap * 2;
	if (wanted < GROW_MIN_ELEMENTS)
		wanted = GROW_MIN_ELEMENTS;
	if (wanted < need)
		wanted = need;
	void *grown = mem_realloc_array(*array, wanted, size);
	if (!grown)
		return BOBBIN_ENOMEM;
	*array = grown;
	*cap = wanted;
	return 0;
}
