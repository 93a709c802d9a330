/* SPDX-License-Identifier: MIT */
/* See seen.h. Blocks that cannot be read as text (images, sealed thinking) are visible, but say nothing
 * here. */
#include "model/seen.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"

/* The message being read; a run of assistant items is one. */
struct reader {
	struct seen *seen;
	struct bobbin_error *error;
	bool in_assistant;
};

static int out_of_memory(struct reader *reader)
{
	return error_set(reader->error, BOBBIN_ENOMEM, "out of memory reading a request");
}

static int wrong_shape(struct reader *reader, const char *what)
{
	return error_set(reader->error, BOBBIN_EINPUT, "%s", what);
}

static int add_item(struct reader *reader, struct seen_item item)
{
	struct seen *seen = reader->seen;
	if (mem_grow((void **)&seen->items, &seen->cap, seen->count + 1, sizeof(*seen->items)) < 0)
		return out_of_memory(reader);
	item.message = seen->message_count ? seen->message_count - 1 : 0;
	seen->items[seen->count++] = item;
	seen->visible_bytes += item.text.len + item.name.len;
	return 0;
}

static int text_of(struct reader *reader, const struct json *string, struct slice *ret_text)
{
	*ret_text = (struct slice){"", 0};
	if (string->type != JSON_STRING)
		return 0;
	*ret_text = json_string_content(string, &reader->seen->arena);
	return ret_text->data ? 0 : out_of_memory(reader);
}

static int member_of(
	struct reader *reader, const struct json *object, const char *key, struct slice *ret_text)
{
	struct json value;
	if (!json_get(object, key, &value))
		value.type = JSON_ABSENT;
	return text_of(reader, &value, ret_text);
}

static bool type_is(const struct json *block, const char *type)
{
	struct json value;
	return json_get(block, "type", &value) && json_string_is(&value, type);
}

static struct slice from(struct slice text, size_t at)
{
	return (struct slice){text.data + at, text.len - at};
}

/* "[Label]" on a line of its own, with more after it. */
static bool label_of(struct slice text, struct slice *ret_label)
{
	const char *end_of_line =
		text.len > 0 && text.data[0] == '[' ? memchr(text.data, '\n', text.len) : NULL;
	if (!end_of_line || end_of_line - text.data < 3 || end_of_line[-1] != ']')
		return false;
	*ret_label = (struct slice){text.data + 1, (size_t)(end_of_line - text.data) - 2};
	return true;
}

static bool has_letters_in_capitals_only(struct slice line)
{
	bool any = false;
	for (size_t i = 0; i < line.len; i++) {
		if ((line.data[i] >= 'a' && line.data[i] <= 'z') || (line.data[i] & 0x80))
			return false;
		any |= line.data[i] >= 'A' && line.data[i] <= 'Z';
	}
	return any;
}

/* True if this paragraph looks like more of a list under headings: an entry, or a heading with a line
 * below it. */
static bool continues_part(struct slice text)
{
	if (text.len > 0 && memchr("-*#(", text.data[0], 4))
		return true;
	const char *end_of_line = memchr(text.data, '\n', text.len);
	return end_of_line && end_of_line + 1 < text.data + text.len && end_of_line[1] != '\n' &&
	       has_letters_in_capitals_only((struct slice){text.data, (size_t)(end_of_line - text.data)});
}

/* Where the paragraph that begins at `at` ends: before an empty line, or with the text. */
static size_t paragraph_end(struct slice text, size_t at)
{
	const char *end = memmem(text.data + at, text.len - at, "\n\n", 2);
	return end ? (size_t)(end - text.data) : text.len;
}

static size_t skip_newlines(struct slice text, size_t at)
{
	while (at < text.len && text.data[at] == '\n')
		at++;
	return at;
}

/* Servers that want a string get all parts of a user message in one, with empty lines between them. So a
 * labelled part ends where the paragraphs no longer look like a list under headings. */
