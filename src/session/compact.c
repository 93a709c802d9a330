/* SPDX-License-Identifier: MIT */
/* See compact.h. */
#include "session/compact.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "compact/render.h"
#include "compact/rules.h"
#include "session/memory_file.h"
#include "session/model_deriver.h"
#include "session/segments.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>

#define USELESS_MAX 3
/* Half of the share that a record may take at most. What can be recalled is shown up to here, so that in a
 * small window a compaction wins room for more than a turn; the other half is for what must not be lost. In
 * windows of 80,000 tokens and more the fixed maximum comes first. */
#define RECORD_AIM_PERMILLE 75

struct bobbin_compaction {
	struct arena arena; /* owns all texts of the report */
	struct bobbin_compaction_report report;
};

const struct bobbin_compaction_report *bobbin_compaction_report(const bobbin_compaction *compaction)
{
	return &compaction->report;
}

void bobbin_compaction_free(bobbin_compaction *compaction)
{
	if (!compaction)
		return;
	arena_release(&compaction->arena);
	mem_free(compaction);
}

/* ---- What is said about it ---- */

static void add_number(struct buffer *out, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buffer_add_char(out, ',');
		buffer_add_char(out, digits[i]);
	}
}

void compact_describe(const struct bobbin_compaction_report *report, const char *id, struct buffer *out)
{
	uint64_t after = report->tokens_after ? report->tokens_after : 1;
	uint64_t ratio = report->tokens_before * 10 / after;
	buffer_add_text(out, "compacted ");
	add_number(out, report->messages);
	buffer_add_text(out, report->messages == 1 ? " message: " : " messages: ");
	add_number(out, report->tokens_before);
	buffer_add_text(out, " → ");
	add_number(out, report->tokens_after);
	buffer_addf(out, " tokens (%llu.%llu×), ", (unsigned long long)ratio / 10,
		(unsigned long long)ratio % 10);
	buffer_addf(out, "%llu constraint%s kept", (unsigned long long)report->constraints,
		report->constraints == 1 ? "" : "s");
	if (report->refused)
		buffer_addf(out, ", %llu statement%s refused", (unsigned long long)report->refused,
			report->refused == 1 ? "" : "s");
	if (*report->reason) /* the model failed, and rules wrote the record, or a part of it */
		buffer_addf(out, "; by rules: %s", report->reason);
	buffer_addf(out, "; see bobbin record %s", id);
}

static const char *keep(struct arena *arena, struct slice text)
{
	return arena_copy(arena, text.data ? text.data : "", text.len);
}

