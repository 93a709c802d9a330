/* SPDX-License-Identifier: MIT */
/* Reading a log and appending to one leave entries to the index file as they go: memory stays bounded, and
 * every answer is what it is with all entries in memory. */
#include "store/index_file.h"
#include "store/log_internal.h"
#include "store_test.h"

#include <errno.h>
#include <unistd.h>

#define MAIN_INDEX ".cache/main.index"
#define MESSAGES 300
#define KEPT 7 /* records */

/* Opens the folder once more. No index file is there then. */
static struct store *open_store(struct world *world, uint64_t step, uint32_t memory)
{
	struct store_options options = {
		.create = true, .force_filesystem = true, .index_step = step, .index_memory = memory};
	struct store *store;

	unlink(scratch_path(world->dir, MAIN_INDEX));
	world->platform.skip_sync = true;
	assert_int_equal(store_open(&world->platform.table, world->dir, &options, &store, NULL), 0);
	return store;
}

/* From here on the world's store keeps few entries, or all. */
static void reopen(struct world *world, uint64_t step, uint32_t memory)
{
	store_close(world->store);
	world->store = open_store(world, step, memory);
}

/* The session as it is with all entries in memory. */
struct whole {
	struct store *store;
	struct log *log;
};

static struct whole open_whole(struct world *world)
{
	struct whole whole = {.store = open_store(world, UINT64_MAX / 2, 0)};

	assert_int_equal(log_open(whole.store, slice_of("main"), LOG_READ, &whole.log, NULL), 0);
	assert_null(whole.log->index.prefix);
	assert_true(index_resident_count(&whole.log->index) > MESSAGES / 2);
	unlink(scratch_path(world->dir, MAIN_INDEX));
	return whole;
}

static void close_whole(struct whole *whole)
{
	log_close(whole->log);
	store_close(whole->store);
}

static uint64_t seed = 71;

