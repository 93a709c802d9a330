/* SPDX-License-Identifier: MIT */
/*
 * What becomes of each record in a repair (log_repair.h). The old log has been read by the rules that hold for all (index_add):
 * which messages there are, whose children they are and where the head goes is known. The same records in the same order
 * mean the same again; only what those rules had to put right is written so that it no longer has to be:
 *
 *	a parent that is not in the log     the head of then, by name
 *	an id that was taken                left out: the message is m<seq>
 *	a number not above those before     the next one
 *	a key that stands twice             once, as it counts
 *	a wrong checksum                    a right one, and a line before it that says so
 */
#include "store/repair_inside.h"

#include <stdio.h>
#include "base/alloc.h"
#include "store/file.h"

#define FLUSH_BYTES ((size_t)1 << 20)

static int flush(struct writing *writing, bool all)
{
	size_t written;
	int rc = buffer_error(&writing->out) ? repair_no_memory(writing) : 0;

	if (rc || (!all && writing->out.len < FLUSH_BYTES))
		return rc;
	if (writing->file >= 0)
		rc = file_write(writing->log->platform, writing->file, buffer_slice(&writing->out),
			writing->name, &written, writing->error);
	buffer_clear(&writing->out);
	return rc;
}

/* ---- Records ---------------------------------------------------------------------------------------------
 */

/* How a record has to be written otherwise than it was. */
struct rewriting {
	uint64_t seq;	    /* 0: as it is */
	bool parent;	    /* name it */
	uint32_t parent_node;
	uint64_t parent_seq; /* … by its number: a marker; 0: by the node's name */
	bool drop_id, seal, dedupe;
};

static bool is_needed(const struct rewriting *rewriting)
{
	return rewriting->seq || rewriting->parent || rewriting->drop_id || rewriting->seal || rewriting->dedupe;
}

static bool comes_again(const struct json_iter *rest, const struct json *key)
{
	struct json_iter iter = *rest;
	struct json other, value;

	while (json_iter_next(&iter, &other, &value))
		if (json_string_equal(&other, key))
			return true;
	return false;
}

/* The members that stay, as an object: of a key that stands twice the last. */
static int keep_members(struct writing *writing, const struct json *record, const struct rewriting *rewriting,
	struct buffer *out, struct json *ret_kept)
{
	struct json_iter iter;
	struct json key, value;
	char before = '{';

	json_iter_init(&iter, record);
	while (json_iter_next(&iter, &key, &value)) {
		if ((rewriting->parent && json_string_is(&key, "parent")) ||
			(rewriting->drop_id && json_string_is(&key, "id")) || comes_again(&iter, &key))
			continue;
		buffer_add_char(out, before);
		buffer_add(out, key.text, key.len);
		buffer_add_char(out, ':');
		buffer_add(out, value.text, value.len);
		before = ',';
	}
	buffer_add_text(out, before == '{' ? "{}" : "}");
	if (buffer_error(out))
		return repair_no_memory(writing);
	return json_parse(out->data, out->len, ret_kept, writing->error);
}

static int rewrite(struct writing *writing, const struct json *record, uint64_t seq,
	const struct rewriting *rewriting)
{
	struct buffer kept_text = BUFFER_INIT(LIMIT_LINE_BYTES), parent = BUFFER_INIT(8 * PATH_ID_BYTES);
	struct json kept;
	int rc = keep_members(writing, record, rewriting, &kept_text, &kept);

	if (!rc && rewriting->parent && rewriting->parent_seq)
		buffer_addf(&parent, "\"m%llu\"", (unsigned long long)rewriting->parent_seq);
	else if (!rc && rewriting->parent)
		rc = repair_add_name(writing, rewriting->parent_node, &parent);
	if (!rc && buffer_error(&parent))
		rc = repair_no_memory(writing);
	if (!rc) {
		record_add_line(&writing->out, &kept, seq, parent.data, writing->now);
		buffer_add_char(&writing->out, '\n');
	}
	buffer_release(&kept_text);
	buffer_release(&parent);
	writing->repair->changed++;
	return rc;
}

