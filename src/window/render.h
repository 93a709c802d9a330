/* SPDX-License-Identifier: MIT */
/*
 * A plan as the body of a request, in three dialects, streamed into a buffer: messages are read round by
 * round, and no tree is built. What a strict provider would refuse is mended here, in the view, never in the
 * log:
 *
 *	results follow their batch in the order of the calls         no result: a marked error result
 *	a second result, or one without its call: marked user text   call ids that occur twice or are malformed: renamed
 *	neighbours of equal role: merged                             no user message first: [conversation continues]
 *	lone surrogates, NUL: U+FFFD                                 empty texts: dropped
 *	arguments that are no JSON object: {"invalid_arguments":…}   final assistant text: no trailing white space
 *	sealed blocks: byte for byte for their own dialect, else wholly absent; unfinished ones are dropped
 *
 * Invariants: (1) the body passes check_request; (2) the same input gives the same bytes; (3) whatever of the
 * shown messages is not in the body is in the report.
 */
#ifndef WINDOW_RENDER_H
#define WINDOW_RENDER_H

#include "base/buffer.h"
#include "window/window.h"

enum dialect { DIALECT_OPENAI_CHAT, DIALECT_OPENAI_RESPONSES, DIALECT_ANTHROPIC };

/* False for a name that is not known. */
bool dialect_of(const char *name, enum dialect *ret_dialect);
const char *dialect_text(enum dialect dialect);
/* All names, NULL-terminated. */
const char *const *dialect_names(void);

struct render_options {
	enum dialect dialect;
	struct slice model;    /* the provider's name of it */
	struct slice system;   /* may be empty */
	struct slice injected; /* goes with the newest user message as a text of its own; may be empty */
	struct json tools;     /* an array of definitions in any of the dialects' forms; JSON_ABSENT: none */
	struct slice
		record; /* text of the record the plan attached; must be given if plan->record_at is set */
	uint64_t output_max; /* max_tokens (anthropic requires it), max_output_tokens; 0: left out, or 4096 */
	bool stream;
	uint64_t byte_limit; /* a body above it is BOBBIN_EBUDGET; 0: none */
};

#define RENDER_LOSSES_MAX 64

struct render_loss {
	size_t position;  /* of the message; WINDOW_NONE: the tools */
	const char *what; /* static text */
};

struct render_report {
	struct render_loss losses[RENDER_LOSSES_MAX];
	size_t losses_total; /* the first RENDER_LOSSES_MAX have their places kept */
	size_t results_made; /* calls that had no result */
	size_t ids_renamed;
	size_t images_hidden;
};

/* Appends the body to `out`. ret_report may be NULL. */
int render_request(const struct window_plan *plan, const struct path *path,
	const struct render_options *options, struct buffer *out, struct render_report *ret_report,
	struct bobbin_error *error);

#endif
