/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random moments of everything that writes: several processes on one store append, edit, rewind, fork, compact,
 * delete with and without copies, list, and make backups, with index files and catalogues written all the time. Each tells
 * the parent through a pipe what it is about to do when that takes something away, and what a call has acknowledged once it
 * has returned. A killed one is started again and does once more what it could not tell. In the end everything acknowledged
 * must be there, once, in order, in the session and under the number that were told, and in every backup that was begun
 * later; what was deleted must be gone, what was forked must say what was forked, whatever became of its parent.
 *
 * N: how many kills; SEED: the moments and the work. `make soak T=session/kill_all N=500`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "session/handles.h"
#include "sim/random.h"
#include "store/store_internal.h"
#include "support/scratch.h"
#include "support/soak.h"

#define WRITERS 3
#define SHARED 2
#define KILLS 40
#define KILLS_SOAK 1000
#define KILLS_A_STORE 40
#define EPOCH 60 /* works of a writer before it lets go of its own session */
#define NAME_BYTES 24
#define TOLD_MAX 200000

enum work { APPEND, EDIT, REWIND, FORK, COMPACT, DELETE, MATERIALIZE, BACKUP, LOOK, WORKS };
static const char *const WORK_NAMES[WORKS] = {
	"appends", "edits", "rewinds", "forks", "compactions", "deletions", "deletions of parents", "backups", "looks"};

/* What a writer tells. */
struct told {
	uint32_t writer, number;
	uint8_t work;
	bool intent;		     /* it is about to begin */
	char session[NAME_BYTES];    /* that was written to, forked, deleted */
	char key[NAME_BYTES];	     /* of the message; of the fork */
	uint64_t seq, kept, digest;  /* of a fork: how much it inherits, and what */
};

struct scene {
	char dir[SCRATCH_PATH_BYTES], store[SCRATCH_PATH_BYTES];
	uint64_t seed;
	struct sim_random random;
	int pipe[2];
	pid_t writers[WRITERS];
	uint32_t done[WRITERS], lives[WRITERS];
	struct told *told; /* all of it, as it came */
	size_t told_count;
	uint64_t kills, counts[WORKS], torn, copied_messages;
};

static void fail_work(const struct told *told, const struct bobbin_error *error)
{
	fprintf(stderr, "writer %u, work %u (%s) on %s: %d %s\n", told->writer, told->number, WORK_NAMES[told->work],
		told->session, error->code, error->message);
	_exit(5);
}

static bobbin_store *open_store(const char *path)
{
	struct bobbin_error error = {0};
	bobbin_store *store = NULL;

	if (bobbin_store_open(path, NULL, &store, &error) < 0)
		return NULL;
	store->store->index_step = 1;
	store->store->catalogue_step = 1;
	store->store->stamp_tick_ns = -1;
	return store;
}

/* What the first `kept` messages of a line say. */
static uint64_t digest_of(bobbin_session *session, uint64_t kept, bool *ret_whole)
{
	const struct bobbin_message *message;
	bobbin_messages *messages;
	uint64_t digest = UINT64_C(0xcbf29ce484222325), count = 0;

	*ret_whole = false;
	if (bobbin_messages_open(session, NULL, &messages, NULL) < 0)
		return 0;
	while (count < kept && bobbin_messages_next(messages, &message, NULL) > 0) {
		for (size_t i = 0; i < message->text_len; i++)
			digest = (digest ^ (uint8_t)message->text[i]) * UINT64_C(0x100000001b3);
		count++;
	}
	bobbin_messages_close(messages);
	*ret_whole = count == kept;
	return digest;
}

/* ---- A writer ---- */

struct writer {
	const struct scene *scene;
	uint32_t index;
	bobbin_store *store;
	bobbin_session *open[SHARED + 1]; /* its own is the last one */
	char own[NAME_BYTES];
	struct sim_random random;
	struct told told;
	struct bobbin_error error;
};

static void tell(struct writer *writer, bool intent)
{
	writer->told.intent = intent;
	if (write(writer->scene->pipe[1], &writer->told, sizeof(writer->told)) != sizeof(writer->told))
		_exit(4);
}

static int open_one(struct writer *writer, size_t which)
{
	char id[NAME_BYTES];

	if (which < SHARED)
		snprintf(id, sizeof(id), "s%zu", which);
	else
		snprintf(id, sizeof(id), "%s", writer->own);
	snprintf(writer->told.session, NAME_BYTES, "%s", id);
	if (writer->open[which])
		return 0;
	return bobbin_session_open(writer->store, id, NULL, &writer->open[which], &writer->error);
}

