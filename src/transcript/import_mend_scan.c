/* SPDX-License-Identifier: MIT */
/* The scan over the valid beginning; the contracts are in import_mend_scan.h. */
#include "transcript/import_mend_scan.h"

#include "base/limits.h"

static void value_done(struct scan *scan)
{
	if (!scan->depth)
		return;
	struct level *level = &scan->levels[scan->depth - 1];
	level->complete = scan->at;
	level->count++;
}

bool mend_skip_string(struct scan *scan)
{
	for (scan->at++; scan->at < scan->end; scan->at++) {
		if (scan->text[scan->at] == '\\')
			scan->at++;
		else if (scan->text[scan->at] == '"') {
			scan->at++;
			return scan->at <= scan->end;
		}
	}
	return false;
}

bool mend_opens_like(const struct scan *scan, const struct level *list, struct opening opening)
{
	for (size_t i = 0; i < list->opening_count; i++) {
		if (list->openings[i].len == opening.len &&
			memcmp(scan->text + list->openings[i].at, scan->text + opening.at, opening.len) == 0)
			return true;
	}
	return false;
}

static void note_opening(const struct scan *scan, struct level *list, struct opening opening)
{
	if (list->opening_count < LEVEL_OPENINGS && !mend_opens_like(scan, list, opening))
		list->openings[list->opening_count++] = opening;
}

/* `opening`: of an element of the innermost open list. */
static void note_strange(struct scan *scan, struct opening opening)
{
	size_t own = scan->depth - 2;

	if (scan->strange_count == SCAN_STRANGE || mend_opens_like(scan, &scan->levels[own], opening))
		return;
	for (size_t i = own; i-- > 0;) {
		if (scan->levels[i].list && mend_opens_like(scan, &scan->levels[i], opening)) {
			scan->strange[scan->strange_count++] = (struct strange){opening.at, i};
			return;
		}
	}
}

static bool scan_string(struct scan *scan)
{
	bool key = scan->key;

	scan->last_string = scan->at;
	if (!mend_skip_string(scan))
		return false;
	scan->key = false;
	if (!key) {
		value_done(scan);
		return true;
	}
	struct level *own = scan->depth ? &scan->levels[scan->depth - 1] : NULL;
	struct level *list = scan->depth > 1 ? own - 1 : NULL;
	if (list && list->list && own->count == 0) {
		struct opening opening = {own->from, scan->at - own->from};
		note_strange(scan, opening);
		note_opening(scan, list, opening);
	}
	return true;
}

static bool scan_open(struct scan *scan, bool list)
{
	if (scan->depth >= LIMIT_JSON_DEPTH)
		return false;
	scan->levels[scan->depth++] =
		(struct level){.list = list, .from = scan->at, .complete = scan->at + 1};
	scan->at++;
	scan->key = !list;
	return true;
}

static bool scan_scalar(struct scan *scan)
{
	while (scan->at < scan->end && !strchr(",]} \t\r\n", scan->text[scan->at]))
		scan->at++;
	if (scan->at == scan->end)
		return false;
	value_done(scan);
	return true;
}

bool mend_scan_token(struct scan *scan)
{
	char c = scan->text[scan->at];

	if (c == '}' || c == ']')
		scan->closed += scan->depth > 0;
	else if (!import_is_space(c) && c != ',')
		scan->closed = 0;
	if (import_is_space(c) || c == ':' || c == ',') {
		scan->at++;
		if (c == ',' && scan->depth)
			scan->key = !scan->levels[scan->depth - 1].list;
		return true;
	}
	if (c == '"')
		return scan_string(scan);
	if (c == '{' || c == '[')
		return scan_open(scan, c == '[');
	if (c == '}' || c == ']') {
		if (!scan->depth)
			return false;
		scan->at++;
		const struct level *closed = &scan->levels[--scan->depth];
		if (scan->depth && (closed->holds || (closed->list && closed->opening_count)))
			scan->levels[scan->depth - 1].holds = true;
		if (scan->depth && closed->list)
			scan->levels[scan->depth - 1].has_lists = true;
		scan->key = false;
		value_done(scan);
		return scan->depth > 0;
	}
	return c != '\0' && scan_scalar(scan);
}

struct opening mend_opening_of(const char *text, size_t at, size_t len)
{
	struct scan scan = {.text = text, .at = at + 1, .end = len};

	while (scan.at < len && import_is_space(text[scan.at]))
		scan.at++;
	if (scan.at >= len || text[scan.at] != '"' || !mend_skip_string(&scan))
		return (struct opening){at, 0};
	return (struct opening){at, scan.at - at};
}

struct slice mend_string_at(const char *text, size_t at, size_t len)
{
	struct scan scan = {.text = text, .at = at, .end = len};

	return mend_skip_string(&scan) ? (struct slice){text + at + 1, scan.at - at - 2} : (struct slice){NULL, 0};
}

char mend_behind(const char *text, size_t at, size_t len)
{
	while (at < len && import_is_space(text[at]))
		at++;
	return at < len ? text[at] : ']';
}

char mend_before(const char *text, size_t at)
{
	while (at > 0 && import_is_space(text[at - 1]))
		at--;
	return at > 0 ? text[at - 1] : '\0';
}

size_t mend_key_of_list(const char *text, size_t at)
{
	static const char BEFORE[] = "[:\""; /* read backwards */

	for (const char *c = BEFORE; *c; c++) {
		while (at > 0 && import_is_space(text[at - 1]))
			at--;
		if (at == 0 || text[at - 1] != *c)
			return SIZE_MAX;
		at--;
	}
	while (at > 0 && text[at - 1] != '"' && text[at - 1] != '\n')
		at--;
	return at > 0 && text[at - 1] == '"' ? at - 1 : SIZE_MAX;
}
