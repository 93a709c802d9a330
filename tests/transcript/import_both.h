/* SPDX-License-Identifier: MIT */
/* The same bytes read whole and read piece by piece, which must tell the same. Used by a test and by a fuzz target. */
#ifndef TESTS_TRANSCRIPT_IMPORT_BOTH_H
#define TESTS_TRANSCRIPT_IMPORT_BOTH_H

#include "base/buffer.h"
#include "transcript/import.h"

/* The bytes as a file: the first `head_bytes` tell whether it is read piece by piece, in pieces of `piece_bytes` then. */
struct import_pieces {
	size_t head_bytes, piece_bytes;
	bool spill; /* members wait in a spill, as with a store that can make a file for them; else in memory */
};

/* False if the beginning of it passes for lines and all of it for a document, or the other way about: then nothing can be compared.
 * (A file of which so much of the beginning looks like lines is in practice one of lines.) */
bool import_reads_alike(const char *data, size_t len, const struct import_pieces *pieces);

/* All that an import says: format, conversations with their records, counts and heads, remarks, or the error; as text. 0, or -1
 * when memory is out. */
int import_tell_whole(const char *format, const char *data, size_t len, struct buffer *out);
int import_tell_pieces(
	const char *format, const char *data, size_t len, const struct import_pieces *pieces, struct buffer *out);

#endif
