/* SPDX-License-Identifier: MIT */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/buffer.h"
#include "base/id.h"
#include "store/file.h"
#include "store/store_internal.h"

#define NAP_NS INT64_C(1000000)

/* SQLite's own word for a full disk is for its database file; of the others (the journal's index in memory that is shared,
 * a file that is to be made) only the system's error says it. */
static bool is_full(sqlite3 *database, int code)
{
	bool failed = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
	int reason = failed ? sqlite3_system_errno(database) : 0;

	return reason == ENOSPC || reason == EDQUOT;
}

int database_error(sqlite3 *database, struct bobbin_error *error, const char *doing)
{
	int code = database ? sqlite3_extended_errcode(database) & 0xff : SQLITE_NOMEM;
	const char *reason, *text = database ? sqlite3_errmsg(database) : "out of memory";

	switch (is_full(database, code) ? SQLITE_FULL : code) {
	case SQLITE_NOMEM:
		return error_set(error, BOBBIN_ENOMEM, "%s: out of memory", doing);
	case SQLITE_FULL:
		return error_set(error, BOBBIN_ENOSPC, "%s: the disk is full; nothing was stored", doing);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(error, BOBBIN_EBUSY, "%s: another process is writing to %s; try again",
			doing, DATABASE_NAME);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return error_set(error, BOBBIN_ECORRUPT,
			"%s: %s is damaged (%s); `bobbin doctor` says more, and a backup has an earlier one",
			doing, DATABASE_NAME, text);
	case SQLITE_READONLY:
		return error_set(error, BOBBIN_EREADONLY, "%s: %s cannot be written to (%s)", doing,
			DATABASE_NAME, text);
	case SQLITE_CANTOPEN:
		reason = strerrordesc_np(sqlite3_system_errno(database));
		return error_set(error, BOBBIN_EIO, "%s: %s, or what SQLite keeps beside it, cannot be opened%s%s", doing,
			DATABASE_NAME, reason ? ": " : "", reason ? reason : "");
	default:
		return error_set(error, BOBBIN_EIO, "%s: %s: %s", doing, DATABASE_NAME, text);
	}
}

/* SQLite goes by names. A folder that is held by its descriptor has one that no renaming on the way can
 * change. */
static int name_beneath(int dir, const char *name, const char *options, struct buffer *out)
{
	buffer_init(out, LIMIT_PATH_BYTES);
	buffer_addf(out, "file:/proc/self/fd/%d/%s%s", dir, name, options);
	buffer_add_char(out, '\0');
	return buffer_error(out);
}

static int open_uri(int dir, const char *name, const char *options, int flags, sqlite3 **ret_database,
	struct bobbin_error *error)
{
	struct buffer path;
	sqlite3 *database = NULL;
	int code = name_beneath(dir, name, options, &path);

	if (code < 0) {
		buffer_release(&path);
		return error_set(error, code, "opening %s: out of memory", name);
	}
	code = sqlite3_open_v2(
		path.data, &database, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	buffer_release(&path);
	if (code != SQLITE_OK) {
		code = database_error(database, error, "opening the database");
		sqlite3_close(database);
		return code;
	}
	sqlite3_extended_result_codes(database, 1);
	sqlite3_busy_timeout(database, DATABASE_WAIT_MS);
	*ret_database = database;
	return 0;
}

static int open_file(int dir, const char *name, int flags, sqlite3 **ret_database, struct bobbin_error *error)
{
	return open_uri(dir, name, "", flags, ret_database, error);
}

/* Is what stands there a file that we may trust? It is looked at and not opened: closing any descriptor of it
 * would drop the locks that SQLite holds on it in this process. */
static int trust_file(struct store *store, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct file_info info;
	int code = platform->info_at(platform->context, store->dir, DATABASE_NAME, &info);

	if (code < 0)
		return error_set_os(error, -code, "%s", DATABASE_NAME);
	if ((info.mode & S_IFMT) != S_IFREG)
		return error_set(error, BOBBIN_EREFUSED, "%s is no regular file", DATABASE_NAME);
	if (info.owner != platform->user(platform->context))
		return error_set(error, BOBBIN_EREFUSED, "%s belongs to another user", DATABASE_NAME);
	if (info.mode & (S_IWGRP | S_IWOTH))
		return error_set(
			error, BOBBIN_EREFUSED, "%s can be written by others; chmod 600 it", DATABASE_NAME);
	return 0;
}

/* An empty file is an empty database to SQLite. It gets its name when it is closed again, for the same
 * reason. */
static int make_file(struct store *store, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	char name[ID_SESSION_NEW_BYTES + sizeof "..db.tmp"] = ".";
	int file, code = id_new_session(platform, name + 1);

	if (code < 0)
		return error_set(error, code, "making %s: no randomness", DATABASE_NAME);
	memcpy(name + strlen(name), ".db.tmp", sizeof ".db.tmp");
	code = file_open(platform, store->dir, name, O_RDWR | O_CREAT | O_EXCL, &file, NULL, error);
	if (code < 0)
		return code;
	file_close(platform, file);
	code = platform->link_at(platform->context, store->dir, name, DATABASE_NAME);
	platform->unlink_at(platform->context, store->dir, name, 0);
	if (code < 0 && code != -EEXIST)
		return error_set_os(error, -code, "making %s", DATABASE_NAME);
	code = platform->sync(platform->context, store->dir);
	return code < 0 ? error_set_os(error, -code, "syncing the store's folder") : 0;
}

static int see_to_file(struct store *store, bool create, struct bobbin_error *error)
{
	int code = trust_file(store, error);

	return code == BOBBIN_ENOTFOUND && create ? make_file(store, error) : code;
}

/* ---- Where nothing can be written ----------------------------------------------------------------------------
 * SQLite needs its -shm beside a database in WAL mode, also to read it, and makes it if it can. */

/* ENOENT: what it could not make, it looked for after that. The database itself was seen to be there. */
static bool may_not_write(sqlite3 *database)
{
	int code = sqlite3_extended_errcode(database) & 0xff, reason = sqlite3_system_errno(database);

	return code == SQLITE_READONLY || ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) &&
						  (reason == EROFS || reason == EACCES || reason == EPERM || reason == ENOENT));
}

