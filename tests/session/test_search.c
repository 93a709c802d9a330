/* SPDX-License-Identifier: MIT */
/* Search and masked reading through the public interface: options, places, and each allocation failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/fail.h"
#include "talk.h"

static void say(const char *id, const char *record)
{
	struct bobbin_error error;
	bobbin_session *session = open_session(id);
	assert_int_equal(bobbin_session_append(session, record, strlen(record), NULL, NULL, &error), 0);
	bobbin_session_close(session);
}

/* How many match, or the error. */
static int count_matches(bobbin_store *where, const char *query, const struct bobbin_search_options *options)
{
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	int count = 0, rc = bobbin_search_open(where, query, strlen(query), options, &search, &error);
	if (rc < 0)
		return rc;
	while ((rc = bobbin_search_next(search, &match, &error)) > 0)
		count++;
	bobbin_search_close(search);
	return rc < 0 ? rc : count;
}

static void a_match_says_where_its_hit_is(void **state)
{
	(void)state;
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	say("a", "{\"role\":\"user\",\"content\":\"caf\\u00e9 au lait, CAF\xc3\x89, caf\xc3\xa9\"}");
	assert_int_equal(bobbin_search_open(store, "caf\xc3\xa9", 5, NULL, &search, &error), 0);
	assert_int_equal(bobbin_search_next(search, &match, &error), 1);
	assert_string_equal(match->session, "a");
	assert_string_equal(match->id, "m1");
	assert_string_equal(match->role, "user");
	assert_int_equal(match->hits, 2);
	assert_memory_equal(match->excerpt + match->hit_start, "caf\xc3\xa9", match->hit_len);
	assert_int_equal(bobbin_search_next(search, &match, &error), 0);
	assert_int_equal(bobbin_search_skipped(search), 0);
	bobbin_search_close(search);
}

/* Counted without decoding where that is certain, and by looking at each: both must be `expected`, worked out by hand. */
static void assert_counts(const char *query, struct bobbin_search_options options, int expected)
{
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	int count = 0, rc;

	if (count_matches(store, query, &options) != expected)
		fail_msg("%s: %d, not %d", query, count_matches(store, query, &options), expected);
	options.count_only = 1;
	assert_int_equal(bobbin_search_open(store, query, strlen(query), &options, &search, &error), 0);
	while ((rc = bobbin_search_next(search, &match, &error)) > 0) {
		assert_true(match->hits > 0);
		count += (int)match->hits;
	}
	assert_int_equal(rc, 0);
	bobbin_search_close(search);
	if (count != expected)
		fail_msg("%s: counted %d, not %d", query, count, expected);
}

static void counting_takes_nothing_for_text_that_is_none(void **state)
{
	static const char *const RECORDS[] = {
		"{\"role\":\"user\",\"content\":\"plain needle here, and a needle\"}",	      /* needle */
		"{\"role\":\"user\",\"content\":\"a\\needle\"}",			      /* a line break and eedle */
		"{\"role\":\"user\",\"content\":\"a\\\\needle\"}",			      /* a backslash and needle */
		"{\"role\":\"user\",\"content\":\"a\\\\\\needle\"}",		      /* a backslash, a line break, eedle */
		"{\"role\":\"user\",\"content\":\"\\u006eeedle\"}",			      /* needle */
		"{\"role\":\"user\",\"content\":\"x\\u0041needle\"}",		      /* xAneedle */
		"{\"role\":\"user\",\"content\":\"\\nneedle\"}",			      /* a line break and needle */
		"{\"role\":\"user\",\"content\":\"u0041 and \\u0041\"}",		      /* u0041 and A */
		"{\"role\":\"user\",\"content\":\"only \\u0041bc\"}",		      /* only Abc */
		"{\"role\":\"user\",\"src\":{\"content\":\"needle\"},\"content\":\"nothing\"}", /* beside the text */
		"{\"role\":\"user\",\"src\":\"\\\"content\\\":\\\"needle\",\"content\":\"nothing\"}",
		"{\"role\":\"user\",\"content\":\"nothing\",\"src\":[\"needle\"]}",
		"{\"role\":\"user\",\"src\":\"needle\",\"content\":\"a needle too\"}",     /* in both */
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"needle\"}]}",
		"{\"role\":\"user\", \"content\" : \"a spaced needle\"}",
		"{\"role\":\"assistant\",\"content\":\"none\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"needle\",\"arguments\":\"{}\"}]}",
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"the needle\"}"};
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	(void)state;

	for (size_t i = 0; i < sizeof RECORDS / sizeof *RECORDS; i++)
		say("a", RECORDS[i]);
	assert_counts("needle", options, 10);
	assert_counts("eedle", options, 12);
	assert_counts("u0041", options, 1);
	assert_counts("0041 and", options, 1);
	assert_counts("41bc", options, 0);
	assert_counts("Abc", options, 1);
	assert_counts("content", options, 0);
	assert_counts("\\needle", options, 1);
	options.ignore_case = 1;
	assert_counts("NEEDLE", options, 10);
	options.limit = 3;
	assert_counts("NEEDLE", options, 3);
}

