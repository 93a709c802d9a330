/* SPDX-License-Identifier: MIT */
/*
 * What a run of a routine is told of the runs before it, of which its window shows nothing: an excerpt of how
 * each of the last three ended, and what the person said to it afterwards ("skip newsletters from now on"),
 * both from the messages themselves; and the notes that the routine keeps.
 *
 * Invariants: (1) it is made of raw messages, never of records or of an earlier digest; (2) it is part of no
 * message and not stored; (3) it stands at the beginning of the run and does not change while the run lasts;
 * (4) it is bounded in tokens, whatever was said and in whichever script: what does not fit is cut shorter, then the oldest run is
 * left out. They are counted by the model's counter without what reports corrected, so that (3) holds.
 */
#include "session/routine.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/excerpt.h"

#include <stdlib.h>

/* Of an excerpt, in tokens, if there is room for all of them: three runs with a reply and four follow-ups. */
#define REPLY_TOKENS 160
#define FOLLOW_UP_TOKENS 64
#define SHARES 16 /* parts of them */
#define RUNS_MAX 4096 /* of a line, looked at; the newest */

struct run {
	size_t start, end; /* positions on the line: [start, end) */
	const char *name;
	struct slice routine;
};

/* ---- Runs on a line ---- */

/* A member of any other kind names nothing; a log may be written by hand. */
static const char *name_in(const struct json *object, const char *key, struct arena *arena)
{
	struct json value;
	struct slice text = {"", 0};
	if (json_get(object, key, &value) && value.type == JSON_STRING)
		text = json_string_content(&value, arena);
	return text.data ? arena_copy(arena, text.data, text.len) : NULL; /* with a NUL behind it */
}

static int read_run(
	struct log *log, uint32_t record, struct arena *arena, struct run *run, struct bobbin_error *error)
{
	struct json object;
	int rc = log_record_read(log, record, arena, &object, error);
	if (rc < 0)
		return rc;
	run->name = name_in(&object, "run", arena);
	const char *routine = name_in(&object, "routine", arena);
	run->routine = slice_of(routine);
	return run->name && routine ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

static int by_start(const void *a, const void *b)
{
	size_t x = ((const struct run *)a)->start, y = ((const struct run *)b)->start;
	return x < y ? -1 : x > y;
}

static uint32_t line_length(const struct log *log, uint32_t head)
{
	struct log_node node;
	return head != NODE_NONE && log_node(log, head, &node) == 0 ? node.depth + 1 : 0;
}

/* All runs that have a message on the line to `head`, in order. */
static int find_runs(struct log *log, uint32_t head, struct arena *arena, struct run *runs, size_t *ret_count,
	struct bobbin_error *error)
{
	size_t count = 0, length = line_length(log, head), kept = 0;
	struct log_record info;
	for (struct log *at = log; at; at = log_base(at))
		for (uint32_t record = log_newest(at, RECORD_RUN); record != RECORD_NONE && count < RUNS_MAX;
			record = info.previous) {
			int rc = log_look_up_record(at, record, &info, error);
			if (rc < 0)
				return rc;
			if (!log_run_on_line(log, at, &info, head))
				continue;
			runs[count] = (struct run){.start = line_length(log, info.head)};
			if ((rc = read_run(at, record, arena, &runs[count], error)) < 0)
				return rc;
			count += runs[count].start < length;
		}
	qsort(runs, count, sizeof(*runs), by_start);
	for (size_t i = 0; i < count;
		i++) { /* of two that begin with the same message the later one counts */
		if (i + 1 < count && runs[i + 1].start == runs[i].start)
			continue;
		runs[kept] = runs[i];
		runs[kept++].end = i + 1 < count ? runs[i + 1].start : length;
	}
	*ret_count = kept;
	return 0;
}

/* ---- The digest ---- */

struct digest {
	bobbin_session *session;
	uint32_t head;
	struct token_counter *counter;
	unsigned share; /* of the excerpts' lengths, in SHARES */
	struct buffer out;
	struct bobbin_error *error;
};

static int add_said(struct digest *digest, const char *what, struct slice text, uint64_t tokens)
{
	buffer_add_text(&digest->out, what);
	int rc = excerpt_add(&digest->out, text, digest->counter, tokens * digest->share / SHARES);
	return rc < 0 ? error_set(digest->error, rc, "telling of earlier runs: out of memory") : 0;
}

static int message_at(
	struct digest *digest, size_t position, struct arena *arena, struct message *ret_message)
{
	uint32_t node = log_ancestor(digest->session->log, digest->head, (uint32_t)position);
	return log_message(digest->session->log, node, arena, ret_message, digest->error);
}

static int text_of(struct digest *digest, const struct message *message, struct arena *arena, struct slice *ret_text)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	message_add_text(message, arena, &text);
	const char *copy = buffer_error(&text) ? NULL : arena_copy(arena, buffer_slice(&text).data, text.len);
	*ret_text = (struct slice){copy, text.len};
	buffer_release(&text);
	return copy ? 0 : error_set(digest->error, BOBBIN_ENOMEM, "telling of earlier runs: out of memory");
}

