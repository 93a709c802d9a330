/* SPDX-License-Identifier: MIT */
/* The index's own life, its entries wherever they are, and lines through them. How records get in is in
 * index_add.c, how they are found in index_find.c. */
#include "store/index.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "store/index_file.h"

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

int index_attach(struct index *index, struct index_file *file,
	int (*reload)(void *data, struct index *ret_index), void *data)
{
	const struct index_state *state = &index_file_trailer(file)->state;

	index->prefix = mem_alloc_zero(sizeof(*index->prefix));
	if (!index->prefix)
		return BOBBIN_ENOMEM;
	int rc = mem_grow(
		(void **)&index->faults, &index->fault_cap, state->fault_count, sizeof(*index->faults));
	if (!rc && state->fault_count && !index_file_faults(file, index->faults))
		rc = BOBBIN_EIO;
	if (rc) {
		mem_free(index->prefix);
		index->prefix = NULL;
		return rc;
	}
	*index->prefix = (struct index_prefix){.file = file, .reload = reload, .data = data};
	index->state = *state;
	index->first_node = state->node_count;
	index->first_control = state->control_count;
	return 0;
}

static void prefix_free(struct index_prefix *prefix);

int index_move(struct index *index, struct index_file *file, uint32_t keys_max,
	int (*reload)(void *data, struct index *ret_index), void *data)
{
	struct index_prefix *prefix = mem_alloc_zero(sizeof(*prefix));

	if (!prefix)
		return BOBBIN_ENOMEM;
	index->all_keys = (!index->prefix || index->all_keys) && index->keys.count <= keys_max;
	prefix_free(index->prefix);
	*prefix = (struct index_prefix){.file = file, .reload = reload, .data = data};
	index->prefix = prefix;
	index->first_node = index->state.node_count;
	index->first_control = index->state.control_count;
	mem_free(index->nodes);
	mem_free(index->controls);
	index->nodes = NULL;
	index->controls = NULL;
	index->node_cap = index->control_cap = 0;
	buffer_release(&index->texts);
	buffer_init(&index->texts, SIZE_MAX - 1);
	if (!index->all_keys) {
		table_release(&index->keys);
		index->keys = (struct table){0};
	}
	return 0;
}

uint32_t index_resident_count(const struct index *index)
{
	return index_record_count(index) - index->first_node - index->first_control;
}

static void prefix_free(struct index_prefix *prefix)
{
	if (!prefix)
		return;
	index_file_close(prefix->file);
	if (prefix->resident)
		index_release(prefix->resident);
	mem_free(prefix->resident);
	mem_free(prefix);
}

bool index_same_state(const struct index_state *a, const struct index_state *b)
{
	return a->node_count == b->node_count && a->control_count == b->control_count &&
	       a->sorted_count == b->sorted_count && a->fault_count == b->fault_count &&
	       memcmp(a->newest, b->newest, sizeof(a->newest)) == 0 && a->head == b->head &&
	       a->newest_late == b->newest_late && a->damage == b->damage && a->last_seq == b->last_seq &&
	       a->fault_total == b->fault_total && a->position.offset == b->position.offset &&
	       a->position.line == b->position.line;
}

/* The file has failed: what was in it is read from the log again, and must be the same. */
void index_reload(const struct index *index)
{
	struct index_prefix *prefix = index->prefix;

	if (prefix->resident || prefix->failed)
		return;
	prefix->resident = mem_alloc_zero(sizeof(*prefix->resident));
	if (!prefix->resident) {
		prefix->failed = BOBBIN_ENOMEM;
		return;
	}
	index_init(prefix->resident, index->base, index->base_count, index->base_through);
	prefix->failed = prefix->reload(prefix->data, prefix->resident);
	if (!prefix->failed &&
		!index_same_state(&prefix->resident->state, &index_file_trailer(prefix->file)->state))
		prefix->failed = BOBBIN_ECORRUPT;
	if (prefix->failed) {
		index_release(prefix->resident);
		mem_free(prefix->resident);
		prefix->resident = NULL;
	}
}

int index_take_failure(const struct index *index)
{
	int failed = 0;

	for (; index; index = index->base) {
		if (!index->prefix || !index->prefix->failed)
			continue;
		failed = index->prefix->failed;
		index->prefix->failed = 0;
	}
	return failed;
}

bool index_has_failed(const struct index *index)
{
	for (; index; index = index->base)
		if (index->prefix && index->prefix->failed)
			return true;
	return false;
}

