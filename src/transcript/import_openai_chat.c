/* SPDX-License-Identifier: MIT */
/*
 * Messages as OpenAI's chat completions have them, in the wrappings they are found in:
 *
 *	[{"role":…},…]                              one conversation; also one message a line
 *	[{"traj":[…]},…], {"messages":[…]}          one conversation each; also one a line
 *	{"interactions":[{"request":{…}},…]}        recorded requests
 *	{"prompts":[{"logs":[…]}]}                  a chat replay: requests with numbers for roles and kinds of parts
 *
 * Clients send the whole history with every request. A recorded request that begins with all messages of the
 * one before it continues that conversation; otherwise a new one begins.
 *
 * A message becomes role, content, flat tool_calls {id,name,arguments,…}, tool_call_id, name; all other
 * members stay under "src". System and developer messages are counted and left out. A call without an id
 * (function_call) gets "function-N", and so does the result that follows it.
 */
#include "transcript/import_readers.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_document.h"
#include "transcript/import_tree.h"

struct chat {
	struct import *import;
	struct drafts drafts; /* of the conversation being read */
	struct slice
		*cores; /* role, content, calls of each draft: what decides whether a request continues it */
	size_t core_cap;
	struct buffer out, content;
	struct slice id, title;
	struct slice reply;	  /* content of the last request's response, if it is not in a request yet */
	struct slice function_id; /* of a function_call that waits for its result */
	uint64_t functions;
	uint64_t systems;
	struct place place; /* of the value being read */
};

static int chat_end(struct chat *chat)
{
	struct import_conversation *conversation;
	int rc = 0;

	if (chat->drafts.count) {
		if (!(conversation = import_conversation_add(chat->import)))
			return BOBBIN_ENOMEM;
		conversation->foreign_id = chat->id;
		conversation->title = chat->title;
		rc = drafts_emit(&chat->drafts, conversation);
	}
	drafts_release(&chat->drafts);
	chat->drafts.import = chat->import;
	chat->id = chat->title = chat->reply = chat->function_id = (struct slice){NULL, 0};
	return rc;
}

/* One part of a content: chat replays number the kinds (0 image, 1 text, 3 a mark for the cache). */
static void write_part(struct json_writer *writer, const struct json *part)
{
	static const char *const OWN[] = {"type", "text", NULL};
	struct json type, value;
	int64_t kind = -1;

	if (!json_get(part, "type", &type) || !json_int64(&type, &kind)) {
		json_add_value(writer, part);
	} else if (kind == 1 && json_get(part, "text", &value)) {
		json_begin_object(writer);
		json_member_text(writer, "type", "text");
		json_member_value(writer, "text", &value);
		write_members_except(writer, part, OWN);
		json_end_object(writer);
	} else if (kind == 0 && json_get(part, "imageUrl", &value)) {
		json_begin_object(writer);
		json_member_text(writer, "type", "image_url");
		json_member_value(writer, "image_url", &value);
		json_end_object(writer);
	} else if (kind != 3) {
		json_add_value(writer, part);
	}
}

static void write_content(struct json_writer *writer, const struct json *message)
{
	struct json content, part;
	struct json_iter iter;

	json_key(writer, "content");
	json_get(message, "content", &content);
	if (content.type == JSON_STRING) {
		json_add_value(writer, &content);
	} else if (content.type == JSON_ARRAY) {
		json_begin_array(writer);
		json_iter_init(&iter, &content);
		while (json_iter_next(&iter, NULL, &part))
			write_part(writer, &part);
		json_end_array(writer);
	} else if (content.type == JSON_OBJECT) {
		json_begin_array(writer);
		write_part(writer, &content);
		json_end_array(writer);
	} else {
		json_add_null(writer);
	}
}

