/* SPDX-License-Identifier: MIT */
/* What is said to be on disk: no file has its name before its bytes are there, and no name is told before its folder has it. */
#include "store_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include "store/backup.h"
#include "store/blob.h"

#define FILES_MAX 256

/* What a power cut could take away: of each file that is open whether it was written since its last sync, and whether
 * a name was given since the last sync of a folder. */
static struct platform plain;
static bool dirty[FILES_MAX], is_counted[FILES_MAX];
static bool name_is_new;
static unsigned too_early, named, written;

static int open_noting(void *context, int dir, const char *name, int flags, unsigned mode)
{
	int file = plain.open_at(context, dir, name, flags, mode);
	assert_true(file < FILES_MAX);
	if (file >= 0) {
		dirty[file] = false;
		/* Written once, when a folder is made: nothing of a session is lost with it. */
		is_counted[file] = strcmp(name, ".gitignore") != 0;
	}
	return file;
}

static ssize_t write_noting(void *context, int file, const void *data, size_t len)
{
	dirty[file] = is_counted[file];
	written++;
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
	if (S_ISDIR(info.mode))
		name_is_new = false;
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

static int rename_noting(void *context, int dir, const char *from, const char *to)
{
	for (int file = 0; file < FILES_MAX; file++) {
		if (dirty[file]) {
			print_message("%s has its name before its bytes were synced\n", to);
			too_early++;
		}
	}
	name_is_new = true;
	named++;
	return plain.rename_at(context, dir, from, to);
}

static void note_from_here(struct world *world)
{
	plain = world->platform.table;
	memset(dirty, 0, sizeof(dirty));
	name_is_new = false;
	too_early = named = written = 0;
	world->platform.table.open_at = open_noting;
	world->platform.table.write = write_noting;
	world->platform.table.sync_data = sync_data_noting;
	world->platform.table.sync = sync_noting;
	world->platform.table.close = close_noting;
	world->platform.table.rename_at = rename_noting;
}

static void assert_all_is_on_disk(struct world *world)
{
	world->platform.table = plain;
	assert_true(written > 0 && named > 0);
	assert_int_equal(too_early, 0);
	assert_false(name_is_new);
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
	assert_int_equal(blob_hold(world.store, &hold, &world.error), 0);
	note_from_here(&world);
	assert_int_equal(blob_write(world.store, hold, SLICE_LITERAL("abc"), true, digest, &world.error), 0);
	assert_all_is_on_disk(&world);
	blob_let_go(world.store, hold);
	assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backup__is_on_disk_when_it_is_told),
		cmocka_unit_test(blob__is_on_disk_when_it_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
