/* SPDX-License-Identifier: MIT */
/* What the readers share; the contracts are in import_tools.h. */
#include "transcript/import_tools.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"

struct import_conversation *import_conversation_add(struct import *import)
{
	if (mem_grow((void **)&import->conversations, &import->conversation_cap,
		    import->conversation_count + 1, sizeof(*import->conversations)) < 0)
		return NULL;
	struct import_conversation *conversation = &import->conversations[import->conversation_count++];
	*conversation = (struct import_conversation){.head = SIZE_MAX};
	return conversation;
}

struct slice import_keep(struct import *import, struct slice text)
{
	return (struct slice){arena_copy(&import->arena, text.data, text.len), text.len};
}

struct slice import_hold(struct import *import, struct slice text)
{
	bool in_file = import->data && text.data >= import->data && text.data <= import->data + import->len;

	return in_file || !text.data ? text : import_keep(import, text);
}

struct arena *import_scratch(struct import *import)
{
	return import->source ? &import->scratch : &import->arena;
}

struct slice import_string(struct import *import, const struct json *object, const char *key)
{
	struct json value;

	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return (struct slice){NULL, 0};
	return json_string_content(&value, import_scratch(import));
}

/* A byte order mark is no content. Of a file that is in memory the front door has taken it off. */
static void skip_mark(struct import_lines *lines)
{
	if (lines->import->source && lines->base == 0 && lines->len >= 3 && memcmp(lines->data, "\xef\xbb\xbf", 3) == 0)
		lines->at = lines->line_end = 3;
}

void import_lines_init(struct import_lines *lines, struct import *import, const char *data, size_t len)
{
	*lines = (struct import_lines){.import = import, .data = data, .len = len, .whole = !import->source};
	if (import->source)
		lines->len = 0;
}

uint64_t import_line_of(const char *data, uint64_t offset)
{
	uint64_t line = 1;
	for (uint64_t i = 0; i < offset; i++)
		line += data[i] == '\n';
	return line;
}

/* `start`: of what should be a record, `offset`: where it stops being one. */
static int lines_fault(struct import_lines *lines, size_t start, size_t offset, const char *message)
{
	enum import_damage damage = import_damage_at(lines->data, start, lines->line_end, offset);

	offset += lines->base;
	if (lines->faults++ == 0)
		error_set_at(&lines->first_fault, BOBBIN_EINPUT, lines->line, offset, "%s", message);
	return import_damaged(
		lines->import, (struct place){lines->line, offset}, damage, "not a whole JSON record: %s", message);
}

static size_t piece_bytes(const struct import *import)
{
	return import->source->piece_bytes ? import->source->piece_bytes : IMPORT_PIECE_BYTES;
}

static int lines_too_long(struct import_lines *lines, uint64_t start, uint64_t len)
{
	if (lines->faults++ == 0)
		error_set_at(&lines->first_fault, BOBBIN_EINPUT, lines->line, start, "a line of %llu bytes; %u can be read",
			(unsigned long long)len, LIMIT_LINE_BYTES);
	return import_damaged(lines->import, (struct place){lines->line, start}, DAMAGE_TOO_LONG,
		"a line of %llu bytes, and %u can be read: left out", (unsigned long long)len, LIMIT_LINE_BYTES);
}

/* A line that is longer than a record may be: it is told, and reading goes on behind it. 0 or an error. */
static int lines_pass_over(struct import_lines *lines)
{
	const struct import_source *source = lines->import->source;
	char room[4096];
	const char *newline = NULL;
	uint64_t start = lines->base + lines->at, end = lines->base + lines->len;
	ssize_t got;

	while (!newline && (got = source->read_at(source->context, room, sizeof(room), end)) != 0) {
		if (got < 0)
			return error_set(&lines->import->sink_error, (int)got, "the file cannot be read");
		newline = memchr(room, '\n', (size_t)got);
		end += newline ? (uint64_t)(newline - room) : (uint64_t)got;
	}
	lines->line++;
	lines->base = newline ? end + 1 : end;
	lines->at = lines->len = lines->line_end = 0;
	return lines_too_long(lines, start, end - start);
}

/* More of the file behind what is not read yet. 0, BOBBIN_ENOMEM, or what the source says. */
static int lines_refill(struct import_lines *lines)
{
	struct import *import = lines->import;
	size_t rest = lines->len - lines->at, cap = import->window_cap, piece = piece_bytes(import);

	if (rest >= LIMIT_LINE_BYTES)
		return lines_pass_over(lines);
	if (rest)
		memmove(import->window, lines->data + lines->at, rest);
	if (cap - rest < (piece + 1) / 2) {
		char *larger = mem_realloc(import->window, cap = cap ? cap * 2 : piece);
		if (!larger)
			return BOBBIN_ENOMEM;
		import->window = larger;
		import->window_cap = cap;
	}
	lines->base += lines->at;
	lines->at = lines->line_end = 0;
	lines->data = import->window;
	ssize_t got = import->source->read_at(
		import->source->context, import->window + rest, cap - rest, lines->base + rest);
	if (got < 0)
		return error_set(&import->sink_error, (int)got, "the file cannot be read");
	lines->len = rest + (size_t)got;
	lines->whole = got == 0;
	skip_mark(lines);
	return 0;
}

