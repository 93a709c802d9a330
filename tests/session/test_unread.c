/* SPDX-License-Identifier: MIT */
/*
 * What cannot be read is said to be just that. All that can be asked of a store is asked with its nth call to the system
 * failing, and with that and all that follow: whatever is answered must be what is answered when nothing fails, or say that
 * something could not be read. That a parent is missing, a session damaged, an index of another file is never said of what
 * nobody could look at; and what is left out is admitted.
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
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "session/handles.h"
#include "support/fail.h"
#include "support/scratch.h"
#include "support/soak.h"

#define SOME_TIME INT64_C(1788516000000000000)

struct world {
	char dir[SCRATCH_PATH_BYTES], store[SCRATCH_PATH_BYTES];
	struct fail_platform platform;
};

static void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	scratch_make(world->dir);
	snprintf(world->store, sizeof(world->store), "%s", scratch_path(world->dir, "store"));
	fail_platform_init(&world->platform);
	world->platform.skip_sync = true;
}

static bobbin_store *open_store(struct world *world, bool read_only)
{
	struct store_options options = {.create = !read_only,
		.read_only = read_only,
		.force_filesystem = true,
		.index_step = 1,
		.catalogue_step = 1,
		.stamp_tick_ns = -1};
	struct bobbin_store_options outer = BOBBIN_STORE_OPTIONS_INIT;
	bobbin_store *store;

	outer.read_only = read_only;
	assert_int_equal(bobbin_store_open(world->store, &outer, &store, NULL), 0);
	store_close(store->store);
	assert_int_equal(store_open(&world->platform.table, world->store, &options, &store->store, NULL), 0);
	return store;
}

/* ---- What is there --------------------------------------------------------------------------------------- */

static void say(bobbin_session *session, const char *record)
{
	assert_int_equal(bobbin_session_append(session, record, strlen(record), NULL, NULL, NULL), 0);
}

static bobbin_session *begin(bobbin_store *store, const char *id)
{
	bobbin_session *session;

	assert_int_equal(bobbin_session_open(store, id, NULL, &session, NULL), 0);
	say(session, "{\"role\":\"user\",\"content\":\"a needle\"}");
	say(session, "{\"role\":\"assistant\",\"content\":\"found\"}");
	say(session, "{\"type\":\"usage\",\"for\":\"m2\",\"input\":812,\"output\":31,\"nanousd\":5}");
	say(session, "{\"role\":\"user\",\"content\":\"only here\"}");
	return session;
}

static void fork_of(bobbin_session *parent, const char *id)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;

	options.id = id;
	assert_int_equal(bobbin_session_fork(parent, "2", &options, NULL, NULL), 0);
}

/* A tree of three; a fork that stands alone, one whose parent is lost; one typed by hand, of which only its meta says whose
 * fork it is; a damaged one; one with a file. */
static void prepare(struct world *world)
{
	bobbin_store *store;
	bobbin_session *session;

	world_init(world);
	fail_platform_set_time(&world->platform, SOME_TIME, SOME_TIME);
	store = open_store(world, false);
	session = begin(store, "main");
	fork_of(session, "child");
	bobbin_session_close(session);
	assert_int_equal(bobbin_session_open(store, "child", NULL, &session, NULL), 0);
	say(session, "{\"role\":\"user\",\"content\":\"another needle\"}");
	fork_of(session, "grand");
	bobbin_session_close(session);
	session = begin(store, "gone");
	fork_of(session, "alone");
	bobbin_session_close(session);
	assert_int_equal(bobbin_session_delete_materialized(store, "gone", NULL), 0);
	session = begin(store, "parent");
	fork_of(session, "lost");
	bobbin_session_close(session);
	session = begin(store, "bad");
	scratch_append(world->store, "bad.jsonl", "{\"torn\n", 7);
	bobbin_session_close(session);
	session = begin(store, "files");
	assert_int_equal(bobbin_file_put(session, "a.txt", "one", 3, NULL), 0);
	bobbin_session_close(session);
	scratch_write_text(world->store, "hand.jsonl", "{\"role\":\"user\",\"content\":\"typed\"}\n");
	scratch_write_text(world->store, "hand.meta.json",
		"{\"id\":\"hand\",\"owner\":\"ana\",\"title\":\"by hand\",\"parentId\":\"main\",\"forkedAt\":2}");
	assert_int_equal(unlink(scratch_path(world->store, "parent.jsonl")), 0);
	assert_int_equal(unlink(scratch_path(world->store, "parent.meta.json")), 0);
	assert_int_equal(chmod(scratch_path(world->store, "hand.jsonl"), 0600), 0);
	assert_int_equal(chmod(scratch_path(world->store, "hand.meta.json"), 0600), 0);
	bobbin_list *list;
	assert_int_equal(bobbin_list_open(store, NULL, &list, NULL), 0);
	bobbin_list_close(list);
	bobbin_store_close(store);
}

