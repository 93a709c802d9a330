/* SPDX-License-Identifier: MIT */
/* Mending of a damaged JSON document; import_document.c calls it. */
#ifndef TRANSCRIPT_IMPORT_MEND_H
#define TRANSCRIPT_IMPORT_MEND_H

#include "transcript/import_tools.h"

/*
 * What can be read of a document that does not parse, in a text of the import's arena, or in place. Each damage is a warning.
 * BOBBIN_EINPUT with the last fault if nothing can be read, BOBBIN_ELIMIT, BOBBIN_ENOMEM.
 */
int import_mend(struct import *import, const char *data, size_t len, struct json *ret_value,
	struct bobbin_error *fault);

#endif