/* Nothing was done, for this reason; the report is complete. */
static int nothing(bobbin_compaction *compaction, struct bobbin_error *error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int nothing(bobbin_compaction *compaction, struct bobbin_error *error, const char *format, ...)
{
	char text[600];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	compaction->report.done = 0;
	compaction->report.reason = keep(&compaction->arena, slice_of(text));
	compaction->report.line = compaction->report.reason;
	return compaction->report.reason ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- The steps ---- */

/* One climb: what is planned, cut, merged and rendered. */
struct climb {
	bobbin_session *session;
	const struct compact_request *request;
	bobbin_plan *plan;
	bobbin_compaction *compaction;
	struct window_plan window; /* large: it lives on the heap with the rest */
	size_t cut, inner, covered;
	char floor[PATH_ID_BYTES];
	struct segments_report segments;
	struct compact_record shown;
	struct buffer text, json;
	struct render_report rendered;
	char digest[8 + SHA256_HEX_BYTES];
};

static const struct deriver *deriver_of(const struct climb *climb)
{
	return climb->request->deriver ? climb->request->deriver : &rules_deriver;
}

/* Where to cut if a record of the budget's size stood before it. */
static int choose_cut(struct climb *climb, struct bobbin_error *error)
{
	struct window_options options = climb->plan->options;
	options.cut_for_record = climb->plan->numbers.record;
	int rc = window_plan(&climb->plan->shown, &climb->plan->numbers, &options, NULL,
		&climb->plan->counter, &climb->window, error);
	if (rc < 0)
		return rc;
	climb->cut = climb->window.cut + climb->plan->floor;
	climb->inner = climb->window.inner_cut == WINDOW_NONE ? WINDOW_NONE
							      : climb->window.inner_cut + climb->plan->floor;
	climb->covered = climb->inner == WINDOW_NONE ? climb->cut : climb->inner;
	return 0;
}

static uint64_t covered_messages(const struct climb *climb)
{
	size_t end = climb->inner == WINDOW_NONE ? climb->cut
						 : climb->inner - 1; /* all but the user's words at the cut */
	return end - climb->plan->floor;
}

/* The merged record of what is covered, rendered within its budget. 1: there is
 * one; 0: it holds nothing. */
static int make_record(struct climb *climb, struct bobbin_error *error)
{
	const struct segments_request request = {.path = climb->plan->path,
		.head = climb->plan->head,
		.floor = climb->plan->floor,
		.covered = climb->covered,
		.deriver = deriver_of(climb),
		.derive_max = climb->request->only_ready ? 0 : UINT32_MAX,
		.dry = climb->request->dry_run};
	const struct compact_merge_options options = {
		climb->cut, climb->inner == WINDOW_NONE ? COMPACT_NO_INNER : climb->inner};
	struct render_options render = RENDER_OPTIONS_INIT;
	struct compact_record merged;
	struct compact_merge *merge;
	struct arena *arena = &climb->compaction->arena;
	int rc = segments_merge(climb->session, &request, &merge, &climb->segments, error);
	if (rc < 0 || segments_end(&request, merge) < climb->covered)
		return rc;
	render.tokens_max = climb->plan->numbers.record;
	render.tokens_aim = climb->plan->numbers.history * RECORD_AIM_PERMILLE / 1000;
	render.counter = &climb->plan->counter;
	rc = compact_merge_finish(merge, &options, arena, &merged, error);
	if (!rc)
		rc = compact_render(&merged, log_path_path(climb->plan->path), &render, arena, &climb->shown,
			&climb->text, &climb->rendered, error);
	return rc < 0 ? rc : climb->text.len > 0;
}

/* The view with this record: its tokens, or an error if it does not fit. */
static int measure_after(struct climb *climb, struct bobbin_error *error)
{
	size_t floor = climb->plan->floor;
	struct window_record record = {.cut = climb->cut - floor,
		.inner_cut = climb->inner == WINDOW_NONE ? WINDOW_NONE : climb->inner - floor,
		.text = buffer_slice(&climb->text),
		.tokens = climb->rendered.tokens};
	return window_plan(&climb->plan->shown, &climb->plan->numbers, &climb->plan->options, &record,
		&climb->plan->counter, &climb->window, error);
}

static bool is_in_force(const struct climb *climb)
{
	const struct found_record *found = &climb->plan->found;
	size_t floor = climb->plan->floor;
	size_t inner = climb->inner == WINDOW_NONE ? WINDOW_NONE : climb->inner - floor;
	return found->usable && found->window.cut == climb->cut - floor && found->window.inner_cut == inner &&
	       slice_equal(found->window.text, buffer_slice(&climb->text));
}

/* ---- The commit ---- */

static int digest_record(struct climb *climb)
{
	uint8_t digest[SHA256_BYTES];
	compact_record_write_json(&climb->shown, &climb->json);
	int rc = buffer_error(&climb->json);
	if (!rc)
		rc = sha256_of(climb->json.data, climb->json.len, digest);
	memcpy(climb->digest, "sha256:", 8);
	if (!rc)
		hex_encode(digest, SHA256_BYTES, climb->digest + 7);
	return rc;
}

static void member_or_null(struct json_writer *writer, const char *key, const char *text)
{
	json_key(writer, key);
	if (*text)
		json_add_text(writer, text);
	else
		json_add_null(writer);
}

static int commit_line(struct climb *climb, struct buffer *out, struct bobbin_error *error)
{
	const struct path *path = log_path_path(climb->plan->path);
	char source[COMPACTION_SOURCE_BYTES], cut[PATH_ID_BYTES], inner[PATH_ID_BYTES] = "";
	struct json_writer writer;
	int rc = path_id(path, climb->cut, cut, error);
	if (!rc && climb->inner != WINDOW_NONE)
		rc = path_id(path, climb->inner, inner, error);
	if (!rc)
		rc = compaction_source(climb->session->log, climb->plan->head, climb->cut, climb->inner, source, error);
	if (rc < 0)
		return rc;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "compaction");
	json_member_text(&writer, "cut", cut);
	member_or_null(&writer, "inner", inner);
	json_member_text(&writer, "source", source);
	member_or_null(&writer, "floor", climb->floor);
	json_member_text(&writer, "deriver", deriver_of(climb)->name);
	json_member_uint(&writer, "segments", climb->segments.found + climb->segments.derived);
	json_member_text(&writer, "digest", climb->digest);
	json_member_uint(&writer, "tokens", climb->rendered.tokens);
	json_member_uint(&writer, "before", climb->compaction->report.tokens_before);
	json_member_uint(&writer, "after", climb->compaction->report.tokens_after);
	json_key(&writer, "record");
	json_add_raw(&writer, buffer_slice(&climb->json));
	json_member_string(&writer, "text", buffer_slice(&climb->text));
	json_end_object(&writer);
	rc = buffer_error(out);
	return rc < 0 ? error_set(error, rc, "the compaction record is too large") : 0;
}

/* Looks again at what the record was made of: 1 if it is still so. */
static int still_holds(struct climb *climb, struct bobbin_error *error)
{
	struct log *log = climb->session->log;
	char before[COMPACTION_SOURCE_BYTES], now[COMPACTION_SOURCE_BYTES], floor[PATH_ID_BYTES];
	size_t floor_position;
	int rc = log_refresh(log, error);
	if (rc < 0)
		return rc;
	uint32_t cut = log_ancestor(log, climb->plan->head, (uint32_t)climb->cut);
	bool on_line = log_head(log) != NODE_NONE && log_on_line(log, cut, log_head(log));
	if ((rc = log_failure(log, error)) < 0 || !on_line)
		return rc;
	rc = compaction_source(log, climb->plan->head, climb->cut, climb->inner, before, error);
	if (!rc)
		rc = compaction_source(log, log_head(log), climb->cut, climb->inner, now, error);
	if (rc < 0)
		return rc;
	rc = session_floor(climb->session, log_head(log), floor, &floor_position, error);
	return rc < 0 ? rc : strcmp(before, now) == 0 && strcmp(floor, climb->floor) == 0;
}

static int commit(struct climb *climb, struct bobbin_error *error)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = commit_line(climb, &line, error);
	if (!rc) {
		struct slice bytes = buffer_slice(&line);
		rc = log_append(climb->session->log, &bytes, 1, NULL, NULL, error);
	}
	buffer_release(&line);
	return rc;
}

