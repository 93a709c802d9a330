/* SPDX-License-Identifier: MIT */
/* `bobbin actions`: what was done once, what is unknown, and saying how it was. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/once.h"

static void print_pieces_json(const struct bobbin_action_info *info)
{
	struct once_pieces pieces;
	const char *data;
	bool error, first = true;
	size_t len;
	int code;

	if (!once_result_read(info->result, info->result_len, &code, &pieces)) {
		printf(",\"result\":");
		print_json_string(info->result, info->result_len);
		return;
	}
	printf(",\"exit\":%d,\"output\":[", code);
	for (; once_pieces_next(&pieces, &error, &data, &len); first = false) {
		printf("%s{\"%s\":", first ? "" : ",", error ? "err" : "out");
		print_json_string(data, len);
		putchar('}');
	}
	putchar(']');
}

void print_action_json(const struct bobbin_action_info *info, int replayed)
{
	putchar('{');
	print_json_member("key", info->key);
	putchar(',');
	print_json_member("state", bobbin_action_state_name(info->state));
	if (replayed >= 0)
		printf(",\"replayed\":%s", replayed ? "true" : "false");
	printf(",\"attempts\":%" PRIu64 ",\"begun_ns\":%" PRId64 ",\"ended_ns\":%" PRId64 ",", info->attempts,
		info->begun_ns, info->ended_ns);
	print_json_member("reference", info->reference);
	putchar(',');
	print_json_member("note", info->note);
	putchar(',');
	print_json_member("arguments", info->arguments);
	if (info->result_len)
		print_pieces_json(info);
	puts("}");
}

static const char *color_of(int state)
{
	switch (state) {
	case BOBBIN_ACTION_DONE:
		return paint(GREEN);
	case BOBBIN_ACTION_FAILED:
	case BOBBIN_ACTION_UNKNOWN:
		return paint(state == BOBBIN_ACTION_FAILED ? RED : YELLOW);
	default:
		return paint(DIM);
	}
}

static void print_action(const struct bobbin_action_info *info)
{
	const char *when = time_ago(info->ended_ns ? info->ended_ns : info->begun_ns);
	size_t columns = (size_t)output_columns();
	size_t taken = 8 + 2 + 12 + 2;

	printf("%s%-8s%s  %-12s  ", color_of(info->state), bobbin_action_state_name(info->state),
		paint(PLAIN), when);
	print_line_of(info->key, strlen(info->key),
		columns - taken - (*info->reference ? strlen(info->reference) + 2 : 0));
	printf("%s%s\n", *info->reference ? "  " : "", visible(info->reference));
}

static int list(const struct arguments *arguments, bobbin_store *store)
{
	struct bobbin_error error;
	const struct bobbin_action_info *info;
	bobbin_actions *actions;
	const char *prefix = arguments->word_count > 1 ? arguments->words[1] : NULL;
	size_t count = 0;

	if (bobbin_actions_open(store, prefix, 0, &actions, &error) < 0)
		return fail(&error);
	for (; (info = bobbin_actions_next(actions)); count++) {
		if (arguments->limit && count == arguments->limit)
			break;
		if (arguments->json)
			print_action_json(info, -1);
		else
			print_action(info);
	}
	bobbin_actions_close(actions);
	if (!count)
		note(arguments, prefix ? "no action's key begins with that" : "no actions yet");
	return count || !prefix ? EXIT_DONE : EXIT_NO;
}

static void print_time(const char *name, int64_t ns)
{
	char text[32];
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm parts;

	if (ns && gmtime_r(&seconds, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
		printf("%-10s %s, %s\n", name, text, time_ago(ns));
}

static void print_text(const char *name, const char *text)
{
	if (!*text)
		return;
	printf("%-10s ", name);
	print_hanging(text, strlen(text), 11);
}

static void print_recorded(const struct bobbin_action_info *info)
{
	struct once_pieces pieces;
	const char *data;
	bool error;
	size_t len;
	int code;

	if (!once_result_read(info->result, info->result_len, &code, &pieces)) {
		printf("result\n");
		print_wrapped(info->result, info->result_len, 2);
		return;
	}
	printf("%-10s %d\n", "exit code", code);
	while (once_pieces_next(&pieces, &error, &data, &len)) {
		printf("%s\n", error ? "stderr" : "stdout");
		print_wrapped(data, len, 2);
	}
}

/* No action of that key is an answer, and the same one whatever was to be done with it. */
static int fail_action(const struct bobbin_error *error)
{
	int code = fail(error);

	return error->code == BOBBIN_ENOTFOUND ? EXIT_NO : code;
}

static int show(const struct arguments *arguments, bobbin_store *store)
{
	struct bobbin_error error;
	bobbin_actions *actions;

	if (bobbin_actions_find(store, arguments->words[1], &actions, &error) < 0)
		return fail_action(&error);
	const struct bobbin_action_info *info = bobbin_actions_next(actions);
	if (arguments->json) {
		print_action_json(info, -1);
	} else {
		print_text("key", info->key);
		printf("%-10s %s%s%s\n", "state", color_of(info->state),
			bobbin_action_state_name(info->state), paint(PLAIN));
		print_text("because", info->note);
		print_text("reference", info->reference);
		print_text("arguments", info->arguments);
		printf("%-10s %s\n", "begun", counted(info->attempts, "time"));
		print_time("last", info->begun_ns);
		print_time("ended", info->ended_ns);
		if (info->result_len)
			print_recorded(info);
	}
	bobbin_actions_close(actions);
	return EXIT_DONE;
}

static int settle(const struct arguments *arguments, bobbin_store *store)
{
	struct bobbin_error error;
	const char *key = arguments->words[1];
	char *result = NULL;
	size_t len = 0;

	if (arguments->happened == arguments->not_happened)
		return fail_usage("say how it was: --happened or --not-happened");
	if (arguments->result_file && arguments->not_happened)
		return fail_usage("what did not happen has no --result");
	int code = arguments->result_file ? read_input(arguments->result_file, &result, &len) : 0;
	if (code)
		return code;
	code = bobbin_action_settle(store, key, arguments->happened, result, len, arguments->reference,
		arguments->happened ? "settled by hand: it happened" : "settled by hand: it did not happen",
		&error);
	free(result);
	if (code < 0)
		return fail_action(&error);
	note(arguments,
		arguments->happened ? "%s is done; whoever asks again gets this"
				    : "%s did not happen; the next who asks will do it",
		key);
	return arguments->json ? show(arguments, store) : EXIT_DONE;
}

int command_actions(const struct arguments *arguments)
{
	static const char *const names[] = {"list", "show", "settle"};
	int (*const verbs[])(const struct arguments *, bobbin_store *) = {list, show, settle};
	const char *verb = arguments->word_count ? arguments->words[0] : "list";
	bobbin_store *store;

	for (size_t i = 0; i < 3; i++) {
		if (strcmp(verb, names[i]) != 0)
			continue;
		if (i > 0 && arguments->word_count != 2)
			return fail_usage("%s takes one KEY", verb);
		if (i != 2 && (arguments->happened || arguments->not_happened || arguments->result_file ||
				      arguments->reference))
			return fail_usage(
				"--happened, --not-happened, --result and --reference go with settle");
		int code = open_store(arguments, false, &store);
		if (code == 0) {
			code = verbs[i](arguments, store);
			bobbin_store_close(store);
		}
		return code;
	}
	return fail_usage("actions has list, show KEY and settle KEY, no %s", verb);
}
