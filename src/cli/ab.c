/* SPDX-License-Identifier: MIT */
/*
 * ab: the same history under two system prompts, side by side. Each side is a fork of its own, in which the last user
 * message is answered, so that either can be taken further.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDES 2
#define GAP 3

struct side {
	const char *file;
	struct bobbin_forked forked;
	char *text; /* the answer, then what went wrong */
	size_t len, cap;
	char stop[64];
	uint64_t input, cached, output;
	int reported, failed;
	struct bobbin_error error;
};

static int add_text(struct side *side, const char *text, size_t len)
{
	if (side->len + len + 1 > side->cap) {
		size_t cap = (side->len + len + 1) * 2;
		char *more = realloc(side->text, cap);
		if (!more)
			return -1;
		side->text = more;
		side->cap = cap;
	}
	memcpy(side->text + side->len, text, len);
	side->len += len;
	side->text[side->len] = 0;
	return 0;
}

static void add_line(struct side *side, const char *before, const char *text)
{
	if (side->len && side->text[side->len - 1] != '\n')
		add_text(side, "\n", 1);
	add_text(side, before, strlen(before));
	add_text(side, text, strlen(text));
}

/* Pulls a turn to its end. A call of a tool ends it: nothing is run here. */
static int pull(struct side *side, bobbin_turn *turn)
{
	const struct bobbin_event *event;
	int rc;
	while ((rc = bobbin_turn_next(turn, -1, &event, &side->error)) > 0) {
		side->input = event->input_tokens;
		side->cached = event->cached_tokens;
		side->output = event->output_tokens;
		side->reported = event->reported;
		if (event->type == BOBBIN_EVENT_TEXT && add_text(side, event->text, event->text_len) < 0)
			return BOBBIN_ENOMEM;
		if (event->type == BOBBIN_EVENT_DONE)
			snprintf(side->stop, sizeof(side->stop), "%s", event->text);
		if (event->type == BOBBIN_EVENT_CALL) {
			add_line(side, "[wants to call ", event->name);
			add_text(side, " ", 1);
			add_text(side, event->text, event->text_len);
			add_text(side, "]", 1);
			snprintf(side->stop, sizeof(side->stop), "tool_calls");
			return 0;
		}
	}
	return rc;
}

static int answer(const struct arguments *arguments, bobbin_store *store, bobbin_model *model, struct side *side)
{
	struct bobbin_session_options open = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	struct arguments own = *arguments;
	struct window_request window;
	bobbin_session *session;
	bobbin_turn *turn;
	own.system_file = side->file;
	own.at = NULL;
	int rc = window_options_read(&own, &window);
	if (rc)
		return rc;
	open.must_exist = 1;
	options.window = &window.options;
	options.regenerate = 1;
	rc = bobbin_session_open(store, side->forked.id, &open, &session, &side->error);
	if (!rc) {
		rc = bobbin_turn_start(session, model, "", 0, &options, &turn, &side->error);
		if (!rc) {
			rc = pull(side, turn);
			bobbin_turn_free(turn);
		}
		bobbin_session_close(session);
	}
	window_options_release(&window);
	side->failed = rc < 0;
	if (side->failed)
		add_line(side, "[failed: ", side->error.message), add_text(side, "]", 1);
	return 0;
}

/* ---- Showing ---- */

