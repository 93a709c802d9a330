/* SPDX-License-Identifier: MIT */
/*
 * pi's session files: a header, then entries one a line. In the layout of 2025 entries have no ids and simply
 * follow each other; where entries carry id and parentId, those are followed.
 *
 *	user, assistant     messages; toolCall blocks become tool_call blocks in place, thinking blocks stay as they are
 *	toolResult          role tool
 *	bashExecution       a command the person ran; the model is shown it as text in a user message: origin injected
 *	compaction          a user message with origin summary; what it replaced stays before it
 *
 * Replies that were aborted or failed are kept with the calls they hold: their results are missing in the
 * middle of the line, which is for the view to mend. Everything else about an entry stays under "src".
 */
#include "transcript/import_readers.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_tree.h"

struct pi {
	struct import *import;
	struct drafts drafts;
	struct buffer out; /* members of the next draft */
	struct buffer content;
	struct id_table entries; /* id to the draft at or above the entry */
	struct slice session_id;
	uint64_t left_out;
	struct place first_left_out;
};

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
	static const char *const ENTRY[] = {"message", "summary", NULL};
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

/* What an entry hangs from: DRAFT_HEAD in the layout without ids. */
static void find_parent(struct pi *pi, const struct json *entry, struct draft *draft)
{
	struct json parent;

	draft->parent_kind = DRAFT_HEAD;
	if (!json_get(entry, "parentId", &parent))
		return;
	draft->parent_kind = DRAFT_AT;
	draft->parent = DRAFT_NONE;
	if (parent.type == JSON_STRING &&
		!id_table_get(&pi->entries, json_string_content(&parent, &pi->import->arena), &draft->parent))
		draft->parent_kind = DRAFT_HEAD;
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
	write_source(pi, &writer, entry, message);
	if (buffer_error(&pi->out) || buffer_error(&pi->content))
		return buffer_error(&pi->out) ? buffer_error(&pi->out) : buffer_error(&pi->content);

	draft->id = import_string(pi->import, entry, "id");
	draft->members = import_keep(pi->import, buffer_slice(&pi->out));
	find_parent(pi, entry, draft);
	if (!draft->members.data)
		return BOBBIN_ENOMEM;
	int rc = drafts_add(&pi->drafts, draft);
	if (rc)
		return rc;
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

static int read_message(
	struct pi *pi, const struct json *entry, const struct json *message, struct place place)
{
	struct draft draft = {.role = ROLE_USER};
	struct json role;

	json_get(message, "role", &role);
	if (json_string_is(&role, "bashExecution")) {
		write_execution(pi, message);
		return add(pi, &draft, entry, message, "injected");
	}
	if (json_string_is(&role, "toolResult")) {
		draft.role = ROLE_TOOL;
		draft.call_id = import_string(pi->import, message, "toolCallId");
	} else if (json_string_is(&role, "assistant")) {
		draft.role = ROLE_ASSISTANT;
	} else if (!json_string_is(&role, "user")) {
		return import_warn(pi->import, place, "a message of an unknown role: left out");
	}
	write_content(pi, message);
	return add(pi, &draft, entry, message, NULL);
}

static int read_compaction(struct pi *pi, const struct json *entry)
{
	struct draft draft = {.role = ROLE_USER};
	struct json_writer writer;
	struct json summary;

	buffer_clear(&pi->content);
	json_writer_init(&writer, &pi->content);
	if (json_get(entry, "summary", &summary) && summary.type == JSON_STRING)
		json_add_value(&writer, &summary);
	else
		json_add_text(&writer, "");
	return add(pi, &draft, entry, NULL, "summary");
}

/* An entry that is no message is still one that others hang from. */
static int pass_through(struct pi *pi, const struct json *entry, struct place place)
{
	struct draft draft = {0};
	struct slice id = import_string(pi->import, entry, "id");

	if (pi->left_out++ == 0)
		pi->first_left_out = place;
	find_parent(pi, entry, &draft);
	if (!id.data)
		return 0;
	if (draft.parent_kind == DRAFT_HEAD)
		draft.parent = pi->drafts.count ? pi->drafts.count - 1 : DRAFT_NONE;
	return id_table_put(&pi->entries, id, draft.parent);
}

static int read_entry(struct pi *pi, const struct json *entry, struct place place)
{
	struct json type, message;

	json_get(entry, "type", &type);
	if (json_string_is(&type, "session")) {
		pi->session_id = import_string(pi->import, entry, "id");
		return 0;
	}
	if (json_string_is(&type, "message") && json_get(entry, "message", &message) &&
		message.type == JSON_OBJECT)
		return read_message(pi, entry, &message, place);
	if (json_string_is(&type, "compaction"))
		return read_compaction(pi, entry);
	if (json_string_is(&type, "message"))
		return import_warn(pi->import, place, "an entry without its message: left out");
	return pass_through(pi, entry, place);
}

static int finish(struct pi *pi)
{
	struct import_conversation *conversation;

	if (pi->left_out &&
		import_remark(pi->import, pi->first_left_out,
			"left out: %llu entries that are no messages (changes of model or thinking)",
			(unsigned long long)pi->left_out) < 0)
		return BOBBIN_ENOMEM;
	if (!(conversation = import_conversation_add(pi->import)))
		return BOBBIN_ENOMEM;
	conversation->foreign_id = pi->session_id;
	return drafts_emit(&pi->drafts, conversation);
}

int import_pi(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct pi pi = {.import = import,
		.drafts = {.import = import},
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.content = BUFFER_INIT(LIMIT_IMPORT_BYTES)};
	struct import_lines lines;
	struct json entry;
	struct place place;
	int rc;

	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &entry, &place)) > 0) {
		if ((rc = read_entry(&pi, &entry, place)) < 0)
			break;
	}
	if (!rc)
		rc = pi.drafts.count ? finish(&pi) : import_lines_fail(&lines, "pi", error);
	drafts_release(&pi.drafts);
	id_table_release(&pi.entries);
	buffer_release(&pi.out);
	buffer_release(&pi.content);
	return import_end(rc, error);
}
