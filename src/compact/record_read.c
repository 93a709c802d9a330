/* SPDX-License-Identifier: MIT */
/*
 * Reading records that are plain text under headings: our own lines, and what other products and models
 * write.
 *
 * Invariants: (1) no text is an error; (2) every entry under a heading becomes one item of that
 * heading's kind, all other text facts: what a foreign summary claims is never left unchecked because of
 * where it stands; (3) sources are read only from a last pair of brackets that holds nothing else.
 */
#include "compact/record.h"

#include "base/id.h"
#include "compact/record_line.h"

static struct slice skip(struct slice text, size_t len)
{
	return (struct slice){text.data + len, text.len - len};
}

/* The last place of `needle`; SIZE_MAX if it is not there. */
static size_t find_last(struct slice text, const char *needle)
{
	size_t len = strlen(needle);

	for (size_t at = text.len; at-- > 0;)
		if (text.len - at >= len && memcmp(text.data + at, needle, len) == 0)
			return at;
	return SIZE_MAX;
}

/* ---- Sources */

static bool read_number(struct slice *text, uint32_t *ret_number)
{
	uint64_t number = 0;
	size_t len = 0;

	while (len < text->len && text->data[len] >= '0' && text->data[len] <= '9' && number < UINT32_MAX)
		number = number * 10 + (uint64_t)(text->data[len++] - '0');
	if (!len || number == 0 || number >= UINT32_MAX)
		return false;
	*text = skip(*text, len);
	*ret_number = (uint32_t)number;
	return true;
}

/* One source at the start of `text`: 4, m4, "any id". */
static bool read_source(struct arena *arena, struct slice *text, struct item_source *ret_source, int *error)
{
	uint32_t number;
	size_t len = 0;
	struct json id;

	*ret_source = (struct item_source){SOURCE_NOWHERE, {NULL, 0}};
	if (text->len && text->data[0] == '"') {
		if (json_parse_prefix(text->data, text->len, &id, &len, NULL))
			return false;
		ret_source->id = json_string_content(&id, arena);
		if (!ret_source->id.data)
			*error = BOBBIN_ENOMEM;
		*text = skip(*text, len);
		return ret_source->id.len > 0;
	}
	while (len < text->len &&
		(text->data[len] == 'm' || (text->data[len] >= '0' && text->data[len] <= '9')))
		len++;
	if (id_is_reserved((struct slice){text->data, len})) {
		ret_source->id = (struct slice){text->data, len};
		*text = skip(*text, len);
		return true;
	}
	if (!read_number(text, &number))
		return false;
	ret_source->place = number - 1;
	return true;
}

static bool take(struct slice *text, const char *word)
{
	if (!slice_starts_with(*text, word))
		return false;
	*text = skip(*text, strlen(word));
	return true;
}

/* Adds the sources between the two; a range of ordinals is not taken for more than it can be. */
static int add_range(struct compact_record *record, struct compact_item *item, uint32_t from, uint32_t to)
{
	int rc = 0;

	for (uint32_t place = from + 1; place <= to && place - from <= ITEM_SOURCES_MAX && !rc; place++)
		rc = compact_item_add_source(record, item, (struct item_source){place, {NULL, 0}});
	return rc;
}

/* Reads what stands in the brackets into `item`. False if it is anything but sources. */
static bool read_sources(
	struct compact_record *record, struct compact_item *item, struct slice inside, int *error)
{
	struct item_source source, last;

	inside = slice_strip(inside);
	item->computed = take(&inside, "counted");
	inside = slice_strip(inside);
	if (take(&inside, "user"))
		item->by = BY_USER;
	else if (take(&inside, "tool"))
		item->by = BY_TOOL;
	else if (take(&inside, "assistant"))
		item->by = BY_ASSISTANT;
	for (inside = slice_strip(inside); inside.len; inside = slice_strip(inside)) {
		if (!read_source(record->arena, &inside, &source, error) || *error)
			return false;
		*error = compact_item_add_source(record, item, source);
		if (!*error && source.place != SOURCE_NOWHERE && (take(&inside, "-") || take(&inside, "–"))) {
			if (!read_source(record->arena, &inside, &last, error) ||
				last.place == SOURCE_NOWHERE)
				return false;
			*error = add_range(record, item, source.place, last.place);
		}
		inside = slice_strip(inside);
		if (*error || (inside.len && !take(&inside, ",") && !take(&inside, "…")))
			return false;
	}
	return true;
}

