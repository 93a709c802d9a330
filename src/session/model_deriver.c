/* SPDX-License-Identifier: MIT */
/* See model_deriver.h. */
#include "session/model_deriver.h"

#include "base/json.h"
#include "compact/ask.h"
#include "compact/rules.h"
#include "session/turn.h"
#include "tokens/counter.h"

#define MARGIN_PERCENT                                                                                       \
	5 /* of the deriver's window: counts of other models' tokens are estimates                           \
	   */

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

/* Takes the whole answer. 1: it came to its end; 0: it did not, and `why` says
 * so. */
static int read_answer(
	struct model_stream *stream, struct buffer *text, bool *ret_whole, struct bobbin_error *why)
{
	struct model_event event;
	for (;;) {
		int rc = model_stream_next(stream, -1, &event);
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0)
			return error_set(why, rc, "the stream ended without an end");
		if (event.type == MODEL_EVENT_TEXT)
			buffer_add_slice(text, event.text);
		if (event.type == MODEL_EVENT_ERROR)
			return error_set(why, event.error.code, "%.*s", (int)event.error.message.len,
				event.error.message.data);
		if (event.type == MODEL_EVENT_DONE) {
			*ret_whole = event.stop == MODEL_STOP_END;
			return buffer_error(text);
		}
	}
}

static int ask_once(bobbin_model *model, const struct compact_ask_request *request, struct buffer *text,
	bool *ret_whole, struct bobbin_error *why)
{
	const struct model_properties *properties = model_properties(model->model);
	struct model_request outgoing = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct buffer body = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	write_body(properties, request, &body);
	int rc = buffer_error(&body);
	if (rc < 0)
		error_set(why, rc, "the request is too large");
	if (!rc)
		rc = check_body(model_dialect_text(properties->dialect), buffer_slice(&body), why);
	if (!rc) {
		outgoing.dialect = properties->dialect;
		outgoing.body = buffer_slice(&body);
		rc = model_send(model->model, &outgoing, &stream, why);
	}
	buffer_release(&body);
	if (rc < 0)
		return rc;
	rc = read_answer(stream, text, ret_whole, why);
	model_stream_free(stream);
	return rc;
}

static int ask_all(bobbin_model *model, struct compact_ask *ask, struct bobbin_error *error)
{
	struct compact_ask_request request;
	enum compact_answer answer;
	while (compact_ask_next(ask, &request)) {
		struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
		struct bobbin_error why = {0};
		bool whole = false;
		int rc = ask_once(model, &request, &text, &whole, &why);
		if (rc < 0)
			compact_ask_failed(ask, why.message);
		else
			rc = compact_ask_answer(ask, buffer_slice(&text), whole, &answer, error);
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
	uint64_t taken = output + window * MARGIN_PERCENT / 100;
	token_counter_for_model(properties->name, &counter);
	const struct compact_ask_options options = {window > taken ? window - taken : 1, &counter};
	int rc = compact_ask_new(input, &options, &ask, error);
	if (!rc)
		rc = ask_all(model, ask, error);
	if (!rc)
		rc = compact_ask_finish(ask, &rules_deriver, record->arena, record, &report, error);
	compact_ask_free(ask);
	token_counter_release(&counter);
	return rc;
}

struct deriver model_deriver(bobbin_model *model)
{
	return (struct deriver){.name = model_properties(model->model)->name,
		.version = COMPACT_PROMPT_VERSION,
		.derive = derive,
		.harvest = rules_deriver.harvest,
		.context = model};
}
