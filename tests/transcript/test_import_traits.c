/* SPDX-License-Identifier: MIT */
/* Trajectories, agents' files and data sets, trait by trait: what a naive reader of each gets wrong. */
#include "transcript/imported.h"

/* clang-format off */
#define J(...) #__VA_ARGS__
/* clang-format on */

static void swe_agent__demonstrations_and_prompts_are_left_out_and_what_the_environment_says_is_injected(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"history":[{"role":"system","content":"s","agent":"a"},{"role":"user","content":"demo","is_demo":true},
			{"role":"user","content":"fix"},{"role":"assistant","content":"<command>ls</command>","action":"ls"},
			{"role":"user","content":"a b"}],"trajectory":[]}));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"fix\"}");
	expect_record(&import, 1, "{\"role\":\"assistant\",\"content\":\"<command>ls</command>\"}");
	expect_source(&import, 1, "{\"action\":\"ls\"}");
	expect_record(&import, 2, "{\"role\":\"user\",\"content\":\"a b\",\"origin\":\"injected\"}");
	assert_true(has_warning(&import, 0, "1 demonstration"));
	assert_true(has_warning(&import, 0, "1 system message"));
	import_release(&import);
}

static void swe_agent__a_result_answers_the_first_of_its_ids_and_the_others_stay_open(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, "swe-agent",
		J({"history":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}},
			{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]},
			{"role":"tool","content":"out","tool_call_ids":["c1","c2"]}]}));
	expect_counts(&import, 3, 2, 1, 2);
	expect_record(&import, 2, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"out\"}");
	import_release(&import);
}

static void mini_swe_agent__usage_and_time_come_from_the_response_and_the_exit_is_no_message(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"trajectory_format":"mini-swe-agent-1.1","info":{},"messages":[{"role":"user","content":"fix"},
			{"role":"assistant","content":"go","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}],
			"extra":{"timestamp":1775809100.5,"response":{"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}}},
			{"role":"exit","content":"diff"}]}));
	expect_counts(&import, 2, 1, 0, 1);
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":\"go\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"bash\",\"arguments\":\"{}\"}],"
		"\"ts\":\"2026-04-10T08:18:20.500Z\",\"usage\":{\"input\":5,\"cached\":4,\"output\":2}}");
	expect_source(&import, 0,
		"{\"document\":{\"trajectory_format\":\"mini-swe-agent-1.1\",\"info\":{},\"exit\":{\"role\":\"exit\",\"content\":\"diff\"}}}");
	import_release(&import);
}

#define ACTION(id, call)                                                                                     \
	"{\"id\":\"" id "\",\"timestamp\":\"t\",\"source\":\"agent\",\"thought\":[],\"tool_call\":{\"id\":\"" call \
	"\",\"name\":\"f\",\"arguments\":\"{}\"},\"llm_response_id\":\"r\",\"kind\":\"ActionEvent\"}\n"

static void openhands__parallel_actions_are_one_message_and_the_critic_is_injected(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		ACTION("a", "c1") ACTION("b", "c2")
			J({"id":"m","timestamp":"t","source":"user","llm_message":{"role":"user","content":[{"type":"text",
			"text":"The task appears incomplete (iteration 1/3, …"}]},"kind":"MessageEvent"}) "\n"
			J({"id":"z","timestamp":"t","source":"agent","kind":"NewEvent"}) "\n");
	expect_counts(&import, 2, 2, 0, 1);
	expect_record(&import, 0,
		"{\"id\":\"a\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"},"
		"{\"id\":\"c2\",\"name\":\"f\",\"arguments\":\"{}\"}],\"ts\":\"t\"}");
	assert_non_null(strstr(import.conversations[0].records[1].data, "\"origin\":\"injected\""));
	assert_true(has_warning(&import, 4, "event of the kind \"NewEvent\""));
	import_release(&import);
}

static void aider__first_bytes_and_the_models_own_marks_are_told_apart(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"lost beginning\n\n# aider chat started at 2024-08-06 08:47:10\n\n> v1  \n\n#### one  \n#### two  \n\n"
		"Yes.\n#### A heading\n> quoted\n\n> Tokens: 5  \n\n#### # Fix any errors below, if possible.  \n");
	assert_int_equal(import.conversation_count, 2);
	expect_record_of(&import, 0, 0, "{\"role\":\"assistant\",\"content\":\"lost beginning\"}");
	expect_record_of(&import, 1, 0, "{\"role\":\"user\",\"content\":\"one\\ntwo\"}");
	expect_record_of(&import, 1, 1, "{\"role\":\"assistant\",\"content\":\"Yes.\\n#### A heading\\n> quoted\"}");
	expect_record_of(&import, 1, 2,
		"{\"role\":\"user\",\"content\":\"# Fix any errors below, if possible.\",\"origin\":\"injected\"}");
	assert_true(has_warning(&import, 11, "2 lines with aider's marks"));
	assert_int_equal(import.conversations[1].title.len, 19);
	import_release(&import);
}

