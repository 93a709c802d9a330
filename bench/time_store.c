/* SPDX-License-Identifier: MIT */
/*
 * The store at scale, one measure a call; store.sh runs them beside their peers. Times are medians.
 *
 *	time_store make DIR MESSAGES BYTES     a session "main": sizes log-normal, median 400 bytes
 *	time_store open DIR RUNS               open and plan the next request; the peak of memory
 *	time_store plan DIR RUNS               plan from an open session
 *	time_store exact DIR RUNS              the same two with exact tokens (o200k_base), and counting them all first
 *	time_store rebuild DIR RUNS            open without an index
 *	time_store fork DIR RUNS               a durable fork of the open session
 *	time_store append DIR RUNS             a durable append of 400 bytes, a bare write, SQLite: in turn
 *	time_store bytes DIR RUNS              how many bytes an append writes beyond the message
 *	time_store parallel DIR THREADS RUNS   appends to a session a thread
 *	time_store raw-parallel DIR THREADS RUNS
 *	time_store sessions DIR COUNT          makes them
 *	time_store list DIR RUNS
 *	time_store turn DIR MESSAGES           what a turn of a session of so many asks of the system (store_scale.c)
 *	time_store plan-public DIR RUNS        take in what others wrote, plan: by the functions of bobbin.h
 *	time_store search DIR RUNS QUERY
 *	time_store long-line DIR BYTES         a session "main" of 19 records, one of them so large
 *	time_store sparse DIR COUNT BYTES      so many logs that have BYTES in all, most of it holes
 *	time_store process NAME RUNS COMMAND…  a command as a process
 */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_bench.h"

#define BATCH 500
#define RECORD_BYTES 400 /* the median of real transcripts */

struct bobbin_error error;

void check(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "time_store: %s\n", error.message);
	exit(1);
}

/* ---- Making ---- */

static double uniform(void)
{
	return (double)(next_random() >> 11) / 9007199254740992.0 + 1e-12;
}

/* Log-normal with this median; the mean is exp(sigma² / 2) times it. */
static size_t size_of_next(double median, double mean)
{
	double sigma = sqrt(2 * log(mean / median));
	double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
	double size = median * exp(sigma * normal);
	return size < 8 ? 8 : size > 4e6 ? (size_t)4e6 : (size_t)size;
}

/* Words, line breaks and quotes as they stand in transcripts, escaped as JSON. */
static size_t fill_text(char *text, size_t len)
{
	static const char *const WORDS[] = {"the", "session", "return", "if (error)", "that", "\\n\\t",
		"value", "0x1f", "index", "\\\"path\\\"", "and", "/usr/lib", "größer", "of", "\\n",
		"messages", "12", "a"};
	size_t at = 0;
	while (at < len) {
		const char *word = WORDS[next_random() % (sizeof(WORDS) / sizeof(WORDS[0]))];
		size_t bytes = strlen(word);
		memcpy(text + at, word, bytes);
		at += bytes;
		text[at++] = ' ';
	}
	return at;
}

/* u, call, result, reply, over and over. */
size_t fill_record(char *record, size_t number, size_t size)
{
	size_t len;
	switch (number % 4) {
	case 1:
		len = (size_t)sprintf(record,
			"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_%zu\",\"name\":\"read\","
			"\"arguments\":\"{}\"}],\"content\":\"",
			number);
		break;
	case 2:
		len = (size_t)sprintf(record,
			"{\"role\":\"tool\",\"tool_call_id\":\"call_%zu\",\"content\":\"", number - 1);
		break;
	default:
		len = (size_t)sprintf(
			record, "{\"role\":\"%s\",\"content\":\"", number % 4 ? "assistant" : "user");
	}
	len += fill_text(record + len, size > len + 62 ? size - len - 62 : 8); /* 60 are added by the log */
	memcpy(record + len, "\"}", 3);
	return len + 2;
}

struct store *open_store(const char *dir, enum store_sync sync)
{
	struct store_options options = {.create = true, .sync = sync};
	struct store *store;
	check(store_open(platform_default(), dir, &options, &store, &error));
	return store;
}

struct log *make_session(struct store *store, const char *id)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;
	options.id = slice_of(id);
	check(log_create(store, &options, &log, &error));
	return log;
}

static void make(const char *dir, size_t messages, double bytes)
{
	struct store *store = open_store(dir, STORE_SYNC_NONE);
	struct log *log = make_session(store, "main");
	char *text = malloc((size_t)5e6 * 2);
	struct slice records[BATCH];
	for (size_t number = 0; number < messages;) {
		size_t count = 0;
		for (; count < BATCH && number < messages; count++, number++) {
			size_t len = fill_record(text, number, size_of_next(400, bytes / (double)messages));
			records[count] = (struct slice){strndup(text, len), len};
		}
		check(log_append(log, records, count, NULL, NULL, &error));
		for (size_t i = 0; i < count; i++)
			free((void *)(uintptr_t)records[i].data);
	}
	free(text);
	log_close(log);
	store_close(store);
}

