/* SPDX-License-Identifier: MIT */
/* A message that asks for more tools than a log's may: in every format a word stands in its place, and the rest is there. */
#include <stdio.h>
#include "base/buffer.h"
#include "base/limits.h"
#include "support/failure.h"
#include "transcript/import_both.h"
#include "transcript/imported.h"

/* A file: what begins it, a call as often as it is asked for, what ends it. '#' is the number of the call; `between` stands between
 * two of them. A user's "hi" comes before the message, "go on" behind it. */
static const struct sample {
	const char *name, *format, *head, *call, *between, *tail;
} SAMPLES[] = {
	{"chat", "openai-chat", "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"all\",\"tool_calls\":[",
		"{\"id\":\"c#\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}", ",",
		"]},{\"role\":\"user\",\"content\":\"go on\"}]"},
	{"bobbin", "bobbin", "{\"seq\":1,\"role\":\"user\",\"content\":\"hi\"}\n{\"seq\":2,\"role\":\"assistant\",\"content\":[",
		"{\"type\":\"tool_use\",\"id\":\"c#\",\"name\":\"f\",\"input\":{}}", ",", "]}\n{\"seq\":3,\"role\":\"user\",\"content\":\"go on\"}\n"},
	{"claude-code, a line", "claude-code",
		"{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
		"{\"type\":\"assistant\",\"uuid\":\"a\",\"parentUuid\":\"u\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[",
		"{\"type\":\"tool_use\",\"id\":\"c#\",\"name\":\"f\",\"input\":{}}", ",",
		"]}}\n{\"type\":\"user\",\"uuid\":\"v\",\"parentUuid\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n"},
	{"claude-code, lines", "claude-code",
		"{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
		"{\"type\":\"assistant\",\"uuid\":\"a#\",\"parentUuid\":\"u\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":["
		"{\"type\":\"tool_use\",\"id\":\"c#\",\"name\":\"f\",\"input\":{}}]}}\n", "",
		"{\"type\":\"user\",\"uuid\":\"v\",\"parentUuid\":\"a1\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n"},
	{"pi", "pi",
		"{\"type\":\"message\",\"id\":\"u\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
		"{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"u\",\"message\":{\"role\":\"assistant\",\"content\":[",
		"{\"type\":\"toolCall\",\"id\":\"c#\",\"name\":\"f\",\"arguments\":{}}", ",",
		"]}}\n{\"type\":\"message\",\"id\":\"v\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n"},
	{"codex", "codex",
		"{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"message\","
		"\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}}\n",
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\",\"call_id\":\"c#\"}}\n", "",
		"{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
		"\"text\":\"go on\"}]}}\n"},
	{"openai-responses", "openai-responses", "[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]},",
		"{\"type\":\"function_call\",\"call_id\":\"c#\",\"name\":\"f\",\"arguments\":\"{}\"}", ",",
		",{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"go on\"}]}]"},
	{"opencode", "opencode",
		"{\"info\":{\"id\":\"ses_1\"},\"messages\":[{\"info\":{\"id\":\"msg_1\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\",\"text\":"
		"\"hi\"}]},{\"info\":{\"id\":\"msg_2\",\"role\":\"assistant\"},\"parts\":[",
		"{\"type\":\"tool\",\"callID\":\"c#\",\"tool\":\"f\",\"state\":{\"status\":\"pending\",\"input\":{}}}", ",",
		"]},{\"info\":{\"id\":\"msg_3\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\",\"text\":\"go on\"}]}]}"},
	{"gemini-cli", "gemini-cli",
		"{\"sessionId\":\"s\",\"projectHash\":\"h\",\"messages\":[{\"id\":\"1\",\"type\":\"user\",\"content\":\"hi\"},{\"id\":\"2\",\"type\":"
		"\"gemini\",\"content\":\"all\",\"toolCalls\":[",
		"{\"id\":\"c#\",\"name\":\"f\",\"args\":{}}", ",", "]},{\"id\":\"3\",\"type\":\"user\",\"content\":\"go on\"}]}"},
	{"gemini-cli, contents", "gemini-cli", "[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]},{\"role\":\"model\",\"parts\":[",
		"{\"functionCall\":{\"name\":\"f#\",\"args\":{}}}", ",", "]},{\"role\":\"user\",\"parts\":[{\"text\":\"go on\"}]}]"},
	{"copilot-cli", "copilot-cli",
		"{\"type\":\"session.start\",\"data\":{\"sessionId\":\"s\",\"version\":1},\"id\":\"e1\"}\n{\"type\":\"user.message\",\"data\":{"
		"\"content\":\"hi\"},\"id\":\"e2\"}\n{\"type\":\"assistant.message\",\"data\":{\"messageId\":\"a\",\"content\":\"all\",\"toolRequests\":[",
		"{\"toolCallId\":\"c#\",\"name\":\"f\",\"arguments\":{},\"type\":\"function\"}", ",",
		"]},\"id\":\"e3\"}\n{\"type\":\"user.message\",\"data\":{\"content\":\"go on\"},\"id\":\"e4\"}\n"},
	{"anthropic-messages", "anthropic-messages", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[",
		"{\"type\":\"tool_use\",\"id\":\"c#\",\"name\":\"f\",\"input\":{}}", ",", "]},{\"role\":\"user\",\"content\":\"go on\"}]}"},
	{"openhands, events", "openhands",
		"{\"id\":\"e1\",\"source\":\"user\",\"llm_message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},"
		"\"kind\":\"MessageEvent\"}\n",
		"{\"id\":\"a#\",\"source\":\"agent\",\"thought\":[],\"tool_call_id\":\"c#\",\"tool_call\":{\"id\":\"c#\",\"name\":\"f\",\"arguments\":\"{}\"},"
		"\"llm_response_id\":\"r1\",\"kind\":\"ActionEvent\"}\n", "",
		"{\"id\":\"e9\",\"source\":\"user\",\"llm_message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go on\"}]},"
		"\"kind\":\"MessageEvent\"}\n"},
	{"letta", "letta",
		"{\"agent_type\":\"memgpt_agent\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},{\"role\":"
		"\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"all\"}],\"tool_calls\":[",
		"{\"id\":\"c#\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}", ",",
		"]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go on\"}]}]}"},
	{"langchain", "langchain",
		"[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"hi\",\"id\":\"h1\"}},{\"lc\":1,\"type\":"
		"\"constructor\",\"id\":[\"m\",\"AIMessage\"],\"kwargs\":{\"content\":\"all\",\"id\":\"a1\",\"tool_calls\":[",
		"{\"id\":\"c#\",\"name\":\"f\",\"args\":{}}", ",",
		"]}},{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"go on\",\"id\":\"h2\"}}]"},
	{"langchain, pieces", "langchain",
		"[[\"messages\",[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"hi\",\"id\":\"h1\"}},{}]],"
		"[\"messages\",[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"AIMessageChunk\"],\"kwargs\":{\"content\":\"all\",\"id\":\"a1\","
		"\"tool_call_chunks\":[",
		"{\"name\":\"f\",\"args\":\"{}\",\"id\":\"c#\",\"index\":#}", ",",
		"]}},{}]],[\"messages\",[{\"lc\":1,\"type\":\"constructor\",\"id\":[\"m\",\"HumanMessage\"],\"kwargs\":{\"content\":\"go on\","
		"\"id\":\"h2\"}},{}]]]"},
	{"sharegpt", "sharegpt",
		"[{\"id\":\"x\",\"conversations\":[{\"from\":\"human\",\"value\":\"hi\"},{\"from\":\"function_call\",\"value\":\"[",
		"{\\\"name\\\":\\\"f#\\\",\\\"arguments\\\":{}}", ",", "]\"},{\"from\":\"human\",\"value\":\"go on\"}]}]"},
};
#define SAMPLE_COUNT (sizeof(SAMPLES) / sizeof(SAMPLES[0]))

static void write_sample(const struct sample *sample, size_t calls, struct buffer *out)
{
	buffer_clear(out);
	buffer_add_text(out, sample->head);
	for (size_t i = 1; i <= calls; i++) {
		buffer_add_text(out, i > 1 ? sample->between : "");
		for (const char *at = sample->call; *at; at++) {
			if (*at == '#')
				buffer_add_u64(out, i);
			else
				buffer_add_char(out, *at);
		}
	}
	buffer_add_text(out, sample->tail);
	assert_int_equal(buffer_error(out), 0);
}

static void read_sample(const struct sample *sample, const struct buffer *text, struct import *import)
{
	struct bobbin_error error = {0};
	if (import_read(sample->format, text->data, text->len, import, &error) < 0)
		fail_msg("%s: %s", sample->name, error.message);
	if (import->conversation_count != 1 || import->conversations[0].record_count != 3)
		fail_msg("%s: %zu conversations, %zu messages", sample->name, import->conversation_count,
			import->conversations[0].record_count);
}

static bool record_has(const struct import *import, size_t index, const char *text)
{
	struct slice record = import->conversations[0].records[index];
	return memmem(record.data, record.len, text, strlen(text)) != NULL;
}

static void as_many_calls_as_may_be__are_kept(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 20);
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct import import;
		write_sample(&SAMPLES[i], 1024, &text);
		read_sample(&SAMPLES[i], &text, &import);
		if (import.conversations[0].calls != 1024 || import.damages[DAMAGE_TOO_MANY_CALLS])
			fail_msg("%s: %llu calls", SAMPLES[i].name, (unsigned long long)import.conversations[0].calls);
		import_release(&import);
	}
	buffer_release(&text);
}

