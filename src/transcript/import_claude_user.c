/* SPDX-License-Identifier: MIT */
/*
 * User lines of Claude Code. A line holds what a person typed, results of tools, text that the client put in,
 * or several of these; each becomes a message of its own, in order, so that "origin" can say what a person's
 * word is.
 *
 * Injected: records marked isMeta; texts that are wholly a reminder, the output of a local command, or a
 * notice of an interruption. A slash command is a person's doing and stays one.
 */
#include "transcript/import_claude.h"

#include "base/limits.h"

/* Texts written by the client: how they begin, and how they must end (NULL: anyhow). */
static const struct {
	const char *begin, *end;
} INJECTED[] = {
	{"<system-reminder>", "</system-reminder>"},
	{"<local-command-caveat>", "</local-command-caveat>"},
	{"<local-command-stdout>", "</local-command-stdout>"},
	{"<local-command-stderr>", "</local-command-stderr>"},
	{"<bash-stdout>", "</bash-stderr>"},
	{"<bash-stderr>", "</bash-stderr>"},
	{"<user-prompt-submit-hook>", "</user-prompt-submit-hook>"},
	{"<task-notification>", NULL},
	{"[Request interrupted by user", "]"},
};

static struct slice trim(struct slice text)
{
	while (text.len && import_is_space(text.data[0])) {
		text.data++;
		text.len--;
	}
	while (text.len && import_is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

static bool ends_with(struct slice text, struct slice end)
{
	return text.len >= end.len && memcmp(text.data + text.len - end.len, end.data, end.len) == 0;
}

static enum message_origin text_origin(struct slice text)
{
	text = trim(text);
	for (size_t i = 0; i < sizeof(INJECTED) / sizeof(INJECTED[0]); i++) {
		if (slice_starts_with(text, INJECTED[i].begin) &&
			(!INJECTED[i].end || ends_with(text, slice_of(INJECTED[i].end))))
			return ORIGIN_INJECTED;
	}
	return ORIGIN_PERSON;
}

/* One user line on its way into units. */
struct line {
	struct claude *claude;
	const struct json *record, *message;
	struct place place;
	bool side;
	enum message_origin origin; /* what the record says of all its text */
	size_t parent;		    /* of the next unit: the line's parent, then the unit before */
	unsigned units;
	struct slice uuid;
	struct buffer out; /* members of the next unit */
	struct buffer content;
};

static bool is_true(const struct json *record, const char *key)
{
	struct json value;
	bool flag = false;
	return json_get(record, key, &value) && json_bool(&value, &flag) && flag;
}

/* "ts" and "src", the latter with the first unit of a line: everything that has no place elsewhere. */
static void write_envelope(
	struct line *line, struct json_writer *writer, const struct json *block, struct slice content)
{
	static const char *const RECORD[] = {"type", "message", "uuid", "toolUseResult", NULL};
	static const char *const MESSAGE[] = {"role", "content", NULL};
	static const char *const BLOCK[] = {"type", "tool_use_id", "content", "is_error", NULL};
	struct json value;

	if (json_get(line->record, "timestamp", &value))
		json_member_value(writer, "ts", &value);
	if (line->units > 0 && !(block && has_members_except(block, BLOCK)))
		return;
	json_key(writer, "src");
	json_begin_object(writer);
	if (line->units == 0) {
		write_members_except(writer, line->record, RECORD);
		if (has_members_except(line->message, MESSAGE)) {
			json_key(writer, "message");
			json_begin_object(writer);
			write_members_except(writer, line->message, MESSAGE);
			json_end_object(writer);
		}
		if (json_get(line->record, "toolUseResult", &value)) {
			json_key(writer, "toolUseResult");
			write_without_repeats(writer, &value, content);
		}
	}
	if (block && has_members_except(block, BLOCK)) {
		json_key(writer, "block");
		json_begin_object(writer);
		write_members_except(writer, block, BLOCK);
		json_end_object(writer);
	}
	json_end_object(writer);
}

/* The line's id; later units of the same line get ".2", ".3", … */
static int unit_id(struct line *line, struct slice *ret_id)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);

