/* SPDX-License-Identifier: MIT */
/*
 * Trajectories, agents' files and data sets, a small one of each shape: recognised and counted; cut and changed at every
 * byte; each allocation failing.
 */
#include "transcript/imported.h"

#include <stdio.h>
#include <stdlib.h>
#include "support/fail.h"

/* clang-format off */
/* JSON as it is, with what looks like white space made one space. */
#define J(...) #__VA_ARGS__

static const char SWE[] = J({"environment":"e","info":{"exit_status":"submitted"},"history":[
	{"role":"system","content":"s","agent":"main"},{"role":"user","content":"demo","agent":"main","is_demo":true},
	{"role":"user","content":"fix it","agent":"main"},
	{"role":"assistant","content":"look","thought":"look","action":"ls","agent":"main","tool_calls":[
		{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},
	{"role":"tool","content":"a b","agent":"main","tool_call_ids":["c1"]},
	{"role":"assistant","content":[{"type":"text","text":"done"}],"agent":"main",
		"thinking_blocks":[{"type":"thinking","thinking":"t","signature":"S="}]}],
	"trajectory":[{"action":"ls","observation":"a b","response":"look","state":{"d":"/"}}]});
static const char SWE_STEPS[] = J({"trajectory":[{"action":"ls","observation":"a b","response":"look"},
	{"action":"x","observation":"","response":"more"}]});
static const char MINI[] = J({"trajectory_format":"mini-swe-agent-1.1","instance_id":"i-1","info":{"mini_version":"2"},
	"messages":[{"role":"system","content":"s"},{"role":"user","content":"fix it"},
	{"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}],
		"extra":{"response":{"usage":{"prompt_tokens":5,"completion_tokens":2}},"timestamp":1775809100.5}},
	{"role":"tool","tool_call_id":"c1","content":"out","extra":{"returncode":0}},
	{"role":"user","content":"no call"},{"role":"exit","content":"diff","extra":{"exit_status":"Submitted"}}]});
static const char MINI_OLD[] = J([{"role":"system","content":"s"},{"role":"user","content":"fix it"},
	{"role":"assistant","content":"```bash\nls\n```"},{"role":"user","content":"<returncode>0</returncode>"}]);
static const char HANDS[] = J({"instance_id":"i-1","history":[
	{"id":0,"timestamp":"t","source":"agent","action":"system","args":{"content":"s"}},
	{"id":1,"timestamp":"t","source":"user","action":"message","args":{"content":"fix","image_urls":["data:image/png;base64,AA"]}},
	{"id":2,"timestamp":"t","source":"environment","observation":"recall","content":"x","cause":1,
		"extras":{"repo_instructions":"be kind","microagent_knowledge":[{"name":"g","content":"k"}]}},
	{"id":3,"timestamp":"t","source":"agent","action":"run","args":{"command":"ls"},"tool_call_metadata":{"tool_call_id":"c1",
		"total_calls_in_response":2,"model_response":{"id":"r1","usage":{"prompt_tokens":5,"completion_tokens":2},"choices":[{"message":
		{"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{}"}},
		{"id":"c2","type":"function","function":{"name":"read","arguments":"{}"}}]}}]}}},
	{"id":4,"timestamp":"t","source":"agent","action":"read","args":{},"tool_call_metadata":{"tool_call_id":"c2",
		"total_calls_in_response":2,"model_response":{"id":"r1","choices":[{"message":{"content":"look"}}]}}},
	{"id":5,"timestamp":"t","source":"agent","observation":"run","content":"a","cause":3,"extras":{},"tool_call_metadata":{"tool_call_id":"c1"}},
	{"id":6,"timestamp":"t","source":"agent","observation":"error","content":"no","cause":4,"extras":{},"tool_call_metadata":{"tool_call_id":"c2"}},
	[{"id":7,"timestamp":"t","source":"agent","action":"run","args":{"command":"x","thought":"hm"}},
		{"id":8,"timestamp":"t","source":"agent","observation":"run","content":"y","cause":7,"extras":{}}],
	{"id":9,"timestamp":"t","source":"agent","observation":"error","content":"bad","extras":{}},
	{"id":10,"timestamp":"t","source":"agent","action":"condensation","args":{"summary":"so far"}}]});
