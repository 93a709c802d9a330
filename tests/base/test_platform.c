/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/platform.h"
#include "support/fail.h"
#include "support/scratch.h"

/* Each test has a scratch directory, open, and a world that passes everything through. */
struct fixture {
	char path[SCRATCH_PATH_BYTES];
	int dir;
	struct fail_platform world;
	const struct platform *table; /* world.table */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	scratch_make(fixture->path);
	fail_platform_init(&fixture->world);
	fixture->table = &fixture->world.table;
	fixture->dir = fixture->table->open_at(
		fixture->table->context, PLATFORM_CWD, fixture->path, O_RDONLY | O_DIRECTORY, 0);
	assert_true(fixture->dir >= 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	fail_platform_heal(&fixture->world);
	assert_int_equal(fixture->table->close(fixture->table->context, fixture->dir), 0);
	assert_int_equal(fixture->world.open_files, 0);
	scratch_remove(fixture->path);
	free(fixture);
	return 0;
}

static int open_log(struct fixture *fixture, int flags);

static void open__never_takes_the_place_of_a_standard_stream(void **state)
{
	struct fixture *fixture = *state;
	int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
	close(STDIN_FILENO);
	int file = open_log(fixture, 0), free_again = fcntl(STDIN_FILENO, F_GETFD);
	if (kept >= 0)
		dup2(kept, STDIN_FILENO), close(kept);
	assert_true(file > STDERR_FILENO);
	assert_int_equal(free_again, -1);
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
	fixture->table->close(fixture->table->context, file);
}

static int open_log(struct fixture *fixture, int flags)
{
	return fixture->table->open_at(
		fixture->table->context, fixture->dir, "log", O_RDWR | O_CREAT | O_APPEND | flags, 0600);
}

static int close_file(struct fixture *fixture, int file)
{
	return fixture->table->close(fixture->table->context, file);
}

static ssize_t write_text(struct fixture *fixture, int file, const char *text)
{
	return fixture->table->write(fixture->table->context, file, text, strlen(text));
}

static void assert_content(struct fixture *fixture, const char *name, const char *expected)
{
	size_t len;
	char *content = scratch_read(fixture->path, name, &len);
	assert_non_null(content);
	assert_string_equal(content, expected);
	assert_int_equal(len, strlen(expected));
	free(content);
}

static void file__written_read_cut_and_described(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int file = open_log(fixture, O_EXCL);
	assert_true(file >= 0);
	assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write_text(fixture, file, "hello world"), 11);
	assert_int_equal(table->sync_data(table->context, file), 0);
	assert_int_equal(table->sync(table->context, file), 0);
	assert_int_equal(table->sync(table->context, fixture->dir), 0);
	assert_int_equal(table->truncate(table->context, file, 5), 0);
	assert_int_equal(write_text(fixture, file, "!"), 1); /* at the new end: O_APPEND */
	assert_content(fixture, "log", "hello!");

	char text[32] = "";
	assert_int_equal(table->read_at(table->context, file, text, 3, 2), 3);
	assert_memory_equal(text, "llo", 3);
	assert_int_equal(table->read_at(table->context, file, text, 3, 6), 0);

	struct file_info by_file, by_name;
	assert_int_equal(table->info(table->context, file, &by_file), 0);
	assert_int_equal(table->info_at(table->context, fixture->dir, "log", &by_name), 0);
	assert_int_equal(by_file.size, 6);
	assert_int_equal(by_file.mode, S_IFREG | 0600);
	assert_int_equal(by_file.links, 1);
	assert_int_equal(by_file.owner, geteuid());
	assert_int_equal(by_file.owner, table->user(table->context));
	assert_int_equal(by_file.inode, by_name.inode);
	assert_int_equal(by_file.device, by_name.device);
	int64_t age_ns = table->realtime_ns(table->context) - by_file.modified_ns;
	assert_true(age_ns > -INT64_C(10000000000) && age_ns < INT64_C(60000000000));
	assert_int_equal(close_file(fixture, file), 0);
}

static void write_at__writes_there(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int file = table->open_at(table->context, fixture->dir, "cache", O_RDWR | O_CREAT, 0600);
	assert_true(file >= 0);
	assert_int_equal(table->write_at(table->context, file, "world", 5, 6), 5);
	assert_int_equal(table->write_at(table->context, file, "hello,", 6, 0), 6);
	assert_content(fixture, "cache", "hello,world");
	assert_int_equal(table->write_at(table->context, file, " ", 1, 5), 1);
	assert_content(fixture, "cache", "hello world");
	assert_int_equal(close_file(fixture, file), 0);
	assert_int_equal(table->write_at(table->context, -1, "x", 1, 0), -EBADF);
}

