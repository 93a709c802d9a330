/* SPDX-License-Identifier: MIT */
/*
 * Conversations for tests of the window: records written line by line, planned, rendered and checked in one
 * go.
 *
 *	struct scene scene = SCENE_INIT;
 *	scene_user(&scene, "hello");
 *	scene_calls(&scene, "", "c1", NULL);
 *	scene_result(&scene, "c1", "a.txt");
 *	…
 *	scene_plan(&scene, &options);          // fails the test if it cannot be planned
 *	const char *body = scene_render(&scene, DIALECT_ANTHROPIC);   // checked: a fault fails the test
 *	scene_end(&scene);
 */
#ifndef TESTS_WINDOW_SCENE_H
#define TESTS_WINDOW_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "window/check.h"
#include "window/render.h"
#include "window/window.h"

struct scene {
	char **lines;
	struct slice *records;
	size_t count, cap;

	struct array_path *array; /* made by the first plan */
	struct path path;	  /* counts what is asked of it */
	const struct path *inner;
	uint64_t items_asked, messages_read;

	struct window_budget budget;
	struct window_plan plan;
	struct window_fixed fixed;
	const struct window_record *record; /* may be set */
	struct render_report report;
	const char *system, *tools, *injected; /* NULL: none */
	struct buffer body;
	char *texts[8]; /* scratch of scene_text */
	size_t next_text;
};
#define SCENE_INIT                                                                                           \
	{                                                                                                    \
		.body = BUFFER_INIT(LIMIT_REQUEST_BYTES)                                                     \
	}

/* One JSON record. */
void scene_line(struct scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));
void scene_user(struct scene *scene, const char *text);
void scene_assistant(struct scene *scene, const char *text);
/* An assistant message that calls: ids, NULL-terminated. */
void scene_calls(struct scene *scene, const char *text, ...) __attribute__((sentinel));
void scene_result(struct scene *scene, const char *call_id, const char *text);
/* A text of about so many tokens that begins with `label`; lives for 8 more calls. */
const char *scene_text(struct scene *scene, const char *label, size_t tokens);

/* Budget and plan. The code is that of the plan; asserts nothing. */
int scene_try(struct scene *scene, const struct window_options *options, struct bobbin_error *error);
/* The same, and it must succeed. */
void scene_plan(struct scene *scene, const struct window_options *options);
/* The body, which must be without faults. Lives until the next call. */
const char *scene_render(struct scene *scene, enum dialect dialect);
/* Renders without checking. */
int scene_render_raw(struct scene *scene, enum dialect dialect, struct bobbin_error *error);
/* All three, one after the other. */
void scene_render_all(struct scene *scene);
void scene_end(struct scene *scene);

/* The rules a body breaks, separated by spaces, in a static buffer; "" if none. */
const char *faults_of(const char *dialect, const char *body, size_t len);

/* What the body's texts, arguments and results are estimated at, with the overhead of each message; images at
 * 1600. */
uint64_t body_tokens(const char *body, size_t len);
/* How often `part` occurs in the body. */
size_t occurrences(const char *body, const char *part);
/* True if the parts of the plan and its hidden ranges cover each message of the line. */
bool plan_covers_line(const struct scene *scene);

#endif
