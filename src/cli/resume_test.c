/* SPDX-License-Identifier: MIT */
/*
 * resume-test: a recorded task is cut in several places, and each time a fresh conversation goes on with it, on copies. What
 * the model's calls cannot be answered with from what was recorded, and is no command of --tools, is answered with a
 * refusal; nothing with an effect is ever run.
 */
#include "cli/tools.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POINTS_MAX 16
#define POLL_MS 100
#define IDLE_SECONDS_MAX 86400u
#define DEFAULT_POINTS "0.25,0.5,0.75"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

struct test {
	const struct arguments *arguments;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_model *model;
	struct window_request window;
	struct chat_tools tools;
	double points[POINTS_MAX];
	size_t count;
	int without;
	bool tells; /* progress, on a terminal */
	int rc;	    /* the worst so far */
	size_t rows;
};

/* ---- The command line ---- */

static int read_points(struct test *test)
{
	const char *text = test->arguments->at ? test->arguments->at : DEFAULT_POINTS;

	for (;;) {
		char *end;
		errno = 0;
		double share = strtod(text, &end);
		if (end == text || errno || !(share > 0 && share < 1) || (*end && *end != ','))
			return fail_usage("--at takes shares of the task, above 0 and below 1: --at " DEFAULT_POINTS);
		if (test->count == POINTS_MAX)
			return fail_usage("--at takes at most %d places", POINTS_MAX);
		test->points[test->count++] = share;
		if (!*end)
			return 0;
		text = end + 1;
	}
}

static int read_without(struct test *test)
{
	static const struct {
		const char *name;
		int what;
	} names[] = {{"record", BOBBIN_RESUME_RECORD}, {"files", BOBBIN_RESUME_FILES}, {"actions", BOBBIN_RESUME_ACTIONS}};
	const char *text = test->arguments->without;

	while (text && *text) {
		size_t len = strcspn(text, ","), i = 0;
		while (i < 3 && (strlen(names[i].name) != len || memcmp(names[i].name, text, len) != 0))
			i++;
		if (i == 3)
			return fail_usage("--without takes record, files, actions, or several with commas between");
		test->without |= names[i].what;
		text += len + (text[len] == ',');
	}
	return 0;
}

/* ---- One place ---- */

static void show_progress(const struct test *test, double share, bobbin_resume *resume)
{
	if (!test->tells)
		return;
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	fprintf(stderr, "\r\033[K%.0f %%: %s, %s", share * 100, counted(report->requests, "request"),
		counted(report->calls, "call"));
	if (report->items)
		fprintf(stderr, ", %s of %s done", number_text(report->items - report->items_open),
			number_text(report->items));
	fflush(stderr);
}

/* Before the first request: a long line is read, and what its segments have no record of is derived. */
static void show_beginning(const struct test *test, double share)
{
	if (!test->tells)
		return;
	fprintf(stderr, "\r\033[K%.0f %%: reading the task, copying its files", share * 100);
	fflush(stderr);
}

static void wipe_progress(const struct test *test)
{
	if (test->tells)
		fputs("\r\033[K", stderr);
}

static int answer_call(struct test *test, bobbin_resume *resume, const struct bobbin_event *event)
{
	struct bobbin_error error;
	struct bobbin_resume_report report = *bobbin_resume_report(resume);
	char *id = strdup(event->id), *text = NULL;
	int is_error = 1;

	test->tools.workspace = realpath(report.workspace, NULL);
	if (chat_tool_is_known(&test->tools, event->name))
		is_error = chat_tool_run(
			&test->tools, test->store, test->session, event->id, event->name, event->text, &text);
	else if (asprintf(&text, "[not run: this is a resume test, and no result of such a call to %s was recorded]",
			 event->name) < 0)
		text = NULL;
	const char *result = text ? text : "out of memory";
	int rc = bobbin_resume_result(resume, id ? id : "", result, strlen(result), is_error, &error);
	free(test->tools.workspace);
	test->tools.workspace = NULL;
	free(text);
	free(id);
	return rc < 0 ? fail(&error) : 0;
}

/* 0 at its end, or an exit code; what failed there is told in its row. */
static int pull(struct test *test, double share, bobbin_resume *resume, struct bobbin_error *error)
{
	const struct bobbin_event *event;
	int rc, code = 0;

	error->message[0] = 0;
	while (!code && !interrupted && (rc = bobbin_resume_next(resume, POLL_MS, &event, error)) != 0) {
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0)
			return EXIT_FAILED;
		if (event->type == BOBBIN_EVENT_PLANNED)
			show_progress(test, share, resume);
		if (event->type == BOBBIN_EVENT_CALL)
			code = answer_call(test, resume, event);
	}
	return interrupted ? EXIT_FAILED : code;
}

