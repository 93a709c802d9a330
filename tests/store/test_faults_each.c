/* SPDX-License-Identifier: MIT */
/*
 * Each thing that can be done to a store, with its nth allocation and its nth call failing, from the first to
 * the last it makes: the caller is told, or it is done; the sessions are as before or as after, never
 * between; nothing is leaked; and it works when it is done again. Index files and catalogues are written at
 * every step.
 *
 * An operation opens what it needs and closes it again, so that all of that fails, too.
 */
#include "store_test.h"
#include "support/failure.h"
#include "transcript/path.h"

#include <errno.h>
#include <unistd.h>

#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define MAIN_INDEX ".cache/main.index"
#define SOME_TIME INT64_C(1788516000000000000)

/* ---- What is there ---- */

static void add_session(struct store *store, const char *id, struct buffer *out)
{
	struct arena arena = ARENA_INIT;
	struct bobbin_error error = {0};
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_READ, &log, &error);

	if (rc == BOBBIN_ENOTFOUND) {
		buffer_addf(out, "no %s\n", id);
		return;
	}
	if (rc)
		print_message("%s: %s\n", id, error.message);
	assert_int_equal(rc, 0);
	buffer_addf(out, "%s: %s, %s, of %s at %llu, head %u\n", id, log_info(log)->owner,
		log_info(log)->title, log_info(log)->parent_id, (unsigned long long)log_info(log)->forked_at,
		log_head(log));
	for (uint32_t i = 0; i < log_node_count(log); i++) {
		struct log_node node;
		struct message message;
		char name[PATH_ID_BYTES];
		assert_int_equal(log_node(log, i, &node), 0);
		assert_int_equal(log_node_id(log, i, name, NULL), 0);
		assert_int_equal(log_message(log, i, &arena, &message, NULL), 0);
		buffer_addf(out, "%u %s after %u, seq %llu: %.*s\n", i, name, node.parent,
			(unsigned long long)node.seq, (int)message.record.len, message.record.text);
	}
	buffer_addf(out, "%u records, %llu faults\n", log_record_count(log),
		(unsigned long long)log_fault_total(log));
	log_close(log);
	arena_release(&arena);
}

/* For the caller to free. */
static char *all_of(struct world *world)
{
	static const char *const SESSIONS[] = {"main", "child", "loose", "new"};
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);

	for (size_t i = 0; i < sizeof(SESSIONS) / sizeof(SESSIONS[0]); i++)
		add_session(world->store, SESSIONS[i], &out);
	char *text = strdup(out.data);
	assert_non_null(text);
	buffer_release(&out);
	return text;
}

static void open_store(struct world *world)
{
	struct store_options options = {
		.create = true,
		.force_filesystem = true,
		.index_step = 1,
		.catalogue_step = 1,
		.stamp_tick_ns = -1};

	store_close(world->store);
	assert_int_equal(store_open(&world->platform.table, world->dir, &options, &world->store, NULL), 0);
}

/* main, with one of everything; a fork of it; one that nobody needs. The same in every byte each time. */
static void prepare(struct world *world)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *log, *child;

	world_open(world, STORE_SYNC_FULL);
	world->platform.skip_sync = true;
	fail_platform_set_time(&world->platform, SOME_TIME, SOME_TIME);
	fail_platform_set_random(&world->platform, 7);
	open_store(world);
	log = world_create(world, "main");
	say(log, "user", "hello");
	add(log, "{\"role\":\"assistant\",\"id\":\"an-id\",\"content\":\"\",\"tool_calls\":[" CALL(
			 "c1") "," CALL("c2") "]}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}");
	add(log, "{\"type\":\"usage\",\"for\":\"m1\",\"kind\":\"chat\"}");
	say(log, "assistant", "an answer");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"late\"}");
	assert_int_equal(log_rewind(log, slice_of("m1"), NULL, NULL), 0);
	scratch_append(world->dir, "main.jsonl", "{\"torn\n", 7);
	say(log, "assistant", "otherwise");
	options.create.id = SLICE_LITERAL("child");
	options.at = SLICE_LITERAL("m1");
	assert_int_equal(log_fork(log, &options, NULL, &child, NULL), 0);
	say(child, "user", "in the child");
	log_close(child);
	log_close(log);
	log_close(world_create(world, "loose"));
}

