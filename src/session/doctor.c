/* SPDX-License-Identifier: MIT */
/*
 * The doctor: what is wrong with a log or a transcript, what it means, and what
 * a provider would refuse of the line as it stands. (What is sent is mended in
 * the view; the doctor says what had to be mended.) It writes nothing.
 */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "transcript/import.h"
#include "transcript/import_tools.h"
#include <stdio.h>

/* ---- What a provider would refuse ---- */

/* The walk along a line: the open batch, and the ids used so far. */
struct walk {
	const struct path *path;
	bobbin_faults *faults;
	struct arena arena;  /* of the batch and the current message */
	struct id_table ids; /* call ids seen on the line */
	struct arena ids_arena;
	struct slice *open; /* ids of the batch that have no result yet; data NULL: answered */
	size_t open_count, open_cap;
	char batch[PATH_ID_BYTES]; /* the message that made the calls */
	bool seen_user;
};

static int add(struct walk *walk, const char *kind, const char *id, const char *message, const char *advice)
{
	if (walk->faults->count >= LIMIT_FAULTS_REPORTED)
		return 0;
	return faults_add(walk->faults, kind, id, 0, 0, message, advice);
}

static int close_batch(struct walk *walk)
{
	size_t missing = 0;
	for (size_t i = 0; i < walk->open_count; i++)
		missing += walk->open[i].data != NULL;
	walk->open_count = 0;
	if (!missing || walk->faults->count >= LIMIT_FAULTS_REPORTED)
		return 0;
	return faults_addf(walk->faults, "dangling_call", walk->batch, 0, 0,
		"Requests get a marked result in its place; resuming "
		"appends one at the head.",
		"%zu call%s of this message %s no result; a provider "
		"would refuse the line as it stands.",
		missing, missing == 1 ? "" : "s", missing == 1 ? "has" : "have");
}

static int take_call(struct walk *walk, const struct block *block, const char *id)
{
	size_t before;
	void *open = walk->open;
	if (mem_grow(&open, &walk->open_cap, walk->open_count + 1, sizeof(*walk->open)) < 0)
		return BOBBIN_ENOMEM;
	walk->open = open;
	const char *copy = arena_copy(
		&walk->ids_arena, block->call_id.data ? block->call_id.data : "", block->call_id.len);
	if (!copy)
		return BOBBIN_ENOMEM;
	const struct slice call_id = {copy, block->call_id.len};
	walk->open[walk->open_count++] = call_id;
	if (id_table_get(&walk->ids, call_id, &before))
		return add(walk, "repeated_call_id", id,
			"A call id of this message was used before on this line.", "Requests rename it.");
	return id_table_put(&walk->ids, call_id, 1);
}

static int take_result(struct walk *walk, const struct message *message, const char *id)
{
	for (size_t i = 0; i < walk->open_count; i++)
		if (walk->open[i].data && slice_equal(walk->open[i], message->tool_call_id)) {
			walk->open[i].data = NULL;
			return 0;
		}
	return add(walk, "orphan_result", id, "This result has no call before it in its batch.",
		"Requests show it as a marked text.");
}

static int take_blocks(struct walk *walk, const struct message *message, const char *id)
{
	struct block_iter iter;
	struct block block;
	bool any = false;
	int rc = 0;
	block_iter_init(&iter, message, &walk->arena);
	while (!rc && block_iter_next(&iter, &block)) {
		any = true;
		if (block.type == BLOCK_CALL)
			rc = take_call(walk, &block, id);
	}
	if (!rc && !any && message->role != ROLE_TOOL)
		rc = add(walk, "empty_message", id, "This message holds no text, call or image.",
			"Requests leave it out.");
	return rc ? rc : iter.error;
}

/* Lone surrogates and NULs are kept in the log and may not be sent. */
static int check_text(struct walk *walk, const struct message *message, const char *id)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct slice raw = {message->record.text, message->record.len};
	int rc = 0;
	if (memmem(raw.data, raw.len, "\\u", 2)) {
		json_string_decode(&message->content, JSON_SURROGATES_KEEP, &text);
		if (message->content.type == JSON_STRING &&
			(utf8_valid_prefix(text.data, text.len) != text.len ||
				memchr(text.data ? text.data : "", 0, text.len)))
			rc = add(walk, "unsendable_text", id, "Its text has a lone surrogate or a NUL.",
				"Requests replace them by U+FFFD; the log keeps them.");
	}
	buffer_release(&text);
	return rc;
}

