/* SPDX-License-Identifier: MIT */
/* See segments.h. */
#include "session/segments.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "compact/rules.h"
#include "compact/segment.h"
#include "compact/verify.h"
#include "session/model_deriver.h"
#include "session/compaction.h"
#include <stdlib.h>

#define DERIVER_BYTES 96 /* "model:NAME/VERSION" */

/* A segment record that stands in a log. */
struct segment_line {
	uint32_t from, to; /* nodes, `to` inclusive */
	struct log *log;
	uint32_t record;
	bool open; /* of a part before a cut, of a segment that had not closed */
	char deriver[DERIVER_BYTES];
	char instead[DERIVER_BYTES]; /* of the deriver that was asked and failed; "" */
};

#define FAILURES_MAX 3 /* a deriver that failed at a segment so often is not asked about it again */

struct segments {
	struct segment_line *lines; /* sorted by `from` */
	size_t count, cap;
	struct log *seen_log; /* whose lines were looked at up to seen_record */
	uint32_t seen_record;
	struct compact_merge *merge;
	uint32_t last;	 /* node of the last message merged */
	bool reusable;	 /* it holds whole closed segments only */
	uint32_t merged; /* segments in it */
	size_t floor;
	char deriver[DERIVER_BYTES];
};

void segments_free(struct segments *segments)
{
	if (!segments)
		return;
	compact_merge_free(segments->merge);
	mem_free(segments->lines);
	mem_free(segments);
}

/* ---- Lines in the log ---- */

/* Identifies the messages of the line to `node`. */
static int segment_source(const struct log *log, uint32_t node, char ret_source[COMPACTION_SOURCE_BYTES],
	struct bobbin_error *error)
{
	struct log_node info = {0};
	int rc = log_look_up_node(log, node, &info, error);
	return rc ? rc : compaction_source(log, node, info.depth, WINDOW_NONE, ret_source, error);
}