/* ---- What is done ---- */

static int with_log(struct world *world, const char *id, enum log_mode mode,
	int (*each)(struct log *log, struct arena *arena))
{
	struct arena arena = ARENA_INIT;
	struct log *log;
	int rc = log_open(world->store, slice_of(id), mode, &log, NULL);

	if (rc)
		return rc;
	rc = each(log, &arena);
	log_close(log);
	arena_release(&arena);
	return rc;
}

static int append_record(struct log *log, const char *record, const struct log_append_options *options)
{
	struct slice slice = slice_of(record);
	struct log_ack ack;
	int rc = log_append(log, &slice, 1, options, &ack, NULL);

	assert_true((rc == 0) == (ack.seq != 0));
	return rc;
}

static int append_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log, "{\"role\":\"user\",\"id\":\"k\",\"content\":\"more\"}", NULL);
}

static int repeat_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log,
		"{\"role\":\"assistant\",\"id\":\"an-id\",\"content\":\"\",\"tool_calls\":[" CALL(
			"c1") "," CALL("c2") "]}",
		NULL);
}

static int control_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log, "{\"type\":\"run\",\"run\":\"r\"}", NULL);
}

static int aside_in(struct log *log, struct arena *arena)
{
	struct log_append_options options = {.check_head = true,
		.expected_head = SLICE_LITERAL("an-id"),
		.on_conflict = LOG_CONFLICT_ASIDE};

	(void)arena;
	return append_record(log, "{\"role\":\"user\",\"id\":\"k\",\"content\":\"beside\"}", &options);
}

static int conflict_in(struct log *log, struct arena *arena)
{
	struct log_append_options options = {.check_head = true, .expected_head = SLICE_LITERAL("an-id")};

	(void)arena;
	return append_record(log, "{\"role\":\"user\",\"content\":\"x\"}", &options);
}

static int taken_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log, "{\"role\":\"user\",\"id\":\"an-id\",\"content\":\"other\"}", NULL);
}

static int orphan_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log, "{\"role\":\"user\",\"parent\":\"nobody\",\"content\":\"x\"}", NULL);
}

static int edit_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return append_record(log,
		"{\"role\":\"user\",\"id\":\"k\",\"parent\":\"an-id\",\"branch\":true,\"content\":\"edit\"}",
		NULL);
}

static int rewind_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return log_rewind(log, slice_of("an-id"), NULL, NULL);
}

static int title_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return log_set_title(log, slice_of("a title"), NULL);
}

static int meta_in(struct log *log, struct arena *arena)
{
	(void)arena;
	return log_write_meta(log, NULL);
}

static int fork_in(struct log *log, const struct log_fork_options *options, uint64_t kept)
{
	struct log_fork fork;
	struct log *child = NULL;
	int rc = log_fork(log, options, &fork, &child, NULL);

	if (rc)
		return rc;
	assert_int_equal(fork.kept, kept);
	rc = append_record(child, "{\"role\":\"user\",\"id\":\"first\",\"content\":\"in a new one\"}", NULL);
	log_close(child);
	return rc;
}

static int fork_by_count_in(struct log *log, struct arena *arena)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;

	(void)arena;
	options.create.id = SLICE_LITERAL("new");
	options.by_count = true;
	options.count = 2;
	return fork_in(log, &options, 2);
}

static int fork_at_in(struct log *log, struct arena *arena)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;

	(void)arena;
	options.create.id = SLICE_LITERAL("new");
	options.at = SLICE_LITERAL("an-id"); /* walks back: its results stand behind it */
	return fork_in(log, &options, 1);
}

