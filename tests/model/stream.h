/* SPDX-License-Identifier: MIT */
/* The events a protocol makes of bytes, as lines of text, for the tests of this room. */
#ifndef TESTS_MODEL_STREAM_H
#define TESTS_MODEL_STREAM_H

#include "base/buffer.h"
#include "model/protocol.h"

/*
 * One line an event:
 *	text Hel
 *	thinking hm
 *	sealed {"type":…}
 *	call c1 ls {"a":1}
 *	usage 3 0 -1 7              input, cached, cache_write, output
 *	done tool_calls tool_use    what it means, the provider's word
 *	error cut_off 0 once …      failure, status, "again" or "once", words
 */
void stream_add_event(struct buffer *out, const struct model_event *event);

/* Reads `text` whole, cut in two at every offset, and byte by byte; every time the lines must be these. */
void stream_assert(const struct protocol *protocol, const char *text, const char *expected);

/* Reads `text` with the nth allocation failing, for every nth: the end is BOBBIN_ENOMEM, and nothing leaks.
 */
void stream_assert_memory(const struct protocol *protocol, const char *text);

#endif
