/* SPDX-License-Identifier: MIT */
/*
 * What a line of a log means, whatever state it is in. A whole line is one record. Of a damaged one
 * everything is read that is certainly whole:
 *
 *	{A}{B}            A and B
 *	{A}{torn          A
 *	\0\0\0{A}         A: it fills the piece between NULs and line ends
 *	torn{B}           nothing: B might be a part of what was torn
 */
#include <errno.h>
#include "base/utf8.h"
#include "store/log_internal.h"
#include "store/record.h"
#include "store/scan.h"

/* One line on its way in. */
struct taking {
	struct log *log;
	const struct scan_line *line;
	size_t values; /* records read from it */
	struct bobbin_error *error;
};

static int fault(struct taking *taking, enum fault_kind kind, bool loses)
{
	const struct scan_line *line = taking->line;
	int rc = index_add_fault(&taking->log->index, kind, line->line, line->offset, line->length, loses);
	return rc ? error_set(taking->error, rc, "out of memory") : 0;
}

static bool is_header_place(const struct taking *taking)
{
	return taking->line->offset == 0 && taking->values == 0;
}

static int damaged_header(struct taking *taking, const char *reason)
{
	if (taking->log->salvage) {
		taking->log->header_lost = true;
		return fault(taking, FAULT_HEADER, false);
	}
	return error_set_at(taking->error, BOBBIN_ECORRUPT, 1, 0,
		"line 1, the header, is damaged (%s); `bobbin doctor %s` shows what is left", reason,
		taking->log->id);
}

static bool same_ancestry(const struct session_line *found, const struct session_line *said)
{
	if (!found->has_parent || strcmp(found->parent_id, said->parent_id) != 0 ||
		found->forked_at != said->forked_at)
		return false;
	return !said->pinned ||
	       (strcmp(found->base_id, said->base_id) == 0 && found->parent_end == said->parent_end &&
		       found->parent_hash == said->parent_hash);
}

/* The header, or a line that adds to it. SCAN_STOP if it tells of a base that was not known until now. */
static int take_session_line(struct taking *taking, const struct json *value)
{
	struct log *log = taking->log;
	struct session_line line;
	struct bobbin_error reason = {0};
	bool first = is_header_place(taking);
	uint32_t ignored;
	int rc;

	if (first && record_crc_is_wrong(value, &ignored))
		return damaged_header(taking, "its checksum does not match");
	rc = session_line_parse(value, &line, &reason);
	if (rc && rc != BOBBIN_ENOMEM && first && log->salvage)
		return damaged_header(taking, reason.message);
	if (rc == BOBBIN_ENOMEM || (rc && first))
		return error_set(taking->error, rc, "%s:%llu: %s", log->name,
			(unsigned long long)taking->line->line, reason.message);
	if (rc || record_crc_is_wrong(value, &ignored))
		return fault(taking, FAULT_HEADER, false);
	if (line.id[0] && strcmp(line.id, log->id) != 0 && (rc = fault(taking, FAULT_HEADER, false)) < 0)
		return rc;
	if (!first)
		line.created[0] = '\0'; /* its ts is when it was added */
	session_line_merge(&log->line, &line);
	if (line.was_bytes) {
		log->line.was_bytes = line.was_bytes;
		if ((rc = log_enter_cut(log, line.was_bytes, taking->line->line, taking->line->offset)) < 0)
			return error_set(taking->error, rc, "out of memory");
	}
	log->index.repaired = log->line.repaired_from[0] != '\0' || log->is_copy;
	if (log->line.has_parent && log->line.forked_at && !log->parent_lost &&
		!same_ancestry(&log->ancestry, &log->line))
		return SCAN_STOP;
	return 0;
}

static int take_as(struct taking *taking, const struct json *value, enum record_kind kind)
{
	struct index_place place = {
		.offset = taking->line->offset + (uint64_t)(value->text - taking->line->data),
		.line = taking->line->line,
		.length = (uint32_t)value->len,
	};
	struct bobbin_error reason = {0};
	int rc = index_add(&taking->log->index, value, kind, &place, &taking->log->scratch, &reason);

	if (rc && rc != BOBBIN_EINPUT && taking->error)
		*taking->error = reason;
	taking->values += rc == 0;
	return rc;
}

static int take_value(struct taking *taking, const struct json *value)
{
	enum record_kind kind;
	int rc = 0;

	/* Nearly all are messages, and looking at no more than their first role is a pass over them less. */
	if (record_begins_as_message(value) && (rc = take_as(taking, value, RECORD_MESSAGE)) != BOBBIN_EINPUT)
		return rc;
	if (!record_kind_of(value, &kind))
		return fault(taking, FAULT_SHAPE, true);
	rc = 0;
	if (kind == RECORD_SESSION)
		rc = take_session_line(taking, value);
	else if (kind == RECORD_SYSTEM)
		rc = fault(taking, FAULT_SYSTEM, false);
	if (rc)
		return rc;
	rc = take_as(taking, value, kind);
	return rc == BOBBIN_EINPUT ? fault(taking, FAULT_SHAPE, true) : rc;
}

