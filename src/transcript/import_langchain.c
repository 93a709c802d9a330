/* SPDX-License-Identifier: MIT */
/*
 * LangChain's serialised messages, wherever they stand in a document: a list, a state, a recorded stream.
 *
 *	{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],
 *	 "kwargs":{"id","content","tool_calls":[{name,args,id}],"tool_call_chunks":[{name,args,id,index}],
 *	           "tool_call_id","status","usage_metadata","response_metadata","additional_kwargs"}}
 *	{"type":"ai","data":{the same kwargs}}                               as messages_to_dict writes them
 *	[chunk, {"langgraph_checkpoint_ns",…}]                               a piece of a streamed message,
 * with its metadata
 *
 * A stream holds the pieces of each message and then, again and again, the whole state. What a message is, is
 * told by its id, in the order of first appearance:
 *
 *	pieces      with the same id, or of the same checkpoint namespace (the id may change within a
 * message), are one message: texts and arguments joined in order whole       replaces pieces and earlier
 * wholes: the last one wins no id       is told by its bytes and how often they stand in the same list
 *
 * Human, AI, Tool and Function messages become messages. System messages are left out, and so are removals
 * (the message was shown before it was removed). Other classes are counted.
 */
#include "transcript/import_langchain.h"
#include "transcript/import_readers.h"

#include "base/limits.h"

static bool ends_with(struct slice text, const char *tail)
{
	size_t len = strlen(tail);
	return text.len >= len && memcmp(text.data + text.len - len, tail, len) == 0;
}

static int add_entry(struct lang *lang, struct slice key, struct slice class, size_t *ret_index)
{
	if (mem_grow((void **)&lang->entries, &lang->entry_cap, lang->entry_count + 1,
		    sizeof(*lang->entries)) < 0)
		return BOBBIN_ENOMEM;
	*ret_index = lang->entry_count++;
	lang->entries[*ret_index] =
		(struct lang_entry){.class = class, .first_piece = LANG_NONE, .last_piece = LANG_NONE};
	return key.data ? id_table_put(&lang->ids, key, *ret_index) : 0;
}

static int add_piece(struct lang *lang, size_t entry_index, const struct json *kwargs)
{
	struct lang_entry *entry = &lang->entries[entry_index];

	if (mem_grow((void **)&lang->pieces, &lang->piece_cap, lang->piece_count + 1, sizeof(*lang->pieces)) <
		0)
		return BOBBIN_ENOMEM;
	lang->pieces[lang->piece_count] = (struct lang_piece){*kwargs, LANG_NONE};
	if (entry->last_piece == LANG_NONE)
		entry->first_piece = lang->piece_count;
	else
		lang->pieces[entry->last_piece].next = lang->piece_count;
	entry->last_piece = lang->piece_count++;
	entry->piece_count++;
	return 0;
}

static int read_piece(
	struct lang *lang, const struct json *kwargs, struct slice class, const struct json *metadata)
{
	struct import *import = lang->builder.import;
	struct slice id = import_string(import, kwargs, "id");
	struct slice space = import_string(import, metadata, "langgraph_checkpoint_ns");
	size_t index;
	int rc = 0;

	if (!space.data)
		space = import_string(import, metadata, "checkpoint_ns");
	bool goes_on = lang->last != LANG_NONE && space.data && slice_equal(space, lang->space) &&
		       slice_equal(class, lang->entries[lang->last].class);
	if (!id_table_get(&lang->ids, id, &index)) {
		if (goes_on) {
			index = lang->last;
			rc = id.data ? id_table_put(&lang->ids, id, index) : 0;
		} else {
			rc = add_entry(lang, id, class, &index);
			if (!rc) {
				lang->entries[index].id = id;
				lang->entries[index].metadata = *metadata;
			}
		}
	}
	if (rc)
		return rc;
	lang->last = index;
	lang->space = space;
	return add_piece(lang, index, kwargs);
}

/* The bytes of a message without an id; the second time in one list they are another message. */
static struct slice key_by_bytes(struct lang *lang, const struct json *kwargs)
{
	struct slice bytes = {kwargs->text, kwargs->len};
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	size_t times = 0;

	id_table_get(&lang->seen, bytes, &times);
	if (id_table_put(&lang->seen, bytes, times + 1) < 0)
		return (struct slice){NULL, 0};
	if (times == 0)
		return bytes;
	buffer_add_slice(&text, bytes);
	buffer_add_char(&text, '#');
	buffer_add_u64(&text, times);
	struct slice key = buffer_error(&text) ? (struct slice){NULL, 0}
					       : import_keep(lang->builder.import, buffer_slice(&text));
	buffer_release(&text);
	return key;
}

static int read_whole(struct lang *lang, const struct json *kwargs, struct slice class)
{
	struct slice id = import_string(lang->builder.import, kwargs, "id"), key = id;
	size_t index;

	if (!key.data && !(key = key_by_bytes(lang, kwargs)).data)
		return BOBBIN_ENOMEM;
	if (!id_table_get(&lang->ids, key, &index)) {
		int rc = add_entry(lang, key, class, &index);
		if (rc)
			return rc;
		lang->entries[index].id = id;
	}
	lang->entries[index].whole = *kwargs;
	lang->entries[index].class = class;
	lang->last = LANG_NONE;
	return 0;
}

