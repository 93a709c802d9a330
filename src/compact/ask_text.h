/* SPDX-License-Identifier: MIT */
/* The text of requests: messages as fenced lines, in parts that fit. */
#ifndef COMPACT_ASK_TEXT_H
#define COMPACT_ASK_TEXT_H

#include "compact/derive.h"
#include "tokens/counter.h"

/* A part: from a place in one message to a place in another. Offsets are into the message's own
 * rendering. */
struct ask_part {
	uint32_t from, to; /* messages, `to` exclusive */
	size_t from_byte,
		to_byte; /* of the rendering of `from`, and of that of to - 1; 0 and SIZE_MAX: whole */
};

/* A message as the deriver sees it: header lines, and "| " before each line of text. */
void ask_add_message(const struct derive_message *message, uint32_t ordinal, struct buffer *out);

/* All of a part. `scratch` is for one message at a time. */
void ask_add_part(const struct derive_input *input, const struct ask_part *part, struct buffer *scratch,
	struct buffer *out);

/* Divides an input into parts of at most `tokens_max` tokens each (0: one part), in the arena. */
int ask_divide(const struct derive_input *input, uint64_t tokens_max, struct token_counter *counter,
	struct arena *arena, struct ask_part **ret_parts, size_t *ret_count);

#endif
