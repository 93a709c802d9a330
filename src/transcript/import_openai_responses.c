/* SPDX-License-Identifier: MIT */
/*
 * Recorded traffic with OpenAI's Responses API:
 *
 *	{"model":…,"input":TEXT|[ITEM,…],"tools":…,"previous_response_id":…}   a request
 *	{"object":"response","id":…,"output":[ITEM,…],"usage":…}               a response
 *	{"request":REQUEST,"response":RESPONSE,"uri":…}                        both
 *	[any of them,…], {"interactions":[…]}, one a line                      in order
 *	[ITEM,…]                                                               bare items
 *
 * What items become is told in import_items.h. Each request repeats the items before it, those of the
 * responses with fewer members than they came with.
 *
 * Invariants: (1) a request that begins with all items of the conversation goes on with it, and what it
 * repeats is not read again; one with previous_response_id repeats nothing; any other begins a new
 * conversation. Reasoning may be missing from what is repeated: clients drop it. (2) A response's usage
 * belongs to the reply in its output. (3) A body that is no JSON (compressed, or binary) is counted as not
 * understood.
 */
#include "transcript/import_items.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

/* What makes an item the same when it is sent again. */
struct known {
	uint64_t hash;
	bool reasoning;
};

struct responses {
	struct import *import;
	const char *data;
	size_t len;
	struct builder builder;
	struct items items;
	struct known *known; /* the items of the conversation so far */
	size_t known_count, known_cap;
	struct buffer key;
	struct slice id; /* of the conversation: its first response */
	struct slice last_response;
};

/* Texts of a content of either spelling, one behind the other. */
static void add_texts(struct buffer *key, const struct json *content)
{
	struct json_iter iter;
	struct json part, text;

	if (content->type == JSON_STRING)
		json_string_decode(content, JSON_SURROGATES_KEEP, key);
	json_iter_init(&iter, content);
	while (content->type == JSON_ARRAY && json_iter_next(&iter, NULL, &part)) {
		if (json_get(&part, "text", &text))
			json_string_decode(&text, JSON_SURROGATES_KEEP, key);
		else
			buffer_add(key, part.text, part.len);
	}
}

static int key_of(struct responses *responses, const struct json *item, struct known *ret_known)
{
	static const char *const MEMBERS[] = {
		"role", "call_id", "name", "arguments", "input", "output", "encrypted_content", NULL};
	struct buffer *key = &responses->key;
	struct json value, type;

	buffer_clear(key);
	if (!json_get(item, "type", &type))
		buffer_add_text(key, "message");
	else
		json_string_decode(&type, JSON_SURROGATES_KEEP, key);
	for (size_t i = 0; MEMBERS[i]; i++) {
		buffer_add_char(key, '\0');
		if (json_get(item, MEMBERS[i], &value))
			add_texts(key, &value);
	}
	if (json_get(item, "content", &value))
		add_texts(key, &value);
	if (buffer_error(key))
		return buffer_error(key);
	*ret_known = (struct known){hash_bytes(key->data, key->len), json_string_is(&type, "reasoning")};
	return 0;
}

static int remember(struct responses *responses, const struct json *item)
{
	if (mem_grow((void **)&responses->known, &responses->known_cap, responses->known_count + 1,
		    sizeof(*responses->known)) < 0)
		return BOBBIN_ENOMEM;
	return key_of(responses, item, &responses->known[responses->known_count++]);
}

static int read_item(struct responses *responses, const struct json *item)
{
	int rc = remember(responses, item);

	return rc ? rc
		  : items_add(&responses->items, item,
			    import_document_place(responses->data, responses->len, item));
}

static int end_conversation(struct responses *responses)
{
	int rc = items_end_reply(&responses->items);

	if (!rc)
		rc = builder_conversation(&responses->builder, responses->id, (struct slice){NULL, 0});
	responses->known_count = 0;
	responses->items.reply = DRAFT_NONE;
	responses->id = responses->last_response = (struct slice){NULL, 0};
	return rc;
}

