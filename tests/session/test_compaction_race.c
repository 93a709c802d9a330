/* SPDX-License-Identifier: MIT */
/*
 * A compaction whose deriver sleeps in another process, while this one appends, edits, rewinds, forks or
 * kills it. After it the view is the record and everything after its cut, or raw; and it is the same after a
 * restart.
 */
#include "compacted.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_MS 60 /* for each of its five requests or more */
#define MEANWHILE_MS 120

static void sleep_ms(long milliseconds)
{
	const struct timespec delay = {milliseconds / 1000, milliseconds % 1000 * 1000000};
	nanosleep(&delay, NULL);
}

/* 20 messages, m1 … m20; kept are the last six, so that the cut is at m15. */
static bobbin_session *twenty_messages(void)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_session *session;
	options.segment_bytes = 2048;
	if (bobbin_session_open(store, "main", &options, &session, &error) < 0)
		fail_msg("%s", error.message);
	for (int turn = 1; turn <= 10; turn++) {
		say_user(session, "Question %d: crate C-%d stands in hall %d. Do not open it. %s", turn,
			turn * 111, turn,
			"There is much more to be said about it, but nothing that would matter to anybody, "
			"and so it goes "
			"on for a while until the line is long enough to be worth something when it is "
			"gone.");
		say_assistant(session, "Answer %d. %s", turn,
			"There is much more to be said about it, but nothing that would matter to anybody, "
			"and so it goes "
			"on for a while until the line is long enough to be worth something when it is "
			"gone.");
	}
	return session;
}

static struct bobbin_window_options keep_six(void)
{
	struct bobbin_window_options window = history_of(20000);
	window.keep_recent = 6;
	return window;
}

enum { CHILD_DONE = 0, CHILD_NOTHING = 1, CHILD_FAILED = 2 };

/* In a process of its own, with handles of its own. */
static pid_t compact_in_a_child(long delay_ms)
{
	char script[160];
	snprintf(script, sizeof(script),
		"{\"text\":\"FACTS\\n- crates stand in halls [1]\\nEND\",\"delay_ms\":%ld,\"times\":99}",
		delay_ms);
	scratch_write_text(scratch_dir, "sleepy.jsonl", script);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child)
		return child;
	char spec[SCRATCH_PATH_BYTES + 8];
	struct bobbin_window_options window = keep_six();
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	struct bobbin_session_options must_exist = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_store *own;
	bobbin_session *session;
	bobbin_model *deriver;
	bobbin_compaction *compaction;
	must_exist.must_exist = 1;
	snprintf(spec, sizeof(spec), "mock:%s", scratch_path(scratch_dir, "sleepy.jsonl"));
	options.window = &window;
	options.force = 1;
	if (bobbin_store_open(scratch_path(scratch_dir, "store"), NULL, &own, NULL) < 0 ||
		bobbin_session_open(own, "main", &must_exist, &session, NULL) < 0 ||
		bobbin_model_open(spec, &deriver, NULL) < 0)
		_exit(CHILD_FAILED);
	options.deriver = deriver;
	if (bobbin_session_compact(session, &options, &compaction, NULL) < 0)
		_exit(CHILD_FAILED);
	_exit(bobbin_compaction_report(compaction)->done ? CHILD_DONE : CHILD_NOTHING);
}

