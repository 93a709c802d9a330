/* SPDX-License-Identifier: MIT */
/* Memory and the outside world failing at every call: what was acknowledged stays, the next one works. */
#include "store_test.h"
#include <errno.h>
#include <sys/stat.h>

/* What a run of the scenario was told. Messages of "main" are numbered texts. */
struct told {
	int attempted, acknowledged[32], count;
	bool created;
	int worst; /* the first error */
};

static void note(struct told *told, int rc)
{
	if (rc && !told->worst)
		told->worst = rc;
}

static void append_one(struct told *told, struct log *log)
{
	char record[128];
	struct log_ack ack;
	int number = told->attempted++;

	snprintf(record, sizeof(record), "{\"role\":\"%s\",\"content\":\"%d\"}",
		number % 2 ? "assistant" : "user", number);
	struct slice slice = slice_of(record);
	int rc = log_append(log, &slice, 1, NULL, &ack, NULL);
	assert_true(rc == 0 || ack.seq == 0);
	if (rc == 0)
		told->acknowledged[told->count++] = number;
	note(told, rc);
}

static void append_two(struct told *told, struct log *log)
{
	char records[2][128];
	struct slice slices[2];
	struct log_ack acks[2];
	int number = told->attempted;

	told->attempted += 2;
	for (int i = 0; i < 2; i++) {
		snprintf(records[i], sizeof(records[i]),
			"{\"role\":\"user\",\"id\":\"b-%d\",\"content\":\"%d\"}", number + i, number + i);
		slices[i] = slice_of(records[i]);
	}
	int rc = log_append(log, slices, 2, NULL, acks, NULL);
	for (int i = 0; i < 2; i++) {
		assert_true(rc != 0 || acks[i].seq != 0);
		if (acks[i].seq)
			told->acknowledged[told->count++] = number + i;
	}
	note(told, rc);
}

static void with_log(struct told *told, struct log *log)
{
	append_one(told, log);
	append_two(told, log);
	append_one(told, log);
	struct log_path *path;
	int rc = log_path_new(log, log_head(log), NULL, &path, NULL);
	note(told, rc);
	if (!rc)
		log_path_free(path);
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *child;
	options.create.id = SLICE_LITERAL("child");
	options.by_count = true;
	options.count = 1;
	rc = log_fork(log, &options, NULL, &child, NULL);
	note(told, rc);
	if (rc == 0) {
		struct slice mine = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"in the child\"}");
		note(told, log_append(child, &mine, 1, NULL, NULL, NULL));
		log_close(child);
	}
	note(told, log_set_title(log, slice_of("title"), NULL));
	note(told, log_refresh(log, NULL));
	append_one(told, log);
}

static void scenario(struct told *told, struct store *store)
{
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	struct log *log;
	size_t count;

	create.id = SLICE_LITERAL("main");
	int rc = log_create(store, &create, &log, NULL);
	note(told, rc);
	if (rc == 0) {
		told->created = true;
		with_log(told, log);
		log_close(log);
	}
	rc = log_open(store, slice_of("main"), LOG_WRITE, &log, NULL);
	note(told, rc);
	if (rc == 0) {
		append_one(told, log);
		log_close(log);
	}
	note(told, store_list(store, NULL, &arena, &entries, &count, NULL));
	rc = store_delete(store, slice_of("child"), NULL);
	note(told, rc);
	arena_release(&arena);
}

/* Everything acknowledged is there, whole, in order, once; nothing is there that was not said; and it goes
 * on. */
