/* SPDX-License-Identifier: MIT */
/* The grammar, walking, strings and numbers. Which variant of the byte loops is used does not matter here;
 * that all agree is test_json_scan.c's business. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/json.h"
#include "json_reference.h"
#include "support/fail.h"

/* A copy that ends where the text does, so that the address sanitizer sees a byte read too far. */
static char *exact_copy(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);
	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static struct json parse(const char *text, size_t len)
{
	struct json value;
	struct bobbin_error error = {0};
	if (json_parse(text, len, &value, &error) < 0)
		fail_msg("%s: %.*s", error.message, (int)len, text);
	return value;
}

static struct json parse_text(const char *text)
{
	return parse(text, strlen(text));
}

static int parse_code(const char *text, size_t len, uint64_t *ret_offset)
{
	struct json value;
	struct bobbin_error error = {0};
	char *copy = exact_copy(text, len);
	int code = json_parse(copy, len, &value, &error);
	assert_int_equal(error.code, code);
	*ret_offset = error.offset;
	free(copy);
	return code;
}

struct grammar_case {
	const char *text;
	size_t len;
	long fault; /* offset, or -1: valid */
};
#define GOOD(literal)                                                                                        \
	{                                                                                                    \
		literal, sizeof(literal) - 1, -1                                                             \
	}
#define BAD(offset, literal)                                                                                 \
	{                                                                                                    \
		literal, sizeof(literal) - 1, offset                                                         \
	}

