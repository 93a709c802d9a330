/* SPDX-License-Identifier: MIT */
/* In how many ways a value may stand in a source. See values.h. */
#include "base/buffer.h"
#include "base/error.h"
#include "compact/dates.h"
#include "compact/values.h"

struct speller {
	const struct value *value;
	struct arena *arena;
	int (*add)(void *context, struct slice spelling, bool number);
	void *context;
};

static int add_copy(struct speller *speller, struct slice spelling, bool number)
{
	char *copy = arena_copy(speller->arena, spelling.data, spelling.len);

	return copy ? speller->add(speller->context, (struct slice){copy, spelling.len}, number)
		    : BOBBIN_ENOMEM;
}

/* Digits with a separator before each group of three. */
static void group(const char *number, const char *separator, char decimal, struct buffer *out)
{
	const char *point = strchr(number, '.');
	size_t whole = point ? (size_t)(point - number) : strlen(number);

	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			buffer_add_text(out, separator);
		buffer_add_char(out, number[i]);
	}
	if (point) {
		buffer_add_char(out, decimal);
		buffer_add_text(out, point + 1);
	}
}

static bool is_percent(struct slice unit)
{
	return slice_is(unit, "%") || slice_is(unit, "percent");
}

/* One spelling of the number alone, with its unit if it has one. */
static int add_with_unit(struct speller *speller, const struct buffer *number)
{
	static const char *const PERCENT[] = {
		"%", " %", " percent", " per cent", " por ciento", " pour cent", " Prozent"};
	struct slice unit = speller->value->unit;
	struct buffer text = BUFFER_INIT(256);
	int rc = 0;

	if (!unit.len)
		return add_copy(speller, buffer_slice(number), true);
	for (size_t i = 0; i < sizeof PERCENT / sizeof *PERCENT && is_percent(unit) && !rc; i++) {
		buffer_clear(&text);
		buffer_add_slice(&text, buffer_slice(number));
		buffer_add_text(&text, PERCENT[i]);
		rc = buffer_error(&text) ? buffer_error(&text) : add_copy(speller, buffer_slice(&text), true);
	}
	for (int blank = 0; blank < 3 && !is_percent(unit) && !rc; blank++) {
		buffer_clear(&text);
		buffer_add_slice(&text, buffer_slice(number));
		buffer_add_text(&text, blank == 0 ? "" : blank == 1 ? " " : "-");
		buffer_add_slice(&text, unit);
		rc = buffer_error(&text) ? buffer_error(&text) : add_copy(speller, buffer_slice(&text), true);
	}
	buffer_release(&text);
	return rc;
}

static int number_spellings(struct speller *speller)
{
	static const struct {
		const char *separator;
		char decimal;
	} FORMS[] = {{"", '.'}, {",", '.'}, {".", ','}, {"\xc2\xa0", ','}, {" ", ','}, {" ", '.'}, {"_", '.'},
		{"'", '.'}, {"\xe2\x80\xaf", ','}, {"", ','}};
	const char *number = speller->value->number;
	size_t len = strlen(number);
	bool fraction = strchr(number, '.') != NULL;
	struct buffer text = BUFFER_INIT(256);
	int rc = 0;

	for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS && !rc; i++) {
		if (!fraction && (len < 4 ? i > 0 : i + 1 == sizeof FORMS / sizeof *FORMS))
			break; /* nothing to group, or only the decimal sign differs */
		buffer_clear(&text);
		group(number, FORMS[i].separator, FORMS[i].decimal, &text);
		rc = buffer_error(&text) ? buffer_error(&text) : add_with_unit(speller, &text);
	}
	buffer_release(&text);
	return rc;
}

/* A path also stands in a source that has it relative or absolute: what follows is decided by whoever
 * looks. */
static int path_spellings(struct speller *speller)
{
	struct slice text = speller->value->text;
	int rc = speller->add(speller->context, text, false);

	if (rc)
		return rc;
	if (slice_starts_with(text, "./"))
		rc = speller->add(speller->context, (struct slice){text.data + 2, text.len - 2}, false);
	if (!rc && text.len > 1 && text.data[text.len - 1] == '/')
		rc = speller->add(speller->context, (struct slice){text.data, text.len - 1}, false);
	return rc;
}

int value_spellings(const struct value *value, struct arena *arena,
	int (*add)(void *context, struct slice spelling, bool number), void *context)
{
	struct speller speller = {value, arena, add, context};
	int rc;

	switch (value->kind) {
	case VALUE_NUMBER:
		rc = value->words || value->unit.len ? 0 : add(context, value->text, true);
		return rc ? rc : number_spellings(&speller);
	case VALUE_DATE:
		rc = add(context, value->text, false);
		return rc ? rc : date_spellings(value->year, value->month, value->day, arena, add, context);
	case VALUE_PATH:
		return path_spellings(&speller);
	default:
		return add(context, value->text, false);
	}
}
