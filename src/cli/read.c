/* SPDX-License-Identifier: MIT */
/* Commands that look: show, list, tree. They open everything read-only. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- show ---- */

static void print_message_json(const struct bobbin_message *message)
{
	print_json_data(message->record, message->record_len);
	putchar('\n');
}

static const char *role_color(const char *role)
{
	if (strcmp(role, "user") == 0)
		return GREEN;
	return strcmp(role, "assistant") == 0 ? BLUE : YELLOW;
}

static void print_message(bobbin_session *session, const struct bobbin_message *message, bool all_branches)
{
	bool off = all_branches && message->position == UINT64_MAX;
	printf("%s%s%s %s%s%s", paint(BOLD), visible(short_id(session, message->id)), paint(PLAIN),
		paint(role_color(message->role)), message->role, paint(PLAIN));
	printf("%s  %s", paint(DIM), counted(message->tokens, "token"));
	if (*message->origin)
		printf(" · %s", visible(message->origin));
	if (message->inherited)
		printf(" · inherited");
	if (message->marked)
		printf(" · marked: no real result came");
	if (off) /* on another branch, or a result that came late */
		printf(" · beside the line, after %s",
			*message->parent ? visible(short_id(session, message->parent)) : "nothing");
	printf("%s\n", paint(PLAIN));
	print_wrapped(message->text, message->text_len, 2);
}

static int show_messages(
	const struct arguments *arguments, bobbin_session *session, const char *from, char *ret_last)
{
	struct bobbin_messages_options options = BOBBIN_MESSAGES_OPTIONS_INIT;
	struct bobbin_error error;
	const struct bobbin_message *message;
	bobbin_messages *messages;
	int rc;
	options.from = from;
	options.to = arguments->to;
	options.all_branches = arguments->all_branches;
	options.mask = arguments->mask;
	if (bobbin_messages_open(session, &options, &messages, &error) < 0)
		return fail(&error);
	bool skip = from && *ret_last; /* following: the first one was shown before */
	while ((rc = bobbin_messages_next(messages, &message, &error)) > 0) {
		snprintf(ret_last, BOBBIN_MESSAGE_ID_BYTES, "%s", message->id);
		if (!skip && arguments->json)
			print_message_json(message);
		else if (!skip)
			print_message(session, message, arguments->all_branches);
		skip = false;
	}
	bobbin_messages_close(messages);
	fflush(stdout);
	return rc < 0 ? fail(&error) : 0;
}

static int follow(const struct arguments *arguments, bobbin_session *session, char *last)
{
	struct bobbin_error error;
	for (;;) {
		usleep(200000);
		if (bobbin_session_refresh(session, &error) < 0)
			return fail(&error);
		const char *head = bobbin_session_head(session);
		if (!head || strcmp(head, last) == 0)
			continue;
		int rc = show_messages(arguments, session, *last ? last : NULL, last);
		if (rc)
			return rc;
	}
}

/* What is missing from what is shown, or may be: also with --json, whose lines have no place for it. */
void note_damage(const struct arguments *arguments, bobbin_session *session)
{
	const char *id = bobbin_session_info(session)->id;
	bobbin_faults *faults;
	if (bobbin_session_faults(session, &faults, NULL) < 0)
		return; /* a note less */
	size_t count = bobbin_faults_count(faults), cuts = 0;
	for (size_t i = 0; i < count; i++)
		cuts += strcmp(bobbin_faults_get(faults, i)->kind, "cut") == 0;
	bobbin_faults_free(faults);
	if (cuts)
		note(arguments, "part of %s.jsonl is lost; bobbin doctor %s explains", id, id);
	if (count > cuts)
		note(arguments, "damaged lines in %s.jsonl; bobbin doctor %s explains", id, id);
}

static void print_session_line(const struct arguments *arguments, bobbin_session *session)
{
	const struct bobbin_session_info *info = bobbin_session_info(session);
	char *masked = NULL;
	if (arguments->mask && bobbin_mask(info->title, strlen(info->title), &masked, NULL, NULL) < 0)
		masked = NULL;
	const char *title = arguments->mask ? (masked ? masked : "") : info->title;
	note(arguments, "%s · %s on the line · about %s tokens%s%s", info->id,
		counted(info->messages, "message"), number_text(info->tokens), *title ? " · " : "",
		title);
	if (*info->parent_id)
		note(arguments, "forked from %s after %s", info->parent_id,
			counted(info->forked_at, "message"));
	bobbin_free(masked);
}

