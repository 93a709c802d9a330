/* SPDX-License-Identifier: MIT */
/*
 * Reading messages in place: members, then blocks. Shapes that only differ in spelling (OpenAI's nested
 * function, Anthropic's tool_use, a null tool_calls) are read as what they mean; shapes that would change
 * what the message says (a numeric id, an object as content) are refused.
 */
#include "transcript/message.h"

#include "base/limits.h"

static const char *const ROLES[] = {
	[ROLE_USER] = "user", [ROLE_ASSISTANT] = "assistant", [ROLE_TOOL] = "tool"};

const char *message_role_text(enum message_role role)
{
	return ROLES[role];
}

bool message_role_of(const struct json *role, enum message_role *ret_role)
{
	for (size_t i = 0; i < sizeof(ROLES) / sizeof(ROLES[0]); i++) {
		if (json_string_is(role, ROLES[i])) {
			*ret_role = (enum message_role)i;
			return true;
		}
	}
	return false;
}

bool message_is(const struct json *record)
{
	struct json role;
	enum message_role ignored;
	return json_get(record, "role", &role) && message_role_of(&role, &ignored);
}

/* ---- Members ---------------------------------------------------------------------------------------------
 */

enum member {
	MEMBER_ROLE,
	MEMBER_ORIGIN,
	MEMBER_MARKER,
	MEMBER_SEQ,
	MEMBER_CONTENT,
	MEMBER_TOOL_CALLS,
	MEMBER_PARENT,
	MEMBER_ID,
	MEMBER_TOOL_CALL_ID,
	MEMBER_NAME,
	MEMBER_IS_ERROR,
	MEMBER_BRANCH,
	MEMBERS,
};

#define KEY(text)                                                                                            \
	{                                                                                                    \
		text, sizeof(text) - 1                                                                       \
	}
static const struct {
	const char *text;
	size_t len;
} KEYS[MEMBERS] = {
	[MEMBER_ROLE] = KEY("role"),
	[MEMBER_ORIGIN] = KEY("origin"),
	[MEMBER_MARKER] = KEY("marker"),
	[MEMBER_SEQ] = KEY("seq"),
	[MEMBER_CONTENT] = KEY("content"),
	[MEMBER_TOOL_CALLS] = KEY("tool_calls"),
	[MEMBER_PARENT] = KEY("parent"),
	[MEMBER_ID] = KEY("id"),
	[MEMBER_TOOL_CALL_ID] = KEY("tool_call_id"),
	[MEMBER_NAME] = KEY("name"),
	[MEMBER_IS_ERROR] = KEY("is_error"),
	[MEMBER_BRANCH] = KEY("branch"),
};
#undef KEY

static enum member member_of(const struct json *key)
{
	bool escaped = memchr(key->text, '\\', key->len) != NULL;

	for (unsigned i = 0; i < MEMBERS; i++)
		if (escaped ? json_string_is(key, KEYS[i].text)
			    : key->len == KEYS[i].len + 2 &&
					memcmp(key->text + 1, KEYS[i].text, KEYS[i].len) == 0)
			return (enum member)i;
	return MEMBERS;
}

#define KEYS_COMPARED 16 /* records have about seven */

/* Whether a key differs from `count` others. Escapes may spell an equal one. */
static bool is_new_key(const struct json *key, const struct json keys[KEYS_COMPARED], size_t count)
{
	if (count == KEYS_COMPARED || memchr(key->text, '\\', key->len))
		return false;
	for (size_t i = 0; i < count; i++)
		if (keys[i].len == key->len && memcmp(keys[i].text, key->text, key->len) == 0)
			return false;
	return true;
}

/* One walk over the record, which may be megabytes. Of duplicates the last counts. True if there are none. */
static bool find_members(const struct json *record, struct json ret_found[MEMBERS])
{
	struct json keys[KEYS_COMPARED];
	struct json_iter iter;
	struct json key, value;
	size_t count = 0;
	bool differ = true;

	for (unsigned i = 0; i < MEMBERS; i++)
		ret_found[i] = (struct json){NULL, 0, JSON_ABSENT};
	if (record->type != JSON_OBJECT)
		return true;
	json_iter_init(&iter, record);
	while (json_iter_next(&iter, &key, &value)) {
		differ = differ && is_new_key(&key, keys, count);
		if (differ)
			keys[count++] = key;
		enum member member = member_of(&key);
		if (member != MEMBERS)
			ret_found[member] = value;
	}
	return differ;
}

