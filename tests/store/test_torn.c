/* SPDX-License-Identifier: MIT */
/* Damaged logs: what is read of them, what is said about it, and that appending goes on behind it. */
#include "store_test.h"

#include <errno.h>
#include <unistd.h>

#define A "{\"seq\":1,\"role\":\"user\",\"content\":\"one\"}"
#define B "{\"seq\":2,\"role\":\"assistant\",\"content\":\"two\"}"
#define C "{\"seq\":3,\"role\":\"user\",\"content\":\"three\"}"

/* Opens `text` as a log; the line, its faults, and that two appends with a reopening in between work. */
static void check_log(const void *text, size_t len, const char *line, enum fault_kind kind,
	uint64_t fault_line, uint64_t fault_offset)
{
	struct world world;
	char expected[1024];
	size_t count;

	world_open(&world, STORE_SYNC_NONE);
	scratch_write(world.dir, "main.jsonl", text, len);
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_string_equal(line_of(log), line);
	const struct log_fault *faults = log_faults(log, &count);
	if (fault_line) {
		assert_true(count >= 1);
		assert_int_equal(faults[0].kind, kind);
		assert_int_equal(faults[0].line, fault_line);
		assert_int_equal(faults[0].offset, fault_offset);
	} else
		assert_int_equal(count, 0);
	struct log_ack ack = say(log, "user", "new");
	snprintf(expected, sizeof(expected), "%s%s%s", line, *line ? " " : "", ack.id);
	assert_string_equal(line_of(log), expected);
	log_close(log);

	log = world_log(&world, "main", LOG_WRITE);
	assert_string_equal(line_of(log), expected);
	assert_string_equal(text_of(log, log_head(log)), "new");
	assert_int_equal(log_fault_total(log), fault_line ? count : 0);
	say(log, "assistant", "newer");
	log_close(log);
	size_t after;
	char *bytes = scratch_read(world.dir, "main.jsonl", &after);
	assert_true(after > len);
	assert_memory_equal(bytes, text, len);
	free(bytes);
	world_close(&world);
}

#define CHECK(text, ...) check_log(text, sizeof(text) - 1, __VA_ARGS__)

static void c1_torn_line__at_the_end(void **state)
{
	(void)state;
	CHECK(A "\n" B "\n{\"seq\":3,\"role\":\"us", "m1 m2", FAULT_TORN, 3, sizeof(A "\n" B "\n") - 1);
	CHECK(A "\n{", "m1", FAULT_TORN, 2, sizeof(A "\n") - 1);
}

static void c1_torn_line__then_a_good_one(void **state)
{
	(void)state;
	CHECK(A "\n{\"seq\":2,\"role\":\"as\n" C "\n", "m1 m3", FAULT_TORN, 2, sizeof(A "\n") - 1);
	CHECK("{\"seq\":2,\"role\":\"as\n" C "\n", "m3", FAULT_TORN, 1, 0);
}

static void c1_torn_line__and_a_blank_last_line(void **state)
{
	(void)state;
	CHECK(A "\n{\"seq\":2,\"role\n\n", "m1", FAULT_TORN, 2, sizeof(A "\n") - 1);
	CHECK(A "\n{\"seq\":2,\"role\n   ", "m1", FAULT_TORN, 2, sizeof(A "\n") - 1);
}

static void c1_nuls__in_the_middle(void **state)
{
	(void)state;
	char text[8192];
	size_t len = 0;
	for (int nuls = 512; nuls <= 4096; nuls += 3584) {
		len = (size_t)snprintf(text, sizeof(text), "%s\n", A);
		memset(text + len, 0, (size_t)nuls);
		len += (size_t)nuls;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\n%s\n", C);
		check_log(text, len, "m1 m3", FAULT_NULS, 2, sizeof(A));
		/* Without a line break between: the record behind them is whole. */
		len = (size_t)snprintf(text, sizeof(text), "%s\n", A);
		memset(text + len, 0, (size_t)nuls);
		len += (size_t)nuls;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", C);
		check_log(text, len, "m1 m3", FAULT_NULS, 2, sizeof(A));
	}
}

