/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "compact/lines.h"
#include "compact/segment.h"

static const struct segment_options OPTIONS = {.segment_bytes = 1000};

static void divide(struct lines *lines, struct arena *arena, const struct segment_options *options,
	struct segment **ret_segments, size_t *ret_count)
{
	assert_int_equal(segments_divide(lines->path, options, 0, lines->path->count, arena, &lines->scratch,
				 ret_segments, ret_count, NULL),
		0);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* A line of random length: turns with and without tools, some rounds larger than a segment. */
static void add_random(struct lines *lines, uint32_t *seed, bool *in_batch)
{
	char text[3000];
	uint32_t what = next_random(seed) % 10;
	size_t len = what == 9 ? 1500 + next_random(seed) % 1000 : next_random(seed) % 300;
	char kind = *in_batch ? 't' : what < 3 ? 'u' : what < 7 ? 'a' : 'c';

	*in_batch = kind == 'c';
	text[0] = kind;
	text[1] = ' ';
	memset(text + 2, 'a' + (int)(next_random(seed) % 26), len);
	text[2 + len] = '\0';
	if (kind == 'c')
		snprintf(text, sizeof text, "c run {\"n\":%u}", next_random(seed) % 1000);
	lines_add(lines, text);
}

/* Invariant (3), and that closed segments follow the rule. */
static void check_division(struct lines *lines, const struct segment *segments, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		struct path_item item;

		assert_int_equal(segments[i].from, at);
		assert_true(segments[i].to > at);
		at = segments[i].to;
		assert_int_equal(segments[i].closed, i + 1 < count);
		assert_int_equal(path_item(lines->path, segments[i].from, &item, NULL), 0);
		assert_int_equal(item.round, segments[i].from);
		if (segments[i].closed) {
			assert_int_equal(path_item(lines->path, at, &item, NULL), 0);
			assert_true(segments[i].bytes >= (item.turn == at ? 500u : 1000u));
		}
	}
	assert_int_equal(at, lines->path->count);
}

static void appending__never_moves_a_closed_segment(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct lines lines;
		struct arena arena = ARENA_INIT;
		struct segment *before = NULL, *after;
		size_t before_count = 0, after_count;
		uint32_t random = seed * 7919;
		bool in_batch = false;

		lines_begin(&lines);
		for (int step = 0; step < 60; step++) {
			add_random(&lines, &random, &in_batch);
			lines_end(&lines);
			divide(&lines, &arena, &OPTIONS, &after, &after_count);
			check_division(&lines, after, after_count);
			for (size_t i = 0; i < before_count && before[i].closed; i++)
				assert_memory_equal(&after[i], &before[i], sizeof *after);
			before = after;
			before_count = after_count;
		}
		assert_true(after_count > 3);
		arena_release(&arena);
		lines_release(&lines);
	}
}

static void the_rule__turn_end_after_half_round_end_after_all(void **state)
{
	(void)state;
	struct lines lines;
	struct arena arena = ARENA_INIT;
	struct segment *segments;
	size_t count;
	char text[403] = "";

	memset(text, 'x', 402);
	text[1] = ' ';
	lines_begin(&lines);
	text[0] = 'u', lines_add(&lines, text); /* 0: 400 */
	text[0] = 'a', lines_add(&lines, text); /* 1: 800, over a half, but the turn goes on */
	text[0] = 'a', lines_add(&lines, text); /* 2: 1200, over all: ends here, a round */
	text[0] = 'a', lines_add(&lines, text); /* 3: 400 */
	text[0] = 'u', lines_add(&lines, text); /* 4: a turn end before it, but 400 is not a half */
	text[0] = 'u', lines_add(&lines, text); /* 5: 800 before it: ends */
	lines_end(&lines);
	divide(&lines, &arena, &OPTIONS, &segments, &count);
	assert_int_equal(count, 3);
	assert_int_equal(segments[0].to, 3);
	assert_int_equal(segments[0].bytes, 1200);
	assert_int_equal(segments[1].to, 5);
	assert_int_equal(segments[2].to, 6);
	assert_false(segments[2].closed);
	arena_release(&arena);
	lines_release(&lines);
}

static void rounds__are_never_parted(void **state)
{
	(void)state;
	struct lines lines;
	struct arena arena = ARENA_INIT;
	struct segment *segments;
	size_t count;
	char text[2003];

	memset(text, 'y', 2002);
	text[2002] = '\0';
	text[0] = 't', text[1] = ' ';
	lines_begin(&lines);
	lines_add(&lines, "u go");
	lines_add(&lines, "c run {}");
	lines_add(&lines, text);
	lines_add(&lines, text);
	lines_add(&lines, "a done");
	lines_end(&lines);
	divide(&lines, &arena, &OPTIONS, &segments, &count);
	assert_int_equal(count, 2);
	assert_int_equal(segments[0].to, 4);
	arena_release(&arena);
	lines_release(&lines);
}