/* Moves to the next line if the current one is used up. 1, 0 at the end of the file, or an error. */
static int lines_advance(struct import_lines *lines)
{
	for (;;) {
		while (lines->at < lines->line_end && import_is_space(lines->data[lines->at]))
			lines->at++;
		if (lines->at < lines->line_end)
			return 1;
		if (lines->open)
			lines->at = lines->line_end < lines->len ? lines->line_end + 1 : lines->len;
		lines->open = false;
		const char *newline = NULL;
		while (lines->at == lines->len ||
			!(newline = memchr(lines->data + lines->at, '\n', lines->len - lines->at))) {
			int rc = lines->whole ? 0 : lines_refill(lines);
			if (rc < 0)
				return rc;
			if (lines->whole)
				break;
		}
		if (lines->at == lines->len)
			return 0;
		newline = memchr(lines->data + lines->at, '\n', lines->len - lines->at);
		lines->line_end = newline ? (size_t)(newline - lines->data) : lines->len;
		lines->open = true;
		lines->line++;
		lines->in_line = 0;
		if (lines->import->source && lines->line_end - lines->at > LIMIT_LINE_BYTES) {
			int rc = lines_too_long(lines, lines->base + lines->at, lines->line_end - lines->at);
			if (rc < 0)
				return rc;
			lines->at = lines->line_end;
		}
	}
}

/* How many bytes an object has up to behind its first key; 0: none that can be told. */
static size_t opening_of(const char *start, const char *end)
{
	const char *quote = end - start > 2 && start[0] == '{' ? start + 1 : end;

	while (quote < end && import_is_space(*quote))
		quote++;
	const char *close = quote + 1 < end && *quote == '"' ? memchr(quote + 1, '"', (size_t)(end - quote) - 1) : NULL;
	return close ? (size_t)(close - start) + 1 : 0;
}

static bool opens_like_a_record(const struct import_lines *lines, const char *start, size_t opening)
{
	for (size_t i = 0; i < lines->opening_count; i++) {
		if (lines->opening_lens[i] == opening && memcmp(lines->openings[i], start, opening) == 0)
			return true;
	}
	return false;
}

static void note_opening(struct import_lines *lines, const char *record, const char *end)
{
	size_t opening = opening_of(record, end);

	if (!opening || opening > LINES_OPENING_BYTES || lines->opening_count == LINES_OPENINGS ||
		opens_like_a_record(lines, record, opening))
		return;
	memcpy(lines->openings[lines->opening_count], record, opening);
	lines->opening_lens[lines->opening_count++] = opening;
}

#define LOOK_AHEAD_LINES 4
#define LOOK_AHEAD_TIMES 64 /* in one file: later on its kinds of records are known */

/* The bytes of the file from an offset on: those in memory, or a piece of the source in `room`. */
static ssize_t peek(const struct import_lines *lines, uint64_t offset, char *room, size_t len, const char **ret_bytes)
{
	const struct import_source *source = lines->import->source;

	*ret_bytes = source ? room : lines->data + offset;
	return source ? source->read_at(source->context, room, len, offset) : (ssize_t)(lines->len - offset);
}

/* A line is torn: how records begin, the next lines tell, too. They are read beside the window, which may end anywhere. */
static int look_ahead(struct import_lines *lines)
{
	char room[4096], start[LINES_OPENING_BYTES + 1];
	uint64_t offset = lines->base + lines->line_end;
	size_t len = 0;
	int line = 0; /* behind the torn one */
	const char *bytes;
	ssize_t got;

	while (line <= LOOK_AHEAD_LINES && (got = peek(lines, offset, room, sizeof(room), &bytes)) != 0) {
		if (got < 0)
			return error_set(&lines->import->sink_error, (int)got, "the file cannot be read");
		for (ssize_t i = 0; i < got && line <= LOOK_AHEAD_LINES; i++) {
			if (bytes[i] != '\n') {
				if (len < sizeof(start))
					start[len++] = bytes[i];
				continue;
			}
			note_opening(lines, start, start + len);
			len = 0;
			line++;
		}
		offset += (uint64_t)got;
	}
	if (line <= LOOK_AHEAD_LINES)
		note_opening(lines, start, start + len);
	return 0;
}

/* Places in one torn line at which a record may begin again. */
#define RESUME_TRIES 64

