/* SPDX-License-Identifier: MIT */
/* What the mock answers from what it is shown, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ask.h"
#include "model/mock.h"

#define NOT_FOUND "I can't find that in what I was shown."

static int open_mock(void **state)
{
	struct model *model;
	assert_int_equal(model_open("mock", NULL, &model, NULL), 0);
	*state = model;
	return 0;
}

static int close_mock(void **state)
{
	model_free(*state);
	return 0;
}

static void residence__answered_only_if_shown(void **state)
{
	assert_string_equal(say(*state, "I live in Shanghai, please note that", "Noted.",
				    "where did I say I live?", NULL),
		"You said you live in Shanghai.");
	assert_string_equal(say(*state, "where did I say I live?", NULL), NOT_FOUND);
	assert_string_equal(say(*state, "where do I live", NULL), NOT_FOUND);
}

static void statement__is_noted(void **state)
{
	assert_string_equal(
		say(*state, "I live in Shanghai, please note that", NULL), "Noted: you live in Shanghai.");
	assert_string_equal(say(*state, "My name is Ana and I live in Lima.", NULL),
		"Noted: your name is Ana; you live in Lima.");
	assert_string_equal(say(*state, "Please remember that the door code is 4711.", NULL),
		"Noted: the door code is 4711.");
	assert_string_equal(say(*state, "Note that I live in Rome.", NULL), "Noted: you live in Rome.");
}

static void newest_statement__wins(void **state)
{
	assert_string_equal(say(*state, "I live in Paris.", "Noted.", "I moved to Rome.", "Noted.",
				    "Where do I live?", NULL),
		"You said you live in Rome.");
}

static void name__answered(void **state)
{
	assert_string_equal(say(*state, "my name is Ana", "Hello.", "What's my name?", NULL),
		"You said your name is Ana.");
	assert_string_equal(say(*state, "Who am I?", NULL), NOT_FOUND);
}

static void attribute__found_by_its_key(void **state)
{
	const char *told = "My order number is A-17 and my budget is 12.50 euros.";
	assert_string_equal(
		say(*state, told, "ok", "What is my budget?", NULL), "You said your budget is 12.50 euros.");
	assert_string_equal(say(*state, told, "ok", "what did I say my order number is?", NULL),
		"You said your order number is A-17.");
	assert_string_equal(say(*state, told, "ok", "What is my height?", NULL), NOT_FOUND);
}

static void topic__quotes_the_users_sentences(void **state)
{
	assert_string_equal(say(*state, "The printer is in room 12. It rains.", "ok",
				    "What did I say about the printer?", NULL),
		"You said: \"The printer is in room 12\".");
	assert_string_equal(say(*state, "The printer jams.", "The scanner too.",
				    "What did I say about the scanner?", NULL),
		NOT_FOUND);
}

static void notes__listed_when_asked(void **state)
{
	assert_string_equal(say(*state, "Remember that the code is 4711.", "ok", "Nice weather.", "yes",
				    "What do you remember?", NULL),
		"You said: \"Remember that the code is 4711\".");
}

static void assistant_text__is_not_the_users_word(void **state)
{
	assert_string_equal(
		say(*state, "Hello.", "You told me: I live in Berlin.", "Where do I live?", NULL), NOT_FOUND);
}

static void question__states_nothing(void **state)
{
	assert_string_equal(
		say(*state, "Do you think I live in Oslo?", "No idea.", "Where do I live?", NULL), NOT_FOUND);
}

static void two_questions__both_answered(void **state)
{
	assert_string_equal(say(*state, "I live in Lima. My name is Ana.", "ok",
				    "Where do I live? What is my name?", NULL),
		"You said you live in Lima. You said your name is Ana.");
}

static void message_count__told(void **state)
{
	assert_string_equal(
		say(*state, "a", "b", "How many messages can you see?", NULL), "I can see 3 messages.");
	assert_string_equal(say(*state, "How many messages do you see?", NULL), "I can see 1 message.");
}

static void echo__gives_the_words_back(void **state)
{
	assert_string_equal(say(*state, "Good morning", NULL),
		"I have read your message: \"Good morning\". I can see 1 message.");
}

static void chinese__residence_and_attribute(void **state)
{
	assert_string_equal(
		say(*state, "我住在上海，请记一下。", "好的。", "我住在哪里？", NULL), "你说过你住在上海。");
	assert_string_equal(say(*state, "我住在哪？", NULL), "在我看到的内容里找不到。");
	assert_string_equal(say(*state, "我叫小明。", "好", "我叫什么？", NULL), "你说过你的名字是小明。");
	assert_string_equal(say(*state, "我的订单号是A17。", "好", "我的订单号是多少？", NULL),
		"你说过你的订单号是A17。");
	assert_string_equal(say(*state, "我住在上海。", NULL), "记下了：你住在上海。");
	assert_string_equal(say(*state, "你能看到多少条消息？", NULL), "我能看到1条消息。");
}

#define SUMMARY                                                                                              \
	"[Summary of earlier conversation]\\nFACTS\\n- The user lives in Kyoto (m1)\\n- order number B-9 "   \
	"(m3)"

static void summary__answers_and_says_so(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" SUMMARY
		"\"},{\"type\":\"text\",\"text\":\"What is my order number?\"}]}]}",
		&asked);
	assert_string_equal(asked_text(&asked),
		"The part labelled \"Summary of earlier conversation\" says: \"- order number B-9 (m3)\".");
	asked_release(&asked);
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" SUMMARY
		"\"},{\"type\":\"text\",\"text\":\"Where do I live?\"}]}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "The part labelled \"Summary of earlier conversation\" says: "
						"\"- The user lives in Kyoto (m1)\".");
	asked_release(&asked);
}

static void summary__counted_apart_and_weaker_than_words(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" SUMMARY
		"\"},{\"type\":\"text\",\"text\":\"I live in Nara. Where do I live? How many messages do you "
		"see?\"}]}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "You said you live in Nara. I can see 1 message and a part "
						"labelled \"Summary of earlier conversation\".");
	asked_release(&asked);
}

static void summary_and_words_in_one_string__told_apart(void **state)
{
	const char *summary = "[Summary of earlier conversation]\nFACTS\n- The user lives in Kyoto "
			      "(m1)\n\nNOT HERE\n- 4 more\n\n";
	struct buffer words = BUFFER_INIT(1000);
	buffer_addf(&words, "%sWhere do I live?", summary);
	assert_string_equal(
		say(*state, words.data, NULL), "The part labelled \"Summary of earlier conversation\" says: "
					       "\"- The user lives in Kyoto (m1)\".");
	buffer_clear(&words);
	buffer_addf(&words, "%sI live in Nara.", summary);
	assert_string_equal(
		say(*state, words.data, "Noted.", "Where do I live?", NULL), "You said you live in Nara.");
	buffer_release(&words);
}

static void error_result__said_to_have_failed(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"user\",\"content\":\"look\"},{\"role\":\"assistant\",\"tool_"
		"calls\":[{\"id\":\"1\","
		"\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
		"\"1\",\"content\":"
		"\"[error] no such folder\"}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "ls failed: [error] no such folder.");
	asked_release(&asked);
}

static void system_and_results__are_not_the_users_word(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"system\",\"content\":\"I live in "
		"Rome.\"},{\"role\":\"user\",\"content\":\"look\"},"
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
		"\"function\",\"function\":"
		"{\"name\":\"ls\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\","
		"\"content\":\"I live in "
		"Bonn.\"},{\"role\":\"user\",\"content\":\"Where do I live?\"}]}",
		&asked);
	assert_string_equal(asked_text(&asked), NOT_FOUND);
	asked_release(&asked);
}

/* The same conversation in the three dialects: the same answer and the same count. */
static const char *const three[] = {
	"{\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"I "
	"live in Lima.\"},"
	"{\"role\":\"assistant\",\"content\":\"Let me "
	"look.\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
	"\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}},{\"id\":\"c2\",\"type\":\"function\","
	"\"function\":{\"name\":"
	"\"ls\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a\"},{"
	"\"role\":\"tool\","
	"\"tool_call_id\":\"c2\",\"content\":\"b\"},{\"role\":\"assistant\",\"content\":\"Done.\"},{\"role\":"
	"\"user\","
	"\"content\":\"Where do I live? How many messages do you see?\"}]}",
	"{\"instructions\":\"Be "
	"brief.\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
	"\"I live in "
	"Lima.\"}]},{\"type\":\"reasoning\",\"encrypted_content\":\"x\",\"summary\":[]},{\"type\":"
	"\"message\","
	"\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Let me "
	"look.\"}]},{\"type\":"
	"\"function_call\",\"call_id\":\"c1\",\"name\":\"ls\",\"arguments\":\"{}\"},{\"type\":\"function_"
	"call\",\"call_id\":"
	"\"c2\",\"name\":\"ls\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c1\","
	"\"output\":\"a\"},"
	"{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":\"b\"},{\"role\":\"assistant\","
	"\"content\":"
	"\"Done.\"},{\"role\":\"user\",\"content\":\"Where do I live? How many messages do you see?\"}]}",
	"{\"system\":\"Be brief.\",\"messages\":[{\"role\":\"user\",\"content\":\"I live in "
	"Lima.\"},{\"role\":\"assistant\","
	"\"content\":[{\"type\":\"text\",\"text\":\"Let me "
	"look.\"},{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\","
	"\"input\":{}},{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"ls\",\"input\":{}}]},{\"role\":"
	"\"user\",\"content\":[{"
	"\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"a\"},{\"type\":\"tool_result\",\"tool_"
	"use_id\":\"c2\","
	"\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}]},{\"role\":\"assistant\",\"content\":\"Done.\"},{"
	"\"role\":"
	"\"user\",\"content\":\"Where do I live? How many messages do you see?\"}]}",
};