static void letta__messages_are_sorted_and_envelopes_and_alerts_have_an_origin(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"agent_type":"m","messages":[
			{"role":"user","content":"{\"type\":\"heartbeat\",\"time\":\"t\"}","created_at":"2025-03-24T03:00:02+00:00"},
			{"role":"user","content":"{\"type\":\"user_message\",\"time\":\"t\"}","created_at":"2025-03-24T03:00:01+00:00"},
			{"role":"system","content":"{\"type\":\"system_alert\"}","created_at":"2025-03-24T03:00:03+00:00"},
			{"role":"system","content":"prompt","created_at":"2025-03-24T03:00:00+00:00"}]}));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 0,
		"{\"role\":\"user\",\"content\":\"{\\\"type\\\":\\\"user_message\\\",\\\"time\\\":\\\"t\\\"}\",\"ts\":\"2025-03-24T03:00:01+00:00\"}");
	assert_non_null(strstr(import.conversations[0].records[1].data, "\"origin\":\"injected\""));
	assert_non_null(strstr(import.conversations[0].records[2].data, "\"origin\":\"summary\""));
	import_release(&import);
}

static void letta__results_stand_in_the_order_of_the_calls_and_once(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"agents":[{"in_context_message_ids":[],"messages":[{"id":"m-1","role":"approval","content":[],"tool_calls":[
			{"id":"c1","function":{"name":"a","arguments":"{}"}},{"id":"c2","function":{"name":"b","arguments":"{}"}}]},
			{"id":"m-2","role":"approval","approvals":[{"tool_call_id":"c2","func_response":"2"}]},
			{"id":"m-3","role":"tool","tool_returns":[{"tool_call_id":"c2","func_response":"2"},
				{"tool_call_id":"c1","func_response":"1","status":"error"}]}]}]}));
	expect_counts(&import, 3, 2, 2, 2);
	expect_record(&import, 1,
		"{\"id\":\"m-3\",\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"1\",\"is_error\":true}");
	expect_record(&import, 2, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"2\"}");
	import_release(&import);
}

#define CHUNK(id, kwargs)                                                                                    \
	"[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"AIMessageChunk\"],\"kwargs\":{\"id\":\"" id               \
	"\",\"additional_kwargs\":{}," kwargs "}},{\"langgraph_checkpoint_ns\":\"n\"}]"

static void langchain__pieces_are_joined_also_when_their_id_changes(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"[" CHUNK("a", "\"content\":\"\\ud83d\",\"tool_call_chunks\":[{\"id\":\"c1\",\"name\":\"f\",\"args\":\"{\\\"x\",\"index\":0}]") ","
		CHUNK("b", "\"content\":\"\\ude00!\",\"tool_call_chunks\":[{\"args\":\"\\\":1}\",\"index\":0}]") "]");
	expect_counts(&import, 1, 1, 0, 0);
	expect_record(&import, 0,
		"{\"id\":\"a\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\\ud83d\\ude00!\"}],"
		"\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}]}");
	import_release(&import);
}

static void sharegpt__calls_get_ids_and_an_observation_without_a_call_is_told(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J([{"conversations":[{"from":"human","value":"hi"},
			{"from":"function_call","value":"{\"name\":\"f\",\"arguments\":{\"a\":1}}"},{"from":"observation","value":"1"},
			{"from":"observation","value":"2"}]}]));
	expect_counts(&import, 4, 1, 2, 3);
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"f\",\"arguments\":{\"a\":1}}]}");
	expect_record(&import, 2, "{\"role\":\"tool\",\"tool_call_id\":\"call-1\",\"content\":\"1\"}");
	expect_record(&import, 3, "{\"role\":\"tool\",\"tool_call_id\":\"observation-1\",\"content\":\"2\"}");
	assert_true(has_warning(&import, 0, "1 observation without a call"));
	import_release(&import);
}

