/* SPDX-License-Identifier: MIT */
/*
 * The part of a model that is the same for every provider: opening by name, the check before sending,
 * and the stream's rules (model.h): one terminal event, cancelling, deadlines.
 *
 * A provider that cannot be woken never waits longer than WAIT_SLICE_NS at a time, so a cancel from another
 * thread and a deadline are seen soon without signals or pipes.
 */
#include "model/provider.h"

#include <stdatomic.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "model/remote.h"

#define WAIT_SLICE_NS 10000000
#define NS_PER_MS 1000000

struct model_stream {
	struct model *model;
	void *state; /* NULL: refused before it was sent */
	atomic_bool cancelled;
	bool ended;
	int64_t deadline_ns, active_ns; /* monotonic; active: when something last came */
	int64_t idle_ms;
	struct bobbin_error refusal;
};

static const char *const dialect_texts[] = {"openai-chat", "openai-responses", "anthropic"};
static const char *const stop_texts[] = {"stop", "tool_calls", "length", "content_filter", "pause", "other"};
static const char *const failure_texts[] = {"request", "overflow", "rate", "server", "protocol", "cut_off",
	"timeout", "cancelled", "memory", "auth"};

const char *model_dialect_text(enum model_dialect dialect)
{
	return dialect_texts[dialect];
}

bool model_dialect_of(struct slice text, enum model_dialect *ret_dialect)
{
	for (int i = MODEL_OPENAI_CHAT; i <= MODEL_ANTHROPIC; i++) {
		if (slice_is(text, dialect_texts[i])) {
			*ret_dialect = (enum model_dialect)i;
			return true;
		}
	}
	return false;
}

const char *model_stop_text(enum model_stop stop)
{
	return stop_texts[stop];
}

const char *model_failure_text(enum model_failure failure)
{
	return failure_texts[failure];
}

int64_t model_usage_request_tokens(const struct model_usage *usage)
{
	if (usage->input < 0)
		return -1;
	if (usage->dialect != MODEL_ANTHROPIC)
		return usage->input;
	return usage->input + (usage->cached > 0 ? usage->cached : 0) +
	       (usage->cache_write > 0 ? usage->cache_write : 0);
}

enum model_failure model_failure_of_status(int http_status)
{
	if (http_status == 429)
		return MODEL_FAILURE_RATE;
	if (http_status == 401 || http_status == 403)
		return MODEL_FAILURE_AUTH;
	if (http_status == 408)
		return MODEL_FAILURE_TIMEOUT;
	return http_status >= 500 ? MODEL_FAILURE_SERVER : MODEL_FAILURE_REQUEST;
}

static int failure_code(enum model_failure failure)
{
	switch (failure) {
	case MODEL_FAILURE_TIMEOUT:
		return BOBBIN_ETIMEOUT;
	case MODEL_FAILURE_CANCELLED:
		return BOBBIN_ECANCELLED;
	case MODEL_FAILURE_MEMORY:
		return BOBBIN_ENOMEM;
	default:
		return BOBBIN_EPROVIDER;
	}
}

/* Not TIMEOUT: the provider may still be at work on the request, and would be paid twice. */
static bool failure_may_pass(enum model_failure failure)
{
	return failure == MODEL_FAILURE_RATE || failure == MODEL_FAILURE_SERVER ||
	       failure == MODEL_FAILURE_PROTOCOL || failure == MODEL_FAILURE_CUT_OFF;
}

void model_event_failure(
	struct model_event *event, enum model_failure failure, int http_status, const char *message)
{
	*event = (struct model_event){.type = MODEL_EVENT_ERROR};
	event->error.failure = failure;
	event->error.code = failure_code(failure);
	event->error.http_status = http_status;
	event->error.retry_after_ms = -1;
	event->error.retry = failure_may_pass(failure);
	event->error.message = slice_of(message);
}

