/* SPDX-License-Identifier: MIT */
/* Running operations, dying, and judging answers, see world.h. */
#include "sim/world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND INT64_C(1000000000)

void sim_fail(struct sim_world *world, const char *format, ...)
{
	if (world->failure[0])
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(world->failure, sizeof(world->failure), format, arguments);
	va_end(arguments);
}

void sim_tell(struct sim_world *world, const char *format, ...)
{
	size_t len = strlen(world->outcome);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(world->outcome + len, sizeof(world->outcome) - len, format, arguments);
	va_end(arguments);
}

void sim_judge(struct sim_world *world, const struct sim_writer *writer, const char *what, int rc,
	const struct bobbin_error *error, uint32_t allowed)
{
	const struct sim_process *process = &writer->process;

	if (rc)
		sim_tell(world, " %s %d", what, rc);
	if (process->dead || world->failure[0])
		return;
	if (process->full_failures)
		allowed |= SIM_CODE(BOBBIN_ENOSPC);
	if (process->failures > process->full_failures)
		allowed |= SIM_CODE(BOBBIN_EIO);
	if (process->sync_failures)
		allowed |= SIM_CODE(BOBBIN_EUNKNOWN);
	if (world->disturbed)
		allowed |= SIM_CODE(BOBBIN_EBUSY);
	if (rc && !(allowed & SIM_CODE(rc)))
		sim_fail(world, "%s: %d without a reason: %s", what, rc, error ? error->message : "");
}

/* ---- Writers */

static struct sim_writer *each_writer(struct sim_world *world, int number)
{
	return number < SIM_WRITERS ? &world->writers[number] : &world->checker;
}

static int open_store(struct sim_world *world, int number)
{
	struct sim_writer *writer = each_writer(world, number);
	struct store_options options = {.create = true,
		.index_step = world->conditions.index_steps[number],
		.catalogue_step = world->conditions.catalogue_step};

	sim_process_init(&writer->process, &world->disk);
	memset(writer->handles, 0, sizeof(writer->handles));
	writer->store = NULL;
	return store_open(&writer->process.table, SIM_FOLDER, &options, &writer->store, NULL);
}

void sim_handle_close(struct sim_handle *handle)
{
	log_close(handle->log);
	memset(handle, 0, sizeof(*handle));
}

static void close_writer(struct sim_writer *writer)
{
	for (int i = 0; i < SIM_SLOTS; i++)
		sim_handle_close(&writer->handles[i]);
	store_close(writer->store);
	writer->store = NULL;
}

static void bury(struct sim_writer *writer)
{
	sim_process_kill(&writer->process);
	close_writer(writer);
}

static int open_stores(struct sim_world *world)
{
	for (int i = 0; i <= SIM_WRITERS; i++) {
		int rc = each_writer(world, i)->store ? 0 : open_store(world, i);
		if (rc)
			return rc;
	}
	return 0;
}

int sim_world_init(struct sim_world *world, const struct sim_conditions *conditions)
{
	memset(world, 0, sizeof(*world));
	world->conditions = *conditions;
	sim_disk_init(&world->disk, conditions->seed);
	world->disk.call_ns = conditions->call_ns;
	world->disk.time_step_ns = conditions->time_step_ns;
	world->disk.errors_reach_all = conditions->errors_reach_all;
	world->ledger.disk = &world->disk;
	return open_stores(world);
}

void sim_world_release(struct sim_world *world)
{
	for (int i = 0; i <= SIM_WRITERS; i++)
		bury(each_writer(world, i));
	sim_disk_release(&world->disk);
	sim_ledger_release(&world->ledger);
}

static void cut_power(struct sim_world *world)
{
	for (int i = 0; i <= SIM_WRITERS; i++)
		bury(each_writer(world, i));
	sim_disk_cut_power(&world->disk);
	sim_after_power_cut(world);
	if (open_stores(world))
		sim_fail(world, "the store cannot be opened after a power cut");
}

/* ---- Sessions */

void sim_world_adopt(struct sim_world *world)
{
	struct sim_ledger *ledger = &world->ledger;
	struct sim_scan *scan = sim_room(sizeof(*scan));
	for (int i = 0; i < ledger->log_count; i++) {
		struct sim_log *log = &ledger->logs[i];
		char name[SIM_NAME_BYTES];
		snprintf(name, sizeof(name), "%s.jsonl", log->id);
		int file = sim_disk_find(&world->disk, name);
		if (log->file != SIM_NOT_YET || file < 0 || sim_ledger_find_log(ledger, log->id) >= 0)
			continue;
		log->file = file;
		sim_scan(ledger, i, scan);
		log->exists = scan->header;
		if (!scan->header)
			log->file = SIM_NOT_YET;
	}
	free(scan);
}

