/* SPDX-License-Identifier: MIT */
/* One session: opening, appending, moving the head, forking. */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/json.h"
#include "memory/memory.h"
#include "session/facts.h"
#include "session/segments.h"
#include "session/usage.h"
#include "session/workspace.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Opening ---- */

static int create_log(bobbin_store *store, struct slice id, const struct bobbin_session_options *options,
	struct log **ret_log, struct bobbin_error *error)
{
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	if (options->segment_bytes > UINT32_MAX)
		return error_set(error, BOBBIN_EINVAL, "segment_bytes is at most %u", UINT32_MAX);
	create.id = id;
	create.owner = slice_of(options->owner ? options->owner : "");
	create.title = slice_of(options->title ? options->title : "");
	create.segment_bytes = (uint32_t)options->segment_bytes;
	create.redact_on_write = options->redact_on_write;
	return log_create(store->store, &create, ret_log, error);
}

static int open_existing(bobbin_store *store, struct slice id, const struct bobbin_session_options *options,
	struct log **ret_log, struct bobbin_error *error)
{
	bool read_only = options->read_only || store->read_only;
	int rc = log_open(store->store, id, read_only ? LOG_READ : LOG_WRITE, ret_log, error);
	if (rc < 0 || !options->redact_on_write || log_info(*ret_log)->redact_on_write)
		return rc;
	log_close(*ret_log);
	return error_set(error, BOBBIN_EINVAL,
		"session %.*s was made without redact_on_write and may hold secrets already: start a new one",
		(int)id.len, id.data);
}

static int open_log(bobbin_store *store, struct slice id, const struct bobbin_session_options *options,
	struct log **ret_log, bool *ret_created, struct bobbin_error *error)
{
	bool read_only = options->read_only || store->read_only;
	if (id.len && !id_is_session(id))
		return error_set(error, BOBBIN_EINVAL,
			"that is not a session id: 1 to 64 letters, digits, _ and "
			"-, not beginning with -, "
			"and not 'blobs'");
	if (id.len && options->must_not_exist && store_has(store->store, id))
		return error_set(error, BOBBIN_EEXIST, "session %.*s exists", (int)id.len, id.data);
	bool create = !options->must_exist && !read_only && (!id.len || !store_has(store->store, id));
	if (!create)
		return open_existing(store, id, options, ret_log, error);
	int rc = create_log(store, id, options, ret_log, error);
	*ret_created = rc == 0;
	if (rc == BOBBIN_EEXIST && !options->must_not_exist) /* another process was faster */
		rc = open_existing(store, id, options, ret_log, error);
	return rc;
}

int bobbin_session_open(bobbin_store *store, const char *id, const struct bobbin_session_options *options,
	bobbin_session **ret_session, struct bobbin_error *error)
{
	struct bobbin_session_options all = BOBBIN_SESSION_OPTIONS_INIT;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	bobbin_session *session = mem_alloc_zero(sizeof(*session));
	if (!session)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = open_log(store, slice_of(id ? id : ""), &all, &session->log, &session->created, error);
	if (rc < 0) {
		mem_free(session);
		return rc;
	}
	session->process = store->process;
	session->store = store;
	*ret_session = session;
	return 0;
}

/* A session that was made for a record that was refused is taken away again, unless anybody has put something
 * in it. Failure is ignored: an empty session does no harm. */
static void close_log(bobbin_session *session)
{
	char id[BOBBIN_SESSION_ID_BYTES] = "";
	struct log_record header;
	bool unused = session->created && session->refused && log_record(session->log, 0, &header) == 0;
	memcpy(id, log_info(session->log)->id, strnlen(log_info(session->log)->id, sizeof(id) - 1));
	log_close(session->log);
	if (unused)
		store_delete_unused(
			session->store->store, slice_of(id), header.offset + header.length + 1, NULL);
}

void bobbin_session_close(bobbin_session *session)
{
	if (!session)
		return;
	/* In a child the meta file is the parent's to write, and the database's connection must not be touched. */
	if (session->process == platform_process()) {
		close_log(session);
		memory_close(session->memory);
	}
	facts_found_free(session->facts);
	segments_free(session->segments);
	known_free(session->files);
	mem_free(session);
}