static int open_provider(struct model *model, const char *specification, struct bobbin_error *error)
{
	struct slice text = slice_of(specification);
	if (slice_is(text, "mock"))
		return mock_open(model, NULL, error);
	if (slice_starts_with(text, "mock:")) {
		if (specification[5] == '\0')
			return error_set(
				error, BOBBIN_EINVAL, "mock: needs the name of a script after the colon");
		return mock_open(model, specification + 5, error);
	}
	if (remote_is(specification))
		return remote_open(model, specification, error);
	return error_set(error, BOBBIN_EINVAL,
		"no such model: \"%.100s\"; give mock, mock:FILE, openai:NAME, openai-responses:NAME, anthropic:NAME, "
		"replay:FILE or record:FILE:MODEL",
		specification);
}

int model_open(const char *specification, const struct model_options *options, struct model **ret_model,
	struct bobbin_error *error)
{
	struct model_options defaults = MODEL_OPTIONS_INIT;
	if (!options)
		options = &defaults;
	struct model *model = mem_alloc_zero(sizeof(*model));
	if (!model)
		return error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
	model->platform = options->platform ? options->platform : platform_default();
	int rc = open_provider(model, specification, error);
	if (rc < 0) {
		model_free(model);
		return rc;
	}
	if (options->window_tokens)
		model->properties.window_tokens = options->window_tokens;
	if (options->output_tokens_max)
		model->properties.output_tokens_max = options->output_tokens_max;
	if (options->dialect_set)
		model->properties.dialect = options->dialect;
	*ret_model = model;
	return 0;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	if (model->provider)
		model->provider->release(model);
	mem_free(model);
}

const struct model_properties *model_properties(const struct model *model)
{
	return &model->properties;
}

void model_set_check(struct model *model, model_check check, void *context)
{
	model->check = check;
	model->check_context = context;
}

static int64_t now_ns(const struct model *model)
{
	return model->platform->monotonic_ns(model->platform->context);
}

/* True if the body was refused; the stream then holds the words. */
static bool body_refused(struct model_stream *stream, const struct model_request *request)
{
	struct model *model = stream->model;
	if (!model->check)
		return false;
	int rc = model->check(model->check_context, request->dialect, request->body, &stream->refusal);
	if (rc == 0)
		return false;
	if (stream->refusal.message[0] == '\0')
		error_set(&stream->refusal, rc, "the body was refused by the check");
	return true;
}

/* `from` plus milliseconds, without overflow. */
static int64_t later_ns(int64_t from, int64_t milliseconds)
{
	return milliseconds > (INT64_MAX - from) / NS_PER_MS ? INT64_MAX : from + milliseconds * NS_PER_MS;
}

static int begin(struct model_stream *stream, const struct model_request *request, struct bobbin_error *error)
{
	struct model *model = stream->model;
	stream->active_ns = now_ns(model);
	stream->deadline_ns =
		later_ns(stream->active_ns, request->timeout_ms ? request->timeout_ms : MODEL_TIMEOUT_MS);
	stream->idle_ms = request->idle_timeout_ms ? request->idle_timeout_ms : MODEL_IDLE_TIMEOUT_MS;
	if (!body_refused(stream, request))
		return model->provider->send(model, request, &stream->state, error);
	int rc = model->provider->refused ? model->provider->refused(model, request) : 0;
	return rc < 0 ? error_set(error, rc, "out of memory keeping a request") : 0;
}

int model_send(struct model *model, const struct model_request *request, struct model_stream **ret_stream,
	struct bobbin_error *error)
{
	if (!model->dialects[request->dialect])
		return error_set(error, BOBBIN_EUNSUPPORTED, "%s does not speak %s", model->properties.name,
			model_dialect_text(request->dialect));
	if (request->body.len > LIMIT_REQUEST_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "the request has %zu bytes, more than %u",
			request->body.len, LIMIT_REQUEST_BYTES);
	struct model_stream *stream = mem_alloc_zero(sizeof(*stream));
	if (!stream)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	stream->model = model;
	atomic_init(&stream->cancelled, false);
	int rc = begin(stream, request, error);
	if (rc < 0) {
		model_stream_free(stream);
		return rc;
	}
	*ret_stream = stream;
	return 0;
}