static unsigned next_random(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

/* Ids of their own, calls and results, branches, rewinds, a second use of an id, a line that is torn. */
static void add_random(struct log *log, unsigned number)
{
	char text[300];
	const char *parent = "";
	char branch[60];

	if (number > 3 && next_random(12) == 0) {
		snprintf(branch, sizeof(branch), "\"parent\":\"m%u\",\"branch\":true,",
			1 + next_random(number / 2));
		parent = branch;
	}
	switch (next_random(5)) {
	case 0:
		snprintf(text, sizeof(text), "{\"role\":\"user\",\"id\":\"own-%u\",\"content\":\"%u\"}",
			number, number);
		break;
	case 1:
	case 2:
		snprintf(text, sizeof(text),
			"{\"role\":\"assistant\",%s\"content\":\"\",\"tool_calls\":[{\"id\":\"c%u\",\"name\":"
			"\"f\",\"arguments\":\"{}\"}]}",
			parent, number % 90);
		break;
	case 3:
		snprintf(text, sizeof(text),
			"{\"role\":\"tool\",\"tool_call_id\":\"c%u\",\"content\":\"%u\"}", next_random(90),
			number);
		break;
	default:
		snprintf(text, sizeof(text), "{\"role\":\"user\",%s\"content\":\"größer\\n%u\"}", parent,
			number);
	}
	try_add(log, text, NULL); /* a repeated id or an unknown parent is refused */
}

static void fill(struct world *world)
{
	world_open(world, STORE_SYNC_FULL);
	reopen(world, UINT64_MAX / 2, 0);
	struct log *log = world_create(world, "main");
	for (unsigned i = 0; i < MESSAGES / 2; i++)
		add_random(log, i);
	scratch_append(world->dir, "main.jsonl", "{\"role\":\"user\",\"cont\n", 21);
	for (unsigned i = MESSAGES / 2; i < MESSAGES; i++)
		add_random(log, i);
	log_close(log);
	unlink(scratch_path(world->dir, MAIN_INDEX));
}

static void assert_same_node(struct log *a, struct log *b, uint32_t node)
{
	struct index_node left = index_node(&a->index, node), right = index_node(&b->index, node);
	struct slice texts = index_texts(&a->index, node), others = index_texts(&b->index, node);
	char number[32];
	uint32_t found = NODE_NONE, other = NODE_NONE;

	assert_true(slice_equal(texts, others));
	left.text_at = right.text_at = 0; /* where they are kept */
	assert_memory_equal(&left, &right, sizeof(left));
	snprintf(number, sizeof(number), "m%llu", (unsigned long long)left.seq);
	assert_int_equal(
		log_find(a, slice_of(number), &found, NULL), log_find(b, slice_of(number), &other, NULL));
	assert_int_equal(found, other);
	if (!left.id_len)
		return;
	assert_int_equal(log_find(a, index_own_id(&a->index, node), &found, NULL), 0);
	assert_int_equal(log_find(b, index_own_id(&b->index, node), &other, NULL), 0);
	assert_int_equal(found, other);
}

static void assert_same(struct log *a, struct log *b)
{
	size_t a_faults, b_faults;

	assert_int_equal(log_node_count(a), log_node_count(b));
	assert_true(index_same_state(&a->index.state, &b->index.state));
	for (uint32_t node = 0; node < log_node_count(a); node++)
		assert_same_node(a, b, node);
	for (uint32_t i = 0; i < a->index.state.control_count; i++) {
		struct index_control left = index_control(&a->index, i), right = index_control(&b->index, i);
		assert_memory_equal(&left, &right, sizeof(left));
	}
	log_faults(a, &a_faults);
	log_faults(b, &b_faults);
	assert_int_equal(a_faults, b_faults);
	assert_int_equal(log_checked(a, 0, NULL) | log_checked(b, 0, NULL), 0);
}

static void memory__of_a_rebuild_is_bounded(void **state)
{
	(void)state;
	struct world world;

	fill(&world);
	struct whole whole = open_whole(&world);
	reopen(&world, 1, KEPT);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_non_null(log->index.prefix);
	assert_true(log->index.all_keys);
	assert_true(index_resident_count(&log->index) <= KEPT);
	assert_true(log->index.node_cap <= 4 * KEPT);
	assert_same(log, whole.log);
	log_close(log);
	close_whole(&whole);
	world_close(&world);
}

/* Who appends for long keeps no more than who has just opened. */
static void memory__of_a_writer_is_bounded(void **state)
{
	(void)state;
	struct world world;

	fill(&world);
	reopen(&world, 1, KEPT);
	struct log *log = world_log(&world, "main", LOG_WRITE);
	for (unsigned i = 0; i < MESSAGES; i++) {
		add_random(log, MESSAGES + i);
		assert_true(index_resident_count(&log->index) <= KEPT + 2);
	}
	struct whole whole = open_whole(&world);
	assert_same(log, whole.log);
	log_close(log);
	close_whole(&whole);
	world_close(&world);
}

/* A writer that begins with a file has the keys of what came since, and leaves them to the file again: what stood there
 * before is still found. */
static void memory__ids_of_a_file_that_was_begun_with(void **state)
{
	(void)state;
	struct world world;
	char text[100], id[32];
	uint32_t node;

	world_open(&world, STORE_SYNC_FULL);
	reopen(&world, 1, KEPT);
	struct log *log = world_create(&world, "main");
	for (unsigned i = 0; i < 4 * KEPT; i++) {
		if (i == 2 * KEPT) {
			log_close(log);
			log = world_log(&world, "main", LOG_WRITE);
			assert_non_null(log->index.prefix);
			assert_false(log->index.all_keys);
		}
		snprintf(text, sizeof(text), "{\"role\":\"user\",\"content\":\"x\",\"id\":\"own-%u\"}", i);
		add(log, text);
	}
	assert_true(index_resident_count(&log->index) <= KEPT + 1);
	for (unsigned i = 0; i < 4 * KEPT; i++) {
		snprintf(id, sizeof(id), "own-%u", i);
		assert_int_equal(log_find(log, slice_of(id), &node, NULL), 0);
		assert_int_equal(node, i);
	}
	log_close(log);
	world_close(&world);
}

/* The file that a rebuild has just begun to rely on is cut, or gone, or another: the log is read. */
static void memory__file_taken_away_after_the_rebuild(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct world world;
		fill(&world);
		struct whole whole = open_whole(&world);
		reopen(&world, 1, KEPT);
		struct log *log = world_log(&world, "main", LOG_READ);
		const char *path = scratch_path(world.dir, MAIN_INDEX);
		if (how == 0)
			unlink(path);
		else
			assert_int_equal(truncate(path, how == 1 ? 0 : 3000), 0);
		assert_same(log, whole.log);
		log_close(log);
		close_whole(&whole);
		world_close(&world);
	}
}