/* One call, flat, with the members nobody here knows. */
static void write_call(struct json_writer *writer, const struct json *call, struct slice id)
{
	static const char *const CALL[] = {"id", "function", "custom", "name", "arguments", NULL};
	static const char *const FUNCTION[] = {"name", "arguments", "input", NULL};
	struct json function = *call, type, value;

	if (!json_get(call, "function", &function) && !json_get(call, "custom", &function))
		function = *call;
	json_begin_object(writer);
	if (id.data)
		json_member_string(writer, "id", id);
	if (json_get(&function, "name", &value))
		json_member_value(writer, "name", &value);
	if (json_get(&function, "arguments", &value) || json_get(&function, "input", &value))
		json_member_value(writer, "arguments", &value);
	json_get(call, "type", &type);
	if (json_string_is(&type, "function")) {
		static const char *const KNOWN[] = {"id", "function", "type", NULL};
		write_members_except(writer, call, KNOWN);
	} else {
		write_members_except(writer, call, CALL);
	}
	if (function.text != call->text)
		write_members_except(writer, &function, FUNCTION);
	json_end_object(writer);
}

static bool get_calls(const struct json *message, struct json *ret_calls)
{
	return (json_get(message, "tool_calls", ret_calls) || json_get(message, "toolCalls", ret_calls)) &&
	       ret_calls->type == JSON_ARRAY && json_count(ret_calls) > 0;
}

/* An id for a call of the old kind, which has none. */
static int name_function(struct chat *chat)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);

	buffer_add_text(&text, "function-");
	buffer_add_u64(&text, ++chat->functions);
	chat->function_id = buffer_error(&text) ? (struct slice){NULL, 0}
						: import_keep(chat->import, buffer_slice(&text));
	buffer_release(&text);
	return chat->function_id.data ? 0 : BOBBIN_ENOMEM;
}

static int write_calls(struct chat *chat, struct json_writer *writer, const struct json *message)
{
	struct json calls, call, old;
	struct json_iter iter;
	bool many = get_calls(message, &calls);
	bool one = !many && json_get(message, "function_call", &old) && old.type == JSON_OBJECT;

	if (!many && !one)
		return 0;
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	if (one) {
		if (name_function(chat) < 0)
			return BOBBIN_ENOMEM;
		write_call(writer, &old, chat->function_id);
	} else {
		json_iter_init(&iter, &calls);
		while (json_iter_next(&iter, NULL, &call)) {
			if (call.type == JSON_OBJECT)
				write_call(writer, &call, import_string(chat->import, &call, "id"));
			else
				json_add_value(writer, &call);
		}
	}
	json_end_array(writer);
	return 0;
}

/* ROLE_… or -1 for a system prompt, -2 for what is no message. */
static int role_of(const struct json *message)
{
	static const int NUMBERS[] = {-1, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL};
	struct json role;
	enum message_role known;
	int64_t number;

	if (!json_get(message, "role", &role))
		return -2;
	if (message_role_of(&role, &known))
		return (int)known;
	if (json_string_is(&role, "function"))
		return ROLE_TOOL;
	if (json_string_is(&role, "system") || json_string_is(&role, "developer"))
		return -1;
	if (json_int64(&role, &number) && number >= 0 && number < 4)
		return NUMBERS[number];
	return -2;
}

/* Writes role to name into chat->out, without src; sets the draft's call id. */
static int write_core(struct chat *chat, const struct json *message, struct draft *draft)
{
	struct json_writer writer;
	struct json name;

	buffer_clear(&chat->out);
	json_writer_init(&writer, &chat->out);
	json_member_text(&writer, "role", message_role_text(draft->role));
	if (draft->role == ROLE_TOOL) {
		draft->call_id = import_string(chat->import, message, "tool_call_id");
		if (!draft->call_id.data)
			draft->call_id = import_string(chat->import, message, "toolCallId");
		if (!draft->call_id.data)
			draft->call_id = chat->function_id;
		if (draft->call_id.data)
			json_member_string(&writer, "tool_call_id", draft->call_id);
		if (json_get(message, "name", &name) && name.type == JSON_STRING)
			json_member_value(&writer, "name", &name);
	}
	write_content(&writer, message);
	if (draft->role == ROLE_ASSISTANT && write_calls(chat, &writer, message) < 0)
		return BOBBIN_ENOMEM;
	return buffer_error(&chat->out);
}

