/* SPDX-License-Identifier: MIT */
/*
 * Which format a file is of.
 *
 * A format is recognised by the members of its first records, never by the file's name. A file of plain
 * messages, one a line, could be bobbin's or OpenAI's: seq, crc and flat calls make it the one, a system
 * message and calls nested under "function" the other; where nothing tells, both mean the same and bobbin's
 * reader keeps more.
 */
#include <stdio.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_document.h"
#include "transcript/import_readers.h"
#include "transcript/import_tools.h"

static bool has(const struct json *object, const char *key)
{
	struct json value;
	return json_get(object, key, &value);
}

static bool is_list(const struct json *object, const char *key, struct json *ret_list)
{
	return json_get(object, key, ret_list) && ret_list->type == JSON_ARRAY;
}

/* Other products' messages have a role, too, but hold their text elsewhere ("parts"), or are items among
 * items that are no messages ("type"): read as one of ours they would be empty, or one of many. */
static bool has_body(const struct json *message)
{
	return !has(message, "type") && (has(message, "content") || has(message, "tool_calls") ||
						has(message, "function_call") || has(message, "refusal"));
}

/* A bare message: NULL with "maybe" set when it could be either format's. */
static const char *judge_message(const struct json *message, bool *maybe)
{
	struct json role, calls, call;
	struct json_iter iter;

	if (has(message, "seq") || has(message, "crc") || has(message, "parent") || has(message, "origin"))
		return "bobbin";
	if (!has_body(message))
		return NULL;
	json_get(message, "role", &role);
	if (json_string_is(&role, "system") || json_string_is(&role, "developer") ||
		json_string_is(&role, "function") || has(message, "function_call"))
		return "openai-chat";
	*maybe = json_string_is(&role, "user") || json_string_is(&role, "assistant") ||
		 json_string_is(&role, "tool");
	if (!is_list(message, "tool_calls", &calls))
		return NULL;
	json_iter_init(&iter, &calls);
	if (!json_iter_next(&iter, NULL, &call))
		return NULL;
	return has(&call, "function") || has(&call, "custom") ? "openai-chat" : "bobbin";
}

/* A list of messages as OpenAI's API takes them; other products wrap lists under the same name. */
static bool is_chat(const struct json *messages)
{
	struct json_iter iter;
	struct json message, role;

	json_iter_init(&iter, messages);
	return json_iter_next(&iter, NULL, &message) && json_get(&message, "role", &role) &&
	       (json_string_is(&role, "system") || json_string_is(&role, "developer") ||
		       json_string_is(&role, "user") || json_string_is(&role, "assistant"));
}

static const char *judge_typed(const struct json *record, const struct json *type)
{
	static const char *const CLAUDE[] = {"user", "assistant", "progress", "system", "summary",
		"queue-operation", "file-history-snapshot", "file-history-delta", "pr-link", "attachment"};

	if (json_string_is(type, "session"))
		return has(record, "v") || has(record, "owner") || has(record, "parentId") ? "bobbin"
		       : has(record, "cwd") || has(record, "timestamp")			   ? "pi"
											   : "bobbin";
	if (json_string_is(type, "message") && has(record, "message"))
		return "pi";
	if (has(record, "seq") && (has(record, "crc") || json_string_is(type, "usage")))
		return "bobbin";
	for (size_t i = 0; i < sizeof(CLAUDE) / sizeof(CLAUDE[0]); i++) {
		if (json_string_is(type, CLAUDE[i]) &&
			(has(record, "sessionId") || has(record, "uuid") || has(record, "leafUuid") ||
				has(record, "snapshot")))
			return "claude-code";
	}
	return NULL;
}

