/* SPDX-License-Identifier: MIT */
/* The index's own life and the questions it answers; how records get in is in index_add.c. */
#include "store/index.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id.h"

void index_init(struct index *index, const struct index *base, uint32_t base_count, uint32_t through)
{
	*index = (struct index){.base = base, .base_count = base_count, .base_through = through};
	buffer_init(&index->texts, SIZE_MAX - 1);
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		index->state.newest[kind] = RECORD_NONE;
	index->state.head = base ? through : NODE_NONE;
	index->state.newest_late = NODE_NONE;
	index->state.last_seq = base ? index_node(base, through).seq : 0;
	index->state.position.line = 1;
}

void index_release(struct index *index)
{
	mem_free(index->nodes);
	mem_free(index->controls);
	mem_free(index->faults);
	buffer_release(&index->texts);
	table_release(&index->keys);
}

struct index_mark index_mark(const struct index *index)
{
	return (struct index_mark){index->state, index->texts.len, index->keys.count};
}

void index_rollback(struct index *index, const struct index_mark *mark)
{
	index->texts.error = 0;
	if (index->texts.len > mark->texts_len)
		buffer_truncate(&index->texts, mark->texts_len);
	index->state = mark->state;
	table_truncate(&index->keys, mark->key_count);
}

int index_add_fault(struct index *index, enum fault_kind kind, uint64_t line, uint64_t offset,
	uint64_t length, bool loses)
{
	struct index_state *state = &index->state;

	if (state->fault_count < LIMIT_FAULTS_REPORTED) {
		if (mem_grow((void **)&index->faults, &index->fault_cap, (size_t)state->fault_count + 1,
			    sizeof(*index->faults)) < 0)
			return BOBBIN_ENOMEM;
		index->faults[state->fault_count++] =
			(struct log_fault){.kind = kind, .line = line, .offset = offset, .length = length};
	}
	state->fault_total++;
	if (loses)
		state->damage++;
	return 0;
}

static uint64_t mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

uint64_t index_chain(uint64_t parent_chain, uint32_t crc, uint32_t length)
{
	return mix(mix(parent_chain) ^ ((uint64_t)crc << 32 | length));
}

uint32_t index_key(enum key_kind kind, uint64_t value)
{
	uint64_t hash = mix(value + (uint64_t)kind);
	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t index_count(const struct index *index)
{
	return index->base_count + index->state.node_count;
}

const struct index *index_of(const struct index *index, uint32_t node, uint32_t *ret_level)
{
	uint32_t level = 0;

	while (node < index->base_count) {
		index = index->base;
		level++;
	}
	if (ret_level)
		*ret_level = level;
	return index;
}

static struct index_node own_node(const struct index *index, uint32_t ordinal)
{
	static const struct index_node nowhere = {
		.parent = NODE_NONE, .jump = NODE_NONE, .head = NODE_NONE, .previous_late = NODE_NONE};

	if (ordinal >= index->state.node_count)
		return nowhere;
	return index->nodes[ordinal - index->first_node];
}

struct index_node index_node(const struct index *index, uint32_t node)
{
	index = index_of(index, node, NULL);
	return own_node(index, node - index->base_count);
}

struct index_control index_control(const struct index *index, uint32_t control)
{
	return index->controls[control - index->first_control];
}

uint32_t index_record_count(const struct index *index)
{
	return index->state.node_count + index->state.control_count;
}

bool index_record(
	const struct index *index, uint32_t record, struct index_control *ret_control, uint32_t *ret_node)
{
	uint32_t low = 0, high = index->state.control_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index_control(index, middle).record < record)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < index->state.control_count) {
		*ret_control = index_control(index, low);
		if (ret_control->record == record)
			return true;
	}
	/* `low` control records stand before it: all others are messages. */
	*ret_node = index->base_count + record - low;
	return false;
}

uint32_t index_ancestor(const struct index *index, uint32_t node, uint32_t depth)
{
	while (node != NODE_NONE) {
		struct index_node entry = index_node(index, node);
		if (entry.depth == depth)
			return node;
		if (entry.depth < depth)
			return NODE_NONE;
		bool far = entry.jump != NODE_NONE && index_node(index, entry.jump).depth >= depth;
		node = far ? entry.jump : entry.parent;
	}
	return NODE_NONE;
}

bool index_on_line(const struct index *index, uint32_t node, uint32_t head)
{
	if (node == NODE_NONE || head == NODE_NONE)
		return false;
	return index_ancestor(index, head, index_node(index, node).depth) == node;
}

bool index_has(const struct index *index, uint32_t node)
{
	if (node >= index_count(index))
		return false;
	for (; node < index->base_count; index = index->base) {
		if (index_on_line(index, node, index->base_through))
			continue;
		struct index_node entry = index_node(index, node);
		if (!(entry.flags & NODE_LATE) || !index_on_line(index, entry.parent, index->base_through))
			return false;
	}
	return true;
}

/* ---- Texts -----------------------------------------------------------------------------------------------
 */

/* All texts of a node in one piece. */
static struct slice texts_of(const struct index *index, const struct index_node *entry)
{
	if (!entry->text_len)
		return (struct slice){NULL, 0};
	return (struct slice){index->texts.data + entry->text_at, entry->text_len};
}

struct slice index_own_id(const struct index *index, uint32_t node)
{
	struct index_node entry = index_node(index, node);
	struct slice texts = texts_of(index_of(index, node, NULL), &entry);

	return entry.id_len && texts.data ? (struct slice){texts.data, entry.id_len}
					  : (struct slice){NULL, 0};
}

