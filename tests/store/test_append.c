/* SPDX-License-Identifier: MIT */
/* Appending: what a line looks like, what is refused, compare and swap, ids given twice. */
#include "store/log_internal.h"
#include "store_test.h"
#include "base/hash.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static void append__line_has_seq_ts_and_crc_last(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_FULL);
	fail_platform_set_time(&world.platform, INT64_C(1788516000) * 1000000000, 0);
	struct log *log = world_create(&world, "main");
	struct log_ack ack = add(log,
		"{\"role\":\"user\" , \"x\":1e400,\n\"content\":\"h\\/i\\ud83d\",\"seq\":77,\"crc\":\"no\"}");
	assert_int_equal(ack.seq, 1);
	assert_string_equal(ack.id, "m1");
	log_close(log);

	size_t len;
	char *text = scratch_read(world.dir, "main.jsonl", &len);
	char *line = strchr(text, '\n') + 1;
	const char *body = "{\"seq\":1,\"role\":\"user\",\"x\":1e400,\"content\":\"h\\/"
			   "i\\ud83d\",\"ts\":\"2026-09-04T10:00:00Z\"";
	assert_int_equal(strncmp(line, body, strlen(body)), 0);
	char crc[64];
	snprintf(crc, sizeof(crc), ",\"crc\":\"%08x\"}\n", crc32c(0, body, strlen(body)));
	assert_string_equal(line + strlen(body), crc);
	free(text);
	world_close(&world);
}

static void append__synced_before_it_is_acknowledged(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	say(log, "user", "hi");
	assert_int_equal(world.platform.calls[CALL_WRITE], 1);
	assert_int_equal(world.platform.calls[CALL_SYNC_DATA], 1);
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	struct slice batch[3] = {SLICE_LITERAL("{\"role\":\"assistant\",\"content\":\"a\"}"),
		SLICE_LITERAL("{\"type\":\"usage\",\"for\":\"m2\"}"),
		SLICE_LITERAL("{\"role\":\"user\",\"content\":\"b\"}")};
	struct log_ack acks[3];
	assert_int_equal(log_append(log, batch, 3, NULL, acks, NULL), 0);
	assert_int_equal(world.platform.calls[CALL_WRITE], 3);
	assert_int_equal(world.platform.calls[CALL_SYNC_DATA], 1);
	assert_int_equal(acks[1].seq, 3);
	assert_int_equal(acks[1].node, NODE_NONE);
	assert_string_equal(acks[2].id, "m4");
	assert_string_equal(line_of(log), "m1 m2 m4");
	log_close(log);
	world_close(&world);
}

static void append__refused_records_leave_no_trace(void **state)
{
	(void)state;
	static const struct {
		const char *record;
		int code;
	} cases[] = {
		{"", BOBBIN_EINPUT},
		{"nonsense", BOBBIN_EINPUT},
		{"[1]", BOBBIN_EINPUT},
		{"{}", BOBBIN_EINPUT},
		{"{\"role\":\"bishop\",\"content\":\"x\"}", BOBBIN_EINPUT},
		{"{\"role\":\"system\",\"content\":\"be nice\"}", BOBBIN_EINPUT},
		{"{\"role\":\"developer\",\"content\":\"be nice\"}", BOBBIN_EINPUT},
		{"{\"type\":7}", BOBBIN_EINPUT},
		{"{\"type\":\"session\",\"id\":\"x\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":{}}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"content\":\"b\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"r\\u006fle\":\"user\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"text\":\"b\"}]}",
			BOBBIN_EINPUT},
		{"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"id\":\"d\",\"name\":\"f\"}]}",
			BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"id\":\"m7\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"id\":\"a\\u0000b\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"id\":7}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"a\",\"parent\":\"m9\"}", BOBBIN_EINPUT},
		{"{\"type\":\"rewind\",\"to\":\"m9\"}", BOBBIN_EINPUT},
		{"{\"type\":\"rewind\"}", BOBBIN_EINPUT},
		{"{\"role\":\"user\",\"content\":\"\xff\"}", BOBBIN_EINPUT},
	};
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "first");
	size_t before, after;
	free(scratch_read(world.dir, "main.jsonl", &before));
	uint32_t keys = log->index.keys.count;
	size_t texts = log->index.texts.len;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bobbin_error error = {0};
		struct slice batch[2] = {
			SLICE_LITERAL("{\"role\":\"user\",\"content\":\"good\",\"id\":\"good\",\"parent\":null}"),
			slice_of(cases[i].record)};
		struct log_ack acks[2];
		assert_int_equal(log_append(log, batch, 2, NULL, acks, &error), cases[i].code);
		assert_int_equal(error.code, cases[i].code);
		assert_int_equal(error.line, 2);
		assert_int_equal(acks[0].seq, 0);
		free(scratch_read(world.dir, "main.jsonl", &after));
		assert_int_equal(before, after);
		assert_string_equal(line_of(log), "m1");
		/* Nor in memory, where it would add up. */
		assert_int_equal(log->index.keys.count, keys);
		assert_int_equal(log->index.texts.len, texts);
	}
	assert_int_equal(say(log, "user", "second").seq, 2);
	log_close(log);
	world_close(&world);
}

