/* SPDX-License-Identifier: MIT */
/* What a search looks for, and where it stands in a message: in its texts, its calls' names and arguments,
 * its results. */
#ifndef SESSION_SEARCH_TEXT_H
#define SESSION_SEARCH_TEXT_H

#include "base/find.h"
#include "transcript/message.h"

struct search_query {
	char *text;	   /* with `folded` in lower case */
	struct find whole; /* the query, for decoded texts */
	struct find raw;   /* a part of it, or an escape of one of that part's characters, for the bytes of a
			    * log: where it finds   nothing, no text has the query */
	bool has_raw;	   /* false: every message must be looked at */
	bool plain;	   /* `raw` is all of it: where that stands in a text, the query does */
};

/* BOBBIN_EINVAL for an empty query or one that is no UTF-8; BOBBIN_ENOMEM. */
int search_query_init(struct search_query *query, struct slice text, bool folded, struct bobbin_error *error);
void search_query_release(struct search_query *query);

/* Whether the record that begins at `record` certainly has the query at `at`, a find of `raw` in its bytes, in its text: in the
 * string "content", as it is. Looks at nothing behind the find. False: it must be decoded to know. The record has no key twice. */
bool search_is_plain_text(const struct search_query *query, const char *record, const char *at);

struct search_hit {
	struct slice text; /* the one with the first hit; in the message or the arena */
	size_t at;	   /* of the hit in it */
	uint64_t count;	   /* hits in the message, without those that overlap */
};

/* 1 with the first hit, 0 if there is none, BOBBIN_ENOMEM. */
int search_message(const struct search_query *query, const struct message *message, struct arena *arena,
	struct search_hit *ret_hit);

#endif
