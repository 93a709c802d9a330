/* SPDX-License-Identifier: MIT */
/* Times are worked out by hand; the zones are rules and files made here, so no tzdata is needed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/zone.h"
#include "support/failure.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define HOUR 3600

static int64_t at(int year, int month, int day, int hour, int minute)
{
	return zone_day_number(year, month, day) * 86400 + hour * HOUR + minute * 60;
}

static struct zone rule(const char *text)
{
	struct zone zone;
	assert_int_equal(zone_parse_rule(slice_of(text), &zone, NULL), 0);
	return zone;
}

static void dates__there_and_back(void **state)
{
	(void)state;
	assert_int_equal(zone_day_number(1970, 1, 1), 0);
	assert_int_equal(zone_day_number(2000, 3, 1), 11017);
	assert_int_equal(zone_day_number(1969, 12, 31), -1);
	for (int64_t day = -200000; day < 200000; day += 37) {
		int64_t year;
		int month, of_month;
		zone_date_of(day, &year, &month, &of_month);
		assert_int_equal(zone_day_number(year, month, of_month), day);
	}
}

static void rules__both_changes_of_a_year(void **state)
{
	(void)state;
	struct zone zone = rule(BERLIN);
	int64_t spring = at(2026, 3, 29, 1, 0), autumn = at(2026, 10, 25, 1, 0);
	assert_int_equal(zone_offset(&zone, spring - 1), HOUR);
	assert_int_equal(zone_offset(&zone, spring), 2 * HOUR);
	assert_int_equal(zone_offset(&zone, autumn - 1), 2 * HOUR);
	assert_int_equal(zone_offset(&zone, autumn), HOUR);
	assert_int_equal(zone_next_change(&zone, spring - 1), spring);
	assert_int_equal(zone_next_change(&zone, spring), autumn);
	assert_int_equal(zone_next_change(&zone, autumn), at(2027, 3, 28, 1, 0));
}

/* South of the equator summer lies over the turn of the year; a day before the first or after the last has
 * one too. */
static void rules__forms(void **state)
{
	(void)state;
	struct zone sydney = rule("AEST-10AEDT,M10.1.0,M4.1.0/3");
	assert_int_equal(zone_offset(&sydney, at(2026, 1, 1, 0, 0)), 11 * HOUR);
	assert_int_equal(zone_offset(&sydney, at(2026, 4, 4, 15, 59)), 11 * HOUR);
	assert_int_equal(zone_offset(&sydney, at(2026, 4, 4, 16, 0)), 10 * HOUR);
	struct zone iran = rule("<+0330>-3:30<+0430>,J79/24,J263/24");
	assert_int_equal(zone_offset(&iran, at(2024, 3, 20, 20, 29)), 3 * HOUR + 1800);
	assert_int_equal(zone_offset(&iran, at(2024, 3, 20, 20, 30)), 4 * HOUR + 1800);
	assert_int_equal(zone_offset(&iran, at(2023, 3, 20, 20, 30)), 4 * HOUR + 1800);
	struct zone godthab = rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0");
	assert_int_equal(zone_offset(&godthab, at(2026, 3, 29, 0, 59)), -2 * HOUR);
	assert_int_equal(zone_offset(&godthab, at(2026, 3, 29, 1, 0)), -HOUR);
	struct zone from_zero = rule("AAA0BBB,59/0,100/0");
	assert_int_equal(zone_next_change(&from_zero, at(2024, 1, 1, 0, 0)), at(2024, 2, 29, 0, 0));
	struct zone fixed = rule("JST-9");
	assert_int_equal(zone_offset(&fixed, at(2026, 7, 1, 0, 0)), 9 * HOUR);
	assert_true(zone_next_change(&fixed, 0) == ZONE_NEVER);
}

static void rules__refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "CE-1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0",
		"CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,M3.5.0,M10.5.0x", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,J0,J5",
		"CET-1CEST,366,5", "<CET-1", "CET-1:60", "CET-99999999999999"};
	struct zone zone;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(zone_parse_rule(slice_of(bad[i]), &zone, NULL), BOBBIN_EINPUT);
}

static void first__missing_and_twice(void **state)
{
	(void)state;
	struct zone zone = rule(BERLIN);
	assert_int_equal(zone_first(&zone, at(2026, 3, 29, 1, 30)), at(2026, 3, 29, 0, 30));
	assert_int_equal(
		zone_first(&zone, at(2026, 3, 29, 2, 30)), at(2026, 3, 29, 1, 0)); /* missing: the change */
	assert_int_equal(zone_first(&zone, at(2026, 3, 29, 3, 0)), at(2026, 3, 29, 1, 0));
	assert_int_equal(
		zone_first(&zone, at(2026, 10, 25, 2, 30)), at(2026, 10, 25, 0, 30)); /* twice: the first */
	assert_int_equal(zone_first(&zone, at(2026, 10, 25, 3, 30)), at(2026, 10, 25, 2, 30));
}

/* ---- Files ---- */

static void put(char *data, size_t *len, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		data[(*len)++] = (char)(value >> (8 * (bytes - 1 - i)));
}

