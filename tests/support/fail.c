/* SPDX-License-Identifier: MIT */
/* The failing allocator and the failing platform of fail.h. Used from one thread at a time. */
#include "support/fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"

static struct {
	struct fail_alloc_report report;
	uint64_t nth;
	bool from;
} memory;

static bool allocation_fails(size_t bytes)
{
	uint64_t number = ++memory.report.allocations;
	memory.report.bytes += bytes;
	if (memory.nth == 0 || number < memory.nth || (number > memory.nth && !memory.from))
		return false;
	memory.report.failed = true;
	return true;
}

static void *counted_allocate(void *context, size_t bytes)
{
	(void)context;
	if (allocation_fails(bytes))
		return NULL;
	void *result = malloc(bytes);
	if (result)
		memory.report.live++;
	return result;
}

static void *counted_reallocate(void *context, void *old, size_t bytes)
{
	(void)context;
	return allocation_fails(bytes) ? NULL : realloc(old, bytes);
}

static void counted_release(void *context, void *old)
{
	(void)context;
	memory.report.live--;
	free(old);
}

static void start(uint64_t nth, bool from)
{
	static const struct allocator counted = {counted_allocate, counted_reallocate, counted_release, NULL};
	memset(&memory, 0, sizeof(memory));
	memory.nth = nth;
	memory.from = from;
	alloc_set(&counted);
}

void fail_alloc_start(uint64_t nth)
{
	start(nth, false);
}

void fail_alloc_start_from(uint64_t nth)
{
	start(nth, true);
}

struct fail_alloc_report fail_alloc_stop(void)
{
	alloc_set(NULL);
	return memory.report;
}

/* Counts the call and says with which negative errno it must fail; 0: it may go through. */
static int count_call(struct fail_platform *world, enum fail_call kind)
{
	uint64_t number_of_kind = ++world->calls[kind];
	uint64_t number = ++world->calls[CALL_ANY];
	if (world->failed && world->fail_after)
		return -(world->fail_errno ? world->fail_errno : EIO);
	if (world->fail_nth == 0 || (world->fail_kind != kind && world->fail_kind != CALL_ANY))
		return 0;
	if ((world->fail_kind == CALL_ANY ? number : number_of_kind) != world->fail_nth)
		return 0;
	world->failed = true;
	return -world->fail_errno;
}

/* The body of a function that fails as planned or passes its arguments on. */
#define PASS(kind, function, ...)                                                                            \
	do {                                                                                                 \
		const struct platform *real = platform_default();                                            \
		int planned = count_call(context, kind);                                                     \
		return planned ? planned : real->function(real->context, __VA_ARGS__);                       \
	} while (0)

static int fail_open_at(void *context, int dir, const char *name, int flags, unsigned mode)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_OPEN);
	int file = planned ? planned : real->open_at(real->context, dir, name, flags, mode);
	if (file >= 0)
		world->open_files++;
	return file;
}

static int fail_open_beneath(void *context, int dir, const char *path, int flags, unsigned mode)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_OPEN);
	int file = planned ? planned : real->open_beneath(real->context, dir, path, flags, mode);
	if (file >= 0)
		world->open_files++;
	return file;
}

static int fail_close(void *context, int file)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_CLOSE);
	int rc = real->close(real->context, file);
	if (rc == 0)
		world->open_files--;
	return planned ? planned : rc;
}

static ssize_t fail_read_at(void *context, int file, void *data, size_t len, uint64_t offset)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_READ);
	if (planned)
		return planned;
	ssize_t got = real->read_at(real->context, file, data, len, offset);
	if (got > 0)
		world->bytes_read += (uint64_t)got;
	return got;
}

/* How much of a write of `len` bytes may reach the file, or the negative errno of the short write's plan. */
static ssize_t planned_length(struct fail_platform *world, size_t len)
{
	uint64_t number = world->calls[CALL_WRITE];
	if (world->short_nth == 0)
		return (ssize_t)len;
	if (number == world->short_nth && world->short_bytes < len) {
		world->failed = true;
		return (ssize_t)world->short_bytes;
	}
	if (number == world->short_nth + 1 && world->short_errno)
		return -world->short_errno;
	return (ssize_t)len;
}

static ssize_t fail_write(void *context, int file, const void *data, size_t len)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_WRITE);
	if (planned)
		return planned;
	ssize_t allowed = planned_length(world, len);
	if (allowed <= 0)
		return allowed;
	ssize_t written = real->write(real->context, file, data, (size_t)allowed);
	if (written > 0)
		world->bytes_written += (uint64_t)written;
	return written;
}

static ssize_t fail_write_at(void *context, int file, const void *data, size_t len, uint64_t offset)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_WRITE);
	if (planned)
		return planned;
	ssize_t allowed = planned_length(world, len);
	if (allowed <= 0)
		return allowed;
	ssize_t written = real->write_at(real->context, file, data, (size_t)allowed, offset);
	if (written > 0)
		world->bytes_written += (uint64_t)written;
	return written;
}

static int fail_sync_data(void *context, int file)
{
	struct fail_platform *world = context;
	if (world->skip_sync)
		return count_call(world, CALL_SYNC_DATA);
	PASS(CALL_SYNC_DATA, sync_data, file);
}

static int fail_sync(void *context, int file)
{
	struct fail_platform *world = context;
	if (world->skip_sync)
		return count_call(world, CALL_SYNC);
	PASS(CALL_SYNC, sync, file);
}

static int fail_truncate(void *context, int file, uint64_t size)
{
	PASS(CALL_TRUNCATE, truncate, file, size);
}

static int fail_change_mode(void *context, int file, unsigned mode)
{
	PASS(CALL_CHANGE_MODE, change_mode, file, mode);
}

