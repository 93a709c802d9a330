/* SPDX-License-Identifier: MIT */
/*
 * What a made-up session would have cost, by the library's own simulation, over price tables: without
 * compaction, with a sliding window, with fixed triggers, with the automatic one, and with the best fixed one
 * of a sweep.
 */
#include <bobbin.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compaction_case.h"

#define ROUNDS 200
#define MESSAGE_TOKENS 250
#define WINDOW 32000
/* What a sweep finds afterwards may cost half of what was decided without knowing what comes, not less. */
#define WORST_FACTOR 2.0

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Of one price table: what each way costs, in % of no compaction. */
struct costs {
	const char *prices;
	double none, automatic, best;
};

static bool print_costs_end(const struct costs *costs)
{
	bool good = costs->best <= 0 || costs->automatic <= WORST_FACTOR * costs->best;

	if (costs->best > 0)
		printf("    auto / best fixed: %.2f%s\n", costs->automatic / costs->best, good ? "✓" : "✗");
	return good;
}

static bool print_rows(const bobbin_simulation *simulation)
{
	const struct bobbin_simulation_row *row;
	struct costs costs = {.prices = ""};
	bool good = true;

	for (size_t i = 0; (row = bobbin_simulation_get(simulation, i)); i++) {
		char policy[48];

		if (strcmp(costs.prices, row->prices) != 0) {
			good &= print_costs_end(&costs);
			costs = (struct costs){.prices = row->prices, .none = row->billed};
			printf("  %s, %llu requests\n", row->prices, (unsigned long long)row->requests);
		}
		if (strcmp(row->policy, "auto") == 0)
			costs.automatic = row->billed;
		if (strcmp(row->policy, "best fixed") == 0)
			costs.best = row->billed;
		snprintf(policy, sizeof policy, row->trigger > 0 ? "%s %.2f" : "%s", row->policy,
			row->trigger);
		printf("    %-18s %12.0f  %6.1f %%  %4llu compactions\n", policy, row->billed,
			100.0 * row->billed / costs.none, (unsigned long long)row->compactions);
	}
	return print_costs_end(&costs) && good;
}

static bool simulate(const char *folder)
{
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_simulation *simulation = NULL;
	bobbin_session *session = NULL;
	bobbin_store *store = NULL;
	bool good = false;

	window.window = WINDOW;
	if (bobbin_store_open(folder, NULL, &store, &error) < 0 ||
		bobbin_session_open(store, "cost", NULL, &session, &error) < 0 ||
		bobbin_session_manufacture(session, ROUNDS, 1, MESSAGE_TOKENS, &error) < 0 ||
		bobbin_session_simulate(session, &window, NULL, 0, &simulation, &error) < 0)
		fprintf(stderr, "cannot simulate: %s\n", error.message);
	else
		good = print_rows(simulation);
	bobbin_simulation_free(simulation);
	bobbin_session_close(session);
	bobbin_store_close(store);
	return good;
}

bool cost_table(void)
{
	const char *base = getenv("TMPDIR");
	char folder[4096];
	bool good;

	printf("cost in uncached input tokens: %d made-up rounds of messages of about %d tokens, window %d\n",
		ROUNDS, MESSAGE_TOKENS, WINDOW);
	snprintf(folder, sizeof folder, "%s/bobbin-bench-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder)) {
		fprintf(stderr, "cannot create %s\n", folder);
		return false;
	}
	good = simulate(folder);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return good;
}
