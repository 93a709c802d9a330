/* SPDX-License-Identifier: MIT */
/*
 * The front door of all readers: what a file looks like, and which reader gets it.
 *
 * A format is recognised by the members of its first records, never by the file's name. A file of plain
 * messages, one a line, could be bobbin's or OpenAI's: seq, crc and flat calls make it the one, a system
 * message and calls nested under "function" the other; where nothing tells, both mean the same and bobbin's
 * reader keeps more.
 */
#include "transcript/import.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"
#include "transcript/import_tools.h"

typedef int (*reader_fn)(struct import *import, const char *data, size_t len, struct bobbin_error *error);

static const struct reader {
	const char *name;
	reader_fn read;
} READERS[] = {
	{"bobbin", import_bobbin},
	{"openai-chat", import_openai_chat},
	{"claude-code", import_claude_code},
	{"pi", import_pi},
};

#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

const char *const *import_formats(void)
{
	static const char *const NAMES[] = {"bobbin", "openai-chat", "claude-code", "pi", NULL};
	return NAMES;
}

static const struct reader *find_reader(const char *name)
{
	for (size_t i = 0; i < READER_COUNT; i++) {
		if (strcmp(READERS[i].name, name) == 0)
			return &READERS[i];
	}
	return NULL;
}

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

/* The format of one record, or NULL if it does not tell. */
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

/* How many records are looked at; a format's first ones may be of kinds that others have too. */
#define DETECT_RECORDS 100

/* Looks at whole records only; what is broken is the reader's to report. */
static const char *detect(const char *data, size_t len)
{
	struct import scratch = {.arena = ARENA_INIT};
	struct import_lines lines;
	struct json value;
	struct place place;
	const char *name = NULL;
	bool maybe = false;
	size_t at = 0;

	while (at < len && (import_is_space(data[at]) || (unsigned char)data[at] >= 0x80))
		at++;
	/* A document over several lines, or a list that breaks off, is no file of lines. */
	if (at < len && (data[at] == '[' || data[at] == '{') && json_parse(data, len, &value, NULL) == 0) {
		name = judge(&value, &maybe);
		return name ? name : maybe ? "bobbin" : NULL;
	}
	if (at < len && data[at] == '[') {
		size_t used;
		if (json_parse_prefix(data + at + 1, len - at - 1, &value, &used, NULL) == 0)
			name = judge(&value, &maybe);
		return name ? name : maybe ? "openai-chat" : NULL;
	}
	import_lines_init(&lines, &scratch, data, len);
	while (!name && lines.values < DETECT_RECORDS && import_lines_next(&lines, &value, &place) > 0)
		name = judge(&value, &maybe);
	import_release(&scratch);
	return name ? name : maybe ? "bobbin" : NULL;
}

static int not_recognised(const char *data, size_t len, struct bobbin_error *error)
{
	struct bobbin_error fault = {0};
	struct json value;
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
			"no transcript of a known format: %s", fault.message);
	return error_set_at(
		error, BOBBIN_EUNSUPPORTED, 1, 0, "no transcript of a known format; bobbin reads its own logs, openai-chat, claude-code and pi");
}

int import_read(const char *format, const char *data, size_t len, struct import *ret_import,
	struct bobbin_error *error)
{
	*ret_import = (struct import){.arena = ARENA_INIT};
	if (len > LIMIT_IMPORT_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "a transcript of %zu bytes; %u can be read", len,
			LIMIT_IMPORT_BYTES);
	if (!format && !(format = detect(data, len)))
		return not_recognised(data, len, error);
	const struct reader *reader = find_reader(format);
	if (!reader)
		return error_set(error, BOBBIN_EUNSUPPORTED, "unknown format \"%.40s\"", format);
	ret_import->format = reader->name;
	if (len == 0)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0, "the file is empty");
	return reader->read(ret_import, data, len, error);
}

void import_release(struct import *import)
{
	if (!import)
		return;
	arena_release(&import->arena);
	mem_free(import->conversations);
	mem_free(import->warnings);
	*import = (struct import){.arena = ARENA_INIT};
}
