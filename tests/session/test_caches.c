/* SPDX-License-Identifier: MIT */
/*
 * Caches are nothing to rely on: index files, meta files, the catalogue and what else lies in .cache are deleted, cut,
 * filled with junk, swapped between sessions, replaced by folders and FIFOs, while open handles append, plan, list,
 * fork and search. What is done is done to a second store as well, whose caches nobody touches: both must say the same,
 * word for word. Nothing may hang.
 *
 * N: how many steps of the random test; SEED: which.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "session/handles.h"
#include "sim/random.h"
#include "store/store_internal.h"
#include "support/scratch.h"
#include "support/soak.h"

#define STEPS 250
#define STEPS_SOAK 6000
#define STEPS_A_STORE 250
#define FORKS_MAX 40
#define HANG_SECONDS 60
#define CUTS_APART 37 /* in the middle of a file, unless in a soak */

enum { HARMED, MIRROR, STORES };

struct scene {
	char dir[SCRATCH_PATH_BYTES];
	bobbin_store *stores[STORES];
	bobbin_session *main[STORES], *other[STORES], *child[STORES];
	unsigned texts, forks;
};

/* ---- What a store says, as one text ---- */

static void dump_messages(bobbin_session *session, struct buffer *out)
{
	struct bobbin_messages_options all = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	struct bobbin_error error = {0};
	bobbin_messages *messages;
	int rc;

	all.all_branches = 1;
	assert_int_equal(bobbin_messages_open(session, &all, &messages, &error), 0);
	while ((rc = bobbin_messages_next(messages, &message, &error)) > 0)
		buffer_addf(out, "%s after %s, %s, %llu, line %llu, %llu tokens, at %lld, %d: %s\n", message->id,
			message->parent, message->role, (unsigned long long)message->seq,
			(unsigned long long)message->line, (unsigned long long)message->tokens,
			(long long)message->position, message->inherited, message->text);
	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	bobbin_messages_close(messages);
}

static void dump_plan(bobbin_session *session, uint64_t window, struct buffer *out)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_plan *plan;
	char *text;
	size_t len;

	options.model = "gpt-4o";
	options.window = window;
	options.no_facts = 1;
	int rc = bobbin_plan_make(session, &options, &plan, &error);
	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	assert_int_equal(bobbin_plan_json(plan, &text, &len, &error), 0);
	buffer_addf(out, "plan %s\n", text);
	bobbin_free(text);
	assert_int_equal(bobbin_plan_request(plan, "openai-chat", &text, &len, &error), 0);
	buffer_addf(out, "request %s\n", text);
	bobbin_free(text);
	bobbin_plan_free(plan);
}

/* Not its bytes: a time is written shorter where its milliseconds are 0. */
static void dump_info(const struct bobbin_session_info *info, struct buffer *out)
{
	buffer_addf(out, "%s \"%s\" of %s, from %s at %llu, %lld messages, %s\n", info->id, info->title,
		info->owner, info->parent_id, (unsigned long long)info->forked_at,
		info->messages_known ? (long long)info->messages : -1, info->damaged ? info->damaged : "whole");
}

static void dump_session(bobbin_session *session, struct buffer *out)
{
	struct bobbin_error error = {0};
	int rc = bobbin_session_refresh(session, &error);

	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	dump_info(bobbin_session_info(session), out);
	buffer_addf(out, "head %s, %llu tokens\n", bobbin_session_head(session),
		(unsigned long long)bobbin_session_info(session)->tokens);
	dump_messages(session, out);
	dump_plan(session, 0, out);
	dump_plan(session, 1000, out);
}

static int by_id(const void *a, const void *b)
{
	const struct bobbin_session_info *const *left = a, *const *right = b;
	return strcmp((*left)->id, (*right)->id);
}

