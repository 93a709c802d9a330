/* SPDX-License-Identifier: MIT */
/* Damaged files of which each message that is whole is still found: one small file for each way in which one was lost. */
#include "transcript/imported.h"

#include <stdio.h>

/* Reads it; the records of all conversations hold these texts in this order, a record each. */
static void expect_texts(const char *format, const char *text, const char *const *texts)
{
	struct bobbin_error error = {0};
	struct import import;
	size_t count = 0;

	if (import_read(format, text, strlen(text), &import, &error) < 0)
		fail_msg("%s: %s", format, error.message);
	for (size_t i = 0; i < import.conversation_count; i++) {
		for (size_t k = 0; k < import.conversations[i].record_count; k++, count++) {
			struct slice record = import.conversations[i].records[k];
			if (!texts[count])
				fail_msg("one too many: %.*s", (int)record.len, record.data);
			if (!memmem(record.data, record.len, texts[count], strlen(texts[count])))
				fail_msg("%s is not in %.*s", texts[count], (int)record.len, record.data);
		}
	}
	if (texts[count])
		fail_msg("%s was not found", texts[count]);
	assert_true(import.warning_count > 0);
	import_release(&import);
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Inside of what stands before the messages: names of the lists around them are lost, too. */
static void lost_beginning__of_an_agent_file(void **state)
{
	(void)state;
	expect_texts("letta",
		"be brief\",\"tool_rules\":[{\"tool_name\":\"t\"}],\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		"\"text\":\"one\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}]}],\"blocks\":[]}",
		TEXTS("one", "two"));
	/* of an old one, in front of the messages themselves */
	expect_texts("letta",
		"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},{\"role\":\"assistant\",\"content\":"
		"[{\"type\":\"text\",\"text\":\"two\"}]}]}",
		TEXTS("one", "two"));
}

static void lost_beginning__of_a_haystack(void **state)
{
	(void)state;
	expect_texts("longmemeval",
		"t\":\"lost\"},{\"role\":\"user\",\"content\":\"one\"}],[{\"role\":\"user\",\"content\":\"two\"}]]},{\"question_id\":\"q\","
		"\"haystack_sessions\":[[{\"role\":\"user\",\"content\":\"three\"}]]}]",
		TEXTS("one", "two", "three"));
}

static void lost_beginning__of_a_chat_replay(void **state)
{
	(void)state;
	expect_texts("openai-chat",
		"ns\": 7}, {\"id\": \"a\", \"kind\": \"element\"}, {\"id\": \"b\", \"kind\": \"request\", \"requestMessages\": {\"messages\": "
		"[{\"role\": 1, \"content\": [{\"type\": 1, \"text\": \"one\"}]}]}, \"response\": {\"message\": [\"two\"]}}]}]}",
		TEXTS("one", "two"));
}

static void lost_beginning__of_a_tree_of_steps(void **state)
{
	(void)state;
	expect_texts("tree",
		"cription\":\"lost\",\"children\":[{\"node_type\":\"Thought\",\"description\":\"one\",\"children\":[{\"node_type\":"
		"\"Thought\",\"description\":\"two\",\"children\":[]}]}]}]}},\"answer_generation\":{\"query\":\"q\"}}",
		TEXTS("q", "one", "two"));
}

static void lost_beginning__of_a_trajectory(void **state)
{
	(void)state;
	expect_texts("swe-agent",
		"n\"}, {\"role\":\"assistant\",\"content\":\"one\",\"thought\":\"t\",\"action\":\"ls\"},{\"role\":\"user\",\"content\":\"two\"}]}",
		TEXTS("one", "two"));
}

/* All line breaks are lost, but for the one behind a single line that is glued. */
static void glued_to_one_line__is_no_document(void **state)
{
	(void)state;
	expect_texts("sharegpt",
		"{\"conversations\":[{\"from\":\"human\",\"value\":\"one\"}]}{\"conversations\":[{\"from\":\"human\",\"value\":\"two\"}]}"
		"{\"conversations\":[{\"from\":\"human\",\"value\":\"three\"}]}\n",
		TEXTS("one", "two", "three"));
}

/* Nobody says what it was: the format is told by what is left. */
static void what_lost_its_beginning_or_has_a_tail__is_recognised(void **state)
{
	static const struct {
		const char *format, *text;
	} LOST[] = {
		{"longmemeval", "st\"}],[{\"role\":\"user\",\"content\":\"a\"}]]},{\"question_id\":\"q\",\"haystack_sessions\":[[{\"role\":\"user\",\"content\":"
				"\"b\"}]]}]"},
		{"opencode", "e\"}},\"parts\":[{\"type\":\"text\",\"text\":\"a\"}]},{\"info\":{\"id\":\"b\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\","
			     "\"text\":\"b\"}]},{\"info\":{\"id\":\"c\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\",\"text\":\"c\"}]}]}"},
		{"sharegpt", "t\"}]},{\"id\":\"1\",\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]}]"},
		{"openai-chat", "st\"},{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"assistant\",\"content\":null,"
				"\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]"},
		{"gemini-cli", "[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]},{\"role\":\"model\",\"parts\":[{\"text\":\"b\"}]}]\nSegmentation fault\n"},
		{"sharegpt", "[{\"id\":\"1\",\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]}]\nSegmentation fault\n"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(LOST) / sizeof(LOST[0]); i++) {
		struct import import;
		import_text(&import, NULL, LOST[i].text);
		assert_string_equal(import.format, LOST[i].format);
		import_release(&import);
	}
}

/* The list that follows the damage is not the one in which it is. */
static void hole_in_what_describes_a_chat__its_messages_are_found(void **state)
{
	(void)state;
	expect_texts("openai-chat",
		"[{\"task_id\":1,\"info\":{\"task\":{\"actions\":[{\"name\":\"f\",\"kwargs\":{\"a\":\"b ruction\":\"do it\"},\"r\":1},\"traj\":"
		"[{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"assistant\",\"content\":\"two\"}]},{\"task_id\":2,\"traj\":[{\"role\":"
		"\"user\",\"content\":\"three\"}]}]",
		TEXTS("one", "two", "three"));
}

/* What is left of two messages is one that ends in the brackets of an inner list: they close the outer one. */
static void hole_that_closes_the_list__the_rest_goes_on(void **state)
{
	(void)state;
	expect_texts("openai-chat",
		"[{\"task_id\":1,\"traj\":[{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"I'x\",\"type\":\"function\"}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"loose\"}],\"trial\":0},{\"task_id\":2,\"traj\":[{\"role\":\"user\","
		"\"content\":\"two\"}]}]",
		TEXTS("one", "I'x", "loose", "two"));
	/* of a document that is an object, and other lists follow in it */
	expect_texts("gemini-cli",
		"{\"sessionId\":\"s\",\"projectHash\":\"h\",\"messages\":[{\"id\":\"r0\",\"type\":\"user\",\"content\":\"one\"},{\"subject\":\"s\"}],"
		"\"tokens\":{\"input\":5},\"toolCalls\":[{\"id\":\"g\",\"name\":\"f\"}]},{\"id\":\"r3\",\"type\":\"gemini\",\"content\":\"two\"}]}",
		TEXTS("one", "two"));
}

static void list_of_lists__goes_on_with_the_next_list(void **state)
{
	static const char *const DAMAGES[] = {"}\n", "panic: no\n", "[[\"b\"],[{\"lc\":1,\"kwargs\":{\"content\":\"los\n"};
	char text[2048];
	(void)state;

	for (size_t i = 0; i < sizeof(DAMAGES) / sizeof(DAMAGES[0]); i++) {
		snprintf(text, sizeof(text),
			"[[[\"a\"],[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"one\",\"id\":\"h\"}}"
			",{\"x\":1}]],\n%s [[\"b\"],[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"AIMessage\"],\"kwargs\":{\"content\":\"two\","
			"\"id\":\"g\"}},{\"x\":1}]],\n [[\"c\"],[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"AIMessage\"],\"kwargs\":"
			"{\"content\":\"three\",\"id\":\"k\"}},{\"x\":1}]]]\n",
			DAMAGES[i]);
		expect_texts("langchain", text, TEXTS("one", "two", "three"));
	}
}

/* An element was written twice, the first time not to its end: all that follows lies in it, and the brackets fit nearly. */
static void half_of_an_element__the_whole_one_behind_it_is_one(void **state)
{
	(void)state;
	expect_texts("swe-agent",
		"{\"trajectory\":[{\"action\":\"ls\",\"observation\":\"a\",\"response\":\"one\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]},"
		"{\"action\":\"pwd\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"},\n"
		"{\"action\":\"pwd\",\"observation\":\"b\",\"response\":\"two\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]},"
		"{\"action\":\"id\",\"observation\":\"c\",\"response\":\"three\",\"messages\":[]}],\"history\":[{\"role\":\"user\",\"content\":\"h1\"},"
		"{\"role\":\"assistant\",\"content\":\"h2\"}]}",
		TEXTS("h1", "h2"));
}

static void message_without_its_role__is_told_by_its_parts(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, "opencode",
		"le\",\"diffs\":[{\"file\":\"f\"}]}},\"parts\":[{\"type\":\"text\",\"text\":\"one\"}]},{\"info\":{\"id\":\"msg_2\"},\"parts\":[{\"type\":"
		"\"step-start\"},{\"type\":\"text\",\"text\":\"two\"}]},{\"info\":{\"id\":\"msg_3\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\","
		"\"text\":\"three\"}]}]}");
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}");
	expect_record(&import, 1, "{\"id\":\"msg_2\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}");
	expect_record(&import, 2, "{\"id\":\"msg_3\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"three\"}]}");
	assert_true(has_warning(&import, 0, "by its parts it is the user's"));
	assert_true(has_warning(&import, 0, "by its parts it is the model's"));
	import_release(&import);
}

