/* SPDX-License-Identifier: MIT */
/*
 * Where a protocol puts the events it has understood: a queue that keeps what they point to, and the rules
 * of model.h that are the same for every protocol.
 *
 * Invariants:
 * (1) Texts come out as valid UTF-8. A pair of surrogates that came in two pieces of JSON is one character;
 *     half a pair that stays alone is U+FFFD.
 * (2) Usage is given once, right before the terminal event, also before an ERROR: what was used was paid.
 * (3) After the terminal event nothing is taken.
 * (4) An answer holds at most LIMIT_LINE_BYTES of text, arguments and blocks (LIMIT_CALLS_PER_MESSAGE
 *     calls); beyond, it ends as MODEL_FAILURE_PROTOCOL.
 */
#ifndef MODEL_SINK_H
#define MODEL_SINK_H

#include "base/arena.h"
#include "base/json.h"
#include "model/model.h"

struct sink {
	struct model_event *events;
	size_t count, capacity, next;
	struct arena arena;	    /* what the events in the queue point to */
	struct buffer text;	    /* scratch for decoding */
	enum model_event_type kind; /* of the half below */
	char half[3];		    /* a high surrogate in three bytes, waiting for its other half */
	bool has_half;
	bool ended;
	size_t held; /* bytes the answer has so far */
	size_t calls;
	struct model_usage usage;
	bool has_usage;
	int error;	     /* sticky: BOBBIN_ENOMEM */
	int http_status;     /* that the answer began with; 0: not known */
	const char *host;    /* for the words of failures; NULL: not known */
	struct slice secret; /* never shown; may be empty */
};

void sink_init(struct sink *sink, enum model_dialect dialect);
void sink_release(struct sink *sink);

/* The next event of the queue; false if it is empty. Its slices live until sink_forget. */
bool sink_next(struct sink *sink, struct model_event *ret_event);
/* Frees what given events pointed to; the queue must be empty. */
void sink_forget(struct sink *sink);

/* TEXT or THINKING from a JSON string; empty ones and other types of JSON are ignored. */
void sink_text(struct sink *sink, enum model_event_type type, const struct json *string);
/* Arguments as they were gathered by sink_gather, "{}" if there are none. */
void sink_call(struct sink *sink, struct slice id, struct slice name, struct slice arguments);
void sink_sealed(struct sink *sink, struct slice block);
void sink_done(struct sink *sink, enum model_stop stop, struct slice stop_text);
/* A failure that must not be tried again by itself, because the request may have been carried out. */
void sink_failure(struct sink *sink, enum model_failure failure, const char *message);
/* An ERROR that is filled already (failure.h); its message is copied. */
void sink_error(struct sink *sink, const struct model_event *event);

/* Appends a decoded JSON string to what the answer holds so far; false if the answer became too large (it
 * has then ended) or memory is out. Surrogates stay as they are until sink_call. */
bool sink_gather(struct sink *sink, struct buffer *buffer, const struct json *string);
/* Counts bytes that were gathered otherwise. */
bool sink_hold(struct sink *sink, size_t bytes);
/* Takes over the sticky error of a buffer. */
void sink_check(struct sink *sink, const struct buffer *buffer);

/* Sets a figure of the usage if `object` has a whole number under this key. */
void sink_usage(struct sink *sink, int64_t *figure, const struct json *object, const char *key);

#endif
