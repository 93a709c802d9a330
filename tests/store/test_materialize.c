/* SPDX-License-Identifier: MIT */
/* Deleting a session that others were forked from: each fork gets a copy of what it inherits, and nobody can tell. */
#include "store_test.h"

#include <errno.h>
#include <unistd.h>

#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define RESULT(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"

static struct log *fork_through(struct world *world, struct log *parent, const char *at, const char *id)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *child = NULL;

	options.at = slice_of(at);
	options.create.id = slice_of(id);
	int rc = log_fork(parent, &options, NULL, &child, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return child;
}

static int delete_with_copies(struct world *world, const char *id)
{
	world->error.message[0] = '\0';
	int rc = store_delete_materialized(world->store, slice_of(id), &world->error);
	if (rc && rc != BOBBIN_ENOTFOUND && !world->platform.failed)
		print_message("%s\n", world->error.message);
	return rc;
}

/* All that a reader sees of a session: each message's name, place, hash and text, and which runs, records and usage
 * count for its line. */
static char *picture_of(struct world *world, const char *id)
{
	struct log *log = world_log(world, id, LOG_READ);
	struct arena arena = ARENA_INIT;
	size_t len = 0, size = 1 << 20;
	char *text = malloc(size), name[PATH_ID_BYTES];
	uint32_t *late, late_count;

	assert_non_null(text);
	for (uint32_t node = 0; node < log_node_count(log); node++) {
		struct log_node info;
		if (!log_has_node(log, node))
			continue;
		assert_int_equal(log_node(log, node, &info), 0);
		assert_int_equal(log_node_id(log, node, name, NULL), 0);
		assert_int_equal(node_of(log, name), node);
		assert_int_equal(log_late_results(log, node, &arena, &late, &late_count), 0);
		len += (size_t)snprintf(text + len, size - len, "%s seq %llu depth %u late %u/%u hash %016llx %s\n",
			name, (unsigned long long)info.seq, info.depth, info.flags & NODE_LATE, late_count,
			(unsigned long long)info.chain, text_of(log, node));
	}
	len += (size_t)snprintf(text + len, size - len, "line %s gap %d\n", line_of(log),
		log_gap(log, NODE_NONE, log_head(log)));
	uint64_t until = 0;
	for (struct log *at = log; at; until = log_info(at)->parent_size, at = log_base(at))
		for (uint32_t record = 0; record < log_record_count(at); record++) {
			struct log_record info;
			struct json json;
			assert_int_equal(log_record(at, record, &info), 0);
			bool on_line = info.head == NODE_NONE || (log_has_node(log, info.head) &&
									 log_on_line(log, info.head, log_head(log)));
			if ((info.kind != RECORD_RUN && info.kind != RECORD_COMPACTION) || !on_line ||
				(until && info.offset >= until))
				continue;
			assert_int_equal(log_record_read(at, record, &arena, &json, NULL), 0);
			len += (size_t)snprintf(text + len, size - len, "%.*s\n", (int)json.len, json.text);
		}
	arena_release(&arena);
	log_close(log);
	return text;
}

static void expect_picture(struct world *world, const char *id, const char *before)
{
	char *now = picture_of(world, id);
	assert_string_equal(now, before);
	free(now);
}

/* A line with all that can stand in one: another branch, calls, a late result, a rewind there and back, a run, a
 * compaction, what a request cost. */
static struct log *old_session(struct world *world)
{
	struct log *log = world_create(world, "main");
	say(log, "user", "first");
	say(log, "assistant", "one");
	say(log, "user", "SECRET of another branch");
	log_rewind(log, slice_of("m2"), NULL, NULL);
	add(log, "{\"type\":\"run\",\"run\":\"r1\",\"routine\":\"digest\"}");
	say(log, "user", "second");
	add(log, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" CALL("c1") "]}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"gone\",\"marker\":\"interrupted\"}");
	say(log, "assistant", "two");
	add(log, "{\"type\":\"usage\",\"for\":\"m9\",\"kind\":\"chat\",\"input\":5,\"output\":7}");
	add(log, RESULT("c1", "the real result"));
	add(log, "{\"role\":\"user\",\"id\":\"own-id\",\"content\":\"third\"}");
	log_rewind(log, slice_of("m2"), NULL, NULL);
	add(log, "{\"type\":\"compaction\",\"cut\":\"m6\",\"text\":\"as of m2\"}");
	log_rewind(log, slice_of("own-id"), NULL, NULL);
	say(log, "assistant", "three");
	say(log, "user", "LATER than the fork");
	return log;
}

