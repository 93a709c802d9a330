/* SPDX-License-Identifier: MIT */
/*
 * Appending: everything is decided under the lock, against an index that has just read on to the end of the
 * file, and the records enter that index by the same door as when they are read. Only then is written.
 *
 *	check records → lock → read on → enter them into the index → write each → sync → unlock → acknowledge
 *	                                      └ refused: roll back     └ failed: cut back, read what is there
 */
#include <errno.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/record.h"
#include "store/scan.h"
#include "transcript/mask.h"

#define LINE_BYTES_BEYOND 160 /* what a line has beyond its record, mostly */

/* One record of a call. */
struct item {
	struct json record;
	enum record_kind kind;
	struct slice id; /* own id of a message */
	bool has_parent;
	size_t start, end; /* its bytes in append.text, with line breaks; end 0: not to be written */
	struct log_ack ack;
};

struct append {
	struct log *log;
	const struct log_append_options *options;
	struct item *items;
	size_t count;
	struct arena arena;
	struct buffer text; /* what is to be written, in one piece */
	size_t session_end; /* end of the session line that goes first; 0: none */
	uint64_t size;	    /* of the file, before anything is written */
	bool aside;
	uint32_t aside_parent;
	char now[TIME_TEXT_BYTES];
};

static const struct log_ack NO_ACK = {.record = RECORD_NONE, .node = NODE_NONE};

static int out_of_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory");
}

static int refuse(struct bobbin_error *error, int code, const struct append *append, const struct item *item,
	const char *reason)
{
	uint64_t number = (uint64_t)(item - append->items) + 1;
	return error_set_at(error, code, number, 0, "record %llu: %s", (unsigned long long)number, reason);
}

/* ---- Before the lock -------------------------------------------------------------------------------------
 */

static int check_message(struct append *append, struct item *item, struct bobbin_error *error)
{
	struct bobbin_error reason = {0};
	struct message message;
	int rc = message_parse(&item->record, &append->arena, &message, &reason);

	if (rc)
		return refuse(error, rc, append, item, reason.message);
	if (message.id.len) {
		if (id_is_reserved(message.id))
			return refuse(error, BOBBIN_EINPUT, append, item,
				"ids of the form m<number> are given by the log, not by the client");
		if (!id_is_message(message.id))
			return refuse(error, BOBBIN_EINPUT, append, item,
				"an id is 1 to 256 bytes of UTF-8 without control characters");
	}
	if (message_call_count(&message) > LIMIT_CALLS_PER_MESSAGE)
		return refuse(error, BOBBIN_ELIMIT, append, item, "too many tool calls in one message");
	item->id = message.id;
	item->has_parent = message.parent_kind != PARENT_HEAD;
	return 0;
}

/* In a session that redacts, what a record would reveal is masked before anything else looks at it. */
static int redact(struct append *append, struct slice text, struct item *item, struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct bobbin_error reason = {0};
	size_t secrets = 0;
	int rc = mask_record(&item->record, &out, &secrets);

	if (!rc && secrets) {
		struct slice masked = buffer_slice(&out);
		text.data = arena_copy(&append->arena, masked.data, masked.len);
		rc = text.data ? json_parse(text.data, masked.len, &item->record, &reason) : BOBBIN_ENOMEM;
	}
	buffer_release(&out);
	return rc ? refuse(error, rc, append, item,
			    rc == BOBBIN_ENOMEM ? "out of memory" : "it cannot be masked: it is too large")
		  : 0;
}

static int check_item(struct append *append, struct item *item, struct slice text, struct bobbin_error *error)
{
	struct bobbin_error reason = {0};
	struct json key;
	int rc = json_parse(text.data, text.len, &item->record, &reason);

	if (rc)
		return refuse(error, rc, append, item, reason.message);
	if (!record_kind_of(&item->record, &item->kind))
		return refuse(error, BOBBIN_EINPUT, append, item,
			"it is neither a message (role user, assistant or tool) nor has it a type");
	if (item->kind == RECORD_SYSTEM)
		return refuse(error, BOBBIN_EINPUT, append, item, "system prompts are never stored");
	if (item->kind == RECORD_SESSION)
		return refuse(
			error, BOBBIN_EINPUT, append, item, "session lines are written by the log itself");
	if (json_has_duplicate_key_within(&item->record, LIMIT_DUPLICATE_KEY_DEPTH, &key)) {
		error_set(
			&reason, 0, "the key %.*s stands twice", key.len > 64 ? 64 : (int)key.len, key.text);
		return refuse(error, BOBBIN_EINPUT, append, item, reason.message);
	}
	if (item->kind != RECORD_MESSAGE)
		return 0;
	if (append->log->info.redact_on_write && (rc = redact(append, text, item, error)) < 0)
		return rc;
	return check_message(append, item, error);
}

