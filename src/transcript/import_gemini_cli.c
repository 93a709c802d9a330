/* SPDX-License-Identifier: MIT */
/*
 * Gemini CLI's sessions. Until 2026 a document that is rewritten with each message, since then lines:
 *
 *	{"sessionId","projectHash","startTime","messages":[RECORD,…]}
 *
 *	{"sessionId","projectHash",…,"kind":"main"}
 *	RECORD                          the same id again: the later one counts, in the earlier one's place (the
 *	                                one with more calls, if the lines were reordered: states only grow)
 *	{"$set":{"lastUpdated":…}}      changes members of the header
 *	{"$rewindTo":ID}                the record of that id and all after it were taken back
 *
 * A record is {"id","timestamp","type","content":TEXT|[PART,…],"displayContent"?}; its type is user, gemini
 * (with "thoughts", "tokens", "model" and "toolCalls", each {"id","name","args","status","result":[{
 * "functionResponse":…}],…}), or info, warning, error, which only the screen shows. A third kind of file is
 * the list of contents as the API takes it (import_gemini_contents.c), also under "history" or "contents".
 *
 * Invariants: (1) call and result come from one record; a call without result is left waiting. (2) Thoughts
 * are thinking blocks without a signature; requests do not repeat them. (3) tokens.input counts what came
 * from the cache, tokens.output does not count thoughts: "usage" has them in. (4) What was taken back is
 * there, beside the line.
 */
#include "transcript/import_gemini.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

struct entry {
	struct kept_value record; /* JSON_ABSENT: a mark of taking back */
	struct slice id;	  /* may be {NULL, 0} */
	size_t calls;
	size_t to;		  /* of a mark: the entry that the line ends before */
	size_t head;		  /* the end of the line before it was read */
	struct place place;
};

struct session {
	struct gemini gemini;
	struct entry *entries;
	size_t count, cap;
	struct id_table ids; /* of records on the line */
	struct slice id, title;
	size_t head; /* the last message of the line */
	struct buffer text; /* of a record that is read again */
};

static int add_entry(struct session *session, const struct entry *entry)
{
	if (mem_grow((void **)&session->entries, &session->cap, session->count + 1, sizeof(*entry)) < 0)
		return BOBBIN_ENOMEM;
	session->entries[session->count++] = *entry;
	return 0;
}

static size_t count_calls(const struct json *record)
{
	struct json calls;
	return json_get(record, "toolCalls", &calls) && calls.type == JSON_ARRAY ? json_count(&calls) : 0;
}

/* `line`: what the record stands in, at `place`. */
static int add_record(struct session *session, const struct json *record, const struct json *line, struct place place)
{
	struct import *import = session->gemini.import;
	struct entry entry = {.record = import_keep_value(import, record, line, place),
		.calls = count_calls(record),
		.place = place};
	size_t earlier;

	if (!place.line && record != line)
		entry.place = import_document_place(session->gemini.data, session->gemini.len, record);
	entry.id = import_string(import, record, "id");
	if (entry.id.data && id_table_get(&session->ids, entry.id, &earlier) && earlier != SIZE_MAX) {
		if (entry.calls < session->entries[earlier].calls)
			return import_damaged(import, entry.place, DAMAGE_ORDER,
				"a state of a record that has fewer calls than the one before: lines are out of order");
		session->entries[earlier].record = entry.record;
		session->entries[earlier].calls = entry.calls;
		return 0;
	}
	entry.id = import_hold(import, entry.id);
	int rc = add_entry(session, &entry);
	return rc || !entry.id.data ? rc : id_table_put(&session->ids, entry.id, session->count - 1);
}

static int take_back(struct session *session, const struct json *mark, struct place place)
{
	struct entry entry = {.record = {.type = JSON_ABSENT}, .place = place};
	struct slice id = mark->type == JSON_STRING
				  ? json_string_content(mark, import_scratch(session->gemini.import))
				  : (struct slice){NULL, 0};

	if (!id_table_get(&session->ids, id, &entry.to) || entry.to == SIZE_MAX)
		return import_warn(session->gemini.import, place,
			"a mark of taking back names a record that is not in the file: left out");
	/* The same ids may come again: then they are new records. */
	for (size_t i = entry.to; i < session->count; i++) {
		struct slice gone = session->entries[i].id;
		if (gone.data && id_table_put(&session->ids, gone, SIZE_MAX) < 0)
			return BOBBIN_ENOMEM;
	}
	return add_entry(session, &entry);
}