/* How many items of a request repeat the conversation; SIZE_MAX if they do not go through it to its end. */
static int count_repeated(struct responses *responses, const struct json *input, size_t *ret_repeated)
{
	struct json_iter iter;
	struct json item;
	struct known key;
	size_t at = 0, repeated = 0;

	json_iter_init(&iter, input);
	while (at < responses->known_count && json_iter_next(&iter, NULL, &item)) {
		int rc = key_of(responses, &item, &key);
		if (rc)
			return rc;
		while (at < responses->known_count && responses->known[at].hash != key.hash &&
			responses->known[at].reasoning)
			at++;
		if (at == responses->known_count || responses->known[at].hash != key.hash)
			break;
		at++;
		repeated++;
	}
	while (at < responses->known_count && responses->known[at].reasoning)
		at++;
	*ret_repeated = at == responses->known_count ? repeated : SIZE_MAX;
	return 0;
}

static int read_input(struct responses *responses, const struct json *input, bool goes_on)
{
	struct json_iter iter;
	struct json item;
	size_t repeated = 0;
	int rc = goes_on ? 0 : count_repeated(responses, input, &repeated);

	if (!rc && repeated == SIZE_MAX) {
		rc = end_conversation(responses);
		repeated = 0;
	}
	json_iter_init(&iter, input);
	while (!rc && json_iter_next(&iter, NULL, &item)) {
		if (repeated)
			repeated--;
		else
			rc = read_item(responses, &item);
	}
	return rc;
}

/* A request whose input is a text stands for one message. */
static int read_text(struct responses *responses, const struct json *text)
{
	struct buffer item = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	struct json value;

	buffer_add_text(&item, "[{\"role\":\"user\",\"content\":");
	buffer_add(&item, text->text, text->len);
	buffer_add_text(&item, "}]");
	int rc = buffer_error(&item);
	struct slice kept = {NULL, 0};
	if (!rc) {
		kept = import_keep(responses->import, buffer_slice(&item));
		rc = kept.data ? json_parse(kept.data, kept.len, &value, NULL) : BOBBIN_ENOMEM;
	}
	buffer_release(&item);
	return rc ? rc : read_input(responses, &value, false);
}

static int read_request(struct responses *responses, const struct json *request, const struct json *input)
{
	struct slice previous = import_string(responses->import, request, "previous_response_id");
	bool goes_on = previous.data && slice_equal(previous, responses->last_response);

	if (input->type != JSON_STRING)
		return read_input(responses, input, goes_on);
	return read_text(responses, input);
}

static int read_response(struct responses *responses, const struct json *response, const struct json *output)
{
	struct json_iter iter;
	struct json item, usage;
	struct slice id = import_string(responses->import, response, "id");
	size_t before = responses->items.reply;
	int rc = 0;

	if (!responses->builder.drafts.count && !responses->items.open)
		responses->id = id;
	responses->last_response = id;
	responses->items.model = import_string(responses->import, response, "model");
	json_iter_init(&iter, output);
	while (!rc && json_iter_next(&iter, NULL, &item))
		rc = read_item(responses, &item);
	if (!rc)
		rc = items_end_reply(&responses->items);
	size_t reply = responses->builder.drafts.count;
	while (reply && responses->builder.drafts.list[reply - 1].role != ROLE_ASSISTANT)
		reply--;
	if (rc || !reply || reply - 1 == before || !json_get(response, "usage", &usage))
		return rc;
	struct import_usage tokens = items_usage(&usage);
	return builder_usage_late(&responses->builder, reply - 1, &tokens);
}

static int read_value(struct responses *responses, const struct json *value);

static int read_elements(struct responses *responses, const struct json *list)
{
	struct json_iter iter;
	struct json element;
	int rc = 0;

	json_iter_init(&iter, list);
	while (!rc && json_iter_next(&iter, NULL, &element))
		rc = read_value(responses, &element);
	return rc;
}

/* A recorded pair; bodies may be strings that hold the JSON. */
static int read_body(struct responses *responses, const struct json *body)
{
	struct json parsed;

	if (body->type != JSON_STRING)
		return read_value(responses, body);
	struct slice text = json_string_content(body, &responses->import->arena);
	if (!text.data)
		return BOBBIN_ENOMEM;
	if (json_parse(text.data, text.len, &parsed, NULL) == 0 && parsed.type == JSON_OBJECT)
		return read_value(responses, &parsed);
	return import_not_understood(responses->import,
		import_document_place(responses->data, responses->len, body), "{body that is|bodies that are} no JSON",
		(struct slice){NULL, 0});
}

