/* SPDX-License-Identifier: MIT */
/*
 * Duplicate keys, compared decoded. Keys are collected, sorted, and neighbours compared: n log n whatever the
 * keys are, where a hash table could be attacked. Few keys need no memory; without memory many keys are gone
 * through in pieces that fit the stack, slowly but with the same answer.
 */
#include "base/alloc.h"
#include "base/json_string.h"

#define KEYS_ON_STACK 64
#define KEYS_INSERTION 16 /* below this an insertion sort is faster */

struct key {
	uint64_t head; /* the decoded key's first 8 bytes, big-endian: most comparisons end here */
	const char *text;
	size_t len;
};

static struct json key_string(const struct key *key)
{
	return (struct json){key->text, key->len, JSON_STRING};
}

static uint64_t key_head(const struct json *string)
{
	struct json_cursor cursor = json_cursor_of(string);
	char bytes[12] = {0};
	unsigned len = 0;
	while (len < 8 && cursor.at < cursor.end) {
		if (*cursor.at == '\\')
			len += json_cursor_next(&cursor, bytes + len);
		else
			bytes[len++] = *cursor.at++;
	}
	uint64_t head = 0;
	for (unsigned i = 0; i < 8; i++)
		head = head << 8 | (unsigned char)bytes[i];
	return head;
}

static int key_compare(const struct key *a, const struct key *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	struct json left = key_string(a), right = key_string(b);
	return json_string_compare(&left, &right);
}

static void key_insertion_sort(struct key *keys, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct key key = keys[i];
		size_t at = i;
		for (; at > 0 && key_compare(&keys[at - 1], &key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static void key_sift(struct key *keys, size_t root, size_t count)
{
	struct key key = keys[root];
	for (;;) {
		size_t child = 2 * root + 1;
		if (child >= count)
			break;
		if (child + 1 < count && key_compare(&keys[child], &keys[child + 1]) < 0)
			child++;
		if (key_compare(&key, &keys[child]) >= 0)
			break;
		keys[root] = keys[child];
		root = child;
	}
	keys[root] = key;
}

/* Heap sort: no recursion, no memory, no bad case. */
static void key_sort(struct key *keys, size_t count)
{
	if (count <= KEYS_INSERTION) {
		key_insertion_sort(keys, count);
		return;
	}
	for (size_t i = count / 2; i-- > 0;)
		key_sift(keys, i, count);
	for (size_t last = count - 1; last > 0; last--) {
		struct key key = keys[0];
		keys[0] = keys[last];
		keys[last] = key;
		key_sift(keys, 0, last);
	}
}

static size_t key_collect(struct json_iter *iter, struct key *keys, size_t room)
{
	struct json name, value;
	size_t count = 0;
	while (count < room && json_iter_next(iter, &name, &value))
		keys[count++] = (struct key){key_head(&name), name.text, name.len};
	return count;
}

static bool key_is_among(const struct key *keys, size_t count, const struct key *wanted)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = key_compare(&keys[middle], wanted);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Is there a duplicate of one of these keys, among themselves or in what follows at `rest`? */
static bool key_repeats(struct key *keys, size_t count, struct json_iter rest, struct json *ret_key)
{
	struct key other;
	key_sort(keys, count);
	for (size_t i = 1; i < count; i++) {
		if (key_compare(&keys[i - 1], &keys[i]) == 0) {
			*ret_key = key_string(&keys[i]);
			return true;
		}
	}
	while (key_collect(&rest, &other, 1) > 0) {
		if (key_is_among(keys, count, &other)) {
			*ret_key = key_string(&other);
			return true;
		}
	}
	return false;
}

bool json_has_duplicate_key(const struct json *object, struct json *ret_key)
{
	struct key few[KEYS_ON_STACK], *keys = few, *many = NULL;
	struct json_iter iter;
	struct json found;
	bool repeats = false;

	if (object->type != JSON_OBJECT)
		return false;
	json_iter_init(&iter, object);
	size_t room = KEYS_ON_STACK, count = key_collect(&iter, few, room);
	if (count == room) {
		size_t members = json_count(object);
		many = mem_realloc_array(NULL, members, sizeof *many);
		if (many) {
			keys = many;
			room = members;
			json_iter_init(&iter, object);
			count = key_collect(&iter, keys, room);
		}
	}
	while (!repeats && count > 0) {
		repeats = key_repeats(keys, count, iter, &found);
		count = key_collect(&iter, keys, room);
	}
	mem_free(many);
	if (repeats && ret_key)
		*ret_key = found;
	return repeats;
}

bool json_has_duplicate_key_within(const struct json *value, unsigned depth, struct json *ret_key)
{
	struct json_iter iter;
	struct json key, member;

	if (json_has_duplicate_key(value, ret_key))
		return true;
	json_iter_init(&iter, value);
	while (depth > 0 && json_iter_next(&iter, &key, &member))
		if ((member.type == JSON_OBJECT || member.type == JSON_ARRAY) &&
			json_has_duplicate_key_within(&member, depth - 1, ret_key))
			return true;
	return false;
}