/* The header is record 0; control records and messages are numbered together, in file order. */
static void append__acks_say_which_record_it_became(void **state)
{
	(void)state;
	static const char *const RECORDS[] = {"{\"role\":\"user\",\"content\":\"a\",\"id\":\"a\"}",
		"{\"type\":\"usage\",\"for\":\"a\"}", "{\"role\":\"assistant\",\"content\":\"b\",\"id\":\"b\"}",
		"{\"role\":\"user\",\"content\":\"c\",\"id\":\"c\"}", "{\"type\":\"usage\",\"for\":\"b\"}",
		"{\"type\":\"note\"}", "{\"role\":\"assistant\",\"content\":\"d\",\"id\":\"d\"}"};
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	for (uint32_t i = 0; i < sizeof(RECORDS) / sizeof(RECORDS[0]); i++)
		assert_int_equal(add(log, RECORDS[i]).record, i + 1);
	for (uint32_t i = 0; i < sizeof(RECORDS) / sizeof(RECORDS[0]); i++) {
		struct log_record record;
		assert_int_equal(log_record(log, i + 1, &record), 0);
		if (record.kind != RECORD_MESSAGE)
			continue;
		struct log_ack ack = add(log, RECORDS[i]);
		assert_true(ack.repeated);
		assert_int_equal(ack.record, i + 1);
		assert_int_equal(ack.node, record.node);
	}
	/* Each message says which came before it, over the control records between. */
	static const uint32_t PREVIOUS[] = {RECORD_NONE, 1, 3, 4};
	uint32_t messages = 0;
	for (uint32_t i = 1; i < log_record_count(log); i++) {
		struct log_record record;
		assert_int_equal(log_record(log, i, &record), 0);
		if (record.kind == RECORD_MESSAGE)
			assert_int_equal(record.previous, PREVIOUS[messages++]);
	}
	assert_int_equal(messages, 4);
	log_close(log);
	world_close(&world);
}

static void x26_parents__unknown_foreign_and_own_are_refused(void **state)
{
	(void)state;
	struct world world;
	struct bobbin_error error = {0};
	world_open(&world, STORE_SYNC_NONE);
	struct log *other = world_create(&world, "other");
	add(other, "{\"role\":\"user\",\"id\":\"elsewhere\",\"content\":\"x\"}");
	log_close(other);
	struct log *log = world_create(&world, "main");
	say(log, "user", "first");
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\",\"parent\":\"later\"}", &error),
		BOBBIN_EINPUT);
	assert_non_null(strstr(error.message, "parent"));
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\",\"parent\":\"elsewhere\"}", NULL),
		BOBBIN_EINPUT);
	assert_int_equal(
		try_add(log, "{\"role\":\"user\",\"id\":\"me\",\"parent\":\"me\",\"content\":\"x\"}", NULL),
		BOBBIN_EINPUT);
	assert_int_equal(
		try_add(log, "{\"role\":\"user\",\"content\":\"x\",\"parent\":\"m2\"}", NULL), BOBBIN_EINPUT);
	/* A parent earlier in the same call is there; one later in it is not. */
	struct slice good[2] = {SLICE_LITERAL("{\"role\":\"user\",\"id\":\"a\",\"content\":\"1\"}"),
		SLICE_LITERAL("{\"role\":\"assistant\",\"id\":\"b\",\"parent\":\"a\",\"content\":\"2\"}")};
	struct slice bad[2] = {
		SLICE_LITERAL("{\"role\":\"user\",\"id\":\"c\",\"parent\":\"d\",\"content\":\"1\"}"),
		SLICE_LITERAL("{\"role\":\"assistant\",\"id\":\"d\",\"parent\":\"c\",\"content\":\"2\"}")};
	assert_int_equal(log_append(log, good, 2, NULL, NULL, NULL), 0);
	assert_int_equal(log_append(log, bad, 2, NULL, NULL, NULL), BOBBIN_EINPUT);
	assert_string_equal(line_of(log), "m1 a b");
	log_close(log);
	world_close(&world);
}

