/* SPDX-License-Identifier: MIT */
/* Facts in the store: owners, sources, superseding, forgetting, finding. Cases E1, E2, X29, X30. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/platform.h"
#include "memory/judge.h"
#include "memory/memory.h"
#include "memory/row.h"
#include "store/database.h"
#include "support/fail.h"
#include "support/scratch.h"

#define DAY INT64_C(86400000000000)

struct world {
	char dir[SCRATCH_PATH_BYTES];
	struct fail_platform platform;
	struct store *store;
	struct arena arena;
	struct bobbin_error error;
};

static void world_open(struct world *world)
{
	struct store_options options = {.create = true};

	memset(world, 0, sizeof *world);
	scratch_make(world->dir);
	fail_platform_init(&world->platform);
	assert_int_equal(store_open(&world->platform.table, world->dir, &options, &world->store, NULL), 0);
}

static void world_close(struct world *world)
{
	arena_release(&world->arena);
	store_close(world->store);
	scratch_remove(world->dir);
}

static struct memory *open_memory(struct world *world, const char *owner)
{
	struct memory *memory = NULL;

	assert_int_equal(memory_open(world->store, slice_of(owner), true, &memory, &world->error), 0);
	return memory;
}

static uint64_t add(struct memory *memory, const char *text, const char *relation)
{
	struct fact_new fact = {.text = slice_of(text), .relation = slice_of(relation)};
	struct fact_report report;

	assert_int_equal(memory_add(memory, &fact, &report, NULL), 0);
	return report.number;
}

static struct fact_report learn(struct memory *memory, const char *text, const char *session, const char *message,
	int64_t said_ns, bool candidate)
{
	struct fact_new fact = {.text = slice_of(text), .session = slice_of(session), .message = slice_of(message),
		.said_ns = said_ns, .candidate = candidate};
	struct fact_report report;

	assert_int_equal(memory_learn(memory, &fact, &report, NULL), 0);
	return report;
}

static size_t search(struct world *world, struct memory *memory, const char *query, size_t limit, struct fact **ret_facts)
{
	struct fact_search_options options = {.limit = limit};
	size_t count = 0;

	arena_reset(&world->arena);
	assert_int_equal(
		memory_search(memory, slice_of(query), &options, &world->arena, ret_facts, &count, &world->error), 0);
	return count;
}

static size_t count_all(struct world *world, struct memory *memory)
{
	struct fact_list_options options = {.past = true, .candidates = true};
	struct fact *facts;
	size_t count = 0;

	arena_reset(&world->arena);
	assert_int_equal(memory_list(memory, &options, &world->arena, &facts, &count, &world->error), 0);
	return count;
}

static void e1_a_forgotten_fact_takes_no_place_and_does_not_come_back(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "p"), *running = open_memory(&world, "p");
	int64_t said = world.platform.table.realtime_ns(world.platform.table.context) - DAY;
	struct fact_report f1 = learn(memory, "use library J for tokens, not K", "s1", "m1", said, false);
	struct fact_new f2 = {.text = SLICE_LITERAL("tokens expire after 30 minutes"), .expires_ns = said + 3 * DAY};
	assert_int_equal(memory_add(memory, &f2, NULL, NULL), 0);
	assert_int_equal(memory_forget(memory, f1.number, &world.error), 1);
	assert_int_equal(memory_forget(memory, f1.number, &world.error), 0);
	assert_int_equal(memory_forget(memory, 999, &world.error), 0);
	assert_int_equal(search(&world, memory, "tokens", 1, &facts), 1);
	assert_string_equal(facts[0].text, "tokens expire after 30 minutes");
	/* An extraction that was running: the same message, and an older one that says the same. */
	assert_int_equal(learn(running, "use library J for tokens, not K", "s1", "m1", said, false).added, FACT_BURIED);
	assert_int_equal(learn(running, "Use library J for tokens", "s1", "m1", said, false).added, FACT_BURIED);
	assert_int_equal(learn(running, "use library J for tokens, not K", "s2", "m9", said, false).added, FACT_BURIED);
	memory_close(memory);
	memory_close(running);
	memory = open_memory(&world, "p"); /* a restart */
	assert_int_equal(search(&world, memory, "library", 5, &facts), 0);
	assert_int_equal(count_all(&world, memory), 1);
	struct fact_search_options later = {.now_ns = said + 4 * DAY};
	size_t count;
	assert_int_equal(memory_search(memory, slice_of("tokens"), &later, &world.arena, &facts, &count, NULL), 0);
	assert_int_equal(count, 0); /* expired */
	/* By hand it may come back, and later words of the person too. */
	add(memory, "use library J for tokens, not K", "");
	assert_int_equal(search(&world, memory, "library", 5, &facts), 1);
	memory_close(memory);
	world_close(&world);
}

