/* SPDX-License-Identifier: MIT */
#include "actions/row.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/hash.h"
#include "store/file.h"

#define LOCK_FOLDER ".actions"

static const char *const TABLES[] = {
	"CREATE TABLE actions ("
	" key TEXT NOT NULL PRIMARY KEY," /* BINARY: case and accents count */
	" state INTEGER NOT NULL,"	  /* enum action_state */
	" attempts INTEGER NOT NULL,"
	" begun_ns INTEGER NOT NULL,"
	" ended_ns INTEGER NOT NULL,"
	" digest BLOB NOT NULL,"    /* SHA-256 of the canonical arguments */
	" arguments TEXT NOT NULL," /* their beginning, for people */
	" reference TEXT NOT NULL,"
	" note TEXT NOT NULL,"
	" result BLOB NOT NULL);"
	"CREATE INDEX actions_by_time ON actions (begun_ns)",
};
#define COLUMNS "key, state, attempts, begun_ns, ended_ns, digest, arguments, reference, note"

int actions_open(struct store *store, bool create, sqlite3 **ret_database, struct bobbin_error *error)
{
	sqlite3 *database;
	int code = database_open(store, create, &database, error);

	if (code < 0)
		return code;
	code = database_tables(database, "actions", TABLES, sizeof TABLES / sizeof *TABLES, error);
	if (code < 0) {
		database_close(database);
		return code;
	}
	*ret_database = database;
	return 0;
}

static const char *text_of(sqlite3_stmt *row, int column, struct arena *arena)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? arena_copy(arena, text, (size_t)sqlite3_column_bytes(row, column)) : NULL;
}

static int read_row(sqlite3_stmt *row, bool result, struct arena *arena, struct action_record *ret_record,
	struct bobbin_error *error)
{
	struct action_record record = {
		.key = text_of(row, 0, arena),
		.state = (enum action_state)sqlite3_column_int(row, 1),
		.attempts = (uint64_t)sqlite3_column_int64(row, 2),
		.begun_ns = sqlite3_column_int64(row, 3),
		.ended_ns = sqlite3_column_int64(row, 4),
		.arguments = text_of(row, 6, arena),
		.reference = text_of(row, 7, arena),
		.note = text_of(row, 8, arena),
		.result = {"", 0},
	};
	const void *digest = sqlite3_column_blob(row, 5);

	if (record.state < ACTION_BEGUN || record.state > ACTION_UNDONE || !digest ||
		sqlite3_column_bytes(row, 5) != SHA256_BYTES)
		return error_set(
			error, BOBBIN_ECORRUPT, "the journal of actions has a row that makes no sense");
	memcpy(record.digest, digest, SHA256_BYTES);
	if (result) {
		record.result.len = (size_t)sqlite3_column_bytes(row, 9);
		record.result.data = arena_copy(
			arena, record.result.len ? sqlite3_column_blob(row, 9) : "", record.result.len);
	}
	if (!record.key || !record.arguments || !record.reference || !record.note || !record.result.data)
		return error_set(error, BOBBIN_ENOMEM, "reading the journal of actions: out of memory");
	*ret_record = record;
	return 1;
}

