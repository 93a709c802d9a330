/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/limits.h"
#include "compact/record.h"
#include "support/failure.h"

static void add(struct compact_record *record, enum item_kind kind, enum item_state state, enum item_by by,
	const char *text, const char *reason, const char *id)
{
	struct compact_item item = compact_item_make(kind);
	struct item_source source = {SOURCE_NOWHERE, slice_of(id)};
	int rc;

	item.state = state;
	item.by = by;
	item.text = slice_of(text);
	item.reason = slice_of(reason);
	item.sources = &source;
	item.source_count = *id ? 1 : 0;
	assert_non_null(compact_record_add(record, &item, &rc));
	assert_int_equal(rc, 0);
}

static void fill(struct compact_record *record)
{
	add(record, ITEM_TASK, STATE_OPEN, BY_USER, "Move the login service.", "", "m1");
	add(record, ITEM_CONSTRAINT, STATE_BINDING, BY_USER, "Do NOT push to main.", "", "m1");
	add(record, ITEM_CONSTRAINT, STATE_LIFTED, BY_USER, "Ask before each deploy.", "", "m2");
	record->items[2].proof.id = SLICE_LITERAL("m30");
	add(record, ITEM_DECISION, STATE_REJECTED, BY_USER, "MongoDB", "we need joins", "m4");
	add(record, ITEM_FACT, STATE_NONE, BY_TOOL, "The database listens on 10.2.3.4:5051", "", "m7");
	add(record, ITEM_TRIED, STATE_FAILED, BY_TOOL, "make deploy", "exit code 2", "m9");
	add(record, ITEM_OPEN, STATE_OPEN, BY_NOBODY, "Which region?", "", "m10");
	add(record, ITEM_FILE, STATE_MODIFIED, BY_NOBODY, "src/login.c", "", "m3");
}

static const char *const FILLED =
	"TASK\n- open: Move the login service. [user m1]\n"
	"CONSTRAINTS\n- Do NOT push to main. [user m1]\n- lifted (m30): Ask before each deploy. [user m2]\n"
	"DECISIONS\n- rejected: MongoDB — because we need joins [user m4]\n"
	"FACTS\n- The database listens on 10.2.3.4:5051 [tool m7]\n"
	"TRIED\n- failed: make deploy — because exit code 2 [tool m9]\n"
	"OPEN\n- Which region? [m10]\n"
	"FILES\n- modified: src/login.c [m3]\n";

static void text_form__reads_like_minutes(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	compact_record_init(&record, &arena);
	fill(&record);
	compact_record_write_text(&record, 0, &out);
	assert_string_equal(out.data, FILLED);
	buffer_release(&out);
	arena_release(&arena);
}

static void assert_same_item(const struct compact_item *a, const struct compact_item *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->by, b->by);
	assert_int_equal(a->computed, b->computed);
	assert_true(slice_equal(a->text, b->text));
	assert_true(slice_equal(a->reason, b->reason));
	assert_int_equal(a->source_count, b->source_count);
	for (uint32_t i = 0; i < a->source_count; i++) {
		assert_true(slice_equal(a->sources[i].id, b->sources[i].id));
		assert_int_equal(a->sources[i].place, b->sources[i].place);
	}
	assert_int_equal(a->proof.place, b->proof.place);
	assert_true(slice_equal(a->proof.id, b->proof.id));
}

static void round_trip(const struct compact_record *record, bool json)
{
	struct arena arena = ARENA_INIT;
	struct compact_record back;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json value;
	size_t at = 0;

	compact_record_init(&back, &arena);
	if (json) {
		compact_record_write_json(record, &out);
		assert_int_equal(json_parse(out.data, out.len, &value, NULL), 0);
		assert_int_equal(compact_record_read_json(&back, &value, NULL, NULL), 0);
	} else {
		compact_record_write_text(record, 0, &out);
		assert_int_equal(compact_record_read_text(&back, buffer_slice(&out), NULL), 0);
	}
	assert_int_equal(back.count, record->count);
	for (int kind = 0; kind < ITEM_KINDS; kind++) /* grouped by kind, in order */
		for (size_t i = 0; i < record->count; i++)
			if ((int)record->items[i].kind == kind)
				assert_same_item(&back.items[at++], &record->items[i]);
	assert_int_equal(back.pointer_count, record->pointer_count);
	for (size_t i = 0; i < record->pointer_count; i++) {
		assert_int_equal(back.pointers[i].why, record->pointers[i].why);
		assert_int_equal(back.pointers[i].kind, record->pointers[i].kind);
		assert_int_equal(back.pointers[i].count, record->pointers[i].count);
		assert_true(slice_equal(back.pointers[i].from.id, record->pointers[i].from.id));
		assert_true(slice_equal(back.pointers[i].to.id, record->pointers[i].to.id));
	}
	buffer_release(&out);
	arena_release(&arena);
}

