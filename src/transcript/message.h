/* SPDX-License-Identifier: MIT */
/*
 * A message: one record of role user, assistant or tool, read in place from the bytes of its log line.
 *
 *	{"seq":2,"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c1","name":"ls","arguments":"{}"}],…}
 *
 * content is a string, null, absent, or an array of blocks:
 *	{"type":"text","text":…}
 *	{"type":"image","source":{"type":"base64","media_type":…,"data":…}}   also OpenAI's image_url, input_image
 *	{"type":"thinking","thinking":…,"signature":…}, {"type":"redacted_thinking",…}, {"type":"reasoning",…}   sealed
 *	{"type":"tool_call","id":…,"name":…,"arguments":"…"}   a call whose place between the texts matters
 *	{"type":"tool_use","id":…,"name":…,"input":{…}}        the same in Anthropic's form
 *	{"type":"server_tool_use",…}, {"type":"…_tool_result","tool_use_id":…}   run by the provider, both in one message
 *	anything else: unknown, kept as it is
 * tool_calls follow the content. A tool message has tool_call_id and content, maybe is_error, name, marker.
 *
 * Invariants: (1) all getters give spans of the record or of the arena, read-only; (2) nothing is dropped: a block
 * that is not understood is BLOCK_UNKNOWN with its exact bytes; (3) sealed blocks are only ever handed on whole.
 */
#ifndef TRANSCRIPT_MESSAGE_H
#define TRANSCRIPT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/slice.h"
#include "tokens/estimate.h"

enum message_role { ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };

/* Where a message comes from when its role does not say it. Only ORIGIN_PERSON in role user is a person's word;
 * the others start no turn. */
enum message_origin {
	ORIGIN_PERSON,   /* no "origin" member */
	ORIGIN_INJECTED, /* text a tool put into a user message */
	ORIGIN_SUMMARY,  /* a foreign summary */
	ORIGIN_OTHER,    /* a value this version does not know */
};

/* A result that bobbin wrote because the real one never came. */
enum message_marker { MARKER_NONE, MARKER_INTERRUPTED, MARKER_UNKNOWN };

enum parent_kind {
	PARENT_HEAD, /* no "parent" member: the head as of that line */
	PARENT_ROOT, /* null */
	PARENT_ID,
};

struct message {
	struct json record;        /* the whole line's object */
	enum message_role role;
	enum message_origin origin;
	enum message_marker marker;
	enum parent_kind parent_kind;
	bool branch;               /* "branch":true: the head follows it wherever its parent is */
	bool is_error;             /* of a tool result */
	bool keys_differ;          /* certainly no key stands twice; false: it was not looked at that closely */
	uint64_t seq;              /* 0: none in the record */
	struct slice id;           /* as given; {NULL, 0}: m<seq> */
	struct slice parent;       /* with PARENT_ID */
	struct slice tool_call_id; /* of a tool result; may be empty */
	struct slice name;         /* tool name of a result, if given */
	struct json content;       /* string, array, null or absent */
	struct json tool_calls;    /* array or absent */
};

/* True if the record is a message (has a role of ours), without checking its shape. */
bool message_is(const struct json *record);

/* Reads a validated record. Decoded strings live in `arena`, everything else points into the record.
 * BOBBIN_EINPUT says which member has the wrong shape; BOBBIN_ENOMEM. */
int message_parse(const struct json *record, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error);

/* Role names as in the log: "user", "assistant", "tool". */
const char *message_role_text(enum message_role role);
bool message_role_of(const struct json *role, enum message_role *ret_role);

enum block_type {
	BLOCK_TEXT,
	BLOCK_IMAGE,
	BLOCK_SEALED,        /* thinking, redacted_thinking, reasoning: byte for byte or not at all */
	BLOCK_CALL,          /* a tool call of the client's; only in role assistant */
	BLOCK_SERVER_CALL,   /* run by the provider; its result is in the same message */
	BLOCK_SERVER_RESULT,
	BLOCK_UNKNOWN,
};

struct block {
	enum block_type type;
	struct json value;        /* the block's exact bytes; for content that is a string, that string */
	struct json text;         /* BLOCK_TEXT and readable BLOCK_SEALED: a JSON string; else JSON_ABSENT */
	struct slice kind;        /* the "type" member, {NULL, 0} for string content */
	struct slice call_id;     /* calls and server results */
	struct slice call_name;   /* calls */
	struct json arguments;    /* calls: a JSON string holding JSON, or the JSON value itself; may be absent */
};

/* Walks the blocks in order: content first, then tool_calls. Empty strings give no block. */
struct block_iter {
	struct json_iter content, calls;
	const struct message *message;
	struct arena *arena;
	int stage;
	int error;           /* BOBBIN_ENOMEM ends the walk early */
};
void block_iter_init(struct block_iter *iter, const struct message *message, struct arena *arena);
bool block_iter_next(struct block_iter *iter, struct block *ret_block);

size_t message_call_count(const struct message *message);

/* The message's readable text (text blocks joined by newlines), decoded with lone surrogates replaced. */
void message_add_text(const struct message *message, struct arena *arena, struct buffer *out);

/* What the model sees of it, in bytes by class of script (tokens/estimate.h): texts, call names, arguments, results,
 * readable thinking. Images are counted apart, in tokens, by the providers' published rules (tokens/image.h), of which
 * the dearest is taken, because a record does not say which model will see it. */
struct message_size {
	struct token_classes classes;
	uint32_t image_tokens;
	uint32_t images;
	uint64_t image_bytes;   /* of their encoded data, for byte limits */
	uint64_t visible_bytes; /* decoded text, names, arguments, results */
	uint32_t calls;
	uint32_t frame_tokens;  /* what the provider puts around it and its calls (tokens/overhead.h) */
};
int message_measure(const struct message *message, struct arena *arena, struct message_size *ret_size);

/* The estimated tokens of what was measured, images and frame included. */
uint64_t message_size_tokens(const struct message_size *size);

/* The same by a counter: exact if it is, else its calibrated estimate; images by its model's rule (ret_images, NULL
 * allowed: whether there are any). 0 or BOBBIN_ENOMEM, BOBBIN_ELIMIT. */
struct token_counter;
int message_count_tokens(const struct message *message, struct arena *arena, struct token_counter *counter,
	uint64_t *ret_tokens, bool *ret_images);

#endif
