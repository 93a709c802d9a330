/* SPDX-License-Identifier: MIT */
/* The journal's table and the locks of its keys, for this room only. */
#ifndef ACTIONS_ROW_H
#define ACTIONS_ROW_H

#include "actions/actions.h"
#include "store/database.h"

/* A connection with the table in it. BOBBIN_ENOTFOUND without `create` if there is no database. */
int actions_open(struct store *store, bool create, sqlite3 **ret_database, struct bobbin_error *error);

/* 1 with the record, its bytes in the arena; 0 if there is none. */
int row_find(sqlite3 *database, struct slice key, struct arena *arena, struct action_record *ret_record,
	struct bobbin_error *error);

/* Every row, the oldest first, with its result; what `each` returns other than 0 ends it. A record lives until `each` returns. A
 * database in which nobody has made the table has none. */
int row_each(sqlite3 *database, int (*each)(void *data, const struct action_record *record, struct bobbin_error *error),
	void *data, struct bobbin_error *error);

/* Writes the row of record->key as a whole, in one durable transaction. */
int row_write(sqlite3 *database, const struct action_record *record, struct bobbin_error *error);

/*
 * The lock of a key: flock(2) on STORE/.actions/SHA256.lock. It is taken away again by whoever ends the
 * action, so only what is going on or unknown has a file.
 */
struct action_lock_file {
	int file; /* -1: not held */
	char name[72];
};
/* BOBBIN_EBUSY if another holder has it. */
int action_lock_take(
	struct store *store, const char *key, struct action_lock_file *ret_lock, struct bobbin_error *error);
void action_lock_drop(struct store *store, struct action_lock_file *lock, bool remove);

#endif