int bobbin_session_refresh(bobbin_session *session, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);
	return rc < 0 ? rc : log_refresh(session->log, error);
}

static bool line_messages(const struct log *log, uint64_t *ret_messages)
{
	struct log_node node;
	uint32_t head = log_head(log);
	bool known = head == NODE_NONE || log_node(log, head, &node) == 0;
	*ret_messages = known && head != NODE_NONE ? (uint64_t)node.depth + 1 : 0;
	return known;
}

static uint64_t line_tokens(struct log *log)
{
	struct log_path *path;
	uint64_t tokens;
	if (log_path_new(log, log_head(log), NULL, &path, NULL) < 0)
		return 0;
	tokens = log_path_path(path)->tokens;
	log_path_free(path);
	return tokens;
}

const struct bobbin_session_info *bobbin_session_info(bobbin_session *session)
{
	struct arena arena = ARENA_INIT;
	struct store_entry entry;
	struct bobbin_session_info *info = &session->info;
	const struct log_info *inner = log_info(session->log);
	memset(info, 0, sizeof(*info));
	memcpy(info->id, inner->id, strnlen(inner->id, sizeof(info->id) - 1));
	memcpy(info->parent_id, inner->parent_id, strnlen(inner->parent_id, sizeof(info->parent_id) - 1));
	memcpy(info->repaired_from, inner->repaired_from, strnlen(inner->repaired_from, sizeof(info->repaired_from) - 1));
	info->owner = inner->owner;
	info->title = inner->title;
	info->forked_at = inner->forked_at;
	info->messages_known = line_messages(session->log, &info->messages);
	info->tokens = line_tokens(session->log);
	info->faults = log_fault_total(session->log);
	if (store_entry(session->store->store, slice_of(inner->id), &arena, &entry, NULL) == 0) {
		info->bytes = entry.bytes;
		info->updated_ns = entry.updated_ns;
	}
	arena_release(&arena);
	return info;
}

const char *bobbin_session_head(bobbin_session *session)
{
	uint32_t head = log_head(session->log);
	session->head[0] = 0;
	if (head != NODE_NONE && log_node_id(session->log, head, session->head, NULL) < 0)
		return NULL;
	return session->head;
}

int bobbin_short_id(bobbin_session *session, const char *id, char ret_id[BOBBIN_MESSAGE_ID_BYTES],
	struct bobbin_error *error)
{
	uint32_t node;
	int rc = SESSION_CHECK(session, error);
	if (!rc)
		rc = log_find(session->log, slice_of(id), &node, error);
	if (rc < 0)
		return rc;
	if (strlen(id) > LOG_SHORT_ID_BYTES)
		return log_short_id(session->log, node, ret_id, error);
	memcpy(ret_id, id, strlen(id) + 1);
	return 0;
}

int newest_typed(const struct log *log, uint32_t head, uint32_t *ret_node, struct bobbin_error *error)
{
	struct log_node node;
	uint32_t at = head;
	for (; at != NODE_NONE; at = node.parent) {
		int rc = log_look_up_node(log, at, &node, error);
		if (rc < 0)
			return rc;
		if (node.role == ROLE_USER && node.origin == ORIGIN_PERSON)
			break;
	}
	*ret_node = at;
	return 0;
}

/* ---- Appending ---- */

void ack_fill(const struct log *log, const struct log_ack *from, struct bobbin_ack *ret_ack)
{
	memset(ret_ack, 0, sizeof(*ret_ack));
	ret_ack->seq = from->seq;
	memcpy(ret_ack->id, from->id, sizeof(ret_ack->id));
	ret_ack->repeated = from->repeated;
	ret_ack->side_branch = from->node != NODE_NONE && !log_on_line(log, from->node, log_head(log));
}

