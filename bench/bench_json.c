/* SPDX-License-Identifier: MIT */
/*
 * bobbin's JSON module beside jansson and json-c: every document of a corpus, in memory, once per run.
 *
 *	bench_json [FOLDER]     default $BOBBIN_TRANSCRIPTS, else a corpus made here
 *
 * Documents are the lines of *.jsonl and the whole of *.json. Left out, and counted, are those which one of
 * the three refuses or reads differently (duplicate keys, lone surrogates); the number of values must then be
 * equal. The contenders take turns, and the median of the runs is printed. bobbin builds no tree, so its
 * parsing alone is shown beside parsing and visiting every value, and beside decoding every string as well.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/arena.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "peers_json.h"

#define RUNS 9

struct document {
	const char *text;
	size_t len;
};

struct corpus {
	struct document *documents;
	size_t count, cap, bytes, left_out;
};

static struct corpus corpus;

static void fail(const char *what)
{
	fprintf(stderr, "bench_json: %s\n", what);
	exit(1);
}

static void corpus_add(const char *text, size_t len)
{
	if (len == 0)
		return;
	if (corpus.count == corpus.cap) {
		corpus.cap = corpus.cap ? corpus.cap * 2 : 1024;
		corpus.documents = realloc(corpus.documents, corpus.cap * sizeof *corpus.documents);
		if (corpus.documents == NULL)
			fail("out of memory");
	}
	/* Of its own, so that nothing readable follows by luck; jansson and json-c take the length too. */
	char *copy = malloc(len);
	if (copy == NULL)
		fail("out of memory");
	memcpy(copy, text, len);
	corpus.documents[corpus.count++] = (struct document){copy, len};
	corpus.bytes += len;
}

static void corpus_add_lines(const char *text, size_t len)
{
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;
		corpus_add(text, line);
		line += newline != NULL;
		text += line;
		len -= line;
	}
}

static int corpus_visit(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)place;
	const char *dot = strrchr(path, '.');
	bool lines = dot && strcmp(dot, ".jsonl") == 0;
	if (kind != FTW_F || info->st_size == 0 || !(lines || (dot && strcmp(dot, ".json") == 0)))
		return 0;
	char *data = malloc((size_t)info->st_size);
	FILE *file = fopen(path, "rb");
	if (data == NULL || file == NULL)
		fail(path);
	size_t len = fread(data, 1, (size_t)info->st_size, file);
	fclose(file);
	if (lines)
		corpus_add_lines(data, len);
	else
		corpus_add(data, len);
	free(data);
	return 0;
}

/* Lines like an agent's log: prose, code with many escapes, some Chinese, tool calls with JSON inside a
 * string. */
static void corpus_make(void)
{
	static const char *const pieces[] = {
		"The build fails in the second step because the header is found twice. ",
		"static int next(void)\n{\n\treturn \"value\"[0];\n}\n",
		"\xe8\xae\xa2\xe5\x8d\x95\xe5\xb7\xb2\xe7\xbb\x8f\xe5\x8f\x91\xe8\xb4\xa7\xef\xbc\x8c\xe8\xaf"
		"\xb7\xe7\xad\x89\xe5\xbe\x85\xe3\x80\x82",
		"{\"path\":\"src/main.c\",\"line\":12,\"text\":\"a \\\"quoted\\\" word\"}",
	};
	struct buffer line = BUFFER_INIT(1 << 20), text = BUFFER_INIT(1 << 20);
	uint32_t seed = 1;
	for (int i = 0; corpus.bytes < 16u << 20; i++) {
		buffer_clear(&line);
		buffer_clear(&text);
		seed = seed * 1664525 + 1013904223;
		for (uint32_t n = (seed >> 24) + 1; n > 0; n -= n < 8 ? n : 8)
			buffer_add_text(&text, pieces[(seed >> n % 16) % 4]);
		struct json_writer writer;
		json_writer_init(&writer, &line);
		json_begin_object(&writer);
		json_member_int(&writer, "seq", i);
		json_member_text(&writer, "role", i % 2 ? "assistant" : "user");
		json_member_string(&writer, "content", buffer_slice(&text));
		json_key(&writer, "usage");
		json_begin_object(&writer);
		json_member_int(&writer, "input", (int64_t)(seed >> 8));
		json_member_int(&writer, "output", (int64_t)(seed >> 20));
		json_end_object(&writer);
		json_member_text(&writer, "ts", "2026-09-04T10:00:00.000Z");
		json_end_object(&writer);
		corpus_add(line.data, line.len);
	}
	buffer_release(&line);
	buffer_release(&text);
}

/* ---- the contenders: each returns the number of values in a document, 0 if it refuses it ---- */

static size_t bobbin_count(const struct json *value)
{
	struct json_iter iter;
	struct json element;
	size_t count = 1;
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, NULL, &element))
		count += element.type < JSON_ARRAY ? 1 : bobbin_count(&element);
	return count;
}

static size_t bobbin_parse(struct document document)
{
	struct json value;
	return json_parse(document.text, document.len, &value, NULL) == 0;
}

