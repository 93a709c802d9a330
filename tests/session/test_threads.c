/* SPDX-License-Identifier: MIT */
/*
 * Threads, under ThreadSanitizer where the compiler has it (the library is built once more for this test): a race ends
 * the program with status 66. Each thread has handles of its own, as bobbin.h asks for; what they share is the folder,
 * the process, and, where it says so, a store handle whose sessions go to different threads.
 */
#include <bobbin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <time.h>
#include "support/scratch.h"

#define READERS 3
#define MESSAGES 300 /* an index file is written on the way */
#define TEXT_BYTES 1200

static char dir[SCRATCH_PATH_BYTES], store_dir[SCRATCH_PATH_BYTES + 8];
static atomic_bool writer_done;

/* What a thread found wrong; cmocka's own checks are for the main thread. */
struct worker {
	pthread_t thread;
	char failure[1024];
	int number;
	bobbin_session *session; /* given to it by the main thread */
	uint64_t seen;
};

#define EXPECT(worker, condition)                                                                            \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			snprintf((worker)->failure, sizeof((worker)->failure), "line %d: not so: %s (%s)",   \
				__LINE__, #condition, error.message);                                        \
			return NULL;                                                                         \
		}                                                                                            \
	} while (0)

static bobbin_store *open_store(void)
{
	struct bobbin_store_options options = BOBBIN_STORE_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_store *store = NULL;

	options.force_file_system = 1;
	bobbin_store_open(store_dir, &options, &store, &error);
	return store;
}

