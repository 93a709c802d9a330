/* SPDX-License-Identifier: MIT */
/* The calls of a simulated process: struct platform upon disk.c, with planned faults, death and interruption.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "sim/disk_internal.h"

#define FIRST_DESCRIPTOR 1000
#define SLEEP_LEAST_NS INT64_C(700000000) /* so that waiting for a lock takes few steps */
#define SIM_USER 1000
#define FIRST_INODE 100
#define EXT4_MAGIC 0xef53

static struct sim_open *opened(const struct sim_process *process, int descriptor)
{
	int at = descriptor - FIRST_DESCRIPTOR;
	if (at < 0 || at >= SIM_OPEN_MAX || process->disk->opens[at].process != process)
		return NULL;
	return &process->disk->opens[at];
}

static bool is_cache(const struct sim_process *process, int descriptor)
{
	const struct sim_open *open = opened(process, descriptor);
	return open && open->cache;
}

/* A name in the folder that is open there, as the disk keeps it. */
static const char *whole_name(
	const struct sim_process *process, int dir, const char *name, char room[SIM_NAME_BYTES])
{
	const struct sim_open *open = opened(process, dir);

	snprintf(
		room, SIM_NAME_BYTES, "%s%s", open && open->file == SIM_OPEN_CACHE ? SIM_IN_CACHE : "", name);
	return room;
}

static void let_go(struct sim_disk *disk, struct sim_open *open)
{
	int descriptor = (int)(open - disk->opens) + FIRST_DESCRIPTOR;
	if (open->file >= 0 && disk->files[open->file].locked_by == descriptor)
		disk->files[open->file].locked_by = -1;
	open->process = NULL;
}

void sim_process_kill(struct sim_process *process)
{
	process->dead = true;
	for (int i = 0; i < SIM_OPEN_MAX; i++)
		if (process->disk->opens[i].process == process)
			let_go(process->disk, &process->disk->opens[i]);
}

void sim_process_plan_nothing(struct sim_process *process)
{
	process->die_at = process->fail_at = process->fail_calls = process->interrupt_at = 0;
	process->calls = process->failures = process->cache_failures = process->sync_failures = process->full_failures = 0;
	process->fail_caches = false;
	process->changes = 0;
	process->write_is_next_to_fail = false;
}

/* Every call begins here. 0: go on; DYING: do what may be done of it, then die; else a negative errno. */
enum { DYING = 1 };

static int begin(struct sim_process *process, uint32_t kind, bool cache)
{
	process->disk->now_ns += process->disk->call_ns;
	if (process->dead)
		return -EIO;
	process->calls++;
	if (process->interrupt_at && process->calls == process->interrupt_at) {
		process->interrupt_at = 0;
		process->interrupt(process->data);
		if (process->dead)
			return -EIO;
	}
	if (process->die_at && process->calls >= process->die_at)
		return DYING;
	if (process->fail_at && (process->fail_calls & kind) && process->fail_caches == cache &&
		--process->fail_at == 0) {
		if (cache)
			process->cache_failures++;
		else
			process->failures++;
		process->full_failures += !cache && process->fail_errno == ENOSPC;
		if (kind & SIM_SYNC)
			process->sync_failures++;
		return -process->fail_errno;
	}
	return 0;
}

/* A dying process does this call, or does not. */
static bool still_does_it(struct sim_process *process)
{
	return sim_random_percent(&process->disk->random, 50);
}

static int die(struct sim_process *process)
{
	sim_process_kill(process);
	return -EIO;
}

#define BEGIN(kind, descriptor)                                                                              \
	struct sim_process *process = context;                                                               \
	struct sim_disk *disk = process->disk;                                                               \
	int planned = begin(process, kind, is_cache(process, descriptor));                                   \
	if (planned < 0)                                                                                     \
		return planned;                                                                              \
	if (planned == DYING && !still_does_it(process))                                                     \
		return die(process);                                                                         \
	(void)disk

#define END(result) return planned == DYING ? die(process) : (result)

static int add_open(struct sim_process *process, int file, int flags, bool cache)
{
	struct sim_disk *disk = process->disk;
	for (int i = 0; i < SIM_OPEN_MAX; i++)
		if (!disk->opens[i].process) {
			disk->opens[i] = (struct sim_open){
				process, file, flags, cache, file >= 0 ? disk->files[file].sync_errors : 0};
			return i + FIRST_DESCRIPTOR;
		}
	return -EMFILE;
}

static int open_path(struct sim_process *process, const char *name, int flags)
{
	if (strcmp(name, SIM_ABOVE) == 0)
		return add_open(process, SIM_OPEN_ABOVE, flags, false);
	if (strcmp(name, SIM_FOLDER) == 0 && process->disk->folder)
		return add_open(process, SIM_OPEN_FOLDER, flags, false);
	return -ENOENT;
}

