/* SPDX-License-Identifier: MIT */
/* What the two files of OpenHands' reader share: the events of one conversation, gathered before they are read. */
#ifndef TRANSCRIPT_IMPORT_OPENHANDS_H
#define TRANSCRIPT_IMPORT_OPENHANDS_H

#include "base/alloc.h"
#include "transcript/import_parts.h"

struct hands_event {
	struct json value;
	struct place place;
	bool done; /* read together with an earlier one */
};

struct hands {
	struct builder builder;
	struct hands_event *events;
	size_t count, cap;
	struct json run;           /* the document around the events; JSON_ABSENT: there is none */
	struct id_table responses; /* ids of the model's responses that are messages already */
	bool begun;
};

int hands_add(struct hands *hands, const struct json *event, struct place place);

/* Reads an event of the second generation. */
int hands_read_kind(struct hands *hands, size_t index);

#endif
