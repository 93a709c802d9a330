/* SPDX-License-Identifier: MIT */
/*
 * The mock's whole stream, planned before its first event is pulled: events, each with the delay before
 * it. A pure function of the request, the step and the answer.
 *
 * Invariants: (1) unless it hangs, a plan ends with its only terminal event; (2) the pieces of a text
 * are cut at code points: a chunk that ends inside one gives what is whole and holds the rest back for
 * the next.
 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include "model/answer.h"
#include "model/script.h"
#include "model/seen.h"

struct planned {
	int64_t delay_ms; /* after the event before */
	struct model_event event;
};

struct plan {
	struct arena arena; /* all the events' bytes */
	struct planned *events;
	size_t count, cap;
	int64_t pending_ms; /* delay before the next event to be planned */
	size_t output_bytes;
	bool failed; /* out of memory */
};

struct plan_input {
	const struct model_properties *properties;
	const struct script_settings *settings;
	const struct script_step *step; /* never NULL */
	const struct model_request *request;
	const struct seen *seen;
	const struct answer *answer; /* used where the step has neither text nor calls */
	size_t cached_bytes;	     /* of the body, known from the request before */
};

void plan_init(struct plan *plan);
void plan_release(struct plan *plan);

/* 0 or BOBBIN_ENOMEM. */
int plan_answer(struct plan *plan, const struct plan_input *input);

/* A single ERROR; `message` is copied. 0 or BOBBIN_ENOMEM. */
int plan_failure(struct plan *plan, enum model_failure failure, int http_status, const char *message);

#endif
