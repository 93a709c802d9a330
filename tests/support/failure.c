/* SPDX-License-Identifier: MIT */
#include "support/failure.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/error.h"

bool failure_is_of_memory(enum failure failure)
{
	return failure == ALLOCATION || failure == ALLOCATIONS;
}

void failure_start(struct fail_platform *world, enum failure failure, uint64_t nth)
{
	if (failure == ALLOCATION)
		fail_alloc_start(nth);
	else if (failure == ALLOCATIONS)
		fail_alloc_start_from(nth);
	else {
		fail_platform_plan(world, CALL_ANY, nth, failure == CALL_ENOSPC ? ENOSPC : EIO);
		world->fail_after = failure == CALLS;
	}
}

bool failure_stop(struct fail_platform *world, enum failure failure)
{
	if (failure_is_of_memory(failure)) {
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		return report.failed;
	}
	bool failed = world->failed;
	fail_platform_heal(world);
	return failed;
}

bool failure_were_all_tried(int rc)
{
	struct fail_alloc_report report = fail_alloc_stop();

	assert_int_equal(report.live, 0);
	assert_int_equal(rc, report.failed ? BOBBIN_ENOMEM : 0);
	return !report.failed;
}
