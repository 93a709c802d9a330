/* SPDX-License-Identifier: MIT */
/* Storing conversations as they are read; the contract is in import_store.h. */
#include "session/import_store.h"

#include "base/alloc.h"
#include "base/utf8.h"

#define BATCH_BYTES (2u << 20) /* each batch is one write and one sync */
#define BATCH_RECORDS 2048

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
	utf8_add_line(&clean, title.data, title.len, LIMIT_TITLE_BYTES);
	char *copy = buffer_error(&clean) ? NULL : arena_copy(arena, buffer_slice(&clean).data, clean.len);
	*ret_title = (struct slice){copy, clean.len};
	buffer_release(&clean);
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

void storing_init(struct storing *storing, bobbin_store *store, bobbin_import *import,
	const struct bobbin_import_options *options)
{
	*storing = (struct storing){.store = store, .import = import, .options = options};
	buffer_init(&storing->text, LIMIT_IMPORT_BYTES);
}

void storing_release(struct storing *storing, bool whole)
{
	bobbin_import *import = storing->import;
	log_close(storing->log);
	while (!whole && import->count) /* all or none */
		store_delete(storing->store->store, slice_of(import->sessions[--import->count].id), NULL);
	buffer_release(&storing->text);
	mem_free(storing->ends);
}

int storing_begin(void *context, const struct import_conversation *conversation, struct bobbin_error *error)
{
	struct storing *storing = context;
	const struct bobbin_import_options *options = storing->options;
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	if (options->id && storing->import->count)
		return error_set(error, BOBBIN_EINVAL,
			"there are several conversations in it; one id cannot name them all");
	create.id = options->id ? slice_of(options->id) : (struct slice){NULL, 0};
	create.owner = slice_of(options->owner ? options->owner : "");
	create.redact_on_write = options->redact_on_write;
	int rc = title_of(conversation, options->name, &storing->import->read.arena, &create.title);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	storing->title = create.title;
	storing->head = NODE_NONE;
	storing->head_record = conversation->head;
	storing->appended = 0;
	return open_target(storing->store, &create, &storing->log, error);
}

/* Appends what waits. */
static int flush(struct storing *storing, struct bobbin_error *error)
{
	size_t count = storing->waiting, from = 0;
	struct slice *records = mem_realloc_array(NULL, count + 1, sizeof(*records));
	struct log_ack *acks = mem_realloc_array(NULL, count + 1, sizeof(*acks));
	const struct log_append_options first = {.check_head = true};
	int rc = records && acks ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < count; from = storing->ends[i++])
		records[i] = (struct slice){storing->text.data + from, storing->ends[i] - from};
	if (!rc && count)
		rc = log_append(storing->log, records, count, storing->appended ? NULL : &first, acks, error);
	if (!rc && storing->head_record - storing->appended < count)
		storing->head = acks[storing->head_record - storing->appended].node;
	storing->appended += count;
	storing->waiting = 0;
	buffer_clear(&storing->text);
	mem_free(records);
	mem_free(acks);
	return rc;
}

int storing_record(void *context, struct slice record, struct bobbin_error *error)
{
	struct storing *storing = context;
	buffer_add_slice(&storing->text, record);
	if (buffer_error(&storing->text) || mem_grow((void **)&storing->ends, &storing->ends_cap, storing->waiting + 1,
						    sizeof(*storing->ends)) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	storing->ends[storing->waiting++] = storing->text.len;
	return storing->text.len >= BATCH_BYTES || storing->waiting == BATCH_RECORDS ? flush(storing, error) : 0;
}

/* The head stands where the transcript's stood: a rewind in it is no message. */
static int put_head(struct storing *storing, struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];
	int rc = 0;
	if (!storing->appended || storing->head == log_head(storing->log))
		return 0;
	if (storing->head != NODE_NONE)
		rc = log_node_id(storing->log, storing->head, id, error);
	return rc ? rc
		  : log_rewind(storing->log, storing->head == NODE_NONE ? (struct slice){NULL, 0} : slice_of(id), NULL,
			    error);
}

static int note_session(struct storing *storing, const struct import_conversation *conversation)
{
	bobbin_import *import = storing->import;
	struct log *log = storing->log;
	struct log_node node;
	if (mem_grow((void **)&import->sessions, &import->cap, import->count + 1, sizeof(*import->sessions)) < 0)
		return BOBBIN_ENOMEM;
	struct bobbin_imported *session = &import->sessions[import->count];
	memset(session, 0, sizeof(*session));
	const char *id = log_info(log)->id, *foreign_id = conversation->foreign_id.data;
	memcpy(session->id, id, strnlen(id, sizeof(session->id) - 1));
	session->foreign_id =
		arena_copy(&import->read.arena, foreign_id ? foreign_id : "", conversation->foreign_id.len);
	session->title = storing->title.data;
	session->messages = conversation->messages;
	session->calls = conversation->calls;
	session->results = conversation->results;
	if (log_head(log) != NODE_NONE && log_node(log, log_head(log), &node) == 0)
		session->messages_on_line = (uint64_t)node.depth + 1;
	return session->foreign_id ? 0 : BOBBIN_ENOMEM;
}

int storing_end(void *context, const struct import_conversation *conversation, struct bobbin_error *error)
{
	struct storing *storing = context;
	int rc = flush(storing, error);
	if (!rc)
		rc = put_head(storing, error);
	if (!rc && (rc = note_session(storing, conversation)) < 0)
		error_set(error, rc, "out of memory");
	if (!rc)
		rc = log_appear(storing->log, error);
	if (!rc)
		storing->import->count++;
	log_close(storing->log);
	storing->log = NULL;
	return rc;
}