static void write_thoughts(struct gemini *gemini, const struct json *record)
{
	static const char *const OWN[] = {"description", NULL};
	struct json thoughts, thought, text;
	struct json_iter iter;

	if (!json_get(record, "thoughts", &thoughts) || thoughts.type != JSON_ARRAY)
		return;
	json_iter_init(&iter, &thoughts);
	while (json_iter_next(&iter, NULL, &thought)) {
		struct json_writer *writer = &gemini->blocks;
		json_begin_object(writer);
		json_member_text(writer, "type", "thinking");
		if (json_get(&thought, "description", &text) && text.type == JSON_STRING)
			json_member_value(writer, "thinking", &text);
		else
			json_member_text(writer, "thinking", "");
		write_members_except(writer, &thought, OWN);
		json_end_object(writer);
	}
}

static void write_parts(struct gemini *gemini, const struct json *content)
{
	struct json_iter iter;
	struct json part;

	if (content->type == JSON_STRING && content->len > 2)
		gemini_write_part(gemini, content);
	else if (content->type == JSON_OBJECT)
		gemini_write_part(gemini, content);
	json_iter_init(&iter, content);
	while (content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &part))
		gemini_write_part(gemini, &part);
}

static void write_calls(struct gemini *gemini, const struct json *record)
{
	struct json calls, call, value;
	struct json_iter iter;

	if (!json_get(record, "toolCalls", &calls) || calls.type != JSON_ARRAY)
		return;
	json_iter_init(&iter, &calls);
	while (json_iter_next(&iter, NULL, &call)) {
		struct json_writer *writer = &gemini->blocks;
		json_begin_object(writer);
		json_member_text(writer, "type", "tool_use");
		if (json_get(&call, "id", &value) && value.type == JSON_STRING)
			json_member_value(writer, "id", &value);
		if (json_get(&call, "name", &value) && value.type == JSON_STRING)
			json_member_value(writer, "name", &value);
		json_key(writer, "input");
		if (json_get(&call, "args", &value) && value.type == JSON_OBJECT)
			json_add_value(writer, &value);
		else
			json_add_raw(writer, SLICE_LITERAL("{}"));
		json_end_object(writer);
	}
}

static struct import_usage usage_of(const struct json *record)
{
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;
	struct json tokens;

	if (!json_get(record, "tokens", &tokens))
		return usage;
	usage.input = import_sum(import_number(&tokens, "input"), import_number(&tokens, "tool"));
	usage.cached = import_number(&tokens, "cached");
	usage.reasoning = import_number(&tokens, "thoughts");
	usage.output = import_sum(import_number(&tokens, "output"), usage.reasoning);
	return usage;
}

static int end_message(struct session *session, struct slice id)
{
	int rc = gemini_end_message(&session->gemini, id);

	session->head = session->gemini.builder.drafts.count - 1;
	return rc;
}

/* The content of a result into gemini->content: the parts of its "result". False: there is none. */
static bool write_result_content(struct gemini *gemini, const struct json *result, bool *ret_error)
{
	struct json_iter iter;
	struct json part, response, inner;
	size_t parts = json_count(result);

	if (result->type != JSON_ARRAY || parts == 0)
		return false;
	buffer_clear(&gemini->content);
	json_writer_init(&gemini->blocks, &gemini->content);
	json_iter_init(&iter, result);
	if (parts == 1 && json_iter_next(&iter, NULL, &part) &&
		json_get(&part, "functionResponse", &response)) {
		json_get(&response, "response", &inner);
		gemini_write_response(&gemini->blocks, &inner, ret_error);
		return true;
	}
	gemini_begin_content(gemini);
	json_iter_init(&iter, result);
	while (json_iter_next(&iter, NULL, &part)) {
		if (!json_get(&part, "functionResponse", &response)) {
			gemini_write_part(gemini, &part);
			continue;
		}
		struct json_writer *writer = &gemini->blocks;
		json_get(&response, "response", &inner);
		json_begin_object(writer);
		json_member_text(writer, "type", "text");
		json_key(writer, "text");
		gemini_write_response(writer, &inner, ret_error);
		json_end_object(writer);
	}
	json_end_array(&gemini->blocks);
	return true;
}

