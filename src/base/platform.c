/* SPDX-License-Identifier: MIT */
/*
 * The real platform: Linux system calls, one each, with errors as negative errno and EINTR retried.
 *
 * Invariants: (1) descriptors are close-on-exec; (2) a write that was begun is never continued here: the
 * caller decides what a short one means; (3) nothing here keeps state.
 */
#include "base/platform.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static_assert(PLATFORM_CWD == AT_FDCWD, "PLATFORM_CWD is handed to the *at calls as it is");

#define NS_PER_S INT64_C(1000000000)

/* Repeats a call that a signal interrupted before it did anything; gives its value or the negative errno. */
#define RETRY(call)                                                                                          \
	__extension__({                                                                                      \
		__typeof__(call) retry_result;                                                               \
		do                                                                                           \
			retry_result = (call);                                                               \
		while (retry_result < 0 && errno == EINTR);                                                  \
		retry_result < 0 ? -errno : retry_result;                                                    \
	})

/* A host may have closed a standard stream: whatever it, or a library in it, prints there would go into the
 * file that took its number. */
static int above_standard_streams(int file)
{
	if (file < 0 || file > STDERR_FILENO)
		return file;
	int moved = RETRY(fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
	close(file);
	return moved;
}

static int os_open_at(void *context, int dir, const char *name, int flags, unsigned mode)
{
	(void)context;
	return above_standard_streams(RETRY(openat(dir, name, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode)));
}

#define BENEATH_NAME_BYTES 256

/* One name after the other: none may be a link, "." or "..", so the way only leads down. */
int platform_walk_beneath(int dir, const char *path, int flags, unsigned mode)
{
	char name[BENEATH_NAME_BYTES];
	int at = dir;

	for (;;) {
		size_t len = strcspn(path, "/");
		bool last = path[len] == '\0';
		int next = -EXDEV;
		if (len >= sizeof(name))
			next = -ENAMETOOLONG;
		else if (len && !(len <= 2 && memcmp(path, "..", len) == 0)) {
			memcpy(name, path, len);
			name[len] = '\0';
			next = RETRY(openat(at, name,
				(last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
				(mode_t)(last ? mode : 0)));
		}
		if (at != dir)
			close(at);
		if (next < 0 || last)
			return above_standard_streams(next);
		at = next;
		path += len + 1;
	}
}

static int os_open_beneath(void *context, int dir, const char *path, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int file;

	(void)context;
	/* EAGAIN: something was renamed meanwhile, so that the kernel cannot tell; then the walk can. */
	file = (int)RETRY(syscall(SYS_openat2, dir, path, &how, sizeof(how)));
	if (file == -ENOSYS || file == -EPERM || file == -EAGAIN)
		return platform_walk_beneath(dir, path, flags, mode);
	return above_standard_streams(file);
}

static int os_close(void *context, int file)
{
	(void)context;
	/* Never retried: on Linux the descriptor is gone even after EINTR. */
	if (close(file) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static ssize_t os_read_at(void *context, int file, void *data, size_t len, uint64_t offset)
{
	(void)context;
	return RETRY(pread(file, data, len, (off_t)offset));
}

static ssize_t os_write(void *context, int file, const void *data, size_t len)
{
	(void)context;
	return RETRY(write(file, data, len));
}

static ssize_t os_write_at(void *context, int file, const void *data, size_t len, uint64_t offset)
{
	(void)context;
	return RETRY(pwrite(file, data, len, (off_t)offset));
}

static int os_sync_data(void *context, int file)
{
	(void)context;
	return RETRY(fdatasync(file));
}

static int os_sync(void *context, int file)
{
	(void)context;
	return RETRY(fsync(file));
}

static int os_truncate(void *context, int file, uint64_t size)
{
	(void)context;
	return RETRY(ftruncate(file, (off_t)size));
}

static int os_change_mode(void *context, int file, unsigned mode)
{
	(void)context;
	return RETRY(fchmod(file, (mode_t)mode));
}

static int os_lock(void *context, int file, int operation)
{
	(void)context;
	return RETRY(flock(file, operation));
}

/* Saturates: a time set by hand may lie outside of the 292 years that fit. */
static int64_t nanoseconds_of(struct timespec time)
{
	int64_t result;
	if (__builtin_mul_overflow((int64_t)time.tv_sec, NS_PER_S, &result) ||
		__builtin_add_overflow(result, (int64_t)time.tv_nsec, &result))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

static struct file_info info_of(const struct stat *status)
{
	return (struct file_info){
		.size = (uint64_t)status->st_size,
		.inode = status->st_ino,
		.device = status->st_dev,
		.modified_ns = nanoseconds_of(status->st_mtim),
		.changed_ns = nanoseconds_of(status->st_ctim),
		.mode = status->st_mode,
		.owner = status->st_uid,
		.links = status->st_nlink,
	};
}

/* Not of every kernel and every file system. */
static int64_t born_ns(int folder)
{
	struct statx status;
	if (RETRY(statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &status)) < 0 || !(status.stx_mask & STATX_BTIME))
		return 0;
	return nanoseconds_of((struct timespec){status.stx_btime.tv_sec, status.stx_btime.tv_nsec});
}

static int os_info(void *context, int file, struct file_info *ret_info)
{
	(void)context;
	struct stat status;
	int rc = RETRY(fstat(file, &status));
	if (rc == 0)
		*ret_info = info_of(&status);
	if (rc == 0 && S_ISDIR(status.st_mode))
		ret_info->born_ns = born_ns(file);
	return rc;
}

static int os_info_at(void *context, int dir, const char *name, struct file_info *ret_info)
{
	(void)context;
	struct stat status;
	int rc = RETRY(fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW));
	if (rc == 0)
		*ret_info = info_of(&status);
	return rc;
}

static int os_rename_at(void *context, int dir, const char *from, const char *to)
{
	(void)context;
	return RETRY(renameat(dir, from, dir, to));
}

static int os_link_at(void *context, int dir, const char *from, const char *to)
{
	(void)context;
	return RETRY(linkat(dir, from, dir, to, 0));
}

static int os_unlink_at(void *context, int dir, const char *name, int flags)
{
	(void)context;
	return RETRY(unlinkat(dir, name, flags));
}

static int os_make_dir_at(void *context, int dir, const char *name, unsigned mode)
{
	(void)context;
	return RETRY(mkdirat(dir, name, (mode_t)mode));
}

static bool is_dot_or_dot_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int os_list(void *context, int dir, bool (*each)(void *data, const char *name), void *data)
{
	/* Opened anew: closedir closes its descriptor, and a shared one would share the reading position. */
	int file = os_open_at(context, dir, ".", O_RDONLY | O_DIRECTORY, 0);
	if (file < 0)
		return file;
	DIR *stream = fdopendir(file);
	if (!stream) {
		int rc = -errno;
		close(file);
		return rc;
	}
	int rc = 0;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry) {
			rc = -errno;
			break;
		}
		if (!is_dot_or_dot_dot(entry->d_name) && !each(data, entry->d_name))
			break;
	}
	closedir(stream);
	return rc;
}

static int os_file_system(void *context, int file, uint64_t *ret_magic)
{
	(void)context;
	struct statfs status;
	int rc = RETRY(fstatfs(file, &status));
	if (rc == 0)
		*ret_magic = (uint32_t)status.f_type;
	return rc;
}

static int os_path_of(void *context, int dir, char *ret_path, size_t size)
{
	(void)context;
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", dir);
	ssize_t len = RETRY(readlink(name, ret_path, size));
	if (len < 0)
		return (int)len;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	ret_path[len] = '\0';
	return 0;
}

static uint32_t os_user(void *context)
{
	(void)context;
	return geteuid();
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0, 0};
	clock_gettime(clock, &now);
	return nanoseconds_of(now);
}