static int ask_in(struct log *log, struct arena *arena)
{
	uint32_t node, *nodes, count;
	struct message message;
	struct json json;
	char id[PATH_ID_BYTES];
	int rc = log_find(log, slice_of("an-id"), &node, NULL);

	if (!rc)
		assert_int_equal(node, 1);
	if (!rc && (rc = log_node_id(log, node, id, NULL)) == 0)
		assert_string_equal(id, "an-id");
	if (!rc && (rc = log_message(log, node, arena, &message, NULL)) == 0)
		assert_int_equal(message.seq, 2);
	if (!rc && (rc = log_late_results(log, node, arena, &nodes, &count)) == 0)
		assert_int_equal(count, 1);
	if (!rc && (rc = log_children(log, 0, arena, &nodes, &count)) == 0)
		assert_int_equal(count, 2);
	if (!rc && (rc = log_line(log, log_head(log), arena, &nodes, &count)) == 0)
		assert_int_equal(count, 2);
	for (uint32_t i = 0; !rc && i < log_record_count(log); i++)
		rc = log_record_read(log, i, arena, &json, NULL);
	return rc;
}

static int path_in(struct log *log, struct arena *arena)
{
	struct log_path *path;
	int rc = log_path_new(log, log_head(log), NULL, &path, NULL);

	(void)arena;
	if (rc)
		return rc;
	const struct path *items = log_path_path(path);
	assert_int_equal(items->count, 2);
	for (size_t i = 0; !rc && i < items->count; i++) {
		struct path_item item;
		struct bobbin_error error = {0};
		rc = path_item(items, i, &item, &error);
	}
	log_path_free(path);
	return rc;
}

static int do_append(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, append_in);
}

static int do_append_to_fork(struct world *world)
{
	return with_log(world, "child", LOG_WRITE, append_in);
}

static int do_repeat(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, repeat_in);
}

static int do_control(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, control_in);
}

static int do_aside(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, aside_in);
}

static int do_conflict(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, conflict_in);
}

static int do_taken(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, taken_in);
}

static int do_orphan(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, orphan_in);
}

static int do_edit(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, edit_in);
}

static int do_rewind(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, rewind_in);
}

static int do_title(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, title_in);
}

static int do_meta(struct world *world)
{
	return with_log(world, "main", LOG_READ, meta_in);
}

static int do_fork_by_count(struct world *world)
{
	return with_log(world, "main", LOG_WRITE, fork_by_count_in);
}

static int do_fork_at(struct world *world)
{
	return with_log(world, "main", LOG_READ, fork_at_in);
}

static int do_ask(struct world *world)
{
	return with_log(world, "main", LOG_READ, ask_in);
}

static int do_path(struct world *world)
{
	return with_log(world, "child", LOG_READ, path_in) | with_log(world, "main", LOG_READ, path_in);
}

static int do_create(struct world *world)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;

	options.id = SLICE_LITERAL("new");
	int rc = log_create(world->store, &options, &log, NULL);
	if (rc)
		return rc;
	log_close(log);
	return 0;
}

/* Whole, or not there: what was appended before it appeared is never a part of it. */
static int do_create_hidden(struct world *world)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;

	options.id = SLICE_LITERAL("new");
	int rc = log_create_hidden(world->store, &options, &log, NULL);
	if (rc)
		return rc;
	assert_false(store_has(world->store, options.id));
	rc = append_record(log, "{\"role\":\"user\",\"content\":\"one\"}", NULL);
	if (!rc)
		rc = append_record(log, "{\"role\":\"assistant\",\"content\":\"two\"}", NULL);
	assert_false(store_has(world->store, options.id));
	if (!rc)
		rc = log_appear(log, NULL);
	log_close(log);
	return rc;
}

static int do_list(struct world *world)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;
	int rc = store_list(world->store, NULL, &arena, &entries, &count, NULL);

	if (!rc)
		assert_int_equal(count, 3);
	arena_release(&arena);
	return rc;
}

