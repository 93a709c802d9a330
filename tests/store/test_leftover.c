/* SPDX-License-Identifier: MIT */
/* What a crash leaves beside the logs, and what is done about it. Found by the simulation
 * (test_simulation.c). */
#include "store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* A crash between linking a new log and unlinking its temporary name leaves both names. */
static void leave_second_name(struct world *world)
{
	char log[SCRATCH_PATH_BYTES + 32], temporary[SCRATCH_PATH_BYTES + 32];

	snprintf(log, sizeof(log), "%s/main.jsonl", world->dir);
	snprintf(temporary, sizeof(temporary), "%s/.main.jsonl.tmp", world->dir);
	assert_int_equal(link(log, temporary), 0);
}

static int create(struct world *world, struct log **ret_log)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;

	options.id = SLICE_LITERAL("main");
	return log_create(world->store, &options, ret_log, &world->error);
}

static void second_name__does_not_cost_the_log_its_content(void **state)
{
	(void)state;
	struct world world;
	struct log *log, *other;

	world_open(&world, STORE_SYNC_FULL);
	log = world_create(&world, "main");
	say(log, "user", "kept");
	leave_second_name(&world);
	assert_int_equal(create(&world, &other), BOBBIN_EEXIST);
	assert_int_equal(log_refresh(log, &world.error), 0);
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1");
	assert_string_equal(text_of(log, log_head(log)), "kept");
	log_close(log);
	world_close(&world);
}

static void second_name__goes_with_the_session(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	log_close(world_create(&world, "main"));
	leave_second_name(&world);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), 0);
	assert_false(scratch_exists(world.dir, ".main.jsonl.tmp"));
	world_close(&world);
}

static void second_name__never_becomes_another_session(void **state)
{
	(void)state;
	struct world world;
	struct log *old, *new;
	char path[SCRATCH_PATH_BYTES + 32];

	world_open(&world, STORE_SYNC_FULL);
	old = world_create(&world, "main");
	leave_second_name(&world);
	snprintf(path, sizeof(path), "%s/main.jsonl", world.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(create(&world, &new), 0);
	/* The same file would be taken for the session that is gone. */
	assert_int_equal(
		try_add(old, "{\"role\":\"user\",\"content\":\"lost\"}", &world.error), BOBBIN_ECORRUPT);
	assert_string_equal(line_of(new), "");
	log_close(old);
	log_close(new);
	world_close(&world);
}

static void aside__is_acknowledged_again(void **state)
{
	(void)state;
	static const char REPLY[] = "{\"role\":\"assistant\",\"id\":\"r1\",\"content\":\"late\"}";
	struct world world;
	struct slice record = SLICE_LITERAL(REPLY);
	struct log_append_options options = {true, SLICE_LITERAL("m1"), LOG_CONFLICT_ASIDE};
	struct log_ack ack, again;

	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	say(log, "user", "two");
	assert_int_equal(log_append(log, &record, 1, &options, &ack, &world.error), 0);
	assert_true(ack.aside && !ack.repeated);
	assert_int_equal(log_append(log, &record, 1, &options, &again, &world.error), 0);
	assert_true(again.repeated);
	assert_int_equal(again.seq, ack.seq);
	assert_string_equal(line_of(log), "m1 m2");
	/* A parent that the client gives is a part of the message. */
	assert_int_equal(
		try_add(log, "{\"role\":\"assistant\",\"id\":\"r1\",\"parent\":\"m2\",\"content\":\"late\"}",
			NULL),
		BOBBIN_EEXIST);
	log_close(log);
	world_close(&world);
}

static int open_new(struct fail_platform *platform, const char *path)
{
	struct store_options options = {.create = true, .force_filesystem = true};
	struct store *store = NULL;
	int rc = store_open(&platform->table, path, &options, &store, NULL);

	store_close(store);
	return rc;
}

static void new_store__its_name_is_durable(void **state)
{
	(void)state;
	static const char *const NAMES[] = {"/one", "/two/", "//three//"};
	struct fail_platform platform;
	char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 16];

	scratch_make(dir);
	fail_platform_init(&platform);
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, NAMES[i]);
		fail_platform_plan(&platform, CALL_SYNC, 1, EIO);
		assert_int_equal(open_new(&platform, path), BOBBIN_EIO);
		/* Whoever comes next does what was not done. */
		fail_platform_plan(&platform, CALL_NONE, 0, 0);
		assert_int_equal(open_new(&platform, path), 0);
		assert_int_equal(platform.calls[CALL_SYNC], 1);
	}
	scratch_remove(dir);
}

