/* SPDX-License-Identifier: MIT */
/*
 * OpenHands: runs, lists of events and files of events, of two generations.
 *
 *	v0 run     {"instance_id","instruction","metadata","history":[event | [action,observation]],…}   one a
 * line v0 event   {"id","timestamp","source","action","args"}, answered by
 * {"id","cause","observation","content","extras"}; both may carry
 * tool_call_metadata{tool_call_id,function_name,model_response,total_calls_in_response} v1 event
 * {"id","timestamp","source","kind":"…Event"}: import_openhands_events.c
 *
 * Loose events, one a line, one a file or in one list, are one conversation.
 *
 *	system                    left out
 *	message                   the person's or the assistant's
 *	action with a response    one assistant message for each model_response, however many actions came of
 * it, with the text and the calls of the response; the response's copies on observations are not kept again
 *	action without one        an assistant message with one call, "event-<id>"
 *	observation               the result of its call; without a call (errors) what the model was told:
 * user, injected recall                    what was looked up and shown to the model: user, injected
 *	condensation              its summary: user, origin summary
 */
#include "transcript/import_openhands.h"

#include "base/limits.h"
#include "transcript/import_readers.h"

/* `whole`: what the event stands in, at `place`. */
static int add_event(struct hands *hands, const struct json *event, const struct json *whole, struct place place)
{
	struct import *import = hands->builder.import;
	struct hands_event added = {.value = import_keep_value(import, event, whole, place), .place = place};

	if (part_is(event, "kind", "MessageEvent"))
		added.kind = HANDS_MESSAGE;
	else if (part_is(event, "kind", "ActionEvent"))
		added.kind = HANDS_ACTION;
	if (added.kind == HANDS_ACTION)
		added.response = import_hold(import, import_string(import, event, "llm_response_id"));
	if (mem_grow((void **)&hands->events, &hands->cap, hands->count + 1, sizeof(*hands->events)) < 0)
		return BOBBIN_ENOMEM;
	hands->events[hands->count++] = added;
	return 0;
}

static struct slice response_id(
	struct hands *hands, const struct json *event, struct json *ret_response, struct json *ret_metadata)
{
	*ret_response = (struct json){NULL, 0, JSON_ABSENT};
	if (!part_object(event, "tool_call_metadata", ret_metadata) ||
		!part_object(ret_metadata, "model_response", ret_response))
		return (struct slice){NULL, 0};
	return import_string(hands->builder.import, ret_response, "id");
}

/* The message of a response: its first choice. */
static bool get_reply(const struct json *response, struct json *ret_message)
{
	struct json choices, choice;

	return part_list(response, "choices", &choices) && part_first(&choices, &choice) &&
	       part_object(&choice, "message", ret_message);
}

static void write_src(struct hands *hands, const struct json *event, struct slice content)
{
	static const char *const RUN[] = {"history", NULL};
	static const char *const EVENT[] = {"tool_call_metadata", "content", NULL};
	static const char *const RESPONSE[] = {"choices", NULL};
	struct json_writer *writer = &hands->builder.writer;
	struct json metadata, response;

	json_key(writer, "src");
	json_begin_object(writer);
	write_members_once(writer, event, EVENT, content);
	if (part_has(event, "action")) {
		response_id(hands, event, &response, &metadata);
		write_object_once(writer, "model_response", &response, RESPONSE, content);
	}
	if (!hands->begun)
		write_object_once(writer, "run", &hands->run, RUN, content);
	json_end_object(writer);
	hands->begun = true;
}

static int end_event(struct hands *hands, const struct json *event, const struct json *content)
{
	struct json time;

	if (json_get(event, "timestamp", &time) && time.type == JSON_STRING)
		write_time(&hands->builder.writer, &time);
	write_src(hands, event, part_shown(content));
	return builder_end_next(&hands->builder, (struct slice){NULL, 0});
}

/* True if the response has been made a message by an earlier action. */
static bool is_told(struct hands *hands, struct slice id)
{
	size_t ignored;
	return id.data && id_table_get(&hands->responses, id, &ignored);
}