static void one_call_more__leaves_a_word_and_all_other_messages(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 20);
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct import import;
		write_sample(&SAMPLES[i], 1025, &text);
		read_sample(&SAMPLES[i], &text, &import);
		if (!record_has(&import, 0, "hi") || !record_has(&import, 2, "go on") ||
			!record_has(&import, 1, "[left out by bobbin: a message of ") || !record_has(&import, 1, " bytes with 1025 tool calls]"))
			fail_msg("%s: %.*s", SAMPLES[i].name, (int)import.conversations[0].records[1].len,
				import.conversations[0].records[1].data);
		assert_int_equal(import.conversations[0].calls, 0);
		assert_int_equal(import.damages[DAMAGE_TOO_MANY_CALLS], 1);
		bool told = false;
		for (size_t k = 0; k < import.warning_count; k++)
			told = told || strcmp(import.warnings[k].message, "message 2 asks for 1025 tools at once, and 1024 is what a message "
									  "may: left out, a word stands in its place") == 0;
		assert_true(told);
		import_release(&import);
	}
	buffer_release(&text);
}

/* The second request begins with the messages of the first one, also where a word stands. */
static void requests__are_told_to_go_on_behind_it(void **state)
{
	const struct sample *chat = &SAMPLES[0];
	struct buffer messages = BUFFER_INIT(1 << 20), text = BUFFER_INIT(1 << 20);
	struct import import;
	(void)state;
	write_sample(chat, 1025, &messages);
	buffer_addf(&text, "{\"interactions\":[{\"request\":{\"messages\":%.*s}},{\"request\":{\"messages\":", (int)messages.len, messages.data);
	buffer_add(&text, messages.data, messages.len - 1);
	buffer_add_text(&text, ",{\"role\":\"assistant\",\"content\":\"yes\"}]}}]}");
	assert_int_equal(import_read("openai-chat", text.data, text.len, &import, NULL), 0);
	assert_int_equal(import.conversation_count, 1);
	assert_int_equal(import.conversations[0].record_count, 4);
	import_release(&import);
	buffer_release(&messages);
	buffer_release(&text);
}

