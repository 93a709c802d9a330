/* SPDX-License-Identifier: MIT */
/*
 * Items of OpenAI's Responses API, as requests, responses and Codex' rollouts hold them, to messages.
 *
 *	message            role user: a message, a run of parts of the same origin each; assistant: text blocks;
 *	                   system, developer: counted and left out
 *	reasoning          a sealed block, byte for byte
 *	function_call, custom_tool_call, tool_search_call (with a call_id)
 *	                   a tool_call block; arguments are a string, of a custom tool free text
 *	…_output           a tool's message
 *	compaction, context_compaction
 *	                   a user message of origin summary with the item as an opaque block; nothing before it stays ("cut":null)
 *	all others         (web_search_call, mcp_call, …: run by the provider, the result inside) a block as it is
 *
 * A reply of the model is what stands between two items of the other side. It is one message; "src" holds under
 * "items", one for one, what its items say beyond the blocks.
 */
#ifndef TRANSCRIPT_IMPORT_ITEMS_H
#define TRANSCRIPT_IMPORT_ITEMS_H

#include "transcript/import_builder.h"

struct items {
	struct builder *builder;
	struct buffer content, rest; /* of the open reply: blocks, and what is left of the items */
	struct json_writer blocks, rests;
	bool open;
	struct json time;   /* of the record being read, or JSON_ABSENT */
	struct json opened; /* the same of the reply's first item */
	struct slice model; /* goes under "src" of replies; may be {NULL, 0} */
	size_t reply;	    /* the last reply's draft; DRAFT_NONE: there was none since the last compaction */
	/* What a person's text begins with if it is none; NULL: no origin is told. */
	const char *const *injected;
	struct draft next; /* how the next message hangs: DRAFT_HEAD, or once DRAFT_AT */
};

void items_init(struct items *items, struct builder *builder);
void items_release(struct items *items);
/* Reads an item. 0, BOBBIN_ENOMEM, BOBBIN_ELIMIT. */
int items_add(struct items *items, const struct json *item, struct place place);
/* Ends the open reply, if there is one. */
int items_end_reply(struct items *items);
/* A summary as the product that compacted shows it; `blocks`: JSON text of a list of blocks, `record` goes under "src". */
int items_add_summary(struct items *items, struct slice blocks, const struct json *record, const char *const *except);
/* usage of a response: input_tokens, output_tokens and their details, or Codex' flat names. */
struct import_usage items_usage(const struct json *usage);

#endif
