/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "support/fail.h"

static void zero_bytes__valid_pointer(void **state)
{
	(void)state;
	void *memory = mem_alloc(0);
	assert_non_null(memory);
	memory = mem_realloc(memory, 0);
	assert_non_null(memory);
	mem_free(memory);
	memory = mem_alloc_zero(0);
	assert_non_null(memory);
	mem_free(memory);
	mem_free(NULL);
	/* Not left to the allocator, of which many give NULL for 0 bytes. */
	fail_alloc_start(0);
	mem_free(mem_alloc(0));
	assert_int_equal(fail_alloc_stop().bytes, 1);
}

static void zeroed_memory_is_zero(void **state)
{
	(void)state;
	static const char zeros[1000];
	char *memory = mem_alloc_zero(sizeof(zeros));
	assert_memory_equal(memory, zeros, sizeof(zeros));
	mem_free(memory);
}

static void reallocation_keeps_the_content(void **state)
{
	(void)state;
	char *memory = mem_realloc(NULL, 6);
	memcpy(memory, "hello", 6);
	memory = mem_realloc(memory, 100000);
	assert_string_equal(memory, "hello");
	mem_free(memory);
}

static void sizes_that_overflow_are_refused(void **state)
{
	(void)state;
	assert_null(mem_realloc_array(NULL, SIZE_MAX / 2, 3));
	assert_null(mem_copy_text("", SIZE_MAX));
	void *array = NULL;
	size_t cap = 0;
	assert_int_equal(mem_grow(&array, &cap, SIZE_MAX / 4, 8), BOBBIN_ENOMEM);
	assert_null(array);
	assert_int_equal(cap, 0);
	cap = SIZE_MAX / 2 + 10;
	assert_int_equal(mem_grow(&array, &cap, SIZE_MAX, 2), BOBBIN_ENOMEM);
	assert_int_equal(cap, SIZE_MAX / 2 + 10);
}

static void copied_text_ends_in_nul(void **state)
{
	(void)state;
	char *copy = mem_copy_text("abcdef", 3);
	assert_string_equal(copy, "abc");
	mem_free(copy);
	copy = mem_copy_text("a\0b", 3);
	assert_memory_equal(copy, "a\0b\0", 4);
	mem_free(copy);
	copy = mem_copy_text(NULL, 0);
	assert_string_equal(copy, "");
	mem_free(copy);
}

static void growing_one_by_one__few_reallocations(void **state)
{
	(void)state;
	uint32_t *array = NULL;
	size_t cap = 0;
	fail_alloc_start(0);
	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(mem_grow((void **)&array, &cap, i + 1, sizeof(*array)), 0);
		assert_true(cap > i);
		array[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(array[i], i);
	mem_free(array);
	struct fail_alloc_report report = fail_alloc_stop();
	assert_int_equal(report.allocations, 15); /* 8, 16, … 8 * 2^14 = 131072 */
	assert_int_equal(report.live, 0);
}

static void growing_at_once__all_that_is_needed(void **state)
{
	(void)state;
	void *array = NULL;
	size_t cap = 0;
	assert_int_equal(mem_grow(&array, &cap, 1000, 3), 0);
	assert_true(cap >= 1000);
	memset(array, 1, cap * 3);
	size_t before = cap;
	assert_int_equal(mem_grow(&array, &cap, cap, 3), 0);
	assert_int_equal(cap, before);
	mem_free(array);
}

static void failed_growth__array_and_capacity_stay(void **state)
{
	(void)state;
	char *array = NULL;
	size_t cap = 0;
	assert_int_equal(mem_grow((void **)&array, &cap, 8, 1), 0);
	memcpy(array, "1234567", 8);
	char *before = array;
	fail_alloc_start(1);
	assert_int_equal(mem_grow((void **)&array, &cap, 9, 1), BOBBIN_ENOMEM);
	assert_true(fail_alloc_stop().failed);
	assert_ptr_equal(array, before);
	assert_int_equal(cap, 8);
	assert_string_equal(array, "1234567");
	mem_free(array);
}

static void nth_allocation_fails__once_or_for_good(void **state)
{
	(void)state;
	void *blocks[4];
	fail_alloc_start(2);
	for (int i = 0; i < 4; i++)
		blocks[i] = mem_alloc(10);
	struct fail_alloc_report report = fail_alloc_stop();
	assert_non_null(blocks[0]);
	assert_null(blocks[1]);
	assert_non_null(blocks[2]);
	assert_int_equal(report.allocations, 4);
	assert_int_equal(report.bytes, 40);
	assert_int_equal(report.live, 3);
	for (int i = 0; i < 4; i++)
		mem_free(blocks[i]);

	fail_alloc_start_from(2);
	for (int i = 0; i < 4; i++)
		blocks[i] = mem_alloc(10);
	report = fail_alloc_stop();
	assert_non_null(blocks[0]);
	assert_null(blocks[1]);
	assert_null(blocks[2]);
	assert_null(blocks[3]);
	assert_int_equal(report.live, 1);
	mem_free(blocks[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_bytes__valid_pointer),
		cmocka_unit_test(zeroed_memory_is_zero),
		cmocka_unit_test(reallocation_keeps_the_content),
		cmocka_unit_test(sizes_that_overflow_are_refused),
		cmocka_unit_test(copied_text_ends_in_nul),
		cmocka_unit_test(growing_one_by_one__few_reallocations),
		cmocka_unit_test(growing_at_once__all_that_is_needed),
		cmocka_unit_test(failed_growth__array_and_capacity_stay),
		cmocka_unit_test(nth_allocation_fails__once_or_for_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
