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
	struct index_node entry = index_node(index, node);
	if (entry.role == ROLE_TOOL) {
		node = index_ancestor(index, node, entry.round);
		entry = index_node(index, node);
	}
	return entry.calls ? node : NODE_NONE;
}

/* The newest message of this session that has a call of this id; with `batch`, only that one. */
static uint32_t find_call(const struct index *index, struct slice id, uint32_t batch)
{
	uint32_t key = index_key(KEY_CALL, hash_bytes(id.data, id.len));
	uint32_t limit = NODE_NONE, ordinal;

	for (const struct index *level = index; level; limit = level->base_count, level = level->base) {
		struct key_walk walk;
		key_walk_init(&walk, level, key);
		while ((ordinal = key_walk_next(&walk)) != NODE_NONE) {
			uint32_t node = level->base_count + ordinal;
			if (node < limit && (batch == NODE_NONE || node == batch) &&
				index_count_calls(level, node, id) && index_has(index, node))
				return node;
		}
	}
	return NODE_NONE;
}

/* Whether as many results for this id as there are calls of it stand on the line between `batch` and `head`.
 * A batch longer than any is taken as answered. */
static bool is_answered(const struct index *index, uint32_t batch, uint32_t head, struct slice call_id)
{
	uint32_t open = index_count_calls(index, batch, call_id);

	for (unsigned steps = 0; head != batch; steps++) {
		if (steps > 2 * LIMIT_CALLS_PER_MESSAGE ||
			(slice_equal(index_call_id(index, head), call_id) && --open == 0))
			return true;
		head = index_node(index, head).parent;
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
		if (!follows_head && entering->parent == call && entering->parent != index->state.head)
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

	entering->parent = index->state.head;
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
		message->branch || (entering->parent == index->state.head && !(entering->flags & NODE_LATE));
	return rc;
}

/* `parent` NULL: a root. */
static void set_line(const struct index *index, struct index_node *entry, const struct index_node *parent)
{
	struct path_item item = {.role = entry->role, .origin = entry->origin};
	struct path_item before;

	if (!parent) {
		entry->jump = NODE_NONE;
		path_item_place(&item, 0, NULL);
	} else {
		before = (struct path_item){.role = parent->role,
			.origin = parent->origin,
			.turn = parent->turn,
			.round = parent->round};
		entry->depth = parent->depth + 1;
		entry->jump = entry->parent;
		if (entry->parent + 1 == entry->straight)
			entry->straight = parent->straight;
		/* Skew-binary jumps: two jumps of equal length become one. */
		if (parent->jump != NODE_NONE) {
			struct index_node far = index_node(index, parent->jump);
			if (far.jump != NODE_NONE &&
				parent->depth - far.depth == far.depth - index_node(index, far.jump).depth)
				entry->jump = far.jump;
		}
		path_item_place(&item, entry->depth, &before);
	}
	entry->turn = (uint32_t)item.turn;
	entry->round = (uint32_t)item.round;
}

static void set_sums(
	struct index_node *entry, const struct index_node *parent, const struct message_size *size)
{
	uint64_t tokens = message_size_tokens(size);

	entry->calls = size->calls;
	entry->fixed_sum = (uint64_t)size->image_tokens + size->frame_tokens;
	entry->tokens_sum = tokens > UINT32_MAX ? UINT32_MAX : tokens;
	entry->bytes_sum = entry->length;
	entry->classes_sum = size->classes;
	if (parent) {
		entry->tokens_sum += parent->tokens_sum;
		entry->bytes_sum += parent->bytes_sum;
		entry->fixed_sum += parent->fixed_sum;
		token_classes_sum(&entry->classes_sum, &parent->classes_sum);
	}
	entry->chain = index_chain(parent ? parent->chain : 0, entry->crc, entry->length);
}

static int add_key(struct index *index, enum key_kind kind, uint64_t value)
{
	return table_push(&index->keys, index_key(kind, value), index->state.node_count);
}

/* Its own id, the id it answers, then the ids of its calls, each with its length before it. */
static int add_texts(
	struct index *index, struct index_node *entry, const struct message *message, struct arena *arena)
{
	struct block_iter iter = {0};
	struct block block;

	entry->text_at = index->texts.len;
	buffer_add_slice(&index->texts, message->id);
	buffer_add_slice(&index->texts, message->tool_call_id);
	if (message->id.len && add_key(index, KEY_ID, hash_bytes(message->id.data, message->id.len)) < 0)
		return BOBBIN_ENOMEM;
	if (entry->calls)
		block_iter_init(&iter, message, arena);
	while (entry->calls && block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_CALL || block.call_id.len == 0)
			continue;
		uint32_t len = (uint32_t)block.call_id.len;
		buffer_add(&index->texts, &len, sizeof(len));
		buffer_add_slice(&index->texts, block.call_id);
		if (add_key(index, KEY_CALL, hash_bytes(block.call_id.data, block.call_id.len)) < 0)
			return BOBBIN_ENOMEM;
	}
	entry->text_len = (uint32_t)(index->texts.len - entry->text_at);
	return iter.error ? iter.error : buffer_error(&index->texts);
}

