/* SPDX-License-Identifier: MIT */
/*
 * The deriver itself: one pass over messages, one over calls, one over results. Everything it knows about a
 * language is in cues/; see the parts for what they make of it.
 *
 * Invariants:
 * (1) Equal input, equal record: no clock, no addresses, no order of hashes.
 * (2) harvest() gives the same constraints, and the same signals about them, as derive().
 * (3) Time is linear in the input's bytes but for the number of its failed commands.
 */
#include "compact/rules.h"

#include "base/alloc.h"
#include "compact/rules_facts.h"
#include "compact/rules_state.h"

static int run(const struct derive_input *input, struct compact_record *record, bool harvest,
	struct bobbin_error *error)
{
	struct rules rules = {.input = input,
		.record = record,
		.scratch = ARENA_INIT,
		.harvest = harvest,
		.key = BUFFER_INIT(ITEM_CONSTRAINT_BYTES),
		.text = BUFFER_INIT(ITEM_TEXT_BYTES)};

	rules.statement = mem_alloc(sizeof *rules.statement);
	rules.rc = rules.statement ? 0 : BOBBIN_ENOMEM;
	if (!rules.rc && !harvest)
		rules.rc = facts_prepare(&rules);
	if (!rules.rc)
		rules_messages(&rules);
	if (!rules.rc && !harvest) {
		rules_calls(&rules);
		rules_tried(&rules);
		if (!rules.rc)
			facts_of_results(&rules);
	}
	facts_release(&rules);
	mem_free(rules.statement);
	mem_free(rules.slots);
	buffer_release(&rules.key);
	buffer_release(&rules.text);
	arena_release(&rules.scratch);
	return rules.rc ? error_set(error, rules.rc, "out of memory while deriving a record by rules") : 0;
}

static int derive(void *context, const struct derive_input *input, struct compact_record *record,
	struct bobbin_error *error)
{
	(void)context;
	return run(input, record, false, error);
}

static int harvest(void *context, const struct derive_input *input, struct compact_record *record,
	struct bobbin_error *error)
{
	(void)context;
	return run(input, record, true, error);
}

const struct deriver rules_deriver = {.name = "rules", .version = "1", .derive = derive, .harvest = harvest};
