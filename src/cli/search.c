/* SPDX-License-Identifier: MIT */
/* search: text in all sessions. Each match is two lines: where it stands, and the hit in its surroundings. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	uint64_t messages, sessions;
	char last[BOBBIN_SESSION_ID_BYTES];
};

/* All words are the query. */
static char *query_of(const struct arguments *arguments, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);
	for (int i = 0; out && i < arguments->word_count; i++)
		fprintf(out, "%s%s", i ? " " : "", arguments->words[i]);
	if (out)
		fclose(out);
	return text;
}

static void print_match_json(const struct bobbin_match *match)
{
	putchar('{');
	print_json_member("session", match->session);
	putchar(',');
	print_json_member("id", match->id);
	putchar(',');
	print_json_member("name", match->name);
	putchar(',');
	print_json_member("role", match->role);
	putchar(',');
	print_json_member("ts", match->time);
	printf(",\"seq\":%llu,\"on_line\":%s,\"inherited\":%s,\"hits\":%llu,\"excerpt\":",
		(unsigned long long)match->seq, match->on_line ? "true" : "false",
		match->inherited ? "true" : "false", (unsigned long long)match->hits);
	print_json_string(match->excerpt, match->excerpt_len);
	puts("}");
}

/* A piece of text on one line: blanks and line breaks become one blank. Released by the caller. */
static char *flat(const char *text, size_t len)
{
	char *out = malloc(len + 1);
	size_t used = 0;
	for (size_t i = 0; out && i < len; i++) {
		bool blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
		if (!blank || used == 0 || out[used - 1] != ' ')
			out[used++] = blank ? ' ' : text[i];
	}
	if (out)
		out[used] = 0;
	return out;
}

/* The end of a text that fits `columns`. */
static const char *end_that_fits(const char *text, size_t columns)
{
	while (*text && text_columns(text, strlen(text)) > columns)
		do
			text++;
		while (((unsigned char)*text & 0xc0) == 0x80);
	return text;
}

static void print_excerpt(const struct bobbin_match *match)
{
	size_t after_hit = match->hit_start + match->hit_len;
	if (after_hit > match->excerpt_len)
		after_hit = match->excerpt_len;
	char *before = flat(match->excerpt, match->hit_start);
	char *hit = flat(match->excerpt + match->hit_start, after_hit - match->hit_start);
	char *after = flat(match->excerpt + after_hit, match->excerpt_len - after_hit);
	if (before && hit && after) {
		size_t room = (size_t)output_columns() - 2, third = room / 3;
		const char *shown = end_that_fits(before, third);
		printf("  %s", shown > before ? "…" : "");
		room -= shown > before;
		fputs(visible(shown), stdout);
		room -= text_columns(shown, strlen(shown));
		fputs(paint(BOLD), stdout);
		print_line_of(hit, strlen(hit), room);
		fputs(paint(PLAIN), stdout);
		size_t used = text_columns(hit, strlen(hit));
		if (*after && used + 1 < room)
			print_line_of(after, strlen(after), room - used);
		putchar('\n');
	}
	free(before);
	free(hit);
	free(after);
}

/* 2026-09-04T10:00:00Z as 2026-09-04 10:00 */
static void print_time(const char *time)
{
	if (strlen(time) >= 16 && time[10] == 'T')
		printf("  %.10s %.5s", visible(time), visible(time + 11));
}

static void print_match(const struct bobbin_match *match)
{
	printf("%s%s %s%s  %s%s", paint(BOLD), match->session, visible(match->name), paint(PLAIN), match->role,
		paint(DIM));
	print_time(match->time);
	if (match->hits > 1)
		printf(" · %s", counted(match->hits, "hit"));
	if (match->inherited)
		printf(" · inherited");
	if (!match->on_line)
		printf(" · another branch");
	printf("%s\n", paint(PLAIN));
	print_excerpt(match);
}

static int print_matches(const struct arguments *arguments, bobbin_search *search, struct tally *tally)
{
	const struct bobbin_match *match;
	struct bobbin_error error;
	int rc;
	while ((rc = bobbin_search_next(search, &match, &error)) > 0) {
		tally->messages += arguments->count ? match->hits : 1;
		tally->sessions += strcmp(tally->last, match->session) != 0;
		snprintf(tally->last, sizeof(tally->last), "%s", match->session);
		if (arguments->count)
			continue;
		if (arguments->json)
			print_match_json(match);
		else
			print_match(match);
	}
	return rc < 0 ? fail(&error) : 0;
}

static void print_count(const struct arguments *arguments, const struct tally *tally)
{
	if (arguments->json)
		printf("{\"messages\":%llu,\"sessions\":%llu}\n", (unsigned long long)tally->messages,
			(unsigned long long)tally->sessions);
	else
		printf("%s in %s\n", counted(tally->messages, "message"),
			counted(tally->sessions, "session"));
}

int command_search(const struct arguments *arguments)
{
	struct bobbin_search_options options = BOBBIN_SEARCH_OPTIONS_INIT;
	struct bobbin_error error;
	struct tally tally = {0};
	bobbin_store *store;
	bobbin_search *search;
	size_t len = 0;
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	char *query = query_of(arguments, &len);
	options.session = arguments->session;
	options.owner = arguments->owner;
	options.ignore_case = arguments->ignore_case;
	options.line_only = arguments->line_only;
	options.limit = arguments->limit;
	options.count_only = arguments->count;
	if (bobbin_search_open(store, query, len, &options, &search, &error) < 0) {
		rc = fail(&error);
	} else {
		rc = print_matches(arguments, search, &tally);
		if (!rc && arguments->count)
			print_count(arguments, &tally);
		else if (!rc && !tally.messages)
			note(arguments, "no message has \"%s\"", visible_beginning(query));
		uint64_t skipped = bobbin_search_skipped(search);
		if (skipped)
			note(arguments, "%s could not be opened, and may have it: see bobbin doctor",
				counted(skipped, "session"));
		bobbin_search_close(search);
		rc = rc ? rc : tally.messages ? EXIT_DONE : EXIT_NO;
	}
	free(query);
	bobbin_store_close(store);
	return rc;
}
