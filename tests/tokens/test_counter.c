/* SPDX-License-Identifier: MIT */
/* Counters of models, usage dialects, calibration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tokens/counter.h"

static struct token_usage read_usage(const char *text)
{
	struct json usage;
	struct token_usage result = {0};
	assert_int_equal(json_parse(text, strlen(text), &usage, NULL), 0);
	assert_true(token_usage_read(&usage, &result));
	return result;
}

static void b3_anthropic_cache_figures__stand_beside_input(void **state)
{
	(void)state;
	struct token_usage usage = read_usage("{\"input_tokens\":99,\"cache_read_input_tokens\":150000,"
					      "\"cache_creation_input_tokens\":5000,\"output_tokens\":140}");
	assert_int_equal(usage.input, 155099);
	assert_int_equal(token_usage_context(&usage), 155239);
	assert_int_equal(usage.cached, 150000);
	assert_int_equal(usage.cache_written, 5000);
}

static void b3_openai_cached_tokens__are_inside_prompt_tokens(void **state)
{
	(void)state;
	struct token_usage usage =
		read_usage("{\"prompt_tokens\":155099,\"completion_tokens\":140,\"total_tokens\":155239,"
			   "\"prompt_tokens_details\":{\"cached_tokens\":150000},\"completion_tokens_"
			   "details\":{\"reasoning_tokens\":64}}");
	assert_int_equal(usage.input, 155099);
	assert_int_equal(usage.cached, 150000);
	assert_int_equal(usage.output, 140);
	assert_int_equal(usage.reasoning, 64);
	assert_int_equal(token_usage_context(&usage), 155239);
}

static void b3_every_dialect__gives_the_same_context(void **state)
{
	(void)state;
	static const struct {
		const char *usage;
		uint64_t input, cached, output;
	} reports[] = {
		{"{\"input_tokens\":1000,\"input_tokens_details\":{\"cached_tokens\":800},\"output_tokens\":"
		 "50}",
			1000, 800, 50},
		{"{\"input_tokens\":200,\"cache_read_input_tokens\":800,\"output_tokens\":50}", 1000, 800,
			50},
		{"{\"input_tokens\":1000,\"cache_read_input_tokens\":null,\"output_tokens\":50}", 1000, 0,
			50},
		{"{\"prompt_tokens\":1000,\"completion_tokens\":50,\"prompt_tokens_details\":null}", 1000, 0,
			50},
		{"{\"promptTokenCount\":1000,\"cachedContentTokenCount\":800,\"candidatesTokenCount\":30,"
		 "\"thoughtsTokenCount\":20}",
			1000, 800, 50},
		{"{\"input_tokens\":1e3,\"output_tokens\":50.0}", 1000, 0, 50},
	};
	for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
		struct token_usage usage = read_usage(reports[i].usage);
		assert_true(usage.has_input);
		assert_int_equal(usage.input, reports[i].input);
		assert_int_equal(usage.cached, reports[i].cached);
		assert_int_equal(usage.output, reports[i].output);
	}
}

static void usage__that_is_none_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"{}", "[]", "null", "7", "{\"input_tokens\":-1}",
		"{\"prompt_tokens\":\"12\"}", "{\"total_tokens\":5}"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct json usage;
		struct token_usage result;
		assert_int_equal(json_parse(bad[i], strlen(bad[i]), &usage, NULL), 0);
		assert_false(token_usage_read(&usage, &result));
	}
}

static void usage__of_absurd_size_does_not_overflow(void **state)
{
	(void)state;
	struct usage_figures figures = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	for (int dialect = USAGE_OPENAI_CHAT; dialect <= USAGE_GEMINI; dialect++) {
		struct token_usage usage = token_usage_of(dialect, &figures);
		assert_true(token_usage_context(&usage) >= usage.input && usage.input >= usage.cached);
	}
}

/* ---- calibration ---- */

static struct token_counter estimate_counter(void)
{
	struct token_counter counter;
	token_counter_for_model("claude-sonnet-4", &counter);
	assert_false(counter.exact);
	assert_string_equal(counter.name, "estimate");
	return counter;
}

static struct token_usage usage_of(uint64_t input, uint64_t output)
{
	return token_usage_of(USAGE_ANTHROPIC, &(struct usage_figures){.input = input, .output = output});
}

static void x10_report_about_another_view__is_not_used(void **state)
{
	(void)state;
	struct token_counter counter = estimate_counter();
	struct token_usage usage = usage_of(363000, 900);
	uint64_t context = 17;
	/* Sent before the swap as view 1; what is at hand is view 2. */
	assert_false(token_usage_for_view(&usage, 1, 2, &context));
	assert_int_equal(context, 17);
	assert_true(token_usage_for_view(&usage, 2, 2, &context));
	assert_int_equal(context, 363900);
	struct token_measurement sent = {.view = 2, .estimated = 90000, .factor = counter.factor};
	assert_false(token_counter_observe(&counter, &sent, 1, &usage));
	assert_int_equal(counter.factor, COUNTER_FACTOR_ONE);
	assert_int_equal(counter.reports, 0);
}

static void x10_output__never_stands_in_for_input(void **state)
{
	(void)state;
	struct token_usage usage = read_usage("{\"output_tokens\":40000}");
	uint64_t context = 17;
	struct token_counter counter = estimate_counter();
	struct token_measurement sent = {.view = 5, .estimated = 20000, .factor = counter.factor};
	assert_false(usage.has_input);
	assert_false(token_usage_for_view(&usage, 5, 5, &context));
	assert_false(token_counter_observe(&counter, &sent, 5, &usage));
	assert_int_equal(context, 17);
	assert_int_equal(counter.factor, COUNTER_FACTOR_ONE);
}

