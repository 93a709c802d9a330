/* SPDX-License-Identifier: MIT */
/* Histories from seeds, and making a failing one shorter, see run.h. */
#include "sim/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/world.h"

#define SHRINK_RUNS_MAX 3000

struct history {
	struct sim_conditions conditions;
	struct sim_operation operations[SIM_OPERATIONS_MAX];
	size_t count;
};

/* ---- Making one */

/* What the operations of one history have in common. */
struct flavour {
	uint32_t slots;
	uint32_t trouble, without_sync, forks, caches, large; /* in percent */
};

static enum sim_step_kind choose_kind(struct sim_random *random, const struct flavour *flavour)
{
	static const struct {
		enum sim_step_kind kind;
		uint32_t weight;
	} KINDS[] = {{SIM_DO_APPEND, 25}, {SIM_DO_CONTROL, 9}, {SIM_DO_RESULT, 12}, {SIM_DO_EDIT, 7},
		{SIM_DO_REPEAT, 7}, {SIM_DO_EXPECT, 9}, {SIM_DO_SEVERAL, 5}, {SIM_DO_WRONG, 3},
		{SIM_DO_REWIND, 5}, {SIM_DO_TITLE, 2}, {SIM_DO_CREATE, 7}, {SIM_DO_DELETE, 4},
		{SIM_DO_REFRESH, 5}, {SIM_DO_REOPEN, 5}, {SIM_DO_LIST, 2}, {SIM_DO_VERIFY, 2},
		{SIM_DO_CLOCK, 2}};
	uint32_t sum = 0;

	if (sim_random_percent(random, flavour->forks))
		return SIM_DO_FORK;
	if (sim_random_percent(random, flavour->caches))
		return sim_random_percent(random, 60) ? SIM_DO_DAMAGE : SIM_DO_LIST;
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		sum += KINDS[i].weight;
	uint32_t choice = sim_random_below(random, sum);
	for (size_t i = 0;; i++) {
		if (choice < KINDS[i].weight)
			return KINDS[i].kind;
		choice -= KINDS[i].weight;
	}
}

static struct sim_step choose_step(struct sim_random *random, const struct flavour *flavour)
{
	struct sim_step step = {.kind = choose_kind(random, flavour)};
	step.writer = (uint8_t)sim_random_below(random, SIM_WRITERS);
	step.slot = (uint8_t)sim_random_below(random, flavour->slots);
	step.without_sync = sim_random_percent(random, flavour->without_sync);
	step.a = (uint32_t)sim_random_next(random);
	step.b = (uint32_t)sim_random_next(random);
	step.c = (uint32_t)sim_random_next(random);
	/* Several sectors long: what an index file compares of a log is no longer all of it. */
	if (sim_random_percent(random, flavour->large))
		step.c = step.c / 20 * 20 + 19;
	return step;
}

/* A call early in the operation or anywhere in it. */
static uint8_t choose_call(struct sim_random *random)
{
	return (uint8_t)(1 + sim_random_below(random, sim_random_percent(random, 60) ? 12 : 40));
}

static struct sim_operation choose_operation(struct sim_random *random, const struct flavour *flavour)
{
	static const uint8_t CALLS[] = {
		SIM_WRITE, SIM_WRITE, SIM_SYNC, SIM_READ, SIM_NAME, SIM_TRUNCATE | SIM_WRITE, SIM_LOCK};
	struct sim_operation operation = {.step = choose_step(random, flavour)};

	uint32_t trouble = flavour->trouble;

	operation.inner = choose_step(random, flavour);
	if (sim_random_percent(random, 60))
		operation.inner.slot = operation.step.slot;
	operation.inner.writer =
		(uint8_t)((operation.step.writer + 1 + operation.inner.a % (SIM_WRITERS - 1)) % SIM_WRITERS);
	if (sim_random_percent(random, trouble))
		operation.interrupt_at = choose_call(random);
	if (sim_random_percent(random, trouble)) {
		operation.die_at = choose_call(random);
		operation.power = sim_random_percent(random, 50);
	}
	/* Two troubles that have nothing to do with each other at once only make the second harder to judge.
	 */
	if (!operation.interrupt_at && sim_random_percent(random, trouble)) {
		operation.fail_calls = CALLS[sim_random_below(random, sizeof(CALLS))];
		operation.fail_at = (uint8_t)(1 + sim_random_below(random, 4));
		operation.fail_caches = flavour->caches && sim_random_percent(random, 40);
		operation.fail_errno =
			operation.fail_calls == SIM_WRITE && sim_random_percent(random, 50) ? ENOSPC : EIO;
	}
	return operation;
}

