/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actions/actions.h"
#include "support/fail.h"
#include "support/scratch.h"

struct world {
	char dir[SCRATCH_PATH_BYTES];
	struct store *store;
	struct bobbin_error error;
};

static const struct action_options RETRY_SAFE = {.retry_safe = true};
#define NOTHING ((struct slice){"", 0})

static struct store *open_store(const char *dir)
{
	struct store_options options = {.create = true};
	struct store *store = NULL;

	assert_int_equal(store_open(platform_default(), dir, &options, &store, NULL), 0);
	return store;
}

static void world_open(struct world *world)
{
	memset(world, 0, sizeof *world);
	scratch_make(world->dir);
	world->store = open_store(world->dir);
}

static void world_close(struct world *world)
{
	store_close(world->store);
	scratch_remove(world->dir);
}

static int begin(struct world *world, const char *key, const char *arguments,
	const struct action_options *options, struct action **ret_action)
{
	*ret_action = NULL;
	return action_begin(
		world->store, slice_of(key), slice_of(arguments), options, ret_action, &world->error);
}

/* Begins, and ends as `state` with a result; it must be one to be made. */
static void make(struct world *world, const char *key, const char *arguments, enum action_state state,
	const char *result)
{
	struct action *action;

	assert_int_equal(begin(world, key, arguments, NULL, &action), ACTION_RUN);
	assert_int_equal(action_end(action, state, slice_of(result), NOTHING, NOTHING, &world->error), 0);
	action_close(action);
}

/* Somebody begins it and dies. */
static void die_with(struct world *world, const char *key, const char *arguments)
{
	pid_t child = fork();

	if (child == 0) {
		struct store *store = open_store(world->dir);
		struct action *action;
		if (action_begin(store, slice_of(key), slice_of(arguments), NULL, &action, NULL) ==
			ACTION_RUN)
			raise(SIGKILL);
		_exit(1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static enum action_state state_of(struct world *world, const char *key)
{
	struct arena arena = {0};
	struct action_record record;

	assert_int_equal(action_find(world->store, slice_of(key), &arena, &record, &world->error), 0);
	arena_release(&arena);
	return record.state;
}

static void begin__done_is_replayed_with_its_result(void **state)
{
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	assert_int_equal(begin(&world, "run_42:send", "{\"to\":\"ana\"}", NULL, &action), ACTION_RUN);
	assert_int_equal(action_record(action)->state, ACTION_BEGUN);
	assert_int_equal(action_end(action, ACTION_DONE, (struct slice){"a\0b", 3}, slice_of("email_918"),
				 NOTHING, &world.error),
		0);
	action_close(action);
	assert_int_equal(begin(&world, "run_42:send", "{\"to\":\"ana\"}", NULL, &action), ACTION_REPLAY);
	assert_int_equal(action_record(action)->result.len, 3);
	assert_memory_equal(action_record(action)->result.data, "a\0b", 3);
	assert_string_equal(action_record(action)->reference, "email_918");
	assert_int_equal(action_record(action)->attempts, 1);
	action_close(action);
	world_close(&world);
}

static void begin__arguments_are_compared_as_values(void **state)
{
	static const char *const same[] = {
		"{\"to\":\"ana\",\"n\":1}", "{ \"n\" : 1.0, \"to\":\"\\u0061na\" }"};
	static const char *const others[] = {
		"{\"to\":\"ana\",\"n\":2}", "{\"to\":\"Ana\",\"n\":1}", "to ana", "", "[]"};
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	make(&world, "k", same[0], ACTION_DONE, "sent");
	assert_int_equal(begin(&world, "k", same[1], NULL, &action), ACTION_REPLAY);
	action_close(action);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		assert_int_equal(begin(&world, "k", others[i], NULL, &action), BOBBIN_ECONFLICT);
		assert_non_null(strstr(world.error.message, "to\":\"ana"));
	}
	world_close(&world);
}

static void begin__failure_is_replayed_unless_it_is_safe_to_repeat(void **state)
{
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	make(&world, "k", "x", ACTION_FAILED, "refused");
	assert_int_equal(begin(&world, "k", "x", NULL, &action), ACTION_REPLAY);
	assert_int_equal(action_record(action)->state, ACTION_FAILED);
	action_close(action);
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &action), ACTION_RUN);
	assert_int_equal(action_record(action)->attempts, 2);
	assert_int_equal(
		action_end(action, ACTION_DONE, slice_of("sent"), NOTHING, NOTHING, &world.error), 0);
	action_close(action);
	/* What is done is not made again, however safe that were. */
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &action), ACTION_REPLAY);
	action_close(action);
	world_close(&world);
}

