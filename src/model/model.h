/* SPDX-License-Identifier: MIT */
/*
 * Models: a request goes in as the bytes of a body, the answer is pulled as events.
 *
 *	struct model *model;
 *	rc = model_open("mock", NULL, &model, error);
 *	dialect = model_properties(model)->dialect;          // render the body in this dialect
 *	struct model_request request = MODEL_REQUEST_INIT;
 *	request.dialect = dialect;
 *	request.body = buffer_slice(&body);
 *	rc = model_send(model, &request, &stream, error);
 *	for (;;) {
 *		rc = model_stream_next(stream, 1000, &event);
 *		if (rc == BOBBIN_ETIMEOUT)
 *			continue;                             // nothing yet; do something else meanwhile
 *		if (event.type == MODEL_EVENT_TEXT) …
 *		if (model_event_is_terminal(&event))
 *			break;                                // DONE is success, ERROR is not
 *	}
 *	model_stream_free(stream);
 *	model_free(model);
 *
 * Invariants:
 * (1) A stream gives exactly one terminal event, DONE or ERROR, and nothing after it. Only DONE is
 *     success: a connection that ends before it, however much text came, is ERROR.
 * (2) The text of all events is valid UTF-8, never cut inside a code point.
 * (3) A call is given once, complete; its arguments are the provider's bytes and may be broken JSON.
 * (4) The order is: thinking, text, sealed blocks and calls as the provider gave them, then usage (at
 *     most once, and maybe never), then the terminal event.
 * (5) Time passes only through base/platform.h.
 * (6) Nothing is retried here; an ERROR says whether and when a retry may help.
 *
 * Threads: a model and its streams belong to one thread at a time; only model_stream_cancel may be
 * called from another one, while the stream has not been freed.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/platform.h"
#include "base/slice.h"

enum model_dialect { MODEL_OPENAI_CHAT, MODEL_OPENAI_RESPONSES, MODEL_ANTHROPIC };

/* "openai-chat", "openai-responses", "anthropic". */
const char *model_dialect_text(enum model_dialect dialect);
bool model_dialect_of(struct slice text, enum model_dialect *ret_dialect);

/* What a host must know to plan a request. Lives as long as the model; the strings too. */
struct model_properties {
	const char *name;	    /* "mock", "gpt-5": what usage lines call it */
	const char *provider;	    /* "mock", "openai", "anthropic" */
	enum model_dialect dialect; /* what model_send expects; the mock accepts all three */
	uint64_t window_tokens;	    /* input and output together */
	uint64_t output_tokens_max;
};

struct model_options {
	const struct platform *platform; /* NULL: platform_default() */
	uint64_t window_tokens;	    /* 0: what the provider says; else overrides it (a proxy with less) */
	uint64_t output_tokens_max; /* 0: likewise */
	enum model_dialect dialect; /* with dialect_set: overrides the model's dialect */
	bool dialect_set;
};

#define MODEL_OPTIONS_INIT ((struct model_options){.dialect_set = false})

struct model;
struct model_stream;

/*
 * Opens a model from its specification:
 *	mock            answers from what it is shown, offline (model/mock.h)
 *	mock:FILE       the same, with a script (README.md)
 *	openai:NAME, openai-responses:NAME, anthropic:NAME    over the network (model/remote.h)
 *	openai:NAME@http://localhost:8080/v1                  … at another base address
 *	record:FILE:MODEL, replay:FILE                        records, plays back (model/tape.h)
 * `options` NULL: defaults. BOBBIN_EINVAL for a malformed specification, BOBBIN_EINPUT with line and
 * offset for a bad script, BOBBIN_ENOTFOUND for a missing one.
 */
int model_open(const char *specification, const struct model_options *options, struct model **ret_model,
	struct bobbin_error *error);
void model_free(struct model *model); /* NULL allowed; all its streams must have been freed */

const struct model_properties *model_properties(const struct model *model);

/*
 * A check that every body must pass before it is sent. A body that fails is answered with ERROR,
 * MODEL_FAILURE_REQUEST, HTTP status 400 and the check's words, and is not sent. `check` returns 0 or a
 * negative code and fills `error`. NULL removes it.
 */
typedef int (*model_check)(
	void *context, enum model_dialect dialect, struct slice body, struct bobbin_error *error);
void model_set_check(struct model *model, model_check check, void *context);

struct model_request {
	enum model_dialect dialect; /* of the body */
	struct slice body;	    /* JSON; copied if it is needed after model_send */
	int64_t timeout_ms;	    /* for the whole answer, from model_send; 0: MODEL_TIMEOUT_MS */
	int64_t idle_timeout_ms;    /* longest silence; 0: MODEL_IDLE_TIMEOUT_MS */
};

#define MODEL_TIMEOUT_MS 600000
#define MODEL_IDLE_TIMEOUT_MS 120000
#define MODEL_REQUEST_INIT ((struct model_request){.dialect = MODEL_OPENAI_CHAT})

/* Begins a request; returns at once. Whatever the provider answers, also a refusal, comes as events.
 * BOBBIN_EUNSUPPORTED for a dialect the model does not speak, BOBBIN_ELIMIT for a body over
 * LIMIT_REQUEST_BYTES, BOBBIN_ENOMEM. */