static void e1_nothing_of_a_forgotten_text_is_left_in_the_files(void **state)
{
	struct world world;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "p");
	uint64_t number = add(memory, "the alarm code is zanzibarquux", "");
	add(memory, "likes tea", "");
	assert_int_equal(memory_forget(memory, number, &world.error), 1);
	const char *const names[] = {"bobbin.db", "bobbin.db-wal"};
	for (size_t i = 0; i < 2; i++) {
		size_t len = 0;
		char *data = scratch_read(world.dir, names[i], &len);
		assert_true(!data || !memmem(data, len, "zanzibarq", 9));
		free(data);
	}
	memory_close(memory);
	world_close(&world);
}

static void e2_nothing_crosses_between_owners(void **state)
{
	static const char *const OTHERS[] = {"u2", "u10", "u1.x", "U1", "u", "u1 ", "117049"};
	struct world world;
	struct fact *facts;
	struct memory *none = NULL;
	(void)state;

	world_open(&world);
	struct memory *u1 = open_memory(&world, "u1");
	learn(u1, "door code 4417", "main", "m1", 5, false);
	for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
		struct memory *other = open_memory(&world, OTHERS[i]);
		assert_int_equal(search(&world, other, "door code", 5, &facts), 0);
		assert_int_equal(count_all(&world, other), 0);
		assert_int_equal(memory_forget(other, 1, &world.error), 0);
		assert_int_equal(memory_correct(other, 1, slice_of("x"), &world.error), BOBBIN_ENOTFOUND);
		learn(other, "door code 9999", "main", "m1", 5, false); /* the same session id */
		memory_close(other);
	}
	assert_int_equal(search(&world, u1, "door code", 5, &facts), 1);
	assert_string_equal(facts[0].text, "door code 4417");
	assert_int_equal(memory_open(world.store, slice_of(""), true, &none, &world.error), BOBBIN_EINVAL);
	assert_int_equal(memory_open(world.store, (struct slice){NULL, 0}, true, &none, &world.error), BOBBIN_EINVAL);
	memory_close(u1);
	world_close(&world);
}

static void x30_equal_adds_are_one_fact_with_merged_sources(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	learn(memory, "I prefer dark mode", "s1", "m1", 100, false);
	assert_int_equal(learn(memory, "i prefer  DARK mode.", "s2", "m4", 200, false).added, FACT_MERGED);
	assert_int_equal(learn(memory, " I prefer dark\tmode", "s2", "m7", 300, false).added, FACT_MERGED);
	assert_int_equal(learn(memory, "I prefer dark mode", "s1", "m1", 100, false).added, FACT_MERGED); /* again */
	assert_int_equal(search(&world, memory, "dark mode", 5, &facts), 1);
	assert_int_equal(facts[0].source_count, 3);
	assert_int_equal(facts[0].sessions, 2);
	assert_int_equal(count_all(&world, memory), 1);
	memory_close(memory);
	world_close(&world);
}

