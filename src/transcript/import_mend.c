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
 * If more closes than was opened, the beginning is lost, too, and is made up: lists are called as in that format.
 * What stands before the first bracket and after the last is no part of the document.
 */
#include "transcript/import_mend.h"

#include "base/alloc.h"
#include "base/limits.h"

#define MEND_TIMES 64	 /* damages mended in one file */
#define MEND_CLOSERS 16	 /* brackets that are made up */
#define MEND_SCANS 64	 /* looks at what follows an element, for one damage */
#define MEND_LEADS 16	 /* brackets that may be the first */
#define LEVEL_OPENINGS 6 /* ways in which the elements of one list begin */

struct opening {
	size_t at, len;
};

struct level {
	bool list;
	size_t from;	 /* its bracket */
	size_t complete; /* behind the last whole member */
	size_t count;	 /* whole members */
	bool holds;	 /* whole lists of objects lie in it */
	struct opening openings[LEVEL_OPENINGS];
	size_t opening_count;
};

struct scan {
	const char *text;
	size_t at, end;
	struct level *levels;
	size_t depth;
	bool key;	    /* the next string is a key */
	size_t last_string; /* where it began */
	size_t closed;	    /* brackets that closed one after the other, up to here: their levels are still known */
};

/* Where reading goes on. */
struct resume {
	size_t at;		 /* len: nowhere */
	size_t level;		 /* of the list, or the innermost that stays open */
	char made[MEND_CLOSERS]; /* brackets that are made up inside of it, from the outside */
	size_t made_count;
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

static bool opens_like(const struct scan *scan, const struct level *list, struct opening opening)
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
	if (list->opening_count < LEVEL_OPENINGS && !opens_like(scan, list, opening))
		list->openings[list->opening_count++] = opening;
}

static bool scan_string(struct scan *scan)
{
	bool key = scan->key;

	scan->last_string = scan->at;
	if (!skip_string(scan))
		return false;
	scan->key = false;
	if (!key) {
		value_done(scan);
		return true;
	}
	struct level *own = scan->depth ? &scan->levels[scan->depth - 1] : NULL;
	struct level *list = scan->depth > 1 ? own - 1 : NULL;
	if (list && list->list && own->count == 0)
		note_opening(scan, list, (struct opening){own->from, scan->at - own->from});
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
		scan->key = false;
		value_done(scan);
		return scan->depth > 0;
	}
	return c != '\0' && scan_scalar(scan);
}


/* From the brace to behind the first key; length 0: it has none. */
static struct opening opening_of(const char *text, size_t at, size_t len)
{
	struct scan scan = {.text = text, .at = at + 1, .end = len};

	while (scan.at < len && import_is_space(text[scan.at]))
		scan.at++;
	if (scan.at >= len || text[scan.at] != '"' || !skip_string(&scan))
		return (struct opening){at, 0};
	return (struct opening){at, scan.at - at};
}

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
			if (!skip_string(&scan))
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
 * to have closed, and maybe more inside. False: it is no element of a list, or nothing fits. */
static bool place_by_closers(
	const struct scan *scan, const char *closers, size_t count, struct resume *ret_resume)
{
	size_t open = count < scan->depth ? count : scan->depth;

	if (closers[0] != '[')
		return false;
	if (count > open && count <= scan->depth + scan->closed && close_levels(scan, closers, count, count))
		open = count;
	if (!close_levels(scan, closers, count, open))
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
		if (level->list && opening.len && opens_like(scan, level, opening)) {
			ret_resume->level = i;
			ret_resume->made_count = 0;
			return true;
		}
	}
	return false;
}

static char behind(const char *text, size_t at, size_t len)
{
	while (at < len && import_is_space(text[at]))
		at++;
	return at < len ? text[at] : ']';
}

static char before(const char *text, size_t at)
{
	while (at > 0 && import_is_space(text[at - 1]))
		at--;
	return at > 0 ? text[at - 1] : '\0';
}

/* Where the key stands of the list whose first element is at `at`; SIZE_MAX: that is not to be seen. */
static size_t key_of_list(const char *text, size_t at)
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