static void change_mode__changes_the_permissions(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	struct file_info info;
	int file = open_log(fixture, 0);
	assert_int_equal(table->change_mode(table->context, file, 0640), 0);
	assert_int_equal(table->info(table->context, file, &info), 0);
	assert_int_equal(info.mode, S_IFREG | 0640);
	assert_int_equal(table->change_mode(table->context, -1, 0600), -EBADF);
	assert_int_equal(close_file(fixture, file), 0);
}

static void errors__negative_errno(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	void *context = table->context;
	struct file_info info = {.size = 77};
	char byte;
	uint64_t magic = 0;
	assert_int_equal(table->open_at(context, fixture->dir, "none", O_RDONLY, 0), -ENOENT);
	assert_int_equal(table->info_at(context, fixture->dir, "none", &info), -ENOENT);
	assert_int_equal(info.size, 77);
	assert_int_equal(table->unlink_at(context, fixture->dir, "none", 0), -ENOENT);
	assert_int_equal(table->rename_at(context, fixture->dir, "none", "other"), -ENOENT);
	assert_int_equal(table->close(context, -1), -EBADF);
	assert_int_equal(table->read_at(context, -1, &byte, 1, 0), -EBADF);
	assert_int_equal(table->write(context, -1, "x", 1), -EBADF);
	assert_int_equal(table->sync(context, -1), -EBADF);
	assert_int_equal(table->sync_data(context, -1), -EBADF);
	assert_int_equal(table->truncate(context, -1, 0), -EBADF);
	assert_int_equal(table->lock(context, -1, LOCK_SH), -EBADF);
	assert_int_equal(table->info(context, -1, &info), -EBADF);
	assert_int_equal(table->file_system(context, -1, &magic), -EBADF);
	assert_int_equal(table->read_at(context, fixture->dir, &byte, 1, 0), -EISDIR);
}

static void links__described_and_not_followed(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	struct file_info info;
	scratch_write_text(fixture->path, "target", "x");
	assert_int_equal(symlinkat("target", fixture->dir, "link"), 0);
	assert_int_equal(table->info_at(table->context, fixture->dir, "link", &info), 0);
	assert_true(S_ISLNK(info.mode));
	assert_int_equal(
		table->open_at(table->context, fixture->dir, "link", O_RDONLY | O_NOFOLLOW, 0), -ELOOP);
}

static void names__linked_renamed_removed(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	void *context = table->context;
	scratch_write_text(fixture->path, "a", "1");
	scratch_write_text(fixture->path, "b", "2");
	assert_int_equal(table->link_at(context, fixture->dir, "a", "b"), -EEXIST);
	assert_content(fixture, "b", "2");
	assert_int_equal(table->link_at(context, fixture->dir, "a", "c"), 0);
	assert_content(fixture, "c", "1");
	assert_int_equal(table->rename_at(context, fixture->dir, "c", "d"), 0);
	assert_false(scratch_exists(fixture->path, "c"));
	assert_int_equal(table->rename_at(context, fixture->dir, "b", "d"), 0); /* replaces */
	assert_content(fixture, "d", "2");
	assert_int_equal(table->unlink_at(context, fixture->dir, "d", 0), 0);
	assert_false(scratch_exists(fixture->path, "d"));
	assert_int_equal(table->make_dir_at(context, fixture->dir, "sub", 0700), 0);
	assert_int_equal(table->make_dir_at(context, fixture->dir, "sub", 0700), -EEXIST);
	assert_int_equal(table->unlink_at(context, fixture->dir, "sub", 0), -EISDIR);
	assert_int_equal(table->unlink_at(context, fixture->dir, "sub", AT_REMOVEDIR), 0);
}

struct listing {
	int seen[3]; /* of "x", ".y" and anything else */
	int stop_after;
};

static bool note_name(void *data, const char *name)
{
	struct listing *listing = data;
	listing->seen[strcmp(name, "x") == 0 ? 0 : strcmp(name, ".y") == 0 ? 1 : 2]++;
	return --listing->stop_after != 0;
}

