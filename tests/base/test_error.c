/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/utf8.h"

static void set__code_and_message(void **state)
{
	(void)state;
	struct bobbin_error error = {.line = 7, .offset = 8};
	assert_int_equal(error_set(&error, BOBBIN_EINVAL, "bad id '%s' (%d)", "a b", 3), BOBBIN_EINVAL);
	assert_int_equal(error.code, BOBBIN_EINVAL);
	assert_string_equal(error.message, "bad id 'a b' (3)");
	assert_int_equal(error.line, 0);
	assert_int_equal(error.offset, 0);
}

static void set_at__line_and_offset(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	uint64_t far = UINT64_C(1) << 40;
	assert_int_equal(error_set_at(&error, BOBBIN_EINPUT, 812, far, "torn"), BOBBIN_EINPUT);
	assert_int_equal(error.line, 812);
	assert_int_equal(error.offset, far);
	assert_string_equal(error.message, "torn");
}

static void null_error__the_code_all_the_same(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, BOBBIN_EIO, "x"), BOBBIN_EIO);
	assert_int_equal(error_set_at(NULL, BOBBIN_EINPUT, 1, 2, "x"), BOBBIN_EINPUT);
	assert_int_equal(error_set_os(NULL, ENOSPC, "x"), BOBBIN_ENOSPC);
	error_prefix(NULL, "x");
}

static void operating_system_errors__mapped_and_described(void **state)
{
	(void)state;
	static const struct {
		int os_error, code;
		const char *message;
	} cases[] = {
		{ENOSPC, BOBBIN_ENOSPC, "cannot open a.jsonl: No space left on device"},
		{EDQUOT, BOBBIN_ENOSPC, "cannot open a.jsonl: Disk quota exceeded"},
		{ENOENT, BOBBIN_ENOTFOUND, "cannot open a.jsonl: No such file or directory"},
		{ENOMEM, BOBBIN_ENOMEM, "cannot open a.jsonl: Cannot allocate memory"},
		{ELOOP, BOBBIN_EREFUSED, "cannot open a.jsonl: Too many levels of symbolic links"},
		{EIO, BOBBIN_EIO, "cannot open a.jsonl: Input/output error"},
		{EACCES, BOBBIN_EIO, "cannot open a.jsonl: Permission denied"},
		{12345, BOBBIN_EIO, "cannot open a.jsonl: error 12345 of the operating system"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bobbin_error error = {0};
		assert_int_equal(
			error_set_os(&error, cases[i].os_error, "cannot open %s", "a.jsonl"), cases[i].code);
		assert_int_equal(error.code, cases[i].code);
		assert_string_equal(error.message, cases[i].message);
	}
}

static void prefix__keeps_code_line_and_offset(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	error_set_at(&error, BOBBIN_ECORRUPT, 3, 99, "crc is wrong");
	error_prefix(&error, "%s.jsonl:%d", "s-8f3a", 3);
	assert_string_equal(error.message, "s-8f3a.jsonl:3: crc is wrong");
	assert_int_equal(error.code, BOBBIN_ECORRUPT);
	assert_int_equal(error.line, 3);
	assert_int_equal(error.offset, 99);
}

static void own_message_as_argument__not_overwritten_while_read(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	error_set(&error, BOBBIN_EIO, "inner");
	error_set(&error, BOBBIN_EUNKNOWN, "outer(%s,%s)", error.message, error.message);
	assert_string_equal(error.message, "outer(inner,inner)");
}

static void long_message__cut_with_a_mark_at_a_code_point(void **state)
{
	(void)state;
	for (size_t ascii = 480; ascii < 500; ascii++) {
		char text[700];
		memset(text, 'a', ascii);
		size_t len = ascii;
		while (len < 600) {
			memcpy(text + len, "\xf0\x9f\x98\x80", 4); /* U+1F600 */
			len += 4;
		}
		text[len] = '\0';
		struct bobbin_error error = {0};
		error_set(&error, BOBBIN_EINPUT, "%s", text);
		size_t got = strlen(error.message);
		assert_true(got <= sizeof(error.message) - 1);
		assert_true(got > sizeof(error.message) - 1 - 4);
		assert_int_equal(utf8_valid_prefix(error.message, got), got);
		assert_string_equal(error.message + got - 3, "\xe2\x80\xa6");
		assert_memory_equal(error.message, text, got - 3);
	}
}

static void longest_message__not_cut(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	char text[sizeof(error.message) + 1];
	memset(text, 'x', sizeof(text));
	text[sizeof(error.message) - 1] = '\0';
	error_set(&error, BOBBIN_EINPUT, "%s", text);
	assert_string_equal(error.message, text);
	text[sizeof(error.message) - 1] = 'x';
	text[sizeof(error.message)] = '\0';
	error_set(&error, BOBBIN_EINPUT, "%s", text);
	assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
	assert_string_equal(error.message + sizeof(error.message) - 4, "\xe2\x80\xa6");
}

static void prefix_on_a_full_message__its_end_is_cut(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	error_set(&error, BOBBIN_EINPUT, "%495d", 1);
	error_prefix(&error, "file");
	assert_memory_equal(error.message, "file:      ", 10);
	assert_string_equal(error.message + 492, "\xe2\x80\xa6");
	error_prefix(&error, "%600d", 2);
	assert_string_equal(error.message + 492, "\xe2\x80\xa6");
}

static void hostile_bytes__nothing_for_a_terminal_to_act_on(void **state)
{
	(void)state;
	struct bobbin_error error = {0};
	error_set(&error, BOBBIN_EINPUT, "name '%s'", "a\x1b[2J\n\xff\xc3(\xed\xa0\x80\x7f\xc2\x9b\xc3\xa9");
	assert_string_equal(error.message, "name 'a?[2J?"
					   "??"
					   "(??????\xc3\xa9'");
}

static void every_code_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (int a = BOBBIN_ETIMEOUT; a <= 0; a++) {
		assert_string_not_equal(error_code_text(a), "unknown error");
		for (int b = a + 1; b <= 0; b++)
			assert_string_not_equal(error_code_text(a), error_code_text(b));
	}
	assert_string_equal(error_code_text(BOBBIN_ENOSPC), "disk full");
	assert_string_equal(error_code_text(1), "unknown error");
	assert_string_equal(error_code_text(-1000), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set__code_and_message),
		cmocka_unit_test(set_at__line_and_offset),
		cmocka_unit_test(null_error__the_code_all_the_same),
		cmocka_unit_test(operating_system_errors__mapped_and_described),
		cmocka_unit_test(prefix__keeps_code_line_and_offset),
		cmocka_unit_test(own_message_as_argument__not_overwritten_while_read),
		cmocka_unit_test(long_message__cut_with_a_mark_at_a_code_point),
		cmocka_unit_test(longest_message__not_cut),
		cmocka_unit_test(prefix_on_a_full_message__its_end_is_cut),
		cmocka_unit_test(hostile_bytes__nothing_for_a_terminal_to_act_on),
		cmocka_unit_test(every_code_has_a_text_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
