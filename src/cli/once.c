/* SPDX-License-Identifier: MIT */
/*
 * `bobbin once KEY -- CMD`: a command whose effect happens once. What it printed is recorded and printed
 * again for everybody who asks with the same key.
 *
 * Invariants: (1) the command is started only after the intent is on disk; (2) it inherits the key's lock, so
 * nobody takes the key over while it still runs, also if this process is killed; (3) signals meant for it
 * reach it, and do not keep its end from being recorded; (4) what is printed is what the command printed, in
 * the order in which it came.
 *
 * A recorded result is "once 1 exit N\n" and then pieces: "out LENGTH\n" or "err LENGTH\n", each followed by
 * its bytes.
 */
#include "cli/once.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"

#define RECORDED_MAX ((size_t)60 << 20) /* of a result; the rest is passed on and not recorded */

/* ---- Recorded results ---- */

struct recording {
	char *data;
	size_t len, cap;
	size_t piece; /* where the last piece's bytes begin, 0: there is none */
	char stream;  /* 'o' or 'e', of the last piece */
	bool cut, failed;
};

static void record_bytes(struct recording *recording, const void *data, size_t len)
{
	if (recording->len + len + 1 > recording->cap) {
		size_t cap = (recording->len + len + 1) * 2;
		char *grown = realloc(recording->data, cap);
		if (!grown) {
			recording->failed = true;
			return;
		}
		recording->data = grown;
		recording->cap = cap;
	}
	memcpy(recording->data + recording->len, data, len);
	recording->len += len;
}

/* A piece's head has a fixed width, so that it can be filled in when the piece has ended. */
#define HEAD_BYTES (sizeof "out 000000000\n" - 1)

static void end_piece(struct recording *recording)
{
	char head[HEAD_BYTES + 8];

	if (!recording->piece || recording->failed)
		return;
	snprintf(head, sizeof head, "%s %09zu\n", recording->stream == 'o' ? "out" : "err",
		recording->len - recording->piece);
	memcpy(recording->data + recording->piece - HEAD_BYTES, head, HEAD_BYTES);
}

static void record_output(struct recording *recording, char stream, const char *data, size_t len)
{
	/* What follows a place that is missing is not recorded either: it would look like one with it. */
	size_t room = recording->cut || recording->len + HEAD_BYTES > RECORDED_MAX ? 0 : RECORDED_MAX - recording->len - HEAD_BYTES;
	recording->cut = recording->cut || len > room;
	if (len > room)
		len = room;
	if (!len)
		return;
	if (!recording->piece || recording->stream != stream) {
		end_piece(recording);
		record_bytes(recording, "out 000000000\n", HEAD_BYTES);
		recording->piece = recording->len;
		recording->stream = stream;
	}
	record_bytes(recording, data, len);
}

static void record_exit(struct recording *recording, int code)
{
	char head[40];

	memset(recording, 0, sizeof *recording);
	record_bytes(recording, head, (size_t)snprintf(head, sizeof head, "once 1 exit %03d\n", code));
}

static void set_exit(struct recording *recording, int code)
{
	char head[40];
	int len = snprintf(head, sizeof head, "once 1 exit %03d\n", code);

	if (!recording->failed)
		memcpy(recording->data, head, (size_t)len);
}

/* A number of so many digits, a line break behind it; recorded bytes have no NUL at their end. -1: it is none. */
static long long read_number(const char *at, size_t digits)
{
	long long value = 0;

	for (size_t i = 0; i < digits; i++) {
		if (at[i] < '0' || at[i] > '9')
			return -1;
		value = value * 10 + (at[i] - '0');
	}
	return at[digits] == '\n' ? value : -1;
}

bool once_result_read(const void *result, size_t len, int *ret_exit, struct once_pieces *ret_pieces)
{
	static const char head[] = "once 1 exit ";
	const size_t head_len = sizeof head - 1, digits = 3;
	const char *data = result;

	if (len < head_len + digits + 1 || memcmp(data, head, head_len) != 0)
		return false;
	*ret_exit = (int)read_number(data + head_len, digits);
	if (*ret_exit < 0)
		return false;
	*ret_pieces = (struct once_pieces){data + head_len + digits + 1, data + len};
	return true;
}

