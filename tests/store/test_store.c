/* SPDX-License-Identifier: MIT */
/* The folder: what is refused, who may read it, lists, deletion, the turn lock; and stores made by hand. */
#include "store_test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned mode_of(const char *path)
{
	struct stat status;
	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static int open_store(const char *path, bool create, struct store **ret_store, struct bobbin_error *error)
{
	struct store_options options = {.create = create, .force_filesystem = true, .sync = STORE_SYNC_NONE};
	return store_open(platform_default(), path, &options, ret_store, error);
}

static void ids__that_could_leave_the_folder_are_refused(void **state)
{
	(void)state;
	const struct slice ids[] = {SLICE_LITERAL(""), SLICE_LITERAL("."), SLICE_LITERAL(".."),
		SLICE_LITERAL("a/b"), SLICE_LITERAL("/etc/passwd"), SLICE_LITERAL("../x"),
		SLICE_LITERAL("a\0b"), SLICE_LITERAL("-rf"), SLICE_LITERAL("blobs"), SLICE_LITERAL("a b"),
		SLICE_LITERAL("\xc3\xa4"), SLICE_LITERAL("a.b"), SLICE_LITERAL("\n")};
	struct world world;
	char long_id[5000];
	memset(long_id, 'a', sizeof(long_id));
	world_open(&world, STORE_SYNC_NONE);
	struct log *parent = world_create(&world, "main");
	for (size_t i = 0; i <= sizeof(ids) / sizeof(ids[0]); i++) {
		struct slice id =
			i < sizeof(ids) / sizeof(ids[0]) ? ids[i] : (struct slice){long_id, sizeof(long_id)};
		struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
		struct log_fork_options fork = LOG_FORK_OPTIONS_INIT;
		struct arena arena = ARENA_INIT;
		struct store_entry entry;
		struct turn_lock *lock;
		struct log *log;
		fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
		assert_int_equal(log_open(world.store, id, LOG_WRITE, &log, NULL), BOBBIN_EINVAL);
		assert_int_equal(store_delete(world.store, id, NULL), BOBBIN_EINVAL);
		assert_int_equal(store_entry(world.store, id, &arena, &entry, NULL), BOBBIN_EINVAL);
		assert_int_equal(store_turn_lock(world.store, id, 0, &lock, NULL), BOBBIN_EINVAL);
		assert_false(store_has(world.store, id));
		create.id = fork.create.id = id;
		if (id.len)
			assert_int_equal(log_create(world.store, &create, &log, NULL), BOBBIN_EINVAL);
		assert_int_equal(world.platform.calls[CALL_OPEN], 0);
		fork.by_count = true;
		if (id.len)
			assert_int_equal(log_fork(parent, &fork, NULL, NULL, NULL), BOBBIN_EINVAL);
		arena_release(&arena);
	}
	log_close(parent);
	world_close(&world);
}

static void x20_modes__are_0600_and_0700_under_any_umask(void **state)
{
	(void)state;
	static const mode_t masks[] = {0, 022, 077};
	for (size_t i = 0; i < 3; i++) {
		mode_t before = umask(masks[i]);
		struct world world;
		world_open(&world, STORE_SYNC_FULL);
		struct log *log = world_create(&world, "main");
		struct turn_lock *lock;
		say(log, "user", "x");
		struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
		options.at = SLICE_LITERAL("m1");
		options.create.id = SLICE_LITERAL("child");
		assert_int_equal(log_fork(log, &options, NULL, NULL, NULL), 0);
		assert_int_equal(store_turn_lock(world.store, slice_of("main"), 0, &lock, NULL), 0);
		assert_int_equal(log_write_meta(log, NULL), 0);
		static const char *const names[] = {".gitignore", "main.jsonl", "main.meta.json", "main.turn",
			"child.jsonl", "child.meta.json", ".lock"};
		assert_int_equal(mode_of(world.dir), 0700);
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			assert_int_equal(mode_of(scratch_path(world.dir, names[n])), 0600);
		char *ignore = scratch_read(world.dir, ".gitignore", NULL);
		assert_string_equal(ignore, "*\n");
		free(ignore);
		assert_false(scratch_exists(world.dir, ".main.jsonl.tmp"));
		assert_false(scratch_exists(world.dir, ".main.meta.json.tmp"));
		store_turn_unlock(lock);
		log_close(log);
		world_close(&world);
		umask(before);
	}
}

static void x20_older_modes__readable_is_tightened_and_writable_is_refused(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl", "{\"role\":\"user\",\"content\":\"old\"}\n");
	assert_int_equal(chmod(scratch_path(world.dir, "main.jsonl"), 0644), 0);
	log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(mode_of(scratch_path(world.dir, "main.jsonl")), 0644); /* opening writes nothing */
	say(log, "user", "new");
	assert_int_equal(mode_of(scratch_path(world.dir, "main.jsonl")), 0600);
	log_close(log);
	assert_int_equal(chmod(scratch_path(world.dir, "main.jsonl"), 0666), 0);
	assert_int_equal(
		log_open(world.store, slice_of("main"), LOG_WRITE, &log, &world.error), BOBBIN_EREFUSED);
	assert_non_null(strstr(world.error.message, "chmod"));
	log = world_log(&world, "main", LOG_READ);
	log_close(log);
	/* The folder itself. */
	struct store *store;
	assert_int_equal(chmod(world.dir, 0755), 0);
	assert_int_equal(open_store(world.dir, false, &store, NULL), 0);
	store_close(store);
	assert_int_equal(chmod(world.dir, 0777), 0);
	assert_int_equal(open_store(world.dir, false, &store, &world.error), BOBBIN_EREFUSED);
	assert_int_equal(chmod(world.dir, 0770), 0);
	assert_int_equal(open_store(world.dir, true, &store, &world.error), BOBBIN_EREFUSED);
	assert_non_null(strstr(world.error.message, "chmod 700"));
	assert_int_equal(chmod(world.dir, 0700), 0);
	/* Another user's. */
	world.platform.fake_user = true;
	world.platform.user = getuid() + 1;
	struct store_options options = {.create = false, .force_filesystem = true};
	assert_int_equal(store_open(&world.platform.table, world.dir, &options, &store, &world.error),
		BOBBIN_EREFUSED);
	assert_int_equal(log_open(world.store, slice_of("main"), LOG_READ, &log, NULL), BOBBIN_EREFUSED);
	world.platform.fake_user = false;
	world_close(&world);
}

static void x20_links__are_never_followed(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	struct turn_lock *lock;
	world_open(&world, STORE_SYNC_NONE);
	struct log *real = world_create(&world, "real");
	say(real, "user", "secret");
	size_t before, after;
	free(scratch_read(world.dir, "real.jsonl", &before));
	assert_int_equal(symlink("real.jsonl", scratch_path(world.dir, "link.jsonl")), 0);
	assert_int_equal(symlink("/nonexistent/x", scratch_path(world.dir, "broken.jsonl")), 0);
	assert_int_equal(
		log_open(world.store, slice_of("link"), LOG_READ, &log, &world.error), BOBBIN_EREFUSED);
	assert_non_null(strstr(world.error.message, "link"));
	assert_int_equal(log_open(world.store, slice_of("broken"), LOG_WRITE, &log, NULL), BOBBIN_EREFUSED);
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	create.id = SLICE_LITERAL("broken");
	assert_int_equal(log_create(world.store, &create, &log, NULL), BOBBIN_EEXIST);
	/* A link in place of a temporary, a lock, a meta; a FIFO and a folder in place of a log. */
	assert_int_equal(symlink("real.jsonl", scratch_path(world.dir, ".new.jsonl.tmp")), 0);
	create.id = SLICE_LITERAL("new");
	assert_int_equal(log_create(world.store, &create, &log, NULL), BOBBIN_EREFUSED);
	assert_int_equal(symlink("real.jsonl", scratch_path(world.dir, "real.turn")), 0);
	assert_int_equal(store_turn_lock(world.store, slice_of("real"), 0, &lock, NULL), BOBBIN_EREFUSED);
	assert_int_equal(remove(scratch_path(world.dir, "real.meta.json")), 0);
	assert_int_equal(symlink("real.jsonl", scratch_path(world.dir, "real.meta.json")), 0);
	assert_int_equal(log_write_meta(real, NULL), 0);
	assert_int_equal(mkfifo(scratch_path(world.dir, "fifo.jsonl"), 0600), 0);
	assert_int_equal(log_open(world.store, slice_of("fifo"), LOG_READ, &log, NULL), BOBBIN_EREFUSED);
	assert_int_equal(mkdir(scratch_path(world.dir, "folder.jsonl"), 0700), 0);
	assert_int_equal(log_open(world.store, slice_of("folder"), LOG_READ, &log, NULL), BOBBIN_EREFUSED);
	free(scratch_read(world.dir, "real.jsonl", &after));
	assert_int_equal(before, after);
	/* Listed, so that nobody wonders where it went, but as damaged. */
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count, damaged = 0;
	assert_int_equal(store_list(world.store, NULL, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		damaged += entries[i].damaged;
	assert_int_equal(damaged, 4);
	arena_release(&arena);
	log_close(real);
	world_close(&world);
}

static void x18_paths__through_links_and_odd_names(void **state)
{
	(void)state;
	char dir[SCRATCH_PATH_BYTES], path[3 * SCRATCH_PATH_BYTES], long_path[5001];
	struct store *store;
	struct log *log;
	scratch_make(dir);
	snprintf(path, sizeof(path), "%s/a project", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/a project/.sessions", dir);
	assert_int_equal(open_store(path, true, &store, NULL), 0);
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	create.id = SLICE_LITERAL("main");
	assert_int_equal(log_create(store, &create, &log, NULL), 0);
	say(log, "user", "x");
	log_close(log);
	store_close(store);
	/* The folder moves, and a link leads to it. */
	char moved[SCRATCH_PATH_BYTES + 16], link_path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "%s/a project", dir);
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	snprintf(link_path, sizeof(link_path), "%s/a project", dir);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink("moved", link_path), 0);
	static const char *const spellings[] = {"%s/a project/.sessions", "%s/moved/.sessions",
		"%s/moved/.sessions/", "%s/moved/../a project/./.sessions"};
	for (size_t i = 0; i < 4; i++) {
		struct buffer text = BUFFER_INIT(4096);
		const char *rest = spellings[i] + 2;
		buffer_add_text(&text, dir);
		buffer_add_text(&text, rest);
		assert_int_equal(open_store(text.data, false, &store, NULL), 0);
		assert_int_equal(log_open(store, slice_of("main"), LOG_READ, &log, NULL), 0);
		assert_string_equal(line_of(log), "m1");
		log_close(log);
		store_close(store);
		buffer_release(&text);
	}
	memset(long_path, 'a', 5000);
	long_path[5000] = '\0';
	assert_int_equal(open_store(long_path, true, &store, NULL), BOBBIN_EINVAL);
	assert_int_equal(open_store("", true, &store, NULL), BOBBIN_EINVAL);
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(open_store(path, false, &store, NULL), BOBBIN_ENOTFOUND);
	snprintf(path, sizeof(path), "%s/none/deeper", dir);
	assert_int_equal(open_store(path, true, &store, NULL), BOBBIN_ENOTFOUND);
	snprintf(path, sizeof(path), "%s/moved/.sessions/main.jsonl", dir);
	assert_int_equal(open_store(path, true, &store, NULL), BOBBIN_EREFUSED);
	scratch_remove(dir);
}

static void store__file_systems_that_cannot_lock_are_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		uint64_t magic;
		const char *name;
	} cases[] = {{0x6969, "NFS"}, {0x01021997, "9p"}, {0x65735546, "FUSE"}};
	struct world world;
	struct store *store;
	world_open(&world, STORE_SYNC_NONE);
	for (size_t i = 0; i < 3; i++) {
		struct store_options options = {.create = true};
		world.platform.fake_file_system = cases[i].magic;
		assert_int_equal(store_open(&world.platform.table, world.dir, &options, &store, &world.error),
			BOBBIN_EREFUSED);
		assert_non_null(strstr(world.error.message, cases[i].name));
		options.force_filesystem = true;
		assert_int_equal(store_open(&world.platform.table, world.dir, &options, &store, NULL), 0);
		store_close(store);
	}
	world_close(&world);
}