static int wait_for(pid_t child)
{
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void refresh(bobbin_session *session)
{
	struct bobbin_error error;
	if (bobbin_session_refresh(session, &error) < 0)
		fail_msg("%s", error.message);
}

/* The request, which is the same after a restart. To be freed. */
static char *stable_request(bobbin_session **session)
{
	struct bobbin_window_options window = keep_six();
	refresh(*session);
	char *before = request_of(*session, &window);
	*session = restart(*session, "main");
	char *after = request_of(*session, &window);
	assert_string_equal(before, after);
	free(before);
	return after;
}

static void expect_record(const char *request)
{
	assert_int_equal(count_of(request, "[Summary of earlier conversation]"), 1);
	assert_lacks(request, "Answer 7.");
	assert_contains(request, "Answer 8.");
	assert_contains(request, "Do not open it.");
}

static void expect_raw(const char *request, int from, int to)
{
	char text[32];
	assert_lacks(request, "[Summary of earlier conversation]");
	for (int turn = from; turn <= to; turn++) {
		snprintf(text, sizeof(text), "Answer %d.", turn);
		assert_contains(request, text);
	}
}

static void b1_what_is_appended_meanwhile_follows_the_cut(void **state)
{
	(void)state;
	bobbin_session *session = twenty_messages();
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	say_user(session, "Meanwhile U9.");
	say_round(session, "n1", "look", "{}", "a result R9");
	say_record(session, "{\"role\":\"user\",\"origin\":\"injected\",\"content\":\"a notification N9\"}");
	assert_int_equal(wait_for(child), CHILD_DONE);
	char *request = stable_request(&session);
	expect_record(request);
	const char *at = strstr(request, "Answer 10.");
	static const char *const order[] = {"Meanwhile U9.", "a result R9", "a notification N9"};
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(at);
		at = strstr(at, order[i]);
	}
	assert_non_null(at);
	free(request);
	bobbin_session_close(session);
}

static void b1_one_at_a_time(void **state)
{
	(void)state;
	struct bobbin_window_options window = keep_six();
	struct bobbin_error error;
	uint64_t derived;
	int left = 0;
	bobbin_session *session = twenty_messages();
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	const struct compacted *compacted = compact(session, &window, NULL);
	assert_false(compacted->done);
	assert_contains(compacted->reason, "being compacted right now");
	assert_int_equal(bobbin_work(store, NULL, 1000, &derived, &left, &error), 0);
	assert_int_equal(derived, 0);
	assert_int_equal(wait_for(child), CHILD_DONE);
	assert_int_equal(log_lines("main", "compaction"), 1);
	/* afterwards nobody is kept out, and nothing of it is left in the folder */
	refresh(session);
	compacted = compact(session, &window, NULL);
	assert_contains(compacted->reason, "up to date");
	assert_false(scratch_exists(scratch_dir, "store/main.compact"));
	bobbin_session_close(session);
}

static void b1_a_pass_that_frees_too_little_is_not_repeated(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(900);
	bobbin_session *session = open_session("main");
	/* rules of the user's that are larger than what is left for the record: they stay, whatever it costs
	 */
	for (int i = 0; i < 40; i++)
		say_user(session,
			"Never open crate number %d without asking the harbour master of hall %d first, and "
			"never alone.",
			i, i * 3);
	say_user(session, "And now?");
	unsigned tries = 0;
	for (int i = 0; i < 10; i++) {
		const struct compacted *compacted = compact_if_needed(session, &window, NULL);
		if (!strstr(compacted->reason, "stopped after"))
			tries++;
	}
	assert_int_equal(tries, 3);
	assert_int_equal(log_lines("main", "compaction"), 1);
	/* until something changes */
	say_filler(session, 1, 40);
	say_user(session, "Never open any crate on a Sunday, nor on the day after one, nor on the day before "
			  "one, at all.");
	say_user(session, "And now?");
	assert_lacks(compact_if_needed(session, &window, NULL)->reason, "stopped after");
	bobbin_session_close(session);
}

static void x15_cleared_meanwhile__stays_empty(void **state)
{
	(void)state;
	struct bobbin_error error;
	struct bobbin_ack ack;
	bobbin_session *session = twenty_messages();
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	assert_int_equal(bobbin_session_rewind(session, "", &ack, &error), 0);
	assert_int_equal(wait_for(child), CHILD_NOTHING);
	assert_int_equal(log_lines("main", "compaction"), 0);
	refresh(session);
	assert_string_equal(bobbin_session_head(session), "");
	say_user(session, "A new start.");
	char *request = stable_request(&session);
	assert_lacks(request, "Answer");
	assert_lacks(request, "[Summary of earlier conversation]");
	assert_contains(request, "A new start.");
	free(request);
	bobbin_session_close(session);
}

