/* SPDX-License-Identifier: MIT */
/*
 * SWE-agent's trajectories (.traj): one document.
 *
 *	{"environment","info":{exit_status,submission,model_stats},"replay_config",
 *	 "history":[{"role","content","agent","message_type"?,"is_demo"?,"thought"?,"action"?,"tool_calls"?,
 *	             "tool_call_ids"?,"thinking_blocks"?}],
 *	 "trajectory":[{"action","observation","response","thought","state","execution_time","query"|"messages"}]}
 *
 * The history is what the model was shown; the trajectory has the same texts by step. Three dialects:
 * function calls (role tool; `tool_call_ids` is a list, and the product answers its first alone), commands in
 * fences, commands in XML. The last two stay text, as the model wrote them, and what the environment answers
 * is a user message: injected. Demonstrations (`is_demo`) are no part of the session.
 *
 *	user        the first is the task: a person's; the later ones are the environment's: origin injected
 *	assistant   content and calls; the step of the trajectory with the same response stands in "src" as
 * "step" document    what stands beside history and trajectory is in the first message's "src" as "document"
 *
 * A file without a history is read from its steps: response and observation.
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

struct swe {
	struct builder builder;
	struct slice text; /* the file */
	struct json document, step;
	struct json_iter steps;
	bool has_step, begun, asked;
};

/* How many steps are skipped to find the one of a message: replies that were asked for again have none. */
#define STEPS_AHEAD 16

/* Finds the step whose response is this content; the ones passed over on the way belong to no message. */
static bool find_step(struct swe *swe, const struct json *content, struct json *ret_step)
{
	struct json_iter ahead = swe->steps;
	struct json step = swe->step, response;

	if (!swe->has_step || content->type != JSON_STRING)
		return false;
	for (int tries = 0; tries < STEPS_AHEAD; tries++) {
		if (json_get(&step, "response", &response) && json_string_equal(&response, content)) {
			*ret_step = step;
			swe->steps = ahead;
			swe->has_step = json_iter_next(&swe->steps, NULL, &swe->step);
			return true;
		}
		if (!json_iter_next(&ahead, NULL, &step))
			return false;
	}
	return false;
}

static void write_src(
	struct swe *swe, struct json_writer *writer, const struct json *message, const struct json *content)
{
	static const char *const OWN[] = {"role", "content", "tool_calls", NULL};
	static const char *const DOCUMENT[] = {"history", "trajectory", NULL};
	static const char *const STEP[] = {
		"action", "observation", "response", "thought", "messages", "query", NULL};
	struct slice shown = part_shown(content);
	struct json step;

	if (part_has(message, "thinking_blocks"))
		shown.len = 0; /* the content is not the message's own then */

	json_key(writer, "src");
	json_begin_object(writer);
	write_members_once(writer, message, OWN, shown);
	if (!swe->begun)
		write_object_once(writer, "document", &swe->document, DOCUMENT, shown);
	if (part_is(message, "role", "assistant") && find_step(swe, content, &step))
		write_object_once(writer, "step", &step, STEP, shown);
	json_end_object(writer);
	swe->begun = true;
}

static void write_assistant(
	struct json_writer *writer, const struct json *message, const struct json *content)
{
	struct json thinking, calls;

	if (part_list(message, "thinking_blocks", &thinking) && json_count(&thinking) > 0) {
		json_key(writer, "content");
		json_begin_array(writer);
		write_blocks_of(writer, &thinking);
		write_blocks_of(writer, content);
		json_end_array(writer);
	} else {
		write_content_of(writer, content);
	}
	if (part_list(message, "tool_calls", &calls))
		write_calls_of(writer, &calls);
}

static struct slice first_id(struct swe *swe, const struct json *message)
{
	struct json ids, id;

	if (part_list(message, "tool_call_ids", &ids) && part_first(&ids, &id) && id.type == JSON_STRING)
		return json_string_content(&id, &swe->builder.import->arena);
	return import_string(swe->builder.import, message, "tool_call_id");
}

static struct place place_of(const struct swe *swe, const struct json *value)
{
	return import_document_place(swe->text.data, swe->text.len, value);
}

