/* SPDX-License-Identifier: MIT */
/*
 * What depends on size and what must not: a turn of a short and of a long session, counted at the table
 * through which the library asks the system and at the door to the index file; logs with a huge line or with
 * huge holes; a command as a process.
 *
 * A turn: see what others wrote, store the user's words, plan, make the request, store the reply.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/handles.h"
#include "store/index_file.h"
#include "store_bench.h"
#include "support/fail.h"

#define TURN_RECORD_BYTES 2000 /* all equal, so that what is shown is the same whatever stands before it */
#define TURN_WINDOW 8000       /* tokens: also 100 messages are far too many */
#define TURNS 41
#define NAME_BYTES 4096

extern char **environ;

/* ---- A turn ---- */

static uint64_t entries_read;

/* The linker leads what other files call by the first name to the second. */
bool __real_index_file_node(struct index_file *file, uint32_t ordinal, struct index_node *ret_node);
bool __wrap_index_file_node(struct index_file *file, uint32_t ordinal, struct index_node *ret_node);

bool __wrap_index_file_node(struct index_file *file, uint32_t ordinal, struct index_node *ret_node)
{
	entries_read++;
	return __real_index_file_node(file, ordinal, ret_node);
}

static void make_equal_messages(const char *dir, size_t messages)
{
	struct store *store = open_store(dir, STORE_SYNC_NONE);
	struct log *log = make_session(store, "main");
	char record[2 * TURN_RECORD_BYTES];
	for (size_t number = 0; number < messages; number++) {
		struct slice text = {record, fill_record(record, number, TURN_RECORD_BYTES)};
		check(log_append(log, &text, 1, NULL, NULL, &error));
	}
	log_close(log);
	store_close(store);
	/* Opened once with the wish for an index whatever the size. */
	struct store_options options = {.sync = STORE_SYNC_NONE, .index_step = 1};
	check(store_open(platform_default(), dir, &options, &store, &error));
	log_close(open_main(store, LOG_WRITE));
	store_close(store);
}

static void take_turn(bobbin_session *session, size_t number)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	char record[2 * TURN_RECORD_BYTES], *body;
	bobbin_plan *plan;
	size_t len = fill_record(record, 4 * number, TURN_RECORD_BYTES);
	options.window = TURN_WINDOW;
	check(bobbin_session_refresh(session, &error));
	check(bobbin_session_append(session, record, len, NULL, NULL, &error));
	check(bobbin_plan_make(session, &options, &plan, &error));
	check(bobbin_plan_request(plan, "openai-chat", &body, &len, &error));
	bobbin_free(body);
	bobbin_plan_free(plan);
	len = fill_record(record, 4 * number + 3, TURN_RECORD_BYTES);
	check(bobbin_session_append(session, record, len, NULL, NULL, &error));
}

static void tell_counts(const char *what, const struct fail_platform *world, uint64_t turns)
{
	printf("%s calls %.1f bytes_read %.0f bytes_written %.0f entries %.1f\n", what,
		(double)world->calls[CALL_ANY] / (double)turns, (double)world->bytes_read / (double)turns,
		(double)world->bytes_written / (double)turns, (double)entries_read / (double)turns);
}

static void begin_counting(struct fail_platform *world)
{
	memset(world->calls, 0, sizeof(world->calls));
	world->bytes_read = world->bytes_written = entries_read = 0;
}

/* The first one with the opening before it, then turns of a session that is open. */
static void time_turn(const char *dir, size_t messages)
{
	struct store_options store_options = {.create = true, .sync = STORE_SYNC_FULL};
	bobbin_store store = {.process = platform_process()};
	uint64_t *times = times_for(TURNS);
	struct fail_platform world;
	bobbin_session *session;
	char name[64];
	make_equal_messages(dir, messages);
	fail_platform_init(&world);
	check(store_open(&world.table, dir, &store_options, &store.store, &error));
	begin_counting(&world);
	check(bobbin_session_open(&store, "main", NULL, &session, &error));
	take_turn(session, 0);
	snprintf(name, sizeof(name), "first-turn-%zu", messages);
	tell_counts(name, &world, 1);
	begin_counting(&world);
	for (size_t turn = 0; turn < TURNS; turn++) {
		uint64_t start = now_ns();
		take_turn(session, turn + 1);
		times[turn] = now_ns() - start;
	}
	snprintf(name, sizeof(name), "turn-%zu", messages);
	tell_counts(name, &world, TURNS);
	tell(name, times, TURNS);
	bobbin_session_close(session);
	store_close(store.store);
	free(times);
}

/* With a system prompt of 8 kB, which is counted anew each time. */
static void time_public_plan(const char *dir, size_t runs)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	uint64_t *times = times_for(runs);
	char system[8000];
	bobbin_store *store;
	bobbin_session *session;
	for (size_t i = 0; i < sizeof(system); i++)
		system[i] = "be brief "[i % 9];
	options.system = system;
	options.system_len = sizeof(system);
	check(bobbin_store_open(dir, NULL, &store, &error));
	check(bobbin_session_open(store, "main", NULL, &session, &error));
	for (size_t run = 0; run < runs; run++) {
		bobbin_plan *plan;
		uint64_t start = now_ns();
		check(bobbin_session_refresh(session, &error));
		check(bobbin_plan_make(session, &options, &plan, &error));
		bobbin_plan_free(plan);
		times[run] = now_ns() - start;
	}
	tell("plan-public", times, runs);
	bobbin_session_close(session);
	bobbin_store_close(store);
	free(times);
}

