/* SPDX-License-Identifier: MIT */
/* Sessions to compact, and what became of them, through the public interface alone. */
#ifndef TESTS_SESSION_COMPACTED_H
#define TESTS_SESSION_COMPACTED_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "talk.h"

/* ---- Messages; all return the id, which lives until eight more were asked for */

const char *say_user(bobbin_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *say_assistant(bobbin_session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An assistant message with one call, and its result. */
const char *say_round(
	bobbin_session *session, const char *id, const char *tool, const char *arguments, const char *result);
const char *say_record(bobbin_session *session, const char *json);
/* A user message and an answer of about so many tokens each, that state nothing. */
void say_filler(bobbin_session *session, unsigned turns, unsigned tokens);
/* Rounds of the manufactured conversation (model/mock.h). */
void say_mock(bobbin_session *session, uint64_t seed, unsigned rounds, unsigned tokens);

/* ---- Budgets: a window whose history is exactly so many tokens. */

struct bobbin_window_options history_of(uint64_t tokens);

/* ---- Compaction */

struct compacted {
	int done;
	struct bobbin_compaction_report report; /* its texts are those below */
	char line[1024], reason[1024], steps[64], cut[BOBBIN_MESSAGE_ID_BYTES],
		inner_cut[BOBBIN_MESSAGE_ID_BYTES], digest[80], text[65536];
};
/* Fails the test on an error; `window` and `deriver` may be NULL (defaults; rules). Forced. */
const struct compacted *compact(
	bobbin_session *session, const struct bobbin_window_options *window, bobbin_model *deriver);
/* The same unforced. */
const struct compacted *compact_if_needed(
	bobbin_session *session, const struct bobbin_window_options *window, bobbin_model *deriver);

/* The body in openai-chat, checked in all three dialects first. To be freed. */
char *request_of(bobbin_session *session, const struct bobbin_window_options *window);
/* The merged record in force, "" without one. To be freed. */
char *record_of(bobbin_session *session);
/* 1 if there is a record that is not used. */
int is_stale(bobbin_session *session);
/* Faults of the record in force; their texts are printed if there are any. */
size_t verify_faults(bobbin_session *session);

/* Closes and opens again what a restart would; with the caches deleted. */
bobbin_session *restart(bobbin_session *session, const char *id);

unsigned count_of(const char *text, const char *part);
/* Lines of a "type" in the session's log. */
unsigned log_lines(const char *id, const char *type);
/* Bytes of the log file. To be freed. */
char *log_bytes(const char *id);

#define assert_contains(text, part)                                                                          \
	do {                                                                                                 \
		if (!strstr((text), (part)))                                                                 \
			fail_msg("\"%s\" is not in:\n%s", (part), (text));                                   \
	} while (0)
#define assert_lacks(text, part)                                                                             \
	do {                                                                                                 \
		if (strstr((text), (part)))                                                                  \
			fail_msg("\"%s\" is in:\n%s", (part), (text));                                       \
	} while (0)

#endif
