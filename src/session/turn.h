/* SPDX-License-Identifier: MIT */
/*
 * A turn as a small machine that is pulled: every call of bobbin_turn_next does
 * the next step that can be done without waiting longer than it may, and hands
 * out one event.
 *
 *	            ┌────────── all results durable ───────────┐
 *	 start → PLAN → STREAM → (reply durable) → CALLS ──────┘
 *	           ▲      │ refused for now         │ no calls
 *	           └ WAIT ┘                         └→ OVER
 *
 * Invariants: (1) the user's message is durable before the first request; (2) a
 * reply is durable before DONE, and stored once, however often the request was
 * tried; (3) only a terminal event makes a reply; (4) a reply that meets a
 * conflict is stored beside the line; (5) after an error the turn is over, and
 * its lock is free once it is released.
 */
#ifndef SESSION_TURN_H
#define SESSION_TURN_H

#include "model/model.h"
#include "model/reply.h"
#include "session/handles.h"
#include "tokens/counter.h"
#include <pthread.h>
#include <stdatomic.h>

struct bobbin_model {
	struct model *model;
	struct {
		unsigned failures; /* in a row */
		int64_t until_ns;
		char why[256];	    /* the last failure's words */
	} rest;			    /* model_deriver.c: when it may be asked for a record again */
	uint32_t refused, repaired; /* in the records it wrote lately */
	struct model_usage spent;   /* model_deriver.c: on records, not in the log yet */
	bool has_spent;
	uint32_t factor; /* turn_request.c: by which its reports correct estimates of tokens; 0: none yet */
};

enum turn_state { TURN_PLAN, TURN_STREAM, TURN_WAIT, TURN_CALLS, TURN_OVER, TURN_FAILED };

struct turn_call {
	struct slice id, name, arguments; /* in the turn's arena */
	struct slice result;		  /* {NULL, 0}: not answered yet */
	bool is_error, announced;
};

#define TURN_EVENTS_MAX 8

struct bobbin_turn {
	bobbin_session *session;
	bobbin_model *model;
	struct turn_lock *lock;
	enum turn_state state;
	struct arena arena; /* lives as long as the turn: calls, options */
	struct bobbin_window_options window;
	const char *run, *routine;

	char head[PATH_ID_BYTES]; /* what the next message must follow */
	bool branch;		  /* the reply begins a branch below `head` (regenerate) */
	uint32_t head_node;

	struct bobbin_event queue[TURN_EVENTS_MAX];
	size_t queued, taken;
	struct bobbin_event event; /* the one handed out */
	struct arena event_arena;

	pthread_mutex_t stream_mutex; /* `stream` against bobbin_cancel */
	struct model_stream *stream;
	atomic_bool cancelled;
	struct reply reply;
	struct turn_call *calls;
	size_t call_count, call_cap;
	unsigned tries, empty_replies, rounds;
	struct token_measurement sent; /* of the request whose answer is being pulled */
	unsigned overflows;	       /* since the last reply: each was compacted for */
	bool no_compaction;
	bobbin_model *deriver;
	uint64_t asked_tokens; /* of the request at hand, as we count them */
	int64_t wait_until_ns, idle_timeout_ms;
	uint64_t input_tokens, cached_tokens, output_tokens;
	bool reported;
};

/* turn.c: puts an event at the end of the queue; its texts are copied. 0 or
 * BOBBIN_ENOMEM. */
int turn_queue(
	bobbin_turn *turn, int type, const char *id, const char *name, struct slice text, uint64_t number);
int turn_note(bobbin_turn *turn, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* turn.c: versions of what others did in the workspace; what goes wrong there is a note. */
int turn_follow_files(bobbin_turn *turn, struct bobbin_error *error);

/* turn_request.c: plans, renders, checks and sends. */
int turn_send(bobbin_turn *turn, struct bobbin_error *error);
/* The stream ended with this failure: another try is prepared (TURN_WAIT), or
 * the error is returned. */
int turn_failed_request(bobbin_turn *turn, const struct model_event *event, struct bobbin_error *error);
void turn_close_stream(bobbin_turn *turn);
/* What the provider counted of the request that was sent corrects the estimates of the next ones. */
void turn_calibrate(bobbin_turn *turn, const struct model_usage *usage);
/* BOBBIN_EINPUT with the first fault if a provider would refuse the body;
 * nothing is sent then. */
int check_body(const char *dialect, struct slice body, struct bobbin_error *error);

/* turn_store.c: makes the reply durable, then goes on to its calls or ends. */
int turn_store_reply(bobbin_turn *turn, struct bobbin_error *error);
/* What the provider reported of the request at hand, also of one that failed: it was paid. */
int turn_store_usage(bobbin_turn *turn, struct bobbin_error *error);
/* A usage line, without what log_append adds: `kind` is "chat" or "derive", `for_id` the message it was for. */
void usage_record(const struct model_properties *properties, const struct model_usage *usage, const char *for_id,
	const char *kind, struct buffer *out);
/* All calls are answered: makes their results durable. */
int turn_store_results(bobbin_turn *turn, struct bobbin_error *error);
/* The user's message, or the start of a branch for another reply. */
int turn_store_user(bobbin_turn *turn, struct slice text, bool regenerate, struct bobbin_error *error);

#endif
