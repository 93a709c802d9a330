/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"
#include "support/fail.h"
#include "window/scene.h"

static const struct window_options DEFAULTS = WINDOW_OPTIONS_INIT;

/* A window whose history is exactly `tokens`, the system prompt and the like aside. */
static struct window_options history_of(uint64_t tokens)
{
	struct window_options options = WINDOW_OPTIONS_INIT;

	options.window = tokens;
	options.output_reserve = 0;
	options.margin = 0;
	return options;
}

/* u, call, result, reply: about 1000 tokens a round. */
static void add_rounds(struct scene *scene, int count)
{
	char id[16];

	for (int i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "c%d", i);
		scene_user(scene, scene_text(scene, "please look at", 150));
		scene_calls(scene, "", id, NULL);
		scene_result(scene, id, scene_text(scene, "file", 420));
		scene_assistant(scene, scene_text(scene, "it says", 390));
	}
}

static void empty_line__is_an_empty_plan(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(scene.plan.part_count, 0);
	assert_int_equal(scene.plan.hidden_count, 0);
	assert_int_equal(scene.plan.view_tokens, 0);
	assert_false(scene.plan.over_trigger);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void fitting_line__is_shown_whole(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	add_rounds(&scene, 3);
	scene_plan(&scene, &DEFAULTS);
	assert_int_equal(scene.plan.part_count, 1);
	assert_int_equal(scene.plan.parts[0].from, 0);
	assert_int_equal(scene.plan.parts[0].to, 12);
	assert_int_equal(scene.plan.parts[0].tokens, scene.path.tokens);
	assert_int_equal(scene.plan.hidden_count, 0);
	assert_int_equal(scene.plan.cut, 0);
	assert_int_equal(scene.plan.inner_cut, WINDOW_NONE);
	assert_int_equal(scene.plan.newest, 8);
	scene_render_all(&scene);
	scene_end(&scene);
}

/* The example of the design's budget. */
static void budget_example__keep_recent_6_keeps_the_last_two_rounds(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	(void)state;

	options.keep_recent = 6;
	add_rounds(&scene, 30);
	scene_plan(&scene, &options);
	assert_int_equal(scene.budget.history, 8000);
	assert_int_equal(scene.budget.trigger, 5600);
	assert_in_range(scene.plan.line_tokens, 29000, 31000);
	assert_true(scene.plan.over_trigger);
	assert_int_equal(scene.plan.cut, 112);
	assert_int_equal(scene.plan.inner_cut, WINDOW_NONE);
	assert_int_equal(scene.plan.part_count, 1);
	assert_int_equal(scene.plan.parts[0].from, 112);
	assert_int_equal(scene.plan.parts[0].to, 120);
	assert_int_equal(scene.plan.hidden_count, 1);
	assert_string_equal(scene.plan.hidden[0].from_id, "m1");
	assert_string_equal(scene.plan.hidden[0].to_id, "m112");
	char pointer[WINDOW_POINTER_BYTES];
	window_pointer(&scene.plan.hidden[0], pointer);
	assert_string_equal(pointer, "recall m1–m112");
	scene_render_all(&scene);
	scene_end(&scene);
}

static void tail__is_the_earliest_turn_that_fits(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	struct path_item item;
	uint64_t fits = 0, with_one_more = 0;
	size_t cut;
	(void)state;

	options.no_clear = true;
	options.tail_min = 1; /* no turn more */
	add_rounds(&scene, 30);
	scene_plan(&scene, &options);
	cut = scene.plan.cut;
	assert_int_equal(path_item(&scene.path, cut, &item, NULL), 0);
	fits = scene.path.tokens - item.tokens_before;
	assert_int_equal(path_item(&scene.path, cut - 4, &item, NULL), 0);
	with_one_more = scene.path.tokens - item.tokens_before;
	assert_int_equal(cut % 4, 0);
	assert_true(fits <= 2000 && with_one_more > 2000);

	/* The minimum asks for one turn more, and the target of 3,200 allows it. */
	options.tail_min = 0;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, cut - 4);
	assert_true(scene.plan.view_tokens <= scene.budget.target);
	assert_true(plan_covers_line(&scene));
	scene_end(&scene);
}

