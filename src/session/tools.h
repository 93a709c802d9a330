/* SPDX-License-Identifier: MIT */
/* Tools for a model: a call that is being answered, for the files that do so. */
#ifndef SESSION_TOOLS_H
#define SESSION_TOOLS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "session/handles.h"

struct call {
	bobbin_session *session;
	struct json arguments;
	struct arena arena;
	struct buffer out; /* the result */
	struct bobbin_error *error; /* what the model is told if the function fails */
};

/* A string argument, with a NUL behind it, in the call's arena; {NULL, 0} if there is none. */
struct slice tool_text(struct call *call, const char *name);
/* The same; BOBBIN_EINPUT if there is none. */
int tool_need(struct call *call, const char *name, struct slice *ret_text);

/* tool_memory.c */
int tool_memory_search(struct call *call);
int tool_memory_add(struct call *call);

#endif
