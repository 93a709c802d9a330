/* SPDX-License-Identifier: MIT */
/*
 * OpenHands' events of the second generation, by "kind".
 *
 *	SystemPromptEvent{system_prompt,tools,dynamic_context}      left out
 *	MessageEvent{llm_message{role,content,thinking_blocks},extended_content}
 *	                                    a message; extended_content was put behind it: user, injected. The
 * follow-ups of the product's own critic come as the user's and are injected, too
 *	ActionEvent{thought,thinking_blocks,tool_call{id,name,arguments},tool_call_id,llm_response_id}
 *	                                    a call; all with the same llm_response_id are one assistant
 * message ObservationEvent{observation{content,is_error},tool_call_id}, AgentErrorEvent{error,…},
 *	UserRejectObservation{rejection_reason,…}                   results
 *	Condensation{summary,forgotten_event_ids}                   its summary: user, origin summary
 *	states, pauses, requests, logs      left out
 *
 * Order is the order of the file; on disk it is that of the files' names.
 */
#include "transcript/import_openhands.h"

static struct slice id_of(struct hands *hands, const struct json *event)
{
	return import_string(hands->builder.import, event, "id");
}

static void write_event_time(struct hands *hands, const struct json *event)
{
	struct json time;

	if (json_get(event, "timestamp", &time) && time.type == JSON_STRING)
		write_time(&hands->builder.writer, &time);
}

/* Ends a message with the time, and its event under "src". */
static int end_message(
	struct hands *hands, const struct json *event, const char *const *except, struct slice content)
{
	write_event_time(hands, event);
	write_object_once(&hands->builder.writer, "src", event, except, content);
	return builder_end_next(&hands->builder, id_of(hands, event));
}

/* What the product's critic says in the user's name. */
static bool is_critic(const struct json *content)
{
	struct json block, text;

	return part_first(content, &block) && json_get(&block, "text", &text) &&
	       part_starts_with(&text, "The task appears incomplete (iteration ");
}

static int read_extended(struct hands *hands, const struct json *event)
{
	struct json extended;

	if (!part_list(event, "extended_content", &extended) || json_count(&extended) == 0)
		return 0;
	write_content_of(builder_begin(&hands->builder, ROLE_USER), &extended);
	builder_origin(&hands->builder, ORIGIN_INJECTED);
	return builder_end_next(&hands->builder, (struct slice){NULL, 0});
}

static int read_message(struct hands *hands, const struct json *event, struct place place)
{
	static const char *const OWN[] = {"id", "extended_content", "llm_message", NULL};
	static const char *const MESSAGE[] = {"content", "thinking_blocks", NULL};
	struct import *import = hands->builder.import;
	struct json_writer *writer;
	struct json message, content, thinking;

	if (!part_object(event, "llm_message", &message))
		return import_not_understood(
			import, place, "message {event|events} without a message", (struct slice){NULL, 0});
	json_get(&message, "content", &content);
	if (part_is(&message, "role", "system"))
		return import_left_out(import, place, "system {message|messages}");
	if (part_is(&message, "role", "user")) {
		write_content_of(builder_begin(&hands->builder, ROLE_USER), &content);
		builder_origin(&hands->builder, is_critic(&content) ? ORIGIN_INJECTED : ORIGIN_PERSON);
	} else if (part_is(&message, "role", "assistant")) {
		writer = builder_begin(&hands->builder, ROLE_ASSISTANT);
		json_key(writer, "content");
		json_begin_array(writer);
		if (part_list(&message, "thinking_blocks", &thinking))
			write_blocks_of(writer, &thinking);
		write_blocks_of(writer, &content);
		json_end_array(writer);
	} else {
		return import_not_understood(
			import, place, "{message|messages} of the role", import_string(import, &message, "role"));
	}
	write_event_time(hands, event);
	json_key(&hands->builder.writer, "src");
	json_begin_object(&hands->builder.writer);
	write_members_except(&hands->builder.writer, event, OWN);
	write_object_once(&hands->builder.writer, "llm_message", &message, MESSAGE, (struct slice){NULL, 0});
	json_end_object(&hands->builder.writer);
	int rc = builder_end_next(&hands->builder, id_of(hands, event));
	return rc ? rc : read_extended(hands, event);
}

static void write_call(struct json_writer *writer, const struct json *event)
{
	static const char *const OWN[] = {"id", "name", "arguments", NULL};
	struct json call, value;

	json_begin_object(writer);
	part_object(event, "tool_call", &call);
	if (json_get(&call, "id", &value) || json_get(event, "tool_call_id", &value))
		json_member_value(writer, "id", &value);
	if (json_get(&call, "name", &value) || json_get(event, "tool_name", &value))
		json_member_value(writer, "name", &value);
	if (json_get(&call, "arguments", &value) || json_get(event, "action", &value))
		json_member_value(writer, "arguments", &value);
	write_members_except(writer, &call, OWN);
	json_end_object(writer);
}

/* Finds the next action of the same response that is not read yet. Another reply ends the search. */
static bool next_of(const struct hands *hands, size_t first, size_t *index)
{
	struct slice response = hands->events[first].response;

	for (size_t i = *index + 1; response.data && i < hands->count; i++) {
		const struct hands_event *event = &hands->events[i];
		if (event->kind == HANDS_MESSAGE)
			return false;
		if (event->done || event->kind != HANDS_ACTION)
			continue;
		if (!event->response.data || !slice_equal(event->response, response))
			return false;
		*index = i;
		return true;
	}
	return false;
}