static int read_reply(struct hands *hands, const struct json *event, const struct json *response,
	struct slice id, const struct json *message)
{
	struct json content, calls, usage;
	struct builder *builder = &hands->builder;

	if (is_told(hands, id))
		return 0;
	if (id.data && id_table_put(&hands->responses, import_hold(builder->import, id), 0) < 0)
		return BOBBIN_ENOMEM;
	json_get(message, "content", &content);
	write_content_of(builder_begin(builder, ROLE_ASSISTANT), &content);
	if (part_list(message, "tool_calls", &calls))
		write_calls_of(&builder->writer, &calls);
	if (json_get(response, "usage", &usage))
		write_usage_of(builder, &usage);
	return end_event(hands, event, &content);
}

/* An action whose response is not in the file: the call is made of the action itself. */
static int read_bare_action(struct hands *hands, const struct json *event)
{
	static const char *const ARGS[] = {"thought", NULL};
	struct json_writer *writer = builder_begin(&hands->builder, ROLE_ASSISTANT);
	struct import *import = hands->builder.import;
	struct json args, thought = {NULL, 0, JSON_ABSENT}, metadata, name;
	struct slice id = {NULL, 0};

	if (part_object(event, "args", &args))
		json_get(&args, "thought", &thought);
	write_content_of(writer, &thought);
	json_get(event, "action", &name);
	if (part_object(event, "tool_call_metadata", &metadata)) {
		id = import_string(import, &metadata, "tool_call_id");
		if (part_has(&metadata, "function_name"))
			json_get(&metadata, "function_name", &name);
	}
	if (!id.data && import_number(event, "id") >= 0)
		id = import_numbered(import, "event-", (uint64_t)import_number(event, "id"));
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_begin_object(writer);
	if (id.data)
		json_member_string(writer, "id", id);
	json_member_value(writer, "name", &name);
	json_key(writer, "arguments");
	json_begin_object(writer);
	write_members_except(writer, &args, ARGS);
	json_end_object(writer);
	json_end_object(writer);
	json_end_array(writer);
	return end_event(hands, event, &thought);
}

static int read_message(struct hands *hands, const struct json *event)
{
	bool user = part_is(event, "source", "user");
	struct json_writer *writer = builder_begin(&hands->builder, user ? ROLE_USER : ROLE_ASSISTANT);
	struct json args, content = {NULL, 0, JSON_ABSENT}, urls, url;
	struct json_iter iter;

	if (part_object(event, "args", &args))
		json_get(&args, "content", &content);
	if (!part_list(&args, "image_urls", &urls) || json_count(&urls) == 0) {
		write_content_of(writer, &content);
		return end_event(hands, event, &content);
	}
	json_key(writer, "content");
	json_begin_array(writer);
	write_blocks_of(writer, &content);
	json_iter_init(&iter, &urls);
	while (json_iter_next(&iter, NULL, &url)) {
		json_begin_object(writer);
		json_member_text(writer, "type", "image_url");
		json_key(writer, "image_url");
		json_begin_object(writer);
		json_member_value(writer, "url", &url);
		json_end_object(writer);
		json_end_object(writer);
	}
	json_end_array(writer);
	content = (struct json){NULL, 0, JSON_ABSENT}; /* not the message's own content now */
	return end_event(hands, event, &content);
}

static int read_condensation(struct hands *hands, const struct json *event, struct place place)
{
	struct json args, summary;

	if (!part_object(event, "args", &args) || !json_get(&args, "summary", &summary) ||
		summary.type != JSON_STRING)
		return import_left_out(hands->builder.import, place, "{condensation|condensations} without a summary");
	write_content_of(builder_begin(&hands->builder, ROLE_USER), &summary);
	builder_origin(&hands->builder, ORIGIN_SUMMARY);
	return end_event(hands, event, &summary);
}

