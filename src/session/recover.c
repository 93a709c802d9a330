/* SPDX-License-Identifier: MIT */
/*
 * Recovery: calls at the head that have no result are answered, so that a strict provider accepts the line again. A call
 * that went through the journal of actions, and ended there, is answered with what was recorded; any other with a marked
 * result, which says if an effect was begun and its outcome is not known. The log is only
 * appended to; a second run finds nothing to do. If the real result comes after
 * all, it stands in the marker's place in every view (transcript/path.h,
 * invariant 4).
 */
#include "session/handles.h"

#include "actions/actions.h"
#include "base/json.h"
#include "base/utf8.h"
#include <stdio.h>

/* The last assistant message of the line if nothing but results follows it,
 * else NODE_NONE. */
static int open_batch(const struct log *log, uint32_t *ret_batch, struct bobbin_error *error)
{
	struct log_node node = {.role = ROLE_TOOL};
	uint32_t at = log_head(log);
	int rc = at == NODE_NONE ? 0 : log_look_up_node(log, at, &node, error);
	while (!rc && at != NODE_NONE && node.role == ROLE_TOOL) {
		at = node.parent;
		rc = at == NODE_NONE ? 0 : log_look_up_node(log, at, &node, error);
	}
	if (rc)
		return rc;
	*ret_batch = at != NODE_NONE && node.role == ROLE_ASSISTANT && node.calls ? at : NODE_NONE;
	return 0;
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
	if ((rc = log_look_up_node(log, batch, &node, error)) < 0)
		return rc;
	size_t room = (size_t)(depth_head - node.depth) + late_count;
	struct slice *ids = arena_alloc(arena, (room + 1) * sizeof(*ids));
	nodes = arena_alloc(arena, (room + 1) * sizeof(*nodes));
	if (!ids || !nodes)
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

/* What one call is answered with. */
struct answer {
	struct slice call_id, name;
	const char *text;
	struct slice recorded; /* instead of `text` */
	bool is_error, marked;
};

static void answer_record(const struct answer *answer, struct buffer *out)
{
	struct buffer clean = BUFFER_INIT(LIMIT_LINE_BYTES / 2);
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "tool");
	json_member_string(&writer, "tool_call_id", answer->call_id);
	if (answer->name.len)
		json_member_string(&writer, "name", answer->name);
	if (answer->text)
		json_member_text(&writer, "content", answer->text);
	else {
		utf8_add_clean(&clean, answer->recorded.data, answer->recorded.len);
		json_member_string(&writer, "content", buffer_slice(&clean));
	}
	if (answer->is_error)
		json_member_bool(&writer, "is_error", true);
	if (answer->marked)
		json_member_text(&writer, "marker", "interrupted");
	json_end_object(&writer);
	if (buffer_error(&clean))
		out->error = buffer_error(&clean);
	buffer_release(&clean);
}

/* All calls of a batch without an answer. */
struct missing {
	struct store *store;
	struct log *log;
	struct arena *arena;
	uint32_t batch;
	struct slice *records;
	size_t count, marked;
};

/* What was recorded under the key that the call has in session `id`. BOBBIN_ENOTFOUND. */
static int find_recorded(struct missing *missing, const char *id, size_t call, const struct answer *answer,
	struct action_record *ret_record, struct bobbin_error *error)
{
	struct buffer key = BUFFER_INIT(4096);
	int rc = call_key_add(missing->log, id, missing->batch, call, answer->name, missing->arena, &key, error);
	if (!rc)
		rc = action_find(missing->store, buffer_slice(&key), missing->arena, ret_record, error);
	buffer_release(&key);
	return rc == BOBBIN_EINVAL ? BOBBIN_ENOTFOUND : rc;
}

/* The arguments as they were run: the text of a JSON string, or a JSON value. */
static struct slice arguments_of(const struct block *block, struct arena *arena)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct slice plain = {block->arguments.text, block->arguments.len};
	if (!plain.data || block->arguments.type != JSON_STRING || json_string_plain(&block->arguments, &plain))
		return plain;
	json_string_decode(&block->arguments, JSON_SURROGATES_KEEP, &text);
	char *copy = buffer_error(&text) ? NULL : arena_copy(arena, text.data ? text.data : "", text.len);
	plain = (struct slice){copy, copy ? text.len : 0};
	buffer_release(&text);
	return plain;
}

#define REPAIRS_BACK_MAX 8

