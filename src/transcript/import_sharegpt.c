/* SPDX-License-Identifier: MIT */
/*
 * ShareGPT's shape of training conversations, as glaive and others have it: a list of conversations, one, or
 * one a line.
 *
 *	{"id"?,"system"?,"tools"?:"[…]","conversations":[{"from","value"}]}
 *	from: human, user · gpt, assistant, chatgpt, bing, bard · function_call · observation,
 * function_response, tool · system
 *
 * A conversation each. Calls have no ids: the Nth call gets "call-N", and so does the result that follows it.
 * The value of a function_call is {"name","arguments"} or a list of such; one that is neither stays text, as a
 * gpt turn that holds a call as text does. An observation without a call before it is a result that answers
 * nothing, "observation-N", and is told. What stands beside the conversation (tools, system, id) is in the
 * first message's "src" as "conversation".
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

struct sharegpt {
	struct builder builder;
	struct json conversation;
	struct place place;
	uint64_t calls, answered; /* made so far, and given a result */
	uint64_t orphans;
	uint64_t no_calls, all_orphans; /* of the whole file, to be told */
	bool begun;
};

static int end_turn(struct sharegpt *reader, const struct json *turn)
{
	static const char *const TURN[] = {"from", "value", NULL};
	static const char *const CONVERSATION[] = {"conversations", NULL};
	struct json_writer *writer = &reader->builder.writer;
	bool rest = has_members_except(turn, TURN);
	bool document = !reader->begun && has_members_except(&reader->conversation, CONVERSATION);

	if (rest || document) {
		json_key(writer, "src");
		json_begin_object(writer);
		write_members_except(writer, turn, TURN);
		if (document)
			write_object_once(writer, "conversation", &reader->conversation, CONVERSATION,
				(struct slice){NULL, 0});
		json_end_object(writer);
	}
	reader->begun = true;
	return builder_end_next(&reader->builder, (struct slice){NULL, 0});
}

static void write_call(struct sharegpt *reader, const struct json *call)
{
	static const char *const OWN[] = {"name", "arguments", NULL};
	struct json_writer *writer = &reader->builder.writer;
	struct slice id = import_numbered(reader->builder.import, "call-", ++reader->calls);
	struct json value;

	json_begin_object(writer);
	json_member_string(writer, "id", id.data ? id : (struct slice){"", 0});
	json_get(call, "name", &value);
	json_member_value(writer, "name", &value);
	if (json_get(call, "arguments", &value))
		json_member_value(writer, "arguments", &value);
	write_members_except(writer, call, OWN);
	json_end_object(writer);
	if (!id.data)
		writer->out->error = BOBBIN_ENOMEM;
}

static bool is_call(const struct json *call)
{
	struct json name;
	return json_get(call, "name", &name) && name.type == JSON_STRING;
}

/* Writes tool_calls of a value that holds them; false if it does not. */
static bool write_calls(struct sharegpt *reader, const struct json *value)
{
	struct import *import = reader->builder.import;
	struct slice text = value->type == JSON_STRING ? json_string_content(value, &import->arena)
						       : (struct slice){value->text, value->len};
	struct json_writer *writer = &reader->builder.writer;
	struct json calls, call;
	struct json_iter iter;

	if (!text.data || json_parse(text.data, text.len, &calls, NULL) < 0)
		return false;
	json_iter_init(&iter, &calls);
	if (calls.type == JSON_ARRAY) {
		while (json_iter_next(&iter, NULL, &call)) {
			if (!is_call(&call))
				return false;
		}
		if (json_count(&calls) == 0)
			return false;
	} else if (!is_call(&calls)) {
		return false;
	}
	json_key(writer, "content");
	json_add_null(writer);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_iter_init(&iter, &calls);
	if (calls.type == JSON_OBJECT)
		write_call(reader, &calls);
	while (calls.type == JSON_ARRAY && json_iter_next(&iter, NULL, &call))
		write_call(reader, &call);
	json_end_array(writer);
	return true;
}

static int read_call(struct sharegpt *reader, const struct json *turn, const struct json *value)
{
	struct json_writer *writer = builder_begin(&reader->builder, ROLE_ASSISTANT);

	reader->answered = reader->calls;
	if (!write_calls(reader, value)) {
		reader->no_calls++;
		write_content_of(writer, value);
	}
	return end_turn(reader, turn);
}

