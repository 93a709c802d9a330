/* SPDX-License-Identifier: MIT */
/* Turns, rounds and sums of a path over an array of records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "support/failure.h"
#include "tokens/counter.h"
#include "tokens/overhead.h"
#include "transcript/path.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define USER "{\"role\":\"user\",\"content\":\"hi there\"}"
#define INJECTED "{\"role\":\"user\",\"origin\":\"injected\",\"content\":\"x\"}"
#define SUMMARY "{\"role\":\"user\",\"origin\":\"summary\",\"content\":\"x\"}"
#define MODEL "{\"role\":\"assistant\",\"content\":\"yes\"}"
#define CALLS                                                                                                \
	"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\"},{\"id\":\"c2\",\"name\":"    \
	"\"f\"}]}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"x\"}"
#define MARKED(id)                                                                                           \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"?\",\"marker\":\"interrupted\"}"

static struct array_path *path_of(const char *const *texts, size_t count)
{
	struct slice records[32];
	struct array_path *path = NULL;
	struct bobbin_error error = {0};

	assert_true(count <= COUNT(records));
	for (size_t i = 0; i < count; i++)
		records[i] = slice_of(texts[i]);
	if (array_path_new(records, count, NULL, &path, &error) < 0)
		fail_msg("%s", error.message);
	return path;
}

static void expect_places(const char *const *texts, size_t count, const size_t *turns, const size_t *rounds)
{
	struct array_path *array = path_of(texts, count);
	const struct path *path = array_path_path(array);
	struct path_item item;

	assert_int_equal(path->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(path_item(path, i, &item, NULL), 0);
		assert_int_equal(item.turn, turns[i]);
		assert_int_equal(item.round, rounds[i]);
	}
	array_path_free(array);
}

static void turns_and_rounds__as_in_the_picture(void **state)
{
	static const char *const TEXTS[] = {USER, CALLS, RESULT("c1"), RESULT("c2"), MODEL, USER, MODEL};
	static const size_t TURNS[] = {0, 0, 0, 0, 0, 5, 5}, ROUNDS[] = {0, 1, 1, 1, 4, 5, 6};
	(void)state;
	expect_places(TEXTS, COUNT(TEXTS), TURNS, ROUNDS);
}

static void messages_with_an_origin__start_no_turn(void **state)
{
	static const char *const TEXTS[] = {SUMMARY, MODEL, USER, INJECTED, MODEL, SUMMARY, MODEL};
	static const size_t TURNS[] = {0, 0, 2, 2, 2, 2, 2}, ROUNDS[] = {0, 1, 2, 3, 4, 5, 6};
	(void)state;
	expect_places(TEXTS, COUNT(TEXTS), TURNS, ROUNDS);
}

static void orphan_results__are_rounds_of_their_own(void **state)
{
	static const char *const TEXTS[] = {RESULT("c0"), USER, RESULT("c0"), MODEL};
	static const size_t TURNS[] = {0, 1, 1, 1}, ROUNDS[] = {0, 1, 2, 3};
	(void)state;
	expect_places(TEXTS, COUNT(TEXTS), TURNS, ROUNDS);
}

static void sums__grow_by_each_item(void **state)
{
	static const char *const TEXTS[] = {USER, CALLS, RESULT("c1"), MODEL};
	struct array_path *array = path_of(TEXTS, COUNT(TEXTS));
	const struct path *path = array_path_path(array);
	struct path_item item;
	uint64_t tokens = 0, bytes = 0;
	(void)state;

	for (size_t i = 0; i < path->count; i++) {
		assert_int_equal(path_item(path, i, &item, NULL), 0);
		assert_int_equal(item.tokens_before, tokens);
		assert_int_equal(item.bytes_before, bytes);
		assert_int_equal(item.bytes, strlen(TEXTS[i]));
		assert_true(item.tokens > OVERHEAD_MESSAGE);
		tokens += item.tokens;
		bytes += item.bytes;
	}
	assert_int_equal(path->tokens, tokens);
	assert_int_equal(path->bytes, bytes);
	assert_int_equal(path_item(path, 1, &item, NULL), 0);
	assert_int_equal(item.calls, 2);
	assert_int_equal(path_item(path, path->count, &item, NULL), BOBBIN_EINVAL);
	assert_int_equal(path_item(path, 0, &item, NULL), 0);
	assert_int_equal(item.tokens, tokens_estimate("hi there", 8) + OVERHEAD_MESSAGE);
	array_path_free(array);
}

static void exact_counter__counts_the_same_texts_exactly(void **state)
{
	static const char *const TEXTS[] = {USER, CALLS};
	struct token_counter counter;
	struct slice records[COUNT(TEXTS)];
	struct array_path *array = NULL;
	struct path_item item;
	(void)state;

	if (!token_counter_for_encoding("o200k_base", &counter)) {
		print_message("the vocabulary of o200k_base is not built in\n");
		skip();
	}
	for (size_t i = 0; i < COUNT(TEXTS); i++)
		records[i] = slice_of(TEXTS[i]);
	assert_int_equal(array_path_new(records, COUNT(TEXTS), &counter, &array, NULL), 0);
	assert_true(array_path_path(array)->exact);
	/* "hi there" is two tokens of o200k_base, "f" one. */
	assert_int_equal(path_item(array_path_path(array), 0, &item, NULL), 0);
	assert_int_equal(item.tokens, 2 + OVERHEAD_MESSAGE);
	assert_int_equal(path_item(array_path_path(array), 1, &item, NULL), 0);
	assert_int_equal(item.tokens, 2 + OVERHEAD_MESSAGE + 2 * OVERHEAD_CALL);
	assert_null(counter.scratch); /* the caller's counter is as it was */
	array_path_free(array);
}

