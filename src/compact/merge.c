/* SPDX-License-Identifier: MIT */
/*
 * Collecting the items of segment records, and joining those before a cut.
 *
 * Adding does what does not depend on the cut: places become positions, statements are normalised and
 * hashed. Finishing goes through the entries once: it keeps those before the cut, joins equal ones
 * through a hash table, and then lets reconcile.c set states.
 *
 * Invariants: those of merge.h, and (5) entries are in the order of their ranges, inside a range of
 * their first source.
 */
#include "compact/merge.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "compact/merge_entry.h"
#include "compact/words.h"
#include "transcript/path.h"

struct range {
	size_t from, to;
	size_t first; /* entry */
	bool missing;
};

struct compact_merge {
	struct arena arena;
	struct compact_record items; /* copies of everything that was added */
	struct merge_entry *entries; /* one for each item */
	size_t entry_cap;
	struct range *ranges;
	size_t range_count, range_cap;
};

int compact_merge_new(struct compact_merge **ret_merge)
{
	struct compact_merge *merge = mem_alloc_zero(sizeof *merge);

	if (!merge)
		return BOBBIN_ENOMEM;
	compact_record_init(&merge->items, &merge->arena);
	*ret_merge = merge;
	return 0;
}

void compact_merge_free(struct compact_merge *merge)
{
	if (!merge)
		return;
	mem_free(merge->entries);
	mem_free(merge->ranges);
	arena_release(&merge->arena);
	mem_free(merge);
}

size_t compact_merge_end(const struct compact_merge *merge)
{
	return merge->range_count ? merge->ranges[merge->range_count - 1].to : 0;
}

/* Case tells values apart; in sentences it does not. */
static bool case_counts(const struct compact_item *item)
{
	switch (item->tag) {
	case TAG_ID:
	case TAG_PATH:
	case TAG_URL:
	case TAG_HASH:
	case TAG_QUOTE:
		return item->kind == ITEM_FACT;
	default:
		return item->kind == ITEM_FILE;
	}
}

static int fill_entry(struct compact_merge *merge, const struct compact_item *item, struct merge_entry *entry)
{
	entry->text = words_normalise(item->text, case_counts(item), &merge->arena);
	entry->key = words_normalise(item->key, false, &merge->arena);
	if (!entry->text.data || !entry->key.data)
		return BOBBIN_ENOMEM;
	entry->hash = hash_bytes(entry->text.data, entry->text.len) + (uint64_t)item->kind;
	entry->key_hash = hash_bytes(entry->key.data, entry->key.len);
	words_of(item->key.len ? item->key : item->text, &entry->words);
	return 0;
}

static int add_range(struct compact_merge *merge, size_t from, size_t to, bool missing)
{
	int rc = mem_grow(
		(void **)&merge->ranges, &merge->range_cap, merge->range_count + 1, sizeof *merge->ranges);

	if (!rc)
		merge->ranges[merge->range_count++] = (struct range){from, to, merge->items.count, missing};
	return rc;
}

int compact_merge_add_missing(struct compact_merge *merge, size_t from, size_t to, struct bobbin_error *error)
{
	int rc = add_range(merge, from, to, true);

	return rc ? error_set(error, rc, "out of memory while merging records") : 0;
}

/* All of an item's places are inside the range, and there is one. */
static bool is_placed(const struct compact_item *item, size_t len)
{
	for (uint32_t i = 0; i < item->source_count; i++)
		if (item->sources[i].place >= len)
			return false;
	return item->source_count > 0;
}

static int add_item(struct compact_merge *merge, const struct compact_item *from_item, size_t from, size_t to)
{
	struct compact_item *item;
	int rc;

	if (!is_placed(from_item, to - from))
		return 0;
	if ((rc = mem_grow((void **)&merge->entries, &merge->entry_cap, merge->items.count + 1,
		     sizeof *merge->entries)))
		return rc;
	if (!(item = compact_record_add(&merge->items, from_item, &rc)))
		return rc;
	for (uint32_t i = 0; i < item->source_count; i++)
		item->sources[i].place += (uint32_t)from;
	item->proof = item->proof.place < to - from
			      ? (struct item_source){item->proof.place + (uint32_t)from, {NULL, 0}}
			      : compact_item_make(item->kind).proof;
	return fill_entry(merge, item, &merge->entries[merge->items.count - 1]);
}