static void c1_empty_file__loads_and_takes_a_message(void **state)
{
	(void)state;
	check_log("", 0, "", 0, 0, 0);
	CHECK("\n", "", 0, 0, 0);
}

static void c1_wrong_shape__is_set_aside(void **state)
{
	(void)state;
	static const char *const lines[] = {"[1,2]", "\"text\"", "17", "null", "{\"a\":1}",
		"{\"role\":\"bishop\"}", "{\"role\":\"user\",\"content\":7}",
		"{\"role\":\"user\",\"content\":\"x\",\"seq\":\"two\"}", "{\"type\":7}"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[512];
		int len = snprintf(text, sizeof(text), "%s\n%s\n%s\n", A, lines[i], C);
		check_log(text, (size_t)len, "m1 m3", FAULT_SHAPE, 2, sizeof(A));
	}
}

static void torn__invalid_utf8_is_set_aside(void **state)
{
	(void)state;
	CHECK(A "\n{\"seq\":2,\"role\":\"user\",\"content\":\"\xf0\x9f\"}\n" C "\n", "m1 m3", FAULT_UTF8, 2,
		sizeof(A));
}

static void c3_glued__both_records_are_read(void **state)
{
	(void)state;
	CHECK(A "\n" B C "\n", "m1 m2 m3", FAULT_GLUED, 2, sizeof(A));
	CHECK(A "\n" B "{\"seq\":3,\"ro\n", "m1 m2", FAULT_GLUED, 2, sizeof(A));
}

static void torn__a_part_of_a_torn_record_is_no_record(void **state)
{
	(void)state;
	/* What follows the NULs looks like a record, but was a block of one. */
	static const char text[] = A
		"\n{\"seq\":2,\"role\":\"user\",\"content\":[\0\0{\"role\":\"user\",\"content\":\"no\"}]}\n" C
		"\n";
	check_log(text, sizeof(text) - 1, "m1 m3", FAULT_NULS, 2, sizeof(A));
	CHECK(A "\n{\"seq\":2,\"role\":\"user\",\"content\":[{\"role\":\"user\",\"content\":\"no\"}\n" C "\n",
		"m1 m3", FAULT_TORN, 2, sizeof(A));
}

static void torn__whole_record_without_line_break_counts(void **state)
{
	(void)state;
	CHECK(A "\n" B, "m1 m2", 0, 0, 0);
}

static void torn__reader_sees_a_tail_become_whole(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl", A "\n{\"seq\":2,\"role\":\"assist");
	struct log *log = world_log(&world, "main", LOG_READ);
	size_t count;
	const struct log_fault *faults = log_faults(log, &count);
	assert_int_equal(count, 1);
	assert_true(faults[0].open);
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_int_equal(log_fault_total(log), 1);
	scratch_append(world.dir, "main.jsonl", "ant\",\"content\":\"two\"}", 21);
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_int_equal(log_fault_total(log), 0);
	assert_string_equal(line_of(log), "m1 m2");
	scratch_append(world.dir, "main.jsonl", "\n" C "\n", sizeof("\n" C "\n") - 1);
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_string_equal(line_of(log), "m1 m2 m3");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

static void torn__wrong_crc_is_reported_and_read(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "hello");
	say(log, "assistant", "world");
	log_close(log);
	size_t len;
	char *text = scratch_read(world.dir, "main.jsonl", &len);
	memcpy(strstr(text, "hello"), "jello", 5);
	scratch_write(world.dir, "main.jsonl", text, len);
	free(text);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 m2");
	assert_string_equal(text_of(log, node_of(log, "m1")), "jello");
	assert_int_equal(count_faults(log, FAULT_CRC), 1);
	size_t count;
	assert_int_equal(log_faults(log, &count)->line, 2);
	struct log_node node;
	assert_int_equal(log_node(log, node_of(log, "m1"), &node), 0);
	assert_true(node.flags & NODE_CRC);
	log_close(log);
	world_close(&world);
}

