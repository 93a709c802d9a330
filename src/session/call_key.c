/* SPDX-License-Identifier: MIT */
/*
 * The journal's key of a call: SESSION/m<seq of the turn's message>/TOOL#N, the Nth call of that tool in the turn. It
 * follows from the log alone, so whoever takes the session up again finds what was begun; a reply that is made again has
 * the keys of the one before, another session, fork or turn has its own. What a repair made of a session was called under
 * the key of that one.
 */
#include "session/handles.h"

#include "base/json.h"

/* The calls of a tool in one message, before block number `until`. */
static int count_calls(struct log *log, uint32_t node, struct slice name, size_t until, struct arena *arena,
	uint64_t *count, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	size_t number = 0;
	int rc = log_message(log, node, arena, &message, error);

	if (rc < 0)
		return rc;
	block_iter_init(&iter, &message, arena);
	while (block_iter_next(&iter, &block) && number < until)
		if (block.type == BLOCK_CALL) {
			*count += slice_equal(block.call_name, name);
			number++;
		}
	return iter.error ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

int call_key_add(struct log *log, const char *id, uint32_t batch, size_t call, struct slice name, struct arena *arena,
	struct buffer *out, struct bobbin_error *error)
{
	uint64_t count = 1, turn = 0;
	struct log_node node;
	int rc = count_calls(log, batch, name, call, arena, &count, error);

	if (!rc)
		rc = log_look_up_node(log, batch, &node, error);
	while (!rc && node.parent != NODE_NONE) {
		uint32_t at = node.parent;
		rc = log_look_up_node(log, at, &node, error);
		if (!rc && node.role == ROLE_USER && node.origin == ORIGIN_PERSON) {
			turn = node.seq;
			break;
		}
		if (!rc && node.role == ROLE_ASSISTANT && node.calls)
			rc = count_calls(log, at, name, SIZE_MAX, arena, &count, error);
	}
	if (rc < 0)
		return rc;
	buffer_addf(out, "%s/m%llu/", id, (unsigned long long)turn);
	buffer_add_slice(out, name);
	buffer_addf(out, "#%llu", (unsigned long long)count);
	return buffer_error(out) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

/* The newest message on the line that has a call of this id, and which of its calls that is. */
static int find_call(struct log *log, const char *call_id, struct arena *arena, uint32_t *ret_node, size_t *ret_call,
	struct slice *ret_name, struct bobbin_error *error)
{
	struct log_node node;
	for (uint32_t at = log_head(log); at != NODE_NONE; at = node.parent) {
		struct message message;
		struct block_iter iter;
		struct block block;
		size_t number = 0;
		int rc = log_look_up_node(log, at, &node, error);
		if (rc < 0 || (node.calls && (rc = log_message(log, at, arena, &message, error)) < 0))
			return rc;
		if (!node.calls)
			continue;
		block_iter_init(&iter, &message, arena);
		while (block_iter_next(&iter, &block)) {
			if (block.type != BLOCK_CALL)
				continue;
			if (slice_is(block.call_id, call_id)) {
				*ret_node = at;
				*ret_call = number;
				*ret_name = block.call_name;
				return 0;
			}
			number++;
		}
		if (iter.error)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	return error_set(error, BOBBIN_ENOTFOUND, "there is no call %.60s on the line", call_id);
}

int bobbin_call_key(bobbin_session *session, const char *call_id, char **ret_key, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct buffer key = BUFFER_INIT(4096);
	struct slice name = {NULL, 0};
	uint32_t node = NODE_NONE;
	size_t call = 0;
	int rc = SESSION_CHECK(session, error);

	if (rc < 0)
		return rc;
	if (!call_id)
		return error_set(error, BOBBIN_EINVAL, "which call?");
	rc = find_call(session->log, call_id, &arena, &node, &call, &name, error);
	if (!rc)
		rc = call_key_add(session->log, log_info(session->log)->id, node, call, name, &arena, &key, error);
	char *text = rc ? NULL : buffer_take(&key, NULL);
	if (!rc && !text)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	buffer_release(&key);
	arena_release(&arena);
	if (!rc)
		*ret_key = text;
	return rc;
}
