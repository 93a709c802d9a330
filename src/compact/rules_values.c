/* SPDX-License-Identifier: MIT */
/* Values by their shape, chunk by chunk (what stands between white space, brackets, quotes). See
 * rules_values.h. */
#include "compact/rules_values.h"

#include "compact/rules_cues.h"
#include "compact/rules_words.h"

#define CHUNK_BYTES 2048 /* a longer one is data */

struct shape {
	unsigned digits, uppers, lowers, hex, dots, dashes, slashes, colons, ats, others, wide;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_separator(char c)
{
	return (unsigned char)c <= ' ' || memchr("<>()[]{}\"'`|;,*", c, 16) != NULL;
}

/* Bytes of a CJK character or full-width sign at `text`: they end a chunk. */
static bool is_wide(const char *text, size_t left)
{
	unsigned char c = (unsigned char)text[0];

	if (left < 3 || c < 0xE2)
		return false;
	return c == 0xE3 || (c >= 0xE4 && c <= 0xE9) || c == 0xEF ||
	       (c == 0xE2 && (unsigned char)text[1] == 0x80);
}

static void count(struct shape *shape, char c)
{
	if (is_digit(c))
		shape->digits++, shape->hex++;
	else if (is_upper(c))
		shape->uppers++, shape->hex += c <= 'F';
	else if (is_lower(c))
		shape->lowers++, shape->hex += c <= 'f';
	else if (c == '.')
		shape->dots++;
	else if (c == '-' || c == '_')
		shape->dashes++;
	else if (c == '/' || c == '\\')
		shape->slashes++;
	else if (c == ':')
		shape->colons++;
	else if (c == '@')
		shape->ats++;
	else
		shape->others++;
}

void rules_values_init(struct rules_value_iter *iter, struct slice text)
{
	*iter = (struct rules_value_iter){.rest = text, .start = text.data};
}

/* The next chunk; false at the end. */
static bool next_chunk(struct slice *rest, struct slice *ret_chunk, struct shape *shape)
{
	const char *at = rest->data, *end = at + rest->len, *from;

	while (at < end && (is_separator(*at) || is_wide(at, (size_t)(end - at))))
		at += is_separator(*at) ? 1 : 3;
	from = at;
	*shape = (struct shape){0};
	for (; at < end; at++) {
		char c = *at;

		if (is_lower(c)) {
			shape->lowers++;
			shape->hex += c <= 'f';
			continue;
		}
		if (is_separator(c)) {
			bool inside = c == ',' && at > from && is_digit(at[-1]) && at + 1 < end &&
				      is_digit(at[1]) && !shape->lowers;

			if (!inside)
				break;
		} else if (is_wide(at, (size_t)(end - at))) {
			break;
		}
		count(shape, c);
	}
	*ret_chunk = (struct slice){from, (size_t)(at - from)};
	*rest = (struct slice){at, (size_t)(end - at)};
	return ret_chunk->len > 0;
}

/* ---- Shapes */

static bool is_dotted_ip(struct slice text, size_t *ret_len)
{
	unsigned parts = 0, value = 0, digits = 0;
	size_t i = 0;

	for (; i < text.len; i++) {
		if (is_digit(text.data[i]) && digits < 3) {
			value = value * 10 + (unsigned)(text.data[i] - '0');
			digits++;
		} else if (text.data[i] == '.' && digits && value < 256 && parts < 3) {
			parts++;
			value = digits = 0;
		} else {
			break;
		}
	}
	*ret_len = i;
	return parts == 3 && digits && value < 256 &&
	       (i == text.len || text.data[i] == ':' || text.data[i] == '/');
}

static bool is_uuid(struct slice text)
{
	if (text.len != 36)
		return false;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text.data[i];

		if (dash ? c != '-' : !(is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
			return false;
	}
	return true;
}

/* Digits in groups: 2027-03-04, 04.03.2027, 3/4/2027, also with a time behind. */
static bool is_date(struct slice text)
{
	unsigned group[3] = {0}, groups = 0;
	char mark = 0;
	size_t i = 0;

	for (; i < text.len; i++) {
		if (is_digit(text.data[i]))
			group[groups]++;
		else if (group[groups] && groups < 2 && memchr("-./", text.data[i], 3) &&
			 (!mark || mark == text.data[i]))
			mark = text.data[i], groups++;
		else
			break;
	}
	if (groups != 2 || (i < text.len && text.data[i] != 'T'))
		return false;
	return (group[0] == 4 && group[1] <= 2 && group[2] <= 2 && group[1] && group[2]) ||
	       (group[2] == 4 && group[0] <= 2 && group[1] <= 2);
}

static struct slice after_last(struct slice text, char mark)
{
	const char *found = memrchr(text.data, mark, text.len);

	return found ? (struct slice){found + 1, (size_t)(text.data + text.len - found - 1)}
		     : (struct slice){text.data, 0};
}

static bool names(struct slice word, enum cue_kind kind)
{
	char folded[32];

	return word.len && word.len < sizeof folded &&
	       cue_name_is(fold_name(word, folded, sizeof folded), kind);
}

/* "a.b.example.com", "db-1.internal:5432", "localhost:80" */
static bool is_host(struct slice text, const struct shape *shape)
{
	struct slice port = shape->colons == 1 ? after_last(text, ':') : (struct slice){NULL, 0}, name = text;
	bool digits = port.len >= 2 && port.len <= 5;

	for (size_t i = 0; i < port.len; i++)
		digits &= is_digit(port.data[i]);
	if (shape->colons && !digits)
		return false;
	if (port.len)
		name.len -= port.len + 1;
	if (shape->slashes || shape->others || shape->ats || !shape->lowers || shape->colons > 1)
		return false;
	if (slice_is(name, "localhost"))
		return port.len > 0;
	return memchr(name.data, '.', name.len) && names(after_last(name, '.'), CUE_DOMAIN);
}

static bool has_extension(struct slice text)
{
	struct slice name = text, extension;

	if (memchr(text.data, '/', text.len))
		name = after_last(text, '/');
	if (memchr(name.data, ':', name.len))
		name.len = (size_t)((const char *)memchr(name.data, ':', name.len) - name.data);
	extension = after_last(name, '.');
	return extension.len && extension.len + 1 < name.len && names(extension, CUE_EXTENSION);
}

static bool is_path(struct slice text, const struct shape *shape)
{
	if (shape->others > 2 || shape->ats || text.len < 3)
		return false;
	if (shape->slashes && (text.data[0] == '/' || slice_starts_with(text, "./") ||
				      slice_starts_with(text, "../") || slice_starts_with(text, "~/")))
		return shape->lowers + shape->uppers > 1 && text.data[1] != '/';
	if (shape->slashes && text.len > 3 && text.data[1] == ':' && text.data[2] == '\\')
		return true;
	return (shape->lowers || shape->uppers) && has_extension(text) && !is_digit(text.data[0]);
}

static bool is_hash(struct slice text, const struct shape *shape)
{
	if (slice_starts_with(text, "sha256:") || slice_starts_with(text, "sha1:"))
		return text.len > 12;
	if (shape->hex != text.len || text.len < 7 || text.len > 128 || (shape->uppers && shape->lowers))
		return false;
	return shape->digits >= 2 && shape->digits + 1 < text.len;
}

/* ORD-9912, ALPHA-7F3C, PROJ42, #1234, cus_9f8K2mPq, i-0abc12345 */
static bool is_id(struct slice text, const struct shape *shape)
{
	size_t prefix = 0;

	if (shape->dots || shape->slashes || shape->colons || shape->ats || !shape->digits || text.len > 80)
		return false;
	if (text.data[0] == '#')
		return shape->digits == text.len - 1 && shape->digits >= 2;
	if (shape->others)
		return false;
	while (prefix < text.len && (is_upper(text.data[prefix]) || is_lower(text.data[prefix])))
		prefix++;
	if (names((struct slice){text.data, prefix}, CUE_NO_ID))
		return false;
	if (!shape->lowers)
		return prefix >= 1 && shape->digits >= 2 &&
		       (shape->dashes || (prefix >= 2 && shape->digits >= 3));
	if (shape->dashes && shape->digits >= 3)
		return true;
	return text.len >= 8 && shape->uppers >= 2 && shape->digits >= 2;
}

/* ---- Numbers */

static struct slice peek_word(struct slice rest)
{
	struct slice chunk;
	struct shape shape;

	if (rest.len && (unsigned char)rest.data[0] >= 0xE3)
		return (struct slice){rest.data, rest.len < 3 ? rest.len : 3};
	if (rest.len < 2 || rest.data[0] != ' ')
		return (struct slice){NULL, 0};
	rest.len = rest.len < 64 ? rest.len : 64;
	rest.data++, rest.len--;
	if (is_wide(rest.data, rest.len))
		return (struct slice){rest.data, 3};
	return !is_separator(rest.data[0]) && next_chunk(&rest, &chunk, &shape) ? chunk
										: (struct slice){NULL, 0};
}

static bool word_of(struct slice word, enum word_class kind)
{
	char folded[24];

	while (word.len && memchr(".,:;!?", word.data[word.len - 1], 6))
		word.len--;
	if (!word.len || word.len > 20)
		return false;
	uint16_t found = cue_word_find(fold_name(word, folded, sizeof folded));

	return found && cue_words[found].classes[kind] != 0;
}

static size_t currency_length(struct slice text)
{
	static const char *const SIGNS[] = {"$", "€", "£", "¥", "￥", "US$"};

	for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++)
		if (slice_starts_with(text, SIGNS[i]))
			return strlen(SIGNS[i]);
	return 0;
}

/* A number, with its unit if it has one; false if the chunk is none. */
static bool read_number(struct rules_value_iter *iter, struct slice chunk, struct rules_value *value)
{
	size_t currency = currency_length(chunk), at = currency;
	struct slice unit, next;

	if (at < chunk.len && (chunk.data[at] == '-' || chunk.data[at] == '+'))
		at++;
	if (at >= chunk.len || !is_digit(chunk.data[at]))
		return false;
	while (at < chunk.len &&
		(is_digit(chunk.data[at]) ||
			((chunk.data[at] == '.' || chunk.data[at] == ',' || chunk.data[at] == ':') &&
				at + 1 < chunk.len && is_digit(chunk.data[at + 1]))))
		at++;
	unit = (struct slice){chunk.data + at, chunk.len - at};
	value->tag = TAG_NUMBER;
	value->text = chunk;
	value->strong = currency > 0;
	if (unit.len) {
		if (slice_is(unit, "%") || slice_is(unit, "€") || slice_is(unit, "$") ||
			word_of(unit, WORD_UNIT)) {
			value->strong = true;
			return true;
		}
		if (unit.len > 2 || !is_lower(unit.data[0]))
			return false; /* 3rd and 4th may be dates; 2x, 7F3C are none */
	}
	next = peek_word(iter->rest);
	if (next.len && (word_of(next, WORD_MONTH) || slice_is(next, "年") || slice_is(next, "月") ||
				slice_is(next, "号"))) {
		value->tag = TAG_DATE;
	} else if (word_of(iter->before, WORD_MONTH) && at - currency <= 2) {
		value->tag = TAG_DATE;
		value->text = (struct slice){
			iter->before.data, (size_t)(chunk.data + chunk.len - iter->before.data)};
		value->strong = true;
		return true;
	} else if (!next.len || !(word_of(next, WORD_UNIT) || slice_is(next, "%") || slice_is(next, "€"))) {
		return true;
	}
	value->text.len = (size_t)(next.data + next.len - chunk.data);
	value->strong = true;
	return true;
}

static bool classify(struct rules_value_iter *iter, struct slice chunk, const struct shape *shape,
	struct rules_value *value)
{
	size_t used;

