/* SPDX-License-Identifier: MIT */
#include "window/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tokens/overhead.h"

static void add_line(struct scene *scene, char *line)
{
	assert_non_null(line);
	if (scene->count == scene->cap) {
		scene->cap = scene->cap ? scene->cap * 2 : 32;
		scene->lines = realloc(scene->lines, scene->cap * sizeof(*scene->lines));
		scene->records = realloc(scene->records, scene->cap * sizeof(*scene->records));
		assert_true(scene->lines && scene->records);
	}
	scene->lines[scene->count] = line;
	scene->records[scene->count++] = slice_of(line);
	if (scene->array) {
		array_path_free(scene->array);
		scene->array = NULL;
	}
}

void scene_line(struct scene *scene, const char *format, ...)
{
	char *line = NULL;
	va_list arguments;

	va_start(arguments, format);
	assert_true(vasprintf(&line, format, arguments) >= 0);
	va_end(arguments);
	add_line(scene, line);
}

static void add_quoted(struct buffer *out, const char *text)
{
	buffer_add_char(out, '"');
	json_escape(out, slice_of(text));
	buffer_add_char(out, '"');
}

static void finish(struct scene *scene, struct buffer *line)
{
	buffer_add_char(line, '}');
	assert_int_equal(buffer_error(line), 0);
	add_line(scene, strdup(line->data));
	buffer_release(line);
}

static void add_text_message(struct scene *scene, const char *role, const char *text)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_addf(&line, "{\"role\":\"%s\",\"content\":", role);
	add_quoted(&line, text);
	finish(scene, &line);
}

void scene_user(struct scene *scene, const char *text)
{
	add_text_message(scene, "user", text);
}

void scene_assistant(struct scene *scene, const char *text)
{
	add_text_message(scene, "assistant", text);
}

void scene_calls(struct scene *scene, const char *text, ...)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);
	const char *id;
	va_list ids;
	bool first = true;

	buffer_add_text(&line, "{\"role\":\"assistant\",\"content\":");
	add_quoted(&line, text);
	buffer_add_text(&line, ",\"tool_calls\":[");
	va_start(ids, text);
	while ((id = va_arg(ids, const char *))) {
		buffer_addf(&line,
			"%s{\"id\":\"%s\",\"name\":\"ls\",\"arguments\":\"{\\\"path\\\":\\\".\\\"}\"}",
			first ? "" : ",", id);
		first = false;
	}
	va_end(ids);
	buffer_add_char(&line, ']');
	finish(scene, &line);
}

void scene_result(struct scene *scene, const char *call_id, const char *text)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_addf(&line, "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":", call_id);
	add_quoted(&line, text);
	finish(scene, &line);
}

const char *scene_text(struct scene *scene, const char *label, size_t tokens)
{
	static const char *const WORDS[] = {"river ", "stone ", "garden ", "window ", "paper ", "cloud "};
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	char **slot = &scene->texts[scene->next_text++ % 8];

	buffer_add_text(&text, label);
	buffer_add_char(&text, ' ');
	while (tokens_estimate(text.data, text.len) < tokens) {
		size_t missing = tokens - tokens_estimate(text.data, text.len);
		for (size_t i = 0; i < (missing + 1) / 2; i++)
			buffer_add_text(&text, WORDS[(text.len + i) % 6]);
	}
	free(*slot);
	*slot = strdup(text.data);
	assert_non_null(*slot);
	buffer_release(&text);
	return *slot;
}

static int count_item(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	struct scene *scene = context;
	scene->items_asked++;
	return path_item(scene->inner, position, ret_item, error);
}

static int count_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	struct scene *scene = context;
	return path_id(scene->inner, position, ret_id, error);
}

static int count_message(void *context, size_t position, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	struct scene *scene = context;
	scene->messages_read++;
	return path_message(scene->inner, position, arena, ret_message, error);
}

static const struct path_ops COUNTING = {count_item, count_id, count_message, NULL};

int scene_try(struct scene *scene, const struct window_options *options, struct bobbin_error *error)
{
	int rc;

	if (!scene->array) {
		rc = array_path_new(scene->records, scene->count, NULL, &scene->array, error);
		if (rc)
			fail_msg("the scene is no conversation: %s", error->message);
		scene->inner = array_path_path(scene->array);
		scene->path = *scene->inner;
		scene->path.ops = &COUNTING;
		scene->path.context = scene;
	}
	if (scene->system)
		scene->fixed.system_tokens = tokens_estimate(scene->system, strlen(scene->system)) + 4;
	if (scene->tools)
		scene->fixed.tools_tokens = tokens_estimate(scene->tools, strlen(scene->tools));
	if (scene->injected)
		scene->fixed.injected_tokens = tokens_estimate(scene->injected, strlen(scene->injected));
	if ((rc = window_budget(options, &scene->fixed, &scene->budget, error)))
		return rc;
	scene->items_asked = scene->messages_read = 0;
	return window_plan(&scene->path, &scene->budget, options, scene->record, NULL, &scene->plan, error);
}

void scene_plan(struct scene *scene, const struct window_options *options)
{
	struct bobbin_error error = {0};

	if (scene_try(scene, options, &error))
		fail_msg("not planned: %s", error.message);
}

