/* SPDX-License-Identifier: MIT */
/* Storing what a reader made of a foreign transcript: a session a conversation,
 * all of them or none. */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/utf8.h"
#include "session/import_repair.h"
#include "transcript/import_tools.h"
#include <stdio.h>

struct bobbin_import {
	struct import read;
	struct bobbin_imported *sessions;
	size_t count; /* sessions that are stored */
	bobbin_faults *warnings;
};

const char *bobbin_import_format(const bobbin_import *import)
{
	return import->read.format;
}

size_t bobbin_import_count(const bobbin_import *import)
{
	return import->count;
}

const struct bobbin_imported *bobbin_import_get(const bobbin_import *import, size_t index)
{
	return index < import->count ? &import->sessions[index] : NULL;
}

const bobbin_faults *bobbin_import_warnings(const bobbin_import *import)
{
	return import->warnings;
}

const char *const *bobbin_import_formats(void)
{
	return import_formats();
}

const char *bobbin_import_format_about(const char *format)
{
	return import_format_about(format);
}

void bobbin_import_free(bobbin_import *import)
{
	if (!import)
		return;
	bobbin_faults_free(import->warnings);
	mem_free(import->sessions);
	import_release(&import->read);
	mem_free(import);
}

/* A title on one line: control characters become blanks. The file's name,
 * without its folders, when there is none. */
static int title_of(const struct import_conversation *conversation, const char *name, struct arena *arena,
	struct slice *ret_title)
{
	struct slice title = conversation->title;
	if (!title.len && name) {
		const char *slash = strrchr(name, '/');
		title = slice_of(slash ? slash + 1 : name);
	}
	struct buffer clean = BUFFER_INIT(LIMIT_LINE_BYTES);
	utf8_add_clean(&clean, title.data ? title.data : "",
		title.len < LIMIT_TITLE_BYTES ? title.len
					      : utf8_truncate(title.data, title.len, LIMIT_TITLE_BYTES));
	for (size_t i = 0; i < clean.len; i++)
		if ((unsigned char)clean.data[i] < 0x20 || clean.data[i] == 0x7f)
			clean.data[i] = ' ';
	size_t len = utf8_truncate(clean.data ? clean.data : "", clean.len, LIMIT_TITLE_BYTES);
	char *copy = buffer_error(&clean) ? NULL : arena_copy(arena, clean.data ? clean.data : "", len);
	buffer_release(&clean);
	*ret_title = (struct slice){copy, len};
	return copy ? 0 : BOBBIN_ENOMEM;
}

/* A session of the id that was asked for, of the same owner and without any record: nothing is lost when the new one
 * takes its place. */
static void make_room(bobbin_store *store, const struct log_create_options *create)
{
	struct log *log;
	if (!create->id.len || log_open(store->store, create->id, LOG_WRITE, &log, NULL) < 0)
		return;
	const struct log_info *info = log_info(log);
	bool empty = !log_node_count(log) && log_record_count(log) <= 1 && !log_fault_total(log) && !*info->parent_id &&
		     slice_equal(slice_of(info->owner), create->owner) &&
		     info->redact_on_write == create->redact_on_write;
	struct log_record header;
	uint64_t bytes = log_record(log, 0, &header) == 0 ? header.offset + header.length + 1 : 0;
	log_close(log);
	if (empty)
		store_delete_unused(store->store, create->id, bytes, NULL);
}

/* The session to fill, which nobody sees before it is whole. */
static int open_target(bobbin_store *store, const struct log_create_options *create, struct log **ret_log,
	struct bobbin_error *error)
{
	int rc = log_create_hidden(store->store, create, ret_log, error);
	if (rc != BOBBIN_EEXIST)
		return rc;
	make_room(store, create);
	return log_create_hidden(store->store, create, ret_log, error);
}

/* Appends all records, if none is there; then the head stands where the transcript's stood (a
 * rewind in it is no message). */
static int append_records(
	struct log *log, const struct import_conversation *conversation, struct bobbin_error *error)
{
	size_t count = conversation->record_count;
	char id[PATH_ID_BYTES];
	if (!count)
		return 0;
	struct log_ack *acks = mem_alloc(count * sizeof(*acks));
	if (!acks)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	const struct log_append_options first = {.check_head = true};
	int rc = log_append(log, conversation->records, count, &first, acks, error);
	uint32_t head = conversation->head < count ? acks[conversation->head].node : NODE_NONE;
	if (!rc && head != log_head(log)) {
		if (head != NODE_NONE)
			rc = log_node_id(log, head, id, error);
		if (!rc)
			rc = log_rewind(log, head == NODE_NONE ? (struct slice){NULL, 0} : slice_of(id), NULL, error);
	}
	mem_free(acks);
	return rc;
}

