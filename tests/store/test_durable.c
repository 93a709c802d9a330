/* SPDX-License-Identifier: MIT */
/* What is said to be on disk: no file has its name before its bytes are there, and no name is told before its folder has it. */
#include "store_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/backup.h"
#include "store/blob.h"
#include "store/file.h"

#define FILES_MAX 256

/* What a power cut could take away: of each file that is open whether it was written since its last sync, and whether
 * names were given or taken away in a folder since its last sync. */
static struct platform plain;
static const struct platform *world_table;
static bool dirty[FILES_MAX], is_counted[FILES_MAX];
static uint64_t folders[16]; /* by their inodes */
static size_t folder_count;
static unsigned too_early, named;

static int open_noting(void *context, int dir, const char *name, int flags, unsigned mode)
{
	int file = plain.open_at(context, dir, name, flags, mode);
	assert_true(file < FILES_MAX);
	if (file >= 0) {
		dirty[file] = false;
		/* Nothing of a session is lost with these. */
		is_counted[file] = strcmp(name, ".gitignore") != 0 && !strstr(name, ".index");
	}
	return file;
}

static ssize_t write_noting(void *context, int file, const void *data, size_t len)
{
	dirty[file] = is_counted[file];
	return plain.write(context, file, data, len);
}

static int sync_data_noting(void *context, int file)
{
	dirty[file] = false;
	return plain.sync_data(context, file);
}

static int sync_noting(void *context, int file)
{
	struct file_info info;

	assert_int_equal(plain.info(context, file, &info), 0);
	dirty[file] = false;
	for (size_t i = 0; i < folder_count; i++)
		if (folders[i] == info.inode)
			folders[i--] = folders[--folder_count];
	return plain.sync(context, file);
}

static int close_noting(void *context, int file)
{
	if (file >= 0 && dirty[file]) {
		print_message("a file was closed before it was synced\n");
		too_early++;
	}
	return plain.close(context, file);
}

static void assert_no_file_is_dirty(const char *name)
{
	for (int file = 0; file < FILES_MAX; file++) {
		if (dirty[file]) {
			print_message("%s has its name before its bytes were synced\n", name);
			too_early++;
		}
	}
}

/* Gives or takes away; what can be computed from a log may be lost. */
static void take_name(int dir, const char *name)
{
	char path[2 * SCRATCH_PATH_BYTES];
	struct file_info info;
	struct stat above;

	if (strstr(name, ".meta.json") || strstr(name, ".index") || strcmp(name, ".cache") == 0)
		return;
	named++;
	assert_true(folder_count < sizeof(folders) / sizeof(folders[0]));
	if (dir != PLATFORM_CWD) {
		assert_int_equal(plain.info(world_table->context, dir, &info), 0);
		folders[folder_count++] = info.inode;
		return;
	}
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(name, '/') - name), name);
	assert_int_equal(stat(path, &above), 0);
	folders[folder_count++] = above.st_ino;
}

static int rename_noting(void *context, int dir, const char *from, const char *to)
{
	assert_no_file_is_dirty(to);
	/* A parent's name is there before its fork's, and every name before the manifest that counts it. */
	if ((strcmp(to, "kid.jsonl") == 0 || strcmp(to, ".backup") == 0) && folder_count) {
		print_message("%s has its name before those before it were synced\n", to);
		too_early++;
	}
	take_name(dir, to);
	return plain.rename_at(context, dir, from, to);
}

static int link_noting(void *context, int dir, const char *from, const char *to)
{
	assert_no_file_is_dirty(to);
	take_name(dir, to);
	return plain.link_at(context, dir, from, to);
}

static int unlink_noting(void *context, int dir, const char *name, int flags)
{
	size_t len = strlen(name);

	if (*name != '.' && len > 6 && strcmp(name + len - 6, ".jsonl") == 0)
		take_name(dir, name);
	return plain.unlink_at(context, dir, name, flags);
}

static int make_dir_noting(void *context, int dir, const char *name, unsigned mode)
{
	int rc = plain.make_dir_at(context, dir, name, mode);
	if (rc == 0)
		take_name(dir, name);
	return rc;
}

static void note_from_here(struct world *world)
{
	plain = world->platform.table;
	world_table = &world->platform.table;
	memset(dirty, 0, sizeof(dirty));
	folder_count = 0;
	too_early = named = 0;
	world->platform.table.open_at = open_noting;
	world->platform.table.write = write_noting;
	world->platform.table.sync_data = sync_data_noting;
	world->platform.table.sync = sync_noting;
	world->platform.table.close = close_noting;
	world->platform.table.rename_at = rename_noting;
	world->platform.table.link_at = link_noting;
	world->platform.table.make_dir_at = make_dir_noting;
	world->platform.table.unlink_at = unlink_noting;
}

static void assert_all_is_on_disk(struct world *world)
{
	world->platform.table = plain;
	assert_true(named > 0);
	assert_int_equal(too_early, 0);
	assert_int_equal(folder_count, 0);
}

