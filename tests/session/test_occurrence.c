/* SPDX-License-Identifier: MIT */
/*
 * Occurrences of daily routines around every change of the clocks. What is right is worked out otherwise: the C library's local
 * time, minute by minute over nine days, says when each date's time of day is first shown or passed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <bobbin.h>
#include "support/fail.h"

#define MINUTE INT64_C(60)
#define DAY (24 * 60 * MINUTE)
#define SECOND_NS INT64_C(1000000000)
#define BEFORE (5 * DAY)
#define MINUTES ((BEFORE + 4 * DAY) / MINUTE)
#define DATES_MAX 16

static struct bobbin_error error;

/* What the clocks of a place show, minute by minute: dates as days since 1970 and minutes of the day. */
struct shown {
	int64_t from;
	int64_t date[MINUTES];
	int minute[MINUTES];
};

static int64_t day_number(const struct tm *local)
{
	struct tm utc = {.tm_year = local->tm_year, .tm_mon = local->tm_mon, .tm_mday = local->tm_mday};
	return timegm(&utc) / DAY;
}

static void look(struct shown *shown, int64_t from)
{
	shown->from = from;
	for (int64_t i = 0; i < MINUTES; i++) {
		time_t at = (time_t)(from + i * MINUTE);
		struct tm local;
		localtime_r(&at, &local);
		shown->date[i] = day_number(&local);
		shown->minute[i] = local.tm_hour * 60 + local.tm_min;
	}
}

/* The first minute at which the clocks show that time of that date, or a later one; -1: no such date was shown. */
static int64_t due(const struct shown *shown, int64_t date, int minute_of_day)
{
	int64_t first = -1;
	bool was = false;
	for (int64_t i = 0; i < MINUTES; i++) {
		was |= shown->date[i] == date;
		if (first < 0 && (shown->date[i] > date || (shown->date[i] == date && shown->minute[i] >= minute_of_day)))
			first = i;
	}
	return was ? first : -1;
}

static void check_one(const struct shown *shown, const char *zone, int minute_of_day, int64_t now)
{
	struct bobbin_schedule schedule = BOBBIN_SCHEDULE_INIT;
	struct bobbin_occurrence got;
	int64_t newest = -1, newest_date = 0, next = -1;
	char right[16];
	for (int64_t date = shown->date[0] + 1; date < shown->date[MINUTES - 1]; date++) {
		int64_t at = due(shown, date, minute_of_day);
		if (at >= 0 && at <= now)
			newest = at, newest_date = date;
		else if (at > now && next < 0)
			next = at;
	}
	assert_true(newest >= 0 && next >= 0);
	time_t midnight = (time_t)(newest_date * DAY);
	struct tm parts;
	gmtime_r(&midnight, &parts);
	strftime(right, sizeof(right), "%Y-%m-%d", &parts);
	schedule.routine = "r";
	schedule.zone = zone;
	schedule.hour = minute_of_day / 60;
	schedule.minute = minute_of_day % 60;
	schedule.missed = BOBBIN_MISSED_ONCE;
	int64_t now_ns = (shown->from + now * MINUTE) * SECOND_NS;
	int rc = bobbin_occurrence_at(&schedule, now_ns, &got, &error);
	if (rc != 1 || strcmp(got.date, right) != 0 || got.due_ns != (shown->from + newest * MINUTE) * SECOND_NS ||
		got.next_ns != (shown->from + next * MINUTE) * SECOND_NS)
		fail_msg("%s %02d:%02d at %lld: %d %s due %lld next %lld, right %s due %lld next %lld", zone, schedule.hour,
			schedule.minute, (long long)(now_ns / SECOND_NS), rc, got.date, (long long)(got.due_ns / SECOND_NS),
			(long long)(got.next_ns / SECOND_NS), right, (long long)(shown->from + newest * MINUTE),
			(long long)(shown->from + next * MINUTE));
}

static void check_around(const char *zone, int64_t change)
{
	static const int times[] = {0, 1, 29, 30, 60, 90, 119, 120, 135, 150, 179, 180, 181, 210, 720, 1380, 1410, 1439};
	static struct shown shown;
	look(&shown, change - BEFORE);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		int64_t middle = BEFORE / MINUTE;
		for (int64_t now = middle - 30 * 60; now < middle + 30 * 60; now += 47)
			check_one(&shown, zone, times[i], now);
		for (int64_t now = middle - 3; now <= middle + 3; now++)
			check_one(&shown, zone, times[i], now);
	}
}

static int32_t offset_at(int64_t at)
{
	time_t time = (time_t)at;
	struct tm local;
	localtime_r(&time, &local);
	return (int32_t)local.tm_gmtoff;
}

