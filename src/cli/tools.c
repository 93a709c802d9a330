/* SPDX-License-Identifier: MIT */
/*
 * The tools that chat offers to the model. Both are harmless and answer from the session itself: recall finds
 * what the window no longer shows, note puts a remark where recall will find it (in the log, as the call it
 * is).
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *chat_tools_json(void)
{
	return "[{\"type\":\"function\",\"function\":{\"name\":\"recall\",\"description\":\"Find earlier "
	       "messages of this "
	       "conversation, also those no longer shown. Give a message id or words that occur in it.\","
	       "\"parameters\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"}},"
	       "\"required\":[\"query\"]}}},"
	       "{\"type\":\"function\",\"function\":{\"name\":\"note\",\"description\":\"Keep a remark the "
	       "user asked you "
	       "to note. It stays in this session's log and recall finds it.\","
	       "\"parameters\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"
	       "\"required\":[\"text\"]}}}]";
}

#define RECALL_EXCERPTS 5

static int recall(bobbin_session *session, const char *query, char **ret_text)
{
	struct bobbin_error error;
	const struct bobbin_hit *hit;
	bobbin_recall *found;
	size_t len, count = 0;
	FILE *out = open_memstream(ret_text, &len);
	if (!out)
		return 1;
	int rc = bobbin_session_recall(session, query, RECALL_EXCERPTS, &found, &error);
	for (; !rc && (hit = bobbin_recall_get(found, count)); count++)
		fprintf(out, "[%s, %s] %.*s\n", hit->id, hit->role, (int)hit->excerpt_len, hit->excerpt);
	if (rc < 0)
		fputs(error.message, out);
	else if (!count)
		fprintf(out, "nothing in this session matches \"%s\"", query);
	if (!rc)
		bobbin_recall_free(found);
	return fclose(out) != 0 || rc < 0;
}

static int plain_result(const char *text, char **ret_text, int is_error)
{
	*ret_text = strdup(text);
	return is_error;
}

int chat_tool_run(bobbin_session *session, const char *name, const char *arguments, char **ret_text)
{
	struct bobbin_error error;
	bool is_recall = strcmp(name, "recall") == 0;
	char *argument;
	*ret_text = NULL;
	if (!is_recall && strcmp(name, "note") != 0)
		return plain_result("This chat has no such tool; it offers recall and note.", ret_text, 1);
	if (bobbin_json_member(
		    arguments, strlen(arguments), is_recall ? "query" : "text", &argument, &error) < 0)
		return plain_result(error.message, ret_text, 1);
	int is_error = is_recall ? recall(session, argument, ret_text)
				 : plain_result("Noted: it stands in this session's log.", ret_text, 0);
	bobbin_free(argument);
	return is_error;
}