/* {"role":"user","id":KEY,"content":"KEY …"}: the same bytes whoever sends them again. */
static int append_to(bobbin_session *session, struct writer *writer, const char *key)
{
	static char record[12000];
	struct sim_random random = {(uint64_t)writer->index << 32 | writer->told.number};
	size_t length = sim_random_below(&random, writer->told.number % 9 ? 300 : 9000);
	int start = snprintf(record, sizeof(record), "{\"role\":\"user\",\"id\":\"%s\",\"content\":\"%s ", key, key);
	struct bobbin_ack ack = {0};

	memset(record + start, 'a' + (int)(writer->told.number % 26), length);
	memcpy(record + start + length, "\"}", 2);
	int rc = bobbin_session_append(session, record, (size_t)start + length + 2, NULL, &ack, &writer->error);
	writer->told.seq = ack.seq;
	return rc;
}

static int do_append(struct writer *writer, size_t which)
{
	int rc = open_one(writer, which);

	snprintf(writer->told.key, NAME_BYTES, "w%ux%u", writer->index, writer->told.number);
	if (!rc)
		rc = append_to(writer->open[which], writer, writer->told.key);
	if (!rc && writer->told.number % 7 == 0) { /* with a new meta */
		bobbin_session_close(writer->open[which]);
		writer->open[which] = NULL;
	}
	return rc;
}

/* The newest of its own messages in a session, as the parent knew it when the writer began; NULL: none. */
static const char *own_message(const struct writer *writer, const char *session)
{
	for (size_t i = writer->scene->told_count; i-- > 0;) {
		const struct told *told = &writer->scene->told[i];
		if (told->writer == writer->index && told->work == APPEND && strcmp(told->session, session) == 0)
			return told->key;
	}
	return NULL;
}

/* An edit has no id of its own, so one that is made again is another: its text says which life it is of. */
static int do_edit(struct writer *writer, size_t which)
{
	char text[64];
	struct bobbin_ack ack = {0};
	int rc = open_one(writer, which);
	const char *of = own_message(writer, writer->told.session);

	if (rc || !of)
		return rc ? rc : do_append(writer, which);
	snprintf(writer->told.key, NAME_BYTES, "w%ux%ulife%u", writer->index, writer->told.number,
		writer->scene->lives[writer->index]);
	snprintf(text, sizeof(text), "%s edited", writer->told.key);
	rc = bobbin_session_edit(writer->open[which], of, text, strlen(text), &ack, &writer->error);
	writer->told.seq = ack.seq;
	return rc;
}

static int do_rewind(struct writer *writer, size_t which)
{
	struct bobbin_ack ack = {0};
	int rc = open_one(writer, which);
	const char *to = own_message(writer, writer->told.session);

	if (!rc)
		rc = bobbin_session_rewind(writer->open[which], to ? to : "", &ack, &writer->error);
	writer->told.seq = ack.seq;
	return rc;
}

/* With a first message of its own. What was killed in between is found there and gone on with. */
static int do_fork(struct writer *writer, size_t which)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_forked forked;
	bobbin_session *fork = NULL;
	char id[NAME_BYTES], key[NAME_BYTES];
	bool whole = true;
	int rc = open_one(writer, which);
	const char *at = own_message(writer, writer->told.session);

	snprintf(id, sizeof(id), "w%uf%u", writer->index, writer->told.number);
	snprintf(writer->told.key, NAME_BYTES, "%s", id);
	options.id = id;
	if (!rc)
		rc = bobbin_session_fork(writer->open[which], at ? at : "0", &options, &forked, &writer->error);
	if (rc == BOBBIN_EEXIST)
		rc = 0;
	if (!rc)
		rc = bobbin_session_open(writer->store, id, NULL, &fork, &writer->error);
	if (rc)
		return rc;
	writer->told.kept = bobbin_session_info(fork)->forked_at;
	writer->told.digest = digest_of(fork, writer->told.kept, &whole);
	snprintf(key, sizeof(key), "w%ux%u", writer->index, writer->told.number);
	rc = whole ? append_to(fork, writer, key) : BOBBIN_ECORRUPT;
	bobbin_session_close(fork);
	return rc;
}