static const char HANDS_EVENTS[] =
	J({"id":"e1","timestamp":"t","source":"agent","system_prompt":{"text":"s"},"kind":"SystemPromptEvent"}) "\n"
	J({"id":"e2","timestamp":"t","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"hi"}]},
		"extended_content":[{"type":"text","text":"skill"}],"kind":"MessageEvent"}) "\n"
	J({"id":"e3","timestamp":"t","source":"agent","thought":[{"type":"text","text":"look"}],
		"thinking_blocks":[{"type":"thinking","thinking":"t","signature":"S="}],"tool_call_id":"c1",
		"tool_call":{"id":"c1","name":"ls","arguments":"{}"},"llm_response_id":"r1","kind":"ActionEvent"}) "\n"
	J({"id":"e4","timestamp":"t","source":"agent","thought":[],"tool_call_id":"c2",
		"tool_call":{"id":"c2","name":"cat","arguments":"{}"},"llm_response_id":"r1","kind":"ActionEvent"}) "\n"
	J({"id":"e5","timestamp":"t","source":"environment","tool_name":"ls","tool_call_id":"c1",
		"observation":{"content":[{"type":"text","text":"a"}],"is_error":false},"kind":"ObservationEvent"}) "\n"
	J({"id":"e6","timestamp":"t","source":"agent","tool_name":"cat","tool_call_id":"c2","error":"no","kind":"AgentErrorEvent"}) "\n"
	J({"id":"e7","timestamp":"t","source":"environment","summary":"so far","kind":"Condensation"}) "\n"
	J({"id":"e8","timestamp":"t","source":"environment","kind":"WonderEvent"}) "\n";
static const char AIDER[] = "the end of an older chat  \n\n# aider chat started at 2024-08-06 08:47:10\n\n> aider v1  \n\n"
	"#### Add tests  \n#### for it  \n\nSure.\n\n> not aider's\n#### Nor this\n\n> Tokens: 5  \n\n#### /run ls  \n> one\ntwo\nthree  \n\nOk.\n\n"
	"# aider chat started at 2024-08-06 08:50:00\n\n> aider v1  \n";
static const char LETTA[] = J({"agent_type":"memgpt_agent","name":"n","messages":[
	{"role":"tool","content":[{"type":"text","text":"ok"}],"tool_call_id":"c1","created_at":"2025-03-24T03:00:03.000000+00:00"},
	{"role":"system","content":[{"type":"text","text":"s"}],"created_at":"2025-03-24T03:00:00.000000+00:00"},
	{"role":"assistant","content":[{"type":"text","text":"hm"}],"in_context":true,"created_at":"2025-03-24T03:00:02.000000+00:00",
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"send","arguments":"{}"}}]},
	{"role":"user","content":[{"type":"text","text":"{\"type\":\"login\",\"time\":\"t\"}"}],"created_at":"2025-03-24T03:00:01.000000+00:00"},
	{"role":"system","content":[{"type":"text","text":"{\"type\":\"system_alert\",\"message\":\"hidden\"}"}],"created_at":"2025-03-24T03:00:04.000000+00:00"},
	{"role":"user","content":[{"type":"text","text":"{\"type\":\"user_message\",\"message\":\"hi\",\"time\":\"t\"}"}],"created_at":"2025-03-24T03:00:05.000000+00:00"}]});
static const char LETTA_AGENTS[] = J({"agents":[{"name":"n","in_context_message_ids":["message-1"],"messages":[
	{"id":"message-1","role":"user","content":[{"type":"text","text":"go"}],"created_at":"t1"},
	{"id":"message-2","role":"approval","content":[{"type":"reasoning","is_native":true,"reasoning":"r","signature":"S="}],"created_at":"t2",
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]},
	{"id":"message-3","role":"approval","created_at":"t3","approvals":[{"tool_call_id":"c2","status":"success","func_response":"2"},
		{"tool_call_id":"c1","status":"error","func_response":"1"}]},
	{"id":"message-4","role":"tool","content":[],"tool_call_id":"c2","created_at":"t4","tool_returns":[
		{"tool_call_id":"c2","status":"success","func_response":"2"},{"tool_call_id":"c1","status":"error","func_response":"1"}]},
	{"id":"message-5","role":"approval","content":[],"created_at":"t5","tool_calls":[{"id":"c3","type":"function","function":{"name":"a","arguments":"{}"}}]},
	{"id":"message-6","role":"approval","created_at":"t6","approvals":[{"tool_call_id":"c3","status":"success","func_response":"3"}]}]}],"groups":[]});
