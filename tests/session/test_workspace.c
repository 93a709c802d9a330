/* SPDX-License-Identifier: MIT */
/* The workspace: paths that lead out of it, what is no file in it, writes that fail, versions along the line. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/alloc.h"
#include "session/workspace.h"
#include "store/store.h"
#include "support/fail.h"
#include "talk.h"

static struct bobbin_error error;

static int put(bobbin_session *session, const char *path, const char *text)
{
	return bobbin_file_put(session, path, text, strlen(text), &error);
}

static const char *get(bobbin_session *session, const char *path, const char *at)
{
	static char text[4096];
	char *data;
	size_t len;
	if (bobbin_file_read(session, path, at, &data, &len, &error) < 0)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)len, data);
	bobbin_free(data);
	return text;
}

static const char *inside(const char *path)
{
	static char text[SCRATCH_PATH_BYTES + 512];
	snprintf(text, sizeof(text), "%s/store/main/%s", scratch_dir, path);
	return text;
}

/* ---- Escapes ---- */

static char long_name[300], long_path[1200], deep_path[200];

static void escapes__no_path_leads_out(void **state)
{
	(void)state;
	static const char *const paths[] = {"", "/", "/etc/passwd", "//etc/passwd", "..", "../main.jsonl", "../../x",
		"a/..", "a/../b", "a/../../b", "./a", ".", "a/.", "a/./b", "a//b", "a/", "a//", "/../x", "..//x", "~", "~/x",
		"~root/x", "..\\x", "a\\b", "C:\\x", "\\\\server\\x", "a\nb", "a\tb", "a\rb", "\x1b[2Jx", "a\x7f", "a\x01/b",
		"a\xc2\x85", "a\xe2\x80\xae" "txt", "a\xe2\x80\xa8", "a\xe2\x81\xa6", "\xef\xbb\xbf" "a", "\xff", "a\xc0\xaf" "b",
		"a\xed\xa0\x80", "a/\xc3", ".bobbin.tmp", "a/.bobbin.tmp", "a/.bobbin.tmp/b", long_name, long_path, deep_path,
		"a\xe2\x80\x8b", "a\xd8\x9c" "b", "a\xc2\xad", "a\xe2\x81\xa0", "a\xf3\xa0\x81\x81",
		"../blobs/x", "../.lock", "/proc/self/environ", "a/../../../../etc/passwd", "..%2f/../x"};
	bobbin_session *session = open_session("main");
	memset(long_name, 'n', 256);
	for (size_t i = 0; i < 1100; i++)
		long_path[i] = i % 100 ? 'p' : i ? '/' : 'p';
	for (size_t i = 0; i < 66; i++)
		deep_path[i] = i % 2 ? '/' : 'd';
	deep_path[65] = 0;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (put(session, paths[i], "x") != BOBBIN_EREFUSED || get(session, paths[i], NULL) ||
			bobbin_file_remove(session, paths[i], &error) != BOBBIN_EREFUSED)
			fail_msg("path %zu is not refused", i);
		assert_non_null(error.message);
	}
	/* What looks odd, and is a name like any other. */
	static const char *const fine[] = {"..a", "a..", "...", ".hidden", "a b", "\xc3\xa9/\xe6\x9d\xb1", "-rf", "a%2e%2e", "*"};
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(put(session, fine[i], "x"), 0);
	bobbin_session_close(session);
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof(address)), 0);
	close(file);
}

