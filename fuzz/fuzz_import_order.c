/* SPDX-License-Identifier: MIT */
/*
 * Lines that stand before the one they follow (transcript/import_order.h), by themselves and densely: two bytes of the input are one
 * line. Every whole record must come once; behind the one that it names, unless they name each other in a circle; those that name
 * the same one in the order of their lines; and in a file that is in order, all as they stand.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "transcript/import_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "fuzz_import_order.c:%d: not so: %s\n", __LINE__, #condition);       \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

#define LINES 200
#define NO_ID 15    /* in a nibble: the record has none */
#define EMPTY_ID 14 /* "", which names nothing */
#define NONE (-1)

enum { FLAG_GLUED = 1, FLAG_TORN = 2, FLAG_ESCAPED = 4, FLAG_LONG = 8 };

struct record {
	int id, parent; /* NONE, or 0 to 13 */
	uint64_t offset;
	int given; /* as which one; NONE: not yet */
};

struct file {
	struct record records[LINES];
	size_t count, given;
	uint32_t seen; /* by id */
	char text[LINES * 200];
	size_t len;
};

static void write_name(struct file *file, const char *key, int id, unsigned flags)
{
	char *out = file->text + file->len;
	size_t size = sizeof file->text - file->len;

	if (id == NO_ID)
		return;
	if (id == EMPTY_ID)
		file->len += (size_t)snprintf(out, size, ",\"%s\":\"\"", key);
	else if (flags & FLAG_ESCAPED)
		file->len += (size_t)snprintf(out, size, ",\"%s\":\"\\u%04x\"", key, 'a' + id);
	else
		file->len += (size_t)snprintf(out, size, ",\"%s\":\"%c\"", key, 'a' + id);
}

/* A torn line holds no whole record. */
static void write_line(struct file *file, unsigned names, unsigned flags)
{
	int id = names & 15, parent = (int)(names >> 4);

	if (!(flags & FLAG_TORN))
		file->records[file->count++] = (struct record){
			id < EMPTY_ID ? id : NONE, parent < EMPTY_ID ? parent : NONE, file->len, NONE};
	file->len += (size_t)snprintf(file->text + file->len, sizeof file->text - file->len, "{\"n\":%u%s", flags,
		flags & FLAG_LONG ? ",\"padding\":\"01234567890123456789012345678901234567890123456789\"" : "");
	write_name(file, "id", id, flags);
	write_name(file, "parent", parent, flags);
	if (!(flags & FLAG_TORN))
		file->text[file->len++] = '}';
	if (flags & FLAG_TORN || !(flags & FLAG_GLUED))
		file->text[file->len++] = '\n';
}

static void names(struct import *import, const struct json *record, struct slice *ret_id, struct slice *ret_parent)
{
	*ret_id = import_string(import, record, "id");
	*ret_parent = import_string(import, record, "parent");
}

/* As a reader does: what it made of the records is dropped when they come anew, and it says what it missed. */
static void take(struct file *file, struct import_order *order, struct slice parent, struct place place)
{
	size_t i = 0;

	if (order->anew) {
		file->given = file->seen = 0;
		for (size_t k = 0; k < file->count; k++)
			file->records[k].given = NONE;
	}
	while (i < file->count && file->records[i].offset != place.offset)
		i++;
	CHECK(i < file->count);
	struct record *record = &file->records[i];
	CHECK(record->given == NONE);
	record->given = (int)file->given++;
	CHECK(record->parent == NONE || (parent.len == 1 && parent.data[0] == 'a' + record->parent));
	if (record->parent != NONE && !(file->seen & 1u << record->parent))
		CHECK(import_order_missed(order, parent) == 0);
	if (record->id != NONE)
		file->seen |= 1u << record->id;
}

static bool is_named(const struct file *file, int id)
{
	for (size_t i = 0; i < file->count; i++) {
		if (file->records[i].id == id)
			return true;
	}
	return false;
}

