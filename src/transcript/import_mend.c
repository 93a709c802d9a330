/* SPDX-License-Identifier: MIT */
/*
 * Mending of a damaged document. What stands before the first fault is a valid beginning: the lists that are
 * open there are closed behind their last whole element. After the fault, the next whole object is looked for that can
 * be an element of a list. Which list that is tell, if nothing behind it is damaged, the brackets that close there and were
 * never opened; else how the elements of the open lists begin ("{", white space, first key): a program writes them alike.
 *
 *	{"messages":[{"id":1,…},{"id":2,…},{"id":3,"te<damage>},{"id":4,…}]}
 *	                                  ^ closed behind 2           ^ goes on with 4, because ] and } follow
 *
 * If more closes than was opened, the beginning is lost, too, and is made up: what encloses the messages is called as in that
 * format (import_mend_shape.c).
 * What stands before the first bracket and after the last is no part of the document.
 */
#include "transcript/import_mend.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_mend_shape.h"
#include "transcript/import_mend_write.h"

#define MEND_TIMES 64	 /* damages mended in one file */
#define MEND_ADDED_BYTES (LIMIT_JSON_DEPTH + 1024) /* closing brackets; made up ones with their names */
#define MEND_SCANS 64	 /* looks at what follows an element, for one damage */
#define MEND_LEADS 16	 /* brackets that may be the first */

/* The brackets that close in what follows an element without having been opened there, from the inside, as they open. False
 * if that is damaged too, or there are too many. */
static bool find_closers(const char *text, size_t at, size_t len, char *ret_closers, size_t *ret_count)
{
	char open[LIMIT_JSON_DEPTH];
	size_t depth = 0;
	struct scan scan = {.text = text, .at = at, .end = len};

	*ret_count = 0;
	while (scan.at < len) {
		char c = text[scan.at], opens = c == '}' ? '{' : '[';
		if (c == '"') {
			if (!mend_skip_string(&scan))
				return false;
			continue;
		}
		scan.at++;
		if (c == '{' || c == '[') {
			if (depth == LIMIT_JSON_DEPTH)
				return false;
			open[depth++] = c;
		} else if ((c == '}' || c == ']') && depth) {
			if (open[--depth] != opens)
				return false;
		} else if (c == '}' || c == ']') {
			if (*ret_count == MEND_CLOSERS)
				return false;
			ret_closers[(*ret_count)++] = opens;
		} else if (!c || c == '<') {
			return false;
		}
	}
	return depth == 0;
}

/* Whether the outermost `open` closing brackets are those of the outermost levels. */
static bool close_levels(const struct scan *scan, const char *closers, size_t count, size_t open)
{
	for (size_t i = 0; i < open; i++) {
		if ((closers[count - 1 - i] == '[') != scan->levels[i].list)
			return false;
	}
	return true;
}

/* Where an element belongs by the brackets that close behind it: those of the open levels, maybe of such that the damage seems
 * to have closed, and maybe more inside. Levels that are not among them were closed by what is lost. False: it is no element of
 * a list, or nothing fits. */
static bool place_by_closers(
	const struct scan *scan, const char *closers, size_t count, struct resume *ret_resume)
{
	size_t open = count < scan->depth ? count : scan->depth;

	if (closers[0] != '[')
		return false;
	if (count > open && count <= scan->depth + scan->closed && close_levels(scan, closers, count, count))
		open = count;
	while (open && !close_levels(scan, closers, count, open))
		open--;
	if (!open && scan->depth)
		return false;
	ret_resume->level = open - 1; /* SIZE_MAX: the beginning is lost */
	ret_resume->made_count = count - open;
	for (size_t i = 0; i < ret_resume->made_count; i++)
		ret_resume->made[i] = closers[count - open - 1 - i];
	return true;
}

/* The innermost open list whose elements begin so. */
static bool place_by_opening(const struct scan *scan, struct opening opening, struct resume *ret_resume)
{
	for (size_t i = scan->depth; i-- > 0;) {
		const struct level *level = &scan->levels[i];
		if (level->list && opening.len && mend_opens_like(scan, level, opening)) {
			ret_resume->level = i;
			ret_resume->made_count = 0;
			return true;
		}
	}
	return false;
}

/* An element that is the first of a list which opens behind the damage: what goes on is that member of the object. */
static void begin_with_key(const struct scan *scan, size_t fault, struct resume *resume)
{
	size_t key = mend_key_of_list(scan->text, resume->at);

	if (key == SIZE_MAX || key < fault)
		return;
	if (resume->made_count)
		resume->made_count--;
	else if (resume->level && resume->level != SIZE_MAX && !scan->levels[resume->level - 1].list)
		resume->level--;
	else
		return;
	resume->at = key;
}

