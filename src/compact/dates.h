/* SPDX-License-Identifier: MIT */
/*
 * Dates as people write them: 2031-04-09, 9.4.2031, April 9th, 2031, 9 de abril de 2031, 2031年4月9日. Of
 * 4/9/2031 both readings count as the same date when it is looked for; read, it is month/day unless only
 * day/month is possible.
 */
#ifndef COMPACT_DATES_H
#define COMPACT_DATES_H

#include <stdint.h>
#include "base/arena.h"
#include "base/slice.h"

/* A whole date (day, month, year) at the start of `text`: the bytes read; 0: none. */
size_t date_read(struct slice text, uint16_t *ret_year, uint8_t *ret_month, uint8_t *ret_day);

/* Calls `add` with each spelling; memory is the arena's. BOBBIN_ENOMEM or what `add` returned. */
int date_spellings(uint16_t year, uint8_t month, uint8_t day, struct arena *arena,
	int (*add)(void *context, struct slice spelling, bool number), void *context);

#endif