static void store__opening_and_listing_write_nothing(void **state)
{
	(void)state;
	struct world world;
	struct store *store;
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "main.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n{torn");
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	struct store_options options = {.create = true, .force_filesystem = true};
	assert_int_equal(store_open(&world.platform.table, world.dir, &options, &store, NULL), 0);
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_int_equal(store_list(store, NULL, &arena, &entries, &count, NULL), 0);
	log_close(log);
	store_close(store);
	static const enum fail_call writing[] = {CALL_WRITE, CALL_TRUNCATE, CALL_RENAME, CALL_LINK,
		CALL_UNLINK, CALL_CHANGE_MODE, CALL_SYNC, CALL_SYNC_DATA};
	for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]); i++)
		assert_int_equal(world.platform.calls[writing[i]], 0);
	assert_false(scratch_exists(world.dir, "main.meta.json"));
	arena_release(&arena);
	world_close(&world);
}

static void list__newest_first_with_bounded_reading(void **state)
{
	(void)state;
	struct world world;
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;
	world_open(&world, STORE_SYNC_NONE);
	static const char *const ids[] = {"one", "two", "three"};
	for (int i = 0; i < 3; i++) {
		struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
		struct log *log;
		create.id = slice_of(ids[i]);
		create.owner = i == 1 ? SLICE_LITERAL("ben") : SLICE_LITERAL("ana");
		create.title = i == 2 ? SLICE_LITERAL("Orders of May") : SLICE_LITERAL("");
		assert_int_equal(log_create(world.store, &create, &log, NULL), 0);
		for (int n = 0; n <= i; n++)
			say(log, "user", "x");
		if (i == 1) {
			struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
			options.create.id = SLICE_LITERAL("two-b");
			options.by_count = true;
			options.count = 2;
			assert_int_equal(log_fork(log, &options, NULL, NULL, NULL), 0);
		}
		log_close(log);
		struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
		char name[16];
		snprintf(name, sizeof(name), "%s.jsonl", ids[i]);
		assert_int_equal(utimensat(AT_FDCWD, scratch_path(world.dir, name), times, 0), 0);
	}
	/* A sparse gigabyte is no reason to read it. */
	assert_int_equal(truncate(scratch_path(world.dir, "one.jsonl"), 1 << 30), 0);
	struct timespec times[2] = {{900, 0}, {900, 0}};
	assert_int_equal(utimensat(AT_FDCWD, scratch_path(world.dir, "one.jsonl"), times, 0), 0);
	world_write(&world, "bad.jsonl", "{\"type\":\"session\",\"id\":\"bad\",\"owner\":\"ana\",\"v\"\n");
	world_write(&world, "not-a-log.txt", "x");
	world_write(&world, ".hidden.jsonl", "x");
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	assert_int_equal(store_list(world.store, NULL, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 5);
	assert_string_equal(entries[2].id, "three");
	assert_string_equal(entries[3].id, "two");
	assert_string_equal(entries[4].id, "one");
	assert_int_equal(entries[2].messages, 3);
	assert_true(entries[2].messages_exact);
	assert_false(entries[4].messages_exact);
	assert_int_equal(entries[2].last_seq, 3);
	assert_string_equal(entries[2].title, "Orders of May");
	assert_true(world.platform.calls[CALL_READ] <= 5 * 5);
	struct store_list_options options = {.owner = "ben"};
	assert_int_equal(store_list(world.store, &options, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 2);
	options = (struct store_list_options){.title = "orders"};
	assert_int_equal(store_list(world.store, &options, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 1);
	options = (struct store_list_options){.parent_id = "two"};
	assert_int_equal(store_list(world.store, &options, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_string_equal(entries[0].id, "two-b");
	assert_int_equal(entries[0].messages, 2);
	options = (struct store_list_options){.limit = 2};
	assert_int_equal(store_list(world.store, &options, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 2);
	struct store_entry entry;
	assert_int_equal(store_entry(world.store, slice_of("bad"), &arena, &entry, NULL), 0);
	assert_true(entry.damaged);
	assert_int_equal(
		store_entry(world.store, slice_of("nobody"), &arena, &entry, NULL), BOBBIN_ENOTFOUND);
	/* Metas gone or wrong: nothing is hidden, nothing is wrong. */
	world_write(&world, "three.meta.json", "{\"id\":\"three\",\"title\":7");
	remove(scratch_path(world.dir, "two-b.meta.json"));
	struct bobbin_error error = {0};
	assert_int_equal(store_list(world.store, NULL, &arena, &entries, &count, &error), 0);
	assert_string_equal(error.message, "");
	assert_int_equal(count, 5);
	assert_string_equal(entries[2].title, "Orders of May");
	assert_false(entries[2].messages_exact);
	arena_release(&arena);
	world_close(&world);
}

/* Killed between linking the new log to its name and removing the temporary one: both are the same file. */
static void create__second_name_left_behind_does_not_empty_the_log(void **state)
{
	(void)state;
	struct world world;
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct log *log;
	world_open(&world, STORE_SYNC_NONE);
	log = world_create(&world, "main");
	say(log, "user", "kept");
	log_close(log);
	char from[SCRATCH_PATH_BYTES];
	snprintf(from, sizeof(from), "%s", scratch_path(world.dir, "main.jsonl"));
	assert_int_equal(link(from, scratch_path(world.dir, ".main.jsonl.tmp")), 0);
	create.id = SLICE_LITERAL("main");
	assert_int_equal(log_create(world.store, &create, &log, NULL), BOBBIN_EEXIST);
	log = world_log(&world, "main", LOG_WRITE);
	assert_string_equal(line_of(log), "m1");
	assert_string_equal(text_of(log, log_head(log)), "kept");
	log_close(log);
	world_close(&world);
}

static void delete__takes_all_of_it(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	struct turn_lock *lock;
	world_open(&world, STORE_SYNC_FULL);
	log = world_create(&world, "main");
	say(log, "user", "x");
	log_close(log);
	assert_int_equal(store_turn_lock(world.store, slice_of("main"), 0, &lock, NULL), 0);
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), BOBBIN_EBUSY);
	store_turn_unlock(lock);
	world_write(&world, "main.memory.md", "x");
	log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", NULL), BOBBIN_ENOTFOUND);
	log_close(log);
	static const char *const names[] = {"main.jsonl", "main.meta.json", "main.turn", "main.memory.md"};
	for (size_t i = 0; i < 4; i++)
		assert_false(scratch_exists(world.dir, names[i]));
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), BOBBIN_ENOTFOUND);
	world_close(&world);
}

static void c4_turn_lock__one_at_a_time_and_free_after_death(void **state)
{
	(void)state;
	struct world world;
	struct turn_lock *lock, *second;
	int ready[2];
	char byte;
	world_open(&world, STORE_SYNC_NONE);
	assert_int_equal(store_turn_lock(world.store, slice_of("main"), 0, &lock, NULL), 0);
	assert_int_equal(
		store_turn_lock(world.store, slice_of("main"), 0, &second, &world.error), BOBBIN_EBUSY);
	assert_non_null(strstr(world.error.message, "main"));
	assert_int_equal(store_turn_lock(world.store, slice_of("main"), 20, &second, NULL), BOBBIN_EBUSY);
	assert_int_equal(store_turn_lock(world.store, slice_of("other"), 0, &second, NULL), 0);
	store_turn_unlock(second);
	store_turn_unlock(lock);
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		store_turn_lock(world.store, slice_of("main"), 0, &lock, NULL);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(store_turn_lock(world.store, slice_of("main"), 0, &lock, NULL), BOBBIN_EBUSY);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(store_turn_lock(world.store, slice_of("main"), 1000, &lock, NULL), 0);
	store_turn_unlock(lock);
	close(ready[0]);
	close(ready[1]);
	world_close(&world);
}

/* A store made by hand: no headers, no crc, no ids, no call arguments; parent, cut and watermark only in the
 * meta. */
static void handmade__loads_and_learns_what_only_meta_knew(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl",
		"{\"role\":\"user\",\"content\":\"When?\"}\n"
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"query\"}]"
		"}\n"
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"Monday\"}\n"
		"{\"role\":\"assistant\",\"content\":\"On Monday.\"}\n"
		"{\"role\":\"user\",\"content\":\"Thanks\"}\n");
	world_write(&world, "child.jsonl", "{\"seq\":5,\"role\":\"user\",\"content\":\"And on Tuesday?\"}\n");
	world_write(&world, "child.meta.json",
		"{\"id\":\"child\",\"parentId\":\"main\",\"forkedAt\":4,\"watermark\":2,\"title\":\"Days\","
		"\"owner\":\"ana\"}");
	size_t meta_before;
	free(scratch_read(world.dir, "child.meta.json", &meta_before));
	for (int round = 0; round < 3; round++) {
		struct log *log = world_log(&world, "child", LOG_WRITE);
		const struct log_info *info = log_info(log);
		assert_string_equal(info->parent_id, "main");
		assert_int_equal(info->forked_at, 4);
		assert_string_equal(info->through, "m4");
		assert_true(info->has_watermark);
		assert_int_equal(info->watermark, 2);
		assert_string_equal(info->title, "Days");
		assert_string_equal(info->owner, "ana");
		assert_int_equal(log_fault_total(log), 0);
		if (round == 0) {
			assert_string_equal(line_of(log), "m1 m2 m3 m4 m5");
			assert_int_equal(say(log, "assistant", "No.").seq, 6);
			/* Said once: the next record goes without a session line. */
			uint32_t records = log_record_count(log);
			add(log, "{\"type\":\"note\"}");
			assert_int_equal(log_record_count(log), records + 1);
		}
		assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
		assert_string_equal(text_of(log, node_of(log, "m5")), "And on Tuesday?");
		log_close(log);
		if (round == 0) { /* The log knows it itself now, also what the parent is forked at. */
			remove(scratch_path(world.dir, "child.meta.json"));
			struct log *parent = world_log(&world, "main", LOG_WRITE);
			assert_string_equal(line_of(parent), "m1 m2 m3 m4 m5");
			assert_int_equal(log_rewind(parent, slice_of("m1"), NULL, NULL), 0);
			say(parent, "assistant", "another answer");
			assert_string_equal(line_of(parent), "m1 m7");
			log_close(parent);
		}
		if (round == 1)
			world_write(&world, "child.meta.json",
				"{\"id\":\"child\",\"parentId\":\"nobody\",\"forkedAt\":9}");
	}
	/* Its deletion is guarded like any other's. */
	assert_int_equal(store_delete(world.store, slice_of("main"), &world.error), BOBBIN_EREFUSED);
	world_close(&world);
}

static void handmade__fork_whose_parent_is_missing_or_too_short_is_an_error(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "child.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
	world_write(&world, "child.meta.json", "{\"parentId\":\"main\",\"forkedAt\":4}");
	assert_int_equal(log_open(world.store, slice_of("child"), LOG_READ, &log, NULL), BOBBIN_ECORRUPT);
	world_write(&world, "main.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
	assert_int_equal(
		log_open(world.store, slice_of("child"), LOG_READ, &log, &world.error), BOBBIN_ECORRUPT);
	assert_non_null(strstr(world.error.message, "fewer"));
	world_write(&world, "child.meta.json", "{\"parentId\":\"main\",\"forkedAt\":1}");
	assert_int_equal(log_open(world.store, slice_of("child"), LOG_READ, &log, NULL), 0);
	log_close(log);
	world_close(&world);
}

static void x23_meta__is_a_cache_that_never_matters(void **state)
{
	(void)state;
	static const char *const metas[] = {"", "{", "null", "[]", "{\"id\":7}",
		"{\"parentId\":\"nobody\",\"forkedAt\":3}",
		"{\"messages\":-5,\"logBytes\":1e400,\"title\":\"\\u0000\"}"};
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "x");
	log_close(log);
	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		world_write(&world, "main.meta.json", metas[i]);
		log = world_log(&world, "main", LOG_WRITE);
		assert_string_equal(line_of(log), "m1");
		assert_string_equal(log_info(log)->owner, "ana");
		assert_string_equal(log_info(log)->parent_id, "");
		log_close(log);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids__that_could_leave_the_folder_are_refused),
		cmocka_unit_test(x20_modes__are_0600_and_0700_under_any_umask),
		cmocka_unit_test(x20_older_modes__readable_is_tightened_and_writable_is_refused),
		cmocka_unit_test(x20_links__are_never_followed),
		cmocka_unit_test(x18_paths__through_links_and_odd_names),
		cmocka_unit_test(store__file_systems_that_cannot_lock_are_refused_by_name),
		cmocka_unit_test(store__opening_and_listing_write_nothing),
		cmocka_unit_test(list__newest_first_with_bounded_reading),
		cmocka_unit_test(create__second_name_left_behind_does_not_empty_the_log),
		cmocka_unit_test(delete__takes_all_of_it),
		cmocka_unit_test(c4_turn_lock__one_at_a_time_and_free_after_death),
		cmocka_unit_test(handmade__loads_and_learns_what_only_meta_knew),
		cmocka_unit_test(handmade__fork_whose_parent_is_missing_or_too_short_is_an_error),
		cmocka_unit_test(x23_meta__is_a_cache_that_never_matters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
