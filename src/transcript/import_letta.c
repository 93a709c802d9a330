/* SPDX-License-Identifier: MIT */
/*
 * Letta's agent files (.af), of two layouts: one agent as the document, or several under "agents".
 *
 *	{"agent_type","system","tools",…,"messages":[{"role","content":[blocks],"tool_calls","tool_call_id","created_at",
 *	  "in_context"}],"in_context_message_indices"?}
 *	{"agents":[{"name","system","in_context_message_ids","messages":[{"id",…,"tool_returns","approvals"}]}],…}
 *
 * Each agent is a conversation. The older layout keeps its messages in no order: they are sorted by
 * "created_at".
 *
 *	system      left out: prompts, compiled anew whenever memory changes. But a {"type":"system_alert"} is
 * the product's summary of what it hid: user, origin summary user        content may be a JSON envelope:
 * {"type":"user_message"} is a person's, heartbeats and logins are injected assistant, approval with
 * tool_calls      an assistant message; reasoning blocks with a signature become thinking tool        one
 * result for each of "tool_returns", in the order of the calls, or one approval with approvals the person's
 * yes or no, and what a client's tool gave. A tool message repeats it; it stands there under "src" as
 * "approval". Without one, its results are taken from here
 *
 * "in_context":false (hidden from the model later on) stays under "src"; the message was shown once.
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

#include <stdlib.h>
#include "base/alloc.h"

struct letta_message {
	struct json value, created;
	size_t place; /* in the list: sorting is stable */
};

struct letta {
	struct builder builder;
	struct slice text; /* the file */
	struct letta_message *list;
	size_t count, cap;
	struct json calls;	  /* of the last assistant message */
	struct json approval;	  /* not repeated yet; JSON_ABSENT: none */
	struct id_table returned; /* call ids that tool messages answer */
};

static struct place place_of(const struct letta *letta, const struct json *value)
{
	return import_document_place(letta->text.data, letta->text.len, value);
}

static int by_time(const void *a, const void *b)
{
	const struct letta_message *one = a, *other = b;
	size_t len = one->created.len < other->created.len ? one->created.len : other->created.len;
	int order = memcmp(one->created.text, other->created.text, len);

	if (order == 0)
		order = (one->created.len > other->created.len) - (one->created.len < other->created.len);
	return order ? order : (one->place > other->place) - (one->place < other->place);
}

/* Gathers the messages in the order of time, if all have one; and the ids that tool messages answer. */
static int gather(struct letta *letta, const struct json *messages)
{
	struct json_iter iter;
	struct json message;
	bool timed = true;

	letta->count = 0;
	json_iter_init(&iter, messages);
	while (json_iter_next(&iter, NULL, &message)) {
		if (mem_grow((void **)&letta->list, &letta->cap, letta->count + 1, sizeof(*letta->list)) < 0)
			return BOBBIN_ENOMEM;
		struct letta_message *entry = &letta->list[letta->count];
		*entry = (struct letta_message){.value = message, .place = letta->count};
		timed &= json_get(&message, "created_at", &entry->created) &&
			 entry->created.type == JSON_STRING;
		letta->count++;
	}
	if (timed && letta->count)
		qsort(letta->list, letta->count, sizeof(*letta->list), by_time);
	return 0;
}

