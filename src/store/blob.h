/* SPDX-License-Identifier: MIT */
/*
 * Contents of workspace files, named by what they are: blobs/DIGEST, the SHA-256 of its bytes in 64 hexadecimal digits.
 * Logs name them ("blob":"sha256:DIGEST"), so a version costs its bytes once, however many sessions have it.
 *
 * Invariants: (1) a blob never changes; (2) it is on disk, with its name, before a log line names it; (3) it is taken
 * away only while no log and no copy of one has its name anywhere in its bytes, and nobody is between writing one and
 * naming it: whoever is there holds blobs/ shared, whoever takes away holds it alone; (4) what is read is compared with
 * the name. A crash leaves at most a blob that nothing names, or .DIGEST.tmp, which is written anew.
 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/buffer.h"
#include "base/hash.h"
#include "store/store.h"

#define BLOB_FOLDER "blobs"
#define BLOB_DIGITS (SHA256_HEX_BYTES - 1)

/* Holds blobs/ shared (it is made if needed): from before blob_write until the log line is written. BOBBIN_EBUSY,
 * BOBBIN_EREFUSED, BOBBIN_EIO, BOBBIN_ENOSPC. */
int blob_hold(const struct store *store, int *ret_hold, struct bobbin_error *error);
void blob_let_go(const struct store *store, int hold); /* -1 allowed */

/* Stores the content, unless it is there already, and is what its name says. `durable`: on disk on return. */
int blob_write(const struct store *store, int hold, struct slice content, bool durable,
	char ret_digest[SHA256_HEX_BYTES], struct bobbin_error *error);

/* Appends its bytes. BOBBIN_ENOTFOUND; BOBBIN_ECORRUPT: they are not what the name says. */
int blob_read(const struct store *store, struct slice digest, struct buffer *out, struct bobbin_error *error);

/* Blobs by name, each BLOB_DIGITS long, sorted; `used` is set for those that a log names. */
struct blob_names {
	struct blob_name {
		char digest[SHA256_HEX_BYTES];
		bool used;
	} * items;
	size_t count, cap;
};
int blob_names_add(struct blob_names *names, struct slice digest); /* 0 or BOBBIN_ENOMEM */
void blob_names_release(struct blob_names *names);
/* All that are in a file (64 digits, whatever stands around them), added. */
int blob_names_of(struct store *store, const char *file, struct blob_names *names, struct bobbin_error *error);

/*
 * Which of them logs name, by the bytes of all logs. Takes away those that none does if `remove`. The caller holds the
 * store's lock if sessions may be deleted or forked meanwhile. ret_removed (NULL allowed). BOBBIN_EBUSY: somebody is
 * writing one; nothing was taken away.
 */
int blob_sweep(struct store *store, struct blob_names *names, bool remove, size_t *ret_removed,
	struct bobbin_error *error);

#endif
