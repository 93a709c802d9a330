/* SPDX-License-Identifier: MIT */
/* Recordings: made from a server on loopback, and played back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "model/model.h"
#include "server.h"
#include "stream.h"
#include "support/failure.h"
#include "support/scratch.h"

#define KEY "sk-test-0123456789abcdef"
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define TEXT(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
#define PLAY(...) ((const struct server_step[]){__VA_ARGS__, {.kind = SERVER_CLOSE}})
#define SEND(words)                                                                                          \
	{                                                                                                    \
		.kind = SERVER_SEND, .text = (words)                                                         \
	}

struct scene {
	char dir[SCRATCH_PATH_BYTES];
	struct server *server;
};

static int start(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	setenv("OPENAI_API_KEY", KEY, 1);
	unsetenv("BOBBIN_BASE_URL");
	scratch_make(scene->dir);
	scene->server = server_start();
	*state = scene;
	return 0;
}

static int stop(void **state)
{
	struct scene *scene = *state;
	server_stop(scene->server);
	scratch_remove(scene->dir);
	free(scene);
	return 0;
}

static struct model *open_record(struct scene *scene, const struct platform *platform)
{
	char specification[SCRATCH_PATH_BYTES + 100];
	struct model_options options = MODEL_OPTIONS_INIT;
	struct model *model = NULL;
	options.platform = platform;
	snprintf(specification, sizeof(specification), "record:%s:openai:gpt-4o@http://127.0.0.1:%d",
		scratch_path(scene->dir, "tape"), server_port(scene->server));
	assert_int_equal(model_open(specification, &options, &model, NULL), 0);
	return model;
}

static int open_replay(struct scene *scene, struct model **ret_model, struct bobbin_error *error)
{
	char specification[SCRATCH_PATH_BYTES + 100];
	snprintf(specification, sizeof(specification), "replay:%s", scratch_path(scene->dir, "tape"));
	return model_open(specification, NULL, ret_model, error);
}

/* The events of one exchange, to be compared; cleared first. */
static void exchange(struct model *model, const char *body, struct buffer *out)
{
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct model_event event;
	request.dialect = model_properties(model)->dialect;
	request.body = slice_of(body);
	buffer_clear(out);
	assert_int_equal(model_send(model, &request, &stream, NULL), 0);
	do {
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
		stream_add_event(out, &event);
	} while (!model_event_is_terminal(&event));
	model_stream_free(stream);
}

static void assert_exchange(struct model *model, const char *body, const char *expected)
{
	struct buffer out = BUFFER_INIT(1u << 20);
	exchange(model, body, &out);
	assert_string_equal(out.data, expected);
	buffer_release(&out);
}

/* Two bodies, answered "one" and, with its bytes cut inside a character, "两". */
static void record_two(struct scene *scene)
{
	struct model *model = open_record(scene, NULL);
	server_play(scene->server, PLAY(SEND(HEAD TEXT("one") FINISH)));
	assert_exchange(model, "{\"a\":1}", "text one\ndone stop stop\n");
	server_play(scene->server, PLAY(SEND(HEAD "data: {\"choices\":[{\"delta\":{\"content\":\"\xE4\xB8"),
					   {.kind = SERVER_WAIT, .ms = 30}, SEND("\xA4\"}}]}\n\n" FINISH)));
	assert_exchange(model, "{\"a\":2}", "text 两\ndone stop stop\n");
	model_free(model);
}

static void played__is_what_was_recorded(void **state)
{
	struct scene *scene = *state;
	struct model *model;
	record_two(scene);
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	assert_string_equal(model_properties(model)->name, "gpt-4o");
	assert_string_equal(model_properties(model)->provider, "openai");
	assert_int_equal(model_properties(model)->window_tokens, 128000);
	assert_int_equal(model_properties(model)->output_tokens_max, 16384);
	assert_exchange(model, "{\"a\":1}", "text one\ndone stop stop\n");
	assert_exchange(model, "{\"a\":2}", "text 两\ndone stop stop\n");
	assert_exchange(model, "{\"a\":2}",
		"error request 0 once the recording has no answer left for this request\n");
	model_free(model);
}

static void played__by_digest_whatever_the_order_else_in_order(void **state)
{
	struct scene *scene = *state;
	struct model *model;
	record_two(scene);
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	assert_exchange(model, "{\"a\":2}", "text 两\ndone stop stop\n");
	assert_exchange(model, "{\"a\":1}", "text one\ndone stop stop\n");
	model_free(model);
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	assert_exchange(model, "{\"a\":3}", "text one\ndone stop stop\n");
	assert_exchange(model, "{\"a\":4}", "text 两\ndone stop stop\n");
	model_free(model);
}

