/* SPDX-License-Identifier: MIT */
/* Exact counts and tokens against fixed vectors of the reference, and what must hold for any text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bobbin.h>
#include "base/alloc.h"
#include "tokens/encoding.h"
#include "tokens/token_files.h"

#define O200K "o200k_base"
#define CL100K "cl100k_base"

static const char *const names[] = {O200K, CL100K};

static struct token_scratch *scratch;

static int make_scratch(void **state)
{
	(void)state;
	return (scratch = token_scratch_new()) ? 0 : -1;
}

static int free_scratch(void **state)
{
	(void)state;
	token_scratch_free(scratch);
	return 0;
}

static const struct encoding *built_in(const char *name)
{
	const struct encoding *encoding = encoding_by_name(name);
	if (!encoding) {
		print_message("skipped: built without the rank file of %s\n", name);
		skip();
	}
	return encoding;
}

static uint64_t count(const struct encoding *encoding, const char *text, size_t len)
{
	uint64_t tokens = 0;
	assert_int_equal(encoding_count(encoding, scratch, text, len, &tokens), 0);
	return tokens;
}

/* ---- vectors ---- */

static void check_vector(char *line)
{
	const char *name = token_field(&line);
	const struct encoding *encoding = built_in(name);
	const char *hex = token_field(&line);
	size_t len, expected = 0;
	char *text = token_text(hex, &len), *end;
	struct token_list list = {0};
	assert_non_null(text);
	assert_int_equal(encoding_encode(encoding, scratch, text, len, &list), 0);
	for (const char *at = line; *at; at = end) {
		unsigned long token = strtoul(at, &end, 10);
		if (end == at)
			break;
		if (expected >= list.count || list.tokens[expected] != token)
			fail_msg("%s of %s: token %zu is not %lu", name, hex, expected, token);
		expected++;
	}
	if (list.count != expected || count(encoding, text, len) != expected)
		fail_msg("%s of %s: %zu tokens, not %zu", name, hex, list.count, expected);
	token_list_release(&list);
	free(text);
}

static void vectors__every_token_is_that_of_the_reference(void **state)
{
	(void)state;
	char *file = token_file_read("vectors.tsv"), *at = file, *line;
	size_t checked = 0;
	assert_non_null(file);
	while ((line = token_line(&at))) {
		check_vector(line);
		checked++;
	}
	free(file);
	assert_true(checked >= 400);
}

static void vectors__with_text_on_both_sides_count_the_same_as_their_tokens(void **state)
{
	(void)state;
	char *file = token_file_read("vectors.tsv"), *at = file, *line;
	assert_non_null(file);
	while ((line = token_line(&at))) {
		/* Behind 57 bytes and before 90, so that every case crosses the end of a 64-byte block. */
		const struct encoding *encoding = built_in(token_field(&line));
		size_t len;
		char *text = token_text(token_field(&line), &len), *joined = malloc(len + 147);
		assert_non_null(joined);
		memset(joined, 'x', len + 147);
		memcpy(joined + 57, text, len);
		struct token_list list = {0};
		assert_int_equal(encoding_encode(encoding, scratch, joined, len + 147, &list), 0);
		assert_int_equal(count(encoding, joined, len + 147), list.count);
		token_list_release(&list);
		free(joined);
		free(text);
	}
	free(file);
}

/* ---- any text ---- */

static uint32_t seed_state;

static uint32_t next_random(uint32_t below)
{
	seed_state ^= seed_state << 13;
	seed_state ^= seed_state >> 17;
	seed_state ^= seed_state << 5;
	return seed_state % below;
}

static void random_bytes__count_equals_encode(void **state)
{
	(void)state;
	static const char alphabet[] =
		"''stlerv SLaB  \t\n\n\r/.(12\0\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\xcc\x81\xff";
	const char *given = getenv("TOKENS_SEED");
	seed_state = given ? (uint32_t)strtoul(given, NULL, 10) : 20260904;
	print_message("TOKENS_SEED=%lu\n", (unsigned long)seed_state);
	for (int round = 0; round < 20000; round++) {
		const struct encoding *encoding = built_in(names[round % 2]);
		size_t len = next_random(next_random(8) ? 40 : 300);
		char *text = malloc(len ? len : 1);
		for (size_t i = 0; i < len; i++)
			text[i] = next_random(50) ? alphabet[next_random(sizeof(alphabet) - 1)]
						  : (char)next_random(256);
		struct token_list list = {0};
		assert_int_equal(encoding_encode(encoding, scratch, text, len, &list), 0);
		uint64_t tokens = count(encoding, text, len);
		if (tokens != list.count)
			fail_msg("round %d: counted %llu, encoded %zu", round, (unsigned long long)tokens,
				list.count);
		token_list_release(&list);
		free(text);
	}
}

static void empty_text__has_no_tokens(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(count(built_in(names[i]), "", 0), 0);
}

static void unbroken_megabyte__is_counted(void **state)
{
	(void)state;
	static const struct {
		const char *unit;
		uint64_t o200k, cl100k; /* of 1,000,000 units, by the reference on shorter runs, extended */
	} runs[] = {
		{"1", 333334, 333334},
		{"a", 125000, 125000},
		{" ", 7813, 7813},
		{"\n", 62500, 31250},
	};
	enum { UNITS = 1000000 };
	char *text = malloc(UNITS);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		memset(text, runs[i].unit[0], UNITS);
		assert_int_equal(count(built_in(names[0]), text, UNITS), runs[i].o200k);
		assert_int_equal(count(built_in(names[1]), text, UNITS), runs[i].cl100k);
	}
	seed_state = 7;
	for (size_t i = 0; i < UNITS; i++)
		text[i] = (char)('a' + next_random(26));
	uint64_t tokens = count(built_in(names[0]), text, UNITS);
	assert_true(tokens > 500000 && tokens < 540000);
	free(text);
}