/* By id: when a log was last written is not the same in both stores. */
static void dump_list(bobbin_store *store, const struct bobbin_list_options *options, struct buffer *out)
{
	const struct bobbin_session_info *infos[FORKS_MAX + 8];
	struct bobbin_error error = {0};
	bobbin_list *list;
	size_t count = 0;

	assert_int_equal(bobbin_list_open(store, options, &list, &error), 0);
	while ((infos[count] = bobbin_list_next(list)) != NULL)
		count++;
	qsort(infos, count, sizeof(*infos), by_id);
	for (size_t i = 0; i < count; i++)
		dump_info(infos[i], out);
	buffer_addf(out, "%zu sessions\n", count);
	bobbin_list_close(list);
}

static void dump_tree(bobbin_store *store, struct buffer *out)
{
	const struct bobbin_tree_node *node;
	struct bobbin_error error = {0};
	bobbin_tree *tree;

	assert_int_equal(bobbin_tree_open(store, "main", &tree, &error), 0);
	for (size_t count = 0; (node = bobbin_tree_next(tree)) != NULL; count++) {
		buffer_addf(out, "tree %u: ", node->depth);
		if (node->depth) /* siblings forked at one place come by time */
			buffer_addf(out, "at %llu\n", (unsigned long long)node->session->forked_at);
		else
			dump_info(node->session, out);
	}
	bobbin_tree_close(tree);
}

static void dump_search(bobbin_store *store, const char *session, struct buffer *out)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	const struct bobbin_match *match;
	struct bobbin_error error = {0};
	bobbin_search *search;
	uint64_t hits = 0;
	int rc;

	options.session = session;
	options.line_only = session != NULL;
	assert_int_equal(bobbin_search_open(store, "7 ", 2, &options, &search, &error), 0);
	while ((rc = bobbin_search_next(search, &match, &error)) > 0) {
		hits++;
		if (session)
			buffer_addf(out, "found %s %s %d %d\n", match->session, match->id, match->on_line, match->inherited);
	}
	assert_int_equal(rc, 0);
	buffer_addf(out, "%llu found, %llu skipped\n", (unsigned long long)hits,
		(unsigned long long)bobbin_search_skipped(search));
	bobbin_search_close(search);
}

static void dump_again(bobbin_store *store, const char *id, struct buffer *out)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_session *session;

	options.must_exist = 1;
	int rc = bobbin_session_open(store, id, &options, &session, &error);
	if (rc)
		print_message("%s: %s\n", id, error.message);
	assert_int_equal(rc, 0);
	dump_session(session, out);
	bobbin_session_close(session);
}

/* For the caller to free. */
static char *dump(const struct scene *scene, int which)
{
	struct bobbin_list_options named = BOBBIN_LIST_OPTIONS_INIT;
	bobbin_store *store = scene->stores[which];
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);

	dump_list(store, NULL, &out);
	named.title = "fork";
	named.parent = "main";
	dump_list(store, &named, &out);
	named = (struct bobbin_list_options)BOBBIN_LIST_OPTIONS_INIT;
	named.owner = "bert";
	dump_list(store, &named, &out);
	dump_session(scene->main[which], &out);
	dump_session(scene->other[which], &out);
	dump_session(scene->child[which], &out);
	dump_tree(store, &out);
	dump_search(store, NULL, &out);
	dump_search(store, "child", &out);
	dump_again(store, "main", &out);
	dump_again(store, "child", &out);
	char *text = strdup(buffer_slice(&out).data);
	buffer_release(&out);
	assert_non_null(text);
	return text;
}

static void compare(const struct scene *scene, const char *expected)
{
	char *found = dump(scene, HARMED), *right = expected ? NULL : dump(scene, MIRROR);
	const char *wanted = expected ? expected : right;
	size_t at = 0;

	if (strcmp(found, wanted) != 0) {
		while (found[at] == wanted[at])
			at++;
		while (at > 0 && found[at - 1] != '\n')
			at--;
		print_message("is      %.700s\nmust be %.700s\n", found + at, wanted + at);
	}
	assert_true(strcmp(found, wanted) == 0);
	free(found);
	free(right);
}

