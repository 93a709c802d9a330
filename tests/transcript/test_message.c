/* SPDX-License-Identifier: MIT */
/* Reading a message in place: its members, its blocks in all their spellings, its text and its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "support/failure.h"
#include "transcript/message.h"

static int parse(
	const char *text, struct arena *arena, struct message *ret_message, struct bobbin_error *error)
{
	struct json record;
	assert_int_equal(json_parse(text, strlen(text), &record, NULL), 0);
	return message_parse(&record, arena, ret_message, error);
}

static void parse_well(const char *text, struct arena *arena, struct message *ret_message)
{
	struct bobbin_error error = {0};
	if (parse(text, arena, ret_message, &error) < 0)
		fail_msg("%s: %s", text, error.message);
}

static void expect_slice(struct slice found, const char *expected)
{
	assert_int_equal(found.len, strlen(expected));
	assert_memory_equal(found.data, expected, found.len);
}

static void expect_json(struct json found, const char *expected)
{
	expect_slice((struct slice){found.text, found.len}, expected);
}

static void members__are_read_and_decoded(void **state)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	(void)state;

	parse_well("{\"seq\":7,\"id\":\"a\\u0062\",\"parent\":\"p\",\"branch\":true,\"role\":\"tool\",\"tool_"
		   "call_id\":\"c\\/1\","
		   "\"name\":\"ls\",\"content\":\"x\",\"is_error\":true,\"marker\":\"unknown\"}",
		&arena, &message);
	assert_int_equal(message.role, ROLE_TOOL);
	assert_int_equal(message.seq, 7);
	expect_slice(message.id, "ab");
	assert_int_equal(message.parent_kind, PARENT_ID);
	expect_slice(message.parent, "p");
	assert_true(message.branch);
	expect_slice(message.tool_call_id, "c/1");
	expect_slice(message.name, "ls");
	assert_true(message.is_error);
	assert_int_equal(message.marker, MARKER_UNKNOWN);
	expect_json(message.content, "\"x\"");
	assert_int_equal(message.tool_calls.type, JSON_ABSENT);
	arena_release(&arena);
}

static void what_is_absent_or_null__has_its_default(void **state)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	(void)state;

	parse_well("{\"role\":\"assistant\"}", &arena, &message);
	assert_int_equal(message.role, ROLE_ASSISTANT);
	assert_int_equal(message.origin, ORIGIN_PERSON);
	assert_int_equal(message.parent_kind, PARENT_HEAD);
	assert_int_equal(message.marker, MARKER_NONE);
	assert_int_equal(message.content.type, JSON_ABSENT);
	assert_null(message.id.data);
	assert_int_equal(message.seq, 0);
	parse_well("{\"role\":\"user\",\"parent\":null,\"id\":null,\"content\":null,\"tool_calls\":null,"
		   "\"origin\":null}",
		&arena, &message);
	assert_int_equal(message.parent_kind, PARENT_ROOT);
	assert_null(message.id.data);
	assert_int_equal(message.content.type, JSON_NULL);
	assert_int_equal(message.tool_calls.type, JSON_ABSENT);
	assert_int_equal(message.origin, ORIGIN_PERSON);
	arena_release(&arena);
}

static void origins__are_told_apart(void **state)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	(void)state;

	parse_well("{\"role\":\"user\",\"origin\":\"injected\"}", &arena, &message);
	assert_int_equal(message.origin, ORIGIN_INJECTED);
	parse_well("{\"role\":\"user\",\"origin\":\"summary\"}", &arena, &message);
	assert_int_equal(message.origin, ORIGIN_SUMMARY);
	parse_well("{\"role\":\"user\",\"origin\":\"later\"}", &arena, &message);
	assert_int_equal(message.origin, ORIGIN_OTHER);
	arena_release(&arena);
}

static void wrong_shapes__are_refused_by_the_name_of_the_member(void **state)
{
	static const struct {
		const char *text, *member;
	} WRONG[] = {
		{"{\"role\":\"system\"}", "role"},
		{"{\"role\":1}", "role"},
		{"{}", "role"},
		{"[]", "role"},
		{"{\"role\":\"user\",\"content\":{}}", "content"},
		{"{\"role\":\"user\",\"content\":1}", "content"},
		{"{\"role\":\"user\",\"id\":7}", "id"},
		{"{\"role\":\"user\",\"id\":\"\"}", "id"},
		{"{\"role\":\"user\",\"parent\":7}", "parent"},
		{"{\"role\":\"user\",\"parent\":\"\"}", "parent"},
		{"{\"role\":\"user\",\"seq\":0}", "seq"},
		{"{\"role\":\"user\",\"seq\":\"1\"}", "seq"},
		{"{\"role\":\"user\",\"seq\":1.5}", "seq"},
		{"{\"role\":\"user\",\"branch\":1}", "branch"},
		{"{\"role\":\"assistant\",\"tool_calls\":{}}", "tool_calls"},
		{"{\"role\":\"tool\",\"tool_call_id\":[]}", "tool_call_id"},
	};
	struct arena arena = ARENA_INIT;
	(void)state;

	for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
		struct bobbin_error error = {0};
		struct message message;
		assert_int_equal(parse(WRONG[i].text, &arena, &message, &error), BOBBIN_EINPUT);
		assert_non_null(strstr(error.message, WRONG[i].member));
	}
	arena_release(&arena);
}

static const char BLOCKS[] =
	"{\"role\":\"assistant\",\"content\":["
	"{\"type\":\"text\",\"text\":\"a\"},"
	"{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"S\"},"
	"{\"type\":\"redacted_thinking\",\"data\":\"D\"},"
	"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}},"
	"{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{\"p\":1.10}},"
	"{\"type\":\"tool_call\",\"id\":\"c2\",\"name\":\"cat\",\"arguments\":\"{}\"},"
	"{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web\",\"input\":{}},"
	"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[]},"
	"{\"type\":\"hologram\",\"x\":-0},"
	"{\"text\":\"no kind\"},"
	"{\"type\":\"text\",\"text\":5},"
	"\"bare\",17],"
	"\"tool_calls\":[{\"id\":\"c3\",\"name\":\"rm\",\"arguments\":\"{}\"},"
	"{\"id\":\"c4\",\"type\":\"function\",\"function\":{\"name\":\"mv\",\"arguments\":\"[]\"}},null]}";

static void blocks__come_in_order_with_their_bytes(void **state)
{
	static const struct {
		enum block_type type;
		const char *kind, *text, *id, *name, *arguments;
	} EXPECTED[] = {
		{BLOCK_TEXT, "text", "\"a\"", "", "", ""},
		{BLOCK_SEALED, "thinking", "\"t\"", "", "", ""},
		{BLOCK_SEALED, "redacted_thinking", "", "", "", ""},
		{BLOCK_IMAGE, "image_url", "", "", "", ""},
		{BLOCK_CALL, "tool_use", "", "c1", "ls", "{\"p\":1.10}"},
		{BLOCK_CALL, "tool_call", "", "c2", "cat", "\"{}\""},
		{BLOCK_SERVER_CALL, "server_tool_use", "", "s1", "web", "{}"},
		{BLOCK_SERVER_RESULT, "web_search_tool_result", "", "s1", "", ""},
		{BLOCK_UNKNOWN, "hologram", "", "", "", ""},
		{BLOCK_UNKNOWN, "", "", "", "", ""},
		{BLOCK_UNKNOWN, "text", "", "", "", ""},
		{BLOCK_TEXT, "", "\"bare\"", "", "", ""},
		{BLOCK_UNKNOWN, "", "", "", "", ""},
		{BLOCK_CALL, "", "", "c3", "rm", "\"{}\""},
		{BLOCK_CALL, "function", "", "c4", "mv", "\"[]\""},
		{BLOCK_UNKNOWN, "", "", "", "", ""},
	};
	struct arena arena = ARENA_INIT;
	struct block_iter iter;
	struct block block;
	struct message message;
	(void)state;

	parse_well(BLOCKS, &arena, &message);
	block_iter_init(&iter, &message, &arena);
	for (size_t i = 0; i < sizeof(EXPECTED) / sizeof(EXPECTED[0]); i++) {
		assert_true(block_iter_next(&iter, &block));
		assert_int_equal(block.type, EXPECTED[i].type);
		expect_slice(block.kind, EXPECTED[i].kind);
		expect_json(block.text, EXPECTED[i].text);
		expect_slice(block.call_id, EXPECTED[i].id);
		expect_slice(block.call_name, EXPECTED[i].name);
		expect_json(block.arguments, EXPECTED[i].arguments);
		/* The exact bytes lie inside the record. */
		assert_true(block.value.text > message.record.text &&
			    block.value.text + block.value.len < message.record.text + message.record.len);
	}
	assert_false(block_iter_next(&iter, &block));
	assert_int_equal(iter.error, 0);
	assert_int_equal(message_call_count(&message), 4);
	arena_release(&arena);
}