/* ---- One at a time ---- */

/*
 * ID.compact, locked while records of a session are made, by whatever thread or process. It is removed at the
 * end; what a crash leaves is an empty file that keeps nobody out.
 */
struct compact_lock {
	const struct platform *platform;
	int dir, file;
	char name[LIMIT_SESSION_ID_BYTES + 16];
};

/* Somebody may have removed it between opening and locking. */
static bool is_same_file(const struct compact_lock *lock)
{
	struct file_info mine, named;
	return lock->platform->info(lock->platform->context, lock->file, &mine) == 0 &&
	       lock->platform->info_at(lock->platform->context, lock->dir, lock->name, &named) == 0 &&
	       mine.inode == named.inode && mine.device == named.device;
}

/* 1: it is ours; 0: somebody else's. */
static int compact_lock(bobbin_session *session, struct compact_lock *lock, struct bobbin_error *error)
{
	*lock = (struct compact_lock){
		store_platform(session->store->store), store_dir(session->store->store), -1, ""};
	snprintf(lock->name, sizeof(lock->name), "%s.compact", log_info(session->log)->id);
	for (;;) {
		lock->file = lock->platform->open_at(lock->platform->context, lock->dir, lock->name,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock->file < 0)
			return error_set_os(error, -lock->file, "cannot open %s", lock->name);
		int rc = lock->platform->lock(lock->platform->context, lock->file, LOCK_EX | LOCK_NB);
		if (rc == 0 && is_same_file(lock))
			return 1;
		lock->platform->close(lock->platform->context, lock->file);
		lock->file = -1;
		if (rc == -EWOULDBLOCK)
			return 0;
		if (rc < 0)
			return error_set_os(error, -rc, "cannot lock %s", lock->name);
	}
}

