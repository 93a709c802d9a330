/* SPDX-License-Identifier: MIT */
/*
 * What is done to whole stores and sessions, with its nth allocation and its nth call to the system failing, from the first
 * to the last it makes: deleting a parent whose forks get copies, repairs, the doctor, backups, costs, search, an import,
 * writing files. The caller is told, or it is done; the store is as before or as after, never between; nothing is leaked; an
 * answer that is given is whole or says that it is not; and it works when it is done again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include "session/handles.h"
#include "support/failure.h"
#include "support/scratch.h"
#include "support/soak.h"
#include "whole.h"

#define SOME_TIME INT64_C(1788516000000000000)
#define TRANSCRIPT                                                                                           \
	"{\"messages\":[{\"role\":\"user\",\"content\":\"from elsewhere\"},"                                \
	"{\"role\":\"assistant\",\"content\":\"needle\"}]}\n"

struct world {
	char dir[SCRATCH_PATH_BYTES], store[SCRATCH_PATH_BYTES], backup[SCRATCH_PATH_BYTES];
	struct fail_platform platform;
};

/* ---- What is there ---- */

static int open_store(struct world *world, bobbin_store **ret_store)
{
	struct store_options options = {
		.create = true,
		.force_filesystem = true,
		.index_step = 1,
		.catalogue_step = 1,
		.stamp_tick_ns = -1};
	bobbin_store *store;
	int rc = bobbin_store_open(world->store, NULL, &store, NULL);

	if (rc)
		return rc;
	store_close(store->store);
	store->store = NULL;
	rc = store_open(&world->platform.table, world->store, &options, &store->store, NULL);
	if (rc)
		bobbin_store_close(store);
	else
		*ret_store = store;
	return rc;
}

static void say(bobbin_session *session, const char *record)
{
	assert_int_equal(bobbin_session_append(session, record, strlen(record), NULL, NULL, NULL), 0);
}

static bobbin_session *open_session(bobbin_store *store, const char *id)
{
	bobbin_session *session;

	assert_int_equal(bobbin_session_open(store, id, NULL, &session, NULL), 0);
	return session;
}

/* A parent and its fork, one that is damaged, one with a file, something that a crash left. The same each time. */
static void prepare(struct world *world)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	bobbin_store *store;
	bobbin_session *session;

	memset(world, 0, sizeof(*world));
	scratch_make(world->dir);
	snprintf(world->store, sizeof(world->store), "%s", scratch_path(world->dir, "store"));
	snprintf(world->backup, sizeof(world->backup), "%s", scratch_path(world->dir, "backup"));
	fail_platform_init(&world->platform);
	world->platform.skip_sync = true;
	fail_platform_set_time(&world->platform, SOME_TIME, SOME_TIME);
	fail_platform_set_random(&world->platform, 7);
	assert_int_equal(open_store(world, &store), 0);
	session = open_session(store, "main");
	say(session, "{\"role\":\"user\",\"content\":\"hello\"}");
	say(session, "{\"role\":\"assistant\",\"content\":\"a needle\"}");
	say(session, "{\"type\":\"usage\",\"for\":\"m2\",\"input\":812,\"output\":31,\"nanousd\":5}");
	say(session, "{\"role\":\"user\",\"content\":\"only in the parent\"}");
	options.id = "child";
	assert_int_equal(bobbin_session_fork(session, "2", &options, NULL, NULL), 0);
	bobbin_session_close(session);
	session = open_session(store, "child");
	say(session, "{\"role\":\"user\",\"content\":\"another needle\"}");
	bobbin_session_close(session);
	session = open_session(store, "bad");
	say(session, "{\"role\":\"user\",\"content\":\"before\"}");
	scratch_append(world->store, "bad.jsonl", "{\"torn\n", 7);
	assert_int_equal(bobbin_session_refresh(session, NULL), 0);
	say(session, "{\"role\":\"user\",\"content\":\"after it\"}");
	bobbin_session_close(session);
	session = open_session(store, "files");
	assert_int_equal(bobbin_file_put(session, "a.txt", "one", 3, NULL), 0);
	bobbin_session_close(session);
	bobbin_store_close(store);
	scratch_write_text(world->store, ".gone.jsonl.tmp", "{}");
}

static void finish(struct world *world)
{
	scratch_remove(world->dir);
}

/* ---- What is done ---- */

static int do_materialize(struct world *world, bobbin_store *store)
{
	(void)world;
	return bobbin_session_delete_materialized(store, "main", NULL);
}

