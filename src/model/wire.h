/* SPDX-License-Identifier: MIT */
/*
 * How a request travels and its answer comes back: over the network (http.h), from a recording (tape.h),
 * or over the network into a recording. Bytes only; what they mean is the protocol's.
 *
 * Invariants: (1) the pieces of an exchange are one HEAD, any number of BODY, one END, or FAILED at any
 * place; nothing follows END or FAILED; (2) a request is sent at most once.
 */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include "model/model.h"

struct wire_request {
	const char *url, *host;	    /* host as it is shown */
	const char *const *headers; /* "Name: value", NULL-terminated */
	struct slice body;	    /* lives until the exchange is released */
	struct slice secret;	    /* of the headers; must not be written anywhere; may be empty */
	const struct platform *platform;
};

struct wire_head {
	int status;
	bool is_event_stream;	/* by its content type */
	int64_t retry_after_ms; /* -1: not said */
	int should_retry;	/* 1, 0, -1: not said */
};

enum wire_type { WIRE_HEAD, WIRE_BODY, WIRE_END, WIRE_FAILED };

struct wire_piece {
	enum wire_type type;
	struct wire_head head;
	struct slice body;	    /* until the next call; never empty */
	enum model_failure failure; /* FAILED: CUT_OFF if a head came, else SERVER or PROTOCOL */
	bool retry;	   /* FAILED: the request cannot have been carried out, and trying again may help */
	const char *words; /* FAILED: a sentence; lives as long as the exchange */
};

struct wire {
	/* Begins an exchange; waits for nothing. `context` is the wire's. */
	int (*begin)(void *context, const struct wire_request *request, void **ret_exchange,
		struct bobbin_error *error);
	/* The next piece, waiting at most wait_ns. 0, BOBBIN_ETIMEOUT (also early), BOBBIN_ENOMEM. */
	int (*next)(void *exchange, int64_t wait_ns, struct wire_piece *ret_piece);
	/* When bytes last moved in either direction, by the monotonic clock; 0: not yet. */
	int64_t (*moved_ns)(const void *exchange);
	/* From any thread: ends a wait in `next`. */
	void (*wake)(void *exchange);
	/* A descriptor that becomes readable when `next` may have something, once it gave BOBBIN_ETIMEOUT; or
	 * -1. */
	int (*fd)(const void *exchange);
	void (*end)(void *exchange);
	void (*close)(void *context);
};

#endif
