/* SPDX-License-Identifier: MIT */
/* What the measures in C share: clocks, percentiles, numbers that are the same in each run. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>

uint64_t now_ns(void);
uint64_t processor_ns(void); /* of this process */
uint64_t *times_for(size_t runs); /* room for so many; without memory the program ends */
void sort_times(uint64_t *times, size_t count);
/* "NAME p50_us … p99_us …"; sorts them. */
void tell(const char *what, uint64_t *times, size_t count);
/* Begins with the same seed in each process, unless another is given (not 0). */
uint64_t next_random(void);
void seed_random(uint64_t with);

#endif
