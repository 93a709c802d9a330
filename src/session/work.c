/* SPDX-License-Identifier: MIT */
/* Background work: records of closed segments, session by session, so that a
 * compaction at the trigger is a swap. */
#include "base/alloc.h"
#include "compact/rules.h"
#include "session/compact.h"
#include "session/model_deriver.h"

struct budget {
	const struct platform *platform;
	int64_t end_ns; /* INT64_MAX: no end */
	bool out;
};

static bool time_is_up(struct budget *budget)
{
	if (budget->end_ns != INT64_MAX &&
		budget->platform->monotonic_ns(budget->platform->context) >= budget->end_ns)
		budget->out = true;
	return budget->out;
}

/* A segment at a time, so that the time is looked at between them. */
static int work_session(bobbin_store *store, const char *id, const struct deriver *deriver,
	struct budget *budget, uint64_t *derived, struct bobbin_error *error)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session;
	bool left = true;
	options.must_exist = 1;
	int rc = bobbin_session_open(store, id, &options, &session, error);
	if (rc < 0)
		return rc;
	while (!rc && left) {
		uint32_t now = 0;
		rc = compact_ahead(session, deriver, 1, &now, &left, error);
		*derived += now;
		if (left && time_is_up(budget))
			break;
	}
	bobbin_session_close(session);
	return rc;
}

int bobbin_work(bobbin_store *store, bobbin_model *deriver, int64_t milliseconds, uint64_t *ret_derived,
	int *ret_left, struct bobbin_error *error)
{
	struct deriver chosen = rules_deriver;
	struct budget budget = {platform_default(), INT64_MAX, false};
	const struct bobbin_session_info *info;
	bobbin_list *list;
	uint64_t derived = 0;
	int rc = STORE_CHECK(store, error);
	if (!rc)
		rc = bobbin_list_open(store, NULL, &list, error);
	if (rc < 0)
		return rc;
	if (deriver)
		chosen = model_deriver(deriver);
	if (milliseconds >= 0)
		budget.end_ns =
			budget.platform->monotonic_ns(budget.platform->context) + milliseconds * 1000000;
	while (rc != BOBBIN_ENOMEM && !budget.out && (info = bobbin_list_next(list))) {
		if (info->damaged)
			continue; /* one bad session stops no other */
		rc = work_session(store, info->id, &chosen, &budget, &derived, error);
	}
	bobbin_list_close(list);
	if (rc == BOBBIN_ENOMEM)
		return rc;
	if (ret_derived)
		*ret_derived = derived;
	if (ret_left)
		*ret_left = budget.out;
	return 0;
}