/* Counts a change of the folder, unless it is of caches: those may change at any time. */
static void note_change(struct sim_process *process, bool cache)
{
	process->changes += !cache;
}

static int sim_open_at(void *context, int dir, const char *base, int flags, unsigned mode)
{
	BEGIN(SIM_NAME, dir);
	char room[SIM_NAME_BYTES];
	const char *name = whole_name(process, dir, base, room);
	if (dir == PLATFORM_CWD)
		END(open_path(process, name, flags));
	if (!opened(process, dir))
		END(-EBADF);
	if (strcmp(name, SIM_CACHE) == 0)
		END(sim_names_find(&disk->names, name) < 0 ? -ENOENT
							   : add_open(process, SIM_OPEN_CACHE, flags, true));
	int file = sim_disk_find(disk, name);
	if (file >= 0 && (flags & O_CREAT) && (flags & O_EXCL))
		END(-EEXIST);
	if (file < 0 && !(flags & O_CREAT))
		END(-ENOENT);
	if (file < 0) {
		note_change(process, sim_is_cache(name));
		file = sim_disk_new_file(disk, mode);
		sim_disk_change_name(disk, SIM_NAME_ADD, name, NULL, file);
	}
	END(add_open(process, file, flags, sim_is_cache(name)));
}

static int sim_close(void *context, int descriptor)
{
	struct sim_process *process = context;
	struct sim_open *open = opened(process, descriptor);
	if (!open)
		return process->dead ? 0 : -EBADF;
	let_go(process->disk, open);
	return 0;
}

static struct sim_file *file_of(const struct sim_process *process, int descriptor)
{
	struct sim_open *open = opened(process, descriptor);
	return open && open->file >= 0 ? &process->disk->files[open->file] : NULL;
}

static ssize_t sim_read_at(void *context, int descriptor, void *data, size_t len, uint64_t offset)
{
	BEGIN(SIM_READ, descriptor);
	const struct sim_file *file = file_of(process, descriptor);
	if (!file)
		END(-EBADF);
	if (offset >= file->size)
		END(0);
	if (len > file->size - offset)
		len = file->size - (size_t)offset;
	memcpy(data, file->data + offset, len);
	END((ssize_t)len);
}

static void put_bytes(
	struct sim_process *process, struct sim_open *open, const void *data, size_t len, size_t offset)
{
	struct sim_file *file = &process->disk->files[open->file];
	if (len == 0)
		return;
	note_change(process, open->cache);
	sim_file_change(file, offset, data, len);
	file->modified_ns = sim_disk_file_time(process->disk);
}

/* A write that is to fail: often a part of it goes through first, and the rest of it fails. */
static ssize_t failing_write(
	struct sim_process *process, struct sim_open *open, const void *data, size_t len, size_t offset)
{
	struct sim_random *random = &process->disk->random;
	size_t part = sim_random_percent(random, 70) ? sim_random_below(random, (uint32_t)len) : 0;

	if (part == 0 || process->write_is_next_to_fail) {
		process->write_is_next_to_fail = false;
		return -process->fail_errno;
	}
	if (sim_random_percent(random, 20))
		part = len - 1; /* all but the line break */
	if (part == 0)
		return -process->fail_errno;
	put_bytes(process, open, data, part, offset);
	/* The next one fails, too, unless it was just a short write. */
	if (sim_random_percent(random, 80)) {
		process->fail_at = 1;
		process->write_is_next_to_fail = true;
	}
	return (ssize_t)part;
}

/* `offset` NULL: at the end, as O_APPEND has it. */
static ssize_t write_bytes(
	struct sim_process *process, int descriptor, const void *data, size_t len, const uint64_t *offset)
{
	int planned = begin(process, SIM_WRITE, is_cache(process, descriptor));
	struct sim_open *open = opened(process, descriptor);

	if (process->dead)
		return -EIO;
	if (!open || open->file < 0 || !(open->flags & O_APPEND) == !offset)
		return -EBADF;
	size_t at = offset ? (size_t)*offset : process->disk->files[open->file].size;
	if (planned == DYING) {
		size_t part = len;
		if (still_does_it(process))
			part = sim_random_below(&process->disk->random, (uint32_t)len + 1);
		put_bytes(process, open, data, part, at);
		return die(process);
	}
	if (planned < 0)
		return failing_write(process, open, data, len, at);
	put_bytes(process, open, data, len, at);
	return (ssize_t)len;
}

static ssize_t sim_write(void *context, int descriptor, const void *data, size_t len)
{
	return write_bytes(context, descriptor, data, len, NULL);
}

/* Only caches are written in other places than their end. */
static ssize_t sim_write_at(void *context, int descriptor, const void *data, size_t len, uint64_t offset)
{
	return is_cache(context, descriptor) ? write_bytes(context, descriptor, data, len, &offset) : -EBADF;
}

