/* SPDX-License-Identifier: MIT */
/* Folders for trials: one's own while one lives, gone afterwards, and taken away if somebody was killed in between. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/alloc.h"
#include "store/trial.h"
#include "support/fail.h"
#include "support/scratch.h"

static char dir[SCRATCH_PATH_BYTES];
static struct bobbin_error error;

static int setup(void **state)
{
	(void)state;
	scratch_make(dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static struct store *open_with(const struct platform *platform)
{
	struct store *store = NULL;
	assert_int_equal(store_open(platform, dir, NULL, &store, &error), 0);
	return store;
}

/* Something to clear: files and folders in it. */
static void fill(const char *path)
{
	char name[SCRATCH_PATH_BYTES * 2];
	snprintf(name, sizeof(name), "%s/deep", path);
	assert_int_equal(mkdir(name, 0700), 0);
	scratch_write_text(name, "file", "x");
	scratch_write_text(path, "file", "x");
}

static unsigned count_folders(void)
{
	char command[SCRATCH_PATH_BYTES + 64];
	unsigned count = 0;
	char line[64];
	snprintf(command, sizeof(command), "ls -A %s/.cache 2>/dev/null | grep -c ^trial-", dir);
	FILE *in = popen(command, "r");
	if (fgets(line, sizeof(line), in))
		count = (unsigned)(line[0] - '0');
	pclose(in);
	return count;
}

static void begin__is_empty_private_and_in_the_caches(void **state)
{
	(void)state;
	struct store *store = open_with(platform_default());
	struct trial_folder one, two;
	char *first, *second, prefix[SCRATCH_PATH_BYTES + 32];
	struct stat info;
	assert_int_equal(trial_begin(store, &one, &first, &error), 0);
	assert_int_equal(trial_begin(store, &two, &second, &error), 0);
	assert_string_not_equal(first, second);
	snprintf(prefix, sizeof(prefix), "%s/.cache/trial-", dir);
	assert_memory_equal(first, prefix, strlen(prefix));
	assert_int_equal(stat(first, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	fill(first);
	trial_end(&one);
	trial_end(&one); /* nothing is left to end */
	assert_int_not_equal(access(first, F_OK), 0);
	assert_int_equal(access(second, F_OK), 0);
	trial_end(&two);
	assert_int_equal(count_folders(), 0);
	mem_free(first);
	mem_free(second);
	store_close(store);
}

static void sweep__takes_those_of_the_dead_alone(void **state)
{
	(void)state;
	struct store *store = open_with(platform_default());
	struct trial_folder mine;
	char *path;
	int status;
	assert_int_equal(trial_sweep(store), 0); /* there is no .cache yet */
	assert_int_equal(trial_begin(store, &mine, &path, &error), 0);
	pid_t child = fork();
	if (child == 0) {
		struct store *own = open_with(platform_default());
		struct trial_folder theirs;
		char *there;
		if (trial_begin(own, &theirs, &there, NULL) == 0) {
			fill(there);
			raise(SIGKILL);
		}
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	scratch_write_text(dir, "trial-file", "not in .cache");
	assert_int_equal(count_folders(), 2);
	assert_int_equal(trial_sweep(store), 1);
	assert_int_equal(count_folders(), 1);
	assert_int_equal(access(path, F_OK), 0);
	trial_end(&mine);
	mem_free(path);
	store_close(store);
}

/* What only looks like one, or a link to somewhere else, is left alone with what is in it. */
static void sweep__follows_no_link(void **state)
{
	(void)state;
	struct store *store = open_with(platform_default());
	char cache[SCRATCH_PATH_BYTES + 16], target[SCRATCH_PATH_BYTES + 16], link[SCRATCH_PATH_BYTES + 40];
	snprintf(cache, sizeof(cache), "%s/.cache", dir);
	snprintf(target, sizeof(target), "%s/precious", dir);
	snprintf(link, sizeof(link), "%s/trial-link", cache);
	assert_int_equal(mkdir(cache, 0700), 0);
	assert_int_equal(mkdir(target, 0700), 0);
	fill(target);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(trial_sweep(store), 0);
	assert_true(scratch_exists(target, "file"));
	store_close(store);
}

static void failures__each_call_leaves_nothing_that_a_sweep_does_not_take(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct fail_platform world;
		struct trial_folder folder = TRIAL_FOLDER_INIT;
		char *path = NULL;
		fail_platform_init(&world);
		struct store *store = open_with(&world.table);
		fail_platform_plan(&world, CALL_ANY, nth, nth % 2 ? EIO : ENOSPC);
		int rc = trial_begin(store, &folder, &path, &error);
		if (rc) /* a look that fails is made again, in another folder */
			assert_int_equal(rc, nth % 2 ? BOBBIN_EIO : BOBBIN_ENOSPC);
		assert_true(world.failed || rc == 0);
		if (!rc) {
			fill(path);
			trial_end(&folder);
		}
		bool failed = world.failed;
		if (!failed)
			assert_int_equal(count_folders(), 0);
		fail_platform_heal(&world);
		trial_sweep(store);
		assert_int_equal(count_folders(), 0);
		mem_free(path);
		store_close(store);
		assert_int_equal(world.open_files, 0);
		if (!failed)
			break;
	}
	for (uint64_t nth = 1;; nth++) {
		struct store *store = open_with(platform_default());
		struct trial_folder folder = TRIAL_FOLDER_INIT;
		char *path = NULL;
		fail_alloc_start(nth);
		int rc = trial_begin(store, &folder, &path, &error);
		trial_end(&folder);
		mem_free(path);
		struct fail_alloc_report report = fail_alloc_stop();
		store_close(store);
		assert_int_equal(report.live, 0);
		assert_int_equal(rc, report.failed ? BOBBIN_ENOMEM : 0);
		assert_int_equal(count_folders(), 0);
		if (!report.failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(begin__is_empty_private_and_in_the_caches, setup, teardown),
		cmocka_unit_test_setup_teardown(sweep__takes_those_of_the_dead_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(sweep__follows_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(
			failures__each_call_leaves_nothing_that_a_sweep_does_not_take, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
