/* SPDX-License-Identifier: MIT */
/*
 * How a record enters the index: whose child a message is, to which call a result belongs, where the head
 * goes. These rules are the meaning of the log: appending and reading both go through here, so they cannot
 * differ.
 */
#include "store/index.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "store/record.h"

/* Numbers above this are not exact in every reader of JSON, and leave no room to go on from. */
#define SEQ_MAX (UINT64_C(1) << 53)

/* A message on its way in. */
struct entering {
	const struct message *message;
	const struct index_place *place;
	uint64_t seq;
	uint32_t parent;
	uint32_t flags;
	bool moves_head;
};

/* The assistant message whose batch of calls is open at `node`: itself, or what its results follow. */
static uint32_t batch_at(const struct index *index, uint32_t node)
{
	if (node == NODE_NONE)
		return NODE_NONE;
	const struct index_node *entry = index_node(index, node);
	if (entry->role == ROLE_TOOL)
		node = index_ancestor(index, node, entry->round);
	return index_node(index, node)->calls ? node : NODE_NONE;
}

/* The newest message of this session that has a call of this id; with `batch`, only that one. */
static uint32_t find_call(const struct index *index, struct slice id, uint32_t batch)
{
	uint64_t hash = hash_bytes(id.data, id.len);
	uint32_t limit = NODE_NONE;

	for (const struct index *level = index; level; limit = level->base_count, level = level->base) {
		for (uint32_t i = table_first(&level->call_ids, hash); i != TABLE_NONE;
			i = table_next(&level->call_ids, i)) {
			const struct index_call *call = &level->calls[i];
			struct slice text = {level->texts.data + call->id_at, call->id_len};
			if (call->node < limit && (batch == NODE_NONE || call->node == batch) &&
				slice_equal(text, id) && index_has(index, call->node))
				return call->node;
		}
	}
	return NODE_NONE;
}

/* Whether a result for this call stands on the line between `batch` and `head`. A batch longer than any is
 * taken as answered. */
static bool is_answered(const struct index *index, uint32_t batch, uint32_t head, struct slice call_id)
{
	for (unsigned steps = 0; head != batch; steps++) {
		if (steps > 2 * LIMIT_CALLS_PER_MESSAGE || slice_equal(index_call_id(index, head), call_id))
			return true;
		head = index_node(index, head)->parent;
	}
	return false;
}

static void place_result(const struct index *index, struct entering *entering)
{
	struct slice id = entering->message->tool_call_id;
	bool follows_head = entering->message->parent_kind == PARENT_HEAD;
	uint32_t batch = batch_at(index, entering->parent);
	uint32_t call = NODE_NONE;

	if (id.len && batch != NODE_NONE)
		call = find_call(index, id, batch);
	if (call != NODE_NONE && !is_answered(index, batch, entering->parent, id)) {
		/* In the batch; given its call as parent while the head has moved on, it hangs beside the
		 * line. */
		if (!follows_head && entering->parent == call && entering->parent != index->head)
			entering->flags |= NODE_LATE;
		return;
	}
	if (call == NODE_NONE && id.len)
		call = find_call(index, id, NODE_NONE);
	if (call == NODE_NONE)
		entering->flags |= NODE_ORPHAN;
	else if (follows_head) {
		entering->flags |= NODE_LATE;
		entering->parent = call;
	}
}

/* Settles parent, flags and whether the head moves. BOBBIN_ENOMEM. */
static int place_message(struct index *index, struct entering *entering)
{
	const struct message *message = entering->message;
	int rc = 0;

	entering->parent = index->head;
	if (message->parent_kind == PARENT_ROOT)
		entering->parent = NODE_NONE;
	else if (message->parent_kind == PARENT_ID) {
		uint32_t parent = index_find(index, message->parent);
		if (parent != NODE_NONE)
			entering->parent = parent;
		else
			rc = index_add_fault(index, FAULT_PARENT, entering->place->line,
				entering->place->offset, entering->place->length, true);
	}
	if (message->role == ROLE_TOOL)
		place_result(index, entering);
	if (message->branch) {
		entering->flags |= NODE_BRANCH;
		entering->flags &= ~(uint32_t)NODE_LATE;
	}
	entering->moves_head =
		message->branch || (entering->parent == index->head && !(entering->flags & NODE_LATE));
	return rc;
}

static uint64_t add_text(struct index *index, struct slice text)
{
	uint64_t at = index->texts.len;
	buffer_add_slice(&index->texts, text);
	return at;
}

