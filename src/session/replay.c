/* SPDX-License-Identifier: MIT */
/* The rules of the head over records that are not stored; see replay.h. */
#include "session/replay.h"

static bool in_open_batch(const struct replay *replay, size_t caller)
{
	return replay->head != REPLAY_NONE && replay->tops[replay->head] == caller;
}

static int note_calls(struct replay *replay, size_t index)
{
	struct block_iter iter;
	struct block block;
	int rc = 0;
	block_iter_init(&iter, &replay->messages[index], &replay->arena);
	while (!rc && block_iter_next(&iter, &block))
		if (block.type == BLOCK_CALL && block.call_id.len)
			rc = id_table_put(&replay->callers, block.call_id, index);
	return rc ? rc : iter.error;
}

static size_t parent_of(const struct replay *replay, const struct message *message)
{
	size_t parent = replay->head, caller;
	if (message->parent_kind == PARENT_ROOT)
		return REPLAY_NONE;
	if (message->parent_kind == PARENT_ID)
		return id_table_get(&replay->ids, message->parent, &parent) ? parent : replay->head;
	if (message->role == ROLE_TOOL && id_table_get(&replay->callers, message->tool_call_id, &caller) &&
		!in_open_batch(replay, caller))
		return caller;
	return parent;
}

static int replay_one(struct replay *replay, const struct slice *record, size_t index, struct bobbin_error *error)
{
	struct json value;
	struct message *message = &replay->messages[index];
	int rc = json_parse(record->data, record->len, &value, error);
	if (!rc)
		rc = message_parse(&value, &replay->arena, message, error);
	if (rc < 0)
		return rc;
	size_t parent = parent_of(replay, message);
	replay->parents[index] = parent;
	replay->tops[index] = message->role != ROLE_TOOL ? index : parent == REPLAY_NONE ? REPLAY_NONE : replay->tops[parent];
	replay->moves[index] = parent == replay->head || message->branch;
	if (replay->moves[index])
		replay->head = index;
	if (message->id.len)
		rc = id_table_put(&replay->ids, message->id, index);
	if (!rc)
		rc = note_calls(replay, index);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

int replay_conversation(
	struct replay *replay, const struct import_conversation *conversation, struct bobbin_error *error)
{
	size_t total = conversation->record_count;
	*replay = (struct replay){.head = REPLAY_NONE};
	replay->messages = arena_alloc(&replay->arena, (total + 1) * sizeof(*replay->messages));
	replay->parents = arena_alloc(&replay->arena, (total + 1) * sizeof(*replay->parents));
	replay->tops = arena_alloc(&replay->arena, (total + 1) * sizeof(*replay->tops));
	replay->moves = arena_alloc(&replay->arena, (total + 1) * sizeof(*replay->moves));
	if (!replay->messages || !replay->parents || !replay->tops || !replay->moves)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (; replay->count < total; replay->count++) {
		int rc = replay_one(replay, &conversation->records[replay->count], replay->count, error);
		if (rc < 0)
			return rc;
	}
	if (conversation->head < total) /* a rewind is no message */
		replay->head = conversation->head;
	return 0;
}

int replay_name(const struct replay *replay, size_t index, struct buffer *out)
{
	if (replay->messages[index].id.len)
		buffer_add_slice(out, replay->messages[index].id);
	else
		buffer_addf(out, "m%zu", index + 1);
	return buffer_error(out);
}

void replay_release(struct replay *replay)
{
	id_table_release(&replay->ids);
	id_table_release(&replay->callers);
	arena_release(&replay->arena);
}
