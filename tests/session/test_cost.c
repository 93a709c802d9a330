/* SPDX-License-Identifier: MIT */
/* What sessions cost, through the public interface; and with every allocation failing once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/fail.h"
#include "talk.h"

static void append(bobbin_session *session, const char *record)
{
	struct bobbin_error error;
	if (bobbin_session_append(session, record, strlen(record), NULL, NULL, &error) < 0)
		fail_msg("%s", error.message);
}

/* A session with a fork, each of which paid something; a price that is not known in both. */
static void build(void)
{
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	bobbin_session *session = open_session("main");
	struct bobbin_error error;
	append(session, "{\"role\":\"user\",\"content\":\"a\"}");
	append(session, "{\"role\":\"assistant\",\"content\":\"b\"}");
	append(session, "{\"type\":\"usage\",\"id\":\"u1\",\"for\":\"m2\",\"model\":\"\\u0062ig\",\"input\":10,"
			"\"cached\":4,\"output\":3,\"reasoning\":2,\"nanousd\":7}");
	append(session, "{\"type\":\"usage\",\"id\":\"u2\",\"for\":\"m2\",\"model\":\"\\u0062ig\",\"input\":100,\"output\":1}");
	options.id = "fork";
	assert_int_equal(bobbin_session_fork(session, "2", &options, NULL, &error), 0);
	bobbin_session_close(session);
	session = open_session("fork");
	append(session, "{\"type\":\"usage\",\"id\":\"u3\",\"model\":\"big\",\"input\":1000000,\"output\":0}");
	append(session, "{\"type\":\"usage\",\"id\":\"u1\",\"nanousd\":7}");
	bobbin_session_close(session);
}

static void cost__own_inherited_and_tree(void **state)
{
	(void)state;
	struct bobbin_cost_options options = BOBBIN_COST_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_cost *cost;
	build();
	assert_int_equal(bobbin_cost_open(store, "fork", NULL, &cost, &error), 0);
	const struct bobbin_cost_row *root = bobbin_cost_next(cost), *fork = bobbin_cost_next(cost);
	assert_null(bobbin_cost_next(cost));
	assert_string_equal(root->node->session->id, "main");
	assert_int_equal(root->own.requests, 2);
	assert_int_equal(root->own.nanousd, 7);
	assert_int_equal(root->own.unpriced, 1);
	assert_int_equal(root->own.reasoning, 2);
	assert_int_equal(root->tree.input, 1000110);
	assert_int_equal(root->tree_sessions, 2);
	assert_ptr_equal(fork, bobbin_cost_of(cost, "fork"));
	assert_int_equal(fork->own.requests, 1);
	assert_int_equal(bobbin_cost_inherited(cost)->input, 110);
	assert_int_equal(bobbin_cost_inherited(cost)->nanousd, 7);
	assert_int_equal(bobbin_cost_total(cost)->requests, 3);
	assert_string_equal(bobbin_cost_unpriced(cost, 0), "big");
	assert_null(bobbin_cost_unpriced(cost, 1));
	bobbin_cost_close(cost);
	options.prices = "{\"big\":{\"input\":1.25,\"output\":8},\"only relative\":{\"output\":8}}";
	options.prices_len = strlen(options.prices);
	assert_int_equal(bobbin_cost_open(store, NULL, &options, &cost, &error), 0);
	/* 1,000,000 at 1.25 dollars a million; 100 + 1 * 8 at 1,250 nano-dollars; 7 that were said */
	assert_int_equal(bobbin_cost_total(cost)->nanousd, 1250000000 + 135000 + 7);
	assert_int_equal(bobbin_cost_total(cost)->unpriced, 0);
	assert_int_equal(bobbin_cost_inherited(cost)->requests, 0);
	bobbin_cost_close(cost);
	bobbin_cost_close(NULL);
}

/* What a fork inherits cost what it had cost by then, not what the parent pays for the same message later. */
static void cost__what_the_parent_pays_after_the_fork_is_not_inherited(void **state)
{
	(void)state;
	struct bobbin_error error;
	bobbin_cost *cost;
	build();
	bobbin_session *session = open_session("main");
	append(session, "{\"type\":\"usage\",\"id\":\"u4\",\"for\":\"m2\",\"model\":\"big\",\"input\":5000,\"output\":1}");
	bobbin_session_close(session);
	assert_int_equal(bobbin_cost_open(store, "fork", NULL, &cost, &error), 0);
	assert_int_equal(bobbin_cost_inherited(cost)->requests, 2);
	assert_int_equal(bobbin_cost_inherited(cost)->input, 110);
	assert_int_equal(bobbin_cost_total(cost)->input, 1005110);
	bobbin_cost_close(cost);
}

static void cost__sums_stop_instead_of_wrapping(void **state)
{
	(void)state;
	struct bobbin_error error;
	bobbin_cost *cost;
	bobbin_session *session = open_session("main");
	for (int i = 0; i < 3; i++)
		append(session, "{\"type\":\"usage\",\"input\":9223372036854775807,\"nanousd\":9223372036854775807}");
	bobbin_session_close(session);
	assert_int_equal(bobbin_cost_open(store, "main", NULL, &cost, &error), 0);
	assert_true(bobbin_cost_total(cost)->nanousd == INT64_MAX);
	assert_true(bobbin_cost_total(cost)->input > (uint64_t)1 << 62);
	bobbin_cost_close(cost);
}

static void cost__nth_allocation(void **state)
{
	(void)state;
	struct bobbin_error error;
	build();
	for (uint64_t nth = 1;; nth++) {
		bobbin_cost *cost = NULL;
		fail_alloc_start(nth);
		int rc = bobbin_cost_open(store, "fork", NULL, &cost, &error);
		if (rc == 0) {
			assert_int_equal(bobbin_cost_total(cost)->requests, 3);
			assert_non_null(bobbin_cost_inherited(cost));
			assert_int_equal(bobbin_cost_inherited(cost)->requests, 2);
			bobbin_cost_close(cost);
		} else {
			assert_int_equal(rc, BOBBIN_ENOMEM);
		}
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cost__own_inherited_and_tree, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(
			cost__what_the_parent_pays_after_the_fork_is_not_inherited, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(cost__sums_stop_instead_of_wrapping, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(cost__nth_allocation, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
