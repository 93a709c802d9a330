/* SPDX-License-Identifier: MIT */
/* Checks of single parts, and the batch of calls that waits for its results. */
#include "window/checker.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"

static struct slice content(struct checker *checker, const struct json *string)
{
	struct slice text = json_string_content(string, &checker->scratch);

	if (!text.data) {
		checker->rc = BOBBIN_ENOMEM;
		return (struct slice){"", 0};
	}
	return text;
}

bool check_get_string(
	struct checker *checker, const struct json *object, const char *key, struct slice *ret_text)
{
	struct json value;

	*ret_text = (struct slice){"", 0};
	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return false;
	*ret_text = content(checker, &value);
	return true;
}

struct slice check_type(struct checker *checker, const struct json *object)
{
	struct slice type;

	check_get_string(checker, object, "type", &type);
	return type;
}

static bool is_white(uint32_t c)
{
	static const uint32_t SINGLE[] = {
		0x20, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff};

	for (size_t i = 0; i < sizeof(SINGLE) / sizeof(SINGLE[0]); i++)
		if (c == SINGLE[i])
			return true;
	return (c >= 9 && c <= 13) || (c >= 28 && c <= 31) || (c >= 0x2000 && c <= 0x200a);
}

/* Where the trailing white space of a text begins. */
static size_t visible_len(struct slice text)
{
	size_t visible = 0;

	for (size_t at = 0; at < text.len;) {
		uint32_t c = 'x';
		unsigned used = utf8_decode(text.data + at, text.len - at, &c);
		at += used ? used : 1;
		if (!used || !is_white(c))
			visible = at;
	}
	return visible;
}

void check_text(struct checker *checker, const struct json *text)
{
	if (text->type != JSON_STRING)
		check_fault(checker, text, "content_shape", "give a string", "a text that is not a string");
	else if (visible_len(content(checker, text)) == 0)
		check_fault(checker, text, "text_empty", "leave it out",
			"a text without anything but white space");
}

static void check_no_trailing_space(struct checker *checker, const struct json *text)
{
	if (text->type != JSON_STRING)
		return;
	struct slice said = content(checker, text);
	size_t visible = visible_len(said);
	if (visible && visible < said.len)
		check_fault(checker, text, "trailing_space", "take the white space off its end",
			"the final assistant text ends in white space");
}

void check_last_text(struct checker *checker, const struct json *message, const char *list, size_t index)
{
	struct json content = {NULL, 0, JSON_ABSENT}, part, said, text = {NULL, 0, JSON_ABSENT};
	struct json_iter iter;

	size_t mark = check_enter(checker, ".%s[%zu].content", list, index);
	json_get(message, "content", &content);
	json_iter_init(&iter, &content);
	while (content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &part))
		if (json_get(&part, "text", &said))
			text = said;
	check_no_trailing_space(checker, content.type == JSON_STRING ? &content : &text);
	check_leave(checker, mark);
}

static bool is_word(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			    c == '-' || c == '_'))
			return false;
	}
	return text.len > 0;
}

void check_name(struct checker *checker, const struct json *object, size_t bytes_max)
{
	struct slice name;

	if (!check_get_string(checker, object, "name", &name) || !is_word(name) || name.len > bytes_max)
		check_fault(checker, object, "name_invalid", "use letters, digits, _ and - only",
			"a tool's name must be 1 to %zu of [A-Za-z0-9_-]", bytes_max);
}

void check_arguments(struct checker *checker, const struct json *object)
{
	struct slice text;
	struct json value, key;

	if (!check_get_string(checker, object, "arguments", &text))
		check_fault(checker, object, "arguments_invalid", "give a string that holds a JSON object",
			"\"arguments\" is not a string");
	else if (json_parse(text.data, text.len, &value, NULL) < 0 || value.type != JSON_OBJECT)
		check_fault(checker, object, "arguments_invalid", "wrap what the model wrote into an object",
			"\"arguments\" does not hold a JSON object");
	else if (json_has_duplicate_key_within(&value, LIMIT_JSON_DEPTH, &key))
		check_fault(checker, object, "duplicate_key", "give it once",
			"in \"arguments\" the member %.*s stands twice", (int)(key.len < 60 ? key.len : 60), key.text);
}

void check_schema(struct checker *checker, const struct json *schema)
{
	if (schema->type != JSON_OBJECT || !slice_is(check_type(checker, schema), "object"))
		check_fault(checker, schema, "tools_shape", "give a JSON schema of type \"object\"",
			"a tool whose schema is not that of an object");
}

