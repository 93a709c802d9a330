/* SPDX-License-Identifier: MIT */
/*
 * aider's chat history: Markdown, appended to by every chat in a directory.
 *
 *	# aider chat started at 2024-08-06 08:47:10      a new chat (local time, no zone)
 *	#### what the person typed··                      each line of it so, with two spaces at its end
 *	> what aider printed··                            likewise; of several lines, the first with the mark,
 * the last with the spaces anything else                                     the model
 *
 * What stands before the first header belongs to a chat whose beginning is lost: it is a conversation of its
 * own.
 *
 * A model writes headings and quotations, too. aider ends its own lines with two spaces; a line with a mark
 * and without them is the model's, unless it begins a printed text of several lines, which it can only right
 * behind something typed or printed. Lines taken for the model's in this way are counted and told.
 *
 *	typed       a user message; commands (/add, !ls) stay the person's. What aider asks by itself (lint
 * errors) is injected printed     no message: under "src" as "printed", of the message before it, or as
 * "printed_before" of the first the model   an assistant message
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

#include "base/limits.h"

enum aider_state { STATE_NONE, STATE_TYPED, STATE_PRINTED, STATE_MODEL };

struct aider {
	struct builder builder;
	struct slice last_started; /* of the chat being read; {NULL, 0}: its header is lost */
	enum aider_state state;	   /* of the line before */
	bool open;		   /* a message is being read */
	enum message_role role;
	struct buffer text, printed, before;
	bool printing; /* inside a printed text of several lines */
	uint64_t line, message_line;
	uint64_t doubtful; /* lines with a mark that were taken for the model's */
	struct place first_doubtful;
};

static const char HEADER[] = "# aider chat started at ";

/* Without blank lines around it. */
static struct slice trimmed(struct slice text)
{
	while (text.len && import_is_space(text.data[text.len - 1]))
		text.len--;
	while (text.len && (text.data[0] == '\n' || text.data[0] == '\r')) {
		text.data++;
		text.len--;
	}
	return text;
}

static void write_src(struct aider *aider, struct json_writer *writer)
{
	struct slice printed = trimmed(buffer_slice(&aider->printed)),
		     before = trimmed(buffer_slice(&aider->before));

	json_key(writer, "src");
	json_begin_object(writer);
	json_member_uint(writer, "line", aider->message_line);
	if (!aider->builder.drafts.count && aider->last_started.data)
		json_member_string(writer, "started", aider->last_started);
	if (before.len)
		json_member_string(writer, "printed_before", before);
	if (printed.len)
		json_member_string(writer, "printed", printed);
	json_end_object(writer);
}

static int end_message(struct aider *aider)
{
	struct slice text = trimmed(buffer_slice(&aider->text));
	int rc = buffer_error(&aider->text);

	if (!rc)
		rc = buffer_error(&aider->printed);
	if (rc || !aider->open)
		return rc;
	struct json_writer *writer = builder_begin(&aider->builder, aider->role);
	json_member_string(writer, "content", text);
	if (aider->role == ROLE_USER && slice_starts_with(text, "# Fix any errors below, if possible."))
		builder_origin(&aider->builder, ORIGIN_INJECTED);
	write_src(aider, writer);
	rc = builder_end_next(&aider->builder, (struct slice){NULL, 0});
	aider->open = false;
	buffer_clear(&aider->text);
	buffer_clear(&aider->printed);
	buffer_clear(&aider->before);
	return rc;
}

static int begin_message(struct aider *aider, enum message_role role)
{
	int rc = end_message(aider);

	aider->open = true;
	aider->role = role;
	aider->message_line = aider->line;
	return rc;
}

static int end_chat(struct aider *aider)
{
	struct import *import = aider->builder.import;
	int rc = end_message(aider);

	if (!rc && !aider->builder.drafts.count && aider->last_started.data)
		rc = import_left_out(import, (struct place){aider->line, 0}, "{chat|chats} without a message");
	if (!rc)
		rc = builder_conversation(&aider->builder, (struct slice){NULL, 0}, aider->last_started);
	buffer_clear(&aider->printed);
	buffer_clear(&aider->before);
	aider->state = STATE_NONE;
	aider->printing = false;
	return rc;
}

static bool has_two_spaces(struct slice line)
{
	return line.len >= 2 && line.data[line.len - 1] == ' ' && line.data[line.len - 2] == ' ';
}

static void add_line(struct buffer *out, struct slice line)
{
	buffer_add_slice(out, line);
	buffer_add_char(out, '\n');
}

/* Without the two spaces at the end. */
static struct slice own_text(struct slice line)
{
	if (has_two_spaces(line))
		line.len -= 2;
	return line;
}

static int add_typed(struct aider *aider, struct slice line)
{
	int rc = aider->state == STATE_TYPED ? 0 : begin_message(aider, ROLE_USER);

	line = own_text(line);
	add_line(&aider->text,
		line.len > 5 ? (struct slice){line.data + 5, line.len - 5} : (struct slice){"", 0});
	aider->state = STATE_TYPED;
	aider->printing = false;
	return rc;
}

static void add_printed(struct aider *aider, struct slice line, bool marked, bool at_end)
{
	struct buffer *out = aider->open ? &aider->printed : &aider->before;
	size_t mark = marked ? (line.len > 1 ? 2 : 1) : 0;
	/* Inside a text of several lines two spaces may stand anywhere; its end has nothing of it behind. */
	bool ends = has_two_spaces(line) && (marked || at_end);

	line = own_text(line);
	add_line(out,
		line.len > mark ? (struct slice){line.data + mark, line.len - mark} : (struct slice){"", 0});
	aider->printing = !ends;
	aider->state = STATE_PRINTED;
}