static int read_result(struct session *session, const struct json *call)
{
	static const char *const OWN[] = {"id", "name", "args", "result", "resultDisplay", NULL};
	struct gemini *gemini = &session->gemini;
	struct json result, value;
	bool error = false;

	if (!json_get(call, "result", &result) || !write_result_content(gemini, &result, &error))
		return 0;
	if (buffer_error(&gemini->content))
		return buffer_error(&gemini->content);
	struct json_writer *writer =
		builder_begin_result(&gemini->builder, import_string(gemini->import, call, "id"));
	if (json_get(call, "name", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&gemini->content));
	if (error || (json_get(call, "status", &value) && json_string_is(&value, "error")))
		json_member_bool(writer, "is_error", true);
	if (json_get(call, "timestamp", &value))
		write_time(writer, &value);
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, call, OWN);
	if (json_get(call, "resultDisplay", &value)) {
		json_key(writer, "resultDisplay");
		write_without_repeats(writer, &value, buffer_slice(&gemini->content));
	}
	json_key(writer, "result");
	write_without_repeats(writer, &result, buffer_slice(&gemini->content));
	json_end_object(writer);
	return end_message(session, (struct slice){NULL, 0});
}

static int read_gemini(struct session *session, const struct json *record)
{
	static const char *const OWN[] = {"id", "timestamp", "content", "thoughts", "toolCalls", NULL};
	struct gemini *gemini = &session->gemini;
	struct import_usage usage = usage_of(record);
	struct json value, call;
	struct json_iter iter;

	gemini_begin_content(gemini);
	write_thoughts(gemini, record);
	json_get(record, "content", &value);
	write_parts(gemini, &value);
	write_calls(gemini, record);
	int rc = gemini_end_content(gemini);
	if (rc)
		return rc;
	struct json_writer *writer = builder_begin(&gemini->builder, ROLE_ASSISTANT);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&gemini->content));
	if (json_get(record, "timestamp", &value))
		write_time(writer, &value);
	builder_usage(&gemini->builder, &usage);
	write_source_except(writer, record, OWN);
	rc = end_message(session, import_string(gemini->import, record, "id"));
	if (!json_get(record, "toolCalls", &value) || value.type != JSON_ARRAY)
		return rc;
	json_iter_init(&iter, &value);
	while (!rc && json_iter_next(&iter, NULL, &call))
		rc = read_result(session, &call);
	return rc;
}

static int read_user(struct session *session, const struct json *record)
{
	static const char *const OWN[] = {"id", "timestamp", "content", "type", NULL};
	struct gemini *gemini = &session->gemini;
	struct json content, value;

	json_get(record, "content", &content);
	struct json_writer *writer = builder_begin(&gemini->builder, ROLE_USER);
	json_key(writer, "content");
	if (content.type == JSON_STRING) {
		json_add_value(writer, &content);
	} else {
		gemini_begin_content(gemini);
		write_parts(gemini, &content);
		int rc = gemini_end_content(gemini);
		if (rc)
			return rc;
		json_add_raw(writer, buffer_slice(&gemini->content));
	}
	builder_origin(&gemini->builder, gemini_origin(gemini, &content));
	if (json_get(record, "timestamp", &value))
		write_time(writer, &value);
	write_source_except(writer, record, OWN);
	return end_message(session, import_string(gemini->import, record, "id"));
}

static int read_record(struct session *session, const struct json *record, struct place place)
{
	struct import *import = session->gemini.import;
	struct json type;

	json_get(record, "type", &type);
	if (json_string_is(&type, "user"))
		return read_user(session, record);
	if (json_string_is(&type, "gemini"))
		return read_gemini(session, record);
	if (json_string_is(&type, "info") || json_string_is(&type, "warning") || json_string_is(&type, "error"))
		return import_left_out(import, place, "{notice|notices} of the client (info, warning, error)");
	return import_not_understood(import, place, "{record|records} of the type", import_string(import, record, "type"));
}

static int read_entry(struct session *session, struct entry *entry)
{
	struct gemini *gemini = &session->gemini;
	struct json record;

	entry->head = session->head;
	if (entry->record.type == JSON_ABSENT) {
		session->head = session->entries[entry->to].head;
		gemini->next = (struct draft){.parent_kind = DRAFT_AT, .parent = session->head};
		return 0;
	}
	arena_reset(&gemini->import->scratch);
	int rc = import_value_again(gemini->import, &entry->record, &session->text, &record);
	return rc ? rc : read_record(session, &record, entry->place);
}

static int read_header(struct session *session, const struct json *header)
{
	struct import *import = session->gemini.import;
	struct json value;

	if (json_get(header, "sessionId", &value) && value.type == JSON_STRING)
		session->id = import_hold(import, import_string(import, header, "sessionId"));
	if (json_get(header, "summary", &value) && value.type == JSON_STRING)
		session->title = import_hold(import, import_string(import, header, "summary"));
	return 0;
}