/* Records of every length up to some thousand bytes, so that blocks end everywhere in them; in sessions, and in a fork's line. */
static void counting_at_every_place_of_a_block_and_by_session(void **state)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	static char record[8192];
	bobbin_session *session = open_session("long");
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	(void)state;

	for (int i = 0; i < 500; i++) {
		int len = snprintf(record, sizeof record, "{\"role\":\"user\",\"content\":\"");
		for (int filler = 0; filler < i * 5; filler++)
			record[len++] = "abcde fghij klmno"[filler % 17];
		len += snprintf(record + len, sizeof record - (size_t)len, "%s and so on\"}", i % 3 ? "a pin" : "a needle");
		assert_int_equal(bobbin_session_append(session, record, (size_t)len, NULL, NULL, &error), 0);
	}
	assert_int_equal(bobbin_session_fork(session, "m10", NULL, NULL, &error), 0);
	bobbin_session_close(session);
	say("short", "{\"role\":\"user\",\"content\":\"a needle\"}");
	assert_counts("needle", options, 167 + 1);
	assert_counts("pin", options, 333);
	options.session = "long";
	assert_counts("needle", options, 167);
	options.session = NULL;
	options.count_only = 1;
	assert_int_equal(bobbin_search_open(store, "needle", 6, &options, &search, &error), 0);
	for (int i = 0; i < 2; i++) { /* the newest session comes first; the fork stores none */
		assert_int_equal(bobbin_search_next(search, &match, &error), 1);
		assert_int_equal(match->hits, strcmp(match->session, "long") == 0 ? 167 : 1);
	}
	assert_int_equal(bobbin_search_next(search, &match, &error), 0);
	bobbin_search_close(search);
}

static void what_cannot_be_searched_is_an_error_or_counted(void **state)
{
	(void)state;
	struct bobbin_search_options one = BOBBIN_SEARCH_OPTIONS_INIT;
	struct bobbin_error error;
	const struct bobbin_match *match;
	bobbin_search *search;
	assert_int_equal(count_matches(store, "", NULL), BOBBIN_EINVAL);
	assert_int_equal(count_matches(store, "\xff", NULL), BOBBIN_EINVAL);
	one.session = "nowhere";
	assert_int_equal(count_matches(store, "x", &one), BOBBIN_ENOTFOUND);
	say("good", "{\"role\":\"user\",\"content\":\"the needle\"}");
	scratch_write_text(scratch_dir, "store/bad.jsonl",
		"{\"type\":\"session\",\"id\":\"bad\",\"v\":1,\"segment_bytes\":1 needle\n");
	assert_int_equal(bobbin_search_open(store, "needle", 6, NULL, &search, &error), 0);
	assert_int_equal(bobbin_search_next(search, &match, &error), 1);
	assert_string_equal(match->session, "good");
	assert_int_equal(bobbin_search_next(search, &match, &error), 0);
	assert_int_equal(bobbin_search_skipped(search), 1);
	bobbin_search_close(search);
}

static void fork_as(const char *parent, const char *at, const char *id)
{
	const struct bobbin_fork_options options = {.size = sizeof(options), .id = id};
	struct bobbin_error error;
	bobbin_session *session = open_session(parent);
	assert_int_equal(bobbin_session_fork(session, at, &options, NULL, &error), 0);
	bobbin_session_close(session);
}

/*
 * p and o have four needles each; p was forked at m2, m3 (f, and g from it) and m4 (h, at its end), o at m4 (k), all with a needle
 * of their own but h; k's fork l begins with all of it. With p and o deleted, copies stand beside f and h, and beside k; the last
 * message of o, which nobody inherits, is gone.
 */
static void forks_of_what_is_deleted(void)
{
	struct bobbin_error error;
	for (int i = 0; i < 4; i++) {
		say("p", "{\"role\":\"user\",\"content\":\"a needle of p\"}");
		say("o", "{\"role\":\"user\",\"content\":\"a needl\\u0065 of o\"}");
	}
	say("o", "{\"role\":\"user\",\"content\":\"a needle that goes\"}");
	fork_as("p", "m2", "f");
	say("f", "{\"role\":\"user\",\"content\":\"a needle of f\"}");
	fork_as("f", "m3", "g");
	say("g", "{\"role\":\"user\",\"content\":\"a needle of g\"}");
	fork_as("p", "m4", "h");
	fork_as("o", "m4", "k");
	say("k", "{\"role\":\"user\",\"content\":\"a needle of k\"}");
	fork_as("k", "m5", "l");
	assert_int_equal(bobbin_session_delete_materialized(store, "p", &error), 0);
	assert_int_equal(bobbin_session_delete_materialized(store, "o", &error), 0);
}

