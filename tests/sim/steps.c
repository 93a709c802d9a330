/* SPDX-License-Identifier: MIT */
/* Steps that make, fork, delete, list and look; appending is in steps_append.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/world.h"

static const char *id_of(const struct sim_world *world, int number)
{
	return world->ledger.logs[number].id;
}

static void set_id(char id[SIM_ID_BYTES], unsigned slot)
{
	snprintf(id, SIM_ID_BYTES, "s%u", slot);
}

static bool name_exists(const struct sim_world *world, const char *id)
{
	char name[SIM_NAME_BYTES];
	snprintf(name, sizeof(name), "%s.jsonl", id);
	return sim_disk_find(&world->disk, name) >= 0;
}

/* ---- Creating */

static void set_create_options(const struct sim_log *log, int number, char owner[SIM_ID_BYTES],
	struct log_create_options *ret_options)
{
	snprintf(owner, SIM_ID_BYTES, "i%d", number);
	ret_options->id = slice_of(log->id);
	ret_options->owner = slice_of(owner);
	ret_options->sync = log->durable_mode ? STORE_SYNC_FULL : STORE_SYNC_NONE;
}

static void promise_log(struct sim_world *world, int number)
{
	struct sim_log *log = &world->ledger.logs[number];
	sim_world_adopt(world);
	if (log->file < 0)
		sim_fail(world, "%s was made, but is not there", log->id);
	log->promise = log->durable_mode ? SIM_SURVIVES_POWER : SIM_SURVIVES_PROCESS;
}

void sim_step_create(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct sim_handle *handle = &writer->handles[step->slot];
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct bobbin_error error = {0};
	char id[SIM_ID_BYTES], owner[SIM_ID_BYTES];

	set_id(id, step->slot);
	bool taken = name_exists(world, id);
	int number = sim_ledger_add_log(&world->ledger, id, !step->without_sync);
	set_create_options(&world->ledger.logs[number], number, owner, &options);
	sim_handle_close(handle);
	sim_tell(world, " create %s as i%d%s", id, number, step->without_sync ? " (sync none)" : "");
	int rc = log_create(writer->store, &options, &handle->log, &error);
	uint32_t allowed = taken || world->disturbed ? SIM_CODE(BOBBIN_EEXIST) : 0;
	if (world->disturbed) /* deleted again before it was read */
		allowed |= SIM_CODE(BOBBIN_ENOTFOUND);
	sim_judge(world, writer, "create", rc, &error, allowed);
	if (rc) {
		handle->log = NULL;
		return;
	}
	handle->number = number;
	if (taken && !world->disturbed)
		sim_fail(world, "%s was made although it was there", id);
	if (!world->disturbed || name_exists(world, id))
		promise_log(world, number);
}

/* ---- Forking */

struct fork_plan {
	struct log_fork_options options;
	char at[SIM_ID_BYTES];
	int number; /* the child's */
	int cut;    /* node after which it is cut, or -1 */
	unsigned asked;
};

/* Which messages to keep: so many of the line, or through any one of the tree. */
static void choose_cut(struct sim_world *world, const struct sim_view *view, const struct sim_step *step,
	struct fork_plan *plan)
{
	int node;
	unsigned line = view->head < 0 ? 0 : sim_view_depth(view, view->head) + 1;

	plan->options.by_count = step->b % 2 || view->count == 0;
	if (plan->options.by_count) {
		plan->asked = step->c % (line + 1);
		plan->options.count = plan->asked;
		node = view->head;
		for (unsigned i = plan->asked; i < line; i++)
			node = view->nodes[node].parent;
	} else {
		node = (int)(step->c % (uint32_t)view->count);
		plan->asked = sim_view_depth(view, node) + 1;
		sim_view_name(view, node, step->a >> 8, plan->at);
		plan->options.at = slice_of(plan->at);
	}
	plan->cut = sim_view_cut(&world->ledger, view, node);
}

static int holder_of(const struct sim_ledger *ledger, int number, const struct sim_view *view, int node)
{
	int entry = view->nodes[node].entry;
	while (number >= 0 && ledger->entries[entry].log != number)
		number = ledger->logs[number].base;
	return number;
}

static void note_child(
	struct sim_world *world, const struct sim_view *view, int parent, const struct fork_plan *plan)
{
	struct sim_log *child = &world->ledger.logs[plan->number];
	child->parent = child->base = parent;
	if (plan->cut < 0)
		return;
	child->base = holder_of(&world->ledger, parent, view, plan->cut);
	child->kept = sim_view_depth(view, plan->cut) + 1;
	snprintf(child->through, sizeof(child->through), "%s", view->nodes[plan->cut].id);
}

