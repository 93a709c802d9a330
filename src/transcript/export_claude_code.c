/* SPDX-License-Identifier: MIT */
/*
 * Claude Code's sessions: a line for each block of a reply, all with one message.id; a line for each result;
 * a line for what stands in a user message. Lines are chained by parentUuid one after the other, so whoever
 * walks back from the last one finds every result. What the client said about a message (cwd, version, model,
 * usage, …) comes from "src" where the session came from there. To go on with it: PROJECT/SESSIONID.jsonl
 * beside the client's other sessions.
 *
 * Thinking goes out only with its signature. A summary is marked isCompactSummary, and a compact_boundary
 * stands before it: what is before that is not sent any more by the client, as it was there.
 */
#include "base/alloc.h"
#include "transcript/export_ids.h"
#include "transcript/export_parts.h"

#define VERSION_UNKNOWN                                                                                      \
	"2.1.56" /* the client whose lines these are like; a session of the client has its own */

static void member_of_source(
	struct export *export, const struct message *message, const char *key, const char *otherwise)
{
	struct json value;

	if (export_source(message, key, &value) && value.type != JSON_NULL)
		json_member_value(&export->json, key, &value);
	else
		json_member_text(&export->json, key, otherwise);
}

/* Where the work was done, if the client said so: by that it finds the session again. */
static void add_folder(struct export *export, const struct message *message)
{
	struct json value;

	if (export_source(message, "cwd", &value) && value.type == JSON_STRING)
		json_member_value(&export->json, "cwd", &value);
	else
		json_member_string(&export->json, "cwd",
			export->options.folder.len ? export->options.folder : SLICE_LITERAL("/"));
}

/* The id under which the client knows the session: that of its file, so it must be one UUID for all lines. */
static void add_session(struct export *export, const struct message *message)
{
	char *id = export->state;
	struct json value;

	if (!*id) {
		struct slice own = {NULL, 0};
		if (export_source(message, "sessionId", &value) && value.type == JSON_STRING)
			own = json_string_content(&value, &export->arena);
		if (own.len == UUID_BYTES - 1)
			memcpy(id, own.data, own.len);
		else
			export_uuid(export->options.id, SLICE_LITERAL("session"), 0, id);
	}
	json_member_text(&export->json, "sessionId", id);
}

/* Everything of a line up to its own members. `part` is the number of the line among those of its message. */
static void begin_line(struct export *export, const struct export_item *item, const char *type, unsigned part)
{
	const struct message *message = item->message;
	char uuid[UUID_BYTES];

	export_uuid_of_item(export, item, part, uuid);
	export->json.comma = false;
	json_begin_object(&export->json);
	json_key(&export->json, "parentUuid");
	if (*export->previous)
		json_add_text(&export->json, export->previous);
	else
		json_add_null(&export->json);
	json_member_bool(&export->json, "isSidechain", false);
	json_member_text(&export->json, "userType", "external");
	add_folder(export, message);
	add_session(export, message);
	member_of_source(export, message, "version", VERSION_UNKNOWN);
	member_of_source(export, message, "gitBranch", "");
	json_member_text(&export->json, "type", type);
	json_member_text(&export->json, "uuid", uuid);
	json_member_string(&export->json, "timestamp", export_time(export, message));
	memcpy(export->previous, uuid, UUID_BYTES);
}

static void end_line(struct export *export)
{
	json_end_object(&export->json);
	buffer_add_char(export->out, '\n');
}

/* Texts and pictures of a user's message or of a result, as a list; one text is a string. */
static int add_content(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;

	if (message->content.type == JSON_STRING) {
		export_string(export, &message->content);
		return 0;
	}
	json_begin_array(&export->json);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		if (block.type == BLOCK_TEXT)
			export_text_part(export, "text", &block.text);
		else if (block.type == BLOCK_IMAGE && export_image(export, &block, &image))
			export_image_source(export, &image);
		else if (block.type == BLOCK_UNKNOWN && message->origin != ORIGIN_SUMMARY && !export_is_item(&block.value))
			json_add_value(&export->json, &block.value);
		else
			export_lose(export, "parts of a kind that the format has not");
	json_end_array(&export->json);
	return iter.error;
}

/* What was before a summary is not sent any more; the client knows that by this line. */
static void add_boundary(struct export *export, const struct export_item *item)
{
	char before[UUID_BYTES];

	memcpy(before, export->previous, UUID_BYTES);
	*export->previous = '\0';
	begin_line(export, item, "system", 1000);
	json_member_text(&export->json, "subtype", "compact_boundary");
	json_member_text(&export->json, "content", "Conversation compacted");
	json_member_text(&export->json, "level", "info");
	if (*before)
		json_member_text(&export->json, "logicalParentUuid", before);
	end_line(export);
}