static void latest_user_message__stays_when_its_turn_does_not_fit(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(4000);
	char id[16];
	(void)state;

	options.no_clear = true;
	add_rounds(&scene, 2);
	scene_user(&scene, scene_text(&scene, "THE TASK", 60));
	for (int i = 0; i < 20; i++) {
		snprintf(id, sizeof(id), "k%d", i);
		scene_calls(&scene, "", id, NULL);
		scene_result(&scene, id, scene_text(&scene, "output", 300));
	}
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, 8);
	assert_true(scene.plan.inner_cut > 9 && scene.plan.inner_cut < scene.count);
	assert_int_equal((scene.plan.inner_cut - 9) % 2, 0); /* the start of a round */
	assert_true(scene.plan.view_tokens <= 1000 + 64);
	assert_true(plan_covers_line(&scene));
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "THE TASK"), 1);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void round_too_large__keeps_its_pairs_and_shortens_bodies(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(2000);
	(void)state;

	scene_user(&scene, "compare the two files");
	scene_calls(&scene, "reading", "c1", "c2", "c3", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "BIG-ONE", 3000));
	scene_result(&scene, "c2", scene_text(&scene, "SMALL", 30));
	scene_result(&scene, "c3", scene_text(&scene, "BIG-TWO", 2000));
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.shortened_count, 2);
	assert_int_equal(scene.plan.shortened[0].position, 2);
	assert_int_equal(scene.plan.shortened[1].position, 4);
	assert_true(scene.plan.view_tokens <= scene.budget.target);
	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
	assert_int_equal(occurrences(body, "\"tool_result\""), 3);
	assert_int_equal(occurrences(body, "BIG-ONE "), 1);
	assert_int_equal(occurrences(body, "tokens; recall m3]"), 1);
	assert_int_equal(occurrences(body, "tokens; recall m5]"), 1);
	assert_int_equal(occurrences(body, "recall m4"), 0);
	assert_true(body_tokens(body, scene.body.len) <= scene.budget.history);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void pointers_only__when_nothing_else_fits(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(88);
	(void)state;

	scene_user(&scene, "compare");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "BIG", 12345));
	scene_plan(&scene, &options);
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(occurrences(body, "BIG"), 0);
	assert_int_equal(occurrences(body, "[… 12 3"), 1);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void floor_too_big__names_the_part(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(500);
	struct bobbin_error error = {0};
	(void)state;

	scene_user(&scene, scene_text(&scene, "long question", 600));
	assert_int_equal(scene_try(&scene, &options, &error), BOBBIN_EBUDGET);
	assert_non_null(strstr(error.message, "the user's newest message"));
	scene_end(&scene);

	scene_user(&scene, "short");
	scene_calls(&scene, scene_text(&scene, "I say much", 700), "c1", NULL);
	scene_result(&scene, "c1", "done");
	assert_int_equal(scene_try(&scene, &options, &error), BOBBIN_EBUDGET);
	assert_non_null(strstr(error.message, "the model's last message"));
	scene_end(&scene);

	scene_user(&scene, scene_text(&scene, "rules", 600));
	scene_assistant(&scene, "yes");
	scene_user(&scene, "go");
	options.keep_first = 1;
	assert_int_equal(scene_try(&scene, &options, &error), BOBBIN_EBUDGET);
	assert_non_null(strstr(error.message, "pinned"));
	scene_end(&scene);
}

static void keep_first__stays_before_everything(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	(void)state;

	options.keep_first = 2; /* between a call and its result: the round stays whole */
	add_rounds(&scene, 30);
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.parts[0].kind, WINDOW_PINNED);
	assert_int_equal(scene.plan.parts[0].to, 3);
	assert_true(scene.plan.cut > 100);
	assert_int_equal(scene.plan.cut % 4, 0);
	assert_true(plan_covers_line(&scene));
	scene_render_all(&scene);
	options.keep_first = 1000000;
	options.window = 100000;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.parts[0].to, 120);
	assert_true(plan_covers_line(&scene));
	scene_render_all(&scene);
	scene_end(&scene);
}

