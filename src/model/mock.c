/* SPDX-License-Identifier: MIT */
/*
 * The mock as a provider: it reads the body (seen.h), takes the script's step (script.h) or its own
 * answer (answer.h), plans the stream (plan.h), and lets it be pulled.
 *
 * Invariants: (1) the same bodies in the same order give the same events; (2) it knows nothing but the
 * body it was sent, its script, and, for `cached`, the bytes of the body before; (3) it waits through
 * the platform only.
 */
#include "model/mock.h"

#include <fcntl.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "model/plan.h"
#include "model/provider.h"

#define MOCK_WINDOW_TOKENS 128000
#define MOCK_OUTPUT_TOKENS_MAX 16384
#define NS_PER_MS 1000000

struct mock {
	struct script script;
	struct buffer requests[MOCK_REQUESTS_KEPT]; /* a ring: request n is at n % MOCK_REQUESTS_KEPT */
	uint64_t request_count;
};

struct mock_stream {
	const struct platform *platform;
	struct plan plan;
	size_t next;
	int64_t due_ns; /* when the event before was due */
};

static int keep_request(struct mock *mock, struct slice body)
{
	struct buffer *place = &mock->requests[mock->request_count % MOCK_REQUESTS_KEPT];
	buffer_clear(place);
	buffer_add_slice(place, body);
	mock->request_count++;
	return buffer_error(place);
}

/* The bytes that the newest kept body and the one before have in common at their beginning. */
static size_t common_prefix(const struct mock *mock)
{
	if (mock->request_count < 2)
		return 0;
	struct slice newest = buffer_slice(&mock->requests[(mock->request_count - 1) % MOCK_REQUESTS_KEPT]);
	struct slice before = buffer_slice(&mock->requests[(mock->request_count - 2) % MOCK_REQUESTS_KEPT]);
	size_t len = newest.len < before.len ? newest.len : before.len, same = 0;
	while (same < len && newest.data[same] == before.data[same])
		same++;
	return same;
}

static int plan_seen(
	struct plan *plan, struct model *model, const struct model_request *request, const struct seen *seen)
{
	struct mock *mock = model->state;
	const struct script_step none = SCRIPT_STEP_NONE, *step;
	struct answer answer;
	int rc = answer_compose(seen, &answer);
	if (rc == 0) {
		step = script_choose(&mock->script, seen_last_words(seen), (int64_t)seen_rounds_since(seen));
		rc = plan_answer(
			plan, &(struct plan_input){&model->properties, &mock->script.settings,
				      step ? step : &none, request, seen, &answer, common_prefix(mock)});
	}
	answer_release(&answer);
	return rc;
}

static int plan_stream(struct mock_stream *stream, struct model *model, const struct model_request *request)
{
	struct seen seen;
	struct bobbin_error words = {0};
	int rc = seen_read(request->dialect, request->body, &seen, &words);
	if (rc == 0)
		rc = plan_seen(&stream->plan, model, request, &seen);
	else if (rc != BOBBIN_ENOMEM)
		rc = plan_failure(&stream->plan, MODEL_FAILURE_REQUEST, 400, words.message);
	seen_release(&seen);
	return rc;
}

static void release_stream(void *state)
{
	struct mock_stream *stream = state;
	plan_release(&stream->plan);
	mem_free(stream);
}

static int send_request(struct model *model, const struct model_request *request, void **ret_state,
	struct bobbin_error *error)
{
	struct mock_stream *stream = mem_alloc_zero(sizeof(*stream));
	if (!stream)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	stream->platform = model->platform;
	stream->due_ns = model->platform->monotonic_ns(model->platform->context);
	plan_init(&stream->plan);
	int rc = keep_request(model->state, request->body);
	if (rc == 0)
		rc = plan_stream(stream, model, request);
	if (rc < 0) {
		release_stream(stream);
		return error_set(error, rc, "out of memory planning an answer");
	}
	*ret_state = stream;
	return 0;
}

static int refused(struct model *model, const struct model_request *request)
{
	return keep_request(model->state, request->body);
}

