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

#include <stdio.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_document.h"
#include "transcript/import_readers.h"
#include "transcript/import_tools.h"

/*
 * The formats: name, one line about it, what recognises it (NULL: judge() below), its reader. Where two would
 * take a file, the upper one has it; so those that look closely stand above those that look at little.
 */
#define FORMATS(X)                                                                                           \
	X("bobbin", "bobbin's own logs, and what show --json prints", NULL, import_bobbin)                   \
	X("openai-chat", "chat completion messages, also tau-bench, recorded requests, chat replays", NULL,  \
		import_openai_chat)                                                                          \
	X("claude-code", "Claude Code's session files (~/.claude/projects)", NULL, import_claude_code)       \
	X("pi", "sessions of the pi coding agent, linear and trees", NULL, import_pi)                        \
	X("codex", "rollout files of OpenAI's Codex (~/.codex/sessions), also of 2025", import_is_codex,     \
		import_codex)                                                                                \
	X("openai-responses", "requests and responses of OpenAI's Responses API, as recorded",               \
		import_is_openai_responses, import_openai_responses)                                         \
	X("opencode", "opencode's exported sessions", import_is_opencode, import_opencode)                   \
	X("gemini-cli", "Gemini CLI's sessions: documents, lines, raw contents", import_is_gemini_cli,       \
		import_gemini_cli)                                                                           \
	X("copilot-cli", "event files of the Copilot CLI", import_is_copilot_cli, import_copilot_cli)        \
	X("anthropic-messages", "messages of Anthropic's API, also recorded, Roo's and Cline's",             \
		import_is_anthropic_messages, import_anthropic_messages)                                     \
	X("swe-agent", "SWE-agent's trajectories (.traj), in three dialects", import_is_swe_agent,           \
		import_swe_agent)                                                                            \
	X("mini-swe-agent", "mini-swe-agent's trajectories, documents and bare lists",                       \
		import_is_mini_swe_agent, import_mini_swe_agent)                                             \
	X("openhands", "OpenHands' runs and events, of both generations", import_is_openhands,               \
		import_openhands)                                                                            \
	X("aider", "aider's chat history in Markdown (.aider.chat.history.md)", import_is_aider,             \
		import_aider)                                                                                \
	X("letta", "Letta's agent files (.af)", import_is_letta, import_letta)                               \
	X("langchain", "LangChain's serialised messages, lists, states and streams", import_is_langchain,    \
		import_langchain)                                                                            \
	X("sharegpt", "conversations in ShareGPT's shape, with function calls", import_is_sharegpt,          \
		import_sharegpt)                                                                             \
	X("tree", "message trees: Open Assistant's, and ToolBench's searches", import_is_trees,              \
		import_trees)                                                                                \
	X("locomo", "LoCoMo's conversations of two people", import_is_locomo, import_locomo)                 \
	X("longmemeval", "LongMemEval's haystacks of chats", import_is_longmemeval, import_longmemeval)

static const struct reader {
	const char *name, *about;
	bool (*is)(const struct import_probe *probe);
	int (*read)(struct import *import, const char *data, size_t len, struct bobbin_error *error);
} READERS[] = {
#define FORMAT_ROW(name, about, is, read) {name, about, is, read},
	FORMATS(FORMAT_ROW)
#undef FORMAT_ROW
};

#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

const char *const *import_formats(void)
{
#define FORMAT_NAME(name, about, is, read) name,
	static const char *const NAMES[] = {FORMATS(FORMAT_NAME) NULL};
#undef FORMAT_NAME
	return NAMES;
}

static const struct reader *find_reader(const char *name)
{
	if (strcmp(name, "anthropic") == 0) /* as the writer is called */
		name = "anthropic-messages";
	for (size_t i = 0; i < READER_COUNT; i++) {
		if (strcmp(READERS[i].name, name) == 0)
			return &READERS[i];
	}
	return NULL;
}

