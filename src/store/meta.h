/* SPDX-License-Identifier: MIT */
/*
 * meta.json: what lists show of a session, in a file of its own. A cache: anything may be wrong with it, and
 * nothing but a list takes its word, except for logs made by hand without a header, whose parent may stand
 * only here.
 *
 *	{"id":"s-8f3a","owner":"ana","title":"Orders","parentId":"main","forkedAt":4,"watermark":0,"messages":12,
 *	 "head":"m17","logBytes":5120,"created":"…","updated":"…"}
 */
#ifndef STORE_META_H
#define STORE_META_H

#include "base/arena.h"
#include "store/header.h"

struct meta {
	struct session_line line;
	bool has_messages;
	uint64_t messages;
	char head[PATH_ID_BYTES]; /* the last message's id; "": not said */
	uint64_t log_bytes; /* size of the log it was written for; 0: unknown */
};

/* BOBBIN_ENOTFOUND if there is none that can be used, whatever the reason; BOBBIN_ENOMEM. */
int meta_read(struct store *store, const char *id, struct meta *ret_meta, struct bobbin_error *error);
/* It names that session, or none: else the files of two were exchanged, and it counts for nothing. */
bool meta_is_of(const struct meta *meta, const char *id);
int meta_write(struct store *store, const char *id, const struct meta *meta, const char *head, bool durable,
	struct bobbin_error *error);

#endif
