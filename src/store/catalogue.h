/* SPDX-License-Identifier: MIT */
/*
 * The catalogue: .cache/catalogue, what a list showed of each session, so that the next list asks only
 * whether a log has changed. Which sessions there are is for the folder to say, never for the catalogue; an
 * entry counts for a log of the same inode, size and time, and is made only when that time is past. Written whole,
 * replaced by rename; without it, or with a damaged one, a list reads the ends of each log.
 */
#ifndef STORE_CATALOGUE_H
#define STORE_CATALOGUE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "store/store.h"

struct catalogue_entry {
	struct store_entry entry; /* texts in the arena */
	uint64_t inode;
};

struct catalogue {
	struct catalogue_entry *entries; /* sorted by id, in the arena */
	size_t count;
};

/* What can be read of it, maybe nothing. BOBBIN_EIO: there may be one, which could not be read; BOBBIN_ENOMEM. */
int catalogue_read(const struct store *store, struct arena *arena, struct catalogue *ret_catalogue);
/* The entry that counts for this log, or NULL. */
const struct store_entry *catalogue_find(
	const struct catalogue *catalogue, const char *id, const struct file_info *info);

/* Adds an entry to a catalogue that is being made. */
void catalogue_add(struct buffer *out, const struct store_entry *entry, uint64_t inode);
/* Puts it in the place of the old one; a failure is nobody's concern. */
void catalogue_write(const struct store *store, struct buffer *out, uint32_t count);

#endif
