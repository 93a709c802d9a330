/* SPDX-License-Identifier: MIT */
/*
 * A conversation as a reader found it, made one that every provider takes and its product can resume. Nothing is stored
 * here: records in, records out.
 *
 * Invariants:
 * (1) Every call has one result, right after its message, in the order of the calls: the one that was found, wherever it stood,
 *     or a marked one. Every result has a call.
 * (2) Nothing that was said is lost: a result without a call becomes text of an injected message, a second one too if it
 *     says something else; arguments that are no object become a text in one. Taken out are only equal copies, sealed blocks that
 *     are not whole or that nothing follows, and texts and messages without a word. Put in are marked results, and a first message
 *     before a line that begins with the assistant.
 * (3) Lone surrogates and NUL characters become U+FFFD, in texts, in arguments (also inside a string that holds them) and in copies of the
 *     original.
 * (4) A conversation in which none of this is wrong keeps its records, byte for byte; of one that was repaired nothing is
 *     left to repair.
 */
#ifndef SESSION_IMPORT_REPAIR_H
#define SESSION_IMPORT_REPAIR_H

#include "transcript/import.h"
#include "transcript/message.h"

enum import_repair {
	REPAIR_MARKED,    /* calls without a result */
	REPAIR_MOVED,     /* results that did not stand with their call */
	REPAIR_COPIES,    /* equal results of one call */
	REPAIR_TEXTS,     /* results that became text */
	REPAIR_RENAMED,   /* call ids that were used before on the line */
	REPAIR_SEALED,    /* sealed blocks without their seal */
	REPAIR_POISONED,  /* messages with characters that no parser takes */
	REPAIR_EMPTY,     /* messages without content */
	REPAIR_BLANK,     /* texts without a word beside others */
	REPAIR_ARGUMENTS, /* calls whose arguments were no JSON object */
	REPAIR_NAMES,     /* calls whose tool's name the file's own provider refuses */
	REPAIR_IDS,       /* the same of their ids */
	REPAIR_OPENED,    /* lines that began with the assistant */
	REPAIRS,
};

struct import_repairs {
	uint64_t counts[REPAIRS];
	size_t first[REPAIRS]; /* the record at which it was met first, by its place in what was read */
};

/* What a count is of, as the rest of a sentence: "%llu %s". */
const char *import_repair_text(enum import_repair repair);

/* 0, or BOBBIN_ENOMEM or BOBBIN_ELIMIT, and then the conversation is as it was. New records are in the import's arena. */
int import_repair(struct import *import, struct import_conversation *conversation, struct import_repairs *ret_repairs,
	struct bobbin_error *error);

#endif