static int do_compact(struct writer *writer, size_t which)
{
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	bobbin_compaction *compaction;
	int rc = open_one(writer, which);

	window.window = 8000;
	options.window = &window;
	options.force = 1;
	if (!rc)
		rc = bobbin_session_compact(writer->open[which], &options, &compaction, &writer->error);
	if (rc) /* somebody else is at it, or the newest message alone is larger than the window */
		return rc == BOBBIN_EBUSY || rc == BOBBIN_ECONFLICT || rc == BOBBIN_EBUDGET ? 0 : rc;
	bobbin_compaction_free(compaction);
	return 0;
}

/* One of its forks that it has not thought of deleting yet. */
static int do_delete(struct writer *writer)
{
	const struct scene *scene = writer->scene;

	for (size_t i = scene->told_count; i-- > 0;) {
		const struct told *told = &scene->told[i];
		if (told->writer != writer->index || told->work == LOOK || !told->key[0])
			continue;
		if (told->work == DELETE && !told->intent)
			break; /* deletes from the newest of each life on: enough stay */
		if (told->work != FORK)
			continue;
		snprintf(writer->told.session, NAME_BYTES, "%s", told->key);
		tell(writer, true);
		int rc = bobbin_session_delete(writer->store, told->key, &writer->error);
		snprintf(writer->told.key, NAME_BYTES, "%s", told->key);
		return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	}
	writer->told.work = LOOK;
	return 0;
}

static int do_materialize(struct writer *writer)
{
	snprintf(writer->told.session, NAME_BYTES, "%s", writer->own);
	bobbin_session_close(writer->open[SHARED]);
	writer->open[SHARED] = NULL;
	tell(writer, true);
	int rc = bobbin_session_delete_materialized(writer->store, writer->own, &writer->error);
	return rc == BOBBIN_ENOTFOUND ? 0 : rc;
}

static int do_backup(struct writer *writer)
{
	char path[SCRATCH_PATH_BYTES + 16];
	struct bobbin_backup_report report = {0};

	snprintf(path, sizeof(path), "%s/backup%u", writer->scene->dir, writer->index);
	tell(writer, true);
	int rc = bobbin_backup(writer->store, path, &report, &writer->error);
	if (!rc)
		bobbin_faults_free(report.left_out);
	return rc;
}

static int do_look(struct writer *writer, size_t which)
{
	const struct bobbin_session_info *info;
	bobbin_plan *plan = NULL;
	bobbin_list *list = NULL;
	int rc = open_one(writer, which);

	if (!rc)
		rc = bobbin_plan_make(writer->open[which], NULL, &plan, &writer->error);
	if (!rc)
		rc = bobbin_list_open(writer->store, NULL, &list, &writer->error);
	while (!rc && (info = bobbin_list_next(list)) != NULL)
		if (info->damaged)
			rc = BOBBIN_ECORRUPT;
	bobbin_list_close(list);
	bobbin_plan_free(plan);
	return rc;
}

static enum work choose(struct writer *writer)
{
	static const uint8_t SHARES[WORKS] = {52, 5, 5, 13, 4, 7, 0, 6, 8};
	uint32_t at = sim_random_below(&writer->random, 100), sum = 0;

	if (writer->told.number % EPOCH == EPOCH - 1)
		return MATERIALIZE;
	for (int work = 0; work < WORKS; work++)
		if (at < (sum += SHARES[work]))
			return (enum work)work;
	return LOOK;
}

static int do_one(struct writer *writer)
{
	uint32_t which = sim_random_below(&writer->random, SHARED + 1);

	switch ((enum work)writer->told.work) {
	case EDIT:
		return do_edit(writer, which);
	case REWIND:
		return do_rewind(writer, which);
	case FORK:
		return do_fork(writer, sim_random_percent(&writer->random, 60) ? SHARED : which);
	case COMPACT:
		return do_compact(writer, which);
	case DELETE:
		return do_delete(writer);
	case MATERIALIZE:
		return do_materialize(writer);
	case BACKUP:
		return do_backup(writer);
	case LOOK:
		return do_look(writer, which);
	default:
		return do_append(writer, which);
	}
}