/* Opens it and looks into it, so that what does not work shows now. */
static int open_and_look(struct store *store, const char *uri, sqlite3 **ret_database, struct bobbin_error *error)
{
	sqlite3 *database;
	int code = open_uri(store->dir, DATABASE_NAME, uri, SQLITE_OPEN_READONLY, &database, error);

	if (code < 0)
		return code;
	code = database_run(database, "SELECT count(*) FROM sqlite_schema", error);
	if (code < 0)
		sqlite3_close(database);
	else
		*ret_database = database;
	return code;
}

/* As it is: with what others keep beside it while they have it open, and what a killed one left there; or, if there is nothing, all
 * of it is in the one file, and who cannot write here need not fear that somebody who can begins just now: SQLite changes
 * that file only when it brings a -wal home. */
static int open_to_read(struct store *store, sqlite3 **ret_database, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct file_info info;
	int code = open_and_look(store, "", ret_database, error);

	if (code != BOBBIN_EIO && code != BOBBIN_EREADONLY)
		return code;
	int wal = platform->info_at(platform->context, store->dir, DATABASE_NAME "-wal", &info);
	if (wal < 0 && wal != -ENOENT)
		return error_set_os(error, -wal, "%s-wal", DATABASE_NAME);
	if (wal == 0 && info.size)
		return error_set(error, BOBBIN_EREADONLY,
			"%s cannot be read where nothing can be written: what was stored last stands in %s-wal beside it. Nothing "
			"is lost: make the store writable again, or copy it to where you may write (cp -a) and look there",
			DATABASE_NAME, DATABASE_NAME);
	return open_and_look(store, "?immutable=1", ret_database, error);
}

/* SQLite waits for others with whatever it is asked, but for one thing: who finds a database that keeps no WAL yet and wants it
 * to keep one is told "busy" at once when somebody else writes into it. A new store's first users come together. */
static int set_up(struct store *store, sqlite3 *database, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	int64_t until = platform->monotonic_ns(platform->context) + DATABASE_WAIT_MS * INT64_C(1000000);

	for (;;) {
		int code = database_run(
			database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;", error);
		if (code != BOBBIN_EBUSY || platform->monotonic_ns(platform->context) >= until)
			return code;
		platform->sleep_ns(platform->context, NAP_NS);
	}
}

int database_open(struct store *store, bool create, sqlite3 **ret_database, struct bobbin_error *error)
{
	sqlite3 *database;
	int code = see_to_file(store, create, error);

	if (code < 0)
		return code;
	code = open_file(store->dir, DATABASE_NAME, SQLITE_OPEN_READWRITE, &database, error);
	if (code < 0)
		return code;
	code = set_up(store, database, error);
	if (code == 0) {
		*ret_database = database;
		return 0;
	}
	bool reads = may_not_write(database);
	sqlite3_close(database);
	return reads ? open_to_read(store, ret_database, error) : code;
}

void database_close(sqlite3 *database)
{
	sqlite3_close(database);
}

int database_run(sqlite3 *database, const char *sql, struct bobbin_error *error)
{
	return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : database_error(database, error, "using the database");
}

int database_prepare(
	sqlite3 *database, const char *sql, sqlite3_stmt **ret_statement, struct bobbin_error *error)
{
	return sqlite3_prepare_v2(database, sql, -1, ret_statement, NULL) == SQLITE_OK
		       ? 0
		       : database_error(database, error, "using the database");
}

int database_step(sqlite3_stmt *statement, struct bobbin_error *error)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE
		       ? 0
		       : database_error(sqlite3_db_handle(statement), error, "using the database");
}

/* The one number that a statement about a name gives; 0 if it gives none. */
static int ask_number(sqlite3 *database, const char *sql, const char *name, unsigned *ret_number,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = database_prepare(database, sql, &statement, error);

	*ret_number = 0;
	if (code < 0)
		return code;
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	code = database_step(statement, error);
	if (code == 1)
		*ret_number = (unsigned)sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return code < 0 ? code : 0;
}

