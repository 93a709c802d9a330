/* SPDX-License-Identifier: MIT */
/*
 * A copy of what a session inherits, so that the session it was forked from can be deleted: X.base.jsonl.
 *
 *	main.jsonl   m1 m2 m3 m4 m5          X.base.jsonl   m1 m2 m4
 *	               └─ m3 is off the line   X.jsonl        header: through m4 of main; m6 m7
 *	X.jsonl      header: through m4; m6 m7
 *
 * X's own log stays as it is, byte for byte: nobody who has it open, appends to it or was forked from it needs to know,
 * and all that says where a record stands in it (headers of forks, index files) stays true. The copy is a log of its
 * own: the messages of the line, late results, and the control records that X inherits, each with the bytes it had,
 * from all ancestors. What was not inherited (other branches, later words) is not in it.
 *
 * A message without a "parent" follows the head, so the head must come out the same although other branches are not
 * there: rewind records are put in where it would not, which also keep the numbers of messages that say none.
 *
 * Invariants: (1) the copy gets its name when it is whole, synced, and was read again: each of its messages has the
 * number, the depth and the chained hash that it has in the session; (2) with the copy in place the session it was made
 * from is as readable as before; whoever deletes that one syncs the folder first.
 */
#include <errno.h>
#include "base/alloc.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/record.h"
#include "store/store_internal.h"

#define WRITE_BYTES ((size_t)256 << 10)
/* Not JSON: where such a line stands in what is inherited, one stands in the copy, so that a gap stays one. */
#define UNREADABLE "a line that could not be read stood here\n"

struct copying {
	struct store *store;
	struct log *log;     /* the session */
	uint32_t through;    /* its last inherited node */
	uint32_t line;	     /* the newest node of the line that was copied */
	uint32_t head;	     /* of the copy so far, as a node of the session */
	uint64_t last_seq;   /* in the copy so far */
	uint32_t *nodes;     /* the session's nodes in the order of the copy */
	size_t count, cap;
	struct arena arena; /* of one record */
	struct buffer out;
	int file;
	const char *name;
};

static int flush(struct copying *copying, size_t at_least, struct bobbin_error *error)
{
	size_t written;

	if (buffer_error(&copying->out))
		return error_set(error, buffer_error(&copying->out), "out of memory");
	if (copying->out.len < at_least)
		return 0;
	int rc = file_write(copying->store->platform, copying->file, buffer_slice(&copying->out), copying->name,
		&written, error);
	buffer_clear(&copying->out);
	return rc;
}

static int add_record(struct copying *copying, const struct json *record, struct bobbin_error *error)
{
	buffer_add(&copying->out, record->text, record->len);
	buffer_add_char(&copying->out, '\n');
	return flush(copying, WRITE_BYTES, error);
}

/* A rewind record, with a number that no message of the session has as its own next one. */
static int add_rewind(struct copying *copying, uint32_t node, uint64_t seq, struct bobbin_error *error)
{
	struct buffer *out = &copying->out, to = BUFFER_INIT(32);
	struct json_writer writer;
	size_t start = out->len;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_uint(&writer, "seq", seq);
	json_member_text(&writer, "type", "rewind");
	if (node == NODE_NONE) {
		json_key(&writer, "to");
		json_add_null(&writer);
	} else {
		buffer_addf(&to, "m%llu", (unsigned long long)index_node(&copying->log->index, node).seq);
		if (buffer_error(&to))
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
		json_member_text(&writer, "to", to.data);
		buffer_release(&to);
	}
	record_seal(out, start);
	buffer_add_char(out, '\n');
	copying->head = node;
	copying->last_seq = seq;
	return flush(copying, WRITE_BYTES, error);
}

static int want_head(struct copying *copying, uint32_t node, struct bobbin_error *error)
{
	return copying->head == node ? 0 : add_rewind(copying, node, copying->last_seq, error);
}

/* What must stand before a message so that it means the same. */
static int prepare_message(
	struct copying *copying, uint32_t node, const struct json *record, struct bobbin_error *error)
{
	struct index_node entry = index_node(&copying->log->index, node);
	uint32_t head = entry.flags & NODE_LATE ? NODE_NONE : copying->line;
	struct json value;
	bool says_seq = json_get(record, "seq", &value) && value.type == JSON_NUMBER;

	if (!(entry.flags & NODE_LATE) && log_gap(copying->log, copying->line, node))
		buffer_add_text(&copying->out, UNREADABLE);
	/* A message without a number gets the next one. */
	if (!says_seq && copying->last_seq + 1 != entry.seq && entry.seq > 1)
		return add_rewind(copying, head, entry.seq - 1, error);
	return want_head(copying, head, error);
}

