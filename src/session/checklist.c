/* SPDX-License-Identifier: MIT */
/* Lists of things to do, see checklist.h. */
#include "session/checklist.h"

#include <string.h>

struct slice checklist_trim(struct slice text)
{
	while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
		text.data++, text.len--;
	while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t' ||
				   text.data[text.len - 1] == '\r'))
		text.len--;
	return text;
}

bool checklist_item_at(struct slice content, size_t start, size_t *ret_end, struct checklist_item *item)
{
	const char *stop = memchr(content.data + start, '\n', content.len - start);
	struct slice line = {content.data + start, stop ? (size_t)(stop - content.data) - start : content.len - start};

	*ret_end = start + line.len + (stop != NULL);
	line = checklist_trim(line);
	if (line.len < 5 || !strchr("-*+", line.data[0]) || line.data[1] != ' ' || line.data[2] != '[' ||
		!strchr(" xX", line.data[3]) || line.data[4] != ']')
		return false;
	item->box = (size_t)(line.data + 3 - content.data);
	item->done = line.data[3] != ' ';
	item->text = checklist_trim((struct slice){line.data + 5, line.len - 5});
	return true;
}

void checklist_count(struct slice content, size_t *ret_all, size_t *ret_open)
{
	struct checklist_item item;
	size_t all = 0, open = 0;

	for (size_t at = 0; at < content.len;)
		if (checklist_item_at(content, at, &at, &item)) {
			all++;
			open += !item.done;
		}
	*ret_all = all;
	*ret_open = open;
}
