/* SPDX-License-Identifier: MIT */
/*
 * What calls of a resumed conversation are answered with, and what they count as; see resume_test.h. Which one it is, in
 * this order: a tool of the library's, an effect, a command of the user's (the host's), a recorded call, the host again.
 */
#include "session/resume_test.h"

#include "actions/actions.h"
#include "base/alloc.h"
#include "base/utf8.h"

#define RECALL_EXCERPTS 5
#define SHOWN_BYTES 160 /* of a call, in the report */
#define NOT_MADE "done [in a resume test: nothing was really done]"

struct call {
	bobbin_resume *resume;
	const struct bobbin_event *event;
	uint8_t digest[SHA256_BYTES];
	struct recorded_call *const *equal;
	size_t equal_count;
	struct buffer text; /* the result */
	int is_error;
	struct bobbin_error *error;
};

static int no_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- Counting ---- */

static bool has_result(const struct recorded_call *call)
{
	return call->result != NODE_NONE && !call->is_error;
}

/* "notify {"team":"books"}", once: the first of its kind. */
static int show_first(const struct call *call, const char **shown)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);

	if (**shown)
		return 0;
	buffer_addf(&text, "%s ", call->event->name);
	size_t len = utf8_truncate(call->event->text, call->event->text_len, SHOWN_BYTES);
	buffer_add(&text, call->event->text, len);
	if (len < call->event->text_len)
		buffer_add_text(&text, "…");
	const char *copy = buffer_error(&text) ? NULL : arena_copy(&call->resume->arena, text.data, text.len);
	buffer_release(&text);
	if (!copy)
		return no_memory(call->error);
	*shown = copy;
	return 0;
}

/* Work that was done before, and its result was there to be used. */
static int count_work(const struct call *call)
{
	for (size_t i = 0; i < call->equal_count; i++)
		if (call->equal[i]->before && has_result(call->equal[i])) {
			call->resume->report.redone++;
			return show_first(call, &call->resume->report.first_redone);
		}
	return 0;
}

/* Looking is how a task is taken up, and no work; whether there was something new to see is told. */
static int count_look(const struct call *call)
{
	struct buffer seen = BUFFER_INIT(LIMIT_LINE_BYTES);
	bool same = false;
	int rc = 0;

	call->resume->report.looked++;
	for (size_t i = call->equal_count; !rc && !same && i-- > 0;) {
		if (!call->equal[i]->before || !has_result(call->equal[i]))
			continue;
		buffer_clear(&seen);
		rc = recording_result(&call->resume->recording, call->equal[i], &seen, call->error);
		same = !rc && slice_equal(buffer_slice(&seen), buffer_slice(&call->text));
		break; /* the newest before the cut */
	}
	buffer_release(&seen);
	call->resume->report.seen += same;
	return rc;
}

/* ---- Effects ---- */

static bool is_effect(const bobbin_resume *resume, const char *name)
{
	const struct bobbin_command *command = resume->commands ? bobbin_commands_find(resume->commands, name) : NULL;
	const struct recorded_tool *tool = recording_tool(&resume->recording, name);

	return (command && command->effect) || (tool && tool->effect);
}

/* It was made before the cut, or may have been; or by this conversation itself. */
static bool is_made(const struct call *call)
{
	const bobbin_resume *resume = call->resume;

	for (size_t i = 0; i < call->equal_count; i++) {
		const struct recorded_call *recorded = call->equal[i];
		bool held = recorded->state == ACTION_DONE || recorded->state == ACTION_UNKNOWN ||
			    recorded->state == ACTION_BEGUN;
		if (recorded->before && (held || (!recorded->state && has_result(recorded))))
			return true;
	}
	for (size_t i = 0; i < resume->made_count; i++)
		if (memcmp(resume->made[i].digest, call->digest, SHA256_BYTES) == 0)
			return true;
	return false;
}

static int remember_made(const struct call *call)
{
	bobbin_resume *resume = call->resume;

	if (mem_grow((void **)&resume->made, &resume->made_cap, resume->made_count + 1, sizeof(*resume->made)) < 0)
		return no_memory(call->error);
	memcpy(resume->made[resume->made_count++].digest, call->digest, SHA256_BYTES);
	return 0;
}

/* The recorded result that fits best: the first after the cut, for what follows it is nearest; else the last before it. */
static const struct recorded_call *best_recorded(const struct call *call)
{
	const struct recorded_call *before = NULL;

	for (size_t i = 0; i < call->equal_count; i++) {
		if (call->equal[i]->result == NODE_NONE)
			continue;
		if (!call->equal[i]->before)
			return call->equal[i];
		before = call->equal[i];
	}
	return before;
}

static int play(struct call *call, const struct recorded_call *recorded)
{
	call->resume->report.played++;
	call->is_error = recorded->is_error;
	return recording_result(&call->resume->recording, recorded, &call->text, call->error);
}

static int count_effect(const struct call *call)
{
	struct bobbin_resume_report *report = &call->resume->report;
	int rc = 0;

	report->effects++;
	if (is_made(call)) {
		report->effects_twice++;
		rc = show_first(call, &report->first_twice);
	}
	return rc ? rc : remember_made(call);
}

