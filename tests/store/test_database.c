/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/database.h"
#include "store/store_test.h"

static const char *const STEPS[] = {
	"CREATE TABLE notes (text TEXT NOT NULL)",
	"ALTER TABLE notes ADD COLUMN owner TEXT",
};

static sqlite3 *open_database(struct world *world)
{
	sqlite3 *database = NULL;

	assert_int_equal(database_open(world->store, true, &database, &world->error), 0);
	return database;
}

static int64_t ask(sqlite3 *database, const char *sql)
{
	sqlite3_stmt *statement;
	struct bobbin_error error;
	int64_t value;

	assert_int_equal(database_prepare(database, sql, &statement, &error), 0);
	assert_int_equal(database_step(statement, &error), 1);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static void path_of(const struct world *world, const char *name, char *ret_path)
{
	assert_in_range(snprintf(ret_path, SCRATCH_PATH_BYTES + 32, "%s/%s", world->dir, name), 1,
		SCRATCH_PATH_BYTES + 31);
}

static void database__is_made_private_and_durable(void **state)
{
	struct world world;
	struct stat info;
	char path[SCRATCH_PATH_BYTES + 32];
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	mode_t mask = umask(0);
	sqlite3 *database = open_database(&world);
	umask(mask);
	path_of(&world, DATABASE_NAME, path);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(info.st_nlink, 1);
	assert_int_equal(ask(database, "PRAGMA synchronous"), 2);
	database_close(database);
	world_close(&world);
}

static void database__missing_is_not_found_and_not_made(void **state)
{
	struct world world;
	sqlite3 *database;
	char path[SCRATCH_PATH_BYTES + 32];
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	assert_int_equal(database_open(world.store, false, &database, &world.error), BOBBIN_ENOTFOUND);
	path_of(&world, DATABASE_NAME, path);
	assert_int_equal(access(path, F_OK), -1);
	world_close(&world);
}

static void database__link_in_its_place_is_refused(void **state)
{
	struct world world;
	sqlite3 *database;
	char path[SCRATCH_PATH_BYTES + 32], target[SCRATCH_PATH_BYTES + 32];
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	path_of(&world, DATABASE_NAME, path);
	path_of(&world, "elsewhere", target);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(database_open(world.store, true, &database, &world.error), BOBBIN_EREFUSED);
	assert_int_equal(access(target, F_OK), -1);
	world_close(&world);
}

static void database__that_is_none_is_corrupt(void **state)
{
	struct world world;
	sqlite3 *database;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, DATABASE_NAME,
		"this is no database, and long enough that nobody takes it for an empty one, nor its "
		"header for the beginning of one that was cut off");
	assert_int_equal(database_open(world.store, true, &database, &world.error), BOBBIN_ECORRUPT);
	assert_non_null(strstr(world.error.message, "doctor"));
	world_close(&world);
}

static void tables__are_brought_up_once(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	sqlite3 *database = open_database(&world);
	assert_int_equal(database_tables(database, "notes", STEPS, 1, &world.error), 0);
	assert_int_equal(database_run(database, "INSERT INTO notes VALUES ('kept')", &world.error), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(database_tables(database, "notes", STEPS, 2, &world.error), 0);
	assert_int_equal(
		ask(database, "SELECT count(*) FROM notes WHERE text = 'kept' AND owner IS NULL"), 1);
	assert_int_equal(database_tables(database, "notes", STEPS, 1, &world.error), BOBBIN_EREADONLY);
	assert_non_null(strstr(world.error.message, "newer"));
	database_close(database);
	world_close(&world);
}

static void tables__that_are_there_are_not_waited_for(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	sqlite3 *writer = open_database(&world);
	assert_int_equal(database_tables(writer, "notes", STEPS, 2, &world.error), 0);
	assert_int_equal(database_run(writer, "BEGIN IMMEDIATE", &world.error), 0);
	sqlite3 *reader = open_database(&world);
	sqlite3_busy_timeout(reader, 0);
	assert_int_equal(database_tables(reader, "notes", STEPS, 2, &world.error), 0);
	assert_int_equal(database_tables(reader, "notes", STEPS, 1, &world.error), BOBBIN_EREADONLY);
	assert_int_equal(database_tables(reader, "others", STEPS, 1, &world.error), BOBBIN_EBUSY);
	database_close(reader);
	database_close(writer);
	world_close(&world);
}

static void tables__step_that_fails_leaves_the_old_version(void **state)
{
	static const char *const broken[] = {
		"CREATE TABLE notes (text TEXT NOT NULL)", "CREATE TABLE other (x); CREATE TABLE notes (x)"};
	struct world world;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	sqlite3 *database = open_database(&world);
	assert_int_equal(database_tables(database, "notes", broken, 1, &world.error), 0);
	assert_true(database_tables(database, "notes", broken, 2, &world.error) < 0);
	assert_int_equal(ask(database, "SELECT count(*) FROM sqlite_master WHERE name = 'other'"), 0);
	assert_int_equal(ask(database, "SELECT version FROM rooms WHERE name = 'notes'"), 1);
	database_close(database);
	world_close(&world);
}

static void *open_and_count(void *data)
{
	struct world *world = data;
	struct bobbin_error error;
	sqlite3 *database;

	for (int i = 0; i < 20; i++) {
		if (database_open(world->store, true, &database, &error) < 0 ||
			database_tables(database, "notes", STEPS, 2, &error) < 0 ||
			database_run(database, "INSERT INTO notes (text) VALUES ('x')", &error) < 0)
			return data;
		database_close(database);
	}
	return NULL;
}

static void database__many_openers_at_once(void **state)
{
	struct world world;
	pthread_t threads[4];
	void *failed;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_count, &world), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	sqlite3 *database = open_database(&world);
	assert_int_equal(ask(database, "SELECT count(*) FROM notes"), 80);
	database_close(database);
	world_close(&world);
}

