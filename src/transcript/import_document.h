/* SPDX-License-Identifier: MIT */
/*
 * A transcript that is one JSON document, also a damaged one.
 *
 * Invariants: (1) a whole document is given as it is, in place; (2) of a damaged one every element of its lists that
 * lies before the damage is given, and those after it as far as they can be told apart; (3) each damage is a warning
 * with its place.
 */
#ifndef TRANSCRIPT_IMPORT_DOCUMENT_H
#define TRANSCRIPT_IMPORT_DOCUMENT_H

#include "transcript/import_tools.h"

/* Parses the file. A mended text lies in the import's arena. BOBBIN_EINPUT with line and offset if nothing of it can
 * be read, BOBBIN_ELIMIT, BOBBIN_ENOMEM. */
int import_document(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *error);

/* Whether the file is one of values, one after another, a line each, and no document: more than one, and of its first lines at
 * least every other holds whole values. */
bool import_has_many(const char *data, size_t len);

/*
 * Reads a file whose values each stand for themselves: all of them, or the document. `each` is given one with its place
 * (a document's is {0, 0}) and stops it by an error. What import_document and import_lines_next say.
 */
int import_values(struct import *import, const char *data, size_t len,
	int (*each)(void *reader, const struct json *value, struct place place), void *reader,
	struct bobbin_error *error);

/* The place of a value in a whole document; of a mended one line 0, offset 0. */
struct place import_document_place(const char *data, size_t len, const struct json *value);

#endif