const char *import_format_about(const char *format)
{
	const struct reader *reader = format ? find_reader(format) : NULL;
	return reader ? reader->about : NULL;
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
	for (size_t i = 0; i < READER_COUNT; i++) {
		if (READERS[i].is && READERS[i].is(probe))
			return READERS[i].name;
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
	for (size_t i = 0; i < 2 * READER_COUNT; i++) {
		const struct reader *reader = &READERS[i % READER_COUNT];
		uint64_t score = (reader->is != NULL) == (i < READER_COUNT) ? rate_lost(&probe, reader) : 0;
		if (score > best) {
			best = score;
			name = reader->name;
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

/* ---- What is no UTF-8, what is more than one --------------------------------------------------------------
 */

/* Texts of two or four bytes a character, by their mark or by the NULs between what JSON begins with; NULL: neither. */
static const char *wide_encoding(const char *data, size_t len)
{
	if (len < 4)
		return NULL;
	if (memcmp(data, "\xff\xfe\0\0", 4) == 0 || memcmp(data, "\0\0\xfe\xff", 4) == 0)
		return "UTF-32";
	if (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)
		return "UTF-16";
	if (data[0] && !data[1] && data[2] && !data[3])
		return "UTF-16LE";
	return !data[0] && data[1] && !data[2] && data[3] ? "UTF-16BE" : NULL;
}

/* What a packed file is, and what unpacks it; NULL: it is none. */
static const char *packed_as(const char *data, size_t len, const char **ret_command)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *name, *command;
	} KINDS[] = {
		{"\x1f\x8b", 2, "gzip", "gunzip -c"},
		{"\x28\xb5\x2f\xfd", 4, "Zstandard", "zstd -dc"},
		{"\xfd"
		 "7zXZ\0",
			6, "xz", "xz -dc"},
		{"BZh", 3, "bzip2", "bunzip2 -c"},
		{"PK\x03\x04", 4, "zip", "unzip -p"},
	};
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		if (len < KINDS[i].len || memcmp(data, KINDS[i].magic, KINDS[i].len) != 0)
			continue;
		*ret_command = KINDS[i].command;
		return KINDS[i].name;
	}
	return NULL;
}

/* What is no text of UTF-8 from its first bytes on. 0, or BOBBIN_EINPUT with what makes one of it. */
static int check_text(const char *data, size_t len, struct bobbin_error *error)
{
	const char *command = NULL, *packed = packed_as(data, len, &command), *wide = wide_encoding(data, len);

	if (packed)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0, "it is packed with %s, and transcripts are read unpacked: %s FILE makes that of it",
			packed, command);
	if (wide)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0,
			"it is %s, and transcripts are read as UTF-8: iconv -f %s -t UTF-8 makes that of it", wide, wide);
	return 0;
}

