/* SPDX-License-Identifier: MIT */
/* Finding facts among many: what may be left out of the search must not change what it gives. Tables of the first version. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "memory/row.h"
#include "support/fail.h"
#include "support/scratch.h"

#define DAY INT64_C(86400000000000)
#define NOW (INT64_C(20000) * DAY)

struct world {
	char dir[SCRATCH_PATH_BYTES];
	struct store *store;
	struct memory *memory;
	struct arena arena;
	struct fact *facts;
	size_t count;
};

/* Nothing here is about what survives: the disk need not be waited for. */
static void open_memory(struct world *world, const char *owner)
{
	memory_close(world->memory);
	assert_int_equal(memory_open(world->store, slice_of(owner), true, &world->memory, NULL), 0);
	assert_int_equal(database_run(world->memory->database, "PRAGMA synchronous=OFF", NULL), 0);
}

static void world_open(struct world *world, const char *owner)
{
	struct store_options options = {.create = true};

	memset(world, 0, sizeof *world);
	scratch_make(world->dir);
	assert_int_equal(store_open(platform_default(), world->dir, &options, &world->store, NULL), 0);
	open_memory(world, owner);
}

static void world_close(struct world *world)
{
	memory_close(world->memory);
	arena_release(&world->arena);
	store_close(world->store);
	scratch_remove(world->dir);
}

static void add(struct world *world, const char *text, int64_t said_ns, int64_t expires_ns)
{
	struct fact_new fact = {.text = slice_of(text), .said_ns = said_ns, .expires_ns = expires_ns};

	assert_int_equal(memory_add(world->memory, &fact, NULL, NULL), 0);
}

static size_t search(struct world *world, const char *query, double threshold, size_t limit)
{
	struct fact_search_options options = {.limit = limit, .threshold = threshold, .now_ns = NOW};

	arena_reset(&world->arena);
	assert_int_equal(memory_search(world->memory, slice_of(query), &options, &world->arena, &world->facts, &world->count, NULL), 0);
	return world->count;
}

/* ---- What is left out */

static void an_old_fact_is_found_by_its_rare_word_behind_thousands_with_the_common_ones(void **state)
{
	struct world world;
	char text[128];
	(void)state;

	world_open(&world, "ana");
	add(&world, "The tea with milk from Kolmar", DAY, 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "The tea with milk number%d", i);
		add(&world, text, 2 * DAY + i, 0);
	}
	assert_in_range(search(&world, "the tea with milk of Kolmar", 0, 5), 1, 5);
	assert_string_equal(world.facts[0].text, "The tea with milk from Kolmar");
	/* All of its words count, though the common ones were looked for last: it is the whole question. */
	assert_true(world.facts[0].score >= 1);
	world_close(&world);
}

/* Without a threshold every term is looked for everywhere. With one, what is given has the same score, and nothing is missing that
 * must reach it: a score is at most the share × 2.2 / 1.9 × 1.34, and 0.22 for what is beside the words. */
static void a_search_with_a_threshold_gives_what_one_without_gives_above_it(void **state)
{
	static const char *const WORDS[] = {"amber", "birch", "cedar", "dogwood", "elder", "fern", "ginger", "hazel", "iris", "juniper",
		"kelp", "lilac", "maple", "nettle", "olive", "poppy"};
	struct world world;
	uint64_t seed = 12345;
	unsigned compared = 0;
	(void)state;

	world_open(&world, "ana");
	for (int i = 0; i < 500; i++) {
		char text[256];
		size_t len = 0;
		for (int word = 0; word < 5; word++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			double uniform = (double)(seed >> 40) / (1 << 24); /* the first words are the common ones */
			len += (size_t)snprintf(text + len, sizeof text - len, "%s ", WORDS[(int)(16 * uniform * uniform)]);
		}
		snprintf(text + len, sizeof text - len, "note%d", i);
		add(&world, text, DAY + i, 0);
	}
	for (int i = 0; i < 40; i++) {
		struct fact all[100];
		char query[128];
		snprintf(query, sizeof query, "%s %s %s %s", WORDS[i % 16], WORDS[(i * 5 + 1) % 16], WORDS[(i * 7 + 2) % 16], WORDS[(i * 3 + 9) % 16]);
		size_t count = search(&world, query, -1, 100);
		memcpy(all, world.facts, count * sizeof *all);
		char texts[100][256];
		for (size_t k = 0; k < count; k++)
			snprintf(texts[k], sizeof texts[k], "%s", all[k].text);
		search(&world, query, 0.5, 100);
		size_t at = 0;
		for (size_t k = 0; k < world.count; k++, compared++) {
			for (at = 0; at < count && strcmp(texts[at], world.facts[k].text) != 0; at++)
				continue;
			if (at == count) /* its place was taken by what has less of the question but is shorter, and so on */
				assert_true(world.facts[k].score <= all[count - 1].score + 1e-9);
			else
				assert_true(fabs(all[at].score - world.facts[k].score) < 1e-9);
		}
		for (size_t k = 0; k < count && all[k].score >= 0.5 * 2.2 / 1.9 * 1.34 + 0.22; k++) {
			for (at = 0; at < world.count && strcmp(texts[k], world.facts[at].text) != 0; at++)
				continue;
			assert_true(at < world.count || world.count == 100);
		}
	}
	assert_true(compared > 100);
	world_close(&world);
}