static void set_line(const struct index *index, struct index_node *entry)
{
	struct path_item item = {.role = entry->role, .origin = entry->origin};
	struct path_item before;

	if (entry->parent == NODE_NONE) {
		entry->jump = NODE_NONE;
		path_item_place(&item, 0, NULL);
	} else {
		const struct index_node *parent = index_node(index, entry->parent);
		const struct index_node *far =
			parent->jump == NODE_NONE ? NULL : index_node(index, parent->jump);
		before = (struct path_item){.role = parent->role,
			.origin = parent->origin,
			.turn = parent->turn,
			.round = parent->round};
		entry->depth = parent->depth + 1;
		/* Skew-binary jumps: two jumps of equal length become one. */
		bool equal = far && far->jump != NODE_NONE &&
			     parent->depth - far->depth == far->depth - index_node(index, far->jump)->depth;
		entry->jump = equal ? far->jump : entry->parent;
		path_item_place(&item, entry->depth, &before);
	}
	entry->turn = (uint32_t)item.turn;
	entry->round = (uint32_t)item.round;
}

static void set_sums(const struct index *index, struct index_node *entry, const struct message_size *size)
{
	uint64_t tokens = message_size_tokens(size);
	uint64_t chain = 0;

	entry->calls = size->calls;
	entry->fixed_sum = (uint64_t)size->image_tokens + size->frame_tokens;
	entry->tokens_sum = tokens > UINT32_MAX ? UINT32_MAX : tokens;
	entry->bytes_sum = entry->length;
	entry->visible_sum = size->visible_bytes;
	entry->classes_sum = size->classes;
	if (entry->parent != NODE_NONE) {
		const struct index_node *parent = index_node(index, entry->parent);
		entry->tokens_sum += parent->tokens_sum;
		entry->bytes_sum += parent->bytes_sum;
		entry->visible_sum += parent->visible_sum;
		entry->fixed_sum += parent->fixed_sum;
		token_classes_sum(&entry->classes_sum, &parent->classes_sum);
		chain = parent->chain;
	}
	entry->chain = index_chain(chain, entry->crc, entry->length);
}

static int add_calls(struct index *index, const struct message *message, uint32_t node, struct arena *arena)
{
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_CALL || block.call_id.len == 0)
			continue;
		if (mem_grow((void **)&index->calls, &index->call_cap, (size_t)index->call_count + 1,
			    sizeof(*index->calls)) < 0 ||
			table_push(&index->call_ids, hash_bytes(block.call_id.data, block.call_id.len)) < 0)
			return BOBBIN_ENOMEM;
		index->calls[index->call_count++] = (struct index_call){
			add_text(index, block.call_id), (uint32_t)block.call_id.len, node};
	}
	return iter.error;
}

static int push_node(struct index *index, struct index_node *entry, struct slice id)
{
	char own[PATH_ID_BYTES];

	if (index_count(index) >= NODE_NONE - 1)
		return BOBBIN_ELIMIT;
	if (!id.len) {
		struct buffer text = BUFFER_INIT(sizeof(own));
		buffer_add_char(&text, 'm');
		buffer_add_u64(&text, entry->seq);
		if (buffer_error(&text))
			return BOBBIN_ENOMEM;
		memcpy(own, text.data, text.len);
		id = (struct slice){own, text.len};
		buffer_release(&text);
	}
	if (mem_grow((void **)&index->nodes, &index->node_cap, (size_t)index->node_count + 1,
		    sizeof(*index->nodes)) < 0 ||
		table_push(&index->ids, hash_bytes(id.data, id.len)) < 0 ||
		table_push(&index->children, entry->parent) < 0)
		return BOBBIN_ENOMEM;
	index->nodes[index->node_count++] = *entry;
	return buffer_error(&index->texts);
}

static int enter(
	struct index *index, struct entering *entering, struct arena *arena, struct message_size *size)
{
	const struct message *message = entering->message;
	const struct index_place *place = entering->place;
	const struct index_node *last = index->node_count ? &index->nodes[index->node_count - 1] : NULL;
	uint32_t node = index_count(index);
	int rc;

	struct index_node entry = {
		.offset = place->offset,
		.seq = entering->seq,
		.id_at = add_text(index, message->id),
		.call_at = add_text(index, message->tool_call_id),
		.length = place->length,
		.crc = place->crc,
		.parent = entering->parent,
		.damage = index->damage,
		.record = index->record_count,
		.call_len = (uint32_t)message->tool_call_id.len,
		.previous_late = index->newest_late,
		.id_len = (uint16_t)message->id.len,
		.role = (uint8_t)message->role,
		.origin = (uint8_t)message->origin,
		.marker = (uint8_t)message->marker,
	};
	if (index->damage > (last ? last->damage : 0))
		entering->flags |= NODE_GAP;
	if (message->id.len)
		entering->flags |= NODE_OWN_ID;
	entry.flags = (uint8_t)entering->flags;
	set_line(index, &entry);
	set_sums(index, &entry, size);
	if ((rc = push_node(index, &entry, message->id)) < 0 ||
		(rc = entry.calls ? add_calls(index, message, node, arena) : 0) < 0)
		return rc;
	if (entering->moves_head)
		index->head = node;
	if (entering->flags & NODE_LATE)
		index->newest_late = node;
	return buffer_error(&index->texts);
}