static void clear__turns_consumed_results_into_pointers(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(20000);
	char id[16];
	(void)state;

	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "c%d", i);
		scene_user(&scene, scene_text(&scene, "look", 40));
		scene_calls(&scene, "", id, NULL);
		scene_result(&scene, id, scene_text(&scene, "OUTPUT", 1400));
		scene_assistant(&scene, scene_text(&scene, "fine", 40));
	}
	scene_plan(&scene, &options);
	assert_true(scene.plan.over_trigger);
	assert_int_equal(scene.plan.cut, 0);
	assert_true(scene.plan.view_tokens < scene.budget.trigger);
	assert_int_equal(scene.plan.hidden_count, 1);
	assert_int_equal(scene.plan.hidden[0].kind, HIDDEN_CLEARED);
	assert_int_equal(scene.plan.hidden[0].from, 2);
	assert_int_equal(scene.plan.line_tokens - scene.plan.view_tokens, scene.plan.hidden[0].tokens);
	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
	assert_int_equal(occurrences(body, "OUTPUT"), 3); /* 4,500 tokens of the tail of 5,000 */
	assert_int_equal(occurrences(body, "tokens; recall m"), 9);
	assert_true(plan_covers_line(&scene));
	scene_render_all(&scene);

	options.clear_min_gain = 15000;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.hidden_count, 0);
	assert_int_equal(scene.plan.view_tokens, scene.plan.line_tokens);
	options.clear_min_gain = 0;
	options.no_clear = true;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.hidden_count, 0);
	scene_end(&scene);
}

static void clear__leaves_the_results_the_model_has_not_seen(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(5000);
	(void)state;

	scene_user(&scene, "read all");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "FIRST", 2000));
	scene_calls(&scene, "", "c2", "c3", NULL);
	scene_result(&scene, "c2", scene_text(&scene, "SECOND", 1300));
	scene_result(&scene, "c3", scene_text(&scene, "THIRD", 1300));
	scene_plan(&scene, &options);
	const char *body = scene_render(&scene, DIALECT_OPENAI_RESPONSES);
	assert_int_equal(occurrences(body, "FIRST"), 0);
	assert_int_equal(occurrences(body, "SECOND"), 1);
	assert_int_equal(occurrences(body, "THIRD"), 1);
	scene_end(&scene);
}

static struct window_record record_at(size_t cut)
{
	return (struct window_record){
		.cut = cut, .inner_cut = WINDOW_NONE, .text = SLICE_LITERAL("TASK: ship it"), .tokens = 16};
}

static void record__stands_for_what_it_covers(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	struct window_record record = record_at(100);
	(void)state;

	add_rounds(&scene, 30);
	scene.record = &record;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, 100);
	assert_int_equal(scene.plan.record_at, 100);
	assert_false(scene.plan.summary_stale);
	assert_int_equal(scene.plan.parts[0].kind, WINDOW_RECORD);
	assert_int_equal(scene.plan.hidden[0].kind, HIDDEN_SUMMARISED);
	assert_int_equal(scene.plan.hidden[0].to, 100);
	assert_int_equal(scene.plan.over_trigger, scene.plan.full_tokens >= 5600);
	assert_true(plan_covers_line(&scene));
	const char *body = scene_render(&scene, DIALECT_OPENAI_CHAT);
	assert_int_equal(
		occurrences(body, "[Summary of earlier conversation]\\nTASK: ship it\\n\\nplease look at"),
		1);
	scene_render_all(&scene);

	/* The trigger compares the view, not the line. */
	record.cut = 112;
	scene_plan(&scene, &options);
	assert_false(scene.plan.over_trigger);
	scene_end(&scene);
}

static void record__is_not_enough(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	struct window_record record = record_at(40);
	(void)state;

	add_rounds(&scene, 30);
	scene.record = &record;
	scene_plan(&scene, &options);
	assert_true(scene.plan.over_trigger);
	assert_true(scene.plan.cut > 100);
	assert_int_equal(scene.plan.record_at, scene.plan.cut);
	assert_int_equal(scene.plan.hidden[0].kind, HIDDEN_SUMMARISED);
	assert_int_equal(scene.plan.hidden[0].to, 40);
	assert_int_equal(scene.plan.hidden[1].kind, HIDDEN_CUT);
	assert_int_equal(scene.plan.hidden[1].from, 40);
	assert_int_equal(scene.plan.hidden[1].to, scene.plan.cut);
	scene_render_all(&scene);
	scene_end(&scene);
}

static void record__with_an_inner_cut(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(8000);
	struct window_record record = record_at(4);
	char id[16];
	(void)state;

	add_rounds(&scene, 1);
	scene_user(&scene, "THE TASK");
	for (int i = 0; i < 20; i++) {
		snprintf(id, sizeof(id), "k%d", i);
		scene_calls(&scene, "", id, NULL);
		scene_result(&scene, id, scene_text(&scene, "output", 300));
	}
	record.inner_cut = 35;
	scene.record = &record;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, 4);
	assert_int_equal(scene.plan.inner_cut, 35);
	assert_true(plan_covers_line(&scene));
	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);
	assert_int_equal(occurrences(body, "\"output "), 5);
	scene_render_all(&scene);
	/* Too many rounds again: the inner cut moves on, and what is in no record is said. */
	options = history_of(1000);
	scene_plan(&scene, &options);
	assert_true(scene.plan.inner_cut > 35);
	assert_true(plan_covers_line(&scene));
	scene_render_all(&scene);
	scene_end(&scene);
}

