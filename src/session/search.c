/* SPDX-License-Identifier: MIT */
/*
 * Exact search: every message that has these characters, in one session or in all of them.
 *
 *	bytes of a log → a part of the query, or an escape of it → the message there → its decoded texts → match
 *
 * Counting stops at the bytes where they show that the message has it in its text (search_is_plain_text).
 *
 * Invariants: (1) a log is opened only if its bytes may have the query; (2) a message is given once, by the
 * session that stores it, or, when one session was named, in the order of its line: the logs it inherits from,
 * up to the cut, come first; (3) what forks inherit of sessions that were deleted stands in copies beside them, which
 * are searched after all logs, each message once, by one of the forks, unless a log has it; (4) memory is a block, and the
 * message at hand; where there are copies, also 20 bytes for each match, by which it is known again.
 */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "session/search_text.h"
#include "store/log_bytes.h"
#include "store/table.h"

#define BLOCK_BYTES (256u << 10)
#define EXCERPT_BYTES 320
#define EXCERPT_BEFORE 80 /* of it, before the hit */

struct unread {
	const char *id;
	struct unread *next;
};

struct bobbin_search {
	bobbin_store *store;
	struct search_query query;
	bool line_only, one, count_only;
	uint64_t limit, given, skipped;

	struct arena list_arena, arena; /* of the sessions; of the message at hand */
	struct store_entry *entries;
	size_t entry_count, next_entry;
	const char *owner;
	const char *const *copies; /* sessions that have one */
	size_t copy_count, next_copy;
	bool in_copy;
	struct table met;	  /* chained hashes of matches, if there are copies */
	uint64_t *counts;	  /* likewise, counting: matches of each entry … */
	bool counted;
	struct unread *unread; /* sessions that were skipped */

	struct log *log; /* of the session at hand; NULL until it is needed */
	const char *id;
	const char *waiting; /* counting: the session of a message that was found too far */
	struct log *levels[LIMIT_FORK_DEPTH + 1]; /* it, and the logs it inherits from */
	uint64_t ends[LIMIT_FORK_DEPTH + 1];	  /* how much of each is its own */
	unsigned level_count, level;		  /* those from `level` on are done */

	bool reading;
	struct log_bytes bytes;
	uint64_t end, position; /* in the file */
	struct log_cursor cursor;
	char *block;
	uint64_t block_start;
	size_t block_len;

	struct bobbin_match match;
	char message_id[PATH_ID_BYTES], message_name[PATH_ID_BYTES];
	struct buffer excerpt;
};

/* ---- Which logs
 * -------------------------------------------------------------------------------------------- */

static void close_session(bobbin_search *search)
{
	if (search->reading)
		log_bytes_close(&search->bytes);
	search->reading = false;
	log_close(search->log);
	search->log = NULL;
}

/* The logs that a session's messages lie in, and how far. */
static void find_levels(bobbin_search *search)
{
	uint64_t end = UINT64_MAX;

	search->level_count = 0;
	for (struct log *log = search->log; log && search->level_count <= LIMIT_FORK_DEPTH;
		log = log_base(log)) {
		search->levels[search->level_count] = log;
		search->ends[search->level_count++] = end;
		/* In a copy all is inherited, and stands elsewhere than in what it was copied from. */
		end = log_base(log) && log_is_copy(log_base(log)) ? UINT64_MAX : log_info(log)->parent_end;
	}
	search->level = search->level_count;
}

static int begin_log(bobbin_search *search, const char *id, bool copy, uint64_t end, struct bobbin_error *error)
{
	int rc = log_bytes_open(search->store->store, slice_of(id), copy, &search->bytes, error);

	if (rc)
		return rc;
	search->reading = true;
	search->end = end < search->bytes.size ? end : search->bytes.size;
	search->position = search->block_start = 0;
	search->block_len = 0;
	search->cursor = (struct log_cursor){0, 0};
	return 0;
}