static int next_event(void *state, int64_t wait_ns, struct model_event *ret_event)
{
	struct mock_stream *stream = state;
	const struct platform *platform = stream->platform;
	int64_t left = wait_ns;
	if (stream->next < stream->plan.count) {
		const struct planned *planned = &stream->plan.events[stream->next];
		int64_t due_ns = stream->due_ns + planned->delay_ms * NS_PER_MS;
		left = due_ns - platform->monotonic_ns(platform->context);
		if (left <= wait_ns) {
			if (left > 0)
				platform->sleep_ns(platform->context, left);
			stream->due_ns = due_ns;
			stream->next++;
			*ret_event = planned->event;
			return 0;
		}
	}
	if (wait_ns > 0)
		platform->sleep_ns(platform->context, wait_ns);
	return BOBBIN_ETIMEOUT;
}

static void release_mock(struct model *model)
{
	struct mock *mock = model->state;
	if (!mock)
		return;
	for (size_t i = 0; i < MOCK_REQUESTS_KEPT; i++)
		buffer_release(&mock->requests[i]);
	script_release(&mock->script);
	mem_free(mock);
}

static const struct provider mock_provider = {
	send_request, next_event, refused, NULL, release_stream, release_mock};

static int read_open_file(const struct platform *platform, int file, const char *name, struct buffer *text,
	struct bobbin_error *error)
{
	struct file_info info;
	int rc = platform->info(platform->context, file, &info);
	if (rc < 0)
		return error_set_os(error, -rc, "%s", name);
	if (info.size > LIMIT_LINE_BYTES)
		return error_set(
			error, BOBBIN_ELIMIT, "%s: a script may have %u bytes", name, LIMIT_LINE_BYTES);
	char *room = buffer_reserve(text, (size_t)info.size);
	if (!room)
		return error_set(error, BOBBIN_ENOMEM, "out of memory reading %s", name);
	ssize_t got = platform_read_full(platform, file, room, (size_t)info.size, 0);
	if (got < 0)
		return error_set_os(error, (int)-got, "%s", name);
	text->len += (size_t)got;
	return 0;
}

static int read_script(
	const struct platform *platform, const char *name, struct script *script, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	int file = platform->open_at(platform->context, PLATFORM_CWD, name, O_RDONLY | O_CLOEXEC, 0);
	if (file < 0)
		return error_set_os(error, -file, "%s", name);
	int rc = read_open_file(platform, file, name, &text, error);
	platform->close(platform->context, file);
	if (rc == 0) {
		rc = script_read(script, buffer_slice(&text), error);
		if (rc < 0)
			error_prefix(error, "%s", name);
	}
	buffer_release(&text);
	return rc;
}

static void set_properties(struct model *model, const struct script_settings *settings)
{
	model->properties = (struct model_properties){
		.name = settings->name.len ? settings->name.data : "mock",
		.provider = "mock",
		.dialect = MODEL_OPENAI_CHAT,
		.window_tokens =
			settings->window_tokens > 0 ? (uint64_t)settings->window_tokens : MOCK_WINDOW_TOKENS,
		.output_tokens_max = settings->output_tokens_max > 0 ? (uint64_t)settings->output_tokens_max
								     : MOCK_OUTPUT_TOKENS_MAX,
	};
}

int mock_open(struct model *model, const char *script, struct bobbin_error *error)
{
	struct mock *mock = mem_alloc_zero(sizeof(*mock));
	if (!mock)
		return error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
	model->provider = &mock_provider;
	model->state = mock;
	for (int i = MODEL_OPENAI_CHAT; i <= MODEL_ANTHROPIC; i++)
		model->dialects[i] = true;
	for (size_t i = 0; i < MOCK_REQUESTS_KEPT; i++)
		buffer_init(&mock->requests[i], LIMIT_REQUEST_BYTES);
	script_init(&mock->script);
	int rc = script ? read_script(model->platform, script, &mock->script, error) : 0;
	if (rc == 0)
		set_properties(model, &mock->script.settings);
	return rc;
}

static const struct mock *mock_of(const struct model *model)
{
	return model->provider == &mock_provider ? model->state : NULL;
}

uint64_t mock_request_count(const struct model *model)
{
	const struct mock *mock = mock_of(model);
	return mock ? mock->request_count : 0;
}

struct slice mock_request(const struct model *model, unsigned back)
{
	const struct mock *mock = mock_of(model);
	if (!mock || back >= MOCK_REQUESTS_KEPT || back >= mock->request_count)
		return (struct slice){NULL, 0};
	return buffer_slice(&mock->requests[(mock->request_count - 1 - back) % MOCK_REQUESTS_KEPT]);
}