/* Every change of a zone's clocks in some years. */
static unsigned check_zone(const char *name, int from_year, int years)
{
	struct tm begin = {.tm_year = from_year - 1900, .tm_mday = 1};
	int64_t start = timegm(&begin), end = start + years * 366 * DAY;
	unsigned changes = 0;
	setenv("TZ", name, 1);
	tzset();
	for (int64_t at = start; at < end; at += 15 * MINUTE)
		if (offset_at(at) != offset_at(at + 15 * MINUTE)) {
			int64_t change = at;
			while (offset_at(change) == offset_at(at))
				change += MINUTE;
			check_around(name, change);
			changes++;
		}
	if (!changes)
		check_around(name, start + 100 * DAY);
	return changes;
}

static void x31_rules__one_occurrence_a_date_whatever_the_clocks_do(void **state)
{
	(void)state;
	static const char *const rules[] = {
		"CET-1CEST,M3.5.0,M10.5.0/3",	       /* an hour, both ways */
		"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", /* half an hour */
		"EST5EDT,M3.2.0,M11.1.0",
		"<-02>2<-01>,M3.5.0/-1,M10.5.0/0",     /* before midnight: the evening before, and midnight itself */
		"<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",    /* two hours */
		"<-03>3<-02>,M10.3.0/0,M2.3.0/0",      /* midnight is left out, 23:00 to 24:00 shown twice */
		"IST-1GMT0,M10.5.0,M3.5.0/1",	       /* summer time as the standard one */
		"<+0545>-5:45",
		"<+14>-14", "<-12>12",
	};
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		unsigned changes = check_zone(rules[i], 2026, 2);
		/* The C library knows no rule without a comma as one of bobbin's either way: a constant zone is a rule with <. */
		assert_true(changes == 0 || changes == 4);
	}
}

static void x31_zones__that_did_odd_things(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int year;
	} zones[] = {{"Europe/Berlin", 2026}, {"Australia/Lord_Howe", 2026}, {"America/St_Johns", 2010}, {"Pacific/Apia", 2011},
		{"Asia/Beirut", 2025}, {"Africa/Casablanca", 2026}, {"Antarctica/Troll", 2026}, {"America/Sao_Paulo", 2017},
		{"Asia/Kathmandu", 1986}, {"Asia/Pyongyang", 2018}, {"America/Caracas", 2007}, {"Pacific/Kwajalein", 1993}};
	unsigned changes = 0;
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		char path[96];
		snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", zones[i].name);
		if (access(path, R_OK) == 0)
			changes += check_zone(zones[i].name, zones[i].year, 1);
		else
			print_message("skipped: no %s here\n", zones[i].name);
	}
	print_message("%u changes of clocks\n", changes);
}

/* After days of downtime the newest alone is due, once; one that was left out is not asked for again later. */
static void x31_downtime__of_several_days(void **state)
{
	(void)state;
	struct bobbin_schedule schedule = BOBBIN_SCHEDULE_INIT;
	struct bobbin_occurrence got;
	const int64_t noon = INT64_C(1790000000) / DAY * DAY + 12 * 60 * MINUTE;
	schedule.routine = "digest";
	schedule.zone = "UTC";
	schedule.hour = 9;
	for (int days = 0; days < 10; days++) {
		char right[32];
		time_t today = (time_t)(noon + days * DAY);
		struct tm parts;
		gmtime_r(&today, &parts);
		strftime(right, sizeof(right), "digest:%Y-%m-%d", &parts);
		schedule.missed = BOBBIN_MISSED_ONCE;
		assert_int_equal(bobbin_occurrence_at(&schedule, today * SECOND_NS, &got, &error), 1);
		assert_string_equal(got.key, right);
		assert_int_equal(got.missed, 1);
		schedule.missed = BOBBIN_MISSED_SKIP;
		assert_int_equal(bobbin_occurrence_at(&schedule, today * SECOND_NS, &got, &error), 0);
		assert_string_equal(got.key, right);
		assert_int_equal(got.next_ns, (today + 21 * 60 * MINUTE) * SECOND_NS);
	}
}

static void failures__every_allocation(void **state)
{
	(void)state;
	struct bobbin_schedule schedule = BOBBIN_SCHEDULE_INIT;
	struct bobbin_occurrence got;
	schedule.routine = "digest";
	schedule.zone = access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0 ? "Europe/Berlin" : "CET-1CEST,M3.5.0,M10.5.0/3";
	for (uint64_t nth = 1;; nth++) {
		memset(&got, 0x5a, sizeof(got));
		fail_alloc_start(nth);
		int rc = bobbin_occurrence_at(&schedule, INT64_C(1790000000) * SECOND_NS, &got, &error);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_true(rc >= 0);
			break;
		}
		assert_int_equal(rc, BOBBIN_ENOMEM);
		assert_int_equal(got.date[0], 0x5a); /* results only on success */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x31_rules__one_occurrence_a_date_whatever_the_clocks_do),
		cmocka_unit_test(x31_zones__that_did_odd_things),
		cmocka_unit_test(x31_downtime__of_several_days),
		cmocka_unit_test(failures__every_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
