/* SPDX-License-Identifier: MIT */
/* The reader of OpenAI's chat messages, trait by trait, on small inputs. */
#include "transcript/imported.h"

#define SYSTEM "{\"role\":\"system\",\"content\":\"be good\"}"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MODEL(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define CALL(id)                                                                                             \
	"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" id "\",\"type\":\"function\"," \
	"\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"a\\\": 1}\"}}]}"
#define TOOL(id, text)                                                                                       \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"ls\",\"content\":\"" text "\"}"

static void bare_messages__become_flat_calls_without_the_system_prompt(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"[" SYSTEM "," USER("hi") "," CALL("c1") "," TOOL("c1", "x") "," MODEL("done") "]");
	assert_string_equal(import.format, "openai-chat");
	assert_int_equal(import.conversation_count, 1);
	expect_counts(&import, 4, 1, 1, 3);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"hi\"}");
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"name\":\"ls\","
		"\"arguments\":\"{\\\"a\\\": 1}\"}]}");
	expect_source(&import, 1, NULL);
	expect_record(
		&import, 2, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"name\":\"ls\",\"content\":\"x\"}");
	assert_true(has_warning(&import, 0, "left out: 1 system message ("));
	import_release(&import);
}

static void members_nobody_knows__are_kept(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"[" SYSTEM ",{\"role\":\"assistant\",\"refusal\":null,\"score\":1e400,\"tool_calls\":[{"
		"\"id\":\"c1\",\"index\":0,"
		"\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\",\"strict\":true}},"
		"{\"id\":\"c2\",\"type\":\"custom\",\"custom\":{\"name\":\"sh\",\"input\":\"ls\"}}]}]");
	expect_counts(&import, 1, 2, 0, 0);
	expect_record(&import, 0,
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"name\":\"ls\","
		"\"arguments\":\"{}\","
		"\"index\":0,\"strict\":true},{\"id\":\"c2\",\"name\":\"sh\",\"arguments\":\"ls\",\"type\":"
		"\"custom\"}]}");
	expect_source(&import, 0, "{\"refusal\":null,\"score\":1e400}");
	import_release(&import);
}

static void one_message_a_line__is_one_conversation(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, SYSTEM "\n" USER("hi") "\n" CALL("c1") "\n" TOOL("c1", "x") "\n");
	assert_string_equal(import.format, "openai-chat");
	assert_int_equal(import.conversation_count, 1);
	expect_counts(&import, 3, 1, 1, 2);
	import_release(&import);
}

static void trials__are_conversations_of_their_own(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"[{\"task_id\":7,\"trial\":0,\"traj\":[" USER("hi") "," MODEL(
			"yes") "]},"
			       "{\"task_id\":7,\"trial\":1,\"traj\":[" USER("hi") "," MODEL("yes") "," USER(
				       "ok") "]}]");
	assert_string_equal(import.format, "openai-chat");
	assert_int_equal(import.conversation_count, 2);
	assert_int_equal(import.conversations[0].messages, 2);
	assert_int_equal(import.conversations[1].messages, 3);
	assert_memory_equal(import.conversations[1].foreign_id.data, "task-7-trial-1", 14);
	import_release(&import);
}

static void growing_requests__are_one_conversation_and_another_begins_where_they_differ(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"model\":\"x\",\"messages\":[" SYSTEM
		"," USER("hi") "]}\n"
			       "{\"model\":\"x\",\"messages\":[" SYSTEM "," USER("hi") "," MODEL(
				       "yes") "," USER("more") "]}\n"
							       "{\"model\":\"x\",\"messages\":[" SYSTEM
							       "," USER("other") "]}\n");
	assert_string_equal(import.format, "openai-chat");
	assert_int_equal(import.conversation_count, 2);
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 2, "{\"role\":\"user\",\"content\":\"more\"}");
	expect_record_of(&import, 1, 0, "{\"role\":\"user\",\"content\":\"other\"}");
	import_release(&import);
}

static void recorded_requests__are_read_out_of_a_cassette(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"interactions\":[{\"request\":{\"method\":\"POST\",\"content\":{\"messages\":[" USER(
			"hi") "]}},"
			      "\"response\":{}}]}");
	assert_string_equal(import.format, "openai-chat");
	expect_counts(&import, 1, 0, 0, 0);
	import_release(&import);
}