static bool is_some(const struct json *value)
{
	return value->type != JSON_ABSENT && value->type != JSON_NULL;
}

/* An optional string member, decoded; null counts as absent. */
static int get_text(const struct json found[MEMBERS], enum member member, struct arena *arena,
	struct slice *ret_text, struct bobbin_error *error)
{
	const struct json *value = &found[member];

	*ret_text = (struct slice){NULL, 0};
	if (!is_some(value))
		return 0;
	if (value->type != JSON_STRING)
		return error_set(
			error, BOBBIN_EINPUT, "a message whose \"%s\" is not a string", KEYS[member].text);
	*ret_text = json_string_content(value, arena);
	if (!ret_text->data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory while reading a message");
	return 0;
}

/* An optional true or false; null counts as absent. */
static int get_flag(
	const struct json found[MEMBERS], enum member member, bool *ret_flag, struct bobbin_error *error)
{
	*ret_flag = false;
	if (is_some(&found[member]) && !json_bool(&found[member], ret_flag))
		return error_set(error, BOBBIN_EINPUT, "a message whose \"%s\" is neither true nor false",
			KEYS[member].text);
	return 0;
}

static int parse_parent(const struct json found[MEMBERS], struct arena *arena, struct message *message,
	struct bobbin_error *error)
{
	message->parent_kind = PARENT_HEAD;
	if (found[MEMBER_PARENT].type == JSON_ABSENT)
		return 0;
	if (found[MEMBER_PARENT].type == JSON_NULL) {
		message->parent_kind = PARENT_ROOT;
		return 0;
	}
	message->parent_kind = PARENT_ID;
	int rc = get_text(found, MEMBER_PARENT, arena, &message->parent, error);
	if (!rc && message->parent.len == 0)
		return error_set(error, BOBBIN_EINPUT, "a message whose \"parent\" is empty");
	return rc;
}

static int parse_seq(const struct json *seq, struct message *message, struct bobbin_error *error)
{
	int64_t value;

	if (!is_some(seq))
		return 0;
	if (!json_int64(seq, &value) || value < 1)
		return error_set(error, BOBBIN_EINPUT, "a message whose \"seq\" is not a number from 1 on");
	message->seq = (uint64_t)value;
	return 0;
}

static int parse_body(const struct json found[MEMBERS], struct message *message, struct bobbin_error *error)
{
	message->content = found[MEMBER_CONTENT];
	switch (message->content.type) {
	case JSON_STRING:
	case JSON_ARRAY:
	case JSON_NULL:
	case JSON_ABSENT:
		break;
	default:
		return error_set(
			error, BOBBIN_EINPUT, "a message whose \"content\" is neither text nor blocks");
	}
	if (is_some(&found[MEMBER_TOOL_CALLS]))
		message->tool_calls = found[MEMBER_TOOL_CALLS];
	if (message->tool_calls.type != JSON_ABSENT && message->tool_calls.type != JSON_ARRAY)
		return error_set(error, BOBBIN_EINPUT, "a message whose \"tool_calls\" is not an array");
	return 0;
}

static enum message_origin origin_of(const struct json *origin)
{
	if (!is_some(origin))
		return ORIGIN_PERSON;
	if (json_string_is(origin, "injected"))
		return ORIGIN_INJECTED;
	if (json_string_is(origin, "summary"))
		return ORIGIN_SUMMARY;
	return ORIGIN_OTHER;
}

static enum message_marker marker_of(const struct json *marker)
{
	if (!is_some(marker))
		return MARKER_NONE;
	return json_string_is(marker, "unknown") ? MARKER_UNKNOWN : MARKER_INTERRUPTED;
}

int message_parse(const struct json *record, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	struct message message = {.record = *record};
	struct json found[MEMBERS];
	int rc;

	message.keys_differ = find_members(record, found);
	if (!message_role_of(&found[MEMBER_ROLE], &message.role))
		return error_set(
			error, BOBBIN_EINPUT, "a message whose \"role\" is not user, assistant or tool");
	message.origin = origin_of(&found[MEMBER_ORIGIN]);
	message.marker = marker_of(&found[MEMBER_MARKER]);
	if ((rc = parse_seq(&found[MEMBER_SEQ], &message, error)) < 0 ||
		(rc = parse_body(found, &message, error)) < 0 ||
		(rc = parse_parent(found, arena, &message, error)) < 0 ||
		(rc = get_text(found, MEMBER_ID, arena, &message.id, error)) < 0 ||
		(rc = get_text(found, MEMBER_TOOL_CALL_ID, arena, &message.tool_call_id, error)) < 0 ||
		(rc = get_text(found, MEMBER_NAME, arena, &message.name, error)) < 0 ||
		(rc = get_flag(found, MEMBER_IS_ERROR, &message.is_error, error)) < 0 ||
		(rc = get_flag(found, MEMBER_BRANCH, &message.branch, error)) < 0)
		return rc;
	if (message.id.data && message.id.len == 0)
		return error_set(error, BOBBIN_EINPUT, "a message whose \"id\" is empty");
	*ret_message = message;
	return 0;
}

/* ---- Blocks ----------------------------------------------------------------------------------------------
 */

/* Kinds by their "type" member, in all the spellings that reach us. */
static const struct {
	const char *kind;
	enum block_type type;
	const char *text; /* the member that holds readable text */
} KINDS[] = {
	{"text", BLOCK_TEXT, "text"},
	{"input_text", BLOCK_TEXT, "text"},
	{"output_text", BLOCK_TEXT, "text"},
	{"refusal", BLOCK_TEXT, "refusal"},
	{"image", BLOCK_IMAGE, NULL},
	{"image_url", BLOCK_IMAGE, NULL},
	{"input_image", BLOCK_IMAGE, NULL},
	{"thinking", BLOCK_SEALED, "thinking"},
	{"redacted_thinking", BLOCK_SEALED, NULL},
	{"reasoning", BLOCK_SEALED, "text"},
	{"tool_call", BLOCK_CALL, NULL},
	{"tool_use", BLOCK_CALL, NULL},
	{"server_tool_use", BLOCK_SERVER_CALL, NULL},
	{"mcp_tool_use", BLOCK_SERVER_CALL, NULL},
};

static bool ends_with(struct slice text, const char *end)
{
	struct slice tail = slice_of(end);
	return text.len > tail.len && memcmp(text.data + text.len - tail.len, tail.data, tail.len) == 0;
}

/* The kind of a block, without memory: kinds are ASCII words, so a kind with escapes is one we do not know.
 */
static enum block_type kind_of(const struct json *value, const char **ret_text)
{
	struct json kind;
	struct slice plain;