/* Into the private journal, as a host would; but nothing is done. */
static int make_effect(struct call *call)
{
	bobbin_resume *resume = call->resume;
	bobbin_action *action = NULL;
	char *key = NULL;
	int rc = bobbin_call_key(resume->session, call->event->id, &key, call->error);

	if (!rc)
		rc = bobbin_action_begin(resume->store, key, call->event->text, call->event->text_len, NULL, &action,
			call->error);
	bobbin_free(key);
	if (rc < 0)
		return rc;
	const struct recorded_call *recorded = best_recorded(call);
	rc = recorded ? play(call, recorded) : 0;
	if (!rc && !recorded)
		buffer_add_text(&call->text, NOT_MADE);
	struct slice result = buffer_slice(&call->text);
	if (!rc)
		rc = bobbin_action_end(action, call->is_error ? BOBBIN_ACTION_FAILED : BOBBIN_ACTION_DONE, result.data,
			result.len, NULL, NULL, call->error);
	bobbin_action_close(action);
	return rc ? rc : count_effect(call);
}

/* ---- The library's tools ---- */

static int add_earlier(struct call *call, bobbin_recall *found)
{
	const struct bobbin_hit *hit;

	for (size_t i = 0; (hit = bobbin_recall_get(found, i)); i++) {
		buffer_addf(&call->text, "[%s, %s] ", hit->name, hit->role);
		buffer_add(&call->text, hit->excerpt, hit->excerpt_len);
		buffer_add_char(&call->text, '\n');
	}
	bobbin_recall_free(found);
	return 0;
}

/* The pointers of a record lead to the recorded conversation: what was before the cut, and nothing after it. */
static int recall(struct call *call)
{
	struct recording *recording = &call->resume->recording;
	struct bobbin_error why;
	bobbin_recall *found;
	char *query = NULL;
	int rc = bobbin_json_member(call->event->text, call->event->text_len, "query", &query, &why);

	if (!rc)
		rc = recall_until(recording->session, query, RECALL_EXCERPTS, recording->cut, &found, &why);
	if (!rc)
		add_earlier(call, found);
	if (rc < 0 && rc != BOBBIN_ENOMEM) { /* the model is told, as it is of any wrong call */
		buffer_add_text(&call->text, why.message);
		call->is_error = 1;
	} else if (!rc && !call->text.len) {
		buffer_addf(&call->text, "nothing in this session matches \"%s\"", query);
	}
	bobbin_free(query);
	return rc == BOBBIN_ENOMEM ? no_memory(call->error) : 0;
}

static bool only_looks(const char *name)
{
	static const char *const names[] = {"recall", "list_files", "read_file", "once", "memory_search"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* 1: it is none of them. */
static int run_own(struct call *call)
{
	const struct bobbin_event *event = call->event;
	const bobbin_resume *resume = call->resume;
	char *text = NULL;

	if (resume->commands && bobbin_commands_find(resume->commands, event->name))
		return 1; /* the user's wins over ours */
	int rc = strcmp(event->name, "recall") == 0
			 ? recall(call)
			 : bobbin_tool_run(resume->session, event->name, event->text, event->text_len, &text,
				   &call->is_error, call->error);
	if (rc == BOBBIN_ENOTFOUND)
		return 1;
	if (text)
		buffer_add_text(&call->text, text);
	bobbin_free(text);
	if (!rc && !call->is_error)
		rc = only_looks(event->name) ? count_look(call) : count_work(call);
	return rc;
}

/* ---- Together ---- */

static bool is_command(const bobbin_resume *resume, const char *name)
{
	const struct bobbin_command *command = resume->commands ? bobbin_commands_find(resume->commands, name) : NULL;

	return command && command->words[0];
}

/* 1: the host has to. */
static int answer(struct call *call)
{
	bobbin_resume *resume = call->resume;
	int rc = run_own(call);

	if (rc <= 0)
		return rc;
	if (is_effect(resume, call->event->name))
		return make_effect(call);
	rc = count_work(call);
	if (rc < 0)
		return rc;
	const struct recorded_call *recorded = is_command(resume, call->event->name) ? NULL : best_recorded(call);
	return recorded ? play(call, recorded) : 1;
}

int resume_answer(bobbin_resume *resume, const struct bobbin_event *event, struct bobbin_error *error)
{
	struct call call = {
		.resume = resume, .event = event, .text = BUFFER_INIT(LIMIT_LINE_BYTES), .error = error};
	int rc = recording_digest(slice_of(event->name), (struct slice){event->text, event->text_len}, call.digest);

	resume->report.calls++;
	if (rc < 0)
		return no_memory(error);
	call.equal = recording_equal(&resume->recording, call.digest, &call.equal_count);
	rc = answer(&call);
	if (!rc && buffer_error(&call.text))
		rc = no_memory(error);
	struct slice text = buffer_slice(&call.text);
	if (!rc)
		rc = bobbin_turn_result(resume->turn, event->id, text.data, text.len, call.is_error, error);
	buffer_release(&call.text);
	return rc;
}