int scene_render_raw(struct scene *scene, enum dialect dialect, struct bobbin_error *error)
{
	struct render_options options = {
		.dialect = dialect,
		.model = SLICE_LITERAL("test-model"),
		.system = slice_of(scene->system),
		.injected = slice_of(scene->injected),
		.tools = {NULL, 0, JSON_ABSENT},
		.output_max = 1000,
	};

	if (scene->tools)
		assert_int_equal(json_parse(scene->tools, strlen(scene->tools), &options.tools, error), 0);
	if (scene->record)
		options.record = scene->record->text;
	buffer_clear(&scene->body);
	return render_request(&scene->plan, &scene->path, &options, &scene->body, &scene->report, error);
}

const char *scene_render(struct scene *scene, enum dialect dialect)
{
	struct bobbin_error error = {0};

	if (scene_render_raw(scene, dialect, &error))
		fail_msg("not rendered: %s", error.message);
	const char *faults = faults_of(dialect_text(dialect), scene->body.data, scene->body.len);
	if (*faults)
		fail_msg("%s refuses it: %s\n%.4000s", dialect_text(dialect), faults, scene->body.data);
	return scene->body.data;
}

void scene_render_all(struct scene *scene)
{
	scene_render(scene, DIALECT_OPENAI_CHAT);
	scene_render(scene, DIALECT_OPENAI_RESPONSES);
	scene_render(scene, DIALECT_ANTHROPIC);
}

void scene_end(struct scene *scene)
{
	array_path_free(scene->array);
	for (size_t i = 0; i < scene->count; i++)
		free(scene->lines[i]);
	for (size_t i = 0; i < 8; i++)
		free(scene->texts[i]);
	free(scene->lines);
	free(scene->records);
	buffer_release(&scene->body);
	*scene = (struct scene)SCENE_INIT;
}

const char *faults_of(const char *dialect, const char *body, size_t len)
{
	static char text[4096];
	struct check_faults faults;
	struct bobbin_error error;
	size_t used = 0;

	assert_int_equal(check_request(dialect, (struct slice){body, len}, NULL, &faults, &error), 0);
	text[0] = '\0';
	for (size_t i = 0; i < faults.count && used < sizeof(text) - 300; i++) {
		const struct check_fault *fault = &faults.items[i];
		assert_true(fault->offset <= len && fault->rule[0] && fault->message[0] && fault->advice[0]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", fault->rule);
	}
	check_faults_release(&faults);
	return text;
}

/* Strings that are the conversation's, not the dialect's; the rest is overhead. */
static void add_tokens(const struct json *value, const char *key, uint64_t *tokens)
{
	struct json_iter iter;
	struct json name, member;
	struct slice plain;

	if (value->type == JSON_STRING) {
		struct buffer text = BUFFER_INIT(LIMIT_REQUEST_BYTES);
		json_string_decode(value, JSON_SURROGATES_REPLACE, &text);
		if (strcmp(key, "url") == 0 || strcmp(key, "image_url") == 0)
			*tokens += 1600;
		else if (strcmp(key, "text") == 0 || strcmp(key, "content") == 0 ||
			 strcmp(key, "arguments") == 0 || strcmp(key, "output") == 0 ||
			 strcmp(key, "thinking") == 0 || strcmp(key, "name") == 0)
			*tokens += text.len ? tokens_estimate(text.data, text.len) : 0;
		buffer_release(&text);
		return;
	}
	if (json_get(value, "media_type", &member)) {
		*tokens += 1600;
		return;
	}
	if (strcmp(key, "input") == 0 && value->type == JSON_OBJECT) {
		*tokens += tokens_estimate(value->text, value->len);
		return;
	}
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, &name, &member)) {
		char inner[64] = "";
		if (value->type == JSON_OBJECT && json_string_plain(&name, &plain) &&
			plain.len < sizeof(inner))
			memcpy(inner, plain.data, plain.len);
		add_tokens(&member, value->type == JSON_OBJECT ? inner : key, tokens);
	}
}

uint64_t body_tokens(const char *body, size_t len)
{
	struct json value, messages, item;
	struct json_iter iter;
	uint64_t tokens = 0;

	assert_int_equal(json_parse(body, len, &value, NULL), 0);
	if (!json_get(&value, "messages", &messages))
		json_get(&value, "input", &messages);
	json_iter_init(&iter, &messages);
	while (json_iter_next(&iter, NULL, &item)) {
		struct json role;
		if (json_get(&item, "role", &role) && json_string_is(&role, "system"))
			continue;
		tokens += OVERHEAD_MESSAGE;
		add_tokens(&item, "", &tokens);
	}
	return tokens;
}

size_t occurrences(const char *body, const char *part)
{
	size_t count = 0;

	for (const char *at = body; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

bool plan_covers_line(const struct scene *scene)
{
	const struct window_plan *plan = &scene->plan;
	char *covered = calloc(scene->path.count + 1, 1);
	bool all = true;

	assert_non_null(covered);
	for (size_t i = 0; i < plan->part_count; i++)
		for (size_t at = plan->parts[i].from; at < plan->parts[i].to; at++)
			covered[at]++;
	for (size_t i = 0; i < plan->hidden_count; i++) {
		const struct window_hidden *hidden = &plan->hidden[i];
		if (hidden->kind != HIDDEN_SUMMARISED && hidden->kind != HIDDEN_CUT &&
			hidden->kind != HIDDEN_INNER)
			continue;
		for (size_t at = hidden->from; at < hidden->to; at++)
			covered[at]++;
	}
	for (size_t at = 0; at < scene->path.count; at++)
		all = all && covered[at] == 1;
	free(covered);
	return all;
}
