/* SPDX-License-Identifier: MIT */
/*
 * Records as JSON, in and out.
 *
 * Invariants: (1) what is written is read back equal; (2) members that are empty or false are left out;
 * (3) reading takes anything: a member of the wrong type counts as absent, an item without text as none.
 */
#include "compact/record.h"

#include "compact/record_line.h"

static void write_source(struct json_writer *writer, const struct item_source *source)
{
	if (source->id.len)
		json_add_string(writer, source->id);
	else if (source->place == SOURCE_NOWHERE)
		json_add_null(writer);
	else
		json_add_uint(writer, (uint64_t)source->place + 1);
}

static void write_text(struct json_writer *writer, const char *key, struct slice text)
{
	if (text.len)
		json_member_string(writer, key, text);
}

static void write_word(struct json_writer *writer, const char *key, const char *word)
{
	if (*word)
		json_member_text(writer, key, word);
}

static void write_item(struct json_writer *writer, const struct compact_item *item)
{
	json_begin_object(writer);
	json_member_string(writer, "text", item->text);
	write_word(writer, "state", item_state_text(item->state));
	write_text(writer, "reason", item->reason);
	write_word(writer, "by", item_by_text(item->by));
	write_word(writer, "tag", item_tag_text(item->tag));
	if (item->kind == ITEM_SIGNAL)
		write_word(writer, "target", item_kind_member(item->target));
	if (item->exact)
		json_member_bool(writer, "exact", true);
	if (item->computed)
		json_member_bool(writer, "computed", true);
	write_text(writer, "key", item->key);
	write_text(writer, "language", item->language);
	json_key(writer, "from");
	json_begin_array(writer);
	for (uint32_t i = 0; i < item->source_count; i++)
		write_source(writer, &item->sources[i]);
	json_end_array(writer);
	if (item_has_proof(item)) {
		json_key(writer, "proof");
		write_source(writer, &item->proof);
	}
	json_end_object(writer);
}

static void write_pointer(struct json_writer *writer, const struct compact_pointer *pointer)
{
	json_begin_object(writer);
	json_member_text(writer, "why", pointer_reason_text(pointer->why));
	write_word(writer, "kind", item_kind_member(pointer->kind));
	if (pointer->count)
		json_member_uint(writer, "count", pointer->count);
	json_key(writer, "from");
	write_source(writer, &pointer->from);
	json_key(writer, "to");
	write_source(writer, &pointer->to);
	json_end_object(writer);
}

static void write_kind(struct json_writer *writer, const struct compact_record *record, enum item_kind kind)
{
	if (!compact_record_count(record, kind))
		return;
	json_key(writer, item_kind_member(kind));
	json_begin_array(writer);
	for (size_t i = 0; i < record->count; i++)
		if (record->items[i].kind == kind)
			write_item(writer, &record->items[i]);
	json_end_array(writer);
}

void compact_record_write_json(const struct compact_record *record, struct buffer *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	for (int kind = 0; kind < ITEM_KINDS; kind++)
		write_kind(&writer, record, (enum item_kind)kind);
	if (record->pointer_count) {
		json_key(&writer, "pointers");
		json_begin_array(&writer);
		for (size_t i = 0; i < record->pointer_count; i++)
			write_pointer(&writer, &record->pointers[i]);
		json_end_array(&writer);
	}
	json_end_object(&writer);
}

struct reader {
	struct compact_record *record;
	struct arena *arena;
	size_t skipped;
	int error;
};

static struct slice read_text(struct reader *reader, const struct json *object, const char *key)
{
	struct json value;
	struct slice text = {NULL, 0};

	if (json_get(object, key, &value) && value.type == JSON_STRING) {
		text = json_string_content(&value, reader->arena);
		if (!text.data)
			reader->error = BOBBIN_ENOMEM;
	}
	return text;
}

static bool read_bool(const struct json *object, const char *key)
{
	struct json value;
	bool is = false;

	return json_get(object, key, &value) && json_bool(&value, &is) && is;
}

static bool read_source(struct reader *reader, const struct json *value, struct item_source *ret_source)
{
	int64_t ordinal;

	if (value->type == JSON_STRING) {
		struct slice id = json_string_content(value, reader->arena);

		if (!id.data)
			reader->error = BOBBIN_ENOMEM;
		*ret_source = (struct item_source){SOURCE_NOWHERE, id};
		return id.len > 0;
	}
	if (!json_int64(value, &ordinal) || ordinal < 1 || ordinal >= SOURCE_NOWHERE)
		return false;
	*ret_source = (struct item_source){(uint32_t)(ordinal - 1), {NULL, 0}};
	return true;
}

