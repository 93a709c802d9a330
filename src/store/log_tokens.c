/* SPDX-License-Identifier: MIT */
/*
 * Exact tokens of lines: what is known of a line, in memory or in the file beside the index, and counting what is not.
 * Each log of a fork's ancestry has the sums of its own messages, so forks share those of what they inherit.
 */
#include "store/log_internal.h"
#include "store/token_sums.h"

#define COUNTED_BEFORE_SAVED 8192 /* when many are to be counted; also bounds what is held of them */

/* The sums of the log that has `node`. */
static int sums_with(
	struct log *log, uint32_t node, const struct token_counter *counter, struct log **ret_level)
{
	struct log *level = log_of(log, node);

	*ret_level = level;
	if (level->token_sums && token_sums_are_by(level->token_sums, counter))
		return 0;
	token_sums_free(level->token_sums);
	level->token_sums = NULL;
	const struct token_sums_of of = {
		level->store, level->stem, level->name, level->device, level->inode, level->raw};
	return token_sums_new(&of, counter, &level->token_sums);
}

/* `chain`: the hash of the line to `node`. */
static int look_up(struct log *log, uint32_t node, uint64_t chain, const struct token_counter *counter,
	struct token_sum *ret_sum)
{
	struct log *level;
	int rc = sums_with(log, node, counter, &level);

	return rc ? rc
		  : token_sums_get(level->token_sums, node - level->index.base_count, chain,
			    token_sums_rule(counter), ret_sum);
}

/* Counts a message upon the sum of what stands before it, which becomes that of its own line. */
static int count_node(struct log *log, uint32_t node, struct token_counter *counter, struct arena *arena,
	struct token_sum *sum, struct bobbin_error *error)
{
	struct index_node entry = index_node(&log->index, node);
	struct message message;
	struct log *level;
	uint64_t tokens;
	bool images;
	int rc = log_message(log, node, arena, &message, error);

	if (!rc && (rc = message_count_tokens(&message, arena, counter, &tokens, &images)) < 0)
		rc = error_set(error, rc, "cannot count the tokens of a message");
	arena_reset(arena);
	/* Nothing is kept of what a failing index said. */
	if (rc || (rc = log_checked(log, 0, error)) < 0)
		return rc;
	sum->chain = entry.chain;
	sum->tokens += tokens;
	if (images)
		sum->rule = token_sums_rule(counter);
	rc = sums_with(log, node, counter, &level);
	if (!rc)
		rc = token_sums_put(level->token_sums, node - level->index.base_count, sum, entry.length);
	return rc ? error_set(error, rc, "out of memory") : 0;
}

static void save(struct log *log)
{
	for (; log; log = log->base)
		if (log->token_sums && !log->broken)
			token_sums_save(log->token_sums);
}

/* Back over the line to the last message whose sum is known: ret_depth is the depth behind it. */
static int find_known(struct log *log, uint32_t node, const struct token_counter *counter,
	struct token_sum *ret_sum, uint32_t *ret_depth, struct bobbin_error *error)
{
	*ret_sum = (struct token_sum){0};
	*ret_depth = 0;
	while (node != NODE_NONE) {
		struct index_node entry = index_node(&log->index, node);
		int rc = look_up(log, node, entry.chain, counter, ret_sum);
		if (rc)
			return error_set(error, rc, "out of memory");
		if (ret_sum->tokens != UINT64_MAX) {
			*ret_depth = entry.depth + 1;
			break;
		}
		*ret_sum = (struct token_sum){0};
		node = entry.parent;
	}
	return log_checked(log, 0, error);
}

static int count_line(struct log *log, uint32_t node, struct token_counter *counter, struct token_sum *ret_sum,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	uint32_t depth, last = index_node(&log->index, node).depth;
	int rc = find_known(log, node, counter, ret_sum, &depth, error);

	for (uint32_t counted = 0; !rc && depth <= last; depth++) {
		uint32_t next = index_ancestor(&log->index, node, depth);
		rc = log_checked(log, 0, error);
		if (!rc)
			rc = count_node(log, next, counter, &arena, ret_sum, error);
		if (!rc && ++counted % COUNTED_BEFORE_SAVED == 0)
			save(log);
	}
	arena_release(&arena);
	if (!rc)
		save(log);
	return rc;
}

int log_line_tokens(struct log *log, uint32_t node, uint64_t chain, struct token_counter *counter,
	uint64_t *ret_tokens, struct bobbin_error *error)
{
	struct token_sum sum;
	int rc = look_up(log, node, chain, counter, &sum);

	if (rc)
		return error_set(error, rc, "out of memory");
	if (sum.tokens == UINT64_MAX && (rc = count_line(log, node, counter, &sum, error)) < 0)
		return rc;
	*ret_tokens = sum.tokens;
	return 0;
}
