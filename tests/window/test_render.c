/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "window/scene.h"

static const struct window_options DEFAULTS = WINDOW_OPTIONS_INIT;
static const char PNG[] =
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

static struct window_options history_of(uint64_t tokens)
{
	struct window_options options = WINDOW_OPTIONS_INIT;

	options.window = tokens;
	options.output_reserve = 0;
	options.margin = 0;
	return options;
}

/* Where `first` stands before `second` in the body; fails if one is missing. */
static bool in_order(const char *body, const char *first, const char *second)
{
	const char *a = strstr(body, first), *b = a ? strstr(a + strlen(first), second) : NULL;

	return b != NULL;
}

static void plain_chat__is_as_simple_as_can_be(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene.system = "Be \"brief\".";
	scene_user(&scene, "hello");
	scene_assistant(&scene, "hi");
	scene_user(&scene, "bye");
	scene_plan(&scene, &DEFAULTS);
	assert_string_equal(scene_render(&scene, DIALECT_OPENAI_CHAT),
		"{\"model\":\"test-model\",\"messages\":[{\"role\":\"system\",\"content\":\"Be "
		"\\\"brief\\\".\"},"
		"{\"role\":\"user\",\"content\":\"hello\"},{\"role\":\"assistant\",\"content\":\"hi\"},"
		"{\"role\":\"user\",\"content\":\"bye\"}]}");
	assert_string_equal(scene_render(&scene, DIALECT_ANTHROPIC),
		"{\"model\":\"test-model\",\"max_tokens\":1000,\"system\":[{\"type\":\"text\",\"text\":\"Be "
		"\\\"brief\\\".\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":[{\"role\":"
		"\"user\","
		"\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]},{\"role\":\"assistant\",\"content\":[{"
		"\"type\":"
		"\"text\",\"text\":\"hi\"}]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
		"\"bye\","
		"\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
	assert_string_equal(scene_render(&scene, DIALECT_OPENAI_RESPONSES),
		"{\"model\":\"test-model\",\"instructions\":\"Be \\\"brief\\\".\",\"input\":["
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
		"\"hello\"}]},"
		"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
		"\"text\":\"hi\"}]},"
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
		"\"bye\"}]}],"
		"\"store\":false,\"max_output_tokens\":1000}");
	scene_end(&scene);
}

/* The case's message: long signed thinking, text, a call; later turns and a tight budget. */
static void a5_sealed_blocks__are_whole_or_absent(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(2500);
	const char *thought = scene_text(&scene, "thought \\ud83d\\ude00 \\/", 1000);
	char *block = NULL, *redacted = NULL, *reasoning = NULL;
	(void)state;

	assert_true(asprintf(&block,
			    "{\"type\": "
			    "\"thinking\",\"thinking\":\"%s\",\"signature\":\"EqQB+abc/==\",\"extra\":[1.10, "
			    "-0]}",
			    thought) > 0);
	assert_true(asprintf(&redacted, "{\"type\":\"redacted_thinking\",\"data\":\"b64/+==\"}") > 0);
	assert_true(asprintf(&reasoning,
			    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":"
			    "\"gAAA%s\"}",
			    "xyz==") > 0);
	scene_user(&scene, "go");
	scene_line(&scene,
		"{\"role\":\"assistant\",\"content\":[%s,%s,%s,{\"type\":\"text\",\"text\":\"ok\"},"
		"{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{\"p\":1e400}}]}",
		block, redacted, reasoning);
	scene_result(&scene, "c1", scene_text(&scene, "result", 2000));
	scene_plan(&scene, &options);
	assert_true(scene.plan.shortened_count == 1);

	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
	assert_int_equal(occurrences(body, block), 1);
	assert_int_equal(occurrences(body, redacted), 1);
	assert_int_equal(occurrences(body, "reasoning"), 0);
	assert_int_equal(occurrences(body, "{\"p\":1e400}"), 1);
	assert_int_equal(scene.report.losses_total, 1);
	body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_int_equal(occurrences(body, reasoning), 1);
	assert_int_equal(occurrences(body, "thought"), 0);
	assert_int_equal(scene.report.losses_total, 2);
	body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "thought") + occurrences(body, "encrypted_content"), 0);
	assert_int_equal(scene.report.losses_total, 3);
	free(block);
	free(redacted);
	free(reasoning);
	scene_end(&scene);
}

static void a5_sealed__with_a_lone_surrogate_goes_whole(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "go");
	scene_line(&scene, "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
			   "\"\\ud83d\",\"signature\":\"s\"},"
			   "{\"type\":\"thinking\",\"thinking\":\"no "
			   "signature\"},{\"type\":\"text\",\"text\":\"ok\"}]}");
	scene_user(&scene, "on");
	scene_plan(&scene, &DEFAULTS);
	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
	assert_int_equal(occurrences(body, "thinking"), 0);
	assert_int_equal(scene.report.losses_total, 2);
	scene_end(&scene);
}