static int note_returned(struct letta *letta, const struct json *message)
{
	struct import *import = letta->builder.import;
	struct json returns, one;
	struct json_iter iter;
	struct slice id = import_string(import, message, "tool_call_id");

	if (id.data && id_table_put(&letta->returned, id, 0) < 0)
		return BOBBIN_ENOMEM;
	if (!part_list(message, "tool_returns", &returns))
		return 0;
	json_iter_init(&iter, &returns);
	while (json_iter_next(&iter, NULL, &one)) {
		id = import_string(import, &one, "tool_call_id");
		if (id.data && id_table_put(&letta->returned, id, 0) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

static bool is_reasoning(const struct json *block)
{
	struct json value;

	return part_is(block, "type", "reasoning") && json_get(block, "signature", &value) &&
	       value.type == JSON_STRING && json_get(block, "reasoning", &value) && value.type == JSON_STRING;
}

static void write_letta_content(struct json_writer *writer, const struct json *content)
{
	static const char *const OWN[] = {"type", "reasoning", "signature", NULL};
	struct json_iter iter;
	struct json block, value;

	if (content->type != JSON_ARRAY) {
		write_content_of(writer, content);
		return;
	}
	json_key(writer, "content");
	json_begin_array(writer);
	json_iter_init(&iter, content);
	while (json_iter_next(&iter, NULL, &block)) {
		if (!is_reasoning(&block)) {
			json_add_value(writer, &block);
			continue;
		}
		json_begin_object(writer);
		json_member_text(writer, "type", "thinking");
		json_get(&block, "reasoning", &value);
		json_member_value(writer, "thinking", &value);
		json_get(&block, "signature", &value);
		json_member_value(writer, "signature", &value);
		write_members_except(writer, &block, OWN);
		json_end_object(writer);
	}
	json_end_array(writer);
}

static int end_message(
	struct letta *letta, const struct json *message, const char *const *except, struct slice id)
{
	struct json_writer *writer = &letta->builder.writer;
	struct json time;

	if (json_get(message, "created_at", &time) && time.type == JSON_STRING)
		write_time(writer, &time);
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, message, except);
	if (letta->approval.type == JSON_OBJECT && letta->builder.role == ROLE_TOOL)
		json_member_value(writer, "approval", &letta->approval);
	json_end_object(writer);
	if (letta->builder.role == ROLE_TOOL)
		letta->approval.type = JSON_ABSENT;
	return builder_end_next(&letta->builder, id);
}

/* The text of a message that is one text, decoded. */
static struct slice only_text(struct letta *letta, const struct json *content)
{
	struct json block, text = *content;

	if (content->type == JSON_ARRAY && part_first(content, &block))
		json_get(&block, "text", &text);
	return text.type == JSON_STRING ? json_string_content(&text, &letta->builder.import->arena)
					: (struct slice){NULL, 0};
}

/* What an envelope says of itself: {NULL, 0} for plain text. */
static struct slice envelope_type(struct letta *letta, const struct json *content)
{
	struct slice text = only_text(letta, content);
	struct json envelope;

	if (!text.data || json_parse(text.data, text.len, &envelope, NULL) < 0 ||
		(!part_has(&envelope, "time") && !part_is(&envelope, "type", "system_alert")))
		return (struct slice){NULL, 0};
	return import_string(letta->builder.import, &envelope, "type");
}

static int read_text(struct letta *letta, const struct json *message, enum message_origin origin)
{
	static const char *const OWN[] = {"id", "role", "content", "created_at", NULL};
	struct json content;

	json_get(message, "content", &content);
	write_letta_content(builder_begin(&letta->builder, ROLE_USER), &content);
	builder_origin(&letta->builder, origin);
	return end_message(letta, message, OWN, import_string(letta->builder.import, message, "id"));
}

static int read_user(struct letta *letta, const struct json *message, bool system)
{
	struct json content;

	json_get(message, "content", &content);
	struct slice type = envelope_type(letta, &content);
	if (slice_is(type, "system_alert"))
		return read_text(letta, message, ORIGIN_SUMMARY);
	if (system)
		return import_left_out(letta->builder.import, place_of(letta, message), "system {message|messages}");
	return read_text(letta, message,
		type.data && !slice_is(type, "user_message") ? ORIGIN_INJECTED : ORIGIN_PERSON);
}

static int read_assistant(struct letta *letta, const struct json *message)
{
	static const char *const OWN[] = {"id", "content", "tool_calls", "created_at", NULL};
	struct json_writer *writer = builder_begin(&letta->builder, ROLE_ASSISTANT);
	struct json content;

	json_get(message, "content", &content);
	write_letta_content(writer, &content);
	if (part_list(message, "tool_calls", &letta->calls))
		write_calls_of(writer, &letta->calls);
	return end_message(letta, message, OWN, import_string(letta->builder.import, message, "id"));
}

/* One of several results in a message: "func_response", "status". The first has the message's id. */
static int read_return(struct letta *letta, const struct json *message, const struct json *one, size_t *count)
{
	static const char *const OWN[] = {
		"id", "content", "tool_returns", "approvals", "tool_call_id", "created_at", NULL};
	static const char *const ONE[] = {"tool_call_id", "func_response", "status", NULL};
	struct import *import = letta->builder.import;
	struct json_writer *writer =
		builder_begin_result(&letta->builder, import_string(import, one, "tool_call_id"));
	struct json response;

	if (!json_get(one, "func_response", &response))
		json_get(one, "tool_return", &response);
	write_content_of(writer, &response);
	if (part_is(one, "status", "error"))
		json_member_bool(writer, "is_error", true);
	write_object_once(writer, "return", one, ONE, (struct slice){NULL, 0});
	if ((*count)++ == 0)
		return end_message(letta, message, OWN, import_string(import, message, "id"));
	return builder_end_next(&letta->builder, (struct slice){NULL, 0});
}

static bool find_return(const struct json *returns, const struct json *id, struct json *ret_one)
{
	struct json_iter iter;
	struct json found;

	json_iter_init(&iter, returns);
	while (json_iter_next(&iter, NULL, ret_one)) {
		if (json_get(ret_one, "tool_call_id", &found) && json_string_equal(&found, id))
			return true;
	}
	return false;
}

static bool is_called(const struct letta *letta, const struct json *one)
{
	struct json_iter iter;
	struct json call, id, called;

	if (!json_get(one, "tool_call_id", &id) || id.type != JSON_STRING)
		return false;
	json_iter_init(&iter, &letta->calls);
	while (json_iter_next(&iter, NULL, &call)) {
		if (json_get(&call, "id", &called) && json_string_equal(&called, &id))
			return true;
	}
	return false;
}

/* Results of a list in the order of the calls, then those that answer none of them. */
static int read_returns(
	struct letta *letta, const struct json *message, const struct json *returns, bool unanswered)
{
	struct json_iter iter;
	struct json call, one, id;
	size_t count = 0, ignored;
	int rc = 0;

	json_iter_init(&iter, &letta->calls);
	while (!rc && letta->calls.type == JSON_ARRAY && json_iter_next(&iter, NULL, &call)) {
		if (!json_get(&call, "id", &id) || id.type != JSON_STRING || !find_return(returns, &id, &one))
			continue;
		if (!unanswered || !id_table_get(&letta->returned,
					   json_string_content(&id, &letta->builder.import->arena), &ignored))
			rc = read_return(letta, message, &one, &count);
	}
	json_iter_init(&iter, returns);
	while (!rc && json_iter_next(&iter, NULL, &one)) {
		if (one.type != JSON_OBJECT || is_called(letta, &one))
			continue;
		if (!unanswered ||
			!id_table_get(&letta->returned,
				import_string(letta->builder.import, &one, "tool_call_id"), &ignored))
			rc = read_return(letta, message, &one, &count);
	}
	return rc;
}

static int read_tool(struct letta *letta, const struct json *message)
{
	static const char *const OWN[] = {
		"id", "role", "content", "tool_call_id", "name", "created_at", NULL};
	struct json returns, content, name;
	struct builder *builder = &letta->builder;

	json_get(message, "content", &content);
	if (part_list(message, "tool_returns", &returns) && json_count(&returns) > 0 &&
		(content.type != JSON_ARRAY || json_count(&content) == 0))
		return read_returns(letta, message, &returns, false);
	builder_begin_result(builder, import_string(builder->import, message, "tool_call_id"));
	if (json_get(message, "name", &name) && name.type == JSON_STRING)
		json_member_value(&builder->writer, "name", &name);
	write_content_of(&builder->writer, &content);
	return end_message(letta, message, OWN, import_string(builder->import, message, "id"));
}

/* An approval holds results only where a client ran the tool. */
static int read_approval(struct letta *letta, const struct json *message)
{
	struct json calls, approvals, one;
	struct json_iter iter;
	bool results = false;

	if (part_list(message, "tool_calls", &calls) && json_count(&calls) > 0)
		return read_assistant(letta, message);
	if (part_list(message, "approvals", &approvals)) {
		json_iter_init(&iter, &approvals);
		while (json_iter_next(&iter, NULL, &one))
			results |= part_has(&one, "func_response") || part_has(&one, "tool_return");
	}
	letta->approval = *message;
	int rc = results ? read_returns(letta, message, &approvals, true) : 0;
	return rc ? rc : import_left_out(letta->builder.import, place_of(letta, message), "{approval|approvals}");
}

static int read_message(struct letta *letta, const struct json *message)
{
	if (part_is(message, "role", "system"))
		return read_user(letta, message, true);
	if (part_is(message, "role", "user"))
		return read_user(letta, message, false);
	if (part_is(message, "role", "assistant"))
		return read_assistant(letta, message);
	if (part_is(message, "role", "approval"))
		return read_approval(letta, message);
	if (part_is(message, "role", "tool"))
		return read_tool(letta, message);
	return import_not_understood(letta->builder.import, place_of(letta, message), "{message|messages} of the role",
		import_string(letta->builder.import, message, "role"));
}

static int read_agent(struct letta *letta, const struct json *agent)
{
	struct import *import = letta->builder.import;
	struct json messages;

	if (!part_list(agent, "messages", &messages))
		return 0;
	id_table_release(&letta->returned);
	letta->calls = letta->approval = (struct json){NULL, 0, JSON_ABSENT};
	int rc = gather(letta, &messages);
	for (size_t i = 0; i < letta->count && !rc; i++) {
		if (part_is(&letta->list[i].value, "role", "tool"))
			rc = note_returned(letta, &letta->list[i].value);
	}
	for (size_t i = 0; i < letta->count && !rc; i++)
		rc = read_message(letta, &letta->list[i].value);
	return rc ? rc
		  : builder_conversation(&letta->builder, import_string(import, agent, "id"),
			    import_string(import, agent, "name"));
}

static int read_all(struct letta *letta, const struct json *document)
{
	struct json agents, agent;
	struct json_iter iter;
	int rc = 0;

	if (!part_list(document, "agents", &agents))
		return read_agent(letta, document);
	json_iter_init(&iter, &agents);
	while (!rc && json_iter_next(&iter, NULL, &agent))
		rc = read_agent(letta, &agent);
	return rc;
}

bool import_is_letta(const struct import_probe *probe)
{
	struct json agents, agent = probe->value, messages;

	if (part_list(&probe->value, "agents", &agents) && !part_first(&agents, &agent))
		return false;
	return part_list(&agent, "messages", &messages) &&
	       (part_has(&agent, "agent_type") || part_has(&agent, "in_context_message_ids") ||
		       part_has(&agent, "in_context_message_indices"));
}

int import_letta(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct letta letta = {.text = {data, len}};
	struct json document;
	int rc = import_document(import, data, len, &document, error);

	builder_init(&letta.builder, import);
	if (!rc)
		rc = read_all(&letta, &document);
	mem_free(letta.list);
	id_table_release(&letta.returned);
	return import_finish(&letta.builder, rc, "letta", error);
}
