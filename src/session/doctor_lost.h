/* SPDX-License-Identifier: MIT */
/* What a product's own compaction lost: each summary on a foreign line against the messages it stands for, by the same
 * verification that bobbin's own records pass. */
#ifndef SESSION_DOCTOR_LOST_H
#define SESSION_DOCTOR_LOST_H

#include "session/handles.h"

/* Adds a fault "lost" for each rule of the user's that the summary has not, one for the values it has not, and "invented" for
 * what it says and no covered message does. A summary without its messages on the line is left alone. */
int doctor_lost(const struct path *path, const struct doctor_foreign *foreign, bobbin_faults *faults,
	struct bobbin_error *error);

#endif
