/* SPDX-License-Identifier: MIT */
/*
 * A path: the messages from the first to a head, by position, with sums along the way. It is the joint between the
 * rooms that keep messages (store) and those that plan with them (window, compact): planning asks for items, which
 * cost O(log n) each, and reads only the messages it will show.
 *
 *	position   0    1    2    3    4    5
 *	           u1   a1   t1   a2   u2   a3
 *	turn       0    0    0    0    4    4      first position of the turn
 *	round      0    1    1    3    4    5      first position of the group (an assistant and its results)
 *
 * Invariants: (1) item(i).tokens_before is the sum of the tokens of the items before i, likewise bytes; (2) turn and
 * round never lie after the item; (3) a result is in the round of the assistant message whose batch it answers;
 * (4) a marked result for which the real one came late is shown as the real one; where none stands, the late result belongs to
 * the item of its call: it has no position of its own, its tokens and bytes are in the item's.
 */
#ifndef TRANSCRIPT_PATH_H
#define TRANSCRIPT_PATH_H

#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "transcript/message.h"

struct path_item {
	uint64_t tokens_before, bytes_before;
	uint32_t tokens;          /* of this message with its overhead, as the path's counter counts */
	uint64_t bytes;           /* of its record; a fair size for byte limits */
	size_t turn, round;       /* positions */
	enum message_role role;
	enum message_origin origin;
	uint32_t calls;           /* tool calls in it */
	uint32_t late;            /* results of them that came late and stand nowhere on the line */
	uint32_t late_tokens;     /* theirs, part of `tokens` */
};

#define PATH_ID_BYTES 257 /* LIMIT_MESSAGE_ID_BYTES and NUL */

struct path_ops {
	/* 0, or BOBBIN_EIO and BOBBIN_ECORRUPT when the bytes behind it changed or cannot be read. */
	int (*item)(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error);
	/* The message's id, NUL-terminated. */
	int (*id)(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error);
	/* Reads and parses it; its bytes live in `arena`. */
	int (*message)(void *context, size_t position, struct arena *arena, struct message *ret_message,
		struct bobbin_error *error);
	/* The nth of the item's late results, its id and its tokens; NULL where items have none. */
	int (*late)(void *context, size_t position, uint32_t nth, struct arena *arena, char ret_id[PATH_ID_BYTES],
		uint32_t *ret_tokens, struct message *ret_message, struct bobbin_error *error);
};

struct path {
	const struct path_ops *ops;
	void *context;
	size_t count;            /* messages; positions are 0 … count - 1 */
	uint64_t tokens, bytes;  /* sums over all */
	bool exact;              /* the tokens come from the model's own tokenizer */
};

static inline int path_item(const struct path *path, size_t position, struct path_item *ret_item,
	struct bobbin_error *error)
{
	return path->ops->item(path->context, position, ret_item, error);
}

static inline int path_id(const struct path *path, size_t position, char ret_id[PATH_ID_BYTES],
	struct bobbin_error *error)
{
	return path->ops->id(path->context, position, ret_id, error);
}

static inline int path_message(const struct path *path, size_t position, struct arena *arena,
	struct message *ret_message, struct bobbin_error *error)
{
	return path->ops->message(path->context, position, arena, ret_message, error);
}

static inline int path_late(const struct path *path, size_t position, uint32_t nth, struct arena *arena,
	char ret_id[PATH_ID_BYTES], uint32_t *ret_tokens, struct message *ret_message, struct bobbin_error *error)
{
	return path->ops->late(path->context, position, nth, arena, ret_id, ret_tokens, ret_message, error);
}

/*
 * A path over an array: parses and measures the messages once, works out turns and rounds, and keeps the sums.
 * `records` (JSON lines, already validated) must outlive it. Used for tests, foreign conversations, and wherever there is no index.
 */
struct token_counter;
struct array_path;
int array_path_new(const struct slice *records, size_t count, const struct token_counter *counter,
	struct array_path **ret_path, struct bobbin_error *error);
const struct path *array_path_path(const struct array_path *path);
void array_path_free(struct array_path *path);

/* Works out turn and round of the next item from the one before it (position > 0) — the one rule for everybody.
 * `previous` NULL for the first. Sets ret_item->turn and ->round from its role, origin and position. */
void path_item_place(struct path_item *ret_item, size_t position, const struct path_item *previous);

#endif
