/* SPDX-License-Identifier: MIT */
/* Finding bytes: all instruction sets give what a plain loop gives, at every place and length, and read
 * nothing beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>
#include "base/find.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Worked out without the code under test; escapes of 'a' and U+00E9 count if `escapes`. */
static const char *by_hand(const char *text, size_t len, const char *needle, bool folded, bool escapes)
{
	static const char *const ESCAPES[] = {"\\u0061", "\\u00e9"};
	size_t needle_len = strlen(needle);

	for (size_t i = 0; i < len; i++) {
		if (len - i >= needle_len && (folded ? strncasecmp(text + i, needle, needle_len) == 0
						     : memcmp(text + i, needle, needle_len) == 0))
			return text + i;
		for (size_t j = 0; escapes && j < 2; j++)
			if (len - i >= 6 && memcmp(text + i, "\\u", 2) == 0 &&
				strncasecmp(text + i, ESCAPES[j], 6) == 0)
				return text + i;
		if (escapes && folded && len - i >= 6 && memcmp(text + i, "\\u0041", 6) == 0)
			return text + i;
	}
	return NULL;
}

static void finds_are_those_of_a_plain_loop(void **state)
{
	(void)state;
	static const char *const PIECES[] = {"ab", "ba", "aab", "b", "AB", "\\u0061", "\\u00E9", "\\u006",
		"\\u0041", "x", "\\", "u", "\\\\u0061"};
	static const char *const NEEDLES[] = {
		"ab", "aab", "b", "abba", "xab", "ababababababababababababababababababababab"};
	for (int round = 0; round < 60000; round++) {
		/* Its own allocation, so that a read beyond the end is seen by the sanitizer. */
		size_t size = next_random() % 700, len = 0;
		char *text = malloc(size + 1);
		while (len < size) {
			const char *piece = next_random() % 9 ? "yyyyyyyy" : PIECES[next_random() % 13];
			size_t used = strlen(piece) < size - len ? strlen(piece) : size - len;
			memcpy(text + len, piece, used);
			len += used;
		}
		text = realloc(text, size ? size : 1);
		const char *needle = NEEDLES[next_random() % 6];
		bool folded = next_random() % 2, escapes = next_random() % 2;
		struct find find;
		find_init(&find, slice_of(needle), folded);
		if (escapes)
			assert_true(find_add_escapes(&find, slice_of("aé")));
		const char *right = by_hand(text, len, needle, folded, escapes);
		assert_ptr_equal(find_next(&find, text, text + len), right);
		assert_ptr_equal(find_next_portable(&find, text, text + len), right);
		free(text);
	}
}

static void what_is_no_utf8_and_what_is_too_much_is_refused(void **state)
{
	(void)state;
	struct find find;
	char many[2 * FIND_UNITS_MAX + 2];
	find_init(&find, slice_of("a"), false);
	assert_false(find_add_escapes(&find, slice_of("\xff")));
	for (size_t i = 0; i <= FIND_UNITS_MAX; i++) { /* U+0100 and on */
		many[2 * i] = (char)(0xc4 + i / 64);
		many[2 * i + 1] = (char)(0x80 + i % 64);
	}
	assert_false(find_add_escapes(&find, (struct slice){many, sizeof(many)}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_are_those_of_a_plain_loop),
		cmocka_unit_test(what_is_no_utf8_and_what_is_too_much_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
