/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/limits.h"
#include "compact/compaction.h"
#include "compact/lines.h"

static struct compaction sample(void)
{
	return (struct compaction){.cut = SLICE_LITERAL("m3"),
		.source = SLICE_LITERAL("sha256:aa"),
		.segment_count = 2,
		.segment_digest = SLICE_LITERAL("sha256:bb"),
		.tokens = 7,
		.text = SLICE_LITERAL("FACTS\n- a\n")};
}

static void line__written_and_read_back(void **state)
{
	(void)state;
	struct compaction compaction = sample(), back;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct arena arena = ARENA_INIT;
	struct json line;

	assert_int_equal(json_parse("{\"facts\":[]}", 12, &compaction.record, NULL), 0);
	compaction_write(&compaction, &out);
	assert_string_equal(out.data, "{\"type\":\"compaction\",\"cut\":\"m3\",\"source\":\"sha256:aa\","
				      "\"inner\":null,\"segments\":{\"n\":2,\"digest\":"
				      "\"sha256:bb\"},\"tokens\":7,\"text\":\"FACTS\\n- "
				      "a\\n\",\"record\":{\"facts\":[]},\"floor\":null}");
	assert_int_equal(json_parse(out.data, out.len, &line, NULL), 0);
	assert_int_equal(compaction_read(&line, &arena, &back, NULL), 0);
	assert_true(slice_equal(back.text, compaction.text));
	assert_int_equal(back.tokens, 7);
	assert_int_equal(back.segment_count, 2);
	assert_true(slice_is(back.segment_digest, "sha256:bb"));
	assert_int_equal(back.floor.len, 0);
	assert_int_equal(back.record.type, JSON_OBJECT);
	assert_int_equal(back.verify.type, JSON_ABSENT);
	buffer_release(&out);
	arena_release(&arena);
}

static void d4_line_without_full_text__is_no_compaction(void **state)
{
	(void)state;
	static const char *const LINES[] = {"{}", "[]", "{\"cut\":\"m1\"}",
		"{\"cut\":\"m1\",\"source\":\"sha256:a\"}",
		"{\"cut\":\"m1\",\"source\":\"sha256:a\",\"text\":\"\"}",
		"{\"cut\":\"m1\",\"source\":\"sha256:a\",\"text\":{}}",
		"{\"cut\":7,\"source\":\"sha256:a\",\"text\":\"x\"}",
		"{\"cut\":\"m1\",\"source\":null,\"text\":\"x\"}"};
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
		struct compaction compaction;
		struct json line;

		assert_int_equal(json_parse(LINES[i], strlen(LINES[i]), &line, NULL), 0);
		assert_int_equal(compaction_read(&line, &arena, &compaction, NULL), BOBBIN_EINPUT);
	}
	arena_release(&arena);
}

static const char *stale(struct lines *lines, const struct compaction *compaction, size_t cut, size_t inner,
	const char *source, const char *floor)
{
	struct compaction_now now = {
		cut, inner, source ? slice_of(source) : (struct slice){NULL, 0}, slice_of(floor)};
	const char *reason = "unset";

	assert_int_equal(compaction_stale(compaction, &now, lines->path, &reason, NULL), 0);
	return reason;
}

