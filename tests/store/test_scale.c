/* SPDX-License-Identifier: MIT */
/*
 * What must not grow with a log: counted as calls to the system and bytes read, never as time. Each number is
 * compared with that of a log that is smaller or has no such line.
 */
#include "store_test.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "window/window.h"

#define MESSAGE_BYTES 1000
#define READ_SLACK                                                                                           \
	24000 /* the index of more messages has more blocks, of which a few are read: log n of them */
#define CALLS_SLACK 16

/* ---- Memory at its highest ---- */

static struct {
	size_t now, peak;
} memory;

static void *peak_allocate(void *context, size_t bytes)
{
	void *result = malloc(bytes);
	(void)context;
	memory.now += result ? malloc_usable_size(result) : 0;
	memory.peak = memory.now > memory.peak ? memory.now : memory.peak;
	return result;
}

static void peak_release(void *context, void *old)
{
	(void)context;
	memory.now -= old ? malloc_usable_size(old) : 0;
	free(old);
}

static void *peak_reallocate(void *context, void *old, size_t bytes)
{
	size_t before = old ? malloc_usable_size(old) : 0;
	void *result = realloc(old, bytes);
	(void)context;
	memory.now = result ? memory.now - before + malloc_usable_size(result) : memory.now;
	memory.peak = memory.now > memory.peak ? memory.now : memory.peak;
	return result;
}

static void watch_memory(void)
{
	static const struct allocator watched = {peak_allocate, peak_reallocate, peak_release, NULL};
	memory.now = memory.peak = 0;
	alloc_set(&watched);
}

/* ---- Making and counting ---- */

static void begin_counting(struct world *world)
{
	memset(world->platform.calls, 0, sizeof(world->platform.calls));
	world->platform.bytes_read = world->platform.bytes_written = 0;
}

/* u, a, u, a, …: content of that many bytes. */
static void fill(struct log *log, size_t messages, size_t bytes)
{
	char *record = malloc(bytes + 64);
	assert_non_null(record);
	for (size_t i = 0; i < messages; i++) {
		int len = sprintf(record, "{\"role\":\"%s\",\"content\":\"", i % 2 ? "assistant" : "user");
		memset(record + len, 'a' + (int)(i % 26), bytes);
		memcpy(record + len + bytes, "\"}", 3);
		add(log, record);
	}
	free(record);
}

/* What stands in the index file after that: everything. */
static void save_index(struct world *world, const char *id)
{
	struct store_options options = {.force_filesystem = true, .sync = STORE_SYNC_NONE, .index_step = 1};
	struct store *store;
	struct log *log;
	assert_int_equal(store_open(platform_default(), world->dir, &options, &store, NULL), 0);
	assert_int_equal(log_open(store, slice_of(id), LOG_WRITE, &log, NULL), 0);
	log_close(log);
	store_close(store);
}

/* In a window that all of the line is far too much for. */
static void plan_next(struct log *log, uint64_t window)
{
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {.system_tokens = 500};
	struct window_budget budget;
	struct window_plan *plan = malloc(sizeof(*plan));
	struct log_path *path;
	assert_non_null(plan);
	options.window = window;
	assert_int_equal(window_budget(&options, &fixed, &budget, NULL), 0);
	assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
	assert_int_equal(window_plan(log_path_path(path), &budget, &options, NULL, NULL, plan, NULL), 0);
	assert_true(plan->cut > 0);
	log_path_free(path);
	free(plan);
}

/* ---- X25: one result of 12 MB ---- */

struct counts {
	uint64_t calls, bytes_read;
};

static struct counts counted(const struct world *world)
{
	return (struct counts){world->platform.calls[CALL_ANY], world->platform.bytes_read};
}

static void make_call_and_result(struct world *world, const char *id, size_t result_bytes)
{
	struct log *log = world_create(world, id);
	char *record = malloc(result_bytes + 128);
	assert_non_null(record);
	fill(log, 8, 4000);
	add(log, "{\"role\":\"user\",\"content\":\"read it\"}");
	add(log, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"read\","
		 "\"arguments\":\"{}\"}]}");
	int len = sprintf(record, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"");
	memset(record + len, 'x', result_bytes);
	memcpy(record + len + result_bytes, "\"}", 3);
	add(log, record);
	fill(log, 8, 4000);
	assert_int_equal(log_node_count(log), 19);
	log_close(log);
	save_index(world, id);
	free(record);
}

