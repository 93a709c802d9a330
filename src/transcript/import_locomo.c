/* SPDX-License-Identifier: MIT */
/*
 * LoCoMo's conversations of two people over many months: one sample or a list of them.
 *
 *	{"sample_id","conversation":{"speaker_a","speaker_b","session_1_date_time":"1:56 pm on 8 May, 2023",
 *	  "session_1":[{"speaker","dia_id":"D1:3","text","img_url"?,"blip_caption"?,"query"?}],"session_2_date_time",…},
 *	 "qa":[…],"event_summary","observation","session_summary"}
 *
 * A sample is one conversation, its sessions in the order of their numbers: the same two talk on, and the
 * questions ask across sessions. Nobody is an assistant; speaker_a is taken for the user, the other for the
 * assistant, and a remark says so. The name, the session and what belongs to a picture are under "src"; a
 * picture's caption is a text block behind what was said, because the addresses are dead and the questions ask
 * for what the captions say.
 *
 * The time of a turn is its session's, which has no zone: "ts" has none either. dia_id is the message's id.
 * Questions and summaries are about the conversation, not part of it: left out.
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "base/limits.h"

struct locomo_session {
	uint64_t number;
	struct json turns;
};

struct locomo {
	struct builder builder;
	struct place place;
	struct locomo_session *sessions;
	size_t count, cap;
	struct json conversation, speaker;
	bool told;
};

static int by_number(const void *a, const void *b)
{
	const struct locomo_session *one = a, *other = b;
	return (one->number > other->number) - (one->number < other->number);
}

/* The N of "session_N"; 0: another key. */
static uint64_t session_number(const struct json *key)
{
	static const char PREFIX[] = "\"session_";
	size_t at = sizeof(PREFIX) - 1;
	uint64_t number = 0;

	if (key->len < at + 2 || key->len > at + 9 || memcmp(key->text, PREFIX, at) != 0)
		return 0;
	for (; at + 1 < key->len; at++) {
		if (key->text[at] < '0' || key->text[at] > '9')
			return 0;
		number = number * 10 + (uint64_t)(key->text[at] - '0');
	}
	return number;
}

static int gather(struct locomo *locomo)
{
	struct json_iter iter;
	struct json key, value;

	locomo->count = 0;
	json_iter_init(&iter, &locomo->conversation);
	while (json_iter_next(&iter, &key, &value)) {
		uint64_t number = session_number(&key);
		if (!number || value.type != JSON_ARRAY)
			continue;
		if (mem_grow((void **)&locomo->sessions, &locomo->cap, locomo->count + 1,
			    sizeof(*locomo->sessions)) < 0)
			return BOBBIN_ENOMEM;
		locomo->sessions[locomo->count++] = (struct locomo_session){number, value};
	}
	if (locomo->count)
		qsort(locomo->sessions, locomo->count, sizeof(*locomo->sessions), by_number);
	return 0;
}

static bool read_number(struct slice *text, unsigned *ret_number)
{
	size_t digits = 0;

	for (*ret_number = 0;
		digits < text->len && digits < 4 && text->data[digits] >= '0' && text->data[digits] <= '9';
		digits++)
		*ret_number = *ret_number * 10 + (unsigned)(text->data[digits] - '0');
	if (digits == 0)
		return false;
	text->data += digits;
	text->len -= digits;
	return true;
}

static bool read_mark(struct slice *text, const char *mark)
{
	if (!slice_starts_with(*text, mark))
		return false;
	text->data += strlen(mark);
	text->len -= strlen(mark);
	return true;
}

static unsigned read_month(struct slice *text)
{
	static const char *const MONTHS[] = {"January", "February", "March", "April", "May", "June", "July",
		"August", "September", "October", "November", "December"};

	for (unsigned i = 0; i < 12; i++) {
		if (read_mark(text, MONTHS[i]))
			return i + 1;
	}
	return 0;
}

/* "1:56 pm on 8 May, 2023" as "2023-05-08T13:56:00"; nothing if it is written otherwise. */
static void write_date(struct json_writer *writer, struct slice text)
{
	struct buffer out = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	unsigned hour, minute, day, month, year;

	if (!read_number(&text, &hour) || !read_mark(&text, ":") || !read_number(&text, &minute) ||
		!read_mark(&text, " "))
		return;
	bool afternoon = read_mark(&text, "pm");
	if ((!afternoon && !read_mark(&text, "am")) || !read_mark(&text, " on ") ||
		!read_number(&text, &day) || !read_mark(&text, " ") || !(month = read_month(&text)) ||
		!read_mark(&text, ", ") || !read_number(&text, &year) || hour > 12 || minute > 59 || day > 31)
		return;
	buffer_addf(&out, "%04u-%02u-%02uT%02u:%02u:00", year, month, day, hour % 12 + (afternoon ? 12 : 0),
		minute);
	if (buffer_error(&out))
		writer->out->error = buffer_error(&out);
	else
		json_member_string(writer, "ts", buffer_slice(&out));
	buffer_release(&out);
}

