/* SPDX-License-Identifier: MIT */
/*
 * Claude Code's session files: one record a line, a tree by uuid and parentUuid in which progress and system
 * records are nodes too.
 *
 *	assistant m1 thinking          one API message, one block a line, the same message.id;
 *	 └ assistant m1 tool_use A     results hang from the line of their call, so walking up from the last
 *	    ├ user tool_result A       message would lose A's result. Here: m1 [thinking, A, B], then
 *	    └ assistant m1 tool_use B  result A, result B, and what follows any of them follows B's result.
 *	       └ user tool_result B
 *	          └ assistant m2 …
 *
 * Pass one turns lines into units (messages to be) and resolves each record's parent to the nearest unit;
 * pass two (import_claude_place.c) orders the units and writes them.
 *
 * Invariants: (1) a record's uuid resolves to the last unit at or above it; (2) units are in file order; (3)
 * a result is in its call's batch unless the model was called again without it: then it is late and hangs from
 * the message that asked; (4) a part of a line that a person typed and one that a tool wrote are two units, in
 * order; (5) what begins a line anew under another sessionId is a session of its own: a session that was resumed
 * under another id names what it follows, and goes on.
 *
 * Words that a person typed while the model worked are in the queue's lines: import_claude_queue.c.
 */
#include "transcript/import_claude.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

/* What a record that is no message can tell; each kind is reported once, with its number. */
static const struct {
	const char *type, *subtype, *text;
} LEFT_OUT[] = {
	{"progress", "agent_progress",
		"{message|messages} of sub-agents that never entered this context (agent_progress)"},
	{"progress", NULL, "progress {record|records}"},
	{"system", "microcompact_boundary",
		"{boundary|boundaries} where tool output was cleared from the context (microcompact_boundary)"},
	{"system", "compact_boundary", "compaction {boundary|boundaries} (the summary after each is a message)"},
	{"system", NULL, "{notice|notices} of the client (system)"},
	{"queue-operation", NULL, "queue {operation|operations}"},
	{"file-history-snapshot", NULL, "file {snapshot|snapshots}"},
	{"file-history-delta", NULL, "file {change|changes}"},
	{"summary", NULL, "{title|titles} (summary)"},
	{NULL, NULL, "{record|records} of other kinds"},
};

static void leave_out(
	struct claude *claude, const struct json *record, const struct json *type, struct place place)
{
	struct json data, subtype;
	size_t kind = 0;

	json_get(record, "subtype", &subtype);
	if (json_get(record, "data", &data))
		json_get(&data, "type", &subtype);
	for (; LEFT_OUT[kind].type; kind++) {
		if (json_string_is(type, LEFT_OUT[kind].type) &&
			(!LEFT_OUT[kind].subtype || json_string_is(&subtype, LEFT_OUT[kind].subtype)))
			break;
	}
	if (claude->left_out[kind].count++ == 0)
		claude->left_out[kind].first = place;
}

