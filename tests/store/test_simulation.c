/* SPDX-License-Identifier: MIT */
/*
 * Random histories on a simulated disk (tests/sim), by seed. SEED names the first, N how many; a failing one
 * is made shorter and printed. `make soak T=store/simulation SEED=1 N=100000`.
 */
#include "store_test.h"

#include "sim/run.h"

#define SEEDS 3000
#define SEEDS_SANITIZED 250
#define SEEDS_SOAK 100000

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void every_history__keeps_what_was_acknowledged(void **state)
{
	(void)state;
	uint64_t count = getenv("BOBBIN_SOAK") ? SEEDS_SOAK : getenv("BOBBIN_SAN") ? SEEDS_SANITIZED : SEEDS;
	uint64_t first = number_from("SEED", 1), failures = 0;
	struct sim_report report = {0};

	count = number_from("N", count);
	for (uint64_t seed = first; seed < first + count && failures < 5; seed++)
		if (!sim_run(seed, &report)) {
			failures++;
			sim_explain(seed, stderr);
		}
	print_message("# seeds %llu to %llu: %llu operations, %llu records acknowledged, %llu power cuts, "
		      "%llu deaths, "
		      "%llu interrupted, %llu logs compared (%llu with mixed sectors left out)\n",
		(unsigned long long)first, (unsigned long long)(first + count - 1),
		(unsigned long long)report.operations, (unsigned long long)report.acknowledged,
		(unsigned long long)report.power_cuts, (unsigned long long)report.deaths,
		(unsigned long long)report.interrupted, (unsigned long long)report.compared,
		(unsigned long long)report.mixed);
	assert_int_equal(failures, 0);
}

static void the_same_seed__gives_the_same_history(void **state)
{
	(void)state;
	struct sim_report once = {0}, again = {0};
	uint64_t first = number_from("SEED", 1);

	for (uint64_t seed = first; seed < first + 20; seed++) {
		sim_run(seed, &once);
		sim_run(seed, &again);
	}
	assert_memory_equal(&once, &again, sizeof(once));
	assert_true(once.acknowledged > 100);
	assert_true(once.power_cuts > 0 && once.deaths > 0 && once.interrupted > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history__keeps_what_was_acknowledged),
		cmocka_unit_test(the_same_seed__gives_the_same_history),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