/* Without the meta of one, whose messages are counted then. */
static int do_list_counted(struct world *world)
{
	const struct store_list_options options = {.count = true};
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;

	remove(scratch_path(world->dir, "main.meta.json"));
	int rc = store_list(world->store, &options, &arena, &entries, &count, NULL);
	for (size_t i = 0; !rc && i < count; i++)
		if (strcmp(entries[i].id, "main") == 0 && entries[i].messages_known)
			assert_int_equal(entries[i].messages, 2);
	arena_release(&arena);
	return rc;
}

static int do_list_again(struct world *world)
{
	int rc = do_list(world);
	return rc ? rc : do_list(world);
}

static int do_entry(struct world *world)
{
	struct arena arena = ARENA_INIT;
	struct store_entry entry;
	int rc = store_entry(world->store, slice_of("child"), &arena, &entry, NULL);

	if (!rc && !entry.damaged) /* a log that could not be looked at is shown as one */
		assert_string_equal(entry.parent_id, "main");
	arena_release(&arena);
	return rc;
}

static int do_delete(struct world *world)
{
	return store_delete(world->store, slice_of("loose"), NULL);
}

static int do_delete_fork(struct world *world)
{
	return store_delete(world->store, slice_of("child"), NULL);
}

static int do_delete_refused(struct world *world)
{
	return store_delete(world->store, slice_of("main"), NULL);
}

static int do_turn(struct world *world)
{
	struct turn_lock *lock;
	int rc = store_turn_lock(world->store, slice_of("main"), 0, &lock, NULL);

	if (!rc)
		store_turn_unlock(lock);
	return rc;
}

/* Without an index file, opening makes one of the whole log. */
static int do_index_anew(struct world *world)
{
	unlink(scratch_path(world->dir, MAIN_INDEX));
	return do_ask(world);
}

/* With one whose entries are spoilt, the log is read again in the middle of a question. */
static int do_index_spoilt(struct world *world)
{
	size_t len;
	char *index = scratch_read(world->dir, MAIN_INDEX, &len);

	if (index) {
		for (size_t at = 0; at + 1024 < len; at += 64)
			index[at] ^= 1;
		scratch_write(world->dir, MAIN_INDEX, index, len);
	}
	free(index);
	int rc = do_ask(world);
	return rc ? rc : do_append(world);
}

/* One handle reads on to what another one has appended, and covered with an index file. */
static int do_refresh(struct world *world)
{
	struct log *log;
	int rc = log_open(world->store, slice_of("main"), LOG_READ, &log, NULL);

	if (rc)
		return rc;
	rc = do_append(world);
	if (!rc && (rc = log_refresh(log, NULL)) == 0)
		assert_int_equal(log_head(log), log_node_count(log) - 1); /* the one that was appended */
	log_close(log);
	return rc;
}

static const struct operation {
	const char *name;
	int (*run)(struct world *world);
	int answer; /* when nothing fails */
} OPERATIONS[] = {
	{"append", do_append, 0},
	{"append to a fork", do_append_to_fork, 0},
	{"append what is there", do_repeat, 0},
	{"append a control record", do_control, 0},
	{"append beside the head", do_aside, 0},
	{"append behind another head", do_conflict, BOBBIN_ECONFLICT},
	{"append under a taken id", do_taken, BOBBIN_EEXIST},
	{"append without a parent", do_orphan, BOBBIN_EINPUT},
	{"edit", do_edit, 0},
	{"rewind", do_rewind, 0},
	{"title", do_title, 0},
	{"meta", do_meta, 0},
	{"create", do_create, 0},
	{"fork by count", do_fork_by_count, 0},
	{"fork at a message", do_fork_at, 0},
	{"ask", do_ask, 0},
	{"path", do_path, 0},
	{"refresh", do_refresh, 0},
	{"create hidden", do_create_hidden, 0},
	{"list", do_list, 0},
	{"list from a catalogue", do_list_again, 0},
	{"list and count", do_list_counted, 0},
	{"entry", do_entry, 0},
	{"delete", do_delete, 0},
	{"delete a fork", do_delete_fork, 0},
	{"delete one that is needed", do_delete_refused, BOBBIN_EREFUSED},
	{"turn", do_turn, 0},
	{"index anew", do_index_anew, 0},
	{"index spoilt", do_index_spoilt, 0},
};
#define OPERATION_COUNT (sizeof(OPERATIONS) / sizeof(OPERATIONS[0]))