/* ---- Opening, planning ---- */

static void plan_with(struct log *log, struct token_counter *counter)
{
	static struct window_plan plan;
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {.system_tokens = 2000, .tools_tokens = 4000};
	struct window_budget budget;
	struct log_path *path;
	options.window = 128000;
	check(log_path_new(log, log_head(log), counter, &path, &error));
	check(window_budget(&options, &fixed, &budget, &error));
	check(window_plan(log_path_path(path), &budget, &options, NULL, NULL, &plan, &error));
	log_path_free(path);
}

void plan_next(struct log *log)
{
	plan_with(log, NULL);
}

struct log *open_main(struct store *store, enum log_mode mode)
{
	struct log *log;
	check(log_open(store, slice_of("main"), mode, &log, &error));
	return log;
}

static void time_open(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	uint64_t *times = times_for(runs);
	struct rusage usage;
	for (size_t run = 0; run < runs; run++) {
		uint64_t start = now_ns();
		struct log *log = open_main(store, LOG_WRITE);
		plan_next(log);
		times[run] = now_ns() - start;
		log_close(log);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("open peak_kib %ld\n", usage.ru_maxrss);
	tell("open", times, runs);
	free(times);
	store_close(store);
}

static void time_plan(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	struct log *log = open_main(store, LOG_READ);
	uint64_t *times = times_for(runs);
	for (size_t run = 0; run < runs; run++) {
		uint64_t start = now_ns();
		plan_next(log);
		times[run] = now_ns() - start;
	}
	tell("plan", times, runs);
	free(times);
	log_close(log);
	store_close(store);
}

/* Without rank files there is nothing to measure. */
static void time_exact(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	uint64_t *times = times_for(runs), start = now_ns();
	struct token_counter counter;
	struct log *log = open_main(store, LOG_READ);
	char name[4096];
	if (!token_counter_for_encoding("o200k_base", &counter))
		return;
	snprintf(name, sizeof(name), "%s/.cache/main.o200k_base.tokens", dir);
	unlink(name);
	plan_with(log, &counter);
	printf("exact count_ms %.0f\n", (double)(now_ns() - start) / 1e6);
	for (size_t run = 0; run < runs; run++) {
		start = now_ns();
		plan_with(log, &counter);
		times[run] = now_ns() - start;
	}
	tell("exact-plan", times, runs);
	log_close(log);
	for (size_t run = 0; run < runs; run++) {
		start = now_ns();
		log = open_main(store, LOG_READ);
		plan_with(log, &counter);
		times[run] = now_ns() - start;
		log_close(log);
	}
	tell("exact-open", times, runs);
	token_counter_release(&counter);
	free(times);
	store_close(store);
}

static void time_rebuild(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	uint64_t *times = times_for(runs), *processor = times_for(runs);
	char name[4096];
	snprintf(name, sizeof(name), "%s/.cache/main.index", dir);
	for (size_t run = 0; run < runs; run++) {
		unlink(name);
		uint64_t start = now_ns(), processor_start = processor_ns();
		struct log *log = open_main(store, LOG_READ);
		times[run] = now_ns() - start;
		processor[run] = processor_ns() - processor_start;
		log_close(log);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("rebuild peak_kib %ld\n", usage.ru_maxrss);
	tell("rebuild", times, runs);
	sort_times(processor, runs);
	printf("rebuild cpu_us %.1f\n", (double)processor[runs / 2] / 1e3);
	free(processor);
	free(times);
	store_close(store);
}

static uint64_t bytes_in(const char *dir)
{
	char name[4096];
	struct stat info;
	uint64_t sum = 0;
	DIR *list = opendir(dir);
	for (struct dirent *entry; list && (entry = readdir(list));) {
		if (entry->d_name[0] == '.' && entry->d_name[1] != 'c')
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir, entry->d_name);
		if (stat(name, &info) == 0)
			sum += S_ISDIR(info.st_mode) ? bytes_in(name) : (uint64_t)info.st_size;
	}
	if (list)
		closedir(list);
	return sum;
}

static void time_fork(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	struct log *log = open_main(store, LOG_READ);
	uint64_t *times = times_for(runs), before = bytes_in(dir);
	for (size_t run = 0; run < runs; run++) {
		struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
		options.by_count = true;
		options.count = 40;
		uint64_t start = now_ns();
		check(log_fork(log, &options, NULL, NULL, &error));
		times[run] = now_ns() - start;
	}
	printf("fork bytes %.0f\n", (double)(bytes_in(dir) - before) / (double)runs);
	tell("fork", times, runs);
	free(times);
	log_close(log);
	store_close(store);
}

/* ---- Appending ---- */

struct worker {
	pthread_t thread;
	const char *dir;
	struct store *store;
	unsigned number;
	size_t runs;
	bool raw;
	uint64_t *times;
	struct log *log;
	char text[2 * RECORD_BYTES];
	size_t len;
	pthread_barrier_t *start;
};

static void append_raw(struct worker *worker)
{
	char name[4096], line[RECORD_BYTES];
	snprintf(name, sizeof(name), "%s/raw-%u", worker->dir, worker->number);
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0600);
	fsync(file);
	pthread_barrier_wait(worker->start);
	for (size_t run = 0; run < worker->runs; run++) {
		uint64_t start = now_ns();
		if (write(file, line, sizeof(line)) != sizeof(line) || fdatasync(file) != 0)
			exit(1);
		worker->times[run] = now_ns() - start;
	}
	close(file);
	unlink(name);
}

