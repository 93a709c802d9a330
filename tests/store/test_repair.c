/* SPDX-License-Identifier: MIT */
/* Repairs: what can be read of a damaged log becomes a new session, and nothing else changes. */
#include "store_test.h"

#include <errno.h>
#include "store/check.h"
#include "store/log_repair.h"

/* Says which call of which message it is asked for. */
static int answer(void *data, struct log *log, uint32_t node, size_t call, struct buffer *out, bool *ret_marked,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	struct block_iter iter;
	struct block block;
	size_t number = 0;
	int rc = log_message(log, node, &arena, &message, error);

	(void)data;
	if (!rc)
		block_iter_init(&iter, &message, &arena);
	while (!rc && block_iter_next(&iter, &block))
		if (block.type == BLOCK_CALL && number++ == call)
			buffer_addf(out,
				"{\"role\":\"tool\",\"tool_call_id\":\"%.*s\",\"content\":\"[no result]\","
				"\"is_error\":true,\"marker\":\"interrupted\"}",
				(int)block.call_id.len, block.call_id.data);
	*ret_marked = true;
	if (!rc && iter.error)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	arena_release(&arena);
	return rc;
}

static const struct log_repair_options options = {answer, NULL};

static struct log_repair repair(struct world *world, const char *id)
{
	struct log_repair made = {.id = ""};
	int rc = log_repair(world->store, slice_of(id), &options, &made, &world->error);

	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return made;
}

/* Replaces the first `from` in a log by `to`. */
static void damage(struct world *world, const char *name, const char *from, const char *to)
{
	size_t len;
	char *text = scratch_read(world->dir, name, &len);
	char *at = memmem(text, len, from, strlen(from));
	assert_non_null(at);
	size_t before = (size_t)(at - text), rest = len - before - strlen(from);
	char *other = malloc(len + strlen(to) + 1);
	memcpy(other, text, before);
	memcpy(other + before, to, strlen(to));
	memcpy(other + before + strlen(to), at + strlen(from), rest);
	scratch_write(world->dir, name, other, before + strlen(to) + rest);
	free(other);
	free(text);
}

static void has(struct world *world, const char *id, const char *text, bool there)
{
	char name[80];
	snprintf(name, sizeof(name), "%s.jsonl", id);
	char *log = scratch_read(world->dir, name, NULL);
	assert_non_null(log);
	if ((strstr(log, text) != NULL) != there)
		print_message("%s in:\n%s\n", text, log);
	assert_true((strstr(log, text) != NULL) == there);
	free(log);
}

/* u1 a2[c1 c2] t3 t4 a5 u6 */
static void talk(struct world *world, const char *id)
{
	struct log *log = world_create(world, id);
	say(log, "user", "one");
	add(log, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\"},"
		 "{\"id\":\"c2\",\"name\":\"f\"}]}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"three\"}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"four\"}");
	say(log, "assistant", "five");
	say(log, "user", "six");
	log_close(log);
}

static void a_line_that_cannot_be_read__is_left_out_and_all_others_keep_number_parent_and_bytes(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	damage(&world, "s.jsonl", "{\"seq\":5,\"role\"", "{\"seq\":5,\"role");
	char *before = scratch_read(world.dir, "s.jsonl", NULL);

	struct log_repair made = repair(&world, "s");
	assert_int_equal(made.left_out, 1);
	assert_int_equal(made.messages, 5);
	assert_int_equal(made.changed, 0);
	assert_false(made.found || made.detached || made.copied);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m6");
	assert_int_equal(log_fault_total(log), 0);
	assert_string_equal(log_info(log)->owner, "ana");
	log_close(log);
	has(&world, made.id, "\"repairedFrom\":\"s\"", true);
	has(&world, made.id, "\"leftOut\":1", true);
	has(&world, made.id, "\"repaired\":{\"was\":\"not JSON", true);
	/* The damaged one is as it was. */
	char *after = scratch_read(world.dir, "s.jsonl", NULL);
	assert_string_equal(before, after);
	free(before);
	free(after);
	world_close(&world);
}