static void put_header(char *data, size_t *len, uint32_t changes, uint32_t types)
{
	memcpy(data + *len, "TZif2", 5);
	memset(data + *len + 5, 0, 15);
	*len += 20;
	const uint32_t counts[] = {0, 0, 0, changes, types, 4};
	for (size_t i = 0; i < 6; i++)
		put(data, len, counts[i], 4);
}

static void put_types(char *data, size_t *len, uint32_t types)
{
	for (uint32_t i = 0; i < types; i++) {
		put(data, len, i ? 2 * HOUR : HOUR, 4);
		put(data, len, 0, 2);
	}
	put(data, len, 0x41414100, 4);
}

/* One hour east; from 1000 two, from 2000 one again; from then on by the rule. */
static size_t make_file(char *data)
{
	size_t len = 0;
	put_header(data, &len, 0, 1);
	put_types(data, &len, 1);
	put_header(data, &len, 2, 2);
	put(data, &len, 1000, 8);
	put(data, &len, 2000, 8);
	put(data, &len, 1, 1);
	put(data, &len, 0, 1);
	put_types(data, &len, 2);
	memcpy(data + len, "\n" BERLIN "\n", sizeof(BERLIN) + 1);
	return len + sizeof(BERLIN) + 1;
}

static void files__read(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct zone zone;
	char data[512];
	size_t len = make_file(data);
	assert_int_equal(zone_parse((struct slice){data, len}, &arena, &zone, NULL), 0);
	assert_int_equal(zone_offset(&zone, INT64_MIN), HOUR);
	assert_int_equal(zone_offset(&zone, 999), HOUR);
	assert_int_equal(zone_offset(&zone, 1000), 2 * HOUR);
	assert_int_equal(zone_offset(&zone, 2000), HOUR);
	assert_int_equal(zone_offset(&zone, at(2026, 7, 1, 0, 0)), 2 * HOUR);
	assert_int_equal(zone_next_change(&zone, 0), 1000);
	arena_release(&arena);
}

/* Cut anywhere, or with any byte changed: an error or a zone that answers, never a read outside. */
static void files__damaged(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct zone zone;
	char data[512], broken[512];
	size_t len = make_file(data);
	for (size_t cut = 0; cut < len; cut++) {
		char *exact = malloc(cut ? cut : 1); /* at the end of its block: reading on is seen */
		memcpy(exact, data, cut);
		assert_int_equal(zone_parse((struct slice){exact, cut}, &arena, &zone, NULL), BOBBIN_EINPUT);
		free(exact);
	}
	for (size_t i = 0; i < len; i++)
		for (int flip = 1; flip < 256; flip += 7) {
			memcpy(broken, data, len);
			broken[i] = (char)(broken[i] ^ flip);
			if (zone_parse((struct slice){broken, len}, &arena, &zone, NULL) == 0) {
				int32_t offset = zone_offset(&zone, at(2026, 7, 1, 0, 0));
				assert_true(offset > -26 * HOUR && offset < 26 * HOUR);
			}
		}
	arena_release(&arena);
}

static void failures__every_call_and_allocation(void **state)
{
	(void)state;
	static const char name[] = "Europe/Berlin";
	struct fail_platform world;
	struct arena arena = ARENA_INIT;
	struct zone zone;
	char data[512];
	size_t len = make_file(data);
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = zone_parse((struct slice){data, len}, &arena, &zone, NULL);
		arena_release(&arena);
		if (failure_were_all_tried(rc))
			break;
	}
	fail_platform_init(&world);
	if (zone_open(&world.table, name, &arena, &zone, NULL) == BOBBIN_ENOTFOUND) {
		print_message("skipped: no %s here\n", name);
		return;
	}
	uint64_t calls = world.calls[CALL_ANY];
	for (uint64_t nth = 1; nth <= calls; nth++) {
		fail_platform_init(&world);
		fail_platform_plan(&world, CALL_ANY, nth, EIO);
		int rc = zone_open(&world.table, name, &arena, &zone, NULL);
		assert_int_equal(world.open_files, 0);
		/* What was read whole does not need the file any more. */
		assert_int_equal(rc, nth == calls ? 0 : BOBBIN_EIO);
	}
	assert_true(calls > 2);
	arena_release(&arena);
}

static void names__that_lead_out_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "/etc/passwd", "../passwd", "Europe/../../etc/passwd",
		"Europe//Berlin", "Europe/", ".", "Europe/.x", "a\nb"};
	struct arena arena = ARENA_INIT;
	struct zone zone;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(zone_open(platform_default(), bad[i], &arena, &zone, NULL), BOBBIN_EINPUT);
	assert_int_equal(
		zone_open(platform_default(), "Nowhere/Atall", &arena, &zone, NULL), BOBBIN_ENOTFOUND);
	assert_int_equal(zone_open(platform_default(), "UTC", &arena, &zone, NULL), 0);
	assert_int_equal(zone_offset(&zone, 0), 0);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates__there_and_back),
		cmocka_unit_test(rules__both_changes_of_a_year),
		cmocka_unit_test(rules__forms),
		cmocka_unit_test(rules__refused),
		cmocka_unit_test(first__missing_and_twice),
		cmocka_unit_test(files__read),
		cmocka_unit_test(files__damaged),
		cmocka_unit_test(failures__every_call_and_allocation),
		cmocka_unit_test(names__that_lead_out_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