static int read_line(struct session *session, const struct json *value, struct place place)
{
	struct import *import = session->gemini.import;
	struct json member, record, type, set;
	const struct json *line = value;
	struct json_iter iter;
	int rc = 0;

	if (json_get(value, "$set", &set)) {
		rc = read_header(session, &set);
		if (!rc)
			rc = import_left_out(import, place, "{change|changes} of the header ($set)");
		value = &set;
	} else if (json_get(value, "$rewindTo", &member)) {
		return take_back(session, &member, place);
	} else if (json_get(value, "type", &type)) {
		return add_record(session, value, line, place);
	} else if (json_get(value, "sessionId", &type)) {
		rc = read_header(session, value);
	} else if (!json_get(value, "messages", &record)) {
		return import_not_understood(
			import, place, "{record|records} without a type", (struct slice){NULL, 0});
	}
	if (!json_get(value, "messages", &record) || record.type != JSON_ARRAY)
		return rc;
	json_iter_init(&iter, &record);
	while (!rc && json_iter_next(&iter, NULL, &member))
		rc = add_record(session, &member, line, place);
	return rc;
}

static int read_lines(struct session *session, struct bobbin_error *error)
{
	struct gemini *gemini = &session->gemini;
	struct import_lines lines;
	struct json value;
	struct place place;
	int rc;

	import_lines_init(&lines, gemini->import, gemini->data, gemini->len);
	while ((rc = import_lines_next(&lines, &value, &place)) > 0) {
		if ((rc = read_line(session, &value, place)) < 0)
			return rc;
	}
	return rc || session->count ? rc : import_lines_fail(&lines, "gemini-cli", error);
}

/* A document, or lines of which the first is whole. */
static int read_file(struct session *session, struct bobbin_error *error)
{
	struct gemini *gemini = &session->gemini;
	struct json value, list;

	if (gemini->import->source || import_has_many(gemini->data, gemini->len))
		return read_lines(session, error);
	int rc = import_document(gemini->import, gemini->data, gemini->len, &value, error);
	if (rc)
		return rc;
	if (value.type == JSON_ARRAY)
		return gemini_read_contents(gemini, &value);
	if (json_get(&value, "history", &list) || json_get(&value, "contents", &list))
		return gemini_read_contents(gemini, &list);
	return read_line(session, &value, (struct place){0, 0});
}

/* A document whose beginning is lost has its messages. */
static bool has_record(const struct json *messages)
{
	struct json_iter iter;
	struct json record, type;

	json_iter_init(&iter, messages);
	while (messages->type == JSON_ARRAY && json_iter_next(&iter, NULL, &record)) {
		if (json_get(&record, "type", &type) && json_string_is(&type, "gemini"))
			return true;
	}
	return false;
}

bool import_is_gemini_cli(const struct import_probe *probe)
{
	struct json value, other;

	if (gemini_is_contents(&probe->value))
		return true;
	if ((json_get(&probe->value, "history", &value) || json_get(&probe->value, "contents", &value)) &&
		gemini_is_contents(&value))
		return true;
	return json_get(&probe->value, "$set", &value) || json_get(&probe->value, "$rewindTo", &value) ||
	       (json_get(&probe->value, "sessionId", &value) &&
		       json_get(&probe->value, "projectHash", &other)) ||
	       (json_get(&probe->value, "type", &value) && json_string_is(&value, "gemini")) ||
	       (json_get(&probe->value, "messages", &value) && has_record(&value));
}

static int finish(struct session *session, struct bobbin_error *error)
{
	struct builder *builder = &session->gemini.builder;

	for (size_t i = 0; i < session->count; i++) {
		int rc = read_entry(session, &session->entries[i]);
		if (rc)
			return rc;
	}
	if (!builder->drafts.count)
		return error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "not a gemini-cli transcript: no message in it");
	if (session->gemini.next.parent_kind == DRAFT_AT) {
		builder->rewound = true;
		builder->rewound_to = session->head;
	}
	return builder_conversation(builder, session->id, session->title);
}

int import_gemini_cli(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct session session = {.gemini = {.import = import,
					  .data = data,
					  .len = len,
					  .content = BUFFER_INIT(LIMIT_IMPORT_BYTES),
					  .rest = BUFFER_INIT(LIMIT_IMPORT_BYTES)},
		.head = DRAFT_NONE,
		.text = BUFFER_INIT(LIMIT_IMPORT_BYTES)};

	builder_init(&session.gemini.builder, import);
	int rc = read_file(&session, error);
	if (!rc)
		rc = finish(&session, error);
	builder_release(&session.gemini.builder);
	buffer_release(&session.gemini.content);
	buffer_release(&session.gemini.rest);
	buffer_release(&session.text);
	id_table_release(&session.ids);
	mem_free(session.entries);
	return import_end(rc, error);
}