static void a_second_repair__of_the_same_bytes_makes_nothing(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	damage(&world, "s.jsonl", "\"content\":\"five\"", "\"content\":\"5\"");
	struct log_repair first = repair(&world, "s"), second = repair(&world, "s");
	assert_false(first.found);
	assert_int_equal(first.changed, 1); /* its checksum */
	assert_true(second.found);
	assert_string_equal(second.id, first.id);
	/* What was appended since is not in the earlier one. */
	struct log *log = world_log(&world, "s", LOG_WRITE);
	say(log, "assistant", "seven");
	log_close(log);
	struct log_repair third = repair(&world, "s");
	assert_false(third.found);
	assert_int_equal(third.messages, 7);
	world_close(&world);
}

static void a_result_whose_line_is_lost__is_marked_where_it_stood(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	damage(&world, "s.jsonl", "{\"seq\":4,", "{\"seq:4,");
	struct log_repair made = repair(&world, "s");
	assert_int_equal(made.marked, 1);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	assert_string_equal(text_of(log, node_of(log, "m4")), "[no result]");
	struct log_node node;
	assert_int_equal(log_node(log, node_of(log, "m4"), &node), 0);
	assert_int_equal(node.marker, MARKER_INTERRUPTED);
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

static void what_the_rules_put_right__is_written_right(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "s.jsonl",
		"{\"role\":\"user\",\"id\":\"a\",\"content\":\"one\"}\n"
		"{\"role\":\"assistant\",\"id\":\"b\",\"parent\":\"gone\",\"content\":\"two\"}\n"
		"{\"role\":\"user\",\"id\":\"a\",\"content\":\"three\"}\n"
		"{\"type\":\"rewind\",\"to\":\"nowhere\"}\n"
		"{\"role\":\"assistant\",\"content\":\"x\",\"content\":\"four\"}\n"
		"{\"seq\":1,\"role\":\"user\",\"content\":\"five\"}{\"role\":\"assistant\",\"content\":\"six\"}\n"
		"{\"role\":\"user\",\"parent\":\"b\",\"branch\":true,\"content\":\"seven\"}\n"
		"torn");
	struct log *log = world_log(&world, "s", LOG_READ);
	assert_true(log_needs_repair(log));
	char old[256];
	snprintf(old, sizeof(old), "%s", line_of(log));
	uint32_t count = log_node_count(log);
	log_close(log);

	struct log_repair made = repair(&world, "s");
	log = world_log(&world, made.id, LOG_READ);
	size_t faults;
	const struct log_fault *fault = log_faults(log, &faults);
	for (size_t i = 0; i < faults; i++)
		print_message("line %u: %s\n", (unsigned)fault[i].line, log_fault_text(fault[i].kind));
	assert_int_equal(log_fault_total(log), 0);
	assert_int_equal(log_node_count(log), count);
	assert_string_equal(text_of(log, 0), "one");
	assert_string_equal(text_of(log, 3), "four");
	assert_string_equal(text_of(log, 6), "seven");
	struct log_node node;
	for (uint32_t i = 1; i < count; i++) {
		assert_int_equal(log_node(log, i, &node), 0);
		assert_int_equal(node.parent, i == 6 ? 1 : i - 1);
	}
	assert_int_equal(log_head(log), 6);
	log_close(log);
	(void)old;
	world_close(&world);
}

/* A line that somebody copied to an earlier place: it was ignored there, and the copy does not follow it either. A rewind that
 * stands on one line with its message does what it says. */
static void a_rewind_to_what_comes_later__is_left_out(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "s.jsonl",
		"{\"role\":\"user\",\"id\":\"a\",\"content\":\"one\"}\n"
		"{\"type\":\"rewind\",\"to\":\"b\"}\n"
		"{\"role\":\"assistant\",\"id\":\"b\",\"content\":\"two\"}\n"
		"{\"role\":\"user\",\"id\":\"c\",\"content\":\"three\"}{\"type\":\"rewind\",\"to\":\"b\"}\n"
		"{\"role\":\"user\",\"id\":\"d\",\"content\":\"four\"}{\"role\":\"assistant\",\"id\":\"e\",\"content\":\"five\"}"
		"{\"type\":\"rewind\",\"to\":\"e\"}\n");
	struct log_repair made = repair(&world, "s");
	assert_int_equal(made.left_out, 1);
	assert_int_equal(made.messages, 5);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_int_equal(log_fault_total(log), 0);
	assert_string_equal(line_of(log), "a b d e");
	struct log_node node;
	assert_int_equal(log_node(log, node_of(log, "c"), &node), 0);
	assert_int_equal(node.parent, node_of(log, "b"));
	log_close(log);
	world_close(&world);
}

