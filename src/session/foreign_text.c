/* SPDX-License-Identifier: MIT */
/* Characters, seals, names and arguments that no provider takes; see foreign_text.h. */
#include "session/foreign_text.h"

#include "base/json.h"
#include "base/utf8.h"
#include "transcript/import_tools.h"

/* ---- Whose it is ---- */

bool foreign_dialect(const char *format, enum dialect *ret_dialect)
{
	static const struct {
		const char *format;
		enum dialect dialect;
	} OWN[] = {
		{"claude-code", DIALECT_ANTHROPIC},
		{"anthropic-messages", DIALECT_ANTHROPIC},
		{"codex", DIALECT_OPENAI_RESPONSES},
		{"openai-responses", DIALECT_OPENAI_RESPONSES},
		{"openai-chat", DIALECT_OPENAI_CHAT},
	};
	for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++)
		if (slice_is(slice_of(format ? format : ""), OWN[i].format)) {
			*ret_dialect = OWN[i].dialect;
			return true;
		}
	return false;
}

/* ---- Seals ---- */

static bool is_base64(const struct json *string)
{
	struct slice text;
	if (string->type != JSON_STRING || !json_string_plain(string, &text) || !text.len)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || memchr("+/-_=", c, 5)))
			return false;
	}
	return true;
}

static bool is_of_anthropic(const char *format)
{
	enum dialect own;
	return foreign_dialect(format, &own) && own == DIALECT_ANTHROPIC;
}

bool sealed_is_anthropics(const char *format, const struct block *block)
{
	struct json seal;
	return slice_is(block->kind, "redacted_thinking") ||
	       (slice_is(block->kind, "thinking") &&
		       (is_of_anthropic(format) || json_get(&block->value, "signature", &seal)));
}

bool sealed_is_broken(const char *format, const struct block *block)
{
	struct json seal, text;
	size_t nuls;
	if (slice_is(block->kind, "redacted_thinking"))
		return !json_get(&block->value, "data", &seal) || !is_base64(&seal);
	if (slice_is(block->kind, "thinking") && is_of_anthropic(format))
		return !json_get(&block->value, "signature", &seal) || !is_base64(&seal) ||
		       !json_get(&block->value, "thinking", &text) || text.type != JSON_STRING ||
		       json_poison_count(text.text, text.len, &nuls) > 0;
	return slice_is(block->kind, "reasoning") && json_get(&block->value, "encrypted_content", &seal) &&
	       seal.type != JSON_NULL && !is_base64(&seal);
}

/* ---- Names and arguments ---- */

bool foreign_is_word(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_'))
			return false;
	}
	return true;
}

/* Formats without a provider of their own that go back to their product; the others go on elsewhere, where nobody mends them. */
static bool is_written(const char *format)
{
	return slice_is(slice_of(format ? format : ""), "pi") || slice_is(slice_of(format ? format : ""), "bobbin");
}

bool foreign_id_is_refused(const char *format, struct slice id)
{
	enum dialect own;
	if (!id.len || memchr(id.data, '\0', id.len) || utf8_valid_prefix(id.data, id.len) < id.len)
		return true; /* half a character is put right where it stands, and then the two ids differ */
	if (!foreign_dialect(format, &own))
		return !is_written(format) && (id.len > 40 || !foreign_is_word(id));
	return own == DIALECT_ANTHROPIC ? !foreign_is_word(id) : id.len > (own == DIALECT_OPENAI_CHAT ? 40 : 64);
}

bool foreign_name_is_refused(const char *format, struct slice name)
{
	enum dialect own;
	if (!foreign_dialect(format, &own))
		return !is_written(format) && (!name.len || name.len > 64 || !foreign_is_word(name));
	return own == DIALECT_ANTHROPIC ? name.len > 200 : !name.len || name.len > 64 || !foreign_is_word(name);
}

bool foreign_is_free_text(const char *format, const struct json *arguments)
{
	enum dialect own;
	bool has_custom_tools = slice_is(slice_of(format ? format : ""), "bobbin") || /* they may have come from there */
				(foreign_dialect(format, &own) && own == DIALECT_OPENAI_RESPONSES);
	return has_custom_tools && arguments->type == JSON_STRING && arguments->len > 2 && arguments->text[1] != '{';
}

bool foreign_arguments(const struct json *arguments, struct arena *arena, struct json *ret_object)
{
	struct json value = *arguments;
	if (value.type == JSON_STRING) {
		struct slice text = json_string_content(&value, arena);
		if (!text.data || json_parse(text.data, text.len, &value, NULL) < 0)
			return false;
	}
	*ret_object = value;
	return value.type == JSON_OBJECT;
}