static void materialize__forks_read_the_same(void **state)
{
	(void)state;
	struct world world;
	size_t len, now_len;
	world_open(&world, STORE_SYNC_FULL);
	struct log *parent = old_session(&world);
	struct log *x = fork_through(&world, parent, "m16", "x");
	say(x, "user", "own of x");
	struct log *below = fork_through(&world, x, "m17", "below"); /* through what x said */
	say(below, "user", "own of below");
	struct log *beside = fork_through(&world, x, "m9", "beside"); /* through what x inherits: main has it */
	say(beside, "user", "own of beside");
	assert_string_equal(log_info(beside)->base_id, "main");
	log_close(below);
	log_close(beside);
	log_close(parent);
	char *x_before = picture_of(&world, "x"), *below_before = picture_of(&world, "below"),
	     *beside_before = picture_of(&world, "beside"), *log = scratch_read(world.dir, "x.jsonl", &len);
	assert_non_null(strstr(x_before, "own-id"));
	assert_non_null(strstr(x_before, "the real result"));
	assert_non_null(strstr(x_before, "as of m2"));

	assert_int_equal(store_delete(world.store, slice_of("main"), &world.error), BOBBIN_EREFUSED);
	assert_int_equal(delete_with_copies(&world, "main"), 0);
	assert_false(scratch_exists(world.dir, "main.jsonl"));
	assert_true(scratch_exists(world.dir, "x.base.jsonl"));
	assert_true(scratch_exists(world.dir, "beside.base.jsonl"));
	assert_false(scratch_exists(world.dir, "below.base.jsonl")); /* x has what it needs */
	expect_picture(&world, "x", x_before);
	expect_picture(&world, "below", below_before);
	expect_picture(&world, "beside", beside_before);
	/* Its own log is what it was, and who had it open goes on. */
	char *log_now = scratch_read(world.dir, "x.jsonl", &now_len);
	assert_int_equal(now_len, len);
	assert_memory_equal(log_now, log, len);
	assert_int_equal(log_refresh(x, &world.error), 0);
	assert_int_equal(say(x, "assistant", "goes on").seq, 18);
	assert_string_equal(line_of(x), "m1 m2 m6 m7 m8 m9 own-id m16 m17 m18");
	log_close(x);
	/* What was not inherited is gone, and nothing of it is in a copy. */
	char *copy = scratch_read(world.dir, "x.base.jsonl", NULL);
	assert_null(strstr(copy, "SECRET"));
	assert_null(strstr(copy, "LATER"));
	free(copy);
	free(log);
	free(log_now);
	free(x_before);
	free(below_before);
	free(beside_before);
	world_close(&world);
}

static void materialize__copies_are_forked_and_deleted_like_any_log(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	world_open(&world, STORE_SYNC_FULL);
	struct log *parent = old_session(&world);
	struct log *x = fork_through(&world, parent, "m16", "x");
	say(x, "user", "own of x");
	log_close(parent);
	log_close(x);
	assert_int_equal(delete_with_copies(&world, "main"), 0);
	/* A fork whose cut lies in the copy depends on x, and says so. */
	x = world_log(&world, "x", LOG_WRITE);
	struct log *y = fork_through(&world, x, "m6", "y");
	assert_string_equal(line_of(y), "m1 m2 m6");
	assert_string_equal(log_info(y)->parent_id, "x");
	assert_string_equal(log_info(y)->base_id, "x");
	say(y, "assistant", "own of y");
	struct log *z = fork_through(&world, y, "m2", "z");
	assert_string_equal(line_of(z), "m1 m2");
	log_close(x);
	log_close(y);
	log_close(z);
	assert_int_equal(store_delete(world.store, slice_of("x"), &world.error), BOBBIN_EREFUSED);
	char *y_before = picture_of(&world, "y"), *z_before = picture_of(&world, "z");
	assert_int_equal(delete_with_copies(&world, "x"), 0);
	assert_false(scratch_exists(world.dir, "x.base.jsonl"));
	expect_picture(&world, "y", y_before);
	expect_picture(&world, "z", z_before);
	assert_int_equal(delete_with_copies(&world, "y"), 0);
	expect_picture(&world, "z", z_before);
	assert_int_equal(store_delete(world.store, slice_of("z"), NULL), 0);
	assert_int_equal(log_open(world.store, slice_of("z"), LOG_READ, &log, NULL), BOBBIN_ENOTFOUND);
	assert_false(scratch_exists(world.dir, "z.base.jsonl"));
	free(y_before);
	free(z_before);
	world_close(&world);
}

