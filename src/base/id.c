/* SPDX-License-Identifier: MIT */
/* Ids become file names and log fields; what may stand in them is decided here and nowhere else. */
#include "base/id.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"

#define NEW_ID_DIGITS 10 /* 50 bits: among a million sessions a clash has odds of 1 in 2,000 */

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool id_is_session(struct slice id)
{
	if (id.len == 0 || id.len > LIMIT_SESSION_ID_BYTES || !is_alphanumeric(id.data[0]))
		return false;
	for (size_t i = 1; i < id.len; i++)
		if (!is_alphanumeric(id.data[i]) && id.data[i] != '-')
			return false;
	return !slice_is(id, "blobs");
}

bool id_is_message(struct slice id)
{
	if (id.len == 0 || id.len > LIMIT_MESSAGE_ID_BYTES)
		return false;
	for (size_t at = 0; at < id.len;) {
		uint32_t code_point;
		unsigned taken = utf8_decode(id.data + at, id.len - at, &code_point);
		if (!taken || code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0))
			return false;
		at += taken;
	}
	return true;
}

bool id_is_reserved(struct slice id)
{
	if (id.len < 2 || id.data[0] != 'm' || id.data[1] < '1' || id.data[1] > '9')
		return false;
	for (size_t i = 2; i < id.len; i++)
		if (id.data[i] < '0' || id.data[i] > '9')
			return false;
	return true;
}

int id_new_session(const struct platform *platform, char ret_id[ID_SESSION_NEW_BYTES])
{
	/* No i, l, o, u: ids are read aloud and typed. */
	static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
	uint8_t bytes[NEW_ID_DIGITS];
	if (platform->random(platform->context, bytes, sizeof(bytes)) < 0)
		return BOBBIN_EIO;
	ret_id[0] = 's';
	ret_id[1] = '-';
	for (size_t i = 0; i < NEW_ID_DIGITS; i++)
		ret_id[2 + i] = alphabet[bytes[i] & 31];
	ret_id[2 + NEW_ID_DIGITS] = '\0';
	return 0;
}