/* The last two were never synced; a durable fork of them rests on both. */
static void durable_fork__all_it_rests_on_is_synced(void **state)
{
	(void)state;
	struct world world;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *child, *grandchild;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	options.at = SLICE_LITERAL("m1");
	assert_int_equal(log_fork(log, &options, NULL, &child, &world.error), 0);
	say(child, "assistant", "two");
	options.at = SLICE_LITERAL("m2");
	options.create.sync = STORE_SYNC_FULL;
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	assert_int_equal(log_fork(child, &options, NULL, &grandchild, &world.error), 0);
	assert_int_equal(world.platform.calls[CALL_SYNC_DATA], 3); /* both, and its own header */
	log_close(grandchild);
	log_close(child);
	log_close(log);
	world_close(&world);
}

static void meta_of_a_deleted_session__is_not_taken_for_the_new_one(void **state)
{
	(void)state;
	struct world world;
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct arena arena = ARENA_INIT;
	struct store_entry entry;
	struct log *log;
	char *meta;
	size_t len;

	world_open(&world, STORE_SYNC_FULL);
	log = world_create(&world, "main");
	assert_int_equal(log_set_title(log, SLICE_LITERAL("old"), &world.error), 0);
	log_close(log);
	meta = scratch_read(world.dir, "main.meta.json", &len);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), 0);
	options.id = SLICE_LITERAL("main");
	options.owner = SLICE_LITERAL("bob");
	assert_int_equal(log_create(world.store, &options, &log, &world.error), 0);
	scratch_write(world.dir, "main.meta.json", meta, len);
	assert_int_equal(store_entry(world.store, options.id, &arena, &entry, &world.error), 0);
	assert_string_equal(entry.owner, "bob");
	assert_string_equal(entry.title, "");
	assert_false(entry.messages_exact);
	free(meta);
	log_close(log);
	arena_release(&arena);
	world_close(&world);
}

static void delete__a_log_that_cannot_be_examined_is_not_missing(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	log_close(world_create(&world, "main"));
	fail_platform_plan(&world.platform, CALL_INFO_AT, 1, EIO);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_EIO);
	fail_platform_heal(&world.platform);
	world_close(&world);
}

static void delete__takes_away_what_a_killed_one_left(void **state)
{
	(void)state;
	static const char *const LEFT[] = {
		"main.turn", "main.meta.json", ".main.meta.json.tmp", "main.memory.md", ".main.jsonl.tmp"};
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_ENOTFOUND);
	assert_false(scratch_exists(world.dir, "main.turn"));
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++) {
		world_write(&world, LEFT[i], "{}\n");
		assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), 0);
		assert_false(scratch_exists(world.dir, LEFT[i]));
		assert_false(scratch_exists(world.dir, "main.turn"));
		assert_int_equal(
			store_delete(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_ENOTFOUND);
	}
	world_close(&world);
}

/* Whatever byte of a fork's header is damaged, its parent stays: without it the fork could not be mended. */
static void delete__a_damaged_fork_keeps_its_parent(void **state)
{
	(void)state;
	struct world world;
	struct log *kid;
	size_t len;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	log_close(log);
	kid = world_fork(&world, "main", "kid", 1);
	say(kid, "assistant", "two");
	log_close(kid);
	char *bytes = scratch_read(world.dir, "kid.jsonl", &len);
	size_t header = (size_t)((char *)memchr(bytes, '\n', len) - bytes) + 1;
	for (size_t i = 0; i < 3 * header; i++) {
		char good = bytes[i / 3];
		bytes[i / 3] = i % 3 == 0 ? '\0' : (char)(good ^ (i % 3 == 1 ? 1 : 0x80));
		scratch_write(world.dir, "kid.jsonl", bytes, len);
		assert_int_equal(
			store_delete(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_EREFUSED);
		assert_non_null(strstr(world.error.message, "kid"));
		assert_true(scratch_exists(world.dir, "main.jsonl"));
		bytes[i / 3] = good;
	}
	/* Also if nothing of it names the parent any more. The damaged one itself can be deleted. */
	memset(bytes, '\0', header - 1);
	scratch_write(world.dir, "kid.jsonl", bytes, len);
	unlink(scratch_path(world.dir, "kid.meta.json"));
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_EREFUSED);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("kid"), &world.error), 0);
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("main"), &world.error), 0);
	free(bytes);
	world_close(&world);
}

