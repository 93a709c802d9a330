/* SPDX-License-Identifier: MIT */
/* Commands that add to a log or make and delete sessions: append, fork, rewind, edit, delete. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- append ---- */

static void print_ack(const struct arguments *arguments, const struct bobbin_ack *ack)
{
	if (arguments->json) {
		printf("{\"seq\":%llu,", (unsigned long long)ack->seq);
		print_json_member("id", ack->id);
		if (ack->repeated)
			fputs(",\"repeated\":true", stdout);
		if (ack->side_branch)
			fputs(",\"side_branch\":true", stdout);
		puts("}");
	} else {
		printf("%llu %s%s%s\n", (unsigned long long)ack->seq, visible(ack->id),
			ack->repeated ? " (was there)" : "", ack->side_branch ? " (beside the line)" : "");
	}
	fflush(stdout); /* an acknowledgement that waits in a buffer is none */
}

static bool blank(const char *text, size_t len)
{
	return strspn(text, " \t\r\n") >= len;
}

/* Lines up to this long are read; the library refuses any over 64 MiB and says so. */
#define INPUT_LINE_BYTES_MAX ((size_t)64 << 20)

/* Like getline, but a line that never ends does not fill the memory: what is longer is cut, and so refused.
 */
static size_t read_line(char **line, size_t *cap)
{
	size_t len = 0;
	int c;
	while (len <= INPUT_LINE_BYTES_MAX && (c = getc_unlocked(stdin)) != EOF) {
		if (len + 1 >= *cap) {
			size_t wanted = *cap ? *cap * 2 : 4096;
			char *more = realloc(*line, wanted);
			if (!more)
				return 0;
			*line = more;
			*cap = wanted;
		}
		(*line)[len++] = (char)c;
		if (c == '\n')
			break;
	}
	if (len)
		(*line)[len] = 0;
	return len;
}

/* Each line is acknowledged once it is durable; the first that fails ends it, with its number. */
static int append_lines(const struct arguments *arguments, bobbin_session *session)
{
	struct bobbin_ack ack;
	struct bobbin_error error;
	char *line = NULL, head[BOBBIN_MESSAGE_ID_BYTES];
	size_t cap = 0, len;
	unsigned long number = 0, appended = 0;
	const char *expect = arguments->expect;
	int rc = 0;

	tell_terminal();
	while (!rc && (len = read_line(&line, &cap)) > 0) {
		number++;
		if (blank(line, len))
			continue;
		if (line[len - 1] == '\n')
			len--;
		if (bobbin_session_append(session, line, len, expect, &ack, &error) < 0) {
			fprintf(stderr, "bobbin: line %lu of the input, byte %llu:\n", number,
				(unsigned long long)error.offset);
			rc = fail(&error);
			continue;
		}
		appended++;
		print_ack(arguments, &ack);
		if (expect) {
			const char *now = bobbin_session_head(session);
			snprintf(head, sizeof(head), "%s", now ? now : *ack.id ? ack.id : expect);
			expect = head;
		}
	}
	if (!rc && !feof(stdin))
		rc = fail_file("standard input", errno);
	if (!rc && !appended)
		note(arguments, "nothing was appended: standard input has no messages");
	free(line);
	return rc;
}

int command_append(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	int rc = open_session(arguments, arguments->words[0], true, false, &store, &session);
	if (rc)
		return rc;
	rc = append_lines(arguments, session);
	close_session(store, session);
	return rc;
}

/* ---- manufacture ---- */

int command_manufacture(const struct arguments *arguments)
{
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	uint64_t rounds = arguments->rounds ? arguments->rounds : 30,
		 seed = arguments->seed ? arguments->seed : 1;
	int rc = open_session(arguments, arguments->words[0], true, false, &store, &session);
	if (rc)
		return rc;
	if (bobbin_session_manufacture(session, rounds, seed, arguments->message_tokens, &error) < 0) {
		rc = fail(&error);
	} else {
		const struct bobbin_session_info *info = bobbin_session_info(session);
		if (arguments->json)
			printf("{\"messages\":%llu,\"tokens\":%llu}\n", (unsigned long long)info->messages,
				(unsigned long long)info->tokens);
		else
			printf("%s has %s on its line, about %s\n", info->id, counted(info->messages, "message"),
				counted(info->tokens, "token"));
	}
	close_session(store, session);
	return rc;
}

/* ---- fork ---- */

