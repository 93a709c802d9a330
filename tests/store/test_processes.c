/* SPDX-License-Identifier: MIT */
/* Several processes on one session, one of them killed, one of them reading. */
#include "store_test.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 8
#define RECORDS 200
#define LARGEST (200 * 1000)

/* What a writer tells of each record that was acknowledged: one write of less than PIPE_BUF. */
struct told {
	uint32_t writer, number;
	uint64_t seq;
};

/* Mostly small, some of 20 KB, a few of 200 KB, as real logs are. */
static size_t size_of(unsigned writer, unsigned number)
{
	unsigned at = writer * 7 + number;
	return at % 40 == 0 ? LARGEST : at % 8 == 0 ? 20000 + at : 200 + at % 400;
}

/* {"role":"user","id":"w3-17","content":"w3-17 aaaa…"} of that many bytes of content. */
static size_t make_record(unsigned writer, unsigned number, char *text)
{
	size_t size = size_of(writer, number);
	size_t len = (size_t)sprintf(text, "{\"role\":\"user\",\"id\":\"w%u-%u\",\"content\":\"w%u-%u ",
		writer, number, writer, number);

	memset(text + len, 'a' + (int)(number % 26), size);
	memcpy(text + len + size, "\"}", 2);
	return len + size + 2;
}

static struct store *open_again(const struct world *world)
{
	struct store_options options = {.force_filesystem = true, .sync = STORE_SYNC_NONE};
	struct store *store;
	if (store_open(platform_default(), world->dir, &options, &store, NULL) != 0)
		_exit(2);
	return store;
}

static void write_records(const struct world *world, unsigned writer, int result)
{
	struct store *store = open_again(world);
	char *text = malloc(LARGEST + 100);
	struct log *log;

	if (!text || log_open(store, slice_of("main"), LOG_WRITE, &log, NULL) != 0)
		_exit(3);
	for (unsigned number = 0; number < RECORDS; number++) {
		struct slice record = {text, make_record(writer, number, text)};
		struct log_ack ack;
		struct bobbin_error error = {0};
		int rc = log_append(log, &record, 1, NULL, &ack, &error);
		if (rc) {
			fprintf(stderr, "writer %u: %s\n", writer, error.message);
			_exit(4);
		}
		struct told told = {writer, number, ack.seq};
		if (write(result, &told, sizeof(told)) != (ssize_t)sizeof(told))
			_exit(5);
	}
	log_close(log);
	store_close(store);
	free(text);
	_exit(0);
}