static void trees__the_head_stands_on_the_best_replies_and_branches_stay(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"prompt":{"message_id":"a","text":"q","role":"prompter","replies":[
			{"message_id":"b","text":"worse","role":"assistant","rank":1,"replies":[
				{"message_id":"c","text":"and?","role":"prompter","replies":[]}]},
			{"message_id":"d","text":"better","role":"assistant","rank":0,"replies":[]}]}}));
	expect_counts(&import, 4, 0, 0, 1);
	expect_record(&import, 1, "{\"id\":\"d\",\"role\":\"assistant\",\"content\":\"better\"}");
	expect_record(&import, 2, "{\"id\":\"b\",\"parent\":\"a\",\"role\":\"assistant\",\"content\":\"worse\"}");
	expect_record(&import, 3, "{\"id\":\"c\",\"parent\":\"b\",\"role\":\"user\",\"content\":\"and?\"}");
	import_release(&import);
}

static void toolbench__a_thought_with_its_call_is_one_message(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"tree":{"tree":{"node_type":"Action Input","description":"","children":[
			{"node_type":"Thought","description":"hm","expand_num":0,"children":[{"node_type":"Action","description":"f","children":[
			{"node_type":"Action Input","description":"{}","observation":"none","children":[]}]}]}]}},"answer_generation":{"query":"where?"}}));
	expect_counts(&import, 3, 1, 1, 2);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"where?\"}");
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":\"hm\",\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"f\",\"arguments\":\"{}\"}]}");
	import_release(&import);
}

static void locomo__sessions_stand_in_the_order_of_their_numbers_with_captions_and_times(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J({"sample_id":"s","conversation":{"speaker_a":"Ann","speaker_b":"Bo","session_2":[{"speaker":"Ann","dia_id":"D2:1","text":"two"}],
			"session_1_date_time":"12:05 am on 9 May, 2023","session_1":[{"speaker":"Bo","dia_id":"D1:1","text":"see","blip_caption":"a dog"}]}}));
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 0,
		"{\"id\":\"D1:1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"text\",\"text\":"
		"\"[photo: a dog]\"}],\"ts\":\"2023-05-09T00:05:00\"}");
	expect_record(&import, 1, "{\"id\":\"D2:1\",\"role\":\"user\",\"content\":\"two\"}");
	assert_true(has_warning(&import, 0, "speaker_a is taken for the user"));
	import_release(&import);
}

static void longmemeval__dates_and_ids_belong_to_chats_by_position(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		J([{"question_id":"q","haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/21 (Sun) 02:21","2023/05/19 (Fri) 02:21"],
			"haystack_session_ids":["one","none","two"],"haystack_sessions":[[{"role":"assistant","content":"a"}],[],
			[{"role":"user","content":"b","has_answer":true}]]}]));
	assert_int_equal(import.conversation_count, 2);
	expect_record_of(&import, 0, 0, "{\"role\":\"assistant\",\"content\":\"a\",\"ts\":\"2023-05-20T02:21:00\"}");
	expect_record_of(&import, 1, 0, "{\"role\":\"user\",\"content\":\"b\",\"ts\":\"2023-05-19T02:21:00\"}");
	assert_memory_equal(import.conversations[1].foreign_id.data, "two", 3);
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			swe_agent__demonstrations_and_prompts_are_left_out_and_what_the_environment_says_is_injected),
		cmocka_unit_test(swe_agent__a_result_answers_the_first_of_its_ids_and_the_others_stay_open),
		cmocka_unit_test(mini_swe_agent__usage_and_time_come_from_the_response_and_the_exit_is_no_message),
		cmocka_unit_test(openhands__parallel_actions_are_one_message_and_the_critic_is_injected),
		cmocka_unit_test(aider__first_bytes_and_the_models_own_marks_are_told_apart),
		cmocka_unit_test(letta__messages_are_sorted_and_envelopes_and_alerts_have_an_origin),
		cmocka_unit_test(letta__results_stand_in_the_order_of_the_calls_and_once),
		cmocka_unit_test(langchain__pieces_are_joined_also_when_their_id_changes),
		cmocka_unit_test(sharegpt__calls_get_ids_and_an_observation_without_a_call_is_told),
		cmocka_unit_test(trees__the_head_stands_on_the_best_replies_and_branches_stay),
		cmocka_unit_test(toolbench__a_thought_with_its_call_is_one_message),
		cmocka_unit_test(locomo__sessions_stand_in_the_order_of_their_numbers_with_captions_and_times),
		cmocka_unit_test(longmemeval__dates_and_ids_belong_to_chats_by_position),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
