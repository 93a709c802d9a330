/* SPDX-License-Identifier: MIT */
/* Ids of the form a format wants, for messages that have others: the same message gets the same one every
 * time. */
#ifndef TRANSCRIPT_EXPORT_IDS_H
#define TRANSCRIPT_EXPORT_IDS_H

#include "transcript/export_writer.h"

#define UUID_BYTES 37 /* with NUL */

/* A UUID of version 8 (RFC 9562: bits of one's own) from two names and a number. */
void export_uuid(struct slice session, struct slice id, unsigned part, char ret_uuid[UUID_BYTES]);

/* The message's id itself if it is a UUID and part is 0, else one made of it. */
void export_uuid_of_item(const struct export *export, const struct export_item *item, unsigned part,
	char ret_uuid[UUID_BYTES]);

#endif
