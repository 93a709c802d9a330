/* SPDX-License-Identifier: MIT */
/* Chooses between the variants of json_scan.h, and the portable one itself. */
#include <stdatomic.h>
#include "base/json_scan.h"

#define SCAN(name) name##_portable
#define SCAN_TARGET
#define SCAN_NAME "portable"
#define SCAN_PORTABLE
#include "base/json_scan_chars.inc"
#include "base/json_scan_check.inc"
#include "base/json_scan_skip.inc"

/* Any thread may choose first; they all choose the same. */
static _Atomic(const struct json_scan *) scan_current;

const struct json_scan *json_scan_best(void)
{
#ifdef __x86_64__
	bool bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		    __builtin_cpu_supports("popcnt");
	if (bits && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi"))
		return &json_scan_avx512;
	return bits && __builtin_cpu_supports("avx2") ? &json_scan_avx2 : &json_scan_sse2;
#else
	return &json_scan_portable;
#endif
}

const struct json_scan *json_scan_current(void)
{
	const struct json_scan *scan = atomic_load_explicit(&scan_current, memory_order_relaxed);
	if (scan == NULL) {
		scan = json_scan_best();
		atomic_store_explicit(&scan_current, scan, memory_order_relaxed);
	}
	return scan;
}

void json_scan_use(const struct json_scan *scan)
{
	atomic_store_explicit(&scan_current, scan, memory_order_relaxed);
}
