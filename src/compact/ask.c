/* SPDX-License-Identifier: MIT */
/* The questions and answers of one segment. Invariants: ask.h. */
#include "compact/ask.h"

#include <stdio.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "compact/ask_text.h"

/* Room in a request for what is sent back at the second try, beside the part itself: a share of the
 * window. */
#define RETRY_SHARE 4

struct part_state {
	struct ask_part part;
	unsigned tries;
	bool done, usable;
	struct compact_record record; /* of the best answer so far, refused lines dropped */
	uint32_t dropped;
	struct slice answer, reasons; /* of the first answer, for the second request */
};

struct compact_ask {
	const struct derive_input *input;
	struct compact_ask_options options;
	struct arena arena;
	struct part_state *parts;
	size_t count, at;
	struct buffer scratch, text;
	bool prepared; /* text holds the request at hand */
	struct compact_ask_report report;
	struct buffer refusals;
	uint64_t system_tokens;
};

static int out_of_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory while asking for a record");
}

static int count_tokens(struct compact_ask *ask, struct slice text, uint64_t *ret_tokens)
{
	if (ask->options.counter)
		return token_counter_count(ask->options.counter, text.data, text.len, ret_tokens);
	*ret_tokens = text.len ? tokens_estimate(text.data, text.len) : 0;
	return 0;
}

/* Tokens of a part: what is left of the input beside prompt and second try. */
static int part_tokens(struct compact_ask *ask, uint64_t *ret_tokens, struct bobbin_error *error)
{
	uint64_t limit = ask->options.input_tokens_max, used;
	int rc = count_tokens(ask, slice_of(compact_prompt), &ask->system_tokens);

	if (rc)
		return rc;
	*ret_tokens = 0;
	if (!limit)
		return 0;
	used = ask->system_tokens + limit / RETRY_SHARE;
	if (used + COMPACT_ASK_PART_TOKENS_MIN > limit)
		return error_set(error, BOBBIN_EBUDGET,
			"the model for records takes %llu tokens, of which its instructions need %llu: too "
			"few to ask it anything",
			(unsigned long long)limit, (unsigned long long)ask->system_tokens);
	*ret_tokens = limit - used;
	return 0;
}

int compact_ask_new(const struct derive_input *input, const struct compact_ask_options *options,
	struct compact_ask **ret_ask, struct bobbin_error *error)
{
	struct compact_ask *ask = mem_alloc_zero(sizeof *ask);
	struct ask_part *parts = NULL;
	uint64_t tokens;
	int rc;

	if (!ask)
		return out_of_memory(error);
	ask->input = input;
	ask->options = *options;
	ask->scratch = (struct buffer)BUFFER_INIT(2 * (size_t)LIMIT_LINE_BYTES);
	ask->text = (struct buffer)BUFFER_INIT(LIMIT_REQUEST_BYTES);
	ask->refusals = (struct buffer)BUFFER_INIT(LIMIT_LINE_BYTES);
	if ((rc = part_tokens(ask, &tokens, error)) == BOBBIN_EBUDGET) {
		compact_ask_free(ask);
		return rc;
	}
	if (!rc)
		rc = ask_divide(input, tokens, options->counter, &ask->arena, &parts, &ask->count);
	if (!rc && !(ask->parts = arena_alloc_zero(&ask->arena, (ask->count + 1) * sizeof *ask->parts)))
		rc = BOBBIN_ENOMEM;
	if (rc) {
		compact_ask_free(ask);
		return out_of_memory(error);
	}
	for (size_t i = 0; i < ask->count; i++)
		ask->parts[i].part = parts[i];
	ask->report.parts = ask->count;
	*ret_ask = ask;
	return 0;
}

void compact_ask_free(struct compact_ask *ask)
{
	if (!ask)
		return;
	buffer_release(&ask->scratch);
	buffer_release(&ask->text);
	buffer_release(&ask->refusals);
	arena_release(&ask->arena);
	mem_free(ask);
}

