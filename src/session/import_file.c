/* SPDX-License-Identifier: MIT */
/*
 * A foreign transcript as a file, read piece by piece. What has to wait until it is known where it belongs is put aside in a file
 * without a name in the store's folder, which is gone with the process, whatever happens.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "session/import_store.h"
#include "store/file.h"

#define SPILL_BYTES (1u << 20)

struct open_file {
	const struct platform *platform;
	int file;
};

struct spill {
	const struct platform *platform;
	int file;
	uint64_t written;
	struct buffer waiting; /* behind what is written */
};

static ssize_t read_source(void *context, void *data, size_t len, uint64_t offset)
{
	struct open_file *open = context;
	ssize_t got = open->platform->read_at(open->platform->context, open->file, data, len, offset);
	return got < 0 ? BOBBIN_EIO : got;
}

static int spill_flush(struct spill *spill)
{
	struct bobbin_error error = {0};
	size_t written;
	int rc = file_write(spill->platform, spill->file, buffer_slice(&spill->waiting), "a temporary file", &written, &error);
	spill->written += written;
	buffer_clear(&spill->waiting);
	return rc;
}

static int spill_add(void *context, struct slice bytes, uint64_t *ret_offset)
{
	struct spill *spill = context;
	*ret_offset = spill->written + spill->waiting.len;
	buffer_add_slice(&spill->waiting, bytes);
	if (buffer_error(&spill->waiting))
		return BOBBIN_ENOMEM;
	return spill->waiting.len < SPILL_BYTES ? 0 : spill_flush(spill);
}

static int spill_read(void *context, void *data, size_t len, uint64_t offset)
{
	struct spill *spill = context;
	if (offset >= spill->written) {
		memcpy(data, spill->waiting.data + (offset - spill->written), len);
		return 0;
	}
	return platform_read_full(spill->platform, spill->file, data, len, offset) == (ssize_t)len ? 0 : BOBBIN_EIO;
}

/* -1 where the file system knows no files without a name: then memory has to do. */
static int open_spill(bobbin_store *store)
{
	const struct platform *platform = store_platform(store->store);
	int file = platform->open_at(platform->context, store_dir(store->store), ".",
		O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	return file < 0 ? -1 : file;
}

static int open_source(
	const struct platform *platform, const char *path, int *ret_file, uint64_t *ret_size, struct bobbin_error *error)
{
	struct file_info info;
	int file = platform->open_at(platform->context, PLATFORM_CWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (file < 0)
		return error_set_os(error, -file, "cannot open %s", path);
	int rc = platform->info(platform->context, file, &info);
	if (rc < 0)
		rc = error_set_os(error, -rc, "cannot read %s", path);
	else if (!S_ISREG(info.mode))
		rc = error_set(error, BOBBIN_EINVAL, "%s is not a file but %s", path, file_kind_text(info.mode));
	if (rc < 0) {
		file_close(platform, file);
		return rc;
	}
	*ret_file = file;
	*ret_size = info.size;
	return 0;
}

int bobbin_import_file(bobbin_store *store, const char *path, const struct bobbin_import_options *options,
	bobbin_import **ret_import, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (!path || !*path)
		return error_set(error, BOBBIN_EINVAL, "no file is named");
	const struct platform *platform = store_platform(store->store);
	struct open_file file = {platform, -1};
	struct import_source source = {&file, 0, read_source};
	rc = open_source(platform, path, &file.file, &source.size, error);
	if (rc < 0)
		return rc;
	struct spill spill = {platform, store->read_only ? -1 : open_spill(store), 0, BUFFER_INIT(LIMIT_IMPORT_BYTES)};
	const struct import_spill waits = {&spill, spill_add, spill_read};
	const struct import_input input = {
		.source = &source, .spill = spill.file < 0 ? NULL : &waits, .name = path};
	rc = import_input(store, &input, options, ret_import, error);
	buffer_release(&spill.waiting);
	file_close(platform, spill.file);
	file_close(platform, file.file);
	return rc;
}