/* The environment block that a chat replay puts before the person's first message. */
static bool is_environment(struct chat *chat, const struct json *message)
{
	struct json content, part, text;
	struct json_iter iter;

	if (!json_get(message, "content", &content) || content.type != JSON_ARRAY)
		return false;
	json_iter_init(&iter, &content);
	return json_iter_next(&iter, NULL, &part) && json_get(&part, "text", &text) &&
	       text.type == JSON_STRING &&
	       slice_starts_with(json_string_content(&text, &chat->import->arena), "<environment_info>");
}

/* Adds a message whose core is in chat->out. */
static int add_draft(struct chat *chat, const struct json *message, struct draft *draft)
{
	static const char *const OWN[] = {"role", "content", "tool_calls", "toolCalls", "function_call",
		"tool_call_id", "toolCallId", NULL};
	static const char *const OWN_TOOL[] = {"role", "content", "tool_call_id", "toolCallId", "name", NULL};
	const char *const *own = draft->role == ROLE_TOOL ? OWN_TOOL : OWN;
	size_t core = chat->out.len;
	struct json_writer writer = {&chat->out, true};

	if (draft->role == ROLE_USER && is_environment(chat, message))
		json_member_text(&writer, "origin", "injected");
	if (has_members_except(message, own)) {
		json_key(&writer, "src");
		json_begin_object(&writer);
		write_members_except(&writer, message, own);
		json_end_object(&writer);
	}
	if (buffer_error(&chat->out))
		return buffer_error(&chat->out);
	draft->members = buffer_slice(&chat->out);
	int rc = drafts_add(&chat->drafts, draft);
	if (!rc)
		rc = mem_grow(
			(void **)&chat->cores, &chat->core_cap, chat->drafts.count, sizeof(*chat->cores));
	if (rc)
		return rc;
	/* No format of lines: what was added lies in memory, if it is no word in its place. */
	const struct placed *added = &chat->drafts.list[chat->drafts.count - 1];
	struct slice kept = {(const char *)(uintptr_t)added->members_at, core};
	if (added->members_len != draft->members.len)
		kept = import_keep(chat->import, (struct slice){draft->members.data, core});
	chat->cores[chat->drafts.count - 1] = kept;
	return kept.data ? 0 : BOBBIN_ENOMEM;
}

static int read_message(struct chat *chat, const struct json *message)
{
	struct draft draft = {.parent_kind = DRAFT_HEAD};
	int role = role_of(message), rc;

	if (role == -1) {
		chat->systems++;
		return 0;
	}
	if (role < 0)
		return import_warn(chat->import, chat->place, "a message of an unknown role: left out");
	draft.role = (enum message_role)role;
	rc = write_core(chat, message, &draft);
	return rc ? rc : add_draft(chat, message, &draft);
}

/* How many of the conversation's messages a request begins with. */
static int count_known(struct chat *chat, const struct json *messages, size_t *ret_known)
{
	struct json_iter iter;
	struct json message;
	uint64_t functions = chat->functions;
	size_t known = 0;

	chat->functions = 0; /* so that calls without ids are named as they were the first time */
	json_iter_init(&iter, messages);
	while (known < chat->drafts.count && json_iter_next(&iter, NULL, &message)) {
		struct draft draft = {0};
		int role = role_of(&message);
		if (role < 0)
			continue;
		draft.role = (enum message_role)role;
		int rc = write_core(chat, &message, &draft);
		if (rc)
			return rc;
		if (!slice_equal(buffer_slice(&chat->out), chat->cores[known]))
			break;
		known++;
	}
	chat->functions = functions;
	*ret_known = known;
	return 0;
}