static int put(struct writing *writing, const struct json *record, uint64_t seq, struct rewriting *rewriting)
{
	struct json said;
	uint32_t ignored;
	int rc = 0;

	/* One that says no number gets the next; what was left out before it may have had that. */
	if (seq <= writing->last_seq || (seq != writing->last_seq + 1 && !json_get(record, "seq", &said)))
		rewriting->seq = seq <= writing->last_seq ? writing->last_seq + 1 : seq;
	rewriting->seal = record_crc_is_wrong(record, &ignored);
	rewriting->dedupe = json_has_duplicate_key(record, NULL);
	if (rewriting->seq)
		seq = rewriting->seq;
	if (is_needed(rewriting)) {
		rc = rewrite(writing, record, seq, rewriting);
	} else {
		buffer_add(&writing->out, record->text, record->len);
		buffer_add_char(&writing->out, '\n');
	}
	writing->last_seq = seq;
	return rc ? rc : flush(writing, false);
}

/* Whether the parent that is written finds the one that was read. */
static bool finds_parent(struct writing *writing, const struct message *message, const struct log_node *node)
{
	uint32_t found;

	if (message->parent_kind == PARENT_ROOT)
		return node->parent == NODE_NONE;
	if (message->parent_kind == PARENT_HEAD)
		return message->role == ROLE_TOOL || node->parent == writing->head;
	return log_find(writing->log, message->parent, &found, NULL) == 0 && found == node->parent &&
	       !repair_find_renamed(writing, found);
}

/* Whether its id is that of a message which is found by it in its place. Of two equal ones a fork's own is found
 * first, and yet the inherited one was there before. */
static bool id_is_taken(struct writing *writing, uint32_t number, struct slice id)
{
	const struct index *index = &writing->log->index;
	uint32_t named = index_find_named(index, id);

	if (!id.len)
		return false;
	if (named != NODE_NONE && named != number)
		return true;
	named = index->base && number >= index->base_count ? index_find_named(index->base, id) : NODE_NONE;
	return named != NODE_NONE && index_has(index, named);
}

static int put_message(struct writing *writing, uint32_t number, bool moves_head)
{
	struct rewriting rewriting = {.parent_node = NODE_NONE};
	struct message message;
	struct log_node node;
	bool marked = false;
	int rc = log_node(writing->log, number, &node);

	if (!rc)
		rc = log_message(writing->log, number, &writing->arena, &message, writing->error);
	if (rc)
		return rc;
	if (node.role == ROLE_TOOL)
		repair_answer(writing, message.tool_call_id);
	else if (node.parent == writing->head && moves_head)
		rc = repair_add_markers(writing, node.seq, &marked);
	rewriting.parent_node = node.parent;
	rewriting.parent_seq = marked ? writing->last_seq : 0;
	rewriting.parent = marked ? message.parent_kind != PARENT_HEAD
				  : !finds_parent(writing, &message, &node);
	rewriting.drop_id = id_is_taken(writing, number, message.id);
	if (!rc)
		rc = put(writing, &message.record, node.seq, &rewriting);
	if (!rc && (rewriting.drop_id || (rewriting.seq && rewriting.seq != node.seq && !message.id.len)))
		rc = repair_rename_node(writing, number, writing->last_seq);
	if (is_needed(&rewriting) || marked)
		repair_note_change(writing, number);
	writing->repair->messages++;
	if (!moves_head || rc)
		return rc;
	writing->head = number;
	return node.role == ROLE_TOOL ? 0 : repair_open_batch(writing, number, &message);
}

/* ---- Control records -------------------------------------------------------------------------------------
 */