static void calibration__moves_a_quarter_of_the_way(void **state)
{
	(void)state;
	struct token_counter counter = estimate_counter();
	struct token_measurement sent = {.view = 1, .estimated = 10000, .factor = counter.factor};
	struct token_usage usage = usage_of(12000, 10);
	assert_true(token_counter_observe(&counter, &sent, 1, &usage));
	/* 4096 × 1.2 = 4915; (4915 − 4096) / 4 = 204. */
	assert_int_equal(counter.factor, 4096 + 204);
}

static void calibration__settles_at_the_provider_s_ratio(void **state)
{
	(void)state;
	struct token_counter counter = estimate_counter();
	for (int i = 0; i < 60; i++) {
		/* What the counter says of 10,000 raw tokens by now; the provider says 13,000. */
		struct token_measurement sent = {
			1, 10000ull * counter.factor / COUNTER_FACTOR_ONE, counter.factor};
		struct token_usage usage = usage_of(13000, 0);
		assert_true(token_counter_observe(&counter, &sent, 1, &usage));
	}
	uint64_t tokens = 10000ull * counter.factor / COUNTER_FACTOR_ONE;
	assert_true(tokens >= 12950 && tokens <= 13050);
}

static void calibration__is_bounded(void **state)
{
	(void)state;
	struct token_counter counter = estimate_counter();
	struct token_usage huge = usage_of(1000000000, 0), tiny = usage_of(600, 0), small = usage_of(499, 0);
	for (int i = 0; i < 100; i++) {
		struct token_measurement sent = {1, 1000, counter.factor};
		token_counter_observe(&counter, &sent, 1, &huge);
		assert_true(counter.factor <= COUNTER_FACTOR_MAX);
	}
	assert_true(counter.factor >= COUNTER_FACTOR_MAX - 4);
	for (int i = 0; i < 100; i++) {
		struct token_measurement sent = {1, 1000000, counter.factor};
		token_counter_observe(&counter, &sent, 1, &tiny);
		assert_true(counter.factor >= COUNTER_FACTOR_MIN);
	}
	assert_true(counter.factor <= COUNTER_FACTOR_MIN + 4);
	struct token_measurement sent = {1, 1000, counter.factor};
	assert_false(token_counter_observe(&counter, &sent, 1, &small));
}

static void calibration__scales_counts_and_class_sums_alike(void **state)
{
	(void)state;
	struct token_counter counter = estimate_counter();
	const char *text = "Seven boats lay in the harbour, and none of them was painted blue.";
	struct token_classes classes = {0};
	uint64_t tokens = 0, before = tokens_estimate(text, strlen(text));
	counter.factor = 6144;
	token_classes_add(&classes, text, strlen(text));
	assert_int_equal(token_counter_count(&counter, text, strlen(text), &tokens), 0);
	assert_int_equal(tokens, (before * 3 + 1) / 2);
	assert_int_equal(token_counter_estimate(&counter, &classes), tokens);
}

static void exact_counter__is_not_calibrated(void **state)
{
	(void)state;
	struct token_counter counter;
	token_counter_for_model("gpt-4o", &counter);
	if (!counter.exact) {
		assert_string_equal(counter.name, "estimate");
		print_message("skipped: built without the rank file of o200k_base\n");
		skip();
	}
	assert_string_equal(counter.name, "o200k_base");
	struct token_measurement sent = {1, 10000, counter.factor};
	struct token_usage usage = usage_of(12000, 0);
	uint64_t tokens = 0;
	assert_false(token_counter_observe(&counter, &sent, 1, &usage));
	assert_int_equal(counter.factor, COUNTER_FACTOR_ONE);
	assert_int_equal(token_counter_count(&counter, "hello world", 11, &tokens), 0);
	assert_int_equal(tokens, 2);
	token_counter_release(&counter);
}

static void counter__of_an_encoding_by_name(void **state)
{
	(void)state;
	struct token_counter counter;
	assert_true(token_counter_for_encoding("estimate", &counter));
	assert_false(counter.exact);
	assert_false(token_counter_for_encoding("r50k_base", &counter));
}

static void model_without_public_encoding__says_that_it_estimates(void **state)
{
	(void)state;
	static const char *const models[] = {"claude-opus-4-1", "gemini-2.5-pro", "llama3.3", "mock", ""};
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		struct token_counter counter;
		token_counter_for_model(models[i], &counter);
		assert_false(counter.exact);
		assert_string_equal(counter.name, "estimate");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(b3_anthropic_cache_figures__stand_beside_input),
		cmocka_unit_test(b3_openai_cached_tokens__are_inside_prompt_tokens),
		cmocka_unit_test(b3_every_dialect__gives_the_same_context),
		cmocka_unit_test(usage__that_is_none_is_refused),
		cmocka_unit_test(usage__of_absurd_size_does_not_overflow),
		cmocka_unit_test(x10_report_about_another_view__is_not_used),
		cmocka_unit_test(x10_output__never_stands_in_for_input),
		cmocka_unit_test(calibration__moves_a_quarter_of_the_way),
		cmocka_unit_test(calibration__settles_at_the_provider_s_ratio),
		cmocka_unit_test(calibration__is_bounded),
		cmocka_unit_test(calibration__scales_counts_and_class_sums_alike),
		cmocka_unit_test(exact_counter__is_not_calibrated),
		cmocka_unit_test(counter__of_an_encoding_by_name),
		cmocka_unit_test(model_without_public_encoding__says_that_it_estimates),
	};
	return cmocka_run_group_tests_name("tokens/counter", tests, NULL, NULL);
}
