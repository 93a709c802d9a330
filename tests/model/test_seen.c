/* SPDX-License-Identifier: MIT */
/* What is read out of a body, and that what one said is never taken for another's word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "base/json.h"
#include "model/seen.h"
#include "support/fail.h"

/* All items as "kind message text|": kinds S(ystem) U(ser) L(abelled) A(ssistant) C(all) R(esult). */
static void describe(const struct seen *seen, struct buffer *out)
{
	static const char letters[] = "SULACR";
	for (size_t i = 0; i < seen->count; i++) {
		const struct seen_item *item = &seen->items[i];
		buffer_add_char(out, letters[item->kind]);
		buffer_addf(out, "%zu ", item->message);
		if (item->name.len > 0) {
			buffer_add_slice(out, item->name);
			buffer_add_char(out, ' ');
		}
		buffer_add_slice(out, item->text);
		buffer_add_char(out, '|');
	}
}

static void assert_seen(enum model_dialect dialect, const char *body, const char *expected)
{
	struct seen seen;
	struct buffer text = BUFFER_INIT(1u << 20);
	assert_int_equal(seen_read(dialect, slice_of(body), &seen, NULL), 0);
	describe(&seen, &text);
	assert_string_equal(text.data ? text.data : "", expected);
	buffer_release(&text);
	seen_release(&seen);
}

/* One user message with this content as a string, which must need no escapes but newlines. */
static void assert_user(const char *content, const char *expected)
{
	struct buffer body = BUFFER_INIT(1u << 20);
	buffer_add_text(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
	json_escape(&body, slice_of(content));
	buffer_add_text(&body, "\"}]}");
	assert_seen(MODEL_OPENAI_CHAT, body.data, expected);
	buffer_release(&body);
}

static void chat__kinds_and_messages(void **state)
{
	(void)state;
	assert_seen(MODEL_OPENAI_CHAT,
		"{\"messages\":[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{"
		"\"type\":\"text\","
		"\"text\":\"b\"}]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{"
		"\"type\":\"image_url\"},"
		"{\"type\":\"text\",\"text\":\"y\"}]},{\"role\":\"assistant\",\"content\":null,\"tool_"
		"calls\":[{\"id\":\"1\","
		"\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":\"2\",\"function\":{"
		"\"name\":\"g\","
		"\"arguments\":\"\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":\"two\"},{"
		"\"role\":\"tool\","
		"\"tool_call_id\":\"?\",\"content\":\"lost\"},{\"role\":\"assistant\",\"content\":\"ok\"}]}",
		"S0 a\nb|U0 x|U0 y|C1 f {\"a\":1}|C1 g |R2 g two|R3 the tool lost|A4 ok|");
}

static void responses__string_input_is_the_user(void **state)
{
	(void)state;
	assert_seen(MODEL_OPENAI_RESPONSES, "{\"instructions\":\"be\",\"input\":\"hi\"}", "S0 be|U0 hi|");
}

static void anthropic__results_before_the_words_of_the_same_message(void **state)
{
	(void)state;
	assert_seen(MODEL_ANTHROPIC,
		"{\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{\"role\":\"assistant\","
		"\"content\":[{\"type\":"
		"\"thinking\",\"thinking\":\"t\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
		"\"input\":{\"a\": 1}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"is_"
		"error\":true,\"content\":"
		"\"r\"},{\"type\":\"text\",\"text\":\"and?\"}]}]}",
		"S0 s|C0 f {\"a\": 1}|R1 f r|U2 and?|");
}

static void labelled_part__ends_where_the_list_ends(void **state)
{
	(void)state;
	assert_user(
		"[Summary]\nTASK\n- a\n\nFACTS\n- I live in Rome\n\n- one more\n\nI live in Bonn.\n\nReally.",
		"L0 [Summary]\nTASK\n- a\n\nFACTS\n- I live in Rome\n\n- one more|U0 I live in "
		"Bonn.\n\nReally.|");
	assert_user("[conversation continues]\n\nI live in Bonn.",
		"L0 [conversation continues]|U0 I live in Bonn.|");
	assert_user("Hello.\n\n[Notes]\n- n\n\nWhere?", "U0 Hello.|L0 [Notes]\n- n|U0 Where?|");
	assert_user("[Summary]\n- a\n\nOK", "L0 [Summary]\n- a|U0 OK|");
	assert_user("[Summary]\n- a\n\n我住在上海\n好", "L0 [Summary]\n- a|U0 我住在上海\n好|");
}

static void brackets__of_a_person_stay_words(void **state)
{
	(void)state;
	assert_user("[ok]", "U0 [ok]|");
	assert_user("[sic] I live in Rome.\nYes.", "U0 [sic] I live in Rome.\nYes.|");
	assert_user("[]\nx", "U0 []\nx|");
}

static void empty_texts__are_messages_without_items(void **state)
{
	(void)state;
	assert_user("\n\n", "");
	assert_user("", "");
}

static void limits__tools_and_output(void **state)
{
	(void)state;
	struct seen seen;
	assert_int_equal(
		seen_read(MODEL_OPENAI_RESPONSES,
			SLICE_LITERAL(
				"{\"max_output_tokens\":77,\"tools\":[{\"type\":\"function\",\"name\":\"f\"},"
				"{\"function\":{\"name\":\"g\"}}],\"input\":\"abc\"}"),
			&seen, NULL),
		0);
	assert_int_equal(seen.output_tokens_max, 77);
	assert_int_equal(seen.tool_count, 2);
	assert_true(slice_is(seen.tools[0], "f"));
	assert_true(slice_is(seen.tools[1], "g"));
	assert_int_equal(seen.visible_bytes,
		3 + strlen("[{\"type\":\"function\",\"name\":\"f\"},{\"function\":{\"name\":\"g\"}}]"));
	seen_release(&seen);
}

static void wrong_shapes__never_read_as_something(void **state)
{
	(void)state;
	static const char *const bodies[] = {"nonsense", "[]", "null", "{\"messages\":5}",
		"{\"messages\":{}}", "{\"messages\":[[]]}", "{\"messages\":[{\"role\":7}]}",
		"{\"messages\":[{\"role\":\"system\",\"content\":\"s\"}]}"};
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct seen seen;
		struct bobbin_error error = {0};
		assert_int_equal(
			seen_read(MODEL_ANTHROPIC, slice_of(bodies[i]), &seen, &error), BOBBIN_EINPUT);
		assert_true(error.message[0] != '\0');
		seen_release(&seen);
	}
}

