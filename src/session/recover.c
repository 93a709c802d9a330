/* SPDX-License-Identifier: MIT */
/*
 * Recovery: calls at the head that have no result are answered with a marked
 * one, so that a strict provider accepts the line again. The log is only
 * appended to; a second run finds nothing to do. If the real result comes after
 * all, it stands in the marker's place in every view (transcript/path.h,
 * invariant 4).
 */
#include "session/handles.h"

#include "base/json.h"

/* The last assistant message of the line if nothing but results follows it,
 * else NODE_NONE. */
static uint32_t open_batch(const struct log *log)
{
	struct log_node node;
	uint32_t at = log_head(log);
	while (at != NODE_NONE && log_node(log, at, &node) == 0) {
		if (node.role == ROLE_ASSISTANT)
			return node.calls ? at : NODE_NONE;
		if (node.role != ROLE_TOOL)
			return NODE_NONE;
		at = node.parent;
	}
	return NODE_NONE;
}

/* The ids that results between `batch` and the head answer, late ones included.
 */
static int answered_ids(struct log *log, uint32_t batch, struct arena *arena, struct slice **ret_ids,
	size_t *ret_count, struct bobbin_error *error)
{
	uint32_t *nodes, late_count, *late;
	struct log_node node;
	struct message message;
	size_t count = 0;
	uint32_t depth_head = 0, head = log_head(log);
	int rc = log_late_results(log, batch, arena, &late, &late_count);
	if (rc < 0 || (rc = log_node(log, head, &node)) < 0)
		return error_set(error, rc, "the open calls cannot be read");
	depth_head = node.depth;
	rc = log_node(log, batch, &node);
	size_t room = (size_t)(depth_head - node.depth) + late_count;
	struct slice *ids = arena_alloc(arena, (room + 1) * sizeof(*ids));
	nodes = arena_alloc(arena, (room + 1) * sizeof(*nodes));
	if (rc < 0 || !ids || !nodes)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (uint32_t depth = node.depth + 1; depth <= depth_head; depth++)
		nodes[count++] = log_ancestor(log, head, depth);
	for (uint32_t i = 0; i < late_count; i++)
		nodes[count++] = late[i];
	for (size_t i = 0; i < count; i++) {
		rc = log_message(log, nodes[i], arena, &message, error);
		if (rc < 0)
			return rc;
		ids[i] = message.tool_call_id;
	}
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

/* Takes one answer for `id` out of the list; false if there is none left.
 * Repeated ids need as many answers.
 */
static bool take_answer(struct slice *ids, size_t count, struct slice id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i].data && slice_equal(ids[i], id)) {
			ids[i].data = NULL;
			return true;
		}
	return false;
}

static void marked_record(struct slice call_id, struct slice name, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "tool");
	json_member_string(&writer, "tool_call_id", call_id);
	if (name.len)
		json_member_string(&writer, "name", name);
	json_member_text(&writer, "content", MARKED_TEXT);
	json_member_bool(&writer, "is_error", true);
	json_member_text(&writer, "marker", "interrupted");
	json_end_object(&writer);
}

/* Records for all calls of the batch without an answer, in the arena. */
static int missing_records(struct log *log, uint32_t batch, struct arena *arena, struct slice **ret_records,
	size_t *ret_count, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	struct slice *answered = NULL;
	size_t answered_count = 0, count = 0;
	int rc = answered_ids(log, batch, arena, &answered, &answered_count, error);
	if (!rc)
		rc = log_message(log, batch, arena, &message, error);
	if (rc < 0)
		return rc;
	struct slice *records = arena_alloc(arena, (message_call_count(&message) + 1) * sizeof(*records));
	block_iter_init(&iter, &message, arena);
	while (records && block_iter_next(&iter, &block)) {
		struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
		if (block.type != BLOCK_CALL || take_answer(answered, answered_count, block.call_id))
			continue;
		marked_record(block.call_id, block.call_name, &record);
		char *copy = buffer_error(&record) ? NULL : arena_copy(arena, record.data, record.len);
		records[count] = (struct slice){copy, record.len};
		buffer_release(&record);
		if (!copy)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
		count++;
	}
	if (!records || iter.error)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_records = records;
	*ret_count = count;
	return 0;
}

int recover_dangling(struct log *log, uint64_t *ret_marked, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct log_append_options options = {.check_head = true};
	struct slice *records = NULL;
	char head[PATH_ID_BYTES];
	size_t count = 0;
	uint32_t batch = open_batch(log);
	int rc = batch == NODE_NONE ? 0 : missing_records(log, batch, &arena, &records, &count, error);
	if (!rc && count)
		rc = log_node_id(log, log_head(log), head, error);
	if (!rc && count) {
		options.expected_head = slice_of(head);
		rc = log_append(log, records, count, &options, NULL, error);
	}
	arena_release(&arena);
	if (!rc)
		*ret_marked = count;
	return rc;
}

int bobbin_session_recover(
	bobbin_session *session, struct bobbin_recovery *ret_recovery, struct bobbin_error *error)
{
	struct log_node node;
	uint64_t marked;
	int rc = SESSION_CHECK(session, error);
	if (!rc)
		rc = log_refresh(session->log, error);
	if (!rc)
		rc = recover_dangling(session->log, &marked, error);
	if (rc < 0 || !ret_recovery)
		return rc;
	uint32_t head = log_head(session->log);
	ret_recovery->messages =
		head != NODE_NONE && log_node(session->log, head, &node) == 0 ? node.depth + 1 : 0;
	ret_recovery->marked = marked;
	ret_recovery->faults = log_fault_total(session->log);
	return 0;
}