static void d4_edit_before_the_cut__result_thrown_away(void **state)
{
	(void)state;
	static const char *const edited[] = {"m11", "m15", "m1"};
	for (size_t i = 0; i < 3; i++) {
		struct bobbin_error error;
		struct bobbin_ack ack;
		if (i) {
			store_teardown(state);
			store_setup(state);
		}
		bobbin_session *session = twenty_messages();
		pid_t child = compact_in_a_child(SLEEP_MS);
		sleep_ms(MEANWHILE_MS);
		assert_int_equal(bobbin_session_edit(session, edited[i], "Edited Q.", 9, &ack, &error), 0);
		assert_int_equal(bobbin_session_edit(session, ack.id, "Edited twice.", 13, &ack, &error), 0);
		assert_int_equal(wait_for(child), CHILD_NOTHING);
		assert_int_equal(log_lines("main", "compaction"), 0);
		char *request = stable_request(&session);
		assert_contains(request, "Edited twice.");
		assert_lacks(request, "Edited Q.");
		assert_lacks(request, "Answer 8.");
		expect_raw(request, 1, i == 0 ? 5 : i == 1 ? 7 : 0);
		free(request);
		bobbin_session_close(session);
	}
}

static void d4_edit_after_the_cut__record_kept(void **state)
{
	(void)state;
	struct bobbin_error error;
	struct bobbin_ack ack;
	bobbin_session *session = twenty_messages();
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	assert_int_equal(bobbin_session_edit(session, "m17", "Edited Q.", 9, &ack, &error), 0);
	assert_int_equal(wait_for(child), CHILD_DONE);
	char *request = stable_request(&session);
	expect_record(request);
	assert_contains(request, "Edited Q.");
	assert_lacks(request, "Question 9");
	assert_lacks(request, "Answer 9.");
	free(request);
	/* and one before it later on: raw again, nothing reappears that was replaced */
	assert_int_equal(bobbin_session_edit(session, "m11", "Later Q.", 8, &ack, &error), 0);
	request = stable_request(&session);
	expect_raw(request, 1, 5);
	assert_contains(request, "Later Q.");
	assert_lacks(request, "Edited Q.");
	free(request);
	bobbin_session_close(session);
}

static void d4_rewind_over_the_cut_and_behind_it(void **state)
{
	(void)state;
	static const char *const to[] = {"m8", "m18"};
	for (size_t i = 0; i < 2; i++) {
		struct bobbin_error error;
		struct bobbin_ack ack;
		if (i) {
			store_teardown(state);
			store_setup(state);
		}
		bobbin_session *session = twenty_messages();
		pid_t child = compact_in_a_child(SLEEP_MS);
		sleep_ms(MEANWHILE_MS);
		assert_int_equal(bobbin_session_rewind(session, to[i], &ack, &error), 0);
		assert_int_equal(wait_for(child), i ? CHILD_DONE : CHILD_NOTHING);
		say_user(session, "Go on.");
		char *request = stable_request(&session);
		if (i)
			expect_record(request);
		else
			expect_raw(request, 1, 4);
		assert_lacks(request, "Answer 10.");
		free(request);
		bobbin_session_close(session);
	}
}

static void fork_meanwhile__has_its_own_view(void **state)
{
	(void)state;
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_window_options window = keep_six();
	struct bobbin_error error;
	struct bobbin_forked before, behind;
	bobbin_session *session = twenty_messages();
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	assert_int_equal(bobbin_session_fork(session, "m10", &options, &before, &error), 0);
	assert_int_equal(bobbin_session_fork(session, "m20", &options, &behind, &error), 0);
	assert_int_equal(wait_for(child), CHILD_DONE);
	char *request = stable_request(&session);
	expect_record(request);
	free(request);
	session = restart(session, "main");
	bobbin_session *one = open_session(before.id), *two = open_session(behind.id);
	request = request_of(one, &window);
	expect_raw(request, 1, 5);
	assert_lacks(request, "Answer 6.");
	free(request);
	request = request_of(two, &window); /* what the parent committed later changes nothing here */
	expect_raw(request, 1, 10);
	free(request);
	struct bobbin_forked later;
	assert_int_equal(bobbin_session_fork(session, "m20", &options, &later, &error), 0);
	bobbin_session *three = open_session(later.id);
	request = request_of(three, &window); /* what it had committed before the fork counts */
	expect_record(request);
	free(request);
	bobbin_session_close(three);
	say_user(two, "Only in the fork.");
	refresh(session);
	request = request_of(session, &window);
	assert_lacks(request, "Only in the fork.");
	free(request);
	bobbin_session_close(one);
	bobbin_session_close(two);
	bobbin_session_close(session);
}