static void run_start__closes_what_is_before_it(void **state)
{
	(void)state;
	struct lines lines;
	struct arena arena = ARENA_INIT;
	struct segment *segments;
	size_t count, runs[] = {2};
	struct segment_options options = {.segment_bytes = 1000, .run_starts = runs, .run_count = 1};

	lines_make(&lines, "u one", "a two", "u three", "a four", NULL);
	divide(&lines, &arena, &options, &segments, &count);
	assert_int_equal(count, 2);
	assert_int_equal(segments[0].to, 2);
	assert_true(segments[0].closed);
	divide(&lines, &arena, &OPTIONS, &segments, &count);
	assert_int_equal(count, 1);
	arena_release(&arena);
	lines_release(&lines);
}

static void key_of(struct lines *lines, size_t from, size_t to, char key[SEGMENT_KEY_BYTES])
{
	assert_int_equal(segment_key(lines->path, from, to, "rules", "1", &lines->scratch, key, NULL), 0);
	assert_int_equal(strlen(key), SEGMENT_KEY_BYTES - 1);
}

/* Two logs of one conversation: other ids, sequence numbers, times, and another form of the same content. */
static void keys__depend_on_content_alone(void **state)
{
	(void)state;
	static const char *const LOGS[3][2] = {
		{"{\"seq\":1,\"role\":\"user\",\"content\":\"hi \\u00e9\",\"ts\":\"2026-01-01T00:00:00Z\"}",
			"{\"seq\":2,\"role\":\"assistant\",\"content\":\"yo\"}"},
		{"{\"id\":\"x\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi "
		 "é\"}],\"seq\":71}",
			"{\"seq\":72,\"role\":\"assistant\",\"content\":\"yo\"}"},
		{"{\"seq\":1,\"role\":\"user\",\"origin\":\"injected\",\"content\":\"hi é\"}",
			"{\"seq\":2,\"role\":\"assistant\",\"content\":\"yo\"}"}};
	struct arena scratch = ARENA_INIT;
	struct array_path *paths[3];
	struct slice records[3][2];
	char keys[3][SEGMENT_KEY_BYTES], other[SEGMENT_KEY_BYTES];

	for (int i = 0; i < 3; i++) {
		records[i][0] = slice_of(LOGS[i][0]);
		records[i][1] = slice_of(LOGS[i][1]);
		assert_int_equal(array_path_new(records[i], 2, NULL, &paths[i], NULL), 0);
		assert_int_equal(
			segment_key(array_path_path(paths[i]), 0, 2, "rules", "1", &scratch, keys[i], NULL),
			0);
	}
	assert_string_equal(keys[0], keys[1]);
	assert_string_not_equal(keys[0], keys[2]);
	assert_int_equal(
		segment_key(array_path_path(paths[0]), 0, 2, "rules", "2", &scratch, other, NULL), 0);
	assert_string_not_equal(keys[0], other);
	assert_int_equal(
		segment_key(array_path_path(paths[0]), 0, 2, "model", "1", &scratch, other, NULL), 0);
	assert_string_not_equal(keys[0], other);
	assert_int_equal(
		segment_key(array_path_path(paths[0]), 0, 1, "rules", "1", &scratch, other, NULL), 0);
	assert_string_not_equal(keys[0], other);
	for (int i = 0; i < 3; i++)
		array_path_free(paths[i]);
	arena_release(&scratch);
}

/* Where one text ends and the next begins is part of the key. */
/* What a plain statement says depends on whether a conversation begins with it: two records, two keys. */
static void keys__tell_the_beginning_from_what_follows(void **state)
{
	(void)state;
	struct lines lines;
	char first[SEGMENT_KEY_BYTES], second[SEGMENT_KEY_BYTES], third[SEGMENT_KEY_BYTES];

	lines_make(&lines, "u The page is slow.", "a Yes.", "u The page is slow.", "a Yes.",
		"u The page is slow.", "a Yes.", NULL);
	key_of(&lines, 0, 2, first);
	key_of(&lines, 2, 4, second);
	key_of(&lines, 4, 6, third);
	assert_string_not_equal(first, second);
	assert_string_equal(second, third);
	lines_release(&lines);
}

static void keys__do_not_run_together(void **state)
{
	(void)state;
	struct lines a, b;
	char key_a[SEGMENT_KEY_BYTES], key_b[SEGMENT_KEY_BYTES];

	lines_make(&a, "u ab", "u c", NULL);
	lines_make(&b, "u a", "u bc", NULL);
	key_of(&a, 0, 2, key_a);
	key_of(&b, 0, 2, key_b);
	assert_string_not_equal(key_a, key_b);
	lines_release(&a);
	lines_release(&b);
}