static struct counts open_and_plan(struct world *world, const char *id)
{
	begin_counting(world);
	struct log *log = world_log(world, id, LOG_WRITE);
	plan_next(log, 8000);
	struct counts counts = counted(world);
	log_close(log);
	return counts;
}

static struct counts list_all(struct world *world, size_t expected)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;
	begin_counting(world);
	assert_int_equal(store_list(world->store, NULL, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, expected);
	for (size_t i = 0; i < count; i++)
		assert_false(entries[i].damaged);
	arena_release(&arena);
	return counted(world);
}

static void x25_open_list_and_plan__read_no_more_for_a_line_of_12_mb(void **state)
{
	(void)state;
	struct world small, large;
	world_open(&small, STORE_SYNC_NONE);
	world_open(&large, STORE_SYNC_NONE);
	make_call_and_result(&small, "main", 4000);
	make_call_and_result(&large, "main", 12u << 20);
	struct counts without = open_and_plan(&small, "main"), with = open_and_plan(&large, "main");
	assert_int_equal(with.calls, without.calls);
	assert_in_range(with.bytes_read, without.bytes_read - 100, without.bytes_read + 100);
	without = list_all(&small, 1);
	with = list_all(&large, 1);
	assert_int_equal(with.calls, without.calls);
	assert_in_range(with.bytes_read, without.bytes_read - 100, without.bytes_read + 100);
	/* And it is all there. */
	struct log *log = world_log(&large, "main", LOG_READ);
	struct arena arena = ARENA_INIT;
	struct message message;
	struct json content;
	assert_int_equal(log_message(log, node_of(log, "m11"), &arena, &message, NULL), 0);
	assert_true(json_get(&message.record, "content", &content));
	assert_int_equal(content.len, (12u << 20) + 2);
	assert_int_equal(strspn(content.text + 1, "x"), 12u << 20);
	arena_release(&arena);
	log_close(log);
	world_close(&small);
	world_close(&large);
}

/* ---- C5: a log that is larger than it should be read ---- */

/* Show the tail, plan, append one, list. */
static struct counts resume(struct world *world, size_t *ret_peak)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	watch_memory();
	begin_counting(world);
	struct log *log = world_log(world, "main", LOG_WRITE);
	assert_int_equal(log_message(log, log_head(log), &arena, &message, NULL), 0);
	plan_next(log, 32000);
	say(log, "user", "go on");
	struct counts counts = counted(world);
	arena_release(&arena);
	log_close(log);
	alloc_set(NULL);
	*ret_peak = memory.peak;
	return counts;
}

static void c5_large_log__opens_by_its_index_and_is_rebuilt_in_bounded_memory(void **state)
{
	(void)state;
	struct counts counts[2];
	size_t peaks[2], rebuilt[2];
	static const size_t messages[2] = {400, 8000};
	for (int i = 0; i < 2; i++) {
		struct world world;
		world_open(&world, STORE_SYNC_NONE);
		struct log *log = world_create(&world, "main");
		fill(log, messages[i], 5000);
		log_close(log);
		save_index(&world, "main");
		counts[i] = resume(&world, &peaks[i]);
		assert_int_equal(unlink(scratch_path(world.dir, ".cache/main.index")), 0);
		watch_memory();
		log = world_log(&world, "main", LOG_READ);
		assert_int_equal(log_node_count(log), messages[i] + 1);
		log_close(log);
		alloc_set(NULL);
		rebuilt[i] = memory.peak;
		struct counts listed = list_all(&world, 1);
		assert_true(listed.bytes_read < 32000);
		world_close(&world);
	}
	assert_true(counts[1].calls <= counts[0].calls + CALLS_SLACK);
	assert_true(counts[1].bytes_read <= counts[0].bytes_read + READ_SLACK);
	assert_true(peaks[1] <= peaks[0] + 100000); /* 2 MB and 40 MB of log */
	/* The structure of 7,600 messages more may be in memory while it is made: no texts. */
	assert_true(rebuilt[1] <= rebuilt[0] + 7600 * 400);
}

