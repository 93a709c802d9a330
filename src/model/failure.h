/* SPDX-License-Identifier: MIT */
/*
 * What a provider's refusal means, from its status and its body, in words for a person.
 *
 * Invariants: (1) the words hold no key, no control character and no web page, and are at most about 400
 * bytes; (2) `retry` is true only where the provider has not carried out the request: 429, 5xx, 408, 409,
 * or where it says itself that trying again helps.
 */
#ifndef MODEL_FAILURE_H
#define MODEL_FAILURE_H

#include "base/json.h"
#include "model/model.h"

struct refusal {
	const char *host;	/* "api.openai.com", for the words */
	int http_status;	/* 0: the error came in the stream */
	int64_t retry_after_ms; /* -1: not said */
	int should_retry;	/* the x-should-retry header: 1, 0, -1 not said */
	struct slice secret;	/* never shown; may be empty */
};

/* Fills an ERROR event whose message lies in `words`. `body` is whatever came, cut anywhere. 0 or
 * BOBBIN_ENOMEM. */
int failure_of_body(const struct refusal *refusal, struct slice body, struct buffer *words,
	struct model_event *ret_event);

/* The same from an error that is JSON already: {"error":{…}}, {"type":"error","error":{…}}, {"message":…}. */
int failure_of_json(const struct refusal *refusal, const struct json *body, struct buffer *words,
	struct model_event *ret_event);

/* Appends text with "[key]" wherever the secret stood; an empty one stands nowhere. */
void failure_add_without(struct buffer *out, struct slice text, struct slice secret);

/* Puts the error of a stream into the sink. */
struct sink;
void failure_into(struct sink *sink, const struct json *body);

#endif