static void check_after(struct world *world, struct told *told)
{
	struct log *log;
	int rc = log_open(world->store, slice_of("main"), LOG_WRITE, &log, &world->error);

	if (rc == BOBBIN_ENOTFOUND && !told->created)
		return;
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	struct arena arena = ARENA_INIT;
	uint32_t *nodes, count;
	int next = 0, before = -1;
	assert_int_equal(log_line(log, log_head(log), &arena, &nodes, &count), 0);
	for (uint32_t i = 0; i < count; i++) {
		int number = atoi(text_of(log, nodes[i]));
		assert_true(number > before && number < told->attempted);
		before = number;
		if (next < told->count && told->acknowledged[next] == number)
			next++;
	}
	assert_int_equal(next, told->count);
	struct log_node node = {0};
	if (count)
		log_node(log, nodes[count - 1], &node);
	assert_true(say(log, "user", "goes on").seq > node.seq);
	arena_release(&arena);
	log_close(log);
	/* The child is whole or not there. */
	rc = log_open(world->store, slice_of("child"), LOG_READ, &log, NULL);
	assert_true(rc == 0 || rc == BOBBIN_ENOTFOUND);
	if (rc == 0) {
		assert_string_equal(text_of(log, 0), "0");
		log_close(log);
	}
}

static uint64_t next_try(uint64_t nth)
{
	/* Every one of the first, then a spread; all in a soak. */
	return nth < 40 || getenv("BOBBIN_SOAK") ? nth + 1 : nth + 1 + nth % 5;
}

static void faults__nth_allocation(void **state)
{
	(void)state;
	uint64_t tried = 0;
	for (uint64_t nth = 1;; nth = next_try(nth)) {
		struct world world;
		struct told told = {0};
		world_open(&world, STORE_SYNC_NONE);
		fail_alloc_start(nth);
		scenario(&told, world.store);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		assert_true(told.worst == 0 || told.worst == BOBBIN_ENOMEM);
		check_after(&world, &told);
		world_close(&world);
		tried++;
		if (!report.failed) {
			assert_int_equal(told.worst, 0);
			assert_int_equal(told.count, 6);
			break;
		}
	}
	print_message("# %lu places\n", (unsigned long)tried);
	assert_true(tried > 50);
}

static void faults__nth_call_of_any_kind(void **state)
{
	(void)state;
	static const int errors[] = {EIO, ENOSPC};
	uint64_t tried = 0;
	for (int variant = 0; variant < 4; variant++) {
		for (uint64_t nth = 1;; nth = next_try(nth)) {
			struct world world;
			struct told told = {0};
			world_open(&world, STORE_SYNC_FULL);
			world.platform.skip_sync = true;
			fail_platform_plan(&world.platform, CALL_ANY, nth, errors[variant & 1]);
			world.platform.fail_after = variant >= 2;
			scenario(&told, world.store);
			bool failed = world.platform.failed;
			fail_platform_heal(&world.platform);
			check_after(&world, &told);
			world_close(&world);
			tried++;
			if (!failed)
				break;
		}
	}
	print_message("# %lu places\n", (unsigned long)tried);
	assert_true(tried > 200);
}

static void faults__opening_a_store(void **state)
{
	(void)state;
	for (int calls = 0; calls < 2; calls++) {
		for (uint64_t nth = 1;; nth++) {
			struct store_options options = {.create = true};
			struct fail_platform platform;
			char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 8];
			struct store *store = NULL;
			struct bobbin_error error = {0};
			scratch_make(dir);
			snprintf(path, sizeof(path), "%s/s", dir);
			fail_platform_init(&platform);
			if (calls)
				fail_platform_plan(&platform, CALL_ANY, nth, EIO);
			else
				fail_alloc_start(nth);
			int rc = store_open(&platform.table, path, &options, &store, &error);
			bool failed = calls ? platform.failed : fail_alloc_stop().failed;
			fail_platform_heal(&platform);
			assert_int_equal(error.code, rc);
			if (rc) {
				assert_int_equal(rc, calls ? BOBBIN_EIO : BOBBIN_ENOMEM);
				assert_int_equal(platform.open_files, 0);
				assert_int_equal(
					store_open(&platform.table, path, &options, &store, NULL), 0);
			}
			store_close(store);
			scratch_remove(dir);
			if (!failed)
				break;
		}
	}
}