/* Gemini CLI writes a record again when its calls are there. */
static void record_that_comes_too_late__does_not_undo_what_came_after_it(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, "gemini-cli",
		"{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n{\"id\":\"a\",\"type\":\"user\",\"content\":\"go\"}\n{\"id\":\"b\",\"type\":\"gemini\","
		"\"content\":\"yes\",\"toolCalls\":[{\"id\":\"c\",\"name\":\"f\",\"args\":{},\"result\":[{\"functionResponse\":{\"response\":"
		"{\"output\":\"r\"}}}]}]}\n{\"id\":\"b\",\"type\":\"gemini\",\"content\":\"yes\"}\n");
	expect_counts(&import, 3, 1, 1, 2);
	assert_true(has_warning(&import, 4, "lines are out of order"));
	import_release(&import);
}

/* A piece of a streamed message behind its metadata is a piece, too: the others do not replace it. */
static void pair_that_was_turned__is_a_pair(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, "langchain",
		"[[{\"langgraph_checkpoint_ns\":\"n\"},{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"AIMessageChunk\"],\"kwargs\":"
		"{\"content\":\"one \",\"id\":\"g\",\"additional_kwargs\":{}}}],[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\","
		"\"AIMessageChunk\"],\"kwargs\":{\"content\":\"two\",\"id\":\"g\",\"additional_kwargs\":{}}},"
		"{\"langgraph_checkpoint_ns\":\"n\"}]]");
	expect_counts(&import, 1, 0, 0, 0);
	expect_record(&import, 0, "{\"id\":\"g\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"one two\"}]}");
	import_release(&import);
}

