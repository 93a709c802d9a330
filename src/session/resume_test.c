/* SPDX-License-Identifier: MIT */
/* Resume tests for hosts, see resume_test.h: the private store, the conversation in it, and what became of it. */
#include "session/resume_test.h"

#include "actions/actions.h"
#include "base/alloc.h"
#include "base/json.h"
#include "session/checklist.h"
#include "session/turn.h"
#include "session/workspace.h"

#define SHARE_DEFAULT 0.5
#define CALLS_SPARE 50 /* beyond twice what was recorded: a model may look around */

static int no_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- The private store ---- */

static int open_store(bobbin_resume *resume, bobbin_store *of, struct bobbin_error *error)
{
	struct bobbin_session_options session = BOBBIN_SESSION_OPTIONS_INIT;
	const struct store_options options = {
		.force_filesystem = true,  /* that was decided for the store around it */
		.sync = STORE_SYNC_NONE, /* thrown away in the end */
	};

	trial_sweep(of->store);
	int rc = trial_begin(of->store, &resume->folder, &resume->path, error);
	resume->store = rc ? NULL : mem_alloc_zero(sizeof(*resume->store));
	if (!rc && !resume->store)
		rc = no_memory(error);
	if (!rc)
		rc = store_open(store_platform(of->store), resume->path, &options, &resume->store->store, error);
	if (rc < 0)
		return rc;
	resume->store->process = resume->process;
	session.title = "resume test";
	return bobbin_session_open(resume->store, NULL, &session, &resume->session, error);
}

/* An entry under the key of a recorded call stands or falls with it; the tool is one that has effects. */
static int place_action(void *data, const struct action_record *record)
{
	struct recording *recording = data;
	struct recorded_call *call = recording_by_key(recording, record->key);

	if (!call)
		return -1;
	call->state = (int)record->state;
	recording_tool(recording, call->name)->effect = true;
	return call->before;
}

static int copy_actions(bobbin_resume *resume, bool wanted, struct bobbin_error *error)
{
	struct recording *recording = &resume->recording;
	const struct actions_as_of as_of = {recording->until_ns, place_action, recording};
	uint64_t copied = 0;
	int rc = actions_copy(recording->session->store->store, wanted ? resume->store->store : NULL, &as_of, &copied,
		error);

	resume->report.actions = wanted ? copied : 0;
	return rc;
}

static int copy_files(bobbin_resume *resume, struct bobbin_error *error)
{
	return workspace_take_over(resume->session, resume->recording.session, resume->recording.last,
		&resume->report.files, error);
}

/* ---- What the conversation is told ---- */

/* The same numbers as a plan's, but for the system prompt and the tools, which take little of what a record may have. */
static int record_tokens_max(const bobbin_model *model, const struct bobbin_window_options *window,
	uint64_t *ret_tokens, struct bobbin_error *error)
{
	const struct model_properties *properties = model_properties(model->model);
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {0};
	struct window_budget budget;

	options.window = window->window ? window->window : properties->window_tokens;
	options.output_max = properties->output_tokens_max;
	options.output_reserve = window->output_reserve;
	options.margin = window->margin;
	int rc = window_budget(&options, &fixed, &budget, error);
	if (!rc)
		*ret_tokens = budget.record;
	return rc;
}

static int append_record(bobbin_resume *resume, struct slice text, struct bobbin_error *error)
{
	struct buffer shown = BUFFER_INIT(LIMIT_LINE_BYTES), message = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;

	buffer_add_text(&shown, WINDOW_RECORD_HEADING "\n");
	buffer_add_slice(&shown, text);
	json_writer_init(&writer, &message);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "user");
	json_member_text(&writer, "origin", "summary");
	json_member_string(&writer, "content", buffer_slice(&shown));
	json_end_object(&writer);
	int rc = buffer_error(&shown) ? buffer_error(&shown) : buffer_error(&message);
	struct slice bytes = buffer_slice(&message);
	rc = rc ? no_memory(error) : log_append(resume->session->log, &bytes, 1, NULL, NULL, error);
	buffer_release(&shown);
	buffer_release(&message);
	return rc;
}