/* How many bytes of `text` make a line of at most `columns`: up to a line break, else to the last blank. */
static size_t line_bytes(const char *text, size_t len, size_t columns)
{
	size_t end = 0, blank = 0;
	while (end < len && text[end] != '\n') {
		size_t next = end + 1;
		while (next < len && ((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		if (text_columns(text, next) > columns)
			return blank ? blank : end ? end : next;
		if (text[end] == ' ')
			blank = next;
		end = next;
	}
	return end;
}

static void print_cell(const char **text, size_t *len, size_t columns, bool pad)
{
	size_t used = line_bytes(*text, *len, columns), shown = used;
	while (shown && (*text)[shown - 1] == ' ')
		shown--;
	size_t wide = text_columns(*text, shown);
	print_line_of(*text, shown, columns);
	if (pad)
		printf("%*s", (int)(wide < columns ? columns - wide : 0), "");
	if (used < *len && (*text)[used] == '\n')
		used++;
	*text += used;
	*len -= used;
}

static void print_rows(const char *left, const char *right, size_t columns)
{
	size_t left_len = strlen(left), right_len = strlen(right);
	while (left_len || right_len) {
		print_cell(&left, &left_len, columns, true);
		fputs(right_len ? " │ " : " │", stdout);
		print_cell(&right, &right_len, columns, false);
		putchar('\n');
	}
}

static const char *usage_text(const struct side *side, char *buffer, size_t size)
{
	if (side->reported)
		snprintf(buffer, size, "%s in, %s cached, %s out", number_text(side->input),
			number_text(side->cached), number_text(side->output));
	else
		snprintf(buffer, size, "no usage reported");
	return buffer;
}

static void print_sides(const struct side *sides)
{
	size_t columns = (size_t)(output_columns() - GAP) / 2;
	char usage[SIDES][96];
	fputs(paint(BOLD), stdout);
	print_rows(sides[0].file, sides[1].file, columns);
	fputs(paint(PLAIN), stdout);
	for (int half = 0; half < 2; half++) {
		for (size_t i = 0; i < columns + 1; i++)
			fputs("─", stdout);
		fputs(half ? "\n" : "┼", stdout);
	}
	print_rows(sides[0].text ? sides[0].text : "", sides[1].text ? sides[1].text : "", columns);
	for (int half = 0; half < 2; half++) {
		for (size_t i = 0; i < columns + 1; i++)
			fputs("─", stdout);
		fputs(half ? "\n" : "┼", stdout);
	}
	print_rows(usage_text(&sides[0], usage[0], sizeof(usage[0])),
		usage_text(&sides[1], usage[1], sizeof(usage[1])), columns);
	print_rows(sides[0].forked.id, sides[1].forked.id, columns);
}

static void print_sides_json(const char *session, const struct side *sides)
{
	putchar('{');
	print_json_member("id", session);
	printf(",\"forkedAt\":%llu,", (unsigned long long)sides[0].forked.kept);
	print_json_member("through", sides[0].forked.through);
	fputs(",\"replies\":[", stdout);
	for (int i = 0; i < SIDES; i++) {
		const struct side *side = &sides[i];
		fputs(i ? ",{" : "{", stdout);
		print_json_member("system", side->file);
		putchar(',');
		print_json_member("session", side->forked.id);
		fputs(",\"text\":", stdout);
		print_json_string(side->text ? side->text : "", side->len);
		putchar(',');
		print_json_member("stop", side->stop);
		fputs(",\"usage\":", stdout);
		if (side->reported)
			printf("{\"input\":%llu,\"cached\":%llu,\"output\":%llu}", (unsigned long long)side->input,
				(unsigned long long)side->cached, (unsigned long long)side->output);
		else
			fputs("null", stdout);
		if (side->failed) {
			putchar(',');
			print_json_member("error", side->error.message);
		}
		putchar('}');
	}
	puts("]}");
}

/* ---- The command ---- */

/* Both forks, or none. */
static int make_forks(const struct arguments *arguments, bobbin_store *store, bobbin_session *session,
	struct side *sides)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_error error;
	char title[200];
	options.owner = arguments->owner;
	options.title = title;
	for (int i = 0; i < SIDES; i++) {
		snprintf(title, sizeof(title), "ab: %.150s", visible(sides[i].file));
		if (bobbin_session_fork(session, arguments->words[1], &options, &sides[i].forked, &error) < 0) {
			if (i)
				bobbin_session_delete(store, sides[0].forked.id, NULL);
			return fail(&error);
		}
	}
	return 0;
}

static int check_files(const struct side *sides)
{
	for (int i = 0; i < SIDES; i++) {
		char *text;
		size_t len;
		int rc = read_input(sides[i].file, &text, &len);
		if (rc)
			return rc;
		free(text);
	}
	return 0;
}

static int compare(const struct arguments *arguments, bobbin_store *store, bobbin_session *session,
	bobbin_model *model, struct side *sides)
{
	int rc = make_forks(arguments, store, session, sides);
	for (int i = 0; !rc && i < SIDES; i++)
		rc = answer(arguments, store, model, &sides[i]);
	if (rc)
		return rc;
	if (arguments->json)
		print_sides_json(bobbin_session_info(session)->id, sides);
	else
		print_sides(sides);
	for (int i = 0; i < SIDES; i++)
		if (sides[i].failed)
			rc = fail_about(sides[i].file, &sides[i].error);
	return rc;
}

int command_ab(const struct arguments *arguments)
{
	struct side sides[SIDES] = {{.file = arguments->system_file}, {.file = arguments->other_system_file}};
	const char *spec = model_spec(arguments);
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_model *model;
	if (!sides[0].file || !sides[1].file)
		return fail_usage("ab needs two prompts: bobbin ab SESSION AT --system FILE --system FILE");
	if (!spec)
		return fail_usage("no model is named: --model M, or BOBBIN_MODEL, or MOCK=1");
	int rc = check_files(sides);
	if (rc)
		return rc;
	if (bobbin_model_open(spec, &model, &error) < 0)
		return fail(&error);
	rc = open_session(arguments, arguments->words[0], false, false, &store, &session);
	if (!rc) {
		rc = compare(arguments, store, session, model, sides);
		close_session(store, session);
	}
	bobbin_model_close(model);
	for (int i = 0; i < SIDES; i++)
		free(sides[i].text);
	return rc;
}
