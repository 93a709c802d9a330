/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "compact/dates.h"
#include "compact/values.h"

static void number_words__in_five_languages(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t value;
		size_t len;
	} CASES[] = {{"two thousand", 2000, 12}, {"twenty-five widgets", 25, 11},
		{"two hundred and five", 205, 20}, {"One million", 1000000, 11}, {"two three", 2, 3},
		{"hundred and", 100, 7}, {"dos mil", 2000, 7}, {"cuarenta y dos", 42, 14},
		{"quinientos", 500, 10}, {"quatre-vingt-dix", 90, 16}, {"deux mille", 2000, 10},
		{"soixante-dix", 70, 12}, {"zweitausend", 2000, 11}, {"fünfundzwanzig", 25, 15},
		{"dreihundertvierzig", 340, 18}, {"zweitausend drei", 2000, 11}, {"两千五百", 2500, 12},
		{"三", 3, 3}, {"一万二千", 12000, 12}, {"十五个", 15, 6}, {"often", 0, 0}, {"and", 0, 0},
		{"dream", 0, 0}, {"", 0, 0}, {"tensor", 0, 0}};

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		uint64_t value = 0;
		size_t len = number_words_read(slice_of(CASES[i].text), 0, &value);

		if (len != CASES[i].len || (len && value != CASES[i].value))
			fail_msg("%s: %zu bytes, %llu", CASES[i].text, len, (unsigned long long)value);
	}
}

static void numbers__one_canonical_form(void **state)
{
	(void)state;
	static const struct {
		const char *text, *canonical;
		size_t len;
	} CASES[] = {{"1,000", "1000", 5}, {"1000", "1000", 4}, {"1_000_000", "1000000", 9},
		{"0.0375", "0.0375", 6}, {"1.50", "1.5", 4}, {"2.0", "2", 3}, {"007", "7", 3}, {"0", "0", 1},
		{"12,34", "12", 2}, {"1,0000", "1", 1}, {"1.", "1", 1},
		{"1,234,567.80 more", "1234567.8", 12}};

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		char canonical[NUMBER_BYTES];

		assert_int_equal(number_read(slice_of(CASES[i].text), canonical), CASES[i].len);
		assert_string_equal(canonical, CASES[i].canonical);
	}
}

static void dates__in_their_spellings(void **state)
{
	(void)state;
	static const char *const DATES[] = {"2031-04-09", "2031/4/9", "9.4.2031", "09.04.2031", "4/9/2031",
		"April 9, 2031", "Apr. 9th, 2031", "9 April 2031", "9. April 2031", "9 de abril de 2031",
		"9 avril 2031", "2031年4月9日"};
	static const char *const NONE[] = {"2031-13-09", "2031-04-32", "31-04-09", "2031-04", "April 9",
		"2031-04-091", "May be 3", "0.4.2031", ""};

	for (size_t i = 0; i < sizeof DATES / sizeof *DATES; i++) {
		uint16_t year = 0;
		uint8_t month = 0, day = 0;

		assert_int_equal(date_read(slice_of(DATES[i]), &year, &month, &day), strlen(DATES[i]));
		assert_int_equal(year, 2031);
		assert_int_equal(month, 4);
		assert_int_equal(day, 9);
	}
	for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
		uint16_t year;
		uint8_t month, day;

		assert_int_equal(date_read(slice_of(NONE[i]), &year, &month, &day), 0);
	}
}

static int list(void *context, const struct value *value)
{
	buffer_addf(context, "%s=%.*s%s%.*s\n", value_kind_text(value->kind), (int)value->text.len,
		value->text.data, value->unit.len ? "|" : "", (int)value->unit.len,
		value->unit.data ? value->unit.data : "");
	return 0;
}

static void values__by_their_shape(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(4096);

	assert_int_equal(values_read(slice_of("The DB moved to 10.2.3.4:5051 on 9 April 2031, \"for good\"; "
					      "see src/db.c and/or "
					      "TCP/IP (config.yaml), cost $1,200, 250 ms, 12%, parse_it and "
					      "fooBar. ALPHA-7F3C's 3rd; #42 "
					      "under two thousand. Two words. `run()` e.g. it"),
				 list, &out),
		0);
	assert_string_equal(out.data, "id=10.2.3.4:5051\ndate=9 April 2031\nquotation=for "
				      "good\npath=src/db.c\nid=config.yaml\nnumber=$1,200\n"
				      "number=250|ms\nnumber=12%|%\nid=parse_it\nid=fooBar\nid=ALPHA-"
				      "7F3C\nnumber=3rd\nnumber=42\nnumber=two thousand\n"
				      "quotation=run\n");
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_words__in_five_languages),
		cmocka_unit_test(numbers__one_canonical_form),
		cmocka_unit_test(dates__in_their_spellings),
		cmocka_unit_test(values__by_their_shape),
	};
	return cmocka_run_group_tests_name("compact/values", tests, NULL, NULL);
}