/* Whether the object at `at` is an element at which reading can go on. `scans`: how many looks at the rest are left. In front
 * of the fault it must begin like the elements of the list, too. */
static bool place_element(const struct scan *scan, size_t at, size_t used, size_t fault, size_t len, int *scans,
	struct resume *ret_resume)
{
	char closers[MEND_CLOSERS], next = mend_behind(scan->text, at + used, len);
	struct opening opening = mend_opening_of(scan->text, at, len);
	bool early = at < fault && at < scan->last_string;
	size_t count;

	if (!opening.len || (next != ',' && next != ']'))
		return false;
	ret_resume->at = at;
	if (early && !place_by_opening(scan, opening, ret_resume))
		return false;
	size_t level = ret_resume->level;
	if (early && at < scan->levels[level].complete)
		return false;
	if (*scans > 0) {
		--*scans;
		if (find_closers(scan->text, at + used, len, closers, &count) && count)
			return place_by_closers(scan, closers, count, ret_resume) &&
			       (!early || (ret_resume->level == level && !ret_resume->made_count));
	}
	return !early && mend_before(scan->text, at) != ':' && place_by_opening(scan, opening, ret_resume);
}

/* Where the element begins in which the damage is, of the innermost open list. */
static size_t broken_element(const struct scan *scan, size_t fault)
{
	for (size_t i = scan->depth; i-- > 0;) {
		if (scan->levels[i].list)
			return i + 1 < scan->depth ? scan->levels[i + 1].from + 1 : fault;
	}
	return fault;
}

static bool has_lists_of_lists(const struct scan *scan)
{
	for (size_t i = 0; i < scan->depth; i++) {
		if (scan->levels[i].list && scan->levels[i].has_lists)
			return true;
	}
	return false;
}

/* Whether the list at `at` is an element of an open list of lists. */
static bool place_list(const struct scan *scan, size_t at, size_t used, size_t fault, size_t len, int *scans,
	struct resume *ret_resume)
{
	char closers[MEND_CLOSERS], next = mend_behind(scan->text, at + used, len);
	size_t count;

	if ((at < fault && at < scan->last_string) || *scans == 0 || (next != ',' && next != ']'))
		return false;
	--*scans;
	if (!find_closers(scan->text, at + used, len, closers, &count) || !count || count > scan->depth)
		return false;
	ret_resume->level = count - 1;
	return scan->levels[count - 1].list && scan->levels[count - 1].has_lists &&
	       close_levels(scan, closers, count, count);
}

/* The next bracket from `at` on at which an element may begin; `len`: there is none. */
static size_t next_bracket(const struct scan *scan, size_t at, size_t len, bool lists)
{
	while (lists && at < len && scan->text[at] != '{' && scan->text[at] != '[')
		at++;
	const char *found = lists || at >= len ? NULL : memchr(scan->text + at, '{', len - at);
	return lists ? at : found ? (size_t)(found - scan->text) : len;
}

/* The next element behind the damage, or in front of it inside of the broken one: what ended that is what is lost. */
static void find_resume(const struct scan *scan, size_t fault, size_t len, struct resume *ret_resume)
{
	size_t at = scan->last_string < fault ? scan->last_string + 1 : fault, used;
	size_t broken = broken_element(scan, fault);
	bool lists = has_lists_of_lists(scan);
	int scans = MEND_SCANS;
	struct json element;

	*ret_resume = (struct resume){.at = len};
	for (at = broken < at ? broken : at; (at = next_bracket(scan, at, len, lists)) < len;) {
		struct resume resume = {.at = at};
		bool whole = json_parse_prefix(scan->text + at, len - at, &element, &used, NULL) == 0;
		if (whole && element.type == JSON_ARRAY && place_list(scan, at, used, fault, len, &scans, &resume)) {
			*ret_resume = resume;
			return;
		}
		if (whole && element.type == JSON_OBJECT &&
			place_element(scan, at, used, fault, len, &scans, &resume)) {
			begin_with_key(scan, fault, &resume);
			*ret_resume = resume;
			return;
		}
		at += whole && element.type == JSON_OBJECT ? used : 1;
	}
}

/* The text ends too early because something in it was not closed: the element that begins like those of a list further outside,
 * where what closes behind it says that it is one. */
static bool find_unclosed(const struct scan *scan, size_t len, struct resume *ret_resume)
{
	char closers[MEND_CLOSERS];
	struct json element;
	size_t used, count;

	for (size_t i = 0; i < scan->strange_count; i++) {
		size_t at = scan->strange[i].at, level = scan->strange[i].level;
		if (level < scan->depth && json_parse_prefix(scan->text + at, len - at, &element, &used, NULL) == 0 &&
			find_closers(scan->text, at + used, len, closers, &count) && count == level + 1 &&
			close_levels(scan, closers, count, count)) {
			*ret_resume = (struct resume){.at = at, .level = level};
			return true;
		}
	}
	return false;
}

