/* SPDX-License-Identifier: MIT */
/* The content of the simulated disk and what a power cut makes of it, see disk.h. The calls are in process.c.
 */
#include "sim/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "sim/disk_internal.h"

void *sim_memory(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes ? bytes : 1);
	if (!memory)
		abort();
	return memory;
}

void *sim_room(size_t bytes)
{
	return sim_memory(NULL, bytes);
}

void sim_disk_init(struct sim_disk *disk, uint64_t seed)
{
	memset(disk, 0, sizeof(*disk));
	disk->random.state = seed;
	disk->realtime_ns = INT64_C(1788516000000000000); /* 2026-09-04T10:00:00Z */
	disk->call_ns = 1000;
	disk->time_step_ns = 1;
}

static void forget_changes(struct sim_file *file)
{
	for (size_t i = 0; i < file->change_count; i++)
		free(file->changes[i].data);
	file->change_count = 0;
}

static void release_file(struct sim_file *file)
{
	forget_changes(file);
	free(file->changes);
	free(file->data);
	free(file->flushed);
	free(file->durable);
	memset(file, 0, sizeof(*file));
	file->locked_by = -1;
}

void sim_disk_release(struct sim_disk *disk)
{
	for (int i = 0; i < disk->file_count; i++)
		release_file(&disk->files[i]);
	free(disk->name_changes);
	disk->name_changes = NULL;
}

int sim_names_find(const struct sim_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->list[i].name, name) == 0)
			return (int)i;
	return -1;
}

int sim_disk_find(const struct sim_disk *disk, const char *name)
{
	int at = sim_names_find(&disk->names, name);
	return at < 0 ? -1 : disk->names.list[at].file;
}

static void remove_name(struct sim_names *names, const char *name)
{
	int at = sim_names_find(names, name);
	if (at >= 0)
		names->list[at] = names->list[--names->count];
}

static void set_name(struct sim_names *names, const char *name, int file)
{
	int at = sim_names_find(names, name);
	if (at < 0) {
		if (names->count == SIM_NAMES_MAX)
			abort();
		at = (int)names->count++;
		memset(&names->list[at], 0, sizeof(names->list[at]));
		snprintf(names->list[at].name, SIM_NAME_BYTES, "%s", name);
	}
	names->list[at].file = file;
}

static void apply_name_change(struct sim_names *names, const struct sim_name_change *change)
{
	switch (change->kind) {
	case SIM_NAME_ADD:
		set_name(names, change->name, change->file);
		break;
	case SIM_NAME_REMOVE:
		remove_name(names, change->name);
		break;
	case SIM_NAME_MOVE:
		remove_name(names, change->name);
		set_name(names, change->to, change->file);
		break;
	}
}

void sim_disk_change_name(
	struct sim_disk *disk, enum sim_name_change_kind kind, const char *name, const char *to, int file)
{
	if (disk->name_change_count == disk->name_change_cap) {
		disk->name_change_cap = disk->name_change_cap ? 2 * disk->name_change_cap : 16;
		disk->name_changes =
			sim_memory(disk->name_changes, disk->name_change_cap * sizeof(*disk->name_changes));
	}
	struct sim_name_change *change = &disk->name_changes[disk->name_change_count++];
	memset(change, 0, sizeof(*change));
	change->kind = kind;
	change->file = file;
	strncpy(change->name, name, SIM_NAME_BYTES - 1);
	if (to)
		strncpy(change->to, to, SIM_NAME_BYTES - 1);
	apply_name_change(&disk->names, change);
}

bool sim_is_cache(const char *name)
{
	return strncmp(name, SIM_IN_CACHE, strlen(SIM_IN_CACHE)) == 0;
}

/* Of one folder: what happened in the other waits. */
void sim_disk_sync_names(struct sim_disk *disk, bool cache)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk->name_change_count; i++) {
		struct sim_name_change *change = &disk->name_changes[i];
		if (sim_is_cache(change->name) == cache)
			apply_name_change(&disk->durable_names, change);
		else
			disk->name_changes[kept++] = *change;
	}
	disk->name_change_count = kept;
}

void sim_disk_forget(struct sim_disk *disk, const char *name)
{
	remove_name(&disk->names, name);
	remove_name(&disk->durable_names, name);
}

static void take_inode(const struct sim_disk *disk, int file, bool taken[SIM_FILES_MAX + 1])
{
	if (file >= 0)
		taken[disk->files[file].inode] = true;
}

/* The first number that no file has which is open or has a name, or may have one after a power cut. */
static uint64_t free_inode(const struct sim_disk *disk)
{
	bool taken[SIM_FILES_MAX + 1] = {true};
	uint64_t inode = 0;

	for (int i = 0; i < SIM_OPEN_MAX; i++)
		if (disk->opens[i].process)
			take_inode(disk, disk->opens[i].file, taken);
	for (size_t i = 0; i < disk->names.count; i++)
		take_inode(disk, disk->names.list[i].file, taken);
	for (size_t i = 0; i < disk->durable_names.count; i++)
		take_inode(disk, disk->durable_names.list[i].file, taken);
	for (size_t i = 0; i < disk->name_change_count; i++)
		take_inode(disk, disk->name_changes[i].file, taken);
	while (taken[inode])
		inode++;
	return inode;
}