static int sync_open(struct sim_process *process, int descriptor, bool fails)
{
	struct sim_open *open = opened(process, descriptor);
	struct sim_disk *disk = process->disk;

	if (!open)
		return -EBADF;
	if (open->file >= 0) {
		struct sim_file *file = &disk->files[open->file];
		bool told = !disk->errors_reach_all || open->seen_errors == file->sync_errors;
		sim_file_sync(disk, file, fails);
		file->sync_errors += fails;
		open->seen_errors = file->sync_errors;
		if (!told && !fails) {
			process->failures++;
			process->sync_failures++;
			return -EIO;
		}
	} else if (!fails && open->file != SIM_OPEN_ABOVE)
		sim_disk_sync_names(disk, open->file == SIM_OPEN_CACHE);
	else if (!fails)
		disk->folder_durable = disk->folder;
	return 0;
}

static int sim_sync(void *context, int descriptor)
{
	struct sim_process *process = context;
	int planned = begin(process, SIM_SYNC, is_cache(process, descriptor));

	if (process->dead)
		return -EIO;
	if (planned == DYING) {
		if (still_does_it(process))
			sync_open(process, descriptor, false);
		return die(process);
	}
	int rc = sync_open(process, descriptor, planned < 0);
	return planned < 0 ? planned : rc;
}

static int sim_truncate(void *context, int descriptor, uint64_t size)
{
	BEGIN(SIM_TRUNCATE, descriptor);
	struct sim_file *file = file_of(process, descriptor);
	if (!file)
		END(-EBADF);
	if (size != file->size) {
		note_change(process, is_cache(process, descriptor));
		sim_file_change(file, (size_t)size, NULL, 0);
		file->modified_ns = sim_disk_file_time(disk);
	}
	END(0);
}

static int sim_change_mode(void *context, int descriptor, unsigned mode)
{
	BEGIN(SIM_NAME, descriptor);
	struct sim_file *file = file_of(process, descriptor);
	if (!file)
		END(-EBADF);
	note_change(process, is_cache(process, descriptor));
	file->mode = S_IFREG | mode;
	END(0);
}

static int sim_lock(void *context, int descriptor, int operation)
{
	BEGIN(operation & LOCK_UN ? 0 : SIM_LOCK, descriptor); /* unlocking cannot fail */
	struct sim_file *file = file_of(process, descriptor);
	if (!file)
		END(-EBADF);
	if (operation & LOCK_UN) {
		if (file->locked_by == descriptor)
			file->locked_by = -1;
		END(0);
	}
	if (file->locked_by >= 0 && file->locked_by != descriptor)
		END(-EWOULDBLOCK); /* waiting without LOCK_NB would never end here */
	file->locked_by = descriptor;
	END(0);
}

static void set_info(const struct sim_disk *disk, int number, struct file_info *ret_info)
{
	*ret_info = (struct file_info){.inode = 1, .device = 1, .mode = S_IFDIR | 0700, .owner = SIM_USER};
	if (number < 0)
		return;
	const struct sim_file *file = &disk->files[number];
	ret_info->size = file->size;
	ret_info->inode = file->inode + FIRST_INODE;
	ret_info->modified_ns = ret_info->changed_ns = file->modified_ns;
	ret_info->mode = file->mode;
	for (size_t i = 0; i < disk->names.count; i++)
		ret_info->links += disk->names.list[i].file == number;
}

static int sim_info(void *context, int descriptor, struct file_info *ret_info)
{
	BEGIN(SIM_NAME, descriptor);
	const struct sim_open *open = opened(process, descriptor);
	if (!open)
		END(-EBADF);
	set_info(disk, open->file, ret_info);
	END(0);
}

static int sim_info_at(void *context, int dir, const char *base, struct file_info *ret_info)
{
	BEGIN(SIM_NAME, dir);
	char room[SIM_NAME_BYTES];
	const char *name = whole_name(process, dir, base, room);
	int file = opened(process, dir) ? sim_disk_find(disk, name) : -1;
	if (file < 0)
		END(-ENOENT);
	set_info(disk, file, ret_info);
	END(0);
}

static int sim_rename_at(void *context, int dir, const char *old_base, const char *new_base)
{
	BEGIN(SIM_NAME, dir);
	char from_room[SIM_NAME_BYTES], to_room[SIM_NAME_BYTES];
	const char *from = whole_name(process, dir, old_base, from_room);
	const char *to = whole_name(process, dir, new_base, to_room);
	int file = opened(process, dir) ? sim_disk_find(disk, from) : -1;
	if (file < 0)
		END(-ENOENT);
	note_change(process, is_cache(process, dir));
	sim_disk_change_name(disk, SIM_NAME_MOVE, from, to, file);
	END(0);
}

