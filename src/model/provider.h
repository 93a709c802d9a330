/* SPDX-License-Identifier: MIT */
/*
 * What a provider brings: one table of functions. model.c keeps everything that is the same for all of
 * them (the check, cancelling, deadlines, the single terminal event), so a provider only turns its
 * protocol into events.
 */
#ifndef MODEL_PROVIDER_H
#define MODEL_PROVIDER_H

#include "model/model.h"

struct provider {
	/* Begins a request and gives its state. Nothing is sent twice. */
	int (*send)(struct model *model, const struct model_request *request, void **ret_state,
		struct bobbin_error *error);
	/* The next event, waiting at most wait_ns (0: not at all) and through the platform only. 0,
	 * BOBBIN_ETIMEOUT, or BOBBIN_ENOMEM, which ends the stream. */
	int (*next)(void *state, int64_t wait_ns, struct model_event *ret_event);
	/* Called instead of send when the model's check refused the body; NULL allowed. */
	int (*refused)(struct model *model, const struct model_request *request);
	int (*fd)(void *state); /* NULL: none */
	void (*release_stream)(void *state);
	void (*release)(struct model *model); /* frees model->state; also of a half-opened model */
	/* When bytes last moved, by the monotonic clock, 0: not yet; NULL: silence is counted from the last
	 * event. A call may take minutes to arrive before it is an event. */
	int64_t (*moved_ns)(const void *state);
	/* From any thread: ends a wait in next. NULL: next is asked to wait for short times only. */
	void (*wake)(void *state);
	/* Time is up. True: the answer is whole, only what may follow it has not come; the next call gives its end. NULL: never. */
	bool (*settle)(void *state);
};

struct model {
	const struct provider *provider;
	void *state;
	struct model_properties properties;
	bool dialects[MODEL_ANTHROPIC + 1]; /* which it speaks */
	const struct platform *platform;
	model_check check;
	void *check_context;
};

/* Fills an ERROR event; retry is derived from the failure. `message` must live as long as the event. */
void model_event_failure(
	struct model_event *event, enum model_failure failure, int http_status, const char *message);

/* What an HTTP status means when the body says nothing better. */
enum model_failure model_failure_of_status(int http_status);

/* Fills provider, state and properties of `model` (zeroed but for the platform). `script` NULL: none. */
int mock_open(struct model *model, const char *script, struct bobbin_error *error);

#endif
