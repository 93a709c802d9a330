/* SPDX-License-Identifier: MIT */
/* What of a foreign message a provider refuses by itself, whatever stands around it; the doctor names it, a repair mends it. Pure. */
#ifndef SESSION_FOREIGN_TEXT_H
#define SESSION_FOREIGN_TEXT_H

#include "transcript/message.h"
#include "window/render.h"

/* The provider that the sessions of a format go to; false if the format has none of its own. */
bool foreign_dialect(const char *format, enum dialect *ret_dialect);

/* Whether a sealed block is not what a provider gave out: without its seal, or with one that can be none. `format` is the
 * reader's: thinking has a seal only where it comes from Anthropic. */
bool sealed_is_broken(const char *format, const struct block *block);
/* Thinking that goes to Anthropic with its seal. */
bool sealed_is_anthropics(const char *format, const struct block *block);

/* Letters, digits, _ and - only. */
bool foreign_is_word(struct slice text);
/* What the provider of that format does not take for the id of a call, or the name of a tool. A format without a provider, and that
 * is not written either, goes on as whatever takes it: the strictest rules hold. Of those that are (pi, bobbin) only an id of whole
 * characters is asked for. */
bool foreign_id_is_refused(const char *format, struct slice id);
bool foreign_name_is_refused(const char *format, struct slice name);

/* Arguments that are a custom tool's free text and no broken JSON: they do not even begin like an object. */
bool foreign_is_free_text(const char *format, const struct json *arguments);
/* The object that arguments are, or hold as a string; decoded in the arena. False if they do not. */
bool foreign_arguments(const struct json *arguments, struct arena *arena, struct json *ret_object);

#endif