static void pieces_tell_what_the_whole_tells(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 20), whole = BUFFER_INIT(1 << 20), parts = BUFFER_INIT(1 << 20);
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct import_pieces pieces = {.head_bytes = 1000, .piece_bytes = 4000, .spill = i % 2};
		write_sample(&SAMPLES[i], 1025, &text);
		if (!import_streams(SAMPLES[i].format) || !import_reads_alike(text.data, text.len, &pieces))
			continue;
		assert_int_equal(import_tell_whole(SAMPLES[i].format, text.data, text.len, &whole), 0);
		assert_int_equal(import_tell_pieces(SAMPLES[i].format, text.data, text.len, &pieces, &parts), 0);
		if (whole.len != parts.len || memcmp(whole.data, parts.data, whole.len) != 0)
			fail_msg("%s: %.*s\nin pieces: %.*s", SAMPLES[i].name, (int)whole.len, whole.data, (int)parts.len, parts.data);
	}
	buffer_release(&text);
	buffer_release(&whole);
	buffer_release(&parts);
}

static void each_allocation_that_fails__is_an_error(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 20);
	(void)state;
	write_sample(&SAMPLES[0], 1025, &text);
	for (uint64_t nth = 1;; nth += 7) {
		struct import import;
		fail_alloc_start(nth);
		int rc = import_read("openai-chat", text.data, text.len, &import, NULL);
		if (!rc)
			assert_int_equal(import.damages[DAMAGE_TOO_MANY_CALLS], 1);
		import_release(&import);
		if (failure_were_all_tried(rc))
			break;
	}
	buffer_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_calls_as_may_be__are_kept),
		cmocka_unit_test(one_call_more__leaves_a_word_and_all_other_messages),
		cmocka_unit_test(requests__are_told_to_go_on_behind_it),
		cmocka_unit_test(pieces_tell_what_the_whole_tells),
		cmocka_unit_test(each_allocation_that_fails__is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