static void record__that_does_not_fit_the_line_is_stale(void **state)
{
	static const struct window_record records[] = {
		{.stale = "its digest differs", .cut = 4, .inner_cut = WINDOW_NONE},
		{.cut = WINDOW_NONE, .inner_cut = WINDOW_NONE},
		{.cut = 5, .inner_cut = WINDOW_NONE},
		{.cut = 120, .inner_cut = WINDOW_NONE},
		{.cut = 4, .inner_cut = 6},
		{.cut = 4, .inner_cut = 9},
		{.cut = 4, .inner_cut = 3},
	};
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(100000);
	(void)state;

	add_rounds(&scene, 30);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		scene.record = &records[i];
		scene_plan(&scene, &options);
		assert_true(scene.plan.summary_stale);
		assert_non_null(scene.plan.stale_reason);
		assert_int_equal(scene.plan.record_at, WINDOW_NONE);
		assert_int_equal(scene.plan.view_tokens, scene.path.tokens);
	}
	scene_end(&scene);
}

static void cut_for_a_record__is_the_tail_even_if_the_line_fits(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(40000);
	struct path_item item;
	(void)state;

	add_rounds(&scene, 30);
	options.cut_for_record = 6000;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.hidden_count, 1);
	assert_int_equal(scene.plan.cut % 4, 0);
	assert_int_equal(path_item(&scene.path, scene.plan.cut, &item, NULL), 0);
	assert_true(scene.path.tokens - item.tokens_before <= 10000);
	assert_int_equal(path_item(&scene.path, scene.plan.cut - 4, &item, NULL), 0);
	assert_true(scene.path.tokens - item.tokens_before > 10000);
	scene_end(&scene);

	/* What fits the tail is kept whole. */
	add_rounds(&scene, 9);
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, 0);
	assert_int_equal(scene.plan.hidden_count, 0);
	scene_end(&scene);
}

static void a1_every_budget__cuts_at_a_turn_start(void **state)
{
	struct scene scene = SCENE_INIT;
	size_t planned = 0, cuts[3] = {0};
	(void)state;

	scene_user(&scene, "u1 what is here?");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "listing", 1500));
	scene_assistant(&scene, "a2 many files");
	scene_user(&scene, "u2 and there?");
	scene_calls(&scene, "", "c2", "c3", NULL);
	scene_result(&scene, "c2", scene_text(&scene, "left", 80));
	scene_result(&scene, "c3", scene_text(&scene, "right", 80));
	scene_assistant(&scene, "a4 both");
	scene_user(&scene, "u3 thanks");
	for (uint64_t budget = 1; budget < 2200; budget++) {
		struct window_options options = history_of(budget);
		struct bobbin_error error;
		for (int clear = 0; clear < 2; clear++) {
			options.no_clear = !clear;
			int rc = scene_try(&scene, &options, &error);
			if (rc) {
				assert_int_equal(rc, BOBBIN_EBUDGET);
				assert_true(budget < 20);
				continue;
			}
			planned++;
			assert_true(scene.plan.cut == 0 || scene.plan.cut == 4 || scene.plan.cut == 9);
			assert_true(scene.plan.view_tokens <= budget);
			assert_true(plan_covers_line(&scene));
			cuts[scene.plan.cut == 0 ? 0 : scene.plan.cut == 4 ? 1 : 2]++;
			if (budget % 7 == 0 || budget < 300)
				scene_render_all(&scene);
		}
	}
	assert_true(planned > 4000);
	assert_true(cuts[0] && cuts[1] && cuts[2]);
	scene_end(&scene);
}

/* One user message, forty rounds of 4k: planned before every call to the model. */
static void b5_long_turn__no_request_exceeds_the_window(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = WINDOW_OPTIONS_INIT;
	char id[16];
	bool fired = false;
	(void)state;

	options.window = 100000;
	scene.system = "You are careful.";
	scene_user(&scene, "THE TASK of the user's");
	for (int i = 0; i < 40; i++) {
		scene_plan(&scene, &options);
		fired = fired || scene.plan.over_trigger;
		const char *body = scene_render(&scene, (enum dialect)(i % 3));
		assert_int_equal(occurrences(body, "THE TASK of the user's"), 1);
		assert_true(body_tokens(body, scene.body.len) + scene.budget.output_reserve <= 100000);
		snprintf(id, sizeof(id), "c%d", i);
		scene_calls(&scene, "", id, NULL);
		scene_result(&scene, id, scene_text(&scene, "rows", 4000));
	}
	assert_true(fired);
	scene_end(&scene);
}

