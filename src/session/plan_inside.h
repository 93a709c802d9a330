/* SPDX-License-Identifier: MIT */
/* A plan from inside: what compaction needs to know beside what hosts see. */
#ifndef SESSION_PLAN_INSIDE_H
#define SESSION_PLAN_INSIDE_H

#include "session/compaction.h"
#include "session/facts.h"
#include "session/routine.h"
#include "tokens/counter.h"

struct bobbin_plan {
	bobbin_session *session;
	struct arena arena;    /* owns all texts */
	struct log_path *path; /* the whole line */
	size_t floor;	       /* position of the first message of the newest run; 0 without one */
	struct path shown;     /* the line from there on: what the positions in `window` and `found` count */
	struct token_counter counter;
	struct window_options options;
	struct window_budget numbers;
	struct window_plan window;
	struct found_record found; /* the compaction in force */
	uint32_t head;
	struct slice model, system, tools;
	struct facts_shown facts; /* what is known about the owner, for the newest message */
	struct routine_told routine; /* of a run: what it is told of those before it */
	uint64_t routine_tokens;
	struct slice injected; /* both, as they are sent */
	struct bobbin_budget budget;
	struct bobbin_part *parts;
	size_t part_count;
	struct bobbin_hidden *hidden;
	size_t hidden_count;
	const char *cut, *inner_cut;
};

#endif
