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
		index->newest[kind] = RECORD_NONE;
	index->head = base ? through : NODE_NONE;
	index->newest_late = NODE_NONE;
	index->last_seq = base ? index_node(base, through)->seq : 0;
	index->position.line = 1;
}

void index_release(struct index *index)
{
	mem_free(index->nodes);
	mem_free(index->records);
	mem_free(index->calls);
	mem_free(index->faults);
	buffer_release(&index->texts);
	table_release(&index->ids);
	table_release(&index->children);
	table_release(&index->call_ids);
}

struct index_mark index_mark(const struct index *index)
{
	struct index_mark mark = {
		.node_count = index->node_count,
		.record_count = index->record_count,
		.call_count = index->call_count,
		.fault_count = index->fault_count,
		.texts_len = index->texts.len,
		.head = index->head,
		.newest_late = index->newest_late,
		.damage = index->damage,
		.last_seq = index->last_seq,
		.fault_total = index->fault_total,
		.position = index->position,
	};
	memcpy(mark.newest, index->newest, sizeof(mark.newest));
	return mark;
}

void index_rollback(struct index *index, const struct index_mark *mark)
{
	index->node_count = mark->node_count;
	index->record_count = mark->record_count;
	index->call_count = mark->call_count;
	index->fault_count = mark->fault_count;
	index->texts.error = 0;
	if (index->texts.len > mark->texts_len)
		buffer_truncate(&index->texts, mark->texts_len);
	index->head = mark->head;
	index->newest_late = mark->newest_late;
	index->damage = mark->damage;
	index->last_seq = mark->last_seq;
	index->fault_total = mark->fault_total;
	index->position = mark->position;
	memcpy(index->newest, mark->newest, sizeof(mark->newest));
	table_truncate(&index->ids, mark->node_count);
	table_truncate(&index->children, mark->node_count);
	table_truncate(&index->call_ids, mark->call_count);
}

int index_add_fault(struct index *index, enum fault_kind kind, uint64_t line, uint64_t offset,
	uint64_t length, bool loses)
{
	if (index->fault_count < LIMIT_FAULTS_REPORTED) {
		if (mem_grow((void **)&index->faults, &index->fault_cap, (size_t)index->fault_count + 1,
			    sizeof(*index->faults)) < 0)
			return BOBBIN_ENOMEM;
		index->faults[index->fault_count++] =
			(struct log_fault){.kind = kind, .line = line, .offset = offset, .length = length};
	}
	index->fault_total++;
	if (loses)
		index->damage++;
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

uint32_t index_count(const struct index *index)
{
	return index->base_count + index->node_count;
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

const struct index_node *index_node(const struct index *index, uint32_t node)
{
	index = index_of(index, node, NULL);
	return &index->nodes[node - index->base_count];
}

uint32_t index_ancestor(const struct index *index, uint32_t node, uint32_t depth)
{
	while (node != NODE_NONE) {
		const struct index_node *entry = index_node(index, node);
		if (entry->depth == depth)
			return node;
		if (entry->depth < depth)
			return NODE_NONE;
		bool far = entry->jump != NODE_NONE && index_node(index, entry->jump)->depth >= depth;
		node = far ? entry->jump : entry->parent;
	}
	return NODE_NONE;
}

bool index_on_line(const struct index *index, uint32_t node, uint32_t head)
{
	if (node == NODE_NONE || head == NODE_NONE)
		return false;
	return index_ancestor(index, head, index_node(index, node)->depth) == node;
}

bool index_has(const struct index *index, uint32_t node)
{
	if (node >= index_count(index))
		return false;
	for (; node < index->base_count; index = index->base) {
		const struct index_node *entry = index_node(index, node);
		if (index_on_line(index, node, index->base_through))
			continue;
		if (!(entry->flags & NODE_LATE) || !index_on_line(index, entry->parent, index->base_through))
			return false;
	}
	return true;
}

static struct slice text_at(const struct index *index, uint64_t at, size_t len)
{
	return len ? (struct slice){index->texts.data + at, len} : (struct slice){NULL, 0};
}

struct slice index_own_id(const struct index *index, uint32_t node)
{
	index = index_of(index, node, NULL);
	const struct index_node *entry = &index->nodes[node - index->base_count];
	return text_at(index, entry->id_at, entry->id_len);
}

struct slice index_call_id(const struct index *index, uint32_t node)
{
	index = index_of(index, node, NULL);
	const struct index_node *entry = &index->nodes[node - index->base_count];
	return text_at(index, entry->call_at, entry->call_len);
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

/* The oldest own node of `level` with this id that is below `limit` and part of `index`. */
static uint32_t find_in(const struct index *index, const struct index *level, uint32_t limit, struct slice id,
	uint64_t hash, uint64_t seq)
{
	uint32_t found = NODE_NONE;

	for (uint32_t i = table_first(&level->ids, hash); i != TABLE_NONE; i = table_next(&level->ids, i)) {
		const struct index_node *entry = &level->nodes[i];
		uint32_t node = level->base_count + i;
		bool same = entry->id_len ? slice_equal(text_at(level, entry->id_at, entry->id_len), id)
					  : seq && entry->seq == seq;
		if (same && node < limit && index_has(index, node))
			found = node;
	}
	return found;
}

uint32_t index_find(const struct index *index, struct slice id)
{
	uint64_t hash = hash_bytes(id.data, id.len), seq = reserved_number(id);
	uint32_t limit = NODE_NONE;

	for (const struct index *level = index; level; limit = level->base_count, level = level->base) {
		uint32_t found = find_in(index, level, limit, id, hash, seq);
		if (found != NODE_NONE)
			return found;
	}
	return NODE_NONE;
}

int index_each_child(
	const struct index *index, uint32_t node, int (*each)(void *data, uint32_t child), void *data)
{
	uint32_t limit = NODE_NONE;

	for (const struct index *level = index; level; limit = level->base_count, level = level->base) {
		for (uint32_t i = table_first(&level->children, node); i != TABLE_NONE;
			i = table_next(&level->children, i)) {
			uint32_t child = level->base_count + i;
			int rc = 0;
			if (level->nodes[i].parent == node && child < limit && index_has(index, child))
				rc = each(data, child);
			if (rc)
				return rc;
		}
	}
	return 0;
}
