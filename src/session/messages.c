/* SPDX-License-Identifier: MIT */
/* Reading a session's messages one after the other, and what a person reads of
 * one. */
#include "session/handles.h"

#include "base/alloc.h"
#include "transcript/mask.h"

struct bobbin_messages {
	bobbin_session *session;
	struct arena nodes_arena, arena; /* for all of it, and for the current message */
	struct buffer text;
	uint32_t *nodes;
	uint32_t *places; /* their positions on the line; NULL when all branches are read */
	uint32_t count, next;
	uint32_t head; /* of the line that positions refer to */
	bool mask;
	struct bobbin_message message;
	char id[PATH_ID_BYTES], parent[PATH_ID_BYTES];
};

static void add_call(const struct block *block, struct arena *arena, struct buffer *out)
{
	struct slice arguments = {block->arguments.text, block->arguments.len};
	if (block->arguments.type == JSON_STRING)
		arguments = json_string_content(&block->arguments, arena);
	buffer_add_text(out, "→ ");
	buffer_add_slice(out, block->call_name);
	buffer_add_char(out, ' ');
	buffer_add_slice(out, arguments);
}

static void add_block(const struct block *block, struct arena *arena, struct buffer *out)
{
	switch (block->type) {
	case BLOCK_TEXT:
		json_string_decode(&block->text, JSON_SURROGATES_REPLACE, out);
		break;
	case BLOCK_SEALED:
		buffer_add_text(out, "[thinking] ");
		if (block->text.type == JSON_STRING)
			json_string_decode(&block->text, JSON_SURROGATES_REPLACE, out);
		break;
	case BLOCK_CALL:
	case BLOCK_SERVER_CALL:
		add_call(block, arena, out);
		break;
	default:
		buffer_add_char(out, '[');
		buffer_add_slice(out, block->kind);
		buffer_add_char(out, ']');
	}
}

int message_add_readable(const struct message *message, struct arena *arena, struct buffer *out)
{
	struct block_iter iter;
	struct block block;
	bool first = true;
	block_iter_init(&iter, message, arena);
	while (block_iter_next(&iter, &block)) {
		if (!first)
			buffer_add_char(out, '\n');
		add_block(&block, arena, out);
		first = false;
	}
	return iter.error ? iter.error : buffer_error(out);
}

int bobbin_mask(const char *text, size_t len, char **ret_text, size_t *ret_len, struct bobbin_error *error)
{
	struct buffer out;
	if (!text && len)
		return error_set(error, BOBBIN_EINVAL, "mask needs a text");
	buffer_init(&out, SIZE_MAX - 1);
	int rc = mask_text((struct slice){text ? text : "", len}, &out, NULL);
	char *masked = rc ? NULL : buffer_take(&out, ret_len);
	buffer_release(&out);
	if (!masked)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_text = masked;
	return 0;
}

/* ---- Which messages ---- */

static int all_nodes(struct log *log, bobbin_messages *messages)
{
	uint32_t total = log_node_count(log);
	messages->nodes = arena_alloc(&messages->nodes_arena, ((size_t)total + 1) * sizeof(uint32_t));
	if (!messages->nodes)
		return BOBBIN_ENOMEM;
	for (uint32_t node = 0; node < total; node++)
		if (log_has_node(log, node))
			messages->nodes[messages->count++] = node;
	return 0;
}

/* The line as a request shows it: what came late stands for its marker, or right behind its call. */
static int line_nodes(struct log *log, bobbin_messages *messages, struct bobbin_error *error)
{
	struct log_path *path;
	int rc = log_path_new(log, messages->head, NULL, &path, error);
	if (rc < 0)
		return rc;
	size_t count = log_path_path(path)->count, all = count + log_path_late_count(path);
	messages->nodes = arena_alloc(&messages->nodes_arena, (all + 1) * sizeof(uint32_t));
	messages->places = arena_alloc(&messages->nodes_arena, (all + 1) * sizeof(uint32_t));
	if (!messages->nodes || !messages->places)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t at = 0; !rc && at < count; at++) {
		uint32_t node = log_path_node(path, at, true);
		for (uint32_t late = 0; node != NODE_NONE && messages->count < all;
			node = log_path_late(path, at, late++)) {
			messages->nodes[messages->count] = node;
			messages->places[messages->count++] = (uint32_t)at;
		}
	}
	log_path_free(path);
	return rc ? rc : log_failure(log, error);
}