static bool decodes(struct slice data)
{
	size_t stop = data.len;

	if (data.len < 4 || data.len % 4 != 0)
		return false;
	if (data.data[stop - 1] == '=')
		stop--;
	if (data.data[stop - 1] == '=')
		stop--;
	for (size_t i = 0; i < stop; i++)
		if (!memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", data.data[i],
			    64))
			return false;
	return true;
}

void check_image_data(
	struct checker *checker, const struct json *at, struct slice media_type, struct slice data)
{
	if (!slice_is(media_type, "image/png") && !slice_is(media_type, "image/jpeg") &&
		!slice_is(media_type, "image/gif") && !slice_is(media_type, "image/webp"))
		check_fault(checker, at, "image_invalid", "convert it to PNG, JPEG, GIF or WebP",
			"an image of type \"%.*s\"", (int)(media_type.len < 60 ? media_type.len : 60),
			media_type.data);
	if (!decodes(data))
		check_fault(
			checker, at, "image_invalid", "leave it out", "an image whose data is not base64");
	else if (data.len > checker->image_bytes_max)
		check_fault(checker, at, "image_too_large", "make it smaller",
			"an image of %zu encoded bytes, and %zu are allowed", data.len,
			checker->image_bytes_max);
}

void check_image_url(struct checker *checker, const struct json *at, struct slice url)
{
	if (slice_starts_with(url, "data:")) {
		const char *comma = memchr(url.data, ',', url.len);
		const char *semicolon = memchr(url.data, ';', url.len);
		if (!comma || !semicolon || comma - semicolon != 7 || memcmp(semicolon, ";base64", 7) != 0) {
			check_fault(checker, at, "image_invalid", "use data:TYPE;base64,DATA",
				"an image whose data: address is malformed");
			return;
		}
		struct slice type = {url.data + 5, (size_t)(semicolon - url.data) - 5};
		struct slice data = {comma + 1, url.len - (size_t)(comma + 1 - url.data)};
		check_image_data(checker, at, type, data);
		return;
	}
	if (!slice_starts_with(url, "https://") && !slice_starts_with(url, "http://"))
		check_fault(checker, at, "image_invalid", "give an https address or data",
			"an image whose address is neither http nor data");
}

void check_duplicate_keys(struct checker *checker, const struct json *object)
{
	struct json key;

	if (json_has_duplicate_key_within(object, LIMIT_JSON_DEPTH, &key))
		check_fault(checker, &key, "duplicate_key", "give it once", "the member %.*s stands twice",
			(int)(key.len < 60 ? key.len : 60), key.text);
}

static size_t slot_of(const struct check_id_set *set, struct slice id)
{
	size_t slot = hash_bytes(id.data, id.len) & (set->cap - 1);

	while (set->slots[slot].data && !slice_equal(set->slots[slot], id))
		slot = (slot + 1) & (set->cap - 1);
	return slot;
}

bool check_id_add(struct checker *checker, struct slice id)
{
	struct check_id_set *set = &checker->ids;

	if ((set->count + 1) * 2 > set->cap) {
		struct check_id_set larger = {.count = set->count, .cap = set->cap ? set->cap * 2 : 32};
		larger.slots = mem_alloc_zero(larger.cap * sizeof(*larger.slots));
		if (!larger.slots) {
			checker->rc = BOBBIN_ENOMEM;
			return true;
		}
		for (size_t i = 0; i < set->cap; i++)
			if (set->slots[i].data)
				larger.slots[slot_of(&larger, set->slots[i])] = set->slots[i];
		mem_free(set->slots);
		*set = larger;
	}
	size_t slot = slot_of(set, id);
	if (set->slots[slot].data)
		return false;
	set->slots[slot] = id;
	set->count++;
	return true;
}

/* The results of the batch are over: what is unanswered stays so. */
void check_batch_end(struct checker *checker)
{
	for (size_t i = 0; i < checker->call_count; i++) {
		const struct check_call *call = &checker->calls[i];
		if (!call->answered)
			check_fault(checker, &call->at, "result_missing",
				"add a result right after the batch",
				"the call \"%.*s\" has no result right after it",
				(int)(call->id.len < 80 ? call->id.len : 80), call->id.data);
	}
	checker->call_count = 0;
	checker->answering = false;
}