/* Reads values from the start of a piece as long as they are whole; ret_rest is what is left. */
static int take_prefix(struct taking *taking, struct slice piece, struct slice *ret_rest)
{
	struct json value;
	size_t used;
	int rc = 0;

	while (!rc && json_parse_prefix(piece.data, piece.len, &value, &used, NULL) == 0 &&
		value.type == JSON_OBJECT) {
		rc = take_value(taking, &value);
		piece.data += used;
		piece.len -= used;
	}
	*ret_rest = piece;
	return rc;
}

static bool is_blank(struct slice piece)
{
	for (size_t i = 0; i < piece.len; i++)
		if (!memchr(" \t\r\n", piece.data[i], 4))
			return false;
	return true;
}

static bool is_whole(struct slice piece)
{
	struct json value;
	size_t used;

	while (!is_blank(piece)) {
		if (json_parse_prefix(piece.data, piece.len, &value, &used, NULL) < 0 ||
			value.type != JSON_OBJECT)
			return false;
		piece.data += used;
		piece.len -= used;
	}
	return true;
}

/* The pieces of a line between its NULs. The first may end torn; a later one might begin inside of what is
 * lost. */
static int take_pieces(struct taking *taking, struct slice *ret_first_rest)
{
	const char *at = taking->line->data, *end = at + taking->line->length;
	bool first = true;
	int rc = 0;

	while (!rc && at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		struct slice rest, piece = {at, (size_t)((stop ? stop : end) - at)};
		if (first || is_whole(piece))
			rc = take_prefix(taking, piece, first ? ret_first_rest : &rest);
		first = false;
		at += piece.len + 1;
	}
	return rc;
}

static enum fault_kind kind_of_damage(const struct taking *taking, struct slice rest, uint64_t fault_offset)
{
	const struct scan_line *line = taking->line;

	if (memchr(line->data, '\0', line->length))
		return FAULT_NULS;
	if (utf8_valid_prefix(line->data, line->length) != line->length)
		return FAULT_UTF8;
	if (taking->values > 0)
		return FAULT_GLUED;
	return rest.len && fault_offset >= line->length ? FAULT_TORN : FAULT_JSON;
}

static int take_damaged(struct taking *taking, uint64_t fault_offset)
{
	const struct scan_line *line = taking->line;
	struct slice rest = {line->data, line->length};
	int rc;

	if (line->offset == 0 && looks_like_session_line(line->data, line->length)) {
		/* A whole header with something behind it is fine; anything else must not become a new root.
		 */
		struct json header;
		size_t used;
		enum record_kind header_kind;
		if (json_parse_prefix(line->data, line->length, &header, &used, NULL) < 0 ||
			!record_kind_of(&header, &header_kind) || header_kind != RECORD_SESSION)
			rc = damaged_header(taking, "it cannot be read");
		else
			rc = 0;
		if (rc < 0 || taking->log->header_lost)
			return rc;
	}
	rc = take_pieces(taking, &rest);
	if (rc)
		return rc;
	enum fault_kind kind = kind_of_damage(taking, rest, fault_offset);
	return fault(taking, kind, kind != FAULT_GLUED || !is_blank(rest));
}

static int take_text(struct taking *taking)
{
	const struct scan_line *line = taking->line;
	struct slice text = {line->data, line->length};
	struct bobbin_error reason = {0};
	struct json value;
	enum record_kind kind;

	if (is_blank(text))
		return 0;
	int rc = json_parse(text.data, text.len, &value, &reason);
	if (rc == 0) {
		if (line->offset == 0 && (!record_kind_of(&value, &kind) || kind == RECORD_OTHER) &&
			looks_like_session_line(text.data, text.len))
			return damaged_header(taking, "it is not a session line");
		return take_value(taking, &value);
	}
	if (line->terminated || taking->log->sealing)
		return take_damaged(taking, reason.offset);
	/* It may be somebody's append going on. */
	struct log *log = taking->log;
	log->before_pending = index_mark(&log->index);
	log->has_pending = true;
	rc = take_damaged(taking, reason.offset);
	if (rc)
		return rc;
	if (log->index.state.fault_count > log->before_pending.state.fault_count)
		log->index.faults[log->index.state.fault_count - 1].open = true;
	return SCAN_PENDING;
}

int log_take_line(void *data, const struct scan_line *line, struct bobbin_error *error)
{
	struct taking taking = {.log = data, .line = line, .error = error};

	if (taking.log->loading)
		log_spare_memory(taking.log);
	int rc = line->data ? take_text(&taking) : fault(&taking, FAULT_TOO_LONG, true);

	arena_reset(&taking.log->scratch);
	return rc;
}