static void begin__of_one_whose_holder_died_is_unknown(void **state)
{
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	die_with(&world, "k", "x");
	assert_int_equal(state_of(&world, "k"), ACTION_UNKNOWN);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(begin(&world, "k", "x", NULL, &action), ACTION_UNSETTLED);
		assert_int_equal(action_record(action)->state, ACTION_UNKNOWN);
		action_close(action);
	}
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &action), ACTION_RUN);
	assert_int_equal(action_record(action)->attempts, 2);
	action_close(action);
	world_close(&world);
}

static void begin__one_that_was_let_go_is_unknown(void **state)
{
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	assert_int_equal(begin(&world, "k", "x", NULL, &action), ACTION_RUN);
	assert_int_equal(state_of(&world, "k"), ACTION_BEGUN);
	action_close(action);
	assert_int_equal(state_of(&world, "k"), ACTION_UNKNOWN);
	world_close(&world);
}

static void begin__while_somebody_is_at_it_is_busy(void **state)
{
	struct world world;
	struct action *action, *other;
	(void)state;

	world_open(&world);
	assert_int_equal(begin(&world, "k", "x", NULL, &action), ACTION_RUN);
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &other), BOBBIN_EBUSY);
	assert_int_equal(begin(&world, "k", "y", NULL, &other), BOBBIN_ECONFLICT);
	assert_int_equal(
		action_settle(world.store, slice_of("k"), false, NOTHING, NOTHING, NOTHING, &world.error),
		BOBBIN_EBUSY);
	assert_int_equal(action_end(action, ACTION_DONE, NOTHING, NOTHING, NOTHING, &world.error), 0);
	action_close(action);
	world_close(&world);
}

/* A process that inherited the lock is still at it when the holder has died. */
static void begin__effect_outlives_its_holder(void **state)
{
	struct world world;
	struct action *action;
	int alive[2], go[2];
	char byte;
	(void)state;

	world_open(&world);
	assert_int_equal(pipe(alive), 0);
	assert_int_equal(pipe(go), 0);
	pid_t holder = fork();
	if (holder == 0) {
		struct store *store = open_store(world.dir);
		if (action_begin(store, slice_of("k"), slice_of("x"), NULL, &action, NULL) != ACTION_RUN)
			_exit(1);
		if (fork() == 0) { /* the effect */
			close(go[1]);
			if (write(alive[1], "a", 1) == 1 && read(go[0], &byte, 1) == 0)
				_exit(0);
			_exit(1);
		}
		raise(SIGKILL);
	}
	assert_int_equal(read(alive[0], &byte, 1), 1);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &action), BOBBIN_EBUSY);
	close(go[1]);
	struct action_options patient = {.wait_ms = 10000};
	assert_int_equal(begin(&world, "k", "x", &patient, &action), ACTION_UNSETTLED);
	action_close(action);
	close(go[0]);
	close(alive[0]);
	close(alive[1]);
	world_close(&world);
}

static void settle__says_how_it_was(void **state)
{
	struct world world;
	struct action *action;
	(void)state;

	world_open(&world);
	die_with(&world, "happened", "x");
	die_with(&world, "not", "x");
	assert_int_equal(action_settle(world.store, slice_of("happened"), true, slice_of("r"),
				 slice_of("email_1"), slice_of("asked"), &world.error),
		0);
	assert_int_equal(begin(&world, "happened", "x", NULL, &action), ACTION_REPLAY);
	assert_string_equal(action_record(action)->reference, "email_1");
	assert_string_equal(action_record(action)->note, "asked");
	action_close(action);
	assert_int_equal(
		action_settle(world.store, slice_of("not"), false, NOTHING, NOTHING, NOTHING, &world.error),
		0);
	assert_int_equal(state_of(&world, "not"), ACTION_UNDONE);
	/* Known not to have happened, so that the key may now have other arguments. */
	assert_int_equal(begin(&world, "not", "other", NULL, &action), ACTION_RUN);
	assert_int_equal(action_record(action)->attempts, 2);
	assert_int_equal(action_end(action, ACTION_DONE, NOTHING, NOTHING, NOTHING, &world.error), 0);
	action_close(action);
	world_close(&world);
}

