/* SPDX-License-Identifier: MIT */
/* A foreign line as a request, unmended; see doctor_request.h. */
#include "session/doctor_request.h"

#include "base/alloc.h"
#include "session/foreign_text.h"
#include "transcript/message.h"

enum side { SIDE_NONE, SIDE_USER, SIDE_ASSISTANT };

struct writing {
	struct doctor_request *request;
	const struct doctor_foreign *foreign;
	struct json_writer json;
	struct arena arena; /* of one message */
	size_t position, entries, parts;
	enum side open; /* anthropic: the message that the next one may go on with; responses: one of texts */
	int rc;
};

static void note_span(struct writing *writing)
{
	struct doctor_request *request = writing->request;
	if (mem_grow((void **)&request->spans, &request->span_cap, request->span_count + 1, sizeof(*request->spans)) < 0)
		writing->rc = BOBBIN_ENOMEM;
	else
		request->spans[request->span_count++] =
			(struct doctor_span){request->body.len, writing->position, writing->entries};
}

/* A sealed block goes out as it is; one that is broken is noted with its place. */
static void note_seal(struct writing *writing, const struct block *block, size_t entry, size_t part)
{
	struct doctor_request *request = writing->request;
	struct json seal;
	if (!sealed_is_broken(writing->foreign->format, block))
		return;
	bool missing = !json_get(&block->value, "signature", &seal) && !json_get(&block->value, "data", &seal) &&
		       !json_get(&block->value, "encrypted_content", &seal);
	if (mem_grow((void **)&request->seals, &request->seal_cap, request->seal_count + 1, sizeof(*request->seals)) < 0)
		writing->rc = BOBBIN_ENOMEM;
	else
		request->seals[request->seal_count++] = (struct doctor_seal){writing->position, entry, part, missing};
}

static bool is_nothing(const struct json *value)
{
	return value->type == JSON_ABSENT || value->type == JSON_NULL;
}

/* ---- Arguments ---- */

static bool is_blank_string(const struct json *value)
{
	return value->type == JSON_STRING && value->len == 2;
}

static bool is_custom(const struct writing *writing, const struct block *call)
{
	return foreign_is_free_text(writing->foreign->format, &call->arguments);
}

static void add_arguments_text(struct writing *writing, const struct block *call)
{
	if (call->arguments.type == JSON_STRING && call->arguments.len > 2)
		json_add_value(&writing->json, &call->arguments);
	else if (is_nothing(&call->arguments) || call->arguments.type == JSON_STRING)
		json_add_text(&writing->json, "{}");
	else
		json_add_string(&writing->json, (struct slice){call->arguments.text, call->arguments.len});
}

static void add_input(struct writing *writing, const struct block *call)
{
	struct json object;
	if (slice_is(call->kind, "tool_use") && !is_nothing(&call->arguments)) {
		json_add_value(&writing->json, &call->arguments); /* as it is in the file */
	} else if (foreign_arguments(&call->arguments, &writing->arena, &object)) {
		json_add_value(&writing->json, &object);
	} else if (is_nothing(&call->arguments) || is_blank_string(&call->arguments)) {
		json_add_raw(&writing->json, SLICE_LITERAL("{}"));
	} else if (is_custom(writing, call)) {
		json_begin_object(&writing->json);
		json_member_value(&writing->json, "input", &call->arguments);
		json_end_object(&writing->json);
	} else {
		json_add_value(&writing->json, &call->arguments);
	}
}

/* ---- Parts ---- */

/* Texts have no member "text" when they are the content itself. */
static void add_text(struct writing *writing, const char *type, const struct json *text)
{
	json_begin_object(&writing->json);
	json_member_text(&writing->json, "type", type);
	json_member_value(&writing->json, "text", text);
	json_end_object(&writing->json);
	writing->parts++;
}

static void add_raw_part(struct writing *writing, const struct block *block)
{
	json_add_value(&writing->json, &block->value);
	writing->parts++;
}

/* What a dialect has no form for may be all of a message, which is not empty for that. */
static void add_stand_in(struct writing *writing, const char *type)
{
	add_text(writing, type, &(struct json){"\"…\"", sizeof("\"…\"") - 1, JSON_STRING});
}

/* ---- Anthropic ---- */

static void close_entry(struct writing *writing)
{
	if (writing->open == SIDE_NONE)
		return;
	json_end_array(&writing->json);
	json_end_object(&writing->json);
	writing->open = SIDE_NONE;
}