static int give_failure(struct model_stream *stream, struct model_event *ret_event,
	enum model_failure failure, int http_status, const char *message)
{
	model_event_failure(ret_event, failure, http_status, message);
	stream->ended = true;
	return 0;
}

/* An answer that is whole is not lost because its end mark is late. */
static bool is_settled(const struct model_stream *stream)
{
	const struct provider *provider = stream->model->provider;
	return provider->settle && provider->settle(stream->state);
}

/* What ends the stream without the provider, if anything does. Silence is judged only after a pull (`pulled`):
 * what came while nobody asked is not silence. */
static bool ended_from_outside(
	struct model_stream *stream, int64_t now, bool pulled, struct model_event *ret_event)
{
	if (atomic_load(&stream->cancelled))
		give_failure(stream, ret_event, MODEL_FAILURE_CANCELLED, 0, "the request was cancelled");
	else if (!stream->state)
		give_failure(stream, ret_event, MODEL_FAILURE_REQUEST, 400, stream->refusal.message);
	else if (now >= stream->deadline_ns && !is_settled(stream))
		give_failure(stream, ret_event, MODEL_FAILURE_TIMEOUT, 0,
			"the answer was not finished in the time allowed");
	else if (pulled && now >= later_ns(stream->active_ns, stream->idle_ms) && !is_settled(stream))
		give_failure(stream, ret_event, MODEL_FAILURE_TIMEOUT, 0, "the model fell silent");
	return stream->ended;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How long the provider may wait at `now`, until `until` (negative: no end). */
static int64_t slice_ns(const struct model_stream *stream, int64_t now, int64_t until)
{
	int64_t wait = smaller(stream->deadline_ns, later_ns(stream->active_ns, stream->idle_ms)) - now;
	if (until >= 0)
		wait = smaller(wait, until - now);
	if (!stream->model->provider->wake)
		wait = smaller(wait, WAIT_SLICE_NS);
	return wait > 0 ? wait : 0;
}

/* A piece of a long call is no event, and yet no silence. */
static void note_movement(struct model_stream *stream)
{
	const struct provider *provider = stream->model->provider;
	int64_t moved_ns = provider->moved_ns ? provider->moved_ns(stream->state) : 0;
	if (moved_ns > stream->active_ns)
		stream->active_ns = moved_ns;
}

int model_stream_next(struct model_stream *stream, int64_t timeout_ms, struct model_event *ret_event)
{
	if (stream->ended)
		return BOBBIN_EINVAL;
	int64_t now = now_ns(stream->model);
	int64_t until = timeout_ms < 0 ? -1 : later_ns(now, timeout_ms);
	for (bool pulled = false;; pulled = true) {
		if (ended_from_outside(stream, now, pulled, ret_event))
			return 0;
		int rc =
			stream->model->provider->next(stream->state, slice_ns(stream, now, until), ret_event);
		now = now_ns(stream->model);
		if (rc == BOBBIN_ETIMEOUT) {
			note_movement(stream);
			if (until >= 0 && now >= until)
				return BOBBIN_ETIMEOUT;
			continue;
		}
		if (rc < 0)
			return give_failure(stream, ret_event, MODEL_FAILURE_MEMORY, 0,
				"out of memory reading the answer");
		stream->active_ns = now;
		stream->ended = model_event_is_terminal(ret_event);
		return 0;
	}
}

int model_stream_fd(const struct model_stream *stream)
{
	const struct provider *provider = stream->model->provider;
	return stream->state && provider->fd ? provider->fd(stream->state) : -1;
}

void model_stream_cancel(struct model_stream *stream)
{
	atomic_store(&stream->cancelled, true);
	if (stream->state && stream->model->provider->wake)
		stream->model->provider->wake(stream->state);
}

void model_stream_free(struct model_stream *stream)
{
	if (!stream)
		return;
	if (stream->state)
		stream->model->provider->release_stream(stream->state);
	mem_free(stream);
}