/* What a reader sees is whole, numbered without gaps, and only grows. */
static void read_records(const struct world *world, int stop)
{
	struct store *store = open_again(world);
	struct arena arena = ARENA_INIT;
	uint32_t seen = 0;
	struct log *log;
	char byte;

	if (log_open(store, slice_of("main"), LOG_READ, &log, NULL) != 0)
		_exit(3);
	while (read(stop, &byte, 1) < 0) { /* until it is told so, or the test is gone */
		struct bobbin_error error = {0};
		if (log_refresh(log, &error) != 0) {
			fprintf(stderr, "reader: %s\n", error.message);
			_exit(4);
		}
		uint32_t count = log_node_count(log);
		if (count < seen)
			_exit(5);
		for (; seen < count; seen++) {
			struct log_node node;
			char id[PATH_ID_BYTES];
			struct message message;
			arena_reset(&arena);
			if (log_node(log, seen, &node) != 0 || node.seq != seen + 1 ||
				node.parent != seen - 1 || log_node_id(log, seen, id, NULL) != 0)
				_exit(6);
			if (seen % 50 == 0 && (log_message(log, seen, &arena, &message, NULL) != 0 ||
						      !slice_is(message.id, id)))
				_exit(7);
		}
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
	arena_release(&arena);
	log_close(log);
	store_close(store);
	_exit(0);
}

static void check_all(struct log *log, const struct told *told, size_t count, unsigned killed)
{
	struct arena arena = ARENA_INIT;
	char *text = malloc(LARGEST + 100);
	bool(*seen)[RECORDS] = calloc(WRITERS, sizeof(*seen));
	uint32_t *nodes, line;

	assert_non_null(text);
	assert_non_null(seen);
	assert_int_equal(log_line(log, log_head(log), &arena, &nodes, &line), 0);
	assert_int_equal(line, log_node_count(log));
	assert_true(line >= count &&
		    line <= count + 1); /* the killed one may have written one that it could not tell of */
	for (uint32_t i = 0; i < line; i++) {
		struct arena one = ARENA_INIT;
		struct message message;
		struct log_node node;
		unsigned writer, number;
		char id[PATH_ID_BYTES];
		assert_int_equal(log_node(log, nodes[i], &node), 0);
		assert_int_equal(node.seq, i + 1);
		assert_int_equal(log_node_id(log, nodes[i], id, NULL), 0);
		assert_int_equal(sscanf(id, "w%u-%u", &writer, &number), 2);
		assert_true(writer < WRITERS && number < RECORDS);
		assert_false(seen[writer][number]);
		seen[writer][number] = true;
		assert_true(number == 0 || seen[writer][number - 1]);
		size_t len = make_record(writer, number, text);
		assert_int_equal(log_message(log, nodes[i], &one, &message, NULL), 0);
		const char *content = strstr(text, "\"content\":") + 10;
		assert_int_equal(message.content.len, (size_t)(text + len - 1 - content));
		assert_memory_equal(message.content.text, content, message.content.len);
		arena_release(&one);
	}
	for (size_t i = 0; i < count; i++) {
		struct log_node node;
		char id[32];
		assert_true(seen[told[i].writer][told[i].number]);
		snprintf(id, sizeof(id), "w%u-%u", told[i].writer, told[i].number);
		assert_int_equal(log_node(log, node_of(log, id), &node), 0);
		assert_int_equal(node.seq, told[i].seq);
	}
	for (unsigned writer = 0; writer < WRITERS; writer++)
		assert_true(writer == killed || seen[writer][RECORDS - 1]);
	assert_true(log_fault_total(log) <= 1);
	free(seen);
	free(text);
	arena_release(&arena);
}

static void c3_processes__all_acknowledged_records_are_there_once_and_whole(void **state)
{
	(void)state;
	struct world world;
	pid_t writers[WRITERS], reader;
	int result[2], stop[2], status;
	const unsigned killed = 5;
	struct told *told = calloc(WRITERS * RECORDS, sizeof(*told));
	size_t count = 0;

	assert_non_null(told);
	world_open(&world, STORE_SYNC_NONE);
	log_close(world_create(&world, "main"));
	assert_int_equal(pipe(result), 0);
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(fcntl(stop[0], F_SETFL, O_NONBLOCK), 0);
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = fork();
		assert_true(writers[i] >= 0);
		if (writers[i] == 0)
			write_records(&world, i, result[1]);
	}
	reader = fork();
	assert_true(reader >= 0);
	if (reader == 0) {
		close(result[1]); /* else nobody would see the writers' end */
		close(stop[1]);
		read_records(&world, stop[0]);
	}
	close(result[1]);
	bool was_killed = false;
	while (read(result[0], &told[count], sizeof(*told)) == (ssize_t)sizeof(*told)) {
		if (++count > 300 && !was_killed) {
			assert_int_equal(kill(writers[killed], SIGKILL), 0);
			was_killed = true;
		}
	}
	assert_true(was_killed);
	for (unsigned i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
		if (i == killed)
			assert_true(WIFSIGNALED(status));
		else
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	struct log *log = world_log(&world, "main", LOG_READ);
	check_all(log, told, count, killed);
	print_message("%zu records acknowledged, %u stored\n", count, log_node_count(log));
	log_close(log);
	close(result[0]);
	close(stop[0]);
	close(stop[1]);
	free(told);
	world_close(&world);
}

/* Two processes that begin the default session at once: one makes it, the other one finds it. */
static void x24_default_session__started_twice_at_once(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct world world;
		pid_t children[4];
		int go[2], status;
		char byte;
		world_open(&world, STORE_SYNC_NONE);
		assert_int_equal(pipe(go), 0);
		for (int i = 0; i < 4; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] != 0)
				continue;
			struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
			struct store *store = open_again(&world);
			struct log *log;
			struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"hi\"}");
			create.id = SLICE_LITERAL("main");
			close(go[1]);
			(void)!read(go[0], &byte, 1);
			int rc = log_create(store, &create, &log, NULL);
			if (rc == BOBBIN_EEXIST)
				rc = log_open(store, slice_of("main"), LOG_WRITE, &log, NULL);
			for (int n = 0; n < 5 && rc == 0; n++)
				rc = log_append(log, &record, 1, NULL, NULL, NULL);
			log_close(log);
			_exit(rc ? 1 : 0);
		}
		close(go[0]);
		close(go[1]);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		}
		struct log *log = world_log(&world, "main", LOG_READ);
		assert_int_equal(log_node_count(log), 20);
		for (uint32_t i = 0; i < 20; i++) {
			struct log_node node;
			assert_int_equal(log_node(log, i, &node), 0);
			assert_int_equal(node.seq, i + 1);
		}
		assert_int_equal(log_fault_total(log), 0);
		log_close(log);
		world_close(&world);
	}
}

