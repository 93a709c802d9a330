/* SPDX-License-Identifier: MIT */
/* The frame of the strict check: the bytes, the limits, the list of faults. */
#include "window/checker.h"

#include <stdarg.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define MEGABYTE (1000000u)
#define WHERE_BYTES_MAX 512

static const struct {
	const char *dialect;
	void (*check)(struct checker *checker, const struct json *body);
	size_t body_bytes_max, image_bytes_max;
} DIALECTS[] = {
	{"openai-chat", check_openai_chat, 50 * MEGABYTE, 20 * MEGABYTE},
	{"openai-responses", check_openai_responses, 50 * MEGABYTE, 20 * MEGABYTE},
	{"anthropic", check_anthropic, 32 * MEGABYTE, 5u << 20},
};

static char *format_text(struct arena *arena, const char *format, va_list arguments)
{
	char text[400];
	int len = vsnprintf(text, sizeof(text), format, arguments);
	size_t used = len < 0 ? 0 : (size_t)len;

	if (used >= sizeof(text))
		used = utf8_truncate(text, sizeof(text) - 1, sizeof(text) - 4);
	return arena_copy(arena, text, used);
}

void check_fault(struct checker *checker, const struct json *at, const char *rule, const char *advice,
	const char *format, ...)
{
	struct check_faults *faults = checker->faults;
	va_list arguments;

	faults->total++;
	if (checker->rc || faults->count >= checker->faults_max)
		return;
	va_start(arguments, format);
	char *message = format_text(&faults->arena, format, arguments);
	va_end(arguments);
	char *where = arena_copy(
		&faults->arena, checker->where.data ? checker->where.data : "", checker->where.len);
	if (!message || !where ||
		mem_grow((void **)&faults->items, &faults->cap, faults->count + 1, sizeof(*faults->items)) <
			0) {
		checker->rc = BOBBIN_ENOMEM;
		return;
	}
	faults->items[faults->count++] = (struct check_fault){
		rule, where, message, advice, at && at->text ? (size_t)(at->text - checker->body) : 0,
		at && at->text ? at->len : 0};
}

size_t check_enter(struct checker *checker, const char *format, ...)
{
	size_t mark = checker->where.len;
	char text[128];
	va_list arguments;

	va_start(arguments, format);
	int len = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (len > 0 && (size_t)len < sizeof(text) && mark + (size_t)len < WHERE_BYTES_MAX)
		buffer_add(&checker->where, text[0] == '.' && mark == 0 ? text + 1 : text,
			(size_t)len - (text[0] == '.' && mark == 0));
	return mark;
}

void check_leave(struct checker *checker, size_t mark)
{
	buffer_truncate(&checker->where, mark);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 0;
}

static unsigned unit_at(const char *digits)
{
	unsigned unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (unsigned)hex_digit(digits[i]);
	return unit;
}

/* The body is valid JSON, so every \u has four digits; pairs must be whole. */
static void check_surrogates(struct checker *checker, struct slice body)
{
	const char *end = body.data + body.len;
	bool awaited = false; /* the second half of a pair */

	for (const char *at = body.data; at < end; at++) {
		if (*at != '\\') {
			if (awaited)
				break;
			continue;
		}
		at++;
		if (at >= end || *at != 'u') {
			if (awaited)
				break;
			continue;
		}
		unsigned unit = unit_at(at + 1);
		bool low = unit >= 0xdc00 && unit <= 0xdfff;
		const struct json place = {at - 1, 6, JSON_STRING};
		if (awaited != low) {
			check_fault(checker, &place, "surrogate_lone", "replace it with U+FFFD",
				"half a surrogate pair (\\u%04x) stands alone", unit);
			return;
		}
		awaited = unit >= 0xd800 && unit <= 0xdbff;
		at += 4;
	}
	if (awaited)
		check_fault(checker, NULL, "surrogate_lone", "replace it with U+FFFD",
			"the first half of a surrogate pair is not followed by the second");
}

