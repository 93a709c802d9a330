/* SPDX-License-Identifier: MIT */
/* Scratch stores and whole turns for the tests of this room, through the public interface alone. */
#ifndef TESTS_SESSION_TALK_H
#define TESTS_SESSION_TALK_H

#include <bobbin.h>
#include "support/scratch.h"

extern char scratch_dir[SCRATCH_PATH_BYTES];
extern bobbin_store *store;

int store_setup(void **state);    /* a scratch directory and an open store in it */
int store_teardown(void **state);

bobbin_session *open_session(const char *id);
bobbin_model *open_script(const char *script); /* NULL: the plain mock */

/* What a turn did. */
struct told {
	int rc;                /* 0: done; otherwise what bobbin_turn_start or _next returned */
	struct bobbin_error error;
	char text[4096];       /* all TEXT events joined */
	char events[256];      /* a letter an event: R P T K C N S D */
	char notes[1024];
	char reply[BOBBIN_MESSAGE_ID_BYTES];
	unsigned calls;
};

/* Runs a turn to its end, answering each call with "result of NAME". */
struct told tell(bobbin_session *session, bobbin_model *model, const char *text,
	const struct bobbin_turn_options *options);
struct told pull(bobbin_turn *turn, struct told told);

/* The line as "u:hello|a:hi", a letter for the role and the text. */
const char *line_of(bobbin_session *session, char *buffer, size_t size);

#define TOOLS                                                                                                        \
	"[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"parameters\":{\"type\":\"object\","                  \
	"\"properties\":{}}}},{\"type\":\"function\",\"function\":{\"name\":\"count\",\"parameters\":{\"type\":"        \
	"\"object\",\"properties\":{}}}}]"

#endif
