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
#include <sys/types.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* What is wrong with a file, as far as it is not in the format's own words. */
enum import_damage {
	DAMAGE_NONE,
	DAMAGE_TORN,       /* a line that is no whole record */
	DAMAGE_NULS,       /* NULs in it, or in the document */
	DAMAGE_CHARACTERS, /* bytes that are no UTF-8: half a character */
	DAMAGE_FOREIGN,    /* a line of something else */
	DAMAGE_GLUED,      /* a line with several records */
	DAMAGE_HOLE,       /* a place in a document from which it was read on */
	DAMAGE_BROKEN_OFF, /* a document without its end */
	DAMAGE_AROUND,     /* text around a document */
	DAMAGE_KEY_TWICE,  /* a message with a key that stands twice */
	DAMAGE_TOO_LONG,   /* a message or a line that is larger than a log line may be */
	DAMAGE_TOO_MANY_CALLS, /* a message that asks for more tools than a log's may */
	DAMAGE_ORDER,      /* a record that came too late */
	DAMAGE_NO_ROLE,    /* a message whose role is lost */
	DAMAGE_KINDS
};

struct import_warning {
	uint64_t line, offset;   /* of the foreign file; line 0: the whole document */
	const char *message;     /* in the arena */
	bool remark;             /* no fault of the file: what never was part of a conversation is left out */
	enum import_damage damage;
};

/* What is not a message, or not understood: counted by kind, and told as one warning each. */
struct import_kind {
	const char *what; /* as import_left_out is given it */
	const char *name; /* shown behind it; NULL: none; in the arena */
	uint64_t count, line, offset; /* of the first */
	bool remark;
};

/* How often something was met. */
struct import_tally {
	const char *kind; /* a stable word */
	const char *what; /* in the number that suits the count; in the arena */
	uint64_t count;
};

struct import_conversation {
	struct slice foreign_id, title;  /* may be empty */
	struct slice *records;           /* canonical messages, one JSON object each, without seq and crc, parents before children */
	size_t record_count, record_cap;
	uint64_t messages, calls, results; /* of the records */
	size_t head;                     /* the record at which the head stands in the end; SIZE_MAX: there is none */
};

/* A file that is read piece by piece. `read_at`: bytes read, 0 at the end, or a negative code. The last two are for tests, which
 * want pieces in small files, too. */
struct import_source {
	void *context;
	uint64_t size;
	ssize_t (*read_at)(void *context, void *data, size_t len, uint64_t offset);
	size_t head_bytes;  /* a file of no more is read whole; 0: IMPORT_HEAD_BYTES */
	size_t piece_bytes; /* what is read at once; 0: IMPORT_PIECE_BYTES */
};
#define IMPORT_HEAD_BYTES (4u << 20)
#define IMPORT_PIECE_BYTES (1u << 20)

/* Who takes the records as they are made, conversation by conversation, so that nobody holds them. A function returns 0 or a
 * negative code, which ends the import; it has said in `error` why. */
struct import_sink {
	void *context;
	int (*begin)(void *context, const struct import_conversation *conversation, struct bobbin_error *error);
	int (*record)(void *context, struct slice record, struct bobbin_error *error);
	/* With what is known at the end: the counts, the head. */
	int (*end)(void *context, const struct import_conversation *conversation, struct bobbin_error *error);
};

/* Where members wait until it is known what they hang from: bytes that are added at the end and read again. */
struct import_spill {
	void *context;
	int (*add)(void *context, struct slice bytes, uint64_t *ret_offset);
	int (*read_at)(void *context, void *data, size_t len, uint64_t offset);
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
	const char *data; /* the file, while it is read and all of it is in memory; else NULL */
	size_t len;
	uint64_t line, offset; /* of the record being read; 0: of none, or of a document */
	uint64_t damages[DAMAGE_KINDS]; /* also those that are not among the warnings */
	struct import_tally *tallies; /* at the end: damages, what was not understood, what was left out; in the arena */
	size_t tally_count;

	const struct import_sink *sink;	 /* NULL: records stay in their conversations */
	const struct import_spill *spill; /* NULL: memory */
	/* While a file of lines is read piece by piece: */
	const struct import_source *source; /* NULL: all of it is in memory, and what readers get from it stays valid */
	struct arena scratch; /* for the record being read */
	char *window;
	size_t window_cap;
	struct bobbin_error sink_error; /* what the sink, the source or the spill said */
	char *document; /* a file that was read whole */
};

/* Reads `data` as `format`, or, with format NULL, as what it looks like. BOBBIN_EUNSUPPORTED for an unknown or
 * unrecognised format, BOBBIN_EINPUT with line and offset when nothing can be read. Release also after a failure. */
int import_read(const char *format, const char *data, size_t len, struct import *ret_import,
	struct bobbin_error *error);
/* The same with a sink, to which the records go. */
int import_read_to(const char *format, const char *data, size_t len, const struct import_sink *sink,
	struct import *ret_import, struct bobbin_error *error);

/*
 * The same for a file. Of a format of lines (import_streams) memory is bounded by the largest record and an entry of some 200
 * bytes a message; other formats are read whole, up to LIMIT_IMPORT_BYTES: their records hang from each other all over the
 * document. With a sink records go there; `spill` may be NULL. Errors as above, of the sink, the source, the spill.
 */
int import_read_from(const char *format, const struct import_source *source, const struct import_sink *sink,
	const struct import_spill *spill, struct import *ret_import, struct bobbin_error *error);
bool import_streams(const char *format);
void import_release(struct import *import);

/* The names of the formats in, NULL-terminated. */
const char *const *import_formats(void);
/* One line about a format; NULL for an unknown name. */
const char *import_format_about(const char *format);

#endif
