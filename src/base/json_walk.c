/* SPDX-License-Identifier: MIT */
/* Parsing, which is validating, and walking what was validated. */
#include "base/json.h"
#include "base/json_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static enum json_type type_of(char first)
{
	switch (first) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

static struct json json_between(const char *begin, const char *after)
{
	return (struct json){.text = begin, .len = (size_t)(after - begin), .type = type_of(*begin)};
}

static inline const char *skip_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	return at;
}

int json_parse_prefix(
	const char *text, size_t len, struct json *ret_value, size_t *ret_used, struct bobbin_error *error)
{
	struct json_check check;
	if (len == 0)
		return error_set_at(error, BOBBIN_EINPUT, 0, 0, "not JSON: the text is empty");
	check.at = text;
	check.end = text + len;
	if (json_scan_current()->check(&check) < 0) {
		return error_set_at(error, check.code, 0, (uint64_t)(check.fault - text),
			"not JSON at byte %zu: %s", (size_t)(check.fault - text), check.problem);
	}
	*ret_value = json_between(check.value, check.at);
	*ret_used = (size_t)(check.at - text);
	return 0;
}

int json_parse(const char *text, size_t len, struct json *ret_value, struct bobbin_error *error)
{
	struct json value;
	size_t used;
	int rc = json_parse_prefix(text, len, &value, &used, error);
	if (rc < 0)
		return rc;
	const char *after = skip_space(text + used, text + len);
	if (after != text + len) {
		return error_set_at(error, BOBBIN_EINPUT, 0, (uint64_t)(after - text),
			"not JSON at byte %zu: something follows the value", (size_t)(after - text));
	}
	*ret_value = value;
	return 0;
}

void json_iter_init(struct json_iter *iter, const struct json *container)
{
	*iter = (struct json_iter){NULL, NULL, false};
	if (container->type != JSON_ARRAY && container->type != JSON_OBJECT)
		return;
	iter->at = container->text + 1;
	iter->end = container->text + container->len - 1;
	iter->object = container->type == JSON_OBJECT;
}

/* `at` is after the opening quote; returns the byte after the closing one. Keys, and most values, end within 16 bytes. */
static inline const char *skip_string(const char *at, const char *end)
{
#ifdef __SSE2__
	if (end - at >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		unsigned quote = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
		unsigned backslash = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
		if (quote && !(backslash & (quote ^ (quote - 1))))
			return at + __builtin_ctz(quote) + 1;
	}
#endif
	return json_scan_current()->skip_string(at, end);
}

static const char *skip_number(const char *at, const char *end)
{
	while (at < end &&
		((*at >= '0' && *at <= '9') || *at == '.' || *at == '-' || *at == '+' || (*at | 0x20) == 'e'))
		at++;
	return at;
}

/* `end` is the closing bracket of the container, so there is always a byte to read. */
static const char *skip_value(const char *at, const char *end)
{
	switch (*at) {
	case '"':
		return skip_string(at + 1, end);
	case '{':
	case '[':
		return json_scan_current()->skip_container(at, end);
	case 'f':
		return at + 5;
	case 't':
	case 'n':
		return at + 4;
	default:
		return skip_number(at, end);
	}
}

bool json_iter_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value)
{
	const char *at = skip_space(iter->at, iter->end);
	if (at == iter->end)
		return false;
	if (*at == ',')
		at = skip_space(at + 1, iter->end);
	if (iter->object) {
		const char *key = at;
		at = skip_string(at + 1, iter->end);
		if (ret_key)
			*ret_key = json_between(key, at);
		at = skip_space(at, iter->end);
		at = skip_space(at + 1, iter->end);
	}
	iter->at = skip_value(at, iter->end);
	*ret_value = json_between(at, iter->at);
	return true;
}

bool json_get(const struct json *object, const char *key, struct json *ret_value)
{
	struct json_iter iter;
	struct json name, value, found = {NULL, 0, JSON_ABSENT};
	if (object->type == JSON_OBJECT) {
		json_iter_init(&iter, object);
		while (json_iter_next(&iter, &name, &value)) {
			if (json_string_is(&name, key))
				found = value;
		}
	}
	*ret_value = found;
	return found.type != JSON_ABSENT;
}

size_t json_count(const struct json *container)
{
	struct json_iter iter;
	struct json value;
	size_t count = 0;
	json_iter_init(&iter, container);
	while (json_iter_next(&iter, NULL, &value))
		count++;
	return count;
}

bool json_bool(const struct json *value, bool *ret_value)
{
	if (value->type != JSON_TRUE && value->type != JSON_FALSE)
		return false;
	*ret_value = value->type == JSON_TRUE;
	return true;
}
