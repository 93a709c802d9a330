/* SPDX-License-Identifier: MIT */
/* Server-sent events, however they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/error.h"
#include "base/limits.h"
#include "model/sse.h"
#include "support/fail.h"

/* Events as "type=data;" one after the other. */
static int take(struct sse *sse, struct slice bytes, struct buffer *out)
{
	struct sse_event event;
	int rc;
	while ((rc = sse_next(sse, &bytes, &event)) == 1) {
		buffer_add_slice(out, event.type);
		buffer_add_char(out, '=');
		buffer_add_slice(out, event.data);
		buffer_add_char(out, ';');
	}
	return rc;
}

static void assert_events_at(const char *text, size_t len, size_t cut, const char *expected, bool unfinished)
{
	struct sse sse;
	struct buffer out = BUFFER_INIT(1u << 20);
	sse_init(&sse);
	assert_int_equal(take(&sse, (struct slice){text, cut}, &out), 0);
	assert_int_equal(take(&sse, (struct slice){text + cut, len - cut}, &out), 0);
	assert_string_equal(buffer_slice(&out).data, expected);
	assert_int_equal(sse_is_unfinished(&sse), unfinished);
	sse_release(&sse);
	buffer_release(&out);
}

/* The same events whole, cut at every offset, and byte by byte. */
static void assert_events(const char *text, const char *expected, bool unfinished)
{
	size_t len = strlen(text);
	struct sse sse;
	struct buffer out = BUFFER_INIT(1u << 20);
	for (size_t cut = 0; cut <= len; cut++)
		assert_events_at(text, len, cut, expected, unfinished);
	sse_init(&sse);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(take(&sse, (struct slice){text + i, 1}, &out), 0);
	assert_string_equal(buffer_slice(&out).data, expected);
	assert_int_equal(sse_is_unfinished(&sse), unfinished);
	sse_release(&sse);
	buffer_release(&out);
}

/* Case G3: a character is never decoded before it is whole. */
static void g3__characters_cut_at_every_byte(void **state)
{
	(void)state;
	assert_events("data: {\"delta\":\"你好吗🇨🇳\"}\n\n", "={\"delta\":\"你好吗🇨🇳\"};", false);
}