static void writer_main(const struct scene *scene, uint32_t index, uint32_t number)
{
	static struct writer writer;

	writer.scene = scene;
	writer.index = index;
	if (!(writer.store = open_store(scene->store)))
		_exit(3);
	for (;; number++) {
		writer.told = (struct told){.writer = index, .number = number};
		/* The same work for the same number, whoever does it. */
		writer.random = (struct sim_random){scene->seed << 40 ^ (uint64_t)index << 32 ^ number};
		snprintf(writer.own, sizeof(writer.own), "w%up%u", index, number / EPOCH);
		writer.told.work = (uint8_t)choose(&writer);
		if (do_one(&writer) < 0)
			fail_work(&writer.told, &writer.error);
		tell(&writer, false);
	}
}

static void start_writer(struct scene *scene, uint32_t index)
{
	fflush(NULL);
	scene->lives[index]++;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(scene->pipe[0]);
		writer_main(scene, index, scene->done[index] + 1);
	}
	scene->writers[index] = child;
}

/* ---- The parent ---- */

static void listen_for(struct scene *scene)
{
	struct pollfd poll_file = {.fd = scene->pipe[0], .events = POLLIN};
	struct told told;

	while (poll(&poll_file, 1, 0) > 0) {
		assert_int_equal(read(scene->pipe[0], &told, sizeof(told)), sizeof(told));
		assert_true(scene->told_count < TOLD_MAX);
		scene->told[scene->told_count++] = told;
		if (told.intent)
			continue;
		assert_int_equal(told.number, scene->done[told.writer] + 1);
		scene->done[told.writer] = told.number;
		scene->counts[told.work]++;
	}
}

static void kill_writer(struct scene *scene, uint32_t index)
{
	int status;

	assert_int_equal(kill(scene->writers[index], SIGKILL), 0);
	assert_int_equal(waitpid(scene->writers[index], &status, 0), scene->writers[index]);
	/* It had no reason of its own to end. */
	if (!WIFSIGNALED(status))
		print_message("writer %u ended with %d\n", index, WEXITSTATUS(status));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	listen_for(scene);
	scene->kills++;
}

/* ---- What is there ---- */

struct there {
	char session[NAME_BYTES], key[NAME_BYTES];
	uint64_t seq;
};

struct contents {
	struct there *messages;
	size_t count, cap;
	char (*sessions)[NAME_BYTES];
	size_t session_count;
};

static int by_key(const void *a, const void *b)
{
	const struct there *left = a, *right = b;
	int order = strcmp(left->key, right->key);
	return order ? order : strcmp(left->session, right->session);
}

static void add_messages(bobbin_session *session, const char *id, struct contents *contents)
{
	struct bobbin_messages_options all = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	bobbin_messages *messages;
	int rc;

	all.all_branches = 1;
	assert_int_equal(bobbin_messages_open(session, &all, &messages, NULL), 0);
	while ((rc = bobbin_messages_next(messages, &message, NULL)) > 0) {
		if (message->inherited)
			continue;
		if (contents->count == contents->cap) {
			contents->cap = contents->cap * 2 + 1024;
			contents->messages = realloc(contents->messages, contents->cap * sizeof(struct there));
			assert_non_null(contents->messages);
		}
		struct there *there = &contents->messages[contents->count++];
		snprintf(there->session, NAME_BYTES, "%.23s", id);
		snprintf(there->key, NAME_BYTES, "%.*s", (int)strcspn(message->text, " "), message->text);
		there->seq = message->seq;
	}
	assert_int_equal(rc, 0);
	bobbin_messages_close(messages);
}

/* Every session of the store opens, and this is all that is said in them; nothing is there twice. */
static void read_store(struct scene *scene, bobbin_store *store, struct contents *contents)
{
	const struct bobbin_session_info *info;
	struct bobbin_error error = {0};
	bobbin_list *list;

	memset(contents, 0, sizeof(*contents));
	contents->sessions = calloc(10000, NAME_BYTES);
	assert_int_equal(bobbin_list_open(store, NULL, &list, &error), 0);
	while ((info = bobbin_list_next(list)) != NULL) {
		bobbin_session *session;
		int rc = bobbin_session_open(store, info->id, NULL, &session, &error);
		if (rc)
			print_message("%s: %s\n", info->id, error.message);
		assert_int_equal(rc, 0);
		assert_true(info->messages_known);
		assert_int_equal(info->messages, bobbin_session_info(session)->messages);
		snprintf(contents->sessions[contents->session_count++], NAME_BYTES, "%.23s", info->id);
		scene->torn += bobbin_session_info(session)->faults;
		add_messages(session, info->id, contents);
		bobbin_session_close(session);
	}
	bobbin_list_close(list);
	qsort(contents->messages, contents->count, sizeof(struct there), by_key);
	for (size_t i = 1; i < contents->count; i++)
		assert_true(strcmp(contents->messages[i - 1].key, contents->messages[i].key) != 0);
}