static int add_user_text(struct reader *reader, struct slice text)
{
	int rc = 0;
	for (size_t at = skip_newlines(text, 0); at < text.len && rc == 0;) {
		struct seen_item item = {.kind = SEEN_USER};
		struct slice next_label;
		if (label_of(from(text, at), &item.label))
			item.kind = SEEN_LABELLED;
		size_t end = paragraph_end(text, at), next = skip_newlines(text, end);
		while (next < text.len && !label_of(from(text, next), &next_label) &&
			(item.kind == SEEN_USER || continues_part(from(text, next)))) {
			end = paragraph_end(text, next);
			next = skip_newlines(text, end);
		}
		item.text = (struct slice){text.data + at, end - at};
		rc = add_item(reader, item);
		at = next;
	}
	return rc;
}

static int add_call(struct reader *reader, struct slice id, struct slice name, const struct json *arguments)
{
	struct seen_item item = {.kind = SEEN_CALL, .id = id, .name = name};
	item.text = (struct slice){arguments->text, arguments->len};
	if (arguments->type == JSON_ABSENT)
		item.text = SLICE_LITERAL("{}");
	int rc = arguments->type == JSON_STRING ? text_of(reader, arguments, &item.text) : 0;
	return rc < 0 ? rc : add_item(reader, item);
}

static void begin_assistant(struct reader *reader)
{
	if (!reader->in_assistant)
		reader->seen->message_count++;
	reader->in_assistant = true;
}

static void begin_other(struct reader *reader)
{
	reader->seen->message_count++;
	reader->in_assistant = false;
}

static struct slice name_of_call(const struct seen *seen, struct slice id)
{
	for (size_t i = seen->count; i-- > 0;) {
		if (seen->items[i].kind == SEEN_CALL && slice_equal(seen->items[i].id, id))
			return seen->items[i].name;
	}
	return SLICE_LITERAL("the tool");
}

/* The texts of a result or a system prompt: a string, or the text blocks of a list joined by newlines.
 * */
static int flatten(struct reader *reader, const struct json *content, struct slice *ret_text)
{
	if (content->type != JSON_ARRAY)
		return text_of(reader, content, ret_text);
	struct buffer joined = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json_iter iter;
	struct json block, text;
	json_iter_init(&iter, content);
	while (json_iter_next(&iter, NULL, &block)) {
		if (!json_get(&block, "text", &text) || text.type != JSON_STRING)
			continue;
		if (joined.len > 0)
			buffer_add_char(&joined, '\n');
		json_string_decode(&text, JSON_SURROGATES_REPLACE, &joined);
	}
	char *copy = buffer_error(&joined)
			     ? NULL
			     : arena_copy(&reader->seen->arena, joined.data ? joined.data : "", joined.len);
	*ret_text = (struct slice){copy, joined.len};
	buffer_release(&joined);
	return copy ? 0 : out_of_memory(reader);
}

static int add_result(
	struct reader *reader, const struct json *object, const char *id_key, const char *content_key)
{
	struct seen_item item = {.kind = SEEN_RESULT};
	struct json content = {.type = JSON_ABSENT}, flag;
	begin_other(reader);
	json_get(object, content_key, &content);
	int rc = member_of(reader, object, id_key, &item.id);
	if (rc == 0)
		rc = flatten(reader, &content, &item.text);
	if (rc < 0)
		return rc;
	item.name = name_of_call(reader->seen, item.id);
	if (json_get(object, "is_error", &flag))
		json_bool(&flag, &item.is_error);
	return add_item(reader, item);
}

static int add_system(struct reader *reader, const struct json *content)
{
	struct seen_item item = {.kind = SEEN_SYSTEM};
	int rc = flatten(reader, content, &item.text);
	return rc < 0 || item.text.len == 0 ? rc : add_item(reader, item);
}

/* A client's call: chat {id, function{name, arguments}}, responses {call_id, name, arguments}, Anthropic
 * {id, name, input}. */
