/* SPDX-License-Identifier: MIT */
/*
 * A script for the mock: JSON values one after the other, usually one a line. Each is a step (or a list
 * of steps), or {"settings":{…}}. README.md describes every member.
 *
 *	{"match":"weather","calls":[{"name":"forecast","arguments":{"city":"Lima"}}]}
 *	{"text":"Good morning.","chunks":[4],"chunk_delay_ms":50}
 *	{"status":429,"retry_after_ms":1500}
 *
 * Invariants: (1) a member that is not known is an error with its place, never ignored; (2) which step
 * answers depends on nothing but the requests so far.
 */
#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include "base/arena.h"
#include "base/json.h"
#include "model/model.h"

struct script_call {
	struct slice id, name, arguments; /* id may be empty */
};

/* Numbers are -1 and slices {NULL, 0} where the script says nothing. */
struct script_step {
	struct slice match; /* in the user's last words; without it the step waits its turn */
	int64_t round;	    /* with match: batches of calls since those words */
	int64_t times;	    /* uses left; -1: no end */
	struct slice text;  /* NULL: the answer the mock would give by itself */
	struct slice thinking;
	struct slice *sealed;
	size_t sealed_count, sealed_cap;
	struct script_call *calls;
	size_t call_count, call_cap;
	size_t *chunks; /* ascending byte offsets of the text where it is split */
	size_t chunk_count, chunk_cap;
	int64_t chunk_bytes, chunk_delay_ms, delay_ms;
	int64_t input, cached, cache_write, output;
	int64_t cut_after; /* bytes of text after which the connection ends */
	int64_t status, retry_after_ms;
	struct slice message, stop;
	bool garbage, hang, overflow, no_usage;
};

/* A step that says nothing. */
#define SCRIPT_STEP_NONE                                                                                     \
	((struct script_step){.times = -1,                                                                   \
		.chunk_bytes = -1,                                                                           \
		.chunk_delay_ms = -1,                                                                        \
		.delay_ms = -1,                                                                              \
		.input = -1,                                                                                 \
		.cached = -1,                                                                                \
		.cache_write = -1,                                                                           \
		.output = -1,                                                                                \
		.cut_after = -1,                                                                             \
		.status = -1,                                                                                \
		.retry_after_ms = -1})

struct script_settings {
	struct slice name;
	int64_t window_tokens, output_tokens_max;
	int64_t chunk_bytes, chunk_delay_ms, delay_ms;
};

struct script {
	struct arena arena;
	struct script_step *steps;
	size_t step_count, step_cap;
	struct script_settings settings;
};

/* An empty script: no steps, no settings. */
void script_init(struct script *script);

/* Reads the bytes of a script; everything is copied. BOBBIN_EINPUT with line and offset, BOBBIN_ENOMEM.
 * Release also after a failure. */
int script_read(struct script *script, struct slice text, struct bobbin_error *error);
void script_release(struct script *script);

/* The step that answers, counted as used; NULL: none. `words` are the user's last, `round` the batches
 * of calls since. */
const struct script_step *script_choose(struct script *script, struct slice words, int64_t round);

#endif