static void x03_trimmed_to_every_size__starts_at_a_turn(void **state)
{
	struct scene scene = SCENE_INIT;
	(void)state;

	scene_user(&scene, "one");
	scene_calls(&scene, "", "c1", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "result", 50));
	scene_assistant(&scene, "two");
	scene_user(&scene, "three");
	for (uint64_t budget = 7; budget < 140; budget++) {
		struct window_options options = history_of(budget);
		scene_plan(&scene, &options);
		assert_true(scene.plan.cut == 0 || scene.plan.cut == 4);
		scene_render_all(&scene);
	}
	scene_end(&scene);
}

static void x11_few_large_messages__are_cut_all_the_same(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = WINDOW_OPTIONS_INIT;
	(void)state;

	options.window = 200000;
	for (int i = 0; i < 3; i++) {
		scene_user(&scene, scene_text(&scene, "ask", 30000));
		scene_assistant(&scene, scene_text(&scene, "answer", 30000));
	}
	scene_plan(&scene, &options);
	assert_true(scene.plan.over_trigger);
	assert_int_equal(scene.plan.cut, 4);
	assert_true(scene.plan.view_tokens <= scene.budget.history);
	assert_int_equal(scene.plan.hidden_count, 1);
	scene_render_all(&scene);
	scene_end(&scene);
}

static char *base64_of(size_t bytes)
{
	char *data = malloc(bytes + 1);

	assert_non_null(data);
	memset(data, 'A', bytes);
	data[bytes] = '\0';
	return data;
}

static void x07_images__oldest_become_pointers_before_the_byte_limit(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = WINDOW_OPTIONS_INIT;
	char *data = base64_of(300000);
	(void)state;

	/* A tenth of the case's sizes: 12 results of 0.3 MB, a limit of 3.2 MB. */
	options.window = 400000;
	options.byte_limit = 3200000;
	scene_user(&scene, "look at all pictures");
	for (int i = 0; i < 12; i++) {
		scene_line(&scene,
			"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\",\"name\":\"see\","
			"\"arguments\":\"{}\"}]}",
			i);
		scene_line(&scene,
			"{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":[{\"type\":\"image\","
			"\"source\":{\"type\":\"base64\","
			"\"media_type\":\"image/png\",\"data\":\"%s\"}}]}",
			i, data);
	}
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.images_from, 5);
	assert_int_equal(scene.plan.hidden[scene.plan.hidden_count - 1].kind, HIDDEN_IMAGES);
	assert_string_equal(scene.plan.hidden[scene.plan.hidden_count - 1].from_id, "m3");
	assert_string_equal(scene.plan.hidden[scene.plan.hidden_count - 1].to_id, "m5");
	for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++) {
		const char *body = scene_render(&scene, dialect);
		assert_true(scene.body.len <= options.byte_limit);
		assert_int_equal(scene.report.images_hidden, 2);
		assert_int_equal(occurrences(body, "[image; recall m"), 2);
		assert_int_equal(occurrences(body, "[image; recall m3]"), 1);
		assert_int_equal(occurrences(body, "AAAAAAAA\""), 10);
	}
	/* What is kept of a foreign original is never sent and does not count. */
	options.byte_limit = 3800000;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.images_from, 0);
	scene_line(&scene, "{\"role\":\"user\",\"content\":\"well?\",\"src\":{\"copy\":\"%s\"}}", data);
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.images_from, 0);
	scene_render_all(&scene);
	assert_true(scene.body.len <= options.byte_limit);

	options.byte_limit = 100000;
	scene_plan(&scene, &options);
	scene_render_all(&scene);
	assert_true(scene.body.len <= 100000);
	options.byte_limit = 2000;
	struct bobbin_error error;
	assert_int_equal(scene_try(&scene, &options, &error), BOBBIN_EBUDGET);
	free(data);
	scene_end(&scene);
}

