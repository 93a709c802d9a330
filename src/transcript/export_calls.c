/* SPDX-License-Identifier: MIT */
/*
 * Calls as the providers take them: what a request of this session would say of a call is what its export says. Arguments are a JSON
 * object; names and ids consist of characters that are accepted. An id is made from the id alone, so that a result has that of its call
 * wherever the two stand.
 */
#include "base/hash.h"
#include "base/limits.h"
#include "transcript/export_writer.h"

#define ID_BYTES_MAX 40	  /* the strictest provider's */
#define NAME_BYTES_MAX 64 /* the same for tools */
#define MARK_BYTES 9	  /* "_" and what tells ids apart that are alike when mended */

static bool is_word(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_'))
			return false;
	}
	return text.len > 0;
}

/* Those of OpenAI take any visible character. */
static bool is_visible(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return text.len > 0;
}

/* At most `max` bytes of it, "_" for what is no letter, digit, _ or -. */
static size_t copy_words(char *to, struct slice text, size_t max)
{
	size_t len = text.len < max ? text.len : max;

	for (size_t i = 0; i < len; i++)
		to[i] = is_word((struct slice){text.data + i, 1}) ? text.data[i] : '_';
	return len;
}

void export_call_name(struct export *export, struct slice name)
{
	char mended[NAME_BYTES_MAX];

	if (name.len <= NAME_BYTES_MAX && is_word(name)) {
		json_add_string(&export->json, name);
		return;
	}
	export_lose(export, "names of tools that it does not take, which went out renamed");
	size_t len = copy_words(mended, name, NAME_BYTES_MAX);
	json_add_string(&export->json, len ? (struct slice){mended, len} : SLICE_LITERAL("unknown_tool"));
}

void export_call_id(struct export *export, struct slice id, enum export_ids ids)
{
	static const char digits[] = "0123456789abcdef";
	char mended[ID_BYTES_MAX];
	size_t max = ids == IDS_CHAT ? ID_BYTES_MAX : 64;

	if (id.len <= max && (ids == IDS_WORDS ? is_word(id) : is_visible(id))) {
		json_add_string(&export->json, id);
		return;
	}
	export_lose(export, "ids of calls that it does not take, which went out renamed");
	uint64_t hash = id.len ? hash_bytes(id.data, id.len) : 0;
	size_t len = copy_words(mended, id.len ? id : SLICE_LITERAL("call"), ID_BYTES_MAX - MARK_BYTES);
	mended[len++] = '_';
	for (int i = 1; i < MARK_BYTES; i++, hash >>= 4)
		mended[len++] = digits[hash & 15];
	json_add_string(&export->json, (struct slice){mended, len});
}

/* True if providers take the text for arguments as it is. */
static bool is_object(struct slice text, struct json *ret_object)
{
	return text.len && json_parse(text.data, text.len, ret_object, NULL) == 0 && ret_object->type == JSON_OBJECT &&
	       !json_has_duplicate_key_within(ret_object, LIMIT_DUPLICATE_KEY_DEPTH, NULL);
}

static bool is_space_only(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!memchr(" \t\r\n", text.data[i], 4))
			return false;
	return true;
}

/* {"invalid_arguments":"…"} */
static void wrap(struct export *export, struct slice text)
{
	export_lose(export, "arguments that are no JSON object, which went out as a text in one");
	json_begin_object(&export->json);
	json_key(&export->json, "invalid_arguments");
	export_text(export, text);
	json_end_object(&export->json);
}

void export_arguments_object(struct export *export, const struct block *call)
{
	struct slice text = {call->arguments.text, call->arguments.len};
	struct json object;

	if (call->arguments.type == JSON_STRING)
		text = json_string_content(&call->arguments, &export->arena);
	if (!text.data && call->arguments.type == JSON_STRING)
		export->out->error = BOBBIN_ENOMEM;
	if (call->arguments.type == JSON_ABSENT || call->arguments.type == JSON_NULL || is_space_only(text)) {
		json_add_raw(&export->json, SLICE_LITERAL("{}"));
	} else if (is_object(text, &object)) {
		json_add_value(&export->json, &object);
		if (!buffer_error(export->out))
			json_poison_mend(export->out->data + export->out->len - object.len, object.len);
	} else {
		wrap(export, text);
	}
}

/* The object, as a string. */
void export_arguments_text(struct export *export, const struct block *call)
{
	struct buffer object = BUFFER_INIT(LIMIT_LINE_BYTES * 4u), *out = export->out;
	struct json_writer json = export->json;
	struct json parsed;
	size_t nuls;

	if (call->arguments.type == JSON_STRING) {
		struct slice text = json_string_content(&call->arguments, &export->arena);
		if (is_object(text, &parsed) && !json_poison_count(text.data, text.len, &nuls)) {
			export_string(export, &call->arguments); /* in the bytes that it came in */
			return;
		}
	}
	export->out = &object;
	json_writer_init(&export->json, &object);
	export_arguments_object(export, call);
	export->out = out;
	export->json = json;
	export_text(export, buffer_slice(&object));
	if (buffer_error(&object))
		out->error = buffer_error(&object);
	buffer_release(&object);
}
