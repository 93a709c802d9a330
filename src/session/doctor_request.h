/* SPDX-License-Identifier: MIT */
/*
 * A foreign line as the body of a request that mends nothing: what a client would send that puts the messages of its file
 * into its provider's form as they are. (render.h mends; this shows what there was to mend.)
 *
 * Invariants: (1) every message is in the body, in its order, with its ids, names, texts and arguments as the file has them, also
 * what no provider takes; (2) what the dialect has no form for is left out: other providers' sealed blocks, images and blocks of
 * unknown kinds; (3) for anthropic, neighbours of one role are one message, as that provider joins them; results stand in the
 * user's; (4) every byte between two spans belongs to the message of the first.
 */
#ifndef SESSION_DOCTOR_REQUEST_H
#define SESSION_DOCTOR_REQUEST_H

#include "session/handles.h"
#include "transcript/path.h"
#include "window/render.h"

/* Where a message of the line begins in the body: its place, and the number of its message or item there. */
struct doctor_span {
	size_t offset, position, entry;
};

/* A sealed block that is not what a provider gave out. */
struct doctor_seal {
	size_t position, entry, part; /* message of the line; messages[entry].content[part], or input[entry] */
	bool missing;		      /* it has no seal; else one that can be none */
};

struct doctor_request {
	enum dialect dialect;
	struct buffer body;
	struct doctor_span *spans;
	struct doctor_seal *seals;
	size_t span_count, span_cap, seal_count, seal_cap;
};

/* 0, BOBBIN_ENOMEM, BOBBIN_ELIMIT. Release also after an error. */
int doctor_request_make(const struct path *path, const struct doctor_foreign *foreign, enum dialect dialect,
	struct doctor_request *ret_request, struct bobbin_error *error);
void doctor_request_release(struct doctor_request *request);

/* The span that the byte belongs to; the first one for what stands before all. NULL if there is none. */
const struct doctor_span *doctor_request_span(const struct doctor_request *request, size_t offset);

#endif
