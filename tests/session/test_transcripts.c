/* SPDX-License-Identifier: MIT */
/*
 * Real transcripts, end to end: imported, planned for windows from the request's floor to the whole size, rendered in every
 * dialect, checked, and sent to a strict mock, which answers. A spread of windows; with BOBBIN_SOAK many more.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "model/model.h"
#include "talk.h"
#include "window/check.h"

#define SESSIONS_PER_FILE 2
#define WINDOW_FLOOR 64

static size_t plans, refusals, answers;

static int strict(void *context, enum model_dialect dialect, struct slice body, struct bobbin_error *error)
{
	struct check_faults faults;
	(void)context;
	int rc = check_request(model_dialect_text(dialect), body, NULL, &faults, error);
	if (!rc && faults.count && error)
		snprintf(error->message, sizeof(error->message), "%s", faults.items[0].message);
	if (!rc && faults.count)
		rc = BOBBIN_EINPUT;
	if (rc == 0 || rc == BOBBIN_EINPUT)
		check_faults_release(&faults);
	return rc;
}

/* The strict mock accepts the body and answers it to the end. */
static void send_to_mock(struct model *mock, const char *dialect, const char *body, size_t len, const char *what)
{
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct model_event event;
	struct bobbin_error error = {0};
	assert_true(model_dialect_of((struct slice){dialect, strlen(dialect)}, &request.dialect));
	request.body = (struct slice){body, len};
	if (model_send(mock, &request, &stream, &error) < 0)
		fail_msg("%s: %s", what, error.message);
	do
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
	while (!model_event_is_terminal(&event));
	if (event.type != MODEL_EVENT_DONE)
		fail_msg("%s: %s refused: %.*s", what, dialect, (int)event.error.message.len, event.error.message.data);
	model_stream_free(stream);
	answers++;
}

static void check_plan(bobbin_plan *plan, struct model *mock, const char *what)
{
	const struct bobbin_budget *budget = bobbin_plan_budget(plan);
	struct bobbin_error error;
	bobbin_faults *faults;
	char *body;
	size_t len;
	if (budget->view > budget->history)
		fail_msg("%s: a view of %llu in %llu", what, (unsigned long long)budget->view,
			(unsigned long long)budget->history);
	for (const char *const *dialect = bobbin_dialects(); *dialect; dialect++) {
		if (bobbin_plan_request(plan, *dialect, &body, &len, &error) < 0)
			fail_msg("%s: %s: %s", what, *dialect, error.message);
		assert_int_equal(bobbin_check(*dialect, body, len, &faults, &error), 0);
		if (bobbin_faults_count(faults))
			fail_msg("%s: %s: %s: %s", what, *dialect, bobbin_faults_get(faults, 0)->where,
				bobbin_faults_get(faults, 0)->message);
		bobbin_faults_free(faults);
		send_to_mock(mock, *dialect, body, len, what);
		bobbin_free(body);
	}
}

/* One window; below the floor the refusal must say what is too big. */
static void try_window(bobbin_session *session, struct model *mock, uint64_t window, const char *what)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_plan *plan;
	options.window = window;
	options.output_reserve = 0;
	options.margin = 0;
	options.byte_limit = 30 << 20;
	int rc = bobbin_plan_make(session, &options, &plan, &error);
	if (rc == BOBBIN_EBUDGET) {
		assert_non_null(strstr(error.message, "too big"));
		refusals++;
		return;
	}
	if (rc < 0)
		fail_msg("%s: %s", what, error.message);
	check_plan(plan, mock, what);
	bobbin_plan_free(plan);
	plans++;
}

static void try_session(const char *id, struct model *mock, const char *file)
{
	bobbin_session *session = open_session(id);
	uint64_t whole = bobbin_session_info(session)->tokens + WINDOW_FLOOR;
	unsigned steps = getenv("BOBBIN_SOAK") ? 200 : 12;
	char what[512];
	double factor = 1.0;
	for (unsigned i = 0; i < steps; i++) { /* geometric: small windows are the hard ones */
		uint64_t window = WINDOW_FLOOR + (uint64_t)((double)whole * 1.02 / factor);
		snprintf(what, sizeof(what), "%s, window %llu", file, (unsigned long long)window);
		try_window(session, mock, window, what);
		factor *= steps == 12 ? 1.9 : 1.035;
	}
	bobbin_session_close(session);
}

static void try_file(const char *folder, const char *name, struct model *mock)
{
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_import *import;
	size_t len;
	char *data = scratch_read(folder, name, &len);
	assert_non_null(data);
	if (bobbin_import_data(store, data, len, &options, &import, &error) < 0)
		fail_msg("%s: %s", name, error.message);
	free(data);
	for (size_t i = 0; i < bobbin_import_count(import) && i < SESSIONS_PER_FILE; i++)
		try_session(bobbin_import_get(import, i)->id, mock, name);
	bobbin_import_free(import);
}

static void every_window__accepted_and_answered(void **state)
{
	static const char *const formats[] = {"claude-code", "pi", "openai-chat"};
	const char *root = getenv("BOBBIN_TRANSCRIPTS");
	struct model_options options = MODEL_OPTIONS_INIT;
	struct bobbin_error error;
	struct model *mock;
	(void)state;
	if (!root) {
		print_message("skipped: BOBBIN_TRANSCRIPTS is not set\n");
		skip();
	}
	options.window_tokens = UINT32_MAX; /* the mock counts bytes; what is tested here is the form */
	assert_int_equal(model_open("mock", &options, &mock, &error), 0);
	model_set_check(mock, strict, NULL);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char folder[SCRATCH_PATH_BYTES];
		snprintf(folder, sizeof(folder), "%s/%s", root, formats[i]);
		DIR *dir = opendir(folder);
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			if (entry->d_name[0] != '.')
				try_file(folder, entry->d_name, mock);
		if (dir)
			closedir(dir);
	}
	model_free(mock);
	print_message("# %zu plans in three dialects, %zu below the floor, %zu answers\n", plans, refusals, answers);
	assert_true(plans > 100);
	assert_int_equal(answers, plans * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_window__accepted_and_answered, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