static int check_handle(const struct log *log, struct bobbin_error *error)
{
	if (log->broken)
		return error_set(
			error, BOBBIN_ECORRUPT, "%s is not what was read from it: open it anew", log->name);
	if (log->mode != LOG_WRITE)
		return error_set(error, BOBBIN_EREADONLY, "%s was opened for reading", log->name);
	if (log->sync_failed)
		return error_set(error, BOBBIN_EREADONLY,
			"%s: a sync failed, so what is on disk is unknown: open it anew", log->name);
	if (log->line.version > LOG_VERSION)
		return error_set(error, BOBBIN_EREADONLY, "%s was written by a newer version", log->name);
	return 0;
}

/* ---- Under the lock: deciding ----------------------------------------------------------------------------
 */

/* Reads on to the end. An unterminated tail is final: whoever wrote it did not get further. */
static int read_to_end(struct append *append, struct bobbin_error *error)
{
	struct log *log = append->log;
	int rc = log_check_file(log, &append->size, error);

	if (rc)
		return rc;
	log_drop_pending(log);
	if (append->size == log->index.state.position.offset)
		return 0;
	struct index_mark before = index_mark(&log->index);
	log->sealing = true;
	rc = log_read_on(log, append->size, error);
	log->sealing = false;
	if (rc == SCAN_STOP) {
		log->broken = true;
		rc = error_set(error, BOBBIN_ECORRUPT,
			"%s now says that it was forked from elsewhere: open it anew", log->name);
	}
	/* What was read on under a failing index is not true, and must not stay. */
	rc = log_checked(log, rc, error);
	if (rc)
		index_rollback(&log->index, &before);
	return rc;
}

static int acknowledge(struct log *log, struct item *item, uint32_t node, struct bobbin_error *error)
{
	struct index_node entry = index_node(&log->index, node);

	item->ack.seq = entry.seq;
	item->ack.node = node;
	item->ack.record = node >= log->index.base_count ? index_record_of(&log->index, node) : RECORD_NONE;
	return log_node_id(log, node, item->ack.id, error);
}

/* Messages that are stored already; ret_last is the newest of them. */
static int find_repeated(
	struct append *append, uint32_t *ret_last, bool *ret_any_new, struct bobbin_error *error)
{
	struct log *log = append->log;

	*ret_last = NODE_NONE;
	*ret_any_new = false;
	for (struct item *item = append->items; item < append->items + append->count; item++) {
		if (item->kind != RECORD_MESSAGE)
			continue;
		uint32_t node = item->id.len ? index_find(&log->index, item->id) : NODE_NONE;
		if (node == NODE_NONE) {
			*ret_any_new = true;
			continue;
		}
		struct message stored;
		int rc = log_message(log, node, &append->arena, &stored, error);
		if (!rc && (rc = record_is_same(&item->record, &stored.record)) < 0)
			return out_of_memory(error);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return refuse(
				error, BOBBIN_EEXIST, append, item, "its id is taken by another message");
		item->ack.repeated = true;
		*ret_last = node;
		if ((rc = acknowledge(log, item, node, error)) < 0)
			return rc;
	}
	return 0;
}

static int check_head(struct append *append, uint32_t repeated, struct bobbin_error *error)
{
	const struct log_append_options *options = append->options;
	struct index *index = &append->log->index;
	uint32_t expected = NODE_NONE;

	if (!options || !options->check_head)
		return 0;
	if (options->expected_head.data &&
		(expected = index_find(index, options->expected_head)) == NODE_NONE)
		return error_set(error, BOBBIN_ECONFLICT, "there is no message %.*s in %s to follow",
			(int)options->expected_head.len, options->expected_head.data, append->log->name);
	if (index->state.head == expected || (repeated != NODE_NONE && index->state.head == repeated))
		return 0;
	if (options->on_conflict == LOG_CONFLICT_REFUSE)
		return error_set(error, BOBBIN_ECONFLICT,
			"the head of %s has moved: look at what was added and try again", append->log->name);
	append->aside = true;
	append->aside_parent = repeated != NODE_NONE ? repeated : expected;
	return 0;
}