static void check_fork(struct sim_world *world, const struct fork_plan *plan, const struct log_fork *fork)
{
	const struct sim_log *child = &world->ledger.logs[plan->number];
	if (world->failure[0])
		return;
	if (fork->kept != child->kept || strcmp(fork->through, child->through) != 0)
		sim_fail(world, "fork of %s at %s%u keeps %llu through %s, not %llu through %s",
			id_of(world, child->parent), plan->at, plan->asked, (unsigned long long)fork->kept,
			fork->through, (unsigned long long)child->kept, child->through);
	else if (fork->walked_back != plan->asked - child->kept)
		sim_fail(world, "fork walked back %llu, not %llu", (unsigned long long)fork->walked_back,
			(unsigned long long)(plan->asked - child->kept));
}

static void fork_now(struct sim_world *world, struct sim_writer *writer, struct sim_handle *handle,
	struct sim_handle *child, struct fork_plan *plan, bool taken)
{
	struct bobbin_error error = {0};
	struct log_fork fork;
	uint32_t allowed = taken || world->operation->interrupt_at ? SIM_CODE(BOBBIN_EEXIST) : 0;
	bool gone = sim_ledger_find_log(&world->ledger, id_of(world, handle->number)) != handle->number;
	int parent = handle->number;

	int rc = log_fork(handle->log, &plan->options, &fork, &child->log, &error);
	if (gone || world->disturbed)
		allowed |= SIM_CODE(BOBBIN_ENOTFOUND) | SIM_CODE(BOBBIN_ECORRUPT);
	if (world->disturbed)
		allowed |= SIM_CODE(BOBBIN_EINVAL);
	if (sim_is_excused(&world->ledger, parent))
		allowed |= SIM_CODE(BOBBIN_ECORRUPT);
	sim_judge(world, writer, "fork", rc, &error, allowed);
	if (rc) {
		world->ledger.logs[plan->number].cut_unknown = world->disturbed;
		child->log = NULL;
		return;
	}
	child->number = plan->number;
	promise_log(world, plan->number);
	if (!world->disturbed)
		check_fork(world, plan, &fork);
	else {
		struct sim_log *log = &world->ledger.logs[plan->number];
		log->kept = fork.kept; /* the line may have moved in between */
		snprintf(log->through, sizeof(log->through), "%.39s", fork.through);
	}
}

/* Rather one that is free. */
static unsigned choose_slot(const struct sim_world *world, const struct sim_step *step)
{
	char id[SIM_ID_BYTES];

	for (unsigned i = 0; i < SIM_SLOTS; i++) {
		unsigned slot = (step->slot + 1 + (step->a + i) % (SIM_SLOTS - 1)) % SIM_SLOTS;
		set_id(id, slot);
		if (!name_exists(world, id))
			return slot;
	}
	return (step->slot + 1) % SIM_SLOTS;
}

void sim_step_fork(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	unsigned slot = choose_slot(world, step);
	struct fork_plan plan = {.options = LOG_FORK_OPTIONS_INIT};
	struct sim_handle *handle = sim_world_handle(world, writer, step->slot);
	struct sim_view *view = sim_room(sizeof(*view));
	char id[SIM_ID_BYTES], owner[SIM_ID_BYTES];

	set_id(id, slot);
	bool taken = name_exists(world, id);
	if (handle && sim_view(&world->ledger, handle->number, view)) {
		plan.number = sim_ledger_add_log(&world->ledger, id, !step->without_sync);
		choose_cut(world, view, step, &plan);
		note_child(world, view, handle->number, &plan);
		set_create_options(
			&world->ledger.logs[plan.number], plan.number, owner, &plan.options.create);
		sim_handle_close(&writer->handles[slot]);
		sim_tell(world, " fork %s (i%d) at %s%u to %s as i%d%s", id_of(world, handle->number),
			handle->number, plan.options.by_count ? "" : plan.at, plan.asked, id, plan.number,
			step->without_sync ? " (sync none)" : "");
		fork_now(world, writer, handle, &writer->handles[slot], &plan, taken);
	}
	free(view);
}

/* ---- Deleting */

static bool has_child(const struct sim_world *world, int number)
{
	for (int i = 0; i < world->ledger.log_count; i++) {
		const struct sim_log *log = &world->ledger.logs[i];
		if (!log->exists || (log->parent < 0 && log->base < 0))
			continue;
		/* By name: that is all that headers say. */
		if (strcmp(id_of(world, log->parent), id_of(world, number)) == 0 ||
			strcmp(id_of(world, log->base), id_of(world, number)) == 0)
			return true;
	}
	return false;
}

/* Whichever log had the name: another writer may have made it after the deletion began. */
static void note_deletion(struct sim_world *world, const char *id, bool acknowledged)
{
	sim_world_adopt(world);
	for (int i = 0; i < world->ledger.log_count; i++) {
		struct sim_log *log = &world->ledger.logs[i];
		if (!log->exists || strcmp(log->id, id) != 0)
			continue;
		log->delete_tried = true;
		log->exists = sim_ledger_find_log(&world->ledger, id) == i;
		log->deleted = acknowledged && !log->exists;
	}
}

