/* SPDX-License-Identifier: MIT */
/*
 * A key that stands twice in a record: a store refuses such a record, and with it the whole import. Readers copy what they keep byte
 * for byte, so a damaged or careless file can have some. As everywhere the last one counts. What lies deeper than a store looks, in
 * arguments and the like, stays as it is.
 */
#include "transcript/import_tools.h"

#include "base/limits.h"

struct rewriting {
	struct arena arena; /* decoded keys; of one record */
	int rc;
};

static void write_once(struct rewriting *rewriting, struct json_writer *writer, const struct json *value, unsigned depth);

/* Which member of each key is the last. */
static void note_keys(struct rewriting *rewriting, const struct json *object, struct id_table *last)
{
	struct json_iter iter;
	struct json key, value;
	json_iter_init(&iter, object);
	for (size_t i = 0; !rewriting->rc && json_iter_next(&iter, &key, &value); i++) {
		struct slice text = json_string_content(&key, &rewriting->arena);
		rewriting->rc = text.data ? id_table_put(last, text, i) : BOBBIN_ENOMEM;
	}
}

static void write_object(struct rewriting *rewriting, struct json_writer *writer, const struct json *object, unsigned depth)
{
	struct id_table last = {0};
	struct json_iter iter;
	struct json key, value;
	size_t which;
	note_keys(rewriting, object, &last);
	json_begin_object(writer);
	json_iter_init(&iter, object);
	for (size_t i = 0; !rewriting->rc && json_iter_next(&iter, &key, &value); i++) {
		struct slice text = json_string_content(&key, &rewriting->arena);
		if (!text.data)
			rewriting->rc = BOBBIN_ENOMEM;
		else if (id_table_get(&last, text, &which) && which == i) {
			json_key_slice(writer, text);
			write_once(rewriting, writer, &value, depth - 1);
		}
	}
	json_end_object(writer);
	id_table_release(&last);
}

static void write_once(struct rewriting *rewriting, struct json_writer *writer, const struct json *value, unsigned depth)
{
	struct json_iter iter;
	struct json element;
	if (depth > LIMIT_DUPLICATE_KEY_DEPTH || !json_has_duplicate_key_within(value, depth, NULL)) {
		json_add_value(writer, value); /* below 0 as well: it is unsigned */
	} else if (value->type == JSON_OBJECT) {
		write_object(rewriting, writer, value, depth);
	} else {
		json_begin_array(writer);
		json_iter_init(&iter, value);
		while (!rewriting->rc && json_iter_next(&iter, NULL, &element))
			write_once(rewriting, writer, &element, depth - 1);
		json_end_array(writer);
	}
}

int import_keys_once(struct import *import, const struct json *record, struct buffer *out)
{
	struct rewriting rewriting = {.rc = 0};
	struct json_writer writer;
	buffer_clear(out);
	json_writer_init(&writer, out);
	write_once(&rewriting, &writer, record, LIMIT_DUPLICATE_KEY_DEPTH);
	arena_release(&rewriting.arena);
	import->damages[DAMAGE_KEY_TWICE]++;
	return rewriting.rc ? rewriting.rc : buffer_error(out);
}