static void torn__duplicate_keys_last_wins_and_is_reported(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl", "{\"role\":\"user\",\"content\":\"a\",\"content\":\"b\"}\n");
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_string_equal(text_of(log, log_head(log)), "b");
	assert_int_equal(count_faults(log, FAULT_DUPLICATE_KEY), 1);
	log_close(log);
	world_close(&world);
}

/* The log cut at every byte of its last two records: nothing before is lost, nothing is removed, appending
 * works. */
static void c1_torn_line__cut_at_every_byte(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "eins");
	say(log, "assistant", "zwei");
	size_t start, end;
	free(scratch_read(world.dir, "main.jsonl", &start));
	add(log, "{\"role\":\"user\",\"content\":\"drei \xf0\x9f\x98\x80 {\\\"role\\\":\\\"user\\\"}\"}");
	size_t middle;
	free(scratch_read(world.dir, "main.jsonl", &middle));
	add(log, "{\"role\":\"assistant\",\"content\":\"\xe4\xbd\xa0\",\"tool_calls\":[{\"id\":\"c\","
		 "\"name\":\"n\",\"arguments\":\"{}\"}]}");
	log_close(log);
	char *bytes = scratch_read(world.dir, "main.jsonl", &end);
	for (size_t cut = start; cut <= end; cut++) {
		const char *line = cut < middle - 1 ? "m1 m2" : cut < end - 1 ? "m1 m2 m3" : "m1 m2 m3 m4";
		char expected[1024];
		scratch_write(world.dir, "main.jsonl", bytes, cut);
		remove(scratch_path(world.dir, "main.meta.json")); /* what it tells of a log that was longer: test_lost */
		log = world_log(&world, "main", LOG_WRITE);
		assert_string_equal(line_of(log), line);
		bool torn = cut != start && cut != middle && cut != middle - 1 && cut < end - 1;
		assert_int_equal(log_fault_total(log), torn);
		struct log_ack ack = say(log, "user", "weiter");
		snprintf(expected, sizeof(expected), "%s %s", line, ack.id);
		assert_int_equal(ack.seq, strlen(line) / 3 + 2);
		log_close(log);
		log = world_log(&world, "main", LOG_READ);
		assert_string_equal(line_of(log), expected);
		assert_string_equal(text_of(log, log_head(log)), "weiter");
		assert_int_equal(log_fault_total(log), torn);
		assert_int_equal(log_gap(log, NODE_NONE, log_head(log)), torn);
		log_close(log);
		size_t after;
		char *now = scratch_read(world.dir, "main.jsonl", &after);
		assert_memory_equal(now, bytes, cut);
		free(now);
	}
	free(bytes);
	world_close(&world);
}

static void c1_gap__fork_and_rewind_across_it_say_so(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl", A "\n{\"seq\":2,\"role\":\"as\n" C "\n");
	struct log *log = world_log(&world, "main", LOG_WRITE);
	say(log, "assistant", "four");
	struct log_node node;
	assert_int_equal(log_node(log, node_of(log, "m3"), &node), 0);
	assert_true(node.flags & NODE_GAP);
	assert_int_equal(log_node(log, node_of(log, "m4"), &node), 0);
	assert_false(node.flags & NODE_GAP);
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log_fork fork;
	options.at = SLICE_LITERAL("m1");
	assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), 0);
	assert_false(fork.gap);
	options.at = SLICE_LITERAL("m4");
	assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), 0);
	assert_true(fork.gap);
	struct log_rewind rewind;
	assert_int_equal(log_rewind(log, slice_of("m3"), &rewind, NULL), 0);
	assert_false(rewind.gap);
	assert_int_equal(log_rewind(log, slice_of("m1"), &rewind, NULL), 0);
	assert_true(rewind.gap);
	assert_string_equal(line_of(log), "m1");
	assert_int_equal(log_rewind(log, slice_of("m4"), &rewind, NULL), 0);
	assert_string_equal(line_of(log), "m1 m3 m4");
	assert_int_equal(log_rewind(log, slice_of("m9"), &rewind, NULL), BOBBIN_ENOTFOUND);
	log_close(log);
	world_close(&world);
}