	*value = (struct rules_value){.text = chunk, .tag = TAG_NONE, .strong = true};
	if (shape->slashes >= 2 && memmem(chunk.data, chunk.len, "://", 3)) {
		value->tag = TAG_URL;
		return chunk.len > 8;
	}
	if (!shape->digits && !shape->dots && !shape->slashes)
		return false;
	if (shape->ats == 1 && shape->dots && !shape->slashes && chunk.data[0] != '@')
		value->tag = TAG_ID;
	else if (shape->digits >= 4 && is_dotted_ip(chunk, &used))
		value->tag = TAG_HOST;
	else if (is_uuid(chunk))
		value->tag = TAG_ID;
	else if (shape->digits >= 6 && is_date(chunk))
		value->tag = TAG_DATE;
	else if (is_path(chunk, shape))
		value->tag = TAG_PATH;
	else if ((shape->dots || shape->colons) && is_host(chunk, shape))
		value->tag = TAG_HOST;
	else if (shape->digits && is_hash(chunk, shape))
		value->tag = TAG_HASH;
	else if (shape->digits && is_id(chunk, shape))
		value->tag = TAG_ID;
	else
		return shape->digits && read_number(iter, chunk, value);
	return true;
}

bool rules_values_next(struct rules_value_iter *iter, struct rules_value *ret_value)
{
	struct slice chunk;
	struct shape shape;

	while (next_chunk(&iter->rest, &chunk, &shape)) {
		if (chunk.data > iter->start && chunk.data[-1] == '<' && chunk.data[0] == '/')
			continue; /* </tag> */
		bool plain = !shape.digits && !shape.dots && !shape.slashes;
		bool found = false;

		while (chunk.len && memchr(".:!?,=", chunk.data[chunk.len - 1], 6)) {
			shape.dots -= chunk.data[chunk.len - 1] == '.';
			shape.colons -= chunk.data[chunk.len - 1] == ':';
			shape.others -= memchr("!?,=", chunk.data[chunk.len - 1], 4) != NULL;
			chunk.len--;
		}
		const char *sign = plain || !shape.others ? NULL : memchr(chunk.data, '=', chunk.len);

		if (sign && !shape.slashes && (size_t)(sign + 1 - chunk.data) < chunk.len) { /* name=value */
			struct slice part = {sign + 1, (size_t)(chunk.data + chunk.len - sign - 1)};

			shape = (struct shape){0};
			for (size_t i = 0; i < part.len && i < CHUNK_BYTES; i++)
				count(&shape, part.data[i]);
			chunk = part;
		}
		if (!plain && chunk.len && chunk.len <= CHUNK_BYTES)
			found = classify(iter, chunk, &shape, ret_value);
		iter->before = chunk;
		if (found)
			return true;
	}
	return false;
}