static int sim_link_at(void *context, int dir, const char *from, const char *to)
{
	BEGIN(SIM_NAME, dir);
	int file = opened(process, dir) ? sim_disk_find(disk, from) : -1;
	if (file < 0)
		END(-ENOENT);
	if (sim_disk_find(disk, to) >= 0)
		END(-EEXIST);
	process->changes++;
	sim_disk_change_name(disk, SIM_NAME_ADD, to, NULL, file);
	END(0);
}

static int sim_unlink_at(void *context, int dir, const char *base, int flags)
{
	BEGIN(SIM_NAME, dir);
	char room[SIM_NAME_BYTES];
	const char *name = whole_name(process, dir, base, room);
	if (!opened(process, dir) || (flags & AT_REMOVEDIR) || sim_disk_find(disk, name) < 0)
		END(-ENOENT);
	note_change(process, is_cache(process, dir));
	sim_disk_change_name(disk, SIM_NAME_REMOVE, name, NULL, -1);
	END(0);
}

static int sim_make_dir_at(void *context, int dir, const char *name, unsigned mode)
{
	BEGIN(SIM_NAME, dir);
	(void)mode;
	if (opened(process, dir) && strcmp(name, SIM_CACHE) == 0) {
		if (sim_names_find(&disk->names, name) >= 0)
			END(-EEXIST);
		sim_disk_change_name(disk, SIM_NAME_ADD, name, NULL, SIM_OPEN_CACHE);
		END(0);
	}
	if (dir != PLATFORM_CWD || strcmp(name, SIM_FOLDER) != 0)
		END(-ENOENT);
	if (disk->folder)
		END(-EEXIST);
	process->changes++;
	disk->folder = true;
	END(0);
}

static int sim_list(void *context, int dir, bool (*each)(void *data, const char *name), void *data)
{
	BEGIN(SIM_READ, dir);
	const struct sim_open *open = opened(process, dir);
	if (!open || open->file == SIM_OPEN_CACHE)
		END(-EBADF);		      /* nobody has to list caches */
	struct sim_names names = disk->names; /* `each` may look at the folder */
	for (size_t i = 0; i < names.count; i++)
		if (!sim_is_cache(names.list[i].name) && !each(data, names.list[i].name))
			break;
	END(0);
}

static int sim_file_system(void *context, int descriptor, uint64_t *ret_magic)
{
	(void)context;
	(void)descriptor;
	*ret_magic = EXT4_MAGIC;
	return 0;
}

static int sim_path_of(void *context, int descriptor, char *ret_path, size_t size)
{
	(void)context;
	(void)descriptor;
	return snprintf(ret_path, size, "/store") < (int)size ? 0 : -ENAMETOOLONG;
}

static uint32_t sim_user(void *context)
{
	(void)context;
	return SIM_USER;
}

static int64_t sim_monotonic_ns(void *context)
{
	const struct sim_process *process = context;
	return process->disk->now_ns;
}

static int64_t sim_realtime_ns(void *context)
{
	const struct sim_process *process = context;
	return process->disk->realtime_ns + process->disk->now_ns;
}

static void sim_sleep_ns(void *context, int64_t duration_ns)
{
	struct sim_process *process = context;
	process->disk->now_ns += duration_ns > SLEEP_LEAST_NS ? duration_ns : SLEEP_LEAST_NS;
}

static int sim_random_bytes(void *context, void *ret_bytes, size_t len)
{
	struct sim_process *process = context;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)ret_bytes)[i] = (uint8_t)sim_random_next(&process->disk->random);
	return 0;
}

void sim_process_init(struct sim_process *process, struct sim_disk *disk)
{
	memset(process, 0, sizeof(*process));
	process->disk = disk;
	process->table = (struct platform){
		.context = process,
		.open_at = sim_open_at,
		.open_beneath = sim_open_at, /* there are no links in it */
		.close = sim_close,
		.read_at = sim_read_at,
		.write = sim_write,
		.write_at = sim_write_at,
		.sync_data = sim_sync,
		.sync = sim_sync,
		.truncate = sim_truncate,
		.change_mode = sim_change_mode,
		.lock = sim_lock,
		.info = sim_info,
		.info_at = sim_info_at,
		.rename_at = sim_rename_at,
		.link_at = sim_link_at,
		.unlink_at = sim_unlink_at,
		.make_dir_at = sim_make_dir_at,
		.list = sim_list,
		.file_system = sim_file_system,
		.path_of = sim_path_of,
		.user = sim_user,
		.realtime_ns = sim_realtime_ns,
		.monotonic_ns = sim_monotonic_ns,
		.sleep_ns = sim_sleep_ns,
		.random = sim_random_bytes,
	};
}
