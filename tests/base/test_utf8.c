/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/utf8.h"

/* An encoder after RFC 3629, section 3, written out for each length. */
static unsigned reference_encode(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 + c / 64);
		out[1] = (uint8_t)(0x80 + c % 64);
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 + c / 4096);
		out[1] = (uint8_t)(0x80 + c / 64 % 64);
		out[2] = (uint8_t)(0x80 + c % 64);
		return 3;
	}
	out[0] = (uint8_t)(0xf0 + c / 262144);
	out[1] = (uint8_t)(0x80 + c / 4096 % 64);
	out[2] = (uint8_t)(0x80 + c / 64 % 64);
	out[3] = (uint8_t)(0x80 + c % 64);
	return 4;
}

static void every_code_point__encodes_and_decodes(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		uint8_t expected[4];
		char bytes[4];
		unsigned len = reference_encode(c, expected);
		bool surrogate = c >= 0xd800 && c <= 0xdfff;
		uint32_t back = 0xffffffff;
		if (utf8_encode(c, bytes) != len || memcmp(bytes, expected, len) != 0)
			fail_msg("U+%04X is encoded wrongly", c);
		if (utf8_decode(bytes, len, &back) != (surrogate ? 0 : len) || (!surrogate && back != c))
			fail_msg("U+%04X is decoded wrongly", c);
		if (utf8_valid_prefix(bytes, len) != (surrogate ? 0 : len))
			fail_msg("U+%04X is judged wrongly", c);
		char padded[] = "\xc3\xa9????abcdefgh"; /* far from the end, after and before other text */
		memcpy(padded + 2, bytes, len);
		if (utf8_valid_prefix(padded, sizeof(padded) - 1) != (surrogate ? 2 : sizeof(padded) - 1))
			fail_msg("U+%04X is judged wrongly among other text", c);
		for (unsigned cut = 1; cut < len; cut++)
			if (utf8_decode(bytes, cut, &back) != 0 || utf8_valid_prefix(bytes, cut) != 0)
				fail_msg("U+%04X, cut, is taken for whole", c);
	}
}

/* All sequences of up to three bytes, and of four with the last one fixed: valid are those the encoder gives.
 */
static void every_short_sequence__valid_iff_an_encoder_writes_it(void **state)
{
	(void)state;
	uint8_t *valid = mem_alloc_zero(1 << 24);
	for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
		uint8_t bytes[4] = {0};
		unsigned len = reference_encode(c, bytes);
		bool surrogate = c >= 0xd800 && c <= 0xdfff;
		if (!surrogate && (len < 4 || bytes[3] == 0x80))
			valid[bytes[0] << 16 | bytes[1] << 8 | bytes[2]] = (uint8_t)len;
	}
	for (uint32_t word = 0x800000; word < 0x1000000; word++) {
		char bytes[8] = {
			(char)(word >> 16), (char)(word >> 8), (char)word, (char)0x80, 'a', 'b', 'c', 'd'};
		unsigned two = valid[word & 0xffff00], more = valid[word];
		unsigned expected = two == 2 ? 2 : more;
		uint32_t c;
		if (utf8_decode(bytes, 4, &c) != expected)
			fail_msg("%06x: %u bytes taken instead of %u", word, utf8_decode(bytes, 4, &c),
				expected);
		size_t prefix = utf8_valid_prefix(bytes, sizeof(bytes));
		if (prefix < expected || (expected == 0 && prefix != 0))
			fail_msg("%06x: %zu bytes valid instead of %u", word, prefix, expected);
	}
	mem_free(valid);
}

static void invalid_sequences__refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3(",
		"\xe2\x82(",
		"\xe2(\xa1",
		"\xf0\x9f\x98(",
		"\xf0(\x8c\xbc",
		"\xc3",
		"\xe2\x82",
		"\xf0\x9f\x98",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t c;
		assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &c), 0);
		assert_int_equal(utf8_valid_prefix(bad[i], strlen(bad[i])), 0);
	}
	assert_int_equal(utf8_valid_prefix("", 0), 0);
	assert_int_equal(utf8_valid_prefix(NULL, 0), 0);
}

