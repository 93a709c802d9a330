/* SPDX-License-Identifier: MIT */
/* Writing of what was mended; the contracts are in import_mend_write.h. */
#include "transcript/import_mend_write.h"

#include "base/limits.h"
#include "transcript/import_mend_shape.h"

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

/* The end of the list that an object has under that key up to `end`, in front of its bracket; 0: it has none. */
static size_t list_before(const char *text, size_t from, size_t end, struct slice key)
{
	struct scan scan = {.text = text, .at = from, .end = end};
	size_t depth = 0, list = 0;
	bool named = false;

	while (scan.at < end) {
		char c = text[scan.at];
		if (c == '"') {
			struct slice string = mend_string_at(text, scan.at, end);
			if (depth == 1 && mend_behind(text, scan.at + string.len + 2, end) == ':')
				named = slice_equal(string, key);
			if (!mend_skip_string(&scan))
				break;
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (named && c == ']' && depth == 1)
			list = scan.at;
		scan.at++;
	}
	return list;
}

/* Where reading goes on, as brackets. `kinds`: room for all of them. */
static struct mend_place place_of(
	const struct scan *scan, const struct resume *resume, size_t len, char *kinds, struct json *element)
{
	size_t open = resume->level == SIZE_MAX ? 0 : resume->level + 1, used;
	struct mend_place place = {.kinds = kinds,
		.count = open + resume->made_count,
		.rest = {scan->text + resume->at, len - resume->at}};

	for (size_t i = 0; i < place.count; i++)
		kinds[i] = i >= open ? resume->made[i - open] : scan->levels[i].list ? '[' : '{';
	if (scan->text[resume->at] == '"')
		place.key = mend_string_at(scan->text, resume->at, len);
	else if (json_parse_prefix(scan->text + resume->at, len - resume->at, element, &used, NULL) == 0)
		place.element = element;
	return place;
}

void mend_choose_closed(const struct scan *scan, size_t len, const char *format, struct resume *resume)
{
	char kinds[LIMIT_JSON_DEPTH + MEND_CLOSERS];
	const struct level *root = &scan->levels[0], *list = &scan->levels[1];
	struct json element;

	if (resume->at == len || resume->level == SIZE_MAX || resume->level < 1 || root->list || !list->list)
		return;
	struct mend_place place = place_of(scan, resume, len, kinds, &element);
	struct slice name = mend_shape_name(mend_shape(format, &place), &place, 1);
	size_t key = mend_key_of_list(scan->text, list->from + 1);
	if (key == SIZE_MAX || !name.len || slice_equal(mend_string_at(scan->text, key, len), name) ||
		place.count > MEND_CLOSERS || !list_before(scan->text, root->from, root->complete, name))
		return;
	resume->level = 0;
	resume->made_count = place.count - 1;
	memcpy(resume->made, kinds + 1, resume->made_count);
}

/* What stands before the damage, closed down to where reading goes on. */
static void write_before(const struct scan *scan, const struct resume *resume, bool resumes, struct buffer *out)
{
	size_t level = resume->level, last = resumes ? level + 1 : 0;
	size_t cut = resume->made_count ? level : find_cut(scan, resumes ? level : 0);

	buffer_add(out, scan->text, scan->levels[cut].complete);
	for (size_t i = cut + 1; i-- > last;)
		buffer_add_char(out, scan->levels[i].list ? ']' : '}');
	if (resumes && (scan->levels[level].count || cut > level))
		buffer_add_char(out, ',');
}

void mend_write(
	const struct scan *scan, size_t len, const struct resume *resume, const char *format, struct buffer *out)
{
	char kinds[LIMIT_JSON_DEPTH + MEND_CLOSERS];
	bool resumes = resume->at < len;
	struct json element;

	if (!resumes) {
		write_before(scan, resume, false, out);
		return;
	}
	struct mend_place place = place_of(scan, resume, len, kinds, &element);
	const char *shape = mend_shape(format, &place);
	size_t made = place.count - resume->made_count;
	const struct level *level = made ? &scan->levels[made - 1] : NULL;
	struct slice name = mend_shape_name(shape, &place, made);
	size_t closed = level && !level->list && made < place.count && kinds[made] == '[' && name.len
				? list_before(scan->text, level->from, level->complete, name)
				: 0;
	if (closed) {
		buffer_add(out, scan->text, closed);
		buffer_add_text(out, mend_before(scan->text, closed) == '[' ? "" : ",");
		made++;
	} else if (level) {
		write_before(scan, resume, true, out);
	}
	for (; made < place.count; made++) {
		name = mend_shape_name(shape, &place, made);
		if (made && kinds[made - 1] == '{') {
			bool again = made + 1 == place.count && kinds[made] == '[' && place.element && name.len &&
				     mend_key_follows(place.rest, name);
			buffer_add_char(out, '"');
			buffer_add_slice(out, name.len && !again ? name : SLICE_LITERAL("others"));
			buffer_add_text(out, "\":");
		}
		buffer_add_char(out, kinds[made]);
	}
	buffer_add(out, scan->text + resume->at, len - resume->at);
}