static int read_object(struct responses *responses, const struct json *object)
{
	static const char *const INSIDE[] = {"body", "json", "content", NULL};
	struct json value, pair;
	int rc;

	if (json_get(object, "output", &value) && value.type == JSON_ARRAY &&
		!json_get(object, "call_id", &pair))
		return read_response(responses, object, &value);
	if (json_get(object, "input", &value) && (value.type == JSON_ARRAY || value.type == JSON_STRING) &&
		!json_get(object, "call_id", &pair))
		return read_request(responses, object, &value);
	if (json_get(object, "request", &pair)) {
		rc = read_body(responses, &pair);
		return rc || !json_get(object, "response", &pair) ? rc : read_body(responses, &pair);
	}
	if (json_get(object, "response", &pair))
		return read_body(responses, &pair);
	if (json_get(object, "interactions", &value) && value.type == JSON_ARRAY)
		return read_elements(responses, &value);
	if (json_get(object, "role", &value) || json_get(object, "type", &value))
		return read_item(responses, object);
	for (size_t i = 0; INSIDE[i]; i++) {
		if (json_get(object, INSIDE[i], &value) &&
			(value.type == JSON_OBJECT || value.type == JSON_STRING))
			return read_body(responses, &value);
	}
	return import_not_understood(responses->import,
		import_document_place(responses->data, responses->len, object),
		"{record that is|records that are} no request, response or item", (struct slice){NULL, 0});
}

static int read_value(struct responses *responses, const struct json *value)
{
	if (value->type == JSON_ARRAY)
		return read_elements(responses, value);
	if (value->type == JSON_OBJECT)
		return read_object(responses, value);
	return import_not_understood(responses->import,
		import_document_place(responses->data, responses->len, value), "{value that is no object|values that are no objects}",
		(struct slice){NULL, 0});
}

static bool is_item_list(const struct json *list)
{
	static const char *const TYPES[] = {"message", "reasoning", "function_call", "function_call_output",
		"custom_tool_call", "custom_tool_call_output", "compaction", "web_search_call", "mcp_call",
		NULL};
	struct json_iter iter;
	struct json item, type;

	json_iter_init(&iter, list);
	while (list->type == JSON_ARRAY && json_iter_next(&iter, NULL, &item)) {
		for (size_t i = 0; json_get(&item, "type", &type) && TYPES[i]; i++) {
			if (json_string_is(&type, TYPES[i]))
				return true;
		}
	}
	return false;
}

static bool is_body(const struct json *body)
{
	struct json value, model;

	if (json_get(body, "object", &value) && json_string_is(&value, "response"))
		return json_get(body, "output", &value);
	if (!json_get(body, "input", &value) || json_get(body, "messages", &model))
		return false;
	return json_get(body, "model", &model) || is_item_list(&value); /* our own writer names no model */
}

bool import_is_openai_responses(const struct import_probe *probe)
{
	struct json first = probe->first, value;
	struct json_iter iter;

	if (probe->value.type == JSON_ARRAY && is_item_list(&probe->value))
		return true;
	if (json_get(&first, "interactions", &value)) {
		json_iter_init(&iter, &value);
		json_iter_next(&iter, NULL, &first);
	}
	return is_body(&first) || (json_get(&first, "request", &value) && is_body(&value)) ||
	       (json_get(&first, "response", &value) && is_body(&value));
}

static int read_any(void *reader, const struct json *value, struct place place)
{
	(void)place;
	return read_value(reader, value);
}

int import_openai_responses(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct responses responses = {
		.import = import, .data = data, .len = len, .key = BUFFER_INIT(LIMIT_IMPORT_BYTES)};

	builder_init(&responses.builder, import);
	items_init(&responses.items, &responses.builder);
	int rc = import_values(import, data, len, read_any, &responses, error);
	if (!rc)
		rc = end_conversation(&responses);
	if (!rc && !import->conversation_count)
		rc = error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "not an openai-responses transcript: no message in it");
	items_release(&responses.items);
	builder_release(&responses.builder);
	mem_free(responses.known);
	buffer_release(&responses.key);
	return import_end(rc, error);
}
