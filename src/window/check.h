/* SPDX-License-Identifier: MIT */
/*
 * Is this body acceptable to a strict provider? Written from the dialects' rules alone and apart from the
 * renderers, so that each finds the other's mistakes; it knows no plan, no path and no log.
 *
 * Invariants: (1) any bytes can be checked; (2) a body without faults obeys every rule listed in README.md;
 * (3) faults come in the order of the body, at most `faults_max` of them, the rest counted.
 */
#ifndef WINDOW_CHECK_H
#define WINDOW_CHECK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct check_options {
	size_t body_bytes_max;	/* 0: the dialect's usual limit (32 MB for anthropic, 50 MB for the others) */
	size_t image_bytes_max; /* encoded bytes of one image; 0: the dialect's */
	size_t faults_max;	/* how many are kept; 0: LIMIT_FAULTS_REPORTED */
};

struct check_fault {
	const char *rule;    /* a stable word: "result_missing", "role_order", … */
	const char *where;   /* "messages[3].content[0]"; "" for the whole body */
	const char *message; /* what is wrong */
	const char *advice;  /* what to do */
	size_t offset;	     /* bytes from the start of the body */
	size_t len;	     /* bytes of the value that is wrong; 0: no single one */
};

struct check_faults {
	struct arena arena; /* owns the texts */
	struct check_fault *items;
	size_t count, cap;
	size_t total;
};

/*
 * 0 whether there are faults or not; BOBBIN_EUNSUPPORTED for an unknown dialect, BOBBIN_ENOMEM. Release the
 * faults after a 0; nothing is left after an error. `options` may be NULL. `error` only tells of these codes.
 */
int check_request(const char *dialect, struct slice body, const struct check_options *options,
	struct check_faults *ret_faults, struct bobbin_error *error);
void check_faults_release(struct check_faults *faults);

#endif