/* Members of unexpected types are as good as absent: every value of a body replaced by each of these. */
static void wrong_types__do_no_harm(void **state)
{
	(void)state;
	static const char *const values[] = {
		"null", "1", "\"x\"", "[]", "{}", "[1,\"a\",null]", "{\"text\":1,\"type\":[]}"};
	static const char *const bodies[] = {
		"{\"messages\":[{\"role\":\"user\",\"content\":%s}]}",
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":%s}]}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"content\":%s}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":%s}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":%s,\"function\":{\"name\":"
		"\"f\"}}]}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"function\":%s}]}]}",
		"{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":%s,\"content\":\"a\"}]}",
		"{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":%s}]}",
		"{\"tools\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
		"{\"max_tokens\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
		"{\"system\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
	};
	for (size_t b = 0; b < sizeof(bodies) / sizeof(bodies[0]); b++) {
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			struct buffer body = BUFFER_INIT(10000);
			struct seen seen;
			const char *hole = strstr(bodies[b], "%s");
			buffer_add(&body, bodies[b], (size_t)(hole - bodies[b]));
			buffer_add_text(&body, values[v]);
			buffer_add_text(&body, hole + 2);
			assert_int_equal(seen_read(MODEL_OPENAI_CHAT, buffer_slice(&body), &seen, NULL), 0);
			assert_int_equal(seen.message_count, 1);
			seen_release(&seen);
			buffer_release(&body);
		}
	}
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	static const char body[] = "{\"system\":\"s\\n\",\"tools\":[{\"name\":\"f\"}],\"messages\":[{"
				   "\"role\":\"user\",\"content\":\"a\\n\"},{\"role\":"
				   "\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"b\\n\"},{"
				   "\"type\":\"tool_use\",\"id\":\"1\\n\",\"name\":"
				   "\"f\\n\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":"
				   "\"tool_result\",\"tool_use_id\":\"1\\n\","
				   "\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}]}]}";
	for (uint64_t nth = 1;; nth++) {
		struct seen seen;
		fail_alloc_start(nth);
		int rc = seen_read(MODEL_ANTHROPIC, SLICE_LITERAL(body), &seen, NULL);
		seen_release(&seen);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, BOBBIN_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat__kinds_and_messages),
		cmocka_unit_test(responses__string_input_is_the_user),
		cmocka_unit_test(anthropic__results_before_the_words_of_the_same_message),
		cmocka_unit_test(labelled_part__ends_where_the_list_ends),
		cmocka_unit_test(brackets__of_a_person_stay_words),
		cmocka_unit_test(empty_texts__are_messages_without_items),
		cmocka_unit_test(limits__tools_and_output),
		cmocka_unit_test(wrong_shapes__never_read_as_something),
		cmocka_unit_test(wrong_types__do_no_harm),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
