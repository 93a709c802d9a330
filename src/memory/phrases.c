/* SPDX-License-Identifier: MIT */
/* The table, and how it is matched. A phrase with blanks at its ends matches whole words. */
#include "memory/phrases.h"
#include <string.h>

/* One line a relation or purpose; of phrases of equal kind the first that matches counts, so the more special stand first. */
const struct phrase phrases[] = {
#include "memory/phrases.inc"
	{NULL, PHRASE_STATES, NULL},
};

bool phrase_find(const struct phrase *phrase, const char *folded, size_t *ret_start, size_t *ret_end)
{
	const char *star = strchr(phrase->text, '*');
	size_t first = star ? (size_t)(star - phrase->text) : strlen(phrase->text);
	const char *at = memmem(folded, strlen(folded), phrase->text, first);

	if (!at)
		return false;
	*ret_start = (size_t)(at - folded);
	*ret_end = *ret_start + first;
	if (!star)
		return true;
	/* The blank before the gap may be the one after it. */
	const char *rest = strstr(at + (first && at[first - 1] == ' ' ? first - 1 : first), star + 1);
	if (rest)
		*ret_end = (size_t)(rest - folded) + strlen(star + 1);
	return rest != NULL;
}

const struct phrase *phrase_of(enum phrase_kind kind, const char *folded)
{
	size_t start, end;

	for (const struct phrase *phrase = phrases; phrase->text; phrase++)
		if (phrase->kind == kind && phrase_find(phrase, folded, &start, &end))
			return phrase;
	return NULL;
}