static void faults__nth_write_is_short(void **state)
{
	(void)state;
	for (int then = 0; then < 2; then++) {
		for (uint64_t nth = 1; nth < 40; nth++) {
			for (size_t bytes = 0; bytes < 400; bytes += bytes < 4 ? 1 : 37) {
				struct world world;
				struct told told = {0};
				world_open(&world, STORE_SYNC_NONE);
				fail_platform_plan_short(&world.platform, nth, bytes, then ? ENOSPC : 0);
				scenario(&told, world.store);
				bool failed = world.platform.failed;
				fail_platform_heal(&world.platform);
				check_after(&world, &told);
				world_close(&world);
				if (!failed) {
					nth = 40;
					break;
				}
				if (!getenv("BOBBIN_SOAK"))
					bytes += 11;
			}
		}
	}
}

static void faults__failed_write_is_cut_back(void **state)
{
	(void)state;
	struct world world;
	struct bobbin_error error = {0};
	size_t before, after;
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	free(scratch_read(world.dir, "main.jsonl", &before));
	fail_platform_plan_short(&world.platform, 1, 17, ENOSPC);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"two\"}", &error), BOBBIN_ENOSPC);
	assert_non_null(strstr(error.message, "main.jsonl"));
	free(scratch_read(world.dir, "main.jsonl", &after));
	assert_int_equal(before, after);
	/* Even if cutting back fails: what is half there is no record, and the next append ends it. */
	fail_platform_plan_short(&world.platform, 1, 17, ENOSPC);
	world.platform.fail_kind = CALL_TRUNCATE;
	world.platform.fail_nth = 1;
	world.platform.fail_errno = EIO;
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"two\"}", NULL), BOBBIN_ENOSPC);
	fail_platform_heal(&world.platform);
	assert_int_equal(say(log, "user", "three").seq, 2);
	assert_string_equal(line_of(log), "m1 m2");
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 m2");
	assert_int_equal(count_faults(log, FAULT_TORN), 1);
	log_close(log);
	/* A write that lacks only its line break is a whole record. */
	log = world_log(&world, "main", LOG_WRITE);
	char *text = scratch_read(world.dir, "main.jsonl", &before);
	free(text);
	say(log, "user", "x");
	free(scratch_read(world.dir, "main.jsonl", &after));
	fail_platform_plan_short(&world.platform, 1, after - before - 1, EIO);
	assert_int_equal(say(log, "user", "y").seq, 4);
	fail_platform_heal(&world.platform);
	say(log, "user", "z");
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5");
	assert_int_equal(log_fault_total(log), 1);
	log_close(log);
	world_close(&world);
}

static void faults__failed_sync_is_unknown_and_closes_the_handle(void **state)
{
	(void)state;
	struct world world;
	struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"id\":\"k\",\"content\":\"two\"}");
	struct log_ack ack;
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	fail_platform_plan(&world.platform, CALL_SYNC_DATA, 1, EIO);
	assert_int_equal(log_append(log, &record, 1, NULL, &ack, &world.error), BOBBIN_EUNKNOWN);
	assert_int_equal(world.error.code, BOBBIN_EUNKNOWN);
	assert_int_equal(ack.seq, 0);
	fail_platform_heal(&world.platform);
	assert_false(log_info(log)->writable);
	assert_int_equal(log_append(log, &record, 1, NULL, &ack, NULL), BOBBIN_EREADONLY);
	log_close(log);
	/* Opened anew, the same id asks again and is answered once it is durable. */
	log = world_log(&world, "main", LOG_WRITE);
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	assert_int_equal(log_append(log, &record, 1, NULL, &ack, NULL), 0);
	assert_true(ack.repeated);
	assert_int_equal(world.platform.calls[CALL_SYNC_DATA], 1);
	assert_string_equal(line_of(log), "m1 k");
	log_close(log);
	world_close(&world);
}

static void faults__batch_that_fails_half_way_says_what_is_stored(void **state)
{
	(void)state;
	struct world world;
	struct slice batch[3] = {SLICE_LITERAL("{\"role\":\"user\",\"id\":\"a\",\"content\":\"1\"}"),
		SLICE_LITERAL("{\"role\":\"user\",\"id\":\"b\",\"content\":\"2\"}"),
		SLICE_LITERAL("{\"role\":\"user\",\"id\":\"c\",\"content\":\"3\"}")};
	struct log_ack acks[3];
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	fail_platform_plan(&world.platform, CALL_WRITE, 3, ENOSPC);
	assert_int_equal(log_append(log, batch, 3, NULL, acks, NULL), BOBBIN_ENOSPC);
	fail_platform_heal(&world.platform);
	assert_int_equal(acks[0].seq, 1);
	assert_int_equal(acks[1].seq, 2);
	assert_int_equal(acks[2].seq, 0);
	assert_int_equal(log_append(log, batch, 3, NULL, acks, NULL), 0);
	assert_true(acks[0].repeated && acks[1].repeated && !acks[2].repeated);
	assert_string_equal(line_of(log), "a b c");
	log_close(log);
	world_close(&world);
}

