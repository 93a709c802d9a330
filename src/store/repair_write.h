/* SPDX-License-Identifier: MIT */
/* The new log of a repair as bytes, for log_repair.c alone. */
#ifndef STORE_REPAIR_WRITE_H
#define STORE_REPAIR_WRITE_H

#include "store/header.h"
#include "store/log_repair.h"

struct repair_source {
	struct log *log;
	const struct log_repair_options *options;
	struct log_repair *repair; /* counts of the last writing */
	struct session_line header;
};

/* The number of the first record that has one; 0: there is none. */
uint64_t log_first_seq(const struct log *log);

/* Whether what stood there is not among the records that are read. */
bool repair_fault_loses(enum fault_kind kind);

/* Writes the whole log into `file`; with file -1 only counts. `data` is a struct repair_source. */
int repair_write(void *data, int file, const char *name, struct bobbin_error *error);

#endif