/* An element that is the first of a list which opens behind the damage: what goes on is that member of the object. */
static void begin_with_key(const struct scan *scan, size_t fault, struct resume *resume)
{
	size_t key = key_of_list(scan->text, resume->at);

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
	char closers[MEND_CLOSERS], next = behind(scan->text, at + used, len);
	struct opening opening = opening_of(scan->text, at, len);
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
	return !early && before(scan->text, at) != ':' && place_by_opening(scan, opening, ret_resume);
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

/* The next element behind the damage, or in front of it inside of the broken one: what ended that is what is lost. */
static void find_resume(const struct scan *scan, size_t fault, size_t len, struct resume *ret_resume)
{
	size_t at = scan->last_string < fault ? scan->last_string + 1 : fault, used;
	size_t broken = broken_element(scan, fault);
	int scans = MEND_SCANS;
	struct json element;

	*ret_resume = (struct resume){.at = len};
	for (at = broken < at ? broken : at; at < len;) {
		const char *found = memchr(scan->text + at, '{', len - at);
		if (!found)
			return;
		at = (size_t)(found - scan->text);
		struct resume resume = {.at = at};
		bool whole = json_parse_prefix(found, len - at, &element, &used, NULL) == 0;
		if (whole && place_element(scan, at, used, fault, len, &scans, &resume)) {
			begin_with_key(scan, fault, &resume);
			*ret_resume = resume;
			return;
		}
		at += whole ? used : 1;
	}
}

/* The innermost open list with a whole element, or object with a list that closed, not above `least`; `least` if there is
 * none. An object without either goes: half of a message is none. */
static size_t find_cut(const struct scan *scan, size_t least)
{
	for (size_t i = scan->depth; i-- > least;) {
		if (scan->levels[i].count && (scan->levels[i].list || scan->levels[i].holds))
			return i;
	}
	return least;
}

/* `names`: of the lists, from the outside; `lists`: how many are open already; `rest`: what follows. A list of messages that is
 * still to come is not this one. */
static void write_made(const struct resume *resume, bool inside_object, const char *const *names, size_t lists,
	struct slice rest, struct buffer *out)
{
	bool other = memmem(rest.data, rest.len, "\"messages\":", 11) != NULL;
	/* A single list is that of the messages, also where a list of sessions may hold it. */
	size_t made = 0;
	for (size_t i = 0; i < resume->made_count; i++)
		made += resume->made[i] == '[';
	size_t skipped = lists ? lists : made <= 1 && names[1] && strcmp(names[1], "messages") == 0;
	while (skipped-- > 0 && names[1])
		names++;
	for (size_t i = 0; i < resume->made_count; i++) {
		if (i ? resume->made[i - 1] == '{' : inside_object) {
			buffer_add_char(out, '"');
			buffer_add_text(out, other && strcmp(*names, "messages") == 0 ? "others" : *names);
			buffer_add_text(out, "\":");
			names += names[1] != NULL;
		}
		buffer_add_char(out, resume->made[i]);
	}
}

/* How many lists are members of objects up to that level. */
static size_t named_lists(const struct scan *scan, size_t level)
{
	size_t count = 0;

	for (size_t i = 1; i <= level; i++)
		count += scan->levels[i].list && !scan->levels[i - 1].list;
	return count;
}

/* The text closed behind its last whole elements and, if reading goes on, what follows. */
static void write_mended(
	const struct scan *scan, size_t len, const struct resume *resume, const char *const *names, struct buffer *out)
{
	bool resumes = resume->at < len;
	struct slice rest = {scan->text + resume->at, len - resume->at};
	size_t level = resume->level, last = resumes ? level + 1 : 0;

	if (scan->depth && (!resumes || level != SIZE_MAX)) {
		size_t cut = resume->made_count ? level : find_cut(scan, resumes ? level : 0);
		buffer_add(out, scan->text, scan->levels[cut].complete);
		for (size_t i = cut + 1; i-- > last;)
			buffer_add_char(out, scan->levels[i].list ? ']' : '}');
		if (resumes && (scan->levels[level].count || cut > level))
			buffer_add_char(out, ',');
		write_made(resume, !scan->levels[level].list, names, named_lists(scan, level), rest, out);
	} else {
		write_made(resume, false, names, 0, rest, out);
	}
	if (resumes)
		buffer_add_slice(out, rest);
}

/* One damage at `fault`; the mended text in `out`. False if there is nothing to go on with. */
static bool mend(const char *text, size_t len, size_t fault, const char *const *names, struct level *levels,
	struct buffer *out, size_t *ret_next)
{
	struct scan scan = {.text = text, .end = fault < len ? fault : len, .levels = levels, .last_string = len};
	struct resume resume = {.at = len};

	while (scan.at < scan.end && scan_token(&scan))
		;
	if (!scan.depth) { /* the damage closed the document: what it closed is open, and nothing else is known */
		scan.depth = scan.closed;
		scan.closed = 0;
	}
	find_resume(&scan, scan.end, len, &resume);
	*ret_next = resume.at;
	if (!scan.depth && resume.at == len)
		return false;
	write_mended(&scan, len, &resume, names, out);
	return true;
}

/* Whether what ends at `at` is an element of a list, or a member of an object, that began before. */
static bool goes_on(const char *text, size_t at, size_t len)
{
	char next = behind(text, at, len);
	return at < len && (next == ',' || ((next == ']' || next == '}') && memchr(text + at, '{', len - at)));
}

static bool is_padding(char c)
{
	return import_is_space(c) || c == '\0' || c == '\xef' || c == '\xbb' || c == '\xbf';
}

/* Where the document begins: at the first bracket, if there are only white space, NULs and a byte order mark before it, else
 * at a bracket that begins a line and is not an element of what lost its beginning. `len`: the beginning is lost. */
static size_t find_start(const char *data, size_t len)
{
	size_t at = 0, used;
	struct json value;

	while (at < len && is_padding(data[at]))
		at++;
	for (int tries = 0; tries < MEND_LEADS; tries++) {
		if (at < len && (data[at] == '{' || data[at] == '[') &&
			(json_parse_prefix(data + at, len - at, &value, &used, NULL) < 0 ||
				!goes_on(data, at + used, len)))
			return at;
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

	return next < len ? import_warn(import, place, "the document is damaged here (%s): read on from byte %zu", why, next)
			  : import_warn(import, place, "the document breaks off: %s", why);
}

/* What stands around the document. `ret_lost`: its beginning is not there. */
static int take_off_ends(struct import *import, const char *data, size_t *start, size_t *len, bool *ret_lost)
{
	struct json value;
	size_t used, at = find_start(data, *len);
	int rc = 0;

	*ret_lost = at == *len;
	if (*ret_lost)
		return 0;
	if (at && (!is_padding(data[0]) || memchr(data, '\0', at)))
		rc = import_warn(import, (struct place){1, 0}, "%zu bytes before the document are no part of it", at);
	*start = at;
	if (!rc && json_parse_prefix(data + at, *len - at, &value, &used, NULL) == 0) {
		size_t end = at + used;
		while (end < *len && import_is_space(data[end]))
			end++;
		if (end < *len && (data[end] == '{' || data[end] == '[') && *len - end > used) {
			*start = end; /* something small stands before it */
			return import_warn(import, (struct place){import_line_of(data, at), at},
				"%zu bytes before the document are no part of it", used);
		}
		if (goes_on(data, end, *len))
			return rc; /* the damage closed it too early */
		if (end < *len)
			rc = import_warn(import, (struct place){import_line_of(data, end), end},
				"%zu bytes after the document are no part of it", *len - end);
		*len = at + used;
	}
	return rc;
}

static int mend_all(struct import *import, const char *data, size_t len, const char *const *names, struct level *levels,
	struct json *ret_value, struct bobbin_error *fault)
{
	size_t start = 0;
	bool lost;
	int rc = take_off_ends(import, data, &start, &len, &lost);
	struct slice text = {data + start, len - start};

	for (int times = 0; !rc && times < MEND_TIMES; times++) {
		struct bobbin_error now = {0};
		rc = json_parse(text.data, text.len, ret_value, &now);
		if (rc != BOBBIN_EINPUT)
			return rc;
		struct buffer out = BUFFER_INIT(LIMIT_IMPORT_BYTES + LIMIT_JSON_DEPTH);
		size_t next = text.len, moved = len - text.len;
		*fault = now;
		if (lost && times == 0)
			now.offset = 0; /* no element is taken for the document */
		bool mended = mend(text.data, text.len, (size_t)now.offset, names, levels, &out, &next);
		rc = buffer_error(&out) ? buffer_error(&out) : mended ? 0 : BOBBIN_EINPUT;
		/* The text behind a damage is the file's own up to its end, so places count from there. */
		size_t offset = now.offset + moved < len ? (size_t)now.offset + moved : len;
		if (!rc)
			rc = tell_damage(import, data, offset, next < text.len ? next + moved : len, len, now.message);
		if (!rc && !(text = import_keep(import, buffer_slice(&out))).data)
			rc = BOBBIN_ENOMEM;
		buffer_release(&out);
		fault->offset = offset;
	}
	return rc ? rc : BOBBIN_EINPUT;
}

/* What lists are called where their names are lost, from the outside. */
static const char *const *list_names(const char *format)
{
	static const struct {
		const char *format, *names[4];
	} NAMES[] = {{"letta", {"agents", "messages", "content"}},
		{"openai-responses", {"input", "content"}}, {"openhands", {"history"}},
		{"sharegpt", {"conversations"}}, {"swe-agent", {"history"}}};
	static const char *const MESSAGES[] = {"messages", "content", NULL};

	for (size_t i = 0; format && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		if (strcmp(NAMES[i].format, format) == 0)
			return NAMES[i].names;
	}
	return MESSAGES;
}

int import_mend(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *fault)
{
	struct level *levels = mem_realloc_array(NULL, LIMIT_JSON_DEPTH, sizeof(*levels));
	int rc = levels ? mend_all(import, data, len, list_names(import->format), levels, ret_value, fault)
			: BOBBIN_ENOMEM;

	mem_free(levels);
	return rc;
}
