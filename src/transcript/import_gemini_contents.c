/* SPDX-License-Identifier: MIT */
/*
 * Parts of Gemini's API, and lists of contents {"role":"user"|"model","parts":[PART,…]} as requests hold
 * them. A part is one of
 *
 *	{"text":…,"thought"?:true}
 *	{"inlineData":{"mimeType","data"}}
 *	{"functionCall":{"id"?,"name","args"},"thoughtSignature"?}          of the model
 *	{"functionResponse":{"id"?,"name","response"}}                      of the user
 *
 * Calls often have no id while their results do: the n-th call of a content is answered by the n-th result
 * of the next one, if the names agree. Where neither has one, "call-N" names both. The summary of a
 * compression is the person's message that begins with <state_snapshot>; what was before it is not in the
 * list.
 */
#include "transcript/import_gemini.h"

#include "base/limits.h"

void gemini_begin_content(struct gemini *gemini)
{
	buffer_clear(&gemini->content);
	buffer_clear(&gemini->rest);
	json_writer_init(&gemini->blocks, &gemini->content);
	json_writer_init(&gemini->rests, &gemini->rest);
	json_begin_array(&gemini->blocks);
	json_begin_array(&gemini->rests);
	gemini->any_rest = false;
}

int gemini_end_content(struct gemini *gemini)
{
	json_end_array(&gemini->blocks);
	json_end_array(&gemini->rests);
	return buffer_error(&gemini->content) ? buffer_error(&gemini->content) : buffer_error(&gemini->rest);
}

static void write_rest(struct gemini *gemini, const struct json *part, const char *const *except)
{
	gemini->any_rest |= has_members_except(part, except);
	json_begin_object(&gemini->rests);
	write_members_except(&gemini->rests, part, except);
	json_end_object(&gemini->rests);
}

static bool is_true(const struct json *object, const char *key)
{
	struct json value;
	bool flag = false;
	return json_get(object, key, &value) && json_bool(&value, &flag) && flag;
}

static void write_thought(struct gemini *gemini, const struct json *part, const struct json *text)
{
	static const char *const OWN[] = {"text", "thought", "thoughtSignature", NULL};
	struct json_writer *writer = &gemini->blocks;
	struct json value;

	json_begin_object(writer);
	json_member_text(writer, "type", "thinking");
	json_member_value(writer, "thinking", text);
	if (json_get(part, "thoughtSignature", &value))
		json_member_value(writer, "thoughtSignature", &value);
	json_end_object(writer);
	write_rest(gemini, part, OWN);
}

void gemini_write_part(struct gemini *gemini, const struct json *part)
{
	static const char *const TEXT[] = {"text", NULL};
	static const char *const IMAGE[] = {"inlineData", NULL};
	static const char *const NOTHING[] = {NULL};
	struct json value, type, data, none = {"{}", 2, JSON_OBJECT};

	if (part->type == JSON_STRING) {
		write_text_block(&gemini->blocks, part);
		write_rest(gemini, &none, NOTHING);
	} else if (json_get(part, "text", &value) && value.type == JSON_STRING) {
		if (is_true(part, "thought")) {
			write_thought(gemini, part, &value);
			return;
		}
		write_text_block(&gemini->blocks, &value);
		write_rest(gemini, part, TEXT);
	} else if (json_get(part, "inlineData", &value) && json_get(&value, "mimeType", &type) &&
		   type.type == JSON_STRING && type.len > 7 && memcmp(type.text, "\"image/", 7) == 0 &&
		   json_get(&value, "data", &data) && data.type == JSON_STRING) {
		write_image_block(&gemini->blocks, &type, &data);
		write_rest(gemini, part, IMAGE);
	} else {
		json_add_value(&gemini->blocks, part);
		write_rest(gemini, &none, NOTHING);
	}
}

enum message_origin gemini_origin(struct gemini *gemini, const struct json *content)
{
	static const char *const INJECTED[] = {"<session_context>",
		"This is the Gemini CLI. We are setting up the context", "System: Please continue.",
		"Got it. Thanks for the additional context!", NULL};
	struct json first = *content, text;
	struct json_iter iter;

	json_iter_init(&iter, content);
	if (content->type == JSON_ARRAY && !json_iter_next(&iter, NULL, &first))
		return ORIGIN_PERSON;
	text = first;
	if (first.type == JSON_OBJECT && !json_get(&first, "text", &text))
		return ORIGIN_PERSON;
	if (text.type != JSON_STRING)
		return ORIGIN_PERSON;
	struct slice decoded = json_string_content(&text, import_scratch(gemini->import));
	if (slice_starts_with(decoded, "<state_snapshot>"))
		return ORIGIN_SUMMARY;
	for (size_t i = 0; INJECTED[i]; i++) {
		if (slice_starts_with(decoded, INJECTED[i]))
			return ORIGIN_INJECTED;
	}
	return ORIGIN_PERSON;
}