static void escapes__what_is_no_file_is_refused_and_left_alone(void **state)
{
	(void)state;
	struct bobbin_files_report report;
	char secret[SCRATCH_PATH_BYTES + 16];
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "file", "x"), 0);
	snprintf(secret, sizeof(secret), "%s/secret", scratch_dir);
	FILE *out = fopen(secret, "w");
	fputs("secret", out);
	fclose(out);
	assert_int_equal(symlink(secret, inside("link")), 0);
	assert_int_equal(symlink("file", inside("near")), 0);
	assert_int_equal(symlink("/nowhere", inside("dangling")), 0);
	assert_int_equal(symlink(scratch_dir, inside("folder")), 0);
	assert_int_equal(symlink("/proc/self/root", inside("magic")), 0);
	assert_int_equal(mkfifo(inside("fifo"), 0600), 0);
	assert_int_equal(link(secret, inside("hard")), 0);
	make_socket(inside("socket"));
	static const char *const paths[] = {"link", "near", "dangling", "fifo", "hard", "socket", "folder/secret",
		"folder/store/main.jsonl", "magic/etc/passwd", "file/x"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_null(get(session, paths[i], NULL));
		if (error.code != BOBBIN_EREFUSED || put(session, paths[i], "y") != BOBBIN_EREFUSED)
			fail_msg("%s is not refused: %s", paths[i], error.message);
	}
	assert_int_equal(bobbin_files_sync(session, &report, &error), 0);
	assert_int_equal(report.refused, 8);
	assert_int_equal(report.noticed, 0);
	assert_int_equal(access(inside("link"), F_OK), 0);
	unlink(inside("hard"));
	char text[16] = "";
	out = fopen(secret, "r");
	assert_non_null(fgets(text, sizeof(text), out));
	fclose(out);
	assert_string_equal(text, "secret");
	bobbin_session_close(session);
}

/* Without openat2 the walk must say the same. */
static void escapes__the_walk_follows_nothing_either(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "d/file", "x"), 0);
	assert_int_equal(symlink("file", inside("d/link")), 0);
	assert_int_equal(symlink("d", inside("e")), 0);
	int dir = open(inside(""), O_RDONLY | O_DIRECTORY);
	int file = platform_walk_beneath(dir, "d/file", O_RDONLY, 0);
	assert_true(file >= 0);
	close(file);
	assert_int_equal(platform_walk_beneath(dir, "d/link", O_RDONLY, 0), -ELOOP);
	assert_int_equal(platform_walk_beneath(dir, "e/file", O_RDONLY, 0), -ENOTDIR);
	static const char *const out[] = {"..", "d/..", "d/../d/file", "./d/file", "/etc/passwd", "d//file"};
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		assert_int_equal(platform_walk_beneath(dir, out[i], O_RDONLY, 0), -EXDEV);
	static const char *const same[] = {"..", "d/../../x", "/etc/passwd", "d/link", "e/file"};
	const struct platform *platform = platform_default();
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_true(platform->open_beneath(platform->context, dir, same[i], O_RDONLY, 0) < 0);
	close(dir);
	bobbin_session_close(session);
}

/* ---- Failures ---- */

/* A put through a world in which the nth call fails; the file is one of the two. */
static int put_failing(struct fail_platform *world, const char *path, const char *text)
{
	struct store_options options = {.create = true};
	struct store *inner;
	struct folder folder = {.dir = -1};
	char where[SCRATCH_PATH_BYTES + 16];
	snprintf(where, sizeof(where), "%s/store", scratch_dir);
	int rc = store_open(&world->table, where, &options, &inner, &error);
	if (rc < 0)
		return rc;
	rc = folder_open(inner, "main", &folder, &error);
	if (!rc)
		rc = folder_put(&folder, path, slice_of(text), true, &error);
	folder_close(&folder);
	store_close(inner);
	return rc;
}

static void failures__every_call_leaves_old_or_new(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "a/b/file", "old"), 0);
	for (int error_number = 0; error_number < 2; error_number++)
		for (uint64_t nth = 1;; nth++) {
			struct fail_platform world;
			char text[16] = "";
			fail_platform_init(&world);
			fail_platform_plan(&world, CALL_ANY, nth, error_number ? ENOSPC : EIO);
			int rc = put_failing(&world, "a/b/file", "new");
			assert_int_equal(world.open_files, 0);
			FILE *in = fopen(inside("a/b/file"), "r");
			assert_non_null(in);
			assert_non_null(fgets(text, sizeof(text), in));
			fclose(in);
			if (strcmp(text, "old") != 0 && strcmp(text, "new") != 0)
				fail_msg("call %d left %s", (int)nth, text);
			if (!world.failed) {
				assert_int_equal(rc, 0);
				assert_string_equal(text, "new");
				break;
			}
			fail_platform_init(&world);
			if (put_failing(&world, "a/b/file", "old") < 0)
				fail_msg("after call %d failed: %s", (int)nth, error.message);
		}
	bobbin_session_close(session);
}