static const struct grammar_case grammar_cases[] = {
	/* values and white space */
	GOOD("null"),
	GOOD("true"),
	GOOD("false"),
	GOOD("0"),
	GOOD("\"\""),
	GOOD("[]"),
	GOOD("{}"),
	GOOD(" null"),
	GOOD("null\n"),
	GOOD("\t\r\n [ ]\t\r\n "),
	GOOD("[ 1 , 2 ]"),
	GOOD("{ \"a\" : 1 , \"b\" : 2 }"),
	GOOD("[[],[[]],{},{\"\":{}}]"),
	GOOD("[null,true,false]"),
	GOOD("[\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n1]"),
	BAD(0, ""),
	BAD(1, " "),
	BAD(4, "\n\t\r "),
	BAD(0, "\xef\xbb\xbf{}"),
	BAD(0, "\xef\xbb\xbf"),
	BAD(0, "\f[]"),
	BAD(0, "\xc2\xa0"
	       "1"),
	BAD(1, "[\f]"),
	BAD(1, "[\v1]"),
	BAD(2, "1 2"),
	BAD(4, "null,"),
	BAD(0, ","),
	BAD(0, "]"),
	BAD(0, "}"),
	BAD(0, ":"),
	BAD(0, "\0"),
	BAD(1, "1\0"),
	BAD(2, "[]\0"),
	BAD(1, "[\0]"),
	BAD(3, "{}\n\x1e"),
	/* words */
	BAD(3, "nul"),
	BAD(1, "nan"),
	BAD(0, "NaN"),
	BAD(0, "Infinity"),
	BAD(1, "-Infinity"),
	BAD(0, "True"),
	BAD(0, "undefined"),
	BAD(4, "nulll"),
	BAD(3, "truth"),
	BAD(5, "[true"),
	BAD(4, "[nul]"),
	BAD(3, "fal"),
	BAD(0, "None"),
	BAD(4, "trueflase"),
	/* numbers */
	GOOD("-0"),
	GOOD("-1"),
	GOOD("10"),
	GOOD("1.0"),
	GOOD("0.0"),
	GOOD("-0.0"),
	GOOD("1e5"),
	GOOD("1E5"),
	GOOD("1e+5"),
	GOOD("1E-5"),
	GOOD("0e0"),
	GOOD("0e+1"),
	GOOD("1.10"),
	GOOD("1e400"),
	GOOD("-1e-400"),
	GOOD("1e00005"),
	GOOD("123456789012345678901234567890"),
	GOOD("0.123456789012345678901234567890"),
	GOOD("[1,-2,3.5e-7]"),
	BAD(1, "-"),
	BAD(0, "+1"),
	BAD(1, "01"),
	BAD(2, "-01"),
	BAD(1, "00"),
	BAD(2, "1."),
	BAD(2, "1.e1"),
	BAD(0, ".5"),
	BAD(1, "-.5"),
	BAD(2, "1e"),
	BAD(3, "1e+"),
	BAD(3, "1e-"),
	BAD(2, "1e.5"),
	BAD(3, "1e5.5"),
	BAD(3, "1.2.3"),
	BAD(1, "--1"),
	BAD(1, "1-1"),
	BAD(1, "0x1F"),
	BAD(1, "1_000"),
	BAD(1, "1a"),
	BAD(2, "[-]"),
	BAD(3, "[1.]"),
	BAD(3, "[1e]"),
	BAD(1, "[+1]"),
	BAD(1, "[.1]"),
	BAD(1, "1,5"),
	BAD(0, "\xef\xbc\x91"),
	BAD(3, "1.5f"),
	BAD(3, "[0e]"),
	BAD(2, "[012]"),
	BAD(2, "[- 1]"),
	/* strings */
	GOOD("\"a\""),
	GOOD("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
	GOOD("\"\\u0000\""),
	GOOD("\"\\u00e9\\u00E9\""),
	GOOD("\"\\ud83d\\ude00\""),
	GOOD("\"\\ud83d\""),
	GOOD("\"\\ude00\\ud83d\""),
	GOOD("\"\\ud83d\\ud83d\""),
	GOOD("\"\\uDBFF\\u0041\""),
	GOOD("\"\x7f\""),
	GOOD("\"\xc3\xa9\""),
	GOOD("\"\xe4\xb8\xad\xe6\x96\x87\""),
	GOOD("\"\xf0\x9f\x98\x80\""),
	GOOD("\"\xef\xbf\xbf\xef\xbf\xbe\""),
	GOOD("\"\xf4\x8f\xbf\xbf\""),
	GOOD("\"\xe2\x80\xa8\xe2\x80\xa9\""),
	GOOD("\"\xed\x9f\xbf\xee\x80\x80\""),
	GOOD("\"\xef\xbb\xbf\""),
	GOOD("\"//\""),
	GOOD("\"/*x*/\""),
	GOOD("\"\\\\u0000\""),
	GOOD("\"\\\\\\\"\""),
	GOOD("\"'\""),
	BAD(1, "\""),
	BAD(2, "\"a"),
	BAD(2, "\"\\"),
	BAD(3, "\"\\\""),
	BAD(2, "\"\\x41\""),
	BAD(2, "\"\\a\""),
	BAD(2, "\"\\0\""),
	BAD(2, "\"\\'\""),
	BAD(2, "\"\\U0041\""),
	BAD(2, "\"\\ \""),
	BAD(2, "\"\\\n\""),
	BAD(3, "\"\\u\""),
	BAD(5, "\"\\u00\""),
	BAD(6, "\"\\u004\""),
	BAD(3, "\"\\uzzzz\""),
	BAD(6, "\"\\u004g\""),
	BAD(3, "\"\\u{41}\""),
	BAD(4, "\"\\u1"),
	BAD(9, "\"\\ud83d\\u\""),
	BAD(8, "\"\\ud83d\\x\""),
	BAD(1, "\"\n\""),
	BAD(1, "\"\t\""),
	BAD(1, "\"\0\""),
	BAD(1, "\"\x1f\""),
	BAD(2, "\"a\nb\""),
	BAD(0, "'a'"),
	BAD(0, "a"),
	BAD(3, "\"a\"b"),
	BAD(2, "\"\\\xc3\xa9\""),
	BAD(2, "\"\\"),
	BAD(0, "\xe2\x80\x9cx\xe2\x80\x9d"),
	BAD(3, "\"\\u+123\""),
	BAD(3, "\"\\u-123\""),
	BAD(3, "\"\\u 123\""),
	BAD(3, "\"\\u\xc3\xa9\""),
	/* arrays */
	GOOD("[1]"),
	GOOD("[1,[2,[3]]]"),
	GOOD("[\"]\"]"),
	GOOD("[\"[\",\"\\\"]\"]"),
	BAD(1, "["),
	BAD(2, "[1"),
	BAD(3, "[1,"),
	BAD(3, "[1,]"),
	BAD(1, "[,1]"),
	BAD(3, "[1,,2]"),
	BAD(3, "[1 2]"),
	BAD(2, "[1}"),
	BAD(2, "[1:2]"),
	BAD(3, "[1]]"),
	BAD(2, "[]]"),
	BAD(1, "[}"),
	BAD(3, "[[]"),
	BAD(1, "[/*x*/1]"),
	BAD(1, "[*]"),
	BAD(4, "[\"a\"\"b\"]"),
	BAD(4, "[\"a\":1]"),
	BAD(3, "[{}}"),
	BAD(2, "[1;2]"),
	BAD(1, "[#\n]"),
	/* objects */
	GOOD("{\"a\":1}"),
	GOOD("{\"a\":1,\"a\":2}"),
	GOOD("{\"\":\"\"}"),
	GOOD("{\"a\":{\"a\":{\"a\":{}}}}"),
	GOOD("{\"}\":\"{\"}"),
	GOOD("{\"a\\u0000b\":0}"),
	BAD(1, "{"),
	BAD(4, "{\"a\""),
	BAD(5, "{\"a\":"),
	BAD(6, "{\"a\":1"),
	BAD(7, "{\"a\":1,"),
	BAD(7, "{\"a\":1,}"),
	BAD(1, "{,}"),
	BAD(1, "{1:2}"),
	BAD(1, "{a:1}"),
	BAD(1, "{'a':1}"),
	BAD(4, "{\"a\"}"),
	BAD(4, "{\"a\",1}"),
	BAD(5, "{\"a\":}"),
	BAD(5, "{\"a\"::1}"),
	BAD(5, "{\"a\" 1}"),
	BAD(6, "{\"a\":1]"),
	BAD(7, "{\"a\":1 \"b\":2}"),
	BAD(7, "{\"a\":1,,\"b\":2}"),
	BAD(1, "{null:1}"),
	BAD(1, "{[]:1}"),
	BAD(7, "{\"a\":1}{\"b\":2}"),
	BAD(3, "{} {}"),
	BAD(2, "{}}"),
	BAD(1, "{]"),
	BAD(4, "{\"a\"=1}"),
	BAD(8, "{\"a\":1} // x"),
	BAD(6, "{\"a\":1;}"),
	BAD(7, "{\"a\":1,1}"),
	BAD(3, "{\"a"),
	BAD(1, "{:1}"),
};

static void grammar__accepts_and_refuses_where_it_must(void **state)
{
	(void)state;
	size_t count = sizeof grammar_cases / sizeof *grammar_cases;
	assert_true(count >= 150);
	for (size_t i = 0; i < count; i++) {
		const struct grammar_case *test = &grammar_cases[i];
		uint64_t offset;
		int code = parse_code(test->text, test->len, &offset);
		if ((code == 0) != (test->fault < 0) || (code < 0 && (long)offset != test->fault)) {
			fail_msg("case %zu, %.*s: code %d at %llu, expected %ld", i, (int)test->len,
				test->text, code, (unsigned long long)offset, test->fault);
		}
		assert_true(code == 0 || code == BOBBIN_EINPUT);
		struct reference reference = reference_check(test->text, test->len);
		assert_int_equal(reference.valid, code == 0);
		if (code < 0)
			assert_int_equal(reference.fault, offset);
	}
}

static void depth__512_is_the_last(void **state)
{
	(void)state;
	char text[2 * 520];
	struct json value;
	struct bobbin_error error = {0};
	for (size_t depth = 510; depth <= 514; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		int code = json_parse(text, 2 * depth, &value, &error);
		assert_int_equal(code, depth <= 512 ? 0 : BOBBIN_ELIMIT);
		if (code < 0)
			assert_int_equal(error.offset, 512);
	}
	/* Objects and arrays in turn, so that each level's kind must be remembered. */
	struct buffer out = BUFFER_INIT(1 << 16);
	for (int i = 0; i < 256; i++)
		buffer_add_text(&out, "[{\"k\":");
	buffer_add_text(&out, "1");
	for (int i = 0; i < 256; i++)
		buffer_add_text(&out, "}]");
	parse(out.data, out.len);
	out.data[out.len - 1] = '}';
	assert_int_equal(json_parse(out.data, out.len, &value, &error), BOBBIN_EINPUT);
	assert_int_equal(error.offset, out.len - 1);
	/* 100,000 levels are refused at once, without a stack overflow. */
	buffer_clear(&out);
	for (int i = 0; i < 30000; i++)
		buffer_add_text(&out, "[");
	assert_int_equal(json_parse(out.data, out.len, &value, &error), BOBBIN_ELIMIT);
	buffer_release(&out);
}

static void null_error__allowed(void **state)
{
	(void)state;
	struct json value;
	assert_int_equal(json_parse("[", 1, &value, NULL), BOBBIN_EINPUT);
	assert_int_equal(json_parse(NULL, 0, &value, NULL), BOBBIN_EINPUT);
}

static const char document[] =
	" {\"id\":\"m\\u00e9\\n\", \"list\": [1, -2.50e+3, [], {}, \"\xe4\xb8\xad\xf0\x9f\x98\x80 and so on, "
	"longer than one block\"],\n\t\"deep\":{\"a\":[{\"b\":[true,false,null]}]},\"\\\"\\\\\":\"\\ud83d\"}";

static void truncation__at_every_byte(void **state)
{
	(void)state;
	size_t len = sizeof document - 1;
	uint64_t offset;
	assert_int_equal(parse_code(document, len, &offset), 0);
	for (size_t cut = 0; cut < len; cut++) {
		assert_int_equal(parse_code(document, cut, &offset), BOBBIN_EINPUT);
		/* The fault is the end, or the first byte of the character that is cut. */
		assert_true(offset <= cut && offset + 3 >= cut);
		assert_int_equal(offset, reference_check(document, cut).fault);
	}
}

static void invalid_utf8__found_at_every_position(void **state)
{
	(void)state;
	static const char *const faults[] = {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xc3\x28",
		"\xe0\x9f\xbf", "\xe4\xb8", "\xe4\x28\xad", "\xed\xa0\x80", "\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xfe", "\xff"};
	static const char *const fills[] = {"x", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "\\\""};
	struct buffer out = BUFFER_INIT(1 << 12);
	for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
		for (size_t fill = 0; fill < sizeof fills / sizeof *fills; fill++) {
			for (size_t before = 0; before < 80; before++) {
				uint64_t offset;
				buffer_clear(&out);
				buffer_add_char(&out, '"');
				for (size_t i = 0; i < before; i++)
					buffer_add_text(&out, fills[fill]);
				size_t place = out.len;
				buffer_add_text(&out, faults[f]);
				for (size_t i = 0; i < 40; i++)
					buffer_add_text(&out, fills[fill]);
				buffer_add_char(&out, '"');
				assert_int_equal(parse_code(out.data, out.len, &offset), BOBBIN_EINPUT);
				assert_int_equal(offset, place);
			}
		}
	}
	buffer_release(&out);
}

