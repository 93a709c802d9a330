/* SPDX-License-Identifier: MIT */
#include "compact/dates.h"

#include "base/buffer.h"
#include "base/error.h"

static const struct {
	uint8_t month;
	const char *name;
} MONTHS[] = {
#define MONTH(number, name) {number, name},
#include "compact/months.inc"
};

#define MONTH_COUNT (sizeof MONTHS / sizeof *MONTHS)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static size_t digits(struct slice text, size_t at, size_t max, unsigned *ret_number)
{
	size_t len = 0;
	unsigned number = 0;

	while (at + len < text.len && len <= max && is_digit(text.data[at + len]))
		number = number * 10 + (unsigned)(text.data[at + len++] - '0');
	*ret_number = number;
	return len > max ? 0 : len;
}

static size_t literal(struct slice text, size_t at, const char *what)
{
	size_t len = strlen(what);

	return at <= text.len && text.len - at >= len && memcmp(text.data + at, what, len) == 0 ? len : 0;
}

/* The longest month's name at `at`. */
static size_t month_name(struct slice text, size_t at, unsigned *ret_month)
{
	size_t best = 0;

	for (size_t i = 0; i < MONTH_COUNT; i++) {
		size_t len = strlen(MONTHS[i].name), same = 0;

		while (same < len && at + same < text.len &&
			lower(text.data[at + same]) == MONTHS[i].name[same])
			same++;
		if (same == len && len > best) {
			best = len;
			*ret_month = MONTHS[i].month;
		}
	}
	return best;
}

static bool is_date(unsigned year, unsigned month, unsigned day)
{
	return year >= 1000 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* 2031-04-09, 2031/4/9, 2031年4月9日 */
static size_t read_year_first(struct slice text, unsigned *year, unsigned *month, unsigned *day)
{
	static const char *const MARKS[][3] = {
		{"-", "-", ""}, {"/", "/", ""}, {".", ".", ""}, {"年", "月", "日"}};
	size_t at, len;

	if (digits(text, 0, 4, year) != 4)
		return 0;
	for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
		if (!(len = literal(text, at = 4, MARKS[i][0])))
			continue;
		at += len;
		if (!(len = digits(text, at, 2, month)))
			return 0;
		at += len;
		if (!(len = literal(text, at, MARKS[i][1])))
			return 0;
		at += len;
		if (!(len = digits(text, at, 2, day)))
			return 0;
		at += len;
		return at + literal(text, at, MARKS[i][2]);
	}
	return 0;
}

/* 9.4.2031, 04/09/2031 */
static size_t read_year_last(struct slice text, unsigned *year, unsigned *month, unsigned *day)
{
	unsigned first, second;
	size_t at = digits(text, 0, 2, &first), len;
	char mark;

	if (!at || at >= text.len || !(text.data[at] == '.' || text.data[at] == '/'))
		return 0;
	mark = text.data[at++];
	if (!(len = digits(text, at, 2, &second)) || at + len >= text.len || text.data[at + len] != mark)
		return 0;
	at += len + 1;
	if (digits(text, at, 4, year) != 4)
		return 0;
	if (mark == '.' || first > 12) {
		*day = first;
		*month = second;
	} else {
		*month = first;
		*day = second;
	}
	return at + 4;
}

static size_t ending(struct slice text, size_t at)
{
	static const char *const ENDINGS[] = {"st", "nd", "rd", "th", ".", "er"};

	for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++)
		if (literal(text, at, ENDINGS[i]))
			return strlen(ENDINGS[i]);
	return 0;
}

/* 9 April 2031, 9. April 2031, 9 de abril de 2031 */
static size_t read_day_name(struct slice text, unsigned *year, unsigned *month, unsigned *day)
{
	size_t at = digits(text, 0, 2, day), len;

	if (!at)
		return 0;
	at += ending(text, at);
	if (!literal(text, at, " "))
		return 0;
	at += 1 + literal(text, at + 1, "de ");
	if (!(len = month_name(text, at, month)))
		return 0;
	at += len + literal(text, at + len, ".");
	at += literal(text, at, ",");
	if (!literal(text, at, " "))
		return 0;
	at += 1 + literal(text, at + 1, "de ");
	return digits(text, at, 4, year) == 4 ? at + 4 : 0;
}