	*ret_id = line->uuid;
	if (line->units == 0 || !line->uuid.data)
		return 0;
	buffer_add_slice(&text, line->uuid);
	buffer_addf(&text, ".%u", line->units + 1);
	*ret_id = buffer_error(&text) == BOBBIN_ELIMIT
			  ? (struct slice){NULL, 0}
			  : import_keep(line->claude->import, buffer_slice(&text));
	int rc = buffer_error(&text) == BOBBIN_ELIMIT || ret_id->data ? 0 : BOBBIN_ENOMEM;
	buffer_release(&text);
	return rc;
}

static int add_unit(struct line *line, struct unit *unit)
{
	int rc = buffer_error(&line->out) ? buffer_error(&line->out) : buffer_error(&line->content);

	if (rc || (rc = unit_id(line, &unit->id)) < 0)
		return rc;
	unit->side = line->side;
	unit->parent = line->parent;
	unit->members_len = (uint32_t)line->out.len;
	rc = members_keep(line->claude->import, buffer_slice(&line->out), &unit->members_at);
	if (rc || !claude_unit_add(line->claude, unit))
		return rc ? rc : BOBBIN_ENOMEM;
	line->parent = line->claude->unit_count - 1;
	line->units++;
	buffer_clear(&line->out);
	return 0;
}

static int add_text(struct line *line, enum message_origin origin, struct slice content)
{
	struct unit unit = UNIT_INIT;
	struct json_writer writer;

	unit.role = ROLE_USER;
	unit.origin = origin;
	json_writer_init(&writer, &line->out);
	json_member_text(&writer, "role", "user");
	json_key(&writer, "content");
	json_add_raw(&writer, content);
	if (origin != ORIGIN_PERSON)
		json_member_text(&writer, "origin", origin == ORIGIN_SUMMARY ? "summary" : "injected");
	write_envelope(line, &writer, NULL, content);
	return add_unit(line, &unit);
}

/* The call a result answers: of the message it hangs from if that asks for it, else the latest with that id.
 */
static size_t find_call(const struct claude *claude, size_t parent, struct slice id)
{
	size_t batch = claude_batch(claude, parent), latest, call;

	if (!id_table_get(&claude->call_ids, id, &latest))
		return CALL_NONE;
	if (batch != UNIT_NONE && claude->calls[latest].unit != batch) {
		for (call = claude->units[batch].first_call; call != CALL_NONE;
			call = claude->calls[call].next) {
			if (slice_equal(claude->calls[call].id, id))
				return call;
		}
	}
	return latest;
}

static int link_result(struct line *line, struct unit *unit)
{
	struct claude *claude = line->claude;
	size_t call = unit->call_id.data ? find_call(claude, line->parent, unit->call_id) : CALL_NONE;

	if (call != CALL_NONE && claude->units[claude->calls[call].unit].session != claude_session(claude, line->parent))
		call = CALL_NONE;

	if (call == CALL_NONE)
		unit->call_id = import_hold(claude->import, unit->call_id);
	if (call == CALL_NONE)
		return import_warn(claude->import, line->place,
			"a result whose call is not in the file: kept as it stands");
	unit->group = claude->calls[call].unit;
	unit->call_id = claude->calls[call].id;
	if (claude->calls[call].result == UNIT_NONE) {
		claude->calls[call].result = (uint32_t)claude->unit_count;
		return 0;
	}
	unit->late = true;
	return import_warn(claude->import, line->place,
		"a second result of the same call: kept beside the line, as a late result");
}