static const char *const SESSIONS[] = {"main", "child", "grand", "alone", "lost", "bad", "files", "hand"};
#define SESSION_COUNT (sizeof(SESSIONS) / sizeof(SESSIONS[0]))

/* ---- What is said of it ---------------------------------------------------------------------------------- */

/* One statement a line. Allocations fail while it is written. */
static char answers[1 << 16];
static size_t answers_len;

static __attribute__((format(printf, 1, 2))) void tell(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	answers_len += (size_t)vsnprintf(answers + answers_len, sizeof(answers) - answers_len, format, list);
	va_end(list);
	assert_true(answers_len + 2 < sizeof(answers));
	memcpy(answers + answers_len, "\n", 2);
	answers_len++;
}

static void tell_error(const char *what, const char *of, int rc, struct bobbin_error *error)
{
	tell("%s %s: error %d, %s", what, of, rc, error->message);
	*error = (struct bobbin_error){0}; /* one that says nothing must not say what the last one did */
}

static void tell_info(const char *what, const struct bobbin_session_info *info)
{
	if (info->damaged) {
		tell("%s %s is damaged: %s", what, info->id, info->damaged);
		return;
	}
	tell("%s %s of '%s' '%s' forked from '%s' at %llu", what, info->id, info->owner, info->title,
		info->parent_id, (unsigned long long)info->forked_at);
	if (info->messages_known)
		tell("%s %s has %llu messages", what, info->id, (unsigned long long)info->messages);
	else
		tell("%s %s: its messages cannot be read", what, info->id);
}

static void ask_list(bobbin_store *store)
{
	const struct bobbin_session_info *info;
	struct bobbin_error error = {0};
	bobbin_list *list;
	int rc = bobbin_list_open(store, NULL, &list, &error);

	if (rc) {
		tell_error("list", "", rc, &error);
		return;
	}
	while ((info = bobbin_list_next(list)) != NULL)
		tell_info("list", info);
	bobbin_list_close(list);
}

static void ask_tree(bobbin_store *store)
{
	const struct bobbin_tree_node *node;
	struct bobbin_error error = {0};
	bobbin_tree *tree;
	int rc = bobbin_tree_open(store, NULL, &tree, &error);

	if (rc) {
		tell_error("tree", "", rc, &error);
		return;
	}
	while ((node = bobbin_tree_next(tree)) != NULL) {
		if (node->session->damaged)
			tell("tree %s is damaged: %s", node->session->id, node->session->damaged);
		else if (node->parent_gone == 2)
			tell("tree %s at %u misses its parent", node->session->id, node->depth);
		else if (node->parent_gone == 3)
			tell("tree %s at %u: what it inherits cannot be read", node->session->id, node->depth);
		else
			tell("tree %s at %u%s", node->session->id, node->depth, node->parent_gone ? ", parent deleted" : "");
	}
	bobbin_tree_close(tree);
}

static void tell_faults(const char *of, bobbin_faults *faults)
{
	for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
		const struct bobbin_fault *fault = bobbin_faults_get(faults, i);
		tell("doctor %s: %s of %s", of, fault->kind, fault->where);
		tell("doctor %s: %s, %s", of, fault->where, fault->message);
	}
	bobbin_faults_free(faults);
}

