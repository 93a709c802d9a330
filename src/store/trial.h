/* SPDX-License-Identifier: MIT */
/*
 * Folders for trials, .cache/trial-0123456789abcdef/: a store of its own, in which something is tried out and then thrown
 * away, so that nothing of the real one is touched.
 *
 * Invariants: (1) who made it holds the folder locked (flock(2)) until it is gone, and the kernel drops that lock when the
 * process dies; (2) so one that nobody holds was left by a process that was killed: trial_sweep takes it away, as the
 * doctor does, and nobody takes away one that is in use; (3) nothing outside of it is changed.
 */
#ifndef STORE_TRIAL_H
#define STORE_TRIAL_H

#include "store/store.h"

#define TRIAL_NAME_BYTES 32
struct trial_folder {
	const struct platform *platform;
	int caches, dir; /* -1: there is none */
	char name[TRIAL_NAME_BYTES];
};
#define TRIAL_FOLDER_INIT ((struct trial_folder){.caches = -1, .dir = -1})

/* A new one, empty, and its path, which the caller frees (mem_free). BOBBIN_EIO, BOBBIN_ENOSPC, BOBBIN_ENOMEM. */
int trial_begin(
	struct store *store, struct trial_folder *ret_folder, char **ret_path, struct bobbin_error *error);
/* Takes it away with all that is in it. */
void trial_end(struct trial_folder *folder);

/* Takes away those of processes that were killed; returns how many. What cannot be taken away stays. */
unsigned trial_sweep(struct store *store);

/* Whether an entry of .cache/ is such a folder, and one that nobody holds. `remove`: it is taken away then. */
bool trial_is_left(const struct platform *platform, int caches, const char *name, bool remove);

#endif