static void prefix__values_glued_together(void **state)
{
	(void)state;
	static const char text[] = " {\"a\":1}{\"b\":2}\n12 [3]\"x\"true-1\xff";
	static const char *const expected[] = {"{\"a\":1}", "{\"b\":2}", "12", "[3]", "\"x\"", "true", "-1"};
	const char *at = text;
	size_t left = sizeof text - 1, used;
	struct json value;
	struct bobbin_error error = {0};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		assert_int_equal(json_parse_prefix(at, left, &value, &used, &error), 0);
		assert_true(slice_is((struct slice){value.text, value.len}, expected[i]));
		assert_ptr_equal(value.text + value.len, at + used);
		at += used;
		left -= used;
	}
	assert_int_equal(left, 1);
	assert_int_equal(json_parse_prefix(at, left, &value, &used, &error), BOBBIN_EINPUT);
	assert_int_equal(error.offset, 0);
}

static void values__keep_their_bytes(void **state)
{
	(void)state;
	static const char *const texts[] = {"1e400", "1.10", "-0", "123456789012345678901234567890",
		"\"\\/\"", "\"\\u0000\"", "\"\\ud83d\"", "\"\\u0041\"", "{ \"b\" : 1,\"a\":[ ] }", "1E+05",
		"-0.0e-0"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct buffer out = BUFFER_INIT(1000), again = BUFFER_INIT(1000);
		buffer_addf(&out, "\t{\"x\": %s ,\"y\":[%s,%s]} ", texts[i], texts[i], texts[i]);
		struct json value = parse(out.data, out.len), x, y, element;
		assert_true(json_get(&value, "x", &x));
		assert_true(slice_is((struct slice){x.text, x.len}, texts[i]));
		assert_true(json_get(&value, "y", &y));
		struct json_iter iter;
		json_iter_init(&iter, &y);
		for (int n = 0; n < 2; n++) {
			assert_true(json_iter_next(&iter, NULL, &element));
			assert_true(slice_is((struct slice){element.text, element.len}, texts[i]));
		}
		assert_false(json_iter_next(&iter, NULL, &element));
		struct json_writer writer;
		json_writer_init(&writer, &again);
		json_begin_array(&writer);
		json_add_value(&writer, &x);
		json_add_raw(&writer, slice_of(texts[i]));
		json_end_array(&writer);
		buffer_clear(&out);
		buffer_addf(&out, "[%s,%s]", texts[i], texts[i]);
		assert_string_equal(again.data, out.data);
		buffer_release(&out);
		buffer_release(&again);
	}
}

