/* SPDX-License-Identifier: MIT */
/* See failure.h. Providers say the same things in many shapes; what matters is read out of all of them. */
#include "model/failure.h"

#include <strings.h>
#include "base/utf8.h"
#include "model/provider.h"
#include "model/sink.h"

#define SHOWN_BYTES 300 /* of the provider's own words */

/* What a provider said, found in its JSON. */
struct said {
	struct json message, type, code;
};

static void read_members(const struct json *object, struct said *said)
{
	static const char *const names[] = {"message", "detail", "msg", "error"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && said->message.type != JSON_STRING; i++)
		json_get(object, names[i], &said->message);
	json_get(object, "type", &said->type);
	json_get(object, "code", &said->code);
}

/* {"error":{…}} or {"error":"…"}, {"response":{"error":…}}, [{"error":…}], or the members themselves. */
static struct said read_said(const struct json *body)
{
	struct said said = {{NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT}};
	struct json inner = *body, error;
	struct json_iter iter;
	if (body->type == JSON_ARRAY) {
		json_iter_init(&iter, body);
		json_iter_next(&iter, NULL, &inner);
	}
	if (json_get(&inner, "response", &error) && error.type == JSON_OBJECT)
		inner = error;
	if (json_get(&inner, "error", &error) && error.type == JSON_OBJECT)
		inner = error;
	read_members(&inner, &said);
	return said;
}

static bool contains(struct slice text, const char *words)
{
	size_t len = strlen(words);
	for (size_t i = 0; i + len <= text.len; i++) {
		if (strncasecmp(text.data + i, words, len) == 0)
			return true;
	}
	return false;
}

static bool contains_any(struct slice text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (contains(text, words[i]))
			return true;
	}
	return false;
}

/* The ways in which providers and servers say that the input is too long. */
static bool says_overflow(const struct said *said, struct slice message)
{
	static const char *const words[] = {"context_length_exceeded", "prompt is too long",
		"maximum context length", "exceeds the context window", "exceed context limit",
		"exceeds the available context size", "input is too long", "context length exceeded",
		"exceeds the model's context", "exceed_context_size", "reduce the length of the messages",
		"request too large for", "input token count exceeds"};
	return json_string_is(&said->code, "context_length_exceeded") ||
	       json_string_is(&said->type, "exceed_context_size_error") ||
	       json_string_is(&said->type, "request_too_large") ||
	       contains_any(message, words, sizeof(words) / sizeof(words[0]));
}

static bool says_quota(const struct said *said)
{
	static const char *const words[] = {
		"insufficient_quota", "billing_error", "billing_not_active", "credit_balance_too_low"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (json_string_is(&said->code, words[i]) || json_string_is(&said->type, words[i]))
			return true;
	}
	return false;
}

/* An error in the stream has no status; its type or code says what the status would have said. */
static bool failure_of_name(const struct json *name, enum model_failure *ret_failure)
{
	static const struct {
		const char *name;
		enum model_failure failure;
	} names[] = {
		{"rate_limit_error", MODEL_FAILURE_RATE},
		{"rate_limit_exceeded", MODEL_FAILURE_RATE},
		{"overloaded_error", MODEL_FAILURE_SERVER},
		{"api_error", MODEL_FAILURE_SERVER},
		{"server_error", MODEL_FAILURE_SERVER},
		{"timeout_error", MODEL_FAILURE_SERVER},
		{"authentication_error", MODEL_FAILURE_AUTH},
		{"permission_error", MODEL_FAILURE_AUTH},
		{"invalid_api_key", MODEL_FAILURE_AUTH},
		{"invalid_request_error", MODEL_FAILURE_REQUEST},
		{"not_found_error", MODEL_FAILURE_REQUEST},
		{"insufficient_quota", MODEL_FAILURE_RATE},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (json_string_is(name, names[i].name)) {
			*ret_failure = names[i].failure;
			return true;
		}
	}
	return false;
}

static enum model_failure classify(
	const struct refusal *refusal, const struct said *said, struct slice message)
{
	enum model_failure failure = MODEL_FAILURE_SERVER;
	int64_t status;
	bool too_large = refusal->http_status == 413;
	if (refusal->http_status != 401 && refusal->http_status != 403 &&
		(too_large || says_overflow(said, message)))
		return MODEL_FAILURE_OVERFLOW;
	if (refusal->http_status)
		return model_failure_of_status(refusal->http_status);
	if (failure_of_name(&said->type, &failure) || failure_of_name(&said->code, &failure))
		return failure;
	if (json_int64(&said->code, &status) && status >= 400 && status < 600)
		return model_failure_of_status((int)status);
	return failure;
}

void failure_add_without(struct buffer *out, struct slice text, struct slice secret)
{
	while (secret.len > 0) {
		const char *at = memmem(text.data, text.len, secret.data, secret.len);
		if (!at)
			break;
		size_t before = (size_t)(at - text.data);
		buffer_add(out, text.data, before);
		buffer_add_text(out, "[key]");
		text.data += before + secret.len;
		text.len -= before + secret.len;
	}
	buffer_add_slice(out, text);
}

