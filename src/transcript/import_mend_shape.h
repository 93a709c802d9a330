/* SPDX-License-Identifier: MIT */
/*
 * What lists and objects around the messages of a format are called, for a document of which they are lost. Used by
 * import_mend.c alone.
 */
#ifndef TRANSCRIPT_IMPORT_MEND_SHAPE_H
#define TRANSCRIPT_IMPORT_MEND_SHAPE_H

#include "transcript/import_tools.h"

/* A stack of brackets, from the outside, and what goes on inside of the innermost: an element, or a member of that key. */
struct mend_place {
	const char *kinds;
	size_t count;
	const struct json *element; /* NULL: a member */
	struct slice key;
	struct slice rest; /* the text from there on */
};

/* The shape of a format's documents that fits best; never NULL. */
const char *mend_shape(const char *format, const struct mend_place *place);
/* The key under which bracket `depth` of the place stands if the one around it is an object; {NULL, 0}: the shape knows none. */
struct slice mend_shape_name(const char *shape, const struct mend_place *place, size_t depth);
/* Whether the object in which a list lies has that key behind it; `rest`: from an element of the list on. */
bool mend_key_follows(struct slice rest, struct slice key);
/* Whether an object has the member in which documents of the format have their messages. */
bool mend_is_document(const char *format, const struct json *value);

#endif