static void file__has_the_bytes_of_the_answer_and_nothing_of_the_request(void **state)
{
	struct scene *scene = *state;
	struct stat status;
	size_t len;
	record_two(scene);
	char *text = scratch_read(scene->dir, "tape", &len);
	assert_non_null(strstr(text, "{\"type\":\"tape\",\"v\":1,\"name\":\"gpt-4o\",\"provider\":\"openai\","
				     "\"dialect\":\"openai-chat\",\"window\":128000,\"output\":16384}\n"));
	/* What came cut inside a character is written as digits: "…\xE4\xB8", then "\xA4…". */
	assert_non_null(strstr(text, "{\"type\":\"body\",\"hex\":\"64617461"));
	assert_non_null(strstr(text, "e4b8\"}\n"));
	assert_non_null(strstr(text, "{\"type\":\"body\",\"hex\":\"a4227d"));
	assert_null(strstr(text, "{\\\"a\\\""));
	assert_null(strstr(text, "Authorization"));
	assert_null(strstr(text, KEY));
	free(text);
	assert_int_equal(stat(scratch_path(scene->dir, "tape"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void failures__are_played_as_they_were(void **state)
{
	struct scene *scene = *state;
	static const char *const expected[] = {
		"error rate 429 again the provider answered 429: slow\n",
		"error auth 401 once the provider answered 401: bad key [key]\n",
		"text a\nerror cut_off 200 once ",
	};
	static const struct server_step slow[] = {
		SEND("HTTP/1.1 429 X\r\nRetry-After: 3\r\n\r\n{\"message\":\"slow\"}"),
		{.kind = SERVER_CLOSE}};
	static const struct server_step bad[] = {
		SEND("HTTP/1.1 401 X\r\n\r\nbad key " KEY), {.kind = SERVER_CLOSE}};
	static const struct server_step reset[] = {
		SEND(HEAD TEXT("a")), {.kind = SERVER_WAIT, .ms = 30}, {.kind = SERVER_RESET}};
	const struct server_step *const plays[] = {slow, bad, reset};
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model *model = open_record(scene, NULL);
	for (size_t i = 0; i < 3; i++) {
		server_play(scene->server, plays[i]);
		exchange(model, "{}", &out);
	}
	model_free(model);
	char *text = scratch_read(scene->dir, "tape", NULL);
	assert_null(strstr(text, KEY));
	assert_non_null(strstr(
		text, "{\"type\":\"head\",\"status\":429,\"stream\":false,\"retry_after_ms\":3000}\n"));
	free(text);
	unsetenv("OPENAI_API_KEY"); /* playing needs none */
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		exchange(model, "{}", &out);
		assert_memory_equal(out.data, expected[i], strlen(expected[i]));
	}
	assert_non_null(strstr(out.data, "broke in the middle of the answer"));
	model_free(model);
	buffer_release(&out);
}

static void runs__append_to_one_file(void **state)
{
	struct scene *scene = *state;
	struct model *model;
	record_two(scene);
	record_two(scene);
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_exchange(model, "{\"a\":2}", "text 两\ndone stop stop\n");
	for (int i = 0; i < 2; i++)
		assert_exchange(model, "{\"a\":1}", "text one\ndone stop stop\n");
	model_free(model);
}

#define START                                                                                                \
	"{\"type\":\"tape\",\"v\":1,\"name\":\"m\",\"provider\":\"p\",\"dialect\":\"anthropic\",\"window\":" \
	"9,\"output\":2}\n"

static void assert_bad(struct scene *scene, const char *text, int code, uint64_t line)
{
	struct model *model = NULL;
	struct bobbin_error error = {0};
	scratch_write_text(scene->dir, "tape", text);
	assert_int_equal(open_replay(scene, &model, &error), code);
	assert_int_equal(error.line, line);
	assert_null(model);
}

static void files__that_are_no_recordings(void **state)
{
	struct scene *scene = *state;
	struct model *model = NULL;
	assert_int_equal(open_replay(scene, &model, NULL), BOBBIN_ENOTFOUND);
	assert_bad(scene, "", BOBBIN_EINPUT, 1);
	assert_bad(scene, "hello\n", BOBBIN_EINPUT, 1);
	assert_bad(scene, "{\"type\":\"request\"}\n", BOBBIN_EINPUT, 1);
	assert_bad(scene, "{\"type\":\"tape\",\"v\":2}\n", BOBBIN_EINPUT, 1);
	assert_bad(scene, START "\n{\"type\":\"body\",\"text\":\"x\"}\n", BOBBIN_EINPUT, 3);
	assert_bad(scene, START "{\"type\":\"request\"}\n{\"type\":\"body\",\"hex\":\"0g\"}\n", BOBBIN_EINPUT,
		3);
	assert_bad(scene, START "{\"type\":\"request\"}\n{\"type\":\"body\",\"hex\":\"012\"}\n",
		BOBBIN_EINPUT, 3);
	assert_bad(scene, START "{\"type\":\"request\"}\n{\"type\":\"failed\",\"failure\":\"x\"}\n",
		BOBBIN_EINPUT, 3);
	assert_bad(scene, START "{\"type\":\"request\"}\n{\"type\":\"head\"}\n{}\n", BOBBIN_EINPUT, 3);
}

static void torn__the_answer_plays_as_cut_off(void **state)
{
	struct scene *scene = *state;
	struct model *model;
	scratch_write_text(scene->dir, "tape",
		START
		"{\"type\":\"request\"}\n{\"type\":\"head\",\"status\":200,\"stream\":true}\n{\"type\":\"bo");
	assert_int_equal(open_replay(scene, &model, NULL), 0);
	assert_exchange(
		model, "{}", "error cut_off 200 once the recording ends in the middle of the answer\n");
	model_free(model);
}

/* A recording with a hole would be worse than none. */
static void full__what_cannot_be_recorded_is_a_failure(void **state)
{
	struct scene *scene = *state;
	struct fail_platform world;
	struct bobbin_error error;
	struct model_stream *stream;
	struct model_request request = MODEL_REQUEST_INIT;
	fail_platform_init(&world);
	server_play(scene->server, PLAY(SEND(HEAD TEXT("one") FINISH)));
	struct model *model = open_record(scene, &world.table);
	fail_platform_plan(&world, CALL_WRITE, 1, ENOSPC);
	request.body = slice_of("{}");
	assert_int_equal(model_send(model, &request, &stream, &error), BOBBIN_ENOSPC);
	fail_platform_plan(&world, CALL_WRITE, 2, ENOSPC);
	struct buffer out = BUFFER_INIT(1u << 20);
	exchange(model, "{}", &out);
	assert_non_null(strstr(out.data, "error protocol 0 once the answer cannot be recorded: "));
	fail_platform_plan_short(&world, 3, 4, 0);
	exchange(model, "{}", &out);
	assert_non_null(strstr(out.data, "error protocol 200 once the answer cannot be recorded: "));
	model_free(model);
	assert_int_equal(world.open_files, 0);
	buffer_release(&out);
}

static void memory__every_allocation_failing(void **state)
{
	struct scene *scene = *state;
	record_two(scene);
	for (uint64_t nth = 1;; nth++) {
		struct model *model = NULL;
		struct model_stream *stream = NULL;
		struct model_request request = MODEL_REQUEST_INIT;
		struct model_event event = {.type = MODEL_EVENT_DONE};
		request.body = slice_of("{\"a\":2}");
		fail_alloc_start(nth);
		int rc = open_replay(scene, &model, NULL);
		if (rc == 0)
			rc = model_send(model, &request, &stream, NULL);
		while (rc == 0 && (rc = model_stream_next(stream, -1, &event)) == 0 &&
			!model_event_is_terminal(&event))
			;
		if (rc == 0 && event.type == MODEL_EVENT_ERROR)
			rc = event.error.code;
		model_stream_free(stream);
		model_free(model);
		if (failure_were_all_tried(rc))
			break;
	}
}

static void memory__every_allocation_failing_while_recording(void **state)
{
	struct scene *scene = *state;
	server_play(scene->server, PLAY(SEND("HTTP/1.1 401 X\r\n\r\nbad key " KEY)));
	model_free(open_record(scene, NULL));
	char specification[SCRATCH_PATH_BYTES + 100];
	snprintf(specification, sizeof(specification), "record:%s:openai:gpt-4o@http://127.0.0.1:%d",
		scratch_path(scene->dir, "tape"), server_port(scene->server));
	for (uint64_t nth = 1;; nth++) {
		struct model *model = NULL;
		struct model_stream *stream = NULL;
		struct model_request request = MODEL_REQUEST_INIT;
		struct model_event event = {.type = MODEL_EVENT_DONE};
		request.body = slice_of("{}");
		fail_alloc_start(nth);
		int rc = model_open(specification, NULL, &model, NULL);
		if (rc == 0)
			rc = model_send(model, &request, &stream, NULL);
		if (rc == 0)
			rc = model_stream_next(stream, -1, &event);
		if (rc == 0)
			rc = event.error.code;
		model_stream_free(stream);
		model_free(model);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		assert_int_equal(rc, report.failed ? BOBBIN_ENOMEM : BOBBIN_EPROVIDER);
		if (!report.failed)
			break;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(played__is_what_was_recorded),
		TEST(played__by_digest_whatever_the_order_else_in_order),
		TEST(file__has_the_bytes_of_the_answer_and_nothing_of_the_request),
		TEST(failures__are_played_as_they_were),
		TEST(runs__append_to_one_file),
		TEST(files__that_are_no_recordings),
		TEST(torn__the_answer_plays_as_cut_off),
		TEST(full__what_cannot_be_recorded_is_a_failure),
		TEST(memory__every_allocation_failing),
		TEST(memory__every_allocation_failing_while_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
