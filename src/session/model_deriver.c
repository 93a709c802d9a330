/* SPDX-License-Identifier: MIT */
/* See model_deriver.h. */
#include "session/model_deriver.h"

#include "base/json.h"
#include "base/utf8.h"
#include "compact/ask.h"
#include "compact/rules.h"
#include "session/turn.h"
#include "tokens/counter.h"
#include <stdio.h>

#define MARGIN_PERCENT 5 /* of the deriver's window: counts of other models' tokens are estimates */
/* Minutes of a segment are a page: what takes longer is not coming. */
#define DERIVE_TIMEOUT_MS 120000
#define DERIVE_IDLE_TIMEOUT_MS 30000

static void add_message(struct json_writer *writer, const char *role, struct slice text)
{
	json_begin_object(writer);
	json_member_text(writer, "role", role);
	json_member_string(writer, "content", text);
	json_end_object(writer);
}

/* One system prompt and one user message, in the model's dialect. */
static void write_body(const struct model_properties *properties, const struct compact_ask_request *request,
	struct buffer *out)
{
	struct json_writer writer;
	bool chat = properties->dialect == MODEL_OPENAI_CHAT,
	     responses = properties->dialect == MODEL_OPENAI_RESPONSES;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "model", properties->name);
	if (!chat)
		json_member_string(&writer, responses ? "instructions" : "system", request->system);
	json_member_uint(&writer,
		chat	    ? "max_completion_tokens"
		: responses ? "max_output_tokens"
			    : "max_tokens",
		properties->output_tokens_max);
	json_key(&writer, responses ? "input" : "messages");
	json_begin_array(&writer);
	if (chat)
		add_message(&writer, "system", request->system);
	add_message(&writer, "user", request->user);
	json_end_array(&writer);
	json_member_bool(&writer, "stream", true);
	json_end_object(&writer);
}

/* ---- Resting: a deriver that fails is not asked again at once ---- */

static bool is_resting(const bobbin_model *model)
{
	const struct platform *platform = platform_default();
	return model->rest.failures && platform->monotonic_ns(platform->context) < model->rest.until_ns;
}

/* A minute, five, then an hour; longer if the provider says so. */
static void rest(bobbin_model *model, int64_t asked_ms, const char *why)
{
	static const int64_t waits_ms[] = {60000, 300000, 3600000};
	const struct platform *platform = platform_default();
	unsigned failures = model->rest.failures < 2 ? model->rest.failures : 2;
	int64_t wait_ms = waits_ms[failures] > asked_ms ? waits_ms[failures] : asked_ms;
	model->rest.failures++;
	snprintf(model->rest.why, sizeof(model->rest.why), "%.*s",
		(int)utf8_truncate(why, strlen(why), sizeof(model->rest.why) - 1), why);
	model->rest.until_ns = platform->monotonic_ns(platform->context) + wait_ms * 1000000;
}

/* ---- Asking ---- */

/* How a request ended that gave no answer. */
struct ending {
	struct bobbin_error why;
	bool hopeless; /* asking again now cannot help: too many requests, no key, silence */
	int64_t retry_after_ms;
};

static int fail_with(struct ending *ending, const struct model_event *event)
{
	enum model_failure failure = event->error.failure;
	ending->hopeless = failure == MODEL_FAILURE_RATE || failure == MODEL_FAILURE_AUTH ||
			   failure == MODEL_FAILURE_TIMEOUT;
	ending->retry_after_ms = event->error.retry_after_ms;
	return error_set(&ending->why, event->error.code, "%.*s", (int)event->error.message.len,
		event->error.message.data);
}

/* Takes the whole answer. *ret_whole: the model said that it is finished. */
/* Several requests make one line: figures that were not reported stay so. */
static void add_spent(bobbin_model *model, const struct model_usage *usage)
{
	struct model_usage *spent = &model->spent;
	if (!model->has_spent) {
		*spent = *usage;
		model->has_spent = true;
		return;
	}
	spent->input += usage->input > 0 && spent->input >= 0 ? usage->input : 0;
	spent->cached += usage->cached > 0 && spent->cached >= 0 ? usage->cached : 0;
	spent->cache_write += usage->cache_write > 0 && spent->cache_write >= 0 ? usage->cache_write : 0;
	spent->output += usage->output > 0 && spent->output >= 0 ? usage->output : 0;
}

static int read_answer(bobbin_model *model, struct model_stream *stream, struct buffer *text, bool *ret_whole,
	struct ending *ending)
{
	struct model_event event;
	for (;;) {
		int rc = model_stream_next(stream, -1, &event);
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0)
			return error_set(&ending->why, rc, "the stream ended without an end");
		if (event.type == MODEL_EVENT_TEXT)
			buffer_add_slice(text, event.text);
		if (event.type == MODEL_EVENT_USAGE)
			add_spent(model, &event.usage);
		if (event.type == MODEL_EVENT_ERROR)
			return fail_with(ending, &event);
		if (event.type == MODEL_EVENT_DONE) {
			*ret_whole = event.stop == MODEL_STOP_END;
			return buffer_error(text);
		}
	}
}