static void dialects__give_the_same_answer(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct asked asked;
		ask(*state, (enum model_dialect)i, three[i], &asked);
		assert_string_equal(asked_text(&asked), "You said you live in Lima. I can see 6 messages.");
		assert_int_equal(asked.reply.usage.dialect, i);
		asked_release(&asked);
	}
}

#define TOOLS                                                                                                \
	"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\"}},{\"type\":\"function\","     \
	"\"function\":"                                                                                      \
	"{\"name\":\"clock\"}}],"

static void tool__called_with_the_arguments_given(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{" TOOLS "\"messages\":[{\"role\":\"user\",\"content\":\"Please call weather with "
		"{\\\"city\\\":\\\"Lima\\\"}.\"}]}",
		&asked);
	struct buffer record = BUFFER_INIT(1u << 20), expected = BUFFER_INIT(1u << 20);
	assert_int_equal(reply_add_record(&asked.reply, &record), 0);
	buffer_addf(&expected,
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"%.*s\",\"name\":"
		"\"weather\",\"arguments\":"
		"\"{\\\"city\\\":\\\"Lima\\\"}\"}]}",
		(int)asked.ids.len - 1, asked.ids.data);
	assert_string_equal(record.data, expected.data);
	assert_string_equal(asked.kinds.data, "cud");
	assert_int_equal(asked.reply.stop, MODEL_STOP_TOOL_CALLS);
	assert_string_equal(asked.stop_text, "tool_calls");
	buffer_release(&record);
	buffer_release(&expected);
	asked_release(&asked);
}