/* Every call and every allocation fails once while it is rebuilt: an error, or the same answers. */
static void memory__nth_failure(void **state)
{
	(void)state;
	struct world world;

	fill(&world);
	struct whole whole = open_whole(&world);
	reopen(&world, 1, 40);
	for (int calls = 0; calls < 2; calls++)
		for (uint64_t nth = 1;; nth += 1 + nth / 16) {
			struct log *log = NULL;
			unlink(scratch_path(world.dir, MAIN_INDEX));
			unlink(scratch_path(world.dir, ".cache/main.unsynced"));
			if (calls)
				fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
			else
				fail_alloc_start(nth);
			int rc = log_open(world.store, slice_of("main"), LOG_READ, &log, NULL);
			bool failed = calls ? world.platform.failed : fail_alloc_stop().failed;
			fail_platform_heal(&world.platform);
			if (!rc)
				assert_same(log, whole.log);
			log_close(log);
			if (!failed) {
				assert_int_equal(rc, 0);
				break;
			}
		}
	close_whole(&whole);
	world_close(&world);
}

static struct log *create_hidden(struct world *world)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log = NULL;

	options.id = SLICE_LITERAL("main");
	assert_int_equal(log_create_hidden(world->store, &options, &log, NULL), 0);
	return log;
}

/* A session that appears when it is whole: what cannot stay in memory is in an index file before, and in no other case. */
static void memory__of_a_session_that_is_being_made_is_bounded(void **state)
{
	struct world world;
	uint32_t most = 0;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	reopen(&world, 1, KEPT);
	struct log *log = create_hidden(&world);
	for (unsigned i = 0; i < MESSAGES; i++) {
		add_random(log, i);
		uint32_t resident = index_resident_count(&log->index);
		most = resident > most ? resident : most;
		if (i == 2)
			assert_int_not_equal(access(scratch_path(world.dir, MAIN_INDEX), F_OK), 0);
	}
	assert_true(most <= KEPT);
	assert_false(store_has(world.store, slice_of("main")));
	assert_int_equal(access(scratch_path(world.dir, MAIN_INDEX), F_OK), 0);
	assert_int_equal(log_appear(log, NULL), 0);
	struct whole whole = open_whole(&world);
	assert_same(log, whole.log);
	close_whole(&whole);
	log_close(log);
	world_close(&world);
}

static void memory__a_session_that_was_given_up_leaves_no_index(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	reopen(&world, 1, KEPT);
	struct log *log = create_hidden(&world);
	for (unsigned i = 0; i < MESSAGES / 4; i++)
		add_random(log, i);
	assert_int_equal(access(scratch_path(world.dir, MAIN_INDEX), F_OK), 0);
	log_close(log);
	assert_int_not_equal(access(scratch_path(world.dir, MAIN_INDEX), F_OK), 0);
	world_close(&world);
}

/* Whatever fails while it is made: it is refused, or it is what was appended. */
static void memory__nth_failure_of_a_session_that_is_being_made(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, STORE_SYNC_FULL);
	reopen(&world, 1, KEPT);
	for (int calls = 0; calls < 2; calls++)
		for (uint64_t nth = 1;; nth += 1 + nth / 16) {
			struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
			struct log *log = NULL;
			unsigned added = 0;
			options.id = SLICE_LITERAL("main");
			unlink(scratch_path(world.dir, MAIN_INDEX));
			unlink(scratch_path(world.dir, "main.jsonl"));
			unlink(scratch_path(world.dir, "main.meta.json"));
			if (calls)
				fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
			else
				fail_alloc_start(nth);
			int rc = log_create_hidden(world.store, &options, &log, NULL);
			while (!rc && added < 4 * KEPT) {
				char text[80];
				snprintf(text, sizeof(text), "{\"role\":\"user\",\"id\":\"own-%u\",\"content\":\"x\"}", added);
				rc = try_add(log, text, NULL);
				added += !rc;
			}
			if (!rc)
				rc = log_appear(log, NULL);
			bool failed = calls ? world.platform.failed : fail_alloc_stop().failed;
			fail_platform_heal(&world.platform);
			log_close(log);
			if (!rc) {
				assert_int_equal(log_open(world.store, options.id, LOG_READ, &log, NULL), 0);
				assert_int_equal(log_node_count(log), added);
				log_close(log);
			}
			if (!failed) {
				assert_int_equal(rc, 0);
				break;
			}
		}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory__of_a_rebuild_is_bounded),
		cmocka_unit_test(memory__of_a_writer_is_bounded),
		cmocka_unit_test(memory__ids_of_a_file_that_was_begun_with),
		cmocka_unit_test(memory__file_taken_away_after_the_rebuild),
		cmocka_unit_test(memory__nth_failure),
		cmocka_unit_test(memory__of_a_session_that_is_being_made_is_bounded),
		cmocka_unit_test(memory__a_session_that_was_given_up_leaves_no_index),
		cmocka_unit_test(memory__nth_failure_of_a_session_that_is_being_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
