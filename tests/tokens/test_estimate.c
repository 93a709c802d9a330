/* SPDX-License-Identifier: MIT */
/* The estimator against known counts, within the bands that src/tokens/README.md states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tokens/encoding.h"
#include "tokens/estimate.h"
#include "tokens/token_files.h"

/* Percent of the known count: at least and at most, for the common weights against cl100k_base and for the
 * large ones against o200k_base. */
static const struct band {
	const char *name;
	unsigned common_low, common_high, large_low, large_high;
} bands[] = {
	{"english", 86, 165, 86, 165},
	{"german", 73, 135, 75, 135},
	{"russian", 78, 140, 78, 160},
	{"arabic", 95, 135, 80, 125},
	{"chinese", 76, 125, 76, 125},
	{"japanese", 76, 125, 76, 125},
	{"korean", 80, 115, 90, 120},
	{"hindi", 79, 140, 85, 180},
	{"code", 85, 175, 85, 170},
	{"base64", 95, 112, 95, 115},
	{"json", 95, 120, 95, 120},
	{"emoji", 95, 110, 95, 140},
	{"cjk_160", 76, 140, 76, 125},
	{"ascii_160", 86, 165, 86, 165},
};

struct known {
	const char *name;
	uint64_t o200k, cl100k;
	char *text;
	size_t len;
};

static struct known known[sizeof(bands) / sizeof(*bands)];
static char *file;

static int read_known(void **state)
{
	(void)state;
	char *at = file = token_file_read("bands.tsv"), *line;
	for (size_t i = 0; file && i < sizeof(known) / sizeof(*known) && (line = token_line(&at)); i++) {
		known[i].name = token_field(&line);
		known[i].o200k = strtoull(token_field(&line), NULL, 10);
		known[i].cl100k = strtoull(token_field(&line), NULL, 10);
		known[i].text = token_text(token_field(&line), &known[i].len);
	}
	return file ? 0 : -1;
}

static int free_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		free(known[i].text);
	free(file);
	return 0;
}

static const struct known *find(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].name && strcmp(known[i].name, name) == 0)
			return &known[i];
	fail_msg("bands.tsv has no %s", name);
	return NULL;
}

static struct token_classes classes_of(const struct known *text)
{
	struct token_classes classes = {0};
	token_classes_add(&classes, text->text, text->len);
	return classes;
}

static void check_within(const char *name, uint64_t estimate, uint64_t truth, unsigned low, unsigned high)
{
	if (estimate * 100 < truth * low || estimate * 100 > truth * high)
		fail_msg("%s: %llu of %llu is not within %u and %u %%", name, (unsigned long long)estimate,
			(unsigned long long)truth, low, high);
}

static void x09_estimate__is_within_its_band_for_every_script(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bands) / sizeof(*bands); i++) {
		const struct known *text = find(bands[i].name);
		struct token_classes classes = classes_of(text);
		check_within(text->name, token_classes_estimate(&classes), text->cl100k, bands[i].common_low,
			bands[i].common_high);
		check_within(text->name, token_classes_estimate_large(&classes), text->o200k,
			bands[i].large_low, bands[i].large_high);
	}
}

/* Dividing characters or bytes by four would give both about the same. */
static void x09_cjk__costs_a_multiple_of_ascii(void **state)
{
	(void)state;
	const struct known *cjk = find("cjk_160"), *ascii = find("ascii_160");
	assert_int_equal(cjk->len, 480);
	assert_int_equal(ascii->len, 160);
	assert_true(tokens_estimate(cjk->text, cjk->len) > 3 * tokens_estimate(ascii->text, ascii->len));
}

/* For a tokenizer that is not known, neither known one is undercounted by more than the band. */
static void x09_common_weights__never_undercount_either_encoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bands) / sizeof(*bands); i++) {
		const struct known *text = find(bands[i].name);
		uint64_t larger = text->o200k > text->cl100k ? text->o200k : text->cl100k;
		assert_true(tokens_estimate(text->text, text->len) * 100 >= larger * bands[i].common_low);
	}
}

static void classes__add_up_along_a_path(void **state)
{
	(void)state;
	const struct known *first = find("russian"), *second = find("json");
	struct token_classes both = classes_of(first), other = classes_of(second),
			     one_by_one = classes_of(first);
	token_classes_sum(&both, &other);
	token_classes_add(&one_by_one, second->text, second->len);
	assert_memory_equal(&both, &one_by_one, sizeof(both));
}

