/* SPDX-License-Identifier: MIT */
/*
 * Pieces of the transactions that change facts, for this room only. Each looks or changes inside the transaction that its caller
 * has begun with SQLite's lock of writers, so what it finds is what is changed.
 */
#ifndef MEMORY_CHANGE_H
#define MEMORY_CHANGE_H

#include "memory/row.h"

/* BOBBIN_EINVAL: empty, too long, no UTF-8. */
int row_check_text(struct slice text, struct bobbin_error *error);

/* What is in the index of an owner: all 0 if there is no row. */
struct owner_counts {
	double facts, terms; /* terms of all facts together */
	bool contexts;	     /* a fact has a context */
};

/* The owner's own row, which counts what is in the index: 1, 0 if there is none; it is kept in memory->owner_row. ret_counts NULL:
 * nobody asks. */
int owner_find(struct memory *memory, struct owner_counts *ret_counts, struct bobbin_error *error);
/* The same, made if there is none. */
int owner_make(struct memory *memory, struct bobbin_error *error);
/* The next number of a fact of this owner; given out once. */
int owner_number(struct memory *memory, uint64_t *ret_number, struct bobbin_error *error);

/* 1 and the row, 0 if there is none: the one that holds and says the same; of that number; what this very message has said, though
 * it may have ended since. */
int row_by_key(struct memory *memory, const uint8_t key[SHA256_BYTES], struct arena *arena,
	struct fact_row *ret_row, struct bobbin_error *error);
int row_by_number(struct memory *memory, uint64_t number, struct arena *arena, struct fact_row *ret_row,
	struct bobbin_error *error);
int row_by_source(struct memory *memory, const struct fact_new *fact, const uint8_t key[SHA256_BYTES],
	struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error);
/* 1 if this text was forgotten after it was said, or anything that this message said was. */
int row_is_buried(struct memory *memory, const struct fact_new *fact, const struct fact_row *row,
	struct bobbin_error *error);

/* Adds a source and counts in how many sessions it was said; what was added by hand is numbered, so that each time counts. */
int row_add_source(struct memory *memory, struct fact_row *row, const struct fact_new *fact, int64_t said_ns,
	struct bobbin_error *error);
/* Runs a statement with one number. */
int row_run(struct memory *memory, enum statement_name name, int64_t value, struct bobbin_error *error);

/* Commits if `code` is no error, else rolls back; the code, or that of the commit. */
int change_end(struct memory *memory, int code, struct bobbin_error *error);

#endif
