/* SPDX-License-Identifier: MIT */
/* The inside of a store's handle, for this room only. */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/header.h"
#include "store/store.h"

struct store {
	const struct platform *platform;
	char *path;
	int dir;
	enum store_sync sync;
	bool read_only;
	uint64_t index_step;
	uint32_t index_memory;
	uint32_t catalogue_step;
	int64_t stamp_tick_ns;
};

#define STORE_CACHE_NAME ".cache"
/* The folder of caches, or negative. Whoever will `write` in it finds it made, or none where the store is read only. */
int store_cache_dir(const struct store *store, bool write);
/* Takes all caches of a session away; its index alone. */
void store_forget_caches(const struct store *store, const char *id);
void store_discard_index(const struct store *store, const char *id);

#define STORE_LOCK_NAME                                                                                      \
	".lock" /* held exclusively by fork and delete: no parent vanishes under a new fork                  \
		 */

#define STORE_LOG_SUFFIX ".jsonl"
#define COPY_SUFFIX ".base" STORE_LOG_SUFFIX
#define STORE_HEAD_BYTES 8192 /* the longest header line we write has about 7,000 */

/* Whether a name is the id of a session with that ending; the id (store_list.c). */
bool store_session_of(const char *name, const char *ending, char ret_id[LIMIT_SESSION_ID_BYTES + 1]);

/* The logs of the folder, newest first (store_list.c). Whoever asks frees `found`. */
struct store_found {
	char id[LIMIT_SESSION_ID_BYTES + 1];
	struct file_info info;
};
struct store_listing {
	struct store *store;
	struct store_found *found;
	size_t count, cap;
	int error;
};
int store_find_logs(struct store_listing *listing, struct bobbin_error *error);

/* What the first and the last lines of a log say. */
struct store_ends {
	struct session_line line; /* the header, if there is one */
	bool has_header, damaged;
	uint64_t last_seq;
	struct file_info info;
};
int store_read_ends(
	struct store *store, const struct store_found *found, struct store_ends *ret_ends, struct bobbin_error *error);
/* The lineage of a log without a header on its first line: only the whole log tells it. */
int store_read_lineage(struct store *store, const struct store_found *found, struct session_line *line,
	struct bobbin_error *error);

#endif
