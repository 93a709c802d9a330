/* SPDX-License-Identifier: MIT */
/*
 * opencode's exported sessions, a document each (or a list of them):
 *
 *	{"info":{"id":"ses_…","parentID"?,"title",…},"messages":[{"info":{"role":…},"parts":[PART,…]},…]}
 *
 *	text          text; "synthetic":true is none of the person's
 *	reasoning     a sealed block, the part as it is
 *	tool          call and result in one: "callID", "tool", "state":{"status","input","output"|"error",…}
 *	file          a picture in a data: URL becomes an image block, others stay as they are
 *	subtask       a command of the person's that a sub-agent carries out; its result is in the next reply
 *	step-start    a request to the model begins: a message with several is several messages
 *	step-finish   its usage; input does not count what came from the cache
 *	compaction    the request for a summary; the reply that holds it has info.summary true
 *
 * Messages follow each other in the order of the file. Their parentID names the person's message that a
 * reply belongs to, no tree, and exporters that mask secrets give many messages and calls the same id:
 * nothing is looked up by id, and a call id that occurred before gets ".2", ".3", ….
 *
 * Invariants: (1) a call is in its reply, its result follows it, unless the tool never ended; (2) a result
 * whose state.time.compacted is set was cleared from that product's context: it is kept, and counted in a
 * remark; (3) "src" of a reply holds its info and, in order, what its parts say beyond the blocks; (4)
 * info.revert takes messages off the line. Sub-agents' sessions are documents of their own.
 */
#include "transcript/import_builder.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

struct opencode {
	struct import *import;
	const char *data;
	size_t len;
	struct builder builder;
	struct buffer content, rest;
	struct json_writer blocks, rests;
	struct slice id; /* of the message being read */
	struct import_usage usage;
	struct id_table call_ids; /* how often each was met */
	struct slice *step_ids;	  /* of the calls of the step that is read */
	size_t step_count, step_cap;
	unsigned steps;	  /* messages made of it so far */
	uint64_t cleared; /* results that the product took out of its context */
	struct place first_cleared;
};

static bool part_is(const struct json *part, const char *name)
{
	struct json type;
	return json_get(part, "type", &type) && json_string_is(&type, name);
}

static bool is_true(const struct json *object, const char *key)
{
	struct json value;
	bool flag = false;
	return json_get(object, key, &value) && json_bool(&value, &flag) && flag;
}

static struct import_usage usage_of(const struct json *holder)
{
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;
	struct json tokens, cache;

	if (!json_get(holder, "tokens", &tokens))
		return usage;
	usage.input = import_number(&tokens, "input");
	usage.output = import_number(&tokens, "output");
	usage.reasoning = import_number(&tokens, "reasoning");
	if (json_get(&tokens, "cache", &cache)) {
		usage.cached = import_number(&cache, "read");
		usage.cache_write = import_number(&cache, "write");
	}
	usage.input = import_sum(usage.input, import_sum(usage.cached, usage.cache_write));
	return usage;
}

static void begin_lists(struct opencode *opencode)
{
	buffer_clear(&opencode->content);
	buffer_clear(&opencode->rest);
	opencode->step_count = 0;
	json_writer_init(&opencode->blocks, &opencode->content);
	json_writer_init(&opencode->rests, &opencode->rest);
	json_begin_array(&opencode->blocks);
	json_begin_array(&opencode->rests);
}

static void write_rest(struct opencode *opencode, const struct json *part, const char *const *except)
{
	json_begin_object(&opencode->rests);
	write_members_except(&opencode->rests, part, except);
	json_end_object(&opencode->rests);
}