static struct slice split_sources(
	struct compact_record *record, struct compact_item *item, struct slice line, int *error)
{
	size_t open;
	struct compact_item bare = *item;

	if (!line.len || line.data[line.len - 1] != ']')
		return line;
	open = find_last(line, " [");
	if (open == SIZE_MAX)
		return line;
	if (read_sources(record, item, (struct slice){line.data + open + 2, line.len - open - 3}, error))
		return (struct slice){line.data, open};
	*item = bare;
	return line;
}

/* ---- One entry */

static struct slice split_state(
	struct compact_record *record, struct compact_item *item, struct slice line, int *error)
{
	struct slice word, proof;
	enum item_state state;
	size_t len;

	if (take(&line, ": "))
		return line;
	if (!line_state_prefix(line, &word, &proof, &len) || !item_state_of(word, &state) ||
		!item_state_fits(item->kind, state))
		return line;
	if (proof.len && (!read_source(record->arena, &proof, &item->proof, error) || proof.len)) {
		item->proof = compact_item_make(item->kind).proof;
		return line;
	}
	item->state = state;
	return skip(line, len);
}

static struct slice split_reason(struct compact_item *item, struct slice line)
{
	static const char *const SIGNS[] = {LINE_BECAUSE, " -- because ", ", because "};

	for (size_t i = 0; line_has_reason(item->kind) && i < sizeof SIGNS / sizeof *SIGNS; i++) {
		size_t at = find_last(line, SIGNS[i]);

		if (at != SIZE_MAX && at > 0) {
			item->reason = skip(line, at + strlen(SIGNS[i]));
			return (struct slice){line.data, at};
		}
	}
	return line;
}

int line_read_item(struct compact_record *record, enum item_kind kind, struct slice line)
{
	struct compact_item item = compact_item_make(kind);
	int rc = 0;

	item.state = item_state_default(kind);
	line = split_sources(record, &item, slice_strip(line), &rc);
	line = split_state(record, &item, line, &rc);
	item.text = split_reason(&item, line);
	if (!rc)
		compact_record_add(record, &item, &rc);
	return rc;
}

/* ---- Lines */

/* The length of a bullet or number with its blanks; 0: none. */
static size_t bullet_length(struct slice line)
{
	size_t len = 0;

	if (slice_starts_with(line, "- ") || slice_starts_with(line, "* ") || slice_starts_with(line, "+ "))
		return 2;
	if (slice_starts_with(line, "• "))
		return strlen("• ");
	while (len < line.len && len < 4 && line.data[len] >= '0' && line.data[len] <= '9')
		len++;
	if (len && len + 1 < line.len && (line.data[len] == '.' || line.data[len] == ')') &&
		line.data[len + 1] == ' ')
		return len + 2;
	return 0;
}

static bool is_decoration(char c)
{
	return c == '#' || c == '*' || c == '_' || c == ':' || c == '<' || c == '>' || c == ' ' || c == '=';
}

/* A line without the marks that make it a heading. */
static struct slice bare_heading(struct slice line)
{
	size_t number = bullet_length(line);

	if (number && line.data[0] >= '0' && line.data[0] <= '9')
		line = skip(line, number);
	while (line.len && is_decoration(line.data[0]))
		line = skip(line, 1);
	number = bullet_length(line);
	if (number && line.data[0] >= '0' && line.data[0] <= '9')
		line = skip(line, number);
	while (line.len && is_decoration(line.data[line.len - 1]))
		line.len--;
	return line;
}

static bool known_heading(struct slice name, enum item_kind *ret_kind)
{
	char plain[64];

	name = bare_heading(name);
	if (name.len >= sizeof plain)
		return false;
	for (size_t i = 0; i < name.len; i++)
		plain[i] = name.data[i] == '_' ? ' ' : name.data[i];
	return item_kind_of_heading((struct slice){plain, name.len}, ret_kind);
}

struct text_reader {
	struct compact_record *record;
	enum item_kind kind;
	bool pointers; /* under NOT HERE */
	bool entry;    /* `pending` began with a bullet: indented lines go on with it */
	struct slice pending;
};