static void append_records(struct worker *worker)
{
	char text[2 * RECORD_BYTES];
	struct bobbin_error own = {0};
	for (size_t run = 0; run < worker->runs; run++) {
		struct slice record = {text, worker->len};
		memcpy(text, worker->text, worker->len);
		uint64_t start = now_ns();
		check(log_append(worker->log, &record, 1, NULL, NULL, &own));
		worker->times[run] = now_ns() - start;
	}
}

static void *work(void *data)
{
	struct worker *worker = data;
	if (worker->raw) {
		append_raw(worker);
	} else {
		pthread_barrier_wait(worker->start);
		append_records(worker);
	}
	return NULL;
}

static void append_with(const char *what, const char *dir, unsigned threads, size_t runs, bool raw)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	struct worker *workers = calloc(threads, sizeof(*workers));
	uint64_t *times = times_for(threads * runs);
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		char id[32];
		workers[i] =
			(struct worker){.dir = dir, .store = store, .number = i, .runs = runs, .raw = raw};
		workers[i].times = times + i * runs;
		workers[i].start = &barrier;
		workers[i].len = fill_record(workers[i].text, 0, RECORD_BYTES);
		snprintf(id, sizeof(id), "append-%u", i);
		if (!raw)
			workers[i].log = make_session(store, id);
	}
	for (unsigned i = 0; i < threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			exit(1);
	}
	pthread_barrier_wait(&barrier);
	uint64_t start = now_ns();
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	double seconds = (double)(now_ns() - start) / 1e9;
	pthread_barrier_destroy(&barrier);
	printf("%s per_second %.0f\n", what, (double)(threads * runs) / seconds);
	for (unsigned i = 0; !raw && i < threads; i++)
		log_close(workers[i].log);
	tell(what, times, threads * runs);
	free(times);
	free(workers);
	store_close(store);
}

/* ---- Beside each other ---- */

/* One row a transaction, write-ahead log, synced. */
static sqlite3_stmt *open_sqlite(const char *name, sqlite3 **ret_db)
{
	sqlite3_stmt *insert;
	if (sqlite3_open(name, ret_db) ||
		sqlite3_exec(*ret_db,
			"pragma journal_mode=wal; pragma synchronous=full;"
			"create table messages (id integer primary key, body text)",
			NULL, NULL, NULL) ||
		sqlite3_prepare_v2(*ret_db, "insert into messages (body) values (?)", -1, &insert, NULL))
		exit(1);
	return insert;
}

struct appenders {
	int raw;
	struct log *log;
	sqlite3_stmt *insert;
};

static void append_one(struct appenders *to, unsigned which, struct slice record)
{
	static const char line[RECORD_BYTES] = {[RECORD_BYTES - 1] = '\n'};
	if (which == 0) {
		if (write(to->raw, line, sizeof(line)) != sizeof(line) || fdatasync(to->raw) != 0)
			exit(1);
	} else if (which == 1) {
		check(log_append(to->log, &record, 1, NULL, NULL, &error));
	} else {
		sqlite3_bind_text(to->insert, 1, record.data, (int)record.len, SQLITE_STATIC);
		if (sqlite3_step(to->insert) != SQLITE_DONE || sqlite3_reset(to->insert))
			exit(1);
	}
}

/* In turn, so that all meet the same disk (how long it takes to sync changes from one moment to the next), and each
 * comes after each of the others. */
