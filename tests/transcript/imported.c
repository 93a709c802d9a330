/* SPDX-License-Identifier: MIT */
#include "transcript/imported.h"

#include <stdio.h>

void import_text(struct import *import, const char *format, const char *text)
{
	struct bobbin_error error = {0};

	if (import_read(format, text, strlen(text), import, &error) < 0)
		fail_msg("not read: %s (line %llu, offset %llu)", error.message,
			(unsigned long long)error.line, (unsigned long long)error.offset);
}

static void parse_record(
	const struct import *import, size_t conversation, size_t index, struct json *ret_record)
{
	assert_true(conversation < import->conversation_count);
	const struct import_conversation *found = &import->conversations[conversation];
	assert_true(index < found->record_count);
	assert_int_equal(
		json_parse(found->records[index].data, found->records[index].len, ret_record, NULL), 0);
}

void expect_record_of(const struct import *import, size_t conversation, size_t index, const char *expected)
{
	struct buffer out = BUFFER_INIT(1 << 20);
	struct json record;

	parse_record(import, conversation, index, &record);
	json_splice(&out, &record, "src", (struct slice){NULL, 0});
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, expected);
	buffer_release(&out);
}

void expect_record(const struct import *import, size_t index, const char *expected)
{
	expect_record_of(import, 0, index, expected);
}

void expect_source(const struct import *import, size_t index, const char *expected)
{
	struct json record, source;
	char text[4096];

	parse_record(import, 0, index, &record);
	if (!json_get(&record, "src", &source)) {
		assert_null(expected);
		return;
	}
	assert_non_null(expected);
	assert_true(source.len < sizeof(text));
	memcpy(text, source.text, source.len);
	text[source.len] = '\0';
	assert_string_equal(text, expected);
}

void expect_counts(
	const struct import *import, uint64_t messages, uint64_t calls, uint64_t results, size_t head)
{
	assert_true(import->conversation_count > 0);
	const struct import_conversation *found = &import->conversations[0];
	assert_int_equal(found->messages, messages);
	assert_int_equal(found->record_count, messages);
	assert_int_equal(found->calls, calls);
	assert_int_equal(found->results, results);
	assert_int_equal(found->head, head);
}

bool has_warning(const struct import *import, uint64_t line, const char *text)
{
	for (size_t i = 0; i < import->warning_count; i++) {
		if (import->warnings[i].line == line && strstr(import->warnings[i].message, text))
			return true;
	}
	return false;
}
