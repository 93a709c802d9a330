/* SPDX-License-Identifier: MIT */
/*
 * pi's session files: a header, then entries one a line. In the layout of 2025 (version 1) entries have no
 * ids and simply follow each other; since version 2 they carry id and parentId, and those are followed.
 *
 *	user, assistant   messages; toolCall blocks become tool_call blocks in place, thinking blocks stay as
 *	                  they are
 *	toolResult        role tool
 *	bashExecution     a command the person ran; the model is shown it as text in a user message: origin
 *	                  injected; with excludeFromContext it is not shown: counted and left out
 *	custom, hookMessage, and entries custom_message
 *	                  what an extension gave the model: origin injected
 *	compaction        a user message with origin summary; what it replaced stays before it, "cut" is what
 *	                  it kept: firstKeptEntryId, or firstKeptEntryIndex, which counts entries with the
 *	                  header, not lines
 *	branch_summary    a user message with origin summary: what was left behind on another branch
 *	session_info      a name for the session: its title
 *
 * The line ends at the last entry of the file, of whatever type. Replies that were aborted or failed are kept
 * with the calls they hold: their results are missing in the middle of the line, which is for the view to
 * mend. "usage" counts in its input what came from the cache, which pi's own does not. Everything else about
 * an entry stays under "src".
 */
#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_builder.h"
#include "transcript/import_order.h"
#include "transcript/import_readers.h"

/* An object's small members, copied: to look one up, nobody walks over the large ones again. */
struct light {
	struct json whole, members;
	struct buffer text;
};
#define LIGHT_BYTES 1024

struct pi {
	struct import *import;
	struct import_order *order;
	struct drafts drafts;
	struct buffer out; /* members of the next draft */
	struct buffer content;
	struct light entry, message; /* of the entry being read */
	struct id_table entries;     /* id to the draft at or above the entry */
	struct id_table begins;	     /* id to the first draft that the entry or one after it makes */
	uint32_t *starts;	     /* the same by the number of the entry, the header's being 0 */
	size_t start_count, start_cap;
	struct slice id; /* of the entry being read */
	struct slice session_id, title;
	bool tree;   /* entries name what they follow */
	size_t leaf; /* with `tree`: the draft at or above the last entry */
};

static void light_read(struct light *light, const struct json *object)
{
	struct json_iter iter;
	struct json key, value;

	light->whole = *object;
	buffer_clear(&light->text);
	json_iter_init(&iter, object);
	while (object->type == JSON_OBJECT && json_iter_next(&iter, &key, &value)) {
		if (value.len > LIGHT_BYTES)
			continue;
		buffer_add_char(&light->text, light->text.len ? ',' : '{');
		buffer_add(&light->text, key.text, key.len);
		buffer_add_char(&light->text, ':');
		buffer_add(&light->text, value.text, value.len);
	}
	buffer_add_text(&light->text, light->text.len ? "}" : "{}");
	light->members = buffer_error(&light->text)
				 ? *object
				 : (struct json){light->text.data, light->text.len, JSON_OBJECT};
}

static void write_image(struct json_writer *writer, const struct json *block)
{
	static const char *const OWN[] = {"type", "data", "mimeType", NULL};
	struct json value;

	json_begin_object(writer);
	json_member_text(writer, "type", "image");
	json_key(writer, "source");
	json_begin_object(writer);
	json_member_text(writer, "type", "base64");
	if (json_get(block, "mimeType", &value))
		json_member_value(writer, "media_type", &value);
	if (json_get(block, "data", &value))
		json_member_value(writer, "data", &value);
	json_end_object(writer);
	write_members_except(writer, block, OWN);
	json_end_object(writer);
}

/* A string of a light object, whose bytes are the next entry's soon. */
static struct slice string_of(struct pi *pi, const struct json *object, const char *key)
{
	return import_hold(pi->import, import_string(pi->import, object, key));
}

/* The content into pi->content, in canonical blocks. */
static void write_content(struct pi *pi, const struct json *message)
{
	struct json content, block, type;
	struct json_iter iter;
	struct json_writer writer;

	buffer_clear(&pi->content);
	json_writer_init(&writer, &pi->content);
	if (!json_get(message, "content", &content) || content.type != JSON_ARRAY) {
		if (content.type == JSON_STRING || content.type == JSON_NULL)
			json_add_value(&writer, &content);
		else
			json_add_null(&writer);
		return;
	}
	json_begin_array(&writer);
	json_iter_init(&iter, &content);
	while (json_iter_next(&iter, NULL, &block)) {
		json_get(&block, "type", &type);
		if (json_string_is(&type, "image")) {
			write_image(&writer, &block);
		} else if (json_string_is(&type, "toolCall")) {
			if (writer.comma)
				buffer_add_char(&pi->content, ',');
			json_splice(&pi->content, &block, "type", SLICE_LITERAL("\"tool_call\""));
			writer.comma = true;
		} else {
			json_add_value(&writer, &block);
		}
	}
	json_end_array(&writer);
}