static size_t bobbin_walk(struct document document)
{
	struct json value;
	return json_parse(document.text, document.len, &value, NULL) < 0 ? 0 : bobbin_count(&value);
}

static struct arena decoded;

static size_t bobbin_decode_all(const struct json *value)
{
	struct json_iter iter;
	struct json key, element;
	size_t count = 1;
	if (value->type == JSON_STRING)
		json_string_content(value, &decoded);
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, &key, &element)) {
		if (iter.object)
			json_string_content(&key, &decoded);
		count += bobbin_decode_all(&element);
	}
	return count;
}

static size_t bobbin_decode(struct document document)
{
	struct json value;
	arena_reset(&decoded);
	return json_parse(document.text, document.len, &value, NULL) < 0 ? 0 : bobbin_decode_all(&value);
}

static size_t jansson_parse(struct document document)
{
	return peer_jansson(document.text, document.len, false);
}

static size_t json_c_parse(struct document document)
{
	return peer_json_c(document.text, document.len, false);
}

struct contender {
	const char *name;
	const struct json_scan *scan;
	size_t (*run)(struct document document);
	double seconds[RUNS];
};

static struct contender contenders[] = {
	{"bobbin: parse", NULL, bobbin_parse, {0}},
	{"bobbin: parse, visit all", NULL, bobbin_walk, {0}},
	{"bobbin: parse, visit, decode all", NULL, bobbin_decode, {0}},
#ifdef __x86_64__
	{"bobbin: parse with SSE2", &json_scan_sse2, bobbin_parse, {0}},
#endif
	{"bobbin: parse without SIMD", &json_scan_portable, bobbin_parse, {0}},
	{"jansson: parse to a tree", NULL, jansson_parse, {0}},
	{"json-c: parse to a tree", NULL, json_c_parse, {0}},
};
#define CONTENDERS (sizeof contenders / sizeof *contenders)

/* Keeps the documents on which all three agree; returns the values in them. */
static size_t corpus_agree(void)
{
	size_t kept = 0, values = 0;
	corpus.bytes = 0;
	corpus.left_out = 0;
	for (size_t i = 0; i < corpus.count; i++) {
		struct document document = corpus.documents[i];
		size_t ours = bobbin_walk(document);
		if (ours == 0 || peer_jansson(document.text, document.len, true) != ours ||
			peer_json_c(document.text, document.len, true) != ours) {
			corpus.left_out++;
			free((char *)(uintptr_t)document.text);
			continue;
		}
		values += ours;
		corpus.bytes += document.len;
		corpus.documents[kept++] = document;
	}
	corpus.count = kept;
	return values;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare_seconds(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return left < right ? -1 : left > right;
}

static double contender_median(struct contender *contender)
{
	qsort(contender->seconds, RUNS, sizeof(double), compare_seconds);
	return contender->seconds[RUNS / 2];
}

static void measure(const char *name)
{
	size_t values = corpus_agree();
	if (corpus.count == 0)
		fail("no document to measure");
	for (int run = 0; run < RUNS; run++) {
		for (size_t c = 0; c < CONTENDERS; c++) {
			json_scan_use(contenders[c].scan ? contenders[c].scan : json_scan_best());
			double begin = now();
			for (size_t i = 0; i < corpus.count; i++) {
				if (contenders[c].run(corpus.documents[i]) == 0)
					fail("a document that was accepted is refused");
			}
			contenders[c].seconds[run] = now() - begin;
		}
	}
	printf("%s: %zu documents, %zu values, %.1f MB; %zu left out (not read alike by all three)\n", name,
		corpus.count, values, (double)corpus.bytes / 1e6, corpus.left_out);
	double first = contender_median(&contenders[0]);
	for (size_t c = 0; c < CONTENDERS; c++) {
		double median = contender_median(&contenders[c]);
		printf("  %-34s %8.2f ms  %6.3f GB/s  %6.2f x the time of the first\n", contenders[c].name,
			median * 1e3, (double)corpus.bytes / median / 1e9, median / first);
	}
}

static void corpus_clear(void)
{
	for (size_t i = 0; i < corpus.count; i++)
		free((char *)(uintptr_t)corpus.documents[i].text);
	corpus.count = corpus.bytes = 0;
}

static void measure_flat(void)
{
	size_t len = 12u << 20;
	char *text = malloc(len);
	if (text == NULL)
		fail("out of memory");
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? '1' : ',';
	text[0] = '[';
	text[len - 1] = ']';
	text[len - 2] = '1';
	text[len - 3] = '1';
	corpus_add(text, len);
	free(text);
	measure("flat array of ones");
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : getenv("BOBBIN_TRANSCRIPTS");
	if (folder && nftw(folder, corpus_visit, 16, FTW_PHYS) < 0)
		fail(folder);
	if (!folder)
		corpus_make();
	printf("median of %d runs, taking turns; jansson %s, json-c %s; bobbin uses %s\n", RUNS,
		peer_jansson_version(), peer_json_c_version(), json_scan_best()->name);
	measure(folder ? "transcripts" : "made-up transcripts");
	corpus_clear();
	measure_flat();
	corpus_clear();
	free(corpus.documents);
	arena_release(&decoded);
	return 0;
}