/* --done: whether its command, in the folder of the files, says that it is. -1: it could not be asked. */
static int ask_done(const char *command, const char *folder)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		setenv("BOBBIN_WORKSPACE", folder, 1);
		if (chdir(folder) < 0)
			_exit(126);
		dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is ours */
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) >= 126)
		return -1;
	return WEXITSTATUS(status) == 0;
}

struct verdict {
	int finished;
	const char *judged_by;
	char why[160]; /* it ended, or could not be judged; "" */
};

static struct verdict judge(
	const struct test *test, const struct bobbin_resume_report *report, const struct bobbin_error *error)
{
	struct verdict verdict = {report->finished, report->judged_by, ""};

	if (strcmp(report->ended, "limit") == 0)
		snprintf(verdict.why, sizeof(verdict.why), "stopped after %s", counted(report->calls, "call"));
	if (strcmp(report->ended, "error") == 0)
		snprintf(verdict.why, sizeof(verdict.why), "%.150s", error->message);
	if (!test->arguments->done)
		return verdict;
	char *folder = realpath(report->workspace, NULL);
	verdict.judged_by = "command";
	verdict.finished = ask_done(test->arguments->done, folder ? folder : ".");
	free(folder);
	if (verdict.finished < 0) {
		verdict.finished = 0;
		snprintf(verdict.why, sizeof(verdict.why), "the command of --done could not be run");
	}
	return verdict;
}

/* ---- Telling ---- */

static void print_count(const char *name, uint64_t value)
{
	printf(",\"%s\":%llu", name, (unsigned long long)value);
}

static void print_text(const char *name, const char *text)
{
	putchar(',');
	print_json_member(name, text);
}

static void print_json(double share, const struct bobbin_resume_report *report, const struct verdict *verdict)
{
	printf("{\"at\":%g", share);
	print_text("cut", report->cut);
	print_count("messages", report->messages);
	print_count("messages_left", report->messages_left);
	print_count("person_left", report->person_left);
	print_count("calls_left", report->calls_left);
	print_count("effects_left", report->effects_left);
	print_count("files", report->files);
	print_count("actions", report->actions);
	print_count("record_tokens", report->record_tokens);
	printf(",\"finished\":%s", verdict->finished ? "true" : "false");
	print_text("judged_by", verdict->judged_by);
	print_count("items", report->items);
	print_count("items_open", report->items_open);
	print_text("ended", *report->ended ? report->ended : "interrupted");
	print_text("why", verdict->why);
	print_count("requests", report->requests);
	print_count("calls", report->calls);
	print_count("looked", report->looked);
	print_count("seen", report->seen);
	print_count("played", report->played);
	print_count("effects", report->effects);
	print_count("effects_twice", report->effects_twice);
	print_count("redone", report->redone);
	print_text("first_twice", report->first_twice);
	print_text("first_redone", report->first_redone);
	if (report->reported)
		printf(",\"usage\":{\"input\":%llu,\"cached\":%llu,\"output\":%llu}",
			(unsigned long long)report->input_tokens, (unsigned long long)report->cached_tokens,
			(unsigned long long)report->output_tokens);
	else
		fputs(",\"usage\":null", stdout);
	print_text("answer", report->answer);
	puts("}");
}

static void print_hint(const char *before, const char *call)
{
	if (!*call)
		return;
	printf("        %s", before);
	print_line_of(call, strlen(call), (size_t)output_columns() - strlen(before) - 8);
	putchar('\n');
}

static void print_row(struct test *test, double share, const struct bobbin_resume_report *report,
	const struct verdict *verdict)
{
	char finished[32];

	if (!test->rows++)
		puts("  at   cut     finished    calls  seen redone effects twice             tokens\n"
		     "                                 again                              in     out");
	if (report->items)
		snprintf(finished, sizeof(finished), "%s %s/%s", verdict->finished ? "yes" : "no",
			number_text(report->items - report->items_open), number_text(report->items));
	else
		snprintf(finished, sizeof(finished), "%s", verdict->finished ? "yes" : "no");
	printf("%3.0f %%  %-6.6s  %-11s %5s %5s %6s %7s %5s %10s %7s\n", share * 100, visible(report->cut), finished,
		number_text(report->calls), number_text(report->seen), number_text(report->redone), number_text(report->effects),
		number_text(report->effects_twice), report->reported ? number_text(report->input_tokens) : "?",
		report->reported ? number_text(report->output_tokens) : "?");
	if (*verdict->why)
		print_hint("", verdict->why);
	print_hint("twice: ", report->first_twice);
	print_hint("redone: ", report->first_redone);
	if (report->person_left)
		printf("        after it the person said %s, which %s not said again\n",
			counted(report->person_left, "more message"), report->person_left == 1 ? "was" : "were");
}

