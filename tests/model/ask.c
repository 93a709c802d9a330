/* SPDX-License-Identifier: MIT */
#include "ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/json.h"
#include "base/utf8.h"

void ask_begin(struct asked *asked)
{
	*asked = (struct asked){.retry_after_ms = -2};
	reply_init(&asked->reply);
	struct buffer *buffers[] = {
		&asked->pieces, &asked->thinking, &asked->ids, &asked->sealed, &asked->kinds};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		buffer_init(buffers[i], 1u << 24);
		buffer_add_text(buffers[i], "");
	}
}

void asked_release(struct asked *asked)
{
	reply_release(&asked->reply);
	buffer_release(&asked->pieces);
	buffer_release(&asked->thinking);
	buffer_release(&asked->ids);
	buffer_release(&asked->sealed);
	buffer_release(&asked->kinds);
}

static void copy_text(char *to, size_t size, struct slice text)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;
	if (len > 0)
		memcpy(to, text.data, len);
	to[len] = '\0';
}

static void take_error(struct asked *asked, const struct model_event *event)
{
	asked->failure = event->error.failure;
	asked->code = event->error.code;
	asked->http_status = event->error.http_status;
	asked->retry_after_ms = event->error.retry_after_ms;
	asked->retry = event->error.retry;
	copy_text(asked->message, sizeof(asked->message), event->error.message);
	assert_true(event->error.message.len > 0);
}

static void take(struct asked *asked, const struct model_event *event)
{
	static const char letters[] = "thscude";
	buffer_add_char(&asked->kinds, letters[event->type]);
	switch (event->type) {
	case MODEL_EVENT_TEXT:
		assert_true(event->text.len > 0);
		assert_int_equal(utf8_valid_prefix(event->text.data, event->text.len), event->text.len);
		buffer_add_slice(&asked->pieces, event->text);
		buffer_add_char(&asked->pieces, '|');
		break;
	case MODEL_EVENT_THINKING:
		buffer_add_slice(&asked->thinking, event->text);
		break;
	case MODEL_EVENT_SEALED:
		buffer_add_slice(&asked->sealed, event->sealed);
		buffer_add_char(&asked->sealed, '|');
		break;
	case MODEL_EVENT_CALL:
		buffer_add_slice(&asked->ids, event->call.id);
		buffer_add_char(&asked->ids, ' ');
		break;
	case MODEL_EVENT_DONE:
		copy_text(asked->stop_text, sizeof(asked->stop_text), event->stop_text);
		break;
	case MODEL_EVENT_ERROR:
		take_error(asked, event);
		break;
	case MODEL_EVENT_USAGE:
		break;
	}
	assert_int_equal(reply_add(&asked->reply, event), 0);
}

void ask_pull(struct model_stream *stream, struct asked *asked)
{
	struct model_event event;
	for (;;) {
		int rc = model_stream_next(stream, -1, &event);
		assert_int_equal(rc, 0);
		take(asked, &event);
		if (model_event_is_terminal(&event))
			break;
	}
	assert_int_equal(model_stream_next(stream, 0, &event), BOBBIN_EINVAL);
}

void ask_with(struct model *model, const struct model_request *request, struct asked *ret_asked)
{
	struct model_stream *stream;
	ask_begin(ret_asked);
	assert_int_equal(model_send(model, request, &stream, NULL), 0);
	ask_pull(stream, ret_asked);
	model_stream_free(stream);
}

void ask(struct model *model, enum model_dialect dialect, const char *body, struct asked *ret_asked)
{
	struct model_request request = MODEL_REQUEST_INIT;
	request.dialect = dialect;
	request.body = slice_of(body);
	ask_with(model, &request, ret_asked);
}

const char *asked_text(struct asked *asked)
{
	buffer_add_text(&asked->reply.text, "");
	return asked->reply.text.data ? asked->reply.text.data : "";
}

const char *say(struct model *model, const char *first, ...)
{
	static char answer[4096];
	struct buffer body = BUFFER_INIT(1u << 24);
	struct json_writer json;
	struct asked asked;
	va_list texts;
	json_writer_init(&json, &body);
	json_begin_object(&json);
	json_key(&json, "messages");
	json_begin_array(&json);
	va_start(texts, first);
	bool user = true;
	for (const char *text = first; text; text = va_arg(texts, const char *), user = !user) {
		json_begin_object(&json);
		json_member_text(&json, "role", user ? "user" : "assistant");
		json_member_text(&json, "content", text);
		json_end_object(&json);
	}
	va_end(texts);
	json_end_array(&json);
	json_end_object(&json);
	ask(model, MODEL_OPENAI_CHAT, body.data, &asked);
	assert_true(asked.reply.done);
	copy_text(answer, sizeof(answer), slice_of(asked_text(&asked)));
	asked_release(&asked);
	buffer_release(&body);
	return answer;
}
