/* SPDX-License-Identifier: MIT */
/* occurrence: whether a daily routine is due, and the key under which it runs once. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

static int two_digits(const char *text)
{
	bool digits = text[0] >= '0' && text[0] <= '9' && text[1] >= '0' && text[1] <= '9';
	return digits ? (text[0] - '0') * 10 + text[1] - '0' : -1;
}

/* "HH:MM", both of two digits; whether they are a time of day the library tells. */
static bool read_clock(const char *text, int *ret_hour, int *ret_minute)
{
	if (strlen(text) != 5 || text[2] != ':')
		return false;
	*ret_hour = two_digits(text);
	*ret_minute = two_digits(text + 3);
	return *ret_hour >= 0 && *ret_minute >= 0;
}

static bool read_time(const char *text, int64_t *ret_ns)
{
	struct tm parts = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	if (!end || *end)
		return false;
	*ret_ns = (int64_t)timegm(&parts) * SECOND;
	return *ret_ns > 0;
}

static const char *time_in_utc(int64_t time_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(time_ns / SECOND);
	struct tm parts;
	if (!gmtime_r(&seconds, &parts) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts))
		snprintf(text, size, "?");
	return text;
}

static void print_occurrence(
	const struct arguments *arguments, const struct bobbin_occurrence *occurrence, bool due)
{
	char at[32], next[32];
	time_in_utc(occurrence->due_ns, at, sizeof(at));
	time_in_utc(occurrence->next_ns, next, sizeof(next));
	if (arguments->json) {
		printf("{\"due\":%s,\"missed\":%s,", due ? "true" : "false",
			occurrence->missed ? "true" : "false");
		print_json_member("key", occurrence->key);
		putchar(',');
		print_json_member("date", occurrence->date);
		putchar(',');
		print_json_member("at", at);
		putchar(',');
		print_json_member("next", next);
		puts("}");
	} else if (due) {
		puts(occurrence->key);
	} else {
		note(arguments, "not due: the one of %s was at %s and is skipped; the next is at %s",
			occurrence->date, at, next);
	}
}

int command_occurrence(const struct arguments *arguments)
{
	struct bobbin_schedule schedule = BOBBIN_SCHEDULE_INIT;
	struct bobbin_occurrence occurrence;
	struct bobbin_error error;
	int64_t now = 0;
	if (!arguments->daily || !arguments->zone)
		return fail_usage("when, and by whose clock? --daily 01:30 --zone Europe/Berlin");
	if (!read_clock(arguments->daily, &schedule.hour, &schedule.minute))
		return fail_usage("--daily is a time of day: 01:30, 23:05");
	if (arguments->now && !read_time(arguments->now, &now))
		return fail_usage("--now is a time in UTC: 2026-03-29T01:00:00Z");
	if (arguments->missed && strcmp(arguments->missed, "once") == 0)
		schedule.missed = BOBBIN_MISSED_ONCE;
	else if (arguments->missed && strcmp(arguments->missed, "skip") != 0)
		return fail_usage("--missed is skip or once");
	schedule.routine = arguments->words[0];
	schedule.zone = arguments->zone;
	schedule.grace_minutes = arguments->grace;
	int due = bobbin_occurrence_at(&schedule, now, &occurrence, &error);
	if (due == BOBBIN_EINVAL)
		return fail_usage("%s", error.message);
	if (due < 0)
		return fail(&error);
	print_occurrence(arguments, &occurrence, due == 1);
	return due ? EXIT_DONE : EXIT_NO;
}
