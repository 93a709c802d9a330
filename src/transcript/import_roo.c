/* SPDX-License-Identifier: MIT */
/*
 * What Roo (and Cline, from which it comes) makes of messages, and its log of the screen.
 *
 * Tools are XML in the assistant's text and their results are texts of the next user message: "[read_file
 * for 'x'] Result:", then the result, then <environment_details>. All that stays text; what no person typed
 * is injected.
 *
 * ui_messages.json holds what the screen showed, also what a condensation took out of the other file:
 *
 *	say api_req_started             {"request":TEXT,…}: the whole user message of a request
 *	say reasoning                   a thinking block
 *	say text, completion_result,    the reply between two requests
 *	ask tool, use_mcp_server, command, followup
 *	say condense_context            contextCondense.summary: the summary that replaced what was before
 *
 * The first text (the task) and feedback are in the requests too and are left out there.
 */
#include "transcript/import_anthropic.h"

#include "base/limits.h"

static bool begins(struct slice text, const char *const *list)
{
	for (; *list; list++) {
		if (slice_starts_with(text, *list))
			return true;
	}
	return false;
}

static struct slice trim(struct slice text)
{
	while (text.len && import_is_space(*text.data)) {
		text.data++;
		text.len--;
	}
	return text;
}

enum message_origin roo_origin(struct slice text, bool *in_result)
{
	static const char *const TYPED[] = {"<task>", "<feedback>", "<user_message>", "<answer>",
		"New instructions for task continuation", "The user provided the following feedback", NULL};
	static const char *const INJECTED[] = {"<environment_details>", "[TASK RESUMPTION]", "[ERROR]", NULL};

	text = trim(text);
	if (begins(text, TYPED)) {
		*in_result = false;
		return ORIGIN_PERSON;
	}
	if (begins(text, INJECTED))
		return ORIGIN_INJECTED;
	const char *end = text.len && *text.data == '[' ? memmem(text.data, text.len, "] Result:", 9) : NULL;
	*in_result |= end != NULL;
	return *in_result ? ORIGIN_INJECTED : ORIGIN_PERSON;
}

bool roo_writes(const struct json *messages, struct arena *arena)
{
	struct json_iter iter, blocks;
	struct json message, content, block, text;

	json_iter_init(&iter, messages);
	for (int i = 0; i < 4 && json_iter_next(&iter, NULL, &message); i++) {
		json_get(&message, "content", &content);
		json_iter_init(&blocks, &content);
		while (content.type == JSON_ARRAY && json_iter_next(&blocks, NULL, &block)) {
			if (!json_get(&block, "text", &text) || text.type != JSON_STRING)
				continue;
			struct slice decoded = trim(json_string_content(&text, arena));
			if (slice_starts_with(decoded, "<environment_details>") ||
				slice_starts_with(decoded, "<task>"))
				return true;
		}
	}
	return false;
}

bool roo_is_screen(const struct json *list)
{
	struct json_iter iter;
	struct json entry, type, ts;

	json_iter_init(&iter, list);
	/* One that is damaged does not hide the others. */
	for (int tries = 0; list->type == JSON_ARRAY && tries < 4 && json_iter_next(&iter, NULL, &entry); tries++) {
		if (json_get(&entry, "ts", &ts) && json_get(&entry, "type", &type) &&
			(json_string_is(&type, "say") || json_string_is(&type, "ask")))
			return true;
	}
	return false;
}

/* The reply that is gathered between two requests. */
struct reply {
	struct json_writer writer;
	struct json time;
	bool open;
};

static int end_reply(struct anthropic *anthropic, struct reply *reply)
{
	if (!reply->open)
		return 0;
	reply->open = false;
	json_end_array(&reply->writer);
	if (buffer_error(&anthropic->content))
		return buffer_error(&anthropic->content);
	struct json_writer *writer = builder_begin(&anthropic->builder, ROLE_ASSISTANT);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&anthropic->content));
	write_time(writer, &reply->time);
	return builder_end_next(&anthropic->builder, (struct slice){NULL, 0});
}

static void add_block(
	struct anthropic *anthropic, struct reply *reply, const struct json *entry, bool thinking)
{
	struct json text;

	if (!json_get(entry, "text", &text) || text.type != JSON_STRING)
		return;
	if (!reply->open) {
		reply->open = true;
		json_get(entry, "ts", &reply->time);
		buffer_clear(&anthropic->content);
		json_writer_init(&reply->writer, &anthropic->content);
		json_begin_array(&reply->writer);
	}
	if (!thinking) {
		write_text_block(&reply->writer, &text);
		return;
	}
	json_begin_object(&reply->writer);
	json_member_text(&reply->writer, "type", "thinking");
	json_member_value(&reply->writer, "thinking", &text);
	json_end_object(&reply->writer);
}