/* Neither its bytes nor its name may be missing after a power cut once it is told; so if either cannot be synced, it is not. */
static void hidden_session__is_durable_when_it_has_appeared(void **state)
{
	(void)state;
	static const enum fail_call syncs[] = {CALL_SYNC_DATA, CALL_SYNC};

	for (size_t i = 0; i < 2; i++) {
		struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
		struct world world;
		struct log *log;
		world_open(&world, STORE_SYNC_FULL);
		options.id = SLICE_LITERAL("new");
		assert_int_equal(log_create_hidden(world.store, &options, &log, &world.error), 0);
		say(log, "user", "kept");
		fail_platform_plan(&world.platform, syncs[i], 1, EIO);
		assert_int_equal(log_appear(log, &world.error), BOBBIN_EIO);
		assert_true(world.platform.failed);
		fail_platform_heal(&world.platform);
		assert_false(store_has(world.store, options.id));
		log_close(log);
		world_close(&world);
	}
}

/* What forks inherit must have its new name on disk before the old one is taken away. */
static void delete__copies_are_durable_before_the_parent_goes(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	say(log, "user", "inherited");
	log_close(log);
	log_close(world_fork(&world, "main", "kid", 1));
	fail_platform_plan(&world.platform, CALL_SYNC, 1, EIO);
	assert_int_equal(store_delete_materialized(world.store, SLICE_LITERAL("main"), &world.error), BOBBIN_EIO);
	assert_true(world.platform.failed);
	fail_platform_heal(&world.platform);
	assert_true(store_has(world.store, SLICE_LITERAL("main")));
	world_close(&world);
}

/* An empty file with another name, as a power cut may leave it in mode none, is not written into: that name would have it, too. */
static void second_name__of_an_empty_file_is_not_written_into(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	size_t len;

	world_open(&world, STORE_SYNC_FULL);
	scratch_write_text(world.dir, "old.jsonl", "");
	int dir = open(world.dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(linkat(dir, "old.jsonl", dir, ".main.jsonl.tmp", 0), 0);
	close(dir);
	assert_int_equal(create(&world, &log), 0);
	say(log, "user", "mine");
	log_close(log);
	free(scratch_read(world.dir, "old.jsonl", &len));
	assert_int_equal(len, 0);
	world_close(&world);
}

/* What else belongs to a session of a newer version only that one knows. */
static void delete__leaves_a_session_of_a_newer_version(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "new.jsonl", "{\"type\":\"session\",\"id\":\"new\",\"v\":99}\n");
	assert_int_equal(store_delete(world.store, SLICE_LITERAL("new"), &world.error), BOBBIN_EREADONLY);
	assert_true(store_has(world.store, SLICE_LITERAL("new")));
	world_close(&world);
}

/* Somebody is making a session of that name: what he writes is not taken away under him. */
static void delete__leaves_what_another_is_making(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_FULL);
	log_close(world_create(&world, "main"));
	scratch_write_text(world.dir, ".main.jsonl.tmp", "{\"type\":");
	int making = open(scratch_path(world.dir, ".main.jsonl.tmp"), O_RDWR);
	assert_int_equal(flock(making, LOCK_EX), 0);
	assert_int_equal(store_delete(world.store, slice_of("main"), &world.error), 0);
	assert_false(store_has(world.store, slice_of("main")));
	assert_true(scratch_exists(world.dir, ".main.jsonl.tmp"));
	close(making);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(second_name__does_not_cost_the_log_its_content),
		cmocka_unit_test(second_name__goes_with_the_session),
		cmocka_unit_test(second_name__never_becomes_another_session),
		cmocka_unit_test(aside__is_acknowledged_again),
		cmocka_unit_test(new_store__its_name_is_durable),
		cmocka_unit_test(durable_fork__all_it_rests_on_is_synced),
		cmocka_unit_test(meta_of_a_deleted_session__is_not_taken_for_the_new_one),
		cmocka_unit_test(delete__a_log_that_cannot_be_examined_is_not_missing),
		cmocka_unit_test(delete__takes_away_what_a_killed_one_left),
		cmocka_unit_test(delete__a_damaged_fork_keeps_its_parent),
		cmocka_unit_test(second_name__of_an_empty_file_is_not_written_into),
		cmocka_unit_test(delete__leaves_a_session_of_a_newer_version),
		cmocka_unit_test(delete__leaves_what_another_is_making),
		cmocka_unit_test(hidden_session__is_durable_when_it_has_appeared),
		cmocka_unit_test(delete__copies_are_durable_before_the_parent_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