/* ---- What fails ---- */

/* Answers that a failure explains. Being refused may come instead of failing: what cannot be read may refer
 * to it. */
static bool is_explained(const struct operation *operation, enum failure failure, int rc)
{
	if (rc == operation->answer)
		return true;
	if (failure_is_of_memory(failure))
		return rc == BOBBIN_ENOMEM;
	return rc == BOBBIN_EIO || rc == BOBBIN_EUNKNOWN || (failure == CALL_ENOSPC && rc == BOBBIN_ENOSPC) ||
	       (rc == BOBBIN_EREFUSED && (operation->run == do_delete || operation->run == do_delete_fork));
}

struct expected {
	char *before, *after;
};

static void try_one(const struct operation *operation, enum failure failure, uint64_t nth,
	const struct expected *expected, bool *ret_failed)
{
	struct world world;

	prepare(&world);
	int64_t open_files = world.platform.open_files;
	failure_start(&world.platform, failure, nth);
	int rc = operation->run(&world);
	*ret_failed = failure_stop(&world.platform, failure);
	if (!is_explained(operation, failure, rc))
		print_message(
			"%s, failure %d at %lu: %d\n", operation->name, (int)failure, (unsigned long)nth, rc);
	assert_true(is_explained(operation, failure, rc));
	assert_int_equal(world.platform.open_files, open_files);
	assert_true(*ret_failed || rc == operation->answer);
	char *is = all_of(&world);
	bool before = strcmp(is, expected->before) == 0, after = strcmp(is, expected->after) == 0;
	/* A session that was forked but could not be opened, or got no message, is there all the same. */
	bool half =
		strstr(is, "new: ") && (operation->run == do_fork_by_count || operation->run == do_fork_at);
	if (!before && !after && !half)
		print_message("%s, failure %d at %lu: %d\n%s", operation->name, (int)failure,
			(unsigned long)nth, rc, is);
	assert_true(before || after || (half && rc != 0));
	assert_true(rc != operation->answer || after);
	free(is);
	if (before && rc != operation->answer) {
		assert_int_equal(operation->run(&world), operation->answer);
		is = all_of(&world);
		assert_string_equal(is, expected->after);
		free(is);
	}
	world_close(&world);
}

static struct expected expect(const struct operation *operation)
{
	struct expected expected;
	struct world world;

	prepare(&world);
	expected.before = all_of(&world);
	assert_int_equal(operation->run(&world), operation->answer);
	expected.after = all_of(&world);
	world_close(&world);
	return expected;
}

/* All in a soak, else every one of the first and a spread, which begins elsewhere for each operation. */
static uint64_t next_nth(uint64_t nth, size_t operation)
{
	return getenv("BOBBIN_SOAK") ? nth + 1 : nth + 1 + (nth + operation) % 7;
}

static void faults__each_operation_is_done_or_not(void **state)
{
	(void)state;
	uint64_t tried = 0;

	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		struct expected expected = expect(&OPERATIONS[i]);
		for (int failure = 0; failure < FAILURES; failure++) {
			bool failed = true;
			uint64_t nth = 1;
			for (; failed; nth = next_nth(nth, i), tried++)
				try_one(&OPERATIONS[i], (enum failure)failure, nth, &expected, &failed);
			assert_true(nth > 5 || OPERATIONS[i].run == do_turn);
		}
		free(expected.before);
		free(expected.after);
	}
	print_message(
		"# %lu failures of %lu operations\n", (unsigned long)tried, (unsigned long)OPERATION_COUNT);
	assert_true(tried > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults__each_operation_is_done_or_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
