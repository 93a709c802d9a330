/* SPDX-License-Identifier: MIT */
/* The journal as it was at an instant, in another store. The clock of the first store is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "actions/actions.h"
#include "support/fail.h"
#include "support/scratch.h"

#define SECOND INT64_C(1000000000)
#define NOTHING ((struct slice){"", 0})

static char from_dir[SCRATCH_PATH_BYTES], to_dir[SCRATCH_PATH_BYTES];
static struct fail_platform clock_world;
static struct store *from, *to;
static struct bobbin_error error;

static int setup(void **state)
{
	const struct store_options options = {.create = true};
	(void)state;
	scratch_make(from_dir);
	scratch_make(to_dir);
	fail_platform_init(&clock_world);
	fail_platform_set_time(&clock_world, SECOND, SECOND);
	assert_int_equal(store_open(&clock_world.table, from_dir, &options, &from, &error), 0);
	assert_int_equal(store_open(platform_default(), to_dir, &options, &to, &error), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	store_close(from);
	store_close(to);
	scratch_remove(from_dir);
	scratch_remove(to_dir);
	return 0;
}

static void at(int64_t seconds)
{
	fail_platform_set_time(&clock_world, seconds * SECOND, seconds * SECOND);
}

/* Begun and ended at these seconds; ended 0: never. */
static void make(const char *key, int64_t begun, int64_t ended, enum action_state state)
{
	const struct action_options again = {.retry_safe = true};
	struct action *action;
	at(begun);
	assert_int_equal(action_begin(from, slice_of(key), slice_of("{}"), &again, &action, &error), ACTION_RUN);
	at(ended ? ended : begun);
	if (ended)
		assert_int_equal(action_end(action, state, slice_of("result"), slice_of("ref"), NOTHING, &error), 0);
	action_close(action);
}

/* Everything in the copy as "key state result\n", by key. */
static void assert_copy(const char *right)
{
	char text[1024] = "";
	struct arena arena = ARENA_INIT;
	struct action_record *records, record;
	size_t count;
	assert_int_equal(action_list(to, NOTHING, 0, &arena, &records, &count, &error), 0);
	for (char letter = 'a'; letter <= 'z'; letter++)
		for (size_t i = 0; i < count; i++) {
			if (records[i].key[0] != letter)
				continue;
			assert_int_equal(action_find(to, slice_of(records[i].key), &arena, &record, &error), 0);
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s %.*s%s\n", record.key,
				action_state_text(record.state), (int)record.result.len, record.result.data,
				record.reference);
		}
	arena_release(&arena);
	assert_string_equal(text, right);
}

static uint64_t copy_at(int64_t seconds, int (*place)(void *, const struct action_record *))
{
	const struct actions_as_of as_of = {seconds * SECOND, place, NULL};
	uint64_t copied = 99;
	assert_int_equal(actions_copy(from, to, &as_of, &copied, &error), 0);
	return copied;
}

static void copy__is_what_was_known_then(void **state)
{
	(void)state;
	make("a-before", 10, 20, ACTION_DONE);
	make("b-failed", 10, 20, ACTION_FAILED);
	make("c-ends-at-it", 10, 50, ACTION_DONE);
	make("d-ends-later", 10, 60, ACTION_DONE);
	make("e-never-ends", 10, 0, ACTION_DONE);
	make("f-begins-at-it", 50, 60, ACTION_DONE);
	make("g-later", 51, 60, ACTION_DONE);
	make("h-undone", 10, 20, ACTION_UNDONE);
	make("i-failed-then-again", 10, 20, ACTION_FAILED);
	make("i-failed-then-again", 60, 70, ACTION_DONE);
	assert_int_equal(copy_at(50, NULL), 8);
	assert_copy("a-before done resultref\n"
		    "b-failed failed resultref\n"
		    "c-ends-at-it done resultref\n"
		    "d-ends-later unknown \n"
		    "e-never-ends unknown \n"
		    "f-begins-at-it unknown \n"
		    "h-undone undone resultref\n"
		    "i-failed-then-again unknown \n");
}

static int place_by_letter(void *data, const struct action_record *record)
{
	(void)data;
	return record->key[0] == 'k' ? 1 : record->key[0] == 'l' ? 0 : -1;
}

static void copy__a_known_place_wins_over_the_clock(void **state)
{
	(void)state;
	make("k-kept", 90, 95, ACTION_DONE);
	make("l-left-out", 10, 20, ACTION_DONE);
	make("m-by-the-clock", 10, 20, ACTION_DONE);
	make("k-never-ended", 90, 0, ACTION_DONE);
	assert_int_equal(copy_at(50, place_by_letter), 3);
	assert_copy("k-kept done resultref\nk-never-ended unknown \nm-by-the-clock done resultref\n");
}

static void copy__the_first_is_not_touched(void **state)
{
	(void)state;
	size_t before_len, after_len;
	make("a", 10, 0, ACTION_DONE);
	char *before = scratch_read(from_dir, "bobbin.db", &before_len);
	bool lock = scratch_exists(from_dir, ".actions");
	const struct actions_as_of as_of = {50 * SECOND, NULL, NULL};
	uint64_t copied;
	assert_int_equal(actions_copy(from, NULL, &as_of, &copied, &error), 0);
	assert_int_equal(copied, 1);
	assert_int_equal(copy_at(50, NULL), 1);
	char *after = scratch_read(from_dir, "bobbin.db", &after_len);
	assert_int_equal(before_len, after_len);
	assert_memory_equal(before, after, before_len);
	assert_int_equal(scratch_exists(from_dir, ".actions"), lock);
	free(before);
	free(after);
}

static void copy__of_no_journal_is_none(void **state)
{
	(void)state;
	assert_int_equal(copy_at(50, NULL), 0);
	assert_false(scratch_exists(from_dir, "bobbin.db"));
	assert_false(scratch_exists(to_dir, "bobbin.db"));
}

static void copy__each_allocation_may_fail(void **state)
{
	(void)state;
	const struct actions_as_of as_of = {50 * SECOND, NULL, NULL};
	make("a", 10, 20, ACTION_DONE);
	make("b", 10, 20, ACTION_DONE);
	for (uint64_t nth = 1;; nth++) {
		uint64_t copied = 0;
		fail_alloc_start(nth);
		int code = actions_copy(from, to, &as_of, &copied, &error);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(code, 0);
			assert_int_equal(copied, 2);
			break;
		}
		assert_int_equal(code, BOBBIN_ENOMEM);
		assert_copy(""); /* all of it or nothing */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(copy__is_what_was_known_then, setup, teardown),
		cmocka_unit_test_setup_teardown(copy__a_known_place_wins_over_the_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(copy__the_first_is_not_touched, setup, teardown),
		cmocka_unit_test_setup_teardown(copy__of_no_journal_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(copy__each_allocation_may_fail, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
