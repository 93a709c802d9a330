/* SPDX-License-Identifier: MIT */
/* Records as bytes, see record.h. */
#include "store/record.h"

#include "base/hash.h"

#define CRC_KEY ",\"crc\":\""
#define CRC_KEY_BYTES (sizeof(CRC_KEY) - 1)
#define CRC_DIGITS 8
#define CRC_MEMBER_BYTES (CRC_KEY_BYTES + CRC_DIGITS + 2) /* with the quote and the brace behind it */

static const struct {
	const char *type;
	enum record_kind kind;
} KINDS[] = {
	{"session", RECORD_SESSION},
	{"usage", RECORD_USAGE},
	{"rewind", RECORD_REWIND},
	{"run", RECORD_RUN},
	{"segment", RECORD_SEGMENT},
	{"compaction", RECORD_COMPACTION},
	{"clear", RECORD_CLEAR},
	{"file", RECORD_FILE},
};

bool record_kind_of(const struct json *record, enum record_kind *ret_kind)
{
	struct json role, type;
	enum message_role known;

	if (record->type != JSON_OBJECT)
		return false;
	if (json_get(record, "role", &role)) {
		if (message_role_of(&role, &known))
			*ret_kind = RECORD_MESSAGE;
		else if (json_string_is(&role, "system") || json_string_is(&role, "developer"))
			*ret_kind = RECORD_SYSTEM;
		else
			return false;
		return true;
	}
	if (!json_get(record, "type", &type) || type.type != JSON_STRING)
		return false;
	*ret_kind = RECORD_OTHER;
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (json_string_is(&type, KINDS[i].type))
			*ret_kind = KINDS[i].kind;
	return true;
}

bool record_begins_as_message(const struct json *record)
{
	struct json_iter iter;
	struct json key, value;
	enum message_role role;

	json_iter_init(&iter, record);
	while (record->type == JSON_OBJECT && json_iter_next(&iter, &key, &value))
		if (json_string_is(&key, "role"))
			return message_role_of(&value, &role);
	return false;
}

static void crc_text(uint32_t crc, char ret_text[CRC_DIGITS + 1])
{
	uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc};
	hex_encode(bytes, sizeof(bytes), ret_text);
}

bool record_crc_is_wrong(const struct json *record, uint32_t *ret_crc)
{
	struct json member;
	char expected[CRC_DIGITS + 1];
	size_t covered = record->len > CRC_MEMBER_BYTES ? record->len - CRC_MEMBER_BYTES : record->len;
	const char *tail = record->text + covered;
	uint32_t crc = crc32c(0, record->text, covered);

	*ret_crc = crc32c(crc, tail, record->len - covered);
	if (covered == record->len || memcmp(tail, CRC_KEY, CRC_KEY_BYTES) != 0)
		return json_get(record, "crc", &member); /* there, but not where it can be checked */
	crc_text(crc, expected);
	return memcmp(tail + CRC_KEY_BYTES, expected, CRC_DIGITS) != 0;
}

static bool is_ours(const struct json *key)
{
	return json_string_is(key, "seq") || json_string_is(key, "crc");
}

static void add_members(struct buffer *out, const struct json *record, bool comma, bool with_ts, bool *ret_ts)
{
	struct json_iter iter;
	struct json key, value;

	*ret_ts = false;
	json_iter_init(&iter, record);
	while (json_iter_next(&iter, &key, &value)) {
		bool is_ts = json_string_is(&key, "ts");
		if (is_ours(&key) || (is_ts && (!with_ts || value.type != JSON_STRING)))
			continue;
		*ret_ts = *ret_ts || is_ts;
		if (comma)
			buffer_add_char(out, ',');
		comma = true;
		buffer_add(out, key.text, key.len);
		buffer_add_char(out, ':');
		json_add_on_one_line(out, (struct slice){value.text, value.len});
	}
}

void record_add_members(struct buffer *out, const struct json *record)
{
	bool ignored;
	add_members(out, record, false, false, &ignored);
}

void record_add_line(
	struct buffer *out, const struct json *record, uint64_t seq, const char *parent, const char *ts)
{
	size_t start = out->len;
	bool has_ts;

	buffer_add_text(out, "{\"seq\":");
	buffer_add_u64(out, seq);
	if (parent) {
		buffer_add_text(out, ",\"parent\":");
		buffer_add_text(out, parent);
	}
	add_members(out, record, true, true, &has_ts);
	if (!has_ts) {
		buffer_add_text(out, ",\"ts\":\"");
		buffer_add_text(out, ts);
		buffer_add_char(out, '"');
	}
	record_seal(out, start);
}

void record_seal(struct buffer *out, size_t start)
{
	char digits[CRC_DIGITS + 1];

	if (buffer_error(out))
		return;
	crc_text(crc32c(0, out->data + start, out->len - start), digits);
	buffer_add_text(out, CRC_KEY);
	buffer_add(out, digits, CRC_DIGITS);
	buffer_add_text(out, "\"}");
}

/* Without the parent that was put in when it was stored aside, which stands before what its client said. */
static struct slice without_put_in_parent(struct slice members, const struct json *stored)
{
	static const char KEY[] = "\"parent\":";
	struct json parent;

	if (!slice_starts_with(members, KEY) || !json_get(stored, "parent", &parent))
		return members;
	size_t skipped = sizeof(KEY) - 1 + parent.len + 1;
	return skipped < members.len ? (struct slice){members.data + skipped, members.len - skipped}
				     : members;
}

int record_is_same(const struct json *record, const struct json *stored)
{
	struct buffer left = BUFFER_INIT(LIMIT_LINE_BYTES), right = BUFFER_INIT(LIMIT_LINE_BYTES);

	record_add_members(&left, record);
	record_add_members(&right, stored);
	int rc = BOBBIN_ENOMEM;
	if (!buffer_error(&left) && !buffer_error(&right)) {
		struct json parent;
		struct slice members = buffer_slice(&right);
		if (!json_get(record, "parent", &parent))
			members = without_put_in_parent(members, stored);
		rc = slice_equal(buffer_slice(&left), members);
	}
	buffer_release(&left);
	buffer_release(&right);
	return rc;
}
