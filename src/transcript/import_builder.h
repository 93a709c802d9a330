/* SPDX-License-Identifier: MIT */
/*
 * What a reader writes its messages with: one after the other, a conversation after the other.
 *
 *	struct builder builder;
 *	builder_init(&builder, import);
 *	struct json_writer *writer = builder_begin(&builder, ROLE_USER);
 *	json_member_value(writer, "content", &text);
 *	builder_origin(&builder, ORIGIN_INJECTED);
 *	builder_end(&builder, &draft);                      // 0 or an error; the draft says where it hangs
 *	builder_conversation(&builder, id, title);          // writes what was added as one conversation, if anything was
 *	builder_release(&builder);
 *
 * Invariants: (1) between begin and end exactly one message is open; (2) an error while writing shows at end.
 */
#ifndef TRANSCRIPT_IMPORT_BUILDER_H
#define TRANSCRIPT_IMPORT_BUILDER_H

#include "transcript/import_document.h"
#include "transcript/import_tree.h"

struct builder {
	struct import *import;
	struct drafts drafts; /* of the conversation being read */
	struct buffer out;
	struct json_writer writer;
	enum message_role role; /* of the open message */
	enum message_origin origin;
	struct slice call_id;
	bool rewound; /* the conversation's head is not where its last message stands, but at: */
	size_t rewound_to;
};

void builder_init(struct builder *builder, struct import *import);
void builder_release(struct builder *builder);

/* Begins a message; its members are added to the writer: content, tool_calls, ts, src, … */
struct json_writer *builder_begin(struct builder *builder, enum message_role role);
/* A tool's message, with the id of its call if that is known. */
struct json_writer *builder_begin_result(struct builder *builder, struct slice call_id);
void builder_origin(struct builder *builder, enum message_origin origin);
/* Ends it. `draft` needs parent_kind (and parent, still) and maybe id; role, call_id and members are filled in. */
int builder_end(struct builder *builder, struct draft *draft);
/* Ends a message that follows the one before, as the store concludes; id may be {NULL, 0}. */
int builder_end_next(struct builder *builder, struct slice id);

/* What a provider reported for one reply, in tokens; -1: not said. Written as the member "usage" with the names of
 * the log's usage lines; nothing is written if all are unknown. */
struct import_usage {
	int64_t input;	     /* all of the request, cached or not */
	int64_t cached;	     /* of it, read from a cache */
	int64_t cache_write; /* of it, written to one */
	int64_t output;	     /* with what was thought */
	int64_t reasoning;   /* of it, thought */
};
#define IMPORT_USAGE_UNKNOWN {-1, -1, -1, -1, -1}
void import_write_usage(struct json_writer *writer, const struct import_usage *usage);
void builder_usage(struct builder *builder, const struct import_usage *usage);
/* The same for a message that is written already. 0 or BOBBIN_ENOMEM. */
int builder_usage_late(struct builder *builder, size_t draft, const struct import_usage *usage);
/* A member that is a whole number, or -1. */
int64_t import_number(const struct json *object, const char *key);
/* The sum of two such, of which one may be -1. */
int64_t import_sum(int64_t a, int64_t b);

/* Writes the conversation, unless no message was added, and is ready for the next. */
int builder_conversation(struct builder *builder, struct slice foreign_id, struct slice title);

/* {"type":"text","text":…} from a JSON string, or from decoded text. */
void write_text_block(struct json_writer *writer, const struct json *text);
void write_text_block_of(struct json_writer *writer, struct slice text);
/* A picture in base64; both are JSON strings. */
void write_image_block(struct json_writer *writer, const struct json *media_type, const struct json *data);
/* A member "ts" of a string, as it stands, or of a number of milliseconds since 1970. Other values: nothing. */
void write_time(struct json_writer *writer, const struct json *time);
/* "src": the members of a record but these. Nothing is written if there are no others. */
void write_source_except(struct json_writer *writer, const struct json *record, const char *const *except);

#endif