static void line_ends__lf_cr_and_crlf(void **state)
{
	(void)state;
	assert_events("event: a\ndata: 1\n\ndata: 2\n\n", "a=1;=2;", false);
	assert_events("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "a=1;=2;", false);
	assert_events("event: a\rdata: 1\r\rdata: 2\r\r", "a=1;=2;", false);
	assert_events("data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n", "=1;=2;=3;", false);
	/* CR LF LF: one line end, then an empty line. */
	assert_events("data: x\r\n\n", "=x;", false);
}

static void fields__colon_space_and_several_data(void **state)
{
	(void)state;
	assert_events("data:x\n\n", "=x;", false);
	assert_events("data:  x\n\n", "= x;", false);
	assert_events("data: a\ndata: b\ndata:\ndata:c\n\n", "=a\nb\n\nc;", false);
	assert_events("data\n\n", "=;", false);
	assert_events("data: a:b: c\n\n", "=a:b: c;", false);
	assert_events("event:one\nevent: two\ndata: 1\n\ndata: 2\n\n", "two=1;=2;", false);
}

static void ignored__comments_ids_retries_and_unknown_fields(void **state)
{
	(void)state;
	assert_events(": keep-alive\n\n:\nid: 7\nretry: 10000\nDATA: no\nnonsense\ndata: yes\n\n: bye\n",
		"=yes;", false);
	assert_events("event: lost\n\ndata: 1\n\n", "=1;", false);
	assert_events("\n\n\n", "", false);
	assert_events("", "", false);
}

static void mark__at_the_beginning_only(void **state)
{
	(void)state;
	assert_events("\xEF\xBB\xBF"
		      "data: 1\n\n",
		"=1;", false);
	assert_events("\xEF\xBB\xBF\ndata: 1\n\n", "=1;", false);
	assert_events("data: 1\n\n\xEF\xBB\xBF"
		      "data: 2\n\n",
		"=1;", false);
	assert_events("data: \xEF\xBB\xBF"
		      "1\n\n",
		"=\xEF\xBB\xBF"
		"1;",
		false);
}

static void end__unfinished_event_is_reported_not_given(void **state)
{
	(void)state;
	assert_events("data: 1\n\ndata: half\n", "=1;", true);
	assert_events("data: 1\n\ndata: ha", "=1;", true);
	assert_events("data: 1\n\nda", "=1;", true);
	assert_events("data: 1\n", "", true);
	assert_events("data: 1\n\n: half a comm", "=1;", false);
}

static void bytes__that_are_not_utf8_pass(void **state)
{
	(void)state;
	assert_events("data: \xFF\x80\xE4\n\n", "=\xFF\x80\xE4;", false);
}

static void nul__is_a_byte_like_any_other(void **state)
{
	(void)state;
	static const char text[] = "data: a\0b\n\n";
	struct sse sse;
	struct sse_event event;
	sse_init(&sse);
	struct slice input = {text, sizeof(text) - 1};
	assert_int_equal(sse_next(&sse, &input, &event), 1);
	assert_int_equal(event.data.len, 3);
	assert_memory_equal(event.data.data, "a\0b", 3);
	sse_release(&sse);
}

/* Feeds `text` over and over; gives the bytes that were taken before the limit was met. */
static size_t feed_until_limit(const char *text)
{
	struct sse sse;
	struct sse_event event;
	size_t len = strlen(text), taken = 0;
	int rc = 0;
	sse_init(&sse);
	while (rc == 0 && taken < 2 * (size_t)LIMIT_EVENT_BYTES) {
		struct slice input = {text, len};
		rc = sse_next(&sse, &input, &event);
		taken += len;
	}
	assert_int_equal(rc, BOBBIN_ELIMIT);
	struct slice more = SLICE_LITERAL("\n\ndata: 1\n\n");
	assert_int_equal(sse_next(&sse, &more, &event), BOBBIN_ELIMIT); /* it stays so */
	sse_release(&sse);
	return taken;
}

/* Case G3: 20 MB without a line end are stopped at 16 MiB. */
static void g3__endless_line_and_endless_event_end_at_the_limit(void **state)
{
	(void)state;
	char *piece = malloc(65537);
	memset(piece, 'x', 65536);
	piece[65536] = '\0';
	assert_int_equal(feed_until_limit(piece), LIMIT_EVENT_BYTES + 65536);
	memcpy(piece, "data: ", 6);
	piece[65535] = '\n';
	size_t taken = feed_until_limit(piece);
	assert_in_range(taken, LIMIT_EVENT_BYTES, LIMIT_EVENT_BYTES + 131072);
	free(piece);
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct sse sse;
		struct sse_event event;
		struct slice input = SLICE_LITERAL("event: some\ndata: thing\n\ndata: more\n\n");
		fail_alloc_start(nth);
		sse_init(&sse);
		int rc = sse_next(&sse, &input, &event);
		if (rc == 1)
			rc = sse_next(&sse, &input, &event);
		sse_release(&sse);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		assert_int_equal(rc, report.failed ? BOBBIN_ENOMEM : 1);
		if (!report.failed)
			break;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(g3__characters_cut_at_every_byte),
		cmocka_unit_test(line_ends__lf_cr_and_crlf),
		cmocka_unit_test(fields__colon_space_and_several_data),
		cmocka_unit_test(ignored__comments_ids_retries_and_unknown_fields),
		cmocka_unit_test(mark__at_the_beginning_only),
		cmocka_unit_test(end__unfinished_event_is_reported_not_given),
		cmocka_unit_test(bytes__that_are_not_utf8_pass),
		cmocka_unit_test(nul__is_a_byte_like_any_other),
		cmocka_unit_test(g3__endless_line_and_endless_event_end_at_the_limit),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
