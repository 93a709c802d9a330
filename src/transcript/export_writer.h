/* SPDX-License-Identifier: MIT */
/* What the writers of export.h share; for export*.c only. */
#ifndef TRANSCRIPT_EXPORT_WRITER_H
#define TRANSCRIPT_EXPORT_WRITER_H

#include "transcript/export.h"

/* A format. A function returns 0 or an error code; that memory ran out shows in the buffer, too. */
struct export_writer {
	struct export_format format;
	int (*begin)(struct export *export);
	int (*message)(struct export *export, const struct export_item *item);
	int (*end)(struct export *export);
};

enum export_open_message { OPEN_NONE, OPEN_USER, OPEN_ASSISTANT };

struct export
{
	const struct export_writer *writer;
	struct export_options options;
	struct buffer *out;
	struct json_writer json; /* onto out */
	struct arena arena;	 /* for one message */
	struct export_loss losses[EXPORT_LOSSES_MAX];
	size_t loss_count;
	uint64_t entries;	       /* of the outermost list, written so far */
	enum export_open_message open; /* a message that the next one may go on with */
	struct buffer text;	       /* scratch */
	struct buffer pending;	       /* what must wait until a batch of results has ended */
	char previous[65];	       /* id of the line written last, for formats that chain them */
	void *state;		       /* the writer's own, of mem_alloc; freed on close */
};

extern const struct export_writer export_bobbin, export_openai_chat, export_openai_responses,
	export_anthropic, export_claude_code, export_codex, export_pi, export_markdown;

/* Counts a loss; `what` is a literal. */
void export_lose(struct export *export, const char *what);

/* For formats that cannot say what no person typed. */
void export_lose_origin(struct export *export, const struct message *message);

/* An item of the Responses API that the provider ran or sealed (compaction, web_search_call, …): it goes out as it came. */
bool export_is_item(const struct json *block);

/* The string as a JSON string with what no parser accepts replaced (rule 3). JSON_ABSENT gives "". */
void export_string(struct export *export, const struct json *string);
/* The same for decoded text. */
void export_text(struct export *export, struct slice text);

/* The arguments of a call as an object (export_calls.c). What is none becomes {"invalid_arguments":"…"} and is counted. */
void export_arguments_object(struct export *export, const struct block *call);
/* The same as a JSON string holding JSON, as OpenAI has them. */
void export_arguments_text(struct export *export, const struct block *call);

/* The name of a tool, and the id of a call, as values. Those that the format does not take are mended and counted; a result's id is
 * mended as its call's. */
enum export_ids {
	IDS_WORDS,   /* letters, digits, _ and -: Anthropic's */
	IDS_CHAT,    /* what is visible, at most 40 bytes: OpenAI's chat completions */
	IDS_VISIBLE, /* the same, at most 64: OpenAI's Responses */
};
void export_call_name(struct export *export, struct slice name);
void export_call_id(struct export *export, struct slice id, enum export_ids ids);

/* White space or nothing in a JSON string, which providers refuse as a text. */
bool export_is_blank(const struct json *string);
/* True if neither text nor call nor picture of a message goes out; `others`: blocks of other kinds do, but for items of the Responses
 * API. It is counted then. */
bool export_is_empty(struct export *export, const struct message *message, bool others);

/* The texts of a message, joined by line breaks, into export->text; false if there are none. Other blocks are
 * counted as lost, but pictures only if nobody else takes them. */
bool export_join_texts(struct export *export, const struct message *message, bool images_taken);

/* A picture: its type and base64 data, or its address. False if the block has neither. */
struct export_image {
	struct slice media_type, data, url;
};
bool export_image(struct export *export, const struct block *block, struct export_image *ret_image);
/* Its address, "data:" for one that is here, as a JSON string. */
void export_image_url(struct export *export, const struct export_image *image);

/* The member "ts" of a record as given, or the session's time; in the arena. */
struct slice export_time(struct export *export, const struct message *message);

/* The model that a reply is of, as the record says it. */
bool export_model(const struct message *message, struct json *ret_value);

/* A member of `src`, or of an object in it. */
bool export_source(const struct message *message, const char *key, struct json *ret_value);

#endif
