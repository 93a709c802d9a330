/* SPDX-License-Identifier: MIT */
/* What must be there against what is there: bytes against the ledger, the store's answers against the view.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/world.h"
#include "store/log_internal.h"
#include "tokens/counter.h"

/* ---- Bytes */

static void check_entry_bytes(struct sim_world *world, int number, const struct sim_line *line)
{
	struct sim_entry *entry = &world->ledger.entries[number];
	const char *id = world->ledger.logs[entry->log].id;
	bool expected = entry->promise > SIM_NOTHING || entry->seen;

	if (!line) {
		if (expected)
			sim_fail(world, "entry %d of %s (m%llu), %s, is not there", number, id,
				(unsigned long long)entry->seq,
				entry->promise ? "acknowledged" : "seen before");
		return;
	}
	if (entry->refused)
		sim_fail(world, "entry %d of %s was refused and is there", number, id);
	else if (entry->lost)
		sim_fail(world, "entry %d of %s was lost and is there again", number, id);
	else if (entry->seq && entry->seq != line->seq)
		sim_fail(world, "entry %d of %s has seq %llu, not %llu", number, id,
			(unsigned long long)line->seq, (unsigned long long)entry->seq);
	entry->seq = line->seq;
	entry->seen = true;
}

static void check_lines(struct sim_world *world, const struct sim_scan *scan, int log)
{
	uint64_t last = 0;

	for (size_t i = 0; i < scan->count; i++) {
		const struct sim_line *line = &scan->lines[i];
		if (line->entry >= 0 && sim_scan_find(scan, line->entry) != line)
			sim_fail(world, "entry %d of %s is there twice", line->entry,
				world->ledger.logs[log].id);
		if (line->seq && line->seq <= last)
			sim_fail(world, "in %s seq %llu follows %llu", world->ledger.logs[log].id,
				(unsigned long long)line->seq, (unsigned long long)last);
		last = line->seq ? line->seq : last;
	}
}

void sim_check_bytes(struct sim_world *world, int number)
{
	struct sim_log *log = &world->ledger.logs[number];

	if (!log->exists || world->failure[0])
		return;
	if (sim_ledger_find_log(&world->ledger, log->id) != number) {
		sim_fail(world, "session %s (i%d) vanished", log->id, number);
		return;
	}
	struct sim_scan *scan = sim_room(sizeof(*scan));
	sim_scan(&world->ledger, number, scan);
	if (!scan->header)
		sim_fail(world, "the header of %s (i%d) is not what was written", log->id, number);
	check_lines(world, scan, number);
	for (int i = 0; i < world->ledger.entry_count; i++)
		if (world->ledger.entries[i].log == number)
			check_entry_bytes(world, i, sim_scan_find(scan, i));
	free(scan);
}

/* ---- After a power cut */

static void settle_entry(struct sim_entry *entry, bool there)
{
	bool must = entry->promise == SIM_SURVIVES_POWER && !entry->doubtful;

	if (there || must)
		return; /* if it is not there although it must, sim_check_bytes says so */
	if (entry->promise > SIM_NOTHING || entry->seen || entry->seq)
		entry->lost = true;
	entry->promise = SIM_NOTHING;
	entry->seen = false;
	entry->seq = 0;
}

static void put_aside(struct sim_world *world, struct sim_log *log)
{
	static const char *const ENDINGS[] = {".jsonl", ".meta.json", ".turn"};
	char name[SIM_NAME_BYTES];

	for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", log->id, ENDINGS[i]);
		sim_disk_forget(&world->disk, name);
	}
	log->exists = false;
	log->file = SIM_GONE;
}

static void settle_log(struct sim_world *world, int number, struct sim_scan *scan)
{
	struct sim_log *log = &world->ledger.logs[number];

	sim_scan(&world->ledger, number, scan);
	if (!scan->header) {
		if (log->durable_mode)
			sim_fail(world, "after a power cut the header of %s (i%d) is damaged", log->id,
				number);
		put_aside(world, log);
		return;
	}
	for (int i = 0; i < world->ledger.entry_count; i++)
		if (world->ledger.entries[i].log == number)
			settle_entry(&world->ledger.entries[i], sim_scan_find(scan, i) != NULL);
	/* What it inherits need not have reached the disk if it was not to be durable, or was not
	 * acknowledged. */
	if (log->promise < SIM_SURVIVES_POWER && log->base >= 0)
		log->excused = true;
}