static int compare_lines(const void *a, const void *b)
{
	const struct segment_line *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool covered_node(struct log *log, struct json_iter *iter, uint32_t *ret_node)
{
	struct arena arena = ARENA_INIT;
	struct json id;
	bool found = json_iter_next(iter, NULL, &id) && id.type == JSON_STRING &&
		     log_find(log, json_string_content(&id, &arena), ret_node, NULL) == 0;
	arena_release(&arena);
	return found;
}

/* The name of a deriver in a member; false if there is none of that size. */
static bool read_name(
	const struct json *line, const char *key, struct arena *arena, char ret_name[DERIVER_BYTES])
{
	struct json value;
	struct slice name;
	ret_name[0] = 0;
	if (!json_get(line, key, &value) || value.type != JSON_STRING)
		return false;
	name = json_string_content(&value, arena);
	if (!name.data || name.len >= DERIVER_BYTES)
		return false;
	memcpy(ret_name, name.data, name.len);
	ret_name[name.len] = 0;
	return true;
}

/* The messages are those it was made of: somebody may have changed the file. */
static bool source_holds(struct log *log, uint32_t to, const struct json *line, struct arena *arena)
{
	char source[COMPACTION_SOURCE_BYTES];
	struct json value;
	if (!json_get(line, "source", &value) || value.type != JSON_STRING)
		return false;
	return segment_source(log, to, source, NULL) == 0 &&
	       slice_is(json_string_content(&value, arena), source);
}

/* False for a line that is not of the shape or names messages that are not
 * there: it is passed over. */
static bool read_line(struct log *log, uint32_t record, struct segment_line *ret_line)
{
	struct arena arena = ARENA_INIT;
	struct json line, covers, open;
	struct json_iter iter;
	bool good = log_record_read(log, record, &arena, &line, NULL) == 0 &&
		    json_get(&line, "covers", &covers) && covers.type == JSON_ARRAY &&
		    read_name(&line, "deriver", &arena, ret_line->deriver);
	if (good) {
		json_iter_init(&iter, &covers);
		good = covered_node(log, &iter, &ret_line->from) && covered_node(log, &iter, &ret_line->to) &&
		       source_holds(log, ret_line->to, &line, &arena);
		read_name(&line, "instead", &arena, ret_line->instead);
		ret_line->open = json_get(&line, "open", &open) && open.type == JSON_TRUE;
		ret_line->log = log;
		ret_line->record = record;
	}
	arena_release(&arena);
	return good;
}

static int add_lines_of(struct segments *segments, struct log *log, uint32_t until)
{
	struct log_record info;
	for (uint32_t at = log_newest(log, RECORD_SEGMENT); at != RECORD_NONE && at != until;
		at = info.previous) {
		void *lines = segments->lines;
		if (mem_grow(&lines, &segments->cap, segments->count + 1, sizeof(*segments->lines)) < 0)
			return BOBBIN_ENOMEM;
		segments->lines = lines;
		if (read_line(log, at, &segments->lines[segments->count]))
			segments->count++;
		if (log_record(log, at, &info) < 0)
			break;
	}
	return 0;
}

/* Takes in the lines that were logged since the last time, the ancestors' the
 * first time. */
static int refresh_lines(struct segments *segments, struct log *log)
{
	uint32_t until = segments->seen_log ? segments->seen_record : RECORD_NONE;
	uint32_t newest = log_newest(log, RECORD_SEGMENT);
	size_t before = segments->count;
	int rc = newest == until && segments->seen_log ? 0 : add_lines_of(segments, log, until);
	for (struct log *base = log_base(log); !rc && !segments->seen_log && base; base = log_base(base))
		rc = add_lines_of(segments, base, RECORD_NONE);
	if (rc < 0)
		return rc;
	segments->seen_log = log;
	segments->seen_record = newest;
	if (segments->count != before && segments->count)
		qsort(segments->lines, segments->count, sizeof(*segments->lines), compare_lines);
	return 0;
}

static uint32_t depth_of(const struct log *log, uint32_t node)
{
	struct log_node info;
	return log_node(log, node, &info) == 0 ? info.depth : 0;
}

static bool is_rules(const char *deriver)
{
	return strncmp(deriver, "rules/", 6) == 0;
}

/* Rules are what everybody falls back to: any record is at least as good as theirs. */
static bool deriver_will_do(const char *logged, const char *wanted)
{
	return strcmp(logged, wanted) == 0 || is_rules(wanted);
}

/* The wanted deriver failed at these messages as often as it may. */
static bool was_tried(const struct segments *segments, const struct segment_line *of, const char *wanted)
{
	unsigned failures = 0;
	for (size_t i = 0; i < segments->count; i++) {
		const struct segment_line *line = &segments->lines[i];
		failures +=
			line->from == of->from && line->to == of->to && strcmp(line->instead, wanted) == 0;
	}
	return failures >= FAILURES_MAX;
}

/* The logged record of the segment that begins at node `from`: of a whole one,
 * or of the part before the cut.
 */
static const struct segment_line *find_line(const struct segments *segments,
	const struct segments_request *request, const struct log *log, uint32_t from, const char *deriver)
{
	const struct segment_line *best = NULL;
	size_t low = 0, high = segments->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (segments->lines[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t at = low; at < segments->count && segments->lines[at].from == from; at++) {
		const struct segment_line *line = &segments->lines[at];
		if (!log_on_line(log, line->to, request->head) ||
			(line->open && (size_t)depth_of(log, line->to) + 1 != request->covered) ||
			(!deriver_will_do(line->deriver, deriver) && !was_tried(segments, line, deriver)))
			continue;
		/* of several the whole one, then one that a model wrote */
		if (!best || (best->open && !line->open) ||
			(best->open == line->open && is_rules(best->deriver) && !is_rules(line->deriver)))
			best = line;
	}
	return best;
}

/* ---- Runs ---- */

struct run_starts {
	size_t *positions;
	size_t count, cap;
};

static int compare_positions(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return x < y ? -1 : x > y;
}

static int find_run_starts(struct log *log, uint32_t head, struct run_starts *starts)
{
	struct log_record info;
	for (struct log *at = log; at; at = log_base(at))
		for (uint32_t record = log_newest(at, RECORD_RUN); record != RECORD_NONE;
			record = info.previous) {
			void *positions = starts->positions;
			if (log_record(at, record, &info) < 0)
				break;
			if (!log_run_on_line(log, at, &info, head))
				continue;
			if (mem_grow(&positions, &starts->cap, starts->count + 1, sizeof(size_t)) < 0)
				return BOBBIN_ENOMEM;
			starts->positions = positions;
			starts->positions[starts->count++] =
				info.head == NODE_NONE ? 0 : (size_t)depth_of(log, info.head) + 1;
		}
	if (starts->count)
		qsort(starts->positions, starts->count, sizeof(size_t), compare_positions);
	return 0;
}

int session_floor(bobbin_session *session, uint32_t head, char ret_id[PATH_ID_BYTES], size_t *ret_position,
	struct bobbin_error *error)
{
	struct run_starts starts = {0};
	int rc = find_run_starts(session->log, head, &starts);
	size_t length = head == NODE_NONE ? 0 : (size_t)depth_of(session->log, head) + 1;
	ret_id[0] = 0;
	*ret_position = 0;
	while (!rc && starts.count && starts.positions[starts.count - 1] >= length)
		starts.count--; /* a run whose first message is still to come */
	if (!rc && starts.count) {
		*ret_position = starts.positions[starts.count - 1];
		rc = log_node_id(session->log, log_ancestor(session->log, head, (uint32_t)*ret_position),
			ret_id, error);
	} else if (rc < 0) {
		error_set(error, rc, "out of memory");
	}
	mem_free(starts.positions);
	return rc;
}

/* ---- Deriving ---- */

/* One segment at work: its input, its record, what verification said. */
struct work {
	bobbin_session *session;
	const struct segments_request *request;
	const struct path *path;
	struct segment segment;
	struct arena arena;
	struct derive_input input;
	struct compact_record raw, record; /* as derived; without what verification refused */
	struct verify_result verified;	   /* of `raw` */
	const struct deriver *deriver;
	bool failed; /* the deriver that was asked for did, and rules took over */
};

static void deriver_name(const struct deriver *deriver, char ret_name[DERIVER_BYTES])
{
	struct buffer text = BUFFER_INIT(DERIVER_BYTES - 1);
	buffer_addf(&text, "%s/%s", deriver->name, deriver->version);
	memcpy(ret_name, text.data ? text.data : "", text.len);
	ret_name[text.len] = 0;
	buffer_release(&text);
}

/* Derives and verifies; what fails verification is thrown out, what is missing
 * is put back word for word. */
static int derive_with(struct work *work, const struct deriver *deriver, struct segments_report *report,
	struct bobbin_error *error)
{
	compact_record_init(&work->raw, &work->arena);
	work->deriver = deriver;
	int rc = deriver->derive(deriver->context, &work->input, &work->raw, error);
	if (!rc)
		rc = verify_segment(
			&work->raw, &work->input, &rules_deriver, &work->arena, &work->verified, error);
	if (rc < 0)
		return rc;
	work->record = work->raw;
	if (verify_ok(&work->verified))
		return 0;
	report->refused += (uint32_t)work->verified.violation_count;
	report->repaired += (uint32_t)work->verified.missing_count;
	return verify_repair(&work->raw, &work->verified, &work->arena, &work->record, error);
}

static void note_reason(struct segments_report *report, const char *message)
{
	size_t len = strlen(message);
	if (len >= sizeof(report->reason))
		len = utf8_truncate(message, len, sizeof(report->reason) - 1);
	memcpy(report->reason, message, len);
	report->reason[len] = 0;
}

/* A deriver that fails costs nothing: rules take over for this segment. 1: there is a record; 0: it can wait.
 */
static int derive(struct work *work, struct segments_report *report, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	int rc = derive_input_read(
		work->path, work->segment.from, work->segment.to, &work->arena, &work->input, error);
	if (rc < 0)
		return rc;
	rc = derive_with(work, work->request->deriver, report, &why);
	if (rc == BOBBIN_ENOMEM || (rc < 0 && work->request->deriver->derive == rules_deriver.derive))
		return error_set(error, rc, "%s", why.message);
	if (!rc)
		return 1;
	note_reason(report, why.message);
	if (rc == BOBBIN_EBUSY && work->request->only_closed)
		return 0;
	report->fallbacks++;
	work->failed = rc != BOBBIN_EBUSY;
	rc = derive_with(work, &rules_deriver, report, error);
	return rc < 0 ? rc : 1;
}

static int segment_record_line(struct work *work, struct buffer *out, struct bobbin_error *error)
{
	struct arena scratch = ARENA_INIT;
	struct json_writer writer;
	char key[SEGMENT_KEY_BYTES], id[PATH_ID_BYTES], name[DERIVER_BYTES], source[COMPACTION_SOURCE_BYTES];
	int rc = segment_key(work->path, work->segment.from, work->segment.to, work->deriver->name,
		work->deriver->version, &scratch, key, error);
	arena_release(&scratch);
	if (rc < 0)
		return rc;
	deriver_name(work->deriver, name);
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "segment");
	json_member_text(&writer, "key", key);
	json_key(&writer, "covers");
	json_begin_array(&writer);
	if ((rc = path_id(work->path, work->segment.from, id, error)) < 0)
		return rc;
	json_add_text(&writer, id);
	if ((rc = path_id(work->path, work->segment.to - 1, id, error)) < 0)
		return rc;
	json_add_text(&writer, id);
	json_end_array(&writer);
	if (!work->segment.closed)
		json_member_bool(&writer, "open", true);
	json_member_text(&writer, "deriver", name);
	if (work->failed) {
		deriver_name(work->request->deriver, name);
		json_member_text(&writer, "instead", name);
	}
	uint32_t last = log_ancestor(work->session->log, work->request->head, (uint32_t)work->segment.to - 1);
	if ((rc = log_failure(work->session->log, error)) < 0 ||
		(rc = segment_source(work->session->log, last, source, error)) < 0)
		return rc;
	json_member_text(&writer, "source", source);
	buffer_add_text(out, ",\"record\":");
	compact_record_write_json(&work->record, out);
	buffer_add_text(out, ",\"verify\":");
	verify_write_json(&work->raw, &work->verified, out);
	json_end_object(&writer);
	rc = buffer_error(out);
	return rc < 0 ? error_set(error, rc, "the record of a segment is too large") : 0;
}

static int log_segment(struct work *work, struct bobbin_error *error)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = segment_record_line(work, &line, error);
	if (!rc) {
		struct slice bytes = buffer_slice(&line);
		rc = log_append(work->session->log, &bytes, 1, NULL, NULL, error);
	}
	buffer_release(&line);
	return rc;
}

