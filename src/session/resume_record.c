/* SPDX-License-Identifier: MIT */
/* What a fresh conversation is given beside the goal, see resume_test.h: the record of what was before, and tools. */
#include "session/resume_test.h"

#include "base/json.h"
#include "compact/render.h"
#include "compact/rules.h"
#include "session/segments.h"

#define ARGUMENT_NAMES_MAX 32  /* of a tool, in the definition made for it */
#define TOOL_NAME_BYTES_MAX 64 /* what all providers take */

/* ---- The record ---- */

static int merge_and_render(struct recording *recording, const struct log_path *path, struct compact_merge *merge,
	uint64_t tokens_max, struct buffer *out, struct render_report *report, struct bobbin_error *error)
{
	const struct compact_merge_options options = {recording->kept, COMPACT_NO_INNER};
	struct render_options render = RENDER_OPTIONS_INIT;
	struct compact_record merged, shown;
	struct arena arena = ARENA_INIT;

	render.tokens_max = tokens_max;
	int rc = compact_merge_finish(merge, &options, &arena, &merged, error);
	if (!rc)
		rc = compact_render(&merged, log_path_path(path), &render, &arena, &shown, out, report, error);
	arena_release(&arena);
	return rc;
}

int recording_record(struct recording *recording, uint64_t tokens_max, struct buffer *out, uint64_t *ret_tokens,
	struct bobbin_error *error)
{
	struct segments_request request = {.head = recording->last,
		.floor = recording->floor,
		.covered = recording->kept,
		.deriver = &rules_deriver,
		.derive_max = UINT32_MAX,
		.dry = true};
	struct segments_report derived = {0};
	struct render_report rendered = {0};
	struct compact_merge *merge;
	int rc = log_path_new(recording->session->log, recording->last, NULL, &request.path, error);

	if (rc < 0)
		return rc;
	rc = segments_merge(recording->session, &request, &merge, &derived, error);
	if (!rc)
		rc = merge_and_render(recording, request.path, merge, tokens_max, out, &rendered, error);
	log_path_free(request.path);
	if (!rc)
		*ret_tokens = rendered.tokens;
	return rc;
}

/* ---- Tools ---- */

/* A name that every provider takes: what a foreign transcript calls a tool may be anything. */
static bool is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	return len && len <= TOOL_NAME_BYTES_MAX && strspn(name, plain) == len;
}

static bool is_named(const struct json *tool, const char *name)
{
	struct json function, value;
	const struct json *named = json_get(tool, "function", &function) ? &function : tool;

	return named->type == JSON_OBJECT && json_get(named, "name", &value) && value.type == JSON_STRING &&
	       json_string_is(&value, name);
}

static bool has_tool(const struct json *tools, const char *name)
{
	struct json_iter iter;
	struct json tool;

	for (json_iter_init(&iter, tools); json_iter_next(&iter, NULL, &tool);)
		if (tool.type == JSON_OBJECT && is_named(&tool, name))
			return true;
	return false;
}

static const char *type_of(const struct json *value)
{
	switch (value->type) {
	case JSON_NUMBER:
		return "number";
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	default:
		return "boolean";
	}
}

struct argument {
	struct slice name;
	const char *type;
};

/* The arguments that calls of a tool had, each with the type that was seen first. */
static size_t seen_arguments(
	const struct recording *recording, const char *tool, struct argument seen[ARGUMENT_NAMES_MAX])
{
	struct json_iter iter;
	struct json object, key, value;
	size_t count = 0;

	for (size_t i = 0; i < recording->call_count; i++) {
		const struct recorded_call *call = &recording->calls[i];
		if (strcmp(call->name, tool) != 0 ||
			json_parse(call->arguments.data, call->arguments.len, &object, NULL) < 0 ||
			object.type != JSON_OBJECT)
			continue;
		for (json_iter_init(&iter, &object); json_iter_next(&iter, &key, &value);) {
			struct slice name;
			size_t at = 0;
			if (!json_string_plain(&key, &name))
				continue;
			while (at < count && !slice_equal(seen[at].name, name))
				at++;
			if (at == count && count < ARGUMENT_NAMES_MAX)
				seen[count++] = (struct argument){name, type_of(&value)};
		}
	}
	return count;
}

static void add_definition(struct json_writer *writer, const struct recording *recording, const char *name)
{
	struct argument seen[ARGUMENT_NAMES_MAX];
	size_t count = seen_arguments(recording, name, seen);

	json_begin_object(writer);
	json_member_text(writer, "type", "function");
	json_key(writer, "function");
	json_begin_object(writer);
	json_member_text(writer, "name", name);
	json_member_text(writer, "description", "A tool that was used in this task.");
	json_key(writer, "parameters");
	json_begin_object(writer);
	json_member_text(writer, "type", "object");
	json_key(writer, "properties");
	json_begin_object(writer);
	for (size_t i = 0; i < count; i++) {
		json_key_slice(writer, seen[i].name);
		json_begin_object(writer);
		json_member_text(writer, "type", seen[i].type);
		json_end_object(writer);
	}
	json_end_object(writer);
	json_end_object(writer);
	json_end_object(writer);
	json_end_object(writer);
}

int recording_add_tools(const struct recording *recording, struct slice tools, struct buffer *out,
	struct bobbin_error *error)
{
	struct json_writer writer;
	struct json_iter iter;
	struct json array, tool;
	int rc = json_parse(tools.data, tools.len, &array, error);

	if (!rc && array.type != JSON_ARRAY)
		rc = error_set(error, BOBBIN_EINPUT, "tool definitions are a JSON array");
	if (rc < 0)
		return rc;
	json_writer_init(&writer, out);
	json_begin_array(&writer);
	for (json_iter_init(&iter, &array); json_iter_next(&iter, NULL, &tool);)
		json_add_value(&writer, &tool);
	for (size_t i = 0; i < recording->tool_count; i++)
		if (is_plain(recording->tools[i].name) && !has_tool(&array, recording->tools[i].name))
			add_definition(&writer, recording, recording->tools[i].name);
	json_end_array(&writer);
	return buffer_error(out) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}
