/* SPDX-License-Identifier: MIT */
/*
 * Histories from seeds.
 *
 *	struct sim_report report;
 *	if (!sim_run(seed, &report))
 *		sim_explain(seed, stdout);       // the shortest history found that fails in the same way,
 * step by step
 */
#ifndef TESTS_SIM_RUN_H
#define TESTS_SIM_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sim_report {
	uint64_t operations, acknowledged, power_cuts, deaths, failed_calls, interrupted, compared, mixed,
		indexed, cache_failures, damaged;
	char failure[512];
};

/* Runs the history of this seed; adds to the report's counts. False and report->failure if it fails. */
bool sim_run(uint64_t seed, struct sim_report *report);
/* Makes the failing history of this seed shorter and prints it. */
void sim_explain(uint64_t seed, FILE *out);

#endif