bool sim_is_excused(const struct sim_ledger *ledger, int number)
{
	if (ledger->disk->power_cuts == 0)
		return false;
	if (ledger->logs[number].excused)
		return true;
	for (; number >= 0; number = ledger->logs[number].base) {
		if (ledger->logs[number].doubtful)
			return true;
		for (int i = 0; i < ledger->entry_count; i++)
			if (ledger->entries[i].log == number && ledger->entries[i].doubtful)
				return true;
	}
	return false;
}

struct sim_handle *sim_world_handle(struct sim_world *world, struct sim_writer *writer, unsigned slot)
{
	struct sim_handle *handle = &writer->handles[slot];
	struct bobbin_error error = {0};
	char id[SIM_ID_BYTES];

	if (handle->log)
		return handle;
	snprintf(id, sizeof(id), "s%u", slot);
	sim_world_adopt(world);
	int number = sim_ledger_find_log(&world->ledger, id);
	uint64_t changes = writer->process.changes;
	int rc = log_open(writer->store, slice_of(id), LOG_WRITE, &handle->log, &error);
	uint32_t allowed = number < 0 || world->disturbed ? SIM_CODE(BOBBIN_ENOTFOUND) : 0;
	if (world->disturbed || (number >= 0 && sim_is_excused(&world->ledger, number)))
		allowed |= SIM_CODE(BOBBIN_ECORRUPT);
	sim_judge(world, writer, "open", rc, &error, allowed);
	if (writer->process.changes != changes)
		sim_fail(world, "opening %s changed something", id);
	if (rc) {
		handle->log = NULL;
		return NULL;
	}
	sim_world_adopt(world);
	handle->number = sim_ledger_find_log(&world->ledger, id);
	if (handle->number < 0)
		sim_handle_close(handle); /* deleted at the same moment */
	return handle->log ? handle : NULL;
}

/* ---- Operations */

static void reopen(struct sim_world *world, struct sim_writer *writer, unsigned slot)
{
	sim_handle_close(&writer->handles[slot]);
	sim_world_handle(world, writer, slot);
}

void sim_world_verify(struct sim_world *world)
{
	for (int i = 0; i < world->ledger.log_count && !world->failure[0]; i++) {
		const struct sim_log *entry = &world->ledger.logs[i];
		struct bobbin_error error = {0};
		struct log *log;
		if (!entry->exists)
			continue;
		sim_check_bytes(world, i);
		uint64_t changes = world->checker.process.changes;
		int rc = log_open(world->checker.store, slice_of(entry->id), LOG_READ, &log, &error);
		sim_judge(world, &world->checker, "open", rc, &error,
			sim_is_excused(&world->ledger, i) ? SIM_CODE(BOBBIN_ECORRUPT) : 0);
		if (rc == 0) {
			sim_compare(world, log, i);
			log_close(log);
		}
		if (world->checker.process.changes != changes)
			sim_fail(world, "opening and reading %s changed something", entry->id);
	}
}

/* After a nap of hours, or by hand: nothing may depend on it, nor on its going forward. */
static void set_clock(struct sim_world *world, const struct sim_step *step)
{
	static const int64_t SECONDS[] = {-1, 1, -3600, 36000, -86400 * 365, 86400 * 365, 0};
	int64_t seconds = SECONDS[step->a % (sizeof(SECONDS) / sizeof(SECONDS[0]))];

	if (seconds == 0) /* to where machines without a battery begin */
		world->disk.realtime_ns = -world->disk.now_ns;
	else if (world->disk.realtime_ns + seconds * NS_PER_SECOND > -world->disk.now_ns)
		world->disk.realtime_ns += seconds * NS_PER_SECOND;
	sim_tell(world, " clock set by %lld s", (long long)seconds);
}

/* One cache: gone, cut, with bytes changed, or another one's content under its name. */
static void damage_caches(struct sim_world *world, const struct sim_step *step)
{
	struct sim_disk *disk = &world->disk;
	const struct sim_name *found = NULL, *other = NULL;

	for (size_t i = 0; i < disk->names.count; i++) {
		const struct sim_name *name = &disk->names.list[(i + step->b) % disk->names.count];
		/* That a sync has failed must not be forgotten: deleting that is nobody's to do. */
		if (!sim_is_cache(name->name) || strstr(name->name, ".unsynced"))
			continue;
		other = found;
		found = name;
		if (other)
			break;
	}
	if (!found)
		return;
	world->damaged++;
	sim_tell(world, " damage %u to %s", step->a % SIM_HARMS, found->name);
	sim_disk_harm(disk, found->name, other ? other->name : NULL, (enum sim_harm)(step->a % SIM_HARMS));
}