static int add_reply(struct chat *chat)
{
	struct json message;

	if (!chat->reply.data)
		return 0;
	int rc = json_parse(chat->reply.data, chat->reply.len, &message, NULL);
	return rc ? rc : read_message(chat, &message);
}

/* A request or a trajectory: the next part of the conversation, or a new one. */
static int read_messages(struct chat *chat, const struct json *messages, struct slice id, struct slice title)
{
	struct json_iter iter;
	struct json message;
	size_t known;
	int rc = count_known(chat, messages, &known);

	if (!rc && chat->drafts.count && known < chat->drafts.count) {
		if (!(rc = add_reply(chat)))
			rc = chat_end(chat);
		chat->functions = 0;
		known = 0;
	}
	if (rc)
		return rc;
	chat->reply = (struct slice){NULL, 0};
	if (!chat->drafts.count) {
		chat->id = id;
		chat->title = title;
	}
	json_iter_init(&iter, messages);
	while (!rc && json_iter_next(&iter, NULL, &message)) {
		if (known && role_of(&message) >= 0)
			known--;
		else
			rc = read_message(chat, &message);
	}
	return rc;
}

static struct slice task_id(struct chat *chat, const struct json *task)
{
	struct buffer text = BUFFER_INIT(LIMIT_SESSION_ID_BYTES);
	struct slice id = {NULL, 0};
	struct json number, trial;

	if (json_get(task, "task_id", &number) && number.type == JSON_NUMBER) {
		buffer_add_text(&text, "task-");
		buffer_add(&text, number.text, number.len);
		if (json_get(task, "trial", &trial) && trial.type == JSON_NUMBER) {
			buffer_add_text(&text, "-trial-");
			buffer_add(&text, trial.text, trial.len);
		}
		if (!buffer_error(&text))
			id = import_keep(chat->import, buffer_slice(&text));
	}
	buffer_release(&text);
	return id;
}

/* The reply of a logged request, as a message that counts only if no later request holds it. */
static int keep_reply(struct chat *chat, const struct json *response)
{
	struct json texts, text;
	struct json_iter iter;
	struct json_writer writer;
	bool any = false;

	if (!json_get(response, "message", &texts) || texts.type != JSON_ARRAY)
		return 0;
	buffer_clear(&chat->content);
	json_writer_init(&writer, &chat->content);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "assistant");
	json_key(&writer, "content");
	json_begin_array(&writer);
	json_iter_init(&iter, &texts);
	while (json_iter_next(&iter, NULL, &text)) {
		if (text.type != JSON_STRING || text.len <= 2)
			continue;
		json_begin_object(&writer);
		json_member_text(&writer, "type", "text");
		json_member_value(&writer, "text", &text);
		json_end_object(&writer);
		any = true;
	}
	json_end_array(&writer);
	json_end_object(&writer);
	if (buffer_error(&chat->content))
		return buffer_error(&chat->content);
	if (any)
		chat->reply = import_keep(chat->import, buffer_slice(&chat->content));
	return any && !chat->reply.data ? BOBBIN_ENOMEM : 0;
}

static int read_replay(struct chat *chat, const struct json *prompts)
{
	struct json_iter prompt_iter, log_iter;
	struct json prompt, logs, log, messages, response;
	int rc = 0;

	json_iter_init(&prompt_iter, prompts);
	while (!rc && json_iter_next(&prompt_iter, NULL, &prompt)) {
		struct slice title = import_string(chat->import, &prompt, "prompt");
		if (!json_get(&prompt, "logs", &logs) || logs.type != JSON_ARRAY)
			continue;
		json_iter_init(&log_iter, &logs);
		while (!rc && json_iter_next(&log_iter, NULL, &log)) {
			if (!json_get(&log, "requestMessages", &messages))
				continue;
			if (messages.type == JSON_OBJECT)
				json_get(&messages, "messages", &messages);
			if (messages.type != JSON_ARRAY)
				continue;
			rc = read_messages(chat, &messages, (struct slice){NULL, 0}, title);
			if (!rc && json_get(&log, "response", &response))
				rc = keep_reply(chat, &response);
		}
	}
	return rc;
}

