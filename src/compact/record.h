/* SPDX-License-Identifier: MIT */
/*
 * The compaction record: what is known about messages that are no longer shown, as items under headings.
 * One structure serves the record of a segment (items cite ordinals), the merge of many (items cite ids)
 * and records that others wrote (plain text under headings).
 *
 *	TASK
 *	- open: Move the login service to the new cluster [user m1]
 *	CONSTRAINTS
 *	- Do NOT push to main. [user m1]
 *	- lifted (m30): Ask before each deploy. [user m1]
 *	DECISIONS
 *	- rejected: MongoDB — because we need joins [user m4]
 *	- chosen: PostgreSQL 15 [m5]
 *	FACTS
 *	- The database listens on 10.2.3.4:5051 [tool m7, m9]
 *	TRIED
 *	- failed: make deploy — because exit code 2: no space left [tool m9]
 *	OPEN
 *	- Which region shall the replica run in? [m10]
 *	FILES
 *	- modified: src/login.c [m3, m7]
 *	NOT HERE
 *	- 14 more facts: recall m12–m40
 *
 * Invariants:
 * (1) All memory is the arena's; an item's text, reason and key are one line of valid UTF-8 each,
 *     without control characters, and text is never empty.
 * (2) An item's sources are distinct and ascending by place. A segment record's places are ordinals
 *     inside the segment and its ids are empty; a merged record has both places (positions on the path)
 *     and ids.
 * (3) Items keep the order in which they were added; writers group them by kind and keep that order.
 * (4) Reading back the JSON that was written gives equal items; the text form gives kind, state,
 *     speaker, text, reason, sources and proof (where text itself has " — because ", reason begins at
 *     the last one). Unknown members and odd lines are never an error.
 */
#ifndef COMPACT_RECORD_H
#define COMPACT_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/slice.h"

enum item_kind {
	ITEM_TASK,	 /* what the user wants, in the user's words: STATE_OPEN, STATE_DONE, STATE_DROPPED */
	ITEM_CONSTRAINT, /* one rule the user stated, verbatim: STATE_BINDING, STATE_LIFTED, STATE_OVERRULED */
	ITEM_DECISION,	 /* STATE_CHOSEN, STATE_REJECTED (with the reason), STATE_OVERRULED */
	ITEM_FACT,	 /* STATE_NONE, or STATE_SUPERSEDED by a later fact of the same key */
	ITEM_TRIED,	 /* what was attempted: STATE_FAILED, STATE_WORKED; the reason is the outcome */
	ITEM_OPEN,	 /* a question or unfinished list: STATE_OPEN, STATE_ANSWERED */
	ITEM_FILE,	 /* text is the path: STATE_READ, STATE_MODIFIED, STATE_CREATED, STATE_DELETED */
	ITEM_SIGNAL, /* not rendered: says that something stated earlier, maybe in an earlier segment, is now
			    `state`; `target` is its kind, `key` or the words of `text` find it (compact/reconcile.h) */
	ITEM_KINDS,
};

enum item_state {
	STATE_NONE,
	STATE_OPEN,
	STATE_DONE,
	STATE_DROPPED,
	STATE_BINDING,
	STATE_LIFTED,
	STATE_OVERRULED,
	STATE_CHOSEN,
	STATE_REJECTED,
	STATE_SUPERSEDED,
	STATE_FAILED,
	STATE_WORKED,
	STATE_ANSWERED,
	STATE_READ,
	STATE_MODIFIED,
	STATE_CREATED,
	STATE_DELETED,
	ITEM_STATES,
};

/* Whose words or doing it is. Only what a person typed is BY_USER: not injected text, not a tool that
 * imitates one. */
enum item_by { BY_NOBODY, BY_USER, BY_ASSISTANT, BY_TOOL };

/* What kind of value a fact carries; ranks facts and groups them. */
enum item_tag {
	TAG_NONE,
	TAG_ID,
	TAG_PATH,
	TAG_NUMBER,
	TAG_DATE,
	TAG_URL,
	TAG_HOST,
	TAG_HASH,
	TAG_QUOTE,
	TAG_NAME,
	TAG_PLACE,
	TAG_ERROR,
	ITEM_TAGS,
};

#define SOURCE_NOWHERE UINT32_MAX /* an id that is not on the path, or was not looked up */

struct item_source {
	uint32_t place;	 /* 0-based: ordinal in the segment, or position on the path; SOURCE_NOWHERE */
	struct slice id; /* empty in segment records */
};

struct compact_item {
	enum item_kind kind;
	enum item_state state;
	enum item_by by;
	enum item_tag tag;
	enum item_kind target; /* of a signal; else ITEM_KINDS */
	bool exact;	       /* text stands so in one of its sources, but for white space */
	bool computed;	       /* text holds a count or sum that stands in no message */
	struct slice text;
	struct slice reason; /* why rejected, why it failed, why dropped; may be empty */
	struct slice key; /* lower-case name of what the fact is about ("port", "db address"): a later fact of
				       the same key supersedes this one; for constraints and signals the words that find
				       it. Empty: none */
	struct slice language; /* "en", "zh", …; empty: unknown. Not rendered */
	struct item_source *sources;
	uint32_t source_count;
	struct item_source proof; /* the message that set a state which was not so when the item was stated;
				       place SOURCE_NOWHERE and id empty: none */
};

/* Why something is not in the record and can be recalled. */
enum pointer_reason {
	POINTER_BUDGET,	 /* items that did not fit */
	POINTER_DIVIDED, /* the cut divides a segment: items that also speak of what follows it */
	POINTER_MISSING, /* no record of these messages could be made */
};

struct compact_pointer {
	enum pointer_reason why;
	enum item_kind kind;	     /* of what is not here; ITEM_KINDS: of all kinds */
	uint32_t count;		     /* items; 0: unknown */
	struct item_source from, to; /* first and last message, inclusive */
};