static void compact_unlock(struct compact_lock *lock)
{
	if (lock->file < 0)
		return;
	lock->platform->unlink_at(lock->platform->context, lock->dir, lock->name, 0);
	lock->platform->close(lock->platform->context, lock->file);
}

/* ---- The climb ---- */

static int fill_report(struct climb *climb, struct bobbin_error *error)
{
	struct bobbin_compaction_report *report = &climb->compaction->report;
	struct arena *arena = &climb->compaction->arena;
	struct buffer steps = BUFFER_INIT(128), line = BUFFER_INIT(1024);
	char cut[PATH_ID_BYTES], inner[PATH_ID_BYTES] = "";
	uint32_t refused = 0, repaired = 0;
	const struct path *path = log_path_path(climb->plan->path);
	int rc = path_id(path, climb->cut, cut, error);
	if (!rc && climb->inner != WINDOW_NONE)
		rc = path_id(path, climb->inner, inner, error);
	if (rc < 0)
		return rc;
	buffer_add_text(&steps, climb->segments.derived ? "derive" : "swap");
	if (climb->segments.fallbacks)
		buffer_add_text(&steps, " extract");
	report->done = 1;
	report->cut = keep(arena, slice_of(cut));
	report->inner_cut = keep(arena, slice_of(inner));
	report->messages = covered_messages(climb);
	report->record_tokens = climb->rendered.tokens;
	report->constraints = climb->rendered.binding;
	report->refused = climb->segments.refused;
	report->repaired = climb->segments.repaired;
	model_deriver_count(climb->request->deriver, &refused, &repaired);
	report->refused += refused;
	report->repaired += repaired;
	for (int kind = 0; kind < ITEM_KINDS; kind++)
		report->dropped += climb->rendered.dropped[kind];
	report->segments_found = climb->segments.found;
	report->segments_derived = climb->segments.derived;
	report->digest = keep(arena, slice_of(climb->digest));
	report->text = keep(arena, buffer_slice(&climb->text));
	report->steps = keep(arena, buffer_slice(&steps));
	report->reason = keep(arena, slice_of(climb->segments.reason));
	compact_describe(report, log_info(climb->session->log)->id, &line);
	report->line = keep(arena, buffer_slice(&line));
	buffer_release(&steps);
	buffer_release(&line);
	if (!report->cut || !report->inner_cut || !report->digest || !report->text || !report->steps ||
		!report->reason || !report->line)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 0;
}

static void count_useless(struct climb *climb, uint64_t view_tokens)
{
	climb->session->breaker.useless++;
	climb->session->breaker.tokens = view_tokens;
}

static int led_nowhere(struct climb *climb, struct bobbin_error *error, const char *why)
{
	count_useless(climb, climb->plan->window.full_tokens);
	return nothing(climb->compaction, error, "%s", why);
}

