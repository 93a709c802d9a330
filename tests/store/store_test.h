/* SPDX-License-Identifier: MIT */
/* What the tests of this room share: a scratch store, short ways to append and to ask. */
#ifndef TESTS_STORE_STORE_TEST_H
#define TESTS_STORE_STORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "store/log.h"
#include "store/store.h"
#include "support/fail.h"
#include "support/scratch.h"

/* A store in a folder of its own; the platform counts and fails on demand. */
struct world {
	char dir[SCRATCH_PATH_BYTES];
	struct fail_platform platform;
	struct store *store;
	struct bobbin_error error;
};

void world_open(struct world *world, enum store_sync sync);
/* One whose index files are written at every append, and whose syncs cost nothing. */
void world_open_indexed(struct world *world);
/* From here on caches are read, and written only when it is worth while: what is asked stays short. */
void world_stop_indexing(struct world *world);
void world_close(struct world *world);

struct log *world_create(struct world *world, const char *id);
struct log *world_log(struct world *world, const char *id, enum log_mode mode);
/* A fork of the first so many messages, open for writing. */
struct log *world_fork(struct world *world, const char *parent, const char *child, uint64_t count);
void world_write(struct world *world, const char *name, const char *text);

/* Appends one record, which must work; returns its ack. */
struct log_ack add(struct log *log, const char *record);
/* {"role":"user","content":TEXT} and the like. */
struct log_ack say(struct log *log, const char *role, const char *text);
int try_add(struct log *log, const char *record, struct bobbin_error *error);

/* The ids on the line to the head, with a space between: "m1 m2 m3". Static memory. */
const char *line_of(struct log *log);
const char *line_to(struct log *log, uint32_t node);
/* The text of a node's message. Static memory. */
const char *text_of(struct log *log, uint32_t node);
uint32_t node_of(struct log *log, const char *id);
size_t count_faults(const struct log *log, enum fault_kind kind);

#endif