static void write_caption(struct locomo *locomo, struct json_writer *writer, const struct json *text,
	const struct json *caption)
{
	struct slice said = json_string_content(caption, &locomo->builder.import->arena);
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_add_text(&out, "[photo: ");
	buffer_add_slice(&out, said);
	buffer_add_text(&out, "]");
	json_key(writer, "content");
	json_begin_array(writer);
	write_blocks_of(writer, text);
	write_text_block_of(writer, buffer_slice(&out));
	json_end_array(writer);
	if (!said.data || buffer_error(&out))
		writer->out->error = BOBBIN_ENOMEM;
	buffer_release(&out);
}

static int read_turn(struct locomo *locomo, const struct json *turn, uint64_t number, struct slice date)
{
	static const char *const OWN[] = {"dia_id", "text", "blip_caption", NULL};
	struct import *import = locomo->builder.import;
	struct json speaker, text, caption;

	if (!json_get(turn, "speaker", &speaker) || !json_get(turn, "text", &text))
		return import_not_understood(
			import, locomo->place, "{turn|turns} without a speaker or a text", (struct slice){NULL, 0});
	struct json_writer *writer = builder_begin(
		&locomo->builder, json_string_equal(&speaker, &locomo->speaker) ? ROLE_USER : ROLE_ASSISTANT);
	if (json_get(turn, "blip_caption", &caption) && caption.type == JSON_STRING)
		write_caption(locomo, writer, &text, &caption);
	else
		write_content_of(writer, &text);
	write_date(writer, date);
	json_key(writer, "src");
	json_begin_object(writer);
	json_member_uint(writer, "session", number);
	write_members_except(writer, turn, OWN);
	json_end_object(writer);
	return builder_end_next(&locomo->builder, import_string(import, turn, "dia_id"));
}

static int read_session(struct locomo *locomo, const struct locomo_session *session)
{
	struct buffer key = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	struct slice date = {NULL, 0};
	struct json_iter iter;
	struct json turn;
	int rc;

	buffer_add_text(&key, "session_");
	buffer_add_u64(&key, session->number);
	buffer_add_text(&key, "_date_time");
	if (!(rc = buffer_error(&key)))
		date = import_string(locomo->builder.import, &locomo->conversation, key.data);
	buffer_release(&key);
	json_iter_init(&iter, &session->turns);
	while (!rc && json_iter_next(&iter, NULL, &turn))
		rc = read_turn(locomo, &turn, session->number, date);
	return rc;
}

static int tell(struct locomo *locomo, const struct json *sample)
{
	static const char *const ABOUT[] = {"qa", "event_summary", "observation", "session_summary", NULL};
	struct import *import = locomo->builder.import;
	int rc = 0;

	for (size_t i = 0; ABOUT[i] && !rc; i++) {
		if (part_has(sample, ABOUT[i]))
			rc = import_left_out(
				import, locomo->place, "{question or summary|questions and summaries} about a conversation");
	}
	if (!rc && !locomo->told)
		rc = import_remark(import, locomo->place,
			"two people talk: speaker_a is taken for the user, the other for the assistant");
	locomo->told = true;
	return rc;
}

static int read_sample(struct locomo *locomo, const struct json *sample)
{
	struct import *import = locomo->builder.import;

	if (!part_object(sample, "conversation", &locomo->conversation))
		return import_not_understood(
			import, locomo->place, "{record|records} without a conversation", (struct slice){NULL, 0});
	json_get(&locomo->conversation, "speaker_a", &locomo->speaker);
	int rc = gather(locomo);
	for (size_t i = 0; i < locomo->count && !rc; i++)
		rc = read_session(locomo, &locomo->sessions[i]);
	if (!rc)
		rc = tell(locomo, sample);
	struct slice id = import_string(import, sample, "sample_id");
	return rc ? rc : builder_conversation(&locomo->builder, id, id);
}

static int read_all(struct locomo *locomo, const struct json *document)
{
	struct json_iter iter;
	struct json sample;
	int rc = 0;

	if (document->type != JSON_ARRAY)
		return read_sample(locomo, document);
	json_iter_init(&iter, document);
	while (!rc && json_iter_next(&iter, NULL, &sample))
		rc = read_sample(locomo, &sample);
	return rc;
}

bool import_is_locomo(const struct import_probe *probe)
{
	struct json conversation;

	return part_object(&probe->first, "conversation", &conversation) &&
	       part_has(&conversation, "speaker_a") && part_has(&conversation, "speaker_b");
}

int import_locomo(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct locomo locomo = {0};
	struct json document;
	int rc = import_document(import, data, len, &document, error);

	builder_init(&locomo.builder, import);
	if (!rc)
		rc = read_all(&locomo, &document);
	mem_free(locomo.sessions);
	return import_finish(&locomo.builder, rc, "locomo", error);
}