int row_find(sqlite3 *database, struct slice key, struct arena *arena, struct action_record *ret_record,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = database_prepare(
		database, "SELECT " COLUMNS ", result FROM actions WHERE key = ?1", &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_text(statement, 1, key.data, (int)key.len, SQLITE_STATIC);
	code = database_step(statement, error);
	if (code == 1)
		code = read_row(statement, true, arena, ret_record, error);
	sqlite3_finalize(statement);
	return code;
}

/* 1: the table is there. */
static int has_table(sqlite3 *database, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = database_prepare(
		database, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'actions'", &statement, error);

	if (code < 0)
		return code;
	code = database_step(statement, error);
	sqlite3_finalize(statement);
	return code;
}

int row_each(sqlite3 *database, int (*each)(void *data, const struct action_record *record, struct bobbin_error *error),
	void *data, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct action_record record;
	sqlite3_stmt *statement;
	int code = has_table(database, error);

	if (code <= 0)
		return code;
	code = database_prepare(
		database, "SELECT " COLUMNS ", result FROM actions ORDER BY begun_ns, key", &statement, error);
	if (code < 0)
		return code;
	while ((code = database_step(statement, error)) == 1) {
		arena_reset(&arena);
		code = read_row(statement, true, &arena, &record, error);
		if (code == 1)
			code = each(data, &record, error);
		if (code)
			break;
	}
	sqlite3_finalize(statement);
	arena_release(&arena);
	return code;
}

int row_write(sqlite3 *database, const struct action_record *record, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = database_prepare(database,
		"INSERT OR REPLACE INTO actions (" COLUMNS ", result)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		&statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_text(statement, 1, record->key, -1, SQLITE_STATIC);
	sqlite3_bind_int(statement, 2, (int)record->state);
	sqlite3_bind_int64(statement, 3, (int64_t)record->attempts);
	sqlite3_bind_int64(statement, 4, record->begun_ns);
	sqlite3_bind_int64(statement, 5, record->ended_ns);
	sqlite3_bind_blob(statement, 6, record->digest, SHA256_BYTES, SQLITE_STATIC);
	sqlite3_bind_text(statement, 7, record->arguments, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 8, record->reference, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 9, record->note, -1, SQLITE_STATIC);
	sqlite3_bind_blob64(statement, 10, record->result.len ? record->result.data : "", record->result.len,
		SQLITE_STATIC);
	code = database_step(statement, error);
	sqlite3_finalize(statement);
	return code;
}

/* The folder of locks, opened; it is made when it is missing. */
static int lock_folder(struct store *store, int *ret_folder, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(store);
	int made = platform->make_dir_at(platform->context, store_dir(store), LOCK_FOLDER, 0700);

	if (made < 0 && made != -EEXIST)
		return error_set_os(error, -made, "making the folder %s", LOCK_FOLDER);
	*ret_folder = platform->open_at(platform->context, store_dir(store), LOCK_FOLDER,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	return *ret_folder < 0 ? error_set_os(error, -*ret_folder, "opening the folder %s", LOCK_FOLDER) : 0;
}

int action_lock_take(
	struct store *store, const char *key, struct action_lock_file *ret_lock, struct bobbin_error *error)
{
	uint8_t digest[SHA256_BYTES];
	int folder;
	int code = sha256_of(key, strlen(key), digest);

	if (code < 0)
		return error_set(error, code, "locking action %s: out of memory", key);
	code = lock_folder(store, &folder, error);
	if (code < 0)
		return code;
	hex_encode(digest, SHA256_BYTES, ret_lock->name);
	memcpy(ret_lock->name + strlen(ret_lock->name), ".lock", sizeof ".lock");
	code = file_open_locked(store_platform(store), folder, ret_lock->name, 0, &ret_lock->file, error);
	file_close(store_platform(store), folder);
	if (code < 0)
		ret_lock->file = -1;
	return code;
}

void action_lock_drop(struct store *store, struct action_lock_file *lock, bool remove)
{
	const struct platform *platform = store_platform(store);
	int folder;

	if (lock->file < 0)
		return;
	/* While it is held: whoever opened it before will see that it has lost its name, and look again. */
	if (remove && lock_folder(store, &folder, NULL) == 0) {
		platform->unlink_at(platform->context, folder, lock->name, 0);
		file_close(platform, folder);
	}
	file_close(platform, lock->file);
	lock->file = -1;
}

/* Begun, and nobody at it: nobody can say any more how it went. Nothing is written for that. */
static void see_whether_held(struct store *store, struct action_record *record)
{
	struct action_lock_file lock = {.file = -1};

	if (record->state != ACTION_BEGUN || action_lock_take(store, record->key, &lock, NULL) < 0)
		return;
	record->state = ACTION_UNKNOWN;
	record->note = "whoever began it ended without saying how it went";
	action_lock_drop(store, &lock, false);
}

int action_find(struct store *store, struct slice key, struct arena *arena, struct action_record *ret_record,
	struct bobbin_error *error)
{
	sqlite3 *database;
	int code = actions_open(store, false, &database, error);

	if (code == 0) {
		code = row_find(database, key, arena, ret_record, error);
		database_close(database);
	}
	if (code == 0 || code == BOBBIN_ENOTFOUND)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no action %.*s", (int)key.len, key.data);
	if (code < 0)
		return code;
	see_whether_held(store, ret_record);
	return 0;
}

static int collect(sqlite3_stmt *statement, struct arena *arena, struct action_record **ret_records,
	size_t *ret_count, struct bobbin_error *error)
{
	struct action_record *records = NULL;
	size_t count = 0, cap = 0;
	int code;

	while ((code = database_step(statement, error)) == 1) {
		if (count == cap) {
			size_t more = cap ? cap * 2 : 64;
			struct action_record *grown = arena_alloc(arena, more * sizeof *grown);
			if (!grown)
				return error_set(error, BOBBIN_ENOMEM, "listing actions: out of memory");
			if (count)
				memcpy(grown, records, count * sizeof *grown);
			records = grown;
			cap = more;
		}
		code = read_row(statement, false, arena, &records[count], error);
		if (code < 0)
			return code;
		count++;
	}
	*ret_records = records;
	*ret_count = count;
	return code;
}

/* One that is listed as begun may be unknown, so the state is looked at again when the locks have been asked.
 */
static size_t keep_state(
	struct store *store, enum action_state state, struct action_record *records, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		see_whether_held(store, &records[i]);
		if (!state || records[i].state == state)
			records[kept++] = records[i];
	}
	return kept;
}

int action_list(struct store *store, struct slice prefix, enum action_state state, struct arena *arena,
	struct action_record **ret_records, size_t *ret_count, struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	sqlite3 *database;
	int code = actions_open(store, false, &database, error);

	*ret_records = NULL;
	*ret_count = 0;
	if (code == BOBBIN_ENOTFOUND)
		return 0;
	if (code < 0)
		return code;
	code = database_prepare(database,
		"SELECT " COLUMNS " FROM actions WHERE substr(CAST(key AS BLOB), 1, ?2) = ?1"
		" ORDER BY begun_ns DESC, key",
		&statement, error);
	if (code == 0) {
		sqlite3_bind_blob(
			statement, 1, prefix.len ? prefix.data : "", (int)prefix.len, SQLITE_STATIC);
		sqlite3_bind_int64(statement, 2, (int64_t)prefix.len);
		code = collect(statement, arena, ret_records, ret_count, error);
		sqlite3_finalize(statement);
	}
	database_close(database);
	if (code == 0)
		*ret_count = keep_state(store, state, *ret_records, *ret_count);
	return code;
}
