/* SPDX-License-Identifier: MIT */
/* The rules every provider's model and stream keep: opening, the check, timeouts, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>
#include "ask.h"
#include "base/limits.h"
#include "model/mock.h"
#include "support/fail.h"
#include "support/scratch.h"

#define HI "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define MS INT64_C(1000000)

static void specification__wrong_ones_say_what_is_wrong(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int code;
		const char *word;
	} cases[] = {
		{"", BOBBIN_EINVAL, "no such model"},
		{"mocking", BOBBIN_EINVAL, "\"mocking\""},
		{"mock:", BOBBIN_EINVAL, "script"},
		{"openai:", BOBBIN_EINVAL, "name of a model"},
		{"anthropic:x@http://user@host", BOBBIN_EINVAL, "base address"},
		{"replay:", BOBBIN_EINVAL, "name of a recording"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *model = NULL;
		struct bobbin_error error = {0};
		assert_int_equal(model_open(cases[i].text, NULL, &model, &error), cases[i].code);
		assert_int_equal(error.code, cases[i].code);
		assert_non_null(strstr(error.message, cases[i].word));
		assert_null(model);
	}
	model_free(NULL);
	model_stream_free(NULL);
}

static void properties__from_the_mock_or_the_options(void **state)
{
	(void)state;
	struct model *model;
	assert_int_equal(model_open("mock", NULL, &model, NULL), 0);
	const struct model_properties *properties = model_properties(model);
	assert_string_equal(properties->name, "mock");
	assert_string_equal(properties->provider, "mock");
	assert_int_equal(properties->dialect, MODEL_OPENAI_CHAT);
	assert_int_equal(properties->window_tokens, 128000);
	assert_int_equal(properties->output_tokens_max, 16384);
	model_free(model);

	struct model_options options = MODEL_OPTIONS_INIT;
	options.window_tokens = 8000;
	options.output_tokens_max = 500;
	options.dialect = MODEL_ANTHROPIC;
	options.dialect_set = true;
	assert_int_equal(model_open("mock", &options, &model, NULL), 0);
	properties = model_properties(model);
	assert_int_equal(properties->dialect, MODEL_ANTHROPIC);
	assert_int_equal(properties->window_tokens, 8000);
	assert_int_equal(properties->output_tokens_max, 500);
	model_free(model);
}

static void names__read_back(void **state)
{
	(void)state;
	enum model_dialect dialect;
	for (int i = MODEL_OPENAI_CHAT; i <= MODEL_ANTHROPIC; i++) {
		assert_true(model_dialect_of(slice_of(model_dialect_text((enum model_dialect)i)), &dialect));
		assert_int_equal(dialect, i);
	}
	assert_false(model_dialect_of(SLICE_LITERAL("latin"), &dialect));
	assert_string_equal(model_stop_text(MODEL_STOP_LENGTH), "length");
	assert_string_equal(model_stop_text(MODEL_STOP_OTHER), "other");
	assert_string_equal(model_failure_text(MODEL_FAILURE_REQUEST), "request");
	assert_string_equal(model_failure_text(MODEL_FAILURE_AUTH), "auth");
}

static void usage__totals_by_dialect(void **state)
{
	(void)state;
	struct model_usage usage = {MODEL_OPENAI_CHAT, 812, 700, -1, 31};
	assert_int_equal(model_usage_request_tokens(&usage), 812);
	usage.dialect = MODEL_ANTHROPIC;
	assert_int_equal(model_usage_request_tokens(&usage), 1512);
	usage.cache_write = 8;
	assert_int_equal(model_usage_request_tokens(&usage), 1520);
	usage.input = -1;
	assert_int_equal(model_usage_request_tokens(&usage), -1);
}

static int forbid_hi(void *context, enum model_dialect dialect, struct slice body, struct bobbin_error *error)
{
	enum model_dialect *seen = context;
	*seen = dialect;
	if (!slice_is(body, HI))
		return 0;
	return error_set(error, BOBBIN_EINPUT, "messages[0]: \"hi\" is not polite enough");
}

static int refuse_silently(
	void *context, enum model_dialect dialect, struct slice body, struct bobbin_error *error)
{
	(void)context, (void)dialect, (void)body, (void)error;
	return BOBBIN_EINPUT;
}

static void check__refused_body_gets_400_and_its_words(void **state)
{
	(void)state;
	struct model *model;
	struct asked asked;
	enum model_dialect seen = MODEL_OPENAI_CHAT;
	assert_int_equal(model_open("mock", NULL, &model, NULL), 0);
	model_set_check(model, forbid_hi, &seen);
	ask(model, MODEL_ANTHROPIC, HI, &asked);
	assert_int_equal(seen, MODEL_ANTHROPIC);
	assert_string_equal(asked.kinds.data, "e");
	assert_int_equal(asked.failure, MODEL_FAILURE_REQUEST);
	assert_int_equal(asked.http_status, 400);
	assert_string_equal(asked.message, "messages[0]: \"hi\" is not polite enough");
	assert_false(asked.retry);
	asked_release(&asked);
	assert_int_equal(mock_request_count(model), 1);
	assert_true(slice_is(mock_request(model, 0), HI));

	assert_string_equal(say(model, "Good morning", NULL),
		"I have read your message: \"Good morning\". I can see 1 message.");
	model_set_check(model, refuse_silently, NULL);
	ask(model, MODEL_OPENAI_CHAT, HI, &asked);
	assert_string_equal(asked.message, "the body was refused by the check");
	asked_release(&asked);
	model_set_check(model, NULL, NULL);
	ask(model, MODEL_OPENAI_CHAT, HI, &asked);
	assert_true(asked.reply.done);
	asked_release(&asked);
	model_free(model);
}

static void body_too_large__refused_before_it_is_looked_at(void **state)
{
	(void)state;
	struct model *model;
	struct model_stream *stream = NULL;
	struct model_request request = MODEL_REQUEST_INIT;
	assert_int_equal(model_open("mock", NULL, &model, NULL), 0);
	request.body = (struct slice){HI, (size_t)LIMIT_REQUEST_BYTES + 1};
	assert_int_equal(model_send(model, &request, &stream, NULL), BOBBIN_ELIMIT);
	assert_null(stream);
	model_free(model);
}

/* A model on a clock that stands still but for sleeping, with a script. */
struct slow {
	struct fail_platform world;
	struct model *model;
	struct model_stream *stream;
	char dir[SCRATCH_PATH_BYTES];
};