static void tools__called_in_parallel_with_ids_of_their_own(void **state)
{
	struct asked asked;
	ask(*state, MODEL_ANTHROPIC,
		"{\"tools\":[{\"name\":\"weather\"},{\"name\":\"clock\"}],\"messages\":[{\"role\":\"user\","
		"\"content\":\"use tools "
		"weather and clock in parallel\"}]}",
		&asked);
	assert_int_equal(asked.reply.call_count, 2);
	assert_string_equal(asked.kinds.data, "ccud");
	assert_string_equal(asked.stop_text, "tool_use");
	char *space = strchr(asked.ids.data, ' ');
	assert_non_null(space);
	size_t len = (size_t)(space - asked.ids.data);
	assert_int_equal(asked.ids.len, 2 * (len + 1));
	assert_memory_not_equal(asked.ids.data, space + 1, len);
	asked_release(&asked);
}

static void tool__not_called_unless_offered(void **state)
{
	assert_string_equal(say(*state, "call weather with {\"city\":\"Lima\"}", NULL),
		"I was not offered a tool named weather.");
	assert_string_equal(say(*state, "I use bicycles.", NULL),
		"I have read your message: \"I use bicycles\". I can see 1 message.");
}

#define THEN                                                                                                 \
	"{" TOOLS "\"messages\":[{\"role\":\"user\",\"content\":\"call weather, then "                       \
	"clock\"},{\"role\":\"assistant\","                                                                  \
	"\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"weather\",\"arguments\":\"{}\"}}]},{"       \
	"\"role\":\"tool\","                                                                                 \
	"\"tool_call_id\":\"c1\",\"content\":\"sunny\"}"

