/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "base/id.h"
#include "base/limits.h"
#include "support/fail.h"

static void session_ids__allowed(void **state)
{
	(void)state;
	static const char *const good[] = {
		"s-8f3a", "a", "_", "0", "A-B_c-9", "blob", "blobs2", "Blobs", "m1"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(id_is_session(slice_of(good[i])));
}

static void session_ids__refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "-a", ".", "..", ".cache", "a.b", "a/b", "../x", "a b", "blobs",
		"caf\xc3\xa9", "a\n", "a:b", "a\\b", "*", "a%"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(id_is_session(slice_of(bad[i])));
	assert_false(id_is_session((struct slice){"a\0b", 3}));
	assert_false(id_is_session((struct slice){"a\0", 2}));
	assert_false(id_is_session((struct slice){NULL, 0}));
}

/* Every byte in both places: exactly the 63 and the 64 that the rule names. */
static void session_ids__every_byte(void **state)
{
	(void)state;
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	for (int byte = 0; byte < 256; byte++) {
		char id[2] = {(char)byte, 'x'};
		bool allowed = byte && strchr(first, byte);
		assert_int_equal(id_is_session((struct slice){id, 2}), allowed);
		id[0] = 'x';
		id[1] = (char)byte;
		assert_int_equal(id_is_session((struct slice){id, 2}), allowed || byte == '-');
	}
}

static void session_ids__length(void **state)
{
	(void)state;
	char id[65];
	memset(id, 'a', sizeof(id));
	assert_true(id_is_session((struct slice){id, 64}));
	assert_false(id_is_session((struct slice){id, 65}));
}

static void message_ids__text_without_controls(void **state)
{
	(void)state;
	char id[257];
	memset(id, 'a', sizeof(id));
	assert_true(id_is_message((struct slice){id, 256}));
	assert_false(id_is_message((struct slice){id, 257}));
	assert_false(id_is_message((struct slice){id, 0}));
	assert_true(id_is_message(slice_of("01J/K:L m=\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80")));
	assert_true(id_is_message(slice_of("m1"))); /* reserved, but well formed */
	assert_true(id_is_message(slice_of("\xc2\xa0")));
	assert_false(id_is_message(slice_of("a\x1f")));
	assert_false(id_is_message(slice_of("\x7f")));
	assert_false(id_is_message(slice_of("a\xc2\x85")));
	assert_false(id_is_message(slice_of("a\xc2\x9f")));
	assert_false(id_is_message(slice_of("a\xff")));
	assert_false(id_is_message(slice_of("\xed\xa0\x80")));
	assert_false(id_is_message(slice_of("\xe4\xb8")));
	assert_false(id_is_message((struct slice){"a\0b", 3}));
}

static void reserved_ids__m_and_a_number(void **state)
{
	(void)state;
	static const char *const reserved[] = {
		"m1", "m9", "m10", "m18446744073709551616", "m1000000000000000000000000"};
	static const char *const free_to_use[] = {"", "m", "m0", "m01", "M1", "m1a", "am1", "m-1", "m1 ",
		" m1", "m+1", "1", "m\xd9\xa1", "mm1"};
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		assert_true(id_is_reserved(slice_of(reserved[i])));
	for (size_t i = 0; i < sizeof(free_to_use) / sizeof(free_to_use[0]); i++)
		assert_false(id_is_reserved(slice_of(free_to_use[i])));
	assert_false(id_is_reserved((struct slice){"m1\0", 3}));
	assert_true(id_is_reserved((struct slice){"m12x", 3}));
}

static void new_session_id__well_formed_and_fresh(void **state)
{
	(void)state;
	char ids[200][ID_SESSION_NEW_BYTES];
	bool seen[256] = {false};
	int different = 0;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(id_new_session(platform_default(), ids[i]), 0);
		assert_int_equal(strlen(ids[i]), 12);
		assert_memory_equal(ids[i], "s-", 2);
		assert_int_equal(strspn(ids[i] + 2, "0123456789abcdefghjkmnpqrstvwxyz"), 10);
		assert_true(id_is_session(slice_of(ids[i])));
		for (int before = 0; before < i; before++)
			assert_string_not_equal(ids[before], ids[i]);
		for (int k = 2; k < 12; k++) {
			different += !seen[(uint8_t)ids[i][k]];
			seen[(uint8_t)ids[i][k]] = true;
		}
	}
	assert_int_equal(different, 32); /* of 2,000 digits one is missing once in 10^25 runs */
}

static void new_session_id__same_randomness_same_id(void **state)
{
	(void)state;
	struct fail_platform world;
	char first[ID_SESSION_NEW_BYTES], again[ID_SESSION_NEW_BYTES], other[ID_SESSION_NEW_BYTES];
	fail_platform_init(&world);
	fail_platform_set_random(&world, 42);
	assert_int_equal(id_new_session(&world.table, first), 0);
	assert_int_equal(id_new_session(&world.table, other), 0);
	fail_platform_set_random(&world, 42);
	assert_int_equal(id_new_session(&world.table, again), 0);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
}

static void new_session_id__no_randomness_no_id(void **state)
{
	(void)state;
	struct fail_platform world;
	char id[ID_SESSION_NEW_BYTES] = "untouched";
	fail_platform_init(&world);
	fail_platform_plan(&world, CALL_RANDOM, 1, EIO);
	assert_int_equal(id_new_session(&world.table, id), BOBBIN_EIO);
	assert_string_equal(id, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_ids__allowed),
		cmocka_unit_test(session_ids__refused),
		cmocka_unit_test(session_ids__every_byte),
		cmocka_unit_test(session_ids__length),
		cmocka_unit_test(message_ids__text_without_controls),
		cmocka_unit_test(reserved_ids__m_and_a_number),
		cmocka_unit_test(new_session_id__well_formed_and_fresh),
		cmocka_unit_test(new_session_id__same_randomness_same_id),
		cmocka_unit_test(new_session_id__no_randomness_no_id),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
