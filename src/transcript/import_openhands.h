/* SPDX-License-Identifier: MIT */
/* What the two files of OpenHands' reader share: the events of one conversation, gathered before they are read. */
#ifndef TRANSCRIPT_IMPORT_OPENHANDS_H
#define TRANSCRIPT_IMPORT_OPENHANDS_H

#include "base/alloc.h"
#include "transcript/import_parts.h"

/* What has to be known of an event while another is read. */
enum hands_kind { HANDS_OTHER, HANDS_MESSAGE, HANDS_ACTION };

struct hands_event {
	struct kept_value value;
	struct slice response; /* of an action: the response of the model that it came in; {NULL, 0}: none */
	struct place place;
	enum hands_kind kind;
	bool done; /* read together with an earlier one */
};

struct hands {
	struct builder builder;
	struct hands_event *events;
	size_t count, cap;
	struct json run;           /* the document around the events; JSON_ABSENT: there is none */
	struct buffer text, other; /* of the event that is read, and of one that is looked at beside it */
	struct id_table responses; /* ids of the model's responses that are messages already */
	bool begun;
};

/* Reads an event of the second generation, which is event `index`. */
int hands_read_kind(struct hands *hands, const struct json *event, size_t index);

#endif
