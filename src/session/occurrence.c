/* SPDX-License-Identifier: MIT */
/*
 * When a daily routine is due, as a key that is the same for everybody who asks: the routine and its local
 * date. Nothing is stored: who has done it already, the journal of actions knows.
 *
 * Invariants: (1) a date that has an instant has one occurrence, also where the clocks leave out the time of
 * day (then at the moment they change) or show it twice (then the first time); (2) two who ask between the
 * same two occurrences get the same key; (3) of several missed ones only the newest is ever due.
 */
#include "base/zone.h"
#include "session/handles.h"

#include <stdio.h>

#define SECOND INT64_C(1000000000)
#define DAY_SECONDS 86400
#define GRACE_MINUTES 15
#define DAYS_BACK 3 /* no more than one date in a row is left out anywhere, and none of late */
#define SECONDS_MAX (INT64_MAX / SECOND - 400 * DAY_SECONDS)

/* When the routine of a local date is due; false if the clocks left that whole date out. */
static bool due_on(const struct zone *zone, int64_t date, int minute_of_day, int64_t *ret_due)
{
	int64_t midnight = zone_first(zone, date * DAY_SECONDS);
	if (midnight + zone_offset(zone, midnight) >= (date + 1) * DAY_SECONDS)
		return false;
	*ret_due = zone_first(zone, date * DAY_SECONDS + minute_of_day * 60);
	return true;
}

/* The newest occurrence that is due at `now`, and the first after it. */
static bool find(const struct zone *zone, int64_t now, int minute_of_day, int64_t *ret_date, int64_t *ret_due,
	int64_t *ret_next)
{
	int64_t local = now + zone_offset(zone, now), today = local / DAY_SECONDS - (local < 0), due;
	bool found = false;
	*ret_next = INT64_MAX;
	/* Near midnight a change of the clocks can put the occurrence of a date onto the next or the previous
	 * one. */
	for (int64_t date = today - DAYS_BACK; date <= today + DAYS_BACK; date++) {
		if (!due_on(zone, date, minute_of_day, &due))
			continue;
		if (due > now) {
			*ret_next = due;
			break;
		}
		*ret_date = date;
		*ret_due = due;
		found = true;
	}
	return found;
}

static bool is_routine_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;
	if (!len || len > BOBBIN_ROUTINE_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
			return false;
	return true;
}

static int check(const struct bobbin_schedule *schedule, struct bobbin_error *error)
{
	if (!is_routine_name(schedule->routine))
		return error_set(error, BOBBIN_EINVAL, "a routine has a name of 1 to %d bytes without blanks",
			BOBBIN_ROUTINE_BYTES);
	if (schedule->hour < 0 || schedule->hour > 23 || schedule->minute < 0 || schedule->minute > 59)
		return error_set(
			error, BOBBIN_EINVAL, "%d:%02d is no time of day", schedule->hour, schedule->minute);
	if (!schedule->zone || schedule->grace_minutes < -1)
		return error_set(error, BOBBIN_EINVAL, "%s",
			schedule->zone ? "the grace is a number of minutes"
				       : "in which time zone? Europe/Berlin, UTC");
	return 0;
}

int bobbin_occurrence_at(const struct bobbin_schedule *schedule, int64_t now_ns,
	struct bobbin_occurrence *ret_occurrence, struct bobbin_error *error)
{
	const struct platform *platform = platform_default();
	struct bobbin_schedule all = BOBBIN_SCHEDULE_INIT;
	struct arena arena = ARENA_INIT;
	struct zone zone;
	int64_t date = 0, due = 0, next, year, now;
	int month, day;
	if (!schedule || !ret_occurrence)
		return error_set(error, BOBBIN_EINVAL, "an occurrence needs a schedule");
	memcpy(&all, schedule, schedule->size < sizeof(all) ? schedule->size : sizeof(all));
	int rc = check(&all, error);
	if (rc < 0)
		return rc;
	now = (now_ns ? now_ns : platform->realtime_ns(platform->context)) / SECOND;
	if (now < 0 || now > SECONDS_MAX)
		return error_set(error, BOBBIN_EINVAL, "times are from 1970 to about 2260");
	rc = zone_open(platform, all.zone, &arena, &zone, error);
	bool found = !rc && find(&zone, now, all.hour * 60 + all.minute, &date, &due, &next);
	arena_release(&arena);
	if (rc < 0)
		return rc;
	if (!found)
		return error_set(error, BOBBIN_EINVAL, "no occurrence is near that time");
	struct bobbin_occurrence *out = ret_occurrence;
	zone_date_of(date, &year, &month, &day);
	snprintf(out->date, sizeof(out->date), "%04d-%02d-%02d", (int)(year % 10000), month, day);
	snprintf(out->key, sizeof(out->key), "%s:%s", all.routine, out->date);
	int64_t grace = all.grace_minutes < 0 ? GRACE_MINUTES : all.grace_minutes;
	out->due_ns = due * SECOND;
	out->next_ns = next == INT64_MAX ? 0 : next * SECOND;
	out->missed = now - due > grace * 60;
	return !out->missed || all.missed == BOBBIN_MISSED_ONCE;
}