/* Text of the model's: a message of its own if something was typed or printed before it. */
static int add_model(struct aider *aider, struct slice line)
{
	int rc = 0;

	if (aider->state != STATE_MODEL) {
		if (trimmed(line).len == 0) {
			aider->state = STATE_NONE; /* the next thing typed is another message */
			return 0;
		}
		rc = begin_message(aider, ROLE_ASSISTANT);
	}
	aider->state = STATE_MODEL;
	add_line(&aider->text, line);
	return rc;
}

static int read_line(struct aider *aider, struct slice line, size_t offset, bool at_end)
{
	bool typed = line.len >= 5 && memcmp(line.data, "#### ", 5) == 0;
	bool printed = line.len >= 2 && memcmp(line.data, "> ", 2) == 0;
	bool behind = aider->state == STATE_TYPED || aider->state == STATE_PRINTED;

	if (slice_starts_with(line, HEADER)) {
		int rc = end_chat(aider);
		aider->last_started = trimmed(
			(struct slice){line.data + sizeof(HEADER) - 1, line.len - (sizeof(HEADER) - 1)});
		return rc;
	}
	if (typed && has_two_spaces(line))
		return add_typed(aider, line);
	if (printed && (has_two_spaces(line) || (behind && !aider->printing))) {
		add_printed(aider, line, true, at_end);
		return 0;
	}
	if (aider->printing) {
		add_printed(aider, line, false, at_end);
		return 0;
	}
	if ((typed || printed) && aider->doubtful++ == 0)
		aider->first_doubtful = (struct place){aider->line, offset};
	return add_model(aider, line);
}

/* True if a printed text can end before this line: it is blank, or has a mark. */
static bool ends_text(const char *data, size_t len, size_t at)
{
	if (at >= len)
		return true;
	struct slice rest = {data + at, len - at};
	return data[at] == '\n' || data[at] == '\r' || slice_starts_with(rest, "> ") ||
	       slice_starts_with(rest, "#### ");
}

/* Where a line ends. NULs are what a crash left of something else: a mark behind them begins a line, too. */
static size_t end_of_line(const char *data, size_t at, size_t len, bool nuls, size_t *ret_next)
{
	const char *newline = memchr(data + at, '\n', len - at);
	size_t end = newline ? (size_t)(newline - data) : len;

	*ret_next = end + 1;
	for (const char *nul = data + at; nuls && (nul = memchr(nul, '\0', (size_t)(data + end - nul)));) {
		size_t behind = (size_t)(nul - data);
		while (behind < end && !data[behind])
			behind++;
		struct slice rest = {data + behind, end - behind};
		if (behind < end && (data[behind] == '#' || data[behind] == '>') &&
			(slice_starts_with(rest, HEADER) || slice_starts_with(rest, "#### ") || slice_starts_with(rest, "> "))) {
			*ret_next = behind;
			return (size_t)(nul - data);
		}
		nul = data + behind;
	}
	return end;
}

static int read_all(struct aider *aider, const char *data, size_t len)
{
	bool nuls = memchr(data, '\0', len) != NULL;
	int rc = 0;

	for (size_t at = 0; at < len && !rc;) {
		size_t next, end = end_of_line(data, at, len, nuls, &next);
		struct slice line = {data + at, end - at};
		aider->line += at == 0 || data[at - 1] == '\n';
		if (end < len && !data[end])
			rc = import_damaged(aider->builder.import, (struct place){aider->line, end}, DAMAGE_NULS,
				"NULs where a line should end: what follows begins a line");
		if (line.len && line.data[line.len - 1] == '\r')
			line.len--;
		if (!rc)
			rc = read_line(aider, line, at, ends_text(data, len, next));
		at = next;
	}
	if (!rc)
		rc = end_chat(aider);
	if (!rc && aider->doubtful)
		rc = import_warn(aider->builder.import, aider->first_doubtful,
			"%llu line%s with aider's marks but without the two spaces at the end: taken for the model's",
			(unsigned long long)aider->doubtful, aider->doubtful == 1 ? "" : "s");
	return rc;
}

/* Whether a line begins so. */
static bool has_line(struct slice text, const char *begins, bool aiders_end)
{
	const char *at = text.data, *end = at + text.len;
	size_t len = strlen(begins);

	for (; at && (at = memmem(at, (size_t)(end - at), begins, len)); at++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		bool begin = at == text.data || at[-1] == '\n';
		if (begin && (!aiders_end || (line_end && line_end[-1] == ' ' && line_end[-2] == ' ')))
			return true;
	}
	return false;
}

/* By its header; if that is lost, by what was typed and what was printed, each with aider's two spaces at its end. */
bool import_is_aider(const struct import_probe *probe)
{
	return probe->value.type == JSON_ABSENT &&
	       (has_line(probe->data, HEADER, false) || (has_line(probe->data, "#### ", true) && has_line(probe->data, "> ", true)));
}

int import_aider(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct aider aider = {.text = BUFFER_INIT(LIMIT_LINE_BYTES),
		.printed = BUFFER_INIT(LIMIT_LINE_BYTES),
		.before = BUFFER_INIT(LIMIT_LINE_BYTES)};

	builder_init(&aider.builder, import);
	int rc = read_all(&aider, data, len);
	buffer_release(&aider.text);
	buffer_release(&aider.printed);
	buffer_release(&aider.before);
	return import_finish(&aider.builder, rc, "aider", error);
}