	*ret_text = NULL;
	if (!json_get(value, "type", &kind))
		return BLOCK_UNKNOWN;
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		if (json_string_is(&kind, KINDS[i].kind)) {
			*ret_text = KINDS[i].text;
			return KINDS[i].type;
		}
	}
	if (json_string_plain(&kind, &plain) && ends_with(plain, "_tool_result"))
		return BLOCK_SERVER_RESULT;
	return BLOCK_UNKNOWN;
}

static int get_content(
	const struct json *object, const char *key, struct arena *arena, struct slice *ret_text)
{
	struct json value;

	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return 0;
	*ret_text = json_string_content(&value, arena);
	return ret_text->data ? 0 : BOBBIN_ENOMEM;
}

/* Fills in a call in any of its forms: {id,name,arguments|input}, or {id,function:{name,arguments}}. */
static int read_call(const struct json *value, struct arena *arena, struct block *block)
{
	struct json function;
	const struct json *named = value;

	if (json_get(value, "function", &function) && function.type == JSON_OBJECT)
		named = &function;
	if (!json_get(named, "arguments", &block->arguments))
		json_get(named, "input", &block->arguments);
	if (get_content(value, "id", arena, &block->call_id) < 0 ||
		get_content(named, "name", arena, &block->call_name) < 0)
		return BOBBIN_ENOMEM;
	return 0;
}