/* Nothing is durable if the sync after the failed write fails, too: then nobody's ack is kept. */
static int fail_to_sync(void *context, int file)
{
	(void)context;
	(void)file;
	return -EIO;
}

static void faults__batch_that_fails_half_way_and_cannot_be_synced(void **state)
{
	(void)state;
	struct world world;
	struct slice batch[2] = {SLICE_LITERAL("{\"role\":\"user\",\"id\":\"a\",\"content\":\"1\"}"),
		SLICE_LITERAL("{\"role\":\"user\",\"id\":\"b\",\"content\":\"2\"}")};
	struct log_ack acks[2];
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	int (*plain_sync)(void *, int) = world.platform.table.sync_data;
	fail_platform_plan(&world.platform, CALL_WRITE, 2, ENOSPC);
	world.platform.table.sync_data = fail_to_sync;
	assert_int_equal(log_append(log, batch, 2, NULL, acks, NULL), BOBBIN_ENOSPC);
	world.platform.table.sync_data = plain_sync;
	fail_platform_heal(&world.platform);
	assert_int_equal(acks[0].seq, 0);
	assert_int_equal(acks[1].seq, 0);
	assert_int_equal(log_append(log, batch, 2, NULL, acks, NULL), BOBBIN_EREADONLY);
	log_close(log);
	log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(log_append(log, batch, 2, NULL, acks, NULL), 0);
	assert_true(acks[0].repeated && !acks[1].repeated);
	assert_string_equal(line_of(log), "a b");
	log_close(log);
	world_close(&world);
}

/* The write of the first of two stops before its line break: that one is whole, and stored; the second was never begun. */
static void faults__batch_whose_first_lacks_its_line_break(void **state)
{
	(void)state;
	struct world world;
	struct slice batch[2] = {SLICE_LITERAL("{\"role\":\"user\",\"id\":\"b\",\"content\":\"1\"}"),
		SLICE_LITERAL("{\"role\":\"user\",\"id\":\"c\",\"content\":\"2\"}")};
	struct log_ack acks[2];
	size_t before, after;
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	free(scratch_read(world.dir, "main.jsonl", &before));
	add(log, "{\"role\":\"user\",\"id\":\"a\",\"content\":\"0\"}"); /* of the same length */
	free(scratch_read(world.dir, "main.jsonl", &after));
	fail_platform_plan_short(&world.platform, 1, after - before - 1, ENOSPC);
	assert_int_equal(log_append(log, batch, 2, NULL, acks, NULL), BOBBIN_ENOSPC);
	fail_platform_heal(&world.platform);
	assert_int_equal(acks[0].seq, 2);
	assert_int_equal(acks[1].seq, 0);
	assert_int_equal(log_append(log, batch, 2, NULL, acks, NULL), 0);
	assert_true(acks[0].repeated && !acks[1].repeated);
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "a b c");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults__nth_allocation),
		cmocka_unit_test(faults__nth_call_of_any_kind),
		cmocka_unit_test(faults__opening_a_store),
		cmocka_unit_test(faults__nth_write_is_short),
		cmocka_unit_test(faults__failed_write_is_cut_back),
		cmocka_unit_test(faults__failed_sync_is_unknown_and_closes_the_handle),
		cmocka_unit_test(faults__batch_that_fails_half_way_says_what_is_stored),
		cmocka_unit_test(faults__batch_that_fails_half_way_and_cannot_be_synced),
		cmocka_unit_test(faults__batch_whose_first_lacks_its_line_break),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
