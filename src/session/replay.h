/* SPDX-License-Identifier: MIT */
/* What the store would conclude of records that are not stored: what each message follows, and where the head stands
 * (store/log.h, the rules of the head). */
#ifndef SESSION_REPLAY_H
#define SESSION_REPLAY_H

#include "transcript/import_tools.h"
#include "transcript/message.h"

#define REPLAY_NONE SIZE_MAX

struct replay {
	struct arena arena; /* owns what follows, and what the messages point to */
	struct message *messages;
	size_t *parents; /* REPLAY_NONE: a root */
	size_t *tops;	 /* itself, or of a result: the message whose batch it stands in; REPLAY_NONE: none */
	bool *moves;	 /* the head follows it */
	size_t count, head;
	struct id_table ids, callers; /* message ids; call ids, with the latest message that asks */
};

/* The messages of a conversation; its records must outlive it. Release also after an error. */
int replay_conversation(
	struct replay *replay, const struct import_conversation *conversation, struct bobbin_error *error);
/* The message's id as the store will give it: its own or m<number>. */
int replay_name(const struct replay *replay, size_t index, struct buffer *out);
void replay_release(struct replay *replay);

#endif
