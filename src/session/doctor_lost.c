/* SPDX-License-Identifier: MIT */
/* What foreign summaries lost, see doctor_lost.h. */
#include "session/doctor_lost.h"

#include "base/utf8.h"
#include "compact/rules.h"
#include "compact/segment.h"
#include "compact/values.h"
#include "compact/verify.h"
#include "transcript/import_tools.h"
#include <stdio.h>

#define MESSAGES_AT_ONCE 256
#define VALUES_NAMED 6
#define VALUE_BYTES_MIN 4

struct lost {
	const struct path *path;
	const struct doctor_foreign *foreign;
	bobbin_faults *faults;
	struct arena arena; /* of one summary */
	struct slice summary;
	size_t from, place;    /* what it covers: [from, place) */
	struct id_table seen;  /* values of the covered messages that were looked at */
	size_t values, missing;
	struct buffer named;   /* the first of what is missing */
};

static int add_value(void *context, const struct value *value)
{
	struct lost *lost = context;
	size_t ignored;
	if ((value->kind != VALUE_ID && value->kind != VALUE_PATH && value->kind != VALUE_DATE) ||
		value->text.len < VALUE_BYTES_MIN || value->text.len > 120 || id_table_get(&lost->seen, value->text, &ignored))
		return 0;
	/* The table keeps no copies, and the words are another message's soon. */
	const char *kept = arena_copy(&lost->arena, value->text.data, value->text.len);
	int rc = kept ? id_table_put(&lost->seen, (struct slice){kept, value->text.len}, 1) : BOBBIN_ENOMEM;
	if (rc < 0)
		return rc;
	lost->values++;
	if (memmem(lost->summary.data, lost->summary.len, value->text.data, value->text.len))
		return 0;
	if (lost->missing++ < VALUES_NAMED) {
		buffer_add_text(&lost->named, lost->named.len ? ", " : "");
		buffer_add_slice(&lost->named, value->text);
	}
	return buffer_error(&lost->named);
}

/* ---- A person's words ---- */

static const char *find(struct slice text, const char *what)
{
	return text.len ? memmem(text.data, text.len, what, strlen(what)) : NULL;
}

static struct slice after(struct slice text, const char *at)
{
	return (struct slice){at, text.len - (size_t)(at - text.data)};
}

/* What stands between <name> and </name>, or up to the end; what follows is left in *text. False if it is not there. */
static bool take_element(struct slice *text, const char *name, struct slice *ret_inside)
{
	char tag[40];
	snprintf(tag, sizeof(tag), "<%s>", name);
	const char *from = find(*text, tag);
	if (!from)
		return false;
	*text = after(*text, from + strlen(tag));
	snprintf(tag, sizeof(tag), "</%s>", name);
	const char *to = find(*text, tag);
	*ret_inside = to ? (struct slice){text->data, (size_t)(to - text->data)} : *text;
	*text = to ? after(*text, to + strlen(tag)) : (struct slice){"", 0};
	return true;
}

/* Marks of a product, <command-name> and the like, are nobody's words: only what they enclose is added. */
static void add_without_tags(struct buffer *out, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		size_t end = i + 1;
		if (text.data[i] == '<') {
			end += end < text.len && text.data[end] == '/';
			while (end < text.len && ((text.data[end] >= 'a' && text.data[end] <= 'z') || memchr("-_", text.data[end], 2)))
				end++;
		}
		if (end > i + 2 && end < text.len && text.data[end] == '>') {
			buffer_add_char(out, ' ');
			i = end;
		} else {
			buffer_add_char(out, text.data[i]);
		}
	}
}

static void add_without_environment(struct buffer *out, struct slice text)
{
	const char *at;
	struct slice inside;
	while ((at = find(text, "<environment_details>"))) {
		add_without_tags(out, (struct slice){text.data, (size_t)(at - text.data)});
		buffer_add_char(out, ' ');
		if (!take_element(&text, "environment_details", &inside))
			return;
	}
	add_without_tags(out, text);
}

/* Roo's answers to tools hold what a person said to them in elements of their own. */
static void add_feedback(struct buffer *out, struct slice text)
{
	static const char *const NAMES[] = {"feedback", "answer", "user_message"};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		struct slice rest = text, inside;
		while (take_element(&rest, NAMES[i], &inside)) {
			add_without_environment(out, inside);
			buffer_add_char(out, '\n');
		}
	}
}

static bool is_tool_answer(struct slice text)
{
	const char *line = text.len ? memchr(text.data, '\n', text.len) : NULL;
	struct slice first = {text.data, line ? (size_t)(line - text.data) : text.len};
	return first.len && first.data[0] == '[' && find(first, "] Result:");
}

/* Only what a person typed: what tools printed is too much for any summary. */
static int add_values(struct lost *lost, const struct derive_input *input)
{
	struct buffer words = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = 0;
	for (uint32_t i = 0; !rc && i < input->count; i++) {
		struct slice text = input->messages[i].text;
		if (!derive_is_person(&input->messages[i]))
			continue;
		buffer_clear(&words);
		if (is_tool_answer(text))
			add_feedback(&words, text);
		else
			add_without_environment(&words, text);
		rc = buffer_error(&words);
		if (!rc)
			rc = values_read(buffer_slice(&words), add_value, lost);
	}
	buffer_release(&words);
	return rc;
}