static void a7_one_system_message__and_strict_turns(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_record record = {.cut = 60,
		.inner_cut = WINDOW_NONE,
		.text = SLICE_LITERAL("CONSTRAINTS: be kind"),
		.tokens = 20};
	(void)state;

	scene.system = "S";
	scene.record = &record;
	for (int i = 0; i < 30; i++) {
		scene_user(&scene, "question");
		scene_assistant(&scene, "answer");
	}
	scene_user(&scene, "the newest"); /* nothing is retained but this */
	scene_plan(&scene, &DEFAULTS);
	assert_false(scene.plan.summary_stale);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_int_equal(occurrences(body, "\"role\":\"user\""), 1);
		assert_true(in_order(body, WINDOW_RECORD_HEADING "\\nCONSTRAINTS: be kind", "the newest"));
		assert_int_equal(occurrences(body, "question"), 0);
	}
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_OPENAI_CHAT), "\"role\":\"system\""), 1);
	scene_user(&scene, "and a second one in a row");
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "\"role\":\"user\""), 1);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_OPENAI_CHAT), "\"role\":\"user\""), 1);
	scene_end(&scene);
}

static void a7_first_is_an_assistant__the_marked_message_comes_first(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_assistant(&scene, "hello, I am here");
	scene_assistant(&scene, "what do you need?");
	scene_user(&scene, "nothing");
	scene_plan(&scene, &DEFAULTS);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_true(in_order(body, "[conversation continues]", "hello, I am here"));
		assert_int_equal(occurrences(body, "\"role\":\"assistant\""), 1);
	}
	scene_end(&scene);
}

/* The first kept message is once a user, once an assistant with calls (after an inner cut), once a lone
 * assistant. */
static void x01_record__never_makes_neighbours_of_equal_role(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_record record = {
		.cut = 2, .inner_cut = WINDOW_NONE, .text = SLICE_LITERAL("FACTS: none"), .tokens = 20};
	(void)state;

	scene_user(&scene, "one");
	scene_assistant(&scene, "two");
	scene_user(&scene, "three");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", "done");
	scene_calls(&scene, "", "c2", NULL);
	scene_result(&scene, "c2", "done");
	scene_assistant(&scene, "all done");
	scene.record = &record;
	for (size_t inner = 4; inner < 8; inner++) {
		static const size_t starts[] = {WINDOW_NONE, 3, 5, 7};
		record.inner_cut = starts[inner - 4];
		scene_plan(&scene, &DEFAULTS);
		assert_false(scene.plan.summary_stale);
		assert_true(plan_covers_line(&scene));
		scene_render_all(&scene);
		assert_int_equal(occurrences(scene.body.data, "FACTS: none"), 1);
	}
	scene_end(&scene);
}

static void x02_nothing_to_show__is_one_user_message(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene.system = "S";
	scene.injected = "It is Monday.";
	scene_plan(&scene, &DEFAULTS);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++)
		assert_int_equal(occurrences(scene_render(&scene, dialect), "It is Monday."), 1);
	scene.injected = NULL;
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(
		occurrences(scene_render(&scene, DIALECT_OPENAI_CHAT), "[conversation continues]"), 1);
	scene_end(&scene);
}