static void a_thousand_expired_facts_do_not_take_the_place_of_one_that_holds(void **state)
{
	struct world world;
	char text[128];
	(void)state;

	world_open(&world, "ana");
	add(&world, "The password hint is walnut", DAY, 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "The walnut of day %d is ripe", i);
		add(&world, text, 2 * DAY + i, NOW - 1);
	}
	assert_int_equal(search(&world, "walnut", 0, 5), 1);
	assert_string_equal(world.facts[0].text, "The password hint is walnut");
	world_close(&world);
}

/* ---- What is no answer */

static void one_word_of_a_long_fact_is_no_answer_and_what_comes_with_an_answer_may_have_less(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, "ana");
	add(&world, "When we stood at the parade last summer somebody waved a huge flag and everybody cheered until dark", DAY, 0);
	assert_int_equal(search(&world, "Which flag does Peru have?", 0, 5), 1); /* half of the question */
	assert_int_equal(search(&world, "Which flag and anthem does Peru have?", 0, 5), 0); /* a third */
	add(&world, "A flag hangs over my desk", DAY, 0);
	assert_int_equal(search(&world, "Which flag and anthem does Peru have?", 0, 5), 2); /* the short one answers */
	assert_string_equal(world.facts[0].text, "A flag hangs over my desk");
	assert_int_equal(search(&world, "Which flag, anthem, currency and dish does Peru have?", 0, 5), 0); /* a fifth */
	world_close(&world);
}

/* ---- Owners */

/* Owner 1 has a word that begins as the terms of owner 12 do, without its own number. */
static void a_term_of_one_owner_is_never_another_ones(void **state)
{
	struct world world;
	char owner[32];
	(void)state;

	world_open(&world, "first");
	add(&world, "The code is 2xberlin", DAY, 0);
	for (int i = 2; i < 12; i++) {
		snprintf(owner, sizeof owner, "owner-%d", i);
		open_memory(&world, owner);
		add(&world, "The city is Lagos", DAY, 0);
	}
	open_memory(&world, "twelfth");
	add(&world, "The city is Berlin", DAY, 0);
	assert_int_equal(world.memory->owner_row, 12);
	assert_int_equal(search(&world, "berlin", 0, 5), 1);
	assert_string_equal(world.facts[0].text, "The city is Berlin");
	assert_int_equal(search(&world, "2xberlin", 0, 5), 0);
	open_memory(&world, "first");
	assert_int_equal(search(&world, "2xberlin", 0, 5), 1);
	assert_string_equal(world.facts[0].text, "The code is 2xberlin");
	assert_int_equal(search(&world, "berlin", 0, 5), 0);
	world_close(&world);
}

/* ---- Tables of the first version */

/* The index as version 1 had it, by hand: the owner in a column, each byte three digits. */
static const char FIRST_VERSION[] =
	"DROP TABLE fact_index; DROP INDEX facts_that_expire;"
	"CREATE VIRTUAL TABLE fact_index USING fts5 (owner, now, past, near, tokenize = 'ascii', detail = 'column');"
	"INSERT INTO fact_index (rowid, owner, now, past, near) VALUES"
	" (1, '097110097', '', 'i live in shanghai \xC2\xA7home', ''),"
	" (2, '097110097', 'i move to berlin \xC2\xA7home', '', ''),"
	" (3, '065110097', 'i live in lima ', '', 'which capit is it '),"
	" (4, '097110097', '\xE5\x8C\x97\xE4\xBA\xAC \xE5\x8C\x97 \xE4\xBA\xAC ', '', '');"
	"UPDATE rooms SET version = 1 WHERE name = 'memory'";