static int user(struct export *export, const struct export_item *item)
{
	const struct message *message = item->message;

	if (export_is_empty(export, message, message->origin != ORIGIN_SUMMARY))
		return 0;
	if (message->origin == ORIGIN_SUMMARY)
		add_boundary(export, item);
	begin_line(export, item, "user", 0);
	if (message->origin == ORIGIN_INJECTED)
		json_member_bool(&export->json, "isMeta", true);
	if (message->origin == ORIGIN_SUMMARY) {
		json_member_bool(&export->json, "isCompactSummary", true);
		json_member_bool(&export->json, "isVisibleInTranscriptOnly", true);
	}
	json_key(&export->json, "message");
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", "user");
	json_key(&export->json, "content");
	int code = add_content(export, message);
	json_end_object(&export->json);
	end_line(export);
	return code;
}

static int result(struct export *export, const struct export_item *item)
{
	const struct message *message = item->message;

	begin_line(export, item, "user", 0);
	json_key(&export->json, "message");
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", "user");
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	json_begin_object(&export->json);
	json_key(&export->json, "tool_use_id");
	export_call_id(export, message->tool_call_id, IDS_WORDS);
	json_member_text(&export->json, "type", "tool_result");
	json_key(&export->json, "content");
	int code = add_content(export, message);
	if (message->is_error)
		json_member_bool(&export->json, "is_error", true);
	json_end_object(&export->json);
	json_end_array(&export->json);
	json_end_object(&export->json);
	end_line(export);
	return code;
}

static void add_reply_block(struct export *export, const struct block *block)
{
	if (block->type == BLOCK_TEXT) {
		export_text_part(export, "text", &block->text);
	} else if (block->type == BLOCK_CALL) {
		export_tool_use(export, block);
	} else {
		json_add_value(&export->json, &block->value);
	}
}

/* message.id, model, usage: as the client wrote them, or made up so that its reader has what it looks at. */
static void add_reply_head(struct export *export, const struct export_item *item)
{
	struct json source, value = {NULL, 0, JSON_ABSENT};
	char uuid[UUID_BYTES], id[64] = "msg_";
	bool known = export_source(item->message, "message", &source);

	json_member_text(&export->json, "type", "message");
	json_member_text(&export->json, "role", "assistant");
	if (known && json_get(&source, "id", &value)) {
		json_member_value(&export->json, "id", &value);
	} else {
		export_uuid_of_item(export, item, 0, uuid);
		memcpy(id + 4, uuid, UUID_BYTES);
		json_member_text(&export->json, "id", id);
	}
	if ((known && json_get(&source, "model", &value)) || export_model(item->message, &value))
		json_member_value(&export->json, "model", &value);
	else
		json_member_text(&export->json, "model", "unknown");
	json_key(&export->json, "stop_reason");
	json_add_null(&export->json);
	json_key(&export->json, "stop_sequence");
	json_add_null(&export->json);
	json_key(&export->json, "usage");
	if (known && json_get(&source, "usage", &value))
		json_add_value(&export->json, &value);
	else
		json_add_raw(&export->json, SLICE_LITERAL("{\"input_tokens\":0,\"output_tokens\":0}"));
}

static bool goes_out(struct export *export, const struct block *block)
{
	if (block->type == BLOCK_SEALED && !export_is_signed(&block->value)) {
		export_lose(export, "thinking without a signature of this provider");
		return false;
	}
	if (block->type == BLOCK_IMAGE || block->type == BLOCK_UNKNOWN) {
		export_lose(export, "parts of a kind that the format has not");
		return false;
	}
	return true;
}

static int reply(struct export *export, const struct export_item *item)
{
	struct block_iter iter;
	struct block block;
	unsigned part = 0;

	block_iter_init(&iter, item->message, &export->arena);
	while (block_iter_next(&iter, &block)) {
		if (!goes_out(export, &block))
			continue;
		begin_line(export, item, "assistant", part++);
		json_key(&export->json, "message");
		json_begin_object(&export->json);
		add_reply_head(export, item);
		json_key(&export->json, "content");
		json_begin_array(&export->json);
		add_reply_block(export, &block);
		json_end_array(&export->json);
		json_end_object(&export->json);
		end_line(export);
	}
	return iter.error;
}

static int message(struct export *export, const struct export_item *item)
{
	switch (item->message->role) {
	case ROLE_USER:
		return user(export, item);
	case ROLE_ASSISTANT:
		return reply(export, item);
	default:
		return result(export, item);
	}
}

static int begin(struct export *export)
{
	export->state = mem_alloc_zero(UUID_BYTES);
	return export->state ? 0 : BOBBIN_ENOMEM;
}

const struct export_writer export_claude_code = {
	{"claude-code", "a session file of Claude Code"}, begin, message, NULL};