/* One bad byte, and one cut character, at each place of texts that cross all block sizes. */
static void valid_prefix__ends_at_the_first_fault_wherever_it_is(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 150; len++) {
		char *text = malloc(len); /* exact, so that reading beyond it is seen */
		for (size_t at = 0; at < len; at++) {
			memset(text, 'a', len);
			assert_int_equal(utf8_valid_prefix(text, len), len);
			text[at] = (char)0xff;
			assert_int_equal(utf8_valid_prefix(text, len), at);
			text[at] = (char)0x80;
			assert_int_equal(utf8_valid_prefix(text, len), at);
			memcpy(text + at, "\xe4\xb8\xad", len - at < 3 ? len - at : 3);
			assert_int_equal(utf8_valid_prefix(text, len), len - at < 3 ? at : len);
		}
		free(text);
	}
}

static void valid_prefix__nul_bytes_are_text(void **state)
{
	(void)state;
	assert_int_equal(utf8_valid_prefix("a\0b\xc3\xa9\0", 6), 6);
}

/* The rule itself: the largest start of a code point that is not beyond the limit. */
static size_t reference_truncate(const char *data, size_t len, size_t limit)
{
	size_t best = 0, at = 0;
	while (at < len) {
		uint32_t c;
		at += utf8_decode(data + at, len - at, &c);
		if (at <= limit)
			best = at;
	}
	return best;
}

static void truncation__never_inside_a_code_point(void **state)
{
	(void)state;
	static const char text[] =
		"a\xc3\xa9z\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"
		"end\xd8\xa8\xe0\xa4\x95";
	size_t len = sizeof(text) - 1;
	for (size_t limit = 0; limit <= len + 5; limit++)
		assert_int_equal(utf8_truncate(text, len, limit), reference_truncate(text, len, limit));
	assert_int_equal(utf8_truncate(text, len, SIZE_MAX), len);
	assert_int_equal(utf8_truncate("", 0, 0), 0);
}

/* Case C7: 9,999 bytes of ASCII, then emoji and Chinese, at all limits around the border. */
static void truncation__emoji_after_9999_bytes(void **state)
{
	(void)state;
	struct buffer text = BUFFER_INIT(20000);
	for (int i = 0; i < 9999; i++)
		buffer_add_char(&text, 'x');
	buffer_add_text(&text, "\xf0\x9f\x98\x80\xf0\x9f\x8e\x89\xe4\xb8\xad\xe6\x96\x87");
	assert_int_equal(text.len, 9999 + 14);
	static const size_t expected[] = {9990, 9991, 9992, 9993, 9994, 9995, 9996, 9997, 9998, 9999, 9999,
		9999, 9999, 10003, 10003, 10003, 10003, 10007, 10007, 10007, 10010};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		size_t cut = utf8_truncate(text.data, text.len, 9990 + i);
		assert_int_equal(cut, expected[i]);
		assert_int_equal(utf8_valid_prefix(text.data, cut), cut);
	}
	buffer_release(&text);
}

static void truncation__of_invalid_bytes_ends(void **state)
{
	(void)state;
	assert_int_equal(utf8_truncate("\x80\x80\x80\x80\x80\x80\x80", 7, 5), 5);
	assert_int_equal(utf8_truncate("\x80\x80", 2, 1), 1);
	assert_int_equal(utf8_truncate("\xff\xff\xff", 3, 2), 2);
	/* A surrogate of three bytes (WTF-8) is kept whole too. */
	assert_int_equal(utf8_truncate("a\xed\xa0\xbd!", 5, 2), 1);
	assert_int_equal(utf8_truncate("a\xed\xa0\xbd!", 5, 4), 4);
}

static void assert_cleaned(const char *data, size_t len, const char *expected)
{
	struct buffer out = BUFFER_INIT(1000);
	utf8_add_clean(&out, data, len);
	assert_int_equal(buffer_error(&out), 0);
	assert_true(slice_is(buffer_slice(&out), expected));
	assert_int_equal(utf8_valid_prefix(out.data, out.len), out.len);
	buffer_release(&out);
}