static void time_append(const char *dir, size_t runs)
{
	static const char *const names[] = {"raw", "append", "sqlite"};
	char files[2][4096], text[2 * RECORD_BYTES];
	uint64_t *times[3] = {times_for(runs), times_for(runs), times_for(runs)};
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	struct appenders to = {.log = make_session(store, "append")};
	sqlite3 *db;
	snprintf(files[0], sizeof(files[0]), "%s/raw", dir);
	snprintf(files[1], sizeof(files[1]), "%s/sqlite.db", dir);
	to.raw = open(files[0], O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0600);
	to.insert = open_sqlite(files[1], &db);
	for (size_t run = 0; run < runs; run++) {
		struct slice record = {text, fill_record(text, run, RECORD_BYTES)};
		for (unsigned i = 0; i < 3; i++) {
			unsigned which = (unsigned)(run % 2 ? run + i : run + 3 - i) % 3;
			uint64_t start = now_ns();
			append_one(&to, which, record);
			times[which][run] = now_ns() - start;
		}
	}
	sqlite3_finalize(to.insert);
	sqlite3_close(db);
	close(to.raw);
	log_close(to.log);
	store_close(store);
	for (int i = 0; i < 3; i++) {
		tell(names[i], times[i], runs);
		free(times[i]);
		if (i < 2)
			unlink(files[i]);
	}
}

/* What the folder grows by, the index file's share included. */
static void count_bytes(const char *dir, size_t runs)
{
	char text[2 * RECORD_BYTES];
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	struct log *log = make_session(store, "bytes");
	uint64_t before = bytes_in(dir), given = 0;
	for (size_t run = 0; run < runs; run++) {
		struct slice record = {text, fill_record(text, run, RECORD_BYTES)};
		given += record.len;
		check(log_append(log, &record, 1, NULL, NULL, &error));
	}
	printf("append bytes_beyond %.0f\n", (double)(bytes_in(dir) - before - given) / (double)runs);
	log_close(log);
	store_close(store);
}

/* ---- Many sessions ---- */

static void make_sessions(const char *dir, size_t count)
{
	struct store *store = open_store(dir, STORE_SYNC_NONE);
	for (size_t i = 0; i < count; i++) {
		struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
		char title[64];
		struct log *log;
		snprintf(title, sizeof(title), "session number %zu", i);
		options.owner = slice_of(i % 3 ? "ana" : "ben");
		options.title = slice_of(title);
		check(log_create(store, &options, &log, &error));
		struct slice record = slice_of("{\"role\":\"user\",\"content\":\"hello\"}");
		check(log_append(log, &record, 1, NULL, NULL, &error));
		log_close(log);
	}
	store_close(store);
}

static void time_list(const char *dir, size_t runs)
{
	struct store *store = open_store(dir, STORE_SYNC_FULL);
	uint64_t *times = times_for(runs);
	size_t count = 0;
	for (size_t run = 0; run < runs; run++) {
		struct arena arena = ARENA_INIT;
		struct store_entry *entries;
		uint64_t start = now_ns();
		check(store_list(store, NULL, &arena, &entries, &count, &error));
		times[run] = now_ns() - start;
		arena_release(&arena);
	}
	printf("list sessions %zu\n", count);
	tell("list", times, runs);
	free(times);
	store_close(store);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: time_store WHAT DIR COUNT [COUNT]\n");
		return 2;
	}
	const char *what = argv[1], *dir = argv[2];
	size_t count = (size_t)strtoull(argv[3], NULL, 10),
	       more = argc > 4 ? (size_t)strtoull(argv[4], NULL, 10) : 0;
	if (strcmp(what, "make") == 0)
		make(dir, count, (double)more);
	else if (strcmp(what, "open") == 0)
		time_open(dir, count);
	else if (strcmp(what, "plan") == 0)
		time_plan(dir, count);
	else if (strcmp(what, "exact") == 0)
		time_exact(dir, count);
	else if (strcmp(what, "rebuild") == 0)
		time_rebuild(dir, count);
	else if (strcmp(what, "fork") == 0)
		time_fork(dir, count);
	else if (strcmp(what, "append") == 0)
		time_append(dir, count);
	else if (strcmp(what, "bytes") == 0)
		count_bytes(dir, count);
	else if (strcmp(what, "parallel") == 0 || strcmp(what, "raw-parallel") == 0)
		append_with(what, dir, (unsigned)count, more, what[0] == 'r');
	else if (strcmp(what, "sessions") == 0)
		make_sessions(dir, count);
	else if (strcmp(what, "list") == 0)
		time_list(dir, count);
	else
		return scale_main(what, dir, count, argv + 4);
	return 0;
}