static void unbroken_characters__cjk_and_emoji_are_counted(void **state)
{
	(void)state;
	char *text = malloc(999999);
	assert_non_null(text);
	for (size_t i = 0; i < 333333; i++)
		memcpy(text + 3 * i, "\xe4\xb8\xad", 3);
	assert_int_equal(count(built_in(names[0]), text, 999999), 333333);
	for (size_t i = 0; i < 249999; i++)
		memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 4);
	assert_int_equal(count(built_in(names[0]), text, 999996), 249999);
	assert_int_equal(count(built_in(names[1]), text, 999996), 2 * 249999);
	free(text);
}

static void scratch__serves_both_encodings_in_turn(void **state)
{
	(void)state;
	/* From bands.tsv: the two encodings differ on this text, so a count of the other one would be seen.
	 */
	const char *text =
		"\xd0\x9a\xd0\xbe\xd0\xb3\xd0\xb4\xd0\xb0 \xd0\xbf\xd0\xbe\xd0\xb5\xd0\xb7\xd0\xb4";
	uint64_t first = count(built_in(names[0]), text, strlen(text)),
		 second = count(built_in(names[1]), text, strlen(text));
	assert_int_not_equal(first, second);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(count(built_in(names[0]), text, strlen(text)), first);
		assert_int_equal(count(built_in(names[1]), text, strlen(text)), second);
	}
}

static void surrogate_in_utf8__counts_as_one_replacement_character(void **state)
{
	(void)state;
	const struct encoding *encoding = built_in(names[0]);
	assert_int_equal(count(encoding, "a \xed\xa0\xbd b", 7), count(encoding, "a \xef\xbf\xbd b", 7));
}

/* ---- names, memory ---- */

static void models__have_the_encoding_that_is_published(void **state)
{
	(void)state;
	static const struct {
		const char *model, *encoding;
	} known[] = {
		{"gpt-4o", O200K},
		{"gpt-4o-mini-2024-07-18", O200K},
		{"openai/gpt-4.1", O200K},
		{"gpt-5-mini", O200K},
		{"o1-preview", O200K},
		{"o3-mini", O200K},
		{"o4-mini", O200K},
		{"GPT-4O", O200K},
		{"gpt-oss-120b", O200K},
		{"ft:gpt-4o-2024-08-06:acme::abc", O200K},
		{"gpt-4", CL100K},
		{"gpt-4-turbo-2024-04-09", CL100K},
		{"gpt-4-0613", CL100K},
		{"gpt-3.5-turbo", CL100K},
		{"gpt-35-turbo", CL100K},
		{"ft:gpt-3.5-turbo:x", CL100K},
		{"text-embedding-3-small", CL100K},
		{"claude-opus-4-1", NULL},
		{"gemini-2.5-pro", NULL},
		{"llama-3.3-70b", NULL},
		{"", NULL},
		{"mistral-large", NULL},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *name = encoding_name_for_model(known[i].model);
		if (!known[i].encoding)
			assert_null(name);
		else
			assert_string_equal(name, known[i].encoding);
	}
}

static void unknown_encoding__is_not_there(void **state)
{
	(void)state;
	assert_null(encoding_by_name("p50k_base"));
	assert_null(encoding_by_name(""));
}

static int allocations_left;

static void *failing_allocate(void *context, size_t bytes)
{
	(void)context;
	return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

static void *failing_reallocate(void *context, void *memory, size_t bytes)
{
	(void)context;
	return allocations_left-- > 0 ? realloc(memory, bytes) : NULL;
}

static void plain_release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

/* A long piece needs memory to be merged, an invalid one to be mended; each failing allocation must come
 * back. */
static void out_of_memory__is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	const struct encoding *encoding = built_in(names[0]);
	char text[5001];
	memset(text, 'a', sizeof(text));
	text[5000] = '\xff';
	int succeeded = 0;
	alloc_set(&(struct allocator){failing_allocate, failing_reallocate, plain_release, NULL});
	for (int allowed = 0; allowed < 40 && !succeeded; allowed++) {
		allocations_left = allowed;
		struct token_scratch *own = token_scratch_new();
		uint64_t tokens = 42;
		struct token_list list = {0};
		int rc = own ? encoding_count(encoding, own, text, sizeof(text), &tokens) : BOBBIN_ENOMEM;
		if (rc == 0)
			rc = encoding_encode(encoding, own, text, sizeof(text), &list);
		else
			assert_int_equal(tokens, 42);
		succeeded = rc == 0;
		if (rc != 0)
			assert_int_equal(rc, BOBBIN_ENOMEM);
		token_list_release(&list);
		token_scratch_free(own);
	}
	alloc_set(NULL);
	assert_true(succeeded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors__every_token_is_that_of_the_reference),
		cmocka_unit_test(vectors__with_text_on_both_sides_count_the_same_as_their_tokens),
		cmocka_unit_test(random_bytes__count_equals_encode),
		cmocka_unit_test(empty_text__has_no_tokens),
		cmocka_unit_test(unbroken_megabyte__is_counted),
		cmocka_unit_test(unbroken_characters__cjk_and_emoji_are_counted),
		cmocka_unit_test(scratch__serves_both_encodings_in_turn),
		cmocka_unit_test(surrogate_in_utf8__counts_as_one_replacement_character),
		cmocka_unit_test(models__have_the_encoding_that_is_published),
		cmocka_unit_test(unknown_encoding__is_not_there),
		cmocka_unit_test(out_of_memory__is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests_name("tokens/encoding", tests, make_scratch, free_scratch);
}
