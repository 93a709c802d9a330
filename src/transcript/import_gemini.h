/* SPDX-License-Identifier: MIT */
/* What Gemini CLI's records and raw contents share: parts, calls and results. import_gemini_cli.c explains them. */
#ifndef TRANSCRIPT_IMPORT_GEMINI_H
#define TRANSCRIPT_IMPORT_GEMINI_H

#include "transcript/import_builder.h"

struct gemini {
	struct import *import;
	const char *data; /* the file */
	size_t len;
	struct builder builder;
	struct buffer content, rest; /* of the message being read: blocks, and what its parts say beyond them */
	struct json_writer blocks, rests;
	bool any_rest;
	struct draft next;  /* how the next message hangs */
	uint64_t generated; /* ids made for calls without one */
};

void gemini_begin_content(struct gemini *gemini);
/* Ends it and gives its text. 0 or the error of the writing. */
int gemini_end_content(struct gemini *gemini);
/* A part that is no call and no result: text, thought, picture, or what is kept as it is. */
void gemini_write_part(struct gemini *gemini, const struct json *part);
/* The origin of a text by what the client itself puts into contents of either role. */
enum message_origin gemini_origin(struct gemini *gemini, const struct json *content);
/* The content of a functionResponse: its output, or the JSON of its response; `ret_error`: it tells of a failure. */
void gemini_write_response(struct json_writer *writer, const struct json *response, bool *ret_error);
/* Ends a message of the builder that hangs as `next` says. */
int gemini_end_message(struct gemini *gemini, struct slice id);

/* A list of {"role":"user"|"model","parts":[…]}, as the API takes it. */
int gemini_read_contents(struct gemini *gemini, const struct json *contents);
bool gemini_is_contents(const struct json *list);

#endif