/* A file the person gave: {"mime","filename"?,"url"}. */
static void write_file(struct json_writer *writer, const struct json *part)
{
	struct json mime, url;
	struct slice text;
	const char *comma;

	if (json_get(part, "mime", &mime) && json_get(part, "url", &url) && mime.type == JSON_STRING &&
		mime.len > 7 && memcmp(mime.text, "\"image/", 7) == 0 && json_string_plain(&url, &text) &&
		slice_starts_with(text, "data:") && (comma = memchr(text.data, ',', text.len))) {
		struct slice data = {comma + 1, text.len - (size_t)(comma + 1 - text.data)};
		json_begin_object(writer);
		json_member_text(writer, "type", "image");
		json_key(writer, "source");
		json_begin_object(writer);
		json_member_text(writer, "type", "base64");
		json_member_value(writer, "media_type", &mime);
		json_member_string(writer, "data", data);
		json_end_object(writer);
		json_end_object(writer);
	} else {
		json_add_value(writer, part);
	}
}

static void write_file_rest(struct opencode *opencode, const struct json *part)
{
	static const char *const IMAGE[] = {"url", NULL};
	static const char *const WHOLE[] = {
		"type", "mime", "url", "filename", "source", "id", "sessionID", "messageID", NULL};
	struct json mime;
	bool image = json_get(part, "mime", &mime) && mime.type == JSON_STRING && mime.len > 7 &&
		     memcmp(mime.text, "\"image/", 7) == 0;

	write_rest(opencode, part, image ? IMAGE : WHOLE);
}

/* The id of the message, or for what follows of it "id.2", "id.3", … */
static int next_id(struct opencode *opencode, struct slice *ret_id)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	int rc = 0;

	*ret_id = opencode->id;
	if (opencode->steps++ == 0 || !opencode->id.data)
		return 0;
	buffer_add_slice(&text, opencode->id);
	buffer_addf(&text, ".%u", opencode->steps);
	*ret_id = (struct slice){NULL, 0};
	if (buffer_error(&text) != BOBBIN_ELIMIT) {
		*ret_id = import_keep(opencode->import, buffer_slice(&text));
		rc = ret_id->data ? 0 : BOBBIN_ENOMEM;
	}
	buffer_release(&text);
	return rc;
}

/* Ends a message of the content that was gathered. */
static int end_message(struct opencode *opencode, struct json_writer *writer, const struct json *info,
	enum message_origin origin)
{
	struct json time, created;
	struct slice id;

	json_end_array(&opencode->blocks);
	json_end_array(&opencode->rests);
	if (buffer_error(&opencode->content) || buffer_error(&opencode->rest))
		return buffer_error(&opencode->content) ? buffer_error(&opencode->content)
							: buffer_error(&opencode->rest);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&opencode->content));
	builder_origin(&opencode->builder, origin);
	if (json_get(info, "time", &time) && json_get(&time, "created", &created))
		write_time(writer, &created);
	builder_usage(&opencode->builder, &opencode->usage);
	json_key(writer, "src");
	json_begin_object(writer);
	if (opencode->steps == 0)
		json_member_value(writer, "info", info);
	else
		json_member_uint(writer, "step", opencode->steps + 1);
	json_key(writer, "parts");
	json_add_raw(writer, buffer_slice(&opencode->rest));
	json_end_object(writer);
	int rc = next_id(opencode, &id);
	struct draft draft = {
		.id = id, .parent_kind = DRAFT_HEAD, .cuts = origin == ORIGIN_SUMMARY, .cut = DRAFT_NONE};
	return rc ? rc : builder_end(&opencode->builder, &draft);
}

/* What a person's command for a sub-agent shows: "/review", or its description. */
static void write_subtask(struct opencode *opencode, const struct json *part)
{
	static const char *const OWN[] = {NULL};
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json value;

	if (json_get(part, "command", &value) && value.type == JSON_STRING && value.len > 2) {
		buffer_add_char(&text, '/');
		json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	} else if (json_get(part, "description", &value) && value.type == JSON_STRING) {
		json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	}
	if (buffer_error(&text))
		opencode->content.error = buffer_error(&text);
	write_text_block_of(&opencode->blocks, buffer_slice(&text));
	write_rest(opencode, part, OWN);
	buffer_release(&text);
}