static int take_message(struct walk *walk, size_t position, struct bobbin_error *error)
{
	struct message message;
	char id[PATH_ID_BYTES];
	int rc = path_id(walk->path, position, id, error);
	if (!rc)
		rc = path_message(walk->path, position, &walk->arena, &message, error);
	if (rc < 0)
		return rc;
	if (message.role != ROLE_TOOL)
		rc = close_batch(walk);
	if (!rc && message.role == ROLE_ASSISTANT)
		memcpy(walk->batch, id, sizeof(id));
	if (!rc && message.role == ROLE_TOOL)
		rc = take_result(walk, &message, id);
	if (!rc)
		rc = take_blocks(walk, &message, id);
	if (!rc)
		rc = check_text(walk, &message, id);
	if (!rc && !walk->seen_user && message.role != ROLE_USER)
		rc = add(walk, "no_user_first", id, "The line does not begin with a user message.",
			"Requests put [conversation continues] before it.");
	walk->seen_user = true;
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

int doctor_line(const struct path *path, bobbin_faults *faults, struct bobbin_error *error)
{
	struct walk walk = {.path = path, .faults = faults};
	int rc = 0;
	for (size_t position = 0; !rc && position < path->count; position++) {
		rc = take_message(&walk, position, error);
		arena_reset(&walk.arena);
	}
	if (!rc && (rc = close_batch(&walk)) < 0)
		error_set(error, rc, "out of memory");
	arena_release(&walk.arena);
	arena_release(&walk.ids_arena);
	id_table_release(&walk.ids);
	mem_free(walk.open);
	return rc;
}

/* ---- Sessions ---- */

static const char *fault_name(enum fault_kind kind)
{
	static const char *const names[] = {
		[FAULT_TORN] = "torn",
		[FAULT_NULS] = "nuls",
		[FAULT_UTF8] = "utf8",
		[FAULT_JSON] = "json",
		[FAULT_GLUED] = "glued",
		[FAULT_SHAPE] = "shape",
		[FAULT_CRC] = "crc",
		[FAULT_DUPLICATE_KEY] = "duplicate_key",
		[FAULT_DUPLICATE_ID] = "duplicate_id",
		[FAULT_PARENT] = "parent",
		[FAULT_REWIND] = "rewind",
		[FAULT_SYSTEM] = "system",
		[FAULT_TOO_LONG] = "too_long",
		[FAULT_HEADER] = "header",
		[FAULT_SEQUENCE] = "sequence",
		[FAULT_MISSING] = "missing",
	};
	size_t index = (size_t)kind;
	return index < sizeof(names) / sizeof(names[0]) && names[index] ? names[index] : "other";
}

static const char *fault_advice(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_TORN:
	case FAULT_NULS:
	case FAULT_UTF8:
	case FAULT_JSON:
	case FAULT_SHAPE:
	case FAULT_TOO_LONG:
		return "The bytes stay where they are and everything after them is read; a "
		       "message may be "
		       "missing here.";
	case FAULT_CRC:
		return "It was changed after it was written, by hand or by a failing disk; "
		       "compare it with a "
		       "backup.";
	case FAULT_MISSING:
		return "If it was a fork, the line that named its parent is lost: take the first line, or "
		       "the "
		       "meta.json beside the log, from a backup.";
	default:
		return "";
	}
}

static int add_log_faults(struct log *log, bobbin_faults *faults)
{
	size_t count;
	const struct log_fault *found = log_faults(log, &count);
	char where[LIMIT_SESSION_ID_BYTES + 16];
	snprintf(where, sizeof(where), "%s.jsonl", log_info(log)->id);
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++)
		rc = faults_addf(faults, fault_name(found[i].kind), where, found[i].line, found[i].offset,
			fault_advice(found[i].kind), "%s (%llu bytes)", log_fault_text(found[i].kind),
			(unsigned long long)found[i].length);
	uint64_t more = log_fault_total(log) - count;
	if (!rc && more)
		rc = faults_addf(faults, "other", where, 0, 0, "", "and %llu more", (unsigned long long)more);
	return rc;
}

int bobbin_session_faults(bobbin_session *session, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults || add_log_faults(session->log, faults) < 0) {
		bobbin_faults_free(faults);
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	*ret_faults = faults;
	return 0;
}

static int examine_log(struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	struct log_path *path;
	int rc = add_log_faults(log, faults);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = log_path_new(log, log_head(log), NULL, &path, error);
	if (rc < 0)
		return rc;
	rc = doctor_line(log_path_path(path), faults, error);
	log_path_free(path);
	return rc;
}

/* A session that cannot be opened is a finding, not a failure of the doctor. */
static int unopenable(bobbin_faults *faults, const char *id, const struct bobbin_error *why)
{
	char where[LIMIT_SESSION_ID_BYTES + 16];
	snprintf(where, sizeof(where), "%s.jsonl", id);
	return faults_add(faults, why->code == BOBBIN_EREFUSED ? "refused" : "unreadable", where, why->line,
		why->offset, why->message,
		"No byte of it is touched. Restore it, or what it was "
		"forked from, from a backup.");
}

int bobbin_doctor_session(
	bobbin_store *store, const char *id, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct log *log;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = log_open(store->store, slice_of(id), LOG_READ, &log, &why);
	if (rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREFUSED || rc == BOBBIN_EIO) {
		rc = unopenable(faults, id, &why);
		if (rc < 0)
			error_set(error, rc, "out of memory");
	} else if (rc < 0) {
		error_set_at(error, rc, why.line, why.offset, "%s", why.message);
	} else {
		rc = examine_log(log, faults, error);
		log_close(log);
	}
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}

/* ---- Foreign transcripts ---- */

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