/* Looks behind a torn record for one that is whole and is followed by the end of the line or by another. It must begin as the
 * torn one or as records of this file do, so that an object inside the torn record is not taken for one. 1: found, 0, or an error. */
static int lines_resume(struct import_lines *lines, size_t torn, struct json *ret_value)
{
	const char *start = lines->data + torn, *end = lines->data + lines->line_end;
	size_t opening = opening_of(start, end), used;
	bool garbage = start[0] != '{'; /* NULs or text before a record */

	const char *from = garbage ? start : start + 1;
	int rc = lines->faults <= LOOK_AHEAD_TIMES || !lines->opening_count ? look_ahead(lines) : 0;
	if (rc < 0)
		return rc;
	for (int tries = 0; tries < RESUME_TRIES; from++) {
		from = memchr(from, '{', (size_t)(end - from));
		if (!from)
			return 0;
		size_t own = opening_of(from, end);
		bool alike = (opening && own == opening && memcmp(from, start, own) == 0) ||
			     opens_like_a_record(lines, from, own) || (garbage && !lines->opening_count);
		if (!own || !alike)
			continue;
		tries++;
		if (json_parse_prefix(from, (size_t)(end - from), ret_value, &used, NULL) < 0)
			continue;
		const char *next = from + used;
		while (next < end && import_is_space(*next))
			next++;
		if (next == end || *next == '{') {
			lines->at = (size_t)(from + used - lines->data);
			return 1;
		}
	}
	return 0;
}

int import_lines_next(struct import_lines *lines, struct json *ret_value, struct place *ret_place)
{
	int rc;

	arena_reset(&lines->import->scratch);
	while ((rc = lines_advance(lines)) > 0) {
		struct bobbin_error fault = {0};
		size_t used, start = lines->at;
		rc = json_parse_prefix(
			lines->data + start, lines->line_end - start, ret_value, &used, &fault);
		if (rc == BOBBIN_ENOMEM)
			return rc;
		lines->at = rc ? lines->line_end : start + used;
		if (rc && lines_fault(lines, start, start + fault.offset, fault.message) < 0)
			return BOBBIN_ENOMEM;
		if (rc && (rc = lines_resume(lines, start, ret_value)) <= 0) {
			if (rc < 0)
				return rc;
			continue;
		}
		*ret_place = (struct place){lines->line, lines->base + (uint64_t)(ret_value->text - lines->data)};
		lines->import->line = ret_place->line;
		lines->import->offset = ret_place->offset;
		lines->values++;
		note_opening(lines, ret_value->text, ret_value->text + ret_value->len);
		if (++lines->in_line == 2 && import_damaged(lines->import, *ret_place, DAMAGE_GLUED,
						     "two records on one line: a newline was lost") < 0)
			return BOBBIN_ENOMEM;
		return 1;
	}
	lines->import->line = lines->import->offset = 0;
	return rc;
}

int import_lines_fail(const struct import_lines *lines, const char *format, struct bobbin_error *error)
{
	if (lines->len == 0 && lines->base == 0)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0, "the file is empty");
	if (lines->faults)
		return error_set_at(error, BOBBIN_EINPUT, lines->first_fault.line, lines->first_fault.offset,
			"not a %s transcript: %s", format, lines->first_fault.message);
	return error_set_at(error, BOBBIN_EINPUT, 1, 0, "not a %s transcript: no message in it", format);
}

int import_end(int rc, struct bobbin_error *error)
{
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc == BOBBIN_ELIMIT)
		return error_set(
			error, rc, "a message in it is nested or long beyond what a log line may be");
	return rc;
}

/* The slot of a key, or the free one where it belongs; cap is a power of two and never full. */
static uint32_t *table_slot(const struct id_table *table, struct slice key)
{
	size_t at = (size_t)hash_bytes(key.data, key.len) & (table->cap - 1);

	for (; table->slots[at]; at = (at + 1) & (table->cap - 1)) {
		const struct id_entry *entry = &table->entries[table->slots[at] - 1];
		if (slice_equal((struct slice){entry->key, entry->len}, key))
			break;
	}
	return &table->slots[at];
}

static int table_grow(struct id_table *table)
{
	struct id_table larger = *table;

	larger.cap = table->cap ? table->cap * 2 : 64;
	larger.slots = mem_realloc_array(NULL, larger.cap, sizeof(*larger.slots));
	if (!larger.slots)
		return BOBBIN_ENOMEM;
	memset(larger.slots, 0, larger.cap * sizeof(*larger.slots));
	for (size_t i = 0; i < table->count; i++)
		*table_slot(&larger, (struct slice){table->entries[i].key, table->entries[i].len}) = (uint32_t)i + 1;
	mem_free(table->slots);
	*table = larger;
	return 0;
}