/* Whether a person typed the message at `position`. */
static bool is_typed(const struct digest *digest, size_t position)
{
	struct log_node node;
	uint32_t number = log_ancestor(digest->session->log, digest->head, (uint32_t)position);
	return log_node(digest->session->log, number, &node) == 0 && node.role == ROLE_USER &&
	       node.origin == ORIGIN_PERSON;
}

/* How the run's own turn ended: the newest answer in it that says something. What was talked about afterwards
 * is no result. */
static int add_reply(struct digest *digest, const struct run *run)
{
	struct arena arena = ARENA_INIT;
	bool said = false;
	int rc = 0;
	size_t end = run->start + 1;
	while (end < run->end && !is_typed(digest, end))
		end++;
	for (size_t at = end; !rc && !said && at-- > run->start;) {
		struct message message;
		arena_reset(&arena);
		struct slice text;
		rc = message_at(digest, at, &arena, &message);
		if (rc < 0 || message.role != ROLE_ASSISTANT || (rc = text_of(digest, &message, &arena, &text)) < 0)
			continue;
		text = excerpt_without_opening(text);
		said = text.len > 0;
		if (said)
			rc = add_said(digest, "\n  it ended: ", text, REPLY_TOKENS);
	}
	if (!rc && !said)
		buffer_add_text(&digest->out, "\n  it ended without an answer");
	arena_release(&arena);
	return rc;
}

/* The newest that a person typed in it, after what began it; in the order in which they came. */
static int add_follow_ups(struct digest *digest, const struct run *run)
{
	struct arena arena = ARENA_INIT;
	size_t found[ROUTINE_FOLLOW_UPS], count = 0;
	int rc = 0;
	for (size_t at = run->end; at-- > run->start + 1 && count < ROUTINE_FOLLOW_UPS;)
		if (is_typed(digest, at))
			found[count++] = at;
	while (!rc && count) {
		struct message message;
		struct slice text;
		arena_reset(&arena);
		rc = message_at(digest, found[--count], &arena, &message);
		if (!rc)
			rc = text_of(digest, &message, &arena, &text);
		if (!rc)
			rc = add_said(digest, "\n  then the user said: ", text, FOLLOW_UP_TOKENS);
	}
	arena_release(&arena);
	return rc;
}

/* The last `most` runs of the routine. */
static int write_digest(struct digest *digest, const struct run *runs, size_t count, struct slice routine, size_t most,
	size_t *ret_told)
{
	size_t first = count, told = 0;
	int rc = 0;
	while (first && told < most)
		told += slice_equal(runs[--first].routine, routine);
	*ret_told = told;
	if (told)
		buffer_add_text(&digest->out, "[Earlier runs of this routine]\nWhat the user said after a "
					      "run holds for this one too.");
	for (size_t i = first; !rc && told && i < count; i++) {
		if (!slice_equal(runs[i].routine, routine))
			continue;
		buffer_addf(&digest->out, "\n- run %.100s", runs[i].name);
		rc = add_reply(digest, &runs[i]);
		if (!rc)
			rc = add_follow_ups(digest, &runs[i]);
	}
	return rc;
}

static int add_digest(struct digest *digest, const struct run *runs, size_t count, struct slice routine,
	uint64_t tokens_max, size_t *ret_told)
{
	*ret_told = 0;
	for (size_t most = ROUTINE_RUNS; most; most--)
		for (digest->share = SHARES; digest->share >= SHARES / 8; digest->share /= 2) {
			uint64_t tokens = 0;
			buffer_clear(&digest->out);
			int rc = write_digest(digest, runs, count, routine, most, ret_told);
			struct slice text = buffer_slice(&digest->out);
			if (!rc && text.len && token_counter_count(digest->counter, text.data, text.len, &tokens) < 0)
				rc = error_set(digest->error, BOBBIN_ENOMEM, "telling of earlier runs: out of memory");
			if (rc < 0 || tokens <= tokens_max)
				return rc;
		}
	buffer_clear(&digest->out);
	*ret_told = 0;
	return 0;
}

/* ---- Notes ---- */

/* As of the beginning of the run, which nothing in it changes; in a first run, which has no message before
 * it, as they are. */
static int add_notes(struct digest *digest, const struct run *run, uint64_t tokens_max, bool *ret_there)
{
	char id[PATH_ID_BYTES], *notes;
	struct bobbin_error why;
	size_t len;
	int rc = 0;
	if (run->start)
		rc = log_node_id(digest->session->log,
			log_ancestor(digest->session->log, digest->head, (uint32_t)run->start - 1), id,
			digest->error);
	if (rc < 0)
		return rc;
	rc = bobbin_file_read(digest->session, ROUTINE_NOTES, run->start ? id : NULL, &notes, &len, &why);
	*ret_there = !rc;
	if (rc == BOBBIN_ENOMEM)
		return error_set(digest->error, rc, "out of memory");
	if (digest->out.len)
		buffer_add_text(&digest->out, "\n\n");
	buffer_add_text(&digest->out, "[Notes of this routine, " ROUTINE_NOTES "]\n");
	if (!rc) {
		size_t shown, from = digest->out.len;
		utf8_add_clean(&digest->out, notes, utf8_truncate(notes, len, len < ROUTINE_NOTES_BYTES ? len : ROUTINE_NOTES_BYTES));
		struct slice clean = {buffer_slice(&digest->out).data + from, digest->out.len - from};
		rc = excerpt_fit(clean, digest->counter, tokens_max, &shown);
		if (!rc)
			buffer_truncate(&digest->out, from + shown);
		if (!rc && shown < len)
			buffer_addf(&digest->out, "\n[%zu more bytes in the file]", len - shown);
		bobbin_free(notes);
		if (rc < 0)
			return error_set(digest->error, rc, "reading notes: out of memory");
	} else {
		buffer_add_text(&digest->out,
			rc == BOBBIN_ENOTFOUND ? "There are none yet." : "They cannot be read now.");
	}
	buffer_add_text(&digest->out,
		"\nBefore you end this run, write into " ROUTINE_NOTES " what the next one must know.");
	return 0;
}