static void slow_open(struct slow *slow, const char *script, bool fake_time)
{
	struct buffer specification = BUFFER_INIT(2000);
	struct model_options options = MODEL_OPTIONS_INIT;
	struct model_request request = MODEL_REQUEST_INIT;
	scratch_make(slow->dir);
	scratch_write_text(slow->dir, "slow.jsonl", script);
	buffer_addf(&specification, "mock:%s", scratch_path(slow->dir, "slow.jsonl"));
	fail_platform_init(&slow->world);
	if (fake_time)
		fail_platform_set_time(&slow->world, 0, 0);
	options.platform = &slow->world.table;
	assert_int_equal(model_open(specification.data, &options, &slow->model, NULL), 0);
	buffer_release(&specification);
	request.body = SLICE_LITERAL(HI);
	assert_int_equal(model_send(slow->model, &request, &slow->stream, NULL), 0);
}

static void slow_close(struct slow *slow)
{
	model_stream_free(slow->stream);
	model_free(slow->model);
	scratch_remove(slow->dir);
}

static void next__waits_no_longer_than_asked(void **state)
{
	(void)state;
	struct slow slow;
	struct model_event event;
	slow_open(&slow, "{\"text\":\"ab\",\"chunks\":[1],\"delay_ms\":100,\"chunk_delay_ms\":25}", true);
	assert_int_equal(model_stream_fd(slow.stream), -1);
	assert_int_equal(model_stream_next(slow.stream, 0, &event), BOBBIN_ETIMEOUT);
	assert_int_equal(slow.world.monotonic_ns, 0);
	assert_int_equal(model_stream_next(slow.stream, 40, &event), BOBBIN_ETIMEOUT);
	assert_int_equal(slow.world.monotonic_ns, 40 * MS);
	assert_int_equal(model_stream_next(slow.stream, 1000, &event), 0);
	assert_int_equal(slow.world.monotonic_ns, 100 * MS);
	assert_true(slice_is(event.text, "a"));
	assert_int_equal(model_stream_next(slow.stream, 10, &event), BOBBIN_ETIMEOUT);
	assert_int_equal(slow.world.monotonic_ns, 110 * MS);
	assert_int_equal(model_stream_next(slow.stream, -1, &event), 0);
	assert_int_equal(slow.world.monotonic_ns, 125 * MS);
	assert_true(slice_is(event.text, "b"));
	slow_close(&slow);
}

