/* SPDX-License-Identifier: MIT */
/*
 * A file read piece by piece tells what the file read whole tells, wherever the pieces end: the samples of the formats that are read
 * so, whole and damaged.
 */
#include "transcript/imported.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buffer.h"
#include "transcript/import_both.h"

static struct buffer whole = BUFFER_INIT(1u << 24), pieces = BUFFER_INIT(1u << 24);

static void expect_same(const char *name, const char *format, const char *data, size_t len, const struct import_pieces *how)
{
	if (!import_reads_alike(data, len, how))
		return;
	assert_int_equal(import_tell_pieces(format, data, len, how, &pieces), 0);
	if (pieces.len != whole.len || memcmp(pieces.data, whole.data, whole.len) != 0)
		fail_msg("%s as %s, %zu bytes, the first %zu, in pieces of %zu:\n%.*s\nwhole:\n%.*s", name, format, len,
			how->head_bytes, how->piece_bytes, (int)pieces.len, pieces.data, (int)whole.len, whole.data);
}

/* In pieces of 1, 2, 3 … bytes up to the whole of it. */
static void expect_same_in_all_pieces(const char *name, const char *format, const char *data, size_t len)
{
	assert_int_equal(import_tell_whole(format, data, len, &whole), 0);
	for (size_t piece = 1; len > 1 && piece <= len; piece++) {
		const struct import_pieces how = {len - 1, piece, piece % 2};
		expect_same(name, format, data, len, &how);
	}
}

/* In pieces of few sizes, for what is tried in many ways. */
static void expect_same_in_few_pieces(const char *name, const char *format, const char *data, size_t len)
{
	static const size_t PIECES[] = {1, 7, 100};

	assert_int_equal(import_tell_whole(format, data, len, &whole), 0);
	for (size_t i = 0; len > 1 && i < sizeof(PIECES) / sizeof(PIECES[0]); i++) {
		const struct import_pieces how = {len - 1, PIECES[i], i % 2};
		expect_same(name, format, data, len, &how);
	}
}

/* Calls `each` for the samples of a folder below fuzz/corpus, with each format that is read piece by piece and takes them. */
static size_t for_each_sample(const char *folder,
	void (*each)(const char *name, const char *format, const char *data, size_t len))
{
	const char *source = getenv("BOBBIN_SOURCE");
	const char *const *formats = import_formats();
	char path[4096];
	struct dirent *entry;
	size_t samples = 0;

	snprintf(path, sizeof(path), "%s/fuzz/corpus/%s", source ? source : ".", folder);
	DIR *directory = opendir(path);
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		char data[1 << 14];
		snprintf(path, sizeof(path), "%s/fuzz/corpus/%s/%s", source ? source : ".", folder, entry->d_name);
		FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "rb");
		if (!file)
			continue;
		size_t len = fread(data, 1, sizeof(data), file);
		fclose(file);
		for (size_t i = 0; formats[i]; i++) {
			if (!import_streams(formats[i]))
				continue;
			import_tell_whole(formats[i], data, len, &whole);
			if (whole.len > 6 && memcmp(whole.data, "error ", 6) == 0)
				continue;
			each(entry->d_name, formats[i], data, len);
			samples++;
		}
	}
	closedir(directory);
	return samples;
}

static void samples__are_the_same_in_pieces_of_every_size(void **state)
{
	(void)state;
	assert_true(for_each_sample("import", expect_same_in_all_pieces) > 8);
	assert_true(for_each_sample("import_stream", expect_same_in_few_pieces) > 8);
}

static void damage(const char *name, const char *format, const char *data, size_t len)
{
	static const char BYTES[] = {'\0', '"', '{', '}', '\n', '\n', (char)0xff};
	char *copy = malloc(len);

	assert_non_null(copy);
	for (size_t at = 1; at < len; at += 7)
		expect_same_in_few_pieces(name, format, data, at);
	for (size_t at = 0; at < len; at += 5) {
		memcpy(copy, data, len);
		copy[at] = BYTES[at % sizeof(BYTES)];
		expect_same_in_few_pieces(name, format, copy, len);
	}
	free(copy);
}

static void damaged_samples__are_the_same_in_pieces(void **state)
{
	(void)state;
	assert_true(for_each_sample("import", damage) > 8);
}

/* What begins the file decides how it is read; a shorter beginning of a file of lines must not tell otherwise. */
static void heads_of_every_size__tell_the_same(void **state)
{
	static const char TEXT[] = "{\"type\":\"session\",\"id\":\"s1\",\"cwd\":\"/x\"}\n"
				   "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
				   "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n";
	(void)state;

	assert_int_equal(import_tell_whole(NULL, TEXT, sizeof(TEXT) - 1, &whole), 0);
	for (size_t head = 1; head < sizeof(TEXT); head++) {
		const struct import_pieces how = {head, 9, true};
		expect_same("a session", NULL, TEXT, sizeof(TEXT) - 1, &how);
	}
}

static void mark_and_white_space_before_the_first_record__are_passed_over(void **state)
{
	static const char *const BEFORE[] = {"\xef\xbb\xbf", "\xef\xbb\xbf\xef\xbb\xbf", "\n \n", "\xef\xbb\xbf\n", "\xff\xfe", "PK\x03\x04"};
	static const char REST[] = "{\"type\":\"session\",\"id\":\"s1\",\"cwd\":\"/x\"}\n"
				   "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
				   "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\"ho\"}}\n";
	char text[256];
	(void)state;

	for (size_t i = 0; i < sizeof(BEFORE) / sizeof(BEFORE[0]); i++) {
		int len = snprintf(text, sizeof(text), "%s%s", BEFORE[i], REST);
		expect_same_in_all_pieces(BEFORE[i], "pi", text, (size_t)len);
		expect_same_in_all_pieces(BEFORE[i], "codex", text, (size_t)len); /* an error */
		text[strlen(BEFORE[i])] = '!';
		expect_same_in_all_pieces(BEFORE[i], "gemini-cli", text, (size_t)len); /* one that has a place */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples__are_the_same_in_pieces_of_every_size),
		cmocka_unit_test(damaged_samples__are_the_same_in_pieces),
		cmocka_unit_test(heads_of_every_size__tell_the_same),
		cmocka_unit_test(mark_and_white_space_before_the_first_record__are_passed_over),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	buffer_release(&whole);
	buffer_release(&pieces);
	return rc;
}
