/* SPDX-License-Identifier: MIT */
/*
 * Mending of a damaged document. What stands before the first fault is a valid beginning: the lists that are
 * open there are closed behind their last whole element. After the fault, the next element is looked for by
 * how the first element of each open list begins ("{", white space, first key): in a file that a program
 * wrote all elements of a list begin alike, and a file that is indented shows the depth in the white space.
 *
 *	{"messages":[{"id":1,…},{"id":2,…},{"id":3,"te<damage>},{"id":4,…}]}
 *	                                  ^ closed behind 2           ^ goes on with 4
 */
#include "transcript/import_document.h"

#include "base/alloc.h"
#include "base/limits.h"

#define MEND_TIMES 64  /* damages mended in one file */
#define MEND_LEVELS 24 /* open lists that are looked at, from the outside */
#define MEND_TRIES 16  /* places tried for one list */

struct level {
	bool list;
	size_t from;		     /* its bracket */
	size_t complete;	     /* behind the last whole member */
	size_t count;		     /* whole members */
	size_t opening, opening_len; /* how the first element of a list begins */
};

struct scan {
	const char *text;
	size_t at, end;
	struct level *levels;
	size_t depth;
	bool key; /* the next string is a key */
};

static void value_done(struct scan *scan)
{
	if (!scan->depth)
		return;
	struct level *level = &scan->levels[scan->depth - 1];
	level->complete = scan->at;
	level->count++;
}

/* Behind the closing quote; false if the text ends before it. */
static bool skip_string(struct scan *scan)
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