/* Message by message, and by session: where it is, and how often. */
static void assert_places(const struct bobbin_search_options *options, const char *expected)
{
	static const char *const sessions[] = {"f", "g", "h", "k", "l"};
	struct bobbin_search_options counting = *options;
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	char text[256] = "";
	int own[5] = {0}, inherited[5] = {0}, counts[5] = {0}, rc;

	for (counting.count_only = 0; counting.count_only < 2; counting.count_only++) {
		assert_int_equal(bobbin_search_open(store, "needle", 6, &counting, &search, &error), 0);
		while ((rc = bobbin_search_next(search, &match, &error)) > 0)
			for (int i = 0; i < 5; i++)
				if (strcmp(match->session, sessions[i]) == 0) {
					assert_true(!counting.count_only || !counts[i]); /* each session once */
					*(counting.count_only ? &counts[i] : match->inherited ? &inherited[i] : &own[i]) +=
						(int)match->hits;
				}
		assert_int_equal(rc, 0);
		assert_int_equal(bobbin_search_skipped(search), 0);
		bobbin_search_close(search);
	}
	for (int i = 0; i < 5; i++) {
		assert_int_equal(own[i] + inherited[i], counts[i]);
		if (counts[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %d+%d ", sessions[i], own[i], inherited[i]);
	}
	assert_string_equal(text, expected);
}

static void what_forks_inherit_of_deleted_sessions_is_found_once(void **state)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	struct bobbin_error error;
	(void)state;
	forks_of_what_is_deleted();
	/* The longer copy gives all of p; that of f has nothing more. */
	assert_places(&options, "f 1+0 g 1+0 h 0+4 k 1+4 ");
	options.limit = 5;
	assert_counts("needle", options, 5);
	options.limit = 0;
	options.session = "g"; /* through f's log to f's copy */
	assert_places(&options, "g 1+3 ");
	options.session = "f";
	options.line_only = 1;
	assert_places(&options, "f 1+2 ");
	options.session = NULL;
	assert_places(&options, "f 1+0 g 1+0 h 0+4 k 1+4 ");
	options.line_only = 0;
	options.owner = "nobody";
	assert_counts("needle", options, 0);
	options.owner = NULL;
	/* l's copy has k's words, too, once k is gone; before, k gives them, and what stands beside h is h's until it goes. */
	assert_int_equal(bobbin_session_delete_materialized(store, "k", &error), 0);
	assert_places(&options, "f 1+0 g 1+0 h 0+4 l 0+5 ");
	assert_int_equal(bobbin_session_delete(store, "h", &error), 0);
	assert_places(&options, "f 1+2 g 1+0 l 0+5 ");
	/* A copy that is nobody's any more, and one of a session that inherits nothing. */
	size_t len;
	char *copy = scratch_read(scratch_dir, "store/f.base.jsonl", &len);
	say("alone", "{\"role\":\"user\",\"content\":\"nothing\"}");
	scratch_write(scratch_dir, "store/alone.base.jsonl", copy, len);
	scratch_write(scratch_dir, "store/nobody.base.jsonl", copy, len);
	free(copy);
	assert_places(&options, "f 1+2 g 1+0 l 0+5 ");
}

static void every_failed_allocation_of_a_search_among_copies_is_an_error(void **state)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	(void)state;
	forks_of_what_is_deleted();
	for (; options.count_only < 2; options.count_only++)
		for (uint64_t nth = 1;; nth++) {
			int expected = options.count_only ? 4 : 11;
			fail_alloc_start(nth);
			int found = count_matches(store, "needle", &options);
			struct fail_alloc_report report = fail_alloc_stop();
			assert_int_equal(report.live, 0);
			assert_true(found == expected || (report.failed && found == BOBBIN_ENOMEM));
			if (!report.failed)
				break;
		}
}

static void every_failed_allocation_of_a_search_is_an_error(void **state)
{
	(void)state;
	say("a", "{\"role\":\"user\",\"content\":\"one needl\\u0065 \\n here\"}");
	say("b", "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"name\":\"sh\","
		 "\"arguments\":\"{\\\"c\\\":\\\"needle\\\"}\"}]}");
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int found = count_matches(store, "needle", NULL);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		/* A cache that cannot be read for want of memory is done without. */
		assert_true(found == 2 || (report.failed && found == BOBBIN_ENOMEM));
		if (!report.failed)
			break;
	}
}