/* The session that `id` was made of by a repair. BOBBIN_ENOTFOUND: of none, or it is gone or damaged; other errors: nobody
 * can tell. */
static int repaired_from(struct store *store, char id[LIMIT_SESSION_ID_BYTES + 1], struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_READ, &log, &why);
	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREFUSED)
		return BOBBIN_ENOTFOUND;
	if (rc < 0)
		return error_set(error, rc, "%s", why.message);
	const char *from = log_info(log)->repaired_from;
	bool found = *from && strlen(from) <= LIMIT_SESSION_ID_BYTES;
	if (found)
		memcpy(id, from, strlen(from) + 1);
	log_close(log);
	return found ? 0 : BOBBIN_ENOTFOUND;
}

/* In a repaired session, under the ids of those it was made of: the call may have been made there. Whoever went on in the
 * damaged one may have used the number for another call, which its arguments show (where they are not masked). */
static int find_of_repaired(struct missing *missing, const struct block *block, size_t call,
	const struct answer *answer, struct action_record *ret_record, struct bobbin_error *error)
{
	const struct log_info *info = log_info(missing->log);
	char id[LIMIT_SESSION_ID_BYTES + 1] = "";
	int there = *info->repaired_from ? 0 : BOBBIN_ENOTFOUND;
	snprintf(id, sizeof(id), "%s", info->repaired_from);
	for (int back = 0; there == 0 && back < REPAIRS_BACK_MAX; back++) {
		int rc = find_recorded(missing, id, call, answer, ret_record, error);
		if (rc != BOBBIN_ENOTFOUND &&
			(rc < 0 || info->redact_on_write ||
				action_has_arguments(ret_record, arguments_of(block, missing->arena))))
			return rc;
		there = repaired_from(missing->store, id, error);
	}
	return there ? there : BOBBIN_ENOTFOUND;
}

static void take_record(const struct action_record *record, struct answer *answer)
{
	if (record->state == ACTION_DONE || record->state == ACTION_FAILED) {
		answer->text = NULL;
		answer->recorded = record->result;
		answer->is_error = record->state == ACTION_FAILED;
		answer->marked = false;
	} else if (record->state != ACTION_UNDONE) {
		answer->text = UNKNOWN_TEXT;
	}
}

/* What the journal knows of it: nothing, if there is none. */
static int ask_journal(struct missing *missing, const struct block *block, size_t call, struct answer *answer,
	struct bobbin_error *error)
{
	struct action_record record;
	int rc = find_recorded(missing, log_info(missing->log)->id, call, answer, &record, error);
	if (rc == BOBBIN_ENOTFOUND)
		rc = find_of_repaired(missing, block, call, answer, &record, error);
	if (rc == BOBBIN_ENOTFOUND)
		return 0;
	if (rc < 0)
		return rc;
	take_record(&record, answer);
	return 0;
}