static void both_forms__read_back_equal(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct compact_pointer pointer = {POINTER_BUDGET, ITEM_FACT, 14,
		{SOURCE_NOWHERE, SLICE_LITERAL("m12")}, {SOURCE_NOWHERE, SLICE_LITERAL("m40")}};

	compact_record_init(&record, &arena);
	fill(&record);
	assert_int_equal(compact_record_add_pointer(&record, &pointer), 0);
	round_trip(&record, false);
	round_trip(&record, true);
	arena_release(&arena);
}

/* Texts that look like the marks around them. */
static void odd_texts__read_back_equal(void **state)
{
	(void)state;
	static const char *const TEXTS[] = {"lifted: not a state", "read (m3): nor this", "index with [m4]",
		"[user m4]", "open: x", ": colon", "a, because b", "x [1]", "ends with ]", "CONSTRAINTS",
		"# heading", "- bullet", "1. one", "日本語の文。", "tabs\tand\nbreaks", "\"quoted\"", "```",
		"[ ] tick", "[x] done"};
	struct arena arena = ARENA_INIT;
	struct compact_record record;

	compact_record_init(&record, &arena);
	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
		add(&record, ITEM_CONSTRAINT, STATE_BINDING, BY_USER, TEXTS[i], "", "m1");
		add(&record, ITEM_FACT, STATE_NONE, BY_NOBODY, TEXTS[i], "", i % 2 ? "g-\"x\" y]" : "");
		add(&record, ITEM_TASK, STATE_DONE, BY_USER, TEXTS[i], "", "12");
		add(&record, ITEM_FILE, STATE_READ, BY_NOBODY, TEXTS[i], "", "m7");
	}
	round_trip(&record, true);
	round_trip(&record, false);
	arena_release(&arena);
}

static void ordinals__are_written_from_one(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	compact_record_init(&record, &arena);
	assert_int_equal(compact_record_add_text(&record, ITEM_CONSTRAINT, STATE_BINDING, BY_USER, 0,
				 SLICE_LITERAL("Never.")),
		0);
	compact_record_write_json(&record, &out);
	assert_string_equal(out.data, "{\"constraints\":[{\"text\":\"Never.\",\"state\":\"binding\",\"by\":"
				      "\"user\",\"from\":[1]}]}");
	round_trip(&record, true);
	round_trip(&record, false);
	buffer_release(&out);
	arena_release(&arena);
}

/* An id that costs more than what it is attached to is shown as the message's number, and stays in the JSON form. */
static void long_ids__shown_as_numbers(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	compact_record_init(&record, &arena);
	add(&record, ITEM_FACT, STATE_NONE, BY_USER, "a", "", "67e30ed3-12ab-4265-9b28-5f30e03e2768");
	record.items[0].sources[0].place = 6;
	compact_record_write_text(&record, 0, &out);
	assert_string_equal(out.data, "FACTS\n- a [user 7]\n");
	buffer_clear(&out);
	compact_record_write_json(&record, &out);
	assert_non_null(strstr(out.data, "\"from\":[\"67e30ed3-12ab-4265-9b28-5f30e03e2768\"]"));
	buffer_release(&out);
	arena_release(&arena);
}

static void many_sources__the_first_and_the_last_stay(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	compact_record_init(&record, &arena);
	add(&record, ITEM_FILE, STATE_READ, BY_NOBODY, "a.c", "", "");
	for (uint32_t place = 500; place-- > 0;) {
		struct item_source source = {place * 7 % 500, {NULL, 0}};
		assert_int_equal(compact_item_add_source(&record, &record.items[0], source), 0);
		assert_int_equal(compact_item_add_source(&record, &record.items[0], source), 0);
	}
	assert_int_equal(record.items[0].source_count, ITEM_SOURCES_MAX);
	assert_int_equal(record.items[0].sources[0].place, 0);
	assert_int_equal(record.items[0].sources[ITEM_SOURCES_MAX - 1].place, 499);
	for (uint32_t i = 1; i < ITEM_SOURCES_MAX; i++)
		assert_true(record.items[0].sources[i - 1].place < record.items[0].sources[i].place);
	compact_item_write_text(&record.items[0], 3, &out);
	assert_non_null(strstr(out.data, " … 500]"));
	buffer_release(&out);
	arena_release(&arena);
}