/* "src": the entry and its message without what stands elsewhere in the record. */
static void write_source(
	struct pi *pi, struct json_writer *writer, const struct json *entry, const struct json *message)
{
	static const char *const ENTRY[] = {"message", "summary", "content", NULL};
	static const char *const MESSAGE[] = {
		"content", "toolCallId", "toolName", "isError", "details", "output", NULL};
	struct json value;

	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, entry, ENTRY);
	if (message) {
		json_key(writer, "message");
		json_begin_object(writer);
		write_members_except(writer, message, MESSAGE);
		if (json_get(message, "details", &value)) {
			json_key(writer, "details");
			write_without_repeats(writer, &value, buffer_slice(&pi->content));
		}
		if (json_get(message, "output", &value)) {
			json_key(writer, "output");
			write_without_repeats(writer, &value, buffer_slice(&pi->content));
		}
		json_end_object(writer);
	}
	json_end_object(writer);
}

static void names(struct import *import, const struct json *entry, struct slice *ret_id, struct slice *ret_parent)
{
	*ret_id = import_string(import, entry, "id");
	*ret_parent = import_string(import, entry, "parentId");
}

/* What an entry hangs from: DRAFT_HEAD in the layout without ids. */
static int find_parent(struct pi *pi, const struct json *entry, struct draft *draft)
{
	struct json parent;

	draft->parent_kind = DRAFT_HEAD;
	if (!json_get(entry, "parentId", &parent))
		return 0;
	pi->tree = true;
	draft->parent_kind = DRAFT_AT;
	draft->parent = DRAFT_NONE;
	if (parent.type != JSON_STRING)
		return 0;
	struct slice id = json_string_content(&parent, import_scratch(pi->import));
	if (id_table_get(&pi->entries, id, &draft->parent))
		return 0;
	draft->parent_kind = DRAFT_HEAD;
	return import_order_missed(pi->order, id);
}

/* pi's input is what did not come from the cache. */
static void write_pi_usage(struct json_writer *writer, const struct json *message)
{
	struct import_usage usage = IMPORT_USAGE_UNKNOWN;
	struct json value;

	if (!json_get(message, "usage", &value))
		return;
	usage.cached = import_number(&value, "cacheRead");
	usage.cache_write = import_number(&value, "cacheWrite");
	usage.input = import_sum(import_number(&value, "input"), import_sum(usage.cached, usage.cache_write));
	usage.output = import_number(&value, "output");
	import_write_usage(writer, &usage);
}

/* Adds a draft from `content` and the other members. */
static int add(struct pi *pi, struct draft *draft, const struct json *entry, const struct json *message,
	const char *origin)
{
	struct json_writer writer;
	struct json value;
	bool is_error = false;

	buffer_clear(&pi->out);
	json_writer_init(&writer, &pi->out);
	json_member_text(&writer, "role", message_role_text(draft->role));
	if (draft->call_id.data)
		json_member_string(&writer, "tool_call_id", draft->call_id);
	if (message && json_get(message, "toolName", &value) && value.type == JSON_STRING)
		json_member_value(&writer, "name", &value);
	json_key(&writer, "content");
	json_add_raw(&writer, buffer_slice(&pi->content));
	if (message && json_get(message, "isError", &value) && json_bool(&value, &is_error) && is_error)
		json_member_bool(&writer, "is_error", true);
	if (origin)
		json_member_text(&writer, "origin", origin);
	if (json_get(entry, "timestamp", &value) && value.type == JSON_STRING)
		json_member_value(&writer, "ts", &value);
	if (message && draft->role == ROLE_ASSISTANT)
		write_pi_usage(&writer, message);
	write_source(pi, &writer, &pi->entry.whole, message ? &pi->message.whole : NULL);
	if (buffer_error(&pi->out) || buffer_error(&pi->content))
		return buffer_error(&pi->out) ? buffer_error(&pi->out) : buffer_error(&pi->content);

	draft->id = pi->id;
	draft->members = buffer_slice(&pi->out);
	int rc = find_parent(pi, entry, draft);
	if (!rc)
		rc = drafts_add(&pi->drafts, draft);
	if (rc)
		return rc;
	pi->leaf = pi->drafts.count - 1;
	return draft->id.data ? id_table_put(&pi->entries, draft->id, pi->drafts.count - 1) : 0;
}