void sim_after_power_cut(struct sim_world *world)
{
	struct sim_scan *scan = sim_room(sizeof(*scan));

	for (int i = 0; i < world->ledger.log_count; i++) {
		struct sim_log *log = &world->ledger.logs[i];
		if (log->file < 0)
			continue;
		bool there = sim_ledger_find_log(&world->ledger, log->id) == i;
		if (there && log->deleted)
			sim_fail(world, "%s (i%d) was deleted and came back", log->id, i);
		if (!there && log->exists && log->promise == SIM_SURVIVES_POWER && !log->delete_tried)
			sim_fail(world, "%s (i%d) was acknowledged and its name is lost", log->id, i);
		log->exists = there;
		if (there)
			settle_log(world, i, scan);
		else
			log->file = SIM_GONE;
	}
	free(scan);
}

/* ---- The store's answers */

struct comparison {
	struct sim_world *world;
	struct log *log;
	int number;
	const struct sim_view *view;
	uint32_t nodes[SIM_NODES_MAX]; /* the store's, by ours */
};

#define DIFFERS(comparison, ...)                                                                             \
	do {                                                                                                 \
		char text[400];                                                                              \
		snprintf(text, sizeof(text), __VA_ARGS__);                                                   \
		sim_fail((comparison)->world, "%s (i%d): %s",                                                \
			(comparison)->world->ledger.logs[(comparison)->number].id, (comparison)->number,     \
			text);                                                                               \
	} while (0)

static int ours(const struct comparison *comparison, uint32_t node)
{
	for (int i = 0; i < comparison->view->count; i++)
		if (comparison->nodes[i] == node)
			return i;
	return -1;
}

static void compare_node(struct comparison *comparison, int at, struct arena *arena)
{
	const struct sim_node *expected = &comparison->view->nodes[at];
	uint32_t node = comparison->nodes[at], found;
	struct log_node said;
	struct message message;
	char id[PATH_ID_BYTES] = "", members[SIM_ID_BYTES];

	if (log_node(comparison->log, node, &said) || log_node_id(comparison->log, node, id, NULL) ||
		log_message(comparison->log, node, arena, &message, NULL)) {
		DIFFERS(comparison, "message %s cannot be read", expected->id);
		return;
	}
	int parent = said.parent == NODE_NONE ? -1 : ours(comparison, said.parent);
	if (said.parent != NODE_NONE && parent < 0)
		parent = -2;
	snprintf(members, sizeof(members), "\"tok\":%d,", expected->entry);
	if (strcmp(id, expected->id) != 0 || said.seq != expected->seq || said.offset != expected->offset)
		DIFFERS(comparison, "message %d is %s (%llu), not %s (%llu)", at, id,
			(unsigned long long)said.seq, expected->id, (unsigned long long)expected->seq);
	else if (parent != expected->parent)
		DIFFERS(comparison, "the parent of %s is %d, not %d", id, parent, expected->parent);
	else if (((said.flags & NODE_LATE) != 0) != expected->late)
		DIFFERS(comparison, "%s is %slate", id, expected->late ? "not " : "");
	else if (said.depth != sim_view_depth(comparison->view, at))
		DIFFERS(comparison, "%s has depth %u, not %u", id, said.depth, sim_view_depth(comparison->view, at));
	else if (!memmem(message.record.text, message.record.len, members, strlen(members)))
		DIFFERS(comparison, "%s has other bytes", id);
	else if (log_find(comparison->log, slice_of(id), &found, NULL) ||
		 ours(comparison, found) != sim_view_find(comparison->view, id))
		DIFFERS(comparison, "%s is not found by its id", id);
	else if (snprintf(id, sizeof(id), "m%llu", (unsigned long long)said.seq),
		log_find(comparison->log, slice_of(id), &found, NULL) ||
			ours(comparison, found) != sim_view_find(comparison->view, id))
		DIFFERS(comparison, "%s is not found by its number", id);
	else if (log_on_line(comparison->log, node, log_head(comparison->log)) !=
		 sim_view_on_line(comparison->view, at, comparison->view->head))
		DIFFERS(comparison, "whether %s is on the line", id);
}

/* Late results are those that hang on their call, oldest first. */
static void compare_late(struct comparison *comparison, int at, struct arena *arena)
{
	uint32_t *nodes, count, expected = 0;

	if (log_late_results(comparison->log, comparison->nodes[at], arena, &nodes, &count)) {
		DIFFERS(comparison, "late results cannot be had");
		return;
	}
	for (int i = at + 1; i < comparison->view->count; i++) {
		const struct sim_node *node = &comparison->view->nodes[i];
		if (!node->late || node->parent != at)
			continue;
		if (expected < count && nodes[expected] != comparison->nodes[i])
			DIFFERS(comparison, "late result %u of message %d", expected, at);
		expected++;
	}
	if (count != expected)
		DIFFERS(comparison, "%u late results of message %d, not %u", count, at, expected);
}