/* ---- What is done to both ---- */

static bobbin_store *open_store(const char *path)
{
	struct bobbin_error error = {0};
	bobbin_store *store;

	assert_int_equal(bobbin_store_open(path, NULL, &store, &error), 0);
	/* Caches are written all the time. */
	store->store->index_step = 1;
	store->store->catalogue_step = 1;
	store->store->stamp_tick_ns = -1;
	return store;
}

static bobbin_session *open_session(bobbin_store *store, const char *id, const char *owner, const char *title)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_session *session;

	options.owner = owner;
	options.title = title;
	int rc = bobbin_session_open(store, id, &options, &session, &error);
	if (rc)
		print_message("%s: %s\n", id, error.message);
	assert_int_equal(rc, 0);
	return session;
}

static void say(bobbin_session *session, const char *role, const char *text)
{
	struct bobbin_error error = {0};
	struct bobbin_ack ack;
	int rc = bobbin_session_append_text(session, role, text, strlen(text), &ack, &error);

	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
}

static void fork_at(bobbin_session *session, uint64_t at, const char *id)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_error error = {0};
	struct bobbin_forked forked;
	char count[24];

	snprintf(count, sizeof(count), "%llu", (unsigned long long)at);
	options.id = id;
	options.title = "a fork";
	int rc = bobbin_session_fork(session, count, &options, &forked, &error);
	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
}

static void scene_open(struct scene *scene, unsigned messages)
{
	char text[64];

	memset(scene, 0, sizeof(*scene));
	scratch_make(scene->dir);
	for (int i = 0; i < STORES; i++) {
		scene->stores[i] = open_store(scratch_path(scene->dir, i == HARMED ? "harmed" : "mirror"));
		scene->main[i] = open_session(scene->stores[i], "main", "ana", "the first");
		scene->other[i] = open_session(scene->stores[i], "other", "bert", "another");
		for (unsigned at = 0; at < messages; at++) {
			snprintf(text, sizeof(text), "number %u of these", at);
			say(scene->main[i], at % 2 ? "assistant" : "user", text);
			say(scene->other[i], "user", text);
		}
		fork_at(scene->main[i], messages, "child");
		scene->child[i] = open_session(scene->stores[i], "child", NULL, NULL);
		say(scene->child[i], "user", "in the child: 7 things");
	}
}

static void scene_close(struct scene *scene)
{
	for (int i = 0; i < STORES; i++) {
		bobbin_session_close(scene->main[i]);
		bobbin_session_close(scene->other[i]);
		bobbin_session_close(scene->child[i]);
		bobbin_store_close(scene->stores[i]);
	}
	scratch_remove(scene->dir);
}

static void open_again(struct scene *scene)
{
	for (int i = 0; i < STORES; i++) {
		bobbin_session_close(scene->main[i]);
		bobbin_session_close(scene->child[i]);
		scene->main[i] = open_session(scene->stores[i], "main", NULL, NULL);
		scene->child[i] = open_session(scene->stores[i], "child", NULL, NULL);
	}
}

/* ---- Harm ---- */

enum harm { DELETE, CUT, JUNK, FLIP, SWAP, FOLDER, FULL_FOLDER, FIFO, LINK, HUGE_FILE, HARMS };

static void clear_path(const char *path)
{
	struct stat info;

	if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
		char inside[SCRATCH_PATH_BYTES + 64];
		snprintf(inside, sizeof(inside), "%s/inside", path);
		unlink(inside);
		rmdir(path);
	} else {
		unlink(path);
	}
}

static void write_at(const char *path, off_t at, const char *bytes, size_t len)
{
	int file = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW);

	if (file < 0)
		return;
	if (pwrite(file, bytes, len, at) < 0) {
	} /* a FIFO */
	close(file);
}

