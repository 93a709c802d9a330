/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"
#include "base/limits.h"
#include "support/fail.h"

static char *canonical(const char *text)
{
	static char result[512];
	struct json value;
	struct buffer out;

	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	buffer_init(&out, sizeof result);
	assert_int_equal(json_canonical(&value, &out), 0);
	memcpy(result, out.data, out.len);
	result[out.len] = '\0';
	buffer_release(&out);
	return result;
}

static void canonical__one_spelling_for_one_value(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{" { \"b\" : 1 , \"a\" : [ ] } ", "{\"a\":[],\"b\":1}"},
		{"{\"aa\":1,\"a\":2,\"\":3,\"B\":4}", "{\"\":3,\"B\":4,\"a\":2,\"aa\":1}"},
		{"{\"\\u0061\":\"\\u00e9\\/\\n\"}", "{\"a\":\"é/\\n\"}"},
		{"{\"a\":1,\"b\":2,\"\\u0061\":3,\"a\":4}", "{\"a\":4,\"b\":2}"},
		{"[1.0,1e2,-0,10]", "[1,100,0,10]"},
		{"[1.50,1e400,123456789012345678901234567890]",
			"[1.50,1e400,123456789012345678901234567890]"},
		{"[true,false,null,\"\",{}]", "[true,false,null,\"\",{}]"},
		{"\"\\ud83d\\ude00\\ud83d\\u0000\"", "\"😀\\ud83d\\u0000\""},
		{"{\"é\":1,\"z\":2}", "{\"z\":2,\"é\":1}"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(canonical(cases[i].text), cases[i].wanted);
}

static void canonical__twice_is_the_same(void **state)
{
	char once[512];
	(void)state;

	assert_in_range(
		snprintf(once, sizeof once, "%s",
			canonical("{\"z\":[{\"k\":\"\\t\\u007f\"},1.25],\"a\":{\"c\":null,\"b\":-1}}")),
		1, sizeof once - 1);
	assert_string_equal(canonical(once), once);
}

static void canonical__deepest_nesting(void **state)
{
	char text[2 * LIMIT_JSON_DEPTH + 1];
	(void)state;

	memset(text, '[', LIMIT_JSON_DEPTH);
	memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	text[2 * LIMIT_JSON_DEPTH] = '\0';
	struct json value;
	struct buffer out;
	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	buffer_init(&out, sizeof text);
	assert_int_equal(json_canonical(&value, &out), 0);
	assert_int_equal(out.len, 2 * LIMIT_JSON_DEPTH);
	buffer_release(&out);
}

static void canonical__each_allocation_may_fail(void **state)
{
	static const char text[] = "{\"b\":[\"\\u0061\",{\"\\u0062\":2}],\"a\":1}";
	struct json value;
	(void)state;

	assert_int_equal(json_parse(text, sizeof text - 1, &value, NULL), 0);
	for (uint64_t nth = 1;; nth++) {
		struct buffer out;
		fail_alloc_start(nth);
		buffer_init(&out, 4096);
		int code = json_canonical(&value, &out);
		buffer_release(&out);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed)
			break;
		assert_int_equal(code, BOBBIN_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical__one_spelling_for_one_value),
		cmocka_unit_test(canonical__twice_is_the_same),
		cmocka_unit_test(canonical__deepest_nesting),
		cmocka_unit_test(canonical__each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