static void types__of_all_values(void **state)
{
	(void)state;
	struct json value = parse_text("[null,false,true,-1,\"\",[],{}]"), element;
	struct json_iter iter;
	json_iter_init(&iter, &value);
	for (int type = JSON_NULL; type <= JSON_OBJECT; type++) {
		assert_true(json_iter_next(&iter, NULL, &element));
		assert_int_equal(element.type, type);
		bool truth;
		assert_int_equal(json_bool(&element, &truth), type == JSON_TRUE || type == JSON_FALSE);
		if (type == JSON_TRUE || type == JSON_FALSE)
			assert_int_equal(truth, type == JSON_TRUE);
		assert_int_equal(json_count(&element), 0);
	}
	assert_false(json_iter_next(&iter, NULL, &element));
	assert_int_equal(json_count(&value), 7);
	struct json absent = {NULL, 0, JSON_ABSENT};
	assert_int_equal(json_count(&absent), 0);
	assert_false(json_get(&absent, "a", &element));
	assert_int_equal(element.type, JSON_ABSENT);
	assert_false(json_get(&value, "a", &element));
}

static void get__keys_compare_decoded_and_the_last_wins(void **state)
{
	(void)state;
	struct json value = parse_text("{\"a\":1,\"\\u0061\":2,\"b\\n\":3,\"\":4,\"\\u00e9\":5,"
				       "\"\xf0\x9f\x98\x80\":6,\"\\ud83d\\ude00\":7,"
				       "\"b\\\\n\":8,\"\\ud83d\":9,\"x\":{\"y\":10},\"aa\":11}");
	static const struct {
		const char *key, *expected;
	} cases[] = {{"a", "2"}, {"b\n", "3"}, {"", "4"}, {"\xc3\xa9", "5"}, {"\xf0\x9f\x98\x80", "7"},
		{"b\\n", "8"}, {"\xed\xa0\xbd", "9"}, {"x", "{\"y\":10}"}, {"aa", "11"}};
	struct json found;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(json_get(&value, cases[i].key, &found));
		assert_true(slice_is((struct slice){found.text, found.len}, cases[i].expected));
	}
	assert_false(json_get(&value, "y", &found));
	assert_int_equal(found.type, JSON_ABSENT);
	assert_false(json_get(&value, "A", &found));
	assert_false(json_get(&value, "b", &found));
}

