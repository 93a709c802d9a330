/* SPDX-License-Identifier: MIT */
/*
 * Random histories on a simulated disk (tests/sim), by seed. SEED names the first, N how many; a failing one
 * is made shorter and printed. `make soak T=store/simulation SEED=1 N=100000`.
 */
#include "store_test.h"

#include <errno.h>
#include <fcntl.h>
#include "sim/disk.h"
#include "sim/run.h"
#include "support/soak.h"

#define SEEDS 3000
#define SEEDS_SANITIZED 250
#define SEEDS_SOAK 60000

static void every_history__keeps_what_was_acknowledged(void **state)
{
	(void)state;
	uint64_t count = soak_count(getenv("BOBBIN_SAN") ? SEEDS_SANITIZED : SEEDS, SEEDS_SOAK);
	uint64_t first = soak_seed(1), failures = 0;
	struct sim_report report = {0};

	for (uint64_t seed = first; seed < first + count && failures < 5; seed++)
		if (!sim_run(seed, &report)) {
			failures++;
			sim_explain(seed, stderr);
		}
	print_message("# seeds %llu to %llu: %llu operations, %llu records acknowledged, %llu power cuts, "
		      "%llu deaths, %llu failed calls (%llu of caches), %llu interrupted, %llu caches damaged, "
		      "%llu logs compared (%llu through an index file; %llu with mixed sectors left out)\n",
		(unsigned long long)first, (unsigned long long)(first + count - 1),
		(unsigned long long)report.operations, (unsigned long long)report.acknowledged,
		(unsigned long long)report.power_cuts, (unsigned long long)report.deaths,
		(unsigned long long)report.failed_calls, (unsigned long long)report.cache_failures,
		(unsigned long long)report.interrupted, (unsigned long long)report.damaged,
		(unsigned long long)report.compared, (unsigned long long)report.indexed,
		(unsigned long long)report.mixed);
	assert_int_equal(failures, 0);
	if (count < SEEDS_SANITIZED)
		return;
	/* Everything that may happen does. */
	assert_true(report.power_cuts > count && report.deaths > count && report.interrupted > count);
	assert_true(report.failed_calls > count && report.cache_failures > 0 && report.damaged > count / 4);
	assert_true(report.indexed > report.compared / 10 && report.mixed < report.compared / 100);
}

static void the_same_seed__gives_the_same_history(void **state)
{
	(void)state;
	struct sim_report once = {0}, again = {0};
	uint64_t first = soak_seed(1);

	for (uint64_t seed = first; seed < first + 20; seed++) {
		sim_run(seed, &once);
		sim_run(seed, &again);
	}
	assert_memory_equal(&once, &again, sizeof(once));
	assert_true(once.acknowledged > 100);
	assert_true(once.power_cuts > 0 && once.deaths > 0 && once.interrupted > 0);
}

/* ---- The disk itself: what it promises, and that all that it may do happens. */

struct cut {
	bool name, whole, lost, torn, holes;
};

static int open_file(struct sim_process *process, int dir, const char *name)
{
	int file = process->table.open_at(process, dir, name, O_RDWR | O_CREAT | O_APPEND, 0600);
	assert_true(file >= 0);
	return file;
}

/* 700 bytes that are synced, then 2,000 that are not, and a name that nobody synced. */
static struct cut cut_power(uint64_t seed)
{
	static char text[2000];
	struct sim_disk *disk = sim_room(sizeof(*disk));
	struct sim_process process;
	struct cut cut = {0};

	memset(text, 'x', sizeof(text));
	sim_disk_init(disk, seed);
	sim_process_init(&process, disk);
	const struct platform *table = &process.table;
	assert_int_equal(table->make_dir_at(&process, PLATFORM_CWD, SIM_FOLDER, 0700), 0);
	int above = table->open_at(&process, PLATFORM_CWD, SIM_ABOVE, O_RDONLY | O_DIRECTORY, 0);
	int dir = table->open_at(&process, PLATFORM_CWD, SIM_FOLDER, O_RDONLY | O_DIRECTORY, 0);
	int file = open_file(&process, dir, "kept");
	assert_int_equal(table->write(&process, file, text, 700), 700);
	assert_int_equal(table->sync_data(&process, file), 0);
	assert_int_equal(table->sync(&process, dir), 0);
	assert_int_equal(table->sync(&process, above), 0);
	assert_int_equal(table->write(&process, file, text, 2000), 2000);
	open_file(&process, dir, "new");
	sim_process_kill(&process);
	assert_int_equal(table->write(&process, file, text, 1), -EIO);
	sim_disk_cut_power(disk);

	int number = sim_disk_find(disk, "kept");
	assert_true(number >= 0);
	const struct sim_file *left = &disk->files[number];
	assert_true(left->size >= 700 && left->size <= 2700);
	assert_memory_equal(left->data, text, 700);
	size_t nuls = 0;
	for (size_t i = 0; i < left->size; i++)
		nuls += left->data[i] == '\0';
	cut = (struct cut){sim_disk_find(disk, "new") >= 0, left->size == 2700 && nuls == 0,
		left->size == 700, left->size > 700 && left->size < 2700 && nuls == 0, nuls > 0};
	sim_disk_release(disk);
	free(disk);
	return cut;
}

static void power_cut__keeps_what_was_synced_and_any_part_of_the_rest(void **state)
{
	(void)state;
	unsigned names = 0, whole = 0, lost = 0, torn = 0, holes = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct cut cut = cut_power(seed);
		names += cut.name;
		whole += cut.whole;
		lost += cut.lost;
		torn += cut.torn;
		holes += cut.holes;
	}
	assert_in_range(names, 100, 300);
	assert_true(whole > 50 && lost > 50 && torn > 10 && holes > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history__keeps_what_was_acknowledged),
		cmocka_unit_test(power_cut__keeps_what_was_synced_and_any_part_of_the_rest),
		cmocka_unit_test(the_same_seed__gives_the_same_history),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