/* The format of one value by its members alone, or NULL if they do not tell. */
static const char *judge(const struct json *value, bool *maybe)
{
	struct json type, list, first;
	struct json_iter iter;

	if (value->type == JSON_ARRAY) {
		json_iter_init(&iter, value);
		const char *name = json_iter_next(&iter, NULL, &first) ? judge(&first, maybe) : NULL;
		return name ? name : *maybe ? "openai-chat" : NULL;
	}
	if (value->type != JSON_OBJECT)
		return NULL;
	if (json_get(value, "type", &type) && type.type == JSON_STRING && !has(value, "role"))
		return judge_typed(value, &type);
	if (has(value, "role"))
		return judge_message(value, maybe);
	if (is_list(value, "prompts", &list) || is_list(value, "interactions", &list) ||
		is_list(value, "traj", &list))
		return "openai-chat";
	if (is_list(value, "messages", &list) && !has(value, "system") && !has(value, "trajectory_format") &&
		!has(value, "agents") && is_chat(&list))
		return "openai-chat";
	return NULL;
}

static const char *ask_readers(const struct import_probe *probe)
{
	const struct reader *reader;

	for (size_t i = 0; (reader = import_reader_at(i)); i++) {
		if (reader->is && reader->is(probe))
			return reader->name;
	}
	return NULL;
}

/* Of a list the first may be what a damage has left of it. */
#define DETECT_ELEMENTS 3

/* The readers that look for themselves, then judge(). */
static const char *ask(struct import_probe *probe, bool *maybe)
{
	struct json_iter iter;
	const char *name = NULL;

	probe->first = probe->value;
	if (probe->value.type != JSON_ARRAY) {
		name = ask_readers(probe);
	} else {
		json_iter_init(&iter, &probe->value);
		for (int i = 0; !name && i < DETECT_ELEMENTS && json_iter_next(&iter, NULL, &probe->first); i++)
			name = ask_readers(probe);
	}
	return name ? name : judge(&probe->value, maybe);
}

/* How many records are looked at; a format's first ones may be of kinds that others have too. */
#define DETECT_RECORDS 100

static const char *detect_lines(struct import_probe *probe, bool *maybe)
{
	struct import scratch = {.arena = ARENA_INIT};
	struct import_lines lines;
	struct place place;
	const char *name = NULL;

	import_lines_init(&lines, &scratch, probe->data.data, probe->data.len);
	while (!name && lines.values < DETECT_RECORDS && import_lines_next(&lines, &probe->value, &place) > 0)
		name = ask(probe, maybe);
	import_release(&scratch);
	return name ? name : *maybe ? "bobbin" : NULL;
}

/* A document that is damaged, by what is left of it. */
static const char *detect_damaged(struct import_probe *probe, bool *maybe)
{
	struct import scratch = {.arena = ARENA_INIT};
	const char *name = NULL;

	if (import_document(&scratch, probe->data.data, probe->data.len, &probe->value, NULL) == 0) {
		probe->document = true;
		name = ask(probe, maybe);
		if (!name && *maybe && probe->value.type == JSON_ARRAY)
			name = "openai-chat";
	}
	import_release(&scratch);
	return name;
}

#define LOST_BYTES (16u << 20) /* of a document that is read as each format */

#define TOLD (1ull << 40)

/* How many messages a reader finds in a document that lost its beginning. If what it is mended to is told to be that format, TOLD more
 * by a reader that looks for itself, because others may find the same messages again and again; else four times as many. */
static uint64_t rate_lost(struct import_probe *probe, const struct reader *reader)
{
	struct import scratch = {.arena = ARENA_INIT, .format = reader->name};
	bool maybe = false, is = false;
	uint64_t score = 0;

	if (import_document(&scratch, probe->data.data, probe->data.len, &probe->value, NULL) == 0) {
		const char *name = ask(probe, &maybe);
		is = name && strcmp(name, reader->name) == 0;
	}
	if (scratch.warning_count && reader->read(&scratch, probe->data.data, probe->data.len, NULL) == 0) {
		for (size_t i = 0; i < scratch.conversation_count; i++)
			score += scratch.conversations[i].messages;
	}
	import_release(&scratch);
	return !is || !score ? score : reader->is ? score + TOLD : 4 * score;
}

/* The names around its messages are lost, so the one that finds most in it; of those that find as much, those that look closely
 * come first. One message that is not told to be of a format is none. */