static void release_contents(struct contents *contents)
{
	free(contents->messages);
	free(contents->sessions);
}

static bool has_session(const struct contents *contents, const char *id)
{
	for (size_t i = 0; i < contents->session_count; i++)
		if (strcmp(contents->sessions[i], id) == 0)
			return true;
	return false;
}

/* Nobody was about to delete it before the `end`th thing told; or: it was deleted, and that was told. */
static bool is_kept(const struct scene *scene, const char *session, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const struct told *told = &scene->told[i];
		if ((told->work == DELETE || told->work == MATERIALIZE) && strcmp(told->session, session) == 0)
			return false;
	}
	return true;
}

static bool is_deleted(const struct scene *scene, const char *session)
{
	for (size_t i = 0; i < scene->told_count; i++) {
		const struct told *told = &scene->told[i];
		if ((told->work == DELETE || told->work == MATERIALIZE) && !told->intent &&
			strcmp(told->session, session) == 0)
			return true;
	}
	return false;
}

static void check_message(const struct contents *contents, const struct told *told, const char *session, const char *key)
{
	struct there wanted = {.seq = 0};

	snprintf(wanted.session, NAME_BYTES, "%s", session);
	snprintf(wanted.key, NAME_BYTES, "%s", key);
	const struct there *found =
		bsearch(&wanted, contents->messages, contents->count, sizeof(struct there), by_key);
	if (!found)
		print_message("%s is not in %s\n", key, session);
	assert_non_null(found);
	assert_int_equal(found->seq, told->seq);
}

/* Of the first `known` things told, what must be there; `all`: what was taken away since, too. */
static void check_told(const struct scene *scene, const struct contents *contents, size_t known, size_t end)
{
	char key[NAME_BYTES];

	for (size_t i = 0; i < known; i++) {
		const struct told *told = &scene->told[i];
		bool is_fork = told->work == FORK;
		const char *session = is_fork ? told->key : told->session;
		if (told->intent || (told->work != APPEND && told->work != EDIT && !is_fork))
			continue;
		if (!is_kept(scene, session, end) && !has_session(contents, session))
			continue;
		snprintf(key, sizeof(key), "w%ux%u", told->writer, told->number);
		check_message(contents, told, session, is_fork ? key : told->key);
	}
}

static void check_forks(const struct scene *scene, bobbin_store *store, const struct contents *contents)
{
	for (size_t i = 0; i < scene->told_count; i++) {
		const struct told *told = &scene->told[i];
		bobbin_session *fork;
		bool whole;
		if (told->work != FORK || told->intent || !has_session(contents, told->key))
			continue;
		assert_int_equal(bobbin_session_open(store, told->key, NULL, &fork, NULL), 0);
		assert_int_equal(bobbin_session_info(fork)->forked_at, told->kept);
		assert_true(strcmp(bobbin_session_info(fork)->parent_id, told->session) == 0);
		assert_true(digest_of(fork, told->kept, &whole) == told->digest);
		assert_true(whole);
		bobbin_session_close(fork);
	}
}

/* What one writer was told of a session came in rising numbers. */
static void check_order(const struct scene *scene)
{
	for (size_t i = 0; i < scene->told_count; i++) {
		const struct told *told = &scene->told[i];
		if (told->intent || !told->seq || told->work == FORK)
			continue;
		for (size_t j = i + 1; j < scene->told_count && j < i + 200; j++)
			if (!scene->told[j].intent && scene->told[j].seq && scene->told[j].work != FORK &&
				scene->told[j].writer == told->writer &&
				strcmp(scene->told[j].session, told->session) == 0) {
				assert_true(scene->told[j].seq > told->seq);
				break;
			}
	}
}