void gemini_write_response(struct json_writer *writer, const struct json *response, bool *ret_error)
{
	struct json output;

	*ret_error = json_get(response, "error", &output);
	if (json_count(response) == 1 &&
		(json_get(response, "output", &output) || json_get(response, "error", &output)) &&
		output.type == JSON_STRING)
		json_add_value(writer, &output);
	else
		json_add_string(writer, (struct slice){response->len ? response->text : "", response->len});
}

int gemini_end_message(struct gemini *gemini, struct slice id)
{
	struct draft draft = gemini->next;

	draft.id = id;
	gemini->next = (struct draft){.parent_kind = DRAFT_HEAD};
	return builder_end(&gemini->builder, &draft);
}

/* The n-th member of this name among the parts of a content. */
static bool get_nth(const struct json *content, const char *key, size_t nth, struct json *ret_value)
{
	struct json parts, part;
	struct json_iter iter;

	if (!json_get(content, "parts", &parts) || parts.type != JSON_ARRAY)
		return false;
	json_iter_init(&iter, &parts);
	while (json_iter_next(&iter, NULL, &part)) {
		if (json_get(&part, key, ret_value) && nth-- == 0)
			return true;
	}
	return false;
}

static int make_id(struct gemini *gemini, uint64_t number, struct slice *ret_id)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);

	buffer_addf(&text, "call-%llu", (unsigned long long)number);
	*ret_id = buffer_error(&text) ? (struct slice){NULL, 0}
				      : import_keep(gemini->import, buffer_slice(&text));
	buffer_release(&text);
	return ret_id->data ? 0 : BOBBIN_ENOMEM;
}

/* The id of the n-th of `own` in one content, whose partner is the n-th of `other` in another. */
static int find_id(struct gemini *gemini, const struct json *value, const struct json *partner, size_t nth,
	const char *other, uint64_t number, struct slice *ret_id)
{
	struct json match, name, other_name;

	*ret_id = import_string(gemini->import, value, "id");
	if (ret_id->data)
		return 0;
	if (partner->type == JSON_OBJECT && get_nth(partner, other, nth, &match) &&
		json_get(value, "name", &name) && json_get(&match, "name", &other_name) &&
		json_string_equal(&name, &other_name))
		*ret_id = import_string(gemini->import, &match, "id");
	return ret_id->data ? 0 : make_id(gemini, number, ret_id);
}

static int write_call(
	struct gemini *gemini, const struct json *part, const struct json *call, struct slice id)
{
	static const char *const OWN[] = {"functionCall", NULL};
	struct json_writer *writer = &gemini->blocks;
	struct json value;

	json_begin_object(writer);
	json_member_text(writer, "type", "tool_use");
	json_member_string(writer, "id", id);
	if (json_get(call, "name", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	json_key(writer, "input");
	if (json_get(call, "args", &value) && value.type == JSON_OBJECT)
		json_add_value(writer, &value);
	else
		json_add_raw(writer, SLICE_LITERAL("{}"));
	json_end_object(writer);
	write_rest(gemini, part, OWN);
	return 0;
}

/* A content's message of what was gathered. */
static int end_content(struct gemini *gemini, struct json_writer *writer, const struct json *content,
	enum message_origin origin)
{
	static const char *const OWN[] = {"role", "parts", NULL};
	int rc = gemini_end_content(gemini);

	if (rc)
		return rc;
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&gemini->content));
	builder_origin(&gemini->builder, origin);
	if (gemini->any_rest || has_members_except(content, OWN)) {
		json_key(writer, "src");
		json_begin_object(writer);
		write_members_except(writer, content, OWN);
		if (gemini->any_rest) {
			json_key(writer, "parts");
			json_add_raw(writer, buffer_slice(&gemini->rest));
		}
		json_end_object(writer);
	}
	if (origin == ORIGIN_SUMMARY) {
		gemini->next.cuts = true;
		gemini->next.cut = DRAFT_NONE;
	}
	return gemini_end_message(gemini, (struct slice){NULL, 0});
}

static int read_model(
	struct gemini *gemini, const struct json *content, const struct json *parts, const struct json *next)
{
	struct json_iter iter;
	struct json part, call;
	size_t calls = 0;
	int rc = 0;