static void append__same_id_and_bytes_is_acknowledged_again(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_FULL);
	struct log *log = world_create(&world, "main");
	struct log_ack first = add(log, "{\"role\":\"user\",\"id\":\"k-1\",\"content\":\"pay\"}");
	say(log, "assistant", "done");
	size_t before, after;
	free(scratch_read(world.dir, "main.jsonl", &before));
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	struct log_ack again =
		add(log, "{\"role\":\"user\",\"id\":\"k-1\",\"content\":\"pay\",\"ts\":\"1999\"}");
	assert_true(again.repeated);
	assert_false(first.repeated);
	assert_int_equal(again.seq, first.seq);
	assert_string_equal(again.id, "k-1");
	assert_int_equal(
		world.platform.calls[CALL_SYNC_DATA], 1); /* the first one might have died before its sync */
	assert_int_equal(
		try_add(log, "{\"role\":\"user\",\"id\":\"k-1\",\"content\":\"pay!\"}", NULL), BOBBIN_EEXIST);
	free(scratch_read(world.dir, "main.jsonl", &after));
	assert_int_equal(before, after);
	/* Half of it stored, repeated with the head it began from. */
	struct slice batch[2] = {SLICE_LITERAL("{\"role\":\"user\",\"id\":\"k-2\",\"content\":\"a\"}"),
		SLICE_LITERAL("{\"role\":\"assistant\",\"id\":\"k-3\",\"content\":\"b\"}")};
	struct log_append_options options = {.check_head = true, .expected_head = SLICE_LITERAL("m2")};
	struct log_ack acks[2];
	assert_int_equal(log_append(log, batch, 1, &options, acks, NULL), 0);
	assert_int_equal(log_append(log, batch, 2, &options, acks, NULL), 0);
	assert_true(acks[0].repeated);
	assert_false(acks[1].repeated);
	assert_string_equal(line_of(log), "k-1 m2 k-2 k-3");
	log_close(log);
	world_close(&world);
}

static void append__stale_head_is_a_conflict(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	struct log *other = world_log(&world, "main", LOG_WRITE);
	struct slice reply = SLICE_LITERAL("{\"role\":\"assistant\",\"content\":\"reply\"}");
	struct log_append_options none = {.check_head = true};
	struct log_append_options options = {.check_head = true, .expected_head = SLICE_LITERAL("m1")};
	struct log_ack ack;

	say(log, "user", "hi");
	say(other, "user", "meanwhile");
	assert_int_equal(log_append(log, &reply, 1, &none, &ack, NULL), BOBBIN_ECONFLICT);
	assert_int_equal(log_append(log, &reply, 1, &options, &ack, NULL), BOBBIN_ECONFLICT);
	assert_int_equal(ack.seq, 0);
	assert_string_equal(line_of(log), "m1 m2");
	/* Records that are no messages take no part. */
	struct slice usage = SLICE_LITERAL("{\"type\":\"usage\",\"for\":\"m1\"}");
	assert_int_equal(log_append(log, &usage, 1, &options, &ack, NULL), 0);
	options.expected_head = SLICE_LITERAL("nowhere");
	assert_int_equal(log_append(log, &reply, 1, &options, &ack, NULL), BOBBIN_ECONFLICT);
	log_close(other);
	log_close(log);
	world_close(&world);
}