static const char *detect_lost(const char *data, size_t len)
{
	struct import_probe probe = {.data = {data, len}, .document = true};
	const char *name = NULL;
	uint64_t best = 1;

	if (len > LOST_BYTES || import_has_many(data, len))
		return NULL;
	for (int sure = 1; sure >= 0; sure--) {
		const struct reader *reader;
		for (size_t i = 0; (reader = import_reader_at(i)); i++) {
			uint64_t score = (reader->is != NULL) == sure ? rate_lost(&probe, reader) : 0;
			if (score > best) {
				best = score;
				name = reader->name;
			}
		}
	}
	return name;
}

/* Whether what follows its first value belongs to a list or an object that began before. */
static bool lost_beginning(const char *data, size_t len, size_t used)
{
	while (used < len && import_is_space(data[used]))
		used++;
	return used < len && strchr(",]}", data[used]);
}

/* Looks at whole records; what is broken is the reader's to report. `whole`: it is all of the file. */
static const char *detect(const char *data, size_t len, bool whole)
{
	struct import_probe probe = {.data = {data, len}};
	bool maybe = false;
	size_t at = 0, used = 0;

	while (at < len && (import_is_space(data[at]) || (unsigned char)data[at] >= 0x80))
		at++;
	/* A document over several lines, or a list that breaks off, is no file of lines. */
	bool bracket = at < len && (data[at] == '[' || data[at] == '{');
	if (bracket && json_parse(data, len, &probe.value, NULL) == 0) {
		probe.document = true;
		const char *name = ask(&probe, &maybe);
		return name ? name : maybe ? "bobbin" : NULL;
	}
	if (bracket && json_parse_prefix(data + at, len - at, &probe.value, &used, NULL) < 0) {
		const char *name = detect_damaged(&probe, &maybe);
		if (name || data[at] == '[')
			return name;
		probe.document = false;
	}
	const char *name = detect_lines(&probe, &maybe);
	if (!name && whole && bracket && lost_beginning(data + at, len - at, used))
		name = detect_lost(data, len);
	if (!name && whole && bracket)
		name = detect_damaged(&probe, &maybe);
	return name;
}

/* Files that are no JSON at all. */
static const char *detect_text(const char *data, size_t len)
{
	return ask_readers(&(struct import_probe){.data = {data, len}});
}

const char *import_detect_head(const char *data, size_t len)
{
	return detect(data, len, false);
}

const char *import_detect(const char *data, size_t len)
{
	const char *name = detect(data, len, true);

	if (!name)
		name = detect_text(data, len);
	return name ? name : detect_lost(data, len);
}

/* The first names in a value, which tell a person what it is: ` with "level" and "msg"`. */
static void describe(const struct json *value, char *out, size_t size)
{
	struct json_iter iter;
	struct json object = *value, key, member;
	struct slice plain;
	size_t len = 0;

	out[0] = '\0';
	if (value->type == JSON_ARRAY) {
		json_iter_init(&iter, value);
		json_iter_next(&iter, NULL, &object);
	}
	if (object.type != JSON_OBJECT)
		return;
	json_iter_init(&iter, &object);
	for (int i = 0; i < 3 && json_iter_next(&iter, &key, &member); i++) {
		if (json_string_plain(&key, &plain) && plain.len <= 30 && len < size - 40)
			len += (size_t)snprintf(out + len, size - len, "%s\"%.*s\"", len ? ", " : " with ", (int)plain.len, plain.data);
	}
}

#define SAY_FORMAT "--format NAME reads it as one of those that bobbin help import lists"

int import_not_recognised(const char *data, size_t len, struct bobbin_error *error)
{
	struct bobbin_error fault = {0};
	struct json value;
	char seen[160];
	size_t used;

	for (size_t i = 0; i < len; i++) {
		if (!import_is_space(data[i]))
			break;
		if (i + 1 == len)
			len = 0;
	}
	if (len == 0)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0, "the file is empty");
	if (json_parse_prefix(data, len, &value, &used, &fault) < 0)
		return error_set_at(error, BOBBIN_EINPUT, import_line_of(data, fault.offset), fault.offset,
			"no transcript of a known format: %s; " SAY_FORMAT, fault.message);
	describe(&value, seen, sizeof(seen));
	return error_set_at(error, BOBBIN_EUNSUPPORTED, 1, 0, "no transcript of a known format: JSON%s; " SAY_FORMAT, seen);
}
