/* SPDX-License-Identifier: MIT */
/*
 * The loops of the JSON module that touch every byte, once per instruction set: portable, SSE2, AVX2 and
 * AVX-512. The best one the processor has is chosen at run time; all of them give the same answers, down to
 * the offset of a fault (tests/base/test_json_scan.c runs them against each other).
 *
 * Invariants: (1) no byte outside [at, end) is read; (2) nothing is allocated.
 */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/limits.h"

/* One validation: the text goes in, the value or the fault comes out. */
struct json_check {
	const char *at;	   /* in: where the value may begin; out: after its last byte */
	const char *end;   /* in: the end of the text */
	const char *value; /* out: the first byte of the value */

	const char *fault;   /* out: the first byte that cannot be, or `end` if the text is cut off */
	const char *problem; /* out: what is wrong there */
	int code;	     /* out: 0, BOBBIN_EINPUT or BOBBIN_ELIMIT */

	const char *utf8_end; /* string bytes before this one are known to be valid UTF-8 */
	size_t utf8_step; /* how many bytes to look at next; doubles, so that little is looked at in vain */
	unsigned depth;
	uint64_t objects[LIMIT_JSON_DEPTH / 64]; /* a bit per level: object (1) or array (0) */
};

struct json_scan {
	const char *name;

	/* Validates the first value of the text. Returns check->code. */
	int (*check)(struct json_check *check);

	/* In validated text. `at` is after the opening quote; returns the byte after the closing one. */
	const char *(*skip_string)(const char *at, const char *end);
	/* In validated text. `at` is the opening bracket; returns the byte after its closing one. */
	const char *(*skip_container)(const char *at, const char *end);

	/* The first quote, backslash or control character, or `end`. */
	const char *(*find_special)(const char *at, const char *end);
	/* Copies up to the first backslash, or `end`; returns where that is. `to` has room for all of it. */
	const char *(*copy_plain)(char *to, const char *at, const char *end);
	/* The length of the longest prefix of whole, valid UTF-8 characters. */
	size_t (*utf8_prefix)(const char *at, size_t len);
};

extern const struct json_scan json_scan_portable;
#ifdef __x86_64__
extern const struct json_scan json_scan_sse2;
extern const struct json_scan json_scan_avx2;
extern const struct json_scan json_scan_avx512;
#endif

/* The best one for this processor. */
const struct json_scan *json_scan_best(void);

/* The one in use: the best, unless a test or a bench has chosen another. */
const struct json_scan *json_scan_current(void);
void json_scan_use(const struct json_scan *scan);

#endif
