/* SPDX-License-Identifier: MIT */
/* Where the deriver's items go: each once, with all its sources. Invariants: rules_state.h. */
#include "base/alloc.h"
#include "base/hash.h"
#include "compact/rules_state.h"

struct compact_item rules_item(
	const struct rules *rules, enum item_kind kind, enum item_state state, struct slice text)
{
	struct compact_item item = compact_item_make(kind);

	item.state = state;
	item.by = rules->by;
	item.text = text;
	item.exact = true;
	return item;
}

struct slice rules_key(struct rules *rules, unsigned from, unsigned to, const struct cue *cue)
{
	buffer_clear(&rules->key);
	statement_content(rules->statement, from, to, cue, &rules->key);
	if (buffer_error(&rules->key))
		rules->rc = buffer_error(&rules->key);
	return buffer_slice(&rules->key);
}

static uint64_t hash_of(const struct compact_item *item)
{
	uint64_t place = item->kind == ITEM_SIGNAL ? item->sources[0].place : 0;

	return hash_bytes(item->text.data, item->text.len) + (uint64_t)item->kind * 31 +
	       (uint64_t)item->state + (uint64_t)item->target * 1009 + place * 65537;
}

static bool is_same(const struct compact_item *a, const struct compact_item *b)
{
	if (a->kind == ITEM_SIGNAL && a->sources[0].place != b->sources[0].place)
		return false; /* each is about what came before it */
	return a->kind == b->kind && a->state == b->state && a->target == b->target &&
	       slice_equal(a->text, b->text);
}

/* Where the item is, or would be. */
static uint32_t *find(struct rules *rules, const struct compact_item *item)
{
	for (size_t at = (size_t)hash_of(item) & rules->slot_mask;; at = (at + 1) & rules->slot_mask) {
		uint32_t index = rules->slots[at];

		if (index == UINT32_MAX || is_same(&rules->record->items[index], item))
			return &rules->slots[at];
	}
}

static int grow(struct rules *rules)
{
	size_t mask = rules->slots ? rules->slot_mask * 2 + 1 : 255;
	uint32_t *slots, *old = rules->slots;

	if (old && 2 * (rules->slot_used + 1) < rules->slot_mask)
		return 0;
	if (!(slots = mem_alloc((mask + 1) * sizeof *slots)))
		return BOBBIN_ENOMEM;
	memset(slots, 0xff, (mask + 1) * sizeof *slots);
	size_t old_mask = rules->slot_mask;

	rules->slots = slots;
	rules->slot_mask = mask;
	for (size_t i = 0; old && i <= old_mask; i++)
		if (old[i] != UINT32_MAX)
			*find(rules, &rules->record->items[old[i]]) = old[i];
	mem_free(old);
	return 0;
}

static bool has_source(const struct compact_item *item, uint32_t place)
{
	for (uint32_t i = item->source_count; i-- > 0 && item->sources[i].place >= place;)
		if (item->sources[i].place == place)
			return true;
	return false;
}

struct compact_item *rules_add(struct rules *rules, struct compact_item item, uint32_t also)
{
	struct item_source sources[2] = {{rules->at, {NULL, 0}}, {also, {NULL, 0}}};
	struct compact_item *added;
	uint32_t *slot;

	if (rules->rc || (rules->rc = grow(rules)))
		return NULL;
	item.sources = sources;
	item.source_count = also == DERIVE_NONE ? 1 : 2;
	slot = find(rules, &item);
	if (*slot != UINT32_MAX) {
		added = &rules->record->items[*slot];
		for (uint32_t i = 0; i < item.source_count && !rules->rc; i++)
			if (!has_source(added, sources[i].place))
				rules->rc = compact_item_add_source(rules->record, added, sources[i]);
		return rules->rc ? NULL : added;
	}
	added = compact_record_add(rules->record, &item, &rules->rc);
	if (!added)
		return NULL;
	/* The record cleans texts; what is cleaned is found again only in its clean form. */
	slot = find(rules, added);
	if (*slot == UINT32_MAX) {
		*slot = (uint32_t)(rules->record->count - 1);
		rules->slot_used++;
	}
	return added;
}