static void a_lost_header__costs_no_message(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	damage(&world, "s.jsonl", "{\"type\":\"session\",", "{\"type\":\"sessiom\",");
	struct log *log;
	assert_int_equal(log_open(world.store, slice_of("s"), LOG_READ, &log, NULL), BOBBIN_ECORRUPT);
	char at[LIMIT_SESSION_ID_BYTES + 1];
	assert_string_equal(store_why_unreadable(world.store, slice_of("s"), at), "header");
	struct log_repair made = repair(&world, "s");
	assert_false(made.detached);
	log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	assert_string_equal(log_info(log)->owner, "ana"); /* meta.json had it */
	log_close(log);
	world_close(&world);
}

/* Two sessions' metas exchanged: nothing becomes another person's. */
static void a_lost_header__takes_nothing_from_anothers_meta(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	damage(&world, "s.jsonl", "{\"type\":\"session\",", "{\"type\":\"sessiom\",");
	damage(&world, "s.meta.json", "\"id\":\"s\"", "\"id\":\"t\"");
	struct log_repair made = repair(&world, "s");
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	assert_string_equal(log_info(log)->owner, "");
	log_close(log);
	world_close(&world);
}

static void fork_of(struct world *world, const char *parent, const char *child, uint64_t count)
{
	struct log *made = world_fork(world, parent, child, count);
	say(made, "assistant", "in the fork");
	say(made, "user", "still in the fork");
	log_close(made);
}

static void a_fork_without_its_parent__becomes_a_root_that_says_so(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 6);
	char path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "%s/s.jsonl", world.dir);
	remove(path);
	char at[LIMIT_SESSION_ID_BYTES + 1];
	assert_string_equal(store_why_unreadable(world.store, slice_of("f"), at), "parent_missing");
	struct log_repair made = repair(&world, "f");
	assert_true(made.detached);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m6 m7 m8");
	assert_non_null(strstr(text_of(log, 0), "The first 6 messages"));
	assert_string_equal(text_of(log, 1), "in the fork");
	assert_string_equal(log_info(log)->parent_id, "");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

/* Another whole log of that name. */
static void a_fork_whose_parent_is_another__becomes_a_root(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 6);
	remove(scratch_path(world.dir, "s.jsonl"));
	remove(scratch_path(world.dir, "s.meta.json"));
	struct log *log = world_create(&world, "s");
	for (int i = 0; i < 8; i++)
		say(log, i % 2 ? "assistant" : "user", "something else");
	log_close(log);
	char at[LIMIT_SESSION_ID_BYTES + 1];
	assert_string_equal(store_why_unreadable(world.store, slice_of("f"), at), "parent_changed");
	struct log_repair made = repair(&world, "f");
	assert_true(made.detached);
	has(&world, made.id, "something else", false);
	world_close(&world);
}

/* Damages `file`, which f inherits from, and expects what can still be read of the six messages, and the fork's own two. */
static void expect_inherited(const char *file, const char *from, const char *to, const char *line, const char *mark)
{
	struct world world;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 6);
	fork_of(&world, "f", "g", 8);
	bool copied = strcmp(file, "s.jsonl") != 0;
	if (copied)
		assert_int_equal(store_delete_materialized(world.store, slice_of("s"), NULL), 0);
	damage(&world, file, from, to);
	struct log_repair made = repair(&world, "f");
	assert_true(made.copied && !made.detached);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), line);
	assert_string_equal(text_of(log, log_head(log)), "still in the fork");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	has(&world, made.id, mark, true);
	has(&world, made.id, copied ? "\"of\":\"f\"" : "\"of\":\"s\"", true);
	assert_true(repair(&world, "f").found);
	/* A fork of the fork gets it all, too. */
	made = repair(&world, "g");
	log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(text_of(log, log_head(log)), "still in the fork");
	char longer[80];
	snprintf(longer, sizeof(longer), "%s m9 m10", line);
	assert_string_equal(line_of(log), longer);
	log_close(log);
	world_close(&world);
}

