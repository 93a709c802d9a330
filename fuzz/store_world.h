/* SPDX-License-Identifier: MIT */
/*
 * A store on the simulated disk of tests/sim, filled with the bytes a fuzzer made up, and all that a log says
 * as one text, so that two ways to come by it can be compared.
 *
 *	struct fuzz_store store;
 *	fuzz_store_open(&store, 0, 0);
 *	fuzz_store_put(&store, "s.jsonl", data, len);
 *	struct log *log = fuzz_store_log(&store, "s", LOG_READ);   // NULL: it says why not, and may
 *	char *said = fuzz_dump(log);
 *
 * Whatever does not hold aborts, with the file and line of the target.
 */
#ifndef FUZZ_STORE_WORLD_H
#define FUZZ_STORE_WORLD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/disk.h"
#include "store/log.h"
#include "store/store.h"

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct fuzz_store {
	struct sim_disk *disk;
	struct sim_process process;
	struct store *store;
};

/* index_step, catalogue_step: of struct store_options. */
void fuzz_store_open(struct fuzz_store *store, uint64_t index_step, uint32_t catalogue_step);
/* The same folder, opened anew. */
void fuzz_store_reopen(struct fuzz_store *store, uint64_t index_step, uint32_t catalogue_step);
void fuzz_store_close(struct fuzz_store *store);
/* Makes a file, or gives it other bytes; ".cache/…" is a name, too. */
void fuzz_store_put(struct fuzz_store *store, const char *name, const void *data, size_t len);
void fuzz_store_add(struct fuzz_store *store, const char *name, const void *data, size_t len);
/* The file's bytes, until it changes; NULL if there is none. */
const char *fuzz_store_get(const struct fuzz_store *store, const char *name, size_t *ret_len);

/* Opens a log; what it may not say aborts. Opening changes nothing but caches. */
struct log *fuzz_store_log(struct fuzz_store *store, const char *id, enum log_mode mode);

/* All that a log says, for the caller to free; checks on the way that it says nothing that cannot be. */
char *fuzz_dump(struct log *log);
/* The list of the store, for the caller to free. */
char *fuzz_dump_list(struct fuzz_store *store);

#endif