static void c9_system_line__of_an_old_log_is_ignored(void **state)
{
	(void)state;
	CHECK("{\"seq\":1,\"role\":\"system\",\"content\":\"be "
	      "nice\"}\n{\"seq\":2,\"role\":\"user\",\"content\":\"hi\"}\n",
		"m2", FAULT_SYSTEM, 1, 0);
	CHECK("{\"role\":\"developer\",\"content\":\"be nice\"}\n{\"role\":\"user\",\"content\":\"hi\"}\n",
		"m2", FAULT_SYSTEM, 1, 0);
}

static void c7_lone_surrogate__is_kept_as_it_came(void **state)
{
	(void)state;
	CHECK("{\"seq\":1,\"role\":\"user\",\"content\":\"\\ud83d\"}\n", "m1", 0, 0, 0);
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	add(log, "{\"role\":\"user\",\"content\":\"a\\ud83d\\u0000b\"}");
	struct arena arena = ARENA_INIT;
	struct json record;
	assert_int_equal(log_record_read(log, 1, &arena, &record, NULL), 0);
	assert_non_null(strstr(record.text, "\"a\\ud83d\\u0000b\""));
	assert_string_equal(text_of(log, log_head(log)), "a\xef\xbf\xbd");
	arena_release(&arena);
	log_close(log);
	world_close(&world);
}

static void x25_long_line__is_read_and_one_too_long_is_skipped(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	size_t long_bytes = 12u << 20;
	char *text = malloc(long_bytes + 1);
	assert_non_null(text);
	memset(text, 'x', long_bytes);
	struct log *log = world_create(&world, "main");
	say(log, "user", "before");
	memcpy(text, "{\"role\":\"user\",\"content\":\"", 26);
	memcpy(text + long_bytes - 2, "\"}", 2);
	struct slice record = {text, long_bytes};
	struct log_ack ack;
	assert_int_equal(log_append(log, &record, 1, NULL, &ack, NULL), 0);
	say(log, "user", "after");
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3");
	struct log_node node;
	assert_int_equal(log_node(log, node_of(log, "m2"), &node), 0);
	assert_true(node.length > long_bytes);
	log_close(log);
	/* 65 MiB, of which no more than a piece is a hole in a file. */
	FILE *file = fopen(scratch_path(world.dir, "huge.jsonl"), "w");
	assert_non_null(file);
	fputs(A "\n", file);
	fseek(file, (long)(65u << 20), SEEK_CUR);
	fputs("\n" C "\n", file);
	fclose(file);
	log = world_log(&world, "huge", LOG_WRITE);
	assert_string_equal(line_of(log), "m1 m3");
	assert_int_equal(count_faults(log, FAULT_TOO_LONG), 1);
	say(log, "user", "more");
	assert_string_equal(line_of(log), "m1 m3 m4");
	log_close(log);
	free(text);
	world_close(&world);
}

static void torn__one_fault_does_not_hide_a_thousand(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	FILE *file = fopen(scratch_path(world.dir, "main.jsonl"), "w");
	assert_non_null(file);
	for (int i = 0; i < 2500; i++)
		fputs("garbage\n", file);
	fputs(A "\n", file);
	fclose(file);
	struct log *log = world_log(&world, "main", LOG_READ);
	size_t count;
	log_faults(log, &count);
	assert_int_equal(count, LIMIT_FAULTS_REPORTED);
	assert_int_equal(log_fault_total(log), 2500);
	assert_string_equal(line_of(log), "m1");
	log_close(log);
	world_close(&world);
}