/* A session that cannot be searched counts once, also with its copy; one that was deleted meanwhile has nothing any more. */
static int skip(bobbin_search *search, int why)
{
	if (why == BOBBIN_ENOTFOUND)
		return 0;
	for (const struct unread *unread = search->unread; unread; unread = unread->next)
		if (strcmp(unread->id, search->id) == 0)
			return 0;
	struct unread *unread = arena_alloc(&search->list_arena, sizeof(*unread));
	if (!unread)
		return BOBBIN_ENOMEM;
	*unread = (struct unread){search->id, search->unread};
	search->unread = unread;
	search->skipped++;
	return 0;
}

/* The sessions, and then the copies. */
static bool next_id(bobbin_search *search)
{
	if (search->next_entry < search->entry_count) {
		search->id = search->entries[search->next_entry++].id;
		return true;
	}
	search->in_copy = search->next_copy < search->copy_count;
	if (search->in_copy)
		search->id = search->copies[search->next_copy++];
	return search->in_copy;
}

/* 1 and a log to read, 0 when there is none left. */
static int next_log(bobbin_search *search, struct bobbin_error *error)
{
	if (search->reading)
		log_bytes_close(&search->bytes);
	search->reading = false;
	if (search->one) {
		if (search->level == 0)
			return 0;
		const struct log *log = search->levels[--search->level];
		int rc = begin_log(search, log_info(log)->id, log_is_copy(log), search->ends[search->level], error);
		return rc ? rc : 1;
	}
	close_session(search);
	while (next_id(search)) {
		int rc = begin_log(search, search->id, search->in_copy, UINT64_MAX, NULL);
		if (rc == BOBBIN_ENOMEM || (rc && (rc = skip(search, rc)) < 0))
			return error_set(error, rc, "out of memory");
		if (search->reading)
			return 1;
	}
	return 0;
}

/* Whether the session's copy is what it inherits, and not a leftover, and the session one that was asked for. */
static bool is_copy_of(const bobbin_search *search)
{
	const struct log *copy = search->levels[0];

	return copy && log_is_copy(copy) && strcmp(log_info(copy)->id, search->id) == 0 &&
	       (!search->owner || strcmp(log_info(search->log)->owner, search->owner) == 0);
}

/* 1, or 0 if it cannot be opened: its messages cannot be told from damage. */
static int need_log(bobbin_search *search, struct bobbin_error *error)
{
	struct bobbin_error reason = {0};

	if (search->log)
		return 1;
	int rc = log_open(search->store->store, slice_of(search->id), LOG_READ, &search->log, &reason);
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc) {
		search->log = NULL;
		return skip(search, rc) < 0 ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
	}
	search->levels[0] = search->in_copy ? log_base(search->log) : search->log;
	search->level = 0;
	return !search->in_copy || is_copy_of(search);
}

/* ---- Where in the bytes
 * ------------------------------------------------------------------------------------ */

/* Reads on from search->position. 1, 0 at the end. */
static int read_block(bobbin_search *search, struct bobbin_error *error)
{
	uint64_t left = search->end > search->position ? search->end - search->position : 0;
	int64_t got = log_bytes_read(&search->bytes, search->block,
		left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, search->position, error);

	if (got < 0)
		return (int)got;
	search->block_start = search->position;
	search->block_len = (size_t)got;
	return got > 0;
}

/* 1 and search->position at the next place that may be a match, 0 if there is none in this log. */
static int next_place(bobbin_search *search, struct bobbin_error *error)
{
	size_t overlap = (search->query.raw.len > 6 ? search->query.raw.len : 6) - 1;

	if (!search->query.has_raw)
		return search->position < search->end;
	for (;;) {
		uint64_t end = search->block_start + search->block_len;
		if (search->position >= search->block_start && search->position < end) {
			const char *found = find_next(&search->query.raw,
				search->block + (search->position - search->block_start),
				search->block + search->block_len);
			if (found) {
				search->position = search->block_start + (uint64_t)(found - search->block);
				return 1;
			}
			if (end >= search->end)
				return 0;
			if (end - overlap > search->position)
				search->position = end - overlap;
			else if (search->block_len < BLOCK_BYTES)
				return 0; /* the file is shorter than it was */
		}
		int rc = read_block(search, error);
		if (rc <= 0)
			return rc;
	}
}