/* "14 more facts: recall m12–m40" */
static int read_pointer(struct compact_record *record, struct slice line)
{
	struct compact_pointer pointer = {.why = POINTER_MISSING, .kind = ITEM_KINDS};
	size_t at = find_last(line, ": recall ");
	struct slice head, range;
	int rc = 0;

	if (at == SIZE_MAX)
		return line_read_item(record, ITEM_FACT, line);
	head = (struct slice){line.data, at};
	range = skip(line, at + strlen(": recall "));
	if (!read_source(record->arena, &range, &pointer.from, &rc) || rc)
		return rc;
	pointer.to = pointer.from;
	if ((take(&range, "–") || take(&range, "-")) &&
		(!read_source(record->arena, &range, &pointer.to, &rc) || rc))
		return rc;
	if (slice_starts_with(head, "what belongs"))
		pointer.why = POINTER_DIVIDED;
	if (read_number(&head, &pointer.count))
		head = slice_strip(head);
	if (take(&head, "more ")) {
		pointer.why = POINTER_BUDGET;
		for (int kind = 0; kind < ITEM_KINDS; kind++)
			if (slice_is(head, item_kind_plural((enum item_kind)kind)))
				pointer.kind = (enum item_kind)kind;
	}
	return compact_record_add_pointer(record, &pointer);
}

static int finish_entry(struct text_reader *reader)
{
	struct slice entry = slice_strip(reader->pending);

	reader->pending = (struct slice){NULL, 0};
	reader->entry = false;
	if (!entry.len)
		return 0;
	if (reader->pointers)
		return read_pointer(reader->record, entry);
	return line_read_item(reader->record, reader->kind, entry);
}

/* A line that is a heading, or "Heading: first entry". False: neither. */
static bool read_heading(struct text_reader *reader, struct slice line)
{
	enum item_kind kind = ITEM_FACT;
	const char *colon = memchr(line.data, ':', line.len);
	bool marked = line.data[0] == '#' || (line.data[0] == '<' && line.data[line.len - 1] == '>') ||
		      (slice_starts_with(line, "**") &&
			      (line.data[line.len - 1] == '*' || line.data[line.len - 1] == ':'));
	bool here = slice_is(bare_heading(line), POINTERS_HEADING);

	if (here || known_heading(line, &kind) || marked) {
		reader->kind = kind;
		reader->pointers = here;
		return true;
	}
	if (!colon || !known_heading((struct slice){line.data, (size_t)(colon - line.data)}, &kind))
		return false;
	reader->kind = kind;
	reader->pointers = false;
	reader->pending = skip(line, (size_t)(colon - line.data) + 1);
	return true;
}

static int read_line(struct text_reader *reader, struct slice raw)
{
	struct slice line = slice_strip(raw);
	size_t bullet = bullet_length(line);
	bool indented = raw.len && (raw.data[0] == ' ' || raw.data[0] == '\t');
	int rc;

	if (!bullet && indented && reader->entry && line.len) { /* goes on */
		reader->pending.len = (size_t)(line.data + line.len - reader->pending.data);
		return 0;
	}
	if ((rc = finish_entry(reader)) || !line.len || slice_starts_with(line, "```"))
		return rc;
	if ((!bullet || (line.data[0] >= '0' && line.data[0] <= '9')) && read_heading(reader, line))
		return 0;
	reader->entry = bullet > 0;
	reader->pending = skip(line, bullet);
	if (bullet &&
		(slice_starts_with(reader->pending, "[ ] ") || slice_starts_with(reader->pending, "[x] ")))
		reader->pending = skip(reader->pending, 4);
	return 0;
}

int compact_record_read_text(struct compact_record *record, struct slice text, struct bobbin_error *error)
{
	struct text_reader reader = {.record = record, .kind = ITEM_FACT};
	int rc = 0;

	while (text.len && !rc) {
		const char *end = memchr(text.data, '\n', text.len);
		size_t len = end ? (size_t)(end - text.data) : text.len;

		rc = read_line(&reader, (struct slice){text.data, len});
		text = skip(text, end ? len + 1 : len);
	}
	if (!rc)
		rc = finish_entry(&reader);
	return rc ? error_set(error, rc, "out of memory while reading a record") : 0;
}
