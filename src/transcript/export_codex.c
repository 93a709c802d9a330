/* SPDX-License-Identifier: MIT */
/*
 * Codex' rollouts: session_meta, then items of the Responses API, each in a response_item record. What a
 * person typed and what the model answered is there a second time as an event, from which the client draws
 * its screen when a session is resumed. A summary is a message of the user. To go on with it:
 * sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl.
 */
#include "base/platform.h"
#include "transcript/export_ids.h"
#include "transcript/export_parts.h"

#define VERSION_LIKE "0.142.0" /* the client whose records these are like */

static void begin_record(struct export *export, struct slice time, const char *type)
{
	export->json.comma = false;
	json_begin_object(&export->json);
	json_member_string(&export->json, "timestamp", time);
	json_member_text(&export->json, "type", type);
	json_key(&export->json, "payload");
}

static void end_record(struct export *export)
{
	json_end_object(&export->json);
	buffer_add_char(export->out, '\n');
}

/* The first record. It says when the session began, so it waits for the first message. */
static void add_meta(struct export *export, struct slice time)
{
	char id[UUID_BYTES];

	if (export->entries++)
		return;
	export_uuid(export->options.id, SLICE_LITERAL("session"), 0, id);
	begin_record(export, time, "session_meta");
	json_begin_object(&export->json);
	json_member_text(&export->json, "id", id);
	json_member_string(&export->json, "timestamp", time);
	json_member_string(&export->json, "cwd",
		export->options.folder.len ? export->options.folder : SLICE_LITERAL("/"));
	json_member_text(&export->json, "originator", "bobbin");
	json_member_text(&export->json, "cli_version", VERSION_LIKE);
	json_member_text(&export->json, "source", "cli");
	json_end_object(&export->json);
	end_record(export);
}

/* The same text for the screen. */
static void add_event(struct export *export, const struct message *message, struct slice time)
{
	if (message->role == ROLE_USER && message->origin != ORIGIN_PERSON)
		return;
	buffer_clear(&export->text);
	message_add_text(message, &export->arena, &export->text);
	if (!export->text.len)
		return;
	begin_record(export, time, "event_msg");
	json_begin_object(&export->json);
	json_member_text(
		&export->json, "type", message->role == ROLE_USER ? "user_message" : "agent_message");
	json_key(&export->json, "message");
	export_text(export, buffer_slice(&export->text));
	json_end_object(&export->json);
	end_record(export);
}

static void open_message(struct export *export, struct slice time, enum message_role role)
{
	if (export->open != OPEN_NONE)
		return;
	begin_record(export, time, "response_item");
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "message");
	json_member_text(&export->json, "role", message_role_text(role));
	json_key(&export->json, "content");
	json_begin_array(&export->json);
	export->open = OPEN_USER;
}

static void close_message(struct export *export)
{
	if (export_close_message(export))
		end_record(export);
}

static void add_item(struct export *export, struct slice time, const struct json *item)
{
	close_message(export);
	begin_record(export, time, "response_item");
	json_add_value(&export->json, item);
	end_record(export);
}

/* A custom tool's call carries free text, which is how it is told from a function's. */
static bool is_custom(struct export *export, const struct block *call)
{
	struct json parsed;

	if (call->arguments.type != JSON_STRING)
		return false;
	struct slice text = json_string_content(&call->arguments, &export->arena);
	return text.len && (json_parse(text.data, text.len, &parsed, NULL) < 0 || parsed.type != JSON_OBJECT);
}

/* Ids of custom calls, whose results must be of the same kind: "c1\0c2\0". An id may be empty. */
static void note_custom(struct export *export, struct slice call_id)
{
	buffer_add_slice(&export->pending, call_id);
	buffer_add_char(&export->pending, '\0');
}

/* From the newest on, for a result stands close to its call. */
static bool was_custom(struct export *export, struct slice call_id)
{
	const char *ids = export->pending.data;
	size_t len = export->pending.len;

	while (len) {
		size_t end = len - 1;
		const char *before = memrchr(ids, '\0', end);
		len = before ? (size_t)(before - ids) + 1 : 0;
		if (slice_equal(call_id, (struct slice){ids + len, end - len}))
			return true;
	}
	return false;
}