static void edit__spoils_only_what_follows(void **state)
{
	(void)state;
	struct lines a, b;
	struct arena arena = ARENA_INIT;
	struct segment *of_a, *of_b;
	size_t count_a, count_b;
	char text[602], key_a[SEGMENT_KEY_BYTES], key_b[SEGMENT_KEY_BYTES];

	lines_begin(&a);
	lines_begin(&b);
	for (int i = 0; i < 40; i++) {
		memset(text, 'a' + i % 26, sizeof text - 1);
		text[0] = i % 2 ? 'a' : 'u', text[1] = ' ', text[601] = '\0';
		lines_add(&a, text);
		if (i == 20)
			text[300] = 'Z';
		lines_add(&b, text);
	}
	lines_end(&a);
	lines_end(&b);
	divide(&a, &arena, &OPTIONS, &of_a, &count_a);
	divide(&b, &arena, &OPTIONS, &of_b, &count_b);
	assert_int_equal(count_a, count_b);
	assert_int_equal(count_a, 20);
	for (size_t i = 0; i < count_a; i++) {
		key_of(&a, of_a[i].from, of_a[i].to, key_a);
		key_of(&b, of_b[i].from, of_b[i].to, key_b);
		assert_int_equal(strcmp(key_a, key_b) == 0, i != 10);
	}
	arena_release(&arena);
	lines_release(&a);
	lines_release(&b);
}

static void walk__goes_on_from_any_closed_end(void **state)
{
	(void)state;
	struct lines lines;
	struct arena arena = ARENA_INIT;
	struct segment *segments, next;
	struct segment_walk walk;
	size_t count;
	uint32_t random = 42;
	bool in_batch = false;

	lines_begin(&lines);
	for (int i = 0; i < 200; i++)
		add_random(&lines, &random, &in_batch);
	lines_end(&lines);
	divide(&lines, &arena, &OPTIONS, &segments, &count);
	for (size_t first = 0; first < count; first++) {
		segment_walk_init(
			&walk, lines.path, &OPTIONS, segments[first].from, lines.path->count, &lines.scratch);
		for (size_t i = first; i < count; i++) {
			assert_int_equal(segment_walk_next(&walk, &next, NULL), 1);
			assert_int_equal(next.from, segments[i].from);
			assert_int_equal(next.to, segments[i].to);
			assert_int_equal(next.closed, segments[i].closed);
		}
		assert_int_equal(segment_walk_next(&walk, &next, NULL), 0);
	}
	/* a cut inside a segment: the part before it comes open */
	segment_walk_init(&walk, lines.path, &OPTIONS, segments[2].from, segments[2].to - 1, &lines.scratch);
	assert_int_equal(segment_walk_next(&walk, &next, NULL), 1);
	assert_int_equal(next.to, segments[2].to - 1);
	assert_false(next.closed);
	arena_release(&arena);
	lines_release(&lines);
}

/* What the division weighs is what the model sees: calls too, thinking not. */
static void visible_bytes__texts_calls_and_results(void **state)
{
	(void)state;
	struct slice record =
		slice_of("{\"seq\":1,\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
			 "\"xxxxx\"},"
			 "{\"type\":\"text\",\"text\":\"abc\"}],"
			 "\"tool_calls\":[{\"id\":\"c\",\"name\":\"ls\",\"arguments\":\"{\\\"a\\\":1}\"}]}");
	struct array_path *path;
	struct arena arena = ARENA_INIT, scratch = ARENA_INIT;
	struct segment *segments;
	size_t count;

	assert_int_equal(array_path_new(&record, 1, NULL, &path, NULL), 0);
	assert_int_equal(segments_divide(array_path_path(path), &OPTIONS, 0, 1, &arena, &scratch, &segments,
				 &count, NULL),
		0);
	assert_int_equal(count, 1);
	assert_int_equal(segments[0].bytes, 3 + 2 + 7);
	array_path_free(path);
	arena_release(&arena);
	arena_release(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appending__never_moves_a_closed_segment),
		cmocka_unit_test(the_rule__turn_end_after_half_round_end_after_all),
		cmocka_unit_test(rounds__are_never_parted),
		cmocka_unit_test(run_start__closes_what_is_before_it),
		cmocka_unit_test(keys__depend_on_content_alone),
		cmocka_unit_test(keys__tell_the_beginning_from_what_follows),
		cmocka_unit_test(keys__do_not_run_together),
		cmocka_unit_test(edit__spoils_only_what_follows),
		cmocka_unit_test(walk__goes_on_from_any_closed_end),
		cmocka_unit_test(visible_bytes__texts_calls_and_results),
	};
	return cmocka_run_group_tests_name("compact/segment", tests, NULL, NULL);
}
