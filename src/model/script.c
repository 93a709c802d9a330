/* SPDX-License-Identifier: MIT */
/* See script.h. Members are read by one table, so what is not in it cannot be overlooked. */
#include "model/script.h"

#include "base/alloc.h"

struct loader {
	struct script *script;
	struct bobbin_error *error;
	struct slice text;
	size_t offset; /* of the value being read */
};

enum field_type { FIELD_INT, FIELD_TEXT, FIELD_BOOL, FIELD_SPECIAL };

struct field {
	const char *key;
	enum field_type type;
	size_t at;								    /* in the struct */
	int (*read)(struct loader *loader, void *target, const struct json *value); /* of FIELD_SPECIAL */
};

static int fault(struct loader *loader, const char *what, struct slice key)
{
	uint64_t line = 1;
	for (size_t i = 0; i < loader->offset; i++)
		line += loader->text.data[i] == '\n';
	return error_set_at(loader->error, BOBBIN_EINPUT, line, loader->offset, "%s: %.*s", what,
		(int)(key.len > 100 ? 100 : key.len), key.data);
}

static int fault_memory(struct loader *loader)
{
	return error_set(loader->error, BOBBIN_ENOMEM, "out of memory reading a script");
}

static int copy_slice(struct loader *loader, struct slice from, struct slice *ret_copy)
{
	char *copy = arena_copy(&loader->script->arena, from.data, from.len);
	*ret_copy = (struct slice){copy, from.len};
	return copy ? 0 : fault_memory(loader);
}

static int copy_string(struct loader *loader, const struct json *value, struct slice *ret_copy)
{
	struct buffer text = BUFFER_INIT(SIZE_MAX / 2);
	if (value->type != JSON_STRING)
		return fault(loader, "this must be a string", (struct slice){value->text, value->len});
	json_string_decode(value, JSON_SURROGATES_REPLACE, &text);
	int rc = buffer_error(&text)
			 ? fault_memory(loader)
			 : copy_slice(loader, (struct slice){text.data ? text.data : "", text.len}, ret_copy);
	buffer_release(&text);
	return rc;
}

static int read_int(struct loader *loader, const struct json *value, int64_t *ret_number)
{
	if (value->type != JSON_NUMBER || !json_int64(value, ret_number) || *ret_number < 0)
		return fault(loader, "this must be a whole number, 0 or more",
			(struct slice){value->text, value->len});
	return 0;
}

static int read_field(
	struct loader *loader, const struct field *field, void *target, const struct json *value)
{
	void *at = (char *)target + field->at;
	switch (field->type) {
	case FIELD_INT:
		return read_int(loader, value, at);
	case FIELD_TEXT:
		return copy_string(loader, value, at);
	case FIELD_BOOL:
		if (!json_bool(value, at))
			return fault(loader, "this must be true or false",
				(struct slice){value->text, value->len});
		return 0;
	case FIELD_SPECIAL:
		break;
	}
	return field->read(loader, target, value);
}