static void compare_nodes(struct comparison *comparison)
{
	struct arena arena = ARENA_INIT;
	uint32_t count = log_node_count(comparison->log);
	int at = 0;

	for (uint32_t node = 0; node < count; node++)
		if (log_has_node(comparison->log, node)) {
			if (at < comparison->view->count)
				comparison->nodes[at] = node;
			at++;
		}
	if (at != comparison->view->count) {
		DIFFERS(comparison, "%d messages, not %d", at, comparison->view->count);
		return;
	}
	for (int i = 0; i < at; i++) {
		compare_node(comparison, i, &arena);
		compare_late(comparison, i, &arena);
	}
	uint32_t head = log_head(comparison->log);
	if ((head == NODE_NONE ? -1 : ours(comparison, head)) != comparison->view->head)
		DIFFERS(comparison, "the head is %d, not %d", head == NODE_NONE ? -1 : ours(comparison, head),
			comparison->view->head);
	arena_release(&arena);
}

/* Exact sums, wherever they are kept, against a look at each message of the line. */
static void compare_tokens(struct comparison *comparison)
{
	struct token_counter counter;
	struct arena arena = ARENA_INIT;
	struct log_path *path;
	uint64_t sum = 0;

	token_counter_for_encoding("estimate", &counter); /* counts as well as any */
	counter.name = "o200k_base";
	counter.exact = true;
	if (log_path_new(comparison->log, log_head(comparison->log), &counter, &path, NULL)) {
		DIFFERS(comparison, "its line cannot be counted");
		return;
	}
	for (size_t i = 0; i < log_path_path(path)->count; i++) {
		struct path_item item = {0};
		struct message message;
		uint64_t tokens = 0;
		int rc = path_item(log_path_path(path), i, &item, NULL);
		if (!rc)
			rc = log_message(comparison->log, log_path_node(path, i, true), &arena, &message, NULL);
		if (!rc)
			rc = message_count_tokens(&message, &arena, &counter, &tokens, NULL);
		/* What came late belongs to its call. */
		uint32_t late, nth = 0;
		for (; !rc && (late = log_path_late(path, i, nth)) != NODE_NONE; nth++) {
			uint64_t more = 0;
			int at = ours(comparison, late);
			if (at < 0 || !comparison->view->nodes[at].late)
				DIFFERS(comparison, "what came late for message %zu of the line did not", i);
			rc = log_message(comparison->log, late, &arena, &message, NULL);
			if (!rc)
				rc = message_count_tokens(&message, &arena, &counter, &more, NULL);
			tokens += more;
		}
		if (!rc && item.late != nth)
			DIFFERS(comparison, "message %zu of the line has %u late results, not %u", i, item.late, nth);
		if (rc || item.tokens != tokens || item.tokens_before != sum)
			DIFFERS(comparison, "message %zu of the line has %u tokens after %llu, not %llu after %llu",
				i, item.tokens, (unsigned long long)item.tokens_before,
				(unsigned long long)tokens, (unsigned long long)sum);
		sum += tokens;
	}
	if (log_path_path(path)->tokens != sum)
		DIFFERS(comparison, "the line has other tokens than its messages");
	log_path_free(path);
	arena_release(&arena);
}

static enum record_kind kind_of(const struct sim_ledger *ledger, const struct sim_line *line)
{
	static const struct {
		const char *type;
		enum record_kind kind;
	} TYPES[] = {{"usage", RECORD_USAGE}, {"run", RECORD_RUN}, {"segment", RECORD_SEGMENT},
		{"compaction", RECORD_COMPACTION}, {"clear", RECORD_CLEAR}};

	if (line->entry < 0)
		return RECORD_SESSION;
	const struct sim_entry *entry = &ledger->entries[line->entry];
	if (entry->kind <= SIM_TOOL)
		return RECORD_MESSAGE;
	if (entry->kind != SIM_CONTROL)
		return entry->kind == SIM_REWIND ? RECORD_REWIND : RECORD_SESSION;
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		char member[40];
		snprintf(member, sizeof(member), ",\"type\":\"%s\",", TYPES[i].type);
		if (strstr(entry->members, member))
			return TYPES[i].kind;
	}
	return RECORD_OTHER;
}

