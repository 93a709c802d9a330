/* SPDX-License-Identifier: MIT */
/* The facts that go with a request are kept between plans, and are never those of yesterday. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/fail.h"
#include "talk.h"

static char sent[16384];

static bobbin_session *open_with_owner(const char *id, const char *owner)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session;

	options.owner = owner;
	assert_int_equal(bobbin_session_open(store, id, &options, &session, NULL), 0);
	return session;
}

static void say(bobbin_session *session, const char *text)
{
	char record[512];
	int len = snprintf(record, sizeof record, "{\"role\":\"user\",\"content\":\"%s\"}", text);

	assert_int_equal(bobbin_session_append(session, record, (size_t)len, NULL, NULL, NULL), 0);
}

/* What the next request says, as its body. */
static const char *next_request(bobbin_session *session)
{
	bobbin_plan *plan;
	size_t len;
	char *body;

	assert_int_equal(bobbin_plan_make(session, NULL, &plan, NULL), 0);
	assert_int_equal(bobbin_plan_request(plan, "openai-chat", &body, &len, NULL), 0);
	snprintf(sent, sizeof sent, "%.*s", (int)len, body);
	bobbin_free(body);
	bobbin_plan_free(plan);
	return sent;
}

static void assert_sent(bobbin_session *session, const char *text, bool is)
{
	for (int i = 0; i < 3; i++) /* from the database, then what was kept */
		if ((strstr(next_request(session), text) != NULL) != is)
			fail_msg("%s%s: %s", is ? "not sent: " : "sent: ", text, sent);
}

static uint64_t add(const char *owner, const char *text, int64_t expires_ns)
{
	struct bobbin_fact_options options = BOBBIN_FACT_OPTIONS_INIT;
	struct bobbin_fact_added added;
	bobbin_memory *memory;

	options.expires_ns = expires_ns;
	assert_int_equal(bobbin_memory_open(store, owner, &memory, NULL), 0);
	assert_int_equal(bobbin_memory_add(memory, text, strlen(text), &options, &added, NULL), 0);
	bobbin_memory_close(memory);
	return added.number;
}

/* A process that has nothing to do with this one: begun before this one has opened the database, as SQLite's connections must not
 * be in both. It gets lines "NUMBER TEXT", forgets the fact if there is no text, and answers each with a byte. */
struct elsewhere {
	pid_t process;
	int to, from;
};

static void work_elsewhere(FILE *from, int to)
{
	bobbin_store *own;
	bobbin_memory *memory;
	char text[256];
	unsigned long long number;

	while (fscanf(from, "%llu%255[^\n]", &number, text) == 2) {
		if (bobbin_store_open(scratch_path(scratch_dir, "store"), NULL, &own, NULL) < 0 || bobbin_memory_open(own, "ana", &memory, NULL) < 0)
			_exit(1);
		int code = text[1] ? bobbin_memory_correct(memory, number, text + 1, strlen(text + 1), NULL)
				   : bobbin_memory_forget(memory, number, NULL) - 1;
		bobbin_memory_close(memory);
		bobbin_store_close(own);
		if (code != 0 || write(to, "k", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static struct elsewhere begin_elsewhere(void)
{
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(to[1]);
		work_elsewhere(fdopen(to[0], "r"), from[1]);
	}
	close(to[0]);
	close(from[1]);
	return (struct elsewhere){child, to[1], from[0]};
}

static void change_elsewhere(const struct elsewhere *elsewhere, uint64_t number, const char *text)
{
	char line[256], answer;
	int len = snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)number, text);

	assert_int_equal(write(elsewhere->to, line, (size_t)len), len);
	assert_int_equal(read(elsewhere->from, &answer, 1), 1);
}

static void end_elsewhere(const struct elsewhere *elsewhere)
{
	int status;

	close(elsewhere->to);
	close(elsewhere->from);
	assert_int_equal(waitpid(elsewhere->process, &status, 0), elsewhere->process);
	assert_int_equal(status, 0);
}

static void what_another_process_corrects_or_forgets_is_so_in_the_next_plan(void **state)
{
	struct elsewhere elsewhere = begin_elsewhere();
	bobbin_session *session = open_with_owner("one", "ana");
	(void)state;

	uint64_t number = add("ana", "My locker has the code 4417", 0);
	say(session, "Which code has my locker?");
	assert_sent(session, "4417", true);
	change_elsewhere(&elsewhere, number, "My locker has the code 9000");
	assert_sent(session, "4417", false);
	assert_sent(session, "9000", true);
	change_elsewhere(&elsewhere, number, "");
	assert_sent(session, "9000", false);
	add("ana", "The code of my locker was changed to 1234", 0);
	assert_sent(session, "1234", true);
	bobbin_session_close(session);
	end_elsewhere(&elsewhere);
}

static void what_the_session_itself_learns_is_in_the_next_plan(void **state)
{
	struct bobbin_learned learned;
	bobbin_session *session = open_with_owner("other", "ana"), *mine = open_with_owner("one", "ana");
	(void)state;

	add("ana", "The cat is called Miro", 0);
	say(mine, "I live in Shanghai");
	say(mine, "Where do I live?");
	assert_sent(mine, "What is known about the user", false);
	assert_int_equal(bobbin_session_learn(mine, &learned, NULL), 0); /* on the connection that the plan asks on */
	assert_int_equal(learned.kept, 1);
	say(session, "Where do I live?");
	assert_sent(session, "- I live in Shanghai", true);
	say(session, "I moved to Berlin");
	say(session, "Where do I live?");
	assert_sent(session, "- I live in Shanghai", true);
	assert_int_equal(bobbin_session_learn(session, &learned, NULL), 0);
	assert_sent(session, "- I live in Shanghai", false);
	bobbin_session_close(session);
	bobbin_session_close(mine);
}

static void what_expires_between_two_plans_is_not_in_the_second(void **state)
{
	struct timespec now, wait = {0, 20000000};
	bobbin_session *session = open_with_owner("one", "ana");
	(void)state;

	say(session, "Which code has my locker?");
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t expires_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + 1500000000;
	add("ana", "My locker has the code 4417", expires_ns);
	assert_sent(session, "4417", true);
	do {
		nanosleep(&wait, NULL);
		clock_gettime(CLOCK_REALTIME, &now);
	} while ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec <= expires_ns);
	assert_sent(session, "4417", false);
	bobbin_session_close(session);
}

