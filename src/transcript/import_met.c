/* SPDX-License-Identifier: MIT */
/* What an import met that is no message: warnings with their place, and counts by kind; the contracts are in import_tools.h. */
#include "transcript/import_tools.h"

#include <stdarg.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define WARNING_BYTES 256

/* Kinds that are told apart; what comes after is one kind more. */
#define KINDS_MAX 64

static const struct {
	const char *kind, *what;
} DAMAGES[DAMAGE_KINDS] = {
	[DAMAGE_NONE] = {"", ""},
	[DAMAGE_TORN] = {"torn", "torn {line|lines}"},
	[DAMAGE_NULS] = {"nuls", "{place|places} with NULs"},
	[DAMAGE_CHARACTERS] = {"half_character", "half {character|characters}"},
	[DAMAGE_FOREIGN] = {"foreign", "{line|lines} of something else"},
	[DAMAGE_GLUED] = {"glued", "{line|lines} with several records"},
	[DAMAGE_HOLE] = {"hole", "damaged {place|places} in the document"},
	[DAMAGE_BROKEN_OFF] = {"broken_off", "lost {end|ends}"},
	[DAMAGE_AROUND] = {"around", "{piece|pieces} of text around the document"},
	[DAMAGE_KEY_TWICE] = {"key_twice", "{message|messages} with a key twice"},
	[DAMAGE_TOO_LONG] = {"too_long", "{message|messages} too long to keep"},
	[DAMAGE_TOO_MANY_CALLS] = {"too_many_calls", "{message|messages} with too many calls"},
	[DAMAGE_ORDER] = {"order", "{record|records} out of order"},
	[DAMAGE_NO_ROLE] = {"no_role", "{message|messages} without a role"},
};

static int keep_warning(struct import *import, struct import_warning warning)
{
	if (mem_grow((void **)&import->warnings, &import->warning_cap, import->warning_count + 1,
		    sizeof(*import->warnings)) < 0)
		return BOBBIN_ENOMEM;
	warning.message = arena_copy(&import->arena, warning.message, strlen(warning.message));
	if (!warning.message)
		return BOBBIN_ENOMEM;
	import->warnings[import->warning_count++] = warning;
	return 0;
}

static int add_warning(struct import *import, struct import_warning warning, const char *format, va_list arguments)
{
	char text[WARNING_BYTES];

	import->warnings_total++;
	if (import->warning_count >= LIMIT_FAULTS_REPORTED)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	warning.message = text;
	return keep_warning(import, warning);
}

int import_warn(struct import *import, struct place place, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int rc = add_warning(import, (struct import_warning){.line = place.line, .offset = place.offset}, format, arguments);
	va_end(arguments);
	return rc;
}

int import_remark(struct import *import, struct place place, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int rc = add_warning(import, (struct import_warning){.line = place.line, .offset = place.offset, .remark = true},
		format, arguments);
	va_end(arguments);
	return rc;
}

int import_damaged(struct import *import, struct place place, enum import_damage damage, const char *format, ...)
{
	va_list arguments;

	import->damages[damage]++;
	va_start(arguments, format);
	int rc = add_warning(import, (struct import_warning){.line = place.line, .offset = place.offset, .damage = damage},
		format, arguments);
	va_end(arguments);
	return rc;
}

/* Whether it is a beginning or an end of a character only: a byte that UTF-8 has not there. */
static bool is_half_character(const char *data, size_t end, size_t offset)
{
	return offset < end && (unsigned char)data[offset] >= 0x80 &&
	       utf8_valid_prefix(data + offset, end - offset < 4 ? end - offset : 4) == 0;
}

enum import_damage import_damage_at(const char *data, size_t start, size_t end, size_t offset)
{
	if (offset < end && !data[offset])
		return DAMAGE_NULS;
	if (is_half_character(data, end, offset))
		return DAMAGE_CHARACTERS;
	return start < end && data[start] != '{' && data[start] != '[' && offset - start < 8 &&
			       !memchr(data + start, '{', end - start)
		       ? DAMAGE_FOREIGN
		       : DAMAGE_TORN;
}

