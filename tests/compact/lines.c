/* SPDX-License-Identifier: MIT */
#include "compact/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/limits.h"

static void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "test conversation: %s: %d\n", what, rc);
		abort();
	}
}

void lines_begin(struct lines *lines)
{
	memset(lines, 0, sizeof *lines);
}

static void write_call(struct json_writer *writer, size_t number, const char *text)
{
	const char *space = strchr(text, ' ');
	char id[32];

	snprintf(id, sizeof id, "c%zu", number);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_begin_object(writer);
	json_member_text(writer, "id", id);
	json_member_string(
		writer, "name", (struct slice){text, space ? (size_t)(space - text) : strlen(text)});
	json_member_text(writer, "arguments", space ? space + 1 : "{}");
	json_end_object(writer);
	json_end_array(writer);
}

void lines_add(struct lines *lines, const char *line)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	const char *text = line[1] ? line + 2 : "";
	char kind = line[0], id[32];
	size_t last = lines->count;

	json_writer_init(&writer, &out);
	json_begin_object(&writer);
	json_member_uint(&writer, "seq", lines->count + 1);
	json_member_text(&writer, "role",
		strchr("ui", kind)   ? "user"
		: strchr("te", kind) ? "tool"
				     : "assistant");
	json_member_text(&writer, "content", kind == 'c' ? "" : text);
	if (kind == 'c')
		write_call(&writer, lines->count, text);
	if (kind == 'i')
		json_member_text(&writer, "origin", "injected");
	if (kind == 't' || kind == 'e') {
		while (last > 0 && !memmem(lines->records[last - 1].data, lines->records[last - 1].len,
					   "tool_calls", 10))
			last--;
		snprintf(id, sizeof id, "c%zu", last ? last - 1 : 0);
		json_member_text(&writer, "tool_call_id", id);
	}
	if (kind == 'e')
		json_member_bool(&writer, "is_error", true);
	json_end_object(&writer);
	must(buffer_error(&out), "record");
	must(lines->count == LINES_MAX, "too many lines");
	lines->records[lines->count].data = arena_copy(&lines->arena, out.data, out.len);
	lines->records[lines->count++].len = out.len;
	buffer_release(&out);
}

void lines_end(struct lines *lines)
{
	array_path_free(lines->array);
	must(array_path_new(lines->records, lines->count, NULL, &lines->array, NULL), "path");
	lines->path = array_path_path(lines->array);
}

void lines_make(struct lines *lines, ...)
{
	va_list list;
	const char *line;

	lines_begin(lines);
	va_start(list, lines);
	while ((line = va_arg(list, const char *)))
		lines_add(lines, line);
	va_end(list);
	lines_end(lines);
}

void lines_release(struct lines *lines)
{
	array_path_free(lines->array);
	arena_release(&lines->arena);
	arena_release(&lines->scratch);
}

struct derive_input lines_input(struct lines *lines)
{
	struct derive_input input;

	must(derive_input_read(lines->path, 0, lines->count, &lines->arena, &input, NULL), "input");
	return input;
}
