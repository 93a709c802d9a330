/* SPDX-License-Identifier: MIT */
/* Made-up conversations of any length, to try things on: rounds with tool calls and facts that occur nowhere
 * else. */
#include "model/mock.h"
#include "session/handles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 100000

/* The highest round that a message's calls are of: call_SEED_ROUND_NUMBER. 0: of none. */
static int round_of(struct log *log, uint32_t node, uint64_t seed, struct arena *arena, uint32_t *ret_round,
	struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	char before[40];
	size_t start = (size_t)snprintf(before, sizeof(before), "call_%llu_", (unsigned long long)seed);
	*ret_round = 0;
	int rc = log_message(log, node, arena, &message, error);
	if (rc < 0)
		return rc;
	block_iter_init(&iter, &message, arena);
	while (block_iter_next(&iter, &block)) {
		char id[64];
		if (block.type != BLOCK_CALL || block.call_id.len >= sizeof(id) || block.call_id.len <= start ||
			memcmp(block.call_id.data, before, start) != 0)
			continue;
		snprintf(id, sizeof(id), "%.*s", (int)block.call_id.len, block.call_id.data);
		unsigned long round = strtoul(id + start, NULL, 10);
		if (round < UINT32_MAX && round > *ret_round)
			*ret_round = (uint32_t)round;
	}
	return iter.error ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

/* The newest round of this seed on the line: what is made up next goes on from there, as nobody else's ids come twice. */
static int rounds_before(struct log *log, uint64_t seed, uint32_t *ret_rounds, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct log_node node;
	int rc = log_refresh(log, error);
	*ret_rounds = 0;
	for (uint32_t at = log_head(log); !rc && at != NODE_NONE && !*ret_rounds; at = node.parent) {
		rc = log_look_up_node(log, at, &node, error);
		if (!rc && node.role == ROLE_ASSISTANT && node.calls)
			rc = round_of(log, at, seed, &arena, ret_rounds, error);
		arena_reset(&arena);
	}
	arena_release(&arena);
	/* Numbers that somebody wrote by hand may be anything; what follows must still be a number. */
	*ret_rounds = *ret_rounds < UINT32_MAX - ROUNDS_MAX ? *ret_rounds : 0;
	return rc;
}

int bobbin_session_manufacture(bobbin_session *session, uint64_t rounds, uint64_t seed,
	uint64_t message_tokens, struct bobbin_error *error)
{
	struct mock_conversation_options options = MOCK_CONVERSATION_INIT;
	struct arena arena = ARENA_INIT;
	struct slice *records;
	size_t count;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!rounds || rounds > ROUNDS_MAX || message_tokens > ROUNDS_MAX)
		return error_set(error, BOBBIN_EINVAL, "1 to %d rounds can be made up", ROUNDS_MAX);
	options.seed = seed;
	options.rounds = (uint32_t)rounds;
	options.message_tokens = (uint32_t)message_tokens;
	rc = rounds_before(session->log, seed, &options.rounds_before, error);
	if (rc < 0)
		return rc;
	rc = mock_conversation(&options, &arena, &records, &count);
	if (rc < 0)
		error_set(error, rc, "out of memory");
	else
		rc = log_append(session->log, records, count, NULL, NULL, error);
	arena_release(&arena);
	return rc;
}
