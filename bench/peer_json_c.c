/* SPDX-License-Identifier: MIT */
#include <json-c/json.h>
#include <limits.h>
#include "peers_json.h"

#define DEPTH 1024

static size_t count_values(struct json_object *value)
{
	size_t values = 1;
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			(void)key;
			values += count_values(member);
		}
	}
	for (size_t i = 0; json_object_is_type(value, json_type_array) && i < json_object_array_length(value);
		i++)
		values += count_values(json_object_array_get_idx(value, i));
	return values;
}

size_t peer_json_c(const char *text, size_t len, bool count)
{
	/* One for all documents, as a program that reads many would have it. */
	static struct json_tokener *tokener;
	if (tokener == NULL) {
		tokener = json_tokener_new_ex(DEPTH);
		if (tokener == NULL || len > INT_MAX)
			return 0;
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	}
	json_tokener_reset(tokener);
	struct json_object *value = json_tokener_parse_ex(tokener, text, (int)len);
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		value = json_tokener_parse_ex(tokener, "", 1); /* the NUL says that a number does not go on */
	if (json_tokener_get_error(tokener) != json_tokener_success)
		return 0;
	size_t values = count ? count_values(value) : 1;
	json_object_put(value);
	return values;
}

const char *peer_json_c_version(void)
{
	return json_c_version();
}
