/* SPDX-License-Identifier: MIT */
/* The tools that chat offers: bobbin's own, the user's commands, note. */
#ifndef CLI_TOOLS_H
#define CLI_TOOLS_H

#include "cli/cli.h"

struct chat_tools {
	bobbin_commands *commands; /* of --tools; never NULL once open */
	char *json;		   /* all definitions */
	bool no_facts;		   /* the model is offered nothing of what is known of the owner */
	char *workspace;	   /* the folder of the session's files, for commands; NULL: not known */
};

/* `tools`: the text of --tools, NULL without one. 0 or an exit code, with the reason printed. */
int chat_tools_open(const char *tools, size_t len, bool no_facts, struct chat_tools *ret_tools);
void chat_tools_close(struct chat_tools *tools);

/* Whether chat_tool_run knows it, beside the library's own. */
bool chat_tool_is_known(const struct chat_tools *tools, const char *name);

/* Answers a call; *ret_text belongs to the caller (free), NULL: out of memory. Returns 1 if it is an error result. */
int chat_tool_run(const struct chat_tools *tools, bobbin_store *store, bobbin_session *session, const char *call_id,
	const char *name, const char *arguments, char **ret_text);

/* tool_run.c: a tool that is a command. */
int tool_command_run(const struct chat_tools *tools, bobbin_store *store, bobbin_session *session,
	const struct bobbin_command *command, const char *call_id, const char *arguments, char **ret_text);

#endif