static void classes__of_a_long_text_are_those_of_its_repetitions(void **state)
{
	(void)state;
	/* Long enough that the narrow lanes are emptied thousands of times; begins and ends with a line end.
	 */
	enum { TIMES = 3000 };
	const char line[] = "\nVar x1 = \xd0\x96 \xe4\xb8\xad \xf0\x9f\x98\x80 \xc3\xa9jqxz;;\n";
	size_t len = sizeof(line) - 1;
	char *text = malloc(len * TIMES);
	assert_non_null(text);
	struct token_classes one = {0}, all = {0}, pair = {0};
	for (size_t i = 0; i < TIMES; i++)
		memcpy(text + i * len, line, len);
	token_classes_add(&one, text, len);
	token_classes_add(&pair, text, 2 * len);
	token_classes_add(&all, text, len * TIMES);
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		assert_int_equal(all.count[class],
			one.count[class] + (TIMES - 1) * (pair.count[class] - one.count[class]));
	free(text);
}

static void classes__saturate(void **state)
{
	(void)state;
	struct token_classes full, one = {0};
	memset(&full, 0xff, sizeof(full));
	token_classes_add(&one, "a1 \xd0\x96\xe4\xb8\xad!", 9);
	token_classes_sum(&full, &one);
	token_classes_add(&full, "a1 \xd0\x96\xe4\xb8\xad!", 9);
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		assert_int_equal(full.count[class], UINT32_MAX);
	assert_true(token_classes_estimate(&full) > UINT32_MAX);
}

static void any_byte__is_at_least_one_token(void **state)
{
	(void)state;
	assert_int_equal(tokens_estimate("", 0), 0);
	for (int byte = 0; byte < 256; byte++) {
		char text[2] = {(char)byte, (char)0x80};
		assert_true(tokens_estimate(text, 1) >= 1);
		assert_true(tokens_estimate(text, 2) >= 1);
	}
}

static void check_at_most_bytes(const char *text, size_t len)
{
	struct token_classes classes = {0};
	token_classes_add(&classes, text, len);
	assert_in_range(token_classes_estimate(&classes), 1, len);
	assert_in_range(token_classes_estimate_large(&classes), 1, len);
}

/* No text costs more than a token a byte, whatever it is made of, alone or added to others. */
static void any_text__is_at_most_a_token_a_byte(void **state)
{
	(void)state;
	static const char *const pieces[] = {"x", "q1", "1,", "jA", "1a", "xX ", "\n", "\xe4", "\xc3\xa9",
		"\x80 ", "Z9z", " 1", "\xf0\x9f\x98\x80"};
	enum { COUNT = sizeof(pieces) / sizeof(*pieces), TIMES = 3000 };
	char text[4 * TIMES];
	struct token_classes sum = {0};
	size_t bytes = 0;
	for (size_t piece = 0; piece < COUNT; piece++) {
		size_t len = strlen(pieces[piece]);
		for (size_t i = 0; i < TIMES; i++)
			memcpy(text + i * len, pieces[piece], len);
		for (size_t cut = 1; cut <= 40; cut++)
			check_at_most_bytes(text, cut);
		check_at_most_bytes(text, TIMES * len);
		for (size_t i = 0; i < TIMES; i++)
			token_classes_add(&sum, pieces[piece], len);
		bytes += TIMES * len;
		assert_in_range(token_classes_estimate(&sum), 1, bytes);
	}
	memset(text, 'x', TIMES);
	assert_in_range(tokens_estimate(text, TIMES), TIMES / 8, TIMES);
}

/* With the rank files the same bands are checked on what the exact counter says now. */
static void known_counts__are_those_of_the_exact_counter(void **state)
{
	(void)state;
	const struct encoding *o200k = encoding_by_name("o200k_base"),
			      *cl100k = encoding_by_name("cl100k_base");
	if (!o200k || !cl100k) {
		print_message("skipped: built without the rank files\n");
		skip();
	}
	struct token_scratch *scratch = token_scratch_new();
	assert_non_null(scratch);
	for (size_t i = 0; i < sizeof(bands) / sizeof(*bands); i++) {
		const struct known *text = find(bands[i].name);
		uint64_t tokens = 0;
		assert_int_equal(encoding_count(o200k, scratch, text->text, text->len, &tokens), 0);
		assert_int_equal(tokens, text->o200k);
		assert_int_equal(encoding_count(cl100k, scratch, text->text, text->len, &tokens), 0);
		assert_int_equal(tokens, text->cl100k);
	}
	token_scratch_free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x09_estimate__is_within_its_band_for_every_script),
		cmocka_unit_test(x09_cjk__costs_a_multiple_of_ascii),
		cmocka_unit_test(x09_common_weights__never_undercount_either_encoding),
		cmocka_unit_test(classes__add_up_along_a_path),
		cmocka_unit_test(classes__of_a_long_text_are_those_of_its_repetitions),
		cmocka_unit_test(classes__saturate),
		cmocka_unit_test(any_byte__is_at_least_one_token),
		cmocka_unit_test(any_text__is_at_most_a_token_a_byte),
		cmocka_unit_test(known_counts__are_those_of_the_exact_counter),
	};
	return cmocka_run_group_tests_name("tokens/estimate", tests, read_known, free_known);
}
