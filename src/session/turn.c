/* SPDX-License-Identifier: MIT */
/* The turn's public face: starting, pulling events, answering calls, ending.
 * The steps are in turn_request.c and turn_store.c. */
#include "session/turn.h"

#include "base/alloc.h"
#include "base/json.h"
#include "session/workspace.h"
#include "window/render.h"
#include <stdarg.h>
#include <stdio.h>

/* ---- Models ---- */

/* The mock is as strict as the strictest provider, so that a request it answers
 * is one that everybody answers. */
static int strict_check(
	void *context, enum model_dialect dialect, struct slice body, struct bobbin_error *error)
{
	struct check_faults faults;
	(void)context;
	int rc = check_request(model_dialect_text(dialect), body, NULL, &faults, error);
	if (rc < 0)
		return rc;
	if (faults.count)
		rc = error_set(
			error, BOBBIN_EINPUT, "%s: %s", faults.items[0].where, faults.items[0].message);
	check_faults_release(&faults);
	return rc;
}

int bobbin_model_open(const char *spec, bobbin_model **ret_model, struct bobbin_error *error)
{
	if (!spec)
		return error_set(error, BOBBIN_EINVAL, "a model needs a name");
	bobbin_model *model = mem_alloc_zero(sizeof(*model));
	if (!model)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	int rc = model_open(spec, NULL, &model->model, error);
	if (rc < 0) {
		mem_free(model);
		return rc;
	}
	if (strcmp(model_properties(model->model)->provider, "mock") == 0)
		model_set_check(model->model, strict_check, NULL);
	*ret_model = model;
	return 0;
}

void bobbin_model_close(bobbin_model *model)
{
	if (!model)
		return;
	model_free(model->model);
	mem_free(model);
}

/* ---- Events ---- */

int turn_queue(
	bobbin_turn *turn, int type, const char *id, const char *name, struct slice text, uint64_t number)
{
	if (turn->queued == TURN_EVENTS_MAX)
		return BOBBIN_ELIMIT;
	struct bobbin_event *event = &turn->queue[turn->queued];
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->id = arena_copy(&turn->event_arena, id ? id : "", id ? strlen(id) : 0);
	event->name = arena_copy(&turn->event_arena, name ? name : "", name ? strlen(name) : 0);
	event->text = arena_copy(&turn->event_arena, text.data ? text.data : "", text.len);
	event->text_len = text.len;
	event->number = number;
	if (!event->id || !event->name || !event->text)
		return BOBBIN_ENOMEM;
	turn->queued++;
	return 0;
}

int turn_note(bobbin_turn *turn, const char *format, ...)
{
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return turn_queue(turn, BOBBIN_EVENT_NOTE, NULL, NULL, slice_of(text), 0);
}

/* 1 and the oldest event in the queue, or 0. */
static int take_queued(bobbin_turn *turn, const struct bobbin_event **ret_event)
{
	if (turn->taken == turn->queued) {
		turn->taken = turn->queued = 0;
		arena_reset(&turn->event_arena);
		return 0;
	}
	turn->event = turn->queue[turn->taken++];
	turn->event.input_tokens = turn->input_tokens;
	turn->event.cached_tokens = turn->cached_tokens;
	turn->event.output_tokens = turn->output_tokens;
	turn->event.reported = turn->reported;
	*ret_event = &turn->event;
	return 1;
}

