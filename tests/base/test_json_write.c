/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "json_reference.h"
#include "support/fail.h"

/* A value that somebody indented stays the same value: what is between tokens may be a blank, and strings have no line break. */
static void values__on_one_line(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{"{\n\t\"a\": [1,\r\n2]\r}", "{ \t\"a\": [1,  2] }"},
		{"\n\n", "  "},
		{"\"a\\nb\"", "\"a\\nb\""},
		{"{\"a\":1}", "{\"a\":1}"},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct buffer out = BUFFER_INIT(1000);
		struct json_writer writer;
		json_writer_init(&writer, &out);
		json_begin_array(&writer);
		json_add_int(&writer, 0);
		json_add_raw(&writer, slice_of(pairs[i][0]));
		assert_int_equal(buffer_error(&out), 0);
		assert_memory_equal(out.data, "[0,", 3);
		assert_string_equal(out.data + 3, pairs[i][1]);
		buffer_release(&out);
	}
}

/* Half a pair and NUL are no characters; a pair, what is escaped itself, and what is no escape are left alone. */
static void escapes_without_a_character__are_counted_and_replaced(void **state)
{
	static const struct {
		const char *text;
		size_t all, nuls;
		const char *mended;
	} CASES[] = {
		{"", 0, 0, ""},
		{"\"a\\n\\u00e9\"", 0, 0, "\"a\\n\\u00e9\""},
		{"[\"\\ud83d\\ude00\"]", 0, 0, "[\"\\ud83d\\ude00\"]"},
		{"\"\\uD83D\\ud83d\\ude00\\uDE00\"", 2, 0, "\"\\ufffd\\ud83d\\ude00\\ufffd\""},
		{"\"\\u0000\\ud800\"", 2, 1, "\"\\ufffd\\ufffd\""},
		{"\"\\\\u0000\\\\\\u0000\"", 1, 1, "\"\\\\u0000\\\\\\ufffd\""},
		{"no JSON \\uZZ\\u0000 \\ud800 \\u00", 2, 1, "no JSON \\uZZ\\ufffd \\ufffd \\u00"},
		{"\\", 0, 0, "\\"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char text[64];
		size_t nuls, len = strlen(CASES[i].text);
		memcpy(text, CASES[i].text, len + 1);
		assert_int_equal(json_poison_count(text, len, &nuls), CASES[i].all);
		assert_int_equal(nuls, CASES[i].nuls);
		assert_int_equal(json_poison_mend(text, len), CASES[i].all);
		assert_string_equal(text, CASES[i].mended);
	}
}

static void structures__commas_are_kept(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1000);
	struct json_writer writer;
	json_writer_init(&writer, &out);
	json_begin_object(&writer);
	json_key(&writer, "empty");
	json_begin_object(&writer);
	json_end_object(&writer);
	json_key_slice(&writer, SLICE_LITERAL("li\0st"));
	json_begin_array(&writer);
	json_begin_array(&writer);
	json_end_array(&writer);
	json_add_null(&writer);
	json_add_bool(&writer, true);
	json_add_bool(&writer, false);
	json_add_int(&writer, INT64_MIN);
	json_add_uint(&writer, UINT64_MAX);
	json_add_double(&writer, 0.5);
	json_add_text(&writer, "t");
	json_add_string(&writer, SLICE_LITERAL("s"));
	json_add_raw(&writer, SLICE_LITERAL("1e400"));
	json_end_array(&writer);
	json_member_text(&writer, "a", "b");
	json_member_string(&writer, "c", SLICE_LITERAL("d"));
	json_member_int(&writer, "e", -1);
	json_member_uint(&writer, "f", 2);
	json_member_bool(&writer, "g", false);
	struct json value = {"[ 1 ]", 5, JSON_ARRAY};
	json_member_value(&writer, "h", &value);
	json_end_object(&writer);
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, "{\"empty\":{},\"li\\u0000st\":[[],null,true,false,-"
				      "9223372036854775808,18446744073709551615,0.5,\"t\",\"s\",1e400],"
				      "\"a\":\"b\",\"c\":\"d\",\"e\":-1,\"f\":2,\"g\":false,\"h\":[ 1 ]}");
	assert_int_equal(json_parse(out.data, out.len, &value, NULL), 0);
	buffer_release(&out);
}

#define BYTES(literal)                                                                                       \
	{                                                                                                    \
		literal, sizeof(literal) - 1                                                                 \
	}