static int copy_message(
	struct copying *copying, struct log *log, uint32_t record, uint32_t node, struct bobbin_error *error)
{
	struct index_node entry = index_node(&copying->log->index, node);
	struct json value;
	int rc = log_record_read(log, record, &copying->arena, &value, error);

	if (!rc)
		rc = prepare_message(copying, node, &value, error);
	if (!rc)
		rc = add_record(copying, &value, error);
	if (!rc && mem_grow((void **)&copying->nodes, &copying->cap, copying->count + 1, sizeof(node)) < 0)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (rc)
		return rc;
	copying->nodes[copying->count++] = node;
	if (entry.seq > copying->last_seq)
		copying->last_seq = entry.seq;
	if (!(entry.flags & NODE_LATE))
		copying->head = copying->line = node;
	return 0;
}

/* ---- Control records -------------------------------------------------------------------------------------
 */

/* Whether a member names a message that is inherited and on the line; of a list its last item counts. */
static bool names_inherited(const struct copying *copying, const struct json *record, const char *key)
{
	struct json value, item, text = {0};
	struct json_iter iter;
	struct slice id;
	uint32_t node;

	if (!json_get(record, key, &value))
		return false;
	if (value.type == JSON_ARRAY)
		for (json_iter_init(&iter, &value); json_iter_next(&iter, NULL, &item);)
			text = item;
	else
		text = value;
	if (text.type != JSON_STRING)
		return false;
	struct arena arena = ARENA_INIT;
	id = json_string_content(&text, &arena);
	node = id.data ? index_find(&copying->log->index, id) : NODE_NONE;
	arena_release(&arena);
	return node != NODE_NONE && node < copying->log->index.base_count &&
	       index_on_line(&copying->log->index, node, copying->through);
}

/* Runs, compactions and files count by where the head was, usage by what it was for, segments by what they cover. */
static bool is_inherited(const struct copying *copying, const struct log_record *info, const struct json *record,
	uint32_t limit, uint64_t until)
{
	const struct index *index = &copying->log->index;

	if (info->kind == RECORD_SEGMENT)
		return names_inherited(copying, record, "covers");
	if (until && info->offset >= until)
		return false;
	if (info->kind == RECORD_USAGE)
		return names_inherited(copying, record, "for");
	return info->head == NODE_NONE ||
	       (info->head < limit && index_on_line(index, info->head, copying->through));
}

static int copy_control(struct copying *copying, struct log *log, uint32_t record,
	const struct log_record *info, uint32_t limit, uint64_t until, struct bobbin_error *error)
{
	struct json value;
	bool by_head =
		info->kind == RECORD_RUN || info->kind == RECORD_COMPACTION || info->kind == RECORD_FILE;

	if (!by_head && info->kind != RECORD_USAGE && info->kind != RECORD_SEGMENT)
		return 0;
	int rc = log_record_read(log, record, &copying->arena, &value, error);
	if (rc || !is_inherited(copying, info, &value, limit, until))
		return rc;
	if (by_head)
		rc = want_head(copying, info->head, error);
	if (!rc)
		rc = add_record(copying, &value, error);
	if (info->seq > copying->last_seq)
		copying->last_seq = info->seq;
	return rc;
}

/* What the session inherits from this log's own file, of whose nodes those below `limit` are its. */
static int copy_level(
	struct copying *copying, struct log *log, uint32_t limit, uint64_t until, struct bobbin_error *error)
{
	int rc = 0;

	for (uint32_t record = 0; !rc && record < log_record_count(log); record++) {
		struct log_record info;
		rc = log_record(log, record, &info);
		if (rc)
			return error_set(error, rc, "%s cannot be read", log->name);
		if (info.kind != RECORD_MESSAGE)
			rc = copy_control(copying, log, record, &info, limit, until, error);
		else if (info.node < limit && index_has(&copying->log->index, info.node))
			rc = copy_message(copying, log, record, info.node, error);
		arena_reset(&copying->arena);
	}
	return rc;
}

/* The oldest ancestor first. */
static int copy_levels(struct copying *copying, struct bobbin_error *error)
{
	struct log *levels[LIMIT_FORK_DEPTH + 2];
	size_t count = 0;
	int rc = 0;

	for (struct log *log = copying->log; log && count < LIMIT_FORK_DEPTH + 2; log = log->base)
		levels[count++] = log;
	while (!rc && count-- > 1)
		rc = copy_level(copying, levels[count], levels[count - 1]->index.base_count,
			levels[count - 1]->info.parent_size, error);
	return rc ? rc : flush(copying, 0, error);
}

/* ---- The file --------------------------------------------------------------------------------------------
 */

