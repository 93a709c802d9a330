/* SPDX-License-Identifier: MIT */
/* The user's own tools that are commands: reading their definitions. Running them is the host's. */
#include "base/alloc.h"
#include "base/json.h"
#include "session/handles.h"

#define COMMANDS_MAX 256
#define WORDS_MAX 256

struct bobbin_commands {
	struct arena arena;
	struct bobbin_command *items;
	size_t count;
	char *tools;
};

static const char *text_of(struct arena *arena, const struct json *value)
{
	if (value->type != JSON_STRING)
		return NULL;
	struct slice text = json_string_content(value, arena);
	return text.data && !memchr(text.data, 0, text.len) ? arena_copy(arena, text.data, text.len) : NULL;
}

/* `words` of a command: an array of at least one text. */
static int read_words(bobbin_commands *commands, const struct json *value, struct bobbin_command *command)
{
	struct json_iter iter;
	struct json word;
	size_t count = 0, total = value->type == JSON_ARRAY ? json_count(value) : 0;

	if (!total || total > WORDS_MAX)
		return BOBBIN_EINPUT;
	const char **words = arena_alloc_zero(&commands->arena, (total + 1) * sizeof(*words));
	if (!words)
		return BOBBIN_ENOMEM;
	for (json_iter_init(&iter, value); json_iter_next(&iter, NULL, &word); count++) {
		words[count] = text_of(&commands->arena, &word);
		if (!words[count])
			return BOBBIN_EINPUT;
	}
	command->words = words;
	return *words[0] ? 0 : BOBBIN_EINPUT;
}

static bool read_flag(const struct json *object, const char *key, int *ret_flag)
{
	struct json value;
	bool flag = false;

	if (json_get(object, key, &value) && !json_bool(&value, &flag))
		return false;
	*ret_flag = flag;
	return true;
}

static int read_how(bobbin_commands *commands, const struct json *how, struct bobbin_command *command,
	struct bobbin_error *error)
{
	struct json value;
	int64_t seconds = 0;

	if (how->type != JSON_OBJECT || !json_get(how, "command", &value))
		return error_set(error, BOBBIN_EINPUT,
			"tool %.60s: \"bobbin\" says how it is run: {\"command\":[\"./PROGRAM\"]}", command->name);
	int rc = read_words(commands, &value, command);
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc < 0)
		return error_set(error, rc, "tool %.60s: \"command\" is an array of texts, the program first",
			command->name);
	if (!read_flag(how, "effect", &command->effect) || !read_flag(how, "retry_safe", &command->retry_safe))
		return error_set(error, BOBBIN_EINPUT, "tool %.60s: \"effect\" and \"retry_safe\" are true or false",
			command->name);
	if (json_get(how, "timeout_seconds", &value) && (!json_int64(&value, &seconds) || seconds < 1))
		return error_set(error, BOBBIN_EINPUT, "tool %.60s: \"timeout_seconds\" is a whole number above 0",
			command->name);
	command->timeout_seconds = (uint64_t)seconds;
	return 0;
}

static int read_one(bobbin_commands *commands, const struct json *tool, struct bobbin_error *error)
{
	static const char *const no_words[] = {NULL};
	struct bobbin_command *command = &commands->items[commands->count];
	struct json function, value;

	*command = (struct bobbin_command){.words = no_words};
	if (tool->type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "tool %zu is no JSON object", commands->count + 1);
	const struct json *named = json_get(tool, "function", &function) ? &function : tool;
	if (named->type == JSON_OBJECT && json_get(named, "name", &value))
		command->name = text_of(&commands->arena, &value);
	if (!command->name)
		return error_set(error, BOBBIN_EINPUT, "tool %zu has no name", commands->count + 1);
	commands->count++;
	return json_get(tool, "bobbin", &value) ? read_how(commands, &value, command, error) : 0;
}

