/* SPDX-License-Identifier: MIT */
/*
 * What the importer makes of transcripts, one row a file: format, sessions, messages, calls, results, calls without a result,
 * kinds not understood, MB of the file read in a second of one core (median of five, of the processor's time, so that
 * others on the machine do not count), and the peak of memory of a process that reads it once as the command does: a large file of
 * lines piece by piece, with what waits in a temporary file, records handed on. Usage: time_import FILE…   (import.sh gives it all of a folder)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "transcript/import_tools.h"
#include "transcript/message.h"

#define TIMES 5

struct totals {
	uint64_t messages, calls, results, dangling, unknown;
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;
	return (*one > *other) - (*one < *other);
}

/* Calls of a conversation whose id no result of it has. */
static uint64_t count_dangling(const struct import_conversation *conversation, struct arena *arena)
{
	struct id_table answered = {0};
	uint64_t dangling = 0;
	size_t ignored;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < conversation->record_count; i++) {
			struct json record;
			struct message message;
			struct block_iter iter;
			struct block block;
			if (json_parse(conversation->records[i].data, conversation->records[i].len, &record, NULL) < 0 ||
				message_parse(&record, arena, &message, NULL) < 0)
				continue;
			if (pass == 0) {
				if (message.tool_call_id.data)
					id_table_put(&answered, message.tool_call_id, 0);
				continue;
			}
			block_iter_init(&iter, &message, arena);
			while (block_iter_next(&iter, &block))
				dangling += block.type == BLOCK_CALL && !id_table_get(&answered, block.call_id, &ignored);
		}
	}
	id_table_release(&answered);
	return dangling;
}

static void add_up(const struct import *import, struct totals *totals)
{
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < import->conversation_count; i++) {
		const struct import_conversation *conversation = &import->conversations[i];
		totals->messages += conversation->messages;
		totals->calls += conversation->calls;
		totals->results += conversation->results;
		totals->dangling += count_dangling(conversation, &arena);
	}
	for (size_t i = 0; i < import->warning_count; i++)
		totals->unknown += strncmp(import->warnings[i].message, "left out, not understood", 24) == 0;
	arena_release(&arena);
}

static ssize_t read_source(void *context, void *data, size_t len, uint64_t offset)
{
	return pread(*(int *)context, data, len, (off_t)offset);
}

static int begin(void *context, const struct import_conversation *conversation, struct bobbin_error *error)
{
	(void)context, (void)conversation, (void)error;
	return 0;
}

static int take(void *context, struct slice record, struct bobbin_error *error)
{
	(void)context, (void)record, (void)error;
	return 0;
}

static int spill_add(void *context, struct slice bytes, uint64_t *ret_offset)
{
	FILE *file = context;
	*ret_offset = (uint64_t)ftello(file);
	return fwrite(bytes.data, 1, bytes.len, file) == bytes.len ? 0 : -1;
}

static int spill_read(void *context, void *data, size_t len, uint64_t offset)
{
	FILE *file = context;
	return fflush(file) == 0 && pread(fileno(file), data, len, (off_t)offset) == (ssize_t)len ? 0 : -1;
}

static int read_once(int file, size_t len)
{
	FILE *spilled = tmpfile();
	const struct import_source source = {&file, len, read_source};
	const struct import_sink sink = {NULL, begin, take, begin};
	const struct import_spill spill = {spilled, spill_add, spill_read};
	struct import import;
	int rc = import_read_from(NULL, &source, &sink, spilled ? &spill : NULL, &import, NULL);

	import_release(&import);
	if (spilled)
		fclose(spilled);
	return rc;
}

/* Kilobytes by which reading the file once raises a new process's peak. */
static long measure_peak(int file, size_t len)
{
	int ends[2];
	long peak = -1;

	if (pipe(ends) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0) {
		struct rusage before, after;
		getrusage(RUSAGE_SELF, &before);
		read_once(file, len);
		getrusage(RUSAGE_SELF, &after);
		peak = after.ru_maxrss - before.ru_maxrss;
		_exit(write(ends[1], &peak, sizeof(peak)) != sizeof(peak));
	}
	close(ends[1]);
	if (read(ends[0], &peak, sizeof(peak)) != sizeof(peak))
		peak = -1;
	close(ends[0]);
	waitpid(child, NULL, 0);
	return peak;
}

static int measure(const char *name, const char *data, size_t len, long peak)
{
	struct totals totals = {0};
	struct bobbin_error error = {0};
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name, *format = "";
	size_t sessions = 0;
	double seconds[TIMES];

	for (int i = 0; i < TIMES; i++) {
		struct import import;
		double start = now();
		int rc = import_read(NULL, data, len, &import, &error);
		seconds[i] = now() - start;
		if (i == 0 && !rc)
			add_up(&import, &totals);
		format = import.format ? import.format : "";
		sessions = import.conversation_count;
		import_release(&import);
		if (rc) {
			printf("%-38.38s not read: %s\n", base, error.message);
			return 1;
		}
	}
	qsort(seconds, TIMES, sizeof(seconds[0]), by_value);
	printf("%-38.38s %-18s %5zu %6llu %6llu %6llu %5llu %5llu %7.0f %7.1f\n", base, format, sessions,
		(unsigned long long)totals.messages, (unsigned long long)totals.calls,
		(unsigned long long)totals.results, (unsigned long long)totals.dangling,
		(unsigned long long)totals.unknown, (double)len / 1e6 / seconds[TIMES / 2],
		(double)peak / 1000);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	printf("%-38s %-18s %5s %6s %6s %6s %5s %5s %7s %7s\n", "file", "format", "sess", "msgs", "calls", "results",
		"open", "unkn", "MB/s", "peak MB");
	fflush(stdout);
	for (int i = 1; i < argc; i++) {
		struct stat status;
		int file = open(argv[i], O_RDONLY | O_CLOEXEC);
		if (file < 0 || fstat(file, &status) < 0 || status.st_size == 0) {
			printf("%s: cannot be read\n", argv[i]);
			failed = 1;
		} else {
			size_t len = (size_t)status.st_size;
			long peak = measure_peak(file, len);
			char *data = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
			if (data != MAP_FAILED) {
				failed |= measure(argv[i], data, len, peak);
				munmap(data, len);
			}
		}
		if (file >= 0)
			close(file);
	}
	return failed;
}