static int read_user_part(struct opencode *opencode, const struct json *part, struct place place)
{
	static const char *const TEXT[] = {"text", NULL};
	struct json text;

	if (part_is(part, "text") && json_get(part, "text", &text) && text.type == JSON_STRING) {
		write_text_block(&opencode->blocks, &text);
		write_rest(opencode, part, TEXT);
	} else if (part_is(part, "file")) {
		write_file(&opencode->blocks, part);
		write_file_rest(opencode, part);
	} else if (part_is(part, "subtask")) {
		write_subtask(opencode, part);
	} else if (part_is(part, "agent") || part_is(part, "compaction") || part_is(part, "snapshot") ||
		   part_is(part, "patch")) {
		static const char *const ALL_KEPT[] = {NULL};
		write_rest(opencode, part, ALL_KEPT);
	} else {
		json_add_value(&opencode->blocks, part);
		json_begin_object(&opencode->rests);
		json_end_object(&opencode->rests);
		return import_not_understood(opencode->import, place, "{part kept as it is|parts kept as they are}, of the type",
			import_string(opencode->import, part, "type"));
	}
	return 0;
}

/* A person's message: what was typed and what the client added are messages of their own. */
static int read_user(
	struct opencode *opencode, const struct json *info, const struct json *parts, struct place place)
{
	struct json_iter iter;
	struct json part;
	bool any = false, before = false;
	int rc = 0;

	json_iter_init(&iter, parts);
	begin_lists(opencode);
	while (!rc && parts->type == JSON_ARRAY && json_iter_next(&iter, NULL, &part)) {
		bool synthetic = is_true(&part, "synthetic") || part_is(&part, "compaction");
		if (any && synthetic != before) {
			rc = end_message(opencode, builder_begin(&opencode->builder, ROLE_USER), info,
				before ? ORIGIN_INJECTED : ORIGIN_PERSON);
			begin_lists(opencode);
		}
		any = true;
		before = synthetic;
		if (!rc)
			rc = read_user_part(opencode, &part, place);
	}
	return rc ? rc
		  : end_message(opencode, builder_begin(&opencode->builder, ROLE_USER), info,
			    before ? ORIGIN_INJECTED : ORIGIN_PERSON);
}

/* The id of a call, told apart from those that were met before. */
static int unique_id(struct opencode *opencode, const struct json *part, struct slice *ret_id)
{
	struct slice id = import_string(opencode->import, part, "callID");
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	size_t times = 0;
	int rc = 0;

	*ret_id = id;
	if (!id.data)
		return 0;
	if (id_table_get(&opencode->call_ids, id, &times)) {
		buffer_add_slice(&text, id);
		buffer_addf(&text, ".%zu", times + 1);
		*ret_id = buffer_error(&text) ? (struct slice){NULL, 0}
					      : import_keep(opencode->import, buffer_slice(&text));
		rc = ret_id->data ? 0 : BOBBIN_ENOMEM;
	}
	buffer_release(&text);
	return rc ? rc : id_table_put(&opencode->call_ids, id, times + 1);
}

