/* SPDX-License-Identifier: MIT */
/* What the two files of LangChain's reader share: messages gathered by id, then written. */
#ifndef TRANSCRIPT_IMPORT_LANGCHAIN_H
#define TRANSCRIPT_IMPORT_LANGCHAIN_H

#include "base/alloc.h"
#include "transcript/import_parts.h"

#define LANG_NONE SIZE_MAX

struct lang_piece {
	struct json kwargs;
	size_t next; /* of the same message; LANG_NONE */
};

struct lang_entry {
	struct slice id, class;
	struct json whole;    /* kwargs; JSON_ABSENT: there are only pieces */
	struct json metadata; /* of the first piece */
	size_t first_piece, last_piece, piece_count;
};

struct lang {
	struct builder builder;
	struct lang_entry *entries;
	size_t entry_count, entry_cap;
	struct lang_piece *pieces;
	size_t piece_count, piece_cap;
	struct id_table ids;  /* id, or bytes of what has none, to its entry */
	struct id_table seen; /* bytes of messages without an id in the current list, with how often */
	size_t last;          /* the entry of the last piece, if a piece was the last thing read */
	struct slice space;   /* its namespace */
	struct place place;
};

/* Writes an entry as a message, or counts it. */
int lang_write(struct lang *lang, size_t index);

#endif