/* The version of a room's tables; 0 if it has none. Only reads. */
static int version_of(sqlite3 *database, const char *room, unsigned *ret_version, struct bobbin_error *error)
{
	int code = ask_number(
		database, "SELECT count(*) FROM sqlite_schema WHERE name = ?1", "rooms", ret_version, error);

	if (code < 0 || !*ret_version)
		return code;
	return ask_number(database, "SELECT version FROM rooms WHERE name = ?1", room, ret_version, error);
}

static int check_version(const char *room, unsigned version, unsigned known, struct bobbin_error *error)
{
	if (version <= known)
		return 0;
	return error_set(error, BOBBIN_EREADONLY,
		"%s holds tables of a newer version (%s %u; this bobbin knows %u): use a newer bobbin",
		DATABASE_NAME, room, version, known);
}

static int set_version(sqlite3 *database, const char *room, unsigned version, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code =
		database_prepare(database, "INSERT OR REPLACE INTO rooms VALUES (?1, ?2)", &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_text(statement, 1, room, -1, SQLITE_STATIC);
	sqlite3_bind_int(statement, 2, (int)version);
	code = database_step(statement, error);
	sqlite3_finalize(statement);
	return code;
}

/* Within a transaction: another process may have done it since the version was looked at. */
static int bring_up(sqlite3 *database, const char *room, const char *const *steps, unsigned count,
	struct bobbin_error *error)
{
	unsigned version = 0;
	int code = database_run(database,
		"CREATE TABLE IF NOT EXISTS rooms (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT "
		"ROWID",
		error);

	if (code == 0)
		code = version_of(database, room, &version, error);
	if (code == 0)
		code = check_version(room, version, count, error);
	if (code < 0 || version == count)
		return code;
	for (unsigned i = version; i < count && code == 0; i++)
		code = database_run(database, steps[i], error);
	return code == 0 ? set_version(database, room, count, error) : code;
}

int database_tables(sqlite3 *database, const char *room, const char *const *steps, unsigned count,
	struct bobbin_error *error)
{
	unsigned version = 0;
	int code = version_of(database, room, &version, error);

	if (code == 0)
		code = check_version(room, version, count, error);
	/* Almost always they are there: a reader must not wait for the lock of writers to learn that. */
	if (code < 0 || version == count)
		return code;
	if (!version && sqlite3_db_readonly(database, "main") == 1)
		return error_set(error, BOBBIN_ENOTFOUND, "%s holds no %s yet, and cannot be written to", DATABASE_NAME, room);
	code = database_run(database, "BEGIN IMMEDIATE", error);
	if (code < 0)
		return code;
	code = bring_up(database, room, steps, count, error);
	if (code == 0)
		code = database_run(database, "COMMIT", error);
	if (code < 0)
		sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

int database_check(struct store *store, void (*each)(void *data, const char *fault), void *data,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	sqlite3 *database;
	int code = database_open(store, false, &database, error);

	if (code == BOBBIN_ENOTFOUND)
		return 0;
	if (code < 0)
		return code;
	code = database_prepare(database, "PRAGMA integrity_check(100)", &statement, error);
	if (code == 0) {
		while ((code = database_step(statement, error)) == 1) {
			const char *text = (const char *)sqlite3_column_text(statement, 0);
			if (!slice_is(slice_of(text), "ok"))
				each(data, text ? text : "out of memory");
		}
		sqlite3_finalize(statement);
	}
	database_close(database);
	return code;
}

/* Copies pages until SQLite says that all are there. It begins anew by itself when others write meanwhile. */
static int copy_pages(sqlite3 *from, sqlite3 *to, struct bobbin_error *error)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

	if (!backup)
		return database_error(to, error, "copying the database");
	sqlite3_backup_step(backup, -1);
	return sqlite3_backup_finish(backup) == SQLITE_OK ? 0
							  : database_error(to, error, "copying the database");
}

int database_backup(
	struct store *store, int dir, const char *name, bool *ret_copied, struct bobbin_error *error)
{
	struct file_info info;
	sqlite3 *from, *to;
	int file;
	int code = database_open(store, false, &from, error);

	*ret_copied = false;
	if (code == BOBBIN_ENOTFOUND)
		return 0;
	if (code < 0)
		return code;
	code = store->platform->info_at(store->platform->context, dir, name, &info) == 0
		       ? error_set(error, BOBBIN_EEXIST, "%s is there already", name)
		       : file_open(store->platform, dir, name, O_RDWR | O_CREAT | O_EXCL, &file, NULL, error);
	if (code == 0) {
		file_close(store->platform, file);
		code = open_file(dir, name, SQLITE_OPEN_READWRITE, &to, error);
	}
	if (code == 0) {
		code = database_run(to, "PRAGMA synchronous=FULL", error);
		if (code == 0)
			code = copy_pages(from, to, error);
		sqlite3_close(to);
	}
	database_close(from);
	*ret_copied = code == 0;
	return code;
}