static int store_conversation(bobbin_store *store, const struct import_conversation *conversation,
	const struct bobbin_import_options *options, struct bobbin_imported *ret_imported,
	struct arena *arena, struct bobbin_error *error)
{
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct log_node node;
	struct log *log;
	create.id = options->id ? slice_of(options->id) : (struct slice){NULL, 0};
	create.owner = slice_of(options->owner ? options->owner : "");
	create.redact_on_write = options->redact_on_write;
	int rc = title_of(conversation, options->name, arena, &create.title);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = open_target(store, &create, &log, error);
	if (rc < 0)
		return rc;
	memset(ret_imported, 0, sizeof(*ret_imported));
	const char *id = log_info(log)->id;
	memcpy(ret_imported->id, id, strnlen(id, sizeof(ret_imported->id) - 1));
	rc = append_records(log, conversation, error);
	ret_imported->foreign_id =
		arena_copy(arena, conversation->foreign_id.data ? conversation->foreign_id.data : "",
			conversation->foreign_id.len);
	ret_imported->title = create.title.data;
	ret_imported->messages = conversation->messages;
	ret_imported->calls = conversation->calls;
	ret_imported->results = conversation->results;
	if (!rc && log_head(log) != NODE_NONE && log_node(log, log_head(log), &node) == 0)
		ret_imported->messages_on_line = (uint64_t)node.depth + 1;
	if (!rc && !ret_imported->foreign_id)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = log_appear(log, error);
	log_close(log);
	return rc;
}

static int keep_warnings(bobbin_import *import, const char *name)
{
	import->warnings = faults_new();
	int rc = import->warnings ? 0 : BOBBIN_ENOMEM;
	for (size_t i = 0; !rc && i < import->read.warning_count; i++)
		rc = faults_add(import->warnings, "import", name, import->read.warnings[i].line,
			import->read.warnings[i].offset, import->read.warnings[i].message, "");
	uint64_t more = import->read.warnings_total - import->read.warning_count;
	if (!rc && more)
		rc = faults_addf(import->warnings, "import", name, 0, 0, "", "and %llu more remarks",
			(unsigned long long)more);
	return rc;
}

/* What was done, said with the name that the message has in what was read; `number`: of its conversation if there are several. */
static int tell_repairs(struct import *read, const struct import_repairs *repairs, size_t number)
{
	static const char *const of[REPAIRS] = {
		"call", "result", "result", "result", "call id", "sealed block", "message", "message", "text", "call", "call", "call", "line"};
	char conversation[48] = "";
	int rc = 0;
	if (number)
		snprintf(conversation, sizeof(conversation), "conversation %zu, ", number);
	for (int i = 0; !rc && i < REPAIRS; i++)
		if (repairs->counts[i])
			rc = import_warn(read, (struct place){0, 0}, "repaired: %llu %s%s %s (first: %smessage %zu)",
				(unsigned long long)repairs->counts[i], of[i], repairs->counts[i] == 1 ? "" : "s",
				import_repair_text((enum import_repair)i), conversation, repairs->first[i] + 1);
	return rc;
}

static int repair_all(struct import *read, struct bobbin_error *error)
{
	size_t count = read->conversation_count;
	for (size_t i = 0; i < count; i++) {
		struct import_repairs repairs;
		int rc = import_repair(read, &read->conversations[i], &repairs, error);
		if (!rc && (rc = tell_repairs(read, &repairs, count > 1 ? i + 1 : 0)) < 0)
			error_set(error, rc, "out of memory");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int store_all(bobbin_store *store, bobbin_import *import, const struct bobbin_import_options *options,
	struct bobbin_error *error)
{
	size_t total = import->read.conversation_count;
	if (options->id && total != 1)
		return error_set(error, BOBBIN_EINVAL,
			"there are %zu conversations in it; one id cannot name them all", total);
	if (options->id && !id_is_session(slice_of(options->id)))
		return error_set(error, BOBBIN_EINVAL, "that is not a session id");
	import->sessions = mem_alloc((total + 1) * sizeof(*import->sessions));
	if (!import->sessions || keep_warnings(import, options->name ? options->name : "") < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; i < total; i++) {
		int rc = store_conversation(store, &import->read.conversations[i], options,
			&import->sessions[i], &import->read.arena, error);
		while (rc < 0 && import->count) /* all or none */
			store_delete(store->store, slice_of(import->sessions[--import->count].id), NULL);
		if (rc < 0)
			return rc;
		import->count++;
	}
	return 0;
}

int bobbin_import_data(bobbin_store *store, const char *data, size_t len,
	const struct bobbin_import_options *options, bobbin_import **ret_import, struct bobbin_error *error)
{
	struct bobbin_import_options all = BOBBIN_IMPORT_OPTIONS_INIT;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	if (store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	bobbin_import *import = mem_alloc_zero(sizeof(*import));
	if (!import)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = import_read(all.format, data ? data : "", data ? len : 0, &import->read, error);
	if (rc < 0 && all.name)
		error_prefix(error, "%s", all.name);
	if (!rc && all.repair && (rc = repair_all(&import->read, error)) < 0 && all.name)
		error_prefix(error, "%s", all.name);
	if (!rc && (rc = store_all(store, import, &all, error)) < 0 && all.name)
		error_prefix(error, "%s", all.name);
	if (rc < 0)
		bobbin_import_free(import);
	else
		*ret_import = import;
	return rc;
}