static int add_result(struct line *line, const struct json *block)
{
	struct unit unit = UNIT_INIT;
	struct json_writer writer;
	struct json content;
	struct slice text = SLICE_LITERAL("\"\"");

	unit.role = ROLE_TOOL;
	unit.call_id = import_string(line->claude->import, block, "tool_use_id");
	if (link_result(line, &unit) < 0)
		return BOBBIN_ENOMEM;
	json_writer_init(&writer, &line->out);
	json_member_text(&writer, "role", "tool");
	if (unit.call_id.data)
		json_member_string(&writer, "tool_call_id", unit.call_id);
	if (json_get(block, "content", &content) && content.type != JSON_NULL)
		text = (struct slice){content.text, content.len};
	json_key(&writer, "content");
	if (text.data[0] == '"' || text.data[0] == '[') {
		json_add_raw(&writer, text);
	} else { /* no shape that content may have: kept as an unknown block */
		json_begin_array(&writer);
		json_add_raw(&writer, text);
		json_end_array(&writer);
	}
	if (is_true(block, "is_error"))
		json_member_bool(&writer, "is_error", true);
	write_envelope(line, &writer, block, text);
	return add_unit(line, &unit);
}

/* Ends a run of blocks of one origin, if one was begun. */
static int end_run(struct line *line, enum message_origin origin)
{
	if (line->content.len == 0)
		return 0;
	buffer_add_char(&line->content, ']');
	int rc = add_text(line, origin, buffer_slice(&line->content));
	buffer_clear(&line->content);
	return rc;
}

static int add_blocks(struct line *line, const struct json *content)
{
	enum message_origin run = line->origin;
	struct json_iter iter;
	struct json block, type, text;
	int rc = 0;

	json_iter_init(&iter, content);
	while (!rc && json_iter_next(&iter, NULL, &block)) {
		json_get(&block, "type", &type);
		if (json_string_is(&type, "tool_result")) {
			if (!(rc = end_run(line, run)))
				rc = add_result(line, &block);
			continue;
		}
		enum message_origin origin = line->content.len ? run : line->origin;
		if (line->origin == ORIGIN_PERSON && json_get(&block, "text", &text) &&
			text.type == JSON_STRING) {
			struct slice decoded = json_string_content(&text, import_scratch(line->claude->import));
			if (!decoded.data)
				return BOBBIN_ENOMEM;
			origin = text_origin(decoded);
		}
		if (origin != run && (rc = end_run(line, run)) < 0)
			return rc;
		run = origin;
		buffer_add_char(&line->content, line->content.len ? ',' : '[');
		buffer_add(&line->content, block.text, block.len);
	}
	if (!rc)
		rc = end_run(line, run);
	if (!rc && line->units == 0)
		rc = add_text(line, line->origin, SLICE_LITERAL("[]"));
	return rc;
}

int claude_read_user(struct claude *claude, const struct json *record, const struct json *message,
	struct slice uuid, bool side, struct place place, size_t parent, size_t *ret_unit)
{
	struct line line = {.claude = claude,
		.record = record,
		.message = message,
		.place = place,
		.side = side,
		.parent = parent,
		.uuid = uuid,
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
	struct json content;
	int rc;

	if (is_true(record, "isCompactSummary"))
		line.origin = ORIGIN_SUMMARY;
	else if (is_true(record, "isMeta"))
		line.origin = ORIGIN_INJECTED;
	json_get(message, "content", &content);
	if (content.type == JSON_ARRAY) {
		rc = add_blocks(&line, &content);
	} else if (content.type == JSON_STRING) {
		struct slice text = json_string_content(&content, import_scratch(claude->import));
		enum message_origin origin = line.origin;
		if (origin == ORIGIN_PERSON && text.data)
			origin = text_origin(text);
		rc = text.data ? add_text(&line, origin, (struct slice){content.text, content.len})
			       : BOBBIN_ENOMEM;
	} else {
		rc = import_warn(claude->import, place, "a user message without content: left out");
	}
	buffer_release(&line.out);
	buffer_release(&line.content);
	*ret_unit = line.parent;
	return rc;
}