/* ---- Search ---- */

/* What a search cannot do without: the log's bytes, in blocks as it takes them. */
static void time_reading(const char *dir, size_t runs)
{
	static char block[256 << 10];
	uint64_t *times = times_for(runs);
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s/main.jsonl", dir);
	for (size_t run = 0; run < runs; run++) {
		int file = open(name, O_RDONLY);
		uint64_t start = now_ns();
		ssize_t got;
		for (off_t at = 0; (got = pread(file, block, sizeof(block), at)) > 0;)
			at += got;
		times[run] = now_ns() - start;
		close(file);
		if (got < 0)
			exit(1);
	}
	tell("search-read", times, runs);
	free(times);
}

/* Words that follow each other a few times in all of it; in how many messages is told, to be compared. */
static void time_search(const char *dir, size_t runs, const char *query)
{
	uint64_t *times = times_for(runs), messages = 0;
	bobbin_store *store;
	check(bobbin_store_open(dir, NULL, &store, &error));
	for (size_t run = 0; run < runs; run++) {
		const struct bobbin_match *match;
		bobbin_search *search;
		int rc;
		messages = 0;
		uint64_t start = now_ns();
		check(bobbin_search_open(store, query, strlen(query), NULL, &search, &error));
		while ((rc = bobbin_search_next(search, &match, &error)) > 0)
			messages++;
		check(rc);
		times[run] = now_ns() - start;
		bobbin_search_close(search);
	}
	printf("search messages %llu\n", (unsigned long long)messages);
	tell("search", times, runs);
	bobbin_store_close(store);
	free(times);
	time_reading(dir, runs);
}

/* ---- Large logs ---- */

static void make_long_line(const char *dir, size_t bytes)
{
	struct store *store = open_store(dir, STORE_SYNC_NONE);
	struct log *log = make_session(store, "main");
	char *record = malloc(2 * bytes + TURN_RECORD_BYTES);
	for (size_t number = 0; record && number < 19; number++) {
		size_t size = number == 10 ? bytes : TURN_RECORD_BYTES; /* 10: a tool's result */
		struct slice text = {record, fill_record(record, number, size)};
		check(log_append(log, &text, 1, NULL, NULL, &error));
	}
	free(record);
	log_close(log);
	store_close(store);
}

/* Each has its beginning and its end; what is between takes no room on the disk. */
static void make_sparse(const char *dir, size_t count, uint64_t bytes)
{
	static const char END[] = "\n{\"seq\":3,\"role\":\"assistant\",\"content\":\"the end\"}\n";
	struct store *store = open_store(dir, STORE_SYNC_NONE);
	for (size_t i = 0; i < count; i++) {
		char id[32], name[NAME_BYTES];
		snprintf(id, sizeof(id), "s-%zu", i);
		struct log *log = make_session(store, id);
		struct slice record = slice_of("{\"role\":\"user\",\"content\":\"the beginning\"}");
		check(log_append(log, &record, 1, NULL, NULL, &error));
		log_close(log);
		snprintf(name, sizeof(name), "%s/%s.jsonl", dir, id);
		int file = open(name, O_WRONLY);
		if (file < 0 || ftruncate(file, (off_t)(bytes / count)) < 0 ||
			pwrite(file, END, sizeof(END) - 1, (off_t)(bytes / count)) < 0)
			exit(1);
		close(file);
	}
	store_close(store);
}

/* ---- Processes ---- */

static void time_process(const char *what, size_t runs, char **command)
{
	uint64_t *times = times_for(runs);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	for (size_t run = 0; run < runs; run++) {
		uint64_t start = now_ns();
		pid_t process;
		int status;
		if (posix_spawnp(&process, command[0], &actions, NULL, command, environ) != 0 ||
			waitpid(process, &status, 0) < 0 || status != 0) {
			fprintf(stderr, "time_store: %s failed\n", command[0]);
			exit(1);
		}
		times[run] = now_ns() - start;
	}
	posix_spawn_file_actions_destroy(&actions);
	tell(what, times, runs);
	free(times);
}

int scale_main(const char *what, const char *dir, size_t count, char **rest)
{
	if (strcmp(what, "turn") == 0)
		time_turn(dir, count);
	else if (strcmp(what, "plan-public") == 0)
		time_public_plan(dir, count);
	else if (strcmp(what, "search") == 0 && rest[0])
		time_search(dir, count, rest[0]);
	else if (strcmp(what, "long-line") == 0)
		make_long_line(dir, count);
	else if (strcmp(what, "sparse") == 0 && rest[0])
		make_sparse(dir, count, strtoull(rest[0], NULL, 10));
	else if (strcmp(what, "process") == 0 && rest[0])
		time_process(dir, count, rest); /* in place of the folder, the measure's name */
	else
		return 2;
	return 0;
}
