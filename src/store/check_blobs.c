/* SPDX-License-Identifier: MIT */
/*
 * The contents of workspace files: blobs/DIGEST, or blobs/DI/REST with the first two digits as a folder. A blob that is not
 * what its name says is damaged; it is never removed here, since a log may name it. One that no log names was left by a
 * process that was killed between writing it and naming it, or while it deleted a session: that one is taken away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "store/blob.h"
#include "store/check.h"
#include "store/file.h"
#include "store/store_internal.h"

#define BLOBS "blobs"
#define DIGITS (SHA256_HEX_BYTES - 1)
#define PIECE_BYTES 65536

struct blobs {
	const struct store *store;
	const struct store_check *check;
	struct bobbin_error *error;
	int dir;
	char prefix[3]; /* of the folder within blobs/; "": blobs/ itself */
	uint64_t done;
	struct blob_names *names; /* of those right in blobs/ */
	int rc;
};

static bool are_digits(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* 0, what errno says, or BOBBIN_ENOMEM. */
static int hash_file(const struct blobs *blobs, int file, char ret_digest[SHA256_HEX_BYTES])
{
	const struct platform *platform = blobs->store->platform;
	uint8_t digest[SHA256_BYTES];
	char piece[PIECE_BYTES];
	struct sha256 hash;
	uint64_t at = 0;
	ssize_t got;

	if (sha256_init(&hash) < 0)
		return error_set(blobs->error, BOBBIN_ENOMEM, "out of memory");
	while ((got = platform_read_full(platform, file, piece, sizeof(piece), at)) > 0) {
		sha256_update(&hash, piece, (size_t)got);
		at += (uint64_t)got;
	}
	sha256_final(&hash, digest);
	hex_encode(digest, sizeof(digest), ret_digest);
	return got < 0 ? (int)-got : 0;
}

static bool check_blob(void *data, const char *name)
{
	struct blobs *blobs = data;
	const struct platform *platform = blobs->store->platform;
	char digest[SHA256_HEX_BYTES], shown[sizeof(BLOBS) + SHA256_HEX_BYTES + 8];
	size_t prefix = strlen(blobs->prefix);
	int file;

	/* A digest without the folder's digits, or whole. */
	bool whole = are_digits(name, DIGITS) && strncmp(name, blobs->prefix, prefix) == 0;
	if (!whole && !(prefix && are_digits(name, DIGITS - prefix)))
		return true;
	snprintf(shown, sizeof(shown), "%s/%s%s%s", BLOBS, blobs->prefix, prefix ? "/" : "", name);
	blobs->rc = file_open(platform, blobs->dir, name, O_RDONLY, &file, NULL, NULL);
	if (blobs->rc == BOBBIN_ENOTFOUND) {
		blobs->rc = 0;
		return true;
	}
	if (blobs->rc) {
		blobs->rc = blobs->rc == BOBBIN_EREFUSED
				    ? check_found(blobs->check, "blob", shown, "", blobs->error,
					      "it cannot be opened as a file: the version of a workspace file that it "
					      "holds is lost.")
				    : check_unread(blobs->check, shown, EIO, blobs->error);
		return blobs->rc == 0;
	}
	blobs->rc = hash_file(blobs, file, digest);
	file_close(platform, file);
	if (blobs->rc > 0) {
		blobs->rc = check_unread(blobs->check, shown, blobs->rc, blobs->error);
		return blobs->rc == 0;
	}
	bool right = !blobs->rc && strcmp(digest + (whole ? 0 : prefix), name) == 0;
	if (!blobs->rc && !right)
		blobs->rc = check_found(blobs->check, "blob", shown, "", blobs->error,
			"its content is not what its name says (it has SHA-256 %.16s…): it was changed after it was "
			"written. Put it back from a backup.",
			digest);
	if (right && !prefix && blob_names_add(blobs->names, slice_of(name)) < 0)
		blobs->rc = error_set(blobs->error, BOBBIN_ENOMEM, "out of memory");
	if (!blobs->rc)
		blobs->rc = check_progress(blobs->check, BLOBS, ++blobs->done, 0, blobs->error);
	return blobs->rc == 0;
}

static int open_folder(const struct store *store, int dir, const char *name)
{
	return store->platform->open_at(
		store->platform->context, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Nothing there, or something else, which is said where the folder above is looked at. */
static bool is_no_folder(int os)
{
	return os == -ENOENT || os == -ENOTDIR || os == -ELOOP;
}

static bool check_entry(void *data, const char *name)
{
	struct blobs *blobs = data;
	const struct platform *platform = blobs->store->platform;

	if (!are_digits(name, 2))
		return check_blob(data, name);
	struct blobs below = *blobs;
	memcpy(below.prefix, name, 3);
	below.dir = open_folder(blobs->store, blobs->dir, name);
	if (below.dir < 0) {
		char shown[sizeof(BLOBS) + 4];
		snprintf(shown, sizeof(shown), "%s/%.2s", BLOBS, name);
		blobs->rc = is_no_folder(below.dir) ? 0 : check_unread(blobs->check, shown, -below.dir, blobs->error);
		return blobs->rc == 0;
	}
	int rc = platform->list(platform->context, below.dir, check_blob, &below);
	file_close(platform, below.dir);
	blobs->done = below.done;
	blobs->rc = below.rc;
	if (!blobs->rc && rc < 0)
		blobs->rc = error_set_os(blobs->error, -rc, "cannot list %s/%s", BLOBS, name);
	return blobs->rc == 0;
}

/* Those that no log names. Whoever writes one right now keeps all of them. */
static int check_unused(struct store *store, const struct store_check *check, struct blob_names *names,
	struct bobbin_error *error)
{
	char shown[sizeof(BLOBS) + SHA256_HEX_BYTES + 8];
	int lock = -1;
	int rc = check->mend ? file_open_locked(
				       store->platform, store->dir, STORE_LOCK_NAME, LIMIT_LOCK_WAIT_MS, &lock, error)
			     : 0;

	if (!rc)
		rc = blob_sweep(store, names, check->mend, NULL, error);
	file_close(store->platform, lock);
	if (rc)
		return rc == BOBBIN_EBUSY ? 0 : rc;
	for (size_t i = 0; !rc && i < names->count; i++) {
		if (names->items[i].used)
			continue;
		snprintf(shown, sizeof(shown), "%s/%s", BLOBS, names->items[i].digest);
		rc = check_found(check, "blob_unused", shown, "It is taken away.", error,
			"no log names it: left by a process that was killed before it could, or while it deleted a session.");
	}
	return rc;
}

int store_check_blobs(struct store *store, const struct store_check *check, struct bobbin_error *error)
{
	struct blob_names names = {NULL, 0, 0};
	struct blobs blobs = {.store = store,
		.check = check,
		.error = error,
		.names = &names,
		.dir = open_folder(store, store->dir, BLOBS)};

	if (blobs.dir < 0)
		return is_no_folder(blobs.dir) ? 0 : check_unread(check, BLOBS, -blobs.dir, error);
	int rc = store->platform->list(store->platform->context, blobs.dir, check_entry, &blobs);
	file_close(store->platform, blobs.dir);
	if (rc < 0)
		rc = error_set_os(error, -rc, "cannot list %s", BLOBS);
	if (blobs.rc)
		rc = blobs.rc;
	if (!rc)
		rc = check_unused(store, check, &names, error);
	blob_names_release(&names);
	return rc;
}

int store_has_blob(const struct store *store, struct slice digest, struct bobbin_error *error)
{
	char name[sizeof(BLOBS) + SHA256_HEX_BYTES + 8], text[SHA256_HEX_BYTES];
	struct file_info info;

	if (digest.len != DIGITS)
		return 0;
	memcpy(text, digest.data, DIGITS);
	text[DIGITS] = '\0';
	for (int form = 0; form < 3; form++) {
		if (form == 0)
			snprintf(name, sizeof(name), "%s/%s", BLOBS, text);
		else
			snprintf(name, sizeof(name), "%s/%.2s/%s", BLOBS, text, form == 1 ? text + 2 : text);
		int rc = store->platform->info_at(store->platform->context, store->dir, name, &info);
		if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
			return error_set_os(error, -rc, "cannot examine %s", name);
		if (rc == 0 && S_ISREG(info.mode))
			return 1;
	}
	return 0;
}
