/* SPDX-License-Identifier: MIT */
/*
 * What sessions cost: own, inherited, and their trees.
 *
 *	main   439 requests, then forked, then one more        own: all 440
 *	  f1   1 request                                       own: 1     inherited: 439, shown and never summed
 *
 * A usage record belongs to the session in whose own log it stands, so the cost of a tree is the sum of what is own, and
 * nothing counts twice. A record whose id stands before it in the log, or in what the session inherits, is one that was
 * said again: it counts once, for whoever said it first.
 *
 * Own costs are read by one pass over each log that parses only usage lines; ancestors are not opened for it.
 */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id.h"
#include "session/usage.h"
#include <stdlib.h>

/* A usage record that has an id. */
struct named_usage {
	const char *id;
	uint64_t offset;
};

/* What is known of a session beside its row. */
struct named_set {
	struct named_usage *items;
	size_t count, cap;
	uint32_t *slots;   /* a hash table of places in `items`, counted from 1; 0: free */
	size_t slot_count; /* a power of two, at least twice `count`; 0: none yet */
};

struct payer {
	struct named_set own;
	struct named_set copied; /* what stands in its copy of what it inherits, if it has one */
	size_t base;	    /* row of the session whose log holds what it inherits; SIZE_MAX: none */
	uint64_t base_size; /* how long that log was then; 0: not known */
};

struct bobbin_cost {
	bobbin_tree *tree;
	struct arena arena;
	struct price_table table;
	struct unpriced unpriced;
	struct bobbin_cost_row *rows;
	struct payer *payers;
	size_t count, cap, next;
	struct bobbin_usage total, inherited;
	bool inherited_unread;
	const struct bobbin_cost_row **by_id;
};

/* One log being read. */
struct reading {
	bobbin_cost *cost;
	size_t row;
	bool copy; /* of what it inherits: only the ids count */
	struct arena scratch;
};

/* The slot that has this id, or the free one where it would stand. */
static uint32_t *slot_of(const struct named_set *set, const char *id)
{
	size_t at = (size_t)hash_bytes(id, strlen(id)) & (set->slot_count - 1);
	while (set->slots[at] && strcmp(set->items[set->slots[at] - 1].id, id) != 0)
		at = (at + 1) & (set->slot_count - 1);
	return &set->slots[at];
}

static const struct named_usage *find_named(const struct named_set *set, const char *id)
{
	uint32_t found = set->slot_count ? *slot_of(set, id) : 0;
	return found ? &set->items[found - 1] : NULL;
}

static int make_room(struct named_set *set)
{
	void *items = set->items;
	if (mem_grow(&items, &set->cap, set->count + 1, sizeof(*set->items)) < 0)
		return BOBBIN_ENOMEM;
	set->items = items;
	if (set->slot_count >= 2 * (set->count + 1))
		return 0;
	size_t count = set->slot_count ? 2 * set->slot_count : 16;
	uint32_t *slots = mem_alloc_zero(count * sizeof(*slots));
	if (!slots)
		return BOBBIN_ENOMEM;
	mem_free(set->slots);
	set->slots = slots;
	set->slot_count = count;
	for (size_t i = 0; i < set->count; i++)
		*slot_of(set, set->items[i].id) = (uint32_t)i + 1;
	return 0;
}

/* An id that is in the set already stays as it is. */
static int add_named(bobbin_cost *cost, struct named_set *set, const char *id, uint64_t offset)
{
	if (find_named(set, id))
		return 0;
	int rc = make_room(set);
	const struct named_usage added = {rc ? NULL : arena_copy(&cost->arena, id, strlen(id)), offset};
	if (!added.id)
		return BOBBIN_ENOMEM;
	uint32_t *slot = slot_of(set, id);
	set->items[set->count++] = added;
	*slot = (uint32_t)set->count;
	return 0;
}

static void named_release(struct named_set *set)
{
	mem_free(set->items);
	mem_free(set->slots);
}

/* Said already by this session, or by one that it inherits from before the fork. */
static bool is_repeated(const bobbin_cost *cost, size_t row, const char *id)
{
	const struct payer *payer = &cost->payers[row];
	if (find_named(&payer->own, id) || find_named(&payer->copied, id))
		return true;
	for (size_t steps = 0; payer->base != SIZE_MAX && steps < cost->count; steps++) {
		uint64_t size = payer->base_size;
		payer = &cost->payers[payer->base];
		const struct named_usage *found = find_named(&payer->own, id);
		if ((found && (!size || found->offset < size)) || find_named(&payer->copied, id))
			return true;
	}
	return false;
}

static int compare_rows(const void *a, const void *b)
{
	const struct bobbin_cost_row *const *left = a, *const *right = b;
	return strcmp((*left)->node->session->id, (*right)->node->session->id);
}

