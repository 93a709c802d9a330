/* SPDX-License-Identifier: MIT */
/*
 * Pass two of the claude-code reader: units in order, each assistant message followed by the results of its
 * batch in the order of its calls, and what hung from any of them hanging from the last.
 */
#include "transcript/import_claude.h"

#include "base/alloc.h"

/* The lines of an assistant message into claude->records. */
static int read_lines(struct claude *claude, const struct unit *unit)
{
	int rc = 0;

	claude->record_count = 0;
	for (size_t part = unit->first_part; !rc && part != PART_NONE; part = claude->parts[part].next) {
		struct slice line;
		rc = claude_text(claude, claude->parts[part].record, &line);
		if (!rc && (rc = mem_grow((void **)&claude->records, &claude->record_cap, claude->record_count + 1,
				    sizeof(*claude->records))) < 0)
			break;
		if (!rc && !claude->import->source) /* as it was when it was read first */
			claude->records[claude->record_count++] = (struct json){line.data, line.len, JSON_OBJECT};
		else if (!rc) {
			line = (struct slice){arena_copy(&claude->import->scratch, line.data, line.len), line.len};
			rc = !line.data ? BOBBIN_ENOMEM
					: json_parse(line.data, line.len, &claude->records[claude->record_count++], NULL);
		}
	}
	return rc;
}

/* A line's content, checked when it was read first; in a file that was changed since it may be anything. */
static bool content_of(const struct json *record, struct json *ret_content)
{
	struct json message;
	return json_get(record, "message", &message) && json_get(&message, "content", ret_content);
}

static void write_blocks(const struct claude *claude, struct json_writer *writer)
{
	struct json_iter iter;
	struct json content, block;

	json_key(writer, "content");
	if (content_of(&claude->records[0], &content) && content.type == JSON_STRING) {
		json_add_value(writer, &content);
		return;
	}
	json_begin_array(writer);
	for (size_t i = 0; i < claude->record_count; i++) {
		if (!content_of(&claude->records[i], &content) || content.type != JSON_ARRAY)
			continue;
		json_iter_init(&iter, &content);
		while (json_iter_next(&iter, NULL, &block))
			json_add_value(writer, &block);
	}
	json_end_array(writer);
}

/* The members in which a later line of the same message differs from the first one. */
static void write_differences(struct json_writer *writer, const struct json *first, const struct json *later)
{
	struct json_iter iter;
	struct json key, value, same;

	json_begin_object(writer);
	json_iter_init(&iter, later);
	while (json_iter_next(&iter, &key, &value)) {
		struct slice plain;
		if (json_string_is(&key, "message") || !json_string_plain(&key, &plain))
			continue;
		struct json_iter other;
		struct json other_key;
		bool equal = false;
		json_iter_init(&other, first);
		while (!equal && json_iter_next(&other, &other_key, &same))
			equal = json_string_equal(&key, &other_key) && same.len == value.len &&
				memcmp(same.text, value.text, value.len) == 0;
		if (!equal) {
			json_key_slice(writer, plain);
			json_add_value(writer, &value);
		}
	}
	json_end_object(writer);
}

/* The envelope of the first line, the API message's own members from the last (its usage is the final one),
 * and what the other lines say differently. */
static void write_source(const struct claude *claude, struct json_writer *writer)
{
	static const char *const RECORD[] = {"type", "message", "uuid", NULL};
	static const char *const MESSAGE[] = {"role", "content", NULL};
	struct json message;

	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, &claude->records[0], RECORD);
	if (json_get(&claude->records[claude->record_count - 1], "message", &message)) {
		json_key(writer, "message");
		json_begin_object(writer);
		write_members_except(writer, &message, MESSAGE);
		json_end_object(writer);
	}
	if (claude->record_count > 1) {
		json_key(writer, "lines");
		json_begin_array(writer);
		for (size_t i = 1; i < claude->record_count; i++)
			write_differences(writer, &claude->records[0], &claude->records[i]);
		json_end_array(writer);
	}
	json_end_object(writer);
}

/* Errors and notices that the client wrote in the assistant's place are no model's words. */
static bool is_synthetic(const struct json *record)
{
	struct json message, model, flag;
	bool error = false;

	if (json_get(record, "isApiErrorMessage", &flag) && json_bool(&flag, &error) && error)
		return true;
	return json_get(record, "message", &message) && json_get(&message, "model", &model) &&
	       json_string_is(&model, "<synthetic>");
}

/* Its members into claude->out. */
static int write_assistant(struct claude *claude, const struct unit *unit)
{
	struct json_writer writer;
	struct json timestamp;
	int rc = read_lines(claude, unit);

	if (rc)
		return rc;
	const struct json *record = &claude->records[0];
	buffer_clear(&claude->out);
	json_writer_init(&writer, &claude->out);
	json_member_text(&writer, "role", "assistant");
	write_blocks(claude, &writer);
	if (is_synthetic(record))
		json_member_text(&writer, "origin", "injected");
	if (json_get(record, "timestamp", &timestamp))
		json_member_value(&writer, "ts", &timestamp);
	write_source(claude, &writer);
	return buffer_error(&claude->out);
}

