/* SPDX-License-Identifier: MIT */
#include "transcript/export_ids.h"
#include "base/hash.h"

static bool is_uuid(struct slice id)
{
	if (id.len != UUID_BYTES - 1)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = (char)(id.data[i] | 0x20);
		if (dash ? id.data[i] != '-'
			 : !((id.data[i] >= '0' && id.data[i] <= '9') || (c >= 'a' && c <= 'f')))
			return false;
	}
	return true;
}

/* Mixes a name into a state of 128 bits. No secret is made of it; it must only be spread. */
static void mix(uint64_t state[2], const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++) {
		state[0] = (state[0] ^ bytes[i]) * UINT64_C(0x100000001b3);
		state[1] = (state[1] + bytes[i] + (state[0] >> 29)) * UINT64_C(0x9e3779b97f4a7c15);
		state[1] ^= state[1] >> 31;
	}
}

void export_uuid(struct slice session, struct slice id, unsigned part, char ret_uuid[UUID_BYTES])
{
	uint64_t state[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
	uint8_t number[4] = {
		(uint8_t)part, (uint8_t)(part >> 8), (uint8_t)(part >> 16), (uint8_t)(part >> 24)};
	uint8_t bytes[16];
	char hex[33];

	mix(state, session.data, session.len);
	mix(state, "", 1);
	mix(state, id.data, id.len);
	mix(state, number, sizeof number);
	for (size_t i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(state[i / 8] >> (i % 8 * 8));
	bytes[6] = (uint8_t)(0x80 | (bytes[6] & 0x0f)); /* version 8 */
	bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
	hex_encode(bytes, sizeof bytes, hex);
	for (size_t i = 0, at = 0; i < 32; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			ret_uuid[at++] = '-';
		ret_uuid[at++] = hex[i];
		ret_uuid[at] = '\0';
	}
}

void export_uuid_of_item(
	const struct export *export, const struct export_item *item, unsigned part, char ret_uuid[UUID_BYTES])
{
	if (part == 0 && is_uuid(item->id)) {
		memcpy(ret_uuid, item->id.data, UUID_BYTES - 1);
		ret_uuid[UUID_BYTES - 1] = '\0';
		return;
	}
	export_uuid(export->options.id, item->id, part, ret_uuid);
}
