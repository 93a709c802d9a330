/* SPDX-License-Identifier: MIT */
/*
 * Models that answer over a wire: a protocol on top of HTTP, or of a recording.
 *
 *	openai:NAME[@URL]  openai-responses:NAME[@URL]  anthropic:NAME[@URL]
 *	record:FILE:SPEC   SPEC is one of those above; FILE has no colon
 *	replay:FILE
 *
 * Invariants:
 * (1) The key comes from the environment when the model is opened and goes into one header of the request:
 *     over https, or to this machine; never over plain http to another one. No error, event or recording
 *     holds it, also if the provider quotes it.
 * (2) The answer is DONE only by the protocol's word; everything else is one ERROR in words for a person.
 * (3) `retry` is set only where the request cannot have been carried out.
 */
#ifndef MODEL_REMOTE_H
#define MODEL_REMOTE_H

#include "model/provider.h"

/* True if a specification is one of the forms above, well-formed or not. */
bool remote_is(const char *specification);

/* Fills the model. BOBBIN_EINVAL for a malformed specification or address, or a missing key. */
int remote_open(struct model *model, const char *specification, struct bobbin_error *error);

#endif
