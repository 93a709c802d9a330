/* SPDX-License-Identifier: MIT */
/*
 * Failure on demand, for tests of every room: allocations and calls to the outside world that fail at the Nth
 * time.
 *
 *	for (uint64_t nth = 1;; nth++) {
 *		fail_alloc_start(nth);
 *		int rc = thing_do(&thing);
 *		if (failure_were_all_tried(rc)) // failure.h; or fail_alloc_stop(), and a look at its report
 *			break;
 *	}
 *
 *	struct fail_platform world;
 *	fail_platform_init(&world);
 *	fail_platform_plan(&world, CALL_SYNC_DATA, 1, EIO);
 *	store_open(&world.table, …);
 */
#ifndef TESTS_SUPPORT_FAIL_H
#define TESTS_SUPPORT_FAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/platform.h"

/* Memory. Process-wide, as the allocator is. */

struct fail_alloc_report {
	uint64_t allocations; /* asked for since the start, the failed ones too; a reallocation is one */
	uint64_t bytes;	      /* asked for in all */
	int64_t live;	      /* blocks allocated minus blocks freed since the start */
	bool failed;	      /* at least one was refused */
};

void fail_alloc_start(uint64_t nth);	  /* the nth allocation from now on fails, once; 0: only count */
void fail_alloc_start_from(uint64_t nth); /* … and all that follow it */
struct fail_alloc_report fail_alloc_stop(void); /* malloc again */

/* The world outside. Everything reaches the real platform unless it is planned otherwise. */

enum fail_call {
	CALL_NONE,
	CALL_ANY, /* any of those below */
	CALL_OPEN,
	CALL_CLOSE, /* closes, then reports the failure */
	CALL_READ,
	CALL_WRITE, /* when it fails, nothing was written */
	CALL_SYNC_DATA,
	CALL_SYNC,
	CALL_TRUNCATE,
	CALL_CHANGE_MODE,
	CALL_LOCK,
	CALL_INFO,
	CALL_INFO_AT,
	CALL_RENAME,
	CALL_LINK,
	CALL_UNLINK,
	CALL_MAKE_DIR,
	CALL_LIST,
	CALL_FILE_SYSTEM,
	CALL_RANDOM,
	CALL_KINDS
};

struct fail_platform {
	struct platform table; /* what the code under test is given; must not move afterwards */

	/* Plan: the nth call (from 1; 0: none) of this kind fails with this errno. */
	enum fail_call fail_kind;
	uint64_t fail_nth;
	int fail_errno;
	bool fail_after; /* every call of any kind after a planned failure fails too, as after a crash */

	/* Plan: the nth write (from 1; 0: none) writes only so many bytes and says so. */
	uint64_t short_nth;
	size_t short_bytes;
	int short_errno; /* the write after it fails with this; 0: it succeeds */

	bool skip_sync; /* syncs are counted and planned, but the disk is not asked: for tests with thousands */
	bool fake_time; /* the clocks stand still at these values; sleeping moves them */
	int64_t realtime_ns, monotonic_ns;
	bool fake_random; /* bytes depend on the seed and on how many were drawn */
	uint64_t random_seed;
	uint64_t fake_file_system; /* the magic number reported; 0: the real one */
	bool fake_user;
	uint32_t user;

	/* Counted. calls[CALL_ANY] is the sum; failed and short ones are in it. */
	uint64_t calls[CALL_KINDS];
	uint64_t bytes_read, bytes_written;
	int64_t open_files; /* opened through the table and not closed */
	int64_t slept_ns;
	bool failed; /* a plan came true */
};

/* Passes everything through and counts. */
void fail_platform_init(struct fail_platform *world);
/* Sets the plan for one failure and begins to count anew. */
void fail_platform_plan(struct fail_platform *world, enum fail_call kind, uint64_t nth, int os_error);
/* Sets the plan for one short write and begins to count anew. */
void fail_platform_plan_short(struct fail_platform *world, uint64_t nth, size_t bytes, int then_errno);
/* No plan any more; counts stay. */
void fail_platform_heal(struct fail_platform *world);
void fail_platform_set_time(struct fail_platform *world, int64_t realtime_ns, int64_t monotonic_ns);
void fail_platform_set_random(struct fail_platform *world, uint64_t seed);

#endif