static void settle__what_is_known_stays(void **state)
{
	struct world world;
	(void)state;

	world_open(&world);
	make(&world, "k", "x", ACTION_DONE, "r");
	assert_int_equal(
		action_settle(world.store, slice_of("k"), true, NOTHING, NOTHING, NOTHING, &world.error), 0);
	assert_int_equal(
		action_settle(world.store, slice_of("k"), false, NOTHING, NOTHING, NOTHING, &world.error),
		BOBBIN_ECONFLICT);
	assert_int_equal(
		action_settle(world.store, slice_of("K"), true, NOTHING, NOTHING, NOTHING, &world.error),
		BOBBIN_ENOTFOUND);
	world_close(&world);
}

static void again__after_a_check_is_held_all_the_time(void **state)
{
	struct world world;
	struct action *action, *other;
	(void)state;

	world_open(&world);
	die_with(&world, "k", "x");
	assert_int_equal(begin(&world, "k", "x", NULL, &action), ACTION_UNSETTLED);
	assert_int_equal(begin(&world, "k", "x", &RETRY_SAFE, &other), BOBBIN_EBUSY);
	assert_int_equal(action_again(action, &world.error), 0);
	assert_int_equal(action_again(action, &world.error), BOBBIN_EINVAL);
	assert_int_equal(action_end(action, ACTION_DONE, slice_of("now"), NOTHING, NOTHING, &world.error), 0);
	action_close(action);
	assert_int_equal(state_of(&world, "k"), ACTION_DONE);
	world_close(&world);
}