/* ---- Merging ---- */

static int add_logged(struct segments *segments, const struct segment_line *line, const struct log *log,
	size_t from, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct compact_record record;
	struct json object, value;
	int rc = log_record_read(line->log, line->record, &arena, &object, error);
	compact_record_init(&record, &arena);
	if (!rc && !json_get(&object, "record", &value))
		rc = error_set(error, BOBBIN_ECORRUPT, "a segment line has no record");
	if (!rc)
		rc = compact_record_read_json(&record, &value, NULL, error);
	if (!rc)
		rc = compact_merge_add(
			segments->merge, &record, from, (size_t)depth_of(log, line->to) + 1, error);
	arena_release(&arena);
	return rc;
}

/* The segment that begins at `from`, or what of it lies before the cut. 1:
 * there is one; 0: none that may be taken. */
static int next_segment(bobbin_session *session, const struct segments_request *request, size_t from,
	struct segment *ret_segment, struct bobbin_error *error)
{
	struct run_starts starts = {0};
	struct arena scratch = ARENA_INIT;
	struct segment_walk walk;
	const struct path *path = log_path_path(request->path);
	struct segment_options options = {.segment_bytes = log_info(session->log)->segment_bytes};
	int rc = find_run_starts(session->log, request->head, &starts);
	if (rc < 0) {
		error_set(error, rc, "out of memory");
	} else {
		options.run_starts = starts.positions;
		options.run_count = starts.count;
		segment_walk_init(&walk, path, &options, from, path->count, &scratch);
		rc = segment_walk_next(&walk, ret_segment, error);
	}
	if (rc > 0 && !ret_segment->closed && request->only_closed)
		rc = 0;
	if (rc > 0 && !ret_segment->closed && ret_segment->to > request->covered)
		ret_segment->to = request->covered;
	arena_release(&scratch);
	mem_free(starts.positions);
	return rc;
}

