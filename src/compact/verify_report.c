/* SPDX-License-Identifier: MIT */
/* Verification: its result in words and as JSON. */
#include "base/json.h"
#include "base/utf8.h"
#include "compact/verify.h"

#define SHOWN_BYTES 120

const char *violation_text(enum violation_kind kind)
{
	static const char *const TEXTS[] = {
		"invented", "not cited", "not the user's", "no such source", "wrong state"};

	return TEXTS[kind];
}

static const char *explanation(enum violation_kind kind)
{
	static const char *const TEXTS[] = {"stands in none of the messages",
		"does not stand in the messages it cites",
		"is said to be the user's, but the user did not write it",
		"cites a message that is not among them",
		"has a state that no message of the user's gives it"};

	return TEXTS[kind];
}

static void write_quoted(struct slice text, struct buffer *out)
{
	size_t len = utf8_truncate(text.data, text.len, SHOWN_BYTES);

	buffer_add_char(out, '"');
	buffer_add(out, text.data, len);
	buffer_add_text(out, len < text.len ? "…\"" : "\"");
}

static void write_place(const struct item_source *source, struct buffer *out)
{
	if (source->id.len)
		buffer_add_slice(out, source->id);
	else
		buffer_addf(out, "%u", (unsigned)source->place + 1);
}

void verify_write_reasons(
	const struct compact_record *record, const struct verify_result *result, struct buffer *out)
{
	for (size_t i = 0; i < result->violation_count; i++) {
		const struct verify_violation *violation = &result->violations[i];
		const struct compact_item *item = &record->items[violation->item];

		write_quoted(violation->value, out);
		buffer_addf(out, " in %s %s", item_kind_heading(item->kind), explanation(violation->kind));
		if (!slice_equal(violation->value, item->text)) {
			buffer_add_text(out, ": ");
			write_quoted(item->text, out);
		}
		buffer_add_char(out, '\n');
	}
	for (size_t i = 0; i < result->missing_count; i++) {
		buffer_add_text(out, "CONSTRAINTS lacks ");
		write_quoted(result->missing[i].text, out);
		buffer_add_text(out, ", which the user wrote in ");
		write_place(&result->missing[i].source, out);
		buffer_add_char(out, '\n');
	}
}

static void write_source(struct json_writer *writer, const char *key, const struct item_source *source)
{
	if (source->id.len)
		json_member_string(writer, key, source->id);
	else if (source->place != SOURCE_NOWHERE)
		json_member_uint(writer, key, (uint64_t)source->place + 1);
}

static void write_violation(struct json_writer *writer, const struct compact_record *record,
	const struct verify_violation *violation)
{
	const struct compact_item *item = &record->items[violation->item];

	json_begin_object(writer);
	json_member_text(writer, "why", violation_text(violation->kind));
	json_member_text(writer, "kind", item_kind_member(item->kind));
	json_member_string(writer, "value", violation->value);
	json_member_string(writer, "text", item->text);
	json_end_object(writer);
}

void verify_write_json(
	const struct compact_record *record, const struct verify_result *result, struct buffer *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_bool(&writer, "ok", verify_ok(result));
	json_member_uint(&writer, "values", result->values);
	json_member_uint(&writer, "constraints", result->constraints);
	json_key(&writer, "violations");
	json_begin_array(&writer);
	for (size_t i = 0; i < result->violation_count; i++)
		write_violation(&writer, record, &result->violations[i]);
	json_end_array(&writer);
	json_key(&writer, "missing");
	json_begin_array(&writer);
	for (size_t i = 0; i < result->missing_count; i++) {
		json_begin_object(&writer);
		json_member_string(&writer, "text", result->missing[i].text);
		json_member_text(&writer, "state", item_state_text(result->missing[i].state));
		write_source(&writer, "from", &result->missing[i].source);
		json_end_object(&writer);
	}
	json_end_array(&writer);
	json_end_object(&writer);
}
