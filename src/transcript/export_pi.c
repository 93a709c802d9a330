/* SPDX-License-Identifier: MIT */
/*
 * pi's sessions (version 3): a header, then entries that name what they follow. What no person typed is a
 * custom_message, a summary is a compaction whose firstKeptEntryId is what it kept verbatim, or itself. api,
 * provider, model, usage and stopReason of a reply come from "src" where the session came from there; its
 * reader wants them, so others are made up. To go on with it: put it beside pi's other sessions, or open it
 * by its path.
 */
#include "base/platform.h"
#include "transcript/export_ids.h"
#include "transcript/export_parts.h"

/* Made-up usage: pi adds it up, so it must be numbers. */
#define NO_USAGE                                                                                             \
	"{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":0,\"cost\":"             \
	"{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}"

static void begin_header(struct export *export, struct slice time)
{
	char id[UUID_BYTES];

	if (export->entries++)
		return;
	export_uuid(export->options.id, SLICE_LITERAL("session"), 0, id);
	export->json.comma = false;
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "session");
	json_member_int(&export->json, "version", 3);
	json_member_text(&export->json, "id", id);
	json_member_string(&export->json, "timestamp", time);
	json_member_string(&export->json, "cwd",
		export->options.folder.len ? export->options.folder : SLICE_LITERAL("/"));
	json_end_object(&export->json);
	buffer_add_char(export->out, '\n');
}

/* The id of an entry: the message's own, if it is not one that only we give and fits where the last one is
 * kept. */
static void entry_id(const struct export *export, const struct export_item *item, char ret_id[UUID_BYTES])
{
	struct slice id = item->message->id;

	if (id.len && id.len < UUID_BYTES) {
		memcpy(ret_id, id.data, id.len);
		ret_id[id.len] = '\0';
		return;
	}
	export_uuid(export->options.id, item->id, 0, ret_id);
}

static void begin_entry(struct export *export, const struct export_item *item, const char *type)
{
	char id[UUID_BYTES];

	entry_id(export, item, id);
	export->json.comma = false;
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", type);
	json_member_text(&export->json, "id", id);
	json_key(&export->json, "parentId");
	if (*export->previous)
		json_add_text(&export->json, export->previous);
	else
		json_add_null(&export->json);
	json_member_string(&export->json, "timestamp", export_time(export, item->message));
	memcpy(export->previous, id, UUID_BYTES);
}

static void end_entry(struct export *export)
{
	json_end_object(&export->json);
	buffer_add_char(export->out, '\n');
}

/* A member of the message as pi wrote it, or JSON text in its place. */
static void member(
	struct export *export, const struct message *message, const char *key, struct slice otherwise)
{
	struct json source, value;

	json_key(&export->json, key);
	if (export_source(message, "message", &source) && json_get(&source, key, &value))
		json_add_value(&export->json, &value);
	else
		json_add_raw(&export->json, otherwise);
}

static void add_timestamp(struct export *export, const struct message *message)
{
	char text[24];
	struct buffer digits;

	buffer_init(&digits, sizeof text);
	buffer_add_i64(&digits, export->options.created_ns / 1000000);
	member(export, message, "timestamp", buffer_slice(&digits));
	buffer_release(&digits);
}

static void add_thinking(struct export *export, const struct json *block)
{
	struct json type, text, signature;

	json_get(block, "type", &type);
	if (!json_string_is(&type, "thinking") || !json_get(block, "thinking", &text)) {
		export_lose(export, "thinking");
	} else if (!json_get(block, "signature", &signature)) {
		json_add_value(&export->json, block); /* as pi has it */
	} else {
		json_begin_object(&export->json);
		json_member_text(&export->json, "type", "thinking");
		json_member_value(&export->json, "thinking", &text);
		json_member_value(&export->json, "thinkingSignature", &signature);
		json_end_object(&export->json);
	}
}

static void add_call(struct export *export, const struct block *call)
{
	json_begin_object(&export->json);
	json_member_text(&export->json, "type", "toolCall");
	json_member_string(&export->json, "id", call->call_id);
	json_member_string(&export->json, "name", call->call_name);
	json_key(&export->json, "arguments");
	export_arguments_object(export, call);
	json_end_object(&export->json);
	/* The results have to repeat the name: "id\0name\0" for each call of the last reply. */
	buffer_add_slice(&export->pending, call->call_id);
	buffer_add_char(&export->pending, '\0');
	buffer_add_slice(&export->pending, call->call_name);
	buffer_add_char(&export->pending, '\0');
}

static void add_block(struct export *export, const struct block *block)
{
	struct export_image image;

	if (block->type == BLOCK_TEXT) {
		export_text_part(export, "text", &block->text);
	} else if (block->type == BLOCK_CALL) {
		add_call(export, block);
	} else if (block->type == BLOCK_SEALED) {
		add_thinking(export, &block->value);
	} else if (block->type == BLOCK_IMAGE && export_image(export, block, &image) && image.data.len) {
		json_begin_object(&export->json);
		json_member_text(&export->json, "type", "image");
		json_member_string(&export->json, "data", image.data);
		json_member_string(&export->json, "mimeType", image.media_type);
		json_end_object(&export->json);
	} else {
		export_lose(export, block->type == BLOCK_IMAGE ? "images that are not in the file"
							       : "parts of a kind that the format has not");
	}
}

