/* SPDX-License-Identifier: MIT */
/*
 * Exact token counts and tokens of o200k_base and cl100k_base, equal to tiktoken's `encode_ordinary`: special
 * tokens such as <|endoftext|> are plain text. A text is bytes; what is not UTF-8 counts as U+FFFD
 * (utf8_add_clean).
 *
 *	const struct encoding *encoding = encoding_by_name("o200k_base");
 *	struct token_scratch *scratch = token_scratch_new();
 *	uint64_t tokens;
 *	if (encoding && scratch && encoding_count(encoding, scratch, text, len, &tokens) == 0) …
 *
 * Threads: encodings are constant and shared by all; a scratch belongs to one caller at a time.
 * Invariants: (1) a count equals the number of tokens that encoding_encode gives; (2) time is linear in the
 * length, for any text; (3) the memory of a scratch is at most 6.1 MiB, and while it counts a piece (a stretch without
 * a boundary, such as a run of letters) 9/8 of that piece's bytes, kept for the next.
 */
#ifndef TOKENS_ENCODING_H
#define TOKENS_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct encoding;
struct token_scratch;

/* "o200k_base" or "cl100k_base"; NULL for another name, or if the library was built without that rank file.
 */
const struct encoding *encoding_by_name(const char *name);
const char *encoding_name(const struct encoding *encoding);

/* The name of the public encoding that an OpenAI model uses, by its name or a dated or fine-tuned form of it,
 * with or without a "provider/" before it. NULL for models whose tokenizer is not one of the two. */
const char *encoding_name_for_model(const char *model);

/* NULL when memory is out. A scratch serves any encoding; changing between them costs the cache. */
struct token_scratch *token_scratch_new(void);
void token_scratch_free(struct token_scratch *scratch);

/* 0, or BOBBIN_ENOMEM or BOBBIN_ELIMIT (a text with invalid UTF-8 that is too large to be mended). */
int encoding_count(const struct encoding *encoding, struct token_scratch *scratch, const char *text,
	size_t len, uint64_t *ret_tokens);

/* A growing array of tokens; zero-initialise, release with token_list_release. */
struct token_list {
	uint32_t *tokens;
	size_t count, cap;
};
void token_list_release(struct token_list *list);

/* Appends the tokens of the text. The same errors as encoding_count; what was appended before one stays. */
int encoding_encode(const struct encoding *encoding, struct token_scratch *scratch, const char *text,
	size_t len, struct token_list *out);

/* The number of tokens of the vocabulary; valid tokens are below it. */
uint32_t encoding_size(const struct encoding *encoding);

#endif
