/* SPDX-License-Identifier: MIT */
/*
 * Copilot CLI's event files, one event a line: {"type","data","id","parentId","timestamp"}. parentId is the
 * event before, so the events follow each other.
 *
 *	user.message                 content was typed, transformedContent is what the model was shown; where
 *	                             the one stands in the other, what surrounds it is injected, in messages
 *	                             of its own
 *	assistant.message            content, reasoningText and reasoningOpaque, toolRequests; of the usage
 *	                             the output alone, until an assistant.usage says more
 *	tool.execution_complete      a result; those of a batch are put in the order of its calls
 *	system.notification          text the client gave the model: injected
 *	session.compaction_complete  a summary of all before it
 *	session.snapshot_rewind      the event named and all after it were taken back
 *
 * Left out, counted by kind: system prompts, starts of tools and turns, hooks (which repeat whole results),
 * permissions, settings, and what has a parentToolCallId: messages of sub-agents, which never entered this
 * context.
 */
#include "transcript/import_builder.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

struct result {
	struct json event, data;
	bool written;
};

struct copilot {
	struct import *import;
	struct builder builder;
	struct json requests;	/* calls of the last reply, or JSON_ABSENT */
	struct arena asked, waiting; /* that, and the results, where the file is read piece by piece */
	size_t reply;		/* its draft */
	struct result *results; /* that wait to be put in order */
	size_t count, cap;
	struct id_table events; /* event id to the end of the line before it, for user messages */
	struct slice session_id;
	struct draft next;
	size_t head;
};

static const struct {
	const char *type, *text;
} LEFT_OUT[] = {
	{"system.message", "system {prompt|prompts} (given with each request, not stored)"},
	{"hook.", "events of hooks"},
	{"permission.", "permissions asked for and given"},
	{"tool.", "starts and progress of tools"},
	{"assistant.", "turns, and copies of what replies hold"},
	{"session.", "settings and notices of the session"},
	{"abort", "interruptions"},
	{"subagent.", "starts and ends of sub-agents"},
	{"skill.", "skills that were loaded"},
	{"pending_messages.", "changes of the queue of messages"},
	{"external_tool.", "starts and progress of tools"},
	{"user_input.", "questions to the person and answers (the tool's result has them)"},
	{"elicitation.", "questions to the person and answers (the tool's result has them)"},
	{"command.", "commands of the client"},
	{"mcp.", "connections to tool servers"},
	{"exit_plan_mode.", "changes of mode"},
};

static int end_message(struct copilot *copilot, const struct json *event, struct slice id)
{
	struct draft draft = copilot->next;
	struct json time;

	if (json_get(event, "timestamp", &time))
		write_time(&copilot->builder.writer, &time);
	draft.id = id;
	copilot->next = (struct draft){.parent_kind = DRAFT_HEAD};
	int rc = builder_end(&copilot->builder, &draft);
	copilot->head = copilot->builder.drafts.count - 1;
	return rc;
}

static struct slice event_id(struct copilot *copilot, const struct json *event)
{
	return import_string(copilot->import, event, "id");
}

static int write_result(struct copilot *copilot, struct result *result)
{
	static const char *const OWN[] = {"toolCallId", "success", "result", NULL};
	static const char *const RESULT[] = {"content", NULL};
	struct json inner = {.type = JSON_ABSENT}, value, content = {"\"\"", 2, JSON_STRING};
	bool success = true;

	struct json_writer *writer = builder_begin_result(
		&copilot->builder, import_string(copilot->import, &result->data, "toolCallId"));
	result->written = true;
	if (json_get(&result->data, "result", &inner))
		json_get(&inner, "content", &content);
	else if (json_get(&result->data, "error", &value) && !json_get(&value, "message", &content))
		content = value;
	json_key(writer, "content");
	if (content.type == JSON_STRING)
		json_add_value(writer, &content);
	else
		json_add_string(writer, (struct slice){content.len ? content.text : "", content.len});
	if (json_get(&result->data, "success", &value) && json_bool(&value, &success) && !success)
		json_member_bool(writer, "is_error", true);
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, &result->data, OWN);
	if (has_members_except(&inner, RESULT)) {
		json_key(writer, "result");
		json_begin_object(writer);
		struct json_iter iter;
		struct json key;
		json_iter_init(&iter, &inner);
		while (json_iter_next(&iter, &key, &value)) {
			struct slice plain;
			if (json_string_is(&key, "content") || !json_string_plain(&key, &plain))
				continue;
			json_key_slice(writer, plain);
			write_without_repeats(writer, &value, (struct slice){content.text, content.len});
		}
		json_end_object(writer);
	}
	json_end_object(writer);
	return end_message(copilot, &result->event, event_id(copilot, &result->event));
}