#if defined(__SANITIZE_ADDRESS__)
#define META_KILLS 200
#else
#define META_KILLS 1000
#endif

/* A title as long as they get, all of one letter: half of one would show. */
static void write_metas(struct store *store, unsigned round)
{
	struct log *log;

	if (log_open(store, slice_of("main"), LOG_WRITE, &log, NULL) != 0)
		_exit(3);
	for (unsigned i = round;; i++) {
		char title[LIMIT_TITLE_BYTES];
		memset(title, 'a' + (int)(i % 26), sizeof(title));
		struct slice record = SLICE_LITERAL("{\"type\":\"usage\"}");
		if (i % 8 == 0 && log_append(log, &record, 1, NULL, NULL, NULL) != 0)
			_exit(4);
		if (i == round && log_set_title(log, (struct slice){title, sizeof(title)}, NULL) != 0)
			_exit(5);
		int rc = log_write_meta(log, NULL);
		if (rc != 0)
			_exit(6);
	}
}

static void check_meta(const struct world *world)
{
	size_t len;
	char *text = scratch_read(world->dir, "main.meta.json", &len);
	struct json meta, title, id;
	struct slice content;

	assert_non_null(text);
	assert_int_equal(json_parse(text, len, &meta, NULL), 0);
	assert_true(json_get(&meta, "id", &id) && json_string_is(&id, "main"));
	if (json_get(&meta, "title", &title)) {
		assert_true(json_string_plain(&title, &content));
		assert_int_equal(content.len, LIMIT_TITLE_BYTES);
		for (size_t i = 1; i < content.len; i++)
			assert_int_equal(content.data[i], content.data[0]);
	}
	free(text);
}

static void x23_meta__is_old_or_new_whenever_its_writer_is_killed(void **state)
{
	(void)state;
	struct world world;
	uint32_t random = 1;
	world_open(&world, STORE_SYNC_NONE);
	log_close(world_create(&world, "main"));
	for (unsigned round = 0; round < META_KILLS; round++) {
		int status;
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0)
			write_metas(open_again(&world), round);
		random = random * 1664525 + 1013904223;
		nanosleep(&(struct timespec){0, 100000 + (random >> 8) % 2500000}, NULL);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		check_meta(&world);
	}
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_true(log_record_count(log) > META_KILLS / 10);
	print_message(
		"%u records, %lu of them torn\n", log_record_count(log), (unsigned long)log_fault_total(log));
	assert_int_equal(say(log, "user", "x").seq > 0, 1);
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c3_processes__all_acknowledged_records_are_there_once_and_whole),
		cmocka_unit_test(x24_default_session__started_twice_at_once),
		cmocka_unit_test(x23_meta__is_old_or_new_whenever_its_writer_is_killed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
