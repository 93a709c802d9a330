/* SPDX-License-Identifier: MIT */
/* Case C4: two processes take a turn of the same session; whoever is behind is refused, also after the other
 * died. */
#include "store_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the other process is told to do, a letter each; it answers each with the code of what it did. */
struct other {
	pid_t process;
	int to, from;
};

static int append_behind(struct log *log, const char *head, const char *record, enum log_conflict on_conflict)
{
	struct log_append_options options = {
		.check_head = true, .expected_head = slice_of(head), .on_conflict = on_conflict};
	struct slice text = slice_of(record);
	return log_append(log, &text, 1, &options, NULL, NULL);
}

/* Begins a turn behind m1 ('b'), goes on with its call ('c'), ends it with the result ('r'). */
static void obey(const struct world *world, int orders, int answers)
{
	struct store_options options = {.force_filesystem = true, .sync = STORE_SYNC_NONE};
	struct store *store;
	struct log *log;
	char order;
	if (store_open(platform_default(), world->dir, &options, &store, NULL) != 0 ||
		log_open(store, slice_of("main"), LOG_WRITE, &log, NULL) != 0)
		_exit(2);
	while (read(orders, &order, 1) == 1) {
		int rc = order == 'b'	? append_behind(log, "m1",
						  "{\"role\":\"user\",\"id\":\"b1\",\"content\":\"B\"}",
						  LOG_CONFLICT_REFUSE)
			 : order == 'c' ? append_behind(log, "b1",
						  "{\"role\":\"assistant\",\"id\":\"b2\",\"content\":\"\","
						  "\"tool_calls\":[{"
						  "\"id\":\"k\",\"name\":\"look\",\"arguments\":\"{}\"}]}",
						  LOG_CONFLICT_REFUSE)
					: append_behind(log, "b2",
						  "{\"role\":\"tool\",\"id\":\"b3\",\"tool_call_id\":\"k\","
						  "\"content\":\"B\"}",
						  LOG_CONFLICT_REFUSE);
		if (write(answers, &rc, sizeof(rc)) != (ssize_t)sizeof(rc))
			_exit(3);
	}
	_exit(0);
}

static struct other start_other(const struct world *world)
{
	int orders[2], answers[2];
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(answers), 0);
	pid_t process = fork();
	assert_true(process >= 0);
	if (process == 0) {
		close(orders[1]);
		close(answers[0]);
		obey(world, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	return (struct other){process, orders[1], answers[0]};
}

static int tell_other(const struct other *other, char order)
{
	int rc;
	assert_int_equal(write(other->to, &order, 1), 1);
	assert_int_equal(read(other->from, &rc, sizeof(rc)), sizeof(rc));
	return rc;
}

static void stop_other(const struct other *other)
{
	kill(other->process, SIGKILL);
	waitpid(other->process, NULL, 0);
	close(other->to);
	close(other->from);
}

static void c4_two_processes__second_turn_of_the_same_version_writes_nothing(void **state)
{
	(void)state;
	struct world world;
	size_t before, after;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "hello"); /* m1: the version that both have seen */
	struct other other = start_other(&world);
	assert_int_equal(append_behind(log, "m1", "{\"role\":\"user\",\"id\":\"a1\",\"content\":\"A\"}",
				 LOG_CONFLICT_REFUSE),
		0);
	free(scratch_read(world.dir, "main.jsonl", &before));
	assert_int_equal(tell_other(&other, 'b'), BOBBIN_ECONFLICT);
	assert_int_equal(tell_other(&other, 'c'), BOBBIN_ECONFLICT);
	assert_int_equal(tell_other(&other, 'r'), BOBBIN_ECONFLICT);
	free(scratch_read(world.dir, "main.jsonl", &after));
	assert_int_equal(after, before);
	assert_int_equal(append_behind(log, "a1", "{\"role\":\"assistant\",\"id\":\"a2\",\"content\":\"A\"}",
				 LOG_CONFLICT_REFUSE),
		0);
	stop_other(&other);
	assert_string_equal(line_of(log), "m1 a1 a2");
	log_close(log);
	world_close(&world);
}

/* The clock stands still for one of them: what is newer is a matter of the order in the log, never of time.
 */
static void c4_take_over__late_write_of_the_first_is_refused(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	fail_platform_set_time(&world.platform, 0, 0);
	struct log *log = world_create(&world, "main");
	say(log, "user", "hello");
	struct other other = start_other(&world);
	assert_int_equal(tell_other(&other, 'b'), 0);
	assert_int_equal(tell_other(&other, 'c'), 0);
	/* It hangs in its turn. This process sees the call without a result, answers it, and goes on. */
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_string_equal(line_of(log), "m1 b1 b2");
	assert_int_equal(append_behind(log, "b2",
				 "{\"role\":\"tool\",\"id\":\"x\",\"tool_call_id\":\"k\",\"content\":\"?\","
				 "\"marker\":\"interrupted\"}",
				 LOG_CONFLICT_REFUSE),
		0);
	assert_int_equal(append_behind(log, "x", "{\"role\":\"user\",\"id\":\"a1\",\"content\":\"A\"}",
				 LOG_CONFLICT_REFUSE),
		0);
	/* The first one wakes up. */
	assert_int_equal(tell_other(&other, 'r'), BOBBIN_ECONFLICT);
	assert_int_equal(append_behind(log, "a1", "{\"role\":\"assistant\",\"id\":\"a2\",\"content\":\"A\"}",
				 LOG_CONFLICT_REFUSE),
		0);
	stop_other(&other);
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 b1 b2 x a1 a2");
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c4_two_processes__second_turn_of_the_same_version_writes_nothing),
		cmocka_unit_test(c4_take_over__late_write_of_the_first_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
