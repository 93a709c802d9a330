/* SPDX-License-Identifier: MIT */
/* Records as hosts see them: the one in force, every segment's, and whether a
 * record tells the truth. */
#include "base/alloc.h"
#include "compact/rules.h"
#include "compact/segment.h"
#include "compact/verify.h"
#include "session/plan_inside.h"
#include "session/segments.h"

/* What reading a record needs: the line to a message, and the compaction in
 * force there. */
struct reader {
	bobbin_session *session;
	struct arena arena;
	struct token_counter counter;
	struct log_path *path;
	struct found_record found;
	uint32_t head;
	size_t floor; /* where the newest run begins */
};

static int reader_open(
	bobbin_session *session, const char *at, struct reader *ret_reader, struct bobbin_error *error)
{
	struct reader reader = {.session = session, .head = log_head(session->log)};
	char floor[PATH_ID_BYTES];
	int rc = 0;
	token_counter_for_model("", &reader.counter);
	if (at && *at)
		rc = log_find(session->log, slice_of(at), &reader.head, error);
	if (!rc)
		rc = log_path_new(session->log, reader.head, &reader.counter, &reader.path, error);
	if (!rc)
		rc = session_floor(session, reader.head, floor, &reader.floor, error);
	if (!rc)
		rc = compaction_find(session, reader.head, at && *at, &reader.counter, &reader.arena,
			&reader.found, error);
	*ret_reader = reader;
	return rc;
}

static void reader_close(struct reader *reader)
{
	log_path_free(reader->path);
	token_counter_release(&reader->counter);
	arena_release(&reader->arena);
}

static int no_record(const struct reader *reader, struct bobbin_error *error)
{
	const char *id = log_info(reader->session->log)->id;
	if (reader->found.seen)
		return error_set(error, BOBBIN_ENOTFOUND,
			"the record of session %s is stale: %s; bobbin compact %s "
			"makes a new one",
			id, reader->found.stale, id);
	return error_set(error, BOBBIN_ENOTFOUND, "session %s has no compaction record yet", id);
}

/* Copies to the caller's memory; a NULL place is not wanted. */
static int give(struct slice text, char **ret_text, struct bobbin_error *error)
{
	if (!ret_text)
		return 0;
	char *copy = mem_copy_text(text.data ? text.data : "", text.len);
	if (!copy)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_text = copy;
	return 0;
}

static int give_both(
	struct slice text, struct slice json, char **ret_text, char **ret_json, struct bobbin_error *error)
{
	char *first = NULL;
	int rc = give(text, ret_text ? &first : NULL, error);
	if (!rc)
		rc = give(json, ret_json, error);
	if (rc < 0)
		mem_free(first);
	else if (ret_text)
		*ret_text = first;
	return rc;
}

/* ---- Segments ---- */

/* One segment's line: where it reaches and what it holds. */
static int add_segment(const struct path *path, const struct segment *segment,
	const struct compact_record *record, struct buffer *text, struct buffer *json, bool first,
	struct bobbin_error *error)
{
	char from[PATH_ID_BYTES], to[PATH_ID_BYTES];
	struct json_writer writer;
	int rc = path_id(path, segment->from, from, error);
	if (!rc)
		rc = path_id(path, segment->to - 1, to, error);
	if (rc < 0)
		return rc;
	buffer_addf(text, "%s%s – %s%s, %llu bytes\n", first ? "" : "\n", from, to,
		segment->closed ? "" : " (still open)", (unsigned long long)segment->bytes);
	compact_record_write_text(record, 0, text);
	if (!first)
		buffer_add_char(json, ',');
	json_writer_init(&writer, json);
	json_begin_object(&writer);
	json_member_text(&writer, "from", from);
	json_member_text(&writer, "to", to);
	json_member_bool(&writer, "closed", segment->closed);
	json_member_uint(&writer, "bytes", segment->bytes);
	buffer_add_text(json, ",\"record\":");
	compact_record_write_json(record, json);
	json_end_object(&writer);
	return buffer_error(json) ? buffer_error(json) : buffer_error(text);
}

