/* SPDX-License-Identifier: MIT */
/* The tree of a log's messages, worked out from its lines in the plainest way, see ledger.h. */
#include "sim/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const struct sim_node *node, const char *id)
{
	char number[SIM_ID_BYTES];
	snprintf(number, sizeof(number), "m%llu", (unsigned long long)node->seq);
	return strcmp(node->id, id) == 0 || strcmp(number, id) == 0;
}

int sim_view_find(const struct sim_view *view, const char *id)
{
	for (int i = view->own_from; i < view->count; i++)
		if (is_named(&view->nodes[i], id))
			return i;
	for (int i = 0; i < view->own_from; i++)
		if (is_named(&view->nodes[i], id))
			return i;
	return -1;
}

void sim_view_name(const struct sim_view *view, int node, uint32_t choice, char ret_id[SIM_ID_BYTES])
{
	if (choice % 3)
		snprintf(ret_id, SIM_ID_BYTES, "%s", view->nodes[node].id);
	else
		snprintf(ret_id, SIM_ID_BYTES, "m%llu", (unsigned long long)view->nodes[node].seq);
}

bool sim_view_on_line(const struct sim_view *view, int node, int head)
{
	while (head >= 0 && head != node)
		head = view->nodes[head].parent;
	return head >= 0;
}

unsigned sim_view_depth(const struct sim_view *view, int node)
{
	unsigned depth = 0;
	while (node >= 0 && (node = view->nodes[node].parent) >= 0)
		depth++;
	return depth;
}

/* The call's message, if `id` is one of its calls. */
static bool has_call(const struct sim_ledger *ledger, const struct sim_view *view, int node, const char *id)
{
	int entry = view->nodes[node].entry;
	for (unsigned i = 0; i < ledger->entries[entry].calls; i++) {
		char call[SIM_ID_BYTES];
		snprintf(call, sizeof(call), "c%dx%u", entry, i);
		if (strcmp(call, id) == 0)
			return true;
	}
	return false;
}

/* From a result back over the results it follows, to what they follow. */
static int before_results(const struct sim_ledger *ledger, const struct sim_view *view, int node)
{
	while (node >= 0 && ledger->entries[view->nodes[node].entry].kind == SIM_TOOL)
		node = view->nodes[node].parent;
	return node;
}

static bool answered(
	const struct sim_ledger *ledger, const struct sim_view *view, int batch, int head, const char *call)
{
	for (; head != batch; head = view->nodes[head].parent)
		if (strcmp(ledger->entries[view->nodes[head].entry].call, call) == 0)
			return true;
	return false;
}

/* Where a result goes: into the open batch of the head, else beside the line under its call. */
static int place_result(
	const struct sim_ledger *ledger, const struct sim_view *view, const char *call, bool *ret_late)
{
	int batch = before_results(ledger, view, view->head);

	if (batch >= 0 && has_call(ledger, view, batch, call) &&
		!answered(ledger, view, batch, view->head, call))
		return view->head;
	for (int i = view->count; i-- > 0;)
		if (has_call(ledger, view, i, call)) {
			*ret_late = true;
			return i;
		}
	return view->head;
}

static void add_message(const struct sim_ledger *ledger, struct sim_view *view, const struct sim_line *line)
{
	const struct sim_entry *entry = &ledger->entries[line->entry];
	const char *given = line->aside ? line->parent : entry->parent;
	int parent = view->head;
	bool late = false;

	if (line->aside ? !*given : entry->parent_kind == SIM_AT_ROOT)
		parent = -1;
	else if (line->aside || entry->parent_kind == SIM_AT_ID) {
		int found = sim_view_find(view, given);
		if (found >= 0) /* else it was lost: as if it followed the head */
			parent = found;
	} else if (entry->kind == SIM_TOOL)
		parent = place_result(ledger, view, entry->call, &late);
	if (view->count == SIM_NODES_MAX)
		abort();
	struct sim_node *node = &view->nodes[view->count];
	*node = (struct sim_node){line->entry, line->seq, "", parent, late, line->offset};
	if (entry->id[0])
		snprintf(node->id, sizeof(node->id), "%s", entry->id);
	else
		snprintf(node->id, sizeof(node->id), "m%llu", (unsigned long long)line->seq);
	if (entry->branch || (parent == view->head && !late))
		view->head = view->count;
	view->count++;
}

/* The line to the cut, and the late results of its calls that stand before the cut. */
static bool inherit(const struct sim_ledger *ledger, const struct sim_log *log, struct sim_view *ret_view)
{
	struct sim_view *base = sim_room(sizeof(*base));
	int *places = sim_room(SIM_NODES_MAX * sizeof(*places));
	int cut = sim_view(ledger, log->base, base) ? sim_view_find(base, log->through) : -1;

	for (int i = 0; i <= cut; i++) {
		struct sim_node node = base->nodes[i];
		if (!sim_view_on_line(base, i, cut) &&
			!(node.late && sim_view_on_line(base, node.parent, cut)))
			continue;
		node.parent = node.parent < 0 ? -1 : places[node.parent];
		places[i] = ret_view->count;
		ret_view->nodes[ret_view->count++] = node;
	}
	if (cut >= 0)
		ret_view->head = places[cut];
	free(places);
	free(base);
	return cut >= 0;
}

bool sim_view(const struct sim_ledger *ledger, int number, struct sim_view *ret_view)
{
	const struct sim_log *log = &ledger->logs[number];
	struct sim_scan *scan = sim_room(sizeof(*scan));
	ret_view->count = ret_view->own_from = 0;
	ret_view->head = -1;
	bool whole = log->kept == 0 || (log->base >= 0 && inherit(ledger, log, ret_view));

	ret_view->own_from = ret_view->count;
	sim_scan(ledger, number, scan);
	for (size_t i = 0; whole && i < scan->count; i++) {
		if (scan->lines[i].entry < 0)
			continue;
		const struct sim_entry *entry = &ledger->entries[scan->lines[i].entry];
		if (entry->kind <= SIM_TOOL)
			add_message(ledger, ret_view, &scan->lines[i]);
		else if (entry->kind == SIM_REWIND && !entry->target[0])
			ret_view->head = -1;
		else if (entry->kind == SIM_REWIND) {
			int target = sim_view_find(ret_view, entry->target);
			if (target >= 0)
				ret_view->head = target;
		}
	}
	free(scan);
	return whole;
}

/* What follows a node: on the head's line, else its first child beside which it does not stand. */
static int next_of(const struct sim_view *view, int node)
{
	int next = -1;
	if (sim_view_on_line(view, node, view->head)) {
		for (int i = view->head; i != node; i = view->nodes[i].parent)
			next = i;
		return next;
	}
	for (int i = 0; i < view->count; i++)
		if (view->nodes[i].parent == node && !view->nodes[i].late)
			return i;
	return -1;
}

int sim_view_cut(const struct sim_ledger *ledger, const struct sim_view *view, int node)
{
	int next = node < 0 ? -1 : next_of(view, node);

	if (next < 0 || ledger->entries[view->nodes[next].entry].kind != SIM_TOOL)
		return node;
	int before = before_results(ledger, view, next);
	if (before < 0 || ledger->entries[view->nodes[before].entry].kind != SIM_ASSISTANT)
		return node;
	return view->nodes[before].parent;
}
