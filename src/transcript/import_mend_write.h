/* SPDX-License-Identifier: MIT */
/*
 * A damaged document written so that it is whole: what stands before the damage, what goes on behind it, and the brackets
 * and names in between. Used by import_mend.c alone.
 */
#ifndef TRANSCRIPT_IMPORT_MEND_WRITE_H
#define TRANSCRIPT_IMPORT_MEND_WRITE_H

#include "transcript/import_mend_scan.h"

#define MEND_CLOSERS 64	 /* brackets that are made up */

/* Where reading goes on. */
struct resume {
	size_t at;		 /* len: nowhere */
	size_t level;		 /* of the list, or the innermost that stays open */
	char made[MEND_CLOSERS]; /* brackets that are made up inside of it, from the outside */
	size_t made_count;
};

/* The damage closed the whole document. Of the lists that closed there at last the outermost need not be the one to go on with: in
 * that format it may have another name, under which the document has one, too. */
void mend_choose_closed(const struct scan *scan, size_t len, const char *format, struct resume *resume);
/* The text closed behind its last whole elements and, if reading goes on, what follows. Brackets that are made up have the names
 * of that format; a list that was closed by the damage is open again, and one that stands there again, or that nobody knows,
 * is another. */
void mend_write(
	const struct scan *scan, size_t len, const struct resume *resume, const char *format, struct buffer *out);

#endif
