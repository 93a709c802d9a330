/* SPDX-License-Identifier: MIT */
/*
 * Running a tool of the user's that is a command: arguments on its standard input, its standard output is the result. One
 * with an effect goes through the journal of actions: the intent is on disk before the command starts, the command
 * inherits the key's lock, and what was begun once is not begun again by itself.
 */
#include "cli/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)4 << 20) /* of a result; more is read and cut */
#define POLL_MS 50
#define KEY_VARIABLE "BOBBIN_ACTION_KEY"
#define WORKSPACE_VARIABLE "BOBBIN_WORKSPACE"

struct run {
	const struct bobbin_command *command;
	const char *arguments, *key, *workspace;
	int lock; /* inherited by the command; -1: none */
	char *output;
	size_t len;
	int status; /* of wait(2) */
	bool started, timed_out;
};

static void become(const struct run *run, int in, int out, int started)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	setpgid(0, 0); /* so that all it started can be stopped with it */
	if (run->lock >= 0)
		fcntl(run->lock, F_SETFD, 0);
	if (run->key)
		setenv(KEY_VARIABLE, run->key, 1);
	if (run->workspace)
		setenv(WORKSPACE_VARIABLE, run->workspace, 1);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execvp(run->command->words[0], (char *const *)(uintptr_t)run->command->words);
	int why = errno;
	if (write(started, &why, sizeof why) < 0)
		_exit(126);
	_exit(127);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Keeps what was read, up to the maximum; false at the end. */
static bool take_output(struct run *run, int from)
{
	char piece[65536];
	ssize_t got = read(from, piece, sizeof piece);
	size_t more = got > 0 ? (size_t)got : 0;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (run->len + more > OUTPUT_MAX)
		more = OUTPUT_MAX - run->len;
	char *grown = more ? realloc(run->output, run->len + more + 1) : run->output;
	if (more && grown) {
		memcpy(grown + run->len, piece, more);
		run->output = grown;
		run->len += more;
		run->output[run->len] = 0;
	}
	return got > 0;
}

/* Gives and takes until the command has closed its output, then waits for it. */
static void attend(struct run *run, pid_t child, int in, int out)
{
	size_t sent = 0, len = strlen(run->arguments);
	int64_t end = run->command->timeout_seconds
			      ? now_ms() + (int64_t)(run->command->timeout_seconds % 1000000) * 1000
			      : INT64_MAX;

	fcntl(in, F_SETFL, O_NONBLOCK);
	for (bool open = true; open;) {
		struct pollfd polls[] = {{out, POLLIN, 0}, {in, POLLOUT, 0}};
		if (poll(polls, in >= 0 ? 2 : 1, POLL_MS) < 0) {
			if (errno == EINTR) /* Ctrl-C: it is in a group of its own */
				kill(-child, SIGINT);
			continue;
		}
		if (in >= 0 && polls[1].revents) {
			ssize_t wrote = write(in, run->arguments + sent, len - sent);
			sent += wrote > 0 ? (size_t)wrote : 0;
			if (sent == len || (wrote < 0 && errno != EAGAIN && errno != EINTR)) {
				close(in);
				in = -1;
			}
		}
		if (polls[0].revents)
			open = take_output(run, out);
		if (open && !run->timed_out && now_ms() >= end) {
			run->timed_out = true;
			kill(-child, SIGKILL);
		}
		/* A process that it left behind may keep the pipe open: nobody waits for that. */
		if (open && !polls[0].revents && waitpid(child, &run->status, WNOHANG) == child) {
			child = -1;
			break;
		}
	}
	if (in >= 0)
		close(in);
	close(out);
	while (child > 0 && waitpid(child, &run->status, WNOHANG) == 0) {
		if (!run->timed_out && now_ms() >= end) {
			run->timed_out = true;
			kill(-child, SIGKILL);
		}
		poll(NULL, 0, 5);
	}
}

/* 0, or why it could not be started. */
static int start(struct run *run)
{
	int in[2], out[2], started[2], why = 0;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(started, O_CLOEXEC) < 0)
		return errno;
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	pid_t child = fork();
	if (child == 0)
		become(run, in[0], out[1], started[1]);
	why = child < 0 ? errno : 0;
	close(in[0]);
	close(out[1]);
	close(started[1]);
	if (child > 0 && read(started[0], &why, sizeof why) != sizeof why)
		why = 0;
	close(started[0]);
	if (child < 0) {
		close(in[1]);
		close(out[0]);
	} else {
		attend(run, child, in[1], out[0]);
	}
	signal(SIGPIPE, before);
	run->started = !why;
	return why;
}