static void strings__compared_decoded(void **state)
{
	(void)state;
	struct json value = parse_text("[\"a/b\",\"a\\/b\",\"\\u0061/b\",\"a/"
				       "bc\",\"\\ud83d\\ude00\",\"\xf0\x9f\x98\x80\",\"\\ud83d\",1]");
	struct json s[8];
	struct json_iter iter;
	json_iter_init(&iter, &value);
	for (int i = 0; i < 8; i++)
		assert_true(json_iter_next(&iter, NULL, &s[i]));
	for (int i = 0; i < 3; i++) {
		assert_true(json_string_is(&s[i], "a/b"));
		assert_true(json_string_equal(&s[0], &s[i]) && json_string_equal(&s[i], &s[0]));
		assert_false(json_string_is(&s[i], "a/"));
		assert_false(json_string_is(&s[i], "a/bc"));
		assert_false(json_string_equal(&s[i], &s[3]));
	}
	assert_true(json_string_equal(&s[4], &s[5]));
	assert_false(json_string_equal(&s[4], &s[6]));
	assert_false(json_string_equal(&s[7], &s[7]));
	assert_false(json_string_is(&s[7], "1"));
	struct slice content;
	assert_true(json_string_plain(&s[0], &content) && slice_is(content, "a/b"));
	assert_false(json_string_plain(&s[1], &content));
	assert_false(json_string_plain(&s[7], &content));
}