/* The newest backup of each writer that was acknowledged, whatever became of those begun after it. */
static void check_backups(struct scene *scene)
{
	for (uint32_t writer = 0; writer < WRITERS; writer++) {
		size_t begun = 0, known = 0;
		for (size_t i = 0; i < scene->told_count; i++) {
			const struct told *told = &scene->told[i];
			if (told->work != BACKUP || told->writer != writer)
				continue;
			if (told->intent)
				begun = i;
			else
				known = begun;
		}
		if (!known)
			continue;
		struct contents contents;
		char name[16];
		snprintf(name, sizeof(name), "backup%u", writer);
		bobbin_store *store = open_store(scratch_path(scene->dir, name));
		assert_non_null(store);
		read_store(scene, store, &contents);
		check_told(scene, &contents, known, scene->told_count);
		scene->copied_messages += contents.count;
		release_contents(&contents);
		bobbin_store_close(store);
	}
}

/* Nothing is left lying about that a repair does not take away, but what a deleted fork inherited: nothing tells that it was
 * not its log that was lost, so only a deletion takes it away. */
static void check_leftovers(bobbin_store *store)
{
	struct bobbin_error error = {0};
	bobbin_faults *faults;
	uint64_t mended;

	assert_int_equal(bobbin_repair_store(store, &mended, &error), 0);
	assert_int_equal(bobbin_doctor_store(store, &faults, &error), 0);
	for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
		const struct bobbin_fault *fault = bobbin_faults_get(faults, i);
		if (strcmp(fault->kind, "copy") != 0)
			print_message("%s %s: %s\n", fault->kind, fault->where, fault->message);
		assert_string_equal(fault->kind, "copy");
	}
	bobbin_faults_free(faults);
}

static void check_store(struct scene *scene)
{
	struct contents contents;
	bobbin_store *store = open_store(scene->store);

	assert_non_null(store);
	read_store(scene, store, &contents);
	check_order(scene);
	check_told(scene, &contents, scene->told_count, scene->told_count);
	check_forks(scene, store, &contents);
	for (size_t i = 0; i < contents.session_count; i++)
		assert_false(is_deleted(scene, contents.sessions[i]));
	release_contents(&contents);
	check_backups(scene);
	check_leftovers(store);
	bobbin_store_close(store);
}

static void kill_many(struct scene *scene, uint64_t kills)
{
	scratch_make(scene->dir);
	snprintf(scene->store, sizeof(scene->store), "%s", scratch_path(scene->dir, "store"));
	bobbin_store_close(open_store(scene->store));
	assert_int_equal(pipe(scene->pipe), 0);
	memset(scene->done, 0, sizeof(scene->done));
	memset(scene->lives, 0, sizeof(scene->lives));
	scene->told_count = 0;
	for (uint32_t i = 0; i < WRITERS; i++)
		start_writer(scene, i);
	for (uint64_t i = 0; i < kills; i++) {
		uint32_t index = sim_random_below(&scene->random, WRITERS);
		usleep(sim_random_below(&scene->random, sim_random_below(&scene->random, 4) ? 20000 : 150000));
		listen_for(scene);
		kill_writer(scene, index);
		start_writer(scene, index);
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		kill_writer(scene, i);
	scene->kills -= WRITERS; /* those were at a quiet moment */
	check_store(scene);
	close(scene->pipe[0]);
	close(scene->pipe[1]);
	scratch_remove(scene->dir);
}

static void killed_writers__all_that_was_acknowledged_is_there_and_what_was_deleted_is_gone(void **state)
{
	(void)state;
	uint64_t kills = soak_count(KILLS, KILLS_SOAK);
	struct scene scene = {.seed = soak_seed(1)};

	assert_non_null(scene.told = calloc(TOLD_MAX, sizeof(*scene.told)));
	while (scene.kills < kills) {
		scene.random = (struct sim_random){scene.seed};
		kill_many(&scene, kills - scene.kills < KILLS_A_STORE ? kills - scene.kills : KILLS_A_STORE);
		print_message("# seed %llu: %llu kills\n", (unsigned long long)scene.seed,
			(unsigned long long)scene.kills);
		scene.seed++;
	}
	free(scene.told);
	print_message("# %llu kills; acknowledged and there:", (unsigned long long)scene.kills);
	for (int work = 0; work < WORKS; work++)
		print_message(" %llu %s", (unsigned long long)scene.counts[work], WORK_NAMES[work]);
	print_message("; %llu messages in backups, %llu torn lines\n", (unsigned long long)scene.copied_messages,
		(unsigned long long)scene.torn);
	assert_true(scene.counts[APPEND] > 0 && scene.counts[FORK] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writers__all_that_was_acknowledged_is_there_and_what_was_deleted_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