static int report_left_out(struct claude *claude)
{
	for (size_t i = 0; i < sizeof(LEFT_OUT) / sizeof(LEFT_OUT[0]); i++) {
		uint64_t count = claude->left_out[i].count;
		if (count && import_left_out_many(claude->import, claude->left_out[i].first, LEFT_OUT[i].text, count,
				     LEFT_OUT[i].type != NULL) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

size_t claude_session(const struct claude *claude, size_t parent)
{
	return parent != UNIT_NONE ? claude->units[parent].session : claude->sessions[claude->session].into;
}

static bool is_foreign(const struct claude *claude, size_t unit)
{
	return unit != UNIT_NONE && claude->session_count &&
	       claude->units[unit].session != claude->sessions[claude->session].into;
}

/* The uuid of what a record follows: also what it followed before a compaction. */
static void find_parent_id(const struct json *record, struct json *ret_parent)
{
	if (json_get(record, "parentUuid", ret_parent) && ret_parent->type == JSON_NULL)
		json_get(record, "logicalParentUuid", ret_parent);
}

static void names(struct import *import, const struct json *record, struct slice *ret_id, struct slice *ret_parent)
{
	struct json parent;

	*ret_id = import_string(import, record, "uuid");
	find_parent_id(record, &parent);
	*ret_parent = (struct slice){NULL, 0};
	if (parent.type == JSON_STRING)
		*ret_parent = json_string_content(&parent, import_scratch(import));
}

/* Where a record hangs: the unit at or above its parent, or UNIT_NONE for a root. */
static int resolve_parent(
	struct claude *claude, const struct json *record, bool side, struct place place, size_t *ret_unit)
{
	struct json parent;

	if (!json_get(record, "parentUuid", &parent)) {
		*ret_unit = is_foreign(claude, claude->last[side]) ? UNIT_NONE : claude->last[side];
		return 0;
	}
	find_parent_id(record, &parent);
	if (parent.type == JSON_NULL || parent.type == JSON_ABSENT) {
		*ret_unit = UNIT_NONE;
		return 0;
	}
	struct slice uuid = json_string_content(&parent, import_scratch(claude->import));
	if (parent.type == JSON_STRING && !uuid.data)
		return BOBBIN_ENOMEM;
	if (id_table_get(&claude->resolved, uuid, ret_unit)) {
		if (*ret_unit == SIZE_MAX)
			*ret_unit = UNIT_NONE;
		return 0;
	}
	if (import_order_missed(claude->order, uuid) < 0)
		return BOBBIN_ENOMEM;
	*ret_unit = claude->last[side];
	if (is_foreign(claude, *ret_unit)) /* its session begins before the file */
		*ret_unit = UNIT_NONE;
	return import_warn(claude->import, place,
		*ret_unit == UNIT_NONE
			? "the file begins in the middle of a session: what came before is not in it"
			: "the record before this one is not in the file: the line goes on from the last "
			  "message");
}

static int remember(struct claude *claude, struct slice uuid, size_t unit)
{
	return uuid.data ? id_table_put(&claude->resolved, uuid, unit) : 0;
}

struct unit *claude_unit_add(struct claude *claude, const struct unit *unit)
{
	if (mem_grow((void **)&claude->units, &claude->unit_cap, claude->unit_count + 1, sizeof(*unit)) < 0)
		return NULL;
	claude->units[claude->unit_count] = *unit;
	claude->units[claude->unit_count].session =
		(unsigned)claude_session(claude, unit->parent);
	claude->last[unit->side] = claude->unit_count;
	return &claude->units[claude->unit_count++];
}

int claude_text(struct claude *claude, struct span span, struct slice *ret_text)
{
	if (claude->import->source)
		return import_bytes_again(claude->import, span.offset, span.len, &claude->text, ret_text);
	*ret_text = (struct slice){claude->data + span.offset, span.len};
	return 0;
}

static int add_part(struct claude *claude, size_t unit, const struct json *record, struct place place)
{
	if (mem_grow((void **)&claude->parts, &claude->part_cap, claude->part_count + 1,
		    sizeof(*claude->parts)) < 0)
		return BOBBIN_ENOMEM;
	claude->parts[claude->part_count] = (struct part){{place.offset, (uint32_t)record->len}, PART_NONE};
	if (claude->units[unit].last_part == PART_NONE)
		claude->units[unit].first_part = (uint32_t)claude->part_count;
	else
		claude->parts[claude->units[unit].last_part].next = (uint32_t)claude->part_count;
	claude->units[unit].last_part = (uint32_t)claude->part_count++;
	return 0;
}

/* Remembers the calls of an assistant line, so that results find them. */
static int add_calls(struct claude *claude, size_t unit, const struct json *content)
{
	struct json_iter iter;
	struct json block, type;

	json_iter_init(&iter, content);
	while (content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &block)) {
		if (!json_get(&block, "type", &type) || !json_string_is(&type, "tool_use"))
			continue;
		struct slice id = import_hold(claude->import, import_string(claude->import, &block, "id"));
		if (mem_grow((void **)&claude->calls, &claude->call_cap, claude->call_count + 1,
			    sizeof(*claude->calls)) < 0)
			return BOBBIN_ENOMEM;
		struct unit *owner = &claude->units[unit];
		claude->calls[claude->call_count] = (struct call){id, (uint32_t)unit, UNIT_NONE, CALL_NONE};
		if (owner->last_call == CALL_NONE)
			owner->first_call = (uint32_t)claude->call_count;
		else
			claude->calls[owner->last_call].next = (uint32_t)claude->call_count;
		owner->last_call = (uint32_t)claude->call_count;
		if (id.data && id_table_put(&claude->call_ids, id, claude->call_count) < 0)
			return BOBBIN_ENOMEM;
		claude->call_count++;
	}
	return 0;
}

size_t claude_batch(const struct claude *claude, size_t unit)
{
	if (unit == UNIT_NONE || claude->units[unit].role == ROLE_ASSISTANT)
		return unit;
	return claude->units[unit].role == ROLE_TOOL ? claude->units[unit].group : UNIT_NONE;
}

static int read_assistant(struct claude *claude, const struct json *record, const struct json *message,
	struct slice uuid, bool side, struct place place, size_t parent, size_t *ret_unit)
{
	struct json content;
	struct slice id = import_string(claude->import, message, "id");
	size_t unit = UNIT_NONE;

	if (!json_get(message, "content", &content) ||
		(content.type != JSON_ARRAY && content.type != JSON_STRING)) {
		*ret_unit = parent;
		return import_warn(claude->import, place, "an assistant message without content: left out");
	}
	/* The same API message goes on, unless this line hangs elsewhere: then it was asked for again. */
	if (!id.data || !id_table_get(&claude->message_ids, id, &unit) || claude->units[unit].side != side ||
		content.type != JSON_ARRAY || claude->units[unit].session != claude_session(claude, parent) ||
		(claude_batch(claude, parent) != unit && claude_asked_from(claude, parent) != claude_asked_from(claude, claude->units[unit].parent)))
		unit = UNIT_NONE;
	if (unit == UNIT_NONE) {
		int rc = side || !claude->queue_given ? 0 : claude_hand_over(claude, &parent);
		if (rc)
			return rc;
		struct unit fresh = UNIT_INIT;
		fresh.role = ROLE_ASSISTANT;
		fresh.side = side;
		fresh.parent = parent;
		fresh.id = uuid;
		id = import_hold(claude->import, id);
		if (!claude_unit_add(claude, &fresh))
			return BOBBIN_ENOMEM;
		unit = claude->unit_count - 1;
		if (id.data && id_table_put(&claude->message_ids, id, unit) < 0)
			return BOBBIN_ENOMEM;
	}
	*ret_unit = unit;
	int rc = add_part(claude, unit, record, place);
	return rc ? rc : add_calls(claude, unit, &content);
}

/* The same record written twice (a glued line is often followed by a second copy). */
static int is_repeated(struct claude *claude, const struct json *record, const struct json *message,
	struct slice uuid, struct place place, bool *ret_repeated)
{
	struct json content;
	struct slice earlier;
	size_t seen;

	*ret_repeated = false;
	if (!uuid.data || !json_get(message, "content", &content))
		return 0;
	if (!id_table_get(&claude->contents, uuid, &seen)) {
		if (mem_grow((void **)&claude->seen, &claude->seen_cap, claude->seen_count + 1,
			    sizeof(*claude->seen)) < 0)
			return BOBBIN_ENOMEM;
		claude->seen[claude->seen_count] = (struct span){
			place.offset + (uint64_t)(content.text - record->text), (uint32_t)content.len};
		return id_table_put(&claude->contents, uuid, claude->seen_count++);
	}
	int rc = claude_text(claude, claude->seen[seen], &earlier);
	if (rc)
		return rc;
	*ret_repeated = slice_equal(earlier, (struct slice){content.text, content.len});
	return import_warn(claude->import, place,
		*ret_repeated ? "the same record a second time: left out"
			      : "another record with an id that occurred before: kept, without the id");
}

/* The session of a record, if nothing that it follows says another. */
static int find_session(struct claude *claude, const struct json *record)
{
	struct slice id = import_string(claude->import, record, "sessionId");

	if (!id.data && claude->session_count)
		return 0;
	for (size_t i = claude->session_count; i-- > 0;) {
		claude->session = i;
		if (slice_equal(claude->sessions[i].id, id))
			return 0;
	}
	claude->session = claude->session_count - 1;
	if (claude->session_count == CLAUDE_SESSIONS)
		return 0;
	if (mem_grow((void **)&claude->sessions, &claude->session_cap, claude->session_count + 1,
		    sizeof(*claude->sessions)) < 0)
		return BOBBIN_ENOMEM;
	id = import_hold(claude->import, id);
	claude->session = claude->session_count++;
	claude->sessions[claude->session] = (struct claude_session){id, id, claude->session};
	return 0;
}

/* A session that goes on under another id is called by the last one. */
static void name_session(struct claude *claude, size_t unit)
{
	if (unit == UNIT_NONE)
		return;
	size_t session = claude->units[unit].session;
	claude->sessions[claude->session].into = session;
	claude->sessions[session].name = claude->sessions[claude->session].id;
}

/* A user's line that has no result: a turn has ended. */
static bool has_result(const struct json *message)
{
	struct json content, block, type;
	struct json_iter iter;

	json_get(message, "content", &content);
	json_iter_init(&iter, &content);
	while (content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &block))
		if (json_get(&block, "type", &type) && json_string_is(&type, "tool_result"))
			return true;
	return false;
}

static int read_message(struct claude *claude, const struct json *record, bool assistant, struct place place)
{
	struct json message, flag;
	bool side = false, repeated;
	size_t parent, unit;
	struct slice uuid = import_hold(claude->import, import_string(claude->import, record, "uuid"));
	int rc;

	if (json_get(record, "isSidechain", &flag))
		json_bool(&flag, &side);
	if ((rc = find_session(claude, record)) < 0 ||
		(rc = resolve_parent(claude, record, side, place, &parent)) < 0)
		return rc;
	if (!json_get(record, "message", &message) || message.type != JSON_OBJECT) {
		rc = import_warn(claude->import, place, "a record without its message: left out");
		return rc ? rc : remember(claude, uuid, parent);
	}
	if ((rc = is_repeated(claude, record, &message, uuid, place, &repeated)) < 0 || repeated)
		return rc;
	if (!assistant && !side && claude->queue_given && !has_result(&message) && (rc = claude_hand_over(claude, &parent)) < 0)
		return rc;
	if (assistant)
		rc = read_assistant(claude, record, &message, uuid, side, place, parent, &unit);
	else
		rc = claude_read_user(claude, record, &message, uuid, side, place, parent, &unit);
	if (!rc && !side)
		name_session(claude, unit);
	return rc ? rc : remember(claude, uuid, unit);
}

/* A title belongs to this session only if it names one of its messages. */
static void read_summary(struct claude *claude, const struct json *record)
{
	struct slice leaf = import_string(claude->import, record, "leafUuid");

	if (leaf.data) {
		claude->title = import_hold(claude->import, import_string(claude->import, record, "summary"));
		claude->title_leaf = import_hold(claude->import, leaf);
	}
}

/* A record that is no message, but one that others hang from, or words that waited in the queue: *ret_queued. */
static int read_node(struct claude *claude, const struct json *record, struct place place, bool *ret_queued)
{
	struct slice uuid = import_hold(claude->import, import_string(claude->import, record, "uuid"));
	struct json flag, attachment;
	bool side = false, queued = uuid.data && claude_queued_command(record, &attachment);
	size_t parent;
	int rc;

	*ret_queued = queued;
	if (!uuid.data)
		return 0;
	if (json_get(record, "isSidechain", &flag))
		json_bool(&flag, &side);
	/* It may be the first message of its session, or of the file. */
	if ((queued && (rc = find_session(claude, record)) < 0) ||
		(rc = resolve_parent(claude, record, side, place, &parent)) < 0 ||
		(queued && (rc = claude_read_queued(claude, record, &attachment, uuid, side, place, &parent)) < 0))
		return rc;
	if (queued && !side)
		name_session(claude, parent);
	return remember(claude, uuid, parent);
}

static int read_record(struct claude *claude, const struct json *record, struct place place)
{
	struct json type;
	bool queued;
	int rc;

	if (!json_get(record, "type", &type) || type.type != JSON_STRING)
		return import_warn(claude->import, place, "a record without a type: left out");
	if (json_string_is(&type, "user") || json_string_is(&type, "assistant"))
		return read_message(claude, record, json_string_is(&type, "assistant"), place);
	if (json_string_is(&type, "summary"))
		read_summary(claude, record);
	if ((rc = read_node(claude, record, place, &queued)) < 0 || queued)
		return rc;
	leave_out(claude, record, &type, place);
	return json_string_is(&type, "queue-operation") ? claude_read_queue(claude, record, place) : 0;
}

/* What only reading asks for: the records that are written then need the memory. */
static void end_reading(struct claude *claude)
{
	id_table_release(&claude->message_ids);
	id_table_release(&claude->call_ids);
	id_table_release(&claude->contents);
	mem_free(claude->seen);
	claude->seen = NULL;
}

void claude_release_units(struct claude *claude)
{
	end_reading(claude);
	id_table_release(&claude->resolved);
	mem_free(claude->units);
	mem_free(claude->parts);
	mem_free(claude->calls);
	claude->units = NULL;
	claude->parts = NULL;
	claude->calls = NULL;
}

static void claude_release(struct claude *claude)
{
	claude_release_units(claude);
	mem_free(claude->records);
	mem_free(claude->sessions);
	mem_free(claude->queue);
	buffer_release(&claude->text);
	buffer_release(&claude->out);
}

static void claude_init(struct claude *claude, struct import *import, struct import_order *order, const char *data)
{
	*claude = (struct claude){.import = import,
		.order = order,
		.data = data,
		.last = {UNIT_NONE, UNIT_NONE},
		.text = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
}

static int read_records(struct claude *claude)
{
	struct import_order *order = claude->order;
	struct json record;
	struct place place;
	int rc;

	while ((rc = import_order_next(order, &record, &place)) > 0) {
		if (order->anew) {
			claude_release(claude);
			claude_init(claude, order->import, order, order->data);
		}
		if ((rc = read_record(claude, &record, place)) < 0)
			break;
	}
	return rc ? rc : import_order_tell(order);
}

int import_claude_code(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct claude claude;
	struct import_order order;

	import_order_init(&order, import, data, len, names);
	claude_init(&claude, import, &order, data);
	int rc = read_records(&claude);
	if (!rc)
		rc = claude_tell_queued(&claude);
	if (!rc)
		rc = report_left_out(&claude);
	if (!rc && !claude.unit_count)
		rc = import_lines_fail(&order.lines, "claude-code", error);
	else if (!rc) {
		end_reading(&claude);
		import_order_release(&order);
		rc = claude_place(&claude);
	}
	import_order_release(&order);
	claude_release(&claude);
	return import_end(rc, error);
}