static int tell_record(bobbin_resume *resume, const bobbin_model *model, struct bobbin_window_options *window,
	struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	uint64_t tokens_max = 0;
	int rc = record_tokens_max(model, window, &tokens_max, error);

	if (!rc)
		rc = recording_record(&resume->recording, tokens_max, &text, &resume->report.record_tokens, error);
	if (!rc && text.len) {
		rc = append_record(resume, buffer_slice(&text), error);
		window->keep_first = window->keep_first ? window->keep_first + 1 : 1; /* whatever is compacted later */
	}
	buffer_release(&text);
	return rc;
}

static int start_turn(bobbin_resume *resume, bobbin_model *model, const struct bobbin_resume_options *options,
	struct bobbin_error *error)
{
	struct bobbin_turn_options turn = BOBBIN_TURN_OPTIONS_INIT;
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct buffer tools = BUFFER_INIT(LIMIT_LINE_BYTES);
	const char *goal = resume->recording.goal;

	if (options->window)
		memcpy(&window, options->window,
			options->window->size < sizeof(window) ? options->window->size : sizeof(window));
	struct slice given = window.tools ? (struct slice){window.tools, window.tools_len} : slice_of(bobbin_tools());
	int rc = recording_add_tools(&resume->recording, given, &tools, error);
	if (!rc && !(options->without & BOBBIN_RESUME_RECORD))
		rc = tell_record(resume, model, &window, error);
	if (!rc) {
		window.tools = tools.data;
		window.tools_len = tools.len;
		window.at = NULL;
		window.no_facts = 1;
		turn.window = &window;
		turn.idle_timeout_ms = options->idle_timeout_ms;
		rc = bobbin_turn_start(resume->session, model, goal, strlen(goal), &turn, &resume->turn, error);
	}
	buffer_release(&tools);
	return rc;
}

/* ---- Opening ---- */

static void describe(bobbin_resume *resume)
{
	const struct recording *recording = &resume->recording;
	struct bobbin_resume_report *report = &resume->report;
	struct log_node node;

	report->cut = recording->cut;
	report->messages = recording->kept - recording->floor;
	report->messages_left = recording->count - recording->kept;
	for (size_t at = recording->kept; at < recording->count; at++) {
		uint32_t number = log_ancestor(recording->session->log, recording->head, (uint32_t)at);
		if (log_node(recording->session->log, number, &node) == 0)
			report->person_left += node.role == ROLE_USER && node.origin == ORIGIN_PERSON;
	}
	for (size_t i = 0; i < recording->call_count; i++) {
		const struct recorded_call *call = &recording->calls[i];
		const struct bobbin_command *command =
			resume->commands ? bobbin_commands_find(resume->commands, call->name) : NULL;
		bool effect = recording_tool(recording, call->name)->effect || (command && command->effect);
		report->calls_left += !call->before;
		report->effects_left += !call->before && effect;
	}
}

static int begin(bobbin_resume *resume, bobbin_model *model, const struct bobbin_resume_options *options,
	struct bobbin_error *error)
{
	bobbin_session *session = resume->recording.session;
	int rc = open_store(resume, session->store, error);

	if (!rc)
		rc = copy_actions(resume, !(options->without & BOBBIN_RESUME_ACTIONS), error);
	if (!rc && !(options->without & BOBBIN_RESUME_FILES))
		rc = copy_files(resume, error);
	if (!rc)
		describe(resume);
	return rc ? rc : start_turn(resume, model, options, error);
}

static int keep_options(bobbin_resume *resume, const struct bobbin_resume_options *options, struct bobbin_error *error)
{
	struct buffer path = BUFFER_INIT(2 * LIMIT_PATH_BYTES);

	resume->commands = options->commands;
	resume->calls_max = options->calls_max ? options->calls_max
					       : 2 * (uint64_t)resume->recording.call_count + CALLS_SPARE;
	if (options->checklist)
		resume->checklist = arena_copy(&resume->arena, options->checklist, strlen(options->checklist));
	buffer_addf(&path, "%s/%s", resume->path, log_info(resume->session->log)->id);
	resume->report.workspace = buffer_error(&path) ? NULL : arena_copy(&resume->arena, path.data, path.len);
	buffer_release(&path);
	return resume->report.workspace && (!options->checklist || resume->checklist) ? 0 : no_memory(error);
}

