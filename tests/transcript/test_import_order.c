/* SPDX-License-Identifier: MIT */
/* Files whose lines stand in another order than what they say: in any of all orders the same line comes out of it. */
#include <stdio.h>
#include "support/failure.h"
#include "transcript/import_both.h"
#include "transcript/imported.h"

/* A question, two calls in lines of one reply with a result each, an answer, and a remark of the client that one hangs from. */
static const char *const CLAUDE[] = {
	"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":\"q\"}}\n",
	"{\"type\":\"assistant\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",\"message\":{\"id\":\"m\",\"role\":\"assistant\","
	"\"content\":[{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"f\",\"input\":{}}]}}\n",
	"{\"type\":\"user\",\"uuid\":\"u3\",\"parentUuid\":\"u2\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
	"\"tool_use_id\":\"c1\",\"content\":\"r\"}]}}\n",
	"{\"type\":\"progress\",\"uuid\":\"u4\",\"parentUuid\":\"u3\",\"data\":{}}\n",
	"{\"type\":\"assistant\",\"uuid\":\"u5\",\"parentUuid\":\"u4\",\"message\":{\"id\":\"n\",\"role\":\"assistant\","
	"\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n",
};
static const char *const CLAUDE_ROLES[] = {"user", "assistant", "tool", "assistant"};

static const char *const PI[] = {
	"{\"type\":\"message\",\"id\":\"e1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"q\"}}\n",
	"{\"type\":\"message\",\"id\":\"e2\",\"parentId\":\"e1\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\","
	"\"id\":\"c1\",\"name\":\"f\",\"arguments\":{}}]}}\n",
	"{\"type\":\"message\",\"id\":\"e3\",\"parentId\":\"e2\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"c1\",\"content\":\"r\"}}\n",
	"{\"type\":\"model_change\",\"id\":\"e4\",\"parentId\":\"e3\"}\n",
	"{\"type\":\"message\",\"id\":\"e5\",\"parentId\":\"e4\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"}}\n",
};
#define LINES 5

/* The number-th of all 120 orders. */
static void write_order(const char *const lines[LINES], unsigned number, char *out, size_t size)
{
	bool used[LINES] = {false};
	size_t len = 0;
	for (unsigned left = LINES; left > 0; left--) {
		unsigned pick = number % left, at = 0;
		number /= left;
		while (used[at] || pick--)
			at++;
		used[at] = true;
		len += (size_t)snprintf(out + len, size - len, "%s", lines[at]);
	}
}

static void expect_line(const struct import *import, unsigned number)
{
	if (import->conversation_count != 1 || import->conversations[0].record_count != 4)
		fail_msg("order %u: not one conversation of 4 messages", number);
	for (size_t i = 0; i < 4; i++) {
		struct slice record = import->conversations[0].records[i];
		struct json value, role, parent;
		assert_int_equal(json_parse(record.data, record.len, &value, NULL), 0);
		if (!json_get(&value, "role", &role) || !json_string_is(&role, CLAUDE_ROLES[i]) || json_get(&value, "parent", &parent))
			fail_msg("order %u, message %zu: %.*s", number, i, (int)record.len, record.data);
	}
	expect_counts(import, 4, 1, 1, 3);
}

static void expect_in_all_orders(const char *format, const char *const lines[LINES])
{
	char text[4096];
	for (unsigned number = 0; number < 120; number++) {
		struct import import;
		write_order(lines, number, text, sizeof text);
		import_text(&import, format, text);
		expect_line(&import, number);
		import_release(&import);
	}
}

static void lines_in_any_order__are_the_same_conversation(void **state)
{
	(void)state;
	expect_in_all_orders("claude-code", CLAUDE);
	expect_in_all_orders("pi", PI);
}

static void lines_that_had_to_wait__are_counted(void **state)
{
	struct import import;
	char text[4096];
	(void)state;
	snprintf(text, sizeof text, "%s%s%s%s%s", CLAUDE[4], CLAUDE[0], CLAUDE[2], CLAUDE[1], CLAUDE[3]);
	import_text(&import, NULL, text);
	assert_true(has_warning(&import, 1, "2 records stand before the one that they follow"));
	assert_int_equal(import.damages[DAMAGE_ORDER], 2);
	assert_true(has_warning(&import, 5, "1 progress record"));
	assert_int_equal(import.warnings_total, 2);
	import_release(&import);
}

static void records_that_name_each_other__come_as_they_stand(void **state)
{
	struct import import;
	(void)state;
	import_text(&import, "pi",
		"{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"1\"}}\n"
		"{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"c\",\"message\":{\"role\":\"user\",\"content\":\"2\"}}\n"
		"{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"3\"}}\n"
		"{\"type\":\"message\",\"id\":\"d\",\"parentId\":\"d\",\"message\":{\"role\":\"user\",\"content\":\"4\"}}\n");
	assert_int_equal(import.conversations[0].messages, 4);
	import_release(&import);
}

/* An empty parent is none, also where an entry has an empty id. */
static void record_with_an_empty_id__is_waited_for_by_none(void **state)
{
	struct import import;
	(void)state;
	import_text(&import, "pi",
		"{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"2\"}}\n"
		"{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"\",\"message\":{\"role\":\"user\",\"content\":\"1\"}}\n"
		"{\"type\":\"message\",\"id\":\"\",\"parentId\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"3\"}}\n");
	expect_record(&import, 0, "{\"id\":\"a\",\"role\":\"user\",\"content\":\"1\"}");
	assert_int_equal(import.damages[DAMAGE_ORDER], 1);
	import_release(&import);
}

static void pieces_tell_what_the_whole_tells(void **state)
{
	char text[4096];
	(void)state;
	for (unsigned number = 0; number < 240; number++) {
		const char *format = number < 120 ? "claude-code" : "pi";
		write_order(number < 120 ? CLAUDE : PI, number % 120, text, sizeof text);
		for (size_t piece = 1; piece < 600; piece += 149) {
			struct import_pieces pieces = {.head_bytes = 200, .piece_bytes = piece, .spill = piece % 2};
			struct buffer whole = BUFFER_INIT(1 << 20), parts = BUFFER_INIT(1 << 20);
			if (!import_reads_alike(text, strlen(text), &pieces))
				continue;
			assert_int_equal(import_tell_whole(format, text, strlen(text), &whole), 0);
			assert_int_equal(import_tell_pieces(format, text, strlen(text), &pieces, &parts), 0);
			assert_int_equal(whole.len, parts.len);
			assert_memory_equal(whole.data, parts.data, whole.len);
			buffer_release(&whole);
			buffer_release(&parts);
		}
	}
}

static void each_allocation_that_fails__is_an_error(void **state)
{
	char text[4096];
	(void)state;
	for (unsigned format = 0; format < 2; format++) {
		write_order(format ? PI : CLAUDE, 119, text, sizeof text);
		for (uint64_t nth = 1;; nth++) {
			struct import import;
			struct bobbin_error error = {0};
			fail_alloc_start(nth);
			int rc = import_read(format ? "pi" : "claude-code", text, strlen(text), &import, &error);
			if (!rc)
				expect_line(&import, 119);
			import_release(&import);
			if (failure_were_all_tried(rc))
				break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_in_any_order__are_the_same_conversation),
		cmocka_unit_test(lines_that_had_to_wait__are_counted),
		cmocka_unit_test(records_that_name_each_other__come_as_they_stand),
		cmocka_unit_test(record_with_an_empty_id__is_waited_for_by_none),
		cmocka_unit_test(pieces_tell_what_the_whole_tells),
		cmocka_unit_test(each_allocation_that_fails__is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
