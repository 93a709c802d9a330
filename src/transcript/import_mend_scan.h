/* SPDX-License-Identifier: MIT */
/*
 * The valid beginning of a damaged document: which lists and objects are open at its end, and how the elements of each
 * list begin. Used by import_mend.c alone.
 */
#ifndef TRANSCRIPT_IMPORT_MEND_SCAN_H
#define TRANSCRIPT_IMPORT_MEND_SCAN_H

#include "transcript/import_tools.h"

#define SCAN_STRANGE 16	/* elements that begin like those of another list */
#define LEVEL_OPENINGS 6 /* ways in which the elements of one list begin */

/* From the brace of an object to behind its first key; length 0: it has none. */
struct opening {
	size_t at, len;
};

struct level {
	bool list;
	size_t from;	 /* its bracket */
	size_t complete; /* behind the last whole member */
	size_t count;	 /* whole members */
	bool holds;	 /* whole lists of objects lie in it */
	bool has_lists;	 /* some of its whole members are lists */
	struct opening openings[LEVEL_OPENINGS];
	size_t opening_count;
};

/* An element that begins like those of a list further outside. */
struct strange {
	size_t at, level;
};

struct scan {
	const char *text;
	size_t at, end;
	struct level *levels;
	size_t depth;
	bool key;	    /* the next string is a key */
	size_t last_string; /* where it began */
	size_t closed;	    /* brackets that closed one after the other, up to here: their levels are still known */
	struct strange strange[SCAN_STRANGE];
	size_t strange_count;
};

/* One token; false where the text ends or makes no sense. */
bool mend_scan_token(struct scan *scan);
/* Whether elements of that list began so. */
bool mend_opens_like(const struct scan *scan, const struct level *list, struct opening opening);
struct opening mend_opening_of(const char *text, size_t at, size_t len);
/* Behind the closing quote; false if the text ends before it. */
bool mend_skip_string(struct scan *scan);

/* The text of a string without its quotes, as it stands there; {NULL, 0} if it does not end. */
struct slice mend_string_at(const char *text, size_t at, size_t len);
/* What comes next but white space, and what came last; at the ends a ] and a NUL. */
char mend_behind(const char *text, size_t at, size_t len);
char mend_before(const char *text, size_t at);
/* Where the key stands of the list whose first element is at `at`; SIZE_MAX: that is not to be seen. */
size_t mend_key_of_list(const char *text, size_t at);

#endif