#define KEY                                                                                                  \
	"ghp_"                                                                                               \
	"16C7e42F292c6912E7710c838347"                                                                       \
	"Ae178B4a"

static void masked_messages_are_whole_records_without_their_secret(void **state)
{
	(void)state;
	struct bobbin_messages_options options = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	struct bobbin_error error;
	bobbin_messages *messages;
	say("a", "{\"role\":\"user\",\"content\":\"my key " KEY "\"}");
	bobbin_session *session = open_session("a");
	options.mask = 1;
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = bobbin_messages_open(session, &options, &messages, &error);
		if (!rc) {
			rc = bobbin_messages_next(messages, &message, &error);
			if (rc == 1) {
				assert_string_equal(message->text, "my key [masked: github token]");
				assert_null(strstr(message->record, "ghp_"));
				assert_null(strstr(message->record, "\"crc\""));
			}
			bobbin_messages_close(messages);
		}
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(rc, report.failed ? BOBBIN_ENOMEM : 1);
		if (!report.failed)
			break;
	}
	bobbin_session_close(session);
}

static void a_session_that_redacts_is_made_so_or_refused(void **state)
{
	(void)state;
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_session *session;
	options.redact_on_write = 1;
	options.title = "about " KEY;
	assert_int_equal(bobbin_session_open(store, "r", &options, &session, &error), 0);
	assert_string_equal(bobbin_session_info(session)->title, "about [masked: github token]");
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = bobbin_session_append_text(
			session, "user", "key " KEY, 4 + strlen(KEY), NULL, &error);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_true(rc == 0 || (report.failed && rc == BOBBIN_ENOMEM));
		if (!report.failed)
			break;
	}
	bobbin_session_close(session);
	char *log = scratch_read(scratch_dir, "store/r.jsonl", NULL);
	assert_non_null(strstr(log, "key [masked: github token]"));
	assert_null(strstr(log, "ghp_"));
	free(log);
	bobbin_session_close(open_session("plain"));
	assert_int_equal(bobbin_session_open(store, "plain", &options, &session, &error), BOBBIN_EINVAL);
}

/* The host must do what the model asked for; what is kept of it is another matter. */
static void a_call_reaches_the_host_as_the_model_wrote_it(void **state)
{
	(void)state;
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_turn_options turn_options = BOBBIN_TURN_OPTIONS_INIT;
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_error error;
	const struct bobbin_event *event;
	bobbin_session *session;
	bobbin_turn *turn;
	bool called = false;
	bobbin_model *model = open_script("{\"calls\":[{\"id\":\"c1\",\"name\":\"look\",\"arguments\":"
					  "\"{\\\"at\\\":\\\"" KEY "\\\"}\"}]}\n{\"text\":\"done\"}\n");
	options.redact_on_write = 1;
	window.tools = TOOLS;
	window.tools_len = strlen(TOOLS);
	turn_options.window = &window;
	assert_int_equal(bobbin_session_open(store, "r", &options, &session, &error), 0);
	assert_int_equal(bobbin_turn_start(session, model, "look", 4, &turn_options, &turn, &error), 0);
	while (bobbin_turn_next(turn, -1, &event, &error) > 0)
		if (event->type == BOBBIN_EVENT_CALL) {
			assert_string_equal(event->text, "{\"at\":\"" KEY "\"}");
			assert_int_equal(bobbin_turn_result(turn, event->id, KEY, strlen(KEY), 0, &error), 0);
			called = true;
		}
	assert_true(called);
	bobbin_turn_free(turn);
	bobbin_model_close(model);
	bobbin_session_close(session);
	char *log = scratch_read(scratch_dir, "store/r.jsonl", NULL);
	assert_null(strstr(log, "ghp_"));
	assert_non_null(strstr(log, "{\\\"at\\\":\\\"[masked: github token]\\\"}"));
	assert_non_null(strstr(log, "\"content\":\"[masked: github token]\""));
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_forks_inherit_of_deleted_sessions_is_found_once, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			every_failed_allocation_of_a_search_among_copies_is_an_error, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(a_match_says_where_its_hit_is, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counting_takes_nothing_for_text_that_is_none, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counting_at_every_place_of_a_block_and_by_session, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_searched_is_an_error_or_counted, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			every_failed_allocation_of_a_search_is_an_error, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			masked_messages_are_whole_records_without_their_secret, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			a_call_reaches_the_host_as_the_model_wrote_it, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			a_session_that_redacts_is_made_so_or_refused, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