static void print_end(const char *judged_by)
{
	if (strcmp(judged_by, "checklist") == 0)
		puts("\nfinished: no item of the checklist is open");
	else if (strcmp(judged_by, "command") == 0)
		puts("\nfinished: the command of --done says so");
	else
		puts("\nfinished: the model ended by itself; there is no checklist, and no --done");
}

/* ---- Together ---- */

static void worse(struct test *test, int rc)
{
	test->rc = rc > test->rc ? rc : test->rc;
}

/* What is printed under the table, or NULL if there is nothing to print. */
static const char *run_point(struct test *test, double share)
{
	struct bobbin_resume_options options = BOBBIN_RESUME_OPTIONS_INIT;
	const struct arguments *arguments = test->arguments;
	struct bobbin_error error;
	bobbin_resume *resume;

	options.at = share;
	options.without = test->without;
	options.window = &test->window.options;
	options.commands = test->tools.commands;
	options.checklist = arguments->checklist;
	options.calls_max = arguments->limit;
	options.idle_timeout_ms =
		(int64_t)(arguments->idle_timeout < IDLE_SECONDS_MAX ? arguments->idle_timeout : IDLE_SECONDS_MAX) *
		1000;
	show_beginning(test, share);
	if (bobbin_resume_open(test->session, test->model, &options, &resume, &error) < 0) {
		wipe_progress(test);
		worse(test, fail(&error));
		return NULL;
	}
	int rc = pull(test, share, resume, &error);
	wipe_progress(test);
	const struct bobbin_resume_report *report = bobbin_resume_report(resume);
	const struct verdict verdict = judge(test, report, &error);
	const char *judged_by = verdict.judged_by;
	worse(test, rc ? rc : verdict.finished && !report->effects_twice ? EXIT_DONE : EXIT_NO);
	if (arguments->json)
		print_json(share, report, &verdict);
	else
		print_row(test, share, report, &verdict);
	fflush(stdout);
	bobbin_resume_close(resume);
	return judged_by;
}

static int run(struct test *test)
{
	const char *judged_by = NULL;

	for (size_t i = 0; i < test->count && !interrupted; i++) {
		const char *by = run_point(test, test->points[i]);
		judged_by = by ? by : judged_by;
		if (!by)
			break; /* it would fail likewise everywhere */
	}
	if (judged_by && !test->arguments->json)
		print_end(judged_by);
	return test->rc;
}

static int open_test(struct test *test)
{
	struct bobbin_error error;
	const struct arguments *arguments = test->arguments;
	const char *spec = model_spec(arguments);

	if (!spec)
		return fail_usage("which model? Set MOCK=1 for the offline one, or --model, or BOBBIN_MODEL");
	struct arguments plain = *arguments;
	plain.at = NULL; /* of ours, no message */
	int rc = window_options_read(&plain, &test->window);
	if (!rc)
		rc = chat_tools_open(test->window.tools, test->window.options.tools_len, true, &test->tools);
	if (rc)
		return rc;
	test->window.options.model = NULL; /* the model that answers sets the budget */
	test->window.options.tools = test->tools.json;
	test->window.options.tools_len = strlen(test->tools.json);
	if (bobbin_model_open(spec, &test->model, &error) < 0)
		return fail(&error);
	return open_session(arguments, arguments->word_count ? arguments->words[0] : arguments->session, false, true,
		&test->store, &test->session);
}

/* What is private is removed also when it is stopped. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int command_resume_test(const struct arguments *arguments)
{
	struct test test = {.arguments = arguments};

	test.tells = !arguments->quiet && !arguments->json && output_color(STDERR_FILENO);
	int rc = read_points(&test);
	if (!rc)
		rc = read_without(&test);
	if (!rc)
		rc = open_test(&test);
	if (!rc) {
		catch_signals();
		rc = run(&test);
		close_session(test.store, test.session);
	}
	bobbin_model_close(test.model);
	window_options_release(&test.window);
	chat_tools_close(&test.tools);
	return rc;
}