static void a_fork_of_a_damaged_parent__keeps_what_can_be_read_of_it(void **state)
{
	static const char *const FILES[] = {"s.jsonl", "f.base.jsonl"};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		expect_inherited(FILES[i], "{\"seq\":5,\"role\"", "{\"seq\":5,\"role", "m1 m2 m3 m4 m6 m7 m8", "not JSON");
		expect_inherited(FILES[i], "\"one\"", "\"eno\"", "m1 m2 m3 m4 m5 m6 m7 m8", "checksum does not match");
		/* The very message it was forked at. */
		expect_inherited(FILES[i], "{\"seq\":6,\"role\"", "{\"seq\":6,\"role", "m1 m2 m3 m4 m5 m7 m8", "not JSON");
	}
}

static void a_fork_whose_parents_header_is_lost__gets_what_it_inherited(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 5);
	damage(&world, "s.jsonl", "{\"type\":\"session\",", "{\"type\":\"sessiom\",");
	struct log_repair made = repair(&world, "f");
	assert_true(made.copied);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7");
	assert_string_equal(text_of(log, 4), "five");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

static void a_damaged_fork__stays_a_fork(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 5);
	scratch_append(world.dir, "f.jsonl", "{\"torn", 6);
	struct log_repair made = repair(&world, "f");
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(log_info(log)->parent_id, "s");
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7");
	log_close(log);
	world_close(&world);
}

static void records_of_segments__stay_while_what_they_cover_is_unchanged(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	struct log *log = world_log(&world, "s", LOG_WRITE);
	add(log, "{\"type\":\"segment\",\"covers\":[\"m1\",\"m4\"],\"record\":{}}");
	add(log, "{\"type\":\"segment\",\"covers\":[\"m5\",\"m6\"],\"record\":{}}");
	log_close(log);
	damage(&world, "s.jsonl", "\"content\":\"five\"", "\"content\":\"5\"");
	struct log_repair made = repair(&world, "s");
	has(&world, made.id, "[\"m1\",\"m4\"]", true);
	has(&world, made.id, "[\"m5\",\"m6\"]", false);
	assert_int_equal(made.left_out, 1);
	world_close(&world);
}

static uint64_t chain_of(struct log *log, const char *id)
{
	struct log_node node;
	uint32_t at;

	assert_int_equal(log_find(log, slice_of(id), &at, NULL), 0);
	assert_int_equal(log_node(log, at, &node), 0);
	return node.chain;
}

/* Its source is the hash of messages of which one is not there any more. What is of those before it stays. */
static void records_of_segments__go_with_a_line_that_is_lost(void **state)
{
	static const struct {
		const char *part, *source;
		bool stays;
	} RECORDS[] = {
		{"\"type\":\"segment\",\"covers\":[\"m1\",\"m1\"]", "m1", true},
		{"\"type\":\"segment\",\"covers\":[\"m1\",\"m4\"]", "m4", true},
		{"\"type\":\"segment\",\"covers\":[\"m1\",\"m6\"]", "m6", false},
		{"\"type\":\"compaction\",\"cut\":\"m6\",\"inner\":\"m2\"", "m1", true},
		{"\"type\":\"compaction\",\"cut\":\"m4\",\"inner\":null", "m4", true},
		{"\"type\":\"compaction\",\"cut\":\"m6\",\"inner\":null", "m6", false},
		{"\"type\":\"compaction\",\"cut\":\"m6\",\"inner\":\"m6\"", "m5", false},
	};
	struct world world;
	char record[160];
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	struct log *log = world_log(&world, "s", LOG_WRITE);
	for (size_t i = 0; i < sizeof(RECORDS) / sizeof(RECORDS[0]); i++) {
		snprintf(record, sizeof(record), "{%s,\"source\":\"chain:%016llx\"}", RECORDS[i].part,
			(unsigned long long)chain_of(log, RECORDS[i].source));
		add(log, record);
	}
	log_close(log);
	damage(&world, "s.jsonl", "{\"seq\":5,\"role\"", "{\"seq\":5,\"role");
	struct log_repair made = repair(&world, "s");
	for (size_t i = 0; i < sizeof(RECORDS) / sizeof(RECORDS[0]); i++)
		has(&world, made.id, RECORDS[i].part, RECORDS[i].stays);
	world_close(&world);
}