static void add_call(struct export *export, struct slice time, const struct block *call)
{
	bool custom = is_custom(export, call);

	close_message(export);
	begin_record(export, time, "response_item");
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", custom ? "custom_tool_call" : "function_call");
	json_key(&export->json, "call_id");
	export_call_id(export, call->call_id, IDS_VISIBLE);
	json_key(&export->json, "name");
	export_call_name(export, call->call_name);
	json_key(&export->json, custom ? "input" : "arguments");
	if (custom)
		export_string(export, &call->arguments);
	else
		export_arguments_text(export, call);
	json_end_object(&export->json);
	end_record(export);
	if (custom)
		note_custom(export, call->call_id);
}

static void add_block(
	struct export *export, const struct message *message, struct slice time, const struct block *block)
{
	struct export_image image;
	struct json type;

	json_get(&block->value, "type", &type);
	if (block->type == BLOCK_TEXT) {
		open_message(export, time, message->role);
		export_text_part(
			export, message->role == ROLE_ASSISTANT ? "output_text" : "input_text", &block->text);
	} else if (block->type == BLOCK_IMAGE && message->role == ROLE_USER &&
		   export_image(export, block, &image)) {
		open_message(export, time, message->role);
		export_input_image(export, &image);
	} else if (block->type == BLOCK_CALL) {
		add_call(export, time, block);
	} else if ((block->type == BLOCK_SEALED && json_string_is(&type, "reasoning")) ||
		   export_is_item(&block->value)) {
		add_item(export, time, &block->value);
	} else {
		export_lose(export, block->type == BLOCK_SEALED	 ? "thinking"
				    : block->type == BLOCK_IMAGE ? "images that cannot be read"
								 : "parts of a kind that the format has not");
	}
}

static int add_result(struct export *export, const struct message *message, struct slice time)
{
	if (message->is_error)
		export_lose(export, "marks that a result is an error");
	begin_record(export, time, "response_item");
	json_begin_object(&export->json);
	json_member_text(&export->json, "type",
		was_custom(export, message->tool_call_id) ? "custom_tool_call_output"
							  : "function_call_output");
	json_key(&export->json, "call_id");
	export_call_id(export, message->tool_call_id, IDS_VISIBLE);
	json_key(&export->json, "output");
	int code = export_call_output(export, message);
	json_end_object(&export->json);
	end_record(export);
	return code;
}

/* A compaction of the client's own, as it was: what it goes on with is in the record. */
static bool add_compacted(struct export *export, const struct message *message, struct slice time)
{
	struct json source, history, key, value;
	struct json_iter iter;

	if (message->origin != ORIGIN_SUMMARY || !export_source(message, "replacement_history", &history) ||
		!json_get(&message->record, "src", &source))
		return false;
	buffer_clear(&export->text);
	message_add_text(message, &export->arena, &export->text);
	begin_record(export, time, "compacted");
	json_begin_object(&export->json);
	json_key(&export->json, "message");
	export_text(export, buffer_slice(&export->text));
	json_iter_init(&iter, &source);
	while (json_iter_next(&iter, &key, &value)) {
		struct slice name = json_string_content(&key, &export->arena);
		json_key_slice(&export->json, name);
		json_add_value(&export->json, &value);
	}
	json_end_object(&export->json);
	end_record(export);
	return true;
}

static int message(struct export *export, const struct export_item *item)
{
	struct slice time = export_time(export, item->message);
	struct block_iter iter;
	struct block block;

	add_meta(export, time);
	if (item->message->role == ROLE_TOOL)
		return add_result(export, item->message, time);
	if (add_compacted(export, item->message, time))
		return 0;
	block_iter_init(&iter, item->message, &export->arena);
	while (block_iter_next(&iter, &block))
		add_block(export, item->message, time, &block);
	close_message(export);
	if (iter.error)
		return iter.error;
	add_event(export, item->message, time);
	return 0;
}

static int end(struct export *export)
{
	char time[TIME_TEXT_BYTES];

	time_text(export->options.created_ns, time);
	add_meta(export, slice_of(time));
	return 0;
}

const struct export_writer export_codex = {{"codex", "a rollout of Codex"}, NULL, message, end};
