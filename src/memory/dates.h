/* SPDX-License-Identifier: MIT */
/* Calendar days in UTC, and the dates that a text names. */
#ifndef MEMORY_DATES_H
#define MEMORY_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_DAY INT64_C(86400000000000)

struct day {
	int year, month, day; /* 0: not said */
};

struct day day_of(int64_t time_ns);
int64_t day_start(struct day day); /* in ns since 1970; all three members said, in 1 to 9999 */
int weekday_of(struct day day);	   /* 0: Monday */

/* The dates in a folded text, "7 may 2023", "may 2023", "2023 05 07", "2023"; at most `max`. */
size_t dates_find(const char *folded, struct day *ret_days, size_t max);

#endif