static const char LANG_STREAM[] = J([["values",{"messages":[{"lc":1,"type":"constructor","id":["m","HumanMessage"],"kwargs":{"content":"hi","id":"h1","additional_kwargs":{}}}]}],
	["messages",[{"lc":1,"type":"constructor","id":["m","AIMessageChunk"],"kwargs":{"content":"","id":"a1","additional_kwargs":{"reasoning":{"summary":[{"text":"th"}]}},
		"tool_call_chunks":[{"name":"ls","args":"","id":"c1","index":0}]}},{"langgraph_checkpoint_ns":"n:1"}]],
	["messages",[{"lc":1,"type":"constructor","id":["m","AIMessageChunk"],"kwargs":{"content":"lo","id":"a2","additional_kwargs":{},
		"tool_call_chunks":[{"args":"{\"a\":","index":0}]}},{"langgraph_checkpoint_ns":"n:1"}]],
	["messages",[{"lc":1,"type":"constructor","id":["m","AIMessageChunk"],"kwargs":{"content":[{"type":"text","text":"ok"}],"id":"a1","additional_kwargs":{},
		"tool_call_chunks":[{"args":"1}","index":0}],"usage_metadata":{"input_tokens":3,"output_tokens":1}}},{"langgraph_checkpoint_ns":"n:1"}]],
	["messages",[{"lc":1,"type":"constructor","id":["m","ToolMessage"],"kwargs":{"content":"out","id":"t1","tool_call_id":"c1","status":"error","additional_kwargs":{}}},{"langgraph_checkpoint_ns":"n:2"}]]]);
static const char LANG_LIST[] = J([{"type":"human","data":{"content":"hi","additional_kwargs":{}}},
	{"type":"ai","data":{"content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}],"additional_kwargs":{},"tool_calls":[{"name":"ls","args":{},"id":"c1"}]}},
	{"type":"tool","data":{"content":"out","additional_kwargs":{},"tool_call_id":"c1"}},
	{"type":"system","data":{"content":"s","additional_kwargs":{}}},
	{"type":"human","data":{"content":"hi","additional_kwargs":{}}}]);
static const char SHAREGPT[] = J([{"id":"x","tools":"[]","conversations":[{"from":"system","value":"s"},{"from":"human","value":"hi"},
	{"from":"function_call","value":"[{\"name\":\"a\",\"arguments\":{\"x\":1}},{\"name\":\"b\",\"arguments\":{}}]"},
	{"from":"observation","value":"1"},{"from":"observation","value":"2"},{"from":"gpt","value":"ok","w":1},
	{"from":"function_call","value":"call b"},{"from":"observation","value":"3"},{"from":"elf","value":"?"}]},
	{"conversations":[{"from":"human","value":"ho"}]}]);
static const char TREE[] = J({"message_tree_id":"a","prompt":{"message_id":"a","text":"q","role":"prompter","replies":[
	{"message_id":"b","text":"worse","role":"assistant","rank":1,"replies":[{"message_id":"c","text":"and?","role":"prompter","replies":[]}]},
	{"message_id":"d","text":"better","role":"assistant","rank":0,"replies":[]}]}}) "\n";
static const char TREE_FLAT[] = J([{"user_message_id":"b","parent_message_id":"a","text":"one","role":"assistant"},
	{"user_message_id":"a","parent_message_id":null,"text":"q","role":"prompter"},
	{"user_message_id":"c","parent_message_id":"a","text":"two","role":"assistant"},
	{"user_message_id":"d","parent_message_id":"lost","text":"x","role":"prompter"}]);
static const char SEARCH[] = J({"win":true,"tree":{"size":9,"tree":{"node_type":"Action Input","description":"","children":[
	{"node_type":"Thought","description":"hm","expand_num":0,"children":[{"node_type":"Action","description":"find","children":[
		{"node_type":"Action Input","description":"{}","observation":"none","pruned":true,"children":[
			{"node_type":"Thought","description":"stop","expand_num":2,"pruned":true,"children":[]}]}]}]},
	{"node_type":"Action","description":"get","children":[{"node_type":"Action Input","description":"{\"a\":1}","observation":"it","finished":true,"children":[]}]}]}},
	"answer_generation":{"query":"where?"}});
static const char LOCOMO[] = J([{"sample_id":"conv-1","qa":[],"conversation":{"speaker_a":"Ann","speaker_b":"Bo",
	"session_2_date_time":"12:05 am on 9 May, 2023","session_2":[{"speaker":"Bo","dia_id":"D2:1","text":"late"}],
	"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[{"speaker":"Ann","dia_id":"D1:1","text":"hi"},
		{"speaker":"Bo","dia_id":"D1:2","text":"see","img_url":["u"],"blip_caption":"a dog"}]}}]);
static const char LONGMEM[] = J([{"question_id":"q1","question":"?","answer":"!","haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/19 (Fri) 02:21"],
	"haystack_session_ids":["s1","s2","s3"],"haystack_sessions":[[{"role":"assistant","content":"hello"},{"role":"user","content":"hi","has_answer":true}],
	[],[{"role":"user","content":"ho"}]]}]);
