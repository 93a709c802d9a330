/* SPDX-License-Identifier: MIT */
/*
 * A little reading of plain sentences, English and Chinese: enough for a model without a model to be
 * checked against what it was told. Pure functions over slices; nothing is allocated.
 *
 *	"I live in Shanghai, please note that."     FACT_RESIDENCE "Shanghai"
 *	"My order is A-17 and my budget is 12.50."  FACT_ATTRIBUTE "order" = "A-17", "budget" = "12.50"
 *	"我住在上海。"                                FACT_RESIDENCE "上海"
 *
 * Invariants: (1) every slice given out lies in the text given in; (2) questions state no facts.
 */
#ifndef MODEL_FACTS_H
#define MODEL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/slice.h"

#define TEXT_NOT_FOUND ((size_t)-1)

/* Where `needle` begins in `text` at or after `from`. ASCII letters compare without case, and a needle
 * that begins or ends with a letter or digit matches whole words there. */
size_t text_find(struct slice text, const char *needle, size_t from);
bool text_has(struct slice text, const char *needle);
struct slice text_trim(struct slice text); /* without white space around it */
bool text_is_chinese(struct slice text);   /* has at least one Han character */

/* Cuts the next sentence off *text: trimmed, not empty, with the sign that ends it. */
bool sentence_next(struct slice *text, struct slice *ret_sentence);
bool sentence_is_question(struct slice sentence);
struct slice sentence_without_end(struct slice sentence); /* without . ! ? and their Chinese forms */

enum fact_kind { FACT_RESIDENCE, FACT_NAME, FACT_ATTRIBUTE, FACT_NOTE };

struct fact {
	enum fact_kind kind;
	struct slice key; /* of FACT_ATTRIBUTE */
	struct slice value;
};

/* The next fact of a sentence, from *offset (0 to begin). A note is followed by the facts inside it. */
bool fact_next(struct slice sentence, size_t *offset, struct fact *ret_fact);

/* True if `text` has every word of `topic` that carries meaning, and there is at least one. */
bool text_is_about(struct slice text, struct slice topic);

#endif
