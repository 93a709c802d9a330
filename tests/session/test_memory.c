/* SPDX-License-Identifier: MIT */
/* Every allocation of a whole turn fails once: an error and no crash, nothing leaked, and the log as it was acknowledged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/fail.h"
#include "talk.h"

static char line[8192];

/* Opens a store, runs a turn with a call, plans, forks, lists; the first failure ends it. */
static int whole_job(const char *path, const char *script, char *ret_acknowledged)
{
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	bobbin_store *own = NULL;
	bobbin_session *session = NULL;
	bobbin_model *model = NULL;
	bobbin_plan *plan = NULL;
	bobbin_faults *faults = NULL;
	struct told told = {0};
	char *body;
	size_t len;
	int rc = bobbin_store_open(path, NULL, &own, &told.error);
	if (!rc)
		rc = bobbin_session_open(own, "main", NULL, &session, &told.error);
	if (!rc)
		rc = bobbin_model_open(script, &model, &told.error);
	window.tools = TOOLS;
	window.tools_len = strlen(TOOLS);
	options.window = &window;
	if (!rc) {
		told = tell(session, model, "Look at it", &options);
		rc = told.rc;
		snprintf(ret_acknowledged, BOBBIN_MESSAGE_ID_BYTES, "%s", told.reply);
	}
	if (!rc)
		rc = bobbin_plan_make(session, &window, &plan, &told.error);
	if (!rc && !(rc = bobbin_plan_request(plan, "anthropic", &body, &len, &told.error))) {
		rc = bobbin_check("anthropic", body, len, &faults, &told.error);
		bobbin_free(body);
	}
	if (!rc)
		rc = bobbin_session_fork(session, "1", NULL, NULL, &told.error);
	bobbin_faults_free(faults);
	bobbin_plan_free(plan);
	bobbin_model_close(model);
	bobbin_session_close(session);
	bobbin_store_close(own);
	return rc;
}

static void every_allocation_failing(void **state)
{
	(void)state;
	char spec[SCRATCH_PATH_BYTES + 8], name[32], acknowledged[BOBBIN_MESSAGE_ID_BYTES];
	uint64_t step = getenv("BOBBIN_SOAK") ? 1 : 7, tried = 0;
	scratch_write_text(scratch_dir, "script.jsonl",
		"{\"calls\":[{\"id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"}]}\n{\"text\":\"Seen.\"}\n");
	snprintf(spec, sizeof(spec), "mock:%s", scratch_path(scratch_dir, "script.jsonl"));
	for (uint64_t nth = 1;; nth += step, tried++) {
		snprintf(name, sizeof(name), "store-%llu", (unsigned long long)nth);
		acknowledged[0] = 0;
		fail_alloc_start(nth);
		int rc = whole_job(scratch_path(scratch_dir, name), spec, acknowledged);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			print_message("# %llu allocations failed, one each\n", (unsigned long long)tried);
			break;
		}
		if (*acknowledged) { /* what was said to be durable is there */
			struct bobbin_error error;
			bobbin_store *again;
			bobbin_session *session;
			assert_int_equal(bobbin_store_open(scratch_path(scratch_dir, name), NULL, &again, &error), 0);
			assert_int_equal(bobbin_session_open(again, "main", NULL, &session, &error), 0);
			assert_string_equal(line_of(session, line, sizeof(line)),
				"u:Look at it|a:→ look {}|t:result of look|a:Seen.");
			bobbin_session_close(session);
			bobbin_store_close(again);
		}
		if (scratch_exists(scratch_dir, name))
			scratch_remove(scratch_path(scratch_dir, name));
	}
	assert_true(tried > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_allocation_failing, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