static void x05_server_pairs__stay_together_or_both_go(void **state)
{
	static const char CALL[] = "{\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"web_search\","
				   "\"input\":{\"q\":\"x\"}}";
	static const char RESULT[] = "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\","
				     "\"content\":[{\"encrypted_content\":\"zz\"}]}";
	static const char TEXT[] = "{\"type\":\"text\",\"text\":\"found\"}";
	static const char USE[] = "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{}}";
	(void)state;

	/* The message ends after each of its blocks, as if it had been cut there. */
	for (int kept = 1; kept <= 5; kept++) {
		const char *blocks[] = {TEXT, CALL, RESULT, TEXT, USE};
		struct scene scene = SCENE_INIT;
		struct buffer content = BUFFER_INIT(10000);
		for (int i = 0; i < kept; i++) {
			buffer_add_text(&content, i ? "," : "");
			buffer_add_text(&content, blocks[i]);
		}
		scene_user(&scene, "search");
		scene_line(&scene, "{\"role\":\"assistant\",\"content\":[%s]}", content.data);
		if (kept == 5)
			scene_result(&scene, "c1", "a.txt");
		scene_user(&scene, "go on");
		scene_plan(&scene, &DEFAULTS);
		const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
		assert_int_equal(occurrences(body, CALL), kept >= 3);
		assert_int_equal(occurrences(body, RESULT), kept >= 3);
		body = scene_render(&scene, DIALECT_OPENAI_CHAT);
		assert_int_equal(occurrences(body, "srv1"), 0);
		scene_render_all(&scene);
		buffer_release(&content);
		scene_end(&scene);
	}
}

static void x05_server_ids__that_occur_twice_go_in_pairs(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	for (int i = 0; i < 2; i++) {
		scene_user(&scene, "search");
		scene_line(&scene, "{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_use\","
				   "\"id\":\"srv1\",\"name\":\"w\","
				   "\"input\":{}},{\"type\":\"web_search_tool_result\",\"tool_use_id\":"
				   "\"srv1\",\"content\":[]},"
				   "{\"type\":\"text\",\"text\":\"found\"}]}");
	}
	scene_line(&scene, "{\"role\":\"assistant\",\"content\":[{\"type\":\"web_search_tool_result\",\"tool_"
			   "use_id\":\"srv1\"}]}");
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "srv1"), 2);
	assert_int_equal(scene.report.losses_total, 3);
	scene_end(&scene);
}

/* One of the two cannot be sent: an input that is no object, a lone surrogate in the result, a result too
 * many. */
static void x05_server_pairs__that_are_damaged_go_whole(void **state)
{
	static const char *const pairs[] = {
		"{\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"w\",\"in`put\":{}},"
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\",\"content\":[]}",
		"{\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"w\",\"input\":{}},"
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\",\"content\":\"\\ud83d\"}",
		"{\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"w\",\"input\":{}},"
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\"},"
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv1\"}",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct scene scene = SCENE_INIT;
		scene_user(&scene, "search");
		scene_line(&scene,
			"{\"role\":\"assistant\",\"content\":[%s,{\"type\":\"text\",\"text\":\"found\"}]}",
			pairs[i]);
		scene_plan(&scene, &DEFAULTS);
		assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "srv1"), 0);
		assert_true(scene.report.losses_total >= 2);
		scene_end(&scene);
	}
}

static void x06_reasoning__keeps_its_items_and_drops_the_unfinished(void **state)
{
	static const char R1[] =
		"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"AAAA\"}";
	static const char SEARCH[] =
		"{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\"}";
	static const char R2[] =
		"{\"type\":\"reasoning\",\"id\":\"rs_2\",\"summary\":[],\"encrypted_content\":\"BBBB\"}";
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "think");
	scene_line(&scene, "{\"role\":\"assistant\",\"content\":[%s,%s,%s]}", R1, SEARCH, R2);
	scene_user(&scene, "go on");
	scene_plan(&scene, &DEFAULTS);
	const char *body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_true(in_order(body, R1, SEARCH));
	assert_int_equal(occurrences(body, "rs_2"), 0);
	assert_int_equal(scene.report.losses_total, 1);
	scene_end(&scene);

	scene_user(&scene, "think");
	scene_line(&scene,
		"{\"role\":\"assistant\",\"content\":[%s,%s,%s,{\"type\":\"text\",\"text\":\"so\"}]}", R1,
		SEARCH, R2);
	scene_user(&scene, "go on");
	scene_plan(&scene, &DEFAULTS);
	body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_true(in_order(body, R1, SEARCH) && in_order(body, SEARCH, R2));
	scene_end(&scene);

	/* An item that says itself that it is unfinished, and one that comes twice. */
	scene_user(&scene, "think");
	scene_line(&scene,
		"{\"role\":\"assistant\",\"content\":[%s,%s,{\"type\":\"reasoning\",\"id\":\"rs_3\","
		"\"summary\":[],"
		"\"encrypted_content\":\"C\",\"status\":\"in_progress\"},{\"type\":\"text\",\"text\":\"so\"}]"
		"}",
		R1, R1);
	scene_plan(&scene, &DEFAULTS);
	body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_int_equal(occurrences(body, "rs_1"), 1);
	assert_int_equal(occurrences(body, "rs_3"), 0);
	scene_end(&scene);
}