/* ---- Matches
 * ----------------------------------------------------------------------------------------------- */

static int add_excerpt(bobbin_search *search, const struct search_hit *hit)
{
	struct slice text = hit->text;
	size_t start = hit->at > EXCERPT_BEFORE ? hit->at - EXCERPT_BEFORE : 0, len = search->query.whole.len;
	size_t room = len + EXCERPT_BYTES;

	while (start && ((unsigned char)text.data[start] & 0xc0) == 0x80)
		start--;
	struct slice part = {text.data + start, text.len - start};
	part.len = utf8_truncate(part.data, part.len, room);
	buffer_clear(&search->excerpt);
	buffer_add_text(&search->excerpt, start ? "…" : "");
	search->match.hit_start = search->excerpt.len + (hit->at - start);
	search->match.hit_len = len;
	buffer_add_slice(&search->excerpt, part);
	buffer_add_text(&search->excerpt, part.len < text.len - start ? "…" : "");
	search->match.excerpt = buffer_slice(&search->excerpt).data;
	search->match.excerpt_len = search->excerpt.len;
	return buffer_error(&search->excerpt);
}

/* On the line, or a result that came late for a call there: requests show it in its place. */
static bool is_shown(const struct log *log, uint32_t node, const struct log_node *info)
{
	uint32_t head = log_head(log);
	return log_on_line(log, node, head) || ((info->flags & NODE_LATE) && log_on_line(log, info->parent, head));
}

