/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/limits.h"
#include "tokens/usage.h"
#include "window/scene.h"

static struct window_budget budget_of(const struct window_options *options, const struct window_fixed *fixed)
{
	struct window_budget budget;
	struct bobbin_error error = {0};

	if (window_budget(options, fixed, &budget, &error))
		fail_msg("no budget: %s", error.message);
	return budget;
}

static void defaults__follow_the_window(void **state)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {.system_tokens = 1000, .tools_tokens = 2000, .injected_tokens = 440};
	(void)state;

	options.window = 100000;
	struct window_budget budget = budget_of(&options, &fixed);
	assert_int_equal(budget.output_reserve, 25000);
	assert_int_equal(budget.margin, 2000);
	assert_int_equal(budget.history, 100000 - 25000 - 2000 - 3440);
	assert_int_equal(budget.trigger, 48692); /* 0.7 * 69560 */
	assert_int_equal(budget.target, 27824);
	assert_int_equal(budget.tail, 17390);
	assert_false(budget.one_turn_more);
	assert_int_equal(budget.record, 6000);

	options.window = 0;
	assert_int_equal(budget_of(&options, &fixed).window, 128000);
}

static void reserve__is_the_smaller_of_model_and_quarter(void **state)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	(void)state;

	options.window = 200000;
	options.output_max = 8192;
	assert_int_equal(budget_of(&options, &fixed).output_reserve, 8192);
	options.output_max = 64000;
	assert_int_equal(budget_of(&options, &fixed).output_reserve, 50000);
	options.output_reserve = 0;
	assert_int_equal(budget_of(&options, &fixed).output_reserve, 0);
}

static void tail__has_a_maximum_and_a_minimum(void **state)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	(void)state;

	options.window = 1000000;
	assert_int_equal(budget_of(&options, &fixed).tail, 24000);
	options.tail_max = 50000;
	assert_int_equal(budget_of(&options, &fixed).tail, 50000);
	options.window = 20000;
	struct window_budget budget = budget_of(&options, &fixed);
	assert_int_equal(budget.tail, 14600 / 4);
	assert_true(budget.one_turn_more);
	options.tail_min = 3650;
	assert_false(budget_of(&options, &fixed).one_turn_more);
}

static void trigger_tokens__never_pass_the_history(void **state)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	(void)state;

	options.window = 100000;
	options.trigger_tokens = 14000;
	struct window_budget budget = budget_of(&options, &fixed);
	assert_int_equal(budget.trigger, 14000);
	assert_int_equal(budget.target, 8000);
	options.trigger_tokens = 500000;
	budget = budget_of(&options, &fixed);
	assert_int_equal(budget.trigger, budget.history);
	assert_true(budget.target < budget.trigger);
}

static void nothing_left__names_the_part(void **state)
{
	static const struct {
		struct window_fixed fixed;
		int64_t reserve, margin;
		const char *name;
	} cases[] = {
		{{9000, 10, 10, 0}, -1, -1, "system prompt"},
		{{10, 9000, 10, 0}, -1, -1, "list of tools"},
		{{10, 10, 9000, 0}, -1, -1, "injected"},
		{{10, 10, 10, 0}, 9000, -1, "output reserve"},
		{{10, 10, 10, 0}, -1, 9000, "margin"},
		{{UINT64_MAX, 10, 10, 0}, -1, -1, "system prompt"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct window_options options = WINDOW_OPTIONS_INIT;
		struct window_budget budget = {.window = 77};
		struct bobbin_error error = {0};
		options.window = 8192;
		options.output_reserve = cases[i].reserve;
		options.margin = cases[i].margin;
		assert_int_equal(window_budget(&options, &cases[i].fixed, &budget, &error), BOBBIN_EBUDGET);
		assert_non_null(strstr(error.message, cases[i].name));
		assert_int_equal(budget.window, 77);
	}
}

static void bad_options__are_refused(void **state)
{
	struct window_options good = WINDOW_OPTIONS_INIT, bad;
	struct window_fixed fixed = {0};
	struct window_budget budget;
	(void)state;

	bad = good, bad.trigger = 1.5;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EINVAL);
	bad = good, bad.trigger = 0.0 / 0.0;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EINVAL);
	bad = good, bad.target = -0.1;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EINVAL);
	bad = good, bad.tail_min = 9, bad.tail_max = 8;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EINVAL);
	bad = good, bad.window = UINT64_MAX;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EINVAL);
	bad = good, bad.byte_limit = 1000, fixed.bytes = 990;
	assert_int_equal(window_budget(&bad, &fixed, &budget, NULL), BOBBIN_EBUDGET);
}

/* The numbers of the case. */
static void b6_trigger_and_preflight_share_the_budget(void **state)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {.system_tokens = 6000, .tools_tokens = 4000};
	(void)state;

	options.window = 200000;
	options.output_reserve = 64000;
	options.margin = 2000;
	struct window_budget budget = budget_of(&options, &fixed);
	assert_int_equal(budget.history, 124000);
	assert_int_equal(budget.trigger, 86800);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Any window, reserve, system, tools, margin: the parts add up, and the trigger lies at or below what is
 * refused. */
