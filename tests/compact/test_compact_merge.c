/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/limits.h"
#include "compact/merge.h"
#include "compact/render.h"
#include "support/fail.h"

static const struct compact_merge_options ALL = {SIZE_MAX, COMPACT_NO_INNER};

struct spec {
	enum item_kind kind;
	enum item_state state;
	enum item_by by;
	uint32_t place;
	const char *text, *key;
	enum item_kind target;
};

static void add_spec(struct compact_record *record, const struct spec *spec)
{
	struct compact_item item = compact_item_make(spec->kind);
	struct item_source source = {spec->place, {NULL, 0}};
	int rc;

	item.state = spec->state;
	item.by = spec->by;
	item.text = slice_of(spec->text);
	item.key = slice_of(spec->key);
	item.target = spec->kind == ITEM_SIGNAL ? spec->target : ITEM_KINDS;
	item.sources = &source;
	item.source_count = 1;
	assert_non_null(compact_record_add(record, &item, &rc));
}

/* Adds one segment of `len` messages after what is there. */
static void add_segment(struct compact_merge *merge, size_t len, const struct spec *specs, size_t count)
{
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	size_t from = compact_merge_end(merge);

	compact_record_init(&record, &arena);
	for (size_t i = 0; i < count; i++)
		add_spec(&record, &specs[i]);
	assert_int_equal(compact_merge_add(merge, &record, from, from + len, NULL), 0);
	arena_release(&arena);
}

static const char *text_of(
	const struct compact_merge *merge, const struct compact_merge_options *options, struct buffer *out)
{
	struct arena arena = ARENA_INIT;
	struct compact_record record;

	buffer_clear(out);
	assert_int_equal(compact_merge_finish(merge, options, &arena, &record, NULL), 0);
	compact_record_write_text(&record, 0, out);
	arena_release(&arena);
	return out->data ? out->data : "";
}

#define SEGMENT(merge, len, ...)                                                                             \
	add_segment(merge, len, (const struct spec[]){__VA_ARGS__},                                          \
		sizeof(const struct spec[]){__VA_ARGS__} / sizeof(struct spec))