bool once_pieces_next(struct once_pieces *pieces, bool *ret_error, const char **ret_data, size_t *ret_len)
{
	const size_t kind = sizeof "out " - 1, digits = HEAD_BYTES - sizeof "out \n" + 1;

	if (pieces->end - pieces->at < (ptrdiff_t)HEAD_BYTES)
		return false;
	long long length = read_number(pieces->at + kind, digits);
	if (length < 0 || length > pieces->end - pieces->at - (ptrdiff_t)HEAD_BYTES)
		return false;
	*ret_error = *pieces->at == 'e';
	*ret_len = (size_t)length;
	*ret_data = pieces->at + HEAD_BYTES;
	pieces->at = *ret_data + *ret_len;
	return true;
}

/* ---- Running a command ---- */

static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct child {
	pid_t process;
	int out, err, started; /* ends of pipes; -1: closed */
	int signals;	       /* a signalfd */
	sigset_t before;
	bool ended;
	int status;
};

static void become(char **words, int out, int err, int started, int lock, const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (lock >= 0)
		fcntl(lock, F_SETFD, 0);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
		execvp(words[0], words);
	int why = errno;
	if (write(started, &why, sizeof why) < 0)
		_exit(126);
	_exit(127);
}

static int start(char **words, int lock, struct child *ret_child)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, started[2] = {-1, -1};
	sigset_t mask;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || pipe2(started, O_CLOEXEC) < 0)
		return fail_file(words[0], errno);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (size_t i = 0; i < sizeof passed_signals / sizeof *passed_signals; i++)
		sigaddset(&mask, passed_signals[i]);
	sigprocmask(SIG_BLOCK, &mask, &ret_child->before);
	signal(SIGPIPE, SIG_IGN);
	ret_child->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	ret_child->process = fork();
	if (ret_child->process == 0)
		become(words, out[1], err[1], started[1], lock, &ret_child->before);
	close(out[1]);
	close(err[1]);
	close(started[1]);
	ret_child->out = out[0];
	ret_child->err = err[0];
	ret_child->started = started[0];
	return ret_child->process < 0 ? fail_file(words[0], errno) : 0;
}

/* The reason why the command could not be started, 0 if it was. */
static int start_failure(struct child *child)
{
	int why = 0;
	ssize_t got;

	do
		got = read(child->started, &why, sizeof why);
	while (got < 0 && errno == EINTR);
	close(child->started);
	return got == sizeof why ? why : 0;
}

/* Passes on what is there; false at the end. */
static bool pass_on(int from, char stream, bool silent, struct recording *recording)
{
	char data[65536];
	ssize_t got = read(from, data, sizeof data);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	record_output(recording, stream, data, (size_t)got);
	/* A reader that has gone is no reason to stop: what the command did must be recorded. */
	FILE *to = stream == 'o' ? stdout : stderr;
	if (!silent && fwrite(data, 1, (size_t)got, to) == (size_t)got)
		fflush(to);
	return true;
}

static void pass_signals(struct child *child)
{
	struct signalfd_siginfo info;

	while (read(child->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo != SIGCHLD) {
			/* What a terminal sends goes to the whole group: the command has got it already. */
			if (info.ssi_code != SI_KERNEL)
				kill(child->process, (int)info.ssi_signo);
			continue;
		}
		if (waitpid(child->process, &child->status, WNOHANG) == child->process)
			child->ended = true;
	}
}

static void drain(int from, char stream, bool silent, struct recording *recording)
{
	if (from < 0)
		return;
	fcntl(from, F_SETFL, O_NONBLOCK);
	struct pollfd poll_one = {from, POLLIN, 0};
	while (poll(&poll_one, 1, 0) > 0 && (poll_one.revents & POLLIN) &&
		pass_on(from, stream, silent, recording))
		;
	close(from);
}

/* Until the command has ended. A process that it left behind may keep the pipes open: nobody waits for that.
 */
static void attend(struct child *child, bool silent, struct recording *recording)
{
	while (!child->ended) {
		struct pollfd polls[] = {
			{child->signals, POLLIN, 0}, {child->out, POLLIN, 0}, {child->err, POLLIN, 0}};
		if (poll(polls, 3, -1) < 0)
			continue;
		if (polls[1].revents && !pass_on(child->out, 'o', silent, recording)) {
			close(child->out);
			child->out = -1;
		}
		if (polls[2].revents && !pass_on(child->err, 'e', silent, recording)) {
			close(child->err);
			child->err = -1;
		}
		if (polls[0].revents)
			pass_signals(child);
	}
	drain(child->out, 'o', silent, recording);
	drain(child->err, 'e', silent, recording);
	end_piece(recording);
	close(child->signals);
	sigprocmask(SIG_SETMASK, &child->before, NULL);
}