static void cancel__before_the_first_event(void **state)
{
	(void)state;
	struct slow slow;
	struct asked asked;
	slow_open(&slow, "{\"text\":\"never seen\"}", true);
	model_stream_cancel(slow.stream);
	ask_begin(&asked);
	ask_pull(slow.stream, &asked);
	assert_string_equal(asked.kinds.data, "e");
	assert_int_equal(asked.failure, MODEL_FAILURE_CANCELLED);
	assert_int_equal(asked.code, BOBBIN_ECANCELLED);
	assert_false(asked.retry);
	asked_release(&asked);
	slow_close(&slow);
}

static void cancel__after_the_end_changes_nothing(void **state)
{
	(void)state;
	struct slow slow;
	struct asked asked;
	struct model_event event;
	slow_open(&slow, "{\"text\":\"all\"}", true);
	ask_begin(&asked);
	ask_pull(slow.stream, &asked);
	assert_true(asked.reply.done);
	model_stream_cancel(slow.stream);
	assert_int_equal(model_stream_next(slow.stream, 0, &event), BOBBIN_EINVAL);
	asked_release(&asked);
	slow_close(&slow);
}

static void *cancel_soon(void *stream)
{
	usleep(30000);
	model_stream_cancel(stream);
	return NULL;
}

static void cancel__from_another_thread_wakes_the_waiting_one(void **state)
{
	(void)state;
	struct slow slow;
	struct asked asked;
	pthread_t thread;
	slow_open(&slow, "{\"text\":\"Well\",\"hang\":true}", false);
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, slow.stream), 0);
	ask_begin(&asked);
	ask_pull(slow.stream, &asked); /* would hang for MODEL_IDLE_TIMEOUT_MS */
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(asked.kinds.data, "te");
	assert_int_equal(asked.failure, MODEL_FAILURE_CANCELLED);
	asked_release(&asked);
	slow_close(&slow);
}

static void stream__may_be_freed_before_its_end(void **state)
{
	(void)state;
	struct slow slow;
	struct model_event event;
	slow_open(&slow, "{\"text\":\"abcdef\",\"chunk_bytes\":1}", true);
	assert_int_equal(model_stream_next(slow.stream, 0, &event), 0);
	slow_close(&slow);
}

static void timeouts__largest_values_do_not_overflow(void **state)
{
	(void)state;
	struct model *model;
	struct model_stream *stream;
	struct model_event event;
	struct model_request request = MODEL_REQUEST_INIT;
	assert_int_equal(model_open("mock", NULL, &model, NULL), 0);
	request.body = SLICE_LITERAL(HI);
	request.timeout_ms = INT64_MAX;
	request.idle_timeout_ms = INT64_MAX;
	assert_int_equal(model_send(model, &request, &stream, NULL), 0);
	assert_int_equal(model_stream_next(stream, INT64_MAX, &event), 0);
	assert_int_equal(event.type, MODEL_EVENT_TEXT);
	model_stream_free(stream);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specification__wrong_ones_say_what_is_wrong),
		cmocka_unit_test(properties__from_the_mock_or_the_options),
		cmocka_unit_test(names__read_back),
		cmocka_unit_test(usage__totals_by_dialect),
		cmocka_unit_test(check__refused_body_gets_400_and_its_words),
		cmocka_unit_test(body_too_large__refused_before_it_is_looked_at),
		cmocka_unit_test(next__waits_no_longer_than_asked),
		cmocka_unit_test(cancel__before_the_first_event),
		cmocka_unit_test(cancel__after_the_end_changes_nothing),
		cmocka_unit_test(cancel__from_another_thread_wakes_the_waiting_one),
		cmocka_unit_test(stream__may_be_freed_before_its_end),
		cmocka_unit_test(timeouts__largest_values_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