static int read_observation(struct sharegpt *reader, const struct json *turn, const struct json *value)
{
	struct import *import = reader->builder.import;
	struct slice id;

	if (reader->answered < reader->calls) {
		id = import_numbered(import, "call-", ++reader->answered);
	} else {
		id = import_numbered(import, "observation-", ++reader->orphans);
		reader->all_orphans++;
	}
	if (!id.data)
		return BOBBIN_ENOMEM;
	write_content_of(builder_begin_result(&reader->builder, id), value);
	return end_turn(reader, turn);
}

static bool is_from(const struct json *turn, const char *const *names)
{
	for (; *names; names++) {
		if (part_is(turn, "from", *names))
			return true;
	}
	return false;
}

static int read_turn(struct sharegpt *reader, const struct json *turn)
{
	static const char *const PERSON[] = {"human", "user", NULL};
	static const char *const MODEL[] = {"gpt", "assistant", "chatgpt", "bing", "bard", "model", NULL};
	static const char *const RESULT[] = {"observation", "function_response", "tool", NULL};
	struct import *import = reader->builder.import;
	struct json value;

	json_get(turn, "value", &value);
	if (part_is(turn, "from", "system"))
		return import_left_out(import, reader->place, "system {message|messages}");
	if (part_is(turn, "from", "function_call"))
		return read_call(reader, turn, &value);
	if (is_from(turn, RESULT))
		return read_observation(reader, turn, &value);
	if (!is_from(turn, PERSON) && !is_from(turn, MODEL))
		return import_not_understood(
			import, reader->place, "{turn|turns} from", import_string(import, turn, "from"));
	write_content_of(
		builder_begin(&reader->builder, is_from(turn, PERSON) ? ROLE_USER : ROLE_ASSISTANT), &value);
	return end_turn(reader, turn);
}

static int read_conversation(struct sharegpt *reader, const struct json *conversation)
{
	struct json turns, turn;
	struct json_iter iter;
	int rc = 0;

	if (!part_list(conversation, "conversations", &turns))
		return import_not_understood(reader->builder.import, reader->place,
			"{record|records} without a conversation", (struct slice){NULL, 0});
	reader->conversation = *conversation;
	reader->calls = reader->answered = reader->orphans = 0;
	reader->begun = false;
	json_iter_init(&iter, &turns);
	while (!rc && json_iter_next(&iter, NULL, &turn))
		rc = read_turn(reader, &turn);
	return rc ? rc
		  : builder_conversation(&reader->builder,
			    import_string(reader->builder.import, conversation, "id"),
			    (struct slice){NULL, 0});
}

static int read_value(struct sharegpt *reader, const struct json *value)
{
	struct json_iter iter;
	struct json element;
	int rc = 0;

	if (value->type != JSON_ARRAY)
		return read_conversation(reader, value);
	json_iter_init(&iter, value);
	while (!rc && json_iter_next(&iter, NULL, &element))
		rc = read_conversation(reader, &element);
	return rc;
}

static int read_any(void *reader, const struct json *value, struct place place)
{
	struct sharegpt *sharegpt = reader;

	sharegpt->place = place;
	return read_value(sharegpt, value);
}

static int tell(struct sharegpt *reader)
{
	struct import *import = reader->builder.import;
	struct place nowhere = {0, 0};
	int rc = 0;

	if (reader->no_calls)
		rc = import_warn(import, nowhere,
			"%llu function call%s without a call that can be read: kept as text",
			(unsigned long long)reader->no_calls, reader->no_calls == 1 ? "" : "s");
	if (!rc && reader->all_orphans)
		rc = import_warn(import, nowhere, "%llu observation%s without a call before",
			(unsigned long long)reader->all_orphans, reader->all_orphans == 1 ? "" : "s");
	return rc;
}

bool import_is_sharegpt(const struct import_probe *probe)
{
	struct json turns, turn;

	return part_list(&probe->first, "conversations", &turns) && part_first(&turns, &turn) &&
	       part_has(&turn, "from") && part_has(&turn, "value");
}

int import_sharegpt(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct sharegpt reader = {0};

	builder_init(&reader.builder, import);
	int rc = import_values(import, data, len, read_any, &reader, error);
	if (!rc)
		rc = tell(&reader);
	return import_finish(&reader.builder, rc, "sharegpt", error);
}
