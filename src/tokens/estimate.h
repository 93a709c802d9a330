/* SPDX-License-Identifier: MIT */
/*
 * Estimated token counts for models whose tokenizer is not public. One pass sorts the bytes of a text into
 * eight classes; the estimate is a weighted sum of them. Classes add up, so a path's classes are the sum of
 * its messages' classes and the estimate of any range is one subtraction away.
 *
 * The error band of each kind of text, as measured against the exact encodings, stands in README.md.
 *
 * Invariants: (1) classes depend on the bytes alone, never on locale or alignment; (2) the estimate of a text
 * with at least one byte is at least 1 and at most its bytes, also when texts are added up; (3) nothing here
 * allocates or fails.
 */
#ifndef TOKENS_ESTIMATE_H
#define TOKENS_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#define TOKEN_CLASSES 8

/* Changes whenever the classes do: sums that were stored under another number are made anew. */
#define TOKEN_CLASSES_VERSION 2

/* What was counted, by enum token_class in classify.h. A sum that would not fit stays at UINT32_MAX. */
struct token_classes {
	uint32_t count[TOKEN_CLASSES];
};

/* Adds the classes of a text. Texts are added one by one: a join of two texts may differ by one count a seam.
 */
void token_classes_add(struct token_classes *classes, const char *text, size_t len);

/* The same for what stands between the quotes of a validated JSON string, without decoding it: the sums are those
 * of the decoded text, in which a lone surrogate is U+FFFD. Returns its length. */
size_t token_classes_add_json(struct token_classes *classes, const char *content, size_t len);

/* into += from, saturating. */
void token_classes_sum(struct token_classes *into, const struct token_classes *from);

/* The estimated tokens of what was counted, for a tokenizer that is not known: about those of a vocabulary of
 * 100,000 tokens, which needs more than larger ones do for anything but Latin script and code. */
uint64_t token_classes_estimate(const struct token_classes *classes);

/* The same for a vocabulary of 200,000 tokens (o200k_base, when its rank file is not built in). */
uint64_t token_classes_estimate_large(const struct token_classes *classes);

/* Both steps for one text. */
uint64_t tokens_estimate(const char *text, size_t len);

#endif
