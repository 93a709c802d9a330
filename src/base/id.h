/* SPDX-License-Identifier: MIT */
/* Session ids and message ids: which are allowed, and how new ones are made. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include "base/platform.h"
#include "base/slice.h"

/* [A-Za-z0-9_][A-Za-z0-9_-]{0,63}, and not "blobs": safe as a file name everywhere. */
bool id_is_session(struct slice id);

/* A message id a client may give: 1 to LIMIT_MESSAGE_ID_BYTES bytes of valid UTF-8 without control
 * characters. Reserved forms (id_is_reserved) are refused by the store, not here. */
bool id_is_message(struct slice id);

/* m[1-9][0-9]*: the ids the store itself gives. */
bool id_is_reserved(struct slice id);

#define ID_SESSION_NEW_BYTES 16
/* "s-" and 10 lower-case base-32 digits of fresh randomness. 0 or BOBBIN_EIO. */
int id_new_session(const struct platform *platform, char ret_id[ID_SESSION_NEW_BYTES]);

#endif