static void open_entry(struct writing *writing, enum side side)
{
	if (writing->open != side) {
		close_entry(writing);
		note_span(writing);
		json_begin_object(&writing->json);
		json_member_text(&writing->json, "role", side == SIDE_USER ? "user" : "assistant");
		json_key(&writing->json, "content");
		json_begin_array(&writing->json);
		writing->open = side;
		writing->entries++;
		writing->parts = 0;
	} else {
		writing->entries--; /* it goes on with the last one */
		note_span(writing);
		writing->entries++;
	}
}

static void add_use(struct writing *writing, const struct block *call)
{
	json_begin_object(&writing->json);
	json_member_text(&writing->json, "type", "tool_use");
	json_member_string(&writing->json, "id", call->call_id);
	json_member_string(&writing->json, "name", call->call_name);
	json_key(&writing->json, "input");
	add_input(writing, call);
	json_end_object(&writing->json);
	writing->parts++;
}

static void add_anthropic_block(struct writing *writing, const struct block *block)
{
	if (block->type == BLOCK_TEXT)
		add_text(writing, "text", &block->text);
	else if (block->type == BLOCK_CALL)
		add_use(writing, block);
	else if (block->type == BLOCK_SEALED && sealed_is_anthropics(writing->foreign->format, block)) {
		note_seal(writing, block, writing->entries - 1, writing->parts);
		add_raw_part(writing, block);
	} else if (block->type == BLOCK_SERVER_CALL || block->type == BLOCK_SERVER_RESULT ||
		   slice_is(block->kind, "image"))
		add_raw_part(writing, block);
}

static int add_anthropic_blocks(struct writing *writing, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	block_iter_init(&iter, message, &writing->arena);
	while (block_iter_next(&iter, &block))
		add_anthropic_block(writing, &block);
	return iter.error;
}

static int add_anthropic_result(struct writing *writing, const struct message *message)
{
	open_entry(writing, SIDE_USER);
	json_begin_object(&writing->json);
	json_member_text(&writing->json, "type", "tool_result");
	json_member_string(&writing->json, "tool_use_id", message->tool_call_id);
	json_key(&writing->json, "content");
	size_t parts = writing->parts;
	int rc = 0;
	if (message->content.type == JSON_STRING) {
		json_add_value(&writing->json, &message->content);
	} else {
		json_begin_array(&writing->json);
		rc = add_anthropic_blocks(writing, message);
		json_end_array(&writing->json);
	}
	writing->parts = parts + 1;
	if (message->is_error)
		json_member_bool(&writing->json, "is_error", true);
	json_end_object(&writing->json);
	return rc;
}

/* One without content goes apart: joined with its neighbour it would not be seen. */
static int add_anthropic(struct writing *writing, const struct message *message)
{
	enum side side = message->role == ROLE_ASSISTANT ? SIDE_ASSISTANT : SIDE_USER;
	struct block_iter iter;
	struct block block;
	if (message->role == ROLE_TOOL)
		return add_anthropic_result(writing, message);
	block_iter_init(&iter, message, &writing->arena);
	bool empty = !block_iter_next(&iter, &block);
	if (empty)
		close_entry(writing);
	open_entry(writing, side);
	size_t before = writing->parts;
	int rc = add_anthropic_blocks(writing, message);
	if (empty)
		close_entry(writing);
	else if (writing->parts == before)
		add_stand_in(writing, "text");
	return rc;
}

/* ---- OpenAI's chat completions ---- */

static void add_chat_parts(struct writing *writing, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	size_t blocks = 0;
	block_iter_init(&iter, message, &writing->arena);
	json_begin_array(&writing->json);
	for (; block_iter_next(&iter, &block); blocks += block.type != BLOCK_CALL)
		if (block.type == BLOCK_TEXT)
			add_text(writing, "text", &block.text);
		else if (slice_is(block.kind, "image_url") && message->role == ROLE_USER)
			add_raw_part(writing, &block);
	if (blocks && !writing->parts)
		add_stand_in(writing, "text");
	json_end_array(&writing->json);
}

static bool has_more_than_calls(struct writing *writing, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	block_iter_init(&iter, message, &writing->arena);
	while (block_iter_next(&iter, &block))
		if (block.type != BLOCK_CALL && block.type != BLOCK_SEALED)
			return true;
	return false;
}