/* ---- X22: many large sessions ---- */

/* A time is written without its milliseconds where they are 0: one time in a thousand, and 4 bytes less to read. */
static int64_t half_past(void *context)
{
	(void)context;
	return INT64_C(1790000000500000000);
}

static void x22_list__reads_the_same_bytes_of_sessions_of_any_size(void **state)
{
	(void)state;
	enum { SESSIONS = 60 };
	struct counts counts[2];
	for (int large = 0; large < 2; large++) {
		static const char END[] = "\n{\"seq\":3,\"role\":\"user\",\"content\":\"the end\"}\n";
		struct world world;
		char id[16], name[32];
		world_open(&world, STORE_SYNC_NONE);
		world.platform.table.realtime_ns = half_past;
		for (int i = 0; i < SESSIONS; i++) {
			sprintf(id, "s-%d", i);
			sprintf(name, "s-%d.jsonl", i);
			struct log *log = world_create(&world, id);
			fill(log, 1, 10000);
			log_close(log);
			int file = open(scratch_path(world.dir, name), O_WRONLY);
			assert_true(file >= 0);
			off_t size = large ? (off_t)4 << 20 : (off_t)16 << 10;
			assert_int_equal(pwrite(file, END, sizeof(END) - 1, size), sizeof(END) - 1);
			close(file);
		}
		counts[large] = list_all(&world, SESSIONS);
		assert_true(counts[large].bytes_read <= SESSIONS * 16000);
		/* The second list has what the first one saw. */
		assert_true(list_all(&world, SESSIONS).bytes_read <= counts[large].bytes_read);
		world_close(&world);
	}
	assert_int_equal(counts[1].calls, counts[0].calls);
	assert_int_equal(counts[1].bytes_read, counts[0].bytes_read);
}

/* ---- A turn ---- */

static struct counts take_turn(struct world *world, struct log *log)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	begin_counting(world);
	assert_int_equal(log_refresh(log, NULL), 0);
	fill(log, 1, MESSAGE_BYTES);
	plan_next(log, 8000);
	assert_int_equal(log_message(log, log_head(log), &arena, &message, NULL), 0);
	add(log, "{\"role\":\"assistant\",\"content\":\"done\"}");
	arena_release(&arena);
	return counted(world);
}

static void turn__costs_the_same_at_any_length(void **state)
{
	(void)state;
	static const size_t messages[] = {100, 2400, 12000};
	struct counts first[3], later[3];
	uint64_t written[3];
	for (int i = 0; i < 3; i++) {
		struct world world;
		world_open(&world, STORE_SYNC_NONE);
		struct log *log = world_create(&world, "main");
		fill(log, messages[i], MESSAGE_BYTES);
		log_close(log);
		save_index(&world, "main");
		log = world_log(&world, "main", LOG_WRITE);
		first[i] = take_turn(&world, log);
		take_turn(&world, log);
		later[i] = take_turn(&world, log);
		written[i] = world.platform.bytes_written;
		log_close(log);
		world_close(&world);
	}
	for (int i = 1; i < 3; i++) {
		/* The first looks at log n blocks of the index. */
		assert_true(first[i].calls <= first[0].calls + 8);
		assert_true(first[i].bytes_read <= first[0].bytes_read + 8 * 4096);
		assert_int_equal(later[i].calls, later[0].calls);
		/* Numbers have more digits. */
		assert_in_range(later[i].bytes_read, later[0].bytes_read, later[0].bytes_read + 16);
		assert_in_range(written[i], written[0], written[0] + 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x25_open_list_and_plan__read_no_more_for_a_line_of_12_mb),
		cmocka_unit_test(c5_large_log__opens_by_its_index_and_is_rebuilt_in_bounded_memory),
		cmocka_unit_test(x22_list__reads_the_same_bytes_of_sessions_of_any_size),
		cmocka_unit_test(turn__costs_the_same_at_any_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