static int do_repair(struct world *world, bobbin_store *store)
{
	struct bobbin_repaired repaired;
	int rc = bobbin_repair_session(store, "bad", &repaired, NULL);

	(void)world;
	if (!rc)
		assert_int_equal(repaired.messages, 2);
	return rc;
}

static int do_repair_store(struct world *world, bobbin_store *store)
{
	uint64_t mended;

	(void)world;
	return bobbin_repair_store(store, &mended, NULL);
}

static int do_doctor(struct world *world, bobbin_store *store)
{
	bobbin_faults *faults = NULL;
	bool torn = false;
	int rc = bobbin_doctor_session(store, "bad", &faults, NULL);

	(void)world;
	for (size_t i = 0; !rc && i < bobbin_faults_count(faults); i++)
		torn = torn || strcmp(bobbin_faults_get(faults, i)->kind, "torn") == 0;
	/* What could not be looked at is a fault of its own. */
	assert_true(rc || torn || bobbin_faults_count(faults) > 0);
	if (!rc)
		bobbin_faults_free(faults);
	return rc;
}

static int do_backup(struct world *world, bobbin_store *store)
{
	struct bobbin_backup_report report = {0};
	int rc = bobbin_backup(store, world->backup, &report, NULL);

	if (!rc)
		bobbin_faults_free(report.left_out);
	return rc;
}

static int do_cost(struct world *world, bobbin_store *store)
{
	const struct bobbin_cost_row *row;
	bobbin_cost *cost;
	bool unread = false;
	int rc = bobbin_cost_open(store, "child", NULL, &cost, NULL);

	(void)world;
	if (rc)
		return rc;
	while ((row = bobbin_cost_next(cost)) != NULL)
		unread = unread || row->unread || row->node->session->damaged;
	if (!unread)
		assert_int_equal(bobbin_cost_total(cost)->input, 812);
	bobbin_cost_close(cost);
	return 0;
}

static int do_search(struct world *world, bobbin_store *store)
{
	const struct bobbin_match *match;
	bobbin_search *search;
	uint64_t hits = 0;
	int rc = bobbin_search_open(store, "needle", 6, NULL, &search, NULL);

	(void)world;
	if (rc)
		return rc;
	while ((rc = bobbin_search_next(search, &match, NULL)) > 0)
		hits += match->hits;
	if (!rc && !bobbin_search_skipped(search))
		assert_int_equal(hits, 2);
	bobbin_search_close(search);
	return rc;
}

static int do_import(struct world *world, bobbin_store *store)
{
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	bobbin_import *import;
	int rc;

	(void)world;
	options.id = "imported";
	rc = bobbin_import_data(store, TRANSCRIPT, strlen(TRANSCRIPT), &options, &import, NULL);
	if (!rc)
		bobbin_import_free(import);
	return rc;
}

static int do_put(struct world *world, bobbin_store *store)
{
	bobbin_session *session;
	int rc = bobbin_session_open(store, "files", NULL, &session, NULL);

	(void)world;
	if (rc)
		return rc;
	rc = bobbin_file_put(session, "a.txt", "another", 7, NULL);
	bobbin_session_close(session);
	return rc;
}

static int do_remove(struct world *world, bobbin_store *store)
{
	bobbin_session *session;
	int rc = bobbin_session_open(store, "files", NULL, &session, NULL);

	(void)world;
	if (rc)
		return rc;
	rc = bobbin_file_remove(session, "a.txt", NULL);
	bobbin_session_close(session);
	return rc;
}

static const struct operation {
	const char *name;
	int (*run)(struct world *world, bobbin_store *store);
} OPERATIONS[] = {
	{"delete a parent", do_materialize},
	{"repair", do_repair},
	{"repair the store", do_repair_store},
	{"doctor", do_doctor},
	{"backup", do_backup},
	{"cost", do_cost},
	{"search", do_search},
	{"import", do_import},
	{"write a file", do_put},
	{"remove a file", do_remove},
};
#define OPERATION_COUNT (sizeof(OPERATIONS) / sizeof(OPERATIONS[0]))

/* ---- What fails ---- */

/* Answers that a failure explains: what cannot be read may refer to what is to be deleted, or not be what it was. */
static bool is_explained(enum failure failure, int rc)
{
	if (failure_is_of_memory(failure))
		return rc == BOBBIN_ENOMEM;
	return rc == BOBBIN_EIO || rc == BOBBIN_EUNKNOWN || rc == BOBBIN_EREFUSED || rc == BOBBIN_ECORRUPT ||
	       (failure == CALL_ENOSPC && rc == BOBBIN_ENOSPC);
}