static void write_action_content(struct json_writer *writer, const struct json *event)
{
	struct json value;

	if (part_list(event, "thinking_blocks", &value))
		write_blocks_of(writer, &value);
	if (json_get(event, "thought", &value))
		write_blocks_of(writer, &value);
}

/* Calls `put` for the other actions of the response that event `first` came in. */
static int each_of(struct hands *hands, size_t first, void (*put)(struct json_writer *writer, const struct json *event))
{
	struct json event;
	size_t at = first;
	int rc = 0;

	while (!rc && next_of(hands, first, &at)) {
		rc = import_value_again(hands->builder.import, &hands->events[at].value, &hands->other, &event);
		if (!rc)
			put(&hands->builder.writer, &event);
	}
	return rc;
}

static void write_action_source(struct json_writer *writer, const struct json *event)
{
	static const char *const OWN[] = {"thought", "thinking_blocks", "tool_call", NULL};

	json_begin_object(writer);
	write_members_except(writer, event, OWN);
	json_end_object(writer);
}

static int read_actions(struct hands *hands, const struct json *event, size_t index)
{
	static const char *const OWN[] = {"id", "thought", "thinking_blocks", "tool_call", NULL};
	struct json_writer *writer = builder_begin(&hands->builder, ROLE_ASSISTANT);
	size_t at = index;

	json_key(writer, "content");
	json_begin_array(writer);
	write_action_content(writer, event);
	int rc = each_of(hands, index, write_action_content);
	json_end_array(writer);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	write_call(writer, event);
	if (!rc)
		rc = each_of(hands, index, write_call);
	json_end_array(writer);
	write_event_time(hands, event);
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, event, OWN);
	if (next_of(hands, index, &at)) {
		json_key(writer, "events");
		json_begin_array(writer);
		if (!rc)
			rc = each_of(hands, index, write_action_source);
		json_end_array(writer);
	}
	json_end_object(writer);
	for (at = index; next_of(hands, index, &at);)
		hands->events[at].done = true;
	return rc ? rc : builder_end_next(&hands->builder, id_of(hands, event));
}

static int read_result(
	struct hands *hands, const struct json *event, const struct json *content, bool is_error)
{
	static const char *const OWN[] = {
		"id", "tool_call_id", "tool_name", "error", "rejection_reason", NULL};
	struct builder *builder = &hands->builder;
	struct json_writer *writer =
		builder_begin_result(builder, import_string(builder->import, event, "tool_call_id"));
	struct json name;

	if (json_get(event, "tool_name", &name) && name.type == JSON_STRING)
		json_member_value(writer, "name", &name);
	write_content_of(writer, content);
	if (is_error)
		json_member_bool(writer, "is_error", true);
	return end_message(hands, event, OWN, part_shown(content));
}

static int read_condensation(struct hands *hands, const struct json *event, struct place place)
{
	static const char *const OWN[] = {"id", "summary", NULL};
	struct json summary;

	if (!json_get(event, "summary", &summary) || summary.type != JSON_STRING)
		return import_left_out(hands->builder.import, place, "{condensation|condensations} without a summary");
	write_content_of(builder_begin(&hands->builder, ROLE_USER), &summary);
	builder_origin(&hands->builder, ORIGIN_SUMMARY);
	return end_message(hands, event, OWN, part_shown(&summary));
}

int hands_read_kind(struct hands *hands, const struct json *event, size_t index)
{
	static const char *const NO_MESSAGE[] = {"PauseEvent", "ConversationStateUpdateEvent",
		"CondensationRequest", "CondensationSummaryEvent", "LLMCompletionLogEvent", "TokenEvent",
		"ConversationErrorEvent", NULL};
	struct place place = hands->events[index].place;
	struct import *import = hands->builder.import;
	struct json observation, content;

	if (part_is(event, "kind", "SystemPromptEvent"))
		return import_left_out(import, place, "system {message|messages}");
	if (part_is(event, "kind", "MessageEvent"))
		return read_message(hands, event, place);
	if (part_is(event, "kind", "ActionEvent"))
		return read_actions(hands, event, index);
	if (part_is(event, "kind", "Condensation"))
		return read_condensation(hands, event, place);
	if (part_is(event, "kind", "ObservationEvent") && part_object(event, "observation", &observation)) {
		json_get(&observation, "content", &content);
		return read_result(hands, event, &content, part_flag(&observation, "is_error"));
	}
	if (part_is(event, "kind", "AgentErrorEvent") && json_get(event, "error", &content))
		return read_result(hands, event, &content, true);
	if (part_is(event, "kind", "UserRejectObservation") && json_get(event, "rejection_reason", &content))
		return read_result(hands, event, &content, true);
	for (size_t i = 0; NO_MESSAGE[i]; i++) {
		if (part_is(event, "kind", NO_MESSAGE[i]))
			return import_left_out(import, place, "{event that is no message|events that are no messages}");
	}
	return import_not_understood(
		import, place, "{event|events} of the kind", import_string(import, event, "kind"));
}
