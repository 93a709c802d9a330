/* SPDX-License-Identifier: MIT */
/*
 * The deriver that needs no model: cue phrases (compact/cues/) and patterns. See derive.h.
 *
 * What merge, reconcile and verify expect of any deriver:
 * - One rule an item: "Do NOT push to main. Use at most 3 retries." gives two ITEM_CONSTRAINTs, text verbatim
 * (the sentence, or the clause with the rule), exact, by BY_USER, STATE_BINDING, key = its content words in
 * lower case.
 * - "You may push to main now.", "drop plan A", "instead", "forget about the retries": an ITEM_SIGNAL with
 * target ITEM_CONSTRAINT or ITEM_DECISION, state STATE_LIFTED, STATE_OVERRULED or STATE_REJECTED, text
 * verbatim, key = content words of what it is about. Within one segment too: reconcile sets the states, never
 * the deriver.
 * - A task is a request of a person's, in his words: STATE_OPEN. "Done", an answer that says it is finished,
 * or a person's thanks: a signal with target ITEM_TASK and STATE_DONE; a new request does not end the old one
 * by itself.
 * - A rejected option is ITEM_DECISION, STATE_REJECTED, text = the option, reason = why, in the words of the
 * source.
 * - A fact that gives a named thing a value has a key ("port", "database address"); facts without one never
 * supersede.
 * - Values stand in text exactly as in the source; what the deriver counts itself is `computed`.
 * - ITEM_FILE: text = the path as the tool call has it; one item a path and kind of access, all its sources.
 */
#ifndef COMPACT_RULES_H
#define COMPACT_RULES_H

#include "compact/derive.h"

extern const struct deriver rules_deriver;

#endif