static size_t find_row(const bobbin_cost *cost, const char *id)
{
	size_t low = 0, high = cost->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(cost->by_id[middle]->node->session->id, id);
		if (order == 0)
			return (size_t)(cost->by_id[middle] - cost->rows);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

static int take_header(struct reading *reading, const struct json *record)
{
	struct payer *payer = &reading->cost->payers[reading->row];
	struct json value;
	int64_t size;
	if (!json_get(record, "base", &value) && !json_get(record, "parentId", &value))
		return 0;
	struct slice id = json_string_content(&value, &reading->scratch);
	if (value.type != JSON_STRING)
		return 0;
	if (!id.data)
		return BOBBIN_ENOMEM;
	const char *text = arena_copy(&reading->scratch, id.data, id.len);
	if (!text)
		return BOBBIN_ENOMEM;
	payer->base = find_row(reading->cost, text);
	if (json_get(record, "parentSize", &value) && json_int64(&value, &size) && size > 0)
		payer->base_size = (uint64_t)size;
	return 0;
}

/* *ret_id NULL: it has none. */
static int usage_id(const struct json *record, struct arena *arena, const char **ret_id)
{
	struct json value;
	*ret_id = NULL;
	if (!json_get(record, "id", &value) || value.type != JSON_STRING)
		return 0;
	struct slice id = json_string_content(&value, arena);
	*ret_id = id.data ? arena_copy(arena, id.data, id.len) : NULL;
	return *ret_id ? 0 : BOBBIN_ENOMEM;
}

static int take_usage(struct reading *reading, const struct json *record, uint64_t offset)
{
	bobbin_cost *cost = reading->cost;
	struct payer *payer = &cost->payers[reading->row];
	const char *id;
	int rc = usage_id(record, &reading->scratch, &id);
	if (rc < 0)
		return rc;
	if (reading->copy)
		return id ? add_named(cost, &payer->copied, id, offset) : 0;
	if (id && is_repeated(cost, reading->row, id))
		return 0;
	rc = id ? add_named(cost, &payer->own, id, offset) : 0;
	return rc ? rc
		  : usage_add_record(&cost->rows[reading->row].own, record, &cost->table, &reading->scratch,
			    &cost->unpriced);
}

static int take(void *data, enum record_kind kind, const struct json *record, uint64_t offset,
	struct bobbin_error *error)
{
	struct reading *reading = data;
	int rc = 0;
	if (kind == RECORD_USAGE)
		rc = take_usage(reading, record, offset);
	else if (!reading->copy)
		rc = take_header(reading, record);
	arena_reset(&reading->scratch);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* A log that cannot be read is named in its row; the others count. */
static int read_own(bobbin_store *store, bobbin_cost *cost, size_t row, struct bobbin_error *error)
{
	struct reading reading = {.cost = cost, .row = row, .scratch = ARENA_INIT};
	struct store_taking wanted = {RECORD_USAGE, "\"usage\"", true, take, &reading};
	struct bobbin_error reason = {0};
	struct slice id = slice_of(cost->rows[row].node->session->id);
	reading.copy = true;
	int rc = store_take_records(store->store, id, &wanted, &reason);
	reading.copy = wanted.copy = false;
	if (rc == 0 || rc == BOBBIN_ENOTFOUND)
		rc = store_take_records(store->store, id, &wanted, &reason);
	arena_release(&reading.scratch);
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc < 0) {
		cost->rows[row].unread = arena_copy(&cost->arena, reason.message, strlen(reason.message));
		if (!cost->rows[row].unread)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	return 0;
}

/* ---- Trees ---- */

static int take_nodes(bobbin_cost *cost, struct bobbin_error *error)
{
	const struct bobbin_tree_node *node;
	while ((node = bobbin_tree_next(cost->tree))) {
		void *rows = cost->rows;
		if (mem_grow(&rows, &cost->cap, cost->count + 1, sizeof(*cost->rows)) < 0)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
		cost->rows = rows;
		cost->rows[cost->count++] = (struct bobbin_cost_row){.node = node};
	}
	cost->payers = arena_alloc_zero(&cost->arena, (cost->count + 1) * sizeof(*cost->payers));
	cost->by_id = arena_alloc(&cost->arena, (cost->count + 1) * sizeof(const struct bobbin_cost_row *));
	if (!cost->payers || !cost->by_id)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; i < cost->count; i++) {
		cost->payers[i].base = SIZE_MAX;
		cost->by_id[i] = &cost->rows[i];
	}
	if (cost->count)
		qsort(cost->by_id, cost->count, sizeof(const struct bobbin_cost_row *), compare_rows);
	return 0;
}

/* Parents stand before their forks, so what a session inherits has been read when it is. */
static int read_all(bobbin_store *store, bobbin_cost *cost, struct bobbin_error *error)
{
	struct bobbin_cost_row *root = NULL;
	int rc = 0;
	for (size_t i = 0; !rc && i < cost->count; i++) {
		rc = read_own(store, cost, i, error);
		if (rc < 0)
			break;
		if (cost->rows[i].node->depth == 0)
			root = &cost->rows[i];
		if (root) {
			usage_add(&root->tree, &cost->rows[i].own);
			root->tree_sessions++;
		}
		usage_add(&cost->total, &cost->rows[i].own);
	}
	return rc;
}

/* ---- Inherited ---- */

/* The usage that `base` has for messages up to `through`, as of when it was forked. */
static int add_inherited(bobbin_cost *cost, struct log *base, uint32_t through, uint64_t until, struct named_set *seen,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct log_record info;
	int rc = 0;
	for (uint32_t at = log_newest(base, RECORD_USAGE); !rc && at != RECORD_NONE; at = info.previous) {
		struct json record, value;
		uint32_t node;
		arena_reset(&arena);
		rc = log_look_up_record(base, at, &info, error);
		if (rc || (until && info.offset >= until))
			continue;
		rc = log_record_read(base, at, &arena, &record, error);
		if (rc || !json_get(&record, "for", &value) || value.type != JSON_STRING)
			continue;
		struct slice id = json_string_content(&value, &arena);
		if (!id.data || log_find(base, id, &node, NULL) < 0 || !log_on_line(base, node, through))
			continue;
		const char *name;
		rc = usage_id(&record, &arena, &name);
		if (rc || (name && find_named(seen, name)))
			continue;
		rc = name ? add_named(cost, seen, name, 0) : 0;
		if (!rc)
			rc = usage_add_record(&cost->inherited, &record, &cost->table, &arena, &cost->unpriced);
	}
	arena_release(&arena);
	return rc;
}

static int read_inherited(bobbin_store *store, bobbin_cost *cost, const char *id, struct bobbin_error *error)
{
	struct named_set seen = {0};
	struct log *log;
	uint32_t through;
	int rc = log_open(store->store, slice_of(id), LOG_READ, &log, error);
	if (rc < 0)
		return rc;
	for (struct log *at = log; !rc && log_base(at); at = log_base(at)) {
		rc = log_find(log_base(at), slice_of(log_info(at)->through), &through, error);
		if (!rc)
			rc = add_inherited(cost, log_base(at), through, log_info(at)->parent_size, &seen, error);
	}
	named_release(&seen);
	log_close(log);
	return rc == BOBBIN_ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

/* ---- The interface ---- */

static int fill(bobbin_store *store, bobbin_cost *cost, const char *id, const struct bobbin_cost_options *options,
	struct bobbin_error *error)
{
	int rc = price_table_read(options->prices, options->prices_len, &cost->arena, &cost->table, error);
	if (!rc)
		rc = bobbin_tree_open(store, id, &cost->tree, error);
	if (!rc)
		rc = take_nodes(cost, error);
	if (!rc)
		rc = read_all(store, cost, error);
	if (!rc && id) {
		rc = read_inherited(store, cost, id, error);
		cost->inherited_unread = rc < 0;
	}
	/* What is own is known all the same. */
	return rc == BOBBIN_ENOMEM || !cost->inherited_unread ? rc : 0;
}

int bobbin_cost_open(bobbin_store *store, const char *id, const struct bobbin_cost_options *options,
	bobbin_cost **ret_cost, struct bobbin_error *error)
{
	struct bobbin_cost_options all = BOBBIN_COST_OPTIONS_INIT;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	bobbin_cost *cost = mem_alloc_zero(sizeof(*cost));
	if (!cost)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = fill(store, cost, id, &all, error);
	if (rc < 0)
		bobbin_cost_close(cost);
	else
		*ret_cost = cost;
	return rc;
}

const struct bobbin_cost_row *bobbin_cost_next(bobbin_cost *cost)
{
	return cost && cost->next < cost->count ? &cost->rows[cost->next++] : NULL;
}

const struct bobbin_cost_row *bobbin_cost_of(const bobbin_cost *cost, const char *id)
{
	size_t row = find_row(cost, id);
	return row == SIZE_MAX ? NULL : &cost->rows[row];
}

const struct bobbin_usage *bobbin_cost_total(const bobbin_cost *cost)
{
	return &cost->total;
}

const struct bobbin_usage *bobbin_cost_inherited(const bobbin_cost *cost)
{
	return cost->inherited_unread ? NULL : &cost->inherited;
}

const char *bobbin_cost_unpriced(const bobbin_cost *cost, size_t index)
{
	return index < cost->unpriced.count ? cost->unpriced.models[index] : NULL;
}

void bobbin_cost_close(bobbin_cost *cost)
{
	if (!cost)
		return;
	for (size_t i = 0; cost->payers && i < cost->count; i++) {
		named_release(&cost->payers[i].own);
		named_release(&cost->payers[i].copied);
	}
	bobbin_tree_close(cost->tree);
	mem_free(cost->rows);
	mem_free(cost->unpriced.models);
	arena_release(&cost->unpriced.arena);
	arena_release(&cost->arena);
	mem_free(cost);
}
