/* SPDX-License-Identifier: MIT */
/* The public interface as a host uses it: appending, heads, edits, forks, trees, plans, and what it refuses. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "talk.h"

static char line[8192];
static struct bobbin_error error;
static struct bobbin_ack ack;

static int append(bobbin_session *session, const char *record, const char *expect)
{
	return bobbin_session_append(session, record, strlen(record), expect, &ack, &error);
}

static void append__compares_the_head_and_swaps(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main"), *other = open_session("main");
	assert_string_equal(bobbin_session_head(session), "");
	assert_int_equal(append(session, "{\"role\":\"user\",\"content\":\"a\"}", "m9"), BOBBIN_ECONFLICT);
	assert_int_equal(append(session, "{\"role\":\"user\",\"content\":\"a\"}", ""), 0);
	assert_string_equal(ack.id, "m1");
	assert_int_equal(append(other, "{\"role\":\"user\",\"content\":\"b\"}", ""), BOBBIN_ECONFLICT);
	assert_int_equal(append(other, "{\"role\":\"user\",\"content\":\"b\"}", "m1"), 0);
	assert_int_equal(bobbin_session_refresh(session, &error), 0);
	assert_string_equal(bobbin_session_head(session), "m2");
	assert_string_equal(line_of(session, line, sizeof(line)), "u:a|u:b");
	bobbin_session_close(other);
	bobbin_session_close(session);
}

static void append__same_id_and_bytes_again_is_acknowledged(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(append(session, "{\"role\":\"user\",\"id\":\"k1\",\"content\":\"a\"}", NULL), 0);
	assert_int_equal(ack.repeated, 0);
	assert_int_equal(append(session, "{\"role\":\"user\",\"id\":\"k1\",\"content\":\"a\"}", NULL), 0);
	assert_int_equal(ack.repeated, 1);
	assert_int_equal(append(session, "{\"role\":\"user\",\"id\":\"k1\",\"content\":\"b\"}", NULL), BOBBIN_EEXIST);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:a");
	bobbin_session_close(session);
}

static void append__only_messages(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	assert_int_equal(append(session, "{\"type\":\"rewind\",\"to\":null}", NULL), BOBBIN_EINPUT);
	assert_int_equal(append(session, "[]", NULL), BOBBIN_EINPUT);
	assert_int_equal(append(session, "{\"role\":\"user\"", NULL), BOBBIN_EINPUT);
	assert_int_equal(bobbin_session_append_text(session, "tool", "x", 1, &ack, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_session_append(session, NULL, 0, NULL, &ack, &error), BOBBIN_EINVAL);
	bobbin_session_close(session);
}

static void rewind_and_edit__branches_stay(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"one\"}", NULL);
	append(session, "{\"role\":\"assistant\",\"content\":\"two\"}", NULL);
	append(session, "{\"role\":\"user\",\"content\":\"three\"}", NULL);
	assert_int_equal(bobbin_session_rewind(session, "m1", &ack, &error), 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:one");
	assert_int_equal(bobbin_session_rewind(session, "m3", &ack, &error), 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:one|a:two|u:three");
	assert_int_equal(bobbin_session_edit(session, "m3", "drei", 4, &ack, &error), 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:one|a:two|u:drei");
	assert_int_equal(bobbin_session_edit(session, "m1", "eins", 4, &ack, &error), 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:eins");
	assert_int_equal(bobbin_session_edit(session, "m2", "x", 1, &ack, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_session_edit(session, "m99", "x", 1, &ack, &error), BOBBIN_ENOTFOUND);
	assert_int_equal(bobbin_session_rewind(session, "", &ack, &error), 0);
	assert_string_equal(bobbin_session_head(session), "");
	bobbin_session_close(session);
}

static void fork__by_number_and_by_id(void **state)
{
	(void)state;
	struct bobbin_forked forked;
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"one\"}", NULL);
	append(session, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}]}", NULL);
	append(session, "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"r\"}", NULL);
	assert_int_equal(bobbin_session_fork(session, "2", NULL, &forked, &error), 0);
	assert_int_equal(forked.kept, 1); /* a call is not parted from its result */
	assert_string_equal(forked.through, "m1");
	assert_int_equal(bobbin_session_fork(session, "m3", NULL, &forked, &error), 0);
	assert_int_equal(forked.kept, 3);
	assert_int_equal(bobbin_session_fork(session, "0", NULL, &forked, &error), 0);
	assert_int_equal(forked.kept, 0);
	assert_int_not_equal(bobbin_session_fork(session, "4", NULL, &forked, &error), 0);
	assert_int_equal(bobbin_session_fork(session, "m4", NULL, &forked, &error), BOBBIN_ENOTFOUND);
	assert_int_equal(bobbin_session_fork(session, "", NULL, &forked, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_session_fork(session, "99999999999999999999", NULL, &forked, &error), BOBBIN_EINVAL);
	bobbin_session_close(session);
	assert_int_equal(bobbin_session_delete(store, "main", &error), BOBBIN_EREFUSED);
}