#define BYTES(literal)                                                                                       \
	{                                                                                                    \
		literal, sizeof(literal) - 1                                                                 \
	}

static void decode__escapes_and_surrogates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct slice kept, replaced;
	} cases[] = {
		{"\"\"", BYTES(""), BYTES("")},
		{"\"plain \xe4\xb8\xad\"", BYTES("plain \xe4\xb8\xad"), BYTES("plain \xe4\xb8\xad")},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", BYTES("\"\\/\b\f\n\r\t"), BYTES("\"\\/\b\f\n\r\t")},
		{"\"a\\u0000b\"", BYTES("a\0b"), BYTES("a\0b")},
		{"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
			BYTES("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"),
			BYTES("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf")},
		{"\"\\uD83D\\uDE00!\"", BYTES("\xf0\x9f\x98\x80!"), BYTES("\xf0\x9f\x98\x80!")},
		{"\"\\ud800\\udc00\\udbff\\udfff\"", BYTES("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
			BYTES("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")},
		{"\"\\ud83d\"", BYTES("\xed\xa0\xbd"), BYTES("\xef\xbf\xbd")},
		{"\"\\ude00\\ud83dx\"", BYTES("\xed\xb8\x80\xed\xa0\xbdx"),
			BYTES("\xef\xbf\xbd\xef\xbf\xbdx")},
		{"\"\\ud83d\\ud83d\\ude00\"", BYTES("\xed\xa0\xbd\xf0\x9f\x98\x80"),
			BYTES("\xef\xbf\xbd\xf0\x9f\x98\x80")},
	};
	struct arena arena = ARENA_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json value = parse_text(cases[i].text);
		/* With room for the text, and with room just for what it decodes to. */
		for (int exact = 0; exact < 2; exact++) {
			struct buffer kept = BUFFER_INIT(exact ? cases[i].kept.len : 100);
			struct buffer replaced = BUFFER_INIT(exact ? cases[i].replaced.len : 100);
			json_string_decode(&value, JSON_SURROGATES_KEEP, &kept);
			json_string_decode(&value, JSON_SURROGATES_REPLACE, &replaced);
			assert_int_equal(buffer_error(&kept) | buffer_error(&replaced), 0);
			assert_true(slice_equal(buffer_slice(&kept), cases[i].kept));
			assert_true(slice_equal(buffer_slice(&replaced), cases[i].replaced));
			buffer_release(&kept);
			buffer_release(&replaced);
		}
		struct slice content = json_string_content(&value, &arena);
		assert_non_null(content.data);
		assert_true(slice_equal(content, cases[i].kept));
	}
	struct json number = parse_text("1");
	assert_null(json_string_content(&number, &arena).data);
	/* Exactly the decoded length is asked of a bounded buffer. */
	struct json value = parse_text("\"\\u0041\\u0042\"");
	struct buffer small = BUFFER_INIT(2);
	json_string_decode(&value, JSON_SURROGATES_KEEP, &small);
	assert_int_equal(buffer_error(&small), 0);
	assert_string_equal(small.data, "AB");
	json_string_decode(&value, JSON_SURROGATES_KEEP, &small);
	assert_int_equal(buffer_error(&small), BOBBIN_ELIMIT);
	buffer_release(&small);
	arena_release(&arena);
}

