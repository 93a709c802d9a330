/* SPDX-License-Identifier: MIT */
/*
 * A log's file as bytes, for whoever looks for something in it before he knows that it is worth opening, and
 * the way back from a place of the file to the message that stands there.
 *
 * Invariants: (1) nothing is locked, mapped or written; (2) bytes are what the file has, whole or damaged:
 * what counts is what log_message says of the node.
 */
#ifndef STORE_LOG_BYTES_H
#define STORE_LOG_BYTES_H

#include "store/log.h"

struct log_bytes {
	const struct platform *platform;
	int file;
	uint64_t size; /* when it was opened */
};

/* `copy`: that of what it inherits, instead. BOBBIN_ENOTFOUND, BOBBIN_EREFUSED (a link, another user's), BOBBIN_EIO. */
int log_bytes_open(struct store *store, struct slice id, bool copy, struct log_bytes *ret_bytes, struct bobbin_error *error);
/* Whether its messages are in the copy of what session `log_info(log)->id` inherits, not in that session's own log. */
bool log_is_copy(const struct log *log);
/* Exactly `len` bytes unless the file ends before; their number, or BOBBIN_EIO. */
int64_t log_bytes_read(
	const struct log_bytes *bytes, void *data, size_t len, uint64_t offset, struct bobbin_error *error);
void log_bytes_close(struct log_bytes *bytes);

/*
 * The first message of the log's own file that ends behind `offset`: the one that stands there, or the next.
 * `cursor`: empty at first, then as the call before left it; offsets that rise make it cheap. NODE_NONE, and nothing in
 * ret_info, after the last. 0, BOBBIN_EIO, BOBBIN_ECORRUPT.
 */
struct log_cursor {
	uint32_t node_count; /* the nodes of the file that end at or before `offset` */
	uint64_t offset;
};
int log_node_at(const struct log *log, uint64_t offset, struct log_cursor *cursor, uint32_t *ret_node, struct log_node *ret_info);

#endif
