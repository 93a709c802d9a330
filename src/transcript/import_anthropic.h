/* SPDX-License-Identifier: MIT */
/* Messages of Anthropic's API and Roo's files around them; import_anthropic_messages.c explains them. */
#ifndef TRANSCRIPT_IMPORT_ANTHROPIC_H
#define TRANSCRIPT_IMPORT_ANTHROPIC_H

#include "transcript/import_builder.h"

struct anthropic {
	struct import *import;
	const char *data; /* the file */
	size_t len;
	struct builder builder;
	struct buffer content;
	uint64_t *known; /* hashes of the messages of the conversation so far */
	size_t known_count, known_cap;
	struct buffer key;
	struct slice id, title;
	bool roo; /* texts of users tell their origin as Roo and Cline write them */
};

/* Whose words a text of a user's message is, as Roo writes them. `*in_result`: texts before it belong to a tool's result. */
enum message_origin roo_origin(struct slice text, bool *in_result);
/* True if the messages are of a product that writes results and surroundings as texts. */
bool roo_writes(const struct json *messages, struct arena *arena);

/* Roo's ui_messages.json: a list of {"ts","type":"say"|"ask","say"|"ask":KIND,"text"}. */
bool roo_is_screen(const struct json *list);
int roo_read_screen(struct anthropic *anthropic, const struct json *list);

#endif
