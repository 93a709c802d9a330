/* SPDX-License-Identifier: MIT */
/* Text on its way out: what the log keeps as it came, and a strict parser would refuse, is replaced here. */
#include "window/view.h"

#include "base/limits.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
/* Arguments nested deeper are sent as a text: the body around them has levels of its own. */
#define ARGUMENTS_DEPTH_MAX (LIMIT_JSON_DEPTH / 2)

void text_copy_clean(struct buffer *out, const char *json, size_t len)
{
	const char *at, *end = json + len, *copied = json;

	for (; (at = json_poison_find(copied, end)); copied = at + JSON_POISON_BYTES) {
		buffer_add(out, copied, (size_t)(at - copied));
		buffer_add_text(out, REPLACEMENT);
	}
	buffer_add(out, copied, (size_t)(end - copied));
}

bool text_is_strict(const char *json, size_t len)
{
	size_t nuls;

	return json_poison_count(json, len, &nuls) == nuls;
}

/* The bytes of what is not valid at `text`: a surrogate's three at once. */
static size_t invalid_len(struct slice text)
{
	bool surrogate =
		text.len >= 3 && (unsigned char)text.data[0] == 0xed && (unsigned char)text.data[1] >= 0xa0;

	return surrogate ? 3 : 1;
}

void text_escape_clean(struct buffer *out, struct slice text)
{
	while (text.len) {
		size_t valid = utf8_valid_prefix(text.data, text.len);
		const char *nul = valid ? memchr(text.data, '\0', valid) : NULL;
		size_t len = nul ? (size_t)(nul - text.data) : valid;
		json_escape(out, (struct slice){text.data, len});
		if (nul || valid < text.len) {
			buffer_add_text(out, REPLACEMENT);
			len += nul ? 1 : invalid_len((struct slice){text.data + len, text.len - len});
		}
		text.data += len;
		text.len -= len;
	}
}

/* White space as Python's str.strip() knows it, which is the widest among the providers. */
static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
	       c == 0x205f || c == 0x3000 || c == 0xfeff;
}

/* The code point at `*at` inside a JSON string, escapes decoded. */
static uint32_t next_code_point(const char **at, const char *end)
{
	uint32_t c = 0;
	if (**at == '\\') {
		int32_t unit = json_escape_unit(*at, end);
		char kind = end - *at > 1 ? (*at)[1] : '\0';
		*at += unit >= 0 ? 6 : 2;
		if (unit >= 0)
			return (uint32_t)unit;
		return kind == 'n' || kind == 'r' || kind == 't' || kind == 'f' ? ' ' : 'x';
	}
	unsigned used = utf8_decode(*at, (size_t)(end - *at), &c);
	*at += used ? used : 1;
	return used ? c : 'x';
}

bool text_is_blank(const struct json *string)
{
	const char *at = string->text + 1, *end = string->text + string->len - 1;

	while (at < end)
		if (!is_space(next_code_point(&at, end)))
			return false;
	return true;
}

struct slice text_trim_end(struct slice text)
{
	while (text.len) {
		size_t start = text.len - 1;
		uint32_t c;
		while (start > 0 && text.len - start < 4 && ((unsigned char)text.data[start] & 0xc0) == 0x80)
			start--;
		if (utf8_decode(text.data + start, text.len - start, &c) != text.len - start || !is_space(c))
			break;
		text.len = start;
	}
	return text;
}

bool text_is_blank_literal(struct slice text)
{
	return text_trim_end(text).len == 0;
}

size_t text_depth(const char *json, size_t len)
{
	size_t depth = 0, deepest = 0;
	bool inside = false;

	for (size_t i = 0; i < len; i++) {
		char c = json[i];
		if (inside && c == '\\')
			i++;
		else if (c == '"')
			inside = !inside;
		else if (!inside && (c == '{' || c == '['))
			deepest = ++depth > deepest ? depth : deepest;
		else if (!inside && (c == '}' || c == ']'))
			depth--;
	}
	return deepest;
}

/* {"invalid_arguments":"…"}: what the model wrote, when it is no object or a key of it stands twice. */
static void wrap_arguments(struct buffer *out, struct slice text)
{
	buffer_add_text(out, "{\"invalid_arguments\":\"");
	text_escape_clean(out, text);
	buffer_add_text(out, "\"}");
}

static void write_arguments(struct buffer *out, struct slice text)
{
	struct json value;

	if (text_is_blank_literal(text))
		buffer_add_text(out, "{}");
	else if (json_parse(text.data, text.len, &value, NULL) == 0 && value.type == JSON_OBJECT &&
		 text_depth(value.text, value.len) <= ARGUMENTS_DEPTH_MAX &&
		 !json_has_duplicate_key_within(&value, ARGUMENTS_DEPTH_MAX, NULL))
		text_copy_clean(out, value.text, value.len);
	else
		wrap_arguments(out, text);
}

struct slice view_arguments(struct view *view, const struct json *arguments)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES * 2), out = BUFFER_INIT(LIMIT_LINE_BYTES * 8u);
	struct slice result = SLICE_LITERAL("{}");
	int rc;

	if (arguments->type == JSON_ABSENT || arguments->type == JSON_NULL)
		return result;
	if (arguments->type == JSON_STRING) {
		json_string_decode(arguments, JSON_SURROGATES_REPLACE, &text);
		write_arguments(&out, buffer_slice(&text));
	} else {
		write_arguments(&out, (struct slice){arguments->text, arguments->len});
	}
	rc = buffer_error(&text) ? buffer_error(&text) : buffer_error(&out);
	if (!rc) {
		result.len = out.len;
		result.data = arena_copy(&view->arena, out.data, out.len);
		rc = result.data ? 0 : BOBBIN_ENOMEM;
	}
	if (rc)
		view_fail(view, rc);
	buffer_release(&text);
	buffer_release(&out);
	return result;
}