#define PART(text) "[{\"type\":1,\"text\":\"" text "\"},{\"type\":3,\"cacheType\":\"ephemeral\"}]"
#define NUMBERED(role, text) "{\"role\":" role ",\"content\":" PART(text) "}"
#define REQUEST(messages, reply)                                                                             \
	"{\"kind\":\"request\",\"requestMessages\":{\"messages\":[" messages                                 \
	"]},\"response\":{\"type\":\"success\","                                                             \
	"\"message\":[\"" reply "\"]}}"

static void chat_replay__has_numbers_for_roles_and_the_last_reply_beside_the_requests(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"prompts\":[{\"prompt\":\"make it\",\"logs\":[{\"kind\":\"element\"}," REQUEST(
			NUMBERED("0", "sys") "," NUMBERED("1", "<environment_info>x") "," NUMBERED("1", "hi"),
			"I will") "]},{\"prompt\":\"make it\",\"logs\":[" REQUEST(NUMBERED("0",
											  "sys 2") "," NUMBERED("1",
											  "<environment_info>"
											  "x") "," NUMBERED("1",
											  "hi") ",{\"role\":"
												"2,"
												"\"content\":"
												"[{\"type\":"
												"1,\"text\":"
												"\"I "
												"will\"}],"
												"\"toolCalls"
												"\":[{\"id\":"
												"\"c1\","
												"\"type\":"
												"\"function\""
												","
												"\"function\""
												":{\"name\":"
												"\"ls\","
												"\"arguments"
												"\":\"{}\"}}]"
												"},{\"role\":"
												"3,"
												"\"toolCallId"
												"\":\"c1\","
												"\"content\""
												":" PART(
													"ok") "}",
			"Done") "]}]}");
	assert_string_equal(import.format, "openai-chat");
	assert_int_equal(import.conversation_count, 1);
	expect_counts(&import, 5, 1, 1, 4);
	expect_record(&import, 0,
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"<environment_info>x\"}],"
		"\"origin\":\"injected\"}");
	expect_record(&import, 2,
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I "
		"will\"}],\"tool_calls\":[{\"id\":\"c1\","
		"\"name\":\"ls\",\"arguments\":\"{}\"}]}");
	expect_record(&import, 3,
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]"
		"}");
	expect_record(
		&import, 4, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Done\"}]}");
	import_release(&import);
}

static void function_calls_of_the_old_kind__are_given_ids(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"[" USER("hi") ",{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"ls\","
			       "\"arguments\":\"{}\"}},"
			       "{\"role\":\"function\",\"name\":\"ls\",\"content\":\"x\"}]");
	expect_counts(&import, 3, 1, 1, 2);
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"function-1\",\"name\":"
		"\"ls\",\"arguments\":\"{}\"}]}");
	expect_record(&import, 2,
		"{\"role\":\"tool\",\"tool_call_id\":\"function-1\",\"name\":\"ls\",\"content\":\"x\"}");
	import_release(&import);
}

static void list_that_breaks_off__keeps_its_whole_messages(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, "[" SYSTEM ",\n" USER("hi") ",\n" MODEL("yes") ",\n{\"role\":\"us");
	expect_counts(&import, 2, 0, 0, 1);
	assert_true(has_warning(&import, 4, "the document breaks off"));
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bare_messages__become_flat_calls_without_the_system_prompt),
		cmocka_unit_test(members_nobody_knows__are_kept),
		cmocka_unit_test(one_message_a_line__is_one_conversation),
		cmocka_unit_test(trials__are_conversations_of_their_own),
		cmocka_unit_test(growing_requests__are_one_conversation_and_another_begins_where_they_differ),
		cmocka_unit_test(recorded_requests__are_read_out_of_a_cassette),
		cmocka_unit_test(chat_replay__has_numbers_for_roles_and_the_last_reply_beside_the_requests),
		cmocka_unit_test(function_calls_of_the_old_kind__are_given_ids),
		cmocka_unit_test(list_that_breaks_off__keeps_its_whole_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