/* Messages, and what they cost, may be appended by a host: other control records are bobbin's own. */
static int check_is_message(const char *record, size_t len, struct bobbin_error *error)
{
	struct json value, role, type;
	int rc = json_parse(record, len, &value, error);
	if (rc < 0)
		return rc;
	if (value.type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "a message is a JSON object");
	if (!json_get(&value, "role", &role) && json_get(&value, "type", &type) && json_string_is(&type, "usage"))
		return usage_check(&value, error);
	if (!json_get(&value, "role", &role))
		return error_set(error, BOBBIN_EINPUT, "the record has no \"role\": user, assistant or tool");
	return 0;
}

static int append_message(bobbin_session *session, const char *record, size_t len, const char *expect_head,
	struct bobbin_ack *ret_ack, struct bobbin_error *error)
{
	struct log_append_options options = {0};
	const struct slice bytes = {record, len};
	struct log_ack ack;
	int rc = record ? check_is_message(record, len, error)
			: error_set(error, BOBBIN_EINVAL, "append needs a record");
	if (rc < 0)
		return rc;
	options.check_head = expect_head != NULL;
	options.expected_head = expect_head && *expect_head ? slice_of(expect_head) : (struct slice){NULL, 0};
	rc = log_append(session->log, &bytes, 1, &options, &ack, error);
	if (rc == BOBBIN_ECONFLICT) {
		const char *head = bobbin_session_head(session);
		error_set(error, rc, "the head is %s, not %s; nothing was written",
			!head	? "another message"
			: *head ? head
				: "before the first message",
			*expect_head ? expect_head : "before the first message");
	}
	if (!rc && ret_ack)
		ack_fill(session->log, &ack, ret_ack);
	return rc;
}

int bobbin_session_append(bobbin_session *session, const char *record, size_t len, const char *expect_head,
	struct bobbin_ack *ret_ack, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	rc = append_message(session, record, len, expect_head, ret_ack, error);
	session->refused |= rc < 0;
	return rc;
}

int bobbin_session_append_text(bobbin_session *session, const char *role, const char *text, size_t len,
	struct bobbin_ack *ret_ack, struct bobbin_error *error)
{
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!role || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0) || (!text && len))
		return error_set(
			error, BOBBIN_EINVAL, "append_text needs a text and the role user or assistant");
	json_writer_init(&writer, &record);
	json_begin_object(&writer);
	json_member_text(&writer, "role", role);
	json_member_string(&writer, "content", (struct slice){text, len});
	json_end_object(&writer);
	rc = buffer_error(&record);
	if (rc < 0)
		error_set(error, rc, "the message is too large");
	else
		rc = bobbin_session_append(session, record.data, record.len, NULL, ret_ack, error);
	buffer_release(&record);
	return rc;
}

/* ---- The head ---- */

int bobbin_session_rewind(
	bobbin_session *session, const char *to, struct bobbin_ack *ret_ack, struct bobbin_error *error)
{
	struct log_rewind result;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!to)
		return error_set(error, BOBBIN_EINVAL, "rewind needs a message id, or \"\"");
	rc = log_refresh(session->log, error);
	if (!rc)
		workspace_follow(session, NULL); /* what others did belongs to where the line is now */
	if (!rc)
		rc = log_rewind(session->log, *to ? slice_of(to) : (struct slice){NULL, 0}, &result, error);
	if (!rc && ret_ack) {
		memset(ret_ack, 0, sizeof(*ret_ack));
		ret_ack->seq = result.seq;
		const char *head = bobbin_session_head(session);
		snprintf(ret_ack->id, sizeof(ret_ack->id), "%s", head ? head : to);
	}
	if (!rc)
		workspace_follow(session, NULL); /* else the next look does it */
	return rc;
}

/* {"role":"user","parent":…,"branch":true,"content":…} below the parent of
 * `node`. */
static int edited_record(struct log *log, const struct log_node *node, struct slice text,
	struct buffer *record, struct bobbin_error *error)
{
	char parent[PATH_ID_BYTES];
	struct json_writer writer;
	if (node->parent != NODE_NONE) {
		int rc = log_node_id(log, node->parent, parent, error);
		if (rc < 0)
			return rc;
	}
	json_writer_init(&writer, record);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "user");
	if (node->parent != NODE_NONE) {
		json_member_text(&writer, "parent", parent);
	} else {
		json_key(&writer, "parent");
		json_add_null(&writer);
	}
	json_member_bool(&writer, "branch", true);
	json_member_string(&writer, "content", text);
	json_end_object(&writer);
	int rc = buffer_error(record);
	return rc < 0 ? error_set(error, rc, "the message is too large") : 0;
}