static void ask_doctor(bobbin_store *store)
{
	struct bobbin_error error = {0};
	bobbin_faults *faults;
	int rc;

	for (size_t i = 0; i < SESSION_COUNT; i++)
		if ((rc = bobbin_doctor_session(store, SESSIONS[i], &faults, &error)) < 0)
			tell_error("doctor", SESSIONS[i], rc, &error);
		else
			tell_faults(SESSIONS[i], faults);
	if ((rc = bobbin_doctor_store(store, &faults, &error)) < 0)
		tell_error("doctor", "", rc, &error);
	else
		tell_faults("", faults);
}

static void ask_cost(bobbin_store *store)
{
	const struct bobbin_cost_row *row;
	struct bobbin_error error = {0};
	bobbin_cost *cost;
	bool whole = true;
	int rc = bobbin_cost_open(store, NULL, NULL, &cost, &error);

	if (rc) {
		tell_error("cost", "", rc, &error);
		return;
	}
	while ((row = bobbin_cost_next(cost)) != NULL) {
		whole = whole && !row->unread && !row->node->session->damaged;
		if (row->unread)
			tell("cost %s is not read: %s", row->node->session->id, row->unread);
		else
			tell("cost %s paid %llu", row->node->session->id, (unsigned long long)row->own.input);
	}
	if (whole)
		tell("cost in all %llu", (unsigned long long)bobbin_cost_total(cost)->input);
	else
		tell("cost in all: something cannot be read");
	bobbin_cost_close(cost);
}

static void ask_search(bobbin_store *store)
{
	const struct bobbin_match *match;
	struct bobbin_error error = {0};
	bobbin_search *search;
	int rc = bobbin_search_open(store, "needle", 6, NULL, &search, &error);

	if (rc) {
		tell_error("search", "", rc, &error);
		return;
	}
	while ((rc = bobbin_search_next(search, &match, &error)) > 0)
		tell("search: %s of %s, %llu", match->id, match->session, (unsigned long long)match->hits);
	if (rc < 0)
		tell_error("search", "", rc, &error);
	for (uint64_t i = 0; i < bobbin_search_skipped(search); i++)
		tell("search: session number %llu that cannot be read", (unsigned long long)i);
	bobbin_search_close(search);
}

static void ask_sessions(bobbin_store *store)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_session *session;
	int rc;

	options.must_exist = options.read_only = 1;
	for (size_t i = 0; i < SESSION_COUNT; i++) {
		if ((rc = bobbin_session_open(store, SESSIONS[i], &options, &session, &error)) < 0) {
			tell_error("open", SESSIONS[i], rc, &error);
			continue;
		}
		tell_info("open", bobbin_session_info(session));
		const char *head = bobbin_session_head(session);
		tell("open %s ends in '%s'", SESSIONS[i], head ? head : "what cannot be read");
		bobbin_session_close(session);
	}
}

/* Refused: it has forks. */
static void ask_to_delete(bobbin_store *store)
{
	struct bobbin_error error = {0};
	int rc = store_delete(store->store, slice_of("main"), &error);

	if (strstr(error.message, "was forked from it")) /* whichever was looked at first */
		snprintf(error.message, sizeof(error.message), "it has forks");
	tell_error("delete", "main", rc, &error);
}

static const struct question {
	const char *name;
	void (*ask)(bobbin_store *store);
	bool writes;
} QUESTIONS[] = {
	{"list", ask_list, false},
	{"tree", ask_tree, false},
	{"doctor", ask_doctor, false},
	{"cost", ask_cost, false},
	{"search", ask_search, false},
	{"sessions", ask_sessions, false},
	{"delete", ask_to_delete, true},
};
#define QUESTION_COUNT (sizeof(QUESTIONS) / sizeof(QUESTIONS[0]))

/* ---- Whether that is so ---------------------------------------------------------------------------------- */

