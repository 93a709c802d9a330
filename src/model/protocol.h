/* SPDX-License-Identifier: MIT */
/*
 * What the stream of one dialect means: the server's events go in, the events of model.h come out through
 * a sink. Nothing here knows where the bytes come from.
 *
 * Invariants:
 * (1) Only the dialect's own word that the answer is finished makes DONE; bytes that merely end do not.
 * (2) Text leaves with the piece it came in; a call or a sealed block when it is whole.
 * (3) Pieces of calls and blocks find their own by index or id, however they are interleaved.
 * (4) What is not understood is skipped, unless it is a block of content: that is kept as it is.
 */
#ifndef MODEL_PROTOCOL_H
#define MODEL_PROTOCOL_H

#include "model/sink.h"
#include "model/sse.h"

struct protocol {
	enum model_dialect dialect;
	void *(*begin)(void); /* NULL: out of memory */
	/* One event whose data is a JSON object. `type` is the SSE event's, maybe empty. */
	void (*take)(void *state, struct slice type, const struct json *data, struct sink *sink);
	/* The answer is whole, though more may follow (usage, an end mark). */
	bool (*is_whole)(const void *state);
	/* No more comes: DONE if the answer is whole, else nothing. Called once. */
	void (*end)(void *state, struct sink *sink);
	void (*release)(void *state);
};

extern const struct protocol protocol_openai_chat, protocol_openai_responses, protocol_anthropic;

const struct protocol *protocol_of(enum model_dialect dialect);

/* Bytes in, events out. */
struct reader {
	const struct protocol *protocol;
	void *state;
	struct sse sse;
	struct sink sink;
};

/* 0 or BOBBIN_ENOMEM; release in both cases. */
int reader_init(struct reader *reader, const struct protocol *protocol);
void reader_release(struct reader *reader);

/* Takes bytes from the front of `input` until events are in the sink or no bytes are left. 0 or
 * BOBBIN_ENOMEM. Slices of earlier events end here. */
int reader_take(struct reader *reader, struct slice *input);

/* No more bytes come: DONE if the answer is whole, else the failure CUT_OFF with the words, which say how
 * the bytes ended. 0 or BOBBIN_ENOMEM. */
int reader_end(struct reader *reader, const char *words);

bool reader_is_whole(const struct reader *reader);

#endif
