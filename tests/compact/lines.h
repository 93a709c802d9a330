/* SPDX-License-Identifier: MIT */
/* Conversations for the tests of this room, written shortly:
 *
 *	struct lines lines;
 *	lines_make(&lines, "u Do NOT push to main.", "a Understood.", "c run {\"command\":\"ls\"}", "t src", NULL);
 *
 * u: a person, a: the assistant, c NAME ARGUMENTS: the assistant calls a tool, t: its result, e: an error result,
 * i: text injected into a user message. Ids are m1, m2, … in order.
 */
#ifndef TESTS_COMPACT_LINES_H
#define TESTS_COMPACT_LINES_H

#include "compact/derive.h"
#include "transcript/path.h"

#define LINES_MAX 4096

struct lines {
	struct slice records[LINES_MAX];
	size_t count;
	struct array_path *array;
	const struct path *path;
	struct arena arena, scratch;
};

void lines_make(struct lines *lines, ...) __attribute__((sentinel));
void lines_begin(struct lines *lines);
void lines_add(struct lines *lines, const char *line);
void lines_end(struct lines *lines); /* builds the path; may follow further lines_add */
void lines_release(struct lines *lines);

/* The whole conversation as one input. */
struct derive_input lines_input(struct lines *lines);

#endif