int command_show(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	char last[BOBBIN_MESSAGE_ID_BYTES] = "";
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = open_session(arguments, id, false, true, &store, &session);
	if (rc)
		return rc;
	if (!arguments->json)
		print_session_line(arguments, session);
	note_damage(arguments, session);
	rc = show_messages(arguments, session, arguments->from, last);
	if (!rc && arguments->follow)
		rc = follow(arguments, session, last);
	close_session(store, session);
	return rc;
}

/* ---- list ---- */

void print_info_json(const struct bobbin_session_info *info, const char *end)
{
	putchar('{');
	print_json_member("id", info->id);
	putchar(',');
	print_json_member("title", info->title);
	putchar(',');
	print_json_member("owner", info->owner);
	if (info->messages_known)
		printf(",\"messages\":%llu", (unsigned long long)info->messages);
	else
		fputs(",\"messages\":null", stdout);
	printf(",\"bytes\":%llu,\"updated\":%.3f,", (unsigned long long)info->bytes,
		(double)info->updated_ns / 1e9);
	fputs("\"parentId\":", stdout);
	if (*info->parent_id)
		print_json_text(info->parent_id);
	else
		fputs("null", stdout);
	if (*info->parent_id)
		printf(",\"forkedAt\":%llu", (unsigned long long)info->forked_at);
	if (*info->repaired_from) {
		putchar(',');
		print_json_member("repairedFrom", info->repaired_from);
	}
	if (info->damaged) {
		putchar(',');
		print_json_member("damaged", info->damaged);
	}
	fputs(end, stdout);
}

const char *messages_text(const struct bobbin_session_info *info)
{
	return info->messages_known ? counted(info->messages, "message") : "? messages";
}

static void print_info(const struct bobbin_session_info *info)
{
	printf("%s%-20s%s %17s  %s", paint(BOLD), info->id, paint(PLAIN), messages_text(info),
		time_ago(info->updated_ns));
	size_t used = 54 + (strlen(info->id) > 20 ? strlen(info->id) - 20 : 0);
	/* A title of a few letters says nothing; damage is said whatever it takes. */
	size_t left = (size_t)output_columns() > used + 10 ? (size_t)output_columns() - used : 0;
	size_t room = left || !info->damaged ? left : 40;
	char from[BOBBIN_SESSION_ID_BYTES + 1024] = "";
	const char *text = info->damaged ? info->damaged : *info->title && !*info->repaired_from ? info->title : from;
	if (*info->repaired_from)
		snprintf(from, sizeof(from), "repair of %s%s%s", info->repaired_from, *info->title ? " · " : "", info->title);
	else if (*info->parent_id)
		snprintf(from, sizeof(from), "fork of %s", info->parent_id);
	if (room && *text) {
		printf("%*s%s", 14 - (int)strlen(time_ago(info->updated_ns)), "", info->damaged ? paint(RED) : "");
		print_line_of(text, strlen(text), room);
		fputs(info->damaged ? paint(PLAIN) : "", stdout);
	}
	putchar('\n');
}

int command_list(const struct arguments *arguments)
{
	struct bobbin_list_options options = BOBBIN_LIST_OPTIONS_INIT;
	struct bobbin_error error;
	const struct bobbin_session_info *info;
	bobbin_store *store;
	bobbin_list *list;
	size_t count = 0;
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	options.owner = arguments->owner;
	options.limit = (size_t)arguments->limit;
	options.parent = arguments->parent;
	options.title = arguments->word_count ? arguments->words[0] : NULL;
	if (bobbin_list_open(store, &options, &list, &error) < 0) {
		bobbin_store_close(store);
		return fail(&error);
	}
	for (; (info = bobbin_list_next(list)); count++)
		if (arguments->json)
			print_info_json(info, "}\n");
		else
			print_info(info);
	bobbin_list_close(list);
	bobbin_store_close(store);
	bool asked = options.owner || options.title || options.parent;
	if (!count)
		note(arguments, asked ? "no session matches" : "no sessions yet");
	return count || !asked ? EXIT_DONE : EXIT_NO;
}
