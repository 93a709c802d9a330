/* SPDX-License-Identifier: MIT */
/*
 * The table of bodies: bad_bodies.jsonl, one a line: {"name","dialect","rule","body"}. `rule` null: it must
 * have no fault. "raw" is a body as text, "hex" as bytes, where it is no JSON. check_independent.py reads the
 * same table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"
#include "support/scratch.h"
#include "window/scene.h"

static char *table;
static size_t table_len;

static int read_table(void **state)
{
	const char *source = getenv("BOBBIN_SOURCE");
	char directory[SCRATCH_PATH_BYTES];
	(void)state;

	snprintf(directory, sizeof(directory), "%s/tests/window", source ? source : ".");
	table = scratch_read(directory, "bad_bodies.jsonl", &table_len);
	return table ? 0 : -1;
}

static int free_table(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static bool next_row(const char **at, struct json *ret_row)
{
	const char *end = strchr(*at, '\n');

	if (!end || end == *at)
		return false;
	assert_int_equal(json_parse(*at, (size_t)(end - *at), ret_row, NULL), 0);
	*at = end + 1;
	return true;
}

static void text_of(const struct json *row, const char *key, struct buffer *out)
{
	struct json value;

	buffer_clear(out);
	assert_true(json_get(row, key, &value));
	if (value.type == JSON_STRING)
		json_string_decode(&value, JSON_SURROGATES_KEEP, out);
	else
		buffer_add(out, value.text, value.len);
	buffer_add(out, "", 0);
}

/* The body in exactly as many bytes as it has, so that a read past its end is found. */
static char *body_of(const struct json *row, size_t *ret_len)
{
	struct buffer text = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json value;
	char *body;

	if (json_get(row, "hex", &value)) {
		text_of(row, "hex", &text);
		*ret_len = text.len / 2;
		body = malloc(*ret_len + 1);
		assert_non_null(body);
		for (size_t i = 0; i < *ret_len; i++) {
			char digits[3] = {text.data[2 * i], text.data[2 * i + 1], '\0'};
			body[i] = (char)strtol(digits, NULL, 16);
		}
	} else {
		text_of(row, json_get(row, "raw", &value) ? "raw" : "body", &text);
		*ret_len = text.len;
		body = malloc(text.len ? text.len : 1);
		assert_non_null(body);
		if (text.len)
			memcpy(body, text.data, text.len);
	}
	buffer_release(&text);
	return body;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

static void table__every_bad_body_breaks_its_rule_and_good_ones_none(void **state)
{
	const char *at = table;
	size_t bad = 0, good = 0, wrong = 0;
	struct json row, rule;
	(void)state;

	while (next_row(&at, &row)) {
		struct buffer name = BUFFER_INIT(1000), dialect = BUFFER_INIT(1000),
			      expected = BUFFER_INIT(1000);
		size_t len;
		char *body = body_of(&row, &len);
		text_of(&row, "name", &name);
		text_of(&row, "dialect", &dialect);
		json_get(&row, "rule", &rule);
		if (rule.type == JSON_STRING)
			text_of(&row, "rule", &expected);
		const char *faults = faults_of(dialect.data, body, len);
		bool right = rule.type == JSON_STRING ? has_word(faults, expected.data) : !*faults;
		if (!right) {
			print_error("%s: \"%s\" instead of \"%s\"\n", name.data, faults,
				expected.data ? expected.data : "");
			wrong++;
		}
		*(rule.type == JSON_STRING ? &bad : &good) += 1;
		free(body);
		buffer_release(&name);
		buffer_release(&dialect);
		buffer_release(&expected);
	}
	assert_int_equal(wrong, 0);
	assert_true(bad >= 60 && good >= 20);
}

static void faults__say_where_what_and_what_to_do(void **state)
{
	static const char body[] =
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":"
		"\"assistant\","
		"\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{"
		"\"name\":\"f g\","
		"\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"ok\"}]}";
	struct check_faults faults;
	(void)state;

	assert_int_equal(check_request("openai-chat", slice_of(body), NULL, &faults, NULL), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].rule, "name_invalid");
	assert_string_equal(faults.items[0].where, "messages[1].tool_calls[0].function");
	assert_int_equal(faults.items[0].offset, strstr(body, "{\"name\"") - body);
	check_faults_release(&faults);
}

static void unknown_dialect__is_unsupported(void **state)
{
	struct check_faults faults;
	struct bobbin_error error = {0};
	(void)state;

	assert_int_equal(
		check_request("gemini", SLICE_LITERAL("{}"), NULL, &faults, &error), BOBBIN_EUNSUPPORTED);
	assert_non_null(strstr(error.message, "openai-responses"));
}

static void sizes__are_limited(void **state)
{
	static const char body[] =
		"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
		"\"image\","
		"\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"AAAABBBB\"}}]}]}";
	struct check_options options = {.body_bytes_max = 100};
	struct check_faults faults;
	(void)state;

	assert_int_equal(check_request("anthropic", slice_of(body), &options, &faults, NULL), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].rule, "body_too_large");
	check_faults_release(&faults);
	options = (struct check_options){.image_bytes_max = 7};
	assert_int_equal(check_request("anthropic", slice_of(body), &options, &faults, NULL), 0);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults.items[0].rule, "image_too_large");
	check_faults_release(&faults);
}

static void many_faults__are_counted_and_bounded(void **state)
{
	struct buffer body = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct check_faults faults;
	(void)state;

	buffer_add_text(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}");
	for (int i = 0; i < 3000; i++)
		buffer_add_text(&body, ",{\"role\":\"robot\"}");
	buffer_add_text(&body, "]}");
	assert_int_equal(check_request("openai-chat", buffer_slice(&body), NULL, &faults, NULL), 0);
	assert_int_equal(faults.count, LIMIT_FAULTS_REPORTED);
	assert_int_equal(faults.total, 3000);
	check_faults_release(&faults);
	buffer_release(&body);
}

/* Any bytes can be checked: every good body cut at every byte, and with every byte changed. */
static void damaged_bodies__never_break_the_checker(void **state)
{
	const char *at = table;
	struct json row, rule;
	(void)state;

	while (next_row(&at, &row)) {
		struct buffer dialect = BUFFER_INIT(1000);
		size_t len;
		json_get(&row, "rule", &rule);
		if (rule.type == JSON_STRING)
			continue;
		char *body = body_of(&row, &len);
		text_of(&row, "dialect", &dialect);
		for (size_t cut = 0; cut < len; cut++) {
			assert_true(*faults_of(dialect.data, body, cut));
			char kept = body[cut];
			body[cut] = (char)(kept == '"' ? 'n' : '"');
			faults_of(dialect.data, body, len);
			body[cut] = '7';
			faults_of(dialect.data, body, len);
			body[cut] = kept;
		}
		free(body);
		buffer_release(&dialect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table__every_bad_body_breaks_its_rule_and_good_ones_none),
		cmocka_unit_test(faults__say_where_what_and_what_to_do),
		cmocka_unit_test(unknown_dialect__is_unsupported),
		cmocka_unit_test(sizes__are_limited),
		cmocka_unit_test(many_faults__are_counted_and_bounded),
		cmocka_unit_test(damaged_bodies__never_break_the_checker),
	};
	return cmocka_run_group_tests(tests, read_table, free_table);
}