static struct scan scan_up_to(const char *text, size_t end, struct level *levels)
{
	struct scan scan = {.text = text, .end = end, .levels = levels, .last_string = end};

	while (scan.at < scan.end && mend_scan_token(&scan))
		;
	return scan;
}

/* One damage at `fault`, which may turn out to lie before; the mended text in `out`. False if there is nothing to go on with. */
static bool mend(const char *text, size_t len, size_t *fault, const char *format, struct level *levels,
	struct buffer *out, size_t *ret_next)
{
	struct scan scan = scan_up_to(text, *fault, levels);
	struct resume resume = {.at = len};

	if (*fault == len && find_unclosed(&scan, len, &resume)) {
		*fault = resume.at;
		scan = scan_up_to(text, *fault, levels);
	} else {
		bool closed = !scan.depth; /* by the damage: what it closed is open, and nothing else is known */
		if (closed) {
			scan.depth = scan.closed;
			scan.closed = 0;
		}
		find_resume(&scan, *fault, len, &resume);
		if (closed && scan.depth)
			mend_choose_closed(&scan, len, format, &resume);
	}
	*ret_next = resume.at;
	if (!scan.depth && resume.at == len)
		return false;
	mend_write(&scan, len, &resume, format, out);
	return true;
}

/* Whether what ends at `at` is an element of a list, or a member of an object, that began before. */
static bool goes_on(const char *text, size_t at, size_t len)
{
	char next = mend_behind(text, at, len);
	return at < len && (next == ',' || ((next == ']' || next == '}') && memchr(text + at, '{', len - at)));
}

static bool is_padding(char c)
{
	return import_is_space(c) || c == '\0' || c == '\xef' || c == '\xbb' || c == '\xbf';
}

/* Whether the value that ends at `end` is followed by one that begins alike: both are elements of one list. */
static bool has_sibling(const char *text, size_t at, size_t end, size_t len)
{
	struct opening own = mend_opening_of(text, at, len), next;

	while (end < len && (import_is_space(text[end]) || text[end] == ','))
		end++;
	if (end == len || text[end] != text[at])
		return false;
	next = mend_opening_of(text, end, len);
	return text[at] == '[' || (own.len && own.len == next.len && memcmp(text + at, text + end, own.len) == 0);
}

/* Whether the bracket there begins the document: what is no element of something that lost its beginning. `first`: nothing
 * stands before it, so that what looks like the document, or unlike what goes on behind it, was closed by the damage. */
static bool begins_document(const char *format, const char *data, size_t at, size_t len, bool first)
{
	struct json value;
	size_t used;

	if (at >= len || (data[at] != '{' && data[at] != '['))
		return false;
	if (json_parse_prefix(data + at, len - at, &value, &used, NULL) < 0 || !goes_on(data, at + used, len))
		return true;
	return first && (mend_is_document(format, &value) ||
				(mend_behind(data, at + used, len) == ',' && !has_sibling(data, at, at + used, len)));
}

/* What stands behind a whole value; NUL: none does, or no value begins there. */
static char behind_value(const char *data, size_t at, size_t len)
{
	struct json value;
	size_t used;

	if (at >= len || (data[at] != '{' && data[at] != '[') ||
		json_parse_prefix(data + at, len - at, &value, &used, NULL) < 0)
		return '\0';
	for (at += used; at < len && import_is_space(data[at]);)
		at++;
	return at < len ? data[at] : '\0';
}

/* Where the document begins: at the first bracket, if there are only white space, NULs and a byte order mark before it, else
 * at one that begins a line. `len`: the beginning is lost. */
static size_t find_start(const char *format, const char *data, size_t len)
{
	size_t at = 0;
	bool in_list = false; /* elements of one that began before were passed: what closes it stands behind the last of them */

	while (at < len && is_padding(data[at]))
		at++;
	for (int tries = 0; tries < MEND_LEADS; tries++) {
		char behind = behind_value(data, at, len);
		bool is_last = in_list && (behind == ']' || behind == '}');
		if (!is_last && begins_document(format, data, at, len, tries == 0))
			return at;
		in_list |= behind != '\0';
		const char *line = memchr(data + at, '\n', len - at);
		if (!line)
			break;
		at = (size_t)(line - data) + 1;
	}
	return len;
}

