/* SPDX-License-Identifier: MIT */
/* What the measures of the store share (time_store.c, store_scale.c). A failure ends the program with its
 * reason. */
#ifndef BENCH_STORE_BENCH_H
#define BENCH_STORE_BENCH_H

#include "base/platform.h"
#include "store/log.h"
#include "store/store.h"
#include "timing.h"
#include "tokens/counter.h"
#include "window/window.h"

extern struct bobbin_error error;

void check(int rc); /* of a call that was given `error` */

struct store *open_store(const char *dir, enum store_sync sync);
struct log *make_session(struct store *store, const char *id);
struct log *open_main(struct store *store, enum log_mode mode);
/* Record `number` of a conversation, about `size` bytes once it is in a log: user, call, result, reply, over and
 * over. */
size_t fill_record(char *record, size_t number, size_t size);
void plan_next(struct log *log);

/* The measures of store_scale.c; 2: there is none of that name. */
int scale_main(const char *what, const char *dir, size_t count, char **rest);

#endif