/* clang-format on */

static const struct sample {
	const char *format, *text;
	uint64_t conversations, messages, calls, results;
} SAMPLES[] = {
	{"swe-agent", SWE, 1, 4, 1, 1},
	{"swe-agent", SWE_STEPS, 1, 4, 0, 0},
	{"mini-swe-agent", MINI, 1, 4, 1, 1},
	{"mini-swe-agent", MINI_OLD, 1, 3, 0, 0},
	{"openhands", HANDS, 1, 9, 3, 3},
	{"openhands", HANDS_EVENTS, 1, 6, 2, 2},
	{"aider", AIDER, 2, 5, 0, 0},
	{"letta", LETTA, 1, 5, 1, 1},
	{"letta", LETTA_AGENTS, 1, 6, 3, 3},
	{"langchain", LANG_STREAM, 1, 3, 1, 1},
	{"langchain", LANG_LIST, 1, 4, 1, 1},
	{"sharegpt", SHAREGPT, 2, 8, 2, 3},
	{"tree", TREE, 1, 4, 0, 0},
	{"tree", TREE_FLAT, 2, 4, 0, 0},
	{"tree", SEARCH, 1, 6, 2, 2},
	{"locomo", LOCOMO, 1, 3, 0, 0},
	{"longmemeval", LONGMEM, 2, 3, 0, 0},
};

#define SAMPLE_COUNT (sizeof(SAMPLES) / sizeof(SAMPLES[0]))

static void sum(const struct import *import, uint64_t *ret_messages, uint64_t *ret_calls, uint64_t *ret_results)
{
	*ret_messages = *ret_calls = *ret_results = 0;
	for (size_t i = 0; i < import->conversation_count; i++) {
		*ret_messages += import->conversations[i].messages;
		*ret_calls += import->conversations[i].calls;
		*ret_results += import->conversations[i].results;
	}
}

static void whole_samples__are_recognised_and_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct import import;
		uint64_t messages, calls, results;
		print_message("%s\n", SAMPLES[i].format);
		import_text(&import, NULL, SAMPLES[i].text);
		sum(&import, &messages, &calls, &results);
		assert_string_equal(import.format, SAMPLES[i].format);
		assert_int_equal(import.conversation_count, SAMPLES[i].conversations);
		assert_int_equal(messages, SAMPLES[i].messages);
		assert_int_equal(calls, SAMPLES[i].calls);
		assert_int_equal(results, SAMPLES[i].results);
		import_release(&import);
	}
}

