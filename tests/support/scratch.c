/* SPDX-License-Identifier: MIT */
/* The scratch directories of scratch.h, straight on POSIX: independent of the platform table under test. */
#include "support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn static void give_up(const char *what, const char *path)
{
	fprintf(stderr, "scratch: cannot %s %s: %s\n", what, path, strerror(errno));
	abort();
}

void scratch_make(char ret_path[SCRATCH_PATH_BYTES])
{
	const char *parent = getenv("TMPDIR");
	snprintf(ret_path, SCRATCH_PATH_BYTES, "%s/bobbin-test-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(ret_path))
		give_up("make", ret_path);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)place;
	if ((type == FTW_DP ? rmdir(path) : unlink(path)) < 0)
		give_up("remove", path);
	return 0;
}

void scratch_remove(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
		give_up("walk", path);
}

const char *scratch_path(const char *dir, const char *name)
{
	static char paths[8][2 * SCRATCH_PATH_BYTES];
	static unsigned turn;
	char *path = paths[turn++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

char *scratch_read(const char *dir, const char *name, size_t *ret_len)
{
	const char *path = scratch_path(dir, name);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 && errno == ENOENT)
		return NULL;
	struct stat status;
	if (file < 0 || fstat(file, &status) < 0)
		give_up("open", path);
	size_t size = (size_t)status.st_size;
	char *data = malloc(size + 1);
	if (!data)
		give_up("hold", path);
	for (size_t done = 0; done < size;) {
		ssize_t got = read(file, data + done, size - done);
		if (got <= 0)
			give_up("read", path);
		done += (size_t)got;
	}
	close(file);
	data[size] = '\0';
	if (ret_len)
		*ret_len = size;
	return data;
}

static void put(const char *path, int flags, const void *data, size_t len)
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	if (file < 0)
		give_up("open", path);
	for (size_t done = 0; done < len;) {
		ssize_t written = write(file, (const char *)data + done, len - done);
		if (written < 0)
			give_up("write", path);
		done += (size_t)written;
	}
	if (close(file) < 0)
		give_up("close", path);
}

void scratch_write(const char *dir, const char *name, const void *data, size_t len)
{
	put(scratch_path(dir, name), O_TRUNC, data, len);
}

void scratch_append(const char *dir, const char *name, const void *data, size_t len)
{
	put(scratch_path(dir, name), O_APPEND, data, len);
}

void scratch_write_text(const char *dir, const char *name, const char *text)
{
	scratch_write(dir, name, text, strlen(text));
}

bool scratch_exists(const char *dir, const char *name)
{
	struct stat status;
	return lstat(scratch_path(dir, name), &status) == 0;
}