/* April 9, 2031; Apr. 9th 2031 */
static size_t read_name_day(struct slice text, unsigned *year, unsigned *month, unsigned *day)
{
	size_t at = month_name(text, 0, month), len;

	if (!at)
		return 0;
	at += literal(text, at, ".");
	if (!literal(text, at, " ") || !(len = digits(text, at + 1, 2, day)))
		return 0;
	at += 1 + len;
	at += ending(text, at);
	at += literal(text, at, ",");
	if (!literal(text, at, " "))
		return 0;
	return digits(text, at + 1, 4, year) == 4 ? at + 5 : 0;
}

size_t date_read(struct slice text, uint16_t *ret_year, uint8_t *ret_month, uint8_t *ret_day)
{
	static size_t (*const READERS[])(struct slice, unsigned *, unsigned *, unsigned *) = {
		read_year_first, read_year_last, read_day_name, read_name_day};
	unsigned year = 0, month = 0, day = 0;

	for (size_t i = 0; i < sizeof READERS / sizeof *READERS; i++) {
		size_t len = READERS[i](text, &year, &month, &day);

		if (!len || !is_date(year, month, day) || (len < text.len && is_digit(text.data[len])))
			continue;
		*ret_year = (uint16_t)year;
		*ret_month = (uint8_t)month;
		*ret_day = (uint8_t)day;
		return len;
	}
	return 0;
}

/* ---- Writing */

struct speller {
	struct arena *arena;
	int (*add)(void *context, struct slice spelling, bool number);
	void *context;
	struct buffer text;
	int error;
};

static void finish(struct speller *speller)
{
	char *copy;

	if (!speller->error && !(speller->error = buffer_error(&speller->text))) {
		copy = arena_copy(speller->arena, speller->text.data, speller->text.len);
		speller->error =
			copy ? speller->add(speller->context, (struct slice){copy, speller->text.len}, false)
			     : BOBBIN_ENOMEM;
	}
	buffer_clear(&speller->text);
}

static void spell_numbers(struct speller *speller, unsigned year, unsigned month, unsigned day)
{
	static const char *const FORMS[] = {"%1$04u-%2$02u-%3$02u", "%1$04u/%2$02u/%3$02u", "%1$u/%2$u/%3$u",
		"%1$04u.%2$02u.%3$02u", "%1$04u%2$02u%3$02u", "%3$02u.%2$02u.%1$u", "%3$u.%2$u.%1$u",
		"%3$02u/%2$02u/%1$u", "%3$u/%2$u/%1$u", "%2$02u/%3$02u/%1$u", "%2$u/%3$u/%1$u",
		"%1$u年%2$u月%3$u日", "%1$u年%2$02u月%3$02u日"};

	for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		buffer_addf(&speller->text, FORMS[i], year, month, day);
#pragma GCC diagnostic pop
		finish(speller);
	}
}

static void spell_name(struct speller *speller, const char *name, unsigned year, unsigned day)
{
	static const char *const ENDINGS[] = {"", "st", "nd", "rd", "th"};
	static const char *const BEFORE[] = {" ", ". ", " de "};

	for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
		buffer_addf(&speller->text, "%s %u%s, %u", name, day, ENDINGS[i], year);
		finish(speller);
		buffer_addf(&speller->text, "%s %u%s %u", name, day, ENDINGS[i], year);
		finish(speller);
		buffer_addf(&speller->text, "%u%s %s %u", day, ENDINGS[i], name, year);
		finish(speller);
	}
	for (size_t i = 1; i < sizeof BEFORE / sizeof *BEFORE; i++) {
		buffer_addf(&speller->text, "%u%s%s%s%u", day, BEFORE[i], name, i == 2 ? " de " : " ", year);
		finish(speller);
	}
}

int date_spellings(uint16_t year, uint8_t month, uint8_t day, struct arena *arena,
	int (*add)(void *context, struct slice spelling, bool number), void *context)
{
	struct speller speller = {arena, add, context, BUFFER_INIT(256), 0};

	spell_numbers(&speller, year, month, day);
	for (size_t i = 0; i < MONTH_COUNT; i++)
		if (MONTHS[i].month == month)
			spell_name(&speller, MONTHS[i].name, year, day);
	buffer_release(&speller.text);
	return speller.error;
}