/* ---- What the model is told ---- */

static int say(char **ret_text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int say(char **ret_text, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (vasprintf(ret_text, format, list) < 0)
		*ret_text = NULL;
	va_end(list);
	return 1;
}

static char *copy_of(const void *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

/* The end of a command without a journal, or once it is recorded. */
static int tell(const struct run *run, int why, char **ret_text)
{
	const char *name = run->command->name;

	if (why)
		return say(ret_text, "%s could not be started: %s", name, strerror(why));
	if (run->timed_out)
		return say(ret_text, "%s was stopped after %llu seconds%s", name,
			(unsigned long long)run->command->timeout_seconds,
			run->command->effect ? "; outcome unknown: it may have happened, check before doing it again" : "");
	if (WIFSIGNALED(run->status))
		return say(ret_text, "%s was killed by signal %d%s", name, WTERMSIG(run->status),
			run->command->effect ? "; outcome unknown: it may have happened, check before doing it again" : "");
	if (WEXITSTATUS(run->status))
		return say(ret_text, "%s failed (exit code %d)%s%.*s", name, WEXITSTATUS(run->status),
			run->len ? ": " : "", (int)run->len, run->output ? run->output : "");
	/* The end of its last line is no part of what it says. */
	*ret_text = copy_of(run->output, run->len - (run->len && run->output[run->len - 1] == '\n'));
	return 0;
}

static int state_of(const struct run *run, int why)
{
	if (why)
		return BOBBIN_ACTION_UNDONE;
	if (run->timed_out || WIFSIGNALED(run->status))
		return BOBBIN_ACTION_UNKNOWN;
	return WEXITSTATUS(run->status) ? BOBBIN_ACTION_FAILED : BOBBIN_ACTION_DONE;
}

static int run_recorded(struct run *run, bobbin_action *action, char **ret_text)
{
	struct bobbin_error error;
	run->lock = bobbin_action_fd(action);
	int why = start(run), state = state_of(run, why);
	int is_error = tell(run, why, ret_text);
	const char *text = *ret_text ? *ret_text : "";
	bool ended = state == BOBBIN_ACTION_DONE || state == BOBBIN_ACTION_FAILED;
	if (bobbin_action_end(action, state, ended ? text : NULL, ended ? strlen(text) : 0, NULL, ended ? NULL : text,
		    &error) < 0) {
		free(*ret_text);
		return say(ret_text, "%s has ended, and that could not be recorded (%s); its outcome counts as unknown",
			run->command->name, error.message);
	}
	return is_error;
}

/* One with an effect. */
static int run_once(bobbin_store *store, struct run *run, char **ret_text)
{
	struct bobbin_action_options options = BOBBIN_ACTION_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_action *action;
	int is_error = 1;

	options.retry_safe = run->command->retry_safe;
	int begun = bobbin_action_begin(
		store, run->key, run->arguments, strlen(run->arguments), &options, &action, &error);
	if (begun < 0)
		return say(ret_text, "%s was not run: %s", run->command->name, error.message);
	const struct bobbin_action_info *info = bobbin_action_info(action);
	if (begun == BOBBIN_ACTION_RUN) {
		is_error = run_recorded(run, action, ret_text);
	} else if (begun == BOBBIN_ACTION_REPLAY) {
		is_error = info->state != BOBBIN_ACTION_DONE;
		*ret_text = copy_of(info->result, info->result_len);
	} else {
		say(ret_text,
			"[outcome unknown: %s was begun and no result was recorded, so it may have happened; it is not run "
			"again by itself. Check, then: bobbin actions settle %s]",
			run->command->name, run->key);
	}
	bobbin_action_close(action);
	return is_error;
}

int tool_command_run(const struct chat_tools *tools, bobbin_store *store, bobbin_session *session,
	const struct bobbin_command *command, const char *call_id, const char *arguments, char **ret_text)
{
	struct run run = {.command = command, .arguments = arguments, .workspace = tools->workspace, .lock = -1};
	struct bobbin_error error;
	char *key = NULL;
	int is_error;

	if (!command->words[0])
		return say(ret_text, "%s is defined, but says no command to run it", command->name);
	if (!command->effect) {
		is_error = tell(&run, start(&run), ret_text);
	} else if (bobbin_call_key(session, call_id, &key, &error) < 0) {
		is_error = say(ret_text, "%s was not run: %s", command->name, error.message);
	} else {
		run.key = key;
		is_error = run_once(store, &run, ret_text);
	}
	bobbin_free(key);
	free(run.output);
	return is_error;
}