static int verify_covered(struct lost *lost, const struct compact_record *record, struct verify_result *ret_result,
	struct bobbin_error *error)
{
	struct verify *verify;
	int rc = verify_new(record, &rules_deriver, &verify, error);
	if (rc < 0)
		return rc;
	for (size_t from = lost->from; !rc && from < lost->place; from += MESSAGES_AT_ONCE) {
		struct derive_input input;
		size_t to = from + MESSAGES_AT_ONCE < lost->place ? from + MESSAGES_AT_ONCE : lost->place;
		rc = derive_input_read(lost->path, from, to, &lost->arena, &input, error);
		if (!rc)
			rc = verify_messages(verify, &input, from, error);
		if (!rc && (rc = add_values(lost, &input)) < 0)
			error_set(error, rc, "out of memory");
	}
	if (!rc)
		rc = verify_finish(verify, NULL, &lost->arena, ret_result, error);
	verify_free(verify);
	return rc;
}

/* ---- What is said ---- */

static int shown(struct slice text, size_t most)
{
	return (int)(text.len < most ? text.len : utf8_truncate(text.data, text.len, most));
}

static int tell_rules(struct lost *lost, const struct verify_result *result)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < result->missing_count; i++) {
		const struct verify_missing *missing = &result->missing[i];
		if (missing->source.place >= lost->path->count)
			continue;
		rc = faults_addf(lost->faults, "lost", lost->foreign->ids[missing->source.place], 0, 0, "",
			"message %zu: the summary at message %zu lacks the user's rule: %.*s",
			(size_t)missing->source.place + 1, lost->place + 1, shown(missing->text, 300), missing->text.data);
	}
	return rc;
}

static int tell_values(struct lost *lost)
{
	if (!lost->missing)
		return 0;
	return faults_addf(lost->faults, "lost", lost->foreign->ids[lost->place], 0, 0, "",
		"message %zu, a summary of messages %zu–%zu: of %zu names, paths and dates that the user wrote it lacks %zu: "
		"%.*s%s",
		lost->place + 1, lost->from + 1, lost->place, lost->values, lost->missing, (int)lost->named.len,
		lost->named.data, lost->missing > VALUES_NAMED ? ", …" : "");
}

static int tell_invented(struct lost *lost, const struct compact_record *record, const struct verify_result *result)
{
	size_t count = 0, first = 0;
	for (size_t i = result->violation_count; i-- > 0;)
		if (result->violations[i].kind == VIOLATION_NOWHERE) {
			count++;
			first = i;
		}
	if (!count)
		return 0;
	const struct verify_violation *violation = &result->violations[first];
	struct slice text = record->items[violation->item].text;
	return faults_addf(lost->faults, "invented", lost->foreign->ids[lost->place], 0, 0, "",
		"message %zu, a summary: %zu value%s in it stand%s in no message it covers, e.g. \"%.*s\" in: %.*s",
		lost->place + 1, count, count == 1 ? "" : "s", count == 1 ? "s" : "", shown(violation->value, 80),
		violation->value.data, shown(text, 160), text.data);
}

/* ---- Each summary ---- */

static int examine_summary(struct lost *lost, const struct message *message, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct compact_record record;
	struct verify_result result;
	buffer_clear(&lost->named);
	lost->values = lost->missing = 0;
	id_table_release(&lost->seen);
	lost->seen = (struct id_table){0};
	message_add_text(message, &lost->arena, &text);
	int rc = buffer_error(&text) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
	lost->summary = buffer_slice(&text);
	compact_record_init(&record, &lost->arena);
	if (!rc)
		rc = compact_record_read_text(&record, lost->summary, error);
	if (!rc)
		rc = verify_covered(lost, &record, &result, error);
	if (!rc && (tell_rules(lost, &result) < 0 || tell_values(lost) < 0 || tell_invented(lost, &record, &result) < 0))
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	buffer_release(&text);
	return rc;
}

/* A summary that keeps messages names the first of them: it covers what is before that. */
static size_t cut_of(struct lost *lost, const struct message *message, size_t place)
{
	struct json cut;
	if (!json_get(&message->record, "cut", &cut) || cut.type != JSON_STRING)
		return place;
	struct slice id = json_string_content(&cut, &lost->arena);
	for (size_t i = place; id.data && i-- > 0;)
		if (slice_is(id, lost->foreign->ids[i]))
			return i;
	return place;
}

int doctor_lost(const struct path *path, const struct doctor_foreign *foreign, bobbin_faults *faults,
	struct bobbin_error *error)
{
	struct lost lost = {.path = path, .foreign = foreign, .faults = faults, .named = BUFFER_INIT(4096)};
	struct path_item item;
	int rc = 0;
	for (size_t i = 0; !rc && i < path->count && faults->count < LIMIT_FAULTS_REPORTED; i++) {
		struct message message;
		rc = path_item(path, i, &item, error);
		if (rc || item.origin != ORIGIN_SUMMARY)
			continue;
		rc = path_message(path, i, &lost.arena, &message, error);
		lost.place = i;
		if (!rc && cut_of(&lost, &message, i) > 0)
			rc = examine_summary(&lost, &message, error);
		arena_reset(&lost.arena);
	}
	id_table_release(&lost.seen);
	buffer_release(&lost.named);
	arena_release(&lost.arena);
	return rc;
}