static void x29_a_hundred_rounds_of_inject_and_extract_add_nothing(void **state)
{
	struct world world;
	struct memory_taken taken = {0};
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	assert_int_equal(memory_take(memory, slice_of("s"), slice_of("m1"), slice_of("I live in Shanghai. Fix the test."),
				 slice_of(""), 1000, &taken, NULL), 0);
	assert_int_equal(taken.kept, 1);
	assert_int_equal(count_all(&world, memory), 1);
	for (int i = 0; i < 100; i++) {
		char id[16], text[512];
		snprintf(id, sizeof id, "m%d", i + 2);
		snprintf(text, sizeof text,
			MEMORY_HEADING "\n- I live in Shanghai (said 2026-01-01)\n- I like tea (said 2026-01-01)\n\n"
			"<memory>\nI work at Acme\n</memory>\n```\nI live in Rome\n```\n> I hate fish\nWhat about question %d?",
			i);
		assert_int_equal(memory_take(memory, slice_of("s"), slice_of(id), slice_of(text), slice_of(""), 2000 + i,
					 &taken, NULL), 0);
	}
	arena_reset(&world.arena);
	struct fact_list_options all = {.past = true, .candidates = true};
	struct fact *facts;
	size_t count;
	assert_int_equal(memory_list(memory, &all, &world.arena, &facts, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(facts[0].source_count, 1);
	assert_string_equal(facts[0].sources[0].message, "m1");
	memory_close(memory);
	world_close(&world);
}

static void a_newer_fact_of_the_same_relation_supersedes_and_the_past_is_found_with_its_dates(void **state)
{
	struct world world;
	struct fact *facts;
	struct memory_taken taken = {0};
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	memory_take(memory, slice_of("s"), slice_of("m1"), slice_of("I live in Shanghai"), slice_of(""), 10 * DAY, &taken, NULL);
	memory_take(memory, slice_of("s"), slice_of("m2"), slice_of("I work at a bakery"), slice_of(""), 15 * DAY, &taken, NULL);
	memory_take(memory, slice_of("t"), slice_of("m1"), slice_of("I moved to Berlin"), slice_of(""), 20 * DAY, &taken, NULL);
	assert_int_equal(search(&world, memory, "Where do I live?", 5, &facts), 1);
	assert_string_equal(facts[0].text, "I moved to Berlin");
	assert_int_equal(search(&world, memory, "Shanghai", 5, &facts), 0);
	assert_int_equal(search(&world, memory, "Where did I live before?", 5, &facts), 2);
	const struct fact *past = facts[0].ended_ns ? &facts[0] : &facts[1];
	assert_string_equal(past->text, "I live in Shanghai");
	assert_int_equal(past->valid_ns, 10 * DAY);
	assert_int_equal(past->ended_ns, 20 * DAY);
	assert_int_equal(search(&world, memory, "Where do I work?", 5, &facts), 1); /* another relation goes on */
	/* An older statement that is read later has ended already. */
	memory_take(memory, slice_of("old"), slice_of("m1"), slice_of("I live in Rome"), slice_of(""), 5 * DAY, &taken, NULL);
	assert_int_equal(search(&world, memory, "Where do I live?", 5, &facts), 1);
	assert_string_equal(facts[0].text, "I moved to Berlin");
	memory_close(memory);
	world_close(&world);
}

static void a_candidate_settles_when_it_recurs_in_another_session(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	learn(memory, "I am looking at flights to Rome", "s1", "m1", 100, true);
	learn(memory, "I am looking at flights to Rome", "s1", "m5", 200, true);
	assert_int_equal(search(&world, memory, "flights Rome", 5, &facts), 0);
	assert_int_equal(learn(memory, "I'm looking at cheap flights to Rome", "s2", "m1", 300, true).added, FACT_SETTLED);
	assert_int_equal(search(&world, memory, "flights Rome", 5, &facts), 1);
	assert_int_equal(count_all(&world, memory), 1);
	memory_close(memory);
	world_close(&world);
}

static void of_two_hundred_preferences_the_right_ones_are_found_and_at_most_five(void **state)
{
	struct world world;
	struct fact *facts;
	char text[128];
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	static const char *const THINGS[] = {"tea", "tables", "gardens", "novels", "bicycles", "lamps", "stamps", "songs",
		"rivers", "shoes"};
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "The user prefers %s of kind k%d for reason r%d", THINGS[i % 10], i, i * 7);
		add(memory, text, "");
	}
	add(memory, "The user is allergic to peanuts", "allergy");
	size_t count = search(&world, memory, "Which snacks with peanuts can I order?", 0, &facts);
	assert_in_range(count, 1, 5);
	assert_string_equal(facts[0].text, "The user is allergic to peanuts");
	assert_int_equal(search(&world, memory, "bicycles", 0, &facts), 5);
	for (int i = 0; i < 5; i++)
		assert_non_null(strstr(facts[i].text, "bicycles"));
	assert_int_equal(search(&world, memory, "What is the capital of France?", 0, &facts), 0);
	assert_int_equal(search(&world, memory, "Sort an array of integers in Rust", 0, &facts), 0);
	memory_close(memory);
	world_close(&world);
}