/* Reads all members of `object` into `target` by the table. */
static int read_object(struct loader *loader, const struct json *object, const struct field *fields,
	size_t count, void *target)
{
	struct json_iter iter;
	struct json key, value;
	if (object->type != JSON_OBJECT)
		return fault(loader, "this must be an object", (struct slice){object->text, object->len});
	json_iter_init(&iter, object);
	while (json_iter_next(&iter, &key, &value)) {
		size_t i = 0;
		while (i < count && !json_string_is(&key, fields[i].key))
			i++;
		if (i == count)
			return fault(loader, "no such member in a script", (struct slice){key.text, key.len});
		int rc = read_field(loader, &fields[i], target, &value);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* An object as it is, or the content of a string: broken arguments can be written in a string. */
static int read_arguments(struct loader *loader, void *target, const struct json *value)
{
	struct script_call *call = target;
	if (value->type == JSON_STRING)
		return copy_string(loader, value, &call->arguments);
	return copy_slice(loader, (struct slice){value->text, value->len}, &call->arguments);
}

static int read_call(struct loader *loader, const struct json *value, struct script_call *ret_call)
{
	static const struct field fields[] = {
		{"id", FIELD_TEXT, offsetof(struct script_call, id), NULL},
		{"name", FIELD_TEXT, offsetof(struct script_call, name), NULL},
		{"arguments", FIELD_SPECIAL, 0, read_arguments},
	};
	*ret_call = (struct script_call){.arguments = SLICE_LITERAL("{}")};
	int rc = read_object(loader, value, fields, sizeof(fields) / sizeof(fields[0]), ret_call);
	if (rc == 0 && ret_call->name.len == 0)
		return fault(loader, "a call needs a name", (struct slice){value->text, value->len});
	return rc;
}

static int read_calls(struct loader *loader, void *target, const struct json *list)
{
	struct script_step *step = target;
	struct json_iter iter;
	struct json value;
	if (list->type != JSON_ARRAY)
		return fault(loader, "calls must be a list", (struct slice){list->text, list->len});
	json_iter_init(&iter, list);
	while (json_iter_next(&iter, NULL, &value)) {
		if (mem_grow((void **)&step->calls, &step->call_cap, step->call_count + 1,
			    sizeof(*step->calls)) < 0)
			return fault_memory(loader);
		int rc = read_call(loader, &value, &step->calls[step->call_count]);
		if (rc < 0)
			return rc;
		step->call_count++;
	}
	return 0;
}

static int read_sealed(struct loader *loader, void *target, const struct json *list)
{
	struct script_step *step = target;
	struct json_iter iter;
	struct json value;
	if (list->type != JSON_ARRAY)
		return fault(
			loader, "sealed must be a list of blocks", (struct slice){list->text, list->len});
	json_iter_init(&iter, list);
	while (json_iter_next(&iter, NULL, &value)) {
		if (value.type != JSON_OBJECT)
			return fault(loader, "a sealed block must be an object",
				(struct slice){value.text, value.len});
		if (mem_grow((void **)&step->sealed, &step->sealed_cap, step->sealed_count + 1,
			    sizeof(*step->sealed)) < 0)
			return fault_memory(loader);
		int rc = copy_slice(
			loader, (struct slice){value.text, value.len}, &step->sealed[step->sealed_count]);
		if (rc < 0)
			return rc;
		step->sealed_count++;
	}
	return 0;
}

static int read_chunks(struct loader *loader, void *target, const struct json *list)
{
	struct script_step *step = target;
	struct json_iter iter;
	struct json value;
	if (list->type != JSON_ARRAY)
		return fault(
			loader, "chunks must be a list of offsets", (struct slice){list->text, list->len});
	json_iter_init(&iter, list);
	while (json_iter_next(&iter, NULL, &value)) {
		int64_t offset;
		int rc = read_int(loader, &value, &offset);
		if (rc < 0)
			return rc;
		if (step->chunk_count > 0 && (size_t)offset <= step->chunks[step->chunk_count - 1])
			return fault(loader, "chunks must ascend", (struct slice){list->text, list->len});
		if (mem_grow((void **)&step->chunks, &step->chunk_cap, step->chunk_count + 1,
			    sizeof(*step->chunks)) < 0)
			return fault_memory(loader);
		step->chunks[step->chunk_count++] = (size_t)offset;
	}
	return 0;
}

static int read_usage(struct loader *loader, void *target, const struct json *value)
{
	struct script_step *step = target;
	static const struct field fields[] = {
		{"input", FIELD_INT, offsetof(struct script_step, input), NULL},
		{"cached", FIELD_INT, offsetof(struct script_step, cached), NULL},
		{"cache_write", FIELD_INT, offsetof(struct script_step, cache_write), NULL},
		{"output", FIELD_INT, offsetof(struct script_step, output), NULL},
	};
	if (value->type == JSON_NULL) {
		step->no_usage = true;
		return 0;
	}
	return read_object(loader, value, fields, sizeof(fields) / sizeof(fields[0]), step);
}

static const struct field step_fields[] = {
	{"match", FIELD_TEXT, offsetof(struct script_step, match), NULL},
	{"round", FIELD_INT, offsetof(struct script_step, round), NULL},
	{"times", FIELD_INT, offsetof(struct script_step, times), NULL},
	{"text", FIELD_TEXT, offsetof(struct script_step, text), NULL},
	{"thinking", FIELD_TEXT, offsetof(struct script_step, thinking), NULL},
	{"sealed", FIELD_SPECIAL, 0, read_sealed},
	{"calls", FIELD_SPECIAL, 0, read_calls},
	{"chunks", FIELD_SPECIAL, 0, read_chunks},
	{"usage", FIELD_SPECIAL, 0, read_usage},
	{"chunk_bytes", FIELD_INT, offsetof(struct script_step, chunk_bytes), NULL},
	{"chunk_delay_ms", FIELD_INT, offsetof(struct script_step, chunk_delay_ms), NULL},
	{"delay_ms", FIELD_INT, offsetof(struct script_step, delay_ms), NULL},
	{"cut_after", FIELD_INT, offsetof(struct script_step, cut_after), NULL},
	{"status", FIELD_INT, offsetof(struct script_step, status), NULL},
	{"retry_after_ms", FIELD_INT, offsetof(struct script_step, retry_after_ms), NULL},
	{"message", FIELD_TEXT, offsetof(struct script_step, message), NULL},
	{"stop", FIELD_TEXT, offsetof(struct script_step, stop), NULL},
	{"garbage", FIELD_BOOL, offsetof(struct script_step, garbage), NULL},
	{"hang", FIELD_BOOL, offsetof(struct script_step, hang), NULL},
	{"overflow", FIELD_BOOL, offsetof(struct script_step, overflow), NULL},
};

static const struct field setting_fields[] = {
	{"name", FIELD_TEXT, offsetof(struct script_settings, name), NULL},
	{"window_tokens", FIELD_INT, offsetof(struct script_settings, window_tokens), NULL},
	{"output_tokens_max", FIELD_INT, offsetof(struct script_settings, output_tokens_max), NULL},
	{"chunk_bytes", FIELD_INT, offsetof(struct script_settings, chunk_bytes), NULL},
	{"chunk_delay_ms", FIELD_INT, offsetof(struct script_settings, chunk_delay_ms), NULL},
	{"delay_ms", FIELD_INT, offsetof(struct script_settings, delay_ms), NULL},
};

static int read_step(struct loader *loader, const struct json *value)
{
	struct script *script = loader->script;
	struct json settings;
	if (json_get(value, "settings", &settings))
		return read_object(loader, &settings, setting_fields,
			sizeof(setting_fields) / sizeof(setting_fields[0]), &script->settings);
	if (mem_grow((void **)&script->steps, &script->step_cap, script->step_count + 1,
		    sizeof(*script->steps)) < 0)
		return fault_memory(loader);
	struct script_step *step = &script->steps[script->step_count++];
	*step = SCRIPT_STEP_NONE;
	int rc = read_object(loader, value, step_fields, sizeof(step_fields) / sizeof(step_fields[0]), step);
	if (!step->match.data && step->times < 0)
		step->times = 1;
	return rc;
}

static int read_value(struct loader *loader, const struct json *value)
{
	struct json_iter iter;
	struct json one;
	int rc = 0;
	if (value->type != JSON_ARRAY)
		return read_step(loader, value);
	json_iter_init(&iter, value);
	while (rc == 0 && json_iter_next(&iter, NULL, &one)) {
		loader->offset = (size_t)(one.text - loader->text.data);
		rc = read_step(loader, &one);
	}
	return rc;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void script_init(struct script *script)
{
	*script = (struct script){.arena = ARENA_INIT, .settings = {{NULL, 0}, -1, -1, -1, -1, -1}};
}

int script_read(struct script *script, struct slice text, struct bobbin_error *error)
{
	struct loader loader = {script, error, text, 0};
	for (size_t at = 0;;) {
		while (at < text.len && is_space(text.data[at]))
			at++;
		if (at == text.len)
			return 0;
		struct json value;
		size_t used;
		struct bobbin_error inner = {0};
		loader.offset = at;
		if (json_parse_prefix(text.data + at, text.len - at, &value, &used, &inner) < 0) {
			loader.offset = at + inner.offset;
			return fault(&loader, "the script is not JSON", slice_of(inner.message));
		}
		int rc = read_value(&loader, &value);
		if (rc < 0)
			return rc;
		at += used;
	}
}

void script_release(struct script *script)
{
	for (size_t i = 0; i < script->step_count; i++) {
		mem_free(script->steps[i].sealed);
		mem_free(script->steps[i].calls);
		mem_free(script->steps[i].chunks);
	}
	mem_free(script->steps);
	arena_release(&script->arena);
	script_init(script);
}

static bool contains(struct slice text, struct slice part)
{
	for (size_t at = 0; at + part.len <= text.len; at++) {
		if (memcmp(text.data + at, part.data, part.len) == 0)
			return true;
	}
	return false;
}

static const struct script_step *use(struct script_step *step)
{
	if (step->times > 0)
		step->times--;
	return step;
}

const struct script_step *script_choose(struct script *script, struct slice words, int64_t round)
{
	for (size_t i = 0; i < script->step_count; i++) {
		struct script_step *step = &script->steps[i];
		if (step->match.data && step->times != 0 && step->round == round &&
			contains(words, step->match))
			return use(step);
	}
	for (size_t i = 0; i < script->step_count; i++) {
		struct script_step *step = &script->steps[i];
		if (!step->match.data && step->times != 0)
			return use(step);
	}
	return NULL;
}
