/* SPDX-License-Identifier: MIT */
/* Pieces that several formats have alike; for export_*.c only. Each adds a whole value, or what its line says. */
#ifndef TRANSCRIPT_EXPORT_PARTS_H
#define TRANSCRIPT_EXPORT_PARTS_H

#include "transcript/export_writer.h"

/* What stands between the entries of a list that has a line for each. */
void export_next_entry(struct export *export);
/* Ends the list of parts that export->open says is open, and the message around it; false if none is. */
bool export_close_message(struct export *export);

/* {"type":TYPE,"text":…} */
void export_text_part(struct export *export, const char *type, const struct json *text);

/* Anthropic's, which Claude Code keeps: {"type":"image","source":…}, {"type":"tool_use",…}. */
void export_image_source(struct export *export, const struct export_image *image);
void export_tool_use(struct export *export, const struct block *call);
/* Thinking that its provider signed or sealed: others it does not take back. */
bool export_is_signed(const struct json *block);

/* OpenAI's Responses, which Codex keeps: {"type":"input_image",…}; the value of "output" of a call: a string, or a list where
 * there are pictures. 0 or BOBBIN_ENOMEM. */
void export_input_image(struct export *export, const struct export_image *image);
int export_call_output(struct export *export, const struct message *message);

#endif