static void materialize__a_handle_from_before_says_what_to_do(void **state)
{
	(void)state;
	struct world world;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	world_open(&world, STORE_SYNC_FULL);
	struct log *parent = old_session(&world);
	struct log *x = fork_through(&world, parent, "m16", "x");
	log_close(parent);
	assert_int_equal(delete_with_copies(&world, "main"), 0);
	options.at = slice_of("m6");
	assert_int_equal(log_fork(x, &options, NULL, NULL, &world.error), BOBBIN_ENOTFOUND);
	assert_non_null(strstr(world.error.message, "open x anew"));
	log_close(x);
	x = world_log(&world, "x", LOG_WRITE);
	assert_int_equal(log_fork(x, &options, NULL, NULL, &world.error), 0);
	log_close(x);
	world_close(&world);
}

static void materialize__twenty_levels_from_the_root_down(void **state)
{
	(void)state;
	struct world world;
	char id[16], *before;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "d0");
	say(log, "user", "level 0");
	for (int level = 1; level <= 20; level++) {
		char at[16];
		snprintf(id, sizeof(id), "d%d", level);
		snprintf(at, sizeof(at), "m%d", level);
		struct log *child = fork_through(&world, log, at, id);
		say(child, level % 2 ? "assistant" : "user", id);
		log_close(log);
		log = child;
	}
	log_close(log);
	before = picture_of(&world, "d20");
	for (int level = 0; level < 20; level++) {
		snprintf(id, sizeof(id), "d%d", level);
		assert_int_equal(delete_with_copies(&world, id), 0);
		expect_picture(&world, "d20", before);
	}
	free(before);
	world_close(&world);
}

/* Handmade logs: a parent that only meta.json names, messages without numbers, a line that cannot be read. */
static void materialize__handmade_forks_too(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "main.jsonl",
		"{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n"
		"{\"role\":\"user\",\"content\":\"other\"}\n{\"type\":\"rewind\",\"to\":\"m2\"}\n{\"role\":\"us\n"
		"{\"role\":\"user\",\"content\":\"c\"}\n{\"role\":\"assistant\",\"content\":\"d\"}\n");
	world_write(&world, "x.jsonl", "{\"role\":\"user\",\"content\":\"own\"}\n");
	world_write(&world, "x.meta.json", "{\"id\":\"x\",\"parentId\":\"main\",\"forkedAt\":4}\n");
	char *before = picture_of(&world, "x");
	assert_non_null(strstr(before, "gap 1"));
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), BOBBIN_EREFUSED);
	assert_int_equal(delete_with_copies(&world, "main"), 0);
	expect_picture(&world, "x", before);
	free(before);
	world_close(&world);
}

