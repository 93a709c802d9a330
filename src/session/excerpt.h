/* SPDX-License-Identifier: MIT */
/* Excerpts of what was said: on one line, without the words that only say that something begins, within a number of tokens. */
#ifndef SESSION_EXCERPT_H
#define SESSION_EXCERPT_H

#include "base/buffer.h"
#include "base/slice.h"
#include "tokens/counter.h"

/* `text` without what stands at its beginning to say that something begins ("On it.", "Sure, I'll check the mails."), and without
 * blanks there. May be empty. */
struct slice excerpt_without_opening(struct slice text);

/* Adds `text` on one line, runs of blanks as one, at most `tokens_max` (at least 1) tokens of it, cut at a whole character; then " …" says
 * so. 0 or what the counter fails with; the buffer's error is the caller's to ask. */
int excerpt_add(struct buffer *out, struct slice text, struct token_counter *counter, uint64_t tokens_max);

/* The bytes of `text` from its beginning that are at most `tokens_max` tokens, to a whole character. */
int excerpt_fit(struct slice text, struct token_counter *counter, uint64_t tokens_max, size_t *ret_len);

#endif