/* The results that wait, in the order of their calls; those of no call of the last reply come after. */
static int flush_results(struct copilot *copilot)
{
	struct json request, id, own;
	struct json_iter iter;
	int rc = 0;

	json_iter_init(&iter, &copilot->requests);
	while (!rc && copilot->count && json_iter_next(&iter, NULL, &request)) {
		for (size_t i = 0; !rc && i < copilot->count && json_get(&request, "toolCallId", &id); i++) {
			struct result *result = &copilot->results[i];
			if (!result->written && json_get(&result->data, "toolCallId", &own) &&
				json_string_equal(&own, &id)) {
				rc = write_result(copilot, result);
				break;
			}
		}
	}
	for (size_t i = 0; !rc && i < copilot->count; i++) {
		if (!copilot->results[i].written)
			rc = write_result(copilot, &copilot->results[i]);
	}
	copilot->count = 0;
	arena_reset(&copilot->waiting);
	return rc;
}

/* A value that outlives its record. */
static int hold_value(struct copilot *copilot, struct arena *arena, struct json *value)
{
	if (!copilot->import->source || value->type == JSON_ABSENT)
		return 0;
	value->text = arena_copy(arena, value->text, value->len);
	return value->text ? 0 : BOBBIN_ENOMEM;
}

static int keep_result(struct copilot *copilot, const struct json *event, const struct json *data)
{
	if (mem_grow((void **)&copilot->results, &copilot->cap, copilot->count + 1,
		    sizeof(*copilot->results)) < 0)
		return BOBBIN_ENOMEM;
	struct result result = {*event, *data, false};
	if (hold_value(copilot, &copilot->waiting, &result.event) < 0)
		return BOBBIN_ENOMEM;
	json_get(&result.event, "data", &result.data);
	copilot->results[copilot->count++] = result;
	/* No reply asks for so many; a file of nothing else is not held back. */
	return copilot->count > LIMIT_CALLS_PER_MESSAGE ? flush_results(copilot) : 0;
}

static void write_calls(struct json_writer *writer, const struct json *requests)
{
	static const char *const OWN[] = {"toolCallId", "name", "arguments", "type", NULL};
	struct json request, value;
	struct json_iter iter;

	json_iter_init(&iter, requests);
	while (requests->type == JSON_ARRAY && json_iter_next(&iter, NULL, &request)) {
		bool object = json_get(&request, "arguments", &value) && value.type == JSON_OBJECT;
		json_begin_object(writer);
		json_member_text(writer, "type", object ? "tool_use" : "tool_call");
		if (value.type == JSON_OBJECT)
			json_member_value(writer, "input", &value);
		else if (value.type == JSON_STRING)
			json_member_value(writer, "arguments", &value);
		else
			json_member_text(writer, "arguments", "{}");
		if (json_get(&request, "toolCallId", &value) && value.type == JSON_STRING)
			json_member_value(writer, "id", &value);
		if (json_get(&request, "name", &value) && value.type == JSON_STRING)
			json_member_value(writer, "name", &value);
		if (has_members_except(&request, OWN)) {
			json_key(writer, "src");
			json_begin_object(writer);
			write_members_except(writer, &request, OWN);
			json_end_object(writer);
		}
		json_end_object(writer);
	}
}

static void write_reasoning(struct json_writer *writer, const struct json *data)
{
	struct json text, opaque;
	bool readable = json_get(data, "reasoningText", &text) && text.type == JSON_STRING;

	if (!json_get(data, "reasoningOpaque", &opaque) && !readable)
		return;
	json_begin_object(writer);
	json_member_text(writer, "type", "thinking");
	if (readable)
		json_member_value(writer, "thinking", &text);
	else
		json_member_text(writer, "thinking", "");
	if (opaque.type != JSON_ABSENT)
		json_member_value(writer, "reasoningOpaque", &opaque);
	json_end_object(writer);
}

static int read_reply(struct copilot *copilot, const struct json *event, const struct json *data)
{
	static const char *const OWN[] = {
		"content", "toolRequests", "reasoningText", "reasoningOpaque", NULL};
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;
	struct json value, requests;
	int rc = flush_results(copilot);

	if (rc)
		return rc;
	struct json_writer *writer = builder_begin(&copilot->builder, ROLE_ASSISTANT);
	json_get(data, "toolRequests", &requests);
	json_key(writer, "content");
	json_begin_array(writer);
	write_reasoning(writer, data);
	if (json_get(data, "content", &value) && value.type == JSON_STRING && value.len > 2)
		write_text_block(writer, &value);
	write_calls(writer, &requests);
	json_end_array(writer);
	write_source_except(writer, data, OWN);
	rc = end_message(copilot, event, event_id(copilot, event));
	copilot->reply = copilot->builder.drafts.count - 1;
	arena_reset(&copilot->asked);
	copilot->requests = requests;
	if (!rc)
		rc = hold_value(copilot, &copilot->asked, &copilot->requests);
	usage.output = import_number(data, "outputTokens");
	return rc ? rc : builder_usage_late(&copilot->builder, copilot->reply, &usage);
}