/* A definition as the model's side is given it. */
static void add_definition(struct json_writer *writer, const struct json *tool)
{
	struct json_iter iter;
	struct json key, value;

	json_begin_object(writer);
	for (json_iter_init(&iter, tool); json_iter_next(&iter, &key, &value);) {
		struct slice name;
		if (json_string_is(&key, "bobbin") || !json_string_plain(&key, &name))
			continue;
		json_key_slice(writer, name);
		json_add_value(writer, &value);
	}
	json_end_object(writer);
}

static int write_tools(bobbin_commands *commands, const struct json *array, struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	struct json_iter iter;
	struct json ours, tool, function, name;
	int rc = json_parse(bobbin_tools(), strlen(bobbin_tools()), &ours, error);

	json_writer_init(&writer, &out);
	json_begin_array(&writer);
	for (json_iter_init(&iter, array); json_iter_next(&iter, NULL, &tool);)
		add_definition(&writer, &tool);
	for (json_iter_init(&iter, &ours); !rc && json_iter_next(&iter, NULL, &tool);) {
		const char *text = json_get(&tool, "function", &function) && json_get(&function, "name", &name)
					   ? text_of(&commands->arena, &name)
					   : NULL;
		if (text && !bobbin_commands_find(commands, text))
			json_add_value(&writer, &tool);
	}
	json_end_array(&writer);
	commands->tools = rc ? NULL : buffer_take(&out, NULL);
	buffer_release(&out);
	return commands->tools ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

int bobbin_commands_drop(bobbin_commands *commands, const char *name, struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	struct json_iter iter;
	struct json array, tool, function, value;
	int rc = json_parse(commands->tools, strlen(commands->tools), &array, error);

	json_writer_init(&writer, &out);
	json_begin_array(&writer);
	for (json_iter_init(&iter, &array); !rc && json_iter_next(&iter, NULL, &tool);)
		if (!(json_get(&tool, "function", &function) && json_get(&function, "name", &value) &&
			    json_string_is(&value, name)))
			json_add_value(&writer, &tool);
	json_end_array(&writer);
	char *tools = rc ? NULL : buffer_take(&out, NULL);
	buffer_release(&out);
	if (!tools)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	mem_free(commands->tools);
	commands->tools = tools;
	return 0;
}

static int read_all(bobbin_commands *commands, const struct json *array, struct bobbin_error *error)
{
	struct json_iter iter;
	struct json tool;
	int rc = 0;

	if (array->type != JSON_ARRAY || json_count(array) > COMMANDS_MAX)
		return error_set(error, BOBBIN_EINPUT, "tool definitions are a JSON array of at most %d", COMMANDS_MAX);
	commands->items = arena_alloc(&commands->arena, (json_count(array) + 1) * sizeof(*commands->items));
	if (!commands->items)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (json_iter_init(&iter, array); !rc && json_iter_next(&iter, NULL, &tool);)
		rc = read_one(commands, &tool, error);
	return rc ? rc : write_tools(commands, array, error);
}

int bobbin_commands_open(
	const char *tools, size_t len, bobbin_commands **ret_commands, struct bobbin_error *error)
{
	bobbin_commands *commands = mem_alloc_zero(sizeof(*commands));
	struct json array;

	if (!commands)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!tools && len) {
		mem_free(commands);
		return error_set(error, BOBBIN_EINVAL, "tool definitions are missing");
	}
	int rc = json_parse(len ? tools : "[]", len ? len : 2, &array, error);
	if (!rc)
		rc = read_all(commands, &array, error);
	if (rc < 0)
		bobbin_commands_close(commands);
	else
		*ret_commands = commands;
	return rc;
}

const char *bobbin_commands_tools(const bobbin_commands *commands)
{
	return commands->tools;
}

const struct bobbin_command *bobbin_commands_find(const bobbin_commands *commands, const char *name)
{
	for (size_t i = 0; i < commands->count; i++)
		if (strcmp(commands->items[i].name, name) == 0)
			return &commands->items[i];
	return NULL;
}

void bobbin_commands_close(bobbin_commands *commands)
{
	if (!commands)
		return;
	mem_free(commands->tools);
	arena_release(&commands->arena);
	mem_free(commands);
}