static int fill_match(bobbin_search *search, uint32_t node, const struct message *message,
	const struct search_hit *hit, struct bobbin_error *error)
{
	struct bobbin_match *match = &search->match;
	struct log_node info;
	struct json ts;
	struct slice time = {"", 0};
	int rc = log_look_up_node(search->log, node, &info, error);

	if (!rc)
		rc = log_node_id(search->log, node, search->message_id, error);
	if (!rc)
		rc = log_short_id(search->log, node, search->message_name, error);
	if (rc)
		return rc;
	if (json_get(&message->record, "ts", &ts) && ts.type == JSON_STRING)
		time = json_string_content(&ts, &search->arena);
	*match = (struct bobbin_match){.session = log_info(search->log)->id,
		.id = search->message_id,
		.name = search->message_name,
		.role = message_role_text(message->role),
		.seq = info.seq,
		.on_line = is_shown(search->log, node, &info),
		.inherited = info.level > 0,
		.hits = hit->count};
	match->time = time.data ? arena_copy(&search->arena, time.data, time.len) : NULL;
	if (!match->time || add_excerpt(search, hit) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 1;
}

/* 1 if what was found at `place` shows that the message is a match, without decoding it: it need only be counted, and nothing is odd
 * about its log. */
static int is_plain_match(bobbin_search *search, uint64_t place, const struct log_node *info, struct bobbin_error *error)
{
	const char *record = search->block + (info->offset - search->block_start);
	size_t before = (size_t)(place - info->offset), len = search->query.raw.len;

	if (!search->count_only || !search->query.plain || log_fault_total(search->levels[search->level]))
		return 0;
	if (info->offset < search->block_start) { /* it began in the block before */
		char *bytes = before < BLOCK_BYTES ? arena_alloc(&search->arena, before + len) : NULL;
		int64_t got = bytes ? log_bytes_read(&search->bytes, bytes, before + len, info->offset, error) : 0;
		if (got < (int64_t)(before + len))
			return got < 0 ? (int)got : 0;
		record = bytes;
	}
	return search_is_plain_text(&search->query, record, record + before);
}

/* A message is known again, in whichever log it stands, by the hash over it and all before it. */
static bool was_met(const bobbin_search *search, uint64_t chain)
{
	uint32_t hash = (uint32_t)chain;

	for (uint32_t i = table_first(&search->met, hash); i != TABLE_NONE; i = table_next(&search->met, i))
		if (search->met.items[i].hash == hash && search->met.items[i].value == (uint32_t)(chain >> 32))
			return true;
	return false;
}

/* 1, or BOBBIN_ENOMEM. */
static int meet(bobbin_search *search, uint64_t chain, struct bobbin_error *error)
{
	if (search->copy_count && table_push(&search->met, (uint32_t)chain, (uint32_t)(chain >> 32)) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 1;
}

/* Looks at the message at search->position, and moves behind it. 1 if it is a match. */
static int look_at(bobbin_search *search, struct bobbin_error *error)
{
	struct log *level = search->levels[search->level];
	struct log_node info;
	struct message message;
	struct search_hit hit;
	uint32_t node;
	int rc = log_node_at(level, search->position, &search->cursor, &node, &info);

	if (rc)
		return error_set(error, rc, "the index of session %s cannot be read", log_info(level)->id);
	if (node == NODE_NONE) {
		search->position = search->end;
		return 0;
	}
	if (search->query.has_raw && info.offset > search->position) { /* no message stands there */
		search->position = info.offset;
		return 0;
	}
	uint64_t place = search->position;
	search->position = info.offset + info.length;
	if (!log_has_node(search->log, node) ||
		(search->line_only && !is_shown(search->log, node, &info)))
		return 0;
	if (search->in_copy && was_met(search, info.chain))
		return 0;
	arena_reset(&search->arena);
	rc = is_plain_match(search, place, &info, error);
	if (rc)
		return rc < 0 ? rc : meet(search, info.chain, error);
	rc = log_message(search->log, node, &search->arena, &message, error);
	if (!rc)
		rc = search_message(&search->query, &message, &search->arena, &hit);
	if (rc == BOBBIN_ENOMEM)
		error_set(error, rc, "out of memory");
	if (rc > 0)
		rc = meet(search, info.chain, error);
	return rc <= 0 || search->count_only ? rc : fill_match(search, node, &message, &hit, error);
}

/* 1 with the next message that has it, 0 at the end. */
static int next_message(bobbin_search *search, struct bobbin_error *error)
{
	int rc = 0;

	while (!rc && !(search->limit && search->given >= search->limit)) {
		rc = search->reading ? next_place(search, error) : 0;
		if (rc > 0 && (rc = need_log(search, error)) > 0) {
			rc = look_at(search, error);
			search->given += rc > 0;
			continue;
		}
		if (rc < 0 || (rc = next_log(search, error)) == 0)
			return rc;
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

static size_t find_entry(const bobbin_search *search)
{
	size_t at = 0;

	while (at < search->entry_count && strcmp(search->entries[at].id, search->id) != 0)
		at++;
	return at;
}

/* Where there are copies, what a session has is together only when all is counted. */
static int next_counted(bobbin_search *search, struct bobbin_error *error)
{
	size_t at = 0;
	int rc = 0;

	while (!search->counted && (rc = next_message(search, error)) > 0) {
		if (!search->in_copy)
			at = search->next_entry - 1;
		else if (at >= search->entry_count || strcmp(search->entries[at].id, search->id) != 0)
			at = find_entry(search);
		search->counts[at]++; /* of one that came since, behind the last */
	}
	if (rc < 0)
		return rc;
	if (!search->counted)
		search->next_entry = 0;
	search->counted = true;
	while (search->next_entry < search->entry_count) {
		at = search->next_entry++;
		if (!search->counts[at])
			continue;
		search->match = (struct bobbin_match){.session = search->entries[at].id, .id = "", .role = "", .time = "",
			.hits = search->counts[at], .excerpt = ""};
		return 1;
	}
	return 0;
}

/* The messages of a session together. That there are no more of it is known by the first of another, which then waits. */
static int next_session(bobbin_search *search, struct bobbin_error *error)
{
	uint64_t count = search->waiting != NULL;
	const char *session = search->waiting;
	int rc;

	search->waiting = NULL;
	while ((rc = next_message(search, error)) > 0) {
		const char *at = search->one ? log_info(search->log)->id : search->id;
		if (count && at != session) {
			search->waiting = at;
			break;
		}
		session = at;
		count++;
	}
	search->match = (struct bobbin_match){.session = session, .id = "", .role = "", .time = "", .hits = count, .excerpt = ""};
	return rc < 0 ? rc : count > 0;
}

int bobbin_search_next(
	bobbin_search *search, const struct bobbin_match **ret_match, struct bobbin_error *error)
{
	int rc = search ? STORE_CHECK(search->store, error)
			: error_set(error, BOBBIN_EINVAL, "the handle is NULL");

	if (!rc)
		rc = !search->count_only ? next_message(search, error)
		     : search->counts	 ? next_counted(search, error)
					 : next_session(search, error);
	if (rc > 0)
		*ret_match = &search->match;
	return rc;
}

/* ---- Beginning and ending
 * ----------------------------------------------------------------------------------- */

static int choose_sessions(
	bobbin_search *search, const struct bobbin_search_options *options, struct bobbin_error *error)
{
	if (options->session) {
		search->one = true;
		int rc = log_open(
			search->store->store, slice_of(options->session), LOG_READ, &search->log, error);
		if (!rc)
			find_levels(search);
		else
			search->log = NULL;
		return rc;
	}
	const struct store_list_options list = {.owner = options->owner};
	int rc = store_list(search->store->store, &list, &search->list_arena, &search->entries, &search->entry_count, error);
	if (!rc)
		rc = store_list_copies(search->store->store, &search->list_arena, &search->copies, &search->copy_count, error);
	if (!rc && options->owner &&
		!(search->owner = arena_copy(&search->list_arena, options->owner, strlen(options->owner))))
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc && search->copy_count && search->count_only &&
		!(search->counts = arena_alloc_zero(&search->list_arena, (search->entry_count + 1) * sizeof(*search->counts))))
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	return rc;
}

int bobbin_search_open(bobbin_store *store, const char *query, size_t len,
	const struct bobbin_search_options *options, bobbin_search **ret_search, struct bobbin_error *error)
{
	struct bobbin_search_options all = BOBBIN_SEARCH_OPTIONS_INIT;
	int rc = STORE_CHECK(store, error);

	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	bobbin_search *search = mem_alloc_zero(sizeof(*search));
	char *block = search ? mem_alloc(BLOCK_BYTES) : NULL;
	if (!block) {
		mem_free(search);
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	search->store = store;
	search->block = block;
	search->line_only = all.line_only;
	search->limit = all.limit;
	search->count_only = all.count_only != 0;
	buffer_init(&search->excerpt, SIZE_MAX - 1);
	rc = search_query_init(
		&search->query, (struct slice){query, query ? len : 0}, all.ignore_case, error);
	if (!rc)
		rc = choose_sessions(search, &all, error);
	if (rc < 0)
		bobbin_search_close(search);
	else
		*ret_search = search;
	return rc;
}

uint64_t bobbin_search_skipped(const bobbin_search *search)
{
	return search->skipped;
}

void bobbin_search_close(bobbin_search *search)
{
	if (!search)
		return;
	close_session(search);
	search_query_release(&search->query);
	table_release(&search->met);
	arena_release(&search->list_arena);
	arena_release(&search->arena);
	buffer_release(&search->excerpt);
	mem_free(search->block);
	mem_free(search);
}