static int add_message(struct index *index, const struct json *record, const struct index_place *place,
	bool bad_crc, struct arena *arena, uint64_t *ret_seq, struct bobbin_error *error)
{
	struct message message;
	struct message_size size;
	int rc = message_parse(record, arena, &message, error);

	if (rc)
		return rc;
	if (message.id.len > LIMIT_MESSAGE_ID_BYTES)
		return error_set(error, BOBBIN_EINPUT, "a message id of %zu bytes", message.id.len);
	if (message_measure(&message, arena, &size) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	struct entering entering = {.message = &message, .place = place, .flags = bad_crc ? NODE_CRC : 0};
	if (message.seq > SEQ_MAX)
		return error_set(error, BOBBIN_EINPUT, "a message whose \"seq\" is too large");
	*ret_seq = entering.seq = message.seq ? message.seq : index->last_seq + 1;
	if (message.id.len && index_find(index, message.id) != NODE_NONE)
		rc = index_add_fault(
			index, FAULT_DUPLICATE_ID, place->line, place->offset, place->length, false);
	if (!rc)
		rc = place_message(index, &entering);
	if (!rc)
		rc = enter(index, &entering, arena, &size);
	return rc ? error_set(error, rc, rc == BOBBIN_ELIMIT ? "too many messages" : "out of memory") : 0;
}

static int add_rewind(struct index *index, const struct json *record, const struct index_place *place,
	struct arena *arena, struct bobbin_error *error)
{
	struct json to;
	struct slice id;
	uint32_t node;

	if (!json_get(record, "to", &to) || (to.type != JSON_STRING && to.type != JSON_NULL))
		return error_set(error, BOBBIN_EINPUT, "a rewind whose \"to\" is neither an id nor null");
	if (to.type == JSON_NULL) {
		index->head = NODE_NONE;
		return 0;
	}
	id = json_string_content(&to, arena);
	if (!id.data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	node = index_find(index, id);
	if (node != NODE_NONE)
		index->head = node;
	else if (index_add_fault(index, FAULT_REWIND, place->line, place->offset, place->length, true) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 0;
}

static uint64_t control_seq(const struct index *index, const struct json *record, enum record_kind kind)
{
	struct json seq;
	int64_t value;

	if (json_get(record, "seq", &seq) && json_int64(&seq, &value) && value > 0 &&
		(uint64_t)value <= SEQ_MAX)
		return (uint64_t)value;
	return kind == RECORD_SESSION ? 0 : index->last_seq + 1;
}

static int note_faults(
	struct index *index, const struct json *record, const struct index_place *place, bool bad_crc)
{
	int rc = 0;

	if (bad_crc)
		rc = index_add_fault(index, FAULT_CRC, place->line, place->offset, place->length, false);
	if (!rc && json_has_duplicate_key(record, NULL))
		rc = index_add_fault(
			index, FAULT_DUPLICATE_KEY, place->line, place->offset, place->length, false);
	return rc;
}

int index_add(struct index *index, const struct json *record, enum record_kind kind,
	const struct index_place *where, struct arena *arena, struct bobbin_error *error)
{
	struct index_place place = *where;
	bool bad_crc = record_crc_is_wrong(record, &place.crc);
	uint32_t nodes_before = index->node_count;
	uint64_t seq = 0;
	int rc = 0;

	if (kind == RECORD_MESSAGE)
		rc = add_message(index, record, &place, bad_crc, arena, &seq, error);
	else {
		seq = control_seq(index, record, kind);
		if (kind == RECORD_REWIND)
			rc = add_rewind(index, record, &place, arena, error);
	}
	if (rc)
		return rc;
	if (note_faults(index, record, &place, bad_crc) < 0 ||
		mem_grow((void **)&index->records, &index->record_cap, (size_t)index->record_count + 1,
			sizeof(*index->records)) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	index->records[index->record_count] = (struct index_record){
		.offset = place.offset,
		.seq = seq,
		.length = place.length,
		.crc = place.crc,
		.node = index->node_count > nodes_before ? index_count(index) - 1 : NODE_NONE,
		.head = index->head,
		.previous = index->newest[kind],
		.kind = kind,
	};
	index->newest[kind] = index->record_count++;
	if (seq > index->last_seq)
		index->last_seq = seq;
	return 0;
}