#define R "\xef\xbf\xbd"

static void cleaning__one_replacement_for_each_fault(void **state)
{
	(void)state;
	assert_cleaned("", 0, "");
	assert_cleaned("caf\xc3\xa9", 5, "caf\xc3\xa9");
	assert_cleaned("a\xff"
		       "b",
		3, "a" R "b");
	assert_cleaned("a\xf0\x9f\x98"
		       "b",
		5, "a" R "b");			   /* one cut emoji */
	assert_cleaned("a\xf0\x9f\x98", 4, "a" R); /* … at the end */
	assert_cleaned("\xc0\xaf", 2, R R);	   /* overlong: no prefix of anything */
	assert_cleaned("\xe2\x82\xe2\x82\xac", 5, R "\xe2\x82\xac");
	assert_cleaned("x\xed\xa0\xbdy", 5, "x" R "y");	    /* a lone surrogate is one fault */
	assert_cleaned("\xed\xa0\xbd\xed\xb8\x80", 6, R R); /* a pair in six bytes is two */
	assert_cleaned("\xed\xa0", 2, R R);
	assert_cleaned("\xf4\x90\x80\x80", 4, R R R R);
	assert_cleaned("\xe4\xb8\xad\x80\xe6\x96\x87", 7, "\xe4\xb8\xad" R "\xe6\x96\x87");
}

static void line__of_what_fits_and_without_controls(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *line;
	} LINES[] = {
		{"", 5, ""},
		{"a\nb\tc\x7f" "d", 10, "a b c d"},
		{"caf\xc3\xa9s", 5, "caf\xc3\xa9"},
		{"caf\xc3\xa9s", 4, "caf"},
		{"\xff\xff\xff\xff", 4, R}, /* a replacement is longer than what it stands for */
		{"a\xff" "b", 4, "a" R},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
		struct buffer out = BUFFER_INIT(1000);
		buffer_add_text(&out, "\n: ");
		utf8_add_line(&out, LINES[i].text, strlen(LINES[i].text), LINES[i].max);
		assert_memory_equal(out.data, "\n: ", 3);
		assert_string_equal(out.data + 3, LINES[i].line);
		buffer_release(&out);
	}
}

static void columns__as_a_terminal_counts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t columns;
	} cases[] = {
		{"", 0}, {"hello", 5}, {"caf\xc3\xa9", 4}, {"cafe\xcc\x81", 4}, /* combining acute */
		{"\xe4\xb8\xad\xe6\x96\x87", 4},				/* Chinese */
		{"\xef\xbc\xa1", 2},						/* full-width A */
		{"\xf0\x9f\x98\x80", 2},					/* emoji */
		{"\xd9\x85\xd8\xb1", 2},					/* Arabic */
		{"a\xe2\x80\x8b"
		 "b",
			2}, /* zero-width space */
		{"a\xff"
		 "b",
			3},			 /* shown as U+FFFD */
		{"\xed\x95\x9c\xea\xb8\x80", 4}, /* Hangul */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(utf8_columns(cases[i].text, strlen(cases[i].text)), cases[i].columns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point__encodes_and_decodes),
		cmocka_unit_test(every_short_sequence__valid_iff_an_encoder_writes_it),
		cmocka_unit_test(invalid_sequences__refused),
		cmocka_unit_test(valid_prefix__ends_at_the_first_fault_wherever_it_is),
		cmocka_unit_test(valid_prefix__nul_bytes_are_text),
		cmocka_unit_test(truncation__never_inside_a_code_point),
		cmocka_unit_test(truncation__emoji_after_9999_bytes),
		cmocka_unit_test(truncation__of_invalid_bytes_ends),
		cmocka_unit_test(cleaning__one_replacement_for_each_fault),
		cmocka_unit_test(line__of_what_fits_and_without_controls),
		cmocka_unit_test(columns__as_a_terminal_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