struct order {
	uint32_t place, index;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int compact_merge_add(struct compact_merge *merge, const struct compact_record *record, size_t from,
	size_t to, struct bobbin_error *error)
{
	struct order *order = mem_alloc((record->count + 1) * sizeof *order);
	size_t count = merge->items.count;
	int rc = order ? add_range(merge, from, to, false) : BOBBIN_ENOMEM;

	for (size_t i = 0; i < record->count && !rc; i++) {
		const struct compact_item *item = &record->items[i];

		order[i] = (struct order){item->source_count ? item->sources[0].place : 0, (uint32_t)i};
	}
	if (!rc && record->count)
		qsort(order, record->count, sizeof *order, compare_order);
	for (size_t i = 0; i < record->count && !rc; i++)
		rc = add_item(merge, &record->items[order[i].index], from, to);
	mem_free(order);
	if (!rc)
		return 0;
	if (merge->range_count && merge->ranges[merge->range_count - 1].first == count)
		merge->range_count--;
	merge->items.count = count;
	return error_set(error, rc, "out of memory while merging records");
}

/* ---- Finishing */

struct finish {
	const struct compact_merge *merge;
	const struct compact_merge_options *options;
	struct compact_record *record;
	struct merge_entry *entries; /* of the record's items; they point to the merge's texts */
	uint32_t *table;	     /* record items by hash; UINT32_MAX: free */
	size_t mask;
};

static bool is_covered(const struct finish *finish, size_t place)
{
	const struct compact_merge_options *options = finish->options;

	if (options->inner == COMPACT_NO_INNER)
		return place < options->cut;
	return place < options->inner && place != options->cut;
}

static size_t covered_end(const struct compact_merge_options *options)
{
	return options->inner == COMPACT_NO_INNER ? options->cut : options->inner;
}

enum standing { COVERED, LATER, VERBATIM };

/* VERBATIM: it stands in the message at the cut, which is shown; LATER: also in messages after it. */
static enum standing stands(const struct finish *finish, const struct compact_item *item)
{
	uint32_t covered = 0;

	for (uint32_t i = 0; i < item->source_count; i++) {
		if (is_covered(finish, item->sources[i].place))
			covered++;
		else if (item->sources[i].place >= covered_end(finish->options))
			return LATER;
	}
	return covered ? COVERED : VERBATIM;
}

static uint32_t *find_slot(
	const struct finish *finish, const struct compact_item *item, const struct merge_entry *entry)
{
	for (size_t at = (size_t)entry->hash & finish->mask;; at = (at + 1) & finish->mask) {
		uint32_t index = finish->table[at];

		if (index == UINT32_MAX)
			return &finish->table[at];
		if (finish->entries[index].hash == entry->hash &&
			finish->record->items[index].kind == item->kind &&
			slice_equal(finish->entries[index].text, entry->text))
			return &finish->table[at];
	}
}

/* Of reading, creating, changing and deleting a file the strongest is told. */
static enum item_state join_access(enum item_state before, enum item_state after)
{
	if (after == STATE_READ || after == STATE_NONE)
		return before == STATE_NONE ? after : before;
	return before == STATE_CREATED && after == STATE_MODIFIED ? before : after;
}

static int join(struct finish *finish, struct compact_item *into, const struct compact_item *item)
{
	int rc = 0;

	if (into->kind == ITEM_FILE)
		into->state = join_access(into->state, item->state);
	else if (item->state != STATE_NONE)
		into->state = item->state;
	if (item->by == BY_USER)
		into->by = BY_USER;
	if (!into->reason.len)
		into->reason = item->reason;
	for (uint32_t i = 0; i < item->source_count && !rc; i++)
		if (is_covered(finish, item->sources[i].place))
			rc = compact_item_add_source(finish->record, into, item->sources[i]);
	return rc;
}

/* Adds an item that is covered, without copying its texts: they live as long as the merge. */
static int add_covered(struct finish *finish, size_t index)
{
	const struct compact_item *item = &finish->merge->items.items[index];
	const struct merge_entry *entry = &finish->merge->entries[index];
	struct compact_record *record = finish->record;
	uint32_t *slot = item->kind == ITEM_SIGNAL ? NULL : find_slot(finish, item, entry);
	struct compact_item *copy;

	if (slot && *slot != UINT32_MAX)
		return join(finish, &record->items[*slot], item);
	if (slot)
		*slot = (uint32_t)record->count;
	finish->entries[record->count] = *entry;
	copy = &record->items[record->count++];
	*copy = *item;
	copy->sources = NULL;
	copy->source_count = 0;
	if (!is_covered(finish, item->proof.place) && item->proof.place != SOURCE_NOWHERE)
		copy->proof = compact_item_make(item->kind).proof;
	return join(finish, copy, item);
}

static int point(struct finish *finish, enum pointer_reason why, uint32_t count, size_t from, size_t to)
{
	struct compact_pointer pointer = {.why = why,
		.kind = ITEM_KINDS,
		.count = count,
		.from = {(uint32_t)from, {NULL, 0}},
		.to = {(uint32_t)to - 1, {NULL, 0}}};
	struct compact_pointer *last;

	if (from >= to)
		return 0;
	last = finish->record->pointer_count ? &finish->record->pointers[finish->record->pointer_count - 1]
					     : NULL;
	if (last && last->why == why && last->to.place + 1 >= from) { /* one pointer for neighbours */
		last->to = pointer.to;
		return 0;
	}
	return compact_record_add_pointer(finish->record, &pointer);
}

static int add_range_items(struct finish *finish, const struct range *range, size_t end)
{
	size_t covered_to = covered_end(finish->options);
	uint32_t later = 0;
	int rc = 0;

	if (range->from >= covered_to)
		return 0;
	if (range->missing)
		return point(finish, POINTER_MISSING, 0, range->from,
			range->to < covered_to ? range->to : covered_to);
	for (size_t i = range->first; i < end && !rc; i++) {
		enum standing standing = stands(finish, &finish->merge->items.items[i]);

		if (standing == COVERED)
			rc = add_covered(finish, i);
		later += standing == LATER && finish->merge->items.items[i].sources[0].place < covered_to;
	}
	if (!rc && later)
		rc = point(finish, POINTER_DIVIDED, later, range->from, covered_to);
	return rc;
}

static int prepare(struct finish *finish, struct arena *arena)
{
	size_t count = finish->merge->items.count;

	finish->mask = 15;
	while (finish->mask < 2 * count)
		finish->mask = finish->mask * 2 + 1;
	finish->table = mem_alloc((finish->mask + 1) * sizeof *finish->table);
	finish->entries = mem_alloc((count + 1) * sizeof *finish->entries);
	finish->record->items = arena_alloc(arena, (count + 1) * sizeof *finish->record->items);
	if (!finish->table || !finish->entries || !finish->record->items)
		return BOBBIN_ENOMEM;
	finish->record->cap = count + 1;
	memset(finish->table, 0xff, (finish->mask + 1) * sizeof *finish->table);
	return 0;
}

/* Gives the items texts of their own, now that it is known which stay. */
static int copy_texts(struct compact_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		struct slice *texts[] = {&record->items[i].text, &record->items[i].reason,
			&record->items[i].key, &record->items[i].language};

		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
			if (!texts[t]->len)
				continue;
			texts[t]->data = arena_copy(record->arena, texts[t]->data, texts[t]->len);
			if (!texts[t]->data)
				return BOBBIN_ENOMEM;
		}
	}
	return 0;
}