/* ---- Requests */

/* What was wrong with the first answer, as far as there is room for it. */
static void add_second_try(struct compact_ask *ask, const struct part_state *part)
{
	uint64_t answer = 0, reasons = 0;
	uint64_t room =
		ask->options.input_tokens_max ? ask->options.input_tokens_max / RETRY_SHARE : UINT64_MAX;

	if (!part->answer.len || count_tokens(ask, part->answer, &answer) ||
		count_tokens(ask, part->reasons, &reasons))
		return;
	if (answer + reasons + 100 <= room) {
		buffer_add_text(&ask->text, "\nYour minutes of these messages were:\n\n");
		buffer_add_slice(&ask->text, part->answer);
	}
	if (reasons + 100 > room)
		return;
	buffer_add_text(&ask->text, "\n\nThis is wrong in them:\n");
	buffer_add_slice(&ask->text, part->reasons);
	buffer_add_text(&ask->text, "\nWrite the minutes again, all of them, without these faults.\n");
}

static void prepare(struct compact_ask *ask, const struct part_state *part)
{
	buffer_clear(&ask->text);
	buffer_add_text(&ask->text, "The messages:\n\n");
	ask_add_part(ask->input, &part->part, &ask->scratch, &ask->text);
	buffer_add_text(&ask->text, "\nEnd of the messages. Write the minutes.\n");
	if (part->tries)
		add_second_try(ask, part);
	ask->prepared = true;
}

bool compact_ask_next(struct compact_ask *ask, struct compact_ask_request *ret_request)
{
	struct part_state *part;
	uint64_t tokens;

	while (ask->at < ask->count && ask->parts[ask->at].done)
		ask->at++;
	if (ask->at == ask->count)
		return false;
	part = &ask->parts[ask->at];
	if (!ask->prepared)
		prepare(ask, part);
	if (buffer_error(&ask->text) || count_tokens(ask, buffer_slice(&ask->text), &tokens))
		return false;
	*ret_request = (struct compact_ask_request){.system = slice_of(compact_prompt),
		.user = buffer_slice(&ask->text),
		.part = ask->at,
		.parts = ask->count,
		.attempt = part->tries,
		.tokens = tokens + ask->system_tokens};
	return true;
}

static struct part_state *count_try(struct compact_ask *ask)
{
	struct part_state *part = &ask->parts[ask->at];

	part->tries++;
	ask->report.requests++;
	ask->prepared = false;
	if (part->tries >= COMPACT_ASK_TRIES)
		part->done = true;
	return part;
}

static void note(struct compact_ask *ask, const char *reason)
{
	snprintf(ask->report.reason, sizeof ask->report.reason, "%s", reason);
}

void compact_ask_failed(struct compact_ask *ask, const char *reason)
{
	if (ask->at < ask->count) {
		count_try(ask);
		note(ask, reason);
	}
}

/* ---- Answers */

const char *compact_answer_text(enum compact_answer answer)
{
	static const char *const TEXTS[] = {"taken", "the answer was empty", "the answer was cut off",
		"the answer was no record", "the answer was longer than what it is about",
		"some lines were refused"};

	return TEXTS[answer];
}

/* Takes the last line off if it is END; models like to put it in stars or a fence. */
static bool take_end(struct slice *text)
{
	while (text->len && strchr(" \t\r\n`*.", text->data[text->len - 1]))
		text->len--;
	if (text->len < 3 || memcmp(text->data + text->len - 3, "END", 3) != 0)
		return false;
	text->len -= 3;
	while (text->len && text->data[text->len - 1] == '*')
		text->len--;
	return !text->len || text->data[text->len - 1] == '\n';
}

