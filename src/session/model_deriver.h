/* SPDX-License-Identifier: MIT */
/* A model as a deriver: what compact/ask.h wants asked is sent, and the answers
 * are handed back. */
#ifndef SESSION_MODEL_DERIVER_H
#define SESSION_MODEL_DERIVER_H

#include "compact/derive.h"
#include "session/handles.h"

/*
 * Its name is the model's. It waits for each answer; the model must outlive it. BOBBIN_EBUSY while the model
 * rests: after a failure that asking again would only repeat it is left alone for a minute, then five, then
 * an hour, or as long as the provider says.
 */
struct deriver model_deriver(bobbin_model *model);

/* Statements that were refused, and rules that were put back, in its answers since model_deriver(). Adds
 * nothing for other derivers. */
void model_deriver_count(const struct deriver *deriver, uint32_t *refused, uint32_t *repaired);

/* Appends to the log what the model has reported for records since the last time: it was paid, whatever
 * became of them. Does nothing for other derivers. 0, or an error of log_append. */
int model_deriver_store_usage(
	const struct deriver *deriver, struct log *log, const char *for_id, struct bobbin_error *error);

#endif
