/* SPDX-License-Identifier: MIT */
/* The front door of all readers: which one gets a file, and how its bytes come to it. */
#include "transcript/import.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_document.h"
#include "transcript/import_readers.h"
#include "transcript/import_tools.h"

/*
 * The formats: name, one line about it, what recognises it (NULL: judge() of import_detect.c), its reader. Where two would
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

static const struct reader READERS[] = {
#define FORMAT_ROW(name, about, is, read) {name, about, is, read},
	FORMATS(FORMAT_ROW)
#undef FORMAT_ROW
};

#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

const struct reader *import_reader_at(size_t index)
{
	return index < READER_COUNT ? &READERS[index] : NULL;
}

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
	if (!format && !(format = import_detect(data, len)))
		return import_not_recognised(data, len, error);
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
	const char *name = format ? format : import_detect_head(head, len);
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