static int check(bobbin_session *session, const bobbin_model *model, const struct bobbin_resume_options *options,
	struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);

	if (rc < 0)
		return rc;
	if (!model)
		return error_set(error, BOBBIN_EINVAL, "a resume test needs a model");
	if (!(options->at >= 0 && options->at <= 1))
		return error_set(error, BOBBIN_EINVAL, "a task is cut at a share of it, between 0 and 1");
	if (session->store->read_only)
		return error_set(error, BOBBIN_EREADONLY,
			"the store was opened for reading only; a resume test works in a folder of its caches");
	return 0;
}

int bobbin_resume_open(bobbin_session *session, bobbin_model *model, const struct bobbin_resume_options *options,
	bobbin_resume **ret_resume, struct bobbin_error *error)
{
	struct bobbin_resume_options all = BOBBIN_RESUME_OPTIONS_INIT;

	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	int rc = check(session, model, &all, error);
	if (rc < 0)
		return rc;
	bobbin_resume *resume = mem_alloc_zero(sizeof(*resume));
	if (!resume)
		return no_memory(error);
	resume->process = session->process;
	resume->folder = TRIAL_FOLDER_INIT;
	buffer_init(&resume->answer, LIMIT_LINE_BYTES);
	resume->report = (struct bobbin_resume_report){
		.judged_by = "", .ended = "", .first_twice = "", .first_redone = "", .answer = "", .workspace = ""};
	rc = recording_read(session, all.at > 0 ? all.at : SHARE_DEFAULT, &resume->recording, error);
	if (!rc)
		rc = begin(resume, model, &all, error);
	if (!rc)
		rc = keep_options(resume, &all, error);
	if (rc < 0)
		bobbin_resume_close(resume);
	else
		*ret_resume = resume;
	return rc;
}

void bobbin_resume_close(bobbin_resume *resume)
{
	if (!resume)
		return;
	if (resume->process == platform_process()) {
		bobbin_turn_free(resume->turn);
		bobbin_session_close(resume->session);
		bobbin_store_close(resume->store);
		trial_end(&resume->folder);
	}
	recording_release(&resume->recording);
	arena_release(&resume->arena);
	buffer_release(&resume->answer);
	mem_free(resume->made);
	mem_free(resume->path);
	mem_free(resume);
}

/* ---- Going on ---- */

/* The texts of an event that the host keeps while the call is looked at. */
static int keep_event(bobbin_resume *resume, const struct bobbin_event *event, struct bobbin_error *error)
{
	resume->event = *event;
	resume->event.id = arena_copy(&resume->arena, event->id, strlen(event->id));
	resume->event.name = arena_copy(&resume->arena, event->name, strlen(event->name));
	resume->event.text = arena_copy(&resume->arena, event->text, event->text_len);
	return resume->event.id && resume->event.name && resume->event.text ? 0 : no_memory(error);
}

static int end(bobbin_resume *resume, const char *how)
{
	resume->report.ended = how;
	return 0;
}

/* 1: the host is to see it; 0: it needs not; or an error. */
static int take_event(bobbin_resume *resume, const struct bobbin_event *event, struct bobbin_error *error)
{
	struct bobbin_resume_report *report = &resume->report;

	report->input_tokens = event->input_tokens;
	report->cached_tokens = event->cached_tokens;
	report->output_tokens = event->output_tokens;
	report->reported = event->reported;
	switch (event->type) {
	case BOBBIN_EVENT_PLANNED:
		report->requests++;
		buffer_clear(&resume->answer);
		return 1;
	case BOBBIN_EVENT_TEXT:
		buffer_add(&resume->answer, event->text, event->text_len);
		return buffer_error(&resume->answer) ? no_memory(error) : 1;
	case BOBBIN_EVENT_CALL: {
		int rc = keep_event(resume, event, error);
		return rc ? rc : resume_answer(resume, &resume->event, error);
	}
	default:
		return 1;
	}
}