/* The "parent" member that keeps a message aside, as JSON; NULL (and no error) if it needs none. */
static int aside_parent(
	struct append *append, const struct item *item, struct buffer *text, struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];

	if (!append->aside || item->kind != RECORD_MESSAGE || item->has_parent)
		return 0;
	if (append->aside_parent == NODE_NONE) {
		buffer_add_text(text, "null");
	} else {
		int rc = log_node_id(append->log, append->aside_parent, id, error);
		if (rc)
			return rc;
		buffer_add_char(text, '"');
		json_escape(text, slice_of(id));
		buffer_add_char(text, '"');
	}
	return buffer_error(text) ? out_of_memory(error) : 0;
}

/* Enters a line that stands in append->text from `start` on into the index, and ends it. */
static int enter_line(struct append *append, size_t start, enum record_kind kind, struct bobbin_error *error)
{
	struct index *index = &append->log->index;
	const char *line = append->text.data + start;
	struct index_place place = {append->size + start, index->state.position.line, 0, 0};
	uint64_t faults = index->state.fault_total;
	struct json record;

	if (buffer_error(&append->text))
		return out_of_memory(error);
	if (append->text.len - start > LIMIT_LINE_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "a record of more than %u bytes", LIMIT_LINE_BYTES);
	int rc = json_parse(line, append->text.len - start, &record, error);
	if (rc)
		return rc;
	place.length = (uint32_t)record.len;
	if ((rc = index_add(index, &record, kind, &place, &append->arena, error)) < 0)
		return rc;
	if (index->state.fault_total > faults) {
		enum fault_kind fault = index->state.fault_count
						? index->faults[index->state.fault_count - 1].kind
						: FAULT_SHAPE;
		return error_set(error, BOBBIN_EINPUT, "%s",
			fault == FAULT_PARENT	? "its parent is not a message of this session"
			: fault == FAULT_REWIND ? "it rewinds to a message that is not in this session"
						: log_fault_text(fault));
	}
	buffer_add_char(&append->text, '\n');
	if (buffer_error(&append->text))
		return out_of_memory(error);
	index->state.position.offset = append->size + append->text.len;
	index->state.position.line++;
	index->state.position.tail_open = false;
	return 0;
}

/* Where a line begins: behind a line break that ends what somebody left unterminated. */
static size_t begin_line(struct append *append)
{
	if (append->log->index.state.position.tail_open) {
		buffer_add_char(&append->text, '\n');
		append->log->index.state.position.line++;
		append->log->index.state.position.tail_open = false;
	}
	return append->text.len;
}

static int enter_session_line(struct append *append, struct bobbin_error *error)
{
	struct log *log = append->log;

	log_forget_cut(log);
	if (!log->has_unwritten)
		return 0;
	size_t start = begin_line(append);
	uint64_t line = log->index.state.position.line;
	session_line_add(&append->text, &log->unwritten, append->now);
	int rc = enter_line(append, start, RECORD_SESSION, error);
	append->session_end = append->text.len;
	if (!rc && log_enter_cut(log, log->unwritten.was_bytes, line, append->size + start) < 0)
		rc = out_of_memory(error);
	return rc;
}

static int enter_item(struct append *append, struct item *item, struct bobbin_error *error)
{
	struct index *index = &append->log->index;
	struct buffer parent = BUFFER_INIT(8 * PATH_ID_BYTES);
	struct bobbin_error reason = {0};
	int rc = aside_parent(append, item, &parent, error);

	if (!rc) {
		item->start = append->text.len;
		size_t start = begin_line(append);
		record_add_line(
			&append->text, &item->record, index->state.last_seq + 1, parent.data, append->now);
		rc = enter_line(append, start, item->kind, &reason);
		if (rc)
			refuse(error, rc, append, item, reason.message);
	}
	buffer_release(&parent);
	if (rc)
		return rc;
	item->end = append->text.len;
	item->ack.seq = index->state.last_seq;
	item->ack.record = index_record_count(index) - 1;
	item->ack.node = NODE_NONE;
	if (item->kind != RECORD_MESSAGE)
		return 0;
	uint32_t node = index_count(index) - 1;
	item->ack.aside = append->aside;
	append->aside_parent = node;
	return acknowledge(append->log, item, node, error);
}

static int decide(struct append *append, struct bobbin_error *error)
{
	uint32_t repeated;
	bool any_new;
	int rc = find_repeated(append, &repeated, &any_new, error);

	if (!rc && any_new)
		rc = check_head(append, repeated, error);
	bool any = any_new || append->count == 0;
	for (size_t i = 0; i < append->count; i++)
		any = any || append->items[i].kind != RECORD_MESSAGE;
	if (!rc && any)
		rc = enter_session_line(append, error);
	for (size_t i = 0; !rc && i < append->count; i++)
		if (!append->items[i].ack.repeated)
			rc = enter_item(append, &append->items[i], error);
	return rc;
}