/* Bytes change in place, as a reader sees them who has the file open. */
static void change_in_place(
	struct sim_disk *disk, struct sim_file *file, size_t at, const char *data, size_t len)
{
	sim_file_change(file, at, data, len);
	sim_file_sync(disk, file, false);
}

static void spoil(struct sim_disk *disk, struct sim_file *file)
{
	char bytes[64];
	size_t at = sim_random_below(&disk->random, (uint32_t)file->size + 1);
	size_t len = sim_random_below(&disk->random, sizeof(bytes));

	if (len > file->size - at)
		len = file->size - at;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)sim_random_next(&disk->random);
	if (len)
		change_in_place(disk, file, at, bytes, len);
}

void sim_disk_harm(struct sim_disk *disk, const char *name, const char *other, enum sim_harm harm)
{
	int number = sim_disk_find(disk, name), with = other ? sim_disk_find(disk, other) : -1;

	if (number < 0)
		return;
	struct sim_file *file = &disk->files[number];
	switch (harm) {
	case SIM_HARM_CUT:
		change_in_place(
			disk, file, sim_random_below(&disk->random, (uint32_t)file->size + 1), NULL, 0);
		break;
	case SIM_HARM_EMPTY:
		change_in_place(disk, file, 0, NULL, 0);
		break;
	case SIM_HARM_SPOIL:
		spoil(disk, file);
		break;
	case SIM_HARM_SWAP:
		if (with >= 0) {
			sim_disk_change_name(disk, SIM_NAME_ADD, name, NULL, with);
			sim_disk_change_name(disk, SIM_NAME_ADD, other, NULL, number);
		}
		break;
	default:
		sim_disk_change_name(disk, SIM_NAME_REMOVE, name, NULL, -1);
	}
}

int64_t sim_disk_file_time(const struct sim_disk *disk)
{
	int64_t now = disk->realtime_ns + disk->now_ns;
	return now - now % disk->time_step_ns;
}

int sim_disk_new_file(struct sim_disk *disk, unsigned mode)
{
	if (disk->file_count == SIM_FILES_MAX)
		abort();
	struct sim_file *file = &disk->files[disk->file_count];
	memset(file, 0, sizeof(*file));
	file->mode = S_IFREG | mode;
	file->modified_ns = sim_disk_file_time(disk);
	file->inode = free_inode(disk);
	file->locked_by = -1;
	return disk->file_count++;
}

/* ---- Content */

static void apply_change(char **data, size_t *size, const struct sim_change *change)
{
	if (change->size_after > *size) {
		*data = sim_memory(*data, change->size_after);
		memset(*data + *size, 0, change->size_after - *size);
	}
	*size = change->size_after;
	if (change->data)
		memcpy(*data + change->offset, change->data, change->len);
}

void sim_file_change(struct sim_file *file, size_t offset, const void *data, size_t len)
{
	if (file->change_count == file->change_cap) {
		file->change_cap = file->change_cap ? 2 * file->change_cap : 8;
		file->changes = sim_memory(file->changes, file->change_cap * sizeof(*file->changes));
	}
	struct sim_change change = {.offset = offset, .len = len, .size_after = offset};
	if (data) {
		change.data = sim_memory(NULL, len);
		memcpy(change.data, data, len);
		change.size_after = offset + len > file->size ? offset + len : file->size;
	}
	file->version++;
	file->changes[file->change_count++] = change;
	apply_change(&file->data, &file->size, &change);
}

/* Which of the changes reach the disk: for each sector, how many of them (the first so many). */
struct fate {
	enum { FATE_NONE, FATE_ALL, FATE_PREFIX, FATE_ANY } kind;
	size_t count, prefix;
};

static size_t sector_fate(struct sim_random *random, const struct fate *fate, bool beyond)
{
	switch (fate->kind) {
	case FATE_NONE:
		return 0;
	case FATE_ALL:
		return fate->count;
	case FATE_PREFIX:
		return beyond ? fate->prefix : fate->prefix + 1;
	default:
		return sim_random_below(random, (uint32_t)fate->count + 1);
	}
}

/* Copies one sector of what was cached onto what is on the disk. */
static void write_sector(
	char *durable, size_t durable_cap, const char *cached, size_t cached_size, size_t sector)
{
	size_t start = sector * SIM_SECTOR_BYTES;
	for (size_t at = start; at < start + SIM_SECTOR_BYTES && at < durable_cap; at++)
		durable[at] = at < cached_size ? cached[at] : 0;
}