/* ---- The journal ---- */

/* One short line on stdout is what the other side calls it: "email_918". */
static char *reference_of(const struct recording *recording)
{
	struct once_pieces pieces;
	const char *data;
	bool error;
	size_t len;
	int code;

	if (recording->failed || !once_result_read(recording->data, recording->len, &code, &pieces))
		return NULL;
	while (once_pieces_next(&pieces, &error, &data, &len)) {
		if (error)
			continue;
		len -= len && data[len - 1] == '\n';
		if (len == 0 || len > 128)
			return NULL;
		for (size_t i = 0; i < len; i++)
			if (data[i] <= ' ' || data[i] > '~')
				return NULL;
		char *reference = malloc(len + 1);
		if (reference) {
			memcpy(reference, data, len);
			reference[len] = '\0';
		}
		return reference;
	}
	return NULL;
}

struct once {
	const struct arguments *arguments;
	bobbin_action *action;
	char **words;
	bool replayed;
};

static void print_result(const struct bobbin_action_info *info)
{
	struct once_pieces pieces;
	const char *data;
	bool error;
	size_t len;
	int code;

	if (!once_result_read(info->result, info->result_len, &code, &pieces)) {
		print_data(info->result, info->result_len);
		return;
	}
	while (once_pieces_next(&pieces, &error, &data, &len)) {
		fflush(stdout);
		fwrite(data, 1, len, error ? stderr : stdout);
	}
}

static int exit_of(const struct bobbin_action_info *info)
{
	struct once_pieces pieces;
	int code;

	if (once_result_read(info->result, info->result_len, &code, &pieces))
		return code;
	return info->state == BOBBIN_ACTION_DONE ? EXIT_DONE : EXIT_FAILED;
}

static int report(const struct once *once)
{
	const struct bobbin_action_info *info = bobbin_action_info(once->action);

	if (once->arguments->json)
		print_action_json(info, once->replayed ? 1 : 0);
	else if (once->replayed)
		print_result(info);
	if (once->replayed) {
		bool failed = info->state == BOBBIN_ACTION_FAILED;
		note(once->arguments, "%s was %s %s%s%s: this is the recorded result, nothing was run%s%s%s",
			info->key, failed ? "tried, and failed," : "done", time_ago(info->ended_ns),
			*info->reference ? ", as " : "", info->reference, *info->note ? " (" : "", info->note, *info->note ? ")" : "");
		if (failed)
			note(once->arguments, "to try again: bobbin once %s --retry-safe -- CMD, if twice does no harm; else another KEY",
				info->key);
	}
	return info->state == BOBBIN_ACTION_UNKNOWN ? EXIT_CONFLICT : exit_of(info);
}

/* What the exit code does not say; "" if that is all. */
static void describe_end(const struct recording *recording, int signal_number, char *out, size_t size)
{
	char lost[64] = "";

	if (recording->failed)
		snprintf(lost, sizeof lost, "there was no memory to record its output");
	else if (recording->cut)
		snprintf(lost, sizeof lost, "output beyond %zu MiB was not recorded", RECORDED_MAX >> 20);
	if (signal_number)
		snprintf(out, size, "the command was killed by signal %d%s%s", signal_number, *lost ? "; " : "", lost);
	else
		snprintf(out, size, "%s", lost);
}

/* Runs what must run once and records how it ended. */
static int run(struct once *once)
{
	struct child child = {0};
	struct recording recording;
	struct bobbin_error error;
	int code = start(once->words, bobbin_action_fd(once->action), &child);

	if (code)
		return code;
	int why = start_failure(&child);
	record_exit(&recording, 0);
	attend(&child, once->arguments->json, &recording);
	if (why) {
		free(recording.data);
		bobbin_action_end(once->action, BOBBIN_ACTION_UNDONE, NULL, 0, NULL,
			"the command could not be started", NULL);
		return fail_file(once->words[0], why);
	}
	bool killed = WIFSIGNALED(child.status);
	int exit_code = killed ? 128 + WTERMSIG(child.status) : WEXITSTATUS(child.status);
	set_exit(&recording, exit_code);
	char note_text[128];
	describe_end(&recording, killed ? WTERMSIG(child.status) : 0, note_text, sizeof note_text);
	char *reference = exit_code == 0 ? reference_of(&recording) : NULL;
	code = bobbin_action_end(once->action,
		killed		 ? BOBBIN_ACTION_UNKNOWN
		: exit_code == 0 ? BOBBIN_ACTION_DONE
				 : BOBBIN_ACTION_FAILED,
		recording.failed ? NULL : recording.data, recording.failed ? 0 : recording.len, reference,
		note_text, &error);
	free(reference);
	free(recording.data);
	if (code < 0) {
		fail(&error);
		complain("the command has ended with exit code %d, and that could not be recorded: %s counts as unknown",
			exit_code, bobbin_action_info(once->action)->key);
		return EXIT_FAILED;
	}
	if (*note_text && !killed)
		note(once->arguments, "%s: %s; whoever comes again with this key gets what was", bobbin_action_info(once->action)->key,
			note_text);
	if (killed && !once->arguments->quiet)
		complain("%s; whether it did its work is unknown: bobbin actions settle %s", note_text, bobbin_action_info(once->action)->key);
	return report(once);
}

