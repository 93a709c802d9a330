/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdint.h>
#include "peers_json.h"

static size_t count_values(json_t *value)
{
	size_t values = 1;
	if (json_is_object(value)) {
		for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
			values += count_values(json_object_iter_value(at));
	}
	for (size_t i = 0; i < json_array_size(value); i++)
		values += count_values(json_array_get(value, i));
	return values;
}

size_t peer_jansson(const char *text, size_t len, bool count)
{
	json_error_t error;
	json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	size_t values = value == NULL ? 0 : count ? count_values(value) : 1;
	json_decref(value);
	return values;
}

const char *peer_jansson_version(void)
{
	return jansson_version_str();
}