static int leave_out(struct writing *writing, const struct log_record *record, const char *why)
{
	repair_add_mark(writing, why, NULL, 0, record->offset, record->length);
	writing->repair->left_out++;
	return flush(writing, false);
}

/* Is it a message that stood in the log when the record was read? One further on was not known there. */
static bool is_before(const struct writing *writing, const struct log_record *record, uint32_t node)
{
	struct log_node info;

	return log_node(writing->log, node, &info) == 0 && (info.level > 0 || info.offset < record->offset);
}

static int put_rewind(struct writing *writing, const struct log_record *record, const struct json *object)
{
	struct buffer text = BUFFER_INIT(LIMIT_META_BYTES);
	struct rewriting rewriting = {.parent = false};
	struct json to, other = *object;
	uint32_t node = NODE_NONE;
	int rc = 0;

	json_get(object, "to", &to);
	if (to.type == JSON_STRING &&
		(log_find(writing->log, json_string_content(&to, &writing->arena), &node, NULL) < 0 ||
			!is_before(writing, record, node)))
		return 0; /* it was ignored, and stands among the faults */
	if (node == NODE_NONE ? writing->note_seq != 0 : repair_find_renamed(writing, node) != NULL) {
		struct buffer name = BUFFER_INIT(8 * PATH_ID_BYTES);
		rc = repair_add_name(writing, node, &name);
		json_splice(&text, object, "to", buffer_slice(&name));
		if (!rc && (buffer_error(&name) || buffer_error(&text)))
			rc = repair_no_memory(writing);
		buffer_release(&name);
		if (!rc)
			rc = json_parse(text.data, text.len, &other, writing->error);
	}
	if (!rc)
		rc = put(writing, &other, record->seq, &rewriting);
	buffer_release(&text);
	writing->head = node;
	writing->open_count = writing->open_left = 0;
	return rc;
}

static bool has_inner(const struct json *object, struct json *ret_id)
{
	return json_get(object, "inner", ret_id) && ret_id->type == JSON_STRING;
}

/* The message up to which the line speaks of messages. */
static bool find_source(
	struct writing *writing, const struct log_record *record, const struct json *object, uint32_t *ret_node)
{
	struct json value, id;
	struct json_iter iter;

	if (record->kind == RECORD_COMPACTION) {
		if (!has_inner(object, &id))
			json_get(object, "cut", &id);
	} else {
		if (!json_get(object, "covers", &value))
			return false;
		json_iter_init(&iter, &value);
		while (json_iter_next(&iter, NULL, &id))
			continue;
	}
	return id.type == JSON_STRING &&
	       log_find(writing->log, json_string_content(&id, &writing->arena), ret_node, NULL) == 0;
}

/* Whether the messages up to there are those the line was made of: it says their hash, and one whose line is lost changes it. With
 * an inner cut they end before that message. */
static int has_its_source(
	struct writing *writing, const struct log_record *record, const struct json *object, uint32_t last, bool *ret_has)
{
	struct json source, inner;
	struct log_node node;
	char now[32];

	*ret_has = true;
	if (!json_get(object, "source", &source) || source.type != JSON_STRING)
		return 0;
	int rc = log_look_up_node(writing->log, last, &node, writing->error);
	if (!rc && record->kind == RECORD_COMPACTION && has_inner(object, &inner)) {
		if (node.parent == NODE_NONE)
			node.chain = 0;
		else
			rc = log_look_up_node(writing->log, node.parent, &node, writing->error);
	}
	if (rc)
		return rc;
	snprintf(now, sizeof(now), "chain:%016llx", (unsigned long long)node.chain);
	*ret_has = slice_is(json_string_content(&source, &writing->arena), now);
	return 0;
}