void index_release(struct index *index)
{
	prefix_free(index->prefix);
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

static const struct index_node NOWHERE = {
	.parent = NODE_NONE, .jump = NODE_NONE, .head = NODE_NONE, .previous_late = NODE_NONE};

struct index_node index_own(const struct index *index, uint32_t ordinal)
{
	const struct index_prefix *prefix = index->prefix;
	struct index_node entry;

	if (ordinal >= index->state.node_count)
		return NOWHERE;
	if (ordinal >= index->first_node)
		return index->nodes[ordinal - index->first_node];
	if (!prefix->resident && !prefix->failed && index_file_node(prefix->file, ordinal, &entry))
		return entry;
	index_reload(index);
	return prefix->resident ? prefix->resident->nodes[ordinal] : NOWHERE;
}

struct index_node index_node(const struct index *index, uint32_t node)
{
	index = index_of(index, node, NULL);
	return index_own(index, node - index->base_count);
}

struct index_control index_control(const struct index *index, uint32_t control)
{
	static const struct index_control none = {.head = NODE_NONE, .previous = RECORD_NONE};
	const struct index_prefix *prefix = index->prefix;
	struct index_control entry;

	if (control >= index->state.control_count)
		return none;
	if (control >= index->first_control)
		return index->controls[control - index->first_control];
	if (!prefix->resident && !prefix->failed && index_file_control(prefix->file, control, &entry))
		return entry;
	index_reload(index);
	return prefix->resident ? prefix->resident->controls[control] : none;
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

uint32_t index_record_of(const struct index *index, uint32_t node)
{
	uint32_t ordinal = node - index->base_count, low = 0, high = index->state.control_count;

	/* How many control records stand before it: those with no more nodes before them than it has. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index_control(index, middle).record - middle <= ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	return ordinal + low;
}

/* Straight stretches are one step, whatever their length; across branches two jumps are as good as halving.
 */
uint32_t index_ancestor(const struct index *index, uint32_t node, uint32_t depth)
{
	struct index_node entry = index_node(index, node);

	while (node != NODE_NONE && entry.depth > depth) {
		if (entry.depth - depth <= node - entry.straight)
			return node - (entry.depth - depth);
		struct index_node far = index_node(index, entry.jump);
		bool is_far = entry.jump != NODE_NONE && far.depth >= depth;
		node = is_far ? entry.jump : entry.parent;
		entry = is_far ? far : index_node(index, node);
	}
	return node != NODE_NONE && entry.depth == depth ? node : NODE_NONE;
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

static struct slice in_memory(const struct index *index, const struct index_node *entry)
{
	return (struct slice){index->texts.data + entry->text_at, entry->text_len};
}

/* `entry` is the node's; after a reload its texts stand elsewhere. */
static struct slice texts_of(const struct index *index, uint32_t node, const struct index_node *entry)
{
	struct slice texts = {NULL, 0};

	if (!entry->text_len)
		return texts;
	index = index_of(index, node, NULL);
	uint32_t ordinal = node - index->base_count;
	if (ordinal >= index->first_node)
		return in_memory(index, entry);
	if (!index->prefix->resident && !index->prefix->failed &&
		index_file_texts(index->prefix->file, ordinal, entry, &texts))
		return texts;
	index_reload(index);
	const struct index *resident = index->prefix->resident;
	return resident ? in_memory(resident, &resident->nodes[ordinal]) : texts;
}

struct slice index_texts(const struct index *index, uint32_t node)
{
	struct index_node entry = index_node(index, node);
	return texts_of(index, node, &entry);
}

struct slice index_own_id(const struct index *index, uint32_t node)
{
	struct index_node entry = index_node(index, node);
	struct slice texts = entry.id_len ? texts_of(index, node, &entry) : (struct slice){NULL, 0};

	return texts.data ? (struct slice){texts.data, entry.id_len} : texts;
}

struct slice index_call_id(const struct index *index, uint32_t node)
{
	struct index_node entry = index_node(index, node);
	struct slice texts = entry.call_len ? texts_of(index, node, &entry) : (struct slice){NULL, 0};

	return texts.data ? (struct slice){texts.data + entry.id_len, entry.call_len} : texts;
}

/* The next call's id in a node's texts, each with its length before it. */
static bool next_call(struct slice texts, size_t *at, struct slice *ret_id)
{
	uint32_t len;

	if (!texts.data || *at + sizeof(len) > texts.len)
		return false;
	memcpy(&len, texts.data + *at, sizeof(len));
	*at += sizeof(len);
	if (len > texts.len - *at)
		return false;
	*ret_id = (struct slice){texts.data + *at, len};
	*at += len;
	return true;
}

uint32_t index_count_calls(const struct index *index, uint32_t node, struct slice id)
{
	struct index_node entry = index_node(index, node);
	struct slice call, texts = texts_of(index, node, &entry);
	size_t at = (size_t)entry.id_len + entry.call_len;
	uint32_t count = 0;

	while (next_call(texts, &at, &call))
		count += slice_equal(call, id);
	return count;
}

int index_each_key(const struct index *index, uint32_t ordinal,
	int (*each)(void *data, uint32_t key, uint32_t ordinal), void *data)
{
	uint32_t node = index->base_count + ordinal;
	struct index_node entry = index_own(index, ordinal);
	struct slice call, texts = texts_of(index, node, &entry);
	size_t at = (size_t)entry.id_len + entry.call_len;
	int rc = 0;

	if (entry.id_len && texts.data)
		rc = each(data, index_key(KEY_ID, hash_bytes(texts.data, entry.id_len)), ordinal);
	while (!rc && next_call(texts, &at, &call))
		rc = each(data, index_key(KEY_CALL, hash_bytes(call.data, call.len)), ordinal);
	if (!rc && (entry.parent == NODE_NONE || entry.parent + 1 != node))
		rc = each(data, index_key(KEY_CHILD, entry.parent), ordinal);
	if (!rc && ordinal >= index->state.sorted_count)
		rc = each(data, index_key(KEY_SEQ, entry.seq), ordinal);
	return rc;
}