/* Sources are messages of the segment, counted from its first: they become what the line calls them. */
static int name_sources(const struct path *path, size_t from, struct compact_record *record, struct bobbin_error *error)
{
	for (size_t i = 0; i < record->count; i++) {
		struct compact_item *item = &record->items[i];
		for (uint32_t at = 0; at < item->source_count; at++)
			item->sources[at].place += (uint32_t)from;
		if (item->proof.place != SOURCE_NOWHERE)
			item->proof.place += (uint32_t)from;
	}
	return compact_record_name(record, path, error);
}

/* Every segment's record by rules, made now: the same items as the logged ones,
 * for there is nothing but the raw messages. */
static int each_segment(
	struct reader *reader, struct buffer *text, struct buffer *json, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT, scratch = ARENA_INIT;
	const struct path *path = log_path_path(reader->path);
	const struct segment_options options = {
		.segment_bytes = log_info(reader->session->log)->segment_bytes};
	struct segment_walk walk;
	struct segment segment;
	int rc;
	bool first = true;
	segment_walk_init(&walk, path, &options, 0, path->count, &scratch);
	buffer_add_char(json, '[');
	while ((rc = segment_walk_next(&walk, &segment, error)) > 0) {
		struct derive_input input;
		struct compact_record record;
		arena_reset(&arena);
		compact_record_init(&record, &arena);
		rc = derive_input_read(path, segment.from, segment.to, &arena, &input, error);
		if (!rc)
			rc = rules_deriver.derive(rules_deriver.context, &input, &record, error);
		if (!rc)
			rc = name_sources(path, segment.from, &record, error);
		if (!rc)
			rc = add_segment(path, &segment, &record, text, json, first, error);
		first = false;
		if (rc < 0)
			break;
	}
	buffer_add_char(json, ']');
	arena_release(&arena);
	arena_release(&scratch);
	return rc;
}

int bobbin_session_record(bobbin_session *session, const struct bobbin_record_options *options,
	char **ret_text, char **ret_json, struct bobbin_error *error)
{
	struct bobbin_record_options all = BOBBIN_RECORD_OPTIONS_INIT;
	struct buffer text = BUFFER_INIT(LIMIT_REQUEST_BYTES), json = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json record = {0};
	struct reader reader;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	rc = reader_open(session, all.at, &reader, error);
	if (!rc && all.segments) {
		rc = each_segment(&reader, &text, &json, error);
		if (!rc)
			rc = give_both(buffer_slice(&text), buffer_slice(&json), ret_text, ret_json, error);
	} else if (!rc && !reader.found.usable) {
		rc = no_record(&reader, error);
	} else if (!rc) {
		json_get(&reader.found.object, "record", &record);
		rc = give_both(reader.found.window.text, (struct slice){record.text, record.len}, ret_text,
			ret_json, error);
	}
	buffer_release(&text);
	buffer_release(&json);
	reader_close(&reader);
	return rc;
}

/* ---- Verifying ---- */

static uint32_t place_of(void *context, struct slice id)
{
	const struct reader *reader = context;
	struct log_node info;
	uint32_t node;
	if (log_find(reader->session->log, id, &node, NULL) < 0 ||
		!log_on_line(reader->session->log, node, reader->head) ||
		log_node(reader->session->log, node, &info) < 0)
		return SOURCE_NOWHERE;
	return info.depth;
}

static int read_record(
	struct reader *reader, struct slice given, struct compact_record *record, struct bobbin_error *error)
{
	struct json value;
	int rc;
	compact_record_init(record, &reader->arena);
	if (!given.data && json_get(&reader->found.object, "record", &value))
		rc = compact_record_read_json(record, &value, NULL, error);
	else if (given.data && json_parse(given.data, given.len, &value, NULL) == 0 &&
		 value.type == JSON_OBJECT)
		rc = compact_record_read_json(record, &value, NULL, error);
	else
		rc = compact_record_read_text(record, given, error);
	if (!rc)
		compact_record_place(record, place_of, reader);
	return rc;
}

/* How far the record reaches: its own cut for the one in force, the whole line
 * for one that was brought along. */
static size_t covered_end(const struct reader *reader, bool given)
{
	if (given || !reader->found.usable)
		return log_path_path(reader->path)->count;
	return reader->found.window.inner_cut == WINDOW_NONE ? reader->found.window.cut
							     : reader->found.window.inner_cut;
}

#define VERIFY_MESSAGES 256 /* given at a time */

