/* SPDX-License-Identifier: MIT */
/* Changing one member of an object and no other byte of it. */
#include <assert.h>
#include "base/json.h"

static void add_between(struct buffer *out, const char *begin, const char *after)
{
	buffer_add(out, begin, (size_t)(after - begin));
}

static const char *end_of(const struct json *value)
{
	return value->text + value->len;
}

/* In place, or after the last member. */
static void set_member(struct buffer *out, const struct json *object, const char *key, struct slice value)
{
	struct json old;
	if (json_get(object, key, &old)) {
		add_between(out, object->text, old.text);
		buffer_add_slice(out, value);
		add_between(out, end_of(&old), end_of(object));
		return;
	}
	struct json_iter iter;
	struct json name, member;
	const char *last = object->text + 1;
	bool empty = true;
	json_iter_init(&iter, object);
	while (json_iter_next(&iter, &name, &member)) {
		last = end_of(&member);
		empty = false;
	}
	add_between(out, object->text, last);
	struct json_writer writer = {out, !empty};
	json_key(&writer, key);
	json_add_raw(&writer, value);
	add_between(out, last, end_of(object));
}

/* With a member goes the comma before it, or after it if nothing is left before. */
static void remove_member(struct buffer *out, const struct json *object, const char *key)
{
	struct json_iter iter;
	struct json name, member;
	const char *kept = object->text + 1; /* the end of the member before, or of the bracket */
	bool first = true, any_kept = false;
	json_iter_init(&iter, object);
	buffer_add_char(out, '{');
	while (json_iter_next(&iter, &name, &member)) {
		if (first)
			add_between(out, kept, name.text);
		first = false;
		if (!json_string_is(&name, key)) {
			add_between(out, any_kept ? kept : name.text, end_of(&member));
			any_kept = true;
		}
		kept = end_of(&member);
	}
	add_between(out, kept, end_of(object));
}

void json_splice(struct buffer *out, const struct json *object, const char *key, struct slice value)
{
	assert(object->type == JSON_OBJECT);
	if (value.data)
		set_member(out, object, key, value);
	else
		remove_member(out, object, key);
}
