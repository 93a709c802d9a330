/* SPDX-License-Identifier: MIT */
/*
 * <id>.memory.md: the record in force, for people. Output only: nothing ever
 * reads it, and it may be deleted at any time.
 */
#ifndef SESSION_MEMORY_FILE_H
#define SESSION_MEMORY_FILE_H

#include "session/handles.h"

/* Writes it anew, atomically, with the message it reaches to. A failure changes
 * nothing and is of no consequence. */
void memory_file_write(bobbin_session *session, const char *cut, const char *text);

#endif
