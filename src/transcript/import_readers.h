/* SPDX-License-Identifier: MIT */
/*
 * The readers by format, called by import.c alone. Each adds its conversations to the import.
 * BOBBIN_EINPUT with line and offset if there is not one message; BOBBIN_ENOMEM.
 */
#ifndef TRANSCRIPT_IMPORT_READERS_H
#define TRANSCRIPT_IMPORT_READERS_H

#include "transcript/import.h"

int import_bobbin(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_openai_chat(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_claude_code(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_pi(struct import *import, const char *data, size_t len, struct bobbin_error *error);

#endif