/* What was asked for in all: it replaces what the reply said of itself. */
static int read_usage(struct copilot *copilot, const struct json *data)
{
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;

	if (copilot->reply == DRAFT_NONE)
		return 0;
	usage.input = import_number(data, "inputTokens");
	usage.output = import_number(data, "outputTokens");
	usage.cached = import_number(data, "cacheReadTokens");
	usage.cache_write = import_number(data, "cacheWriteTokens");
	return usage.input < 0 ? 0 : builder_usage_late(&copilot->builder, copilot->reply, &usage);
}

/* A message of a span of a JSON string. */
static int add_span(struct copilot *copilot, const struct json *event, const struct json *data,
	const char *from, const char *to)
{
	static const char *const OWN[] = {"content", "transformedContent", NULL};
	struct json_writer *writer = builder_begin(&copilot->builder, ROLE_USER);

	json_key(writer, "content");
	buffer_add_char(writer->out, '"');
	buffer_add(writer->out, from, (size_t)(to - from));
	buffer_add_char(writer->out, '"');
	writer->comma = true;
	if (!data)
		builder_origin(&copilot->builder, ORIGIN_INJECTED);
	else
		write_source_except(writer, data, OWN);
	return end_message(copilot, event, data ? event_id(copilot, event) : (struct slice){NULL, 0});
}

/* Where the content stands in what the model was shown; NULL: it does not. Both are JSON strings. */
static const char *find_typed(const struct json *shown, const struct json *typed)
{
	const char *found;
	size_t slashes = 0;

	if (shown->type != JSON_STRING || typed->type != JSON_STRING || typed->len <= 2 ||
		shown->len < typed->len)
		return NULL;
	found = memmem(shown->text + 1, shown->len - 2, typed->text + 1, typed->len - 2);
	while (found && found - slashes > shown->text + 1 && found[-(ptrdiff_t)slashes - 1] == '\\')
		slashes++;
	return slashes % 2 ? NULL : found; /* not in the middle of an escape */
}

static int read_user(struct copilot *copilot, const struct json *event, const struct json *data)
{
	static const char *const CONTENT[] = {"content", NULL};
	struct slice id = import_hold(copilot->import, event_id(copilot, event));
	struct json typed, shown;
	int rc = flush_results(copilot);

	if (!rc && id.data)
		rc = id_table_put(&copilot->events, id, copilot->head);
	json_get(data, "content", &typed);
	json_get(data, "transformedContent", &shown);
	if (rc)
		return rc;
	copilot->requests = (struct json){.type = JSON_ABSENT};
	const char *found = find_typed(&shown, &typed);
	if (found) {
		const char *end = found + typed.len - 2, *last = shown.text + shown.len - 1;
		if (found > shown.text + 1)
			rc = add_span(copilot, event, NULL, shown.text + 1, found);
		if (!rc)
			rc = add_span(copilot, event, data, found, end);
		return rc || end == last ? rc : add_span(copilot, event, NULL, end, last);
	}
	struct json_writer *writer = builder_begin(&copilot->builder, ROLE_USER);
	json_key(writer, "content");
	if (typed.type == JSON_STRING)
		json_add_value(writer, &typed);
	else
		json_add_text(writer, "");
	write_source_except(writer, data, CONTENT);
	return end_message(copilot, event, id);
}

static int read_notification(struct copilot *copilot, const struct json *event, const struct json *data)
{
	static const char *const OWN[] = {"content", NULL};
	struct json content;
	int rc = flush_results(copilot);

	if (rc || !json_get(data, "content", &content) || content.type != JSON_STRING)
		return rc;
	struct json_writer *writer = builder_begin(&copilot->builder, ROLE_USER);
	json_member_value(writer, "content", &content);
	builder_origin(&copilot->builder, ORIGIN_INJECTED);
	write_source_except(writer, data, OWN);
	return end_message(copilot, event, event_id(copilot, event));
}

static int read_compaction(
	struct copilot *copilot, const struct json *event, const struct json *data, struct place place)
{
	static const char *const OWN[] = {"summaryContent", NULL};
	struct json summary;
	int rc = flush_results(copilot);

	if (rc)
		return rc;
	if (!json_get(data, "summaryContent", &summary) || summary.type != JSON_STRING)
		return import_left_out(copilot->import, place, "{compaction|compactions} without a summary");
	struct json_writer *writer = builder_begin(&copilot->builder, ROLE_USER);
	json_member_value(writer, "content", &summary);
	builder_origin(&copilot->builder, ORIGIN_SUMMARY);
	write_source_except(writer, data, OWN);
	copilot->next.cuts = true;
	copilot->next.cut = DRAFT_NONE;
	copilot->reply = DRAFT_NONE;
	return end_message(copilot, event, event_id(copilot, event));
}