/* What a model reported for this segment's record; also in a dry run, which pays as well. */
static int store_spent(struct work *work, struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];
	int rc = path_id(work->path, work->segment.to - 1, id, error);
	return rc < 0 ? rc : model_deriver_store_usage(work->request->deriver, work->session->log, id, error);
}

static int derive_next(bobbin_session *session, const struct segments_request *request, size_t from,
	struct segments_report *report, bool *ret_whole, struct bobbin_error *error)
{
	struct work work = {.session = session, .request = request, .path = log_path_path(request->path)};
	int rc = next_segment(session, request, from, &work.segment, error);
	if (rc <= 0)
		return rc;
	*ret_whole = work.segment.closed;
	rc = derive(&work, report, error);
	if (rc >= 0 && store_spent(&work, error) < 0)
		rc = BOBBIN_EIO;
	if (rc == 0) {
		arena_release(&work.arena);
		return 0;
	}
	if (rc > 0)
		rc = request->dry ? 0 : log_segment(&work, error);
	if (!rc)
		rc = compact_merge_add(
			session->segments->merge, &work.record, work.segment.from, work.segment.to, error);
	arena_release(&work.arena);
	return rc < 0 ? rc : 1;
}

/* Begins anew unless what is merged is the beginning of this line. */
static int prepare(bobbin_session *session, const struct segments_request *request, const char *deriver)
{
	if (!session->segments && !(session->segments = mem_alloc_zero(sizeof(*session->segments))))
		return BOBBIN_ENOMEM;
	struct segments *segments = session->segments;
	int rc = refresh_lines(segments, session->log);
	if (rc < 0)
		return rc;
	size_t end = segments->merge ? compact_merge_end(segments->merge) : 0;
	bool good = segments->merge && segments->reusable && segments->floor == request->floor &&
		    strcmp(segments->deriver, deriver) == 0 &&
		    (!end || log_on_line(session->log, segments->last, request->head));
	if (good)
		return 0;
	compact_merge_free(segments->merge);
	segments->merge = NULL;
	segments->reusable = true;
	segments->merged = 0;
	segments->floor = request->floor;
	memcpy(segments->deriver, deriver, strlen(deriver) + 1);
	return compact_merge_new(&segments->merge);
}

