/* SPDX-License-Identifier: MIT */
/* The calendar is the proleptic Gregorian one; a year is counted from March, so that the odd day is its last. */
#include "memory/dates.h"
#include <string.h>

#define DAYS_PER_ERA 146097 /* 400 years */
#define DAYS_TO_1970 719468 /* from March 1st of the year 0 */

struct day day_of(int64_t time_ns)
{
	int64_t days = time_ns / NS_PER_DAY - (time_ns % NS_PER_DAY < 0) + DAYS_TO_1970;
	int64_t era = (days >= 0 ? days : days - DAYS_PER_ERA + 1) / DAYS_PER_ERA;
	int64_t in_era = days - era * DAYS_PER_ERA;
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / (DAYS_PER_ERA - 1)) / 365;
	int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * in_year + 2) / 153; /* from March */
	struct day day = {.day = (int)(in_year - (153 * month + 2) / 5 + 1), .month = (int)(month < 10 ? month + 3 : month - 9)};

	day.year = (int)(year + era * 400 + (day.month <= 2));
	return day;
}

static int64_t day_number(struct day day)
{
	int64_t year = day.year - (day.month <= 2), era = year / 400, in_era = year - era * 400;
	int64_t in_year = (153 * (day.month + (day.month > 2 ? -3 : 9)) + 2) / 5 + day.day - 1;

	return era * DAYS_PER_ERA + in_era * 365 + in_era / 4 - in_era / 100 + in_year - DAYS_TO_1970;
}

int64_t day_start(struct day day)
{
	return day_number(day) * NS_PER_DAY;
}

int weekday_of(struct day day)
{
	return (int)((day_number(day) % 7 + 10) % 7); /* 1970-01-01 was a Thursday */
}

/* ---- In texts */

struct token {
	const char *text;
	size_t len;
	int number; /* -1: a word */
};

static int month_of(const struct token *token)
{
	static const char *const NAMES[] = {" january jan januar janvier enero ", " february feb februar fevrier febrero ",
		" march mar marz mars marzo ", " april apr avril abril ", " may mai mayo ", " june jun juni juin junio ",
		" july jul juli juillet julio ", " august aug aout agosto ", " september sep sept septembre septiembre ",
		" october oct oktober okt octobre octubre ", " november nov novembre noviembre ",
		" december dec dezember dez decembre diciembre "};

	if (token->number >= 0 || token->len < 3 || token->len > 10)
		return 0;
	for (int month = 0; month < 12; month++)
		for (const char *at = NAMES[month]; (at = strchr(at, ' ')) && at[1]; at++)
			if (strncmp(at + 1, token->text, token->len) == 0 && at[1 + token->len] == ' ')
				return month + 1;
	return 0;
}

static bool is_year(const struct token *token)
{
	return token->len == 4 && token->number >= 1900 && token->number < 2200;
}

static bool is_day(const struct token *token)
{
	return token->len <= 4 && token->number >= 1 && token->number <= 31;
}

/* A number, also "7th"; characters of wide scripts end it. */
static int number_of(const char *text, size_t len)
{
	size_t digits = 0;
	int number = 0;

	while (digits < len && digits < 5 && text[digits] >= '0' && text[digits] <= '9')
		number = number * 10 + (text[digits++] - '0');
	bool ordinal = digits + 2 == len && strspn(text + digits, "stndrh") >= 2;
	return digits && (digits == len || ordinal) ? number : -1;
}

static size_t read_tokens(const char *folded, struct token *tokens, size_t max)
{
	size_t count = 0;

	for (const char *at = folded; *at && count < max;) {
		size_t len = strcspn(at, " ");
		if (len)
			tokens[count++] = (struct token){at, len, number_of(at, len)};
		at += len + (at[len] == ' ');
	}
	return count;
}

size_t dates_find(const char *folded, struct day *ret_days, size_t max)
{
	struct token tokens[256];
	size_t total = read_tokens(folded, tokens, 256), count = 0;

	for (size_t i = 0; i < total && count < max; i++) {
		struct day day = {0};
		int month = month_of(&tokens[i]);
		size_t next = i + 1;

		if (month) {
			day.month = month;
			if (i > 0 && is_day(&tokens[i - 1]))
				day.day = tokens[i - 1].number;
			else if (next < total && is_day(&tokens[next]))
				day.day = tokens[next++].number;
			if (next < total && is_year(&tokens[next]))
				day.year = tokens[next++].number;
			bool alone = !day.day && !day.year && tokens[i].len == 3; /* "may", "mar" */
			if (alone || (!day.day && !day.year && month == 5))
				continue;
		} else if (is_year(&tokens[i])) {
			day.year = tokens[i].number;
			if (i + 2 < total && tokens[i + 1].number >= 1 && tokens[i + 1].number <= 12 && is_day(&tokens[i + 2])) {
				day.month = tokens[i + 1].number;
				day.day = tokens[i + 2].number;
				next = i + 3;
			}
		} else {
			continue;
		}
		ret_days[count++] = day;
		i = next - 1;
	}
	return count;
}