static int find_end(struct log *log, const char *id, uint32_t *ret_node, struct bobbin_error *error)
{
	int rc = log_find(log, slice_of(id), ret_node, error);
	if (rc == BOBBIN_ENOTFOUND)
		return error_set(error, rc, "there is no message %s in session %s", id, log_info(log)->id);
	return rc;
}

/* The first of what is read that is the message, or is shown in its place; messages->count if there is none. */
static int find_start(struct log *log, const bobbin_messages *messages, uint32_t from, uint32_t *ret_start,
	struct bobbin_error *error)
{
	uint32_t place = UINT32_MAX, start = 0;
	int rc = messages->places ? log_position(log, from, messages->head, &place, error) : 0;
	if (rc < 0)
		return rc;
	while (start < messages->count && messages->nodes[start] != from &&
		!(messages->places && messages->places[start] == place))
		start++;
	*ret_start = start;
	return 0;
}

/* Drops what is before `from` and, when all branches are read, after `to`. */
static int narrow(struct log *log, const struct bobbin_messages_options *options, bobbin_messages *messages,
	struct bobbin_error *error)
{
	uint32_t from = NODE_NONE, to = NODE_NONE, start = 0;
	int rc = options->from ? find_end(log, options->from, &from, error) : 0;
	if (!rc && options->to && options->all_branches)
		rc = find_end(log, options->to, &to, error);
	if (!rc && from != NODE_NONE)
		rc = find_start(log, messages, from, &start, error);
	if (rc < 0)
		return rc;
	if (from != NODE_NONE && start == messages->count)
		return error_set(error, BOBBIN_EINVAL,
			log_on_line(log, from, log_head(log)) ? "message %s comes after the end of the range"
							      : "message %s is not on the line that is shown",
			options->from);
	messages->next = start;
	for (uint32_t i = start; to != NODE_NONE && i < messages->count; i++)
		if (messages->nodes[i] == to)
			messages->count = i + 1;
	return 0;
}

static int choose_nodes(bobbin_session *session, const struct bobbin_messages_options *options,
	bobbin_messages *messages, struct bobbin_error *error)
{
	struct log *log = session->log;
	int rc = 0;
	messages->head = log_head(log);
	if (options->to && !options->all_branches)
		rc = find_end(log, options->to, &messages->head, error);
	if (rc < 0)
		return rc;
	if (!options->all_branches)
		rc = line_nodes(log, messages, error);
	else if ((rc = all_nodes(log, messages)) < 0)
		error_set(error, rc, "out of memory");
	if (rc < 0)
		return rc;
	return narrow(log, options, messages, error);
}

int bobbin_messages_open(bobbin_session *session, const struct bobbin_messages_options *options,
	bobbin_messages **ret_messages, struct bobbin_error *error)
{
	struct bobbin_messages_options all = BOBBIN_MESSAGES_OPTIONS_INIT;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	bobbin_messages *messages = mem_alloc_zero(sizeof(*messages));
	if (!messages)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	messages->session = session;
	messages->mask = all.mask;
	buffer_init(&messages->text, LIMIT_LINE_BYTES);
	rc = choose_nodes(session, &all, messages, error);
	if (rc < 0)
		bobbin_messages_close(messages);
	else
		*ret_messages = messages;
	return rc;
}

void bobbin_messages_close(bobbin_messages *messages)
{
	if (!messages)
		return;
	arena_release(&messages->nodes_arena);
	arena_release(&messages->arena);
	buffer_release(&messages->text);
	mem_free(messages);
}

/* ---- One after the other ---- */