static int add_call_object(
	struct reader *reader, const struct json *call, const char *id_key, const char *input_key)
{
	struct slice id, name = {NULL, 0};
	struct json arguments = {.type = JSON_ABSENT}, function;
	int rc = member_of(reader, call, id_key, &id);
	if (!json_get(call, "function", &function))
		function = *call;
	if (rc == 0)
		rc = member_of(reader, &function, "name", &name);
	if (rc < 0)
		return rc;
	json_get(&function, input_key, &arguments);
	begin_assistant(reader);
	return add_call(reader, id, name, &arguments);
}

static int add_assistant(struct reader *reader, const struct json *content)
{
	struct json_iter iter;
	struct json block;
	struct seen_item item = {.kind = SEEN_ASSISTANT};
	begin_assistant(reader);
	int rc = flatten(reader, content, &item.text);
	if (rc == 0 && item.text.len > 0)
		rc = add_item(reader, item);
	json_iter_init(&iter, content);
	while (rc == 0 && content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &block)) {
		if (type_is(&block, "tool_use"))
			rc = add_call_object(reader, &block, "id", "input");
	}
	return rc;
}

/* The parts of a user message. Anthropic's results are among them, before the words. */
static int add_user(struct reader *reader, const struct json *content)
{
	struct json_iter iter;
	struct json block;
	struct slice text;
	bool counted = false, results = false;
	int rc = 0;
	if (content->type != JSON_ARRAY) {
		begin_other(reader);
		rc = text_of(reader, content, &text);
		return rc < 0 ? rc : add_user_text(reader, text);
	}
	json_iter_init(&iter, content);
	while (rc == 0 && json_iter_next(&iter, NULL, &block)) {
		if (type_is(&block, "tool_result")) {
			rc = add_result(reader, &block, "tool_use_id", "content");
			results = true;
			continue;
		}
		if (!counted)
			begin_other(reader);
		counted = true;
		rc = member_of(reader, &block, "text", &text);
		if (rc == 0)
			rc = add_user_text(reader, text);
	}
	if (!counted && !results)
		begin_other(reader);
	return rc;
}

static int read_message(struct reader *reader, const struct json *message)
{
	struct json role, content = {.type = JSON_ABSENT}, calls, call;
	struct json_iter iter;
	if (!json_get(message, "role", &role) || role.type != JSON_STRING)
		return wrong_shape(reader, "a message has no role");
	json_get(message, "content", &content);
	if (json_string_is(&role, "system") || json_string_is(&role, "developer"))
		return add_system(reader, &content);
	if (json_string_is(&role, "user"))
		return add_user(reader, &content);
	if (json_string_is(&role, "tool"))
		return add_result(reader, message, "tool_call_id", "content");
	if (!json_string_is(&role, "assistant"))
		return wrong_shape(reader, "a message has a role that the dialect does not know");
	int rc = add_assistant(reader, &content);
	if (!json_get(message, "tool_calls", &calls))
		return rc;
	json_iter_init(&iter, &calls);
	while (rc == 0 && json_iter_next(&iter, NULL, &call))
		rc = add_call_object(reader, &call, "id", "arguments");
	return rc;
}

/* An item of the Responses dialect; bare {role, content} is a message there too. */
static int read_item(struct reader *reader, const struct json *item)
{
	if (type_is(item, "function_call"))
		return add_call_object(reader, item, "call_id", "arguments");
	if (type_is(item, "function_call_output"))
		return add_result(reader, item, "call_id", "output");
	struct json role;
	if (json_get(item, "role", &role))
		return read_message(reader, item);
	if (type_is(item, "reasoning"))
		begin_assistant(reader);
	return 0;
}

