/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "support/fail.h"

/* The invariants (1) and (2) of buffer.h. */
static void check(const struct buffer *buffer)
{
	assert_true(buffer->len <= buffer->cap);
	assert_true(buffer->max == SIZE_MAX || buffer->cap <= buffer->max + 1);
	if (buffer->data)
		assert_int_equal(buffer->data[buffer->len], 0);
}

static void appends_of_every_kind__joined(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1000);
	buffer_add(&out, "ab\0c", 4);
	buffer_add_slice(&out, SLICE_LITERAL("|slice"));
	buffer_add_slice(&out, (struct slice){NULL, 0});
	buffer_add_text(&out, "|text|");
	buffer_add_text(&out, "");
	buffer_add_char(&out, 'x');
	buffer_addf(&out, "|%d %s", 42, "formatted");
	check(&out);
	assert_int_equal(buffer_error(&out), 0);
	assert_true(slice_equal(buffer_slice(&out), SLICE_LITERAL("ab\0c|slice|text|x|42 formatted")));
	buffer_release(&out);
	assert_null(out.data);
}

static void numbers__all_digits(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(1000);
	buffer_add_u64(&out, 0);
	buffer_add_char(&out, ' ');
	buffer_add_u64(&out, UINT64_MAX);
	buffer_add_char(&out, ' ');
	buffer_add_i64(&out, INT64_MIN);
	buffer_add_char(&out, ' ');
	buffer_add_i64(&out, INT64_MAX);
	buffer_add_char(&out, ' ');
	buffer_add_i64(&out, -1);
	assert_string_equal(out.data, "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
	buffer_release(&out);
}

static void full_to_the_last_byte__then_a_sticky_limit(void **state)
{
	(void)state;
	for (size_t max = 0; max < 200; max++) {
		struct buffer out;
		buffer_init(&out, max);
		for (size_t i = 0; i < max; i++) {
			buffer_add_char(&out, (char)('a' + i % 26));
			check(&out);
		}
		assert_int_equal(buffer_error(&out), 0);
		assert_int_equal(out.len, max);
		buffer_add_text(&out, ""); /* nothing is not too much */
		assert_int_equal(buffer_error(&out), 0);
		buffer_add_char(&out, '!');
		assert_int_equal(buffer_error(&out), BOBBIN_ELIMIT);
		buffer_truncate(&out, max / 2);
		buffer_add_char(&out, '!');
		assert_int_equal(out.len, max / 2); /* still failed */
		check(&out);
		buffer_clear(&out);
		buffer_add_text(&out, max ? "k" : "");
		assert_int_equal(buffer_error(&out), 0);
		assert_int_equal(out.len, max ? 1 : 0);
		buffer_release(&out);
	}
}

static void failed_append__last_good_content(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(10);
	buffer_add_text(&out, "12345");
	buffer_add_text(&out, "678901");
	assert_int_equal(buffer_error(&out), BOBBIN_ELIMIT);
	assert_string_equal(out.data, "12345");
	buffer_clear(&out);
	buffer_add_text(&out, "1234567");
	buffer_addf(&out, "%s", "8901");
	assert_int_equal(buffer_error(&out), BOBBIN_ELIMIT);
	assert_string_equal(out.data, "1234567");
	check(&out);
	buffer_clear(&out);
	buffer_add_text(&out, "1234567");
	buffer_add_i64(&out, -1234); /* not even the sign */
	assert_string_equal(out.data, "1234567");
	buffer_release(&out);
}

static void negative_number__fits_exactly(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(3);
	buffer_add_i64(&out, -12);
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, "-12");
	buffer_release(&out);
}

static void memory_out__sticky_and_content_kept(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(SIZE_MAX);
	fail_alloc_start(1);
	buffer_add_text(&out, "x");
	assert_int_equal(buffer_error(&out), BOBBIN_ENOMEM);
	assert_null(out.data);
	assert_true(slice_is(buffer_slice(&out), ""));
	assert_null(buffer_reserve(&out, 1));
	assert_null(buffer_take(&out, NULL));
	fail_alloc_stop();
	buffer_clear(&out);
	buffer_add_text(&out, "good");
	fail_alloc_start_from(1);
	buffer_addf(&out, "%500d", 1);
	assert_int_equal(buffer_error(&out), BOBBIN_ENOMEM);
	fail_alloc_stop();
	assert_string_equal(out.data, "good");
	buffer_addf(&out, "more");
	assert_string_equal(out.data, "good");
	check(&out);
	buffer_release(&out);
}

static void formatted__at_every_distance_from_the_capacity(void **state)
{
	(void)state;
	for (int before = 0; before < 140; before++) {
		struct buffer out = BUFFER_INIT(100000);
		for (int i = 0; i < before; i++)
			buffer_add_char(&out, '.');
		buffer_addf(&out, "%s-%d", "abc", 7);
		check(&out);
		assert_int_equal(out.len, before + 5);
		assert_string_equal(out.data + before, "abc-7");
		buffer_addf(&out, "%2000d", 3);
		assert_int_equal(out.len, before + 2005);
		check(&out);
		buffer_release(&out);
	}
}

static void formatted_nothing__in_an_empty_buffer(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(0);
	buffer_addf(&out, "%s", "");
	assert_int_equal(buffer_error(&out), 0);
	assert_true(slice_is(buffer_slice(&out), ""));
	buffer_release(&out);
}

static void huge_sizes__a_limit_not_an_overflow(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(SIZE_MAX);
	buffer_add_text(&out, "abc");
	assert_null(buffer_reserve(&out, SIZE_MAX - 3));
	assert_int_equal(buffer_error(&out), BOBBIN_ELIMIT);
	buffer_clear(&out);
	buffer_add_text(&out, "abc");
	assert_null(buffer_reserve(&out, SIZE_MAX));
	assert_int_equal(buffer_error(&out), BOBBIN_ELIMIT);
	buffer_release(&out);
}

static void reserved_room__filled_by_the_caller(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(300);
	buffer_add_text(&out, "ab");
	char *room = buffer_reserve(&out, 298);
	assert_ptr_equal(room, out.data + 2);
	memset(room, 'z', 298);
	out.len += 298; /* the NUL behind it is there already */
	check(&out);
	assert_null(buffer_reserve(&out, 1));
	buffer_release(&out);
}

static void taken__the_buffer_begins_anew(void **state)
{
	(void)state;
	struct buffer out = BUFFER_INIT(5);
	size_t len = 99;
	char *text = buffer_take(&out, &len);
	assert_string_equal(text, "");
	assert_int_equal(len, 0);
	mem_free(text);
	buffer_add_text(&out, "hello");
	text = buffer_take(&out, &len);
	assert_string_equal(text, "hello");
	assert_int_equal(len, 5);
	mem_free(text);
	assert_int_equal(out.max, 5);
	assert_null(out.data);
	buffer_add_text(&out, "too much");
	assert_null(buffer_take(&out, &len));
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_of_every_kind__joined),
		cmocka_unit_test(numbers__all_digits),
		cmocka_unit_test(full_to_the_last_byte__then_a_sticky_limit),
		cmocka_unit_test(failed_append__last_good_content),
		cmocka_unit_test(negative_number__fits_exactly),
		cmocka_unit_test(memory_out__sticky_and_content_kept),
		cmocka_unit_test(formatted__at_every_distance_from_the_capacity),
		cmocka_unit_test(formatted_nothing__in_an_empty_buffer),
		cmocka_unit_test(huge_sizes__a_limit_not_an_overflow),
		cmocka_unit_test(reserved_room__filled_by_the_caller),
		cmocka_unit_test(taken__the_buffer_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