static int read_action(struct hands *hands, const struct json *event, struct place place)
{
	static const char *const NO_MESSAGE[] = {
		"recall", "null", "change_agent_state", "condensation_request", "start", NULL};
	struct json response, metadata, message;
	struct slice id = response_id(hands, event, &response, &metadata);

	if (part_is(event, "action", "system"))
		return import_left_out(hands->builder.import, place, "system {message|messages}");
	if (get_reply(&response, &message))
		return read_reply(hands, event, &response, id, &message);
	if (part_is(event, "action", "message"))
		return read_message(hands, event);
	if (part_is(event, "action", "condensation"))
		return read_condensation(hands, event, place);
	for (size_t i = 0; NO_MESSAGE[i]; i++) {
		if (part_is(event, "action", NO_MESSAGE[i]))
			return import_left_out(hands->builder.import, place, "{event that is no message|events that are no messages}");
	}
	if (part_is(event, "source", "agent"))
		return read_bare_action(hands, event);
	return import_not_understood(hands->builder.import, place, "actions",
		import_string(hands->builder.import, event, "action"));
}

/* What was looked up stands in several members; the model was shown their texts. */
static int read_recall(struct hands *hands, const struct json *event, struct place place)
{
	static const char *const TEXTS[] = {"repo_instructions", "additional_agent_instructions", NULL};
	struct json_writer *writer = builder_begin(&hands->builder, ROLE_USER);
	struct json extras, text, knowledge, piece, none = {NULL, 0, JSON_ABSENT};
	struct json_iter iter;
	bool any = false;

	part_object(event, "extras", &extras);
	json_key(writer, "content");
	json_begin_array(writer);
	for (size_t i = 0; TEXTS[i]; i++) {
		if (json_get(&extras, TEXTS[i], &text) && text.type == JSON_STRING && text.len > 2) {
			write_text_block(writer, &text);
			any = true;
		}
	}
	if (part_list(&extras, "microagent_knowledge", &knowledge)) {
		json_iter_init(&iter, &knowledge);
		while (json_iter_next(&iter, NULL, &piece)) {
			if (!json_get(&piece, "content", &text) || text.type != JSON_STRING)
				continue;
			write_text_block(writer, &text);
			any = true;
		}
	}
	json_end_array(writer);
	if (!any)
		return import_left_out(hands->builder.import, place, "{event that is no message|events that are no messages}");
	builder_origin(&hands->builder, ORIGIN_INJECTED);
	return end_event(hands, event, &none);
}

static int read_observation(struct hands *hands, const struct json *event, struct place place)
{
	struct builder *builder = &hands->builder;
	struct json metadata, content;
	struct slice id = {NULL, 0};
	size_t ignored;

	if (part_is(event, "observation", "recall"))
		return read_recall(hands, event, place);
	if (part_is(event, "observation", "null") || part_is(event, "observation", "agent_state_changed"))
		return import_left_out(builder->import, place, "{event that is no message|events that are no messages}");
	if (part_object(event, "tool_call_metadata", &metadata))
		id = import_string(builder->import, &metadata, "tool_call_id");
	if (!id.data && import_number(event, "cause") >= 0) {
		id = import_numbered(builder->import, "event-", (uint64_t)import_number(event, "cause"));
		if (!id.data)
			return BOBBIN_ENOMEM;
		if (!id_table_get(&builder->drafts.callers, id, &ignored))
			id = (struct slice){NULL, 0};
	}
	if (!json_get(event, "content", &content))
		json_get(event, "message", &content);
	write_content_of(
		id.data ? builder_begin_result(builder, id) : builder_begin(builder, ROLE_USER), &content);
	if (!id.data)
		builder_origin(builder, ORIGIN_INJECTED);
	else if (part_is(event, "observation", "error"))
		json_member_bool(&builder->writer, "is_error", true);
	return end_event(hands, event, &content);
}