static void make_first_version(struct world *world)
{
	struct fact_new shanghai = {.text = SLICE_LITERAL("I live in Shanghai"), .relation = SLICE_LITERAL("home"), .said_ns = DAY};
	struct fact_new berlin = {.text = SLICE_LITERAL("I moved to Berlin"), .relation = SLICE_LITERAL("home"), .said_ns = 2 * DAY};
	struct fact_new lima = {.text = SLICE_LITERAL("I live in Lima"), .context = SLICE_LITERAL("Which capital is it?"), .said_ns = DAY};

	assert_int_equal(memory_add(world->memory, &shanghai, NULL, NULL), 0);
	assert_int_equal(memory_add(world->memory, &berlin, NULL, NULL), 0);
	open_memory(world, "Ana");
	assert_int_equal(memory_add(world->memory, &lima, NULL, NULL), 0);
	open_memory(world, "ana");
	add(world, "\xE5\x8C\x97\xE4\xBA\xAC", DAY, 0);
	assert_int_equal(database_run(world->memory->database, FIRST_VERSION, NULL), 0);
}

static void tables_of_the_first_version_are_brought_up_to_date(void **state)
{
	struct world world;
	(void)state;

	world_open(&world, "ana");
	make_first_version(&world);
	open_memory(&world, "ana");
	assert_int_equal(search(&world, "where do I live", 0, 5), 1);
	assert_string_equal(world.facts[0].text, "I moved to Berlin");
	assert_int_equal(search(&world, "where did I live before", 0, 5), 2);
	assert_int_equal(search(&world, "\xE5\x8C\x97\xE4\xBA\xAC", 0, 5), 1);
	assert_int_equal(search(&world, "lima", 0, 5), 0);
	assert_int_equal(memory_forget(world.memory, 2, NULL), 1);
	assert_int_equal(search(&world, "berlin", 0, 5), 0);
	open_memory(&world, "Ana");
	assert_int_equal(search(&world, "lima", 0, 5), 1);
	assert_int_equal(search(&world, "capital", 0, 5), 1); /* by what was said around it */
	assert_int_equal(search(&world, "berlin", 0, 5), 0);
	world_close(&world);
}

/* ---- Without memory */

static void a_search_without_memory_says_so_and_the_next_one_finds(void **state)
{
	struct fact_search_options options = {.now_ns = NOW};
	struct world world;
	(void)state;

	world_open(&world, "ana");
	for (int i = 0; i < 600; i++) {
		char text[64];
		snprintf(text, sizeof text, "Tea number%d of the day", i);
		add(&world, text, DAY + i, 0);
	}
	for (uint64_t nth = 1;; nth++) {
		arena_release(&world.arena);
		fail_alloc_start(nth);
		int code = memory_search(world.memory, slice_of("tea number7"), &options, &world.arena, &world.facts, &world.count, NULL);
		bool failed = fail_alloc_stop().failed;
		assert_int_equal(code, failed ? BOBBIN_ENOMEM : 0);
		if (!failed)
			break;
	}
	assert_int_equal(search(&world, "tea number7", 0, 5), 1);
	assert_string_equal(world.facts[0].text, "Tea number7 of the day");
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_old_fact_is_found_by_its_rare_word_behind_thousands_with_the_common_ones),
		cmocka_unit_test(a_search_with_a_threshold_gives_what_one_without_gives_above_it),
		cmocka_unit_test(a_thousand_expired_facts_do_not_take_the_place_of_one_that_holds),
		cmocka_unit_test(one_word_of_a_long_fact_is_no_answer_and_what_comes_with_an_answer_may_have_less),
		cmocka_unit_test(a_term_of_one_owner_is_never_another_ones),
		cmocka_unit_test(tables_of_the_first_version_are_brought_up_to_date),
		cmocka_unit_test(a_search_without_memory_says_so_and_the_next_one_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