static int push_node(struct index *index, const struct index_node *entry)
{
	struct index_state *state = &index->state;
	uint32_t node = index_count(index);

	if (node >= NODE_NONE - 1)
		return BOBBIN_ELIMIT;
	bool follows = entry->parent != NODE_NONE && entry->parent + 1 == node;
	bool sorted = state->sorted_count == state->node_count &&
		      (node == index->base_count || index_node(index, node - 1).seq < entry->seq);
	if (mem_grow((void **)&index->nodes, &index->node_cap,
		    (size_t)state->node_count - index->first_node + 1, sizeof(*index->nodes)) < 0 ||
		(!follows && add_key(index, KEY_CHILD, entry->parent) < 0) ||
		(!sorted && add_key(index, KEY_SEQ, entry->seq) < 0))
		return BOBBIN_ENOMEM;
	index->nodes[state->node_count - index->first_node] = *entry;
	state->node_count++;
	state->sorted_count += sorted;
	return 0;
}

/* Numbers grow. In a log that is no fork, as many records as they say stand before the first message. Only
 * numbers that the log says count: those of messages without one are made up here. */
static int check_sequence(struct index *index, const struct entering *entering)
{
	const struct index_state *state = &index->state;
	const struct index_place *place = entering->place;
	uint64_t seq = entering->message->seq;
	uint32_t node = index_count(index);

	if (seq && !state->node_count) {
		uint64_t before = state->control_count - (state->newest[RECORD_SESSION] != RECORD_NONE);
		if (index->base || index->repaired || state->fault_total || seq <= before + 1)
			return 0;
		return index_add_fault(index, FAULT_MISSING, place->line, place->offset, place->length, true);
	}
	if (!seq || seq > state->last_seq ||
		(seq > index_node(index, node - 1).seq &&
			seq > index_node(index, index->base_count + state->sorted_count - 1).seq))
		return 0;
	return index_add_fault(index, FAULT_SEQUENCE, place->line, place->offset, place->length, false);
}

static int enter(
	struct index *index, struct entering *entering, struct arena *arena, struct message_size *size)
{
	const struct message *message = entering->message;
	const struct index_place *place = entering->place;
	struct index_node parent = {0};
	bool root = entering->parent == NODE_NONE;
	uint32_t node = index_count(index);
	uint32_t damage_before = index->state.node_count ? index_node(index, node - 1).damage : 0;
	int rc = check_sequence(index, entering);