static void escape__only_what_must_be(void **state)
{
	(void)state;
	static const struct {
		struct slice content;
		const char *expected;
	} cases[] = {
		{BYTES(""), ""},
		{BYTES("plain / \x7f \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80"),
			"plain / \x7f \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80"},
		{BYTES("\"\\\b\f\n\r\t"), "\\\"\\\\\\b\\f\\n\\r\\t"},
		{BYTES("\0\x01\x1f"), "\\u0000\\u0001\\u001f"},
		{BYTES("\xed\xa0\xbd"), "\\ud83d"},
		{BYTES("x\xed\xb8\x80y"), "x\\ude00y"},
		{BYTES("\xed\xaf\xbf\xed\xbf\xbf"), "\\udbff\\udfff"},
		{BYTES("\xff"), "\xef\xbf\xbd"},
		{BYTES("a\x80\x80z"), "a\xef\xbf\xbd\xef\xbf\xbdz"},
		{BYTES("\xc3"), "\xef\xbf\xbd"},
		{BYTES("\xe4\xb8"), "\xef\xbf\xbd"},
		{BYTES("\xe4\xb8\"\xf0\x9f\x98\n"), "\xef\xbf\xbd\\\"\xef\xbf\xbd\\n"},
		{BYTES("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd"},
		{BYTES("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{BYTES("\xed\xa0"), "\xef\xbf\xbd\xef\xbf\xbd"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		/* At every place of a block. */
		for (size_t before = 0; before < 70; before++) {
			struct buffer content = BUFFER_INIT(1000), expected = BUFFER_INIT(1000),
				      out = BUFFER_INIT(1000);
			for (size_t n = 0; n < before; n++)
				buffer_add_char(&content, 'x');
			buffer_add_slice(&expected, buffer_slice(&content));
			buffer_add_slice(&content, cases[i].content);
			buffer_add_text(&expected, cases[i].expected);
			json_escape(&out, buffer_slice(&content));
			assert_true(slice_equal(buffer_slice(&out), buffer_slice(&expected)));
			buffer_release(&content);
			buffer_release(&expected);
			buffer_release(&out);
		}
	}
}

static uint64_t seed = 88172645463325252;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void any_bytes__come_out_as_valid_json_and_back(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		char bytes[64];
		size_t len = draw() % sizeof bytes;
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)(draw() % 3 ? draw() : draw() % 128);
		struct buffer out = BUFFER_INIT(1000), decoded = BUFFER_INIT(1000), again = BUFFER_INIT(1000);
		struct json_writer writer;
		json_writer_init(&writer, &out);
		json_add_string(&writer, (struct slice){bytes, len});
		assert_true(reference_check(out.data, out.len).valid);
		struct json value = {out.data, out.len, JSON_STRING};
		json_string_decode(&value, JSON_SURROGATES_KEEP, &decoded);
		if (reference_check(out.data, out.len).strings == len && !strstr(out.data, "\xef\xbf\xbd"))
			assert_true(slice_equal(buffer_slice(&decoded), (struct slice){bytes, len}));
		/* What was cleaned once stays as it is. */
		json_writer_init(&writer, &again);
		json_add_string(&writer, buffer_slice(&decoded));
		assert_true(slice_equal(buffer_slice(&again), buffer_slice(&out)));
		buffer_release(&out);
		buffer_release(&decoded);
		buffer_release(&again);
	}
}

static void check_double(double value, const char *expected)
{
	struct buffer out = BUFFER_INIT(100);
	struct json_writer writer;
	json_writer_init(&writer, &out);
	json_add_double(&writer, value);
	if (expected)
		assert_string_equal(out.data, expected);
	if (isfinite(value)) {
		struct json number;
		double back;
		assert_int_equal(json_parse(out.data, out.len, &number, NULL), 0);
		assert_true(json_double(&number, &back));
		assert_memory_equal(&back, &value, sizeof value);
	}
	buffer_release(&out);
}

static void doubles__shortest_that_reads_back(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *expected;
	} cases[] = {{0.0, "0"}, {-0.0, "-0"}, {1.0, "1"}, {-1.5, "-1.5"}, {0.1, "0.1"}, {100.0, "100"},
		{1e20, "100000000000000000000"}, {1e21, "1e21"}, {1.5e300, "1.5e300"}, {1e-6, "0.000001"},
		{1e-7, "1e-7"}, {1.25e-8, "1.25e-8"}, {0.7, "0.7"}, {1.0 / 3.0, "0.3333333333333333"},
		{123456.789, "123456.789"}, {5e-324, "5e-324"}, {0.1 + 0.2, "0.30000000000000004"},
		{DBL_MAX, "1.7976931348623157e308"}, {DBL_MIN, "2.2250738585072014e-308"},
		{9007199254740993.0, "9007199254740992"}, {(double)INFINITY, "null"},
		{-(double)INFINITY, "null"}, {(double)NAN, "null"}, {1e22, "1e22"}, {4.35, "4.35"},
		{-2.5e-10, "-2.5e-10"}, {0.4, "0.4"}, {0x1p-1017, "7.120236347223045e-307"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_double(cases[i].value, cases[i].expected);
	for (int round = 0; round < 20000; round++) {
		uint64_t bits = draw();
		double value;
		memcpy(&value, &bits, sizeof value);
		check_double(value, NULL);
		check_double((double)(int64_t)(draw() % 1000000) / 100, NULL);
	}
}

static void doubles__not_the_locale(void **state)
{
	(void)state;
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
	bool comma = false;
	for (size_t i = 0; i < sizeof names / sizeof *names && !comma; i++)
		comma = setlocale(LC_NUMERIC, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0;
	if (!comma) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	check_double(1.5, "1.5");
	check_double(1.25e-8, "1.25e-8");
	setlocale(LC_NUMERIC, "C");
}

static void check_splice(const char *text, const char *key, const char *value, const char *expected)
{
	struct json object;
	struct buffer out = BUFFER_INIT(1000);
	assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
	json_splice(&out, &object, key, slice_of(value));
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, expected);
	assert_true(reference_check(out.data, out.len).valid);
	buffer_release(&out);
}

static void splice__changes_no_other_byte(void **state)
{
	(void)state;
	/* in place; of duplicates the last; keys compare decoded */
	check_splice("{\"a\":1}", "a", "2", "{\"a\":2}");
	check_splice("{ \"a\" : 1e400 , \"b\" :\t-0 }", "a", "[]", "{ \"a\" : [] , \"b\" :\t-0 }");
	check_splice("{\"a\":1,\"b\":2,\"a\":3}", "a", "null", "{\"a\":1,\"b\":2,\"a\":null}");
	check_splice("{\"\\u0061\":1}", "a", "2", "{\"\\u0061\":2}");
	check_splice("{\"x\":{\"a\":1},\"a\":\"\\/\"}", "a", "2", "{\"x\":{\"a\":1},\"a\":2}");
	/* added as the last */
	check_splice("{}", "a", "1", "{\"a\":1}");
	check_splice("{ }", "a", "1", "{\"a\":1 }");
	check_splice("{\"b\":1.10 }", "a", "1", "{\"b\":1.10,\"a\":1 }");
	check_splice("{\"b\":1\n}", "q\"\n", "1", "{\"b\":1,\"q\\\"\\n\":1\n}");
	/* removed: all of that key */
	check_splice("{\"a\":1}", "a", NULL, "{}");
	check_splice("{ \"a\":1 }", "a", NULL, "{  }");
	check_splice("{\"a\":1,\"b\":2}", "a", NULL, "{\"b\":2}");
	check_splice("{ \"a\":1 , \"b\":2 }", "a", NULL, "{ \"b\":2 }");
	check_splice("{ \"a\":1 , \"b\":2 }", "b", NULL, "{ \"a\":1 }");
	check_splice("{\"a\":1,\"b\":2,\"c\":3}", "b", NULL, "{\"a\":1,\"c\":3}");
	check_splice("{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}", "a", NULL, "{\"b\":2,\"c\":4}");
	check_splice("{\"a\":1,\"a\":2}", "\x61", NULL, "{}");
	check_splice("{\"b\":\"\\ud83d\"}", "a", NULL, "{\"b\":\"\\ud83d\"}");
	check_splice("{}", "a", NULL, "{}");
}

static void write_all(struct buffer *out)
{
	struct json_writer writer;
	struct json object;
	buffer_add_text(out, "");
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(
		&writer, "text", "a long enough text with \"quotes\" and \xff, so that the buffer grows");
	json_member_int(&writer, "int", INT64_MIN);
	json_key(&writer, "double");
	json_add_double(&writer, 1e-300);
	json_end_object(&writer);
	assert_int_equal(json_parse("{\"a\":1}", 7, &object, NULL), 0);
	json_splice(out, &object, "b",
		SLICE_LITERAL("\"0123456789012345678901234567890123456789012345678901234567890123\""));
}

static void no_memory_or_no_room__is_a_sticky_error(void **state)
{
	(void)state;
	struct buffer whole = BUFFER_INIT(1000);
	write_all(&whole);
	assert_int_equal(buffer_error(&whole), 0);
	for (uint64_t nth = 1;; nth++) {
		struct buffer out = BUFFER_INIT(1000);
		fail_alloc_start(nth);
		write_all(&out);
		int code = buffer_error(&out);
		bool prefix =
			out.len <= whole.len && (out.len == 0 || memcmp(out.data, whole.data, out.len) == 0);
		buffer_release(&out);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		assert_true(prefix);
		assert_int_equal(code, report.failed ? BOBBIN_ENOMEM : 0);
		if (!report.failed) {
			assert_true(nth > 2);
			break;
		}
	}
	for (size_t max = 0; max <= whole.len; max++) {
		struct buffer out = BUFFER_INIT(max);
		write_all(&out);
		assert_int_equal(buffer_error(&out), max < whole.len ? BOBBIN_ELIMIT : 0);
		buffer_release(&out);
	}
	buffer_release(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures__commas_are_kept),
		cmocka_unit_test(escape__only_what_must_be),
		cmocka_unit_test(any_bytes__come_out_as_valid_json_and_back),
		cmocka_unit_test(doubles__shortest_that_reads_back),
		cmocka_unit_test(doubles__not_the_locale),
		cmocka_unit_test(values__on_one_line),
		cmocka_unit_test(escapes_without_a_character__are_counted_and_replaced),
		cmocka_unit_test(splice__changes_no_other_byte),
		cmocka_unit_test(no_memory_or_no_room__is_a_sticky_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