static bool has_line(const char *text, const char *line, size_t len)
{
	for (const char *at = text; (at = memmem(at, strlen(at), line, len)) != NULL; at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

/* It says that something could not be read, and claims nothing. */
static bool is_admission(const char *line, size_t len, const char *reason)
{
	static const char *const admits[] = {"cannot be read", "could not be looked at", "out of memory",
		"cannot examine", "cannot be looked up", "Cannot allocate memory", ": unread of ", ": unreadable of "};
	static const char *const claims[] = {"missing", "no session", "was deleted", "another file", "gone", "misses",
		"changed", "first line", "nothing in it is whole", "is not what", "belongs to", "not a file", "header of",
		"no message"};
	char text[2048];
	bool admitted;

	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	admitted = strstr(text, reason) != NULL;
	for (size_t i = 0; i < sizeof(admits) / sizeof(admits[0]); i++)
		admitted = admitted || strstr(text, admits[i]);
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		admitted = admitted && !strstr(text, claims[i]);
	return admitted;
}

/* How it fails: a call, with what errno, or an allocation; that one, or all that follow as well. */
static const struct way {
	int os_error; /* 0: memory */
	bool after;
	const char *reason;
} WAYS[] = {
	{EIO, false, "Input/output error"},
	{EACCES, false, "Permission denied"},
	{ENOMEM, false, "Cannot allocate memory"},
	{0, false, "out of memory"},
	{EIO, true, "Input/output error"},
	{EACCES, true, "Permission denied"},
	{0, true, "out of memory"},
};
#define WAY_COUNT (sizeof(WAYS) / sizeof(WAYS[0]))

static void fail_from(struct world *world, const struct way *way, uint64_t nth)
{
	fail_platform_plan(&world->platform, way->os_error ? CALL_ANY : CALL_NONE, nth, way->os_error);
	world->platform.fail_after = way->after;
	if (!way->os_error && way->after)
		fail_alloc_start_from(nth);
	else if (!way->os_error)
		fail_alloc_start(nth);
}

static bool stop_failing(struct world *world, const struct way *way)
{
	bool failed = way->os_error ? world->platform.failed : fail_alloc_stop().failed;

	fail_platform_heal(&world->platform);
	return failed;
}

static char *ask(
	struct world *world, const struct question *question, const struct way *way, uint64_t nth, bool *ret_failed)
{
	bobbin_store *store = open_store(world, !question->writes);

	answers_len = 0;
	tell("%s", "");
	if (way)
		fail_from(world, way, nth);
	question->ask(store);
	if (way)
		*ret_failed = stop_failing(world, way);
	bobbin_store_close(store);
	char *text = strdup(answers);
	assert_non_null(text);
	return text;
}

static size_t check_lines(const struct question *question, const char *said, const char *expected, uint64_t nth,
	const char *reason, bool failed)
{
	size_t wrong = 0;
	bool admitted = false;

	for (const char *at = said; *at; at = strchr(at, '\n') + 1) {
		size_t len = (size_t)(strchr(at, '\n') - at);
		if (!len || has_line(expected, at, len))
			continue;
		admitted = admitted || failed;
		if (failed && is_admission(at, len, reason))
			continue;
		print_message("%s, call %lu (%s): %.*s\n", question->name, (unsigned long)nth, reason, (int)len, at);
		wrong++;
	}
	for (const char *at = expected; !admitted && *at; at = strchr(at, '\n') + 1) {
		size_t len = (size_t)(strchr(at, '\n') - at);
		if (!len || has_line(said, at, len))
			continue;
		print_message("%s, call %lu (%s): nothing of: %.*s\n", question->name, (unsigned long)nth, reason, (int)len, at);
		wrong++;
	}
	return wrong;
}

static void unread__is_what_is_said_and_nothing_else(void **state)
{
	(void)state;
	struct world world;
	uint64_t tried = 0;
	size_t wrong = 0;

	prepare(&world);
	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		char *expected = ask(&world, &QUESTIONS[i], NULL, 0, NULL);
		for (size_t way = 0; way < WAY_COUNT; way++) {
			bool failed = true;
			for (uint64_t nth = 1; failed; nth += soak_is_on() ? 1 : 1 + (nth * 7 + i) % 5, tried++) {
				char *said = ask(&world, &QUESTIONS[i], &WAYS[way], nth, &failed);
				wrong += check_lines(&QUESTIONS[i], said, expected, nth, WAYS[way].reason, failed);
				free(said);
			}
		}
		free(expected);
	}
	print_message("# %lu failures\n", (unsigned long)tried);
	assert_int_equal(wrong, 0);
	assert_true(tried > 500);
	scratch_remove(world.dir);
}

/* ---- What is written down for good ----------------------------------------------------------------------- */

/* A log whose header is lost, and one typed by hand: of both only the meta says whose they are. */
static void prepare_owned(struct world *world)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session;

	world_init(world);
	bobbin_store *store = open_store(world, false);
	options.owner = "ana";
	assert_int_equal(bobbin_session_open(store, "beheaded", &options, &session, NULL), 0);
	say(session, "{\"role\":\"user\",\"content\":\"hello\"}");
	bobbin_session_close(session);
	bobbin_store_close(store);
	int file = open(scratch_path(world->store, "beheaded.jsonl"), O_WRONLY);
	assert_int_equal(pwrite(file, "{\"type\":\"session\",,", 20, 0), 20);
	close(file);
	scratch_write_text(world->store, "hand.jsonl", "{\"role\":\"user\",\"content\":\"typed\"}\n");
	scratch_write_text(world->store, "hand.meta.json", "{\"id\":\"hand\",\"owner\":\"ana\",\"title\":\"by hand\"}");
	assert_int_equal(chmod(scratch_path(world->store, "hand.jsonl"), 0600), 0);
	assert_int_equal(chmod(scratch_path(world->store, "hand.meta.json"), 0600), 0);
}