size_t segments_end(const struct segments_request *request, const struct compact_merge *merge)
{
	size_t end = compact_merge_end(merge);
	return end > request->floor ? end : request->floor;
}

/* One more segment into the merge. 1: done; 0: there is none that may be taken
 * now. */
static int merge_next(bobbin_session *session, const struct segments_request *request, const char *deriver,
	struct segments_report *report, struct bobbin_error *error)
{
	struct segments *segments = session->segments;
	size_t from = segments_end(request, segments->merge);
	uint32_t node = log_ancestor(session->log, request->head, (uint32_t)from);
	const struct segment_line *line = find_line(segments, request, session->log, node, deriver);
	bool whole = line ? !line->open : true;
	int rc = 1;
	if (line) {
		rc = add_logged(segments, line, session->log, from, error);
		rc = rc < 0 ? rc : 1;
		report->found += rc > 0;
	} else if (report->derived >= request->derive_max) {
		return 0;
	} else {
		rc = derive_next(session, request, from, report, &whole, error);
		report->derived += rc > 0;
	}
	if (rc <= 0)
		return rc;
	segments->merged++;
	segments->last =
		log_ancestor(session->log, request->head, (uint32_t)compact_merge_end(segments->merge) - 1);
	segments->reusable = segments->reusable && whole && !request->dry;
	return 1;
}

int segments_merge(bobbin_session *session, const struct segments_request *request,
	struct compact_merge **ret_merge, struct segments_report *report, struct bobbin_error *error)
{
	char deriver[DERIVER_BYTES];
	deriver_name(request->deriver, deriver);
	int rc = prepare(session, request, deriver);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	report->found += session->segments->merged;
	while (rc >= 0 && segments_end(request, session->segments->merge) < request->covered) {
		rc = merge_next(session, request, deriver, report, error);
		if (rc == 0)
			break;
	}
	if (rc < 0) {
		session->segments->reusable = false;
		return rc;
	}
	*ret_merge = session->segments->merge;
	return 0;
}