static void equal_items__become_one_with_all_sources(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 10, {ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Never push to main.", "", 0},
		{ITEM_FILE, STATE_READ, BY_NOBODY, 3, "src/a.c", "", 0},
		{ITEM_FACT, STATE_NONE, BY_TOOL, 4, "offset -5", "", 0});
	SEGMENT(merge, 10, {ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 2, "never  push to \"main\"", "", 0},
		{ITEM_FILE, STATE_MODIFIED, BY_NOBODY, 5, "src/a.c", "", 0},
		{ITEM_FILE, STATE_READ, BY_NOBODY, 6, "src/A.c", "", 0},
		{ITEM_FACT, STATE_NONE, BY_TOOL, 7, "offset 5", "", 0});
	assert_string_equal(text_of(merge, &ALL, &out),
		"CONSTRAINTS\n- Never push to main. [user 1, 13]\n"
		"FACTS\n- offset -5 [tool 5]\n- offset 5 [tool 18]\n"
		"FILES\n- modified: src/a.c [4, 16]\n- read: src/A.c [17]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void later_fact_of_a_key__supersedes(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "The port is 5432", "port", 0},
		{ITEM_FACT, STATE_NONE, BY_USER, 1, "The host is db1", "host", 0},
		{ITEM_FACT, STATE_NONE, BY_USER, 1, "No key here: 5432", "", 0});
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "The port is 5433", "Port", 0});
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "Now the port is 5434", "port", 0});
	assert_string_equal(text_of(merge, &ALL, &out),
		"FACTS\n- superseded (5): The port is 5432 [user 1]\n- The host is db1 [user 2]\n"
		"- No key here: 5432 [user 2]\n- superseded (9): The port is 5433 [user 5]\n- Now the port "
		"is 5434 [user 9]\n");
	/* before the cut nothing is known of what supersedes after it */
	assert_string_equal(text_of(merge, &(struct compact_merge_options){4, COMPACT_NO_INNER}, &out),
		"FACTS\n- The port is 5432 [user 1]\n- The host is db1 [user 2]\n- No key here: 5432 [user "
		"2]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

/* The first value again: it is the current one. */
static void value_that_comes_back__is_current(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "The port is 5432", "port", 0});
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "The port is 5433", "port", 0});
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "The port is 5432", "port", 0});
	assert_string_equal(text_of(merge, &ALL, &out),
		"FACTS\n- The port is 5432 [user 1, 9]\n- superseded (9): The port is 5433 [user 5]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void b12_lifted_by_the_user__and_by_nobody_else(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 10,
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Do NOT push to main.", "push main", 0},
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Never touch /srv/data.", "touch /srv/data", 0},
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Use at most 3 retries.", "3 retries", 0},
		{ITEM_SIGNAL, STATE_LIFTED, BY_ASSISTANT, 4, "We may touch /srv/data now.", "touch /srv/data",
			ITEM_CONSTRAINT},
		{ITEM_SIGNAL, STATE_LIFTED, BY_TOOL, 5, "Retries are allowed.", "3 retries",
			ITEM_CONSTRAINT});
	SEGMENT(merge, 30,
		{ITEM_SIGNAL, STATE_LIFTED, BY_USER, 19, "You may push to main now.", "push main",
			ITEM_CONSTRAINT});
	assert_string_equal(text_of(merge, &ALL, &out), "CONSTRAINTS\n- lifted (30): Do NOT push to main. "
							"[user 1]\n- Never touch /srv/data. [user 1]\n"
							"- Use at most 3 retries. [user 1]\n");
	/* stated again after it was lifted */
	SEGMENT(merge, 4,
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Do not push to main!", "push main", 0});
	assert_non_null(strstr(text_of(merge, &ALL, &out), "- Do NOT push to main. [user 1, 41]\n"));
	/* the lifting message lies after the cut: what the record says is binding */
	assert_non_null(strstr(text_of(merge, &(struct compact_merge_options){20, COMPACT_NO_INNER}, &out),
		"- Do NOT push to main. [user 1]\n"));
	compact_merge_free(merge);
	buffer_release(&out);
}