static int add_answer(struct missing *missing, const struct block *block, size_t call, struct bobbin_error *error)
{
	struct answer answer = {block->call_id, block->call_name, MARKED_TEXT, {NULL, 0}, true, true};
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = ask_journal(missing, block, call, &answer, error);
	if (rc < 0)
		return rc;
	answer_record(&answer, &record);
	char *copy = buffer_error(&record) ? NULL : arena_copy(missing->arena, record.data, record.len);
	missing->records[missing->count++] = (struct slice){copy, record.len};
	missing->marked += answer.marked;
	buffer_release(&record);
	return copy ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

/* Whether a line is lost between the message that began the turn and this one: then calls before it may be lost, too, by which
 * calls of the turn are counted. */
static int number_is_doubtful(struct log *log, uint32_t batch, bool *ret_is, struct bobbin_error *error)
{
	uint32_t typed;
	int rc = newest_typed(log, batch, &typed, error);
	if (rc < 0)
		return rc;
	*ret_is = typed == NODE_NONE || log_gap(log, typed, batch);
	return log_failure(log, error);
}

/* The journal is asked under the id of whoever made the call, and believed only for these very arguments. */
static int ask_for_lost(struct missing *missing, const struct block *block, size_t call, struct answer *answer,
	struct bobbin_error *error)
{
	const struct log_info *info = log_info(missing->log);
	struct action_record record;
	struct log_node node;
	struct log *maker = missing->log;
	bool doubtful = true;
	int rc = log_look_up_node(missing->log, missing->batch, &node, error);
	for (uint32_t level = 0; !rc && level < node.level && log_base(maker); level++)
		maker = log_base(maker);
	if (!rc)
		rc = find_recorded(missing, log_info(maker)->id, call, answer, &record, error);
	if (rc == 0 && !info->redact_on_write && !action_has_arguments(&record, arguments_of(block, missing->arena)))
		rc = BOBBIN_ENOTFOUND;
	if (rc == BOBBIN_ENOTFOUND)
		rc = find_of_repaired(missing, block, call, answer, &record, error);
	if (rc == BOBBIN_ENOTFOUND)
		return 0;
	if (!rc)
		rc = number_is_doubtful(missing->log, missing->batch, &doubtful, error);
	if (rc < 0)
		return rc;
	if (doubtful)
		answer->text = UNKNOWN_TEXT;
	else
		take_record(&record, answer);
	return 0;
}

int recover_lost(void *data, struct log *log, uint32_t batch, size_t call, struct buffer *out, bool *ret_marked,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct missing missing = {.store = data, .log = log, .arena = &arena, .batch = batch};
	struct message message;
	struct block_iter iter;
	struct block block;
	size_t number = 0;
	int rc = log_message(log, batch, &arena, &message, error);
	bool found = false;
	if (!rc)
		block_iter_init(&iter, &message, &arena);
	while (!rc && !found && block_iter_next(&iter, &block))
		found = block.type == BLOCK_CALL && number++ == call;
	if (!rc && !found)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc) {
		struct answer answer = {block.call_id, block.call_name, MARKED_TEXT, {NULL, 0}, true, true};
		rc = ask_for_lost(&missing, &block, call, &answer, error);
		if (!rc)
			answer_record(&answer, out);
		*ret_marked = answer.marked;
	}
	arena_release(&arena);
	return rc;
}

static int missing_records(struct missing *missing, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	struct slice *answered = NULL;
	size_t answered_count = 0, call = 0;
	int rc = answered_ids(missing->log, missing->batch, missing->arena, &answered, &answered_count, error);
	if (!rc)
		rc = log_message(missing->log, missing->batch, missing->arena, &message, error);
	if (rc < 0)
		return rc;
	missing->records =
		arena_alloc(missing->arena, (message_call_count(&message) + 1) * sizeof(*missing->records));
	block_iter_init(&iter, &message, missing->arena);
	while (!rc && missing->records && block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_CALL)
			continue;
		if (!take_answer(answered, answered_count, block.call_id))
			rc = add_answer(missing, &block, call, error);
		call++;
	}
	if (!rc && (!missing->records || iter.error))
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	return rc;
}

int recover_dangling(struct store *store, struct log *log, uint64_t *ret_marked, uint64_t *ret_replayed,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct log_append_options options = {.check_head = true};
	struct missing missing = {.store = store, .log = log, .arena = &arena, .batch = NODE_NONE};
	char head[PATH_ID_BYTES];
	int rc = open_batch(log, &missing.batch, error);
	if (!rc && missing.batch != NODE_NONE)
		rc = missing_records(&missing, error);
	if (!rc && missing.count)
		rc = log_node_id(log, log_head(log), head, error);
	if (!rc && missing.count) {
		options.expected_head = slice_of(head);
		rc = log_append(log, missing.records, missing.count, &options, NULL, error);
	}
	arena_release(&arena);
	if (rc < 0)
		return rc;
	*ret_marked = missing.marked;
	if (ret_replayed)
		*ret_replayed = missing.count - missing.marked;
	return 0;
}

int bobbin_session_recover(
	bobbin_session *session, struct bobbin_recovery *ret_recovery, struct bobbin_error *error)
{
	struct log_node node;
	uint64_t marked, replayed;
	int rc = SESSION_CHECK(session, error);
	if (!rc)
		rc = log_refresh(session->log, error);
	if (!rc)
		rc = recover_dangling(session->store->store, session->log, &marked, &replayed, error);
	if (rc < 0 || !ret_recovery)
		return rc;
	uint32_t head = log_head(session->log);
	ret_recovery->messages =
		head != NODE_NONE && log_node(session->log, head, &node) == 0 ? node.depth + 1 : 0;
	ret_recovery->marked = marked;
	ret_recovery->replayed = replayed;
	ret_recovery->faults = log_fault_total(session->log);
	return 0;
}
