/* SPDX-License-Identifier: MIT */
/*
 * Tool definitions from any dialect's form in that of the request. A tool that the provider runs itself (a
 * type of its own and no schema) is sent only in the form it came in, to the dialect that has such tools.
 *
 *	openai-chat       {"type":"function","function":{"name","description","parameters","strict"}}
 *	openai-responses  {"type":"function","name","description","parameters","strict"}
 *	anthropic         {"name","description","input_schema"}
 *
 * A schema that does not say so becomes one of an object; of two tools with one name the first is sent.
 */
#include "window/renderer.h"

#include "base/limits.h"

struct tool {
	struct json name, description, schema, strict;
};

/* False if it is no function of the client's. */
static bool read_tool(const struct json *value, struct tool *ret_tool)
{
	struct json function;
	const struct json *at = value;

	if (json_get(value, "function", &function) && function.type == JSON_OBJECT)
		at = &function;
	*ret_tool = (struct tool){{NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT}, {NULL, 0, JSON_ABSENT},
		{NULL, 0, JSON_ABSENT}};
	json_get(at, "name", &ret_tool->name);
	json_get(at, "description", &ret_tool->description);
	json_get(at, "strict", &ret_tool->strict);
	if (!json_get(at, "parameters", &ret_tool->schema) || ret_tool->schema.type != JSON_OBJECT)
		json_get(at, "input_schema", &ret_tool->schema);
	if (ret_tool->name.type != JSON_STRING || ret_tool->name.len <= 2)
		return false;
	struct json type;
	bool function_type = !json_get(value, "type", &type) || json_string_is(&type, "function") ||
			     json_string_is(&type, "custom");
	return ret_tool->schema.type == JSON_OBJECT ||
	       (function_type && ret_tool->schema.type == JSON_ABSENT);
}

/* Which dialect a tool of the provider's own belongs to: Anthropic's have a dated type and a name. */
static bool is_own_tool(enum dialect dialect, const struct json *value)
{
	struct json type, name;
	bool named = json_get(value, "name", &name) && name.type == JSON_STRING;

	if (!json_get(value, "type", &type) || type.type != JSON_STRING ||
		!text_is_strict(value->text, value->len))
		return false;
	if (dialect == DIALECT_ANTHROPIC)
		return named;
	return dialect == DIALECT_OPENAI_RESPONSES && !named && !json_string_is(&type, "function");
}

static void add_clean(struct renderer *renderer, const char *key, const struct json *value)
{
	render_add(renderer, key);
	text_copy_clean(renderer->out, value->text, value->len);
}

/* Whoever wrote the schema indented it, perhaps; the request is a line. */
static void add_schema_text(struct renderer *renderer, const char *json, size_t len)
{
	size_t from = renderer->out->len;

	text_copy_clean(renderer->out, json, len);
	if (renderer->out->len > from)
		json_blank_line_breaks(renderer->out->data + from, renderer->out->len - from);
}

/* The schema as one of an object, which is the only kind that providers take. */
static void add_schema(struct renderer *renderer, const struct json *schema)
{
	struct buffer typed = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json type;

	if (schema->type != JSON_OBJECT) {
		render_add(renderer, "{\"type\":\"object\",\"properties\":{}}");
		return;
	}
	if (json_get(schema, "type", &type) && json_string_is(&type, "object")) {
		add_schema_text(renderer, schema->text, schema->len);
		return;
	}
	json_splice(&typed, schema, "type", SLICE_LITERAL("\"object\""));
	if (buffer_error(&typed))
		view_fail(renderer->view, buffer_error(&typed));
	else
		add_schema_text(renderer, typed.data, typed.len);
	buffer_release(&typed);
}

static struct slice name_of(struct renderer *renderer, const struct tool *tool)
{
	struct slice name = json_string_content(&tool->name, &renderer->view->arena);

	if (name.data)
		return view_name(renderer->view, name);
	view_fail(renderer->view, BOBBIN_ENOMEM);
	return (struct slice){"", 0};
}

/* True if a function listed before it is sent under the same name. */
static bool is_repeated(struct renderer *renderer, const struct json *value, const struct tool *tool)
{
	struct slice name = name_of(renderer, tool);
	struct json_iter iter;
	struct json earlier;
	struct tool other;

	json_iter_init(&iter, &renderer->options->tools);
	while (json_iter_next(&iter, NULL, &earlier) && earlier.text != value->text)
		if (read_tool(&earlier, &other) && slice_equal(name_of(renderer, &other), name))
			return true;
	return false;
}

/* name, description, schema and strict, as they follow each other in all dialects. */
static void add_members(struct renderer *renderer, const struct tool *tool, const char *schema_key)
{
	render_add(renderer, "\"name\":");
	render_string(renderer, name_of(renderer, tool));
	if (tool->description.type == JSON_STRING)
		add_clean(renderer, ",\"description\":", &tool->description);
	render_add(renderer, schema_key);
	add_schema(renderer, &tool->schema);
	if (renderer->options->dialect != DIALECT_ANTHROPIC &&
		(tool->strict.type == JSON_TRUE || tool->strict.type == JSON_FALSE))
		add_clean(renderer, ",\"strict\":", &tool->strict);
}

static void add_tool(struct renderer *renderer, const struct tool *tool)
{
	switch (renderer->options->dialect) {
	case DIALECT_OPENAI_CHAT:
		render_add(renderer, "{\"type\":\"function\",\"function\":{");
		add_members(renderer, tool, ",\"parameters\":");
		render_add(renderer, "}}");
		break;
	case DIALECT_OPENAI_RESPONSES:
		render_add(renderer, "{\"type\":\"function\",");
		add_members(renderer, tool, ",\"parameters\":");
		buffer_add_char(renderer->out, '}');
		break;
	case DIALECT_ANTHROPIC:
		buffer_add_char(renderer->out, '{');
		add_members(renderer, tool, ",\"input_schema\":");
		buffer_add_char(renderer->out, '}');
		break;
	}
}

void render_tools(struct renderer *renderer)
{
	struct json_iter iter;
	struct json value;
	struct tool tool;
	bool any = false;

	json_iter_init(&iter, &renderer->options->tools);
	while (json_iter_next(&iter, NULL, &value)) {
		bool function = read_tool(&value, &tool);
		if (!function && !is_own_tool(renderer->options->dialect, &value)) {
			view_lose(renderer->view, WINDOW_NONE, "a tool the dialect does not have");
			continue;
		}
		if (function && is_repeated(renderer, &value, &tool)) {
			view_lose(renderer->view, WINDOW_NONE, "a tool whose name is taken by one before it");
			continue;
		}
		render_add(renderer, any ? "," : ",\"tools\":[");
		any = true;
		if (function)
			add_tool(renderer, &tool);
		else
			json_add_on_one_line(renderer->out, (struct slice){value.text, value.len});
	}
	if (any)
		buffer_add_char(renderer->out, ']');
}