static void do_step(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	switch (step->kind) {
	case SIM_DO_REWIND:
		sim_step_rewind(world, writer, step);
		break;
	case SIM_DO_TITLE:
		sim_step_title(world, writer, step);
		break;
	case SIM_DO_CREATE:
		sim_step_create(world, writer, step);
		break;
	case SIM_DO_FORK:
		sim_step_fork(world, writer, step);
		break;
	case SIM_DO_DELETE:
		sim_step_delete(world, writer, step);
		break;
	case SIM_DO_REFRESH:
		sim_step_refresh(world, writer, step);
		break;
	case SIM_DO_REOPEN:
		reopen(world, writer, step->slot);
		break;
	case SIM_DO_LIST:
		sim_step_list(world, writer);
		break;
	case SIM_DO_VERIFY:
		if (!world->disturbed)
			sim_world_verify(world);
		break;
	case SIM_DO_CLOCK:
		set_clock(world, step);
		break;
	case SIM_DO_DAMAGE:
		damage_caches(world, step);
		break;
	default:
		sim_step_append(world, writer, step);
	}
	sim_world_adopt(world);
}

/* A failed sync forgets what no sync before it has stored of that file: no promise about that can be kept. */
static void note_failed_syncs(struct sim_world *world)
{
	struct sim_ledger *ledger = &world->ledger;

	for (int i = 0; i < ledger->log_count; i++) {
		struct sim_log *log = &ledger->logs[i];
		uint32_t errors = log->file < 0 ? 0 : world->disk.files[log->file].sync_errors;
		if (errors == log->noted_errors)
			continue;
		log->noted_errors = errors;
		log->doubtful = log->doubtful || log->promise < SIM_SURVIVES_POWER;
		for (int j = 0; j < ledger->entry_count; j++)
			if (ledger->entries[j].log == i && ledger->entries[j].promise < SIM_SURVIVES_POWER)
				ledger->entries[j].doubtful = true;
	}
}

static void interrupt(void *data)
{
	struct sim_world *world = data;
	const struct sim_step *step = &world->operation->inner;
	struct sim_writer *writer = &world->writers[step->writer];

	sim_process_plan_nothing(&writer->process);
	world->disturbed = true;
	sim_tell(world, " [meanwhile:");
	do_step(world, writer, step);
	note_failed_syncs(world);
	sim_tell(world, " ]");
}

void sim_world_do(struct sim_world *world, const struct sim_operation *operation)
{
	struct sim_writer *writer = &world->writers[operation->step.writer];
	struct sim_process *process = &writer->process;

	world->operation = operation;
	world->disturbed = false;
	world->outcome[0] = '\0';
	sim_process_plan_nothing(process);
	sim_process_plan_nothing(&world->checker.process);
	process->die_at = operation->die_at;
	process->fail_at = operation->fail_at;
	process->fail_calls = operation->fail_calls;
	process->fail_caches = operation->fail_caches;
	process->fail_errno = operation->fail_errno;
	process->interrupt_at = operation->interrupt_at;
	process->interrupt = interrupt;
	process->data = world;
	do_step(world, writer, &operation->step);
	note_failed_syncs(world);
	bool dead = process->dead;
	world->failed_calls += process->failures + process->cache_failures;
	world->cache_failures += process->cache_failures;
	sim_process_plan_nothing(process);
	if (dead && operation->power) {
		sim_tell(world, " power cut");
		cut_power(world);
		sim_world_verify(world);
	} else if (dead) {
		sim_tell(world, " died");
		bury(writer);
		if (open_stores(world))
			sim_fail(world, "the store cannot be opened after a process died");
	}
	world->disturbed = false;
	for (int i = 0; i < world->ledger.log_count; i++) {
		struct sim_log *log = &world->ledger.logs[i];
		uint64_t version = log->file < 0 ? 0 : world->disk.files[log->file].version;
		if (log->exists &&
			(log->checked != version || sim_ledger_find_log(&world->ledger, log->id) != i))
			sim_check_bytes(world, i);
		log->checked = version;
	}
}