static void add_chat_content(struct writing *writing, const struct message *message, bool calls)
{
	writing->parts = 0;
	json_key(&writing->json, "content");
	if (message->content.type == JSON_STRING && !(calls && is_blank_string(&message->content)))
		json_add_value(&writing->json, &message->content);
	else if (message->role == ROLE_TOOL && !has_more_than_calls(writing, message))
		json_add_text(&writing->json, "");
	else if (message->content.type == JSON_ARRAY && (!calls || has_more_than_calls(writing, message)))
		add_chat_parts(writing, message);
	else
		json_add_null(&writing->json);
}

static void add_chat_call(struct writing *writing, const struct block *call)
{
	json_begin_object(&writing->json);
	json_member_string(&writing->json, "id", call->call_id);
	json_member_text(&writing->json, "type", "function");
	json_key(&writing->json, "function");
	json_begin_object(&writing->json);
	json_member_string(&writing->json, "name", call->call_name);
	json_key(&writing->json, "arguments");
	if (is_custom(writing, call)) {
		struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES * 2);
		buffer_add_text(&text, "{\"input\":");
		buffer_add(&text, call->arguments.text, call->arguments.len);
		buffer_add_text(&text, "}");
		json_add_string(&writing->json, buffer_slice(&text));
		writing->rc = buffer_error(&text) ? buffer_error(&text) : writing->rc;
		buffer_release(&text);
	} else {
		add_arguments_text(writing, call);
	}
	json_end_object(&writing->json);
	json_end_object(&writing->json);
}

static int add_chat(struct writing *writing, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	bool calls = message->role == ROLE_ASSISTANT && message_call_count(message) > 0;
	note_span(writing);
	json_begin_object(&writing->json);
	json_member_text(&writing->json, "role", message_role_text(message->role));
	if (message->role == ROLE_TOOL)
		json_member_string(&writing->json, "tool_call_id", message->tool_call_id);
	add_chat_content(writing, message, calls);
	block_iter_init(&iter, message, &writing->arena);
	if (calls) {
		json_key(&writing->json, "tool_calls");
		json_begin_array(&writing->json);
		while (block_iter_next(&iter, &block))
			if (block.type == BLOCK_CALL)
				add_chat_call(writing, &block);
		json_end_array(&writing->json);
	}
	json_end_object(&writing->json);
	writing->entries++;
	return iter.error;
}

/* ---- OpenAI's responses ---- */

static void begin_item(struct writing *writing, const char *type)
{
	close_entry(writing);
	note_span(writing);
	json_begin_object(&writing->json);
	json_member_text(&writing->json, "type", type);
	writing->entries++;
}

static void open_texts(struct writing *writing, const struct message *message)
{
	if (writing->open != SIDE_NONE)
		return;
	begin_item(writing, "message");
	json_member_text(&writing->json, "role", message_role_text(message->role));
	json_key(&writing->json, "content");
	json_begin_array(&writing->json);
	writing->open = SIDE_USER;
	writing->parts = 0;
}

static void add_item_call(struct writing *writing, const struct block *call)
{
	bool custom = is_custom(writing, call);
	begin_item(writing, custom ? "custom_tool_call" : "function_call");
	json_member_string(&writing->json, "call_id", call->call_id);
	json_member_string(&writing->json, "name", call->call_name);
	json_key(&writing->json, custom ? "input" : "arguments");
	add_arguments_text(writing, call);
	json_end_object(&writing->json);
}

/* Without its sealed content it is the provider that keeps it, under its id. */
static void add_reasoning(struct writing *writing, const struct block *block)
{
	struct json seal;
	if (!slice_is(block->kind, "reasoning") || !json_get(&block->value, "encrypted_content", &seal) || is_nothing(&seal))
		return;
	close_entry(writing);
	note_span(writing);
	note_seal(writing, block, writing->entries, 0);
	json_add_value(&writing->json, &block->value);
	writing->entries++;
}

/* Items of the provider's own, which go back as they came. */
static bool is_item(const struct block *block)
{
	struct slice kind = block->kind;
	return slice_is(kind, "compaction") || slice_is(kind, "context_compaction") ||
	       (kind.len > 5 && memcmp(kind.data + kind.len - 5, "_call", 5) == 0);
}

