/* SPDX-License-Identifier: MIT */
/*
 * The tools that chat offers to the model. Both are harmless and answer from the session itself: recall finds
 * what the window no longer shows, note puts a remark where recall will find it (in the log, as the call it
 * is).
 */
#include "cli/cli.h"

#include <ctype.h>
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

static bool contains_folded(const char *text, size_t len, const char *word, size_t word_len)
{
	for (size_t i = 0; word_len && i + word_len <= len; i++) {
		size_t j = 0;
		while (j < word_len && tolower((unsigned char)text[i + j]) == tolower((unsigned char)word[j]))
			j++;
		if (j == word_len)
			return true;
	}
	return false;
}

/* The content of the first string member's value in {"name":"…"}: enough for arguments of these two tools. */
static char *argument_text(const char *arguments)
{
	const char *colon = strchr(arguments, ':'), *at = colon ? strchr(colon, '"') : NULL;
	char *text = malloc(strlen(arguments) + 1), *out = text;
	if (!text)
		return NULL;
	for (at = at ? at + 1 : ""; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			*out++ = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
		} else {
			*out++ = *at;
		}
	}
	*out = 0;
	return text;
}

#define RECALL_EXCERPTS 5
#define RECALL_EXCERPT_BYTES 2000

/* Cut on a code point: never inside a character. */
static size_t cut_text(const char *text, size_t len, size_t limit)
{
	if (len <= limit)
		return len;
	while (limit && ((unsigned char)text[limit] & 0xc0) == 0x80)
		limit--;
	return limit;
}

static int recall(bobbin_session *session, const char *query, char **ret_text)
{
	bobbin_messages *messages;
	const struct bobbin_message *message;
	struct bobbin_error error;
	size_t len = 0, found = 0;
	FILE *out = open_memstream(ret_text, &len);
	if (!out || bobbin_messages_open(session, NULL, &messages, &error) < 0) {
		if (out)
			fclose(out);
		return 1;
	}
	while (found < RECALL_EXCERPTS && bobbin_messages_next(messages, &message, &error) > 0) {
		if (strcmp(message->id, query) != 0 &&
			!contains_folded(message->text, message->text_len, query, strlen(query)))
			continue;
		size_t shown = cut_text(message->text, message->text_len, RECALL_EXCERPT_BYTES);
		fprintf(out, "[%s, %s] %.*s\n", message->id, message->role, (int)shown, message->text);
		found++;
	}
	bobbin_messages_close(messages);
	if (!found)
		fprintf(out, "nothing in this session matches \"%s\"", query);
	return fclose(out) != 0;
}

static int plain_result(const char *text, char **ret_text, int is_error)
{
	*ret_text = strdup(text);
	return is_error;
}

int chat_tool_run(bobbin_session *session, const char *name, const char *arguments, char **ret_text)
{
	char *argument = argument_text(arguments);
	int is_error = 1;
	*ret_text = NULL;
	if (!argument)
		return 1;
	if (strcmp(name, "recall") == 0)
		is_error = recall(session, argument, ret_text);
	else if (strcmp(name, "note") == 0)
		is_error = plain_result("Noted: it stands in this session's log.", ret_text, 0);
	else
		is_error =
			plain_result("This chat has no such tool; it offers recall and note.", ret_text, 1);
	free(argument);
	return is_error;
}