static void a4_results__in_the_order_of_the_calls_and_a_marked_one(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "do three things");
	scene_calls(&scene, "", "c1", "c2", "c3", NULL);
	scene_result(&scene, "c3", "third");
	scene_result(&scene, "c1", "first");
	scene_user(&scene, "do something else");
	scene_plan(&scene, &DEFAULTS);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_true(in_order(body, "first", "[no result was recorded for this call]"));
		assert_true(in_order(body, "[no result was recorded for this call]", "third"));
		assert_int_equal(scene.report.results_made, 1);
	}
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "\"is_error\":true"), 1);

	/* The late result stands beside the marker, as a text. */
	scene_result(&scene, "c2", "LATE");
	scene_plan(&scene, &DEFAULTS);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_true(in_order(body, "do something else", "[late or unasked result of tool call c2]"));
		assert_int_equal(occurrences(body, "LATE"), 1);
	}
	scene_end(&scene);
}

static void results__that_come_twice_lose_nothing(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "go");
	scene_calls(&scene, "", "c1", NULL);
	scene_line(&scene, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"interrupted\","
			   "\"marker\":\"interrupted\"}");
	scene_result(&scene, "c1", "REAL");
	scene_result(&scene, "c1", "SECOND");
	scene_result(&scene, "zz", "FOREIGN");
	scene_plan(&scene, &DEFAULTS);
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_true(in_order(body, "REAL", "SECOND") && in_order(body, "SECOND", "FOREIGN"));
		assert_int_equal(occurrences(body, "interrupted"), 0);
		assert_int_equal(occurrences(body, "[late or unasked result of tool call"), 2);
	}
	scene_end(&scene);
}

static void call_ids__are_made_acceptable_and_unique(void **state)
{
	struct scene scene = SCENE_INIT;
	char long_id[90];
	(void)state;

	memset(long_id, 'x', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	scene_user(&scene, "go");
	scene_calls(&scene, "", "call_1", "call_1", "functions.ls:0", long_id, "", NULL);
	scene_result(&scene, "call_1", "r-one");
	scene_result(&scene, "call_1", "r-two");
	scene_result(&scene, "functions.ls:0", "r-three");
	scene_result(&scene, long_id, "r-four");
	scene_result(&scene, "", "r-five");
	scene_calls(&scene, "", "call_1", "call_1_2", NULL);
	scene_result(&scene, "call_1", "r-six");
	scene_result(&scene, "call_1_2", "r-seven");
	scene_plan(&scene, &DEFAULTS);
	scene_render_all(&scene);
	const char *body = scene.body.data; /* anthropic */
	assert_true(in_order(body, "\"tool_use_id\":\"call_1\"", "r-one"));
	assert_true(in_order(body, "\"tool_use_id\":\"call_1_2\"", "r-two"));
	assert_true(in_order(body, "\"tool_use_id\":\"functions_ls_0\"", "r-three"));
	assert_true(in_order(body, "\"tool_use_id\":\"call\"", "r-five"));
	assert_true(in_order(body, "\"tool_use_id\":\"call_1_3\"", "r-six"));
	assert_true(in_order(body, "\"tool_use_id\":\"call_1_2_2\"", "r-seven"));
	assert_int_equal(occurrences(body, "no result was recorded"), 0);
	body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "functions.ls:0"), 2);
	scene_end(&scene);
}