static bool scan_string(struct scan *scan)
{
	bool key = scan->key;

	if (!skip_string(scan))
		return false;
	scan->key = false;
	if (!key) {
		value_done(scan);
		return true;
	}
	struct level *own = scan->depth ? &scan->levels[scan->depth - 1] : NULL;
	struct level *list = scan->depth > 1 ? own - 1 : NULL;
	if (list && list->list && !list->opening_len && own->count == 0) {
		list->opening = own->from;
		list->opening_len = scan->at - own->from;
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

/* One token; false where the text ends or makes no sense. */
static bool scan_token(struct scan *scan)
{
	char c = scan->text[scan->at];

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
		scan->depth--;
		scan->key = false;
		value_done(scan);
		return scan->depth > 0;
	}
	return c != '\0' && scan_scalar(scan);
}

/* The next element of any open list behind the damage: its place, and the list's level. */
static bool find_next(const struct scan *scan, size_t from, size_t len, size_t *ret_at, size_t *ret_level)
{
	size_t best = len, used;

	for (size_t i = 0; i < scan->depth && i < MEND_LEVELS; i++) {
		const struct level *level = &scan->levels[i];
		size_t at = from;
		for (int tries = 0; level->opening_len && tries < MEND_TRIES; tries++) {
			const char *found = memmem(
				scan->text + at, best - at, scan->text + level->opening, level->opening_len);
			struct json element;
			if (!found)
				break;
			at = (size_t)(found - scan->text);
			if (json_parse_prefix(found, len - at, &element, &used, NULL) == 0) {
				best = at;
				*ret_level = i;
				break;
			}
			at++;
		}
	}
	*ret_at = best;
	return best < len;
}

/* The innermost open list with a whole element, not above `least`; `least` if there is none. */
static size_t find_cut(const struct scan *scan, size_t least)
{
	for (size_t i = scan->depth; i-- > least;) {
		if (scan->levels[i].list && scan->levels[i].count)
			return i;
	}
	return least;
}

/* The text closed behind its last whole elements and, with `next`, going on there. */
static void write_mended(const struct scan *scan, size_t len, size_t next, size_t level, struct buffer *out)
{
	bool resumes = next < len;
	size_t cut = find_cut(scan, resumes ? level : 0), last = resumes ? level + 1 : 0;

	buffer_add(out, scan->text, scan->levels[cut].complete);
	for (size_t i = cut + 1; i-- > last;)
		buffer_add_char(out, scan->levels[i].list ? ']' : '}');
	if (!resumes)
		return;
	if (scan->levels[level].count || cut > level)
		buffer_add_char(out, ',');
	buffer_add(out, scan->text + next, len - next);
}

/* One damage at `fault`; the mended text in `out`. False if nothing is open there. */
static bool mend(const char *text, size_t len, size_t fault, struct level *levels, struct buffer *out,
	size_t *ret_next)
{
	struct scan scan = {.text = text, .end = fault < len ? fault : len, .levels = levels};
	size_t level = 0;

	while (scan.at < scan.end && scan_token(&scan))
		;
	if (!scan.depth)
		return false;
	if (!find_next(&scan, scan.end, len, ret_next, &level))
		*ret_next = len;
	write_mended(&scan, len, *ret_next, level, out);
	return true;
}

static int mend_all(struct import *import, const char *data, size_t len, struct level *levels,
	struct json *ret_value, struct bobbin_error *fault)
{
	struct slice text = {data, len};
	struct bobbin_error now = *fault;

	for (int times = 0; times < MEND_TIMES; times++) {
		struct buffer out = BUFFER_INIT(LIMIT_IMPORT_BYTES + LIMIT_JSON_DEPTH);
		size_t next = text.len, moved = len - text.len;
		bool mended = mend(text.data, text.len, (size_t)now.offset, levels, &out, &next);
		if (!mended || buffer_error(&out)) {
			int rc = buffer_error(&out) ? buffer_error(&out) : BOBBIN_EINPUT;
			buffer_release(&out);
			return rc;
		}
		/* The text behind a damage is the file's own up to its end, so places count from there. */
		uint64_t offset = now.offset + moved < len ? now.offset + moved : len;
		struct place place = {import_line_of(data, offset), offset};
		int rc = next < text.len
				 ? import_warn(import, place,
					   "the document is damaged here (%s): read on from byte %zu",
					   now.message, next + moved)
				 : import_warn(import, place, "the document breaks off: %s", now.message);
		struct slice kept = import_keep(import, buffer_slice(&out));
		buffer_release(&out);
		if (rc || !kept.data)
			return BOBBIN_ENOMEM;
		text = kept;
		rc = json_parse(text.data, text.len, ret_value, &now);
		if (rc != BOBBIN_EINPUT)
			return rc;
	}
	return BOBBIN_EINPUT;
}

int import_document(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *error)
{
	struct bobbin_error fault = {0};
	int rc = json_parse(data, len, ret_value, &fault);

	if (rc != BOBBIN_EINPUT)
		return rc;
	struct level *levels = mem_realloc_array(NULL, LIMIT_JSON_DEPTH, sizeof(*levels));
	if (!levels)
		return BOBBIN_ENOMEM;
	rc = mend_all(import, data, len, levels, ret_value, &fault);
	mem_free(levels);
	if (rc == BOBBIN_EINPUT)
		return error_set_at(error, rc, import_line_of(data, fault.offset), fault.offset,
			"no whole record in it: %s", fault.message);
	return rc;
}

bool import_has_many(const char *data, size_t len)
{
	struct json value;
	size_t used;

	if (json_parse_prefix(data, len, &value, &used, NULL) < 0)
		return false;
	while (used < len && import_is_space(data[used]))
		used++;
	return used < len;
}

int import_values(struct import *import, const char *data, size_t len,
	int (*each)(void *reader, const struct json *value, struct place place), void *reader,
	struct bobbin_error *error)
{
	struct import_lines lines;
	struct json value;
	struct place place = {0, 0};
	int rc;

	if (!import_has_many(data, len)) {
		rc = import_document(import, data, len, &value, error);
		return rc ? rc : each(reader, &value, place);
	}
	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &value, &place)) > 0)
		if ((rc = each(reader, &value, place)) < 0)
			return rc;
	return rc;
}

struct place import_document_place(const char *data, size_t len, const struct json *value)
{
	if (value->text < data || value->text >= data + len)
		return (struct place){0, 0};
	return (struct place){0, (uint64_t)(value->text - data)};
}