/* The torn line is the first of its kind that is followed by such a record: the next lines tell how those begin. */
static void torn_line_that_goes_on__in_a_record_of_a_kind_not_met_before(void **state)
{
	(void)state;
	expect_texts("codex",
		"{\"id\":\"x0\",\"timestamp\":\"t\",\"instructions\":null,\"git\":{}}\n{\"re{\"type\":\"message\",\"role\":\"user\",\"content\":"
		"[{\"type\":\"input_text\",\"text\":\"one\"}]}\n{\"record_type\":\"state\"}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
		"[{\"type\":\"output_text\",\"text\":\"two\"}]}\n",
		TEXTS("one", "two"));
}

/* NULs over the end of what was printed, and over the line break. */
static void nuls_in_front_of_a_typed_line__it_is_typed(void **state)
{
	static const char TEXT[] = "# aider chat started at 2024-08-06 08:47:10\n\n> aider v1  \n> Repo-m\0\0\0\0#### /add one  \n#### two  \n\nSure.\n";
	struct import import;
	(void)state;

	assert_int_equal(import_read("aider", TEXT, sizeof(TEXT) - 1, &import, NULL), 0);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"/add one\\ntwo\"}");
	expect_record(&import, 1, "{\"role\":\"assistant\",\"content\":\"Sure.\"}");
	assert_true(has_warning(&import, 4, "NULs"));
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_beginning__of_an_agent_file),
		cmocka_unit_test(lost_beginning__of_a_haystack),
		cmocka_unit_test(lost_beginning__of_a_chat_replay),
		cmocka_unit_test(lost_beginning__of_a_tree_of_steps),
		cmocka_unit_test(lost_beginning__of_a_trajectory),
		cmocka_unit_test(glued_to_one_line__is_no_document),
		cmocka_unit_test(what_lost_its_beginning_or_has_a_tail__is_recognised),
		cmocka_unit_test(hole_in_what_describes_a_chat__its_messages_are_found),
		cmocka_unit_test(hole_that_closes_the_list__the_rest_goes_on),
		cmocka_unit_test(list_of_lists__goes_on_with_the_next_list),
		cmocka_unit_test(half_of_an_element__the_whole_one_behind_it_is_one),
		cmocka_unit_test(message_without_its_role__is_told_by_its_parts),
		cmocka_unit_test(record_that_comes_too_late__does_not_undo_what_came_after_it),
		cmocka_unit_test(pair_that_was_turned__is_a_pair),
		cmocka_unit_test(torn_line_that_goes_on__in_a_record_of_a_kind_not_met_before),
		cmocka_unit_test(nuls_in_front_of_a_typed_line__it_is_typed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