static void arguments__that_are_no_object_are_wrapped(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "go");
	scene_line(&scene,
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
		"{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{\\\"cut\\\":\"},"
		"{\"id\":\"b\",\"name\":\"f\",\"arguments\":\"\"},"
		"{\"id\":\"c\",\"name\":\"f\",\"arguments\":\"[1]\"},"
		"{\"id\":\"d\",\"name\":\"f\",\"arguments\":{\"n\":1.10,\"s\":\"\\ud83d \\u0000\"}},"
		"{\"id\":\"e\",\"type\":\"function\",\"function\":{\"name\":\"bad "
		"name!\",\"arguments\":\"{}\"}},"
		"{\"id\":\"g\",\"name\":\"f\",\"arguments\":\"{\\\"p\\\":[{\\\"q\\\":1,\\\"q\\\":2}]}\"},"
		"{\"id\":\"f\",\"name\":\"f\"}]}");
	scene_plan(&scene, &DEFAULTS);
	scene_render_all(&scene);
	const char *body = scene.body.data;
	/* Keys that stand twice are refused by some and read in two ways by others. */
	assert_int_equal(
		occurrences(body, "\"input\":{\"invalid_arguments\":\"{\\\"p\\\":[{\\\"q\\\":1,"), 1);
	assert_int_equal(occurrences(body, "\"input\":{\"invalid_arguments\":\"{\\\"cut\\\":\"}"), 1);
	assert_int_equal(occurrences(body, "\"input\":{}"), 3);
	assert_int_equal(occurrences(body, "\"input\":{\"invalid_arguments\":\"[1]\"}"), 1);
	assert_int_equal(occurrences(body, "{\"n\":1.10,\"s\":\"\xef\xbf\xbd \xef\xbf\xbd\"}"), 1);
	assert_int_equal(occurrences(body, "\"name\":\"bad_name_\""), 1);
	body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(
		occurrences(
			body, "\"arguments\":\"{\\\"invalid_arguments\\\":\\\"{\\\\\\\"cut\\\\\\\":\\\"}\""),
		1);
	scene_end(&scene);
}

static void deep_nesting__is_sent_as_text_or_not_at_all(void **state)
{
	struct scene scene = SCENE_INIT;
	char deep[2 * 400 + 1];
	(void)state;

	memset(deep, '[', 400);
	memset(deep + 400, ']', 400);
	deep[800] = '\0';
	scene_user(&scene, "go");
	scene_line(&scene,
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\","
		"\"signature\":\"s\",\"d\":%s},"
		"{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"w\",\"input\":{\"d\":%s}},"
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":%s}],"
		"\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\",\"arguments\":{\"d\":%s}}]}",
		deep, deep, deep, deep);
	scene_plan(&scene, &DEFAULTS);
	scene_render_all(&scene);
	assert_int_equal(
		occurrences(scene.body.data, "\"input\":{\"invalid_arguments\":\"{\\\"d\\\":[[["), 1);
	assert_int_equal(occurrences(scene.body.data, "s1"), 0);
	assert_int_equal(scene.report.losses_total, 3);
	scene_end(&scene);
}

static void empty_texts__are_dropped_and_the_end_is_trimmed(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "first");
	scene_line(&scene, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":"
			   "\"text\",\"text\":\" \\n\\u00a0\"}]}");
	scene_user(&scene, "");
	scene_user(&scene, "second");
	scene_assistant(&scene, "");
	scene_assistant(&scene, "done.\n\n \xe3\x80\x80");
	scene_plan(&scene, &DEFAULTS);
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "\"content\":\"first\\n\\nsecond\""), 1);
	assert_int_equal(occurrences(body, "\"content\":\"done.\""), 1);
	scene_render_all(&scene);
	scene_end(&scene);

	scene_user(&scene, " ");
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "[empty message]"), 1);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void surrogates_and_nul__are_replaced_in_what_is_sent(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_line(&scene,
		"{\"role\":\"user\",\"content\":\"a\\ud83db \\u0000 \\uD83D\\uDE00 \\udc00\\\\ud83d\"}");
	scene_plan(&scene, &DEFAULTS);
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "\"a\xef\xbf\xbd"
					   "b \xef\xbf\xbd \\uD83D\\uDE00 \xef\xbf\xbd\\\\ud83d\""),
		1);
	scene_render_all(&scene);
	scene_end(&scene);
}

/* Shortened at every length around the first wide character. */
static void c7_shortened__on_a_code_point_at_every_limit(void **state)
{
	struct scene scene = SCENE_INIT;
	char text[11000];
	size_t used = 9999;
	(void)state;

	memset(text, 'a', used);
	for (; used + 7 < sizeof(text); used += 7)
		memcpy(text + used, "\xf0\x9f\x98\x80\xe4\xb8\xad", 7);
	text[used] = '\0';
	scene_user(&scene, "go");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", text);
	struct window_options options = history_of(600);
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.shortened_count, 1);
	for (size_t limit = 9990; limit <= 10010; limit++) {
		scene.plan.shortened[0].bytes = limit;
		for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
			const char *body = scene_render(&scene, dialect);
			assert_int_equal(utf8_valid_prefix(body, scene.body.len), scene.body.len);
			assert_int_equal(occurrences(body, "\xef\xbf\xbd"), 0);
			assert_int_equal(
				occurrences(body, "\xf0\x9f\x98\x80"), limit >= 10010 ? 2 : limit >= 10003);
		}
	}
	scene_end(&scene);
}

