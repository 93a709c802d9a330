/* SPDX-License-Identifier: MIT */
/*
 * Facts: the sentence or line in which a value stands. Of persons every value counts, of the assistant those
 * that tell something by themselves, of tools those that somebody mentions afterwards, and a few ids.
 */
#ifndef COMPACT_RULES_FACTS_H
#define COMPACT_RULES_FACTS_H

#include "compact/rules_state.h"

/* Collects the values that persons, the assistant and calls mention, and where last. BOBBIN_ENOMEM or 0. */
int facts_prepare(struct rules *rules);
void facts_release(struct rules *rules);

/* Of one sentence of the message being read; `statement` NULL: of code or a quotation, which has not been
 * read; `told`: another item tells the sentence, only what is worth telling twice is added. */
void facts_of_sentence(struct rules *rules, struct slice text, const struct statement *statement, bool told);

/* Of the results of tools. */
void facts_of_results(struct rules *rules);

#endif