static int add_content(struct export *export, const struct message *message)
{
	struct block_iter iter;
	struct block block;

	json_key(&export->json, "content");
	json_begin_array(&export->json);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block))
		add_block(export, &block);
	json_end_array(&export->json);
	return iter.error;
}

static struct slice name_of_call(const struct export *export, const struct message *message)
{
	struct slice all = buffer_slice(&export->pending);
	const char *at = all.data, *end = all.data + all.len;

	if (message->name.len)
		return message->name;
	while (at < end) {
		const char *name = memchr(at, '\0', (size_t)(end - at));
		const char *next = name ? memchr(name + 1, '\0', (size_t)(end - name - 1)) : NULL;
		if (!next)
			break;
		if (slice_equal((struct slice){at, (size_t)(name - at)}, message->tool_call_id))
			return (struct slice){name + 1, (size_t)(next - name - 1)};
		at = next + 1;
	}
	return SLICE_LITERAL("unknown");
}

static int result(struct export *export, const struct export_item *item)
{
	begin_entry(export, item, "message");
	json_key(&export->json, "message");
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", "toolResult");
	json_member_string(&export->json, "toolCallId", item->message->tool_call_id);
	json_member_string(&export->json, "toolName", name_of_call(export, item->message));
	int code = add_content(export, item->message);
	json_member_bool(&export->json, "isError", item->message->is_error);
	add_timestamp(export, item->message);
	json_end_object(&export->json);
	end_entry(export);
	return code;
}

static void add_model(struct export *export, const struct message *message)
{
	struct json source, value;

	json_key(&export->json, "model");
	if ((export_source(message, "message", &source) && json_get(&source, "model", &value)) || export_model(message, &value))
		json_add_value(&export->json, &value);
	else
		json_add_text(&export->json, "unknown");
}

static int reply(struct export *export, const struct export_item *item)
{
	const struct message *message = item->message;

	buffer_clear(&export->pending);
	begin_entry(export, item, "message");
	json_key(&export->json, "message");
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", "assistant");
	int code = add_content(export, message);
	member(export, message, "api", SLICE_LITERAL("\"openai-completions\""));
	member(export, message, "provider", SLICE_LITERAL("\"unknown\""));
	add_model(export, message);
	member(export, message, "usage", SLICE_LITERAL(NO_USAGE));
	member(export, message, "stopReason",
		message_call_count(message) ? SLICE_LITERAL("\"toolUse\"") : SLICE_LITERAL("\"stop\""));
	add_timestamp(export, message);
	json_end_object(&export->json);
	end_entry(export);
	return code;
}

/* What somebody else's compaction left: the summary, and from where on messages stayed as they were. */
static int summary(struct export *export, const struct export_item *item)
{
	struct json cut, tokens;

	if (!export_join_texts(export, item->message, false))
		buffer_clear(&export->text);
	begin_entry(export, item, "compaction");
	json_key(&export->json, "summary");
	export_text(export, buffer_slice(&export->text));
	json_key(&export->json, "firstKeptEntryId");
	if (json_get(&item->message->record, "cut", &cut) && cut.type == JSON_STRING)
		json_add_value(&export->json, &cut);
	else
		json_add_text(&export->json, export->previous);
	json_key(&export->json, "tokensBefore");
	if (export_source(item->message, "tokensBefore", &tokens) && tokens.type == JSON_NUMBER)
		json_add_value(&export->json, &tokens);
	else
		json_add_int(&export->json, 0);
	end_entry(export);
	return 0;
}

static int user(struct export *export, const struct export_item *item)
{
	int code;

	if (export_is_empty(export, item->message, false))
		return 0;
	if (item->message->origin == ORIGIN_SUMMARY)
		return summary(export, item);
	if (item->message->origin != ORIGIN_PERSON) {
		begin_entry(export, item, "custom_message");
		json_member_text(&export->json, "customType", "bobbin");
		code = add_content(export, item->message);
		json_member_bool(&export->json, "display", false);
		end_entry(export);
		return code;
	}
	begin_entry(export, item, "message");
	json_key(&export->json, "message");
	json_begin_object(&export->json);
	json_member_text(&export->json, "role", "user");
	code = add_content(export, item->message);
	add_timestamp(export, item->message);
	json_end_object(&export->json);
	end_entry(export);
	return code;
}

static int message(struct export *export, const struct export_item *item)
{
	begin_header(export, export_time(export, item->message));
	switch (item->message->role) {
	case ROLE_USER:
		return user(export, item);
	case ROLE_ASSISTANT:
		return reply(export, item);
	default:
		return result(export, item);
	}
}

static int end(struct export *export)
{
	char time[TIME_TEXT_BYTES];

	time_text(export->options.created_ns, time);
	begin_header(export, slice_of(time));
	return 0;
}

const struct export_writer export_pi = {{"pi", "a session file of pi"}, NULL, message, end};
