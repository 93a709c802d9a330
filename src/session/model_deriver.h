/* SPDX-License-Identifier: MIT */
/* A model as a deriver: what compact/ask.h wants asked is sent, and the answers
 * are handed back. */
#ifndef SESSION_MODEL_DERIVER_H
#define SESSION_MODEL_DERIVER_H

#include "compact/derive.h"
#include "session/handles.h"

/* Its name is the model's. It waits for each answer; the model must outlive it.
 */
struct deriver model_deriver(bobbin_model *model);

#endif