static void make_junk(const char *path, struct sim_random *random)
{
	char junk[9000];
	size_t len = sim_random_below(random, sizeof(junk));
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOFOLLOW, 0600);

	for (size_t i = 0; i < len; i++)
		junk[i] = (char)sim_random_next(random);
	if (file < 0)
		return;
	if (write(file, junk, len) < 0) {
	}
	close(file);
}

static void make_folder(const char *path, bool full)
{
	char inside[SCRATCH_PATH_BYTES + 8];

	clear_path(path);
	if (mkdir(path, 0700) == 0 && full) {
		snprintf(inside, sizeof(inside), "%s/inside", path);
		int file = open(inside, O_WRONLY | O_CREAT, 0600);
		if (file >= 0)
			close(file);
	}
}

/* Neither may stop what is under test: each may lose a race with it. */
static void harm(const char *path, const char *other, enum harm how, struct sim_random *random)
{
	char between[SCRATCH_PATH_BYTES + 8], byte = (char)sim_random_next(random);
	struct stat info = {0};
	int lost = 0;

	stat(path, &info);
	off_t size = S_ISREG(info.st_mode) ? info.st_size : 0;
	switch (how) {
	case CUT:
		lost = truncate(path, (off_t)sim_random_below(random, (uint32_t)size + 1));
		break;
	case JUNK:
		make_junk(path, random);
		break;
	case FLIP:
		write_at(path, (off_t)sim_random_below(random, (uint32_t)size + 1), &byte, 1);
		break;
	case SWAP:
		snprintf(between, sizeof(between), "%s.between", path);
		lost = rename(path, between) | rename(other, path) | rename(between, other);
		clear_path(between);
		break;
	case FOLDER:
	case FULL_FOLDER:
		make_folder(path, how == FULL_FOLDER);
		break;
	case FIFO:
		clear_path(path);
		lost = mkfifo(path, 0600);
		break;
	case LINK:
		clear_path(path);
		lost = symlink(other, path);
		break;
	case HUGE_FILE:
		lost = truncate(path, (off_t)1 << 40);
		break;
	default:
		clear_path(path);
	}
	(void)lost;
}

/* Whatever is in the store's folder and may be lost, by name; also what was not there when this was written. */
struct caches {
	char names[600][128];
	unsigned count;
};