static void calls_in_other_roles__are_unknown_blocks(void **state)
{
	struct arena arena = ARENA_INIT;
	struct block_iter iter;
	struct block block;
	struct message message;
	(void)state;

	parse_well("{\"role\":\"user\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\","
		   "\"input\":{}}],"
		   "\"tool_calls\":[{\"id\":\"d\",\"name\":\"f\"}]}",
		&arena, &message);
	assert_int_equal(message_call_count(&message), 0);
	block_iter_init(&iter, &message, &arena);
	for (int i = 0; i < 2; i++) {
		assert_true(block_iter_next(&iter, &block));
		assert_int_equal(block.type, BLOCK_UNKNOWN);
	}
	assert_false(block_iter_next(&iter, &block));
	arena_release(&arena);
}

static void empty_content__gives_no_block(void **state)
{
	static const char *const EMPTY[] = {"{\"role\":\"user\",\"content\":\"\"}",
		"{\"role\":\"user\",\"content\":null}", "{\"role\":\"user\",\"content\":[]}",
		"{\"role\":\"user\"}"};
	struct arena arena = ARENA_INIT;
	(void)state;

	for (size_t i = 0; i < sizeof(EMPTY) / sizeof(EMPTY[0]); i++) {
		struct block_iter iter;
		struct block block;
		struct message message;
		parse_well(EMPTY[i], &arena, &message);
		block_iter_init(&iter, &message, &arena);
		assert_false(block_iter_next(&iter, &block));
	}
	arena_release(&arena);
}