static int verify_line(struct reader *reader, const struct compact_record *record, size_t start, size_t end,
	const struct compact_merge_options *options, struct verify_result *ret_result,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct verify *verify;
	int rc = verify_new(record, &rules_deriver, &verify, error);
	if (rc < 0)
		return rc;
	for (size_t from = start; !rc && from < end; from += VERIFY_MESSAGES) {
		struct derive_input input;
		size_t to = from + VERIFY_MESSAGES < end ? from + VERIFY_MESSAGES : end;
		arena_reset(&arena);
		rc = derive_input_read(log_path_path(reader->path), from, to, &arena, &input, error);
		if (!rc)
			rc = verify_messages(verify, &input, from, error);
	}
	if (!rc)
		rc = verify_finish(verify, options, &reader->arena, ret_result, error);
	verify_free(verify);
	arena_release(&arena);
	return rc;
}

static const char *violation_kind(enum violation_kind kind)
{
	switch (kind) {
	case VIOLATION_NOWHERE:
		return "invented";
	case VIOLATION_NOT_CITED:
		return "not_cited";
	case VIOLATION_NOT_USER:
		return "not_users";
	case VIOLATION_SOURCE:
		return "no_source";
	default:
		return "wrong_state";
	}
}

static int add_violations(
	const struct compact_record *record, const struct verify_result *result, bobbin_faults *faults)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < result->violation_count; i++) {
		const struct verify_violation *violation = &result->violations[i];
		const struct compact_item *item = &record->items[violation->item];
		rc = faults_addf(faults, violation_kind(violation->kind), item_kind_heading(item->kind), 0, 0,
			"", "\"%.*s\" (%s) in: %.*s",
			(int)(violation->value.len < 120 ? violation->value.len : 120), violation->value.data,
			violation_text(violation->kind), (int)(item->text.len < 200 ? item->text.len : 200),
			item->text.data);
	}
	return rc;
}

static int add_missing(struct reader *reader, const struct verify_result *result, bobbin_faults *faults,
	struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];
	int rc = 0;
	for (size_t i = 0; !rc && i < result->missing_count; i++) {
		const struct verify_missing *missing = &result->missing[i];
		rc = path_id(log_path_path(reader->path), missing->source.place, id, error);
		if (!rc)
			rc = faults_addf(faults, "missing", id, 0, 0, "",
				"the user's rule is not in it: %.*s",
				(int)(missing->text.len < 300 ? missing->text.len : 300), missing->text.data);
	}
	return rc;
}

/* A record that was printed and handed in again reaches as far as the one in force, not to the end of the
 * line. */
static bool is_in_force(const struct reader *reader, struct slice given)
{
	struct json record;
	while (given.len && (given.data[given.len - 1] == '\n' || given.data[given.len - 1] == ' '))
		given.len--;
	return given.data && reader->found.usable &&
	       (slice_equal(given, reader->found.window.text) ||
		       (json_get(&reader->found.object, "record", &record) &&
			       slice_equal(given, (struct slice){record.text, record.len})));
}

static int verify_with(
	struct reader *reader, struct slice given, bobbin_faults *faults, struct bobbin_error *error)
{
	struct compact_record record;
	struct verify_result result;
	if (!given.data && !reader->found.usable) /* everything is shown as it was said */
		return 0;
	int rc = read_record(reader, given, &record, error);
	if (rc < 0)
		return rc;
	const struct window_record *window = &reader->found.window;
	if (is_in_force(reader, given))
		given.data = NULL;
	const struct compact_merge_options options = {
		given.data ? log_path_path(reader->path)->count : window->cut,
		given.data || window->inner_cut == WINDOW_NONE ? COMPACT_NO_INNER : window->inner_cut};
	rc = verify_line(reader, &record, given.data ? 0 : reader->floor,
		covered_end(reader, given.data != NULL), &options, &result, error);
	if (!rc)
		rc = add_violations(&record, &result, faults);
	return rc ? rc : add_missing(reader, &result, faults, error);
}

int bobbin_session_verify(bobbin_session *session, const char *record, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error)
{
	struct reader reader;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = reader_open(session, NULL, &reader, error);
	if (!rc)
		rc = verify_with(&reader, (struct slice){record, record ? len : 0}, faults, error);
	reader_close(&reader);
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}
