/* SPDX-License-Identifier: MIT */
/* See blob.h. */
#include "store/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "store/file.h"
#include "store/store_internal.h"

#define NAP_NS INT64_C(1000000)
#define PIECE_BYTES ((size_t)256 << 10)
#define OVERLAP (2 * (size_t)BLOB_DIGITS)

static int open_folder(const struct store *store)
{
	return store->platform->open_at(
		store->platform->context, store->dir, BLOB_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

static int lock_folder(const struct store *store, int folder, int operation, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	int64_t start = platform->monotonic_ns(platform->context);

	for (;;) {
		int rc = platform->lock(platform->context, folder, operation | LOCK_NB);
		if (rc == 0)
			return 0;
		if (rc != -EWOULDBLOCK)
			return error_set_os(error, -rc, "cannot lock %s", BLOB_FOLDER);
		if (platform->monotonic_ns(platform->context) - start >= LIMIT_LOCK_WAIT_MS * INT64_C(1000000))
			return error_set(error, BOBBIN_EBUSY, "%s is locked by another process", BLOB_FOLDER);
		platform->sleep_ns(platform->context, NAP_NS);
	}
}

int blob_hold(const struct store *store, int *ret_hold, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	int folder = open_folder(store), rc = 0;

	if (folder == -ENOENT) {
		rc = platform->make_dir_at(platform->context, store->dir, BLOB_FOLDER, 0700);
		if (rc == 0)
			rc = platform->sync(platform->context, store->dir);
		folder = rc < 0 && rc != -EEXIST ? rc : open_folder(store);
	}
	if (folder < 0)
		return error_set_os(error, -folder, "cannot open the folder %s", BLOB_FOLDER);
	rc = lock_folder(store, folder, LOCK_SH, error);
	if (rc < 0)
		file_close(platform, folder);
	else
		*ret_hold = folder;
	return rc;
}

void blob_let_go(const struct store *store, int hold)
{
	file_close(store->platform, hold);
}

static int digest_of(struct slice content, char ret_digest[SHA256_HEX_BYTES])
{
	uint8_t bytes[SHA256_BYTES];
	int rc = sha256_of(content.data, content.len, bytes);

	hex_encode(bytes, sizeof(bytes), ret_digest);
	return rc;
}

/* Reads what stands under a name and compares. */
static int read_in(const struct store *store, int folder, const char *digest, struct buffer *out,
	struct bobbin_error *error)
{
	char found[SHA256_HEX_BYTES];
	size_t start = out->len;
	int rc = file_read(store->platform, folder, digest, (size_t)LIMIT_FILE_BYTES + 1, out, error);

	if (rc < 0)
		return rc;
	if (digest_of((struct slice){out->data ? out->data + start : "", out->len - start}, found) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (strcmp(found, digest) == 0)
		return 0;
	buffer_truncate(out, start);
	return error_set(error, BOBBIN_ECORRUPT,
		BLOB_FOLDER "/%.16s… is not what its name says: it was changed after it was written", digest);
}

int blob_write(const struct store *store, int hold, struct slice content, bool durable,
	char ret_digest[SHA256_HEX_BYTES], struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer there = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 2);
	int64_t start = platform->monotonic_ns(platform->context);
	int rc = digest_of(content, ret_digest);

	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = read_in(store, hold, ret_digest, &there, error);
	buffer_release(&there);
	if (rc == BOBBIN_ENOMEM || rc == BOBBIN_EREFUSED)
		return rc;
	/* Another process may be writing the same one: then either that is it, or it gave up. */
	while (rc < 0) {
		rc = file_replace(platform, hold, ret_digest, content, durable, error);
		if (rc != BOBBIN_EBUSY ||
			platform->monotonic_ns(platform->context) - start >= LIMIT_LOCK_WAIT_MS * INT64_C(1000000))
			break;
		platform->sleep_ns(platform->context, NAP_NS);
	}
	/* Also of one that was there: who wrote it may have been killed before this. */
	if (!rc && durable && (rc = platform->sync(platform->context, hold)) < 0)
		rc = error_set_os(error, -rc, "cannot sync %s", BLOB_FOLDER);
	return rc;
}

/* blobs/DIGEST, or, from elsewhere, blobs/DI/REST or blobs/DI/DIGEST. */
int blob_read(const struct store *store, struct slice digest, struct buffer *out, struct bobbin_error *error)
{
	char name[SHA256_HEX_BYTES];
	int folder = open_folder(store);

	if (digest.len != BLOB_DIGITS)
		return error_set(error, BOBBIN_EINVAL, "not the name of a blob");
	memcpy(name, digest.data, BLOB_DIGITS);
	name[BLOB_DIGITS] = '\0';
	if (folder < 0)
		return error_set_os(error, -folder, "cannot open the folder %s", BLOB_FOLDER);
	int rc = read_in(store, folder, name, out, error);
	file_close(store->platform, folder);
	if (rc == BOBBIN_ENOTFOUND)
		error_set(error, rc, "the content of this version is not in %s (%.16s…): bobbin doctor says more",
			BLOB_FOLDER, name);
	return rc;
}

/* ---- Which are named -------------------------------------------------------------------------------------
 */

static int by_digest(const void *left, const void *right)
{
	return memcmp(((const struct blob_name *)left)->digest, ((const struct blob_name *)right)->digest, BLOB_DIGITS);
}

int blob_names_add(struct blob_names *names, struct slice digest)
{
	if (mem_grow((void **)&names->items, &names->cap, names->count + 1, sizeof(*names->items)) < 0)
		return BOBBIN_ENOMEM;
	struct blob_name *name = &names->items[names->count++];
	memcpy(name->digest, digest.data, BLOB_DIGITS);
	name->digest[BLOB_DIGITS] = '\0';
	name->used = false;
	return 0;
}

void blob_names_release(struct blob_names *names)
{
	mem_free(names->items);
	*names = (struct blob_names){NULL, 0, 0};
}

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Every run of as many digits as a name has, whatever stands around it; of a longer one its ends. Such a run covers a
 * place that is a multiple of its length, so only those are looked at. */
static int each_in(const char *text, size_t len, int (*each)(struct blob_names *, struct slice),
	struct blob_names *names)
{
	int rc = 0;

	for (size_t at = BLOB_DIGITS - 1; !rc && at < len; at += BLOB_DIGITS) {
		size_t start = at, end = at;
		if (!is_digit(text[at]))
			continue;
		while (start && is_digit(text[start - 1]))
			start--;
		while (end < len && is_digit(text[end]))
			end++;
		if (end - start >= BLOB_DIGITS)
			rc = each(names, (struct slice){text + start, BLOB_DIGITS});
		if (!rc && end - start > BLOB_DIGITS)
			rc = each(names, (struct slice){text + end - BLOB_DIGITS, BLOB_DIGITS});
		if (end - start > BLOB_DIGITS)
			at = end - end % BLOB_DIGITS - 1;
	}
	return rc;
}

/* Every name in a file, read in pieces that overlap by one. */
static int each_name(struct store *store, const char *file_name, int (*each)(struct blob_names *, struct slice),
	struct blob_names *names, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	uint64_t at = 0;
	ssize_t got = 0;
	int file;
	int rc = file_open(platform, store->dir, file_name, O_RDONLY, &file, NULL, error);
	if (rc < 0)
		return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	char *piece = mem_realloc_array(NULL, PIECE_BYTES, 1);
	if (!piece)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	while (!rc && (got = platform_read_full(platform, file, piece, PIECE_BYTES, at)) > 0) {
		rc = each_in(piece, (size_t)got, each, names);
		if ((size_t)got < PIECE_BYTES)
			break;
		at += (uint64_t)got - OVERLAP;
	}
	if (got < 0)
		rc = error_set_os(error, (int)-got, "cannot read %s", file_name);
	else if (rc == BOBBIN_ENOMEM)
		error_set(error, rc, "out of memory");
	mem_free(piece);
	file_close(platform, file);
	return rc;
}

int blob_names_of(struct store *store, const char *file, struct blob_names *names, struct bobbin_error *error)
{
	return each_name(store, file, blob_names_add, names, error);
}

static int mark(struct blob_names *names, struct slice digest)
{
	struct blob_name wanted, *found;

	memcpy(wanted.digest, digest.data, BLOB_DIGITS);
	found = names->count ? bsearch(&wanted, names->items, names->count, sizeof(wanted), by_digest) : NULL;
	if (found)
		found->used = true;
	return 0;
}

struct sweep {
	struct store *store;
	struct blob_names *names;
	struct bobbin_error *error;
	int rc;
};

/* Logs, copies of what is inherited, and logs that are just being made. */
static bool mark_in(void *data, const char *name)
{
	struct sweep *sweep = data;
	size_t len = strlen(name);
	bool is_log = (len > 6 && strcmp(name + len - 6, ".jsonl") == 0) ||
		      (len > 10 && strcmp(name + len - 10, ".jsonl.tmp") == 0);

	if (is_log)
		sweep->rc = each_name(sweep->store, name, mark, sweep->names, sweep->error);
	return sweep->rc == 0;
}

/* One name each, in order. */
static void sort_names(struct blob_names *names)
{
	size_t kept = 0;

	if (!names->count)
		return;
	qsort(names->items, names->count, sizeof(*names->items), by_digest);
	for (size_t i = 1; i < names->count; i++)
		if (by_digest(&names->items[kept], &names->items[i]) != 0)
			names->items[++kept] = names->items[i];
	names->count = kept + 1;
}

int blob_sweep(struct store *store, struct blob_names *names, bool remove, size_t *ret_removed,
	struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct sweep sweep = {store, names, error, 0};
	size_t removed = 0;
	int folder = names->count ? open_folder(store) : -ENOENT;

	if (ret_removed)
		*ret_removed = 0;
	if (folder < 0)
		return folder == -ENOENT ? 0 : error_set_os(error, -folder, "cannot open the folder %s", BLOB_FOLDER);
	sort_names(names);
	int rc = lock_folder(store, folder, LOCK_EX, error);
	if (!rc && (rc = platform->list(platform->context, store->dir, mark_in, &sweep)) < 0)
		rc = error_set_os(error, -rc, "cannot list %s", store->path);
	rc = sweep.rc ? sweep.rc : rc;
	for (size_t i = 0; !rc && remove && i < names->count; i++)
		if (!names->items[i].used &&
			platform->unlink_at(platform->context, folder, names->items[i].digest, 0) == 0)
			removed++;
	file_close(platform, folder);
	if (!rc && ret_removed)
		*ret_removed = removed;
	return rc;
}