static void the_only_fact_is_found_and_so_are_chinese_and_japanese_words_of_two_characters(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	add(memory, "rewrite that second paragraph", ""); /* whatever the classifier says of it */
	assert_int_equal(search(&world, memory, "paragraph", 5, &facts), 1);
	memory_close(memory);
	memory = open_memory(&world, "li");
	add(memory, "我女儿在北京大学读书", "");
	add(memory, "猫を飼っています。東京の近くです。", "");
	assert_int_equal(search(&world, memory, "北京", 5, &facts), 1);
	assert_int_equal(search(&world, memory, "女儿", 5, &facts), 1);
	assert_int_equal(search(&world, memory, "東京", 5, &facts), 1);
	assert_int_equal(search(&world, memory, "猫", 5, &facts), 1);
	assert_int_equal(search(&world, memory, "上海", 5, &facts), 0);
	memory_close(memory);
	world_close(&world);
}

static void a_correction_reaches_the_index_and_keeps_sources(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	uint64_t number = learn(memory, "my dog is called Rex", "s1", "m1", 100, false).number;
	assert_int_equal(memory_correct(memory, number, slice_of("my dog is called Max"), &world.error), 0);
	assert_int_equal(search(&world, memory, "Rex", 5, &facts), 0);
	assert_int_equal(search(&world, memory, "Max", 5, &facts), 1);
	assert_string_equal(facts[0].sources[0].message, "m1");
	assert_int_equal(learn(memory, "my dog is called Rex", "s1", "m1", 100, false).added, FACT_BURIED);
	memory_close(memory);
	world_close(&world);
}

/* 2026-11-30 12:00 UTC, a day before the next one begins. */
#define NOON_NS (INT64_C(1796040000) * 1000000000)

static void a_correction_takes_along_what_was_read_out_of_the_old_words(void **state)
{
	struct world world;
	struct fact *facts;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	struct fact_new fact = {.text = SLICE_LITERAL("The weather is nice today."), .relation = SLICE_LITERAL("lives"),
		.said_ns = NOON_NS, .expires_ns = NOON_NS + INT64_C(43200) * 1000000000};
	struct fact_report report;
	assert_int_equal(memory_add(memory, &fact, &report, &world.error), 0);
	assert_int_equal(memory_correct(memory, report.number, slice_of("My dog is called Max."), &world.error), 0);
	assert_int_equal(search(&world, memory, "dog", 5, &facts), 1);
	assert_int_equal(facts[0].expires_ns, 0);
	assert_string_equal(facts[0].relation, "lives"); /* said beside it, as no words of it are about that */

	/* When it expires was said beside the words. */
	fact.text = SLICE_LITERAL("My cat is called Tom.");
	fact.relation = SLICE_LITERAL("");
	assert_int_equal(memory_add(memory, &fact, &report, &world.error), 0);
	assert_int_equal(memory_correct(memory, report.number, slice_of("My cat is called Tim."), &world.error), 0);
	assert_int_equal(search(&world, memory, "cat", 5, &facts), 1);
	assert_int_equal(facts[0].expires_ns, fact.expires_ns);
	memory_close(memory);
	world_close(&world);
}

static struct fact_report propose(struct memory *memory, const char *text, const char *message)
{
	struct fact_new fact = {.text = slice_of(text), .session = SLICE_LITERAL("s1"), .message = slice_of(message)};
	struct fact_report report = {0};

	assert_int_equal(memory_propose(memory, &fact, &report, NULL), 0);
	return report;
}