static void torn__swapped_or_shortened_under_a_handle_is_an_error(void **state)
{
	(void)state;
	struct world world;
	struct arena arena = ARENA_INIT;
	struct message message;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	say(log, "user", "two");
	size_t len;
	char *text = scratch_read(world.dir, "main.jsonl", &len);
	/* Shorter. */
	scratch_write(world.dir, "main.jsonl", text, len - 20);
	assert_int_equal(log_message(log, log_head(log), &arena, &message, NULL), BOBBIN_ECORRUPT);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", NULL), BOBBIN_ECORRUPT);
	assert_int_equal(log_refresh(log, NULL), BOBBIN_ECORRUPT);
	log_close(log);
	/* Other bytes in the same place. */
	scratch_write(world.dir, "main.jsonl", text, len);
	log = world_log(&world, "main", LOG_WRITE);
	char *two = strstr(text, "two");
	memcpy(two, "2wo", 3);
	scratch_write(world.dir, "main.jsonl", text, len);
	assert_int_equal(log_message(log, log_head(log), &arena, &message, NULL), BOBBIN_ECORRUPT);
	log_close(log);
	/* Another file of that name. */
	memcpy(two, "two", 3);
	scratch_write(world.dir, "main.jsonl", text, len);
	log = world_log(&world, "main", LOG_WRITE);
	scratch_write(world.dir, "new", text, len);
	assert_int_equal(rename(scratch_path(world.dir, "new"), scratch_path(world.dir, "main.jsonl")), 0);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", NULL), BOBBIN_ECORRUPT);
	log_close(log);
	log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(remove(scratch_path(world.dir, "main.jsonl")), 0);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", NULL), BOBBIN_ENOTFOUND);
	assert_false(scratch_exists(world.dir, "main.jsonl"));
	log_close(log);
	free(text);
	arena_release(&arena);
	world_close(&world);
}

/* A log that lost its header and its meta must not pass for a whole one. */
static void lost_header__says_that_records_are_missing(void **state)
{
	(void)state;
	struct world world;
	struct log_node node;

	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "kid.jsonl",
		"\n{\"seq\":5,\"role\":\"user\",\"content\":\"a\"}\n"
		"{\"seq\":6,\"role\":\"assistant\",\"content\":\"b\"}\n");
	struct log *log = world_log(&world, "kid", LOG_READ);
	assert_int_equal(count_faults(log, FAULT_MISSING), 1);
	assert_int_equal(log_fault_total(log), 1);
	assert_string_equal(line_of(log), "m5 m6");
	assert_int_equal(log_node(log, node_of(log, "m5"), &node), 0);
	assert_true(node.flags & NODE_GAP);
	assert_int_equal(log_node(log, node_of(log, "m6"), &node), 0);
	assert_false(node.flags & NODE_GAP);
	log_close(log);
	/* Control records have numbers, too; a record without a number says nothing. */
	world_write(&world, "whole.jsonl",
		"{\"seq\":1,\"type\":\"run\",\"run\":\"r\",\"routine\":\"\"}\n"
		"{\"seq\":2,\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}"
		"\n");
	log = world_log(&world, "whole", LOG_READ);
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	/* One record is enough to be missed; as many control records as the number says are none too few. */
	static const struct {
		const char *text;
		size_t missing;
	} firsts[] = {
		{"{\"seq\":1,\"role\":\"user\",\"content\":\"a\"}\n", 0},
		{"{\"seq\":2,\"role\":\"user\",\"content\":\"a\"}\n", 1},
		{"{\"seq\":1,\"type\":\"note\"}\n{\"seq\":2,\"role\":\"user\",\"content\":\"a\"}\n", 0},
		{"{\"seq\":1,\"type\":\"note\"}\n{\"seq\":3,\"role\":\"user\",\"content\":\"a\"}\n", 1},
	};
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		world_write(&world, "kid.jsonl", firsts[i].text);
		log = world_log(&world, "kid", LOG_READ);
		assert_int_equal(count_faults(log, FAULT_MISSING), firsts[i].missing);
		log_close(log);
	}
	world_close(&world);
}