static int put_control(struct writing *writing, uint32_t number, const struct log_record *record)
{
	struct rewriting rewriting = {.parent = false};
	struct json object;
	uint32_t node = 0;
	bool has_source;
	int rc = log_record_read(writing->log, number, &writing->arena, &object, writing->error);

	if (rc)
		return rc;
	if (record->kind == RECORD_REWIND)
		return put_rewind(writing, record, &object);
	if (record->kind == RECORD_SEGMENT || record->kind == RECORD_COMPACTION) {
		if (!find_source(writing, record, &object, &node))
			return leave_out(writing, record, "a record of messages that are not in the log");
		if (node >= writing->changed)
			return leave_out(writing, record, "a record of messages that had to be changed");
		if ((rc = has_its_source(writing, record, &object, node, &has_source)) < 0)
			return rc;
		if (!has_source)
			return leave_out(writing, record, "a record of messages that are not what they were");
	}
	return put(writing, &object, record->seq, &rewriting);
}

static int put_record(struct writing *writing, uint32_t number)
{
	struct log_record record;
	int rc = log_record(writing->log, number, &record);

	if (rc)
		return rc;
	repair_pass_faults(writing, record.offset);
	arena_reset(&writing->arena);
	if (record.kind == RECORD_MESSAGE)
		return put_message(writing, record.node, record.head == record.node);
	/* What requests cost belongs to the session that paid; a copy would be counted a second time. */
	if (record.kind == RECORD_USAGE)
		return 0;
	/* What was read as something unknown may be what is left of the header. */
	if (record.kind == RECORD_SESSION || record.kind == RECORD_SYSTEM ||
		(writing->log->header_lost && record.offset == 0))
		return 0;
	return put_control(writing, number, &record);
}

/* ---- The whole -------------------------------------------------------------------------------------------
 */

static int put_inherited(struct writing *writing)
{
	int rc = 0;

	for (uint32_t node = 0; !rc && node < writing->log->index.base_count; node++) {
		struct log_node info;
		arena_reset(&writing->arena);
		if (!log_has_node(writing->log, node))
			continue;
		rc = log_node(writing->log, node, &info);
		if (!rc)
			rc = put_message(writing, node, !(info.flags & NODE_LATE));
	}
	return rc;
}

static int put_all(struct writing *writing)
{
	struct log *log = writing->log;
	int rc = 0;

	session_line_add(&writing->out, &writing->source->header, writing->now);
	buffer_add_char(&writing->out, '\n');
	if (writing->repair->detached)
		rc = repair_add_note(writing);
	else if (writing->repair->copied) {
		repair_mark_inherited(writing);
		rc = put_inherited(writing);
		if (!rc && log->emptied)
			rc = repair_add_note(writing);
	} else if (log->base) {
		writing->head = log->index.base_through;
		writing->last_seq = log->ancestry.parent_seq;
	}
	for (uint32_t i = 0; !rc && i < log_record_count(log); i++)
		rc = put_record(writing, i);
	if (rc)
		return rc;
	repair_pass_faults(writing, UINT64_MAX);
	uint64_t was = log_find_cut(log), is = log->index.state.position.offset;
	if (was) {
		repair_add_mark(writing, log_fault_text(FAULT_CUT), NULL, 0, is, was - is);
		writing->repair->left_out++;
	}
	return flush(writing, true);
}

int repair_write(void *data, int file, const char *name, struct bobbin_error *error)
{
	struct repair_source *source = data;
	struct log_repair *repair = source->repair;
	struct writing writing = {.source = source,
		.log = source->log,
		.repair = repair,
		.file = file,
		.name = name,
		.out = BUFFER_INIT(SIZE_MAX - 1),
		.error = error,
		.head = NODE_NONE,
		.changed = NODE_NONE};

	repair->messages = repair->left_out = repair->changed = repair->marked = repair->replayed = 0;
	time_text(source->log->platform->realtime_ns(source->log->platform->context), writing.now);
	int rc = put_all(&writing);
	buffer_release(&writing.out);
	arena_release(&writing.arena);
	arena_release(&writing.batch_arena);
	mem_free(writing.renamed);
	return rc;
}