/* ---- Under the lock: writing -----------------------------------------------------------------------------
 */

/* One line, one write. If it fails, what got there is cut off again, and the file is as it was. ret_open:
 * only the line break is missing; that is a whole record, which a reader may have seen already, so it stays.
 */
static int write_line(
	struct append *append, size_t start, size_t end, bool *ret_open, struct bobbin_error *error)
{
	struct log *log = append->log;
	size_t written;
	int rc = file_write(log->platform, log->file, (struct slice){append->text.data + start, end - start},
		log->name, &written, error);

	*ret_open = rc && written + 1 == end - start;
	/* Should this fail too, the torn line stays, and the next append ends it with a line break. */
	if (rc && written && !*ret_open)
		log->platform->truncate(log->platform->context, log->file, append->size + start);
	return rc;
}

static int write_all(struct append *append, struct bobbin_error *error)
{
	struct index_position *position = &append->log->index.state.position;
	bool open = false;
	int rc = 0;

	if (append->session_end)
		rc = write_line(append, 0, append->session_end, &open, error);
	for (size_t i = 0; !rc && i < append->count; i++)
		if (append->items[i].end)
			rc = write_line(append, append->items[i].start, append->items[i].end, &open, error);
	if (open && position->offset == append->size + append->text.len) {
		struct file_info info;
		if (append->log->platform->info(append->log->platform->context, append->log->file, &info) <
				0 ||
			info.size + 1 != position->offset)
			return rc; /* it was not the last one */
		position->offset--;
		position->line--;
		position->tail_open = true;
		return 0;
	}
	return rc;
}

/* Takes back the acks of what does not lie within the first `size` bytes of the file, line breaks aside. */
static void take_back_acks(struct append *append, uint64_t size)
{
	for (size_t i = 0; i < append->count; i++) {
		struct item *item = &append->items[i];
		if (size == 0 || (!item->ack.repeated && (!item->end || append->size + item->end - 1 > size)))
			item->ack = NO_ACK;
	}
}

static int tighten(struct log *log, struct bobbin_error *error)
{
	if (!log->loose)
		return 0;
	int rc = log->platform->change_mode(log->platform->context, log->file, 0600);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot keep others from reading %s", log->name);
	log->loose = false;
	return 0;
}

static int sync_log(struct log *log, struct bobbin_error *error)
{
	if (log->info.sync != STORE_SYNC_FULL)
		return 0;
	int rc = log->platform->sync_data(log->platform->context, log->file);
	if (rc == 0)
		return 0;
	log->sync_failed = true;
	log_mark_unsynced(log);
	error_set_os(error, -rc, "cannot sync %s; whether it is stored is unknown: open it anew", log->name);
	if (error)
		error->code = BOBBIN_EUNKNOWN;
	return BOBBIN_EUNKNOWN;
}

/* After a failed write: the index is what is in the file, and only what is durable keeps its ack. */
static void salvage(struct append *append, const struct index_mark *before)
{
	struct log *log = append->log;
	uint64_t size = 0;

	index_rollback(&log->index, before);
	if (log_check_file(log, &size, NULL) < 0 || size == append->size || sync_log(log, NULL) < 0)
		size = 0;
	take_back_acks(append, size);
	log->appended = log->appended || size > 0;
}

static int write_and_sync(struct append *append, const struct index_mark *before, struct bobbin_error *error)
{
	struct log *log = append->log;
	struct bobbin_error reason = {0};
	int rc = tighten(log, &reason);

	if (!rc)
		rc = write_all(append, &reason);
	if (rc) {
		salvage(append, before);
		return error_set(error, rc, "%s", reason.message);
	}
	if (append->session_end) {
		session_line_merge(&log->line, &log->unwritten);
		if (log->unwritten.was_bytes)
			log->line.was_bytes = log->unwritten.was_bytes;
		log->unwritten = (struct session_line)SESSION_LINE_INIT;
		log->has_unwritten = false;
	}
	log->appended = log->appended || append->text.len > 0;
	/* Also for a repeated record: whoever wrote it may have died before its sync. */
	rc = sync_log(log, error);
	if (rc)
		take_back_acks(append, 0);
	return rc;
}

