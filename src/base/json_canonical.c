/* SPDX-License-Identifier: MIT */
/* One spelling for all texts of a JSON value, so that equal arguments have equal digests. */
#include <stdlib.h>
#include "base/arena.h"
#include "base/json.h"

struct member {
	struct slice key; /* decoded */
	struct json value;
};

static int member_order(const void *a, const void *b)
{
	const struct member *left = a, *right = b;
	size_t len = left->key.len < right->key.len ? left->key.len : right->key.len;
	int order = len ? memcmp(left->key.data, right->key.data, len) : 0;

	if (order)
		return order;
	return (left->key.len > right->key.len) - (left->key.len < right->key.len);
}

static bool add_value(struct buffer *out, struct arena *arena, const struct json *value);

static bool add_string(struct buffer *out, struct arena *arena, const struct json *string)
{
	struct slice content = json_string_content(string, arena);

	buffer_add_char(out, '"');
	json_escape(out, content);
	buffer_add_char(out, '"');
	return content.data != NULL;
}

static void add_number(struct buffer *out, const struct json *number)
{
	int64_t whole;

	if (json_int64(number, &whole))
		buffer_add_i64(out, whole);
	else
		buffer_add(out, number->text, number->len);
}

static bool add_array(struct buffer *out, struct arena *arena, const struct json *array)
{
	struct json_iter iter;
	struct json element;
	const char *before = "[";

	json_iter_init(&iter, array);
	for (; json_iter_next(&iter, NULL, &element); before = ",") {
		buffer_add_text(out, before);
		if (!add_value(out, arena, &element))
			return false;
	}
	buffer_add_text(out, *before == '[' ? "[]" : "]");
	return true;
}

static bool add_object(struct buffer *out, struct arena *arena, const struct json *object)
{
	size_t count = json_count(object), i = 0;
	struct member *members = arena_alloc(arena, (count + 1) * sizeof *members);
	struct json_iter iter;
	struct json key;

	if (!members)
		return false;
	json_iter_init(&iter, object);
	for (; i < count && json_iter_next(&iter, &key, &members[i].value); i++) {
		members[i].key = json_string_content(&key, arena);
		if (!members[i].key.data)
			return false;
	}
	/* Of equal keys the one that stands last counts, as everywhere; their places tell which that is. */
	qsort(members, count, sizeof *members, member_order);
	buffer_add_char(out, '{');
	bool first = true;
	for (i = 0; i < count; i++) {
		const struct json *value = &members[i].value;
		for (; i + 1 < count && slice_equal(members[i].key, members[i + 1].key); i++)
			if (members[i + 1].value.text > value->text)
				value = &members[i + 1].value;
		buffer_add_text(out, first ? "\"" : ",\"");
		json_escape(out, members[i].key);
		buffer_add_text(out, "\":");
		if (!add_value(out, arena, value))
			return false;
		first = false;
	}
	buffer_add_char(out, '}');
	return true;
}

static bool add_value(struct buffer *out, struct arena *arena, const struct json *value)
{
	switch (value->type) {
	case JSON_OBJECT:
		return add_object(out, arena, value);
	case JSON_ARRAY:
		return add_array(out, arena, value);
	case JSON_STRING:
		return add_string(out, arena, value);
	case JSON_NUMBER:
		add_number(out, value);
		return true;
	default:
		buffer_add(out, value->text, value->len);
		return true;
	}
}

int json_canonical(const struct json *value, struct buffer *out)
{
	struct arena arena = {0};
	bool done = add_value(out, &arena, value);
	arena_release(&arena);
	return done ? buffer_error(out) : BOBBIN_ENOMEM;
}