static void list__all_names_without_the_dots(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	scratch_write_text(fixture->path, "x", "");
	scratch_write_text(fixture->path, ".y", "");
	for (int round = 0; round < 2; round++) { /* the descriptor stays usable and begins anew */
		struct listing listing = {{0}, -1};
		assert_int_equal(table->list(table->context, fixture->dir, note_name, &listing), 0);
		assert_int_equal(listing.seen[0], 1);
		assert_int_equal(listing.seen[1], 1);
		assert_int_equal(listing.seen[2], 0);
	}
	struct listing listing = {{0}, 1};
	assert_int_equal(table->list(table->context, fixture->dir, note_name, &listing), 0);
	assert_int_equal(listing.seen[0] + listing.seen[1], 1);
	int file = open_log(fixture, 0);
	assert_int_equal(table->list(table->context, file, note_name, &listing), -ENOTDIR);
	assert_int_equal(close_file(fixture, file), 0);
}

static void lock__second_handle_is_kept_out(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int first = open_log(fixture, 0), second = open_log(fixture, 0);
	assert_int_equal(table->lock(table->context, first, LOCK_EX), 0);
	assert_int_equal(table->lock(table->context, second, LOCK_EX | LOCK_NB), -EWOULDBLOCK);
	assert_int_equal(table->lock(table->context, first, LOCK_UN), 0);
	assert_int_equal(table->lock(table->context, second, LOCK_SH | LOCK_NB), 0);
	assert_int_equal(table->lock(table->context, first, LOCK_SH | LOCK_NB), 0);
	assert_int_equal(close_file(fixture, first), 0);
	assert_int_equal(close_file(fixture, second), 0);
}

/* Signals every millisecond, without SA_RESTART; from the fifth on the handler lets go what the call waits
 * for. */
static volatile sig_atomic_t alarms;
static int full_pipe = -1, held_lock = -1;

static void on_alarm(int number)
{
	(void)number;
	char drained[8192];
	if (++alarms < 5)
		return;
	if (held_lock >= 0)
		flock(held_lock, LOCK_UN);
	if (full_pipe >= 0 && read(full_pipe, drained, sizeof(drained)) < 0)
		full_pipe = -1;
}

static void set_alarms(suseconds_t every_us)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval timer = {{0, every_us}, {0, every_us}};
	alarms = 0;
	assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void sleep__as_long_as_asked_despite_signals(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int64_t start_ns = table->monotonic_ns(table->context);
	set_alarms(1000);
	table->sleep_ns(table->context, 30000000);
	set_alarms(0);
	assert_true(table->monotonic_ns(table->context) - start_ns >= 30000000);
	table->sleep_ns(table->context, -5);
}

static void lock__waited_for_despite_signals(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int first = open_log(fixture, 0), second = open_log(fixture, 0);
	assert_int_equal(table->lock(table->context, first, LOCK_EX), 0);
	held_lock = first;
	set_alarms(1000);
	int rc = table->lock(table->context, second, LOCK_EX);
	int interruptions = alarms;
	set_alarms(0);
	held_lock = -1;
	assert_int_equal(rc, 0);
	assert_true(interruptions >= 5);
	assert_int_equal(close_file(fixture, first), 0);
	assert_int_equal(close_file(fixture, second), 0);
}

static void write__begun_again_if_a_signal_came_first(void **state)
{
	struct fixture *fixture = *state;
	int ends[2];
	static const char block[4096];
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	full_pipe = ends[0];
	set_alarms(1000);
	ssize_t written = write_text(fixture, ends[1], "word");
	int interruptions = alarms;
	set_alarms(0);
	full_pipe = -1;
	assert_int_equal(written, 4);
	assert_true(interruptions >= 5);
	close(ends[0]);
	close(ends[1]);
}

static void clocks__agree_with_libc(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	int64_t seconds = table->realtime_ns(table->context) / 1000000000;
	int64_t expected = (int64_t)time(NULL);
	assert_true(seconds <= expected + 1 && seconds >= expected - 10);
	int64_t first = table->monotonic_ns(table->context);
	assert_true(table->monotonic_ns(table->context) >= first);
}

