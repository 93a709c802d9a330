/* SPDX-License-Identifier: MIT */
/*
 * Conversations of a foreign transcript into sessions, record by record as they are read: each appears when it is whole, and
 * all of them or none stay.
 *
 * Invariants: (1) between begin and end one session is open, under a name that nobody sees; (2) at most BATCH_BYTES of
 * records wait to be appended, or one record.
 */
#ifndef SESSION_IMPORT_STORE_H
#define SESSION_IMPORT_STORE_H

#include "session/handles.h"
#include "transcript/import.h"

struct bobbin_import {
	struct import read;
	struct bobbin_imported *sessions;
	size_t count, cap; /* sessions that are stored */
	bobbin_faults *warnings;
	struct bobbin_import_tally *tallies; /* in the arena of what was read */
	size_t tally_count;
};

struct storing {
	bobbin_store *store;
	bobbin_import *import;
	const struct bobbin_import_options *options;
	struct log *log;      /* of the conversation being stored, or NULL */
	struct slice title;
	struct buffer text;   /* records that wait */
	size_t *ends;	      /* where each ends in it */
	size_t waiting, ends_cap;
	size_t appended;      /* records of the conversation in the log */
	size_t head_record;   /* where its head stands in the end */
	uint32_t head;	      /* the node of that */
};

void storing_init(struct storing *storing, bobbin_store *store, bobbin_import *import,
	const struct bobbin_import_options *options);
/* Without `whole` what was stored is taken away again. */
void storing_release(struct storing *storing, bool whole);

/* A sink's functions; `context` is the struct storing. */
int storing_begin(void *context, const struct import_conversation *conversation, struct bobbin_error *error);
int storing_record(void *context, struct slice record, struct bobbin_error *error);
int storing_end(void *context, const struct import_conversation *conversation, struct bobbin_error *error);

/* What is imported: bytes, or a file. */
struct import_input {
	const char *data;
	size_t len;
	const struct import_source *source; /* NULL: the bytes */
	const struct import_spill *spill;
	const char *name; /* of a file; NULL: as the options say */
};
int import_input(bobbin_store *store, const struct import_input *input, const struct bobbin_import_options *options,
	bobbin_import **ret_import, struct bobbin_error *error);

#endif