static int say_unsettled(const struct once *once)
{
	const struct bobbin_action_info *info = bobbin_action_info(once->action);

	if (once->arguments->json)
		print_action_json(info, 0);
	complain("%s was begun %s and nobody recorded how it went (%s); it is not run again. Find out, then say: bobbin actions "
		 "settle %s --happened, or --not-happened",
		info->key, time_ago(info->begun_ns), info->note, info->key);
	return EXIT_CONFLICT;
}

/* Asks whether it happened: exit code 0 says yes, 1 says no, anything else that it cannot tell. */
static int ask(struct once *once)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *words[] = {shell, option, (char *)once->arguments->check, NULL};
	struct child child = {0};
	struct recording recording;
	struct bobbin_error error;
	int code = start(words, -1, &child);

	if (code)
		return code;
	int why = start_failure(&child);
	record_exit(&recording, 0);
	attend(&child, true, &recording);
	int answer = why || !WIFEXITED(child.status) ? -1 : WEXITSTATUS(child.status);
	char *reference = answer == 0 ? reference_of(&recording) : NULL;
	if (answer == 0)
		code = bobbin_action_end(once->action, BOBBIN_ACTION_DONE, recording.data, recording.len,
			reference, "the check found that it had happened", &error);
	else if (answer == 1)
		code = bobbin_action_again(once->action, &error);
	free(reference);
	free(recording.data);
	if (code < 0)
		return fail(&error);
	if (answer == 1)
		return run(once);
	if (answer != 0)
		return say_unsettled(once);
	once->replayed = true;
	return report(once);
}

static int begin(
	const struct arguments *arguments, bobbin_store *store, const char *words_json, struct once *once)
{
	struct bobbin_action_options options = BOBBIN_ACTION_OPTIONS_INIT;
	struct bobbin_error error;
	const char *key = arguments->words[0];

	options.retry_safe = arguments->retry_safe;
	int begun = bobbin_action_begin(
		store, key, words_json, strlen(words_json), &options, &once->action, &error);
	if (begun == BOBBIN_EBUSY) {
		note(arguments, "%s is being done by another process; waiting for it", key);
		options.wait_ms = -1;
		begun = bobbin_action_begin(
			store, key, words_json, strlen(words_json), &options, &once->action, &error);
	}
	if (begun < 0)
		return fail(&error);
	once->replayed = begun == BOBBIN_ACTION_REPLAY;
	if (begun == BOBBIN_ACTION_RUN)
		return run(once);
	if (begun == BOBBIN_ACTION_REPLAY)
		return report(once);
	return arguments->check ? ask(once) : say_unsettled(once);
}

/* The command as a JSON array: what is compared when the key is used again. */
static char *words_json_of(char **words)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; words[i]; i++) {
		fputs(i ? ",\"" : "[\"", out);
		for (const char *at = words[i]; *at; at++)
			if (*at == '"' || *at == '\\' || (unsigned char)*at < 0x20)
				fprintf(out, "\\u%04x", (unsigned char)*at);
			else
				putc(*at, out);
		putc('"', out);
	}
	putc(']', out);
	return fclose(out) == 0 ? text : NULL;
}

int command_once(const struct arguments *arguments)
{
	struct once once = {.arguments = arguments, .words = arguments->words + 1};
	bobbin_store *store;
	char *words_json = words_json_of(once.words);

	if (!words_json)
		return fail_file(once.words[0], ENOMEM);
	int code = open_store(arguments, true, &store);
	if (code == 0) {
		code = begin(arguments, store, words_json, &once);
		bobbin_action_close(once.action);
		bobbin_store_close(store);
	}
	free(words_json);
	return code;
}
