/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/utf8.h"
#include "support/fail.h"

static void add_slices(struct buffer *out, const char *kind, const struct slice *slices, size_t count)
{
	buffer_add_text(out, kind);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(utf8_valid_prefix(slices[i].data, slices[i].len), slices[i].len);
		buffer_add_char(out, ' ');
		buffer_add_slice(out, slices[i]);
	}
}

void stream_add_event(struct buffer *out, const struct model_event *event)
{
	struct slice call[] = {event->call.id, event->call.name, event->call.arguments};
	switch (event->type) {
	case MODEL_EVENT_TEXT:
		add_slices(out, "text", &event->text, 1);
		break;
	case MODEL_EVENT_THINKING:
		add_slices(out, "thinking", &event->text, 1);
		break;
	case MODEL_EVENT_SEALED:
		add_slices(out, "sealed", &event->sealed, 1);
		break;
	case MODEL_EVENT_CALL:
		add_slices(out, "call", call, 3);
		break;
	case MODEL_EVENT_USAGE:
		buffer_addf(out, "usage %d %d %d %d", (int)event->usage.input, (int)event->usage.cached,
			(int)event->usage.cache_write, (int)event->usage.output);
		break;
	case MODEL_EVENT_DONE:
		buffer_addf(out, "done %s", model_stop_text(event->stop));
		add_slices(out, "", &event->stop_text, 1);
		break;
	case MODEL_EVENT_ERROR:
		buffer_addf(out, "error %s %d %s", model_failure_text(event->error.failure),
			event->error.http_status, event->error.retry ? "again" : "once");
		add_slices(out, "", &event->error.message, 1);
		break;
	}
	buffer_add_char(out, '\n');
}

static int drain(struct reader *reader, struct buffer *out)
{
	struct model_event event;
	while (sink_next(&reader->sink, &event))
		stream_add_event(out, &event);
	return reader->sink.error;
}

static int take(struct reader *reader, const char *data, size_t len, struct buffer *out)
{
	struct slice input = {data, len};
	while (input.len > 0 && !reader->sink.ended) {
		int rc = reader_take(reader, &input);
		if (rc == 0)
			rc = drain(reader, out);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int end(struct reader *reader, struct buffer *out)
{
	if (reader->sink.ended)
		return 0;
	int rc = reader_end(reader, "the bytes ended");
	return rc < 0 ? rc : drain(reader, out);
}

static int read_cut(const struct protocol *protocol, const char *text, size_t cut, struct buffer *out)
{
	struct reader reader;
	int rc = reader_init(&reader, protocol);
	if (rc == 0)
		rc = take(&reader, text, cut, out);
	if (rc == 0)
		rc = take(&reader, text + cut, strlen(text) - cut, out);
	if (rc == 0)
		rc = end(&reader, out);
	reader_release(&reader);
	return rc;
}

void stream_assert(const struct protocol *protocol, const char *text, const char *expected)
{
	struct buffer out = BUFFER_INIT(1u << 24);
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		buffer_clear(&out);
		assert_int_equal(read_cut(protocol, text, cut, &out), 0);
		assert_string_equal(buffer_slice(&out).data, expected);
	}
	struct reader reader;
	buffer_clear(&out);
	assert_int_equal(reader_init(&reader, protocol), 0);
	for (size_t i = 0; text[i]; i++)
		assert_int_equal(take(&reader, text + i, 1, &out), 0);
	assert_int_equal(end(&reader, &out), 0);
	assert_string_equal(buffer_slice(&out).data, expected);
	reader_release(&reader);
	buffer_release(&out);
}

void stream_assert_memory(const struct protocol *protocol, const char *text)
{
	for (uint64_t nth = 1;; nth++) {
		fail_alloc_start(nth);
		struct buffer out = BUFFER_INIT(1u << 24);
		int rc = read_cut(protocol, text, strlen(text) / 2, &out);
		int own = buffer_error(&out); /* the failure may have met the test's own buffer */
		buffer_release(&out);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_true(rc == BOBBIN_ENOMEM || (rc == 0 && own == BOBBIN_ENOMEM));
	}
}