int turn_follow_files(bobbin_turn *turn, struct bobbin_error *error)
{
	struct bobbin_error why;
	int rc = workspace_follow(turn->session, &why);
	if (rc < 0)
		rc = turn_note(turn, "the workspace was not looked at: %s", why.message);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* ---- Starting ---- */

static int copy_options(
	bobbin_turn *turn, const struct bobbin_turn_options *options, struct bobbin_error *error)
{
	struct bobbin_window_options *window = &turn->window;
	*window = (struct bobbin_window_options)BOBBIN_WINDOW_OPTIONS_INIT;
	if (options->window)
		memcpy(window, options->window,
			options->window->size < sizeof(*window) ? options->window->size : sizeof(*window));
	const char *model = window->model ? window->model : model_properties(turn->model->model)->name;
	window->model = arena_copy(&turn->arena, model, strlen(model));
	window->system = arena_copy(&turn->arena, window->system ? window->system : "", window->system_len);
	window->tools = arena_copy(&turn->arena, window->tools ? window->tools : "", window->tools_len);
	window->at = NULL;
	turn->no_compaction = options->no_compaction != 0;
	turn->deriver = options->deriver;
	turn->idle_timeout_ms = options->idle_timeout_ms;
	turn->run = options->run ? arena_copy(&turn->arena, options->run, strlen(options->run)) : "";
	turn->routine =
		options->routine ? arena_copy(&turn->arena, options->routine, strlen(options->routine)) : "";
	if (!window->model || !window->system || !window->tools || !turn->run || !turn->routine)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 0;
}

/* Lines that were set aside, and that the log was longer once. */
static void say_damage(struct log *log, struct buffer *text)
{
	const char *id = log_info(log)->id;
	size_t count;
	const struct log_fault *found = log_faults(log, &count);
	uint64_t cuts = 0;
	for (size_t i = 0; i < count; i++)
		cuts += found[i].kind == FAULT_CUT;
	uint64_t lines = log_fault_total(log) - cuts;
	bool cut = cuts || log_find_cut(log);
	if (cut)
		buffer_addf(text, "%spart of %s.jsonl is lost", text->len ? "; " : "", id);
	if (lines)
		buffer_addf(text, "%s%llu damaged line%s set aside", text->len ? "; " : "", (unsigned long long)lines,
			lines == 1 ? " is" : "s are");
	if (cut || lines)
		buffer_addf(text, "; bobbin doctor %s explains", id);
}

/* Takes in what others wrote, answers dangling calls, and says so. */
static int recover(bobbin_turn *turn, struct bobbin_error *error)
{
	struct bobbin_recovery recovery;
	struct buffer text = BUFFER_INIT(1024);
	int rc = bobbin_session_recover(turn->session, &recovery, error);
	if (rc < 0)
		return rc;
	uint64_t before = recovery.messages - recovery.marked - recovery.replayed;
	if (recovery.marked)
		buffer_addf(&text, "%llu call%s had no result and now ha%s a marked one",
			(unsigned long long)recovery.marked, recovery.marked == 1 ? "" : "s",
			recovery.marked == 1 ? "s" : "ve");
	if (recovery.replayed)
		buffer_addf(&text, "%s%llu call%s answered with what the journal of actions has", text.len ? "; " : "",
			(unsigned long long)recovery.replayed, recovery.replayed == 1 ? " is" : "s are");
	say_damage(turn->session->log, &text);
	rc = turn_queue(turn, BOBBIN_EVENT_RECOVERED, NULL, NULL, buffer_slice(&text), before);
	buffer_release(&text);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static int start(bobbin_turn *turn, struct slice text, const struct bobbin_turn_options *options,
	struct bobbin_error *error)
{
	bobbin_store *store = turn->session->store;
	int rc = copy_options(turn, options, error);
	if (!rc)
		rc = store_turn_lock(store->store, slice_of(log_info(turn->session->log)->id),
			options->wait_ms, &turn->lock, error);
	if (!rc)
		rc = recover(turn, error);
	if (!rc)
		rc = turn_follow_files(turn, error);
	if (!rc)
		rc = turn_store_user(turn, text, options->regenerate, error);
	return rc;
}

int bobbin_turn_start(bobbin_session *session, bobbin_model *model, const char *text, size_t len,
	const struct bobbin_turn_options *options, bobbin_turn **ret_turn, struct bobbin_error *error)
{
	struct bobbin_turn_options all = BOBBIN_TURN_OPTIONS_INIT;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	if (all.idle_timeout_ms < 0)
		return error_set(error, BOBBIN_EINVAL, "a time to wait is not below 0");
	if (!model || (!all.regenerate && (!text || !len)))
		return error_set(
			error, BOBBIN_EINVAL, "a turn needs a model and a message that is not empty");
	bobbin_turn *turn = mem_alloc_zero(sizeof(*turn));
	if (!turn)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	turn->session = session;
	turn->model = model;
	reply_init(&turn->reply);
	pthread_mutex_init(&turn->stream_mutex, NULL);
	rc = start(turn, (struct slice){text, len}, &all, error);
	if (rc < 0)
		bobbin_turn_free(turn);
	else
		*ret_turn = turn;
	return rc;
}

/* ---- Pulling ---- */

static void take_usage(bobbin_turn *turn, const struct model_usage *usage)
{
	int64_t request = model_usage_request_tokens(usage);
	turn->reported = true;
	turn_calibrate(turn, usage);
	turn->input_tokens += request > 0 ? (uint64_t)request : 0;
	turn->cached_tokens += usage->cached > 0 ? (uint64_t)usage->cached : 0;
	turn->output_tokens += usage->output > 0 ? (uint64_t)usage->output : 0;
}

/* One event of the stream becomes at most one of the turn's. */
static int take_model_event(bobbin_turn *turn, const struct model_event *event, struct bobbin_error *error)
{
	int rc = reply_add(&turn->reply, event);
	if (rc < 0)
		return error_set(error, rc, "the answer is larger than a message may be");
	switch (event->type) {
	case MODEL_EVENT_TEXT:
		return turn_queue(turn, BOBBIN_EVENT_TEXT, NULL, NULL, event->text, 0);
	case MODEL_EVENT_THINKING:
		return turn_queue(turn, BOBBIN_EVENT_THINKING, NULL, NULL, event->text, 0);
	case MODEL_EVENT_USAGE:
		take_usage(turn, &event->usage);
		return 0;
	case MODEL_EVENT_DONE:
		return turn_store_reply(turn, error);
	case MODEL_EVENT_ERROR:
		return turn_failed_request(turn, event, error);
	default:
		return 0;
	}
}

static int announce_call(bobbin_turn *turn, struct bobbin_error *error)
{
	for (size_t i = 0; i < turn->call_count; i++) {
		struct turn_call *call = &turn->calls[i];
		if (call->announced)
			continue;
		call->announced = true;
		int rc = turn_queue(
			turn, BOBBIN_EVENT_CALL, call->id.data, call->name.data, call->arguments, 0);
		return rc < 0 ? error_set(error, rc, "out of memory") : 0;
	}
	return error_set(error, BOBBIN_EINVAL, "a call is not answered yet: bobbin_turn_result");
}

/* Nothing to do until then; waits at most `limit_ns`. */
static int wait_step(bobbin_turn *turn, int64_t limit_ns, struct bobbin_error *error)
{
	const struct platform *platform = platform_default();
	int64_t left = turn->wait_until_ns - platform->monotonic_ns(platform->context);
	int64_t slice_ns = 20 * 1000 * 1000; /* a cancel is seen this soon */
	if (left <= 0) {
		turn->state = TURN_PLAN;
		return 0;
	}
	if (limit_ns == 0)
		return error_set(error, BOBBIN_ETIMEOUT, "waiting before the request is sent again");
	if (limit_ns > 0 && slice_ns > limit_ns)
		slice_ns = limit_ns;
	platform->sleep_ns(platform->context, left < slice_ns ? left : slice_ns);
	return 0;
}

static int step(bobbin_turn *turn, int64_t limit_ns, struct bobbin_error *error)
{
	struct model_event event;
	int64_t limit_ms = limit_ns < 0 ? -1 : (limit_ns + 999999) / 1000000;
	switch (turn->state) {
	case TURN_PLAN:
		return turn_send(turn, error);
	case TURN_STREAM: {
		int rc = model_stream_next(turn->stream, limit_ms, &event);
		if (rc < 0)
			return error_set(error, rc, "nothing came from the model in that time");
		return take_model_event(turn, &event, error);
	}
	case TURN_WAIT:
		return wait_step(turn, limit_ns, error);
	case TURN_CALLS:
		return announce_call(turn, error);
	default:
		return error_set(error, BOBBIN_EINVAL, "the turn is over");
	}
}

int bobbin_turn_next(bobbin_turn *turn, int64_t timeout_ms, const struct bobbin_event **ret_event,
	struct bobbin_error *error)
{
	const struct platform *platform = platform_default();
	if (!turn)
		return error_set(error, BOBBIN_EINVAL, "the handle is NULL");
	int rc = SESSION_CHECK(turn->session, error);
	if (rc < 0)
		return rc;
	int64_t end = platform->monotonic_ns(platform->context) + timeout_ms * 1000000;
	for (;;) {
		if (take_queued(turn, ret_event))
			return 1;
		if (turn->state == TURN_OVER)
			return 0;
		if (atomic_load(&turn->cancelled) && turn->state != TURN_STREAM &&
			turn->state != TURN_FAILED) {
			turn->state = TURN_FAILED;
			return error_set(error, BOBBIN_ECANCELLED, "the turn was cancelled");
		}
		int64_t left = timeout_ms < 0 ? -1 : end - platform->monotonic_ns(platform->context);
		rc = step(turn, timeout_ms < 0 ? -1 : left > 0 ? left : 0, error);
		bool again = rc == BOBBIN_ETIMEOUT || (rc == BOBBIN_EINVAL && turn->state == TURN_CALLS);
		if (rc < 0 && !again) {
			turn_close_stream(turn);
			turn->state = TURN_FAILED;
		}
		if (rc < 0)
			return rc;
	}
}

/* ---- Calls, waiting, ending ---- */

int bobbin_turn_result(bobbin_turn *turn, const char *call_id, const char *text, size_t len, int is_error,
	struct bobbin_error *error)
{
	if (!turn || !call_id || (!text && len))
		return error_set(error, BOBBIN_EINVAL, "a result needs a turn, a call id and a text");
	int rc = SESSION_CHECK(turn->session, error);
	if (rc < 0)
		return rc;
	bool open = false;
	struct turn_call *found = NULL;
	for (size_t i = 0; i < turn->call_count; i++) {
		struct turn_call *call = &turn->calls[i];
		if (!found && !call->result.data && slice_is(call->id, call_id))
			found = call;
		else if (!call->result.data)
			open = true;
	}
	if (turn->state != TURN_CALLS || !found)
		return error_set(error, BOBBIN_EINVAL, "no call %.60s waits for a result", call_id);
	const char *copy = arena_copy(&turn->arena, text ? text : "", len);
	if (!copy)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	found->result = (struct slice){copy, len};
	found->is_error = is_error != 0;
	return open ? 0 : turn_store_results(turn, error);
}

int bobbin_turn_fd(const bobbin_turn *turn)
{
	return turn && turn->stream && turn->taken == turn->queued ? model_stream_fd(turn->stream) : -1;
}

void bobbin_cancel(bobbin_turn *turn)
{
	atomic_store(&turn->cancelled, true);
	pthread_mutex_lock(&turn->stream_mutex);
	if (turn->stream)
		model_stream_cancel(turn->stream);
	pthread_mutex_unlock(&turn->stream_mutex);
}

void bobbin_turn_free(bobbin_turn *turn)
{
	if (!turn)
		return;
	turn_close_stream(turn);
	store_turn_unlock(turn->lock);
	reply_release(&turn->reply);
	arena_release(&turn->arena);
	arena_release(&turn->event_arena);
	mem_free(turn->calls);
	pthread_mutex_destroy(&turn->stream_mutex);
	mem_free(turn);
}
