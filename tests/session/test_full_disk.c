/* SPDX-License-Identifier: MIT */
/*
 * A disk that is really full, for what is more than an append: imports, forks, backups, compactions, facts, actions, files of
 * the workspace, and index files that find no room beside an append that did. Each is tried with no page free, with one, with
 * two, until there is enough. It is done or it says that the disk is full; the store is as before or as after; and it works
 * once there is room. The disk is a tmpfs in a mount namespace of this process alone, in a user namespace of its own where that
 * must be; skipped where neither is allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "session/handles.h"
#include "store/store_internal.h"
#include "support/scratch.h"
#include "whole.h"

#define DISK_OPTIONS "size=1536k,nr_inodes=256,mode=700"
#define PAGE_BYTES 4096
#define PAGES_MAX 300
#define KEY "run_42:send"

struct disk {
	char dir[SCRATCH_PATH_BYTES], store[SCRATCH_PATH_BYTES], backup[SCRATCH_PATH_BYTES];
};

/* ---- The disk ---- */

static void write_line(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);

	if (file >= 0) {
		if (write(file, text, strlen(text)) < 0)
			print_message("%s cannot be written\n", path);
		close(file);
	}
}

static bool own_mounts(void)
{
	char map[64];

	if (unshare(CLONE_NEWNS) == 0)
		return true;
	snprintf(map, sizeof(map), "0 %u 1\n", (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	write_line("/proc/self/setgroups", "deny");
	write_line("/proc/self/uid_map", map);
	return true;
}

static bool can_mount;

static int find_out(void **state)
{
	char dir[SCRATCH_PATH_BYTES];

	(void)state;
	scratch_make(dir);
	can_mount = own_mounts() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount("tmpfs", dir, "tmpfs", 0, DISK_OPTIONS) == 0;
	if (can_mount)
		umount(dir);
	scratch_remove(dir);
	return 0;
}

/* All but so many pages. */
static void fill_disk(const struct disk *disk, uint64_t pages_left)
{
	static char page[PAGE_BYTES];
	struct statvfs info;
	int file = open(scratch_path(disk->dir, "ballast"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(file >= 0);
	assert_int_equal(statvfs(disk->dir, &info), 0);
	for (uint64_t free_pages = info.f_bfree * info.f_bsize / PAGE_BYTES; free_pages > pages_left; free_pages--)
		assert_int_equal(write(file, page, sizeof(page)), sizeof(page));
	close(file);
}

static void clear_disk(const struct disk *disk)
{
	unlink(scratch_path(disk->dir, "ballast"));
}

static bobbin_store *open_store(const struct disk *disk)
{
	struct bobbin_error error = {0};
	bobbin_store *store;
	int rc = bobbin_store_open(disk->store, NULL, &store, &error);

	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	store->store->index_step = 1;
	store->store->catalogue_step = 1;
	store->store->stamp_tick_ns = -1;
	return store;
}

static void say(bobbin_session *session, unsigned number, size_t length)
{
	static char text[6000];
	int start = snprintf(text, sizeof(text), "number %u ", number);

	memset(text + start, 'x', length);
	assert_int_equal(bobbin_session_append_text(session, number % 2 ? "assistant" : "user", text,
				 (size_t)start + length, NULL, NULL), 0);
}

/* main with a conversation that can be compacted, files with a file, a fact and nothing in the journal. */
static void prepare(struct disk *disk)
{
	bobbin_memory *memory;
	bobbin_session *session;

	scratch_make(disk->dir);
	assert_int_equal(mount("tmpfs", disk->dir, "tmpfs", 0, DISK_OPTIONS), 0);
	snprintf(disk->store, sizeof(disk->store), "%s", scratch_path(disk->dir, "store"));
	snprintf(disk->backup, sizeof(disk->backup), "%s", scratch_path(disk->dir, "backup"));
	bobbin_store *store = open_store(disk);
	assert_int_equal(bobbin_session_open(store, "main", NULL, &session, NULL), 0);
	for (unsigned i = 0; i < 24; i++)
		say(session, i, 1500);
	bobbin_session_close(session);
	assert_int_equal(bobbin_session_open(store, "files", NULL, &session, NULL), 0);
	assert_int_equal(bobbin_file_put(session, "a.txt", "one", 3, NULL), 0);
	bobbin_session_close(session);
	assert_int_equal(bobbin_memory_open(store, "ana", &memory, NULL), 0);
	assert_int_equal(bobbin_memory_add(memory, "I live in Shanghai.", 19, NULL, NULL, NULL), 0);
	bobbin_memory_close(memory);
	bobbin_store_close(store);
}

static void finish(struct disk *disk)
{
	assert_int_equal(umount(disk->dir), 0);
	scratch_remove(disk->dir);
}

/* ---- What is there ---- */

/* Sessions, facts, the journal. For the caller to free. */
static char *all_of(const struct disk *disk)
{
	static const char *const QUESTIONS[] = {"Where do I live?", "Which colour do I like?"};
	char *sessions = whole_store(disk->store);
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	bobbin_store *store = open_store(disk);
	bobbin_memory *memory;
	bobbin_actions *actions;
	const struct bobbin_action_info *action;

	buffer_add_text(&out, sessions);
	free(sessions);
	assert_int_equal(bobbin_memory_open(store, "ana", &memory, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct bobbin_fact *fact;
		bobbin_facts *facts;
		assert_int_equal(
			bobbin_memory_search(memory, QUESTIONS[i], strlen(QUESTIONS[i]), NULL, &facts, NULL), 0);
		while ((fact = bobbin_facts_next(facts)) != NULL)
			buffer_addf(&out, "f%llu %s\n", (unsigned long long)fact->number, fact->text);
		bobbin_facts_close(facts);
	}
	bobbin_memory_close(memory);
	if (bobbin_actions_find(store, KEY, &actions, NULL) == 0) {
		while ((action = bobbin_actions_next(actions)) != NULL)
			buffer_addf(&out, "%s %s %.*s\n", action->key, bobbin_action_state_name(action->state),
				(int)action->result_len, (const char *)action->result);
		bobbin_actions_close(actions);
	}
	bobbin_store_close(store);
	char *text = strdup(buffer_slice(&out).data);
	buffer_release(&out);
	return text;
}

/* ---- What is done ---- */

static int with_session(bobbin_store *store, const char *id, struct bobbin_error *error,
	int (*each)(bobbin_session *session, struct bobbin_error *error))
{
	bobbin_session *session;
	int rc = bobbin_session_open(store, id, NULL, &session, error);

	if (rc)
		return rc;
	rc = each(session, error);
	bobbin_session_close(session);
	return rc;
}

static int append_in(bobbin_session *session, struct bobbin_error *error)
{
	return bobbin_session_append_text(session, "user", "one more", 8, NULL, error);
}

static int fork_in(bobbin_session *session, struct bobbin_error *error)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;

	options.id = "child";
	return bobbin_session_fork(session, "5", &options, NULL, error);
}

static int put_in(bobbin_session *session, struct bobbin_error *error)
{
	static char content[9000];

	memset(content, 'y', sizeof(content));
	return bobbin_file_put(session, "a.txt", content, sizeof(content), error);
}

static int compact_in(bobbin_session *session, struct bobbin_error *error)
{
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	bobbin_compaction *compaction;

	window.window = 8000;
	options.window = &window;
	options.force = 1;
	int rc = bobbin_session_compact(session, &options, &compaction, error);
	if (!rc)
		bobbin_compaction_free(compaction);
	return rc;
}

static int do_append(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	(void)disk;
	return with_session(store, "main", error, append_in);
}

static int do_fork(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	(void)disk;
	return with_session(store, "main", error, fork_in);
}

static int do_put(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	(void)disk;
	return with_session(store, "files", error, put_in);
}

static int do_compact(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	(void)disk;
	return with_session(store, "main", error, compact_in);
}

static int do_backup(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	return bobbin_backup(store, disk->backup, NULL, error);
}

static int do_import(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	struct buffer text = BUFFER_INIT(SIZE_MAX - 1);
	bobbin_import *import;

	(void)disk;
	buffer_add_text(&text, "{\"messages\":[");
	for (int i = 0; i < 40; i++)
		buffer_addf(&text, "%s{\"role\":\"%s\",\"content\":\"%0500d\"}", i ? "," : "",
			i % 2 ? "assistant" : "user", i);
	buffer_add_text(&text, "]}\n");
	options.id = "imported";
	struct slice data = buffer_slice(&text);
	int rc = bobbin_import_data(store, data.data, data.len, &options, &import, error);
	if (!rc)
		bobbin_import_free(import);
	buffer_release(&text);
	return rc;
}

static int do_fact(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	bobbin_memory *memory;
	int rc = bobbin_memory_open(store, "ana", &memory, error);

	(void)disk;
	if (rc)
		return rc;
	rc = bobbin_memory_add(memory, "My favourite colour is green.", 29, NULL, NULL, error);
	bobbin_memory_close(memory);
	return rc;
}

/* An action that was begun and could not be ended is unknown: the next one is told, finds out, and ends it. */
static int do_action(const struct disk *disk, bobbin_store *store, struct bobbin_error *error)
{
	bobbin_action *action;
	int rc = bobbin_action_begin(store, KEY, "{}", 2, NULL, &action, error);

	(void)disk;
	if (rc < 0)
		return rc;
	assert_true(rc == BOBBIN_ACTION_RUN || rc == BOBBIN_ACTION_UNSETTLED);
	rc = bobbin_action_end(action, BOBBIN_ACTION_DONE, "email_918", 9, NULL, NULL, error);
	bobbin_action_close(action);
	return rc;
}

static const struct operation {
	const char *name;
	int (*run)(const struct disk *disk, bobbin_store *store, struct bobbin_error *error);
} OPERATIONS[] = {
	{"append, with an index", do_append},
	{"fork", do_fork},
	{"write a file", do_put},
	{"compact", do_compact},
	{"backup", do_backup},
	{"import", do_import},
	{"fact", do_fact},
	{"action", do_action},
};
#define OPERATION_COUNT (sizeof(OPERATIONS) / sizeof(OPERATIONS[0]))

static int run_once(const struct operation *operation, const struct disk *disk, struct bobbin_error *error)
{
	bobbin_store *store = open_store(disk);
	int rc = operation->run(disk, store, error);

	bobbin_store_close(store);
	return rc;
}

struct expected {
	char *before, *after;
};

/* An action in between is one that says so: begun, and no result. */
static bool is_between(const struct operation *operation, const char *is)
{
	return operation->run == do_action && (strstr(is, KEY " unknown") || strstr(is, KEY " begun"));
}

static int try_one(const struct operation *operation, uint64_t pages, const struct expected *expected)
{
	struct bobbin_error error = {0};
	struct disk disk;

	prepare(&disk);
	fill_disk(&disk, pages);
	int rc = run_once(operation, &disk, &error);
	if (rc && rc != BOBBIN_ENOSPC)
		print_message("%s, %d pages: %d %s\n", operation->name, (int)pages, rc, error.message);
	assert_true(rc == 0 || rc == BOBBIN_ENOSPC);
	assert_true(rc == 0 || strstr(error.message, "space") || strstr(error.message, "full"));
	clear_disk(&disk);
	char *is = all_of(&disk);
	bool before = strcmp(is, expected->before) == 0, after = strcmp(is, expected->after) == 0;
	if (!before && !after && !is_between(operation, is))
		print_message("%s, %d pages: %d\n%s", operation->name, (int)pages, rc, is);
	assert_true(before || after || is_between(operation, is));
	assert_true(rc != 0 || after);
	bool again = rc && (before || !after);
	free(is);
	if (again)
		assert_int_equal(run_once(operation, &disk, &error), 0);
	is = all_of(&disk);
	assert_true(strcmp(is, expected->after) == 0);
	free(is);
	if (operation->run == do_backup) {
		char *copied = whole_store(disk.backup), *there = whole_store(disk.store);
		assert_true(strcmp(copied, there) == 0);
		free(copied);
		free(there);
	}
	finish(&disk);
	return rc;
}

static void full_disk__it_is_done_or_it_is_said_and_room_helps(void **state)
{
	(void)state;
	unsigned tried = 0, full = 0;

	if (!can_mount) {
		print_message("# a tmpfs cannot be mounted here\n");
		skip();
	}
	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		struct expected expected;
		struct disk disk;
		struct bobbin_error error = {0};
		prepare(&disk);
		expected.before = all_of(&disk);
		assert_int_equal(run_once(&OPERATIONS[i], &disk, &error), 0);
		expected.after = all_of(&disk);
		finish(&disk);
		/* Twice in a row: then more room makes no difference. */
		unsigned pages = 0;
		for (int enough = 0; enough < 2; pages += pages < 24 ? 1 : 5, tried++) {
			assert_true(pages < PAGES_MAX);
			int rc = try_one(&OPERATIONS[i], pages, &expected);
			full += rc != 0;
			enough = rc ? 0 : enough + 1;
		}
		print_message("# %s: %u pages are enough\n", OPERATIONS[i].name, pages);
		free(expected.before);
		free(expected.after);
	}
	print_message("# %u disks, %u of them full\n", tried, full);
	assert_true(full >= OPERATION_COUNT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_disk__it_is_done_or_it_is_said_and_room_helps),
	};
	return cmocka_run_group_tests(tests, find_out, NULL);
}