int id_table_put(struct id_table *table, struct slice key, size_t value)
{
	if (table->count * 2 >= table->cap && table_grow(table) < 0)
		return BOBBIN_ENOMEM;
	uint32_t *slot = table_slot(table, key);
	if (!*slot) {
		if (mem_grow((void **)&table->entries, &table->entry_cap, table->count + 1, sizeof(*table->entries)) < 0)
			return BOBBIN_ENOMEM;
		*slot = (uint32_t)++table->count;
	}
	table->entries[*slot - 1] = (struct id_entry){
		key.data, (uint32_t)key.len, value == SIZE_MAX ? UINT32_MAX : (uint32_t)value};
	return 0;
}

bool id_table_get(const struct id_table *table, struct slice key, size_t *ret_value)
{
	if (!table->cap || !key.data)
		return false;
	uint32_t slot = *table_slot(table, key);
	if (!slot)
		return false;
	uint32_t value = table->entries[slot - 1].value;
	*ret_value = value == UINT32_MAX ? SIZE_MAX : value;
	return true;
}

struct slice id_table_key(const struct id_table *table, struct slice key)
{
	uint32_t slot = table->cap && key.data ? *table_slot(table, key) : 0;
	return slot ? (struct slice){table->entries[slot - 1].key, table->entries[slot - 1].len}
		    : (struct slice){NULL, 0};
}

void id_table_release(struct id_table *table)
{
	mem_free(table->entries);
	mem_free(table->slots);
	*table = (struct id_table){0};
}

static bool is_in(const struct json *key, const char *const *list)
{
	for (; *list; list++) {
		if (json_string_is(key, *list))
			return true;
	}
	return false;
}

/* A key as it stands in the text, with its escapes, then the value. */
static void write_member_raw(struct json_writer *writer, const struct json *key, const struct json *value)
{
	if (writer->comma)
		buffer_add_char(writer->out, ',');
	buffer_add(writer->out, key->text, key->len);
	buffer_add_char(writer->out, ':');
	buffer_add(writer->out, value->text, value->len);
	writer->comma = true;
}

void write_members_except(struct json_writer *writer, const struct json *object, const char *const *except)
{
	struct json_iter iter;
	struct json key, value;

	json_iter_init(&iter, object);
	while (object->type == JSON_OBJECT && json_iter_next(&iter, &key, &value)) {
		if (!is_in(&key, except))
			write_member_raw(writer, &key, &value);
	}
}

bool has_members_except(const struct json *object, const char *const *except)
{
	struct json_iter iter;
	struct json key, value;

	json_iter_init(&iter, object);
	while (object->type == JSON_OBJECT && json_iter_next(&iter, &key, &value)) {
		if (!is_in(&key, except))
			return true;
	}
	return false;
}

/* The content in which repeats are looked for, and how many bytes of it may still be searched. */
struct repeats {
	struct slice content;
	uint64_t budget;
};

static void write_string_once(struct json_writer *writer, const struct json *string, struct repeats *repeats)
{
	struct slice content = repeats->content;
	size_t len = string->len - 2;
	const char *found = NULL;

	if (len >= SRC_REPEAT_BYTES && content.len >= len && content.len <= repeats->budget) {
		repeats->budget -= content.len;
		found = memmem(content.data, content.len, string->text + 1, len);
	}
	if (!found) {
		json_add_value(writer, string);
		return;
	}
	json_begin_object(writer);
	json_key(writer, "in_content");
	json_begin_array(writer);
	json_add_uint(writer, (uint64_t)(found - content.data));
	json_add_uint(writer, len);
	json_end_array(writer);
	json_end_object(writer);
}

static void write_once(struct json_writer *writer, const struct json *value, struct repeats *repeats)
{
	struct json_iter iter;
	struct json key, member;
	bool object = value->type == JSON_OBJECT;

	if (value->type == JSON_STRING) {
		write_string_once(writer, value, repeats);
		return;
	}
	/* Nesting is bounded by LIMIT_JSON_DEPTH; a value too small to hold a repeat goes out whole. */
	if ((!object && value->type != JSON_ARRAY) || value->len < SRC_REPEAT_BYTES) {
		json_add_value(writer, value);
		return;
	}
	if (object)
		json_begin_object(writer);
	else
		json_begin_array(writer);
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, &key, &member)) {
		if (object) {
			if (writer->comma)
				buffer_add_char(writer->out, ',');
			buffer_add(writer->out, key.text, key.len);
			buffer_add_char(writer->out, ':');
			writer->comma = false;
		}
		write_once(writer, &member, repeats);
	}
	if (object)
		json_end_object(writer);
	else
		json_end_array(writer);
}

void write_without_repeats(struct json_writer *writer, const struct json *value, struct slice content)
{
	struct repeats repeats = {content, SRC_SEARCH_BYTES};
	write_once(writer, value, &repeats);
}
