/* SPDX-License-Identifier: MIT */
/*
 * Reconciling: which items a signal is about, and what becomes of them.
 *
 *	m1   constraint  Do NOT push to main.           key "push main"
 *	m30  signal      You may push to main now.      key "push main", lifted        → m1 is lifted, proof
 * m30
 *
 * A signal whose text is an item's text means that item. Otherwise it means the earlier items of its
 * kind with which it has the most words in common, if that is at least half of the words of the shorter
 * of the two. A signal without words of its own ("done", "never mind") means the latest open item of its
 * kind.
 *
 * Invariants: (1) states are set, texts never changed; (2) a constraint's state is set only by a
 * person's signal; (3) an item stated again after the signal is not touched by it.
 */
#include "base/alloc.h"
#include "compact/merge_entry.h"

static uint32_t last_place(const struct compact_item *item)
{
	return item->source_count ? item->sources[item->source_count - 1].place : 0;
}

/* ---- Facts of one key */

struct key_table {
	uint32_t *slots; /* the latest item of each key */
	size_t mask;
};

static uint32_t *find_key(const struct key_table *table, const struct merge_entry *entries, size_t index)
{
	for (size_t at = (size_t)entries[index].key_hash & table->mask;; at = (at + 1) & table->mask) {
		uint32_t other = table->slots[at];

		if (other == UINT32_MAX || slice_equal(entries[other].key, entries[index].key))
			return &table->slots[at];
	}
}

static int supersede_facts(struct compact_record *record, const struct merge_entry *entries)
{
	struct key_table table = {.mask = 15};

	while (table.mask < 2 * record->count)
		table.mask = table.mask * 2 + 1;
	table.slots = mem_alloc((table.mask + 1) * sizeof *table.slots);
	if (!table.slots)
		return BOBBIN_ENOMEM;
	memset(table.slots, 0xff, (table.mask + 1) * sizeof *table.slots);
	for (size_t i = 0; i < record->count; i++) {
		struct compact_item *item = &record->items[i];

		if (item->kind != ITEM_FACT || !entries[i].key.len || item->state == STATE_SUPERSEDED)
			continue;
		uint32_t *slot = find_key(&table, entries, i);

		if (*slot != UINT32_MAX) {
			struct compact_item *other = &record->items[*slot];
			bool later = last_place(item) >= last_place(other);
			struct compact_item *old = later ? other : item, *newer = later ? item : other;

			old->state = STATE_SUPERSEDED;
			old->proof = newer->sources[newer->source_count - 1];
			if (!later)
				continue;
		}
		*slot = (uint32_t)i;
	}
	mem_free(table.slots);
	return 0;
}

/* ---- Signals */

/* Whether a state can still be set at an item, and this signal may. */
static bool can_take(const struct compact_item *item, const struct compact_item *signal)
{
	if (item->kind != signal->target || !item_state_fits(item->kind, signal->state))
		return false;
	if (item->kind == ITEM_CONSTRAINT && signal->by != BY_USER)
		return false;
	return item->state != signal->state && last_place(item) < last_place(signal);
}

static void take(struct compact_item *item, const struct compact_item *signal)
{
	item->state = signal->state;
	item->proof = signal->sources[signal->source_count - 1];
	if (item->kind == ITEM_DECISION && signal->reason.len)
		item->reason = signal->reason;
}

/* Whether the signal names a number that the item does not, and the item another: worker-3 is not worker-4.
 */
static bool is_about_another(const struct merge_entry *item, const struct merge_entry *signal)
{
	struct slice rest = signal->key, word;
	bool names = false;

	for (size_t i = 0; i < item->key.len; i++)
		names |= item->key.data[i] >= '0' && item->key.data[i] <= '9';
	while (names && rest.len) {
		const char *space = memchr(rest.data, ' ', rest.len);

		word = (struct slice){rest.data, space ? (size_t)(space - rest.data) : rest.len};
		rest = (struct slice){
			rest.data + word.len + (space != NULL), rest.len - word.len - (space != NULL)};
		if (word.len && word.data[0] >= '0' && word.data[0] <= '9' && !words_contain(item->key, word))
			return true;
	}
	return false;
}

/* How well a signal's words meet an item's, in 1/1000; 0: they do not. */
static unsigned likeness(const struct merge_entry *item, const struct merge_entry *signal)
{
	unsigned common, shorter, all;

	if (slice_equal(item->text, signal->text))
		return 1001;
	if (is_about_another(item, signal))
		return 0;
	common = words_common(&item->words, &signal->words);
	shorter = item->words.count < signal->words.count ? item->words.count : signal->words.count;
	all = item->words.count + signal->words.count - common;
	if (!common || (2 * common <= shorter && shorter > 1))
		return 0; /* "push tags" is not "push main" */
	return 1000 * common / all;
}

/* The items a signal can be about, by kind, so that a signal does not look at every fact. */
struct targets {
	uint32_t *of_kind[ITEM_KINDS];
	size_t count[ITEM_KINDS];
	uint32_t *memory;
};