/* A line of n messages whose items are computed: nothing but the plan's own questions costs anything. */
static int even_item(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	(void)error;
	++*(uint64_t *)context;
	*ret_item = (struct path_item){.tokens_before = position * 100ull,
		.bytes_before = position * 400ull,
		.tokens = 100,
		.bytes = 400,
		.turn = position - position % 4,
		.round = position % 4 == 2 ? position - 1 : position,
		.role = position % 4 == 0   ? ROLE_USER
			: position % 4 == 2 ? ROLE_TOOL
					    : ROLE_ASSISTANT,
		.calls = position % 4 == 1};
	return 0;
}

static int even_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	(void)context, (void)error;
	snprintf(ret_id, PATH_ID_BYTES, "m%zu", position + 1);
	return 0;
}

static void planning__asks_for_log_n_items(void **state)
{
	static const struct path_ops ops = {even_item, even_id, NULL, NULL};
	static const size_t counts[] = {1000, 10000, 100000, 1000000};
	uint64_t asked[4];
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	struct window_budget budget;
	struct window_plan plan;
	(void)state;

	options.window = 8000;
	assert_int_equal(window_budget(&options, &fixed, &budget, NULL), 0);
	for (size_t i = 0; i < 4; i++) {
		asked[i] = 0;
		struct path path = {&ops, &asked[i], counts[i], counts[i] * 100, counts[i] * 400, true};
		assert_int_equal(window_plan(&path, &budget, &options, NULL, NULL, &plan, NULL), 0);
		assert_true(plan.cut > 0 && plan.cut % 4 == 0);
	}
	assert_true(asked[1] <= 80);
	assert_true(asked[2] - asked[1] <= 12); /* log2(10), for each of the searches */
	assert_true(asked[3] - asked[2] <= 12);
}

static void no_memory__is_said_everywhere(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = history_of(2000);
	struct bobbin_error error;
	(void)state;

	add_rounds(&scene, 2);
	scene_user(&scene, "compare \\u0000");
	scene_calls(&scene, "reading", "c1", "c1", NULL);
	scene_result(&scene, "c1", scene_text(&scene, "BIG-ONE", 3000));
	scene_plan(&scene, &options);
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = scene_try(&scene, &options, &error);
		if (!rc)
			rc = scene_render_raw(&scene, DIALECT_ANTHROPIC, &error);
		struct check_faults faults;
		int checked =
			rc ? 0 : check_request("anthropic", buffer_slice(&scene.body), NULL, &faults, &error);
		if (!rc && !checked) {
			assert_int_equal(faults.count, 0);
			check_faults_release(&faults);
		}
		buffer_release(&scene.body);
		scene.body = (struct buffer)BUFFER_INIT(LIMIT_REQUEST_BYTES);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			assert_true(nth > 10);
			break;
		}
		assert_int_equal(rc ? rc : checked, BOBBIN_ENOMEM);
	}
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_line__is_an_empty_plan),
		cmocka_unit_test(fitting_line__is_shown_whole),
		cmocka_unit_test(budget_example__keep_recent_6_keeps_the_last_two_rounds),
		cmocka_unit_test(tail__is_the_earliest_turn_that_fits),
		cmocka_unit_test(latest_user_message__stays_when_its_turn_does_not_fit),
		cmocka_unit_test(round_too_large__keeps_its_pairs_and_shortens_bodies),
		cmocka_unit_test(pointers_only__when_nothing_else_fits),
		cmocka_unit_test(floor_too_big__names_the_part),
		cmocka_unit_test(keep_first__stays_before_everything),
		cmocka_unit_test(clear__turns_consumed_results_into_pointers),
		cmocka_unit_test(clear__leaves_the_results_the_model_has_not_seen),
		cmocka_unit_test(record__stands_for_what_it_covers),
		cmocka_unit_test(record__is_not_enough),
		cmocka_unit_test(record__with_an_inner_cut),
		cmocka_unit_test(record__that_does_not_fit_the_line_is_stale),
		cmocka_unit_test(cut_for_a_record__is_the_tail_even_if_the_line_fits),
		cmocka_unit_test(a1_every_budget__cuts_at_a_turn_start),
		cmocka_unit_test(b5_long_turn__no_request_exceeds_the_window),
		cmocka_unit_test(x03_trimmed_to_every_size__starts_at_a_turn),
		cmocka_unit_test(x11_few_large_messages__are_cut_all_the_same),
		cmocka_unit_test(x07_images__oldest_become_pointers_before_the_byte_limit),
		cmocka_unit_test(planning__asks_for_log_n_items),
		cmocka_unit_test(no_memory__is_said_everywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
