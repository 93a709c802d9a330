/* SPDX-License-Identifier: MIT */
/*
 * For people: a heading for each message, calls and results in fenced blocks. A fence is longer than any in
 * what it holds, so nothing breaks out of it. Pictures and sealed blocks are named and not shown.
 */
#include "transcript/export_writer.h"

static void add_line(struct export *export, struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		buffer_add_char(export->out, (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i]);
}

static int begin(struct export *export)
{
	buffer_add_text(export->out, "# ");
	add_line(export, export->options.title.len ? export->options.title : export->options.id);
	buffer_add_char(export->out, '\n');
	if (export->options.title.len) {
		buffer_add_text(export->out, "\nSession ");
		add_line(export, export->options.id);
		buffer_add_char(export->out, '\n');
	}
	return 0;
}

static void add_heading(struct export *export, const struct export_item *item)
{
	static const char *const names[] = {"User", "Assistant", "Result"};
	const struct message *message = item->message;
	struct json time;

	buffer_add_text(export->out, "\n## ");
	buffer_add_text(export->out, message->origin == ORIGIN_SUMMARY	  ? "Summary"
				     : message->origin == ORIGIN_INJECTED ? "Added by the program"
									  : names[message->role]);
	if (message->role == ROLE_TOOL && message->name.len) {
		buffer_add_text(export->out, " of ");
		add_line(export, message->name);
	}
	if (message->is_error)
		buffer_add_text(export->out, " (error)");
	buffer_add_text(export->out, " · ");
	add_line(export, item->id);
	if (json_get(&message->record, "ts", &time) && time.type == JSON_STRING) {
		buffer_add_text(export->out, " · ");
		add_line(export, json_string_content(&time, &export->arena));
	}
	buffer_add_text(export->out, "\n\n");
}

static size_t longest_ticks(struct slice text)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < text.len; i++) {
		run = text.data[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void add_clean(struct export *export, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
			buffer_add_text(export->out, "\xef\xbf\xbd");
		else
			buffer_add_char(export->out, (char)c);
	}
}

static void add_fenced(struct export *export, struct slice text, const char *language)
{
	size_t ticks = longest_ticks(text) < 3 ? 3 : longest_ticks(text) + 1;

	for (size_t i = 0; i < ticks; i++)
		buffer_add_char(export->out, '`');
	buffer_add_text(export->out, language);
	buffer_add_char(export->out, '\n');
	add_clean(export, text);
	if (!text.len || text.data[text.len - 1] != '\n')
		buffer_add_char(export->out, '\n');
	for (size_t i = 0; i < ticks; i++)
		buffer_add_char(export->out, '`');
	buffer_add_text(export->out, "\n");
}

static struct slice decoded(struct export *export, const struct json *string)
{
	buffer_clear(&export->text);
	json_string_decode(string, JSON_SURROGATES_REPLACE, &export->text);
	return buffer_slice(&export->text);
}

static void add_call(struct export *export, const struct block *call)
{
	struct slice arguments = {call->arguments.text, call->arguments.len};

	buffer_add_text(export->out, "Calls ");
	add_line(export, call->call_name);
	buffer_add_text(export->out, ":\n\n");
	if (call->arguments.type == JSON_STRING)
		arguments = decoded(export, &call->arguments);
	add_fenced(export, arguments.data ? arguments : SLICE_LITERAL("{}"), "json");
}

static void add_block(struct export *export, const struct message *message, const struct block *block)
{
	switch (block->type) {
	case BLOCK_TEXT:
		if (message->role == ROLE_TOOL) {
			add_fenced(export, decoded(export, &block->text), "");
			break;
		}
		add_clean(export, decoded(export, &block->text));
		buffer_add_char(export->out, '\n');
		break;
	case BLOCK_CALL:
	case BLOCK_SERVER_CALL:
		add_call(export, block);
		break;
	case BLOCK_SEALED:
		buffer_add_text(export->out, "*(thinking)*\n");
		export_lose(export, "thinking");
		break;
	default:
		buffer_add_text(export->out, "*(");
		add_line(export, block->kind.len ? block->kind : SLICE_LITERAL("part"));
		buffer_add_text(export->out, ")*\n");
		export_lose(export,
			block->type == BLOCK_IMAGE ? "images" : "parts of a kind that the format has not");
	}
}

static int message(struct export *export, const struct export_item *item)
{
	struct block_iter iter;
	struct block block;
	bool first = true;

	add_heading(export, item);
	block_iter_init(&iter, item->message, &export->arena);
	for (; block_iter_next(&iter, &block); first = false) {
		if (!first)
			buffer_add_char(export->out, '\n');
		add_block(export, item->message, &block);
	}
	return iter.error;
}

const struct export_writer export_markdown = {
	{"markdown", "to be read by people; it cannot be imported"}, begin, message, NULL};