static int collect_targets(const struct compact_record *record, struct targets *targets)
{
	size_t next = 0;

	*targets = (struct targets){.memory = mem_alloc((record->count + 1) * sizeof *targets->memory)};
	if (!targets->memory)
		return BOBBIN_ENOMEM;
	for (int kind = 0; kind < ITEM_SIGNAL; kind++) {
		targets->of_kind[kind] = targets->memory + next;
		for (size_t i = 0; i < record->count; i++)
			if ((int)record->items[i].kind == kind)
				targets->memory[next++] = (uint32_t)i;
		targets->count[kind] = (size_t)(targets->memory + next - targets->of_kind[kind]);
	}
	return 0;
}

static bool apply_by_words(struct compact_record *record, const struct merge_entry *entries,
	const struct targets *targets, size_t signal_index)
{
	const struct compact_item *signal = &record->items[signal_index];
	size_t count = signal->target < ITEM_SIGNAL ? targets->count[signal->target] : 0;
	const uint32_t *indexes = count ? targets->of_kind[signal->target] : NULL;
	unsigned best = 0;

	for (size_t i = 0; i < count; i++) {
		if (can_take(&record->items[indexes[i]], signal)) {
			unsigned like = likeness(&entries[indexes[i]], &entries[signal_index]);

			best = like > best ? like : best;
		}
	}
	for (size_t i = 0; best && i < count; i++)
		if (can_take(&record->items[indexes[i]], signal) &&
			likeness(&entries[indexes[i]], &entries[signal_index]) == best)
			take(&record->items[indexes[i]], signal);
	return best > 0;
}

static bool apply_to_latest(
	struct compact_record *record, const struct targets *targets, const struct compact_item *signal)
{
	struct compact_item *latest = NULL;

	for (size_t i = 0; i < targets->count[signal->target]; i++) {
		struct compact_item *item = &record->items[targets->of_kind[signal->target][i]];

		if (can_take(item, signal) && item->state == STATE_OPEN &&
			(!latest || last_place(item) >= last_place(latest)))
			latest = item;
	}
	if (latest)
		take(latest, signal);
	return latest != NULL;
}

/* Whether the same statement is an item already. */
static bool is_told(const struct compact_record *record, const struct merge_entry *entries, size_t index)
{
	for (size_t i = 0; i < record->count; i++)
		if (record->items[i].kind != ITEM_SIGNAL && slice_equal(entries[i].text, entries[index].text))
			return true;
	return false;
}

/* What a person decided and nothing earlier is about is told as his decision. */
static void become_decision(struct compact_record *record, const struct merge_entry *entries, size_t index)
{
	struct compact_item *signal = &record->items[index];
	bool of_rules = signal->target == ITEM_CONSTRAINT || signal->target == ITEM_DECISION;

	if (!of_rules || signal->by != BY_USER || is_told(record, entries, index))
		return;
	signal->kind = ITEM_DECISION;
	if (signal->target == ITEM_CONSTRAINT || !item_state_fits(ITEM_DECISION, signal->state))
		signal->state = STATE_CHOSEN;
	signal->target = ITEM_KINDS;
}

/* "Drop plan A": the open tasks that begin with this name are no longer wanted. A task that only speaks of a
 * rejected option ("compare X and Y") stays. */
static void drop_tasks_of(struct compact_record *record, const struct merge_entry *entries,
	const struct targets *targets, size_t index)
{
	const struct compact_item *decision = &record->items[index];
	struct slice name = entries[index].key;

	if (decision->state != STATE_REJECTED || decision->by != BY_USER || !name.len)
		return;
	for (size_t i = 0; i < targets->count[ITEM_TASK]; i++) {
		uint32_t at = targets->of_kind[ITEM_TASK][i];
		struct compact_item *task = &record->items[at];
		struct slice text = entries[at].text;

		if (task->state != STATE_OPEN || last_place(task) >= last_place(decision) ||
			text.len < name.len || memcmp(text.data, name.data, name.len) != 0 ||
			(text.len > name.len && text.data[name.len] != ' '))
			continue;
		task->state = STATE_DROPPED;
		task->proof = decision->sources[decision->source_count - 1];
	}
}

static bool apply(struct compact_record *record, const struct merge_entry *entries,
	const struct targets *targets, size_t index)
{
	const struct compact_item *signal = &record->items[index];

	if (!signal->key.len && (signal->target == ITEM_TASK || signal->target == ITEM_OPEN))
		return apply_to_latest(record, targets, signal);
	return apply_by_words(record, entries, targets, index);
}

int reconcile(struct compact_record *record, struct merge_entry *entries)
{
	struct targets targets;
	size_t kept = 0;
	int rc = supersede_facts(record, entries);

	if (rc || (rc = collect_targets(record, &targets)))
		return rc;
	for (size_t i = 0; i < record->count; i++) {
		if (record->items[i].kind == ITEM_DECISION)
			drop_tasks_of(record, entries, &targets, i);
		if (record->items[i].kind == ITEM_SIGNAL && !apply(record, entries, &targets, i))
			become_decision(record, entries, i);
	}
	mem_free(targets.memory);
	for (size_t i = 0; i < record->count; i++) {
		if (record->items[i].kind == ITEM_SIGNAL)
			continue;
		record->items[kept] = record->items[i];
		entries[kept++] = entries[i];
	}
	record->count = kept;
	return 0;
}