static size_t choose_size(struct sim_disk *disk, const struct sim_file *file, const struct fate *fate)
{
	if (fate->kind == FATE_NONE)
		return file->durable_size;
	if (fate->kind == FATE_ALL)
		return file->size;
	size_t at = fate->kind == FATE_PREFIX ? fate->prefix
					      : sim_random_below(&disk->random, (uint32_t)fate->count);
	size_t size = file->changes[at].size_after;
	size_t before = at ? file->changes[at - 1].size_after : file->durable_size;
	uint32_t how = sim_random_below(&disk->random, 3);
	if (how == 0)
		return before;
	if (how == 1 && size > before)
		return before + sim_random_below(&disk->random, (uint32_t)(size - before) + 1);
	return size;
}

static struct fate choose_fate(struct sim_disk *disk, const struct sim_file *file)
{
	struct fate fate = {.count = file->change_count};
	fate.kind = sim_random_below(&disk->random, 4);
	if (file->change_count == 0)
		fate.kind = FATE_ALL;
	if (fate.kind == FATE_PREFIX)
		fate.prefix = sim_random_below(&disk->random, (uint32_t)fate.count);
	return fate;
}

/* Lets the changes reach the disk as fate has it. */
static void settle(struct sim_disk *disk, struct sim_file *file, struct fate fate)
{
	size_t most = file->flushed_size > file->durable_size ? file->flushed_size : file->durable_size;
	for (size_t i = 0; i < file->change_count; i++)
		most = file->changes[i].size_after > most ? file->changes[i].size_after : most;
	size_t sectors = most / SIM_SECTOR_BYTES + 1, cached_size = file->flushed_size;
	char *cached = sim_memory(NULL, cached_size);
	size_t *fates = sim_memory(NULL, sectors * sizeof(*fates));
	size_t torn = sim_random_below(&disk->random, (uint32_t)sectors + 1);

	if (cached_size)
		memcpy(cached, file->flushed, cached_size);
	for (size_t i = 0; i < sectors; i++)
		fates[i] = sector_fate(&disk->random, &fate, i >= torn);
	file->durable = sim_memory(file->durable, most);
	memset(file->durable + file->durable_size, 0, most - file->durable_size);
	for (size_t i = 0; i < file->change_count; i++) {
		const struct sim_change *change = &file->changes[i];
		size_t from = change->offset / SIM_SECTOR_BYTES;
		size_t end =
			change->data ? (change->offset + change->len - 1) / SIM_SECTOR_BYTES : sectors - 1;
		apply_change(&cached, &cached_size, change);
		for (size_t sector = from; sector <= end && sector < sectors; sector++)
			if (i < fates[sector])
				write_sector(file->durable, most, cached, cached_size, sector);
	}
	file->durable_size = choose_size(disk, file, &fate);
	memset(file->durable + file->durable_size, 0, most - file->durable_size);
	free(cached);
	free(fates);
}

static void copy_content(char **to, size_t *to_size, const char *from, size_t size)
{
	*to = sim_memory(*to, size);
	if (size)
		memcpy(*to, from, size);
	*to_size = size;
}

void sim_file_sync(struct sim_disk *disk, struct sim_file *file, bool fails)
{
	if (file->change_count == 0)
		return;
	struct fate all = {FATE_ALL, file->change_count, 0};
	settle(disk, file, fails ? choose_fate(disk, file) : all);
	copy_content(&file->flushed, &file->flushed_size, file->data, file->size);
	forget_changes(file);
}

/* ---- The power cut */

static void cut_names(struct sim_disk *disk)
{
	uint32_t how = sim_random_below(&disk->random, 4), count = (uint32_t)disk->name_change_count;
	uint32_t prefix = sim_random_below(&disk->random, count + 1);

	for (uint32_t i = 0; i < count; i++)
		if (how == 1 || (how == 2 && i < prefix) ||
			(how == 3 && sim_random_percent(&disk->random, 50)))
			apply_name_change(&disk->durable_names, &disk->name_changes[i]);
	for (size_t i = 0;
		i < disk->durable_names.count && sim_names_find(&disk->durable_names, SIM_CACHE) < 0;)
		if (sim_is_cache(disk->durable_names.list[i].name))
			remove_name(&disk->durable_names, disk->durable_names.list[i].name);
		else
			i++;
	disk->names = disk->durable_names;
	disk->name_change_count = 0;
}

void sim_disk_cut_power(struct sim_disk *disk)
{
	disk->power_cuts++;
	if (!disk->folder_durable && sim_random_percent(&disk->random, 50)) {
		memset(&disk->durable_names, 0, sizeof(disk->durable_names));
		disk->name_change_count = 0;
		disk->folder = false;
	}
	disk->folder_durable = disk->folder;
	cut_names(disk);
	for (int i = 0; i < disk->file_count; i++) {
		struct sim_file *file = &disk->files[i];
		bool named = false;
		for (size_t j = 0; j < disk->names.count; j++)
			named = named || disk->names.list[j].file == i;
		if (!named) {
			release_file(file);
			continue;
		}
		file->version++;
		settle(disk, file, choose_fate(disk, file));
		forget_changes(file);
		copy_content(&file->data, &file->size, file->durable, file->durable_size);
		copy_content(&file->flushed, &file->flushed_size, file->durable, file->durable_size);
		file->locked_by = -1;
	}
}
