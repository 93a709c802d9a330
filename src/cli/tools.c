/* SPDX-License-Identifier: MIT */
/*
 * The tools that chat offers to the model: those of the library (recall, files, once, memory), which answer from the session; note,
 * which puts a remark where recall will find it (in the log, as the call it is); and the user's own, which are commands
 * (--tools). The user's win over those of the same name.
 */
#include "cli/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char note_definition[] =
	"{\"type\":\"function\",\"function\":{\"name\":\"note\",\"description\":\"Keep a remark the user asked you "
	"to note. It stays in this session's log and recall finds it.\",\"parameters\":{\"type\":\"object\","
	"\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}}";

static bool is_ours_of_facts(const struct chat_tools *tools, const char *name)
{
	return (strcmp(name, "memory_search") == 0 || strcmp(name, "memory_add") == 0) &&
	       !bobbin_commands_find(tools->commands, name);
}

int chat_tools_open(const char *tools, size_t len, bool no_facts, struct chat_tools *ret_tools)
{
	static const char *const facts[] = {"memory_search", "memory_add"};
	struct bobbin_error error;

	if (bobbin_commands_open(tools, len, &ret_tools->commands, &error) < 0)
		return tools ? fail_about("--tools", &error) : fail(&error);
	ret_tools->no_facts = no_facts;
	for (size_t i = 0; no_facts && i < 2; i++)
		if (is_ours_of_facts(ret_tools, facts[i]) &&
			bobbin_commands_drop(ret_tools->commands, facts[i], &error) < 0)
			return fail(&error);
	const char *all = bobbin_commands_tools(ret_tools->commands);
	bool theirs = bobbin_commands_find(ret_tools->commands, "note") != NULL;
	/* Into the array, before its ]. */
	if (asprintf(&ret_tools->json, "%.*s%s%s]", (int)strlen(all) - 1, all, theirs ? "" : ",",
		    theirs ? "" : note_definition) < 0)
		ret_tools->json = NULL;
	return ret_tools->json ? 0 : EXIT_FAILED;
}

void chat_tools_close(struct chat_tools *tools)
{
	bobbin_commands_close(tools->commands);
	free(tools->json);
	free(tools->workspace);
}

static int run_note(const char *arguments, char **ret_text)
{
	struct bobbin_error error;
	char *text;

	if (bobbin_json_member(arguments, strlen(arguments), "text", &text, &error) < 0) {
		*ret_text = strdup(error.message);
		return 1;
	}
	bobbin_free(text);
	*ret_text = strdup("Noted: it stands in this session's log.");
	return 0;
}

bool chat_tool_is_known(const struct chat_tools *tools, const char *name)
{
	const struct bobbin_command *command = bobbin_commands_find(tools->commands, name);

	return command ? command->words[0] && !command->effect : strcmp(name, "note") == 0;
}

int chat_tool_run(const struct chat_tools *tools, bobbin_store *store, bobbin_session *session, const char *call_id,
	const char *name, const char *arguments, char **ret_text)
{
	const struct bobbin_command *command = bobbin_commands_find(tools->commands, name);
	struct bobbin_error error;
	char *text;
	int is_error;

	*ret_text = NULL;
	if (command)
		return tool_command_run(tools, store, session, command, call_id, arguments, ret_text);
	if (strcmp(name, "note") == 0)
		return run_note(arguments, ret_text);
	if (tools->no_facts && is_ours_of_facts(tools, name))
		error.code = BOBBIN_ENOTFOUND;
	else if (bobbin_tool_run(session, name, arguments, strlen(arguments), &text, &is_error, &error) == 0) {
		*ret_text = strdup(text);
		bobbin_free(text);
		return is_error;
	}
	*ret_text = strdup(error.code == BOBBIN_ENOTFOUND
				   ? "This chat has no such tool. It offers those it was told of with the request."
				   : error.message);
	return 1;
}
