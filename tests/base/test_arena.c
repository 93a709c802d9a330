/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>
#include "base/arena.h"
#include "support/fail.h"

static bool is_aligned(const void *memory)
{
	return ((uintptr_t)memory & 15) == 0;
}

static void allocations_are_aligned_apart_and_stay(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	uint8_t *pieces[3000];
	for (size_t i = 0; i < 3000; i++) {
		pieces[i] = arena_alloc(&arena, i);
		assert_true(is_aligned(pieces[i]));
		memset(pieces[i], (int)(i % 251), i);
	}
	for (size_t i = 0; i < 3000; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_equal(pieces[i][k], i % 251);
	arena_release(&arena);
}

static void zero_bytes__distinct_valid_pointers(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	void *a = arena_alloc(&arena, 0), *b = arena_alloc(&arena, 0);
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	arena_release(&arena);
}

static void zeroed_memory_is_zero__also_when_reused(void **state)
{
	(void)state;
	static const char zeros[500];
	struct arena arena = ARENA_INIT;
	memset(arena_alloc(&arena, 2000), 0xff, 2000);
	arena_reset(&arena);
	assert_memory_equal(arena_alloc_zero(&arena, sizeof(zeros)), zeros, sizeof(zeros));
	arena_release(&arena);
}

static void copies_end_in_nul(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	assert_string_equal(arena_copy(&arena, "abcdef", 3), "abc");
	assert_string_equal(arena_copy(&arena, NULL, 0), "");
	assert_memory_equal(arena_copy(&arena, "a\0b", 3), "a\0b\0", 4);
	/* 16 bytes of text need a seventeenth. */
	char *exact = arena_copy(&arena, "0123456789abcdef", 16);
	memset(arena_alloc(&arena, 16), 'x', 16);
	assert_string_equal(exact, "0123456789abcdef");
	arena_release(&arena);
}

static void used_counts_what_was_handed_out(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	arena_alloc(&arena, 1);
	arena_alloc(&arena, 16);
	arena_alloc(&arena, 17);
	assert_int_equal(arena.used, 16 + 16 + 32);
	arena_alloc(&arena, 1 << 20);
	assert_int_equal(arena.used, 64 + (1 << 20));
	arena_reset(&arena);
	assert_int_equal(arena.used, 0);
	arena_release(&arena);
}

static void large_request__does_not_end_the_current_block(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	char *before = arena_alloc(&arena, 16);
	memset(arena_alloc(&arena, 100000), 1, 100000);
	char *after = arena_alloc(&arena, 16);
	assert_ptr_equal(after, before + 16);
	arena_release(&arena);
}

static void many_small__few_blocks(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	fail_alloc_start(0);
	for (int i = 0; i < 100000; i++)
		assert_non_null(arena_alloc(&arena, 16));
	arena_release(&arena);
	struct fail_alloc_report report = fail_alloc_stop();
	/* 1.6 MB: 4 + 8 + … + 512 KiB are just under 1 MiB in 8 blocks; a ninth of 1 MiB holds the rest. */
	assert_int_equal(report.allocations, 9);
	assert_int_equal(report.live, 0);
}

static void reset__keeps_the_largest_block(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	fail_alloc_start(0);
	for (int i = 0; i < 5000; i++)
		arena_alloc(&arena, 16);
	char *large = arena_alloc(&arena, 300000);
	arena_reset(&arena);
	assert_ptr_equal(arena_alloc(&arena, 300000), large);
	arena_reset(&arena);
	arena_reset(&arena);
	assert_ptr_equal(arena_alloc(&arena, 8), large);
	arena_release(&arena);
	struct fail_alloc_report report = fail_alloc_stop();
	assert_int_equal(report.live, 0);
}

static void release__twice_and_of_nothing(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	arena_reset(&arena);
	arena_release(&arena);
	assert_non_null(arena_alloc(&arena, 5));
	arena_release(&arena);
	arena_release(&arena);
	assert_null(arena.blocks);
}

static void memory_out__null_and_nothing_changed(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	fail_alloc_start(1);
	assert_null(arena_alloc(&arena, 10));
	assert_non_null(arena_alloc(&arena, 10));
	assert_int_equal(arena.used, 16);
	assert_true(fail_alloc_stop().failed);

	fail_alloc_start_from(1);
	assert_null(arena_alloc(&arena, 100000));
	assert_null(arena_alloc_zero(&arena, 100000));
	assert_null(arena_copy(&arena, "", SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX / 2));
	assert_non_null(arena_alloc(&arena, 10)); /* the current block still serves */
	fail_alloc_stop();
	assert_int_equal(arena.used, 32);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_aligned_apart_and_stay),
		cmocka_unit_test(zero_bytes__distinct_valid_pointers),
		cmocka_unit_test(zeroed_memory_is_zero__also_when_reused),
		cmocka_unit_test(copies_end_in_nul),
		cmocka_unit_test(used_counts_what_was_handed_out),
		cmocka_unit_test(large_request__does_not_end_the_current_block),
		cmocka_unit_test(many_small__few_blocks),
		cmocka_unit_test(reset__keeps_the_largest_block),
		cmocka_unit_test(release__twice_and_of_nothing),
		cmocka_unit_test(memory_out__null_and_nothing_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
