/* SPDX-License-Identifier: MIT */
/* Time zones: what TZif data and rules say about an instant. Reading them is zone_read.c's. */
#include "base/zone.h"

#define DAY 86400
/* No clock is set further from UTC than this, so nothing before or after decides about an instant. */
#define REACH (2 * DAY)

/* ---- Dates ---- */

int64_t zone_day_number(int64_t year, int month, int day)
{
	/* Years that begin in March: the leap day is their last. */
	int64_t y = month > 2 ? year : year - 1;
	int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void zone_date_of(int64_t day_number, int64_t *ret_year, int *ret_month, int *ret_day)
{
	int64_t days = day_number + 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	*ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	*ret_year = year + era * 400 + (*ret_month <= 2);
}

static int64_t floor_day(int64_t time)
{
	return time >= 0 ? time / DAY : -((-time + DAY - 1) / DAY);
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t rule_day(const struct zone_day *day, int64_t year)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	if (day->form != 'M') {
		/* Jn counts from 1 and never the leap day, n counts from 0 and the leap day too. */
		int skipped = day->form == 'J' && is_leap(year) && day->day >= 60;
		return zone_day_number(year, 1, 1) + day->day + skipped - (day->form == 'J');
	}
	int64_t first = zone_day_number(year, day->month, 1);
	int weekday = (int)((first % 7 + 11) % 7); /* 1970 began on a Thursday */
	int64_t offset = (day->day - weekday + 7) % 7 + (day->week - 1) * 7;
	int length = lengths[day->month - 1] + (day->month == 2 && is_leap(year));
	while (offset >= length)
		offset -= 7;
	return first + offset;
}

/* ---- Rules ---- */

/* The two changes of a year, in UTC. */
static void rule_changes(const struct zone_rule *rule, int64_t year, int64_t *ret_begins, int64_t *ret_ends)
{
	*ret_begins = rule_day(&rule->begins, year) * DAY + rule->begins.second - rule->standard;
	*ret_ends = rule_day(&rule->ends, year) * DAY + rule->ends.second - rule->daylight;
}

static int64_t rule_year(const struct zone_rule *rule, int64_t time)
{
	int64_t year;
	int month, day;
	zone_date_of(floor_day(time + rule->standard), &year, &month, &day);
	return year;
}

static int32_t rule_offset(const struct zone_rule *rule, int64_t time)
{
	int64_t year, newest = INT64_MIN;
	bool daylight = false;
	if (!rule->summer)
		return rule->standard;
	/* The newest change at or before it decides; it may be one of the year before. */
	year = rule_year(rule, time);
	for (int64_t y = year - 1; y <= year + 1; y++) {
		int64_t begins, ends;
		rule_changes(rule, y, &begins, &ends);
		if (ends <= time && ends >= newest) {
			newest = ends;
			daylight = false;
		}
		if (begins <= time && begins >= newest) {
			newest = begins;
			daylight = true;
		}
	}
	return daylight ? rule->daylight : rule->standard;
}

static int64_t rule_next(const struct zone_rule *rule, int64_t time)
{
	int64_t next = ZONE_NEVER;
	if (!rule->given || !rule->summer)
		return next;
	int64_t year = rule_year(rule, time);
	for (int64_t y = year - 1; y <= year + 2; y++) {
		int64_t begins, ends;
		rule_changes(rule, y, &begins, &ends);
		if (begins > time && begins < next)
			next = begins;
		if (ends > time && ends < next)
			next = ends;
	}
	return next;
}

/* ---- Asking ---- */

/* How many changes are at or before it. */
static size_t changes_until(const struct zone *zone, int64_t time)
{
	size_t low = 0, high = zone->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (zone->changes[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int32_t zone_offset(const struct zone *zone, int64_t time)
{
	size_t past = changes_until(zone, time);
	if (past == zone->count && zone->rule.given)
		return rule_offset(&zone->rule, time);
	return past ? zone->offsets[past - 1] : zone->first;
}

int64_t zone_next_change(const struct zone *zone, int64_t time)
{
	size_t past = changes_until(zone, time);
	return past < zone->count ? zone->changes[past] : rule_next(&zone->rule, time);
}

int64_t zone_first(const struct zone *zone, int64_t local)
{
	int64_t from = local - REACH;
	for (;;) {
		int64_t wanted = local - zone_offset(zone, from);
		int64_t until = zone_next_change(zone, from);
		if (wanted < until)
			return wanted > from ? wanted : from;
		from = until;
	}
}