int bobbin_session_edit(bobbin_session *session, const char *id, const char *text, size_t len,
	struct bobbin_ack *ret_ack, struct bobbin_error *error)
{
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct log_node node;
	uint32_t number;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!id || (!text && len))
		return error_set(error, BOBBIN_EINVAL, "edit needs a message id and a text");
	if (!len)
		return error_set(
			error, BOBBIN_EINVAL, "a message is not empty; to go back before %s, rewind", id);
	rc = log_refresh(session->log, error);
	if (!rc)
		rc = log_find(session->log, slice_of(id), &number, error);
	if (!rc)
		rc = log_look_up_node(session->log, number, &node, error);
	if (!rc && node.role != ROLE_USER)
		rc = error_set(
			error, BOBBIN_EINVAL, "%s is not a user message; only those can be edited", id);
	if (!rc)
		workspace_follow(session, NULL);
	if (!rc)
		rc = edited_record(session->log, &node, (struct slice){text, len}, &record, error);
	if (!rc)
		rc = bobbin_session_append(session, record.data, record.len, NULL, ret_ack, error);
	buffer_release(&record);
	if (!rc)
		workspace_follow(session, NULL);
	return rc;
}

/* ---- Forking ---- */

/* A plain number counts messages; anything else is an id. */
static int fork_place(const char *at, struct log_fork_options *options, struct bobbin_error *error)
{
	size_t digits = strspn(at, "0123456789");
	if (!*at)
		return error_set(error, BOBBIN_EINVAL, "fork needs a number of messages or a message id");
	if (at[digits]) {
		options->at = slice_of(at);
		return 0;
	}
	if (digits > 18)
		return error_set(error, BOBBIN_EINVAL, "%.40s messages are more than there can be", at);
	options->by_count = true;
	options->count = strtoull(at, NULL, 10);
	return 0;
}

static void forked_fill(
	const struct log_fork *fork, const struct log *child, struct bobbin_forked *ret_forked)
{
	const char *id = log_info(child)->id;
	memset(ret_forked, 0, sizeof(*ret_forked));
	memcpy(ret_forked->id, id, strnlen(id, sizeof(ret_forked->id) - 1));
	memcpy(ret_forked->through, fork->through, sizeof(ret_forked->through));
	ret_forked->kept = fork->kept;
	ret_forked->gaps = fork->gap;
}

int bobbin_session_fork(bobbin_session *session, const char *at, const struct bobbin_fork_options *options,
	struct bobbin_forked *ret_forked, struct bobbin_error *error)
{
	struct bobbin_fork_options all = BOBBIN_FORK_OPTIONS_INIT;
	struct log_fork_options inner = {.create = LOG_CREATE_OPTIONS_INIT};
	struct log_fork fork;
	struct log *child;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!at)
		return error_set(error, BOBBIN_EINVAL, "fork needs a place");
	if (session->store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	workspace_follow(session, NULL);
	inner.create.id = all.id ? slice_of(all.id) : (struct slice){NULL, 0};
	inner.create.owner = slice_of(all.owner ? all.owner : log_info(session->log)->owner);
	inner.create.title = slice_of(all.title ? all.title : "");
	rc = fork_place(at, &inner, error);
	if (!rc)
		rc = log_fork(session->log, &inner, &fork, &child, error);
	if (rc < 0)
		return rc;
	if (ret_forked)
		forked_fill(&fork, child, ret_forked);
	uint32_t cut = log_head(child);
	if (log_base(child) && strcmp(log_info(child)->base_id, log_info(child)->parent_id) != 0) {
		bobbin_session heir = {.process = session->process, .store = session->store, .log = child};
		rc = workspace_bequeath(session, cut, &heir, error);
		if (rc < 0)
			error_prefix(error, "the fork is there, its files are not");
	}
	log_close(child);
	return rc;
}