static int run_once(const struct operation *operation, struct world *world)
{
	bobbin_store *store;
	int rc = open_store(world, &store);

	if (rc)
		return rc;
	rc = operation->run(world, store);
	bobbin_store_close(store);
	return rc;
}

struct expected {
	char *before, *after;
};

static struct expected expect(const struct operation *operation)
{
	struct expected expected;
	struct world world;

	prepare(&world);
	expected.before = whole_store(world.store);
	int rc = run_once(operation, &world);
	if (rc)
		print_message("%s: %d\n", operation->name, rc);
	assert_int_equal(rc, 0);
	expected.after = whole_store(world.store);
	finish(&world);
	return expected;
}

static void assert_text(const char *name, const char *is, const char *expected)
{
	if (strcmp(is, expected) != 0)
		print_message("%s: is\n%smust be\n%s", name, is, expected);
	assert_true(strcmp(is, expected) == 0);
}

static void check_backup(const struct operation *operation, const struct world *world, const char *expected)
{
	if (operation->run != do_backup)
		return;
	char *copied = whole_store(world->backup);
	assert_text("backup", copied, expected);
	free(copied);
}

static void try_one(const struct operation *operation, enum failure failure, uint64_t nth,
	const struct expected *expected, bool *ret_failed)
{
	struct world world;

	prepare(&world);
	int64_t open_files = world.platform.open_files;
	failure_start(&world.platform, failure, nth);
	int rc = run_once(operation, &world);
	*ret_failed = failure_stop(&world.platform, failure);
	if (rc && !is_explained(failure, rc))
		print_message("%s, failure %d at %lu: %d\n", operation->name, (int)failure, (unsigned long)nth, rc);
	assert_true(rc == 0 || is_explained(failure, rc));
	assert_int_equal(world.platform.open_files, open_files);
	assert_true(*ret_failed || rc == 0);
	char *is = whole_store(world.store);
	bool before = strcmp(is, expected->before) == 0, after = strcmp(is, expected->after) == 0;
	if ((!before && !after) || (rc == 0 && !after))
		print_message("%s, failure %d at %lu: %d\n%s", operation->name, (int)failure, (unsigned long)nth, rc, is);
	assert_true(before || after);
	assert_true(rc != 0 || after);
	free(is);
	if (rc == 0)
		check_backup(operation, &world, expected->after);
	if (rc && before) {
		int again = run_once(operation, &world);
		if (again)
			print_message("%s, after failure %d at %lu: %d\n", operation->name, (int)failure,
				(unsigned long)nth, again);
		assert_int_equal(again, 0);
		is = whole_store(world.store);
		assert_text(operation->name, is, expected->after);
		check_backup(operation, &world, expected->after);
		free(is);
	}
	finish(&world);
}

/* All in a soak, else a spread, which begins elsewhere for each operation. */
static uint64_t next_nth(uint64_t nth, size_t operation)
{
	return soak_is_on() ? nth + 1 : nth + 1 + (nth + operation) % 23;
}

static void faults__each_operation_is_done_or_not(void **state)
{
	(void)state;
	uint64_t tried = 0;

	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		struct expected expected = expect(&OPERATIONS[i]);
		uint64_t before = tried;
		for (int failure = 0; failure < FAILURES; failure++) {
			bool failed = true;
			for (uint64_t nth = 1; failed; nth = next_nth(nth, i), tried++)
				try_one(&OPERATIONS[i], (enum failure)failure, nth, &expected, &failed);
		}
		print_message("# %s: %lu failures\n", OPERATIONS[i].name, (unsigned long)(tried - before));
		free(expected.before);
		free(expected.after);
	}
	assert_true(tried > 300);
}

/* A name that could not be looked at was taken for one that is not there, and its session deleted. */
static void faults__a_repair_takes_nothing_away_that_it_could_not_look_at(void **state)
{
	(void)state;
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct world world;
		prepare(&world);
		char *before = whole_store(world.store);
		fail_platform_plan(&world.platform, CALL_INFO_AT, nth, EIO);
		run_once(&(struct operation){"repair the store", do_repair_store}, &world);
		failed = failure_stop(&world.platform, CALL_EIO);
		char *after = whole_store(world.store);
		assert_text("repair the store", after, before);
		free(before);
		free(after);
		finish(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults__a_repair_takes_nothing_away_that_it_could_not_look_at),
		cmocka_unit_test(faults__each_operation_is_done_or_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
