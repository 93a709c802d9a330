/* SPDX-License-Identifier: MIT */
/* Everything a script can make the mock do, and what a bad script is answered with. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ask.h"
#include "model/script.h"
#include "support/fail.h"
#include "support/scratch.h"

#define HI "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"input\":\"hi\"}" /* in all dialects */
#define MS INT64_C(1000000)

static char dir[SCRATCH_PATH_BYTES];
static struct fail_platform world; /* its clock moves only when somebody sleeps */

static int make_dir(void **state)
{
	(void)state;
	scratch_make(dir);
	fail_platform_init(&world);
	fail_platform_set_time(&world, 0, 0);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static int open_script(const char *text, struct model **ret_model, struct bobbin_error *error)
{
	struct buffer specification = BUFFER_INIT(2000);
	struct model_options options = MODEL_OPTIONS_INIT;
	options.platform = &world.table;
	scratch_write_text(dir, "script.jsonl", text);
	buffer_addf(&specification, "mock:%s", scratch_path(dir, "script.jsonl"));
	int rc = model_open(specification.data, &options, ret_model, error);
	buffer_release(&specification);
	return rc;
}

static struct model *scripted(const char *text)
{
	struct model *model = NULL;
	struct bobbin_error error = {0};
	if (open_script(text, &model, &error) < 0)
		fail_msg("%s", error.message);
	return model;
}

/* One answer of a fresh model with this script. */
static void ask_script(const char *script, enum model_dialect dialect, struct asked *ret_asked)
{
	struct model *model = scripted(script);
	ask(model, dialect, HI, ret_asked);
	model_free(model);
}

static void steps__in_order_then_the_mocks_own_answer(void **state)
{
	(void)state;
	struct model *model = scripted("{\"text\":\"one\"}\n\n{\"text\":\"two\",\"times\":2}\n");
	assert_string_equal(say(model, "hi", NULL), "one");
	assert_string_equal(say(model, "hi", NULL), "two");
	assert_string_equal(say(model, "hi", NULL), "two");
	assert_string_equal(say(model, "My name is Ana.", NULL), "Noted: your name is Ana.");
	model_free(model);
}

static void match__before_the_order_and_as_often_as_wanted(void **state)
{
	(void)state;
	struct model *model = scripted("[{\"text\":\"first\"},{\"match\":\"rain\",\"text\":\"wet\"},"
				       "{\"match\":\"once\",\"times\":1,\"text\":\"1\"}]");
	assert_string_equal(say(model, "will it rain?", NULL), "wet");
	assert_string_equal(say(model, "rain", "wet", "rain again", NULL), "wet");
	assert_string_equal(say(model, "once", NULL), "1");
	assert_string_equal(say(model, "once", NULL), "first");
	assert_string_equal(say(model, "rain", "wet", "snow", NULL),
		"I have read your message: \"snow\". I can see 3 messages.");
	model_free(model);
}

#define RESULT_FOLLOWS                                                                                       \
	"{\"messages\":[{\"role\":\"user\",\"content\":\"look\"},{\"role\":\"assistant\",\"content\":\"\","  \
	"\"tool_calls\":"                                                                                    \
	"[{\"id\":\"k1\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_"  \
	"call_id\":\"k1\","                                                                                  \
	"\"content\":\"a\"}]}"

static void match__names_its_round(void **state)
{
	(void)state;
	struct model *model = scripted("{\"match\":\"look\",\"calls\":[{\"id\":\"k1\",\"name\":\"ls\"}]}"
				       "{\"match\":\"look\",\"round\":1,\"text\":\"seen\"}");
	struct asked asked;
	ask(model, MODEL_OPENAI_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"look\"}]}", &asked);
	assert_string_equal(asked.ids.data, "k1 ");
	assert_int_equal(asked.reply.stop, MODEL_STOP_TOOL_CALLS);
	asked_release(&asked);
	ask(model, MODEL_OPENAI_CHAT, RESULT_FOLLOWS, &asked);
	assert_string_equal(asked_text(&asked), "seen");
	asked_release(&asked);
	model_free(model);
}

static void chunks__where_the_script_says(void **state)
{
	(void)state;
	struct asked asked;
	ask_script("{\"text\":\"abcdefg\",\"chunks\":[1,3,3000]}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.pieces.data, "a|bc|defg|");
	asked_release(&asked);
	ask_script("{\"text\":\"abcdefg\",\"chunk_bytes\":3}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.pieces.data, "abc|def|g|");
	asked_release(&asked);
	ask_script("{\"settings\":{\"chunk_bytes\":4}}{\"text\":\"abcdefg\"}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.pieces.data, "abcd|efg|");
	asked_release(&asked);
}

static void chunks__inside_a_code_point_hold_it_back(void **state)
{
	(void)state;
	/* 上 is bytes 1..3, 😀 bytes 4..7 of "a上😀b" */
	for (int cut = 1; cut <= 9; cut++) {
		static const char *const expected[] = {"", "a|上😀b|", "a|上😀b|", "a|上😀b|", "a上|😀b|",
			"a上|😀b|", "a上|😀b|", "a上|😀b|", "a上😀|b|", "a上😀b|"};
		struct buffer script = BUFFER_INIT(1000);
		struct asked asked;
		buffer_addf(&script, "{\"text\":\"a上😀b\",\"chunks\":[%d]}", cut);
		ask_script(script.data, MODEL_OPENAI_CHAT, &asked);
		assert_string_equal(asked.pieces.data, expected[cut]);
		asked_release(&asked);
		buffer_release(&script);
	}
	struct asked asked;
	ask_script("{\"text\":\"上😀\",\"chunk_bytes\":1}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.pieces.data, "上|😀|");
	asked_release(&asked);
}

static void calls__parallel_with_broken_arguments_kept(void **state)
{
	(void)state;
	struct asked asked;
	ask_script("{\"text\":\"Let me see.\",\"calls\":[{\"id\":\"a\",\"name\":\"ls\",\"arguments\":{\"n\": "
		   "1.10}},"
		   "{\"name\":\"rm\",\"arguments\":\"{\\\"pa\"}]}",
		MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.kinds.data, "tccud");
	assert_non_null(strstr(asked.reply.calls.data,
		"{\"id\":\"a\",\"name\":\"ls\",\"arguments\":\"{\\\"n\\\": 1.10}\"},"));
	assert_non_null(strstr(asked.reply.calls.data, "\"name\":\"rm\",\"arguments\":\"{\\\"pa\"},"));
	asked_release(&asked);
}

static void thinking__shown_and_sealed_blocks_byte_for_byte(void **state)
{
	(void)state;
	struct asked asked;
	const char *block = "{\"type\":\"thinking\", \"thinking\":\"h\\u006d\",\"signature\":\"a\\/b==\"}";
	struct buffer script = BUFFER_INIT(1000), expected = BUFFER_INIT(1000), record = BUFFER_INIT(1000);
	buffer_addf(&script, "{\"thinking\":\"hm\",\"sealed\":[%s],\"text\":\"Yes.\"}", block);
	ask_script(script.data, MODEL_ANTHROPIC, &asked);
	assert_string_equal(asked.kinds.data, "hstud");
	assert_string_equal(asked.thinking.data, "hm");
	assert_int_equal(reply_add_record(&asked.reply, &record), 0);
	buffer_addf(&expected,
		"{\"role\":\"assistant\",\"content\":[%s,{\"type\":\"text\",\"text\":\"Yes.\"}]}", block);
	assert_string_equal(record.data, expected.data);
	asked_release(&asked);
	buffer_release(&script);
	buffer_release(&expected);
	buffer_release(&record);
}

static void usage__figures_of_the_script_or_none(void **state)
{
	(void)state;
	struct asked asked;
	ask_script(
		"{\"text\":\"x\",\"usage\":{\"input\":812,\"cached\":700,\"cache_write\":5,\"output\":31}}",
		MODEL_ANTHROPIC, &asked);
	assert_int_equal(asked.reply.usage.input, 812);
	assert_int_equal(asked.reply.usage.cached, 700);
	assert_int_equal(asked.reply.usage.cache_write, 5);
	assert_int_equal(asked.reply.usage.output, 31);
	assert_int_equal(model_usage_request_tokens(&asked.reply.usage), 1517);
	asked_release(&asked);
	ask_script("{\"text\":\"x\",\"usage\":null}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.kinds.data, "td");
	assert_false(asked.reply.has_usage);
	asked_release(&asked);
}

static void stop__ours_in_the_words_of_the_dialect_or_any_other(void **state)
{
	(void)state;
	static const char *const words[] = {"length", "max_output_tokens", "max_tokens"};
	struct asked asked;
	for (int i = 0; i < 3; i++) {
		ask_script("{\"text\":\"half a sen\",\"stop\":\"length\"}", (enum model_dialect)i, &asked);
		assert_int_equal(asked.reply.stop, MODEL_STOP_LENGTH);
		assert_string_equal(asked.stop_text, words[i]);
		asked_release(&asked);
	}
	ask_script("{\"text\":\"x\",\"stop\":\"bored\"}", MODEL_OPENAI_CHAT, &asked);
	assert_int_equal(asked.reply.stop, MODEL_STOP_OTHER);
	assert_string_equal(asked.stop_text, "bored");
	asked_release(&asked);
}

static void empty__is_done_without_text(void **state)
{
	(void)state;
	struct asked asked;
	ask_script("{\"text\":\"\"}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.kinds.data, "ud");
	assert_true(reply_is_empty(&asked.reply));
	asked_release(&asked);
}

static void cut_off__never_done(void **state)
{
	(void)state;
	struct asked asked;
	ask_script("{\"text\":\"Half an answer\",\"calls\":[{\"name\":\"ls\"}],\"cut_after\":4}",
		MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.kinds.data, "te");
	assert_string_equal(asked_text(&asked), "Half");
	assert_false(asked.reply.done);
	assert_int_equal(asked.failure, MODEL_FAILURE_CUT_OFF);
	assert_int_equal(asked.code, BOBBIN_EPROVIDER);
	assert_true(asked.retry);
	asked_release(&asked);
	ask_script("{\"text\":\"上海\",\"cut_after\":4}", MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked_text(&asked), "上");
	asked_release(&asked);
}

static void status__says_whether_and_when_to_retry(void **state)
{
	(void)state;
	static const struct {
		const char *script;
		enum model_failure failure;
		int status;
		int64_t retry_after_ms;
		bool retry;
		const char *message;
	} cases[] = {
		{"{\"status\":429,\"retry_after_ms\":1500}", MODEL_FAILURE_RATE, 429, 1500, true,
			"the mock was told to answer HTTP 429"},
		{"{\"status\":500,\"message\":\"boiler broken\"}", MODEL_FAILURE_SERVER, 500, -1, true,
			"boiler broken"},
		{"{\"status\":529}", MODEL_FAILURE_SERVER, 529, -1, true,
			"the mock was told to answer HTTP 529"},
		{"{\"status\":401}", MODEL_FAILURE_AUTH, 401, -1, false,
			"the mock was told to answer HTTP 401"},
		{"{\"status\":404}", MODEL_FAILURE_REQUEST, 404, -1, false,
			"the mock was told to answer HTTP 404"},
		{"{\"garbage\":true,\"text\":\"\"}", MODEL_FAILURE_PROTOCOL, 200, -1, true,
			"what the mock sent is not the protocol"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked asked;
		ask_script(cases[i].script, MODEL_OPENAI_CHAT, &asked);
		assert_string_equal(asked.kinds.data, "e");
		assert_int_equal(asked.failure, cases[i].failure);
		assert_int_equal(asked.http_status, cases[i].status);
		assert_int_equal(asked.retry_after_ms, cases[i].retry_after_ms);
		assert_int_equal(asked.retry, cases[i].retry);
		assert_string_equal(asked.message, cases[i].message);
		asked_release(&asked);
	}
}

static void overflow__by_script_or_by_a_small_window(void **state)
{
	(void)state;
	struct asked asked;
	ask_script("{\"overflow\":true}", MODEL_OPENAI_CHAT, &asked);
	assert_int_equal(asked.failure, MODEL_FAILURE_OVERFLOW);
	asked_release(&asked);
	struct model *model =
		scripted("{\"settings\":{\"name\":\"tiny\",\"window_tokens\":2,\"output_tokens_max\":1}}");
	assert_string_equal(model_properties(model)->name, "tiny");
	assert_int_equal(model_properties(model)->window_tokens, 2);
	assert_int_equal(model_properties(model)->output_tokens_max, 1);
	ask(model, MODEL_OPENAI_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"123456789\"}]}",
		&asked);
	assert_int_equal(asked.failure, MODEL_FAILURE_OVERFLOW);
	assert_string_equal(
		asked.message, "context_length_exceeded: the request has 3 tokens, the window of tiny 2");
	asked_release(&asked);
	ask(model, MODEL_OPENAI_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"12345678\"}]}",
		&asked);
	assert_true(asked.reply.done);
	asked_release(&asked);
	model_free(model);
}

static void slow__takes_the_time_it_says(void **state)
{
	(void)state;
	struct asked asked;
	int64_t before = world.monotonic_ns;
	ask_script("{\"text\":\"abc\",\"chunks\":[1,2],\"delay_ms\":500,\"chunk_delay_ms\":40}",
		MODEL_OPENAI_CHAT, &asked);
	assert_string_equal(asked.pieces.data, "a|b|c|");
	assert_int_equal(world.monotonic_ns - before, 580 * MS);
	asked_release(&asked);
	before = world.monotonic_ns;
	struct model *model = scripted("{\"delay_ms\":70}");
	assert_string_equal(say(model, "My name is Ana.", NULL), "Noted: your name is Ana.");
	assert_int_equal(world.monotonic_ns - before, 70 * MS);
	model_free(model);
}

static void hang__ends_by_timeout(void **state)
{
	(void)state;
	struct model *model = scripted("{\"text\":\"Well\",\"hang\":true,\"times\":9}");
	struct model_request request = MODEL_REQUEST_INIT;
	struct asked asked;
	request.body = slice_of(HI);
	request.idle_timeout_ms = 300;
	int64_t before = world.monotonic_ns;
	ask_with(model, &request, &asked);
	assert_string_equal(asked.kinds.data, "te");
	assert_int_equal(asked.failure, MODEL_FAILURE_TIMEOUT);
	assert_int_equal(asked.code, BOBBIN_ETIMEOUT);
	assert_int_equal(world.monotonic_ns - before, 300 * MS);
	asked_release(&asked);
	request.idle_timeout_ms = 0;
	request.timeout_ms = 200;
	before = world.monotonic_ns;
	ask_with(model, &request, &asked);
	assert_int_equal(asked.failure, MODEL_FAILURE_TIMEOUT);
	assert_int_equal(world.monotonic_ns - before, 200 * MS);
	asked_release(&asked);
	model_free(model);
}

static void bad_script__says_where(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t line, offset;
		const char *word;
	} cases[] = {
		{"{\"text\":\"a\"}\n{\"txt\":\"b\"}", 2, 13, "\"txt\""},
		{"{\"text\":5}", 1, 0, "string"},
		{"{\"delay_ms\":-1}", 1, 0, "whole number"},
		{"{\"delay_ms\":1.5}", 1, 0, "whole number"},
		{"{\"garbage\":1}", 1, 0, "true or false"},
		{"{\"calls\":{}}", 1, 0, "list"},
		{"{\"calls\":[{\"id\":\"x\"}]}", 1, 0, "name"},
		{"{\"calls\":[7]}", 1, 0, "object"},
		{"{\"chunks\":[2,2]}", 1, 0, "ascend"},
		{"{\"sealed\":[1]}", 1, 0, "object"},
		{"{\"usage\":{\"in\":1}}", 1, 0, "\"in\""},
		{"{\"settings\":{\"window\":1}}", 1, 0, "\"window\""},
		{"\n7", 2, 1, "object"},
		{"[{\"text\":\"a\"},\n{\"x\":1}]", 2, 15, "\"x\""},
		{"{\"text\":\"a\"}\n{\"text\":", 2, 21, "JSON"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *model = NULL;
		struct bobbin_error error = {0};
		assert_int_equal(open_script(cases[i].text, &model, &error), BOBBIN_EINPUT);
		assert_null(model);
		assert_int_equal(error.line, cases[i].line);
		assert_int_equal(error.offset, cases[i].offset);
		assert_non_null(strstr(error.message, cases[i].word));
		assert_non_null(strstr(error.message, "script.jsonl"));
	}
}

static void missing_script__is_not_found(void **state)
{
	(void)state;
	struct model *model = NULL;
	struct bobbin_error error = {0};
	assert_int_equal(model_open("mock:/nowhere/at/all.jsonl", NULL, &model, &error), BOBBIN_ENOTFOUND);
	assert_non_null(strstr(error.message, "/nowhere/at/all.jsonl"));
}

static void unreadable_script__every_call_failing(void **state)
{
	(void)state;
	static const enum fail_call kinds[] = {CALL_OPEN, CALL_INFO, CALL_READ};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct model *model = NULL;
		fail_platform_plan(&world, kinds[i], 1, EIO);
		assert_int_equal(open_script("{\"text\":\"a\"}", &model, NULL), BOBBIN_EIO);
		assert_true(world.failed);
		assert_int_equal(world.open_files, 0);
		fail_platform_heal(&world);
	}
}

#define FULL_SCRIPT                                                                                          \
	"{\"settings\":{\"name\":\"m\"}}{\"match\":\"hi\",\"text\":\"上海 is "                             \
	"far\",\"chunks\":[1,2],\"thinking\":\"t\",\"sealed\":["                                             \
	"{\"a\":1}],\"calls\":[{\"id\":\"x\",\"name\":\"n\",\"arguments\":{\"a\":1}},{\"name\":\"m\","       \
	"\"arguments\":\"{}\"}]}"

static void memory__every_allocation_of_a_script_failing(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct script script;
		fail_alloc_start(nth);
		script_init(&script);
		int rc = script_read(&script, SLICE_LITERAL(FULL_SCRIPT), NULL);
		script_release(&script);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, BOBBIN_ENOMEM);
	}
}

/* Opens, sends and pulls. The code of whatever failed, also of the terminal event. */
static int whole_request(const char *specification)
{
	struct model *model;
	struct model_stream *stream;
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_event event;
	struct reply reply;
	struct buffer record = BUFFER_INIT(100000);
	request.body = slice_of(RESULT_FOLLOWS);
	int rc = model_open(specification, NULL, &model, NULL);
	if (rc < 0)
		return rc;
	rc = model_send(model, &request, &stream, NULL);
	if (rc < 0) {
		model_free(model);
		return rc;
	}
	reply_init(&reply);
	do {
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
		if (event.type == MODEL_EVENT_ERROR)
			rc = event.error.code;
		else if (rc == 0)
			rc = reply_add(&reply, &event);
	} while (!model_event_is_terminal(&event));
	if (rc == 0)
		rc = reply_add_record(&reply, &record);
	buffer_release(&record);
	reply_release(&reply);
	model_stream_free(stream);
	model_free(model);
	return rc;
}

static void memory__every_allocation_of_a_request_failing(void **state)
{
	(void)state;
	struct buffer specification = BUFFER_INIT(2000);
	scratch_write_text(dir, "oom.jsonl",
		"{\"match\":\"look\",\"round\":1,\"text\":\"done\",\"calls\":[{\"name\":\"n\"}]}");
	buffer_addf(&specification, "mock:%s", scratch_path(dir, "oom.jsonl"));
	const char *specifications[] = {"mock", specification.data};
	for (int i = 0; i < 2; i++) {
		for (uint64_t nth = 1;; nth++) {
			fail_alloc_start(nth);
			int rc = whole_request(specifications[i]);
			struct fail_alloc_report report = fail_alloc_stop();
			assert_int_equal(report.live, 0);
			if (!report.failed) {
				assert_int_equal(rc, 0);
				assert_true(nth > 8);
				break;
			}
			assert_int_equal(rc, BOBBIN_ENOMEM);
		}
	}
	buffer_release(&specification);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps__in_order_then_the_mocks_own_answer),
		cmocka_unit_test(match__before_the_order_and_as_often_as_wanted),
		cmocka_unit_test(match__names_its_round),
		cmocka_unit_test(chunks__where_the_script_says),
		cmocka_unit_test(chunks__inside_a_code_point_hold_it_back),
		cmocka_unit_test(calls__parallel_with_broken_arguments_kept),
		cmocka_unit_test(thinking__shown_and_sealed_blocks_byte_for_byte),
		cmocka_unit_test(usage__figures_of_the_script_or_none),
		cmocka_unit_test(stop__ours_in_the_words_of_the_dialect_or_any_other),
		cmocka_unit_test(empty__is_done_without_text),
		cmocka_unit_test(cut_off__never_done),
		cmocka_unit_test(status__says_whether_and_when_to_retry),
		cmocka_unit_test(overflow__by_script_or_by_a_small_window),
		cmocka_unit_test(slow__takes_the_time_it_says),
		cmocka_unit_test(hang__ends_by_timeout),
		cmocka_unit_test(bad_script__says_where),
		cmocka_unit_test(missing_script__is_not_found),
		cmocka_unit_test(unreadable_script__every_call_failing),
		cmocka_unit_test(memory__every_allocation_of_a_script_failing),
		cmocka_unit_test(memory__every_allocation_of_a_request_failing),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