/* Reads a copy that ends where it ends, so that a sanitizer sees every byte too many. Returns the messages. */
static uint64_t read_exactly(const char *format, const char *text, size_t len)
{
	struct bobbin_error error = {0};
	struct import import;
	uint64_t messages = 0, calls, results;
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	int rc = import_read(format, copy, len, &import, &error);
	assert_true(rc == 0 || rc == BOBBIN_EINPUT || rc == BOBBIN_EUNSUPPORTED);
	if (rc)
		assert_true(error.code == rc && error.message[0] != '\0' && error.line >= 1 && error.offset <= len);
	else
		sum(&import, &messages, &calls, &results);
	for (size_t i = 0; i < import.warning_count; i++)
		assert_true(import.warnings[i].offset <= len);
	import_release(&import);
	free(copy);
	return messages;
}

static void cut_at_every_byte__never_crashes_and_says_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		size_t len = strlen(SAMPLES[i].text);
		for (size_t cut = 0; cut <= len; cut++) {
			read_exactly(SAMPLES[i].format, SAMPLES[i].text, cut);
			read_exactly(NULL, SAMPLES[i].text, cut);
		}
	}
}

static void every_byte_changed__never_crashes(void **state)
{
	static const char BYTES[] = {'\0', '"', '{', '}', '\\', '\n', (char)0xff};
	(void)state;

	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		size_t len = strlen(SAMPLES[i].text);
		char *text = malloc(len);
		assert_non_null(text);
		for (size_t at = 0; at < len; at++) {
			memcpy(text, SAMPLES[i].text, len);
			text[at] = BYTES[at % sizeof(BYTES)];
			read_exactly(SAMPLES[i].format, text, len);
		}
		free(text);
	}
}

/* In the middle of a document: what stands before and behind the damage is read. A message that holds others
 * (a tree, 12) goes with what was hit in it. */
static void damage_in_the_middle__costs_the_message_it_hit(void **state)
{
	static const struct {
		size_t sample;
		const char *hit;
		uint64_t left;
	} HITS[] = {{0, "\"a b\"", 3}, {2, "\"out\"", 3}, {4, "\"y\"", 8}, {7, "\"hm\"", 4}, {12, "\"and?\"", 2},
		{15, "\"hi\"", 2}, {16, "\"hello\"", 2}};
	(void)state;

	for (size_t i = 0; i < sizeof(HITS) / sizeof(HITS[0]); i++) {
		const struct sample *sample = &SAMPLES[HITS[i].sample];
		size_t len = strlen(sample->text);
		char *text = malloc(len + 1);
		assert_non_null(text);
		memcpy(text, sample->text, len + 1);
		char *at = strstr(text, HITS[i].hit);
		assert_non_null(at);
		at[1] = '\x01';
		print_message("%s: %zu\n", sample->format, HITS[i].sample);
		assert_true(read_exactly(sample->format, text, len) >= HITS[i].left);
		free(text);
	}
}

static void memory_running_out__is_an_error_and_leaks_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		for (uint64_t nth = 1;; nth++) {
			struct bobbin_error error = {0};
			struct import import;
			uint64_t messages = 0, calls, results;
			fail_alloc_start(nth);
			int rc = import_read(NULL, SAMPLES[i].text, strlen(SAMPLES[i].text), &import, &error);
			if (!rc)
				sum(&import, &messages, &calls, &results);
			import_release(&import);
			struct fail_alloc_report report = fail_alloc_stop();
			assert_int_equal(report.live, 0);
			if (rc == 0)
				assert_int_equal(messages, SAMPLES[i].messages);
			else
				assert_int_equal(rc, BOBBIN_ENOMEM);
			if (!report.failed) {
				assert_int_equal(rc, 0);
				break;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_samples__are_recognised_and_counted),
		cmocka_unit_test(cut_at_every_byte__never_crashes_and_says_what_is_wrong),
		cmocka_unit_test(every_byte_changed__never_crashes),
		cmocka_unit_test(damage_in_the_middle__costs_the_message_it_hit),
		cmocka_unit_test(memory_running_out__is_an_error_and_leaks_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
