/* SPDX-License-Identifier: MIT */
/* Resume tests: what a fresh conversation gets of a task that is cut, what is counted, and that nothing else is touched. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/alloc.h"
#include "session/resume_test.h"
#include "support/fail.h"
#include "talk.h"

#define GOAL "Do what stands in todo.md, then tell those whom it is about."
#define TODO "- [ ] one\\n- [ ] two\\n- [ ] three\\n- [ ] four\\n"
#define HALF 0.5 /* of the 20 messages of record_task: behind the fourth round */

static struct bobbin_error error;

/* ---- A task to cut ---- */

static void append(bobbin_session *session, const char *text)
{
	struct bobbin_ack ack;
	if (bobbin_session_append(session, text, strlen(text), NULL, &ack, &error) < 0)
		fail_msg("%s: %s", text, error.message);
}

static void escape(const char *text, char *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		if (*text == '\n') {
			*out++ = '\\';
			*out++ = 'n';
		} else {
			*out++ = *text;
		}
	}
	*out = 0;
}

/* The effect `tell`, through the journal, as a host makes it. */
static void tell_once(bobbin_session *session, const char *id, const char *arguments, char *result)
{
	bobbin_action *action;
	char *key;
	assert_int_equal(bobbin_call_key(session, id, &key, &error), 0);
	assert_int_equal(bobbin_action_begin(store, key, arguments, strlen(arguments), NULL, &action, &error),
		BOBBIN_ACTION_RUN);
	strcpy(result, "told");
	assert_int_equal(bobbin_action_end(action, BOBBIN_ACTION_DONE, "told", 4, "mail_1", NULL, &error), 0);
	bobbin_action_close(action);
	bobbin_free(key);
}

/* A call with its result: `tell` is an effect, `look` a tool that nobody has any more, the others are the library's. */
static void round_of(bobbin_session *session, const char *name, const char *arguments)
{
	static unsigned number;
	char id[32], line[4096], quoted[2048], result[1024] = "", *text;
	int is_error;
	snprintf(id, sizeof(id), "c%u", ++number);
	escape(arguments, quoted);
	snprintf(line, sizeof(line),
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"%s\",\"name\":\"%s\",\"arguments\":\"%s\"}]}",
		id, name, quoted);
	append(session, line);
	if (strcmp(name, "tell") == 0) {
		tell_once(session, id, arguments, result);
	} else if (strcmp(name, "look") == 0) {
		snprintf(result, sizeof(result), "saw the %c side", arguments[7]);
	} else {
		assert_int_equal(bobbin_tool_run(session, name, arguments, strlen(arguments), &text, &is_error, &error), 0);
		assert_false(is_error);
		escape(text, result);
		bobbin_free(text);
	}
	snprintf(line, sizeof(line), "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":\"%s\"}", id, result);
	append(session, line);
}

static void first_half(bobbin_session *session)
{
	append(session, "{\"role\":\"user\",\"content\":\"" GOAL "\"}");
	round_of(session, "write_file", "{\"path\":\"todo.md\",\"content\":\"" TODO "\"}");
	round_of(session, "look", "{\"at\":\"x\"}");
	round_of(session, "check_off", "{\"path\":\"todo.md\",\"item\":\"one\"}");
	round_of(session, "tell", "{\"who\":\"ana\"}");
}

static void second_half(bobbin_session *session)
{
	round_of(session, "check_off", "{\"path\":\"todo.md\",\"item\":\"two\"}");
	round_of(session, "look", "{\"at\":\"y\"}");
	round_of(session, "check_off", "{\"path\":\"todo.md\",\"item\":\"three\"}");
	round_of(session, "tell", "{\"who\":\"bob\"}");
	round_of(session, "check_off", "{\"path\":\"todo.md\",\"item\":\"four\"}");
	append(session, "{\"role\":\"assistant\",\"content\":\"It is all done.\"}");
}

static bobbin_session *record_task(const char *id)
{
	bobbin_session *session = open_session(id);
	first_half(session);
	second_half(session);
	return session;
}

/* ---- Taking it up ---- */

