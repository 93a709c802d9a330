/* SPDX-License-Identifier: MIT */
/*
 * What of a message the model sees and a record may be made of: decoded text, call names, arguments,
 * results. Thinking is not (it is dropped from older turns, and never evidence); an image is, by its
 * digest alone.
 *
 * Invariants: (1) pieces come in the message's order and are a pure function of its record's bytes; (2)
 * pieces point into the record or the arena.
 */
#ifndef COMPACT_VISIBLE_H
#define COMPACT_VISIBLE_H

#include "transcript/message.h"

enum visible_kind { VISIBLE_TEXT, VISIBLE_CALL, VISIBLE_IMAGE, VISIBLE_OTHER };

struct visible {
	enum visible_kind kind;
	struct slice text; /* text; arguments of a call; bytes of an image or another block */
	struct slice call_id, call_name;
	struct json arguments; /* of a call, as the block has them */
};

struct visible_iter {
	struct block_iter blocks;
	struct arena *arena;
	int error; /* BOBBIN_ENOMEM ends the walk early */
};

void visible_iter_init(struct visible_iter *iter, const struct message *message, struct arena *arena);
bool visible_next(struct visible_iter *iter, struct visible *ret_piece);

/* Model-visible bytes of a message; of an image its digest's 32. 0 or BOBBIN_ENOMEM. */
int visible_bytes(const struct message *message, struct arena *arena, uint64_t *ret_bytes);

#endif
