/* SPDX-License-Identifier: MIT */
/*
 * Records behind what they follow, see import_order.h.
 *
 * Invariants: (1) every record is given once, also those that name each other in a circle; (2) those that wait for the same one come
 * in the order of their lines, and before what follows them; (3) a record whose parent is nowhere in the file never waits.
 */
#include "transcript/import_order.h"

#include "base/alloc.h"
#include "base/limits.h"

#define NONE UINT32_MAX

/* An id: who waits for it. */
struct order_node {
	uint32_t first, last;
	bool given;
};

struct order_waiting {
	struct kept_value record;
	struct place place;
	uint32_t next; /* of those that wait for the same one, or are ready */
	bool given;
};

void import_order_init(struct import_order *order, struct import *import, const char *data, size_t len, import_names_fn *names)
{
	*order = (struct import_order){.import = import, .data = data, .len = len, .names = names};
	order->ready = order->ready_last = NONE;
	order->text = (struct buffer)BUFFER_INIT(LIMIT_IMPORT_BYTES);
	import_lines_init(&order->lines, import, data, len);
}

void import_order_release(struct import_order *order)
{
	id_table_release(&order->ids);
	mem_free(order->nodes);
	mem_free(order->waiting);
	buffer_release(&order->text);
	order->nodes = NULL;
	order->waiting = NULL;
}

int import_order_missed(struct import_order *order, struct slice parent)
{
	size_t ignored;

	if (order->sorts || !parent.len || id_table_get(&order->ids, parent, &ignored))
		return 0;
	struct slice kept = import_keep(order->import, parent);
	return kept.data ? id_table_put(&order->ids, kept, 0) : BOBBIN_ENOMEM;
}

/* What was met is met again. */
static void forget_met(struct import *import)
{
	import->warning_count = 0;
	import->warnings_total = 0;
	import->kind_count = 0;
	memset(import->damages, 0, sizeof(import->damages));
}

static int add_node(struct import_order *order, struct slice id)
{
	size_t known;

	if (!id.len || id_table_get(&order->ids, id, &known)) /* an empty one names nothing: roots would wait for it */
		return 0;
	if (mem_grow((void **)&order->nodes, &order->node_cap, order->node_count + 1, sizeof(*order->nodes)) < 0)
		return BOBBIN_ENOMEM;
	struct slice held = import_hold(order->import, id);
	if (!held.data)
		return BOBBIN_ENOMEM;
	order->nodes[order->node_count] = (struct order_node){NONE, NONE, false};
	return id_table_put(&order->ids, held, order->node_count++);
}

static int begin_sorting(struct import_order *order)
{
	struct slice id, parent;
	struct json record;
	struct place place;
	int rc;

	id_table_release(&order->ids);
	import_lines_init(&order->lines, order->import, order->data, order->len);
	while ((rc = import_lines_next(&order->lines, &record, &place)) > 0) {
		order->names(order->import, &record, &id, &parent);
		if ((rc = add_node(order, id)) < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	forget_met(order->import);
	import_lines_init(&order->lines, order->import, order->data, order->len);
	order->sorts = order->anew = true;
	return 0;
}

/* Behind the others of the list that ends at *last. */
static void hang(struct import_order *order, uint32_t *first, uint32_t *last, uint32_t index)
{
	if (*last == NONE)
		*first = index;
	else
		order->waiting[*last].next = index;
	*last = index;
}

/* True if it has to wait for its parent. */
static bool must_wait(const struct import_order *order, struct slice id, struct slice parent, size_t *ret_node)
{
	return id_table_get(&order->ids, parent, ret_node) && !order->nodes[*ret_node].given && !slice_equal(id, parent);
}

static int add_waiting(struct import_order *order, size_t node, const struct json *record, struct place place)
{
	if (mem_grow((void **)&order->waiting, &order->waiting_cap, order->waiting_count + 1, sizeof(*order->waiting)) < 0)
		return BOBBIN_ENOMEM;
	uint32_t index = (uint32_t)order->waiting_count++;
	order->waiting[index] =
		(struct order_waiting){import_keep_value(order->import, record, record, place), place, NONE, false};
	hang(order, &order->nodes[node].first, &order->nodes[node].last, index);
	return 0;
}

/* Those that waited for it are ready, behind those that are. */
static void given(struct import_order *order, struct slice id)
{
	size_t node;

	if (!id_table_get(&order->ids, id, &node))
		return;
	struct order_node *found = &order->nodes[node];
	if (found->first != NONE) {
		hang(order, &order->ready, &order->ready_last, found->first);
		order->ready_last = found->last;
	}
	*found = (struct order_node){NONE, NONE, true};
}

/* One that waited, read again. 1 or an error. */
static int give_waiting(struct import_order *order, uint32_t index, struct json *ret_value, struct place *ret_place)
{
	struct slice id, parent;
	struct order_waiting *waiting = &order->waiting[index];

	waiting->given = true;
	*ret_place = waiting->place;
	order->import->line = waiting->place.line;
	order->import->offset = waiting->place.offset;
	arena_reset(&order->import->scratch);
	int rc = import_value_again(order->import, &waiting->record, &order->text, ret_value);
	if (rc < 0)
		return rc;
	order->names(order->import, ret_value, &id, &parent);
	given(order, id);
	return 1;
}

static int next_ready(struct import_order *order, struct json *ret_value, struct place *ret_place)
{
	uint32_t index = order->ready;

	order->ready = order->waiting[index].next;
	if (order->ready == NONE)
		order->ready_last = NONE;
	return order->waiting[index].given ? 0 : give_waiting(order, index, ret_value, ret_place);
}

/* The file is at its end, and these wait for each other. */
static int next_left(struct import_order *order, struct json *ret_value, struct place *ret_place)
{
	while (order->left < order->waiting_count && order->waiting[order->left].given)
		order->left++;
	order->import->line = order->import->offset = 0;
	return order->left < order->waiting_count ? give_waiting(order, (uint32_t)order->left, ret_value, ret_place) : 0;
}

int import_order_next(struct import_order *order, struct json *ret_value, struct place *ret_place)
{
	struct slice id, parent;
	size_t node;
	int rc;

	order->anew = false;
	for (;;) {
		if (order->ready != NONE) {
			if ((rc = next_ready(order, ret_value, ret_place)) != 0)
				return rc;
			continue;
		}
		if ((rc = import_lines_next(&order->lines, ret_value, ret_place)) <= 0)
			return rc ? rc : next_left(order, ret_value, ret_place);
		if (!order->sorts && !order->ids.count)
			return 1;
		order->names(order->import, ret_value, &id, &parent);
		if (!order->sorts) {
			if (!id_table_get(&order->ids, id, &node))
				return 1;
			if ((rc = begin_sorting(order)) < 0)
				return rc;
		} else if (must_wait(order, id, parent, &node)) {
			if ((rc = add_waiting(order, node, ret_value, *ret_place)) < 0)
				return rc;
		} else {
			given(order, id);
			return 1;
		}
	}
}

int import_order_tell(const struct import_order *order)
{
	size_t count = order->waiting_count;

	if (!count)
		return 0;
	int rc = import_damaged(order->import, order->waiting[0].place, DAMAGE_ORDER,
		"%zu record%s before the one that %s: read behind it", count, count == 1 ? " stands" : "s stand",
		count == 1 ? "it follows" : "they follow");
	order->import->damages[DAMAGE_ORDER] += count - 1;
	return rc;
}