static void ids__are_given_or_made_from_seq_or_place(void **state)
{
	static const char *const TEXTS[] = {"{\"role\":\"user\",\"id\":\"own\"}",
		"{\"role\":\"user\",\"seq\":17}", "{\"role\":\"user\"}"};
	static const char *const IDS[] = {"own", "m17", "m3"};
	struct array_path *array = path_of(TEXTS, COUNT(TEXTS));
	char id[PATH_ID_BYTES];
	(void)state;

	for (size_t i = 0; i < COUNT(TEXTS); i++) {
		assert_int_equal(path_id(array_path_path(array), i, id, NULL), 0);
		assert_string_equal(id, IDS[i]);
	}
	array_path_free(array);
}

static void real_result_that_came_late__takes_the_place_of_the_marked_one(void **state)
{
	static const char *const TEXTS[] = {
		USER, CALLS, MARKED("c1"), MARKED("c2"), USER, RESULT("c2"), MODEL};
	struct array_path *array = path_of(TEXTS, COUNT(TEXTS));
	const struct path *path = array_path_path(array);
	struct arena arena = ARENA_INIT;
	struct message message;
	(void)state;

	assert_int_equal(path->count, 6);
	assert_int_equal(path_message(path, 2, &arena, &message, NULL), 0);
	assert_int_equal(message.marker, MARKER_INTERRUPTED);
	assert_int_equal(path_message(path, 3, &arena, &message, NULL), 0);
	assert_int_equal(message.marker, MARKER_NONE);
	assert_int_equal(path_message(path, 5, &arena, &message, NULL), 0);
	assert_int_equal(message.role, ROLE_ASSISTANT);
	array_path_free(array);
	arena_release(&arena);
}

static void result_of_a_later_call_with_the_same_id__replaces_nothing(void **state)
{
	static const char *const TEXTS[] = {CALLS, MARKED("c1"), MARKED("c2"), CALLS, RESULT("c1")};
	struct array_path *array = path_of(TEXTS, COUNT(TEXTS));
	(void)state;

	assert_int_equal(array_path_path(array)->count, 5);
	array_path_free(array);
}

static void empty_array__is_an_empty_path(void **state)
{
	struct array_path *array = NULL;
	(void)state;

	assert_int_equal(array_path_new(NULL, 0, NULL, &array, NULL), 0);
	assert_int_equal(array_path_path(array)->count, 0);
	array_path_free(array);
	array_path_free(NULL);
}

static void memory_running_out__is_an_error_and_leaks_nothing(void **state)
{
	struct slice records[] = {SLICE_LITERAL(USER),
		SLICE_LITERAL("{\"role\":\"user\",\"content\":\"\\u0061\"}"), SLICE_LITERAL(CALLS),
		SLICE_LITERAL(MARKED("c1")), SLICE_LITERAL(RESULT("c1"))};
	(void)state;

	for (uint64_t nth = 1;; nth++) {
		struct array_path *array = NULL;
		fail_alloc_start(nth);
		int rc = array_path_new(records, COUNT(records), NULL, &array, NULL);
		array_path_free(array);
		if (failure_were_all_tried(rc))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_and_rounds__as_in_the_picture),
		cmocka_unit_test(messages_with_an_origin__start_no_turn),
		cmocka_unit_test(orphan_results__are_rounds_of_their_own),
		cmocka_unit_test(sums__grow_by_each_item),
		cmocka_unit_test(exact_counter__counts_the_same_texts_exactly),
		cmocka_unit_test(ids__are_given_or_made_from_seq_or_place),
		cmocka_unit_test(real_result_that_came_late__takes_the_place_of_the_marked_one),
		cmocka_unit_test(result_of_a_later_call_with_the_same_id__replaces_nothing),
		cmocka_unit_test(empty_array__is_an_empty_path),
		cmocka_unit_test(memory_running_out__is_an_error_and_leaks_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
