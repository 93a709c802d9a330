/* SPDX-License-Identifier: MIT */
/* Calls as rules_calls.c and rules_tried.c look at them. */
#ifndef COMPACT_RULES_CALLS_H
#define COMPACT_RULES_CALLS_H

#include "compact/rules_state.h"

/* Whether the tool's name, without prefixes, is of this kind (CUE_TOOL_…). */
bool call_is(const struct derive_call *call, enum cue_kind kind);

/* Its result came and is no error. */
bool call_succeeded(const struct derive_input *input, const struct derive_call *call);

/* The first argument whose name is of this kind (CUE_ARGUMENT_…). */
bool call_argument(
	struct rules *rules, const struct derive_call *call, enum cue_kind kind, struct json *ret_value);

/* The command of a shell tool, decoded; empty for other tools. */
struct slice call_command(struct rules *rules, const struct derive_call *call);

#endif