static int ask_once(bobbin_model *model, const struct compact_ask_request *request, struct buffer *text,
	bool *ret_whole, struct ending *ending)
{
	const struct model_properties *properties = model_properties(model->model);
	struct model_request outgoing = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct buffer body = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	write_body(properties, request, &body);
	int rc = buffer_error(&body);
	if (rc < 0)
		error_set(&ending->why, rc, "the request is too large");
	if (!rc)
		rc = check_body(model_dialect_text(properties->dialect), buffer_slice(&body), &ending->why);
	if (!rc) {
		outgoing.dialect = properties->dialect;
		outgoing.body = buffer_slice(&body);
		outgoing.timeout_ms = DERIVE_TIMEOUT_MS;
		outgoing.idle_timeout_ms = DERIVE_IDLE_TIMEOUT_MS;
		rc = model_send(model->model, &outgoing, &stream, &ending->why);
	}
	buffer_release(&body);
	if (rc < 0)
		return rc;
	rc = read_answer(model, stream, text, ret_whole, ending);
	model_stream_free(stream);
	return rc;
}

/* What is left is not asked for. */
static void give_up(struct compact_ask *ask, const char *reason)
{
	struct compact_ask_request request;
	while (compact_ask_next(ask, &request))
		compact_ask_failed(ask, reason);
}

static int ask_all(bobbin_model *model, struct compact_ask *ask, struct bobbin_error *error)
{
	struct compact_ask_request request;
	enum compact_answer answer;
	unsigned failed = 0;
	while (compact_ask_next(ask, &request)) {
		struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
		struct ending ending = {.retry_after_ms = -1};
		bool whole = false;
		int rc = ask_once(model, &request, &text, &whole, &ending);
		if (rc < 0) {
			compact_ask_failed(ask, ending.why.message);
			if (ending.hopeless || ++failed == COMPACT_ASK_TRIES) {
				rest(model, ending.retry_after_ms, ending.why.message);
				give_up(ask, ending.why.message);
			}
		} else {
			failed = 0;
			model->rest.failures = 0;
			rc = compact_ask_answer(ask, buffer_slice(&text), whole, &answer, error);
		}
		buffer_release(&text);
		if (rc == BOBBIN_ENOMEM)
			return rc;
	}
	return 0;
}

static int derive(void *context, const struct derive_input *input, struct compact_record *record,
	struct bobbin_error *error)
{
	bobbin_model *model = context;
	const struct model_properties *properties = model_properties(model->model);
	struct compact_ask_report report = {0};
	struct compact_ask *ask = NULL;
	struct token_counter counter;
	uint64_t window = properties->window_tokens, output = properties->output_tokens_max;
	if (is_resting(model))
		return error_set(
			error, BOBBIN_EBUSY, "the model that writes records rests: %s", model->rest.why);
	uint64_t taken = output + window * MARGIN_PERCENT / 100;
	token_counter_for_model(properties->name, &counter);
	const struct compact_ask_options options = {window > taken ? window - taken : 1, &counter};
	int rc = compact_ask_new(input, &options, &ask, error);
	if (!rc)
		rc = ask_all(model, ask, error);
	if (!rc)
		rc = compact_ask_finish(ask, &rules_deriver, record->arena, record, &report, error);
	/* Only what was put back: nothing of the answer stood in the messages, and rules know more. */
	if (!rc && report.dropped && record->count <= report.repaired)
		rc = error_set(error, BOBBIN_EPROVIDER,
			"no record from the model: nothing it wrote stands in the messages");
	if (!rc) {
		model->refused += report.dropped;
		model->repaired += report.repaired;
	}
	compact_ask_free(ask);
	token_counter_release(&counter);
	return rc;
}

void model_deriver_count(const struct deriver *deriver, uint32_t *refused, uint32_t *repaired)
{
	if (!deriver || deriver->derive != derive)
		return;
	const bobbin_model *model = deriver->context;
	*refused += model->refused;
	*repaired += model->repaired;
}

int model_deriver_store_usage(
	const struct deriver *deriver, struct log *log, const char *for_id, struct bobbin_error *error)
{
	bobbin_model *model = deriver->context;
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	if (deriver->derive != derive || !model->has_spent)
		return 0;
	usage_record(model_properties(model->model), &model->spent, for_id, "derive", &record);
	model->has_spent = false;
	int rc = buffer_error(&record);
	struct slice bytes = buffer_slice(&record);
	if (rc < 0)
		error_set(error, rc, "out of memory");
	else
		rc = log_append(log, &bytes, 1, NULL, NULL, error);
	buffer_release(&record);
	return rc;
}

struct deriver model_deriver(bobbin_model *model)
{
	model->refused = model->repaired = 0;
	return (struct deriver){.name = model_properties(model->model)->name,
		.version = COMPACT_PROMPT_VERSION,
		.derive = derive,
		.harvest = rules_deriver.harvest,
		.context = model};
}