static void print_forked(const struct arguments *arguments, bobbin_session *session, const char *at,
	const struct bobbin_forked *forked)
{
	const char *parent = bobbin_session_info(session)->id;
	if (arguments->json) {
		putchar('{');
		print_json_member("id", forked->id);
		putchar(',');
		print_json_member("parentId", parent);
		printf(",\"forkedAt\":%llu,", (unsigned long long)forked->kept);
		print_json_member("through", forked->through);
		printf(",\"gaps\":%llu}\n", (unsigned long long)forked->gaps);
		return;
	}
	if (forked->gaps)
		note(arguments,
			"careful: a damaged line lies in what was kept; a message may be missing (see bobbin "
			"doctor %s)",
			parent);
	if (forked->kept < strtoull(at, NULL, 10) && !at[strspn(at, "0123456789")])
		note(arguments, "walked back from %s, so that no call is parted from its results", at);
	if (forked->kept)
		printf("forked %s after %s (through %s): ", parent, counted(forked->kept, "message"),
			visible(short_id(session, forked->through)));
	else
		printf("forked %s before its first message: ", parent);
	printf("%s%s%s\n", paint(BOLD), forked->id, paint(PLAIN));
}

/* One word is AT; whoever gives one that is a session wants to be told so. */
static int fail_fork(const struct arguments *arguments, const struct bobbin_error *error)
{
	int rc = fail(error);
	if (error->code == BOBBIN_ENOTFOUND && arguments->word_count == 1)
		fputs("bobbin: AT, a number of messages or a message id, is what comes last: bobbin fork "
		      "[SESSION] AT\n",
			stderr);
	return rc;
}

int command_fork(const struct arguments *arguments)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_forked forked;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	bool named = arguments->word_count == 2;
	const char *parent = named ? arguments->words[0] : arguments->session ? arguments->session : "main";
	int rc = open_session(arguments, parent, false, false, &store, &session);
	if (rc && !named && !arguments->session) /* perhaps the place was forgotten */
		fprintf(stderr, "to fork session %s: bobbin fork %s AT\n", arguments->words[0], arguments->words[0]);
	if (rc)
		return rc;
	options.id = arguments->id;
	options.owner = arguments->owner;
	options.title = arguments->title;
	if (bobbin_session_fork(session, arguments->words[named], &options, &forked, &error) < 0)
		rc = fail_fork(arguments, &error);
	else
		print_forked(arguments, session, arguments->words[named], &forked);
	close_session(store, session);
	return rc;
}

/* ---- rewind, edit, delete ---- */

static void print_moved(
	const struct arguments *arguments, bobbin_session *session, const struct bobbin_ack *ack)
{
	const struct bobbin_session_info *info = bobbin_session_info(session);
	const char *head = bobbin_session_head(session);
	head = head ? head : ack->id; /* it was moved there; the log cannot be read just now */
	if (arguments->json) {
		printf("{\"seq\":%llu,", (unsigned long long)ack->seq);
		print_json_member("id", ack->id);
		putchar(',');
		print_json_member("head", head);
		printf(",\"messages\":%llu}\n", (unsigned long long)info->messages);
	} else {
		printf("the head of %s is now %s, %s on the line\n", info->id,
			*head ? visible(short_id(session, head)) : "before the first message",
			counted(info->messages, "message"));
		if (strcmp(arguments->program_command, "edit") == 0)
			note(arguments, "bobbin regenerate %s answers it", info->id);
	}
}

int command_rewind(const struct arguments *arguments)
{
	struct bobbin_ack ack;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	bool named = arguments->word_count == 2;
	int rc = open_session(
		arguments, named ? arguments->words[0] : arguments->session, false, false, &store, &session);
	if (rc)
		return rc;
	if (bobbin_session_rewind(session, arguments->words[named], &ack, &error) < 0)
		rc = fail(&error);
	else
		print_moved(arguments, session, &ack);
	close_session(store, session);
	return rc;
}

int command_edit(const struct arguments *arguments)
{
	struct bobbin_ack ack;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	const char *text = arguments->words[2];
	int rc = open_session(arguments, arguments->words[0], false, false, &store, &session);
	if (rc)
		return rc;
	if (bobbin_session_edit(session, arguments->words[1], text, strlen(text), &ack, &error) < 0)
		rc = fail(&error);
	else
		print_moved(arguments, session, &ack);
	close_session(store, session);
	return rc;
}

int command_delete(const struct arguments *arguments)
{
	struct bobbin_error error;
	bobbin_store *store;
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	int (*delete)(bobbin_store *, const char *, struct bobbin_error *) =
		arguments->materialize ? bobbin_session_delete_materialized : bobbin_session_delete;
	if (delete (store, arguments->words[0], &error) < 0)
		rc = fail(&error);
	else if (arguments->json)
		printf("{\"deleted\":true}\n");
	else
		printf("deleted %s\n", arguments->words[0]);
	bobbin_store_close(store);
	return rc;
}