static void permission_for_nothing_forbidden__is_a_decision(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 4,
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Never touch /srv/data.", "touch /srv/data", 0},
		{ITEM_SIGNAL, STATE_LIFTED, BY_USER, 1, "You may use sudo from now on.", "use sudo",
			ITEM_CONSTRAINT},
		{ITEM_SIGNAL, STATE_LIFTED, BY_ASSISTANT, 2, "I may reboot.", "reboot", ITEM_CONSTRAINT});
	assert_string_equal(text_of(merge, &ALL, &out),
		"CONSTRAINTS\n- Never touch /srv/data. [user 1]\nDECISIONS\n- "
		"chosen: You may use sudo from now on. [user 2]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void x12_task_done__the_next_one_open(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 20, {ITEM_TASK, STATE_OPEN, BY_USER, 0, "Write the parser.", "", 0});
	SEGMENT(merge, 20,
		{ITEM_SIGNAL, STATE_DONE, BY_ASSISTANT, 1, "The parser is finished.", "", ITEM_TASK},
		{ITEM_TASK, STATE_OPEN, BY_USER, 2, "Now write the printer.", "", 0});
	assert_string_equal(text_of(merge, &ALL, &out),
		"TASK\n- done (22): Write the parser. [user 1]\n- open: Now write the printer. [user 23]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void signal_with_words__finds_its_task(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 20, {ITEM_TASK, STATE_OPEN, BY_USER, 0, "Write the parser.", "", 0},
		{ITEM_TASK, STATE_OPEN, BY_USER, 1, "Fix the printer.", "", 0},
		{ITEM_DECISION, STATE_CHOSEN, BY_USER, 2, "plan A", "plan a", 0},
		{ITEM_SIGNAL, STATE_DONE, BY_ASSISTANT, 3, "The parser works.", "parser", ITEM_TASK},
		{ITEM_SIGNAL, STATE_OVERRULED, BY_USER, 4, "Drop plan A.", "plan a", ITEM_DECISION});
	assert_string_equal(text_of(merge, &ALL, &out),
		"TASK\n- done (4): Write the parser. [user 1]\n- open: Fix the printer. [user 2]\n"
		"DECISIONS\n- overruled (5): plan A [user 3]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void x14_cut_inside_a_closed_segment__the_rest_is_a_pointer(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct arena arena = ARENA_INIT;
	struct compact_record record, segment;
	struct compact_item item = compact_item_make(ITEM_FACT);
	struct item_source both[] = {{2, {NULL, 0}}, {8, {NULL, 0}}};
	int rc;

	assert_int_equal(compact_merge_new(&merge), 0);
	compact_record_init(&segment, &arena);
	add_spec(&segment, &(struct spec){ITEM_FACT, STATE_NONE, BY_USER, 1, "early", "", 0});
	add_spec(&segment, &(struct spec){ITEM_FACT, STATE_NONE, BY_USER, 9, "late", "", 0});
	item.text = SLICE_LITERAL("across");
	item.sources = both;
	item.source_count = 2;
	assert_non_null(compact_record_add(&segment, &item, &rc));
	assert_int_equal(compact_merge_add(merge, &segment, 0, 10, NULL), 0);
	assert_int_equal(compact_merge_finish(merge, &(struct compact_merge_options){5, COMPACT_NO_INNER},
				 &arena, &record, NULL),
		0);
	assert_int_equal(record.count, 1);
	assert_true(slice_is(record.items[0].text, "early"));
	assert_int_equal(record.pointer_count, 1);
	assert_int_equal(record.pointers[0].why, POINTER_DIVIDED);
	assert_int_equal(record.pointers[0].count, 1);
	assert_int_equal(record.pointers[0].from.place, 0);
	assert_int_equal(record.pointers[0].to.place, 4);
	compact_merge_free(merge);
	arena_release(&arena);
}

static void inner_cut__covers_the_turns_rounds_but_not_its_words(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 10, {ITEM_FACT, STATE_NONE, BY_USER, 1, "before", "", 0},
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 4, "Never.", "", 0}, /* in the message at the cut */
		{ITEM_FACT, STATE_NONE, BY_TOOL, 5, "inside", "", 0},
		{ITEM_FACT, STATE_NONE, BY_TOOL, 8, "kept", "", 0});
	assert_string_equal(text_of(merge, &(struct compact_merge_options){4, 7}, &out),
		"FACTS\n- before [user 2]\n- inside [tool 6]\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

static void missing_segments__become_one_pointer(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	assert_int_equal(compact_merge_new(&merge), 0);
	SEGMENT(merge, 4, {ITEM_FACT, STATE_NONE, BY_USER, 0, "a", "", 0});
	assert_int_equal(compact_merge_add_missing(merge, 4, 8, NULL), 0);
	assert_int_equal(compact_merge_add_missing(merge, 8, 12, NULL), 0);
	assert_string_equal(
		text_of(merge, &ALL, &out), "FACTS\n- a [user 1]\nNOT HERE\n- not summarised: recall 5–12\n");
	compact_merge_free(merge);
	buffer_release(&out);
}

/* Whatever was finished before, and in whatever pieces it came, the result is the same. */
static void result__is_a_function_of_what_was_added(void **state)
{
	(void)state;
	struct compact_merge *once, *often;
	struct buffer a = BUFFER_INIT(LIMIT_LINE_BYTES), b = BUFFER_INIT(LIMIT_LINE_BYTES);
	char text[64], key[16];

	assert_int_equal(compact_merge_new(&once), 0);
	assert_int_equal(compact_merge_new(&often), 0);
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "value %u", i * 7 % 50);
		snprintf(key, sizeof key, "k%u", i % 13);
		SEGMENT(once, 3, {ITEM_FACT, STATE_NONE, BY_USER, i % 3, text, i % 2 ? key : "", 0});
		SEGMENT(often, 3, {ITEM_FACT, STATE_NONE, BY_USER, i % 3, text, i % 2 ? key : "", 0});
		text_of(often, &(struct compact_merge_options){i, COMPACT_NO_INNER}, &b);
	}
	text_of(once, &ALL, &a);
	text_of(often, &ALL, &b);
	assert_string_equal(a.data, b.data);
	compact_merge_free(once);
	compact_merge_free(often);
	buffer_release(&a);
	buffer_release(&b);
}