static void int64__whole_and_in_range(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool whole;
		int64_t value;
	} cases[] = {{"0", true, 0}, {"-0", true, 0}, {"42", true, 42}, {"-42", true, -42},
		{"1e2", true, 100}, {"100.0", true, 100}, {"1.5e1", true, 15}, {"15e-1", false, 0},
		{"1500e-2", true, 15}, {"0.5", false, 0}, {"1.10", false, 0},
		{"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN},
		{"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0},
		{"9223372036854775807.0", true, INT64_MAX}, {"922337203685477580.7e1", true, INT64_MAX},
		{"1e18", true, 1000000000000000000}, {"1e19", false, 0}, {"1e400", false, 0},
		{"1e-400", false, 0}, {"0e400", true, 0}, {"0.000e-999999999999999999999", true, 0},
		{"1e999999999999999999999", false, 0}, {"0.00000000000000000005e20", true, 5},
		{"10000000000000000000000e-21", true, 10}, {"123456789012345678901234567890", false, 0},
		{"1E+2", true, 100}, {"0.1e1", true, 1}, {"99999999999999999999e-1", false, 0},
		{"\"1\"", false, 0}, {"null", false, 0}, {"true", false, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json number = parse_text(cases[i].text);
		int64_t value = 7;
		if (json_int64(&number, &value) != cases[i].whole)
			fail_msg("%s", cases[i].text);
		assert_int_equal(value, cases[i].whole ? cases[i].value : 7);
	}
}

static void double__nearest(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double value;
	} cases[] = {{"0", 0.0}, {"1", 1.0}, {"-1.5", -1.5}, {"1.10", 1.1}, {"0.1", 0.1}, {"1e22", 1e22},
		{"1e-7", 1e-7}, {"123456789012345678901234567890", 123456789012345678901234567890.0},
		{"1.7976931348623157e308", 0x1.fffffffffffffp1023}, {"5e-324", 0x1p-1074},
		{"2.4703282292062327e-324", 0.0}, {"1e-400", 0.0}, {"9007199254740993", 9007199254740992.0},
		{"9007199254740993.00000000000000000001", 9007199254740994.0}, {"0.0001e4", 1.0},
		{"100e-2", 1.0}, {"1.0e+00", 1.0}};
	double value;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json number = parse_text(cases[i].text);
		assert_true(json_double(&number, &value));
		if (value < cases[i].value || value > cases[i].value)
			fail_msg("%s gives %a", cases[i].text, value);
	}
	struct json number = parse_text("-0");
	assert_true(json_double(&number, &value) && value == 0 && signbit(value));
	static const char *const refused[] = {
		"1e400", "-1e309", "1.8e308", "\"1\"", "null", "1e99999999999999999999"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		number = parse_text(refused[i]);
		assert_false(json_double(&number, &value));
	}
	/* One and a half steps above 1, decided by the last of 2,000 digits. */
	struct buffer out = BUFFER_INIT(4000);
	buffer_add_text(&out, "1.00000000000000011102230246251565404236316680908203125");
	for (int i = 0; i < 2000; i++)
		buffer_add_char(&out, '0');
	number = parse(out.data, out.len);
	assert_true(json_double(&number, &value) && value == 1.0);
	buffer_add_char(&out, '1');
	number = parse(out.data, out.len);
	assert_true(json_double(&number, &value) && value == 1.0 + 0x1p-52);
	buffer_release(&out);
}

static void flat_array_of_12_mb__walked(void **state)
{
	(void)state;
	size_t len = 12u << 20;
	char *text = malloc(len);
	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? '1' : ',';
	text[0] = '[';
	text[len - 2] = '1';
	text[len - 1] = ']';
	text[len - 3] = '1';
	fail_alloc_start(0);
	struct json value = parse(text, len), element;
	struct json_iter iter;
	size_t count = 0;
	json_iter_init(&iter, &value);
	while (json_iter_next(&iter, NULL, &element))
		count++;
	assert_int_equal(count, (len - 2) / 2);
	assert_int_equal(fail_alloc_stop().allocations, 0);
	free(text);
}

static struct buffer object_of_keys(int count, int repeated)
{
	struct buffer out = BUFFER_INIT(16u << 20);
	buffer_add_char(&out, '{');
	for (int i = 0; i < count; i++)
		buffer_addf(&out, "%s\"common-prefix-%d\":%d", i ? "," : "", i, i);
	if (repeated >= 0)
		buffer_addf(&out, ",\"common\\u002dprefix-%d\":0", repeated);
	buffer_add_char(&out, '}');
	assert_int_equal(buffer_error(&out), 0);
	return out;
}