static void each_message_brings_back_its_own(void **state)
{
	bobbin_session *session = open_with_owner("one", "ana");
	(void)state;

	add("ana", "My locker has the code 4417", 0);
	add("ana", "My bicycle is called Rosinante", 0);
	say(session, "Which code has my locker?");
	assert_sent(session, "4417", true);
	assert_sent(session, "Rosinante", false);
	say(session, "How is my bicycle called?");
	assert_sent(session, "4417", false);
	assert_sent(session, "Rosinante", true);
	assert_int_equal(bobbin_session_rewind(session, "m1", NULL, NULL), 0);
	assert_sent(session, "4417", true);
	assert_sent(session, "Rosinante", false);
	bobbin_session_close(session);
}

/* A plan again without a change asks for no more memory than a few texts: nothing is searched for. */
static void a_plan_without_a_change_does_not_search(void **state)
{
	bobbin_session *session = open_with_owner("one", "ana");
	struct fail_alloc_report first, again;
	(void)state;

	for (int i = 0; i < 300; i++) {
		char text[64];
		snprintf(text, sizeof text, "My locker number %d has the code %d", i, 4000 + i);
		add("ana", text, 0);
	}
	say(session, "Which code has my locker number 17?");
	fail_alloc_start(0);
	next_request(session);
	first = fail_alloc_stop();
	fail_alloc_start(0);
	next_request(session);
	again = fail_alloc_stop();
	assert_true(again.bytes * 2 < first.bytes);
	bobbin_session_close(session);
}

static void a_plan_without_memory_fails_and_the_next_has_the_facts(void **state)
{
	bobbin_session *session = open_with_owner("one", "ana");
	(void)state;

	add("ana", "My locker has the code 4417", 0);
	say(session, "Which code has my locker?");
	for (uint64_t nth = 1;; nth++) {
		bobbin_plan *plan = NULL;
		bobbin_session_close(session);
		session = open_with_owner("one", "ana");
		fail_alloc_start(nth);
		struct bobbin_error error = {0};
		int code = bobbin_plan_make(session, NULL, &plan, &error);
		bool failed = fail_alloc_stop().failed;
		bobbin_plan_free(plan);
		if (code == 0 && !failed)
			break;
		if (code != 0 && code != BOBBIN_ENOMEM)
			fail_msg("allocation %llu: %d %s", (unsigned long long)nth, code, error.message);
		assert_sent(session, "4417", true);
	}
	bobbin_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_another_process_corrects_or_forgets_is_so_in_the_next_plan, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(what_the_session_itself_learns_is_in_the_next_plan, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(what_expires_between_two_plans_is_not_in_the_second, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(each_message_brings_back_its_own, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(a_plan_without_a_change_does_not_search, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(a_plan_without_memory_fails_and_the_next_has_the_facts, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