void sim_step_delete(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct bobbin_error error = {0};
	char id[SIM_ID_BYTES];

	set_id(id, step->slot);
	int number = sim_ledger_find_log(&world->ledger, id);
	bool kept = number >= 0 && has_child(world, number);
	sim_handle_close(&writer->handles[step->slot]);
	sim_tell(world, " delete %s (i%d)", id, number);
	int rc = store_delete(writer->store, slice_of(id), &error);
	uint32_t allowed = number < 0 || world->disturbed ? SIM_CODE(BOBBIN_ENOTFOUND) : 0;
	if (kept || world->disturbed)
		allowed |= SIM_CODE(BOBBIN_EREFUSED);
	sim_judge(world, writer, "delete", rc, &error, allowed);
	bool there = number >= 0 && sim_ledger_find_log(&world->ledger, id) == number;
	if (rc == 0 && !world->disturbed && (there || kept))
		sim_fail(world, "%s was deleted, but %s", id, kept ? "has a fork" : "is still there");
	if (rc && !there && number >= 0 && rc != BOBBIN_EIO && !world->disturbed && !writer->process.dead)
		sim_fail(world, "%s is gone although deleting it was refused", id);
	note_deletion(world, id, rc == 0);
}

/* ---- Looking */

void sim_step_refresh(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct sim_handle *handle = &writer->handles[step->slot];
	struct bobbin_error error = {0};

	if (!handle->log)
		return;
	bool gone = sim_ledger_find_log(&world->ledger, id_of(world, handle->number)) != handle->number;
	uint64_t changes = writer->process.changes;
	int rc = log_refresh(handle->log, &error);
	uint32_t allowed = 0;
	if (gone || world->disturbed)
		allowed = SIM_CODE(BOBBIN_ENOTFOUND) | SIM_CODE(BOBBIN_ECORRUPT);
	sim_judge(world, writer, "refresh", rc, &error, allowed);
	if (writer->process.changes != changes)
		sim_fail(world, "refreshing %s changed something", id_of(world, handle->number));
	if (rc == 0 && gone && !world->disturbed)
		sim_fail(world, "%s is gone, but refreshing it says nothing", id_of(world, handle->number));
	if (rc == 0 && !world->disturbed && !gone && !writer->process.failures && !writer->process.dead) {
		sim_process_plan_nothing(&writer->process);
		sim_compare(world, handle->log, handle->number);
	}
	if (rc)
		sim_handle_close(handle);
}

static bool lost_any(const struct sim_ledger *ledger, int number)
{
	for (; number >= 0; number = ledger->logs[number].base)
		for (int i = 0; i < ledger->entry_count; i++)
			if (ledger->entries[i].log == number && ledger->entries[i].lost)
				return true;
	return false;
}

static void check_entry(struct sim_world *world, const struct store_entry *entry)
{
	int number = sim_ledger_find_log(&world->ledger, entry->id);
	if (number < 0)
		return;
	const struct sim_log *log = &world->ledger.logs[number];
	char owner[SIM_ID_BYTES];
	snprintf(owner, sizeof(owner), "i%d", number);
	const char *parent = log->parent < 0 ? "" : id_of(world, log->parent);
	if (entry->damaged || strcmp(entry->owner, owner) != 0 || strcmp(entry->parent_id, parent) != 0 ||
		(entry->forked_at != log->kept && !log->cut_unknown))
		sim_fail(world, "the list says of %s: owner %s, parent %s, forked at %llu%s", entry->id,
			entry->owner, entry->parent_id, (unsigned long long)entry->forked_at,
			entry->damaged ? ", damaged" : "");
	/* A log that kept its length and lost what was never promised looks like the one that was counted. */
	if (!entry->messages_exact || sim_is_excused(&world->ledger, number) ||
		lost_any(&world->ledger, number))
		return;
	struct sim_view *view = sim_room(sizeof(*view));
	unsigned line = 0;
	if (sim_view(&world->ledger, number, view))
		line = view->head < 0 ? 0 : sim_view_depth(view, view->head) + 1;
	if (entry->messages != line)
		sim_fail(world, "the list says that %s has exactly %llu messages, not %u", entry->id,
			(unsigned long long)entry->messages, line);
	free(view);
}

void sim_step_list(struct sim_world *world, struct sim_writer *writer)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	struct bobbin_error error = {0};
	size_t count;
	uint64_t changes = writer->process.changes;
	int rc = store_list(writer->store, NULL, &arena, &entries, &count, &error);

	sim_judge(world, writer, "list", rc, &error, 0);
	if (writer->process.changes != changes)
		sim_fail(world, "listing changed something");
	if (rc == 0 && !world->disturbed && !writer->process.failures && !writer->process.dead) {
		size_t expected = 0;
		for (int i = 0; i < world->ledger.log_count; i++)
			expected += world->ledger.logs[i].exists;
		if (count != expected)
			sim_fail(world, "the list has %zu sessions, not %zu", count, expected);
		for (size_t i = 0; i < count; i++)
			check_entry(world, &entries[i]);
	}
	arena_release(&arena);
}