/* A model may write m3 for 3; an ordinal outside of the part is no source. */
static void settle_sources(struct compact_item *item, const struct ask_part *part)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < item->source_count; i++) {
		struct item_source source = item->sources[i];

		if (source.place == SOURCE_NOWHERE && source.id.len > 1 && source.id.data[0] == 'm') {
			uint64_t number = 0;

			for (size_t c = 1; c < source.id.len && number < SOURCE_NOWHERE; c++)
				number = number * 10 + (uint64_t)(source.id.data[c] - '0');
			source = (struct item_source){
				number < SOURCE_NOWHERE ? (uint32_t)number - 1 : SOURCE_NOWHERE, {NULL, 0}};
		}
		if (source.place >= part->from && source.place < part->to)
			item->sources[kept++] = source;
	}
	item->source_count = kept;
}

static bool begins_with_heading(struct slice text)
{
	while (text.len) {
		const char *end = memchr(text.data, '\n', text.len);
		struct slice line = {text.data, end ? (size_t)(end - text.data) : text.len};
		enum item_kind kind;

		text.data += line.len + (end != NULL);
		text.len -= line.len + (end != NULL);
		while (line.len && strchr("#*: \t\r", line.data[line.len - 1]))
			line.len--;
		while (line.len && strchr("#* \t", line.data[0]))
			line.data++, line.len--;
		if (item_kind_of_heading(line, &kind))
			return true;
	}
	return false;
}

/* Reads an answer into a record with places. */
static int read_answer(struct compact_ask *ask, const struct ask_part *part, struct slice text,
	struct compact_record *record)
{
	int rc;

	compact_record_init(record, &ask->arena);
	if ((rc = compact_record_read_text(record, text, NULL)))
		return rc;
	for (size_t i = 0; i < record->count; i++) {
		settle_sources(&record->items[i], part);
		if (record->items[i].kind == ITEM_CONSTRAINT)
			record->items[i].by = BY_USER;
	}
	return 0;
}

static enum compact_answer judge_form(
	const struct derive_input *input, const struct ask_part *part, struct slice *text, bool whole)
{
	uint64_t bytes = 0;

	for (uint32_t i = part->from; i < part->to; i++)
		bytes += input->messages[i].bytes;
	while (text->len && (unsigned char)text->data[0] <= ' ')
		text->data++, text->len--;
	if (!text->len)
		return ANSWER_EMPTY;
	if (!whole)
		return ANSWER_CUT;
	if (!begins_with_heading(*text))
		return ANSWER_NO_RECORD;
	if (!take_end(text))
		return ANSWER_CUT;
	return text->len > bytes + 400 ? ANSWER_TOO_LONG
				       : ANSWER_TAKEN; /* headings and numbers are not from the input */
}

/* Items without a source are refused like those with a wrong one. */
static void add_uncited(const struct compact_record *record, struct buffer *out)
{
	for (size_t i = 0; i < record->count; i++) {
		if (record->items[i].source_count)
			continue;
		buffer_add_text(out, "No number of a message of these in brackets: ");
		buffer_add_slice(out, record->items[i].text);
		buffer_add_char(out, '\n');
	}
}

static int drop_uncited(struct compact_record *record, uint32_t *dropped)
{
	size_t kept = 0;

	for (size_t i = 0; i < record->count; i++) {
		if (record->items[i].source_count)
			record->items[kept++] = record->items[i];
		else
			++*dropped;
	}
	record->count = kept;
	return 0;
}

/* Keeps what passes of an answer; the reasons of what does not stand in `scratch`. */
static int take_answer(
	struct compact_ask *ask, struct part_state *part, struct slice text, struct bobbin_error *error)
{
	struct compact_record record;
	struct verify_result result;
	uint32_t before;
	int rc = read_answer(ask, &part->part, text, &record);

	if (rc)
		return out_of_memory(error);
	if ((rc = verify_segment(&record, ask->input, NULL, &ask->arena, &result, error)))
		return rc;
	buffer_clear(&ask->scratch);
	verify_write_reasons(&record, &result, &ask->scratch);
	add_uncited(&record, &ask->scratch);
	before = (uint32_t)record.count;
	if ((rc = verify_repair(&record, &result, &ask->arena, &part->record, error)))
		return rc;
	part->dropped = before - (uint32_t)part->record.count;
	part->usable = true;
	return drop_uncited(&part->record, &part->dropped);
}