int bobbin_resume_next(bobbin_resume *resume, int64_t timeout_ms, const struct bobbin_event **ret_event,
	struct bobbin_error *error)
{
	const struct bobbin_event *event;
	int rc = handle_check(resume, resume ? resume->process : 0, error);

	if (rc < 0)
		return rc;
	while (!*resume->report.ended) {
		if (resume->report.calls >= resume->calls_max)
			return end(resume, "limit");
		rc = bobbin_turn_next(resume->turn, timeout_ms, &event, error);
		if (rc == BOBBIN_ETIMEOUT)
			return rc;
		if (rc == 0)
			return end(resume, "answer");
		if (rc == BOBBIN_ELIMIT)
			return end(resume, "limit");
		if (rc > 0)
			rc = take_event(resume, event, error);
		if (rc < 0)
			end(resume, "error");
		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ret_event = event->type == BOBBIN_EVENT_CALL ? &resume->event : event;
			return 1;
		}
	}
	return 0;
}

int bobbin_resume_result(bobbin_resume *resume, const char *call_id, const char *text, size_t len, int is_error,
	struct bobbin_error *error)
{
	int rc = handle_check(resume, resume ? resume->process : 0, error);

	return rc < 0 ? rc : bobbin_turn_result(resume->turn, call_id, text, len, is_error, error);
}

/* ---- Judging ---- */

/* Whether the recorded task checked something off in this file; `ret_any`: or in any. */
static bool is_checklist(const struct recording *recording, const char *path, bool *ret_any)
{
	bool is = false;

	*ret_any = false;
	for (size_t i = 0; i < recording->call_count && !is; i++) {
		const struct recorded_call *call = &recording->calls[i];
		char *named;
		if (strcmp(call->name, "check_off") != 0 ||
			bobbin_json_member(call->arguments.data, call->arguments.len, "path", &named, NULL) < 0)
			continue;
		*ret_any = true;
		is = strcmp(named, path) == 0;
		bobbin_free(named);
	}
	return is;
}

static void count_items(bobbin_resume *resume, const char *path)
{
	struct bobbin_resume_report *report = &resume->report;
	size_t all, open;
	bool any;
	bool is = resume->checklist ? strcmp(resume->checklist, path) == 0
				    : is_checklist(&resume->recording, path, &any) || !any;
	char *text;
	size_t len;

	if (!is || bobbin_file_read(resume->session, path, NULL, &text, &len, NULL) < 0)
		return;
	checklist_count((struct slice){text, len}, &all, &open);
	bobbin_free(text);
	report->items += all;
	report->items_open += open;
}

/* There is a list to judge by if there was one when the task was cut, or the recorded task or the host names one. */
static bool has_checklist(const bobbin_resume *resume)
{
	bool any;

	is_checklist(&resume->recording, "", &any);
	return any || resume->checklist || resume->report.items;
}

static void judge(bobbin_resume *resume)
{
	struct bobbin_resume_report *report = &resume->report;
	const struct bobbin_file *file;
	bobbin_files *files;

	report->items = report->items_open = 0;
	if (bobbin_files_open(resume->session, NULL, &files, NULL) == 0) {
		while ((file = bobbin_files_next(files)))
			count_items(resume, file->path);
		bobbin_files_close(files);
	}
	bool listed = has_checklist(resume);
	report->judged_by = listed ? "checklist" : "answer";
	report->finished = listed ? report->items && !report->items_open : strcmp(report->ended, "answer") == 0;
}

const struct bobbin_resume_report *bobbin_resume_report(bobbin_resume *resume)
{
	if (resume->process == platform_process())
		judge(resume);
	resume->report.answer = resume->answer.data ? resume->answer.data : "";
	return &resume->report;
}
