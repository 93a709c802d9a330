/* SPDX-License-Identifier: MIT */
/* One request and its whole answer, for the tests of this room. */
#ifndef TESTS_MODEL_ASK_H
#define TESTS_MODEL_ASK_H

#include "base/buffer.h"
#include "model/model.h"
#include "model/reply.h"

#define ASK_PIECES_MAX 64

struct asked {
	struct reply reply;
	struct buffer pieces; /* the text pieces, each followed by '|' */
	struct buffer thinking;
	struct buffer ids;    /* the call ids, each followed by ' ' */
	struct buffer sealed; /* the sealed blocks, each followed by '|' */
	struct buffer
		kinds; /* one letter an event: t(ext) h(thinking) s(ealed) c(all) u(sage) d(one) e(rror) */
	enum model_failure failure;
	int code, http_status;
	int64_t retry_after_ms;
	bool retry;
	char message[600];
	char stop_text[64];
};

/* Sends and pulls to the end; fails the test if sending fails or the stream breaks a rule of model.h. */
void ask(struct model *model, enum model_dialect dialect, const char *body, struct asked *ret_asked);
void ask_with(struct model *model, const struct model_request *request, struct asked *ret_asked);
void asked_release(struct asked *asked);

/* Pulls a stream to its end into an asked that was zeroed by ask_begin. */
void ask_begin(struct asked *asked);
void ask_pull(struct model_stream *stream, struct asked *asked);

/* The whole text of the answer to one chat body made of user and assistant texts in turn,
 * NULL-terminated; lives until the next call. */
const char *say(struct model *model, const char *first, ...);

const char *asked_text(struct asked *asked);

#endif