void check_call_seen(struct checker *checker, const struct json *call, struct slice id, size_t message)
{
	if (checker->answering)
		check_batch_end(checker);
	if (id.len && !check_id_add(checker, id))
		check_fault(checker, call, "call_id_duplicate", "rename the second one and its result",
			"the call id \"%.*s\" occurs twice", (int)(id.len < 80 ? id.len : 80), id.data);
	if (checker->call_count >= LIMIT_CALLS_PER_MESSAGE) {
		check_fault(checker, call, "calls_too_many", "split the batch",
			"more than %d calls in one batch", LIMIT_CALLS_PER_MESSAGE);
		return;
	}
	if (mem_grow((void **)&checker->calls, &checker->call_cap, checker->call_count + 1,
		    sizeof(*checker->calls)) < 0) {
		checker->rc = BOBBIN_ENOMEM;
		return;
	}
	checker->calls[checker->call_count++] = (struct check_call){id, *call, message, false};
}

void check_result_seen(struct checker *checker, const struct json *result, struct slice id)
{
	bool known = false;

	checker->answering = true;
	for (size_t i = 0; i < checker->call_count; i++) {
		if (!slice_equal(checker->calls[i].id, id))
			continue;
		known = true;
		if (!checker->calls[i].answered) {
			checker->calls[i].answered = true;
			return;
		}
	}
	if (known)
		check_fault(checker, result, "result_duplicate", "keep one of them",
			"a second result for the call \"%.*s\"", (int)(id.len < 80 ? id.len : 80), id.data);
	else
		check_fault(checker, result, "result_orphan", "leave it out or turn it into a text",
			"a result for \"%.*s\", which the message before does not call",
			(int)(id.len < 80 ? id.len : 80), id.data);
}

/* True if a tool of that name is listed. */
static bool has_tool(const struct json *tools, struct slice name, bool nested, struct checker *checker)
{
	struct json_iter iter;
	struct json tool, function;
	struct slice listed;

	json_iter_init(&iter, tools);
	while (json_iter_next(&iter, NULL, &tool)) {
		bool inner = nested && json_get(&tool, "function", &function);
		if (check_get_string(checker, inner ? &function : &tool, "name", &listed) &&
			slice_equal(listed, name))
			return true;
	}
	return false;
}

void check_each_tool(struct checker *checker, const struct json *body,
	void (*check_tool)(struct checker *checker, const struct json *tool))
{
	struct json tools, tool;
	struct json_iter iter;

	if (!json_get(body, "tools", &tools))
		return;
	if (tools.type != JSON_ARRAY)
		check_fault(checker, &tools, "tools_shape", "leave it out", "\"tools\" is not a list");
	json_iter_init(&iter, &tools);
	for (size_t i = 0; tools.type == JSON_ARRAY && json_iter_next(&iter, NULL, &tool); i++) {
		size_t mark = check_enter(checker, ".tools[%zu]", i);
		check_tool(checker, &tool);
		check_leave(checker, mark);
	}
}

/* Unique names, and a choice that names one of them. */
void check_tool_names(struct checker *checker, const struct json *body, bool nested)
{
	struct check_id_set calls = checker->ids;
	struct json tools = {NULL, 0, JSON_ABSENT}, tool, function, choice;
	struct json_iter iter;
	struct slice name;

	if (!json_get(body, "tools", &tools) || tools.type != JSON_ARRAY)
		tools = (struct json){NULL, 0, JSON_ABSENT};
	checker->ids = (struct check_id_set){NULL, 0, 0};
	json_iter_init(&iter, &tools);
	for (size_t i = 0; json_iter_next(&iter, NULL, &tool); i++) {
		bool inner = nested && json_get(&tool, "function", &function);
		size_t mark = check_enter(checker, ".tools[%zu]", i);
		if (check_get_string(checker, inner ? &function : &tool, "name", &name) &&
			!check_id_add(checker, name))
			check_fault(checker, &tool, "tool_name_duplicate", "rename one of them",
				"two tools of one name");
		check_leave(checker, mark);
	}
	mem_free(checker->ids.slots);
	checker->ids = calls;
	if (!json_get(body, "tool_choice", &choice) || choice.type == JSON_NULL)
		return;
	size_t mark = check_enter(checker, ".tool_choice");
	bool inner = nested && json_get(&choice, "function", &function);
	if (json_count(&tools) == 0)
		check_fault(checker, &choice, "tool_choice_invalid", "leave it out",
			"a choice of tools without tools");
	else if (choice.type != JSON_STRING && choice.type != JSON_OBJECT)
		check_fault(checker, &choice, "tool_choice_invalid", "see the dialect",
			"neither a word nor an object");
	else if (check_get_string(checker, inner ? &function : &choice, "name", &name) &&
		 !has_tool(&tools, name, nested, checker))
		check_fault(checker, &choice, "tool_choice_invalid", "name a tool that is listed",
			"it names a tool that is not listed");
	check_leave(checker, mark);
}