static int read_list(struct reader *reader, const struct json *body, const char *key,
	int (*read_one)(struct reader *, const struct json *))
{
	struct json list, one;
	struct json_iter iter;
	int rc = 0;
	if (!json_get(body, key, &list) || (list.type != JSON_ARRAY && list.type != JSON_STRING))
		return error_set(reader->error, BOBBIN_EINPUT, "the body has no list \"%s\"", key);
	if (list.type == JSON_STRING)
		return add_user(reader, &list);
	json_iter_init(&iter, &list);
	while (rc == 0 && json_iter_next(&iter, NULL, &one))
		rc = read_one(reader, &one);
	return rc;
}

static int read_tools(struct reader *reader, const struct json *body)
{
	struct seen *seen = reader->seen;
	struct json tools, tool, function;
	struct json_iter iter;
	if (!json_get(body, "tools", &tools))
		return 0;
	seen->visible_bytes += tools.len;
	json_iter_init(&iter, &tools);
	while (json_iter_next(&iter, NULL, &tool)) {
		struct slice name;
		if (!json_get(&tool, "function", &function))
			function = tool;
		int rc = member_of(reader, &function, "name", &name);
		if (rc < 0)
			return rc;
		if (mem_grow((void **)&seen->tools, &seen->tool_cap, seen->tool_count + 1,
			    sizeof(*seen->tools)) < 0)
			return out_of_memory(reader);
		seen->tools[seen->tool_count++] = name;
	}
	return 0;
}

static void read_output_limit(struct seen *seen, const struct json *body)
{
	static const char *const keys[] = {"max_completion_tokens", "max_output_tokens", "max_tokens"};
	struct json value;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (json_get(body, keys[i], &value) && json_int64(&value, &seen->output_tokens_max))
			return;
	}
}

static int read_body(struct reader *reader, enum model_dialect dialect, const struct json *body)
{
	struct json system;
	int rc = 0;
	if (json_get(body, dialect == MODEL_OPENAI_RESPONSES ? "instructions" : "system", &system))
		rc = add_system(reader, &system);
	if (rc == 0)
		rc = read_tools(reader, body);
	if (rc < 0)
		return rc;
	read_output_limit(reader->seen, body);
	if (dialect == MODEL_OPENAI_RESPONSES)
		rc = read_list(reader, body, "input", read_item);
	else
		rc = read_list(reader, body, "messages", read_message);
	if (rc == 0 && reader->seen->message_count == 0)
		return wrong_shape(reader, "the body has no messages");
	return rc;
}

int seen_read(
	enum model_dialect dialect, struct slice body, struct seen *ret_seen, struct bobbin_error *error)
{
	*ret_seen = (struct seen){.arena = ARENA_INIT};
	struct reader reader = {ret_seen, error, false};
	struct json root;
	int rc = json_parse(body.data, body.len, &root, error);
	if (rc < 0) {
		error_prefix(error, "the body is not JSON");
		return rc;
	}
	if (root.type != JSON_OBJECT)
		return wrong_shape(&reader, "the body is not a JSON object");
	return read_body(&reader, dialect, &root);
}

void seen_release(struct seen *seen)
{
	mem_free(seen->items);
	mem_free(seen->tools);
	arena_release(&seen->arena);
	*seen = (struct seen){.arena = ARENA_INIT};
}

size_t seen_last_user(const struct seen *seen)
{
	for (size_t i = seen->count; i-- > 0;) {
		if (seen->items[i].kind == SEEN_USER)
			return i;
	}
	return seen->count;
}

struct slice seen_last_words(const struct seen *seen)
{
	size_t user = seen_last_user(seen);
	return user < seen->count ? seen->items[user].text : SLICE_LITERAL("");
}

size_t seen_rounds_since(const struct seen *seen)
{
	size_t rounds = 0;
	for (size_t i = seen_last_user(seen) + 1; i < seen->count; i++) {
		if (seen->items[i].kind == SEEN_CALL && seen->items[i - 1].kind != SEEN_CALL)
			rounds++;
	}
	return rounds;
}