static void tree__parents_before_children(void **state)
{
	(void)state;
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	const struct bobbin_tree_node *node;
	bobbin_tree *tree;
	bobbin_session *session = open_session("root");
	append(session, "{\"role\":\"user\",\"content\":\"one\"}", NULL);
	append(session, "{\"role\":\"user\",\"content\":\"two\"}", NULL);
	options.id = "late";
	assert_int_equal(bobbin_session_fork(session, "2", &options, NULL, &error), 0);
	options.id = "early";
	assert_int_equal(bobbin_session_fork(session, "1", &options, NULL, &error), 0);
	bobbin_session_close(session);
	session = open_session("early");
	options.id = "below";
	assert_int_equal(bobbin_session_fork(session, "1", &options, NULL, &error), 0);
	bobbin_session_close(session);
	bobbin_session_close(open_session("other"));
	assert_int_equal(bobbin_tree_open(store, "below", &tree, &error), 0);
	static const struct {
		const char *id;
		unsigned depth;
		int last;
	} right[] = {{"root", 0, 1}, {"early", 1, 0}, {"below", 2, 1}, {"late", 1, 1}};
	for (size_t i = 0; i < 4; i++) {
		node = bobbin_tree_next(tree);
		assert_non_null(node);
		assert_string_equal(node->session->id, right[i].id);
		assert_int_equal(node->depth, right[i].depth);
		assert_int_equal(node->last, right[i].last);
	}
	assert_null(bobbin_tree_next(tree));
	bobbin_tree_close(tree);
	assert_int_equal(bobbin_tree_open(store, "nobody", &tree, &error), BOBBIN_ENOTFOUND);
	assert_int_equal(bobbin_tree_open(store, "../x", &tree, &error), BOBBIN_EINVAL);
}

static void plan__as_of_a_message(void **state)
{
	(void)state;
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	bobbin_plan *plan;
	char *body;
	size_t len;
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"apples\"}", NULL);
	append(session, "{\"role\":\"assistant\",\"content\":\"pears\"}", NULL);
	append(session, "{\"role\":\"user\",\"content\":\"plums\"}", NULL);
	options.at = "m1";
	assert_int_equal(bobbin_plan_make(session, &options, &plan, &error), 0);
	assert_int_equal(bobbin_plan_request(plan, "anthropic", &body, &len, &error), 0);
	assert_non_null(strstr(body, "apples"));
	assert_null(strstr(body, "plums"));
	bobbin_free(body);
	assert_int_equal(bobbin_plan_request(plan, "latin", &body, &len, &error), BOBBIN_EUNSUPPORTED);
	bobbin_plan_free(plan);
	options.at = "m7";
	assert_int_equal(bobbin_plan_make(session, &options, &plan, &error), BOBBIN_ENOTFOUND);
	bobbin_session_close(session);
}