/* Whoever finds that a writer died sends again what it had not been told; and then the power goes. */
static void try_again(struct sim_random *random, struct sim_operation *died)
{
	if (sim_random_percent(random, 50))
		return;
	died[1].step.kind = SIM_DO_REPEAT;
	died[1].step.slot = died[0].step.slot;
	died[1].step.a |= 3;
	died[1].die_at = died[1].interrupt_at = died[1].fail_at = 0;
	if (sim_random_percent(random, 50)) {
		died[2].die_at = 1;
		died[2].power = true;
	}
}

/* Whether caches are written at every step, at some, by some, or by nobody; how clocks go. */
static void choose_conditions(struct sim_random *random, uint64_t seed, struct sim_conditions *ret_conditions)
{
	static const uint64_t STEPS[] = {1, 300, 2000, 9000, 0};
	static const int64_t CALLS_NS[] = {1000, 1000000, 30000000, 1000000000};
	static const int64_t TIME_STEPS_NS[] = {1, 4000000, 1000000000, 2000000000};
	bool same = sim_random_percent(random, 50);

	*ret_conditions = (struct sim_conditions){.seed = seed,
		.catalogue_step = 1 + sim_random_below(random, 4),
		.call_ns = CALLS_NS[sim_random_below(random, 4)],
		.time_step_ns = TIME_STEPS_NS[sim_random_below(random, 4)],
		.errors_reach_all = sim_random_percent(random, 50)};
	for (int i = 0; i <= SIM_WRITERS; i++)
		ret_conditions->index_steps[i] =
			same && i ? ret_conditions->index_steps[0] : STEPS[sim_random_below(random, 5)];
}

static void make_history(uint64_t seed, struct history *ret_history)
{
	struct sim_random random = {seed * 2 + 1};
	struct flavour flavour = {
		.slots = 1 + sim_random_below(&random, SIM_SLOTS),
		.trouble = 4 + sim_random_below(&random, 16),
		.without_sync = sim_random_below(&random, 3) * 30,
		.forks = sim_random_percent(&random, 30) ? 20 : 6,
		.caches = sim_random_percent(&random, 60) ? 6 : 0,
		.large = sim_random_percent(&random, 30) ? 40 : 0,
	};

	choose_conditions(&random, seed, &ret_history->conditions);
	ret_history->count = 10 + sim_random_below(&random, 90);
	if (sim_random_percent(&random, 3)) /* index files of hundreds of chunks */
		ret_history->count += 200;
	for (size_t i = 0; i < ret_history->count; i++)
		ret_history->operations[i] = choose_operation(&random, &flavour);
	for (size_t i = 0; i + 2 < ret_history->count; i++)
		if (ret_history->operations[i].die_at && !ret_history->operations[i].power)
			try_again(&random, &ret_history->operations[i]);
	ret_history->operations[0] = (struct sim_operation){.step = {.kind = SIM_DO_CREATE, .a = 1}};
}

/* ---- Running one */

static void count(struct sim_report *report, const struct sim_world *world)
{
	report->operations++;
	report->deaths += strstr(world->outcome, " died") != NULL;
	report->interrupted += strstr(world->outcome, " [meanwhile:") != NULL;
}

static void tell_operation(
	FILE *out, size_t number, const struct sim_operation *operation, const char *outcome)
{
	fprintf(out, "# %3zu. writer %u:%s", number, operation->step.writer, outcome);
	if (operation->die_at)
		fprintf(out, " (%s at call %u)", operation->power ? "power cut" : "dies", operation->die_at);
	if (operation->fail_at)
		fprintf(out, " (call %u of kind %u fails: %s)", operation->fail_at, operation->fail_calls,
			operation->fail_errno == ENOSPC ? "ENOSPC" : "EIO");
	if (operation->interrupt_at)
		fprintf(out, " (interrupted at call %u by writer %u)", operation->interrupt_at,
			operation->inner.writer);
	fprintf(out, "\n");
}