static int64_t os_realtime_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_REALTIME);
}

static int64_t os_monotonic_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_MONOTONIC);
}

static void os_sleep_ns(void *context, int64_t duration_ns)
{
	(void)context;
	if (duration_ns <= 0)
		return;
	struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

static int os_random(void *context, void *ret_bytes, size_t len)
{
	(void)context;
	for (size_t done = 0; done < len;) {
		ssize_t got = RETRY(getrandom((char *)ret_bytes + done, len - done, 0));
		if (got < 0)
			return (int)got;
		done += (size_t)got;
	}
	return 0;
}

static const struct platform os_platform = {
	.open_at = os_open_at,
	.open_beneath = os_open_beneath,
	.close = os_close,
	.read_at = os_read_at,
	.write = os_write,
	.write_at = os_write_at,
	.sync_data = os_sync_data,
	.sync = os_sync,
	.truncate = os_truncate,
	.change_mode = os_change_mode,
	.lock = os_lock,
	.info = os_info,
	.info_at = os_info_at,
	.rename_at = os_rename_at,
	.link_at = os_link_at,
	.unlink_at = os_unlink_at,
	.make_dir_at = os_make_dir_at,
	.list = os_list,
	.file_system = os_file_system,
	.path_of = os_path_of,
	.user = os_user,
	.realtime_ns = os_realtime_ns,
	.monotonic_ns = os_monotonic_ns,
	.sleep_ns = os_sleep_ns,
	.random = os_random,
};

const struct platform *platform_default(void)
{
	return &os_platform;
}

pid_t platform_process(void)
{
	return getpid();
}

ssize_t platform_read_full(const struct platform *platform, int file, void *data, size_t len, uint64_t offset)
{
	size_t done = 0;
	while (done < len) {
		ssize_t got = platform->read_at(
			platform->context, file, (char *)data + done, len - done, offset + done);
		if (got < 0)
			return got;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

struct civil_date {
	unsigned year, month, day;
};

/* The Gregorian date of a day counted from 1970-01-01. Years are counted from March, so that the leap day is
 * the last of its year; 400 years are 146,097 days. */
static struct civil_date civil_from_days(int64_t days)
{
	int64_t shifted = days + 719468; /* since 0000-03-01 */
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	unsigned day_of_era = (unsigned)(shifted - era * 146097);
	unsigned year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned month_from_march = (5 * day_of_year + 2) / 153;
	unsigned month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	unsigned year = (unsigned)(era * 400) + year_of_era + (month <= 2);
	return (struct civil_date){year, month, day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

static char *put_digits(char *at, unsigned value, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + digits;
}

static char *put_pair(char *at, char separator, unsigned value)
{
	*at = separator;
	return put_digits(at + 1, value, 2);
}

void time_text(int64_t realtime_ns, char ret_text[TIME_TEXT_BYTES])
{
	const int64_t ns_per_day = 86400 * NS_PER_S;
	int64_t days = realtime_ns / ns_per_day;
	int64_t ns_of_day = realtime_ns % ns_per_day;
	if (ns_of_day < 0) {
		ns_of_day += ns_per_day;
		days--;
	}
	struct civil_date date = civil_from_days(days);
	unsigned second_of_day = (unsigned)(ns_of_day / NS_PER_S);
	unsigned milliseconds = (unsigned)(ns_of_day % NS_PER_S / 1000000);

	char *at = put_digits(ret_text, date.year, 4);
	at = put_pair(at, '-', date.month);
	at = put_pair(at, '-', date.day);
	at = put_pair(at, 'T', second_of_day / 3600);
	at = put_pair(at, ':', second_of_day / 60 % 60);
	at = put_pair(at, ':', second_of_day % 60);
	if (milliseconds) {
		*at = '.';
		at = put_digits(at + 1, milliseconds, 3);
	}
	*at++ = 'Z';
	*at = '\0';
}