static void text__is_joined_by_newlines_without_lone_surrogates(void **state)
{
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(1024);
	struct message message;
	(void)state;

	parse_well(
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\\ud83d\"},{\"type\":"
		"\"image\"},"
		"{\"type\":\"input_text\",\"text\":\"b\\n\"},{\"type\":\"thinking\",\"thinking\":\"no\"}]}",
		&arena, &message);
	message_add_text(&message, &arena, &out);
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, "a\xef\xbf\xbd\nb\n");
	buffer_release(&out);
	arena_release(&arena);
}

static void size__counts_what_the_model_sees(void **state)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	struct message_size size;
	struct token_classes classes = {{0}};
	(void)state;

	/* Visible: "a\n" 2, "think" 5, "ls" 2, "{\"p\":1}" 7 (the string's content), "mv" 2, "[1, 2]" 6. */
	parse_well("{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\\n\"},"
		   "{\"type\":\"thinking\",\"thinking\":\"think\",\"signature\":\"SSSSSSSS\"},"
		   "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		   "png\",\"data\":\"AAAAAAAA\"}},"
		   "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"mv\",\"input\":[1, 2]}],"
		   "\"tool_calls\":[{\"id\":\"c1\",\"name\":\"ls\",\"arguments\":\"{\\\"p\\\":1}\"}]}",
		&arena, &message);
	assert_int_equal(message_measure(&message, &arena, &size), 0);
	assert_int_equal(size.visible_bytes, 24);
	assert_int_equal(size.calls, 2);
	assert_int_equal(size.images, 1);
	assert_int_equal(size.image_bytes, 8);
	assert_true(size.image_tokens > 0);
	token_classes_add(&classes, "a\n", 2);
	token_classes_add(&classes, "think", 5);
	token_classes_add(&classes, "mv", 2);
	token_classes_add(&classes, "[1, 2]", 6);
	token_classes_add(&classes, "ls", 2);
	token_classes_add(&classes, "{\"p\":1}", 7);
	assert_memory_equal(&classes, &size.classes, sizeof(classes));
	arena_release(&arena);
}

static void image_of_known_size__is_cheaper_than_the_default(void **state)
{
	struct arena arena = ARENA_INIT;
	struct message known, unknown;
	struct message_size known_size, unknown_size;
	(void)state;

	/* The header of a PNG of 100 x 50 pixels. */
	parse_well("{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
		   "\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAGQAAAAyCAYAAACqNX6+\"}}]}",
		&arena, &known);
	parse_well("{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":\"https://"
		   "example.org/x.png\"}]}",
		&arena, &unknown);
	assert_int_equal(message_measure(&known, &arena, &known_size), 0);
	assert_int_equal(message_measure(&unknown, &arena, &unknown_size), 0);
	assert_true(known_size.image_tokens >= 1 && known_size.image_tokens < 100);
	assert_true(unknown_size.image_tokens >= 1600);
	assert_int_equal(known_size.visible_bytes, 0);
	arena_release(&arena);
}

static void memory_running_out__is_an_error_at_every_allocation(void **state)
{
	/* Escapes, so that every string must be decoded into memory. */
	static const char TEXT[] =
		"{\"role\":\"assistant\",\"id\":\"\\u0061\",\"content\":[{\"type\":\"text\",\"text\":"
		"\"\\u0061\"},"
		"{\"type\":\"tool_use\",\"id\":\"\\u0063\",\"name\":\"\\u0063\",\"input\":{}}]}";
	(void)state;

	for (uint64_t nth = 1;; nth++) {
		struct arena arena = ARENA_INIT;
		struct buffer out = BUFFER_INIT(1024);
		struct message_size size;
		struct message message;
		fail_alloc_start(nth);
		int rc = parse(TEXT, &arena, &message, NULL);
		if (!rc)
			rc = message_measure(&message, &arena, &size);
		if (!rc) {
			message_add_text(&message, &arena, &out);
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
		cmocka_unit_test(members__are_read_and_decoded),
		cmocka_unit_test(what_is_absent_or_null__has_its_default),
		cmocka_unit_test(origins__are_told_apart),
		cmocka_unit_test(wrong_shapes__are_refused_by_the_name_of_the_member),
		cmocka_unit_test(blocks__come_in_order_with_their_bytes),
		cmocka_unit_test(calls_in_other_roles__are_unknown_blocks),
		cmocka_unit_test(empty_content__gives_no_block),
		cmocka_unit_test(text__is_joined_by_newlines_without_lone_surrogates),
		cmocka_unit_test(size__counts_what_the_model_sees),
		cmocka_unit_test(image_of_known_size__is_cheaper_than_the_default),
		cmocka_unit_test(memory_running_out__is_an_error_at_every_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
