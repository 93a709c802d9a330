/* SPDX-License-Identifier: MIT */
/* Imports a text and compares records with what they must be, byte for byte. */
#ifndef TESTS_TRANSCRIPT_IMPORTED_H
#define TESTS_TRANSCRIPT_IMPORTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/json.h"
#include "transcript/import.h"

/* Reads the text; the test fails with the error's message if that fails. Format NULL: recognised. */
void import_text(struct import *import, const char *format, const char *text);

/* Record `index` of conversation 0 without its "src", against JSON text. */
void expect_record(const struct import *import, size_t index, const char *expected);
/* The same for another conversation. */
void expect_record_of(const struct import *import, size_t conversation, size_t index, const char *expected);

/* The "src" of a record of conversation 0, against JSON text; NULL: there is none. */
void expect_source(const struct import *import, size_t index, const char *expected);

/* messages, calls, results and head of conversation 0, and its number of records. */
void expect_counts(const struct import *import, uint64_t messages, uint64_t calls, uint64_t results, size_t head);

/* True if there is a warning at that line that contains the text. */
bool has_warning(const struct import *import, uint64_t line, const char *text);

#endif
