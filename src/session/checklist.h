/* SPDX-License-Identifier: MIT */
/* Lists of things to do in a text: lines "- [ ] item" and "- [x] item", also with * or + and indented. */
#ifndef SESSION_CHECKLIST_H
#define SESSION_CHECKLIST_H

#include <stdbool.h>
#include "base/slice.h"

struct checklist_item {
	size_t box; /* where the character between the brackets stands */
	bool done;
	struct slice text;
};

/* Whether the line at `start` is an item; *ret_end: where the next line begins. */
bool checklist_item_at(struct slice content, size_t start, size_t *ret_end, struct checklist_item *item);

/* Without blanks around it. */
struct slice checklist_trim(struct slice text);

/* All items of a text, and how many of them are open. */
void checklist_count(struct slice content, size_t *ret_all, size_t *ret_open);

#endif