static void run_that_begins_meanwhile__result_thrown_away(void **state)
{
	(void)state;
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	bobbin_session *session = twenty_messages();
	bobbin_model *model = open_script("{\"text\":\"The digest.\"}");
	options.run = "run_42";
	options.routine = "digest";
	pid_t child = compact_in_a_child(SLEEP_MS);
	sleep_ms(MEANWHILE_MS);
	assert_int_equal(tell(session, model, "Make the digest.", &options).rc, 0);
	assert_int_equal(wait_for(child), CHILD_NOTHING);
	assert_int_equal(log_lines("main", "compaction"), 0);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void x17_killed_at_any_step__whole_or_nothing(void **state)
{
	(void)state;
	unsigned raw = 0, compacted = 0;
	for (long delay = 0; delay < 240; delay += 24) {
		if (delay) {
			store_teardown(state);
			store_setup(state);
		}
		bobbin_session *session = twenty_messages();
		pid_t child = compact_in_a_child(20);
		sleep_ms(delay);
		say_user(session, "Meanwhile U9.");
		kill(child, SIGKILL);
		wait_for(child);
		char *request = stable_request(&session);
		assert_contains(request, "Meanwhile U9.");
		if (strstr(request, "[Summary of earlier conversation]")) {
			compacted++;
			expect_record(request);
		} else {
			raw++;
			expect_raw(request, 1, 10);
		}
		free(request);
		/* the dead one keeps nobody out */
		struct bobbin_window_options window = keep_six();
		const struct compacted *again = compact(session, &window, NULL);
		assert_true(again->done || strstr(again->reason, "up to date"));
		request = stable_request(&session);
		assert_int_equal(count_of(request, "[Summary of earlier conversation]"), 1);
		assert_int_equal(verify_faults(session), 0);
		free(request);
		bobbin_session_close(session);
	}
	print_message("killed: %u raw, %u with the record\n", raw, compacted);
	assert_true(raw > 0);
}

static void d4_half_a_compaction_line_is_not_believed(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"{\"seq\":21,\"type\":\"compaction\",\"cut\":\"m15\",\"inner\":null,\"source\":\"chain:"
		"0000000000000000\",\"text\":\"FACTS\"}\n",
		"{\"seq\":21,\"type\":\"compaction\",\"cut\":\"m15\"}\n",
		"{\"seq\":21,\"type\":\"compaction\"}\n",
		"{\"seq\":21,\"type\":\"compaction\",\"cut\":15,\"text\":[],\"source\":{},\"inner\":7,"
		"\"floor\":1}\n",
		"{\"seq\":21,\"type\":\"segment\",\"covers\":[\"m1\"],\"record\":7}\n",
		"{\"seq\":21,\"type\":\"segment\",\"covers\":[\"m4\",\"m1\"],\"deriver\":\"rules/"
		"1\",\"record\":{}}\n",
		"{\"seq\":21,\"type\":\"compaction\",\"cut\":\"m15\",\"te",
	};
	struct bobbin_window_options window = keep_six();
	bobbin_session *session = twenty_messages();
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		bobbin_session_close(session);
		scratch_append(scratch_dir, "store/main.jsonl", lines[i], strlen(lines[i]));
		session = open_session("main");
		char *request = request_of(session, &window);
		expect_raw(request, 1, 10);
		free(request);
	}
	/* a whole one of which the text is taken away later */
	assert_true(compact(session, &window, NULL)->done);
	assert_int_equal(verify_faults(session), 0);
	bobbin_session_close(session);
	char *log = log_bytes("main"), *last = NULL, *at = log;
	while ((at = strstr(at, "\"type\":\"compaction\"")))
		last = at++;
	assert_non_null(last);
	char *text = NULL;
	while ((last = strstr(last, "\"text\":\"")))
		text = last++;
	assert_non_null(text);
	text[12] = '\n'; /* torn there */
	scratch_write_text(scratch_dir, "store/main.jsonl", log);
	free(log);
	session = open_session("main");
	char *request = request_of(session, &window);
	expect_raw(request, 1, 10);
	free(request);
	bobbin_session_close(session);
}

