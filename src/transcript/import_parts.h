/* SPDX-License-Identifier: MIT */
/*
 * What several readers of documents read and write alike: calls as OpenAI's API nests them, "src" that does not
 * repeat the content, made-up ids. Used only inside this room.
 */
#ifndef TRANSCRIPT_IMPORT_PARTS_H
#define TRANSCRIPT_IMPORT_PARTS_H

#include "transcript/import_builder.h"

/* True if the member is a string with that text. */
bool part_is(const struct json *object, const char *key, const char *text);
bool part_has(const struct json *object, const char *key);
/* True if the member is an array or an object, as the name says; ret_value is JSON_ABSENT otherwise. */
bool part_list(const struct json *object, const char *key, struct json *ret_value);
bool part_object(const struct json *object, const char *key, struct json *ret_value);
bool part_flag(const struct json *object, const char *key); /* true if it is there and true */
bool part_first(const struct json *list, struct json *ret_value);
/* True if the string's decoded text begins so; JSON that is no string does not. */
bool part_starts_with(const struct json *string, const char *text);

/* "content": a string, a list or null as it is, an object as a list of it; what can be none of these as its JSON text. */
void write_content_of(struct json_writer *writer, const struct json *content);
/* The content as write_content_of writes it, if it goes out as it is; empty otherwise: what "src" may point into. */
struct slice part_shown(const struct json *content);
/* Elements of a content that is a string (one text block, none if it is empty) or a list (its elements). */
void write_blocks_of(struct json_writer *writer, const struct json *content);
/* "tool_calls", flat, from a list of {"id","type":"function","function":{"name","arguments"}}; none if it is empty. */
void write_calls_of(struct json_writer *writer, const struct json *calls);
/* "usage" from what chat completions report. */
void write_usage_of(struct builder *builder, const struct json *usage);
/* "ts" of seconds since 1970, also broken ones. */
void write_seconds(struct json_writer *writer, const struct json *seconds);

/* The members of an object but these, without what stands in the content (import_tools.h). */
void write_members_once(struct json_writer *writer, const struct json *object, const char *const *except,
	struct slice content);
/* The same as a member `key`, an object; nothing if it would be empty. */
void write_object_once(struct json_writer *writer, const char *key, const struct json *object,
	const char *const *except, struct slice content);

/* "call-3": an id for what has none. {NULL, 0} when memory is out. */
struct slice import_numbered(struct import *import, const char *prefix, uint64_t number);

/* The end of a reader of one document: the builder is released; without a conversation BOBBIN_EINPUT that says so. */
int import_finish(struct builder *builder, int rc, const char *format, struct bobbin_error *error);

#endif