static int tell_damage(struct import *import, const char *data, size_t offset, size_t next, size_t len, const char *why)
{
	struct place place = {import_line_of(data, offset), offset};
	enum import_damage damage = import_damage_at(data, offset, len, offset);

	if (next >= len)
		return import_damaged(import, place, DAMAGE_BROKEN_OFF, "the document breaks off: %s", why);
	return import_damaged(import, place, damage == DAMAGE_NULS || damage == DAMAGE_CHARACTERS ? damage : DAMAGE_HOLE,
		"the document is damaged here (%s): read on from byte %zu", why, next);
}

/* What stands around the document. `ret_lost`: its beginning is not there. */
static int take_off_ends(struct import *import, const char *data, size_t *start, size_t *len, bool *ret_lost)
{
	struct json value;
	size_t used, at = find_start(import->format, data, *len);
	int rc = 0;

	*ret_lost = at == *len;
	if (*ret_lost)
		return 0;
	if (at && (!is_padding(data[0]) || memchr(data, '\0', at)))
		rc = import_damaged(import, (struct place){1, 0}, DAMAGE_AROUND,
			"%zu byte%s before the document, no part of it", at, at == 1 ? "" : "s");
	*start = at;
	if (!rc && json_parse_prefix(data + at, *len - at, &value, &used, NULL) == 0) {
		size_t end = at + used;
		while (end < *len && import_is_space(data[end]))
			end++;
		if (end < *len && (data[end] == '{' || data[end] == '[') && *len - end > used) {
			*start = end; /* something small stands before it */
			return import_damaged(import, (struct place){import_line_of(data, at), at}, DAMAGE_AROUND,
				"%zu bytes before the document, no part of it", used);
		}
		if (goes_on(data, end, *len))
			return rc; /* the damage closed it too early */
		if (end < *len)
			rc = import_damaged(import, (struct place){import_line_of(data, end), end}, DAMAGE_AROUND,
				"%zu byte%s after the document, no part of it", *len - end, *len - end == 1 ? "" : "s");
		*len = at + used;
	}
	return rc;
}

/* One damage of the text, which is the file's own from some place up to its end: places count from there. */
static int mend_one(struct import *import, const char *data, size_t len, struct level *levels, struct buffer *text,
	struct bobbin_error *fault)
{
	struct slice old = buffer_slice(text);
	struct buffer out = BUFFER_INIT(LIMIT_IMPORT_BYTES + LIMIT_JSON_DEPTH);
	size_t at = fault->offset < old.len ? (size_t)fault->offset : old.len, next = old.len, moved = len - old.len;
	bool mended = mend(old.data, old.len, &at, import->format, levels, &out, &next);
	/* More than brackets and names more: something of it would be there twice, and twice as often each time. */
	if (out.len > old.len + MEND_ADDED_BYTES)
		mended = false;
	int rc = buffer_error(&out) ? buffer_error(&out) : mended ? 0 : BOBBIN_EINPUT;

	fault->offset = at + moved < len ? at + moved : len;
	if (!rc)
		rc = tell_damage(
			import, data, (size_t)fault->offset, next < old.len ? next + moved : len, len, fault->message);
	buffer_release(text);
	*text = out;
	return rc;
}

static int mend_all(struct import *import, const char *data, size_t len, struct level *levels, struct buffer *text,
	struct bobbin_error *fault)
{
	struct json value;
	size_t start = 0;
	bool lost;
	int rc = take_off_ends(import, data, &start, &len, &lost);

	buffer_add(text, data + start, rc ? 0 : len - start);
	if (!rc)
		rc = buffer_error(text);
	for (int times = 0; !rc && times < MEND_TIMES; times++) {
		struct bobbin_error now = {0};
		rc = json_parse(text->data, text->len, &value, &now);
		if (rc != BOBBIN_EINPUT)
			return rc;
		*fault = now;
		if (lost && times == 0)
			fault->offset = 0; /* no element is taken for the document */
		rc = mend_one(import, data, len, levels, text, fault);
	}
	return rc ? rc : BOBBIN_EINPUT;
}

int import_mend(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *fault)
{
	struct level *levels = mem_realloc_array(NULL, LIMIT_JSON_DEPTH, sizeof(*levels));
	struct buffer text = BUFFER_INIT(LIMIT_IMPORT_BYTES + LIMIT_JSON_DEPTH);
	int rc = levels ? mend_all(import, data, len, levels, &text, fault) : BOBBIN_ENOMEM;

	struct slice kept = rc ? (struct slice){NULL, 0} : import_keep(import, buffer_slice(&text));
	if (!rc)
		rc = kept.data ? json_parse(kept.data, kept.len, ret_value, NULL) : BOBBIN_ENOMEM;
	buffer_release(&text);
	mem_free(levels);
	return rc;
}