static int read_block(const struct json *value, bool calls, struct arena *arena, struct block *ret_block)
{
	const char *text;

	*ret_block = (struct block){.type = BLOCK_UNKNOWN, .value = *value};
	if (value->type == JSON_STRING) {
		ret_block->type = BLOCK_TEXT;
		ret_block->text = *value;
		return 0;
	}
	ret_block->type = kind_of(value, &text);
	if (ret_block->type == BLOCK_CALL && !calls)
		ret_block->type = BLOCK_UNKNOWN;
	if (get_content(value, "type", arena, &ret_block->kind) < 0)
		return BOBBIN_ENOMEM;
	if (text && (!json_get(value, text, &ret_block->text) || ret_block->text.type != JSON_STRING)) {
		ret_block->text = (struct json){NULL, 0, JSON_ABSENT};
		if (ret_block->type == BLOCK_TEXT)
			ret_block->type = BLOCK_UNKNOWN;
	}
	if (ret_block->type == BLOCK_CALL || ret_block->type == BLOCK_SERVER_CALL)
		return read_call(value, arena, ret_block);
	if (ret_block->type == BLOCK_SERVER_RESULT)
		return get_content(value, "tool_use_id", arena, &ret_block->call_id);
	return 0;
}

enum { STAGE_STRING, STAGE_CONTENT, STAGE_CALLS, STAGE_END };

void block_iter_init(struct block_iter *iter, const struct message *message, struct arena *arena)
{
	*iter = (struct block_iter){.message = message, .arena = arena};
	json_iter_init(&iter->content, &message->content);
	json_iter_init(&iter->calls, &message->tool_calls);
	iter->stage = message->content.type == JSON_STRING ? STAGE_STRING : STAGE_CONTENT;
	if (message->content.type != JSON_STRING && message->content.type != JSON_ARRAY)
		iter->stage = STAGE_CALLS;
}

static bool iter_fail(struct block_iter *iter)
{
	iter->stage = STAGE_END;
	iter->error = BOBBIN_ENOMEM;
	return false;
}

/* Only an assistant asks for tools: in other roles such a block is one that nobody understands. */
static bool may_call(const struct message *message)
{
	return message->role == ROLE_ASSISTANT;
}

static bool next_content(struct block_iter *iter, const struct json *value, struct block *ret_block)
{
	return read_block(value, may_call(iter->message), iter->arena, ret_block) == 0 || iter_fail(iter);
}

static bool next_call(struct block_iter *iter, const struct json *value, struct block *ret_block)
{
	*ret_block = (struct block){.type = BLOCK_UNKNOWN, .value = *value};
	if (value->type != JSON_OBJECT || !may_call(iter->message))
		return true;
	ret_block->type = BLOCK_CALL;
	if (get_content(value, "type", iter->arena, &ret_block->kind) < 0 ||
		read_call(value, iter->arena, ret_block) < 0)
		return iter_fail(iter);
	return true;
}

bool block_iter_next(struct block_iter *iter, struct block *ret_block)
{
	struct json value;

	if (iter->stage == STAGE_STRING) {
		iter->stage = STAGE_CALLS;
		if (iter->message->content.len > 2)
			return next_content(iter, &iter->message->content, ret_block);
	}
	if (iter->stage == STAGE_CONTENT) {
		if (json_iter_next(&iter->content, NULL, &value))
			return next_content(iter, &value, ret_block);
		iter->stage = STAGE_CALLS;
	}
	if (iter->stage == STAGE_CALLS) {
		if (json_iter_next(&iter->calls, NULL, &value))
			return next_call(iter, &value, ret_block);
		iter->stage = STAGE_END;
	}
	return false;
}

size_t message_call_count(const struct message *message)
{
	struct json_iter iter;
	struct json value;
	const char *text;
	size_t calls = 0;

	if (!may_call(message))
		return 0;
	if (message->content.type == JSON_ARRAY) {
		json_iter_init(&iter, &message->content);
		while (json_iter_next(&iter, NULL, &value))
			calls += value.type == JSON_OBJECT && kind_of(&value, &text) == BLOCK_CALL;
	}
	json_iter_init(&iter, &message->tool_calls);
	while (json_iter_next(&iter, NULL, &value))
		calls += value.type == JSON_OBJECT;
	return calls;
}

void message_add_text(const struct message *message, struct arena *arena, struct buffer *out)
{
	struct block_iter iter;
	struct block block;
	bool first = true;

	block_iter_init(&iter, message, arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_TEXT)
			continue;
		if (!first)
			buffer_add_char(out, '\n');
		json_string_decode(&block.text, JSON_SURROGATES_REPLACE, out);
		first = false;
	}
	if (iter.error && !out->error)
		out->error = iter.error;
}
