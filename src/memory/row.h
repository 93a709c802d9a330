/* SPDX-License-Identifier: MIT */
/* The tables of the room and single rows of them; for this room only. */
#ifndef MEMORY_ROW_H
#define MEMORY_ROW_H

#include "base/hash.h"
#include "memory/memory.h"
#include "memory/terms.h"
#include "store/database.h"

enum statement_name {
	SQL_OWNER_FIND,
	SQL_OWNER_MAKE,
	SQL_OWNER_NUMBER,
	SQL_OWNER_COUNT,
	SQL_FACT_INSERT,
	SQL_FACT_BY_NUMBER,
	SQL_FACT_BY_KEY,
	SQL_FACT_BY_SOURCE,
	SQL_FACT_BY_RELATION,
	SQL_FACT_CANDIDATES,
	SQL_FACT_PROPOSED,
	SQL_FACT_UPDATE,
	SQL_FACT_DELETE,
	SQL_SOURCE_ADD,
	SQL_SOURCE_LIST,
	SQL_SOURCE_COUNT,
	SQL_SOURCE_DELETE,
	SQL_TOMB_ADD,
	SQL_TOMB_FIND,
	SQL_INDEX_ADD,
	SQL_INDEX_DELETE,
	SQL_TERM_ADD,
	SQL_TERM_DROP,
	SQL_TERM_CLEAN,
	SQL_TERM_FIND,
	SQL_FACT_BY_ID,
	SQL_SEARCH,
	SQL_EXPIRED,
	SQL_FACT_RANK,
	SQL_EXPIRY_NEXT,
	SQL_VERSION,
	SQL_LIST,
	SQL_COUNT,
};

struct memory {
	struct store *store;
	sqlite3 *database;
	char *owner;
	size_t owner_len;
	int64_t owner_row; /* of fact_owners; 0: has none yet */
	sqlite3_stmt *statements[SQL_COUNT];
};

/* A prepared statement with the owner bound to ?1, reset; it belongs to the memory. */
int memory_statement(struct memory *memory, enum statement_name name, sqlite3_stmt **ret_statement,
	struct bobbin_error *error);
void bind_slice(sqlite3_stmt *statement, int place, struct slice text);

/* A fact as its row has it. */
struct fact_row {
	int64_t id;
	uint64_t number;
	int state;
	int64_t said_ns, valid_ns, expires_ns, ended_ns;
	uint64_t superseded_by, sessions;
	struct slice text, subject, relation, context;
	uint8_t key[SHA256_BYTES];
};

/* The row that a statement stands on (its columns are FACT_COLUMNS), its texts in the arena. BOBBIN_ENOMEM, BOBBIN_ECORRUPT. */
int row_read(sqlite3_stmt *statement, struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error);
/* One row of a statement, which is reset: 1, 0 if there is none. */
int row_take(sqlite3_stmt *statement, struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error);
int row_insert(struct memory *memory, struct fact_row *row, struct bobbin_error *error); /* sets row->id */
int row_update(struct memory *memory, const struct fact_row *row, struct bobbin_error *error);
/* As callers see it, with its sources. */
int row_fact(struct memory *memory, const struct fact_row *row, struct arena *arena, struct fact *ret_fact,
	struct bobbin_error *error);

/* What two equal facts have in common: SHA-256 of the folded text without blanks between wide characters. */
int row_key(struct slice text, uint8_t ret_key[SHA256_BYTES]);

/* index.c: puts a fact into the index, or takes it out. Kept ones that hold stand in the column `now`, ended ones in `past`,
 * candidates and what was proposed nowhere. */
int index_put(struct memory *memory, const struct fact_row *row, struct bobbin_error *error);
int index_drop(struct memory *memory, const struct fact_row *row, struct bobbin_error *error);
/* Appends a term as the index has it: with the number of its owner before it, which no other has and which is never given out
 * twice, "12xberlin". Needs memory->owner_row. */
struct buffer;
void index_add_term(const struct memory *memory, struct slice term, struct buffer *out);
/* The term that stands for a relation by its first word ("taste" of "taste coffee"), in the arena; {NULL, 0}: out of memory. */
struct slice index_relation(struct slice relation, struct arena *arena);

#endif