/* Where a second document begins behind the first, both over several lines; 0: nowhere. */
static size_t second_document(const char *data, size_t len)
{
	struct json value;
	size_t at = 0, used, next, first;

	while (at < len && import_is_space(data[at]))
		at++;
	if (at == len || !strchr("[{", data[at]) || json_parse_prefix(data + at, len - at, &value, &used, NULL) < 0)
		return 0;
	first = at;
	for (at += used; at < len && import_is_space(data[at]);)
		at++;
	return at < len && strchr("[{", data[at]) && memchr(data + first, '\n', used) &&
			       json_parse_prefix(data + at, len - at, &value, &next, NULL) == 0
		       ? at
		       : 0;
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

static int not_recognised(const char *data, size_t len, struct bobbin_error *error)
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

/* It was taken for what it looks like, and there is nothing in it. */
static void tell_guessed(struct bobbin_error *error)
{
	char message[sizeof(error->message)];

	if (!error)
		return;
	memcpy(message, error->message, sizeof(message));
	error_set_at(error, error->code, error->line, error->offset, "%s; if it is something else, --format NAME says so", message);
}

/* A file in which nothing was found because it is damaged: where. An error that has a place behind `start` says so itself. */
static void tell_first_fault(const struct import *import, size_t start, struct bobbin_error *error)
{
	for (size_t i = 0; error && error->offset <= start && i < import->warning_count; i++) {
		const struct import_warning *warning = &import->warnings[i];
		if (warning->remark || !warning->line)
			continue;
		char message[sizeof(error->message)];
		memcpy(message, error->message, sizeof(message));
		error_set_at(error, BOBBIN_EINPUT, warning->line, warning->offset, "%s: %s", message, warning->message);
		return;
	}
}

static int read_recognised(const char *format, const char *data, size_t len, struct import *ret_import,
	struct bobbin_error *error)
{
	if (len > LIMIT_IMPORT_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "a transcript of %zu bytes; %u can be read", len,
			LIMIT_IMPORT_BYTES);
	size_t second = import_has_many(data, len) ? 0 : second_document(data, len);
	if (second)
		return error_set_at(error, BOBBIN_EINPUT, import_line_of(data, second), second,
			"it holds more than one JSON document, and the second begins in line %llu: make a file of each, or one "
			"line of each (jq -c .)",
			(unsigned long long)import_line_of(data, second));
	bool guessed = !format;
	if (!format && !(format = detect(data, len, true)) && !(format = detect_text(data, len)) &&
		!(format = detect_lost(data, len)))
		return not_recognised(data, len, error);
	const struct reader *reader = find_reader(format);
	if (!reader)
		return error_set(error, BOBBIN_EUNSUPPORTED, "unknown format \"%.40s\"", format);
	ret_import->format = reader->name;
	if (len == 0)
		return error_set_at(error, BOBBIN_EINPUT, 1, 0, "the file is empty");
	ret_import->data = data;
	ret_import->len = len;
	int rc = reader->read(ret_import, data, len, error);
	ret_import->data = NULL;
	ret_import->len = 0;
	if (rc == BOBBIN_EINPUT)
		tell_first_fault(ret_import, 0, error);
	if (rc == BOBBIN_EINPUT && guessed)
		tell_guessed(error);
	if (rc)
		return rc;
	return import_end(import_tell_all(ret_import), error);
}

/* The mark that some editors put before UTF-8 is no part of the text. */
static size_t mark_bytes(const char *data, size_t len)
{
	return len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* All of a file. */
static int read_whole(const char *format, const char *data, size_t len, struct import *import, struct bobbin_error *error)
{
	size_t mark = mark_bytes(data, len);

	int rc = check_text(data, len, error);
	if (!rc)
		rc = read_recognised(format, data + mark, len - mark, import, error);
	for (size_t i = 0; mark && i < import->warning_count; i++)
		import->warnings[i].offset += import->warnings[i].line ? mark : 0;
	if (rc && mark && error && error->line)
		error->offset += mark;
	return rc;
}

/* Readers ask for many small texts, and one that is missing is no fault of a file: whether memory ran out anywhere on
 * the way is looked at here, so that no message is left out for it in silence. */
int import_read_to(const char *format, const char *data, size_t len, const struct import_sink *sink,
	struct import *ret_import, struct bobbin_error *error)
{
	uint64_t failures = mem_failures();

	*ret_import = (struct import){.arena = ARENA_INIT, .scratch = ARENA_INIT, .sink = sink};
	int rc = read_whole(format, data, len, ret_import, error);
	if (rc < 0 && error && ret_import->sink_error.code == rc)
		*error = ret_import->sink_error;
	return mem_failures() == failures ? rc : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

int import_read(const char *format, const char *data, size_t len, struct import *ret_import,
	struct bobbin_error *error)
{
	return import_read_to(format, data, len, NULL, ret_import, error);
}

bool import_streams(const char *format)
{
	static const char *const FORMATS[] = {"claude-code", "codex", "copilot-cli", "gemini-cli", "openhands", "pi", NULL};

	for (size_t i = 0; format && FORMATS[i]; i++) {
		if (strcmp(FORMATS[i], format) == 0)
			return true;
	}
	return false;
}

static int read_part(const struct import_source *source, size_t len, char **ret_data, size_t *ret_len,
	struct bobbin_error *error)
{
	char *data = mem_alloc(len + 1);
	size_t done = 0;

	if (!data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	while (done < len) {
		ssize_t got = source->read_at(source->context, data + done, len - done, done);
		if (got < 0) {
			mem_free(data);
			return error_set(error, (int)got, "the file cannot be read");
		}
		if (got == 0)
			break;
		done += (size_t)got;
	}
	*ret_data = data;
	*ret_len = done;
	return 0;
}

/* A large file of lines, of a format that can be read piece by piece: its reader; else NULL. */
static const struct reader *streaming_reader(const char *format, const char *head, size_t len)
{
	size_t mark = mark_bytes(head, len);
	head += mark;
	len -= mark;
	if (!import_has_many(head, len))
		return NULL;
	const char *name = format ? format : detect(head, len, false);
	return import_streams(name) ? find_reader(name) : NULL;
}

/* `mark`: bytes before the text. */
static int read_streaming(const struct reader *reader, bool guessed, size_t mark, const struct import_source *source,
	const struct import_spill *spill, struct import *import, struct bobbin_error *error)
{
	import->format = reader->name;
	import->source = source;
	import->spill = spill;
	int rc = reader->read(import, NULL, 0, error);
	if (rc == BOBBIN_EINPUT)
		tell_first_fault(import, mark, error);
	if (rc == BOBBIN_EINPUT && guessed && import->sink_error.code != rc)
		tell_guessed(error);
	if (rc && error && error->line && error->offset < mark)
		error->offset = mark;
	if (!rc && (rc = import_tell_all(import)) < 0)
		import_end(rc, error);
	arena_release(&import->scratch);
	mem_free(import->window);
	import->window = NULL;
	import->source = NULL;
	return rc;
}

static int read_file(const char *format, const struct import_source *source, const struct import_spill *spill,
	struct import *import, struct bobbin_error *error)
{
	size_t len, head = source->head_bytes ? source->head_bytes : IMPORT_HEAD_BYTES;
	size_t part = source->size < head ? (size_t)source->size : head;
	const struct reader *reader = NULL;
	char *data;
	int rc = read_part(source, part, &data, &len, error);

	if (rc)
		return rc;
	rc = check_text(data, len, error);
	if (!rc && part < source->size && (reader = streaming_reader(format, data, len))) {
		size_t mark = mark_bytes(data, len);
		mem_free(data);
		return read_streaming(reader, !format, mark, source, spill, import, error);
	}
	if (!rc && source->size > LIMIT_IMPORT_BYTES)
		rc = error_set(error, BOBBIN_ELIMIT,
			"a document of %llu bytes; of one that has to be read whole %u can be read",
			(unsigned long long)source->size, LIMIT_IMPORT_BYTES);
	else if (!rc && part < source->size) {
		mem_free(data);
		if ((rc = read_part(source, (size_t)source->size, &data, &len, error)) < 0)
			return rc;
	}
	if (!rc)
		rc = read_whole(format, data, len, import, error);
	import->document = data; /* what was read may still be in it */
	return rc;
}

int import_read_from(const char *format, const struct import_source *source, const struct import_sink *sink,
	const struct import_spill *spill, struct import *ret_import, struct bobbin_error *error)
{
	uint64_t failures = mem_failures();

	*ret_import = (struct import){.arena = ARENA_INIT, .scratch = ARENA_INIT, .sink = sink};
	int rc = read_file(format, source, spill, ret_import, error);
	if (rc < 0 && error && ret_import->sink_error.code == rc)
		*error = ret_import->sink_error;
	return mem_failures() == failures ? rc : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

void import_release(struct import *import)
{
	if (!import)
		return;
	mem_free(import->document);
	arena_release(&import->arena);
	mem_free(import->conversations);
	mem_free(import->warnings);
	mem_free(import->kinds);
	*import = (struct import){.arena = ARENA_INIT};
}