void import_add_counted(struct buffer *out, const char *what, uint64_t count)
{
	const char *open, *middle, *close;

	while ((open = strchr(what, '{')) && (middle = strchr(open, '|')) && (close = strchr(middle, '}'))) {
		buffer_add(out, what, (size_t)(open - what));
		if (count == 1)
			buffer_add(out, open + 1, (size_t)(middle - open) - 1);
		else
			buffer_add(out, middle + 1, (size_t)(close - middle) - 1);
		what = close + 1;
	}
	buffer_add_text(out, what);
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int count_kind(struct import *import, struct import_kind one)
{
	static const char OTHERS[] = "{thing|things} of other kinds";

	for (size_t i = 0; i < import->kind_count; i++) {
		struct import_kind *kind = &import->kinds[i];
		if (kind->remark == one.remark && strcmp(kind->what, one.what) == 0 && same_name(kind->name, one.name)) {
			kind->count += one.count;
			return 0;
		}
	}
	if (import->kind_count >= KINDS_MAX && strcmp(one.what, OTHERS) != 0) {
		one.what = OTHERS;
		one.name = NULL;
		return count_kind(import, one);
	}
	if (mem_grow((void **)&import->kinds, &import->kind_cap, import->kind_count + 1, sizeof(*import->kinds)) < 0)
		return BOBBIN_ENOMEM;
	if (one.name && !(one.name = arena_copy(&import->arena, one.name, strlen(one.name))))
		return BOBBIN_ENOMEM;
	import->kinds[import->kind_count++] = one;
	return 0;
}

int import_left_out_many(struct import *import, struct place place, const char *what, uint64_t count, bool remark)
{
	return count_kind(import, (struct import_kind){what, NULL, count, place.line, place.offset, remark});
}

int import_left_out(struct import *import, struct place place, const char *what)
{
	return import_left_out_many(import, place, what, 1, true);
}

int import_not_understood(struct import *import, struct place place, const char *what, struct slice name)
{
	struct buffer shown = BUFFER_INIT(WARNING_BYTES);

	if (!name.data)
		return import_left_out_many(import, place, what, 1, false);
	utf8_add_line(&shown, name.data, name.len, 40);
	buffer_add_char(&shown, '\0');
	int rc = buffer_error(&shown)
			 ? BOBBIN_ENOMEM
			 : count_kind(import, (struct import_kind){what, shown.data, 1, place.line, place.offset, false});
	buffer_release(&shown);
	return rc;
}

static void add_kind(struct buffer *out, const struct import_kind *kind)
{
	import_add_counted(out, kind->what, kind->count);
	if (kind->name)
		buffer_addf(out, " \"%s\"", kind->name);
}

/* Few, and more telling than the thousandth broken line: they come beyond the limit. */
static int tell_kinds(struct import *import, struct buffer *text)
{
	for (size_t i = 0; i < import->kind_count; i++) {
		const struct import_kind *kind = &import->kinds[i];
		buffer_clear(text);
		buffer_addf(text, "left out%s: %llu ", kind->remark ? "" : ", not understood", (unsigned long long)kind->count);
		add_kind(text, kind);
		buffer_add_char(text, '\0');
		import->warnings_total++;
		if (buffer_error(text) || keep_warning(import, (struct import_warning){kind->line, kind->offset, text->data,
								       kind->remark, DAMAGE_NONE}) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

static int add_tally(struct import *import, const char *kind, uint64_t count, struct buffer *what)
{
	buffer_add_char(what, '\0');
	const char *kept = buffer_error(what) ? NULL : arena_copy(&import->arena, what->data, what->len);
	if (!kept)
		return BOBBIN_ENOMEM;
	import->tallies[import->tally_count++] = (struct import_tally){kind, kept, count};
	buffer_clear(what);
	return 0;
}

static int tally_all(struct import *import, struct buffer *text)
{
	int rc = 0;

	import->tallies = arena_alloc(&import->arena, (DAMAGE_KINDS + import->kind_count) * sizeof(*import->tallies));
	if (!import->tallies)
		return BOBBIN_ENOMEM;
	buffer_clear(text);
	for (size_t i = 1; !rc && i < DAMAGE_KINDS; i++) {
		if (!import->damages[i])
			continue;
		import_add_counted(text, DAMAGES[i].what, import->damages[i]);
		rc = add_tally(import, DAMAGES[i].kind, import->damages[i], text);
	}
	for (size_t remark = 0; remark < 2; remark++) {
		for (size_t i = 0; !rc && i < import->kind_count; i++) {
			const struct import_kind *kind = &import->kinds[i];
			if (kind->remark != (remark == 1))
				continue;
			add_kind(text, kind);
			rc = add_tally(import, remark ? "left_out" : "not_understood", kind->count, text);
		}
	}
	return rc;
}

int import_tell_all(struct import *import)
{
	struct buffer text = BUFFER_INIT(4 * WARNING_BYTES);
	uint64_t twice = import->damages[DAMAGE_KEY_TWICE];
	int rc = tell_kinds(import, &text);

	if (!rc && twice)
		rc = import_damaged(import, (struct place){0, 0}, DAMAGE_KEY_TWICE,
			"%llu message%s with a key that stands twice: the last one counts", (unsigned long long)twice,
			twice == 1 ? "" : "s");
	import->damages[DAMAGE_KEY_TWICE] = twice; /* each was counted when it was met */
	if (!rc)
		rc = tally_all(import, &text);
	buffer_release(&text);
	return rc;
}
