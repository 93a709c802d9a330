/* SPDX-License-Identifier: MIT */
/*
 * Time zones: how far the clocks of a place are from UTC at an instant. Zones are read from the system's TZif files
 * (RFC 8536) and not through the C library, whose zone belongs to the whole process.
 *
 * Invariants: (1) a zone that was read answers for every instant: before the first change by its first local time, after the
 * last by its rule (the file's footer) or the last local time; (2) a damaged file is an error, never a wrong zone: every
 * count, index and order is checked; (3) offsets are less than 26 hours; (4) a zone is only read from once it is made.
 *
 * Times are seconds since 1970, UTC; offsets are seconds east of UTC.
 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/platform.h"
#include "base/slice.h"

#define ZONE_FOLDER "/usr/share/zoneinfo"
#define ZONE_NEVER INT64_MAX

/* A day of each year on which the clocks change: of the forms Mm.w.d, Jn and n of POSIX. */
struct zone_day {
	char form;	       /* 'M', 'J', or '0' for n */
	int month, week, day;  /* week 5: the last; day: 0 Sunday, or the number of Jn and n */
	int32_t second;	       /* of that day, on the clock before the change; may be negative or beyond it */
};

struct zone_rule {
	bool given, summer;	 /* summer: the two below count */
	int32_t standard, daylight; /* offsets */
	struct zone_day begins, ends; /* of daylight time */
};

struct zone {
	const int64_t *changes; /* rising, in the arena */
	const int32_t *offsets; /* from changes[i] on */
	size_t count;
	int32_t first; /* before all changes */
	struct zone_rule rule;
};

/* A TZif file's bytes. BOBBIN_EINPUT, BOBBIN_ENOMEM. */
int zone_parse(struct slice data, struct arena *arena, struct zone *ret_zone, struct bobbin_error *error);
/* A rule alone: "CET-1CEST,M3.5.0,M10.5.0/3". BOBBIN_EINPUT. */
int zone_parse_rule(struct slice text, struct zone *ret_zone, struct bobbin_error *error);
/* "Europe/Berlin" from ZONE_FOLDER, "UTC", or a rule (it has a comma, or begins with <). BOBBIN_ENOTFOUND, BOBBIN_EINPUT,
 * BOBBIN_EIO, BOBBIN_ENOMEM. */
int zone_open(const struct platform *platform, const char *name, struct arena *arena, struct zone *ret_zone,
	struct bobbin_error *error);

int32_t zone_offset(const struct zone *zone, int64_t time);
/* The first instant after `time` at which the offset may become another one; ZONE_NEVER. */
int64_t zone_next_change(const struct zone *zone, int64_t time);
/* The first instant at which the clocks show `local` (seconds since 1970 as if local time were UTC) or later: the
 * first of two when they are set back over it, the moment of the change when they are set forward over it. */
int64_t zone_first(const struct zone *zone, int64_t local);

/* Days since 1970 of a date, and back; proleptic Gregorian. */
int64_t zone_day_number(int64_t year, int month, int day);
void zone_date_of(int64_t day_number, int64_t *ret_year, int *ret_month, int *ret_day);

#endif
