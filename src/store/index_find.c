/* SPDX-License-Identifier: MIT */
/* Finding nodes by key: in memory, then in the runs of the index file, newest first. */
#include "store/index.h"

#include "base/hash.h"
#include "base/id.h"
#include "store/index_file.h"

/* ---- Finding ---------------------------------------------------------------------------------------------
 */

void key_walk_init(struct key_walk *walk, const struct index *index, uint32_t key)
{
	*walk = (struct key_walk){index, key, table_first(&index->keys, key), NODE_NONE, 0, NODE_NONE};
}

/* The newest one in the runs that is older than the last; false when the file fails. */
static bool next_in_file(struct key_walk *walk, uint32_t *ret_ordinal)
{
	struct index_file *file = walk->index->prefix->file;
	struct index_pair pair;

	if (walk->run == NODE_NONE)
		walk->run = index_file_trailer(file)->run_count;
	for (;;) {
		if (walk->position > 0) {
			if (!index_file_pair(file, walk->run, walk->position - 1, &pair))
				return false;
			walk->position = pair.key == walk->key ? walk->position - 1 : 0;
			if (pair.key == walk->key) {
				*ret_ordinal = pair.ordinal;
				return true;
			}
		} else if (walk->run == 0) {
			*ret_ordinal = NODE_NONE;
			return true;
		} else if (!index_file_search(file, --walk->run, walk->key, &walk->position))
			return false;
	}
}

static uint32_t next_in_table(struct key_walk *walk, const struct table *table)
{
	uint32_t item = walk->item;

	if (item == TABLE_NONE)
		return NODE_NONE;
	walk->item = table_next(table, item);
	return table->items[item].value;
}

/* The newest one in what was read again that is older than the last. */
static uint32_t next_in_resident(const struct key_walk *walk, const struct table *table)
{
	uint32_t item = table_first(table, walk->key);

	while (item != TABLE_NONE && table->items[item].value >= walk->last)
		item = table_next(table, item);
	return item == TABLE_NONE ? NODE_NONE : table->items[item].value;
}

static uint32_t next_candidate(struct key_walk *walk)
{
	const struct index_prefix *prefix = walk->index->prefix;
	uint32_t ordinal = next_in_table(walk, &walk->index->keys);

	if (ordinal != NODE_NONE || !prefix || walk->index->all_keys)
		return ordinal;
	if (!prefix->resident && !prefix->failed && next_in_file(walk, &ordinal))
		return ordinal;
	index_reload(walk->index);
	return prefix->resident ? next_in_resident(walk, &prefix->resident->keys) : NODE_NONE;
}

uint32_t key_walk_next(struct key_walk *walk)
{
	uint32_t before = walk->last;

	/* Two keys of one node may happen to be equal. */
	do
		walk->last = next_candidate(walk);
	while (walk->last == before && before != NODE_NONE);
	return walk->last;
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
	struct index_node entry = index_own(level->index, ordinal);

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
		if (index_own(index, middle).seq < seq)
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
		if (index_own(index, ordinal).parent == node && counts(level, index->base_count + ordinal))
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