static void tools__called_one_round_after_the_other(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT, THEN "]}", &asked);
	assert_int_equal(asked.reply.call_count, 1);
	assert_non_null(strstr(asked.reply.calls.data, "\"name\":\"clock\""));
	asked_release(&asked);
	ask(*state, MODEL_OPENAI_CHAT,
		THEN ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c2\",\"function\":{\"name\":"
		     "\"clock\",\"arguments\":"
		     "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"noon\",\"is_"
		     "error\":true}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "weather returned: sunny. clock failed: noon.");
	assert_int_equal(asked.reply.stop, MODEL_STOP_END);
	asked_release(&asked);
}

static void usage__adds_up_in_each_dialect(void **state)
{
	/* visible: "I live in Lima." 15 bytes: 4 tokens; answer: "Noted: you live in Lima." 24 bytes: 6
	 * tokens */
	struct asked asked;
	const char *body = "{\"messages\":[{\"role\":\"user\",\"content\":\"I live in Lima.\"}]}";
	ask(*state, MODEL_OPENAI_CHAT, body, &asked);
	assert_int_equal(asked.reply.usage.input, 4);
	assert_int_equal(asked.reply.usage.cached, 0);
	assert_int_equal(asked.reply.usage.cache_write, -1);
	assert_int_equal(asked.reply.usage.output, 6);
	asked_release(&asked);
	ask(*state, MODEL_ANTHROPIC, body, &asked); /* the same bytes again: all of it is cached */
	assert_int_equal(asked.reply.usage.input, 0);
	assert_int_equal(asked.reply.usage.cached, 4);
	assert_int_equal(asked.reply.usage.cache_write, 0);
	assert_int_equal(model_usage_request_tokens(&asked.reply.usage), 4);
	asked_release(&asked);
	ask(*state, MODEL_OPENAI_CHAT, body, &asked);
	assert_int_equal(asked.reply.usage.input, 4);
	assert_int_equal(asked.reply.usage.cached, 4);
	assert_int_equal(model_usage_request_tokens(&asked.reply.usage), 4);
	asked_release(&asked);
}

static void output_limit__stops_with_length(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":\"I live in Lima.\"}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "Noted: y");
	assert_int_equal(asked.reply.stop, MODEL_STOP_LENGTH);
	assert_string_equal(asked.stop_text, "length");
	asked_release(&asked);
}