static void every_change__makes_it_stale(void **state)
{
	(void)state;
	struct lines lines;
	struct compaction compaction = sample();

	lines_make(&lines, "u one", "a two", "u three", "c ls {}", "t x", "a four", "i injected", "u five",
		NULL);
	assert_null(stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:aa", ""));
	assert_null(stale(&lines, &compaction, 2, WINDOW_NONE, NULL, "")); /* known to be the same */
	assert_non_null(
		stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:ab", "")); /* edited before the cut */
	assert_non_null(
		stale(&lines, &compaction, WINDOW_NONE, WINDOW_NONE, "sha256:aa", "")); /* the cut is gone */
	assert_non_null(stale(&lines, &compaction, 99, WINDOW_NONE, "sha256:aa", ""));
	assert_non_null(stale(&lines, &compaction, 1, WINDOW_NONE, "sha256:aa", ""));	/* no user message */
	assert_non_null(stale(&lines, &compaction, 6, WINDOW_NONE, "sha256:aa", ""));	/* not a person's */
	assert_non_null(stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:aa", "m2")); /* a run began */
	assert_non_null(stale(&lines, &compaction, 2, 5, "sha256:aa", "")); /* it had no inner cut */
	compaction.floor = SLICE_LITERAL("m2");
	assert_null(stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:aa", "m2"));
	assert_non_null(stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:aa", ""));
	compaction.floor = SLICE_LITERAL("");
	compaction.inner = SLICE_LITERAL("m6");
	assert_null(stale(&lines, &compaction, 2, 5, "sha256:aa", ""));
	assert_non_null(stale(&lines, &compaction, 2, WINDOW_NONE, "sha256:aa", ""));
	assert_non_null(stale(&lines, &compaction, 2, 4, "sha256:aa", "")); /* inside a round */
	assert_non_null(stale(&lines, &compaction, 2, 7, "sha256:aa", "")); /* of another turn */
	lines_release(&lines);
}

/* What is appended meanwhile changes nothing; an edit before the cut does, one after it does not. */
static void source_digest__of_what_is_covered_alone(void **state)
{
	(void)state;
	struct lines before, after, edited;
	char a[SEGMENT_KEY_BYTES], b[SEGMENT_KEY_BYTES], c[SEGMENT_KEY_BYTES];

	lines_make(&before, "u one", "a two", "u three", NULL);
	lines_make(&after, "u one", "a two", "u three, edited", "a more", "u and more", NULL);
	lines_make(&edited, "u one", "a TWO", "u three", NULL);
	assert_int_equal(source_digest(before.path, 0, 2, &before.scratch, a, NULL), 0);
	assert_int_equal(source_digest(after.path, 0, 2, &after.scratch, b, NULL), 0);
	assert_int_equal(source_digest(edited.path, 0, 2, &edited.scratch, c, NULL), 0);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	lines_release(&before);
	lines_release(&after);
	lines_release(&edited);
}

static void window_record__carries_text_and_reason(void **state)
{
	(void)state;
	struct lines lines;
	struct compaction compaction = sample();
	struct compaction_now now = {2, WINDOW_NONE, SLICE_LITERAL("sha256:aa"), {NULL, 0}};
	struct window_record record;

	lines_make(&lines, "u one", "a two", "u three", NULL);
	assert_int_equal(compaction_window_record(&compaction, &now, lines.path, &record, NULL), 0);
	assert_null(record.stale);
	assert_int_equal(record.cut, 2);
	assert_int_equal(record.tokens, 7);
	assert_true(slice_is(record.text, "FACTS\n- a\n"));
	now.source = SLICE_LITERAL("sha256:no");
	assert_int_equal(compaction_window_record(&compaction, &now, lines.path, &record, NULL), 0);
	assert_non_null(record.stale);
	lines_release(&lines);
}

static void useless_results__are_told_apart(void **state)
{
	(void)state;
	assert_non_null(compaction_useless(&(struct compaction_gain){100, 50, 0}));
	assert_non_null(compaction_useless(&(struct compaction_gain){100, 100, 3}));
	assert_null(compaction_useless(&(struct compaction_gain){100, 99, 3}));
}

static void segment_line__written_and_read_back(void **state)
{
	(void)state;
	struct segment_line line = {SLICE_LITERAL("sha256:k"), SLICE_LITERAL("rules"), SLICE_LITERAL("1"),
				    SLICE_LITERAL("m1"), SLICE_LITERAL("m17"), {0}, {0}},
			    back;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct arena arena = ARENA_INIT;
	struct json value;

	assert_int_equal(json_parse("{}", 2, &line.record, NULL), 0);
	segment_line_write(&line, &out);
	assert_int_equal(json_parse(out.data, out.len, &value, NULL), 0);
	assert_int_equal(segment_line_read(&value, &arena, &back, NULL), 0);
	assert_true(slice_is(back.key, "sha256:k"));
	assert_true(slice_is(back.from, "m1"));
	assert_true(slice_is(back.to, "m17"));
	assert_true(slice_is(back.deriver, "rules"));
	assert_true(slice_is(back.version, "1"));
	static const char HALF[] = "{\"key\":\"a\",\"covers\":[\"m1\"],\"record\":{}}";
	assert_int_equal(json_parse(HALF, strlen(HALF), &value, NULL), 0);
	assert_int_equal(segment_line_read(&value, &arena, &back, NULL), BOBBIN_EINPUT);
	buffer_release(&out);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line__written_and_read_back),
		cmocka_unit_test(d4_line_without_full_text__is_no_compaction),
		cmocka_unit_test(every_change__makes_it_stale),
		cmocka_unit_test(source_digest__of_what_is_covered_alone),
		cmocka_unit_test(window_record__carries_text_and_reason),
		cmocka_unit_test(useless_results__are_told_apart),
		cmocka_unit_test(segment_line__written_and_read_back),
	};
	return cmocka_run_group_tests_name("compact/compaction (lines and staleness)", tests, NULL, NULL);
}
