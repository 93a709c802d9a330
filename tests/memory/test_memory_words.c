/* SPDX-License-Identifier: MIT */
/* Stems, dates, and the three questions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "memory/dates.h"
#include "memory/judge.h"
#include "memory/stem.h"

#define DAY INT64_C(86400000000000)

static void words_lose_their_endings_as_in_the_paper(void **state)
{
	static const char *const PAIRS[][2] = {{"caresses", "caress"}, {"ponies", "poni"}, {"cats", "cat"}, {"feed", "feed"},
		{"agreed", "agre"}, {"plastered", "plaster"}, {"motoring", "motor"}, {"sing", "sing"}, {"conflated", "conflat"},
		{"hopping", "hop"}, {"falling", "fall"}, {"filing", "file"}, {"happy", "happi"}, {"sky", "sky"},
		{"relational", "relat"}, {"rational", "ration"}, {"digitizer", "digit"}, {"operator", "oper"},
		{"decisiveness", "decis"}, {"hopefulness", "hope"}, {"triplicate", "triplic"}, {"electrical", "electr"},
		{"revival", "reviv"}, {"adjustment", "adjust"}, {"adoption", "adopt"}, {"rate", "rate"}, {"cease", "ceas"},
		{"controlling", "control"}, {"roll", "roll"}};
	char word[32];
	(void)state;

	for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
		size_t len = strlen(PAIRS[i][0]);
		memcpy(word, PAIRS[i][0], len + 1);
		len = stem(word, len);
		word[len] = 0;
		assert_string_equal(word, PAIRS[i][1]);
	}
}

static void days_are_counted_right(void **state)
{
	(void)state;
	struct day day = day_of(INT64_C(951782400) * 1000000000); /* 2000-02-29 */
	assert_int_equal(day.year, 2000);
	assert_int_equal(day.month, 2);
	assert_int_equal(day.day, 29);
	assert_int_equal(day_start(day), INT64_C(951782400) * 1000000000);
	assert_int_equal(weekday_of(day), 1); /* a Tuesday */
	day = day_of(-1);
	assert_int_equal(day.year, 1969);
	assert_int_equal(day.day, 31);
	struct day found[4];
	assert_int_equal(dates_find(" on 7 may 2023 or in june 2022 or 2021 ", found, 4), 3);
	assert_int_equal(found[0].day, 7);
	assert_int_equal(found[0].month, 5);
	assert_int_equal(found[1].month, 6);
	assert_int_equal(found[2].year, 2021);
}

static void the_three_questions_sort_what_was_said(void **state)
{
	static const struct {
		const char *text;
		enum verdict verdict;
		const char *relation;
	} CASES[] = {
		{"The user is in Shanghai", VERDICT_KEEP, "home"},
		{"I moved to Berlin", VERDICT_KEEP, "home"},
		{"I'm in Berlin now", VERDICT_KEEP, "home"},
		{"I'm in trouble", VERDICT_CANDIDATE, NULL},
		{"Ich wohne in München", VERDICT_KEEP, "home"},
		{"Ich bin nach Hamburg gezogen", VERDICT_KEEP, "home"},
		{"J'habite à Lyon", VERDICT_KEEP, "home"},
		{"我住在上海", VERDICT_KEEP, "home"},
		{"大阪に住んでいます", VERDICT_KEEP, "home"},
		{"My name is Ana", VERDICT_KEEP, "name"},
		{"I am allergic to peanuts", VERDICT_KEEP, NULL},
		{"From now on skip newsletters", VERDICT_KEEP, NULL},
		{"I am looking at flights to Rome", VERDICT_CANDIDATE, NULL},
		{"rewrite that second paragraph in three sentences", VERDICT_SESSION, NULL},
		{"Schreib den zweiten Absatz neu", VERDICT_SESSION, NULL},
		{"请改写第二段", VERDICT_SESSION, NULL},
		{"この段落を書き直してください", VERDICT_SESSION, NULL},
		{"Write a story in which I live in Rome", VERDICT_SESSION, NULL},
		{"Do I live in Rome?", VERDICT_SESSION, NULL},
		{"I like it", VERDICT_SESSION, NULL},
		{"Thanks!", VERDICT_SESSION, NULL},
		{"I am tired today", VERDICT_SESSION, NULL},
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		struct judgement judgement;
		assert_int_equal(judge(slice_of(CASES[i].text), 1000 * DAY, &judgement, NULL), 0);
		if (judgement.verdict != CASES[i].verdict)
			print_message("%s\n", CASES[i].text);
		assert_int_equal(judgement.verdict, CASES[i].verdict);
		if (CASES[i].relation)
			assert_string_equal(judgement.relation, CASES[i].relation);
		assert_non_null(judgement.needed_why);
		assert_non_null(judgement.expires_why);
		assert_non_null(judgement.retrievable_why);
	}
}

static void what_names_its_end_expires_then(void **state)
{
	struct judgement judgement;
	int64_t monday = 4 * DAY + 5; /* 1970-01-05 */
	(void)state;

	assert_int_equal(judge(SLICE_LITERAL("I work at the fair until Friday"), monday, &judgement, NULL), 0);
	assert_int_equal(judgement.verdict, VERDICT_KEEP);
	assert_int_equal(judgement.expires_ns, 9 * DAY); /* the end of the 9th */
	assert_int_equal(judge(SLICE_LITERAL("I work at the fair until 7 March"), monday, &judgement, NULL), 0);
	assert_int_equal(judgement.expires_ns, day_start((struct day){1970, 3, 8}));
	assert_int_equal(judge(SLICE_LITERAL("I live in Rome"), monday, &judgement, NULL), 0);
	assert_int_equal(judgement.expires_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_lose_their_endings_as_in_the_paper),
		cmocka_unit_test(days_are_counted_right),
		cmocka_unit_test(the_three_questions_sort_what_was_said),
		cmocka_unit_test(what_names_its_end_expires_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