/* `spare`: it may do without some of the memory, as a comparison that only saves a version. */
static void a_tool_failing(bobbin_session *session, const char *name, const char *arguments, bool spare)
{
	for (uint64_t nth = 1;; nth++) {
		char *text = NULL;
		int is_error = 0;
		fail_alloc_start(nth);
		int rc = bobbin_tool_run(session, name, arguments, strlen(arguments), &text, &is_error, &error);
		bobbin_free(text);
		struct fail_alloc_report report = fail_alloc_stop();
		if (!report.failed) {
			assert_int_equal(rc, 0);
			assert_int_equal(is_error, 0);
			return;
		}
		assert_true(rc == BOBBIN_ENOMEM || is_error || spare);
	}
}

static void failures__every_allocation_of_the_tools_of_facts(void **state)
{
	(void)state;
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session;
	options.owner = "ana";
	assert_int_equal(bobbin_session_open(store, "facts", &options, &session, &error), 0);
	static const char said[] = "{\"role\":\"user\",\"content\":\"I live in Berlin. It rains.\"}";
	assert_int_equal(bobbin_session_append(session, said, sizeof(said) - 1, NULL, NULL, &error), 0);
	a_tool_failing(session, "memory_add", "{\"text\":\"i live in BERLIN\"}", false);
	a_tool_failing(session, "memory_add", "{\"text\":\"The user likes rain\"}", false);
	a_tool_failing(session, "memory_search", "{\"query\":\"Where do I live?\",\"past\":true}", false);
	bobbin_session_close(session);
}

static void failures__every_allocation(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "file", "old"), 0);
	assert_int_equal(put(session, "list", "- [ ] x\n"), 0);
	a_tool_failing(session, "check_off", "{\"path\":\"list\",\"item\":\"x\"}", true);
	assert_string_equal(get(session, "list", NULL), "- [x] x\n");
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = put(session, "file", nth % 2 ? "new" : "old");
		struct fail_alloc_report report = fail_alloc_stop();
		const char *text = get(session, "file", NULL);
		assert_true(text && (strcmp(text, "old") == 0 || strcmp(text, "new") == 0));
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
	}
	bobbin_session_close(session);
}

/* ---- What was hashed before ---- */

#define LATER_NS INT64_C(60000000000) /* the clock of a world in which every file is that old */

/* The session in a world whose clock stands `later_ns` after the real one. */
static bobbin_session *open_in(struct fail_platform *world, int64_t later_ns, bobbin_store **ret_store)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	const struct platform *real = platform_default();
	char where[SCRATCH_PATH_BYTES + 16];
	bobbin_session *session;
	bobbin_store *own = mem_alloc_zero(sizeof(*own));
	snprintf(where, sizeof(where), "%s/store", scratch_dir);
	fail_platform_init(world);
	fail_platform_set_time(world, real->realtime_ns(real->context) + later_ns, 1);
	assert_int_equal(store_open(&world->table, where, NULL, &own->store, &error), 0);
	own->process = platform_process();
	options.must_exist = 1;
	assert_int_equal(bobbin_session_open(own, "main", &options, &session, &error), 0);
	*ret_store = own;
	return session;
}

/* How many changes a look notices; ret_bytes: what it read of files. */
static uint64_t look(bobbin_session *session, struct fail_platform *world, uint64_t *ret_bytes)
{
	struct bobbin_files_report report;
	uint64_t before = world->bytes_read;
	assert_int_equal(bobbin_files_sync(session, &report, &error), 0);
	*ret_bytes = world->bytes_read - before;
	return report.noticed;
}

static void overwrite(const char *path, const char *text)
{
	int file = open(inside(path), O_WRONLY);
	assert_true(file >= 0 && pwrite(file, text, strlen(text), 0) == (ssize_t)strlen(text));
	close(file);
}

