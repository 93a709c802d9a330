/* SPDX-License-Identifier: MIT */
/*
 * The truth that is no log: STORE/bobbin.db, an SQLite database in which the rooms above keep what belongs to no single
 * session, facts of a person and actions. This file opens, checks and copies it; the tables are the rooms'.
 *
 * Invariants: (1) WAL with synchronous=FULL: what a transaction committed survives a power cut; (2) the file is made with
 * mode 0600 and never opened through a link; (3) a room's tables are made or brought up to date in one transaction,
 * and tables of a newer version are not touched; (4) a copy is SQLite's own, consistent while others write.
 *
 * Threads: a connection belongs to one thread at a time; any number may be open, also in other processes. A connection must not be
 * used after fork(2). SQLite allocates its own memory and files: they are not those of base/.
 */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include "store/store.h"

#define DATABASE_NAME "bobbin.db"
#define DATABASE_WAIT_MS 10000 /* how long a writer waits for another before BOBBIN_EBUSY */

/*
 * A new connection; where nothing can be written (a file system or folder that is read-only) one that only reads: what writes
 * on it is BOBBIN_EREADONLY. Without `create` and without a database: BOBBIN_ENOTFOUND. BOBBIN_EREFUSED (a link, another user's
 * file), BOBBIN_ECORRUPT (no database), BOBBIN_EBUSY, BOBBIN_EIO, BOBBIN_ENOSPC, BOBBIN_ENOMEM. Close it with
 * database_close.
 */
int database_open(struct store *store, bool create, sqlite3 **ret_database, struct bobbin_error *error);
void database_close(sqlite3 *database); /* NULL allowed */

/*
 * Sees to the tables of a room: `steps[i]` is the SQL that brings version i to version i + 1, so `count` is today's version.
 * All of it happens in one transaction, once; where they are of today's version, nothing is locked. BOBBIN_EREADONLY if
 * they are of a newer one, BOBBIN_ENOTFOUND if there are none and none can be made.
 */
int database_tables(sqlite3 *database, const char *room, const char *const *steps, unsigned count,
	struct bobbin_error *error);

/* Runs SQL without results, one or several statements. */
int database_run(sqlite3 *database, const char *sql, struct bobbin_error *error);

/* A statement, to be released with sqlite3_finalize. */
int database_prepare(sqlite3 *database, const char *sql, sqlite3_stmt **ret_statement,
	struct bobbin_error *error);
/* One step: 1 for a row, 0 when it is done, or an error. */
int database_step(sqlite3_stmt *statement, struct bobbin_error *error);

/* Fills `error` from what last failed on the connection and returns the code. `doing` as in "storing a fact". */
int database_error(sqlite3 *database, struct bobbin_error *error, const char *doing);

/* Calls `each` for every fault that SQLite finds in the database; none if there is no database. Reads all of it. */
int database_check(struct store *store, void (*each)(void *data, const char *fault), void *data,
	struct bobbin_error *error);

/*
 * Copies the database as of one moment into `name` in folder `dir` and syncs it (not the folder); BOBBIN_EEXIST if that is
 * there. Writers go on. *ret_copied is false, and nothing is made, if the store has no database.
 */
int database_backup(struct store *store, int dir, const char *name, bool *ret_copied,
	struct bobbin_error *error);

#endif