static void texts__are_one_clean_line(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct compact_item item = compact_item_make(ITEM_FACT);
	char long_text[10000];
	int rc = 1;

	compact_record_init(&record, &arena);
	add(&record, ITEM_FACT, STATE_NONE, BY_NOBODY, "  a\r\n\tb\x01 c\xff\xe3\x80\x80 d  ", "", "");
	assert_true(slice_is(record.items[0].text, "a b c\xef\xbf\xbd d"));
	item.text = SLICE_LITERAL(" \n\t ");
	assert_null(compact_record_add(&record, &item, &rc));
	assert_int_equal(rc, 0);
	memset(long_text, 'x', sizeof long_text);
	memcpy(long_text, "BEGIN", 5);
	memcpy(long_text + sizeof long_text - 3, "END", 3);
	item.text = (struct slice){long_text, sizeof long_text};
	assert_non_null(compact_record_add(&record, &item, &rc));
	assert_int_equal(record.items[1].text.len, ITEM_TEXT_BYTES);
	assert_true(slice_starts_with(record.items[1].text, "BEGIN"));
	assert_memory_equal(record.items[1].text.data + ITEM_TEXT_BYTES - 3, "END", 3);
	arena_release(&arena);
}

static void foreign_summary__sorted_by_its_headings(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	static const char TEXT[] = "This session continues.\n\n## Goal\nShip the parser\n\n### Constraints & "
				   "Preferences\n- No new dependencies\n"
				   "  beyond zlib\n* Tests first\n\n**Key Decisions:**\n1. Recursive "
				   "descent, because it reads well\n"
				   "<active_constraints>\n- Never force-push\n</active_constraints>\n## "
				   "Weather\nsunny\nNext Steps: run the fuzzer\n";
	static const struct {
		enum item_kind kind;
		const char *text;
	} EXPECTED[] = {{ITEM_FACT, "This session continues."}, {ITEM_TASK, "Ship the parser"},
		{ITEM_CONSTRAINT, "No new dependencies beyond zlib"}, {ITEM_CONSTRAINT, "Tests first"},
		{ITEM_DECISION, "Recursive descent"}, {ITEM_CONSTRAINT, "Never force-push"},
		{ITEM_FACT, "sunny"}, {ITEM_OPEN, "run the fuzzer"}};

	compact_record_init(&record, &arena);
	assert_int_equal(compact_record_read_text(&record, slice_of(TEXT), NULL), 0);
	assert_int_equal(record.count, sizeof EXPECTED / sizeof *EXPECTED);
	for (size_t i = 0; i < record.count; i++) {
		assert_int_equal(record.items[i].kind, EXPECTED[i].kind);
		assert_true(slice_is(record.items[i].text, EXPECTED[i].text));
	}
	assert_true(slice_is(record.items[4].reason, "it reads well"));
	arena_release(&arena);
}

static void wrong_json__skipped_not_refused(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct json value;
	size_t skipped = 0;
	static const char TEXT[] =
		"{\"facts\":[{\"text\":\"a\",\"from\":[0,-1,1.5,\"m3\",null,{},\"\"],\"state\":\"binding\"},"
		"7,{},"
		"\"plain\"],\"task\":\"Do it\",\"constraints\":{},\"pointers\":[{\"why\":\"?\"}],\"x\":1}";

	compact_record_init(&record, &arena);
	assert_int_equal(json_parse(TEXT, sizeof TEXT - 1, &value, NULL), 0);
	assert_int_equal(compact_record_read_json(&record, &value, &skipped, NULL), 0);
	assert_int_equal(record.count, 3);
	assert_int_equal(skipped, 3);
	assert_true(slice_is(record.items[0].text, "Do it"));
	assert_int_equal(record.items[1].source_count, 1);
	assert_int_equal(record.items[1].state, STATE_NONE);
	assert_true(slice_is(record.items[2].text, "plain"));
	assert_int_equal(json_parse("[]", 2, &value, NULL), 0);
	assert_int_equal(compact_record_read_json(&record, &value, NULL, NULL), BOBBIN_EINPUT);
	arena_release(&arena);
}

static void memory_runs_out__says_so(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct arena arena = ARENA_INIT;
		struct compact_record record;
		struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
		int rc;

		fail_alloc_start(nth);
		compact_record_init(&record, &arena);
		rc = compact_record_read_text(&record, slice_of(FILLED), NULL);
		if (!rc) {
			compact_record_write_json(&record, &out);
			rc = buffer_error(&out);
		}
		buffer_release(&out);
		arena_release(&arena);
		if (failure_were_all_tried(rc))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_form__reads_like_minutes),
		cmocka_unit_test(both_forms__read_back_equal),
		cmocka_unit_test(odd_texts__read_back_equal),
		cmocka_unit_test(ordinals__are_written_from_one),
		cmocka_unit_test(long_ids__shown_as_numbers),
		cmocka_unit_test(many_sources__the_first_and_the_last_stay),
		cmocka_unit_test(texts__are_one_clean_line),
		cmocka_unit_test(foreign_summary__sorted_by_its_headings),
		cmocka_unit_test(wrong_json__skipped_not_refused),
		cmocka_unit_test(memory_runs_out__says_so),
	};
	return cmocka_run_group_tests_name("compact/record", tests, NULL, NULL);
}