static int repair_beheaded(bobbin_store *store, char ret_id[BOBBIN_SESSION_ID_BYTES])
{
	struct bobbin_repaired repaired;
	int rc = bobbin_repair_session(store, "beheaded", &repaired, NULL);

	if (!rc)
		memcpy(ret_id, repaired.id, sizeof(repaired.id));
	return rc;
}

static int append_to_hand(bobbin_store *store, char ret_id[BOBBIN_SESSION_ID_BYTES])
{
	static const char record[] = "{\"role\":\"assistant\",\"content\":\"read\"}";
	bobbin_session *session;
	int rc = bobbin_session_open(store, "hand", NULL, &session, NULL);

	if (rc)
		return rc;
	rc = bobbin_session_append(session, record, strlen(record), NULL, NULL, NULL);
	bobbin_session_close(session);
	memcpy(ret_id, "hand", sizeof("hand"));
	return rc;
}

/* Whose a session is, if it can be opened once nothing fails any more. The doctor mends what it finds in its meta first. */
static void check_owner(struct world *world, const char *id)
{
	bobbin_store *store = open_store(world, false);
	struct bobbin_repaired repaired;
	bobbin_session *session;

	if (bobbin_session_open(store, id, NULL, &session, NULL) == 0) {
		assert_string_equal(bobbin_session_info(session)->owner, "ana");
		bobbin_session_close(session);
		assert_int_equal(bobbin_repair_session(store, id, &repaired, NULL), 0);
		assert_int_equal(bobbin_session_open(store, id, NULL, &session, NULL), 0);
		assert_string_equal(bobbin_session_info(session)->owner, "ana");
		bobbin_session_close(session);
	}
	bobbin_store_close(store);
}

/* A meta that could not be read was taken for one that is not there, and the owner was gone. */
static void unread__a_meta_that_has_the_only_word_is_asked_again(void **state)
{
	(void)state;
	static int (*const steps[])(bobbin_store *, char[BOBBIN_SESSION_ID_BYTES]) = {repair_beheaded, append_to_hand};
	uint64_t done = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (size_t way = 0; way < WAY_COUNT; way++) {
			bool failed = true;
			for (uint64_t nth = 1; failed; nth += soak_is_on() ? 1 : 1 + (nth * 7 + i) % 23) {
				char id[BOBBIN_SESSION_ID_BYTES] = "";
				struct world world;
				prepare_owned(&world);
				bobbin_store *store = open_store(&world, false);
				fail_from(&world, &WAYS[way], nth);
				done += steps[i](store, id) == 0;
				failed = stop_failing(&world, &WAYS[way]);
				bobbin_store_close(store);
				if (*id)
					check_owner(&world, id);
				scratch_remove(world.dir);
			}
		}
	assert_true(done >= 2 * WAY_COUNT);
}

/* ---- A long line ----------------------------------------------------------------------------------------- */

#define LONG_LINE 4000

