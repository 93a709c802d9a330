/* SPDX-License-Identifier: MIT */
/*
 * Exact search beside ripgrep, as whole processes, in turn, so that both meet the same machine; and in this
 * process.
 *
 *	time_search RUNS STORE SESSION BOBBIN RG QUERY…
 *
 * For each query: how many messages and how many lines have it, and the medians: of counting them (--count, rg --count) as processes
 * and in the library, and of giving each as JSON (--json, rg --json). On one line:
 *	QUERY hits N lines N bobbin_ms T rg_ms T library_ms T json_ms T rg_json_ms T
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bobbin.h>

extern char **environ;

static double now_ms(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return left < right ? -1 : left > right;
}

static double median(double *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare);
	return times[count / 2];
}

/* Runs a program; gives the first number of what it prints (0: nothing; NULL: it prints into /dev/null) and the time it took. */
static double run(const char *const *arguments, unsigned long long *ret_number)
{
	posix_spawn_file_actions_t actions;
	char output[256] = "";
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0)
		exit(1);
	posix_spawn_file_actions_init(&actions);
	if (ret_number)
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	double start = now_ms();
	if (posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ) != 0) {
		fprintf(stderr, "time_search: cannot run %s\n", arguments[0]);
		exit(1);
	}
	close(ends[1]);
	size_t used = 0;
	for (ssize_t got; (got = read(ends[0], output + used, sizeof(output) - 1 - used)) > 0;)
		used += (size_t)got;
	waitpid(child, &status, 0);
	double time = now_ms() - start;
	close(ends[0]);
	posix_spawn_file_actions_destroy(&actions);
	if (ret_number)
		*ret_number = strtoull(output + strcspn(output, "0123456789"), NULL, 10);
	return time;
}

static double in_process(
	const char *dir, const char *session, const char *query, unsigned long long *ret_hits)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	const struct bobbin_match *match;
	struct bobbin_error error;
	bobbin_search *search;
	bobbin_store *store;
	int rc;

	double start = now_ms();
	options.session = session;
	options.count_only = 1;
	*ret_hits = 0;
	if (bobbin_store_open(dir, NULL, &store, &error) < 0 ||
		bobbin_search_open(store, query, strlen(query), &options, &search, &error) < 0)
		exit(fprintf(stderr, "time_search: %s\n", error.message));
	while ((rc = bobbin_search_next(search, &match, &error)) > 0)
		*ret_hits += match->hits;
	if (rc < 0)
		exit(fprintf(stderr, "time_search: %s\n", error.message));
	bobbin_search_close(search);
	bobbin_store_close(store);
	return now_ms() - start;
}

int main(int argc, char **argv)
{
	if (argc < 7) {
		fprintf(stderr, "usage: time_search RUNS STORE SESSION BOBBIN RG QUERY...\n");
		return 2;
	}
	size_t runs = (size_t)strtoull(argv[1], NULL, 10);
	double *times = calloc(5 * runs, sizeof(*times));
	char log[4096];

	snprintf(log, sizeof(log), "%s/%s.jsonl", argv[2], argv[3]);
	for (int i = 6; i < argc; i++) {
		const char *ours[] = {argv[4], "--store", argv[2], "search", "--json", "--count", "--session",
			argv[3], "--", argv[i], NULL};
		const char *theirs[] = {
			argv[5], "--fixed-strings", "--count", "--no-filename", "--", argv[i], log, NULL};
		const char *our_json[] = {argv[4], "--store", argv[2], "search", "--json", "--session", argv[3], "--", argv[i], NULL};
		const char *their_json[] = {argv[5], "--fixed-strings", "--json", "--", argv[i], log, NULL};
		unsigned long long hits = 0, lines = 0, counted = 0;
		for (size_t at = 0; at < runs; at++) {
			times[at] = run(ours, &hits);
			times[runs + at] = run(theirs, &lines);
			times[2 * runs + at] = in_process(argv[2], argv[3], argv[i], &counted);
			times[3 * runs + at] = run(our_json, NULL);
			times[4 * runs + at] = run(their_json, NULL);
			if (hits != counted)
				return fprintf(stderr, "time_search: the program and the library differ\n");
		}
		printf("%s\thits %llu lines %llu bobbin_ms %.1f rg_ms %.1f library_ms %.1f json_ms %.1f rg_json_ms %.1f\n", argv[i], hits,
			lines, median(times, runs), median(times + runs, runs),
			median(times + 2 * runs, runs), median(times + 3 * runs, runs), median(times + 4 * runs, runs));
	}
	free(times);
	return 0;
}