/* All but the messages, which are looked at one by one. */
static void check_own_keys(struct checker *checker, const struct json *body)
{
	struct json_iter iter;
	struct json key, value;

	if (json_has_duplicate_key(body, NULL)) {
		check_duplicate_keys(checker, body);
		return;
	}
	json_iter_init(&iter, body);
	while (json_iter_next(&iter, &key, &value))
		if (!json_string_is(&key, "messages") && !json_string_is(&key, "input"))
			check_duplicate_keys(checker, &value);
}

static void check_common(struct checker *checker, const struct json *body)
{
	struct json value;

	check_own_keys(checker, body);
	if (!json_get(body, "model", &value) || value.type != JSON_STRING || value.len <= 2)
		check_fault(checker, body, "model_missing", "name a model", "\"model\" is not a name");
	if (json_get(body, "stream", &value) && value.type != JSON_TRUE && value.type != JSON_FALSE) {
		size_t mark = check_enter(checker, ".stream");
		check_fault(checker, &value, "option_invalid", "give true or false",
			"\"stream\" is not a boolean");
		check_leave(checker, mark);
	}
}

static void check_body(struct checker *checker, struct slice body, size_t dialect)
{
	struct bobbin_error error = {0};
	struct json value;

	size_t valid = utf8_valid_prefix(body.data, body.len);
	if (valid < body.len) {
		const struct json place = {body.data + valid, 1, JSON_STRING};
		check_fault(checker, &place, "utf8_invalid", "send valid UTF-8",
			"the body is not valid UTF-8 from byte %zu on", valid);
		return;
	}
	if (json_parse(body.data, body.len, &value, &error) < 0) {
		const struct json place = {
			body.data + (error.offset < body.len ? error.offset : body.len), 1, JSON_STRING};
		check_fault(
			checker, &place, "json_invalid", "send exactly one JSON object", "%s", error.message);
		return;
	}
	if (value.type != JSON_OBJECT) {
		check_fault(checker, &value, "body_shape", "send exactly one JSON object",
			"the body is not an object");
		return;
	}
	check_surrogates(checker, body);
	check_common(checker, &value);
	DIALECTS[dialect].check(checker, &value);
}

void check_faults_release(struct check_faults *faults)
{
	mem_free(faults->items);
	arena_release(&faults->arena);
	*faults = (struct check_faults){.arena = ARENA_INIT};
}

int check_request(const char *dialect, struct slice body, const struct check_options *options,
	struct check_faults *ret_faults, struct bobbin_error *error)
{
	const size_t dialects = sizeof(DIALECTS) / sizeof(DIALECTS[0]);
	size_t index = 0;

	while (index < dialects && strcmp(DIALECTS[index].dialect, dialect) != 0)
		index++;
	if (index == dialects)
		return error_set(error, BOBBIN_EUNSUPPORTED,
			"no dialect \"%.40s\"; there are openai-chat, openai-responses and anthropic",
			dialect);

	size_t body_max =
		options && options->body_bytes_max ? options->body_bytes_max : DIALECTS[index].body_bytes_max;
	struct check_faults faults = {.arena = ARENA_INIT};
	struct checker checker = {
		.faults = &faults,
		.body = body.data,
		.where = BUFFER_INIT(WHERE_BYTES_MAX),
		.scratch = ARENA_INIT,
		.faults_max = options && options->faults_max ? options->faults_max : LIMIT_FAULTS_REPORTED,
		.image_bytes_max = options && options->image_bytes_max ? options->image_bytes_max
								       : DIALECTS[index].image_bytes_max,
	};
	if (body.len > body_max)
		check_fault(&checker, NULL, "body_too_large", "leave out images or older messages",
			"the body has %zu bytes, and %zu are allowed", body.len, body_max);
	check_body(&checker, body, index);
	mem_free(checker.ids.slots);
	mem_free(checker.calls);
	arena_release(&checker.scratch);
	if (buffer_error(&checker.where))
		checker.rc = BOBBIN_ENOMEM;
	buffer_release(&checker.where);
	if (checker.rc) {
		check_faults_release(&faults);
		return error_set(error, checker.rc, "out of memory while checking a request");
	}
	*ret_faults = faults;
	return 0;
}
