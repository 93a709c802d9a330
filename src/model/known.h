/* SPDX-License-Identifier: MIT */
/* What is known of models by their names: how much they take and give. Figures are the providers' published
 * ones; a name that is not known gets cautious ones, and struct model_options overrides all of them. */
#ifndef MODEL_KNOWN_H
#define MODEL_KNOWN_H

#include <stdint.h>
#include "base/slice.h"

struct known_model {
	uint64_t window_tokens;
	uint64_t output_tokens_max;
};

/* By the longest beginning of the name that is known; what stands before the last '/' (a vendor's prefix:
 * "anthropic/claude-…") does not count. */
struct known_model known_model(struct slice name);

#endif