static void process__another_one_after_fork(void **state)
{
	(void)state;
	pid_t parent = platform_process();
	assert_int_equal(parent, getpid());
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(platform_process() != parent && platform_process() == getpid() ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void random__fills_all_and_differs(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	static uint8_t a[5000], b[5000];
	assert_int_equal(table->random(table->context, a, sizeof(a)), 0);
	assert_int_equal(table->random(table->context, b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	int zeros_at_the_end = 0;
	for (size_t i = sizeof(a) - 64; i < sizeof(a); i++)
		zeros_at_the_end += a[i] == 0;
	assert_true(zeros_at_the_end < 20);
	assert_int_equal(table->random(table->context, a, 0), 0);
}

static void file_system__known_magic(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	uint64_t magic = 0;
	int proc = table->open_at(table->context, PLATFORM_CWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
	if (proc < 0)
		skip();
	assert_int_equal(table->file_system(table->context, proc, &magic), 0);
	assert_int_equal(magic, 0x9fa0); /* PROC_SUPER_MAGIC */
	fixture->world.fake_file_system = 0x6969;
	assert_int_equal(table->file_system(table->context, proc, &magic), 0);
	assert_int_equal(magic, 0x6969);
	assert_int_equal(close_file(fixture, proc), 0);
}

/* A file that is read one byte at a time, and fails at its fourth. */
static ssize_t read_one_byte(void *context, int file, void *data, size_t len, uint64_t offset)
{
	const struct platform *real = platform_default();
	if (context && offset >= 3)
		return -EIO;
	return real->read_at(real->context, file, data, len ? 1 : 0, offset);
}

static void read_full__goes_on_after_short_reads(void **state)
{
	struct fixture *fixture = *state;
	scratch_write_text(fixture->path, "log", "abcdef");
	int file = open_log(fixture, 0);
	struct platform slow = {.read_at = read_one_byte};
	char text[16] = "";
	assert_int_equal(platform_read_full(&slow, file, text, 4, 1), 4);
	assert_memory_equal(text, "bcde", 4);
	assert_int_equal(platform_read_full(&slow, file, text, sizeof(text), 2), 4); /* to the end */
	assert_int_equal(platform_read_full(&slow, file, text, sizeof(text), 6), 0);
	assert_int_equal(platform_read_full(&slow, file, text, 0, 0), 0);
	slow.context = &slow;
	assert_int_equal(platform_read_full(&slow, file, text, 6, 0), -EIO);
	assert_int_equal(close_file(fixture, file), 0);
}

static void assert_time(int64_t realtime_ns, const char *expected)
{
	char text[TIME_TEXT_BYTES];
	time_text(realtime_ns, text);
	assert_string_equal(text, expected);
}

static void time_text__known_instants(void **state)
{
	(void)state;
	const int64_t second = 1000000000;
	assert_time(0, "1970-01-01T00:00:00Z");
	assert_time(1788516000 * second, "2026-09-04T10:00:00Z");
	assert_time(1788516000 * second + 123000000, "2026-09-04T10:00:00.123Z");
	assert_time(1788516000 * second + 7999999, "2026-09-04T10:00:00.007Z");
	assert_time(1788516000 * second + 999999, "2026-09-04T10:00:00Z"); /* no whole millisecond */
	assert_time(951782400 * second, "2000-02-29T00:00:00Z");
	assert_time(4107542399 * second, "2100-02-28T23:59:59Z");
	assert_time(4107542400 * second, "2100-03-01T00:00:00Z"); /* 2100 has no leap day */
	assert_time(-1, "1969-12-31T23:59:59.999Z");
	assert_time(-86400 * second, "1969-12-31T00:00:00Z");
	assert_time(INT64_MAX, "2262-04-11T23:47:16.854Z");
	assert_time(INT64_MIN, "1677-09-21T00:12:43.145Z");
}

/* Every day of the years that fit, against libc. */
static void time_text__every_day_as_libc(void **state)
{
	(void)state;
	for (int64_t day = -106751; day < 106751; day++) {
		time_t seconds = (time_t)(day * 86400 + 45296);
		struct tm parts;
		char expected[TIME_TEXT_BYTES], text[TIME_TEXT_BYTES];
		gmtime_r(&seconds, &parts);
		strftime(expected, sizeof(expected), "%Y-%m-%dT12:34:56Z", &parts);
		time_text((int64_t)seconds * 1000000000, text);
		if (strcmp(text, expected) != 0)
			fail_msg("%s instead of %s", text, expected);
	}
}

/* From here on: the failing world itself, which the tests of all rooms rely on. */

static void planned_failure__only_that_call(void **state)
{
	struct fixture *fixture = *state;
	int file = open_log(fixture, 0);
	fail_platform_plan(&fixture->world, CALL_WRITE, 2, ENOSPC);
	assert_int_equal(write_text(fixture, file, "one"), 3);
	assert_int_equal(fixture->table->sync_data(fixture->table->context, file), 0);
	assert_false(fixture->world.failed);
	assert_int_equal(write_text(fixture, file, "two"), -ENOSPC);
	assert_true(fixture->world.failed);
	assert_int_equal(write_text(fixture, file, "three"), 5);
	assert_content(fixture, "log", "onethree");
	assert_int_equal(fixture->world.calls[CALL_WRITE], 3);
	assert_int_equal(fixture->world.calls[CALL_ANY], 4);
	assert_int_equal(fixture->world.bytes_written, 8);
	assert_int_equal(close_file(fixture, file), 0);
}

static void planned_failure__any_kind_and_all_after(void **state)
{
	struct fixture *fixture = *state;
	int file = open_log(fixture, 0);
	fail_platform_plan(&fixture->world, CALL_ANY, 2, EIO);
	fixture->world.fail_after = true;
	assert_int_equal(write_text(fixture, file, "one"), 3);
	assert_int_equal(fixture->table->sync_data(fixture->table->context, file), -EIO);
	assert_int_equal(write_text(fixture, file, "two"), -EIO);
	assert_int_equal(close_file(fixture, file), -EIO);
	assert_int_equal(fixture->world.open_files, 1); /* closed nevertheless: the directory is left */
	assert_content(fixture, "log", "one");
}

static void short_write__then_success_or_failure(void **state)
{
	struct fixture *fixture = *state;
	int file = open_log(fixture, 0);
	fail_platform_plan_short(&fixture->world, 1, 4, 0);
	assert_int_equal(write_text(fixture, file, "abcdef"), 4);
	assert_int_equal(write_text(fixture, file, "ef"), 2);
	assert_content(fixture, "log", "abcdef");
	fail_platform_plan_short(&fixture->world, 2, 1, ENOSPC);
	assert_int_equal(write_text(fixture, file, "gh"), 2);
	assert_int_equal(write_text(fixture, file, "ij"), 1);
	assert_int_equal(write_text(fixture, file, "j"), -ENOSPC);
	assert_int_equal(write_text(fixture, file, "!"), 1);
	assert_content(fixture, "log", "abcdefghi!");
	assert_int_equal(fixture->world.bytes_written, 4);
	assert_int_equal(close_file(fixture, file), 0);
}

static void fake_time__stands_until_slept(void **state)
{
	struct fixture *fixture = *state;
	const struct platform *table = fixture->table;
	fail_platform_set_time(&fixture->world, 1000, 50);
	assert_int_equal(table->realtime_ns(table->context), 1000);
	assert_int_equal(table->monotonic_ns(table->context), 50);
	table->sleep_ns(table->context, INT64_C(3600000000000));
	assert_int_equal(table->realtime_ns(table->context), INT64_C(3600000001000));
	assert_int_equal(table->monotonic_ns(table->context), INT64_C(3600000000050));
	assert_int_equal(fixture->world.slept_ns, INT64_C(3600000000000));
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(open__never_takes_the_place_of_a_standard_stream),
		FILE_TEST(file__written_read_cut_and_described),
		FILE_TEST(write_at__writes_there),
		FILE_TEST(change_mode__changes_the_permissions),
		FILE_TEST(errors__negative_errno),
		FILE_TEST(links__described_and_not_followed),
		FILE_TEST(names__linked_renamed_removed),
		FILE_TEST(list__all_names_without_the_dots),
		FILE_TEST(lock__second_handle_is_kept_out),
		FILE_TEST(sleep__as_long_as_asked_despite_signals),
		FILE_TEST(lock__waited_for_despite_signals),
		FILE_TEST(write__begun_again_if_a_signal_came_first),
		FILE_TEST(clocks__agree_with_libc),
		cmocka_unit_test(process__another_one_after_fork),
		FILE_TEST(random__fills_all_and_differs),
		FILE_TEST(file_system__known_magic),
		FILE_TEST(read_full__goes_on_after_short_reads),
		cmocka_unit_test(time_text__known_instants),
		cmocka_unit_test(time_text__every_day_as_libc),
		FILE_TEST(planned_failure__only_that_call),
		FILE_TEST(planned_failure__any_kind_and_all_after),
		FILE_TEST(short_write__then_success_or_failure),
		FILE_TEST(fake_time__stands_until_slept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
