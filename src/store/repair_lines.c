/* SPDX-License-Identifier: MIT */
/* Lines of a repaired log that the old one has not, and what its messages are called in it; see repair_inside.h. */
#include "store/repair_inside.h"

#include <stdio.h>
#include "base/alloc.h"

int repair_no_memory(struct writing *writing)
{
	return error_set(writing->error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- Names -----------------------------------------------------------------------------------------------
 */

int repair_rename_node(struct writing *writing, uint32_t node, uint64_t seq)
{
	if (mem_grow((void **)&writing->renamed, &writing->renamed_cap, writing->renamed_count + 1,
		    sizeof(*writing->renamed)) < 0)
		return repair_no_memory(writing);
	writing->renamed[writing->renamed_count++] = (struct renamed){node, seq};
	return 0;
}

const struct renamed *repair_find_renamed(const struct writing *writing, uint32_t node)
{
	size_t low = 0, high = writing->renamed_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (writing->renamed[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < writing->renamed_count && writing->renamed[low].node == node ? &writing->renamed[low] : NULL;
}

/* What a message is called in the new log, as a JSON value. */
int repair_add_name(struct writing *writing, uint32_t node, struct buffer *out)
{
	const struct renamed *renamed = node == NODE_NONE ? NULL : repair_find_renamed(writing, node);
	char id[PATH_ID_BYTES];
	int rc = 0;

	if (node == NODE_NONE && writing->note_seq)
		buffer_addf(out, "\"m%llu\"", (unsigned long long)writing->note_seq);
	else if (node == NODE_NONE)
		buffer_add_text(out, "null");
	else if (renamed)
		buffer_addf(out, "\"m%llu\"", (unsigned long long)renamed->seq);
	else if (!(rc = log_node_id(writing->log, node, id, writing->error))) {
		buffer_add_char(out, '"');
		json_escape(out, slice_of(id));
		buffer_add_char(out, '"');
	}
	return rc;
}

void repair_note_change(struct writing *writing, uint32_t node)
{
	if (node < writing->changed)
		writing->changed = node;
}

/* ---- Lines of our own ------------------------------------------------------------------------------------
 */

/* A session line, which has no number and changes no message: what stood here. */
void repair_add_mark(struct writing *writing, const char *kind, const char *of, uint64_t line, uint64_t offset, uint64_t bytes)
{
	size_t start = writing->out.len;
	struct json_writer writer;

	json_writer_init(&writer, &writing->out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "session");
	json_key(&writer, "repaired");
	json_begin_object(&writer);
	json_member_text(&writer, "was", kind);
	if (of)
		json_member_text(&writer, "of", of);
	if (line)
		json_member_uint(&writer, "line", line);
	json_member_uint(&writer, "offset", offset);
	json_member_uint(&writer, "bytes", bytes);
	json_end_object(&writer);
	json_member_text(&writer, "ts", writing->now);
	record_seal(&writing->out, start);
	buffer_add_char(&writing->out, '\n');
}

bool repair_fault_loses(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_TORN:
	case FAULT_NULS:
	case FAULT_UTF8:
	case FAULT_JSON:
	case FAULT_SHAPE:
	case FAULT_TOO_LONG:
	case FAULT_SYSTEM:
	case FAULT_REWIND:
	case FAULT_CUT:
		return true;
	default:
		return false;
	}
}

static void mark_fault(struct writing *writing, const struct log *log, const struct log_fault *fault)
{
	bool lost = repair_fault_loses(fault->kind) || (fault->kind == FAULT_HEADER && log->header_lost);

	if (!lost && fault->kind != FAULT_CRC)
		return;
	repair_add_mark(writing, log_fault_text(fault->kind), log == writing->log ? NULL : log->id, fault->line, fault->offset,
		fault->length);
	writing->repair->left_out += lost;
}

/* Beyond the first thousand they are only counted. */
void repair_pass_faults(struct writing *writing, uint64_t offset)
{
	size_t count;
	const struct log_fault *faults = log_faults(writing->log, &count);

	for (; writing->fault < count && faults[writing->fault].offset <= offset; writing->fault++)
		mark_fault(writing, writing->log, &faults[writing->fault]);
}

void repair_mark_inherited(struct writing *writing)
{
	for (const struct log *log = writing->log; log->base; log = log->base) {
		size_t count;
		const struct log_fault *faults = log_faults(log->base, &count);
		uint64_t end = log->base->is_copy ? UINT64_MAX : log->ancestry.parent_end;
		for (size_t i = 0; i < count && faults[i].offset < end; i++)
			mark_fault(writing, log->base, &faults[i]);
	}
}

static void add_message(struct writing *writing, uint64_t seq, const char *members)
{
	size_t start = writing->out.len;

	buffer_addf(&writing->out, "{\"seq\":%llu,%s,\"ts\":\"%s\"", (unsigned long long)seq, members, writing->now);
	record_seal(&writing->out, start);
	buffer_add_char(&writing->out, '\n');
	writing->last_seq = seq;
	writing->repair->messages++;
}

static void add_emptied(struct buffer *out, const struct log *log, uint64_t inherited)
{
	const struct session_line *meta = &log->unwritten;

	buffer_add_text(out, "[What stood here is lost: the log of this conversation was emptied.");
	if (log->emptied_messages > inherited)
		buffer_addf(out, " It counted %llu message%s.", (unsigned long long)(log->emptied_messages - inherited),
			log->emptied_messages - inherited == 1 ? "" : "s");
	if (meta->has_parent && !inherited)
		buffer_addf(out, " It went on from message %llu of session %s.", (unsigned long long)meta->forked_at, meta->parent_id);
	buffer_add_char(out, ']');
}

/* Where what was inherited, or what an emptied log held, would stand. */
int repair_add_note(struct writing *writing)
{
	const struct log *log = writing->log;
	const struct session_line *meta = &log->unwritten;
	struct buffer members = BUFFER_INIT(4096);
	uint64_t first = log_first_seq(log);

	buffer_add_text(&members, "\"role\":\"user\",\"origin\":\"injected\",\"content\":\"");
	if (log->emptied)
		add_emptied(&members, log, log->base ? log->ancestry.forked_at : 0);
	else if (log->header_lost)
		buffer_addf(&members,
			"[The beginning of this conversation is missing: what its log says of where it was forked from "
			"cannot be read any more%s%s%s.]",
			meta->has_parent ? " (it was session " : "", meta->has_parent ? meta->parent_id : "",
			meta->has_parent ? ")" : "");
	else
		buffer_addf(&members,
			"[The first %llu messages of this conversation are missing: they stood in session %s, which is "
			"gone, damaged or changed.]",
			(unsigned long long)log->line.forked_at, log->line.base_id);
	buffer_add_char(&members, '"');
	if (buffer_error(&members))
		return repair_no_memory(writing);
	writing->note_seq = log->emptied ? writing->last_seq + 1 : first > 1 ? first - 1 : 1;
	add_message(writing, writing->note_seq, members.data);
	repair_note_change(writing, 0);
	buffer_release(&members);
	return 0;
}

/* ---- Calls without a result ------------------------------------------------------------------------------
 */

int repair_open_batch(struct writing *writing, uint32_t node, const struct message *message)
{
	struct block_iter iter;
	struct block block;

	arena_reset(&writing->batch_arena);
	writing->open_count = writing->open_left = 0;
	writing->open_node = node;
	size_t calls = message->role == ROLE_ASSISTANT ? message_call_count(message) : 0;
	if (!calls)
		return 0;
	writing->open = arena_alloc(&writing->batch_arena, calls * sizeof(*writing->open));
	block_iter_init(&iter, message, &writing->arena);
	while (writing->open && writing->open_count < calls && block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_CALL)
			continue;
		const char *copy = arena_copy(&writing->batch_arena, block.call_id.data ? block.call_id.data : "",
			block.call_id.len);
		if (!copy)
			return repair_no_memory(writing);
		writing->open[writing->open_count++] = (struct slice){copy, block.call_id.len};
	}
	writing->open_left = writing->open_count;
	return writing->open ? 0 : repair_no_memory(writing);
}

void repair_answer(struct writing *writing, struct slice id)
{
	for (size_t i = 0; i < writing->open_count; i++)
		if (writing->open[i].data && slice_equal(writing->open[i], id)) {
			writing->open[i].data = NULL;
			writing->open_left--;
			return;
		}
}

static int add_answer(struct writing *writing, size_t call)
{
	const struct log_repair_options *options = writing->source->options;
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json record;
	bool marked = false;
	int rc = options->answer(
		options->data, writing->log, writing->open_node, call, &text, &marked, writing->error);

	if (!rc && buffer_error(&text))
		rc = repair_no_memory(writing);
	if (!rc)
		rc = json_parse(text.data, text.len, &record, writing->error);
	if (!rc) {
		record_add_line(&writing->out, &record, ++writing->last_seq, NULL, writing->now);
		buffer_add_char(&writing->out, '\n');
		writing->repair->messages++;
		writing->repair->marked += marked;
		writing->repair->replayed += !marked;
	}
	buffer_release(&text);
	return rc;
}

/* Puts results in where the lines that had them are lost, if their numbers are free. */
int repair_add_markers(struct writing *writing, uint64_t next_seq, bool *ret_any)
{
	int rc = 0;

	*ret_any = writing->open_left && next_seq > writing->last_seq &&
		   next_seq - writing->last_seq - 1 >= writing->open_left;
	for (size_t i = 0; !rc && *ret_any && i < writing->open_count; i++)
		if (writing->open[i].data)
			rc = add_answer(writing, i);
	writing->open_left = *ret_any ? 0 : writing->open_left;
	return rc;
}