static void a_newer_version__is_not_repaired(void **state)
{
	struct world world;
	struct log_repair made;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "s.jsonl", "{\"type\":\"session\",\"id\":\"s\",\"v\":9}\n{\"torn\n");
	assert_int_equal(log_repair(world.store, slice_of("s"), &options, &made, &world.error), BOBBIN_EREADONLY);
	assert_non_null(strstr(world.error.message, "newer version"));
	world_close(&world);
}

/* ---- Killed, and without memory */

static int count_finding(void *data, const struct store_finding *finding)
{
	(void)finding;
	++*(int *)data;
	return 0;
}

static int count_logs(struct world *world)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;
	assert_int_equal(store_list(world->store, NULL, &arena, &entries, &count, NULL), 0);
	arena_release(&arena);
	return (int)count;
}

static void a_repair_that_is_killed__leaves_nothing_and_can_be_done_again(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct world world;
		struct log_repair made;
		int found = 0;
		world_open(&world, STORE_SYNC_FULL);
		talk(&world, "s");
		damage(&world, "s.jsonl", "{\"seq\":4,", "{\"seq:4,");
		char *before = scratch_read(world.dir, "s.jsonl", NULL);
		fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
		world.platform.fail_after = true;
		int rc = log_repair(world.store, slice_of("s"), &options, &made, NULL);
		bool failed = world.platform.failed;
		world.platform.fail_after = false;
		fail_platform_heal(&world.platform);
		assert_true(failed || rc == 0);

		struct log_repair again = repair(&world, "s");
		assert_int_equal(count_logs(&world), 2);
		assert_true(rc != 0 || (again.found && strcmp(again.id, made.id) == 0));
		struct store_check check = {count_finding, NULL, &found, true};
		assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
		found = 0;
		assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
		assert_int_equal(found, 0);
		char *after = scratch_read(world.dir, "s.jsonl", NULL);
		assert_string_equal(before, after);
		free(before);
		free(after);
		world_close(&world);
		if (!failed)
			break;
	}
}

static void a_repair_without_memory__fails_and_makes_nothing(void **state)
{
	struct world world;
	struct log_repair made;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world.platform.skip_sync = true;
	talk(&world, "s");
	damage(&world, "s.jsonl", "{\"seq\":4,", "{\"seq:4,");
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int rc = log_repair(world.store, slice_of("s"), &options, &made, NULL);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (rc == 0) /* an index is a cache: what fails in it costs nothing */
			assert_int_equal(count_logs(&world), 2);
		else
			assert_int_equal(count_logs(&world), 1);
		if (rc == 0)
			break;
		assert_int_equal(rc, BOBBIN_ENOMEM);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_line_that_cannot_be_read__is_left_out_and_all_others_keep_number_parent_and_bytes),
		cmocka_unit_test(a_second_repair__of_the_same_bytes_makes_nothing),
		cmocka_unit_test(a_result_whose_line_is_lost__is_marked_where_it_stood),
		cmocka_unit_test(what_the_rules_put_right__is_written_right),
		cmocka_unit_test(a_rewind_to_what_comes_later__is_left_out),
		cmocka_unit_test(a_lost_header__costs_no_message),
		cmocka_unit_test(a_lost_header__takes_nothing_from_anothers_meta),
		cmocka_unit_test(a_fork_without_its_parent__becomes_a_root_that_says_so),
		cmocka_unit_test(a_fork_whose_parent_is_another__becomes_a_root),
		cmocka_unit_test(a_fork_of_a_damaged_parent__keeps_what_can_be_read_of_it),
		cmocka_unit_test(a_fork_whose_parents_header_is_lost__gets_what_it_inherited),
		cmocka_unit_test(a_damaged_fork__stays_a_fork),
		cmocka_unit_test(records_of_segments__stay_while_what_they_cover_is_unchanged),
		cmocka_unit_test(records_of_segments__go_with_a_line_that_is_lost),
		cmocka_unit_test(a_newer_version__is_not_repaired),
		cmocka_unit_test(a_repair_that_is_killed__leaves_nothing_and_can_be_done_again),
		cmocka_unit_test(a_repair_without_memory__fails_and_makes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