static void x24_conflict__reply_is_kept_as_a_side_branch(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	struct log *other = world_log(&world, "main", LOG_WRITE);
	struct slice batch[2] = {SLICE_LITERAL("{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{"
					       "\"id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"}]}"),
		SLICE_LITERAL("{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"r\"}")};
	struct log_append_options options = {
		.check_head = true, .expected_head = SLICE_LITERAL("m1"), .on_conflict = LOG_CONFLICT_ASIDE};
	struct log_ack acks[2];

	say(log, "user", "hi");
	say(other, "user", "meanwhile");
	assert_int_equal(log_append(log, batch, 2, &options, acks, NULL), 0);
	assert_true(acks[0].aside && acks[1].aside);
	assert_string_equal(line_of(log), "m1 m2");
	assert_string_equal(line_to(log, acks[1].node), "m1 m3 m4");
	say(other, "assistant", "go on");
	assert_string_equal(line_of(other), "m1 m2 m5");
	log_close(log);
	log_close(other);
	/* The same for whoever reads it, and when it can follow it does. */
	log = world_log(&world, "main", LOG_WRITE);
	assert_string_equal(line_of(log), "m1 m2 m5");
	assert_string_equal(line_to(log, node_of(log, "m4")), "m1 m3 m4");
	options.expected_head = SLICE_LITERAL("m5");
	assert_int_equal(log_append(log, batch, 1, &options, acks, NULL), 0);
	assert_false(acks[0].aside);
	assert_string_equal(line_of(log), "m1 m2 m5 m6");
	log_close(log);
	world_close(&world);
}

static void append__busy_lock_gives_up_in_bounded_time(void **state)
{
	(void)state;
	struct world world;
	struct bobbin_error error = {0};
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	int file = open(scratch_path(world.dir, "main.jsonl"), O_RDONLY);
	assert_int_equal(flock(file, LOCK_EX), 0);
	fail_platform_set_time(&world.platform, INT64_C(1788516000) * 1000000000, 0);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", &error), BOBBIN_EBUSY);
	assert_true(world.platform.slept_ns >= LIMIT_LOCK_WAIT_MS * INT64_C(1000000));
	assert_true(world.platform.slept_ns < (LIMIT_LOCK_WAIT_MS + 100) * INT64_C(1000000));
	close(file);
	say(log, "user", "x");
	assert_string_equal(line_of(log), "m1");
	log_close(log);
	world_close(&world);
}

static void append__handles_that_may_not_write_say_so(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	world_open(&world, STORE_SYNC_NONE);
	log_close(world_create(&world, "main"));
	log = world_log(&world, "main", LOG_READ);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", NULL), BOBBIN_EREADONLY);
	log_close(log);
	world_write(&world, "new.jsonl",
		"{\"type\":\"session\",\"v\":2,\"id\":\"new\"}\n{\"seq\":1,\"role\":\"user\",\"content\":"
		"\"x\"}\n");
	assert_int_equal(log_open(world.store, slice_of("new"), LOG_WRITE, &log, NULL), BOBBIN_EREADONLY);
	log = world_log(&world, "new", LOG_READ);
	assert_string_equal(line_of(log), "m1");
	assert_false(log_info(log)->writable);
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append__line_has_seq_ts_and_crc_last),
		cmocka_unit_test(append__synced_before_it_is_acknowledged),
		cmocka_unit_test(append__refused_records_leave_no_trace),
		cmocka_unit_test(append__acks_say_which_record_it_became),
		cmocka_unit_test(x26_parents__unknown_foreign_and_own_are_refused),
		cmocka_unit_test(append__same_id_and_bytes_is_acknowledged_again),
		cmocka_unit_test(append__stale_head_is_a_conflict),
		cmocka_unit_test(x24_conflict__reply_is_kept_as_a_side_branch),
		cmocka_unit_test(append__busy_lock_gives_up_in_bounded_time),
		cmocka_unit_test(append__handles_that_may_not_write_say_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