/* Every record's bytes, in order, are those of a line of ours. */
static void compare_records(struct comparison *comparison, const struct sim_scan *scan)
{
	const struct sim_file *file =
		&comparison->world->disk.files[comparison->world->ledger.logs[comparison->number].file];
	struct arena arena = ARENA_INIT;
	const char *title = "";
	char expected_title[SIM_ID_BYTES] = "";
	uint32_t newest[RECORD_KINDS];

	for (int kind = 0; kind < RECORD_KINDS; kind++)
		newest[kind] = kind == RECORD_SESSION ? 0 : RECORD_NONE; /* the header */
	if (log_record_count(comparison->log) != scan->count + 1)
		DIFFERS(comparison, "%u records, not %zu", log_record_count(comparison->log),
			scan->count + 1);
	for (size_t i = 0; i < scan->count && !comparison->world->failure[0]; i++) {
		const struct sim_line *line = &scan->lines[i];
		struct log_record record = {0};
		struct json json = {0};
		log_record(comparison->log, (uint32_t)i + 1, &record);
		int rc = log_record_read(comparison->log, (uint32_t)i + 1, &arena, &json, NULL);
		if (rc || record.offset != line->offset || record.seq != line->seq || json.len != line->len ||
			memcmp(json.text, file->data + line->offset, line->len) != 0)
			DIFFERS(comparison, "record %zu differs", i + 1);
		enum record_kind kind = kind_of(&comparison->world->ledger, line);
		if (record.kind != kind || record.previous != newest[kind])
			DIFFERS(comparison, "record %zu is of kind %d after %u", i + 1, (int)record.kind,
				record.previous);
		newest[kind] = (uint32_t)i + 1;
		if (line->entry >= 0 && comparison->world->ledger.entries[line->entry].kind == SIM_TITLE)
			snprintf(expected_title, sizeof(expected_title), "t%d", line->entry);
	}
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		if (log_newest(comparison->log, (enum record_kind)kind) != newest[kind])
			DIFFERS(comparison, "the newest record of kind %d", kind);
	title = log_info(comparison->log)->title;
	if (strcmp(title, expected_title) != 0)
		DIFFERS(comparison, "the title is '%s', not '%s'", title, expected_title);
	arena_release(&arena);
}

static void compare_info(struct comparison *comparison)
{
	const struct sim_ledger *ledger = &comparison->world->ledger;
	const struct sim_log *expected = &ledger->logs[comparison->number];
	const struct log_info *info = log_info(comparison->log);
	const char *parent = expected->parent < 0 ? "" : ledger->logs[expected->parent].id;

	if (strcmp(info->parent_id, parent) != 0 || info->forked_at != expected->kept ||
		strcmp(info->through, expected->through) != 0)
		DIFFERS(comparison, "forked from '%s' at %llu through '%s'", info->parent_id,
			(unsigned long long)info->forked_at, info->through);
	if (info->sync != (expected->durable_mode ? STORE_SYNC_FULL : STORE_SYNC_NONE))
		DIFFERS(comparison, "its sync mode changed");
}

/* Lines mixed from two writes have a wrong checksum, and are read and reported: nothing of ours says how. */
static bool is_mixed(const struct sim_ledger *ledger, int number, struct sim_scan *scan)
{
	for (; number >= 0; number = ledger->logs[number].base) {
		sim_scan(ledger, number, scan);
		if (scan->odd)
			return true;
	}
	return false;
}

/* Both the line as it was and as it became may be what was forked: the first look at the fork tells. */
static void learn_cut(struct sim_log *known, const struct log *log)
{
	const struct log_info *info = log_info(log);

	if (!known->cut_unknown)
		return;
	known->cut_unknown = false;
	known->kept = info->forked_at;
	snprintf(known->through, sizeof(known->through), "%.39s", info->through);
}

void sim_compare(struct sim_world *world, struct log *log, int number)
{
	struct sim_scan *scan = sim_room(sizeof(*scan));
	struct sim_view *view = sim_room(sizeof(*view));
	struct comparison *comparison = sim_room(sizeof(*comparison));

	learn_cut(&world->ledger.logs[number], log);
	*comparison = (struct comparison){.world = world, .log = log, .number = number, .view = view};
	if (is_mixed(&world->ledger, number, scan))
		world->mixed++;
	else if (sim_view(&world->ledger, number, view)) {
		compare_info(comparison);
		compare_nodes(comparison);
		compare_tokens(comparison);
		sim_scan(&world->ledger, number, scan);
		compare_records(comparison, scan);
		world->compared++;
		world->indexed += log->index.prefix != NULL;
	} else if (!sim_is_excused(&world->ledger, number))
		sim_fail(world, "%s (i%d) opens, but what it inherits is not there",
			world->ledger.logs[number].id, number);
	free(comparison);
	free(view);
	free(scan);
}
