/* SPDX-License-Identifier: MIT */
/*
 * What only the mock has: the bodies it was sent, and conversations out of nothing. How it answers, and
 * the script it can follow, stand in README.md.
 */
#ifndef MODEL_MOCK_H
#define MODEL_MOCK_H

#include "base/arena.h"
#include "model/model.h"

#define MOCK_REQUESTS_KEPT 8

/* Requests this model was sent since it was opened, those that a check refused included. 0 for other
 * models. */
uint64_t mock_request_count(const struct model *model);

/* The body of a past request: 0 the newest, 1 the one before, … up to MOCK_REQUESTS_KEPT - 1. {NULL, 0}
 * if it is not kept. Lives until the next model_send. */
struct slice mock_request(const struct model *model, unsigned back);

struct mock_conversation_options {
	uint64_t seed;	 /* the same options give the same bytes */
	uint32_t rounds; /* each: user, assistant with one call (every fourth round two), results, reply */
	uint32_t rounds_before;	 /* of this seed in the conversation that is to go on: their numbers are not given again */
	uint32_t message_tokens; /* about as many in each user, result and reply text; 0: 250 */
	bool ids;		 /* give each message an "id": c<seed>-1, c<seed>-2, … */
};

#define MOCK_CONVERSATION_INIT ((struct mock_conversation_options){.seed = 1, .rounds = 10})

/*
 * Manufactures a conversation: canonical message records (transcript/message.h), one JSON object each,
 * without seq, ts and crc, in order. Every round states facts that occur nowhere else (an order number,
 * a date, a path, an amount), so a test can ask for them later. Record `n` of ret_records lives in
 * `arena`. 0 or BOBBIN_ENOMEM.
 */
int mock_conversation(const struct mock_conversation_options *options, struct arena *arena,
	struct slice **ret_records, size_t *ret_count);

#endif
