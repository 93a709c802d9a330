/* SPDX-License-Identifier: MIT */
/* Whole exchanges over HTTP with a server on the loopback interface that speaks the providers' streams by
 * hand-written scripts. Every error text is gathered, and none may hold the key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "model/model.h"
#include "server.h"
#include "stream.h"
#include "support/failure.h"

#define KEY "sk-test-0123456789abcdef"
#define BODY "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define CHUNKED_HEAD                                                                                         \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: "           \
	"chunked\r\n\r\n"
#define TEXT(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"
#define END "data: [DONE]\n\n"
#define ANSWER TEXT("Hel") TEXT("lo") FINISH USAGE END
#define ANSWER_EVENTS "text Hel\ntext lo\nusage 3 -1 -1 2\ndone stop stop\n"

static struct server *server;
static struct buffer errors = BUFFER_INIT(1u << 24); /* every error text of the run */

static size_t open_descriptors(void)
{
	size_t count = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

static int start(void **state)
{
	(void)state;
	setenv("OPENAI_API_KEY", KEY, 1);
	setenv("ANTHROPIC_API_KEY", KEY, 1);
	unsetenv("BOBBIN_BASE_URL");
	server = server_start();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	server_stop(server);
	buffer_release(&errors);
	return 0;
}

static struct model *open_model(const char *prefix)
{
	char specification[200];
	struct model *model = NULL;
	struct bobbin_error error;
	snprintf(specification, sizeof(specification), "%s@http://127.0.0.1:%d", prefix, server_port(server));
	int rc = model_open(specification, NULL, &model, &error);
	if (rc < 0)
		print_error("%s\n", error.message);
	assert_int_equal(rc, 0);
	return model;
}

/* Pulls to the end; adds the events as lines (stream.h). Gives the terminal event's error, if it is one. */
static void pull(struct model_stream *stream, struct buffer *out, struct model_event *ret_last)
{
	struct model_event event;
	do {
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
		stream_add_event(out, &event);
		if (event.type == MODEL_EVENT_ERROR)
			buffer_add_slice(&errors, event.error.message);
	} while (!model_event_is_terminal(&event));
	struct model_event after;
	assert_int_equal(model_stream_next(stream, 0, &after), BOBBIN_EINVAL);
	*ret_last = event;
}

struct limits {
	int64_t total_ms, idle_ms;
};

static struct model_event exchange_with(
	struct model *model, const char *body, struct limits limits, struct buffer *out)
{
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct model_event last;
	struct bobbin_error error;
	request.dialect = model_properties(model)->dialect;
	request.body = slice_of(body);
	request.timeout_ms = limits.total_ms ? limits.total_ms : 20000;
	request.idle_timeout_ms = limits.idle_ms ? limits.idle_ms : 10000;
	buffer_clear(out);
	assert_int_equal(model_send(model, &request, &stream, &error), 0);
	pull(stream, out, &last);
	last.error.message = last.text = last.stop_text = (struct slice){NULL, 0};
	model_stream_free(stream);
	return last;
}

/* One request to a chat model: the events must be these. */
static struct model_event assert_chat_with(
	const struct server_step *steps, struct limits limits, const char *expected)
{
	struct buffer out = BUFFER_INIT(1u << 24);
	struct model *model = open_model("openai:gpt-4o");
	server_play(server, steps);
	struct model_event last = exchange_with(model, BODY, limits, &out);
	/* The port is not known beforehand. */
	char place[40];
	snprintf(place, sizeof(place), "127.0.0.1:%d", server_port(server));
	struct buffer shown = BUFFER_INIT(1u << 24);
	for (const char *at = out.data; *at; at++) {
		bool here = strncmp(at, place, strlen(place)) == 0;
		buffer_add(&shown, here ? "HOST" : at, here ? 4 : 1);
		at += here ? strlen(place) - 1 : 0;
	}
	assert_string_equal(shown.data, expected);
	buffer_release(&shown);
	buffer_release(&out);
	model_free(model);
	return last;
}

static struct model_event assert_chat(const struct server_step *steps, const char *expected)
{
	return assert_chat_with(steps, (struct limits){0, 0}, expected);
}

#define PLAY(...) ((const struct server_step[]){__VA_ARGS__, {.kind = SERVER_CLOSE}})
#define SEND(words)                                                                                          \
	{                                                                                                    \
		.kind = SERVER_SEND, .text = (words)                                                         \
	}

static void assert_request_has(const char *words)
{
	char *request = server_request(server);
	if (!strstr(request, words))
		fail_msg("the request lacks \"%s\":\n%s", words, request);
	free(request);
}

static void assert_request_lacks(const char *words)
{
	char *request = server_request(server);
	if (strcasestr(request, words))
		fail_msg("the request has \"%s\":\n%s", words, request);
	free(request);
}

static void chat__the_request_and_the_answer(void **state)
{
	(void)state;
	assert_chat(PLAY(SEND(STREAM_HEAD ANSWER)), ANSWER_EVENTS);
	assert_request_has("POST /v1/chat/completions HTTP/1.1\r\n");
	assert_request_has("\r\nAuthorization: Bearer " KEY "\r\n");
	assert_request_has("\r\nContent-Type: application/json\r\n");
	assert_request_has("\r\nAccept: text/event-stream\r\n");
	assert_request_has("\r\nAccept-Encoding: gzip\r\n");
	assert_request_has("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
			   "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
	assert_request_lacks("\r\nExpect");
	assert_request_lacks("\r\nCookie");
}

static void chat__what_the_body_has_is_left_as_it_is(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model *model = open_model("openai:gpt-4o");
	static const char body[] =
		"{\"stream\":true,\"messages\":[ ],\"n\":1.0,\"stream_options\":{\"include_usage\":false}}";
	server_play(server, PLAY(SEND(STREAM_HEAD ANSWER)));
	exchange_with(model, body, (struct limits){0, 0}, &out);
	assert_request_has(
		"{\"stream\":true,\"messages\":[ ],\"n\":1.0,\"stream_options\":{\"include_usage\":false},"
		"\"model\":\"gpt-4o\"}");
	model_free(model);
	buffer_release(&out);
}

static void anthropic__the_request_and_a_call(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model *model = open_model("anthropic:claude-sonnet-4-5");
	assert_int_equal(model_properties(model)->window_tokens, 200000);
	assert_int_equal(model_properties(model)->output_tokens_max, 64000);
	assert_string_equal(model_properties(model)->name, "claude-sonnet-4-5");
	assert_string_equal(model_properties(model)->provider, "anthropic");
	server_play(server,
		PLAY(SEND(STREAM_HEAD "event: message_start\ndata: "
				      "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":"
				      "9,\"output_tokens\":1}}}\n\n"
				      "event: ping\ndata: {\"type\": \"ping\"}\n\n"
				      "event: content_block_start\ndata: "
				      "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
				      "\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"ls\",\"input\":{}}}\n\n"
				      "event: content_block_delta\ndata: "
				      "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
				      "\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n"
				      "event: content_block_stop\ndata: "
				      "{\"type\":\"content_block_stop\",\"index\":0}\n\n"
				      "event: message_delta\ndata: "
				      "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},"
				      "\"usage\":{\"output_tokens\":7}}\n\n"
				      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
			{.kind = SERVER_HOLD}));
	exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_string_equal(out.data, "call t ls {}\nusage 9 -1 -1 7\ndone tool_calls tool_use\n");
	assert_request_has("POST /v1/messages HTTP/1.1\r\n");
	assert_request_has("\r\nx-api-key: " KEY "\r\n");
	assert_request_has("\r\nanthropic-version: 2023-06-01\r\n");
	assert_request_lacks("Authorization");
	assert_request_has(",\"max_tokens\":64000,\"stream\":true}");
	model_free(model);
	buffer_release(&out);
}

static void responses__a_text(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model *model = open_model("openai-responses:gpt-5");
	server_play(server,
		PLAY(SEND(STREAM_HEAD
			"data: "
			"{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"hi\"}\n\n"
			"data: "
			"{\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":4,"
			"\"output_tokens\":1}}}\n\n")));
	exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_string_equal(out.data, "text hi\nusage 4 -1 -1 1\ndone stop completed\n");
	assert_request_has("POST /v1/responses HTTP/1.1\r\n");
	model_free(model);
	buffer_release(&out);
}

static void utf8__every_byte_in_a_packet_of_its_own(void **state)
{
	(void)state;
	assert_chat(PLAY(SEND(STREAM_HEAD), {.kind = SERVER_EACH, .text = TEXT("你好🇨🇳") FINISH END}),
		"text 你好🇨🇳\ndone stop stop\n");
}

static void chunked__pieces_do_not_follow_events(void **state)
{
	(void)state;
	/* The first piece ends inside of the first of three characters. */
	assert_chat(PLAY(SEND(CHUNKED_HEAD "29\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xE4\xBD"),
			    SEND("\r\ne\r\n\xA0\xE5\xA5\xBD\xE5\x90\x97\"}}]}\n\n\r\n"), SEND("0\r\n\r\n")),
		"text 你好吗\nerror cut_off 200 once the connection ended before the answer was finished\n");
}

/* A gzip file of one stored block. */
static size_t make_gzip(const char *text, char *out)
{
	size_t len = strlen(text);
	uint32_t crc = 0xFFFFFFFF;
	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)text[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	crc = ~crc;
	memcpy(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
	uint16_t size[] = {(uint16_t)len, (uint16_t)~len};
	uint32_t tail[] = {crc, (uint32_t)len};
	memcpy(out + 11, size, 4);
	memcpy(out + 15, text, len);
	memcpy(out + 15 + len, tail, 8);
	return len + 23;
}

static void g3__gzip_gives_the_same_events(void **state)
{
	(void)state;
	char zipped[4096];
	size_t len = make_gzip(ANSWER, zipped);
	for (size_t cut = 1; cut < len; cut += 37)
		assert_chat(PLAY(SEND("HTTP/1.1 200 OK\r\nContent-Type: "
				      "text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"),
				    {.kind = SERVER_SEND, .text = zipped, .len = cut},
				    {.kind = SERVER_SEND, .text = zipped + cut, .len = len - cut}),
			ANSWER_EVENTS);
}

static void cut__is_never_success(void **state)
{
	(void)state;
	assert_chat(PLAY(SEND(STREAM_HEAD TEXT("a"))),
		"text a\nerror cut_off 200 once the connection ended before the answer was finished\n");
	assert_chat(PLAY(SEND(STREAM_HEAD TEXT("a") "data: {\"choi")),
		"text a\nerror cut_off 200 once the answer was cut off in the middle of an event\n");
	assert_chat(PLAY(SEND(CHUNKED_HEAD "5\r\n: abc")),
		"error cut_off 200 once the connection to HOST broke in the middle of the answer\n");
	assert_chat(
		PLAY(SEND(STREAM_HEAD TEXT("a")), {.kind = SERVER_WAIT, .ms = 20}, {.kind = SERVER_RESET}),
		"text a\nerror cut_off 200 once the connection to HOST broke in the middle of the answer\n");
	assert_chat(PLAY(SEND(STREAM_HEAD)),
		"error cut_off 200 once the connection ended before the answer was finished\n");
	/* What was used is told also of an answer that failed. */
	assert_chat(PLAY(SEND(STREAM_HEAD TEXT("a") USAGE)),
		"text a\nusage 3 -1 -1 2\nerror cut_off 200 once the connection ended before the answer was "
		"finished\n");
	/* A whole answer stays whole, however the connection ends. */
	assert_chat(PLAY(SEND(STREAM_HEAD TEXT("a") FINISH), {.kind = SERVER_WAIT, .ms = 20},
			    {.kind = SERVER_RESET}),
		"text a\ndone stop stop\n");
}

static void whole__an_end_mark_that_never_comes_is_not_waited_for(void **state)
{
	(void)state;
	assert_chat(
		PLAY(SEND(STREAM_HEAD TEXT("a") FINISH), {.kind = SERVER_HOLD}), "text a\ndone stop stop\n");
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Not even as long as that, where the caller's own time ends before; and what was said is no failure then. */
static void whole__no_timer_of_the_callers_makes_it_a_failure(void **state)
{
	static const struct limits LIMITS[] = {{5000, 80}, {5000, 1000}, {90, 5000}, {1000, 1000}};
	(void)state;
	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		int64_t began = now_ms();
		assert_chat_with(PLAY(SEND(STREAM_HEAD TEXT("a") FINISH), {.kind = SERVER_HOLD}), LIMITS[i],
			"text a\ndone stop stop\n");
		assert_in_range(now_ms() - began, 80, 4000);
	}
}

#define REPLY(status, headers, body) SEND("HTTP/1.1 " status " X\r\n" headers "\r\n" body)

/* Case X33: 429 and 5xx may be tried again, other 4xx never. */
static void x33__statuses_say_whether_and_when_to_retry(void **state)
{
	(void)state;
	struct model_event last;
	last = assert_chat(
		PLAY(REPLY("429", "Retry-After: 2\r\n", "{\"error\":{\"message\":\"Rate limit reached\"}}")),
		"error rate 429 again HOST answered 429: Rate limit reached\n");
	assert_int_equal(last.error.retry_after_ms, 2000);
	last = assert_chat(PLAY(REPLY("429", "Retry-After: 7\r\nretry-after-ms: 1500.5\r\n", "")),
		"error rate 429 again HOST answered 429\n");
	assert_int_equal(last.error.retry_after_ms, 1500);
	last = assert_chat(PLAY(REPLY("503", "Retry-After: Fri, 04 Sep 2015 10:00:00 GMT\r\n", "busy\n")),
		"error server 503 again HOST answered 503: busy\n");
	assert_int_equal(last.error.retry_after_ms, 0);
	last = assert_chat(PLAY(REPLY("500", "X-Should-Retry: false\r\n", "{\"message\":\"broken\"}")),
		"error server 500 once HOST answered 500: broken\n");
	assert_int_equal(last.error.retry_after_ms, -1);
	assert_chat(PLAY(REPLY("529", "",
			    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
			    "\"Overloaded\"}}")),
		"error server 529 again HOST answered 529: Overloaded\n");
	assert_chat(PLAY(REPLY("429", "",
			    "{\"error\":{\"message\":\"You exceeded your current "
			    "quota\",\"code\":\"insufficient_quota\"}}")),
		"error rate 429 once HOST answered 429: You exceeded your current quota\n");
	assert_chat(PLAY(REPLY("400", "", "{\"error\":{\"message\":\"bad field\"}}")),
		"error request 400 once HOST answered 400: bad field\n");
	assert_chat(PLAY(REPLY("404", "", "{\"error\":\"model not found\"}")),
		"error request 404 once HOST answered 404: model not found\n");
	assert_chat(PLAY(REPLY("422", "", "{\"detail\":[{\"msg\":\"x\"}]}")),
		"error request 422 once HOST answered 422\n");
	assert_chat(PLAY(REPLY("409", "", "{\"message\":\"busy\"}")),
		"error request 409 again HOST answered 409: busy\n");
	assert_chat(PLAY(REPLY("400", "X-Should-Retry: true\r\n", "")),
		"error request 400 again HOST answered 400\n");
}

static void overflow__in_the_words_of_several_providers(void **state)
{
	(void)state;
	assert_chat(PLAY(REPLY("400", "",
			    "{\"error\":{\"message\":\"This model's maximum context length is 8 "
			    "tokens.\",\"code\":\"context_length_exceeded\"}}")),
		"error overflow 400 once HOST answered 400: This model's maximum context length is 8 "
		"tokens.\n");
	assert_chat(PLAY(REPLY("400", "",
			    "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
			    "\"prompt is too long: 9 tokens > 8 maximum\"}}")),
		"error overflow 400 once HOST answered 400: prompt is too long: 9 tokens > 8 maximum\n");
	assert_chat(PLAY(REPLY("400", "",
			    "{\"error\":{\"message\":\"the request exceeds the available context "
			    "size\",\"type\":\"exceed_context_size_error\"}}")),
		"error overflow 400 once HOST answered 400: the request exceeds the available context "
		"size\n");
	assert_chat(PLAY(REPLY("413", "", "<html>too large</html>")),
		"error overflow 413 once HOST answered 413 with a web page instead of an answer of the "
		"interface\n");
	assert_chat(PLAY(REPLY("429", "",
			    "{\"error\":{\"message\":\"Request too large for gpt-4o on tokens per "
			    "min\",\"code\":\"rate_limit_exceeded\"}}")),
		"error overflow 429 once HOST answered 429: Request too large for gpt-4o on tokens per "
		"min\n");
}

static void pages__are_never_quoted(void **state)
{
	(void)state;
	assert_chat(PLAY(REPLY("502", "Content-Type: text/html\r\n", "\r\n <html><h1>Bad Gateway</h1>")),
		"error server 502 again HOST answered 502 with a web page instead of an answer of the "
		"interface\n");
	assert_chat(PLAY(REPLY("200", "Content-Type: text/html\r\n", "<html>log in</html>")),
		"error protocol 200 once HOST answered with something else than a stream of events\n");
	assert_chat(PLAY(REPLY("200", "Content-Type: application/json\r\n", "{\"choices\":[]}")),
		"error protocol 200 once HOST answered with something else than a stream of events\n");
	assert_chat(PLAY(REPLY("200", "Content-Type: application/json\r\n",
			    "{\"error\":{\"message\":\"no\",\"code\":400}}")),
		"error request 200 once HOST reported an error: no\n");
	assert_chat(PLAY(REPLY("301", "Location: http://127.0.0.1:1/\r\n", "")),
		"error request 301 once HOST answered with a redirect, and those are not followed: the base "
		"address must be the final one\n");
	/* A stream that does not say that it is one. */
	assert_chat(PLAY(REPLY("200", "Content-Type: application/octet-stream\r\n", ANSWER)), ANSWER_EVENTS);
	/* Control characters and length. */
	assert_chat(PLAY(REPLY("500", "", "a\\x1b[31m\x1b\x01\xff")),
		"error server 500 again HOST answered 500: a\\x1b[31m  \xEF\xBF\xBD\n");
	static char page[100100];
	memset(page, 'y', sizeof(page));
	memcpy(page, "HTTP/1.1 500 X\r\n\r\n", 18);
	page[sizeof(page) - 1] = '\0';
	char expected[400] = "error server 500 again HOST answered 500: ";
	size_t len = strlen(expected);
	memset(expected + len, 'y', 300);
	memcpy(expected + len + 300, "…\n", 5);
	assert_chat(PLAY(SEND(page), {.kind = SERVER_HOLD}), expected);
}

static void key__is_in_no_error_text(void **state)
{
	(void)state;
	assert_chat(
		PLAY(REPLY("401", "", "{\"error\":{\"message\":\"Incorrect key: " KEY ", or " KEY "?\"}}")),
		"error auth 401 once HOST answered 401: Incorrect key: [key], or [key]?\n");
	assert_chat(PLAY(REPLY("403", "", "no entry for Bearer " KEY)),
		"error auth 403 once HOST answered 403: no entry for Bearer [key]\n");
	assert_chat(PLAY(SEND(STREAM_HEAD "data: {\"error\":{\"message\":\"key " KEY
					  " expired\",\"code\":401}}\n\n")),
		"error auth 200 once HOST reported an error: key [key] expired\n");
	unsetenv("OPENAI_API_KEY");
	assert_chat(PLAY(REPLY("401", "", "{}")),
		"error auth 401 once HOST answered 401 (OPENAI_API_KEY is not set)\n");
	assert_request_lacks("Authorization");
	setenv("OPENAI_API_KEY", KEY, 1);
}

/* Case X33: nothing that was not carried out for certain is tried again. */
static void x33__connections_that_fail(void **state)
{
	(void)state;
	assert_chat(PLAY({.kind = SERVER_CLOSE}),
		"error server 0 once HOST closed the connection without an answer\n");
	assert_chat(PLAY({.kind = SERVER_RESET}),
		"error server 0 once the connection to HOST broke before an answer came\n");
	struct buffer out = BUFFER_INIT(1u << 20), body = BUFFER_INIT(1u << 26);
	struct model *model;
	struct bobbin_error error;
	/* Reset while a large body was still being sent. */
	buffer_add_text(&body, "{\"x\":\"");
	for (int i = 0; i < 1 << 18; i++)
		buffer_add_text(&body, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	buffer_add_text(&body, "\"}");
	model = open_model("openai:m");
	server_play(server, PLAY({.kind = SERVER_RESET, .unread = 1}));
	struct model_event last = exchange_with(model, body.data, (struct limits){0, 0}, &out);
	assert_true(last.error.retry);
	assert_int_equal(last.error.failure, MODEL_FAILURE_SERVER);
	model_free(model);
	buffer_release(&body);
	/* Nobody listens: port 1 of the loopback interface. */
	assert_int_equal(model_open("openai:m@http://127.0.0.1:1", NULL, &model, &error), 0);
	exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_string_equal(out.data,
		"error server 0 again 127.0.0.1:1 refuses the connection: is the server running?\n");
	model_free(model);
	/* A label of 64 letters: no name server is asked for it. */
	assert_int_equal(
		model_open("openai:m@https://"
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid",
			NULL, &model, &error),
		0);
	exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_non_null(strstr(out.data, "error server 0 again the name aaa"));
	model_free(model);
	buffer_release(&out);
}

static void tls__a_server_without_it_gets_no_key(void **state)
{
	(void)state;
	char specification[100];
	struct model *model;
	struct bobbin_error error;
	struct buffer out = BUFFER_INIT(1u << 20);
	snprintf(specification, sizeof(specification), "openai:m@https://127.0.0.1:%d", server_port(server));
	assert_int_equal(model_open(specification, NULL, &model, &error), 0);
	server_play(server, PLAY({.kind = SERVER_SEND, .text = "HTTP/1.1 400 X\r\n\r\n", .unread = 1},
				    {.kind = SERVER_HOLD}));
	struct model_event last = exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_int_equal(last.error.failure, MODEL_FAILURE_SERVER);
	assert_false(last.error.retry);
	assert_non_null(strstr(out.data, "does it speak https?"));
	model_free(model);
	buffer_release(&out);
}

static void protocol__what_is_no_http(void **state)
{
	(void)state;
	struct model_event last = assert_chat(PLAY(SEND("SSH-2.0-OpenSSH_9.2\r\n"), {.kind = SERVER_HOLD}),
		"error protocol 0 once what answers at HOST does not speak HTTP\n");
	assert_int_equal(last.error.code, BOBBIN_EPROVIDER);
	assert_chat(PLAY(SEND(STREAM_HEAD "data: nonsense\n\n"), {.kind = SERVER_HOLD}),
		"error protocol 200 once the provider sent an event that is not a JSON object\n");
}

/* Case G3: the endless line. */
static void g3__endless_line_ends_at_the_limit(void **state)
{
	(void)state;
	static char flood[65537];
	memset(flood, 'z', sizeof(flood) - 1);
	assert_chat(PLAY(SEND(STREAM_HEAD TEXT("a") "data: "), {.kind = SERVER_FLOOD, .text = flood}),
		"text a\nerror protocol 200 once the provider sent a line or an event of more than 16 MiB\n");
}

static void silence__ends_by_the_timers(void **state)
{
	(void)state;
	int64_t began = now_ms();
	struct model_event last = assert_chat_with(PLAY({.kind = SERVER_HOLD}), (struct limits){5000, 80},
		"error timeout 0 once the model fell silent\n");
	assert_int_equal(last.error.code, BOBBIN_ETIMEOUT);
	assert_in_range(now_ms() - began, 80, 2000);
	began = now_ms();
	assert_chat_with(PLAY(SEND(STREAM_HEAD TEXT("a")), {.kind = SERVER_HOLD}), (struct limits){90, 5000},
		"text a\nerror timeout 0 once the answer was not finished in the time allowed\n");
	assert_in_range(now_ms() - began, 90, 2000);
}

static void silence__pieces_that_make_no_event_are_not_silence(void **state)
{
	(void)state;
#define PIECE                                                                                                \
	SEND("data: "                                                                                        \
	     "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":"   \
	     "\"f\","                                                                                        \
	     "\"arguments\":\" \"}}]}}]}\n\n"),                                                              \
		{.kind = SERVER_WAIT, .ms = 100}
	assert_chat_with(PLAY(SEND(STREAM_HEAD), PIECE, PIECE, PIECE, PIECE, SEND(": ping\n\n"),
				 {.kind = SERVER_WAIT, .ms = 100}, SEND(FINISH END)),
		(struct limits){5000, 300}, "call c f     \ndone tool_calls stop\n");
}

static void *cancel_later(void *context)
{
	nanosleep(&(struct timespec){0, 30000000}, NULL);
	model_stream_cancel(context);
	return NULL;
}

static void cancel__from_another_thread_within_20_ms(void **state)
{
	(void)state;
	int64_t best = INT64_MAX;
	struct model *model = open_model("openai:m");
	server_play(server, PLAY(SEND(STREAM_HEAD), {.kind = SERVER_HOLD}));
	for (int attempt = 0; attempt < 5 && best > 50; attempt++) {
		struct model_request request = MODEL_REQUEST_INIT;
		struct model_stream *stream;
		struct model_event event;
		pthread_t thread;
		request.body = slice_of(BODY);
		assert_int_equal(model_send(model, &request, &stream, NULL), 0);
		assert_int_equal(model_stream_next(stream, 5, &event), BOBBIN_ETIMEOUT);
		int64_t began = now_ms();
		assert_int_equal(pthread_create(&thread, NULL, cancel_later, stream), 0);
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
		int64_t took = now_ms() - began;
		best = took < best ? took : best;
		pthread_join(thread, NULL);
		assert_int_equal(event.type, MODEL_EVENT_ERROR);
		assert_int_equal(event.error.failure, MODEL_FAILURE_CANCELLED);
		model_stream_free(stream);
	}
	assert_in_range(best, 30, 50);
	model_free(model);
}

/* Pulls only when the descriptor says so. Gives how often it was pulled. */
static size_t pull_by_descriptor(struct model_stream *stream, struct buffer *out)
{
	struct model_event event = {.type = MODEL_EVENT_TEXT};
	size_t pulls = 0;
	do {
		int rc = model_stream_next(stream, 0, &event);
		pulls++;
		if (rc == BOBBIN_ETIMEOUT) {
			struct pollfd entry = {.fd = model_stream_fd(stream), .events = POLLIN};
			assert_true(entry.fd >= 0);
			assert_int_equal(poll(&entry, 1, 5000), 1);
			continue;
		}
		assert_int_equal(rc, 0);
		stream_add_event(out, &event);
	} while (!model_event_is_terminal(&event));
	return pulls;
}

static void descriptor__tells_when_to_pull(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model_stream *stream;
	struct model *model = open_model("openai:m");
	struct model_request request = MODEL_REQUEST_INIT;
	request.body = slice_of(BODY);
	server_play(server, PLAY({.kind = SERVER_WAIT, .ms = 100}, SEND(STREAM_HEAD TEXT("a")),
				    {.kind = SERVER_WAIT, .ms = 100}, SEND(FINISH END)));
	assert_int_equal(model_send(model, &request, &stream, NULL), 0);
	/* Nobody is kept awake by a socket that can always be written. */
	assert_in_range(pull_by_descriptor(stream, &out), 3, 40);
	assert_string_equal(out.data, "text a\ndone stop stop\n");
	model_stream_free(stream);
	/* A cancel is told as well. */
	pthread_t thread;
	server_play(server, PLAY({.kind = SERVER_HOLD}));
	assert_int_equal(model_send(model, &request, &stream, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancel_later, stream), 0);
	buffer_clear(&out);
	pull_by_descriptor(stream, &out);
	pthread_join(thread, NULL);
	assert_string_equal(out.data, "error cancelled 0 once the request was cancelled\n");
	model_stream_free(stream);
	model_free(model);
	buffer_release(&out);
}

static void send__bodies_that_are_no_object_are_not_sent(void **state)
{
	(void)state;
	struct model *model = open_model("openai:m");
	struct model_stream *stream;
	struct bobbin_error error;
	struct model_request request = MODEL_REQUEST_INIT;
	size_t before = server_connections(server);
	request.body = slice_of("[1]");
	assert_int_equal(model_send(model, &request, &stream, &error), BOBBIN_EINPUT);
	request.body = slice_of("{");
	assert_int_equal(model_send(model, &request, &stream, &error), BOBBIN_EINPUT);
	request.dialect = MODEL_ANTHROPIC;
	assert_int_equal(model_send(model, &request, &stream, &error), BOBBIN_EUNSUPPORTED);
	assert_int_equal(server_connections(server), before);
	model_free(model);
}

static void streams__two_at_once_and_one_given_up(void **state)
{
	(void)state;
	struct model *model = open_model("openai:m");
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_stream *first, *second;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model_event last;
	request.body = slice_of(BODY);
	server_play(server, PLAY(SEND(STREAM_HEAD ANSWER)));
	assert_int_equal(model_send(model, &request, &first, NULL), 0);
	assert_int_equal(model_send(model, &request, &second, NULL), 0);
	pull(second, &out, &last);
	assert_string_equal(out.data, ANSWER_EVENTS);
	model_stream_free(first);
	model_stream_free(second);
	model_free(model);
	buffer_release(&out);
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	server_play(server, PLAY(SEND(STREAM_HEAD ANSWER)));
	struct model *warm = open_model("openai:m");
	model_free(warm);
	for (uint64_t nth = 1;; nth++) {
		char specification[100];
		struct model *model = NULL;
		struct model_stream *stream = NULL;
		struct model_request request = MODEL_REQUEST_INIT;
		struct model_event event = {.type = MODEL_EVENT_DONE};
		request.body = slice_of(BODY);
		snprintf(specification, sizeof(specification), "openai:m@http://127.0.0.1:%d",
			server_port(server));
		fail_alloc_start(nth);
		int rc = model_open(specification, NULL, &model, NULL);
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

static void descriptors__none_is_left_open(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1u << 20);
	struct model *model = open_model("openai:m");
	server_play(server, PLAY(SEND(STREAM_HEAD ANSWER)));
	exchange_with(model, BODY, (struct limits){0, 0}, &out);
	size_t before = open_descriptors();
	for (int i = 0; i < 20; i++)
		exchange_with(model, BODY, (struct limits){0, 0}, &out);
	assert_in_range(
		open_descriptors(), before - 1, before + 1); /* the server's own connection comes and goes */
	model_free(model);
	buffer_release(&out);
}

static void key__was_in_none_of_all_these_errors(void **state)
{
	(void)state;
	assert_true(errors.len > 1000);
	assert_null(strstr(errors.data, KEY));
	assert_null(strstr(errors.data, "Bearer sk-"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat__the_request_and_the_answer),
		cmocka_unit_test(chat__what_the_body_has_is_left_as_it_is),
		cmocka_unit_test(anthropic__the_request_and_a_call),
		cmocka_unit_test(responses__a_text),
		cmocka_unit_test(utf8__every_byte_in_a_packet_of_its_own),
		cmocka_unit_test(chunked__pieces_do_not_follow_events),
		cmocka_unit_test(g3__gzip_gives_the_same_events),
		cmocka_unit_test(cut__is_never_success),
		cmocka_unit_test(whole__an_end_mark_that_never_comes_is_not_waited_for),
		cmocka_unit_test(whole__no_timer_of_the_callers_makes_it_a_failure),
		cmocka_unit_test(x33__statuses_say_whether_and_when_to_retry),
		cmocka_unit_test(overflow__in_the_words_of_several_providers),
		cmocka_unit_test(pages__are_never_quoted),
		cmocka_unit_test(key__is_in_no_error_text),
		cmocka_unit_test(x33__connections_that_fail),
		cmocka_unit_test(tls__a_server_without_it_gets_no_key),
		cmocka_unit_test(protocol__what_is_no_http),
		cmocka_unit_test(g3__endless_line_ends_at_the_limit),
		cmocka_unit_test(silence__ends_by_the_timers),
		cmocka_unit_test(silence__pieces_that_make_no_event_are_not_silence),
		cmocka_unit_test(cancel__from_another_thread_within_20_ms),
		cmocka_unit_test(descriptor__tells_when_to_pull),
		cmocka_unit_test(send__bodies_that_are_no_object_are_not_sent),
		cmocka_unit_test(streams__two_at_once_and_one_given_up),
		cmocka_unit_test(memory__every_allocation_failing),
		cmocka_unit_test(descriptors__none_is_left_open),
		cmocka_unit_test(key__was_in_none_of_all_these_errors),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