static void b6_property__fires_before_it_refuses(void **state)
{
	uint64_t seed = 88172645463325252ull;
	(void)state;

	for (int i = 0; i < 20000; i++) {
		struct window_options options = WINDOW_OPTIONS_INIT;
		struct window_fixed fixed = {.system_tokens = next_random(&seed) % 20000,
			.tools_tokens = next_random(&seed) % 20000,
			.injected_tokens = next_random(&seed) % 3000};
		struct window_budget budget;
		options.window = 1000 + next_random(&seed) % 300000;
		if (next_random(&seed) % 2)
			options.output_reserve = (int64_t)(next_random(&seed) % 100000);
		if (next_random(&seed) % 2)
			options.margin = (int64_t)(next_random(&seed) % 5000);
		if (next_random(&seed) % 3 == 0)
			options.trigger_tokens = 1 + next_random(&seed) % 200000;
		int rc = window_budget(&options, &fixed, &budget, NULL);
		if (rc) {
			assert_int_equal(rc, BOBBIN_EBUDGET);
			continue;
		}
		assert_int_equal(budget.window, budget.output_reserve + budget.margin + budget.system +
							budget.tools + budget.injected + budget.history);
		assert_true(budget.trigger >= 1 && budget.trigger <= budget.history);
		assert_true(budget.target < budget.trigger);
		assert_true(budget.tail <= budget.history / 4);
	}
}

/* Grown message by message, the plan says over_trigger before the raw line stops fitting. */
static void b6_grown__is_over_the_trigger_before_it_is_cut(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = WINDOW_OPTIONS_INIT;
	bool fired = false, cut = false;
	(void)state;

	options.window = 4000;
	options.no_clear = true;
	for (int i = 0; i < 60 && !cut; i++) {
		scene_user(&scene, scene_text(&scene, "ask", 30));
		scene_assistant(&scene, scene_text(&scene, "answer", 60));
		scene_plan(&scene, &options);
		cut = scene.plan.cut > 0;
		if (cut)
			assert_true(fired);
		else
			assert_true(scene.plan.view_tokens <= scene.budget.history);
		fired = fired || scene.plan.over_trigger;
		assert_int_equal(scene.plan.over_trigger, scene.plan.line_tokens >= scene.budget.trigger);
	}
	assert_true(cut);
	scene_end(&scene);
}

/* The next request follows the new model, prompt and tools at once. */
static void x13_smaller_window__budget_follows_at_once(void **state)
{
	struct scene scene = SCENE_INIT;
	struct window_options options = WINDOW_OPTIONS_INIT;
	(void)state;

	for (int i = 0; i < 75; i++) {
		scene_user(&scene, scene_text(&scene, "ask", 400));
		scene_assistant(&scene, scene_text(&scene, "answer", 1600));
	}
	options.window = 273000;
	scene_plan(&scene, &options);
	assert_true(scene.plan.line_tokens > 140000 && scene.plan.line_tokens < 160000);
	assert_int_equal(scene.plan.cut, 0);

	options.window = 125000;
	scene_plan(&scene, &options);
	assert_true(scene.plan.cut > 0);
	assert_true(scene.plan.view_tokens <= scene.budget.history);
	scene_render_all(&scene);

	options.window = 273000;
	scene_plan(&scene, &options);
	assert_int_equal(scene.plan.cut, 0);
	uint64_t before = scene.budget.trigger;
	scene.tools =
		"[{\"name\":\"ls\",\"description\":\"lists files\",\"input_schema\":{\"type\":\"object\"}}]";
	scene_plan(&scene, &options);
	assert_true(scene.budget.trigger < before);
	scene_end(&scene);
}

/* Usage in two dialects for the same request: both say 155,099 tokens, and both fire in a window of 200k. */
static void b3_cached_tokens__count_towards_the_trigger(void **state)
{
	static const char *const reports[] = {
		"{\"input_tokens\":99,\"cache_read_input_tokens\":150000,\"cache_creation_input_tokens\":"
		"5000,"
		"\"output_tokens\":140}",
		"{\"prompt_tokens\":155099,\"prompt_tokens_details\":{\"cached_tokens\":150000},\"completion_"
		"tokens\":140}",
	};
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	(void)state;

	options.window = 200000;
	struct window_budget budget = budget_of(&options, &fixed);
	for (size_t i = 0; i < 2; i++) {
		struct json report;
		struct token_usage usage;
		assert_int_equal(json_parse(reports[i], strlen(reports[i]), &report, NULL), 0);
		assert_true(token_usage_read(&report, &usage));
		assert_int_equal(usage.input, 155099);
		assert_true(usage.input >= budget.trigger);
		assert_true(token_usage_context(&usage) >= budget.trigger);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults__follow_the_window),
		cmocka_unit_test(reserve__is_the_smaller_of_model_and_quarter),
		cmocka_unit_test(tail__has_a_maximum_and_a_minimum),
		cmocka_unit_test(trigger_tokens__never_pass_the_history),
		cmocka_unit_test(nothing_left__names_the_part),
		cmocka_unit_test(bad_options__are_refused),
		cmocka_unit_test(b6_trigger_and_preflight_share_the_budget),
		cmocka_unit_test(b6_property__fires_before_it_refuses),
		cmocka_unit_test(b6_grown__is_over_the_trigger_before_it_is_cut),
		cmocka_unit_test(x13_smaller_window__budget_follows_at_once),
		cmocka_unit_test(b3_cached_tokens__count_towards_the_trigger),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