static void numbers__that_do_not_grow_are_reported_and_read(void **state)
{
	(void)state;
	struct world world;
	size_t count;

	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl",
		"{\"seq\":1,\"role\":\"user\",\"content\":\"a\"}\n"
		"{\"seq\":5,\"role\":\"assistant\",\"content\":\"b\"}\n"
		"{\"seq\":5,\"role\":\"user\",\"content\":\"c\"}\n"
		"{\"seq\":3,\"role\":\"assistant\",\"content\":\"d\"}\n"
		"{\"seq\":6,\"role\":\"user\",\"content\":\"e\"}\n");
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_int_equal(log_fault_total(log), 2);
	assert_int_equal(count_faults(log, FAULT_SEQUENCE), 2);
	assert_int_equal(log_faults(log, &count)[0].line, 3);
	assert_int_equal(log_faults(log, &count)[1].line, 4);
	assert_string_equal(line_of(log), "m1 m5 m5 m3 m6");
	assert_int_equal(say(log, "assistant", "f").seq, 7);
	assert_int_equal(log_fault_total(log), 2);
	log_close(log);
	world_close(&world);
}

/* A writer takes back what it could not finish, while somebody reads: what is there is the end, and the reader ends, too. */
static const char *shortened;
static size_t shortened_to;
static unsigned reads;
static ssize_t (*plain_read_at)(void *context, int file, void *data, size_t len, uint64_t offset);

static ssize_t read_after_it(void *context, int file, void *data, size_t len, uint64_t offset)
{
	if (reads++ == 0)
		assert_int_equal(truncate(shortened, (off_t)shortened_to), 0);
	return reads > 100 ? -EIO : plain_read_at(context, file, data, len, offset);
}

static void shorter__while_it_is_read(void **state)
{
	(void)state;
	struct world world;
	char path[2 * SCRATCH_PATH_BYTES];

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "one");
	free(scratch_read(world.dir, "main.jsonl", &shortened_to));
	say(log, "assistant", "taken back");
	log_close(log);
	remove(scratch_path(world.dir, "main.meta.json")); /* which would say that it lost its end */
	snprintf(path, sizeof(path), "%s/main.jsonl", world.dir);
	shortened = path;
	reads = 0;
	plain_read_at = world.platform.table.read_at;
	world.platform.table.read_at = read_after_it;
	log = world_log(&world, "main", LOG_READ);
	world.platform.table.read_at = plain_read_at;
	assert_string_equal(line_of(log), "m1");
	assert_int_equal(log_fault_total(log), 0);
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c1_torn_line__at_the_end),
		cmocka_unit_test(c1_torn_line__then_a_good_one),
		cmocka_unit_test(c1_torn_line__and_a_blank_last_line),
		cmocka_unit_test(c1_nuls__in_the_middle),
		cmocka_unit_test(c1_empty_file__loads_and_takes_a_message),
		cmocka_unit_test(c1_wrong_shape__is_set_aside),
		cmocka_unit_test(torn__invalid_utf8_is_set_aside),
		cmocka_unit_test(c3_glued__both_records_are_read),
		cmocka_unit_test(torn__a_part_of_a_torn_record_is_no_record),
		cmocka_unit_test(torn__whole_record_without_line_break_counts),
		cmocka_unit_test(torn__reader_sees_a_tail_become_whole),
		cmocka_unit_test(torn__wrong_crc_is_reported_and_read),
		cmocka_unit_test(torn__duplicate_keys_last_wins_and_is_reported),
		cmocka_unit_test(c1_torn_line__cut_at_every_byte),
		cmocka_unit_test(c1_gap__fork_and_rewind_across_it_say_so),
		cmocka_unit_test(c9_system_line__of_an_old_log_is_ignored),
		cmocka_unit_test(c7_lone_surrogate__is_kept_as_it_came),
		cmocka_unit_test(x25_long_line__is_read_and_one_too_long_is_skipped),
		cmocka_unit_test(torn__one_fault_does_not_hide_a_thousand),
		cmocka_unit_test(torn__swapped_or_shortened_under_a_handle_is_an_error),
		cmocka_unit_test(lost_header__says_that_records_are_missing),
		cmocka_unit_test(numbers__that_do_not_grow_are_reported_and_read),
		cmocka_unit_test(shorter__while_it_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
