/* SPDX-License-Identifier: MIT */
/* The doctor of foreign transcripts: what their reader warns of, and what a provider would refuse of each conversation's
 * line. It writes nothing. */
#include "session/handles.h"

#include "base/json.h"
#include "transcript/import.h"
#include "transcript/import_tools.h"

/* Follows the rules of the head (store/log.h, invariant 5) over records that
 * are not stored. */
struct replay {
	struct arena arena;
	struct id_table ids, callers;
	size_t *parents;
	size_t head; /* SIZE_MAX: none */
};

static bool in_open_batch(const struct replay *replay, const enum message_role *roles, size_t caller)
{
	size_t at = replay->head;
	while (at != SIZE_MAX && roles[at] == ROLE_TOOL)
		at = replay->parents[at];
	return at == caller;
}

static int note_calls(struct replay *replay, const struct message *message, size_t index)
{
	struct block_iter iter;
	struct block block;
	int rc = 0;
	block_iter_init(&iter, message, &replay->arena);
	while (!rc && block_iter_next(&iter, &block))
		if (block.type == BLOCK_CALL && block.call_id.len)
			rc = id_table_put(&replay->callers, block.call_id, index);
	return rc ? rc : iter.error;
}

static int replay_one(struct replay *replay, const struct slice *record, size_t index,
	enum message_role *roles, struct bobbin_error *error)
{
	struct json value;
	struct message message;
	size_t caller, parent = replay->head;
	int rc = json_parse(record->data, record->len, &value, error);
	if (!rc)
		rc = message_parse(&value, &replay->arena, &message, error);
	if (rc < 0)
		return rc;
	if (message.parent_kind == PARENT_ROOT)
		parent = SIZE_MAX;
	else if (message.parent_kind == PARENT_ID && !id_table_get(&replay->ids, message.parent, &parent))
		parent = replay->head;
	else if (message.parent_kind == PARENT_HEAD && message.role == ROLE_TOOL &&
		 id_table_get(&replay->callers, message.tool_call_id, &caller) &&
		 !in_open_batch(replay, roles, caller))
		parent = caller;
	roles[index] = message.role;
	replay->parents[index] = parent;
	if (parent == replay->head || message.branch)
		replay->head = index;
	if (message.id.len)
		rc = id_table_put(&replay->ids, message.id, index);
	if (!rc)
		rc = note_calls(replay, &message, index);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* The records of the line, first to head, in the replay's arena. */
static int line_records(struct replay *replay, const struct import_conversation *conversation,
	struct slice **ret_records, size_t *ret_count, struct bobbin_error *error)
{
	size_t total = conversation->record_count, count = 0;
	enum message_role *roles = arena_alloc(&replay->arena, (total + 1) * sizeof(*roles));
	struct slice *records = arena_alloc(&replay->arena, (total + 1) * sizeof(*records));
	replay->parents = arena_alloc(&replay->arena, (total + 1) * sizeof(*replay->parents));
	replay->head = SIZE_MAX;
	if (!roles || !records || !replay->parents)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; i < total; i++) {
		int rc = replay_one(replay, &conversation->records[i], i, roles, error);
		if (rc < 0)
			return rc;
	}
	for (size_t at = replay->head; at != SIZE_MAX; at = replay->parents[at])
		count++;
	size_t place = count;
	for (size_t at = replay->head; at != SIZE_MAX; at = replay->parents[at])
		records[--place] = conversation->records[at];
	*ret_records = records;
	*ret_count = count;
	return 0;
}

static int examine_conversation(
	const struct import_conversation *conversation, bobbin_faults *faults, struct bobbin_error *error)
{
	struct replay replay = {0};
	struct array_path *path = NULL;
	struct slice *records = NULL;
	size_t count = 0;
	int rc = line_records(&replay, conversation, &records, &count, error);
	if (!rc)
		rc = array_path_new(records, count, NULL, &path, error);
	if (!rc)
		rc = doctor_line(array_path_path(path), faults, error);
	array_path_free(path);
	id_table_release(&replay.ids);
	id_table_release(&replay.callers);
	arena_release(&replay.arena);
	return rc;
}

static int examine_import(const struct import *import, bobbin_faults *faults, struct bobbin_error *error)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < import->warning_count; i++)
		if (!import->warnings[i].remark &&
			(rc = faults_add(faults, "transcript", "", import->warnings[i].line,
				 import->warnings[i].offset, import->warnings[i].message, "")) < 0)
			error_set(error, rc, "out of memory");
	for (size_t i = 0; !rc && i < import->conversation_count; i++)
		rc = examine_conversation(&import->conversations[i], faults, error);
	return rc;
}

int bobbin_doctor_data(const char *format, const char *data, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error)
{
	struct import import;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	int rc = import_read(format, data ? data : "", data ? len : 0, &import, error);
	if (!rc)
		rc = examine_import(&import, faults, error);
	import_release(&import);
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}