static int read_event(struct hands *hands, size_t index)
{
	struct import *import = hands->builder.import;
	struct place place = hands->events[index].place;
	struct json event;

	if (hands->events[index].done)
		return 0;
	int rc = import_value_again(import, &hands->events[index].value, &hands->text, &event);
	if (rc)
		return rc;
	if (part_has(&event, "kind"))
		return hands_read_kind(hands, &event, index);
	if (part_has(&event, "action"))
		return read_action(hands, &event, place);
	if (part_has(&event, "observation"))
		return read_observation(hands, &event, place);
	return import_not_understood(import, place, "{record that is no event|records that are no events}", (struct slice){NULL, 0});
}

/* The gathered events are a conversation. */
static int read_events(struct hands *hands)
{
	struct import *import = hands->builder.import;
	int rc = 0;

	struct slice id = import_hold(import, import_string(import, &hands->run, "instance_id"));
	for (size_t i = 0; i < hands->count && !rc; i++) {
		arena_reset(&import->scratch);
		rc = read_event(hands, i);
	}
	if (!rc)
		rc = builder_conversation(&hands->builder, id, id);
	hands->count = 0;
	hands->begun = false;
	hands->run = (struct json){NULL, 0, JSON_ABSENT};
	id_table_release(&hands->responses);
	return rc;
}

static int add_events(
	struct hands *hands, const struct json *list, const struct json *whole, struct place place)
{
	struct json_iter iter, pair_iter;
	struct json event, half;
	int rc = 0;

	json_iter_init(&iter, list);
	while (!rc && json_iter_next(&iter, NULL, &event)) {
		if (event.type != JSON_ARRAY) {
			rc = add_event(hands, &event, whole, place);
			continue;
		}
		json_iter_init(&pair_iter, &event);
		while (!rc && json_iter_next(&pair_iter, NULL, &half))
			rc = add_event(hands, &half, whole, place);
	}
	return rc;
}

static int read_value(struct hands *hands, const struct json *value, struct place place)
{
	struct json history;
	int rc;

	if (value->type == JSON_ARRAY)
		return add_events(hands, value, value, place);
	if (!part_list(value, "history", &history))
		return add_event(hands, value, value, place);
	if ((rc = read_events(hands)))
		return rc;
	hands->run = *value;
	rc = add_events(hands, &history, value, place);
	return rc ? rc : read_events(hands);
}

static int read_all(struct hands *hands, const char *data, size_t len, struct bobbin_error *error)
{
	struct import_lines lines;
	struct json value;
	struct place place = {1, 0};
	int rc;

	if (!hands->builder.import->source && !import_has_many(data, len)) {
		if (!(rc = import_document(hands->builder.import, data, len, &value, error)))
			rc = read_value(hands, &value, place);
		return rc ? rc : read_events(hands);
	}
	import_lines_init(&lines, hands->builder.import, data, len);
	while ((rc = import_lines_next(&lines, &value, &place)) > 0) {
		if ((rc = read_value(hands, &value, place)) < 0)
			return rc;
	}
	return rc ? rc : read_events(hands);
}

bool import_is_openhands(const struct import_probe *probe)
{
	struct json history, event = probe->first, kind;

	if (part_list(&probe->value, "history", &history)) {
		if (!part_first(&history, &event))
			return false;
		if (event.type == JSON_ARRAY)
			part_first(&event, &event);
	}
	if (!part_has(&event, "source") || !part_has(&event, "timestamp"))
		return false;
	if (json_get(&event, "kind", &kind))
		return kind.type == JSON_STRING;
	return (part_has(&event, "action") && part_has(&event, "args")) ||
	       (part_has(&event, "observation") && part_has(&event, "extras"));
}

int import_openhands(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct hands hands = {.run = {NULL, 0, JSON_ABSENT},
		.text = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.other = BUFFER_INIT(LIMIT_IMPORT_BYTES)};

	builder_init(&hands.builder, import);
	int rc = read_all(&hands, data, len, error);
	mem_free(hands.events);
	buffer_release(&hands.text);
	buffer_release(&hands.other);
	id_table_release(&hands.responses);
	return import_finish(&hands.builder, rc, "openhands", error);
}