static int fail_lock(void *context, int file, int operation)
{
	PASS(CALL_LOCK, lock, file, operation);
}

static int fail_info(void *context, int file, struct file_info *ret_info)
{
	PASS(CALL_INFO, info, file, ret_info);
}

static int fail_info_at(void *context, int dir, const char *name, struct file_info *ret_info)
{
	PASS(CALL_INFO_AT, info_at, dir, name, ret_info);
}

static int fail_rename_at(void *context, int dir, const char *from, const char *to)
{
	PASS(CALL_RENAME, rename_at, dir, from, to);
}

static int fail_link_at(void *context, int dir, const char *from, const char *to)
{
	PASS(CALL_LINK, link_at, dir, from, to);
}

static int fail_unlink_at(void *context, int dir, const char *name, int flags)
{
	PASS(CALL_UNLINK, unlink_at, dir, name, flags);
}

static int fail_make_dir_at(void *context, int dir, const char *name, unsigned mode)
{
	PASS(CALL_MAKE_DIR, make_dir_at, dir, name, mode);
}

static int fail_list(void *context, int dir, bool (*each)(void *data, const char *name), void *data)
{
	PASS(CALL_LIST, list, dir, each, data);
}

static int fail_file_system(void *context, int file, uint64_t *ret_magic)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int rc = count_call(world, CALL_FILE_SYSTEM);
	if (rc == 0)
		rc = real->file_system(real->context, file, ret_magic);
	if (rc == 0 && world->fake_file_system)
		*ret_magic = world->fake_file_system;
	return rc;
}

static int fail_path_of(void *context, int dir, char *ret_path, size_t size)
{
	PASS(CALL_INFO, path_of, dir, ret_path, size);
}

static uint32_t fail_user(void *context)
{
	const struct platform *real = platform_default();
	const struct fail_platform *world = context;
	return world->fake_user ? world->user : real->user(real->context);
}

static int64_t fail_realtime_ns(void *context)
{
	const struct platform *real = platform_default();
	const struct fail_platform *world = context;
	return world->fake_time ? world->realtime_ns : real->realtime_ns(real->context);
}

static int64_t fail_monotonic_ns(void *context)
{
	const struct platform *real = platform_default();
	const struct fail_platform *world = context;
	return world->fake_time ? world->monotonic_ns : real->monotonic_ns(real->context);
}

static void fail_sleep_ns(void *context, int64_t duration_ns)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	world->slept_ns += duration_ns;
	if (!world->fake_time) {
		real->sleep_ns(real->context, duration_ns);
		return;
	}
	world->realtime_ns += duration_ns;
	world->monotonic_ns += duration_ns;
}

/* One byte of a xorshift sequence, whose state must not be 0. */
static uint8_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint8_t)(*state >> 32);
}

static int fail_random(void *context, void *ret_bytes, size_t len)
{
	const struct platform *real = platform_default();
	struct fail_platform *world = context;
	int planned = count_call(world, CALL_RANDOM);
	if (planned)
		return planned;
	if (!world->fake_random)
		return real->random(real->context, ret_bytes, len);
	for (size_t i = 0; i < len; i++)
		((uint8_t *)ret_bytes)[i] = next_random(&world->random_seed);
	return 0;
}

void fail_platform_init(struct fail_platform *world)
{
	memset(world, 0, sizeof(*world));
	world->table = (struct platform){
		.context = world,
		.open_at = fail_open_at,
		.open_beneath = fail_open_beneath,
		.close = fail_close,
		.read_at = fail_read_at,
		.write = fail_write,
		.write_at = fail_write_at,
		.sync_data = fail_sync_data,
		.sync = fail_sync,
		.truncate = fail_truncate,
		.change_mode = fail_change_mode,
		.lock = fail_lock,
		.info = fail_info,
		.info_at = fail_info_at,
		.rename_at = fail_rename_at,
		.link_at = fail_link_at,
		.unlink_at = fail_unlink_at,
		.make_dir_at = fail_make_dir_at,
		.list = fail_list,
		.file_system = fail_file_system,
		.path_of = fail_path_of,
		.user = fail_user,
		.realtime_ns = fail_realtime_ns,
		.monotonic_ns = fail_monotonic_ns,
		.sleep_ns = fail_sleep_ns,
		.random = fail_random,
	};
}

void fail_platform_heal(struct fail_platform *world)
{
	world->fail_kind = CALL_NONE;
	world->fail_nth = 0;
	world->fail_errno = 0;
	world->fail_after = false;
	world->short_nth = 0;
	world->short_bytes = 0;
	world->short_errno = 0;
}

static void count_anew(struct fail_platform *world)
{
	fail_platform_heal(world);
	memset(world->calls, 0, sizeof(world->calls));
	world->bytes_written = 0;
	world->slept_ns = 0;
	world->failed = false;
}

void fail_platform_plan(struct fail_platform *world, enum fail_call kind, uint64_t nth, int os_error)
{
	count_anew(world);
	world->fail_kind = kind;
	world->fail_nth = nth;
	world->fail_errno = os_error;
}

void fail_platform_plan_short(struct fail_platform *world, uint64_t nth, size_t bytes, int then_errno)
{
	count_anew(world);
	world->short_nth = nth;
	world->short_bytes = bytes;
	world->short_errno = then_errno;
}

void fail_platform_set_time(struct fail_platform *world, int64_t realtime_ns, int64_t monotonic_ns)
{
	world->fake_time = true;
	world->realtime_ns = realtime_ns;
	world->monotonic_ns = monotonic_ns;
}

void fail_platform_set_random(struct fail_platform *world, uint64_t seed)
{
	world->fake_random = true;
	world->random_seed = seed ? seed : 1;
}