static void find_in(const char *store, const char *folder, struct caches *caches)
{
	DIR *dir = opendir(*folder ? scratch_path(store, folder) : store);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		bool is_meta = strstr(entry->d_name, ".meta.json") && entry->d_name[0] != '.';
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || (!*folder && !is_meta) ||
			strlen(entry->d_name) > 100 || caches->count == 600)
			continue;
		snprintf(caches->names[caches->count++], sizeof(caches->names[0]), "%s%s%.100s", folder,
			*folder ? "/" : "", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static void find_caches(const char *store, struct caches *caches)
{
	caches->count = 0;
	find_in(store, ".cache", caches);
	find_in(store, "", caches);
}

static void find_one(const struct caches *caches, const char *store, struct sim_random *random,
	char ret_path[SCRATCH_PATH_BYTES])
{
	const char *name = caches->names[sim_random_below(random, caches->count)];

	snprintf(ret_path, SCRATCH_PATH_BYTES, "%.300s/%s", store, name);
	/* Now and then what is about to be written instead. */
	const char *base = strrchr(ret_path, '/') + 1;
	if (base[0] != '.' && sim_random_below(random, 12) == 0)
		snprintf(ret_path, SCRATCH_PATH_BYTES, "%.300s/%.*s.%s.tmp", store,
			(int)(strrchr(name, '/') ? strrchr(name, '/') + 1 - name : 0), name, base);
}

static void harm_one(const char *store, struct sim_random *random)
{
	static struct caches caches;
	char path[SCRATCH_PATH_BYTES], other[SCRATCH_PATH_BYTES];
	enum harm how = (enum harm)sim_random_below(random, HARMS);

	find_caches(store, &caches);
	if (caches.count == 0)
		return;
	find_one(&caches, store, random, path);
	find_one(&caches, store, random, other);
	harm(path, other, how, random);
	/* What lies in the way does not stay for ever, or there would be no caches left to harm. */
	if (how >= FOLDER && sim_random_percent(random, 50))
		clear_path(path);
}

static pid_t start_harming(const char *store, uint64_t seed, int counter)
{
	fflush(NULL);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	struct sim_random random = {seed};
	for (;;) {
		harm_one(store, &random);
		if (write(counter, "h", 1) != 1)
			_exit(1);
		usleep(sim_random_below(&random, 3000));
	}
}

static uint64_t stop_harming(pid_t child, int counter)
{
	static char harms[1 << 16];
	uint64_t count = 0;
	ssize_t got;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	while ((got = read(counter, harms, sizeof(harms))) > 0)
		count += (uint64_t)got;
	return count;
}

/* ---- Tests ---- */

static void one_step(struct scene *scene, struct sim_random *random)
{
	bobbin_session **sessions[] = {scene->main, scene->other, scene->child};
	bobbin_session **at = sessions[sim_random_below(random, 3)];
	uint32_t what = sim_random_below(random, 10), length = sim_random_below(random, 300);
	struct bobbin_error error = {0};
	char text[400], id[24];

	snprintf(text, sizeof(text), "text %u %.*s", scene->texts++, (int)length,
		"- and what else there is to say of it, to make it longer - and what else there is to say of it, to make it "
		"longer - and what else there is to say of it, to make it longer - and what else there is to say of it, to ");
	snprintf(id, sizeof(id), "fork%u", scene->forks);
	for (int i = 0; i < STORES; i++) {
		if (what == 0 && bobbin_session_info(at[i])->messages > 1)
			assert_int_equal(bobbin_session_rewind(at[i], "m1", NULL, &error), 0);
		else if (what == 1 && scene->forks < FORKS_MAX)
			fork_at(at[i], bobbin_session_info(at[i])->messages, id);
		else
			say(at[i], what % 2 ? "user" : "assistant", text);
	}
	scene->forks += what == 1 && scene->forks < FORKS_MAX;
}

/* Every call may meet any state. Returns how often harm was done. */
static uint64_t harm_for(uint64_t seed, unsigned steps)
{
	struct sim_random random = {seed};
	struct scene scene;
	int counter[2];

	scene_open(&scene, 5);
	char harmed[SCRATCH_PATH_BYTES];
	snprintf(harmed, sizeof(harmed), "%s", scratch_path(scene.dir, "harmed"));
	assert_int_equal(pipe2(counter, O_NONBLOCK), 0);
	pid_t child = start_harming(harmed, seed, counter[1]);
	for (unsigned step = 0; step < steps; step++) {
		alarm(HANG_SECONDS);
		one_step(&scene, &random);
		if (step % 10 == 9)
			compare(&scene, NULL);
		if (step % 50 == 30)
			open_again(&scene);
	}
	uint64_t harms = stop_harming(child, counter[0]);
	/* And at rest: also what is left lying about stops nothing. */
	open_again(&scene);
	compare(&scene, NULL);
	alarm(0);
	close(counter[0]);
	close(counter[1]);
	scene_close(&scene);
	return harms;
}

static void caches_harmed_by_another_process__the_answers_are_those_of_untouched_ones(void **state)
{
	(void)state;
	uint64_t seed = soak_seed(1), harms = 0;
	unsigned long steps = soak_count(STEPS, STEPS_SOAK);

	for (unsigned long done = 0; done < steps; done += STEPS_A_STORE, seed++) {
		print_message("# seed %llu\n", (unsigned long long)seed);
		harms += harm_for(seed, steps - done < STEPS_A_STORE ? (unsigned)(steps - done) : STEPS_A_STORE);
	}
	print_message("# %lu steps, %llu times harm was done to a cache\n", steps, (unsigned long long)harms);
	assert_true(harms > steps / 10);
}

/* With handles that have looked at nothing yet, and which look and append when it has happened. */
static void each_harm_to_each_cache__nothing_is_hidden_or_wrong(void **state)
{
	(void)state;
	static struct caches caches;
	struct sim_random random = {7};
	unsigned long count = 0;

	for (int how = 0; how < HARMS; how++) {
		struct scene scene;
		scene_open(&scene, 4);
		char harmed[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES], other[SCRATCH_PATH_BYTES];
		snprintf(harmed, sizeof(harmed), "%s", scratch_path(scene.dir, "harmed"));
		open_again(&scene);
		compare(&scene, NULL);
		find_caches(harmed, &caches);
		assert_true(caches.count >= 7); /* three of two kinds, and the catalogue */
		for (unsigned i = 0; i < caches.count; i++, count++) {
			alarm(HANG_SECONDS);
			open_again(&scene);
			snprintf(path, sizeof(path), "%.300s/%s", harmed, caches.names[i]);
			snprintf(other, sizeof(other), "%.300s/%s", harmed, caches.names[(i + 1) % caches.count]);
			harm(path, other, (enum harm)how, &random);
			compare(&scene, NULL);
			one_step(&scene, &random);
			compare(&scene, NULL);
			clear_path(path);
		}
		alarm(0);
		scene_close(&scene);
	}
	print_message("# %lu harms, each to a cache of handles that are open\n", count);
}

static char *read_whole(const char *path, size_t *ret_len)
{
	const char *slash = strrchr(path, '/');
	char dir[SCRATCH_PATH_BYTES];

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	return scratch_read(dir, slash + 1, ret_len);
}

static bool is_tried(size_t len, size_t size)
{
	return soak_is_on() || len % CUTS_APART == 0 || len < 2 || len + 2 > size;
}

/* Cut at every byte below handles that are open. */
static void each_cache_cut_at_every_byte__the_answers_stay(void **state)
{
	(void)state;
	static struct caches caches;
	unsigned long cuts = 0;
	struct scene scene;

	scene_open(&scene, 3);
	char harmed[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES];
	snprintf(harmed, sizeof(harmed), "%s", scratch_path(scene.dir, "harmed"));
	open_again(&scene);
	compare(&scene, NULL);
	char *expected = dump(&scene, MIRROR);
	find_caches(harmed, &caches);
	for (unsigned i = 0; i < caches.count; i++) {
		size_t size;
		snprintf(path, sizeof(path), "%.300s/%s", harmed, caches.names[i]);
		char *content = read_whole(path, &size);
		for (size_t len = 0; content && len <= size; len++) {
			if (!is_tried(len, size))
				continue;
			alarm(HANG_SECONDS);
			write_at(path, 0, content, size);
			assert_int_equal(truncate(path, (off_t)size), 0);
			open_again(&scene);
			assert_int_equal(truncate(path, (off_t)len), 0);
			compare(&scene, expected);
			cuts++;
		}
		free(content);
	}
	alarm(0);
	print_message("# %lu cuts of %u caches\n", cuts, caches.count);
	free(expected);
	scene_close(&scene);
}

/* Two sessions whose metas look alike but for what they say: made in one second, of one length. */
static void metas_swapped_between_twins__each_says_its_own(void **state)
{
	(void)state;
	struct scene scene;
	char one[SCRATCH_PATH_BYTES], two[SCRATCH_PATH_BYTES], between[SCRATCH_PATH_BYTES];
	struct sim_random random = {1};

	scene_open(&scene, 1);
	for (int i = 0; i < STORES; i++) {
		bobbin_session *a = open_session(scene.stores[i], "twin-a", "ana", "the one");
		bobbin_session *b = open_session(scene.stores[i], "twin-b", "ana", "the two");
		say(a, "user", "hello");
		say(a, "assistant", "123");
		say(b, "user", "hello");
		say(b, "assistant", "123");
		assert_int_equal(bobbin_session_rewind(a, "m1", NULL, NULL), 0);
		assert_int_equal(bobbin_session_rewind(b, "m2", NULL, NULL), 0);
		bobbin_session_close(a);
		bobbin_session_close(b);
	}
	snprintf(one, sizeof(one), "%s", scratch_path(scene.dir, "harmed/twin-a.meta.json"));
	snprintf(two, sizeof(two), "%s", scratch_path(scene.dir, "harmed/twin-b.meta.json"));
	snprintf(between, sizeof(between), "%s", scratch_path(scene.dir, "harmed/.cache/catalogue"));
	harm(one, two, SWAP, &random);
	clear_path(between);
	compare(&scene, NULL);
	scene_close(&scene);
}

/* A meta that is behind, as a killed process leaves it. */
static void a_meta_that_is_behind__is_not_what_a_list_says(void **state)
{
	(void)state;
	struct scene scene;
	struct bobbin_error error;
	const struct bobbin_session_info *info;
	bobbin_list *list;
	unsigned found = 0;

	scene_open(&scene, 3);
	say(scene.main[HARMED], "user", "one more");
	assert_int_equal(bobbin_list_open(scene.stores[HARMED], NULL, &list, &error), 0);
	while ((info = bobbin_list_next(list)) != NULL) {
		if (strcmp(info->id, "main") == 0 && info->messages_known && ++found)
			assert_int_equal(info->messages, 4);
		if (strcmp(info->id, "child") == 0 && info->messages_known && ++found)
			assert_int_equal(info->messages, 4);
	}
	assert_int_equal(found, 2);
	bobbin_list_close(list);
	scene_close(&scene);
}

/* The folder of caches itself. */
static void no_folder_of_caches__nothing_is_hidden_or_wrong(void **state)
{
	(void)state;
	static const enum harm HOW[] = {JUNK, FIFO, LINK, FOLDER, FULL_FOLDER, DELETE};
	struct sim_random random = {3};
	struct scene scene;
	char cache[SCRATCH_PATH_BYTES], kept[SCRATCH_PATH_BYTES];

	scene_open(&scene, 3);
	snprintf(cache, sizeof(cache), "%s", scratch_path(scene.dir, "harmed/.cache"));
	snprintf(kept, sizeof(kept), "%s", scratch_path(scene.dir, "kept"));
	open_again(&scene);
	for (size_t i = 0; i < sizeof(HOW) / sizeof(HOW[0]); i++) {
		alarm(HANG_SECONDS);
		if (i > 0)
			scratch_remove(kept);
		assert_int_equal(rename(cache, kept), 0);
		harm(cache, kept, HOW[i], &random);
		compare(&scene, NULL);
		one_step(&scene, &random);
		compare(&scene, NULL);
		open_again(&scene);
		compare(&scene, NULL);
		struct stat info;
		if (lstat(cache, &info) == 0 && S_ISDIR(info.st_mode))
			scratch_remove(cache);
		clear_path(cache);
		assert_int_equal(mkdir(cache, 0700), 0);
	}
	alarm(0);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_meta_that_is_behind__is_not_what_a_list_says),
		cmocka_unit_test(metas_swapped_between_twins__each_says_its_own),
		cmocka_unit_test(no_folder_of_caches__nothing_is_hidden_or_wrong),
		cmocka_unit_test(each_harm_to_each_cache__nothing_is_hidden_or_wrong),
		cmocka_unit_test(each_cache_cut_at_every_byte__the_answers_stay),
		cmocka_unit_test(caches_harmed_by_another_process__the_answers_are_those_of_untouched_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