static int setup(void **state)
{
	(void)state;
	scratch_make(dir);
	snprintf(store_dir, sizeof(store_dir), "%s/store", dir);
	atomic_store(&writer_done, false);
	bobbin_store *store = open_store();
	assert_non_null(store);
	bobbin_store_close(store);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static void start(struct worker *workers, int count, void *(*run)(void *worker))
{
	for (int i = 0; i < count; i++) {
		workers[i].number = i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
	}
}

static void finish(struct worker *workers, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	for (int i = 0; i < count; i++)
		assert_string_equal(workers[i].failure, "");
}

/* Message `number` is the same whoever writes it. */
static void make_text(int number, char text[TEXT_BYTES + 1])
{
	int len = snprintf(text, TEXT_BYTES, "%d: crate C-%d stands in hall %d. ", number, number * 111, number);
	memset(text + len, 'a' + number % 26, (size_t)(TEXT_BYTES - len));
	text[TEXT_BYTES] = '\0';
}

static int append(bobbin_session *session, int number, struct bobbin_error *error)
{
	char text[TEXT_BYTES + 1];

	make_text(number, text);
	return bobbin_session_append_text(
		session, number % 2 ? "assistant" : "user", text, TEXT_BYTES, NULL, error);
}

static void *write_all(void *data)
{
	struct worker *worker = data;
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_session *session = NULL;
	bobbin_store *store = open_store();

	options.segment_bytes = 4096;
	EXPECT(worker, store && bobbin_session_open(store, "main", &options, &session, &error) == 0);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(worker, append(session, i, &error) == 0);
	worker->seen = MESSAGES;
	bobbin_session_close(session);
	bobbin_store_close(store);
	atomic_store(&writer_done, true);
	return NULL;
}

/* ---- Many readers, one writer ---- */

/* Reads the whole line: the messages from the first on, none missing; how many in ret_count. */
static const char *read_line(bobbin_session *session, uint64_t *ret_count)
{
	const struct bobbin_message *message;
	struct bobbin_error error = {0};
	bobbin_messages *messages;
	char text[TEXT_BYTES + 1];
	uint64_t count = 0;
	int rc;

	if (bobbin_messages_open(session, NULL, &messages, &error) < 0)
		return "the line cannot be read";
	while ((rc = bobbin_messages_next(messages, &message, &error)) == 1) {
		make_text((int)count++, text);
		if (message->text_len != TEXT_BYTES || memcmp(message->text, text, TEXT_BYTES) != 0)
			break;
	}
	bobbin_messages_close(messages);
	*ret_count = count;
	return rc ? "a message is not what was written" : NULL;
}

static void *read_on(void *data)
{
	struct worker *worker = data;
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_session *session = NULL;
	bobbin_store *store = open_store();
	bool done = false;

	options.must_exist = options.read_only = 1;
	EXPECT(worker, store);
	for (int round = 0; !done || worker->seen < MESSAGES; round++) {
		bobbin_plan *plan;
		uint64_t count;
		done = atomic_load(&writer_done);
		if (session && round % 4 == worker->number) { /* with the index file as it is now */
			bobbin_session_close(session);
			session = NULL;
		}
		int rc = session ? bobbin_session_refresh(session, &error)
				 : bobbin_session_open(store, "main", &options, &session, &error);
		if (rc == BOBBIN_ENOTFOUND && !done)
			continue;
		EXPECT(worker, rc == 0);
		const char *wrong = read_line(session, &count);
		snprintf(error.message, sizeof(error.message), "%s", wrong ? wrong : "");
		EXPECT(worker, !wrong && count >= worker->seen && (!done || count == MESSAGES));
		worker->seen = count;
		EXPECT(worker, bobbin_plan_make(session, NULL, &plan, &error) == 0);
		bobbin_plan_free(plan);
	}
	bobbin_session_close(session);
	bobbin_store_close(store);
	return NULL;
}

static void readers_and_a_writer__each_sees_what_was_written_in_order(void **state)
{
	(void)state;
	struct worker writer = {0}, readers[READERS] = {0};

	start(readers, READERS, read_on);
	start(&writer, 1, write_all);
	finish(&writer, 1);
	finish(readers, READERS);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(readers[i].seen, MESSAGES);
}

/* ---- Sessions of one store handle ---- */

static void *use_given(void *data)
{
	struct worker *worker = data;
	struct bobbin_error error = {0};

	for (int i = 0; i < 40; i++) {
		bobbin_plan *plan;
		EXPECT(worker, append(worker->session, i, &error) == 0);
		EXPECT(worker, bobbin_plan_make(worker->session, NULL, &plan, &error) == 0);
		bobbin_plan_free(plan);
	}
	EXPECT(worker, !read_line(worker->session, &worker->seen));
	bobbin_session_close(worker->session);
	return NULL;
}

static void sessions_of_one_store__are_used_in_different_threads(void **state)
{
	(void)state;
	struct worker workers[READERS] = {0};
	struct bobbin_error error;
	bobbin_store *store = open_store();

	for (int i = 0; i < READERS; i++) {
		char id[16];
		snprintf(id, sizeof(id), "s%d", i);
		assert_int_equal(bobbin_session_open(store, id, NULL, &workers[i].session, &error), 0);
	}
	start(workers, READERS, use_given);
	finish(workers, READERS);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(workers[i].seen, 40);
	bobbin_store_close(store);
}

/* ---- Background work ---- */

static void *work(void *data)
{
	struct worker *worker = data;
	struct bobbin_error error = {0};
	bobbin_store *store = open_store();
	int left = 1;

	EXPECT(worker, store);
	for (bool done = false; !done || left;) {
		uint64_t derived = 0;
		done = atomic_load(&writer_done);
		EXPECT(worker, bobbin_work(store, NULL, 20, &derived, &left, &error) == 0);
		worker->seen += derived;
	}
	bobbin_store_close(store);
	return NULL;
}

static void background_work__goes_on_beside_a_writer(void **state)
{
	(void)state;
	struct worker writer = {0}, workers[2] = {0};
	struct bobbin_error error;
	bobbin_session *session;
	uint64_t count;

	start(workers, 2, work);
	start(&writer, 1, write_all);
	finish(&writer, 1);
	finish(workers, 2);
	/* 300 messages of 1,200 bytes, segments of 4,096: dozens, each derived by one of them or both at once. */
	assert_true(workers[0].seen + workers[1].seen >= 50);
	bobbin_store *store = open_store();
	assert_int_equal(bobbin_session_open(store, "main", NULL, &session, &error), 0);
	assert_null(read_line(session, &count));
	assert_int_equal(count, MESSAGES);
	bobbin_session_close(session);
	bobbin_store_close(store);
}

/* ---- Forks, lists, deletions ---- */

static void *fork_and_delete(void *data)
{
	struct worker *worker = data;
	struct bobbin_error error = {0};
	bobbin_session *session = NULL, *child;
	bobbin_store *store = open_store();

	EXPECT(worker, store && bobbin_session_open(store, "main", NULL, &session, &error) == 0);
	for (int i = 0; i < 12; i++) {
		struct bobbin_forked forked;
		bobbin_list *list;
		size_t count = 0;
		EXPECT(worker, bobbin_session_fork(session, "4", NULL, &forked, &error) == 0 && forked.kept == 4);
		EXPECT(worker, bobbin_session_open(store, forked.id, NULL, &child, &error) == 0);
		EXPECT(worker, append(child, 4, &error) == 0);
		EXPECT(worker, !read_line(child, &worker->seen) && worker->seen == 5);
		bobbin_session_close(child);
		EXPECT(worker, bobbin_list_open(store, NULL, &list, &error) == 0);
		while (bobbin_list_next(list))
			count++;
		bobbin_list_close(list);
		EXPECT(worker, count >= 2 && count <= 1 + READERS * 12);
		if (i % 2)
			EXPECT(worker, bobbin_session_delete(store, forked.id, &error) == 0);
	}
	bobbin_session_close(session);
	bobbin_store_close(store);
	return NULL;
}

static void forks_lists_and_deletions__at_once(void **state)
{
	(void)state;
	struct worker workers[READERS] = {0};
	struct bobbin_error error;
	bobbin_session *session;
	bobbin_list *list;
	int count = 0;

	bobbin_store *store = open_store();
	assert_int_equal(bobbin_session_open(store, "main", NULL, &session, &error), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(append(session, i, &error), 0);
	bobbin_session_close(session);
	start(workers, READERS, fork_and_delete);
	finish(workers, READERS);
	assert_int_equal(bobbin_list_open(store, NULL, &list, &error), 0);
	while (bobbin_list_next(list))
		count++;
	bobbin_list_close(list);
	assert_int_equal(count, 1 + READERS * 6);
	bobbin_store_close(store);
}

/* ---- Cancelling ---- */

static void *cancel(void *data)
{
	const struct timespec nap = {0, 50000000};

	nanosleep(&nap, NULL);
	bobbin_cancel(data);
	return NULL;
}

static void a_turn__is_cancelled_from_another_thread(void **state)
{
	(void)state;
	const struct bobbin_event *event;
	struct bobbin_error error = {0};
	bobbin_session *session;
	bobbin_model *model;
	bobbin_turn *turn;
	pthread_t thread;
	char spec[SCRATCH_PATH_BYTES + 8];
	int rc;

	scratch_write_text(dir, "slow.jsonl", "{\"text\":\"never\",\"delay_ms\":30000}");
	snprintf(spec, sizeof(spec), "mock:%s", scratch_path(dir, "slow.jsonl"));
	bobbin_store *store = open_store();
	assert_int_equal(bobbin_session_open(store, "main", NULL, &session, &error), 0);
	assert_int_equal(bobbin_model_open(spec, &model, &error), 0);
	assert_int_equal(bobbin_turn_start(session, model, "hello", 5, NULL, &turn, &error), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancel, turn), 0);
	while ((rc = bobbin_turn_next(turn, -1, &event, &error)) > 0)
		;
	assert_int_equal(rc, BOBBIN_ECANCELLED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	bobbin_turn_free(turn);
	bobbin_model_close(model);
	bobbin_session_close(session);
	bobbin_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			readers_and_a_writer__each_sees_what_was_written_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(
			sessions_of_one_store__are_used_in_different_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(background_work__goes_on_beside_a_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(forks_lists_and_deletions__at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_turn__is_cancelled_from_another_thread, setup, teardown),
	};
#ifndef WITH_TSAN
	print_message("# this compiler has no ThreadSanitizer that runs here: races are not looked for\n");
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