static void known__what_is_the_same_is_read_once(void **state)
{
	(void)state;
	static char large[100000];
	struct fail_platform world;
	uint64_t first, second, third;
	bobbin_store *own;
	bobbin_session *session = open_session("main");
	memset(large, 'l', sizeof(large));
	assert_int_equal(bobbin_file_put(session, "d/large", large, sizeof(large), &error), 0);
	assert_int_equal(put(session, "small", "x"), 0);
	bobbin_session_close(session);
	session = open_in(&world, LATER_NS, &own);
	assert_int_equal(look(session, &world, &first), 0);
	assert_int_equal(look(session, &world, &second), 0);
	assert_true(first > sizeof(large));
	assert_true(second < sizeof(large) / 10); /* the log is looked at, no file */
	/* A write of ours, and one of another program with the same size and its old times put back. */
	struct stat info;
	assert_int_equal(put(session, "small", "y"), 0);
	assert_int_equal(stat(inside("d/large"), &info), 0);
	overwrite("d/large", "L");
	const struct timespec times[] = {info.st_atim, info.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, inside("d/large"), times, 0), 0);
	assert_int_equal(look(session, &world, &third), 1);
	assert_true(third > sizeof(large));
	assert_int_equal(look(session, &world, &third), 0);
	assert_true(third < sizeof(large) / 10);
	/* Another file under the name; the same one taken away and put back. */
	char small[SCRATCH_PATH_BYTES + 512];
	snprintf(small, sizeof(small), "%s", inside("small"));
	assert_int_equal(rename(small, inside("kept")), 0);
	assert_int_equal(look(session, &world, &third), 2);
	assert_int_equal(rename(inside("kept"), small), 0);
	assert_int_equal(look(session, &world, &third), 2);
	assert_string_equal(get(session, "small", NULL), "y");
	bobbin_session_close(session);
	bobbin_store_close(own);
	assert_int_equal(world.open_files, 0);
}

/* Within the grain of a file system's times, equal times say nothing: such files are read at each look. */
static void known__what_was_just_written_is_read_again(void **state)
{
	(void)state;
	static const int64_t clocks[] = {0, 2000000000, -LATER_NS};
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct fail_platform world;
		uint64_t bytes;
		bobbin_store *own;
		bobbin_session *session = open_session("main");
		assert_int_equal(put(session, "file", i % 2 ? "one" : "two"), 0);
		bobbin_session_close(session);
		session = open_in(&world, clocks[i], &own);
		assert_int_equal(look(session, &world, &bytes), 0);
		/* What a program writes in the same tick of the clock: only its bytes tell. */
		for (int times = 0; times < 50; times++) {
			overwrite("file", times % 2 ? "odd" : "yes");
			assert_int_equal(look(session, &world, &bytes), 1);
		}
		bobbin_session_close(session);
		bobbin_store_close(own);
	}
}

static void known__only_what_was_left_alone_is_kept(void **state)
{
	(void)state;
	const int64_t now = INT64_C(1800000000000000000), second = 1000000000;
	const struct file_info old = {.size = 3, .inode = 7, .device = 1, .modified_ns = now - 3 * second, .changed_ns = now - 3 * second};
	struct file_info other = old;
	assert_true(known_is_settled(&old, now));
	assert_false(known_is_settled(&old, now - second)); /* two seconds: the grain of some file systems */
	assert_false(known_is_settled(&old, now - 10 * second)); /* a clock that was set back */
	other.changed_ns = now; /* its old time was put back by hand */
	assert_false(known_is_settled(&other, now));
	other = old;
	other.modified_ns = now + second;
	assert_false(known_is_settled(&other, now));
	struct found_file files[] = {{.path = "new", .info = old, .settled = false, .digest = "nn"},
		{.path = "old", .info = old, .settled = true, .digest = "oo"}};
	struct workspace_known *known = NULL;
	known_keep(&known, files, 2);
	assert_null(known_digest(known, "new", &old));
	assert_string_equal(known_digest(known, "old", &old), "oo");
	for (int i = 0; i < 5; i++) { /* each of what makes it another */
		other = old;
		other.size += i == 0;
		other.inode += i == 1;
		other.device += i == 2;
		other.modified_ns += i == 3;
		other.changed_ns += i == 4;
		assert_null(known_digest(known, "old", &other));
	}
	assert_null(known_digest(NULL, "old", &old));
	known_free(known);
}

