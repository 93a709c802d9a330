/* SPDX-License-Identifier: MIT */
/* The inside of a store's handle, for this room only. */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/store.h"

struct store {
	const struct platform *platform;
	char *path;
	int dir;
	enum store_sync sync;
	uint64_t index_step;
	uint32_t catalogue_step;
};

#define STORE_CACHE_NAME ".cache"
/* The folder of caches, or negative; it is made if `make`. */
int store_cache_dir(const struct store *store, bool make);
/* Takes all caches of a session away; its index. */
void store_forget_caches(const struct store *store, const char *id);
void store_discard_index(const struct store *store, const char *id);

#define STORE_LOCK_NAME                                                                                      \
	".lock" /* held exclusively by fork and delete: no parent vanishes under a new fork                  \
		 */

#endif