/* What the model is shown of a command: the command line, its output, how it ended. */
static void write_execution(struct pi *pi, const struct json *message)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json value;
	struct json_writer writer;
	int64_t code;
	bool flag;

	buffer_add_text(&text, "$ ");
	if (json_get(message, "command", &value))
		json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	buffer_add_char(&text, '\n');
	if (json_get(message, "output", &value))
		json_string_decode(&value, JSON_SURROGATES_KEEP, &text);
	if (json_get(message, "exitCode", &value) && json_int64(&value, &code) && code != 0)
		buffer_addf(&text, "\n[exit code %lld]", (long long)code);
	if (json_get(message, "cancelled", &value) && json_bool(&value, &flag) && flag)
		buffer_add_text(&text, "\n[cancelled]");
	if (json_get(message, "truncated", &value) && json_bool(&value, &flag) && flag)
		buffer_add_text(&text, "\n[output truncated]");
	buffer_clear(&pi->content);
	json_writer_init(&writer, &pi->content);
	json_add_string(&writer, buffer_slice(&text));
	if (buffer_error(&text))
		pi->content.error = buffer_error(&text);
	buffer_release(&text);
}

/* An entry that is no message is still one that others hang from. */
static int pass_through(struct pi *pi, const struct json *entry, struct place place, const char *what)
{
	struct draft draft = {0};
	struct slice id = pi->id;

	if (what && import_left_out(pi->import, place, what) < 0)
		return BOBBIN_ENOMEM;
	int rc = find_parent(pi, entry, &draft);
	if (rc || !id.data)
		return rc;
	if (draft.parent_kind == DRAFT_HEAD)
		draft.parent = pi->drafts.count ? pi->drafts.count - 1 : DRAFT_NONE;
	pi->leaf = draft.parent;
	return id_table_put(&pi->entries, id, draft.parent);
}

static int read_message(
	struct pi *pi, const struct json *entry, const struct json *message, struct place place)
{
	struct draft draft = {.role = ROLE_USER};
	struct json role;

	json_get(message, "role", &role);
	if (json_string_is(&role, "bashExecution")) {
		struct json excluded;
		bool flag = false;
		if (json_get(message, "excludeFromContext", &excluded) && json_bool(&excluded, &flag) && flag)
			return pass_through(
				pi, entry, place, "commands whose output the model was not shown");
		write_execution(pi, &pi->message.whole);
		return add(pi, &draft, entry, message, "injected");
	}
	if (json_string_is(&role, "custom") || json_string_is(&role, "hookMessage")) {
		write_content(pi, &pi->message.whole);
		return add(pi, &draft, entry, message, "injected");
	}
	if (json_string_is(&role, "toolResult")) {
		draft.role = ROLE_TOOL;
		draft.call_id = drafts_call_id(&pi->drafts, import_string(pi->import, message, "toolCallId"));
	} else if (json_string_is(&role, "assistant")) {
		draft.role = ROLE_ASSISTANT;
	} else if (!json_string_is(&role, "user")) {
		return import_not_understood(
			pi->import, place, "{message|messages} of the role", string_of(pi, message, "role"));
	}
	write_content(pi, &pi->message.whole);
	return add(pi, &draft, entry, message, NULL);
}

/* The first message that a compaction kept; DRAFT_NONE if it kept none that is in the file. */
static size_t find_kept(struct pi *pi, const struct json *entry)
{
	struct json value;
	int64_t index;
	size_t kept = DRAFT_NONE;

	if (json_get(entry, "firstKeptEntryId", &value) && value.type == JSON_STRING) {
		if (!id_table_get(&pi->begins, json_string_content(&value, import_scratch(pi->import)), &kept))
			return DRAFT_NONE;
	} else if (json_get(entry, "firstKeptEntryIndex", &value) && json_int64(&value, &index) &&
		   index >= 0 && (uint64_t)index < pi->start_count) {
		kept = pi->starts[index];
	}
	return kept < pi->drafts.count ? kept : DRAFT_NONE;
}

static int read_summary(struct pi *pi, const struct json *entry, bool compaction)
{
	struct draft draft = {.role = ROLE_USER};
	struct json_writer writer;
	struct json summary;

	if (compaction) {
		draft.cuts = true;
		draft.cut = find_kept(pi, entry);
	}
	buffer_clear(&pi->content);
	json_writer_init(&writer, &pi->content);
	if (json_get(&pi->entry.whole, "summary", &summary) && summary.type == JSON_STRING)
		json_add_value(&writer, &summary);
	else
		json_add_text(&writer, "");
	return add(pi, &draft, entry, NULL, "summary");
}