static void bad_body__answered_with_400(void **state)
{
	static const char *const bodies[] = {"", "{", "[]", "{}", "{\"messages\":[]}",
		"{\"messages\":[{\"content\":\"x\"}]}",
		"{\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", "{\"messages\":[1]}"};
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct asked asked;
		ask(*state, MODEL_OPENAI_CHAT, bodies[i], &asked);
		assert_string_equal(asked.kinds.data, "e");
		assert_int_equal(asked.failure, MODEL_FAILURE_REQUEST);
		assert_int_equal(asked.http_status, 400);
		assert_false(asked.retry);
		asked_release(&asked);
	}
}

static void requests__the_last_ones_are_kept(void **state)
{
	struct model *model = *state;
	uint64_t before = mock_request_count(model);
	for (unsigned i = 0; i < MOCK_REQUESTS_KEPT + 2; i++) {
		struct buffer body = BUFFER_INIT(1000);
		struct asked asked;
		buffer_addf(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"n%u\"}]}", i);
		ask(model, MODEL_OPENAI_CHAT, body.data, &asked);
		asked_release(&asked);
		buffer_release(&body);
	}
	assert_int_equal(mock_request_count(model) - before, MOCK_REQUESTS_KEPT + 2);
	assert_true(
		slice_is(mock_request(model, 0), "{\"messages\":[{\"role\":\"user\",\"content\":\"n9\"}]}"));
	assert_true(slice_is(mock_request(model, MOCK_REQUESTS_KEPT - 1),
		"{\"messages\":[{\"role\":\"user\",\"content\":\"n2\"}]}"));
	assert_null(mock_request(model, MOCK_REQUESTS_KEPT).data);
}

static void long_answer__comes_in_pieces(void **state)
{
	struct asked asked;
	ask(*state, MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"user\",\"content\":\"我住在上海的一个很安静的地方。\"}]}",
		&asked);
	assert_string_equal(asked_text(&asked), "记下了：你住在上海的一个很安静的地方。");
	assert_string_equal(asked.pieces.data, "记下了：你住在上|海的一个很安静的|地方。|");
	assert_string_equal(asked.kinds.data, "tttud");
	asked_release(&asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(residence__answered_only_if_shown),
		cmocka_unit_test(statement__is_noted),
		cmocka_unit_test(newest_statement__wins),
		cmocka_unit_test(name__answered),
		cmocka_unit_test(attribute__found_by_its_key),
		cmocka_unit_test(topic__quotes_the_users_sentences),
		cmocka_unit_test(notes__listed_when_asked),
		cmocka_unit_test(assistant_text__is_not_the_users_word),
		cmocka_unit_test(question__states_nothing),
		cmocka_unit_test(two_questions__both_answered),
		cmocka_unit_test(message_count__told),
		cmocka_unit_test(echo__gives_the_words_back),
		cmocka_unit_test(chinese__residence_and_attribute),
		cmocka_unit_test(summary__answers_and_says_so),
		cmocka_unit_test(summary__counted_apart_and_weaker_than_words),
		cmocka_unit_test(summary_and_words_in_one_string__told_apart),
		cmocka_unit_test(error_result__said_to_have_failed),
		cmocka_unit_test(system_and_results__are_not_the_users_word),
		cmocka_unit_test(dialects__give_the_same_answer),
		cmocka_unit_test(tool__called_with_the_arguments_given),
		cmocka_unit_test(tools__called_in_parallel_with_ids_of_their_own),
		cmocka_unit_test(tool__not_called_unless_offered),
		cmocka_unit_test(tools__called_one_round_after_the_other),
		cmocka_unit_test(usage__adds_up_in_each_dialect),
		cmocka_unit_test(output_limit__stops_with_length),
		cmocka_unit_test(bad_body__answered_with_400),
		cmocka_unit_test(requests__the_last_ones_are_kept),
		cmocka_unit_test(long_answer__comes_in_pieces),
	};
	return cmocka_run_group_tests(tests, open_mock, close_mock);
}
