/* SPDX-License-Identifier: MIT */
/* Escapes that are valid JSON and stand for no character, in the bytes of a value. */
#include "base/json.h"

int32_t json_escape_unit(const char *at, const char *end)
{
	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return -1;
	int32_t unit = 0;
	for (int i = 2; i < 6; i++) {
		char c = at[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static bool is_high(int32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

const char *json_poison_find(const char *at, const char *end)
{
	while (at < end && (at = memchr(at, '\\', (size_t)(end - at)))) {
		int32_t unit = json_escape_unit(at, end);
		if (unit < 0)
			at += end - at < 2 ? 1 : 2;
		else if (is_high(unit) && is_low(json_escape_unit(at + 6, end)))
			at += 12;
		else if (unit == 0 || is_high(unit) || is_low(unit))
			return at;
		else
			at += 6;
	}
	return NULL;
}

size_t json_poison_mend(char *text, size_t len)
{
	size_t found = 0;
	for (const char *at = text; (at = json_poison_find(at, text + len)); at += JSON_POISON_BYTES, found++)
		memcpy(text + (at - text) + 2, "fffd", 4);
	return found;
}

size_t json_poison_count(const char *text, size_t len, size_t *ret_nuls)
{
	size_t found = 0;
	*ret_nuls = 0;
	for (const char *at = text; (at = json_poison_find(at, text + len)); at += JSON_POISON_BYTES, found++)
		*ret_nuls += memcmp(at + 2, "0000", 4) == 0;
	return found;
}