static void materialize__a_copy_that_is_not_what_was_forked_is_an_error(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	size_t len;
	world_open(&world, STORE_SYNC_FULL);
	struct log *parent = old_session(&world);
	log_close(fork_through(&world, parent, "m16", "x"));
	char *of_main = scratch_read(world.dir, "main.jsonl", NULL);
	/* Beside the parent a copy that is damaged, or of an earlier session of that name, counts for nothing. */
	world_write(&world, "x.base.jsonl", "{\"role\":\"user\",\"content\":\"something else\"}\n");
	log = world_log(&world, "x", LOG_READ);
	assert_string_equal(text_of(log, 0), "first");
	log_close(log);
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), BOBBIN_EREFUSED);
	log_close(parent);
	assert_int_equal(delete_with_copies(&world, "main"), 0);
	log = world_log(&world, "x", LOG_READ);
	assert_string_equal(text_of(log, 0), "first");
	log_close(log);
	/* Alone it is what the session stands on: any bit of it is the right one, or an error. */
	char *copy = scratch_read(world.dir, "x.base.jsonl", &len);
	char *before = picture_of(&world, "x");
	for (size_t at = 0; at < len; at += 3) {
		copy[at] ^= 1;
		scratch_write(world.dir, "x.base.jsonl", copy, len);
		copy[at] ^= 1;
		int rc = log_open(world.store, slice_of("x"), LOG_READ, &log, &world.error);
		if (rc == 0) {
			assert_string_equal(text_of(log, log_head(log)), "three");
			assert_string_equal(line_of(log), "m1 m2 m6 m7 m8 m9 own-id m16");
			log_close(log);
		} else {
			assert_int_equal(rc, BOBBIN_ECORRUPT);
		}
	}
	scratch_write(world.dir, "x.base.jsonl", copy, len);
	expect_picture(&world, "x", before);
	free(of_main);
	free(before);
	free(copy);
	world_close(&world);
}

/* ---- At one moment ---------------------------------------------------------------------------------------
 */

static struct world *deleting;
static const char *moment; /* the file that somebody else is quicker to than we are; NULL: it is over */
static bool before_it;	   /* is opened, or just after */
static int (*plain_open_at)(void *context, int dir, const char *name, int flags, unsigned mode);

static void delete_now(const char *id)
{
	struct store *other;

	assert_int_equal(store_open(platform_default(), deleting->dir, NULL, &other, NULL), 0);
	assert_int_equal(store_delete_materialized(other, slice_of(id), NULL), 0);
	store_close(other);
}

static int open_at_the_moment(void *context, int dir, const char *name, int flags, unsigned mode)
{
	bool now = moment && strcmp(name, moment) == 0;

	if (!now)
		return plain_open_at(context, dir, name, flags, mode);
	moment = NULL;
	if (before_it)
		delete_now("kid");
	int file = plain_open_at(context, dir, name, flags, mode);
	if (!before_it)
		delete_now("main");
	return file;
}

static void delete_at(struct world *world, const char *name, bool before)
{
	deleting = world;
	moment = name;
	before_it = before;
	plain_open_at = world->platform.table.open_at;
	world->platform.table.open_at = open_at_the_moment;
}

static void delete_no_more(struct world *world)
{
	assert_null(moment);
	world->platform.table.open_at = plain_open_at;
}

/* "main" with one message, and its fork "kid" with one of its own. */
static void main_and_kid(struct world *world)
{
	world_open(world, STORE_SYNC_NONE);
	struct log *log = world_create(world, "main");
	say(log, "user", "first");
	struct log *kid = fork_through(world, log, "m1", "kid");
	say(kid, "assistant", "own");
	log_close(kid);
	log_close(log);
}

/* A reader looks for the copy before it is made, and for the parent when it is gone: the copy was there before that. */
static void materialize__between_the_two_looks_of_a_reader(void **state)
{
	(void)state;
	struct world world;

	main_and_kid(&world);
	delete_at(&world, "kid.base.jsonl", false);
	struct log *kid = world_log(&world, "kid", LOG_READ);
	delete_no_more(&world);
	assert_false(scratch_exists(world.dir, "main.jsonl"));
	assert_string_equal(line_of(kid), "m1 m2");
	assert_string_equal(text_of(kid, node_of(kid, "m1")), "first");
	log_close(kid);
	world_close(&world);
}

/* A fork names its parent, also when all that it inherits is another's: it is not made of one that is gone. */
static void fork__of_a_parent_deleted_before_the_lock(void **state)
{
	(void)state;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct world world;

	main_and_kid(&world);
	struct log *kid = world_log(&world, "kid", LOG_WRITE);
	options.at = slice_of("m1");
	options.create.id = slice_of("grandchild");
	delete_at(&world, ".lock", true);
	assert_int_equal(log_fork(kid, &options, NULL, NULL, &world.error), BOBBIN_ENOTFOUND);
	delete_no_more(&world);
	assert_false(store_has(world.store, slice_of("grandchild")));
	log_close(kid);
	world_close(&world);
}