static void what_a_model_proposes_waits_for_the_person(void **state)
{
	struct world world;
	struct fact *facts;
	struct fact_report report;
	char text[64];
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	uint64_t home = add(memory, "I live in Shanghai", "home");
	struct fact_new rome = {.text = SLICE_LITERAL("The user lives in Rome"), .relation = SLICE_LITERAL("home"),
		.session = SLICE_LITERAL("s1"), .message = SLICE_LITERAL("m2")};
	assert_int_equal(memory_propose(memory, &rome, &report, NULL), 0);
	assert_int_equal(report.added, FACT_ADDED);
	assert_int_equal(report.superseded, 0); /* it ends nothing */
	uint64_t waiting = report.number;
	assert_int_equal(search(&world, memory, "Rome", 5, &facts), 0);
	assert_int_equal(search(&world, memory, "Where do I live?", 5, &facts), 1);
	/* Nothing new: in other sessions too, and of what is known it makes no source. */
	assert_int_equal(propose(memory, "the user lives in ROME", "m9").added, FACT_KNOWN);
	assert_int_equal(propose(memory, "I live in Shanghai", "m9").added, FACT_KNOWN);
	assert_int_equal(search(&world, memory, "Shanghai", 5, &facts), 1);
	assert_int_equal(facts[0].source_count, 1);
	assert_int_equal(facts[0].number, home);
	/* The person says the same: theirs, from their message alone. */
	int64_t later = world.platform.table.realtime_ns(world.platform.table.context) + DAY;
	assert_int_equal(learn(memory, "The user lives in Rome", "s2", "m7", later, false).added, FACT_SETTLED);
	assert_int_equal(search(&world, memory, "Rome", 5, &facts), 1);
	assert_int_equal(facts[0].number, waiting);
	assert_int_equal(facts[0].source_count, 1);
	assert_string_equal(facts[0].sources[0].message, "m7");
	assert_int_equal(facts[0].said_ns, later);
	/* Or keeps it. */
	uint64_t trains = propose(memory, "The user likes trains", "m3").number;
	assert_int_equal(memory_keep(memory, trains, &report, NULL), 0);
	assert_int_equal(report.added, FACT_SETTLED);
	assert_int_equal(memory_keep(memory, trains, &report, NULL), 0);
	assert_int_equal(report.added, FACT_KNOWN);
	assert_int_equal(memory_keep(memory, 999, &report, &world.error), BOBBIN_ENOTFOUND);
	assert_int_equal(search(&world, memory, "trains", 5, &facts), 1);
	assert_string_equal(facts[0].sources[0].session, "");
	/* What was forgotten, whenever that was, no model brings back. */
	assert_int_equal(memory_forget(memory, trains, NULL), 1);
	assert_int_equal(propose(memory, "the user likes TRAINS", "m99").added, FACT_BURIED);
	/* A forgotten proposal does not bury what else its session says. */
	uint64_t boats = propose(memory, "The user likes boats", "m3").number;
	assert_int_equal(memory_forget(memory, boats, NULL), 1);
	assert_int_equal(propose(memory, "The user likes planes", "m4").added, FACT_ADDED);
	struct memory *other = open_memory(&world, "bert"); /* and another owner's is another's */
	assert_int_equal(count_all(&world, other), 0);
	assert_int_equal(memory_keep(other, waiting, &report, &world.error), BOBBIN_ENOTFOUND);
	memory_close(other);
	int code = 0, waits = 1;
	for (; code == 0 && waits < 1000; waits++) {
		snprintf(text, sizeof text, "The user likes number %d", waits);
		struct fact_new many = {.text = slice_of(text), .session = SLICE_LITERAL("s"), .message = SLICE_LITERAL("m")};
		code = memory_propose(memory, &many, NULL, &world.error);
	}
	assert_int_equal(code, BOBBIN_ELIMIT);
	assert_int_equal(waits - 1, FACT_PROPOSALS_MAX);
	memory_close(memory);
	world_close(&world);
}

static void a_proposal_without_memory_changes_nothing(void **state)
{
	struct world world;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	add(memory, "one fact", "");
	struct fact_new fact = {.text = SLICE_LITERAL("another fact about tea"), .session = SLICE_LITERAL("s"),
		.message = SLICE_LITERAL("m")};
	for (int keeping = 0; keeping < 2; keeping++)
		for (uint64_t nth = 1;; nth++) {
			fail_alloc_start(nth);
			int code = keeping ? memory_keep(memory, 2, NULL, NULL) : memory_propose(memory, &fact, NULL, NULL);
			if (!fail_alloc_stop().failed) {
				assert_int_equal(code, 0);
				break;
			}
			assert_int_equal(code, BOBBIN_ENOMEM);
			struct fact *facts;
			assert_int_equal(count_all(&world, memory), keeping ? 2 : 1);
			assert_int_equal(search(&world, memory, "tea", 5, &facts), 0);
		}
	memory_close(memory);
	world_close(&world);
}