/* A result that comes after the model was called without it is late. */
static void find_late(struct claude *claude)
{
	for (size_t i = 0; i < claude->unit_count; i++) {
		const struct unit *unit = &claude->units[i];
		if (unit->role != ROLE_ASSISTANT)
			continue;
		size_t batch = claude_batch(claude, claude_asked_from(claude, unit->parent));
		if (batch != UNIT_NONE && claude->units[batch].follower == UNIT_NONE)
			claude->units[batch].follower = (uint32_t)i;
	}
	for (size_t i = 0; i < claude->unit_count; i++) {
		struct unit *unit = &claude->units[i];
		if (unit->role == ROLE_TOOL && unit->group != UNIT_NONE &&
			i > claude->units[unit->group].follower)
			unit->late = true;
	}
}

static size_t draft_of(uint32_t placed)
{
	return placed == UNIT_NONE ? DRAFT_NONE : placed;
}

static int add_draft(struct claude *claude, struct drafts *drafts, size_t index, size_t parent)
{
	struct unit *unit = &claude->units[index];
	struct draft draft = {.id = unit->id,
		.role = unit->role,
		.parent_kind = DRAFT_AT,
		.parent = parent,
		.still = unit->side || unit->late,
		.call_id = unit->call_id,
		.kept = true,
		.members = {"", unit->members_len},
		.members_at = unit->members_at};

	if (unit->role == ROLE_ASSISTANT) {
		draft.kept = false;
		draft.members = buffer_slice(&claude->out);
	}
	int rc = drafts_add(drafts, &draft);
	if (rc)
		return rc;
	unit->draft = (uint32_t)drafts->count - 1;
	return 0;
}

/* An assistant message, then the results of its batch as one chain. */
static int place_batch(struct claude *claude, struct drafts *drafts, size_t index, size_t parent)
{
	struct unit *unit = &claude->units[index];

	arena_reset(&claude->import->scratch);
	int rc = write_assistant(claude, unit);

	if (rc || (rc = add_draft(claude, drafts, index, parent)) < 0)
		return rc;
	unit->end = unit->draft;
	for (size_t call = unit->first_call; call != CALL_NONE; call = claude->calls[call].next) {
		size_t result = claude->calls[call].result;
		if (result == UNIT_NONE || claude->units[result].late || claude->units[result].draft != UNIT_NONE)
			continue;
		if ((rc = add_draft(claude, drafts, result, draft_of(unit->end))) < 0)
			return rc;
		unit->end = claude->units[result].draft;
	}
	return 0;
}

static int place_unit(struct claude *claude, struct drafts *drafts, size_t index)
{
	const struct unit *unit = &claude->units[index];
	size_t parent = DRAFT_NONE;

	if (unit->draft != UNIT_NONE)
		return 0; /* a result that stands in its batch already */
	if (unit->parent != UNIT_NONE) {
		size_t batch = claude_batch(claude, unit->parent);
		parent = draft_of(batch != UNIT_NONE ? claude->units[batch].end : claude->units[unit->parent].draft);
	}
	if (unit->late)
		parent = draft_of(claude->units[unit->group].draft);
	if (unit->role == ROLE_ASSISTANT)
		return place_batch(claude, drafts, index, parent);
	return add_draft(claude, drafts, index, parent);
}

/* The first unit of the main line goes first, so that no side message is taken for the head of an empty
 * session. In a file of side messages only (a sub-agent's own), they are the main line. UNIT_NONE: nothing is of it. */
static size_t find_first(struct claude *claude, size_t session)
{
	size_t first = UNIT_NONE;

	for (size_t i = 0; i < claude->unit_count; i++) {
		if (claude->units[i].session != session)
			continue;
		if (!claude->units[i].side)
			return i;
		if (first == UNIT_NONE)
			first = i;
	}
	for (size_t i = 0; i < claude->unit_count; i++) {
		if (claude->units[i].session == session)
			claude->units[i].side = false;
	}
	return first;
}

static int place_session(struct claude *claude, size_t session, bool last)
{
	struct drafts drafts = {.import = claude->import};
	size_t unit, first = find_first(claude, session);
	struct import_conversation *conversation =
		first == UNIT_NONE ? NULL : import_conversation_add(claude->import);

	if (!conversation)
		return first == UNIT_NONE ? 0 : BOBBIN_ENOMEM;
	conversation->foreign_id = claude->sessions[session].name;
	if (id_table_get(&claude->resolved, claude->title_leaf, &unit) && unit < claude->unit_count &&
		claude->units[unit].session == session)
		conversation->title = claude->title;
	int rc = place_unit(claude, &drafts, first);
	for (size_t i = 0; i < claude->unit_count && !rc; i++) {
		if (claude->units[i].session == session)
			rc = place_unit(claude, &drafts, i);
	}
	if (last)
		claude_release_units(claude); /* not needed for what comes now */
	if (!rc)
		rc = drafts_emit(&drafts, conversation);
	drafts_release(&drafts);
	return rc;
}

int claude_place(struct claude *claude)
{
	int rc = 0;

	find_late(claude);
	for (size_t i = 0; !rc && i < claude->session_count; i++)
		rc = place_session(claude, i, i + 1 == claude->session_count);
	return rc;
}