static bobbin_session *reopen_with(bobbin_session *session, const char *line)
{
	bobbin_session_close(session);
	scratch_append(scratch_dir, "store/main.jsonl", line, strlen(line));
	return open_session("main");
}

/* "A record is used only if … its floor is the session's floor": the run that is gone back for begins before the cut. */
static void run_that_begins_before_the_cut__record_not_used(void **state)
{
	(void)state;
	struct bobbin_window_options window = keep_six();
	struct bobbin_error error;
	struct bobbin_ack ack;
	bobbin_session *session = twenty_messages();
	assert_true(compact(session, &window, NULL)->done);
	char *request = request_of(session, &window);
	expect_record(request);
	free(request);
	assert_int_equal(bobbin_session_rewind(session, "m6", &ack, &error), 0);
	session = reopen_with(session, "{\"type\":\"run\",\"run\":\"r1\",\"routine\":\"digest\"}\n");
	assert_int_equal(bobbin_session_rewind(session, "m20", &ack, &error), 0);
	request = stable_request(&session);
	expect_raw(request, 4, 10);
	assert_lacks(request, "Question 3:");
	free(request);
	assert_int_equal(is_stale(session), 1);
	bobbin_session_close(session);
}

/* A line in another's hand: it names the run, and was cut before it. Nothing from before a run is shown to it. */
static void record_cut_before_its_run__not_used(void **state)
{
	(void)state;
	struct bobbin_window_options window = keep_six();
	bobbin_session *session = twenty_messages();
	assert_true(compact(session, &window, NULL)->done);
	char *log = log_bytes("main"), *line = strstr(log, "\"type\":\"compaction\""), *floor = strstr(log, "\"floor\":null");
	assert_true(line && floor && floor > line);
	session = reopen_with(session, "{\"type\":\"run\",\"run\":\"r1\",\"routine\":\"digest\"}\n");
	const char *first = say_user(session, "The run begins.");
	size_t size = strlen(log) + 64;
	char *copy = malloc(size), *crc = NULL;
	assert_non_null(copy);
	snprintf(copy, size, "{%.*s\"floor\":\"%s\"%s", (int)(floor - line), line, first, floor + strlen("\"floor\":null"));
	*strchr(copy, '\n') = 0;
	for (char *at = copy; (at = strstr(at, ",\"crc\":")); at++)
		crc = at;
	assert_non_null(crc);
	snprintf(crc, 3, "}\n");
	session = reopen_with(session, copy);
	char *request = stable_request(&session);
	assert_contains(request, "The run begins.");
	assert_lacks(request, "[Summary of earlier conversation]");
	assert_lacks(request, "Answer 10.");
	free(request);
	char *in_force = record_of(session);
	assert_string_equal(in_force, "");
	free(in_force);
	free(copy);
	free(log);
	bobbin_session_close(session);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
	const struct CMUnitTest tests[] = {
		TEST(b1_what_is_appended_meanwhile_follows_the_cut),
		TEST(b1_one_at_a_time),
		TEST(b1_a_pass_that_frees_too_little_is_not_repeated),
		TEST(x15_cleared_meanwhile__stays_empty),
		TEST(d4_edit_before_the_cut__result_thrown_away),
		TEST(d4_edit_after_the_cut__record_kept),
		TEST(d4_rewind_over_the_cut_and_behind_it),
		TEST(fork_meanwhile__has_its_own_view),
		TEST(run_that_begins_meanwhile__result_thrown_away),
		TEST(x17_killed_at_any_step__whole_or_nothing),
		TEST(d4_half_a_compaction_line_is_not_believed),
		TEST(run_that_begins_before_the_cut__record_not_used),
		TEST(record_cut_before_its_run__not_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