static void count_fault(void *data, const char *fault)
{
	(void)fault;
	++*(int *)data;
}

static void *write_a_while(void *data)
{
	usleep(100000);
	return sqlite3_exec(data, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? NULL : data;
}

/* As it is between its making and the first user's switch to a WAL, with another user who writes into it. */
static void database__without_a_wal_waits_for_who_writes_it(void **state)
{
	struct world world;
	char path[SCRATCH_PATH_BYTES + 32];
	sqlite3 *other;
	pthread_t writer;
	void *failed;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	path_of(&world, DATABASE_NAME, path);
	mode_t mask = umask(077);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	umask(mask);
	assert_int_equal(
		sqlite3_exec(other, "BEGIN IMMEDIATE; CREATE TABLE notes (text TEXT)", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(pthread_create(&writer, NULL, write_a_while, other), 0);
	sqlite3 *database = open_database(&world);
	assert_int_equal(pthread_join(writer, &failed), 0);
	assert_null(failed);
	assert_int_equal(ask(database, "SELECT count(*) FROM notes"), 0);
	assert_int_equal(ask(database, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
	database_close(database);
	sqlite3_close(other);
	world_close(&world);
}

static void check__finds_what_was_changed_inside(void **state)
{
	struct world world;
	char path[SCRATCH_PATH_BYTES + 32], junk[64];
	int faults = 0;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	assert_int_equal(database_check(world.store, count_fault, &faults, &world.error), 0);
	sqlite3 *database = open_database(&world);
	assert_int_equal(
		database_run(database,
			"CREATE TABLE notes (text); CREATE INDEX by_text ON notes (text);"
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
			"INSERT INTO notes SELECT 'number ' || i FROM n",
			&world.error),
		0);
	database_close(database);
	assert_int_equal(database_check(world.store, count_fault, &faults, &world.error), 0);
	assert_int_equal(faults, 0);
	path_of(&world, DATABASE_NAME, path);
	int file = open(path, O_WRONLY);
	memset(junk, 0xa5, sizeof junk);
	assert_int_equal(pwrite(file, junk, sizeof junk, 5 * 4096), sizeof junk);
	close(file);
	int code = database_check(world.store, count_fault, &faults, &world.error);
	assert_true(faults > 0 || code == BOBBIN_ECORRUPT);
	world_close(&world);
}

static void backup__is_whole_while_a_transaction_is_open(void **state)
{
	struct world world, copy;
	bool copied;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	world_open(&copy, STORE_SYNC_FULL);
	assert_int_equal(
		database_backup(world.store, store_dir(copy.store), DATABASE_NAME, &copied, &world.error), 0);
	assert_false(copied);
	sqlite3 *database = open_database(&world);
	assert_int_equal(database_tables(database, "notes", STEPS, 2, &world.error), 0);
	assert_int_equal(
		database_run(database, "INSERT INTO notes (text) VALUES ('committed')", &world.error), 0);
	assert_int_equal(
		database_run(database, "BEGIN; INSERT INTO notes (text) VALUES ('not yet')", &world.error),
		0);
	assert_int_equal(
		database_backup(world.store, store_dir(copy.store), DATABASE_NAME, &copied, &world.error), 0);
	assert_true(copied);
	assert_int_equal(
		database_backup(world.store, store_dir(copy.store), DATABASE_NAME, &copied, &world.error),
		BOBBIN_EEXIST);
	database_close(database);
	sqlite3 *other = open_database(&copy);
	assert_int_equal(ask(other, "SELECT count(*) FROM notes"), 1);
	database_close(other);
	world_close(&copy);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(database__is_made_private_and_durable),
		cmocka_unit_test(database__missing_is_not_found_and_not_made),
		cmocka_unit_test(database__link_in_its_place_is_refused),
		cmocka_unit_test(database__that_is_none_is_corrupt),
		cmocka_unit_test(tables__are_brought_up_once),
		cmocka_unit_test(tables__that_are_there_are_not_waited_for),
		cmocka_unit_test(tables__step_that_fails_leaves_the_old_version),
		cmocka_unit_test(database__many_openers_at_once),
		cmocka_unit_test(database__without_a_wal_waits_for_who_writes_it),
		cmocka_unit_test(check__finds_what_was_changed_inside),
		cmocka_unit_test(backup__is_whole_while_a_transaction_is_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