static void add_item(struct writing *writing, const struct block *block)
{
	close_entry(writing);
	note_span(writing);
	json_add_value(&writing->json, &block->value);
	writing->entries++;
}

static int add_items(struct writing *writing, const struct message *message)
{
	const char *type = message->role == ROLE_ASSISTANT ? "output_text" : "input_text";
	struct block_iter iter;
	struct block block;
	size_t blocks = 0, before = writing->entries;
	block_iter_init(&iter, message, &writing->arena);
	for (; block_iter_next(&iter, &block); blocks++) {
		if (block.type == BLOCK_CALL)
			add_item_call(writing, &block);
		else if (block.type == BLOCK_SEALED)
			add_reasoning(writing, &block);
		else if (block.type == BLOCK_TEXT)
			open_texts(writing, message), add_text(writing, type, &block.text);
		else if (slice_is(block.kind, "input_image") && message->role == ROLE_USER)
			open_texts(writing, message), add_raw_part(writing, &block);
		else if (block.type == BLOCK_UNKNOWN && is_item(&block))
			add_item(writing, &block);
	}
	if (writing->entries == before)
		open_texts(writing, message);
	if (blocks && writing->entries == before + 1 && writing->open != SIDE_NONE && !writing->parts)
		add_stand_in(writing, type);
	close_entry(writing);
	return iter.error;
}

static int add_output(struct writing *writing, const struct message *message)
{
	struct block_iter iter;
	struct block block;
	begin_item(writing, "function_call_output");
	json_member_string(&writing->json, "call_id", message->tool_call_id);
	json_key(&writing->json, "output");
	block_iter_init(&iter, message, &writing->arena);
	if (message->content.type != JSON_ARRAY) {
		struct json none = {"\"\"", 2, JSON_STRING};
		json_add_value(&writing->json, message->content.type == JSON_STRING ? &message->content : &none);
	} else {
		json_begin_array(&writing->json);
		while (block_iter_next(&iter, &block))
			if (block.type == BLOCK_TEXT)
				add_text(writing, "input_text", &block.text);
		json_end_array(&writing->json);
	}
	json_end_object(&writing->json);
	return iter.error;
}

/* ---- The whole ---- */

static int add_message(struct writing *writing, const struct message *message)
{
	switch (writing->request->dialect) {
	case DIALECT_ANTHROPIC:
		return add_anthropic(writing, message);
	case DIALECT_OPENAI_CHAT:
		return add_chat(writing, message);
	default:
		return message->role == ROLE_TOOL ? add_output(writing, message) : add_items(writing, message);
	}
}

int doctor_request_make(const struct path *path, const struct doctor_foreign *foreign, enum dialect dialect,
	struct doctor_request *ret_request, struct bobbin_error *error)
{
	*ret_request = (struct doctor_request){.dialect = dialect, .body = BUFFER_INIT((size_t)LIMIT_IMPORT_BYTES * 2)};
	struct writing writing = {.request = ret_request, .foreign = foreign};
	int rc = 0;
	json_writer_init(&writing.json, &ret_request->body);
	json_begin_object(&writing.json);
	json_member_text(&writing.json, "model", "m");
	json_member_int(&writing.json, "max_tokens", 1);
	json_key(&writing.json, dialect == DIALECT_OPENAI_RESPONSES ? "input" : "messages");
	json_begin_array(&writing.json);
	for (; !rc && writing.position < path->count; writing.position++) {
		struct message message;
		rc = path_message(path, writing.position, &writing.arena, &message, error);
		if (!rc && ((rc = add_message(&writing, &message)) < 0 || (rc = writing.rc) < 0))
			error_set(error, rc, "out of memory");
		arena_reset(&writing.arena);
	}
	close_entry(&writing);
	json_end_array(&writing.json);
	json_end_object(&writing.json);
	arena_release(&writing.arena);
	if (!rc && (rc = buffer_error(&ret_request->body)) < 0)
		error_set(error, rc, rc == BOBBIN_ELIMIT ? "the transcript is too long for a request" : "out of memory");
	return rc;
}

void doctor_request_release(struct doctor_request *request)
{
	buffer_release(&request->body);
	mem_free(request->spans);
	mem_free(request->seals);
}

const struct doctor_span *doctor_request_span(const struct doctor_request *request, size_t offset)
{
	size_t low = 0, high = request->span_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (request->spans[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return request->span_count ? &request->spans[low ? low - 1 : 0] : NULL;
}
