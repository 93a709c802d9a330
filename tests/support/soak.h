/* SPDX-License-Identifier: MIT */
/* How much a test does: a spread in `make test`, more in `make soak`. */
#ifndef TESTS_SUPPORT_SOAK_H
#define TESTS_SUPPORT_SOAK_H

#include <stdbool.h>
#include <stdint.h>

bool soak_is_on(void);
/* N from the environment if it is set; else `in_test`, or in a soak `in_soak` times its scale (BOBBIN_SOAK). */
uint64_t soak_count(uint64_t in_test, uint64_t in_soak);
/* SEED from the environment, or `otherwise`. */
uint64_t soak_seed(uint64_t otherwise);

#endif
