/* SPDX-License-Identifier: MIT */
#include "support/soak.h"

#include <stdlib.h>

static const char *setting(const char *name)
{
	const char *text = getenv(name);
	return text && *text ? text : NULL;
}

bool soak_is_on(void)
{
	return setting("BOBBIN_SOAK") != NULL;
}

uint64_t soak_count(uint64_t in_test, uint64_t in_soak)
{
	const char *count = setting("N"), *scale = setting("BOBBIN_SOAK");

	if (count)
		return strtoull(count, NULL, 10);
	if (!scale)
		return in_test;
	double scaled = (double)in_soak * strtod(scale, NULL);
	return scaled < 1 ? 1 : (uint64_t)scaled;
}

uint64_t soak_seed(uint64_t otherwise)
{
	const char *seed = setting("SEED");
	return seed ? strtoull(seed, NULL, 10) : otherwise;
}