static void handles__refused_in_a_child_process(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	pid_t child = fork();
	if (child == 0) {
		struct bobbin_error why;
		struct bobbin_ack got;
		bobbin_session *again;
		int rc = bobbin_session_append_text(session, "user", "x", 1, &got, &why);
		int open = bobbin_session_open(store, "main", NULL, &again, &why);
		_exit(rc == BOBBIN_EINVAL && open == BOBBIN_EINVAL ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(line_of(session, line, sizeof(line)), "");
	bobbin_session_close(session);
}

static void null_handles__an_error_and_no_crash(void **state)
{
	(void)state;
	bobbin_session *session;
	bobbin_plan *plan;
	bobbin_turn *turn;
	assert_int_equal(bobbin_store_open(NULL, NULL, &store, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_session_open(NULL, "main", NULL, &session, NULL), BOBBIN_EINVAL);
	assert_int_equal(bobbin_session_append_text(NULL, "user", "x", 1, &ack, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_plan_make(NULL, NULL, &plan, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_turn_start(NULL, NULL, "x", 1, NULL, &turn, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_model_open(NULL, NULL, &error), BOBBIN_EINVAL);
	bobbin_session_close(NULL);
	bobbin_plan_free(NULL);
	bobbin_turn_free(NULL);
	bobbin_model_close(NULL);
	bobbin_faults_free(NULL);
	bobbin_import_free(NULL);
	bobbin_list_close(NULL);
	bobbin_tree_close(NULL);
	bobbin_messages_close(NULL);
	bobbin_free(NULL);
}

static void doctor__says_what_a_provider_would_refuse(void **state)
{
	(void)state;
	bobbin_faults *faults;
	char kinds[512] = "";
	static const char foreign[] = "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
				      "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"user\","
				      "\"content\":\"hi\"},{\"role\":\"tool\",\"tool_call_id\":\"zz\",\"content\":\"x\"}]";
	assert_int_equal(bobbin_doctor_data("openai-chat", foreign, sizeof(foreign) - 1, &faults, &error), 0);
	for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
		strcat(kinds, bobbin_faults_get(faults, i)->kind);
		strcat(kinds, " ");
	}
	bobbin_faults_free(faults);
	assert_non_null(strstr(kinds, "no_user_first"));
	assert_non_null(strstr(kinds, "dangling_call"));
	assert_non_null(strstr(kinds, "orphan_result"));
	assert_int_not_equal(bobbin_doctor_data(NULL, "not json", 8, &faults, &error), 0);
}

static void import__all_or_none(void **state)
{
	(void)state;
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	static const char two[] = "[{\"traj\":[{\"role\":\"user\",\"content\":\"a\"}]},{\"traj\":[{\"role\":\"user\","
				  "\"content\":\"b\"}]}]";
	bobbin_import *import;
	bobbin_list *list;
	options.id = "taken";
	assert_int_equal(bobbin_import_data(store, two, sizeof(two) - 1, &options, &import, &error), BOBBIN_EINVAL);
	options.id = NULL;
	assert_int_equal(bobbin_import_data(store, two, sizeof(two) - 1, &options, &import, &error), 0);
	assert_int_equal(bobbin_import_count(import), 2);
	assert_string_equal(bobbin_import_format(import), "openai-chat");
	assert_null(bobbin_import_get(import, 2));
	bobbin_import_free(import);
	assert_int_equal(bobbin_list_open(store, NULL, &list, &error), 0);
	int count = 0;
	while (bobbin_list_next(list))
		count++;
	bobbin_list_close(list);
	assert_int_equal(count, 2);
}

/* Nothing to answer: nothing is made up in its place. */
static void request__without_a_message_is_refused(void **state)
{
	(void)state;
	static const char *const dialects[] = {"openai-chat", "openai-responses", "anthropic"};
	bobbin_session *session = open_session("main");
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	options.model = "gpt-4o";
	options.system = "Be terse.";
	options.system_len = strlen(options.system);
	for (int round = 0; round < 3; round++) {
		bobbin_plan *plan;
		char *body;
		size_t len;
		assert_int_equal(bobbin_plan_make(session, &options, &plan, &error), 0);
		int rc = bobbin_plan_request(plan, dialects[round], &body, &len, &error);
		assert_int_equal(rc, BOBBIN_EINPUT);
		assert_non_null(strstr(error.message, "no message to send"));
		bobbin_plan_free(plan);
		if (round == 0)
			append(session, "{\"role\":\"user\",\"content\":\"a\"}", NULL);
		assert_int_equal(bobbin_session_rewind(session, "", &ack, &error), 0);
	}
	bobbin_session_close(session);
}

static int import_one(const char *id, const char *owner)
{
	static const char one[] = "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]";
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	bobbin_import *import;
	options.id = id;
	options.owner = owner;
	int rc = bobbin_import_data(store, one, sizeof(one) - 1, &options, &import, &error);
	if (!rc) {
		assert_int_equal(bobbin_import_get(import, 0)->messages_on_line, 2);
		bobbin_import_free(import);
	}
	return rc;
}

/* An import that was killed leaves a session without a record; again is then possible, into that one only. */
static void import__again_after_it_was_killed(void **state)
{
	(void)state;
	bobbin_session_close(open_session("left"));
	assert_int_equal(import_one("left", "ana"), BOBBIN_EEXIST);
	assert_int_equal(import_one("left", NULL), 0);
	assert_int_equal(import_one("left", NULL), BOBBIN_EEXIST);
	bobbin_session *session = open_session("left");
	assert_string_equal(line_of(session, line, sizeof(line)), "u:a|a:b");
	bobbin_session_close(session);
	session = open_session("used");
	assert_int_equal(append(session, "{\"role\":\"user\",\"content\":\"x\"}", NULL), 0);
	assert_int_equal(bobbin_session_rewind(session, "", &ack, &error), 0);
	assert_int_equal(import_one("used", NULL), BOBBIN_EEXIST);
	bobbin_session_close(session);
}

static void append__refused_first_record_leaves_no_session(void **state)
{
	(void)state;
	bobbin_session *session = open_session("new"), *other;
	assert_int_equal(append(session, "{\"role\":\"user\"", NULL), BOBBIN_EINPUT);
	bobbin_session_close(session);
	assert_false(scratch_exists(scratch_dir, "new.jsonl"));
	/* What anybody stored in it keeps it; so does that nothing was tried. */
	session = open_session("new");
	other = open_session("new");
	assert_int_equal(append(session, "{\"role\":\"nobody\",\"content\":\"a\"}", NULL), BOBBIN_EINPUT);
	assert_int_equal(append(other, "{\"role\":\"user\",\"content\":\"a\"}", NULL), 0);
	bobbin_session_close(session);
	assert_int_equal(append(other, "{\"role\":\"assistant\",\"content\":\"b\"}", NULL), 0);
	assert_string_equal(line_of(other, line, sizeof(line)), "u:a|a:b");
	bobbin_session_close(other);
	bobbin_session_close(open_session("empty"));
	assert_int_equal(bobbin_session_open(store, "empty", &(struct bobbin_session_options){
		sizeof(struct bobbin_session_options), .must_exist = 1}, &session, &error), 0);
	bobbin_session_close(session);
}

static void edit__to_nothing_is_refused(void **state)
{
	(void)state;
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"one\"}", NULL);
	assert_int_equal(bobbin_session_edit(session, "m1", "", 0, &ack, &error), BOBBIN_EINVAL);
	assert_string_equal(line_of(session, line, sizeof(line)), "u:one");
	bobbin_session_close(session);
}

/* The names in a folder and below it, in no order, with their sizes and times: a sum that changes with any of them. */
static uint64_t seen_below(const char *path)
{
	char below[SCRATCH_PATH_BYTES];
	struct dirent *entry;
	struct stat info;
	DIR *dir = opendir(path);
	uint64_t sum = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		assert_true((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < sizeof(below));
		assert_int_equal(lstat(below, &info), 0);
		uint64_t one = 1469598103934665603u;
		for (const char *c = entry->d_name; *c; c++)
			one = (one ^ (unsigned char)*c) * 1099511628211u;
		sum += one * ((uint64_t)info.st_size + 1) + (uint64_t)info.st_mtim.tv_nsec * 31 + (uint64_t)info.st_mtim.tv_sec;
		if (S_ISDIR(info.st_mode))
			sum += seen_below(below);
	}
	closedir(dir);
	return sum;
}

/* Enough messages and sessions that somebody who may write would write an index and a catalogue. */
static void read_only__not_even_caches_are_written(void **state)
{
	(void)state;
	struct bobbin_store_options reading = BOBBIN_STORE_OPTIONS_INIT;
	struct bobbin_session_options of = BOBBIN_SESSION_OPTIONS_INIT;
	char path[SCRATCH_PATH_BYTES], cache[SCRATCH_PATH_BYTES + 32], name[32];
	bobbin_session *session = open_session("main");
	bobbin_store *only_read;
	bobbin_list *list;
	bobbin_plan *plan;
	unsigned listed = 0;

	for (int i = 0; i < 600; i++)
		assert_int_equal(append(session, "{\"role\":\"user\",\"content\":\"a\"}", NULL), 0);
	bobbin_session_close(session);
	for (int i = 0; i < 80; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		session = open_session(name);
		assert_int_equal(append(session, "{\"role\":\"user\",\"content\":\"a\"}", NULL), 0);
		bobbin_session_close(session);
		snprintf(path, sizeof(path), "%s/%s.meta.json", scratch_path(scratch_dir, "store"), name);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s", scratch_path(scratch_dir, "store"));
	snprintf(cache, sizeof(cache), "%s/.cache/main.index", path);
	assert_int_equal(unlink(cache), 0);
	const uint64_t before = seen_below(path);
	reading.read_only = 1;
	of.must_exist = 1;
	assert_int_equal(bobbin_store_open(path, &reading, &only_read, &error), 0);
	assert_int_equal(bobbin_list_open(only_read, NULL, &list, &error), 0);
	while (bobbin_list_next(list))
		listed++;
	bobbin_list_close(list);
	assert_int_equal(listed, 81);
	assert_int_equal(bobbin_session_open(only_read, "main", &of, &session, &error), 0);
	assert_int_equal(bobbin_plan_make(session, NULL, &plan, &error), 0);
	bobbin_plan_free(plan);
	assert_string_equal(bobbin_session_head(session), "m600");
	bobbin_session_close(session);
	bobbin_store_close(only_read);
	assert_true(seen_below(path) == before);
	assert_int_equal(access(cache, F_OK), -1);
	/* Whoever may write does: so it was not the limits that kept the reader from it. */
	session = open_session("main");
	bobbin_session_close(session);
	assert_int_equal(access(cache, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
	const struct CMUnitTest tests[] = {
		TEST(append__compares_the_head_and_swaps),
		TEST(append__same_id_and_bytes_again_is_acknowledged),
		TEST(append__only_messages),
		TEST(rewind_and_edit__branches_stay),
		TEST(fork__by_number_and_by_id),
		TEST(tree__parents_before_children),
		TEST(plan__as_of_a_message),
		TEST(handles__refused_in_a_child_process),
		cmocka_unit_test(null_handles__an_error_and_no_crash),
		TEST(doctor__says_what_a_provider_would_refuse),
		TEST(import__all_or_none),
		TEST(request__without_a_message_is_refused),
		TEST(import__again_after_it_was_killed),
		TEST(append__refused_first_record_leaves_no_session),
		TEST(edit__to_nothing_is_refused),
		TEST(read_only__not_even_caches_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