/* The calls of each round, then a text: steps of a script for the mock. */
#define ROUND(number, calls) "{\"match\":\"todo.md\",\"round\":" #number ",\"calls\":[" calls "]}\n"
#define ENDS(number) "{\"match\":\"todo.md\",\"round\":" #number ",\"text\":\"I have finished.\"}\n"
#define CALL(name, arguments) "{\"name\":\"" name "\",\"arguments\":" arguments "}"
#define CHECK(item) CALL("check_off", "{\"path\":\"todo.md\",\"item\":\"" item "\"}")
#define READ CALL("read_file", "{\"path\":\"todo.md\"}")
#define GOES_ON ROUND(0, READ) ROUND(1, CHECK("two") "," CHECK("three") "," CALL("tell", "{\"who\":\"bob\"}")) \
	ROUND(2, CHECK("four")) ENDS(3)

static int go_on(bobbin_resume *resume)
{
	const struct bobbin_event *event;
	int rc;
	while ((rc = bobbin_resume_next(resume, 50, &event, &error)) != 0) {
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0)
			return rc;
		if (event->type == BOBBIN_EVENT_CALL) {
			char id[128];
			snprintf(id, sizeof(id), "%s", event->id);
			rc = bobbin_resume_result(resume, id, "not here", 8, 1, &error);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static struct bobbin_resume_options options_at(double at)
{
	struct bobbin_resume_options options = BOBBIN_RESUME_OPTIONS_INIT;
	options.at = at;
	return options;
}

/* Opened and gone on with to its end. */
static bobbin_resume *resume_with(bobbin_session *session, bobbin_model *model, const struct bobbin_resume_options *options)
{
	bobbin_resume *resume;
	if (bobbin_resume_open(session, model, options, &resume, &error) < 0)
		fail_msg("%s", error.message);
	if (go_on(resume) < 0)
		fail_msg("%s", error.message);
	return resume;
}

/* The results that the conversation was given, each behind a bar. */
static const char *results_of(bobbin_resume *resume)
{
	static char text[8192];
	const struct bobbin_message *message;
	bobbin_messages *messages;
	text[0] = 0;
	assert_int_equal(bobbin_messages_open(resume->session, NULL, &messages, &error), 0);
	while (bobbin_messages_next(messages, &message, &error) > 0)
		if (strcmp(message->role, "tool") == 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "|%s", message->text);
	bobbin_messages_close(messages);
	return text;
}

static unsigned folders_left(void)
{
	char path[SCRATCH_PATH_BYTES + 32];
	unsigned count = 0;
	snprintf(path, sizeof(path), "%s/store/.cache", scratch_dir);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		count += strncmp(entry->d_name, "trial-", 6) == 0;
	if (folder)
		closedir(folder);
	return count;
}

static const char *folder_path(void)
{
	static char path[SCRATCH_PATH_BYTES + 8];
	snprintf(path, sizeof(path), "%s/store", scratch_dir);
	return path;
}

/* Whether the keys of a journal are these, the newest first. */
static void assert_keys(bobbin_store *of, const char *keys)
{
	char text[1024] = "";
	const struct bobbin_action_info *info;
	bobbin_actions *actions;
	assert_int_equal(bobbin_actions_open(of, NULL, 0, &actions, &error), 0);
	while ((info = bobbin_actions_next(actions)))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s\n", info->key,
			bobbin_action_state_name(info->state));
	bobbin_actions_close(actions);
	assert_string_equal(text, keys);
}

/* ---- What it gets ---- */

static void as_of__files_and_journal_are_those_of_the_cut(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(GOES_ON);
	size_t before_len, after_len;
	char *before = scratch_read(folder_path(), "main.jsonl", &before_len);
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	/* Read before anything was done: one is checked off, and nothing of what came after the cut. */
	assert_non_null(strstr(results_of(resume), "|- [x] one\n- [ ] two\n- [ ] three\n- [ ] four\n|"));
	assert_int_equal(report->messages, 9);
	assert_int_equal(report->messages_left, 11);
	assert_int_equal(report->calls_left, 5);
	assert_int_equal(report->effects_left, 1);
	assert_int_equal(report->files, 1);
	assert_int_equal(report->actions, 1);
	assert_true(report->record_tokens > 0);
	assert_int_equal(report->finished, 1);
	assert_string_equal(report->judged_by, "checklist");
	assert_string_equal(report->ended, "answer");
	assert_string_equal(report->answer, "I have finished.");
	assert_int_equal(report->items, 4);
	assert_int_equal(report->items_open, 0);
	assert_int_equal(report->requests, 4);
	assert_int_equal(report->calls, 5);
	assert_int_equal(report->looked, 1);
	assert_int_equal(report->seen, 0);
	assert_int_equal(report->effects, 1);
	assert_int_equal(report->effects_twice, 0);
	assert_int_equal(report->redone, 0);
	bobbin_resume_close(resume);
	assert_int_equal(folders_left(), 0);
	char *after = scratch_read(folder_path(), "main.jsonl", &after_len);
	assert_int_equal(after_len, before_len);
	assert_memory_equal(after, before, before_len);
	assert_keys(store, "main/m1/tell#2 done\nmain/m1/tell#1 done\n");
	free(before);
	free(after);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

/* What others did under keys of their own is placed by its times. */
static void as_of__other_keys_go_by_the_clock(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = open_session("main");
	bobbin_action *action, *open;
	first_half(session);
	assert_int_equal(bobbin_action_begin(store, "by:hand", "x", 1, NULL, &action, &error), BOBBIN_ACTION_RUN);
	assert_int_equal(bobbin_action_end(action, BOBBIN_ACTION_DONE, "r", 1, NULL, NULL, &error), 0);
	bobbin_action_close(action);
	assert_int_equal(bobbin_action_begin(store, "ends:later", "x", 1, NULL, &open, &error), BOBBIN_ACTION_RUN);
	usleep(5000);
	append(session, "{\"role\":\"assistant\",\"content\":\"Half of it is done.\"}"); /* the cut: its time counts */
	usleep(5000);
	assert_int_equal(bobbin_action_end(open, BOBBIN_ACTION_DONE, "r", 1, NULL, NULL, &error), 0);
	bobbin_action_close(open);
	assert_int_equal(bobbin_action_begin(store, "later", "x", 1, NULL, &action, &error), BOBBIN_ACTION_RUN);
	assert_int_equal(bobbin_action_end(action, BOBBIN_ACTION_DONE, "r", 1, NULL, NULL, &error), 0);
	bobbin_action_close(action);
	second_half(session); /* 21 messages now: 10 are kept */
	bobbin_model *model = open_script(ENDS(0));
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	assert_int_equal(report->messages, 10); /* 10.5 rounds to 11, which parts a call from its result */
	assert_keys(resume->store, "ends:later unknown\nby:hand done\nmain/m1/tell#1 done\n");
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void as_of__a_forks_calls_have_the_keys_of_where_they_were_made(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(0.95);
	struct bobbin_fork_options fork_options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_forked forked;
	bobbin_session *parent = open_session("main");
	first_half(parent);
	fork_options.id = "branch";
	assert_int_equal(bobbin_session_fork(parent, "9", &fork_options, &forked, &error), 0);
	second_half(parent); /* of no concern to the fork */
	bobbin_session *session = open_session("branch");
	second_half(session);
	bobbin_model *model = open_script(
		ROUND(0, CALL("tell", "{\"who\":\"ana\"}") "," CALL("tell", "{\"who\":\"bob\"}")) ENDS(1));
	bobbin_resume *resume = resume_with(session, model, &options);
	assert_int_equal(bobbin_resume_report(resume)->effects_twice, 2);
	assert_int_equal(bobbin_resume_report(resume)->actions, 3); /* by the clock the parent's own came before as well */
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
	bobbin_session_close(parent);
}

static void told__recall_finds_what_was_before_the_cut_alone(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(ROUND(0, CALL("recall", "{\"query\":\"saw the x side\"}") ","
		CALL("recall", "{\"query\":\"y side\"}") "," CALL("recall", "{\"query\":\"m1-m20\"}") ","
		CALL("recall", "{\"query\":\"all done.\"}") "," CALL("recall", "{}")) ENDS(1));
	bobbin_resume *resume = resume_with(session, model, &options);
	const char *results = results_of(resume);
	assert_non_null(strstr(results, ", tool] saw the x side\n"));
	assert_non_null(strstr(results, "\n[m2, assistant] "));
	assert_null(strstr(results, "It is all done"));
	assert_null(strstr(results, "saw the y side"));
	assert_null(strstr(results, "\"two\""));
	assert_int_equal(bobbin_resume_report(resume)->looked, 4); /* one was no call that can be answered */
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void told__without_files_there_are_none(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	options.without = BOBBIN_RESUME_FILES | BOBBIN_RESUME_RECORD | BOBBIN_RESUME_ACTIONS;
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(ROUND(0, READ "," CALL("once", "{}")) ENDS(1));
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	assert_string_equal(results_of(resume), "|there is no file todo.md in the workspace|nothing was begun yet");
	assert_int_equal(report->finished, 0); /* the recorded task had a checklist: none is not a finished one */
	assert_string_equal(report->judged_by, "checklist");
	assert_int_equal(report->files + report->actions + report->record_tokens, 0);
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

/* ---- What is counted ---- */

static void counted__what_was_done_before_the_cut(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(
		ROUND(0, CALL("tell", "{ \"who\" : \"an\\u0061\" }") "," CALL("look", "{\"at\":\"x\"}") "," CHECK("one"))
		ROUND(1, CALL("look", "{\"at\":\"y\"}") "," CALL("look", "{\"at\":\"z\"}") "," CALL("tell", "{\"who\":\"eve\"}"))
		ROUND(2, CALL("tell", "{\"who\":\"eve\"}")) ENDS(3));
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	assert_int_equal(report->effects, 3);
	assert_int_equal(report->effects_twice, 2); /* ana was told before the cut, eve by the conversation itself */
	assert_string_equal(report->first_twice, "tell { \"who\" : \"an\\u0061\" }");
	assert_int_equal(report->redone, 2); /* looking at x, checking off one; what was recorded after the cut is none */
	assert_string_equal(report->first_redone, "look {\"at\":\"x\"}");
	assert_int_equal(report->played, 3); /* ana, x, y; z is nowhere recorded, nor is eve */
	assert_int_equal(report->calls, 7);
	assert_int_equal(report->finished, 0);
	assert_int_equal(report->items_open, 3);
	const char *results = results_of(resume);
	assert_non_null(strstr(results, "|told|saw the x side|was checked off already: one"));
	assert_non_null(strstr(results, "|saw the y side|not here|done [in a resume test: nothing was really done]"));
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void counted__looking_at_the_same_is_no_work(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"" GOAL "\"}");
	round_of(session, "write_file", "{\"path\":\"todo.md\",\"content\":\"" TODO "\"}");
	round_of(session, "read_file", "{\"path\":\"todo.md\"}");
	second_half(session); /* 16 messages: 8 are asked for, 7 kept */
	bobbin_model *model = open_script(ROUND(0, READ) ROUND(1, CHECK("two")) ROUND(2, READ) ENDS(3));
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	assert_int_equal(report->messages, 7);
	assert_int_equal(report->looked, 2);
	assert_int_equal(report->seen, 0); /* two was checked off before the cut, after it was read */
	assert_int_equal(report->redone, 1); /* checking it off */
	bobbin_resume_close(resume);
	options.at = 0.3; /* behind the reading */
	resume = resume_with(session, model, &options);
	report = bobbin_resume_report(resume);
	assert_int_equal(report->messages, 5);
	assert_int_equal(report->seen, 1);
	assert_int_equal(report->redone, 0);
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void counted__a_limit_ends_it(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	options.calls_max = 2;
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(GOES_ON);
	bobbin_resume *resume = resume_with(session, model, &options);
	assert_string_equal(bobbin_resume_report(resume)->ended, "limit");
	assert_int_equal(bobbin_resume_report(resume)->calls, 2);
	assert_int_equal(bobbin_resume_report(resume)->finished, 0);
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void counted__an_answer_is_all_where_there_is_no_list(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = open_session("main");
	append(session, "{\"role\":\"user\",\"content\":\"Say something about todo.md.\"}");
	append(session, "{\"role\":\"assistant\",\"content\":\"Something.\"}");
	append(session, "{\"role\":\"user\",\"content\":\"More.\"}");
	append(session, "{\"role\":\"assistant\",\"content\":\"More.\"}");
	bobbin_model *model = open_script(ENDS(0));
	bobbin_resume *resume = resume_with(session, model, &options);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	assert_string_equal(report->judged_by, "answer");
	assert_int_equal(report->finished, 1);
	assert_int_equal(report->person_left, 1);
	bobbin_resume_close(resume);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

static void refused__what_cannot_be_cut(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(1.5);
	struct bobbin_store_options reading = BOBBIN_STORE_OPTIONS_INIT;
	struct bobbin_session_options of = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session = open_session("empty"), *other;
	bobbin_store *only_read;
	bobbin_model *model = open_script(NULL);
	bobbin_resume *resume;
	assert_int_equal(bobbin_resume_open(session, model, &options, &resume, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_resume_open(session, NULL, NULL, &resume, &error), BOBBIN_EINVAL);
	assert_int_equal(bobbin_resume_open(session, model, NULL, &resume, &error), BOBBIN_ENOTFOUND);
	append(session, "{\"role\":\"assistant\",\"content\":\"Nobody asked me.\"}");
	assert_int_equal(bobbin_resume_open(session, model, NULL, &resume, &error), BOBBIN_ENOTFOUND);
	assert_int_equal(folders_left(), 0);
	reading.read_only = 1;
	of.must_exist = 1;
	assert_int_equal(bobbin_store_open(folder_path(), &reading, &only_read, &error), 0);
	assert_int_equal(bobbin_session_open(only_read, "empty", &of, &other, &error), 0);
	assert_int_equal(bobbin_resume_open(other, model, NULL, &resume, &error), BOBBIN_EREADONLY);
	bobbin_session_close(other);
	bobbin_store_close(only_read);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

/* ---- Crashes and failures ---- */

static void crash__what_is_left_is_taken_away(void **state)
{
	(void)state;
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_session *session = record_task("main");
	uint64_t mended = 0;
	bobbin_faults *faults;
	for (int way = 0; way < 2; way++) {
		int ready[2], status;
		char byte;
		assert_int_equal(pipe(ready), 0);
		pid_t child = fork();
		if (child == 0) { /* with handles of its own, in the middle of it */
			bobbin_store *own;
			bobbin_session *mine;
			bobbin_resume *resume;
			const struct bobbin_event *event;
			if (bobbin_store_open(folder_path(), NULL, &own, NULL) < 0 ||
				bobbin_session_open(own, "main", NULL, &mine, NULL) < 0 ||
				bobbin_resume_open(mine, open_script(GOES_ON), &options, &resume, NULL) < 0)
				_exit(1);
			for (int i = 0; i < 5; i++)
				bobbin_resume_next(resume, 50, &event, NULL);
			if (write(ready[1], "x", 1) != 1)
				_exit(1);
			pause();
		}
		close(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		/* While it lives it is in use, and nobody touches it. */
		assert_int_equal(folders_left(), 1);
		assert_int_equal(bobbin_repair_store(store, &mended, &error), 0);
		assert_int_equal(mended, 0);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(folders_left(), 1);
		if (way) { /* the doctor */
			assert_int_equal(bobbin_doctor_store(store, &faults, &error), 0);
			assert_int_equal(bobbin_faults_count(faults), 1);
			assert_string_equal(bobbin_faults_get(faults, 0)->kind, "leftover");
			bobbin_faults_free(faults);
			assert_int_equal(folders_left(), 1);
			assert_int_equal(bobbin_repair_store(store, &mended, &error), 0);
			assert_int_equal(mended, 1);
		} else { /* the next one */
			bobbin_model *model = open_script(ENDS(0));
			bobbin_resume_close(resume_with(session, model, &options));
			bobbin_model_close(model);
		}
		assert_int_equal(folders_left(), 0);
	}
	assert_keys(store, "main/m1/tell#2 done\nmain/m1/tell#1 done\n");
	bobbin_session_close(session);
}

/* From opening to the end; nothing stays behind. */
static int all_of_it(bobbin_session *session, bobbin_model *model)
{
	struct bobbin_resume_options options = options_at(HALF);
	bobbin_resume *resume = NULL;
	int rc = bobbin_resume_open(session, model, &options, &resume, &error);
	if (!rc)
		rc = go_on(resume);
	if (!rc)
		bobbin_resume_report(resume);
	bobbin_resume_close(resume);
	return rc;
}

static void failures__every_allocation(void **state)
{
	(void)state;
	bobbin_session *session = record_task("main");
	bobbin_model *model = open_script(GOES_ON);
	/* Each of the first ones, then ever fewer of the many that a turn makes. */
	for (uint64_t nth = 1;; nth += nth < 300 ? 1 : nth / 40) {
		fail_alloc_start(nth);
		int rc = all_of_it(session, model);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(folders_left(), 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		if (rc && rc != BOBBIN_ENOMEM && rc != BOBBIN_EIO && rc != BOBBIN_EPROVIDER)
			fail_msg("allocation %d: %d %s", (int)nth, rc, error.message);
	}
	bobbin_model_close(model);
	bobbin_session_close(session);
}

/* A store in a world of its own. */
static bobbin_store *store_in(struct fail_platform *world)
{
	bobbin_store *failing = mem_alloc_zero(sizeof(*failing));
	assert_int_equal(store_open(&world->table, folder_path(), NULL, &failing->store, &error), 0);
	failing->process = platform_process();
	return failing;
}

static void failures__every_call_of_the_system(void **state)
{
	(void)state;
	struct bobbin_session_options only_read = BOBBIN_SESSION_OPTIONS_INIT;
	struct fail_platform world;
	bobbin_session *session = record_task("main"), *mine;
	bobbin_model *model = open_script(GOES_ON);
	size_t len, now;
	char *before = scratch_read(folder_path(), "main.jsonl", &len);
	only_read.read_only = 1;
	for (uint64_t nth = 1;; nth += nth < 400 ? 1 : 13) {
		fail_platform_init(&world);
		bobbin_store *failing = store_in(&world);
		assert_int_equal(bobbin_session_open(failing, "main", &only_read, &mine, &error), 0);
		fail_platform_plan(&world, CALL_ANY, nth, nth % 2 ? EIO : ENOSPC);
		int rc = all_of_it(mine, model);
		bool failed = world.failed;
		fail_platform_heal(&world);
		bobbin_session_close(mine);
		/* Taking it away may be what failed: then the next one does it. */
		trial_sweep(failing->store);
		bobbin_store_close(failing);
		assert_int_equal(world.open_files, 0);
		assert_int_equal(folders_left(), 0);
		char *after = scratch_read(folder_path(), "main.jsonl", &now);
		assert_int_equal(now, len);
		assert_memory_equal(after, before, len);
		free(after);
		if (!failed) {
			assert_int_equal(rc, 0);
			break;
		}
	}
	free(before);
	bobbin_model_close(model);
	bobbin_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_of__files_and_journal_are_those_of_the_cut, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(as_of__other_keys_go_by_the_clock, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(as_of__a_forks_calls_have_the_keys_of_where_they_were_made, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(told__recall_finds_what_was_before_the_cut_alone, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(told__without_files_there_are_none, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counted__what_was_done_before_the_cut, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counted__looking_at_the_same_is_no_work, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counted__a_limit_ends_it, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(counted__an_answer_is_all_where_there_is_no_list, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(refused__what_cannot_be_cut, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(crash__what_is_left_is_taken_away, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(failures__every_allocation, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(failures__every_call_of_the_system, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
