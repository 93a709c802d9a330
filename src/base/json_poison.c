/* SPDX-License-Identifier: MIT */
/* Escapes that are valid JSON and stand for no character, in the bytes of a value. */
#include "base/json.h"

static int hex_value(const char *digits)
{
	int value = 0;
	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Counts them all, and the NULs apart; `mend`: they are replaced. */
static size_t find_poison(char *text, size_t len, bool mend, size_t *ret_nuls)
{
	size_t found = 0;
	*ret_nuls = 0;
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] != '\\')
			continue;
		if (text[i + 1] != 'u' || i + 6 > len) {
			i++;
			continue;
		}
		int value = hex_value(text + i + 2);
		if (value >= 0xd800 && value < 0xdc00 && i + 12 <= len && text[i + 6] == '\\' && text[i + 7] == 'u') {
			int low = hex_value(text + i + 8);
			if (low >= 0xdc00 && low < 0xe000) {
				i += 11;
				continue;
			}
		}
		if (value == 0 || (value >= 0xd800 && value < 0xe000)) {
			found++;
			*ret_nuls += value == 0;
			if (mend)
				memcpy(text + i + 2, "fffd", 4);
		}
		i += 5;
	}
	return found;
}

size_t json_poison_mend(char *text, size_t len)
{
	size_t nuls;
	return find_poison(text, len, true, &nuls);
}

size_t json_poison_count(const char *text, size_t len, size_t *ret_nuls)
{
	return find_poison((char *)text, len, false, ret_nuls);
}