/* ---- Rendering */

static void fill_many(struct compact_merge *merge)
{
	char text[128];

	SEGMENT(merge, 2, {ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "Never touch /srv/data.", "", 0},
		{ITEM_TASK, STATE_OPEN, BY_USER, 0, "Move the service.", "", 0});
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(text, sizeof text, "the measured value number %u is %u", i, i * 31);
		SEGMENT(merge, 2, {ITEM_FACT, STATE_NONE, BY_TOOL, 1, text, "", 0});
		snprintf(text, sizeof text, "src/module_%u/file.c", i);
		SEGMENT(merge, 2, {ITEM_FILE, STATE_READ, BY_NOBODY, 1, text, "", 0});
	}
	SEGMENT(merge, 2, {ITEM_DECISION, STATE_REJECTED, BY_USER, 0, "MongoDB", "", 0},
		{ITEM_TRIED, STATE_FAILED, BY_TOOL, 1, "make deploy", "", 0},
		{ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0, "At most 3 retries.", "", 0});
}

static void render(const struct compact_merge *merge, uint64_t tokens, struct arena *arena,
	struct buffer *out, struct render_report *ret_report)
{
	struct compact_record record, chosen;
	struct render_options options = RENDER_OPTIONS_INIT;

	options.tokens_max = tokens;
	buffer_clear(out);
	assert_int_equal(compact_merge_finish(merge, &ALL, arena, &record, NULL), 0);
	assert_int_equal(compact_render(&record, NULL, &options, arena, &chosen, out, ret_report, NULL), 0);
	assert_int_equal(tokens_estimate(out->data, out->len), ret_report->tokens);
}

static void every_budget__fits_or_says_so_and_keeps_the_rules(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct render_report report;

	assert_int_equal(compact_merge_new(&merge), 0);
	fill_many(merge);
	for (uint64_t tokens = 1; tokens < 12000; tokens += tokens < 300 ? 7 : 593) {
		struct arena arena = ARENA_INIT;

		render(merge, tokens, &arena, &out, &report);
		assert_non_null(strstr(out.data, "Never touch /srv/data."));
		assert_non_null(strstr(out.data, "At most 3 retries."));
		assert_int_equal(report.binding, 2);
		assert_true(report.tokens <= tokens || report.over_budget);
		if (tokens >= 200) {
			assert_false(report.over_budget);
			assert_non_null(strstr(out.data, "rejected: MongoDB"));
			assert_non_null(strstr(out.data, "failed: make deploy"));
			assert_non_null(strstr(out.data, "open: Move the service."));
		}
		/* invariant (2): what is here and what is pointed to is everything */
		assert_int_equal(report.kept[ITEM_FACT] + report.dropped[ITEM_FACT], 300);
		assert_int_equal(report.kept[ITEM_FILE] + report.dropped[ITEM_FILE], 300);
		if (report.dropped[ITEM_FACT]) {
			char said[64];

			snprintf(said, sizeof said, "- %u more facts: recall ", report.dropped[ITEM_FACT]);
			assert_non_null(strstr(out.data, said));
		}
		arena_release(&arena);
	}
	compact_merge_free(merge);
	buffer_release(&out);
}

/* A small budget goes to the newest task, the user's rejections and failed attempts, not to a crowd of old
 * tasks. */