/* ---- Telling ---- */

static int keep(
	struct digest *digest, size_t told, bool notes, struct arena *arena, struct routine_told *ret_told)
{
	char reason[160];
	struct buffer text = BUFFER_INIT(sizeof(reason) - 1);
	int rc = buffer_error(&digest->out);
	if (told)
		buffer_addf(&text, "how %zu earlier run%s ended, and what was said then; ", told,
			told == 1 ? "" : "s");
	buffer_add_text(&text, notes ? "its notes" : "it has no notes yet");
	if (!rc)
		rc = buffer_error(&text);
	ret_told->text = (struct slice){
		rc ? NULL : arena_copy(arena, buffer_slice(&digest->out).data, digest->out.len),
		digest->out.len};
	ret_told->reason = rc ? NULL : arena_copy(arena, buffer_slice(&text).data, text.len);
	buffer_release(&text);
	return ret_told->text.data && ret_told->reason
		       ? 0
		       : error_set(digest->error, BOBBIN_ENOMEM, "out of memory");
}

static int tell(struct digest *digest, struct run *runs, uint64_t window, struct arena *arena, struct arena *own,
	struct routine_told *ret_told)
{
	uint64_t share = window / ROUTINE_SHARE;
	size_t count, told;
	bool notes;
	int rc = find_runs(digest->session->log, digest->head, own, runs, &count, digest->error);
	if (rc < 0 || !count)
		return rc;
	const struct run *newest = &runs[count - 1];
	rc = add_digest(digest, runs, count - 1, newest->routine, share < ROUTINE_TOKENS ? share : ROUTINE_TOKENS, &told);
	if (!rc)
		rc = add_notes(digest, newest, share < ROUTINE_NOTES_TOKENS ? share : ROUTINE_NOTES_TOKENS, &notes);
	return rc ? rc : keep(digest, told, notes, arena, ret_told);
}

/* Nearly every session has no runs; that costs one look. */
static bool has_runs(struct log *log)
{
	for (struct log *at = log; at; at = log_base(at))
		if (log_newest(at, RECORD_RUN) != RECORD_NONE)
			return true;
	return false;
}

int routine_tell(bobbin_session *session, const struct routine_wanted *wanted, struct arena *arena,
	struct routine_told *ret_told, struct bobbin_error *error)
{
	struct arena own = ARENA_INIT;
	struct token_counter counter;
	token_counter_for_model(wanted->model, &counter);
	struct digest digest = {.session = session, .head = wanted->head, .counter = &counter,
		.out = BUFFER_INIT(ROUTINE_BYTES + 4 * ROUTINE_NOTES_BYTES), .error = error};
	*ret_told = (struct routine_told){{"", 0}, NULL};
	if (!has_runs(session->log))
		return 0;
	struct run *runs = arena_alloc(&own, RUNS_MAX * sizeof(*runs));
	int rc = runs ? tell(&digest, runs, wanted->window, arena, &own, ret_told)
		      : error_set(error, BOBBIN_ENOMEM, "out of memory");
	token_counter_release(&counter);
	buffer_release(&digest.out);
	arena_release(&own);
	return rc;
}

int bobbin_routine_digest(bobbin_session *session, const char *routine, char **ret_text, size_t *ret_len,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct token_counter counter;
	struct digest digest = {.session = session, .counter = &counter, .out = BUFFER_INIT(ROUTINE_BYTES), .error = error};
	size_t count = 0, told;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!routine || !ret_text)
		return error_set(error, BOBBIN_EINVAL, "the digest of which routine?");
	digest.head = log_head(session->log);
	token_counter_for_model("", &counter);
	struct run *runs = arena_alloc(&arena, RUNS_MAX * sizeof(*runs));
	rc = runs ? find_runs(session->log, digest.head, &arena, runs, &count, error)
		  : error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = add_digest(&digest, runs, count, slice_of(routine), ROUTINE_TOKENS, &told);
	token_counter_release(&counter);
	buffer_add(&digest.out, "", 0);
	char *text = rc ? NULL : buffer_take(&digest.out, ret_len);
	buffer_release(&digest.out);
	arena_release(&arena);
	if (rc < 0)
		return rc;
	*ret_text = text;
	return text ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}