/* Reads the line from a message on, while from the nth call on nothing can be read until it is open: how many messages there
 * are, or why it cannot be opened. */
static int count_from(
	struct world *world, bobbin_session *session, const char *from, uint64_t nth, bool *ret_failed)
{
	struct bobbin_messages_options options = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct way way = {EIO, true, ""};
	const struct bobbin_message *message;
	bobbin_messages *messages;
	int count = 0;

	options.from = from;
	fail_from(world, &way, nth);
	int rc = bobbin_messages_open(session, &options, &messages, NULL);
	*ret_failed = stop_failing(world, &way);
	if (rc)
		return rc;
	while ((rc = bobbin_messages_next(messages, &message, NULL)) > 0)
		count++;
	bobbin_messages_close(messages);
	return rc < 0 ? rc : count;
}

/* A person's word and the many of an assistant's; the last was said anew. The index is in blocks that are read as they are needed,
 * for a line that is not straight also to find out what is on it. */
static void prepare_long(struct world *world)
{
	bobbin_session *session;
	char record[64];

	world_init(world);
	bobbin_store *store = open_store(world, false);
	assert_int_equal(bobbin_session_open(store, "long", NULL, &session, NULL), 0);
	for (int i = 1; i <= LONG_LINE; i++) {
		snprintf(record, sizeof(record), "{\"role\":\"%s\",\"content\":\"number %d\"}", i == 1 ? "user" : "assistant", i);
		say(session, record);
	}
	assert_int_equal(bobbin_session_rewind(session, "m3999", NULL, NULL), 0);
	say(session, "{\"role\":\"assistant\",\"content\":\"beside the last\"}");
	bobbin_session_close(session);
	bobbin_store_close(store);
}

/* While a block cannot be read nobody takes the line for a shorter one. */
static void unread__a_long_line_is_given_whole_or_not_at_all(void **state)
{
	(void)state;
	static const char *const from[] = {NULL, "m2", "m3999"};
	static const int right[] = {LONG_LINE, LONG_LINE - 1, 2};
	uint64_t refused = 0;
	struct world world;

	prepare_long(&world);
	for (size_t i = 0; i < 3; i++) {
		bool failed = true;
		for (uint64_t nth = 1; failed && nth < 200; nth++) {
			bobbin_store *store = open_store(&world, true);
			bobbin_session *session;
			assert_int_equal(bobbin_session_open(store, "long", NULL, &session, NULL), 0);
			int count = count_from(&world, session, from[i], nth, &failed);
			if (count != right[i] && (!failed || count != BOBBIN_EIO))
				fail_msg("from %s, call %lu: %d", from[i] ? from[i] : "the first", (unsigned long)nth, count);
			refused += count < 0;
			bobbin_session_close(session);
			bobbin_store_close(store);
		}
	}
	assert_true(refused > 0);
	scratch_remove(world.dir);
}

/* Nor says that nobody typed anything. */
static void unread__what_was_typed_is_found_or_not_told(void **state)
{
	(void)state;
	const struct way way = {EIO, true, ""};
	uint64_t refused = 0;
	struct world world;
	bool failed = true;

	prepare_long(&world);
	for (uint64_t nth = 1; failed; nth += 5) {
		bobbin_store *store = open_store(&world, true);
		bobbin_session *session;
		uint32_t typed = 77;
		assert_int_equal(bobbin_session_open(store, "long", NULL, &session, NULL), 0);
		fail_from(&world, &way, nth);
		int rc = newest_typed(session->log, log_head(session->log), &typed, NULL);
		failed = stop_failing(&world, &way);
		assert_true(rc == 0 || (failed && rc == BOBBIN_EIO));
		assert_int_equal(typed, rc ? 77 : 0);
		refused += rc < 0;
		bobbin_session_close(session);
		bobbin_store_close(store);
	}
	assert_true(refused > 0);
	scratch_remove(world.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unread__is_what_is_said_and_nothing_else),
		cmocka_unit_test(unread__a_long_line_is_given_whole_or_not_at_all),
		cmocka_unit_test(unread__what_was_typed_is_found_or_not_told),
		cmocka_unit_test(unread__a_meta_that_has_the_only_word_is_asked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
