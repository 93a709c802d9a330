/* SPDX-License-Identifier: MIT */
/*
 * A disk that is really full: a tmpfs of a few pages in a mount namespace of this process alone. Skipped
 * where that may not be mounted (no root, no CAP_SYS_ADMIN).
 */
#include "store_test.h"

#include <sched.h>
#include <sys/mount.h>

#define DISK_OPTIONS "size=256k,nr_inodes=64,mode=700"
#define TEXT_BYTES_MAX 30000

struct disk {
	char dir[SCRATCH_PATH_BYTES];
	struct store *store;
};

static bool mount_disk(struct disk *disk)
{
	struct store_options options = {.create = true};
	char path[SCRATCH_PATH_BYTES + 8];

	scratch_make(disk->dir);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("tmpfs", disk->dir, "tmpfs", 0, DISK_OPTIONS)) {
		scratch_remove(disk->dir);
		return false;
	}
	snprintf(path, sizeof(path), "%s/store", disk->dir);
	assert_int_equal(store_open(platform_default(), path, &options, &disk->store, NULL), 0);
	return true;
}

static void unmount_disk(struct disk *disk)
{
	store_close(disk->store);
	assert_int_equal(umount(disk->dir), 0);
	scratch_remove(disk->dir);
}

static int add_text(
	struct log *log, unsigned number, size_t length, struct log_ack *ret_ack, struct bobbin_error *error)
{
	static char text[TEXT_BYTES_MAX + 100];
	int start = snprintf(text, sizeof(text), "{\"role\":\"user\",\"n\":%u,\"content\":\"", number);

	memset(text + start, 'x', length);
	memcpy(text + start + length, "\"}", 3);
	struct slice record = {text, (size_t)start + length + 2};
	return log_append(log, &record, 1, NULL, ret_ack, error);
}

/* The log has these messages and nothing else, whole. */
static void check_log(struct store *store, const char *id, unsigned count)
{
	struct bobbin_error error = {0};
	struct log *log;

	assert_int_equal(log_open(store, slice_of(id), LOG_READ, &log, &error), 0);
	assert_int_equal(log_node_count(log), count);
	assert_int_equal(log_fault_total(log), 0);
	for (uint32_t node = 0; node < count; node++) {
		struct arena arena = ARENA_INIT;
		struct message message;
		char number[32];
		assert_int_equal(log_message(log, node, &arena, &message, &error), 0);
		assert_int_equal(message.seq, node + 1);
		snprintf(number, sizeof(number), "\"n\":%u,", node + 1);
		assert_non_null(memmem(message.record.text, message.record.len, number, strlen(number)));
		arena_release(&arena);
	}
	log_close(log);
}

static struct log *new_log(struct store *store, const char *id)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;

	options.id = slice_of(id);
	assert_int_equal(log_create(store, &options, &log, NULL), 0);
	return log;
}

/* Appends until nothing fits any more; returns how many there are. */
static unsigned fill(struct log *log, unsigned count, size_t length)
{
	struct bobbin_error error = {0};
	struct log_ack ack;
	int rc;

	while ((rc = add_text(log, count + 1, length, &ack, &error)) == 0) {
		count++;
		assert_int_equal(ack.seq, count);
	}
	assert_int_equal(rc, BOBBIN_ENOSPC);
	assert_int_equal(ack.seq, 0);
	assert_non_null(strstr(error.message, "main.jsonl"));
	return count;
}

static void disk_full__nothing_is_half_there_and_space_helps(void **state)
{
	(void)state;
	static const size_t LENGTHS[] = {17, 300, 3000, 4096, 5000, TEXT_BYTES_MAX};
	static char ballast[32768];
	struct disk disk;

	if (!mount_disk(&disk)) {
		print_message("# a tmpfs cannot be mounted here\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(LENGTHS) / sizeof(LENGTHS[0]); i++) {
		scratch_write(disk.dir, "ballast", ballast, sizeof(ballast));
		struct log *log = new_log(disk.store, "main");
		/* Large ones until it is full, then ever smaller ones, down to the last byte. */
		unsigned count = fill(log, 0, TEXT_BYTES_MAX);
		count = fill(log, count, LENGTHS[i]);
		check_log(disk.store, "main", count);
		count = fill(log, count, 0);
		check_log(disk.store, "main", count);
		scratch_write(disk.dir, "ballast", "", 0);
		struct log_ack ack;
		assert_int_equal(add_text(log, ++count, LENGTHS[i], &ack, NULL), 0);
		assert_int_equal(ack.seq, count);
		log_close(log);
		check_log(disk.store, "main", count);
		assert_int_equal(store_delete(disk.store, SLICE_LITERAL("main"), NULL), 0);
	}
	unmount_disk(&disk);
}

static void disk_full__no_session_is_half_made_and_one_can_be_deleted(void **state)
{
	(void)state;
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log_fork_options fork = LOG_FORK_OPTIONS_INIT;
	struct bobbin_error error = {0};
	struct log *other = NULL;
	struct disk disk;

	if (!mount_disk(&disk)) {
		print_message("# a tmpfs cannot be mounted here\n");
		skip();
	}
	struct log *log = new_log(disk.store, "main");
	unsigned count = fill(log, 0, TEXT_BYTES_MAX);
	count = fill(log, count, 0);
	options.id = SLICE_LITERAL("other");
	assert_int_equal(log_create(disk.store, &options, &other, &error), BOBBIN_ENOSPC);
	assert_false(store_has(disk.store, options.id));
	fork.create.id = SLICE_LITERAL("other");
	fork.by_count = true;
	fork.count = 1;
	assert_int_equal(log_fork(log, &fork, NULL, &other, &error), BOBBIN_ENOSPC);
	assert_false(store_has(disk.store, options.id));
	check_log(disk.store, "main", count);
	log_close(log);
	assert_int_equal(store_delete(disk.store, SLICE_LITERAL("main"), &error), 0);
	log_close(new_log(disk.store, "other"));
	unmount_disk(&disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disk_full__nothing_is_half_there_and_space_helps),
		cmocka_unit_test(disk_full__no_session_is_half_made_and_one_can_be_deleted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