int model_send(struct model *model, const struct model_request *request, struct model_stream **ret_stream,
	struct bobbin_error *error);

enum model_event_type {
	MODEL_EVENT_TEXT,     /* text: the next piece of the answer, never empty */
	MODEL_EVENT_THINKING, /* text: the next piece of readable thinking, to show, not to store */
	MODEL_EVENT_SEALED,   /* sealed: one finished thinking or reasoning block, to store byte for byte */
	MODEL_EVENT_CALL,     /* call: one finished tool call */
	MODEL_EVENT_USAGE,    /* usage */
	MODEL_EVENT_DONE,     /* stop, stop_text; terminal */
	MODEL_EVENT_ERROR,    /* failure; terminal */
};

enum model_stop {
	MODEL_STOP_END,	       /* the answer is finished */
	MODEL_STOP_TOOL_CALLS, /* it waits for results */
	MODEL_STOP_LENGTH,     /* cut by the output limit: the text is not whole, a last call may be broken */
	MODEL_STOP_FILTER,     /* content filter, refusal */
	MODEL_STOP_PAUSE,      /* the provider wants the same conversation sent again */
	MODEL_STOP_OTHER,      /* a reason this version does not know: stop_text has it */
};
/* "stop", "tool_calls", "length", "content_filter", "pause", "other". */
const char *model_stop_text(enum model_stop stop);

enum model_failure {
	MODEL_FAILURE_REQUEST,	 /* the provider refuses this body (4xx); sending it again cannot help */
	MODEL_FAILURE_OVERFLOW,	 /* the input is over the model's window: compact and send again */
	MODEL_FAILURE_RATE,	 /* 429 */
	MODEL_FAILURE_SERVER,	 /* 5xx, overloaded */
	MODEL_FAILURE_PROTOCOL,	 /* what came is not the protocol */
	MODEL_FAILURE_CUT_OFF,	 /* the answer ended without a terminal event */
	MODEL_FAILURE_TIMEOUT,	 /* silence, or too long altogether */
	MODEL_FAILURE_CANCELLED, /* model_stream_cancel */
	MODEL_FAILURE_MEMORY,	 /* out of memory on our side */
	MODEL_FAILURE_AUTH,	 /* 401, 403 */
};
/* "request", "overflow", "rate", …: for records and --json. */
const char *model_failure_text(enum model_failure failure);

/* Figures exactly as the provider reported them: `dialect` says how they add up. OpenAI counts `cached`
 * inside `input`; Anthropic's `cached` and `cache_write` stand beside it. -1: not reported. */
struct model_usage {
	enum model_dialect dialect;
	int64_t input, cached, cache_write, output;
};

/* All tokens of the request, whatever the dialect; -1 if the input was not reported. */
int64_t model_usage_request_tokens(const struct model_usage *usage);

struct model_event {
	enum model_event_type type;
	struct slice text;   /* TEXT, THINKING: valid UTF-8 */
	struct slice sealed; /* SEALED: the block, one JSON object as in transcript/message.h */
	struct {
		struct slice id, name, arguments; /* arguments: JSON as text, "{}" if there are none */
	} call;
	struct model_usage usage;
	enum model_stop stop;
	struct slice stop_text; /* DONE: the provider's own word */
	struct {
		enum model_failure failure;
		int code;	 /* BOBBIN_EPROVIDER, BOBBIN_ETIMEOUT, BOBBIN_ECANCELLED, BOBBIN_ENOMEM */
		int http_status; /* 0: none came */
		int64_t retry_after_ms; /* -1: the provider did not say */
		bool retry;		/* the same request may succeed later */
		struct slice message;	/* one sentence for a person, UTF-8; never empty */
	} error;
};

static inline bool model_event_is_terminal(const struct model_event *event)
{
	return event->type == MODEL_EVENT_DONE || event->type == MODEL_EVENT_ERROR;
}

/*
 * The next event, waiting at most timeout_ms (0: only what is there, negative: as long as it takes). Its
 * slices live until the next call on the stream or its end. Returns
 *	0                an event
 *	BOBBIN_ETIMEOUT  nothing came in that time; call again
 *	BOBBIN_EINVAL    the terminal event has been given already
 * Everything else that goes wrong, out of memory too, is the terminal event ERROR.
 */
int model_stream_next(struct model_stream *stream, int64_t timeout_ms, struct model_event *ret_event);

/* A descriptor that becomes readable when there may be an event, for poll(2), or -1: then call
 * model_stream_next with a timeout instead. Before waiting on it, pull with timeout 0 until BOBBIN_ETIMEOUT; and
 * wait with a timeout of your own, since silence and lateness are seen only by pulling. Owned by the stream. */
int model_stream_fd(const struct model_stream *stream);

/* From any thread: the stream's next event is ERROR, MODEL_FAILURE_CANCELLED, unless its terminal event
 * came first. A waiting model_stream_next sees it within 20 ms. */
void model_stream_cancel(struct model_stream *stream);

/* Ends the request if it is not finished. NULL allowed. */
void model_stream_free(struct model_stream *stream);

#endif