static bool run(const struct history *history, struct sim_report *report, FILE *out)
{
	struct sim_world *world = sim_room(sizeof(*world));

	report->failure[0] = '\0';
	if (sim_world_init(world, &history->conditions))
		sim_fail(world, "the store cannot be made");
	for (size_t i = 0; i < history->count && !world->failure[0]; i++) {
		sim_world_do(world, &history->operations[i]);
		count(report, world);
		if (out)
			tell_operation(out, i, &history->operations[i], world->outcome);
	}
	if (!world->failure[0])
		sim_world_verify(world);
	memcpy(report->failure, world->failure, sizeof(report->failure));
	report->acknowledged += world->acknowledged;
	report->power_cuts += world->disk.power_cuts;
	report->compared += world->compared;
	report->mixed += world->mixed;
	report->indexed += world->indexed;
	report->failed_calls += world->failed_calls;
	report->cache_failures += world->cache_failures;
	report->damaged += world->damaged;
	sim_world_release(world);
	free(world);
	return report->failure[0] == '\0';
}

bool sim_run(uint64_t seed, struct sim_report *report)
{
	struct history *history = sim_room(sizeof(*history));
	make_history(seed, history);
	bool passed = run(history, report, NULL);
	free(history);
	return passed;
}

/* ---- Making one shorter */

/* What is wrong, without numbers, so that a shorter history does not drift to another fault. */
static bool same_failure(const char *a, const char *b)
{
	while (*a && *b) {
		while (*a >= '0' && *a <= '9')
			a++;
		while (*b >= '0' && *b <= '9')
			b++;
		if (*a != *b)
			return false;
		a += *a != '\0';
		b += *b != '\0';
	}
	return *a == *b;
}

static bool still_fails(const struct history *history, const char *failure, unsigned *runs)
{
	struct sim_report report = {0};
	(*runs)++;
	return !run(history, &report, NULL) && same_failure(report.failure, failure);
}

/* Leaves out as many operations as possible, in ever smaller pieces. */
static void drop_operations(struct history *history, const char *failure, unsigned *runs)
{
	struct history *shorter = sim_room(sizeof(*shorter));
	for (size_t piece = history->count / 2; piece > 0; piece /= 2)
		for (size_t at = 0; at + piece <= history->count && *runs < SHRINK_RUNS_MAX;) {
			*shorter = *history;
			memmove(&shorter->operations[at], &shorter->operations[at + piece],
				(shorter->count - at - piece) * sizeof(shorter->operations[0]));
			shorter->count -= piece;
			if (still_fails(shorter, failure, runs))
				*history = *shorter;
			else
				at += piece;
		}
	free(shorter);
}

/* Takes away troubles that do not matter. */
static void calm_operations(struct history *history, const char *failure, unsigned *runs)
{
	for (size_t i = 0; i < history->count && *runs < SHRINK_RUNS_MAX; i++) {
		struct sim_operation *operation = &history->operations[i], before = *operation;
		operation->interrupt_at = 0;
		if (!still_fails(history, failure, runs))
			*operation = before;
		before = *operation;
		operation->die_at = 0;
		if (!still_fails(history, failure, runs))
			*operation = before;
		before = *operation;
		operation->fail_at = 0;
		if (!still_fails(history, failure, runs))
			*operation = before;
	}
}

void sim_explain(uint64_t seed, FILE *out)
{
	struct history *history = sim_room(sizeof(*history));
	struct sim_report report = {0};
	unsigned runs = 0;

	make_history(seed, history);
	if (!run(history, &report, NULL)) {
		char failure[sizeof(report.failure)];
		memcpy(failure, report.failure, sizeof(failure));
		fprintf(out, "# seed %llu: %s\n", (unsigned long long)seed, failure);
		/* Once more after the troubles are gone, since fewer of them need fewer operations. */
		for (int i = 0; i < 2; i++) {
			drop_operations(history, failure, &runs);
			calm_operations(history, failure, &runs);
		}
		fprintf(out, "# the shortest history found (%zu operations, %u tries):\n", history->count,
			runs);
		run(history, &report, out);
		fprintf(out, "# %s\n# again: make soak T=store/simulation SEED=%llu N=1\n", report.failure,
			(unsigned long long)seed);
	}
	free(history);
}
