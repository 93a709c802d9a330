/* SPDX-License-Identifier: MIT */
/* Blocks against the splitter that goes character by character. Needs no rank files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tokens/blocks.h"
#include "tokens/split.h"

static uint32_t seed_state;

static uint32_t next_random(uint32_t below)
{
	seed_state ^= seed_state << 13;
	seed_state ^= seed_state >> 17;
	seed_state ^= seed_state << 5;
	return seed_state % below;
}

static void start_random(void)
{
	const char *given = getenv("TOKENS_SEED");
	seed_state = given ? (uint32_t)strtoul(given, NULL, 10) : 4711;
	print_message("TOKENS_SEED=%lu\n", (unsigned long)seed_state);
}

static void classifier__best_equals_portable(void **state)
{
	(void)state;
	start_random();
	for (int round = 0; round < 2000; round++) {
		char block[BLOCK_BYTES];
		for (unsigned i = 0; i < BLOCK_BYTES; i++)
			block[i] = (char)(round < 4 ? (unsigned)round * 64 + i : next_random(256));
		struct block_masks best, portable;
		block_classifier_best()(block, &best);
		block_classify_portable(block, &portable);
		assert_memory_equal(&best, &portable, sizeof(best));
	}
}

/* Every start that a block gives, up to the last, is where split_piece ends a piece, and none is left out
 * between. */
static void check_block(enum split_pattern pattern, const char *block, size_t len)
{
	unsigned usable;
	uint64_t starts = block_starts(pattern, block_classifier_best(), block, len, &usable);
	assert_true(starts & 1);
	const char *at = block;
	for (starts &= starts - 1; starts; starts &= starts - 1) {
		const char *next = block + __builtin_ctzll(starts);
		bool invalid = false;
		at = split_piece(pattern, at, block + len, &invalid);
		if (at != next)
			fail_msg("pattern %d: a piece ends at %d, the block says %d: %.*s", pattern,
				(int)(at - block), (int)(next - block), (int)len, block);
	}
}

static void starts__are_those_of_the_splitter(void **state)
{
	(void)state;
	static const char *const alphabets[] = {
		"''stlerv SLaB  \t\n\n\r/.(12",
		"aB'sl ",
		"' \n\t.\r",
		"12 a'",
		"/\n.; a",
		"abcdefgh ,.ABC\n'll're've",
		" \t\n\x1c\x0b",
	};
	start_random();
	for (int round = 0; round < 300000; round++) {
		const char *alphabet = alphabets[next_random(sizeof(alphabets) / sizeof(*alphabets))];
		char text[160];
		size_t len = 1 + next_random(sizeof(text) - BLOCK_BYTES - 1);
		memset(text, 0, sizeof(text));
		for (size_t i = 0; i < len; i++)
			text[i] = next_random(200) ? alphabet[next_random((uint32_t)strlen(alphabet))]
						   : (char)next_random(128);
		check_block(round % 2 ? SPLIT_O200K : SPLIT_CL100K, text, len);
	}
}

static void starts__stop_at_a_character_outside_ascii(void **state)
{
	(void)state;
	char text[BLOCK_BYTES * 2] = "one two three \xc3\xa9 four five six";
	unsigned usable;
	uint64_t starts = block_starts(SPLIT_O200K, block_classifier_best(), text, strlen(text), &usable);
	assert_int_equal(usable, 14);
	assert_int_equal(
		starts, 1 | 1 << 3 | 1 << 7); /* " two", " three"; the blank at 13 waits for what follows */
}

static void contraction__every_form(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t bytes;
	} forms[] = {
		{"'s", 2},
		{"'S", 2},
		{"'t", 2},
		{"'m", 2},
		{"'d", 2},
		{"'re", 3},
		{"'RE", 3},
		{"'vE", 3},
		{"'ll", 3},
		{"'Ll", 3},
		{"'\xc5\xbf", 3},
		{"'", 0},
		{"'r", 0},
		{"'l", 0},
		{"'rx", 0},
		{"'x", 0},
		{"s", 0},
		{"''s", 0},
		{"'3e", 0},
		{"'\xc5\x9f", 0},
	};
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		assert_int_equal(split_contraction(forms[i].text, forms[i].text + strlen(forms[i].text)),
			forms[i].bytes);
}

static void invalid_utf8__is_told(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"\x80",
		"\xff",
		"\xc3",
		"\xc0\xaf",
		"\xe2\x82",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xf0\x80\x80\x80",
		"a\xff",
		" \xc3",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		for (int pattern = 0; pattern < 2; pattern++) {
			bool invalid = false;
			const char *end = bad[i] + strlen(bad[i]);
			split_piece(pattern, bad[i], end, &invalid);
			assert_true(invalid);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classifier__best_equals_portable),
		cmocka_unit_test(starts__are_those_of_the_splitter),
		cmocka_unit_test(starts__stop_at_a_character_outside_ascii),
		cmocka_unit_test(contraction__every_form),
		cmocka_unit_test(invalid_utf8__is_told),
	};
	return cmocka_run_group_tests_name("tokens/blocks", tests, NULL, NULL);
}