/* Whether it follows nothing in the file, or itself. */
static bool is_root(const struct file *file, const struct record *record)
{
	return record->parent == NONE || record->parent == record->id || !is_named(file, record->parent);
}

/* Those ids that can be given without a circle being cut. */
static uint32_t reachable_ids(const struct file *file)
{
	uint32_t reached = 0, before;

	do {
		before = reached;
		for (size_t i = 0; i < file->count; i++) {
			const struct record *record = &file->records[i];
			if (record->id != NONE && (is_root(file, record) || reached & 1u << record->parent))
				reached |= 1u << record->id;
		}
	} while (reached != before);
	return reached;
}

/* When the first record of the id was given. */
static int first_given(const struct file *file, int id)
{
	int first = LINES;

	for (size_t i = 0; i < file->count; i++) {
		if (file->records[i].id == id && file->records[i].given < first)
			first = file->records[i].given;
	}
	return first;
}

static bool is_in_order(const struct file *file)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < file->count; i++) {
		const struct record *record = &file->records[i];
		if (!is_root(file, record) && !(seen & 1u << record->parent))
			return false;
		if (record->id != NONE)
			seen |= 1u << record->id;
	}
	return true;
}

static void check(const struct file *file)
{
	uint32_t reached = reachable_ids(file);
	bool in_order = is_in_order(file);

	CHECK(file->given == file->count);
	for (size_t i = 0; i < file->count; i++) {
		const struct record *record = &file->records[i];
		CHECK(!in_order || record->given == (int)i);
		if (is_root(file, record) || !(reached & 1u << record->parent))
			continue;
		CHECK(first_given(file, record->parent) < record->given);
		for (size_t k = 0; k < i; k++) {
			const struct record *other = &file->records[k];
			CHECK(other->parent != record->parent || is_root(file, other) || other->given < record->given);
		}
	}
	/* Roots wait for nothing. */
	for (size_t i = 0, last = 0; i < file->count; i++) {
		const struct record *record = &file->records[i];
		if (!is_root(file, record))
			continue;
		CHECK(record->given >= (int)last);
		last = (size_t)record->given;
	}
}

static ssize_t read_at(void *context, void *data, size_t len, uint64_t offset)
{
	const struct file *file = context;
	size_t rest = offset < file->len ? file->len - (size_t)offset : 0;

	if (len > rest)
		len = rest;
	memcpy(data, file->text + offset, len);
	return (ssize_t)len;
}

/* `piece_bytes` 0: the file is in memory. */
static void read_all(struct file *file, size_t piece_bytes)
{
	const struct import_source source = {
		.context = file, .size = file->len, .read_at = read_at, .head_bytes = 1, .piece_bytes = piece_bytes};
	struct import import = {.arena = ARENA_INIT, .scratch = ARENA_INIT, .format = "pi"};
	struct import_order order;
	struct json record;
	struct place place;
	struct slice id, parent;
	int rc;

	if (piece_bytes)
		import.source = &source;
	file->given = file->seen = 0;
	for (size_t i = 0; i < file->count; i++)
		file->records[i].given = NONE;
	import_order_init(&order, &import, piece_bytes ? NULL : file->text, piece_bytes ? 0 : file->len, names);
	while ((rc = import_order_next(&order, &record, &place)) > 0) {
		names(&import, &record, &id, &parent);
		take(file, &order, parent, place);
	}
	CHECK(rc == 0 && import_order_tell(&order) == 0);
	check(file);
	import_order_release(&order);
	mem_free(import.window);
	import.window = NULL;
	arena_release(&import.scratch);
	import_release(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t PIECES[] = {1, 2, 7, 31, 64, 256};
	static struct file file;

	file.count = file.len = 0;
	for (size_t i = 0; i + 1 < len && i / 2 < LINES; i += 2)
		write_line(&file, data[i], data[i + 1] & 15);
	read_all(&file, 0);
	read_all(&file, PIECES[crc32c(0, data, len) % (sizeof PIECES / sizeof PIECES[0])]);
	return 0;
}
