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
};

#define STORE_LOCK_NAME                                                                                      \
	".lock" /* held exclusively by fork and delete: no parent vanishes under a new fork                  \
		 */

#endif