static int read_object(struct chat *chat, const struct json *object);

static int read_elements(struct chat *chat, const struct json *array)
{
	struct json_iter iter;
	struct json element;
	int rc = 0;

	json_iter_init(&iter, array);
	while (!rc && json_iter_next(&iter, NULL, &element))
		rc = read_object(chat, &element);
	return rc;
}

static int read_object(struct chat *chat, const struct json *object)
{
	static const char *const INSIDE[] = {"request", "body", "content", "data", NULL};
	struct json value;
	int rc;

	if (json_get(object, "role", &value))
		return read_message(chat, object);
	if (json_get(object, "traj", &value) && value.type == JSON_ARRAY) {
		/* Trials stand alone, even if one begins like the other. */
		rc = chat_end(chat);
		return rc ? rc : read_messages(chat, &value, task_id(chat, object), (struct slice){NULL, 0});
	}
	if (json_get(object, "messages", &value) && value.type == JSON_ARRAY)
		return read_messages(chat, &value, import_string(chat->import, object, "id"),
			import_string(chat->import, object, "title"));
	if (json_get(object, "prompts", &value) && value.type == JSON_ARRAY)
		return read_replay(chat, &value);
	if (json_get(object, "interactions", &value) && value.type == JSON_ARRAY)
		return read_elements(chat, &value);
	for (size_t i = 0; INSIDE[i]; i++) {
		if (json_get(object, INSIDE[i], &value) && value.type == JSON_OBJECT)
			return read_object(chat, &value);
	}
	return import_warn(chat->import, chat->place, "neither a message nor a list of messages: left out");
}

static int read_value(struct chat *chat, const struct json *value)
{
	if (value->type == JSON_ARRAY)
		return read_elements(chat, value);
	if (value->type == JSON_OBJECT)
		return read_object(chat, value);
	return import_warn(chat->import, chat->place, "neither a message nor a list of messages: left out");
}

static int read_lines(struct chat *chat, const char *data, size_t len, struct bobbin_error *error)
{
	struct import_lines lines;
	struct json value;
	int rc;

	import_lines_init(&lines, chat->import, data, len);
	while ((rc = import_lines_next(&lines, &value, &chat->place)) > 0) {
		if ((rc = read_value(chat, &value)) < 0)
			return rc;
	}
	if (!rc && !chat->drafts.count && !chat->import->conversation_count)
		rc = import_lines_fail(&lines, "openai-chat", error);
	return rc;
}

static int read_all(struct chat *chat, const char *data, size_t len, struct bobbin_error *error)
{
	struct json document;
	int rc;

	if (import_has_many(data, len)) {
		rc = read_lines(chat, data, len, error);
	} else {
		rc = import_document(chat->import, data, len, &document, error);
		if (!rc)
			rc = read_value(chat, &document);
	}
	if (!rc && !(rc = add_reply(chat)))
		rc = chat_end(chat);
	if (!rc && chat->systems)
		rc = import_left_out_many(chat->import, (struct place){0, 0},
			"system {message|messages} (prompts are given with each request, not stored)", chat->systems, true);
	if (!rc && !chat->import->conversation_count)
		rc = error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "not an openai-chat transcript: no message in it");
	return rc;
}

int import_openai_chat(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct chat chat = {.import = import,
		.drafts = {.import = import},
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
	int rc = read_all(&chat, data, len, error);

	drafts_release(&chat.drafts);
	mem_free(chat.cores);
	buffer_release(&chat.out);
	buffer_release(&chat.content);
	return import_end(rc, error);
}
