/* SPDX-License-Identifier: MIT */
/*
 * Scratch directories and whole files for tests. What fails here is the test's own ground giving way: these
 * functions print the reason and abort, so no test needs to check them.
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#define SCRATCH_PATH_BYTES 512

/* A new empty directory under $TMPDIR or /tmp. */
void scratch_make(char ret_path[SCRATCH_PATH_BYTES]);
void scratch_remove(const char *path); /* with all that is in it; links are not followed */

/* "dir/name", in a place of its own for each of the last 8 calls. */
const char *scratch_path(const char *dir, const char *name);

/* The content, NUL-terminated, to be freed with free(); ret_len may be NULL. NULL only if there is no such
 * file. */
char *scratch_read(const char *dir, const char *name, size_t *ret_len);
void scratch_write(const char *dir, const char *name, const void *data, size_t len); /* replaces */
void scratch_append(const char *dir, const char *name, const void *data, size_t len);
void scratch_write_text(const char *dir, const char *name, const char *text);
bool scratch_exists(const char *dir, const char *name);

#endif
