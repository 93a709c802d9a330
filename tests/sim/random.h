/* SPDX-License-Identifier: MIT */
/* Numbers that depend on a seed alone (SplitMix64), the same on every machine. */
#ifndef TESTS_SIM_RANDOM_H
#define TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
	uint64_t state;
};

static inline uint64_t sim_random_next(struct sim_random *random)
{
	uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
	return mixed ^ (mixed >> 31);
}

/* 0 … limit - 1; the slight bias of the remainder does not matter here. limit > 0. */
static inline uint32_t sim_random_below(struct sim_random *random, uint32_t limit)
{
	return (uint32_t)(sim_random_next(random) >> 32) % limit;
}

static inline bool sim_random_percent(struct sim_random *random, uint32_t percent)
{
	return sim_random_below(random, 100) < percent;
}

#endif
