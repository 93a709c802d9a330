/* SPDX-License-Identifier: MIT */
/* What the files of the planner share: the path with bounds on it, and the state of one planning. */
#ifndef WINDOW_PLANNER_H
#define WINDOW_PLANNER_H

#include "window/window.h"

/* A pointer in place of a body takes at most so many tokens, its message's overhead included; a body that is
 * not larger stays as it is. */
#define POINTER_TOKENS 56

struct planner {
	const struct path *path;
	const struct window_budget *budget;
	const struct window_options *options;
	const struct window_record *record; /* NULL: none that can be used */
	struct token_counter *counter;
	struct window_plan *plan;
	struct bobbin_error *error;

	size_t pinned; /* messages [0, pinned) stay whatever happens */
	uint64_t pinned_tokens;
	size_t floor;  /* no cut lies before it: the end of the pinned ones, or the record's cut */
	uint64_t room; /* history less pinned messages and record */

	/* What is shown beside the pinned messages: maybe one user message, then everything from `start`. */
	size_t words; /* the user's words before an inner cut; WINDOW_NONE */
	size_t start;
	size_t cleared_from, cleared_to;	    /* a range whose results are pointers; equal: none */
	uint64_t cleared_tokens, cleared_bytes;	    /* won by clearing */
	uint64_t shortened_tokens, shortened_bytes; /* won by shortening */
	size_t shortened_from;			    /* the round that was shortened; WINDOW_NONE */
	size_t inner_turn;	     /* the newest turn, if only rounds of it are shown; WINDOW_NONE */
	struct window_hidden images; /* for the byte limit; from is WINDOW_NONE: none */
};

/* Tokens of the messages before `position`, which may be the end. */
int planner_tokens_before(const struct planner *planner, size_t position, uint64_t *ret_tokens);
int planner_bytes_before(const struct planner *planner, size_t position, uint64_t *ret_bytes);
/* Tokens from `position` to the end. */
int planner_tokens_from(const struct planner *planner, size_t position, uint64_t *ret_tokens);

/* The first position in [from, count] from which everything to the end is at most `limit` tokens. */
int planner_first_fitting(const struct planner *planner, size_t from, uint64_t limit, size_t *ret_position);

/* The first turn (round) start at or after `position`; the count if there is none. */
int planner_turn_at_or_after(const struct planner *planner, size_t position, size_t *ret_start);
int planner_round_at_or_after(const struct planner *planner, size_t position, size_t *ret_start);

/* cut.c: sets words and start so that the view fits, shortening the last round if nothing else helps. */
int planner_cut(struct planner *planner);

/* shrink.c */
/* Where the messages begin that --keep-recent keeps: a turn start; the count without the option. */
int planner_recent_start(const struct planner *planner, size_t *ret_start);
/* Clears consumed results if that wins enough and the view then fits; ret_done says so. */
int planner_clear(struct planner *planner, bool *ret_done);
/* Shortens the results of the round at `round` so that the view fits; `words_tokens` stand before it. */
int planner_shorten(struct planner *planner, size_t round, uint64_t words_tokens);
/* Turns the oldest images into pointers until the view's bytes are below the limit. */
int planner_limit_bytes(struct planner *planner);

/* describe.c: fills in the plan's cut, parts and hidden ranges from what was decided. */
int planner_describe(struct planner *planner);

#endif
