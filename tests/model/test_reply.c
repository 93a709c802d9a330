/* SPDX-License-Identifier: MIT */
/* The record made of an answer's events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/json.h"
#include "base/limits.h"
#include "model/reply.h"

static struct model_event text_event(const char *text)
{
	return (struct model_event){.type = MODEL_EVENT_TEXT, .text = slice_of(text)};
}

static struct model_event call_event(const char *id, const char *arguments)
{
	struct model_event event = {.type = MODEL_EVENT_CALL};
	event.call.id = slice_of(id);
	event.call.name = SLICE_LITERAL("ls");
	event.call.arguments = slice_of(arguments);
	return event;
}

static struct model_event sealed_event(const char *block)
{
	return (struct model_event){.type = MODEL_EVENT_SEALED, .sealed = slice_of(block)};
}

static void assert_record(const struct model_event *events, size_t count, const char *expected)
{
	struct reply reply;
	struct buffer record = BUFFER_INIT(1u << 20);
	struct json value;
	reply_init(&reply);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(reply_add(&reply, &events[i]), 0);
	assert_int_equal(reply_add_record(&reply, &record), 0);
	assert_string_equal(record.data, expected);
	assert_int_equal(json_parse(record.data, record.len, &value, NULL), 0);
	buffer_release(&record);
	reply_release(&reply);
}

#define ASSERT_RECORD(expected, ...)                                                                         \
	do {                                                                                                 \
		struct model_event events[] = {__VA_ARGS__};                                                 \
		assert_record(events, sizeof(events) / sizeof(events[0]), expected);                         \
	} while (0)

static void text__joined_into_a_string(void **state)
{
	(void)state;
	ASSERT_RECORD("{\"role\":\"assistant\",\"content\":\"Say \\\"hi\\\"\\n上海\"}",
		text_event("Say \"hi\""), text_event("\n上"), text_event("海"));
}

static void calls__after_text_in_tool_calls(void **state)
{
	(void)state;
	ASSERT_RECORD("{\"role\":\"assistant\",\"content\":\"Look.\",\"tool_calls\":[{\"id\":\"a\",\"name\":"
		      "\"ls\",\"arguments\":"
		      "\"{}\"},{\"id\":\"b\",\"name\":\"ls\",\"arguments\":\"{\\\"p\\\":1.10}\"}]}",
		text_event("Look."), call_event("a", "{}"), call_event("b", "{\"p\":1.10}"));
}

static void text_after_a_call__keeps_its_place(void **state)
{
	(void)state;
	ASSERT_RECORD(
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"One.\"},{\"type\":\"tool_"
		"call\",\"id\":"
		"\"a\",\"name\":\"ls\",\"arguments\":\"{}\"},{\"type\":\"text\",\"text\":\"Two, three.\"}]}",
		text_event("One."), call_event("a", "{}"), text_event("Two, "), text_event("three."));
}

static void sealed_blocks__in_order_byte_for_byte(void **state)
{
	(void)state;
	ASSERT_RECORD("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\", "
		      "\"signature\":\"\\/\"},{\"type\":\"text\","
		      "\"text\":\"a\"},{\"b\":2},{\"type\":\"tool_call\",\"id\":\"c\",\"name\":\"ls\","
		      "\"arguments\":\"\"}]}",
		sealed_event("{\"type\":\"thinking\", \"signature\":\"\\/\"}"), text_event("a"),
		sealed_event("{\"b\":2}"), call_event("c", ""));
}

static void empty__says_so(void **state)
{
	(void)state;
	struct reply reply;
	struct model_event event = {.type = MODEL_EVENT_THINKING, .text = SLICE_LITERAL("hm")};
	reply_init(&reply);
	assert_int_equal(reply_add(&reply, &event), 0);
	assert_true(reply_is_empty(&reply));
	event = (struct model_event){.type = MODEL_EVENT_DONE, .stop = MODEL_STOP_LENGTH};
	assert_int_equal(reply_add(&reply, &event), 0);
	assert_true(reply_is_empty(&reply));
	assert_true(reply.done);
	assert_int_equal(reply.stop, MODEL_STOP_LENGTH);
	event = sealed_event("{\"type\":\"reasoning\"}");
	assert_int_equal(reply_add(&reply, &event), 0);
	assert_true(reply_is_empty(&reply)); /* thoughts answer nothing */
	event = (struct model_event){.type = MODEL_EVENT_TEXT, .text = SLICE_LITERAL(" \n\t\r\n")};
	assert_int_equal(reply_add(&reply, &event), 0);
	assert_true(reply_is_empty(&reply)); /* nor does white space */
	event = sealed_event("{}");
	assert_int_equal(reply_add(&reply, &event), 0);
	assert_false(reply_is_empty(&reply));
	reply_release(&reply);
}

static void calls__each_has_an_id_of_its_own(void **state)
{
	(void)state;
	ASSERT_RECORD("{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":["
		      "{\"id\":\"a\",\"name\":\"ls\",\"arguments\":\"1\"},"
		      "{\"id\":\"a-2\",\"name\":\"ls\",\"arguments\":\"2\"},"
		      "{\"id\":\"a-3\",\"name\":\"ls\",\"arguments\":\"3\"},"
		      "{\"id\":\"a-2-4\",\"name\":\"ls\",\"arguments\":\"4\"},"
		      "{\"id\":\"call-5\",\"name\":\"ls\",\"arguments\":\"5\"},"
		      "{\"id\":\"call-6\",\"name\":\"ls\",\"arguments\":\"6\"},"
		      "{\"id\":\"\\\",\\\"\",\"name\":\"ls\",\"arguments\":\"7\"}]}",
		call_event("a", "1"), call_event("a", "2"), call_event("a", "3"), call_event("a-2", "4"),
		call_event("", "5"), call_event("", "6"), call_event("\",\"", "7"));
}

static void calls__no_more_than_the_limit(void **state)
{
	(void)state;
	struct reply reply;
	struct model_event event = call_event("a", "{}");
	reply_init(&reply);
	for (int i = 0; i < LIMIT_CALLS_PER_MESSAGE; i++)
		assert_int_equal(reply_add(&reply, &event), 0);
	assert_int_equal(reply_add(&reply, &event), BOBBIN_ELIMIT);
	assert_int_equal(reply.call_count, LIMIT_CALLS_PER_MESSAGE);
	reply_release(&reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__joined_into_a_string),
		cmocka_unit_test(calls__after_text_in_tool_calls),
		cmocka_unit_test(text_after_a_call__keeps_its_place),
		cmocka_unit_test(sealed_blocks__in_order_byte_for_byte),
		cmocka_unit_test(empty__says_so),
		cmocka_unit_test(calls__each_has_an_id_of_its_own),
		cmocka_unit_test(calls__no_more_than_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