/* A user message of the whole text of a request; typed if any of it was. */
static int add_request(struct anthropic *anthropic, const struct json *entry, const struct json *request,
	const struct json *info)
{
	static const char *const OWN[] = {"request", NULL};
	struct slice text = json_string_content(request, &anthropic->import->arena);
	struct json time;
	bool in_result = false;

	if (!text.data)
		return BOBBIN_ENOMEM;
	enum message_origin origin = roo_origin(text, &in_result);
	if (origin != ORIGIN_PERSON && (memmem(text.data, text.len, "<feedback>", 10) ||
					       memmem(text.data, text.len, "<user_message>", 14)))
		origin = ORIGIN_PERSON;
	struct json_writer *writer = builder_begin(&anthropic->builder, ROLE_USER);
	json_member_value(writer, "content", request);
	builder_origin(&anthropic->builder, origin);
	if (json_get(entry, "ts", &time))
		write_time(writer, &time);
	write_source_except(writer, info, OWN);
	return builder_end_next(&anthropic->builder, (struct slice){NULL, 0});
}

static int read_request(
	struct anthropic *anthropic, struct reply *reply, const struct json *entry, struct place place)
{
	struct json text, info, request;
	int rc = end_reply(anthropic, reply);

	if (rc || !json_get(entry, "text", &text) || text.type != JSON_STRING)
		return rc;
	struct slice decoded = json_string_content(&text, &anthropic->import->arena);
	if (!decoded.data)
		return BOBBIN_ENOMEM;
	if (json_parse(decoded.data, decoded.len, &info, NULL) < 0 || !json_get(&info, "request", &request) ||
		request.type != JSON_STRING)
		return import_not_understood(
			anthropic->import, place, "{request without its text|requests without their text}", (struct slice){NULL, 0});
	return add_request(anthropic, entry, &request, &info);
}

static int read_condensation(struct anthropic *anthropic, struct reply *reply, const struct json *entry)
{
	struct json condense, summary, time;
	struct draft draft = {.parent_kind = DRAFT_HEAD, .cuts = true, .cut = DRAFT_NONE};
	int rc = end_reply(anthropic, reply);

	if (rc || !json_get(entry, "contextCondense", &condense) ||
		!json_get(&condense, "summary", &summary) || summary.type != JSON_STRING)
		return rc;
	struct json_writer *writer = builder_begin(&anthropic->builder, ROLE_USER);
	json_member_value(writer, "content", &summary);
	builder_origin(&anthropic->builder, ORIGIN_SUMMARY);
	if (json_get(entry, "ts", &time))
		write_time(writer, &time);
	json_key(writer, "src");
	json_begin_object(writer);
	json_key(writer, "contextCondense");
	write_without_repeats(writer, &condense, (struct slice){summary.text, summary.len});
	json_end_object(writer);
	return builder_end(&anthropic->builder, &draft);
}

static int read_entry(struct anthropic *anthropic, struct reply *reply, const struct json *entry, bool first,
	struct place place)
{
	static const char *const REPLY[] = {"text", "completion_result", "tool", "use_mcp_server", "command",
		"followup", "browser_action_launch", NULL};
	static const char *const SHOWN[] = {"user_feedback", "user_feedback_diff", "resume_task",
		"resume_completed_task", "api_req_finished", "api_req_retried", "api_req_retry_delayed",
		"mcp_server_request_started", "mcp_server_response", "codebase_search_result",
		"command_output", "error", "checkpoint_saved", "shell_integration_warning", "subtask_result",
		"browser_action_result", "api_req_failed", "mistake_limit_reached", "user_edit_todos", NULL};
	struct json kind;

	if (!json_get(entry, "say", &kind))
		json_get(entry, "ask", &kind);
	if (json_string_is(&kind, "api_req_started"))
		return read_request(anthropic, reply, entry, place);
	if (json_string_is(&kind, "condense_context"))
		return read_condensation(anthropic, reply, entry);
	for (size_t i = 0; !first && REPLY[i]; i++) {
		if (json_string_is(&kind, REPLY[i])) {
			add_block(anthropic, reply, entry, false);
			return 0;
		}
	}
	if (json_string_is(&kind, "reasoning")) {
		add_block(anthropic, reply, entry, true);
		return 0;
	}
	for (size_t i = 0; SHOWN[i]; i++) {
		if (json_string_is(&kind, SHOWN[i]))
			return import_left_out(anthropic->import, place,
				"{entry|entries} that the next request repeats, or that only the screen showed");
	}
	if (first)
		return import_left_out(anthropic->import, place,
			"{entry|entries} that the next request repeats, or that only the screen showed");
	return import_not_understood(anthropic->import, place, "{entry|entries} of the kind",
		kind.type == JSON_STRING ? json_string_content(&kind, &anthropic->import->arena)
					 : (struct slice){NULL, 0});
}

int roo_read_screen(struct anthropic *anthropic, const struct json *list)
{
	struct reply reply = {.time = {.type = JSON_ABSENT}};
	struct json_iter iter;
	struct json entry;
	bool first = true;
	int rc = 0;

	json_iter_init(&iter, list);
	while (!rc && json_iter_next(&iter, NULL, &entry)) {
		rc = read_entry(anthropic, &reply, &entry, first,
			import_document_place(anthropic->data, anthropic->len, &entry));
		first = false;
	}
	if (!rc)
		rc = end_reply(anthropic, &reply);
	return rc ? rc
		  : builder_conversation(
			    &anthropic->builder, (struct slice){NULL, 0}, (struct slice){NULL, 0});
}
