/* SPDX-License-Identifier: MIT */
/*
 * Imports a file and prints what came out as one JSON object:
 * {"format":…,"conversations":[{"id":…,"title":…,"messages":…,"calls":…,"results":…,"head":…,"records":[…]}],
 * "warnings":[{"line":…,"offset":…,"message":…}],"warnings_total":…}, or
 * {"error":…,"line":…,"offset":…,"message":…}. Usage: import_dump FORMAT|- FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/json.h"
#include "transcript/import.h"

static char *read_file(const char *name, size_t *ret_len)
{
	FILE *file = fopen(name, "rb");
	char *data = NULL;
	long len = -1;

	if (file && fseek(file, 0, SEEK_END) == 0 && (len = ftell(file)) >= 0 &&
		fseek(file, 0, SEEK_SET) == 0 && (data = malloc((size_t)len + 1)) &&
		fread(data, 1, (size_t)len, file) != (size_t)len) {
		free(data);
		data = NULL;
	}
	if (file)
		fclose(file);
	*ret_len = len < 0 ? 0 : (size_t)len;
	return data;
}

static void write_conversation(struct json_writer *writer, const struct import_conversation *conversation)
{
	json_begin_object(writer);
	json_member_string(writer, "id", conversation->foreign_id);
	json_member_string(writer, "title", conversation->title);
	json_member_uint(writer, "messages", conversation->messages);
	json_member_uint(writer, "calls", conversation->calls);
	json_member_uint(writer, "results", conversation->results);
	json_member_int(writer, "head", conversation->head == SIZE_MAX ? -1 : (int64_t)conversation->head);
	json_key(writer, "records");
	json_begin_array(writer);
	for (size_t i = 0; i < conversation->record_count; i++)
		json_add_raw(writer, conversation->records[i]);
	json_end_array(writer);
	json_end_object(writer);
}

static void write_import(struct json_writer *writer, const struct import *import)
{
	json_begin_object(writer);
	json_member_text(writer, "format", import->format);
	json_key(writer, "conversations");
	json_begin_array(writer);
	for (size_t i = 0; i < import->conversation_count; i++)
		write_conversation(writer, &import->conversations[i]);
	json_end_array(writer);
	json_key(writer, "warnings");
	json_begin_array(writer);
	for (size_t i = 0; i < import->warning_count; i++) {
		json_begin_object(writer);
		json_member_uint(writer, "line", import->warnings[i].line);
		json_member_uint(writer, "offset", import->warnings[i].offset);
		json_member_text(writer, "message", import->warnings[i].message);
		json_end_object(writer);
	}
	json_end_array(writer);
	json_member_uint(writer, "warnings_total", import->warnings_total);
	json_end_object(writer);
}

static void write_error(struct json_writer *writer, const struct bobbin_error *error)
{
	json_begin_object(writer);
	json_member_int(writer, "error", error->code);
	json_member_uint(writer, "line", error->line);
	json_member_uint(writer, "offset", error->offset);
	json_member_text(writer, "message", error->message);
	json_end_object(writer);
}

int main(int argc, char **argv)
{
	struct buffer out = BUFFER_INIT(SIZE_MAX / 2);
	struct bobbin_error error = {0};
	struct json_writer writer;
	struct import import;
	size_t len;

	if (argc != 3) {
		fprintf(stderr, "usage: import_dump FORMAT|- FILE\n");
		return 2;
	}
	char *data = read_file(argv[2], &len);
	if (!data) {
		fprintf(stderr, "import_dump: cannot read %s\n", argv[2]);
		return 2;
	}
	int rc = import_read(strcmp(argv[1], "-") == 0 ? NULL : argv[1], data, len, &import, &error);
	json_writer_init(&writer, &out);
	if (rc)
		write_error(&writer, &error);
	else
		write_import(&writer, &import);
	buffer_add_char(&out, '\n');
	fwrite(out.data, 1, out.len, stdout);
	import_release(&import);
	buffer_release(&out);
	free(data);
	return rc ? 3 : 0;
}
