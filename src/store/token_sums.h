/* SPDX-License-Identifier: MIT */
/*
 * Exact tokens along the lines of one log's own messages, as far as somebody has counted them: in memory by pages, and
 * in .cache/STEM.ENCODING.tokens beside the index.
 *
 *	header │ entry of own ordinal 0 │ of 1 │ of 2 │ …
 *
 *	header   which counting rules, which encoding, which log
 *	entry    the chained hash of its line (index_chain), the tokens of that line, the rule for images they were counted
 *	         by (0: there are none on it), a checksum that also covers header and ordinal
 *
 * An entry is a function of the messages on its line: whoever counts writes the same bytes to the same place. So there
 * is no lock, nothing is synced, and files of other versions or logs are put aside. Holes read as nothing.
 *
 * Invariants: (1) a sum is given only if its checksum is right and its hash is that of the message's line now; (2)
 * nothing here fails a call but running out of memory: what cannot be read is not known, what cannot be written is lost.
 */
#ifndef STORE_TOKEN_SUMS_H
#define STORE_TOKEN_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include "store/store.h"
#include "tokens/counter.h"

/* Changes with the rules by which tokens of a message are counted (transcript/measure.c). Another release's files are
 * not used in any case. */
#define TOKEN_SUMS_VERSION 1
#define TOKEN_SUMS_HEADER_BYTES 256
#define TOKEN_SUMS_ENTRY_BYTES 24
#define TOKEN_SUMS_SUFFIX ".tokens"

struct token_sum {
	uint64_t chain; /* of the line */
	uint64_t tokens;
	uint32_t rule; /* for images; 0: none on the line */
};

/* Which log the sums are of. */
struct token_sums_of {
	struct store *store;
	const char *stem, *name; /* of the cache's name; of the log's file */
	uint64_t device, inode;
	bool in_memory; /* no file is read or written */
};

struct token_sums;

/* BOBBIN_ENOMEM. What `of` and the counter's name point to must outlive them. */
int token_sums_new(
	const struct token_sums_of *of, const struct token_counter *counter, struct token_sums **ret_sums);
void token_sums_free(struct token_sums *sums); /* NULL allowed */
bool token_sums_are_by(const struct token_sums *sums, const struct token_counter *counter);

/* What the model of a counter lets images cost, as a number other than 0. */
uint32_t token_sums_rule(const struct token_counter *counter);

/* The sum of an own message whose line has this hash, by this rule or without images; ret_sum->tokens is UINT64_MAX if
 * it is not known. BOBBIN_ENOMEM. */
int token_sums_get(struct token_sums *sums, uint32_t ordinal, uint64_t chain, uint32_t rule, struct token_sum *ret_sum);
/* Keeps one; `bytes` were counted for it. BOBBIN_ENOMEM. */
int token_sums_put(struct token_sums *sums, uint32_t ordinal, const struct token_sum *sum, uint64_t bytes);

/* Writes what is new, if that is much, and gives back memory. */
void token_sums_save(struct token_sums *sums);

/* Takes the files of all encodings away. */
void token_sums_forget(const struct platform *platform, int cache_dir, const char *stem);

#endif