static void images__in_each_form(void **state)
{
	struct scene scene = SCENE_INIT;
	char expected[512];
	(void)state;

	scene_line(&scene,
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"%s\"}},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image\\/"
		"png;base64,%s\",\"detail\":\"low\"}},"
		"{\"type\":\"input_image\",\"image_url\":\"https://example.org/a.png\"},"
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"REDACTED!\"}},"
		"{\"type\":\"text\",\"text\":\"there\"}]}",
		PNG, PNG);
	scene_calls(&scene, "", "c1", NULL);
	scene_line(&scene,
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"is_error\":true,\"content\":["
		"{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://example.org/b.png\"}}]}");
	scene_plan(&scene, &DEFAULTS);

	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	snprintf(expected, sizeof(expected),
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64,%s\",\"detail\":\"low\"}}",
		PNG);
	assert_int_equal(occurrences(body, expected), 1);
	assert_int_equal(occurrences(body,
				 "\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image_url\""),
		1);
	assert_true(in_order(body, "\"role\":\"tool\"", "[image from the result of tool call c1]"));
	assert_int_equal(occurrences(body, "[an image no provider would read; recall m1]"), 1);
	assert_int_equal(scene.report.losses_total, 1);

	body = scene_render(&scene, DIALECT_ANTHROPIC);
	snprintf(expected, sizeof(expected),
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"%s\"}}",
		PNG);
	assert_int_equal(occurrences(body, expected), 2);
	assert_int_equal(occurrences(body, "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https:"
					   "//example.org/a.png\"}}"),
		1);

	body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_int_equal(
		occurrences(body, "{\"type\":\"input_image\",\"image_url\":\"https://example.org/b.png\",\"detail\":\"auto\"}"),
		1);
	assert_int_equal(occurrences(body, "\"output\":[{\"type\":\"input_text\",\"text\":\"[error]\"},"), 1);
	scene_end(&scene);
}

static void tools__are_converted_from_each_form(void **state)
{
	static const char *const forms[] = {
		"[{\"type\":\"function\",\"function\":{\"name\":\"ls\",\"description\":\"d\",\"parameters\":{"
		"\"type\":\"object\"}}}]",
		"[{\"type\":\"function\",\"name\":\"ls\",\"description\":\"d\",\"parameters\":{\"type\":"
		"\"object\"}}]",
		"[{\"name\":\"ls\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}]",
	};
	static const char *const expected[] = {
		",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"ls\",\"description\":\"d\","
		"\"parameters\":{\"type\":\"object\"}}}]",
		",\"tools\":[{\"type\":\"function\",\"name\":\"ls\",\"description\":\"d\",\"parameters\":{"
		"\"type\":\"object\"}}]",
		",\"tools\":[{\"name\":\"ls\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}]",
	};
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "go");
	for (size_t form = 0; form < 3; form++) {
		scene.tools = forms[form];
		scene_plan(&scene, &DEFAULTS);
		for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++)
			assert_int_equal(occurrences(scene_render(&scene, dialect), expected[dialect]), 1);
	}
	scene.tools = "[{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":5},{\"type\":"
		      "\"web_search\"},{\"name\":\"x\"}]";
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_ANTHROPIC), "web_search_20250305"), 1);
	assert_int_equal(scene.report.losses_total, 1);
	assert_int_equal(
		occurrences(scene_render(&scene, DIALECT_OPENAI_RESPONSES), "{\"type\":\"web_search\"}"), 1);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_OPENAI_CHAT), "web_search"), 0);
	assert_int_equal(scene.report.losses_total, 2);
	scene.tools = "[{\"name\":\"a "
		      "b\",\"input_schema\":{\"properties\":{}}},{\"name\":\"a_b\",\"input_schema\":{}}]";
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(
		occurrences(scene_render(&scene, DIALECT_ANTHROPIC),
			"{\"name\":\"a_b\",\"input_schema\":{\"properties\":{},\"type\":\"object\"}}"),
		1);
	assert_int_equal(scene.report.losses_total, 1);
	scene_render_all(&scene);
	scene.tools = "[]";
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(occurrences(scene_render(&scene, DIALECT_OPENAI_CHAT), "tools"), 0);
	scene_end(&scene);
}