	if (rc)
		return rc;
	if (index->state.damage > damage_before)
		entering->flags |= NODE_GAP;
	if (message->id.len)
		entering->flags |= NODE_OWN_ID;
	struct index_node entry = {
		.offset = place->offset,
		.seq = entering->seq,
		.length = place->length,
		.crc = place->crc,
		.parent = entering->parent,
		.damage = index->state.damage,
		.straight = node,
		.head = entering->moves_head ? node : index->state.head,
		.call_len = (uint32_t)message->tool_call_id.len,
		.previous_late = index->state.newest_late,
		.id_len = (uint32_t)message->id.len,
		.role = (uint8_t)message->role,
		.origin = (uint8_t)message->origin,
		.marker = (uint8_t)message->marker,
		.flags = (uint8_t)entering->flags,
	};
	if (!root)
		parent = index_node(index, entering->parent);
	set_line(index, &entry, root ? NULL : &parent);
	set_sums(&entry, root ? NULL : &parent, size);
	if ((rc = add_texts(index, &entry, message, arena)) < 0 || (rc = push_node(index, &entry)) < 0)
		return rc;
	index->state.newest[RECORD_MESSAGE] = index_record_count(index) - 1;
	index->state.head = entry.head;
	if (entering->flags & NODE_LATE)
		index->state.newest_late = node;
	return 0;
}

static int add_message(struct index *index, const struct json *record, const struct index_place *place,
	bool bad_crc, struct arena *arena, uint64_t *ret_seq, bool *ret_keys_differ,
	struct bobbin_error *error)
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
	*ret_keys_differ = message.keys_differ;
	*ret_seq = entering.seq = message.seq ? message.seq : index->state.last_seq + 1;
	if (message.id.len && index_find_named(index, message.id) != NODE_NONE)
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
		index->state.head = NODE_NONE;
		return 0;
	}
	id = json_string_content(&to, arena);
	if (!id.data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	node = index_find(index, id);
	if (node != NODE_NONE)
		index->state.head = node;
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
	return kind == RECORD_SESSION ? 0 : index->state.last_seq + 1;
}

static int note_faults(struct index *index, const struct json *record, const struct index_place *place,
	bool bad_crc, bool keys_differ)
{
	int rc = 0;

	if (bad_crc)
		rc = index_add_fault(index, FAULT_CRC, place->line, place->offset, place->length, false);
	if (!rc && !keys_differ && json_has_duplicate_key(record, NULL))
		rc = index_add_fault(
			index, FAULT_DUPLICATE_KEY, place->line, place->offset, place->length, false);
	return rc;
}

static int add_control(
	struct index *index, enum record_kind kind, const struct index_place *place, uint64_t seq)
{
	struct index_state *state = &index->state;

	if (mem_grow((void **)&index->controls, &index->control_cap,
		    (size_t)state->control_count - index->first_control + 1, sizeof(*index->controls)) < 0)
		return BOBBIN_ENOMEM;
	uint32_t record = index_record_count(index);
	index->controls[state->control_count - index->first_control] = (struct index_control){
		.offset = place->offset,
		.seq = seq,
		.length = place->length,
		.crc = place->crc,
		.record = record,
		.head = state->head,
		.previous = state->newest[kind],
		.kind = kind,
	};
	state->control_count++;
	state->newest[kind] = record;
	return 0;
}

int index_add(struct index *index, const struct json *record, enum record_kind kind,
	const struct index_place *where, struct arena *arena, struct bobbin_error *error)
{
	struct index_place place = *where;
	bool bad_crc = record_crc_is_wrong(record, &place.crc);
	bool keys_differ = false;
	uint64_t seq = 0;
	int rc = 0;

	if (kind == RECORD_MESSAGE)
		rc = add_message(index, record, &place, bad_crc, arena, &seq, &keys_differ, error);
	else {
		seq = control_seq(index, record, kind);
		if (kind == RECORD_REWIND)
			rc = add_rewind(index, record, &place, arena, error);
		if (!rc && add_control(index, kind, &place, seq) < 0)
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	if (rc)
		return rc;
	if (note_faults(index, record, &place, bad_crc, keys_differ) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (seq > index->state.last_seq)
		index->state.last_seq = seq;
	return 0;
}