static void duplicate_keys__found_decoded(void **state)
{
	(void)state;
	struct json key;
	static const struct {
		const char *text, *key;
	} cases[] = {{"{}", NULL}, {"{\"a\":1}", NULL}, {"{\"a\":1,\"b\":2}", NULL},
		{"{\"a\":1,\"a\":2}", "a"}, {"{\"a\":1,\"b\":2,\"\\u0061\":3}", "a"},
		{"{\"\":1,\"x\":{\"\":2}}", NULL}, {"{\"\":1,\"x\":{\"\":2},\"\":3}", ""},
		{"{\"x\":{\"a\":1,\"a\":2}}", NULL},
		{"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", "\xf0\x9f\x98\x80"},
		{"{\"12345678a\":1,\"12345678b\":1}", NULL},
		{"{\"12345678a\":1,\"1234567\\u0038a\":1}", "12345678a"}, {"{\"a\":1,\"a\\u0000\":1}", NULL},
		{"[\"a\",\"a\"]", NULL}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json value = parse_text(cases[i].text);
		assert_int_equal(json_has_duplicate_key(&value, &key), cases[i].key != NULL);
		assert_int_equal(json_has_duplicate_key(&value, NULL), cases[i].key != NULL);
		if (cases[i].key)
			assert_true(json_string_is(&key, cases[i].key));
	}
	for (int count = 1; count < 200; count += 3) {
		for (int repeated = -1; repeated < count; repeated += 1 + count / 7) {
			struct buffer text = object_of_keys(count, repeated);
			struct json value = parse(text.data, text.len);
			assert_int_equal(json_has_duplicate_key(&value, &key), repeated >= 0);
			buffer_release(&text);
		}
	}
}

static void duplicate_keys__100000_with_and_without_memory(void **state)
{
	(void)state;
	struct json key;
	struct buffer text = object_of_keys(100000, -1);
	struct json value = parse(text.data, text.len);
	assert_false(json_has_duplicate_key(&value, &key));
	buffer_release(&text);
	text = object_of_keys(100000, 99999);
	value = parse(text.data, text.len);
	assert_true(json_has_duplicate_key(&value, &key));
	assert_true(json_string_is(&key, "common-prefix-99999"));
	buffer_release(&text);
	for (int repeated = -1; repeated < 3000; repeated += 1000) {
		text = object_of_keys(3000, repeated);
		value = parse(text.data, text.len);
		fail_alloc_start(1);
		bool found = json_has_duplicate_key(&value, &key);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_true(report.failed);
		assert_int_equal(report.live, 0);
		assert_int_equal(found, repeated >= 0);
		buffer_release(&text);
	}
}

static void get__linear_in_a_big_object(void **state)
{
	(void)state;
	struct buffer text = object_of_keys(50000, -1);
	struct json value = parse(text.data, text.len), found;
	int64_t number;
	assert_true(json_get(&value, "common-prefix-49999", &found));
	assert_true(json_int64(&found, &number) && number == 49999);
	assert_true(json_get(&value, "common-prefix-0", &found));
	assert_true(json_int64(&found, &number) && number == 0);
	assert_int_equal(json_count(&value), 50000);
	buffer_release(&text);
}

static void no_memory__is_an_error(void **state)
{
	(void)state;
	struct json value = parse_text("\"a\\nb\"");
	struct arena arena = ARENA_INIT;
	fail_alloc_start(1);
	struct slice content = json_string_content(&value, &arena);
	assert_true(fail_alloc_stop().failed);
	assert_null(content.data);
	assert_int_equal(content.len, 0);
	arena_release(&arena);
	struct buffer out = BUFFER_INIT(100);
	fail_alloc_start(1);
	json_string_decode(&value, JSON_SURROGATES_KEEP, &out);
	assert_true(fail_alloc_stop().failed);
	assert_int_equal(buffer_error(&out), BOBBIN_ENOMEM);
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grammar__accepts_and_refuses_where_it_must),
		cmocka_unit_test(depth__512_is_the_last),
		cmocka_unit_test(null_error__allowed),
		cmocka_unit_test(truncation__at_every_byte),
		cmocka_unit_test(invalid_utf8__found_at_every_position),
		cmocka_unit_test(prefix__values_glued_together),
		cmocka_unit_test(values__keep_their_bytes),
		cmocka_unit_test(types__of_all_values),
		cmocka_unit_test(get__keys_compare_decoded_and_the_last_wins),
		cmocka_unit_test(strings__compared_decoded),
		cmocka_unit_test(decode__escapes_and_surrogates),
		cmocka_unit_test(int64__whole_and_in_range),
		cmocka_unit_test(double__nearest),
		cmocka_unit_test(flat_array_of_12_mb__walked),
		cmocka_unit_test(duplicate_keys__found_decoded),
		cmocka_unit_test(duplicate_keys__100000_with_and_without_memory),
		cmocka_unit_test(get__linear_in_a_big_object),
		cmocka_unit_test(no_memory__is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
