/* SPDX-License-Identifier: MIT */
/* See compaction.h. */
#include "session/compaction.h"

#include "session/segments.h"
#include "tokens/counter.h"
#include "tokens/overhead.h"
#include <stdio.h>

int compaction_source(const struct log *log, uint32_t head, size_t cut, size_t inner_cut,
	char ret_source[COMPACTION_SOURCE_BYTES], struct bobbin_error *error)
{
	struct log_node node = {0};
	size_t last = inner_cut == WINDOW_NONE ? cut : inner_cut - 1;
	uint32_t at = log_ancestor(log, head, (uint32_t)last);
	int rc = log_failure(log, error);
	if (!rc && at != NODE_NONE)
		rc = log_look_up_node(log, at, &node, error);
	snprintf(ret_source, COMPACTION_SOURCE_BYTES, "chain:%016llx", (unsigned long long)node.chain);
	return rc;
}

static struct slice member_text(const struct json *object, const char *key, struct arena *arena)
{
	struct json value;
	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return (struct slice){NULL, 0};
	return json_string_content(&value, arena);
}

/* The position of a message of that log on the line to `head`; WINDOW_NONE if
 * it is not on it. */
static int position_on_line(bobbin_session *session, struct log *log, uint32_t head, struct slice id,
	size_t *ret_position, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	uint32_t node, position;
	*ret_position = WINDOW_NONE;
	int rc = id.len ? log_find(log, id, &node, &why) : BOBBIN_ENOTFOUND;
	if (rc)
		return rc == BOBBIN_ENOTFOUND ? 0 : error_set(error, rc, "%s", why.message);
	if (!log_has_node(session->log, node))
		return 0;
	rc = log_position(session->log, node, head, &position, error);
	if (rc > 0)
		*ret_position = position;
	return rc < 0 ? rc : 0;
}

static bool is_persons(const struct log *log, uint32_t head, size_t position)
{
	struct log_node node;
	return log_node(log, log_ancestor(log, head, (uint32_t)position), &node) == 0 &&
	       node.role == ROLE_USER && node.origin == ORIGIN_PERSON;
}

/* Where the line was cut, and the hash of what it covers then. */
struct cut {
	char source[COMPACTION_SOURCE_BYTES];
	bool inner, persons;
};

static int find_cut(bobbin_session *session, struct log *log, uint32_t head, const struct json *object,
	struct arena *arena, struct window_record *record, struct cut *ret_cut, struct bobbin_error *error)
{
	struct json inner;
	record->inner_cut = WINDOW_NONE;
	*ret_cut = (struct cut){.inner = json_get(object, "inner", &inner) && inner.type == JSON_STRING};
	int rc = position_on_line(session, log, head, member_text(object, "cut", arena), &record->cut, error);
	if (!rc && ret_cut->inner)
		rc = position_on_line(session, log, head, json_string_content(&inner, arena), &record->inner_cut, error);
	if (rc || record->cut == WINDOW_NONE)
		return rc;
	ret_cut->persons = is_persons(session->log, head, record->cut);
	return compaction_source(session->log, head, record->cut, record->inner_cut, ret_cut->source, error);
}

/* Why the line cannot be used on this line of messages; NULL if it can. */
static const char *judge(const struct cut *cut, const char *floor, size_t floor_position, const struct json *object,
	struct arena *arena, struct window_record *record)
{
	if (record->cut == WINDOW_NONE)
		return "the message it was cut at is no longer on the line";
	if (!cut->persons)
		return "the message it was cut at is not a user message";
	if (cut->inner && record->inner_cut == WINDOW_NONE)
		return "the message of its inner cut is no longer on the line";
	if (cut->inner && record->inner_cut <= record->cut)
		return "its inner cut is not after its cut";
	if (!slice_is(member_text(object, "source", arena), cut->source))
		return "what it covers has changed";
	if (!slice_is(member_text(object, "floor", arena), floor))
		return "a routine's run began after it";
	if (record->cut < floor_position)
		return "it was cut before the newest run";
	record->text = member_text(object, "text", arena);
	return record->text.len ? NULL : "it holds no text";
}

static int count_record(struct window_record *record, struct token_counter *counter)
{
	int rc = token_counter_count(counter, record->text.data, record->text.len, &record->tokens);
	record->tokens += sizeof(WINDOW_RECORD_HEADING) / 4 + OVERHEAD_MESSAGE;
	return rc;
}

/* One line: takes it if it can be used, remembers why not if it is the newest.
 * 1: taken, look no further. */
static int consider(bobbin_session *session, struct log *log, uint32_t record, uint32_t head,
	const char *floor, size_t floor_position, struct token_counter *counter, struct arena *arena,
	struct found_record *found, struct bobbin_error *error)
{
	struct window_record window = {0};
	struct json object;
	struct cut cut;
	int rc = log_record_read(log, record, arena, &object, error);
	if (!rc)
		rc = find_cut(session, log, head, &object, arena, &window, &cut, error);
	if (rc < 0)
		return rc;
	const char *stale = judge(&cut, floor, floor_position, &object, arena, &window);
	if (stale && !found->seen)
		found->stale = stale;
	found->seen = true;
	if (stale)
		return 0;
	rc = count_record(&window, counter);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	found->usable = true;
	found->stale = NULL;
	found->window = window;
	found->object = object;
	return 1;
}

int compaction_find(bobbin_session *session, uint32_t head, bool as_of, struct token_counter *counter,
	struct arena *arena, struct found_record *ret_found, struct bobbin_error *error)
{
	struct found_record found = {0};
	struct log_record info;
	char floor[PATH_ID_BYTES];
	size_t floor_position;
	int rc = session_floor(session, head, floor, &floor_position, error);
	for (struct log *log = session->log; rc == 0 && log; log = log_base(log)) {
		/* An ancestor's line counts as of the fork: what was committed while its
		 * head was on this line. */
		bool strict = as_of || log != session->log;
		for (uint32_t at = log_newest(log, RECORD_COMPACTION); rc == 0 && at != RECORD_NONE;
			at = info.previous) {
			rc = log_look_up_record(log, at, &info, error);
			if (rc < 0 || (strict && (info.head == NODE_NONE ||
							 !log_record_on_line(session->log, log, &info, head))))
				continue;
			rc = consider(
				session, log, at, head, floor, floor_position, counter, arena, &found, error);
		}
	}
	if (rc < 0)
		return rc;
	*ret_found = found;
	return 0;
}
