/* SPDX-License-Identifier: MIT */
/* bobbin's own: the records as they are in the log, one a line. Nothing is lost. */
#include "transcript/export_writer.h"

static int message(struct export *export, const struct export_item *item)
{
	buffer_add(export->out, item->message->record.text, item->message->record.len);
	buffer_add_char(export->out, '\n');
	return 0;
}

const struct export_writer export_bobbin = {
	{"bobbin", "bobbin's own log lines: nothing is lost"}, NULL, message, NULL};