int compact_merge_finish(const struct compact_merge *merge, const struct compact_merge_options *options,
	struct arena *arena, struct compact_record *ret_record, struct bobbin_error *error)
{
	struct compact_record record;
	struct finish finish = {.merge = merge, .options = options, .record = &record};
	int rc;

	compact_record_init(&record, arena);
	rc = prepare(&finish, arena);
	for (size_t i = 0; i < merge->range_count && !rc; i++) {
		size_t end = i + 1 < merge->range_count ? merge->ranges[i + 1].first : merge->items.count;

		rc = add_range_items(&finish, &merge->ranges[i], end);
	}
	if (!rc)
		rc = reconcile(&record, finish.entries);
	if (!rc)
		rc = copy_texts(&record);
	mem_free(finish.table);
	mem_free(finish.entries);
	if (rc)
		return error_set(error, rc, "out of memory while merging records");
	*ret_record = record;
	return 0;
}

static int name_source(struct compact_record *record, struct item_source *source, const struct path *path,
	struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];
	int rc;

	if (source->id.len || source->place >= path->count)
		return 0;
	if ((rc = path_id(path, source->place, id, error)))
		return rc;
	source->id.len = strlen(id);
	source->id.data = arena_copy(record->arena, id, source->id.len);
	return source->id.data ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory while naming sources");
}

int compact_record_name(struct compact_record *record, const struct path *path, struct bobbin_error *error)
{
	int rc = 0;

	for (size_t i = 0; i < record->count && !rc; i++) {
		struct compact_item *item = &record->items[i];

		for (uint32_t s = 0; s < item->source_count && !rc; s++)
			rc = name_source(record, &item->sources[s], path, error);
		if (!rc && item->proof.place != SOURCE_NOWHERE)
			rc = name_source(record, &item->proof, path, error);
	}
	for (size_t i = 0; i < record->pointer_count && !rc; i++)
		if (!(rc = name_source(record, &record->pointers[i].from, path, error)))
			rc = name_source(record, &record->pointers[i].to, path, error);
	return rc;
}
