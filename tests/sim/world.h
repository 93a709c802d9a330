/* SPDX-License-Identifier: MIT */
/*
 * Writers at work on a simulated disk, and the judgement of what they are told.
 *
 * Each writer is a process with a store of its own and a handle for each session. One operation runs at a
 * time; in the middle of one, another writer's may run as a whole (between any two calls to the disk), the
 * writer may die, the power may be cut, or a call may fail. Every answer must be right, or an error that is
 * documented and has its reason.
 *
 * A history is an array of operations. Each picks what it works on from the state it meets, so any part of a
 * history is a history, too: that is how a failing one is made shorter.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "sim/disk.h"
#include "sim/ledger.h"
#include "store/log.h"
#include "store/store.h"

#define SIM_WRITERS 3
#define SIM_SLOTS 6 /* sessions at a time: s0 … s5 */
#define SIM_OPERATIONS_MAX 512

enum sim_step_kind {
	SIM_DO_APPEND,
	SIM_DO_CONTROL,
	SIM_DO_RESULT,
	SIM_DO_EDIT,
	SIM_DO_REPEAT,
	SIM_DO_EXPECT,
	SIM_DO_SEVERAL,
	SIM_DO_WRONG,
	SIM_DO_REWIND,
	SIM_DO_TITLE,
	SIM_DO_CREATE,
	SIM_DO_FORK,
	SIM_DO_DELETE,
	SIM_DO_REFRESH,
	SIM_DO_REOPEN,
	SIM_DO_LIST,
	SIM_DO_VERIFY, /* every session is opened and compared */
	SIM_DO_CLOCK,  /* somebody sets the clock, back or forth */
	SIM_DO_DAMAGE, /* caches are removed, cut, spoilt or swapped under everybody's hands */
	SIM_STEP_KINDS
};

struct sim_step {
	enum sim_step_kind kind;
	uint8_t writer, slot;
	bool without_sync; /* of a session that is made: it need not survive a power cut */
	uint32_t a, b, c;  /* what they choose depends on the kind */
};

/* One operation of a history. Counts are calls to the disk; 0: not planned. */
struct sim_operation {
	struct sim_step step, inner;
	uint8_t interrupt_at; /* before this call `inner` runs */
	uint8_t die_at;
	bool power; /* when it dies, so does everybody: the power is cut */
	uint8_t fail_at, fail_calls;
	bool fail_caches;
	int fail_errno;
};

/* What is so for a whole history. */
struct sim_conditions {
	uint64_t seed;
	/* Of each writer and, last, of whoever checks: store_options, 0: as in earnest, which is too much to
	 * be reached here. */
	uint64_t index_steps[SIM_WRITERS + 1];
	uint32_t catalogue_step;
	int64_t call_ns, time_step_ns;
	bool errors_reach_all;
};

struct sim_handle {
	struct log *log;
	int number;		/* in the ledger */
	bool closed_to_writing; /* after a failed sync of its own */
};

struct sim_writer {
	struct sim_process process;
	struct store *store;
	struct sim_handle handles[SIM_SLOTS];
};

struct sim_world {
	struct sim_disk disk;
	struct sim_ledger ledger;
	struct sim_writer writers[SIM_WRITERS], checker;
	const struct sim_operation *operation;
	bool disturbed;	   /* two operations are, or were, under way at once */
	char failure[512]; /* "": all is well */
	char outcome[400]; /* of the last step, for the history */
	struct sim_conditions conditions;
	uint64_t acknowledged, compared, mixed, indexed, failed_calls, cache_failures, damaged;
};

/* ---- world.c */

int sim_world_init(struct sim_world *world, const struct sim_conditions *conditions);
void sim_world_release(struct sim_world *world);
void sim_world_do(struct sim_world *world, const struct sim_operation *operation);
/* Opens and compares everything, as at the end of a history. */
void sim_world_verify(struct sim_world *world);

/* The first failure is kept. */
__attribute__((format(printf, 2, 3))) void sim_fail(struct sim_world *world, const char *format, ...);
__attribute__((format(printf, 2, 3))) void sim_tell(struct sim_world *world, const char *format, ...);

/* Codes as a set. */
#define SIM_CODE(code) (1u << -(code))

/* Fails the world unless `rc` is 0, in `allowed`, or follows from what was planned for the writer. */
void sim_judge(struct sim_world *world, const struct sim_writer *writer, const char *what, int rc,
	const struct bobbin_error *error, uint32_t allowed);

/* Whether it, or what it inherits from, can have been damaged in a way nobody can do anything about. */
bool sim_is_excused(const struct sim_ledger *ledger, int number);
struct sim_handle *sim_world_handle(struct sim_world *world, struct sim_writer *writer, unsigned slot);
void sim_handle_close(struct sim_handle *handle);
/* Gives logs that have appeared their place in the ledger. */
void sim_world_adopt(struct sim_world *world);

/* ---- steps.c, steps_append.c */

void sim_step_append(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_rewind(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_title(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_create(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_fork(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_delete(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_refresh(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step);
void sim_step_list(struct sim_world *world, struct sim_writer *writer);

/* ---- compare.c */

/* The bytes of a log against what was promised; notes what is there. */
void sim_check_bytes(struct sim_world *world, int number);
/* What a handle says against the view. */
void sim_compare(struct sim_world *world, struct log *log, int number);
/* What the power cut left: settles every log's and every entry's fate. */
void sim_after_power_cut(struct sim_world *world);

#endif