/* The class and kwargs of a serialised message; *ret_class {NULL, 0} if it is none. */
static bool get_message(
	struct import *import, const struct json *value, struct json *ret_kwargs, struct slice *ret_class)
{
	static const char *const TYPES[] = {"human", "HumanMessage", "ai", "AIMessage", "tool", "ToolMessage",
		"system", "SystemMessage", "function", "FunctionMessage", "chat", "ChatMessage", NULL};
	struct json ids, id, last = {NULL, 0, JSON_ABSENT};
	struct json_iter iter;

	*ret_class = (struct slice){NULL, 0};
	if (part_has(value, "lc") && part_is(value, "type", "constructor") && part_list(value, "id", &ids) &&
		part_object(value, "kwargs", ret_kwargs)) {
		json_iter_init(&iter, &ids);
		while (json_iter_next(&iter, NULL, &id))
			last = id;
		*ret_class = json_string_content(&last, &import->arena);
		return true;
	}
	if (!part_object(value, "data", ret_kwargs) || !part_has(ret_kwargs, "content"))
		return false;
	for (size_t i = 0; TYPES[i]; i += 2) {
		if (part_is(value, "type", TYPES[i]))
			*ret_class = slice_of(TYPES[i + 1]);
	}
	return ret_class->data != NULL;
}

static int walk(struct lang *lang, const struct json *value);

/* A message and what the stream says of it, in this order or, in a file that was reordered, the other; false if the list is
 * something else. */
static bool is_pair(struct lang *lang, const struct json *list, struct json *ret_kwargs,
	struct slice *ret_class, struct json *ret_metadata)
{
	struct json_iter iter;
	struct json first, second;

	if (json_count(list) != 2)
		return false;
	json_iter_init(&iter, list);
	json_iter_next(&iter, NULL, &first);
	json_iter_next(&iter, NULL, &second);
	bool turned = first.type == JSON_OBJECT && part_has(&first, "langgraph_checkpoint_ns");
	*ret_metadata = turned ? first : second;
	if (turned)
		first = second;
	return ret_metadata->type == JSON_OBJECT && !part_has(ret_metadata, "lc") &&
	       !part_has(ret_metadata, "data") &&
	       get_message(lang->builder.import, &first, ret_kwargs, ret_class) &&
	       ends_with(*ret_class, "MessageChunk");
}

static int walk_members(struct lang *lang, const struct json *container)
{
	struct json_iter iter;
	struct json value;
	int rc = 0;

	json_iter_init(&iter, container);
	while (!rc && json_iter_next(&iter, NULL, &value)) {
		if (value.type == JSON_ARRAY || value.type == JSON_OBJECT)
			rc = walk(lang, &value);
	}
	return rc;
}

static int walk(struct lang *lang, const struct json *value)
{
	struct json kwargs, metadata;
	struct slice class;

	if (value->type == JSON_ARRAY) {
		if (is_pair(lang, value, &kwargs, &class, &metadata))
			return read_piece(lang, &kwargs, class, &metadata);
		id_table_release(&lang->seen);
		return walk_members(lang, value);
	}
	if (!get_message(lang->builder.import, value, &kwargs, &class))
		return walk_members(lang, value);
	if (ends_with(class, "RemoveMessage"))
		return import_left_out(lang->builder.import, lang->place, "{removal of a message|removals of messages}");
	if (!ends_with(class, "Message") && !ends_with(class, "MessageChunk"))
		return import_not_understood(
			lang->builder.import, lang->place, "{object|objects} of the class", class);
	return read_whole(lang, &kwargs, class);
}

static int read_any(void *reader, const struct json *value, struct place place)
{
	struct lang *lang = reader;

	lang->place = place;
	return walk(lang, value);
}

static int read_all(struct lang *lang, const char *data, size_t len, struct bobbin_error *error)
{
	int rc = import_values(lang->builder.import, data, len, read_any, lang, error);

	for (size_t i = 0; i < lang->entry_count && !rc; i++)
		rc = lang_write(lang, i);
	return rc ? rc
		  : builder_conversation(&lang->builder, (struct slice){NULL, 0}, (struct slice){NULL, 0});
}

/* How far a message is looked for: documents hold it a few levels down, in the first elements of their lists.
 */
#define PROBE_LEVELS 6
#define PROBE_MEMBERS 8

static bool holds_message(const struct json *value, int levels)
{
	struct json_iter iter;
	struct json member, first, data;

	if (part_has(value, "lc") && part_is(value, "type", "constructor"))
		return true;
	if (part_object(value, "data", &data) && part_has(&data, "content") &&
		part_has(&data, "additional_kwargs"))
		return true;
	if (levels == 0 || (value->type == JSON_OBJECT && part_has(value, "role")))
		return false;
	json_iter_init(&iter, value);
	for (int i = 0; i < PROBE_MEMBERS &&
			json_iter_next(&iter, value->type == JSON_OBJECT ? &first : NULL, &member);
		i++) {
		if ((member.type == JSON_ARRAY || member.type == JSON_OBJECT) &&
			holds_message(&member, levels - 1))
			return true;
	}
	return false;
}

bool import_is_langchain(const struct import_probe *probe)
{
	return (probe->value.type == JSON_ARRAY || probe->value.type == JSON_OBJECT) &&
	       memmem(probe->value.text, probe->value.len, "\"additional_kwargs\"", 19) &&
	       holds_message(&probe->value, PROBE_LEVELS);
}

int import_langchain(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct lang lang = {.last = LANG_NONE};

	builder_init(&lang.builder, import);
	int rc = read_all(&lang, data, len, error);
	mem_free(lang.entries);
	mem_free(lang.pieces);
	id_table_release(&lang.ids);
	id_table_release(&lang.seen);
	return import_finish(&lang.builder, rc, "langchain", error);
}
