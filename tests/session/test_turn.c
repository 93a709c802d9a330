/* SPDX-License-Identifier: MIT */
/* One turn: its events in order, what it stores, and what it does when the model or another writer misbehaves. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "talk.h"

static char line[8192];

static struct bobbin_turn_options with_tools(struct bobbin_window_options *window)
{
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	*window = (struct bobbin_window_options)BOBBIN_WINDOW_OPTIONS_INIT;
	window->tools = TOOLS;
	window->tools_len = strlen(TOOLS);
	options.window = window;
	return options;
}

static void plain_turn__recovers_plans_streams_stores_ends(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"text\":\"Good morning.\",\"chunks\":[4,8]}\n");
	struct told told = tell(session, model, "Hello", NULL);
	assert_int_equal(told.rc, 0);
	assert_string_equal(told.text, "Good morning.");
	assert_string_equal(told.events, "RSPTTTSD");
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello|a:Good morning.");
	assert_string_equal(told.reply, bobbin_session_head(session));
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void parallel_calls__answered_then_asked_again(void **state)
{
	(void)state;
	struct bobbin_window_options window;
	struct bobbin_turn_options options = with_tools(&window);
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script(
		"{\"text\":\"Two looks.\",\"calls\":[{\"id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"},"
		"{\"id\":\"c2\",\"name\":\"count\",\"arguments\":\"{}\"}]}\n{\"text\":\"Seen.\"}\n");
	struct told told = tell(session, model, "Look twice", &options);
	assert_int_equal(told.rc, 0);
	assert_int_equal(told.calls, 2);
	assert_string_equal(line_of(session, line, sizeof(line)),
		"u:Look twice|a:Two looks.\n→ look {}\n→ count {}|t:result of look|t:result of count|a:Seen.");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void unanswered_call__is_asked_for_and_marked_next_time(void **state)
{
	(void)state;
	struct bobbin_window_options window;
	struct bobbin_turn_options options = with_tools(&window);
	const struct bobbin_event *event;
	struct bobbin_error error;
	struct bobbin_recovery recovery;
	bobbin_turn *turn;
	int rc;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"calls\":[{\"id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"}]}\n");
	assert_int_equal(bobbin_turn_start(session, model, "Look", 4, &options, &turn, &error), 0);
	while ((rc = bobbin_turn_next(turn, 1000, &event, &error)) > 0)
		;
	assert_int_equal(rc, BOBBIN_EINVAL);
	assert_int_equal(bobbin_turn_result(turn, "nobody", "x", 1, 0, &error), BOBBIN_EINVAL);
	bobbin_turn_free(turn); /* the host gives up */

	assert_int_equal(bobbin_session_recover(session, &recovery, &error), 0);
	assert_int_equal(recovery.marked, 1);
	assert_int_equal(recovery.messages, 3);
	assert_int_equal(bobbin_session_recover(session, &recovery, &error), 0);
	assert_int_equal(recovery.marked, 0);
	struct told told = tell(session, model, "Go on", &options);
	assert_int_equal(told.rc, 0);
	assert_non_null(strstr(line_of(session, line, sizeof(line)), "|t:[interrupted: no result"));
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void regenerate__another_reply_on_a_branch(void **state)
{
	(void)state;
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n");
	options.regenerate = 1;
	assert_int_equal(tell(session, model, NULL, &options).rc, BOBBIN_ENOTFOUND);
	assert_int_equal(tell(session, model, "Say", NULL).rc, 0);
	assert_int_equal(tell(session, model, NULL, &options).rc, 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Say|a:two");
	assert_int_equal(tell(session, model, NULL, &options).rc, 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Say|a:three");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void busy_provider__tried_again_then_given_up(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"status\":429,\"retry_after_ms\":1}\n{\"status\":500}\n{\"text\":\"at last\"}\n");
	struct told told = tell(session, model, "Hello", NULL);
	assert_int_equal(told.rc, 0);
	assert_string_equal(told.text, "at last");
	assert_non_null(strstr(told.notes, "trying again"));
	bobbin_model_close(model);

	model = open_script("{\"status\":400,\"message\":\"no\"}\n{\"text\":\"never\"}\n");
	told = tell(session, model, "Again", NULL);
	assert_int_equal(told.rc, BOBBIN_EPROVIDER);
	assert_string_equal(told.text, "");
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello|a:at last|u:Again");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void cut_off_answer__is_an_error_and_not_stored(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"text\":\"half of it\",\"cut_after\":4}\n{\"garbage\":true}\n");
	struct told told = tell(session, model, "Hello", NULL);
	assert_int_equal(told.rc, BOBBIN_EPROVIDER);
	assert_string_equal(told.text, "half");
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void *cancel_soon(void *turn)
{
	const struct timespec delay = {0, 50 * 1000 * 1000};
	nanosleep(&delay, NULL);
	bobbin_cancel(turn);
	return NULL;
}

static void cancel__from_another_thread(void **state)
{
	(void)state;
	struct told told = {0};
	bobbin_turn *turn;
	pthread_t thread;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"hang\":true}\n");
	assert_int_equal(bobbin_turn_start(session, model, "Hello", 5, NULL, &turn, &told.error), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, turn), 0);
	told = pull(turn, told);
	pthread_join(thread, NULL);
	assert_int_equal(told.rc, BOBBIN_ECANCELLED);
	bobbin_turn_free(turn);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void second_turn__busy_until_the_first_ends(void **state)
{
	(void)state;
	struct told told = {0};
	bobbin_turn *turn;
	bobbin_session *session = open_session("main"), *other = open_session("main");
	bobbin_model *model = open_script(NULL);
	assert_int_equal(bobbin_turn_start(session, model, "Hello", 5, NULL, &turn, &told.error), 0);
	assert_int_equal(tell(other, model, "Me too", NULL).rc, BOBBIN_EBUSY);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello");
	assert_int_equal(pull(turn, told).rc, 0);
	bobbin_turn_free(turn);
	assert_int_equal(tell(other, model, "Me too", NULL).rc, 0);
	bobbin_model_close(model);
	bobbin_session_close(other);
	bobbin_session_close(session);
}