struct compact_record {
	struct arena *arena;
	struct compact_item *items;
	size_t count, cap;
	struct compact_pointer *pointers;
	size_t pointer_count, pointer_cap;
};

void compact_record_init(struct compact_record *record, struct arena *arena);

/* An item of this kind without text, state STATE_NONE, no proof. */
struct compact_item compact_item_make(enum item_kind kind);

/*
 * Adds a copy. Text, reason, key and language are copied and cleaned: runs of white space and control
 * characters become one space, both ends are trimmed, invalid UTF-8 becomes U+FFFD, and over
 * ITEM_TEXT_BYTES (for a constraint: ITEM_CONSTRAINT_BYTES) the middle is left out with " […] ". Sources
 * are copied, sorted, made distinct. An item without text is not added. Returns the item, valid until
 * the next one is added, or NULL when memory is out or there is no text: `ret_error` (NULL allowed)
 * tells which.
 */
struct compact_item *compact_record_add(
	struct compact_record *record, const struct compact_item *item, int *ret_error);
#define ITEM_TEXT_BYTES 2048
#define ITEM_CONSTRAINT_BYTES 16384
#define ITEM_SOURCES_MAX 64 /* a later source replaces the last but keeps the first */

/* The common case: one item said by `by` in the message at `place`. 0 or BOBBIN_ENOMEM; no text: nothing
 * added, 0. */
int compact_record_add_text(struct compact_record *record, enum item_kind kind, enum item_state state,
	enum item_by by, uint32_t place, struct slice text);

/* Adds a source to an item of this record. 0 or BOBBIN_ENOMEM. */
int compact_item_add_source(
	struct compact_record *record, struct compact_item *item, struct item_source source);

/* 0 or BOBBIN_ENOMEM. Ids are copied. */
int compact_record_add_pointer(struct compact_record *record, const struct compact_pointer *pointer);

/* Items of a kind; ITEM_KINDS: all that are rendered (signals are not). */
size_t compact_record_count(const struct compact_record *record, enum item_kind kind);

static inline bool item_has_proof(const struct compact_item *item)
{
	return item->proof.place != SOURCE_NOWHERE || item->proof.id.len > 0;
}

/* A rule that still holds. */
static inline bool item_is_binding(const struct compact_item *item)
{
	return item->kind == ITEM_CONSTRAINT && item->state == STATE_BINDING;
}

/* "TASK", … as headings; "task", "constraints", … as JSON members; "open", "binding", …; "user", …;
 * "path", …. */
const char *item_kind_heading(enum item_kind kind);
const char *item_kind_member(enum item_kind kind);
const char *item_kind_plural(enum item_kind kind);  /* "facts", for sentences */
const char *item_state_text(enum item_state state); /* "" for STATE_NONE */
const char *item_by_text(enum item_by by);
const char *item_tag_text(enum item_tag tag);
const char *pointer_reason_text(enum pointer_reason why);
bool item_kind_of_heading(struct slice text, enum item_kind *ret_kind);
bool item_state_of(struct slice text, enum item_state *ret_state);

/* Whether a state can stand at an item of this kind. */
bool item_state_fits(enum item_kind kind, enum item_state state);

/* ---- The JSON form, as in the log (compact/record_json.c)
 *
 *	{"constraints":[{"text":"Do NOT push to main.","state":"binding","by":"user","exact":true,"from":[1]}],
 *	 "pointers":[{"why":"budget","kind":"facts","count":14,"from":"m12","to":"m40"}]}
 *
 * "from" has ids (strings) where they are known, else 1-based ordinals.
 */
void compact_record_write_json(const struct compact_record *record, struct buffer *out);
/* Adds what is in `value` to `record`. Items without text and members of the wrong type are skipped and
 * counted in ret_skipped (NULL allowed). BOBBIN_EINPUT if it is not an object; BOBBIN_ENOMEM. */
int compact_record_read_json(struct compact_record *record, const struct json *value, size_t *ret_skipped,
	struct bobbin_error *error);

/* ---- The text form (compact/record_text.c) */

/*
 * One item as its line, without "- " and line break; of more than `sources_max` sources (0: all are
 * shown) the first ones, "…" and the last. Not in it: tag, key, language, exact, and whether nobody or
 * the assistant said it.
 */
void compact_item_write_text(const struct compact_item *item, unsigned sources_max, struct buffer *out);
/* "14 more facts: recall m12–m40", likewise. */
void compact_pointer_write_text(const struct compact_pointer *pointer, struct buffer *out);
#define POINTERS_HEADING "NOT HERE"
/* Sources are ids of up to 12 bytes; of a message with a longer id, its number on the line, from 1: what AT on the
 * command line takes. */
/* All of it, in order, without regard to a budget (compact/render.h does that); "" for a record without
 * anything. */
void compact_record_write_text(const struct compact_record *record, unsigned sources_max, struct buffer *out);
/*
 * Reads plain text under headings: ours, Markdown's (`## Constraints:`, `**Facts**`, numbered lists, `*
 * `), and common other names for the same things ("Goal", "Rules", "Key Decisions", "Critical Context",
 * "Next Steps", "Errors"). Under a heading each list entry, else each line, is an item; text before the
 * first heading and under unknown ones becomes facts. Never fails on content. 0 or BOBBIN_ENOMEM.
 */
int compact_record_read_text(struct compact_record *record, struct slice text, struct bobbin_error *error);

/* Turns ids into places, for records read back: place_of returns SOURCE_NOWHERE for an id it does not
 * know. */
void compact_record_place(
	struct compact_record *record, uint32_t (*place_of)(void *context, struct slice id), void *context);

#endif