static void many_old_tasks__push_out_nothing_that_must_not_be_lost(void **state)
{
	(void)state;
	struct compact_record segment;
	struct compact_merge *merge;
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct render_report report;
	char text[64];

	compact_record_init(&segment, &arena);
	add_spec(&segment,
		&(struct spec){ITEM_DECISION, STATE_REJECTED, BY_USER, 0, "MongoDB, for its licence", "", 0});
	for (uint32_t i = 1; i < 40; i++) {
		snprintf(text, sizeof text, "Please draw picture number %u of the harbour.", (unsigned)i);
		add_spec(&segment, &(struct spec){ITEM_TASK, STATE_OPEN, BY_USER, i, text, "", 0});
		snprintf(text, sizeof text, "draw --picture %u", (unsigned)i);
		add_spec(&segment, &(struct spec){ITEM_TRIED, STATE_FAILED, BY_TOOL, i, text, "", 0});
	}
	assert_int_equal(compact_merge_new(&merge), 0);
	assert_int_equal(compact_merge_add(merge, &segment, 0, 40, NULL), 0);
	render(merge, 300, &arena, &out, &report);
	assert_true(report.tokens <= 300);
	assert_non_null(strstr(out.data, "rejected: MongoDB, for its licence"));
	assert_non_null(strstr(out.data, "open: Please draw picture number 39 "));
	assert_int_equal(report.kept[ITEM_TASK], 1);
	assert_true(report.kept[ITEM_TRIED] > 10);
	assert_non_null(strstr(out.data, "more attempts: recall 2–"));
	render(merge, 900, &arena, &out, &report);
	assert_int_equal(report.kept[ITEM_TRIED], 39);
	compact_merge_free(merge);
	buffer_release(&out);
	arena_release(&arena);
}

static void no_budget__everything(void **state)
{
	(void)state;
	struct compact_merge *merge;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct arena arena = ARENA_INIT;
	struct render_report report;

	assert_int_equal(compact_merge_new(&merge), 0);
	fill_many(merge);
	render(merge, 0, &arena, &out, &report);
	assert_int_equal(report.kept[ITEM_FACT], 300);
	assert_int_equal(report.kept[ITEM_FILE], 300);
	assert_null(strstr(out.data, "NOT HERE"));
	compact_merge_free(merge);
	arena_release(&arena);
	buffer_release(&out);
}

static void memory_runs_out__says_so(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct arena arena = ARENA_INIT, other = ARENA_INIT;
		struct compact_merge *merge = NULL;
		struct compact_record segment, record, chosen;
		struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
		struct render_options options = RENDER_OPTIONS_INIT;
		struct render_report report;

		compact_record_init(&segment, &other);
		for (uint32_t i = 0; i < 40; i++)
			add_spec(&segment, &(struct spec){ITEM_FACT, STATE_NONE, BY_USER, i, "The port is 1",
						   "port", 0});
		options.tokens_max = 1000;
		fail_alloc_start(nth);
		int rc = compact_merge_new(&merge);
		if (!rc)
			rc = compact_merge_add(merge, &segment, 0, 40, NULL);
		if (!rc)
			rc = compact_merge_finish(merge, &ALL, &arena, &record, NULL);
		if (!rc)
			rc = compact_render(&record, NULL, &options, &arena, &chosen, &out, &report, NULL);
		compact_merge_free(merge);
		buffer_release(&out);
		arena_release(&arena);
		struct fail_alloc_report failures = fail_alloc_stop();
		arena_release(&other);
		assert_int_equal(failures.live, 0);
		assert_int_equal(rc, failures.failed ? BOBBIN_ENOMEM : 0);
		if (!failures.failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_items__become_one_with_all_sources),
		cmocka_unit_test(later_fact_of_a_key__supersedes),
		cmocka_unit_test(value_that_comes_back__is_current),
		cmocka_unit_test(b12_lifted_by_the_user__and_by_nobody_else),
		cmocka_unit_test(permission_for_nothing_forbidden__is_a_decision),
		cmocka_unit_test(x12_task_done__the_next_one_open),
		cmocka_unit_test(signal_with_words__finds_its_task),
		cmocka_unit_test(x14_cut_inside_a_closed_segment__the_rest_is_a_pointer),
		cmocka_unit_test(inner_cut__covers_the_turns_rounds_but_not_its_words),
		cmocka_unit_test(missing_segments__become_one_pointer),
		cmocka_unit_test(result__is_a_function_of_what_was_added),
		cmocka_unit_test(every_budget__fits_or_says_so_and_keeps_the_rules),
		cmocka_unit_test(many_old_tasks__push_out_nothing_that_must_not_be_lost),
		cmocka_unit_test(no_budget__everything),
		cmocka_unit_test(memory_runs_out__says_so),
	};
	return cmocka_run_group_tests_name("compact/merge", tests, NULL, NULL);
}
