/* SPDX-License-Identifier: MIT */
/*
 * Which files a shell command touches, as far as its words tell: cat, sed -n, >, >>, tee, sed -i, rm, mv, cp,
 * touch, and patches in it. What a program does beyond that is not known.
 *
 * Invariants: (1) paths are spans of the command; (2) nothing is executed, expanded or guessed: words with $,
 * * or ` are left out.
 */
#ifndef COMPACT_RULES_SHELL_H
#define COMPACT_RULES_SHELL_H

#include <stdbool.h>
#include "base/slice.h"
#include "compact/record.h"

struct file_touch {
	struct slice path;
	enum item_state access; /* STATE_READ, STATE_MODIFIED, STATE_CREATED, STATE_DELETED */
};

typedef void file_touch_fn(void *context, const struct file_touch *touch);

void shell_files(struct slice command, file_touch_fn *touch, void *context);

/* The files of a patch: "*** Update File: p", "+++ b/p". */
void patch_files(struct slice patch, file_touch_fn *touch, void *context);

/* The name of the program that decides the exit code, without its folder: of "cd x && make test | tail"
 * "make". */
struct slice shell_program(struct slice command);

#endif