static void an_add_without_memory_or_disk_adds_nothing(void **state)
{
	struct world world;
	(void)state;

	world_open(&world);
	struct memory *memory = open_memory(&world, "ana");
	add(memory, "one fact", "");
	struct fact_new fact = {.text = SLICE_LITERAL("another fact about tea"), .relation = SLICE_LITERAL("taste tea")};
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		int code = memory_add(memory, &fact, NULL, NULL);
		if (!fail_alloc_stop().failed) {
			assert_int_equal(code, 0);
			break;
		}
		assert_int_equal(code, BOBBIN_ENOMEM);
		assert_int_equal(count_all(&world, memory), 1);
	}
	assert_int_equal(count_all(&world, memory), 2);
	memory_close(memory);
	/* A full disk, as SQLite sees it: the database may not grow. */
	memory = open_memory(&world, "ana");
	assert_int_equal(database_run(memory->database, "PRAGMA max_page_count = 1", NULL), 0);
	size_t stored = 2;
	int code = 0;
	for (int i = 0; code == 0 && i < 1000; i++) {
		char text[1000];
		memset(text, 'x', sizeof text);
		text[snprintf(text, sizeof text, "fact number %d about ", i)] = 'y';
		fact = (struct fact_new){.text = {text, sizeof text}};
		code = memory_add(memory, &fact, NULL, &world.error);
		stored += code == 0;
	}
	assert_int_equal(code, BOBBIN_ENOSPC);
	assert_int_equal(count_all(&world, memory), stored);
	memory_close(memory);
	world_close(&world);
}

static void killed_in_the_middle_every_acknowledged_fact_is_there_and_no_half_of_one(void **state)
{
	struct world world;
	int pipes[2];
	(void)state;

	world_open(&world);
	assert_int_equal(pipe(pipes), 0);
	for (int round = 0; round < 4; round++) {
		pid_t child = fork();
		if (child == 0) {
			struct memory *memory = open_memory(&world, "ana");
			for (uint32_t i = 0; i < 1000; i++) {
				char text[64];
				snprintf(text, sizeof text, "likes thing%dx%u", round, i);
				add(memory, text, "");
				if (write(pipes[1], "+", 1) != 1)
					_exit(1);
			}
			_exit(0);
		}
		usleep(60000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	close(pipes[1]);
	size_t acknowledged = 0;
	for (char c; read(pipes[0], &c, 1) == 1;)
		acknowledged++;
	close(pipes[0]);
	struct memory *memory = open_memory(&world, "ana");
	size_t count = count_all(&world, memory);
	assert_in_range(count, acknowledged, acknowledged + 4);
	struct fact_search_options options = {.limit = 100};
	struct fact *facts;
	size_t found = 0;
	for (int round = 0; round < 4; round++) { /* row, index and counts agree: each can be found by its own word */
		char word[32];
		snprintf(word, sizeof word, "thing%dx0", round);
		assert_int_equal(memory_search(memory, slice_of(word), &options, &world.arena, &facts, &found, NULL), 0);
	}
	memory_close(memory);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(e1_a_forgotten_fact_takes_no_place_and_does_not_come_back),
		cmocka_unit_test(e1_nothing_of_a_forgotten_text_is_left_in_the_files),
		cmocka_unit_test(e2_nothing_crosses_between_owners),
		cmocka_unit_test(x30_equal_adds_are_one_fact_with_merged_sources),
		cmocka_unit_test(x29_a_hundred_rounds_of_inject_and_extract_add_nothing),
		cmocka_unit_test(a_newer_fact_of_the_same_relation_supersedes_and_the_past_is_found_with_its_dates),
		cmocka_unit_test(a_candidate_settles_when_it_recurs_in_another_session),
		cmocka_unit_test(of_two_hundred_preferences_the_right_ones_are_found_and_at_most_five),
		cmocka_unit_test(the_only_fact_is_found_and_so_are_chinese_and_japanese_words_of_two_characters),
		cmocka_unit_test(a_correction_reaches_the_index_and_keeps_sources),
		cmocka_unit_test(a_correction_takes_along_what_was_read_out_of_the_old_words),
		cmocka_unit_test(what_a_model_proposes_waits_for_the_person),
		cmocka_unit_test(a_proposal_without_memory_changes_nothing),
		cmocka_unit_test(an_add_without_memory_or_disk_adds_nothing),
		cmocka_unit_test(killed_in_the_middle_every_acknowledged_fact_is_there_and_no_half_of_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