static int write_call(struct opencode *opencode, const struct json *part)
{
	static const char *const OWN[] = {"callID", "tool", "state", NULL};
	static const char *const RENAMED[] = {"tool", "state", NULL};
	struct json_writer *writer = &opencode->blocks;
	struct json value, state;
	struct slice id;
	int rc = unique_id(opencode, part, &id);

	if (!rc)
		rc = mem_grow((void **)&opencode->step_ids, &opencode->step_cap, opencode->step_count + 1,
			sizeof(*opencode->step_ids));
	if (rc)
		return rc;
	opencode->step_ids[opencode->step_count++] = id;
	json_begin_object(writer);
	json_member_text(writer, "type", "tool_use");
	if (id.data)
		json_member_string(writer, "id", id);
	if (json_get(part, "tool", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	json_key(writer, "input");
	if (json_get(part, "state", &state) && json_get(&state, "input", &value) && value.type == JSON_OBJECT)
		json_add_value(writer, &value);
	else
		json_add_raw(writer, SLICE_LITERAL("{}"));
	json_end_object(writer);
	bool renamed = json_get(part, "callID", &value) && id.data &&
		       !slice_equal(json_string_content(&value, &opencode->import->arena), id);
	write_rest(opencode, part, renamed ? RENAMED : OWN);
	return 0;
}

static int read_reply_part(struct opencode *opencode, const struct json *part, struct place place)
{
	static const char *const TEXT[] = {"text", NULL};
	static const char *const TYPE_ONLY[] = {
		"text", "metadata", "time", "id", "sessionID", "messageID", NULL};
	static const char *const ALL_KEPT[] = {NULL};
	struct json text;

	if (part_is(part, "text") && json_get(part, "text", &text) && text.type == JSON_STRING) {
		write_text_block(&opencode->blocks, &text);
		write_rest(opencode, part, TEXT);
	} else if (part_is(part, "reasoning")) {
		json_add_value(&opencode->blocks, part);
		write_rest(opencode, part, TYPE_ONLY);
	} else if (part_is(part, "tool")) {
		return write_call(opencode, part);
	} else if (part_is(part, "step-start") || part_is(part, "step-finish") || part_is(part, "patch") ||
		   part_is(part, "snapshot") || part_is(part, "retry") || part_is(part, "agent")) {
		if (part_is(part, "step-finish"))
			opencode->usage = usage_of(part);
		write_rest(opencode, part, ALL_KEPT);
	} else if (part_is(part, "file")) {
		write_file(&opencode->blocks, part);
		write_file_rest(opencode, part);
	} else {
		json_add_value(&opencode->blocks, part);
		json_begin_object(&opencode->rests);
		json_end_object(&opencode->rests);
		return import_not_understood(opencode->import, place, "{part kept as it is|parts kept as they are}, of the type",
			import_string(opencode->import, part, "type"));
	}
	return 0;
}

static void write_output(struct json_writer *writer, const struct json *state)
{
	struct json output, files, file;
	struct json_iter iter;

	if (!json_get(state, "output", &output) && !json_get(state, "error", &output))
		output = (struct json){"\"\"", 2, JSON_STRING};
	if (json_get(state, "attachments", &files) && files.type == JSON_ARRAY && json_count(&files)) {
		json_begin_array(writer);
		if (output.type == JSON_STRING)
			write_text_block(writer, &output);
		json_iter_init(&iter, &files);
		while (json_iter_next(&iter, NULL, &file))
			write_file(writer, &file);
		json_end_array(writer);
	} else if (output.type == JSON_STRING) {
		json_add_value(writer, &output);
	} else {
		json_add_string(writer, (struct slice){output.text, output.len});
	}
}

static int write_result(
	struct opencode *opencode, const struct json *part, struct slice id, struct place place)
{
	static const char *const OWN[] = {
		"status", "input", "output", "error", "attachments", "metadata", NULL};
	struct json state, status, value, time;
	bool error;

	if (!json_get(part, "state", &state) || !json_get(&state, "status", &status))
		return 0;
	error = json_string_is(&status, "error");
	if (!error && !json_string_is(&status, "completed"))
		return 0; /* pending or running: the result never came */
	if (json_get(&state, "time", &time) && json_get(&time, "compacted", &value) &&
		opencode->cleared++ == 0)
		opencode->first_cleared = place;
	struct json_writer *writer =
		builder_begin_result(&opencode->builder, id);
	if (json_get(part, "tool", &value) && value.type == JSON_STRING)
		json_member_value(writer, "name", &value);
	struct json_writer content; /* apart, because the message moves while it is written */
	buffer_clear(&opencode->content);
	json_writer_init(&content, &opencode->content);
	write_output(&content, &state);
	if (buffer_error(&opencode->content))
		return buffer_error(&opencode->content);
	json_key(writer, "content");
	json_add_raw(writer, buffer_slice(&opencode->content));
	if (error)
		json_member_bool(writer, "is_error", true);
	if (json_get(&time, "end", &value))
		write_time(writer, &value);
	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, &state, OWN);
	if (json_get(&state, "metadata", &value)) {
		json_key(writer, "metadata");
		write_without_repeats(writer, &value, buffer_slice(&opencode->content));
	}
	json_end_object(writer);
	return builder_end_next(&opencode->builder, (struct slice){NULL, 0});
}

/* Ends the reply that was gathered from the parts between two iterators, and adds the results of its calls.
 */
static int end_step(struct opencode *opencode, const struct json *info, struct json_iter from,
	const char *until, struct place place)
{
	enum message_origin origin = is_true(info, "summary") ? ORIGIN_SUMMARY : ORIGIN_PERSON;
	struct json part;
	size_t call = 0;
	int rc = end_message(opencode,
		builder_begin(&opencode->builder, origin == ORIGIN_SUMMARY ? ROLE_USER : ROLE_ASSISTANT),
		info, origin);

	while (!rc && json_iter_next(&from, NULL, &part) && part.text < until) {
		if (part_is(&part, "tool"))
			rc = write_result(opencode, &part, opencode->step_ids[call++], place);
	}
	return rc;
}

static int read_reply(
	struct opencode *opencode, const struct json *info, const struct json *parts, struct place place)
{
	struct json_iter iter, before, step;
	struct json part;
	bool called = false;
	int rc = 0;

	json_iter_init(&iter, parts);
	step = iter;
	begin_lists(opencode);
	while (!rc && parts->type == JSON_ARRAY) {
		before = iter;
		if (!json_iter_next(&iter, NULL, &part))
			break;
		if (part_is(&part, "step-start") && called) {
			rc = end_step(opencode, info, step, part.text, place);
			opencode->usage = (struct import_usage)IMPORT_USAGE_UNKNOWN;
			begin_lists(opencode);
			step = before;
			called = false;
		}
		called |= part_is(&part, "tool");
		if (!rc)
			rc = read_reply_part(opencode, &part, place);
	}
	if (opencode->steps == 0 && opencode->usage.input < 0)
		opencode->usage = usage_of(info);
	return rc ? rc : end_step(opencode, info, step, parts->text + parts->len, place);
}

/* Whether only a reply of the model has such parts: its steps, thoughts and calls. */
static bool are_of_a_reply(const struct json *parts)
{
	struct json_iter iter;
	struct json part;
	bool reply = false;

	json_iter_init(&iter, parts);
	while (!reply && json_iter_next(&iter, NULL, &part))
		reply = part_is(&part, "step-start") || part_is(&part, "step-finish") || part_is(&part, "reasoning") ||
			part_is(&part, "tool") || part_is(&part, "patch");
	return reply;
}

/* A message that lost its info, or the role in it, in a damaged document: whose it is its parts say. */
static int read_without_role(
	struct opencode *opencode, const struct json *info, const struct json *parts, struct place place)
{
	bool reply = are_of_a_reply(parts);

	if (json_count(parts) == 0)
		return import_not_understood(
			opencode->import, place, "{message|messages} without info", (struct slice){NULL, 0});
	int rc = import_damaged(opencode->import, place, DAMAGE_NO_ROLE,
		"a message without its role: by its parts it is the %s", reply ? "model's" : "user's");
	return rc ? rc : reply ? read_reply(opencode, info, parts, place) : read_user(opencode, info, parts, place);
}

static int read_message(struct opencode *opencode, const struct json *message)
{
	struct place place = import_document_place(opencode->data, opencode->len, message);
	struct json info, parts, role;

	if (!json_get(message, "info", &info) || info.type != JSON_OBJECT)
		info = (struct json){"{}", 2, JSON_OBJECT};
	if (!json_get(message, "parts", &parts) || parts.type != JSON_ARRAY)
		parts = (struct json){"[]", 2, JSON_ARRAY};
	opencode->id = import_string(opencode->import, &info, "id");
	opencode->steps = 0;
	opencode->usage = (struct import_usage)IMPORT_USAGE_UNKNOWN;
	if (!json_get(&info, "role", &role))
		return read_without_role(opencode, &info, &parts, place);
	if (json_string_is(&role, "user"))
		return read_user(opencode, &info, &parts, place);
	if (json_string_is(&role, "assistant"))
		return read_reply(opencode, &info, &parts, place);
	return import_not_understood(opencode->import, place, "{message|messages} of the role",
		import_string(opencode->import, &info, "role"));
}

/* The person took back this message and what follows it; from a part on is not told apart from a whole
 * message. */
static bool is_reverted(const struct json *info, const struct json *message)
{
	struct json revert, wanted, own, id;

	return json_get(info, "revert", &revert) && json_get(&revert, "messageID", &wanted) &&
	       json_get(message, "info", &own) && json_get(&own, "id", &id) &&
	       json_string_equal(&id, &wanted);
}

static int read_session(struct opencode *opencode, const struct json *session)
{
	id_table_release(&opencode->call_ids); /* another session's calls are other calls */
	struct json info = {.type = JSON_ABSENT}, messages, message;
	struct json_iter iter;
	int rc = 0;

	json_get(session, "info", &info);
	json_get(session, "messages", &messages);
	json_iter_init(&iter, &messages);
	while (!rc && messages.type == JSON_ARRAY && json_iter_next(&iter, NULL, &message)) {
		struct builder *builder = &opencode->builder;
		if (!builder->rewound && is_reverted(&info, &message)) {
			builder->rewound = true;
			builder->rewound_to = builder->drafts.count ? builder->drafts.count - 1 : DRAFT_NONE;
		}
		rc = read_message(opencode, &message);
	}
	return rc ? rc
		  : builder_conversation(&opencode->builder, import_string(opencode->import, &info, "id"),
			    import_string(opencode->import, &info, "title"));
}

static bool is_session(const struct json *value)
{
	struct json info, messages, message, parts, id;
	struct json_iter iter;

	if (!json_get(value, "messages", &messages) || messages.type != JSON_ARRAY)
		return false;
	json_iter_init(&iter, &messages);
	if (json_iter_next(&iter, NULL, &message))
		return json_get(&message, "info", &info) && json_get(&message, "parts", &parts);
	return json_get(value, "info", &info) && json_get(&info, "directory", &id);
}

bool import_is_opencode(const struct import_probe *probe)
{
	return is_session(&probe->first);
}

static int read_document(struct opencode *opencode, const struct json *value, struct bobbin_error *error)
{
	struct json_iter iter;
	struct json session;
	int rc = 0;

	if (value->type == JSON_OBJECT)
		rc = read_session(opencode, value);
	json_iter_init(&iter, value);
	while (!rc && value->type == JSON_ARRAY && json_iter_next(&iter, NULL, &session))
		rc = read_session(opencode, &session);
	if (!rc && !opencode->import->conversation_count)
		rc = error_set_at(error, BOBBIN_EINPUT, 1, 0, "not an opencode transcript: no message in it");
	if (!rc && opencode->cleared)
		rc = import_remark(opencode->import, opencode->first_cleared,
			"%llu result%s cleared from opencode's own context: kept here",
			(unsigned long long)opencode->cleared, opencode->cleared == 1 ? "" : "s");
	return rc;
}

int import_opencode(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct opencode opencode = {.import = import,
		.data = data,
		.len = len,
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.rest = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
	struct json value;

	builder_init(&opencode.builder, import);
	int rc = import_document(import, data, len, &value, error);
	if (!rc)
		rc = read_document(&opencode, &value, error);
	builder_release(&opencode.builder);
	buffer_release(&opencode.content);
	buffer_release(&opencode.rest);
	id_table_release(&opencode.call_ids);
	mem_free(opencode.step_ids);
	return import_end(rc, error);
}
