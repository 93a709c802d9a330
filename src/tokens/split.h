/* SPDX-License-Identifier: MIT */
/*
 * Splitting a text into pieces, as the regular expressions of tiktoken do; merging never crosses a piece.
 *
 * cl100k_base    (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} |
 * ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+ o200k_base [^\r\n\p{L}\p{N}]?[U]*[W]+(contraction)?
 * | [^\r\n\p{L}\p{N}]?[U]+[W]*(contraction)? | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ |
 * \s+(?!\S) | \s+ with U = Lu Lt Lm Lo M and W = Ll Lm Lo M
 *
 * There are two splitters: this one goes character by character and is the definition; blocks.h finds the
 * pieces of 64 ASCII bytes at a time and must agree with it.
 */
#ifndef TOKENS_SPLIT_H
#define TOKENS_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

enum split_pattern { SPLIT_CL100K, SPLIT_O200K };

/*
 * The end of the piece that begins at `at` (< end); everything before `at` must be pieces already. Sets
 * *ret_invalid if a byte that is not UTF-8 was looked at: then the result means nothing.
 */
const char *split_piece(enum split_pattern pattern, const char *at, const char *end, bool *ret_invalid);

/* The bytes of the contraction ('s 't 're 've 'm 'll 'd, in any case, with U+017F for s) that begins at `at`,
 * or 0. */
size_t split_contraction(const char *at, const char *end);

#endif
