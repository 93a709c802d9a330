/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t processor_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t *times_for(size_t runs)
{
	uint64_t *times = calloc(runs ? runs : 1, sizeof(*times));
	if (!times)
		exit(1);
	return times;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

void sort_times(uint64_t *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare);
}

void tell(const char *what, uint64_t *times, size_t count)
{
	sort_times(times, count);
	printf("%s p50_us %.1f p99_us %.1f\n", what, (double)times[count / 2] / 1e3, (double)times[count * 99 / 100] / 1e3);
}

static uint64_t seed = 0x9e3779b97f4a7c15u;

void seed_random(uint64_t with)
{
	seed = with;
}

uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}
