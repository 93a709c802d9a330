/* SPDX-License-Identifier: MIT */
/*
 * Times counting for bench/tokens.mjs, which compares it with the npm counters.
 *
 *	time_tokens ENCODING RUNS FILE…
 *
 * A line for each file: tokens, milliseconds of the first count with an empty cache, median of RUNS more,
 * median of an estimate, the estimate; last the process's peak of resident memory in kB, the longest text not
 * counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tokens/encoding.h"
#include "tokens/estimate.h"

#define RUNS_MAX 101

static double now_ms(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;
	return (first > second) - (first < second);
}

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		exit(1);
	long size = ftell(file);
	rewind(file);
	char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
	if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	*ret_len = (size_t)size;
	return text;
}

static void time_file(const struct encoding *encoding, int runs, const char *text, size_t len)
{
	double times[RUNS_MAX], estimates[RUNS_MAX];
	uint64_t tokens = 0, estimate = 0;
	double begin = now_ms();
	struct token_scratch *scratch = token_scratch_new();
	if (!scratch || encoding_count(encoding, scratch, text, len, &tokens) < 0)
		exit(1);
	double cold = now_ms() - begin;
	for (int run = 0; run < runs; run++) {
		begin = now_ms();
		encoding_count(encoding, scratch, text, len, &tokens);
		times[run] = now_ms() - begin;
		begin = now_ms();
		estimate = tokens_estimate(text, len);
		estimates[run] = now_ms() - begin;
	}
	qsort(times, (size_t)runs, sizeof(*times), compare);
	qsort(estimates, (size_t)runs, sizeof(*estimates), compare);
	printf("%llu %.4f %.4f %.4f %llu\n", (unsigned long long)tokens, cold, times[runs / 2],
		estimates[runs / 2], (unsigned long long)estimate);
	token_scratch_free(scratch);
}

/* Since exec; getrusage would include the parent's. */
static long peak_kilobytes(void)
{
	char line[256];
	long peak = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			peak = strtol(line + 6, NULL, 10);
	if (file)
		fclose(file);
	return peak;
}

int main(int argc, char **argv)
{
	const struct encoding *encoding = argc > 3 ? encoding_by_name(argv[1]) : NULL;
	int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	if (!encoding || runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "time_tokens: no such encoding, or built without its rank file\n");
		return 2;
	}
	size_t texts_len = 0;
	for (int i = 3; i < argc; i++) {
		size_t len;
		char *text = read_file(argv[i], &len);
		time_file(encoding, runs, text, len);
		texts_len = len > texts_len ? len : texts_len;
		free(text);
	}
	printf("%ld\n", peak_kilobytes() - (long)(texts_len / 1024));
	return 0;
}