static void conflict__reply_is_kept_beside_the_line(void **state)
{
	(void)state;
	struct bobbin_ack ack;
	struct told told = {0};
	bobbin_turn *turn;
	bobbin_session *session = open_session("main"), *other = open_session("main");
	bobbin_model *model = open_script("{\"text\":\"the slow reply\"}\n");
	assert_int_equal(bobbin_turn_start(session, model, "Hello", 5, NULL, &turn, &told.error), 0);
	assert_int_equal(bobbin_session_refresh(other, &told.error), 0);
	assert_int_equal(bobbin_session_append_text(other, "user", "meanwhile", 9, &ack, &told.error), 0);
	told = pull(turn, told);
	assert_int_equal(told.rc, BOBBIN_ECONFLICT);
	bobbin_turn_free(turn);
	assert_int_equal(bobbin_session_refresh(session, &told.error), 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:Hello|u:meanwhile");

	struct bobbin_messages_options all = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	bobbin_messages *messages;
	int found = 0;
	all.all_branches = 1;
	assert_int_equal(bobbin_messages_open(session, &all, &messages, &told.error), 0);
	while (bobbin_messages_next(messages, &message, &told.error) > 0)
		found += strcmp(message->text, "the slow reply") == 0 && message->position == UINT64_MAX;
	bobbin_messages_close(messages);
	assert_int_equal(found, 1);
	bobbin_model_close(model);
	bobbin_session_close(other);
	bobbin_session_close(session);
}

static void small_window__refused_before_anything_is_sent(void **state)
{
	(void)state;
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	bobbin_session *session = open_session("main");
	bobbin_model *model = open_script("{\"text\":\"never\"}\n");
	char words[3000];
	memset(words, 'w', sizeof(words) - 1);
	for (size_t i = 5; i < sizeof(words) - 1; i += 6)
		words[i] = ' ';
	words[sizeof(words) - 1] = 0;
	window.window = 300;
	options.window = &window;
	struct told told = tell(session, model, words, &options);
	assert_int_equal(told.rc, BOBBIN_EBUDGET);
	assert_int_not_equal(strlen(told.error.message), 0);
	assert_string_equal(told.text, "");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void b5_every_request_inside_a_turn_fits(void **state)
{
	(void)state;
	struct bobbin_window_options window;
	struct bobbin_turn_options options = with_tools(&window);
	char script[4096] = "";
	bobbin_session *session = open_session("main");
	for (int i = 0; i < 12; i++)
		strcat(script, "{\"calls\":[{\"id\":\"same\",\"name\":\"look\",\"arguments\":\"{}\"}]}\n");
	strcat(script, "{\"text\":\"done\"}\n");
	bobbin_model *model = open_script(script);
	window.window = 700; /* the strict mock refuses a request that is over its window or badly formed */
	window.output_reserve = 100;
	struct told told = tell(session, model, "Keep looking", &options);
	assert_int_equal(told.rc, 0);
	assert_int_equal(told.calls, 12);
	assert_string_equal(told.text, "done");
	bobbin_model_close(model);
	bobbin_session_close(session);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
	const struct CMUnitTest tests[] = {
		TEST(plain_turn__recovers_plans_streams_stores_ends),
		TEST(parallel_calls__answered_then_asked_again),
		TEST(unanswered_call__is_asked_for_and_marked_next_time),
		TEST(regenerate__another_reply_on_a_branch),
		TEST(busy_provider__tried_again_then_given_up),
		TEST(cut_off_answer__is_an_error_and_not_stored),
		TEST(cancel__from_another_thread),
		TEST(second_turn__busy_until_the_first_ends),
		TEST(conflict__reply_is_kept_beside_the_line),
		TEST(small_window__refused_before_anything_is_sent),
		TEST(b5_every_request_inside_a_turn_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