/* After tries that led nowhere: until the view has grown by a twentieth of the history, or was changed. */
static bool is_stopped(const struct climb *climb)
{
	const struct compact_breaker *breaker = &climb->session->breaker;
	uint64_t now = climb->plan->window.full_tokens, step = climb->plan->numbers.history / 20;
	return breaker->useless >= USELESS_MAX && now >= breaker->tokens && now < breaker->tokens + step;
}

/* The record is made: use it if it helps and if the line is still the one it
 * was made of. */
static int use_record(struct climb *climb, struct bobbin_error *error)
{
	struct bobbin_compaction_report *report = &climb->compaction->report;
	struct bobbin_error why = {0};
	int rc = measure_after(climb, &why);
	if (rc == BOBBIN_EBUDGET)
		return led_nowhere(climb, error, why.message);
	if (rc < 0)
		return error_set(error, rc, "%s", why.message);
	report->tokens_after = climb->window.view_tokens;
	if (digest_record(climb) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (is_in_force(climb) && climb->request->force)
		return nothing(climb->compaction, error, "nothing to do: the record is up to date");
	if (is_in_force(climb))
		return led_nowhere(
			climb, error, "nothing to do: the record is up to date, and the view too full");
	if (report->tokens_after >= report->tokens_before)
		return led_nowhere(climb, error, "nothing done: the view would not become smaller");
	rc = fill_report(climb, error);
	if (rc < 0 || climb->request->dry_run)
		return rc;
	rc = still_holds(climb, error);
	if (rc < 0)
		return rc;
	if (!rc)
		return nothing(climb->compaction, error,
			"nothing done: the conversation was changed while the record was made");
	rc = commit(climb, error);
	if (!rc && report->tokens_after >= climb->plan->numbers.trigger)
		count_useless(climb, report->tokens_after);
	else if (!rc)
		climb->session->breaker.useless = 0;
	if (!rc)
		memory_file_write(climb->session, report->cut, report->text);
	return rc;
}

static int climb_ladder(struct climb *climb, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	size_t floor_position;
	if (climb->plan->shown.count == 0)
		return nothing(climb->compaction, error, "nothing to do: there are no messages");
	if (!climb->request->force && !climb->plan->window.over_trigger)
		return nothing(climb->compaction, error, "nothing to do: the view is below the trigger");
	if (!climb->request->force && is_stopped(climb))
		return nothing(climb->compaction, error,
			"stopped after %d tries that led nowhere, until the "
			"conversation moves on",
			USELESS_MAX);
	int rc = session_floor(climb->session, climb->plan->head, climb->floor, &floor_position, error);
	if (rc < 0)
		return rc;
	rc = choose_cut(climb, &why);
	if (rc == BOBBIN_EBUDGET)
		return led_nowhere(climb, error, why.message);
	if (rc < 0)
		return error_set(error, rc, "%s", why.message);
	if (climb->cut == climb->plan->floor && climb->inner == WINDOW_NONE)
		return nothing(climb->compaction, error,
			"nothing to do: the newest messages that stay verbatim are "
			"all there are");
	rc = make_record(climb, error);
	if (rc < 0)
		return rc;
	if (!rc && climb->request->only_ready)
		return nothing(climb->compaction, error, "nothing done: the records are not ready");
	if (!rc)
		return led_nowhere(climb, error, "nothing done: the record would be empty");
	return use_record(climb, error);
}

static bobbin_compaction *compaction_new(void)
{
	bobbin_compaction *compaction = mem_alloc_zero(sizeof(*compaction));
	if (compaction)
		compaction->report = (struct bobbin_compaction_report){.reason = "",
			.steps = "",
			.cut = "",
			.inner_cut = "",
			.digest = "",
			.text = "",
			.line = ""};
	return compaction;
}

static int climb_once(struct climb *climb, struct bobbin_error *error)
{
	const struct compact_request *request = climb->request;
	bobbin_session *session = climb->session;
	buffer_init(&climb->text, LIMIT_LINE_BYTES);
	buffer_init(&climb->json, LIMIT_LINE_BYTES);
	int rc = log_refresh(session->log, error);
	if (!rc)
		rc = plan_make_at(session, log_head(session->log), request->window, &request->model,
			&climb->plan, error);
	if (!rc) {
		climb->compaction->report.tokens_before = climb->plan->window.full_tokens;
		climb->compaction->report.tokens_after = climb->plan->window.view_tokens;
		rc = climb_ladder(climb, error);
	}
	bobbin_plan_free(climb->plan);
	buffer_release(&climb->text);
	buffer_release(&climb->json);
	return rc;
}

int compact_now(bobbin_session *session, const struct compact_request *request,
	bobbin_compaction **ret_compaction, struct bobbin_error *error)
{
	struct climb *climb = mem_alloc_zero(sizeof(*climb));
	bobbin_compaction *compaction = compaction_new();
	struct compact_lock lock = {.file = -1};
	int rc = climb && compaction ? 1 : error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (rc > 0 && !request->dry_run)
		rc = compact_lock(session, &lock, error);
	if (rc > 0) {
		climb->session = session;
		climb->request = request;
		climb->compaction = compaction;
		rc = climb_once(climb, error);
	} else if (rc == 0) {
		rc = nothing(compaction, error, "nothing done: this session is being compacted right now");
	}
	compact_unlock(&lock);
	mem_free(climb);
	if (rc < 0)
		bobbin_compaction_free(compaction);
	else
		*ret_compaction = compaction;
	return rc;
}

int bobbin_session_compact(bobbin_session *session, const struct bobbin_compact_options *options,
	bobbin_compaction **ret_compaction, struct bobbin_error *error)
{
	struct bobbin_compact_options all = BOBBIN_COMPACT_OPTIONS_INIT;
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct deriver deriver;
	struct compact_request request = {.window = &window};
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	if (all.window)
		memcpy(&window, all.window,
			all.window->size < sizeof(window) ? all.window->size : sizeof(window));
	window.at = NULL;
	request.force = all.force;
	request.dry_run = all.dry_run;
	if (all.deriver) {
		deriver = model_deriver(all.deriver);
		request.deriver = &deriver;
	}
	return compact_now(session, &request, ret_compaction, error);
}

/* ---- Ahead of time ---- */

static int derive_ahead(bobbin_session *session, const struct deriver *deriver, uint32_t max,
	uint32_t *ret_derived, bool *ret_left, struct bobbin_error *error)
{
	struct segments_request request = {
		.head = log_head(session->log), .deriver = deriver, .only_closed = true, .derive_max = max};
	struct segments_report report = {0};
	struct compact_merge *merge;
	char floor[PATH_ID_BYTES];
	int rc = session_floor(session, request.head, floor, &request.floor, error);
	if (!rc)
		rc = log_path_new(session->log, request.head, NULL, &request.path, error);
	if (rc < 0)
		return rc;
	request.covered = log_path_path(request.path)->count;
	rc = segments_merge(session, &request, &merge, &report, error);
	log_path_free(request.path);
	if (rc < 0)
		return rc;
	*ret_derived = report.derived;
	*ret_left = report.derived >= max;
	return 0;
}

int compact_ahead(bobbin_session *session, const struct deriver *deriver, uint32_t max, uint32_t *ret_derived,
	bool *ret_left, struct bobbin_error *error)
{
	struct compact_lock lock;
	*ret_derived = 0;
	*ret_left = false;
	if (log_head(session->log) == NODE_NONE)
		return 0;
	int rc = compact_lock(session, &lock, error);
	if (rc > 0)
		rc = derive_ahead(session, deriver, max, ret_derived, ret_left, error);
	compact_unlock(&lock);
	return rc;
}