/* Fifty processes, one key: whoever is not the first waits and gets the first one's result. */
static void begin__fifty_processes_make_one_effect(void **state)
{
	struct world world;
	char path[SCRATCH_PATH_BYTES + 16], effects[64];
	int right = 0;
	(void)state;

	world_open(&world);
	assert_in_range(snprintf(path, sizeof path, "%s/effects", world.dir), 1, sizeof path - 1);
	for (int i = 0; i < 50; i++) {
		if (fork())
			continue;
		struct action_options patient = {.wait_ms = 60000};
		struct store *store = open_store(world.dir);
		struct action *action;
		int begun = action_begin(store, slice_of("k"), slice_of("x"), &patient, &action, NULL);
		if (begun == ACTION_RUN) {
			int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
			if (write(file, "*", 1) != 1)
				_exit(1);
			usleep(50000);
			if (action_end(action, ACTION_DONE, slice_of("sent"), NOTHING, NOTHING, NULL) < 0)
				_exit(1);
		} else if (begun != ACTION_REPLAY) {
			_exit(1);
		}
		_exit(slice_is(action_record(action)->result, "sent") ? 0 : 1);
	}
	for (int i = 0; i < 50; i++) {
		int status;
		assert_true(wait(&status) > 0);
		right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	assert_int_equal(right, 50);
	int file = open(path, O_RDONLY);
	assert_int_equal(read(file, effects, sizeof effects), 1);
	close(file);
	world_close(&world);
}

static void list__newest_first_by_prefix_and_state(void **state)
{
	struct world world;
	struct arena arena = {0};
	struct action_record *records;
	size_t count;
	(void)state;

	world_open(&world);
	assert_int_equal(action_list(world.store, NOTHING, 0, &arena, &records, &count, &world.error), 0);
	assert_int_equal(count, 0);
	make(&world, "run_1:a", "x", ACTION_DONE, "r");
	make(&world, "run_1:b", "x", ACTION_FAILED, "r");
	die_with(&world, "run_10:a", "x");
	assert_int_equal(action_list(world.store, NOTHING, 0, &arena, &records, &count, &world.error), 0);
	assert_int_equal(count, 3);
	assert_string_equal(records[0].key, "run_10:a");
	assert_int_equal(
		action_list(world.store, slice_of("run_1:"), 0, &arena, &records, &count, &world.error), 0);
	assert_int_equal(count, 2);
	assert_int_equal(
		action_list(world.store, slice_of("RUN_1:"), 0, &arena, &records, &count, &world.error), 0);
	assert_int_equal(count, 0);
	assert_int_equal(
		action_list(world.store, NOTHING, ACTION_UNKNOWN, &arena, &records, &count, &world.error), 0);
	assert_int_equal(count, 1);
	arena_release(&arena);
	world_close(&world);
}

static void key__that_makes_no_sense_is_refused(void **state)
{
	struct world world;
	struct action *action;
	char longest[ACTION_KEY_BYTES + 2];
	(void)state;

	world_open(&world);
	memset(longest, 'k', sizeof longest);
	longest[ACTION_KEY_BYTES + 1] = '\0';
	assert_int_equal(begin(&world, "", "x", NULL, &action), BOBBIN_EINVAL);
	assert_int_equal(begin(&world, "a\nb", "x", NULL, &action), BOBBIN_EINVAL);
	assert_int_equal(begin(&world, "a\xff", "x", NULL, &action), BOBBIN_EINVAL);
	assert_int_equal(begin(&world, longest, "x", NULL, &action), BOBBIN_EINVAL);
	longest[ACTION_KEY_BYTES] = '\0';
	assert_int_equal(begin(&world, longest, "x", NULL, &action), ACTION_RUN);
	action_close(action);
	world_close(&world);
}

static void allocations__each_may_fail(void **state)
{
	struct world world;
	(void)state;

	world_open(&world);
	make(&world, "done", "x", ACTION_DONE, "r");
	for (uint64_t nth = 1;; nth++) {
		struct action *action = NULL;
		fail_alloc_start(nth);
		int code = begin(&world, "done", "x", NULL, &action);
		action_close(action);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(code, ACTION_REPLAY);
			break;
		}
		assert_int_equal(code, BOBBIN_ENOMEM);
	}
	for (uint64_t nth = 1;; nth++) {
		char key[32];
		struct action *action = NULL;
		assert_in_range(snprintf(key, sizeof key, "new-%d", (int)nth), 1, 31);
		fail_alloc_start(nth);
		int code = begin(&world, key, "{\"a\":[1,\"\\u0061\"]}", NULL, &action);
		int ended = code == ACTION_RUN
				    ? action_end(action, ACTION_DONE, slice_of("r"), NOTHING, NOTHING, NULL)
				    : 0;
		action_close(action);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed)
			break;
		/* Either it was never begun, or it is on record: nobody may act without a trace. */
		assert_true(code == BOBBIN_ENOMEM || code == ACTION_RUN);
		if (code == ACTION_RUN)
			assert_true(ended == 0 || ended == BOBBIN_ENOMEM);
		if (code == ACTION_RUN)
			assert_int_equal(begin(&world, key, "other", NULL, &action), BOBBIN_ECONFLICT);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin__done_is_replayed_with_its_result),
		cmocka_unit_test(begin__arguments_are_compared_as_values),
		cmocka_unit_test(begin__failure_is_replayed_unless_it_is_safe_to_repeat),
		cmocka_unit_test(begin__of_one_whose_holder_died_is_unknown),
		cmocka_unit_test(begin__one_that_was_let_go_is_unknown),
		cmocka_unit_test(begin__while_somebody_is_at_it_is_busy),
		cmocka_unit_test(begin__effect_outlives_its_holder),
		cmocka_unit_test(settle__says_how_it_was),
		cmocka_unit_test(settle__what_is_known_stays),
		cmocka_unit_test(again__after_a_check_is_held_all_the_time),
		cmocka_unit_test(begin__fifty_processes_make_one_effect),
		cmocka_unit_test(list__newest_first_by_prefix_and_state),
		cmocka_unit_test(key__that_makes_no_sense_is_refused),
		cmocka_unit_test(allocations__each_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