static int read_rewind(struct copilot *copilot, const struct json *data, struct place place)
{
	struct slice id = import_string(copilot->import, data, "upToEventId");
	int rc = flush_results(copilot);

	if (rc)
		return rc;
	if (!id_table_get(&copilot->events, id, &copilot->head))
		return import_warn(copilot->import, place,
			"a mark of taking back names no message of the person's: left out");
	copilot->next = (struct draft){.parent_kind = DRAFT_AT, .parent = copilot->head};
	copilot->requests = (struct json){.type = JSON_ABSENT};
	return 0;
}

static int leave_out(struct copilot *copilot, const struct json *type, struct place place)
{
	struct slice name = json_string_content(type, import_scratch(copilot->import));

	for (size_t i = 0; i < sizeof(LEFT_OUT) / sizeof(LEFT_OUT[0]); i++) {
		if (slice_starts_with(name, LEFT_OUT[i].type))
			return import_left_out(copilot->import, place, LEFT_OUT[i].text);
	}
	return import_not_understood(copilot->import, place, "{event|events} of the type", name);
}

static int read_event(struct copilot *copilot, const struct json *event, struct place place)
{
	struct json type, data, value;

	if (!json_get(event, "type", &type) || type.type != JSON_STRING)
		return import_not_understood(
			copilot->import, place, "{event|events} without a type", (struct slice){NULL, 0});
	if (!json_get(event, "data", &data) || data.type != JSON_OBJECT)
		return import_not_understood(
			copilot->import, place, "{event|events} without data", (struct slice){NULL, 0});
	if (json_get(&data, "parentToolCallId", &value) && value.type == JSON_STRING)
		return import_left_out(copilot->import, place,
			"{message or tool|messages and tools} of sub-agents, which never entered this context");
	if (json_string_is(&type, "user.message"))
		return read_user(copilot, event, &data);
	if (json_string_is(&type, "assistant.message"))
		return read_reply(copilot, event, &data);
	if (json_string_is(&type, "tool.execution_complete"))
		return keep_result(copilot, event, &data);
	if (json_string_is(&type, "system.notification"))
		return read_notification(copilot, event, &data);
	if (json_string_is(&type, "session.compaction_complete"))
		return read_compaction(copilot, event, &data, place);
	if (json_string_is(&type, "session.snapshot_rewind"))
		return read_rewind(copilot, &data, place);
	if (json_string_is(&type, "session.start") && !copilot->session_id.data)
		copilot->session_id = import_hold(copilot->import, import_string(copilot->import, &data, "sessionId"));
	int rc = json_string_is(&type, "assistant.usage") ? read_usage(copilot, &data) : 0;
	return rc ? rc : leave_out(copilot, &type, place);
}

bool import_is_copilot_cli(const struct import_probe *probe)
{
	static const char *const TYPES[] = {"session.start", "user.message", "assistant.message",
		"assistant.turn_start", "tool.execution_start", "tool.execution_complete", "system.message",
		NULL};
	struct json type, data, parent;

	if (!json_get(&probe->value, "type", &type) || !json_get(&probe->value, "data", &data) ||
		!json_get(&probe->value, "parentId", &parent))
		return false;
	for (size_t i = 0; TYPES[i]; i++) {
		if (json_string_is(&type, TYPES[i]))
			return true;
	}
	return false;
}

static int finish(struct copilot *copilot)
{
	if (copilot->next.parent_kind == DRAFT_AT) {
		copilot->builder.rewound = true;
		copilot->builder.rewound_to = copilot->head;
	}
	return builder_conversation(&copilot->builder, copilot->session_id, (struct slice){NULL, 0});
}

int import_copilot_cli(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct copilot copilot = {.import = import, .reply = DRAFT_NONE, .head = DRAFT_NONE};
	struct import_lines lines;
	struct json event;
	struct place place;
	int rc;

	builder_init(&copilot.builder, import);
	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &event, &place)) > 0) {
		if ((rc = read_event(&copilot, &event, place)) < 0)
			break;
	}
	if (!rc)
		rc = flush_results(&copilot);
	if (!rc && !copilot.builder.drafts.count)
		rc = import_lines_fail(&lines, "copilot-cli", error);
	else if (!rc)
		rc = finish(&copilot);
	builder_release(&copilot.builder);
	mem_free(copilot.results);
	arena_release(&copilot.asked);
	arena_release(&copilot.waiting);
	id_table_release(&copilot.events);
	return import_end(rc, error);
}