/* One line, clean, cut; the words end without white space. */
static void add_shown(struct buffer *out, struct slice text, struct slice secret)
{
	struct buffer whole = BUFFER_INIT(SIZE_MAX / 2), clean = BUFFER_INIT(SIZE_MAX / 2);
	failure_add_without(&whole, text, secret);
	utf8_add_clean(&clean, buffer_slice(&whole).data, whole.len);
	for (size_t i = 0; i < clean.len; i++) {
		if ((unsigned char)clean.data[i] < 0x20 || clean.data[i] == 0x7F)
			clean.data[i] = ' ';
	}
	struct slice shown = buffer_slice(&clean);
	size_t len = utf8_truncate(shown.data, shown.len, SHOWN_BYTES);
	while (len > 0 && shown.data[len - 1] == ' ')
		len--;
	buffer_add(out, shown.data, len);
	if (clean.len > SHOWN_BYTES)
		buffer_add_text(out, "…");
	if (buffer_error(&whole) || buffer_error(&clean))
		out->error = BOBBIN_ENOMEM;
	buffer_release(&whole);
	buffer_release(&clean);
}

static void add_host(const struct refusal *refusal, struct buffer *words)
{
	buffer_add_text(words, refusal->host ? refusal->host : "the provider");
	if (refusal->http_status)
		buffer_addf(words, " answered %d", refusal->http_status);
	else
		buffer_add_text(words, " reported an error");
}

static int finish(const struct refusal *refusal, enum model_failure failure, struct buffer *words,
	struct model_event *ret_event)
{
	if (buffer_error(words))
		return BOBBIN_ENOMEM;
	model_event_failure(ret_event, failure, refusal->http_status, words->data);
	ret_event->error.message = buffer_slice(words);
	ret_event->error.retry_after_ms = refusal->retry_after_ms;
	bool busy = refusal->http_status == 408 || refusal->http_status == 409;
	ret_event->error.retry = failure == MODEL_FAILURE_RATE || failure == MODEL_FAILURE_SERVER || busy;
	if (refusal->should_retry >= 0 && failure != MODEL_FAILURE_OVERFLOW)
		ret_event->error.retry = refusal->should_retry;
	return 0;
}

int failure_of_json(const struct refusal *refusal, const struct json *body, struct buffer *words,
	struct model_event *ret_event)
{
	struct said said = read_said(body);
	struct buffer message = BUFFER_INIT(SIZE_MAX / 2);
	json_string_decode(&said.message, JSON_SURROGATES_REPLACE, &message);
	buffer_clear(words);
	add_host(refusal, words);
	if (message.len > 0) {
		buffer_add_text(words, ": ");
		add_shown(words, buffer_slice(&message), refusal->secret);
	}
	enum model_failure failure = classify(refusal, &said, buffer_slice(&message));
	int rc = buffer_error(&message) ? BOBBIN_ENOMEM : finish(refusal, failure, words, ret_event);
	buffer_release(&message);
	if (rc == 0 && says_quota(&said))
		ret_event->error.retry = false;
	return rc;
}

static bool is_web_page(struct slice body)
{
	for (size_t i = 0; i < body.len; i++) {
		if (!memchr(" \t\r\n\xEF\xBB\xBF", body.data[i], 7))
			return body.data[i] == '<';
	}
	return false;
}

int failure_of_body(
	const struct refusal *refusal, struct slice body, struct buffer *words, struct model_event *ret_event)
{
	struct json value;
	if (json_parse(body.data, body.len, &value, NULL) == 0 &&
		(value.type == JSON_OBJECT || value.type == JSON_ARRAY))
		return failure_of_json(refusal, &value, words, ret_event);
	struct said nothing = {{NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT}};
	bool page = is_web_page(body);
	buffer_clear(words);
	add_host(refusal, words);
	if (page) {
		buffer_add_text(words, " with a web page instead of an answer of the interface");
	} else if (body.len > 0) {
		buffer_add_text(words, ": ");
		add_shown(words, body, refusal->secret);
	}
	return finish(
		refusal, classify(refusal, &nothing, page ? SLICE_LITERAL("") : body), words, ret_event);
}

void failure_into(struct sink *sink, const struct json *body)
{
	struct refusal refusal = {sink->host, 0, -1, -1, sink->secret};
	struct buffer words = BUFFER_INIT(SIZE_MAX / 2);
	struct model_event event;
	if (failure_of_json(&refusal, body, &words, &event) < 0) {
		sink->error = BOBBIN_ENOMEM;
	} else {
		/* Part of the answer may have been made, and shown: only an error that came first is free. */
		event.error.retry = event.error.retry && sink->held == 0 && sink->calls == 0;
		sink_error(sink, &event);
	}
	buffer_release(&words);
}