/* ---- Failing at every place ------------------------------------------------------------------------------
 */

struct stage {
	struct world world;
	char *x, *beside;
};

static void stage_open(struct stage *stage)
{
	world_open(&stage->world, STORE_SYNC_FULL);
	stage->world.platform.skip_sync = true;
	struct log *parent = old_session(&stage->world);
	struct log *x = fork_through(&stage->world, parent, "m16", "x");
	say(x, "user", "own of x");
	log_close(fork_through(&stage->world, x, "m9", "beside"));
	log_close(parent);
	log_close(x);
	stage->x = picture_of(&stage->world, "x");
	stage->beside = picture_of(&stage->world, "beside");
}

/* Whatever happened: both forks read as before, and the deletion can be done. */
static void stage_check(struct stage *stage, int rc)
{
	struct world *world = &stage->world;
	expect_picture(world, "x", stage->x);
	expect_picture(world, "beside", stage->beside);
	int again = delete_with_copies(world, "main");
	if (rc == 0)
		assert_int_equal(again, BOBBIN_ENOTFOUND);
	else
		assert_true(again == 0 || again == BOBBIN_ENOTFOUND);
	assert_false(scratch_exists(world->dir, "main.jsonl"));
	expect_picture(world, "x", stage->x);
	expect_picture(world, "beside", stage->beside);
	assert_false(scratch_exists(world->dir, ".x.base.jsonl.tmp"));
	free(stage->x);
	free(stage->beside);
	world_close(world);
}

static uint64_t next_try(uint64_t nth)
{
	return nth < 20 || getenv("BOBBIN_SOAK") ? nth + 1 : nth + 1 + nth % 7;
}

static void materialize__nth_call_fails_or_is_the_last(void **state)
{
	(void)state;
	uint64_t tried = 0;
	for (int variant = 0; variant < 3; variant++)
		for (uint64_t nth = 1;; nth = next_try(nth)) {
			struct stage stage;
			stage_open(&stage);
			fail_platform_plan(&stage.world.platform, CALL_ANY, nth, variant == 1 ? ENOSPC : EIO);
			stage.world.platform.fail_after = variant == 2; /* the process dies there */
			int rc = delete_with_copies(&stage.world, "main");
			bool failed = stage.world.platform.failed;
			fail_platform_heal(&stage.world.platform);
			stage_check(&stage, rc);
			tried++;
			if (!failed) {
				assert_int_equal(rc, 0);
				break;
			}
		}
	print_message("# %lu places\n", (unsigned long)tried);
	assert_true(tried > 100);
}

static void materialize__nth_allocation(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth = next_try(nth)) {
		struct stage stage;
		stage_open(&stage);
		fail_alloc_start(nth);
		stage.world.platform.failed = true; /* no words about it */
		int rc = delete_with_copies(&stage.world, "main");
		struct fail_alloc_report report = fail_alloc_stop();
		stage.world.platform.failed = false;
		assert_int_equal(report.live, 0);
		assert_true(rc == 0 || rc == BOBBIN_ENOMEM);
		stage_check(&stage, rc);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(materialize__forks_read_the_same),
		cmocka_unit_test(materialize__copies_are_forked_and_deleted_like_any_log),
		cmocka_unit_test(materialize__a_handle_from_before_says_what_to_do),
		cmocka_unit_test(materialize__twenty_levels_from_the_root_down),
		cmocka_unit_test(materialize__handmade_forks_too),
		cmocka_unit_test(materialize__a_copy_that_is_not_what_was_forked_is_an_error),
		cmocka_unit_test(materialize__between_the_two_looks_of_a_reader),
		cmocka_unit_test(fork__of_a_parent_deleted_before_the_lock),
		cmocka_unit_test(materialize__nth_call_fails_or_is_the_last),
		cmocka_unit_test(materialize__nth_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
