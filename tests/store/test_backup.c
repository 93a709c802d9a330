/* SPDX-License-Identifier: MIT */
/* Backups: consistent while others write, incremental, usable at every moment. */
#include "store_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/alloc.h"
#include "sim/random.h"
#include "store/backup.h"
#include "store/check.h"
#include "store/database.h"

static const char *backup_path(struct world *world)
{
	static char path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "%s", world->dir);
	snprintf(strrchr(path, '/'), 16, "/backup");
	return path;
}

static struct store_backup back_up(struct world *world)
{
	struct store_backup counts;
	int rc = store_backup(world->store, backup_path(world), NULL, &counts, &world->error);

	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return counts;
}

static struct store *open_backup(struct world *world)
{
	struct store_options options = {.force_filesystem = true};
	struct store *copy;
	int rc = store_open(&world->platform.table, backup_path(world), &options, &copy, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return copy;
}

/* Every session of the backup opens without a fault; returns their number. */
static size_t all_open(struct world *world)
{
	struct store *copy = open_backup(world);
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	struct bobbin_error error = {0};
	size_t count;

	assert_int_equal(store_list(copy, NULL, &arena, &entries, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		struct log *log;
		int rc = log_open_raw(copy, slice_of(entries[i].id), false, &log, &error);
		if (rc)
			print_message("%s: %s\n", entries[i].id, error.message);
		assert_int_equal(rc, 0);
		assert_int_equal(log_fault_total(log), 0);
		log_close(log);
	}
	arena_release(&arena);
	store_close(copy);
	return count;
}

static void assert_same(struct world *world, const char *name)
{
	size_t left_len, right_len;
	char *left = scratch_read(world->dir, name, &left_len);
	char *right = scratch_read(backup_path(world), name, &right_len);
	assert_non_null(left);
	assert_non_null(right);
	assert_int_equal(left_len, right_len);
	assert_memory_equal(left, right, left_len);
	free(left);
	free(right);
}

static void fork_at_head(struct world *world, const char *parent, const char *child)
{
	struct log_fork_options fork = LOG_FORK_OPTIONS_INIT;
	struct log *log = world_log(world, parent, LOG_WRITE), *made;
	struct log_node node;
	fork.create.id = slice_of(child);
	fork.by_count = true;
	assert_int_equal(log_node(log, log_head(log), &node), 0);
	fork.count = node.depth + 1;
	int rc = log_fork(log, &fork, NULL, &made, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	say(made, "user", "mine");
	log_close(made);
	log_close(log);
}

static void grow(struct world *world, const char *id, int messages)
{
	struct log *log = world_log(world, id, LOG_WRITE);
	for (int i = 0; i < messages; i++)
		say(log, i % 2 ? "assistant" : "user", "some words that are copied");
	log_close(log);
}

static void scene(struct world *world)
{
	struct log *log = world_create(world, "a");
	say(log, "user", "one");
	log_close(log);
	fork_at_head(world, "a", "b");
	fork_at_head(world, "b", "c");
	mkdir(scratch_path(world->dir, "blobs"), 0700);
	world_write(world, "blobs/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
	mkdir(scratch_path(world->dir, "a"), 0700);
	mkdir(scratch_path(world->dir, "a/notes"), 0700);
	world_write(world, "a/notes/today.md", "buy milk");
}

static void a_backup__has_all_and_opens(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	sqlite3 *database;
	assert_int_equal(database_open(world.store, true, &database, NULL), 0);
	assert_int_equal(database_run(database, "CREATE TABLE t(x); INSERT INTO t VALUES(42)", NULL), 0);
	struct store_backup counts = back_up(&world);
	database_close(database);
	assert_int_equal(counts.sessions, 3);
	assert_false(counts.incremental);
	assert_int_equal(counts.bytes, counts.bytes_copied);
	assert_int_equal(all_open(&world), 3);
	static const char *const names[] = {"a.jsonl", "b.jsonl", "c.jsonl", "a.meta.json", "a/notes/today.md",
		"blobs/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_same(&world, names[i]);
	struct stat info;
	assert_int_equal(stat(scratch_path(backup_path(&world), "a.jsonl"), &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	struct store *copy = open_backup(&world);
	assert_int_equal(database_open(copy, false, &database, NULL), 0);
	sqlite3_stmt *statement;
	assert_int_equal(database_prepare(database, "SELECT x FROM t", &statement, NULL), 0);
	assert_int_equal(database_step(statement, NULL), 1);
	assert_int_equal(sqlite3_column_int(statement, 0), 42);
	sqlite3_finalize(statement);
	database_close(database);
	store_close(copy);
	world_close(&world);
}

static void the_next_backup__copies_what_came_since_and_takes_out_what_is_deleted(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	back_up(&world);
	struct store_backup counts = back_up(&world);
	assert_true(counts.incremental);
	assert_int_equal(counts.bytes_copied, 0);
	size_t before, after;
	free(scratch_read(world.dir, "a.jsonl", &before));
	grow(&world, "a", 10);
	free(scratch_read(world.dir, "a.jsonl", &after));
	assert_int_equal(store_delete(world.store, slice_of("c"), NULL), 0);
	unlink(scratch_path(world.dir, "a/notes/today.md"));
	counts = back_up(&world);
	assert_int_equal(counts.bytes_copied, after - before);
	assert_int_equal(counts.removed, 1);
	assert_int_equal(counts.sessions, 2);
	assert_same(&world, "a.jsonl");
	assert_false(scratch_exists(backup_path(&world), "c.jsonl"));
	assert_false(scratch_exists(backup_path(&world), "a/notes/today.md"));
	assert_int_equal(all_open(&world), 2);
	world_close(&world);
}

/* A session that is deleted while a backup is made may leave there what was copied before its log. */
static void what_lies_beside_no_log__is_taken_out_by_the_next(void **state)
{
	static const char *const LEFT[] = {"gone.meta.json", "x.meta.json"};
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	back_up(&world);
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
		scratch_write(backup_path(&world), LEFT[i], "{}", 2);
	scratch_write(backup_path(&world), "no session.meta.json", "{}", 2);
	struct store_backup counts = back_up(&world);
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
		assert_false(scratch_exists(backup_path(&world), LEFT[i]));
	assert_true(scratch_exists(backup_path(&world), "no session.meta.json")); /* nobody's of ours */
	assert_int_equal(counts.sessions, 3);
	assert_int_equal(counts.removed, 0);
	assert_int_equal(all_open(&world), 3);
	world_close(&world);
}

static void another_session_of_the_same_name__is_copied_anew(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	/* Its first line says when it was begun, and so which of the two it is; on a fast disk they would be of one millisecond. */
	fail_platform_set_time(&world.platform, INT64_C(1000000000), 0);
	struct log *log = world_create(&world, "a");
	say(log, "user", "the first a");
	log_close(log);
	back_up(&world);
	assert_int_equal(store_delete(world.store, slice_of("a"), NULL), 0);
	fail_platform_set_time(&world.platform, INT64_C(1001000000), 0);
	log = world_create(&world, "a");
	say(log, "user", "the second a, which is longer than the first one was");
	log_close(log);
	back_up(&world);
	assert_same(&world, "a.jsonl");
	world_close(&world);
}

static void a_restored_store__goes_on_with_its_backup(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	back_up(&world);
	/* Another inode, the same bytes: as cp makes it. */
	size_t len;
	char *text = scratch_read(world.dir, "a.jsonl", &len);
	unlink(scratch_path(world.dir, "a.jsonl"));
	scratch_write(world.dir, "a.jsonl", text, len);
	free(text);
	grow(&world, "a", 2);
	size_t longer;
	free(scratch_read(world.dir, "a.jsonl", &longer));
	assert_int_equal(back_up(&world).bytes_copied, longer - len);
	assert_same(&world, "a.jsonl");
	world_close(&world);
}

static int try_backup(struct world *world, const char *path)
{
	struct store_backup counts;
	return store_backup(world->store, path, NULL, &counts, &world->error);
}

static void what_is_no_backup__is_not_written_into(void **state)
{
	struct world world;
	char path[SCRATCH_PATH_BYTES + 32];
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	snprintf(path, sizeof(path), "%s/mine", world.dir);
	assert_int_equal(try_backup(&world, path), BOBBIN_EINVAL); /* in the store itself */
	assert_int_equal(try_backup(&world, world.dir), BOBBIN_EEXIST);
	snprintf(path, sizeof(path), "%s", backup_path(&world));
	mkdir(path, 0700);
	scratch_write_text(path, "thesis.txt", "mine");
	assert_int_equal(try_backup(&world, path), BOBBIN_EEXIST);
	unlink(scratch_path(path, "thesis.txt"));
	back_up(&world); /* an empty one is fine */
	/* Somebody goes on in the backup: that is not lost. */
	struct store *copy = open_backup(&world);
	struct log *log;
	assert_int_equal(log_open(copy, slice_of("a"), LOG_WRITE, &log, NULL), 0);
	say(log, "user", "written into the backup");
	log_close(log);
	store_close(copy);
	assert_int_equal(try_backup(&world, path), BOBBIN_EEXIST);
	assert_non_null(strstr(world.error.message, "written to"));
	grow(&world, "a", 20);
	assert_int_equal(try_backup(&world, path), BOBBIN_EEXIST);
	world_close(&world);
}

/* Changes the first byte of a text in the log; as a restored copy, with a file of its own, or where it is. */
static void change(struct world *world, const char *text, bool another_file)
{
	size_t len;
	char *bytes = scratch_read(world->dir, "a.jsonl", &len);
	char *found = memmem(bytes, len, text, strlen(text));

	assert_non_null(found);
	*found = 'X';
	if (another_file) {
		scratch_write(world->dir, "other", bytes, len);
		assert_int_equal(rename(scratch_path(world->dir, "other"), scratch_path(world->dir, "a.jsonl")), 0);
	} else {
		scratch_write(world->dir, "a.jsonl", bytes, len);
	}
	free(bytes);
}

/* Logs only grow: of one that does not begin with what the backup has of it, the backup may be the only place that has the rest. */
static void a_log_that_was_changed__is_refused(void **state)
{
	(void)state;

	/* At its end where it is; in the middle in a file of its own, which is read as a whole. */
	for (int another_file = 0; another_file < 2; another_file++) {
		struct world world;
		size_t before_len, after_len;
		world_open(&world, STORE_SYNC_NONE);
		struct log *log = world_create(&world, "a");
		for (int i = 0; i < 200; i++)
			say(log, "user", i == 100 ? "words in the middle" : i == 199 ? "words at the end" : "words between");
		log_close(log);
		back_up(&world);
		char *before = scratch_read(backup_path(&world), "a.jsonl", &before_len);
		assert_true(before_len > 3 * 4096);
		change(&world, another_file ? "words in the middle" : "words at the end", another_file);
		assert_int_equal(try_backup(&world, backup_path(&world)), BOBBIN_ECONFLICT);
		char *after = scratch_read(backup_path(&world), "a.jsonl", &after_len);
		assert_int_equal(after_len, before_len);
		assert_memory_equal(after, before, before_len);
		free(before);
		free(after);
		world_close(&world);
	}
}

/* A folder made anew may have the inode of the one that was deleted; when it was born tells them apart. */
static void a_backup_of_a_folder_that_was_born_at_another_time__is_anothers(void **state)
{
	struct world world;
	size_t len;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	scene(&world);
	back_up(&world);
	char *text = scratch_read(backup_path(&world), ".backup", &len), *born = strstr(text, "\"born\":");
	assert_non_null(born);
	born += strlen("\"born\":");
	if (*born != '0') { /* 0: the file system does not know */
		*born = *born == '1' ? '2' : '1';
		scratch_write(backup_path(&world), ".backup", text, len);
		assert_int_equal(store_delete(world.store, slice_of("c"), NULL), 0);
		assert_int_equal(try_backup(&world, backup_path(&world)), BOBBIN_ECONFLICT);
		assert_true(scratch_exists(backup_path(&world), "c.jsonl"));
	}
	free(text);
	world_close(&world);
}

/* ---- Failures */

/* `make soak`: every call. */
static uint64_t step(uint64_t nth)
{
	return getenv("BOBBIN_SOAK") || nth < 4 ? 1 : 9;
}

static int count_finding(void *data, const struct store_finding *finding)
{
	print_message("%s: %s, %s\n", finding->file, finding->kind, finding->message);
	++*(int *)data;
	return 0;
}

static void a_backup_that_is_killed__leaves_a_usable_one_and_can_be_done_again(void **state)
{
	int ran = 0;
	(void)state;
	for (uint64_t nth = 1;; nth += step(nth)) {
		struct world world;
		struct store_backup counts;
		world_open(&world, STORE_SYNC_FULL);
		world.platform.skip_sync = true;
		scene(&world);
		back_up(&world);
		grow(&world, "a", 3);
		fork_at_head(&world, "a", "d");
		fork_at_head(&world, "d", "e");
		fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
		world.platform.fail_after = true;
		int rc = store_backup(world.store, backup_path(&world), NULL, &counts, NULL);
		bool failed = world.platform.failed;
		world.platform.fail_after = false;
		fail_platform_heal(&world.platform);
		assert_true(failed || rc == 0);
		/* Whatever is there can be used, and every fork in it has its parent. */
		struct store *copy = open_backup(&world);
		struct arena arena = ARENA_INIT;
		struct store_entry *entries;
		size_t count;
		assert_int_equal(store_list(copy, NULL, &arena, &entries, &count, NULL), 0);
		assert_true(count >= 3);
		for (size_t i = 0; i < count; i++) {
			struct log *log;
			int opened = log_open_raw(copy, slice_of(entries[i].id), false, &log, &world.error);
			if (opened)
				print_message("call %u: %s\n", (unsigned)nth, world.error.message);
			assert_int_equal(opened, 0);
			/* A meta was there before the lines that it counts: they were said to be lost. */
			int found = 0;
			const struct store_check check = {.found = count_finding, .data = &found};
			assert_int_equal(store_check_session(copy, log, &check, NULL), 0);
			assert_int_equal(found, 0);
			log_close(log);
		}
		arena_release(&arena);
		store_close(copy);
		assert_int_equal(back_up(&world).sessions, 5);
		assert_int_equal(all_open(&world), 5);
		static const char *const names[] = {"a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl", "e.jsonl"};
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			assert_same(&world, names[i]);
		world_close(&world);
		ran++;
		if (!failed)
			break;
	}
	print_message("# %d backups killed at a call each, of one that is brought up to date\n", ran);
	assert_true(ran > 10);
}

static void a_first_backup_that_is_killed__has_no_name_yet_and_is_taken_over(void **state)
{
	int ran = 0;
	(void)state;
	for (uint64_t nth = 1;; nth += step(nth), ran++) {
		struct world world;
		struct store_backup counts;
		world_open(&world, STORE_SYNC_FULL);
		world.platform.skip_sync = true;
		scene(&world);
		fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
		world.platform.fail_after = true;
		store_backup(world.store, backup_path(&world), NULL, &counts, NULL);
		bool failed = world.platform.failed;
		world.platform.fail_after = false;
		fail_platform_heal(&world.platform);
		struct stat info;
		if (stat(backup_path(&world), &info) == 0)
			assert_int_equal(all_open(&world), 3); /* only whole ones have the name */
		assert_int_equal(back_up(&world).sessions, 3);
		assert_int_equal(all_open(&world), 3);
		world_close(&world);
		if (!failed)
			break;
	}
	print_message("# %d backups killed at a call each, of a first one\n", ran);
}

static void a_full_disk__is_said_and_the_earlier_backup_stays(void **state)
{
	(void)state;
	for (uint64_t nth = 1; nth < 8; nth++) {
		struct world world;
		world_open(&world, STORE_SYNC_FULL);
		world.platform.skip_sync = true;
		scene(&world);
		back_up(&world);
		grow(&world, "a", 3);
		fork_at_head(&world, "a", "d");
		fail_platform_plan(&world.platform, CALL_WRITE, nth, ENOSPC);
		int rc = try_backup(&world, backup_path(&world));
		bool failed = world.platform.failed;
		fail_platform_heal(&world.platform);
		/* Writes of caches may fail without harm. */
		assert_true(rc == 0 || (failed && rc == BOBBIN_ENOSPC));
		if (rc)
			assert_non_null(strstr(world.error.message, "can be used, and is not up to date"));
		size_t count = all_open(&world);
		assert_true(count == 3 || count == 4);
		fail_platform_plan_short(&world.platform, nth, 5, ENOSPC);
		rc = try_backup(&world, backup_path(&world));
		fail_platform_heal(&world.platform);
		assert_true(rc == 0 || rc == BOBBIN_ENOSPC);
		all_open(&world);
		assert_int_equal(back_up(&world).sessions, 4);
		assert_same(&world, "a.jsonl");
		world_close(&world);
	}
}

static void a_backup_without_memory__fails_cleanly(void **state)
{
	struct world world;
	struct store_backup counts;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world.platform.skip_sync = true;
	scene(&world);
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = store_backup(world.store, backup_path(&world), NULL, &counts, NULL);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed)
			break;
		assert_true(rc == 0 || rc == BOBBIN_ENOMEM);
	}
	assert_int_equal(all_open(&world), 3);
	/* One that is brought up to date, and whose it is, are told from a log each: the same, another one, one begun in the store since. */
	grow(&world, "a", 2);
	fork_at_head(&world, "a", "d");
	assert_int_equal(store_delete(world.store, slice_of("c"), NULL), 0);
	struct log *log = world_create(&world, "c");
	say(log, "user", "another c");
	log_close(log);
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = store_backup(world.store, backup_path(&world), NULL, &counts, NULL);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed)
			break;
		assert_true(rc == 0 || rc == BOBBIN_ENOMEM);
	}
	assert_int_equal(all_open(&world), 4);
	assert_same(&world, "c.jsonl");
	world_close(&world);
}

/* ---- Others at work */

#define WRITERS 3

/* Appends, forks and deletes as fast as it can, until it is killed. */
static void work(const char *dir, unsigned writer)
{
	struct store_options options = {.force_filesystem = true, .sync = STORE_SYNC_NONE};
	struct sim_random random = {writer + 1};
	struct store *store;
	unsigned made = 0;

	if (store_open(platform_default(), dir, &options, &store, NULL))
		_exit(3);
	for (unsigned turn = 0;; turn++, usleep(3000)) {
		char id[32], child[32];
		struct log *log, *other;
		struct log_fork_options fork = LOG_FORK_OPTIONS_INIT;
		struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"words and more words\"}");
		snprintf(id, sizeof(id), "w%u-%u", writer, made ? (unsigned)sim_random_below(&random, made) : 0);
		int rc = log_open(store, slice_of(turn % 3 && made ? id : "root"), LOG_WRITE, &log, NULL);
		if (rc)
			continue;
		if (log_append(log, &record, 1, NULL, NULL, NULL))
			_exit(4);
		snprintf(child, sizeof(child), "w%u-%u", writer, made);
		fork.create.id = slice_of(child);
		fork.by_count = true;
		fork.count = 1;
		if (turn % 4 == 0 && log_fork(log, &fork, NULL, &other, NULL) == 0) {
			made++;
			log_append(other, &record, 1, NULL, NULL, NULL);
			log_close(other);
		}
		log_close(log);
		if (turn % 7 == 0 && made > 2)
			store_delete(store, slice_of(id), NULL);
	}
}

static void writers_that_append_fork_and_delete__do_not_make_it_inconsistent(void **state)
{
	struct world world;
	pid_t writers[WRITERS];
	(void)state;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "root");
	say(log, "user", "one");
	log_close(log);
	fflush(NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		if ((writers[i] = fork()) == 0)
			work(world.dir, i);
	for (int round = 0; round < 5; round++) {
		usleep(60000);
		back_up(&world);
		assert_true(all_open(&world) >= 1);
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		kill(writers[i], SIGKILL);
		waitpid(writers[i], NULL, 0);
	}
	back_up(&world);
	assert_same(&world, "root.jsonl");
	world_close(&world);
}

/* A parent is deleted at each moment of a backup, its fork given a copy: the fork can be opened in the backup. */
static const struct world *deleting;
static uint64_t looks_left; /* until it is; 0: it was, or is not to be */
static int (*plain_open_at)(void *context, int dir, const char *name, int flags, unsigned mode);
static int (*plain_info_at)(void *context, int dir, const char *name, struct file_info *ret_info);

static void delete_in_time(void)
{
	struct store *other;

	if (looks_left == 0 || --looks_left > 0)
		return;
	assert_int_equal(store_open(platform_default(), deleting->dir, NULL, &other, NULL), 0);
	assert_int_equal(store_delete_materialized(other, slice_of("main"), NULL), 0);
	store_close(other);
}

static int open_after_deletion(void *context, int dir, const char *name, int flags, unsigned mode)
{
	delete_in_time();
	return plain_open_at(context, dir, name, flags, mode);
}

static int look_after_deletion(void *context, int dir, const char *name, struct file_info *ret_info)
{
	delete_in_time();
	return plain_info_at(context, dir, name, ret_info);
}

static void parent_deleted_at_each_moment__leaves_forks_that_open(void **state)
{
	(void)state;
	bool over = false;

	for (uint64_t nth = 1; !over; nth++) {
		struct world world;
		world_open(&world, STORE_SYNC_NONE);
		struct log *log = world_create(&world, "main"), *child;
		struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
		say(log, "user", "question");
		back_up(&world);
		say(log, "assistant", "answer"); /* the backup has a main that is too short for the fork */
		options.at = slice_of("m2");
		options.create.id = slice_of("child");
		assert_int_equal(log_fork(log, &options, NULL, &child, NULL), 0);
		say(child, "user", "and then?");
		log_close(child);
		log_close(log);
		deleting = &world;
		plain_open_at = world.platform.table.open_at;
		plain_info_at = world.platform.table.info_at;
		world.platform.table.open_at = open_after_deletion;
		world.platform.table.info_at = look_after_deletion;
		looks_left = nth;
		struct store_backup counts;
		int rc = store_backup(world.store, backup_path(&world), NULL, &counts, &world.error);
		over = looks_left > 0; /* it was done before its turn came */
		looks_left = 0;
		world.platform.table.open_at = plain_open_at;
		world.platform.table.info_at = plain_info_at;
		if (rc)
			print_message("call %llu: %s\n", (unsigned long long)nth, world.error.message);
		assert_int_equal(rc, 0);
		struct store *copy = open_backup(&world);
		assert_int_equal(log_open(copy, slice_of("child"), LOG_READ, &log, &world.error), 0);
		assert_int_equal(log_node_count(log), 3);
		log_close(log);
		store_close(copy);
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_backup__has_all_and_opens),
		cmocka_unit_test(the_next_backup__copies_what_came_since_and_takes_out_what_is_deleted),
		cmocka_unit_test(what_lies_beside_no_log__is_taken_out_by_the_next),
		cmocka_unit_test(another_session_of_the_same_name__is_copied_anew),
		cmocka_unit_test(a_restored_store__goes_on_with_its_backup),
		cmocka_unit_test(what_is_no_backup__is_not_written_into),
		cmocka_unit_test(a_log_that_was_changed__is_refused),
		cmocka_unit_test(a_backup_of_a_folder_that_was_born_at_another_time__is_anothers),
		cmocka_unit_test(a_backup_that_is_killed__leaves_a_usable_one_and_can_be_done_again),
		cmocka_unit_test(a_first_backup_that_is_killed__has_no_name_yet_and_is_taken_over),
		cmocka_unit_test(a_full_disk__is_said_and_the_earlier_backup_stays),
		cmocka_unit_test(a_backup_without_memory__fails_cleanly),
		cmocka_unit_test(writers_that_append_fork_and_delete__do_not_make_it_inconsistent),
		cmocka_unit_test(parent_deleted_at_each_moment__leaves_forks_that_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
