/* SPDX-License-Identifier: MIT */
/*
 * Other products' sessions in. A reader turns the bytes of a file into conversations of canonical message records
 * (transcript/message.h); the caller stores them. Readers never guess silently: what is left out or mended is a
 * warning with line and offset.
 *
 * Rules for every reader: (1) nothing the model saw is lost: every message, call and result of the main line and of side
 * branches is there; (2) several lines that were one provider message are one message with blocks; (3) results that are
 * siblings in the foreign tree follow their batch in the order of the calls where that is possible, else in file order;
 * (4) text that no person typed has an origin; (5) what has no place in the canonical record stays under "src", byte for byte;
 * (6) ids of the reserved form m[1-9][0-9]* are renumbered, and parents with them; (7) a system prompt is never a message.
 */
#ifndef TRANSCRIPT_IMPORT_H
#define TRANSCRIPT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct import_warning {
	uint64_t line, offset;   /* of the foreign file; line 0: the whole document */
	const char *message;     /* in the arena */
	bool remark;             /* no fault of the file: what never was part of a conversation is left out */
};

/* What is not a message, or not understood: counted by kind, and told as one warning each. */
struct import_kind {
	const char *what; /* in the arena */
	uint64_t count, line, offset; /* of the first */
	bool remark;
};

struct import_conversation {
	struct slice foreign_id, title;  /* may be empty */
	struct slice *records;           /* canonical messages, one JSON object each, without seq and crc, parents before children */
	size_t record_count, record_cap;
	uint64_t messages, calls, results; /* of the records */
	size_t head;                     /* the record at which the head stands in the end; SIZE_MAX: there is none */
};

struct import {
	struct arena arena;              /* owns everything below */
	const char *format;              /* the name of the reader */
	struct import_conversation *conversations;
	size_t conversation_count, conversation_cap;
	struct import_warning *warnings; /* at most LIMIT_FAULTS_REPORTED; the rest is counted */
	size_t warning_count, warning_cap;
	uint64_t warnings_total;
	struct import_kind *kinds; /* while reading; warnings at the end */
	size_t kind_count, kind_cap;
};

/* Reads `data` as `format`, or, with format NULL, as what it looks like. BOBBIN_EUNSUPPORTED for an unknown or
 * unrecognised format, BOBBIN_EINPUT with line and offset when nothing can be read. Release also after a failure. */
int import_read(const char *format, const char *data, size_t len, struct import *ret_import,
	struct bobbin_error *error);
void import_release(struct import *import);

/* The names of the formats in, NULL-terminated. */
const char *const *import_formats(void);
/* One line about a format; NULL for an unknown name. */
const char *import_format_about(const char *format);

#endif