static int append_locked(struct append *append, struct bobbin_error *error)
{
	struct log *log = append->log;
	int rc = read_to_end(append, error);

	if (rc)
		return rc;
	struct index_mark before = index_mark(&log->index);
	/* A failing index must not decide anything, not even that the record is refused. */
	rc = log_checked(log, decide(append, error), error);
	if (rc) {
		index_rollback(&log->index, &before);
		take_back_acks(append, 0);
		return rc;
	}
	return write_and_sync(append, &before, error);
}

/* ---- The whole -------------------------------------------------------------------------------------------
 */

static int prepare(struct append *append, const struct slice *records, struct bobbin_error *error)
{
	struct log *log = append->log;
	size_t bytes = 0;

	append->items = mem_realloc_array(NULL, append->count, sizeof(*append->items));
	if (!append->items)
		return out_of_memory(error);
	for (size_t i = 0; i < append->count; i++)
		append->items[i] = (struct item){.ack = NO_ACK};
	for (size_t i = 0; i < append->count; i++) {
		int rc = check_item(append, &append->items[i], records[i], error);
		if (rc)
			return rc;
		bytes += records[i].len + LINE_BYTES_BEYOND;
	}
	if (bytes && !buffer_reserve(&append->text, bytes))
		return out_of_memory(error);
	time_text(log->platform->realtime_ns(log->platform->context), append->now);
	return 0;
}

int log_append(struct log *log, const struct slice *records, size_t count,
	const struct log_append_options *options, struct log_ack *ret_acks, struct bobbin_error *error)
{
	struct append append = {.log = log, .options = options, .count = count, .arena = ARENA_INIT};

	buffer_init(&append.text, SIZE_MAX - 1);
	int rc = check_handle(log, error);
	if (!rc)
		rc = prepare(&append, records, error);
	if (!rc && (rc = log_lock(log, error)) == 0) {
		rc = append_locked(&append, error);
		log_unlock(log);
		if (!rc && log->info.sync == STORE_SYNC_FULL)
			log_save_index(log, false);
		log_set_info(log);
	}
	for (size_t i = 0; ret_acks && i < count; i++)
		ret_acks[i] = append.items ? append.items[i].ack : NO_ACK;
	mem_free(append.items);
	arena_release(&append.arena);
	buffer_release(&append.text);
	return rc;
}

int log_set_title(struct log *log, struct slice title, struct bobbin_error *error)
{
	struct session_line before = log->unwritten;
	bool had = log->has_unwritten;

	if (!header_text_is_valid(title, LIMIT_TITLE_BYTES) || title.len == 0)
		return error_set(error, BOBBIN_EINVAL,
			"a title must be UTF-8 of 1 to %d bytes without control characters",
			LIMIT_TITLE_BYTES);
	memcpy(log->unwritten.title, title.data, title.len);
	log->unwritten.title[title.len] = '\0';
	int rc = log->info.redact_on_write ? header_title_redact(log->unwritten.title) : 0;
	if (rc) {
		log->unwritten = before;
		return out_of_memory(error);
	}
	log->has_unwritten = true;
	/* No records: only the session line that goes before them. */
	rc = log_append(log, NULL, 0, NULL, NULL, error);
	if (rc && log->has_unwritten) {
		log->unwritten = before;
		log->has_unwritten = had;
	}
	return rc;
}

/* Appends one record made here. */
static int append_text(
	struct log *log, struct buffer *text, struct log_ack *ret_ack, struct bobbin_error *error)
{
	struct slice record = buffer_slice(text);
	int rc = buffer_error(text);

	rc = rc ? error_set(error, rc, "out of memory") : log_append(log, &record, 1, NULL, ret_ack, error);
	buffer_release(text);
	return rc;
}

int log_rewind(struct log *log, struct slice to, struct log_rewind *ret_result, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_META_BYTES);
	struct json_writer writer;
	struct log_ack ack;
	uint32_t node = NODE_NONE;
	int rc = log_refresh(log, error);

	if (!rc && to.data)
		rc = log_find(log, to, &node, error);
	if (rc)
		return rc;
	uint32_t before = log_head(log);
	json_writer_init(&writer, &text);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "rewind");
	json_key(&writer, "to");
	if (to.data)
		json_add_string(&writer, to);
	else
		json_add_null(&writer);
	json_end_object(&writer);
	rc = append_text(log, &text, &ack, error);
	if (rc)
		return rc;
	if (ret_result)
		*ret_result = (struct log_rewind){node, log_gap(log, node, before), ack.seq};
	return 0;
}
