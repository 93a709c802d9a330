/* SPDX-License-Identifier: MIT */
/*
 * A file as lines, read in pieces: the longest line decides how much memory it takes, not the file. Lines
 * over LIMIT_LINE_BYTES are stepped over and told without their bytes.
 */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/platform.h"
#include "store/index.h"

struct scan_line {
	const char *data; /* NULL: over LIMIT_LINE_BYTES */
	uint64_t length;  /* without the line break */
	uint64_t offset, line;
	bool terminated; /* false: the file ends here */
};

/* What a line's taker says. Negative codes and SCAN_STOP end the scan at once. */
enum { SCAN_TAKEN = 0, SCAN_PENDING = 1, SCAN_STOP = 2 };

struct scan {
	const struct platform *platform;
	int file;
	uint64_t end; /* bytes of the file to look at */
	int (*take)(void *data, const struct scan_line *line, struct bobbin_error *error);
	void *data;
};

/* From `position` on, which moves past every line taken. An unterminated last line that is SCAN_PENDING is
 * left for the next time. Returns 0, SCAN_STOP or an error. */
int scan_lines(const struct scan *scan, struct index_position *position, struct bobbin_error *error);

#endif
