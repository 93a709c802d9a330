/* SPDX-License-Identifier: MIT */
/* Made-up conversations of any length, to try things on: rounds with tool calls and facts that occur nowhere
 * else. */
#include "model/mock.h"
#include "session/handles.h"

#define ROUNDS_MAX 100000

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
	rc = mock_conversation(&options, &arena, &records, &count);
	if (rc < 0)
		error_set(error, rc, "out of memory");
	else
		rc = log_append(session->log, records, count, NULL, NULL, error);
	arena_release(&arena);
	return rc;
}