static int add_header(struct copying *copying, struct bobbin_error *error)
{
	struct session_line line = SESSION_LINE_INIT;
	char now[TIME_TEXT_BYTES];

	time_text(copying->store->platform->realtime_ns(copying->store->platform->context), now);
	memcpy(line.id, copying->log->id, sizeof(line.id));
	line.version = LOG_VERSION;
	line.segment_bytes = copying->log->info.segment_bytes;
	session_line_add(&copying->out, &line, now);
	buffer_add_char(&copying->out, '\n');
	return flush(copying, WRITE_BYTES, error);
}

/* Reads the copy as a log and compares. */
static int check_copy(struct copying *copying, struct bobbin_error *error)
{
	const struct index *index = &copying->log->index;
	struct log *copy;
	int rc = log_open_copy(copying->store, copying->log->id, copying->name, false, UINT64_MAX, &copy, error);

	if (rc)
		return rc;
	bool same = index_count(&copy->index) == copying->count &&
		    log_find_pinned(copy, &copying->log->ancestry) != NODE_NONE;
	for (size_t i = 0; same && i < copying->count; i++) {
		struct index_node theirs = index_node(&copy->index, (uint32_t)i);
		struct index_node ours = index_node(index, copying->nodes[i]);
		same = theirs.seq == ours.seq && theirs.chain == ours.chain && theirs.depth == ours.depth &&
		       (theirs.flags & NODE_LATE) == (ours.flags & NODE_LATE);
	}
	rc = log_checked(copy, log_checked(copying->log, 0, error), error);
	log_free(copy);
	if (!rc && !same)
		rc = error_set(error, BOBBIN_ECORRUPT,
			"what %s inherits cannot be copied so that it reads the same; nothing was changed",
			copying->log->id);
	return rc;
}

static int write_copy(struct copying *copying, struct bobbin_error *error)
{
	const struct platform *platform = copying->store->platform;
	char name[LOG_NAME_BYTES];
	int rc = platform->truncate(platform->context, copying->file, 0);

	rc = rc < 0 ? error_set_os(error, -rc, "cannot empty %s", copying->name) : add_header(copying, error);
	if (!rc)
		rc = copy_levels(copying, error);
	/* In any mode: what it is a copy of is about to be deleted. */
	if (!rc && (rc = platform->sync_data(platform->context, copying->file)) < 0)
		rc = error_set_os(error, -rc, "cannot sync %s", copying->name);
	if (!rc)
		rc = check_copy(copying, error);
	if (rc)
		return rc;
	log_copy_name(copying->log->id, name);
	rc = platform->rename_at(platform->context, copying->store->dir, copying->name, name);
	return rc < 0 ? error_set_os(error, -rc, "cannot rename %s", copying->name) : 0;
}

static int make_copy(struct store *store, struct log *log, struct bobbin_error *error)
{
	char final[LOG_NAME_BYTES], name[LOG_NAME_BYTES + 8] = ".";
	struct copying copying = {.store = store,
		.log = log,
		.through = log->index.base_through,
		.line = NODE_NONE,
		.head = NODE_NONE,
		.arena = ARENA_INIT,
		.out = BUFFER_INIT(2 * LIMIT_LINE_BYTES),
		.name = name};

	log_copy_name(log->id, final);
	memcpy(name + 1, final, strlen(final));
	memcpy(name + 1 + strlen(final), ".tmp", sizeof(".tmp"));
	int rc = file_open_locked(store->platform, store->dir, name, 0, &copying.file, error);
	if (rc)
		return rc;
	rc = write_copy(&copying, error);
	if (rc)
		store->platform->unlink_at(store->platform->context, store->dir, name, 0);
	file_close(store->platform, copying.file);
	buffer_release(&copying.out);
	arena_release(&copying.arena);
	mem_free(copying.nodes);
	return rc;
}

/* A header that only says of how many messages it began with would mean other ones in the copy: the first append
 * writes down what was found, and so does one of nothing. */
static int write_ancestry(struct store *store, const char *id, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_WRITE, &log, error);

	if (rc)
		return rc;
	rc = log_append(log, NULL, 0, NULL, NULL, error);
	log_close(log);
	return rc;
}

/* Not that of another session, which it may stand on as well. */
static bool has_own_copy(const struct log *log)
{
	return log->base && log->base->is_copy && strcmp(log->base->id, log->id) == 0;
}

int log_copy_base(struct store *store, const char *id, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_READ, &log, error);

	if (rc)
		return rc;
	bool needed = log->base && !has_own_copy(log);
	if (needed && log->has_unwritten)
		rc = write_ancestry(store, id, error);
	if (!rc && needed)
		rc = make_copy(store, log, error);
	log_free(log);
	return rc;
}

int log_stands_alone(struct store *store, const char *id, bool *ret_alone)
{
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_READ, &log, NULL);

	*ret_alone = rc == 0 && has_own_copy(log);
	if (rc == 0)
		log_free(log);
	return rc == BOBBIN_ENOMEM ? rc : 0;
}