static void injected__goes_with_the_newest_user_message(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene.injected = "[notes] likes tea";
	scene_user(&scene, "one");
	scene_assistant(&scene, "two");
	scene_user(&scene, "three");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", "done");
	scene_line(&scene, "{\"role\":\"user\",\"origin\":\"injected\",\"content\":\"reminder\"}");
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(scene.plan.newest, 2);
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "\"content\":\"[notes] likes tea\\n\\nthree\""), 1);
	scene_end(&scene);
}

static void unknown_blocks__are_in_the_report(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_line(&scene, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":"
			   "\"hologram\",\"v\":1}]}");
	scene_line(&scene, "{\"role\":\"assistant\",\"content\":[{\"type\":\"hologram\",\"v\":1}]}");
	scene_plan(&scene, &DEFAULTS);
	scene_render_all(&scene);
	assert_int_equal(scene.report.losses_total, 2);
	assert_int_equal(scene.report.losses[0].position, 0);
	assert_int_equal(scene.report.losses[1].position, 1);
	assert_int_equal(occurrences(scene.body.data, "hologram"), 0);
	scene_end(&scene);
}

static void byte_limit__refuses_a_body_that_is_larger(void **state)
{
	struct scene scene = SCENE_INIT;
	struct render_options options = {
		.dialect = DIALECT_ANTHROPIC, .model = SLICE_LITERAL("m"), .byte_limit = 60};
	struct bobbin_error error = {0};
	(void)state;

	scene_user(&scene, "hello");
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(render_request(&scene.plan, &scene.path, &options, &scene.body, NULL, &error),
		BOBBIN_EBUDGET);
	assert_non_null(strstr(error.message, "too big"));
	scene_end(&scene);
}

static void same_input__gives_the_same_bytes(void **state)
{
	struct scene scene = SCENE_INIT;
	uint8_t first[SHA256_BYTES], second[SHA256_BYTES];
	(void)state;

	scene_user(&scene, "go");
	scene_calls(&scene, "", "a b", "a_b", "a_b", NULL);
	scene_plan(&scene, &DEFAULTS);
	scene_render(&scene, DIALECT_ANTHROPIC);
	sha256_of(scene.body.data, scene.body.len, first);
	scene_render(&scene, DIALECT_ANTHROPIC);
	sha256_of(scene.body.data, scene.body.len, second);
	assert_memory_equal(first, second, SHA256_BYTES);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_chat__is_as_simple_as_can_be),
		cmocka_unit_test(a5_sealed_blocks__are_whole_or_absent),
		cmocka_unit_test(a5_sealed__with_a_lone_surrogate_goes_whole),
		cmocka_unit_test(a7_one_system_message__and_strict_turns),
		cmocka_unit_test(a7_first_is_an_assistant__the_marked_message_comes_first),
		cmocka_unit_test(x01_record__never_makes_neighbours_of_equal_role),
		cmocka_unit_test(x02_nothing_to_show__is_one_user_message),
		cmocka_unit_test(x05_server_pairs__stay_together_or_both_go),
		cmocka_unit_test(x05_server_ids__that_occur_twice_go_in_pairs),
		cmocka_unit_test(x05_server_pairs__that_are_damaged_go_whole),
		cmocka_unit_test(x06_reasoning__keeps_its_items_and_drops_the_unfinished),
		cmocka_unit_test(a4_results__in_the_order_of_the_calls_and_a_marked_one),
		cmocka_unit_test(results__that_come_twice_lose_nothing),
		cmocka_unit_test(call_ids__are_made_acceptable_and_unique),
		cmocka_unit_test(arguments__that_are_no_object_are_wrapped),
		cmocka_unit_test(deep_nesting__is_sent_as_text_or_not_at_all),
		cmocka_unit_test(empty_texts__are_dropped_and_the_end_is_trimmed),
		cmocka_unit_test(surrogates_and_nul__are_replaced_in_what_is_sent),
		cmocka_unit_test(c7_shortened__on_a_code_point_at_every_limit),
		cmocka_unit_test(images__in_each_form),
		cmocka_unit_test(tools__are_converted_from_each_form),
		cmocka_unit_test(injected__goes_with_the_newest_user_message),
		cmocka_unit_test(unknown_blocks__are_in_the_report),
		cmocka_unit_test(byte_limit__refuses_a_body_that_is_larger),
		cmocka_unit_test(same_input__gives_the_same_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