	gemini_begin_content(gemini);
	json_iter_init(&iter, parts);
	while (!rc && json_iter_next(&iter, NULL, &part)) {
		struct slice id;
		if (!json_get(&part, "functionCall", &call)) {
			gemini_write_part(gemini, &part);
			continue;
		}
		rc = find_id(
			gemini, &call, next, calls, "functionResponse", gemini->generated + calls + 1, &id);
		calls++;
		if (!rc)
			rc = write_call(gemini, &part, &call, id);
	}
	return rc ? rc
		  : end_content(gemini, builder_begin(&gemini->builder, ROLE_ASSISTANT), content,
			    gemini_origin(gemini, parts));
}

static int read_response(
	struct gemini *gemini, const struct json *part, const struct json *response, struct slice id)
{
	static const char *const PART[] = {"functionResponse", NULL};
	static const char *const RESPONSE[] = {"id", "name", "response", NULL};
	struct json_writer *writer = builder_begin_result(&gemini->builder, id);
	struct json value = {.type = JSON_ABSENT};
	bool error;

	if (json_get(response, "name", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	json_get(response, "response", &value);
	json_key(writer, "content");
	gemini_write_response(writer, &value, &error);
	if (error)
		json_member_bool(writer, "is_error", true);
	if (has_members_except(part, PART) || has_members_except(response, RESPONSE)) {
		json_key(writer, "src");
		json_begin_object(writer);
		write_members_except(writer, part, PART);
		json_key(writer, "functionResponse");
		json_begin_object(writer);
		write_members_except(writer, response, RESPONSE);
		json_end_object(writer);
		json_end_object(writer);
	}
	return gemini_end_message(gemini, (struct slice){NULL, 0});
}

/* Results first, then the text: an order that each provider takes. */
static int read_user(struct gemini *gemini, const struct json *content, const struct json *parts,
	const struct json *before)
{
	struct json_iter iter;
	struct json part, response;
	size_t results = 0, others = 0, calls = 0;
	int rc = 0;

	json_iter_init(&iter, parts);
	while (!rc && json_iter_next(&iter, NULL, &part)) {
		struct slice id;
		if (!json_get(&part, "functionResponse", &response)) {
			others++;
			continue;
		}
		rc = find_id(gemini, &response, before, results, "functionCall",
			gemini->generated + results + 1, &id);
		results++;
		if (!rc)
			rc = read_response(gemini, &part, &response, id);
	}
	while (before->type == JSON_OBJECT && get_nth(before, "functionCall", calls, &part))
		calls++;
	gemini->generated += calls > results ? calls : results;
	if (rc || (results && !others))
		return rc;
	gemini_begin_content(gemini);
	json_iter_init(&iter, parts);
	while (json_iter_next(&iter, NULL, &part)) {
		if (!json_get(&part, "functionResponse", &response))
			gemini_write_part(gemini, &part);
	}
	return end_content(
		gemini, builder_begin(&gemini->builder, ROLE_USER), content, gemini_origin(gemini, parts));
}

int gemini_read_contents(struct gemini *gemini, const struct json *contents)
{
	struct json_iter iter, ahead;
	struct json content, next, before = {.type = JSON_ABSENT}, role, parts;
	int rc = 0;

	json_iter_init(&iter, contents);
	while (!rc && json_iter_next(&iter, NULL, &content)) {
		struct place place = import_document_place(gemini->data, gemini->len, &content);
		ahead = iter;
		if (!json_iter_next(&ahead, NULL, &next))
			next = (struct json){.type = JSON_ABSENT};
		if (!json_get(&content, "parts", &parts) || parts.type != JSON_ARRAY) {
			rc = import_not_understood(
				gemini->import, place, "{content|contents} without parts", (struct slice){NULL, 0});
			continue;
		}
		json_get(&content, "role", &role);
		if (json_string_is(&role, "model"))
			rc = read_model(gemini, &content, &parts, &next);
		else if (json_string_is(&role, "user") || json_string_is(&role, "function"))
			rc = read_user(gemini, &content, &parts, &before);
		else if (json_string_is(&role, "system"))
			rc = import_left_out(gemini->import, place,
				"system {prompt|prompts} (given with each request, not stored)");
		else
			rc = import_not_understood(gemini->import, place, "{content|contents} of the role",
				import_string(gemini->import, &content, "role"));
		before = content;
	}
	return rc;
}

bool gemini_is_contents(const struct json *list)
{
	struct json_iter iter;
	struct json content, role, parts;

	json_iter_init(&iter, list);
	return list->type == JSON_ARRAY && json_iter_next(&iter, NULL, &content) &&
	       json_get(&content, "parts", &parts) && parts.type == JSON_ARRAY &&
	       json_get(&content, "role", &role) && !json_get(&content, "type", &role);
}
