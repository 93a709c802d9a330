/* SPDX-License-Identifier: MIT */
/*
 * mini-swe-agent's trajectories, of two layouts.
 *
 *	1.x
 * {"trajectory_format":"mini-swe-agent-1.1","instance_id","info":{config,model_stats,exit_status,submission},
 *	        "messages":[chat completion messages, with "extra"]}
 *	       extra of an assistant: actions, response (the API's whole answer, with usage), cost, timestamp
 * (seconds); of a tool: raw_output, returncode, timestamp, exception_info old    a bare list of
 * {"role","content"}: commands in ```bash fences, answers in <returncode> and <output>
 *
 * The first user message is the task: a person's. The later ones are what the environment answered or
 * complained of: injected, unless the person interrupted. Commands in fences stay text. The last record of 1.x
 * has the role `exit`: it never was sent to a model, so it is no message; it stands in the first message's
 * "src" under "document", beside the rest of the document. The call that ended the run has no result.
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

struct mini {
	struct builder builder;
	struct slice text; /* the file */
	struct json document, messages;
	bool begun, asked;
};

/* "document": everything beside the messages, and those of role exit. */
static void write_document(struct mini *mini, struct json_writer *writer)
{
	static const char *const OWN[] = {"messages", NULL};
	struct json_iter iter;
	struct json message;

	if (mini->document.type != JSON_OBJECT)
		return;
	json_key(writer, "document");
	json_begin_object(writer);
	write_members_except(writer, &mini->document, OWN);
	json_iter_init(&iter, &mini->messages);
	while (json_iter_next(&iter, NULL, &message)) {
		if (part_is(&message, "role", "exit"))
			json_member_value(writer, "exit", &message);
	}
	json_end_object(writer);
}

static void write_rest(struct mini *mini, const struct json *message, const struct json *content)
{
	static const char *const OWN[] = {"role", "content", "tool_calls", "tool_call_id", NULL};
	struct json_writer *writer = &mini->builder.writer;
	struct json extra, response, usage, time;

	if (part_object(message, "extra", &extra)) {
		if (json_get(&extra, "timestamp", &time))
			write_seconds(writer, &time);
		if (part_object(&extra, "response", &response) && json_get(&response, "usage", &usage))
			write_usage_of(&mini->builder, &usage);
	}
	if (mini->begun && !has_members_except(message, OWN))
		return;
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_once(writer, message, OWN, part_shown(content));
	if (!mini->begun)
		write_document(mini, writer);
	json_end_object(writer);
	mini->begun = true;
}

static enum message_origin origin_of(struct mini *mini, const struct json *message)
{
	struct json extra;
	bool first = !mini->asked;

	mini->asked = true;
	return first || (part_object(message, "extra", &extra) &&
				part_is(&extra, "interrupt_type", "UserInterruption"))
		       ? ORIGIN_PERSON
		       : ORIGIN_INJECTED;
}

static struct place place_of(const struct mini *mini, const struct json *value)
{
	return import_document_place(mini->text.data, mini->text.len, value);
}

static int read_message(struct mini *mini, const struct json *message)
{
	struct builder *builder = &mini->builder;
	struct import *import = builder->import;
	struct json content, calls;

	json_get(message, "content", &content);
	if (part_is(message, "role", "system"))
		return import_left_out(import, place_of(mini, message), "system {message|messages}");
	if (part_is(message, "role", "exit"))
		return import_left_out(import, place_of(mini, message), "{record|records} of how the run ended");
	if (part_is(message, "role", "user")) {
		write_content_of(builder_begin(builder, ROLE_USER), &content);
		builder_origin(builder, origin_of(mini, message));
	} else if (part_is(message, "role", "assistant")) {
		write_content_of(builder_begin(builder, ROLE_ASSISTANT), &content);
		if (part_list(message, "tool_calls", &calls))
			write_calls_of(&builder->writer, &calls);
	} else if (part_is(message, "role", "tool")) {
		write_content_of(
			builder_begin_result(builder, import_string(import, message, "tool_call_id")),
			&content);
	} else {
		return import_not_understood(import, place_of(mini, message), "{message|messages} of the role",
			import_string(import, message, "role"));
	}
	write_rest(mini, message, &content);
	return builder_end_next(builder, (struct slice){NULL, 0});
}

static int read_all(struct mini *mini)
{
	struct import *import = mini->builder.import;
	struct json_iter iter;
	struct json message;
	int rc = 0;

	mini->messages = mini->document;
	if (mini->document.type == JSON_OBJECT)
		part_list(&mini->document, "messages", &mini->messages);
	json_iter_init(&iter, &mini->messages);
	while (!rc && mini->messages.type == JSON_ARRAY && json_iter_next(&iter, NULL, &message))
		rc = read_message(mini, &message);
	struct slice id = import_string(import, &mini->document, "instance_id");
	return rc ? rc : builder_conversation(&mini->builder, id, id);
}

/* The old layout is told by an answer as only this product writes it, behind the model's first reply. */
static bool is_old(const struct json *list)
{
	struct json_iter iter;
	struct json message, content;
	bool replied = false;

	json_iter_init(&iter, list);
	for (int at = 0; at < 8 && json_iter_next(&iter, NULL, &message); at++) {
		if (has_members_except(&message, (const char *const[]){"role", "content", NULL}))
			return false;
		if (replied && part_is(&message, "role", "user") && json_get(&message, "content", &content) &&
			part_starts_with(&content, "<returncode>"))
			return true;
		replied |= part_is(&message, "role", "assistant");
	}
	return false;
}

bool import_is_mini_swe_agent(const struct import_probe *probe)
{
	struct json format, info, messages;

	if (probe->value.type == JSON_ARRAY)
		return probe->document && is_old(&probe->value);
	return part_list(&probe->value, "messages", &messages) &&
	       ((json_get(&probe->value, "trajectory_format", &format) &&
			part_starts_with(&format, "mini-swe-agent")) ||
		       (part_object(&probe->value, "info", &info) && part_has(&info, "mini_version")));
}

int import_mini_swe_agent(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct mini mini = {.text = {data, len}};
	int rc = import_document(import, data, len, &mini.document, error);

	builder_init(&mini.builder, import);
	if (!rc)
		rc = read_all(&mini);
	return import_finish(&mini.builder, rc, "mini-swe-agent", error);
}
