/* SPDX-License-Identifier: MIT */
/* All that can fail an operation, one kind after the other: for tests that try each at every n (fail.h does the failing). */
#ifndef TESTS_SUPPORT_FAILURE_H
#define TESTS_SUPPORT_FAILURE_H

#include "support/fail.h"

enum failure { ALLOCATION, ALLOCATIONS, CALL_EIO, CALL_ENOSPC, CALLS, FAILURES }; /* the plural: and all that follow */

/* The nth allocation, or call of any kind, fails from now on. */
void failure_start(struct fail_platform *world, enum failure failure, uint64_t nth);
/* Nothing fails any more; whether anything did. Blocks allocated meanwhile and not freed are a cmocka failure. */
bool failure_stop(struct fail_platform *world, enum failure failure);
bool failure_is_of_memory(enum failure failure);
/* After fail_alloc_start(nth), and everything freed again: BOBBIN_ENOMEM if that was refused, else 0, or it is a cmocka failure.
 * True: there are fewer than nth. */
bool failure_were_all_tried(int rc);

#endif