struct slice index_call_id(const struct index *index, uint32_t node)
{
	struct index_node entry = index_node(index, node);
	struct slice texts = texts_of(index_of(index, node, NULL), &entry);

	return entry.call_len && texts.data ? (struct slice){texts.data + entry.id_len, entry.call_len}
					    : (struct slice){NULL, 0};
}

bool index_has_call(const struct index *index, uint32_t node, struct slice id)
{
	struct index_node entry = index_node(index, node);
	struct slice texts = texts_of(index_of(index, node, NULL), &entry);
	size_t at = (size_t)entry.id_len + entry.call_len;
	uint32_t len;

	/* Each with its length before it. */
	while (texts.data && at + sizeof(len) <= texts.len) {
		memcpy(&len, texts.data + at, sizeof(len));
		at += sizeof(len);
		if (len > texts.len - at)
			break;
		if (slice_equal((struct slice){texts.data + at, len}, id))
			return true;
		at += len;
	}
	return false;
}

/* ---- Finding ---------------------------------------------------------------------------------------------
 */

void key_walk_init(struct key_walk *walk, const struct index *index, uint32_t key)
{
	*walk = (struct key_walk){index, key, table_first(&index->keys, key)};
}

uint32_t key_walk_next(struct key_walk *walk)
{
	uint32_t item = walk->item;

	if (item == TABLE_NONE)
		return NODE_NONE;
	walk->item = table_next(&walk->index->keys, item);
	return walk->index->keys.items[item].value;
}

/* m<seq> as a number; 0 if it is not of that form or too large. */
static uint64_t reserved_number(struct slice id)
{
	uint64_t number = 0;

	if (!id_is_reserved(id))
		return 0;
	for (size_t i = 1; i < id.len; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(id.data[i] - '0'), &number))
			return 0;
	return number;
}

/* One file's nodes that count for a session: those below the cut of the file above. */
struct level {
	const struct index *session, *index;
	uint32_t limit;
};

static bool counts(const struct level *level, uint32_t node)
{
	return node < level->limit && index_has(level->session, node);
}

/* The oldest node of a level with this id as its own. */
static uint32_t find_text(const struct level *level, struct slice id)
{
	uint32_t found = NODE_NONE, ordinal;
	struct key_walk walk;

	key_walk_init(&walk, level->index, index_key(KEY_ID, hash_bytes(id.data, id.len)));
	while ((ordinal = key_walk_next(&walk)) != NODE_NONE) {
		uint32_t node = level->index->base_count + ordinal;
		if (slice_equal(index_own_id(level->index, node), id) && counts(level, node))
			found = node;
	}
	return found;
}

/* Whether this node is found by m<seq>; `named`: not if it has an id of its own. */
static bool has_seq(const struct level *level, uint32_t ordinal, uint64_t seq, bool named)
{
	struct index_node entry = own_node(level->index, ordinal);

	return entry.seq == seq && !(named && entry.id_len) &&
	       counts(level, level->index->base_count + ordinal);
}

/* The oldest node of a level with this number: among those in order by halving, the others by key. */
static uint32_t find_seq(const struct level *level, uint64_t seq, bool named)
{
	const struct index *index = level->index;
	uint32_t low = 0, high = index->state.sorted_count, found = NODE_NONE, ordinal;
	struct key_walk walk;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (own_node(index, middle).seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < index->state.sorted_count && has_seq(level, low, seq, named))
		return index->base_count + low;
	if (index->state.sorted_count == index->state.node_count)
		return NODE_NONE;
	key_walk_init(&walk, index, index_key(KEY_SEQ, seq));
	while ((ordinal = key_walk_next(&walk)) != NODE_NONE)
		if (has_seq(level, ordinal, seq, named))
			found = index->base_count + ordinal;
	return found;
}

static uint32_t find(const struct index *index, struct slice id, bool named)
{
	uint64_t seq = reserved_number(id);
	struct level level = {index, index, NODE_NONE};

	for (; level.index; level.limit = level.index->base_count, level.index = level.index->base) {
		uint32_t by_text = named ? find_text(&level, id) : NODE_NONE;
		uint32_t by_seq = seq ? find_seq(&level, seq, named) : NODE_NONE;
		uint32_t found = by_text < by_seq ? by_text : by_seq;
		if (found != NODE_NONE)
			return found;
	}
	return NODE_NONE;
}

uint32_t index_find_named(const struct index *index, struct slice id)
{
	return find(index, id, true);
}

uint32_t index_find(const struct index *index, struct slice id)
{
	uint32_t found = find(index, id, true);
	return found != NODE_NONE ? found : find(index, id, false);
}

static int each_child_of(
	const struct level *level, uint32_t node, int (*each)(void *data, uint32_t child), void *data)
{
	const struct index *index = level->index;
	struct key_walk walk;
	uint32_t ordinal, next = node + 1;
	int rc = 0;

	key_walk_init(&walk, index, index_key(KEY_CHILD, node));
	while (!rc && (ordinal = key_walk_next(&walk)) != NODE_NONE)
		if (own_node(index, ordinal).parent == node && counts(level, index->base_count + ordinal))
			rc = each(data, index->base_count + ordinal);
	/* The one that directly follows has no key. */
	if (!rc && node != NODE_NONE && next >= index->base_count && next < index_count(index) &&
		index_node(index, next).parent == node && counts(level, next))
		rc = each(data, next);
	return rc;
}

int index_each_child(
	const struct index *index, uint32_t node, int (*each)(void *data, uint32_t child), void *data)
{
	struct level level = {index, index, NODE_NONE};
	int rc = 0;

	for (; !rc && level.index; level.limit = level.index->base_count, level.index = level.index->base)
		rc = each_child_of(&level, node, each, data);
	return rc;
}