/* What an extension put into the context. */
static int read_custom(struct pi *pi, const struct json *entry)
{
	struct draft draft = {.role = ROLE_USER};

	write_content(pi, &pi->entry.whole);
	return add(pi, &draft, entry, NULL, "injected");
}

static int read_other(struct pi *pi, const struct json *entry, const struct json *type, struct place place)
{
	struct json name;

	if (json_string_is(type, "session_info") && json_get(entry, "name", &name) &&
		name.type == JSON_STRING)
		pi->title = string_of(pi, entry, "name");
	if (json_string_is(type, "model_change") || json_string_is(type, "thinking_level_change"))
		return pass_through(pi, entry, place, "changes of model or thinking");
	if (json_string_is(type, "session_info") || json_string_is(type, "label") ||
		json_string_is(type, "custom"))
		return pass_through(pi, entry, place, "names, labels and data of extensions");
	int rc =
		import_not_understood(pi->import, place, "{entry|entries} of the type", string_of(pi, entry, "type"));
	return rc ? rc : pass_through(pi, entry, place, NULL);
}

/* Where this entry begins, for compactions that name it. */
static int note_start(struct pi *pi, const struct json *entry)
{
	struct slice id = pi->id = string_of(pi, entry, "id");

	if (mem_grow((void **)&pi->starts, &pi->start_cap, pi->start_count + 1, sizeof(*pi->starts)) < 0)
		return BOBBIN_ENOMEM;
	pi->starts[pi->start_count++] = (uint32_t)pi->drafts.count;
	return id.data ? id_table_put(&pi->begins, id, pi->drafts.count) : 0;
}

static int read_entry(struct pi *pi, const struct json *whole, struct place place)
{
	const struct json *entry = &pi->entry.members;
	struct json type, message;

	light_read(&pi->entry, whole);
	int rc = note_start(pi, entry);

	if (rc)
		return rc;
	json_get(entry, "type", &type);
	if (json_string_is(&type, "session")) {
		pi->session_id = pi->id;
		return 0;
	}
	if (json_string_is(&type, "message") && json_get(whole, "message", &message) &&
		message.type == JSON_OBJECT) {
		light_read(&pi->message, &message);
		return read_message(pi, entry, &pi->message.members, place);
	}
	if (json_string_is(&type, "compaction") || json_string_is(&type, "branch_summary"))
		return read_summary(pi, entry, json_string_is(&type, "compaction"));
	if (json_string_is(&type, "custom_message"))
		return read_custom(pi, entry);
	if (json_string_is(&type, "message"))
		return import_warn(pi->import, place, "an entry without its message: left out");
	return read_other(pi, entry, &type, place);
}

static int finish(struct pi *pi)
{
	struct import_conversation *conversation = import_conversation_add(pi->import);

	if (!conversation)
		return BOBBIN_ENOMEM;
	conversation->foreign_id = pi->session_id;
	conversation->title = pi->title;
	/* Not needed for what comes now. */
	id_table_release(&pi->entries);
	id_table_release(&pi->begins);
	pi->drafts.ends = pi->tree;
	pi->drafts.end = pi->leaf;
	return drafts_emit(&pi->drafts, conversation);
}

static void pi_init(struct pi *pi, struct import *import, struct import_order *order)
{
	*pi = (struct pi){.import = import,
		.order = order,
		.drafts = {.import = import},
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.entry.text = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.message.text = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
}

static void pi_release(struct pi *pi)
{
	drafts_release(&pi->drafts);
	id_table_release(&pi->entries);
	id_table_release(&pi->begins);
	mem_free(pi->starts);
	buffer_release(&pi->out);
	buffer_release(&pi->content);
	buffer_release(&pi->entry.text);
	buffer_release(&pi->message.text);
}

static int read_entries(struct pi *pi)
{
	struct import_order *order = pi->order;
	struct json entry;
	struct place place;
	int rc;

	while ((rc = import_order_next(order, &entry, &place)) > 0) {
		if (order->anew) {
			pi_release(pi);
			pi_init(pi, order->import, order);
		}
		if ((rc = read_entry(pi, &entry, place)) < 0)
			break;
	}
	return rc ? rc : import_order_tell(order);
}

int import_pi(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct import_order order;
	struct pi pi;

	import_order_init(&order, import, data, len, names);
	pi_init(&pi, import, &order);
	int rc = read_entries(&pi);
	if (!rc && !pi.drafts.count)
		rc = import_lines_fail(&order.lines, "pi", error);
	import_order_release(&order);
	if (!rc)
		rc = finish(&pi);
	pi_release(&pi);
	return import_end(rc, error);
}
