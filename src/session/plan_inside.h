/* SPDX-License-Identifier: MIT */
/* A plan from inside: what compaction needs to know beside what hosts see. */
#ifndef SESSION_PLAN_INSIDE_H
#define SESSION_PLAN_INSIDE_H

#include "session/compaction.h"
#include "tokens/counter.h"

struct bobbin_plan {
	bobbin_session *session;
	struct arena arena; /* owns all texts */
	struct log_path *path;
	struct token_counter counter;
	struct window_options options;
	struct window_budget numbers;
	struct window_plan window;
	struct found_record found; /* the compaction in force */
	uint32_t head;
	struct slice model, system, tools;
	struct bobbin_budget budget;
	struct bobbin_part *parts;
	struct bobbin_hidden *hidden;
	const char *cut, *inner_cut;
};

#endif