/* A session that was made is there after a power cut; "on return with 0 the folder is synced: it will not come back". */
static void session__is_on_disk_when_it_is_made_and_gone_when_it_is_deleted(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	note_from_here(&world);
	struct log *log = world_create(&world, "main");
	assert_all_is_on_disk(&world);
	log_close(log);
	note_from_here(&world);
	assert_int_equal(store_delete(world.store, slice_of("main"), &world.error), 0);
	assert_all_is_on_disk(&world);
	world_close(&world);
}

/* "A backup … usable at every moment": what it has copied, also to the end of a log that it had, is there before the manifest
 * that counts it. */
static void backup__is_on_disk_when_it_is_told(void **state)
{
	(void)state;
	struct store_backup counts;
	struct world world;
	char path[SCRATCH_PATH_BYTES + 16];

	world_open(&world, STORE_SYNC_FULL);
	snprintf(path, sizeof(path), "%s", world.dir);
	snprintf(strrchr(path, '/'), 16, "/backup");
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	log_close(log);
	log_close(world_fork(&world, "main", "kid", 1));
	mkdir(scratch_path(world.dir, "blobs"), 0700);
	world_write(&world, "blobs/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
	mkdir(scratch_path(world.dir, "main"), 0700);
	mkdir(scratch_path(world.dir, "main/notes"), 0700);
	world_write(&world, "main/notes/today.md", "buy milk");
	note_from_here(&world);
	assert_int_equal(store_backup(world.store, path, NULL, &counts, &world.error), 0);
	assert_all_is_on_disk(&world);
	log = world_log(&world, "main", LOG_WRITE);
	say(log, "assistant", "two");
	log_close(log);
	note_from_here(&world);
	assert_int_equal(store_backup(world.store, path, NULL, &counts, &world.error), 0);
	assert_true(counts.incremental);
	assert_all_is_on_disk(&world);
	world_close(&world);
}

/* Invariant 12 of the room: it is on disk, with its name, before a log line names it. */
static void blob__is_on_disk_when_it_is_told(void **state)
{
	(void)state;
	char digest[SHA256_HEX_BYTES];
	struct world world;
	int hold;

	world_open(&world, STORE_SYNC_FULL);
	note_from_here(&world);
	assert_int_equal(blob_hold(world.store, &hold, &world.error), 0);
	assert_int_equal(blob_write(world.store, hold, SLICE_LITERAL("abc"), true, digest, &world.error), 0);
	assert_all_is_on_disk(&world);
	blob_let_go(world.store, hold);
	assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	world_close(&world);
}

/* In any mode: what forks inherit has its new name on disk before the old one is taken away. */
static void copies_of_what_is_inherited__are_on_disk_when_their_parent_goes(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	log_close(log);
	log_close(world_fork(&world, "main", "kid", 1));
	note_from_here(&world);
	assert_int_equal(store_delete_materialized(world.store, slice_of("main"), &world.error), 0);
	assert_all_is_on_disk(&world);
	assert_true(scratch_exists(world.dir, "kid.base.jsonl"));
	world_close(&world);
}

/* ---- Replacing a file ------------------------------------------------------------------------------------
 */

static const char *folder;
static bool others_were_there;
static int old_file;

/* While we wait for the lock, the writer before us gives what he wrote its name, and one who was killed since leaves another. */
static int lock_after_others(void *context, int file, int operation)
{
	if (!others_were_there) {
		others_were_there = true;
		assert_int_equal(rename(scratch_path(folder, ".cat.tmp"), scratch_path(folder, "cat")), 0);
		scratch_write_text(folder, ".cat.tmp", "half");
		old_file = open(scratch_path(folder, "cat"), O_RDONLY);
	}
	return plain.lock(context, file, operation);
}

/* A file that has its name is never written into: whoever reads it has the old one or the new one. */
static void replace__of_a_file_whose_temporary_name_went_on_meanwhile(void **state)
{
	(void)state;
	struct world world;
	char text[16] = "";
	size_t len;

	world_open(&world, STORE_SYNC_FULL);
	scratch_write_text(world.dir, ".cat.tmp", "the one before");
	int dir = open(world.dir, O_RDONLY | O_DIRECTORY);
	plain = world.platform.table;
	folder = world.dir;
	others_were_there = false;
	world.platform.table.lock = lock_after_others;
	int rc = file_replace(&world.platform.table, dir, "cat", SLICE_LITERAL("mine"), true, &world.error);
	world.platform.table = plain;
	assert_int_equal(rc, 0);
	assert_true(others_were_there);
	char *now = scratch_read(world.dir, "cat", &len);
	assert_int_equal(len, 4);
	assert_memory_equal(now, "mine", 4);
	assert_int_equal(pread(old_file, text, sizeof(text) - 1, 0), strlen("the one before"));
	assert_string_equal(text, "the one before");
	assert_false(scratch_exists(world.dir, ".cat.tmp"));
	free(now);
	close(old_file);
	close(dir);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session__is_on_disk_when_it_is_made_and_gone_when_it_is_deleted),
		cmocka_unit_test(backup__is_on_disk_when_it_is_told),
		cmocka_unit_test(blob__is_on_disk_when_it_is_told),
		cmocka_unit_test(copies_of_what_is_inherited__are_on_disk_when_their_parent_goes),
		cmocka_unit_test(replace__of_a_file_whose_temporary_name_went_on_meanwhile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