/* The number of a word in a table of words; `none` if it is not in it. */
static int word_of(struct slice text, const char *(*word)(int), int count, int none)
{
	for (int i = 0; i < count; i++)
		if (*word(i) && slice_is(text, word(i)))
			return i;
	return none;
}

static const char *by_word(int i)
{
	return item_by_text((enum item_by)i);
}

static const char *tag_word(int i)
{
	return item_tag_text((enum item_tag)i);
}

static const char *kind_word(int i)
{
	return item_kind_member((enum item_kind)i);
}

static const char *reason_word(int i)
{
	return pointer_reason_text((enum pointer_reason)i);
}

static void read_sources(struct reader *reader, const struct json *value, struct compact_item *item)
{
	struct json from, element;
	struct json_iter iter;
	struct item_source source;

	if (!json_get(value, "from", &from))
		return;
	json_iter_init(&iter, &from);
	while (!reader->error && json_iter_next(&iter, NULL, &element))
		if (read_source(reader, &element, &source))
			reader->error = compact_item_add_source(reader->record, item, source);
}

static void read_item(struct reader *reader, enum item_kind kind, const struct json *value)
{
	struct compact_item item = compact_item_make(kind);
	struct json proof;

	if (value->type == JSON_STRING)
		item.text = json_string_content(value, reader->arena);
	else
		item.text = read_text(reader, value, "text");
	item.reason = read_text(reader, value, "reason");
	item.key = read_text(reader, value, "key");
	item.language = read_text(reader, value, "language");
	item.exact = read_bool(value, "exact");
	item.computed = read_bool(value, "computed");
	if (!item_state_of(read_text(reader, value, "state"), &item.state) ||
		!item_state_fits(kind, item.state))
		item.state = item_state_default(kind);
	item.by = (enum item_by)word_of(read_text(reader, value, "by"), by_word, BY_TOOL + 1, BY_NOBODY);
	item.tag = (enum item_tag)word_of(read_text(reader, value, "tag"), tag_word, ITEM_TAGS, TAG_NONE);
	item.target = (enum item_kind)word_of(
		read_text(reader, value, "target"), kind_word, ITEM_KINDS, ITEM_KINDS);
	if (json_get(value, "proof", &proof) && !read_source(reader, &proof, &item.proof))
		item.proof = compact_item_make(kind).proof;
	read_sources(reader, value, &item);
	if (reader->error)
		return;
	if (!compact_record_add(reader->record, &item, &reader->error) && !reader->error)
		reader->skipped++;
}

static void read_pointer(struct reader *reader, const struct json *value)
{
	struct compact_pointer pointer = {.kind = ITEM_KINDS};
	struct json member;
	int64_t count;

	pointer.why = (enum pointer_reason)word_of(
		read_text(reader, value, "why"), reason_word, POINTER_MISSING + 1, POINTER_MISSING);
	pointer.kind =
		(enum item_kind)word_of(read_text(reader, value, "kind"), kind_word, ITEM_KINDS, ITEM_KINDS);
	if (json_get(value, "count", &member) && json_int64(&member, &count) && count > 0 &&
		count < UINT32_MAX)
		pointer.count = (uint32_t)count;
	if (!json_get(value, "from", &member) || !read_source(reader, &member, &pointer.from) ||
		!json_get(value, "to", &member) || !read_source(reader, &member, &pointer.to))
		reader->skipped++;
	else if (!reader->error)
		reader->error = compact_record_add_pointer(reader->record, &pointer);
}

int compact_record_read_json(struct compact_record *record, const struct json *value, size_t *ret_skipped,
	struct bobbin_error *error)
{
	struct reader reader = {.record = record, .arena = record->arena};
	struct json list, element;
	struct json_iter iter;

	if (value->type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "a compaction record must be a JSON object");
	for (int kind = 0; kind < ITEM_KINDS; kind++) {
		json_get(value, item_kind_member((enum item_kind)kind), &list);
		if (list.type == JSON_STRING) { /* others write a heading's text as one string */
			read_item(&reader, (enum item_kind)kind, &list);
			continue;
		}
		json_iter_init(&iter, &list);
		while (list.type == JSON_ARRAY && !reader.error && json_iter_next(&iter, NULL, &element))
			read_item(&reader, (enum item_kind)kind, &element);
	}
	if (json_get(value, "pointers", &list) && list.type == JSON_ARRAY) {
		json_iter_init(&iter, &list);
		while (!reader.error && json_iter_next(&iter, NULL, &element))
			read_pointer(&reader, &element);
	}
	if (reader.error)
		return error_set(error, reader.error, "out of memory while reading a compaction record");
	if (ret_skipped)
		*ret_skipped = reader.skipped;
	return 0;
}