static void known__without_memory_nothing_is_kept(void **state)
{
	(void)state;
	struct found_file files[2] = {{.path = "a", .settled = true, .digest = "aa"}, {.path = "b", .settled = true, .digest = "bb"}};
	for (uint64_t nth = 1;; nth++) {
		struct workspace_known *known = NULL;
		known_keep(&known, files, 1);
		fail_alloc_start(nth);
		known_keep(&known, files, 2);
		struct fail_alloc_report report = fail_alloc_stop();
		const char *digest = known_digest(known, "b", &files[1].info);
		if (report.failed)
			assert_null(known);
		else
			assert_string_equal(digest, "bb");
		assert_null(known_digest(known, "c", &files[1].info));
		known_free(known);
		if (!report.failed)
			break;
	}
}

/* ---- Versions ---- */

static void versions__a_missing_folder_is_made_again(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "d/file", "x"), 0);
	unlink(inside("d/file"));
	rmdir(inside("d"));
	rmdir(inside(""));
	assert_string_equal(get(session, "d/file", NULL), "x");
	/* With the folder there, it was somebody who took the file away. */
	unlink(inside("d/file"));
	assert_null(get(session, "d/file", NULL));
	assert_int_equal(error.code, BOBBIN_ENOTFOUND);
	bobbin_session_close(session);
}

static void versions__others_changes_are_never_overwritten_unrecorded(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	struct bobbin_ack ack;
	assert_int_equal(bobbin_session_append_text(session, "user", "one", 3, &ack, &error), 0);
	assert_int_equal(put(session, "file", "first"), 0);
	assert_int_equal(bobbin_session_append_text(session, "user", "two", 3, &ack, &error), 0);
	FILE *out = fopen(inside("file"), "w");
	fputs("theirs", out);
	fclose(out);
	assert_int_equal(put(session, "file", "ours"), 0);
	assert_int_equal(bobbin_session_rewind(session, "m1", &ack, &error), 0);
	assert_string_equal(get(session, "file", NULL), "first");
	struct bobbin_files_options options = BOBBIN_FILES_OPTIONS_INIT;
	options.versions = 1;
	options.at = ack.id;
	bobbin_files *files;
	const struct bobbin_file *file;
	char by[64] = "";
	assert_int_equal(bobbin_session_rewind(session, "m3", &ack, &error), 0);
	options.at = NULL;
	assert_int_equal(bobbin_files_open(session, &options, &files, &error), 0);
	while ((file = bobbin_files_next(files)))
		snprintf(by + strlen(by), sizeof(by) - strlen(by), "%s %d|", file->by, (int)file->size);
	bobbin_files_close(files);
	assert_string_equal(by, "host 5|outside 6|host 4|");
	bobbin_session_close(session);
}

static void versions__too_large_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	static char large[LIMIT_FILE_BYTES + 1];
	bobbin_session *session = open_session("main");
	assert_int_equal(put(session, "file", "x"), 0);
	assert_int_equal(bobbin_file_put(session, "file", large, sizeof(large), &error), BOBBIN_ELIMIT);
	assert_string_equal(get(session, "file", NULL), "x");
	assert_int_equal(bobbin_file_put(session, "empty", "", 0, &error), 0);
	assert_string_equal(get(session, "empty", NULL), "");
	bobbin_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(escapes__no_path_leads_out, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			escapes__what_is_no_file_is_refused_and_left_alone, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(escapes__the_walk_follows_nothing_either, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(failures__every_call_leaves_old_or_new, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(known__what_is_the_same_is_read_once, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(known__what_was_just_written_is_read_again, store_setup, store_teardown),
		cmocka_unit_test(known__only_what_was_left_alone_is_kept),
		cmocka_unit_test(known__without_memory_nothing_is_kept),
		cmocka_unit_test_setup_teardown(failures__every_allocation, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(failures__every_allocation_of_the_tools_of_facts, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(versions__a_missing_folder_is_made_again, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			versions__others_changes_are_never_overwritten_unrecorded, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			versions__too_large_is_refused_and_changes_nothing, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