static uint64_t estimated_tokens(const struct message *message, struct arena *arena)
{
	struct message_size size;
	return message_measure(message, arena, &size) < 0 ? 0 : message_size_tokens(&size);
}

static int fill_ids(
	bobbin_messages *messages, uint32_t number, const struct log_node *node, struct bobbin_error *error)
{
	struct log *log = messages->session->log;
	int rc = log_node_id(log, number, messages->id, error);
	messages->parent[0] = 0;
	if (!rc && node->parent != NODE_NONE)
		rc = log_node_id(log, node->parent, messages->parent, error);
	return rc;
}

static const char *origin_text(const struct message *message)
{
	switch (message->origin) {
	case ORIGIN_PERSON:
		return "";
	case ORIGIN_INJECTED:
		return "injected";
	case ORIGIN_SUMMARY:
		return "summary";
	default:
		return "other";
	}
}

/* Replaces secrets in the record, and the message by what is then in it. */
static int mask_message(bobbin_messages *messages, struct message *message, struct bobbin_error *error)
{
	struct buffer masked = BUFFER_INIT(LIMIT_REQUEST_BYTES), unsealed = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json record;
	size_t secrets = 0;
	uint64_t seq = message->seq;
	const char *copy = NULL;
	int rc = mask_record(&message->record, &masked, &secrets);
	if (!rc && secrets) {
		rc = json_parse(masked.data, masked.len, &record, error);
		if (!rc)
			json_splice(&unsealed, &record, "crc", (struct slice){NULL, 0});
		copy = buffer_error(&unsealed) ? NULL
					      : arena_copy(&messages->arena, unsealed.data, unsealed.len);
		if (!rc && !copy)
			rc = BOBBIN_ENOMEM;
		if (!rc && (rc = json_parse(copy, unsealed.len, &record, error)) == 0)
			rc = message_parse(&record, &messages->arena, message, error);
		message->seq = seq;
	}
	buffer_release(&masked);
	buffer_release(&unsealed);
	return rc == BOBBIN_ENOMEM || rc == BOBBIN_ELIMIT ? error_set(error, rc, "out of memory") : rc;
}

static int fill_message(bobbin_messages *messages, uint32_t number, struct bobbin_error *error)
{
	struct log *log = messages->session->log;
	struct bobbin_message *out = &messages->message;
	struct log_node node;
	struct message message;
	arena_reset(&messages->arena);
	buffer_clear(&messages->text);
	int rc = log_look_up_node(log, number, &node, error);
	if (!rc)
		rc = fill_ids(messages, number, &node, error);
	if (!rc)
		rc = log_message(log, number, &messages->arena, &message, error);
	if (!rc && messages->mask)
		rc = mask_message(messages, &message, error);
	if (rc < 0)
		return rc;
	uint32_t place = messages->places ? messages->places[messages->next] : 0;
	int on_line = messages->places ? 1 : log_position(log, number, messages->head, &place, error);
	if (on_line < 0)
		return on_line;
	const char *record = arena_copy(&messages->arena, message.record.text, message.record.len);
	if (!record || message_add_readable(&message, &messages->arena, &messages->text) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*out = (struct bobbin_message){messages->id, messages->parent, message_role_text(message.role),
		origin_text(&message), node.seq, 0, estimated_tokens(&message, &messages->arena),
		on_line ? place : UINT64_MAX, node.level > 0,
		message.marker != MARKER_NONE, record, message.record.len,
		messages->text.data ? messages->text.data : "", messages->text.len};
	return 1;
}

int bobbin_messages_next(
	bobbin_messages *messages, const struct bobbin_message **ret_message, struct bobbin_error *error)
{
	if (!messages)
		return error_set(error, BOBBIN_EINVAL, "the handle is NULL");
	int rc = SESSION_CHECK(messages->session, error);
	if (rc < 0 || messages->next >= messages->count)
		return rc;
	rc = fill_message(messages, messages->nodes[messages->next], error);
	if (rc > 0) {
		messages->next++;
		*ret_message = &messages->message;
	}
	return rc;
}