static int read_message(struct swe *swe, const struct json *message)
{
	struct builder *builder = &swe->builder;
	struct json content;
	struct json_writer *writer;

	json_get(message, "content", &content);
	if (part_flag(message, "is_demo"))
		return import_left_out(builder->import, place_of(swe, message), "{demonstration|demonstrations}");
	if (part_is(message, "role", "system"))
		return import_left_out(builder->import, place_of(swe, message), "system {message|messages}");
	if (part_is(message, "role", "assistant")) {
		writer = builder_begin(builder, ROLE_ASSISTANT);
		write_assistant(writer, message, &content);
	} else if (part_is(message, "role", "tool")) {
		writer = builder_begin_result(builder, first_id(swe, message));
		write_content_of(writer, &content);
	} else if (part_is(message, "role", "user")) {
		writer = builder_begin(builder, ROLE_USER);
		write_content_of(writer, &content);
		builder_origin(builder, swe->asked ? ORIGIN_INJECTED : ORIGIN_PERSON);
		swe->asked = true;
	} else {
		return import_not_understood(builder->import, place_of(swe, message), "{message|messages} of the role",
			import_string(builder->import, message, "role"));
	}
	write_src(swe, writer, message, &content);
	return builder_end_next(builder, (struct slice){NULL, 0});
}

/* A file of steps alone: what the model answered, what came of it. */
static int read_step(struct swe *swe, const struct json *step)
{
	static const char *const OWN[] = {"response", "observation", "messages", "query", NULL};
	struct json response, observation;
	struct json_writer *writer;
	int rc = 0;

	if (json_get(step, "response", &response) && response.type == JSON_STRING) {
		writer = builder_begin(&swe->builder, ROLE_ASSISTANT);
		write_content_of(writer, &response);
		json_key(writer, "src");
		json_begin_object(writer);
		write_object_once(writer, "step", step, OWN, (struct slice){response.text, response.len});
		json_end_object(writer);
		rc = builder_end_next(&swe->builder, (struct slice){NULL, 0});
	}
	if (!rc && json_get(step, "observation", &observation) && observation.type == JSON_STRING) {
		writer = builder_begin(&swe->builder, ROLE_USER);
		write_content_of(writer, &observation);
		builder_origin(&swe->builder, ORIGIN_INJECTED);
		rc = builder_end_next(&swe->builder, (struct slice){NULL, 0});
	}
	return rc;
}

static int read_all(struct swe *swe)
{
	struct json history, trajectory, message;
	struct json_iter iter;
	int rc = 0;

	if (part_list(&swe->document, "trajectory", &trajectory)) {
		json_iter_init(&swe->steps, &trajectory);
		swe->has_step = json_iter_next(&swe->steps, NULL, &swe->step);
	}
	if (part_list(&swe->document, "history", &history)) {
		json_iter_init(&iter, &history);
		while (!rc && json_iter_next(&iter, NULL, &message))
			rc = read_message(swe, &message);
	}
	while (!rc && !swe->builder.drafts.count && swe->has_step) {
		do {
			rc = read_step(swe, &swe->step);
			swe->has_step = json_iter_next(&swe->steps, NULL, &swe->step);
		} while (!rc && swe->has_step);
	}
	return rc ? rc
		  : builder_conversation(&swe->builder,
			    import_string(swe->builder.import, &swe->document, "instance_id"),
			    import_string(swe->builder.import, &swe->document, "environment"));
}

/* Whether one of the first steps has both; of the first a damage may have left little. */
static bool has_step(const struct json *document, const char *list, const char *key, const char *other)
{
	struct json steps, step;
	struct json_iter iter;

	if (!part_list(document, list, &steps))
		return false;
	json_iter_init(&iter, &steps);
	for (int i = 0; i < 3 && json_iter_next(&iter, NULL, &step); i++) {
		if (part_has(&step, key) && part_has(&step, other))
			return true;
	}
	return false;
}

bool import_is_swe_agent(const struct import_probe *probe)
{
	return probe->document && (has_step(&probe->value, "trajectory", "action", "observation") ||
					  has_step(&probe->value, "history", "role", "agent"));
}

int import_swe_agent(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct swe swe = {.text = {data, len}};
	int rc = import_document(import, data, len, &swe.document, error);

	builder_init(&swe.builder, import);
	if (!rc)
		rc = read_all(&swe);
	return import_finish(&swe.builder, rc, "swe-agent", error);
}
