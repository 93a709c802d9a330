/* SPDX-License-Identifier: MIT */
/* Manufactured conversations: their shape, their size, that they repeat, and that their facts are their
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/hash.h"
#include "base/json.h"
#include "model/mock.h"
#include "support/fail.h"

struct made {
	struct arena arena;
	struct slice *records;
	size_t count;
};

static void make(struct made *made, struct mock_conversation_options options)
{
	*made = (struct made){.arena = ARENA_INIT};
	assert_int_equal(mock_conversation(&options, &made->arena, &made->records, &made->count), 0);
}

static void member(struct slice record, const char *key, struct json *ret_value)
{
	struct json value;
	assert_int_equal(json_parse(record.data, record.len, &value, NULL), 0);
	assert_true(json_get(&value, key, ret_value));
}

static void rounds__user_call_results_reply(void **state)
{
	(void)state;
	static const char *const roles[] = {"user", "assistant", "tool", "assistant"};
	static const char *const parallel[] = {"user", "assistant", "tool", "tool", "assistant"};
	struct made made;
	struct json role;
	make(&made, (struct mock_conversation_options){.seed = 7, .rounds = 8});
	assert_int_equal(made.count, 2 * (3 * 4 + 5));
	size_t at = 0;
	for (int round = 1; round <= 8; round++) {
		for (size_t i = 0; i < (round % 4 ? 4u : 5u); i++, at++) {
			member(made.records[at], "role", &role);
			assert_true(json_string_is(&role, round % 4 ? roles[i] : parallel[i]));
		}
	}
	arena_release(&made.arena);
}

static void results__answer_the_calls_in_order(void **state)
{
	(void)state;
	struct made made;
	struct json calls, call, id, answered, arguments, object;
	struct json_iter iter;
	make(&made, (struct mock_conversation_options){.seed = 7, .rounds = 4});
	size_t asking = 3 * 4 + 1; /* of the fourth round, which has two calls */
	member(made.records[asking], "tool_calls", &calls);
	assert_int_equal(json_count(&calls), 2);
	json_iter_init(&iter, &calls);
	for (size_t i = 1; json_iter_next(&iter, NULL, &call); i++) {
		assert_true(json_get(&call, "id", &id));
		member(made.records[asking + i], "tool_call_id", &answered);
		assert_true(json_string_equal(&id, &answered));
		assert_true(json_get(&call, "arguments", &arguments));
		struct slice text = json_string_content(&arguments, &made.arena);
		assert_int_equal(json_parse(text.data, text.len, &object, NULL), 0);
		assert_int_equal(object.type, JSON_OBJECT);
	}
	arena_release(&made.arena);
}

static uint64_t digest(const struct made *made)
{
	uint32_t crc = 0;
	for (size_t i = 0; i < made->count; i++)
		crc = crc32c(crc, made->records[i].data, made->records[i].len);
	return crc;
}

static void same_options__same_bytes(void **state)
{
	(void)state;
	struct made a, b, other;
	make(&a, (struct mock_conversation_options){.seed = 42, .rounds = 12});
	make(&b, (struct mock_conversation_options){.seed = 42, .rounds = 12});
	make(&other, (struct mock_conversation_options){.seed = 43, .rounds = 12});
	assert_int_equal(digest(&a), digest(&b));
	assert_int_not_equal(digest(&a), digest(&other));
	arena_release(&a.arena);
	arena_release(&b.arena);
	arena_release(&other.arena);
}

static void size__about_what_was_asked(void **state)
{
	(void)state;
	static const uint32_t tokens[] = {0, 60, 2000};
	for (size_t t = 0; t < sizeof(tokens) / sizeof(tokens[0]); t++) {
		struct made made;
		struct json content;
		size_t bytes = (tokens[t] ? tokens[t] : 250) * 4;
		make(&made, (struct mock_conversation_options){
				    .seed = 3, .rounds = 2, .message_tokens = tokens[t]});
		for (size_t i = 0; i < made.count; i++) {
			if (i % 4 == 1)
				continue; /* the assistant's calls */
			member(made.records[i], "content", &content);
			assert_in_range(content.len, bytes, bytes + 200);
		}
		arena_release(&made.arena);
	}
}

static void ids__unique_and_only_if_wanted(void **state)
{
	(void)state;
	struct made made;
	struct json id, record;
	make(&made, (struct mock_conversation_options){.seed = 5, .rounds = 1, .ids = true});
	member(made.records[0], "id", &id);
	assert_true(json_string_is(&id, "c5-1"));
	member(made.records[3], "id", &id);
	assert_true(json_string_is(&id, "c5-4"));
	arena_release(&made.arena);
	make(&made, (struct mock_conversation_options){.seed = 5, .rounds = 1});
	assert_int_equal(json_parse(made.records[0].data, made.records[0].len, &record, NULL), 0);
	assert_false(json_get(&record, "id", &id));
	arena_release(&made.arena);
}

static size_t users_naming(const struct made *made, const char *order)
{
	size_t users = 0;
	for (size_t i = 0; i < made->count; i++)
		users += slice_starts_with(made->records[i], "{\"role\":\"user\"") &&
			 memmem(made->records[i].data, made->records[i].len, order, strlen(order)) != NULL;
	return users;
}

static void facts__of_one_round_only(void **state)
{
	(void)state;
	struct made made;
	make(&made, (struct mock_conversation_options){.seed = 11, .rounds = 200});
	for (size_t i = 0; i < made.count; i++) {
		if (!slice_starts_with(made.records[i], "{\"role\":\"user\""))
			continue;
		char order[11];
		const char *at = memmem(made.records[i].data, made.records[i].len, "ORD-", 4);
		assert_non_null(at);
		memcpy(order, at, sizeof(order) - 1);
		order[sizeof(order) - 1] = '\0';
		assert_int_equal(users_naming(&made, order), 1);
	}
	arena_release(&made.arena);
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct mock_conversation_options options = {
			.seed = 1, .rounds = 4, .message_tokens = 40, .ids = true};
		struct arena arena = ARENA_INIT;
		struct slice *records;
		size_t count;
		fail_alloc_start(nth);
		int rc = mock_conversation(&options, &arena, &records, &count);
		arena_release(&arena);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, BOBBIN_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds__user_call_results_reply),
		cmocka_unit_test(results__answer_the_calls_in_order),
		cmocka_unit_test(same_options__same_bytes),
		cmocka_unit_test(size__about_what_was_asked),
		cmocka_unit_test(ids__unique_and_only_if_wanted),
		cmocka_unit_test(facts__of_one_round_only),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