static int keep_for_retry(struct compact_ask *ask, struct part_state *part, struct slice text)
{
	part->answer.data = arena_copy(&ask->arena, text.data, text.len);
	part->answer.len = text.len;
	part->reasons.data = arena_copy(&ask->arena, ask->scratch.data, ask->scratch.len);
	part->reasons.len = ask->scratch.len;
	return part->answer.data && part->reasons.data ? 0 : BOBBIN_ENOMEM;
}

int compact_ask_answer(struct compact_ask *ask, struct slice text, bool whole,
	enum compact_answer *ret_answer, struct bobbin_error *error)
{
	struct part_state *part;
	enum compact_answer answer;
	int rc;

	if (ask->at >= ask->count)
		return error_set(error, BOBBIN_EINVAL, "nothing was asked");
	part = count_try(ask);
	answer = judge_form(ask->input, &part->part, &text, whole);
	if (answer == ANSWER_TAKEN) {
		if ((rc = take_answer(ask, part, text, error)))
			return rc;
		if (!part->dropped) {
			part->done = true;
		} else {
			answer = ANSWER_REFUSED;
			if (!part->done && (rc = keep_for_retry(ask, part, text)))
				return out_of_memory(error);
			if (part->done)
				buffer_add_slice(&ask->refusals, buffer_slice(&ask->scratch));
		}
	} else {
		note(ask, compact_answer_text(answer));
		if (part->done &&
			part->usable) /* the first answer is taken, without what was refused in it */
			buffer_add_slice(&ask->refusals, part->reasons);
	}
	if (ret_answer)
		*ret_answer = answer;
	return 0;
}

/* ---- The record */

static int join_parts(struct compact_ask *ask, struct compact_record *record)
{
	int rc = 0;

	for (size_t p = 0; p < ask->count && !rc; p++) {
		for (size_t i = 0; i < ask->parts[p].record.count && !rc; i++)
			compact_record_add(record, &ask->parts[p].record.items[i], &rc);
		ask->report.dropped += ask->parts[p].dropped;
	}
	return rc;
}

static int report_refusals(struct compact_ask *ask, struct arena *arena)
{
	if (buffer_error(&ask->refusals))
		return buffer_error(&ask->refusals);
	ask->report.refusals.len = ask->refusals.len;
	ask->report.refusals.data =
		arena_copy(arena, ask->refusals.len ? ask->refusals.data : "", ask->refusals.len);
	return ask->report.refusals.data ? 0 : BOBBIN_ENOMEM;
}

int compact_ask_finish(struct compact_ask *ask, const struct deriver *harvester, struct arena *arena,
	struct compact_record *ret_record, struct compact_ask_report *ret_report, struct bobbin_error *error)
{
	struct compact_record joined;
	struct verify_result result;
	int rc;

	ask->report.parts_failed = 0;
	ask->report.dropped = 0;
	for (size_t i = 0; i < ask->count; i++)
		ask->report.parts_failed += !ask->parts[i].usable;
	if (report_refusals(ask, arena))
		return out_of_memory(error);
	*ret_report = ask->report;
	if (ask->report.parts_failed)
		return error_set(error, BOBBIN_EPROVIDER, "no record from the model: %s",
			ask->report.reason[0] ? ask->report.reason : "not all of it was asked for");
	compact_record_init(&joined, arena);
	if (join_parts(ask, &joined))
		return out_of_memory(error);
	if ((rc = verify_segment(&joined, ask->input, harvester, arena, &result, error)) ||
		(rc = verify_repair(&joined, &result, arena, ret_record, error)))
		return rc;
	ask->report.dropped += (uint32_t)(joined.count + result.missing_count - ret_record->count);
	ask->report.repaired = (uint32_t)result.missing_count;
	*ret_report = ask->report;
	return 0;
}
